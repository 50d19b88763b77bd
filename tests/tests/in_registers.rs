//! Runs in registers in the emulator: blocks and runs of several shapes, elements of many sizes, from any address.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::Overrides;
use scan_runtime::{Carry, ScanKind, Strategy, TileNumbers, ops};
use scan_tests::{
    emulator::{Emulator, Module, Program},
    operators::{
        BROKEN, Brackets, Bytes3Sum, COVERS, EMPTY, Interval, MatrixProduct, MixedSum, PolynomialHash, Span,
        TestOperator, mixed,
    },
    reference::WAYS,
    strategies::IN_REGISTERS,
};

/// Threads of a block, and elements a thread: few, so that short inputs have several tiles. A run of 12 bytes, or of an odd
/// number of single ones, is read in another way than one of 16.
const SHAPES: [(u32, u32); 5] = [(32, 4), (64, 3), (128, 1), (32, 12), (64, 7)];

fn program<Op: TestOperator>(
    strategy: Strategy,
    (threads, run): (u32, u32),
    (kind, with_initial_value): (ScanKind, bool),
) -> Program<Op> {
    let run = run.min(1024 / size_of::<Op::Item>() as u32);
    let mut overrides = Overrides::default();
    overrides.strategy = Some(strategy);
    overrides.threads = Some(threads);
    overrides.run = Some(run);
    Program::new(Op::new(), kind, with_initial_value.then(Op::initial_value), &overrides).unwrap()
}

fn adjacent(a: &Span, b: &Span) -> bool {
    let neighbours = a.kind == COVERS && b.kind == COVERS && a.last + 1 == b.first;
    a.kind != BROKEN && b.kind != BROKEN && (a.kind == EMPTY || b.kind == EMPTY || neighbours)
}

/// Every strategy with every shape, the ways to scan in turn; the first strategy that looks back goes all ways.
fn climb<Op: TestOperator>(prepare: impl Fn(Emulator) -> Emulator) {
    let mut programs = Vec::new();
    for (index, strategy) in IN_REGISTERS.into_iter().enumerate() {
        let all = strategy.carry == Carry::LookBack;
        for (place, shape) in SHAPES.into_iter().enumerate().filter(|(place, _)| all || *place == index) {
            programs.push(program::<Op>(strategy, shape, WAYS[(index + place) % WAYS.len()]));
        }
        if all {
            programs.extend(WAYS.map(|way| program::<Op>(strategy, SHAPES[0], way)));
        }
    }
    Module::compile(&programs.iter().map(|program| &program.source).collect::<Vec<_>>()).unwrap();
    let mut failures = Vec::new();
    for (index, program) in (0..).zip(&programs) {
        let tile = u64::from(program.plan.tile);
        let by_index = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
        let lengths = [1, 33, tile - 1, tile, tile + 1, 3 * tile, 5 * tile + 7];
        for (run, length) in (0..).zip(lengths) {
            let input: Vec<Op::Item> = (0..length).map(Op::input).collect();
            let seed = mixed(index * 64 + run);
            let resident = if by_index { usize::MAX } else { [1, 2, 4, 100][(seed / 7 % 4) as usize] };
            let emulator = Emulator::new(seed).resident_blocks(resident);
            let emulator = prepare(if seed.is_multiple_of(3) { emulator.interrupt_once_in(8) } else { emulator });
            let offsets = [(1, 1), (3, 3), (1, 0), (0, 5), (7, 2), (15, 4)][(seed / 3 % 6) as usize];
            let results = [
                program.verify(&emulator, &input).err(),
                program.verify_in_place(&emulator, &input).err(),
                program.verify_at_offset(&emulator, &input, offsets).err(),
            ];
            let failed = results.into_iter().flatten();
            failures.extend(failed.map(|error| format!("{length}, {offsets:?}: {error}\n{}", program.plan)));
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn interval() {
    climb::<Interval>(|emulator| emulator.check(adjacent));
}

macro_rules! other_operators {
    ($($name:ident: $op:ty;)*) => {$(
        #[test]
        fn $name() {
            climb::<$op>(|emulator| emulator);
        }
    )*};
}

other_operators! {
    sum_u8: ops::Sum<u8>;
    sum_i16: ops::Sum<i16>;
    sum_f32: ops::Sum<f32>;
    brackets: Brackets;
    hash: PolynomialHash;
    bytes3: Bytes3Sum;
    mixed12: MixedSum;
    matrix3: MatrixProduct<3>;
    matrix8: MatrixProduct<8>;
}

/// Many tiles, so that looking back takes several windows, with several tiles in each lane.
#[test]
fn far_back() {
    let strategy = IN_REGISTERS[3];
    let program = program::<Interval>(strategy, (32, 1), WAYS[1]);
    for (seed, tiles) in [(1, 129), (2, 280)] {
        let input: Vec<_> = (0..32 * tiles).map(Interval::input).collect();
        for resident in [3, 1000] {
            let emulator = Emulator::new(seed).resident_blocks(resident).check(adjacent);
            program
                .verify(&emulator, &input)
                .unwrap_or_else(|error| panic!("{tiles} tiles: {error}\n{}", program.plan));
        }
    }
}
