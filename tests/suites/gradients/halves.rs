//! Derived gradients of operators over `f16` and `bf16`, compared with those of the same operators over wider floats.

use num_traits::Float;
use scan_codegen::{Overrides, ScanSpec};
use scan_runtime::{
    Architecture, ScanOp, Scanner,
    gradient::{AdjointCarry, Backward, Components, Differentiable},
    half::{bf16, f16},
    laws::{self, GradientFailure},
    nvrtc, ops, scan_element, scan_fn, scan_op,
};
use scan_tests::{
    emulated::{Emulator, Program},
    operators::mixed,
};

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine {
    a: f32,
    b: f32,
}

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    a: bf16,
    x: bf16,
}

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct WideStep {
    a: f32,
    x: f32,
}

macro_rules! layers {
    ($($name:ident: $step:ty, $number:ty, |$x:ident| $widened:expr, |$h:ident| $rounded:expr;)*) => {$(
        /// h ← a·h + x, with the output h·x.
        #[derive(Clone, Copy)]
        struct $name;

        #[scan_op(gradient)]
        impl ScanOp for $name {
            type Input = $step;
            type State = Affine;
            type Carry = f32;
            type Output = $number;
            const IDENTITY: Affine = Affine { a: 1.0, b: 0.0 };
            const START: f32 = 0.0;
            fn lift(step: $step) -> Affine {
                let $x = step.a;
                let a: f32 = $widened;
                let $x = step.x;
                Affine { a, b: $widened }
            }
            fn combine(f: Affine, g: Affine) -> Affine {
                Affine { a: f.a * g.a, b: g.a * f.b + g.b }
            }
            fn apply(f: Affine, h: f32) -> f32 {
                f.a * h + f.b
            }
            fn step(h: f32, step: $step) -> f32 {
                let $x = step.a;
                let a: f32 = $widened;
                let $x = step.x;
                a * h + $widened
            }
            fn emit(h: f32, step: $step) -> $number {
                let $x = step.x;
                let x: f32 = $widened;
                let $h = h * x;
                $rounded
            }
        }
    )*};
}

layers! {
    Layer: Step, bf16, |x| f32::from(x), |h| bf16::from_f32(h);
    WideLayer: WideStep, f32, |x| x, |h| h;
}

/// The gradients of inputs, of the initial value, and of the parameters.
fn backward<Op, C, X, Y>(op: Op, of_last: C, x: &[X], weights: &[Y]) -> (Vec<X>, C, Vec<f64>)
where
    C: Components,
    X: Components,
    Y: Components,
    Op: Differentiable<Input = X, Carry = C, Output = Y> + Copy,
    Op::Gradient: ScanOp<Input = Backward<C, X, Y>, Carry: AdjointCarry<C>>,
{
    let scanner = Scanner::cpu();
    let before = scanner.states(op).run(x).unwrap();
    let steps: Vec<_> = before.into_iter().zip(x).zip(weights).map(item).collect();
    let backward = scanner.backward(op).init(AdjointCarry::of_state(of_last));
    let (dx, total) = backward.with_total().run(&steps).unwrap();
    let total = total.unwrap();
    (dx, total.state(), total.parameters())
}

fn item<C, X: Copy, Y: Copy>(((before, &x), &gradient): ((C, &X), &Y)) -> Backward<C, X, Y> {
    Backward { before, x, gradient }
}

fn half(seed: u64) -> bf16 {
    bf16::from_f32((mixed(seed) % 2_000) as f32 / 1_000.0 - 1.0)
}

fn halves(seed: u64, len: usize) -> Vec<bf16> {
    (0..len as u64).map(|at| half(seed + at)).collect()
}

/// The adjoint has the type of the carry, and each gradient is rounded once, at its end: bit by bit.
#[test]
fn gradients_of_bf16_are_those_of_f32_rounded() {
    let steps: Vec<Step> = (0..200).map(|at| Step { a: half(at), x: half(5_000 + at) }).collect();
    let wide: Vec<_> = steps.iter().map(|step| WideStep { a: step.a.to_f32(), x: step.x.to_f32() }).collect();
    let weights = halves(9_000, 200);
    let wide_weights: Vec<f32> = weights.iter().map(|weight| weight.to_f32()).collect();
    let (found, of_first, _) = backward(Layer, 0.3, &steps, &weights);
    let (expected, of_first_wide, _) = backward(WideLayer, 0.3, &wide, &wide_weights);
    assert_eq!(of_first, of_first_wide);
    let rounded = |step: WideStep| Step { a: bf16::from_f32(step.a), x: bf16::from_f32(step.x) };
    assert_eq!(found, expected.iter().copied().map(rounded).collect::<Vec<_>>());
    // The values tell whether they were rounded before.
    assert!(expected.iter().any(|step| bf16::from_f32(step.a).to_f32() != step.a));
}

/// The derived gradient of a recurrence is the one written by hand.
#[derive(Clone, Copy)]
struct Recurrence;

#[scan_op(gradient)]
impl ScanOp for Recurrence {
    type Input = Step;
    type State = Affine;
    type Carry = f32;
    type Output = bf16;
    const IDENTITY: Affine = Affine { a: 1.0, b: 0.0 };
    const START: f32 = 0.0;
    fn lift(step: Step) -> Affine {
        let Step { a, x } = step;
        Affine { a: a.to_f32(), b: x.to_f32() }
    }
    fn combine(f: Affine, g: Affine) -> Affine {
        Affine { a: f.a * g.a, b: g.a * f.b + g.b }
    }
    fn apply(f: Affine, h: f32) -> f32 {
        f.a * h + f.b
    }
    fn step(h: f32, step: Step) -> f32 {
        let Step { a, x } = step;
        a.to_f32() * h + x.to_f32()
    }
    fn project(h: f32) -> bf16 {
        bf16::from_f32(h)
    }
}

#[test]
fn the_gradient_of_a_recurrence_is_the_one_written_by_hand() {
    let (a, x, g) = (halves(1, 300), halves(1_000, 300), halves(2_000, 300));
    let scanner = Scanner::cpu();
    let recurrence = ops::recurrence_in::<f32, bf16>();
    let steps: Vec<Step> = a.iter().zip(&x).map(|(&a, &x)| Step { a, x }).collect();
    let before = scanner.states(Recurrence).run(&steps).unwrap();
    let items: Vec<_> = before.iter().copied().zip(&steps).zip(&g).map(item).collect();
    let (derived, of_first) = scanner.backward(Recurrence).with_total().run(&items).unwrap();
    // It reads the states where they are rounded.
    let rounded: Vec<bf16> = before.iter().map(|&h| bf16::from_f32(h)).collect();
    let (mut da, mut dx) = (vec![bf16::ZERO; 300], vec![bf16::ZERO; 300]);
    let by_hand = scanner.scan(recurrence.gradient()).reverse();
    let total = by_hand.with_total().run_into((&a, &rounded, &g), (&mut da, &mut dx)).unwrap();
    // One of them adds before it multiplies. The gradient of a gate has the state as a factor, which is rounded here.
    let near = |a: f32, b: f32, tolerance: f32| assert!((a - b).abs() <= tolerance * b.abs().max(0.01), "{a}, {b}");
    near(of_first.unwrap(), total.unwrap(), 1e-5);
    for (derived, (da, dx)) in derived.iter().zip(da.iter().zip(&dx)) {
        near(derived.a.to_f32(), da.to_f32(), 0.01);
        near(derived.x.to_f32(), dx.to_f32(), 0.005);
    }
}

/// The adjoint of a sum counts the outputs: in `bf16`, 256 + 1 is 256.
#[test]
fn adjoints_are_not_rounded_to_16_bits() {
    let steps = vec![Step { a: bf16::ONE, x: bf16::ONE }; 4_096];
    let (dx, of_first, _) = backward(Recurrence, 0.0, &steps, &vec![bf16::ONE; 4_096]);
    assert_eq!((dx[0].x, of_first), (bf16::from_f32(4_096.0), 4_096.0));
}

/// An output of 16 bits of inputs and a state that are wider: no derivative on the way is rounded to 16 bits.
#[derive(Clone, Copy)]
struct Scaled;

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair(bf16, [f16; 2]);

const SCALE: f32 = 1.000_976_6;

#[scan_op(gradient)]
impl ScanOp for Scaled {
    type Element = f32;
    type Output = Pair;
    const IDENTITY: f32 = 0.0;
    fn combine(a: f32, b: f32) -> f32 {
        a + b
    }
    fn project(sum: f32) -> Pair {
        let scaled = sum * SCALE;
        Pair(bf16::from_f32(scaled), [f16::from_f32(3.0 * scaled), f16::ONE])
    }
}

#[test]
fn derivatives_of_outputs_are_not_rounded_to_16_bits() {
    let weights = [Pair(bf16::ONE, [f16::ZERO; 2]), Pair(bf16::ZERO, [f16::ONE; 2])];
    let (dx, _, _) = backward(Scaled, 0.0, &[0.5, 0.25], &weights);
    assert_ne!(bf16::from_f32(SCALE).to_f32(), SCALE);
    assert_eq!(dx, [SCALE + 3.0 * SCALE, 3.0 * SCALE]);
}

/// Arithmetic of 16 bits, of whole numbers that they have: the gradient is that of `f32`.
macro_rules! arithmetic {
    ($($name:ident $helper:ident $pair:ident: $number:ident, |$x:ident| $round:expr, |$y:ident| $widen:expr;)*) => {$(
        #[scan_element(gradient)]
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct $pair {
            kind: u8,
            x: [$number; 2],
        }

        #[scan_fn(gradient)]
        fn $helper(a: $number, b: $number) -> $number {
            let mut product = a * b;
            product += a;
            product *= b;
            product
        }

        #[derive(Clone, Copy)]
        struct $name {
            scale: $number,
            shift: [$number; 2],
            constant: $number,
        }

        #[scan_op(gradient(scale: $number, shift: [$number; 2]))]
        impl ScanOp for $name {
            type Input = $pair;
            type State = f32;
            type Output = $pair;
            const IDENTITY: f32 = 0.0;
            fn lift(&self, item: $pair) -> f32 {
                let (a, b) = (item.x[0], item.x[1]);
                let mut sum: $number = match item.kind % 4 {
                    0 => a * b - b * self.constant,
                    1 => a.max(b) * self.scale + a.abs(),
                    2 => $helper(a, b),
                    _ => {
                        let ratio = (a + a) / { let $x = 2.0_f32; let two: $number = $round; two };
                        ratio * ratio - self.shift[0]
                    }
                };
                if a > b {
                    sum -= b.clamp(a, a) + self.shift[1] * b;
                }
                let $y = sum;
                $widen
            }
            fn combine(a: f32, b: f32) -> f32 {
                a + b
            }
            fn project(&self, sum: f32) -> $pair {
                let $x = sum;
                let number: $number = $round;
                let pair = $pair { kind: 3, x: [number, -number] };
                $pair { kind: 7, ..pair }
            }
        }
    )*};
}

arithmetic! {
    InBf16 polynomial_bf16 PairBf16: bf16, |x| bf16::from_f32(x), |y| y.to_f32();
    InF16 polynomial_f16 PairF16: f16, |x| f16::from_f32(x), |y| f32::from(y);
    InF32 polynomial_f32 PairF32: f32, |x| x, |y| y;
}

/// Whole numbers of few bits.
fn whole(seed: u64) -> f32 {
    (mixed(seed) % 4) as f32 - 1.0
}

macro_rules! of_whole_numbers {
    ($name:ident $pair:ident $number:ident, |$x:ident| $round:expr, |$y:ident| $widen:expr) => {{
        let round = |$x: f32| -> $number { $round };
        let widen = |$y: $number| -> f32 { $widen };
        let pair = |at: u64| $pair { kind: at as u8, x: [round(whole(2 * at)), round(whole(2 * at + 1))] };
        let items: Vec<$pair> = (0..60).map(pair).collect();
        let weights: Vec<$pair> = (100..160).map(pair).collect();
        let op = $name { scale: round(2.0), shift: [round(3.0), round(-1.0)], constant: round(0.5) };
        let (dx, of_first, parameters) = backward(op, 1.0, &items, &weights);
        let dx: Vec<(u8, [f32; 2])> = dx.into_iter().map(|pair| (pair.kind, pair.x.map(widen))).collect();
        (dx, of_first, parameters)
    }};
}

#[test]
fn arithmetic_of_16_bits_has_the_gradient_of_wider_arithmetic() {
    let wide = of_whole_numbers!(InF32 PairF32 f32, |x| x, |y| y);
    assert!(wide.0.iter().all(|(kind, _)| *kind == 0));
    assert!(wide.2.iter().all(|number| *number != 0.0), "{:?}", wide.2);
    // `f16` has all of these numbers.
    assert_eq!(of_whole_numbers!(InF16 PairF16 f16, |x| f16::from_f32(x), |y| y.to_f32()), wide);
    let rounded: Vec<_> = wide.0.iter().map(|(kind, x)| (*kind, x.map(|x| bf16::from_f32(x).to_f32()))).collect();
    let narrow = of_whole_numbers!(InBf16 PairBf16 bf16, |x| bf16::from_f32(x), |y| y.to_f32());
    assert_eq!(narrow, (rounded, wide.1, wide.2));
}

/// Functions of 16 bits, in a state of `f64`: their derivatives are computed in `f32`.
#[derive(Clone, Copy)]
struct Functions;

#[scan_op(gradient)]
impl ScanOp for Functions {
    type Input = f16;
    type State = f64;
    type Output = f16;
    const IDENTITY: f64 = 0.0;
    fn lift(x: f16) -> f64 {
        let curves = x.exp() * x.sin() + x.tanh() - x.sqrt();
        curves.to_f64() + f64::from(x.mul_add(x, x.recip())) + (x % f16::from_f32(0.75)).to_f64()
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(sum: f64) -> f16 {
        f16::from_f32(sum as f32)
    }
}

#[test]
fn functions_of_16_bits_have_their_derivatives() {
    let x: Vec<f16> = (0..40).map(|at| f16::from_f32(0.55 + 0.005 * at as f32)).collect();
    let (dx, _, _) = backward(Functions, 1.0, &x, &[f16::ZERO; 40]);
    for (x, dx) in x.iter().zip(dx) {
        let x = x.to_f64();
        let slope =
            x.exp() * (x.sin() + x.cos()) + 1.0 - x.tanh().powi(2) - 0.5 / x.sqrt() + 2.0 * x - 1.0 / (x * x) + 1.0;
        assert!((dx.to_f64() - slope).abs() <= 4e-3 * slope.abs().max(1.0), "{x}: {dx}, where the slope is {slope}");
    }
}

#[test]
fn gradients_of_16_bits_pass_the_check() {
    let steps: Vec<Step> = (0..40).map(|at| Step { a: half(at), x: half(5_000 + at) }).collect();
    let check = |report: Result<laws::GradientReport, GradientFailure>| {
        let report = report.unwrap_or_else(|failure| panic!("{failure}"));
        assert!(report.compared > 100 && report.kinks < report.compared / 4, "{report}");
    };
    check(laws::check_gradient(&Layer, &steps));
    check(laws::check_gradient(&Recurrence, &steps));
    check(laws::check_gradient(&Scaled, [0.5, 1.25, -0.75]));
    let x: Vec<f16> = (0..40).map(|at| f16::from_f32(0.5 + 0.01 * at as f32)).collect();
    check(laws::check_gradient(&Functions, x));
}

/// A layer whose gradient is that of another: of h·x in place of h.
#[derive(Clone, Copy)]
struct Mistaken;

#[scan_op]
impl ScanOp for Mistaken {
    type Input = Step;
    type State = Affine;
    type Carry = f32;
    type Output = bf16;
    const IDENTITY: Affine = Affine { a: 1.0, b: 0.0 };
    const START: f32 = 0.0;
    fn lift(step: Step) -> Affine {
        Affine { a: step.a.to_f32(), b: step.x.to_f32() }
    }
    fn combine(f: Affine, g: Affine) -> Affine {
        Affine { a: f.a * g.a, b: g.a * f.b + g.b }
    }
    fn apply(f: Affine, h: f32) -> f32 {
        f.a * h + f.b
    }
    fn step(h: f32, step: Step) -> f32 {
        step.a.to_f32() * h + step.x.to_f32()
    }
    fn emit(h: f32, _step: Step) -> bf16 {
        bf16::from_f32(h)
    }
}

impl Differentiable for Mistaken {
    type Gradient = <Layer as Differentiable>::Gradient;
    type States = <Layer as Differentiable>::States;
    fn gradient(self) -> Self::Gradient {
        Layer.gradient()
    }
    fn states(self) -> Self::States {
        Layer.states()
    }
}

#[test]
fn a_wrong_gradient_of_16_bits_is_found() {
    let steps: Vec<Step> = (0..40).map(|at| Step { a: half(at), x: half(5_000 + at) }).collect();
    let failure = laws::check_gradient(&Mistaken, &steps).unwrap_err();
    assert!(matches!(failure, GradientFailure::Wrong(_)), "{failure}");
}

/// Executes the kernel of the backward pass in the emulator, on numbers whose sums are exact in any grouping.
fn in_the_emulator<Op, C, X, Y>(op: Op, x: &[X], weights: &[Y])
where
    C: Components + PartialEq,
    X: Components + PartialEq + std::fmt::Debug,
    Y: Components,
    Op: Differentiable<Input = X, Carry = C, Output = Y> + Copy,
    Op::Gradient: ScanOp<Input = Backward<C, X, Y>, Output = X, Carry: AdjointCarry<C>>,
{
    let before = Scanner::cpu().states(op).run(x).unwrap();
    let steps: Vec<_> = before.into_iter().zip(x).zip(weights).map(item).collect();
    let expected = Scanner::cpu().backward(op).run(&steps).unwrap();
    let overrides = Overrides::default().threads(32);
    let spec = ScanSpec::inclusive().reverse();
    let program = Program::of(op.gradient(), &spec, None, &overrides).unwrap();
    let run = program.run(&Emulator::new(mixed(7)), &steps).unwrap();
    assert_eq!(run.output, expected);
}

#[test]
fn kernels_give_the_gradients_of_the_cpu() {
    let pair =
        |at: u64| PairBf16 { kind: at as u8, x: [bf16::from_f32(whole(2 * at)), bf16::from_f32(whole(2 * at + 1))] };
    let (items, weights): (Vec<_>, Vec<_>) = ((0..150).map(pair).collect(), (500..650).map(pair).collect());
    let round = bf16::from_f32;
    let op = InBf16 { scale: round(2.0), shift: [round(3.0), round(-1.0)], constant: round(0.5) };
    in_the_emulator(op, &items, &weights);
    let steps: Vec<Step> = (0..150).map(|at| Step { a: round(-1.0), x: round(whole(at)) }).collect();
    let weights: Vec<bf16> = (0..150).map(|at| round(whole(7_000 + at))).collect();
    in_the_emulator(Layer, &steps, &weights);
    in_the_emulator(Recurrence, &steps, &weights);
    let weights: Vec<Pair> = weights.iter().map(|&at| Pair(at, [f16::from_f32(at.to_f32()), f16::ZERO])).collect();
    let sums: Vec<f32> = (0..150).map(whole).collect();
    // The scale is 1 + 2⁻¹⁰.
    in_the_emulator(Scaled, &sums, &weights);
}

/// For GPUs that round to bf16 by an instruction, and for those before.
#[test]
fn kernels_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let scanner = Scanner::cpu_for(scan_runtime::DeviceLimits::BASELINE);
    let (b, h) = (bf16::ONE, f16::ONE);
    let sources = [
        scanner.backward(Layer).cuda_source(),
        scanner.backward(Scaled).cuda_source(),
        scanner.backward(Functions).cuda_source(),
        scanner.backward(InBf16 { scale: b, shift: [b; 2], constant: b }).cuda_source(),
        scanner.backward(InF16 { scale: h, shift: [h; 2], constant: h }).cuda_source(),
    ];
    for source in sources {
        let source = source.unwrap();
        for architecture in [Architecture { major: 7, minor: 5 }, Architecture { major: 9, minor: 0 }] {
            let compiled = nvrtc::compile(&source, "gradients_of_halves", architecture).unwrap();
            assert_eq!(compiled.log, "", "{architecture}");
        }
    }
}
