//! Our scans beside a device-to-device copy of the same bytes and beside CUB, in one run, in turns, on the same buffers.
//!
//! ```console
//! $ cargo bench -p scan-tests --bench peers -- --quick
//! $ cargo bench -p scan-tests --bench peers -- --out results      # CSV, JSON, Markdown and pictures too
//! $ cargo bench -p scan-tests --bench peers -- --ladder --operator "sum f32" --sizes 10,16,20,24,28
//! ```
//!
//! CUB stands beside it once `cargo run -p scan-tools --bin bundle -- --peers` has compiled it. Results are compared with the
//! CPU's before anything is timed. A time is the median of several turns; a ratio is that of bytes per second, counting the
//! bytes that each must move: input, output, and whatever tells where segments begin.

mod cases;
mod check;
mod columns;
mod cub;
mod gallery;
mod ours;
mod race;
mod report;
mod segments;
mod uses;

use std::{error::Error, path::PathBuf, process::ExitCode, sync::Arc, time::Instant};

use clap::{Parser, ValueEnum};
use scan_runtime::{ScanKind, Scanner, Strategy, cudarc::driver::CudaStream};

use cases::{Case, Visitor};
use check::{Hindrances, Verdict};
use cub::Cub;
use ours::Way;
use race::{Buffers, Clock, Entrant, Mode};
use report::{Machine, Report, Scanned};
use segments::{Pattern, Segments};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Times our scans beside a copy and beside CUB.
#[derive(Parser)]
#[command(long_about = None)]
struct Arguments {
    /// Fewer lengths and turns: two to three minutes.
    #[arg(long)]
    quick: bool,
    /// Only operators whose name contains this; may be given several times.
    #[arg(long = "operator", value_name = "NAME")]
    operators: Vec<String>,
    /// Powers of two: `20`, `0..30`, `0..30:2`, or several of these with commas between.
    #[arg(long, value_name = "POWERS")]
    sizes: Option<String>,
    /// A strategy beside the default: CARRY or BLOCK/CARRY, as `look-back` or `kogge-stone/reduce-then-scan`; may be
    /// given several times.
    #[arg(long = "strategy", value_name = "STRATEGY", value_parser = ours::parse)]
    strategies: Vec<Strategy>,
    /// The strategies that the texts tell of, from one thread to a single pass.
    #[arg(long)]
    ladder: bool,
    /// What to measure; everything unless told.
    #[arg(long, value_enum, value_delimiter = ',')]
    parts: Vec<Part>,
    /// How calls follow each other; all unless told. Only back to back beyond 64 MiB, which no L2 cache holds.
    #[arg(long, value_enum, value_delimiter = ',')]
    modes: Vec<Mode>,
    /// Exclusive scans instead of inclusive ones.
    #[arg(long)]
    exclusive: bool,
    /// Scans from the last element to the first; CUB has none.
    #[arg(long)]
    reversed: bool,
    /// Turns that each takes.
    #[arg(long)]
    rounds: Option<usize>,
    /// How many elements are scanned in segments or rows, as a power of two.
    #[arg(long, value_name = "POWER")]
    segments_size: Option<u32>,
    /// No buffer is larger than this many GiB.
    #[arg(long, default_value_t = 17.0)]
    gibibytes: f64,
    /// The library of CUB, if it is elsewhere than where it is made.
    #[arg(long, value_name = "FILE")]
    cub: Option<PathBuf>,
    /// Where to write CSV, JSON, Markdown and pictures.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// What `cargo bench` says.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Scans of everything, at many lengths.
    Sizes,
    /// Scans that restart, at many lengths of segments.
    Segments,
    /// Scans of rows, at many lengths of them.
    Rows,
    /// A recurrence over several arrays.
    Columns,
    /// The operators of the gallery, at 2^20, 2^24 and 2^27 unless told.
    Gallery,
    /// Uses of scans, at 2^28 elements unless told.
    Uses,
}

/// So many elements the CPU scans in no time; longer results are compared with each other.
const CHECKED: usize = 1 << 22;
/// More elements than 32 bits can count, and no round number of them.
const PAST_32_BITS: usize = (1 << 32) + (1 << 20) + 3;
/// Beyond this many bytes a cache no longer matters, and neither does a launch.
const SMALL: usize = 64 << 20;

/// What every measurement needs.
pub(crate) struct Bench {
    scanner: Scanner,
    stream: Arc<CudaStream>,
    clock: Clock,
    report: Report,
    cub: Result<Cub, String>,
    strategies: Vec<Strategy>,
    operators: Vec<String>,
    checked: usize,
    /// Whatever was wrong.
    wrong: Vec<String>,
}

impl Bench {
    /// Whether an operator was asked for.
    fn wants(&self, operator: &str) -> bool {
        self.operators.is_empty() || self.operators.iter().any(|part| operator.contains(part))
    }

    /// Keeps what is wrong, and makes of all verdicts reasons to time nothing.
    fn note(&mut self, operator: &str, verdicts: Vec<Option<Verdict>>) -> Hindrances {
        let mut hindrance = |verdict| match verdict {
            Verdict::Wrong(what) => {
                let what = format!("{operator}: wrong result: {what}");
                eprintln!("{what}");
                self.wrong.push(what.clone());
                what
            }
            Verdict::Unable(why) => why,
        };
        verdicts.into_iter().map(|verdict| verdict.map(&mut hindrance)).collect()
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(wrong) if wrong.is_empty() => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("{} results were wrong:\n{}", wrong.len(), wrong.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures everything asked for, and tells what was wrong.
fn run(arguments: Arguments) -> Outcome<Vec<String>> {
    let began = Instant::now();
    let mut powers = powers(arguments.sizes.as_deref().unwrap_or(match arguments.quick {
        true => "10,16,20,24,28",
        false => "0..30",
    }))?;
    let all = |part| arguments.parts.is_empty() || arguments.parts.contains(&part);
    let modes = match arguments.modes.as_slice() {
        [] => Mode::value_variants().to_vec(),
        modes => modes.to_vec(),
    };
    let past_32_bits = !arguments.quick && arguments.sizes.is_none();
    let rounds = arguments.rounds.unwrap_or(if arguments.quick { 5 } else { 11 }).max(1);
    let turn = if arguments.quick { 400.0 } else { 1_000.0 };
    let limit = (arguments.gibibytes * f64::from(1 << 30)) as usize;

    let scanner = Scanner::cuda(0)?;
    let context = scanner.context().ok_or("no CUDA context")?;
    // SAFETY: all slices here are used on one stream. Events between streams would be in every time, and cannot be captured
    // into a graph.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let mut clock = Clock::new(context, rounds, turn)?;
    let cub = Cub::open(arguments.cub);
    let machine = Machine {
        device: scanner.backend().to_string(),
        cub: match &cub {
            Ok(cub) => format!("CUB {}", cub.version),
            Err(why) => format!("no CUB: {why}"),
        },
        empty_microseconds: clock.nothing(&stream)?,
        rounds,
    };
    println!("{}; {}", machine.device, machine.cub);
    println!(
        "Medians of {rounds} turns. Two events with nothing between them, which every cold time contains: {:.2} µs.\n",
        machine.empty_microseconds
    );
    let mut strategies = arguments.strategies;
    if arguments.ladder {
        strategies.extend(ours::ladder());
    }
    powers.sort_unstable();
    powers.dedup();
    let mut bench = Bench {
        stream,
        clock,
        report: Report::new(machine),
        cub,
        strategies,
        operators: arguments.operators,
        checked: CHECKED,
        wrong: Vec::new(),
        scanner: scanner.clone(),
    };

    if all(Part::Sizes) {
        let mut lengths: Vec<usize> = powers.iter().map(|power| 1 << power).collect();
        lengths.extend(past_32_bits.then_some(PAST_32_BITS));
        let kind = if arguments.exclusive { ScanKind::Exclusive } else { ScanKind::Inclusive };
        let way = Way { kind, reversed: arguments.reversed };
        cases::visit_all(&mut Sizes { bench: &mut bench, lengths, limit, modes, way })?;
    }
    for (part, patterns) in [(Part::Segments, Pattern::ALL.as_slice()), (Part::Rows, &Pattern::ROWS)] {
        if !all(part) {
            continue;
        }
        let power = arguments.segments_size.unwrap_or(if arguments.quick { 24 } else { 26 });
        if power > 31 {
            return Err("offsets of 32 bits reach to 2³¹ elements".into());
        }
        cases::visit_all(&mut Segments { bench: &mut bench, len: 1 << power, patterns })?;
    }
    if all(Part::Columns) && bench.wants("recurrence") {
        let fits = |power: &u32| *power >= 10 && (8 << power) <= limit;
        let lengths: Vec<usize> = powers.iter().filter(|power| fits(power)).map(|power| 1 << power).collect();
        bench.columns(&lengths)?;
    }
    if all(Part::Gallery) {
        let lengths = match arguments.sizes {
            Some(_) => powers.iter().filter(|power| **power <= 30).map(|power| 1 << power).collect(),
            None => vec![1 << 20, 1 << 24, 1 << 27],
        };
        bench.gallery(&lengths, limit)?;
    }
    if all(Part::Uses) {
        bench.uses(if arguments.sizes.is_some() { powers.last().copied().unwrap_or(28) } else { 28 })?;
    }
    println!("{}", bench.report.summary());
    if let Some(folder) = arguments.out {
        for file in bench.report.write(&folder)? {
            println!("wrote {}", file.display());
        }
    }
    println!("{:.0} s in all", began.elapsed().as_secs_f64());
    Ok(bench.wrong)
}

/// Reads `20`, `0..30` and `0..30:2`, with commas between.
fn powers(text: &str) -> Outcome<Vec<u32>> {
    let mut powers = Vec::new();
    for part in text.split(',') {
        let number = |text: &str| match text.trim().parse::<u32>() {
            Ok(power) if power <= 36 => Ok(power),
            _ => Err(format!("`{text}` in `--sizes {part}` is no power of two up to 36")),
        };
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once("..").unwrap_or((range, range));
        powers.extend((number(first)?..=number(last)?).step_by(number(step)?.max(1) as usize));
    }
    Ok(powers)
}

/// Times every case at every length.
struct Sizes<'b> {
    bench: &'b mut Bench,
    lengths: Vec<usize>,
    /// Bytes of a buffer.
    limit: usize,
    modes: Vec<Mode>,
    way: Way,
}

impl Visitor for Sizes<'_> {
    fn visit<C: Case>(&mut self) -> Outcome {
        let size = size_of::<C::Item>();
        let lengths: Vec<usize> = self.lengths.iter().copied().filter(|len| len * size <= self.limit).collect();
        let (true, Some(&longest)) = (self.bench.wants(C::NAME), lengths.iter().max()) else { return Ok(()) };
        let scanner = self.bench.scanner.clone();
        let block = cases::inputs::<C>(longest.min(self.bench.checked));
        let on_cpu = |len: usize| ours::configure::<C>(&Scanner::cpu(), self.way, None).run(&block[..len]);
        // The first of these are the scan of any shorter input, unless it goes the other way.
        let all = if self.way.reversed { Vec::new() } else { on_cpu(block.len())? };
        let mut buffers = Buffers::repeating(&self.bench.stream, &block, longest)?;
        println!("{}: {}\n", C::NAME, ours::configure::<C>(&scanner, self.way, None).plan()?);

        for len in lengths {
            let Bench { strategies, cub, .. } = &*self.bench;
            let mut entrants = line_up::<C>(self.way, &scanner, strategies, cub);
            let mut another = ours::entrant::<C>(&scanner, self.way, Some(ours::ANOTHER));
            let reversed = if self.way.reversed && len <= block.len() { on_cpu(len)? } else { Vec::new() };
            let expected = if self.way.reversed { &reversed } else { &all };
            let verdicts = check::check::<C>(&mut buffers, &mut entrants, &mut another, len, expected);
            drop(entrants);
            let hindrances = self.bench.note(C::NAME, verdicts);

            let Bench { clock, report, strategies, cub, .. } = &mut *self.bench;
            let mut entrants = line_up::<C>(self.way, &scanner, strategies, cub);
            for &mode in &self.modes {
                if mode != Mode::Stream && len * size > SMALL {
                    continue;
                }
                let times = clock.race(&mut buffers, &mut entrants, &hindrances, len, mode);
                report.add::<C>(&Scanned { way: self.way, mode, len, segments: None }, &entrants, times);
            }
        }
        println!("{}", self.bench.report.tables(C::NAME, false));
        Ok(())
    }
}

/// The copy, ours, and CUB.
fn line_up<'a, C: Case>(
    way: Way,
    scanner: &'a Scanner,
    strategies: &[Strategy],
    cub: &'a Result<Cub, String>,
) -> Vec<Entrant<'a, C::Item>> {
    let mut entrants = vec![race::copy(), ours::entrant::<C>(scanner, way, None)];
    entrants.extend(strategies.iter().map(|&strategy| ours::entrant::<C>(scanner, way, Some(strategy))));
    let call = match way.reversed {
        true => Err("it scans forward only".to_owned()),
        false => cub.as_ref().map_err(String::clone).and_then(|cub| cub.scan::<C>(way.kind)),
    };
    entrants.push(Entrant { name: "CUB".to_owned(), call, side_bytes: 0 });
    entrants
}
