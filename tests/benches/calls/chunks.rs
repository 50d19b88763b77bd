//! Host memory that goes through the device in chunks.

use std::{sync::Arc, thread, time::Instant};

use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};
use scan_runtime::{
    Axis, PageLocked, Scanner, Staging,
    cudarc::driver::{CudaSlice, CudaStream, DevicePtr, sys},
    ops,
};

use crate::{Outcome, warm::each};

const LENGTHS: [u32; 4] = [24, 26, 28, 30];

/// Elements that a thread copies at a time, and that are in page-locked memory at once.
const PIECE: usize = (128 << 10) / size_of::<f32>();
const ROOM: usize = (32 << 20) / size_of::<f32>();

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
    let bus = Bus::of(&scanner)?;
    let moved = (0..5).map(|_| {
        let start = Instant::now();
        bus.while_moving(&from, &mut to, || ())?;
        Ok(start.elapsed().as_secs_f64())
    });
    let best = moved.collect::<Outcome<Vec<_>>>()?.into_iter().fold(f64::INFINITY, f64::min);
    // Seconds a byte, each way.
    let both_ways = best / (longest * size_of::<f32>()) as f64;
    println!(
        "\nSum of `f32` from slice to slice of the host: milliseconds by length, and the part of the bus both ways at once\n"
    );
    println!("| chunks | page-locked |{}|", LENGTHS.map(|power| format!(" 2^{power} ")).join("|"));
    println!("|---|---|{}", "--:|".repeat(LENGTHS.len()));
    let bound = |len: usize| both_ways * (len * size_of::<f32>()) as f64;
    println!("| the bus | |{}|", LENGTHS.map(|power| format!(" {:.2} ", 1e3 * bound(1 << power))).join("|"));
    let (mut pageable, mut output) = (vec![0.0_f32; longest], vec![0.0_f32; longest]);
    let threads = thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 8));
    let threads = ThreadPoolBuilder::new().num_threads(threads).build()?;
    let mut rooms = PageLocked::filled(&scanner, 0.0_f32, 2 * ROOM)?;
    for (name, with_bus) in [("the copies of the host", false), ("the same while the bus moves as much", true)] {
        let mut cells = Vec::new();
        for power in LENGTHS {
            let len = 1 << power;
            let mut copy = || copies(&threads, &pageable[..len], &mut output[..len], &mut rooms);
            let moved = if with_bus { len } else { 0 };
            let seconds = each(|| bus.while_moving(&from[..moved], &mut to[..moved], &mut copy))?;
            cells.push(format!(" {:.2} ({:.2}) ", seconds / 1e3, bound(len) * 1e6 / seconds));
        }
        println!("| {name} | no |{}|", cells.join("|"));
    }
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

/// Copies an array to page-locked memory and another one from there, by as many threads as copy for a scan: what a scan
/// of vectors has the host do, but for the device.
fn copies(threads: &ThreadPool, from: &[f32], to: &mut [f32], locked: &mut [f32]) {
    let (there, back) = locked.split_at_mut(ROOM);
    let copy = |from: &[f32], to: &mut [f32]| {
        let pieces = from.par_chunks(PIECE).zip(to.par_chunks_mut(PIECE));
        pieces.for_each(|(from, to)| to.copy_from_slice(from));
    };
    threads.install(|| {
        for (from, to) in from.chunks(ROOM).zip(to.chunks_mut(ROOM)) {
            copy(from, &mut there[..from.len()]);
            copy(&back[..to.len()], to);
        }
    });
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

/// What the bus moves in both directions at once, and device memory of up to 2^28 elements for it.
struct Bus {
    there: Arc<CudaStream>,
    back: Arc<CudaStream>,
    input: CudaSlice<f32>,
    output: CudaSlice<f32>,
}

impl Bus {
    fn of(scanner: &Scanner) -> Outcome<Bus> {
        let context = scanner.context().ok_or("no context")?;
        let (there, back) = (context.new_stream()?, context.new_stream()?);
        // SAFETY: these bytes are not read as floats.
        let (input, output) = unsafe { (there.alloc(1 << 28)?, back.alloc(1 << 28)?) };
        let bus = Bus { there, back, input, output };
        bus.wait()?;
        Ok(bus)
    }

    fn wait(&self) -> Outcome {
        self.there.synchronize()?;
        Ok(self.back.synchronize()?)
    }

    /// Moves page-locked memory in both directions while `host` runs.
    fn while_moving(&self, from: &[f32], to: &mut [f32], host: impl FnOnce()) -> Outcome {
        let ((input, _reading), (output, _writing)) =
            (self.input.device_ptr(&self.there), self.output.device_ptr(&self.back));
        for (from, to) in from.chunks(1 << 28).zip(to.chunks_mut(1 << 28)) {
            let bytes = size_of_val(from);
            // SAFETY: all memory is as long, and stays until both streams are done.
            unsafe {
                sys::cuMemcpyHtoDAsync_v2(input, from.as_ptr().cast(), bytes, self.there.cu_stream()).result()?;
                sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), output, bytes, self.back.cu_stream()).result()?;
            }
        }
        host();
        self.wait()
    }
}
