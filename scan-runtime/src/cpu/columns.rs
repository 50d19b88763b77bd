//! Scans along an axis of an array, on the CPU: row by row, as the elements lie in memory, so many neighbouring columns
//! at a time that their carries stay in the cache. Each column is combined from its first element to its last.

use std::time::Instant;

use scan_codegen::ColumnLayout;

use super::{
    Memory, Order, Stop, begin, caught,
    loops::{loops_by_hand, of},
    pipeline::{TO_MEASURE, WORTH_HELP},
    stopped, threads, try_each,
};
use crate::{Error, ScanKind, ScanOp, host::watch::Watch};

/// Bytes of the carries of the columns that are scanned at a time.
const CARRY_BYTES: usize = 1 << 13;

/// The same where neighbouring columns do not lie side by side, and each brings a line of its own into the cache.
const APART_BYTES: usize = 1 << 9;

/// Bytes of a row below which another thread is not worth while.
const MIN_BYTES: usize = 1 << 8;

/// Elements of a column from which on it is scanned alone, if they lie side by side, in either direction: as a row.
const LONG_ROW: u64 = 32;

/// Elements of an array below which it is not worth while to wake other threads.
const SHARED: usize = 1 << 14;

/// Elements of a part from which on it is worth while to wake other threads for the next one.
const LONG: usize = 1 << 15;

/// About as many elements as a thread takes at a time.
const TAKEN: usize = 1 << 12;

/// Neighbouring columns: where the first of them begins, in the input, in the output, and in an array with a value for
/// each, how many they are, and where the next one lies.
#[derive(Clone, Copy)]
struct Strip {
    first: [usize; 3],
    columns: usize,
    strides: [usize; 3],
}

/// What columns begin with: one value, or one for each in the order of their indices; and where the total of each goes.
pub(crate) struct ColumnValues<'a, Op: ScanOp> {
    pub(crate) initial_value: Option<Op::Carry>,
    pub(crate) initial_values: Option<&'a [Op::Carry]>,
    pub(crate) totals: Option<*mut Op::Carry>,
}

/// What strips are scanned with.
struct Job<'a, Op: ScanOp, M> {
    op: &'a Op,
    kind: ScanKind,
    order: Order,
    values: ColumnValues<'a, Op>,
    /// The first result of each column of an exclusive scan without initial values.
    start: Option<Op::Carry>,
    memory: M,
    length: usize,
    steps: [usize; 2],
}

// SAFETY: a strip is one thread's; operators and states are sent and shared between threads.
unsafe impl<Op: ScanOp, M> Sync for Job<'_, Op, M> {}

/// Scans `len` elements along an axis.
///
/// # Safety
///
/// The memory is valid for reads of the elements of the layout, and for writes of its results; no two results have the
/// same place. Inputs and outputs are one, and each result in the place of its element, or they do not overlap. There
/// is an initial value for each column, if there are any, and the totals are valid for a write of one for each.
#[allow(clippy::too_many_arguments, reason = "what `scan_in` has, and the layout")]
pub(crate) unsafe fn scan_columns<Op: ScanOp, M: Memory<Op>>(
    op: &Op,
    kind: ScanKind,
    order: Order,
    values: ColumnValues<'_, Op>,
    layout: &ColumnLayout,
    memory: M,
    len: usize,
    watch: Option<&Watch<'_>>,
) -> Result<(), Error> {
    let initial_value = begin(op, values.initial_value);
    let start = if kind == ScanKind::Exclusive { op.start() } else { None };
    let has_value = initial_value.is_some() || values.initial_values.is_some();
    if kind == ScanKind::Exclusive && !has_value && start.is_none() {
        return Err(stopped(op, Stop::NoIdentity));
    }
    let (length, steps) = (layout.length() as usize, layout.steps());
    let values = ColumnValues { initial_value, ..values };
    let job = Job { op, kind, order, values, start, memory, length, steps };
    let is_shared = len >= SHARED && !memory.is_for_one_thread();
    let size = size_of::<Op::Carry>().max(size_of::<Op::Input>()).max(size_of::<Op::Output>());
    let strips = strips(layout, size, if is_shared { threads() } else { 1 });
    let scan = |strip: &Strip| {
        // SAFETY: the caller vouches for the memory; no two strips have a column in common.
        caught(op, || unsafe { job.scan(strip) })?;
        watch.map_or(Ok(()), |watch| {
            watch.add(strip.columns * length);
            watch.check()
        })
    };
    let parts: Vec<&[Strip]> = strips.chunks((strips.len() * TAKEN / len.max(1)).max(1)).collect();
    let part = |index: usize| parts[index].iter().try_for_each(scan);
    if !is_shared {
        return (0..parts.len()).try_for_each(part);
    }
    // Alone, until it is known whether the rest is worth waking other threads. Long parts are.
    let (begin, mut first) = (Instant::now(), 0);
    if len / parts.len().max(1) < LONG {
        while first < parts.len() {
            let (elapsed, rest) = (begin.elapsed(), (parts.len() - first) as f64);
            if first > 0 && elapsed >= TO_MEASURE && elapsed.mul_f64(rest / first as f64) >= WORTH_HELP {
                break;
            }
            part(first)?;
            first += 1;
        }
    }
    try_each(parts.len() - first, |index| part(first + index))
}

/// Cuts the columns into strips for `threads` threads; an element, a result or a carry has up to `size` bytes. Not
/// generic, so that it is compiled once and not for every operator.
fn strips(layout: &ColumnLayout, size: usize, threads: usize) -> Vec<Strip> {
    let mut dimensions = layout.dimensions();
    let (inner, strides) = dimensions.next().unwrap_or((1, [1; 3]));
    let bytes = if strides[..2] == [1, 1] { CARRY_BYTES } else { APART_BYTES };
    // Each thread has some, where there are so many.
    let shared = layout.columns() as usize / (4 * threads);
    let is_row = layout.length() >= LONG_ROW && layout.steps().iter().all(|step| [1, usize::MAX].contains(step));
    let max = if is_row { 1 } else { (bytes / size).min(shared.max(MIN_BYTES / size)).max(1) };
    let along = |start: [usize; 3], strides: [usize; 3], index: usize| {
        [0, 1, 2].map(|array: usize| place(start[array], index, strides[array]))
    };
    let [input, output] = layout.firsts();
    let mut starts = vec![[input, output, 0]];
    for (extent, strides) in dimensions {
        let indices = |start: &[usize; 3]| {
            let start = *start;
            (0..extent).map(move |index| along(start, strides, index))
        };
        starts = starts.iter().flat_map(indices).collect();
    }
    let cut = |start: &[usize; 3]| {
        let start = *start;
        (0..inner).step_by(max).map(move |column| Strip {
            first: along(start, strides, column),
            columns: max.min(inner - column),
            strides,
        })
    };
    starts.iter().flat_map(cut).collect()
}

/// The place `index` strides after the first one. A stride is the bits of a negative number where a dimension is
/// inverted: the sum wraps around to the right place.
#[inline(always)]
fn place(first: usize, index: usize, stride: usize) -> usize {
    first.wrapping_add(index.wrapping_mul(stride))
}

impl<Op: ScanOp, M: Memory<Op>> Job<'_, Op, M> {
    /// # Safety
    ///
    /// The strip is one of the layout's, and no other thread touches it.
    unsafe fn scan(&self, strip: &Strip) {
        let mut carries: Vec<Op::Carry> = Vec::with_capacity(strip.columns);
        let mut rows = 0..self.length;
        let value_at = |column: usize| place(strip.first[2], column, strip.strides[2]);
        match (self.values.initial_values, self.values.initial_value) {
            (Some(values), _) => carries.extend((0..strip.columns).map(|column| values[value_at(column)])),
            (None, Some(value)) => carries.resize(strip.columns, value),
            (None, None) => {
                let Some(first) = rows.next() else { return };
                let (input, output) = self.row(strip, first);
                for column in 0..strip.columns {
                    // SAFETY: the caller vouches for the strip.
                    unsafe {
                        let element = self.memory.read(place(input, column, strip.strides[0]));
                        let carry = self.op.carry_of(self.op.lift(element));
                        carries.push(carry);
                        let result = self.op.project(self.start.unwrap_or(carry));
                        self.memory.write(place(output, column, strip.strides[1]), result);
                    }
                }
            }
        }
        if rows.is_empty() {
            return self.write_totals(strip, carries);
        }
        let rows = Rows {
            first: self.row(strip, rows.start),
            // The bits of a negative number, towards the front of the memory, where the scan is reversed.
            steps: match self.order {
                Order::Forward => self.steps,
                Order::Reversed => self.steps.map(usize::wrapping_neg),
            },
            count: rows.len(),
            strides: [strip.strides[0], strip.strides[1]],
        };
        let columns: Columns<Op, M> = of(self.kind, self.order, const { &loops_by_hand!(columns::<Op, M>) });
        // SAFETY: as above.
        unsafe { columns(self.op, self.memory, rows, &mut carries) };
        self.write_totals(strip, carries);
    }

    fn write_totals(&self, strip: &Strip, carries: Vec<Op::Carry>) {
        let Some(totals) = self.values.totals else { return };
        for (column, carry) in carries.into_iter().enumerate() {
            // SAFETY: the totals have room for each column, and no other strip has these.
            unsafe { totals.add(place(strip.first[2], column, strip.strides[2])).write(carry) };
        }
    }

    /// Where a row of a strip begins.
    fn row(&self, strip: &Strip, row: usize) -> (usize, usize) {
        let row = if self.order == Order::Reversed { self.length - 1 - row } else { row };
        (place(strip.first[0], row, self.steps[0]), place(strip.first[1], row, self.steps[1]))
    }
}

/// The rows of a strip, in the order in which they are scanned: where the first one begins in the input and in the
/// output, the steps to the next one, how many they are, and the strides from one column to the next.
#[derive(Clone, Copy)]
struct Rows {
    first: (usize, usize),
    steps: [usize; 2],
    count: usize,
    strides: [usize; 2],
}

/// A loop over the rows of a strip: operator, memory, the rows, and the carry of each column. Rust 1.88 finds no common
/// type of the loops unless it is written.
type Columns<Op, M> = unsafe fn(&Op, M, Rows, &mut [<Op as ScanOp>::Carry]);

/// Scans the rows of a strip.
///
/// A function of its own, and not of the job: so the compiler knows that no result is written to the operator or to the
/// carries, and takes several columns at a time.
///
/// # Safety
///
/// As for [`scan`](Job::scan).
unsafe fn columns<Op: ScanOp, M: Memory<Op>, const EXCLUSIVE: bool, const REVERSED: bool>(
    op: &Op,
    memory: M,
    rows: Rows,
    carries: &mut [Op::Carry],
) {
    let Rows { first: (input, output), steps, count, strides } = rows;
    let advance = |before: Op::Carry, input: usize, output: usize| {
        // SAFETY: the caller vouches for the strip. Each element is read before its result is written.
        unsafe {
            let next = memory.read(input);
            let (after, result) = if REVERSED { op.advance_back(before, next) } else { op.advance(before, next) };
            memory.write(output, if EXCLUSIVE { op.project(before) } else { result });
            after
        }
    };
    // The carry of one column is kept in a register.
    if let [carry] = carries {
        let mut last = *carry;
        for row in 0..count {
            last = advance(last, place(input, row, steps[0]), place(output, row, steps[1]));
        }
        *carry = last;
        return;
    }
    let same = in_place::<Op, M>(memory);
    for row in 0..count {
        let (input, output) = (place(input, row, steps[0]), place(output, row, steps[1]));
        // With strides that are known, vector registers are used. So they are in place, if the compiler sees one address
        // only: of two it must assume that they overlap.
        match same {
            Some(at) if strides == [1, 1] && input == output => {
                let at = at.wrapping_add(output);
                for (k, carry) in carries.iter_mut().enumerate() {
                    // SAFETY: the caller vouches for the strip. Each element is read before its result is written.
                    unsafe {
                        let at = at.add(k);
                        let next = at.cast::<Op::Input>().read();
                        let (after, result) =
                            if REVERSED { op.advance_back(*carry, next) } else { op.advance(*carry, next) };
                        at.write(if EXCLUSIVE { op.project(*carry) } else { result });
                        *carry = after;
                    }
                }
            }
            _ if strides == [1, 1] => {
                for (k, carry) in carries.iter_mut().enumerate() {
                    *carry = advance(*carry, place(input, k, 1), place(output, k, 1));
                }
            }
            _ => {
                for (k, carry) in carries.iter_mut().enumerate() {
                    *carry = advance(*carry, place(input, k, strides[0]), place(output, k, strides[1]));
                }
            }
        }
    }
}

/// The memory, where inputs and outputs are one: each result takes the place of its element.
fn in_place<Op: ScanOp, M: Memory<Op>>(memory: M) -> Option<*mut Op::Output> {
    let places = memory.places(0)?;
    let same = places.input.addr() == places.output.addr() && size_of::<Op::Input>() == size_of::<Op::Output>();
    same.then_some(places.output)
}
