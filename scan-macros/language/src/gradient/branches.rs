//! The tangents of `if` and `match` that have a value.

use super::names::Rename;
use super::tangent::Tangent::{self, Value, Zero};
use super::tangent::Tangents;
use super::zeros::{either, is_number_without_type};
use crate::syntax::is_constant;
use quote::quote;
use syn::visit_mut::VisitMut;
use syn::{Expr, Pat};

impl Tangents<'_> {
    pub(super) fn branches(&mut self, choice: &syn::ExprIf, whole: &Expr) -> Tangent {
        let condition = &choice.cond;
        let Some((_, other)) = &choice.else_branch else { return Zero(None) };
        let (then_stmts, then) = self.scoped(|this| this.value_of(&choice.then_branch));
        let (other_stmts, other_tangent) = self.scoped(|this| match &**other {
            Expr::Block(block) => this.value_of(&block.block),
            other => this.of(other),
        });
        if let (Zero(a), Zero(b)) = (&then, &other_tangent) {
            return Zero(either(a.clone(), b.clone()));
        }
        let has_statements = !then_stmts.is_empty() || !other_stmts.is_empty();
        let [then, other_tangent] = [then, other_tangent].map(|tangent| self.with_type(tangent, has_statements, whole));
        let then = self.materialized(then, &choice.then_branch);
        let other = self.materialized(other_tangent, other);
        Value(quote!((if #condition { #(#then_stmts)* #then } else { #(#other_stmts)* #other })))
    }

    pub(super) fn matching(&mut self, matching: &syn::ExprMatch, whole: &Expr) -> Tangent {
        let scrutinee = &matching.expr;
        let mut arms = Vec::new();
        for arm in &matching.arms {
            let (stmts, tangent) = self.scoped(|this| {
                this.matched(&arm.pat, scrutinee);
                match &*arm.body {
                    Expr::Block(block) => this.value_of(&block.block),
                    body => this.of(body),
                }
            });
            arms.push((arm, stmts, tangent));
        }
        if arms.iter().all(|(_, _, tangent)| matches!(tangent, Zero(_))) {
            return arms
                .into_iter()
                .find(|(_, _, tangent)| !matches!(tangent, Zero(None)))
                .map_or(Zero(None), |arm| arm.2);
        }
        let has_statements = arms.iter().any(|(_, stmts, _)| !stmts.is_empty());
        let arms = arms.into_iter().map(|(arm, stmts, tangent)| {
            let tangent = self.with_type(tangent, has_statements, whole);
            let value = self.materialized(tangent, &arm.body);
            let pat = &arm.pat;
            quote!(#pat => { #(#stmts)* #value })
        });
        let arms: Vec<_> = arms.collect();
        Value(quote!((match #scrutinee { #(#arms)* })))
    }

    /// The tangent of a branch, whose type C++ can find out where there are statements in the branches.
    pub(super) fn with_type(&mut self, tangent: Tangent, has_statements: bool, whole: &Expr) -> Tangent {
        match tangent {
            Zero(Some(zero)) if has_statements && !self.typed && is_number_without_type(&zero) => {
                // A zero of the type of the value, whatever that and the value are.
                let value = self.shared(whole);
                Zero(Some(quote!(#value.min(#zero).max(#zero))))
            }
            tangent => tangent,
        }
    }

    /// Gives the names that a pattern of a `match` binds their tangents.
    pub(super) fn matched(&mut self, pat: &Pat, scrutinee: &Expr) {
        match (pat, scrutinee) {
            (Pat::Guard(guarded), _) => self.matched(&guarded.pat, scrutinee),
            (Pat::Paren(inner), _) => self.matched(&inner.pat, scrutinee),
            (Pat::Ident(variable), _) if variable.subpat.is_none() => {
                if !is_constant(&variable.ident) {
                    let tangent = self.of(scrutinee);
                    self.bind(pat, None, tangent);
                }
            }
            (Pat::Tuple(pats), Expr::Tuple(values)) => {
                for (pat, value) in pats.elems.iter().zip(&values.elems) {
                    self.matched(pat, value);
                }
            }
            (pat, _) => {
                let mut binds = Rename { names: &self.known.names, halves: self.known.halves, found: Vec::new() };
                binds.visit_pat_mut(&mut pat.clone());
                if !binds.found.is_empty() {
                    self.errors.at(
                        pat,
                        "the gradient does not follow names inside of a pattern of `match`: read the fields in the arm",
                    );
                }
            }
        }
    }
}
