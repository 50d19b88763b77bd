//! An axis of an array, and what of the array a kernel must know to scan along it.

/// The most dimensions of an array, the scanned one among them.
const MAX_DIMENSIONS: usize = 8;

/// The maximum of [`ColumnLayout::grain`].
const MAX_GRAIN: u64 = 16;

/// Why an array cannot be scanned along an axis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AxisError {
    /// The shape has no dimensions, or too many.
    #[error(
        "an array of {dimensions} dimensions cannot be scanned along an axis: give a shape of 1 to {MAX_DIMENSIONS}"
    )]
    Dimensions {
        /// How many it has.
        dimensions: usize,
    },
    /// The shape has no such axis.
    #[error(
        "axis {axis} of an array of {dimensions} dimensions: axes are 0 to {}, or -1 to -{dimensions} from the last one \
         on",
        dimensions - 1
    )]
    NoSuchAxis {
        /// The axis, or the largest number if it is larger.
        axis: isize,
        /// Dimensions of the array.
        dimensions: usize,
    },
    /// There must be a stride for each dimension.
    #[error("{strides} strides for an array of {dimensions} dimensions: give one for each, in elements")]
    Strides {
        /// How many strides there are.
        strides: usize,
        /// Dimensions of the array.
        dimensions: usize,
    },
    /// The array has more elements, or reaches further, than can be counted.
    #[error("an array of shape {shape:?} reaches beyond the largest index")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// Several results would have the same place, or might have.
    #[error(
        "results of shape {shape:?} with strides {strides:?} may overlap: each stride, whatever its sign, must lead \
         beyond all that the smaller ones reach"
    )]
    Overlap {
        /// The shape.
        shape: Vec<usize>,
        /// The strides of the output.
        strides: Vec<isize>,
    },
}

/// An axis of an array along which to scan. Without strides the array is contiguous, and its last index varies fastest.
/// Results have the same shape.
///
/// ```
/// # extern crate scan_codegen as scan_runtime;
/// use scan_runtime::Axis;
///
/// let sequences = Axis::of(&[8, 65536, 1536], 1)?;
/// assert_eq!(sequences, Axis::of(&[8, 65536, 1536], -2)?);
/// assert_eq!((sequences.len(), sequences.input_len()), (8 * 65536 * 1536, 8 * 65536 * 1536));
/// // A matrix of 3 by 4 with its columns one after the other, of 5 elements each, the last of them unused.
/// let matrix = Axis::of(&[3, 4], 0)?.input_strides(&[1, 5])?;
/// assert_eq!((matrix.len(), matrix.input_len(), matrix.output_len()), (12, 18, 12));
/// # Ok::<(), scan_runtime::AxisError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    shape: Vec<usize>,
    axis: usize,
    input_strides: Vec<isize>,
    output_strides: Vec<isize>,
    /// Where the rows of the shape are among those of the input, and of the output, which may have more.
    within: [Within; 2],
}

/// Rows of an array before and after those of a part of it, along the axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Within {
    pub(super) before: usize,
    pub(super) after: usize,
}

impl Axis {
    /// An axis of a contiguous array: an integer of any type, which counts from 0, or from -1, the last axis, down.
    ///
    /// # Errors
    ///
    /// [`AxisError::Dimensions`], [`AxisError::NoSuchAxis`] and [`AxisError::TooLarge`].
    pub fn of(shape: &[usize], axis: impl TryInto<isize>) -> Result<Self, AxisError> {
        let dimensions = shape.len();
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(AxisError::Dimensions { dimensions });
        }
        let axis = axis.try_into().unwrap_or(isize::MAX);
        let from_first = if axis < 0 { dimensions.checked_add_signed(axis) } else { Some(axis.unsigned_abs()) };
        let no_such_axis = AxisError::NoSuchAxis { axis, dimensions };
        let axis = from_first.filter(|&axis| axis < dimensions).ok_or(no_such_axis)?;
        let mut strides = vec![1_isize; dimensions];
        for k in (1..dimensions).rev() {
            let extent = isize::try_from(shape[k]).ok();
            strides[k - 1] =
                extent.and_then(|extent| extent.checked_mul(strides[k])).ok_or_else(|| too_large(shape))?;
        }
        let (input_strides, output_strides, within) = (strides.clone(), strides, Default::default());
        let axis = Axis { shape: shape.to_vec(), axis, input_strides, output_strides, within };
        checked_reach(&axis.shape, &axis.input_strides)?;
        // An array without elements may have columns, which are counted.
        let counted = shape.iter().try_fold(1_usize, |all, &extent| all.checked_mul(extent.max(1)));
        counted.ok_or_else(|| too_large(shape))?;
        Ok(axis)
    }

    /// The same of an array with these strides, in elements: from an index of each dimension to the next. Results lie
    /// in the same way.
    ///
    /// ```
    /// # extern crate scan_codegen as scan_runtime;
    /// use scan_runtime::Axis;
    ///
    /// // A matrix of 2 by 3 in memory for 2 by 4.
    /// let padded = Axis::of(&[2, 3], 0)?.strides(&[4, 1])?;
    /// assert_eq!((padded.input_len(), padded.output_len()), (7, 7));
    /// # Ok::<(), scan_runtime::AxisError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`input_strides`](Axis::input_strides) and [`output_strides`](Axis::output_strides).
    pub fn strides(self, strides: &[impl TryInto<isize> + Copy]) -> Result<Self, AxisError> {
        self.input_strides(strides)?.output_strides(strides)
    }

    /// The same of an array with these strides, in elements: integers of any type. A stride of 0 repeats elements.
    /// Results are contiguous unless [`output_strides`](Axis::output_strides) says otherwise.
    ///
    /// A negative stride inverts a dimension, as in a view of numpy that is sliced by `[::-1]`: its first index has the
    /// element that lies last. The element at `i, j, …` is then the one with the number `i * strides[0] + j *
    /// strides[1] + …`, to which `-stride * (extent - 1)` is added for each negative stride, so that the smallest
    /// number is 0. The array is scanned where it lies; nothing is copied.
    ///
    /// ```
    /// # extern crate scan_codegen as scan_runtime;
    /// use scan_runtime::Axis;
    ///
    /// // In Python: `matrix = numpy.arange(12).reshape(3, 4)[::-1, :]`, whose strides are -4 and 1 elements.
    /// let inverted = Axis::of(&[3, 4], 0)?.input_strides(&[-4, 1])?;
    /// assert_eq!((inverted.input_len(), inverted.output_len()), (12, 12));
    /// # Ok::<(), scan_runtime::AxisError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`AxisError::Strides`] and [`AxisError::TooLarge`].
    pub fn input_strides(self, strides: &[impl TryInto<isize> + Copy]) -> Result<Self, AxisError> {
        let input_strides = signed(strides);
        self.len_with(&input_strides)?;
        Ok(Axis { input_strides, ..self })
    }

    /// The same with these strides of the results, in elements: integers of any type. Memory between results is not
    /// written. A negative stride inverts a dimension, as one of the [input](Axis::input_strides) does.
    ///
    /// ```
    /// # extern crate scan_codegen as scan_runtime;
    /// use scan_runtime::Axis;
    ///
    /// // The result of the first element lies last, and one place is left out after each.
    /// let inverted = Axis::of(&[3], 0)?.output_strides(&[-2])?;
    /// assert_eq!((inverted.input_len(), inverted.output_len()), (3, 5));
    /// # Ok::<(), scan_runtime::AxisError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`AxisError::Strides`], [`AxisError::TooLarge`], and [`AxisError::Overlap`] where two results might have the
    /// same place.
    pub fn output_strides(self, strides: &[impl TryInto<isize> + Copy]) -> Result<Self, AxisError> {
        let output_strides = signed(strides);
        self.len_with(&output_strides)?;
        let steps = output_strides.iter().map(|stride| stride.unsigned_abs());
        let mut dimensions: Vec<_> = steps.zip(&self.shape).filter(|(_, extent)| **extent > 1).collect();
        dimensions.sort_unstable();
        let mut reach = 0;
        for (step, &extent) in dimensions {
            if step <= reach {
                return Err(AxisError::Overlap { shape: self.shape, strides: output_strides });
            }
            reach += step * (extent - 1);
        }
        Ok(Axis { output_strides, ..self })
    }

    /// The length that memory must have, in elements, to hold an array of this shape with these strides.
    #[doc(hidden)]
    pub fn len_with(&self, strides: &[isize]) -> Result<usize, AxisError> {
        if strides.len() != self.shape.len() {
            return Err(AxisError::Strides { strides: strides.len(), dimensions: self.shape.len() });
        }
        checked_reach(&self.shape, strides)?;
        Ok(self.memory(strides, Within::default()))
    }

    /// Of an array of this shape with strides of its own: which item is the element of index 0 in each dimension, and
    /// how many items the strides reach. The first item is the one that lies lowest.
    #[doc(hidden)]
    pub fn first_and_len(&self, own: &[isize]) -> Result<(usize, usize), AxisError> {
        let len = self.len_with(own)?;
        Ok((self.first(own, Within::default()), len))
    }

    fn first(&self, strides: &[isize], within: Within) -> usize {
        let down: Vec<isize> = strides.iter().map(|stride| *stride.min(&0)).collect();
        let step = strides.get(self.axis).map_or(0, |step| *step as usize);
        self.memory(&down, within).saturating_sub(1).wrapping_add(within.before.wrapping_mul(step))
    }

    /// Elements of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Which dimension is scanned.
    pub fn axis(&self) -> usize {
        self.axis
    }

    /// The strides of the array and of the results.
    #[doc(hidden)]
    pub fn both_strides(&self) -> (&[isize], &[isize]) {
        (&self.input_strides, &self.output_strides)
    }

    /// Elements of the array, and results.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// How many columns there are: elements of the array without the axis.
    pub fn columns(&self) -> usize {
        let others = self.shape.iter().enumerate().filter(|&(k, _)| k != self.axis);
        others.map(|(_, extent)| extent).product()
    }

    /// Whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The length that the memory of the array must have, in elements, gaps included.
    pub fn input_len(&self) -> usize {
        self.memory(&self.input_strides, self.within[INPUT])
    }

    /// The length that the memory of the results must have, in elements, gaps included.
    pub fn output_len(&self) -> usize {
        self.memory(&self.output_strides, self.within[OUTPUT])
    }

    /// Whether elements and results lie in the same way, so that results can take the place of elements.
    pub fn lies_the_same(&self) -> bool {
        let mut dimensions = self.shape.iter().zip(&self.input_strides).zip(&self.output_strides);
        dimensions.all(|((&extent, input), output)| extent <= 1 || input == output)
    }

    fn memory(&self, strides: &[isize], Within { before, after }: Within) -> usize {
        let mut shape = self.shape.clone();
        shape[self.axis] += before + after;
        if shape.contains(&0) { 0 } else { 1 + reach(&shape, strides).map_or(0, |reach| reach) }
    }

    /// The same shape, of which only these rows along the axis are scanned, and strides of the results.
    pub(super) fn part(&self, rows: usize, output_strides: &[isize], within: [Within; 2]) -> Self {
        let mut axis = Axis { output_strides: output_strides.to_vec(), within, ..self.clone() };
        axis.shape[self.axis] = rows;
        axis
    }

    /// The layout that a kernel is given. Dimensions that can be merged are merged.
    pub fn layout(&self) -> ColumnLayout {
        self.layout_with(&[])
    }

    /// The same where some arrays of the input have these strides of their own.
    #[doc(hidden)]
    pub fn layout_with(&self, own: &[&[isize]]) -> ColumnLayout {
        // Of an array with a value for each column: contiguous, of the shape without the axis.
        let mut value_strides = vec![1_isize; self.shape.len()];
        for k in (1..self.shape.len()).rev() {
            let extent = if k == self.axis { 1 } else { self.shape[k] };
            value_strides[k - 1] = value_strides[k].wrapping_mul(extent as isize);
        }
        let of_axis = [&self.input_strides[..], &self.output_strides, &value_strides];
        let arrays = || of_axis.iter().chain(own);
        // Kernels add the bits of negative strides, whose sums wrap around to the right places.
        let strides_of =
            |k: usize| arrays().map(|strides| strides.get(k).map_or(0, |stride| *stride as u64)).collect::<Vec<_>>();
        let others = (0..self.shape.len()).filter(|&k| k != self.axis && self.shape[k] != 1);
        let mut dimensions: Vec<Dimension> =
            others.map(|k| Dimension { extent: self.shape[k] as u64, strides: strides_of(k) }).collect();
        // The last of them counts fastest: where it lies closest, neighbouring columns lie side by side.
        let distance = |dimension: &Dimension, array: usize| (dimension.strides[array] as i64).unsigned_abs();
        dimensions
            .sort_by_key(|dimension| std::cmp::Reverse((distance(dimension, OUTPUT), distance(dimension, INPUT))));
        let mut merged: Vec<Dimension> = Vec::new();
        for inner in dimensions.into_iter().rev() {
            match merged.last_mut() {
                Some(last) if last.contains_next(&inner) => last.extent *= inner.extent,
                _ => merged.push(inner),
            }
        }
        let columns = merged.iter().map(|dimension| dimension.extent).product();
        let mut steps = strides_of(self.axis);
        if self.shape[self.axis] <= 1 && self.within == [Within::default(); 2] {
            steps.fill(1); // where there is but one row, no step is ever made
        }
        let within = |array: usize| self.within.get(array).copied().unwrap_or_default();
        let first = |(array, strides): (usize, &&[isize])| self.first(strides, within(array)) as u64;
        let firsts = arrays().enumerate().map(first).collect();
        ColumnLayout { length: self.shape[self.axis] as u64, columns, steps, dimensions: merged, firsts }
    }
}

fn too_large(shape: &[usize]) -> AxisError {
    AxisError::TooLarge { shape: shape.to_vec() }
}

/// The strides as numbers of one type. Larger ones than the largest reach beyond any array, as that does.
fn signed(strides: &[impl TryInto<isize> + Copy]) -> Vec<isize> {
    strides.iter().map(|&stride| stride.try_into().unwrap_or(isize::MAX)).collect()
}

/// How far the last element in memory lies behind the first one.
fn reach(shape: &[usize], strides: &[isize]) -> Option<usize> {
    shape.iter().zip(strides).try_fold(0_usize, |reach, (&extent, stride)| {
        reach.checked_add(extent.saturating_sub(1).checked_mul(stride.unsigned_abs())?)
    })
}

fn checked_reach(shape: &[usize], strides: &[isize]) -> Result<usize, AxisError> {
    reach(shape, strides).filter(|&reach| reach < isize::MAX as usize).ok_or_else(|| too_large(shape))
}

/// A dimension of an array other than the one that is scanned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Dimension {
    extent: u64,
    /// In elements: of the input, of the output, of an array that has one value for each column, and of each array with
    /// strides of its own.
    strides: Vec<u64>,
}

/// Which of the strides are those of the input, of the output, and of an array that has one value for each column; and
/// the first ones that are an array's own.
const INPUT: usize = 0;
const OUTPUT: usize = 1;
const VALUE: usize = 2;
const OWN: usize = 3;

impl Dimension {
    /// Whether the two are one: an index of `outer` leads just beyond this one.
    fn contains_next(&self, outer: &Dimension) -> bool {
        let reach = |stride: u64| (stride as i64).checked_mul(self.extent as i64);
        self.strides.iter().zip(&outer.strides).all(|(&stride, &next)| reach(stride) == Some(next as i64))
    }
}

/// An array as a kernel sees it that scans one axis: columns, each of which lies along the axis. Made by
/// [`Axis::layout`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnLayout {
    length: u64,
    columns: u64,
    /// From an element of a column to the next, of the same arrays as the strides.
    steps: Vec<u64>,
    /// The innermost first.
    dimensions: Vec<Dimension>,
    /// Which item of each array has index 0 in each dimension, as [`strides`](Dimension::strides) lists them.
    firsts: Vec<u64>,
}

impl ColumnLayout {
    /// The maximum number of dimensions other than the scanned one.
    pub(crate) const DIMENSIONS: usize = MAX_DIMENSIONS - 1;

    /// Words of the kernels' `Layout`: its numbers, then an extent and three strides for each dimension.
    const WORDS: usize = Self::NUMBERS + 4 * Self::DIMENSIONS;
    const NUMBERS: usize = 5;

    /// Words of the kernels' `Strided`: the pointer, the step, and a stride for each dimension.
    pub(crate) const STRIDED_WORDS: usize = 2 + Self::DIMENSIONS;

    /// One column of contiguous elements.
    pub fn of_one_column(length: u64) -> Self {
        ColumnLayout { length, columns: 1, steps: vec![1; OWN], dimensions: Vec::new(), firsts: vec![0; OWN] }
    }

    /// Contiguous columns, one behind the other.
    pub(crate) fn of_rows(length: u64, columns: u64) -> Self {
        let dimension = Dimension { extent: columns, strides: vec![length, length, 1] };
        ColumnLayout { columns, dimensions: vec![dimension], ..ColumnLayout::of_one_column(length) }
    }

    /// Elements of a column.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// How many columns there are.
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// Whether there is nothing to scan.
    pub fn is_empty(&self) -> bool {
        self.length == 0 || self.columns == 0
    }

    /// Whether the columns are contiguous, one behind the other: rows of [`length`](ColumnLayout::length) elements, as
    /// [`Segments::Rows`](crate::Segments::Rows) has them.
    pub fn is_rows(&self) -> bool {
        self.steps() == [1, 1]
            && match &self.dimensions[..] {
                [] => true,
                [one] => one.strides[..=OUTPUT] == [self.length; 2],
                _ => false,
            }
    }

    /// How many neighbouring columns lie side by side, a power of two: all strides and steps are multiples of it.
    pub fn grain(&self) -> u64 {
        let [inner, outer @ ..] = &self.dimensions[..] else { return 1 };
        if inner.strides[..=OUTPUT] != [1, 1] {
            return 1;
        }
        let strides = outer.iter().flat_map(|dimension| &dimension.strides[..=OUTPUT]).copied();
        let steps = self.steps.iter().take(if self.length > 1 { OWN - 1 } else { 0 }).copied();
        let numbers = strides.chain(steps).chain([inner.extent]);
        let bits = numbers.fold(MAX_GRAIN, |bits, number| bits | number);
        1 << bits.trailing_zeros()
    }

    /// What the kernels' `Layout` holds.
    pub fn words(&self) -> [u64; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        let [input, output] = self.steps();
        let numbers: [u64; Self::NUMBERS] =
            [self.length, self.columns, input as u64, output as u64, self.dimensions.len() as u64];
        words[..Self::NUMBERS].copy_from_slice(&numbers);
        for (k, Dimension { extent, strides }) in self.dimensions.iter().enumerate() {
            for (array, part) in [extent].into_iter().chain(&strides[..OWN]).enumerate() {
                words[Self::NUMBERS + array * Self::DIMENSIONS + k] = *part;
            }
        }
        words
    }

    /// Which item the pointer of the kernels' `Strided` points to, of the array with strides of its own of this number.
    #[doc(hidden)]
    pub fn strided_first(&self, number: usize) -> u64 {
        self.firsts.get(OWN + number).copied().unwrap_or(0)
    }

    /// What the kernels' `Strided` holds behind the pointer, of the array with strides of its own of this number.
    #[doc(hidden)]
    pub fn strided_words(&self, number: usize) -> impl Iterator<Item = u64> {
        let strides = self.dimensions.iter().map(move |dimension| dimension.strides.get(OWN + number));
        let words = std::iter::once(self.steps.get(OWN + number)).chain(strides);
        words.map(|word| word.copied().unwrap_or(0)).chain(std::iter::repeat(0)).take(Self::STRIDED_WORDS - 1)
    }

    /// Which element of the memory of the input, and of the output, has index 0 in each dimension. Kernels are given
    /// its address: from there steps and strides lead to all others.
    #[doc(hidden)]
    pub fn firsts(&self) -> [usize; 2] {
        [INPUT, OUTPUT].map(|array| self.firsts[array] as usize)
    }

    /// From an element of a column to the next, in the input and in the output: the bits of a negative number where the
    /// axis is inverted.
    #[doc(hidden)]
    pub fn steps(&self) -> [usize; 2] {
        [INPUT, OUTPUT].map(|array| self.steps[array] as usize)
    }

    /// The dimensions other than the scanned one, the innermost first: the extent, and the strides of input, output,
    /// and of an array with one value for each column. Those of inverted dimensions are the bits of negative numbers.
    #[doc(hidden)]
    pub fn dimensions(&self) -> impl Iterator<Item = (usize, [usize; 3])> {
        let part =
            |part: &Dimension| (part.extent as usize, [INPUT, OUTPUT, VALUE].map(|array| part.strides[array] as usize));
        self.dimensions.iter().map(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(axis: Axis) -> (u64, u64, Vec<(u64, u64, u64)>) {
        let layout = axis.layout();
        let dimensions = layout.dimensions.iter().map(|part| (part.extent, part.strides[INPUT], part.strides[OUTPUT]));
        (layout.length, layout.columns, dimensions.collect())
    }

    #[test]
    fn adjacent_dimensions_are_merged() {
        let of = |shape: &[usize], axis| layout(Axis::of(shape, axis).unwrap());
        assert_eq!(of(&[4096, 64], 0), (4096, 64, vec![(64, 1, 1)]));
        assert_eq!(of(&[8, 100, 48], 1), (100, 8 * 48, vec![(48, 1, 1), (8, 4800, 4800)]));
        assert_eq!(of(&[2, 3, 5, 7, 11], 2), (5, 2 * 3 * 77, vec![(77, 1, 1), (6, 385, 385)]));
        assert_eq!(of(&[2, 3, 5], 2), (5, 6, vec![(6, 5, 5)]));
        assert_eq!(of(&[1, 3, 1, 1], 1), (3, 1, vec![]));
        assert_eq!(of(&[7], 0), (7, 1, vec![]));
        assert_eq!(of(&[3, 0, 2], 0).1, 0);
    }

    #[test]
    fn the_dimension_of_the_smallest_stride_is_innermost() {
        let matrix = Axis::of(&[3, 4, 5], 1).unwrap().strides(&[1, 3, 12]).unwrap();
        assert_eq!(layout(matrix.clone()), (4, 15, vec![(3, 1, 1), (5, 12, 12)]));
        assert!(matrix.lies_the_same() && !matrix.layout().is_rows());
        let transposed = Axis::of(&[3, 4], 1).unwrap().input_strides(&[1, 3]).unwrap();
        assert_eq!(layout(transposed.clone()), (4, 3, vec![(3, 1, 4)]));
        assert!(!transposed.lies_the_same());
    }

    #[test]
    fn rows_are_contiguous_along_the_last_axis() {
        let is_rows = |shape: &[usize], axis| Axis::of(shape, axis).unwrap().layout().is_rows();
        assert!(is_rows(&[9, 4], 1) && is_rows(&[2, 3, 4], 2) && is_rows(&[5], 0) && is_rows(&[5, 1], 0));
        assert!(!is_rows(&[9, 4], 0) && !is_rows(&[2, 3, 4], 1));
        let apart = Axis::of(&[9, 4], 1).unwrap().strides(&[5, 1]).unwrap();
        assert!(!apart.layout().is_rows());
    }

    /// Neither the step nor the stride of one side stands for that of the other.
    #[test]
    fn rows_lie_so_in_the_input_and_in_the_output() {
        let column = || Axis::of(&[6], 0).unwrap();
        assert!(!column().input_strides(&[2]).unwrap().layout().is_rows());
        assert!(!column().output_strides(&[2]).unwrap().layout().is_rows());
        let rows = || Axis::of(&[9, 4], 1).unwrap();
        for strides in [[5, 1], [8, 2], [1, 9]] {
            assert!(!rows().input_strides(&strides).unwrap().layout().is_rows(), "input {strides:?}");
            assert!(!rows().output_strides(&strides).unwrap().layout().is_rows(), "output {strides:?}");
        }
    }

    #[test]
    fn grain_is_the_common_divisor_of_all_strides() {
        let grain = |shape: &[usize], axis| Axis::of(shape, axis).unwrap().layout().grain();
        assert_eq!([grain(&[10, 64], 0), grain(&[10, 6], 0), grain(&[10, 5], 0), grain(&[3, 10, 8], 1)], [16, 2, 1, 8]);
        assert_eq!([grain(&[10, 6, 1], 2), grain(&[10], 0)], [4, 1]);
        let apart = |stride| Axis::of(&[10, 64], 0).unwrap().strides(&[stride, 1]).unwrap().layout().grain();
        assert_eq!([apart(64), apart(68), apart(65)], [16, 4, 1]);
        assert_eq!(Axis::of(&[4, 10, 64], 1).unwrap().input_strides(&[642, 64, 1]).unwrap().layout().grain(), 2);
    }

    /// Each stride and each step of either side alone makes the grain smaller.
    #[test]
    fn grain_is_of_the_input_and_of_the_output() {
        let even = [1024, 64, 1];
        let axis = || Axis::of(&[4, 10, 32], 1).unwrap().strides(&even).unwrap();
        assert_eq!(axis().layout().grain(), 16);
        for (strides, grain) in [([1026, 64, 1], 2), ([1024, 65, 1], 1), ([1024, 68, 1], 4), ([1024, 64, 2], 1)] {
            assert_eq!(axis().input_strides(&strides).unwrap().layout().grain(), grain, "input {strides:?}");
            assert_eq!(axis().output_strides(&strides).unwrap().layout().grain(), grain, "output {strides:?}");
        }
        let of_one_row = Axis::of(&[4, 1, 32], 1).unwrap();
        assert_eq!(of_one_row.strides(&[32, 7, 1]).unwrap().layout().grain(), 16, "no step is made");
    }

    #[test]
    fn a_dimension_of_one_index_may_have_any_stride_in_place() {
        let axis = Axis::of(&[1, 5], 1).unwrap();
        assert!(axis.clone().input_strides(&[9, 1]).unwrap().lies_the_same());
        assert!(axis.clone().output_strides(&[7, 1]).unwrap().lies_the_same());
        assert!(!axis.clone().input_strides(&[5, 2]).unwrap().lies_the_same());
        assert!(!axis.output_strides(&[9, 3]).unwrap().lies_the_same());
    }

    #[test]
    fn negative_axes_count_from_the_last_one() {
        let shape = [2, 3, 4, 5];
        for axis in 0..4_usize {
            assert_eq!(Axis::of(&shape, axis as isize - 4), Axis::of(&shape, axis));
        }
        assert_eq!(Axis::of(&shape, -1).unwrap().axis(), 3);
        assert_eq!(Axis::of(&shape, -4_i64).unwrap().axis(), 0);
        assert!(Axis::of(&shape, -5_i8).is_err() && Axis::of(&shape, isize::MIN).is_err());
    }

    #[test]
    fn impossible_axes_are_errors_with_the_reason() {
        let axis = || Axis::of(&[3, 4], 0).unwrap();
        assert_eq!(Axis::of(&[], 0), Err(AxisError::Dimensions { dimensions: 0 }));
        assert_eq!(Axis::of(&[1; 9], 0), Err(AxisError::Dimensions { dimensions: 9 }));
        assert!(Axis::of(&[2; 8], 7).is_ok());
        assert_eq!(Axis::of(&[3, 4], 2), Err(AxisError::NoSuchAxis { axis: 2, dimensions: 2 }));
        let message = Axis::of(&[3, 4], -3).unwrap_err().to_string();
        assert_eq!(message, "axis -3 of an array of 2 dimensions: axes are 0 to 1, or -1 to -2 from the last one on");
        // A difference below zero of a build that wraps around is no axis.
        assert_eq!(Axis::of(&[3, 4], usize::MAX), Err(AxisError::NoSuchAxis { axis: isize::MAX, dimensions: 2 }));
        assert_eq!(axis().strides(&[1]), Err(AxisError::Strides { strides: 1, dimensions: 2 }));
        assert_eq!(axis().output_strides(&[1]), Err(AxisError::Strides { strides: 1, dimensions: 2 }));
        assert!(matches!(axis().output_strides(&[usize::MAX, 1]), Err(AxisError::TooLarge { .. })));
        assert!(matches!(Axis::of(&[usize::MAX, 2], 0), Err(AxisError::TooLarge { .. })));
        // Memory has at most `isize::MAX` elements.
        assert!(Axis::of(&[isize::MAX as usize], 0).is_ok());
        assert!(matches!(Axis::of(&[isize::MAX as usize + 1], 0), Err(AxisError::TooLarge { .. })));
        assert!(matches!(Axis::of(&[1 << 40, 1 << 40], 1), Err(AxisError::TooLarge { .. })));
        assert!(matches!(Axis::of(&[1 << 40, 0, 1 << 40], 1), Err(AxisError::TooLarge { .. })));
        assert!(matches!(Axis::of(&[0, 1 << 40, 0, 1 << 40], 2), Err(AxisError::TooLarge { .. })));
        assert_eq!(Axis::of(&[usize::MAX, 0], 1).unwrap().columns(), usize::MAX);
        assert!(matches!(axis().input_strides(&[usize::MAX, 1]), Err(AxisError::TooLarge { .. })));
        for strides in [[0, 1], [4, 0], [3, 1], [1, 1], [1, 2]] {
            assert!(matches!(axis().output_strides(&strides), Err(AxisError::Overlap { .. })), "{strides:?}");
            assert!(axis().input_strides(&strides).is_ok(), "{strides:?}");
        }
        assert!(axis().output_strides(&[1, 3]).is_ok() && axis().output_strides(&[9, 2]).is_ok());
        let message = axis().output_strides(&[3, 1]).unwrap_err().to_string();
        assert!(message.starts_with("results of shape [3, 4] with strides [3, 1] may overlap"), "{message}");
    }

    #[test]
    fn memory_reaches_to_the_last_element() {
        let axis = Axis::of(&[3, 4], 0).unwrap().strides(&[10, 2]).unwrap();
        assert_eq!([axis.len(), axis.input_len(), axis.output_len()], [12, 27, 27]);
        assert_eq!(Axis::of(&[3, 0], 0).unwrap().input_len(), 0);
        let words = axis.layout().words();
        let (numbers, of_dimensions) = words.split_at(ColumnLayout::NUMBERS);
        let firsts: Vec<_> = of_dimensions.chunks(ColumnLayout::DIMENSIONS).map(|array| array[0]).collect();
        assert_eq!((numbers, &firsts[..3]), (&[3, 4, 10, 10, 1][..], &[4, 2, 2][..]));
    }

    /// Each number of the kernels' layout is its own: no two of this array are the same.
    #[test]
    fn words_are_of_the_input_the_output_and_the_values() {
        let axis = Axis::of(&[3, 4, 5], 1).unwrap();
        let axis = axis.input_strides(&[200, 30, 2]).unwrap().output_strides(&[700, 90, 11]).unwrap();
        let words = axis.layout().words();
        let (numbers, of_dimensions) = words.split_at(ColumnLayout::NUMBERS);
        assert_eq!(numbers, [4, 15, 30, 90, 2]);
        let arrays: Vec<_> = of_dimensions.chunks(ColumnLayout::DIMENSIONS).map(|array| &array[..2]).collect();
        assert_eq!(arrays, [[5, 3], [2, 200], [11, 700], [1, 5]]);
        let dimensions: Vec<_> = axis.layout().dimensions().collect();
        assert_eq!((dimensions, axis.layout().steps()), (vec![(5, [2, 11, 1]), (3, [200, 700, 5])], [30, 90]));
    }

    /// Dimensions are one only where they are one in every array.
    #[test]
    fn arrays_with_strides_of_their_own_keep_dimensions_apart() {
        let axis = Axis::of(&[2, 9, 3, 4], 1).unwrap();
        assert_eq!(layout(axis.clone()).2, [(12, 1, 1), (2, 108, 108)]);
        // One item for the last dimension, and one that is contiguous.
        let layout = axis.layout_with(&[&[27, 3, 1, 0], &[108, 12, 4, 1]]);
        assert_eq!(layout.dimensions().map(|(extent, _)| extent).collect::<Vec<_>>(), [4, 3, 2]);
        let words = |number| layout.strided_words(number).collect::<Vec<_>>();
        assert_eq!(words(0), [3, 0, 1, 27, 0, 0, 0, 0]);
        assert_eq!(words(1), [12, 1, 4, 108, 0, 0, 0, 0]);
        assert_eq!(words(2), [0; 8]);
        assert_eq!(axis.layout_with(&[&[0, 3, 0, 0]]).dimensions().count(), 2);
        assert_eq!([axis.len_with(&[27, 3, 1, 0]), axis.len_with(&[0, 0, 0, 5])], [Ok(54), Ok(16)]);
        assert_eq!(axis.len_with(&[1]), Err(AxisError::Strides { strides: 1, dimensions: 4 }));
    }

    /// The first element of an inverted dimension lies last. Dimensions that are inverted alike are one.
    #[test]
    fn strides_of_an_array_may_be_negative() {
        let axis = Axis::of(&[2, 9, 3, 4], 1).unwrap();
        assert_eq!(axis.first_and_len(&[108, -12, 4, -1]), Ok((8 * 12 + 3, 216)));
        assert_eq!(axis.first_and_len(&[0, 3, -1, 0]), Ok((2, 27)));
        assert_eq!(Axis::of(&[0, 4], 1).unwrap().first_and_len(&[-4, -1]), Ok((0, 0)));
        assert_eq!(Axis::of(&[1, 4], 1).unwrap().first_and_len(&[-4, -1]), Ok((3, 4)));
        let too_large = axis.first_and_len(&[isize::MIN, 12, 4, 1]);
        assert!(matches!(too_large, Err(AxisError::TooLarge { .. })), "{too_large:?}");
        assert!(matches!(axis.first_and_len(&[-1]), Err(AxisError::Strides { strides: 1, dimensions: 4 })));
        let layout = axis.layout_with(&[&[108, -12, -4, -1], &[108, 12, -4, 1]]);
        assert_eq!(layout.dimensions().map(|(extent, _)| extent).collect::<Vec<_>>(), [4, 3, 2]);
        let words = |number| layout.strided_words(number).map(|word| word as i64).collect::<Vec<_>>();
        assert_eq!(words(0), [-12, -1, -4, 108, 0, 0, 0, 0]);
        assert_eq!(words(1), [12, 1, -4, 108, 0, 0, 0, 0]);
        assert_eq!([0, 1, 2].map(|number| layout.strided_first(number)), [8 * 12 + 11, 8, 0]);
        let alike = axis.layout_with(&[&[108, -12, -4, -1]]);
        assert_eq!(alike.dimensions().map(|(extent, _)| extent).collect::<Vec<_>>(), [12, 2]);
    }

    /// Both sides of the axis, each for itself. Memory is as long as without signs.
    #[test]
    fn strides_of_the_axis_may_be_negative() {
        let axis = || Axis::of(&[2, 9, 3, 4], 1).unwrap();
        let inverted =
            axis().input_strides(&[108, -12, 4, -1]).unwrap().output_strides(&[-216, 24, -8_i64, 2]).unwrap();
        assert_eq!([inverted.input_len(), inverted.output_len()], [216, 431]);
        let layout = inverted.layout();
        assert_eq!(layout.firsts(), [8 * 12 + 3, 216 + 2 * 8]);
        assert_eq!(layout.steps().map(|step| step as isize), [-12, 24]);
        let signed = |layout: &ColumnLayout| -> Vec<(usize, [isize; 3])> {
            layout.dimensions().map(|(extent, strides)| (extent, strides.map(|stride| stride as isize))).collect()
        };
        assert_eq!(signed(&layout), [(4, [-1, 2, 1]), (3, [4, -8, 4]), (2, [108, -216, 12])]);
        // Dimensions that are inverted alike are one, in the order of their distances.
        let alike = axis().strides(&[108, 12, -4, -1]).unwrap();
        assert_eq!(signed(&alike.layout()), [(12, [-1, -1, 1]), (2, [108, 108, 12])]);
        assert_eq!((alike.layout().firsts(), alike.lies_the_same()), ([11, 11], true));
        let both = axis().input_strides(&[-108, -12, -4, -1]).unwrap();
        assert_eq!((both.layout().firsts(), both.lies_the_same()), ([215, 0], false));
        // A dimension of one index is not inverted, whatever its stride is.
        let one = Axis::of(&[1, 3], 1).unwrap().strides(&[isize::MIN, -1]).unwrap();
        assert_eq!((one.layout().firsts(), one.input_len()), ([2, 2], 3));
        let nothing = Axis::of(&[0, 4], 0).unwrap().strides(&[-4, -1]).unwrap();
        assert_eq!((nothing.layout().firsts(), nothing.input_len()), ([0, 0], 0));
    }

    /// An inverted row is no row, on neither side.
    #[test]
    fn rows_are_not_inverted() {
        let rows = || Axis::of(&[9, 4], 1).unwrap();
        assert!(rows().layout().is_rows());
        for strides in [[4, -1], [-4, 1], [-4, -1]] {
            assert!(!rows().input_strides(&strides).unwrap().layout().is_rows(), "input {strides:?}");
            assert!(!rows().output_strides(&strides).unwrap().layout().is_rows(), "output {strides:?}");
            assert!(!rows().strides(&strides).unwrap().layout().is_rows(), "{strides:?}");
        }
        assert!(!Axis::of(&[5], 0).unwrap().strides(&[-1]).unwrap().layout().is_rows());
    }

    /// Neighbouring columns that lie the other way round are read one by one. Other dimensions keep the grain, and so
    /// does the place of the first element.
    #[test]
    fn grain_is_of_columns_side_by_side() {
        let axis = || Axis::of(&[4, 10, 32], 1).unwrap();
        for (strides, grain) in [
            ([320, 32, -1], 1),
            ([-320, 32, 1], 16),
            ([320, -32, 1], 16),
            ([-320, -32, 1], 16),
            ([-322, 32, 1], 2),
            ([-328, 32, 1], 8),
            ([400, -36, 1], 4),
        ] {
            for axis in [
                axis().input_strides(&strides).unwrap(),
                axis().output_strides(&strides).unwrap(),
                axis().strides(&strides).unwrap(),
            ] {
                let layout = axis.layout();
                assert_eq!(layout.grain(), grain, "{axis:?}");
                assert!(layout.firsts().iter().all(|first| (*first as u64).is_multiple_of(grain)), "{axis:?}");
            }
        }
    }

    /// Signs do not keep results apart.
    #[test]
    fn overlaps_are_found_whatever_the_signs_are() {
        let axis = || Axis::of(&[3, 4], 0).unwrap();
        for strides in [[0, -1], [-4, 0], [-3, 1], [3, -1], [-1, 1], [1, -2], [-1, -2]] {
            let overlap =
                AxisError::Overlap { shape: vec![3, 4], strides: strides.map(|stride| stride as isize).to_vec() };
            assert_eq!(axis().output_strides(&strides), Err(overlap));
            assert!(axis().input_strides(&strides).is_ok(), "{strides:?}");
        }
        for strides in [[-4, 1], [4, -1], [-1, 3], [1, -3], [-9, -2]] {
            assert!(axis().output_strides(&strides).is_ok(), "{strides:?}");
        }
        assert!(matches!(axis().input_strides(&[isize::MIN, 1]), Err(AxisError::TooLarge { .. })));
        assert!(matches!(axis().output_strides(&[i128::MIN, 1]), Err(AxisError::TooLarge { .. })));
    }

    #[test]
    fn values_of_columns_lie_as_if_the_axis_were_left_out() {
        let strides = |shape: &[usize], axis: usize| {
            let axis = Axis::of(shape, axis).unwrap().input_strides(&[1000, 100, 10, 1]).unwrap();
            axis.layout().dimensions().map(|(extent, [.., value])| (extent, value)).collect::<Vec<_>>()
        };
        assert_eq!(strides(&[2, 3, 4, 5], 0), [(5, 1), (4, 5), (3, 20)]);
        assert_eq!(strides(&[2, 3, 4, 5], 1), [(5, 1), (4, 5), (2, 20)]);
        assert_eq!(strides(&[2, 3, 4, 5], 3), [(4, 1), (3, 4), (2, 12)]);
    }
}
