//! Scans whose initial value is in device memory.

use scan_codegen::ScanSpec;
use scan_runtime::{Error, LateValue, PlanError, Scanner, ops};
use scan_tests::{
    operators::{MatrixProduct, TestOperator, first_difference, inputs},
    reference,
    time_limit::TimeLimit,
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
                    after = scan.on(&stream).init_from(&before).with_total().run(&nothing)?.1.ok_or("no total")?;
                } else {
                    let (chunk, mut output) = (stream.clone_htod(chunk)?, stream.clone_htod(chunk)?);
                    scan.on(&stream).init_from(&before).total_into(&mut after).run_into(&chunk, &mut output)?;
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
    // Alone: while a scan waits for its value, another test may wait in the driver for the whole device, and keep the
    // value from being written.
    trials.add_alone("alone_an_initial_value_arrives_while_the_scan_runs", || {
        let _limit = TimeLimit::seconds(120);
        let scanner = Scanner::cuda(0)?;
        let context = scanner.context().ok_or("no context")?;
        let (stream, other) = (context.new_stream()?, context.new_stream()?);
        let late = LateValue::new(&stream)?;
        for exclusive in [false, true] {
            let (scan, spec) = match exclusive {
                false => (scanner.scan(Op::new()), ScanSpec::inclusive()),
                true => (scanner.scan(Op::new()).exclusive(), ScanSpec::exclusive()),
            };
            let prepared = scan.on(&stream).init_late(&late).with_total().prepare(1_500_007)?;
            for (number, len) in CHUNKS.into_iter().filter(|&len| len > 0).enumerate() {
                let (input, value) = (inputs::<Op>(len), Op::input(number as u64 + 5));
                let on_device = other.clone_htod(&[value])?;
                let mut buffer = stream.clone_htod(&input)?;
                let mut total = stream.clone_htod(&[value])?;
                let run = match number % 2 {
                    0 => scan.on(&stream).init_late(&late),
                    _ => prepared.init_late(&late),
                };
                run.total_into(&mut total).run_in_place(&mut buffer)?;
                // The scan is on its way, or runs.
                std::thread::sleep(std::time::Duration::from_millis(3));
                if number % 3 == 0 {
                    late.write(value)?
                } else {
                    late.write_from(&other, &on_device)?
                }
                let expected = reference::scan_as(&Op::new(), &spec, Some(value), &input, None);
                let wrong = first_difference(&stream.clone_dtoh(&buffer)?, &expected);
                ensure(wrong.is_none(), || format!("{len} elements, exclusive: {exclusive}, wrong from {wrong:?} on"))?;
                let expected = reference::total_as(&Op::new(), &spec, Some(value), &input, None);
                let found = stream.clone_dtoh(&total)?;
                ensure(first_difference(&found, expected.as_slice()).is_none(), || {
                    format!("{len} elements: {found:?}")
                })?;
            }
        }
        Ok(())
    });
    trials.add_alone("alone_values_that_arrive_late_are_taken_in_their_order", || {
        let _limit = TimeLimit::seconds(120);
        let scanner = Scanner::cuda(0)?;
        let context = scanner.context().ok_or("no context")?;
        let (stream, other) = (context.new_stream()?, context.new_stream()?);
        let late = LateValue::new(&stream)?;
        let prepared = scanner.scan(ops::sum::<u64>()).on(&stream).init_late(&late).prepare(4_097)?;
        let values: Vec<_> = (0..20).map(|number| other.clone_htod(&[number])).collect::<Result<_, _>>()?;
        let mut buffers: Vec<_> = values.iter().map(|_| stream.clone_htod(&[1; 4_097])).collect::<Result<_, _>>()?;
        // All writes before all scans: each waits, on its stream, until the value before it has been taken.
        values.iter().try_for_each(|value| late.write_from(&other, value))?;
        ensure(matches!(late.write(7), Err(Error::LateValueWaits { written: 20, .. })), || "no error".to_owned())?;
        buffers.iter_mut().try_for_each(|buffer| prepared.init_late(&late).run_in_place(buffer))?;
        for (number, buffer) in buffers.iter().enumerate() {
            let last = stream.clone_dtoh(buffer)?[4_096];
            ensure(last == 4_097 + number as u64, || format!("scan {number}: {last}"))?;
        }
        Ok(())
    });
    trials.add_alone("alone_a_late_value_for_another_stream_or_no_elements_is_refused", || {
        let scanner = Scanner::cuda(0)?;
        let context = scanner.context().ok_or("no context")?;
        let (stream, other) = (context.new_stream()?, context.new_stream()?);
        let (late, sums) = (LateValue::new(&stream)?, scanner.scan(ops::sum::<u64>()));
        let mut buffer = stream.clone_htod(&[1, 2, 3])?;
        let found = sums.on(&other).init_late(&late).run_in_place(&mut buffer);
        ensure(matches!(found, Err(Error::LateValueStream)), || format!("{found:?}"))?;
        let found = sums.on(&stream).init_late(&late).run_in_place(&mut buffer.slice_mut(..0));
        ensure(matches!(found, Err(Error::LateValueOfNothing)), || format!("{found:?}"))?;
        let found = sums.on(&stream).init_late(&late).rows(3).run_in_place(&mut buffer);
        ensure(matches!(found, Err(Error::Plan(PlanError::LateValue { .. }))), || format!("{found:?}"))?;
        let found = late.write_from(&stream, &buffer);
        ensure(matches!(found, Err(Error::Length { found: 3, .. })), || format!("{found:?}"))?;
        // Behind the scan that waits for it, a write would wait as well.
        let one = stream.clone_htod(&[10])?;
        sums.on(&stream).init_late(&late).run_in_place(&mut buffer)?;
        let found = late.write_from(&stream, &one);
        ensure(matches!(found, Err(Error::LateValueBehind)), || format!("{found:?}"))?;
        late.write(10)?;
        ensure(stream.clone_dtoh(&buffer)? == [11, 13, 16], || "after a refused write".to_owned())
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
