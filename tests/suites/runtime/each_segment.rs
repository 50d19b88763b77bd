//! Initial values and totals of each segment, on the CPU.

use scan_runtime::{Error, PlanError, Scanner, ops};
use scan_tests::each_segment;

#[test]
fn results_equal_plain_loops() {
    each_segment::check(&Scanner::cpu(), &[0, 1, 5, 700, 40_003]).unwrap();
}

/// One value too few, and one too many, of a scan and of a reduction.
#[test]
fn another_number_of_initial_values_is_refused() {
    let (scanner, offsets, input) = (Scanner::cpu(), [0_u32, 2, 4], [1_u32, 2, 3, 4]);
    for values in [&[1][..], &[1, 2, 3]] {
        let scanned = scanner.scan(ops::sum()).by_offsets(&offsets).init_each(values).run(&input);
        let reduced = scanner.reduce(ops::sum()).by_offsets(&offsets).init_each(values).run(&input);
        for error in [scanned.unwrap_err(), reduced.unwrap_err()] {
            assert!(matches!(error, Error::InitialValues { found, expected: 2 } if found == values.len()), "{error}");
        }
    }
}

/// The same error as that of the run: the index of a segment is not known before.
#[test]
fn prepared_totals_by_flags_are_refused() {
    let by_flags = Scanner::cpu().scan(ops::sum::<u32>()).by_flags(&[true; 4]);
    let error = by_flags.clone().prepare_with_totals(4).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoSegmentIndex { .. })), "{error}");
    assert_eq!(by_flags.prepare(4).unwrap().run(&[1, 2, 3, 4]).unwrap(), [1, 2, 3, 4]);
}
