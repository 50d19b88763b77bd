//! Ranks on all devices: threads of one process, and processes of their own, compared with the CPU.

use std::{
    env,
    error::Error,
    fmt::Debug,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use scan_runtime::{
    Axis, ScanKind, ScanOp, Scanner, World, arrays, ops,
    world::{Launch, WorldError},
};
use scan_tests::{
    lifting::{self, Lifting},
    nccl::{Communicator, Communicators},
    operators::{COVERS, Interval, Joined, Span, bits, mixed},
    reference::WAYS,
    stepped::Coder,
};

use crate::{Outcome, Trials, ensure};

type Failure = Box<dyn Error + Send + Sync>;

pub(crate) fn add(trials: &mut Trials) {
    trials.add_on_two_devices("ranks_that_are_threads_equal_the_cpu", || {
        on_ranks(PATIENT, |world| Ok(equal_the_cpu(world).map_err(|error| error.to_string())?))
    });
    trials.add_on_two_devices("ranks_of_communicators_of_the_caller_equal_the_cpu", of_the_caller);
    trials.add_on_two_devices("ranks_that_are_processes_equal_the_cpu", || in_processes("equal_the_cpu"));
    trials.add_on_two_devices("work_of_ranks_is_captured", || in_processes("is_captured"));
    trials.add_on_two_devices("a_rank_that_is_killed_is_an_error", || in_processes("is_killed"));
    trials.add_on_two_devices("a_rank_that_is_late_is_an_error", late);
    trials.add_on_two_devices("a_rank_that_runs_something_else_is_named", other);
    trials.add_on_two_devices("a_rank_with_rows_of_another_length_is_an_error", other_rows);
}

/// How many devices there are.
fn devices() -> Result<usize, scan_runtime::Error> {
    Ok(scan_runtime::devices()?.len())
}

/// How long a rank waits where no rank is at fault: also for one that compiles its kernels under the sanitizer.
const PATIENT: Duration = Duration::from_secs(60);
/// How long it waits for a rank that does not come.
const IMPATIENT: Duration = Duration::from_secs(2);

/// Runs the function on a rank for each device, each a thread.
fn on_ranks(deadline: Duration, rank: impl Fn(&World) -> Result<(), Failure> + Sync) -> Outcome {
    thread::scope(|scope| {
        let worlds = World::of_devices(&(0..devices()?).collect::<Vec<_>>())?;
        let worlds: Vec<_> = worlds.into_iter().map(|world| world.with_deadline(deadline)).collect();
        let ranks: Vec<_> = worlds.into_iter().map(|world| scope.spawn(|| rank(&{ world }))).collect();
        for rank in ranks {
            rank.join().map_err(|_| "a panic")?.map_err(|error| error.to_string())?;
        }
        Ok(())
    })
}

/// The same of communicators that NCCL made for this program.
fn of_the_caller() -> Outcome {
    let communicators = Communicators::of_devices(devices()?).map_err(|error| error.to_string())?;
    let run = |(device, communicator): (usize, &Communicator)| -> Outcome {
        let scanner = Scanner::cuda(device)?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        // SAFETY: NCCL has just made it for this device, and only the world uses it.
        let world = unsafe { World::from_raw(communicator.0, &scanner, &stream)? };
        flags(&world)?;
        columns(&world)
    };
    thread::scope(|scope| {
        let rank = |rank| scope.spawn(move || run(rank).map_err(|error| error.to_string()));
        let ranks: Vec<_> = communicators.all().iter().enumerate().map(rank).collect();
        ranks.into_iter().try_for_each(|rank| Ok(rank.join().map_err(|_| "a panic")??))
    })
}

/// The variable that says what a process does as a rank.
const ROLE: &str = "SCAN_TESTS_RANK_DOES";

fn in_processes(role: &str) -> Outcome {
    let program = env::current_exe()?;
    let command = || {
        let mut command = Command::new(&program);
        command.env(ROLE, role);
        command
    };
    Ok(Launch::on_this_machine(devices()?, command)?)
}

/// What this process does as a rank, if it is one.
pub(crate) fn of_this_process() -> Option<Outcome> {
    let role = env::var(ROLE).ok()?;
    let run = || {
        let world = World::from_env()?;
        match &*role {
            "equal_the_cpu" => equal_the_cpu(&world),
            "is_captured" => captured(&world),
            "is_killed" => killed(world),
            other => Err(format!("no such role: {other}").into()),
        }
    };
    Some(run())
}

/// Scans slices of these lengths, in turns, in every way, with and without an initial value.
fn check<Op>(world: &World, op: Op, initial: Op::Carry, inputs: impl Fn(usize) -> Vec<Op::Input>) -> Outcome
where
    Op: ScanOp<Output: Debug, Carry: Debug> + Clone,
{
    for lengths in [[0, 5], [5, 0], [1, 1], [1_000, 70_000], [3_000_000, 1], [200_001, 2_000_003]] {
        let before = |rank: usize| (0..rank).map(|rank| lengths[rank % 2]).sum::<usize>();
        let (input, slice) = (inputs(before(world.size())), before(world.rank())..before(world.rank() + 1));
        let on_device = world.stream().clone_htod(&input[slice.clone()])?;
        for (kind, reversed) in WAYS {
            for initial in [None, Some(initial)] {
                let is_exclusive = kind == ScanKind::Exclusive;
                if is_exclusive && initial.or_else(|| op.start()).is_none() {
                    continue;
                }
                let scan = |scanner: &Scanner| {
                    let scan = scanner.scan(op.clone());
                    let scan = if is_exclusive { scan.exclusive() } else { scan };
                    let scan = if reversed { scan.reverse() } else { scan };
                    initial.iter().fold(scan, |scan, value| scan.init(*value))
                };
                let expected = scan(&Scanner::cpu()).with_total().run(&input)?;
                let (found, total) = scan(world.scanner()).across(world).with_total().run(&on_device)?;
                world.synchronize()?;
                let found = world.stream().clone_dtoh(&found)?;
                let total = total.map(|total| world.stream().clone_dtoh(&total)).transpose()?;
                let what = || format!("{lengths:?}, {kind:?}, reversed: {reversed}, {}", initial.is_some());
                ensure(bits(&found) == bits(&expected.0[slice.clone()]), || format!("results of {}", what()))?;
                let total = total.unwrap_or_default();
                ensure(bits(&total) == bits(&[expected.1.unwrap_or(total[0])]), || format!("total of {}", what()))?;
            }
        }
    }
    Ok(())
}

fn spans(len: usize) -> Vec<Span> {
    (1..=len as u64).map(|at| Span { first: at, last: at, kind: COVERS }).collect()
}

fn equal_the_cpu(world: &World) -> Outcome {
    let first = Span { first: 0, last: 0, kind: COVERS };
    check(world, Interval, first, spans)?;
    check(world, Joined, first, spans)?;
    check(world, Lifting, Lifting.lift(lifting::inputs(1)[0]), lifting::inputs)?;
    check(world, Coder, 77, lifting::inputs)?;
    keys(world)?;
    flags(world)?;
    in_place(world)?;
    columns(world)
}

/// A rank's part of so many elements: the later ranks have more.
fn cut(world: &World, len: usize) -> std::ops::Range<usize> {
    let at = |rank: usize| len * rank * rank / world.size() / world.size();
    at(world.rank())..at(world.rank() + 1)
}

/// Segments by keys that span the ranks.
fn keys(world: &World) -> Outcome {
    let keys: Vec<u32> = (0..100_000).map(|at| at / 30_000).collect();
    let values: Vec<u64> = (0..100_000).map(mixed).collect();
    let slice = cut(world, keys.len());
    let expected = Scanner::cpu().scan(ops::sum()).by_keys(&keys).run(&values)?;
    let stream = world.stream();
    let arrays = (stream.clone_htod(&keys[slice.clone()])?, stream.clone_htod(&values[slice.clone()])?);
    let found = world.scanner().scan(ops::by_key(ops::sum())).across(world).run((&arrays.0, &arrays.1))?;
    world.synchronize()?;
    ensure(stream.clone_dtoh(&found)? == expected[slice], || "keyed sums".to_owned())
}

/// Segments by flags, as bits, from an offset on.
fn flags(world: &World) -> Outcome {
    let flags: Vec<bool> = (0..100_000).map(|at| mixed(at).is_multiple_of(9_000)).collect();
    let values: Vec<u64> = (0..100_000).map(mixed).collect();
    let word = |word: &[bool]| (0..).zip(word).map(|(at, flag)| u32::from(*flag) << at).sum();
    let words: Vec<u32> = flags.chunks(32).map(word).collect();
    let slice = cut(world, flags.len());
    let expected = Scanner::cpu().scan(ops::sum()).by_flags(&flags).run(&values)?;
    let stream = world.stream();
    let (words, values) = (stream.clone_htod(&words)?, stream.clone_htod(&values[slice.clone()])?);
    let sums = world.scanner().scan(ops::by_flag(ops::sum()));
    let found = sums.across(world).run((arrays::bits(&words, slice.start), &values))?;
    world.synchronize()?;
    ensure(stream.clone_dtoh(&found)? == expected[slice], || "sums by flags".to_owned())
}

fn in_place(world: &World) -> Outcome {
    let input = spans(3_000_000);
    let slice = cut(world, input.len());
    let mut buffer = world.stream().clone_htod(&input[slice.clone()])?;
    world.scanner().scan(Interval).across(world).run_in_place(&mut buffer)?;
    world.synchronize()?;
    let found = world.stream().clone_dtoh(&buffer)?;
    let is_right = |(found, last): (&Span, u64)| (found.first, found.last, found.kind) == (1, last, COVERS);
    ensure(found.iter().zip(slice.start as u64 + 1..).all(is_right), || "in place".to_owned())
}

/// Rows of states whose time axis is split, with initial and final states.
fn columns(world: &World) -> Outcome {
    let (rows, len, inner) = (5, 900, 33);
    let input = lifting::inputs(rows * len * inner);
    let init: Vec<_> = lifting::inputs(rows * inner).into_iter().map(|x| Lifting.lift(x)).collect();
    let std::ops::Range { start: from, end: to } = cut(world, len);
    let part = |row: usize| (row * len + from) * inner..(row * len + to) * inner;
    let slice: Vec<_> = (0..rows).flat_map(|row| &input[part(row)]).copied().collect();
    let stream = world.stream();
    let (on_device, values) = (stream.clone_htod(&slice)?, stream.clone_htod(&init)?);
    let axis = |len| Axis::of(&[rows, len, inner], 1);
    for reversed in [false, true] {
        let scan = |scanner: &Scanner| {
            let scan = scanner.scan(Lifting);
            if reversed { scan.reverse() } else { scan }
        };
        let (expected, totals) = scan(&Scanner::cpu()).along(axis(len)?).init_each(&init).with_totals().run(&input)?;
        let expected: Vec<_> = (0..rows).flat_map(|row| &expected[part(row)]).copied().collect();
        let across = scan(world.scanner());
        let across = across.across(world).along(axis(to - from)?).init_each(&values).with_totals();
        let (found, found_totals) = across.run(&on_device)?;
        world.synchronize()?;
        ensure(stream.clone_dtoh(&found)? == expected, || format!("columns, reversed: {reversed}"))?;
        ensure(stream.clone_dtoh(&found_totals)? == totals, || format!("totals, reversed: {reversed}"))?;
        let reduce = world.scanner().reduce(Lifting);
        let reduce = if reversed { reduce.reverse() } else { reduce };
        let reduced = reduce.across(world).along(axis(to - from)?).init_each(&values).run(&on_device)?;
        world.synchronize()?;
        let projected: Vec<_> = totals.iter().map(|total| Lifting.project(*total)).collect();
        ensure(stream.clone_dtoh(&reduced)? == projected, || format!("reduced, reversed: {reversed}"))?;
    }
    Ok(())
}

/// A graph of a scan across ranks gives the results of its inputs at each launch.
fn captured(world: &World) -> Outcome {
    use scan_runtime::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
    let (stream, sums) = (world.stream(), world.scanner().scan(ops::sum::<u64>()));
    // SAFETY: all work of this context is on one stream.
    unsafe { stream.context().disable_event_tracking() };
    let mut input = stream.clone_htod(&vec![1_u64; 100_000])?;
    let mut output = stream.alloc_zeros::<u64>(input.len())?;
    sums.across(world).run_into(&input, &mut output)?;
    world.synchronize()?;
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    let enqueued = sums.across(world).run_into(&input, &mut output);
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = stream.end_capture(flags);
    enqueued?;
    let graph = graph?.ok_or("no graph")?;
    for value in [2_u64, 5] {
        stream.memcpy_htod(&vec![value; 100_000], &mut input)?;
        graph.launch()?;
        world.synchronize()?;
        let found = stream.clone_dtoh(&output)?;
        let first = value * 100_000 * world.rank() as u64;
        let is_right = found.iter().zip(1..).all(|(found, count)| *found == first + value * count);
        ensure(is_right, || format!("a graph of {value}s: {:?}", &found[..3]))?;
    }
    Ok(())
}

/// Rank 1 ends in the middle; rank 0 gets an error in time.
fn killed(world: World) -> Outcome {
    let world = world.with_deadline(IMPATIENT);
    let input = world.stream().clone_htod(&[1_u32; 1_000])?;
    let sums = world.scanner().scan(ops::sum());
    let mut output = sums.across(&world).run(&input)?;
    world.synchronize()?;
    if world.rank() == 1 {
        std::process::exit(0);
    }
    thread::sleep(Duration::from_millis(300));
    lost(&world, || sums.across(&world).run_into(&input, &mut output))
}

/// Checks that a call, or the wait for it, is an error within the deadline, and each call after it.
fn lost(world: &World, mut call: impl FnMut() -> Result<(), scan_runtime::Error>) -> Outcome {
    let start = Instant::now();
    let outcome = call().and_then(|()| world.synchronize());
    ensure(outcome.is_err(), || "a call without the other rank ended well".to_owned())?;
    ensure(start.elapsed() < Duration::from_secs(20), || format!("it took {:?}", start.elapsed()))?;
    ensure(call().is_err() && world.check().is_err(), || "the world is not lost".to_owned())?;
    // The device is not lost.
    let input = world.stream().clone_htod(&[1_u32, 2])?;
    let sums = world.scanner().scan(ops::sum()).on(world.stream()).run(&input)?;
    ensure(world.stream().clone_dtoh(&sums)? == [1, 3], || "the device is of no use".to_owned())
}

fn late() -> Outcome {
    on_ranks(IMPATIENT, |world| {
        let input = world.stream().clone_htod(&[1_u32; 1_000])?;
        let sums = world.scanner().scan(ops::sum());
        let mut output = sums.across(world).run(&input)?;
        world.synchronize()?;
        if world.rank() == 1 {
            // Beyond the deadline of the others, which have given up. Where each had sent its part before, this rank's
            // call is right; its next one is an error.
            thread::sleep(Duration::from_secs(4));
            if sums.across(world).run_into(&input, &mut output).and_then(|()| world.synchronize()).is_ok() {
                let found = world.stream().clone_dtoh(&output)?;
                let is_right = found.iter().zip(1..).all(|(found, count)| *found == 1_000 + count);
                ensure(is_right, || format!("a late call: {:?}", &found[..3])).map_err(|error| error.to_string())?;
            }
        }
        Ok(lost(world, || sums.across(world).run_into(&input, &mut output)).map_err(|error| error.to_string())?)
    })
}

fn other() -> Outcome {
    on_ranks(IMPATIENT, |world| {
        let input = world.stream().clone_htod(&[1_u32; 1_000])?;
        let error = match world.rank() {
            1 => world.scanner().scan(ops::max()).across(world).run(&input).err(),
            _ => world.scanner().scan(ops::sum()).across(world).run(&input).err(),
        };
        match error {
            Some(scan_runtime::Error::World(WorldError::Differs { rank: 1, .. })) => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    })
}

/// The others have compared this call before, so that they do not come to what this rank wants to compare.
fn other_rows() -> Outcome {
    on_ranks(IMPATIENT, |world| {
        let sums = world.scanner().scan(ops::sum());
        let input = world.stream().clone_htod(&[1_u32; 12])?;
        let run = |rows| sums.across(world).along(Axis::of(&[rows, 12 / rows], 1)?).run(&input).map(drop);
        run(3)?;
        world.synchronize()?;
        let rows = if world.rank() == 1 { 4 } else { 3 };
        Ok(lost(world, || run(rows)).map_err(|error| error.to_string())?)
    })
}
