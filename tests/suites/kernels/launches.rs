//! Launches that may begin before what is before them in the stream has ended.

use rayon::prelude::*;
use scan_codegen::{Architecture, DeviceLimits, Overrides};
use scan_runtime::{Carry, Network, ScanKind, Strategy};
use scan_tests::{
    emulated::{Emulator, EmulatorError, FaultKind, Program},
    operators::{Interval, inputs},
    strategies,
};

fn program(strategy: Strategy, limits: &DeviceLimits) -> Program<Interval> {
    let mut overrides = Overrides::default();
    (overrides.strategy, overrides.threads) = (Some(strategy), Some(32));
    Program::planned(Interval, ScanKind::Inclusive, None, limits, &overrides).unwrap()
}

/// Every way to carry: the network of the block has nothing to do with launches.
fn strategies() -> Vec<Strategy> {
    strategies::all().filter(|strategy| strategy.block.network == Network::WarpShuffle).collect()
}

/// Every kernel waits before it uses global memory: without that, the emulator says so.
#[test]
fn every_kernel_waits_for_the_previous_launch_before_global_memory() {
    strategies().par_iter().for_each(|&strategy| {
        let mut program = program(strategy, &DeviceLimits::BASELINE);
        let waiting = "wait_for_previous_launch();";
        let places = program.source.text.matches(waiting).count();
        let len = 3 * program.plan.tile as usize + 5;
        let schedule = program.plan.schedule(len as u64).unwrap();
        assert!(places > 0 && schedule.launches.iter().all(|launch| launch.programmatic), "{strategy}: {places}");
        let input = inputs::<Interval>(len);
        program.verify(&Emulator::new(7), &input).unwrap_or_else(|error| panic!("{strategy}: {error}"));
        program.source.text = program.source.text.replace(waiting, "");
        match program.verify(&Emulator::new(7), &input) {
            Err(EmulatorError::Fault(fault)) => {
                assert!(matches!(fault.kind, FaultKind::TooEarly { .. }), "{strategy}: {fault}");
            }
            other => panic!("{strategy}: {other:?}"),
        }
    });
}

/// Where the architecture has no such launches, or they are not wanted, nothing is said of them.
#[test]
fn kernels_do_not_wait_where_launches_are_not_programmatic() {
    let ampere = DeviceLimits::new(Architecture { major: 8, minor: 0 }, 108);
    for strategy in strategies() {
        if matches!(strategy.carry, Carry::LookAhead | Carry::Cluster) {
            continue; // not available there
        }
        let program = program(strategy, &ampere);
        assert!(!program.plan.programmatic && !program.source.text.contains("griddepcontrol"), "{strategy}");
        let schedule = program.plan.schedule(1_000).unwrap();
        assert!(schedule.launches.iter().all(|launch| !launch.programmatic), "{strategy}");
    }
    let mut overrides = Overrides::default();
    overrides.programmatic = Some(false);
    let program = Program::new(Interval, ScanKind::Inclusive, None, &overrides).unwrap();
    assert!(!program.plan.programmatic && !program.source.text.contains("griddepcontrol"));
}
