//! Reduction: one result for the whole input, by the textbooks' trees.

use std::fmt;

use serde::Serialize;

use crate::{
    constants::MAX_THREADS,
    error::{PlanError, RenderError},
    kernel_role::KernelRole,
    limits::DeviceLimits,
    operator::{OpSource, OutputsOf},
    operator_text::{OperatorText, Wording, operator_text_as},
    plan::{MAX_COARSENED_THREADS, check_operator, check_outputs, check_start, coarsened_run},
    render::{KernelSource, source},
    rooms::{
        Room, Rooms, Words,
        algebra::{self, AlgebraWords},
        kernel::KernelWords,
        start,
        types::{HeadingWords, TypesWords},
    },
    schedule::{ALIGNMENT, Argument, Launch, Reserved, Schedule},
    spec::ScanSpec,
    target::Target,
    templates::Templates,
    weight::{Decided, INLINED, Places, Weights},
};

/// The places of a kernel at which `combine` stands, loops unrolled as NVRTC is used to.
const PLACES: Places = Places::all(16);

/// How a block reduces its tile. All of them combine neighbours only, the left one as left operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reduction {
    /// A tree in which every thread keeps its place; the active threads are spread over all warps.
    Divergent,
    /// A tree in which the first threads of the block are active: warps are entirely active or inactive.
    Contiguous,
    /// Each thread folds a run of its own first; the contiguous tree then reduces the runs' aggregates.
    Coarsened,
    /// Whichever is fastest: over device memory, where elements and states have at most 16 bytes and the result is the
    /// state, the kernels of a scan that writes nothing but its total; else the coarsened tree.
    #[default]
    Fastest,
}

impl Reduction {
    /// The tree.
    const fn tree(self) -> Self {
        if let Reduction::Fastest = self { Reduction::Coarsened } else { self }
    }

    /// The template of its tree.
    const fn name(self) -> &'static str {
        match self {
            Reduction::Divergent => "divergent",
            Reduction::Contiguous => "contiguous",
            Reduction::Coarsened | Reduction::Fastest => "coarsened",
        }
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tree", self.name())
    }
}

/// The shape of the kernels of a reduction. [`plan_reduction`] makes one; its `Display` describes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ReductionPlan {
    /// The device that it is for.
    pub device: DeviceLimits,
    /// The algorithm.
    pub reduction: Reduction,
    /// Whether there is an initial value, combined before the first element.
    pub initial_value: bool,
    /// The threads per block.
    pub threads: u32,
    /// The run: the number of elements that a thread folds on its own; 1 if the tree is not coarsened.
    pub run: u32,
    /// The tile: the number of elements that a block reduces.
    pub tile: u32,
    /// The maximum number of elements of a reduction under this plan.
    pub max_len: u64,
    state_bytes: u64,
    /// What the weight of the operator decides.
    decided: Decided,
}

/// Chooses the shape of the kernels of a reduction. A pure function, like [`plan`](crate::plan()).
pub fn plan_reduction(
    operator: &OpSource,
    initial_value: bool,
    limits: &DeviceLimits,
    reduction: Reduction,
) -> Result<ReductionPlan, PlanError> {
    check_operator(operator)?;
    check_outputs(operator, OutputsOf::Totals)?;
    check_start(operator, initial_value)?;
    let (device, reduction) = (*limits, reduction.tree());
    let limits = limits.usable()?;
    let state_bytes = operator.state.size as u32;
    let coarsened = reduction == Reduction::Coarsened;
    let run = if coarsened { coarsened_run(state_bytes) } else { 1 };
    // Trees take two elements per thread; a coarsened one a run, and a slot for its aggregate.
    let (tile_slots, sum_slots) = if coarsened { (run, 1) } else { (2, 0) };
    let room = limits.shared_bytes_per_block / ((tile_slots + sum_slots) * state_bytes);
    let max = room.min(limits.threads_per_block).min(if coarsened { MAX_COARSENED_THREADS } else { MAX_THREADS });
    let Some(log) = max.checked_ilog2() else {
        let room = limits.shared_bytes_per_block;
        let why = format!("one thread's run of {state_bytes} bytes an element outgrows {room} bytes of shared memory");
        return Err(PlanError::Run { run, why });
    };
    let threads = 1 << log;
    let tile = threads * tile_slots;
    // Each element is combined once, and no state is hidden from the optimizer.
    let once = ["lift", "combine"].map(|function| Weights::instructions_of(operator, function));
    let instructions = once.into_iter().fold(0, u64::saturating_add);
    Ok(ReductionPlan {
        device,
        reduction,
        initial_value,
        threads,
        run,
        tile,
        max_len: limits.blocks_per_grid.saturating_mul(u64::from(tile)),
        state_bytes: u64::from(state_bytes),
        decided: Decided { instructions, open: false, ..Decided::of(operator, PLACES, INLINED) },
    })
}

impl fmt::Display for ReductionPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let initial_value = if self.initial_value { " with an initial value" } else { "" };
        writeln!(f, "reduction{initial_value}, for {}", self.device)?;
        writeln!(f, "  strategy  {}", self.reduction)?;
        f.write_str(&self.decided.line(None))?;
        write!(f, "  tile      {} elements, {} threads", self.tile, self.threads)
    }
}

impl ReductionPlan {
    /// The roles of the kernels that schedules of this plan may launch.
    pub fn kernels(&self) -> &'static [KernelRole] {
        &[KernelRole::ReduceTiles, KernelRole::ReduceSums, KernelRole::ReduceEnd]
    }

    /// The launches that reduce `len` elements to the one element of the output; none if `len` is zero.
    ///
    /// # Errors
    ///
    /// [`PlanError::TooLong`] if the device's grid cannot have that many tiles.
    pub fn schedule(&self, len: u64) -> Result<Schedule, PlanError> {
        self.schedule_aligned(len, ALIGNMENT)
    }

    /// As [`Plan::schedule_aligned`](crate::Plan::schedule_aligned).
    #[doc(hidden)]
    pub fn schedule_aligned(&self, len: u64, alignment: u64) -> Result<Schedule, PlanError> {
        use Argument::*;
        if len > self.max_len {
            return Err(PlanError::TooLong { len, max_len: self.max_len });
        }
        let mut workspace = Reserved::new(alignment);
        let mut launches = Vec::new();
        let (mut from, mut elements) = (Input, len);
        while elements > 1 || (elements == 1 && from == Input) {
            let kernel = if from == Input { KernelRole::ReduceTiles } else { KernelRole::ReduceSums };
            let blocks = elements.div_ceil(u64::from(self.tile));
            let sums = Workspace(workspace.reserve(blocks * self.state_bytes));
            let arguments = vec![Operator, from, sums, Length(elements)];
            launches.push(Launch::new(kernel, blocks as u32, self.threads, arguments));
            (from, elements) = (sums, blocks);
        }
        if len > 0 {
            let mut arguments = vec![Operator, from, Output];
            arguments.extend(self.initial_value.then_some(InitialValue));
            launches.push(Launch::new(KernelRole::ReduceEnd, 1, 1, arguments));
        }
        Ok(Schedule { workspace: workspace.scratch(), launches })
    }
}

/// What the templates of reductions speak of.
#[derive(Serialize)]
pub(crate) struct ReduceWords {
    threads: u32,
    elements: u32,
    run: u32,
    /// The function that reduces a tile.
    tree: &'static str,
}

impl Words for ReduceWords {
    const ROOM: Room = Room::Reduce;
}

/// Renders the kernels of a reduction. A pure function, like [`render`](crate::render()).
pub fn render_reduction(operator: &OpSource, plan: &ReductionPlan) -> Result<KernelSource, RenderError> {
    render_reduction_for(operator, plan, Target::Cuda)
}

/// As [`render_reduction`], for another target than the GPU's compiler.
pub fn render_reduction_for(
    operator: &OpSource,
    plan: &ReductionPlan,
    target: Target,
) -> Result<KernelSource, RenderError> {
    render_reduction_from(Templates::of_kernels(), operator, plan, target)
}

/// As [`render_reduction_for`], from other templates than those of this crate.
pub fn render_reduction_from(
    templates: &Templates,
    operator: &OpSource,
    plan: &ReductionPlan,
    target: Target,
) -> Result<KernelSource, RenderError> {
    let text = operator_text_as(operator, target, Wording::of(PLACES, INLINED))?;
    let trees: &[&str] = match plan.reduction {
        Reduction::Divergent => &["reduce_divergent"],
        Reduction::Contiguous => &["reduce_contiguous"],
        Reduction::Coarsened | Reduction::Fastest => &["reduce_contiguous", "reduce_coarsened"],
    };
    let mut parts = vec!["types", "no_head_masks", "prefix"];
    parts.extend(start::start(operator, &spec_of(plan)));
    parts.extend(algebra::folds(operator));
    parts.extend([algebra::cursor(operator), "reduce_tile"]);
    parts.extend(trees);
    parts.push("reduce_kernels");
    let rooms = rooms_of(operator, &text, plan)?;
    source(templates, text, &rooms, parts)
}

/// The scan whose last result it is.
fn spec_of(plan: &ReductionPlan) -> ScanSpec {
    let spec = ScanSpec::inclusive();
    if plan.initial_value { spec.with_initial_value() } else { spec }
}

impl ReductionPlan {
    pub(crate) fn words(&self) -> ReduceWords {
        ReduceWords {
            threads: self.threads,
            elements: self.tile,
            run: self.run,
            tree: if self.reduction == Reduction::Coarsened { "coarsened_tree" } else { "fold_by_tree" },
        }
    }
}

/// The words of these kernels.
pub(crate) fn rooms_of(operator: &OpSource, text: &OperatorText, plan: &ReductionPlan) -> Result<Rooms, RenderError> {
    let initial_value = if plan.initial_value { " with an initial value" } else { "" };
    Rooms::default()
        .with(&HeadingWords::new(format!("reduction{initial_value}"), plan.reduction))?
        .with(&TypesWords::new(text))?
        .with(&KernelWords::new(&spec_of(plan), text, None))?
        .with(&AlgebraWords::new(operator, false, false))?
        .with(&plan.words())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::operator_of;

    fn plan_for(bytes: usize, reduction: Reduction) -> ReductionPlan {
        plan_reduction(&operator_of(bytes), false, &DeviceLimits::BASELINE, reduction).unwrap()
    }

    #[test]
    fn levels_end_with_one_aggregate() {
        let launches = |len| {
            let schedule = plan_for(4, Reduction::Contiguous).schedule(len).unwrap();
            schedule.launches.iter().map(|launch| (launch.kernel, launch.blocks)).collect::<Vec<_>>()
        };
        assert_eq!(launches(0), []);
        assert_eq!(launches(1), [(KernelRole::ReduceTiles, 1), (KernelRole::ReduceEnd, 1)]);
        assert_eq!(
            launches(2_049),
            [(KernelRole::ReduceTiles, 2), (KernelRole::ReduceSums, 1), (KernelRole::ReduceEnd, 1)]
        );
        assert_eq!(
            launches(2_048 * 2_048 + 1),
            [
                (KernelRole::ReduceTiles, 2_049),
                (KernelRole::ReduceSums, 2),
                (KernelRole::ReduceSums, 1),
                (KernelRole::ReduceEnd, 1)
            ]
        );
    }

    #[test]
    fn tiles_fit_shared_memory() {
        for reduction in [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened] {
            for bytes in [1, 4, 12, 36, 100, 256] {
                let plan = plan_for(bytes, reduction);
                let sums = if reduction == Reduction::Coarsened { plan.threads } else { 0 };
                assert!((plan.tile + sums) as usize * bytes <= 48 * 1024, "{reduction}, {bytes}: {plan}");
                assert!(plan.threads >= 32, "{reduction}, {bytes}: {plan}");
            }
        }
    }
}
