//! The signatures of functions.

use super::pattern::pattern;
use crate::errors::Errors;
use crate::language;
use crate::operator::{Function, of_trait};
use syn::{FnArg, Safety};

/// The signature of a function of the trait.
pub(super) fn operator(function: &Function, errors: &mut Errors) {
    let signature = &function.signature;
    let name = &signature.ident;
    if let Some(token) = &signature.asyncness {
        errors.at(token, "an operator is not `async`: remove the word");
    }
    if let Some(token) = &signature.constness {
        errors.at(token, "the trait's function is not `const`: remove the word");
    }
    if let Safety::Unsafe(token) = &signature.safety {
        errors.at(token, "an operator is safe code: remove the word");
    }
    if let Some(abi) = &signature.abi {
        errors.at(abi, "an operator has no `extern`: remove it");
    }
    if !signature.generics.params.is_empty() {
        errors.at(&signature.generics, "the trait's function has no generic parameters: put them on the impl");
    }
    let of_trait = of_trait(&name.to_string());
    let expected = of_trait.map_or(2, |function| function.takes.len());
    let values: Vec<_> = signature.inputs.iter().filter(|input| matches!(input, FnArg::Typed(_))).collect();
    if values.len() != expected {
        let instead = of_trait.map(|function| format!("`{}`", function.written)).unwrap_or_default();
        if signature.inputs.is_empty() {
            errors.at(name, format!("takes {expected} values: {instead}"));
        } else {
            errors.at(&signature.inputs, format!("takes {expected} values: {instead}"));
        }
    }
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                if !matches!(receiver.kind, syn::ReceiverKind::Reference(_, _, None)) {
                    errors.at(receiver, "an operator is read, never changed: `&self`, or no `self` at all");
                }
            }
            FnArg::Typed(typed) => {
                if let syn::Type::Reference(reference) = &*typed.ty {
                    errors.at(reference, "elements are handed over by value: remove the `&`");
                }
                no_option(&typed.ty, errors);
                pattern(&typed.pat, errors);
            }
        }
    }
    if matches!(signature.output, syn::ReturnType::Default) {
        errors.at(name, format!("`{name}` must return a value: add `-> T`"));
    }
}

/// The signature of a function that operators can call.
pub(super) fn helper(function: &Function, errors: &mut Errors) {
    let signature = &function.signature;
    if let Some(token) = &signature.asyncness {
        errors.at(token, "a function that an operator calls is not `async`: remove the word");
    }
    if let Safety::Unsafe(token) = &signature.safety {
        errors.at(token, "an operator is safe code, and so is what it calls: remove the word");
    }
    if let Some(abi) = &signature.abi {
        errors.at(abi, "a function that an operator calls has no `extern`: remove it");
    }
    for parameter in &signature.generics.params {
        if let syn::GenericParam::Lifetime(lifetime) = parameter {
            errors.at(lifetime, "elements are handed over by value: a lifetime has no place here");
        }
    }
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                errors.at(receiver, "`#[scan_fn]` stands on a function outside of any `impl`: hand the value over");
            }
            FnArg::Typed(typed) => {
                value_type(&typed.ty, errors);
                pattern(&typed.pat, errors);
            }
        }
    }
    match &signature.output {
        syn::ReturnType::Default => {
            errors.at(&signature.ident, format!("`{}` must return a value: add `-> T`", signature.ident));
        }
        syn::ReturnType::Type(_, ty) => value_type(ty, errors),
    }
}

/// The type of a value that may be missing, which is no element.
fn no_option(ty: &syn::Type, errors: &mut Errors) {
    if let syn::Type::Path(path) = ty
        && language::is_option(path)
    {
        errors.at(ty, language::NO_OPTION_TYPE);
    }
}

/// The type of a parameter, or of a result, of a function that operators can call.
fn value_type(ty: &syn::Type, errors: &mut Errors) {
    no_option(ty, errors);
    match ty {
        syn::Type::Reference(reference) => errors.at(reference, "elements are handed over by value: remove the `&`"),
        syn::Type::Tuple(tuple) if tuple.elems.is_empty() => errors.at(tuple, "a function must return a value"),
        syn::Type::Tuple(tuple) => {
            errors.at(tuple, "tuples are outside the operator language: make a `#[scan_element]` struct")
        }
        syn::Type::ImplTrait(ty) => errors.at(ty, "name the type: `fn f<T: Trait>(x: T)`, called as `f::<f32>(x)`"),
        syn::Type::Slice(_)
        | syn::Type::Ptr(_)
        | syn::Type::FnPtr(_)
        | syn::Type::TraitObject(_)
        | syn::Type::Never(_) => {
            errors.at(ty, "a function that an operator calls works on elements: numbers, arrays, and structs of these");
        }
        _ => {}
    }
}
