//! Sums and products of [`ops`] that are more exact than a loop in the type of their elements.

use super::{Example, Visitor, below, each_prefix, uniform};
use scan_runtime::{
    half::{bf16, f16},
    ops::{self, CheckedSum, CompensatedSum, ExactSum, Nullable, Position, ProductIn, SumIn},
};

/// How many operators [`visit_sums`] visits.
pub const SUMS: usize = 11;

/// Visits every operator.
pub fn visit_sums(visitor: &mut impl Visitor) {
    visitor.visit::<SumIn<f32, bf16>>("sum_in_f32_of_bf16");
    visitor.visit::<SumIn<f64, f16, f64>>("sum_in_f64_of_f16_wide");
    visitor.visit::<SumIn<i64, u32, i64>>("sum_in_i64_of_u32_wide");
    visitor.visit::<SumIn<u128, u8>>("sum_in_u128_of_u8");
    visitor.visit::<ProductIn<i64, i16, i64>>("product_in_i64_of_i16_wide");
    visitor.visit::<ExactSum>("exact_sum");
    visitor.visit::<CompensatedSum<f32>>("compensated_sum_f32");
    visitor.visit::<CompensatedSum<f64>>("compensated_sum_f64");
    visitor.visit::<CheckedSum<i32>>("checked_sum_i32");
    visitor.visit::<CheckedSum<u64>>("checked_sum_u64");
    visitor.visit::<Position>("position");
}

impl Example for SumIn<f32, bf16> {
    fn new() -> Self {
        ops::sum_in()
    }
    /// Whole numbers, whose sums stay small enough to be exact in `f32`.
    fn input(len: usize) -> Vec<bf16> {
        (0..len).map(|i| bf16::from_f32(below(100, i) as f32 - 50.0)).collect()
    }
    fn expected(&self, input: &[bf16]) -> Vec<bf16> {
        each_prefix(input, 0_i64, |sum, x| {
            *sum += x.to_f32() as i64;
            bf16::from_f64(*sum as f64)
        })
    }
}

impl Example for SumIn<f64, f16, f64> {
    fn new() -> Self {
        ops::sum_in().wide()
    }
    /// Any finite ones, of which even ones are positive.
    fn input(len: usize) -> Vec<f16> {
        (0..len).map(|i| f16::from_bits(below(0x7c00, i) as u16 | (i as u16 & 1) << 15)).collect()
    }
    fn expected(&self, input: &[f16]) -> Vec<f64> {
        let unit = f64::exp2(-24.0);
        each_prefix(input, 0_i64, |sum, x| {
            *sum += (x.to_f64() / unit) as i64;
            *sum as f64 * unit
        })
    }
}

impl Example for SumIn<i64, u32, i64> {
    fn new() -> Self {
        ops::sum_in().wide()
    }
    fn input(len: usize) -> Vec<u32> {
        (0..len).map(|i| u32::MAX - below(1 << 20, i) as u32).collect()
    }
    fn expected(&self, input: &[u32]) -> Vec<i64> {
        each_prefix(input, 0_i128, |sum, x| {
            *sum += i128::from(x);
            *sum as i64
        })
    }
}

impl Example for SumIn<u128, u8> {
    fn new() -> Self {
        ops::sum_in()
    }
    fn input(len: usize) -> Vec<u8> {
        (0..len).map(|i| below(256, i) as u8).collect()
    }
    fn expected(&self, input: &[u8]) -> Vec<u8> {
        each_prefix(input, 0_u64, |sum, x| {
            *sum += u64::from(x);
            (*sum % 256) as u8
        })
    }
}

impl Example for ProductIn<i64, i16, i64> {
    fn new() -> Self {
        ops::product_in().wide()
    }
    /// Odd, so that no product becomes 0.
    fn input(len: usize) -> Vec<i16> {
        (0..len).map(|i| below(1 << 16, i) as u16 as i16 | 1).collect()
    }
    fn expected(&self, input: &[i16]) -> Vec<i64> {
        each_prefix(input, 1_i128, |product, x| {
            *product = (*product * i128::from(x)) as i64 as i128;
            *product as i64
        })
    }
}

impl Example for ExactSum {
    fn new() -> Self {
        ops::exact_sum()
    }
    /// Numbers of all magnitudes up to 2³⁰, in units of 2⁻⁶⁰.
    fn input(len: usize) -> Vec<f32> {
        let sign = |i| if below(3, i) == 0 { -1.0 } else { 1.0 };
        (0..len)
            .map(|i| sign(i) * (1 + below(1 << 24, i)) as f32 * f32::exp2(below(67, i + 77) as f32 - 60.0))
            .collect()
    }
    /// By whole numbers of 128 bits.
    fn expected(&self, input: &[f32]) -> Vec<f32> {
        each_prefix(input, 0_i128, |sum, x| {
            *sum += (f64::from(x) * f64::exp2(60.0)) as i128;
            *sum as f32 * f32::exp2(-60.0)
        })
    }
}

impl Example for CompensatedSum<f32> {
    fn new() -> Self {
        ops::compensated_sum()
    }
    fn input(len: usize) -> Vec<f32> {
        (0..len).map(|i| uniform(i) as f32 - 0.4).collect()
    }
    fn expected(&self, input: &[f32]) -> Vec<f32> {
        exactly(input.iter().map(|&x| x.into())).map(|sum| sum as f32).collect()
    }
}

impl Example for CompensatedSum<f64> {
    fn new() -> Self {
        ops::compensated_sum()
    }
    fn input(len: usize) -> Vec<f64> {
        (0..len).map(|i| uniform(i) - 0.4).collect()
    }
    fn expected(&self, input: &[f64]) -> Vec<f64> {
        exactly(input.iter().copied()).collect()
    }
}

impl Example for CheckedSum<i32> {
    fn new() -> Self {
        ops::checked_sum()
    }
    /// The sums leave the range again and again.
    fn input(len: usize) -> Vec<i32> {
        (0..len).map(|i| (below(1 << 32, i) as u32 as i32) / 2).collect()
    }
    fn expected(&self, input: &[i32]) -> Vec<Nullable<i32>> {
        each_prefix(input, 0_i64, |sum, x| {
            *sum += i64::from(x);
            Nullable { value: *sum as i32, valid: i32::try_from(*sum).is_ok() }
        })
    }
}

impl Example for CheckedSum<u64> {
    fn new() -> Self {
        ops::checked_sum()
    }
    fn input(len: usize) -> Vec<u64> {
        (0..len).map(|i| below(u64::MAX >> 4, i)).collect()
    }
    fn expected(&self, input: &[u64]) -> Vec<Nullable<u64>> {
        each_prefix(input, 0_u128, |sum, x| {
            *sum += u128::from(x);
            Nullable { value: *sum as u64, valid: u64::try_from(*sum).is_ok() }
        })
    }
}

impl Example for Position {
    fn new() -> Self {
        ops::position()
    }
    /// From the 29th on there are some.
    fn input(len: usize) -> Vec<bool> {
        (0..len).map(|i| i == 28 || i > 28 && below(40, i) == 0).collect()
    }
    fn expected(&self, input: &[bool]) -> Vec<Nullable<u64>> {
        let first = input.iter().position(|&x| x);
        (0..input.len())
            .map(|i| match first {
                Some(first) if first <= i => Nullable { value: first as u64, valid: true },
                _ => Nullable { value: i as u64 + 1, valid: false },
            })
            .collect()
    }
}

/// Exact sums of numbers of at least 2⁻⁵⁰ in magnitude, rounded to `f64`.
fn exactly(input: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    let unit = f64::exp2(-105.0);
    input.scan(0_i128, move |sum, x| {
        *sum += (x / unit) as i128;
        Some(*sum as f64 * unit)
    })
}
