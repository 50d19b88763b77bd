//! Scans and reductions of `ndarray` arrays along an axis.

use std::borrow::Cow;

use ndarray::{Array, ArrayView, ArrayViewMut, Dimension, RemoveAxis, ShapeBuilder};
use scan_codegen::Axis;

use super::{Reduce, Scan};
use crate::{Error, ScanElement, ScanOp};

/// Scans of `ndarray` arrays along an axis, with the feature `ndarray`: of up to eight dimensions.
///
/// Arrays whose elements fill their memory are scanned where they are, in whatever order their dimensions lie. Views
/// that leave gaps, or have an axis inverted, are copied first, and their results afterwards.
impl<Op: ScanOp> Scan<Op> {
    /// Scans an array along an axis. The results lie in memory in the order of the elements.
    ///
    /// ```
    /// use scan_runtime::{
    ///     Scanner,
    ///     ndarray::{Axis, array, s},
    ///     ops,
    /// };
    ///
    /// let sums = Scanner::new()?.scan(ops::sum());
    /// let matrix = array![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(sums.run_axis(&matrix, Axis(0))?, array![[1, 2, 3], [5, 7, 9]]);
    /// assert_eq!(sums.run_axis(&matrix, Axis(1))?, array![[1, 3, 6], [4, 9, 15]]);
    /// assert_eq!(sums.run_axis(matrix.t(), Axis(0))?, array![[1, 4], [3, 9], [6, 15]]);
    /// assert_eq!(sums.run_axis(matrix.slice(s![.., ..;-2]), Axis(0))?, array![[3, 1], [9, 5]]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Axis`] if the array has no such axis, or too many dimensions, and those of [`Scan::run`].
    pub fn run_axis<'v, D: Dimension>(
        &self,
        input: impl Into<ArrayView<'v, Op::Input, D>>,
        axis: ndarray::Axis,
    ) -> Result<Array<Op::Output, D>, Error>
    where
        Op::Input: 'v,
    {
        let input = input.into();
        let along = Along::of(&input, axis)?;
        let shape = match along.strides {
            Some(strides) => input.raw_dim().strides(strides),
            None => input.raw_dim().into(),
        };
        let array = Array::from_shape_vec(shape, self.along(along.axis).run(&along.elements)?);
        array.map_err(|_| Error::AxisGaps { shape: input.shape().to_vec() }) // it has as many elements
    }

    /// Scans an array along an axis into another one of the same shape.
    ///
    /// ```
    /// use scan_runtime::{
    ///     Scanner,
    ///     ndarray::{Array2, Axis, array, s},
    ///     ops,
    /// };
    ///
    /// let sums = Scanner::new()?.scan(ops::sum());
    /// let mut results = Array2::zeros((2, 5));
    /// sums.run_axis_into(&array![[1, 2, 3], [4, 5, 6]], results.slice_mut(s![.., 1..4]), Axis(0))?;
    /// assert_eq!(results, array![[0, 1, 2, 3, 0], [0, 5, 7, 9, 0]]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_axis`](Scan::run_axis), and [`Error::AxisShapes`] if the shapes differ. After an error the output is
    /// unspecified.
    pub fn run_axis_into<'v, 'o, D: Dimension>(
        &self,
        input: impl Into<ArrayView<'v, Op::Input, D>>,
        output: impl Into<ArrayViewMut<'o, Op::Output, D>>,
        axis: ndarray::Axis,
    ) -> Result<(), Error>
    where
        Op::Input: 'v,
        Op::Output: 'o,
    {
        let (input, mut output) = (input.into(), output.into());
        if input.shape() != output.shape() {
            return Err(Error::AxisShapes { input: input.shape().to_vec(), output: output.shape().to_vec() });
        }
        let places = lies_in(&output.view()).map(|(_, strides)| strides);
        match (lies_in(&input), places, output.as_slice_memory_order_mut()) {
            (Some((elements, strides)), Some(places), Some(results)) => {
                let along = Axis::of(input.shape(), axis.index())?.input_strides(strides.slice())?;
                self.along(along.output_strides(places.slice())?).run_into(elements, results)
            }
            _ => {
                output.assign(&self.run_axis(input, axis)?);
                Ok(())
            }
        }
    }

    /// Scans an array along an axis in place.
    ///
    /// ```
    /// use scan_runtime::{
    ///     Scanner,
    ///     ndarray::{Axis, array, s},
    ///     ops,
    /// };
    ///
    /// let sums = Scanner::new()?.scan(ops::sum());
    /// let mut matrix = array![[1, 2, 3], [4, 5, 6]];
    /// sums.run_axis_in_place(&mut matrix, Axis(0))?;
    /// assert_eq!(matrix, array![[1, 2, 3], [5, 7, 9]]);
    /// sums.run_axis_in_place(matrix.slice_mut(s![.., 1..]), Axis(1))?;
    /// assert_eq!(matrix, array![[1, 2, 5], [5, 7, 16]]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_axis`](Scan::run_axis).
    pub fn run_axis_in_place<'b, T, D: Dimension>(
        &self,
        buffer: impl Into<ArrayViewMut<'b, T, D>>,
        axis: ndarray::Axis,
    ) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement + 'b,
    {
        let mut buffer = buffer.into();
        let strides = lies_in(&buffer.view()).map(|(_, strides)| strides);
        let shape = buffer.shape().to_vec();
        match (strides, buffer.as_slice_memory_order_mut()) {
            (Some(strides), Some(elements)) => {
                let along = Axis::of(&shape, axis.index())?.strides(strides.slice())?;
                self.along(along).run_in_place(elements)
            }
            _ => {
                let results = self.run_axis(buffer.view(), axis)?;
                buffer.assign(&results);
                Ok(())
            }
        }
    }
}

impl<Op: ScanOp> Reduce<Op> {
    /// Reduces an `ndarray` array along an axis, with the feature `ndarray`, as [`Scan::along`] does.
    /// Views that leave gaps, or have an axis inverted, are copied first.
    ///
    /// ```
    /// use scan_runtime::{
    ///     Scanner,
    ///     ndarray::{Axis, array},
    ///     ops,
    /// };
    ///
    /// let sums = Scanner::new()?.reduce(ops::sum());
    /// let matrix = array![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(sums.run_axis(&matrix, Axis(0))?, array![5, 7, 9]);
    /// assert_eq!(sums.run_axis(&matrix, Axis(1))?, array![6, 15]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Axis`] if the array has no such axis, or too many dimensions, and those of
    /// a run of [`Scan::along`].
    pub fn run_axis<'v, D: RemoveAxis>(
        &self,
        input: impl Into<ArrayView<'v, Op::Input, D>>,
        axis: ndarray::Axis,
    ) -> Result<Array<Op::Output, D::Smaller>, Error>
    where
        Op::Input: 'v,
    {
        let input = input.into();
        let along = Along::of(&input, axis)?;
        let results = self.along(along.axis).run(&along.elements)?;
        let array = Array::from_shape_vec(input.raw_dim().remove_axis(axis), results);
        array.map_err(|_| Error::AxisGaps { shape: input.shape().to_vec() }) // there is a result for each column
    }
}

/// An array that is scanned along an axis.
struct Along<'v, T: Clone, D> {
    /// In memory order where they fill their memory, else copied in standard order.
    elements: Cow<'v, [T]>,
    /// As they lie there.
    axis: Axis,
    /// Unless they are copied.
    strides: Option<D>,
}

impl<'v, T: ScanElement, D: Dimension> Along<'v, T, D> {
    fn of(array: &ArrayView<'v, T, D>, axis: ndarray::Axis) -> Result<Self, Error> {
        let axis = Axis::of(array.shape(), axis.index())?;
        Ok(match lies_in(array) {
            Some((elements, strides)) => {
                let axis = axis.strides(strides.slice())?;
                Along { elements: Cow::Borrowed(elements), axis, strides: Some(strides) }
            }
            None => Along { elements: Cow::Owned(array.iter().copied().collect()), axis, strides: None },
        })
    }
}

/// The memory of an array and its strides, if it has elements, they fill it, and no axis is inverted.
fn lies_in<'v, T, D: Dimension>(array: &ArrayView<'v, T, D>) -> Option<(&'v [T], D)> {
    // Where there is one index at the most, no step is ever made.
    let inverted = array.shape().iter().zip(array.strides()).any(|(extent, stride)| *extent > 1 && *stride < 0);
    let elements = array.to_slice_memory_order().filter(|elements| !elements.is_empty())?;
    let mut strides = array.raw_dim();
    for (stride, (extent, of_array)) in strides.slice_mut().iter_mut().zip(array.shape().iter().zip(array.strides())) {
        *stride = if *extent > 1 { usize::try_from(*of_array).ok()? } else { 1 };
    }
    (!inverted).then_some((elements, strides))
}
