//! The templates of the kernels.

use std::{collections::BTreeSet, sync::LazyLock};

use tera::{Context, Tera};

use crate::{
    error::RenderError,
    rooms::{Room, Rooms},
};

/// A template of a kernel's part.
struct Part {
    room: Room,
    name: &'static str,
    text: &'static str,
}

macro_rules! parts {
    ($($room:ident { $($name:literal: $path:literal,)* })*) => {
        &[$($(Part {
            room: Room::$room,
            name: $name,
            text: include_str!(concat!("../templates/", $path, ".cu.tera")).trim_ascii_end(),
        },)*)*]
    };
}

/// Every template of a kernel's part, by the room whose words it reads: its name and its file.
const PARTS: &[Part] = parts! {
    Heading {
        "heading": "heading",
    }
    Types {
        "types": "types",
    }
    Order {
        "order/bounds": "order/bounds",
        "order/forward": "order/forward",
        "order/reversed": "order/reversed",
    }
    Intrinsics {
        "no_launches": "intrinsics/no_launches",
        "launches": "intrinsics/launches",
        "intrinsics": "intrinsics/common",
        "barrier": "intrinsics/barrier",
        "dynamic_shared_memory": "intrinsics/dynamic_shared_memory",
        "bulk_copy": "intrinsics/bulk_copy",
        "distributed_memory": "intrinsics/distributed_memory",
    }
    Arrays {
        "zipped/kinds": "zipped/kinds",
        "zipped/neighbours": "zipped/neighbours",
        "zipped/bits": "zipped/bits",
        "zipped/arrays": "zipped/arrays",
        "one_array/overlap": "one_array/overlap",
    }
    Stage {
        "zipped/computed": "zipped/computed",
        "zipped/run": "zipped/run",
        "zipped/transfer": "zipped/transfer",
        "one_array/tile": "one_array/tile",
        "one_array/stage": "one_array/stage",
        "one_array/words": "one_array/words",
        "one_array/bytes": "one_array/bytes",
        "one_array/rest": "one_array/rest",
        "one_array/transfer": "one_array/transfer",
        "zipped/tile": "zipped/tile",
        "zipped/items": "zipped/items",
        "zipped/scattered": "zipped/scattered",
        "zipped/consecutive": "zipped/consecutive",
        "zipped/results": "zipped/results",
        "zipped/units": "zipped/units",
    }
    Runs {
        "load_tile": "load_tile",
        "run/unit": "run/unit",
        "run/of_units": "run/of_units",
        "run/of_elements": "run/of_elements",
        "run/streamed": "run/streamed",
        "results/unit": "results/unit",
        "results/of_units": "results/of_units",
        "results/streamed": "results/streamed",
        "results/of_elements": "results/of_elements",
        "results/in_units": "results/in_units",
        "results/in_words": "results/in_words",
        "results/as_completed": "results/as_completed",
        "results/of_part": "results/of_part",
        "run_tile": "run_tile",
        "run_transfer": "run_transfer",
        "run_scan": "run_scan",
        "register_tile": "register_tile",
    }
    Tile {
        "tile": "tile",
        "extent": "extent",
        "shared_tile": "shared_tile",
    }
    Value {
        "transparent": "value/transparent",
        "head_masks": "value/head_masks",
        "no_head_masks": "value/no_head_masks",
        "start_none": "value/start_none",
        "start_value": "value/start_value",
        "start_late": "value/start_late",
        "starts_empty": "value/starts_empty",
        "starts_with_value": "value/starts_with_value",
        "start_carry": "value/start_carry",
        "state_fold": "value/state_fold",
        "state_input": "value/state_input",
        "prepend": "value/prepend",
        "cursor_prefix": "value/cursor_prefix",
        "cursor_carry": "value/cursor_carry",
        "prefix": "value/prefix",
        "opaque": "value/opaque",
    }
    Heads {
        "index_rows": "heads/index_rows",
        "index_offsets": "heads/index_offsets",
        "starts": "heads/starts",
        "no_starts": "heads/no_starts",
        "segment": "heads/segment",
        "no_segment": "heads/no_segment",
        "totals_of_empty": "heads/totals_of_empty",
        "no_totals_of_empty": "heads/no_totals_of_empty",
        "totals": "heads/totals",
        "no_totals": "heads/no_totals",
        "no_heads": "heads/none",
        "segments": "heads/segments",
        "heads/entries": "heads/entries",
        "heads/flags": "heads/flags",
        "heads/bits": "heads/bits",
        "heads/keys": "heads/keys",
        "heads/rows": "heads/rows",
        "heads/offsets": "heads/offsets",
        "heads/values": "heads/values",
        "heads/of_tile": "heads/of_tile",
        "heads/of_runs": "heads/of_runs",
        "heads/run_heads": "heads/run_heads",
    }
    Block {
        "reduce_run_from_end": "block/reduce_run_from_end",
        "sequential": "block/sequential",
        "naive": "block/naive",
        "kogge_stone": "block/kogge_stone",
        "hillis_steele": "block/hillis_steele",
        "brent_kung": "block/brent_kung",
        "blelloch": "block/blelloch",
        "scan_warp": "block/scan_warp",
        "warp/kogge_stone": "warp/kogge_stone",
        "warp/sklansky": "warp/sklansky",
        "warp/ladner_fischer": "warp/ladner_fischer",
        "warp/han_carlson": "warp/han_carlson",
        "warp/brent_kung": "warp/brent_kung",
        "reduce_run": "block/reduce_run",
        "warp_shuffle": "block/warp_shuffle",
        "coarsened": "block/coarsened",
        "in_registers": "block/in_registers",
        "scan_tile": "block/scan_tile",
    }
    Status {
        "status": "carry/status",
    }
    Carry {
        "tile_per_block": "kernel/tile_per_block",
        "one_block": "carry/one_block",
        "chained": "carry/chained",
        "look_back": "carry/look_back",
        "look_at_all": "carry/look_at_all",
        "cluster": "carry/cluster",
        "reduce_then_scan": "carry/reduce_then_scan",
    }
    Kernel {
        "kernel/begin": "kernel/begin",
        "kernel/length": "kernel/length",
        "kernel/nothing": "kernel/nothing",
        "kernel/no_elements": "kernel/no_elements",
        "launch_order": "launch_order",
        "tile_declaration": "tile_declaration",
        "kernel/empty_segments": "kernel/empty_segments",
        "kernel/parameters": "kernel/parameters",
    }
    Layout {
        "pipeline/copied_heads": "kernel/pipeline/copied_heads",
        "pipeline/heads": "kernel/pipeline/heads",
        "pipeline/heads_by_offsets": "kernel/pipeline/heads_by_offsets",
        "pipeline/heads_by_rows": "kernel/pipeline/heads_by_rows",
        "pipeline/layout": "kernel/pipeline/layout",
        "pipeline/no_copied_heads": "kernel/pipeline/no_copied_heads",
        "pipeline/no_heads": "kernel/pipeline/no_heads",
    }
    Tables {
        "pipeline/no_tables": "kernel/pipeline/no_tables",
        "pipeline/tables": "kernel/pipeline/tables",
    }
    Pipeline {
        "pipeline/block": "kernel/pipeline/block",
        "pipeline/carry_before_run": "kernel/pipeline/carry_before_run",
        "pipeline/copy": "kernel/pipeline/copy",
        "pipeline/edges": "kernel/pipeline/edges",
        "pipeline/edges_of_all": "kernel/pipeline/edges_of_all",
        "pipeline/element_results": "kernel/pipeline/element_results",
        "pipeline/elements": "kernel/pipeline/elements",
        "pipeline/elements_from_end": "kernel/pipeline/elements_from_end",
        "pipeline/first_value": "kernel/pipeline/first_value",
        "pipeline/late_value": "kernel/pipeline/late_value",
        "pipeline/fold_window": "kernel/pipeline/fold_window",
        "pipeline/head_bits": "kernel/pipeline/head_bits",
        "pipeline/head_flags": "kernel/pipeline/head_flags",
        "pipeline/head_keys": "kernel/pipeline/head_keys",
        "pipeline/heads_anywhere": "kernel/pipeline/heads_anywhere",
        "pipeline/heads_within": "kernel/pipeline/heads_within",
        "pipeline/index_in_source": "kernel/pipeline/index_in_source",
        "pipeline/index_in_tile": "kernel/pipeline/index_in_tile",
        "pipeline/kept_states": "kernel/pipeline/kept_states",
        "pipeline/kernel": "kernel/pipeline/kernel",
        "pipeline/load_ahead": "kernel/pipeline/load_ahead",
        "pipeline/load_on_demand": "kernel/pipeline/load_on_demand",
        "pipeline/look_ahead": "kernel/pipeline/look_ahead",
        "pipeline/look_ahead_of_groups": "kernel/pipeline/look_ahead_of_groups",
        "pipeline/look_ahead_round_robin": "kernel/pipeline/look_ahead_round_robin",
        "pipeline/no_index": "kernel/pipeline/no_index",
        "pipeline/no_kept_states": "kernel/pipeline/no_kept_states",
        "pipeline/no_parts": "kernel/pipeline/no_parts",
        "pipeline/no_stand_in": "kernel/pipeline/no_stand_in",
        "pipeline/no_total": "kernel/pipeline/no_total",
        "pipeline/offset_search": "kernel/pipeline/offset_search",
        "pipeline/overview": "kernel/pipeline/overview",
        "pipeline/prefix_before_run": "kernel/pipeline/prefix_before_run",
        "pipeline/prefixes": "kernel/pipeline/prefixes",
        "pipeline/results_apart": "kernel/pipeline/results_apart",
        "pipeline/results_in_place": "kernel/pipeline/results_in_place",
        "pipeline/run_part": "kernel/pipeline/run_part",
        "pipeline/run_parts": "kernel/pipeline/run_parts",
        "pipeline/run_parts_from_end": "kernel/pipeline/run_parts_from_end",
        "pipeline/scan_run": "kernel/pipeline/scan_run",
        "pipeline/scan_indexed_run": "kernel/pipeline/scan_indexed_run",
        "pipeline/scan_tile": "kernel/pipeline/scan_tile",
        "pipeline/stand_in": "kernel/pipeline/stand_in",
        "pipeline/team": "kernel/pipeline/team",
        "pipeline/tiles": "kernel/pipeline/tiles",
        "pipeline/total": "kernel/pipeline/total",
        "pipeline/transfer": "kernel/pipeline/transfer",
        "pipeline/whole_run": "kernel/pipeline/whole_run",
        "pipeline/window": "kernel/pipeline/window",
        "pipeline/window_of_own": "kernel/pipeline/window_of_own",
        "pipeline/window_of_packets": "kernel/pipeline/window_of_packets",
        "pipeline/window_of_runs": "kernel/pipeline/window_of_runs",
        "pipeline/window_of_statuses": "kernel/pipeline/window_of_statuses",
    }
    Columns {
        "packed_row": "kernel/columns/packed_row",
        "columns/part": "kernel/columns/part",
        "columns/strided": "kernel/columns/strided",
        "columns/repeated": "kernel/columns/repeated",
        "columns/neighbours": "kernel/columns/neighbours",
        "columns/rows": "kernel/columns/rows",
        "columns/load_by_threads": "kernel/columns/load_by_threads",
        "columns/load_by_warps": "kernel/columns/load_by_warps",
        "columns/scan": "kernel/columns/scan",
        "columns/carry": "kernel/columns/carry",
        "columns/kernel": "kernel/columns/kernel",
        "columns/own_starts": "kernel/columns/own_starts",
        "columns/equal_starts": "kernel/columns/equal_starts",
        "columns/totals": "kernel/columns/totals",
        "columns/scan_down": "kernel/columns/scan_down",
        "columns/streams": "kernel/columns/streams",
    }
    Reduce {
        "reduce_tile": "reduce/tile",
        "reduce_tree": "reduce/tree",
        "reduce_divergent": "reduce/divergent",
        "reduce_contiguous": "reduce/contiguous",
        "reduce_coarsened": "reduce/coarsened",
        "reduce_kernels": "reduce/kernels",
    }
    LastResults {
        "last_results": "reduce/last_results",
        "last_results_of_rows": "reduce/last_results_of_rows",
        "last_results_of_offsets": "reduce/last_results_of_offsets",
        "last_results_counted": "reduce/last_results_counted",
        "reduce_ranges": "reduce/ranges",
    }
};

static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| Templates::changed(|_, text| text.to_owned()));

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
        PARTS.iter().map(|part| (part.name, part.text))
    }

    /// The room of each.
    #[cfg(test)]
    pub(crate) fn rooms() -> impl Iterator<Item = (&'static str, Room)> {
        PARTS.iter().map(|part| (part.name, part.room))
    }

    /// The templates of the kernels, each as `change` makes it of its name and its text: for tests that plant faults.
    pub fn changed(change: impl Fn(&str, &str) -> String) -> Self {
        let mut tera = Tera::new();
        let texts: Vec<_> = Templates::texts().map(|(name, text)| (name, change(name, text))).collect();
        Templates(tera.add_raw_templates(texts).map(|()| tera).map_err(RenderError::from))
    }

    /// Parses templates, by name.
    pub(crate) fn parse(parts: &[(&'static str, &'static str)]) -> Self {
        let mut tera = Tera::new();
        Templates(tera.add_raw_templates(parts.iter().copied()).map(|()| tera).map_err(RenderError::from))
    }

    /// The text of a template of the kernels, with the words that its room may read.
    pub(crate) fn part(&self, name: &str, rooms: &Rooms) -> Result<String, RenderError> {
        let part = PARTS.iter().find(|part| part.name == name);
        self.render(name, &part.map(|part| rooms.context_of(part.room)).unwrap_or_default())
    }

    pub(crate) fn render(&self, name: &str, context: &Context) -> Result<String, RenderError> {
        match &self.0 {
            Ok(tera) => Ok(tera.render(name, context)?),
            Err(error) => Err(error.clone()),
        }
    }
}

/// Every identifier that the kernels use themselves, so that the user's names can keep out of their way.
pub(crate) static KERNEL_NAMES: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let without_tags = |text: &str| {
        let tags = [("{#", "#}"), ("{%", "%}"), ("{{", "}}")];
        tags.into_iter().fold(text.to_owned(), |text, (open, close)| {
            let (before, tags) = text.split_once(open).unwrap_or((&text, ""));
            let behind = tags.split(open).filter_map(|tag| tag.split_once(close)).map(|(_, behind)| behind);
            [before].into_iter().chain(behind).collect::<Vec<_>>().join(" ")
        })
    };
    let mut names = BTreeSet::new();
    for (_, text) in Templates::texts() {
        let text = without_tags(text);
        let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        let words = code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
        names.extend(words.filter(|word| word.starts_with(|c: char| !c.is_ascii_digit())).map(str::to_owned));
    }
    names
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
        assert!(!KERNEL_NAMES.contains("launch_order"), "a word of a tag");
    }
}
