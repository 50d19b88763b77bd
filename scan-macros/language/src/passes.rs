//! The order of the passes.

use crate::errors::Errors;
use crate::{attribute, check, emit, lower, parse};
use proc_macro2::TokenStream;
use quote::quote;

/// `#[scan_op]`: the passes, in order.
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
