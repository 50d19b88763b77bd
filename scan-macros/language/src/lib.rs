//! The operator language of [`scan-runtime`](https://docs.rs/scan-runtime): a Rust operator as CUDA text.
//!
//! [`scan_op`], [`scan_fn`] and [`scan_element`] are the attributes of these names as functions from tokens to tokens.
//! The crate `scan-macros` makes macros of them, which users know from `scan-runtime`.
//!
//! [`translate`] needs no compiler. It takes the text of operators and returns the CUDA text of their functions, or
//! everything that is wrong with them. Tools and tests call it, and whoever wants to see what an operator becomes:
//!
//! ```
//! let translated = scan_language::translate(
//!     "
//!     #[scan_op(identity = f32::NEG_INFINITY)]
//!     fn largest(a: f32, b: f32) -> f32 {
//!         if a > b { a } else { b }
//!     }
//!     ",
//! );
//! let expected = "\
//! ‹f32› largest::combine(‹f32› a, ‹f32› b) {
//!   return a > b ? a : b;
//! }
//! ";
//! assert_eq!(translated.map(|text| text.to_string()).as_deref(), Ok(expected));
//! ```
//!
//! An operator passes through five steps, a module each: `parse` (the item), `check` (the rules of the operator
//! language), `lower` (Rust to the expressions and statements of `ir`), `print` (these to CUDA text in pieces) and
//! `emit` (the Rust item, with the text added). Sizes, aliases, constants and generic parameters, which only rustc
//! knows, stay Rust expressions in the pieces and are filled in when the program runs.

// Names from different expansions of macros are told apart only if rustc is there. `proc_macro` says whether it is;
// `proc_macro2` does not.
extern crate proc_macro;

mod advance;
mod attribute;
mod check;
mod depth;
mod element;
mod emit;
mod errors;
mod gradient;
mod groups;
mod helper;
mod hygiene;
mod ir;
mod language;
mod lower;
mod operator;
mod parse;
mod passes;
mod print;
mod stepped;
mod syntax;
mod text;
mod translate;
mod twin;
mod uses;

pub use translate::{Diagnostic, Function, Parameter, Piece, Translated, translate};

use proc_macro2::TokenStream;

/// Expands `#[scan_op(options)]` on an item: an `impl ScanOp`, or a function of two elements.
///
/// The result has the item's Rust unchanged and its CUDA text as an expression of Rust, in paths of `scan_runtime`, or
/// of the crate that the option `crate = path` names. Errors are calls of `compile_error!`, all of them at once.
///
/// The stack must have 6 MiB for the code that nests deepest. rustc runs macros on 8 MiB.
///
/// ```
/// use quote::quote;
///
/// let add = quote!(
///     fn add(a: u32, b: u32) -> u32 {
///         a.wrapping_add(b)
///     }
/// );
/// let expanded = scan_language::scan_op(quote!(identity = 0), add).to_string();
/// assert!(expanded.contains("struct add") && expanded.contains("OpSource"));
///
/// let wrong = quote!(
///     fn add(a: u32, b: u32) -> u32 {
///         *(&a) + b
///     }
/// );
/// assert!(scan_language::scan_op(quote!(), wrong).to_string().contains("compile_error"));
/// ```
pub fn scan_op(options: TokenStream, item: TokenStream) -> TokenStream {
    depth::expand(options, item, passes::scan_op)
}

/// Expands `#[scan_fn(options)]` on a function, which operators can then call.
///
/// The result is the function and a type of the same name, which has the function's CUDA text. Errors and the stack are
/// as for [`scan_op`].
///
/// ```
/// use quote::quote;
///
/// let twice = quote!(
///     fn twice(x: u32) -> u32 {
///         x << 1
///     }
/// );
/// let expanded = scan_language::scan_fn(quote!(), twice).to_string();
/// assert!(expanded.contains("fn twice") && expanded.contains("struct twice"));
/// ```
pub fn scan_fn(options: TokenStream, item: TokenStream) -> TokenStream {
    depth::expand(options, item, helper::scan_fn)
}

/// Expands `#[scan_element(options)]` on a struct, or on an enum without fields, which operators can then combine.
///
/// The result is the item with a `repr`, and with its layout as an implementation of `ScanElement`. Errors and the
/// stack are as for [`scan_op`].
///
/// ```
/// use quote::quote;
///
/// let affine = quote!(
///     struct Affine {
///         a: f32,
///         b: f32,
///     }
/// );
/// let expanded = scan_language::scan_element(quote!(), affine).to_string();
/// assert!(expanded.contains("repr (C)") && expanded.contains("ScanElement"));
/// ```
pub fn scan_element(options: TokenStream, item: TokenStream) -> TokenStream {
    depth::expand(options, item, element::scan_element)
}

/// Whether a compiler runs this as a macro, so that tokens are the compiler's.
fn in_a_macro() -> bool {
    proc_macro::is_available()
}
