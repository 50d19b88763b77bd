//! Runs over host memory: the one path from a call to the CPU backend or to the device.

use std::{mem::MaybeUninit, ptr};

use scan_codegen::{PlanError, ScanKind};

use crate::{
    Error, Goal, HostHeads, Reduce, Scan, ScanElement, ScanOp,
    call::{HostPlaces, HostTotals, Totals},
    cpu,
    cuda::CudaDevice,
    error::expect_output,
    heads::HeadKind,
    room::room,
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

/// Ways to run a scan of host memory.
impl<Op: ScanOp, H: HostHeads> Scan<Op, H> {
    /// Scans a slice into a new vector. On a GPU slices of more than 32 MiB go through the device in chunks, if
    /// [`Staging::with_chunk_bytes`](crate::Staging::with_chunk_bytes) says nothing else.
    ///
    /// # Errors
    ///
    /// Whatever can go wrong is in [`Error`]; the input is never touched. Where it restarts: [`Error::Length`]
    /// if there are more or fewer flags, bits or keys than the input requires, [`Error::OffsetsDescend`] and
    /// [`Error::OffsetPastEnd`] if the offsets are none.
    pub fn run(&self, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        Ok(self.run_to_vector(input, false)?.0)
    }

    /// Scans a slice into a new vector, and gives the total too. On the GPU it comes from the same launches.
    ///
    /// The total is the carry after the last element, the initial value included; of a [reversed](Scan::reverse) scan,
    /// after the first one. So in a scan that restarts it is the total of the segment of this element, whatever empty
    /// segments offsets tell behind it. Without elements it is the initial value that [`init`](Scan::init) has given,
    /// or else `None`, also of an operator that has an identity or a `START`.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// // Where each row of a ragged array begins, and how long the whole is.
    /// let (starts, len) = scanner.scan(ops::sum()).exclusive().run_with_total(&[3_u32, 0, 4])?;
    /// assert_eq!((starts, len), (vec![0, 3, 3], Some(7)));
    /// // What the next part of a longer input goes on with.
    /// let by_day = scanner.scan(ops::sum()).by_keys(&[1, 1, 2, 2]);
    /// let (sums, today) = by_day.run_with_total(&[5, 1, 2, 2])?;
    /// assert_eq!((sums, today), (vec![5, 6, 2, 4], Some(4)));
    /// // The last segment is empty.
    /// let (_, total) = scanner.scan(ops::sum()).by_offsets(&[0_u32, 2, 2]).run_with_total(&[5, 1])?;
    /// assert_eq!(total, Some(6));
    /// assert_eq!(scanner.scan(ops::sum::<u32>()).run_with_total(&[])?, (vec![], None));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run).
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_total(&self, input: &[Op::Input]) -> Result<(Vec<Op::Output>, Option<Op::Carry>), Error> {
        self.run_to_vector(input, true)
    }

    /// Scans a slice into another one of the same length.
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run), and [`Error::Length`] if the lengths differ. After an error the output's content is
    /// unspecified.
    pub fn run_into(&self, input: &[Op::Input], output: &mut [Op::Output]) -> Result<(), Error> {
        self.run_to_slice(input, output, false).map(drop)
    }

    /// Scans a slice into another one of the same length, and gives the total, as
    /// [`run_with_total`](Scan::run_with_total) does.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let mut starts = [0; 3];
    /// let len = Scanner::new()?.scan(ops::sum()).exclusive().run_into_with_total(&[3_u32, 0, 4], &mut starts)?;
    /// assert_eq!((starts, len), ([0, 3, 3], Some(7)));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_into`](Scan::run_into).
    pub fn run_into_with_total(
        &self,
        input: &[Op::Input],
        output: &mut [Op::Output],
    ) -> Result<Option<Op::Carry>, Error> {
        self.run_to_slice(input, output, true)
    }

    /// Scans a slice in place.
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run). After [`Error::OperatorPanicked`] on the CPU the content is unspecified. An error on a
    /// GPU leaves each chunk as it was or scanned; otherwise an error leaves the buffer as it was.
    pub fn run_in_place<T>(&self, buffer: &mut [T]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        let (to, len) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the buffer is a slice, exclusively borrowed.
        unsafe { self.run_at(to.cast_const(), to, len, false) }.map(drop)
    }

    /// Scans a slice in place, and gives the total, as [`run_with_total`](Scan::run_with_total) does.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let mut lengths = [3_u32, 0, 4];
    /// let len = Scanner::new()?.scan(ops::sum()).exclusive().run_in_place_with_total(&mut lengths)?;
    /// assert_eq!((lengths, len), ([0, 3, 3], Some(7)));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_in_place`](Scan::run_in_place).
    pub fn run_in_place_with_total<T>(&self, buffer: &mut [T]) -> Result<Option<Op::Carry>, Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        let (to, len) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the buffer is a slice, exclusively borrowed.
        unsafe { self.run_at(to.cast_const(), to, len, true) }
    }

    #[inline]
    fn run_to_slice(
        &self,
        input: &[Op::Input],
        output: &mut [Op::Output],
        with_total: bool,
    ) -> Result<Option<Op::Carry>, Error> {
        expect_output(input.len(), output.len())?;
        // SAFETY: the output is a slice of the right length, exclusively borrowed.
        unsafe { self.run_at(input.as_ptr(), output.as_mut_ptr(), input.len(), with_total) }
    }
}

/// Ways to reduce host memory.
impl<Op: ScanOp> Reduce<Op> {
    /// Reduces a slice. The total of no elements is the initial value, or else the identity.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) for no elements, no initial value and no identity, and
    /// whatever else can go wrong.
    pub fn run(&self, input: &[Op::Input]) -> Result<Op::Output, Error> {
        self.check_planned(Totals::None)?;
        match self.scanner.engine() {
            Engine::Cuda(device) if !input.is_empty() => self.reduce_on_device(device, input),
            _ => {
                let _span = tells_of_calls().then(|| computing::<Op>(input.len()));
                let total = cpu::reduce(&self.op, self.initial_value, input)?;
                self.report_all(input.len());
                match total {
                    Some(total) => cpu::project(&self.op, total),
                    None => self.result_of_nothing(),
                }
            }
        }
    }

    fn reduce_on_device(&self, device: &CudaDevice, input: &[Op::Input]) -> Result<Op::Output, Error> {
        let mut output = MaybeUninit::<Op::Output>::uninit();
        let places = HostPlaces::of(input.as_ptr(), output.as_mut_ptr(), input.len());
        // SAFETY: the input is a slice, and there is room for the result, which is written.
        unsafe {
            self.call(Totals::None).reduce_on_device(device, &places)?;
            Ok(output.assume_init())
        }
    }
}

impl<Op: ScanOp, H: HostHeads, G: Goal> Scan<Op, H, G> {
    /// What the planner refuses on the GPU is refused on the CPU as well.
    #[inline]
    pub(crate) fn check_planned(&self, totals: Totals) -> Result<(), Error> {
        let heads = self.heads.given();
        // A segment between offsets may be empty.
        let of_nothing =
            totals == Totals::PerSegment && heads.is_some_and(|heads| matches!(heads.kind, HeadKind::Offsets(_)));
        let begins = self.initial_value.is_some() || heads.is_some_and(|heads| heads.initial_values.is_some());
        let needs_identity = (self.kind == ScanKind::Exclusive || of_nothing) && !begins;
        let surely = || self.overrides.is_none() && cpu::surely_planned(&self.op, heads, needs_identity);
        if self.planned || surely() { Ok(()) } else { self.ask_planner(totals) }
    }

    /// Not inlined into short scans.
    #[cold]
    #[inline(never)]
    fn ask_planner(&self, totals: Totals) -> Result<(), Error> {
        self.call(totals).check()
    }

    /// What a scan on the CPU has to know.
    #[inline]
    pub(crate) fn how(&self, total: bool) -> cpu::How<'_, Op> {
        let Scan { kind, order, ref initial_value, .. } = *self;
        cpu::How { kind, order, initial_value: initial_value.as_ref(), heads: self.heads.given(), total }
    }

    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub(super) fn run_to_vector(
        &self,
        input: &[Op::Input],
        with_total: bool,
    ) -> Result<(Vec<Op::Output>, Option<Op::Carry>), Error> {
        let len = input.len();
        let mut output = room(len)?;
        // SAFETY: the vector has room for as many outputs as there are inputs, and nothing else points there.
        let total = unsafe { self.run_at(input.as_ptr(), output.as_mut_ptr(), len, with_total)? };
        // SAFETY: every output has been written.
        unsafe { output.set_len(len) };
        Ok((output, total))
    }

    /// Every scan of host memory comes through here. Gives the total, if that is asked for and there is one.
    ///
    /// # Safety
    ///
    /// `input` is valid for reads and `output` for writes of `len` elements. They are one, or do not overlap.
    #[inline]
    pub(super) unsafe fn run_at(
        &self,
        input: *const Op::Input,
        output: *mut Op::Output,
        len: usize,
        with_total: bool,
    ) -> Result<Option<Op::Carry>, Error> {
        if self.heads.given().is_some_and(|heads| heads.initial_values.is_some()) {
            if with_total {
                return Err(PlanError::TotalOfEach.into());
            }
            // SAFETY: the caller vouches for the elements.
            return unsafe { self.run_each_at(input, output, len, ptr::null_mut()) }.map(|()| None);
        }
        match self.scanner.engine() {
            // SAFETY: the caller vouches for the elements.
            Engine::Cpu { .. } if self.progress.is_some() => unsafe {
                self.run_and_report(cpu::Places { input, output, len }, with_total)
            },
            // SAFETY: as above.
            Engine::Cpu { .. } => unsafe { self.run_on_cpu(cpu::Places { input, output, len }, with_total) },
            // SAFETY: as above.
            Engine::Cuda(device) => unsafe { self.run_with_total_on_device(device, input, output, len, with_total) },
        }
    }

    /// # Safety
    ///
    /// As for [`run_at`](Scan::run_at).
    #[inline(always)]
    unsafe fn run_on_cpu(&self, places: cpu::Places<Op>, with_total: bool) -> Result<Option<Op::Carry>, Error> {
        self.check_planned(Totals::None)?;
        let _span = tells_of_calls().then(|| computing::<Op>(places.len));
        self.heads.given().map_or(Ok(()), |heads| heads.check(places.len))?;
        // SAFETY: the caller vouches for the elements.
        unsafe { cpu::scan(&self.op, self.how(with_total), places) }
    }

    /// The same with a report. It is apart, because a report costs as much as a short scan.
    ///
    /// # Safety
    ///
    /// As for [`run_at`](Scan::run_at).
    #[cold]
    #[inline(never)]
    unsafe fn run_and_report(&self, places: cpu::Places<Op>, with_total: bool) -> Result<Option<Op::Carry>, Error> {
        let len = places.len;
        // SAFETY: the caller vouches for the elements.
        let total = unsafe { self.run_on_cpu(places, with_total) }?;
        self.report_all(len);
        Ok(total)
    }

    /// Does the same on a device.
    ///
    /// # Safety
    ///
    /// As for [`run_at`](Scan::run_at).
    #[inline(never)]
    unsafe fn run_with_total_on_device(
        &self,
        device: &CudaDevice,
        input: *const Op::Input,
        output: *mut Op::Output,
        len: usize,
        with_total: bool,
    ) -> Result<Option<Op::Carry>, Error> {
        let host = &HostPlaces::of(input, output, len);
        self.heads.heads().check(host.len)?;
        let mut total = MaybeUninit::uninit();
        let with_total = with_total && host.len > 0;
        let (wanted, totals) = match with_total {
            true => (Totals::Last, HostTotals::last(&mut total)),
            false => (Totals::None, HostTotals::NONE),
        };
        // SAFETY: the caller vouches for the host memory.
        unsafe { self.call(wanted).scan_on_device(device, host, totals)? };
        // SAFETY: the kernels have written the total if that was asked of them.
        Ok(if with_total { Some(unsafe { total.assume_init() }) } else { self.initial_value })
    }
}
