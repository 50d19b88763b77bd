//! One call: a scan or a reduction with segments, values, totals, an axis or a stream.

use std::{fmt, marker::PhantomData};

use scan_codegen::Axis;

mod lent;
mod memory;
mod outcome;

pub(crate) use lent::Lent;
pub use memory::{Array, ArrayMut, Device, Host, Memory};
pub(crate) use outcome::Place;
pub use outcome::{Outcome, Prefixes, PrefixesAndTotal, PrefixesAndTotals, Results, Totals};

use crate::{HeadFlag, Scan, ScanElement, ScanOp, SegmentOffset, heads::HeadKind};

/// A scan or a reduction with what one call brings: segments, an initial value for each, totals, an axis, a stream.
/// Made by a [`Scan`] or a handle that is [`Prepared`](crate::Prepared), and run as often as you like, on the thread
/// that made it.
///
/// `M` is the memory of its arrays, [`Host`] or [`Device`]; `R` is its outcome: [`Prefixes`], prefixes and
/// [the total](PrefixesAndTotal) or [the total of each segment](PrefixesAndTotals), or the [`Totals`] of a reduction.
///
/// Of `by_flags`, `by_bits`, `by_keys`, `by_offsets`, `rows` and `along`, the last call counts.
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
/// Of device memory only the lengths are checked: offsets that do not ascend, or lie beyond the input, give unspecified
/// segments, though never an access out of bounds.
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
    pub fn by_bits<'b>(self, bits: &'b (impl Array<u32, M> + ?Sized)) -> Run<'b, Op, M, R>
    where
        'a: 'b,
    {
        self.with(HeadKind::Bits, bits)
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
        self.with(HeadKind::Offsets(T::WIDTH), offsets)
    }

    /// Restarts after every `len` elements; see [`Scan::rows`](Scan::rows).
    pub fn rows(self, len: usize) -> Self {
        Run::new(M::with_rows(self.call, len))
    }

    /// Works along an axis of an array; see [`Scan::along`](Scan::along).
    pub fn along(self, axis: Axis) -> Self {
        Run::new(M::along(self.call, axis))
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

    /// Writes the total of each segment, as [`with_totals`](Run::with_totals) gives it, to memory of yours; see
    /// [`Scan::totals_into`](Scan::totals_into).
    pub fn totals_into<'b>(self, totals: &'b mut (impl ArrayMut<Op::Carry, M> + ?Sized)) -> Run<'b, Op, M>
    where
        'a: 'b,
    {
        Run::new(M::with_totals_into(self.call, totals.array_mut()))
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
