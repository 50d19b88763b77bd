//! Floats of 16 bits in gradients: their changes are computed in `f32`, and rounded once.

use super::components::Components;
#[cfg(feature = "half")]
use super::components::functions;
#[cfg(feature = "half")]
use crate::__private::{ByMacro, Callee, ScanFn};

/// The type in which changes of an element are computed, also where the name of a struct is needed.
pub type TangentOf<T> = <T as Components>::Tangent;

/// A float in the type in which its changes are computed, so that both can be multiplied.
pub trait Factor {
    /// `f32` of `f16` and `bf16`, else the same.
    type Wide;
    /// The same number.
    fn factor(self) -> Self::Wide;
}

impl Factor for f32 {
    type Wide = f32;
    #[inline(always)]
    fn factor(self) -> f32 {
        self
    }
}

impl Factor for f64 {
    type Wide = f64;
    #[inline(always)]
    fn factor(self) -> f64 {
        self
    }
}

/// Whether a type has no float of 16 bits in it, so that its changes have the same type.
#[derive(Clone, Copy, Debug)]
pub struct Whole<const WHOLE: bool>;

/// The type of the changes, of two: the element's own where it is whole.
pub trait Choice<Own, Wider> {
    /// One of the two.
    type Chosen;
}

impl<Own, Wider> Choice<Own, Wider> for Whole<true> {
    type Chosen = Own;
}

impl<Own, Wider> Choice<Own, Wider> for Whole<false> {
    type Chosen = Wider;
}

/// A carry whose adjoint has its type.
#[diagnostic::on_unimplemented(
    message = "the gradient of a carry with `f16` or `bf16` is not derived",
    label = "in this carry is a float of 16 bits",
    note = "let the carry have `f32`: widen inputs in `lift` and `step`, `x.to_f32()`",
    note = "round outputs in `project` or `emit`, `bf16::from_f32(h)`"
)]
pub trait CarryOfWideFloats {}

impl CarryOfWideFloats for Whole<true> {}

/// Checks a carry.
pub const fn carry_of_wide_floats<W: CarryOfWideFloats>() {}

/// The inputs and the outputs of an operator whose functions name no float of 16 bits.
#[diagnostic::on_unimplemented(
    message = "the gradient has to see the floats of 16 bits in a struct",
    label = "a float of 16 bits is in this struct, and no function of the operator names one",
    note = "bind a field with its type in a function of the operator: `let a: bf16 = x.a;`"
)]
pub trait NoHalves {}

impl NoHalves for Whole<true> {}

/// Checks an input or an output.
pub const fn no_halves<W: NoHalves>() {}

#[cfg(feature = "half")]
macro_rules! halves {
    ($($half:ident)*) => {$(
        mod $half {
            use half::$half;

            use crate::scan_fn;

            #[scan_fn(crate = crate)]
            pub(super) fn number(of: $half, index: usize) -> f32 {
                if index == 0 { of.to_f32() } else { 0.0 }
            }
            #[scan_fn(crate = crate)]
            pub(super) fn number_plus(to: $half, index: usize, value: f32) -> $half {
                if index == 0 { $half::from_f32(to.to_f32() + value) } else { to }
            }
            #[scan_fn(crate = crate)]
            pub(super) fn product(a: $half, b: $half) -> f32 {
                a.to_f32() * b.to_f32()
            }
            #[scan_fn(crate = crate)]
            pub(super) fn number_plus_scaled(to: $half, other: $half, factor: f32) -> $half {
                $half::from_f32(to.to_f32() + factor * other.to_f32())
            }
            #[scan_fn(crate = crate)]
            pub(super) fn multiplied(a: $half, b: $half) -> $half {
                a * b
            }
            #[scan_fn(crate = crate)]
            pub(super) fn wide(of: $half) -> f32 {
                of.to_f32()
            }
            #[scan_fn(crate = crate)]
            pub(super) fn rounded(of: f32) -> $half {
                $half::from_f32(of)
            }
        }

        impl Factor for half::$half {
            type Wide = f32;
            #[inline(always)]
            fn factor(self) -> f32 {
                self.to_f32()
            }
        }

        impl Components for half::$half {
            const SEALED: ByMacro = ByMacro;
            const WIDE: bool = false;
            const WHOLE: bool = false;
            const COUNT: usize = 1;
            const ZERO: Self = half::$half::ZERO;
            const ONES: Self = half::$half::ONE;
            functions!(
                f32, f32,
                [
                    $half::number, $half::number_plus, $half::product, $half::number_plus_scaled, $half::multiplied,
                    $half::wide, $half::rounded
                ]
            );
        }
    )*};
}

#[cfg(feature = "half")]
halves! { f16 bf16 }
