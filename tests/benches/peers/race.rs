//! Times: everyone who scans takes turns with a copy, on the same buffers.

use std::{fmt, sync::Arc};

use clap::ValueEnum;
use scan_runtime::{
    ScanElement,
    cudarc::driver::{
        CudaContext, CudaEvent, CudaGraph, CudaSlice, CudaStream, DevicePtrMut, result,
        sys::{
            CUdevice_attribute, CUevent_flags, CUgraphInstantiate_flags,
            CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        },
    },
};

use crate::Outcome;

/// What is scanned, and where it goes.
pub(crate) struct Buffers<T> {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) input: CudaSlice<T>,
    pub(crate) output: CudaSlice<T>,
}

impl<T: ScanElement> Buffers<T> {
    /// Room for `len` elements, and an input that repeats a block of them.
    pub(crate) fn repeating(stream: &Arc<CudaStream>, block: &[T], len: usize) -> Outcome<Self> {
        // SAFETY: the input is written below, and outputs are read after a scan only.
        let (mut input, output) = unsafe { (stream.alloc::<T>(len)?, stream.alloc::<T>(len)?) };
        let block = stream.clone_htod(&block[..block.len().min(len)])?;
        for start in (0..len).step_by(block.len()) {
            let end = len.min(start + block.len());
            stream.memcpy_dtod(&block.slice(..end - start), &mut input.slice_mut(start..end))?;
        }
        Ok(Buffers { stream: stream.clone(), input, output })
    }

    /// Fills the output with a pattern, so that a scan which writes nothing is not taken for the one before it.
    pub(crate) fn poison(&mut self, len: usize) -> Outcome {
        let (pointer, _writing) = self.output.device_ptr_mut(&self.stream);
        // SAFETY: the output has room for `len` elements, and is read only after a scan has written it.
        unsafe { result::memset_d8_async(pointer, 0xa5, len * size_of::<T>(), self.stream.cu_stream())? };
        Ok(())
    }
}

/// Enqueues one scan of so many elements.
pub(crate) type Call<'a, T> = Box<dyn FnMut(&mut Buffers<T>, usize) -> Outcome + 'a>;

/// Who takes part.
pub(crate) struct Entrant<'a, T> {
    pub(crate) name: String,
    /// How to scan, or why it cannot.
    pub(crate) call: Result<Call<'a, T>, String>,
    /// Bytes that must be read beside the input: of flags, keys or offsets.
    pub(crate) side_bytes: usize,
}

/// The copy that all are compared with.
pub(crate) fn copy<'a, T: ScanElement>() -> Entrant<'a, T> {
    let call: Call<'a, T> = Box::new(|buffers, len| {
        let Buffers { stream, input, output } = buffers;
        Ok(stream.memcpy_dtod(&input.slice(..len), &mut output.slice_mut(..len))?)
    });
    Entrant { name: "copy".to_owned(), call: Ok(call), side_bytes: 0 }
}

/// How calls follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// One call after the other in a stream, as fast as the host makes them; what fits the L2 cache is there already.
    Stream,
    /// Many calls in one CUDA graph: the host has no part in it; L2 as above.
    Graph,
    /// One call at a time after the L2 cache has been filled with something else; the host has no part in it.
    Cold,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Stream => "back to back",
            Mode::Graph => "in a graph",
            Mode::Cold => "cold L2",
        })
    }
}

/// Microseconds a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) median: f64,
    pub(crate) fastest: f64,
    pub(crate) slowest: f64,
}

/// Calls in a graph.
const GRAPH_CALLS: u32 = 40;
/// Cold calls a turn, each between events of its own.
const COLD_CALLS: u32 = 3;
/// How often the cache is filled before a cold call: the first time does it, the others keep the GPU busy until the host has
/// enqueued the call and both events, however long it takes to allocate.
const FLUSHES: u32 = 5;
/// Whoever has taken this long in a race, in microseconds, is let off after the third turn.
const PATIENCE: f64 = 200_000.0;

/// What times are taken with.
pub(crate) struct Clock {
    start: CudaEvent,
    end: CudaEvent,
    /// Several times as large as the L2 cache.
    flush: CudaSlice<u8>,
    rounds: usize,
    /// Microseconds that a turn should take.
    turn: f64,
}

impl Clock {
    pub(crate) fn new(context: &Arc<CudaContext>, rounds: usize, turn: f64) -> Outcome<Self> {
        let event = || context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let l2 = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?;
        let flush = context.default_stream().alloc_zeros(4 * usize::try_from(l2)?.max(1 << 20))?;
        context.synchronize()?;
        Ok(Clock { start: event()?, end: event()?, flush, rounds, turn })
    }

    /// Microseconds between two events with nothing between them: what every cold time contains.
    pub(crate) fn nothing(&mut self, stream: &Arc<CudaStream>) -> Outcome<f64> {
        let mut times = Vec::new();
        for _ in 0..self.rounds.max(5) {
            self.cool(stream)?;
            times.push(self.time(stream, || Ok(()))?);
        }
        Ok(times_of(times).map_or(0.0, |times| times.median))
    }

    /// Fills the L2 cache with something else.
    fn cool(&mut self, stream: &Arc<CudaStream>) -> Outcome {
        Ok((0..FLUSHES).try_for_each(|_| stream.memset_zeros(&mut self.flush))?)
    }

    pub(crate) fn time(&self, stream: &CudaStream, work: impl FnOnce() -> Outcome) -> Outcome<f64> {
        self.start.record(stream)?;
        work()?;
        self.end.record(stream)?;
        Ok(f64::from(self.start.elapsed_ms(&self.end)?) * 1e3)
    }

    /// Lets all take turns, and tells the times of each, or why there are none. Those with a `hindrance` stand aside.
    pub(crate) fn race<T: ScanElement>(
        &mut self,
        buffers: &mut Buffers<T>,
        entrants: &mut [Entrant<'_, T>],
        hindrances: &[Option<String>],
        len: usize,
        mode: Mode,
    ) -> Vec<Result<Times, String>> {
        let mut runners: Vec<Result<Runner, String>> = Vec::new();
        for (entrant, hindrance) in entrants.iter_mut().zip(hindrances) {
            runners.push(match hindrance {
                Some(why) => Err(why.clone()),
                None => self.prepare(buffers, entrant, len, mode).map_err(|error| error.to_string()),
            });
        }
        for _ in 0..self.rounds {
            for (entrant, place) in entrants.iter_mut().zip(&mut runners) {
                let Ok(runner) = place else { continue };
                if runner.times.len() >= 3 && runner.spent > PATIENCE {
                    continue;
                }
                if let Err(error) = self.turn(buffers, entrant, runner, len) {
                    *place = Err(error.to_string());
                }
            }
        }
        runners.into_iter().map(|runner| runner.and_then(|runner| times_of(runner.times))).collect()
    }

    /// Warms up, and finds how many calls fill a turn.
    fn prepare<T: ScanElement>(
        &mut self,
        buffers: &mut Buffers<T>,
        entrant: &mut Entrant<'_, T>,
        len: usize,
        mode: Mode,
    ) -> Outcome<Runner> {
        let graph = match mode {
            Mode::Graph => {
                // Memory is allocated by the first call, which cannot be captured.
                let call = entrant.call.as_mut().map_err(|why| why.clone())?;
                call(buffers, len)?;
                buffers.stream.synchronize()?;
                Some(capture(buffers, entrant, len)?)
            }
            Mode::Stream | Mode::Cold => None,
        };
        let mut runner = Runner { graph, cold: mode == Mode::Cold, calls: 1, times: Vec::new(), spent: 0.0 };
        // The first of two is still slowed by what happens once.
        for _ in 0..2 {
            self.turn(buffers, entrant, &mut runner, len)?;
        }
        let once = runner.times.last().copied().unwrap_or(0.0);
        let once = if runner.graph.is_some() { once * f64::from(GRAPH_CALLS) } else { once };
        Ok(Runner { calls: (self.turn / once.max(0.5)).ceil() as u32, times: Vec::new(), spent: 0.0, ..runner })
    }

    fn turn<T: ScanElement>(
        &mut self,
        buffers: &mut Buffers<T>,
        entrant: &mut Entrant<'_, T>,
        runner: &mut Runner,
        len: usize,
    ) -> Outcome {
        let stream = buffers.stream.clone();
        let call = entrant.call.as_mut().map_err(|why| why.clone())?;
        if runner.cold {
            for _ in 0..COLD_CALLS {
                self.cool(&stream)?;
                runner.add(self.time(&stream, || call(buffers, len))?, 1);
            }
        } else if let Some(graph) = &runner.graph {
            let launches = runner.calls;
            let time = self.time(&stream, || Ok((0..launches).try_for_each(|_| graph.launch())?))?;
            runner.add(time, launches * GRAPH_CALLS);
        } else {
            let calls = runner.calls;
            // The first call after a wait is slowed by what the driver does once, such as giving memory to its pool again.
            call(buffers, len)?;
            let time = self.time(&stream, || (0..calls).try_for_each(|_| call(buffers, len)))?;
            runner.add(time, calls);
        }
        Ok(())
    }
}

/// Someone in a race.
struct Runner {
    graph: Option<CudaGraph>,
    cold: bool,
    /// Calls, or launches of the graph, that fill a turn.
    calls: u32,
    times: Vec<f64>,
    spent: f64,
}

impl Runner {
    fn add(&mut self, time: f64, calls: u32) {
        self.spent += time;
        self.times.push(time / f64::from(calls));
    }
}

fn capture<T: ScanElement>(
    buffers: &mut Buffers<T>,
    entrant: &mut Entrant<'_, T>,
    len: usize,
) -> Result<CudaGraph, String> {
    let stream = buffers.stream.clone();
    let call = entrant.call.as_mut().map_err(|why| why.clone())?;
    stream.begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(|error| error.to_string())?;
    let calls = (0..GRAPH_CALLS).try_for_each(|_| call(buffers, len));
    // Whatever happened, the stream must leave its capture.
    let graph = stream.end_capture(CUgraphInstantiate_flags(0));
    let captured = match (calls, graph) {
        (Ok(()), Ok(Some(graph))) => graph.upload().map(|()| graph).map_err(|error| error.to_string()),
        (Ok(()), Ok(None)) => Err("nothing was captured".to_owned()),
        (Ok(()), Err(error)) => Err(error.to_string()),
        (Err(error), _) => Err(error.to_string()),
    };
    captured.map_err(|error| {
        // Errors that cudarc has kept for later belong to this capture.
        let _ = stream.context().check_err();
        format!("cannot be captured into a graph: {error}")
    })
}

fn times_of(mut times: Vec<f64>) -> Result<Times, String> {
    times.sort_by(f64::total_cmp);
    match (times.first(), times.get(times.len() / 2), times.last()) {
        (Some(&fastest), Some(&median), Some(&slowest)) => Ok(Times { median, fastest, slowest }),
        _ => Err("no turn was taken".to_owned()),
    }
}
