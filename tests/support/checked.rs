//! Renders of plans that have been checked: all tests, fuzzers and tools render by these functions, and fail with the
//! checker's words where a plan breaks a rule of the kernels. `tests/clippy.toml` refuses others.

use std::fmt::Display;

use scan_codegen::{
    ColumnsPlan, DeviceLimits, KernelSource, LastResultsPlan, OpSource, Plan, RangeReductionPlan, ReductionPlan,
    RenderError, Target, Templates, Violation,
};

/// Checks a plan for this device.
///
/// # Panics
///
/// With all rules that it breaks.
pub fn check(operator: &OpSource, plan: &Plan, device: &DeviceLimits) {
    sound(plan, plan.violations(operator, device));
}

/// Checks a plan of a scan along an axis.
///
/// # Panics
///
/// With all rules that it breaks.
pub fn check_columns(operator: &OpSource, plan: &ColumnsPlan) {
    sound(plan, plan.violations(operator));
}

/// Checks a plan of a reduction.
///
/// # Panics
///
/// With all rules that it breaks.
pub fn check_reduction(operator: &OpSource, plan: &ReductionPlan) {
    sound(plan, plan.violations(operator));
}

/// Checks a plan of the last results of segments.
///
/// # Panics
///
/// With all rules that it breaks.
pub fn check_last_results(plan: &LastResultsPlan) {
    sound(plan, plan.violations());
}

/// Checks a plan of a reduction of ranges.
///
/// # Panics
///
/// With all rules that it breaks.
pub fn check_range_reduction(operator: &OpSource, plan: &RangeReductionPlan) {
    sound(plan, plan.violations(operator));
}

fn sound(plan: &dyn Display, violations: Vec<Violation>) {
    let words: Vec<_> = violations.iter().map(|violation| format!("  {violation}")).collect();
    assert!(violations.is_empty(), "rules that a plan breaks:\n{}\n{plan}", words.join("\n"));
}

/// Checks a plan, and renders its kernels for a GPU.
///
/// # Errors
///
/// Those of rendering.
///
/// # Panics
///
/// If the plan breaks a rule.
pub fn render(operator: &OpSource, plan: &Plan, device: &DeviceLimits) -> Result<KernelSource, RenderError> {
    render_from(Templates::of_kernels(), operator, plan, device, Target::Cuda)
}

/// The same from these templates, for another target.
///
/// # Errors
///
/// Those of rendering.
///
/// # Panics
///
/// If the plan breaks a rule.
#[allow(clippy::disallowed_methods, reason = "the plan has been checked")]
pub fn render_from(
    templates: &Templates,
    operator: &OpSource,
    plan: &Plan,
    device: &DeviceLimits,
    target: Target,
) -> Result<KernelSource, RenderError> {
    check(operator, plan, device);
    scan_codegen::render_from(templates, operator, plan, target)
}

/// Checks a plan, and renders the kernel that scans along an axis.
///
/// # Errors
///
/// Those of rendering.
///
/// # Panics
///
/// If the plan breaks a rule.
pub fn render_columns(operator: &OpSource, plan: &ColumnsPlan) -> Result<KernelSource, RenderError> {
    render_columns_from(Templates::of_kernels(), operator, plan, Target::Cuda)
}

/// The same from these templates, for another target.
///
/// # Errors
///
/// Those of rendering.
///
/// # Panics
///
/// If the plan breaks a rule.
#[allow(clippy::disallowed_methods, reason = "the plan has been checked")]
pub fn render_columns_from(
    templates: &Templates,
    operator: &OpSource,
    plan: &ColumnsPlan,
    target: Target,
) -> Result<KernelSource, RenderError> {
    check_columns(operator, plan);
    scan_codegen::render_columns_from(templates, operator, plan, target)
}

/// Checks a plan, and renders the kernels of a reduction from these templates.
///
/// # Errors
///
/// Those of rendering.
///
/// # Panics
///
/// If the plan breaks a rule.
#[allow(clippy::disallowed_methods, reason = "the plan has been checked")]
pub fn render_reduction_from(
    templates: &Templates,
    operator: &OpSource,
    plan: &ReductionPlan,
    target: Target,
) -> Result<KernelSource, RenderError> {
    check_reduction(operator, plan);
    scan_codegen::render_reduction_from(templates, operator, plan, target)
}

/// Checks a plan, and renders the kernels that take the last result of each segment from these templates.
///
/// # Errors
///
/// Those of rendering.
///
/// # Panics
///
/// If the plan breaks a rule.
#[allow(clippy::disallowed_methods, reason = "the plan has been checked")]
pub fn render_last_results_from(
    templates: &Templates,
    operator: &OpSource,
    plan: &LastResultsPlan,
    target: Target,
) -> Result<KernelSource, RenderError> {
    check_last_results(plan);
    scan_codegen::render_last_results_from(templates, operator, plan, target)
}

/// Checks a plan, and renders the kernel that reduces ranges from these templates.
///
/// # Errors
///
/// Those of rendering.
///
/// # Panics
///
/// If the plan breaks a rule.
#[allow(clippy::disallowed_methods, reason = "the plan has been checked")]
pub fn render_range_reduction_from(
    templates: &Templates,
    operator: &OpSource,
    plan: &RangeReductionPlan,
    target: Target,
) -> Result<KernelSource, RenderError> {
    check_range_reduction(operator, plan);
    scan_codegen::render_range_reduction_from(templates, operator, plan, target)
}
