//! Calls that the CPU runs while the kernels that they need are compiled.
//!
//! A first compilation takes longer than most calls, and some calls are not repeated. Where the scanner chooses a GPU
//! for a call whose kernels must still be compiled, the CPU runs it at once if the results are the same bits on either
//! side, or the caller [allows](crate::Scan::any_grouping) others, and if the CPU is estimated to take less time than
//! the compiler.

use scan_codegen::OpSource;

use super::{
    HostCall,
    axis::totals_only,
    cost::{Cost, Kernels},
    side::Estimate,
};
use crate::{
    ScanOp,
    call::{Call, Totals},
    cpu,
    cuda::{CudaDevice, Needed},
    erased::Erased,
};

/// The microseconds of a short first compilation (`docs/what-bounds-speed.md#first-calls`).
const COMPILING: f64 = 250_000.0;

/// Whether an operator gives the same bits on the CPU and on a GPU, however elements are grouped: it works with
/// integers alone, or only compares floats and chooses among them.
pub(super) fn gives_same_bits(op: &impl Erased, source: &OpSource) -> bool {
    // What is known of an operator that does not round is not known of its outputs.
    !source.has_floats() || (!op.rounds() && source.outputs_are_carries())
}

impl<Op: ScanOp> HostCall<'_, Op> {
    /// Whether the CPU runs this call of a device while its kernels are compiled. They are from now on, if `compile`
    /// says so.
    pub(super) fn is_for_cpu_meanwhile(&self, device: &CudaDevice, cost: Cost<'_>, compile: bool) -> bool {
        let (Some(estimate), Some(kernels)) = (self.options.estimate, cost.kernels) else { return false };
        let is_short = || self.on_cpu(estimate, cost) < COMPILING;
        let either_side = estimate.same_bits || self.options.any_grouping;
        let may_be_here = cost.elements > 0 && either_side && !device.stores.no_compiler;
        let is_here =
            may_be_here && is_short() && Needed::are_missing(device, &self.needing(kernels), cost.elements, compile);
        if is_here && compile {
            let (operator, len) = (std::any::type_name::<Op>(), cost.elements);
            tracing::debug!(operator, len, "the CPU runs this call while its kernels are compiled");
        }
        is_here
    }

    /// The call as the device is asked for it.
    fn needing(&self, Kernels { totals, layouts }: Kernels) -> Call<'_> {
        match (self.options.reduction, self.along.known()) {
            (Some(_), Some(_)) => self.scan_call(Totals::PerSegment, totals_only(layouts)),
            _ => self.call(totals).over(layouts),
        }
    }

    /// The microseconds that the CPU is estimated to take.
    pub(super) fn on_cpu(&self, estimate: Estimate, cost: Cost<'_>) -> f64 {
        let passes = if self.options.reduction.is_some() { 1.0 } else { 2.0 };
        estimate.on_cpu(cost.elements, passes, cpu::threads())
    }
}

#[cfg(test)]
mod tests {
    use super::gives_same_bits;
    use crate::{ScanOp, ops, scan_op};

    #[derive(Clone, Copy)]
    struct Later;

    #[scan_op]
    impl ScanOp for Later {
        type Element = f32;
        fn combine(a: f32, b: f32) -> f32 {
            if b > a { b } else { a }
        }
    }

    /// Its outputs are rounded.
    #[derive(Clone, Copy)]
    struct Exponentials;

    #[scan_op]
    impl ScanOp for Exponentials {
        type Input = f32;
        type State = f32;
        type Output = f32;
        fn lift(x: f32) -> f32 {
            x
        }
        fn combine(a: f32, b: f32) -> f32 {
            if b > a { b } else { a }
        }
        fn project(x: f32) -> f32 {
            x.exp()
        }
    }

    /// A float within.
    #[derive(Clone, Copy)]
    struct Whole;

    #[scan_op]
    impl ScanOp for Whole {
        type Input = u32;
        type State = u32;
        type Output = u32;
        fn lift(x: u32) -> u32 {
            (x as f64).exp() as u32
        }
        fn combine(a: u32, b: u32) -> u32 {
            a.wrapping_add(b)
        }
        fn project(x: u32) -> u32 {
            x
        }
    }

    #[test]
    fn operators_that_round_floats_depend_on_the_side() {
        fn same<Op: ScanOp>(op: Op) -> bool {
            gives_same_bits(&op, &ScanOp::source(&op))
        }
        assert!(same(ops::sum::<u64>()) && same(ops::max::<i8>()) && same(ops::min::<f32>()) && same(Later));
        assert!(!same(ops::sum::<f64>()) && !same(Exponentials) && !same(Whole));
    }
}
