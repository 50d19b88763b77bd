//! Inputs of scans along an axis that have strides of their own.

use std::borrow::Cow;

use scan_codegen::{ArrayKind, Axis};

use super::{
    One,
    fields::Lengths,
    host::{HostInput, Lanes},
    shape::Flat,
};
use crate::{Array, Error, Host, Memory, ScanElement, room::room, sealed::Sealed};
#[cfg(feature = "cuda")]
use {
    super::device::{Described, DeviceInput, Words},
    crate::Device,
    cudarc::driver::CudaStream,
};

/// An input with strides of its own, made by [`strided`].
pub struct Strided<'a, T: ScanElement, M: Memory = Host> {
    items: M::Array<'a, T>,
    strides: [isize; MAX_STRIDES],
    count: usize,
}

/// One more than an array may have.
const MAX_STRIDES: usize = 9;

impl<T: ScanElement, M: Memory> Strided<'_, T, M> {
    fn strides(&self) -> &[isize] {
        &self.strides[..self.count]
    }
}

impl<T: ScanElement, M: Memory> Clone for Strided<'_, T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ScanElement, M: Memory> Copy for Strided<'_, T, M> {}

/// An input of a scan along an [axis](crate::Scan::along) that has strides of its own, in items: one for each dimension
/// of the shape, whatever the strides of the axis are. The item of the element at `i, j, …` is the item number `i *
/// strides[0] + j * strides[1] + …`. A stride of 0 repeats items along a dimension. There are as many items as the
/// strides reach, or more. Strides are integers of any type.
///
/// A negative stride inverts a dimension, as in a view of numpy that is sliced by `[::-1]`: its first index has the
/// item that lies last. To all numbers of items above, `-stride * (extent - 1)` is added, so that the smallest one is
/// 0.
///
/// In host memory the items are copied before the scan, unless their strides are those of the axis. In device memory
/// kernels read them where they are. They are read as fast as those of a slice where the last stride is 1, the others
/// are multiples of what a thread reads at once (16 bytes at the most), and so is the address; and an item is read once
/// for all its columns where the last stride is 0 and the extent of that dimension a multiple of 128, as of a gate for
/// the channels of a head. Otherwise each column reads its own, and so it does in a call of more than three such
/// arrays.
///
/// A part of a longer buffer brings an offset: of states `[batch, tokens + 1, channels]` the ones before each token are
/// the whole buffer, and the ones after it the part from `channels` on, both with the strides
/// `[(tokens + 1) * channels, channels, 1]`.
///
/// One gate for all channels of a head, as in Mamba-2, and states that begin with the one before the first step:
///
/// ```
/// use scan_runtime::{Axis, ScanOp, Scanner, arrays, scan_element, scan_op};
///
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Step { gate: f32, token: f32 }
///
/// struct Recurrence;
///
/// #[scan_op]
/// impl ScanOp for Recurrence {
///     type Input = Step;
///     type State = Step;
///     type Output = f32;
///     fn lift(step: Step) -> Step { step }
///     fn combine(a: Step, b: Step) -> Step {
///         Step { gate: a.gate * b.gate, token: b.gate * a.token + b.token }
///     }
///     fn project(h: Step) -> f32 { h.token }
/// }
///
/// let [tokens, heads, channels] = [3, 2, 4];
/// let axis = Axis::of(&[tokens, heads, channels], 0)?;
/// let gates = [1.0, 0.5, 1.0, 0.5, 1.0, 0.5]; // of each token and head
/// let inputs = vec![1.0; axis.len()];
/// let mut states = vec![0.0; axis.len()];
/// let scan = Scanner::new()?.scan(Recurrence);
/// scan.along(axis).run_into((arrays::strided(&gates, &[heads, 1, 0]), &inputs), &mut states)?;
/// assert_eq!(states[2 * heads * channels..], [3.0, 3.0, 3.0, 3.0, 1.75, 1.75, 1.75, 1.75]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// Gates that lie from the last token to the first:
///
/// ```
/// use scan_runtime::{Axis, ScanOp, Scanner, arrays, scan_element, scan_op};
///
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Step { gate: i32, token: i32 }
///
/// struct Recurrence;
///
/// #[scan_op]
/// impl ScanOp for Recurrence {
///     type Input = Step;
///     type State = Step;
///     type Output = i32;
///     fn lift(step: Step) -> Step { step }
///     fn combine(a: Step, b: Step) -> Step {
///         Step { gate: a.gate * b.gate, token: b.gate * a.token + b.token }
///     }
///     fn project(h: Step) -> i32 { h.token }
/// }
/// let (gates, tokens, mut states) = ([3, 2, 1], [1, 1, 1], [0; 3]);
/// let scan = Scanner::new()?.scan(Recurrence);
/// scan.along(Axis::of(&[3], 0)?).run_into((arrays::strided(&gates, &[-1]), &tokens), &mut states)?;
/// assert_eq!(states, [1, 3, 10]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// # Errors
///
/// Of a run: [`AxisError::Strides`](crate::AxisError::Strides) for another number of strides than dimensions,
/// [`Error::StridedLength`] for too few items, [`Error::NoAxis`] in a scan that is not along an axis, and
/// [`Error::AxisRepeats`] in host memory where the strides of the axis itself repeat items.
pub fn strided<'a, T: ScanElement, M: Memory>(
    items: &'a (impl Array<T, M> + ?Sized),
    strides: &[impl TryInto<isize> + Copy],
) -> Strided<'a, T, M> {
    let mut numbers = [0; MAX_STRIDES];
    // Larger ones than the largest reach beyond any array, as that does.
    let given = strides.iter().map(|&stride| stride.try_into().unwrap_or(isize::MAX));
    numbers.iter_mut().zip(given).for_each(|(number, stride)| *number = stride);
    Strided { items: items.array(), strides: numbers, count: strides.len().min(MAX_STRIDES) }
}

/// Which item is the first element of an array, which has to have as many items as its strides reach.
pub(crate) fn check_strided(array: usize, axis: &Axis, strides: &[isize], found: usize) -> Result<usize, Error> {
    let (first, expected) = axis.first_and_len(strides)?;
    match found < expected {
        true => Err(Error::StridedLength { array, found, expected, shape: axis.shape().to_vec() }),
        false => Ok(first),
    }
}

/// Checks that no two items of the input are one, so that each can have a neighbour or a value of its own.
pub(super) fn check_apart(array: usize, axis: &Axis) -> Result<(), Error> {
    let (strides, _) = axis.both_strides();
    axis.clone().output_strides(strides).map(drop).map_err(|_| Error::AxisRepeats { array })
}

/// The place of an index, where the one of index 0 in each dimension is `first`.
fn place(first: usize, index: &[usize], strides: &[isize]) -> usize {
    let step = |place: usize, (index, stride): (&usize, &isize)| {
        place.wrapping_add_signed(stride.wrapping_mul(*index as isize))
    };
    index.iter().zip(strides).fold(first, step)
}

/// Calls `each` with every index of a shape, and with its places in arrays of these strides, the lowest of which is 0.
pub(crate) fn each_place<const N: usize>(
    shape: &[usize],
    strides: [&[isize]; N],
    mut each: impl FnMut(&[usize], [usize; N]),
) {
    let down = |(stride, extent): (&isize, &usize)| stride.min(&0).unsigned_abs() * extent.saturating_sub(1);
    let with_first = strides.map(|strides| (strides.iter().zip(shape).map(down).sum::<usize>(), strides));
    let mut index = vec![0; shape.len()];
    for _ in 0..shape.iter().product() {
        each(&index, with_first.map(|(first, strides)| place(first, &index, strides)));
        for k in (0..shape.len()).rev() {
            index[k] += 1;
            if index[k] < shape[k] {
                break;
            }
            index[k] = 0;
        }
    }
}

// SAFETY: what is held has as many items as the memory of the input that lies as the axis says.
unsafe impl<'a, T: ScanElement> HostInput<T> for Strided<'a, T> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *const T;
    type Shape = Flat;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Strided];
    type Held = Cow<'a, [T]>;
    #[inline]
    fn items(&self, lengths: &mut Lengths) {
        lengths.add(None);
    }
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<Cow<'a, [T]>, Error> {
        let Some(axis) = lanes.axis else { return Err(Error::NoAxis { array }) };
        let first = check_strided(array, axis, self.strides(), self.items.len())?;
        let (strides, _) = axis.both_strides();
        let mut dimensions = axis.shape().iter().zip(strides).zip(self.strides());
        if dimensions.all(|((&extent, of_axis), own)| extent <= 1 || of_axis == own) {
            return Ok(Cow::Borrowed(&self.items[..lanes.len]));
        }
        check_apart(array, axis)?;
        let mut items = room(lanes.len)?;
        items.extend(self.items.first().into_iter().flat_map(|item| std::iter::repeat_n(*item, lanes.len)));
        // Item by item along the last dimension.
        let last = axis.shape().len() - 1;
        let (extent, step, own_step) = (axis.shape()[last], strides[last], self.strides()[last]);
        let down = step.min(0).unsigned_abs() * extent.saturating_sub(1);
        each_place(&axis.shape()[..last], [&strides[..last]], |index, [to]| {
            let (mut to, mut from) = (to + down, place(first, index, self.strides()));
            for _ in 0..extent {
                items[to] = self.items[from];
                (to, from) = (to.wrapping_add_signed(step), from.wrapping_add_signed(own_step));
            }
        });
        Ok(Cow::Owned(items))
    }
    fn at(held: &Cow<'a, [T]>) -> *const T {
        held.as_ptr()
    }
}

// SAFETY: the buffer has as many items as the strides reach, which a run checks, and kernels read no others.
#[cfg(feature = "cuda")]
unsafe impl<T: ScanElement> DeviceInput<T> for Strided<'_, T, Device> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        let slice = Described::of_slice(ArrayKind::Strided, self.items.count(), self.items.stream());
        each(Described { len: None, strides: self.strides(), ..slice });
    }
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>) {
        words.push_strided(self.items.pointer(stream), size_of::<T>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_lie_as_the_axis_says_are_not_copied() {
        let axis = Axis::of(&[2, 1, 3], 2).unwrap().input_strides(&[4, 9, 1]).unwrap();
        let items = [1, 2, 3, 4, 5, 6, 7];
        let lanes = Lanes { len: 7, memory: false, device: false, part: 7, row: 7, axis: Some(&axis) };
        let is_borrowed = |strides: &[isize]| {
            let held = strided::<i32, Host>(&items, strides).hold(0, lanes).unwrap();
            matches!(held, Cow::Borrowed(held) if std::ptr::eq(held, &items[..]))
        };
        assert!(is_borrowed(&[4, 9, 1]));
        // No step is made along a dimension of one element.
        assert!(is_borrowed(&[4, 0, 1]));
        assert!(!is_borrowed(&[3, 9, 1]));
        assert!(!is_borrowed(&[4, 9, 0]));
    }
}
