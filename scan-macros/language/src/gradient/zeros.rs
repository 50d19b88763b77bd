//! The zeros of types: the tangents of constants.

use super::tangent::Tangent::{self, Value, Zero};
use crate::language;
use crate::syntax::letters;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, Lit, Member};

/// A zero of the type of tangents that are held.
pub(super) fn difference(tangents: &[&Tangent]) -> Option<TokenStream> {
    tangents.iter().find_map(|tangent| match tangent {
        Value(value) => Some(quote!((#value - #value))),
        Zero(_) => None,
    })
}

/// One of two zeros of a type, with the type if either has it.
pub(super) fn either(a: Option<TokenStream>, b: Option<TokenStream>) -> Option<TokenStream> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if is_number_without_type(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// A tangent after an error.
pub(super) fn wrong() -> Tangent {
    Zero(Some(quote!(0.0)))
}

/// The zero of an integer or a truth value, whose type is not known.
pub(super) fn discrete(value: &Expr) -> Tangent {
    Zero(Some(quote!(((#value) ^ (#value)))))
}

/// Whether it is the zero of an integer or a truth value, whose variables have no tangents.
pub(super) fn is_discrete(zero: &TokenStream) -> bool {
    let text = zero.to_string();
    syn::parse2::<syn::LitInt>(zero.clone()).is_ok()
        || text == "false"
        || text.contains('^')
        || language::PRIMITIVES
            .iter()
            .filter(|name| !name.contains('f'))
            .any(|name| text.starts_with(&format!("< {name} ")))
}

pub(super) fn is_number_without_type(zero: &TokenStream) -> bool {
    syn::parse2::<syn::LitFloat>(zero.clone()).is_ok_and(|number| number.suffix().is_empty())
}

pub(super) fn zero_of(literal: &Lit) -> Option<TokenStream> {
    match literal {
        Lit::Float(number) => {
            let zero: TokenStream = format!("0.0{}", number.suffix()).parse().ok()?;
            Some(zero)
        }
        Lit::Int(number) if matches!(number.suffix(), "f32" | "f64") => format!("0.0{}", number.suffix()).parse().ok(),
        Lit::Int(number) => format!("0{}", number.suffix()).parse().ok(),
        Lit::Byte(_) => Some(quote!(0_u8)),
        Lit::Bool(_) => Some(quote!(false)),
        _ => None,
    }
}

pub(super) fn member_name(member: &Member) -> String {
    match member {
        Member::Named(ident) => letters(ident),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// Whether it is a literal, which has no type of its own.
pub(super) fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Paren(inner) => is_number(&inner.expr),
        Expr::Unary(unary) => is_number(&unary.expr),
        _ => false,
    }
}
