//! Registers of NEON: 16 bytes. Every processor of this architecture has them.
//!
//! A value lies in the memory as in a register: processors whose order of bytes is the other way round have no loops
//! over registers.

mod registers;

use std::{arch::aarch64::*, mem::transmute_copy};

pub(super) use registers::functions;
use registers::lanes;
pub use registers::{Apply, Lane};

/// Lanes of any type.
type Register = uint8x16_t;

/// Whether the machine has the registers.
#[inline]
fn is_available() -> bool {
    true
}

/// A register of lanes that begin at a place, aligned or not.
#[inline(always)]
unsafe fn load<T: Lane>(from: *const T) -> Register {
    // SAFETY: the machine has NEON, and the caller guarantees the place.
    unsafe { vld1q_u8(from.cast()) }
}

/// Writes lanes to where a place begins, aligned or not.
#[inline(always)]
unsafe fn store<T: Lane>(to: *mut T, block: Register) {
    // SAFETY: the machine has NEON, and the caller guarantees the place.
    unsafe { vst1q_u8(to.cast(), block) }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($($operand:ident),*): $body:block)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name($($operand: Register),*) -> Register {
            // SAFETY: the machine has NEON.
            unsafe { $body }
        }
    )*};
}

operations! {
    /// No bit is set.
    nothing(): { vdupq_n_u8(0) }
    and(a, b): { vandq_u8(a, b) }
    or(a, b): { vorrq_u8(a, b) }
    exclusive_or(a, b): { veorq_u8(a, b) }
    /// `a`, but zero on the lanes of the mask.
    and_not(a, mask): { vbicq_u8(a, mask) }
    /// `a`, but `b` on the lanes of the mask.
    blend(a, b, mask): { vbslq_u8(mask, b, a) }
}

/// Operations of one instruction on lanes of a type, which take and give registers of it.
macro_rules! of_one {
    ($($as_lanes:ident, $back:ident: $($name:ident = $instruction:ident),*;)*) => {
        operations! { $($($name(a, b): { $back($instruction($as_lanes(a), $as_lanes(b))) })*)* }
    };
}

of_one! {
    vreinterpretq_s8_u8, vreinterpretq_u8_s8: larger_i8 = vmaxq_s8, smaller_i8 = vminq_s8;
    vreinterpretq_s16_u8, vreinterpretq_u8_s16: larger_i16 = vmaxq_s16, smaller_i16 = vminq_s16;
    vreinterpretq_s32_u8, vreinterpretq_u8_s32: larger_i32 = vmaxq_s32, smaller_i32 = vminq_s32;
    vreinterpretq_u16_u8, vreinterpretq_u8_u16:
        add_16 = vaddq_u16, multiply_16 = vmulq_u16, larger_u16 = vmaxq_u16, smaller_u16 = vminq_u16;
    vreinterpretq_u32_u8, vreinterpretq_u8_u32:
        add_32 = vaddq_u32, multiply_32 = vmulq_u32, larger_u32 = vmaxq_u32, smaller_u32 = vminq_u32;
    vreinterpretq_u64_u8, vreinterpretq_u8_u64: add_64 = vaddq_u64, is_greater_u64 = vcgtq_u64;
    vreinterpretq_f32_u8, vreinterpretq_u8_f32: add_f32 = vaddq_f32, multiply_f32 = vmulq_f32;
    vreinterpretq_f64_u8, vreinterpretq_u8_f64: add_f64 = vaddq_f64, multiply_f64 = vmulq_f64;
}

// What NEON has no instruction for.
operations! {
    multiply_64(a, b): {
        let (a_low, b_low) = (vmovn_u64(vreinterpretq_u64_u8(a)), vmovn_u64(vreinterpretq_u64_u8(b)));
        // The lower half of one with the upper half of the other, both ways.
        let middle = vmulq_u32(vreinterpretq_u32_u8(a), vrev64q_u32(vreinterpretq_u32_u8(b)));
        vreinterpretq_u8_u64(vmlal_u32(vshlq_n_u64::<32>(vpaddlq_u32(middle)), a_low, b_low))
    }
    larger_i64(a, b): { blend(b, a, is_greater_i64(a, b)) }
    smaller_i64(a, b): { blend(a, b, is_greater_i64(a, b)) }
    larger_u64(a, b): { blend(b, a, is_greater_u64(a, b)) }
    smaller_u64(a, b): { blend(a, b, is_greater_u64(a, b)) }
    is_greater_i64(a, b): { vreinterpretq_u8_u64(vcgtq_s64(vreinterpretq_s64_u8(a), vreinterpretq_s64_u8(b))) }
}

/// As the bodies of `ops::Max` and `ops::Min`, which differ from the instructions of these names for NaNs and zeros:
/// `a` if the comparison holds, or if `a` is NaN; else `b`. Without NaNs two of the four instructions would do. Whether
/// it pays to ask for NaNs first has not been measured.
macro_rules! chosen {
    ($($name:ident: $as_lanes:ident, $compare:ident, $equal:ident, $back:ident;)*) => {
        operations! {$(
            $name(a, b): {
                let (a_lanes, b_lanes) = ($as_lanes(a), $as_lanes(b));
                let is_number = $equal(a_lanes, a_lanes);
                blend(b, a, vornq_u8($back($compare(a_lanes, b_lanes)), $back(is_number)))
            }
        )*}
    };
}

chosen! {
    larger_f32: vreinterpretq_f32_u8, vcgeq_f32, vceqq_f32, vreinterpretq_u8_u32;
    smaller_f32: vreinterpretq_f32_u8, vcleq_f32, vceqq_f32, vreinterpretq_u8_u32;
    larger_f64: vreinterpretq_f64_u8, vcgeq_f64, vceqq_f64, vreinterpretq_u8_u64;
    smaller_f64: vreinterpretq_f64_u8, vcleq_f64, vceqq_f64, vreinterpretq_u8_u64;
}

lanes! {
    i8: exact, vaddq_u8, vmulq_u8, larger_i8, smaller_i8;
    u8: exact, vaddq_u8, vmulq_u8, vmaxq_u8, vminq_u8;
    bool: exact, vandq_u8, vandq_u8, vorrq_u8, vandq_u8;
    i16: exact, add_16, multiply_16, larger_i16, smaller_i16;
    u16: exact, add_16, multiply_16, larger_u16, smaller_u16;
    i32: exact, add_32, multiply_32, larger_i32, smaller_i32;
    u32: exact, add_32, multiply_32, larger_u32, smaller_u32;
    i64: exact, add_64, multiply_64, larger_i64, smaller_i64;
    u64: exact, add_64, multiply_64, larger_u64, smaller_u64;
    isize: exact, add_64, multiply_64, larger_i64, smaller_i64;
    usize: exact, add_64, multiply_64, larger_u64, smaller_u64;
    f32: rounded, add_f32, multiply_f32, larger_f32, smaller_f32;
    f64: rounded, add_f64, multiply_f64, larger_f64, smaller_f64;
}

/// The lanes, the last one first.
#[inline(always)]
unsafe fn reversed<T: Lane>(block: Register) -> Register {
    // SAFETY: the machine has NEON.
    unsafe {
        // The lanes of each half, then the halves.
        let halves = match size_of::<T>() {
            1 => vrev64q_u8(block),
            2 => vreinterpretq_u8_u16(vrev64q_u16(vreinterpretq_u16_u8(block))),
            4 => vreinterpretq_u8_u32(vrev64q_u32(vreinterpretq_u32_u8(block))),
            _ => block,
        };
        vextq_u8::<8>(halves, halves)
    }
}

/// All ones on the lanes whose bit is set.
#[inline(always)]
unsafe fn lanes_of_bits<T: Lane>(bits: u64) -> Register {
    // SAFETY: the machine has NEON.
    unsafe {
        match size_of::<T>() {
            1 => {
                let bit = vcreate_u8(0x8040_2010_0804_0201);
                let bytes = vcombine_u8(vdup_n_u8(bits as u8), vdup_n_u8((bits >> 8) as u8));
                vtstq_u8(bytes, vcombine_u8(bit, bit))
            }
            2 => {
                let bit = vcombine_u16(vcreate_u16(0x0008_0004_0002_0001), vcreate_u16(0x0080_0040_0020_0010));
                vreinterpretq_u8_u16(vtstq_u16(vdupq_n_u16(bits as u16), bit))
            }
            4 => {
                let bit = vcombine_u32(vcreate_u32(0x0000_0002_0000_0001), vcreate_u32(0x0000_0008_0000_0004));
                vreinterpretq_u8_u32(vtstq_u32(vdupq_n_u32(bits as u32), bit))
            }
            _ => {
                let bit = vcombine_u64(vcreate_u64(1), vcreate_u64(2));
                vreinterpretq_u8_u64(vtstq_u64(vdupq_n_u64(bits), bit))
            }
        }
    }
}

/// The lanes that doubling adds to those of a block: from `BYTES` bytes below, and `fill` at the beginning.
#[allow(clippy::extra_unused_type_parameters, reason = "registers of two halves have a step that needs it")]
#[inline(always)]
unsafe fn lower<T: Lane, const BYTES: usize>(block: Register, fill: Register) -> Register {
    // SAFETY: the machine has NEON.
    unsafe {
        match BYTES {
            1 => vextq_u8::<15>(fill, block),
            2 => vextq_u8::<14>(fill, block),
            4 => vextq_u8::<12>(fill, block),
            _ => vextq_u8::<8>(fill, block),
        }
    }
}

/// Shifts everything up by a lane; the first lane is the last one of `fill`.
#[inline(always)]
unsafe fn up_by_one<T: Lane>(block: Register, fill: Register) -> Register {
    // SAFETY: the machine has NEON.
    unsafe {
        match size_of::<T>() {
            1 => lower::<T, 1>(block, fill),
            2 => lower::<T, 2>(block, fill),
            4 => lower::<T, 4>(block, fill),
            _ => lower::<T, 8>(block, fill),
        }
    }
}

/// The last lane, on all lanes.
#[inline(always)]
unsafe fn spread_last<T: Lane>(block: Register) -> Register {
    // SAFETY: the machine has NEON.
    unsafe {
        match size_of::<T>() {
            1 => vdupq_laneq_u8::<15>(block),
            2 => vreinterpretq_u8_u16(vdupq_laneq_u16::<7>(vreinterpretq_u16_u8(block))),
            4 => vreinterpretq_u8_u32(vdupq_laneq_u32::<3>(vreinterpretq_u32_u8(block))),
            _ => vreinterpretq_u8_u64(vdupq_laneq_u64::<1>(vreinterpretq_u64_u8(block))),
        }
    }
}

/// A value on all lanes.
#[inline(always)]
unsafe fn spread<T: Lane>(value: T) -> Register {
    // SAFETY: the machine has NEON, and each arm reads as many bytes as a T has.
    unsafe {
        match size_of::<T>() {
            1 => vdupq_n_u8(transmute_copy(&value)),
            2 => vreinterpretq_u8_u16(vdupq_n_u16(transmute_copy(&value))),
            4 => vreinterpretq_u8_u32(vdupq_n_u32(transmute_copy(&value))),
            _ => vreinterpretq_u8_u64(vdupq_n_u64(transmute_copy(&value))),
        }
    }
}
