//! The explorer, `docs/explorer.html`, has what the emulator records now, and nothing else.
//!
//! When the kernels or the page change, `UPDATE_COUNTS=1 cargo test -p scan-tests --test tools explorer` writes it
//! anew. That a browser shows each step is a part of the long run: `… -p scan-tools --bin long -- --only browser`.

use std::{collections::BTreeMap, fs};

use scan_codegen::Overrides;
use scan_runtime::{BlockScan, Carry, Network, ScanKind, ScanOp, Strategy, Workers, ops, scan_op};
use scan_tests::{
    emulated::Program,
    explain::{Apply, Frame, Recording, explorer, numbers, recording, recordings, recordings_of},
};

use crate::counts::{check, path};

#[test]
fn the_page_in_the_docs_is_the_one_made_now() {
    let page = explorer(&recordings().unwrap()).unwrap();
    assert!(page.len() < 150 * 1024, "{} bytes", page.len());
    check("docs/explorer.html", &page);
}

/// The screens that the docs show are small.
#[test]
fn screens_in_the_docs_are_small() {
    let page = fs::read_to_string(path("docs/counts.md")).unwrap();
    for name in ["explorer.png", "explorer_small.png"] {
        let image = fs::read(path(&format!("docs/{name}"))).unwrap();
        assert!(image.starts_with(b"\x89PNG") && image.len() < 100_000, "{name} has {} bytes", image.len());
        assert!(page.contains(&format!("({name})")), "{name} is not shown");
    }
}

/// Its data, read as the script reads it, is the recordings; it loads nothing, and its script names only what is there.
#[test]
fn the_page_has_all_that_it_needs() {
    let recordings = recordings().unwrap();
    let page = explorer(&recordings).unwrap();
    let (before, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let (data, script) = rest.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let found = data["recordings"].as_array().unwrap();
    assert_eq!(found.len(), recordings.len());
    for (found, recording) in found.iter().zip(&recordings) {
        assert_eq!(found[0], serde_json::to_value(recording).unwrap());
        assert_eq!(found[2], serde_json::to_value(&recording.frames).unwrap());
        for (part, (first, lines)) in found[1].as_array().unwrap().iter().zip(&recording.source) {
            assert_eq!(part[0], *first);
            let numbers = part[1].as_array().unwrap();
            let found = numbers.iter().map(|number| data["lines"][number.as_u64().unwrap() as usize].as_str().unwrap());
            assert!(found.eq(lines.iter().map(String::as_str)));
        }
        let shown = |line: u32| {
            let has = |(first, lines): &(usize, Vec<String>)| (*first..first + lines.len()).contains(&(line as usize));
            recording.source.iter().any(has)
        };
        assert!(recording.frames.iter().all(|frame| !frame.lines.is_empty() && frame.lines.iter().all(|&x| shown(x))));
    }
    for outside in ["http:", "https:", " src=", "<link", "@import", "fetch(", "import("] {
        assert!(!before.contains(outside) && !script.contains(outside), "{outside}");
    }
    let names: Vec<&str> = script.split("byId(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(before.contains(&format!("id=\"{name}\"")), "{name}");
    }
}

fn count(recording: &Recording, name: &str) -> u64 {
    recording.counts.iter().find(|(found, _)| *found == name).unwrap().1
}

/// Of each recording: as many applications and conflicts as the emulator has counted, and nothing before what it needs.
#[test]
fn a_recording_has_every_application_in_an_order_that_can_be() {
    for recording in &recordings().unwrap() {
        let name = format!("{}, {}, {}", recording.strategy, recording.operator, recording.length);
        let applied: usize = recording.frames.iter().map(|frame| frame.applies.len()).sum();
        assert_eq!(applied as u64, count(recording, "applications"), "{name}");
        let accesses: u64 = recording.frames.iter().map(|frame| frame.accesses).sum();
        assert_eq!(accesses, count(recording, "accesses of a warp to shared memory"), "{name}");
        let of_lines = || recording.frames.iter().flat_map(|frame| &frame.conflicts);
        let (conflicts, lost) = of_lines().fold((0, 0), |sum, row| (sum.0 + row.2, sum.1 + row.3));
        assert_eq!(conflicts, count(recording, "those with a bank conflict"), "{name}");
        assert_eq!(lost, count(recording, "cycles lost to bank conflicts"), "{name}");
        assert!(of_lines().all(|&(_, degree, count, lost)| degree > 1 && lost >= count), "{name}");
        let (mut statuses, mut barriers, mut written) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for frame in &recording.frames {
            let met = barriers.insert((frame.at.0, frame.at.1), frame.at.2);
            assert!(met.is_none_or(|met| met <= frame.at.2), "{name}: {frame:?}");
            for (tile, status, times) in &frame.polls {
                let published: &Vec<u32> = statuses.get(tile).unwrap_or(const { &Vec::new() });
                assert!(*times > 0 && (*status == 0 || published.contains(status)), "{name}: {frame:?}");
            }
            for (tile, status, value) in &frame.publishes {
                assert!(*status > 0 && !value.is_empty(), "{name}: {frame:?}");
                statuses.entry(*tile).or_insert_with(Vec::new).push(*status);
            }
            written.extend(frame.results.iter().cloned());
        }
        assert!(written.keys().copied().eq(0..recording.length), "{name}: {written:?}");
        let with_statuses = ["four tiles: look-back", "four tiles: chained"].contains(&recording.strategy.as_str());
        assert_eq!(statuses.len(), if with_statuses { 4 } else { 0 }, "{name}");
    }
}

/// In the recordings of sums, each value is the sum of the interval that its node shows, and each result that of a
/// plain loop.
#[test]
fn a_node_shows_the_sum_of_its_interval() {
    let (mut checked, mut unknown) = (0, 0);
    for recording in recordings().unwrap().iter().filter(|recording| recording.operator == "sum") {
        let number = |text: &str| text.parse::<u64>().unwrap();
        let loads = recording.frames.iter().flat_map(|frame| &frame.loads);
        let input: BTreeMap<u64, u64> = loads.map(|(column, value)| (*column, number(value))).collect();
        let sum = |first, last| input.range(first..=last).map(|(_, value)| value).sum::<u64>();
        for apply in recording.frames.iter().flat_map(|frame| &frame.applies) {
            let (first, last, value) = covered(apply);
            // What comes from a status begins with the first element.
            unknown += usize::from(first.is_none());
            if let Some(last) = last {
                checked += 1;
                assert_eq!(number(value), sum(first.unwrap_or(0), last), "{}: {apply:?}", recording.strategy);
            }
        }
        let exclusive = u64::from(recording.strategy.contains("exclusive"));
        for (column, value) in recording.frames.iter().flat_map(|frame| &frame.results) {
            let expected = input.range(..column + 1 - exclusive).map(|(_, value)| value).sum::<u64>();
            assert_eq!(number(value), expected, "{}: result {column}", recording.strategy);
        }
    }
    assert!(checked > 2000 && unknown > 100, "{checked}, {unknown}");
}

/// The state of a node and its interval: the first position, if it is known, and the last.
fn covered(apply: &Apply) -> (Option<u64>, Option<u64>, &str) {
    match apply {
        Apply::InPlace(column, _, first, value) => (*first, Some(*column), value),
        Apply::Other(_, _, first, value, _, last) => (*first, *last, value),
    }
}

/// An operator with an input, a partial result and an output of different types: brackets of a text, those that match
/// none, the depth.
#[test]
fn brackets_are_read_matched_and_their_depth_is_written() {
    let recordings = recordings().unwrap();
    let brackets: Vec<&Recording> = recordings.iter().filter(|recording| recording.operator == "brackets").collect();
    assert_eq!(brackets.len(), 3);
    for recording in brackets {
        let name = &recording.strategy;
        let loads = recording.frames.iter().flat_map(|frame| &frame.loads);
        let text: BTreeMap<u64, &str> = loads.map(|(column, value)| (*column, value.as_str())).collect();
        let unmatched = |first: u64, last: u64| {
            let mut left = text.range(first..=last).map(|(_, bracket)| *bracket).collect::<String>();
            while left.contains("()") {
                left = left.replace("()", "");
            }
            left
        };
        for apply in recording.frames.iter().flat_map(|frame| &frame.applies) {
            let (first, last, value) = covered(apply);
            assert_eq!(value.replace('·', ""), unmatched(first.unwrap(), last.unwrap()), "{name}: {apply:?}");
        }
        let exclusive = name.contains("exclusive");
        let results = recording.frames.iter().flat_map(|frame| &frame.results);
        let results: BTreeMap<u64, &str> = results.map(|(column, value)| (*column, value.as_str())).collect();
        let depth = |last: u64| if unmatched(0, last).contains(')') { -1 } else { unmatched(0, last).len() as i64 };
        for (column, value) in results {
            let expected = if exclusive { column.checked_sub(1).map_or(0, depth) } else { depth(column) };
            assert_eq!(value, expected.to_string(), "{name}: result {column}");
        }
    }
}

/// Numbers are lifted to their squares, which are of the same type.
#[derive(Clone)]
struct Squares;

#[scan_op]
impl ScanOp for Squares {
    type Input = u32;
    type State = u32;
    type Output = u32;
    const IDENTITY: u32 = 0;
    fn lift(number: u32) -> u32 {
        number * number
    }
    fn combine(a: u32, b: u32) -> u32 {
        a + b
    }
    fn project(sum: u32) -> u32 {
        sum
    }
}

#[test]
fn a_lifted_input_keeps_its_place() {
    let found = recordings_of("squares", &Squares, |index| index as u32, numbers).unwrap();
    let mut checked = 0;
    for recording in &found {
        for (first, last, value) in recording.frames.iter().flat_map(|frame| &frame.applies).map(covered) {
            if let (Some(first), Some(last)) = (first, last) {
                let expected: u64 = (first..=last).map(|index| index * index).sum();
                assert_eq!(value, expected.to_string(), "{}", recording.strategy);
                checked += 1;
            }
        }
    }
    assert!(checked > 1500, "{checked}");
}

/// The first and the last of some numbers.
#[scan_op]
fn ends(a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
    [a[0], b[1]]
}

/// An operator of a user, without an identity: it has no exclusive scan, and so no Blelloch.
#[test]
fn a_page_shows_an_operator_of_a_user_in_every_strategy() {
    let of_docs: Vec<Recording> = recordings().unwrap().into_iter().filter(|one| one.operator == "sum").collect();
    let found = recordings_of("ends", &ends, |index| [index as u32; 2], |[a, b]| format!("{a} {b}")).unwrap();
    let names = |recordings: &[Recording]| {
        let names = recordings.iter().map(|recording| (recording.strategy.clone(), recording.length));
        names.filter(|(strategy, _)| !strategy.contains("exclusive")).collect::<Vec<_>>()
    };
    assert_eq!((found.len(), names(&found)), (of_docs.len() - 2, names(&of_docs)));
    for recording in &found {
        for (first, last, value) in recording.frames.iter().flat_map(|frame| &frame.applies).map(covered) {
            if let (Some(first), Some(last)) = (first, last) {
                assert_eq!(value, format!("{first} {last}"), "{}", recording.strategy);
            }
        }
        for (column, value) in recording.frames.iter().flat_map(|frame| &frame.results) {
            assert_eq!(*value, format!("0 {column}"), "{}", recording.strategy);
        }
    }
}

/// Leaves of the tree whose bank conflicts are compared.
const LEAVES: u32 = 128;

/// A recording of Brent-Kung over ones, its text changed.
fn tree_over((leaves, length): (u32, usize), padded: bool, change: impl FnOnce(String) -> String) -> Recording {
    let network = Network::BrentKung { workers: Workers::Contiguous, padded };
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block: BlockScan::of(network), carry: Carry::OneBlock });
    overrides.threads = Some(leaves / 2);
    let mut program = Program::new(ops::sum::<u32>(), ScanKind::Inclusive, None, &overrides).unwrap();
    program.source.text = change(program.source.text);
    recording(&program, ("tree", "sum"), &vec![1; length], numbers).unwrap()
}

fn tree(padded: bool, change: impl FnOnce(String) -> String) -> Recording {
    tree_over((LEAVES, LEAVES as usize), padded, change)
}

/// The degree of the conflicts of each step's applications.
fn degrees(recording: &Recording) -> Vec<u64> {
    let of_frame = |frame: &Frame| {
        let own = frame.conflicts.iter().filter(|row| frame.lines.contains(&row.0));
        own.map(|&(_, degree, ..)| degree).max().unwrap_or(1)
    };
    recording.frames.iter().filter(|frame| !frame.applies.is_empty()).map(of_frame).collect()
}

/// The most of these places that a warp wants of one of 32 banks; one a thread.
fn degree(places: &[u32]) -> u64 {
    let of_warp = |warp: &[u32]| (0..32).map(|bank| warp.iter().filter(|&place| place % 32 == bank).count()).max();
    places.chunks(32).filter_map(of_warp).max().unwrap() as u64
}

/// An unpadded tree has conflicts of the degree that its strides make, level by level. Of a padded one only the last
/// level has a conflict, until its index forgets the padding.
#[test]
fn a_step_shows_the_degree_of_its_bank_conflicts() {
    let expected = |slot: fn(u32) -> u32| {
        let strides = || (0..LEAVES.ilog2()).map(|level| 1 << level);
        let nodes =
            |first: u32, stride: u32| (first..LEAVES).step_by(2 * stride as usize).map(slot).collect::<Vec<_>>();
        let up = strides().map(|stride| degree(&nodes(2 * stride - 1, stride)));
        let down = strides().rev().skip(1).map(|stride| degree(&nodes(3 * stride - 1, stride)));
        up.chain(down).collect::<Vec<_>>()
    };
    let (plain, padded) = (tree(false, |text| text), tree(true, |text| text));
    assert_eq!(degrees(&plain), expected(|place| place));
    assert_eq!(degrees(&plain), [2, 4, 4, 4, 4, 2, 1, 1, 3, 4, 4, 4, 2]);
    assert_eq!(degrees(&padded), expected(|place| place + place / 32));
    assert_eq!(degrees(&padded), [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    let forgotten = tree(true, |text| {
        assert!(text.contains("[i + i / 32]"), "{text}");
        text.replace("[i + i / 32]", "[i]")
    });
    assert_eq!(degrees(&forgotten), degrees(&plain));
    for count_of in ["those with a bank conflict", "cycles lost to bank conflicts"] {
        assert_eq!(count(&forgotten, count_of), count(&plain, count_of), "{count_of}");
    }
}

/// Warps of one step may have conflicts of different degrees: of 200 elements, the second warp has fewer.
#[test]
fn a_step_shows_the_conflicts_of_each_degree() {
    let recording = tree_over((256, 200), false, |text| text);
    let step = recording.frames.iter().filter(|frame| !frame.applies.is_empty()).nth(1).unwrap();
    let mut found: Vec<_> = step.conflicts.iter().map(|&(_, degree, count, lost)| (degree, count, lost)).collect();
    found.sort_unstable();
    assert_eq!(found, [(3, 3, 6), (4, 3, 9)]);
}

/// In the page, too: the tree over a whole tile has conflicts, and padding leaves none.
#[test]
fn padding_leaves_no_conflict_in_the_page() {
    let recordings = recordings().unwrap();
    let conflicts = |strategy: &str| {
        let whole = recordings.iter().find(|one| one.strategy == strategy && one.operator == "sum" && one.length == 64);
        count(whole.unwrap(), "those with a bank conflict")
    };
    assert!(conflicts("Brent-Kung") > 10 && conflicts("Brent-Kung, padded") == 0);
}
