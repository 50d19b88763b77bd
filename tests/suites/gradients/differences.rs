//! The whole backward pass, beside central differences of the loss.

use super::operators::{self, Case, Visitor, components, element};
use scan_runtime::{
    ScanOp, Scanner,
    gradient::{AdjointCarry, Backward, Components, Differentiable},
};
use scan_tests::operators::mixed;

pub(crate) type Input<C> = <<C as Case>::Op as ScanOp>::Input;
pub(crate) type Output<C> = <<C as Case>::Op as ScanOp>::Output;
pub(crate) type Carry<C> = <<C as Case>::Op as ScanOp>::Carry;

/// A loss: the sum of the outputs, each component with a weight, and of the final state.
pub(crate) struct Problem<C: Case> {
    pub(crate) parameters: Vec<f64>,
    pub(crate) first: Carry<C>,
    pub(crate) x: Vec<Input<C>>,
    pub(crate) weights: Vec<Output<C>>,
    pub(crate) of_last: Carry<C>,
}

/// The gradients of a loss.
#[derive(Debug, PartialEq)]
pub(crate) struct Gradients {
    pub(crate) inputs: Vec<f64>,
    pub(crate) first: Vec<f64>,
    pub(crate) parameters: Vec<f64>,
}

pub(crate) fn drawn(seed: u64, low: f64, high: f64) -> f64 {
    low + mixed(seed) as f64 / u64::MAX as f64 * (high - low)
}

impl<C: Case> Problem<C> {
    pub(crate) fn new(len: usize, seed: u64) -> Self {
        let [low, high] = C::range();
        let drawn_input = |index: usize| {
            let numbers = (0..Input::<C>::COUNT).map(|k| drawn(seed + (index * 97 + k) as u64, low, high));
            C::input(&numbers.collect::<Vec<_>>(), index)
        };
        let x: Vec<Input<C>> = (0..len).map(drawn_input).collect();
        let weighted = |index: usize| {
            let numbers = (0..Output::<C>::COUNT).map(|k| drawn(seed + 7_777 + (index * 31 + k) as u64, -1.0, 1.0));
            element(&numbers.collect::<Vec<_>>())
        };
        let op = C::op(&C::parameters());
        let first = op.step(op.step(op.start().unwrap(), drawn_input(len + 1)), drawn_input(len + 2));
        let of_last: Vec<f64> = (0..Carry::<C>::COUNT).map(|k| drawn(seed + 555 + k as u64, -1.0, 1.0)).collect();
        Problem {
            parameters: C::parameters(),
            first,
            x,
            weights: (0..len).map(weighted).collect(),
            of_last: element(&of_last),
        }
    }

    pub(crate) fn loss(&self, parameters: &[f64], first: Carry<C>, x: &[Input<C>]) -> f64 {
        let scan = Scanner::cpu().scan(C::op(parameters)).init(first);
        let (y, last) = scan.with_total().run(x).unwrap();
        y.iter().zip(&self.weights).map(|(y, weight)| y.dot(*weight)).sum::<f64>() + last.unwrap().dot(self.of_last)
    }

    pub(crate) fn backward_inputs(&self) -> Vec<<<C::Op as Differentiable>::Gradient as ScanOp>::Input> {
        let op = C::op(&self.parameters);
        let before = Scanner::cpu().states(op).init(self.first).run(&self.x).unwrap();
        let steps = before.into_iter().zip(&self.x).zip(&self.weights);
        steps.map(|((before, x), gradient)| Backward { before, x: *x, gradient: *gradient }).collect()
    }

    pub(crate) fn gradients(&self, scanner: &Scanner) -> Gradients {
        let op = C::op(&self.parameters);
        let backward = scanner.backward(op).init(AdjointCarry::of_state(self.of_last));
        let (dx, total) = backward.with_total().run(&self.backward_inputs()).unwrap();
        let total = total.unwrap();
        Gradients {
            inputs: dx.into_iter().flat_map(components).collect(),
            first: components(total.state()),
            parameters: total.parameters(),
        }
    }

    /// By central differences.
    pub(crate) fn differences(&self) -> Gradients {
        const STEP: f64 = 1e-5;
        let difference = |loss: &dyn Fn(f64) -> f64| (loss(STEP) - loss(-STEP)) / (2.0 * STEP);
        let places = (0..self.x.len()).flat_map(|at| (0..Input::<C>::COUNT).map(move |k| (at, k)));
        let inputs = places.map(|(at, k)| {
            difference(&|step| {
                let mut x = self.x.clone();
                x[at] = x[at].add_at(k, step);
                self.loss(&self.parameters, self.first, &x)
            })
        });
        let first = (0..Carry::<C>::COUNT)
            .map(|k| difference(&|step| self.loss(&self.parameters, self.first.add_at(k, step), &self.x)));
        let parameters = (0..self.parameters.len()).map(|k| {
            difference(&|step| {
                let mut parameters = self.parameters.clone();
                parameters[k] += step;
                self.loss(&parameters, self.first, &self.x)
            })
        });
        Gradients { inputs: inputs.collect(), first: first.collect(), parameters: parameters.collect() }
    }
}

/// The largest relative error, with its place.
pub(crate) fn largest_error(found: &Gradients, expected: &Gradients) -> (f64, String) {
    let parts = [
        ("input", &found.inputs, &expected.inputs),
        ("initial value", &found.first, &expected.first),
        ("parameter", &found.parameters, &expected.parameters),
    ];
    let mut largest = (0.0, String::new());
    for (part, found, expected) in parts {
        assert_eq!(found.len(), expected.len(), "{part}");
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            let error = (found - expected).abs() / expected.abs().max(1.0);
            if error > largest.0 || error.is_nan() {
                largest = (error, format!("{part} {at}: {found}, where the loss changes by {expected}"));
            }
        }
    }
    largest
}

struct BesideDifferences;

impl Visitor for BesideDifferences {
    fn visit<C: Case>(&mut self) {
        for (len, seed) in [(1, 1), (2, 20_000), (9, 40_000), (40, 60_000)] {
            let problem = Problem::<C>::new(len, seed);
            let (error, place) = largest_error(&problem.gradients(&Scanner::cpu()), &problem.differences());
            assert!(error <= 1e-6, "{}, {len} steps: {place}", C::NAME);
        }
    }
}

/// Of equal scores, where the parts of a state have kinks, and its result has none.
#[test]
fn equal_scores_have_the_gradients_of_the_loss() {
    fn check<C: Case>() {
        let mut problem = Problem::<C>::new(5, 3);
        let first = components(problem.x[0])[0];
        for (at, x) in problem.x.iter_mut().enumerate() {
            *x = x.add_at(0, first - components(*x)[0] + if at == 3 { 0.25 } else { 0.0 });
        }
        // The parts of the final state have no part in the loss.
        problem.of_last = Carry::<C>::ZERO;
        let (error, place) = largest_error(&problem.gradients(&Scanner::cpu()), &problem.differences());
        assert!(error <= 1e-6, "{}: {place}", C::NAME);
    }
    check::<operators::OfLogSumExp>();
    check::<operators::OfAttention>();
}

#[test]
fn gradients_are_those_of_the_loss() {
    operators::visit(&mut BesideDifferences);
}
