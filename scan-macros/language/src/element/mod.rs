//! `#[scan_element]`: the layout of a struct, field by field, or of an enum, by its discriminants.

mod attributes;
mod columns;
mod enumeration;
mod structure;

use crate::attribute;
use crate::errors::Errors;
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
    let krate = attribute::options(options, &["crate"], errors).krate;
    match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Struct(item)) => structure(&krate, item, errors),
        Ok(Item::Enum(item)) => enumeration(&krate, item, errors),
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
