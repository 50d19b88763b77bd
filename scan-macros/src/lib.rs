//! `#[scan_op]` and `#[scan_element]`: a Rust operator as CUDA text.
//!
//! Use these through the crate `scan-runtime`, which re-exports them beside the traits that they implement.
//!
//! An operator passes through four steps, a module each: `parse` (the item), `check` (what the operator language has),
//! `lower` (Rust statements to CUDA text in pieces) and `emit` (the Rust item, with the text beside it). What only
//! rustc knows, sizes, aliases, constants and generic parameters, stays a Rust expression in the pieces and is filled in
//! when the program runs.

mod attribute;
mod check;
mod element;
mod emit;
mod errors;
mod lower;
mod methods;
mod operator;
mod parse;
mod text;

use proc_macro::TokenStream;

/// Makes an `impl ScanOp`, or a function of two elements, an operator that a scan can apply on the GPU and on the CPU.
///
/// ```ignore
/// #[scan_op]
/// impl ScanOp for Largest {
///     type Element = f32;
///     const IDENTITY: f32 = f32::NEG_INFINITY;
///     fn combine(a: f32, b: f32) -> f32 { if a > b { a } else { b } }
/// }
///
/// #[scan_op(identity = Affine { a: 1.0, b: 0.0 })]
/// fn compose(f: Affine, g: Affine) -> Affine { Affine { a: f.a * g.a, b: g.a * f.b + g.b } }
/// ```
///
/// # The impl form
///
/// - `type Element = T;` for what is read, combined and written; or `type Input`, `type State` and `type Output` with
///   `fn lift(x: Input) -> State` and `fn project(s: State) -> Output` where they differ.
/// - `const IDENTITY: T = …;`, the value that changes nothing when it is combined with another. Rust evaluates it.
/// - `fn combine(a: T, b: T) -> T`. The functions may take `&self`; where one reads `self.field`, the operator's own
///   fields are handed to the kernels as parameters, and the operator must be a `#[scan_element]` itself.
///
/// # The function form
///
/// `#[scan_op(identity = …)]` on `fn name(a: T, b: T) -> T` leaves a unit struct of that name behind, which is the operator.
///
/// # Options
///
/// `crate = path` where `scan_runtime` goes by another name.
///
/// `laws` writes a test, `laws_of_…`, that checks the operator's laws (`scan_runtime::laws`): on samples made of its input's
/// layout, or on those of `laws = [1.0, -2.5]` (any `AsRef<[Input]>`). `laws(samples = …, operator = …, tolerance = …, in_order)`
/// has all options: `operator` is the value to check, needed where it is generic or has fields; the others are those of
/// `scan_runtime::laws::Check`.
///
/// # The language
///
/// Numbers, `bool`, arrays and `#[scan_element]` structs; `let`, assignment, `if`, `match`, `while`, `loop`, `for` over
/// ranges, early `return`; the numeric methods. It means on the GPU what it means in Rust: integers wrap, shift counts
/// are masked, `as` saturates, floats are not contracted. What is outside the language is an error at the expression.
///
/// A trait method that is called on a generic parameter must mean what the primitive's own method of that name means.
#[proc_macro_attribute]
pub fn scan_op(options: TokenStream, item: TokenStream) -> TokenStream {
    operator::scan_op(options.into(), item.into()).into()
}

/// Makes a struct an element that a scan can read, combine and write.
///
/// ```ignore
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Affine { a: f32, b: f32 }
/// ```
///
/// The struct gets `#[repr(C)]` unless it has a `repr`, and `ScanElement` and cudarc's `DeviceRepr` are implemented for it.
/// Each field must be an element: a primitive number, `bool`, an array of elements, or another `#[scan_element]`. It must
/// be `Copy` and at most 256 bytes long. `crate = path` is an option, as for `#[scan_op]`.
#[proc_macro_attribute]
pub fn scan_element(options: TokenStream, item: TokenStream) -> TokenStream {
    element::scan_element(options.into(), item.into()).into()
}
