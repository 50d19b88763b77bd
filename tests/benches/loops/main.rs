//! The CPU backend beside the loop that a user would write, for operators that no vector instruction helps: those of
//! the gallery, a lexer with a table that is read at run time, rows and reversed scans, filters and expansions,
//! reductions, recurrences along an axis, and several callers at once.
//!
//! The loop of a stepped operator is that of its `step` and `emit`. That of another operator keeps a state, appends the
//! input, and projects. Ours and the loop take turns in this process, on the same memory, with one thread and with all;
//! the table has the ratio of the median times, above 1 where ours is the faster one. Before anything is timed, the
//! results are compared.
//!
//! ```console
//! $ cargo bench -p scan-tests --bench loops                # all of it, in about four minutes
//! $ cargo bench -p scan-tests --bench loops -- argmax rows # whose names contain one of these
//! ```

mod arrays;
#[path = "../../../examples/tokenizer/src/automaton.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "a module of the example")]
mod automaton;
mod callers;
#[path = "../../../examples/tokenizer/src/lexer.rs"]
#[allow(missing_docs, unreachable_pub, reason = "a module of the example")]
mod lexer;

use std::{
    error::Error,
    hint::black_box,
    time::{Duration, Instant},
};

use rayon::ThreadPoolBuilder;
use scan_runtime::{Scan, ScanElement, ScanOp, Scanner, ops};
use scan_tests::{
    gallery::{Example, Visitor, compare, visit_gallery, visit_sums},
    operators::{Affine, compose},
};

use arrays::unit;

/// Elements of an input.
const LENGTHS: [usize; 4] = [64, 1_000, 100_000, 4_000_000];
const MAX: usize = LENGTHS[LENGTHS.len() - 1];

/// Calls are timed together that take at least this long.
const BATCH: Duration = Duration::from_micros(100);

/// How long one contender is timed at a length, and how often at least and at most.
const TIMED: Duration = Duration::from_millis(100);
const TURNS: std::ops::Range<usize> = 12..400;

fn main() -> Result<(), Box<dyn Error>> {
    let names: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let all = ThreadPoolBuilder::new().build()?;
    let mut bench = Bench { pools: vec![ThreadPoolBuilder::new().num_threads(1).build()?], names, failed: None };
    if all.current_num_threads() > 1 {
        bench.pools.push(all);
    }
    bench.head();
    visit_gallery(&mut bench);
    visit_sums(&mut bench);
    bench.sums();
    bench.lexer()?;
    bench.lines();
    bench.arrays();
    bench.axes();
    bench.callers();
    bench.failed.map_or(Ok(()), |message| Err(message.into()))
}

/// A contender: scans so many elements.
type Contender<'a> = &'a (dyn Fn(usize) + Sync);

struct Bench {
    /// One thread, and all.
    pools: Vec<rayon::ThreadPool>,
    names: Vec<String>,
    failed: Option<String>,
}

impl Visitor for Bench {
    fn visit<Op: Example>(&mut self, name: &str) {
        let scan = || Scanner::cpu().scan(Op::new());
        let mut rows = vec![(name.to_owned(), scan())];
        if Op::State::layout().has_floats() {
            rows.push((format!("{name}, any grouping"), scan().any_grouping()));
        }
        rows.retain(|(name, _)| self.wants(name));
        let input = if rows.is_empty() { Vec::new() } else { Op::input(MAX) };
        for (name, scan) in rows {
            self.flat(&name, scan, Op::new(), &input, |ours, loops| compare(ours, loops, Op::tolerance()));
        }
    }
}

impl Bench {
    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|part| name.contains(&**part))
    }

    /// The head of the table.
    fn head(&self) {
        let threads: Vec<usize> = self.pools.iter().map(|pool| pool.current_num_threads()).collect();
        println!("threads: {threads:?}; the time of the loop in proportion to ours, and ours for an element in ns\n");
        let columns = || threads.iter().flat_map(|threads| LENGTHS.map(|len| format!(" {threads} × {len} |")));
        println!("| scan |{}", columns().collect::<String>());
        println!("|---|{}", columns().map(|_| "--:|").collect::<String>());
    }

    fn lexer(&mut self) -> Result<(), Box<dyn Error>> {
        let rules = include_str!("../../../examples/tokenizer/rust.automaton");
        let rows = automaton::Automaton::read(rules)?.rows;
        let text: Vec<u8> = include_bytes!("main.rs").iter().copied().cycle().take(MAX).collect();
        let lexer = || lexer::Lexer { rows: rows.clone() };
        if self.wants("lexer of a file") {
            let scan = Scanner::cpu().scan(lexer());
            self.flat("lexer of a file", scan, lexer(), &text, |ours, loops| compare(ours, loops, 0.0));
        }
        self.reductions([lexer(), lexer()], &text);
        Ok(())
    }

    /// A scan of all elements from the first to the last.
    fn flat<Op: ScanOp>(
        &mut self,
        name: &str,
        scan: Scan<Op>,
        of_loop: Op,
        input: &[Op::Input],
        same: impl Fn(&[Op::Output], &[Op::Output]) -> Result<(), String>,
    ) {
        let places = Outputs::of(&scan, input);
        places.check(name, &mut self.failed, |output| plain_loop(&of_loop, input, output), same);
        let ours = |len: usize| ours_once(&scan, black_box(&input[..len]), black_box(places.first(len)));
        let loops = |len: usize| plain_loop(&of_loop, black_box(&input[..len]), black_box(places.first(len)));
        self.row(name, &LENGTHS, &ours, &loops);
    }

    /// More exact sums beside the loop that adds in the type of the elements.
    fn sums(&mut self) {
        let single: Vec<f32> = (0..MAX).map(unit).collect();
        let double: Vec<f64> = single.iter().map(|&x| x.into()).collect();
        self.beside_sum("sum_in f64, beside a sum in f32", ops::sum_in::<f64, f32>(), &single, |a, b| a + b);
        self.beside_sum("compensated_sum, beside a sum in f32", ops::compensated_sum(), &single, |a, b| a + b);
        self.beside_sum("compensated_sum, beside a sum in f64", ops::compensated_sum(), &double, |a, b| a + b);
        self.beside_sum("exact_sum, beside a sum in f32", ops::exact_sum(), &single, |a, b| a + b);
    }

    fn beside_sum<T: ScanElement, Op: ScanOp<Input = T, Output = T>>(
        &mut self,
        name: &str,
        op: Op,
        input: &[T],
        add: impl Fn(T, T) -> T + Copy + Sync,
    ) {
        if !self.wants(name) {
            return;
        }
        let scan = Scanner::cpu().scan(op);
        let places = Outputs::of(&scan, input);
        let loops = |input: &[T], output: &mut [T]| plain_lines(input, output, add, usize::MAX, false);
        places.check(name, &mut self.failed, |output| loops(input, output), |a, b| compare(a, b, 1e-4));
        let ours = |len: usize| ours_once(&scan, black_box(&input[..len]), black_box(places.first(len)));
        let loops = |len: usize| loops(black_box(&input[..len]), black_box(places.first(len)));
        self.row(name, &LENGTHS, &ours, &loops);
    }

    /// Rows, and scans from the last element to the first.
    fn lines(&mut self) {
        let (sums, pairs) = ((0..MAX).map(unit).collect::<Vec<f32>>(), pairs(MAX));
        let then = |f: Affine, g: Affine| Affine { a: f.a * g.a, b: g.a * f.b + g.b };
        self.line("affine f32", compose, &pairs, then, usize::MAX, false);
        for (row, reversed) in [(usize::MAX, true), (1_000, false), (1_000, true), (8, false), (8, true)] {
            let rows = if row == usize::MAX { String::new() } else { format!(", rows of {row}") };
            let name = |operator| format!("{operator}{rows}{}", if reversed { ", reversed" } else { "" });
            self.line(&name("sum f32"), ops::sum::<f32>(), &sums, |a, b| a + b, row, reversed);
            self.line(&name("affine f32"), compose, &pairs, then, row, reversed);
        }
    }

    fn line<T: ScanElement, Op: ScanOp<Input = T, State = T, Output = T> + Clone>(
        &mut self,
        name: &str,
        op: Op,
        input: &[T],
        combine: impl Fn(T, T) -> T + Copy + Sync,
        row: usize,
        reversed: bool,
    ) {
        if !self.wants(name) {
            return;
        }
        let scan = Scanner::cpu().scan(op);
        let scan = if reversed { scan.reverse() } else { scan };
        let places = Outputs::of(&scan, input);
        let loops = |input: &[T], output: &mut [T]| plain_lines(input, output, combine, row, reversed);
        let ours = |input: &[T], output: &mut [T]| match row {
            usize::MAX => ours_once(&scan, input, output),
            _ => rows_once(&scan, row.min(input.len()), input, output),
        };
        let few = &input[..LENGTHS[1]];
        let [mut a, mut b] = [few.to_vec(), few.to_vec()];
        ours(few, &mut a);
        loops(few, &mut b);
        if let Err(message) = compare(&a, &b, 1e-4) {
            self.failed = Some(format!("{name}: {message}"));
        }
        let ours = |len: usize| ours(black_box(&input[..len]), black_box(places.first(len)));
        let loops = |len: usize| loops(black_box(&input[..len]), black_box(places.first(len)));
        self.row(name, &LENGTHS, &ours, &loops);
    }

    /// A row of the table, of these lengths.
    fn row(&self, name: &str, lengths: &[usize], ours: Contender<'_>, loops: Contender<'_>) {
        let mut cells = String::new();
        for pool in &self.pools {
            for len in LENGTHS {
                if !lengths.contains(&len) {
                    cells += " |";
                    continue;
                }
                let [ours, loops] = pool.install(|| in_turns(&|| ours(len), &|| loops(len)));
                cells += &format!(" {:.2} ({:.2}) |", loops / ours, ours * 1e9 / len as f64);
            }
        }
        println!("| {name} |{cells}");
    }
}

/// Affine maps close to the identity.
fn pairs(len: usize) -> Vec<Affine> {
    (0..len).map(|i| Affine { a: 1.0 + 1e-7 * unit(!i), b: unit(i) }).collect()
}

/// Where the results of all contenders are written: the same pages, met in the same state.
struct Outputs<T>(*mut T, Vec<T>);

// SAFETY: contenders run one after the other.
unsafe impl<T> Sync for Outputs<T> {}

impl<T: ScanElement> Outputs<T> {
    /// With the results of a scan.
    fn of<Op: ScanOp<Output = T>>(scan: &Scan<Op>, input: &[Op::Input]) -> Self {
        let mut outputs = scan.run(input).unwrap_or_else(|error| panic!("{error}"));
        Outputs(outputs.as_mut_ptr(), outputs)
    }

    fn check(
        &self,
        name: &str,
        failed: &mut Option<String>,
        other: impl Fn(&mut [T]),
        same: impl Fn(&[T], &[T]) -> Result<(), String>,
    ) {
        let ours = self.1.clone();
        other(self.first(ours.len()));
        let shown = ours.len().min(20_000);
        if let Err(message) = same(&ours[..shown], &self.first(ours.len())[..shown]) {
            *failed = Some(format!("{name}: {message}"));
        }
    }

    #[allow(clippy::mut_from_ref, reason = "contenders run one after the other")]
    fn first(&self, len: usize) -> &mut [T] {
        // SAFETY: there are as many elements, and one contender at a time has them.
        unsafe { std::slice::from_raw_parts_mut(self.0, len) }
    }
}

/// The median times of a call of each, in seconds.
fn in_turns(ours: &dyn Fn(), loops: &dyn Fn()) -> [f64; 2] {
    let contenders = [ours, loops];
    let once = contenders.map(|contender| timed(contender, 1).min(timed(contender, 1)));
    let longest = once[0].max(once[1]).max(1e-9);
    let calls = once.map(|once| (BATCH.as_secs_f64() / once.max(1e-9)).ceil().max(1.0) as usize);
    let turns = (TIMED.as_secs_f64() / BATCH.as_secs_f64().max(longest)) as usize;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..turns.clamp(TURNS.start, TURNS.end) {
        for side in 0..2 {
            times[side].push(timed(contenders[side], calls[side]));
        }
    }
    times.map(|mut times| {
        let middle = times.len() / 2;
        *times.select_nth_unstable_by(middle, f64::total_cmp).1
    })
}

/// Seconds of a call, of so many. One loop for all contenders.
#[inline(never)]
fn timed(contender: &dyn Fn(), calls: usize) -> f64 {
    let begin = Instant::now();
    (0..calls).for_each(|_| contender());
    begin.elapsed().as_secs_f64() / calls as f64
}

// Each of these is a function that is called and not inlined, and is given the same slices.

#[inline(never)]
fn ours_once<Op: ScanOp>(scan: &Scan<Op>, input: &[Op::Input], output: &mut [Op::Output]) {
    scan.run_into(input, output).unwrap_or_else(|error| panic!("{error}"));
}

#[inline(never)]
fn rows_once<Op: ScanOp>(scan: &Scan<Op>, row: usize, input: &[Op::Input], output: &mut [Op::Output]) {
    scan.rows(row).run_into(input, output).unwrap_or_else(|error| panic!("{error}"));
}

#[inline(never)]
fn plain_loop<Op: ScanOp>(op: &Op, input: &[Op::Input], output: &mut [Op::Output]) {
    assert_eq!(input.len(), output.len());
    let Some(mut carry) = op.start() else { return plain_loop_without_start(op, input, output) };
    for (x, y) in input.iter().zip(output) {
        (carry, *y) = op.advance(carry, *x);
    }
}

fn plain_loop_without_start<Op: ScanOp>(op: &Op, input: &[Op::Input], output: &mut [Op::Output]) {
    let mut places = input.iter().zip(output);
    let Some((first, y)) = places.next() else { return };
    let mut carry = op.carry_of(op.lift(*first));
    *y = op.project(carry);
    for (x, y) in places {
        (carry, *y) = op.advance(carry, *x);
    }
}

#[inline(never)]
fn plain_lines<T: Copy>(input: &[T], output: &mut [T], combine: impl Fn(T, T) -> T, row: usize, reversed: bool) {
    assert_eq!(input.len(), output.len());
    let row = row.min(input.len());
    for (x, y) in input.chunks(row).zip(output.chunks_mut(row)) {
        match reversed {
            false => plain_line(x.iter().zip(y), &combine),
            true => plain_line(x.iter().zip(y).rev(), |a, b| combine(b, a)),
        }
    }
}

#[inline(always)]
fn plain_line<'a, T: Copy + 'a>(places: impl Iterator<Item = (&'a T, &'a mut T)>, combine: impl Fn(T, T) -> T) {
    let mut sum = None;
    for (x, y) in places {
        let value = sum.map_or(*x, |sum| combine(sum, *x));
        (*y, sum) = (value, Some(value));
    }
}
