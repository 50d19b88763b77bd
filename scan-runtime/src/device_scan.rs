//! Scans and reductions of device memory on a stream: the one path from a call to its launches.

use std::{slice, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream, result, sys};
use scan_codegen::ArrayKinds;

use crate::{
    DeviceBuffer, DeviceBufferMut, DevicePrepared, Error, Goal, LateValue, PlanError, Prefixes, Scan, ScanElement,
    ScanOp, Scanner, Totals,
    columns::Layouts,
    cuda::{CudaDevice, InOut, Runs, SideBuffers, bind, driver_error, named},
    device_work::{Brings, DeviceWork, InitialOnDevice, task},
    error::{expect_len, expect_output},
    heads::{DeviceHeads, HeadKind, NoHeads, check_initial_values},
    scan::Also,
};

/// A scan or a reduction of device memory on a stream, made by [`Scan::on`], or a run of a [handle](DevicePrepared)
/// with what it brings. `by_flags`, `by_bits`, `by_keys`, `by_offsets` and `rows` choose the segments; the last call
/// counts.
///
/// Every method enqueues its work on the stream and returns: nothing is copied, and the host does not wait. Errors that
/// happen while the work runs are reported by the driver at a later call, such as the stream's `synchronize`; then
/// [`Scanner::check`](crate::Scanner::check) tells which operator is to blame, and so does the next scan.
#[must_use = "a scan does nothing until it is run"]
pub struct DeviceScan<'a, Op: ScanOp, G = Prefixes> {
    way: Way<'a, Op, G>,
    /// The initial value, if it is in device memory.
    initial: Option<&'a dyn DeviceBuffer<Op::Carry>>,
    /// Whether that is one for each segment.
    each: bool,
    /// The initial value, if it arrives late.
    late: Option<&'a LateValue<Op::Carry>>,
    /// How many elements there are, if that is in device memory.
    len: Option<&'a dyn DeviceBuffer<u64>>,
    heads: DeviceHeads<'a>,
    /// In how many arrays input and output lie.
    layouts: Layouts,
}

/// When kernels and constants are made.
enum Way<'a, Op: ScanOp, G> {
    /// At the call.
    Call(&'a Scan<Op, NoHeads, G>, &'a Arc<CudaStream>),
    /// They are there.
    Prepared(&'a DevicePrepared<Op, G>),
}

impl<Op: ScanOp, G> Clone for Way<'_, Op, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Op: ScanOp, G> Copy for Way<'_, Op, G> {}

/// Where a run writes totals, besides its output.
pub(crate) enum DeviceTotals<'m, C> {
    None,
    /// That after the last element.
    Last(&'m mut dyn DeviceBufferMut<C>),
    /// That of each.
    Each(&'m mut dyn DeviceBufferMut<C>),
}

/// The same, of an operator.
pub(crate) type Total<'m, Op> = DeviceTotals<'m, <Op as ScanOp>::Carry>;

impl<'m, C> DeviceTotals<'m, C> {
    pub(crate) fn also(&self) -> Also {
        match self {
            DeviceTotals::None => Also::Nothing,
            DeviceTotals::Last(_) => Also::Total,
            DeviceTotals::Each(_) => Also::Totals,
        }
    }

    pub(crate) fn buffer(self) -> Option<&'m mut dyn DeviceBufferMut<C>> {
        match self {
            DeviceTotals::None => None,
            DeviceTotals::Last(totals) | DeviceTotals::Each(totals) => Some(totals),
        }
    }
}

impl<'a, Op: ScanOp, G> DeviceScan<'a, Op, G> {
    pub(crate) fn of(scan: &'a Scan<Op, NoHeads, G>, stream: &'a Arc<CudaStream>) -> Self {
        DeviceScan {
            way: Way::Call(scan, stream),
            initial: None,
            each: false,
            late: None,
            len: None,
            heads: DeviceHeads::NONE,
            layouts: Layouts::default(),
        }
    }

    /// A run of a handle.
    pub(crate) fn of_prepared(prepared: &'a DevicePrepared<Op, G>) -> Self {
        DeviceScan {
            way: Way::Prepared(prepared),
            initial: None,
            each: false,
            late: None,
            len: None,
            heads: DeviceHeads::NONE,
            layouts: Layouts::default(),
        }
    }

    pub(crate) fn with_heads(self, heads: DeviceHeads<'a>) -> Self {
        DeviceScan { heads, ..self }
    }

    pub(crate) fn with_layouts(self, layouts: Layouts) -> Self {
        DeviceScan { layouts, ..self }
    }

    /// Elements of a row, if segments are rows.
    pub(crate) fn row(&self) -> Option<usize> {
        match self.heads.kind {
            HeadKind::Rows { len } => Some(len),
            _ => None,
        }
    }

    /// The same run of arrays of these kinds.
    pub(crate) fn with_kinds(&self, input: ArrayKinds, output: ArrayKinds) -> Self {
        let Layouts { input: (inputs, _), output: (outputs, _) } = self.layouts;
        let layouts = Layouts { input: (inputs, input), output: (outputs, output) };
        let &DeviceScan { way, initial, each, late, len, heads, .. } = self;
        DeviceScan { way, initial, each, late, len, heads, layouts }
    }

    fn scanner(&self) -> &Scanner {
        match self.way {
            Way::Call(scan, _) => &scan.scanner,
            Way::Prepared(prepared) => &prepared.scanner,
        }
    }

    pub(crate) fn stream(&self) -> &'a Arc<CudaStream> {
        match self.way {
            Way::Call(_, stream) => stream,
            Way::Prepared(prepared) => &prepared.stream,
        }
    }

    pub(crate) fn device(&self) -> Result<&CudaDevice, Error> {
        self.scanner().device_of(self.stream())
    }

    fn brings(&self, also: Also) -> Brings {
        let initial = match self.initial {
            None if self.late.is_some() => InitialOnDevice::Late,
            None => InitialOnDevice::None,
            Some(_) if self.each => InitialOnDevice::Each,
            Some(_) => InitialOnDevice::One,
        };
        Brings { heads: self.heads.kind, also, initial, len: self.len.is_some(), layouts: self.layouts }
    }
}

impl<Op: ScanOp, G: Goal> DeviceScan<'_, Op, G> {
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
        self.prepare_for(self.brings(Also::Nothing), max_len)
    }

    fn prepare_for(&self, brings: Brings, max_len: usize) -> Result<DevicePrepared<Op, G>, Error> {
        let Way::Call(scan, stream) = self.way else { return Err(Error::AlreadyPrepared) };
        DevicePrepared::new(scan, stream, brings, max_len)
    }

    /// Checks all that is known of a run before anything is enqueued: contexts, lengths, and what a handle was prepared
    /// for. Gives the number of elements.
    fn check(
        &self,
        input: Option<&dyn DeviceBuffer<Op::Input>>,
        output: &dyn DeviceBufferMut<Op::Output>,
        total: Option<SideOutput<'_>>,
    ) -> Result<usize, Error> {
        let device = self.device()?;
        if let Some(input) = input {
            device.check_context("input", input.stream())?;
        }
        device.check_context(if input.is_some() { "output" } else { "buffer" }, output.stream())?;
        let len = input.map_or(output.len(), |input| input.len());
        self.check_run(len, output.len(), total)?;
        Ok(len)
    }

    /// The same but for the arrays' contexts, and their lengths, which are these.
    pub(crate) fn check_run(&self, len: usize, output_len: usize, total: Option<SideOutput<'_>>) -> Result<(), Error> {
        let device = self.device()?;
        if let Some(stream) = self.heads.stream() {
            device.check_context("heads", stream)?;
        }
        if let Some(total) = &total {
            device.check_context(total.what, total.stream)?;
        }
        if let Some(value) = self.initial {
            device.check_context("initial value", value.stream())?;
            if !self.each {
                expect_len("initial value", value.len(), 1, "`init_from` reads one value")?;
            }
        }
        match self.late {
            Some(late) if !late.is_for(self.stream()) => return Err(Error::LateValueStream),
            Some(_) if len == 0 => return Err(Error::LateValueOfNothing),
            _ => {}
        }
        if let Some(len) = self.len {
            device.check_context("length", len.stream())?;
            expect_len("length", len.len(), 1, "`len_from` reads one number")?;
        }
        self.heads.check(len)?;
        let also = total.as_ref().map_or(Also::Nothing, |total| total.also);
        if let Some(values) = self.initial.filter(|_| self.each) {
            check_initial_values(values.len(), self.heads.check_each(len)?)?;
        }
        if let Some(SideOutput { len: output, .. }) = total {
            let expected = if also == Also::Totals { self.heads.check_each(len)? } else { 1 };
            expect_len("total", output, expected, "there is one total, or one for each segment")?;
        }
        if !G::FOLDS {
            expect_output(len, output_len)?;
        }
        match self.way {
            Way::Prepared(prepared) => prepared.check(self.brings(also), len),
            Way::Call(..) => Ok(()),
        }
    }

    /// Enqueues a run on buffers that have been checked. `total` is where totals or the number of segments go, or 0.
    fn enqueue(
        &self,
        len: usize,
        input: Option<&dyn DeviceBuffer<Op::Input>>,
        output: &mut dyn DeviceBufferMut<Op::Output>,
        also: Also,
        total: sys::CUdeviceptr,
    ) -> Result<(), Error> {
        let (stream, results) = (self.stream(), output.len() as u64);
        // The guards record the events by which cudarc orders work on several streams, once the launches are made.
        let input = input.map(|input| input.device_ptr(stream));
        let (output, _writing) = output.device_ptr_mut(stream);
        let input = input.as_ref().map_or(output, |(pointer, _reading)| *pointer);
        let buffers = InOut { input: &[input], output: &[output], len: len as u64, columns: None };
        // SAFETY: the buffers are borrowed from live slices, whose lengths have been checked; the output and the total
        // exclusively. Input and output are one buffer only where the caller gave one, of one type.
        unsafe { self.enqueue_at(buffers, results, also, total) }
    }

    /// Enqueues a run on buffers. `results` is how many the output has room for, `total` where totals or the number of
    /// segments go, or 0.
    ///
    /// # Safety
    ///
    /// As for [`DeviceWork::enqueue`], but for the heads; and `total` is valid for a write.
    pub(crate) unsafe fn enqueue_at(
        &self,
        buffers: InOut<'_>,
        results: u64,
        also: Also,
        total: sys::CUdeviceptr,
    ) -> Result<(), Error> {
        let (stream, len) = (self.stream(), buffers.len as usize);
        let (heads, _reading_heads) = self.heads.pointer(stream);
        let initial = self.initial.map(|value| value.device_ptr(stream));
        let told_len = self.len.map(|len| len.device_ptr(stream));
        // Scans that take a value are enqueued one after the other, each with what says that it has been taken.
        let taking = self.late.map(|late| (late, late.begin_scan()));
        let late_pointer = taking.as_ref().map(|(_, (_, pointer))| *pointer);
        let side = SideBuffers {
            len: told_len.as_ref().map_or(0, |(pointer, _reading)| *pointer),
            heads,
            head_count: self.heads.head_count(),
            initial: initial.as_ref().map(|(pointer, _reading)| *pointer).or(late_pointer).unwrap_or(0),
            total,
        };
        let enqueue = || {
            bind(stream)?;
            let made;
            let work = match self.way {
                Way::Prepared(prepared) => &prepared.work,
                Way::Call(scan, _) => {
                    let brings = self.brings(also);
                    made = DeviceWork::new(scan, self.device()?, stream, brings, Runs::Once(len))?;
                    &made
                }
            };
            // SAFETY: the caller vouches for the buffers; the heads are borrowed from a live slice, whose length has
            // been checked.
            unsafe { work.enqueue(stream, side, buffers, results)? };
            taking.map_or(Ok(()), |(late, (taking, _))| late.end_scan(taking))
        };
        enqueue().map_err(named)
    }

    /// Writes what comes of no elements, as often as there is room for it: `of_nothing` as it is now, or as a handle
    /// has kept it.
    fn write_nothing<T: ScanElement>(
        &self,
        of_nothing: impl FnOnce(&Scan<Op, NoHeads, G>) -> Result<T, Error>,
        kept: impl FnOnce(&DevicePrepared<Op, G>) -> Option<&T>,
        to: &mut dyn DeviceBufferMut<T>,
    ) -> Result<(), Error> {
        let stream = self.stream();
        let made;
        let value = match self.way {
            Way::Call(scan, _) => {
                self.device()?.refuse_capture(stream)?;
                made = of_nothing(scan)?;
                &made
            }
            Way::Prepared(prepared) => {
                kept(prepared).ok_or_else(|| PlanError::NoElements { operator: prepared.operator.clone() })?
            }
        };
        bind(stream)?;
        let count = to.len();
        if count == 0 {
            return Ok(());
        }
        let (to, _writing) = to.device_ptr_mut(stream);
        // SAFETY: the memory has room for so many elements, one at least. The value is copied before the call returns, or,
        // where the copy is captured, stays as long as the handle.
        unsafe {
            result::memcpy_htod_async(to, slice::from_ref(value), stream.cu_stream())
                .map_err(driver_error("copying to the device"))?;
            repeat(stream, to, size_of::<T>(), count * size_of::<T>())
        }
    }

    /// An error where the planner refuses what a call asks for.
    fn check_plan(&self, also: Also) -> Result<(), Error> {
        match self.way {
            Way::Call(scan, _) => scan.check_task(&task(scan, self.brings(also))),
            Way::Prepared(_) => Ok(()),
        }
    }
}

/// An output in addition to the results, which is checked before a run: totals, or the number of segments. What an error calls
/// it, how many values it has room for, and its stream.
pub(crate) struct SideOutput<'t> {
    what: &'static str,
    also: Also,
    len: usize,
    stream: &'t CudaStream,
}

pub(crate) fn side_output<'t, C>(totals: &'t DeviceTotals<'_, C>) -> Option<SideOutput<'t>> {
    let (what, also) = ("total", totals.also());
    match totals {
        DeviceTotals::None => None,
        DeviceTotals::Last(totals) | DeviceTotals::Each(totals) => {
            Some(SideOutput { what, also, len: totals.len(), stream: totals.stream() })
        }
    }
}

/// Ways to run a scan.
impl<'a, Op: ScanOp> DeviceScan<'a, Op> {
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
        DeviceScan { initial: Some(value), each: false, late: None, ..self }
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
    /// no elements, and [`PlanError::LateValue`] for a scan that restarts, of a length in device memory, or with an
    /// operator that goes from carry to carry.
    pub fn init_late(self, value: &'a LateValue<Op::Carry>) -> Self {
        DeviceScan { initial: None, each: false, late: Some(value), ..self }
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
        DeviceScan { initial: Some(values), each: true, late: None, ..self }
    }

    /// Scans as many elements as a number in device memory says when the scan runs, in a slice of one: what an earlier
    /// kernel on the stream has counted, or what a graph finds anew at each launch. There are at most as many as the
    /// input has; the results behind them stay what they are, and a reversed scan begins at the last of them. Of rows
    /// only whole ones are scanned. The total is that of these elements. As many launches are made as for the whole input.
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
    /// make the output, and [`PlanError::NoIdentity`] for a total where nothing tells that of no elements.
    pub fn len_from(self, len: &'a impl DeviceBuffer<u64>) -> Self {
        DeviceScan { len: Some(len), ..self }
    }

    /// As [`prepare`](DeviceScan::prepare), for runs that give the total, too: those whose names end in `with_total`.
    ///
    /// # Errors
    ///
    /// As [`prepare`](DeviceScan::prepare).
    pub fn prepare_with_total(&self, max_len: usize) -> Result<DevicePrepared<Op>, Error> {
        self.prepare_for(self.brings(Also::Total), max_len)
    }

    /// As [`prepare`](DeviceScan::prepare), for runs that give the total of each segment, too: those whose names end in
    /// `with_totals`.
    ///
    /// # Errors
    ///
    /// As [`prepare`](DeviceScan::prepare), and [`PlanError::NoSegmentIndex`] by flags, bits and keys.
    pub fn prepare_with_totals(&self, max_len: usize) -> Result<DevicePrepared<Op>, Error> {
        self.prepare_for(self.brings(Also::Totals), max_len)
    }

    /// Scans a device slice or view into a new slice.
    ///
    /// # Errors
    ///
    /// [`Error::NotCuda`] on a CPU scanner, [`Error::ForeignContext`] if the stream or a buffer are of another context,
    /// [`Error::Length`] if there are more or fewer flags, bits or keys than the input requires,
    /// [`Error::OutOfDeviceMemory`], and whatever else can go wrong.
    pub fn run(&self, input: &impl DeviceBuffer<Op::Input>) -> Result<CudaSlice<Op::Output>, Error> {
        self.writes_all()?;
        // SAFETY: the scan writes every element of the output.
        let mut output = unsafe { self.room(input.len())? };
        self.scan(Some(input), &mut output, DeviceTotals::None)?;
        Ok(output)
    }

    /// Scans a device slice or view into another of the same length.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceScan::run), and [`Error::Length`] if the lengths differ.
    pub fn run_into(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        self.scan(Some(input), output, DeviceTotals::None)
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
        self.scan(None, buffer, DeviceTotals::None)
    }

    /// Scans a device slice or view into a new slice, and puts the total into another one, of one element. Both come from
    /// the same launches. The total is that of [`Scan::run_with_total`]: without elements the initial value, or else
    /// `None`.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceScan::run).
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_total(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
    ) -> Result<(CudaSlice<Op::Output>, Option<CudaSlice<Op::Carry>>), Error> {
        self.writes_all()?;
        let has_initial = || match self.way {
            Way::Call(scan, _) => scan.initial_value.is_some(),
            Way::Prepared(prepared) => prepared.has_initial,
        };
        if input.len() == 0 && self.initial.is_none() && !has_initial() {
            return Ok((self.run(input)?, None));
        }
        // SAFETY: the scan writes every element of both.
        let (mut output, mut total) = unsafe { (self.room(input.len())?, self.room(1)?) };
        self.scan(Some(input), &mut output, DeviceTotals::Last(&mut total))?;
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
    /// [`PlanError::NoElements`] for no elements, no initial value and no identity.
    pub fn run_into_with_total(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
        total: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        self.scan(Some(input), output, DeviceTotals::Last(total))
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
        self.scan(None, buffer, DeviceTotals::Last(total))
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
        input: &impl DeviceBuffer<Op::Input>,
    ) -> Result<(CudaSlice<Op::Output>, CudaSlice<Op::Carry>), Error> {
        self.writes_all()?;
        self.heads.check(input.len())?;
        let count = self.heads.check_each(input.len())?;
        // SAFETY: the scan writes every element of both, but for totals by offsets that do not ascend, which are written
        // before it.
        let (mut output, mut totals) = unsafe { (self.room(input.len())?, self.room(count)?) };
        if self.heads.has_offsets() {
            self.write_totals_of_nothing(DeviceTotals::Each(&mut totals))?;
        }
        self.scan(Some(input), &mut output, DeviceTotals::Each(&mut totals))?;
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
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
        totals: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        self.scan(Some(input), output, DeviceTotals::Each(totals))
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
        self.scan(None, buffer, DeviceTotals::Each(totals))
    }

    /// An error where a new output would have elements that nothing writes.
    fn writes_all(&self) -> Result<(), Error> {
        if self.len.is_some() { Err(Error::LengthOnDevice) } else { Ok(()) }
    }

    /// Every scan of device memory comes through here; without an input, in place.
    fn scan(
        &self,
        input: Option<&dyn DeviceBuffer<Op::Input>>,
        output: &mut dyn DeviceBufferMut<Op::Output>,
        total: Total<'_, Op>,
    ) -> Result<(), Error> {
        let len = self.check(input, output, side_output(&total))?;
        if len > 0 {
            let also = total.also();
            let total = total.buffer().map(|total| total.device_ptr_mut(self.stream()));
            return self.enqueue(len, input, output, also, total.as_ref().map_or(0, |(pointer, _writing)| *pointer));
        }
        self.write_totals_of_nothing(total)
    }

    /// What a run of no elements writes: each total is that of nothing.
    pub(crate) fn write_totals_of_nothing(&self, totals: Total<'_, Op>) -> Result<(), Error> {
        self.check_plan(totals.also())?;
        match (totals.buffer().filter(|totals| totals.len() > 0), self.initial) {
            (None, _) => Ok(()),
            (Some(totals), Some(values)) => self.copy_initial(values, totals),
            (Some(totals), None) => self.write_nothing(Scan::total_of_nothing, |kept| kept.total_of_nothing(), totals),
        }
    }

    /// The totals of no elements, where the initial value is in device memory, or one for each.
    fn copy_initial(
        &self,
        value: &dyn DeviceBuffer<Op::Carry>,
        total: &mut dyn DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        let stream = self.stream();
        bind(stream)?;
        let (bytes, count) = (value.len() * size_of::<Op::Carry>(), total.len() / value.len().max(1));
        if count == 0 {
            return Ok(());
        }
        let ((from, _reading), (to, _writing)) = (value.device_ptr(stream), total.device_ptr_mut(stream));
        // SAFETY: the totals are as many as the values, or the value is one, as has been checked, and the guards keep both
        // until the copies are enqueued.
        unsafe {
            result::memcpy_dtod_async(to, from, bytes, stream.cu_stream())
                .map_err(driver_error("copying on the device"))?;
            repeat(stream, to, bytes, count * bytes)
        }
    }
}

/// Repeats the first `written` bytes of device memory up to `bytes`, in copies that double.
///
/// # Safety
///
/// There are so many bytes, of which work of this stream writes the first `written`.
unsafe fn repeat(stream: &CudaStream, to: sys::CUdeviceptr, written: usize, bytes: usize) -> Result<(), Error> {
    let mut written = written;
    while 0 < written && written < bytes {
        let next = written.min(bytes - written);
        // SAFETY: both are within the bytes, and the copy does not overlap what it reads.
        unsafe { result::memcpy_dtod_async(to + written as u64, to, next, stream.cu_stream()) }
            .map_err(driver_error("copying on the device"))?;
        written += next;
    }
    Ok(())
}

impl<Op: ScanOp, G: Goal> DeviceScan<'_, Op, G> {
    /// A slice of `len` elements.
    ///
    /// # Safety
    ///
    /// Nothing reads it before all of them have been written.
    unsafe fn room<T: ScanElement>(&self, len: usize) -> Result<CudaSlice<T>, Error> {
        let (device, stream) = (self.device()?, self.stream());
        match len {
            0 => stream.null().map_err(driver_error("allocating device memory")),
            // SAFETY: the caller vouches for it.
            len => unsafe { device.slice(stream, len) },
        }
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
    /// [`Error::UnknownSegments`] by flags, bits or keys, [`PlanError::NoElements`] for no elements, and by offsets,
    /// without an initial value and an identity, [`Error::OutOfDeviceMemory`], and whatever else can go wrong.
    pub fn run(&self, input: &impl DeviceBuffer<Op::Input>) -> Result<CudaSlice<Op::Output>, Error> {
        self.heads.check(input.len())?;
        // SAFETY: the reduction writes every element of the output.
        let mut output = unsafe { self.room(self.results(input.len())?)? };
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
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        let len = self.check(Some(input), output, None)?;
        let expected = self.results(len)?;
        expect_len("output", output.len(), expected, "a reduction writes one result, or one for each segment")?;
        if self.heads.kind.is_none() && len == 0 {
            self.check_plan(Also::Nothing)?;
            return self.write_nothing(Scan::result_of_nothing, |kept| kept.result_of_nothing(), output);
        }
        if expected == 0 {
            return self.check_plan(Also::Nothing);
        }
        self.enqueue(len, Some(input), output, Also::Nothing, 0)
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
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
        count: &mut impl DeviceBufferMut<u64>,
    ) -> Result<(), Error> {
        let count_of = SideOutput { what: "count", also: Also::Nothing, len: count.len(), stream: count.stream() };
        let len = self.check(Some(input), output, Some(count_of))?;
        if let Some(segments) = self.heads.segments(len) {
            return Err(Error::KnownSegments { segments });
        }
        let (count, _writing) = count.device_ptr_mut(self.stream());
        self.enqueue(len, Some(input), output, Also::Nothing, count)
    }

    /// How many results there are.
    fn results(&self, len: usize) -> Result<usize, Error> {
        self.heads.segments(len).ok_or(Error::UnknownSegments { heads: self.heads.kind.name() })
    }
}
