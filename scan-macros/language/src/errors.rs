//! All errors of an item, collected so that they are reported together.

use proc_macro2::TokenStream;
use quote::ToTokens;
use std::fmt::Display;

/// The errors found so far.
#[derive(Default)]
pub(crate) struct Errors {
    found: Vec<syn::Error>,
}

impl Errors {
    /// Notes an error at some tokens. Lower case, no full stop, and it says what to write instead.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.found.push(syn::Error::new_spanned(tokens, message));
    }

    /// Notes an error of the parser's.
    pub(crate) fn push(&mut self, error: syn::Error) {
        self.found.push(error);
    }

    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    /// Keeps only the first `count` errors.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.found.truncate(count);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The errors, in the order in which they were found.
    pub(crate) fn into_found(self) -> Vec<syn::Error> {
        self.found
    }

    /// The `compile_error!` items that show the errors.
    pub(crate) fn to_tokens(&self) -> TokenStream {
        self.found.iter().map(syn::Error::to_compile_error).collect()
    }

    #[cfg(test)]
    pub(crate) fn messages(&self) -> Vec<String> {
        self.found.iter().map(ToString::to_string).collect()
    }
}
