//! Programs that give up to two results for an input, in the emulator: with the count of the results in the carry, and
//! what begins anew or is an error as a part of the input. `runtime/transducers.rs` compares them with plain loops.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::fmt::Debug;

use scan_codegen::{
    ArrayKind::{self, Bits, Computed, NoMemory, Slice},
    ArrayKinds, Arrays, Overrides, ScanSpec,
};
use scan_runtime::{Carry, Strategy, TileNumbers};
use scan_tests::{
    columns::ColumnsOperator,
    emulated::{Emulator, Program},
    operators::mixed,
    strategies,
    transducers::{Leb128, Utf16},
};

use super::compiled;

/// By the strategies that have this turn, from either end, from the beginning or in the middle of a stream.
fn by_strategies<Op: ColumnsOperator<Output: Debug>>(second: ArrayKind, turn: usize) {
    let spec = ScanSpec::inclusive().with_total().with_arrays(Arrays::PerField, Arrays::PerField);
    let spec = spec.with_kinds(ArrayKinds::new([Slice, second]), ArrayKinds::new([NoMemory, Computed]));
    let program = |(index, (_, strategy)): (usize, (usize, Strategy))| {
        let spec = if index % 3 == 2 { spec.clone().reverse() } else { spec.clone() };
        let mut overrides = Overrides::default().strategy(strategy).threads(32);
        overrides.run = (strategy.carry == Carry::LookAhead).then_some(4);
        let initial_value = (index % 2 == 1).then(Op::initial_value);
        Program::of(Op::new(), &spec, initial_value, &overrides).unwrap()
    };
    let programs: Vec<Program<Op>> = strategies::in_turn(turn).enumerate().map(program).collect();
    for program in &compiled(programs) {
        let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
        let emulator = Emulator::new(mixed(9)).resident_blocks(if needs_all { usize::MAX } else { 3 });
        for length in [1, 3 * program.plan.tile as usize - 2] {
            let verified = program.verify_kinds(&emulator, &Op::inputs(length, length as u64), &[1, 2, 3], None);
            verified.unwrap_or_else(|error| panic!("{length} elements: {error}\n{}", program.plan));
        }
    }
}

#[test]
fn documents_that_begin_anew_match_the_reference() {
    by_strategies::<Utf16>(Slice, 0);
    by_strategies::<Utf16>(Bits, 1);
}

#[test]
fn numbers_and_the_first_error_match_the_reference() {
    by_strategies::<Leb128>(NoMemory, 2);
}
