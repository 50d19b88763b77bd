//! `#[scan_fn(gradient)]`: the tangent of a function, which the gradients of operators call.

use super::halves::Halves;
use super::names::Names;
use super::tangent::{Known, Tangent, Tangents};
use super::{Gradient, MAX_PARAMETERS};
use crate::errors::Errors;
use crate::helper;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeMap;
use syn::{FnArg, ItemFn, Path, ReturnType, Type};

/// The tangent of a function, and the implementation that names it.
pub(crate) fn tangent_of(krate: &Path, gradient: &Gradient, item: &ItemFn, errors: &mut Errors) -> TokenStream {
    let before = errors.count();
    if !item.sig.generics.params.is_empty() || gradient.instance().is_some() {
        errors.at(
            &gradient.name,
            "the gradient of a generic function is not derived: write the function for one type, and mark that",
        );
    }
    let ReturnType::Type(_, returns) = &item.sig.output else { return TokenStream::new() };
    let types: Vec<&Type> = item.sig.inputs.iter().filter_map(typed).collect();
    if types.len() > MAX_PARAMETERS {
        errors.at(
            &item.sig.inputs,
            format!("a function with a gradient has at most {MAX_PARAMETERS} parameters: make a struct of some"),
        );
    }
    if types.is_empty() {
        errors.at(&item.sig.ident, "a function without parameters has no gradient: remove `gradient`");
    }
    if errors.count() > before {
        return TokenStream::new();
    }
    let (signature, block) = (&item.sig, &item.block);
    let names = Names::beside([quote!(#signature #block)]);
    let halves = Halves::new(krate, [quote!(#signature #block)]);
    let parameters: Vec<Ident> = (0..types.len()).map(|index| names.own(&format!("x{index}"))).collect();
    let changes: Vec<Ident> = (0..types.len()).map(|index| names.own(&format!("dx{index}"))).collect();
    let arguments: Vec<_> = parameters
        .iter()
        .zip(&changes)
        .zip(&types)
        .map(|((value, change), ty)| {
            let tangent = if is_discrete(ty) { Tangent::Zero(None) } else { Tangent::Value(quote!(#change)) };
            (quote!(#value), tangent)
        })
        .collect();
    let known = Known { krate, halves, names: names.clone(), constants: BTreeMap::new(), fields: BTreeMap::new() };
    let mut tangents = Tangents::new(&known, errors);
    let inlined = tangents.inline(&item.sig, block, &arguments);
    let value = match inlined.tangent {
        Tangent::Value(value) => value,
        Tangent::Zero(_) => halves.zero(returns),
    };
    if errors.count() > before {
        return TokenStream::new();
    }
    let function = &item.sig.ident;
    let name = format_ident!("{}_tangent", function);
    let (of_types, of_result): (Vec<_>, _) = (types.iter().map(|ty| halves.ty(ty)).collect(), halves.ty(returns));
    let twin = quote! {
        #[inline]
        fn #name(#(#parameters: #types, #changes: #of_types),*) -> #of_result { #value }
    };
    let twin = helper::derived(krate, twin);
    let scope = halves.scope();
    let of_count = format_ident!("Tangent{}", types.len());
    let letters = (0..types.len()).map(|index| format_ident!("X{index}"));
    let conditions = item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    quote! {
        #(#conditions)*
        #[allow(unused, non_local_definitions, non_camel_case_types, missing_docs, clippy::all)]
        const _: () = {
            #scope
            #twin
            // SAFETY: the text is the text of the called function, written by `#[scan_fn]`.
            unsafe impl #krate::gradient::private::#of_count for #function {
                const SEALED: #krate::__private::ByMacro = #krate::__private::ByMacro;
                #(type #letters = #types;)*
                type Returns = #returns;
                #[inline(always)]
                fn call(#(#parameters: #types, #changes: #of_types),*) -> #of_result {
                    #name(#(#parameters, #changes),*)
                }
                const CALLEE: #krate::__private::Callee = <#name as #krate::__private::ScanFn>::CALLEE;
            }
        };
    }
}

fn typed(input: &FnArg) -> Option<&Type> {
    match input {
        FnArg::Typed(typed) => Some(&typed.ty),
        FnArg::Receiver(_) => None,
    }
}

/// Whether a type is spelled as one whose values never change by a little.
pub(super) fn is_discrete(ty: &Type) -> bool {
    match ty {
        Type::Array(array) => is_discrete(&array.elem),
        Type::Path(path) => path
            .path
            .get_ident()
            .is_some_and(|name| crate::syntax::is_primitive(name) && !name.to_string().contains('f')),
        _ => false,
    }
}
