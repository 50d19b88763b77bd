//! The specification of a scan: the caller's choices that determine the kernels.

use std::fmt;

use crate::{
    array_kind::ArrayKinds,
    arrays::Arrays,
    operator::{OpSource, OutputsOf},
    segments::Segments,
};

/// Whether position `i` of the output includes element `i` of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ScanKind {
    /// `y[i] = x[0] ∘ … ∘ x[i]`
    #[default]
    Inclusive,
    /// `y[i] = x[0] ∘ … ∘ x[i - 1]`; `y[0]` is the initial value, or else the identity.
    Exclusive,
}

/// The specification of a scan. Values (the initial value, the length) are not part of it: they are kernel arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ScanSpec {
    /// Inclusive or exclusive.
    pub kind: ScanKind,
    /// Whether there is an initial value, combined before the first element.
    pub initial_value: bool,
    /// Whether the kernels read the initial value from device memory, where an earlier kernel may have written it.
    /// Otherwise it is a kernel argument.
    pub initial_on_device: bool,
    /// Whether that value arrives late: another stream, another device or the host may write it while the kernels run,
    /// and they wait for it. [`Argument::InitialPointer`](crate::Argument::InitialPointer) then points at two 64-bit
    /// numbers and the value: how many values have been handed over, and how many of them earlier launches have taken.
    pub initial_late: bool,
    /// Whether each segment begins with an initial value of its own, an item of an array in device memory.
    /// `initial_value` is set, too.
    pub initial_values: bool,
    /// Whether the kernels read from device memory how many elements there are, of at most as many as they are launched
    /// for. An earlier kernel may have written it.
    pub length_on_device: bool,
    /// The source of segment heads, where the scan restarts. An initial value then comes before the first element of
    /// each segment.
    pub segments: Segments,
    /// Whether the scan goes from the last element to the first: output `i` then combines elements `i`, `i + 1`, … in
    /// this order. The left element in memory is the left operand, and an initial value comes after the last element
    /// (of each segment).
    pub reversed: bool,
    /// Whether results are projections of the carry after each input, also of an operator that has `emit`: a reduction
    /// by segments takes the last of them.
    pub projects: bool,
    /// In how many arrays the input lies,
    pub input: Arrays,
    /// and the output.
    pub output: Arrays,
    /// The kinds of the arrays of the input,
    pub input_kinds: ArrayKinds,
    /// and of those of the output.
    pub output_kinds: ArrayKinds,
    /// Whether the total, the initial value included, is wanted as well, from the same launches: that of the segment
    /// with which the scan ends, where it restarts.
    pub total: bool,
    /// Whether the total of each segment is wanted as well, from the same launches, in an array.
    pub totals: bool,
}

impl ScanSpec {
    /// An inclusive scan without an initial value.
    pub fn inclusive() -> Self {
        ScanSpec { kind: ScanKind::Inclusive, ..ScanSpec::default() }
    }

    /// An exclusive scan without an initial value.
    pub fn exclusive() -> Self {
        ScanSpec { kind: ScanKind::Exclusive, ..ScanSpec::default() }
    }

    /// The same scan with an initial value before the first element.
    pub fn with_initial_value(self) -> Self {
        ScanSpec { initial_value: true, ..self }
    }

    /// The same scan with an initial value that the kernels read from device memory.
    pub fn with_initial_value_on_device(self) -> Self {
        ScanSpec { initial_value: true, initial_on_device: true, ..self }
    }

    /// The same scan with an initial value that may be written while the kernels run.
    pub fn with_late_initial_value(self) -> Self {
        ScanSpec { initial_late: true, ..self.with_initial_value_on_device() }
    }

    /// The same scan with an initial value for each segment. These are rows, or lie between offsets.
    pub fn with_initial_values(self) -> Self {
        ScanSpec { initial_value: true, initial_on_device: false, initial_values: true, ..self }
    }

    /// The same scan of as many elements as the kernels read from device memory.
    pub fn with_length_on_device(self) -> Self {
        ScanSpec { length_on_device: true, ..self }
    }

    /// The same scan, with the total as well.
    pub fn with_total(self) -> Self {
        ScanSpec { total: true, ..self }
    }

    /// The same scan, with the total of each segment as well. These are rows, or lie between offsets.
    pub fn with_totals(self) -> Self {
        ScanSpec { totals: true, ..self }
    }

    /// Whether kernels must know the index of an element's segment.
    pub(crate) fn is_indexed(&self) -> bool {
        self.initial_values || self.totals
    }

    /// The same scan, whose results are projections of carries in any case. Along an axis its
    /// [totals](ScanSpec::with_totals) are, too: they are the results of a reduction.
    pub fn projecting(self) -> Self {
        ScanSpec { projects: true, ..self }
    }

    /// Whether results come from the operator's `emit`.
    pub(crate) fn emits(&self, operator: &OpSource) -> bool {
        self.kind == ScanKind::Inclusive && !self.projects && operator.has("emit")
    }

    /// The values from which it makes results.
    pub(crate) fn outputs_of(&self, operator: &OpSource) -> OutputsOf {
        match self.kind {
            ScanKind::Exclusive => OutputsOf::Prefixes,
            ScanKind::Inclusive if self.emits(operator) => OutputsOf::Inputs,
            ScanKind::Inclusive => OutputsOf::Totals,
        }
    }

    /// The same scan, from the last element to the first.
    pub fn reverse(self) -> Self {
        ScanSpec { reversed: true, ..self }
    }

    /// The same scan of an input, and into an output, that have an array for each field of an element where these say
    /// so.
    pub fn with_arrays(self, input: Arrays, output: Arrays) -> Self {
        ScanSpec { input, output, ..self }
    }

    /// The same scan of arrays of these kinds.
    pub fn with_kinds(self, input_kinds: ArrayKinds, output_kinds: ArrayKinds) -> Self {
        ScanSpec { input_kinds, output_kinds, ..self }
    }

    /// The same scan, restarting at the heads that `segments` gives.
    pub fn with_segments(self, segments: Segments) -> Self {
        ScanSpec { segments, ..self }
    }
}

impl fmt::Display for ScanSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            ScanKind::Inclusive => "inclusive scan",
            ScanKind::Exclusive => "exclusive scan",
        })?;
        f.write_str(match (self.input, self.output) {
            (Arrays::One, Arrays::One) => "",
            (Arrays::PerField, Arrays::One) => " over an array per field",
            (Arrays::One, Arrays::PerField) => " into an array per field",
            (Arrays::PerField, Arrays::PerField) => " over and into an array per field",
        })?;
        if !self.input_kinds.are_slices() {
            write!(f, " from {:?}", self.input_kinds)?;
        }
        if !self.output_kinds.are_slices() {
            write!(f, " to {:?}", self.output_kinds)?;
        }
        if self.reversed {
            f.write_str(" from the last element to the first")?;
        }
        if self.length_on_device {
            f.write_str(" of a length in device memory")?;
        }
        if self.initial_value {
            f.write_str(" with an initial value")?;
        }
        if self.initial_values {
            f.write_str(" for each segment")?;
        }
        f.write_str(match (self.initial_late, self.initial_on_device) {
            (true, _) => " that arrives late",
            (false, true) => " in device memory",
            (false, false) => "",
        })?;
        if self.total {
            f.write_str(" and the total")?;
        }
        if self.totals {
            f.write_str(" and the total of each segment")?;
        }
        if self.segments.is_none() { Ok(()) } else { write!(f, ", {}", self.segments) }
    }
}
