//! Arrays that are no slices, reductions, and axes: outputs that are placed, discarded results, indices.

use std::hint::black_box;

use scan_runtime::{Axis, ScanElement, ScanOp, Scanner, arrays, gallery, ops, scan_element, scan_fn, scan_op};
use scan_tests::{gallery::Example, operators::mixed};

use super::{Bench, LENGTHS, MAX, lexer};

/// Columns of an array, and how many of them there are along the first axis.
const COLUMNS: usize = 512;
const BATCH: usize = 4;

#[scan_fn]
fn positive(x: f32) -> ops::Candidate<f32> {
    ops::Candidate { keep: x > 0.0, value: x }
}

/// The bytes that stand for one in HTML.
#[scan_fn]
fn escaped(x: u8) -> ops::Several<u8, 5> {
    match x {
        b'<' => ops::Several { count: 4, items: [b'&', b'l', b't', b';', 0] },
        b'>' => ops::Several { count: 4, items: [b'&', b'g', b't', b';', 0] },
        b'&' => ops::Several { count: 5, items: [b'&', b'a', b'm', b'p', b';'] },
        _ => ops::Several { count: 1, items: [x, 0, 0, 0, 0] },
    }
}

#[scan_element]
#[derive(Clone, Copy)]
struct Gate {
    a: f32,
    b: f32,
}

/// h = a·h + b.
struct Recurrence;

#[scan_op]
impl ScanOp for Recurrence {
    type Input = Gate;
    type State = Gate;
    type Output = f32;
    type Carry = f32;
    const IDENTITY: Gate = Gate { a: 1.0, b: 0.0 };
    const START: f32 = 0.0;
    fn lift(x: Gate) -> Gate {
        x
    }
    fn combine(f: Gate, g: Gate) -> Gate {
        Gate { a: f.a * g.a, b: g.a * f.b + g.b }
    }
    fn apply(f: Gate, h: f32) -> f32 {
        f.a * h + f.b
    }
    fn step(h: f32, x: Gate) -> f32 {
        x.a * h + x.b
    }
}

#[scan_element]
#[derive(Clone, Copy)]
struct Numbered {
    index: u32,
    value: u32,
}

/// The largest value, weighed by its index.
struct Weighed;

#[scan_op]
impl ScanOp for Weighed {
    type Input = Numbered;
    type State = u32;
    type Output = u32;
    const IDENTITY: u32 = 0;
    fn lift(x: Numbered) -> u32 {
        x.index ^ x.value
    }
    fn combine(a: u32, b: u32) -> u32 {
        u32::max(a, b)
    }
}

/// From −0.5 to 0.5.
pub(super) fn unit(i: usize) -> f32 {
    (mixed(i as u64) >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
}

impl Bench {
    pub(super) fn arrays(&mut self) {
        self.filter("filter, random half", unit);
        self.filter("filter, runs of 100", |i| if i / 100 % 2 == 0 { 1.0 + unit(i) } else { unit(i) - 1.0 });
        self.filter("filter, all but one in 100", |i| {
            if mixed(i as u64).is_multiple_of(100) { -1.0 } else { 1.0 + unit(i) }
        });
        self.expansion();
        self.discarded();
        self.numbered();
    }

    fn filter(&mut self, name: &str, value: impl Fn(usize) -> f32) {
        if !self.wants(name) {
            return;
        }
        let x: Vec<f32> = (0..MAX).map(value).collect();
        let scan = Scanner::cpu().scan(ops::map::<positive, _>(ops::filter()));
        self.placed(
            name,
            &x,
            [0.0_f32; 2],
            |x, kept| {
                let count = scan.with_total().run_into(x, arrays::scatter_by_output((kept,)));
                count.unwrap_or_else(|error| panic!("{error}")).unwrap_or_default() as usize
            },
            filter_loop,
        );
    }

    fn expansion(&mut self) {
        let name = "expansion, 1 to 5 bytes";
        if !self.wants(name) {
            return;
        }
        let x: Vec<u8> = include_bytes!("main.rs").iter().copied().cycle().take(MAX).collect();
        let scan = Scanner::cpu().scan(ops::map::<escaped, _>(ops::flat_map()));
        self.placed(
            name,
            &x,
            [0_u8; 5],
            |x, written| {
                let count = scan.with_total().run_into(x, arrays::scatter_by_output((written,)));
                count.unwrap_or_else(|error| panic!("{error}")).unwrap_or_default() as usize
            },
            expansion_loop,
        );
    }

    /// A scan whose outputs are placed one after the other, up to `K` for an element; both give their count.
    fn placed<T: Sync, U: ScanElement + PartialEq, const K: usize>(
        &mut self,
        name: &str,
        input: &[T],
        nothing: [U; K],
        ours: impl Fn(&[T], &mut [U]) -> usize + Sync,
        loops: impl Fn(&[T], &mut [U]) -> usize + Sync,
    ) {
        let mut of_loop = vec![nothing[0]; K * input.len()];
        let mut kept = of_loop.clone();
        let counts = [ours(input, &mut kept), loops(input, &mut of_loop)];
        if counts[0] != counts[1] || kept != of_loop {
            self.failed = Some(format!("{name}: {counts:?} results, which are not the same"));
        }
        let places = super::Outputs(of_loop.as_mut_ptr(), of_loop);
        let ours = |len: usize| _ = black_box(ours(black_box(&input[..len]), black_box(places.first(K * len))));
        let loops = |len: usize| _ = black_box(loops(black_box(&input[..len]), black_box(places.first(K * len))));
        self.row(name, &LENGTHS, &ours, &loops);
    }

    fn discarded(&mut self) {
        let name = "recurrence, results discarded, total";
        if !self.wants(name) {
            return;
        }
        let (a, b): (Vec<f32>, Vec<f32>) = (0..MAX).map(|i| (0.9 + 0.1 * unit(i), unit(!i))).unzip();
        let scan = Scanner::cpu().scan(Recurrence);
        let ours = |len: usize| {
            let total = scan.with_total().run_into((&a[..len], &b[..len]), arrays::discard());
            _ = black_box(total.unwrap_or_else(|error| panic!("{error}")));
        };
        let loops = |len: usize| _ = black_box(total_loop(black_box(&a[..len]), black_box(&b[..len])));
        self.row(name, &LENGTHS, &ours, &loops);
    }

    fn numbered(&mut self) {
        let name = "indices and a slice";
        if !self.wants(name) {
            return;
        }
        let x: Vec<u32> = (0..MAX as u64).map(|i| mixed(i) as u32).collect();
        let scan = Scanner::cpu().scan(Weighed);
        let mut of_loop = vec![0; MAX];
        numbered_loop(&x, &mut of_loop);
        if scan.run((arrays::indices(), &x)).unwrap_or_else(|error| panic!("{error}")) != of_loop {
            self.failed = Some(format!("{name}: results differ"));
        }
        let places = super::Outputs(of_loop.as_mut_ptr(), of_loop);
        let ours = |len: usize| {
            let done = scan.run_into((arrays::indices(), black_box(&x[..len])), black_box(places.first(len)));
            done.unwrap_or_else(|error| panic!("{error}"));
        };
        let loops = |len: usize| numbered_loop(black_box(&x[..len]), black_box(places.first(len)));
        self.row(name, &LENGTHS, &ours, &loops);
    }

    /// Reductions by operators that have a step.
    pub(super) fn reductions(&mut self, of_file: [lexer::Lexer; 2], text: &[u8]) {
        self.reduction(
            "lexer of the gallery",
            [gallery::automaton::Lexer::new(); 2],
            &gallery::automaton::Lexer::input(MAX),
        );
        self.reduction("lexer of a file", of_file, text);
        type Predictor = gallery::saturating_counter::BranchPredictor;
        self.reduction("saturating counter", [Predictor::new(); 2], &Predictor::input(MAX));
        type Hash = gallery::polynomial_hash::TextHash;
        self.reduction("polynomial hash", [Hash::new(); 2], &Hash::input(MAX));
        type Depth = gallery::brackets::Depth;
        self.reduction("brackets", [Depth::new(); 2], &Depth::input(MAX));
        let gates: Vec<Gate> = (0..MAX).map(|i| Gate { a: 0.9 + 0.1 * unit(i), b: unit(!i) }).collect();
        self.reduction("recurrence", [Recurrence, Recurrence], &gates);
    }

    fn reduction<Op: ScanOp>(&mut self, name: &str, [op, of_loop]: [Op; 2], input: &[Op::Input]) {
        let name = format!("{name}, reduced");
        if !self.wants(&name) {
            return;
        }
        let reduce = Scanner::cpu().reduce(op);
        let ours = |len: usize| {
            let result = reduce.run(black_box(&input[..len]));
            _ = black_box(result.unwrap_or_else(|error| panic!("{error}")));
        };
        let loops = |len: usize| _ = black_box(step_loop(&of_loop, black_box(&input[..len])));
        self.row(&name, &LENGTHS, &ours, &loops);
    }

    /// Recurrences over two arrays of shape (4, len / 2048, 512).
    pub(super) fn axes(&mut self) {
        let lengths = &LENGTHS[2..];
        for axis in [0, 1] {
            let name = format!("recurrence along axis {axis} of (4, n, 512)");
            if !self.wants(&name) {
                continue;
            }
            let (a, b): (Vec<f32>, Vec<f32>) = (0..MAX).map(|i| (0.9 + 0.1 * unit(i), unit(!i))).unzip();
            let scan = Scanner::cpu().scan(Recurrence);
            let rows = |len: usize| len / (BATCH * COLUMNS);
            let mut of_loop = vec![0.0; MAX];
            let run = |len: usize, h: &mut [f32]| {
                let len = rows(len) * BATCH * COLUMNS;
                let shape = Axis::of(&[BATCH, rows(len), COLUMNS], axis).unwrap_or_else(|error| panic!("{error}"));
                let along = scan.along(shape);
                let done = along.run_into((black_box(&a[..len]), black_box(&b[..len])), black_box(&mut h[..len]));
                done.unwrap_or_else(|error| panic!("{error}"));
            };
            let by_loop = |len: usize, h: &mut [f32]| {
                let len = rows(len) * BATCH * COLUMNS;
                axis_loop(axis, rows(len), black_box(&a[..len]), black_box(&b[..len]), black_box(&mut h[..len]));
            };
            let mut ours = of_loop.clone();
            run(MAX, &mut ours);
            by_loop(MAX, &mut of_loop);
            if ours != of_loop {
                self.failed = Some(format!("{name}: results differ"));
            }
            let places = super::Outputs(of_loop.as_mut_ptr(), of_loop);
            self.row(&name, lengths, &|len| run(len, places.first(len)), &|len| by_loop(len, places.first(len)));
        }
    }
}

#[inline(never)]
fn filter_loop(input: &[f32], output: &mut [f32]) -> usize {
    let mut count = 0;
    for &x in input {
        if x > 0.0 {
            output[count] = x;
            count += 1;
        }
    }
    count
}

#[inline(never)]
fn expansion_loop(input: &[u8], output: &mut [u8]) -> usize {
    let mut count = 0;
    for &x in input {
        let several = escaped(x);
        for item in &several.items[..several.count as usize] {
            output[count] = *item;
            count += 1;
        }
    }
    count
}

#[inline(never)]
fn total_loop(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |h, (a, b)| a * h + b)
}

#[inline(never)]
fn numbered_loop(input: &[u32], output: &mut [u32]) {
    let mut largest = 0;
    for (i, (x, y)) in input.iter().zip(output).enumerate() {
        largest = u32::max(largest, i as u32 ^ x);
        *y = largest;
    }
}

#[inline(never)]
fn step_loop<Op: ScanOp>(op: &Op, input: &[Op::Input]) -> Option<Op::Output> {
    let start = op.start()?;
    Some(op.project(input.iter().fold(start, |carry, x| op.step(carry, *x))))
}

#[inline(never)]
fn axis_loop(axis: isize, rows: usize, a: &[f32], b: &[f32], h: &mut [f32]) {
    // Columns side by side, and how many rows of them follow each other.
    let (columns, rows) = if axis == 0 { (rows * COLUMNS, BATCH) } else { (COLUMNS, rows) };
    let block = rows * columns;
    let mut before = vec![0.0; columns];
    for ((a, b), h) in a.chunks(block).zip(b.chunks(block)).zip(h.chunks_mut(block)) {
        before.fill(0.0);
        for ((a, b), h) in a.chunks(columns).zip(b.chunks(columns)).zip(h.chunks_mut(columns)) {
            for (((a, b), h), before) in a.iter().zip(b).zip(h).zip(&mut before) {
                *before = a * *before + b;
                *h = *before;
            }
        }
    }
}
