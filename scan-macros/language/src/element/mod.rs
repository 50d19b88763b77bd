//! `#[scan_element]`: the layout of a struct, field by field, or of an enum, by its discriminants.

mod attributes;
mod columns;
mod enumeration;
mod structure;

use crate::errors::Errors;
use crate::{attribute, gradient};
use enumeration::enumeration;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use structure::structure;
use syn::Item;

pub(crate) fn scan_element(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let output = element(options, item, &mut errors);
    let errors = errors.into_tokens();
    quote!(#errors #output)
}

/// The item with what is implemented for it. One that is no element stays as it is.
pub(crate) fn element(options: TokenStream, item: TokenStream, errors: &mut Errors) -> TokenStream {
    let options = attribute::options(options, &["gradient", "crate"], errors);
    let krate = options.krate;
    match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Struct(item)) => {
            let components = options.gradient.filter(|_| errors.is_empty());
            let components = components.map(|word| gradient::components(&krate, &word, &item, errors));
            let structure = structure(&krate, item, errors);
            quote!(#structure #components)
        }
        Ok(Item::Enum(item)) => {
            if let Some(word) = options.gradient {
                errors.at(&word.name, "an enum has no gradient: keep it as an integer, which is a constant there");
            }
            enumeration(&krate, item, errors)
        }
        Ok(Item::Union(item)) => {
            errors.at(item.union_token, "a union is not an element: use a struct with a field for each part");
            item.to_token_stream()
        }
        Ok(item) => {
            errors.at(&item, "`#[scan_element]` is for structs, and for enums without fields");
            item.to_token_stream()
        }
        Err(error) => {
            errors.push(error);
            item
        }
    }
}
