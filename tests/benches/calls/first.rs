//! The first call of a process.

use std::{
    env, fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use scan_runtime::{DiskCache, Scanner, nvrtc, ops};
use scan_tests::operators::{PolynomialHash, inputs};

use crate::{Outcome, median};

const LEN: usize = 1 << 20;

/// What one process tells, in milliseconds: the context, NVRTC's library, the first call on device memory, the same again, the
/// first call with another operator, and one with host memory.
const PHASES: [&str; 6] = ["context", "NVRTC", "first", "second", "another operator", "host slices"];

/// Makes the first calls, and tells how long they took.
pub(crate) fn one(folder: &Path, load: bool) -> Outcome {
    let mut times = Vec::new();
    let mut start = Instant::now();
    let mut lap = |start: &mut Instant| {
        times.push(milliseconds(start.elapsed()));
        *start = Instant::now();
    };
    let scanner = Scanner::builder().device(0).cache(DiskCache::at(folder)).build()?;
    lap(&mut start);
    if load {
        nvrtc::version()?;
    }
    lap(&mut start);

    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let ones = vec![1.0_f32; LEN];
    let input = stream.clone_htod(&ones)?;
    let mut output = stream.alloc_zeros::<f32>(LEN)?;
    let hashes = inputs::<PolynomialHash>(LEN);
    let device_hashes = stream.clone_htod(&hashes)?;
    stream.synchronize()?;
    start = Instant::now();
    for _ in 0..2 {
        scanner.scan(ops::sum()).on(&stream).run_into(&input, &mut output)?;
        stream.synchronize()?;
        lap(&mut start);
    }
    let hashed = scanner.scan(PolynomialHash).on(&stream).run(&device_hashes)?;
    stream.synchronize()?;
    lap(&mut start);
    let sums = scanner.scan(ops::sum()).run(&ones)?;
    lap(&mut start);

    let expected: Vec<f32> = (1..=LEN).map(|i| i as f32).collect();
    if sums != expected || stream.clone_dtoh(&output)? != expected {
        return Err("a sum is wrong".into());
    }
    if stream.clone_dtoh(&hashed)? != Scanner::cpu().scan(PolynomialHash).run(&hashes)? {
        return Err("a hash is wrong".into());
    }
    let stats = scanner.cache_stats();
    let loaded = fs::read_to_string("/proc/self/maps").is_ok_and(|maps| maps.contains("libnvrtc.so"));
    let times: Vec<String> = times.iter().map(|time| format!("{time:.4}")).collect();
    println!(
        "times {} | compiled {:.4} in {} modules, {} from disk, NVRTC loaded {loaded}",
        times.join(" "),
        milliseconds(stats.compile_time),
        stats.modules.len(),
        stats.disk.hits
    );
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn measure(processes: usize) -> Outcome {
    let folder = env::temp_dir().join(format!("scan-bench-calls-{}", std::process::id()));
    println!("\nFirst calls: 2^20 elements, milliseconds to the result, the median of {processes} processes\n");
    println!("| kernels | {} | of which compiling |", PHASES.join(" | "));
    println!("|---|{}", "--:|".repeat(PHASES.len() + 1));
    let mut said = Vec::new();
    for (name, load, keep) in [("cold", true, false), ("on disk", false, true)] {
        let mut rows: Vec<Vec<f64>> = Vec::new();
        // Where the cache is kept, the first process fills it.
        for process in 0..processes + usize::from(keep) {
            if !keep {
                let _ = fs::remove_dir_all(&folder);
            }
            let (times, what) = start(&folder, load)?;
            if keep && process == 0 {
                continue;
            }
            rows.push(times);
            said.retain(|(kind, _)| *kind != name);
            said.push((name, what));
        }
        let columns: Vec<String> = (0..PHASES.len() + 1)
            .map(|column| format!("{:.2}", median(rows.iter().filter_map(|row| row.get(column).copied()).collect())))
            .collect();
        println!("| {name} | {} |", columns.join(" | "));
    }
    println!();
    for (name, what) in said {
        println!("{name}: {what}");
    }
    let _ = fs::remove_dir_all(&folder);
    Ok(())
}

/// The times that a process tells, the compiler's last; and all of what it tells.
fn start(folder: &Path, load: bool) -> Outcome<(Vec<f64>, String)> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("--first").arg(folder);
    // NVRTC has a cache of its own, since 12.9: what it has compiled in another process would be no first call.
    command.env("CUDA_CACHE_DISABLE", "1");
    if load {
        command.arg("--load");
    }
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("times "));
    let Some((times, rest)) = line.and_then(|line| line.split_once(" | ")) else {
        return Err(format!("{}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    };
    let compiled = rest.split(' ').nth(1).unwrap_or_default();
    let times = times.split(' ').chain([compiled]).map(str::parse).collect::<Result<_, _>>()?;
    Ok((times, rest.to_owned()))
}
