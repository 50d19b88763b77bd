//! Registers of AVX2: 32 bytes in two halves. Few instructions cross the middle.
//!
//! Everything here needs a machine with AVX2, and is inlined into functions that enable it for the compiler.

mod registers;

use std::{arch::x86_64::*, mem::transmute_copy};

pub(super) use registers::functions;
use registers::lanes;
pub use registers::{Apply, Lane};

/// Lanes of any type.
type Register = __m256i;

/// Whether the machine has the registers.
#[inline]
fn is_available() -> bool {
    is_x86_feature_detected!("avx2")
}

/// A register of lanes that begin at a place, aligned or not.
#[inline(always)]
unsafe fn load<T: Lane>(from: *const T) -> __m256i {
    // SAFETY: the machine has AVX2, and the caller guarantees the place.
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// Writes lanes to where a place begins, aligned or not.
#[inline(always)]
unsafe fn store<T: Lane>(to: *mut T, block: __m256i) {
    // SAFETY: the machine has AVX2, and the caller guarantees the place.
    unsafe { _mm256_storeu_si256(to.cast(), block) }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($($operand:ident),*): $body:block)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name($($operand: __m256i),*) -> __m256i {
            // SAFETY: the machine has AVX2.
            unsafe { $body }
        }
    )*};
}

operations! {
    /// No bit is set.
    nothing(): { _mm256_setzero_si256() }
    and(a, b): { _mm256_and_si256(a, b) }
    or(a, b): { _mm256_or_si256(a, b) }
    exclusive_or(a, b): { _mm256_xor_si256(a, b) }
    /// `a`, but zero on the lanes of the mask.
    and_not(a, mask): { _mm256_andnot_si256(mask, a) }
    /// `a`, but `b` on the lanes of the mask.
    blend(a, b, mask): { _mm256_blendv_epi8(a, b, mask) }
}

// What AVX2 has no instruction for.
operations! {
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

/// Operations on floats that are simpler without NaNs. The instructions give the second operand if both are equal, and
/// so if both are zeros.
macro_rules! of_numbers {
    ($cast:ident, $larger:ident, $smaller:ident, $compare:ident, $mask:ident, $back:ident) => {
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
    i8: exact, _mm256_add_epi8, multiply_8, _mm256_max_epi8, _mm256_min_epi8;
    u8: exact, _mm256_add_epi8, multiply_8, _mm256_max_epu8, _mm256_min_epu8;
    bool: exact, _mm256_and_si256, _mm256_and_si256, _mm256_or_si256, _mm256_and_si256;
    i16: exact, _mm256_add_epi16, _mm256_mullo_epi16, _mm256_max_epi16, _mm256_min_epi16;
    u16: exact, _mm256_add_epi16, _mm256_mullo_epi16, _mm256_max_epu16, _mm256_min_epu16;
    i32: exact, _mm256_add_epi32, _mm256_mullo_epi32, _mm256_max_epi32, _mm256_min_epi32;
    u32: exact, _mm256_add_epi32, _mm256_mullo_epi32, _mm256_max_epu32, _mm256_min_epu32;
    i64: exact, _mm256_add_epi64, multiply_64, larger_i64, smaller_i64;
    u64: exact, _mm256_add_epi64, multiply_64, larger_u64, smaller_u64;
    isize: exact, _mm256_add_epi64, multiply_64, larger_i64, smaller_i64;
    usize: exact, _mm256_add_epi64, multiply_64, larger_u64, smaller_u64;
    f32: rounded, add_f32, multiply_f32, larger_f32, smaller_f32, of_numbers!
        (_mm256_castsi256_ps, _mm256_max_ps, _mm256_min_ps, _mm256_cmp_ps, _mm256_movemask_ps, _mm256_castps_si256);
    f64: rounded, add_f64, multiply_f64, larger_f64, smaller_f64, of_numbers!
        (_mm256_castsi256_pd, _mm256_max_pd, _mm256_min_pd, _mm256_cmp_pd, _mm256_movemask_pd, _mm256_castpd_si256);
}

/// The lanes, the last one first.
#[inline(always)]
unsafe fn reversed<T: Lane>(block: __m256i) -> __m256i {
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

/// The lanes that doubling adds to those of a block: from `BYTES` bytes below, in each half, and `fill` at its
/// beginning. In the last step, the last lane of the lower half for all of the upper one, and `fill` for the lower one.
#[inline(always)]
unsafe fn lower<T: Lane, const BYTES: usize>(block: __m256i, fill: __m256i) -> __m256i {
    // SAFETY: the machine has AVX2.
    unsafe {
        match BYTES {
            1 => _mm256_alignr_epi8::<15>(block, fill),
            2 => _mm256_alignr_epi8::<14>(block, fill),
            4 => _mm256_alignr_epi8::<12>(block, fill),
            8 => _mm256_alignr_epi8::<8>(block, fill),
            _ => _mm256_permute2x128_si256::<0x02>(last_of_halves::<T>(block), fill),
        }
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
