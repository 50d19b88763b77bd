//! Gradients of instances of generic operators, compared with those of operators of one type.

use std::marker::PhantomData;

use scan_codegen::{Overrides, ScanSpec};
use scan_runtime::{
    ScanOp, Scanner,
    gradient::{Backward, Differentiable},
    half::bf16,
    laws::Check,
    ops::{Number, Wider},
    scan_element, scan_op,
};
use scan_tests::{
    emulated::{Emulator, Program},
    operators::mixed,
};

use super::differences::drawn;

#[scan_element(gradient(Affine<f32>, Affine<f64>))]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine<T> {
    a: T,
    b: T,
}

/// h ← decay·h + x, with the output h².
#[derive(Clone, Copy)]
struct Decay<T> {
    decay: T,
}

#[scan_op(gradient(decay: T, Decay<f32>, Decay<f64>))]
impl<T: Number> ScanOp for Decay<T> {
    type Input = T;
    type State = Affine<T>;
    type Carry = T;
    type Output = T;
    const IDENTITY: Affine<T> = Affine { a: T::ONE, b: T::ZERO };
    const START: T = T::ZERO;
    fn lift(&self, x: T) -> Affine<T> {
        Affine { a: self.decay, b: x }
    }
    fn combine(f: Affine<T>, g: Affine<T>) -> Affine<T> {
        let Affine { a, b } = g;
        Affine { a: f.a.wrapping_mul(a), b: a.wrapping_mul(f.b).wrapping_add(b) }
    }
    fn apply(f: Affine<T>, h: T) -> T {
        f.a.wrapping_mul(h).wrapping_add(f.b)
    }
    fn step(&self, h: T, x: T) -> T {
        self.decay.wrapping_mul(h).wrapping_add(x)
    }
    fn project(h: T) -> T {
        T::ONE.wrapping_mul(h).wrapping_mul(h)
    }
}

/// The same of `f64` alone.
#[derive(Clone, Copy)]
struct Plain {
    decay: f64,
}

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct PlainAffine {
    a: f64,
    b: f64,
}

#[scan_op(gradient(decay: f64))]
impl ScanOp for Plain {
    type Input = f64;
    type State = PlainAffine;
    type Carry = f64;
    type Output = f64;
    const IDENTITY: PlainAffine = PlainAffine { a: 1.0, b: 0.0 };
    const START: f64 = 0.0;
    fn lift(&self, x: f64) -> PlainAffine {
        PlainAffine { a: self.decay, b: x }
    }
    fn combine(f: PlainAffine, g: PlainAffine) -> PlainAffine {
        PlainAffine { a: f.a * g.a, b: g.a * f.b + g.b }
    }
    fn apply(f: PlainAffine, h: f64) -> f64 {
        f.a * h + f.b
    }
    fn step(&self, h: f64, x: f64) -> f64 {
        self.decay * h + x
    }
    fn project(h: f64) -> f64 {
        h * h
    }
}

/// The gradients of the inputs, of the initial value and of `decay`.
macro_rules! backward {
    ($op:expr, $x:expr, $weights:expr) => {{
        let scanner = Scanner::cpu();
        let before = scanner.states($op).run($x).unwrap();
        let (dx, total) = scanner.backward($op).with_total().run((&before, $x, $weights)).unwrap();
        let total = total.unwrap();
        (dx, total.state, total.parameters.decay)
    }};
}

#[test]
fn an_instance_has_the_gradient_of_its_type() {
    let numbers = |seed: u64| (0..200).map(|at| drawn(seed + at, -1.0, 1.0)).collect::<Vec<f64>>();
    let (x, weights) = (numbers(1), numbers(900));
    let expected = backward!(Plain { decay: 0.75 }, &x, &weights);
    assert_eq!(backward!(Decay { decay: 0.75_f64 }, &x, &weights), expected);
    let narrow = |numbers: &[f64]| numbers.iter().map(|&number| number as f32).collect::<Vec<_>>();
    let (dx, of_first, of_decay) = backward!(Decay { decay: 0.75_f32 }, &narrow(&x), &narrow(&weights));
    let near = |a: f32, b: f64| assert!((f64::from(a) - b).abs() <= 1e-4 * b.abs().max(1.0), "{a}, {b}");
    dx.into_iter().zip(expected.0).for_each(|(a, b)| near(a, b));
    near(of_first, expected.1);
    near(of_decay, expected.2);
}

/// Channels that do not depend on each other, of narrow inputs.
#[derive(Clone, Copy)]
struct Channels<W, N, const COUNT: usize>(PhantomData<(W, N)>);

#[scan_op(gradient(diagonal, Channels<f32, bf16, 3>, Channels<f64, f32, 2>))]
impl<W: Wider<N>, N: Number, const COUNT: usize> ScanOp for Channels<W, N, COUNT> {
    type Input = [N; COUNT];
    type State = [W; COUNT];
    const IDENTITY: [W; COUNT] = [W::ONE; COUNT];
    fn lift(x: [N; COUNT]) -> [W; COUNT] {
        let mut wide = [W::ZERO; COUNT];
        for i in 0..COUNT {
            wide[i] = W::from(x[i]);
        }
        wide
    }
    fn combine(a: [W; COUNT], b: [W; COUNT]) -> [W; COUNT] {
        let mut products = b;
        for i in 0..COUNT {
            let last = COUNT - 1;
            products[last - i] = a[last - i].wrapping_mul(b[last - i]);
        }
        products
    }
}

#[test]
fn instances_have_types_and_lengths_of_their_own() {
    let x = [[2.0, 3.0, 1.0], [1.0, -1.0, 4.0], [0.5, 2.0, 2.0]].map(|row: [f32; 3]| row.map(bf16::from_f32));
    let scanner = Scanner::cpu();
    let op = Channels::<f32, bf16, 3>(PhantomData);
    let before = scanner.states(op).run(&x).unwrap();
    let dx = scanner.backward(op).run((&before, &x, &[[0.0; 3], [0.0; 3], [1.0; 3]])).unwrap();
    let expected = [[0.5, -2.0, 8.0], [1.0, 6.0, 2.0], [2.0, -3.0, 4.0]].map(|row: [f32; 3]| row.map(bf16::from_f32));
    assert_eq!(dx, expected);
    let samples = [[0.5, 1.25], [1.5, -0.75], [-1.0, 0.5_f32]];
    Check::new().gradient(&Channels::<f64, f32, 2>(PhantomData), samples).unwrap();
}

#[test]
fn the_kernel_of_an_instance_gives_the_gradients_of_the_cpu() {
    let whole = |at: u64| (mixed(at) % 5) as f32 - 2.0;
    let op = Decay { decay: -1.0_f32 };
    let x: Vec<f32> = (0..150).map(whole).collect();
    let before = Scanner::cpu().states(op).run(&x).unwrap();
    let steps = before.into_iter().zip(x).zip(1_000..);
    let steps: Vec<_> = steps.map(|((before, x), at)| Backward { before, x, gradient: whole(at) }).collect();
    let expected = Scanner::cpu().backward(op).run(&steps).unwrap();
    let overrides = Overrides::default().threads(32);
    let program = Program::of(op.gradient(), &ScanSpec::inclusive().reverse(), None, &overrides).unwrap();
    assert_eq!(program.run(&Emulator::new(mixed(7)), &steps).unwrap().output, expected);
}
