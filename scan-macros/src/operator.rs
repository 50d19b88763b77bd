//! An operator as the passes see it, and the order of the passes.

use crate::attribute::Laws;
use crate::errors::Errors;
use crate::{attribute, check, emit, lower, parse};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Block, Expr, Generics, Ident, Member, Path, Signature, Type, Visibility};

/// An operator as the user wrote it, in either form.
pub(crate) struct Operator {
    /// Where `scan_runtime` is found.
    pub(crate) krate: Path,
    /// Attributes of the impl block.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) generics: Generics,
    /// `ScanOp`, by the path that the user wrote.
    pub(crate) trait_path: Path,
    /// The type that becomes the operator.
    pub(crate) self_ty: Type,
    /// Its name in messages and in CUDA.
    pub(crate) name: String,
    /// The struct to declare, in the function form.
    pub(crate) declare: Option<Declare>,
    pub(crate) input: Type,
    pub(crate) state: Type,
    pub(crate) output: Type,
    /// The type that the user gave the identity, and its value.
    pub(crate) identity: Option<(Type, Expr)>,
    pub(crate) functions: Vec<Function>,
    /// The operator's own fields that a function reads.
    pub(crate) fields: Vec<Member>,
    /// Whether a function names `Self::IDENTITY`.
    pub(crate) names_identity: bool,
    /// The test of its laws, where one is wanted.
    pub(crate) laws: Option<Laws>,
    /// How the CPU applies it to several values at once, where the ready operators tell.
    pub(crate) vectorized: Option<Expr>,
}

/// The unit struct that the function form leaves behind.
pub(crate) struct Declare {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) ident: Ident,
}

/// `combine`, `lift` or `project`, or a function that they call.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) signature: Signature,
    pub(crate) block: Block,
}

/// The passes, in order.
pub(crate) fn scan_op(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = attribute::options(options, &["identity", "laws", "crate"], &mut errors);
    let Some(mut operator) = parse::operator(options, item.clone(), &mut errors) else {
        // Not even the outline of an operator: the item stays as it is, so that its names still exist.
        let errors = errors.to_tokens();
        return quote!(#errors #item);
    };
    check::operator(&mut operator, &mut errors);
    let lowered = if errors.is_empty() { lower::operator(&operator, &mut errors) } else { Vec::new() };
    let sound = errors.is_empty();
    let item = emit::operator(&operator, sound.then_some(lowered.as_slice()));
    let errors = errors.to_tokens();
    quote!(#errors #item)
}
