//! Initial values and totals of each segment: of rows and between offsets, by every strategy, forwards and reversed;
//! and faults planted there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{DeviceLimits, OffsetWidth, Overrides, Plan, PlanError, ScanSpec, Segments, plan};
use scan_runtime::{BlockScan, Carry, Network, ScanOp, TileNumbers};
use scan_tests::{
    emulated::{Emulator, EmulatorError, Program},
    lifting::{self, Mapping},
    operators::{COVERS, Span, mixed},
    planted::{Change, each_is_found},
    segments::{Heads, PATTERNS, Restart, begins, fit, places},
    stepped::{Appending, Coder, Mapped, mappings},
    strategies,
};

use super::{
    compiled,
    look_ahead::{limits, overrides_of},
};

/// What is asked of the segments: an initial value for each, one for all, or none; and their totals.
#[derive(Clone, Copy, Debug)]
struct Asked {
    values: usize,
    totals: bool,
}

const ASKED: [Asked; 4] = [
    Asked { values: 2, totals: true },
    Asked { values: 2, totals: false },
    Asked { values: 0, totals: true },
    Asked { values: 1, totals: true },
];

const BLELLOCH: BlockScan = BlockScan::of(Network::Blelloch { padded: false });

const KINDS: [Segments; 3] = [Segments::Rows, Segments::Offsets(OffsetWidth::U32), Segments::Offsets(OffsetWidth::U64)];

fn program<Op: ScanOp>(op: Op, index: usize, overrides: &Overrides, initial_value: Op::Carry) -> Program<Op> {
    let Asked { values, totals } = ASKED[index % 4];
    let spec = if index / 4 % 2 == 1 { ScanSpec::exclusive() } else { ScanSpec::inclusive() };
    let spec = if index / 3 % 2 == 1 { spec.reverse() } else { spec };
    let spec = spec.with_segments(KINDS[index % 3].clone());
    let spec = if values == 2 { spec.with_initial_values() } else { spec };
    let spec = if totals { spec.with_totals() } else { spec };
    let device = match overrides.strategy.map(|strategy| strategy.carry) {
        Some(Carry::Cluster) => DeviceLimits::H200,
        Some(_) if overrides.teams.is_none() => DeviceLimits::BASELINE,
        _ => limits(),
    };
    Program::with_limits(op, &spec, (values == 1).then_some(initial_value), &device, overrides).unwrap()
}

/// Every carry over a network, and over one that is exclusive; runs in registers, and stages of look-ahead.
fn shapes() -> Vec<Overrides> {
    let networks = [BlockScan::of(Network::KoggeStone), BlockScan::coarsened(Network::WarpShuffle), BLELLOCH];
    let tiles = strategies::all_segmented().filter(|strategy| networks.contains(&strategy.block));
    let tiles = tiles.filter(|strategy| strategy.carry != Carry::LookAhead);
    let tiles = tiles.map(|strategy| Overrides::default().strategy(strategy).threads(32));
    let in_registers = strategies::IN_REGISTERS.into_iter().zip([3, 4, 9, 16, 12, 33]);
    let in_registers = in_registers.map(|(strategy, run)| Overrides::default().strategy(strategy).threads(32).run(run));
    let stages = [(32, 2, 5, 4, 3), (64, 2, 6, 12, 2), (32, 1, 3, 36, 6), (96, 2, 5, 5, 1)].map(overrides_of);
    tiles.chain(in_registers).chain(stages).collect()
}

/// Segments of so many elements at the least, by tiles of a size.
fn heads(program: &Program<impl ScanOp>, turn: usize, len: usize) -> Heads {
    let tile = program.plan.tile as usize;
    match program.plan.spec.segments {
        Segments::Rows => {
            let row = [1, 7, 2, tile, tile + 1, 33, 2 * tile + 3, len][turn % 8];
            Heads::rows(row, len.div_ceil(row) * row)
        }
        Segments::Offsets(width) => {
            let pattern = PATTERNS[turn * 5 % PATTERNS.len()];
            Heads::covering(width == OffsetWidth::U64, &begins(pattern, len, tile))
        }
        _ => unreachable!("no other segments have an index"),
    }
}

/// Scans segments of some lengths, with inputs and initial values that are made of them.
fn verify<Op: ScanOp + Clone>(
    program: &Program<Op>,
    turn: usize,
    inputs: &dyn Fn(&Heads) -> Vec<Op::Input>,
    values: &dyn Fn(&Heads) -> Vec<Op::Carry>,
    prepare: &dyn Fn(Emulator) -> Emulator,
) -> Result<(), EmulatorError>
where
    Op::Output: std::fmt::Debug,
{
    let tile = program.plan.tile as usize;
    let len = [3 * tile + 5, 1, 2 * tile, tile - 1][turn % 4].min(program.plan.max_len as usize / 4);
    let heads = heads(program, turn, len.max(1));
    let (input, values) = (inputs(&heads), values(&heads));
    let program = match program.plan.spec.initial_values {
        true => program.with_heads_and_values(heads, values),
        false => program.with_heads(heads),
    };
    let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
    let resident = if needs_all { usize::MAX } else { [1, 2, 4, 7][turn % 4] };
    let emulator = prepare(Emulator::new(mixed(turn as u64)).resident_blocks(resident).limit(100_000_000));
    program.verify_at_offset(&emulator, &input, (turn % 4, turn / 4 % 3)).map(drop)
}

fn count(heads: &Heads) -> usize {
    heads.segments_of(heads.begins.len()).len()
}

fn each_shape<Op: ScanOp<Output: std::fmt::Debug> + Clone>(
    op: &Op,
    (first, step): (usize, usize),
    initial_value: Op::Carry,
    inputs: &dyn Fn(&Heads) -> Vec<Op::Input>,
    values: &dyn Fn(&Heads) -> Vec<Op::Carry>,
    prepare: &dyn Fn(Emulator) -> Emulator,
) {
    let shapes = shapes();
    let shapes: Vec<_> = shapes.iter().enumerate().skip(first).step_by(step).collect();
    let of_shape = |(index, overrides): &(usize, &Overrides)| {
        (0..2).map(|turn| program(op.clone(), 5 * index + turn, overrides, initial_value)).collect::<Vec<_>>()
    };
    let programs: Vec<_> = shapes.iter().flat_map(of_shape).collect();
    let programs = compiled(programs.into_iter().enumerate());
    let mut failures = Vec::new();
    for (index, program) in &programs {
        for turn in 0..3 {
            let turn = 3 * index + 7 * turn;
            let verified = verify(program, turn, inputs, values, prepare);
            failures.extend(verified.err().map(|error| format!("turn {turn}: {error}\n{}", program.plan)));
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// The place before the first element of each segment: of no other.
fn before(heads: &Heads) -> Vec<Span> {
    let places = places(&heads.begins);
    let segments = heads.segments_of(places.len());
    let place = |segment: &std::ops::Range<usize>| match segment.is_empty() {
        true => 7,
        false => places[segment.start].first - 1,
    };
    segments.iter().map(place).map(|place| Span { first: place, last: place, kind: COVERS }).collect()
}

/// No result is made of another segment's elements, or of its initial value. Forwards: the programs that are reversed
/// are those of other operators.
#[test]
fn results_fold_their_own_segment_in_order() {
    let shapes = shapes();
    let mut programs = Vec::new();
    for (index, overrides) in shapes.iter().enumerate() {
        let kind = if index % 2 == 1 { ScanSpec::exclusive() } else { ScanSpec::inclusive() };
        let spec = kind.with_segments(KINDS[index / 2 % 3].clone()).with_initial_values().with_totals();
        let device = match overrides.strategy.map(|strategy| strategy.carry) {
            Some(Carry::Cluster) => DeviceLimits::H200,
            Some(_) if overrides.teams.is_none() => DeviceLimits::BASELINE,
            _ => limits(),
        };
        programs.push(Program::with_limits(Restart, &spec, None, &device, overrides).unwrap());
    }
    for (index, program) in &compiled(programs.into_iter().enumerate()) {
        for turn in [*index, index + 3] {
            let verified =
                verify(program, turn, &|heads| places(&heads.begins), &before, &|emulator| emulator.check(fit));
            verified.unwrap_or_else(|error| panic!("turn {turn}: {error}\n{}", program.plan));
        }
    }
}

/// Scans with offsets that do not cover the input, and says what is wrong but the results.
fn uncovered<Op: ScanOp + Clone>(
    programs: Vec<Program<Op>>,
    inputs: &dyn Fn(usize) -> Vec<Op::Input>,
    values: &dyn Fn(usize) -> Vec<Op::Carry>,
) -> Vec<String> {
    let mut failures = Vec::new();
    for (index, program) in compiled(programs).iter().enumerate() {
        let Plan { tile, max_len, strategy, spec, .. } = &program.plan;
        let needs_all = strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
        let is_long = spec.segments == Segments::Offsets(OffsetWidth::U64);
        let tile = *tile as usize;
        for len in [3 * tile + 5, 2 * tile, tile - 1] {
            let len = len.min(*max_len as usize / 4);
            for (turn, heads) in Heads::uncovering(is_long, len).into_iter().enumerate() {
                let program = program.with_heads_and_values(heads.clone(), values(count(&heads)));
                let resident = if needs_all { usize::MAX } else { [1, 2, 4, 7][turn % 4] };
                let emulator = Emulator::new(mixed((index + turn) as u64)).resident_blocks(resident).limit(100_000_000);
                let failed = program.run(&emulator, &inputs(len)).err();
                failures.extend(failed.map(|error| format!("{:?} of {len}: {error}\n{}", heads.source, program.plan)));
            }
        }
    }
    failures
}

/// The kernels are not asked whether offsets in device memory cover the input. Results are unspecified then, but no access is out of
/// bounds, nothing waits for ever, and each result and each total is written.
#[test]
fn offsets_that_do_not_cover_the_input_are_no_access_out_of_bounds() {
    // The programs of the test below.
    fn programs<Op: ScanOp + Clone>(op: Op, first: usize, initial_value: Op::Carry) -> Vec<Program<Op>> {
        let shapes = shapes().into_iter().enumerate().skip(first).step_by(4);
        let numbered = shapes.flat_map(|(index, shape)| [5 * index, 5 * index + 1].map(|number| (number, shape)));
        let by_offsets = numbered.filter(|(number, _)| matches!(KINDS[number % 3], Segments::Offsets(_)));
        by_offsets.map(|(number, shape)| program(op.clone(), number, &shape, initial_value)).collect()
    }
    let registers = |count: usize| (0..count as u64).map(|index| mixed(index) as u32).collect::<Vec<_>>();
    let failures = [
        uncovered(programs(Appending, 0, lifting::INITIAL_VALUE), &lifting::inputs, &mappings),
        uncovered(programs(Coder, 1, 77), &lifting::inputs, &registers),
        uncovered(programs(Mapped, 2, 77), &mappings, &registers),
        uncovered(programs(lifting::Lifting, 3, lifting::INITIAL_VALUE), &lifting::inputs, &mappings),
    ]
    .concat();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

fn registers(heads: &Heads) -> Vec<u32> {
    (0..count(heads) as u64).map(|index| mixed(index) as u32).collect()
}

fn maps(heads: &Heads) -> Vec<Mapping> {
    mappings(count(heads))
}

#[test]
fn appending_operators_and_stepped_operators_match_the_reference() {
    let lifted = |heads: &Heads| lifting::inputs(heads.begins.len());
    each_shape(&Appending, (0, 4), lifting::INITIAL_VALUE, &lifted, &maps, &|emulator| emulator);
    each_shape(&Coder, (1, 4), 77, &lifted, &registers, &|emulator| emulator);
    let mapped = |heads: &Heads| mappings(heads.begins.len());
    each_shape(&Mapped, (2, 4), 77, &mapped, &registers, &|emulator| emulator);
    each_shape(&lifting::Lifting, (3, 4), lifting::INITIAL_VALUE, &lifted, &maps, &|emulator| emulator);
}

#[test]
fn planted_faults_are_found() {
    // A row's initial value taken from its neighbour, a total of the wrong element, the last total missing.
    let of_rows: [Change<'_>; 4] = [
        ("if (k == segment.last) {", "if (k == segment.last && segment.first + k + 1 < segment.source.count) {"),
        ("rounded : rounded + 1;", "rounded : rounded;"),
        ("(index + 1) * source.row - 1", "(index + 1) * source.row - 2"),
        ("return HEAD_DISTANCE == 0 ? index + 1", "return HEAD_DISTANCE == 0 ? index + 2"),
    ];
    let of_offsets: [Change<'_>; 5] = [
        ("if (k == segment.last) {", "if (k == segment.last && segment.first + k + 1 < segment.source.count) {"),
        ("min(offsets_before(offsets, i + 1, 0", "min(offsets_before(offsets, i, 0"),
        ("HEAD_DISTANCE == 0 ? end - 1 : first", "HEAD_DISTANCE == 0 ? end : first"),
        ("i < offsets[next + 1])", "true)"),
        ("index + 1 < source.offset_count; index += stride", "index + 2 < source.offset_count; index += stride"),
    ];
    let strategy = strategies::IN_REGISTERS[3];
    let shapes = [Overrides::default().strategy(strategy).threads(64).run(4), overrides_of((32, 2, 5, 4, 3))];
    for (kind, changes) in [(&KINDS[0], &of_rows[..]), (&KINDS[1], &of_offsets[..])] {
        for overrides in &shapes {
            let spec = ScanSpec::exclusive().with_segments(kind.clone()).with_initial_values().with_totals();
            let program = Program::with_limits(Restart, &spec, None, &limits(), overrides).unwrap();
            let is_found = |program: &Program<Restart>| {
                (0..28).any(|turn| {
                    let input = |heads: &Heads| places(&heads.begins);
                    verify(program, turn, &input, &before, &|emulator| emulator).is_err()
                })
            };
            each_is_found(&program, changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
        }
    }
    // A run of look-ahead that is scanned as if it lay within a segment.
    let of_runs: [Change<'_>; 3] = [
        ("any_head(heads) || ends_within", "ends_within"),
        ("any_head(heads) || ends_within(segment, RUN)", "any_head(heads)"),
        ("return segment.last < count;", "return segment.last + 1 < count;"),
    ];
    for kind in &KINDS[..2] {
        let spec = ScanSpec::inclusive().with_segments(kind.clone()).with_initial_values().with_totals();
        let program = Program::with_limits(Restart, &spec, None, &limits(), &shapes[1]).unwrap();
        let is_found = |program: &Program<Restart>| {
            (0..28).any(|turn| {
                let input = |heads: &Heads| places(&heads.begins);
                verify(program, turn, &input, &before, &|emulator| emulator).is_err()
            })
        };
        each_is_found(&program, &of_runs, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
    // A stepped operator's run goes on from what its segment began with.
    let of_stepped_operators: [Change<'_>; 1] =
        [("i + 2 * HEAD_DISTANCE, low, high) - 1", "i + 2 * HEAD_DISTANCE, low, high) - 2")];
    for overrides in &shapes {
        let spec = ScanSpec::inclusive().with_segments(KINDS[1].clone()).with_initial_values();
        let program = Program::with_limits(Mapped, &spec, None, &limits(), overrides).unwrap();
        let input = |heads: &Heads| mappings(heads.begins.len());
        let is_found = |program: &Program<Mapped>| {
            (0..28).any(|turn| verify(program, turn, &input, &registers, &|emulator| emulator).is_err())
        };
        each_is_found(&program, &of_stepped_operators, is_found)
            .unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
}

#[test]
fn segments_without_an_index_are_refused() {
    let refused = |segments: Segments| {
        let spec = ScanSpec::inclusive().with_segments(segments).with_totals();
        plan(&Mapped.source(), &spec, &DeviceLimits::H200, &Overrides::default()).unwrap_err()
    };
    for segments in [Segments::None, Segments::HeadFlags, Segments::HeadBits] {
        assert!(matches!(refused(segments), PlanError::NoSegmentIndex { .. }));
    }
    let spec = ScanSpec::inclusive().with_segments(Segments::Rows).with_initial_values().with_total();
    let refused = plan(&Mapped.source(), &spec, &DeviceLimits::H200, &Overrides::default());
    assert_eq!(refused.unwrap_err(), PlanError::TotalOfEach);
}
