//! Planning and rendering, [told of](crate::telemetry).

use scan_codegen::{
    DeviceLimits, KernelSource, OpSource, Overrides, Plan, PlanError, Plans, Reduction, ReductionPlan, RenderError,
    ScanSpec,
};
use tracing::field::Empty;

use crate::telemetry::timed;

pub(crate) fn plan(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    overrides: &Overrides,
) -> Result<Plans, PlanError> {
    let (operator_name, architecture) = (&operator.name, limits.architecture);
    let _telling = timed(tracing::debug_span!(
        "plan",
        operator = operator_name,
        task = %spec,
        %architecture,
        microseconds = Empty
    ));
    scan_codegen::plan(operator, spec, limits, overrides)
}

pub(crate) fn plan_reduction(
    operator: &OpSource,
    initial_value: bool,
    limits: &DeviceLimits,
    reduction: Reduction,
) -> Result<ReductionPlan, PlanError> {
    let (operator_name, architecture) = (&operator.name, limits.architecture);
    let _telling = timed(tracing::debug_span!(
        "plan",
        operator = operator_name,
        task = "reduction",
        %architecture,
        microseconds = Empty
    ));
    scan_codegen::plan_reduction(operator, initial_value, limits, reduction)
}

pub(crate) fn render(operator: &OpSource, plan: &Plan) -> Result<KernelSource, RenderError> {
    rendering(operator, &plan.strategy, || scan_codegen::render(operator, plan))
}

pub(crate) fn render_reduction(operator: &OpSource, plan: &ReductionPlan) -> Result<KernelSource, RenderError> {
    rendering(operator, &plan.reduction, || scan_codegen::render_reduction(operator, plan))
}

fn rendering(
    operator: &OpSource,
    strategy: &dyn std::fmt::Display,
    render: impl FnOnce() -> Result<KernelSource, RenderError>,
) -> Result<KernelSource, RenderError> {
    let operator = &operator.name;
    let telling = timed(tracing::debug_span!("render", operator, %strategy, bytes = Empty, microseconds = Empty));
    let source = render()?;
    telling.record("bytes", source.text.len());
    Ok(source)
}
