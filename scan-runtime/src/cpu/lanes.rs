//! Ranges of the built-in operators, a vector register at a time.
//!
//! A block is a register of elements. It is scanned on its own, by doubling, and then combined with its exclusive
//! prefix: the dependency between blocks is one instruction only. The remainder at the end goes element by element
//! through the operator's own body.

// Each architecture has a file of its own. One without such a file has no registers, as `machine.rs` says.
#[cfg_attr(all(target_arch = "aarch64", target_endian = "little"), path = "lanes/neon.rs")]
#[cfg_attr(target_arch = "x86_64", path = "lanes/avx2.rs")]
mod machine;

use std::ops::Range;

use super::{Order, loops::of};
use crate::{ScanKind, ScanOp};
pub use machine::{Apply, Lane};

macro_rules! instructions {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
    )*};
}

instructions! {
    /// The sum; integers wrap.
    Add;
    /// The product; integers wrap.
    Multiply;
    /// The larger, as by [`ops::Max`](crate::ops::Max).
    Larger;
    /// The smaller, as by [`ops::Min`](crate::ops::Min).
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

/// The exclusive prefix of the first element of a range, that of each head in it, and the identity.
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
    neutral: fn(Op::State) -> Op::State,
    /// The segmented scans of each kind and order, if any order gives the same bits.
    segments: Option<[[Restart<Op>; 2]; 2]>,
}

impl<Op: ScanOp> Vectorized<Op> {
    /// The loops; `None` if the machine does not have the registers. `V` applies the operator to each lane.
    #[inline]
    pub(crate) fn new<T: Lane, V: Apply>() -> Option<Self>
    where
        Op: ScanOp<Input = T, State = T, Carry = T, Output = T>,
    {
        machine::functions::<Op, T, V>().map(Vectorized)
    }

    /// Whether any grouping gives the same bits.
    #[inline]
    pub(super) fn any_grouping(&self) -> bool {
        self.0.any_grouping
    }

    /// The value that changes no bit of any other, on either side. The identity of a sum of floats, 0.0, turns -0.0 into
    /// 0.0.
    #[inline]
    pub(super) fn neutral(&self, identity: Op::State) -> Op::State {
        (self.0.neutral)(identity)
    }

    /// Scans a range with the exclusive prefix `before.with_before`; `before.alone` is the neutral value. `alone` of the
    /// result is meaningful only if the bits depend on the grouping.
    ///
    /// # Safety
    ///
    /// The places are valid for reads and writes, and no other thread accesses them.
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
        // SAFETY: the machine has the registers, or there would be no `self`; the caller guarantees the places.
        unsafe { scan(op, places, before) }
    }

    /// Folds a range with the exclusive prefix `before.with_before`; `before.alone` is the neutral value. The result is
    /// bit for bit `with_before` of the scan, and its `alone` if that prefix is the neutral value.
    ///
    /// # Safety
    ///
    /// The places are valid for reads, and no thread writes them.
    pub(super) unsafe fn fold(&self, op: &Op, places: Places<Op>, before: &Sums<Op::State>) -> Op::State {
        // SAFETY: as above.
        unsafe { (self.0.fold)(op, places, before) }
    }

    /// Whether there is a segmented scan: any order gives the same bits.
    #[inline]
    pub(super) fn restarts(&self) -> bool {
        self.0.segments.is_some()
    }

    /// Scans a range of up to 64 elements, in which the scan begins anew at element `i` if bit `i` of `heads` is set,
    /// and gives the prefix after it. `None`, without any effect, if the bits would depend on the order.
    ///
    /// # Safety
    ///
    /// The places are valid for reads and writes, and no other thread accesses them.
    #[inline]
    pub(super) unsafe fn restart(
        &self,
        (kind, order): (ScanKind, Order),
        op: &Op,
        places: Places<Op>,
        heads: u64,
        restarts: &Restarts<Op::State>,
    ) -> Option<Op::State> {
        let restart = of(kind, order, self.0.segments.as_ref()?);
        // SAFETY: as above.
        Some(unsafe { restart(op, places, heads, restarts) })
    }
}
