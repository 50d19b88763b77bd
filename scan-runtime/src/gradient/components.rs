//! The float components of an element, by which gradients are read and written.

#![allow(clippy::needless_range_loop, reason = "ranges are the operator language's loops")]

use std::marker::PhantomData;

use crate::__private::{ByMacro, Callee, NoRecursion, ScanFn};
use crate::ops::Number;
use crate::{ScanElement, scan_fn};

/// An element that has a gradient: its float components are numbered, and the gradient with respect to them has the
/// type of the element.
///
/// `f32`, `f64`, `f16`, `bf16`, arrays of such elements, and structs marked `#[scan_element(gradient)]`. Integers and
/// `bool` have no components: in a gradient they are 0 and `false`.
///
/// ```
/// use scan_runtime::{gradient::Components, scan_element};
///
/// #[scan_element(gradient)]
/// #[derive(Clone, Copy)]
/// struct Sample { count: u32, mean: f64, bounds: [f64; 2] }
///
/// assert_eq!(Sample::COUNT, 3);
/// assert_eq!(Sample { count: 7, mean: 1.5, bounds: [2.0, 3.0] }.component(2), 3.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no gradient",
    label = "the gradient of this type is not known",
    note = "there are gradients with respect to floats, arrays of these, and structs of these; integers are constants in them",
    note = "mark a struct of your own `#[scan_element(gradient)]`"
)]
pub trait Components: ScanElement {
    #[doc(hidden)]
    const SEALED: ByMacro;
    /// `f64` if a component is one, else `f32`.
    type Scalar: Number;
    /// The type in which changes of the element are computed: the element's own, with `f32` in place of each `f16` and
    /// `bf16`.
    type Tangent: Components<Scalar = Self::Scalar, Tangent = Self::Tangent>;
    /// Whether `Tangent` is the type itself.
    #[doc(hidden)]
    const WHOLE: bool;
    /// Whether `Scalar` is `f64`.
    #[doc(hidden)]
    const WIDE: bool;
    /// How many components there are.
    const COUNT: usize;
    /// All components are 0.
    const ZERO: Self;
    /// All components are 1.
    const ONES: Self;
    /// A component; 0 beyond the last.
    fn component(self, index: usize) -> Self::Scalar;
    /// The element with `value` added to a component.
    fn add_at(self, index: usize, value: Self::Scalar) -> Self;
    /// The sum of the products of the components.
    fn dot(self, other: Self) -> Self::Scalar;
    /// `self + factor · other`.
    fn add_scaled(self, other: Self, factor: Self::Scalar) -> Self;
    /// The products of the components.
    fn multiply(self, other: Self) -> Self;
    /// The element in the type of its changes, which has all of its values.
    fn widened(self) -> Self::Tangent;
    /// A change, with each `f16` and `bf16` rounded to the nearest.
    fn narrowed(of: Self::Tangent) -> Self;
    /// The CUDA text of the functions, in this order.
    #[doc(hidden)]
    const CALLEES: [Callee; 7];
}

/// Functions that operators call. Their text is the text of the element's functions.
macro_rules! of_elements {
    ($($(#[$doc:meta])* $index:literal: fn $name:ident($($parameter:ident: $ty:ty),*) -> $returns:ty;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<C: Components>($($parameter: $ty),*) -> $returns {
            C::$name($($parameter),*)
        }

        #[allow(non_camel_case_types, missing_debug_implementations)]
        #[doc(hidden)]
        pub struct $name<C> {
            of: PhantomData<fn() -> C>,
        }

        // SAFETY: the text is the text of the called function, written by `#[scan_fn]`.
        unsafe impl<C: Components> ScanFn for $name<C> {
            const SEALED: ByMacro = ByMacro;
            const CALLEE: Callee = C::CALLEES[$index];
        }

        impl<C: Components> NoRecursion for $name<C> {}
    )*};
}

of_elements! {
    /// [`Components::component`]
    0: fn component(of: C, index: usize) -> C::Scalar;
    /// [`Components::add_at`]
    1: fn add_at(to: C, index: usize, value: C::Scalar) -> C;
    /// [`Components::dot`]
    2: fn dot(a: C, b: C) -> C::Scalar;
    /// [`Components::add_scaled`]
    3: fn add_scaled(to: C, other: C, factor: C::Scalar) -> C;
    /// [`Components::multiply`]
    4: fn multiply(a: C, b: C) -> C;
    /// [`Components::widened`]
    5: fn widened(of: C) -> C::Tangent;
    /// [`Components::narrowed`]
    6: fn narrowed(of: C::Tangent) -> C;
}

/// `f32` or `f64`.
#[derive(Clone, Copy, Debug)]
pub struct Width<const WIDE: bool>;

/// The float of a width.
pub trait Float {
    /// `f64` if it is wide.
    type Float: Number;
}

impl Float for Width<false> {
    type Float = f32;
}

impl Float for Width<true> {
    type Float = f64;
}

/// The functions of a type, each by a `scan_fn`.
macro_rules! functions {
    (
        $scalar:ty, $tangent:ty,
        [$component:path, $plus:path, $dot:path, $plus_scaled:path, $multiply:path, $widened:path, $narrowed:path]
    ) => {
        type Scalar = $scalar;
        type Tangent = $tangent;
        #[inline(always)]
        fn component(self, index: usize) -> $scalar {
            $component(self, index)
        }
        #[inline(always)]
        fn add_at(self, index: usize, value: $scalar) -> Self {
            $plus(self, index, value)
        }
        #[inline(always)]
        fn dot(self, other: Self) -> $scalar {
            $dot(self, other)
        }
        #[inline(always)]
        fn add_scaled(self, other: Self, factor: $scalar) -> Self {
            $plus_scaled(self, other, factor)
        }
        #[inline(always)]
        fn multiply(self, other: Self) -> Self {
            $multiply(self, other)
        }
        #[inline(always)]
        fn widened(self) -> $tangent {
            $widened(self)
        }
        #[inline(always)]
        fn narrowed(of: $tangent) -> Self {
            $narrowed(of)
        }
        const CALLEES: [Callee; 7] = [
            <$component as ScanFn>::CALLEE,
            <$plus as ScanFn>::CALLEE,
            <$dot as ScanFn>::CALLEE,
            <$plus_scaled as ScanFn>::CALLEE,
            <$multiply as ScanFn>::CALLEE,
            <$widened as ScanFn>::CALLEE,
            <$narrowed as ScanFn>::CALLEE,
        ];
    };
}
#[cfg(feature = "half")]
pub(super) use functions;

macro_rules! floats {
    ($($module:ident: $float:ident, $wide:literal;)*) => {$(
        mod $module {
            use crate::scan_fn;

            #[scan_fn(crate = crate)]
            pub(super) fn number(of: $float, index: usize) -> $float {
                if index == 0 { of } else { 0.0 }
            }
            #[scan_fn(crate = crate)]
            pub(super) fn number_plus(to: $float, index: usize, value: $float) -> $float {
                if index == 0 { to + value } else { to }
            }
            #[scan_fn(crate = crate)]
            pub(super) fn product(a: $float, b: $float) -> $float {
                a * b
            }
            #[scan_fn(crate = crate)]
            pub(super) fn number_plus_scaled(to: $float, other: $float, factor: $float) -> $float {
                to + factor * other
            }
        }

        impl Components for $float {
            const SEALED: ByMacro = ByMacro;
            const WIDE: bool = $wide;
            const WHOLE: bool = true;
            const COUNT: usize = 1;
            const ZERO: $float = 0.0;
            const ONES: $float = 1.0;
            functions!(
                $float, $float,
                [
                    $module::number, $module::number_plus, $module::product, $module::number_plus_scaled,
                    $module::product, same::<$float>, same::<$float>
                ]
            );
        }
    )*};
}

floats! {
    single: f32, false;
    double: f64, true;
}

/// An element that is its own tangent.
#[scan_fn(crate = crate)]
fn same<T: ScanElement>(of: T) -> T {
    of
}

#[scan_fn(crate = crate)]
fn no_component<T: ScanElement>(_of: T, _index: usize) -> f32 {
    0.0
}

#[scan_fn(crate = crate)]
fn not_added<T: ScanElement>(to: T, _index: usize, _value: f32) -> T {
    to
}

#[scan_fn(crate = crate)]
fn no_product<T: ScanElement>(_a: T, _b: T) -> f32 {
    0.0
}

#[scan_fn(crate = crate)]
fn not_scaled<T: ScanElement>(to: T, _other: T, _factor: f32) -> T {
    to
}

#[scan_fn(crate = crate)]
fn not_multiplied<T: ScanElement>(a: T, _b: T) -> T {
    a
}

macro_rules! constants {
    ($($zero:literal: $($ty:ty)*;)*) => {$($(
        impl Components for $ty {
            const SEALED: ByMacro = ByMacro;
            const WIDE: bool = false;
            const WHOLE: bool = true;
            const COUNT: usize = 0;
            const ZERO: $ty = $zero;
            const ONES: $ty = $zero;
            functions!(
                f32, $ty,
                [
                    no_component::<$ty>, not_added::<$ty>, no_product::<$ty>, not_scaled::<$ty>, not_multiplied::<$ty>,
                    same::<$ty>, same::<$ty>
                ]
            );
        }
    )*)*};
}

constants! {
    0: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize;
    false: bool;
}

#[scan_fn(crate = crate)]
fn array_component<T: Components, const N: usize>(of: [T; N], index: usize) -> T::Scalar {
    let mut found: T::Scalar = <T::Scalar as Number>::ZERO;
    for i in 0..N {
        let first = i * <T as Components>::COUNT;
        if index >= first && index < first + <T as Components>::COUNT {
            found = component::<T>(of[i], index - first);
        }
    }
    found
}

#[scan_fn(crate = crate)]
fn array_plus<T: Components, const N: usize>(to: [T; N], index: usize, value: T::Scalar) -> [T; N] {
    let mut sum = to;
    for i in 0..N {
        let first = i * <T as Components>::COUNT;
        if index >= first && index < first + <T as Components>::COUNT {
            sum[i] = add_at::<T>(to[i], index - first, value);
        }
    }
    sum
}

#[scan_fn(crate = crate)]
fn array_product<T: Components, const N: usize>(a: [T; N], b: [T; N]) -> T::Scalar {
    let mut sum: T::Scalar = <T::Scalar as Number>::ZERO;
    for i in 0..N {
        sum = sum.wrapping_add(dot::<T>(a[i], b[i]));
    }
    sum
}

#[scan_fn(crate = crate)]
fn array_plus_scaled<T: Components, const N: usize>(to: [T; N], other: [T; N], factor: T::Scalar) -> [T; N] {
    let mut sum = to;
    for i in 0..N {
        sum[i] = add_scaled::<T>(to[i], other[i], factor);
    }
    sum
}

#[scan_fn(crate = crate)]
fn array_products<T: Components, const N: usize>(a: [T; N], b: [T; N]) -> [T; N] {
    let mut products = a;
    for i in 0..N {
        products[i] = multiply::<T>(a[i], b[i]);
    }
    products
}

#[scan_fn(crate = crate)]
fn array_widened<T: Components, const N: usize>(of: [T; N]) -> [T::Tangent; N] {
    let mut changes = [<T::Tangent as Components>::ZERO; N];
    for i in 0..N {
        changes[i] = widened::<T>(of[i]);
    }
    changes
}

#[scan_fn(crate = crate)]
fn array_narrowed<T: Components, const N: usize>(of: [T::Tangent; N]) -> [T; N] {
    let mut rounded = [<T as Components>::ZERO; N];
    for i in 0..N {
        rounded[i] = narrowed::<T>(of[i]);
    }
    rounded
}

impl<T: Components, const N: usize> Components for [T; N] {
    const SEALED: ByMacro = ByMacro;
    const WIDE: bool = T::WIDE;
    const WHOLE: bool = T::WHOLE;
    const COUNT: usize = N * T::COUNT;
    const ZERO: Self = [T::ZERO; N];
    const ONES: Self = [T::ONES; N];
    functions!(
        T::Scalar,
        [T::Tangent; N],
        [
            array_component::<T, N>,
            array_plus::<T, N>,
            array_product::<T, N>,
            array_plus_scaled::<T, N>,
            array_products::<T, N>,
            array_widened::<T, N>,
            array_narrowed::<T, N>
        ]
    );
}
