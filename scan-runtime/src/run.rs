//! One call: a scan or a reduction with segments, values, totals, an axis or a stream.

use std::{fmt, marker::PhantomData};

mod along;
mod lent;
mod memory;
mod outcome;

pub use along::Along;
pub(crate) use along::AxisOf;
pub(crate) use lent::Lent;
#[cfg(feature = "cuda")]
pub use memory::Device;
pub use memory::{Array, ArrayMut, Buffer, Host, Memory};
pub(crate) use memory::{HostSlice, HostSliceMut};
pub(crate) use outcome::{NewReduced, NewResults, Place};
pub use outcome::{Outcome, Prefixes, PrefixesAndTotal, PrefixesAndTotals, Results, Totals};

use crate::{
    BitWord, Error, HeadFlag, Prepared, Scan, ScanElement, ScanOp, SegmentOffset,
    arrays::{Input, Output, Shape},
    heads::{Bits, HeadKind},
};

/// A scan or a reduction with what one call brings: segments, an initial value for each, totals, an axis, a stream.
/// Made by a [`Scan`] or a handle that is [`Prepared`](crate::Prepared), and run as often as you like, on the thread
/// that made it.
///
/// `M` is the memory of its arrays, [`Host`] or [`Device`]; `R` is its outcome: [`Prefixes`], prefixes and
/// [the total](PrefixesAndTotal) or [the total of each segment](PrefixesAndTotals), or the [`Totals`] of a reduction.
///
/// Of `by_flags`, `by_bits`, `by_bits_at`, `by_keys`, `by_offsets`, `by_ranges`, `rows` and `along`, the last call
/// counts.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let sums = Scanner::new()?.scan(ops::sum());
/// let (shops, prices) = ([7_u64, 7, 8, 8, 8, 7], [5, 2, 9, 1, 4, 3]);
/// assert_eq!(sums.by_keys(&shops).run(&prices)?, [5, 7, 9, 10, 14, 3]);
/// let (rows, totals) = sums.rows(3).init_each(&[100, 0]).with_totals().run(&prices)?;
/// assert_eq!((rows, totals), (vec![105, 107, 116, 1, 5, 8], vec![116, 8]));
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// # Device memory
///
/// A run that is made by [`Scan::on`](Scan::on) enqueues its work on the stream and returns: nothing is copied,
/// and the host does not wait. Errors that happen while the work runs are reported by the driver at a later call, such
/// as the stream's `synchronize`; then [`Scanner::check`](crate::Scanner::check) names the operator to blame, and so
/// does the next scan.
///
/// Of device memory only the lengths are checked: offsets that do not ascend, are negative, or lie beyond the input,
/// give unspecified segments, though never an access out of bounds.
///
/// ```no_run
/// use scan_runtime::{Scanner, ops};
///
/// let scanner = Scanner::cuda(0)?;
/// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
/// let (flags, mut buffer) = (stream.clone_htod(&[1_u8, 0, 0, 1, 0])?, stream.clone_htod(&[1, 2, 3, 4, 5])?);
/// scanner.scan(ops::sum()).on(&stream).by_flags(&flags).run_in_place(&mut buffer)?;
/// assert_eq!(stream.clone_dtoh(&buffer)?, [1, 3, 6, 4, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is scanned until it is run"]
pub struct Run<'a, Op: ScanOp, M: Memory = Host, R = Prefixes> {
    pub(crate) call: M::Call<'a, Op>,
    of: PhantomData<fn() -> R>,
}

impl<'a, Op: ScanOp, M: Memory, R> Run<'a, Op, M, R> {
    pub(crate) fn new(call: M::Call<'a, Op>) -> Self {
        Run { call, of: PhantomData }
    }

    fn with<'b, T: ScanElement>(self, kind: HeadKind, heads: &'b (impl Array<T, M> + ?Sized)) -> Run<'b, Op, M, R>
    where
        'a: 'b,
    {
        Run::new(M::with_heads(self.call, kind, heads.array()))
    }

    /// Restarts at every element whose flag is set; see [`Scan::by_flags`](Scan::by_flags).
    pub fn by_flags<'b, F: HeadFlag>(self, flags: &'b (impl Array<F, M> + ?Sized)) -> Run<'b, Op, M, R>
    where
        'a: 'b,
    {
        self.with(HeadKind::Flags, flags)
    }

    /// Restarts at every element whose bit is set; see [`Scan::by_bits`](Scan::by_bits).
    pub fn by_bits<'b, W: BitWord>(self, bits: &'b (impl Array<W, M> + ?Sized)) -> Run<'b, Op, M, R>
    where
        'a: 'b,
    {
        self.with(HeadKind::Bits(Bits::of::<W>()), bits)
    }

    /// The same, where the bit of the first element is not the first one; see
    /// [`Scan::by_bits_at`](Scan::by_bits_at).
    pub fn by_bits_at<'b, W: BitWord>(self, bits: &'b (impl Array<W, M> + ?Sized), first: usize) -> Run<'b, Op, M, R>
    where
        'a: 'b,
    {
        self.with(HeadKind::Bits(Bits::at::<W>(first)), bits)
    }

    /// Restarts wherever the key is another than that of the element before; see
    /// [`Scan::by_keys`](Scan::by_keys).
    pub fn by_keys<'b, K: ScanElement>(self, keys: &'b (impl Array<K, M> + ?Sized)) -> Run<'b, Op, M, R>
    where
        'a: 'b,
    {
        self.with(HeadKind::keys::<K>(), keys)
    }

    /// Restarts at these positions, which ascend; see [`Scan::by_offsets`](Scan::by_offsets).
    pub fn by_offsets<'b, T: SegmentOffset>(self, offsets: &'b (impl Array<T, M> + ?Sized)) -> Run<'b, Op, M, R>
    where
        'a: 'b,
    {
        self.with(HeadKind::Offsets(T::TYPE), offsets)
    }

    /// Restarts after every `len` elements; see [`Scan::rows`](Scan::rows).
    pub fn rows(self, len: usize) -> Self {
        Run::new(M::with_rows(self.call, len))
    }

    /// Works along an axis of an array; see [`Scan::along`](Scan::along).
    pub fn along(self, axis: impl Into<M::Axis>) -> Self {
        Run::new(M::along(self.call, axis.into()))
    }

    /// Puts a value of its own before the first element of each segment; see
    /// [`Scan::init_each`](Scan::init_each). Values in device memory are read when the scan runs.
    pub fn init_each<'b>(self, values: &'b (impl Array<Op::Carry, M> + ?Sized)) -> Run<'b, Op, M, R>
    where
        'a: 'b,
    {
        Run::new(M::with_initial_values(self.call, values.array()))
    }
}

/// Segments that only a reduction has.
impl<'a, Op: ScanOp, M: Memory> Run<'a, Op, M, Totals> {
    /// Reduces the elements from `begins[k]` to before `ends[k]` to result `k`; see
    /// [`Reduce::by_ranges`](crate::Reduce::by_ranges).
    pub fn by_ranges<'b, T: SegmentOffset>(
        self,
        begins: &'b (impl Array<T, M> + ?Sized),
        ends: &'b (impl Array<T, M> + ?Sized),
    ) -> Run<'b, Op, M, Totals>
    where
        'a: 'b,
    {
        Run::new(M::with_ranges(self.call, begins.array(), ends.array()))
    }
}

/// Totals in addition to prefixes. The last call counts.
impl<'a, Op: ScanOp, M: Memory, R: Results> Run<'a, Op, M, R> {
    /// Gives the total as well; see [`Scan::with_total`](Scan::with_total).
    pub fn with_total(self) -> Run<'a, Op, M, PrefixesAndTotal> {
        Run::new(self.call)
    }

    /// Gives the total of each segment as well; see [`Scan::with_totals`](Scan::with_totals).
    pub fn with_totals(self) -> Run<'a, Op, M, PrefixesAndTotals> {
        Run::new(self.call)
    }

    /// Writes the total, as [`with_total`](Run::with_total) gives it, to an array of one element. Where there is none,
    /// without elements and initial value, the identity or `START` is written, as for an empty segment in
    /// [`totals_into`](Run::totals_into).
    ///
    /// Two parts of one array get `n + 1` offsets from `n` lengths:
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let (lengths, mut offsets) = ([3_u32, 0, 4], [0; 4]);
    /// let (starts, end) = offsets.split_at_mut(lengths.len());
    /// Scanner::new()?.scan(ops::sum()).exclusive().total_into(end).run_into(&lengths, starts)?;
    /// assert_eq!(offsets, [0, 3, 3, 7]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// So do two views of a device slice:
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let lengths = stream.clone_htod(&[3_u32, 0, 4])?;
    /// let mut offsets = stream.alloc_zeros(4)?;
    /// let (mut starts, mut end) = offsets.split_at_mut(3);
    /// scanner.scan(ops::sum()).exclusive().on(&stream).total_into(&mut end).run_into(&lengths, &mut starts)?;
    /// assert_eq!(stream.clone_dtoh(&offsets)?, [0, 3, 3, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A run gives [`Error::Length`] if the total is not one element, and
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) for no elements, no initial value and no identity.
    pub fn total_into<'b>(self, total: &'b mut (impl ArrayMut<Op::Carry, M> + ?Sized)) -> Run<'b, Op, M>
    where
        'a: 'b,
    {
        Run::new(M::with_total_into(self.call, total.array_mut()))
    }

    /// Writes the total of each segment, as [`with_totals`](Run::with_totals) gives it, to memory of yours; see
    /// [`Scan::totals_into`](Scan::totals_into).
    pub fn totals_into<'b>(self, totals: &'b mut (impl ArrayMut<Op::Carry, M> + ?Sized)) -> Run<'b, Op, M>
    where
        'a: 'b,
    {
        Run::new(M::with_totals_into(self.call, totals.array_mut()))
    }
}

/// Ways to run.
///
/// In host memory a run returns when its results are there. On a GPU it copies to the device, scans there, copies back,
/// and waits; more than 32 MiB go through the device in chunks, if
/// [`Staging::with_chunk_bytes`](crate::Staging::with_chunk_bytes) says nothing else. In device memory a run enqueues
/// its work on the stream.
///
/// # Errors
///
/// - Of all runs: those of [`Scan::run`] and [`Scan::run_into`].
/// - Of segments: [`Error::Length`] if there are more or fewer flags, bits, keys, values or totals than the input
///   requires, [`Error::OffsetsDescend`] and [`Error::OffsetPastEnd`] if the offsets are none, [`Error::RangeBounds`] of
///   ranges that are not within the input, [`Error::RowLength`] for rows that do not fill the input, and
///   [`PlanError::NoElements`](crate::PlanError::NoElements) for the total of an empty segment without an initial value
///   and an identity.
/// - Along an axis: [`Error::AxisLength`] if an array has another number of elements than the shape,
///   [`Error::AxisInPlace`] in place if the axis has other strides of the results than of the elements,
///   [`Error::StridedLength`] and [`AxisError::Strides`](crate::AxisError::Strides) for
///   [strides](crate::arrays::strided) of an array.
/// - Over device memory: [`Error::NotCuda`] on a CPU scanner, [`Error::ForeignContext`] if the stream or a buffer are of
///   another context, [`Error::OutOfDeviceMemory`], [`Error::HeadBitsAlignment`] of [bits](Scan::by_bits_at),
///   [`Error::UnknownSegments`] of a reduction by flags, bits or keys without [`count_into`](Run::count_into), and along
///   an axis [`Error::Plan`] for arrays that are gathered, scattered, or indices, unless the columns are rows and no
///   array has strides of its own.
#[allow(clippy::missing_errors_doc, reason = "above, for all of them")]
impl<Op: ScanOp, M: Memory, R: Outcome> Run<'_, Op, M, R> {
    /// Runs over an input into new memory: a scan gives a result for each element, a reduction one for each segment.
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
    #[inline]
    pub fn run<S: Shape>(&self, input: impl Input<Op::Input, M, Shape = S>) -> Result<R::New<M, Op, S>, Error> {
        R::run::<M, Op, S>(&self.call, input)
    }

    /// Runs over an input into an output, of as many elements as there are results.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let mut starts = [0; 3];
    /// let scan = Scanner::new()?.scan(ops::sum()).exclusive();
    /// let len = scan.with_total().run_into(&[3_u32, 0, 4], &mut starts)?;
    /// assert_eq!((starts, len), ([0, 3, 3], Some(7)));
    ///
    /// // The results of a reduction, an array for each field: of each row of three the least and the largest.
    /// let (mut least, mut largest) = ([0; 2], [0; 2]);
    /// let bounds = Scanner::new()?.reduce(ops::pair(ops::min(), ops::max()));
    /// bounds.rows(3).run_into(&[5, 1, 4, 8, 9, 7], (&mut least, &mut largest))?;
    /// assert_eq!((least, largest), ([1, 7], [5, 9]));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    #[inline]
    pub fn run_into(
        &self,
        input: impl Input<Op::Input, M>,
        output: impl Output<Op::Output, M>,
    ) -> Result<R::Also<M, Op>, Error> {
        R::run_into::<M, Op>(&self.call, input, output)
    }

    /// Prepares runs like this one of up to `max_len` elements, over one slice of elements and one of results: what a
    /// first call does is done here. See [`Prepared`]. The lengths of the arrays given here do not matter.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where no kernel can do it, on the CPU too, [`Error::AlreadyPrepared`] for a run of a handle, and
    /// whatever can go wrong when kernels are compiled. On a stream [`Error::NotCuda`] on a CPU scanner,
    /// [`Error::ForeignContext`] if it is of another context, [`Error::Captured`] and [`Error::PerThreadStream`] if it
    /// is no stream to prepare on, and [`Error::OutOfDeviceMemory`].
    pub fn prepare(&self, max_len: usize) -> Result<Prepared<Op, M, R::OfHandle>, Error> {
        M::prepare(&self.call, R::TOTALS, max_len).map(Prepared::new)
    }

    /// Prepares runs over arrays of the same kinds as these: slices, indices, and [others](crate::arrays), one, or one
    /// for each field. Their lengths do not matter.
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
        input: impl Input<Op::Input, M>,
        output: impl Output<Op::Output, M>,
        max_len: usize,
    ) -> Result<Prepared<Op, M, R::OfHandle>, Error> {
        M::prepare_like(&self.call, input, output, R::TOTALS, max_len).map(Prepared::new)
    }
}

impl<Op: ScanOp, M: Memory, R: Results> Run<'_, Op, M, R> {
    /// Scans an array in place.
    ///
    /// # Errors
    ///
    /// As [`run`](Run::run), and as [`Scan::run_in_place`].
    #[inline]
    pub fn run_in_place<T: ScanElement>(
        &self,
        buffer: &mut (impl Buffer<T, M> + ?Sized),
    ) -> Result<R::Totals<M, Op::Carry>, Error>
    where
        Op: ScanOp<Input = T, Output = T>,
    {
        M::scan_in_place::<R, Op, T>(&self.call, buffer)
    }
}

impl<'a, Op: ScanOp, M: Memory, R> Clone for Run<'a, Op, M, R> {
    fn clone(&self) -> Self {
        Run::new(M::clone(&self.call))
    }
}

/// A run that brings nothing but its input.
impl<'a, Op: ScanOp, R: Outcome> From<&'a Scan<Op, R>> for Run<'a, Op, Host, R> {
    fn from(scan: &'a Scan<Op, R>) -> Self {
        scan.call()
    }
}

impl<Op: ScanOp, M: Memory, R: Outcome> fmt::Debug for Run<'_, Op, M, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        M::debug(&self.call, f)
    }
}
