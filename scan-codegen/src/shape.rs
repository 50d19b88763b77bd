//! The shape of the templates: how many conditions they have, where, and what they speak of. Each figure is a maximum that
//! only goes down. What a feature needs is a file of its own with a function, not a flag in the files of others.

use std::collections::{BTreeMap, BTreeSet};

use tera::Value;

use crate::{
    ArrayKind, ArrayKinds, Arrays, DeviceLimits, ElementType, OffsetWidth, Overrides, Primitive, Reduction,
    RenderError, ScanSpec, Segments, columns, last_results,
    operator::{FunctionSource, OpSource, Piece, operator_of},
    operator_text::{KeptConstant, operator_text},
    plan, plan_columns, plan_last_results, plan_reduction, reduce, render,
    rooms::Room,
    target::Target,
    templates::Templates,
};

/// Conditions of all kernel templates (the operator's text, the prelude and the elements aside).
const CONDITIONS: usize = 80;
/// Those of them that stand inside a line of CUDA.
const INSIDE_A_LINE: usize = 0;
/// Those that ask for things of two axes.
const OF_TWO_AXES: usize = 0;
/// In one file.
const IN_A_FILE: usize = 4;
/// Distinct words that conditions ask for, those of the same name in several rooms once.
const FLAGS: usize = 29;
/// Words that one template may read: of its room, with the fields of what its lists hold, of types and of kernels.
const WORDS: usize = 60;
/// Words of all rooms together.
const WORDS_OF_ALL: usize = 233;
/// Templates that begin with what they see of the text around them, and so are no functions.
const SEES: usize = 0;
/// Lines of kernel templates that are not blank.
const LINES: usize = 5964;
const LINES_OF_A_FILE: usize = 300;

/// What a scan is made of, and the names by which templates ask for it.
const AXES: [(&str, &[&str]); 5] = [
    (
        "algebra",
        &["takes_inputs", "lifts", "projects", "emits", "appends", "folds_backwards", "keeps_states", "hides_states"],
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

/// The paths in an expression of a template: `heads.offset`, or a name of the template's own.
fn paths(expression: &str) -> BTreeSet<&str> {
    let outside_of_quotes = expression.split('"').step_by(2);
    let words = outside_of_quotes.flat_map(|part| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        part.split(move |c: char| !is_part(c))
    });
    let is_word = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    words.filter(is_word).filter(|word| !["and", "or", "not", "in", "is", "true", "false"].contains(word)).collect()
}

/// The last part of a path.
fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
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
            let names: BTreeSet<_> = paths(condition).into_iter().map(last_part).collect();
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

/// What a template reads, and what it includes.
#[derive(Default)]
struct Reads<'a> {
    /// Paths that begin with a room, those of what a list holds behind those of the list: `stage.inputs.bytes`.
    words: BTreeSet<String>,
    includes: Vec<&'a str>,
}

/// What a template reads. Variables of its own stand for what they are set to.
fn reads_of(text: &str) -> Reads<'_> {
    let mut reads = Reads::default();
    let mut own = BTreeMap::from([("loop", None)]);
    let mut rest = text;
    while let Some(start) = rest.find("{%").into_iter().chain(rest.find("{{")).min() {
        let (is_tag, inside) = (rest[start..].starts_with("{%"), &rest[start + 2..]);
        let end = inside.find(if is_tag { "%}" } else { "}}" }).unwrap();
        let tag = inside[..end].trim_matches('-').trim();
        rest = &inside[end..];
        let (verb, behind) = tag.split_once(' ').filter(|_| is_tag).unwrap_or(("", tag));
        let (variable, value) = match verb {
            "set" => behind.split_once('=').unwrap(),
            "for" => behind.split_once(" in ").unwrap(),
            _ => ("", behind),
        };
        match verb {
            "include" => reads.includes.push(behind.trim_matches('"')),
            "" if is_tag => {}
            _ => {
                let full = |path: &str| {
                    let (first, fields) = path.split_once('.').unwrap_or((path, ""));
                    match own.get(first) {
                        None => Some(path.to_owned()),
                        Some(list) => list.as_ref().map(|list| format!("{list}.{fields}").trim_matches('.').to_owned()),
                    }
                };
                let read: BTreeSet<_> = paths(value).into_iter().filter_map(full).collect();
                let list = if verb == "for" { read.first().cloned() } else { None };
                reads.words.extend(read);
                if !variable.is_empty() {
                    own.insert(variable.trim(), list);
                }
            }
        }
    }
    reads
}

#[test]
fn what_a_list_holds_is_read_behind_the_list() {
    let text = "{{ a.b }} {%- for x in c.d %} {% set y = x.e ~ \" f.g\" %} {{ x }}{{ y }} {% include \"j/k\" %}
        {% if not x.h or a.i > 1 %}";
    let Reads { words, includes } = reads_of(text);
    assert_eq!(words.iter().collect::<Vec<_>>(), ["a.b", "a.i", "c.d", "c.d.e", "c.d.h"]);
    assert_eq!(includes, ["j/k"]);
}

/// The words of a room, by their paths: with the fields of structs, and of what lists hold.
fn words_in(path: &str, value: &Value, words: &mut BTreeSet<String>) {
    if let Some(fields) = value.as_map() {
        fields.iter().for_each(|(name, field)| words_in(&format!("{path}.{name}"), field, words));
    } else if !value.is_none() {
        words.insert(path.to_owned());
        let items = value.as_array().into_iter().flatten().filter(|item| item.is_map());
        items.for_each(|item| words_in(path, item, words));
    }
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
        cold: false,
    });
    operator
}

/// The words of every room, from texts that between them have something in every list.
fn all_words() -> BTreeMap<Room, BTreeSet<String>> {
    let (h200, overrides) = (DeviceLimits::H200, Overrides::default());
    let mut plain = sample();
    let table = ("table".to_owned(), ElementType::table(ElementType::primitive(Primitive::U32), 2));
    plain.parameters = Some(ElementType::structure("Op".to_owned(), [table]));
    let mut by_field = sample();
    let pair = ["a", "b"].map(|field| (field.to_owned(), ElementType::primitive(Primitive::U32)));
    let pair = ElementType::structure("Pair".to_owned(), pair);
    (by_field.input, by_field.output) = (pair.clone(), pair);
    let computed = ArrayKinds::new([ArrayKind::NoMemory, ArrayKind::Computed]);
    let arrays = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::PerField);
    let text = |operator: &OpSource| operator_text(operator, Target::Cuda).unwrap();
    let mut rooms = Vec::new();
    for (operator, spec) in [
        (&plain, ScanSpec::inclusive().with_segments(Segments::Offsets(OffsetWidth::U32))),
        (&by_field, arrays.clone()),
        (&by_field, arrays.clone().with_kinds(ArrayKinds::default(), computed)),
    ] {
        let plans = plan(operator, &spec, &h200, &overrides).unwrap();
        let mut text = text(operator);
        text.kept_constants.push(KeptConstant { name: String::new(), copied_from: String::new(), len: 1 });
        rooms.extend(plans.iter().map(|plan| render::rooms_of(operator, &text, plan)));
        let along = plan_columns(operator, &spec, &h200, &overrides);
        rooms.extend(along.map(|along| columns::rooms_of(operator, &text, &along)));
    }
    let reduction = plan_reduction(&plain, false, &h200, Reduction::Contiguous).unwrap();
    rooms.push(reduce::rooms_of(&plain, &text(&plain), &reduction));
    let by_flags = ScanSpec::inclusive().with_segments(Segments::HeadFlags);
    let last = plan_last_results(&plain, &by_flags, &h200).unwrap();
    rooms.push(last_results::rooms_of(&plain, &text(&plain), &last));
    let mut all: BTreeMap<Room, BTreeSet<String>> = BTreeMap::new();
    for rooms in rooms {
        for (room, words) in rooms.unwrap().words() {
            words_in(room.name(), words, all.entry(room).or_default());
        }
    }
    all
}

/// The engine takes a word that a room has not for false, so a misspelt flag would be silent.
#[test]
fn templates_read_what_their_rooms_have() {
    let words = all_words();
    let rooms: BTreeMap<_, _> = Templates::rooms().collect();
    for (name, text) in Templates::texts() {
        let room = rooms[name];
        let seen: BTreeSet<_> = room.reads().filter_map(|room| words.get(&room)).flatten().collect();
        let reads = reads_of(text);
        let unknown: Vec<_> = reads.words.iter().filter(|word| !seen.contains(word)).collect();
        assert!(unknown.is_empty(), "{name}, of the room {room:?}, has no {unknown:?}");
        for included in reads.includes {
            let other = rooms[included];
            assert!(room.reads().any(|read| read == other), "{name} includes {included}, of the room {other:?}");
        }
    }
}

/// The same while a text is rendered: of another room also in a condition.
#[test]
fn a_word_of_another_room_is_an_error() {
    let operator = sample();
    let plans = plan(&operator, &ScanSpec::inclusive(), &DeviceLimits::H200, &Overrides::default()).unwrap();
    let with = |tags: &str| {
        let templates = Templates::changed(|name, text| match name {
            "prefix" => format!("{text}\n// {tags}"),
            _ => text.to_owned(),
        });
        render::render_from(&templates, &operator, plans.longest(), Target::Cuda)
    };
    assert!(with("{{ value.projected }} {{ types.state }} {% if value.emits %}{% endif %}").is_ok());
    for tags in [
        "{{ pipeline.group }}",
        "{{ value.group }}",
        "{{ projected }}",
        "{% if pipeline.inputs_are_slices %}{% endif %}",
    ] {
        assert!(matches!(with(tags), Err(RenderError::Template(_))), "{tags}");
    }
}

#[test]
fn rooms_have_what_their_templates_read() {
    // Lists of the same structs share their fields.
    let of_room = |word: &str| word.split_once('.').map(|(room, _)| (room.to_owned(), last_part(word).to_owned()));
    let read: BTreeSet<_> =
        Templates::texts().flat_map(|(_, text)| reads_of(text).words).filter_map(|word| of_room(&word)).collect();
    let words = all_words();
    let unread: Vec<_> =
        words.values().flatten().filter(|word| of_room(word).is_some_and(|word| !read.contains(&word))).collect();
    assert!(unread.is_empty(), "no template reads {unread:?}");
}

#[test]
fn templates_may_read_only_fewer_words() {
    let words = all_words();
    let count = |room| words.get(&room).map_or(0, BTreeSet::len);
    for room in Templates::rooms().map(|(_, room)| room).collect::<BTreeSet<_>>() {
        let seen: usize = room.reads().collect::<BTreeSet<_>>().into_iter().map(count).sum();
        println!("{room:?}: {} of its own, {seen} in all", count(room));
        assert!(seen <= WORDS, "templates of the room {room:?} may read {seen} words");
    }
    let all: usize = words.values().map(BTreeSet::len).sum();
    println!("{all} words");
    assert!(all <= WORDS_OF_ALL, "{all} words");
}
