//! The templates of the kernels.

use std::{collections::BTreeSet, sync::LazyLock};

use tera::{Context, Tera};

use crate::error::RenderError;

/// Every template of a kernel's part, by name. Those that are included in the middle of another end without a line break.
const PARTS: &[(&str, &str)] = &[
    ("heading", include_str!("../templates/heading.cu.tera")),
    ("types", include_str!("../templates/types.cu.tera")),
    ("kernel/length", include_str!("../templates/kernel/length.cu.tera").trim_ascii_end()),
    ("kernel/nothing", include_str!("../templates/kernel/nothing.cu.tera").trim_ascii()),
    ("zipped/kinds", include_str!("../templates/zipped/kinds.cu.tera")),
    ("zipped/neighbours", include_str!("../templates/zipped/neighbours.cu.tera")),
    ("zipped/computed", include_str!("../templates/zipped/computed.cu.tera")),
    ("zipped/arrays", include_str!("../templates/zipped/arrays.cu.tera")),
    ("zipped/run", include_str!("../templates/zipped/run.cu.tera").trim_ascii_end()),
    ("zipped/transfer", include_str!("../templates/zipped/transfer.cu.tera").trim_ascii_end()),
    ("one_array/overlap", include_str!("../templates/one_array/overlap.cu.tera")),
    ("one_array/tile", include_str!("../templates/one_array/tile.cu.tera")),
    ("one_array/stage", include_str!("../templates/one_array/stage.cu.tera")),
    ("one_array/words", include_str!("../templates/one_array/words.cu.tera")),
    ("one_array/bytes", include_str!("../templates/one_array/bytes.cu.tera")),
    ("one_array/rest", include_str!("../templates/one_array/rest.cu.tera")),
    ("one_array/transfer", include_str!("../templates/one_array/transfer.cu.tera")),
    ("zipped/tile", include_str!("../templates/zipped/tile.cu.tera")),
    ("zipped/items", include_str!("../templates/zipped/items.cu.tera")),
    ("zipped/units", include_str!("../templates/zipped/units.cu.tera")),
    ("load_tile", include_str!("../templates/load_tile.cu.tera")),
    ("run/of_units", include_str!("../templates/run/of_units.cu.tera")),
    ("run/of_elements", include_str!("../templates/run/of_elements.cu.tera")),
    ("run/streamed", include_str!("../templates/run/streamed.cu.tera")),
    ("results/streamed", include_str!("../templates/results/streamed.cu.tera")),
    ("results/of_elements", include_str!("../templates/results/of_elements.cu.tera")),
    ("results/in_units", include_str!("../templates/results/in_units.cu.tera")),
    ("results/in_words", include_str!("../templates/results/in_words.cu.tera")),
    ("results/as_completed", include_str!("../templates/results/as_completed.cu.tera")),
    ("results/of_part", include_str!("../templates/results/of_part.cu.tera")),
    ("transparent", include_str!("../templates/value/transparent.cu.tera")),
    ("pipeline/block", include_str!("../templates/kernel/pipeline/block.cu.tera")),
    ("pipeline/carry_before_run", include_str!("../templates/kernel/pipeline/carry_before_run.cu.tera")),
    ("pipeline/copied_heads", include_str!("../templates/kernel/pipeline/copied_heads.cu.tera")),
    ("pipeline/copy", include_str!("../templates/kernel/pipeline/copy.cu.tera")),
    ("pipeline/edges", include_str!("../templates/kernel/pipeline/edges.cu.tera")),
    ("pipeline/edges_of_all", include_str!("../templates/kernel/pipeline/edges_of_all.cu.tera")),
    ("pipeline/element_results", include_str!("../templates/kernel/pipeline/element_results.cu.tera")),
    ("pipeline/elements", include_str!("../templates/kernel/pipeline/elements.cu.tera")),
    ("pipeline/elements_from_end", include_str!("../templates/kernel/pipeline/elements_from_end.cu.tera")),
    ("pipeline/first_value", include_str!("../templates/kernel/pipeline/first_value.cu.tera")),
    ("pipeline/late_value", include_str!("../templates/kernel/pipeline/late_value.cu.tera")),
    ("pipeline/fold_window", include_str!("../templates/kernel/pipeline/fold_window.cu.tera")),
    ("pipeline/head_bits", include_str!("../templates/kernel/pipeline/head_bits.cu.tera")),
    ("pipeline/head_flags", include_str!("../templates/kernel/pipeline/head_flags.cu.tera")),
    ("pipeline/head_keys", include_str!("../templates/kernel/pipeline/head_keys.cu.tera")),
    ("pipeline/heads", include_str!("../templates/kernel/pipeline/heads.cu.tera")),
    ("pipeline/heads_anywhere", include_str!("../templates/kernel/pipeline/heads_anywhere.cu.tera")),
    ("pipeline/heads_by_offsets", include_str!("../templates/kernel/pipeline/heads_by_offsets.cu.tera")),
    ("pipeline/heads_by_rows", include_str!("../templates/kernel/pipeline/heads_by_rows.cu.tera")),
    ("pipeline/heads_within", include_str!("../templates/kernel/pipeline/heads_within.cu.tera")),
    ("pipeline/index_in_source", include_str!("../templates/kernel/pipeline/index_in_source.cu.tera")),
    ("pipeline/index_in_tile", include_str!("../templates/kernel/pipeline/index_in_tile.cu.tera")),
    ("pipeline/kept_states", include_str!("../templates/kernel/pipeline/kept_states.cu.tera")),
    ("pipeline/kernel", include_str!("../templates/kernel/pipeline/kernel.cu.tera")),
    ("pipeline/layout", include_str!("../templates/kernel/pipeline/layout.cu.tera")),
    ("pipeline/load_ahead", include_str!("../templates/kernel/pipeline/load_ahead.cu.tera")),
    ("pipeline/load_on_demand", include_str!("../templates/kernel/pipeline/load_on_demand.cu.tera")),
    ("pipeline/look_ahead", include_str!("../templates/kernel/pipeline/look_ahead.cu.tera")),
    ("pipeline/look_ahead_of_groups", include_str!("../templates/kernel/pipeline/look_ahead_of_groups.cu.tera")),
    ("pipeline/look_ahead_round_robin", include_str!("../templates/kernel/pipeline/look_ahead_round_robin.cu.tera")),
    ("pipeline/no_heads", include_str!("../templates/kernel/pipeline/no_heads.cu.tera")),
    ("pipeline/no_index", include_str!("../templates/kernel/pipeline/no_index.cu.tera")),
    ("pipeline/no_kept_states", include_str!("../templates/kernel/pipeline/no_kept_states.cu.tera")),
    ("pipeline/no_parts", include_str!("../templates/kernel/pipeline/no_parts.cu.tera")),
    ("pipeline/no_stand_in", include_str!("../templates/kernel/pipeline/no_stand_in.cu.tera")),
    ("pipeline/no_tables", include_str!("../templates/kernel/pipeline/no_tables.cu.tera")),
    ("pipeline/no_total", include_str!("../templates/kernel/pipeline/no_total.cu.tera")),
    ("pipeline/offset_search", include_str!("../templates/kernel/pipeline/offset_search.cu.tera")),
    ("pipeline/overview", include_str!("../templates/kernel/pipeline/overview.cu.tera")),
    ("pipeline/prefix_before_run", include_str!("../templates/kernel/pipeline/prefix_before_run.cu.tera")),
    ("pipeline/prefixes", include_str!("../templates/kernel/pipeline/prefixes.cu.tera")),
    ("pipeline/results_apart", include_str!("../templates/kernel/pipeline/results_apart.cu.tera")),
    ("pipeline/results_in_place", include_str!("../templates/kernel/pipeline/results_in_place.cu.tera")),
    ("pipeline/run_part", include_str!("../templates/kernel/pipeline/run_part.cu.tera")),
    ("pipeline/run_parts", include_str!("../templates/kernel/pipeline/run_parts.cu.tera")),
    ("pipeline/run_parts_from_end", include_str!("../templates/kernel/pipeline/run_parts_from_end.cu.tera")),
    ("pipeline/scan_tile", include_str!("../templates/kernel/pipeline/scan_tile.cu.tera")),
    ("pipeline/stand_in", include_str!("../templates/kernel/pipeline/stand_in.cu.tera")),
    ("pipeline/tables", include_str!("../templates/kernel/pipeline/tables.cu.tera")),
    ("pipeline/team", include_str!("../templates/kernel/pipeline/team.cu.tera")),
    ("pipeline/tiles", include_str!("../templates/kernel/pipeline/tiles.cu.tera")),
    ("pipeline/total", include_str!("../templates/kernel/pipeline/total.cu.tera")),
    ("pipeline/transfer", include_str!("../templates/kernel/pipeline/transfer.cu.tera")),
    ("pipeline/window", include_str!("../templates/kernel/pipeline/window.cu.tera")),
    ("pipeline/window_of_own", include_str!("../templates/kernel/pipeline/window_of_own.cu.tera")),
    ("pipeline/window_of_packets", include_str!("../templates/kernel/pipeline/window_of_packets.cu.tera")),
    ("pipeline/window_of_runs", include_str!("../templates/kernel/pipeline/window_of_runs.cu.tera")),
    ("pipeline/window_of_statuses", include_str!("../templates/kernel/pipeline/window_of_statuses.cu.tera")),
    ("order/forward", include_str!("../templates/order/forward.cu.tera")),
    ("order/reversed", include_str!("../templates/order/reversed.cu.tera")),
    ("no_launches", include_str!("../templates/no_launches.cu.tera")),
    ("launches", include_str!("../templates/launches.cu.tera")),
    ("launch_order", include_str!("../templates/launch_order.cu.tera").trim_ascii_end()),
    ("machine", include_str!("../templates/machine.cu.tera")),
    ("barrier", include_str!("../templates/barrier.cu.tera").trim_ascii_end()),
    ("dynamic_shared_memory", include_str!("../templates/dynamic_shared_memory.cu.tera").trim_ascii_end()),
    ("bulk_copy", include_str!("../templates/bulk_copy.cu.tera").trim_ascii_end()),
    ("distributed_memory", include_str!("../templates/distributed_memory.cu.tera").trim_ascii_end()),
    ("tile", include_str!("../templates/tile.cu.tera")),
    ("extent", include_str!("../templates/extent.cu.tera").trim_ascii_end()),
    ("run_tile", include_str!("../templates/run_tile.cu.tera")),
    ("run_transfer", include_str!("../templates/run_transfer.cu.tera").trim_ascii_end()),
    ("run_scan", include_str!("../templates/run_scan.cu.tera").trim_ascii_end()),
    ("tile_declaration", include_str!("../templates/tile_declaration.cu.tera").trim_ascii_end()),
    ("head_masks", include_str!("../templates/value/head_masks.cu.tera")),
    ("no_head_masks", include_str!("../templates/value/no_head_masks.cu.tera")),
    ("start_none", include_str!("../templates/value/start_none.cu.tera")),
    ("start_value", include_str!("../templates/value/start_value.cu.tera")),
    ("start_late", include_str!("../templates/value/start_late.cu.tera")),
    ("starts_empty", include_str!("../templates/value/starts_empty.cu.tera")),
    ("starts_with_value", include_str!("../templates/value/starts_with_value.cu.tera")),
    ("start_carry", include_str!("../templates/value/start_carry.cu.tera")),
    ("state_fold", include_str!("../templates/value/state_fold.cu.tera")),
    ("state_input", include_str!("../templates/value/state_input.cu.tera")),
    ("prepend", include_str!("../templates/value/prepend.cu.tera")),
    ("cursor_prefix", include_str!("../templates/value/cursor_prefix.cu.tera")),
    ("cursor_carry", include_str!("../templates/value/cursor_carry.cu.tera")),
    ("index_rows", include_str!("../templates/heads/index_rows.cu.tera")),
    ("index_offsets", include_str!("../templates/heads/index_offsets.cu.tera")),
    ("starts", include_str!("../templates/heads/starts.cu.tera")),
    ("no_starts", include_str!("../templates/heads/no_starts.cu.tera")),
    ("segment", include_str!("../templates/heads/segment.cu.tera")),
    ("no_segment", include_str!("../templates/heads/no_segment.cu.tera")),
    ("totals_of_empty", include_str!("../templates/heads/totals_of_empty.cu.tera")),
    ("no_totals_of_empty", include_str!("../templates/heads/no_totals_of_empty.cu.tera")),
    ("totals", include_str!("../templates/heads/totals.cu.tera")),
    ("no_totals", include_str!("../templates/heads/no_totals.cu.tera")),
    ("shared_tile", include_str!("../templates/shared_tile.cu.tera")),
    ("register_tile", include_str!("../templates/register_tile.cu.tera")),
    ("reduce_run_from_end", include_str!("../templates/block/reduce_run_from_end.cu.tera")),
    ("prefix", include_str!("../templates/value/prefix.cu.tera").trim_ascii_end()),
    ("opaque", include_str!("../templates/value/opaque.cu.tera").trim_ascii_end()),
    ("no_heads", include_str!("../templates/heads/none.cu.tera").trim_ascii_end()),
    ("segments", include_str!("../templates/heads/segments.cu.tera").trim_ascii_end()),
    ("heads/entries", include_str!("../templates/heads/entries.cu.tera").trim_ascii_end()),
    ("heads/flags", include_str!("../templates/heads/flags.cu.tera").trim_ascii_end()),
    ("heads/bits", include_str!("../templates/heads/bits.cu.tera").trim_ascii_end()),
    ("heads/keys", include_str!("../templates/heads/keys.cu.tera").trim_ascii_end()),
    ("heads/rows", include_str!("../templates/heads/rows.cu.tera").trim_ascii_end()),
    ("heads/offsets", include_str!("../templates/heads/offsets.cu.tera").trim_ascii_end()),
    ("heads/of_tile", include_str!("../templates/heads/of_tile.cu.tera").trim_ascii_end()),
    ("heads/of_runs", include_str!("../templates/heads/of_runs.cu.tera").trim_ascii_end()),
    ("heads/run_heads", include_str!("../templates/heads/run_heads.cu.tera").trim_ascii_end()),
    ("sequential", include_str!("../templates/block/sequential.cu.tera")),
    ("naive", include_str!("../templates/block/naive.cu.tera")),
    ("kogge_stone", include_str!("../templates/block/kogge_stone.cu.tera")),
    ("hillis_steele", include_str!("../templates/block/hillis_steele.cu.tera")),
    ("brent_kung", include_str!("../templates/block/brent_kung.cu.tera")),
    ("blelloch", include_str!("../templates/block/blelloch.cu.tera")),
    ("scan_warp", include_str!("../templates/block/scan_warp.cu.tera").trim_ascii_end()),
    ("warp/kogge_stone", include_str!("../templates/warp/kogge_stone.cu.tera").trim_ascii_end()),
    ("warp/sklansky", include_str!("../templates/warp/sklansky.cu.tera").trim_ascii_end()),
    ("warp/ladner_fischer", include_str!("../templates/warp/ladner_fischer.cu.tera").trim_ascii_end()),
    ("warp/han_carlson", include_str!("../templates/warp/han_carlson.cu.tera").trim_ascii_end()),
    ("warp/brent_kung", include_str!("../templates/warp/brent_kung.cu.tera").trim_ascii_end()),
    ("reduce_run", include_str!("../templates/block/reduce_run.cu.tera").trim_ascii_end()),
    ("warp_shuffle", include_str!("../templates/block/warp_shuffle.cu.tera")),
    ("coarsened", include_str!("../templates/block/coarsened.cu.tera")),
    ("in_registers", include_str!("../templates/block/in_registers.cu.tera")),
    ("scan_tile", include_str!("../templates/block/scan_tile.cu.tera")),
    ("kernel/empty_segments", include_str!("../templates/kernel/empty_segments.cu.tera").trim_ascii_end()),
    ("kernel/parameters", include_str!("../templates/kernel/parameters.cu.tera").trim_ascii_end()),
    ("tile_per_block", include_str!("../templates/kernel/tile_per_block.cu.tera")),
    ("one_block", include_str!("../templates/carry/one_block.cu.tera")),
    ("status", include_str!("../templates/carry/status.cu.tera")),
    ("chained", include_str!("../templates/carry/chained.cu.tera")),
    ("look_back", include_str!("../templates/carry/look_back.cu.tera")),
    ("look_at_all", include_str!("../templates/carry/look_at_all.cu.tera")),
    ("cluster", include_str!("../templates/carry/cluster.cu.tera")),
    ("packed_row", include_str!("../templates/kernel/columns/packed_row.cu.tera")),
    ("columns/part", include_str!("../templates/kernel/columns/part.cu.tera")),
    ("columns/strided", include_str!("../templates/kernel/columns/strided.cu.tera")),
    ("columns/neighbours", include_str!("../templates/kernel/columns/neighbours.cu.tera")),
    ("columns/rows", include_str!("../templates/kernel/columns/rows.cu.tera")),
    ("columns/scan", include_str!("../templates/kernel/columns/scan.cu.tera")),
    ("columns/carry", include_str!("../templates/kernel/columns/carry.cu.tera")),
    ("columns/kernel", include_str!("../templates/kernel/columns/kernel.cu.tera")),
    ("reduce_then_scan", include_str!("../templates/carry/reduce_then_scan.cu.tera")),
    ("reduce_tile", include_str!("../templates/reduce/tile.cu.tera")),
    ("reduce_divergent", include_str!("../templates/reduce/divergent.cu.tera")),
    ("reduce_contiguous", include_str!("../templates/reduce/contiguous.cu.tera")),
    ("reduce_coarsened", include_str!("../templates/reduce/coarsened.cu.tera")),
    ("reduce_kernels", include_str!("../templates/reduce/kernels.cu.tera")),
    ("last_results_of_rows", include_str!("../templates/reduce/last_results_of_rows.cu.tera")),
    ("last_results_of_offsets", include_str!("../templates/reduce/last_results_of_offsets.cu.tera")),
    ("last_results_counted", include_str!("../templates/reduce/last_results_counted.cu.tera")),
];

static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| Templates::parse(PARTS));

/// Templates, parsed once a process, which takes as long as writing a kernel. One that does not parse is found by the tests of
/// this crate; it is kept as an error all the same, because a library must not panic.
pub struct Templates(Result<Tera, RenderError>);

impl Templates {
    /// The templates of the kernels.
    pub fn of_kernels() -> &'static Self {
        &TEMPLATES
    }

    /// The text of each of these templates, by name.
    pub fn texts() -> impl Iterator<Item = (&'static str, &'static str)> {
        PARTS.iter().copied()
    }

    /// The templates of the kernels, each as `change` makes it of its name and its text: for tests that plant faults.
    pub fn changed(change: impl Fn(&str, &str) -> String) -> Self {
        let mut tera = Tera::new();
        let texts: Vec<_> = PARTS.iter().map(|(name, text)| (*name, change(name, text))).collect();
        Templates(tera.add_raw_templates(texts).map(|()| tera).map_err(RenderError::from))
    }

    /// Parses templates, by name.
    pub(crate) fn parse(parts: &[(&'static str, &'static str)]) -> Self {
        let mut tera = Tera::new();
        Templates(tera.add_raw_templates(parts.iter().copied()).map(|()| tera).map_err(RenderError::from))
    }

    pub(crate) fn render(&self, name: &str, context: &Context) -> Result<String, RenderError> {
        match &self.0 {
            Ok(tera) => Ok(tera.render(name, context)?),
            Err(error) => Err(error.clone()),
        }
    }
}

/// Every identifier that the kernels use themselves, so that the user's names can keep out of their way.
pub(crate) static KERNEL_NAMES: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let is_part_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // What follows the template comments, and of that what precedes the CUDA comments.
    let texts = PARTS.iter().flat_map(|(_, text)| text.split("{#"));
    let lines = texts.flat_map(|text| text.split_once("#}").map_or(text, |(_, text)| text).lines());
    let code = lines.map(|line| line.split("//").next().unwrap_or_default());
    let words = code.flat_map(|line| line.split(move |c| !is_part_of_name(c)));
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_templates_parse() {
        assert!(TEMPLATES.0.is_ok(), "{:?}", TEMPLATES.0.as_ref().err());
    }

    #[test]
    fn kernel_names_are_those_of_the_code() {
        for name in ["tile", "aggregate", "exclusive_prefix", "TileStatus", "kogge_stone", "Padded", "threadIdx"] {
            assert!(KERNEL_NAMES.contains(name), "{name}");
        }
        assert!(!KERNEL_NAMES.contains("neighbouring"), "a word of a comment");
        assert!(!KERNEL_NAMES.contains("Sees"), "a word of a comment of a template");
    }
}
