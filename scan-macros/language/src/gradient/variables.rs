//! The tangents of variables.

use super::names::Rename;
use super::tangent::Tangent::{self, Value, Zero};
use super::tangent::Tangents;
use super::zeros::is_discrete;
use crate::syntax::letters;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::visit_mut::VisitMut;
use syn::{Expr, Local, Pat, Type};

impl Tangents<'_> {
    pub(super) fn local(&mut self, local: &Local) {
        let (pat, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pat => (pat, None),
        };
        match &local.init {
            None => self.declare(pat, ty),
            Some(init) => match (pat, &*init.expr) {
                (Pat::Tuple(pats), Expr::Tuple(values)) => {
                    let tangents: Vec<Tangent> = values.elems.iter().map(|value| self.operand(value)).collect();
                    // Of all before one of them is bound: `let (x, y) = (y, x);`
                    let tangents: Vec<Tangent> = tangents.into_iter().map(|tangent| self.held(tangent)).collect();
                    let types = ty.and_then(|ty| match ty {
                        Type::Tuple(types) => Some(&types.elems),
                        _ => None,
                    });
                    for (index, (pat, tangent)) in pats.elems.iter().zip(tangents).enumerate() {
                        self.bind(pat, types.and_then(|types| types.iter().nth(index)), tangent);
                    }
                }
                (pat, value) => {
                    let tangent = self.operand_of(value, ty.is_some());
                    self.bind(pat, ty, tangent);
                }
            },
        }
        self.out.push(local.to_token_stream());
    }

    /// A variable that gets its value later.
    pub(super) fn declare(&mut self, pat: &Pat, ty: Option<&Type>) {
        let Pat::Ident(variable) = pat else { return };
        let ident = self.known.names.tangent(&variable.ident);
        let mutability = &variable.mutability;
        let ty = self.of_type(ty);
        self.out.push(quote!(let #mutability #ident #ty;));
        self.set(&variable.ident, Value(ident.to_token_stream()));
    }

    /// Gives the names of a pattern their tangents, before they are bound themselves.
    pub(super) fn bind(&mut self, pat: &Pat, ty: Option<&Type>, tangent: Tangent) {
        let tangent = match (tangent, ty) {
            (Zero(None), Some(ty)) => Zero(Some(self.known.halves.zero(ty))),
            (tangent, _) => tangent,
        };
        match pat {
            Pat::Wild(_) => {}
            Pat::Paren(inner) => self.bind(&inner.pat, ty, tangent),
            Pat::Type(typed) => self.bind(&typed.pat, Some(&typed.ty), tangent),
            Pat::Ident(variable) if variable.subpat.is_none() => {
                let value = match tangent {
                    Value(value) => value,
                    Zero(zero) if variable.mutability.is_none() || zero.as_ref().is_some_and(is_discrete) => {
                        return self.set(&variable.ident, Zero(zero));
                    }
                    zero => self.materialized(zero, pat),
                };
                let ident = self.known.names.tangent(&variable.ident);
                let mutability = &variable.mutability;
                let ty = self.of_type(ty);
                self.out.push(quote!(let #mutability #ident #ty = #value;));
                self.set(&variable.ident, Value(ident.to_token_stream()));
            }
            pat => {
                let value = self.materialized(tangent, pat);
                let mut renamed = pat.clone();
                let mut rename = Rename { names: &self.known.names, halves: self.known.halves, found: Vec::new() };
                rename.visit_pat_mut(&mut renamed);
                for (ident, new) in rename.found {
                    self.set(&ident, Value(new.to_token_stream()));
                }
                let ty = self.of_type(ty);
                self.out.push(quote!(let #renamed #ty = #value;));
            }
        }
    }

    /// The type of a variable's tangent, if the type of the variable is written.
    pub(super) fn of_type(&self, ty: Option<&Type>) -> Option<TokenStream> {
        let ty = self.known.halves.ty(ty?);
        Some(quote!(: #ty))
    }

    pub(super) fn set(&mut self, ident: &Ident, tangent: Tangent) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(letters(ident), tangent);
        }
    }

    pub(super) fn find(&self, ident: &Ident) -> Option<&Tangent> {
        self.scopes.iter().rev().find_map(|scope| scope.get(&letters(ident)))
    }
}
