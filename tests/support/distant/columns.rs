//! Scans along an axis of more than 2^32 elements, and of more than 2^32 columns.

use scan_codegen::{Argument, Axis, ColumnLayout, KernelSource, Launch, Overrides, ScanSpec};
use scan_emulator::{Emulator, Memory, Module};
use scan_runtime::{__private::bytes_of, ScanKind};

use super::{EDGE, Stretches, all_bytes};
use crate::{
    emulated::ColumnsProgram,
    operators::{AffineU32, MapU32, TestOperator, mixed},
    planted::HasSource,
    reference,
};

/// What there are more than 2^32 of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// Elements of a column, of which there are two.
    Rows,
    /// Columns of three elements each. Each has an initial value and a total.
    Columns,
    /// The same, in two dimensions that cannot be merged.
    Planes,
    /// Columns of three tiles each, of which the last are executed.
    Tall,
}

/// A program whose text has been changed so that its blocks take themselves for those of the tiles at the edge.
#[derive(Clone)]
pub struct DistantColumns {
    /// The program with the changed text.
    pub program: ColumnsProgram<AffineU32>,
    far: Far,
    axis: Axis,
}

impl HasSource for DistantColumns {
    fn source(&mut self) -> &mut KernelSource {
        &mut self.program.source
    }
}

/// Threads of a block, and rows of each.
const THREADS: u32 = 128;
const RUN: u32 = 8;

/// Rows of a tile of two columns.
const TILE_ROWS: u64 = (THREADS / 2 * RUN) as u64;

/// Columns of a tile whose threads have a column each.
const TILE_COLUMNS: u64 = THREADS as u64;

/// Extents of the dimensions of columns, whose product is a little more than 2^32: of tall ones, so that two tiles
/// reach the edge of the array.
fn extents(far: Far) -> [usize; 2] {
    match far {
        Far::Planes => [1_047_809, 4_099],
        Far::Tall => [1, (EDGE + TILE_COLUMNS - 5) as usize],
        _ => [1, 1_047_809 * 4_099],
    }
}

/// Elements of a column.
fn rows(far: Far) -> usize {
    if far == Far::Tall { 3 * RUN as usize - 2 } else { 3 }
}

/// The first element of a column that is executed: of tall ones, the third tile's.
fn first_row(far: Far) -> usize {
    if far == Far::Tall { 2 * RUN as usize } else { 0 }
}

/// Generations of a ring of statuses, and one more: a tag is as many times the epoch, plus the generation.
const STATUSES: u64 = 1 << 10;

impl DistantColumns {
    /// The program, of which the arrays are far larger than memory.
    ///
    /// # Panics
    ///
    /// If there is no such program, or its text has not what is to be changed.
    pub fn new(far: Far) -> Self {
        let (axis, spec, width) = match far {
            Far::Rows => (Axis::of(&[EDGE as usize + 2 * TILE_ROWS as usize + 5, 2], 0), ScanSpec::inclusive(), 2),
            Far::Columns | Far::Planes | Far::Tall => {
                let ([outer, inner], rows) = (extents(far), rows(far));
                let strided = Axis::of(&[outer, inner, rows], 2).and_then(|axis| {
                    let (column, result) = (rows + 1, rows);
                    axis.input_strides(&[column * (inner + 3), column, 1])?.output_strides(&[
                        result * inner + 5,
                        result,
                        1,
                    ])
                });
                (strided, ScanSpec::exclusive().with_initial_values().with_totals(), TILE_COLUMNS as u32)
            }
        };
        let overrides = Overrides::default().threads(THREADS).run(RUN).blocks(2);
        let program = ColumnsProgram::new(AffineU32, &spec, None, &overrides, |plan| plan.shaped(1, width));
        let axis = axis.unwrap_or_else(|error| panic!("{far:?}: {error}"));
        let mut program = program.unwrap_or_else(|error| panic!("{far:?}: {error}"));
        let text = at_the_edge(far, &program.source.text);
        program.source.text = text.unwrap_or_else(|| panic!("no such place in\n{}", program.source.text));
        DistantColumns { program, far, axis }
    }

    /// The same with another text, in the same way changed; `None` if it has not what is to be changed.
    pub fn with_source(&self, source: &KernelSource) -> Option<Self> {
        let mut distant = self.clone();
        distant.program.source = source.clone();
        distant.program.source.text = at_the_edge(self.far, &source.text)?;
        Some(distant)
    }

    /// Executes the tiles, and compares what they write with what they should.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn verify(&self, emulator: &Emulator) -> Result<(), String> {
        let layout = self.axis.layout();
        let mut launch =
            self.program.plan.schedule(&layout).map_err(|error| error.to_string())?.launches.swap_remove(0);
        launch.blocks = 2;
        let mut stretches = Stretches::default();
        stretches.read(Argument::Workspace(0), 0, vec![0; 8]);
        let room = match self.far {
            Far::Rows => self.add_rows(&mut stretches, &launch),
            Far::Columns | Far::Planes | Far::Tall => self.add_columns(&mut stretches, &mut launch),
        };
        let layout = words(&layout);
        let memory = Memory { layout: &layout, ..Memory::default() };
        let module = Module::new(&self.program.source).map_err(|error| error.to_string())?;
        let name = |role: &str| self.program.source.kernel_name(role);
        let found = emulator.run_on_stretches(&module, name, &[launch], &memory, &stretches.all, room);
        stretches.are_as_expected(&found.map_err(|error| error.to_string())?)
    }

    /// The rows of the tiles, and the statuses of a window of tiles before them. Gives how many statuses there are.
    fn add_rows(&self, stretches: &mut Stretches, launch: &Launch) -> u64 {
        let lengths = launch.arguments.iter().filter_map(|argument| match argument {
            Argument::Length(length) => Some(*length),
            _ => None,
        });
        let [across, window, log] = lengths.collect::<Vec<_>>()[..] else { unreachable!("three numbers") };
        assert_eq!(across, 2, "{}", self.program.plan);
        let first_tile = EDGE / TILE_ROWS - 1;
        let (from, first) = ((first_tile - window) * TILE_ROWS, first_tile * TILE_ROWS);
        let rows = self.axis.shape()[0] as u64;
        let values = |column: u64| (from..rows).map(move |row| AffineU32::input(mixed(2 * row + column)));
        let scanned = [0, 1].map(|column| {
            let values: Vec<MapU32> = values(column).collect();
            reference::scan(&AffineU32, ScanKind::Inclusive, None, &values)
        });
        let before = |row: u64| (row - from) as usize;
        let size = size_of::<MapU32>() as u64;
        let input: Vec<MapU32> =
            (first..rows).flat_map(|row| [0, 1].map(|column| AffineU32::input(mixed(2 * row + column)))).collect();
        let output: Vec<MapU32> =
            (first..rows).flat_map(|row| [0, 1].map(|column: usize| scanned[column][before(row)])).collect();
        stretches.read(Argument::Input, 2 * first * size, all_bytes(&input));
        stretches.write(Argument::Output, 2 * first * size, all_bytes(&output));
        // The ring of aggregates, and that of prefixes, a status for each column.
        let ring = 1_u64 << log;
        let mut statuses = vec![0; (4 * ring * STATUS_BYTES) as usize];
        for tile in first_tile - window..first_tile {
            let (start, end) = (before(tile * TILE_ROWS), before((tile + 1) * TILE_ROWS));
            let tag = (tile >> log) + 1;
            assert!(tag < STATUSES);
            for column in 0..2 {
                let values: Vec<MapU32> = values(column).skip(start).take(end - start).collect();
                let prefix = scanned[column as usize][end - 1];
                let aggregate = reference::total(&AffineU32, None, &values).unwrap_or(prefix);
                for (kind, value) in [(0, aggregate), (1, prefix)] {
                    let index = 2 * (kind * ring + tile % ring) + column;
                    let at = (index * STATUS_BYTES) as usize;
                    let status = status(value, tag as u32);
                    statuses[at..at + status.len()].copy_from_slice(&status);
                }
            }
        }
        stretches.read(Argument::Workspace(STATUSES_AT), 0, statuses);
        4 * ring
    }

    /// The columns of the tiles, their values, and the statuses of the tiles above. Gives how many statuses there are.
    fn add_columns(&self, stretches: &mut Stretches, launch: &mut Launch) -> u64 {
        let first = (EDGE / TILE_COLUMNS - 1) * TILE_COLUMNS;
        let columns = self.axis.columns() as u64;
        let (inputs, outputs) = self.axis.both_strides();
        let inner = extents(self.far)[1] as u64;
        let place =
            |column: u64, strides: &[isize]| column / inner * strides[0] as u64 + column % inner * strides[1] as u64;
        let [from, to] = [inputs, outputs].map(|strides| place(first, strides));
        let nothing = AffineU32::input(7);
        let mut input = vec![nothing; self.axis.input_len() - from as usize];
        let untouched = MapU32 { a: 3, b: 5 };
        let mut output = vec![untouched; self.axis.output_len() - to as usize];
        let (rows, above) = (rows(self.far), first_row(self.far));
        let (mut values, mut totals, mut statuses) = (Vec::new(), Vec::new(), Vec::new());
        for column in first..columns {
            let place_of = |row: usize| mixed((rows + 1) as u64 * column + row as u64);
            let elements: Vec<MapU32> = (0..rows).map(|row| AffineU32::input(place_of(row))).collect();
            let value = AffineU32::input(place_of(rows));
            let results = reference::scan_as(&AffineU32, &self.program.plan.spec, Some(value), &elements, None);
            let [at, result_at] =
                [(inputs, from), (outputs, to)].map(|(strides, from)| (place(column, strides) - from) as usize);
            input[at..at + rows].copy_from_slice(&elements);
            output[result_at + above..result_at + rows].copy_from_slice(&results[above..]);
            if let Some(prefix) = reference::total(&AffineU32, None, &elements[..above]) {
                statuses.extend(status(prefix, 1));
            }
            values.push(value);
            totals.extend(reference::total(&AffineU32, Some(value), &elements));
        }
        let size = size_of::<MapU32>() as u64;
        stretches.read(Argument::Input, from * size, all_bytes(&input));
        let before = vec![untouched; output.len()];
        stretches.read_and_write(Argument::Output, to * size, all_bytes(&before), all_bytes(&output));
        stretches.read(Argument::InitialPointer, first * size, all_bytes(&values));
        stretches.write(Argument::Total, first * size, all_bytes(&totals));
        // A window of one row of tiles, and a ring of two: the second row has the prefixes of all columns up to there.
        if above > 0 {
            let numbers = launch.arguments.iter_mut().filter_map(|argument| match argument {
                Argument::Length(length) => Some(length),
                _ => None,
            });
            numbers.skip(1).for_each(|number| *number = 1);
        }
        stretches.read(Argument::Workspace(STATUSES_AT), (columns + first) * STATUS_BYTES, statuses);
        2 * columns
    }
}

/// Bytes of the status of a column: a packet of a state of two words, and the tag in the other two.
const STATUS_BYTES: u64 = 16;

/// A status published in this generation.
fn status(value: MapU32, generation: u32) -> Vec<u8> {
    [bytes_of(&value), generation.to_le_bytes().to_vec(), generation.to_le_bytes().to_vec()].concat()
}

/// Where the statuses begin in the workspace.
const STATUSES_AT: u64 = 256;

/// A text whose blocks take themselves for those of the tiles at the edge.
fn at_the_edge(far: Far, text: &str) -> Option<String> {
    let from = "{blockIdx.x / steps.columns, blockIdx.x % steps.columns}";
    let first_column = EDGE / TILE_COLUMNS - 1;
    let to = match far {
        Far::Rows => format!("{{{}u + blockIdx.x / steps.columns, blockIdx.x % steps.columns}}", EDGE / TILE_ROWS - 1),
        Far::Columns | Far::Planes => {
            format!("{{blockIdx.x / steps.columns, {first_column}u + blockIdx.x % steps.columns}}")
        }
        Far::Tall => {
            format!("{{2u + blockIdx.x / steps.columns, {first_column}u + blockIdx.x % steps.columns}}")
        }
    };
    text.contains(from).then(|| text.replace(from, &to))
}

fn words(layout: &ColumnLayout) -> Vec<u8> {
    layout.words().into_iter().flat_map(u64::to_le_bytes).collect()
}
