//! What the literature promises, counted while the kernels run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::Overrides;
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers, Workers, ops};
use scan_tests::emulated::{Banks, Counters, Emulator, LaunchCounters, Program, What};

fn program(network: Network, carry: Carry, kind: ScanKind, threads: u32) -> Program<ops::Sum<u32>> {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block: BlockScan::of(network), carry });
    overrides.threads = Some(threads);
    Program::new(ops::sum(), kind, None, &overrides).unwrap()
}

fn count(program: &Program<ops::Sum<u32>>, length: u32) -> Counters {
    let input: Vec<u32> = (0..length).collect();
    program.verify(&Emulator::new(1).banks(Banks::TODAY), &input).unwrap().counters
}

/// One block over `n` values.
fn in_block(network: Network, kind: ScanKind, n: u32) -> LaunchCounters {
    let program = program(network, Carry::OneBlock, kind, n / network.values_per_thread());
    let mut launches = count(&program, n).launches;
    assert_eq!((launches.len(), launches[0].blocks), (1, 1));
    launches.remove(0)
}

const BRENT_KUNG: Network = Network::BrentKung { workers: Workers::Contiguous, padded: false };

#[test]
fn applications_and_steps_are_those_of_the_literature() {
    for log in 6..=10 {
        let n = 1_u32 << log;
        let kogge_stone = in_block(Network::KoggeStone, ScanKind::Inclusive, n);
        assert_eq!(kogge_stone.applications, u64::from(n * log - (n - 1)));
        assert_eq!((kogge_stone.steps, kogge_stone.phases), (log, log));
        let hillis_steele = in_block(Network::HillisSteele, ScanKind::Inclusive, n);
        assert_eq!((hillis_steele.applications, hillis_steele.steps), (kogge_stone.applications, log));
        assert_eq!(kogge_stone.barriers - hillis_steele.barriers, log - 1, "one barrier a step instead of two");
        for workers in [Workers::Contiguous, Workers::Scattered] {
            let brent_kung = in_block(Network::BrentKung { workers, padded: false }, ScanKind::Inclusive, n);
            assert_eq!(brent_kung.applications, u64::from(2 * n - 2 - log));
            assert_eq!(brent_kung.phases, 2 * log - 1);
        }
        let blelloch = in_block(Network::Blelloch { padded: false }, ScanKind::Exclusive, n);
        // The texts count those with the identity, one on each level of the way down, and the first of them is alone.
        assert_eq!(blelloch.applications, u64::from(2 * (n - 1) - log));
        assert_eq!(blelloch.phases, 2 * log - 1);
        let sequential = in_block(Network::Sequential, ScanKind::Inclusive, 1 << 6);
        assert_eq!((sequential.applications, sequential.steps), (63, 63));
    }
}

#[test]
fn padding_removes_bank_conflicts() {
    let conflicts = |network| {
        let banks = in_block(network, ScanKind::Inclusive, 1024).banks;
        assert!(banks.requests > 0 && banks.without_conflicts >= banks.requests);
        banks.cycles - banks.without_conflicts
    };
    let tree = |padded| Network::BrentKung { workers: Workers::Contiguous, padded };
    assert_eq!(conflicts(Network::KoggeStone), 0);
    assert!(
        conflicts(tree(false)) > 10 * conflicts(tree(true)),
        "{} {}",
        conflicts(tree(false)),
        conflicts(tree(true))
    );
}

#[test]
fn global_traffic_is_that_of_each_carry() {
    let n = 100 * 64_u32;
    let bytes = u64::from(n) * 4;
    let traffic = |carry| count(&program(Network::KoggeStone, carry, ScanKind::Inclusive, 64), n);
    assert_eq!(traffic(Carry::OneBlock).global_bytes(), 2 * bytes);
    let reduce_then_scan = traffic(Carry::ReduceThenScan);
    let (first, last) =
        (&reduce_then_scan.launches[0], &reduce_then_scan.launches[reduce_then_scan.launches.len() - 1]);
    assert_eq!((first.global_read, first.global_written), (bytes, 100 * 4));
    assert_eq!((last.global_read, last.global_written), (bytes + 99 * 4, bytes));
    assert!((3 * bytes..3 * bytes + bytes / 8).contains(&reduce_then_scan.global_bytes()));
    let chained = traffic(Carry::Chained(TileNumbers::Counter));
    // A message of 16 bytes and a turn a tile, besides what waiting reads; and what the last one leaves for the next launch.
    assert_eq!(chained.launches[0].global_written, bytes + 100 * (16 + 8) + 8);
}

#[test]
fn a_trace_shows_the_strides_of_the_network() {
    let program = program(Network::KoggeStone, Carry::OneBlock, ScanKind::Inclusive, 64);
    let input: Vec<u32> = (0..64).collect();
    let run = program.run(&Emulator::new(1).trace(), &input).unwrap();
    let trace = run.trace.unwrap();
    let place = |event| match &trace.event(event).unwrap().what {
        What::Read { spot, .. } => spot.index,
        other => panic!("{other:?}"),
    };
    let mut strides: Vec<(u32, i64)> = Vec::new();
    for event in &trace.events {
        if let What::Apply { left, right, .. } = event.what {
            assert_eq!(place(right), i64::from(event.place.thread));
            strides.push((event.phase, place(right) - place(left)));
        }
    }
    strides.sort_unstable();
    strides.dedup();
    let strides: Vec<i64> = strides.into_iter().map(|(_, stride)| stride).collect();
    assert_eq!(strides, [1, 2, 4, 8, 16, 32]);
    let written = |event: &&scan_tests::emulated::Event| matches!(&event.what, What::Write { spot, .. } if spot.buffer == "output");
    assert_eq!(trace.events.iter().filter(written).count(), 64);
    assert_eq!(in_block(BRENT_KUNG, ScanKind::Inclusive, 64).blocks, 1);
}
