//! Values to run programs on: edges first, then random ones.

use super::types::{is_float, is_half, is_signed};
use crate::emulated::Random;
use scan_codegen::Primitive;

/// The bytes of a number, which is an edge as often as not.
pub(super) fn value(primitive: Primitive, random: &mut Random) -> Vec<u8> {
    let size = primitive.size();
    if primitive == Primitive::Bool {
        return vec![random.below(2) as u8];
    }
    if is_half(primitive) {
        // Zeros, ones, infinities, a NaN, and the like; then any bits.
        let few = (float(random) as f32).to_bits() >> 16;
        const EDGES: [u16; 10] = [0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 1, 0x7bff, 0x4248];
        let bits = match random.below(3) {
            0 if primitive == Primitive::F16 => EDGES[random.below(EDGES.len())],
            0 | 1 if primitive == Primitive::Bf16 => few as u16,
            _ => random.bits() as u16,
        };
        return bits.to_le_bytes().to_vec();
    }
    if is_float(primitive) {
        let value = float(random);
        let any = random.bits();
        return match (primitive, random.one_in(6)) {
            (Primitive::F32, true) => (any as u32).to_le_bytes().to_vec(),
            (Primitive::F32, false) => (value as f32).to_le_bytes().to_vec(),
            (_, true) => any.to_le_bytes().to_vec(),
            (_, false) => value.to_le_bytes().to_vec(),
        };
    }
    let bits = 8 * size;
    let top = 1_u128 << (bits - 1);
    let value = match random.below(8) {
        0 | 1 => random.below(10) as u128,
        2 => [31, 32, 33, 63, 64, 65, 100, 127][random.below(8)],
        3 if is_signed(primitive) => (random.below(10) as u128).wrapping_neg(),
        3 | 4 => (top - 2).wrapping_add(random.below(4) as u128),
        5 => (1_u128 << random.below(bits)).wrapping_sub(random.below(3) as u128),
        6 => 0_u128.wrapping_sub(random.below(3) as u128),
        _ => u128::from(random.bits()) << 64 | u128::from(random.bits()),
    };
    value.to_le_bytes()[..size].to_vec()
}

fn float(random: &mut Random) -> f64 {
    const EDGES: [f64; 24] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        -2.5,
        0.1,
        255.5,
        256.0,
        -129.0,
        2147483648.0,
        9.3e18,
        1.8446744073709552e19,
        1e10,
        -1e-10,
        1e-40,
        5e-324,
        f32::MAX as f64,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    match random.below(3) {
        0 => EDGES[random.below(EDGES.len())],
        1 => random.below(41) as f64 - 20.0,
        _ => (random.bits() as i64 as f64) / 2_f64.powi(random.below(80) as i32),
    }
}
