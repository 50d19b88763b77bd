//! The tangents of functions, by the functions themselves.

#![allow(clippy::too_many_arguments, reason = "each parameter comes with how it changes")]

use std::marker::PhantomData;

use super::components::Components;
use super::halves::TangentOf;
use crate::__private::{ByMacro, Callee, NoRecursion, ScanFn};

macro_rules! of_functions {
    ($($trait:ident $name:ident: $($ty:ident $x:ident $dx:ident),*;)*) => {$(
        /// A function with a gradient. `#[scan_fn(gradient)]` implements it; nothing else can.
        ///
        /// # Safety
        ///
        /// The text is the text of the called function.
        #[diagnostic::on_unimplemented(
            message = "`{Self}` has no gradient, which the gradient of the operator needs",
            label = "not marked `#[scan_fn(gradient)]`",
            note = "mark the function: `#[scan_fn(gradient)]` in place of `#[scan_fn]`"
        )]
        pub unsafe trait $trait: 'static {
            #[doc(hidden)]
            const SEALED: ByMacro;
            $(
                /// The type of a parameter.
                type $ty: Components;
            )*
            /// The type of the result.
            type Returns: Components;
            /// How the result changes with the parameters: each is followed by how it changes.
            fn call($($x: Self::$ty, $dx: TangentOf<Self::$ty>),*) -> TangentOf<Self::Returns>;
            #[doc(hidden)]
            const CALLEE: Callee;
        }

        /// How the result of a function changes with its parameters.
        #[inline(always)]
        pub fn $name<F: $trait>($($x: F::$ty, $dx: TangentOf<F::$ty>),*) -> TangentOf<F::Returns> {
            F::call($($x, $dx),*)
        }

        #[allow(non_camel_case_types, missing_debug_implementations)]
        #[doc(hidden)]
        pub struct $name<F> {
            of: PhantomData<fn() -> F>,
        }

        // SAFETY: the text is the text of the called function.
        unsafe impl<F: $trait> ScanFn for $name<F> {
            const SEALED: ByMacro = ByMacro;
            const CALLEE: Callee = F::CALLEE;
        }

        impl<F: $trait> NoRecursion for $name<F> {}
    )*};
}

of_functions! {
    Tangent1 tangent1: X0 x0 dx0;
    Tangent2 tangent2: X0 x0 dx0, X1 x1 dx1;
    Tangent3 tangent3: X0 x0 dx0, X1 x1 dx1, X2 x2 dx2;
    Tangent4 tangent4: X0 x0 dx0, X1 x1 dx1, X2 x2 dx2, X3 x3 dx3;
    Tangent5 tangent5: X0 x0 dx0, X1 x1 dx1, X2 x2 dx2, X3 x3 dx3, X4 x4 dx4;
    Tangent6 tangent6: X0 x0 dx0, X1 x1 dx1, X2 x2 dx2, X3 x3 dx3, X4 x4 dx4, X5 x5 dx5;
}
