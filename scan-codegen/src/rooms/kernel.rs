//! What all kernels begin with: their parameters, and the order of launches.

use serde::Serialize;

use super::{Room, Words, heads, start};
use crate::{operator_text::OperatorText, segments::Segments, spec::ScanSpec, strategy::BlockScan};

/// What kernels say at their beginning. Parameters come each with the comma after it, the last ones each with the comma
/// before it.
#[derive(Serialize)]
pub(crate) struct KernelWords {
    /// The beginning of its name.
    prefix: String,
    heads_parameters: &'static str,
    last_parameters: String,
    /// What a `Source` is made of besides the input and its length, with the comma before it.
    source_arguments: String,
    /// What a `Start` is made of.
    pub(crate) start: String,
    segmented: bool,
    has_rows: bool,
    /// Whether there is a total of all.
    total: bool,
    length_on_device: bool,
    shares_divisors: bool,
    /// Whether a launch may begin before the one before it has ended.
    programmatic: bool,
    /// Whether the one after it may begin at the beginning of a kernel.
    dependents_at_once: bool,
    /// Whether runs of a tile stay in registers, or else the tile in shared memory has unused slots.
    in_registers: bool,
    padded: bool,
}

impl Words for KernelWords {
    const ROOM: Room = Room::Kernel;
}

impl KernelWords {
    /// `shared` is the name by which a kernel knows the initial value that one of its threads has read.
    pub(crate) fn new(spec: &ScanSpec, text: &OperatorText, shared: Option<&'static str>) -> Self {
        let source = heads::source_words(&spec.segments);
        let value = start::initial_value(spec, &text.start, shared);
        let length = if spec.length_on_device { ", const unsigned long long* length" } else { "" };
        let (total, total_of_each) = match (spec.total, spec.totals) {
            (true, _) => (", Carry* total", ""),
            (_, true) if spec.projects => (", Output* totals", ", totals"),
            (_, true) => (", Carry* totals", ", totals"),
            _ => ("", ""),
        };
        let values = if spec.initial_values { ", initial_values" } else { "" };
        KernelWords {
            prefix: text.prefix.clone(),
            heads_parameters: source.parameters,
            last_parameters: [length, value.parameter, total].concat(),
            source_arguments: [source.arguments, values, total_of_each].concat(),
            start: format!("{{{}}}", value.start),
            segmented: !spec.segments.is_none(),
            has_rows: spec.segments == Segments::Rows,
            total: spec.total,
            length_on_device: spec.length_on_device,
            shares_divisors: text.shares_divisors,
            programmatic: false,
            dependents_at_once: false,
            in_registers: false,
            padded: false,
        }
    }

    /// With these last parameters, each with the comma before it.
    pub(crate) fn ending_with(self, last_parameters: &'static str) -> Self {
        KernelWords { last_parameters: last_parameters.to_owned(), ..self }
    }

    /// With what a `Start` is made of.
    pub(crate) fn starting_with(self, start: &'static str) -> Self {
        KernelWords { start: start.to_owned(), ..self }
    }

    /// Of launches that may begin before the one before them has ended. `at_once` is whether they let the next one
    /// begin at their own beginning.
    pub(crate) fn programmatic(self, programmatic: bool, at_once: bool) -> Self {
        KernelWords { programmatic, dependents_at_once: programmatic && at_once, ..self }
    }

    /// With a tile as the block scans it.
    pub(crate) fn with_tile(self, block: BlockScan) -> Self {
        let padded = block.network.is_padded() && !block.coarsened;
        KernelWords { in_registers: block.in_registers, padded, ..self }
    }
}
