//! What `telemetry::spent` counts: of every call what the driver was asked for, and of some calls the numbers.

use scan_runtime::{
    Error, ScanOp, ops, scan_op,
    telemetry::{Spent, spent},
};
use scan_tests::driver;

use crate::{
    chunks,
    kinds::{Calls, FEW, Kinds, MANY, OnStream, Outcome, floats, scanner, scanner_with},
};

pub(crate) fn add(kinds: &mut Kinds) {
    kinds.refused("spent_on_host_memory", host_memory);
    kinds.refused("spent_on_short_host_memory", short_host_memory);
    kinds.refused("spent_on_chunks", of_chunks);
    kinds.refused("spent_on_device_memory", device_memory);
}

/// A maximum that no other kind uses, so that its kernels are not in the process yet.
#[derive(Clone)]
struct Highest;

#[scan_op]
impl ScanOp for Highest {
    type Input = u32;
    type State = u32;
    type Output = u32;
    const IDENTITY: u32 = 0;
    fn lift(&self, x: u32) -> u32 {
        x
    }
    fn combine(a: u32, b: u32) -> u32 {
        if a < b { b } else { a }
    }
    fn project(&self, highest: u32) -> u32 {
        highest
    }
}

/// What a call took, by its number of modules, bytes on the device and on the host, bytes copied, and launches.
fn is<T>(call: impl FnOnce() -> Result<T, Error>, expected: [usize; 5]) -> Outcome {
    let (result, spent) = spent(call);
    drop(result?);
    let Spent { compiled, device_bytes, host_bytes, copied_bytes, launches, compiling, time, .. } = spent;
    let found = [compiled, device_bytes, host_bytes, copied_bytes, launches].map(|number| number as usize);
    let of_compiler = (compiled == 0) == compiling.is_zero() && compiling <= time;
    if found == expected && of_compiler { Ok(()) } else { Err(format!("{spent:?}").into()) }
}

fn host_memory(_: &mut Calls) -> Outcome {
    let (scanner, input) = (scanner()?, (0..MANY as u32).collect::<Vec<_>>());
    let (scan, bytes) = (scanner.scan(Highest), 4 * MANY);
    // Four slots of a quarter each, in whole pages, beside the results.
    let slots = 4 * (bytes / 4).next_multiple_of(4096);
    let ((), first) = spent(|| drop(scan.run(&input)));
    let workspace = first.device_bytes as usize - bytes;
    let expected = [1, slots + bytes, 2 * bytes, 1];
    let found = [first.compiled, first.host_bytes, first.copied_bytes, first.launches].map(|number| number as usize);
    if found != expected || !(1..bytes).contains(&workspace) {
        return Err(format!("{first:?}").into());
    }
    is(|| scan.run(&input), [0, 0, bytes, 2 * bytes, 1])?;
    is(|| scan.run_into(&input, &mut vec![0; MANY]), [0, 0, 0, 2 * bytes, 1])
}

/// Kernels read and write it in page-locked memory.
fn short_host_memory(_: &mut Calls) -> Outcome {
    let (sums, input) = (scanner()?.scan(ops::sum::<f32>()), floats(FEW));
    let ((), first) = spent(|| drop(sums.run(&input)));
    if (first.device_bytes, first.host_bytes as usize, first.copied_bytes) != (0, (128 << 10) + 4 * FEW, 0) {
        return Err(format!("{first:?}").into());
    }
    is(|| sums.run(&input), [0, 0, 4 * FEW, 0, 1])
}

fn of_chunks(_: &mut Calls) -> Outcome {
    let sums = scanner_with(chunks::staging().with_mapped_bytes(0))?.scan(ops::sum::<f32>());
    let (input, bytes) = (floats(chunks::LEN), 4 * chunks::LEN);
    drop(sums.run(&input)?);
    // Two places for totals, each of which begins the next chunk.
    is(|| sums.run(&input), [0, 2 * 256, bytes, 2 * bytes, 3])
}

fn device_memory(_: &mut Calls) -> Outcome {
    let on = OnStream::new()?;
    let sums = on.scanner.scan(ops::sum::<f32>());
    let (few, many) = (on.slice("few", &floats(FEW))?, on.slice("many", &floats(MANY))?);
    let mut output = on.slice("output", &floats(MANY))?;
    drop(sums.on(&on.stream).run(&few)?);
    is(|| sums.on(&on.stream).run(&few), [0, 4 * FEW, 0, 0, 1])?;
    sums.on(&on.stream).run_into(&many, &mut output)?;
    is(|| sums.on(&on.stream).run_into(&many, &mut output), [0, 0, 0, 0, 1])?;
    // A call that fails has allocated nothing.
    let _limited = driver::limit_device_memory(1);
    let (failed, spent) = spent(|| sums.on(&on.stream).run(&many));
    match (failed, spent.device_bytes) {
        (Err(Error::OutOfDeviceMemory { .. }), 0) => Ok(()),
        _ => Err(format!("{spent:?}").into()),
    }
}

/// Compares what a call has counted with the driver's record of it.
pub(crate) fn agrees(spent: &Spent, record: &str) -> Result<(), String> {
    let bytes = |line: &str| line.split(' ').nth(1).and_then(|bytes| bytes.parse::<u64>().ok()).unwrap_or(0);
    let sum = |is: &dyn Fn(&str) -> bool| record.lines().filter(|line| is(line)).map(bytes).sum::<u64>();
    let is_locked = |line: &str| line.starts_with("allocate ") && line.contains(" page-locked, ");
    let is_on_host =
        |place: &str| place == "host" || place.starts_with('h') && place[1..].starts_with(char::is_numeric);
    let is_transfer = |line: &str| {
        let ends = line.split(", ").find_map(|part| part.split_once(" to "));
        // A mark for panics is written where a module is loaded.
        line.starts_with("copy ")
            && ends.is_some_and(|(from, to)| is_on_host(from) != is_on_host(to) && to != "scan_panicked")
    };
    // Graphs are launched by who has made them.
    let is_launch = |line: &&str| line.starts_with("launch ") && !line.starts_with("launch g");
    let mut expected = *spent;
    expected.host_bytes = spent.host_bytes.max(sum(&is_locked));
    expected.device_bytes = sum(&|line| line.starts_with("allocate ") && !is_locked(line));
    expected.copied_bytes = sum(&is_transfer);
    expected.launches = record.lines().filter(is_launch).count() as u64;
    if *spent == expected { Ok(()) } else { Err(format!("it counts {spent}, the driver has recorded {expected}")) }
}
