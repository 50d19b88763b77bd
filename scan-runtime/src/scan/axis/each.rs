//! Scans along an axis of which each column has an initial value, or a total, of its own.

use cudarc::driver::{CudaSlice, result};
use scan_codegen::Axis;

use super::{AxisScan, DeviceAxisScan, check_length};
use crate::{
    DeviceBuffer, DeviceBufferMut, Error, ScanElement, ScanOp,
    cuda::{bind, driver_error},
    device_scan::{DeviceTotals, Total},
    error::expect_len,
    heads::InitialValues,
    room::room,
};

pub(super) const HOST_VALUES: &str =
    "its initial values are in host memory: give a run of device memory those of `.on(&stream).init_each(&values)`";

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
        let (len, columns) = (self.axis.output_len(), self.axis.columns());
        if len != self.axis.len() {
            return Err(Error::AxisGaps { shape: self.axis.shape().to_vec() });
        }
        check_length(&self.axis, "input", input.len(), self.axis.input_len())?;
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
        check_length(&self.axis, "input", input.len(), self.axis.input_len())?;
        check_length(&self.axis, "output", output.len(), self.axis.output_len())?;
        check_totals(&self.axis, totals.len())?;
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
        if !self.axis.lies_the_same() {
            return Err(Error::AxisInPlace);
        }
        check_length(&self.axis, "buffer", buffer.len(), self.axis.input_len())?;
        check_totals(&self.axis, totals.len())?;
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
        let columns = if totals.is_null() { 0 } else { self.axis.columns() };
        for column in 0..columns {
            let value = self.scan.initial_values().and_then(|values| values.get(column).copied());
            let total = value.map_or_else(|| self.scan.total_of_nothing(), Ok)?;
            // SAFETY: the caller vouches for the totals.
            unsafe { totals.add(column).write(total) };
        }
        Ok(())
    }
}

impl<'a, Op: ScanOp> DeviceAxisScan<'a, Op> {
    /// Puts a value of its own before the first element of each column, from device memory when the scan runs, as
    /// [`AxisScan::init_each`] does.
    ///
    /// The run gives [`Error::Length`] if there is not one value for each column.
    pub fn init_each(self, values: &'a impl DeviceBuffer<Op::Carry>) -> Self {
        DeviceAxisScan { initial: Some(values), each: true, ..self }
    }

    /// Scans an array into a new slice, and puts the total of each column into another one, as
    /// [`AxisScan::run_with_totals`] does.
    ///
    /// # Errors
    ///
    /// Those of [`run`](DeviceAxisScan::run) and of [`AxisScan::run_with_totals`].
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_totals(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
    ) -> Result<(CudaSlice<Op::Output>, CudaSlice<Op::Carry>), Error> {
        let axis = &self.scan.axis;
        if axis.output_len() != axis.len() {
            return Err(Error::AxisGaps { shape: axis.shape().to_vec() });
        }
        let device = self.scan.scan.scanner.device_of(self.stream)?;
        check_length(axis, "input", input.len(), axis.input_len())?;
        // SAFETY: every element is a result, and the scan writes it.
        let mut output = unsafe { device.slice::<Op::Output>(self.stream, axis.len())? };
        // SAFETY: as above, of the totals.
        let mut totals = unsafe { device.slice::<Op::Carry>(self.stream, axis.columns())? };
        self.run_into_with_totals(input, &mut output, &mut totals)?;
        Ok((output, totals))
    }

    /// Scans an array into memory, and writes the total of each column to `totals`. The totals of a chunk are the
    /// [initial values](DeviceAxisScan::init_each) of the next one.
    ///
    /// # Errors
    ///
    /// Those of [`run_into`](DeviceAxisScan::run_into) and of [`AxisScan::run_into_with_totals`].
    pub fn run_into_with_totals(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
        totals: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        self.run_in(input, output, DeviceTotals::Each(totals))
    }

    /// Scans an array in place, and writes the total of each column to `totals`.
    ///
    /// # Errors
    ///
    /// Those of [`run_in_place`](DeviceAxisScan::run_in_place) and of [`AxisScan::run_into_with_totals`].
    pub fn run_in_place_with_totals<T>(
        &self,
        buffer: &mut impl DeviceBufferMut<T>,
        totals: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.run_in_one(buffer, DeviceTotals::Each(totals))
    }

    /// Writes the totals of columns without elements: what they begin with.
    pub(super) fn write_totals_of_nothing(&self, totals: Total<'_, Op>) -> Result<(), Error> {
        let Some(totals) = totals.buffer().filter(|totals| totals.len() > 0) else { return Ok(()) };
        bind(self.stream)?;
        let (columns, size, stream) = (totals.len(), size_of::<Op::Carry>(), self.stream.cu_stream());
        let (to, _writing) = totals.device_ptr_mut(self.stream);
        let copied = match self.initial {
            Some(values) => {
                let (from, _reading) = values.device_ptr(self.stream);
                let step = if self.each { size } else { 0 };
                // SAFETY: values and totals have been counted, and the guards keep both until the copies are enqueued.
                let copy = |column: usize| unsafe {
                    let (to, from) = (to + (column * size) as u64, from + (column * step) as u64);
                    result::memcpy_dtod_async(to, from, size, stream)
                };
                (0..columns).try_for_each(copy)
            }
            None => {
                let values = vec![self.scan.scan.total_of_nothing()?; columns];
                // SAFETY: as above; pageable host memory has been read when the call returns.
                unsafe { result::memcpy_htod_async(to, &values, stream) }
            }
        };
        copied.map_err(driver_error("copying on the device"))
    }
}
