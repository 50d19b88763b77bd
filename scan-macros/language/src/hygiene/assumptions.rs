//! Rust that compiles only if rustc distinguishes names as the text does.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Ident, Lifetime};

/// Compiles only if all of the identifiers are different to rustc.
pub(super) fn are_several(of_loop: bool, name: &str, idents: &[&Ident]) -> TokenStream {
    let place = |ident: &Ident| Span::call_site().located_at(ident.span());
    let what = if of_loop { "label" } else { "name" };
    let message = format!(
        "Rust does not tell this {what} `{name}` from another one, which was made by a macro; the GPU's text does: give one of \
         them a {what} of its own"
    );
    if of_loop {
        let lifetimes: Vec<Lifetime> = idents.iter().map(|ident| lifetime(ident)).collect();
        let pairs = lifetimes
            .iter()
            .enumerate()
            .flat_map(|(index, outer)| lifetimes.iter().skip(index + 1).map(move |inner| (outer, inner)));
        return pairs
            .map(|(outer, inner)| {
                quote_spanned! {place(&inner.ident)=>
                    const _: () = #outer: {
                        #inner: {
                            break #outer;
                        }
                        ::core::panic!(#message)
                    };
                }
            })
            .collect();
    }
    let numbers = 0..idents.len();
    let bound = idents.iter().zip(numbers.clone()).map(|(ident, number)| quote!(let #ident = #number;));
    let checks = idents
        .iter()
        .zip(numbers)
        .map(|(ident, number)| quote_spanned!(place(ident)=> ::core::assert!(#ident == #number, #message);));
    quote!(const _: () = { #(#bound)* #(#checks)* };)
}

/// Compiles only if all of the identifiers are the same to rustc.
pub(super) fn are_one(of_loop: bool, idents: &[&Ident]) -> TokenStream {
    let Some((first, others)) = idents.split_first() else { return TokenStream::new() };
    if of_loop {
        let (first, others) = (lifetime(first), others.iter().map(|ident| lifetime(ident)));
        return quote!(const _: () = #first: { #(if true { break #others; })* };);
    }
    quote! {
        const _: () = {
            struct Same;
            let #first = Same;
            #(let _: &Same = &#others;)*
        };
    }
}

fn lifetime(ident: &Ident) -> Lifetime {
    Lifetime { apostrophe: ident.span(), ident: ident.clone() }
}
