//! Loops over registers, the same on every architecture that has them.
//!
//! The parent module is the file of an architecture. It has the type of a register and the functions of which these
//! loops are made: to load and to store, to move lanes, and to apply an operation to each.
//!
//! Everything here needs a machine with these registers. The functions are inlined into [`scan`], [`fold`] and
//! [`restart`], which enable them for the compiler, and which are called only after a check of the machine.

use std::mem::transmute_copy;

use super::{
    super::{Add, And, ExclusiveOr, Functions, Larger, Multiply, Or, Places, Restarts, Smaller, Sums},
    Register, and, and_not, blend, exclusive_or, is_available, lanes_of_bits, load, lower, nothing, or, reversed,
    spread, spread_last, store, up_by_one,
};
use crate::ScanOp;

/// Bytes of a register.
const REGISTER_BYTES: usize = size_of::<Register>();

/// A type of which a register holds several values.
#[allow(clippy::missing_safety_doc, reason = "all need the registers, as the module says")]
pub trait Lane: Copy {
    /// Whether folding in any order gives the same bits.
    const ANY_ORDER: bool;
    /// The zero that changes no bit of the other operand of a sum, where there are two zeros.
    const NEUTRAL_ZERO: Option<Self> = None;
    /// The sum of each lane.
    unsafe fn add(a: Register, b: Register) -> Register;
    /// The product of each lane.
    unsafe fn multiply(a: Register, b: Register) -> Register;
    /// The larger of each lane.
    unsafe fn larger(a: Register, b: Register) -> Register;
    /// The smaller of each lane.
    unsafe fn smaller(a: Register, b: Register) -> Register;
    /// The larger of each lane, where none is a NaN.
    #[inline(always)]
    unsafe fn larger_number(a: Register, b: Register) -> Register {
        // SAFETY: the machine has the registers.
        unsafe { Self::larger(a, b) }
    }
    /// The smaller of each lane, where none is a NaN.
    #[inline(always)]
    unsafe fn smaller_number(a: Register, b: Register) -> Register {
        // SAFETY: the machine has the registers.
        unsafe { Self::smaller(a, b) }
    }
    /// Whether no lane of either is a NaN, or NaNs need no care.
    #[inline(always)]
    unsafe fn are_numbers(_a: Register, _b: Register) -> bool {
        true
    }
}

/// An operation on all lanes of two registers.
#[allow(clippy::missing_safety_doc, reason = "all need the registers, as the module says")]
pub trait Apply: 'static {
    /// Whether any grouping gives the same bits, for all types of lanes.
    const ANY_GROUPING: bool;
    /// Whether no bit of the identity is set, for all types of integers.
    const IDENTITY_IS_ZERO: bool = false;
    /// The same if no lane is a NaN, in fewer instructions.
    type OfNumbers: Apply;
    /// Whether that has fewer instructions, so that a check for NaNs pays.
    const ASKS_FOR_NUMBERS: bool = false;
    /// Applies it, lanes of `a` on the left.
    unsafe fn apply<T: Lane>(a: Register, b: Register) -> Register;
}

macro_rules! applies {
    ($($name:ident: $any_grouping:literal, $function:expr $(, $identity_is_zero:literal)?;)*) => {$(
        impl Apply for $name {
            const ANY_GROUPING: bool = $any_grouping;
            $(const IDENTITY_IS_ZERO: bool = $identity_is_zero;)?
            type OfNumbers = Self;
            #[inline(always)]
            unsafe fn apply<T: Lane>(a: Register, b: Register) -> Register {
                // SAFETY: the machine has the registers.
                unsafe { $function(a, b) }
            }
        }
    )*};
}

applies! {
    Add: false, T::add, true;
    Multiply: false, T::multiply;
    And: true, and;
    Or: true, or, true;
    ExclusiveOr: true, exclusive_or, true;
}

macro_rules! applies_to_numbers {
    ($($name:ident: $function:expr, $of_numbers:ident: $function_of_numbers:expr;)*) => {$(
        /// As its namesake, if there are no NaNs.
        #[derive(Clone, Copy, Debug)]
        pub struct $of_numbers;
        applies! { $of_numbers: true, $function_of_numbers; }
        impl Apply for $name {
            // The first of the largest or smallest values; a NaN takes precedence over all.
            const ANY_GROUPING: bool = true;
            type OfNumbers = $of_numbers;
            const ASKS_FOR_NUMBERS: bool = true;
            #[inline(always)]
            unsafe fn apply<T: Lane>(a: Register, b: Register) -> Register {
                // SAFETY: the machine has the registers.
                unsafe { $function(a, b) }
            }
        }
    )*};
}

applies_to_numbers! {
    Larger: T::larger, LargerNumber: T::larger_number;
    Smaller: T::smaller, SmallerNumber: T::smaller_number;
}

/// What an architecture does with lanes of each type: its sum, product, larger and smaller value. Arithmetic is `exact`
/// or `rounded`.
macro_rules! lanes {
    ($($ty:ident: $arithmetic:ident, $add:expr, $multiply:expr, $larger:expr, $smaller:expr
        $(, $more:ident! $arguments:tt)?;)*) => {$(
        impl Lane for $ty {
            lanes! { @ $arithmetic }
            #[inline(always)]
            unsafe fn add(a: Register, b: Register) -> Register {
                // SAFETY: the machine has the registers.
                unsafe { $add(a, b) }
            }
            #[inline(always)]
            unsafe fn multiply(a: Register, b: Register) -> Register {
                // SAFETY: the machine has the registers.
                unsafe { $multiply(a, b) }
            }
            #[inline(always)]
            unsafe fn larger(a: Register, b: Register) -> Register {
                // SAFETY: the machine has the registers.
                unsafe { $larger(a, b) }
            }
            #[inline(always)]
            unsafe fn smaller(a: Register, b: Register) -> Register {
                // SAFETY: the machine has the registers.
                unsafe { $smaller(a, b) }
            }
            $($more! $arguments;)?
        }
    )*};
    (@ exact) => {
        const ANY_ORDER: bool = true;
    };
    (@ rounded) => {
        const ANY_ORDER: bool = false;
        const NEUTRAL_ZERO: Option<Self> = Some(-0.0);
    };
}
pub(super) use lanes;

/// The loops; `None` if the machine does not have the registers. `V` applies the operator to each lane.
#[inline]
pub(in super::super) fn functions<Op, T, V>() -> Option<&'static Functions<Op>>
where
    Op: ScanOp<Input = T, State = T, Carry = T, Output = T>,
    T: Lane,
    V: Apply,
{
    if !is_available() {
        return None;
    }
    Some(
        const {
            &Functions {
                inclusive: scan::<Op, T, V, false>,
                exclusive: scan::<Op, T, V, true>,
                fold: fold::<Op, T, V>,
                any_grouping: any_grouping::<T, V>(),
                neutral: neutral::<T, V>,
                segments: if T::ANY_ORDER {
                    Some([
                        [restart::<Op, T, V, false, false>, restart::<Op, T, V, false, true>],
                        [restart::<Op, T, V, true, false>, restart::<Op, T, V, true, true>],
                    ])
                } else {
                    None
                },
            }
        },
    )
}

/// See [`Vectorized::neutral`](super::super::Vectorized::neutral).
fn neutral<T: Lane, V: Apply>(identity: T) -> T {
    T::NEUTRAL_ZERO.filter(|_| V::IDENTITY_IS_ZERO).unwrap_or(identity)
}

/// Whether any grouping gives the same bits.
const fn any_grouping<T: Lane, V: Apply>() -> bool {
    T::ANY_ORDER || V::ANY_GROUPING
}

/// Scans places with the exclusive prefix `before.with_before`; `before.alone` is the neutral value. If any grouping
/// gives the same bits, the fold of the places alone is not needed and not computed: it would take a fourth of the
/// time.
///
/// # Safety
///
/// The machine has the registers. The places are valid for reads and writes, and no other thread accesses them.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn scan<Op, T, V, const EXCLUSIVE: bool>(op: &Op, places: Places<Op>, before: &Sums<T>) -> Sums<T>
where
    Op: ScanOp<Input = T, State = T, Carry = T, Output = T>,
    T: Lane,
    V: Apply,
{
    let Places { input, output, len } = places;
    let width = REGISTER_BYTES / size_of::<T>();
    // SAFETY: the indices are in bounds, and a place is read before it is written. The lanes are values of T, moved or
    // made as by the operator.
    unsafe {
        let fill = spread(before.alone);
        let (mut with_before, mut alone) = (spread(before.with_before), fill);
        let mut index = 0;
        while len - index >= width {
            let block = load(input.add(index));
            let to = output.add(index);
            if V::ASKS_FOR_NUMBERS && T::are_numbers(block, with_before) {
                with_before = scan_block::<T, V::OfNumbers, EXCLUSIVE>(block, to, with_before, fill).0;
            } else {
                let last;
                (with_before, last) = scan_block::<T, V, EXCLUSIVE>(block, to, with_before, fill);
                if !any_grouping::<T, V>() {
                    alone = V::apply::<T>(alone, last);
                }
            }
            index += width;
        }
        let mut sums = Sums { with_before: first::<T>(with_before), alone: first::<T>(alone) };
        while index < len {
            let next = op.lift(input.add(index).read());
            let with_this = op.combine(sums.with_before, next);
            output.add(index).write(op.project(if EXCLUSIVE { sums.with_before } else { with_this }));
            let alone = if any_grouping::<T, V>() { sums.alone } else { op.combine(sums.alone, next) };
            sums = Sums { with_before: with_this, alone };
            index += 1;
        }
        sums
    }
}

/// Scans a block with the exclusive prefix `with_before`, and gives the prefix after it, and the block's own aggregate
/// on all lanes.
#[inline(always)]
unsafe fn scan_block<T: Lane, V: Apply, const EXCLUSIVE: bool>(
    block: Register,
    to: *mut T,
    with_before: Register,
    fill: Register,
) -> (Register, Register) {
    // SAFETY: the machine has the registers, and the caller guarantees the place.
    unsafe {
        let block = prefixes::<T, V>(block, fill);
        let covered = if EXCLUSIVE { up_by_one::<T>(block, fill) } else { block };
        store(to, V::apply::<T>(with_before, covered));
        let last = spread_last::<T>(block);
        (V::apply::<T>(with_before, last), last)
    }
}

/// Folds places with the exclusive prefix `before.with_before`; `before.alone` is the neutral value.
///
/// # Safety
///
/// The machine has the registers. The places are valid for reads, and no thread writes them.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn fold<Op, T, V>(op: &Op, places: Places<Op>, before: &Sums<T>) -> T
where
    Op: ScanOp<Input = T, State = T, Carry = T, Output = T>,
    T: Lane,
    V: Apply,
{
    let Places { input, len, .. } = places;
    let width = REGISTER_BYTES / size_of::<T>();
    // SAFETY: as for `scan`.
    unsafe {
        let fill = spread(before.alone);
        let load = |index: usize| load(input.add(index));
        let mut sum = spread(before.with_before);
        let mut index = 0;
        if T::ANY_ORDER {
            // Lane by lane, several registers at once, and across the lanes at the end.
            let mut lanes = [fill; 4];
            while len - index >= 4 * width {
                for (offset, lanes) in lanes.iter_mut().enumerate() {
                    *lanes = V::apply::<T>(*lanes, load(index + offset * width));
                }
                index += 4 * width;
            }
            for lanes in lanes {
                sum = V::apply::<T>(sum, spread_last::<T>(prefixes::<T, V>(lanes, fill)));
            }
        }
        while len - index >= width {
            sum = V::apply::<T>(sum, spread_last::<T>(prefixes::<T, V>(load(index), fill)));
            index += width;
        }
        let mut sum = first::<T>(sum);
        while index < len {
            sum = op.combine(sum, op.lift(input.add(index).read()));
            index += 1;
        }
        sum
    }
}

/// Scans up to 64 places from either end; gives the last prefix. Place `i` begins anew, if bit `i` of `heads` is set.
/// The operator must give the same bits in any order.
///
/// # Safety
///
/// As for [`scan`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn restart<Op, T, V, const EXCLUSIVE: bool, const REVERSED: bool>(
    op: &Op,
    places: Places<Op>,
    heads: u64,
    restarts: &Restarts<T>,
) -> T
where
    Op: ScanOp<Input = T, State = T, Carry = T, Output = T>,
    T: Lane,
    V: Apply,
{
    let Places { input, output, len } = places;
    let Restarts { before, begin, identity } = *restarts;
    let width = REGISTER_BYTES / size_of::<T>();
    // The next place in the order of the scan has the lowest bit.
    let mut heads = if REVERSED { heads.reverse_bits() >> (u64::BITS as usize - len.clamp(1, 64)) } else { heads };
    // SAFETY: as for `scan`.
    unsafe {
        let (fill, beginning) = (spread(identity), spread(begin));
        let mut sum = spread(before);
        let mut done = 0;
        while len - done >= width {
            let index = if REVERSED { len - done - width } else { done };
            let begins = lanes_of_bits::<T>(heads);
            let block = in_order::<T, REVERSED>(load(input.add(index)));
            let (block, begun) = prefixes_of_segments::<T, V>(block, begins, fill);
            let with_before = V::apply::<T>(blend(sum, beginning, begun), block);
            let covered = match EXCLUSIVE {
                true => blend(up_by_one::<T>(with_before, sum), beginning, begins),
                false => with_before,
            };
            store(output.add(index), in_order::<T, REVERSED>(covered));
            sum = spread_last::<T>(with_before);
            heads >>= width;
            done += width;
        }
        let mut sum = first::<T>(sum);
        while done < len {
            let index = if REVERSED { len - done - 1 } else { done };
            let next = op.lift(input.add(index).read());
            let earlier = if heads & 1 != 0 { begin } else { sum };
            sum = op.combine(earlier, next);
            output.add(index).write(op.project(if EXCLUSIVE { earlier } else { sum }));
            heads >>= 1;
            done += 1;
        }
        sum
    }
}

/// The lanes, the last one first if `REVERSED`.
#[inline(always)]
unsafe fn in_order<T: Lane, const REVERSED: bool>(block: Register) -> Register {
    if !REVERSED {
        return block;
    }
    // SAFETY: the machine has the registers.
    unsafe { reversed::<T>(block) }
}

/// The steps of doubling on lanes of a type: calls the macro `$step` with the bytes of each.
macro_rules! double {
    ($lane:ty, $step:ident) => {
        if size_of::<$lane>() <= 1 {
            $step!(1);
        }
        if size_of::<$lane>() <= 2 {
            $step!(2);
        }
        if size_of::<$lane>() <= 4 {
            $step!(4);
        }
        $step!(8);
        if REGISTER_BYTES > 16 {
            $step!(16);
        }
    };
}

/// The inclusive scan of a block that restarts where `begins` is set, and a mask of the lanes at or after a restart.
#[inline(always)]
unsafe fn prefixes_of_segments<T: Lane, V: Apply>(
    mut block: Register,
    begins: Register,
    fill: Register,
) -> (Register, Register) {
    let mut begun = begins;
    macro_rules! step {
        ($bytes:literal) => {{
            let below = lower::<T, $bytes>(block, fill);
            let below = match V::IDENTITY_IS_ZERO {
                true => and_not(below, begun),
                false => blend(below, fill, begun),
            };
            block = V::apply::<T>(below, block);
            begun = or(begun, lower::<T, $bytes>(begun, nothing()));
        }};
    }
    // SAFETY: the machine has the registers.
    unsafe {
        double!(T, step);
        (block, begun)
    }
}

/// The inclusive scan of a block, by doubling.
#[inline(always)]
unsafe fn prefixes<T: Lane, V: Apply>(mut block: Register, fill: Register) -> Register {
    macro_rules! step {
        ($bytes:literal) => {
            block = V::apply::<T>(lower::<T, $bytes>(block, fill), block)
        };
    }
    // SAFETY: the machine has the registers.
    unsafe {
        double!(T, step);
        block
    }
}

/// The first lane.
#[inline(always)]
unsafe fn first<T: Lane>(block: Register) -> T {
    // SAFETY: the lanes are values of T.
    unsafe { transmute_copy(&block) }
}
