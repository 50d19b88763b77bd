//! What a run of a prepared handle does not do: allocate, or wait for what others do.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use scan_runtime::{ScanOp, Scanner, ops, scan_op};

use crate::{Outcome, Trials, ensure};

/// The system's allocator, which counts what each thread asks for.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is the system's own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the rules.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often this thread allocates meanwhile.
fn allocations<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<u64, E> {
    let before = ALLOCATIONS.get();
    work()?;
    Ok(ALLOCATIONS.get() - before)
}

pub(crate) fn add(trials: &mut Trials) {
    trials.add("prepared_runs_allocate_nothing", allocate_nothing);
    trials.add("prepared_runs_do_not_wait_for_another_threads_compilation", run_while_another_thread_compiles);
}

fn allocate_nothing() -> Outcome {
    ensure(allocations(|| Ok::<_, ()>(vec![1_u8])) == Ok(1), || "allocations are not counted".to_owned())?;
    let scanner = Scanner::cuda(0)?;
    let context = scanner.context().ok_or("no context")?;
    // SAFETY: all work of this context is on one stream.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let longest = 1 << 24;
    let (input, mut output) = (stream.alloc_zeros::<f32>(longest)?, stream.alloc_zeros::<f32>(longest)?);
    let (flags, mut sum) = (stream.alloc_zeros::<u8>(longest)?, stream.alloc_zeros::<f32>(1)?);
    let sums = scanner.scan(ops::sum::<f32>());
    let plain = sums.on(&stream).prepare(longest)?;
    let total = sums.on(&stream).with_total().prepare(longest)?;
    let by_flags = sums.on(&stream).by_flags(&flags).prepare(longest)?;
    let reduction = scanner.reduce(ops::sum::<f32>()).on(&stream).prepare(longest)?;
    // A launch each, of every algorithm that is a default: in one block, over all tiles, ahead.
    for len in [1_000, 1 << 18, longest] {
        let (input, flags) = (input.slice(..len), flags.slice(..len));
        for warm in [false, true] {
            let counts = [
                allocations(|| plain.run_into(&input, &mut output.slice_mut(..len)))?,
                allocations(|| plain.run_in_place(&mut output.slice_mut(..len)))?,
                allocations(|| total.total_into(&mut sum).run_into(&input, &mut output.slice_mut(..len)))?,
                allocations(|| by_flags.by_flags(&flags).run_into(&input, &mut output.slice_mut(..len)))?,
                allocations(|| reduction.run_into(&input, &mut sum))?,
            ];
            ensure(!warm || counts == [0; 5], || format!("{len} elements: {counts:?} allocations"))?;
        }
    }
    Ok(stream.synchronize()?)
}

/// Operators that are not compiled yet.
#[derive(Clone, Copy)]
struct Fresh<const N: u32>;

#[scan_op]
impl<const N: u32> ScanOp for Fresh<N> {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        ((a ^ N) + (b ^ N) - N) ^ N
    }
}

/// While one thread compiles, loads, and copies megabytes, another one's runs go on.
fn run_while_another_thread_compiles() -> Outcome {
    let scanner = Scanner::builder().device(0).no_cache().build()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let handle = scanner.scan(ops::sum::<u32>()).on(&stream).prepare(100_000)?;
    let (input, mut output) = (stream.alloc_zeros::<u32>(100_000)?, stream.alloc_zeros::<u32>(100_000)?);
    handle.run_into(&input, &mut output)?;
    stream.synchronize()?;
    let elsewhere = vec![1_u32; 1 << 22];
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let busy = scope.spawn(|| -> Result<Duration, scan_runtime::Error> {
            let begin = Instant::now();
            let work = || -> Result<(), scan_runtime::Error> {
                scanner.scan(Fresh::<1>).run(&elsewhere)?;
                scanner.scan(Fresh::<2>).run(&elsewhere)?;
                scanner.scan(Fresh::<3>).run(&elsewhere)?;
                scanner.scan(Fresh::<4>).run(&elsewhere).map(drop)
            };
            let outcome = work();
            done.store(true, Ordering::Release);
            outcome.map(|()| begin.elapsed())
        });
        let (mut runs, mut longest) = (0, Duration::ZERO);
        while !done.load(Ordering::Acquire) {
            let begin = Instant::now();
            handle.run_into(&input, &mut output)?;
            longest = longest.max(begin.elapsed());
            stream.synchronize()?;
            runs += 1;
        }
        let took = busy.join().map_err(|_| "a panic")??;
        println!("{runs} runs while another thread worked for {took:?}; the longest took {longest:?} of the host");
        // A run that waited for a compilation would come between two of them at best.
        ensure(runs >= 50, || format!("{runs} runs in {took:?}, the longest of {longest:?}"))
    })
}
