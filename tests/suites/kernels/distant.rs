//! Scans and reductions of more than 2^32 elements: a few tiles of them are executed, on both sides of element 2^32, and only what
//! these read and write is there. What stands before them is told as the tiles before them would have told it. An index that has
//! lost its upper half leads to where nothing is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Argument, DeviceLimits, KernelSource, Launch, Overrides, Reduction, Segments};
use scan_runtime::{__private::bytes_of, BlockScan, Carry, Network, ScanKind, ScanOp, ScanSpec, Strategy, TileNumbers};
use scan_tests::{
    emulated::{Emulator, Memory, Program, ReductionProgram, Stretch},
    operators::{Interval, Span, TestOperator, adjacent, mixed},
    planted::{Change, HasSource, each_is_found},
    reference,
    segments::{HeadSource, Heads, Restart, fit, places},
    strategies::LOOK_AHEAD,
};

use super::{
    look_ahead::{limits, overrides_of},
    statuses::{STATUS_BYTES, Status, status_bytes},
};

/// Where indices of 32 bits end.
const EDGE: u64 = 1 << 32;

/// Tiles that are executed: the first one is before the edge.
const TILES: u64 = 5;

/// Bytes of an element.
const SIZE: u64 = size_of::<Span>() as u64;

/// Which kernels of a program are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernels {
    /// The only one.
    Single,
    /// The first of a hierarchical scan.
    Sections,
    /// The last of a hierarchical scan.
    Carries,
}

/// Where segments begin.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Segmented {
    /// As [`Heads`] number it.
    Numbered(usize),
    /// As rows of this length.
    Rows(u64),
}

/// A program whose text has been changed so that its blocks take themselves for those of the tiles at the edge.
#[derive(Clone)]
struct Distant<Op: ScanOp> {
    program: Program<Op>,
    kernels: Kernels,
    /// Where segments begin, if there are any.
    segmented: Option<Segmented>,
}

impl<Op: TestOperator<Item = Span> + Send + Sync> HasSource for Distant<Op>
where
    Self: Send + Sync,
{
    fn source(&mut self) -> &mut KernelSource {
        &mut self.program.source
    }
}

/// The elements at the edge, those of one tile before them, and what their scan gives. The tile before stands for all that is before.
struct Elements {
    /// The first that is executed, and the end of all.
    first: u64,
    len: u64,
    /// From the tile before on.
    values: Vec<Span>,
    heads: Option<Heads>,
    scanned: Vec<Span>,
}

/// The memory of launches, and what is to be in some of its stretches in the end.
#[derive(Default)]
struct Stretches {
    all: Vec<Stretch>,
    expected: Vec<(usize, Vec<u8>)>,
}

impl Stretches {
    fn read(&mut self, argument: Argument, before: u64, bytes: Vec<u8>) {
        self.all.push(Stretch { argument, before, bytes, initialised: true });
    }

    fn write(&mut self, argument: Argument, before: u64, expected: Vec<u8>) {
        let bytes = vec![0; expected.len()];
        self.expected.push((self.all.len(), expected));
        self.all.push(Stretch { argument, before, bytes, initialised: false });
    }

    fn read_and_write(&mut self, argument: Argument, before: u64, bytes: Vec<u8>, expected: Vec<u8>) {
        self.expected.push((self.all.len(), expected));
        self.read(argument, before, bytes);
    }

    fn are_as_expected(&self, found: &[Vec<u8>]) -> Result<(), String> {
        match self.expected.iter().find(|(index, expected)| found[*index] != *expected) {
            Some((index, _)) => Err(format!("wrong: {:?}", self.all[*index].argument)),
            None => Ok(()),
        }
    }
}

fn all_bytes<T: scan_runtime::ScanElement>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(bytes_of).collect()
}

impl<Op: TestOperator<Item = Span>> Distant<Op> {
    fn new(mut program: Program<Op>, kernels: Kernels, segmented: Option<Segmented>) -> Self {
        let first_tile = first_tile(program.plan.tile);
        let text = &mut program.source.text;
        let mut replace = |from: &str, to: &str| {
            assert!(text.contains(from), "no `{from}` in\n{text}");
            *text = text.replace(from, to);
        };
        let block = format!("({first_tile}u + blockIdx.x)");
        match program.plan.strategy.carry {
            Carry::OneBlock => replace("size_t start = 0;", &format!("size_t start = (size_t){first_tile} * TILE;")),
            Carry::LookAhead => {
                replace("blockIdx.x", &block);
                // What stands before the first tile comes as the status of the tile before it.
                replace("unsigned folded = 0;", &format!("unsigned folded = {first_tile}u - 1;"));
                if segmented.is_none() {
                    replace("  unsigned tile_index = 0;\n", &format!("  unsigned tile_index = {first_tile}u;\n"));
                }
            }
            Carry::Hierarchical => replace("blockIdx.x", &block),
            // Turns begin at the first tile, too.
            _ => replace("gridDim.x", &format!("({first_tile}u + {TILES}u)")),
        }
        Distant { program, kernels, segmented }
    }

    fn elements(&self) -> Elements {
        let tile = u64::from(self.program.plan.tile);
        let first = first_tile(self.program.plan.tile) * tile;
        let (from, len) = (first - tile, first + (TILES - 1) * tile + 5);
        let heads = self.segmented.map(|segmented| {
            // One block that begins here has nothing to go on from.
            let is_first = |i: u64| i == from || (i == first && self.program.plan.strategy.carry == Carry::OneBlock);
            let begins = |i: u64| match segmented {
                Segmented::Numbered(_) => mixed(i).is_multiple_of(37),
                Segmented::Rows(row) => i.is_multiple_of(row),
            };
            let begins: Vec<bool> = (from..len).map(|i| is_first(i) || begins(i)).collect();
            assert!(begins[tile as usize + 1..].iter().any(|&begins| begins));
            match segmented {
                Segmented::Numbered(number) => Heads::new(number, &begins),
                Segmented::Rows(row) => Heads { begins, ..Heads::rows(row as usize, 0) },
            }
        });
        let values = match &heads {
            Some(heads) => places(&heads.begins),
            None => (from..len).map(Op::input).collect(),
        };
        let (op, kind) = (&self.program.op, ScanKind::Inclusive);
        let scanned = match &heads {
            Some(heads) => reference::scan_segments(op, kind, None, &values, &heads.begins),
            None => reference::scan(op, kind, None, &values),
        };
        Elements { first, len, values, heads, scanned }
    }

    /// Executes the tiles, and compares what they write with what they should.
    fn verify(&self, emulator: &Emulator) -> Result<(), String> {
        let plan = &self.program.plan;
        let (tile, elements) = (plan.tile as usize, self.elements());
        let Elements { first, len, ref values, ref scanned, .. } = elements;
        let before = scanned[tile - 1];
        let mut stretches = Stretches::default();
        stretches.read(Argument::Input, (first - tile as u64) * SIZE, all_bytes(values));
        let mut head_count = 0;
        if let Some(heads) = &elements.heads {
            let (before, bytes) = bytes_of_heads(heads, first - tile as u64);
            head_count = match self.segmented {
                Some(Segmented::Rows(row)) => row,
                _ if matches!(heads.source, HeadSource::LongOffsets(_)) => bytes.len() as u64 / 8,
                _ => 0,
            };
            if !bytes.is_empty() {
                stretches.read(Argument::Heads, before, bytes);
            }
        }
        let mut launches = plan.schedule(TILES * tile as u64 - 5).unwrap().launches;
        match self.kernels {
            Kernels::Single => self.add_statuses(&mut stretches, before),
            Kernels::Sections => launches.retain(|launch| launch.kernel == "scan_sections"),
            Kernels::Carries => launches.retain(|launch| launch.kernel == "carry_sections"),
        }
        assert_eq!(launches.len(), 1, "{launches:#?}");
        let launch = &mut launches[0];
        for argument in &mut launch.arguments {
            if let Argument::Length(length) = argument {
                *length = len;
            }
        }
        match self.kernels {
            Kernels::Single => stretches.write(Argument::Output, first * SIZE, all_bytes(&scanned[tile..])),
            kernels => self.add_sections(&mut stretches, kernels == Kernels::Sections, &elements, launch),
        }
        let initial_value = self.program.initial_value.map_or(Vec::new(), |_| bytes_of(&before));
        let memory = Memory { initial_value: &initial_value, head_count, ..Memory::default() };
        let module = self.program.module().map_err(|error| error.to_string())?;
        let room = first / tile as u64 + TILES;
        let name = |role: &str| self.program.source.kernel_name(role);
        let found = emulator.run_on_stretches(&module, name, &launches, &memory, &stretches.all, room);
        stretches.are_as_expected(&found.map_err(|error| error.to_string())?)
    }

    /// The turns, and the statuses of the tiles that are executed and of some before them, of which the last tells what stands before.
    fn add_statuses(&self, stretches: &mut Stretches, before: Span) {
        const LOOKED_AT: u64 = 300;
        let carry = self.program.plan.strategy.carry;
        let first_tile = first_tile(self.program.plan.tile);
        let turns = if carry == Carry::LookAhead { 0 } else { first_tile };
        stretches.read(Argument::Workspace(0), 0, turns.to_le_bytes().to_vec());
        let status = match carry {
            Carry::LookAhead if self.segmented.is_none() => Status::Aggregate,
            _ => Status::Prefix,
        };
        let mut bytes = vec![0; (LOOKED_AT - 1) as usize * STATUS_BYTES];
        bytes.extend(status_bytes(carry, 0, status, before));
        bytes.resize((LOOKED_AT + TILES) as usize * STATUS_BYTES, 0);
        stretches.read(Argument::Workspace(256), (first_tile - LOOKED_AT) * STATUS_BYTES as u64, bytes);
    }

    /// What is between the kernels of a hierarchical scan.
    fn add_sections(&self, stretches: &mut Stretches, first_kernel: bool, elements: &Elements, launch: &Launch) {
        let (tile, op) = (self.program.plan.tile as usize, &self.program.op);
        let (mut partials, mut totals, mut first_heads) = (Vec::<Span>::new(), Vec::<Span>::new(), Vec::<u32>::new());
        for start in (tile..elements.values.len()).step_by(tile) {
            let end = (start + tile).min(elements.values.len());
            let begins =
                elements.heads.as_ref().map_or(vec![false; end - start], |heads| heads.begins[start..end].to_vec());
            partials.extend(reference::scan_segments(
                op,
                ScanKind::Inclusive,
                None,
                &elements.values[start..end],
                &begins,
            ));
            totals.extend(partials.last().copied());
            first_heads.push(begins.iter().position(|&begins| begins).map_or(u32::MAX, |head| head as u32));
        }
        let (first, first_tile) = (elements.first * SIZE, elements.first / tile as u64);
        let places: Vec<Argument> =
            launch.arguments.iter().filter(|argument| matches!(argument, Argument::Workspace(_))).copied().collect();
        let (partials, scanned) = (all_bytes(&partials), all_bytes(&elements.scanned[tile..]));
        if first_kernel {
            stretches.write(Argument::Output, first, partials);
            stretches.write(places[0], first_tile * SIZE, all_bytes(&totals));
        } else {
            stretches.read_and_write(Argument::Output, first, partials, scanned);
            let last_of_tiles = (0..=TILES as usize).map(|k| ((k + 1) * tile).min(elements.scanned.len()) - 1);
            let totals: Vec<Span> = last_of_tiles.map(|last| elements.scanned[last]).collect();
            stretches.read(places[0], (first_tile - 1) * SIZE, all_bytes(&totals));
        }
        if let Some(&place) = places.get(1) {
            match first_kernel {
                true => stretches.write(place, first_tile * 4, all_bytes(&first_heads)),
                false => stretches.read(place, first_tile * 4, all_bytes(&first_heads)),
            }
        }
    }
}

/// The tile before the edge.
fn first_tile(tile: u32) -> u64 {
    EDGE / u64::from(tile) - 1
}

/// Where in memory the bytes begin that tell heads from this element on, and these bytes. All offsets are there.
fn bytes_of_heads(heads: &Heads, from: u64) -> (u64, Vec<u8>) {
    match &heads.source {
        HeadSource::LongOffsets(offsets) => {
            let earlier = [0, 5, EDGE / 3];
            (0, all_bytes(&earlier.into_iter().chain(offsets.iter().map(|offset| from + offset)).collect::<Vec<_>>()))
        }
        HeadSource::Bits(_) => (from / 8, heads.bytes()),
        _ => (from * heads.item_bytes() as u64, heads.bytes()),
    }
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
    let segments = match segmented {
        Segmented::Numbered(number) => Heads::new(number, &[]).segments(),
        Segmented::Rows(_) => Segments::Rows,
    };
    let spec = ScanSpec::inclusive().with_segments(segments);
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
    for seed in 0..3 {
        distant.verify(&emulator(seed)).unwrap_or_else(|error| panic!("{error}\n{}", distant.program.plan));
    }
    each_is_found(distant, changes, |distant| (0..2).any(|seed| distant.verify(&emulator(seed)).is_err()))
        .unwrap_or_else(|error| panic!("{error}\n{}", distant.program.plan));
}

/// Cuts of what all kernels have that are not look-ahead's.
const OF_TILES: [Change<'static>; 2] = [
    ("place_of(start + first_place, n)", "place_of((size_t)(unsigned)start + first_place, n)"),
    ("n - start < ", "(unsigned)n - start < "),
];
const LOADED: Change<'static> =
    ("input[extent.start + place_of(i, TILE)]", "input[(unsigned)(extent.start + place_of(i, TILE))]");
const STORED: Change<'static> =
    ("output[extent.start + place_of(i, TILE)]", "output[(unsigned)(extent.start + place_of(i, TILE))]");
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
        [&OF_TILES[..], &[STORED, ("start < n; start += TILE", "start < (unsigned)n; start += TILE")]].concat();
    each_cut_is_found(&interval(&overrides(KOGGE_STONE, Carry::OneBlock), Kernels::Single), adjacent, &changes);
}

#[test]
fn truncated_indices_of_hierarchical_are_found() {
    let overrides = overrides(KOGGE_STONE, Carry::Hierarchical);
    let stored = ("partial[index] = tile", "partial[(unsigned)index] = tile");
    let changes = [&OF_TILES[..], &[stored]].concat();
    each_cut_is_found(&interval(&overrides, Kernels::Sections), adjacent, &changes);
    let read = ("then(op, reaching, partial[index])", "then(op, reaching, partial[(unsigned)index])");
    let changes = [read, ("output[index] =", "output[(unsigned)index] =")];
    each_cut_is_found(&interval(&overrides, Kernels::Carries), adjacent, &changes);
    let restarting = restart(&overrides, Kernels::Sections, FLAGS);
    each_cut_is_found(&restarting, fit, &[LOADED]);
    each_cut_is_found(&restart(&overrides, Kernels::Carries, FLAGS), fit, &[read]);
}

/// The first element of a tile, as it is computed in each kernel.
#[test]
fn truncated_tile_starts_are_found() {
    let overrides = overrides(KOGGE_STONE, Carry::Hierarchical);
    for kernels in [Kernels::Sections, Kernels::Carries] {
        let mut planted = interval(&overrides, kernels);
        let text = &mut planted.program.source.text;
        let (from, to) = ("const size_t start = (size_t)(", "const size_t start = (");
        assert!(text.contains(from), "{text}");
        *text = text.replace(from, to);
        assert!(planted.verify(&Emulator::new(1)).is_err(), "{kernels:?}");
    }
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
        ("tile.start = (size_t)place * TILE - head_padding;", "tile.start = place * TILE - head_padding;"),
        ("(unsigned)((n + head_padding + TILE - 1) / TILE)", "((unsigned)n + head_padding + TILE - 1) / TILE"),
        ("rest = n - tile.start;", "rest = (unsigned)n - tile.start;"),
    ];
    let copies: [Change<'_>; 2] = [
        (
            "(const unsigned char*)(source.input + tile.start);",
            "(const unsigned char*)(source.input + (unsigned)tile.start);",
        ),
        ("(unsigned char*)(output + tile.start), stages", "(unsigned char*)(output + (unsigned)tile.start), stages"),
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
                    "const size_t start = (size_t)place * TILE - head_padding",
                    "const size_t start = place * TILE - head_padding",
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

/// The tiles of a reduction at the edge.
fn verify_reduction(program: &ReductionProgram<Interval>) -> Result<(), String> {
    let tile = program.plan.tile as usize;
    let first_tile = first_tile(program.plan.tile);
    let (first, len) = (first_tile * tile as u64, (first_tile + TILES - 1) * tile as u64 + 5);
    let values: Vec<Span> = (first..len).map(Interval::input).collect();
    let totals: Vec<Span> =
        values.chunks(tile).map(|values| reference::total(&Interval, None, values).unwrap()).collect();
    let mut launch = program.plan.schedule(TILES * tile as u64 - 5).unwrap().launches.swap_remove(0);
    assert_eq!((launch.kernel, u64::from(launch.blocks)), ("reduce_tiles", TILES));
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
        ("tile[i] = input[start + i]", "tile[i] = input[(unsigned)(start + i)]"),
        ("n - start < TILE ?", "(unsigned)n - start < TILE ?"),
    ];
    each_is_found(&program, &changes, |program| verify_reduction(program).is_err()).unwrap();
    let start = "const size_t start = (size_t)(";
    program.source.text = program.source.text.replace(start, "const size_t start = (");
    assert!(verify_reduction(&program).is_err());
}
