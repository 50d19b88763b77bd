//! The float components of an element, by which gradients are read and written.

#![allow(clippy::needless_range_loop, reason = "ranges are the operator language's loops")]

use std::marker::PhantomData;

use crate::__private::{ByMacro, Callee, NoRecursion, ScanFn};
use crate::ops::Number;
use crate::{ScanElement, scan_fn};

/// An element that has a gradient: its float components are numbered, and the gradient with respect to them has the
/// type of the element.
///
/// `f32`, `f64`, arrays of such elements, and structs marked `#[scan_element(gradient)]`. Integers and `bool` have no
/// components: in a gradient they are 0 and `false`.
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
    note = "there are gradients with respect to `f32`, `f64`, arrays of these, and structs of these; integers are constants in them",
    note = "mark a struct of your own `#[scan_element(gradient)]`"
)]
pub trait Components: ScanElement {
    #[doc(hidden)]
    const SEALED: ByMacro;
    /// `f64` if a component is one, else `f32`.
    type Scalar: Number;
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
    /// The CUDA text of the functions, in this order.
    #[doc(hidden)]
    const CALLEES: [Callee; 5];
}

/// Functions that operators call, whose text is that of the element's own.
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

        // SAFETY: the text is that of the function that is called, which `#[scan_fn]` wrote.
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

macro_rules! functions {
    ($ty:ty, $scalar:ty, [$($name:ident),*]) => {
        type Scalar = $scalar;
        #[inline(always)]
        fn component(self, index: usize) -> $scalar {
            functions!(@call 0 $($name)*)(self, index)
        }
        #[inline(always)]
        fn add_at(self, index: usize, value: $scalar) -> Self {
            functions!(@call 1 $($name)*)(self, index, value)
        }
        #[inline(always)]
        fn dot(self, other: Self) -> $scalar {
            functions!(@call 2 $($name)*)(self, other)
        }
        #[inline(always)]
        fn add_scaled(self, other: Self, factor: $scalar) -> Self {
            functions!(@call 3 $($name)*)(self, other, factor)
        }
        #[inline(always)]
        fn multiply(self, other: Self) -> Self {
            functions!(@call 4 $($name)*)(self, other)
        }
    };
    (@call 0 $a:ident $b:ident $c:ident $d:ident $e:ident) => { $a };
    (@call 1 $a:ident $b:ident $c:ident $d:ident $e:ident) => { $b };
    (@call 2 $a:ident $b:ident $c:ident $d:ident $e:ident) => { $c };
    (@call 3 $a:ident $b:ident $c:ident $d:ident $e:ident) => { $d };
    (@call 4 $a:ident $b:ident $c:ident $d:ident $e:ident) => { $e };
}

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
            const COUNT: usize = 1;
            const ZERO: $float = 0.0;
            const ONES: $float = 1.0;
            type Scalar = $float;
            #[inline(always)]
            fn component(self, index: usize) -> $float {
                $module::number(self, index)
            }
            #[inline(always)]
            fn add_at(self, index: usize, value: $float) -> Self {
                $module::number_plus(self, index, value)
            }
            #[inline(always)]
            fn dot(self, other: Self) -> $float {
                $module::product(self, other)
            }
            #[inline(always)]
            fn add_scaled(self, other: Self, factor: $float) -> Self {
                $module::number_plus_scaled(self, other, factor)
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                $module::product(self, other)
            }
            const CALLEES: [Callee; 5] = [
                <$module::number as ScanFn>::CALLEE,
                <$module::number_plus as ScanFn>::CALLEE,
                <$module::product as ScanFn>::CALLEE,
                <$module::number_plus_scaled as ScanFn>::CALLEE,
                <$module::product as ScanFn>::CALLEE,
            ];
        }
    )*};
}

floats! {
    single: f32, false;
    double: f64, true;
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
            const COUNT: usize = 0;
            const ZERO: $ty = $zero;
            const ONES: $ty = $zero;
            functions!($ty, f32, [no_component, not_added, no_product, not_scaled, not_multiplied]);
            const CALLEES: [Callee; 5] = [
                <no_component<$ty> as ScanFn>::CALLEE,
                <not_added<$ty> as ScanFn>::CALLEE,
                <no_product<$ty> as ScanFn>::CALLEE,
                <not_scaled<$ty> as ScanFn>::CALLEE,
                <not_multiplied<$ty> as ScanFn>::CALLEE,
            ];
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

impl<T: Components, const N: usize> Components for [T; N]
where
    [T; N]: ScanElement,
{
    const SEALED: ByMacro = ByMacro;
    const WIDE: bool = T::WIDE;
    const COUNT: usize = N * T::COUNT;
    const ZERO: Self = [T::ZERO; N];
    const ONES: Self = [T::ONES; N];
    functions!(Self, T::Scalar, [array_component, array_plus, array_product, array_plus_scaled, array_products]);
    const CALLEES: [Callee; 5] = [
        <array_component<T, N> as ScanFn>::CALLEE,
        <array_plus<T, N> as ScanFn>::CALLEE,
        <array_product<T, N> as ScanFn>::CALLEE,
        <array_plus_scaled<T, N> as ScanFn>::CALLEE,
        <array_products<T, N> as ScanFn>::CALLEE,
    ];
}
