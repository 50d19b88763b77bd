//! Totals of scans that restart: that of the segment with which the scan ends, by every carry; and faults planted there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{DeviceLimits, Overrides, ScanSpec};
use scan_runtime::{BlockScan, Carry, Network, Strategy, TileNumbers};
use scan_tests::{
    emulated::{Emulator, Program},
    operators::{AffineU32, TestOperator, inputs},
    planted::{Change, each_is_found},
    segments::{HEAD_SOURCES, Heads},
    strategies::IN_REGISTERS,
};

use super::{
    compiled,
    look_ahead::{limits, overrides_of},
};

/// Kernels of a strategy, or of look-ahead in groups of so many blocks.
fn program(strategy: Result<Strategy, u32>, index: usize) -> Program<AffineU32> {
    let (mut overrides, mut device) = (Overrides::default(), DeviceLimits::BASELINE);
    match strategy {
        Ok(strategy) => {
            (overrides.strategy, overrides.threads) = (Some(strategy), Some(32));
            if strategy.carry == Carry::Cluster {
                device = DeviceLimits::H200;
            }
        }
        Err(group) => {
            (overrides, device) = (overrides_of((32, 1, 3, 2, 8)), limits());
            overrides.group = Some(group);
        }
    }
    let spec = if index.is_multiple_of(2) { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    let spec = if index / 2 % 2 == 1 { spec.reverse() } else { spec };
    let initial_value = (index / 4 % 2 == 1).then(AffineU32::initial_value);
    let spec = spec.with_total().with_segments(Heads::new(index, &[]).segments());
    Program::with_limits(AffineU32, &spec, initial_value, &device, &overrides).unwrap()
}

fn all() -> Vec<Result<Strategy, u32>> {
    let coarsened = BlockScan::coarsened(Network::WarpShuffle);
    let carries = [Carry::OneBlock, Carry::ReduceThenScan, Carry::Chained(TileNumbers::Counter), Carry::LookBack];
    let strategies = carries.map(|carry| Strategy { block: coarsened, carry }).into_iter().chain(IN_REGISTERS);
    strategies.map(Ok).chain([Err(1), Err(3)]).collect()
}

/// The last head in the last tile, in the one before, in the first, or nowhere; at the last element, too.
fn verify(program: &Program<AffineU32>, index: usize, seed: u64) -> bool {
    let tile = program.plan.tile as usize;
    let len = [5 * tile, 4 * tile + 3, 9 * tile + 1][seed as usize % 3];
    let head = [len - 1, len - tile - 2, 3, 0, len / 2][seed as usize % 5];
    let reversed = program.plan.spec.reversed;
    let begins: Vec<bool> = (0..len).map(|i| i == if reversed { len - head } else { head }).collect();
    let program = program.with_heads(Heads::new(index, &begins));
    // Blocks that wait for blocks with a smaller index need room for all.
    let emulator = Emulator::new(seed).resident_blocks(usize::MAX).limit(4_000_000);
    program.verify(&emulator, &inputs::<AffineU32>(len)).is_ok()
}

#[test]
fn total_is_that_of_the_last_segment() {
    for (index, strategy) in all().into_iter().enumerate() {
        let program = program(strategy, index);
        for seed in 0..5 {
            assert!(verify(&program, index, seed), "{seed}: {}", program.plan);
        }
    }
}

/// Look-ahead over inputs that end, or begin, within a run: what tells heads goes on beyond them.
#[test]
fn totals_over_partial_runs_match_the_reference() {
    let overrides = overrides_of((32, 2, 5, 5, 3)); // tiles of 160
    let programs = (0..HEAD_SOURCES).flat_map(|head_source| [(head_source, false), (head_source, true)]);
    let programs = programs.map(|(head_source, reversed)| {
        let spec = ScanSpec::inclusive().with_total().with_segments(Heads::new(head_source, &[]).segments());
        let spec = if reversed { spec.reverse() } else { spec };
        (head_source, Program::with_limits(AffineU32, &spec, None, &limits(), &overrides).unwrap())
    });
    for (head_source, program) in &compiled(programs) {
        for (len, offset) in [(157, 0), (161, 3), (333, 1), (320, 3)] {
            let begins: Vec<bool> = (0..len).map(|i| [0, 7, len / 2].contains(&i)).collect();
            let program = program.with_heads(Heads::new(*head_source, &begins));
            let found = program.verify_at_offset(&Emulator::new(1), &inputs::<AffineU32>(len), (offset, 0));
            found.unwrap_or_else(|error| panic!("{len} elements at {offset}: {error}\n{}", program.plan));
        }
    }
}

#[test]
fn planted_faults_are_found() {
    let of_tiles: Change<'_> = (
        "head == NO_HEAD ? combine_after(op, prefix, aggregate) : aggregate, start);",
        "combine_after(op, prefix, aggregate), start);",
    );
    let of_look_ahead: Change<'_> = ("last_aggregate, head_flag_of(status));", "last_aggregate, false);");
    for (index, strategy) in all().into_iter().enumerate() {
        let change = match strategy {
            Ok(Strategy { carry: Carry::OneBlock | Carry::ReduceThenScan, .. }) => continue,
            Ok(Strategy { carry: Carry::LookAhead, .. }) | Err(_) => of_look_ahead,
            Ok(_) => of_tiles,
        };
        let program = program(strategy, index);
        let is_found = |program: &Program<AffineU32>| (0..15).any(|seed| !verify(program, index, seed));
        each_is_found(&program, &[change], is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
}
