//! Scans along an axis of which each column has an initial value, or a total, of its own.

use scan_codegen::Axis;

use super::{AxisScan, check_length};
use crate::{Error, ScanElement, ScanOp, error::expect_len, heads::InitialValues, room::room};

/// An error if there is not one total for each column.
pub(crate) fn check_totals(axis: &Axis, found: usize) -> Result<(), Error> {
    expect_len("totals", found, axis.columns(), "there is one total for each column")
}

impl<'h, Op: ScanOp> AxisScan<'h, Op> {
    /// Puts a value of its own before the first element of each column: an array of the shape without the axis,
    /// contiguous, its last index the fastest. In a [reversed](crate::Scan::reverse) scan it stands behind the last
    /// element of the column. It takes the place of the scan's own [initial value](crate::Scan::init).
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, ops};
    ///
    /// let sums = Scanner::new()?.scan(ops::sum()).axis(Axis::of(&[2, 3], 0)?);
    /// assert_eq!(sums.init_each(&[100, 0, 7]).run(&[1, 2, 3, 4, 5, 6])?, [101, 2, 10, 105, 7, 16]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// A run gives [`Error::Length`] if there are more or fewer values than columns.
    pub fn init_each(mut self, values: &'h [Op::Carry]) -> Self {
        self.scan.heads.initial_values = Some(InitialValues::new(values));
        self
    }
}

impl<Op: ScanOp> AxisScan<'_, Op> {
    /// Scans an array, and gives the total of each column as well: the carry after its last element (before its first
    /// one, of a [reversed](crate::Scan::reverse) scan), the initial value included, in an array of the shape without
    /// the axis. On the GPU it comes from the same launch. The totals of a chunk are the [initial
    /// values](AxisScan::init_each) of the next one:
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let (tokens, channels) = (2, 3); // of a chunk
    /// let mut before = vec![0; channels];
    /// for chunk in [[1, 2, 3, 4, 5, 6], [10, 20, 30, 40, 50, 60]] {
    ///     let sums = scanner.scan(ops::sum()).axis(Axis::of(&[tokens, channels], 0)?);
    ///     let (found, after) = sums.init_each(&before).run_with_totals(&chunk)?;
    ///     assert_eq!(found[channels..], after);
    ///     before = after;
    /// }
    /// assert_eq!(before, [55, 77, 99]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](AxisScan::run), [`Error::Length`], and [`PlanError::NoElements`](crate::PlanError::NoElements)
    /// for the totals of columns without elements, if neither an initial value nor an identity tells them.
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_totals(&self, input: &[Op::Input]) -> Result<(Vec<Op::Output>, Vec<Op::Carry>), Error> {
        let (len, columns) = (self.along.axis.output_len(), self.along.axis.columns());
        if len != self.along.axis.len() {
            return Err(Error::AxisGaps { shape: self.along.axis.shape().to_vec() });
        }
        check_length(&self.along.axis, "input", input.len(), self.along.axis.input_len())?;
        let (mut output, mut totals) = (room::<Op::Output>(len)?, room::<Op::Carry>(columns)?);
        // SAFETY: the input holds the array, the vectors have room for the results and the totals.
        unsafe { self.run_at(input.as_ptr(), output.as_mut_ptr(), totals.as_mut_ptr())? };
        // SAFETY: every result and every total has been written.
        unsafe {
            output.set_len(len);
            totals.set_len(columns);
        }
        Ok((output, totals))
    }

    /// Scans an array into memory, and writes the total of each column, as
    /// [`run_with_totals`](AxisScan::run_with_totals) gives it.
    ///
    /// # Errors
    ///
    /// As [`run_with_totals`](AxisScan::run_with_totals); gaps are no error; and [`Error::Length`] if there is
    /// not one total for each column.
    pub fn run_into_with_totals(
        &self,
        input: &[Op::Input],
        output: &mut [Op::Output],
        totals: &mut [Op::Carry],
    ) -> Result<(), Error> {
        check_length(&self.along.axis, "input", input.len(), self.along.axis.input_len())?;
        check_length(&self.along.axis, "output", output.len(), self.along.axis.output_len())?;
        check_totals(&self.along.axis, totals.len())?;
        // SAFETY: the input holds the array, and output and totals, which are exclusively borrowed, what comes of it.
        unsafe { self.run_at(input.as_ptr(), output.as_mut_ptr(), totals.as_mut_ptr()) }
    }

    /// Scans an array in place, and writes the total of each column, as
    /// [`run_with_totals`](AxisScan::run_with_totals) gives it.
    ///
    /// # Errors
    ///
    /// As [`run_into_with_totals`](AxisScan::run_into_with_totals), and [`Error::AxisInPlace`].
    pub fn run_in_place_with_totals<T>(&self, buffer: &mut [T], totals: &mut [Op::Carry]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        if !self.along.axis.lies_the_same() {
            return Err(Error::AxisInPlace);
        }
        check_length(&self.along.axis, "buffer", buffer.len(), self.along.axis.input_len())?;
        check_totals(&self.along.axis, totals.len())?;
        let to = buffer.as_mut_ptr();
        // SAFETY: buffer and totals are exclusively borrowed, and each result takes the place of its element.
        unsafe { self.run_at(to.cast_const(), to, totals.as_mut_ptr()) }
    }

    /// Writes the totals of columns without elements: what they begin with.
    ///
    /// # Safety
    ///
    /// `totals` is null, or valid for a write of one for each column.
    pub(super) unsafe fn write_totals_of_nothing(&self, totals: *mut Op::Carry) -> Result<(), Error> {
        let columns = if totals.is_null() { 0 } else { self.along.axis.columns() };
        for column in 0..columns {
            let value = self.scan.initial_values().and_then(|values| values.get(column).copied());
            let total = value.map_or_else(|| self.scan.total_of_nothing(), Ok)?;
            // SAFETY: the caller vouches for the totals.
            unsafe { totals.add(column).write(total) };
        }
        Ok(())
    }
}
