//! Scans and reductions of device memory on a stream: the one path from a call to its launches.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream};
use scan_codegen::Axis;

use super::{
    DeviceCall, DevicePrepared,
    arguments::{DeviceInput, DeviceOutput},
    arrays::{Of, array, array_mut},
    call::{DeviceInitial, DeviceTotals},
    handle::Handle,
    heads::DeviceHeads,
};
use crate::{
    DeviceBuffer, DeviceBufferMut, Error, Goal, HostHeads, LateValue, Prefixes, Scan, ScanElement, ScanOp, Totals,
    call, cuda::driver_error, scan::AxisLayout,
};

/// A scan or a reduction of device memory on a stream, made by [`Scan::on`], or a run of a [handle](DevicePrepared)
/// with what it brings. `by_flags`, `by_bits`, `by_keys`, `by_offsets`, `rows` and `along` choose the segments; the last call
/// counts.
///
/// Every method enqueues its work on the stream and returns: nothing is copied, and the host does not wait. Errors that
/// happen while the work runs are reported by the driver at a later call, such as the stream's `synchronize`; then
/// [`Scanner::check`](crate::Scanner::check) tells which operator is to blame, and so does the next scan.
#[must_use = "a scan does nothing until it is run"]
pub struct DeviceScan<'a, Op: ScanOp, G = Prefixes> {
    pub(crate) call: DeviceCall<'a>,
    of: PhantomData<fn() -> (Op, G)>,
}

impl<'a, Op: ScanOp, G: Goal> DeviceScan<'a, Op, G> {
    pub(crate) fn of<H: HostHeads>(scan: &'a Scan<Op, H, G>, stream: &'a Arc<CudaStream>) -> Self {
        let call = DeviceCall::new(scan.call(call::Totals::None), stream);
        let call = match &scan.along {
            Some(along) => call.along(along.clone()),
            None => call,
        };
        DeviceScan { call, of: PhantomData }
    }

    /// A run of a handle.
    pub(crate) fn of_handle(handle: &'a Handle) -> Self {
        DeviceScan { call: DeviceCall::of_handle(handle), of: PhantomData }
    }

    /// The last choice of segments counts.
    pub(crate) fn with_heads(self, heads: DeviceHeads<'a>) -> Self {
        DeviceScan { call: DeviceCall { heads, axis: None, ..self.call }, ..self }
    }

    fn with_initial(self, initial: DeviceInitial<'a>) -> Self {
        DeviceScan { call: DeviceCall { initial, ..self.call }, ..self }
    }

    /// Prepares runs like this one of up to `max_len` elements. Each brings what is said here before `prepare`, by the
    /// same words: other flags, bits, keys or offsets, other rows, another initial value in device memory. The lengths
    /// of what is given here do not matter.
    ///
    /// What a call does each time is then done once: the kernels are compiled and loaded, the operator's parameters and
    /// the initial value taken as they are now, the workspace allocated for as many elements as may come. A run checks
    /// the lengths and launches: it allocates no device memory, copies nothing, waits for nothing, and takes no lock
    /// that work on another stream could hold. Where the plan is a single launch and the length that of the run before,
    /// it allocates nothing on the host either.
    ///
    /// Other parameters of the operator, another initial value of the scan, stream or greater length need another
    /// handle.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let maxima = scanner.scan(ops::max()).on(&stream).prepare(1_000)?;
    /// let mut buffer = stream.clone_htod(&[2, 7, 1])?;
    /// for _ in 0..10 {
    ///     maxima.run_in_place(&mut buffer)?;
    /// }
    /// assert_eq!(stream.clone_dtoh(&buffer)?, [2, 7, 7]);
    ///
    /// let flags = stream.clone_htod(&[1_u8, 0, 0, 1, 0])?;
    /// let sums = scanner.scan(ops::sum()).on(&stream).by_flags(&flags).prepare(1_000)?;
    /// let mut buffer = stream.clone_htod(&[1, 2, 3, 4, 5])?;
    /// sums.by_flags(&flags).run_in_place(&mut buffer)?;
    /// assert_eq!(stream.clone_dtoh(&buffer)?, [1, 3, 6, 4, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotCuda`] on a CPU scanner, [`Error::ForeignContext`] if the stream is of another context,
    /// [`Error::Captured`] and [`Error::PerThreadStream`] if it is no stream to prepare on, [`Error::AlreadyPrepared`]
    /// for a run of a handle, [`Error::OutOfDeviceMemory`], and whatever else can go wrong.
    pub fn prepare(&self, max_len: usize) -> Result<DevicePrepared<Op, G>, Error> {
        self.call.prepare(call::Totals::None, max_len).map(DevicePrepared::new)
    }

    /// A slice of `len` elements.
    ///
    /// # Safety
    ///
    /// Nothing reads it before all of them have been written.
    unsafe fn room<T: ScanElement>(&self, len: usize) -> Result<CudaSlice<T>, Error> {
        let (device, stream) = (self.call.device()?, self.call.stream());
        match len {
            0 => stream.null().map_err(driver_error("allocating device memory")),
            // SAFETY: the caller vouches for it.
            len => unsafe { device.slice(stream, len) },
        }
    }

    /// How many results a new output has.
    fn new_len(&self, input: &impl DeviceInput<Op::Input>) -> Result<usize, Error> {
        self.call.new_len(Of::<Op::Input, _>::from_ref(input))
    }

    fn run_all(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
        totals: DeviceTotals<'_>,
    ) -> Result<(), Error> {
        self.call.run(Some(&Of::<Op::Input, _>::new(input)), &mut Of::<Op::Output, _>::new(output), totals)
    }
}

/// Ways to run a scan.
impl<'a, Op: ScanOp> DeviceScan<'a, Op> {
    /// Scans an array along an axis: each column, whose elements follow each other along the axis, as if it were all of
    /// the input. See [`Scan::axis`]. It takes the place of other segments.
    ///
    /// ```no_run
    /// use scan_runtime::{Axis, Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let matrix = stream.clone_htod(&[1, 2, 3, 4, 5, 6])?;
    /// let down = Axis::of(&[2, 3], 0)?;
    /// let sums = scanner.scan(ops::sum()).on(&stream).along(down).run(&matrix)?;
    /// assert_eq!(stream.clone_dtoh(&sums)?, [1, 2, 3, 5, 7, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A run gives [`Error::AxisLength`] if an array has another number of elements than the shape,
    /// [`Error::AxisInPlace`] in place if the axis has other strides of the results than of the elements,
    /// [`Error::StridedLength`] and [`AxisError::Strides`](crate::AxisError::Strides) for
    /// [strides](crate::arrays::device_strided) of an array, and [`Error::Plan`] for arrays that are gathered,
    /// scattered, or indices, unless the columns are rows and no array has strides of its own.
    pub fn along(self, axis: Axis) -> Self {
        DeviceScan { call: self.call.along(Arc::new(AxisLayout::new(axis))), ..self }
    }

    /// Puts a value before the first element (of each segment, in a scan that restarts) that is in device memory when
    /// the scan runs, in a slice of one element: what an earlier kernel on the stream has computed, or the total of the
    /// chunk before. It takes the place of the scan's own [initial value](Scan::init).
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let sums = scanner.scan(ops::sum::<u64>());
    /// let (mut before, mut after) = (stream.clone_htod(&[0])?, stream.clone_htod(&[0])?);
    /// let mut chunks = Vec::new();
    /// for chunk in [[1_u64, 2, 3], [4, 5, 6]] {
    ///     let (input, mut output) = (stream.clone_htod(&chunk)?, stream.alloc_zeros(3)?);
    ///     sums.on(&stream).init_from(&before).run_into_with_total(&input, &mut output, &mut after)?;
    ///     std::mem::swap(&mut before, &mut after);
    ///     chunks.push(stream.clone_dtoh(&output)?);
    /// }
    /// assert_eq!(chunks, [[1, 3, 6], [10, 15, 21]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The run gives [`Error::Length`] if the slice is not of one element.
    pub fn init_from(self, value: &'a impl DeviceBuffer<Op::Carry>) -> Self {
        self.with_initial(DeviceInitial::One(array(value)))
    }

    /// Puts a value before the first element that another stream, another device or the host writes while the scan
    /// runs, as [`LateValue`] says. The tiles are folded meanwhile, as many as there is room for. It takes the place of
    /// the scan's own [initial value](Scan::init).
    ///
    /// ```no_run
    /// use scan_runtime::{LateValue, Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let maxima = scanner.scan(ops::max()).on(&stream).init_late(&LateValue::new(&stream)?).prepare(1_000)?;
    /// let (before, mut buffer) = (LateValue::new(&stream)?, stream.clone_htod(&[2, 7, 1])?);
    /// maxima.init_late(&before).run_in_place(&mut buffer)?;
    /// before.write(5)?;
    /// assert_eq!(stream.clone_dtoh(&buffer)?, [5, 7, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The run gives [`Error::LateValueStream`] if the value is for another stream, [`Error::LateValueOfNothing`] for
    /// no elements, and [`PlanError::LateValue`](crate::PlanError::LateValue) for a scan that restarts, of a length in
    /// device memory, or with an operator that goes from carry to carry.
    pub fn init_late(self, value: &'a LateValue<Op::Carry>) -> Self {
        self.with_initial(DeviceInitial::Late(value))
    }

    /// As [`Scan::init_each`], with values that are read from device memory when the scan runs. Offsets that do not go
    /// from 0 to the length of the input give unspecified results. For chunks see
    /// [`run_into_with_totals`](DeviceScan::run_into_with_totals).
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let (mut matrix, before) = (stream.clone_htod(&[1, 2, 3, 10, 20, 30])?, stream.clone_htod(&[100, 0])?);
    /// scanner.scan(ops::sum()).on(&stream).rows(3).init_each(&before).run_in_place(&mut matrix)?;
    /// assert_eq!(stream.clone_dtoh(&matrix)?, [101, 103, 106, 10, 30, 60]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The run gives [`Error::Length`] if there is not one value for each segment, and the errors of
    /// [`Scan::init_each`].
    pub fn init_each(self, values: &'a impl DeviceBuffer<Op::Carry>) -> Self {
        self.with_initial(DeviceInitial::Each(array(values)))
    }

    /// Scans as many elements as a number in device memory says when the scan runs, in a slice of one: what an earlier
    /// kernel on the stream has counted, or what a graph finds anew at each launch. There are at most as many as the
    /// input has; the results behind them stay what they are, and a reversed scan begins at the last of them. Of rows
    /// only whole ones are scanned. The total is that of these elements. As many launches are made as for the whole
    /// input.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let (input, len) = (stream.clone_htod(&[1, 2, 3, 4])?, stream.clone_htod(&[3_u64])?);
    /// let mut output = stream.clone_htod(&[9; 4])?;
    /// scanner.scan(ops::sum()).on(&stream).len_from(&len).run_into(&input, &mut output)?;
    /// assert_eq!(stream.clone_dtoh(&output)?, [1, 3, 6, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The run gives [`Error::Length`] if the slice is not of one element, [`Error::LengthOnDevice`] where it would
    /// make the output, and [`PlanError::NoIdentity`](crate::PlanError::NoIdentity) for a total where nothing tells
    /// that of no elements.
    pub fn len_from(self, len: &'a impl DeviceBuffer<u64>) -> Self {
        DeviceScan { call: DeviceCall { len: Some(array(len)), ..self.call }, ..self }
    }

    /// Prepares runs over arrays of the same kinds as these: slices, indices, and [others](crate::arrays), one, or one
    /// for each field. Their lengths do not matter. [`prepare`](DeviceScan::prepare) is for one slice of elements and
    /// one of results.
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
    /// let scan = scanner.scan(together);
    /// let handle = scan.on(&stream).prepare_like((&amounts, &counts), (&mut sums, &mut most), 1_000)?;
    /// handle.run_into((&amounts, &counts), (&mut sums, &mut most))?;
    /// assert_eq!((stream.clone_dtoh(&sums)?, stream.clone_dtoh(&most)?), (vec![1.0, 3.0], vec![3, 3]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`prepare`](DeviceScan::prepare).
    pub fn prepare_like(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
        max_len: usize,
    ) -> Result<DevicePrepared<Op>, Error> {
        self.prepare_for(input, output, call::Totals::None, max_len)
    }

    /// The same for runs that give the total, too: those whose names end in `with_total`.
    ///
    /// # Errors
    ///
    /// As [`prepare`](DeviceScan::prepare).
    pub fn prepare_like_with_total(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
        max_len: usize,
    ) -> Result<DevicePrepared<Op>, Error> {
        self.prepare_for(input, output, call::Totals::Last, max_len)
    }

    /// The same for runs that give the total of each segment or column, too: those whose names end in `with_totals`.
    ///
    /// # Errors
    ///
    /// As [`prepare_with_totals`](DeviceScan::prepare_with_totals).
    pub fn prepare_like_with_totals(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
        max_len: usize,
    ) -> Result<DevicePrepared<Op>, Error> {
        self.prepare_for(input, output, call::Totals::PerSegment, max_len)
    }

    fn prepare_for(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
        totals: call::Totals,
        max_len: usize,
    ) -> Result<DevicePrepared<Op>, Error> {
        let (input, output) = (Of::<Op::Input, _>::new(input), Of::<Op::Output, _>::new(output));
        self.call.prepare_like(&input, &output, totals, max_len).map(DevicePrepared::new)
    }

    /// As [`prepare`](DeviceScan::prepare), for runs that give the total, too: those whose names end in `with_total`.
    ///
    /// # Errors
    ///
    /// As [`prepare`](DeviceScan::prepare).
    pub fn prepare_with_total(&self, max_len: usize) -> Result<DevicePrepared<Op>, Error> {
        self.call.prepare(call::Totals::Last, max_len).map(DevicePrepared::new)
    }

    /// As [`prepare`](DeviceScan::prepare), for runs that give the total of each segment, too: those whose names end in
    /// `with_totals`.
    ///
    /// # Errors
    ///
    /// As [`prepare`](DeviceScan::prepare), and [`PlanError::NoSegmentIndex`](crate::PlanError::NoSegmentIndex) by
    /// flags, bits and keys.
    pub fn prepare_with_totals(&self, max_len: usize) -> Result<DevicePrepared<Op>, Error> {
        self.call.prepare(call::Totals::PerSegment, max_len).map(DevicePrepared::new)
    }

    /// Scans a device slice or view into a new slice.
    ///
    /// # Errors
    ///
    /// [`Error::NotCuda`] on a CPU scanner, [`Error::ForeignContext`] if the stream or a buffer are of another context,
    /// [`Error::Length`] if there are more or fewer flags, bits or keys than the input requires,
    /// [`Error::OutOfDeviceMemory`], and whatever else can go wrong.
    pub fn run(&self, input: impl DeviceInput<Op::Input>) -> Result<CudaSlice<Op::Output>, Error> {
        let len = self.new_len(&input)?;
        // SAFETY: the scan writes every element of the output.
        let mut output = unsafe { self.room(len)? };
        self.run_all(input, &mut output, DeviceTotals::None)?;
        Ok(output)
    }

    /// Scans a device slice or view into another of the same length.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceScan::run), and [`Error::Length`] if the lengths differ.
    pub fn run_into(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
    ) -> Result<(), Error> {
        self.run_all(input, output, DeviceTotals::None)
    }

    /// Scans a device slice or view in place.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceScan::run).
    pub fn run_in_place<T>(&self, buffer: &mut impl DeviceBufferMut<T>) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.call.run(None, &mut Of::<T, _>::new(buffer), DeviceTotals::None)
    }

    /// Scans a device slice or view into a new slice, and puts the total into another one, of one element. Both come
    /// from the same launches. The total is that of [`Scan::run_with_total`]: without elements the initial value, or
    /// else `None`.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceScan::run).
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_total(
        &self,
        input: impl DeviceInput<Op::Input>,
    ) -> Result<(CudaSlice<Op::Output>, Option<CudaSlice<Op::Carry>>), Error> {
        let len = self.new_len(&input)?;
        if len == 0 && !self.call.has_initial() {
            return Ok((self.run(input)?, None));
        }
        // SAFETY: the scan writes every element of both.
        let (mut output, mut total) = unsafe { (self.room(len)?, self.room(1)?) };
        self.run_all(input, &mut output, DeviceTotals::Last(array_mut(&mut total)))?;
        Ok((output, Some(total)))
    }

    /// Scans a device slice or view into another of the same length, and writes the total to `total`, which has one
    /// element. The total is that of [`Scan::run_with_total`]. Where that gives `None`, without elements and initial
    /// value, the identity or `START` is written, as for an empty segment in
    /// [`run_into_with_totals`](DeviceScan::run_into_with_totals).
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let input = stream.clone_htod(&[3_u32, 0, 4])?;
    /// let (mut starts, mut len) = (stream.alloc_zeros(3)?, stream.alloc_zeros(1)?);
    /// scanner.scan(ops::sum()).exclusive().on(&stream).run_into_with_total(&input, &mut starts, &mut len)?;
    /// assert_eq!((stream.clone_dtoh(&starts)?, stream.clone_dtoh(&len)?), (vec![0, 3, 3], vec![7]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Two views of one slice get `n + 1` offsets from `n` counts:
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let counts = stream.clone_htod(&[3_u32, 0, 4])?;
    /// let mut offsets = stream.alloc_zeros(4)?;
    /// let (mut begins, mut end) = offsets.split_at_mut(3);
    /// scanner.scan(ops::sum()).exclusive().on(&stream).run_into_with_total(&counts, &mut begins, &mut end)?;
    /// assert_eq!(stream.clone_dtoh(&offsets)?, [0, 3, 3, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_into`](DeviceScan::run_into), [`Error::Length`] if the total is not one element, and
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) for no elements, no initial value and no identity.
    pub fn run_into_with_total(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
        total: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        self.run_all(input, output, DeviceTotals::Last(array_mut(total)))
    }

    /// Scans a device slice or view in place, and writes the total to `total`, as
    /// [`run_into_with_total`](DeviceScan::run_into_with_total) does.
    ///
    /// # Errors
    ///
    /// As [`run_into_with_total`](DeviceScan::run_into_with_total).
    pub fn run_in_place_with_total<T>(
        &self,
        buffer: &mut impl DeviceBufferMut<T>,
        total: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.call.run(None, &mut Of::<T, _>::new(buffer), DeviceTotals::Last(array_mut(total)))
    }

    /// Scans a device slice or view into a new slice, and puts the total of each segment into another one, as
    /// [`run_into_with_totals`](DeviceScan::run_into_with_totals) does.
    ///
    /// # Errors
    ///
    /// As [`run_into_with_totals`](DeviceScan::run_into_with_totals).
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_totals(
        &self,
        input: impl DeviceInput<Op::Input>,
    ) -> Result<(CudaSlice<Op::Output>, CudaSlice<Op::Carry>), Error> {
        let len = self.new_len(&input)?;
        let count = self.call.per_segment(len)?;
        // SAFETY: the scan writes every element of both, but for totals by offsets that do not ascend, which are
        // written before it.
        let (mut output, mut totals) = unsafe { (self.room(len)?, self.room(count)?) };
        if self.call.heads.has_offsets() {
            self.call.write_totals_of_nothing(array_mut(&mut totals))?;
        }
        self.run_all(input, &mut output, DeviceTotals::PerSegment(array_mut(&mut totals)))?;
        Ok((output, totals))
    }

    /// Scans a device slice or view into another of the same length, and writes the total of each segment to `totals`,
    /// as [`Scan::run_with_totals`] gives it. Offsets that do not go from 0 to the length of the input give unspecified
    /// totals. Where only the device [knows the length](DeviceScan::len_from), the totals of rows behind it stay what
    /// they are.
    ///
    /// The totals of a chunk are the [initial values](DeviceScan::init_each) of the next one:
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let sums = scanner.scan(ops::sum::<u64>());
    /// let mut before = stream.clone_htod(&[0, 100])?; // of two rows
    /// for chunk in [[1, 2, 3, 1, 2, 3], [4, 5, 6, 4, 5, 6]] {
    ///     let (input, mut output) = (stream.clone_htod(&chunk)?, stream.alloc_zeros(6)?);
    ///     let mut after = stream.alloc_zeros(2)?;
    ///     sums.on(&stream).rows(3).init_each(&before).run_into_with_totals(&input, &mut output, &mut after)?;
    ///     before = after;
    /// }
    /// assert_eq!(stream.clone_dtoh(&before)?, [21, 121]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_into`](DeviceScan::run_into), and those of [`Scan::run_into_with_totals`].
    pub fn run_into_with_totals(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
        totals: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        self.run_all(input, output, DeviceTotals::PerSegment(array_mut(totals)))
    }

    /// Scans a device slice or view in place, and writes the total of each segment, as
    /// [`run_into_with_totals`](DeviceScan::run_into_with_totals) does.
    ///
    /// # Errors
    ///
    /// As [`run_into_with_totals`](DeviceScan::run_into_with_totals).
    pub fn run_in_place_with_totals<T>(
        &self,
        buffer: &mut impl DeviceBufferMut<T>,
        totals: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.call.run(None, &mut Of::<T, _>::new(buffer), DeviceTotals::PerSegment(array_mut(totals)))
    }
}

/// Ways to reduce.
impl<Op: ScanOp> DeviceScan<'_, Op, Totals> {
    /// Reduces a device slice or view into a new slice: of one element, or by rows and offsets of one for each segment.
    /// The total of no elements is the initial value, or else the identity.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let input = stream.clone_htod(&[2, 7, 1, 3])?;
    /// let largest = scanner.reduce(ops::max());
    /// assert_eq!(stream.clone_dtoh(&largest.on(&stream).run(&input)?)?, [7]);
    /// assert_eq!(stream.clone_dtoh(&largest.on(&stream).rows(2).run(&input)?)?, [7, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotCuda`] on a CPU scanner, [`Error::ForeignContext`] if the stream or a buffer are of another context,
    /// [`Error::UnknownSegments`] by flags, bits or keys, [`PlanError::NoElements`](crate::PlanError::NoElements) for
    /// no elements, and by offsets, without an initial value and an identity, [`Error::OutOfDeviceMemory`], and
    /// whatever else can go wrong.
    pub fn run(&self, input: impl DeviceInput<Op::Input>) -> Result<CudaSlice<Op::Output>, Error> {
        let len = self.new_len(&input)?;
        // SAFETY: the reduction writes every element of the output.
        let mut output = unsafe { self.room(len)? };
        self.run_into(input, &mut output)?;
        Ok(output)
    }

    /// Reduces a device slice or view into a slice or view of as many elements as there are results: one, or by rows
    /// and offsets one for each segment.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceScan::run), and [`Error::Length`] if the output has another length.
    pub fn run_into(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
    ) -> Result<(), Error> {
        self.run_all(input, output, DeviceTotals::None)
    }

    /// Reduces each segment that flags, bits or keys tell, and writes the results, in the order of the segments, to the
    /// beginning of `output`, and the number of segments to `count`, which has one element. Only the device knows that
    /// number. Where the output is shorter, the results behind its end are left out.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let shops = stream.clone_htod(&[7_u64, 7, 8, 8, 8, 7])?;
    /// let prices = stream.clone_htod(&[5, 2, 9, 1, 4, 3])?;
    /// let (mut lowest, mut count) = (stream.alloc_zeros(6)?, stream.alloc_zeros::<u64>(1)?);
    /// scanner.reduce(ops::min()).on(&stream).by_keys(&shops).run_into_with_count(&prices, &mut lowest, &mut count)?;
    /// let count = stream.clone_dtoh(&count)?[0] as usize;
    /// assert_eq!(stream.clone_dtoh(&lowest.slice(..count))?, [2, 1, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceScan::run), [`Error::KnownSegments`] for other segments, and [`Error::Length`] if the
    /// count is not one element.
    pub fn run_into_with_count(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
        count: &mut impl DeviceBufferMut<u64>,
    ) -> Result<(), Error> {
        self.run_all(input, output, DeviceTotals::Count(array_mut(count)))
    }
}
