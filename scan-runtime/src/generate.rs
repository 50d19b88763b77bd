//! Planning and rendering, [told of](crate::telemetry).

use std::fmt;

use scan_codegen::{
    DeviceLimits, KernelSource, OpSource, Overrides, Plan, PlanError, Plans, Reduction, ReductionPlan, RenderError,
    ScanSpec, Tuned,
};
use tracing::field::Empty;

use crate::telemetry::timed;

pub(crate) fn plan(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    overrides: &Overrides,
) -> Result<Plans, PlanError> {
    planning(operator, spec, limits, || scan_codegen::plan(operator, spec, limits, overrides))
}

pub(crate) fn plan_tuned(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    tuned: &[Tuned],
) -> Result<Plans, PlanError> {
    planning(operator, spec, limits, || scan_codegen::plan_tuned(operator, spec, limits, tuned))
}

pub(crate) fn plan_reduction(
    operator: &OpSource,
    initial_value: bool,
    limits: &DeviceLimits,
    reduction: Reduction,
) -> Result<ReductionPlan, PlanError> {
    let plan = || scan_codegen::plan_reduction(operator, initial_value, limits, reduction);
    planning(operator, &"reduction", limits, plan)
}

fn planning<T>(
    operator: &OpSource,
    task: &dyn fmt::Display,
    limits: &DeviceLimits,
    plan: impl FnOnce() -> Result<T, PlanError>,
) -> Result<T, PlanError> {
    let (operator, architecture) = (&operator.name, limits.architecture);
    let _telling = timed(tracing::debug_span!("plan", operator, %task, %architecture, microseconds = Empty));
    plan()
}

pub(crate) fn render(operator: &OpSource, plan: &Plan) -> Result<KernelSource, RenderError> {
    rendering(operator, &plan.strategy, || scan_codegen::render(operator, plan))
}

pub(crate) fn render_reduction(operator: &OpSource, plan: &ReductionPlan) -> Result<KernelSource, RenderError> {
    rendering(operator, &plan.reduction, || scan_codegen::render_reduction(operator, plan))
}

fn rendering(
    operator: &OpSource,
    strategy: &dyn fmt::Display,
    render: impl FnOnce() -> Result<KernelSource, RenderError>,
) -> Result<KernelSource, RenderError> {
    let operator = &operator.name;
    let telling = timed(tracing::debug_span!("render", operator, %strategy, bytes = Empty, microseconds = Empty));
    let source = render()?;
    telling.record("bytes", source.text.len());
    Ok(source)
}
