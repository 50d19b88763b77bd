//! Scans of arrays in device memory.

use scan_codegen::{ArrayKind, ArrayKinds};

use super::{
    Columns, Lengths, common_len,
    kinds::{Described, Words},
    layouts,
    tuples::{DeviceSinks, DeviceSources},
};
use crate::{
    DeviceBufferMut, DevicePrepared, DeviceScan, Error, ScanOp,
    cuda::{CudaDevice, InOut},
    device_scan::{DeviceTotals, Total, side_output},
    few::Few,
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
        DeviceScan::of_prepared(self).columns()
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
        self.like(&input, &output).prepare(max_len)
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
        self.like(&input, &output).prepare_with_total(max_len)
    }

    /// The scan of arrays of these kinds.
    fn like(
        &self,
        input: &impl DeviceSources<<Op::Input as Columns>::Fields>,
        output: &impl DeviceSinks<<Op::Output as Columns>::Fields>,
    ) -> DeviceScan<'_, Op> {
        let (mut inputs, mut outputs) = (Few::<ArrayKind>::default(), Few::<ArrayKind>::default());
        input.describe(&mut |array| inputs.push(array.kind));
        output.describe(&mut |array| outputs.push(array.kind));
        let [inputs, outputs] = [inputs, outputs].map(|kinds| ArrayKinds::new(kinds.iter().copied()));
        self.scan.with_kinds(inputs, outputs)
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
        self.run_all(input, output, DeviceTotals::Last(total))
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
        self.run_all(input, output, DeviceTotals::Each(totals))
    }

    fn run_all(
        &self,
        input: impl DeviceSources<<Op::Input as Columns>::Fields>,
        mut output: impl DeviceSinks<<Op::Output as Columns>::Fields>,
        total: Total<'_, Op>,
    ) -> Result<(), Error> {
        let device = self.scan.device()?;
        let (mut inputs, mut outputs) = (Arrays::of("input"), Arrays::of("output"));
        input.describe(&mut |array| inputs.add(device, array));
        output.describe(&mut |array| outputs.add(device, array));
        let (inputs, outputs) = (inputs.checked()?, outputs.checked()?);
        let scan = self.scan.with_kinds(inputs.kinds, outputs.kinds);
        let len = common_len(inputs.len, outputs.len)?;
        scan.check_run(len, len, side_output(&total))?;
        if len == 0 {
            return scan.write_totals_of_nothing(total);
        }
        if let Some(array) = inputs.empty {
            return Err(Error::NothingToGather { array });
        }
        // The guards record the events by which cudarc orders work on several streams, once the launches are made.
        let (mut reading, mut writing, stream) = (Words::of_rows(scan.row()), Words::new(), scan.stream());
        input.words(stream, &mut reading);
        output.words(stream, &mut writing);
        let buffers = InOut { input: reading.words(), output: writing.words(), len: len as u64, columns: None };
        let also = total.also();
        let total = total.buffer().map(|total| total.device_ptr_mut(stream));
        // SAFETY: the buffers are borrowed from live slices: of `len` items, of as many places, or of as many items as
        // places can be among. Those of the output are borrowed exclusively, so that none overlaps another one. They
        // are the arrays of the layouts.
        unsafe { scan.enqueue_at(buffers, len as u64, also, total.as_ref().map_or(0, |(pointer, _writing)| *pointer)) }
    }
}

/// What is found of the arrays of an input or of an output.
pub(super) struct Arrays<'s> {
    what: &'static str,
    lengths: Lengths,
    kinds: Few<ArrayKind>,
    /// Those with strides of their own: which ones, their items, and the strides.
    strided: Few<(usize, usize, &'s [usize])>,
    /// The first array that has places among no items.
    empty: Option<usize>,
    foreign: Option<Error>,
}

/// The same where nothing is wrong.
pub(super) struct Checked<'s> {
    pub(super) len: Option<usize>,
    pub(super) strided: Few<(usize, usize, &'s [usize])>,
    pub(super) kinds: ArrayKinds,
    pub(super) empty: Option<usize>,
}

impl<'s> Arrays<'s> {
    pub(super) fn of(what: &'static str) -> Self {
        let (kinds, strided) = (Few::default(), Few::default());
        Arrays { what, lengths: Lengths::of(what), kinds, strided, empty: None, foreign: None }
    }

    pub(super) fn add(&mut self, device: &CudaDevice, array: Described<'s>) {
        if array.kind == ArrayKind::Strided {
            self.strided.push((self.kinds.len(), array.count, array.strides));
        }
        if array.count == 0 && matches!(array.kind, ArrayKind::Places(_)) {
            self.empty.get_or_insert(self.kinds.len());
        }
        self.kinds.push(array.kind);
        self.lengths.add(array.len);
        for stream in array.streams.into_iter().flatten() {
            let checked = device.check_context(self.what, stream);
            self.foreign = self.foreign.take().or(checked.err());
        }
    }

    pub(super) fn checked(self) -> Result<Checked<'s>, Error> {
        self.foreign.map_or(Ok(()), Err)?;
        let kinds = ArrayKinds::new(self.kinds.iter().copied());
        Ok(Checked { len: self.lengths.len()?, strided: self.strided, kinds, empty: self.empty })
    }
}
