//! Host memory that goes through the device in chunks.

use std::time::Instant;

use scan_runtime::cudarc::driver::sys;
use scan_runtime::{Axis, PageLocked, Scanner, Staging, ops};

use crate::{Outcome, warm::each};

const LENGTHS: [u32; 4] = [24, 26, 28, 30];

/// A table of chunk lengths: what a scan takes of the time in which the bus brings as many bytes both ways at once.
pub(crate) fn measure() -> Outcome {
    let default = Staging::default();
    let chunks = |mebibytes: usize| default.with_chunk_bytes(mebibytes << 20);
    let settings = [
        ("in one piece", default.with_chunk_bytes(usize::MAX)),
        ("16 MiB", chunks(16)),
        ("32 MiB", chunks(32)),
        ("64 MiB", chunks(64)),
        ("128 MiB", chunks(128)),
        ("256 MiB", chunks(256)),
    ];
    let scanner = Scanner::cuda(0)?;
    let longest = 1 << LENGTHS[LENGTHS.len() - 1];
    let (mut from, mut to) =
        (PageLocked::filled(&scanner, 0.0_f32, longest)?, PageLocked::filled(&scanner, 0.0_f32, longest)?);
    let both_ways = both_ways(&scanner, &from, &mut to)?;
    println!(
        "\nSum of `f32` from slice to slice of the host: milliseconds by length, and the part of the bus both ways at once\n"
    );
    println!("| chunks | page-locked |{}|", LENGTHS.map(|power| format!(" 2^{power} ")).join("|"));
    println!("|---|---|{}", "--:|".repeat(LENGTHS.len()));
    let bound = |len: usize| both_ways * (len * size_of::<f32>()) as f64;
    println!("| the bus | |{}|", LENGTHS.map(|power| format!(" {:.2} ", 1e3 * bound(1 << power))).join("|"));
    let (mut pageable, mut output) = (vec![0.0_f32; longest], vec![0.0_f32; longest]);
    for (name, staging) in settings {
        let scanner = Scanner::builder().device(0).staging(staging).build()?;
        for locked in [true, false] {
            let (from, to) = match locked {
                true => (&mut from[..], &mut to[..]),
                false => (&mut pageable[..], &mut output[..]),
            };
            let mut cells = Vec::new();
            for power in LENGTHS {
                let len = 1 << power;
                from[..len].fill(0.0);
                from[0] = 1.0;
                from[len - 1] = 2.0;
                let scan = scanner.scan(ops::sum());
                scan.run_into(&from[..len], &mut to[..len])?;
                if to[len - 2..len] != [1.0, 3.0] {
                    return Err(format!("{name}: the last sums of {len} are {:?}", &to[len - 2..len]).into());
                }
                let seconds = each(|| Ok(scan.run_into(&from[..len], &mut to[..len])?))? / 1e6;
                cells.push(format!(" {:.2} ({:.2}) ", 1e3 * seconds, bound(len) / seconds));
            }
            println!("| {name} | {} |{}|", if locked { "yes" } else { "no" }, cells.join("|"));
        }
    }
    kinds(&from, &mut to, both_ways)
}

/// A table of kinds of scans in chunks of the default size: what each takes of the time in which the bus brings its
/// elements both ways at once.
fn kinds(from: &[f32], to: &mut [f32], both_ways: f64) -> Outcome {
    const LEN: usize = 1 << 28;
    let scanner = Scanner::cuda(0)?;
    let (from, to, bound) = (&from[..LEN], &mut to[..LEN], both_ways * (LEN * size_of::<f32>()) as f64);
    let sums = || scanner.scan(ops::sum::<f32>());
    let flags = |segment: usize| (0..LEN).map(|at| at % segment == 0).collect::<Vec<bool>>();
    let (short, long) = (flags(1_000), flags(50_000_000));
    let offsets: Vec<usize> = (0..=LEN).step_by(1 << 10).collect();
    let (columns, sequences) = (Axis::of(&[LEN / 256, 256], 0)?, Axis::of(&[64, LEN / 64 / 512, 512], 1)?);
    println!(
        "\nKinds of scans of 2^28 `f32`, page-locked, in chunks of 32 MiB\n\n| kind | milliseconds | of the bus |\n|---|--:|--:|"
    );
    let mut row = |name: &str, run: &mut dyn FnMut(&mut [f32]) -> Outcome| -> Outcome {
        let seconds = each(|| run(to))? / 1e6;
        println!("| {name} | {:.2} | {:.2} |", 1e3 * seconds, bound / seconds);
        Ok(())
    };
    row("flat", &mut |to| Ok(sums().run_into(from, to)?))?;
    row("by flags, segments of 1000", &mut |to| Ok(sums().by_flags(&short).run_into(from, to)?))?;
    row("by flags, segments of 5e7", &mut |to| Ok(sums().by_flags(&long).run_into(from, to)?))?;
    row("by offsets, segments of 1024", &mut |to| Ok(sums().by_offsets(&offsets).run_into(from, to)?))?;
    row("rows of 1000000 (the first 268000000)", &mut |to| {
        Ok(sums().rows(1_000_000).run_into(&from[..268_000_000], &mut to[..268_000_000])?)
    })?;
    row("rows of 2^26", &mut |to| Ok(sums().rows(1 << 26).run_into(from, to)?))?;
    row("axis 0 of (2^20, 256)", &mut |to| Ok(sums().along(columns.clone()).run_into(from, to)?))?;
    row("axis 1 of (64, 8192, 512)", &mut |to| Ok(sums().along(sequences.clone()).run_into(from, to)?))?;
    row("reduction", &mut |_| Ok(scanner.reduce(ops::sum::<f32>()).run(from).map(drop)?))
}

/// Seconds a byte, each way, where the bus brings page-locked memory both ways at once.
fn both_ways(scanner: &Scanner, from: &[f32], to: &mut [f32]) -> Outcome<f64> {
    let context = scanner.context().ok_or("no context")?;
    let (there, back) = (context.new_stream()?, context.new_stream()?);
    let len = from.len().min(1 << 28);
    let bytes = len * size_of::<f32>();
    // SAFETY: what is brought back is not looked at.
    let (input, output) = unsafe { (there.alloc::<f32>(len)?, back.alloc::<f32>(len)?) };
    there.synchronize()?;
    back.synchronize()?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        use scan_runtime::cudarc::driver::DevicePtr;
        let start = Instant::now();
        let ((input, _reading), (output, _writing)) = (input.device_ptr(&there), output.device_ptr(&back));
        // SAFETY: all memory is as long, and stays until both streams are done.
        unsafe {
            sys::cuMemcpyHtoDAsync_v2(input, from.as_ptr().cast(), bytes, there.cu_stream()).result()?;
            sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), output, bytes, back.cu_stream()).result()?;
        }
        there.synchronize()?;
        back.synchronize()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best / bytes as f64)
}
