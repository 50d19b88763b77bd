//! The matrix of kinds of scans on the CPU, and what does not go together.

use scan_codegen::{DeviceLimits, Overrides, PlanError, ScanSpec, plan};
use scan_runtime::{BlockScan, Carry, Error, Network, ScanOp, Scanner, Strategy, ops, scan_op};
use scan_tests::matrix;

#[test]
fn each_kind_with_each_other() {
    matrix::check(&Scanner::cpu(), &[1, 40, 6_001, 33]).unwrap();
}

/// Every three values of three axes meet: a cell for each of the heads, of each memory.
#[test]
fn the_cells_are_few_and_have_every_value() {
    let cells = matrix::cells(1);
    assert!((42..180).contains(&cells.len()), "{} cells", cells.len());
    let by_rows = |memory| {
        move |cell: &&matrix::Cell| cell.memory == memory && cell.restarts == matrix::Restarts::ByRows && cell.reversed
    };
    for memory in [matrix::Lies::InSlices, matrix::Lies::ByField, matrix::Lies::AtPlaces] {
        assert!(cells.iter().any(|cell| by_rows(memory)(&cell)), "{memory:?}");
    }
}

#[scan_op]
fn first_of_two(a: u32, _b: u32) -> u32 {
    a
}

/// The rows of "What does not go together" in `docs/README.md` that need no device.
#[test]
fn what_does_not_go_together() {
    let scanner = Scanner::cpu();
    let error = scanner.scan(first_of_two).exclusive().run(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoIdentity { .. })), "{error}");
    let error = scanner.scan(ops::with_exclusive(first_of_two)).run(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoStart { .. })), "{error}");
    let error = scanner.reduce(first_of_two).run(&[]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoElements { .. })), "{error}");

    let by_flags = scanner.scan(ops::sum()).by_flags(&[true]);
    let error = by_flags.clone().init_each(&[1]).run(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoSegmentIndex { .. })), "{error}");
    let error = by_flags.run_with_totals(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoSegmentIndex { .. })), "{error}");
    let error = scanner.scan(ops::sum()).rows(1).init_each(&[1]).run_with_total(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::TotalOfEach)), "{error}");
    let error = scanner.scan(first_of_two).by_offsets(&[0_usize, 1]).run_with_totals(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoElements { .. })), "{error}");

    let planned = |spec: &ScanSpec, strategy: Strategy| {
        plan(&first_of_two.source(), spec, &DeviceLimits::H200, &Overrides::default().strategy(strategy)).unwrap_err()
    };
    let block = BlockScan::coarsened(Network::KoggeStone);
    let length = ScanSpec::inclusive().with_length_on_device();
    let error = planned(&length, Strategy { block, carry: Carry::Hierarchical });
    assert!(matches!(error, PlanError::Strategy { .. }), "{error}");
    let error = planned(&length.with_total(), Strategy { block, carry: Carry::LookBack });
    assert!(matches!(error, PlanError::NoIdentity { .. }), "{error}");
    let padded = BlockScan::coarsened(Network::Blelloch { padded: true });
    let error = planned(&ScanSpec::inclusive(), Strategy { block: padded, carry: Carry::LookBack });
    assert!(matches!(error, PlanError::StrategyNeedsIdentity { .. }), "{error}");
}
