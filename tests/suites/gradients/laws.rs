//! The check of gradients, of every operator here and of the gallery's; and the test that `laws` writes.

use scan_runtime::{
    ScanOp,
    gallery::{
        complex_product::Phase, linear_recurrence::Smoothing, log_sum_exp::LogSumExp, online_softmax::Attention,
        quaternions::Attitude, welford::Moments,
    },
    gradient::{AdjointCarry, Backward, Differentiable},
    laws::{self, Check, GradientFailure},
    scan_op,
};
use scan_tests::gallery::Example;

use super::differences::Problem;
use super::operators::{self, Case, Visitor};

struct Checked;

impl Visitor for Checked {
    fn visit<C: Case>(&mut self) {
        let samples = Problem::<C>::new(40, 11).x;
        // Maps are composed in another order than steps: by a few more digits than a step rounds.
        let check = Check::new().tolerance(1e-6);
        let report = check.gradient_of(C::op, &C::parameters(), samples);
        let report = report.unwrap_or_else(|failure| panic!("{}: {failure}", C::NAME));
        assert!(report.compared > 100, "{}: {report}", C::NAME);
        assert!(report.kinks < report.compared / 4, "{}: {report}", C::NAME);
    }
}

#[test]
fn gradients_pass_the_check() {
    operators::visit(&mut Checked);
}

fn of_gallery<Op>(make: impl Fn(&[f64]) -> Op, parameters: &[f64])
where
    Op: Example + Differentiable,
    Op::Gradient: ScanOp<Input = Backward<Op::Carry, Op::Input, Op::Output>, Carry: AdjointCarry<Op::Carry>>,
{
    let report = Check::new().tolerance(2e-2).gradient_of(make, parameters, Op::input(40));
    let report = report.unwrap_or_else(|failure| panic!("{}: {failure}", std::any::type_name::<Op>()));
    assert!(report.compared > 100, "{report}");
}

#[test]
fn gradients_of_the_gallery_pass_the_check() {
    of_gallery(|p| Smoothing { alpha: p[0] as f32 }, &[0.25]);
    of_gallery(|_| Phase, &[]);
    of_gallery(|_| Attitude, &[]);
    of_gallery(|_| LogSumExp, &[]);
    of_gallery(|_| Attention, &[]);
    of_gallery(|_| Moments, &[]);
}

/// `laws` and `gradient` together write both tests, which run here.
#[scan_op(identity = 1.0, name = Tested, laws = [0.5, 1.25, -2.0], gradient)]
fn tested(a: f64, b: f64) -> f64 {
    a * b
}

#[scan_op(identity = 0.0, name = TestedByDefault, laws, gradient)]
fn tested_by_default(a: f64, b: f64) -> f64 {
    a + b
}

#[test]
fn nothing_to_compare_is_an_error() {
    assert_eq!(laws::check_gradient(&Tested, []).unwrap_err(), GradientFailure::NothingCompared);
    let infinite = laws::check_gradient(&Tested, [f64::INFINITY]).unwrap_err();
    assert_eq!(infinite, GradientFailure::NothingCompared);
}
