//! Random stepped operators: automata with tables drawn by a seed, of each shape that a stepped operator can have.
//! Their transitions cannot be undone and do not commute, so that whatever is left out, applied twice or in another
//! order shows.

use std::{error::Error, fmt::Debug};

use scan_codegen::{Overrides, ScanSpec};
use scan_runtime::{__private::bytes_of, Carry, ScanKind, ScanOp, Scanner, Strategy, Table, TileNumbers, scan_op};

use crate::{
    emulated::{Emulator, Module, Program, Random},
    items::{Transition, after},
    reference::{self, WAYS},
    segments::{HEAD_SOURCES, Heads, PATTERNS, begins},
    strategies,
};

/// A stepped operator whose tables are drawn.
trait Drawn: ScanOp<Carry = u8, Output: Debug> + Clone {
    fn draw(random: &mut Random) -> Self;
    fn input(random: &mut Random) -> Self::Input;
}

/// What each byte does to a state, more often than not the same to several, and a word for each byte and state.
fn tables(random: &mut Random) -> (Table<Transition>, Table<u32>) {
    let mut transition = || Transition { to: [0; 4].map(|_: u8| random.below(4) as u8) };
    let transitions = (0..16).map(|_| transition()).collect();
    (transitions, (0..64).map(|_| random.bits() as u32).collect())
}

/// Stepped operators, and how their inputs are drawn.
macro_rules! drawn {
    ($($name:ident: $draw:expr;)*) => {$(
        #[derive(Clone, Debug)]
        #[allow(dead_code, reason = "not every operator reads both tables")]
        struct $name {
            transitions: Table<Transition>,
            words: Table<u32>,
        }

        impl Drawn for $name {
            fn draw(random: &mut Random) -> Self {
                let (transitions, words) = tables(random);
                $name { transitions, words }
            }
            fn input(random: &mut Random) -> Self::Input {
                let draw: fn(&mut Random) -> Self::Input = $draw;
                draw(random)
            }
        }
    )*};
}

drawn! {
    Lexer: |random| random.below(16) as u8;
    Speaker: |random| random.bits() as u16;
    Transducer: |random| random.bits() as u32;
    Replayer: |random| Transition { to: [0; 4].map(|_: u8| random.below(4) as u8) };
}

// Lifts; the output is the state.
#[scan_op]
impl ScanOp for Lexer {
    type Input = u8;
    type State = Transition;
    type Carry = u8;
    type Output = u8;
    const IDENTITY: Transition = Transition { to: [0, 1, 2, 3] };
    const START: u8 = 2;
    fn combine(f: Transition, g: Transition) -> Transition {
        after(f, g)
    }
    fn apply(f: Transition, state: u8) -> u8 {
        f.to[(state & 3) as usize]
    }
    fn lift(&self, byte: u8) -> Transition {
        self.transitions[(byte & 15) as usize]
    }
    fn step(&self, state: u8, byte: u8) -> u8 {
        self.transitions[(byte & 15) as usize].to[(state & 3) as usize]
    }
}

// Appends, and projects the state.
#[scan_op]
impl ScanOp for Speaker {
    type Input = u16;
    type State = Transition;
    type Carry = u8;
    type Output = u32;
    const IDENTITY: Transition = Transition { to: [0, 1, 2, 3] };
    const START: u8 = 2;
    fn combine(f: Transition, g: Transition) -> Transition {
        after(f, g)
    }
    fn apply(f: Transition, state: u8) -> u8 {
        f.to[(state & 3) as usize]
    }
    fn lift(&self, x: u16) -> Transition {
        self.transitions[(x & 15) as usize]
    }
    fn append(&self, f: Transition, x: u16) -> Transition {
        let row = self.transitions[(x & 15) as usize];
        Transition {
            to: [
                row.to[(f.to[0] & 3) as usize],
                row.to[(f.to[1] & 3) as usize],
                row.to[(f.to[2] & 3) as usize],
                row.to[(f.to[3] & 3) as usize],
            ],
        }
    }
    fn step(&self, state: u8, x: u16) -> u8 {
        self.transitions[(x & 15) as usize].to[(state & 3) as usize]
    }
    fn project(&self, state: u8) -> u32 {
        self.words[(state & 3) as usize]
    }
}

// Lifts, and an output is of the state before an input and of the input.
#[scan_op]
impl ScanOp for Transducer {
    type Input = u32;
    type State = Transition;
    type Carry = u8;
    type Output = u64;
    const IDENTITY: Transition = Transition { to: [0, 1, 2, 3] };
    const START: u8 = 2;
    fn combine(f: Transition, g: Transition) -> Transition {
        after(f, g)
    }
    fn apply(f: Transition, state: u8) -> u8 {
        f.to[(state & 3) as usize]
    }
    fn lift(&self, x: u32) -> Transition {
        self.transitions[(x & 15) as usize]
    }
    fn step(&self, state: u8, x: u32) -> u8 {
        self.transitions[(x & 15) as usize].to[(state & 3) as usize]
    }
    fn emit(&self, state: u8, x: u32) -> u64 {
        self.words[((x & 15) * 4 + (state & 3) as u32) as usize] as u64 ^ (x as u64) << 32
    }
    fn project(&self, state: u8) -> u64 {
        self.words[(state & 3) as usize] as u64
    }
}

// Appends transitions, which are inputs and states in one, and emits.
#[scan_op]
impl ScanOp for Replayer {
    type Input = Transition;
    type State = Transition;
    type Carry = u8;
    type Output = u16;
    const IDENTITY: Transition = Transition { to: [0, 1, 2, 3] };
    const START: u8 = 2;
    fn combine(f: Transition, g: Transition) -> Transition {
        after(f, g)
    }
    fn apply(f: Transition, state: u8) -> u8 {
        f.to[(state & 3) as usize]
    }
    fn append(f: Transition, g: Transition) -> Transition {
        after(f, g)
    }
    fn step(state: u8, f: Transition) -> u8 {
        f.to[(state & 3) as usize]
    }
    fn emit(&self, state: u8, f: Transition) -> u16 {
        self.words[(f.to[0] as usize) * 4 + (state & 3) as usize] as u16
    }
    fn project(state: u8) -> u16 {
        state as u16 + 7
    }
}

/// Programs of a seed, compiled together, and runs of each.
const PROGRAMS: usize = 4;
const RUNS: usize = 4;

/// Draws a stepped operator, and compares its scans on the CPU and in the emulator with the loop: by random strategies,
/// kinds, directions, lengths and heads. Gives how many scans those were.
///
/// # Errors
///
/// The first scan that is not the loop's.
pub fn play(seed: u64) -> Result<u64, Box<dyn Error>> {
    let mut random = Random::new(seed);
    match random.below(4) {
        0 => Lexer::play(&mut random),
        1 => Speaker::play(&mut random),
        2 => Transducer::play(&mut random),
        _ => Replayer::play(&mut random),
    }
    .map_err(|error| format!("stepped operator of seed {seed}: {error}").into())
}

trait Play: Drawn {
    fn play(random: &mut Random) -> Result<u64, Box<dyn Error>> {
        let op = Self::draw(random);
        let mut programs = Vec::new();
        for _ in 0..PROGRAMS {
            // Networks over shared memory do the same for every operator; stepped operators step where runs are in
            // registers.
            let by_runs = !random.one_in(4);
            let steps = |strategy: &Strategy| strategy.block.in_registers || strategy.carry == Carry::LookAhead;
            let strategies: Vec<_> =
                strategies::all_segmented().filter(|strategy| steps(strategy) == by_runs).collect();
            let strategy = strategies[random.below(strategies.len())];
            let mut overrides = Overrides::default().strategy(strategy).threads([32, 64][random.below(2)]);
            overrides.run = (strategy.carry == Carry::LookAhead).then_some(4);
            let (kind, with_initial_value) = WAYS[random.below(4)];
            let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
            let spec = if random.one_in(3) { spec.reverse() } else { spec };
            let head_source = random.one_in(2).then(|| random.below(HEAD_SOURCES));
            let spec = match head_source {
                Some(head_source) => spec.with_segments(Heads::new(head_source, &[]).segments()),
                None => spec.with_total(),
            };
            let initial_value = with_initial_value.then_some(random.below(4) as u8);
            programs.push((head_source, Program::of(op.clone(), &spec, initial_value, &overrides)?));
        }
        Module::compile(&programs.iter().map(|(_, program)| &program.source).collect::<Vec<_>>())?;
        for (head_source, program) in &programs {
            for _ in 0..RUNS {
                Self::run(program, *head_source, random)?;
            }
        }
        Ok((PROGRAMS * RUNS) as u64)
    }

    fn run(program: &Program<Self>, head_source: Option<usize>, random: &mut Random) -> Result<(), Box<dyn Error>> {
        let tile = program.plan.tile as usize;
        let max = if random.one_in(2) { 40 } else { 4 * tile };
        let length = 1 + random.below(max);
        let length = length.min(program.plan.max_len as usize);
        let input: Vec<Self::Input> = (0..length).map(|_| Self::input(random)).collect();
        let pattern = PATTERNS[random.below(PATTERNS.len())];
        let begins = head_source.map(|_| begins(pattern, length, tile));
        let told = format!("{length} elements\n{}", program.plan);
        Self::on_cpu(program, &input, begins.as_deref()).map_err(|error| format!("{error}, {told}"))?;
        let program = match (head_source, &begins) {
            (Some(head_source), Some(begins)) => program.with_heads(Heads::new(head_source, begins)),
            _ => program.clone(),
        };
        let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
        let resident = if needs_all { usize::MAX } else { 1 + random.below(5) };
        let emulator = Emulator::new(random.bits()).resident_blocks(resident);
        let offsets = (random.below(8), random.below(8));
        program.verify_at_offset(&emulator, &input, offsets).map_err(|error| format!("emulator: {error}, {told}"))?;
        Ok(())
    }

    /// The same on the CPU, as one thread does a single chunk, and as several do several.
    fn on_cpu(program: &Program<Self>, input: &[Self::Input], begins: Option<&[bool]>) -> Result<(), Box<dyn Error>> {
        const LONGER: usize = 70_000;
        let spec = &program.plan.spec;
        for len in [input.len(), LONGER] {
            let input: Vec<_> = input.iter().cycle().copied().take(len).collect();
            let begins: Option<Vec<_>> = begins.map(|begins| begins.iter().cycle().copied().take(len).collect());
            let expected = reference::scan_as(&program.op, spec, program.initial_value, &input, begins.as_deref());
            let scan = Scanner::cpu().scan(program.op.clone());
            let scan = if spec.kind == ScanKind::Exclusive { scan.exclusive() } else { scan.inclusive() };
            let scan = if spec.reversed { scan.reverse() } else { scan };
            let scan = program.initial_value.into_iter().fold(scan, |scan, value| scan.init(value));
            let found = match &begins {
                Some(begins) => scan.by_flags(begins).run(&input)?,
                None => scan.run(&input)?,
            };
            let differ = |(found, expected)| bytes_of(found) != bytes_of(expected);
            if let Some(place) = found.iter().zip(&expected).position(differ) {
                return Err(format!("CPU, {len} elements: result {place} is not the loop's").into());
            }
        }
        Ok(())
    }
}

impl<Op: Drawn> Play for Op {}
