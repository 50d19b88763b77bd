//! Two devices in one process: both at work at once, neither with the other's buffers, one lost beside the other.
//! Where there is one device only, these tests are counted as ignored.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use scan_runtime::{Error, Scanner, ops};
use scan_tests::{
    configure,
    operators::{Interval, PolynomialHash, TestOperator, first_difference},
    reference::WAYS,
};

use crate::{
    Outcome, Trials,
    cases::Case,
    ensure,
    faults::{self, Panics},
};

/// How long both devices are kept busy.
const BUSY: Duration = Duration::from_secs(3);

/// Whether this process can use two devices.
pub(crate) fn two() -> bool {
    matches!(Scanner::cuda(usize::MAX), Err(Error::DeviceIndex { count: 2.., .. }))
}

pub(crate) fn add(trials: &mut Trials) {
    trials.add_on_two_devices("concurrent_scans_on_both", both_at_once);
    trials.add_on_two_devices("one_thread_alternates_between_them", takes_turns);
    trials.add_on_two_devices("buffers_of_the_other_are_refused", refused);
    trials.add_on_two_devices("the_first_is_lost", || faults::in_a_process("the_first_of_two_is_lost"));
    trials.add_on_two_devices("the_second_is_lost", || faults::in_a_process("the_second_of_two_is_lost"));
}

/// On each device four threads that share a scanner, each with a stream, an operator and a way to call of its own.
fn both_at_once() -> Outcome {
    let scanners = [Scanner::cuda(0)?, Scanner::cuda(1)?];
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        let threads: Vec<_> = scanners
            .iter()
            .flat_map(|scanner| (0..4).map(move |index| (scanner, index)))
            .map(|(scanner, index)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let outcome = match index {
                        0 => keep_scanning::<ops::Sum<i32>>(scanner, 0),
                        1 => keep_scanning::<PolynomialHash>(scanner, 1),
                        2 => keep_running_prepared::<Interval>(scanner, 2),
                        _ => keep_scanning_from_the_host::<Interval>(scanner, 3),
                    };
                    outcome.map_err(|error| format!("{}, thread {index}: {error}", scanner.backend()))
                })
            })
            .collect();
        for thread in threads {
            thread.join().map_err(|_| "a panic")??;
        }
        Ok(())
    })
}

/// Lengths up and down, the longest among them.
fn lengths(longest: usize) -> [usize; 5] {
    [longest, 3, longest / 7, 5_000, longest / 3 + 1]
}

fn same<Op: TestOperator>(found: &[Op::Item], case: &Case<Op>, way: usize) -> Outcome {
    match first_difference(found, case.expected(way, found.len())) {
        None => Ok(()),
        Some(first) => Err(format!("of {} elements wrong from {first} on", found.len()).into()),
    }
}

fn keep_scanning<Op: TestOperator>(scanner: &Scanner, way: usize) -> Outcome {
    let case = Case::<Op>::shared();
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let scan = configure::<Op>(scanner, WAYS[way]);
    let input = stream.clone_htod(case.input(case.longest()))?;
    let start = Instant::now();
    while start.elapsed() < BUSY {
        for len in lengths(case.longest()) {
            let output = scan.on(&stream).run(&input.slice(..len))?;
            same(&stream.clone_dtoh(&output)?, &case, way)?;
        }
    }
    Ok(())
}

fn keep_running_prepared<Op: TestOperator>(scanner: &Scanner, way: usize) -> Outcome {
    let case = Case::<Op>::shared();
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let input = stream.clone_htod(case.input(case.longest()))?;
    let mut output = input.clone();
    let prepared = configure::<Op>(scanner, WAYS[way]).on(&stream).prepare(case.longest())?;
    let start = Instant::now();
    while start.elapsed() < BUSY {
        for len in lengths(case.longest()) {
            prepared.run_into(&input.slice(..len), &mut output.slice_mut(..len))?;
            same(&stream.clone_dtoh(&output.slice(..len))?, &case, way)?;
        }
    }
    Ok(())
}

fn keep_scanning_from_the_host<Op: TestOperator>(scanner: &Scanner, way: usize) -> Outcome {
    let case = Case::<Op>::shared();
    let scan = configure::<Op>(scanner, WAYS[way]);
    let start = Instant::now();
    while start.elapsed() < BUSY {
        for len in lengths(case.longest()) {
            same(&scan.run(case.input(len))?, &case, way)?;
        }
    }
    Ok(())
}

/// One thread, whose context is the one device's, then the other's: work is enqueued on both before either is asked.
fn takes_turns() -> Outcome {
    let case = Case::<PolynomialHash>::shared();
    let scanners = [Scanner::cuda(0)?, Scanner::cuda(1)?];
    let mut streams = Vec::new();
    for scanner in &scanners {
        streams.push(scanner.context().ok_or("no context")?.new_stream()?);
    }
    for len in lengths(case.longest()).repeat(4) {
        let mut outputs = Vec::new();
        for (scanner, stream) in scanners.iter().zip(&streams) {
            let input = stream.clone_htod(case.input(len))?;
            outputs.push(scanner.scan(PolynomialHash).on(stream).run(&input)?);
            // The input is freed here, while the other device's context is about to be bound.
        }
        for (output, stream) in outputs.iter().zip(&streams) {
            same(&stream.clone_dtoh(output)?, &case, 0)?;
        }
        let reductions: Vec<_> =
            scanners.iter().map(|scanner| scanner.reduce(PolynomialHash).run(case.input(len))).collect();
        for reduction in reductions {
            same_last(&[reduction?], case.expected(0, len))?;
        }
    }
    Ok(())
}

fn same_last(found: &[scan_tests::operators::Hash; 1], expected: &[scan_tests::operators::Hash]) -> Outcome {
    let last = expected.last().ok_or("no elements")?;
    ensure(first_difference(found, &[*last]).is_none(), || "a reduction is wrong".to_owned())
}

/// What belongs to the other device is refused by its name, before anything is read or written, in both directions.
fn refused() -> Outcome {
    let scanners = [Scanner::cuda(0)?, Scanner::cuda(1)?];
    for (ours, others) in [(0, 1), (1, 0)] {
        let scanner = &scanners[ours];
        let here = scanner.context().ok_or("no context")?.new_stream()?;
        let there = scanners[others].context().ok_or("no context")?.new_stream()?;
        let foreign = |outcome: Result<(), Error>, expected: &str| {
            let named = matches!(&outcome, Err(Error::ForeignContext { what }) if *what == expected);
            ensure(named, || format!("device {ours}: {expected} should be refused: {outcome:?}"))
        };
        let scan = scanner.scan(ops::sum::<i32>());
        let reduce = scanner.reduce(ops::sum::<i32>());
        let (our_input, mut our_output) = (here.clone_htod(&[1, 2, 3])?, here.clone_htod(&[0; 3])?);
        let (their_input, mut their_output) = (there.clone_htod(&[1, 2, 3])?, there.clone_htod(&[7; 3])?);
        let (our_flags, their_flags) = (here.clone_htod(&[1_u8, 0, 1])?, there.clone_htod(&[1_u8, 0, 1])?);
        let (mut our_total, mut their_total) = (here.clone_htod(&[0])?, there.clone_htod(&[7])?);

        foreign(scan.on(&there).run(&their_input).map(drop), "stream")?;
        foreign(reduce.on(&there).run(&their_input).map(drop), "stream")?;
        foreign(scan.on(&there).prepare(3).map(drop), "stream")?;
        foreign(reduce.on(&there).prepare(3).map(drop), "stream")?;

        foreign(scan.on(&here).run(&their_input).map(drop), "input")?;
        foreign(scan.on(&here).with_total().run(&their_input).map(drop), "input")?;
        foreign(scan.on(&here).run_into(&their_input, &mut our_output), "input")?;
        foreign(scan.on(&here).total_into(&mut their_total).run_into(&our_input, &mut our_output), "total")?;
        foreign(scan.on(&here).run_into(&our_input, &mut their_output), "output")?;
        foreign(scan.on(&here).run_in_place(&mut their_output), "buffer")?;
        foreign(scan.on(&here).by_flags(&their_flags).run(&our_input).map(drop), "heads")?;
        foreign(scan.on(&here).by_flags(&our_flags).run(&their_input).map(drop), "input")?;
        foreign(reduce.on(&here).run(&their_input).map(drop), "input")?;
        foreign(reduce.on(&here).run_into(&our_input, &mut their_total), "output")?;

        let prepared = scan.on(&here).prepare(3)?;
        foreign(prepared.run_into(&their_input, &mut our_output), "input")?;
        foreign(prepared.run_into(&our_input, &mut their_output), "output")?;
        foreign(prepared.run_in_place(&mut their_output), "buffer")?;
        let with_total = scan.on(&here).with_total().prepare(3)?;
        foreign(with_total.total_into(&mut their_total).run_into(&our_input, &mut our_output), "total")?;
        let by_flags = scan.on(&here).by_flags(&our_flags).prepare(3)?;
        foreign(by_flags.by_flags(&their_flags).run_into(&our_input, &mut our_output), "heads")?;
        let reduction = reduce.on(&here).prepare(3)?;
        foreign(reduction.run_into(&their_input, &mut our_total), "input")?;
        foreign(reduction.run_into(&our_input, &mut their_total), "output")?;

        ensure(there.clone_dtoh(&their_output)? == [7; 3], || "their output was touched".to_owned())?;
        ensure(there.clone_dtoh(&their_total)? == [7], || "their total was touched".to_owned())?;
        // All of these are as good as before.
        prepared.run_into(&our_input, &mut our_output)?;
        ensure(here.clone_dtoh(&our_output)? == [1, 3, 6], || "a prepared scan after refusals".to_owned())?;
        by_flags.by_flags(&our_flags).run_into(&our_input, &mut our_output)?;
        ensure(here.clone_dtoh(&our_output)? == [1, 3, 3], || "a segmented scan after refusals".to_owned())?;
        reduction.run_into(&our_input, &mut our_total)?;
        ensure(here.clone_dtoh(&our_total)? == [6], || "a reduction after refusals".to_owned())?;
        let theirs = scanners[others].scan(ops::sum()).on(&there).run(&their_input)?;
        ensure(there.clone_dtoh(&theirs)? == [1, 3, 6], || "the other device after refusals".to_owned())?;
    }
    Ok(())
}

/// An operator panics on one device while a thread scans on the other. The first blames the operator. The second
/// either goes on, with what it had and with what is made afterwards, or the driver has taken its context too: then
/// it blames the operator as well. Driver 580 takes every context of the process. No result is wrong, and nothing
/// hangs.
pub(crate) fn one_is_lost<Op: Panics>(lost: usize) -> Outcome
where
    Op::Item: scan_runtime::ScanElement,
{
    let kept = 1 - lost;
    let (losing, keeping) = (Scanner::cuda(lost)?, Scanner::cuda(kept)?);
    let case = Case::<Interval>::shared();
    let stream = keeping.context().ok_or("no context")?.new_stream()?;
    let input = stream.clone_htod(case.input(case.longest()))?;
    let prepared = configure::<Interval>(&keeping, WAYS[0]).on(&stream).prepare(case.longest())?;
    let mut output = input.clone();
    // The same operator works on the device that stays.
    let (op, well) = Op::well();
    let expected = Scanner::cpu().scan(op).run(&well)?;
    ensure(keeping.scan(op).run(&well)? == expected, || "without a fault".to_owned())?;

    let (stop, barrier) = (AtomicBool::new(false), Barrier::new(2));
    thread::scope(|scope| {
        let beside = scope.spawn(|| {
            barrier.wait();
            scan_until(&keeping, &stop).map_err(|error| error.to_string())
        });
        barrier.wait();
        thread::sleep(Duration::from_millis(50));
        let (op, badly) = Op::badly();
        let blamed = faults::blames(losing.scan(op).run(&badly), Op::NAME);
        thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
        match beside.join().map_err(|_| "a panic")?? {
            Ok(rounds) => println!("fact: {rounds} scans on device {kept} beside the loss of device {lost}"),
            lost => faults::blames(lost, Op::NAME)?,
        }
        blamed
    })?;

    faults::blames(losing.check(), Op::NAME)?;
    faults::blames(losing.scan(ops::sum()).run(&[1, 2, 3]), Op::NAME)?;
    let alive = keeping.check().is_ok();
    println!("fact: with device {lost} lost, device {kept} {}", if alive { "goes on" } else { "is lost, too" });
    if alive {
        prepared.run_into(&input, &mut output)?;
        same(&stream.clone_dtoh(&output)?, &case, 0)?;
        ensure(keeping.scan(op).run(&well)? == expected, || "the operator on the other device".to_owned())?;
        // A kernel that is compiled and loaded only now, and a scanner that is made only now.
        ensure(keeping.scan(ops::min()).run(&[3_i64, 1, 2])? == [3, 1, 1], || "a new kernel".to_owned())?;
        ensure(Scanner::cuda(kept)?.scan(ops::sum()).run(&[1, 2, 3])? == [1, 3, 6], || "a new scanner".to_owned())?;
    } else {
        faults::blames(keeping.check(), Op::NAME)?;
        faults::blames(prepared.run_into(&input, &mut output), Op::NAME)?;
        faults::blames(keeping.scan(op).run(&well), Op::NAME)?;
        faults::blames(keeping.scan(ops::min()).run(&[3_i64, 1, 2]), Op::NAME)?;
        faults::blames(keeping.reduce(ops::sum()).run(&[3_i64, 1, 2]), Op::NAME)?;
        faults::blames(Scanner::cuda(kept), Op::NAME)?;
    }
    drop(losing);
    let any = Scanner::new()?;
    println!("fact: Scanner::new() takes {}", any.backend());
    ensure(any.scan(ops::sum()).run(&[1, 2, 3])? == [1, 3, 6], || "the scanner that one gets".to_owned())
}

/// Scans until it is told to stop, and counts, or until a scan is an error.
fn scan_until(scanner: &Scanner, stop: &AtomicBool) -> Result<Result<u32, Error>, Box<dyn std::error::Error>> {
    let case = Case::<PolynomialHash>::shared();
    let scan = configure::<PolynomialHash>(scanner, WAYS[0]);
    let input = case.input(case.longest().min(300_000));
    let mut rounds = 0;
    while !stop.load(Ordering::Relaxed) {
        match scan.run(input) {
            Ok(output) => same(&output, &case, 0)?,
            Err(error) => return Ok(Err(error)),
        }
        rounds += 1;
    }
    Ok(Ok(rounds))
}
