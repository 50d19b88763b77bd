//! Executes random scans in the emulator, with a new seed each time, until the time is up: random rungs on random
//! lengths, with and without totals; scans that restart, at heads of every pattern, told in every way; reductions;
//! random stepped operators.
//!
//! ```console
//! $ cargo run --release -p scan-tools --bin soak -- --minutes 60
//! $ cargo run --release -p scan-tools --bin soak -- --seed 1234   # one round again, as a failure tells it
//! $ cargo run --release -p scan-tools --bin soak -- --length 1048577   # every strategy once, at this length
//! ```

use std::{
    any::TypeId,
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use clap::Parser;
use scan_runtime::{
    Carry, DeviceLimits, KernelSource, Overrides, Plan, Reduction, ScanKind, ScanSpec, Strategy, TileNumbers,
};
use scan_tests::{
    climb::every_strategy_at,
    drawn,
    emulated::{Emulator, EmulatorError, Module, Program, Random, ReductionProgram},
    operators::{Interval, TestOperator, Visitor, adjacent, inputs, visit_all},
    reference::WAYS,
    segments::{HEAD_SOURCES, Heads, PATTERNS, Restart, begins, fit, places},
    strategies,
};

/// Programs of a round, compiled together.
const PROGRAMS: usize = 12;

/// Threads of a block where every strategy is executed at one length.
const WIDE_BLOCK: u32 = 256;

/// Runs of each program.
const RUNS: usize = 12;

/// Executes random scans in the emulator until the time is up.
#[derive(Parser)]
struct Arguments {
    /// How long to go on.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Only the round with this seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Instead, the interval monoid with every strategy once at this length; several lengths may be given.
    #[arg(long)]
    length: Vec<u64>,
    /// Of every strategy only those whose name contains this.
    #[arg(long, value_name = "NAME", requires = "length")]
    strategy: Option<String>,
    /// Rounds at a time; as many as there are cores unless told otherwise.
    #[arg(long)]
    threads: Option<usize>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !arguments.length.is_empty() {
        return every_strategy(&arguments.length, arguments.strategy.as_deref().unwrap_or(""));
    }
    let failed = match arguments.seed {
        Some(seed) => {
            let result = Round::play(seed);
            match &result {
                Ok(runs) => println!("seed {seed}: {runs} runs, nothing found"),
                Err(failure) => println!("seed {seed}: {failure}"),
            }
            result.is_err()
        }
        None => soak(&arguments),
    };
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Executes every strategy whose name contains `name` at these lengths, and tells of each when it is through.
fn every_strategy(lengths: &[u64], name: &str) -> ExitCode {
    let (start, through) = (Instant::now(), AtomicU64::new(0));
    let tell = |program: &Program<Interval>, failure: Option<&str>| {
        let count = through.fetch_add(1, Ordering::Relaxed) + 1;
        let Plan { spec, strategy, max_len, .. } = &program.plan;
        let longest = lengths.iter().max().map_or(0, |&length| length.min(*max_len));
        let seconds = start.elapsed().as_secs();
        println!("{count:>3}  {seconds:>5} s  up to {longest} elements: {spec}, {strategy}");
        if let Some(failure) = failure {
            println!("FAILED at {failure}");
        }
    };
    match every_strategy_at(WIDE_BLOCK, lengths, name, tell) {
        Ok(failures) if failures.is_empty() => {
            println!("nothing found");
            ExitCode::SUCCESS
        }
        Ok(failures) => {
            println!("{} failed", failures.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Plays rounds until the time is up; whether any failed.
fn soak(arguments: &Arguments) -> bool {
    let end = Instant::now() + Duration::from_secs_f64(arguments.minutes.max(0.0) * 60.0);
    let first = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    let (rounds, runs, failures) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        while Instant::now() < end {
            let round = rounds.fetch_add(1, Ordering::Relaxed);
            let seed = Random::new(first.wrapping_add(round)).bits();
            match Round::play(seed) {
                Ok(more) => {
                    let so_far = runs.fetch_add(more, Ordering::Relaxed) + more;
                    println!("round {round} (seed {seed}): nothing found; {so_far} runs so far");
                }
                Err(failure) => {
                    failures.fetch_add(1, Ordering::Relaxed);
                    println!("round {round}: FAILED; again with `--seed {seed}`\n{failure}");
                }
            }
        }
    };
    let cores = || thread::available_parallelism().map_or(1, |cores| cores.get());
    thread::scope(|scope| (0..arguments.threads.unwrap_or_else(cores)).for_each(|_| drop(scope.spawn(work))));
    let (rounds, runs, failures) = (rounds.into_inner(), runs.into_inner(), failures.into_inner());
    println!("{rounds} rounds, {runs} runs, {failures} rounds failed");
    failures > 0
}

/// What the programs of a round do.
#[derive(Clone, Copy, PartialEq)]
enum Work {
    Scans,
    Segments,
    Reductions,
}

/// One operator, some programs of it, some runs of each.
struct Round {
    random: Random,
    work: Work,
    /// Which of the operators; counted down as they are visited.
    operator: usize,
    result: Result<u64, String>,
}

impl Round {
    fn play(seed: u64) -> Result<u64, String> {
        let mut operators = Count(0);
        visit_all(&mut operators);
        let mut random = Random::new(seed);
        if random.one_in(6) {
            return drawn::play(random.bits()).map_err(|error| error.to_string());
        }
        let work = [Work::Scans, Work::Scans, Work::Segments, Work::Segments, Work::Reductions][random.below(5)];
        // Every other round is one of the interval monoid, which comes first and proves most.
        let proof = random.one_in(2);
        let operator = if proof { 0 } else { random.below(operators.0) };
        let mut round = Round { random, work, operator, result: Ok(0) };
        if proof && work == Work::Segments {
            // The one with a line for each segment, which finds every leak.
            return round.play_segments::<Restart>(places, |emulator| emulator.check(fit));
        }
        visit_all(&mut round);
        round.result
    }

    fn play_operator<Op: TestOperator>(&mut self) -> Result<u64, String> {
        match self.work {
            Work::Scans => self.play_scans::<Op>(),
            Work::Segments => self.play_segments::<Op>(|begins| inputs::<Op>(begins.len()), |emulator| emulator),
            Work::Reductions => self.play_reductions::<Op>(),
        }
    }

    fn play_scans<Op: TestOperator>(&mut self) -> Result<u64, String> {
        let random = &mut self.random;
        let programs = programs(PROGRAMS, || {
            let (overrides, kind, initial_value) = choices::<Op>(random);
            let spec = scan_spec(kind);
            let spec = if random.one_in(3) { spec.with_total() } else { spec };
            Program::of(Op::new(), &spec, initial_value, &overrides)
        })?;
        compile(programs.iter().map(|program| &program.source))?;
        for program in &programs {
            for _ in 0..RUNS {
                execute(program, random).map_err(|error| format!("{error}\n{}", program.plan))?;
            }
        }
        Ok((PROGRAMS * RUNS) as u64)
    }

    fn play_segments<Op: TestOperator>(
        &mut self,
        inputs: impl Fn(&[bool]) -> Vec<Op::Item>,
        prepare: impl Fn(Emulator) -> Emulator,
    ) -> Result<u64, String> {
        let random = &mut self.random;
        let programs = programs(PROGRAMS, || {
            let (overrides, kind, initial_value) = choices::<Op>(random);
            let head_source = random.below(HEAD_SOURCES);
            let spec = scan_spec(kind).with_segments(Heads::new(head_source, &[]).segments());
            Ok((head_source, Program::of(Op::new(), &spec, initial_value, &overrides)?))
        })?;
        compile(programs.iter().map(|(_, program)| &program.source))?;
        for (head_source, program) in &programs {
            for _ in 0..RUNS {
                let length = length(random, program.plan.tile, program.plan.max_len);
                let pattern = PATTERNS[random.below(PATTERNS.len())];
                let begins = begins(pattern, length as usize, program.plan.tile as usize);
                let program = program.with_heads(Heads::new(*head_source, &begins));
                let (emulator, how) = emulator(random, &program.plan);
                verify(&program, &prepare(emulator), &inputs(&begins), random).map_err(|error| {
                    format!("{length} elements, heads {}, {how}: {error}\n{}", pattern.0, program.plan)
                })?;
            }
        }
        Ok((PROGRAMS * RUNS) as u64)
    }

    fn play_reductions<Op: TestOperator>(&mut self) -> Result<u64, String> {
        const TREES: [Reduction; 3] = [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened];
        let random = &mut self.random;
        let programs = programs(PROGRAMS / 2, || {
            let mut limits = DeviceLimits::BASELINE;
            limits.threads_per_block = THREADS[random.below(THREADS.len())];
            let initial_value = random.one_in(2).then(Op::initial_value);
            ReductionProgram::new(Op::new(), TREES[random.below(TREES.len())], initial_value, &limits)
        })?;
        compile(programs.iter().map(|program| &program.source))?;
        for program in &programs {
            for _ in 0..RUNS {
                let length = length(random, program.plan.tile, program.plan.max_len).max(1);
                let mut emulator = Emulator::new(random.bits()).resident_blocks(RESIDENT[random.below(RESIDENT.len())]);
                if random.one_in(2) {
                    emulator = emulator.interrupt_once_in(1 + random.below(40));
                }
                let emulator = with_check::<Op>(emulator);
                program
                    .verify(&emulator, &inputs::<Op>(length as usize), random.below(8))
                    .map_err(|error| format!("{length} elements: {error}\n{}", program.plan))?;
            }
        }
        Ok((programs.len() * RUNS) as u64)
    }
}

/// As many programs as asked for, of those that can be planned: not every operator has every strategy.
fn programs<P>(count: usize, mut make: impl FnMut() -> Result<P, EmulatorError>) -> Result<Vec<P>, String> {
    let mut programs = Vec::new();
    while programs.len() < count {
        match make() {
            Ok(program) => programs.push(program),
            Err(EmulatorError::Plan(_)) => {}
            Err(other) => return Err(other.to_string()),
        }
    }
    Ok(programs)
}

fn compile<'a>(sources: impl Iterator<Item = &'a KernelSource>) -> Result<(), String> {
    Module::compile(&sources.collect::<Vec<_>>()).map(drop).map_err(|error| error.to_string())
}

/// Threads of a block: few, so that short inputs have several tiles.
const THREADS: [u32; 5] = [32, 32, 64, 128, 256];
/// Blocks at a time.
const RESIDENT: [usize; 6] = [1, 2, 3, 5, 12, 100];

/// A strategy with its threads, a kind, and an initial value or none.
fn choices<Op: TestOperator>(random: &mut Random) -> (Overrides, ScanKind, Option<Op::Carry>) {
    let strategies: Vec<Strategy> = strategies::all().collect();
    let mut overrides = Overrides::default();
    overrides.strategy = Some(strategies[random.below(strategies.len())]);
    overrides.threads = Some(THREADS[random.below(THREADS.len())]);
    let (kind, with_initial_value) = WAYS[random.below(4)];
    (overrides, kind, with_initial_value.then(Op::initial_value))
}

fn scan_spec(kind: ScanKind) -> ScanSpec {
    match kind {
        ScanKind::Inclusive => ScanSpec::inclusive(),
        ScanKind::Exclusive => ScanSpec::exclusive(),
    }
}

/// A random length: as many short ones as long ones, and some about the edges of tiles.
fn length(random: &mut Random, tile: u32, max_len: u64) -> u64 {
    let length = match random.below(3) {
        0 => u64::from(tile) * (1 + random.below(8) as u64) + random.below(3) as u64 - 1,
        _ => random.bits() >> (50 + random.below(14)),
    };
    length.min(max_len)
}

/// A random emulator for a plan, and how it is.
fn emulator(random: &mut Random, plan: &Plan) -> (Emulator, String) {
    let needs_all = plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
    let resident = if needs_all { usize::MAX } else { RESIDENT[random.below(RESIDENT.len())] };
    let emulator = Emulator::new(random.bits()).resident_blocks(resident);
    let emulator = if random.one_in(2) { emulator.interrupt_once_in(1 + random.below(40)) } else { emulator };
    (emulator, format!("{resident} resident blocks"))
}

/// Has the operands of the interval monoid checked; of other operators only results tell.
fn with_check<Op: TestOperator>(emulator: Emulator) -> Emulator {
    if TypeId::of::<Op>() == TypeId::of::<Interval>() { emulator.check(adjacent) } else { emulator }
}

/// Runs a program in a random way on input of a random length.
fn execute<Op: TestOperator>(program: &Program<Op>, random: &mut Random) -> Result<(), String> {
    let length = length(random, program.plan.tile, program.plan.max_len);
    let (emulator, how) = emulator(random, &program.plan);
    verify(program, &with_check::<Op>(emulator), &inputs::<Op>(length as usize), random)
        .map_err(|error| format!("{length} elements, {how}: {error}"))
}

/// Into another buffer, in place, or at any address.
fn verify<Op: TestOperator>(
    program: &Program<Op>,
    emulator: &Emulator,
    input: &[Op::Item],
    random: &mut Random,
) -> Result<(), EmulatorError> {
    match random.below(3) {
        0 => program.verify_in_place(emulator, input).map(drop),
        1 => program.verify_at_offset(emulator, input, (random.below(8), random.below(8))).map(drop),
        _ => program.verify(emulator, input).map(drop),
    }
}

impl Visitor for Round {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        if self.operator == 0 {
            self.result = self.play_operator::<Op>().map_err(|error| format!("{name}, {error}"));
        }
        self.operator = self.operator.wrapping_sub(1);
    }
}

/// Counts the operators.
struct Count(usize);

impl Visitor for Count {
    fn visit<Op: TestOperator>(&mut self, _name: &str) {
        self.0 += 1;
    }
}
