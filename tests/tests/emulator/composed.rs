//! Operators made of operators, by every strategy: each part of a state is that of its own operator.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use scan_codegen::{Overrides, ScanSpec};
use scan_runtime::{Carry, ScanKind, ScanOp, TileNumbers};
use scan_tests::{
    composed::{Composed, composed},
    emulator::{Emulator, Module, Program},
    lifting::inputs,
    operators::mixed,
    reference::WAYS,
    strategies,
};

#[test]
fn operators_of_operators() {
    let op = composed(1_021);
    let initial_value = inputs(1).into_iter().map(|x| op.lift(x)).next();
    let program = |(index, strategy): (usize, scan_runtime::Strategy)| {
        let (kind, with_initial_value) = WAYS[index % 4];
        let mut overrides = Overrides::default().strategy(strategy).threads(32);
        overrides.run = (strategy.carry == Carry::LookAhead).then_some(4);
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let spec = if index % 3 == 0 { spec.reverse() } else { spec };
        let initial_value = initial_value.filter(|_| with_initial_value);
        Program::of(op.clone(), &spec.with_total(), initial_value, &overrides).unwrap()
    };
    let programs: Vec<Program<Composed>> = strategies::all().enumerate().map(program).collect();
    Module::compile(&programs.iter().map(|program| &program.source).collect::<Vec<_>>()).unwrap();
    for program in &programs {
        let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
        let emulator = Emulator::new(mixed(7)).resident_blocks(if needs_all { usize::MAX } else { 3 });
        for length in [1, 3 * program.plan.tile as usize - 2] {
            let result = program.verify(&emulator, &inputs(length));
            result.unwrap_or_else(|error| panic!("{length} elements: {error}\n{}", program.plan));
        }
    }
}
