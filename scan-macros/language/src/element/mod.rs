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
    let krate = attribute::options(options, &["crate"], &mut errors).krate;
    let output = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Struct(item)) => structure(&krate, item, &mut errors),
        Ok(Item::Enum(item)) => enumeration(&krate, item, &mut errors),
        Ok(Item::Union(item)) => {
            errors.at(item.union_token, "a union is not an element: use a struct with a field for each part");
            return unchanged(&errors, &item);
        }
        Ok(item) => {
            errors.at(&item, "`#[scan_element]` is for structs, and for enums without fields");
            return unchanged(&errors, &item);
        }
        Err(error) => {
            errors.push(error);
            return unchanged(&errors, &item);
        }
    };
    let errors = errors.to_tokens();
    quote!(#errors #output)
}

fn unchanged(errors: &Errors, item: &impl ToTokens) -> TokenStream {
    let errors = errors.to_tokens();
    quote!(#errors #item)
}
