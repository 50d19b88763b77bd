//! Launches that begin while what is before them in the stream still runs, and launches of which not all blocks find room.

use std::{
    ffi::c_void,
    thread,
    time::{Duration, Instant},
};

use scan_runtime::{
    BlockScan, Carry, Network, Scanner, Strategy, TileNumbers,
    cudarc::driver::{
        DevicePtr, result,
        sys::{
            CUfunction_attribute, CUgraphInstantiate_flags, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        },
    },
    nvrtc, ops,
};
use scan_tests::operators::mixed;

use crate::{Outcome, Trials, ensure, prepared::stream_to_capture};

pub(crate) fn add(trials: &mut Trials) {
    for (name, strategy) in [("default", None)].into_iter().chain(strategies().map(|(name, it)| (name, Some(it)))) {
        trials.add(format!("scans_of_scans: {name}"), move || scans_of_scans(strategy));
        trials.add(format!("scans_of_scans_in_a_graph: {name}"), move || in_a_graph(strategy));
    }
    for (name, strategy) in strategies() {
        // Two of them would take the whole device.
        trials.add_alone(&format!("alone_scans_end_on_a_device_that_is_mostly_occupied: {name}"), move || {
            with_few_resident_blocks(strategy)
        });
    }
}

/// Those whose kernels wait for each other's blocks, or for each other.
fn strategies() -> impl Iterator<Item = (&'static str, Strategy)> {
    let shuffles = |carry| Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry };
    let registers = |carry| Strategy { block: BlockScan::in_registers(), carry };
    [
        ("look-ahead", shuffles(Carry::LookAhead)),
        ("look-at-all", registers(Carry::LookAtAll)),
        ("look-back", registers(Carry::LookBack)),
        ("chained", registers(Carry::Chained(TileNumbers::Counter))),
        ("reduce-then-scan", shuffles(Carry::ReduceThenScan)),
    ]
    .into_iter()
}

/// How often the result is scanned again.
const TIMES: usize = 9;

fn input_of(len: usize, run: usize) -> Vec<u32> {
    (0..len as u64).map(|index| mixed(index + run as u64) as u32).collect()
}

/// The sums of sums of sums.
fn expected(mut values: Vec<u32>) -> Result<Vec<u32>, scan_runtime::Error> {
    let (cpu, scanned) = (Scanner::cpu(), &mut vec![0; values.len()]);
    for _ in 0..TIMES {
        cpu.scan(ops::sum::<u32>()).run_into(&values, &mut *scanned)?;
        values.copy_from_slice(scanned);
    }
    Ok(values)
}

/// Each scan reads what the one before has written, and writes what that one has read; nothing but the stream orders them, nor what
/// the host copies between.
fn scans_of_scans(strategy: Option<Strategy>) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let scan = scanner.scan(ops::sum::<u32>());
    let scan = match strategy {
        Some(strategy) => scan.strategy(strategy),
        None => scan,
    };
    for len in [1_000, 20_000, 300_000, 1 << 20, 5_000_000, 20_000_000] {
        let (mut first, mut second) = (stream.alloc_zeros::<u32>(len)?, stream.alloc_zeros::<u32>(len)?);
        let expected = [expected(input_of(len, 0))?, expected(input_of(len, 1))?];
        let inputs = [stream.clone_htod(&input_of(len, 0))?, stream.clone_htod(&input_of(len, 1))?];
        let mut results = Vec::new();
        for run in 0..6 {
            stream.memcpy_dtod(&inputs[run % 2], &mut first)?;
            for _ in 0..TIMES {
                scan.on(&stream).run_into(&first, &mut second)?;
                std::mem::swap(&mut first, &mut second);
            }
            results.push(first.clone()); // a copy in the stream, beyond which it is overwritten
        }
        for (run, result) in results.iter().enumerate() {
            let right = stream.clone_dtoh(result)? == expected[run % 2];
            ensure(right, || format!("{len} elements, run {run}: {:?}", scan.plan().map(|plan| plan.to_string())))?;
        }
    }
    Ok(())
}

/// The same in a graph, which is launched several times in a row.
fn in_a_graph(strategy: Option<Strategy>) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = stream_to_capture(&scanner)?;
    let scan = scanner.scan(ops::sum::<u32>());
    let scan = match strategy {
        Some(strategy) => scan.strategy(strategy),
        None => scan,
    };
    for len in [1_000, 300_000, 5_000_000] {
        let handle = scan.on(&stream).prepare(len)?;
        let expected = expected(input_of(len, 0))?;
        let input = stream.clone_htod(&input_of(len, 0))?;
        let (mut first, mut second) = (stream.clone_htod(&input_of(len, 1))?, stream.clone_htod(&input_of(len, 2))?);
        stream.begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        let captured = (|| {
            stream.memcpy_dtod(&input, &mut first)?;
            for _ in 0..TIMES {
                handle.run_into(&first, &mut second)?;
                std::mem::swap(&mut first, &mut second);
            }
            Ok::<(), Box<dyn std::error::Error>>(())
        })();
        let graph = stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
        captured?;
        for _ in 0..5 {
            for _ in 0..4 {
                graph.launch()?;
            }
            ensure(stream.clone_dtoh(&first)? == expected, || format!("{len} elements"))?;
        }
    }
    Ok(())
}

/// Occupies multiprocessors until `ends` is set, or for a minute.
const OCCUPY: &str = "extern \"C\" __global__ void occupy(volatile unsigned* ends) {
  extern __shared__ unsigned char all_of_it[];
  const long long begun = clock64();
  while (*ends == 0 && clock64() - begun < 100000000000ll) {
    __nanosleep(2000);
  }
  all_of_it[threadIdx.x] = 0;
}";

/// Three quarters of the device are occupied, so that not all blocks are resident. The resident ones do not wait for
/// the others.
fn with_few_resident_blocks(strategy: Strategy) -> Outcome {
    const PATIENCE: Duration = Duration::from_secs(20);
    let scanner = Scanner::cuda(0)?;
    let context = scanner.context().ok_or("no context")?;
    let (stream, other, third) = (context.new_stream()?, context.new_stream()?, context.new_stream()?);
    let len = 30_000_000;
    let input = input_of(len, 0);
    let mut sums = vec![0; len];
    Scanner::cpu().scan(ops::sum::<u32>()).run_into(&input, &mut sums)?;
    let scan = scanner.scan(ops::sum::<u32>()).strategy(strategy);
    let input = stream.clone_htod(&input)?;
    let mut output = stream.alloc_zeros::<u32>(len)?;
    let handle = scan.on(&stream).prepare(len)?;
    handle.run_into(&input, &mut output)?; // loads the kernels
    let ends = other.alloc_zeros::<u32>(1)?;
    let place = ends.device_ptr(&other).0;
    nvrtc::version()?; // finds the library
    let function = context.load_module(scan_runtime::cudarc::nvrtc::compile_ptx(OCCUPY)?)?.load_function("occupy")?;
    let shared = scanner.limits().shared_bytes_per_block_optin - 1024;
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    function.set_attribute(attribute, shared as i32)?;
    context.synchronize()?;
    let blocks = scanner.limits().multiprocessors / 4 * 3;
    let mut argument = place;
    let arguments = &mut [(&raw mut argument).cast::<c_void>()];
    // SAFETY: the kernel takes the place of a word, which lives until the kernel has ended.
    unsafe {
        result::launch_kernel(
            function.cu_function(),
            (blocks, 1, 1),
            (32, 1, 1),
            shared,
            other.cu_stream(),
            arguments,
        )?;
    }
    thread::sleep(Duration::from_millis(20)); // until it is resident
    let begun = Instant::now();
    let enqueued = handle.run_into(&input, &mut output);
    let end = stream.record_event(None)?;
    while !end.is_complete() && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
    let (came_to_an_end, took) = (end.is_complete(), begun.elapsed());
    // SAFETY: the place is good for a word.
    unsafe { result::memcpy_htod_async(place, &[1_u32], third.cu_stream())? };
    context.synchronize()?;
    enqueued?;
    println!("fact: {strategy}, on a quarter of the device: {took:.0?}");
    ensure(came_to_an_end, || format!("{strategy}: nothing after {PATIENCE:?}, before the others were resident"))?;
    ensure(stream.clone_dtoh(&output)? == sums, || format!("{strategy}: wrong"))
}
