//! What a function's text needs of the prelude, and how often a call of it does each of these things: what says how long the
//! GPU's compiler and the GPU will have with it.

use super::scope::Scopes;
use crate::syntax::{Range, is_of_type};
use proc_macro2::TokenStream;
use quote::quote;
use std::collections::BTreeMap;
use syn::{BinOp, Expr, Path};

/// The loops around a place, as often as each goes round: constant expressions.
type Nest = Vec<TokenStream>;

/// Things that are done, and how often in each nest of loops.
#[derive(Debug)]
struct Counts<K>(BTreeMap<K, BTreeMap<String, (Nest, u64)>>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Counts(BTreeMap::new())
    }
}

impl<K: Ord> Counts<K> {
    fn add(&mut self, what: K, nest: &Nest, times: u64) {
        let key = nest.iter().map(ToString::to_string).collect::<Vec<_>>().join("*");
        let (_, count) = self.0.entry(what).or_default().entry(key).or_insert_with(|| (nest.clone(), 0));
        *count += times;
    }

    /// Each with the sum of its counts, a constant expression.
    fn sums(&self) -> impl Iterator<Item = (&K, TokenStream)> {
        self.0.iter().map(|(what, nests)| {
            let products = nests.values().map(|(nest, count)| quote!(&[#count #(, #nest)*]));
            let sum = match nests.values().next() {
                Some((nest, count)) if nests.len() == 1 && nest.is_empty() => quote!(#count),
                _ => quote!(__scan_sum_of_products(&[#(#products),*])),
            };
            (what, sum)
        })
    }
}

/// What a function's text needs, with counts.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    parts: Counts<&'static str>,
    /// The functions that it calls, by the tokens of their types.
    calls: Counts<String>,
    callees: BTreeMap<String, TokenStream>,
    nest: Nest,
}

impl Uses {
    /// A part of the prelude is used here.
    pub(super) fn insert(&mut self, part: &'static str) {
        self.parts.add(part, &self.nest, 1);
    }

    pub(super) fn extend<const N: usize>(&mut self, parts: [&'static str; N]) {
        parts.into_iter().for_each(|part| self.insert(part));
    }

    /// A division by a constant: the compiler makes multiplications of it.
    pub(super) fn insert_by_constant(&mut self, part: &'static str) {
        self.parts.add(part, &self.nest, 0);
        self.insert("by_constant");
    }

    /// A function is called here.
    pub(super) fn call(&mut self, callee: &TokenStream) {
        let key = callee.to_string();
        self.calls.add(key.clone(), &self.nest, 1);
        self.callees.entry(key).or_insert_with(|| callee.clone());
    }

    /// What follows stands in a loop over this range.
    pub(super) fn enter(&mut self, range: &Range, scopes: &Scopes) {
        let bound = |expr: Option<&Expr>| expr.and_then(|expr| constant(expr, scopes));
        self.nest.push(match (bound(range.start), bound(range.end)) {
            (Some(start), Some(end)) => {
                let past = i128::from(range.inclusive);
                quote!(__scan_rounds(#start, #end.wrapping_add(#past)))
            }
            _ => quote!(__SCAN_SOME_ROUNDS),
        });
    }

    /// What follows stands in a loop that goes round nobody knows how often.
    pub(super) fn enter_loop(&mut self) {
        self.nest.push(quote!(__SCAN_SOME_ROUNDS));
    }

    pub(super) fn leave(&mut self) {
        self.nest.pop();
    }

    /// The parts of the prelude with their counts, and the functions with theirs: arrays of constants.
    pub(crate) fn to_tokens(&self, krate: &Path) -> (TokenStream, TokenStream) {
        let parts = self.parts.sums().map(|(part, sum)| quote!((#part, #sum)));
        let calls = self.calls.sums().filter_map(|(key, sum)| {
            let callee = self.callees.get(key)?;
            Some(quote!((&<#callee as #krate::__private::ScanFn>::NOT_RECURSIVE, #sum)))
        });
        let counted = |values: Vec<TokenStream>| match values.iter().any(|value| !value.is_empty()) {
            // Under names that stand in the way of none of the user's constants.
            true => quote!({
                use #krate::__private::{
                    SOME_ROUNDS as __SCAN_SOME_ROUNDS, rounds as __scan_rounds, sum_of_products as __scan_sum_of_products,
                };
                &[#(#values),*]
            }),
            false => quote!(&[]),
        };
        (counted(parts.collect()), counted(calls.collect()))
    }
}

/// The bound of a range as a constant expression of `i128`, where it is made of nothing but constants.
fn constant(expr: &Expr, scopes: &Scopes) -> Option<TokenStream> {
    match expr {
        Expr::Paren(inner) => constant(&inner.expr, scopes),
        Expr::Cast(cast) => constant(&cast.expr, scopes),
        Expr::Lit(literal) if matches!(literal.lit, syn::Lit::Int(_)) => Some(quote!((#literal as i128))),
        Expr::Path(path) if path.path.get_ident().is_none_or(|ident| scopes.find(ident).is_none()) => {
            Some(quote!((#path as i128)))
        }
        Expr::Binary(binary) => {
            let (left, right) = (constant(&binary.left, scopes)?, constant(&binary.right, scopes)?);
            match binary.op {
                BinOp::Add(_) => Some(quote!(#left.wrapping_add(#right))),
                BinOp::Sub(_) => Some(quote!(#left.wrapping_sub(#right))),
                BinOp::Mul(_) => Some(quote!(#left.wrapping_mul(#right))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether rustc knows the value: a literal, or a constant by its name.
pub(super) fn is_constant(expr: &Expr, scopes: &Scopes) -> bool {
    is_made_of(expr, &|path| path.get_ident().is_none_or(|ident| scopes.find(ident).is_none()))
}

/// Whether an index is made of numbers, constants, and counters of loops alone, so that the compiler knows it once loops are
/// unrolled.
pub(super) fn is_counted(expr: &Expr, scopes: &Scopes) -> bool {
    is_made_of(expr, &|path| path.get_ident().and_then(|ident| scopes.find(ident)).is_none_or(|found| found.counted))
}

/// Whether there is nothing in an expression but literals, such names, and what is computed of them.
fn is_made_of(expr: &Expr, is_name: &impl Fn(&Path) -> bool) -> bool {
    match expr {
        Expr::Paren(inner) => is_made_of(&inner.expr, is_name),
        Expr::Cast(cast) => is_made_of(&cast.expr, is_name),
        Expr::Unary(unary) => is_made_of(&unary.expr, is_name),
        Expr::Binary(binary) => is_made_of(&binary.left, is_name) && is_made_of(&binary.right, is_name),
        Expr::Lit(_) => true,
        Expr::Path(path) => is_name(&path.path),
        Expr::Call(call) => {
            // `u64::from(P)`.
            matches!(&*call.func, Expr::Path(path) if is_of_type(&path.path))
                && call.args.iter().all(|argument| is_made_of(argument, is_name))
        }
        _ => false,
    }
}
