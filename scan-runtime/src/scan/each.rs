//! Scans of segments of which each has an initial value, or a total, of its own, in host memory.

use super::{Goal, Scan};
use crate::{
    Error, Heads, HostHeads, ScanElement, ScanOp,
    call::{HostPlaces, HostTotals, Totals},
    cpu::{self, Elements, Memory, TotalsAt},
    error::{expect_len, expect_output},
    heads::InitialValues,
    room::room,
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

impl<'h, Op: ScanOp, G> Scan<Op, Heads<'h>, G> {
    /// Puts a value of its own before the first element of each segment, which are [rows](Scan::rows), or lie between
    /// [offsets](Scan::by_offsets) from 0 to the length of the input: value `k` before segment `k`, empty segments
    /// counted. In a [reversed](Scan::reverse) scan it stands behind the last element of the segment. It takes the
    /// place of the scan's own [initial value](Scan::init).
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let sums = scanner.scan(ops::sum());
    /// let two_rows = [1, 2, 3, 10, 20, 30];
    /// assert_eq!(sums.clone().rows(3).init_each(&[100, 0]).run(&two_rows)?, [101, 103, 106, 10, 30, 60]);
    /// let segments = sums.by_offsets(&[0_usize, 2, 2, 6]).init_each(&[100, 5, 0]);
    /// assert_eq!(segments.run(&two_rows)?, [101, 103, 3, 13, 33, 63]);
    /// let totals = scanner.reduce(ops::sum()).by_offsets(&[0_usize, 2, 2, 6]).init_each(&[100, 5, 0]);
    /// assert_eq!(totals.run(&two_rows)?, [103, 5, 63]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A run gives [`Error::Length`] if there are more or fewer values than segments, [`Error::OffsetsCover`] if
    /// the offsets do not go from 0 to the length of the input,
    /// [`PlanError::NoSegmentIndex`](crate::PlanError::NoSegmentIndex) by flags, bits and keys, whose segments have no
    /// index before the scan, and [`PlanError::TotalOfEach`](crate::PlanError::TotalOfEach) for the total of the last
    /// segment alone.
    pub fn init_each(mut self, values: &'h [Op::Carry]) -> Self {
        self.heads.initial_values = Some(InitialValues::new(values));
        self
    }
}

/// Scans that give the total of each segment as well.
impl<Op: ScanOp> Scan<Op, Heads<'_>> {
    /// Scans a slice into a new vector, and gives the total of each segment as well, which are [rows](Scan::rows), or
    /// lie between [offsets](Scan::by_offsets) from 0 to the length of the input. It is the carry after the last
    /// element of the segment (before its first one, of a [reversed](Scan::reverse) scan), the initial value included;
    /// of an empty segment it is the initial value, or else the identity, or the `START` of a
    /// [machine](ScanOp#machines). On the GPU it comes from the same launches.
    ///
    /// The totals of a chunk are the [initial values](Scan::init_each) of the next one. A state-space model over
    /// sequences that come in chunks, with factors of at most 1 (larger ones may [overflow](ScanOp#overflow)):
    ///
    /// ```
    /// use scan_runtime::{Scanner, scan_element, scan_op};
    ///
    /// /// `h = a·h + b`.
    /// #[scan_element]
    /// #[derive(Clone, Copy, Debug, PartialEq)]
    /// struct Step {
    ///     a: f32,
    ///     b: f32,
    /// }
    ///
    /// #[scan_op(identity = Step { a: 1.0, b: 0.0 })]
    /// fn then(f: Step, g: Step) -> Step {
    ///     Step { a: f.a * g.a, b: g.a * f.b + g.b }
    /// }
    ///
    /// let (sequences, tokens) = (2, 3); // of a chunk
    /// let layer = Scanner::new()?.scan(then);
    /// let mut states = vec![Step { a: 1.0, b: 0.0 }; sequences];
    /// for chunk in [1.0, 2.0] {
    ///     let steps = vec![Step { a: 0.5, b: chunk }; sequences * tokens];
    ///     let (hidden, after) = layer.clone().rows(tokens).init_each(&states).run_with_totals(&steps)?;
    ///     assert_eq!(hidden[tokens - 1], after[0]);
    ///     states = after;
    /// }
    /// assert_eq!(states[1].b, 3.71875);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run) and [`init_each`](Scan::init_each);
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) by offsets, without an initial value and an identity: a
    /// segment between offsets may be empty.
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_totals(&self, input: &[Op::Input]) -> Result<(Vec<Op::Output>, Vec<Op::Carry>), Error> {
        let (len, count) = (input.len(), self.check_each(input.len())?);
        let (mut output, mut totals) = (room::<Op::Output>(len)?, room::<Op::Carry>(count)?);
        // SAFETY: the vectors have room for as many outputs as there are inputs, and for the totals.
        unsafe { self.run_each_at(input.as_ptr(), output.as_mut_ptr(), len, totals.as_mut_ptr())? };
        // SAFETY: every output and every total has been written.
        unsafe {
            output.set_len(len);
            totals.set_len(count);
        }
        Ok((output, totals))
    }

    /// Scans a slice into another one of the same length, and writes the total of each segment, as
    /// [`run_with_totals`](Scan::run_with_totals) gives it.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let (mut sums, mut totals) = ([0; 6], [0; 2]);
    /// let scan = Scanner::new()?.scan(ops::sum()).rows(3);
    /// scan.run_into_with_totals(&[1, 2, 3, 10, 20, 30], &mut sums, &mut totals)?;
    /// assert_eq!((sums, totals), ([1, 3, 6, 10, 30, 60], [6, 60]));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_with_totals`](Scan::run_with_totals), and [`Error::Length`] if the lengths differ or
    /// there is not one total for each segment.
    pub fn run_into_with_totals(
        &self,
        input: &[Op::Input],
        output: &mut [Op::Output],
        totals: &mut [Op::Carry],
    ) -> Result<(), Error> {
        expect_output(input.len(), output.len())?;
        self.check_totals(input.len(), totals.len())?;
        // SAFETY: output and totals are slices of the right length, exclusively borrowed.
        unsafe { self.run_each_at(input.as_ptr(), output.as_mut_ptr(), input.len(), totals.as_mut_ptr()) }
    }

    /// Scans a slice in place, and writes the total of each segment, as [`run_with_totals`](Scan::run_with_totals)
    /// gives it.
    ///
    /// # Errors
    ///
    /// As [`run_into_with_totals`](Scan::run_into_with_totals).
    pub fn run_in_place_with_totals<T>(&self, buffer: &mut [T], totals: &mut [Op::Carry]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.check_totals(buffer.len(), totals.len())?;
        let (to, len) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: buffer and totals are slices, exclusively borrowed.
        unsafe { self.run_each_at(to.cast_const(), to, len, totals.as_mut_ptr()) }
    }
}

impl<Op: ScanOp, H: HostHeads, G: Goal> Scan<Op, H, G> {
    /// How many segments there are, each of which has an initial value, or a total.
    pub(crate) fn check_each(&self, len: usize) -> Result<usize, Error> {
        let heads = self.heads.heads();
        heads.check(len)?;
        heads.check_each(len)
    }

    /// An error if there are not as many totals as segments.
    pub(crate) fn check_totals(&self, len: usize, found: usize) -> Result<(), Error> {
        expect_len("totals", found, self.check_each(len)?, "there is one total for each segment")
    }

    /// Scans segments of host memory of which each has an initial value, a total, or both.
    ///
    /// # Safety
    ///
    /// `input` is valid for reads and `output` for writes of `len` elements. They are one, or do not overlap. `totals`
    /// is null, or valid for a write of the total of each segment.
    pub(super) unsafe fn run_each_at(
        &self,
        input: *const Op::Input,
        output: *mut Op::Output,
        len: usize,
        totals: *mut Op::Carry,
    ) -> Result<(), Error> {
        let places = HostPlaces::of(input, output, len);
        // SAFETY: the caller vouches for the memory.
        unsafe { self.run_each(Elements { input, output }, &places, totals) }
    }

    /// The same of memory that lies otherwise.
    ///
    /// # Safety
    ///
    /// As for [`run_each_at`](Scan::run_each_at); both describe one memory.
    pub(crate) unsafe fn run_each<M: Memory<Op>>(
        &self,
        memory: M,
        host: &HostPlaces,
        totals: *mut Op::Carry,
    ) -> Result<(), Error> {
        let wanted = Totals::per_segment(!totals.is_null());
        let count = self.check_each(host.len)?;
        match self.scanner.engine() {
            Engine::Cuda(device) if host.len > 0 => {
                // SAFETY: the caller vouches for the memory.
                unsafe { self.call(wanted).scan_on_device(device, host, HostTotals::per_segment(totals, count)) }
            }
            _ => {
                self.check_planned(wanted)?;
                let _span = tells_of_calls().then(|| computing::<Op>(host.len));
                let Scan { op, kind, order, initial_value, .. } = self;
                let (heads, totals) = (self.heads.heads(), (!totals.is_null()).then_some(TotalsAt(totals)));
                let values = self.initial_values();
                // SAFETY: as above; the values have been counted.
                unsafe { cpu::scan_each(op, *kind, *order, *initial_value, values, &heads, memory, host.len, totals)? };
                self.report_all(host.len);
                Ok(())
            }
        }
    }
}
