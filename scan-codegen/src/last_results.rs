//! Totals of segments: the last result of each, after a scan that restarts.

use std::fmt;

use serde::Serialize;

use crate::{
    array_kind::ArrayKinds,
    arrays::Arrays,
    constants::WARP,
    error::{PlanError, RenderError},
    kernel_role::KernelRole,
    limits::DeviceLimits,
    operator::OpSource,
    operator_text::{OperatorText, Wording, operator_text_as},
    plan::check_arrays,
    render::{KernelSource, source},
    rooms::{
        Room, Rooms, Words,
        algebra::{self, AlgebraWords},
        heads::{self, HeadsWords},
        kernel::KernelWords,
        stage::ScanArrays,
        start,
        types::{HeadingWords, TypesWords},
    },
    schedule::{ALIGNMENT, Argument, Launch, Reserved, Schedule},
    segments::Segments,
    spec::ScanSpec,
    target::Target,
    templates::Templates,
    weight::{INLINED, Places},
    zipped::Zipped,
};

/// Elements of a thread, a bit of a word each: `RUN` of the templates.
const RUN: u32 = 32;

/// Threads of a block.
const THREADS: u32 = 256;

/// Bytes of shared memory in which each thread counts segments.
const COUNT_BYTES: u32 = 8;

/// Whether only the device knows how many segments there are.
fn needs_counts(segments: &Segments) -> bool {
    !matches!(segments, Segments::Rows | Segments::Offsets(_))
}

/// The shape of the kernels that take the last result of each segment. The operator is not applied: a scan that
/// restarts has done that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LastResultsPlan {
    /// The device that it is for.
    pub device: DeviceLimits,
    /// The reduction: where segments begin, its direction, and the arrays of its results. With an initial value for
    /// each segment, which only offsets need here, an empty segment has the result of its own.
    pub spec: ScanSpec,
    /// Threads of a block.
    pub threads: u32,
    /// The arrays of the results, if they are not one slice.
    zipped: Option<Zipped>,
}

/// Chooses the shape of the kernels that take the last result of each segment. A pure function, like
/// [`plan`](crate::plan()). Of the spec, the segments, the direction, the output and initial values of segments count.
///
/// # Errors
///
/// [`PlanError::KeyPadding`] for keys that cannot be compared, [`PlanError::Limits`] for a device without shared memory
/// for the counts of a warp, and those of arrays that results cannot go to.
pub fn plan_last_results(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
) -> Result<LastResultsPlan, PlanError> {
    let ScanSpec { segments, output, output_kinds, initial_values, reversed, .. } = spec;
    let initial_values = *initial_values && matches!(segments, Segments::Offsets(_));
    let spec = ScanSpec::inclusive().with_segments(segments.clone()).with_arrays(Arrays::One, *output);
    let spec = spec.with_kinds(ArrayKinds::default(), *output_kinds);
    let spec = if initial_values { spec.with_initial_values() } else { spec };
    let spec = if *reversed { spec.reverse() } else { spec };
    let segments = &spec.segments;
    segments.check()?;
    check_arrays(operator, &spec)?;
    let usable = limits.usable()?;
    let room = usable.shared_bytes_per_block;
    let min = COUNT_BYTES * WARP;
    if needs_counts(segments) && room < min {
        return Err(PlanError::Limits { limit: "shared_bytes_per_block", value: room.into(), min: min.into() });
    }
    let threads =
        THREADS.min(usable.threads_per_block).min(if needs_counts(segments) { room / COUNT_BYTES } else { THREADS });
    let zipped = Zipped::of(operator, &spec, |_| 0);
    Ok(LastResultsPlan { device: *limits, threads: 1 << threads.max(1).ilog2(), zipped, spec })
}

impl fmt::Display for LastResultsPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, for {}", self.description(), self.device)
    }
}

impl LastResultsPlan {
    /// What the kernels do.
    #[doc(hidden)]
    pub fn description(&self) -> String {
        self.spec.to_string().replacen("inclusive scan", "last result of each segment", 1)
    }

    /// Whether only the device knows how many segments there are.
    fn counts(&self) -> bool {
        needs_counts(&self.spec.segments)
    }

    /// The roles of the kernels that schedules of this plan may launch.
    pub fn kernels(&self) -> &'static [KernelRole] {
        match self.counts() {
            true => &[KernelRole::CountSegments, KernelRole::PlaceSegments, KernelRole::LastResults],
            false => &[KernelRole::LastResults],
        }
    }

    /// The launches that take the last results out of the input, which is the output of a scan.
    ///
    /// | segments | `len` | [`Argument::HeadCount`] | [`Argument::InitialValue`] | [`Argument::Total`] |
    /// |---|---|---|---|---|
    /// | rows | segments | elements of a row | | |
    /// | offsets | segments | elements of the input | the result of an empty segment, an output; or, in [`Argument::InitialPointer`], what each segment begins with | |
    /// | flags, bits, keys | elements of the input | results that there is room for | | one `u64`, the number of segments |
    ///
    /// # Errors
    ///
    /// [`PlanError::TooLong`] if the device's grid cannot have that many blocks.
    pub fn schedule(&self, len: u64) -> Result<Schedule, PlanError> {
        self.schedule_aligned(len, ALIGNMENT)
    }

    /// As [`Plan::schedule_aligned`](crate::Plan::schedule_aligned).
    #[doc(hidden)]
    pub fn schedule_aligned(&self, len: u64, alignment: u64) -> Result<Schedule, PlanError> {
        use Argument::*;
        let of_block = u64::from(self.threads) * if self.counts() { u64::from(RUN) } else { 1 };
        let max_len = self.device.usable()?.blocks_per_grid.saturating_mul(of_block);
        if len > max_len {
            return Err(PlanError::TooLong { len, max_len });
        }
        let blocks = len.div_ceil(of_block);
        let mut workspace = Reserved::new(alignment);
        let launch = |kernel, blocks: u64, arguments| Launch::new(kernel, blocks as u32, self.threads, arguments);
        let mut launches = Vec::new();
        match self.spec.segments {
            Segments::Rows => {
                launches.push(launch(KernelRole::LastResults, blocks, vec![Input, Output, HeadCount, Length(len)]))
            }
            Segments::Offsets(_) => {
                let of_nothing: &[_] =
                    if self.spec.initial_values { &[InitialPointer, Operator] } else { &[InitialValue] };
                let arguments = [&[Input, Heads, Output, HeadCount, Length(len)], of_nothing].concat();
                launches.push(launch(KernelRole::LastResults, blocks, arguments));
            }
            _ => {
                let counts = Workspace(workspace.reserve(8 * blocks.max(1)));
                launches.push(launch(KernelRole::CountSegments, blocks, vec![Heads, counts, Length(len)]));
                launches.push(launch(KernelRole::PlaceSegments, 1, vec![counts, Length(blocks), Total]));
                let arguments = vec![Input, Heads, counts, Output, HeadCount, Length(len)];
                launches.push(launch(KernelRole::LastResults, blocks, arguments));
            }
        }
        launches.retain(|launch| launch.blocks > 0);
        Ok(Schedule { workspace: workspace.scratch(), launches })
    }
}

/// What the templates of last results speak of.
#[derive(Serialize)]
pub(crate) struct LastResultsWords {
    threads: u32,
    /// The type of an offset.
    offset: &'static str,
    /// The result of segment k, if it is empty.
    of_nothing: &'static str,
    /// Which element of segment k is scanned last; where segments are counted, whether element i is.
    last: &'static str,
}

impl Words for LastResultsWords {
    const ROOM: Room = Room::LastResults;
}

impl LastResultsWords {
    /// Of ranges, whose positions have this type.
    pub(crate) fn of_ranges(offset: &'static str, of_nothing: &'static str) -> Self {
        LastResultsWords { threads: 0, offset, of_nothing, last: "" }
    }
}

/// Writes the kernels that take the last result of each segment. A pure function, like [`render`](crate::render()).
pub fn render_last_results(operator: &OpSource, plan: &LastResultsPlan) -> Result<KernelSource, RenderError> {
    render_last_results_from(Templates::of_kernels(), operator, plan, Target::Cuda)
}

/// As [`render_last_results`], for another target than the GPU's compiler, from other templates than those of this
/// crate.
pub fn render_last_results_from(
    templates: &Templates,
    operator: &OpSource,
    plan: &LastResultsPlan,
    target: Target,
) -> Result<KernelSource, RenderError> {
    let text = operator_text_as(operator, target, Wording::of(Places::all(0), INLINED))?;
    let rooms = rooms_of(operator, &text, plan)?;
    // All types, also those that these kernels do not name.
    let types = templates.part("types", &rooms)?;
    let mut parts = Vec::new();
    if plan.zipped.is_some() {
        let kinds = plan.spec.output_kinds;
        parts.extend((!kinds.are_slices()).then_some("zipped/kinds"));
        parts.extend(kinds.are_computed().then_some("zipped/computed"));
        parts.push("zipped/arrays");
    }
    if plan.spec.initial_values {
        parts.extend(["no_head_masks", "prefix"]);
        parts.extend(start::start(operator, &plan.spec));
        parts.extend(algebra::folds(operator));
        parts.push(algebra::cursor(operator));
    }
    parts.push("last_results");
    match plan.spec.segments {
        Segments::Rows => parts.push("last_results_of_rows"),
        Segments::Offsets(_) => parts.push("last_results_of_offsets"),
        _ => parts.extend([heads::source(&plan.spec.segments), "last_results_counted"]),
    }
    let text = OperatorText { text: format!("{}\n{types}\n", text.text), ..text };
    source(templates, text, &rooms, parts)
}

/// The words of these kernels.
pub(crate) fn rooms_of(operator: &OpSource, text: &OperatorText, plan: &LastResultsPlan) -> Result<Rooms, RenderError> {
    let spec = &plan.spec;
    let strategy = if plan.counts() { "counts of blocks, their prefixes, places" } else { "a thread per segment" };
    let (of_nothing, parameters) = match spec.initial_values {
        true => {
            let of_own = "output_at_end(op, cursor_at_start(Start{initial_values[k]}))";
            (of_own, ", const Carry* initial_values, const Op op")
        }
        false => ("of_nothing", ", const Output of_nothing"),
    };
    let last = match (&spec.segments, spec.reversed) {
        (Segments::Rows, false) => "(k + 1) * row - 1",
        (Segments::Rows, true) => "k * row",
        (Segments::Offsets(_), false) => "end - 1",
        (Segments::Offsets(_), true) => "first",
        (_, false) => "i + 1 == source.count || begins_segment(source, i + 1)",
        (_, true) => "i == 0 || begins_segment(source, i)",
    };
    let of_segments = ScanSpec::inclusive().with_segments(spec.segments.clone());
    let types = TypesWords::new(text);
    let arrays = ScanArrays::of(operator, text, spec, plan.zipped.as_ref());
    Rooms::default()
        .with(&HeadingWords::new(plan.description(), strategy))?
        .with(&if plan.zipped.is_some() { types.into_arrays() } else { types })?
        .with(&KernelWords::new(&of_segments, text, None).ending_with(parameters))?
        .with(&arrays.types_of_results())?
        .with(&arrays.stage())?
        .with(&AlgebraWords::new(operator, false, false))?
        .with(&HeadsWords::new(spec, false))?
        .with(&LastResultsWords { threads: plan.threads, offset: spec.segments.offset_word(), of_nothing, last })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{operator::operator_of, segments::OffsetWidth};

    fn blocks(segments: Segments, len: u64) -> Vec<u32> {
        let spec = ScanSpec::inclusive().with_segments(segments);
        let plan = plan_last_results(&operator_of(4), &spec, &DeviceLimits::BASELINE).unwrap();
        plan.schedule(len).unwrap().launches.iter().map(|launch| launch.blocks).collect()
    }

    #[test]
    fn every_launch_has_a_block() {
        assert_eq!(blocks(Segments::Rows, 257), [2]);
        assert!(blocks(Segments::Offsets(OffsetWidth::U32), 0).is_empty());
        assert_eq!(blocks(Segments::HeadFlags, 8_193), [2, 1, 2]);
        assert_eq!(blocks(Segments::HeadFlags, 0), [1], "there are no segments, which is written");
    }
}
