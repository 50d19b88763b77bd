//! Times of a scan on this machine, compared with a copy of the same bytes.

mod cpu;
mod device;

use std::{
    io::Write,
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use scan_runtime::{Scan, ScanOp, Scanner};

use crate::{
    Outcome,
    ready::{self, Ready, Sample, Visitor},
    strategies::StrategyName,
    table,
    what::Way,
};

/// The arguments of the measurement.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    ready: Ready,
    #[command(flatten)]
    way: Way,
    /// With this algorithm, instead of the planner's choice; it has no effect on the CPU
    #[arg(long, value_enum)]
    strategy: Option<StrategyName>,
    /// The length of the inputs, may be given several times; by default powers of two from 4096 on
    #[arg(long)]
    len: Vec<NonZeroUsize>,
    /// How often scan and copy alternate
    #[arg(long, default_value = "11")]
    turns: NonZeroUsize,
}

/// The default lengths: powers of two.
const LENGTHS: [usize; 5] = [1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 28];
/// The longest inputs of them, in bytes: on a device, and on the CPU.
const MAX_BYTES: [usize; 2] = [1 << 30, 1 << 27];
/// The minimum duration of a turn, in which a call is repeated, because clocks are coarse.
const TURN: Duration = Duration::from_millis(2);

/// Measures and writes the table.
pub(crate) fn write(arguments: Arguments, out: &mut impl Write) -> Outcome {
    let scanner = Scanner::new()?;
    writeln!(out, "{}, {}", arguments.ready, scanner.backend())?;
    let on_device = scanner.context().is_some();
    let rows = ready::visit(arguments.ready, Measure { scanner, arguments })??;
    table::write(&["elements", "scan", "copy", "rate", "ratio to a copy"], &rows, out)?;
    writeln!(out, "\nMedians; scan and copy take turns, each called back to back.")?;
    if cfg!(debug_assertions) {
        writeln!(out, "This is a debug build: build it with `--release` for times that mean something.")?;
    }
    match on_device {
        true => writeln!(out, "The copy is the driver's, from device to device.")?,
        false => {
            writeln!(out, "The copy is `copy_from_slice`, on one core; the scan takes as many as it pays to wake.")?
        }
    }
    Ok(())
}

/// A scan of one length and a copy of its input.
trait Race {
    /// Repeats it; the time of all repeats.
    fn scan(&mut self, calls: u32) -> Outcome<Duration>;
    fn copy(&mut self, calls: u32) -> Outcome<Duration>;
}

struct Measure {
    scanner: Scanner,
    arguments: Arguments,
}

impl Visitor for Measure {
    type Output = Outcome<Vec<Vec<String>>>;

    fn visit<T, Op>(self, op: Op) -> Self::Output
    where
        T: Sample,
        Op: ScanOp<Input = T, State = T, Carry = T, Output = T> + Clone,
    {
        let Measure { scanner, arguments: Arguments { way, strategy, len, turns, .. } } = self;
        let scan: Scan<Op> = way.scan(&scanner, op, strategy);
        let max = if scanner.context().is_some() { MAX_BYTES[0] } else { MAX_BYTES[1] };
        let usual = || LENGTHS.into_iter().filter(|len| len * size_of::<T>() <= max).collect();
        let lengths: Vec<usize> =
            if len.is_empty() { usual() } else { len.into_iter().map(NonZeroUsize::get).collect() };
        lengths.into_iter().map(|len| Ok(row::<T>(len, measure(&scanner, &scan, len, turns.get())?))).collect()
    }
}

/// The median times of a scan and of a copy.
fn measure<T, Op>(scanner: &Scanner, scan: &Scan<Op>, len: usize, turns: usize) -> Outcome<[Duration; 2]>
where
    T: Sample,
    Op: ScanOp<Input = T, State = T, Carry = T, Output = T>,
{
    let input: Vec<T> = (0..len).map(T::sample).collect();
    match scanner.context() {
        Some(context) => race(&mut device::Buffers::new(context, scan, &input)?, turns),
        None => race(&mut cpu::Buffers::new(scan, input), turns),
    }
}

fn race(race: &mut impl Race, turns: usize) -> Outcome<[Duration; 2]> {
    // The first calls compile, and touch memory for the first time.
    let scans = calls_in_a_turn(|calls| race.scan(calls))?;
    let copies = calls_in_a_turn(|calls| race.copy(calls))?;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..turns {
        times[0].push(race.scan(scans)? / scans);
        times[1].push(race.copy(copies)? / copies);
    }
    Ok(times.map(median))
}

/// How many calls fill a turn.
fn calls_in_a_turn(mut time: impl FnMut(u32) -> Outcome<Duration>) -> Outcome<u32> {
    const MAX: u32 = 1 << 14;
    time(1)?;
    let mut calls = 1;
    while calls < MAX && time(calls)? < TURN {
        calls *= 2;
    }
    Ok(calls)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// How long some calls take on this thread.
fn timed(calls: u32, mut call: impl FnMut() -> Outcome) -> Outcome<Duration> {
    let start = Instant::now();
    (0..calls).try_for_each(|_| call())?;
    Ok(start.elapsed())
}

fn row<T>(len: usize, [scan, copy]: [Duration; 2]) -> Vec<String> {
    // An input is read and an output written.
    let bytes = 2.0 * (len * size_of::<T>()) as f64;
    let microseconds = |time: Duration| format!("{:.2} µs", time.as_secs_f64() * 1e6);
    let seconds = scan.as_secs_f64().max(f64::MIN_POSITIVE);
    vec![
        len.to_string(),
        microseconds(scan),
        microseconds(copy),
        format!("{:.1} GB/s", bytes / seconds / 1e9),
        format!("{:.2}", copy.as_secs_f64() / seconds),
    ]
}
