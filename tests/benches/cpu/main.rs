//! The CPU backend beside the plain loop, the standard library's iterators, and C++17's parallel scan over oneTBB.
//!
//! All of them scan the same input in turns, so that whatever else the machine does meets all of them; the table holds
//! ratios of medians. Before anything is timed, the results are compared.

mod tbb;

use std::{
    error::Error,
    hint::black_box,
    time::{Duration, Instant},
};

use clap::Parser;
use scan_runtime::{ScanElement, ScanOp, Scanner, ops};
use scan_tests::operators::{Affine, compose, mixed};
use tbb::Tbb;

/// Measures the CPU backend beside plain loops and oneTBB.
#[derive(Parser)]
struct Options {
    /// Only cases whose names contain this.
    #[arg(long)]
    only: Option<String>,
    /// Lengths, as powers of two.
    #[arg(long, value_delimiter = ',', default_value = "0,1,3,5,7,10,12,14,16,18,20,22,24,26")]
    sizes: Vec<u32>,
    /// Seconds for all of it, about.
    #[arg(long, default_value_t = 170.0)]
    seconds: f64,
    /// What `cargo bench` says.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What is measured: each scans the input into the output of the same length.
type Contender<'a> = Box<dyn FnMut(usize) + 'a>;

const NAMES: [&str; 4] = ["ours", "plain loop", "iterators", "TBB"];

struct Row {
    log_len: u32,
    /// Nanoseconds of each, in the order of [`NAMES`].
    times: Vec<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let tbb = Tbb::open().inspect_err(|error| eprintln!("without TBB: {error}")).ok();
    let bench = Bench { options, tbb };
    println!("{} threads; ratios of speeds, ours to the other's\n", rayon::current_num_threads());
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
    Ok(())
}

struct Bench {
    options: Options,
    tbb: Option<Tbb>,
}

impl Bench {
    fn lengths(&self) -> impl Iterator<Item = u32> {
        self.options.sizes.iter().copied()
    }

    fn wanted(&self, name: &str) -> bool {
        self.options.only.as_ref().is_none_or(|only| name.contains(only))
    }

    fn scan<Op, T>(
        &self,
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
        if !self.wanted(name) {
            return Ok(());
        }
        let most = 1 << self.lengths().max().unwrap_or(0);
        let x: Vec<T> = (0..most as u64).map(input).collect();
        let output = || vec![identity; most];
        let (mut a, mut b) = (output(), output());
        let scanner = Scanner::cpu();
        let scan = scanner.scan(op);
        scan.run_into(&x, &mut a)?;
        plain_loop(&x, &mut b, combine, identity);
        let bytes = scan_tests::operators::bits::<T>;
        if name.contains("i32") && bytes(&a) != bytes(&b) {
            return Err(format!("{name}: the results differ").into());
        }
        // One output for all: the same pages, met in the same state.
        let y = a.as_mut_ptr();
        // SAFETY: `a` has `most` elements, outlives the contenders, and they run one after the other.
        let output = |len: usize| unsafe { std::slice::from_raw_parts_mut(y, len) };
        let mut contenders: Vec<Contender<'_>> = vec![
            Box::new(|len| {
                let _ = black_box(scan.run_into(black_box(&x[..len]), output(len)));
            }),
            Box::new(|len| plain_loop(black_box(&x[..len]), black_box(output(len)), combine, identity)),
            Box::new(|len| iterators(black_box(&x[..len]), black_box(output(len)), combine, identity)),
        ];
        if let Some(tbb) = &self.tbb {
            // SAFETY: functions of these names have this type.
            let function: tbb::Scan<T> = unsafe { tbb.function(function)? };
            let x = &x;
            // SAFETY: both have `len` elements.
            contenders.push(Box::new(move |len| unsafe { function(x.as_ptr(), y, len) }));
        }
        self.race(name, &mut contenders);
        Ok(())
    }

    fn segmented(&self, mean: u64) -> Result<(), Box<dyn Error>> {
        let name = format!("sum i32 by flags, {mean} in a segment");
        if !self.wanted(&name) {
            return Ok(());
        }
        let most = 1_usize << self.lengths().max().unwrap_or(0);
        let x: Vec<i32> = (0..most as u64).map(|i| mixed(i) as i32).collect();
        let flags: Vec<u8> = (0..most as u64).map(|i| u8::from(mixed(!i).is_multiple_of(mean))).collect();
        let (mut a, mut b) = (vec![0; most], vec![0; most]);
        let scanner = Scanner::cpu();
        let scan = scanner.scan(ops::sum::<i32>());
        scan.clone().by_flags(&flags).run_into(&x, &mut a)?;
        plain_segments(&flags, &x, &mut b);
        if a != b {
            return Err(format!("{name}: the results differ").into());
        }
        let y = a.as_mut_ptr();
        // SAFETY: as in `scan`.
        let output = |len: usize| unsafe { std::slice::from_raw_parts_mut(y, len) };
        let mut contenders: Vec<Contender<'_>> = vec![
            Box::new(|len| {
                let scan = scan.clone().by_flags(&flags[..len]);
                let _ = black_box(scan.run_into(black_box(&x[..len]), output(len)));
            }),
            Box::new(|len| plain_segments(black_box(&flags[..len]), black_box(&x[..len]), output(len))),
            Box::new(|len| iterators_of_segments(black_box(&flags[..len]), black_box(&x[..len]), output(len))),
        ];
        if let Some(tbb) = &self.tbb {
            // SAFETY: the function has this type.
            let function: tbb::Segmented<i32> = unsafe { tbb.function("segmented_i32")? };
            let (flags, x) = (&flags, &x);
            // SAFETY: all have `len` elements.
            contenders.push(Box::new(move |len| unsafe { function(flags.as_ptr(), x.as_ptr(), y, len) }));
        }
        self.race(&name, &mut contenders);
        Ok(())
    }

    fn race(&self, name: &str, contenders: &mut [Contender<'_>]) {
        let points = 9 * self.options.sizes.len();
        let budget = Duration::from_secs_f64(self.options.seconds / points as f64);
        let rows: Vec<Row> =
            self.lengths().map(|log_len| Row { log_len, times: in_turns(contenders, 1 << log_len, budget) }).collect();
        println!("### {name}\n");
        print!("| n | ours |");
        contenders.iter().zip(NAMES).skip(1).for_each(|(_, name)| print!(" {name} |"));
        println!("\n|--:|--:|{}", "--:|".repeat(contenders.len() - 1));
        for row in rows {
            print!("| 2^{} | {} |", row.log_len, time(row.times[0]));
            row.times[1..].iter().for_each(|other| print!(" {:.2} |", other / row.times[0]));
            println!();
        }
        println!();
    }
}

/// The median time of each in nanoseconds, one call of each at a time, or many where they are short.
fn in_turns(contenders: &mut [Contender<'_>], len: usize, budget: Duration) -> Vec<f64> {
    let sample = budget.div_f64(contenders.len() as f64 * 15.0).min(Duration::from_millis(2));
    let calls: Vec<u32> = contenders
        .iter_mut()
        .map(|contender| {
            contender(len);
            let mut calls = 1_u32;
            loop {
                let took = timed(contender, len, calls);
                if took * 2 >= sample || calls >= 1 << 24 {
                    return calls;
                }
                calls *= 2;
            }
        })
        .collect();
    let begin = Instant::now();
    let mut times = vec![Vec::new(); contenders.len()];
    while times[0].len() < 5 || (begin.elapsed() < budget && times[0].len() < 101) {
        for ((contender, times), calls) in contenders.iter_mut().zip(&mut times).zip(&calls) {
            times.push(timed(contender, len, *calls).as_secs_f64() * 1e9 / f64::from(*calls));
        }
    }
    times.into_iter().map(median).collect()
}

fn timed(contender: &mut Contender<'_>, len: usize, calls: u32) -> Duration {
    let begin = Instant::now();
    (0..calls).for_each(|_| contender(black_box(len)));
    begin.elapsed()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e3 => format!("{nanoseconds:.1} ns"),
        ..1e6 => format!("{:.2} µs", nanoseconds / 1e3),
        _ => format!("{:.2} ms", nanoseconds / 1e6),
    }
}

#[inline(never)]
fn plain_loop<T: Copy>(input: &[T], output: &mut [T], combine: impl Fn(T, T) -> T, identity: T) {
    let mut sum = identity;
    for (x, y) in input.iter().zip(output) {
        sum = combine(sum, *x);
        *y = sum;
    }
}

#[inline(never)]
fn iterators<T: Copy>(input: &[T], output: &mut [T], combine: impl Fn(T, T) -> T, identity: T) {
    let sums = input.iter().scan(identity, |sum, &x| {
        *sum = combine(*sum, x);
        Some(*sum)
    });
    output.iter_mut().zip(sums).for_each(|(y, sum)| *y = sum);
}

#[inline(never)]
fn plain_segments(flags: &[u8], input: &[i32], output: &mut [i32]) {
    let mut sum = 0_i32;
    for ((flag, x), y) in flags.iter().zip(input).zip(output) {
        sum = if *flag != 0 { *x } else { sum.wrapping_add(*x) };
        *y = sum;
    }
}

#[inline(never)]
fn iterators_of_segments(flags: &[u8], input: &[i32], output: &mut [i32]) {
    let sums = flags.iter().zip(input).scan(0_i32, |sum, (&flag, &x)| {
        *sum = if flag != 0 { x } else { sum.wrapping_add(x) };
        Some(*sum)
    });
    output.iter_mut().zip(sums).for_each(|(y, sum)| *y = sum);
}
