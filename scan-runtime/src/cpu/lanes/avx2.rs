//! Registers of AVX2: 32 bytes in two halves. Few instructions cross the middle.
//!
//! Everything here needs a machine with AVX2. The functions are inlined into [`scan`] and [`fold`], which enable it for
//! the compiler, and which are called only after a check of the machine.

use std::{arch::x86_64::*, mem::transmute_copy};

use super::{Add, And, ExclusiveOr, Larger, Multiply, Or, Places, Restarts, Smaller, Sums};
use crate::ScanOp;

/// Bytes of a register.
const REGISTER_BYTES: usize = 32;

/// A type of which a register holds several values.
#[allow(clippy::missing_safety_doc, reason = "all need AVX2, as the module says")]
pub trait Lane: Copy {
    /// Whether folding in any order gives the same bits.
    const ANY_ORDER: bool;
    /// The zero that changes no bit of what it is added to, where there are two zeros.
    const NEUTRAL_ZERO: Option<Self> = None;
    /// The sum of each lane.
    unsafe fn add(a: __m256i, b: __m256i) -> __m256i;
    /// The product of each lane.
    unsafe fn multiply(a: __m256i, b: __m256i) -> __m256i;
    /// The larger of each lane.
    unsafe fn larger(a: __m256i, b: __m256i) -> __m256i;
    /// The smaller of each lane.
    unsafe fn smaller(a: __m256i, b: __m256i) -> __m256i;
    /// The larger of each lane, where none is a NaN.
    #[inline(always)]
    unsafe fn larger_number(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the machine has AVX2.
        unsafe { Self::larger(a, b) }
    }
    /// The smaller of each lane, where none is a NaN.
    #[inline(always)]
    unsafe fn smaller_number(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the machine has AVX2.
        unsafe { Self::smaller(a, b) }
    }
    /// Whether no lane of either is a NaN.
    #[inline(always)]
    unsafe fn are_numbers(_a: __m256i, _b: __m256i) -> bool {
        true
    }
}

/// An operation on all lanes of two registers.
#[allow(clippy::missing_safety_doc, reason = "all need AVX2, as the module says")]
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
    unsafe fn apply<T: Lane>(a: __m256i, b: __m256i) -> __m256i;
}

macro_rules! applies {
    ($($name:ident: $any_grouping:literal, $function:expr $(, $identity_is_zero:literal)?;)*) => {$(
        impl Apply for $name {
            const ANY_GROUPING: bool = $any_grouping;
            $(const IDENTITY_IS_ZERO: bool = $identity_is_zero;)?
            type OfNumbers = Self;
            #[inline(always)]
            unsafe fn apply<T: Lane>(a: __m256i, b: __m256i) -> __m256i {
                // SAFETY: the machine has AVX2.
                unsafe { $function(a, b) }
            }
        }
    )*};
}

applies! {
    Add: false, T::add, true;
    Multiply: false, T::multiply;
    And: true, _mm256_and_si256;
    Or: true, _mm256_or_si256, true;
    ExclusiveOr: true, _mm256_xor_si256, true;
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
            unsafe fn apply<T: Lane>(a: __m256i, b: __m256i) -> __m256i {
                // SAFETY: the machine has AVX2.
                unsafe { $function(a, b) }
            }
        }
    )*};
}

applies_to_numbers! {
    Larger: T::larger, LargerNumber: T::larger_number;
    Smaller: T::smaller, SmallerNumber: T::smaller_number;
}

/// See [`Vectorized::neutral`](super::Vectorized::neutral).
pub(super) fn neutral<T: Lane, V: Apply>(identity: T) -> T {
    T::NEUTRAL_ZERO.filter(|_| V::IDENTITY_IS_ZERO).unwrap_or(identity)
}

/// Whether any grouping gives the same bits.
pub(super) const fn any_grouping<T: Lane, V: Apply>() -> bool {
    T::ANY_ORDER || V::ANY_GROUPING
}

macro_rules! lanes {
    ($($ty:ident: $any_order:literal, $add:expr, $multiply:expr, $larger:expr, $smaller:expr $(, of_numbers $more:tt)?;)*) => {$(
        impl Lane for $ty {
            const ANY_ORDER: bool = $any_order;
            #[inline(always)]
            unsafe fn add(a: __m256i, b: __m256i) -> __m256i {
                // SAFETY: the machine has AVX2.
                unsafe { $add(a, b) }
            }
            #[inline(always)]
            unsafe fn multiply(a: __m256i, b: __m256i) -> __m256i {
                // SAFETY: the machine has AVX2.
                unsafe { $multiply(a, b) }
            }
            #[inline(always)]
            unsafe fn larger(a: __m256i, b: __m256i) -> __m256i {
                // SAFETY: the machine has AVX2.
                unsafe { $larger(a, b) }
            }
            #[inline(always)]
            unsafe fn smaller(a: __m256i, b: __m256i) -> __m256i {
                // SAFETY: the machine has AVX2.
                unsafe { $smaller(a, b) }
            }
            $(of_numbers! $more;)?
        }
    )*};
}

/// What floats have besides: two zeros, and operations that are simpler without NaNs. The instructions give the second
/// operand if both are equal, and so if both are zeros.
macro_rules! of_numbers {
    ($cast:ident, $larger:ident, $smaller:ident, $compare:ident, $mask:ident, $back:ident) => {
        const NEUTRAL_ZERO: Option<Self> = Some(-0.0);
        #[inline(always)]
        unsafe fn larger_number(a: __m256i, b: __m256i) -> __m256i {
            // SAFETY: the machine has AVX2.
            unsafe { $back($larger($cast(b), $cast(a))) }
        }
        #[inline(always)]
        unsafe fn smaller_number(a: __m256i, b: __m256i) -> __m256i {
            // SAFETY: the machine has AVX2.
            unsafe { $back($smaller($cast(b), $cast(a))) }
        }
        #[inline(always)]
        unsafe fn are_numbers(a: __m256i, b: __m256i) -> bool {
            // SAFETY: the machine has AVX2.
            unsafe { $mask($compare::<_CMP_UNORD_Q>($cast(a), $cast(b))) == 0 }
        }
    };
}

lanes! {
    i8: true, _mm256_add_epi8, multiply_8, _mm256_max_epi8, _mm256_min_epi8;
    u8: true, _mm256_add_epi8, multiply_8, _mm256_max_epu8, _mm256_min_epu8;
    bool: true, _mm256_and_si256, _mm256_and_si256, _mm256_or_si256, _mm256_and_si256;
    i16: true, _mm256_add_epi16, _mm256_mullo_epi16, _mm256_max_epi16, _mm256_min_epi16;
    u16: true, _mm256_add_epi16, _mm256_mullo_epi16, _mm256_max_epu16, _mm256_min_epu16;
    i32: true, _mm256_add_epi32, _mm256_mullo_epi32, _mm256_max_epi32, _mm256_min_epi32;
    u32: true, _mm256_add_epi32, _mm256_mullo_epi32, _mm256_max_epu32, _mm256_min_epu32;
    i64: true, _mm256_add_epi64, multiply_64, larger_i64, smaller_i64;
    u64: true, _mm256_add_epi64, multiply_64, larger_u64, smaller_u64;
    isize: true, _mm256_add_epi64, multiply_64, larger_i64, smaller_i64;
    usize: true, _mm256_add_epi64, multiply_64, larger_u64, smaller_u64;
    f32: false, add_f32, multiply_f32, larger_f32, smaller_f32, of_numbers
        (_mm256_castsi256_ps, _mm256_max_ps, _mm256_min_ps, _mm256_cmp_ps, _mm256_movemask_ps, _mm256_castps_si256);
    f64: false, add_f64, multiply_f64, larger_f64, smaller_f64, of_numbers
        (_mm256_castsi256_pd, _mm256_max_pd, _mm256_min_pd, _mm256_cmp_pd, _mm256_movemask_pd, _mm256_castpd_si256);
}

/// Operations for which AVX2 has no instruction on these lanes.
macro_rules! made_of_several {
    ($($name:ident($a:ident, $b:ident): $body:block)*) => {$(
        #[inline(always)]
        unsafe fn $name($a: __m256i, $b: __m256i) -> __m256i {
            // SAFETY: the machine has AVX2.
            unsafe { $body }
        }
    )*};
}

made_of_several! {
    multiply_8(a, b): {
        let even = _mm256_mullo_epi16(a, b);
        let odd = _mm256_mullo_epi16(_mm256_srli_epi16::<8>(a), _mm256_srli_epi16::<8>(b));
        _mm256_blendv_epi8(_mm256_slli_epi16::<8>(odd), even, _mm256_set1_epi16(0x00ff))
    }
    multiply_64(a, b): {
        let (a_high, b_high) = (_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
        let middle = _mm256_add_epi64(_mm256_mul_epu32(a_high, b), _mm256_mul_epu32(a, b_high));
        _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64::<32>(middle))
    }
    larger_i64(a, b): { _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b)) }
    smaller_i64(a, b): { _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b)) }
    larger_u64(a, b): { _mm256_blendv_epi8(b, a, is_greater_u64(a, b)) }
    smaller_u64(a, b): { _mm256_blendv_epi8(a, b, is_greater_u64(a, b)) }
    // With the highest bit turned over, the order of unsigned numbers is that of signed ones.
    is_greater_u64(a, b): {
        let high = _mm256_set1_epi64x(i64::MIN);
        _mm256_cmpgt_epi64(_mm256_xor_si256(a, high), _mm256_xor_si256(b, high))
    }
    add_f32(a, b): { _mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b))) }
    add_f64(a, b): { _mm256_castpd_si256(_mm256_add_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b))) }
    multiply_f32(a, b): { _mm256_castps_si256(_mm256_mul_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b))) }
    multiply_f64(a, b): { _mm256_castpd_si256(_mm256_mul_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b))) }
    // As the bodies of `ops::Max` and `ops::Min`, which differ from the instructions of these names for NaNs and zeros.
    larger_f32(a, b): { chosen_f32::<_CMP_GE_OQ>(a, b) }
    smaller_f32(a, b): { chosen_f32::<_CMP_LE_OQ>(a, b) }
    larger_f64(a, b): { chosen_f64::<_CMP_GE_OQ>(a, b) }
    smaller_f64(a, b): { chosen_f64::<_CMP_LE_OQ>(a, b) }
}

macro_rules! chosen {
    ($($name:ident: $cast:ident, $compare:ident, $or:ident, $blend:ident, $back:ident;)*) => {$(
        /// `a` if the comparison holds, or if `a` is NaN; else `b`.
        #[inline(always)]
        unsafe fn $name<const COMPARISON: i32>(a: __m256i, b: __m256i) -> __m256i {
            // SAFETY: the machine has AVX2.
            unsafe {
                let (a, b) = ($cast(a), $cast(b));
                $back($blend(b, a, $or($compare::<COMPARISON>(a, b), $compare::<_CMP_UNORD_Q>(a, a))))
            }
        }
    )*};
}

chosen! {
    chosen_f32: _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_or_ps, _mm256_blendv_ps, _mm256_castps_si256;
    chosen_f64: _mm256_castsi256_pd, _mm256_cmp_pd, _mm256_or_pd, _mm256_blendv_pd, _mm256_castpd_si256;
}

/// Scans places with the exclusive prefix `before.with_before`; `before.alone` is the neutral value. If any grouping
/// gives the same bits, the fold of the places alone is not needed and not computed: it would take a fourth of the time.
///
/// # Safety
///
/// The machine has AVX2. The places are valid for reads and writes, and no other thread accesses them.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn scan<Op, T, V, const EXCLUSIVE: bool>(op: &Op, places: Places<Op>, before: &Sums<T>) -> Sums<T>
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
            let block = _mm256_loadu_si256(input.add(index).cast());
            let to = output.add(index).cast();
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
    block: __m256i,
    to: *mut __m256i,
    with_before: __m256i,
    fill: __m256i,
) -> (__m256i, __m256i) {
    // SAFETY: the machine has AVX2, and the caller guarantees the place.
    unsafe {
        let block = prefixes::<T, V>(block, fill);
        let covered = if EXCLUSIVE { up_by_one::<T>(block, fill) } else { block };
        _mm256_storeu_si256(to, V::apply::<T>(with_before, covered));
        let last = spread_last::<T>(block);
        (V::apply::<T>(with_before, last), last)
    }
}

/// Folds places with the exclusive prefix `before.with_before`; `before.alone` is the neutral value.
///
/// # Safety
///
/// The machine has AVX2. The places are valid for reads, and no thread writes them.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn fold<Op, T, V>(op: &Op, places: Places<Op>, before: &Sums<T>) -> T
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
        let load = |index: usize| _mm256_loadu_si256(input.add(index).cast());
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
#[target_feature(enable = "avx2")]
pub(super) unsafe fn restart<Op, T, V, const EXCLUSIVE: bool, const REVERSED: bool>(
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
    // The lowest bit is that of the next place in the order of the scan.
    let mut heads = if REVERSED { heads.reverse_bits() >> (u64::BITS as usize - len.clamp(1, 64)) } else { heads };
    // SAFETY: as for `scan`.
    unsafe {
        let (fill, beginning) = (spread(identity), spread(begin));
        let mut sum = spread(before);
        let mut done = 0;
        while len - done >= width {
            let index = if REVERSED { len - done - width } else { done };
            let begins = lanes_of_bits::<T>(heads);
            let block = in_order::<T, REVERSED>(_mm256_loadu_si256(input.add(index).cast()));
            let (block, begun) = prefixes_of_segments::<T, V>(block, begins, fill);
            let with_before = V::apply::<T>(_mm256_blendv_epi8(sum, beginning, begun), block);
            let covered = match EXCLUSIVE {
                true => _mm256_blendv_epi8(up_by_one::<T>(with_before, sum), beginning, begins),
                false => with_before,
            };
            _mm256_storeu_si256(output.add(index).cast(), in_order::<T, REVERSED>(covered));
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
unsafe fn in_order<T: Lane, const REVERSED: bool>(block: __m256i) -> __m256i {
    if !REVERSED {
        return block;
    }
    // SAFETY: the machine has AVX2.
    unsafe {
        // The lanes of each half, then the halves.
        let halves = match size_of::<T>() {
            1 => {
                let lanes = _mm256_setr_epi64x(
                    0x0809_0a0b_0c0d_0e0f,
                    0x0001_0203_0405_0607,
                    0x0809_0a0b_0c0d_0e0f,
                    0x0001_0203_0405_0607,
                );
                _mm256_shuffle_epi8(block, lanes)
            }
            2 => {
                let lanes = _mm256_setr_epi64x(
                    0x0908_0b0a_0d0c_0f0e,
                    0x0100_0302_0504_0706,
                    0x0908_0b0a_0d0c_0f0e,
                    0x0100_0302_0504_0706,
                );
                _mm256_shuffle_epi8(block, lanes)
            }
            4 => return _mm256_permutevar8x32_epi32(block, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0)),
            _ => return _mm256_permute4x64_epi64::<0b00_01_10_11>(block),
        };
        _mm256_permute2x128_si256::<0x01>(halves, halves)
    }
}

/// The inclusive scan of a block that restarts where `begins` is set, and a mask of the lanes at or after a restart.
#[inline(always)]
unsafe fn prefixes_of_segments<T: Lane, V: Apply>(
    mut block: __m256i,
    begins: __m256i,
    fill: __m256i,
) -> (__m256i, __m256i) {
    let lane = size_of::<T>();
    let mut begun = begins;
    macro_rules! after {
        ($earlier:expr, $earlier_begun:expr) => {{
            let earlier = match V::IDENTITY_IS_ZERO {
                true => _mm256_andnot_si256(begun, $earlier),
                false => _mm256_blendv_epi8($earlier, fill, begun),
            };
            block = V::apply::<T>(earlier, block);
            begun = _mm256_or_si256(begun, $earlier_begun);
        }};
    }
    // SAFETY: the machine has AVX2.
    unsafe {
        let nowhere = _mm256_setzero_si256();
        if lane <= 1 {
            after!(_mm256_alignr_epi8::<15>(block, fill), _mm256_alignr_epi8::<15>(begun, nowhere));
        }
        if lane <= 2 {
            after!(_mm256_alignr_epi8::<14>(block, fill), _mm256_alignr_epi8::<14>(begun, nowhere));
        }
        if lane <= 4 {
            after!(_mm256_alignr_epi8::<12>(block, fill), _mm256_alignr_epi8::<12>(begun, nowhere));
        }
        after!(_mm256_alignr_epi8::<8>(block, fill), _mm256_alignr_epi8::<8>(begun, nowhere));
        after!(
            _mm256_permute2x128_si256::<0x02>(last_of_halves::<T>(block), fill),
            _mm256_permute2x128_si256::<0x02>(last_of_halves::<T>(begun), nowhere)
        );
        (block, begun)
    }
}

/// All ones on the lanes whose bit is set.
#[inline(always)]
unsafe fn lanes_of_bits<T: Lane>(bits: u64) -> __m256i {
    // SAFETY: the machine has AVX2.
    unsafe {
        match size_of::<T>() {
            1 => {
                // Each byte of the bits on eight lanes.
                let bytes = _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
                let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
                let bits = _mm256_shuffle_epi8(_mm256_set1_epi32(bits as i32), bytes);
                _mm256_cmpeq_epi8(_mm256_and_si256(bits, bit), bit)
            }
            2 => {
                let bit =
                    _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, i16::MIN);
                _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_set1_epi16(bits as i16), bit), bit)
            }
            4 => {
                let bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
                _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits as i32), bit), bit)
            }
            _ => {
                let bit = _mm256_setr_epi64x(1, 2, 4, 8);
                _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(bits as i64), bit), bit)
            }
        }
    }
}

/// The inclusive scan of a block: of each half by doubling, then of the halves.
#[inline(always)]
unsafe fn prefixes<T: Lane, V: Apply>(mut block: __m256i, fill: __m256i) -> __m256i {
    let lane = size_of::<T>();
    // SAFETY: the machine has AVX2.
    unsafe {
        if lane <= 1 {
            block = V::apply::<T>(_mm256_alignr_epi8::<15>(block, fill), block);
        }
        if lane <= 2 {
            block = V::apply::<T>(_mm256_alignr_epi8::<14>(block, fill), block);
        }
        if lane <= 4 {
            block = V::apply::<T>(_mm256_alignr_epi8::<12>(block, fill), block);
        }
        block = V::apply::<T>(_mm256_alignr_epi8::<8>(block, fill), block);
        // The last lane of the lower half for all of the upper one, and `fill` for the lower one.
        let below = _mm256_permute2x128_si256::<0x02>(last_of_halves::<T>(block), fill);
        V::apply::<T>(below, block)
    }
}

/// Shifts everything up by a lane, across the middle; the first lane is of `fill`.
#[inline(always)]
unsafe fn up_by_one<T: Lane>(block: __m256i, fill: __m256i) -> __m256i {
    // SAFETY: the machine has AVX2.
    unsafe {
        // The lanes from below: `fill` for the lower half, the lower half for the upper.
        let below = _mm256_permute2x128_si256::<0x02>(block, fill);
        match size_of::<T>() {
            1 => _mm256_alignr_epi8::<15>(block, below),
            2 => _mm256_alignr_epi8::<14>(block, below),
            4 => _mm256_alignr_epi8::<12>(block, below),
            _ => _mm256_alignr_epi8::<8>(block, below),
        }
    }
}

/// The last lane of each half, on all lanes of the half.
#[inline(always)]
unsafe fn last_of_halves<T: Lane>(block: __m256i) -> __m256i {
    // SAFETY: the machine has AVX2.
    unsafe {
        match size_of::<T>() {
            1 => _mm256_shuffle_epi8(block, _mm256_set1_epi8(15)),
            2 => _mm256_shuffle_epi8(block, _mm256_set1_epi16(0x0f0e)),
            4 => _mm256_shuffle_epi32::<0b11_11_11_11>(block),
            _ => _mm256_shuffle_epi32::<0b11_10_11_10>(block),
        }
    }
}

/// The last lane, on all lanes.
#[inline(always)]
unsafe fn spread_last<T: Lane>(block: __m256i) -> __m256i {
    // SAFETY: the machine has AVX2.
    unsafe {
        let last = last_of_halves::<T>(block);
        _mm256_permute2x128_si256::<0x11>(last, last)
    }
}

/// A value on all lanes.
#[inline(always)]
unsafe fn spread<T: Lane>(value: T) -> __m256i {
    // SAFETY: the machine has AVX2, and each arm reads as many bytes as a T has.
    unsafe {
        match size_of::<T>() {
            1 => _mm256_set1_epi8(transmute_copy(&value)),
            2 => _mm256_set1_epi16(transmute_copy(&value)),
            4 => _mm256_set1_epi32(transmute_copy(&value)),
            _ => _mm256_set1_epi64x(transmute_copy(&value)),
        }
    }
}

/// The first lane.
#[inline(always)]
unsafe fn first<T: Lane>(block: __m256i) -> T {
    // SAFETY: the lanes are values of T.
    unsafe { transmute_copy(&block) }
}
