//! Scans of arrays that are no slices, in the emulator: indices, gathered inputs, scattered outputs and outputs that are
//! not written, beside slices and alone, by every carry, from either end, restarting or not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::fmt::Debug;

use scan_codegen::{
    ArrayKind::{self, Bits, Computed, Consecutive, Next, NoMemory, Places, Previous, Slice},
    ArrayKinds, Arrays,
    OffsetWidth::{U32, U64},
    Overrides, ScanSpec, Segments,
};
use scan_runtime::{
    BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers,
    ops::{self, BitXor, PropagateNulls, SkipNulls},
};
use scan_tests::{
    columns::{ColumnsOperator, Recurrence, Router, Summarize, Widen},
    emulated::{Emulator, EmulatorError, Program},
    operators::{AffineU32, mixed},
    planted::each_is_found,
    reference::WAYS,
    run_lengths::RunLengths,
    segments::{HEAD_SOURCES, Heads, PATTERNS, begins},
    several::{Pairs, Post, Splitter, Spreader},
    stepped::Coder,
    strategies,
};

use super::{
    compiled,
    look_ahead::{Shape, limits, overrides_of},
};

/// A program, and how it is told where it restarts.
type Case<Op> = (Option<usize>, Program<Op>);

/// Kinds of the arrays of an input, and of an output.
type Kinds<'k> = (&'k [ArrayKind], &'k [ArrayKind]);

/// Threads of a team, teams, stages, run, blocks.
const SHAPES: [Shape; 3] = [(64, 1, 4, 4, 3), (32, 2, 6, 8, 2), (64, 1, 3, 12, 6)];

const OFFSETS: [[usize; 5]; 3] = [[0; 5], [3; 5], [1, 2, 3, 4, 5]];

fn spec((input, output): Kinds<'_>, layouts: (Arrays, Arrays), index: usize) -> ScanSpec {
    let (kind, _) = WAYS[index % WAYS.len()];
    let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    let spec = if (index / 4).is_multiple_of(2) { spec } else { spec.reverse() };
    let spec = if index.is_multiple_of(3) { spec.with_total() } else { spec };
    let kinds = |kinds: &[ArrayKind]| ArrayKinds::new(kinds.iter().copied());
    spec.with_arrays(layouts.0, layouts.1).with_kinds(kinds(input), kinds(output))
}

fn verify<Op: ColumnsOperator<Output: Debug>>(
    (head_source, program): &Case<Op>,
    run: usize,
) -> Result<(), EmulatorError> {
    let tile = program.plan.tile as usize;
    let lengths = [3 * tile + 7, 1, 5 * tile, tile, 2 * tile - 1, tile + 33];
    let (length, seed) = (lengths[run % lengths.len()].max(1), mixed(run as u64));
    let begins = begins(PATTERNS[run % PATTERNS.len()], length, tile);
    let program = match head_source {
        Some(head_source) => program.with_heads(Heads::new(*head_source, &begins)),
        None => program.clone(),
    };
    let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
    let emulator = Emulator::new(seed).resident_blocks(if needs_all { usize::MAX } else { [2, 1, 7][run % 3] });
    let emulator = if seed.is_multiple_of(3) { emulator.interrupt_once_in(8) } else { emulator };
    program.verify_kinds(&emulator, &Op::inputs(length, seed), &OFFSETS[run % OFFSETS.len()], None)
}

fn overrides() -> Vec<Overrides> {
    let in_registers =
        strategies::IN_REGISTERS.into_iter().map(|strategy| Overrides::default().strategy(strategy).threads(32));
    let block = BlockScan::coarsened(Network::KoggeStone);
    let in_shared_memory = [Carry::ReduceThenScan, Carry::LookBack]
        .map(|carry| Overrides::default().strategy(Strategy { block, carry }).threads(32));
    in_registers.chain(SHAPES.map(overrides_of)).chain(in_shared_memory).collect()
}

fn by_all<Op: ColumnsOperator<Output: Debug>>(kinds: Kinds<'_>, layouts: (Arrays, Arrays), turn: usize) {
    let case = |(index, overrides): (usize, Overrides)| {
        let index = index + turn;
        let head_source = (index % 2 == 1).then_some(index / 2 % HEAD_SOURCES);
        let spec = spec(kinds, layouts, index);
        let spec = match head_source {
            Some(head_source) => spec.with_segments(Heads::new(head_source, &[]).segments()),
            None => spec,
        };
        let initial_value = WAYS[index % WAYS.len()].1.then(Op::initial_value);
        (head_source, Program::with_limits(Op::new(), &spec, initial_value, &limits(), &overrides).unwrap())
    };
    let cases: Vec<Case<Op>> = overrides().into_iter().enumerate().map(case).collect();
    for (index, case) in &compiled(cases.into_iter().enumerate()) {
        for run in 2 * index..2 * index + 3 {
            verify(case, run).unwrap_or_else(|error| panic!("{kinds:?}, run {run}: {error}\n{}", case.1.plan));
        }
    }
}

const BY_FIELD: (Arrays, Arrays) = (Arrays::PerField, Arrays::PerField);

#[test]
fn every_kind_of_array_matches_the_reference() {
    by_all::<Summarize>((&[Slice, Places(U32), Slice], &[Slice, Places(U64)]), BY_FIELD, 0);
    by_all::<Summarize>((&[], &[NoMemory, Places(U32)]), BY_FIELD, 1);
    by_all::<Summarize>((&[Places(U64), Places(U32), Places(U32)], &[Slice, NoMemory]), BY_FIELD, 2);
    by_all::<Widen>((&[], &[NoMemory, Slice]), BY_FIELD, 3);
    by_all::<Recurrence>((&[Slice, NoMemory], &[]), BY_FIELD, 4);
    by_all::<Recurrence>((&[NoMemory, NoMemory], &[Places(U32)]), BY_FIELD, 5);
    by_all::<AffineU32>((&[Places(U32)], &[Places(U64)]), (Arrays::One, Arrays::One), 6);
    by_all::<AffineU32>((&[], &[NoMemory]), (Arrays::One, Arrays::One), 7);
    by_all::<Splitter>((&[], &[NoMemory, Computed, Computed]), BY_FIELD, 9);
    by_all::<Coder>((&[Places(U32), Slice], &[Places(U32), Slice]), BY_FIELD, 8);
    by_all::<Summarize>((&[Next, Slice, Previous], &[]), BY_FIELD, 10);
    by_all::<Recurrence>((&[Previous, Places(U32)], &[]), BY_FIELD, 11);
    by_all::<AffineU32>((&[Next], &[Places(U64)]), (Arrays::One, Arrays::One), 12);
    by_all::<SkipNulls<AffineU32>>((&[Slice, Bits], &[Slice, Places(U32)]), BY_FIELD, 13);
    by_all::<PropagateNulls<Coder>>((&[Places(U64), Bits], &[]), BY_FIELD, 14);
    by_all::<BitXor<bool>>((&[Bits], &[]), (Arrays::One, Arrays::One), 15);
}

/// Neighbours are read within rows, which begin and end within threads, warps and tiles.
#[test]
fn neighbours_of_rows_match_the_reference() {
    for (turn, overrides) in overrides().into_iter().enumerate() {
        let kinds: Kinds<'_> = [(&[Previous, Next][..], &[][..]), (&[Next, Slice], &[])][turn % 2];
        let spec = spec(kinds, BY_FIELD, turn).with_segments(Segments::Rows);
        let program = Program::with_limits(Recurrence, &spec, None, &limits(), &overrides).unwrap();
        let tile = program.plan.tile as usize;
        for (row, rows) in [(1, 77), (7, 40), (tile, 3), (tile + 3, 2), (2 * tile + 7, 1)] {
            let program = program.with_heads(Heads::rows(row, row * rows));
            let input = Recurrence::inputs(row * rows, row as u64);
            let verified = program.verify_kinds(&Emulator::new(turn as u64), &input, &[1, 0, 2], None);
            verified.unwrap_or_else(|error| panic!("{rows} rows of {row}: {error}\n{}", program.plan));
        }
    }
}

/// Counts of results that have no place, since the type cannot hold their number, stay at its largest value: nothing of
/// what follows is written.
#[test]
fn results_beyond_the_last_place_are_not_written() {
    let kinds = |output: &[ArrayKind]| ArrayKinds::new(output.iter().copied());
    let spec = ScanSpec::inclusive().with_total().with_arrays(Arrays::PerField, Arrays::PerField);
    let spec = spec.with_kinds(ArrayKinds::default(), kinds(&[NoMemory, Computed]));
    for overrides in [overrides_of(SHAPES[1]), Overrides::default().strategy(strategies::IN_REGISTERS[3]).threads(32)] {
        for initial_value in [None, Some(u32::MAX - 20)] {
            let program =
                Program::with_limits(ops::filter::<u32>(), &spec, initial_value, &limits(), &overrides).unwrap();
            let candidate = |i: u64| ops::Candidate { keep: !mixed(i).is_multiple_of(3), value: i as u32 };
            let input: Vec<_> = (0..3 * u64::from(program.plan.tile) + 5).map(candidate).collect();
            program.verify_kinds(&Emulator::new(1), &input, &[1, 2, 3], None).unwrap();
        }
        let flat_map = ops::flat_map::<u32, 3>().places::<u64>();
        let program = Program::with_limits(flat_map, &spec, Some(u64::MAX - 20), &limits(), &overrides).unwrap();
        let several = |i: u64| ops::Several { count: mixed(i) as u32 % 5, items: [i as u32, 7, 8] };
        let input: Vec<_> = (0..2 * u64::from(program.plan.tile) + 5).map(several).collect();
        program.verify_kinds(&Emulator::new(2), &input, &[1, 2, 3], None).unwrap();
    }
}

/// Results at consecutive places: few of them and all, of tiles that none is kept of, that one warp keeps results of, and
/// that are full, with an initial value that shifts the places, forwards and backwards.
#[test]
fn results_at_consecutive_places_are_gathered() {
    let kinds = |results: usize| [NoMemory].into_iter().chain(std::iter::repeat_n(Consecutive, results));
    let specs = |results| {
        let spec = ScanSpec::inclusive().with_total().with_arrays(Arrays::PerField, Arrays::PerField);
        let spec = spec.with_kinds(ArrayKinds::default(), ArrayKinds::new(kinds(results)));
        [spec.clone(), spec.reverse()]
    };
    let every = |part: u64| move |i: u64| mixed(i).is_multiple_of(part);
    let ranges = |i: u64| i / 450 % 3 == 1;
    let keeps: [&dyn Fn(u64) -> bool; 5] = [&every(1), &every(2), &every(40), &ranges, &|_| false];
    let emulator = |seed: usize| Emulator::new(seed as u64).resident_blocks(usize::MAX);
    let filters = overrides().into_iter().flat_map(|overrides| {
        specs(1).into_iter().flat_map(move |spec| {
            [None, Some(3)].map(|initial_value| {
                Program::with_limits(ops::filter::<u32>(), &spec, initial_value, &limits(), &overrides).unwrap()
            })
        })
    });
    for (turn, program) in compiled(filters).iter().enumerate() {
        for (seed, keep) in keeps.iter().enumerate().skip(turn % 2) {
            let candidate = |i: u64| ops::Candidate { keep: keep(i), value: mixed(i) as u32 };
            let input: Vec<_> = (0..4 * u64::from(program.plan.tile) + 5).map(candidate).collect();
            let verified = program.verify_kinds(&emulator(seed), &input, &[1, 2, 3], None);
            verified.unwrap_or_else(|error| panic!("{seed}: {error}\n{}", program.plan));
        }
    }
    let lengths = overrides().into_iter().flat_map(|overrides| {
        specs(2).map(|spec| Program::with_limits(RunLengths, &spec, None, &limits(), &overrides).unwrap())
    });
    for program in &compiled(lengths) {
        for (seed, keep) in keeps.iter().enumerate() {
            let runs = (0..4 * u64::from(program.plan.tile) + 5).scan(0, |run, i| {
                *run += u32::from(keep(i));
                Some(*run)
            });
            let verified = program.verify_kinds(&emulator(seed), &runs.collect::<Vec<_>>(), &[1, 2, 3], None);
            verified.unwrap_or_else(|error| panic!("{seed}: {error}\n{}", program.plan));
        }
    }
}

/// Signed places that the operator computes: nothing is written at a negative one.
#[test]
fn results_at_negative_places_are_not_written() {
    let spec = spec((&[], &[NoMemory, Computed]), BY_FIELD, 0);
    let program = |overrides| Program::with_limits(Post, &spec, None, &limits(), &overrides).unwrap();
    for program in &compiled(overrides().into_iter().map(program)) {
        let input = Post::inputs(3 * program.plan.tile as usize + 7, 1);
        let verified = program.verify_kinds(&Emulator::new(1), &input, &[1, 2, 3], None);
        verified.unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
}

/// Results of several places in stages that hold the results in the place of the elements. Where the input is not
/// aligned, the first element of a stage is not the first of the tile.
#[test]
fn several_places_in_place_with_head_padding() {
    let spec = spec((&[], &[NoMemory, Computed]), BY_FIELD, 0);
    let program = Program::with_limits(Spreader, &spec, None, &limits(), &overrides_of(SHAPES[0])).unwrap();
    let input = vec![Pairs { a: [1, 4], b: [5, 0] }; 3 * program.plan.tile as usize + 7];
    for offset in 0..2 {
        let verified = program.verify_kinds(&Emulator::new(1), &input, &[offset; 3], None);
        verified.unwrap_or_else(|error| panic!("{offset}: {error}\n{}", program.plan));
    }
}

/// What the planner chooses where it is asked for nothing.
#[test]
fn every_planned_range_matches_the_reference() {
    let spec = spec((&[Slice, Places(U32)], &[Places(U32)]), (Arrays::PerField, Arrays::One), 0);
    let programs = Program::ranges(&Recurrence, &spec, None, &limits()).unwrap();
    for program in &compiled(programs) {
        let length = (2 * program.plan.tile as usize + 5).min(program.plan.max_len as usize);
        program.verify_kinds(&Emulator::new(1), &Recurrence::inputs(length, 1), &[1, 1, 1], None).unwrap();
    }
}

/// Slices alone have the kernels that they had.
#[test]
fn kinds_that_are_all_slices_change_no_text() {
    let program = |spec: &ScanSpec| Program::of(ops::sum::<f32>(), spec, None, &Overrides::default()).unwrap();
    let slices = ScanSpec::inclusive().with_kinds(ArrayKinds::new([Slice]), ArrayKinds::new([Slice]));
    assert_eq!(program(&slices).source.text, program(&ScanSpec::inclusive()).source.text);
}

#[test]
fn planted_faults_are_found() {
    let everywhere = [
        ("if (place < this->count) {", "{"),
        ("this->values[place < this->count ? place : this->count - 1]", "this->values[place]"),
        ("return {this->values, this->count, this->places + distance};", "return *this;"),
        ("return {this->results, this->count, this->places + distance};", "return *this;"),
        ("const size_t index = this->first + (size_t)i;", "const size_t index = (size_t)i;"),
    ];
    let in_stages = [
        // The indices of a tile are not waited for.
        ("  meet(block.edges_done, at);\n", "  arrive(&block.edges_done[at.stage]);\n"),
        // Only tiles that are not whole are written.
        ("    store_rest(block.output + tile.start, stage, tile, block.copies_out, thread);\n", ""),
    ];
    let kinds: Kinds<'_> = (&[Places(U32), NoMemory], &[Places(U64)]);
    let planned = [
        (Overrides::default().strategy(strategies::IN_REGISTERS[3]).threads(64).run(4), &everywhere[..2]),
        (overrides_of(SHAPES[0]), &everywhere[..]),
        (overrides_of(SHAPES[0]), &in_stages[..1]),
    ];
    for (overrides, changes) in planned {
        let spec = spec(kinds, BY_FIELD, 1);
        let program = Program::with_limits(Recurrence, &spec, None, &limits(), &overrides).unwrap();
        let is_found =
            |program: &Program<Recurrence>| (0..20).any(|run| verify(&(None, program.clone()), run).is_err());
        each_is_found(&program, changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
    let of_neighbours = [
        ("border < this->row ? border : border % this->row", "border"),
        ("(size_t)i + AFTER;", "(size_t)i;"),
        ("this->values[border - 1 + AFTER]", "this->values[border - 1]"),
        ("from.first += distance;", ""),
        ("memcpy(&item, this->edge, sizeof(Item));", "item = this->values[0];"),
    ];
    let rows = spec((&[Next, Previous], &[]), BY_FIELD, 1).with_segments(Segments::Rows);
    let program = Program::with_limits(Recurrence, &rows, None, &limits(), &overrides_of(SHAPES[0])).unwrap();
    let is_found = |program: &Program<Recurrence>| {
        let (row, rows) = (program.plan.tile as usize / 2 + 3, 6);
        let program = program.with_heads(Heads::rows(row, row * rows));
        program.verify_kinds(&Emulator::new(3), &Recurrence::inputs(row * rows, 5), &[1, 2], None).is_err()
    };
    each_is_found(&program, &of_neighbours, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    let of_bits = [
        ("bit / 8] >> bit % 8 & 1", "bit / 8] >> (7 - bit % 8) & 1"),
        ("bit / 8] >> bit % 8 & 1", "bit / 8] & 1"),
        ("const size_t bit = this->first + (size_t)i;", "const size_t bit = (size_t)i;"),
        (
            "Bitmap operator+(size_t distance) const { return {this->bytes, this->first + distance}; }",
            "Bitmap operator+(size_t) const { return *this; }",
        ),
    ];
    let spec_of_bits = spec((&[Bits], &[]), (Arrays::One, Arrays::One), 0);
    let program =
        Program::with_limits(BitXor::new(), &spec_of_bits, None, &limits(), &overrides_of(SHAPES[0])).unwrap();
    let is_found = |program: &Program<BitXor<bool>>| (0..20).any(|run| verify(&(None, program.clone()), run).is_err());
    each_is_found(&program, &of_bits, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    let of_computed = [
        ("if (place < this->count) {", "if (place <= this->count) {"),
        (
            "Computed operator+(size_t) const { return *this; }",
            "Computed operator+(size_t n) const { return {this->results + n, this->count}; }",
        ),
        ("to.put(places[i], from[i]);", "to.put(places[i - 1], from[i]);"),
    ];
    let spec_of_computed = spec((&[], &[NoMemory, Computed, Computed]), BY_FIELD, 0);
    let program = Program::with_limits(Router, &spec_of_computed, None, &limits(), &overrides_of(SHAPES[0])).unwrap();
    let is_found = |program: &Program<Router>| (0..20).any(|run| verify(&(None, program.clone()), run).is_err());
    each_is_found(&program, &of_computed, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    let of_several = [
        ("to.put(places[i], from[i]);", "to.put(places[i / PLACES * PLACES], from[i]);"),
        ("to.put(places[i], from[i]);", "if (i % PLACES + 1 < PLACES) to.put(places[i], from[i]);"),
        ("i < results.end * PLACES", "i < results.end"),
    ];
    let of_splitter =
        |overrides: &Overrides| Program::with_limits(Splitter, &spec_of_computed, None, &limits(), overrides).unwrap();
    let is_found = |program: &Program<Splitter>| (0..20).any(|run| verify(&(None, program.clone()), run).is_err());
    let program = of_splitter(&overrides_of(SHAPES[0]));
    each_is_found(&program, &of_several, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    let of_results = [
        ("put(places[j], items[j]);", "put(places[0], items[j]);"),
        ("put(places[j], items[j]);", "put(places[j], items[0]);"),
        ("for (unsigned j = 0; j < PLACES; j++) {", "for (unsigned j = 0; j + 1 < PLACES; j++) {"),
    ];
    let in_shared_memory = Strategy { block: BlockScan::coarsened(Network::KoggeStone), carry: Carry::LookBack };
    let program = of_splitter(&Overrides::default().strategy(in_shared_memory).threads(32));
    each_is_found(&program, &of_results, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    let in_registers = [
        ("to.put(places[i], from[i]);", "to.put(places[i / PLACES * PLACES], from[i]);"),
        ("i < results.end * PLACES", "i < results.end"),
    ];
    let program = of_splitter(&Overrides::default().strategy(strategies::IN_REGISTERS[3]).threads(64).run(4));
    each_is_found(&program, &in_registers, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    let spec = spec((&[], &[Places(U32)]), (Arrays::One, Arrays::One), 1);
    let program = Program::with_limits(AffineU32, &spec, None, &limits(), &overrides_of(SHAPES[0])).unwrap();
    let is_found = |program: &Program<AffineU32>| (0..20).any(|run| verify(&(None, program.clone()), run).is_err());
    each_is_found(&program, &in_stages[1..], is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
}
