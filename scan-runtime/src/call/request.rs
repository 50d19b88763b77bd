//! The request of a call: all that decides which kernels it needs, and no data.

use std::fmt;

use scan_codegen::{ArrayKind, ArrayKinds, Arrays, OffsetWidth, Overrides, Reduction, ScanKind, ScanSpec, Segments};

use super::Task;
use crate::{cpu::Order, erased::Erased, heads::HeadKind};

/// The most bytes of an element and of a state, and the fewest of an input, whose total a scan gives so much faster than a
/// tree that it makes up for its longer text (`docs/tuning.md#reductions-by-scans`).
const LIGHT: usize = 16;
const LONG: usize = 16 << 20;

/// All that decides which kernels a call needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) kind: ScanKind,
    /// Whether there is a result for the initial value, in addition to those of the elements.
    pub(crate) includes_initial: bool,
    pub(crate) order: Order,
    /// Whether it is a reduction, and how a total without segments is made then.
    pub(crate) reduction: Option<Reduction>,
    pub(crate) heads: HeadKind,
    pub(crate) initial: Initial,
    pub(crate) totals: Totals,
    /// Whether the number of elements is in device memory.
    pub(crate) len_on_device: bool,
    pub(crate) layouts: Layouts,
}

/// The value before the first element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Initial {
    /// The identity, or a start.
    None,
    /// A value that the call passes on.
    Value,
    /// A value in device memory.
    OnDevice,
    /// A value that may be written while the kernels run.
    Late,
    /// A value for each segment, or for each column along an axis, in device memory.
    Each,
}

/// The totals that a scan gives in addition to its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Totals {
    #[default]
    None,
    /// The total, which is that of the last segment where the scan restarts.
    Last,
    /// The total of each segment, or of each column along an axis.
    PerSegment,
}

/// In how many arrays the elements of an input, and those of an output, are, and of what kinds these are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layouts {
    pub(crate) input: (Arrays, ArrayKinds),
    pub(crate) output: (Arrays, ArrayKinds),
}

impl Layouts {
    /// The same with other kinds of arrays.
    pub(crate) fn with_kinds(self, input: ArrayKinds, output: ArrayKinds) -> Self {
        Layouts { input: (self.input.0, input), output: (self.output.0, output) }
    }
}

impl Request {
    pub(crate) fn spec(&self) -> ScanSpec {
        let spec = match self.kind {
            ScanKind::Inclusive => ScanSpec::inclusive(),
            ScanKind::Exclusive => ScanSpec::exclusive(),
        };
        let spec = if self.order == Order::Reversed { spec.reverse() } else { spec };
        let spec = if self.reduction.is_some() { spec.projecting() } else { spec };
        let spec = if self.len_on_device { spec.with_length_on_device() } else { spec };
        let spec = match self.initial {
            Initial::None => spec,
            Initial::Value => spec.with_initial_value(),
            Initial::OnDevice => spec.with_initial_value_on_device(),
            Initial::Late => spec.with_late_initial_value(),
            Initial::Each => spec.with_initial_values(),
        };
        let spec = match self.totals {
            Totals::None => spec,
            Totals::Last => spec.with_total(),
            Totals::PerSegment => spec.with_totals(),
        };
        let Layouts { input, output } = self.layouts;
        spec.with_segments(self.heads.segments()).with_arrays(input.0, output.0).with_kinds(input.1, output.1)
    }

    /// The kernels that it needs, of this shape.
    pub(crate) fn task(&self, shape: Overrides) -> Task {
        if let Some(width) = self.ranges() {
            return Task::ReduceRanges(width, self.spec());
        }
        match self.reduction {
            Some(reduction) if self.is_of_trees() => Task::Reduce(reduction, self.initial != Initial::None),
            // In host memory, where the result is made of the total.
            Some(_) if self.heads.is_none() => {
                let output = (Arrays::One, ArrayKinds::new([ArrayKind::NoMemory]));
                let layouts = Layouts { output, ..self.layouts };
                Task::Scan(Request { reduction: None, totals: Totals::Last, layouts, ..*self }.spec(), shape)
            }
            _ => Task::Scan(self.spec(), shape),
        }
    }

    /// The positions of the ranges that it reduces.
    pub(crate) fn ranges(&self) -> Option<OffsetWidth> {
        if let HeadKind::Ranges(ty) = self.heads { Some(ty.width()) } else { None }
    }

    /// Whether it is a reduction that trees can do: of the whole, which reads and writes one slice each, in the order
    /// of memory.
    pub(crate) fn is_of_trees(&self) -> bool {
        let is_whole = self.reduction.is_some() && self.heads.is_none();
        is_whole && self.order == Order::Forward && self.layouts == Layouts::default()
    }

    /// The same of `len` elements of device memory. What trees cannot reduce is scanned as one row, whose last result
    /// is the result, unless that is the [total](Request::by_totals).
    pub(crate) fn by_rows(self, len: usize, totals_are_results: bool) -> Self {
        let is_total = totals_are_results && self.writes_one_slice();
        let is_row = self.reduction.is_some() && self.heads.is_none() && !self.is_of_trees() && !is_total;
        if is_row { Request { heads: HeadKind::Rows { len }, ..self } } else { self }
    }

    fn writes_one_slice(&self) -> bool {
        self.layouts.output == Layouts::default().output
    }

    /// The scan that a reduction takes its results of: those of columns are its totals, others the last of each
    /// segment. A reduction that takes them of none, and a scan, are themselves.
    pub(crate) fn scanned(&self, of_columns: bool) -> Request {
        let Layouts { input, .. } = self.layouts;
        match (self.reduction, of_columns) {
            (Some(_), true) => {
                let output = (Arrays::One, ArrayKinds::new([ArrayKind::NoMemory]));
                Request { totals: Totals::PerSegment, layouts: Layouts { input, output }, ..*self }
            }
            (Some(_), false) if !self.heads.is_none() && self.ranges().is_none() => {
                Request { layouts: Layouts { input, ..Layouts::default() }, ..*self }
            }
            _ => *self,
        }
    }

    /// The scan whose totals are the results of a reduction of up to `len` elements, and which writes nothing else: of
    /// rows, or of a whole that no tree reduces, or a long one. For an operator whose results are its totals.
    pub(crate) fn by_totals(&self, op: &dyn Erased, len: usize) -> Option<Request> {
        let reduction = self.reduction.filter(|_| self.writes_one_slice())?;
        let is_light = || reduction == Reduction::Fastest && op.largest_bytes() <= LIGHT;
        let is_long = || len.saturating_mul(op.element_bytes()) >= LONG;
        let totals = match self.heads {
            HeadKind::Rows { .. } => Totals::PerSegment,
            HeadKind::None if !self.is_of_trees() || (is_light() && is_long()) => Totals::Last,
            _ => return None,
        };
        let output = (Arrays::One, ArrayKinds::new([ArrayKind::NoMemory]));
        Some(Request { reduction: None, totals, layouts: Layouts { output, ..self.layouts }, ..*self })
    }

    /// What takes the results of a reduction out of those of [that scan](Request::scanned), where they are not the
    /// results already. Totals of columns are segments of one element each.
    pub(crate) fn last_results(&self, of_columns: bool) -> Option<ScanSpec> {
        let Layouts { output, .. } = self.layouts;
        let segments = match of_columns {
            true => (output != Layouts::default().output).then_some(Segments::Rows),
            false => (!self.heads.is_none() && self.ranges().is_none()).then(|| self.heads.segments()),
        };
        let spec = ScanSpec::inclusive().with_segments(self.reduction.and(segments)?);
        let spec = spec.with_arrays(Arrays::One, output.0).with_kinds(ArrayKinds::default(), output.1);
        let spec = if self.order == Order::Reversed { spec.reverse() } else { spec };
        Some(if self.initial == Initial::Each { spec.with_initial_values() } else { spec })
    }

    /// Whether the kernels that are prepared for one are those of the other. Both are of one scan or reduction.
    pub(crate) fn is_like(&self, other: &Request) -> bool {
        let asked = |of: &Request| (of.initial, of.totals, of.len_on_device, of.layouts);
        self.heads.is_like(other.heads) && asked(self) == asked(other)
    }
}

/// As far as runs of one handle can differ.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = match self.totals {
            Totals::None => "no total",
            Totals::Last => "a total",
            Totals::PerSegment => "the total of each segment",
        };
        let initial = match self.initial {
            Initial::None | Initial::Value => "no initial value of the call",
            Initial::OnDevice => "an initial value of the call",
            Initial::Late => "an initial value that arrives late",
            Initial::Each => "an initial value for each segment",
        };
        match self.heads {
            HeadKind::Keys { layout, .. } => write!(f, "keys of type {}", layout().name)?,
            heads => f.write_str(heads.name())?,
        }
        write!(f, ", {total}, {initial}")?;
        if self.len_on_device {
            f.write_str(", a length in device memory")?;
        }
        let Layouts { input, output } = self.layouts;
        match (self.layouts == Layouts::default(), input.1.are_slices() && output.1.are_slices()) {
            (true, _) => Ok(()),
            (false, true) => f.write_str(", columns"),
            (false, false) => write!(f, ", columns from {:?} to {:?}", input.1, output.1),
        }
    }
}
