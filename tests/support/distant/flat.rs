//! Scans of more than 2^32 elements, restarting or not.

use std::ops::Range;

use scan_codegen::{Argument, KernelRole, KernelSource, Launch, OffsetWidth, Plan, Segments};
use scan_emulator::{Emulator, Memory};
use scan_runtime::{__private::bytes_of, Carry, ScanKind, ScanOp};

use super::{EDGE, STATUS_BYTES, Status, Stretches, TILES, all_bytes, status_bytes};
use crate::{
    emulated::Program,
    operators::{COVERS, Span, TestOperator, mixed},
    planted::HasSource,
    reference,
    segments::{HeadSource, Heads, places},
};

/// Bytes of an element.
const SIZE: u64 = size_of::<Span>() as u64;

/// Which kernels of a program are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// The only one.
    Single,
    /// The first of reduce-then-scan.
    ReduceTiles,
    /// The last of reduce-then-scan.
    ScanTiles,
}

/// Where segments begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Segmented {
    /// As [`Heads`] number it.
    Numbered(usize),
    /// As rows of this length.
    Rows(u64),
    /// By 64-bit offsets, of which more than 2^32 come before these.
    Late,
}

impl Segmented {
    /// What a plan must know of them.
    pub fn segments(self) -> Segments {
        match self {
            Segmented::Numbered(number) => Heads::new(number, &[]).segments(),
            Segmented::Rows(_) => Segments::Rows,
            Segmented::Late => Segments::Offsets(OffsetWidth::U64),
        }
    }
}

/// The number of the first of those offsets.
const LATE: u64 = EDGE + 3;

/// A program whose text has been changed so that its blocks take themselves for those of the tiles at the edge.
#[derive(Clone)]
pub struct Distant<Op: ScanOp> {
    /// The program with the changed text.
    pub program: Program<Op>,
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

/// The elements at the edge, those of one tile before them, and the results of their scan. The tile before stands for
/// all tiles before it.
struct Elements {
    /// The first that is executed, and the end of all.
    first: u64,
    len: u64,
    /// From the tile before on.
    values: Vec<Span>,
    heads: Option<Heads>,
    scanned: Vec<Span>,
    each: Option<EachSegment>,
}

/// What each segment of these elements begins with, and its total.
struct EachSegment {
    /// The number of the first segment, and how many there are before the tiles that are executed.
    number: u64,
    before: usize,
    initial_values: Vec<Span>,
    totals: Vec<Span>,
}

impl<Op: TestOperator<Item = Span>> Distant<Op> {
    /// Changes the text of a program.
    ///
    /// # Panics
    ///
    /// If the text has not what is to be changed.
    pub fn new(mut program: Program<Op>, kernels: Kernels, segmented: Option<Segmented>) -> Self {
        let text = at_the_edge(&program.plan, segmented, &program.source.text);
        program.source.text = text.unwrap_or_else(|error| panic!("{error}"));
        Distant { program, kernels, segmented }
    }

    /// The same with another text, in the same way changed; `None` if it has not what is to be changed.
    pub fn with_source(&self, source: &KernelSource) -> Option<Self>
    where
        Op: Clone,
    {
        let mut distant = self.clone();
        distant.program.source = source.clone();
        distant.program.source.text = at_the_edge(&self.program.plan, self.segmented, &source.text).ok()?;
        let searches =
            |text: &str| SEARCHES.map(|(_, to)| text.matches(&to.replace("LATE", &LATE.to_string())).count());
        (searches(&distant.program.source.text) == searches(&self.program.source.text)).then_some(distant)
    }

    fn elements(&self) -> Elements {
        let tile = u64::from(self.program.plan.tile);
        let first = first_tile(self.program.plan.tile) * tile;
        let (from, len) = (first - tile, first + (TILES - 1) * tile + 5);
        let heads = self.segmented.map(|segmented| {
            // One block that begins here has nothing to go on from, and the segments of values of their own are whole.
            let is_alone = self.program.plan.strategy.carry == Carry::OneBlock || self.program.plan.spec.initial_values;
            let is_first = |i: u64| i == from || (i == first && is_alone);
            let begins = |i: u64| match segmented {
                Segmented::Numbered(_) => mixed(i).is_multiple_of(37),
                Segmented::Rows(row) => i.is_multiple_of(row),
                Segmented::Late => mixed(i).is_multiple_of(7),
            };
            let begins: Vec<bool> = (from..len).map(|i| is_first(i) || begins(i)).collect();
            assert!(begins[tile as usize + 1..].iter().any(|&begins| begins));
            match segmented {
                Segmented::Numbered(number) => Heads::new(number, &begins),
                Segmented::Rows(row) => Heads { begins, ..Heads::rows(row as usize, 0) },
                Segmented::Late => Heads::covering(true, &begins),
            }
        });
        let values = match &heads {
            Some(heads) => places(&heads.begins),
            None => (from..len).map(Op::input).collect(),
        };
        if let Some(heads) = heads.as_ref().filter(|_| self.program.plan.spec.initial_values) {
            return self.elements_of_each((from, first, len), values, heads);
        }
        let (op, kind) = (&self.program.op, ScanKind::Inclusive);
        let scanned = match &heads {
            Some(heads) => reference::scan_segments(op, kind, None, &values, &heads.begins),
            None => reference::scan(op, kind, None, &values),
        };
        Elements { first, len, values, heads, scanned, each: None }
    }

    /// The same, where each segment has an initial value.
    fn elements_of_each(&self, (from, first, len): (u64, u64, u64), values: Vec<Span>, heads: &Heads) -> Elements {
        let segments = heads.segments_of(values.len());
        let initial_value = |segment: &Range<usize>| {
            let place = if segment.is_empty() { 7 } else { values[segment.start].first - 1 };
            Span { first: place, last: place, kind: COVERS }
        };
        let initial_values: Vec<Span> = segments.iter().map(initial_value).collect();
        let (op, spec) = (&self.program.op, &self.program.plan.spec);
        let (scanned, totals) = reference::scan_each(op, spec, |index| Some(initial_values[index]), &values, &segments);
        let each = EachSegment {
            number: if let Some(Segmented::Rows(row)) = self.segmented { from / row } else { LATE },
            before: segments.iter().take_while(|segment| (segment.start as u64) < first - from).count(),
            totals: totals.into_iter().flatten().collect(),
            initial_values,
        };
        Elements { first, len, values, heads: Some(heads.clone()), scanned, each: Some(each) }
    }

    /// Executes the tiles, and compares what they write with what they should.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn verify(&self, emulator: &Emulator) -> Result<(), String> {
        let plan = &self.program.plan;
        let (tile, elements) = (plan.tile as usize, self.elements());
        let Elements { first, len, ref values, ref scanned, .. } = elements;
        let before = scanned[tile - 1];
        let mut stretches = Stretches::default();
        stretches.read(Argument::Input, (first - tile as u64) * SIZE, all_bytes(values));
        let mut head_count = 0;
        if let Some(heads) = &elements.heads {
            let is_late = self.segmented == Some(Segmented::Late);
            let (before, bytes) = bytes_of_heads(heads, is_late, first - tile as u64);
            head_count = match self.segmented {
                Some(Segmented::Rows(row)) => row,
                Some(Segmented::Late) => LATE + heads.head_count(),
                _ if matches!(heads.source, HeadSource::LongOffsets(_)) => bytes.len() as u64 / 8,
                _ => 0,
            };
            if !bytes.is_empty() {
                stretches.read(Argument::Heads, before, bytes);
            }
        }
        let schedule = plan.schedule(TILES * tile as u64 - 5).map_err(|error| error.to_string())?;
        let mut launches = schedule.launches;
        match self.kernels {
            Kernels::Single => self.add_statuses(&mut stretches, before),
            Kernels::ReduceTiles => launches.retain(|launch| launch.kernel == KernelRole::ReduceTiles),
            Kernels::ScanTiles => launches.retain(|launch| launch.kernel == KernelRole::ScanTiles),
        }
        assert_eq!(launches.len(), 1, "{launches:#?}");
        let launch = &mut launches[0];
        for argument in &mut launch.arguments {
            if let Argument::Length(length) = argument {
                *length = len;
            }
        }
        if self.kernels != Kernels::ReduceTiles {
            stretches.write(Argument::Output, first * SIZE, all_bytes(&scanned[tile..]));
        }
        if self.kernels != Kernels::Single {
            self.add_aggregates(&mut stretches, &elements, launch);
        }
        if let Some(each) = &elements.each {
            stretches.read(Argument::InitialPointer, each.number * SIZE, all_bytes(&each.initial_values));
            if plan.spec.totals {
                let number = each.number + each.before as u64;
                stretches.write(Argument::Total, number * SIZE, all_bytes(&each.totals[each.before..]));
            }
        }
        let initial_value = self.program.initial_value.map_or(Vec::new(), |_| bytes_of(&before));
        let memory = Memory { initial_value: &initial_value, head_count, ..Memory::default() };
        let module = self.program.module().map_err(|error| error.to_string())?;
        let room = first / tile as u64 + TILES;
        let name = |role: &str| self.program.source.kernel_name(role);
        let found = emulator.run_on_stretches(&module, name, &launches, &memory, &stretches.all, room);
        stretches.are_as_expected(&found.map_err(|error| error.to_string())?)
    }

    /// The tickets, and the statuses of the tiles that are executed and of some before them, of which the last has the
    /// exclusive prefix.
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

    /// What is between the kernels of reduce-then-scan: the aggregates, before they are scanned and after.
    fn add_aggregates(&self, stretches: &mut Stretches, elements: &Elements, launch: &Launch) {
        let (tile, op) = (self.program.plan.tile as usize, &self.program.op);
        let first_tile = elements.first / tile as u64;
        let places: Vec<Argument> =
            launch.arguments.iter().filter(|argument| matches!(argument, Argument::Workspace(_))).copied().collect();
        if self.kernels == Kernels::ScanTiles {
            let last_of_tiles = (0..=TILES as usize).map(|k| ((k + 1) * tile).min(elements.scanned.len()) - 1);
            let prefixes: Vec<Span> = last_of_tiles.map(|last| elements.scanned[last]).collect();
            return stretches.read(places[0], (first_tile - 1) * SIZE, all_bytes(&prefixes));
        }
        let (mut aggregates, mut first_heads) = (Vec::<Span>::new(), Vec::<u32>::new());
        for start in (tile..elements.values.len()).step_by(tile) {
            let end = (start + tile).min(elements.values.len());
            let begins =
                elements.heads.as_ref().map_or(vec![false; end - start], |heads| heads.begins[start..end].to_vec());
            let values = &elements.values[start..end];
            aggregates.extend(reference::scan_segments(op, ScanKind::Inclusive, None, values, &begins).last().copied());
            first_heads.push(begins.iter().position(|&begins| begins).map_or(u32::MAX, |head| head as u32));
        }
        stretches.write(places[0], first_tile * SIZE, all_bytes(&aggregates));
        if elements.heads.is_some() {
            stretches.write(places[1], first_tile * 4, all_bytes(&first_heads));
        }
    }
}

/// A text whose blocks take themselves for those of the tiles at the edge.
fn at_the_edge(plan: &Plan, segmented: Option<Segmented>, text: &str) -> Result<String, String> {
    let first_tile = first_tile(plan.tile);
    let block = format!("({first_tile}u + blockIdx.x)");
    let changes = match plan.strategy.carry {
        Carry::OneBlock => vec![
            ("size_t begin = 0;", format!("size_t begin = (size_t){first_tile} * TILE;")),
            ("begin == 0 ?", format!("begin == (size_t){first_tile} * TILE ?")),
        ],
        Carry::LookAhead => {
            let tile_index = ("? block.tiles : 0;", format!("? block.tiles : {first_tile}u;"));
            // What stands before the first tile comes as the status of the tile before it.
            let folded = ("unsigned folded = 0;", format!("unsigned folded = {first_tile}u - 1;"));
            [("blockIdx.x", block), folded].into_iter().chain(segmented.is_none().then_some(tile_index)).collect()
        }
        Carry::ReduceThenScan => vec![("blockIdx.x", block)],
        // Turns begin at the first tile, too.
        _ => vec![("gridDim.x", format!("({first_tile}u + {TILES}u)"))],
    };
    let text = changes.into_iter().try_fold(text.to_owned(), |text, (from, to)| match text.contains(from) {
        true => Ok(text.replace(from, &to)),
        false => Err(format!("no `{from}` in\n{text}")),
    })?;
    let searches = SEARCHES.iter().filter(|_| segmented == Some(Segmented::Late));
    Ok(searches.fold(text, |text, (from, to)| text.replace(from, &to.replace("LATE", &LATE.to_string()))))
}

/// Where searches begin, without the offsets that are not there.
const SEARCHES: [(&str, &str); 3] = [
    ("low = 0, high", "low = LATEull, high"),
    (", i + 1, 0, ", ", i + 1, LATEull, "),
    (", i, 0, source.offset_count", ", i, LATEull, source.offset_count"),
];

/// The tile before the edge.
pub(super) fn first_tile(tile: u32) -> u64 {
    EDGE / u64::from(tile) - 1
}

/// Where in memory the bytes begin that tell heads from this element on, and these bytes. All offsets are there, but
/// late ones alone.
fn bytes_of_heads(heads: &Heads, is_late: bool, from: u64) -> (u64, Vec<u8>) {
    match &heads.source {
        HeadSource::LongOffsets(offsets) if is_late => {
            (8 * LATE, all_bytes(&offsets.iter().map(|offset| from + offset).collect::<Vec<_>>()))
        }
        HeadSource::LongOffsets(offsets) => {
            let earlier = [0, 5, EDGE / 3];
            (0, all_bytes(&earlier.into_iter().chain(offsets.iter().map(|offset| from + offset)).collect::<Vec<_>>()))
        }
        HeadSource::Bits(_) => (from / 8, heads.bytes()),
        _ => (from * heads.item_bytes() as u64, heads.bytes()),
    }
}
