//! Scans of more than 2^32 elements, restarting or not.

use scan_codegen::{Argument, KernelRole, KernelSource, Launch, Plan};
use scan_emulator::{Emulator, Memory};
use scan_runtime::{__private::bytes_of, Carry, ScanKind, ScanOp};

use super::{EDGE, STATUS_BYTES, Status, Stretches, TILES, all_bytes, status_bytes};
use crate::{
    emulated::Program,
    operators::{Span, TestOperator, mixed},
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
    /// The first of a hierarchical scan.
    Sections,
    /// The last of a hierarchical scan.
    Carries,
}

/// Where segments begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Segmented {
    /// As [`Heads`] number it.
    Numbered(usize),
    /// As rows of this length.
    Rows(u64),
}

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
}

impl<Op: TestOperator<Item = Span>> Distant<Op> {
    /// Changes the text of a program.
    ///
    /// # Panics
    ///
    /// If the text has not what is to be changed.
    pub fn new(mut program: Program<Op>, kernels: Kernels, segmented: Option<Segmented>) -> Self {
        let text = at_the_edge(&program.plan, segmented.is_some(), &program.source.text);
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
        let text = at_the_edge(&self.program.plan, self.segmented.is_some(), &source.text);
        distant.program.source.text = text.ok()?;
        Some(distant)
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
        let schedule = plan.schedule(TILES * tile as u64 - 5).map_err(|error| error.to_string())?;
        let mut launches = schedule.launches;
        match self.kernels {
            Kernels::Single => self.add_statuses(&mut stretches, before),
            Kernels::Sections => launches.retain(|launch| launch.kernel == KernelRole::ScanSections),
            Kernels::Carries => launches.retain(|launch| launch.kernel == KernelRole::CarrySections),
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

/// A text whose blocks take themselves for those of the tiles at the edge.
fn at_the_edge(plan: &Plan, is_segmented: bool, text: &str) -> Result<String, String> {
    let first_tile = first_tile(plan.tile);
    let block = format!("({first_tile}u + blockIdx.x)");
    let changes = match plan.strategy.carry {
        Carry::OneBlock => vec![("size_t begin = 0;", format!("size_t begin = (size_t){first_tile} * TILE;"))],
        Carry::LookAhead => {
            let tile_index = ("  unsigned tile_index = 0;\n", format!("  unsigned tile_index = {first_tile}u;\n"));
            // What stands before the first tile comes as the status of the tile before it.
            let folded = ("unsigned folded = 0;", format!("unsigned folded = {first_tile}u - 1;"));
            [("blockIdx.x", block), folded].into_iter().chain((!is_segmented).then_some(tile_index)).collect()
        }
        Carry::Hierarchical => vec![("blockIdx.x", block)],
        // Turns begin at the first tile, too.
        _ => vec![("gridDim.x", format!("({first_tile}u + {TILES}u)"))],
    };
    changes.into_iter().try_fold(text.to_owned(), |text, (from, to)| match text.contains(from) {
        true => Ok(text.replace(from, &to)),
        false => Err(format!("no `{from}` in\n{text}")),
    })
}

/// The tile before the edge.
pub(super) fn first_tile(tile: u32) -> u64 {
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
