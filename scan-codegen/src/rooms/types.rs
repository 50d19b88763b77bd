//! What a text is headed by, and the types that all rooms name.

use std::fmt::Display;

use serde::Serialize;

use super::{Room, Words};
use crate::{operator_text::OperatorText, spec::ScanSpec};

/// What the heading says besides the operator's name.
#[derive(Serialize)]
pub(crate) struct HeadingWords {
    description: String,
    strategy: String,
}

impl Words for HeadingWords {
    const ROOM: Room = Room::Heading;
}

impl HeadingWords {
    pub(crate) fn new(description: impl Display, strategy: impl Display) -> Self {
        HeadingWords { description: description.to_string(), strategy: strategy.to_string() }
    }
}

/// The names of types.
#[derive(Serialize)]
pub(crate) struct TypesWords<'a> {
    operator: &'a str,
    input: &'a str,
    state: &'a str,
    output: &'a str,
    /// What initial values and totals are.
    carry: &'a str,
    /// Where the input and the output lie.
    inputs: &'static str,
    pub(super) outputs: &'static str,
    /// The same of a stage.
    stage_inputs: &'static str,
    pub(super) stage_outputs: &'static str,
}

impl Words for TypesWords<'_> {
    const ROOM: Room = Room::Types;
}

impl<'a> TypesWords<'a> {
    /// Of an input and an output that are a slice each.
    pub(crate) fn new(text: &'a OperatorText) -> Self {
        let (inputs, outputs) = ("const Input*", "Output*");
        TypesWords {
            operator: &text.operator,
            input: &text.input,
            state: &text.state,
            output: &text.output,
            carry: &text.carry_type,
            inputs,
            outputs,
            stage_inputs: inputs,
            stage_outputs: outputs,
        }
    }

    /// Of results alone in several arrays.
    pub(crate) fn into_arrays(self) -> Self {
        TypesWords { outputs: "Outputs", ..self }
    }

    /// Of several arrays. In a stage all of them are slices.
    pub(crate) fn in_arrays(self, spec: &ScanSpec) -> Self {
        let (inputs, outputs) = ("Inputs", "Outputs");
        TypesWords {
            inputs,
            outputs,
            stage_inputs: if spec.input_kinds.are_slices() { inputs } else { "StageInputs" },
            stage_outputs: if spec.output_kinds.are_slices() { outputs } else { "StageOutputs" },
            ..self
        }
    }
}
