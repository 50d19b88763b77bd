//! Scans along an axis of an array, on the CPU: row by row, as the elements lie in memory, so many neighbouring columns
//! at a time that their carries stay in the cache. Each column is combined from its first element to its last.

use rayon::prelude::*;
use scan_codegen::ColumnLayout;

use super::{Order, Places, Stop, begin, caught, stopped};
use crate::{Error, ScanKind, ScanOp};

/// Bytes of the carries of the columns that are scanned at a time.
const CARRY_BYTES: usize = 1 << 13;

/// The same where neighbouring columns do not lie side by side, and each brings a line of its own into the cache.
const APART_BYTES: usize = 1 << 9;

/// Bytes of a row below which another thread is not worth while.
const LEAST_BYTES: usize = 1 << 8;

/// Elements of an array below which it is not worth while to wake other threads.
const SHARED: usize = 1 << 14;

/// Columns that are combined at once, each on its own.
const BLOCK: usize = 16;

/// Neighbouring columns: where the first of them begins, how many they are, and where the next one lies.
#[derive(Clone, Copy)]
struct Strip {
    first: [usize; 2],
    columns: usize,
    strides: [usize; 2],
}

/// What strips are scanned with.
struct Job<'a, Op: ScanOp> {
    op: &'a Op,
    kind: ScanKind,
    order: Order,
    initial_value: Option<Op::Carry>,
    input: *const Op::Input,
    output: *mut Op::Output,
    length: usize,
    steps: [usize; 2],
}

// SAFETY: a strip is one thread's; operators and states are sent and shared between threads.
unsafe impl<Op: ScanOp> Sync for Job<'_, Op> {}

/// Scans along an axis.
///
/// # Safety
///
/// The elements of the layout are within `input`, which is valid for reads, and its results within `output`, which is
/// valid for writes; no two results have the same place. Input and output are one, and each result in the place of its
/// element, or they do not overlap.
pub(crate) unsafe fn scan_columns<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    order: Order,
    initial_value: Option<Op::Carry>,
    layout: &ColumnLayout,
    Places { input, output, len }: Places<Op>,
) -> Result<(), Error> {
    let initial_value =
        begin(op, initial_value).or_else(|| if kind == ScanKind::Exclusive { op.start() } else { None });
    if kind == ScanKind::Exclusive && initial_value.is_none() {
        return Err(stopped(op, Stop::NoIdentity));
    }
    let (length, steps) = (layout.length() as usize, layout.steps());
    let job = Job { op, kind, order, initial_value, input, output, length, steps };
    let strips = strips::<Op>(layout);
    // SAFETY: the caller vouches for the memory; no two strips have a column in common.
    let scan = |strip: &Strip| caught(op, || unsafe { job.scan(strip) });
    if len < SHARED { strips.iter().try_for_each(scan) } else { strips.par_iter().try_for_each(scan) }
}

/// Cuts the columns into strips.
fn strips<Op: ScanOp>(layout: &ColumnLayout) -> Vec<Strip> {
    let mut dimensions = layout.dimensions();
    let [inner, input_stride, output_stride] = dimensions.next().unwrap_or([1, 1, 1]);
    let bytes = if [input_stride, output_stride] == [1, 1] { CARRY_BYTES } else { APART_BYTES };
    let size = size_of::<Op::Carry>().max(size_of::<Op::Input>()).max(size_of::<Op::Output>());
    // Each thread has some, where there are so many.
    let shared = layout.columns() as usize / (4 * rayon::current_num_threads());
    let most = (bytes / size).min(shared.max(LEAST_BYTES / size)).max(1);
    let mut starts = vec![[0, 0]];
    for [extent, input, output] in dimensions {
        let indices = |start: &[usize; 2]| {
            let start = *start;
            (0..extent).map(move |index| [start[0] + index * input, start[1] + index * output])
        };
        starts = starts.iter().flat_map(indices).collect();
    }
    let cut = |start: &[usize; 2]| {
        let start = *start;
        (0..inner).step_by(most).map(move |column| Strip {
            first: [start[0] + column * input_stride, start[1] + column * output_stride],
            columns: most.min(inner - column),
            strides: [input_stride, output_stride],
        })
    };
    starts.iter().flat_map(cut).collect()
}

impl<Op: ScanOp> Job<'_, Op> {
    /// # Safety
    ///
    /// The strip is one of the layout's, and no other thread touches it.
    unsafe fn scan(&self, strip: &Strip) {
        // SAFETY: the caller vouches for the strip.
        unsafe {
            match (self.kind, self.order) {
                (ScanKind::Inclusive, Order::Forward) => self.scan_as::<false, false>(strip),
                (ScanKind::Inclusive, Order::Reversed) => self.scan_as::<false, true>(strip),
                (ScanKind::Exclusive, Order::Forward) => self.scan_as::<true, false>(strip),
                (ScanKind::Exclusive, Order::Reversed) => self.scan_as::<true, true>(strip),
            }
        }
    }

    /// # Safety
    ///
    /// As for [`scan`](Job::scan).
    unsafe fn scan_as<const EXCLUSIVE: bool, const REVERSED: bool>(&self, strip: &Strip) {
        let mut carries: Vec<Op::Carry> = Vec::with_capacity(strip.columns);
        let mut rows = 0..self.length;
        match self.initial_value {
            Some(value) => carries.resize(strip.columns, value),
            None => {
                let Some(first) = rows.next() else { return };
                let (input, output) = self.row::<REVERSED>(strip, first);
                for column in 0..strip.columns {
                    // SAFETY: the caller vouches for the strip.
                    let element = unsafe { *input.add(column * strip.strides[0]) };
                    let carry = self.op.carry_of(self.op.lift(element));
                    carries.push(carry);
                    // SAFETY: as above.
                    unsafe { *output.add(column * strip.strides[1]) = self.op.project(carry) };
                }
            }
        }
        for row in rows {
            let (mut input, mut output) = self.row::<REVERSED>(strip, row);
            let (blocks, rest) = carries.as_chunks_mut::<BLOCK>();
            // SAFETY: as above; the pointers go from column to column of the strip, and at most beyond the last one.
            unsafe {
                for block in blocks {
                    self.columns::<EXCLUSIVE, REVERSED, BLOCK>(input, output, strip.strides, block);
                    (input, output) =
                        (input.wrapping_add(BLOCK * strip.strides[0]), output.wrapping_add(BLOCK * strip.strides[1]));
                }
                for carry in rest {
                    let carry = std::array::from_mut(carry);
                    self.columns::<EXCLUSIVE, REVERSED, 1>(input, output, strip.strides, carry);
                    (input, output) = (input.wrapping_add(strip.strides[0]), output.wrapping_add(strip.strides[1]));
                }
            }
        }
    }

    /// Where a row of a strip begins.
    fn row<const REVERSED: bool>(&self, strip: &Strip, row: usize) -> (*const Op::Input, *mut Op::Output) {
        let row = if REVERSED { self.length - 1 - row } else { row };
        let [input, output] = [0, 1].map(|side: usize| strip.first[side] + row * self.steps[side]);
        (self.input.wrapping_add(input), self.output.wrapping_add(output))
    }

    /// Scans neighbouring elements of a row: all of them are read before the first result is written.
    ///
    /// # Safety
    ///
    /// As for [`scan`](Job::scan).
    #[inline(always)]
    unsafe fn columns<const EXCLUSIVE: bool, const REVERSED: bool, const N: usize>(
        &self,
        input: *const Op::Input,
        output: *mut Op::Output,
        strides: [usize; 2],
        carries: &mut [Op::Carry; N],
    ) {
        let elements: [Op::Input; N] = match strides[0] {
            // SAFETY: the caller vouches for the strip.
            1 => unsafe { input.cast::<[Op::Input; N]>().read() },
            // SAFETY: as above.
            stride => std::array::from_fn(|k| unsafe { *input.add(k * stride) }),
        };
        let results: [Op::Output; N] = std::array::from_fn(|k| {
            let before = carries[k];
            let advance = if REVERSED { Op::advance_back } else { Op::advance };
            let (after, output) = advance(self.op, before, elements[k]);
            carries[k] = after;
            if EXCLUSIVE { self.op.project(before) } else { output }
        });
        match strides[1] {
            // SAFETY: as above.
            1 => unsafe { output.cast::<[Op::Output; N]>().write(results) },
            stride => {
                for (k, result) in results.into_iter().enumerate() {
                    // SAFETY: as above.
                    unsafe { *output.add(k * stride) = result };
                }
            }
        }
    }
}
