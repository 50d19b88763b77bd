//! Calls after the first.

use std::{
    sync::{Arc, Barrier},
    thread,
    time::Instant,
};

use scan_runtime::{
    Scanner,
    cudarc::{
        driver::{
            CudaFunction, CudaSlice, CudaStream, result,
            sys::{CUgraphInstantiate_flags, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
        },
        nvrtc::compile_ptx,
    },
    ops,
};

use crate::{Outcome, median};

const THREADS: usize = 8;
/// Calls that are made without waiting, for the host's time: no more than the driver lets wait.
const BATCH: usize = 64;
const BATCHES: usize = 9;
const TOTALS: usize = 200;
const LENGTHS: [u32; 3] = [10, 20, 24];

/// The ways to call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Nothing but a launch of a kernel that does nothing: what no call can do without.
    Launch,
    /// `scan.on(&stream).run_into(…)`.
    Call,
    /// `scan.on(&stream).run(…)`, which allocates the output.
    CallAllocating,
    /// `prepared.run_into(…)`.
    Prepared,
    /// A graph that holds one run of a prepared scan.
    Graph,
    /// `scan.run_into(…)` on host slices.
    HostSlices,
}

const WAYS: [(Way, &str); 6] = [
    (Way::Launch, "an empty kernel"),
    (Way::Call, "`on(&stream).run_into`"),
    (Way::CallAllocating, "`on(&stream).run`"),
    (Way::Prepared, "`prepared.run_into`"),
    (Way::Graph, "launch of a graph with one run"),
    (Way::HostSlices, "`run_into` on host slices"),
];

/// What one thread works on.
struct Bench<'s> {
    scanner: &'s Scanner,
    stream: Arc<CudaStream>,
    empty: CudaFunction,
    host_input: Vec<f32>,
    host_output: Vec<f32>,
    input: CudaSlice<f32>,
    output: CudaSlice<f32>,
}

impl<'s> Bench<'s> {
    fn new(scanner: &'s Scanner, len: usize) -> Outcome<Self> {
        let context = scanner.context().ok_or("no context")?;
        let stream = context.new_stream()?;
        let host_input = vec![1.0; len];
        let module = context.load_module(compile_ptx("extern \"C\" __global__ void empty() {}")?)?;
        let bench = Bench {
            empty: module.load_function("empty")?,
            input: stream.clone_htod(&host_input)?,
            output: stream.alloc_zeros(len)?,
            host_output: vec![0.0; len],
            host_input,
            scanner,
            stream,
        };
        bench.stream.synchronize()?;
        Ok(bench)
    }

    /// Host and total time of a call in microseconds.
    fn time(&mut self, way: Way) -> Outcome<(f64, f64)> {
        let (scan, stream) = (self.scanner.scan(ops::sum::<f32>()), self.stream.clone());
        let (input, output) = (&self.input, &mut self.output);
        let times = match way {
            Way::Launch => timed(&stream, || {
                // SAFETY: the kernel takes nothing and does nothing.
                Ok(unsafe {
                    let (function, queue) = (self.empty.cu_function(), stream.cu_stream());
                    result::launch_kernel(function, (1, 1, 1), (32, 1, 1), 0, queue, &mut [])
                }?)
            })?,
            Way::Call => timed(&stream, || Ok(scan.on(&stream).run_into(input, &mut *output)?))?,
            Way::CallAllocating => timed(&stream, || {
                scan.on(&stream).run(input)?;
                Ok(())
            })?,
            Way::Prepared => {
                let prepared = scan.on(&stream).prepare(input.len())?;
                timed(&stream, || Ok(prepared.run_into(input, &mut *output)?))?
            }
            Way::Graph => {
                let prepared = scan.on(&stream).prepare(input.len())?;
                stream.synchronize()?;
                stream.begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
                let captured = prepared.run_into(input, &mut *output);
                let graph =
                    stream.end_capture(CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)?;
                captured?;
                let graph = graph.ok_or("nothing was captured")?;
                // The prepared scan lives as long as the graph that uses its memory.
                timed(&stream, || Ok(graph.launch()?))?
            }
            Way::HostSlices => {
                let run = || Ok(scan.run_into(&self.host_input, &mut self.host_output)?);
                let total = each(run)?;
                (total, total)
            }
        };
        let last = match way {
            Way::Launch | Way::CallAllocating => return Ok(times),
            Way::HostSlices => self.host_output.last().copied(),
            _ => self.stream.clone_dtoh(&self.output)?.last().copied(),
        };
        if last != Some(self.host_input.len() as f32) {
            return Err(format!("the last sum is {last:?}").into());
        }
        Ok(times)
    }
}

/// The median time of a call that waits for its result.
pub(crate) fn each(mut call: impl FnMut() -> Outcome) -> Outcome<f64> {
    for _ in 0..3 {
        call()?;
    }
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.len() < TOTALS && (times.len() < 5 || begin.elapsed().as_secs_f64() < 0.2) {
        let start = Instant::now();
        call()?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(times))
}

fn timed(stream: &CudaStream, mut call: impl FnMut() -> Outcome) -> Outcome<(f64, f64)> {
    let mut hosts = Vec::new();
    for _ in 0..BATCHES {
        let start = Instant::now();
        for _ in 0..BATCH {
            call()?;
        }
        hosts.push(start.elapsed().as_secs_f64() * 1e6 / BATCH as f64);
        stream.synchronize()?;
    }
    let total = each(|| {
        call()?;
        Ok(stream.synchronize()?)
    })?;
    Ok((median(hosts), total))
}

pub(crate) fn measure() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    // cudarc's events between streams are its caller's to choose; here each stream has its own slices.
    let context = scanner.context().ok_or("no context")?;
    // SAFETY: no slice is used on two streams.
    unsafe { context.disable_event_tracking() };
    for power in LENGTHS {
        println!("\nLater calls: sum of 2^{power} `f32`, microseconds, median; {THREADS} threads with a stream each\n");
        println!("| way | host | total | host, {THREADS} threads | total, {THREADS} threads |\n|---|--:|--:|--:|--:|");
        for (way, name) in WAYS {
            let cell = |(host, total): (f64, f64)| match way {
                Way::HostSlices => format!("| {total:.1}"),
                _ => format!("{host:.2} | {total:.1}"),
            };
            match (alone(&scanner, way, 1 << power), together(&scanner, way, 1 << power)) {
                (Ok(one), Ok(many)) => println!("| {name} | {} | {} |", cell(one), cell(many)),
                (one, many) => println!("| {name} | {:?} {:?} ||||", one.err(), many.err()),
            }
        }
    }
    Ok(())
}

fn alone(scanner: &Scanner, way: Way, len: usize) -> Outcome<(f64, f64)> {
    Bench::new(scanner, len)?.time(way)
}

/// The medians of several threads, each with a stream of its own.
fn together(scanner: &Scanner, way: Way, len: usize) -> Outcome<(f64, f64)> {
    let barrier = Barrier::new(THREADS);
    let times = thread::scope(|scope| {
        let run = || {
            let bench = Bench::new(scanner, len).map_err(|error| error.to_string());
            barrier.wait();
            bench?.time(way).map_err(|error| error.to_string())
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(run)).collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or(Err("a panic".to_owned())));
        joined.collect::<Result<Vec<_>, String>>()
    })?;
    let (hosts, totals) = times.into_iter().unzip();
    Ok((median(hosts), median(totals)))
}
