//! Where segments begin, and which segment an element is in.

use serde::Serialize;

use super::{Room, Words};
use crate::{segments::Segments, spec::ScanSpec};

/// What the templates of heads speak of.
#[derive(Serialize)]
pub(crate) struct HeadsWords {
    /// The type of an offset, what keys are read in, and how many words a key has.
    offset: &'static str,
    key_word: &'static str,
    key_words: usize,
    /// Whether each segment has an initial value, and a total.
    initial_values: bool,
    totals: bool,
    /// Whether heads are asked for by runs in registers.
    in_registers: bool,
}

impl Words for HeadsWords {
    const ROOM: Room = Room::Heads;
}

impl HeadsWords {
    pub(crate) fn new(spec: &ScanSpec, in_registers: bool) -> Self {
        let (key_word, key_words) = spec.segments.key_words();
        HeadsWords {
            offset: spec.segments.offset_word(),
            key_word,
            key_words,
            initial_values: spec.initial_values,
            totals: spec.totals,
            in_registers,
        }
    }
}

/// How kernels speak of the source of heads.
pub(crate) struct SourceWords {
    /// The parameters, each with the comma after it.
    pub(crate) parameters: &'static str,
    /// What a `Source` is made of besides, with the comma before it.
    pub(crate) arguments: &'static str,
}

pub(crate) fn source_words(segments: &Segments) -> SourceWords {
    let (parameters, arguments) = match segments {
        Segments::None => ("", ""),
        Segments::HeadFlags => ("const unsigned char* head_flags, ", ", head_flags"),
        Segments::HeadBits => ("const unsigned* head_bits, ", ", head_bits"),
        Segments::Keys(_) => ("const KeyWord* keys, ", ", keys"),
        Segments::Rows => ("size_t row, ", ", row, ~(size_t)0 / row"),
        Segments::Offsets(_) => ("const Offset* offsets, size_t offset_count, ", ", offsets, offset_count"),
    };
    SourceWords { parameters, arguments }
}

/// Who asks for heads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// A tile in shared memory.
    Memory,
    /// A tile whose runs are in registers.
    Registers,
    /// The pipeline of look-ahead.
    Pipeline,
}

/// The template of which lanes of a warp have heads.
pub(crate) fn masks(segments: &Segments) -> &'static str {
    if segments.is_none() { "no_head_masks" } else { "head_masks" }
}

/// The template of the source of heads.
pub(crate) fn source(segments: &Segments) -> &'static str {
    match segments {
        Segments::None => "no_heads",
        Segments::HeadFlags => "heads/flags",
        Segments::HeadBits => "heads/bits",
        Segments::Keys(_) => "heads/keys",
        Segments::Rows => "heads/rows",
        Segments::Offsets(_) => "heads/offsets",
    }
}

/// The template of what tells heads in the stages of look-ahead.
fn in_stages(segments: &Segments) -> &'static str {
    match segments {
        Segments::None => "pipeline/no_heads",
        Segments::HeadFlags => "pipeline/head_flags",
        Segments::HeadBits => "pipeline/head_bits",
        Segments::Keys(_) => "pipeline/head_keys",
        Segments::Rows => "pipeline/heads_by_rows",
        Segments::Offsets(_) => "pipeline/heads_by_offsets",
    }
}

/// The template of the warp that searches for heads, where one does.
pub(crate) fn search(segments: &Segments) -> Option<&'static str> {
    segments.has_empty().then_some("pipeline/offset_search")
}

/// The templates of an engine's heads.
pub(crate) fn parts(spec: &ScanSpec, engine: Engine) -> Vec<&'static str> {
    let in_pipeline = engine == Engine::Pipeline;
    let source = source(&spec.segments);
    let in_stages = in_stages(&spec.segments);
    if spec.segments.is_none() {
        let mut parts = vec![source, "no_segment", "no_totals", "no_totals_of_empty"];
        parts.extend(in_pipeline.then_some(["pipeline/block", in_stages]).into_iter().flatten());
        return parts;
    }
    let mut parts = if in_pipeline { vec![source] } else { vec!["segments", "heads/entries", source] };
    let has_rows = spec.segments == Segments::Rows;
    if spec.is_indexed() {
        parts.push(if has_rows { "index_rows" } else { "index_offsets" });
        parts.push(if spec.initial_values { "starts" } else { "no_starts" });
        parts.push("segment");
        parts.push(if spec.totals { "totals" } else { "no_totals" });
    } else {
        parts.extend(["no_segment", "no_totals"]);
    }
    let empty = spec.totals && spec.segments.has_empty();
    parts.push(if empty { "totals_of_empty" } else { "no_totals_of_empty" });
    match engine {
        Engine::Memory => parts.push("heads/of_tile"),
        Engine::Registers => parts.push("heads/of_runs"),
        Engine::Pipeline => {
            parts.extend(["pipeline/block", "heads/run_heads", "pipeline/heads", in_stages]);
            let copies = !has_rows && !spec.segments.has_empty();
            parts.extend(copies.then_some("pipeline/copied_heads"));
            parts.push(if spec.total { "pipeline/heads_within" } else { "pipeline/heads_anywhere" });
            parts.push(match (spec.is_indexed(), has_rows) {
                (false, _) => "pipeline/no_index",
                (true, false) => "pipeline/index_in_tile",
                (true, true) => "pipeline/index_in_source",
            });
        }
    }
    parts
}
