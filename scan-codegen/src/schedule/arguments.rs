//! The arguments that several kernels have.

use super::launch::{Argument, Workspace};
use crate::{plan::Plan, segments::Segments, spec::ScanSpec};

/// The arguments of kernels with tile statuses: the ticket word, the statuses, and how many there is room for.
pub(crate) const STATUSES: [Argument; 3] =
    [Argument::Workspace(0), Argument::Workspace(Workspace::HEADER_BYTES), Argument::StatusRoom];

/// The argument of the initial value, if there is one.
pub(crate) fn initial_value(spec: &ScanSpec) -> Vec<Argument> {
    match (spec.initial_value, spec.initial_on_device || spec.initial_values) {
        (false, _) => Vec::new(),
        (true, false) => vec![Argument::InitialValue],
        (true, true) => vec![Argument::InitialPointer],
    }
}

impl Plan {
    pub(super) fn is_segmented(&self) -> bool {
        !self.spec.segments.is_none()
    }

    pub(super) fn initial_value(&self) -> Vec<Argument> {
        initial_value(&self.spec)
    }

    /// The argument of the total, or of the totals.
    pub(super) fn total(&self) -> Vec<Argument> {
        if self.spec.total || self.spec.totals { vec![Argument::Total] } else { Vec::new() }
    }

    /// The source of segment heads.
    pub(super) fn heads(&self) -> Vec<Argument> {
        match &self.spec.segments {
            Segments::None => Vec::new(),
            Segments::Offsets(_) => vec![Argument::Heads, Argument::HeadCount],
            Segments::Rows => vec![Argument::HeadCount],
            _ => vec![Argument::Heads],
        }
    }

    /// The arguments of a kernel that performs the whole scan, with these for its statuses.
    pub(super) fn arguments(&self, statuses: &[Argument], len: u64) -> Vec<Argument> {
        use Argument::*;
        [
            vec![Operator, Input],
            self.heads(),
            vec![Output],
            statuses.to_vec(),
            vec![Length(len)],
            if self.spec.length_on_device { vec![LengthPointer] } else { Vec::new() },
            self.initial_value(),
            self.total(),
        ]
        .concat()
    }
}
