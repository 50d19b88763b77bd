//! Initial values and totals of each segment, on the CPU.

#![allow(clippy::panic, reason = "a test that fails panics")]

use scan_runtime::{Error, PlanError, Scanner, arrays, ops};
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
            assert!(
                matches!(error, Error::Length { what: "initial values", found, expected: 2, .. } if found == values.len()),
                "{error}"
            );
        }
    }
}

/// The same error as that of the run: the index of a segment is not known before.
#[test]
fn prepared_totals_by_flags_are_refused() {
    let by_flags = Scanner::cpu().scan(ops::sum::<u32>());
    let by_flags = by_flags.by_flags(&[true; 4]);
    let error = by_flags.clone().with_totals().prepare(4).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoSegmentIndex { .. })), "{error}");
    assert_eq!(by_flags.prepare(4).unwrap().by_flags(&[true; 4]).run(&[1, 2, 3, 4]).unwrap(), [1, 2, 3, 4]);
}

/// Offsets that leave elements out, at either end or all of them: where each segment has a value or a total, no call takes them, and
/// nothing is written. Without values and totals they are heads like others, and reductions leave these elements out.
#[test]
fn offsets_that_do_not_cover_the_input_are_refused() {
    let (scanner, input, values) = (Scanner::cpu(), [1_u32, 2, 3, 4, 5, 6], [10, 20, 30]);
    let cases: [(&[u64], [u32; 6], &[u32]); 8] = [
        (&[2, 4, 6], [1, 3, 3, 7, 5, 11], &[7, 11]),
        (&[0, 1, 4], [1, 2, 5, 9, 5, 11], &[1, 9]),
        (&[2, 3, 5, 5], [1, 3, 3, 4, 9, 6], &[3, 9, 0]),
        (&[3, 3], [1, 3, 6, 4, 9, 15], &[0]),
        (&[0, 0], [1, 3, 6, 10, 15, 21], &[0]),
        (&[6, 6], [1, 3, 6, 10, 15, 21], &[0]),
        (&[4], [1, 3, 6, 10, 5, 11], &[]),
        (&[], [1, 3, 6, 10, 15, 21], &[]),
    ];
    for (offsets, prefixes, sums) in cases {
        let segments = offsets.len().saturating_sub(1);
        let scan = scanner.scan(ops::sum::<u32>());
        let scan = scan.by_offsets(offsets);
        assert_eq!(scan.run(&input).unwrap(), prefixes, "{offsets:?}");
        let reduction = scanner.reduce(ops::sum::<u32>());
        let reduction = reduction.by_offsets(offsets);
        assert_eq!(reduction.run(&input).unwrap(), sums, "{offsets:?}");

        let each = scan.clone().init_each(&values[..segments]);
        let prepared = scan.clone().with_totals().prepare(6).unwrap();
        let (mut output, mut totals, mut buffer) = ([7_u32; 6], vec![7_u32; segments], input);
        let errors = [
            each.run(&input).map(drop),
            each.run_into(&input, &mut output),
            each.run_in_place(&mut buffer),
            each.prepare(6)
                .and_then(|prepared| prepared.by_offsets(offsets).init_each(&values[..segments]).run(&input).map(drop)),
            scan.clone().with_totals().run(&input).map(drop),
            scan.clone().totals_into(&mut totals).run_into(&input, &mut output),
            scan.clone().totals_into(&mut totals).run_in_place(&mut buffer),
            prepared.by_offsets(offsets).totals_into(&mut totals).run_into(&input, &mut output),
            each.run_into(&input, arrays::discard()),
            reduction.init_each(&values[..segments]).run(&input).map(drop),
        ];
        let end = |offset: Option<&u64>| offset.copied().unwrap_or(0);
        let ends = (end(offsets.first()), end(offsets.last()));
        for (call, error) in errors.into_iter().enumerate() {
            match error {
                Err(Error::OffsetsCover { first, last, len: 6 }) if segments > 0 => assert_eq!((first, last), ends),
                Err(Error::OffsetsCover { first: 0, last: 0, len: 6 }) if segments == 0 => {}
                other => panic!("{offsets:?}, call {call}: {other:?}"),
            }
        }
        assert!(output == [7; 6] && buffer == input && totals.iter().all(|total| *total == 7), "{offsets:?}");
    }
}
