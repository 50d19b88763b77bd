//! Each kind of scan with each other that composes with it: a table of axes, and so many of its cells that every three
//! values of three axes meet. What does not compose is listed in `guide/combinations.md`.

use std::{error::Error, fmt::Debug};

use scan_codegen::{ArrayKind, ArrayKinds, Arrays, Axis, OffsetWidth, ScanSpec};
use scan_runtime::{
    Fields, Run, Scan, ScanElement, ScanOp, Scanner,
    arrays::{gather, previous, scatter},
    ops, scan_op,
};

use crate::{
    columns::ColumnsOperator,
    operators::{AffineU32, MapU32, bits, mixed},
    reference,
    segments::{Heads, PATTERNS, begins},
};

/// A cell of the matrix: the value of each axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// From the last element to the first.
    pub reversed: bool,
    /// Without the element itself.
    pub exclusive: bool,
    /// After which initial value.
    pub begins: Begins,
    /// With which totals.
    pub gives: Gives,
    /// Where elements and results lie.
    pub memory: Lies,
    /// Whether only the device knows how many elements there are: of kernels only.
    pub length_on_device: bool,
    /// What tells where it restarts.
    pub restarts: Restarts,
}

/// What each segment begins with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Begins {
    /// Nothing.
    WithNothing,
    /// An initial value.
    WithOne,
    /// An initial value of its own.
    WithItsOwn,
}

/// What a scan gives besides its results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gives {
    /// Nothing.
    NoTotal,
    /// The total after the last element.
    TheTotal,
    /// The total of each.
    EachTotal,
}

/// Where elements and results lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lies {
    /// In a slice of elements.
    InSlices,
    /// In a slice for each field.
    ByField,
    /// The same, but the first field of the input is gathered, and that of the output scattered.
    AtPlaces,
    /// The same, but the first field of the input is the one of the element before, within rows and columns.
    ByNeighbour,
}

/// What tells where a scan restarts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Restarts {
    /// Nothing.
    Nowhere,
    /// Memory, in one of the [ways](Heads::new).
    HeadSource(usize),
    /// The length of rows.
    ByRows,
    /// The columns of an array, along one of its axes.
    ByColumns,
}

const RESTARTS: [Restarts; 8] = [
    Restarts::Nowhere,
    Restarts::HeadSource(0), // flags
    Restarts::HeadSource(2), // bits
    Restarts::HeadSource(4), // keys
    Restarts::HeadSource(7), // offsets
    Restarts::HeadSource(8), // offsets of 64 bits
    Restarts::ByRows,
    Restarts::ByColumns,
];

const AXES: [usize; 7] = [2, 2, 3, 3, 4, 2, RESTARTS.len()];

impl Cell {
    fn at(place: [usize; AXES.len()]) -> Self {
        let [reversed, exclusive, begins, gives, memory, length, restarts] = place;
        Cell {
            reversed: reversed == 1,
            exclusive: exclusive == 1,
            begins: [Begins::WithNothing, Begins::WithOne, Begins::WithItsOwn][begins],
            gives: [Gives::NoTotal, Gives::TheTotal, Gives::EachTotal][gives],
            memory: [Lies::InSlices, Lies::ByField, Lies::AtPlaces, Lies::ByNeighbour][memory],
            length_on_device: length == 1,
            restarts: RESTARTS[restarts],
        }
    }

    /// Whether segments must have an index.
    pub fn is_indexed(&self) -> bool {
        self.begins == Begins::WithItsOwn || self.gives == Gives::EachTotal
    }

    /// Whether these kinds compose: the total of the last segment alone is not given where each has something of its
    /// own, and only rows and segments between offsets have an index. A scan along an axis is planned for slices whose
    /// length the host knows, and has the total of each column.
    fn composes(&self) -> bool {
        if self.restarts == Restarts::ByColumns {
            return self.gives != Gives::TheTotal && self.memory != Lies::AtPlaces && !self.length_on_device;
        }
        let indexed = matches!(self.restarts, Restarts::ByRows | Restarts::HeadSource(7 | 8));
        !self.is_indexed() || indexed && self.gives != Gives::TheTotal
    }

    /// The initial values of segments.
    pub fn initial_values<Op: Operator>(&self, heads: Option<&Heads>) -> Vec<Op::Carry> {
        let count = heads.map_or(0, |heads| heads.segments_of(heads.begins.len()).len());
        let count = if self.begins == Begins::WithItsOwn { count } else { 0 };
        (0..count as u64).map(Op::value_of_segment).collect()
    }

    /// What a planner is asked for, but for one initial value.
    pub fn spec(&self) -> ScanSpec {
        let spec = if self.exclusive { ScanSpec::exclusive() } else { ScanSpec::inclusive() };
        let spec = if self.reversed { spec.reverse() } else { spec };
        let spec = match self.gives {
            Gives::NoTotal => spec,
            Gives::TheTotal => spec.with_total(),
            Gives::EachTotal => spec.with_totals(),
        };
        let spec = if self.begins == Begins::WithItsOwn { spec.with_initial_values() } else { spec };
        let spec = if self.length_on_device { spec.with_length_on_device() } else { spec };
        let spec =
            if self.memory == Lies::InSlices { spec } else { spec.with_arrays(Arrays::PerField, Arrays::PerField) };
        let first = ArrayKinds::new([ArrayKind::Places(OffsetWidth::U32)]);
        let previous = ArrayKinds::new([ArrayKind::Previous]);
        let spec = match self.memory {
            Lies::InSlices | Lies::ByField => spec,
            Lies::AtPlaces => spec.with_kinds(first, first),
            Lies::ByNeighbour => spec.with_kinds(previous, ArrayKinds::default()),
        };
        self.heads(0, 1).map_or(spec.clone(), |heads| spec.with_segments(heads.segments()))
    }

    /// The array of no more than so many elements, one at least, that is scanned along an axis.
    pub fn axis(len: usize) -> Axis {
        let (outer, inner) = [(1, 1), (2, 5), (3, 8), (1, 4)][len % 4];
        let rows = len / (outer * inner);
        let shape = if rows == 0 { [1, len, 1] } else { [outer, rows, inner] };
        Axis::of(&shape, 1).expect("an axis of a small array")
    }

    /// The same, and one that is inverted along the axis and along another dimension of the input, and of the output.
    pub fn axes(len: usize) -> [Axis; 2] {
        let axis = Cell::axis(len);
        let (strides, _) = axis.both_strides();
        let [outer, row, column] = [strides[0], strides[1], strides[2]];
        let last = if len.is_multiple_of(2) { [outer, -row, column] } else { [outer, row, -column] };
        let inverted = axis.clone().input_strides(&[-outer, -row, column]).and_then(|axis| axis.output_strides(&last));
        [axis, inverted.expect("an axis of a small array")]
    }

    /// Where it restarts, of so many elements and by tiles of a size.
    pub fn heads(&self, len: usize, tile: usize) -> Option<Heads> {
        match self.restarts {
            Restarts::Nowhere | Restarts::ByColumns => None,
            Restarts::HeadSource(head_source) => {
                let begins = begins(PATTERNS[(head_source + len) % PATTERNS.len()], len, tile);
                Some(if self.is_indexed() {
                    Heads::covering(head_source == 8, &begins)
                } else {
                    Heads::new(head_source, &begins).with_an_empty_one_at_the_end()
                })
            }
            Restarts::ByRows => {
                let row = (1..=tile / 3).rev().find(|row| len.is_multiple_of(*row));
                Some(Heads::rows(row.unwrap_or(1), len))
            }
        }
    }
}

/// Cells in which every three values of three axes meet, or every two of two; other cells for another `turn`.
pub fn cells(turn: u64, triples: bool) -> Vec<Cell> {
    let mut places = vec![[0; AXES.len()]];
    for (axis, &values) in AXES.iter().enumerate() {
        places = (0..values)
            .flat_map(|value| {
                places.iter().map(move |place| {
                    let mut place = *place;
                    place[axis] = value;
                    place
                })
            })
            .collect();
    }
    places.sort_by_key(|place| place.iter().fold(turn, |key, &value| mixed(key ^ value as u64)));
    let mut met = std::collections::HashSet::new();
    let mut news = |place: &[usize; AXES.len()]| {
        let mut any = false;
        for first in 0..AXES.len() {
            for second in 0..first {
                // With the first again, pairs.
                for third in if triples { 0..second } else { first..first + 1 } {
                    let values = [first, second, third].map(|axis| (axis, place[axis]));
                    any |= met.insert(values);
                }
            }
        }
        any
    };
    places.retain(|place| Cell::at(*place).composes() && news(place));
    places.into_iter().map(Cell::at).collect()
}

/// How the first field of the input lies, and that of the output.
#[derive(Clone, Copy, Debug)]
pub enum First<'a> {
    /// In slices.
    Slices,
    /// At places.
    Places(&'a [u32]),
    /// Of the input: as the items so far behind each one within rows of so many.
    Behind(usize, usize),
}

/// The first field where there is no element before.
const EDGE: u32 = 9;

impl Cell {
    /// How first fields lie, of so many elements.
    fn first<'a>(&self, places: &'a [u32], rows: Option<&Heads>) -> First<'a> {
        let row = || match self.restarts {
            Restarts::ByRows => (1, rows.map_or(0, |rows| rows.head_count() as usize)),
            Restarts::ByColumns => {
                let axis = Cell::axis(places.len());
                let [_, rows, inner] = axis.shape()[..] else { return (1, places.len()) };
                (inner, rows * inner)
            }
            _ => (1, places.len()),
        };
        match self.memory {
            Lies::AtPlaces => First::Places(places),
            Lies::ByNeighbour => First::Behind(row().0, row().1),
            _ => First::Slices,
        }
    }
}

/// A register that each input maps. Its outputs are made of the register before an input and of the input.
#[derive(Clone, Copy, Debug)]
pub struct Register;

#[scan_op]
impl ScanOp for Register {
    type Input = MapU32;
    type State = MapU32;
    type Carry = u32;
    type Output = MapU32;
    const IDENTITY: MapU32 = MapU32 { a: 1, b: 0 };
    const START: u32 = 0x1234_5678;
    fn lift(x: MapU32) -> MapU32 {
        x
    }
    fn combine(f: MapU32, g: MapU32) -> MapU32 {
        MapU32 { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn apply(f: MapU32, register: u32) -> u32 {
        f.a.wrapping_mul(register).wrapping_add(f.b)
    }
    fn step(register: u32, f: MapU32) -> u32 {
        f.a.wrapping_mul(register).wrapping_add(f.b)
    }
    fn emit(register: u32, x: MapU32) -> MapU32 {
        MapU32 { a: register, b: x.b }
    }
    fn project(register: u32) -> MapU32 {
        MapU32 { a: register, b: 77 }
    }
}

/// The outputs of a scan, and its total.
pub type Found<Op> = (Vec<<Op as ScanOp>::Output>, Option<<Op as ScanOp>::Carry>);

/// An operator of the matrix: over maps, with two fields in its outputs, and not commutative.
pub trait Operator: ColumnsOperator<Input = MapU32, Output: Fields + Debug + PartialEq> {
    /// The initial value of the segment with this index.
    fn value_of_segment(index: u64) -> Self::Carry;

    /// Runs a scan of an array for each field, whose first fields lie like this. Writes the total of each
    /// segment, if that is what the scan gives.
    ///
    /// # Errors
    ///
    /// Those of the scan.
    fn by_columns<'a>(
        scan: Run<'a, Self>,
        input: &[MapU32],
        lies: First<'_>,
        gives: Gives,
        totals: &'a mut [Self::Carry],
    ) -> Result<Found<Self>, scan_runtime::Error>;
}

macro_rules! operators {
    ($($op:ty, $output:ident { $first:ident, $second:ident }, $empty:expr, $value:expr;)*) => {$(
        impl Operator for $op {
            fn value_of_segment(index: u64) -> Self::Carry {
                $value(mixed(index))
            }
            fn by_columns<'a>(
                scan: Run<'a, Self>,
                input: &[MapU32],
                lies: First<'_>,
                gives: Gives,
                totals: &'a mut [Self::Carry],
            ) -> Result<Found<Self>, scan_runtime::Error> {
                macro_rules! run {
                    ($from:expr, $to:expr) => {
                        match gives {
                            Gives::NoTotal => scan.run_into($from, $to).map(|()| None),
                            Gives::TheTotal => scan.with_total().run_into($from, $to),
                            Gives::EachTotal => scan.totals_into(totals).run_into($from, $to).map(|()| None),
                        }
                    };
                }
                let (a, b): (Vec<u32>, Vec<u32>) = input.iter().map(|map| (map.a, map.b)).unzip();
                let (mut first, mut second) = (vec![$empty; input.len()], vec![$empty; input.len()]);
                let total = match lies {
                    First::Slices => run!((&a, &b), (&mut first, &mut second))?,
                    First::Behind(distance, row) => {
                        run!((previous(&before(&a, distance, row), EDGE), &b), (&mut first, &mut second))?
                    }
                    First::Places(places) => {
                        let (mut values, mut results) = (a.clone(), first.clone());
                        places.iter().zip(&a).for_each(|(place, value)| values[*place as usize] = *value);
                        let signed: Vec<i64> = places.iter().map(|place| i64::from(*place)).collect();
                        let total = run!((gather(&values, places), &b), (scatter(&mut results, &signed), &mut second))?;
                        first = places.iter().map(|place| results[*place as usize]).collect();
                        total
                    }
                };
                let outputs = first.into_iter().zip(second).map(|($first, $second)| $output { $first, $second });
                Ok((outputs.collect(), total))
            }
        }
    )*};
}

/// Items of which those are the ones `distance` before each, within rows of so many.
fn before(found: &[u32], distance: usize, row: usize) -> Vec<u32> {
    let mut items = vec![0; found.len()];
    let inner = (0..found.len()).filter(|index| index % row >= distance);
    inner.for_each(|index| items[index - distance] = found[index]);
    items
}

use ops::ExclusiveInclusive;

operators! {
    AffineU32, MapU32 { a, b }, 0, |bits| MapU32 { a: bits as u32 | 1, b: (bits >> 32) as u32 };
    Register, MapU32 { a, b }, 0, |bits| bits as u32;
    ops::WithExclusive<AffineU32>, ExclusiveInclusive { exclusive, inclusive }, MapU32 { a: 0, b: 0 },
        |bits| MapU32 { a: bits as u32 | 1, b: (bits >> 32) as u32 };
}

impl ColumnsOperator for Register {
    fn new() -> Self {
        Register
    }
    fn inputs(len: usize, seed: u64) -> Vec<MapU32> {
        <AffineU32 as ColumnsOperator>::inputs(len, seed)
    }
    fn initial_value() -> u32 {
        9
    }
}

impl ColumnsOperator for ops::WithExclusive<AffineU32> {
    fn new() -> Self {
        ops::with_exclusive(AffineU32)
    }
    fn inputs(len: usize, seed: u64) -> Vec<MapU32> {
        <AffineU32 as ColumnsOperator>::inputs(len, seed)
    }
    fn initial_value() -> MapU32 {
        <AffineU32 as ColumnsOperator>::initial_value()
    }
}

/// Compares scans of host memory in the cells of the matrix with a plain loop: of the lengths, one after the other, and
/// of no elements.
///
/// # Errors
///
/// What goes wrong.
pub fn check(scanner: &Scanner, lengths: &[usize]) -> Result<(), Box<dyn Error>> {
    of_operator::<AffineU32>(scanner, lengths, 1)?;
    of_operator::<Register>(scanner, lengths, 2)?;
    of_operator::<ops::WithExclusive<AffineU32>>(scanner, lengths, 3)
}

fn of_operator<Op: Operator>(scanner: &Scanner, lengths: &[usize], turn: u64) -> Result<(), Box<dyn Error>> {
    for (index, cell) in cells(turn, true).into_iter().filter(|cell| !cell.length_on_device).enumerate() {
        let len = lengths[index % lengths.len()];
        of_cell::<Op>(scanner, &cell, len, turn)?;
        of_cell::<Op>(scanner, &cell, 0, turn)?;
    }
    Ok(())
}

fn of_cell<Op: Operator>(scanner: &Scanner, cell: &Cell, len: usize, turn: u64) -> Result<(), Box<dyn Error>> {
    let mut input = Op::inputs(len, turn);
    if cell.restarts == Restarts::ByColumns {
        input.truncate(Cell::axis(len).len());
    }
    let places = vec![0; input.len()];
    if let First::Behind(distance, row) = cell.first(&places, cell.heads(len, 97).as_ref()) {
        let edges = input.iter_mut().enumerate().filter(|(index, _)| index % row < distance);
        edges.for_each(|(_, map)| map.a = EDGE);
    }
    let scan = scanner.scan(Op::new());
    let scan = if cell.exclusive { scan.exclusive() } else { scan };
    let scan = if cell.reversed { scan.reverse() } else { scan };
    let initial_value = (cell.begins == Begins::WithOne).then(Op::initial_value);
    let scan = initial_value.iter().fold(scan, |scan, value| scan.init(*value));
    match cell.heads(len, 97) {
        None if cell.restarts == Restarts::ByColumns => compare_columns(&scan, cell, &input),
        Some(heads) if cell.is_indexed() => compare_each(&scan, cell, &input, &heads),
        heads => compare(&scan, cell, &input, heads.as_ref()),
    }
}

fn compare<Op: Operator>(
    scan: &Scan<Op>,
    cell: &Cell,
    input: &[MapU32],
    heads: Option<&Heads>,
) -> Result<(), Box<dyn Error>> {
    let begins = heads.map(|heads| &heads.begins[..]);
    let (spec, initial_value) = (cell.spec(), (cell.begins == Begins::WithOne).then(Op::initial_value));
    let expected = reference::scan_as(&Op::new(), &spec, initial_value, input, begins);
    let total = reference::total_as(&Op::new(), &spec, initial_value, input, begins);
    let places: Vec<u32> = (0..input.len() as u32).rev().collect();
    let run = heads.map_or_else(|| Run::from(scan), |heads| heads.of(scan));
    let (found, found_total) = match cell.memory {
        Lies::InSlices if cell.gives == Gives::TheTotal => run.with_total().run(input)?,
        Lies::InSlices => (run.run(input)?, total),
        _ => Op::by_columns(run, input, cell.first(&places, heads), Gives::TheTotal, &mut [])?,
    };
    let what = || format!("{}, {} elements, {cell:?}", Op::new().source().name, input.len());
    if let Some(index) = found.iter().zip(&expected).position(|(found, expected)| found != expected) {
        return Err(format!("{}: wrong from {index} on", what()).into());
    }
    let total_bits = |total: Option<Op::Carry>| total.iter().flat_map(|total| bits(&[*total])).collect::<Vec<u8>>();
    match total_bits(found_total) == total_bits(total) && found.len() == expected.len() {
        true => Ok(()),
        false => Err(format!("{}: another total", what()).into()),
    }
}

fn compare_columns<Op: Operator>(scan: &Scan<Op>, cell: &Cell, input: &[MapU32]) -> Result<(), Box<dyn Error>> {
    // The neighbours of a cell are those of contiguous columns.
    let count = if matches!(cell.memory, Lies::ByNeighbour) { 1 } else { 2 };
    Cell::axes(input.len()).into_iter().take(count).try_for_each(|axis| compare_along(scan, cell, axis, input))
}

fn compare_along<Op: Operator>(
    scan: &Scan<Op>,
    cell: &Cell,
    axis: Axis,
    input: &[MapU32],
) -> Result<(), Box<dyn Error>> {
    let op = Op::new();
    let input = &input[..axis.len()];
    let values: Vec<_> = (0..axis.columns() as u64).map(Op::value_of_segment).collect();
    let begins = match cell.begins {
        Begins::WithNothing => None,
        Begins::WithOne => Some(vec![Op::initial_value(); values.len()]),
        Begins::WithItsOwn => Some(values.clone()),
    };
    let mut expected = scan.along(axis.clone()).run(input)?;
    let totals = reference::scan_axis_each(&op, &cell.spec(), begins.as_deref(), &axis, input, &mut expected);
    let scan = scan.along(axis);
    let scan = if cell.begins == Begins::WithItsOwn { scan.init_each(&values) } else { scan };
    let mut found_totals = totals.clone();
    found_totals.reverse();
    let found = match (cell.memory, cell.gives) {
        (Lies::InSlices, Gives::EachTotal) => {
            let (found, totals) = scan.with_totals().run(input)?;
            found_totals = totals;
            found
        }
        (Lies::InSlices, _) => scan.run(input)?,
        (_, gives) => {
            let places = vec![0; input.len()];
            Op::by_columns(scan, input, cell.first(&places, None), gives, &mut found_totals)?.0
        }
    };
    same(cell, &found, &expected, (&found_totals, &totals))
}

fn compare_each<Op: Operator>(
    scan: &Scan<Op>,
    cell: &Cell,
    input: &[MapU32],
    heads: &Heads,
) -> Result<(), Box<dyn Error>> {
    let (op, spec, values) = (Op::new(), cell.spec(), cell.initial_values::<Op>(Some(heads)));
    let one = (cell.begins == Begins::WithOne).then(Op::initial_value);
    let segments = heads.segments_of(input.len());
    let initial_value = |segment: usize| values.get(segment).copied().or(one);
    let (expected, totals) = reference::scan_each(&op, &spec, initial_value, input, &segments);
    let totals: Vec<Op::Carry> = totals.into_iter().flatten().collect();
    let scan = heads.of(scan);
    let scan = if cell.begins == Begins::WithItsOwn { scan.init_each(&values) } else { scan };
    let places: Vec<u32> = (0..input.len() as u32).rev().collect();
    let mut found_totals = totals.clone();
    found_totals.reverse();
    let found = match (cell.memory, cell.gives) {
        (Lies::InSlices, Gives::EachTotal) => {
            let (found, totals) = scan.with_totals().run(input)?;
            found_totals = totals;
            found
        }
        (Lies::InSlices, _) => scan.run(input)?,
        (_, gives) => {
            let lies = cell.first(&places, Some(heads));
            Op::by_columns(scan, input, lies, gives, &mut found_totals)?.0
        }
    };
    same(cell, &found, &expected, (&found_totals, &totals))
}

/// Compares results, and the total of each segment where there is one.
fn same<T: ScanElement + PartialEq, C: ScanElement>(
    cell: &Cell,
    found: &[T],
    expected: &[T],
    totals: (&[C], &[C]),
) -> Result<(), Box<dyn Error>> {
    let what = || format!("{} elements, {cell:?}", expected.len());
    if let Some(index) = found.iter().zip(expected).position(|(found, expected)| found != expected) {
        return Err(format!("{}: wrong from {index} on", what()).into());
    }
    match cell.gives != Gives::EachTotal || bits(totals.0) == bits(totals.1) {
        true if found.len() == expected.len() => Ok(()),
        _ => Err(format!("{}: other totals", what()).into()),
    }
}
