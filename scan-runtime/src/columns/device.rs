//! Scans of arrays in device memory.

use super::{Columns, DeviceSlices, DeviceSlicesMut, Fields, Lengths, layouts};
use crate::{
    DeviceBufferMut, DevicePrepared, DeviceScan, Error, ScanOp,
    cuda::InOut,
    device_scan::{Total, told},
    few::{Few, MOST_ARRAYS},
};

/// A scan of device memory whose input and output have an array for each field of an element, made by
/// [`DeviceScan::columns`], or a run of a [handle](DevicePrepared::columns). It is to a [`DeviceScan`] as
/// [`ColumnScan`](super::ColumnScan) is to a [`Scan`](crate::Scan).
#[must_use = "a scan does nothing until it is run"]
pub struct DeviceColumnScan<'a, Op: ScanOp> {
    scan: DeviceScan<'a, Op>,
}

impl<'a, Op: ScanOp<Input: Columns, Output: Columns>> DeviceScan<'a, Op> {
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
    pub fn columns(self) -> DeviceColumnScan<'a, Op> {
        DeviceColumnScan { scan: self.with_layouts(layouts::<Op>()) }
    }
}

impl<Op: ScanOp<Input: Columns, Output: Columns>> DevicePrepared<Op> {
    /// A run by columns, of a handle that [`DeviceColumnScan::prepare`] has made.
    pub fn columns(&self) -> DeviceColumnScan<'_, Op> {
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

    /// As [`DeviceScan::prepare_with_total`], for runs by columns.
    ///
    /// # Errors
    ///
    /// As [`DeviceScan::prepare_with_total`].
    pub fn prepare_with_total(&self, max_len: usize) -> Result<DevicePrepared<Op>, Error> {
        self.scan.prepare_with_total(max_len)
    }

    /// Scans device slices or views into others of the same length.
    ///
    /// # Errors
    ///
    /// As [`DeviceScan::run_into`], and [`Error::ColumnLength`] if the arrays of the input, or those of the output, are
    /// not of one length.
    pub fn run_into(
        &self,
        input: DeviceSlices<'_, Op::Input>,
        output: DeviceSlicesMut<'_, Op::Output>,
    ) -> Result<(), Error> {
        self.run(input, output, None)
    }

    /// Scans device slices or views into others of the same length, and writes the total to `total`, as
    /// [`DeviceScan::run_into_with_total`] does.
    ///
    /// # Errors
    ///
    /// As [`run_into`](DeviceColumnScan::run_into), and those of [`DeviceScan::run_into_with_total`].
    pub fn run_into_with_total(
        &self,
        input: DeviceSlices<'_, Op::Input>,
        output: DeviceSlicesMut<'_, Op::Output>,
        total: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        self.run(input, output, Some(total))
    }

    fn run(
        &self,
        input: DeviceSlices<'_, Op::Input>,
        mut output: DeviceSlicesMut<'_, Op::Output>,
        total: Total<'_, Op>,
    ) -> Result<(), Error> {
        let scan = &self.scan;
        let device = scan.device()?;
        let (mut inputs, mut outputs) = (Lengths::of("input"), Lengths::of("output"));
        let mut foreign = None;
        <Op::Input as Columns>::Fields::device_arrays(&input, &mut |array| {
            inputs.add(array.items());
            foreign = device.check_context("input", array.stream()).err().or(foreign.take());
        });
        <Op::Output as Columns>::Fields::device_arrays_mut(&mut output, &mut |array| {
            outputs.add(array.items());
            foreign = foreign.take().or(device.check_context("output", array.stream()).err());
        });
        foreign.map_or(Ok(()), Err)?;
        let len = inputs.len()?;
        scan.check_run(len, outputs.len()?, told(&total))?;
        if len == 0 {
            return scan.write_total_of_nothing(total);
        }
        // The guards record the events by which cudarc orders work on several streams, once the launches are made.
        let (mut reading, mut writing) = ([const { None }; MOST_ARRAYS], [const { None }; MOST_ARRAYS]);
        let mut buffers = InOut { input: Few::default(), output: Few::default(), len: len as u64, columns: None };
        let (mut free, stream) = (reading.iter_mut(), scan.stream());
        <Op::Input as Columns>::Fields::device_arrays(&input, &mut |array| {
            let (pointer, guard) = array.pointer(stream);
            buffers.input.push(pointer);
            if let Some(place) = free.next() {
                *place = Some(guard);
            }
        });
        let mut free = writing.iter_mut();
        <Op::Output as Columns>::Fields::device_arrays_mut(&mut output, &mut |array| {
            let (pointer, guard) = array.pointer(stream);
            buffers.output.push(pointer);
            if let Some(place) = free.next() {
                *place = Some(guard);
            }
        });
        let total = total.map(|total| total.device_ptr_mut(stream));
        // SAFETY: the buffers are borrowed from live slices of `len` items, those of the output exclusively, so that no
        // two of them overlap. They are the arrays of the layouts.
        unsafe { scan.enqueue_at(buffers, len as u64, total.as_ref().map_or(0, |(pointer, _writing)| *pointer)) }
    }
}
