//! Scans of rows: few long ones and many short ones, in host and device memory, in both directions.

use scan_codegen::ScanSpec;
use scan_runtime::{Error, ScanKind, ops};
use scan_tests::{
    configure,
    operators::{Bytes3Sum, MatrixProduct, TestOperator, first_difference, inputs},
    reference::{self, WAYS},
    segments::{Heads, Restart, places},
};

use crate::{Outcome, Trials, ensure, older::scanner};

pub(crate) fn add(trials: &mut Trials) {
    trials.add("rows", || {
        of::<Restart>(&[(1, 1_019), (3, 400), (31, 70), (33, 64), (4_101, 1), (1_000, 12)], places)?;
        of::<Bytes3Sum>(&[(3, 400), (1_000, 12)], |begins| inputs::<Bytes3Sum>(begins.len()))
    });
    trials.add("large_rows", || {
        let matrices = [(1, 3_000_001), (4, 1_000_003), (64, 50_021), (4_096, 801), (65_537, 31), (3_000_001, 1)];
        of::<Restart>(&matrices, places)?;
        of::<ops::Sum<u8>>(&[(4, 8_000_003), (1_021, 20_011)], |begins| inputs::<ops::Sum<u8>>(begins.len()))?;
        of::<MatrixProduct<2>>(&matrices, |begins| inputs::<MatrixProduct<2>>(begins.len()))
    });
    trials.add("rows_that_do_not_divide_the_input_are_refused", || {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let input = stream.clone_htod(&[1_i32; 7])?;
        let found = scanner.scan(ops::sum()).on(&stream).rows(3).run(&input);
        ensure(matches!(found, Err(Error::RowLength { row: 3, len: 7 })), || "7 elements in rows of 3".to_owned())
    });
}

/// Rows of so many elements, so many of them; of the ways and directions one for each.
fn of<Op: TestOperator>(matrices: &[(usize, usize)], input: fn(&[bool]) -> Vec<Op::Item>) -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (index, &(row, rows)) in matrices.iter().enumerate() {
        for reversed in [false, true] {
            let (kind, with_initial_value) = WAYS[(index + usize::from(reversed)) % WAYS.len()];
            let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
            // That of the monoid of intervals fits before a segment, not behind it.
            let with_initial_value = with_initial_value && !reversed;
            let scan = configure::<Op>(&scanner, (kind, with_initial_value));
            // The initial value of the monoid of intervals stands before a segment only.
            let (scan, spec) = if reversed { (scan.reverse(), spec.reverse()) } else { (scan, spec) };
            let begins = Heads::rows(row, row * rows).begins;
            let input = input(&begins);
            let initial_value = with_initial_value.then(Op::initial_value);
            let expected = reference::scan_as(&Op::new(), &spec, initial_value, &input, Some(&begins));
            let same = |found: &[Op::Item], what: &str| {
                let wrong = first_difference(found, &expected);
                ensure(wrong.is_none(), || format!("{what}, {spec}, {rows} rows of {row}: wrong from {wrong:?} on"))
            };
            same(&scan.rows(row).run(&input)?, "host memory")?;
            let mut buffer = stream.clone_htod(&input)?;
            let output = scan.on(&stream).rows(row).run(&buffer)?;
            same(&stream.clone_dtoh(&output)?, "device memory")?;
            scan.on(&stream).rows(row).prepare(row * rows)?.rows(row).run_in_place(&mut buffer)?;
            same(&stream.clone_dtoh(&buffer)?, "in place")?;
        }
    }
    Ok(())
}
