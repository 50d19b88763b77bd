//! Random operators with derived gradients, beside finite differences.

use scan_runtime::{
    ScanOp,
    gradient::{AdjointCarry, Backward, Differentiable},
    laws::Check,
};

use super::differences::drawn;

/// An operator that was drawn.
pub(crate) trait Drawn:
    Differentiable<Gradient: ScanOp<Input = Backward<f64, [f64; 2], f64>, Carry: AdjointCarry<f64>>>
    + ScanOp<Input = [f64; 2], Carry = f64, Output = f64>
{
    fn with(p: f64) -> Self;
}

#[derive(Default)]
pub(crate) struct Visitor {
    failures: Vec<String>,
    operators: usize,
    compared: usize,
    kinks: usize,
}

impl Visitor {
    pub(crate) fn visit<Op: Drawn>(&mut self, index: u64) {
        let samples: Vec<[f64; 2]> = (0..20)
            .map(|at| [drawn(index * 1_000 + 2 * at, -1.5, 1.5), drawn(index * 1_000 + 2 * at + 1, -1.5, 1.5)])
            .collect();
        self.operators += 1;
        match Check::new().cases(300).tolerance(1e-6).gradient_of(|p| Op::with(p[0]), &[0.75], &samples) {
            Ok(report) => {
                self.compared += report.compared;
                self.kinks += report.kinks;
            }
            Err(failure) => self.failures.push(format!("Drawn{index}: {failure}")),
        }
    }
}

#[test]
fn random_operators_have_the_gradients_of_differences() {
    let mut visitor = Visitor::default();
    super::drawn::visit(&mut visitor);
    #[cfg(feature = "long")]
    super::drawn_long::visit(&mut visitor);
    assert!(visitor.failures.is_empty(), "{} failures:\n{}", visitor.failures.len(), visitor.failures.join("\n"));
    assert!(
        visitor.compared > visitor.operators * 100 && visitor.kinks < visitor.compared / 50,
        "{}, {}",
        visitor.compared,
        visitor.kinks
    );
}
