//! Ways to run over device memory on a stream.

use cudarc::driver::CudaSlice;

use super::{
    arguments::{DeviceInput, DeviceOutput},
    arrays::{Of, array, array_mut},
    call::{DeviceInitial, DeviceTotals, Extra},
};
use crate::{
    Device, DeviceBuffer, DeviceBufferMut, DeviceCall, Error, LateValue, Outcome, Prepared, Results, Run, ScanElement,
    ScanOp, Totals,
    cuda::driver_error,
    run::{Lent, Place},
};

/// New results, with the totals that `R` gives.
type DeviceResult<R, Op> = Result<
    <R as Results>::With<CudaSlice<<Op as ScanOp>::Output>, <R as Results>::Totals<Device, <Op as ScanOp>::Carry>>,
    Error,
>;

impl<'a, Op: ScanOp, R: Outcome> Run<'a, Op, Device, R> {
    fn with_initial<'b>(self, initial: DeviceInitial<'b>) -> Run<'b, Op, Device, R>
    where
        'a: 'b,
    {
        Run::new(DeviceCall { initial, ..self.call })
    }

    /// Prepares runs like this one of up to `max_len` elements, over one slice of elements and one of results; see
    /// [`Prepared`]. The lengths of the arrays given here do not matter.
    ///
    /// # Errors
    ///
    /// [`Error::NotCuda`] on a CPU scanner, [`Error::ForeignContext`] if the stream is of another context,
    /// [`Error::Captured`] and [`Error::PerThreadStream`] if it is no stream to prepare on, [`Error::AlreadyPrepared`]
    /// for a run of a handle, [`PlanError::NoSegmentIndex`](crate::PlanError::NoSegmentIndex) for totals by flags, bits
    /// and keys, [`Error::OutOfDeviceMemory`], and whatever else can go wrong.
    pub fn prepare(&self, max_len: usize) -> Result<Prepared<Op, Device, R::OfHandle>, Error> {
        self.call.prepare(R::TOTALS, max_len).map(Prepared::new)
    }

    /// Prepares runs over arrays of the same kinds as these: slices, indices, and [others](crate::arrays), one, or one
    /// for each field. Their lengths do not matter. [`prepare`](Run::prepare) is for one slice of elements and
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
    /// As [`prepare`](Run::prepare).
    pub fn prepare_like(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
        max_len: usize,
    ) -> Result<Prepared<Op, Device, R::OfHandle>, Error> {
        let (input, output) = (Of::<Op::Input, _>::new(input), Of::<Op::Output, _>::new(output));
        self.call.prepare_like(&input, &output, R::TOTALS, max_len).map(Prepared::new)
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

    fn run_all(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
        totals: DeviceTotals<'_>,
    ) -> Result<(), Error> {
        self.call.run(Some(&Of::<Op::Input, _>::new(input)), &mut Of::<Op::Output, _>::new(output), totals)
    }
}

/// Words of scans of device memory.
impl<'a, Op: ScanOp, R: Results> Run<'a, Op, Device, R> {
    /// Puts a value before the first element (of each segment, in a scan that restarts) that is in device memory when
    /// the scan runs, in a slice of one element: what an earlier kernel on the stream has computed, or the total of the
    /// chunk before. It takes the place of the scan's own [initial value](crate::Scan::init).
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
    ///     sums.on(&stream).init_from(&before).total_into(&mut after).run_into(&input, &mut output)?;
    ///     std::mem::swap(&mut before, &mut after);
    ///     chunks.push(stream.clone_dtoh(&output)?);
    /// }
    /// assert_eq!(chunks, [[1, 3, 6], [10, 15, 21]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The run gives [`Error::Length`] if the slice is not of one element.
    pub fn init_from<'b>(self, value: &'b impl DeviceBuffer<Op::Carry>) -> Run<'b, Op, Device, R>
    where
        'a: 'b,
    {
        self.with_initial(DeviceInitial::One(array(value)))
    }

    /// Puts a value before the first element that another stream, another device or the host writes while the scan
    /// runs, as [`LateValue`] says. The tiles are folded meanwhile, as many as there is room for. It takes the place of
    /// the scan's own [initial value](crate::Scan::init).
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
    pub fn init_late<'b>(self, value: &'b LateValue<Op::Carry>) -> Run<'b, Op, Device, R>
    where
        'a: 'b,
    {
        self.with_initial(DeviceInitial::Late(value))
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
    pub fn len_from<'b>(self, len: &'b impl DeviceBuffer<u64>) -> Run<'b, Op, Device, R>
    where
        'a: 'b,
    {
        Run::new(DeviceCall { len: Some(array(len)), ..self.call })
    }

    /// Writes the total, as [`with_total`](Run::with_total) gives it, to a slice of one element. Where there is none,
    /// without elements and initial value, the identity or `START` is written, as for an empty segment in
    /// [`totals_into`](Run::totals_into).
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let input = stream.clone_htod(&[3_u32, 0, 4])?;
    /// let (mut starts, mut len) = (stream.alloc_zeros(3)?, stream.alloc_zeros(1)?);
    /// scanner.scan(ops::sum()).exclusive().on(&stream).total_into(&mut len).run_into(&input, &mut starts)?;
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
    /// scanner.scan(ops::sum()).exclusive().on(&stream).total_into(&mut end).run_into(&counts, &mut begins)?;
    /// assert_eq!(stream.clone_dtoh(&offsets)?, [0, 3, 3, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A run gives [`Error::Length`] if the total is not one element, and
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) for no elements, no initial value and no identity.
    pub fn total_into<'b>(self, total: &'b mut impl DeviceBufferMut<Op::Carry>) -> Run<'b, Op, Device>
    where
        'a: 'b,
    {
        Run::new(DeviceCall { extra: Some((Extra::Total, Lent::new(array_mut(total)))), ..self.call })
    }
}

/// Ways to scan device memory. Each enqueues its work on the stream, and gives the totals that are asked for in new
/// slices.
///
/// # Errors
///
/// [`Error::NotCuda`] on a CPU scanner, [`Error::ForeignContext`] if the stream or a buffer are of another context,
/// [`Error::Length`] for arrays of other lengths than the input requires, [`Error::OutOfDeviceMemory`], and whatever
/// else can go wrong. Along an axis [`Error::AxisLength`] if an array has another number of elements than the shape,
/// [`Error::AxisInPlace`] in place if the axis has other strides of the results than of the elements,
/// [`Error::StridedLength`] and [`AxisError::Strides`](crate::AxisError::Strides) for
/// [strides](crate::arrays::device_strided) of an array, and [`Error::Plan`] for arrays that are gathered, scattered,
/// or indices, unless the columns are rows and no array has strides of its own.
#[allow(clippy::missing_errors_doc, reason = "above, for all of them")]
impl<Op: ScanOp, R: Results> Run<'_, Op, Device, R> {
    /// Scans an input into a new slice.
    pub fn run(&self, input: impl DeviceInput<Op::Input>) -> DeviceResult<R, Op> {
        let len = self.call.new_len(Of::<Op::Input, _>::from_ref(&input))?;
        // SAFETY: the scan writes every element of the output.
        let mut output = unsafe { self.room(len)? };
        let totals = self.running(|| Ok(len), |totals| self.run_all(input, &mut output, totals))?;
        Ok(R::with(output, totals))
    }

    /// Scans an input into an output of the same length.
    pub fn run_into(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
    ) -> Result<R::Totals<Device, Op::Carry>, Error> {
        let input = Of::<Op::Input, _>::new(input);
        let len = || self.call.len_of(&input);
        self.running(len, |totals| self.call.run(Some(&input), &mut Of::<Op::Output, _>::new(output), totals))
    }

    /// Scans a device slice or view in place.
    pub fn run_in_place<T>(&self, buffer: &mut impl DeviceBufferMut<T>) -> Result<R::Totals<Device, Op::Carry>, Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        let len = buffer.len();
        self.running(|| Ok(len), |totals| self.call.run(None, &mut Of::<T, _>::new(buffer), totals))
    }

    /// Runs with the totals that `R` gives, or that the caller has memory for.
    fn running(
        &self,
        len: impl Fn() -> Result<usize, Error>,
        run: impl FnOnce(DeviceTotals<'_>) -> Result<(), Error>,
    ) -> Result<R::Totals<Device, Op::Carry>, Error> {
        let one = || {
            if len()? == 0 && !self.call.has_initial() {
                return Ok(None);
            }
            // SAFETY: the scan writes it.
            unsafe { self.room(1).map(Some) }
        };
        let each = || {
            // SAFETY: the scan writes every total, but for those by offsets that do not ascend, which are written
            // before it.
            let mut totals = unsafe { self.room(self.call.per_segment(len()?)?)? };
            if self.call.heads.has_offsets() {
                self.call.write_totals_of_nothing(array_mut(&mut totals))?;
            }
            Ok(totals)
        };
        let mut totals = R::room::<Device, Op::Carry>(one, each)?;
        match R::place::<Device, Op::Carry>(&mut totals) {
            Place::Last(Some(total)) => run(DeviceTotals::Last(array_mut(total)))?,
            Place::Last(None) => run(DeviceTotals::LastOfNothing)?,
            Place::Each(totals) => run(DeviceTotals::PerSegment(array_mut(totals)))?,
            Place::None => run(self.call.extra())?,
        }
        Ok(totals)
    }
}

/// Ways to reduce device memory.
impl<'a, Op: ScanOp> Run<'a, Op, Device, Totals> {
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
        let len = self.call.new_len(Of::<Op::Input, _>::from_ref(&input))?;
        // SAFETY: the reduction writes every element of the output.
        let mut output = unsafe { self.room(len)? };
        self.run_into(input, &mut output)?;
        Ok(output)
    }

    /// Reduces an input into an output of as many elements as there are results: one, or by rows and offsets one for
    /// each segment.
    ///
    /// # Errors
    ///
    /// As [`run`](Run::run), and [`Error::Length`] if the output has another length.
    pub fn run_into(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
    ) -> Result<(), Error> {
        self.run_all(input, output, self.call.extra())
    }

    /// Reduces segments by flags, bits or keys, whose number only the device knows. `run_into` then writes the results,
    /// in the order of the segments, to the beginning of its output, and the number of segments to `count`, a slice of
    /// one element. If the output is too short, the results that do not fit are left out, and the count shows it.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let shops = stream.clone_htod(&[7_u64, 7, 8, 8, 8, 7])?;
    /// let prices = stream.clone_htod(&[5, 2, 9, 1, 4, 3])?;
    /// let (mut lowest, mut count) = (stream.alloc_zeros(6)?, stream.alloc_zeros::<u64>(1)?);
    /// let lowest_by_shop = scanner.reduce(ops::min());
    /// lowest_by_shop.on(&stream).by_keys(&shops).count_into(&mut count).run_into(&prices, &mut lowest)?;
    /// let count = stream.clone_dtoh(&count)?[0] as usize;
    /// assert_eq!(stream.clone_dtoh(&lowest.slice(..count))?, [2, 1, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A run gives [`Error::KnownSegments`] for other segments, and [`Error::Length`] if the count is not one element.
    pub fn count_into<'b>(self, count: &'b mut impl DeviceBufferMut<u64>) -> Run<'b, Op, Device, Totals>
    where
        'a: 'b,
    {
        Run::new(DeviceCall { extra: Some((Extra::Count, Lent::new(array_mut(count)))), ..self.call })
    }
}

/// Words of [`Run`] for device memory, for a run of the handle.
impl<Op: ScanOp> Prepared<Op, Device> {
    /// See [`Run::init_from`].
    pub fn init_from<'a>(&'a self, value: &'a impl DeviceBuffer<Op::Carry>) -> Run<'a, Op, Device> {
        self.call().init_from(value)
    }

    /// See [`Run::init_late`].
    pub fn init_late<'a>(&'a self, value: &'a LateValue<Op::Carry>) -> Run<'a, Op, Device> {
        self.call().init_late(value)
    }

    /// See [`Run::len_from`].
    pub fn len_from<'a>(&'a self, len: &'a impl DeviceBuffer<u64>) -> Run<'a, Op, Device> {
        self.call().len_from(len)
    }

    /// See [`Run::total_into`].
    pub fn total_into<'a>(&'a self, total: &'a mut impl DeviceBufferMut<Op::Carry>) -> Run<'a, Op, Device> {
        self.call().total_into(total)
    }
}

/// Runs over device memory.
#[allow(clippy::missing_errors_doc, reason = "those of the run, and of the handle")]
impl<Op: ScanOp> Prepared<Op, Device> {
    /// Scans an input into a new slice.
    pub fn run(&self, input: impl DeviceInput<Op::Input>) -> Result<CudaSlice<Op::Output>, Error> {
        self.call().run(input)
    }

    /// Scans an input into an output of the same length.
    pub fn run_into(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
    ) -> Result<(), Error> {
        self.call().run_into(input, output)
    }

    /// Scans a device slice or view in place.
    pub fn run_in_place<T>(&self, buffer: &mut impl DeviceBufferMut<T>) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.call().run_in_place(buffer)
    }
}

#[allow(clippy::missing_errors_doc, reason = "those of the run, and of the handle")]
impl<Op: ScanOp> Prepared<Op, Device, Totals> {
    /// Reduces an input into a new slice.
    pub fn run(&self, input: impl DeviceInput<Op::Input>) -> Result<CudaSlice<Op::Output>, Error> {
        self.call().run(input)
    }

    /// Reduces an input into an output of as many elements as there are results.
    pub fn run_into(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
    ) -> Result<(), Error> {
        self.call().run_into(input, output)
    }

    /// See [`Run::count_into`].
    pub fn count_into<'a>(&'a self, count: &'a mut impl DeviceBufferMut<u64>) -> Run<'a, Op, Device, Totals> {
        self.call().count_into(count)
    }
}
