//! The order of the passes.

use crate::errors::Errors;
use crate::ir::Lowered;
use crate::operator::Operator;
use crate::twin::Twins;
use crate::{attribute, check, emit, gradient, lower, parse};
use proc_macro2::TokenStream;
use quote::quote;
use syn::Path;

/// `#[scan_op]`: the passes, in order.
pub(crate) fn scan_op(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(options, item, Twins::Compared)
}

/// `#[scan_op]` on an operator that was derived from another one.
pub(crate) fn derived(krate: &Path, item: TokenStream) -> TokenStream {
    expand(quote!(crate = #krate), item, Twins::LeftOut)
}

fn expand(options: TokenStream, item: TokenStream, twins: Twins) -> TokenStream {
    let mut errors = Errors::default();
    let Some((operator, lowered)) = lowered(options, item.clone(), &mut errors) else {
        // Not even the outline of an operator: the item stays as it is, so that its names still exist.
        let errors = errors.into_tokens();
        return quote!(#errors #item);
    };
    let sound = errors.is_empty();
    let item = emit::operator(&operator, sound.then_some(lowered.as_slice()), twins);
    let beside = sound.then(|| gradient::operator(&operator, &mut errors));
    let errors = errors.into_tokens();
    quote!(#errors #item #beside)
}

/// The passes before `print`: the operator, or `None` where the item has not even the outline of one, and its
/// functions.
pub(crate) fn lowered(
    options: TokenStream,
    item: TokenStream,
    errors: &mut Errors,
) -> Option<(Operator, Vec<Lowered>)> {
    let options = attribute::options(options, &["identity", "name", "laws", "gradient", "crate"], errors);
    let mut operator = parse::operator(options, item, errors)?;
    check::operator(&mut operator, errors);
    let lowered = if errors.is_empty() { lower::operator(&operator, errors) } else { Vec::new() };
    Some((operator, lowered))
}
