//! Scans that restart: the shapes of look-ahead, for segments of several lengths, told in every way, each as a ratio to a copy
//! of the bytes that it must move: input, output, and what tells where segments begin.

use std::{fmt, sync::Arc};

use scan_codegen::Overrides;
use scan_runtime::{
    Carry, Plan, Scan, Scanner,
    cudarc::driver::{CudaSlice, CudaStream},
    ops,
};
use scan_tests::{
    configure,
    operators::{MixedSum, TestOperator, bits, inputs, mixed},
};

use crate::{Outcome, WAY, fetch, filled, median, sample, with_warp_shuffles};

/// Bytes of the input.
const BYTES: usize = 512 << 20;

const SAMPLES: usize = 3;

/// Elements that the CPU scans too.
const CHECKED: usize = 1 << 21;

/// How long segments are.
#[derive(Clone, Copy)]
enum Lengths {
    Mean(u64),
    /// One over the first half, then segments of 16.
    HalfThen16,
}

const LENGTHS: [Lengths; 4] = [Lengths::Mean(2), Lengths::Mean(64), Lengths::Mean(65_536), Lengths::HalfThen16];

#[derive(Clone, Copy, PartialEq)]
enum HeadSource {
    Flags,
    Bits,
    Keys,
    Offsets,
}

impl fmt::Display for HeadSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HeadSource::Flags => "flags",
            HeadSource::Bits => "bits",
            HeadSource::Keys => "keys",
            HeadSource::Offsets => "offsets",
        })
    }
}

/// Threads of a team, teams, bytes that a thread has of elements and heads; stages as many as there is room for, unless told.
const SHAPES: [(u32, u32, u32, Option<u32>); 5] =
    [(192, 3, 124, None), (192, 3, 156, None), (256, 3, 92, None), (256, 3, 116, None), (128, 3, 188, None)];

/// Where segments begin, told in every way.
struct Heads {
    flags: CudaSlice<u8>,
    bits: CudaSlice<u32>,
    keys: CudaSlice<u32>,
    offsets: CudaSlice<u32>,
    /// The first flags.
    begins: Vec<bool>,
}

impl Heads {
    fn new(stream: &Arc<CudaStream>, lengths: Lengths, len: usize) -> Outcome<Self> {
        let begins = |index: usize| match lengths {
            Lengths::Mean(mean) => mixed(!(index as u64)).is_multiple_of(mean),
            Lengths::HalfThen16 => index >= len / 2 && (index - len / 2).is_multiple_of(16),
        };
        let flags: Vec<u8> = (0..len).map(|index| u8::from(index == 0 || begins(index))).collect();
        let word = |flags: &[u8]| flags.iter().rev().fold(0, |word, &flag| word << 1 | u32::from(flag));
        let bits: Vec<u32> = flags.chunks(32).map(word).collect();
        let keys: Vec<u32> = flags
            .iter()
            .scan(0, |key, &flag| {
                *key += u32::from(flag);
                Some(*key)
            })
            .collect();
        let offsets: Vec<u32> = (0..).zip(&flags).filter(|(_, flag)| **flag != 0).map(|(index, _)| index).collect();
        Ok(Heads {
            begins: flags[..CHECKED.min(len)].iter().map(|&flag| flag != 0).collect(),
            flags: stream.clone_htod(&flags)?,
            bits: stream.clone_htod(&bits)?,
            keys: stream.clone_htod(&keys)?,
            offsets: stream.clone_htod(&offsets)?,
        })
    }

    fn bytes(&self, head_source: HeadSource) -> usize {
        match head_source {
            HeadSource::Flags => self.flags.num_bytes(),
            HeadSource::Bits => self.bits.num_bytes(),
            HeadSource::Keys => self.keys.num_bytes(),
            HeadSource::Offsets => self.offsets.num_bytes(),
        }
    }

    /// Scans, restarting where these tell in one of the ways.
    fn run<Op: TestOperator>(
        &self,
        head_source: HeadSource,
        scan: &Scan<Op>,
        stream: &Arc<CudaStream>,
        input: &CudaSlice<Op::Item>,
        output: &mut CudaSlice<Op::Item>,
    ) -> Outcome {
        let scan = scan.on(stream);
        match head_source {
            HeadSource::Flags => scan.by_flags(&self.flags).run_into(input, output)?,
            HeadSource::Bits => scan.by_bits(&self.bits).run_into(input, output)?,
            HeadSource::Keys => scan.by_keys(&self.keys).run_into(input, output)?,
            HeadSource::Offsets => scan.by_offsets(&self.offsets).run_into(input, output)?,
        }
        Ok(())
    }
}

fn plan<Op: TestOperator>(head_source: HeadSource, scan: &Scan<Op>) -> Option<Plan> {
    match head_source {
        HeadSource::Flags => scan.clone().by_flags::<u8>(&[]).plan(),
        HeadSource::Bits => scan.by_bits::<u32>(&[]).plan(),
        HeadSource::Keys => scan.clone().by_keys::<u32>(&[]).plan(),
        HeadSource::Offsets => scan.clone().by_offsets::<u32>(&[]).plan(),
    }
    .ok()
    .map(|plans| plans.longest().clone())
}

pub(crate) fn sweep_all(scanner: &Scanner) -> Outcome {
    println!(
        "\n| operator | told by | threads × teams | elements a thread | stages | mean 2 | 64 | 65536 | n/2, then 16 |"
    );
    println!("|---|---|---|---:|---:|---:|---:|---:|---:|");
    use HeadSource::{Bits, Flags, Keys, Offsets};
    sweep::<ops::Sum<f32>>("f32", scanner, &[Flags, Bits, Keys, Offsets])?;
    sweep::<ops::Sum<u8>>("u8", scanner, &[Flags, Bits])?;
    sweep::<ops::Sum<u64>>("u64", scanner, &[Flags, Offsets])?;
    sweep::<MixedSum>("struct12", scanner, &[Flags])?;
    println!(
        "\n| operator | told by | input and output, bytes | copy of all bytes, µs | look-back, µs | look-ahead, µs |"
    );
    println!("|---|---|---:|---:|---:|---:|");
    lengths::<ops::Sum<f32>>("f32", scanner, &[Flags, Offsets])?;
    lengths::<ops::Sum<u8>>("u8", scanner, &[Flags])
}

/// From which length on look-ahead is the faster one.
fn lengths<Op: TestOperator>(name: &str, scanner: &Scanner, head_sources: &[HeadSource]) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let size = size_of::<Op::Item>();
    let block = inputs::<Op>(CHECKED);
    let look = |carry| configure::<Op>(scanner, WAY).strategy(with_warp_shuffles(carry));
    let (look_back, look_ahead) = (look(Carry::LookBack), look(Carry::LookAhead));
    for log in 20..=28 {
        let len = (1 << log) / (2 * size);
        let input = filled(&stream, &block, len)?;
        let mut output = filled(&stream, &block, len)?;
        let heads = Heads::new(&stream, Lengths::Mean(64), len)?;
        for &head_source in head_sources {
            let mut times = [Vec::new(), Vec::new(), Vec::new()];
            // The first of each is not counted.
            for turn in 0..=2 * SAMPLES {
                let copy = sample(&stream, || Ok(stream.memcpy_dtod(&input, &mut output)?))?;
                let back = sample(&stream, || heads.run(head_source, &look_back, &stream, &input, &mut output))?;
                let ahead = sample(&stream, || heads.run(head_source, &look_ahead, &stream, &input, &mut output))?;
                if turn > 0 {
                    times.iter_mut().zip([copy, back, ahead]).for_each(|(times, time)| times.push(time));
                }
            }
            let [copy, back, ahead] = times.map(median);
            let moved = (2 * len * size + heads.bytes(head_source)) as f64 / (2 * len * size) as f64;
            println!("| {name} | {head_source} | {} | {:.1} | {back:.1} | {ahead:.1} |", 1_u64 << log, moved * copy);
        }
    }
    Ok(())
}

fn sweep<Op: TestOperator>(name: &str, scanner: &Scanner, head_sources: &[HeadSource]) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let size = size_of::<Op::Item>();
    // Fewer narrow elements: the host writes what tells of them.
    let len = BYTES / size.max(2);
    let block = inputs::<Op>(CHECKED);
    let input = filled(&stream, &block, len)?;
    let mut output = filled(&stream, &block, len)?;
    let shapes: Vec<(HeadSource, Scan<Op>)> = head_sources
        .iter()
        .flat_map(|&head_source| {
            let look_back = configure::<Op>(scanner, WAY).strategy(with_warp_shuffles(Carry::LookBack));
            let default = configure::<Op>(scanner, WAY).strategy(with_warp_shuffles(Carry::LookAhead));
            let shapes = SHAPES.map(|(threads, teams, bytes, stages)| {
                let mut overrides = Overrides::default();
                overrides.strategy = Some(with_warp_shuffles(Carry::LookAhead));
                (overrides.threads, overrides.teams, overrides.stages) = (Some(threads), Some(teams), stages);
                let heads = [1, 0, 4, 2][head_source as usize];
                let max = bytes / (size as u32 + heads);
                // An odd number of units, as the planner would have it.
                let run = if size < 4 { max / 8 * 8 + 4 } else { (max - 1 + max % 2).max(1) };
                overrides.run = Some(run);
                configure::<Op>(scanner, WAY).overrides(overrides)
            });
            [look_back, default].into_iter().chain(shapes).map(move |scan| (head_source, scan))
        })
        .filter(|(head_source, scan)| plan(*head_source, scan).is_some())
        .collect();
    compile(scanner, &shapes)?;
    let mut rows: Vec<Vec<String>> = shapes.iter().map(|_| Vec::new()).collect();
    for lengths in LENGTHS {
        let heads = Heads::new(&stream, lengths, len)?;
        let expected = configure::<Op>(&Scanner::cpu(), WAY).by_flags(&heads.begins).run(&block)?;
        let mut by_look_back = None;
        for ((head_source, scan), row) in shapes.iter().zip(&mut rows) {
            stream.memcpy_dtod(&input, &mut output)?;
            heads.run(*head_source, scan, &stream, &input, &mut output)?;
            let found = fetch::<Op>(&stream, &output, len)?;
            let right = bits(&stream.clone_dtoh(&output.slice(..block.len()))?) == bits(&expected)
                && *by_look_back.get_or_insert_with(|| found.clone()) == found;
            if !right {
                row.push("WRONG".to_owned());
                continue;
            }
            let (mut copies, mut scans) = (Vec::new(), Vec::new());
            for _ in 0..SAMPLES {
                copies.push(sample(&stream, || Ok(stream.memcpy_dtod(&input, &mut output)?))?);
                scans.push(sample(&stream, || heads.run(*head_source, scan, &stream, &input, &mut output))?);
            }
            let moved = (2 * len * size + heads.bytes(*head_source)) as f64 / (2 * len * size) as f64;
            row.push(format!("{:.3}", moved * median(copies) / median(scans)));
        }
    }
    for ((head_source, scan), row) in shapes.iter().zip(&rows) {
        let Some(plan) = plan(*head_source, scan) else { continue };
        let shape = match plan.pipeline {
            Some(pipeline) => format!("{} × {} | {} | {}", plan.threads, pipeline.teams, plan.run, pipeline.stages),
            None => format!("look-back | {} | ", plan.run),
        };
        println!("| {name} | {head_source} | {shape} | {} |", row.join(" | "));
    }
    Ok(())
}

/// Compiles all kernels at once: one after the other takes longer than all that is measured.
fn compile<Op: TestOperator>(scanner: &Scanner, shapes: &[(HeadSource, Scan<Op>)]) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let one = stream.clone_htod(&inputs::<Op>(1))?;
    let heads = Heads::new(&stream, LENGTHS[0], 1)?;
    let compile = |(head_source, scan): &(HeadSource, Scan<Op>)| {
        let mut output = one.try_clone().map_err(|error| error.to_string())?;
        heads.run(*head_source, scan, &stream, &one, &mut output).map_err(|error| error.to_string())
    };
    let results: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = shapes.iter().map(|shape| scope.spawn(|| compile(shape))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a thread died".to_owned()))).collect()
    });
    results.into_iter().collect::<Result<(), _>>().map_err(Into::into)
}
