//! Planning and rendering, with their [tracing spans](crate::telemetry).

use std::fmt;

use scan_codegen::{
    ColumnsPlan, DeviceLimits, KernelSource, LastResultsPlan, OffsetWidth, OpSource, Overrides, Plan, PlanError, Plans,
    RangeReductionPlan, Reduction, ReductionPlan, RenderError, ScanSpec, Tuned,
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

pub(crate) fn plan_columns(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    overrides: &Overrides,
) -> Result<ColumnsPlan, PlanError> {
    let plan = || scan_codegen::plan_columns(operator, spec, limits, overrides);
    planning(operator, &format_args!("{spec} along an axis"), limits, plan)
}

pub(crate) fn plan_last_results(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
) -> Result<LastResultsPlan, PlanError> {
    let plan = || scan_codegen::plan_last_results(operator, spec, limits);
    planning(operator, &"last result of each segment", limits, plan)
}

pub(crate) fn plan_range_reduction(
    operator: &OpSource,
    spec: &ScanSpec,
    positions: OffsetWidth,
    limits: &DeviceLimits,
) -> Result<RangeReductionPlan, PlanError> {
    let plan = || scan_codegen::plan_range_reduction(operator, spec, positions, limits);
    planning(operator, &"reduction of ranges", limits, plan)
}

fn planning<T>(
    operator: &OpSource,
    task: &dyn fmt::Display,
    limits: &DeviceLimits,
    plan: impl FnOnce() -> Result<T, PlanError>,
) -> Result<T, PlanError> {
    let (operator, architecture) = (&operator.name, limits.architecture);
    let _span = timed(tracing::debug_span!("plan", operator, %task, %architecture, microseconds = Empty));
    plan()
}

pub(crate) fn render(operator: &OpSource, plan: &Plan) -> Result<KernelSource, RenderError> {
    rendering(operator, &plan.strategy, || scan_codegen::render(operator, plan))
}

/// The source of a scan's kernels as shown to a user: the text from [`render`], with a description of its scope.
pub(crate) fn show(operator: &OpSource, plans: &Plans, plan: &Plan) -> Result<KernelSource, RenderError> {
    Ok(render(operator, plan)?.with_scope(scope(&plans.lengths(plan), plans.device())))
}

/// The same for a reduction.
pub(crate) fn show_reduction(operator: &OpSource, plan: &ReductionPlan) -> Result<KernelSource, RenderError> {
    Ok(render_reduction(operator, plan)?.with_scope(scope("any number of elements", &plan.device)))
}

fn scope(lengths: &str, device: &DeviceLimits) -> String {
    format!("{lengths}, for {}, by scan-runtime {}", device.architecture, env!("CARGO_PKG_VERSION"))
}

pub(crate) fn render_columns(operator: &OpSource, plan: &ColumnsPlan) -> Result<KernelSource, RenderError> {
    rendering(operator, &"columns", || scan_codegen::render_columns(operator, plan))
}

/// The same of a scan along an axis.
pub(crate) fn show_columns(operator: &OpSource, plan: &ColumnsPlan) -> Result<KernelSource, RenderError> {
    Ok(render_columns(operator, plan)?.with_scope(scope("any shape", &plan.device)))
}

pub(crate) fn render_reduction(operator: &OpSource, plan: &ReductionPlan) -> Result<KernelSource, RenderError> {
    rendering(operator, &plan.reduction, || scan_codegen::render_reduction(operator, plan))
}

pub(crate) fn render_last_results(operator: &OpSource, plan: &LastResultsPlan) -> Result<KernelSource, RenderError> {
    rendering(operator, &"last result of each segment", || scan_codegen::render_last_results(operator, plan))
}

pub(crate) fn render_range_reduction(
    operator: &OpSource,
    plan: &RangeReductionPlan,
) -> Result<KernelSource, RenderError> {
    rendering(operator, &"reduction of ranges", || scan_codegen::render_range_reduction(operator, plan))
}

fn rendering(
    operator: &OpSource,
    strategy: &dyn fmt::Display,
    render: impl FnOnce() -> Result<KernelSource, RenderError>,
) -> Result<KernelSource, RenderError> {
    let operator = &operator.name;
    let span = timed(tracing::debug_span!("render", operator, %strategy, bytes = Empty, microseconds = Empty));
    let source = render()?;
    span.record("bytes", source.text.len());
    Ok(source)
}
