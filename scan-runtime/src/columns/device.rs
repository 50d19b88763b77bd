//! Scans of arrays in device memory.

use super::{
    Columns, layouts,
    tuples::{DeviceSinks, DeviceSources},
};
use crate::{
    DeviceBufferMut, DevicePrepared, DeviceScan, Error, ScanOp,
    call::Totals,
    device::{
        DeviceTotals,
        arrays::{OfFields, array_mut},
    },
};

/// A scan of device memory whose input and output have an array for each field of an element, made by
/// [`DeviceScan::columns`], or a run of a [handle](DevicePrepared::columns). It is to a [`DeviceScan`] as
/// [`ColumnScan`](super::ColumnScan) is to a [`Scan`](crate::Scan).
#[must_use = "a scan does nothing until it is run"]
pub struct DeviceColumnScan<'a, Op: ScanOp> {
    scan: DeviceScan<'a, Op>,
}

impl<'a, Op: ScanOp> DeviceScan<'a, Op> {
    /// The same scan of inputs and outputs that have an array for each field of an element, as
    /// [`Scan::columns`](crate::Scan::columns) has it.
    ///
    /// ```no_run
    /// use scan_runtime::{ScanOp, Scanner, scan_element, scan_op};
    ///
    /// #[scan_element]
    /// #[derive(Clone, Copy)]
    /// struct Rate {
    ///     amount: f32,
    ///     count: u8,
    /// }
    ///
    /// #[scan_op]
    /// fn together(a: Rate, b: Rate) -> Rate {
    ///     Rate { amount: a.amount + b.amount, count: u8::max(a.count, b.count) }
    /// }
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let (amounts, counts) = (stream.clone_htod(&[1.0, 2.0])?, stream.clone_htod(&[3, 1])?);
    /// let (mut sums, mut most) = (stream.alloc_zeros(2)?, stream.alloc_zeros(2)?);
    /// scanner.scan(together).on(&stream).columns().run_into((&amounts, &counts), (&mut sums, &mut most))?;
    /// assert_eq!((stream.clone_dtoh(&sums)?, stream.clone_dtoh(&most)?), (vec![1.0, 3.0], vec![3, 3]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn columns(self) -> DeviceColumnScan<'a, Op>
    where
        Op: ScanOp<Input: Columns, Output: Columns>,
    {
        DeviceColumnScan { scan: self.with_layouts(layouts::<Op>()) }
    }
}

impl<Op: ScanOp> DevicePrepared<Op> {
    /// A run by columns, of a handle that [`DeviceColumnScan::prepare`] has made.
    pub fn columns(&self) -> DeviceColumnScan<'_, Op>
    where
        Op: ScanOp<Input: Columns, Output: Columns>,
    {
        self.call().columns()
    }
}

impl<Op: ScanOp<Input: Columns, Output: Columns>> DeviceColumnScan<'_, Op> {
    /// As [`DeviceScan::prepare`], for runs by columns: those of [`DevicePrepared::columns`].
    ///
    /// # Errors
    ///
    /// As [`DeviceScan::prepare`].
    pub fn prepare(&self, max_len: usize) -> Result<DevicePrepared<Op>, Error> {
        self.scan.prepare(max_len)
    }

    /// As [`prepare`](DeviceColumnScan::prepare), for runs over arrays of the same kinds as these: slices, indices, and
    /// [others](crate::arrays). Their lengths do not matter.
    ///
    /// # Errors
    ///
    /// As [`DeviceScan::prepare`].
    pub fn prepare_like(
        &self,
        input: impl DeviceSources<<Op::Input as Columns>::Fields>,
        output: impl DeviceSinks<<Op::Output as Columns>::Fields>,
        max_len: usize,
    ) -> Result<DevicePrepared<Op>, Error> {
        self.prepare_for(input, output, Totals::None, max_len)
    }

    /// As [`prepare_like`](DeviceColumnScan::prepare_like), for runs that give the total, too.
    ///
    /// # Errors
    ///
    /// As [`DeviceScan::prepare_with_total`].
    pub fn prepare_like_with_total(
        &self,
        input: impl DeviceSources<<Op::Input as Columns>::Fields>,
        output: impl DeviceSinks<<Op::Output as Columns>::Fields>,
        max_len: usize,
    ) -> Result<DevicePrepared<Op>, Error> {
        self.prepare_for(input, output, Totals::Last, max_len)
    }

    fn prepare_for(
        &self,
        input: impl DeviceSources<<Op::Input as Columns>::Fields>,
        output: impl DeviceSinks<<Op::Output as Columns>::Fields>,
        totals: Totals,
        max_len: usize,
    ) -> Result<DevicePrepared<Op>, Error> {
        let (input, output) = (OfFields::new(input), OfFields::new(output));
        self.scan.call.prepare_for(&input, &output, totals, max_len).map(DevicePrepared::new)
    }

    /// As [`DeviceScan::prepare_with_total`], for runs by columns.
    ///
    /// # Errors
    ///
    /// As [`DeviceScan::prepare_with_total`].
    pub fn prepare_with_total(&self, max_len: usize) -> Result<DevicePrepared<Op>, Error> {
        self.scan.prepare_with_total(max_len)
    }

    /// As [`DeviceScan::prepare_with_totals`], for runs by columns.
    ///
    /// # Errors
    ///
    /// As [`DeviceScan::prepare_with_totals`].
    pub fn prepare_with_totals(&self, max_len: usize) -> Result<DevicePrepared<Op>, Error> {
        self.scan.prepare_with_totals(max_len)
    }

    /// Scans device slices or views into others of the same length. What has a place beyond the array that it is
    /// [scattered](crate::arrays::scatter_computed) to is not written, and no error: have the operator count what it places,
    /// and compare the total of [`run_into_with_total`](DeviceColumnScan::run_into_with_total) with the lengths.
    ///
    /// # Errors
    ///
    /// As [`DeviceScan::run_into`], [`Error::ColumnLength`] if the arrays of the input, or those of the output, are not
    /// of one length, [`Error::UnknownLength`] if none has a length, and [`Error::NothingToGather`].
    pub fn run_into(
        &self,
        input: impl DeviceSources<<Op::Input as Columns>::Fields>,
        output: impl DeviceSinks<<Op::Output as Columns>::Fields>,
    ) -> Result<(), Error> {
        self.run_all(input, output, DeviceTotals::None)
    }

    /// Scans device slices or views into others of the same length, and writes the total to `total`, as
    /// [`DeviceScan::run_into_with_total`] does.
    ///
    /// # Errors
    ///
    /// As [`run_into`](DeviceColumnScan::run_into), and those of [`DeviceScan::run_into_with_total`].
    pub fn run_into_with_total(
        &self,
        input: impl DeviceSources<<Op::Input as Columns>::Fields>,
        output: impl DeviceSinks<<Op::Output as Columns>::Fields>,
        total: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        self.run_all(input, output, DeviceTotals::Last(array_mut(total)))
    }

    /// Scans device slices or views into others of the same length, and writes the total of each segment to `totals`,
    /// as [`DeviceScan::run_into_with_totals`] does.
    ///
    /// # Errors
    ///
    /// As [`run_into`](DeviceColumnScan::run_into), and those of [`DeviceScan::run_into_with_totals`].
    pub fn run_into_with_totals(
        &self,
        input: impl DeviceSources<<Op::Input as Columns>::Fields>,
        output: impl DeviceSinks<<Op::Output as Columns>::Fields>,
        totals: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        self.run_all(input, output, DeviceTotals::PerSegment(array_mut(totals)))
    }

    fn run_all(
        &self,
        input: impl DeviceSources<<Op::Input as Columns>::Fields>,
        output: impl DeviceSinks<<Op::Output as Columns>::Fields>,
        totals: DeviceTotals<'_>,
    ) -> Result<(), Error> {
        self.scan.call.run(Some(&OfFields::new(input)), &mut OfFields::new(output), totals)
    }
}
