//! The attributes below `#[scan_element]`, as far as it sees them.

use proc_macro2::TokenStream;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{Attribute, Path, Token};

/// Skips the parentheses after a word of a `repr`, such as `align(16)`.
pub(super) fn pass_arguments(meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    if meta.input.peek(syn::token::Paren) {
        let content;
        syn::parenthesized!(content in meta.input);
        content.parse::<TokenStream>()?;
    }
    Ok(())
}

/// Whether the attributes derive the comparison `name`, as far as this one sees them.
pub(super) fn derives(attributes: &[Attribute], name: &str) -> bool {
    let mut found = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        let Ok(paths) = attribute.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated) else { continue };
        found |= paths.iter().any(|path| {
            // Another crate's derive of this name may compare in another way.
            let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            match names.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                ["std" | "core", "cmp", last] | [last] => *last == name,
                _ => false,
            }
        });
    }
    found
}
