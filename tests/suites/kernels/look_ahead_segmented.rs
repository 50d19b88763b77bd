//! Segmented look-ahead in the emulator: pipelines of several shapes, every source of heads, any address.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::ScanSpec;
use scan_runtime::{ScanKind, ops};
use scan_tests::{
    emulated::{Emulator, Program},
    operators::{Brackets, Bytes3Sum, MatrixProduct, MixedSum, TakeLeft, TestOperator, inputs, mixed},
    planted,
    reference::WAYS,
    segments::{HEAD_SOURCES, Heads, PATTERNS, Restart, begins, fit, places},
};

use super::{
    compiled,
    look_ahead::{Shape, limits, overrides_of},
};

/// Few threads and short runs, so that short inputs take many iterations; runs of up to 32 elements and of more.
const SHAPES: [Shape; 6] =
    [(32, 2, 5, 4, 3), (32, 3, 8, 12, 2), (64, 2, 6, 4, 4), (32, 1, 3, 36, 5), (96, 2, 5, 4, 1), (32, 4, 9, 20, 7)];

fn program<Op: TestOperator>(
    (threads, teams, stages, run, blocks): Shape,
    (kind, with_initial_value): (ScanKind, bool),
    head_source: usize,
) -> Program<Op> {
    // As many elements as fit into shared memory.
    let run = if size_of::<Op::Item>() > 64 { 1 } else { run };
    let overrides = overrides_of((threads, teams, stages, run, blocks));
    let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    let spec = spec.with_segments(Heads::new(head_source, &[]).segments());
    let initial_value = with_initial_value.then(Op::initial_value);
    Program::with_limits(Op::new(), &spec, initial_value, &limits(), &overrides).unwrap()
}

/// Places of the first element and of the first result beyond an aligned address.
const OFFSETS: [(usize, usize); 6] = [(0, 0), (1, 1), (8, 8), (1, 0), (0, 5), (16, 3)];

/// Runs every program over half the patterns, the next one over the other half, at lengths that change from run to run.
fn climb<Op: TestOperator>(
    programs: Vec<(usize, Program<Op>)>,
    half: usize,
    inputs: impl Fn(&[bool]) -> Vec<Op::Item>,
    prepare: impl Fn(Emulator) -> Emulator,
) {
    let programs = compiled(programs.into_iter().enumerate());
    let mut failures = Vec::new();
    for (index, (head_source, program)) in &programs {
        let tile = program.plan.tile as usize;
        let lengths = [5 * tile, 12 * tile + 7, tile, 1, 9 * tile - 1, tile + 1, 23 * tile - 1, 33];
        for (run, pattern) in PATTERNS.into_iter().enumerate().filter(|(run, _)| (run + head_source) % 2 == half) {
            let length = lengths[(index + run) % lengths.len()];
            let begins = begins(pattern, length, tile);
            let program = program.with_heads(Heads::new(*head_source, &begins));
            let input = inputs(&begins);
            let seed = mixed((index * 64 + run) as u64);
            let emulator = Emulator::new(seed);
            let emulator = prepare(if seed.is_multiple_of(3) { emulator.interrupt_once_in(8) } else { emulator });
            let result = match run % 3 {
                0 => program.verify_in_place(&emulator, &input),
                _ => program.verify_at_offset(&emulator, &input, OFFSETS[(seed / 3 % 6) as usize]),
            };
            if let Err(error) = result {
                failures.push(format!("{length} elements, heads {}: {error}\n{}", pattern.0, program.plan));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), programs.len(), failures.join("\n\n"));
}

fn climb_every_head_source(way: usize) {
    let programs: Vec<_> = (0..HEAD_SOURCES)
        .map(|head_source| {
            (head_source, program::<Restart>(SHAPES[(head_source + way) % SHAPES.len()], WAYS[way], head_source))
        })
        .collect();
    climb(programs, way % 2, places, |emulator| emulator.check(fit));
}

#[test]
fn every_head_source_in_every_way_matches_the_reference() {
    (0..4).for_each(climb_every_head_source);
}

/// A warp searches the offsets for the tiles of 32 iterations at once, so a block with more tiles searches several
/// times.
#[test]
fn offsets_of_more_tiles_than_one_search_match_the_reference() {
    for (way, head_source, tiles) in [(2, 8, 40), (3, 7, 66)] {
        let shape = SHAPES[(head_source + way) % SHAPES.len()];
        assert_eq!(shape.4, 1, "one block has all tiles");
        let program = program::<Restart>(shape, WAYS[way], head_source);
        let begins: Vec<bool> =
            (0..tiles * u64::from(program.plan.tile) + 7).map(|i| mixed(i).is_multiple_of(150)).collect();
        let program = program.with_heads(Heads::new(head_source, &begins));
        let verified = program.verify(&Emulator::new(1).check(fit), &places(&begins));
        verified.map(drop).unwrap_or_else(|error| panic!("{head_source}: {error}\n{}", program.plan));
    }
}

fn other<Op: TestOperator>(first: usize) {
    let programs: Vec<_> = (0..3)
        .map(|index| {
            let head_source = 4 * index + first;
            let shape = SHAPES[(index + first) % SHAPES.len()];
            (head_source, program::<Op>(shape, WAYS[(index + first) % WAYS.len()], head_source))
        })
        .collect();
    climb(programs, 0, |begins| inputs::<Op>(begins.len()), |emulator| emulator);
}

#[test]
fn segments_of_other_operators_match_the_reference() {
    other::<ops::Sum<u8>>(0);
    other::<ops::Sum<i16>>(1);
    other::<ops::Sum<f32>>(2);
    other::<TakeLeft>(3);
    other::<Brackets>(4);
    other::<Bytes3Sum>(5);
    other::<MixedSum>(6);
    other::<MatrixProduct<3>>(7);
    other::<MatrixProduct<5>>(9);
}

/// Changes of the text, one at a time: some run shows each. Nothing is found without a change.
fn each_is_found(head_source: usize, changes: &[(&str, &str)]) {
    each_is_found_by((96, 2, 5, 4, 4), head_source, changes);
}

fn each_is_found_by(shape: Shape, head_source: usize, changes: &[(&str, &str)]) {
    let program = program::<Restart>(shape, (ScanKind::Exclusive, true), head_source);
    let tile = program.plan.tile as usize;
    let is_found = |program: &Program<Restart>| {
        (0..28).zip(PATTERNS.into_iter().cycle()).any(|(seed, pattern)| {
            let choice = mixed(seed);
            let begins = begins(pattern, [23 * tile - 40, 5 * tile][choice as usize % 2], tile);
            let program = program.with_heads(Heads::new(head_source, &begins));
            let emulator = Emulator::new(seed).check(fit).interrupt_once_in([3, 50][choice as usize / 2 % 2]);
            let emulator = emulator.limit(10_000_000);
            program.verify_at_offset(&emulator, &places(&begins), OFFSETS[choice as usize / 4 % 6]).is_err()
        })
    };
    planted::each_is_found(&program, changes, is_found).unwrap();
}

const FLAGS: usize = 0;
const BITS: usize = 2;
const WIDE_KEYS: usize = 5;
const OFFSETS_32: usize = 7;

#[test]
fn planted_faults_of_aggregates_are_found() {
    let changes = [
        ("mask_from(ballot_heads(true, any_head(folded.heads)), span.skipped)", "0"),
        ("ballot_heads(own_count > 0, any_head)", "0"),
        ("lanes - 1), any_flag(heads));", "lanes - 1), false);"),
        ("any_flag(mask) ? PREFIX : AGGREGATE", "AGGREGATE"),
        ("any_flag(mask) ? PREFIX : AGGREGATE", "PREFIX"),
        ("mask_from(ballot_heads(warp_place < warps, has_head), span.first_warp)", "0"),
        ("has_head ? aggregates.state[k] :", "false ? aggregates.state[k] :"),
        ("any_head = or_flags(any_head, has_head);", ""),
        ("    any_head = aggregates.has_head[0];\n", ""),
        ("window_head(folding_warp, lane * STATUSES_PER_LANE + k)", "window_head(folding_warp, k * WARP + lane)"),
        ("warp_head(at, team_warp - 1)", "false"),
        ("warp_head(at, team_warp - 1)", "warp_head(at, team_warp)"),
        ("put_warp_head(at, lane, any_among(mask, warp_place, warp_place + 1));", ""),
        ("any_before(folded.mask, span.place)", "false"),
        ("any_before(folded.mask, span.place)", "any_before(folded.mask, span.place + 1)"),
        ("    folded = next;\n", "    folded = next;\n    folded.heads = RunHeads{};\n"),
        ("    folded = next;\n", "    folded = next;\n    folded.mask = 0;\n"),
        ("    if (is_head(heads, k)) {\n      cursor = cursor_at_start(start);\n    }\n", ""),
        ("first_value()[0] = initial_value;", "first_value()[0] = op.identity();"),
        ("    if (is_head(heads, i - thread * RUN)) {\n      prefix = prefix_at(start);\n    }\n", ""),
        ("      if (is_head(heads, k)) {\n        prefix = prefix_at(start);\n      }\n", ""),
    ];
    each_is_found(FLAGS, &changes);
}

#[test]
fn planted_faults_of_the_aggregates_of_groups_are_found() {
    let changes = [
        ("ballot_heads(lane < count, aggregates.has_head[0])", "0"),
        ("any_flag(heads) ? PREFIX : AGGREGATE", "AGGREGATE"),
        ("any_flag(heads) ? PREFIX : AGGREGATE", "PREFIX"),
        ("any_among(heads, lane, preceding)", "false"),
        ("any_among(heads, lane, preceding)", "any_flag(heads)"),
        ("parts.has_heads[slot]);", "false);"),
    ];
    each_is_found_by((32, 1, 3, 4, 7), FLAGS, &changes);
}

#[test]
fn planted_faults_of_flags_bits_and_keys_are_found() {
    let flags = [
        ("(tile.whole ? copied_head_bytes(source, tile.start) : 0)", "0"),
        ("copied.skipped <= bytes_needed(start + HEAD_DISTANCE).first\n      && ", ""),
        ("\n      && copied.first + copied.bytes <= head_word_count(source.count) * sizeof(HeadWord)", ""),
        ("? 1u << (first - base) % 32 : 0;", "? 0u : 0;"),
        (
            "first + i < head_word_count(source.count) ? head_words(source)[first + i] : 0",
            "head_words(source)[first + i]",
        ),
        ("extract(unaligned, first % 4)", "extract(unaligned, 0)"),
        ("4 * k < RUN + 3", "4 * k < RUN"),
        ("+ 0x7f7f7f7f | word)", "+ 0x7f7f7f7f)"),
    ];
    each_is_found(FLAGS, &flags);
    let bits = [
        (" + (unsigned)(start % 32)", ""),
        ("(start + TILE + 31) / 32 * 4", "(start + TILE) / 32 * 4"),
        ("(size_t)((long long)start >> 5) * 4", "start / 32 * 4"),
        ("unaligned.word[k + 1] << (32 - first)", "0"),
    ];
    each_is_found(BITS, &bits);
    let keys = [
        ("start > 0 ? 1 : 0; // keys", "1; // keys"),
        ("const size_t previous = start > 0 ? 1 : 0", "const size_t previous = 0"),
        ("differs || word != previous[j]", "differs || j == 0 && word != previous[j]"),
        ("      previous[j] = word;\n", ""),
    ];
    each_is_found(WIDE_KEYS, &keys);
}

#[test]
fn planted_faults_of_offsets_are_found() {
    let changes = [
        ("  meet(block.edges_done, at);\n", "  arrive(&block.edges_done[at.stage]);\n"),
        ("init_barrier(&edges_done[stage], TEAM)", "init_barrier(&edges_done[stage], WARP)"),
        ("init_barrier(&full[stage], 1 + SEARCH_LANES)", "init_barrier(&full[stage], 1)"),
        ("wait(&block.edges_done[previous.stage], previous.parity);", ""),
        ("previous = iteration_of(i - SLOTS);", "previous = iteration_of(i - SLOTS - 1);"),
        ("      words[k] = 0;\n", ""),
        ("skipped <= first && end <= offset_count + skipped", "true"),
        (" && end - first <= OFFSET_ROOM", ""),
        ("search.end.position = start + TILE", "search.end.position = start + TILE - 1"),
        ("place == 0 ? 0 : start;", "start;"),
        ("thread == 0 && tile.begins", "false"),
        ("word != (unsigned)place / 32", "false"),
        ("probes[k] < search.position", "probes[k] <= search.position"),
        ("low = search.first.low;", "low = search.end.low;"),
        ("shuffle(high, i % WARP)", "shuffle(high, 0)"),
    ];
    each_is_found(OFFSETS_32, &changes);
}
