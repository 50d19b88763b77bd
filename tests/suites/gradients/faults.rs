//! Planted faults: each is found, by the differences of the loss and by the check of the laws.

use scan_runtime::{
    ScanOp, Scanner,
    gradient::{AdjointCarry, AdjointMap, Backward, Components, Differentiable, WithParameters},
    laws::{self, GradientFailure},
    scan_op,
};

use super::differences::{Gradients, Problem, largest_error};
use super::operators::{Decay, OfDecay, OfOscillator, components};

/// A rotation that shrinks, c ← J·c + (x, 0), with a gradient that is written by hand: by Jᵀ, or, with the fault, by J.
#[derive(Clone, Copy)]
struct Spiral<const TRANSPOSED: bool>;

const J: [[f64; 2]; 2] = [[0.8, -0.5], [0.5, 0.8]];

macro_rules! spirals {
    ($($transposed:literal $gradient:ident $states:ident $row:expr;)*) => {$(
        #[scan_op]
        impl ScanOp for Spiral<$transposed> {
            type Input = f64;
            type State = [[f64; 3]; 2];
            type Carry = [f64; 2];
            type Output = [f64; 2];
            const IDENTITY: [[f64; 3]; 2] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
            const START: [f64; 2] = [0.0; 2];
            fn lift(x: f64) -> [[f64; 3]; 2] {
                [[J[0][0], J[0][1], x], [J[1][0], J[1][1], 0.0]]
            }
            fn combine(a: [[f64; 3]; 2], b: [[f64; 3]; 2]) -> [[f64; 3]; 2] {
                let mut both = b;
                for i in 0..2_usize {
                    for j in 0..3_usize {
                        both[i][j] = b[i][0] * a[0][j] + b[i][1] * a[1][j];
                    }
                    both[i][2] += b[i][2];
                }
                both
            }
            fn apply(s: [[f64; 3]; 2], c: [f64; 2]) -> [f64; 2] {
                [s[0][0] * c[0] + s[0][1] * c[1] + s[0][2], s[1][0] * c[0] + s[1][1] * c[1] + s[1][2]]
            }
            fn step(c: [f64; 2], x: f64) -> [f64; 2] {
                [J[0][0] * c[0] + J[0][1] * c[1] + x, J[1][0] * c[0] + J[1][1] * c[1]]
            }
        }

        #[derive(Clone, Copy)]
        struct $gradient;

        #[scan_op]
        impl ScanOp for $gradient {
            type Input = Backward<[f64; 2], f64, [f64; 2]>;
            type State = AdjointMap<[f64; 2], 2>;
            type Carry = [f64; 2];
            type Output = f64;
            const IDENTITY: AdjointMap<[f64; 2], 2> =
                AdjointMap { rows: [[1.0, 0.0], [0.0, 1.0]], shift: [0.0, 0.0] };
            const START: [f64; 2] = [0.0; 2];
            fn lift(item: Backward<[f64; 2], f64, [f64; 2]>) -> AdjointMap<[f64; 2], 2> {
                let rows: [[f64; 2]; 2] = $row;
                let g = item.gradient;
                let mut shift = [0.0_f64; 2];
                for i in 0..2_usize {
                    shift[i] = rows[i][0] * g[0] + rows[i][1] * g[1];
                }
                AdjointMap::<[f64; 2], 2> { rows, shift }
            }
            fn combine(f: AdjointMap<[f64; 2], 2>, g: AdjointMap<[f64; 2], 2>) -> AdjointMap<[f64; 2], 2> {
                let mut rows = g.rows;
                let mut shift = g.shift;
                for i in 0..2_usize {
                    for j in 0..2_usize {
                        rows[i][j] = g.rows[i][0] * f.rows[0][j] + g.rows[i][1] * f.rows[1][j];
                    }
                    shift[i] += g.rows[i][0] * f.shift[0] + g.rows[i][1] * f.shift[1];
                }
                AdjointMap::<[f64; 2], 2> { rows, shift }
            }
            fn apply(f: AdjointMap<[f64; 2], 2>, a: [f64; 2]) -> [f64; 2] {
                let mut after = f.shift;
                for i in 0..2_usize {
                    after[i] += f.rows[i][0] * a[0] + f.rows[i][1] * a[1];
                }
                after
            }
            fn step(a: [f64; 2], item: Backward<[f64; 2], f64, [f64; 2]>) -> [f64; 2] {
                let rows: [[f64; 2]; 2] = $row;
                let (x, y) = (a[0] + item.gradient[0], a[1] + item.gradient[1]);
                [rows[0][0] * x + rows[0][1] * y, rows[1][0] * x + rows[1][1] * y]
            }
            fn emit(a: [f64; 2], item: Backward<[f64; 2], f64, [f64; 2]>) -> f64 {
                a[0] + item.gradient[0]
            }
        }

        impl Differentiable for Spiral<$transposed> {
            type Gradient = $gradient;
            type States = Self;
            fn gradient(self) -> $gradient {
                $gradient
            }
            fn states(self) -> Self {
                self
            }
        }
    )*};
}

spirals! {
    false ByColumns States [[J[0][0], J[1][0]], [J[0][1], J[1][1]]];
    true ByRows WrongStates [[J[0][0], J[0][1]], [J[1][0], J[1][1]]];
}

/// A gradient that is written by hand passes, and with the Jacobian in place of its transpose it does not.
#[test]
fn a_transposed_jacobian_is_found() {
    let samples = [0.5, -1.0, 0.25, 2.0];
    laws::check_gradient(&Spiral::<false>, samples).unwrap();
    let failure = laws::check_gradient(&Spiral::<true>, samples).unwrap_err();
    let GradientFailure::Wrong(wrong) = &failure else { panic!("{failure}") };
    assert!(wrong.component.starts_with("the carry["), "{failure}");
    assert!((wrong.found - wrong.expected).abs() > 1e-3, "{failure}");
}

#[test]
fn a_shifted_state_is_found() {
    let problem = Problem::<OfDecay>::new(20, 3);
    let expected = problem.differences();
    let op = Decay { rate: problem.parameters[0], gain: problem.parameters[1] };
    let run = |inputs: &[_]| {
        let backward = Scanner::cpu().backward(op).init(AdjointCarry::of_state(problem.of_last));
        let (dx, total) = backward.with_total().run(inputs).unwrap();
        let total = total.unwrap();
        Gradients { inputs: dx, first: vec![total.state], parameters: total.parameters() }
    };
    let inputs = problem.backward_inputs();
    assert!(largest_error(&run(&inputs), &expected).0 <= 1e-6);
    let mut shifted = inputs.clone();
    for (item, after) in shifted.iter_mut().zip(&inputs[1..]) {
        item.before = after.before;
    }
    assert!(largest_error(&run(&shifted), &expected).0 > 1e-3);
}

#[test]
fn a_missing_sum_of_parameters_is_found() {
    let problem = Problem::<OfOscillator>::new(24, 5);
    let expected = problem.differences();
    let mut found = problem.gradients(&Scanner::cpu());
    assert!(largest_error(&found, &expected).0 <= 1e-6);
    // The steps of the first chunk alone, from the adjoint of the others.
    let op = problem_op(&problem.parameters);
    let inputs = problem.backward_inputs();
    let later = Scanner::cpu().backward(op).init(AdjointCarry::of_state(problem.of_last));
    let later = later.with_total().run(&inputs[12..]).unwrap().1.unwrap();
    let reset: WithParameters<[f64; 2], _> = AdjointCarry::of_state(later.state);
    let first = Scanner::cpu().backward(op).init(reset).with_total().run(&inputs[..12]).unwrap().1.unwrap();
    assert_eq!(components(first.state), found.first);
    found.parameters = components(first.parameters);
    let (error, place) = largest_error(&found, &expected);
    assert!(error > 1e-3 && place.starts_with("parameter"), "{place}");
    // And with both parts.
    let both = Scanner::cpu().backward(op).init(later).with_total().run(&inputs[..12]).unwrap().1.unwrap();
    found.parameters = components(both.parameters);
    assert!(largest_error(&found, &expected).0 <= 1e-6);
    assert_eq!(<[f64; 2]>::COUNT, 2);
}

fn problem_op(parameters: &[f64]) -> scan_runtime::gallery::second_order_recurrence::Oscillator {
    <OfOscillator as super::operators::Case>::op(parameters)
}
