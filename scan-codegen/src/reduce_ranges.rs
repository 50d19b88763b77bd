//! Reductions of ranges: one result for each, of elements that other ranges may have, too.

use std::fmt;

use crate::{
    array_kind::ArrayKind,
    constants::{MAX_THREADS, WARP, WORD},
    error::{PlanError, RenderError},
    kernel_role::KernelRole,
    last_results::LastResultsWords,
    limits::DeviceLimits,
    operator::OpSource,
    operator_text::{OperatorText, Wording, operator_text_as},
    plan::check_arrays,
    reduce::{Reduction, ReductionPlan, plan_reduction},
    render::{KernelSource, source},
    rooms::{
        Rooms,
        algebra::{self, AlgebraWords},
        block::BlockWords,
        intrinsics::IntrinsicsWords,
        kernel::KernelWords,
        stage::ScanArrays,
        start,
        types::{HeadingWords, TypesWords},
    },
    schedule::{ALIGNMENT, Argument, Launch, Reserved, Schedule},
    segments::OffsetWidth,
    spec::ScanSpec,
    target::Target,
    templates::Templates,
    weight::{INLINED, Places},
    zipped::Zipped,
};

/// The places of a kernel at which `combine` stands, loops unrolled as NVRTC is used to.
const PLACES: Places = Places::all(16);

/// Blocks for a multiprocessor, where ranges are many: four times as many as are resident, so that blocks with longer
/// ranges have less to wait for at the end. Warps of more blocks would have fewer ranges, which leaves lanes idle. Fewer
/// ranges have a block each, since they may be long.
const BLOCKS: u64 = 32;

/// The shape of the kernel that reduces ranges. A thread folds a short range by itself, a warp a longer one, and a block
/// one that is longer still, by the coarsened tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RangeReductionPlan {
    /// The device that it is for.
    pub device: DeviceLimits,
    /// The reduction: its direction, its initial value and its arrays.
    pub spec: ScanSpec,
    /// The type of the positions at which ranges begin and end.
    pub positions: OffsetWidth,
    /// How a block reduces a tile of a range.
    pub(crate) block: ReductionPlan,
    /// The arrays, if input and output are not one slice each.
    zipped: Option<Zipped>,
}

/// Chooses the shape of the kernel that reduces ranges. A pure function, like [`plan`](crate::plan()). Of the spec, the
/// direction, the arrays and the initial values count.
///
/// # Errors
///
/// Those of [`plan_reduction`], [`PlanError::Limits`] for a device without shared memory for a tile of a warp, and those
/// of arrays that kernels cannot read or write.
pub fn plan_range_reduction(
    operator: &OpSource,
    spec: &ScanSpec,
    positions: OffsetWidth,
    limits: &DeviceLimits,
) -> Result<RangeReductionPlan, PlanError> {
    let ScanSpec { initial_value, initial_values, reversed, .. } = *spec;
    let of_kernel = ScanSpec::inclusive().projecting().with_arrays(spec.input, spec.output);
    let of_kernel = of_kernel.with_kinds(spec.input_kinds, spec.output_kinds);
    let spec = ScanSpec { initial_value, initial_values, reversed, ..of_kernel };
    check_arrays(operator, &spec)?;
    let value = limits.shared_bytes_per_block;
    // The kernel also declares a word for each warp.
    let room = value.saturating_sub(MAX_THREADS / WARP * WORD);
    let of_block = DeviceLimits { shared_bytes_per_block: room, ..*limits };
    let block = plan_reduction(operator, initial_value, &of_block, Reduction::Coarsened)?;
    if block.threads < WARP {
        let min = u64::from((block.run + 1) * WARP + WORD) * operator.state.size as u64;
        return Err(PlanError::Limits { limit: "shared_bytes_per_block", value: value.into(), min });
    }
    let zipped = Zipped::of(operator, &spec, |_| 0);
    Ok(RangeReductionPlan { device: *limits, spec, positions, block, zipped })
}

impl fmt::Display for RangeReductionPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, for {}", self.description(), self.device)
    }
}

impl RangeReductionPlan {
    /// What the kernel does.
    #[doc(hidden)]
    pub fn description(&self) -> String {
        let bits = match self.positions {
            OffsetWidth::U32 => 32,
            OffsetWidth::U64 => 64,
        };
        let spec = self.spec.to_string().replacen("inclusive scan", "reduction of ranges", 1);
        format!("{spec}, by {bits}-bit begins and ends")
    }

    /// The roles of the kernels that schedules of this plan may launch.
    pub fn kernels(&self) -> &'static [KernelRole] {
        &[KernelRole::ReduceRanges]
    }

    /// The launch that reduces this number of ranges; none if there are no ranges.
    ///
    /// [`Argument::Heads`] is where ranges begin, [`Argument::HeadCount`] the number of elements of the input. Without
    /// an initial value, [`Argument::InitialValue`] is the result of an empty range, an output.
    ///
    /// # Errors
    ///
    /// [`PlanError::TooLong`] if the device's grid cannot have that many blocks.
    pub fn schedule(&self, ranges: u64) -> Result<Schedule, PlanError> {
        use Argument::*;
        let (threads, limits) = (u64::from(self.block.threads), self.device.usable()?);
        let max_len = limits.blocks_per_grid.saturating_mul(threads);
        if ranges > max_len {
            return Err(PlanError::TooLong { len: ranges, max_len });
        }
        let enough = u64::from(limits.multiprocessors).saturating_mul(BLOCKS).min(limits.blocks_per_grid);
        let blocks = ranges.min(enough).max(ranges.div_ceil(threads));
        let initial = if self.spec.initial_values { InitialPointer } else { InitialValue };
        let arguments = vec![Operator, Input, Heads, RangeEnds, Output, HeadCount, Length(ranges), initial];
        let launch = Launch::new(KernelRole::ReduceRanges, blocks as u32, self.block.threads, arguments);
        let launches = Vec::from_iter((ranges > 0).then_some(launch));
        Ok(Schedule { workspace: Reserved::new(ALIGNMENT).scratch(), launches })
    }
}

/// Writes the kernel that reduces ranges. A pure function, like [`render`](crate::render()).
pub fn render_range_reduction(operator: &OpSource, plan: &RangeReductionPlan) -> Result<KernelSource, RenderError> {
    render_range_reduction_from(Templates::of_kernels(), operator, plan, Target::Cuda)
}

/// As [`render_range_reduction`], for another target than the GPU's compiler, from other templates than those of this
/// crate.
pub fn render_range_reduction_from(
    templates: &Templates,
    operator: &OpSource,
    plan: &RangeReductionPlan,
    target: Target,
) -> Result<KernelSource, RenderError> {
    let spec = &plan.spec;
    let flipped = spec.reversed.then(|| operator.read_backwards());
    let operator = flipped.as_ref().unwrap_or(operator);
    let text = operator_text_as(operator, target, Wording::of(PLACES, INLINED))?;
    let mut parts = vec!["types", if spec.reversed { "order/reversed" } else { "order/forward" }];
    if plan.zipped.is_some() {
        let (inputs, outputs) = (spec.input_kinds, spec.output_kinds);
        parts.extend((!inputs.are_slices() || !outputs.are_slices()).then_some("zipped/kinds"));
        parts.extend(inputs.any(ArrayKind::is_neighbour).then_some("zipped/neighbours"));
        parts.extend(inputs.any(|kind| kind == ArrayKind::Bits).then_some("zipped/bits"));
        parts.extend(outputs.are_computed().then_some("zipped/computed"));
        parts.push("zipped/arrays");
    }
    parts.extend(["intrinsics", "no_head_masks", "prefix"]);
    parts.extend(start::start(operator, spec));
    parts.extend(algebra::folds(operator));
    parts.extend([algebra::cursor(operator), "warp/kogge_stone", "reduce_tile", "reduce_contiguous"]);
    parts.extend(["reduce_coarsened", "reduce_ranges"]);
    let rooms = rooms_of(operator, &text, plan)?;
    source(templates, text, &rooms, parts)
}

/// The words of this kernel.
fn rooms_of(operator: &OpSource, text: &OperatorText, plan: &RangeReductionPlan) -> Result<Rooms, RenderError> {
    let spec = &plan.spec;
    let types = TypesWords::new(text);
    let kernel = KernelWords::new(spec, text, None);
    let (kernel, of_nothing) = match (spec.initial_value, spec.initial_values) {
        (false, _) => (kernel.ending_with(", const Output of_nothing"), "of_nothing"),
        (true, false) => (kernel, "output_at_end(op, cursor_at_start(start))"),
        (true, true) => (kernel.starting_with("{initial_values[k]}"), "output_at_end(op, cursor_at_start(start))"),
    };
    let arrays = ScanArrays::of(operator, text, spec, plan.zipped.as_ref());
    Rooms::default()
        .with(&HeadingWords::new(plan.description(), "a thread, a warp or a block per range"))?
        .with(&if plan.zipped.is_some() { types.in_arrays(spec) } else { types })?
        .with(&kernel)?
        .with(&IntrinsicsWords::new(false, 1))?
        .with(&arrays.types_in_memory())?
        .with(&arrays.stage())?
        .with(&AlgebraWords::new(operator, false, false))?
        .with(&BlockWords::of_warps(operator, PLACES, INLINED))?
        .with(&plan.block.words())?
        .with(&LastResultsWords::of_ranges(plan.positions.word(), of_nothing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::operator_of;

    fn plan_for(bytes: usize) -> RangeReductionPlan {
        let spec = ScanSpec::inclusive();
        plan_range_reduction(&operator_of(bytes), &spec, OffsetWidth::U32, &DeviceLimits::BASELINE).unwrap()
    }

    /// As many blocks as ranges, as long as these are few; then each lane has at most one.
    #[test]
    fn every_range_has_a_lane() {
        let plan = plan_for(4);
        let (threads, warps) = (u64::from(plan.block.threads), u64::from(plan.block.threads / WARP));
        for ranges in [1, 7, 8, 9, 1_000, 4_224, 4_225, 33_792, 33_793, 1 << 20, 1 << 24] {
            let schedule = plan.schedule(ranges).unwrap();
            let blocks = u64::from(schedule.launches[0].blocks);
            let of_warp = ranges.div_ceil(blocks).div_ceil(warps);
            assert!(of_warp <= u64::from(WARP), "{ranges}: {of_warp} ranges a warp");
            assert!(blocks == ranges || blocks >= 32 * 132, "{ranges}: {blocks} blocks");
            assert!(blocks <= ranges.div_ceil(threads).max(32 * 132), "{ranges}: {blocks} blocks");
        }
        assert!(plan.schedule(0).unwrap().launches.is_empty());
        assert!(matches!(plan.schedule(u64::MAX), Err(PlanError::TooLong { .. })));
    }

    #[test]
    fn tiles_fit_shared_memory_with_the_words_of_warps() {
        for bytes in [1, 4, 12, 36, 48, 96, 100, 256] {
            let ReductionPlan { tile, threads, .. } = plan_for(bytes).block;
            assert!((tile + threads) as usize * bytes + threads as usize / 8 <= 48 * 1024, "{bytes}");
        }
        let small = DeviceLimits { shared_bytes_per_block: 16 * 1024, ..DeviceLimits::BASELINE };
        let refused = plan_range_reduction(&operator_of(256), &ScanSpec::inclusive(), OffsetWidth::U64, &small);
        assert!(matches!(refused, Err(PlanError::Limits { limit: "shared_bytes_per_block", .. })), "{refused:?}");
    }
}
