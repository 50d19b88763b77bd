//! `#[scan_fn]`: a function that operators can call. The function stays as it is; beside it, under the same name but among
//! the types, stands what carries its CUDA text. So `use helpers::gcd;` brings both, and `helpers::gcd(a, b)` finds both.

use crate::emit::{callees, function_text};
use crate::errors::Errors;
use crate::ir::Lowered;
use crate::operator::Function;
use crate::twin::Twins;
use crate::{attribute, check, gradient, groups, lower, uses};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericParam, Generics, Item, ItemFn, Path, ReturnType, WhereClause};

/// The error of another item than a function.
pub(crate) const NO_FUNCTION: &str = "`#[scan_fn]` stands on a function";

pub(crate) fn scan_fn(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(options, item, Twins::Compared)
}

/// `#[scan_fn]` on a function that was derived from another one, or from a struct.
pub(crate) fn derived(krate: &Path, item: TokenStream) -> TokenStream {
    expand(quote!(crate = #krate), item, Twins::LeftOut)
}

fn expand(options: TokenStream, item: TokenStream, twins: Twins) -> TokenStream {
    let mut errors = Errors::default();
    let options = attribute::options(options, &["gradient", "crate"], &mut errors);
    let krate = options.krate;
    let mut item = item;
    let companion = match groups::item(item.clone()) {
        Ok(Item::Fn(mut function)) => {
            let mut companion = companion(&krate, &function, twins, &mut errors);
            if let Some(gradient) = options.gradient.filter(|_| errors.is_empty()) {
                companion.extend(gradient::tangent_of(&krate, &gradient, &function, &mut errors));
            }
            // What rustc would say of the body then follows from the error, or repeats it. Constants are evaluated.
            if !errors.is_empty() && function.sig.constness.is_none() {
                *function.block = syn::parse_quote!({ loop {} });
                function.attrs.push(syn::parse_quote!(#[allow(unused)]));
            }
            item = function.to_token_stream();
            companion
        }
        Ok(other) => {
            errors.at(&other, NO_FUNCTION);
            TokenStream::new()
        }
        Err(error) => {
            errors.push(error);
            TokenStream::new()
        }
    };
    let errors = errors.into_tokens();
    quote!(#errors #item #companion)
}

/// The function, unless something is wrong with it.
pub(crate) fn lowered(function: &Function, errors: &mut Errors) -> Option<Lowered> {
    check::helper(function, errors);
    let lowered = if errors.is_empty() { Some(lower::function(function, errors)) } else { None };
    lowered.filter(|_| errors.is_empty())
}

fn companion(krate: &Path, item: &ItemFn, twins: Twins, errors: &mut Errors) -> TokenStream {
    let function = Function { attributes: Vec::new(), signature: item.sig.clone(), block: (*item.block).clone() };
    let lowered = lowered(&function, errors);
    if item.sig.receiver().is_some() {
        // Inside an `impl` no type can be declared: it would bring a second wave of errors.
        return TokenStream::new();
    }

    let private = quote!(#krate::__private);
    let (ident, visibility) = (&item.sig.ident, &item.vis);
    let conditions = item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let conditions: Vec<_> = conditions.map(ToTokens::to_token_stream).collect();
    let mut generics = item.sig.generics.clone();
    let mut held = Vec::new();
    let mut arguments = Vec::new();
    for parameter in &mut generics.params {
        match parameter {
            GenericParam::Type(parameter) => {
                let name = &parameter.ident;
                held.push(quote!(#name));
                arguments.push(quote!(<#name as #private::ScanElement>::layout().name));
                parameter.bounds.push(syn::parse_quote!(#krate::ScanElement));
            }
            GenericParam::Const(parameter) => {
                let name = &parameter.ident;
                arguments.push(quote!(#private::const_name(#name)));
            }
            GenericParam::Lifetime(_) => {}
        }
    }
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let declared = item.sig.generics.params.iter().map(|parameter| match parameter {
        GenericParam::Type(parameter) => parameter.ident.to_token_stream(),
        GenericParam::Const(parameter) => {
            let (name, ty) = (&parameter.ident, &parameter.ty);
            quote!(const #name: #ty)
        }
        GenericParam::Lifetime(parameter) => parameter.lifetime.to_token_stream(),
    });
    let declared = (!item.sig.generics.params.is_empty()).then(|| quote!(<#(#declared),*>));

    let callees = callees(lowered.as_slice());
    let text = match &lowered {
        Some(lowered) => {
            let takes = item.sig.inputs.iter().filter_map(|input| match input {
                syn::FnArg::Typed(typed) => Some(typed.ty.to_token_stream()),
                syn::FnArg::Receiver(_) => None,
            });
            let returns = match &item.sig.output {
                ReturnType::Type(_, ty) => ty.to_token_stream(),
                ReturnType::Default => quote!(()),
            };
            let cold = item.attrs.iter().any(|attribute| attribute.path().is_ident("cold"));
            function_text(krate, &ident.to_string(), lowered, &takes.collect::<Vec<_>>(), &returns, cold)
        }
        // The function exists for those that call it, so that only its own errors are seen.
        None => quote! {
            #private::Function {
                name: "",
                parameters: &[],
                returns: <bool as #private::ScanElement>::layout,
                body: &[],
                uses: &[],
                calls: &[],
                cold: false,
                file: #private::String::new,
            }
        },
    };
    // After an error there is none, so that it is not reported once more.
    let twin = lowered.as_ref().map(|_| twins.statement(krate, &item.sig.generics, [&function]));
    let bindings = lowered.iter().flat_map(|function| &function.bindings);
    let assumptions = lowered.iter().map(|function| &function.assumption);
    // As an item, where it can be one, it is evaluated by `cargo check`.
    let evaluated = item.sig.generics.params.is_empty().then(|| {
        quote_spanned! {ident.span()=>
            #(#conditions)*
            const _: #private::Callee = <#ident as #private::ScanFn>::CALLEE;
        }
    });
    let acyclic = not_recursive(krate, &generics, lowered.as_ref());
    // At the function's name, so that rustc points there.
    let span = Span::call_site().located_at(ident.span());
    let map = map_of(&item.sig).map(|(from, to)| {
        let turbofish = type_generics.as_turbofish();
        quote_spanned! {span=>
            #(#conditions)*
            #[automatically_derived]
            #[allow(unused, non_camel_case_types, clippy::all)]
            unsafe impl #impl_generics #private::ScanMap for #ident #type_generics #where_clause {
                const SEALED: #private::ByMacro = #private::ByMacro;
                type From = #from;
                type To = #to;
                fn map(from: #from) -> #to {
                    #ident #turbofish(from)
                }
            }
        }
    });
    let implementation = quote_spanned! {span=>
        #(#conditions)*
        #[automatically_derived]
        #[allow(unused, non_camel_case_types, non_local_definitions, clippy::all)]
        const _: () = {
            #callees
            impl #impl_generics #private::NoRecursion for #ident #type_generics #acyclic {}
            unsafe impl #impl_generics #private::ScanFn for #ident #type_generics #where_clause {
                const SEALED: #private::ByMacro = #private::ByMacro;
                const CALLEE: #private::Callee = {
                    #(let #bindings = ();)*
                    #(#assumptions)*
                    #private::Callee {
                        id: #private::TypeId::of::<Self>,
                        arguments: || {
                            #twin
                            #private::vec![#(#arguments),*]
                        },
                        function: #text,
                    }
                };
            }
        };
    };
    quote! {
        #(#conditions)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code, missing_docs, missing_debug_implementations, unreachable_pub)]
        #visibility struct #ident #declared {
            held: #private::PhantomData<fn() -> (#(#held,)*)>,
        }
        #implementation
        #map
        #evaluated
    }
}

/// The bounds of a function that does not call itself through others: those that it calls do not, either. In a circle
/// each would need the next one's, which rustc reports at the calls.
fn not_recursive(krate: &Path, generics: &Generics, lowered: Option<&Lowered>) -> Option<WhereClause> {
    let mut bounds = generics.clone();
    for called in uses::of(lowered.map_or(&[], |function| &function.body)).types() {
        let span = called.span();
        let at = |mut token: TokenTree| {
            token.set_span(span);
            token
        };
        let bound: TokenStream = quote!(: #krate::__private::NoRecursion).into_iter().map(at).collect();
        bounds.make_where_clause().predicates.push(syn::parse_quote!(#called #bound));
    }
    bounds.where_clause
}

/// What a function of one parameter takes and gives; `None` of another function, and of one that is refused.
fn map_of(signature: &syn::Signature) -> Option<(&syn::Type, &syn::Type)> {
    let refused = signature.asyncness.is_some() || matches!(signature.safety, syn::Safety::Unsafe(_));
    if refused || signature.generics.lifetimes().next().is_some() {
        return None;
    }
    let mut inputs = signature.inputs.iter();
    match (inputs.next(), inputs.next(), &signature.output) {
        (Some(syn::FnArg::Typed(from)), None, ReturnType::Type(_, to))
            if !matches!(*from.ty, syn::Type::Reference(_) | syn::Type::ImplTrait(_)) =>
        {
            Some((&from.ty, to))
        }
        _ => None,
    }
}
