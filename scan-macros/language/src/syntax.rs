//! Helpers for Rust's syntax that several passes share.

use crate::language::{self, Method, Operator, PRIMITIVES};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{BinOp, Expr, ExprPath, ExprRange, Ident, Path};

/// A range that a `for` runs over.
pub(crate) struct Range<'a> {
    pub(crate) start: Option<&'a Expr>,
    pub(crate) end: Option<&'a Expr>,
    pub(crate) inclusive: bool,
    pub(crate) reversed: bool,
    whole: &'a ExprRange,
}

impl ToTokens for Range<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.whole.to_tokens(tokens);
    }
}

/// The range of `a..b`, `a..=b`, and of these with `.rev()`.
pub(crate) fn range_of(expr: &Expr) -> Option<Range<'_>> {
    match expr {
        Expr::Paren(paren) => range_of(&paren.expr),
        Expr::Range(range) => Some(Range {
            start: range.start.as_deref(),
            end: range.end.as_deref(),
            inclusive: matches!(range.limits, syn::RangeLimits::Closed(_)),
            reversed: false,
            whole: range,
        }),
        Expr::MethodCall(call) if call.method == "rev" && call.args.is_empty() => {
            let range = range_of(&call.receiver)?;
            Some(Range { reversed: !range.reversed, ..range })
        }
        _ => None,
    }
}

/// The condition of `assert!(condition, …)`.
pub(crate) fn asserted(mac: &syn::Macro) -> syn::Result<Expr> {
    mac.parse_body_with(|input: syn::parse::ParseStream| {
        let condition: Expr = input.parse()?;
        input.parse::<TokenStream>()?;
        Ok(condition)
    })
}

/// Whether the operator is one that assigns: `+=`.
pub(crate) fn is_assignment(operator: &BinOp) -> bool {
    Operator::of(operator).is_some_and(|(_, assigns)| assigns)
}

/// Whether what is called belongs to a primitive type, or to a type parameter.
pub(crate) fn is_of_type(path: &Path) -> bool {
    match path.segments.first() {
        Some(first) if path.segments.len() == 3 && first.ident == "half" => is_primitive(&path.segments[1].ident),
        Some(first) if path.segments.len() == 2 => is_primitive(&first.ident) || is_capital(&first.ident),
        _ => false,
    }
}

/// The numeric method that a path calls by its type (`f32::max`).
pub(crate) fn method_of_type(path: &Path) -> Option<&'static Method> {
    if path.segments.len() < 2 {
        return None;
    }
    language::find(&path.segments.last()?.ident.to_string())
}

pub(crate) fn is_primitive(ident: &Ident) -> bool {
    PRIMITIVES.iter().any(|name| ident == name)
}

fn is_capital(ident: &Ident) -> bool {
    ident.to_string().starts_with(|first: char| first.is_uppercase())
}

/// Whether a path names something of the user's own in capitals: not a local, not `f32::MAX`.
pub(crate) fn is_own_capital(path: &ExprPath) -> bool {
    let segments = &path.path.segments;
    segments.last().is_some_and(|last| is_capital(&last.ident))
        && !segments.first().is_some_and(|first| is_primitive(&first.ident))
}

/// The name without the prefix of a raw identifier, which makes no difference to Rust.
pub(crate) fn letters(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}

/// Whether Rust's style takes the name for a constant: `MODULUS`, `None`, and not `x` or `n`.
pub(crate) fn is_constant(ident: &Ident) -> bool {
    letters(ident).trim_start_matches('_').starts_with(|first: char| first.is_uppercase())
}

/// The name as C++ can have it: raw identifiers lose their prefix, letters beyond ASCII become numbers, and no name
/// looks like one of the compiler's own (`__x`).
pub(crate) fn plain(ident: &Ident) -> String {
    let mut plain = String::new();
    for letter in letters(ident).chars() {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            plain.push(letter);
        } else {
            plain.push_str(&format!("u{:x}", u32::from(letter)));
        }
    }
    match plain.strip_prefix("__") {
        Some(rest) => format!("_{}", rest.trim_start_matches('_')),
        None => plain,
    }
}
