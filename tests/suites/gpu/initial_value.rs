//! Scans whose initial value is in device memory.

use scan_codegen::ScanSpec;
use scan_runtime::{Error, Scanner};
use scan_tests::{
    operators::{MatrixProduct, TestOperator, first_difference, inputs},
    reference,
};

use crate::{Trials, ensure};

type Op = MatrixProduct<3>;

/// Of chunks: an empty one, one that a block scans, and those of every range of lengths.
const CHUNKS: [usize; 8] = [7, 0, 1, 4_097, 100_003, 0, 1_500_007, 33];

pub(crate) fn add(trials: &mut Trials) {
    trials.add("chunks_continue_from_the_total_of_the_previous_one", || {
        let scanner = Scanner::cuda(0)?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let input = inputs::<Op>(CHUNKS.iter().sum());
        for exclusive in [false, true] {
            let (scan, spec) = match exclusive {
                false => (scanner.scan(Op::new()), ScanSpec::inclusive()),
                true => (scanner.scan(Op::new()).exclusive(), ScanSpec::exclusive()),
            };
            let initial_value = Op::initial_value();
            let (mut before, mut after) = (stream.clone_htod(&[initial_value])?, stream.clone_htod(&[Op::input(0)])?);
            let (mut found, mut rest) = (Vec::new(), &input[..]);
            for len in CHUNKS {
                let (chunk, later) = rest.split_at(len);
                rest = later;
                if len == 0 {
                    let nothing = stream.null()?;
                    after = scan.on(&stream).init_from(&before).run_with_total(&nothing)?.1.ok_or("no total")?;
                } else {
                    let (chunk, mut output) = (stream.clone_htod(chunk)?, stream.clone_htod(chunk)?);
                    scan.on(&stream).init_from(&before).run_into_with_total(&chunk, &mut output, &mut after)?;
                    found.extend(stream.clone_dtoh(&output)?);
                }
                std::mem::swap(&mut before, &mut after);
            }
            let expected = reference::scan_as(&Op::new(), &spec, Some(initial_value), &input, None);
            let wrong = first_difference(&found, &expected);
            ensure(wrong.is_none(), || format!("exclusive: {exclusive}, wrong from {wrong:?} on"))?;
        }
        Ok(())
    });
    trials.add("an_initial_value_on_the_device_before_each_row", || {
        let scanner = Scanner::cuda(0)?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let initial_value = stream.clone_htod(&[Op::initial_value()])?;
        let input = inputs::<Op>(300_000);
        let begins: Vec<_> = (0..input.len()).map(|i| i % 100 == 0).collect();
        let spec = ScanSpec::inclusive().reverse();
        let expected = reference::scan_as(&Op::new(), &spec, Some(Op::initial_value()), &input, Some(&begins));
        let scan = scanner.scan(Op::new()).reverse();
        let output = scan.on(&stream).init_from(&initial_value).rows(100).run(&stream.clone_htod(&input)?)?;
        let wrong = first_difference(&stream.clone_dtoh(&output)?, &expected);
        ensure(wrong.is_none(), || format!("wrong from {wrong:?} on"))
    });
    trials.add("an_initial_value_buffer_of_two_elements_is_refused", || {
        let scanner = Scanner::cuda(0)?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let (two, mut buffer) = (stream.clone_htod(&[Op::initial_value(); 2])?, stream.clone_htod(&inputs::<Op>(9))?);
        let found = scanner.scan(Op::new()).on(&stream).init_from(&two).run_in_place(&mut buffer);
        ensure(matches!(found, Err(Error::Length { what: "initial value", found: 2, .. })), || format!("{found:?}"))
    });
}
