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

    /// Adds those of other errors that are not here yet.
    pub(crate) fn add_new(&mut self, others: Errors) {
        let known = |error: &syn::Error| (error.to_string(), format!("{:?}", error.span()));
        for error in others.found {
            if !self.found.iter().any(|earlier| known(earlier) == known(&error)) {
                self.found.push(error);
            }
        }
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

    /// The errors, in the order in which they were found. An error that two functions have, because they were made of
    /// one, is one.
    pub(crate) fn into_found(self) -> Vec<syn::Error> {
        let mut found: Vec<syn::Error> = Vec::new();
        for error in self.found {
            if !found.iter().any(|earlier| are_one(earlier, &error)) {
                found.push(error);
            }
        }
        found
    }

    /// The `compile_error!` items that show the errors.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.into_found().iter().map(syn::Error::to_compile_error).collect()
    }

    #[cfg(test)]
    pub(crate) fn messages(&self) -> Vec<String> {
        self.found.iter().map(ToString::to_string).collect()
    }
}

/// Whether both say the same of the same place.
fn are_one(a: &syn::Error, b: &syn::Error) -> bool {
    let place = |error: &syn::Error| (error.span().start(), error.span().end());
    place(a) == place(b) && a.to_string() == b.to_string()
}
