//! `ndarray` arrays as inputs, outputs and buffers.
//!
//! Arrays that fill their memory are scanned where they are, in whatever order their dimensions lie, and inverted.
//! Views that leave gaps are copied in standard order, and so are arrays of one call that lie differently, and inverted
//! ones that are scanned as a sequence and not along an axis.

use std::{borrow::Cow, marker::PhantomData};

use ndarray::{Array, ArrayBase, ArrayView, ArrayViewMut, Data, DataMut, Dimension, ShapeBuilder};
use scan_codegen::{ArrayKind, Axis};

use super::{
    One,
    fields::Lengths,
    host::{HostInput, HostOutput, Lanes},
    shape::{Shape, Shaped},
};
use crate::{Buffer, Error, Host, ScanElement, host::cost::EachSlice, room::room, sealed::Sealed};

/// New results are arrays with the dimensions `D`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Dimensions<D>(PhantomData<D>);

impl<D: Dimension> Shape for Dimensions<D> {
    type New<Y> = Array<Y, D>;
    type Reduced<Y> = Array<Y, D::Smaller>;
    fn new<Y: ScanElement>(results: Vec<Y>, shape: &[usize], strides: &[isize]) -> Result<Array<Y, D>, Error> {
        let distances: Vec<usize> = strides.iter().map(|stride| stride.unsigned_abs()).collect();
        let (of_shape, distances) = (dimension::<D>(shape)?, dimension::<D>(&distances)?);
        // Of an array without elements, strides mean nothing.
        let of_shape = if results.is_empty() { of_shape.into() } else { of_shape.strides(distances) };
        let array = Array::from_shape_vec(of_shape, results);
        let mut array = array.map_err(|_| Error::AxisGaps { shape: shape.to_vec() })?;
        for (axis, _) in strides.iter().enumerate().filter(|(_, stride)| **stride < 0) {
            array.invert_axis(ndarray::Axis(axis));
        }
        Ok(array)
    }
    fn reduced<Y>(results: Vec<Y>, shape: Option<&[usize]>) -> Result<Array<Y, D::Smaller>, Error> {
        // Results of segments have no shape.
        let shape = shape.ok_or_else(|| Error::AxisUnnamed { shape: vec![results.len()] })?;
        let array = Array::from_shape_vec(dimension::<D::Smaller>(shape)?, results);
        array.map_err(|_| Error::AxisGaps { shape: shape.to_vec() }) // there is a result for each column
    }
}

/// Numbers as a dimension of `ndarray`; an error if it has another number of axes.
fn dimension<D: Dimension>(numbers: &[usize]) -> Result<D, Error> {
    if D::NDIM.is_some_and(|count| count != numbers.len()) {
        return Err(Error::AxisUnnamed { shape: numbers.to_vec() });
    }
    let mut dimension = D::zeros(numbers.len());
    dimension.slice_mut().copy_from_slice(numbers);
    Ok(dimension)
}

/// The strides of an array, if it fills its memory. Where there is one index, no step is made: its stride is 1.
fn lies<T, D: Dimension>(array: &ArrayView<'_, T, D>) -> Option<Vec<isize>> {
    let extents = array.shape().iter().zip(array.strides());
    let strides = extents.map(|(extent, stride)| if *extent > 1 { *stride } else { 1 });
    (!array.is_empty() && array.to_slice_memory_order().is_some()).then(|| strides.collect())
}

/// Whether an array with these strides, if it fills its memory, lies in memory as the call expects: with the strides of
/// its axis, or without one in sequence.
fn lies_as_expected(strides: Option<Vec<isize>>, axis: Option<&Axis>, expected: impl Fn(&Axis) -> &[isize]) -> bool {
    let Some(strides) = strides else { return false };
    let Some(axis) = axis else { return strides.iter().all(|stride| *stride > 0) };
    let mut steps = axis.shape().iter().zip(strides.iter().zip(expected(axis)));
    steps.all(|(extent, (stride, expected))| *extent <= 1 || stride == expected)
}

fn shaped<T, D: Dimension>(array: &ArrayView<'_, T, D>) -> Shaped {
    Shaped { shape: array.shape().to_vec(), strides: lies(array) }
}

fn in_standard_order<T: ScanElement, D: Dimension>(array: &ArrayView<'_, T, D>) -> Result<Vec<T>, Error> {
    let mut items = room(array.len())?;
    items.extend(array.iter().copied());
    Ok(items)
}

/// An output that is written where it is, or copied to where it is when all of it has been written.
#[doc(hidden)]
#[derive(Debug)]
pub enum Written<'a, T, D: Dimension> {
    /// Its memory.
    Here(&'a mut [T]),
    /// Its items in standard order.
    Copied(Vec<T>, ArrayViewMut<'a, T, D>),
}

macro_rules! inputs {
    ($([$($generics:tt)*] $array:ty, $this:ident => $view:expr;)*) => {$(
        // SAFETY: the held slice has all items of the array, in the order of the axis's strides.
        unsafe impl<'a, T: ScanElement, D: Dimension, $($generics)*> HostInput<T> for $array {
            const SEALED: Sealed = Sealed;
            type Layout = One;
            type At = *const T;
            type Shape = Dimensions<D>;
            const SHAPED: bool = true;
            const KINDS: &'static [ArrayKind] = &[ArrayKind::Slice];
            type Held = Cow<'a, [T]>;
            fn items(&self, lengths: &mut Lengths) {
                lengths.add(Some(self.len()));
            }
            fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<Cow<'a, [T]>, Error> {
                let $this = self;
                let view: ArrayView<'a, T, D> = $view;
                lanes.same_len("input", array, view.len())?;
                let here = lies_as_expected(lies(&view), lanes.axis, |axis| axis.both_strides().0);
                match view.to_slice_memory_order() {
                    Some(items) if here => Ok(Cow::Borrowed(items)),
                    _ => in_standard_order(&view).map(Cow::Owned),
                }
            }
            fn slices(&self, each: &mut EachSlice<'_>) {
                let view = self.view();
                view.to_slice_memory_order().into_iter().for_each(|items| each(items.as_ptr().cast(), size_of_val(items)));
            }
            fn at(held: &Cow<'a, [T]>) -> *const T {
                held.as_ptr()
            }
            fn shape(&self) -> Result<Option<Shaped>, Error> {
                Ok(Some(shaped(&self.view())))
            }
        }
    )*};
}

inputs! {
    [S: Data<Elem = T>] &'a ArrayBase<S, D>, array => array.view();
    [] ArrayView<'a, T, D>, view => view;
}

macro_rules! outputs {
    ($([$($generics:tt)*] $array:ty, $this:ident => $view:expr;)*) => {$(
        // SAFETY: the held slice or vector has room for all items of the array.
        unsafe impl<'a, T: ScanElement, D: Dimension, $($generics)*> HostOutput<T> for $array {
            const SEALED: Sealed = Sealed;
            type Layout = One;
            type At = *mut T;
            const SHAPED: bool = true;
            const KINDS: &'static [ArrayKind] = &[ArrayKind::Slice];
            type Held = Written<'a, T, D>;
            fn items(&mut self, lengths: &mut Lengths) {
                lengths.add(Some(self.len()));
            }
            fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<Written<'a, T, D>, Error> {
                let $this = self;
                let view: ArrayViewMut<'a, T, D> = $view;
                lanes.same_len("output", array, view.len())?;
                if !lies_as_expected(lies(&view.view()), lanes.axis, |axis| axis.both_strides().1) {
                    return Ok(Written::Copied(room(view.len())?, view));
                }
                // An array that fills its memory is a slice.
                Ok(Written::Here(view.into_slice_memory_order().unwrap_or_default()))
            }
            fn slices(&self, each: &mut EachSlice<'_>) {
                let view = self.view();
                view.to_slice_memory_order().into_iter().for_each(|items| each(items.as_ptr().cast(), size_of_val(items)));
            }
            fn at(held: &mut Written<'a, T, D>, start: usize) -> *mut T {
                match held {
                    Written::Here(items) => items.as_mut_ptr().wrapping_add(start),
                    Written::Copied(items, _) => items.as_mut_ptr().wrapping_add(start),
                }
            }
            unsafe fn finish(held: Written<'a, T, D>) -> Result<(), Error> {
                if let Written::Copied(mut items, mut array) = held {
                    // SAFETY: there is room for all items, and the caller vouches that they have been written.
                    unsafe { items.set_len(array.len()) };
                    array.iter_mut().zip(items).for_each(|(to, item)| *to = item);
                }
                Ok(())
            }
            fn shape(&self) -> Result<Option<Shaped>, Error> {
                Ok(Some(shaped(&self.view())))
            }
        }
    )*};
}

outputs! {
    [S: DataMut<Elem = T>] &'a mut ArrayBase<S, D>, array => array.view_mut();
    [] ArrayViewMut<'a, T, D>, view => view;
}

impl<T: ScanElement, S: DataMut<Elem = T>, D: Dimension> Buffer<T, Host> for ArrayBase<S, D> {
    const SHAPED: bool = true;
    #[allow(private_interfaces, reason = "as of the trait")]
    fn shape(&self) -> Option<Shaped> {
        Some(shaped(&self.view()))
    }
    fn scan<R>(&mut self, axis: Option<&Axis>, scan: impl FnOnce(&mut [T]) -> Result<R, Error>) -> Result<R, Error> {
        if lies_as_expected(lies(&self.view()), axis, |axis| axis.both_strides().0)
            && let Some(items) = self.as_slice_memory_order_mut()
        {
            return scan(items);
        }
        let mut items = in_standard_order(&self.view())?;
        let totals = scan(&mut items)?;
        self.iter_mut().zip(items).for_each(|(to, item)| *to = item);
        Ok(totals)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};

    use super::*;

    /// The axis of a call along the first dimension of an array that lies like this one.
    fn along<T, D: Dimension>(array: &ArrayView<'_, T, D>) -> Axis {
        Axis::of(array.shape(), 0).unwrap().strides(&lies(array).unwrap()).unwrap()
    }

    /// Inverted arrays are read and written where they are, but for views with gaps, arrays that lie otherwise than
    /// the others, and inverted sequences.
    #[test]
    fn inverted_arrays_are_borrowed() {
        fn lanes(axis: Option<&Axis>, len: usize) -> Lanes<'_> {
            Lanes { len, memory: false, device: false, part: len, row: len, axis }
        }
        let mut array = Array2::from_shape_fn((4, 3), |(i, j)| 3 * i + j);
        let memory = array.as_ptr();
        for (rows, columns) in [(1, 1), (-1, 1), (1, -1), (-1, -1)] {
            let mut view = array.slice_mut(s![..;rows, ..;columns]);
            let axis = along(&view.view());
            let held = HostInput::<usize>::hold(view.view(), 0, lanes(Some(&axis), 12)).unwrap();
            assert!(matches!(held, Cow::Borrowed(items) if items.as_ptr() == memory), "{rows}, {columns}");
            assert_eq!(view.scan(Some(&axis), |items| Ok(items.as_ptr())).unwrap(), memory);
            let held = HostOutput::<usize>::hold(view, 0, lanes(Some(&axis), 12)).unwrap();
            assert!(matches!(held, Written::Here(items) if items.as_ptr() == memory), "{rows}, {columns}");
            let other = Axis::of(&[4, 3], 0).unwrap().strides(&[3 * rows, -columns]).unwrap();
            let view = array.slice(s![..;rows, ..;columns]);
            assert!(matches!(HostInput::<usize>::hold(view, 0, lanes(Some(&other), 12)), Ok(Cow::Owned(_))));
        }
        assert!(lies(&array.slice(s![..;-2, ..])).is_none() && lies(&array.slice(s![.., ..;-2])).is_none());
        let sequence = array.slice(s![..;-1, 0]);
        assert!(lies(&sequence).is_none());
        let row = array.slice(s![0, ..;-1]);
        let held = HostInput::<usize>::hold(row, 0, lanes(None, 3)).unwrap();
        assert!(matches!(&held, Cow::Owned(items) if items[..] == [2, 1, 0]), "{held:?}");
    }
}
