//! The shape of the templates: how many conditions they have, where, and what they speak of. Each figure is a maximum that
//! only goes down. What a feature needs is a file of its own with a function, not a flag in the files of others.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tera::Value;

use crate::{
    Arrays, DeviceLimits, ElementType, Overrides, Primitive, Reduction, ScanSpec, Segments, columns, last_results,
    operator::{FunctionSource, OpSource, Piece, operator_of},
    operator_text::operator_text,
    plan, plan_columns, plan_last_results, plan_reduction, reduce, render,
    target::Target,
    templates::Templates,
};

/// Conditions of all kernel templates (the operator's text, the prelude and the elements aside).
const CONDITIONS: usize = 95;
/// Those of them that stand inside a line of CUDA.
const INSIDE_A_LINE: usize = 0;
/// Those that ask for things of two axes.
const OF_TWO_AXES: usize = 0;
/// In one file.
const IN_A_FILE: usize = 6;
/// Distinct names that conditions ask for.
const FLAGS: usize = 31;
/// Fields of the largest context, with those of the operator.
const FIELDS: usize = 116;
/// Templates that begin with what they see of the text around them, and so are no functions.
const SEES: usize = 0;
/// Lines of kernel templates that are not blank.
const LINES: usize = 6008;
const LINES_OF_A_FILE: usize = 300;

/// What a scan is made of, and the names by which templates ask for it.
const AXES: [(&str, &[&str]); 5] = [
    (
        "algebra",
        &[
            "machine",
            "takes_inputs",
            "lifts",
            "projects",
            "emits",
            "appends",
            "folds_backwards",
            "keeps_states",
            "hides_states",
        ],
    ),
    (
        "start and total",
        &[
            "initial_value",
            "initial_values",
            "initial_on_device",
            "seeds",
            "folds_seeds",
            "total",
            "totals",
            "length_on_device",
        ],
    ),
    (
        "arrays",
        &[
            "zipped",
            "input_by_field",
            "output_by_field",
            "input_in_slices",
            "output_in_slices",
            "in_place",
            "computed",
            "input_unit",
            "output_unit",
            "input_in_words",
            "output_in_words",
            "runs_are_units",
        ],
    ),
    ("heads", &["segmented", "heads_by", "indexed"]),
    (
        "carry",
        &[
            "grouped",
            "stands_in",
            "looks_at_all",
            "looks_ahead",
            "clusters",
            "coarsened",
            "in_registers",
            "alone",
            "one_tile",
            "network_exclusive",
            "padded",
        ],
    ),
];

/// The templates that each renderer begins with.
const ROOTS_OF_RENDER: &[&str] = &[
    "heading",
    "types",
    "order/forward",
    "order/reversed",
    "zipped/kinds",
    "zipped/neighbours",
    "zipped/computed",
    "zipped/arrays",
    "launches",
    "no_launches",
    "machine",
    "status",
    "run_tile",
    "tile",
    "head_masks",
    "no_head_masks",
    "prefix",
    "start_none",
    "start_value",
    "start_late",
    "start_carry",
    "starts_empty",
    "starts_with_value",
    "no_heads",
    "segments",
    "heads/entries",
    "heads/flags",
    "heads/bits",
    "heads/keys",
    "heads/rows",
    "heads/offsets",
    "index_rows",
    "index_offsets",
    "starts",
    "no_starts",
    "segment",
    "no_segment",
    "totals",
    "no_totals",
    "totals_of_empty",
    "no_totals_of_empty",
    "heads/of_tile",
    "heads/of_runs",
    "heads/run_heads",
    "state_fold",
    "state_input",
    "prepend",
    "cursor_prefix",
    "cursor_carry",
    "shared_tile",
    "register_tile",
    "scan_warp",
    "warp/kogge_stone",
    "warp/sklansky",
    "warp/ladner_fischer",
    "warp/han_carlson",
    "warp/brent_kung",
    "reduce_run",
    "reduce_run_from_end",
    "in_registers",
    "sequential",
    "naive",
    "kogge_stone",
    "hillis_steele",
    "brent_kung",
    "blelloch",
    "warp_shuffle",
    "coarsened",
    "scan_tile",
    "one_block",
    "chained",
    "look_back",
    "look_at_all",
    "cluster",
    "reduce_then_scan",
    "tile_per_block",
    "bulk_copy",
    "distributed_memory",
    "barrier",
    "dynamic_shared_memory",
    "extent",
    "run_transfer",
    "load_tile",
    "run_scan",
    "opaque",
    "transparent",
    "one_array/overlap",
    "one_array/tile",
    "one_array/stage",
    "one_array/transfer",
    "one_array/words",
    "one_array/bytes",
    "one_array/rest",
    "zipped/tile",
    "zipped/items",
    "zipped/units",
    "zipped/run",
    "zipped/transfer",
    "run/of_units",
    "run/of_elements",
    "run/streamed",
    "results/streamed",
    "results/of_elements",
    "results/in_units",
    "results/in_words",
    "results/as_completed",
    "results/of_part",
    "pipeline/block",
    "pipeline/carry_before_run",
    "pipeline/copied_heads",
    "pipeline/copy",
    "pipeline/edges",
    "pipeline/edges_of_all",
    "pipeline/element_results",
    "pipeline/elements",
    "pipeline/elements_from_end",
    "pipeline/first_value",
    "pipeline/late_value",
    "pipeline/fold_window",
    "pipeline/head_bits",
    "pipeline/head_flags",
    "pipeline/head_keys",
    "pipeline/heads",
    "pipeline/heads_anywhere",
    "pipeline/heads_by_offsets",
    "pipeline/heads_by_rows",
    "pipeline/heads_within",
    "pipeline/index_in_source",
    "pipeline/index_in_tile",
    "pipeline/kept_states",
    "pipeline/kernel",
    "pipeline/layout",
    "pipeline/load_ahead",
    "pipeline/load_on_demand",
    "pipeline/look_ahead",
    "pipeline/look_ahead_of_groups",
    "pipeline/look_ahead_round_robin",
    "pipeline/no_heads",
    "pipeline/no_index",
    "pipeline/no_kept_states",
    "pipeline/no_parts",
    "pipeline/no_stand_in",
    "pipeline/no_tables",
    "pipeline/no_total",
    "pipeline/offset_search",
    "pipeline/overview",
    "pipeline/prefix_before_run",
    "pipeline/prefixes",
    "pipeline/results_apart",
    "pipeline/results_in_place",
    "pipeline/run_part",
    "pipeline/run_parts",
    "pipeline/run_parts_from_end",
    "pipeline/scan_tile",
    "pipeline/stand_in",
    "pipeline/tables",
    "pipeline/team",
    "pipeline/tiles",
    "pipeline/total",
    "pipeline/transfer",
    "pipeline/window",
    "pipeline/window_of_own",
    "pipeline/window_of_packets",
    "pipeline/window_of_runs",
    "pipeline/window_of_statuses",
];
const ROOTS_OF_COLUMNS: &[&str] = &[
    "heading",
    "types",
    "order/forward",
    "order/reversed",
    "launches",
    "machine",
    "dynamic_shared_memory",
    "columns/part",
    "zipped/neighbours",
    "columns/neighbours",
    "columns/strided",
    "zipped/arrays",
    "packed_row",
    "status",
    "no_head_masks",
    "prefix",
    "start_none",
    "start_value",
    "start_carry",
    "starts_empty",
    "starts_with_value",
    "opaque",
    "transparent",
    "state_fold",
    "state_input",
    "prepend",
    "cursor_prefix",
    "cursor_carry",
    "columns/rows",
    "columns/scan",
    "columns/carry",
    "columns/kernel",
];
const ROOTS_OF_REDUCE: &[&str] = &[
    "heading",
    "types",
    "no_head_masks",
    "prefix",
    "start_none",
    "start_value",
    "start_carry",
    "starts_empty",
    "starts_with_value",
    "state_fold",
    "state_input",
    "prepend",
    "cursor_prefix",
    "cursor_carry",
    "reduce_tile",
    "reduce_divergent",
    "reduce_contiguous",
    "reduce_coarsened",
    "reduce_kernels",
];
const ROOTS_OF_LAST_RESULTS: &[&str] = &[
    "heading",
    "types",
    "heads/flags",
    "heads/bits",
    "heads/keys",
    "last_results_of_rows",
    "last_results_of_offsets",
    "last_results_counted",
];

/// A tag of a template, and whether it stands in a line with CUDA.
struct Tag<'a> {
    text: &'a str,
    is_inside_a_line: bool,
}

/// The tags `{% … %}` of a template.
fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    for line in text.lines() {
        let mut found = Vec::new();
        let (mut rest, mut code) = (line, String::new());
        while let Some((before, after)) = rest.split_once("{%") {
            let Some((tag, behind)) = after.split_once("%}") else { break };
            code.push_str(before);
            found.push(tag.trim_matches('-').trim());
            rest = behind;
        }
        code.push_str(rest);
        let is_inside_a_line = !code.trim().is_empty();
        tags.extend(found.into_iter().map(|text| Tag { text, is_inside_a_line }));
    }
    tags
}

/// What a condition asks, of a tag that is one.
fn condition<'a>(tag: &Tag<'a>) -> Option<&'a str> {
    tag.text.strip_prefix("if ").or_else(|| tag.text.strip_prefix("elif "))
}

/// The names in an expression of a template: the first part of each path.
fn names(expression: &str) -> BTreeSet<&str> {
    let outside_of_quotes = expression.split('"').step_by(2);
    let words = outside_of_quotes.flat_map(|part| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        part.split(move |c: char| !is_part(c))
    });
    let firsts = words.map(|word| word.split('.').next().unwrap_or_default());
    let is_word = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    firsts.filter(is_word).filter(|word| !["and", "or", "not", "in", "is", "true", "false"].contains(word)).collect()
}

/// Kernel templates, by name.
fn kernel_templates() -> impl Iterator<Item = (&'static str, &'static str)> {
    Templates::texts()
}

#[test]
fn conditions_only_become_fewer() {
    let (mut all, mut inside, mut mixed) = (0, 0, Vec::new());
    let mut flags = BTreeSet::new();
    let mut worst = (0, "");
    for (name, text) in kernel_templates() {
        let tags = tags(text);
        let conditions: Vec<_> = tags.iter().filter_map(|tag| Some((condition(tag)?, tag))).collect();
        worst = worst.max((conditions.len(), name));
        all += conditions.len();
        for (condition, tag) in conditions {
            inside += usize::from(tag.is_inside_a_line);
            let names = names(condition);
            let asked = AXES.iter().filter(|(_, of_axis)| of_axis.iter().any(|flag| names.contains(flag)));
            if asked.count() > 1 {
                mixed.push(format!("{name}: {condition}"));
            }
            flags.extend(names);
        }
    }
    println!(
        "{all} conditions, {inside} inside a line, {} of two axes, {} flags, worst {worst:?}",
        mixed.len(),
        flags.len()
    );
    assert!(all <= CONDITIONS, "{all} conditions");
    assert_eq!(inside, INSIDE_A_LINE, "{inside} conditions inside a line of CUDA");
    assert_eq!(mixed.len(), OF_TWO_AXES, "{}: {mixed:#?}", mixed.len());
    assert!(worst.0 <= IN_A_FILE, "{worst:?}");
    assert!(flags.len() <= FLAGS, "{}: {flags:?}", flags.len());
}

#[test]
fn templates_only_become_shorter() {
    let mut lines = 0;
    for (name, text) in kernel_templates() {
        let of_file = text.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(of_file <= LINES_OF_A_FILE, "{name} has {of_file} lines");
        lines += of_file;
    }
    let sees = kernel_templates().filter(|(_, text)| text.contains("Sees ")).count();
    println!("{lines} lines, {sees} that see");
    assert!(lines <= LINES, "{lines} lines");
    assert_eq!(sees, SEES, "{sees} templates see the text around them");
}

/// The templates that one renderer uses, with their texts.
fn used_by(roots: &[&'static str]) -> BTreeMap<&'static str, &'static str> {
    let texts: BTreeMap<_, _> = Templates::texts().collect();
    let mut waiting = roots.to_vec();
    let mut used = BTreeMap::new();
    while let Some(name) = waiting.pop() {
        if let Some(&text) = texts.get(name).filter(|_| !used.contains_key(name)) {
            used.insert(name, text);
            waiting
                .extend(tags(text).iter().filter_map(|tag| Some(tag.text.strip_prefix("include ")?.trim_matches('"'))));
        }
    }
    used
}

#[test]
fn every_template_is_among_those_of_a_renderer() {
    let used: BTreeSet<_> = renderers().iter().flat_map(|(_, roots, _)| used_by(roots).into_keys()).collect();
    let others: Vec<_> = Templates::texts().map(|(name, _)| name).filter(|name| !used.contains(name)).collect();
    assert!(others.is_empty(), "list them among the roots: {others:?}");
}

/// What the templates that one renderer uses read, and where.
fn read_by(roots: &[&'static str]) -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut read: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, text) in used_by(roots) {
        let mut own = BTreeSet::from(["loop"]);
        let mut note = |names: BTreeSet<&'static str>| {
            for word in names {
                read.entry(word).or_default().insert(name);
            }
        };
        for tag in tags(text) {
            let (verb, rest) = tag.text.split_once(' ').unwrap_or((tag.text, ""));
            match verb {
                "set" | "set_global" => {
                    let (variable, value) = rest.split_once('=').unwrap_or((rest, ""));
                    own.insert(variable.trim());
                    note(names(value));
                }
                "for" => {
                    let (variable, value) = rest.split_once(" in ").unwrap_or((rest, ""));
                    own.insert(variable.trim());
                    note(names(value));
                }
                "if" | "elif" => {
                    note(names(rest));
                }
                _ => {}
            }
        }
        for part in text.split("{{").skip(1) {
            let expression = part.split("}}").next().unwrap_or_default();
            note(names(expression));
        }
        for variable in own {
            if let Some(places) = read.get_mut(variable) {
                places.remove(name);
            }
        }
    }
    read.retain(|_, places| !places.is_empty());
    read
}

/// The fields of what a renderer gives its templates.
fn fields(words: &impl Serialize) -> BTreeSet<String> {
    let fields = Value::from_serializable(words).into_map().unwrap_or_default();
    fields.keys().map(ToString::to_string).collect()
}

/// The fields of the items of its lists.
fn item_fields(words: &impl Serialize) -> BTreeSet<String> {
    let fields = Value::from_serializable(words).into_map().unwrap_or_default();
    let lists = fields.values().filter_map(Value::as_array);
    let items = lists.flatten().filter_map(Value::as_map);
    items.flat_map(|item| item.keys().map(ToString::to_string)).collect()
}

/// What templates ask of an array: the last part of `array.…`.
fn asked_of_arrays(roots: &[&'static str]) -> BTreeSet<String> {
    let read = read_by(roots);
    let names: BTreeSet<_> = read.values().flatten().collect();
    let texts = Templates::texts().filter(|(name, _)| names.contains(name));
    let asked = texts.flat_map(|(_, text)| {
        let parts = ["array.", "result.", "piece."].into_iter().flat_map(|start| text.split(start).skip(1));
        let tags = parts.filter(|part| part.find("}}").into_iter().chain(part.find("%}")).min() < part.find('\n'));
        tags.map(|part| part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default())
    });
    asked.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// An operator with a text.
fn sample() -> OpSource {
    let mut operator = operator_of(4);
    let state = operator.state.clone();
    operator.functions.push(FunctionSource {
        name: "combine".to_owned(),
        parameters: vec![("a".to_owned(), state.clone()), ("b".to_owned(), state.clone())],
        returns: state,
        body: vec![Piece::Text("return a;".into())],
        file: String::new(),
        uses: Vec::new(),
        calls: Vec::new(),
    });
    operator
}

/// Each renderer: the templates that it begins with, and the fields of its context.
fn renderers() -> Vec<(&'static str, Vec<&'static str>, BTreeSet<String>)> {
    let operator = sample();
    let limits = DeviceLimits::BASELINE;
    let text = operator_text(&operator, Target::Cuda).unwrap();
    let kernels = plan(&operator, &ScanSpec::inclusive(), &limits, &Overrides::default()).unwrap();
    let along = plan_columns(&operator, &ScanSpec::inclusive(), &limits, &Overrides::default()).unwrap();
    let reduction = plan_reduction(&operator, false, &limits, Reduction::Contiguous).unwrap();
    let last = plan_last_results(&Segments::HeadFlags, &limits).unwrap();
    vec![
        (
            "kernels",
            ROOTS_OF_RENDER.to_vec(),
            fields(&render::words_of(&operator, &text, kernels.iter().next().unwrap())),
        ),
        ("columns", ROOTS_OF_COLUMNS.to_vec(), fields(&columns::words_of(&operator, &text, &along))),
        ("reductions", ROOTS_OF_REDUCE.to_vec(), fields(&reduce::words_of(&operator, &text, &reduction))),
        ("last results", ROOTS_OF_LAST_RESULTS.to_vec(), fields(&last_results::words_of(&text, &last))),
    ]
}

/// The engine takes a name that nothing defines for false, so a misspelt flag would be silent.
#[test]
fn templates_read_what_their_renderer_defines() {
    for (renderer, roots, fields) in renderers() {
        let read = read_by(&roots);
        let undefined: Vec<_> = read.iter().filter(|(name, _)| !fields.contains(**name)).collect();
        assert!(undefined.is_empty(), "{renderer}: {undefined:#?}");
        println!("{renderer}: {} fields", fields.len());
        assert!(fields.len() <= FIELDS, "{renderer}: {} fields", fields.len());
    }
}

#[test]
fn templates_ask_of_arrays_what_they_have() {
    let pair = |name: &str| {
        let fields = ["a", "b"].map(|field| (field.to_owned(), ElementType::primitive(Primitive::F32)));
        ElementType::structure(name.to_owned(), fields)
    };
    let mut operator = sample();
    (operator.input, operator.output) = (pair("In"), pair("Out"));
    let spec = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::PerField);
    let limits = DeviceLimits::BASELINE;
    let text = operator_text(&operator, Target::Cuda).unwrap();
    let kernels = plan(&operator, &spec, &limits, &Overrides::default()).unwrap();
    let along = plan_columns(&operator, &spec, &limits, &Overrides::default()).unwrap();
    for (roots, fields) in [
        (ROOTS_OF_RENDER, item_fields(&render::words_of(&operator, &text, kernels.iter().next().unwrap()))),
        (ROOTS_OF_COLUMNS, item_fields(&columns::words_of(&operator, &text, &along))),
    ] {
        let asked = asked_of_arrays(roots);
        assert!(asked.contains("name") && asked.contains("bytes"), "{asked:?}");
        let missing: Vec<_> = asked.difference(&fields).collect();
        assert!(missing.is_empty(), "{missing:?} of {fields:?}");
    }
}

#[test]
fn renderers_define_what_their_templates_read() {
    let all = renderers();
    let read: BTreeSet<_> = all.iter().flat_map(|(_, roots, _)| read_by(roots).into_keys()).collect();
    for (renderer, _, fields) in all {
        let unread: Vec<_> = fields.iter().filter(|name| !read.contains(name.as_str())).collect();
        assert!(unread.is_empty(), "{renderer}: {unread:?}");
    }
}
