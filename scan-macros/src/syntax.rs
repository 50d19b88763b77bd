//! What several passes read of Rust's syntax, so that they read it in the same way.

use crate::language::{self, PRIMITIVES};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{BinOp, Expr, ExprRange, Ident, Path};

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

pub(crate) fn is_assignment(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}

/// Whether what is called belongs to a primitive type, or to a type parameter.
pub(crate) fn is_of_type(path: &Path) -> bool {
    match path.segments.first() {
        Some(first) if path.segments.len() == 3 && first.ident == "half" => {
            PRIMITIVES.contains(&path.segments[1].ident.to_string().as_str())
        }
        Some(first) if path.segments.len() == 2 => {
            let first = first.ident.to_string();
            PRIMITIVES.contains(&first.as_str()) || first.starts_with(|first: char| first.is_uppercase())
        }
        _ => false,
    }
}

/// Whether a path calls a numeric method by its type (`f32::max`); the method's name and number of arguments.
pub(crate) fn method_of_type(path: &Path) -> Option<(&'static str, usize)> {
    if path.segments.len() < 2 {
        return None;
    }
    language::find(&path.segments.last()?.ident.to_string())
}

/// The name without the mark of a raw identifier, which makes no difference to Rust.
pub(crate) fn letters(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}

/// Whether Rust's style takes the name for a constant: `MODULUS`, `None`, and not `x` or `n`.
pub(crate) fn is_constant(ident: &Ident) -> bool {
    letters(ident).trim_start_matches('_').starts_with(|first: char| first.is_uppercase())
}
