//! Executes random rungs on random lengths in the emulator, with a new seed each time, until the time is up.
//!
//! ```console
//! $ cargo run --release -p scan-tests --bin soak -- --minutes 60
//! $ cargo run --release -p scan-tests --bin soak -- --seed 1234   # one round again, as a failure tells it
//! ```

use std::{
    any::TypeId,
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use clap::Parser;
use scan_runtime::{Carry, Overrides, Strategy, TileNumbers};
use scan_tests::{
    emulator::{Emulator, EmulatorError, Module, Program, Random},
    operators::{BROKEN, COVERS, EMPTY, Interval, Span, TestOperator, Visitor, visit_all},
    reference::WAYS,
    strategies,
};

/// Programs of a round, compiled together.
const PROGRAMS: usize = 12;

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
    /// Rounds at a time; as many as there are cores unless told otherwise.
    #[arg(long)]
    threads: Option<usize>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
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

/// One operator, some programs of it, some runs of each.
struct Round {
    random: Random,
    /// Which of the operators; counted down as they are visited.
    operator: usize,
    result: Result<u64, String>,
}

impl Round {
    fn play(seed: u64) -> Result<u64, String> {
        let mut operators = Count(0);
        visit_all(&mut operators);
        let mut random = Random::new(seed);
        // Every other round is one of the interval monoid, which comes first and proves most.
        let operator = if random.one_in(2) { 0 } else { random.below(operators.0) };
        let mut round = Round { random, operator, result: Ok(0) };
        visit_all(&mut round);
        round.result
    }

    fn play_operator<Op: TestOperator>(&mut self) -> Result<u64, String> {
        let strategies: Vec<Strategy> = strategies::all().collect();
        let random = &mut self.random;
        let mut programs = Vec::new();
        while programs.len() < PROGRAMS {
            let mut overrides = Overrides::default();
            overrides.strategy = Some(strategies[random.below(strategies.len())]);
            overrides.threads = Some([32, 32, 64, 128, 256][random.below(5)]);
            let (kind, with_initial_value) = WAYS[random.below(4)];
            match Program::new(Op::new(), kind, with_initial_value.then(Op::initial_value), &overrides) {
                Ok(program) => programs.push(program),
                Err(EmulatorError::Plan(_)) => {} // not every operator has every strategy
                Err(other) => return Err(other.to_string()),
            }
        }
        let sources: Vec<_> = programs.iter().map(|program| &program.source).collect();
        Module::compile(&sources).map_err(|error| error.to_string())?;
        for program in &programs {
            for _ in 0..RUNS {
                execute(program, random).map_err(|error| format!("{error}\n{}", program.plan))?;
            }
        }
        Ok((PROGRAMS * RUNS) as u64)
    }
}

/// Runs a program in a random way on input of a random length.
fn execute<Op: TestOperator>(program: &Program<Op>, random: &mut Random) -> Result<(), String> {
    // As many short inputs as long ones, and some about the edges of tiles.
    let length = match random.below(3) {
        0 => u64::from(program.plan.tile) * (1 + random.below(8) as u64) + random.below(3) as u64 - 1,
        _ => random.bits() >> (50 + random.below(14)),
    };
    let length = length.min(program.plan.max_len);
    let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
    let resident = if needs_all { usize::MAX } else { [1, 2, 3, 5, 12, 100][random.below(6)] };
    let mut emulator = Emulator::new(random.bits()).resident_blocks(resident);
    if random.one_in(2) {
        emulator = emulator.interrupt_once_in(1 + random.below(40));
    }
    if TypeId::of::<Op>() == TypeId::of::<Interval>() {
        emulator = emulator.check(adjacent);
    }
    let input: Vec<Op::Item> = (0..length).map(Op::input).collect();
    let result = match random.below(3) {
        0 => program.verify_in_place(&emulator, &input).map(drop),
        1 => program.verify_at_offset(&emulator, &input, (random.below(8), random.below(8))).map(drop),
        _ => program.verify(&emulator, &input).map(drop),
    };
    result.map_err(|error| format!("{length} elements, {resident} resident blocks: {error}"))
}

fn adjacent(a: &Span, b: &Span) -> bool {
    let neighbours = a.kind == COVERS && b.kind == COVERS && a.last + 1 == b.first;
    a.kind != BROKEN && b.kind != BROKEN && (a.kind == EMPTY || b.kind == EMPTY || neighbours)
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
