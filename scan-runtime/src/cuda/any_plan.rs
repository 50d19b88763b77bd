//! The plan of a task.

use std::fmt;

use scan_codegen::{KernelSource, LastResultsPlan, OpSource, Plan, ReductionPlan, Schedule};

use crate::{Error, generate};

/// The plan of a task, for a range of lengths.
#[derive(Clone, Debug)]
pub(crate) enum AnyPlan {
    Scan(Box<Plan>),
    Reduction(ReductionPlan),
    LastResults(LastResultsPlan),
}

impl AnyPlan {
    pub(super) fn render(&self, operator: &OpSource) -> Result<KernelSource, Error> {
        Ok(match self {
            AnyPlan::Scan(plan) => generate::render(operator, plan)?,
            AnyPlan::Reduction(plan) => generate::render_reduction(operator, plan)?,
            AnyPlan::LastResults(plan) => generate::render_last_results(operator, plan)?,
        })
    }

    pub(super) fn kernels(&self) -> &'static [&'static str] {
        match self {
            AnyPlan::Scan(plan) => plan.kernels(),
            AnyPlan::Reduction(plan) => plan.kernels(),
            AnyPlan::LastResults(plan) => plan.kernels(),
        }
    }

    pub(super) fn dynamic_shared_bytes(&self, kernel: &str) -> u32 {
        match self {
            AnyPlan::Scan(plan) => plan.dynamic_shared_bytes(kernel),
            AnyPlan::Reduction(_) | AnyPlan::LastResults(_) => 0,
        }
    }

    pub(super) fn schedule(&self, len: u64) -> Result<Schedule, Error> {
        Ok(match self {
            AnyPlan::Scan(plan) => plan.schedule(len)?,
            AnyPlan::Reduction(plan) => plan.schedule(len)?,
            AnyPlan::LastResults(plan) => plan.schedule(len)?,
        })
    }
}

impl fmt::Display for AnyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyPlan::Scan(plan) => write!(f, "{}, {}", plan.spec, plan.strategy),
            AnyPlan::Reduction(plan) => write!(f, "reduction, {}", plan.reduction),
            AnyPlan::LastResults(plan) => write!(f, "last result of each segment, {}", plan.segments),
        }
    }
}
