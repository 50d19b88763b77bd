//! Climbs the ladder: programs of strategies, executed in the emulator at many lengths, in more than one way.

use rayon::prelude::*;
use scan_codegen::Overrides;
use scan_runtime::{Carry, ScanKind, Strategy, TileNumbers};

use crate::{
    emulated::{Emulator, EmulatorError, Module, Program},
    extent::compiled,
    operators::{Interval, TestOperator, adjacent, inputs, mixed},
    reference::WAYS,
    strategies,
};

/// Threads of a block: few, so that short inputs have several tiles and several levels of aggregates.
pub const FEW_THREADS: u32 = 32;

/// More accesses for each element are taken for an endless loop, where inputs are long.
const MAX_ACCESSES: u64 = 10_000;

/// A strategy's program for one of the four [ways](WAYS).
///
/// # Errors
///
/// If the operator cannot have the strategy, or its text cannot be written.
pub fn program<Op: TestOperator>(
    strategy: Strategy,
    (kind, with_initial_value): (ScanKind, bool),
    threads: u32,
) -> Result<Program<Op>, EmulatorError> {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(strategy);
    overrides.threads = Some(threads);
    // Blocks that stay need a stack for each of their threads, all the time.
    overrides.blocks = (strategy.carry == Carry::LookAhead && threads > FEW_THREADS).then_some(5);
    let initial_value = with_initial_value.then(Op::initial_value);
    Program::new(Op::new(), kind, initial_value, &overrides)
}

/// The strategies that have their turn in one of the four ways, over intervals: a network that scans these scans whatever is
/// associative.
///
/// # Panics
///
/// If one cannot be planned.
pub fn in_turn(way: usize) -> Vec<Program<Interval>> {
    let planned =
        |(_, strategy)| program::<Interval>(strategy, WAYS[way], FEW_THREADS).unwrap_or_else(|e| panic!("{e}"));
    strategies::in_turn(way).map(planned).collect()
}

/// An emulator that differs from seed to seed, and is the same in every test run.
pub fn emulator<Op: TestOperator>(seed: u64, program: &Program<Op>) -> Emulator {
    let choice = mixed(seed);
    let resident = if needs_all_blocks(program) { usize::MAX } else { [1, 2, 4, 100][(choice % 4) as usize] };
    let emulator = Emulator::new(choice).resident_blocks(resident);
    match choice >> 8 & 3 {
        0 => emulator.interrupt_once_in(8),
        _ => emulator,
    }
}

/// Blocks that wait for blocks with a smaller index need room for all.
fn needs_all_blocks<Op: TestOperator>(program: &Program<Op>) -> bool {
    program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex)
}

/// Runs a program at each length, now and then in place too, and from addresses that are aligned for one element only.
///
/// # Errors
///
/// What the emulator found, and at which length.
pub fn climb<Op: TestOperator>(
    program: &Program<Op>,
    lengths: &[u64],
    prepare: impl Fn(Emulator) -> Emulator,
) -> Result<(), (u64, EmulatorError)> {
    for (seed, &length) in (0..).zip(lengths) {
        let input = inputs::<Op>(length as usize);
        let emulator = |variant: u64| prepare(emulator(seed * 8 + variant, program));
        program.verify(&emulator(0), &input).map_err(|error| (length, error))?;
        if seed % 3 == 0 {
            program.verify_in_place(&emulator(1), &input).map_err(|error| (length, error))?;
        }
        if seed % 4 == 1 {
            let offsets = ([1, 3, 7][seed as usize % 3], [7, 1, 3][seed as usize % 3]);
            program.verify_at_offset(&emulator(2), &input, offsets).map_err(|error| (length, error))?;
        }
    }
    Ok(())
}

/// What fails of a program as it is, in place, and between places beyond aligned addresses, which go by the seed.
pub fn failures_in_every_place<Op: TestOperator>(
    program: &Program<Op>,
    emulator: &Emulator,
    input: &[Op::Item],
    seed: u64,
) -> Vec<String> {
    let offsets = [(1, 1), (3, 3), (1, 0), (0, 5), (7, 2), (15, 4)][(seed / 3 % 6) as usize];
    let results = [
        program.verify(emulator, input).err(),
        program.verify_in_place(emulator, input).err(),
        program.verify_at_offset(emulator, input, offsets).err(),
    ];
    let failure = |error| format!("{} elements, {offsets:?}: {error}\n{}", input.len(), program.plan);
    results.into_iter().flatten().map(failure).collect()
}

/// [Compiles](compiled) programs, and runs each in every place at the lengths that go with its tile. In each third run warps are
/// interrupted now and then; `prepare` gets the program, the seed and the emulator.
///
/// # Errors
///
/// All that failed.
pub fn climb_in_every_place<Op: TestOperator>(
    programs: Vec<Program<Op>>,
    lengths: impl Fn(u64) -> Vec<u64>,
    prepare: impl Fn(&Program<Op>, u64, Emulator) -> Emulator,
) -> Result<(), String> {
    let programs = compiled((0..).zip(programs));
    let mut failures = Vec::new();
    for (index, program) in &programs {
        for (run, length) in (0..).zip(lengths(u64::from(program.plan.tile))) {
            let input = inputs::<Op>(length as usize);
            let seed = mixed(index * 64 + run);
            let emulator = Emulator::new(seed);
            let emulator = if seed.is_multiple_of(3) { emulator.interrupt_once_in(8) } else { emulator };
            failures.extend(failures_in_every_place(program, &prepare(program, seed, emulator), &input, seed));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(format!("{} failures:\n{}", failures.len(), failures.join("\n\n"))) }
}

/// Executes the interval monoid with every strategy whose name contains `name` at lengths that take long, in blocks of `threads`,
/// shared out over the cores. `tell` hears of each strategy when it is through, and what failed, if anything did. Returns all that failed.
///
/// # Errors
///
/// If the kernels cannot be compiled.
pub fn every_strategy_at(
    threads: u32,
    lengths: &[u64],
    name: &str,
    tell: impl Fn(&Program<Interval>, Option<&str>) + Sync,
) -> Result<Vec<String>, EmulatorError> {
    let programs: Vec<_> = strategies::all()
        .enumerate()
        .filter(|(_, strategy)| strategy.to_string().contains(name))
        .map(|(index, strategy)| {
            // A stack for each thread: where all blocks must be there at once, they are small.
            let by_index = strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
            program::<Interval>(strategy, WAYS[index % 4], if by_index { FEW_THREADS } else { threads })
        })
        .collect::<Result<_, _>>()?;
    let sources: Vec<_> = programs.iter().map(|program| &program.source).collect();
    Module::compile(&sources)?;
    let run = |(index, program): (usize, &Program<Interval>)| {
        let mut lengths: Vec<_> = lengths.iter().map(|&length| length.min(program.plan.max_len)).collect();
        lengths.dedup();
        let resident = if needs_all_blocks(program) { usize::MAX } else { 1 + index % 7 };
        // Blocks that stay look again and again for what the others have not told yet.
        let limit = lengths.iter().max().map_or(0, |length| length * MAX_ACCESSES);
        let prepare = |emulator: Emulator| {
            emulator.check(adjacent).resident_blocks(resident).limit(limit.max(MAX_ACCESSES * (1 << 20)))
        };
        let failure = climb(program, &lengths, prepare).err();
        let failure = failure.map(|(length, error)| format!("{length} elements: {error}\n{}", program.plan));
        tell(program, failure.as_deref());
        failure
    };
    Ok(programs.par_iter().enumerate().filter_map(run).collect())
}
