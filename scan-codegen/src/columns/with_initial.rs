//! Results that include the initial value: one more along the axis than there are elements.

use super::axis::{Axis, AxisError, Within};

/// The two scans that give these results: the initial value of each column, and all others.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct WithInitial {
    /// The results: their shape, and as output strides those of their memory.
    pub results: Axis,
    /// One element of each column, of which an exclusive scan gives the initial value. A column has none if it is empty.
    pub initial: Axis,
    /// All elements, for an inclusive scan.
    pub others: Axis,
}

impl Axis {
    /// The scans that give one result more along the axis than there are elements. The initial value is the first, or the
    /// last of a `reversed` scan. Output strides are those of the results; without any these are contiguous.
    ///
    /// # Errors
    ///
    /// [`AxisError::TooLarge`], and [`AxisError::Overlap`] where the output strides leave no room for one result more.
    #[doc(hidden)]
    pub fn with_initial(&self, reversed: bool) -> Result<WithInitial, AxisError> {
        let (number, length) = (self.axis() as isize, self.shape()[self.axis()]);
        let mut shape = self.shape().to_vec();
        shape[self.axis()] = length.saturating_add(1);
        let (dense, results) = (Axis::of(self.shape(), number)?, Axis::of(&shape, number)?);
        let (input, output) = self.both_strides();
        let results = if output == dense.both_strides().1 { results } else { results.output_strides(output)? };
        let part = |rows: usize, before: usize| {
            let [of_input, of_output] = [length - rows, length + 1 - before - rows];
            let within = [Within { before: 0, after: of_input }, Within { before, after: of_output }];
            self.part(rows, results.both_strides().1, within)
        };
        let (initial, others) = if reversed { (length, 0) } else { (0, 1) };
        let (initial, others) = (part(length.min(1), initial), part(length, others));
        let results = results.input_strides(input)?;
        Ok(WithInitial { results, initial, others })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of all results, each scan's in the order of its columns and rows.
    fn places(axis: &Axis) -> Vec<usize> {
        let layout = axis.layout();
        let ([_, first], [_, step]) = (layout.firsts(), layout.steps());
        let mut starts = vec![first];
        for (extent, [_, stride, _]) in layout.dimensions() {
            let next = |start: &usize| {
                let start = *start;
                (0..extent).map(move |index| start.wrapping_add(index.wrapping_mul(stride)))
            };
            starts = starts.iter().flat_map(next).collect();
        }
        let rows = |start: &usize| {
            let start = *start;
            (0..layout.length() as usize).map(move |row| start.wrapping_add(row.wrapping_mul(step)))
        };
        starts.iter().flat_map(rows).collect()
    }

    #[test]
    fn the_two_scans_fill_the_results_and_nothing_else() {
        let contiguous = |shape: &[usize], axis: isize| Axis::of(shape, axis).unwrap();
        let axes = [
            contiguous(&[5], 0),
            contiguous(&[3, 4], 1),
            contiguous(&[3, 4], 0),
            contiguous(&[2, 3, 4], 1),
            contiguous(&[3, 4], 1).output_strides(&[-5, 1]).unwrap(),
            contiguous(&[3, 4], 1).output_strides(&[5, -1]).unwrap(),
            contiguous(&[3, 4], 0).input_strides(&[-4, 1]).unwrap().output_strides(&[1, 4]).unwrap(),
        ];
        for axis in axes {
            for reversed in [false, true] {
                let WithInitial { results, initial, others } = axis.with_initial(reversed).unwrap();
                let columns = axis.columns();
                assert_eq!(results.len(), axis.len() + columns, "{axis:?}");
                let lengths = [initial.output_len(), others.output_len(), initial.input_len(), others.input_len()];
                let [of_results, of_elements] = [results.output_len(), axis.input_len()];
                assert_eq!(lengths, [of_results, of_results, of_elements, of_elements], "{axis:?}");
                let (first, rest) = (places(&initial), places(&others));
                assert_eq!((first.len(), rest.len()), (columns, axis.len()));
                let mut all = [first, rest].concat();
                all.sort_unstable();
                assert_eq!(all, (0..of_results).collect::<Vec<_>>(), "{axis:?}, reversed: {reversed}");
            }
        }
    }

    #[test]
    fn the_initial_value_is_the_first_result_or_the_last_of_a_reversed_scan() {
        let axis = Axis::of(&[2, 3], 1).unwrap();
        let initial = |reversed: bool| places(&axis.with_initial(reversed).unwrap().initial);
        assert_eq!((initial(false), initial(true)), (vec![0, 4], vec![3, 7]));
        let inverted = axis.clone().output_strides(&[4, -1]).unwrap().with_initial(false).unwrap();
        assert_eq!(places(&inverted.initial), [3, 7]);
        let narrow = Axis::of(&[2, 3], 1).unwrap().output_strides(&[1, 2]).unwrap();
        assert_eq!(narrow.with_initial(false).unwrap().results.output_len(), 8);
        let narrow = Axis::of(&[2, 3], 0).unwrap().output_strides(&[1, 2]).unwrap().with_initial(false);
        assert!(matches!(narrow, Err(AxisError::Overlap { .. })), "{narrow:?}");
    }

    /// Of no elements there is one result for each column.
    #[test]
    fn columns_without_elements_have_one_result() {
        let WithInitial { results, initial, others } = Axis::of(&[3, 0], 1).unwrap().with_initial(false).unwrap();
        assert_eq!((results.output_len(), initial.output_len(), others.output_len()), (3, 3, 3));
        assert!(initial.is_empty() && others.is_empty());
    }
}
