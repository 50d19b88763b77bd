//! The explorer, `docs/explorer.html`, has what the emulator records now, and nothing else.
//!
//! When the kernels or the page change, `UPDATE_COUNTS=1 cargo test -p scan-tests --test tools explorer` writes it
//! anew. That a browser shows each step is a part of the long run: `… -p scan-tools --bin long -- --only browser`.

use std::collections::BTreeMap;

use scan_tests::explain::{Apply, Recording, explorer, recordings};

use crate::counts::check;

#[test]
fn the_page_in_the_docs_is_the_one_made_now() {
    let page = explorer(&recordings().unwrap()).unwrap();
    assert!(page.len() < 150 * 1024, "{} bytes", page.len());
    check("docs/explorer.html", &page);
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
        let lost: u64 = recording.frames.iter().map(|frame| frame.shared.1 - frame.shared.2).sum();
        assert_eq!(lost, count(recording, "cycles lost to bank conflicts"), "{name}");
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
        let number = |text: &String| text.parse::<u64>().unwrap();
        let loads = recording.frames.iter().flat_map(|frame| &frame.loads);
        let input: BTreeMap<u64, u64> = loads.map(|(column, value)| (*column, number(value))).collect();
        let sum = |first, last| input.range(first..=last).map(|(_, value)| value).sum::<u64>();
        for apply in recording.frames.iter().flat_map(|frame| &frame.applies) {
            let (first, last, value) = match apply {
                Apply::InPlace(column, _, first, value) => (*first, Some(*column), value),
                Apply::Other(_, _, first, value, _, last) => (*first, *last, value),
            };
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
