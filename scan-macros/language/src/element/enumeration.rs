//! Enums.

use super::attributes::{derives, pass_arguments};
use crate::errors::Errors;
use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Fields, Ident, ItemEnum, Path};

/// An enum without fields: its discriminant, of the type in `repr`.
pub(super) fn enumeration(krate: &Path, item: ItemEnum, errors: &mut Errors) -> TokenStream {
    let ident = &item.ident;
    if !item.generics.params.is_empty() {
        errors.at(&item.generics, "an enum element has no generic parameters: remove them");
        return quote!(#item);
    }
    if item.variants.is_empty() {
        errors.at(ident, "an enum element needs a variant: nothing has a value of this type otherwise");
    }
    for variant in &item.variants {
        if !matches!(variant.fields, Fields::Unit) {
            errors.at(
                &variant.fields,
                "the variants of an enum element have no fields: make a `#[scan_element]` struct of the enum and the values",
            );
        }
    }
    let sound = errors.is_empty();
    let (repr, added) = enum_representation(&item, errors);
    let private = quote!(#krate::__private);
    let name = ident.to_string();
    let name = name.trim_start_matches("r#");
    let variants = item.variants.iter().filter(|_| sound).map(|variant| {
        let ident = &variant.ident;
        let name = ident.to_string();
        let name = name.trim_start_matches("r#");
        quote!((#name, Self::#ident as i128))
    });
    // A `repr` that this attribute has not seen, inside a `cfg_attr`, would make another number of it.
    let message = format!("`{ident}` is not stored as its `#[repr]` says: write that without `cfg_attr`");
    let size = sound.then(|| {
        quote!(const { #private::assert!(#private::size_of::<Self>() == #private::Primitive::#repr.size(), #message) };)
    });
    // Only rustc knows the numbers.
    let zeros = item.variants.iter().map(|variant| &variant.ident);
    let zero_bits = sound.then(|| {
        quote! {
            // SAFETY: a variant is stored as zero.
            #[automatically_derived]
            unsafe impl #krate::cudarc::driver::ValidAsZeroBits for #ident
            where
                for<'scan_variant> #private::Given<{ #(#ident::#zeros as i128 == 0)||* }>: #private::HasZero,
            {
            }
        }
    });
    let compares = derives(&item.attrs, "PartialEq");
    let ordered = derives(&item.attrs, "PartialOrd");
    let types = quote!(#private::types);
    let equal = compares.then(|| {
        quote! {
            #[automatically_derived]
            impl #types::Equal for #ident {}
        }
    });
    let order = ordered.then(|| {
        quote! {
            #[automatically_derived]
            impl #types::Ordered for #ident {}
        }
    });
    quote! {
        #added
        #item
        #equal
        #order
        #[automatically_derived]
        impl #types::Matched for #ident {}
        // SAFETY: the enum is stored as a number of this type, and an operator can make a value of it only by naming a
        // variant.
        #[automatically_derived]
        #[diagnostic::do_not_recommend] // as of a struct
        unsafe impl #krate::ScanElement for #ident {
            const SEALED: #private::ByMacro = #private::ByMacro;
            fn layout() -> #private::ElementType {
                #size
                #private::enumeration(#name, #private::Primitive::#repr, const { &[#(#variants),*] })
            }
            const OPERATIONS: #types::Operations = #types::Operations::enumeration(#compares, #ordered);
        }
        #private::device_items! {
            // SAFETY: an element is plain data with a fixed layout, which is what kernels take.
            #[automatically_derived]
            unsafe impl #krate::cudarc::driver::DeviceRepr for #ident {}
            #zero_bits
        }
    }
}

/// The type of an enum's number, and the `repr` to add where the user gave none.
fn enum_representation(item: &ItemEnum, errors: &mut Errors) -> (Ident, Option<TokenStream>) {
    const INTEGERS: [&str; 10] = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];
    let mut found = None;
    for attribute in item.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        let parsed = attribute.parse_nested_meta(|meta| {
            match meta.path.get_ident() {
                Some(ident) if INTEGERS.iter().any(|integer| ident == integer) => found = Some(ident.clone()),
                _ => errors.at(
                    &meta.path,
                    "an enum element is stored as a number of known size: write `#[repr(u8)]`, or another integer",
                ),
            }
            pass_arguments(&meta)
        });
        if let Err(error) = parsed {
            errors.push(error);
        }
        if found.is_none() {
            // Its error has been reported.
            found = Some(Ident::new("u8", attribute.span()));
        }
    }
    let (ident, added) = match found {
        Some(ident) => (ident, None),
        None => {
            if let Some((_, number)) = item.variants.iter().find_map(|variant| variant.discriminant.as_ref()) {
                errors.at(
                    number,
                    "how many bytes store this number? Write `#[repr(u8)]` on the enum, or another integer",
                );
            }
            let ident = Ident::new(if item.variants.len() > 256 { "u16" } else { "u8" }, item.ident.span());
            (ident.clone(), (!item.variants.is_empty()).then(|| quote!(#[repr(#ident)])))
        }
    };
    let name = ident.to_string();
    let (first, rest) = name.split_at(1);
    (Ident::new(&format!("{}{rest}", first.to_uppercase()), ident.span()), added)
}
