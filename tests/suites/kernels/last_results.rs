//! The last result of each segment, told in every way; and faults planted in what takes it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{ArrayKind, ArrayKinds, Arrays, OffsetWidth, ScanSpec};
use scan_runtime::{ScanOp, ops, scan_element, scan_op};
use scan_tests::{
    emulated::{Emulator, LastResultsProgram},
    matrix::Register,
    operators::{Bytes3Sum, MapU32, TestOperator, inputs, mixed},
    segments::{HEAD_SOURCES, HeadSource, Heads, PATTERNS, begins},
};

/// A block of few threads, so that there are several.
const THREADS: u32 = 32;

/// Around the elements of a block, and of a block of counts of blocks.
const LENGTHS: [usize; 6] = [1, 31, 33, 1_024, 1_025, 40_000];

fn heads(head_source: usize, pattern: usize, len: usize) -> Heads {
    match head_source {
        HEAD_SOURCES => Heads::rows([1, 3, len.max(1)][pattern % 3], len / 3 * 3),
        head_source => Heads::new(head_source, &begins(PATTERNS[pattern % PATTERNS.len()], len, 1_024)),
    }
}

fn verify<Op: TestOperator>(head_source: usize) {
    for spec in [ScanSpec::inclusive(), ScanSpec::inclusive().reverse()] {
        verify_as::<Op>(&spec, head_source);
    }
}

fn verify_as<Op: TestOperator>(spec: &ScanSpec, head_source: usize) {
    let program = LastResultsProgram::with_spec(&Op::new(), spec, &heads(head_source, 0, 3), THREADS).unwrap();
    for (index, len) in LENGTHS.into_iter().enumerate() {
        let pattern = head_source + index;
        let mut heads = heads(head_source, pattern, len);
        let scanned = inputs::<Op>(heads.begins.len());
        if let (HEAD_SOURCES, 2) = (head_source, pattern % 3) {
            heads = Heads::rows(scanned.len().max(1), scanned.len());
        }
        let emulator = Emulator::new(index as u64).resident_blocks([1, 3, usize::MAX][index % 3]);
        let result = program.verify(&emulator, &scanned, &heads, Op::initial_value());
        result.unwrap_or_else(|error| panic!("{len} elements, {heads:?}: {error}\n{}", program.source));
    }
}

#[test]
fn every_head_source_matches_the_reference() {
    for head_source in 0..=HEAD_SOURCES {
        verify::<ops::Sum<i32>>(head_source);
    }
    verify::<Bytes3Sum>(0);
    verify::<Bytes3Sum>(7);
}

/// Where there is no element there may be segments: empty ones, that offsets tell.
#[test]
fn empty_segments_without_elements_match_the_reference() {
    let op = ops::sum::<u32>();
    let three = Heads { begins: Vec::new(), source: HeadSource::Offsets(vec![0; 4]) };
    for heads in [three, Heads::new(0, &[]), Heads::new(2, &[]), Heads::rows(3, 0)] {
        let program = LastResultsProgram::new(&op, &heads, THREADS).unwrap();
        program.verify(&Emulator::new(1), &[], &heads, 7_u32).unwrap_or_else(|error| panic!("{heads:?}: {error}"));
    }
}

/// Results behind the end of the output are left out, and counted.
#[test]
fn results_beyond_the_output_are_counted_and_not_written() {
    let heads = Heads::new(0, &[true; 5_000]);
    let program = LastResultsProgram::new(&ops::sum::<u32>(), &heads, THREADS).unwrap();
    let scanned: Vec<u32> = (0..5_000).collect();
    let (found, count) = program.run(&Emulator::new(1), &scanned, &heads, 0, 1_500).unwrap();
    assert_eq!(found, scanned[..1_500].iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<_>>());
    assert_eq!(count, 5_000_u64.to_ne_bytes());
}

/// A segment that ends beyond the input, or at a negative offset, has no last result, and nothing beyond the input is
/// read.
#[test]
fn of_offsets_beyond_the_end() {
    let begins = vec![true; 100];
    for source in
        [HeadSource::Offsets(vec![0, 5, 101, 100, -1]), HeadSource::LongOffsets(vec![0, 5, 101, 100, (1 << 32) + 7])]
    {
        let heads = Heads { begins: begins.clone(), source };
        let program = LastResultsProgram::new(&ops::sum::<u32>(), &heads, THREADS).unwrap();
        let scanned: Vec<u32> = (0..100).collect();
        let (found, _) = program.run(&Emulator::new(1), &scanned, &heads, 1_000, 4).unwrap();
        assert_eq!(found, [4_u32, 1_000, 1_000, 1_000].map(u32::to_le_bytes).concat(), "{heads:?}");
    }
}

/// Maps, whose results have a place of their own and two fields more.
struct Placing;

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Placed {
    place: u32,
    low: u32,
    value: u64,
}

#[scan_op]
impl ScanOp for Placing {
    type Input = MapU32;
    type State = MapU32;
    type Output = Placed;
    const IDENTITY: MapU32 = MapU32 { a: 1, b: 0 };
    fn lift(x: MapU32) -> MapU32 {
        x
    }
    fn combine(f: MapU32, g: MapU32) -> MapU32 {
        MapU32 { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn project(f: MapU32) -> Placed {
        Placed { place: f.b, low: f.a ^ 5, value: f.a as u64 * 3 }
    }
}

/// Results in one array; in one for each field; with two scattered and one that is not written; and at their own
/// places.
fn outputs() -> [ScanSpec; 4] {
    let by_field = ScanSpec::inclusive().reverse().with_arrays(Arrays::One, Arrays::PerField);
    let of = |kinds: [ArrayKind; 3]| by_field.clone().with_kinds(ArrayKinds::default(), ArrayKinds::new(kinds));
    let [narrow, wide] = [OffsetWidth::U32, OffsetWidth::U64].map(ArrayKind::Places);
    let computed = [ArrayKind::NoMemory, ArrayKind::Computed, ArrayKind::Computed];
    [ScanSpec::inclusive(), by_field.clone(), of([narrow, ArrayKind::NoMemory, wide]), of(computed)]
}

/// So many results, each with another place, and so many initial values whose results have others.
fn placed(len: usize, segments: usize) -> (Vec<Placed>, Vec<MapU32>) {
    let scanned = (0..len as u64).map(|i| Placed { place: 2 * i as u32, low: i as u32, value: mixed(i) });
    let values = (0..segments as u64).map(|k| MapU32 { a: mixed(k) as u32, b: 2 * k as u32 + 1 });
    (scanned.collect(), values.collect())
}

fn lasts_into(source: usize, spec: &ScanSpec, change: impl Fn(&mut String)) -> Result<(), String> {
    for (turn, len) in LENGTHS.into_iter().enumerate() {
        let heads = match source {
            HEAD_SOURCES if turn % 3 == 2 => Heads::rows(len, len),
            HEAD_SOURCES => heads(source, turn, len),
            _ => Heads::new(source, &begins(PATTERNS[turn % PATTERNS.len()], len, 64)).with_an_empty_one_at_the_end(),
        };
        let mut program = LastResultsProgram::with_spec(&Placing, spec, &heads, THREADS).unwrap();
        change(&mut program.source.text);
        let (scanned, mut values) = placed(heads.begins.len(), heads.segments_of(heads.begins.len()).len().max(1));
        if !spec.initial_values {
            values[0].b = u32::MAX; // the results of several segments, which go nowhere
        }
        let emulator = Emulator::new(turn as u64).limit(40_000_000);
        let verified = program.verify_into(&Placing, &emulator, &scanned, &heads, &values);
        verified.map_err(|error| format!("{len} elements, {spec}, {heads:?}: {error}\n{}", program.source))?;
    }
    Ok(())
}

#[test]
fn results_go_to_any_arrays() {
    for spec in outputs() {
        for source in [0, 2, 7, 8, HEAD_SOURCES] {
            lasts_into(source, &spec, |_| ()).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn empty_segments_have_the_results_of_their_own_initial_values() {
    for spec in outputs() {
        for source in [7, 8] {
            let spec = spec.clone().with_initial_values();
            lasts_into(source, &spec, |_| ()).unwrap_or_else(|error| panic!("{error}"));
        }
    }
    // Of a stepped operator, whose values are carries, and where no element is.
    let spec = ScanSpec::inclusive().with_arrays(Arrays::One, Arrays::PerField).with_initial_values();
    let heads = Heads { begins: Vec::new(), source: HeadSource::Offsets(vec![0; 71]) };
    let program = LastResultsProgram::with_spec(&Register, &spec, &heads, THREADS).unwrap();
    let values: Vec<u32> = (0..70).map(|k| mixed(k) as u32).collect();
    program.verify_into(&Register, &Emulator::new(1), &[], &heads, &values).unwrap();
}

#[test]
fn faults_planted_in_results_of_any_arrays_are_found() {
    let planted = |source: usize, spec: &ScanSpec, from: &str, to: &str| {
        let change = |text: &mut String| {
            assert!(text.contains(from), "`{from}` must stand in the text:\n{text}");
            *text = text.replace(from, to);
        };
        assert!(lasts_into(source, spec, change).is_err(), "`{to}` in place of `{from}` is not found");
    };
    let [one, by_field, scattered, computed] = outputs();
    planted(7, &one.with_initial_values(), "Start{initial_values[k]}", "Start{initial_values[0]}");
    planted(8, &by_field.clone().with_initial_values(), "first < end && end <= n", "first <= end && end <= n");
    planted(0, &by_field, "totals[place] =", "totals[place - (place > 0)] =");
    planted(HEAD_SOURCES, &scattered, "totals[k] =", "totals[0] =");
    planted(7, &computed, "put(places[j], items[j])", "put(places[j] + 1, items[j])");
}

#[test]
fn planted_faults_are_found() {
    let of_rows = [("(k + 1) * row - 1", "(k + 1) * row - 2"), ("k < segments", "k + 1 < segments")];
    let of_offsets = [
        ("scanned[end - 1]", "scanned[first]"),
        ("scanned[end - 1]", "scanned[end - 2]"),
        ("first < end && end <= n", "end <= n"),
        ("    } else {\n      totals[k] = of_nothing;\n", ""),
    ];
    let of_flags = [
        ("begins_segment(source, i + 1)", "begins_segment(source, i)"),
        ("i + 1 == source.count || ", "i + 1 < source.count && "),
        ("scanned[first + k]", "scanned[first + k - (first + k > 0)]"),
        ("prefix += counts[THREADS - 1]", "prefix = counts[THREADS - 1]"),
        ("    __syncthreads(); // the counts have been read\n", ""),
        ("    __syncthreads(); // the step before has been written\n", ""),
        ("    __syncthreads(); // this step has been read\n", ""),
        ("i >= stride ?", "i > stride ?"),
        ("prefix + inclusive - own", "prefix + inclusive"),
        (
            "        totals[place] = scanned[first + k];\n      }\n      place++;",
            "        totals[place++] = scanned[first];\n      }",
        ),
    ];
    let of_reversed_rows = [("k * row", "(k + 1) * row - 1"), ("k * row", "k * row + (row > 1)")];
    let of_reversed_offsets = [("scanned[first]", "scanned[end - 1]"), ("first < end && ", "")];
    let of_reversed_flags = [
        ("i == 0 || ", "i > 0 && "),
        ("begins_segment(source, i)", "begins_segment(source, i + (i + 1 < source.count))"),
        ("i == 0 || begins_segment(source, i)", "i + 1 == source.count || begins_segment(source, i + 1)"),
    ];
    let op = ops::sum::<u32>();
    let (forward, reversed) = (ScanSpec::inclusive(), ScanSpec::inclusive().reverse());
    for (spec, head_source, changes) in [
        (&forward, HEAD_SOURCES, &of_rows[..]),
        (&forward, 7, &of_offsets),
        (&forward, 0, &of_flags),
        (&reversed, HEAD_SOURCES, &of_reversed_rows),
        (&reversed, 7, &of_reversed_offsets),
        (&reversed, 0, &of_reversed_flags),
    ] {
        let program = LastResultsProgram::with_spec(&op, spec, &heads(head_source, 0, 3), THREADS).unwrap();
        let is_found = |program: &LastResultsProgram| {
            (0..4).any(|seed| {
                let begins: Vec<bool> = (0..36_000).map(|i| i % [2, 3, 40, 1][seed] == 0).collect();
                let heads =
                    if head_source == HEAD_SOURCES { Heads::rows(9, 900) } else { Heads::new(head_source, &begins) };
                let scanned: Vec<u32> = (0..heads.begins.len() as u32).collect();
                let emulator = Emulator::new(seed as u64).limit(40_000_000);
                program.verify(&emulator, &scanned, &heads, u32::MAX).is_err()
            })
        };
        assert!(!is_found(&program), "nothing is planted");
        for (from, to) in changes {
            let mut planted = program.clone();
            assert!(planted.source.text.contains(from), "`{from}` must stand in the text:\n{}", planted.source.text);
            planted.source.text = planted.source.text.replace(from, to);
            assert!(is_found(&planted), "`{to}` in place of `{from}` is not found");
        }
    }
    assert_eq!(op.identity(), Some(0));
}
