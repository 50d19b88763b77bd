//! Scans, reductions and last results beyond 2^32: what [`scan_tests::distant`] executes, and cuts of 64 bits to 32
//! that it must find.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Argument, DeviceLimits, KernelRole, Overrides, Reduction};
use scan_runtime::{BlockScan, Carry, Network, ScanSpec, Strategy, TileNumbers};
use scan_tests::{
    distant::{
        Distant, DistantColumns, DistantLastResults, EDGE, Far, Kernels, LAST_RESULTS, Segmented, Stretches, TILES,
        all_bytes,
    },
    emulated::{Emulator, Memory, Program, ReductionProgram},
    operators::{Interval, Span, TestOperator, adjacent},
    planted::{Change, HasSource, each_is_found},
    reference,
    segments::{Restart, fit},
    strategies::LOOK_AHEAD,
};

use super::look_ahead::{limits, overrides_of};

/// Bytes of an element.
const SIZE: u64 = size_of::<Span>() as u64;

/// The tile before the edge.
fn first_tile(tile: u32) -> u64 {
    EDGE / u64::from(tile) - 1
}

const KOGGE_STONE: BlockScan = BlockScan::of(Network::KoggeStone);
const CHAINED: Carry = Carry::Chained(TileNumbers::Counter);

fn overrides(block: BlockScan, carry: Carry) -> Overrides {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block, carry });
    (overrides.threads, overrides.run) = (Some(32), block.in_registers.then_some(4));
    overrides
}

fn interval(overrides: &Overrides, kernels: Kernels) -> Distant<Interval> {
    // One block gets what stands before as if it were the initial value.
    let one_block = overrides.strategy.is_some_and(|strategy| strategy.carry == Carry::OneBlock);
    let initial_value = one_block.then(Interval::initial_value);
    let program = Program::with_limits(Interval, &ScanSpec::inclusive(), initial_value, &limits(), overrides).unwrap();
    Distant::new(program, kernels, None)
}

/// The ways to tell where segments begin, as [`Heads`] number them.
const FLAGS: Segmented = Segmented::Numbered(0);
const BITS: Segmented = Segmented::Numbered(2);
const KEYS: Segmented = Segmented::Numbered(4);
const OFFSETS: Segmented = Segmented::Numbered(8);
const ROWS: Segmented = Segmented::Rows(37);
/// Of which the first ends a few elements after the edge.
const LONG_ROWS: Segmented = Segmented::Rows(EDGE + 20);

fn restart(overrides: &Overrides, kernels: Kernels, segmented: Segmented) -> Distant<Restart> {
    let spec = ScanSpec::inclusive().with_segments(segmented.segments());
    let program = Program::with_limits(Restart, &spec, None, &limits(), overrides).unwrap();
    Distant::new(program, kernels, Some(segmented))
}

/// Cuts of how rows are counted.
const OF_ROWS: [Change<'static>; 2] = [
    ("size_t past = i - ", "size_t past = (unsigned)i - "),
    ("product_high(i, source", "product_high((unsigned)i, source"),
];
const OF_LONG_ROWS: [Change<'static>; 2] = [
    ("source.row - past : 0", "(unsigned)(source.row - past) : 0"),
    ("source.reciprocal) * source.row", "source.reciprocal) * (unsigned)source.row"),
];

/// Nothing is wrong where nothing is planted, and each change is found.
fn each_cut_is_found<Op: TestOperator<Item = Span> + Send + Sync>(
    distant: &Distant<Op>,
    fits: fn(&Span, &Span) -> bool,
    changes: &[Change<'_>],
) where
    Distant<Op>: HasSource,
{
    let emulator = |seed| Emulator::new(seed).check(fits).limit(4_000_000);
    // Compiles all texts together, that without a change too.
    each_is_found(distant, changes, |distant| (0..2).any(|seed| distant.verify(&emulator(seed)).is_err()))
        .unwrap_or_else(|error| panic!("{error}\n{}", distant.program.plan));
    for seed in 0..3 {
        distant.verify(&emulator(seed)).unwrap_or_else(|error| panic!("{error}\n{}", distant.program.plan));
    }
}

/// Cuts of what all kernels have that are not look-ahead's.
const OF_TILES: [Change<'static>; 2] = [
    ("place_of(start + first_place, n)", "place_of((size_t)(unsigned)start + first_place, n)"),
    ("n - start < ", "(unsigned)n - start < "),
];
const LOADED: Change<'static> =
    ("append_input(op, prefix, source.input[index])", "append_input(op, prefix, source.input[(unsigned)index])");
const STORED: Change<'static> =
    ("output[index] = output_at(op, result, start,", "output[(unsigned)index] = output_at(op, result, start,");
const OF_NUMBERS: Change<'static> = ("return (size_t)tile_index * ", "return tile_index * ");

#[test]
fn truncated_indices_of_chained_and_look_back_are_found() {
    let chained: Change<'_> = (
        "wait_for_status(&statuses[tile_index - 1], &prefix.value",
        "wait_for_status((const TileStatus*)((const unsigned char*)statuses + (unsigned)((tile_index - 1) * sizeof(TileStatus))), &prefix.value",
    );
    let looked_at: Change<'_> = (
        "poll(&statuses[index], &values[k]",
        "poll((const TileStatus*)((const unsigned char*)statuses + (unsigned)(index * sizeof(TileStatus))), &values[k]",
    );
    for (carry, status) in [(CHAINED, chained), (Carry::LookBack, looked_at)] {
        let changes = [&OF_TILES[..], &[OF_NUMBERS, STORED, status]].concat();
        each_cut_is_found(&interval(&overrides(KOGGE_STONE, carry), Kernels::Single), adjacent, &changes);
    }
    let in_registers = overrides(BlockScan::in_registers(), Carry::LookBack);
    let stored = ("(unsigned char*)(output + extent.start)", "(unsigned char*)(output + (unsigned)extent.start)");
    let changes = [&OF_TILES[..], &[OF_NUMBERS, stored]].concat();
    each_cut_is_found(&interval(&in_registers, Kernels::Single), adjacent, &changes);
}

#[test]
fn truncated_indices_of_one_block_are_found() {
    let changes =
        [&OF_TILES[..], &[STORED, ("begin < n; begin += TILE", "begin < (unsigned)n; begin += TILE")]].concat();
    each_cut_is_found(&interval(&overrides(KOGGE_STONE, Carry::OneBlock), Kernels::Single), adjacent, &changes);
}

#[test]
fn truncated_indices_of_reduce_then_scan_are_found() {
    let overrides = overrides(KOGGE_STONE, Carry::ReduceThenScan);
    let of_tiles = [&OF_TILES[..], &[OF_NUMBERS]].concat();
    each_cut_is_found(&interval(&overrides, Kernels::ReduceTiles), adjacent, &of_tiles);
    let scanned = [&of_tiles[..], &[STORED]].concat();
    each_cut_is_found(&interval(&overrides, Kernels::ScanTiles), adjacent, &scanned);
    each_cut_is_found(&restart(&overrides, Kernels::ReduceTiles, FLAGS), fit, &[LOADED]);
    each_cut_is_found(&restart(&overrides, Kernels::ScanTiles, FLAGS), fit, &[LOADED, STORED]);
}

#[test]
fn truncated_indices_of_segmented_networks_are_found() {
    let overrides = overrides(KOGGE_STONE, Carry::LookBack);
    let cases: [(Segmented, &[Change<'_>]); 6] = [
        (
            FLAGS,
            &[
                ("head_flags[i] != 0", "head_flags[(unsigned)i] != 0"),
                ("begins_segment(source, index)", "begins_segment(source, (unsigned)index)"),
            ],
        ),
        (BITS, &[("head_bits[i / 32]", "head_bits[(unsigned)i / 32]")]),
        (
            KEYS,
            &[
                ("keys[i * KEY_WORDS + k]", "keys[(unsigned)i * KEY_WORDS + k]"),
                ("keys[(i - 1) * KEY_WORDS + k]", "keys[(unsigned)(i - 1) * KEY_WORDS + k]"),
            ],
        ),
        (
            OFFSETS,
            &[
                ("offsets[candidate] == i", "offsets[candidate] == (unsigned)i"),
                ("offsets[middle] < position", "(unsigned)offsets[middle] < position"),
            ],
        ),
        (ROWS, &OF_ROWS),
        (LONG_ROWS, &OF_LONG_ROWS),
    ];
    for (segmented, changes) in cases {
        let changes = [changes, &[OF_NUMBERS, STORED]].concat();
        each_cut_is_found(&restart(&overrides, Kernels::Single, segmented), fit, &changes);
    }
    let one_block = self::overrides(KOGGE_STONE, Carry::OneBlock);
    each_cut_is_found(&restart(&one_block, Kernels::Single, BITS), fit, &[LOADED]);
}

#[test]
fn truncated_indices_of_segments_in_registers_are_found() {
    let overrides = overrides(BlockScan::in_registers(), Carry::LookBack);
    let cases: [(Segmented, &[Change<'_>]); 6] = [
        (FLAGS, &[("source.head_flags + (extent.start", "source.head_flags + ((unsigned)extent.start")]),
        (BITS, &[("head_bits[first / WARP]", "head_bits[(unsigned)first / WARP]")]),
        (KEYS, &[("const size_t i = extent.start", "const unsigned i = extent.start")]),
        (
            OFFSETS,
            &[
                ("first_index = extent.start", "first_index = (unsigned)extent.start"),
                ("first_index + (end == 0", "(end == 0 ? first_index : (unsigned)first_index) + (end == 0"),
                ("offsets[last] >= position", "(unsigned)offsets[last] >= position"),
            ],
        ),
        (ROWS, &OF_ROWS),
        (LONG_ROWS, &OF_LONG_ROWS),
    ];
    for (segmented, changes) in cases {
        let changes =
            [changes, &[OF_NUMBERS, ("(source.input + extent.start)", "(source.input + (unsigned)extent.start)")]]
                .concat();
        each_cut_is_found(&restart(&overrides, Kernels::Single, segmented), fit, &changes);
    }
}

#[test]
fn truncated_indices_of_look_ahead_are_found() {
    let mut overrides = overrides_of((32, 1, 3, 2, 3));
    overrides.group = Some(1);
    assert_eq!(overrides.strategy, Some(LOOK_AHEAD));
    let tiles: [Change<'_>; 3] = [
        ("tile.start = (size_t)place * TILE - block", "tile.start = place * TILE - block"),
        ("(unsigned)((n + head_padding + TILE - 1) / TILE)", "((unsigned)n + head_padding + TILE - 1) / TILE"),
        ("rest = block.source.count - tile.start;", "rest = (unsigned)block.source.count - tile.start;"),
    ];
    let copies: [Change<'_>; 2] = [
        (
            "(const unsigned char*)(source.input + tile.start);",
            "(const unsigned char*)(source.input + (unsigned)tile.start);",
        ),
        ("begin_store(block.output + tile.start,", "begin_store(block.output + (unsigned)tile.start,"),
    ];
    each_cut_is_found(&interval(&overrides, Kernels::Single), adjacent, &[&tiles[..], &copies].concat());
    let cases: [(Segmented, &[Change<'_>]); 6] = [
        (FLAGS, &[("return {start, start + TILE};", "return {(unsigned)start, start + TILE};")]),
        (BITS, &[("(size_t)((long long)start >> 5) * 4", "(size_t)((unsigned)start >> 5) * 4")]),
        (KEYS, &[("{(start - previous) * KEY_BYTES,", "{(unsigned)(start - previous) * KEY_BYTES,")]),
        (
            OFFSETS,
            &[
                (
                    "const size_t start = (size_t)place * TILE - block.head_padding",
                    "const size_t start = place * TILE - block.head_padding",
                ),
                ("(size_t)group.offset[k] - first_offset", "(unsigned)group.offset[k] - first_offset"),
            ],
        ),
        (ROWS, &OF_ROWS),
        (LONG_ROWS, &OF_LONG_ROWS),
    ];
    for (segmented, changes) in cases {
        each_cut_is_found(&restart(&overrides, Kernels::Single, segmented), fit, changes);
    }
}

/// Segments of initial values and totals of their own, of which there are more than 2^32: rows of one element each, and
/// segments between offsets.
#[test]
fn truncated_numbers_of_segments_are_found() {
    let each = |overrides: &Overrides, segmented: Segmented| {
        let spec = ScanSpec::inclusive().with_segments(segmented.segments()).with_initial_values();
        let spec = if segmented == Segmented::Late { spec } else { spec.with_totals() };
        let program = Program::with_limits(Restart, &spec, None, &limits(), overrides).unwrap();
        Distant::new(program, Kernels::Single, Some(segmented))
    };
    let mut look_ahead = overrides_of((32, 1, 3, 2, 3));
    look_ahead.group = Some(1);
    let in_shared_memory = overrides(KOGGE_STONE, Carry::LookBack);
    let in_registers = overrides(BlockScan::in_registers(), Carry::LookBack);
    let initial: Change<'_> =
        (" start_of(const Source& source, size_t index,", " start_of(const Source& source, unsigned index,");
    let of_elements = [initial, ("size_t segment_of(", "unsigned segment_of(")];
    for segmented in [Segmented::Rows(1), Segmented::Late] {
        each_cut_is_found(&each(&in_shared_memory, segmented), fit, &of_elements);
    }
    let of_runs = [initial, ("using SegmentIndex = size_t;", "using SegmentIndex = unsigned;")];
    let of_rows = [&of_runs[..], &[("size_t next_segment(", "unsigned next_segment(")]].concat();
    for overrides in [&in_registers, &look_ahead] {
        each_cut_is_found(&each(overrides, Segmented::Rows(1)), fit, &of_rows);
    }
    // Look-ahead searches offsets by other means.
    let of_offsets = [&of_runs[..], &[("size_t segment_after(", "unsigned segment_after(")]].concat();
    each_cut_is_found(&each(&in_registers, Segmented::Late), fit, &of_offsets);
}

/// The tiles of a reduction at the edge.
fn verify_reduction(program: &ReductionProgram<Interval>) -> Result<(), String> {
    let tile = program.plan.tile as usize;
    let first_tile = first_tile(program.plan.tile);
    let (first, len) = (first_tile * tile as u64, (first_tile + TILES - 1) * tile as u64 + 5);
    let values: Vec<Span> = (first..len).map(Interval::input).collect();
    let totals: Vec<Span> =
        values.chunks(tile).map(|values| reference::total(&Interval, None, values).unwrap()).collect();
    let mut launch = program.plan.schedule(TILES * tile as u64 - 5).unwrap().launches.swap_remove(0);
    assert_eq!((launch.kernel, u64::from(launch.blocks)), (KernelRole::ReduceTiles, TILES));
    launch.arguments[3] = Argument::Length(len);
    let mut stretches = Stretches::default();
    stretches.read(Argument::Input, first * SIZE, all_bytes(&values));
    stretches.write(launch.arguments[2], first_tile * SIZE, all_bytes(&totals));
    let module = scan_tests::emulated::Module::new(&program.source).map_err(|error| error.to_string())?;
    let name = |role: &str| program.source.kernel_name(role);
    let emulator = Emulator::new(1).check(adjacent).limit(4_000_000);
    let found = emulator.run_on_stretches(&module, name, &[launch], &Memory::default(), &stretches.all, 0);
    stretches.are_as_expected(&found.map_err(|error| error.to_string())?)
}

#[test]
fn truncated_indices_of_reductions_are_found() {
    let mut limits = DeviceLimits::BASELINE;
    limits.threads_per_block = 32;
    let mut program = ReductionProgram::new(Interval, Reduction::Contiguous, None, &limits).unwrap();
    let first_tile = first_tile(program.plan.tile);
    program.source.text = program.source.text.replace("blockIdx.x", &format!("({first_tile}u + blockIdx.x)"));
    verify_reduction(&program).unwrap();
    let changes = [
        ("value_at(start + i)", "value_at((unsigned)(start + i))"),
        ("n - start < TILE ?", "(unsigned)n - start < TILE ?"),
    ];
    each_is_found(&program, &changes, |program| verify_reduction(program).is_err()).unwrap();
    let start = "const size_t start = (size_t)(";
    program.source.text = program.source.text.replace(start, "const size_t start = (");
    assert!(verify_reduction(&program).is_err());
}

/// Cuts of the number of a tile of rows, and of a row.
const OF_LONG_COLUMNS: [Change<'static>; 4] = [
    ("(size_t)tile.row * thread.down", "tile.row * thread.down"),
    ("const size_t row = first + thread.y * RUN;", "const size_t row = (unsigned)(first + thread.y * RUN);"),
    (
        "place_of(row, layout.length) * layout.output_step",
        "(unsigned)place_of(row, layout.length) * layout.output_step",
    ),
    ("(unsigned)((layout.length + tile_height - 1)", "(unsigned)(((unsigned)layout.length + tile_height - 1)"),
];

/// Cuts of the number of a column, and of where its elements, its results and its values are.
const OF_MANY_COLUMNS: [Change<'static>; 7] = [
    ("((size_t)tile.column * thread.across", "(tile.column * thread.across"),
    ("size_t column;   // the first", "unsigned column;   // the first"),
    ("size_t index = column;", "unsigned index = column;"),
    ("const Layout& layout, size_t column)", "const Layout& layout, unsigned column)"),
    ("size_t input, output, value;", "size_t input, output; unsigned value;"),
    ("size_t input, output, value;", "size_t input; unsigned output; size_t value;"),
    ("size_t input, output, value;", "unsigned input; size_t output, value;"),
];

/// Cuts of how many statuses a row of tiles has.
const OF_MANY_STATUSES: [Change<'static>; 2] = [
    ("size_t across; // statuses", "unsigned across; // statuses"),
    (
        "(size_t)(tile_row & ((1u << ring.log) - 1)) * ring.across",
        "(tile_row & ((1u << ring.log) - 1)) * (unsigned)ring.across",
    ),
];

#[test]
fn along_an_axis() {
    for (far, changes) in [
        (Far::Rows, &OF_LONG_COLUMNS[..]),
        (Far::Columns, &OF_MANY_COLUMNS),
        (Far::Planes, &OF_MANY_COLUMNS[..2]),
        (Far::Tall, &OF_MANY_STATUSES),
    ] {
        let program = DistantColumns::new(far);
        program.verify(&Emulator::new(1)).unwrap_or_else(|error| panic!("{far:?}: {error}"));
        let is_found = |program: &DistantColumns| program.verify(&Emulator::new(2).limit(4_000_000)).is_err();
        each_is_found(&program, changes, is_found).unwrap();
    }
}

#[test]
fn last_results() {
    let of_segments: [Change<'_>; 2] =
        [("const size_t k = (size_t)(", "const size_t k = ("), ("if (k < segments)", "if (k < (unsigned)segments)")];
    let of_rows =
        [of_segments[0], of_segments[1], ("scanned[(k + 1) * row - 1]", "scanned[(unsigned)((k + 1) * row - 1)]")];
    let of_offsets = [
        of_segments[0],
        of_segments[1],
        ("const size_t first = offsets[k], end", "const unsigned first = offsets[k], end"),
    ];
    let of_flags: [Change<'_>; 2] = [
        ("size_t place = block_prefixes", "unsigned place = block_prefixes"),
        ("if (place < room)", "if (place < (unsigned)room)"),
    ];
    for (told, changes) in LAST_RESULTS.into_iter().zip([&of_rows[..], &of_offsets, &of_flags]) {
        let program = DistantLastResults::new(told);
        program
            .verify(&Emulator::new(1))
            .unwrap_or_else(|error| panic!("{told:?}: {error}\n{}", program.program.source));
        let is_found = |program: &DistantLastResults| program.verify(&Emulator::new(2)).is_err();
        each_is_found(&program, changes, is_found).unwrap();
    }
}
