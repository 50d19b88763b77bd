//! Ranges of the ready operators, a vector register at a time.
//!
//! A block is a register of elements. It is scanned by itself, by doubling, and then put after what stands before it: blocks
//! wait for each other for one instruction only. What is left over at the end goes element by element through the
//! operator's own body.

#[cfg(target_arch = "x86_64")]
mod avx2;

use std::ops::Range;

use crate::{ScanKind, ScanOp};

#[cfg(target_arch = "x86_64")]
pub use avx2::{Apply, Lane};

/// A type of which a register holds several.
#[cfg(not(target_arch = "x86_64"))]
pub trait Lane: Copy {}

#[cfg(not(target_arch = "x86_64"))]
impl<T: Copy> Lane for T {}

/// What is applied to all lanes of two registers.
#[cfg(not(target_arch = "x86_64"))]
pub trait Apply: 'static {}

macro_rules! instructions {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        #[cfg(not(target_arch = "x86_64"))]
        impl Apply for $name {}
    )*};
}

instructions! {
    /// The sum; integers wrap.
    Add;
    /// The product; integers wrap.
    Multiply;
    /// The larger, as [`ops::Max`](crate::ops::Max) has it.
    Larger;
    /// The smaller, as [`ops::Min`](crate::ops::Min) has it.
    Smaller;
    /// Bitwise and.
    And;
    /// Bitwise or.
    Or;
    /// Bitwise exclusive or.
    ExclusiveOr;
}

/// A range of elements: where it is read, where it is written, how long it is.
pub(crate) struct Places<Op: ScanOp> {
    pub(crate) input: *const Op::Input,
    pub(crate) output: *mut Op::Output,
    pub(crate) len: usize,
}

impl<Op: ScanOp> Clone for Places<Op> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Op: ScanOp> Copy for Places<Op> {}

impl<Op: ScanOp> Places<Op> {
    /// Those of a range, which is in bounds.
    #[inline(always)]
    pub(super) fn part(&self, range: &Range<usize>) -> Self {
        let (input, output) = (self.input.wrapping_add(range.start), self.output.wrapping_add(range.start));
        Places { input, output, len: range.len() }
    }
}

/// Two sums up to some element: with what stands before the range, and of the range alone.
#[derive(Clone, Copy)]
pub(super) struct Sums<S> {
    pub(super) with_before: S,
    pub(super) alone: S,
}

type Scan<Op> = unsafe fn(&Op, Places<Op>, &Sums<<Op as ScanOp>::State>) -> Sums<<Op as ScanOp>::State>;
type Fold<Op> = unsafe fn(&Op, Places<Op>, &Sums<<Op as ScanOp>::State>) -> <Op as ScanOp>::State;

type Restart<Op> = unsafe fn(&Op, Places<Op>, u64, &Restarts<<Op as ScanOp>::State>) -> <Op as ScanOp>::State;

/// What stands before the first element of a range, and of each segment that begins in it; and the identity.
#[derive(Clone, Copy)]
pub(super) struct Restarts<S> {
    pub(super) before: S,
    pub(super) begin: S,
    pub(super) identity: S,
}

/// An operator's loops over vector registers, for this machine.
pub struct Vectorized<Op: ScanOp>(&'static Functions<Op>);

impl<Op: ScanOp> Clone for Vectorized<Op> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Op: ScanOp> Copy for Vectorized<Op> {}

struct Functions<Op: ScanOp> {
    inclusive: Scan<Op>,
    exclusive: Scan<Op>,
    fold: Fold<Op>,
    any_grouping: bool,
    /// Those that restart, where any grouping gives the same bits.
    segments: Option<[Restart<Op>; 2]>,
}

impl<Op: ScanOp> Vectorized<Op> {
    /// The loops; `None` where the machine does not have the registers. `V` does to each lane what the operator does to a
    /// value.
    #[inline]
    pub(crate) fn new<T: Lane, V: Apply>() -> Option<Self>
    where
        Op: ScanOp<Input = T, State = T, Carry = T, Output = T>,
    {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            return Some(Vectorized(
                const {
                    &Functions {
                        inclusive: avx2::scan::<Op, T, V, false>,
                        exclusive: avx2::scan::<Op, T, V, true>,
                        fold: avx2::fold::<Op, T, V>,
                        any_grouping: avx2::any_grouping::<T, V>(),
                        segments: if T::ANY_ORDER {
                            Some([avx2::restart::<Op, T, V, false>, avx2::restart::<Op, T, V, true>])
                        } else {
                            None
                        },
                    }
                },
            ));
        }
        None
    }

    /// Whether any grouping gives the same bits.
    #[inline]
    pub(super) fn any_grouping(&self) -> bool {
        self.0.any_grouping
    }

    /// Scans a range, after `before.with_before`; `before.alone` is the identity. `alone` of the result says something only where
    /// the grouping shows.
    ///
    /// # Safety
    ///
    /// The places are valid for reads and writes, and nobody else touches them.
    #[inline]
    pub(super) unsafe fn scan(
        &self,
        kind: ScanKind,
        op: &Op,
        places: Places<Op>,
        before: &Sums<Op::State>,
    ) -> Sums<Op::State> {
        let scan = match kind {
            ScanKind::Inclusive => self.0.inclusive,
            ScanKind::Exclusive => self.0.exclusive,
        };
        // SAFETY: the machine has the registers, or there would be no `self`; the caller vouches for the places.
        unsafe { scan(op, places, before) }
    }

    /// Folds a range, after `before.with_before`; `before.alone` is the identity. The result is bit for bit `with_before` of
    /// the scan, and `alone` of it where the identity stands before it.
    ///
    /// # Safety
    ///
    /// The places are valid for reads, and nobody writes there.
    pub(super) unsafe fn fold(&self, op: &Op, places: Places<Op>, before: &Sums<Op::State>) -> Op::State {
        // SAFETY: as above.
        unsafe { (self.0.fold)(op, places, before) }
    }

    /// Scans a range of up to 64 elements, bit `i` of `heads` telling whether element `i` begins a segment, and gives what stands
    /// after it. `None` where the bits would depend on the grouping, and nothing has been done.
    ///
    /// # Safety
    ///
    /// The places are valid for reads and writes, and nobody else touches them.
    #[inline]
    pub(super) unsafe fn restart(
        &self,
        kind: ScanKind,
        op: &Op,
        places: Places<Op>,
        heads: u64,
        restarts: &Restarts<Op::State>,
    ) -> Option<Op::State> {
        let [inclusive, exclusive] = self.0.segments?;
        let restart = match kind {
            ScanKind::Inclusive => inclusive,
            ScanKind::Exclusive => exclusive,
        };
        // SAFETY: as above.
        Some(unsafe { restart(op, places, heads, restarts) })
    }
}
