//! The matrix of kinds of scans on the CPU, and what does not go together.

use scan_codegen::{DeviceLimits, Overrides, PlanError, ScanSpec, plan};
use scan_runtime::{BlockScan, Carry, Error, Network, Run, ScanOp, Scanner, Strategy, ops, scan_op};
use scan_tests::{
    matrix::{self, Gives, Operator},
    operators::{AffineU32, bits},
};

#[test]
fn every_combination_of_kinds_equals_the_reference() {
    matrix::check(&Scanner::cpu(), &[1, 40, 6_001, 33]).unwrap();
}

/// The total is the carry after the last element, whatever empty segments follow it; of each segment it is that segment's
/// own. Where no element is, it is the initial value that was given, and else none, also where the operator has a start.
#[test]
fn the_total_is_that_of_the_last_nonempty_segment() {
    fn of_nothing<Op: Operator>() {
        let scan = || Scanner::cpu().scan(Op::new());
        let value = Op::initial_value();
        let bytes = |total: Option<Op::Carry>| total.map(|total| bits(&[total]));
        for (scan, expected) in [(scan(), None), (scan().init(value), Some(value))] {
            let totals = [
                scan.with_total().run(&[]).unwrap().1,
                scan.clone().exclusive().with_total().run_into(&[], &mut []).unwrap(),
                scan.clone().reverse().rows(3).with_total().run(&[]).unwrap().1,
                scan.by_flags(&[false; 0]).with_total().run(&[]).unwrap().1,
                scan.by_offsets(&[0_u32; 4]).with_total().run(&[]).unwrap().1,
                Op::by_columns(Run::from(&scan), &[], matrix::First::Slices, Gives::TheTotal, &mut []).unwrap().1,
            ];
            for total in totals {
                assert_eq!(bytes(total), bytes(expected), "{}", Op::new().source().name);
            }
        }
    }
    of_nothing::<AffineU32>();
    of_nothing::<matrix::Register>();
    of_nothing::<ops::WithExclusive<AffineU32>>();

    // Empty segments at both ends.
    let (scan, offsets) = (Scanner::cpu().scan(ops::sum()).init(100), [0_u32, 0, 2, 3, 3, 3]);
    let sums = scan.by_offsets(&offsets);
    assert_eq!(sums.clone().with_totals().run(&[1, 2, 4]).unwrap().1, [100, 103, 104, 100, 100]);
    assert_eq!(sums.with_total().run(&[1, 2, 4]).unwrap().1, Some(104));
    assert_eq!(scan.clone().reverse().by_offsets(&offsets).with_total().run(&[1, 2, 4]).unwrap().1, Some(103));
}

/// Nothing consists of rows of any length, and there are none.
#[test]
fn rows_of_length_zero_need_an_empty_input() {
    let scanner = Scanner::cpu();
    let scan = scanner.scan(ops::sum::<u32>());
    let sums = scan.rows(0);
    assert!(sums.run(&[]).unwrap().is_empty());
    assert_eq!(sums.clone().with_total().run(&[]).unwrap(), (vec![], None));
    assert_eq!(sums.clone().with_totals().run(&[]).unwrap(), (vec![], vec![]));
    assert_eq!(sums.clone().init_each(&[]).with_totals().run(&[]).unwrap(), (vec![], vec![]));
    assert!(scan.clone().reverse().exclusive().rows(0).run(&[]).unwrap().is_empty());
    sums.run_into(&[], &mut []).unwrap();
    assert!(scanner.reduce(ops::sum::<u32>()).rows(0).run(&[]).unwrap().is_empty());
    let error = sums.run(&[1]).unwrap_err();
    assert!(matches!(error, Error::RowLength { row: 0, len: 1 }), "{error}");
}

/// Every three values of three axes meet: a cell for each of the heads, of each memory.
#[test]
fn the_cells_are_few_and_cover_every_value() {
    let cells = matrix::cells(1, true);
    assert!((42..180).contains(&cells.len()), "{} cells", cells.len());
    let by_rows = |memory| {
        move |cell: &&matrix::Cell| cell.memory == memory && cell.restarts == matrix::Restarts::ByRows && cell.reversed
    };
    use matrix::Lies::{AtPlaces, ByField, ByNeighbour, InSlices};
    for memory in [InSlices, ByField, AtPlaces, ByNeighbour] {
        assert!(cells.iter().any(|cell| by_rows(memory)(&cell)), "{memory:?}");
    }
}

#[scan_op]
fn first_of_two(a: u32, _b: u32) -> u32 {
    a
}

/// The rows of "What does not go together" in `guide/combinations.md` that need no device.
#[test]
fn combinations_that_the_docs_exclude_are_refused() {
    let scanner = Scanner::cpu();
    let error = scanner.scan(first_of_two).exclusive().run(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoIdentity { .. })), "{error}");
    let error = scanner.scan(ops::with_exclusive(first_of_two)).run(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoStart { .. })), "{error}");
    let error = scanner.reduce(first_of_two).run(&[]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoElements { .. })), "{error}");

    let error = scanner.reduce(first_of_two).reverse().plan().unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::Strategy { .. })), "{error}");
    let error = scanner.reduce(first_of_two).reverse().run(&[]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoElements { .. })), "{error}");

    let by_flags = scanner.scan(ops::sum());
    let by_flags = by_flags.by_flags(&[true]);
    let error = by_flags.clone().init_each(&[1]).run(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoSegmentIndex { .. })), "{error}");
    let error = by_flags.with_totals().run(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoSegmentIndex { .. })), "{error}");
    let error = scanner.scan(ops::sum()).rows(1).init_each(&[1]).with_total().run(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::TotalOfEach)), "{error}");
    let error = scanner.scan(first_of_two).by_offsets(&[0_usize, 1]).with_totals().run(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoElements { .. })), "{error}");

    let planned = |spec: &ScanSpec, strategy: Strategy| {
        plan(&first_of_two.source(), spec, &DeviceLimits::H200, &Overrides::default().strategy(strategy)).unwrap_err()
    };
    let block = BlockScan::coarsened(Network::KoggeStone);
    let length = ScanSpec::inclusive().with_length_on_device();
    let error = planned(&length, Strategy { block, carry: Carry::ReduceThenScan });
    assert!(matches!(error, PlanError::Strategy { .. }), "{error}");
    let error = planned(&length.with_total(), Strategy { block, carry: Carry::LookBack });
    assert!(matches!(error, PlanError::NoIdentity { .. }), "{error}");
    let padded = BlockScan::coarsened(Network::Blelloch { padded: true });
    let error = planned(&ScanSpec::inclusive(), Strategy { block: padded, carry: Carry::LookBack });
    assert!(matches!(error, PlanError::StrategyNeedsIdentity { .. }), "{error}");
}
