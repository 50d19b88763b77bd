//! Each strategy's speed as a ratio to a device-to-device copy of the same bytes, measured in turns in one run.
//!
//! `cargo bench -p scan-tests --bench rungs` prints a Markdown table. Results are compared with the CPU's before anything is
//! timed, on random data. A time is the median of several samples, each of as many calls back to back as fill a millisecond,
//! between two events on the stream.

use std::{error::Error, sync::Arc};

use scan_runtime::{
    BlockScan, Carry, Network, ScanKind, Scanner, Strategy, TileNumbers, Workers,
    cudarc::driver::{CudaSlice, CudaStream, sys::CUevent_flags},
    ops,
};
use scan_tests::{
    configure,
    operators::{Affine, MatrixProduct, TestOperator, bits, compose, inputs},
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The story that the texts tell: from one thread to a single pass.
const STRATEGIES: [Strategy; 14] = {
    const fn tree(workers: Workers, padded: bool) -> BlockScan {
        BlockScan::of(Network::BrentKung { workers, padded })
    }
    const fn rung(block: BlockScan, carry: Carry) -> Strategy {
        Strategy { block, carry }
    }
    const FASTEST: BlockScan = BlockScan::coarsened(Network::WarpShuffle);
    [
        rung(BlockScan::of(Network::Sequential), Carry::Hierarchical),
        rung(BlockScan::of(Network::Naive), Carry::Hierarchical),
        rung(BlockScan::of(Network::KoggeStone), Carry::Hierarchical),
        rung(BlockScan::of(Network::HillisSteele), Carry::Hierarchical),
        rung(tree(Workers::Scattered, false), Carry::Hierarchical),
        rung(tree(Workers::Contiguous, false), Carry::Hierarchical),
        rung(tree(Workers::Contiguous, true), Carry::Hierarchical),
        rung(BlockScan::of(Network::Blelloch { padded: true }), Carry::Hierarchical),
        rung(BlockScan::of(Network::WarpShuffle), Carry::Hierarchical),
        rung(BlockScan::coarsened(Network::KoggeStone), Carry::Hierarchical),
        rung(FASTEST, Carry::OneBlock),
        rung(FASTEST, Carry::Hierarchical),
        rung(FASTEST, Carry::Chained(TileNumbers::Counter)),
        rung(FASTEST, Carry::LookBack),
    ]
};

const LENGTHS: [usize; 5] = [1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28];

const SAMPLES: usize = 11;

fn main() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    println!("{}\n", scanner.backend());
    println!("| operator | strategy | elements | copy, µs | scan, µs | scan, GB/s | ratio to copy |");
    println!("|---|---|---:|---:|---:|---:|---:|");
    for strategy in STRATEGIES {
        for len in LENGTHS {
            measure::<ops::Sum<f32>>("sum f32", &scanner, strategy, len)?;
        }
    }
    let largest = 1 << 27;
    for strategy in STRATEGIES.into_iter().skip(11) {
        measure::<ops::Sum<u8>>("sum u8", &scanner, strategy, 8 * largest)?;
        measure::<ops::Sum<f64>>("sum f64", &scanner, strategy, largest)?;
        measure::<compose>("compose f32×2", &scanner, strategy, largest * 8 / size_of::<Affine>())?;
        measure::<MatrixProduct<3>>("product of 3×3 u32 matrices", &scanner, strategy, largest / 4)?;
    }
    Ok(())
}

fn measure<Op: TestOperator>(name: &str, scanner: &Scanner, strategy: Strategy, len: usize) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let scan = configure::<Op>(scanner, (ScanKind::Inclusive, false)).strategy(strategy);

    // Random data, and the same block of it again and again where there is much.
    let block = inputs::<Op>(len.min(1 << 22));
    let input: Vec<Op::Item> = block.iter().copied().cycle().take(len).collect();
    let device_input = stream.clone_htod(&input)?;
    let mut output = stream.clone_htod(&input)?;
    scan.on(&stream).run_into(&device_input, &mut output)?;
    let checked = len.min(1 << 24);
    let expected = configure::<Op>(&Scanner::cpu(), (ScanKind::Inclusive, false)).run(&input[..checked])?;
    if bits(&stream.clone_dtoh(&output.slice(..checked))?) != bits(&expected) {
        return Err(format!("{name}, {strategy}, {len} elements: the result is wrong").into());
    }

    // The slow rungs tell what they have to tell in a few samples.
    let once = sample(&stream, |stream| run(&scan, stream, &device_input, &mut output))?;
    let samples = if once < 2_000.0 { SAMPLES } else { 3 };
    let mut copies = Vec::new();
    let mut scans = Vec::new();
    for _ in 0..samples {
        copies.push(sample(&stream, |stream| Ok(stream.memcpy_dtod(&device_input, &mut output)?))?);
        scans.push(sample(&stream, |stream| run(&scan, stream, &device_input, &mut output))?);
    }
    let (copy, scan) = (median(copies), median(scans));
    let bytes = 2.0 * size_of_val(input.as_slice()) as f64;
    println!(
        "| {name} | {strategy} | {len} | {copy:.2} | {scan:.2} | {:.0} | {:.3} |",
        bytes / scan * 1e-3,
        copy / scan
    );
    Ok(())
}

fn run<Op: TestOperator>(
    scan: &scan_runtime::Scan<'_, Op>,
    stream: &Arc<CudaStream>,
    input: &CudaSlice<Op::Item>,
    output: &mut CudaSlice<Op::Item>,
) -> Outcome {
    Ok(scan.on(stream).run_into(input, output)?)
}

/// Microseconds a call, over calls back to back for about a millisecond.
fn sample(stream: &Arc<CudaStream>, mut call: impl FnMut(&Arc<CudaStream>) -> Outcome) -> Outcome<f64> {
    let mut timed = |calls: u32| -> Outcome<f64> {
        let start = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        for _ in 0..calls {
            call(stream)?;
        }
        let end = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        Ok(f64::from(start.elapsed_ms(&end)?) * 1e3 / f64::from(calls))
    };
    let once = timed(1)?;
    timed((1_000.0 / once.max(1.0)).ceil() as u32)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
