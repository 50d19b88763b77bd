//! Inputs that read a neighbour of each element: the item before it, or the one after it.

use scan_codegen::{ArrayKind, Axis};

use super::{
    One,
    fields::Lengths,
    host::{HostInput, Lanes},
    shape::Flat,
    strided::{check_apart, each_place},
};
use crate::{Array, Error, Host, Memory, ScanElement, room::room, sealed::Sealed};
#[cfg(feature = "cuda")]
use {
    super::device::{Described, DeviceInput, Words},
    crate::{Device, element::bytes_of},
    cudarc::driver::CudaStream,
};

/// An input in which item `i` is the item before item `i` of a slice in host memory, or, where `AFTER` holds, the one
/// after it. Made by [`previous`] and [`next`].
pub struct Neighbour<'a, T: ScanElement, const AFTER: bool, M: Memory = Host> {
    values: M::Array<'a, T>,
    edge: T,
}

impl<T: ScanElement, const AFTER: bool, M: Memory> Clone for Neighbour<'_, T, AFTER, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ScanElement, const AFTER: bool, M: Memory> Copy for Neighbour<'_, T, AFTER, M> {}

/// An input in which item `i` is `values[i - 1]`, and `edge` where there is none: at the first item; of
/// [rows](crate::Scan::rows) at the first of each; along an [axis](crate::Scan::along) at the first of each column,
/// where the item before is the one before along the axis. It is as long as the other arrays are.
///
/// The item before is so in memory, in a reversed scan, too: there it comes after item `i` in the order of the scan.
/// Flags, bits, keys and offsets are no edges: at the head of a segment the last item of the segment before it is read.
///
/// In host memory the neighbours are copied before the scan. In device memory kernels read them where they are; where a
/// [length](crate::Run::len_from) is in device memory, too, the array still ends where the slice ends.
///
/// Differences, which a sum folds back:
///
/// ```
/// use scan_runtime::{ScanOp, Scanner, arrays, scan_element, scan_op};
///
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Pair { now: i32, before: i32 }
///
/// /// The sum of all differences so far.
/// #[derive(Clone)]
/// struct Differences;
///
/// #[scan_op]
/// impl ScanOp for Differences {
///     type Input = Pair;
///     type State = i32;
///     type Output = i32;
///     fn lift(x: Pair) -> i32 { x.now - x.before }
///     fn combine(a: i32, b: i32) -> i32 { a + b }
///     fn project(sum: i32) -> i32 { sum }
/// }
///
/// let (x, mut sums) = ([3, 1, 4, 1, 5, 9], [0; 6]);
/// let scan = Scanner::new()?.scan(Differences);
/// scan.clone().run_into((&x, arrays::previous(&x, 0)), &mut sums)?;
/// assert_eq!(sums, x);
/// // Each row of three has an edge of its own.
/// scan.rows(3).run_into((&x, arrays::previous(&x, 1)), &mut sums)?;
/// assert_eq!(sums, [2, 0, 3, 0, 4, 8]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// The gradients of a recurrence `h[t] = a[t] · h[t - 1] + x[t]`, from the gradients `g` of its states: one reversed
/// scan that reads `a[t + 1]` and `h[t - 1]`. Its carry is the gradient of `h[t]`, which is the gradient of `x[t]`.
///
/// ```
/// use scan_runtime::{ScanOp, Scanner, arrays, scan_element, scan_op};
///
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Step { next_a: f32, g: f32, h_before: f32 }
///
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Affine { a: f32, b: f32 }
///
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Gradients { da: f32, dx: f32 }
///
/// struct Backward;
///
/// #[scan_op]
/// impl ScanOp for Backward {
///     type Input = Step;
///     type State = Affine;
///     type Carry = f32;
///     type Output = Gradients;
///     const IDENTITY: Affine = Affine { a: 1.0, b: 0.0 };
///     const START: f32 = 0.0;
///     fn lift(x: Step) -> Affine { Affine { a: x.next_a, b: x.g } }
///     fn combine(p: Affine, q: Affine) -> Affine { Affine { a: p.a * q.a, b: q.a * p.b + q.b } }
///     fn apply(f: Affine, dh: f32) -> f32 { f.a * dh + f.b }
///     fn step(dh: f32, x: Step) -> f32 { x.next_a * dh + x.g }
///     fn emit(dh: f32, x: Step) -> Gradients {
///         let dx = x.next_a * dh + x.g;
///         Gradients { da: dx * x.h_before, dx }
///     }
///     fn project(dh: f32) -> Gradients { Gradients { da: 0.0, dx: dh } }
/// }
///
/// let (a, h, g) = ([0.5, 0.5, 0.25], [8.0, 6.0, 5.5], [1.0, 0.0, 2.0]);
/// let (mut da, mut dx) = ([0.0; 3], [0.0; 3]);
/// let inputs = (arrays::next(&a, 0.0), &g, arrays::previous(&h, 0.0));
/// Scanner::new()?.scan(Backward).reverse().run_into(inputs, (&mut da, &mut dx))?;
/// assert_eq!((da, dx), ([0.0, 4.0, 12.0], [1.25, 0.5, 2.0]));
/// # Ok::<(), scan_runtime::Error>(())
/// ```
pub fn previous<'a, T: ScanElement, M: Memory>(
    values: &'a (impl Array<T, M> + ?Sized),
    edge: T,
) -> Neighbour<'a, T, false, M> {
    Neighbour { values: values.array(), edge }
}

/// An input in which item `i` is `values[i + 1]`, and `edge` where there is none: at the last item, at the last of each
/// row, or at the last of each column along an axis. Everything else is the same as for [`previous`].
pub fn next<'a, T: ScanElement, M: Memory>(
    values: &'a (impl Array<T, M> + ?Sized),
    edge: T,
) -> Neighbour<'a, T, true, M> {
    Neighbour { values: values.array(), edge }
}

/// The neighbours of items in rows of so many, of which the neighbours are `distance` apart.
fn of_rows<T: ScanElement>(values: &[T], row: usize, distance: usize, edge: T, after: bool) -> Result<Vec<T>, Error> {
    let mut items = room(values.len())?;
    for row in values.chunks(row.max(1)) {
        let edges = std::iter::repeat_n(edge, distance.min(row.len()));
        let inner = row.len() - edges.len();
        if after {
            items.extend_from_slice(&row[row.len() - inner..]);
            items.extend(edges);
        } else {
            items.extend(edges);
            items.extend_from_slice(&row[..inner]);
        }
    }
    Ok(items)
}

/// The neighbours along an axis, each in the place of its item.
fn along<T: ScanElement>(array: usize, values: &[T], axis: &Axis, edge: T, after: bool) -> Result<Vec<T>, Error> {
    let (shape, (strides, _), scanned) = (axis.shape(), axis.both_strides(), axis.axis());
    let step = strides[scanned];
    if Axis::of(shape, scanned)?.both_strides().0 == strides {
        let step = step.unsigned_abs(); // contiguous
        return of_rows(values, shape[scanned].saturating_mul(step), step, edge, after);
    }
    check_apart(array, axis)?;
    let mut items = room(values.len())?;
    items.extend_from_slice(values);
    each_place(shape, [strides], |index, [place]| {
        let is_at_edge = index[scanned] == if after { shape[scanned] - 1 } else { 0 };
        items[place] = match (is_at_edge, after) {
            (true, _) => edge,
            (false, true) => values[place.wrapping_add_signed(step)],
            (false, false) => values[place.wrapping_sub(step as usize)],
        };
    });
    Ok(items)
}

// SAFETY: what is held has as many items as the slice.
unsafe impl<T: ScanElement, const AFTER: bool> HostInput<T> for Neighbour<'_, T, AFTER> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *const T;
    type Shape = Flat;
    const KINDS: &'static [ArrayKind] = &[if AFTER { ArrayKind::Next } else { ArrayKind::Previous }];
    type Held = Vec<T>;
    #[inline]
    fn items(&self, lengths: &mut Lengths) {
        lengths.add(Some(self.values.len()));
    }
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<Vec<T>, Error> {
        lanes.same_len("input", array, self.values.len())?;
        match lanes.axis {
            Some(axis) => along(array, self.values, axis, self.edge, AFTER),
            None => of_rows(self.values, lanes.row, 1, self.edge, AFTER),
        }
    }
    fn at(held: &Vec<T>) -> *const T {
        held.as_ptr()
    }
}

// SAFETY: the buffer has as many items, and kernels read no others: at an edge they read none.
#[cfg(feature = "cuda")]
unsafe impl<T: ScanElement, const AFTER: bool> DeviceInput<T> for Neighbour<'_, T, AFTER, Device> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        let kind = if AFTER { ArrayKind::Next } else { ArrayKind::Previous };
        each(Described::of_slice(kind, self.values.count(), self.values.stream()));
    }
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>) {
        words.push_items(self.values.pointer(stream), size_of::<T>());
        words.push(0); // the first item
        words.push_row(self.values.count());
        for bytes in bytes_of(&self.edge).chunks(size_of::<u64>()) {
            let mut word = [0; size_of::<u64>()];
            word[..bytes.len()].copy_from_slice(bytes);
            words.push(u64::from_le_bytes(word));
        }
    }
}
