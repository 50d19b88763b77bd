//! Where segments begin, and which segment an element is in.

use serde::Serialize;

use crate::{segments::Segments, spec::ScanSpec};

/// What kernels speak of the source of heads.
#[derive(Serialize)]
pub(crate) struct HeadsWords {
    /// Whether a scan restarts, and what tells where.
    segmented: bool,
    heads_by: &'static str,
    /// The type of an offset, what keys are read in, and how many words a key has.
    offset: &'static str,
    key_word: &'static str,
    key_words: usize,
    /// Parameters of a kernel, each with the comma after it, and what a `Source` is made of besides, with that before it.
    heads_parameters: &'static str,
    source_arguments: String,
    initial_values: bool,
}

impl HeadsWords {
    pub(crate) fn new(spec: &ScanSpec) -> Self {
        let words = spec.segments.words();
        let (heads_parameters, source) = match words.heads_by {
            "flags" => ("const unsigned char* head_flags, ", ", head_flags"),
            "bits" => ("const unsigned* head_bits, ", ", head_bits"),
            "keys" => ("const KeyWord* keys, ", ", keys"),
            "rows" => ("size_t row, ", ", row, ~(size_t)0 / row"),
            "offsets" => ("const Offset* offsets, size_t offset_count, ", ", offsets, offset_count"),
            _ => ("", ""),
        };
        let values = if spec.initial_values { ", initial_values" } else { "" };
        let totals = if spec.totals { ", totals" } else { "" };
        HeadsWords {
            segmented: !spec.segments.is_none(),
            heads_by: words.heads_by,
            offset: words.offset,
            key_word: words.key_word,
            key_words: words.key_words,
            heads_parameters,
            source_arguments: format!("{source}{values}{totals}"),
            initial_values: spec.initial_values,
        }
    }
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
    match segments.words().heads_by {
        "flags" => "heads/flags",
        "bits" => "heads/bits",
        "keys" => "heads/keys",
        "rows" => "heads/rows",
        _ => "heads/offsets",
    }
}

/// The template of what tells heads in the stages of look-ahead.
fn in_stages(segments: &Segments) -> &'static str {
    match segments.words().heads_by {
        "flags" => "pipeline/head_flags",
        "bits" => "pipeline/head_bits",
        "keys" => "pipeline/head_keys",
        "rows" => "pipeline/heads_by_rows",
        _ => "pipeline/heads_by_offsets",
    }
}

/// The template of the warp that searches for heads, where one does.
pub(crate) fn search(segments: &Segments) -> Option<&'static str> {
    segments.has_empty().then_some("pipeline/offset_search")
}

/// The templates of an engine's heads.
pub(crate) fn parts(spec: &ScanSpec, engine: Engine) -> Vec<&'static str> {
    if spec.segments.is_none() {
        let mut parts = vec!["no_heads", "no_segment", "no_totals", "no_totals_of_empty"];
        if engine == Engine::Pipeline {
            parts.extend(["pipeline/block", "pipeline/no_heads"]);
        }
        return parts;
    }
    let source = source(&spec.segments);
    let mut parts = if engine == Engine::Pipeline { vec![source] } else { vec!["segments", "heads/entries", source] };
    if spec.is_indexed() {
        parts.push(if source == "heads/rows" { "index_rows" } else { "index_offsets" });
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
            parts.extend(["pipeline/block", "heads/run_heads", "pipeline/heads", in_stages(&spec.segments)]);
            let copies = !matches!(source, "heads/rows" | "heads/offsets");
            parts.extend(copies.then_some("pipeline/copied_heads"));
            parts.push(if spec.total { "pipeline/heads_within" } else { "pipeline/heads_anywhere" });
            parts.push(match (spec.is_indexed(), source) {
                (false, _) => "pipeline/no_index",
                (true, "heads/offsets") => "pipeline/index_in_tile",
                (true, _) => "pipeline/index_in_source",
            });
        }
    }
    parts
}
