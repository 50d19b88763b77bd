//! The CPU backend beside the plain loop, and beside C++17's parallel scan over oneTBB.
//!
//! Each scan is a group of criterion's, in which `plain loop/1024` is the plain loop over 1024 elements. Whenever criterion asks
//! for a sample of another contender, ours is timed with it, in turns, so that whatever else the machine does meets both. The
//! table at the end has the medians of the ratios of these pairs. Before anything is timed, the results are compared.
//!
//! ```console
//! $ cargo bench -p scan-tests --bench cpu                    # all of it, in two to three minutes
//! $ cargo bench -p scan-tests --bench cpu -- 'i32/.*/1024$'  # what the expression finds
//! ```

mod tbb;

use std::{
    error::Error,
    hint::black_box,
    time::{Duration, Instant},
};

use criterion::{BenchmarkId, Criterion};
use scan_runtime::{Run, Scan, ScanElement, ScanOp, Scanner, ops, scan_element, scan_op};
use scan_tests::operators::{Affine, compose, mixed};
use tbb::Tbb;

/// The binary logarithms of the lengths.
const LENGTHS: [u32; 15] = [0, 1, 3, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 22, 24];
const MAX: usize = 1 << LENGTHS[LENGTHS.len() - 1];

/// Those at which the other kinds of segmented scans are measured.
const SOME_LENGTHS: [u32; 5] = [0, 5, 6, 10, 16];

/// Samples of each contender at each length.
const SAMPLES: usize = 15;
/// How often contenders take turns in a sample, if they are called as often.
const TURNS: u64 = 8;

/// What is measured: each scans so many elements of the input into the output.
type Contender<'a> = Box<dyn FnMut(usize) + 'a>;

/// What ours is measured beside.
const OTHERS: [&str; 2] = ["plain loop", "TBB"];

fn main() -> Result<(), Box<dyn Error>> {
    let criterion = Criterion::default()
        .sample_size(SAMPLES)
        .warm_up_time(Duration::from_millis(20))
        .measurement_time(Duration::from_millis(60))
        .nresamples(1_000)
        .configure_from_args();
    let tbb = Tbb::open().inspect_err(|error| eprintln!("without TBB: {error}")).ok();
    let mut bench = Bench { criterion, tbb, rows: Vec::new() };

    let random = |i: u64| mixed(i);
    let unit = |i: u64| (mixed(i) >> 40) as f32 / (1_u64 << 24) as f32 - 0.5;
    bench.scan("sum u8", "sum_u8", ops::sum::<u8>(), u8::wrapping_add, 0, |i| random(i) as u8)?;
    bench.scan("sum i32", "sum_i32", ops::sum::<i32>(), i32::wrapping_add, 0, |i| random(i) as i32)?;
    bench.scan("sum i64", "sum_i64", ops::sum::<i64>(), i64::wrapping_add, 0, |i| random(i) as i64)?;
    bench.scan("sum f32", "sum_f32", ops::sum::<f32>(), |a, b| a + b, 0.0, unit)?;
    bench.scan("sum f64", "sum_f64", ops::sum::<f64>(), |a, b| a + b, 0.0, |i| f64::from(unit(i)))?;
    let max = |a: f32, b: f32| if a >= b || a.is_nan() { a } else { b };
    bench.scan("max f32", "max_f32", ops::max::<f32>(), max, f32::NEG_INFINITY, unit)?;
    let identity = Affine { a: 1.0, b: 0.0 };
    let step = |f: Affine, g: Affine| Affine { a: f.a * g.a, b: g.a * f.b + g.b };
    bench.scan("affine f32", "affine_f32", compose, step, identity, |i| Affine {
        a: 1.0 + 1e-7 * unit(!i),
        b: unit(i),
    })?;
    for mean in [1_000, 10] {
        bench.segmented(mean)?;
    }

    bench.columns(unit);

    for (row, name) in [(usize::MAX, ""), (1_024, ", rows of 1024"), (8, ", rows of 8")] {
        let sum = |a: f32, b: f32| a + b;
        for reversed in [false, true] {
            let name = |operator: &str| format!("{operator}{name}{}", if reversed { ", reversed" } else { "" });
            if reversed || row < usize::MAX {
                bench.lines(&name("sum f32"), ops::sum::<f32>(), sum, (row, reversed), unit)?;
                bench.lines(&name("affine f32"), compose, step, (row, reversed), |i| Affine {
                    a: 1.0 + 1e-7 * unit(!i),
                    b: unit(i),
                })?;
            }
        }
    }

    bench.criterion.final_summary();
    table(&bench.rows);
    Ok(())
}

/// The coefficients of a step of a recurrence.
#[scan_element]
#[derive(Clone, Copy)]
struct Step {
    gate: f32,
    token: f32,
}

/// `h = gate * h + token`
struct Recurrence;

#[scan_op]
impl ScanOp for Recurrence {
    type Input = Step;
    type State = Step;
    type Output = f32;
    fn lift(step: Step) -> Step {
        step
    }
    fn combine(f: Step, g: Step) -> Step {
        Step { gate: f.gate * g.gate, token: g.gate * f.token + g.token }
    }
    fn project(h: Step) -> f32 {
        h.token
    }
}

struct Bench {
    criterion: Criterion,
    tbb: Option<Tbb>,
    rows: Vec<Row>,
}

/// A line of the table.
struct Row {
    name: String,
    /// For each of [`OTHERS`] that is there, for each of [`LENGTHS`] that was asked for: how many times faster ours is.
    ratios: Vec<Vec<Option<f64>>>,
}

impl Bench {
    fn scan<Op, T>(
        &mut self,
        name: &str,
        function: &str,
        op: Op,
        combine: impl Fn(T, T) -> T + Copy,
        identity: T,
        input: impl Fn(u64) -> T,
    ) -> Result<(), Box<dyn Error>>
    where
        Op: ScanOp<Input = T, State = T, Output = T>,
        T: ScanElement + std::fmt::Debug,
    {
        let x: Vec<T> = (0..MAX as u64).map(input).collect();
        let mut y = vec![identity; MAX];
        let scanner = Scanner::cpu();
        let scan = scanner.scan(op);
        if name.contains("i32") {
            let mut expected = vec![identity; MAX];
            plain_loop(&x, &mut expected, combine, identity);
            scan.run_into(&x, &mut y)?;
            let bytes = scan_tests::operators::bits::<T>;
            if bytes(&y) != bytes(&expected) {
                return Err(format!("{name}: the results differ").into());
            }
        }
        // One output for all: the same pages, met in the same state.
        let to = y.as_mut_ptr();
        // SAFETY: `y` has `MOST` elements, outlives the contenders, and they run one after the other.
        let output = |len: usize| unsafe { std::slice::from_raw_parts_mut(to, len) };
        let mut ours: Contender<'_> = Box::new(|len| {
            ours_once(&scan, black_box(&x[..len]), black_box(output(len)));
        });
        let plain = || -> Contender<'_> {
            Box::new(|len| plain_loop(black_box(&x[..len]), black_box(output(len)), combine, identity))
        };
        let mut others = vec![plain()];
        if let Some(tbb) = &self.tbb {
            // SAFETY: functions of these names have this type.
            let function: tbb::Scan<T> = unsafe { tbb.function(function)? };
            let x = &x;
            // SAFETY: both have `len` elements.
            others.push(Box::new(move |len| unsafe { function(x.as_ptr(), to, len) }));
        }
        self.rows.push(race(&mut self.criterion, name, &LENGTHS, &mut ours, &mut others));
        if name == "sum i32" {
            // What the ratios of two that are one look like.
            let name = "plain loop of i32, beside itself";
            self.rows.push(race(&mut self.criterion, name, &LENGTHS, &mut plain(), &mut [plain()]));
        }
        Ok(())
    }

    /// Rows, or one of all elements, from either end.
    fn lines<Op, T>(
        &mut self,
        name: &str,
        op: Op,
        combine: impl Fn(T, T) -> T + Copy,
        (row, reversed): (usize, bool),
        input: impl Fn(u64) -> T,
    ) -> Result<(), Box<dyn Error>>
    where
        Op: ScanOp<Input = T, State = T, Output = T> + Clone,
        T: ScanElement,
    {
        let x: Vec<T> = (0..MAX as u64).map(input).collect();
        let mut y = x.clone();
        let scanner = Scanner::cpu();
        let scan = scanner.scan(op);
        let scan = if reversed { scan.reverse() } else { scan };
        let to = y.as_mut_ptr();
        // SAFETY: as in `scan`.
        let output = |len: usize| unsafe { std::slice::from_raw_parts_mut(to, len) };
        let mut ours: Contender<'_> = Box::new(|len| {
            let (x, output) = (black_box(&x[..len]), black_box(output(len)));
            let done = match row {
                usize::MAX => scan.run_into(x, output),
                row => scan.rows(row.min(len)).run_into(x, output),
            };
            done.unwrap_or_else(|error| panic!("{error}"));
        });
        let plain: Contender<'_> = Box::new(|len| {
            let (x, output) = (black_box(&x[..len]), black_box(output(len)));
            for (x, y) in x.chunks(row.min(len)).zip(output.chunks_mut(row.min(len))) {
                match reversed {
                    false => plain_line(x.iter().zip(y), combine),
                    true => plain_line(x.iter().zip(y).rev(), |a, b| combine(b, a)),
                }
            }
        });
        self.rows.push(race(&mut self.criterion, name, &LENGTHS, &mut ours, &mut [plain]));
        Ok(())
    }

    /// The recurrence `h = gate * h + token` over two arrays.
    fn columns(&mut self, unit: impl Fn(u64) -> f32) {
        let gates: Vec<f32> = (0..MAX as u64).map(|i| 1.0 + 1e-7 * unit(!i)).collect();
        let tokens: Vec<f32> = (0..MAX as u64).map(unit).collect();
        let mut states = vec![0.0_f32; MAX];
        let to = states.as_mut_ptr();
        // SAFETY: as in `scan`.
        let output = |len: usize| unsafe { std::slice::from_raw_parts_mut(to, len) };
        let scan = Scanner::cpu().scan(Recurrence);
        let mut ours: Contender<'_> = Box::new(|len| {
            let done = scan.run_into((black_box(&gates[..len]), black_box(&tokens[..len])), black_box(output(len)));
            done.unwrap_or_else(|error| panic!("{error}"));
        });
        let plain: Contender<'_> = Box::new(|len| {
            let (gates, tokens, states) = (black_box(&gates[..len]), black_box(&tokens[..len]), black_box(output(len)));
            let mut h = 0.0;
            for ((gate, token), state) in gates.iter().zip(tokens).zip(states) {
                h = gate * h + token;
                *state = h;
            }
        });
        self.rows.push(race(&mut self.criterion, "recurrence over two f32 arrays", &LENGTHS, &mut ours, &mut [plain]));
    }

    /// Segments of `mean` elements on average, by each kind of heads, inclusive and exclusive, from either end.
    fn segmented(&mut self, mean: u64) -> Result<(), Box<dyn Error>> {
        let x: Vec<i32> = (0..MAX as u64).map(|i| mixed(i) as i32).collect();
        let flags: Vec<u8> = (0..MAX as u64).map(|i| u8::from(mixed(!i).is_multiple_of(mean))).collect();
        let mut number = 0;
        let keys = flags.iter().map(|flag| {
            number += u32::from(*flag);
            number
        });
        let (keys, words) = (keys.collect::<Vec<u32>>(), flags.chunks(32));
        let bits: Vec<u32> = words.map(|word| (0..).zip(word).map(|(i, flag)| u32::from(*flag) << i).sum()).collect();
        let offsets: Vec<u32> = (0..).zip(&flags).filter(|(i, flag)| *i == 0 || **flag != 0).map(|(i, _)| i).collect();
        // Not to be counted in a contender's time.
        let below = |power| offsets.partition_point(|offset| (*offset as usize) < 1_usize << power);
        let counts: Vec<usize> = (0..=MAX.ilog2()).map(below).collect();
        let few = |len: usize| &offsets[..counts[len.ilog2() as usize]];
        let scanner = Scanner::cpu();
        for (exclusive, reversed) in [(false, false), (true, false), (false, true), (true, true)] {
            type Of<'a> = Box<dyn FnMut(usize, &mut [i32]) + 'a>;
            macro_rules! by {
                ($by:ident, $heads:expr, $loops:ident) => {{
                    // Each way is compiled for itself, as where one writes it.
                    macro_rules! of {
                        ($exclusive:literal, $reversed:literal) => {{
                            let ours: Of<'_> = Box::new(|len, y| {
                                ours_by::<_, $exclusive, $reversed>(
                                    &scanner,
                                    $heads(len),
                                    &x[..len],
                                    y,
                                    |scan, heads| scan.$by(heads),
                                );
                            });
                            let plain: Of<'_> =
                                Box::new(|len, y| $loops::<$exclusive, $reversed>($heads(len), &x[..len], y));
                            (stringify!($by), ours, plain)
                        }};
                    }
                    match (exclusive, reversed) {
                        (false, false) => of!(false, false),
                        (true, false) => of!(true, false),
                        (false, true) => of!(false, true),
                        (true, true) => of!(true, true),
                    }
                }};
            }
            let ways: [(&str, Of<'_>, Of<'_>); 4] = [
                by!(by_flags, |len: usize| &flags[..len], plain_flags),
                by!(by_bits, |len: usize| &bits[..len.div_ceil(32)], plain_bits),
                by!(by_keys, |len: usize| &keys[..len], plain_keys),
                by!(by_offsets, few, plain_offsets),
            ];
            for (by, mut ours, mut plain) in ways {
                let name = format!("sum i32 {}, {mean} in a segment", by.replace('_', " "));
                let name = name + if exclusive { ", exclusive" } else { "" } + if reversed { ", reversed" } else { "" };
                let (mut y, mut expected) = (vec![0; MAX], vec![0; MAX]);
                ours(MAX, &mut y);
                plain(MAX, &mut expected);
                if y != expected {
                    return Err(format!("{name}: the results differ").into());
                }
                let to = y.as_mut_ptr();
                // SAFETY: as in `scan`.
                let output = |len: usize| unsafe { std::slice::from_raw_parts_mut(to, len) };
                let mut ours: Contender<'_> = Box::new(|len| ours(len, black_box(output(len))));
                let mut others: Vec<Contender<'_>> = vec![Box::new(|len| plain(len, black_box(output(len))))];
                let first = by == "by_flags" && !exclusive && !reversed;
                if first && let Some(tbb) = &self.tbb {
                    // SAFETY: the function has this type.
                    let function: tbb::Segmented<i32> = unsafe { tbb.function("segmented_i32")? };
                    let (flags, x) = (&flags, &x);
                    // SAFETY: all have `len` elements.
                    others.push(Box::new(move |len| unsafe { function(flags.as_ptr(), x.as_ptr(), to, len) }));
                }
                let lengths: &[u32] = if first { &LENGTHS } else { &SOME_LENGTHS };
                self.rows.push(race(&mut self.criterion, &name, lengths, &mut ours, &mut others));
            }
        }
        Ok(())
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

/// A group: ours alone, and each of the others in turns with ours.
fn race(
    criterion: &mut Criterion,
    name: &str,
    lengths: &[u32],
    ours: &mut Contender<'_>,
    others: &mut [Contender<'_>],
) -> Row {
    let mut group = criterion.benchmark_group(name);
    let mut ratios = vec![Vec::new(); others.len()];
    for power in LENGTHS {
        if !lengths.contains(&power) {
            ratios.iter_mut().for_each(|ratios| ratios.push(None));
            continue;
        }
        let len = 1_usize << power;
        group.bench_function(BenchmarkId::new("ours", len), |bencher| bencher.iter(|| ours(black_box(len))));
        for ((other, name), ratios) in others.iter_mut().zip(OTHERS).zip(&mut ratios) {
            let mut of_samples = Vec::new();
            group.bench_function(BenchmarkId::new(name, len), |bencher| {
                bencher.iter_custom(|calls| {
                    let (ours, other) = in_turns(ours, other, len, calls);
                    of_samples.push(other.as_secs_f64() / ours.as_secs_f64());
                    other
                });
            });
            // What came before the samples was to warm up.
            of_samples.drain(..of_samples.len().saturating_sub(SAMPLES));
            ratios.push(median(of_samples));
        }
    }
    group.finish();
    Row { name: name.to_owned(), ratios }
}

/// The time of so many calls of each.
fn in_turns(ours: &mut Contender<'_>, other: &mut Contender<'_>, len: usize, calls: u64) -> (Duration, Duration) {
    let mut times = (Duration::ZERO, Duration::ZERO);
    let turns = TURNS.min(calls);
    for turn in 0..turns {
        let calls = calls * (turn + 1) / turns - calls * turn / turns;
        times.0 += timed(ours, len, calls);
        times.1 += timed(other, len, calls);
    }
    times
}

// One loop for all: inlined, each contender would have one of its own, and where that lies makes a difference of up to 15 percent at
// eight elements.
#[inline(never)]
fn timed(contender: &mut Contender<'_>, len: usize, calls: u64) -> Duration {
    let begin = Instant::now();
    (0..calls).for_each(|_| contender(black_box(len)));
    begin.elapsed()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// How many times faster ours is than the plain loop, and than TBB in parentheses; a column for each length.
fn table(rows: &[Row]) {
    let columns = || LENGTHS.iter().enumerate();
    let measured = |column: usize| rows.iter().flat_map(|row| &row.ratios).any(|ratios| ratios[column].is_some());
    let shown: Vec<_> = columns().filter(|(column, _)| measured(*column)).collect();
    if shown.is_empty() {
        return;
    }
    println!(
        "\n{} threads; how many times faster ours is than the {}\n",
        rayon::current_num_threads(),
        OTHERS.join(" (") + ")"
    );
    println!("| scan |{}", shown.iter().map(|(_, power)| format!(" 2^{power} |")).collect::<String>());
    println!("|---|{}", "--:|".repeat(shown.len()));
    for Row { name, ratios } in rows {
        let of = |other: usize, column: usize| ratios.get(other).and_then(|ratios| ratios[column]);
        let cell = |&(column, _): &(usize, _)| {
            let plain = of(0, column).map_or_else(String::new, |ratio| format!(" {ratio:.2}"));
            let tbb = of(1, column).map_or_else(String::new, |ratio| format!(" ({ratio:.2})"));
            format!("{plain}{tbb} |")
        };
        println!("| {name} |{}", shown.iter().map(cell).collect::<String>());
    }
}

// Each of these is a function that is called and not inlined, is given the same slices, and fails where their lengths differ.

#[inline(never)]
fn ours_once<Op: ScanOp>(scan: &Scan<Op>, input: &[Op::Input], output: &mut [Op::Output]) {
    scan.run_into(input, output).unwrap();
}

#[inline(never)]
fn plain_loop<T: Copy>(input: &[T], output: &mut [T], combine: impl Fn(T, T) -> T, identity: T) {
    assert_eq!(input.len(), output.len());
    let mut sum = identity;
    for (x, y) in input.iter().zip(output) {
        sum = combine(sum, *x);
        *y = sum;
    }
}

/// The scan is made anew at each call, as one writes it where the heads are others each time.
#[inline(never)]
fn ours_by<'h, T, const EXCLUSIVE: bool, const REVERSED: bool>(
    scanner: &Scanner,
    heads: &'h [T],
    input: &[i32],
    output: &mut [i32],
    by: impl for<'a> FnOnce(&'a Scan<ops::Sum<i32>>, &'a &'h [T]) -> Run<'a, ops::Sum<i32>>,
) {
    let scan = scanner.scan(ops::sum());
    let scan = if EXCLUSIVE { scan.exclusive() } else { scan };
    let scan = if REVERSED { scan.reverse() } else { scan };
    by(&scan, &heads).run_into(input, output).unwrap();
}

/// The loop over elements with a question for each, whether it begins a segment, from either end.
#[inline(always)]
fn plain_segments<'a, const EXCLUSIVE: bool, const REVERSED: bool>(
    places: impl DoubleEndedIterator<Item = (bool, (&'a i32, &'a mut i32))>,
) {
    let mut sum = 0_i32;
    let mut step = |begins: bool, x: &i32, y: &mut i32| {
        let before = if begins && !REVERSED { 0 } else { sum };
        sum = before.wrapping_add(*x);
        *y = if EXCLUSIVE { before } else { sum };
        sum = if begins && REVERSED { 0 } else { sum };
    };
    match REVERSED {
        false => places.for_each(|(begins, (x, y))| step(begins, x, y)),
        true => places.rev().for_each(|(begins, (x, y))| step(begins, x, y)),
    }
}

#[inline(never)]
fn plain_flags<const EXCLUSIVE: bool, const REVERSED: bool>(flags: &[u8], input: &[i32], output: &mut [i32]) {
    assert!(flags.len() == input.len() && input.len() == output.len());
    plain_segments::<EXCLUSIVE, REVERSED>(flags.iter().map(|flag| *flag != 0).zip(input.iter().zip(output)));
}

#[inline(never)]
fn plain_bits<const EXCLUSIVE: bool, const REVERSED: bool>(bits: &[u32], input: &[i32], output: &mut [i32]) {
    assert!(bits.len() == input.len().div_ceil(32) && input.len() == output.len());
    let begins = (0..input.len()).map(|i| bits[i / 32] >> (i % 32) & 1 != 0);
    plain_segments::<EXCLUSIVE, REVERSED>(begins.zip(input.iter().zip(output)));
}

#[inline(never)]
fn plain_keys<const EXCLUSIVE: bool, const REVERSED: bool>(keys: &[u32], input: &[i32], output: &mut [i32]) {
    assert!(keys.len() == input.len() && input.len() == output.len());
    let begins = (0..input.len()).map(|i| i == 0 || keys[i] != keys[i - 1]);
    plain_segments::<EXCLUSIVE, REVERSED>(begins.zip(input.iter().zip(output)));
}

#[inline(never)]
fn plain_offsets<const EXCLUSIVE: bool, const REVERSED: bool>(offsets: &[u32], input: &[i32], output: &mut [i32]) {
    assert!(input.len() == output.len());
    for (index, start) in offsets.iter().enumerate() {
        let segment = *start as usize..offsets.get(index + 1).map_or(input.len(), |end| *end as usize);
        let places = input[segment.clone()].iter().zip(&mut output[segment]);
        plain_segments::<EXCLUSIVE, REVERSED>(places.map(|place| (false, place)));
    }
}
