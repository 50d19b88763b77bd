//! The plan of a task.

use std::fmt;

use scan_codegen::{
    ColumnLayout, ColumnsPlan, KernelRole, KernelSource, LastResultsPlan, OpSource, Plan, RangeReductionPlan,
    ReductionPlan, Schedule,
};

use crate::{Error, generate};

/// The plan of a task, for a range of lengths.
#[derive(Clone, Debug)]
pub(crate) enum AnyPlan {
    Scan(Box<Plan>),
    Reduction(ReductionPlan),
    Columns(ColumnsPlan),
    LastResults(LastResultsPlan),
    RangeReduction(RangeReductionPlan),
}

impl AnyPlan {
    pub(super) fn render(&self, operator: &OpSource) -> Result<KernelSource, Error> {
        Ok(match self {
            AnyPlan::Scan(plan) => generate::render(operator, plan)?,
            AnyPlan::Reduction(plan) => generate::render_reduction(operator, plan)?,
            AnyPlan::Columns(plan) => generate::render_columns(operator, plan)?,
            AnyPlan::LastResults(plan) => generate::render_last_results(operator, plan)?,
            AnyPlan::RangeReduction(plan) => generate::render_range_reduction(operator, plan)?,
        })
    }

    pub(super) fn kernels(&self) -> &'static [KernelRole] {
        match self {
            AnyPlan::Scan(plan) => plan.kernels(),
            AnyPlan::Reduction(plan) => plan.kernels(),
            AnyPlan::Columns(plan) => plan.kernels(),
            AnyPlan::LastResults(plan) => plan.kernels(),
            AnyPlan::RangeReduction(plan) => plan.kernels(),
        }
    }

    pub(super) fn dynamic_shared_bytes(&self, kernel: KernelRole) -> u32 {
        match self {
            AnyPlan::Scan(plan) => plan.dynamic_shared_bytes(kernel),
            AnyPlan::Columns(plan) => plan.dynamic_shared_bytes(kernel),
            AnyPlan::Reduction(_) | AnyPlan::LastResults(_) | AnyPlan::RangeReduction(_) => 0,
        }
    }

    /// Whether it is for columns that lie like this, from these addresses on.
    pub(super) fn suits(&self, columns: &ColumnLayout, input: &[u64], output: &[u64]) -> bool {
        match self {
            AnyPlan::Columns(plan) => plan.suits(columns, input, output),
            _ => false,
        }
    }

    pub(super) fn schedule(&self, len: u64, columns: Option<&ColumnLayout>) -> Result<Schedule, Error> {
        Ok(match self {
            AnyPlan::Scan(plan) => plan.schedule(len)?,
            AnyPlan::Reduction(plan) => plan.schedule(len)?,
            AnyPlan::Columns(plan) => match columns {
                Some(columns) => plan.schedule(columns)?,
                None => plan.schedule(&ColumnLayout::of_one_column(len))?,
            },
            AnyPlan::LastResults(plan) => plan.schedule(len)?,
            AnyPlan::RangeReduction(plan) => plan.schedule(len)?,
        })
    }
}

impl fmt::Display for AnyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyPlan::Scan(plan) => write!(f, "{}, {}", plan.spec, plan.strategy),
            AnyPlan::Reduction(plan) => write!(f, "reduction, {}", plan.reduction),
            AnyPlan::Columns(plan) => write!(f, "{} along an axis", plan.spec),
            AnyPlan::LastResults(plan) => f.write_str(&plan.description()),
            AnyPlan::RangeReduction(plan) => f.write_str(&plan.description()),
        }
    }
}
