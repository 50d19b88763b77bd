//! How inputs become states, and states outputs.

use serde::Serialize;

use super::{Room, Words};
use crate::{operator::OpSource, weight::hides_states};

/// What the templates of the operator's algebra speak of.
#[derive(Serialize)]
pub(crate) struct AlgebraWords {
    /// An input as a state.
    lifted: &'static str,
    /// A state as an output.
    projected: &'static str,
    /// The output at a cursor of a stepped operator, and where its scan ends.
    emitted: &'static str,
    ended: &'static str,
    /// Whether the output comes of the carry before an element, and of the element.
    emits: bool,
    /// Whether a result is of the elements before its own.
    exclusive: bool,
}

impl Words for AlgebraWords {
    const ROOM: Room = Room::Value;
}

impl AlgebraWords {
    pub(crate) fn new(operator: &OpSource, exclusive: bool, emits: bool) -> Self {
        let ended = if operator.has("project") { "op.project(cursor.carry)" } else { "cursor.carry" };
        AlgebraWords {
            lifted: if operator.has("lift") { "op.lift(input)" } else { "input" },
            projected: if operator.has("project") { "op.project(result)" } else { "result" },
            emitted: if emits { "op.emit(cursor.carry, input)" } else { ended },
            ended,
            emits,
            exclusive: exclusive || emits,
        }
    }
}

/// The templates by which inputs are folded.
pub(crate) fn folds(operator: &OpSource) -> Vec<&'static str> {
    let mut parts = vec![if operator.has("append") { "state_input" } else { "state_fold" }];
    parts.extend(operator.folds_backwards().then_some("prepend"));
    parts
}

/// The template by which runs are scanned.
pub(crate) fn cursor(operator: &OpSource) -> &'static str {
    if operator.carry.is_some() { "cursor_carry" } else { "cursor_prefix" }
}

/// The template of what the optimizer may look through.
pub(crate) fn opaque(operator: &OpSource) -> &'static str {
    if hides_states(operator) { "opaque" } else { "transparent" }
}
