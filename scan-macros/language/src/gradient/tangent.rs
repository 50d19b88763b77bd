//! The tangent of a body, in one direction: the same statements, each after the statements that compute how its values
//! change.
//!
//! The tangent of a value has the type of the value, so that no types are needed here; only floats of 16 bits have
//! wider ones ([`Halves`]). A variable `x` has its tangent in `x_t`. A value that does not change in the direction has
//! no tangent; if one is needed, it is the type's zero.

use super::halves::Halves;
use super::leaving::Returned;
use super::names::Names;
use super::places::{changes_others, is_place};
use super::returns;
use crate::errors::Errors;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use std::collections::BTreeMap;
use syn::{Block, Expr, FnArg, Path, ReturnType, Signature, Stmt, Type, UnOp};

/// How a value changes.
#[derive(Clone)]
pub(super) enum Tangent {
    /// Not at all; with the type's zero, if it is known.
    Zero(Option<TokenStream>),
    /// By the value of this expression, which is evaluated at most once.
    Value(TokenStream),
}

use Tangent::{Value, Zero};

/// What is known of the operator that the body belongs to.
pub(super) struct Known<'a> {
    pub(super) krate: &'a Path,
    pub(super) halves: Halves<'a>,
    pub(super) names: Names,
    /// The types of `Self::IDENTITY` and `Self::START`.
    pub(super) constants: BTreeMap<&'static str, Type>,
    /// The tangents of the operator's fields.
    pub(super) fields: BTreeMap<String, Tangent>,
}

/// The code being written.
pub(super) struct Tangents<'a> {
    pub(super) known: &'a Known<'a>,
    pub(super) errors: &'a mut Errors,
    /// The tangents of the variables.
    pub(super) scopes: Vec<BTreeMap<String, Tangent>>,
    /// The statements of the innermost block.
    pub(super) out: Vec<TokenStream>,
    kept: usize,
    /// Whether the type of the value is known where its tangent goes.
    pub(super) typed: bool,
}

/// A body with its arguments: the value, and how it changes.
pub(super) struct Inlined {
    pub(super) value: TokenStream,
    pub(super) tangent: Tangent,
}

impl<'a> Tangents<'a> {
    pub(super) fn new(known: &'a Known<'a>, errors: &'a mut Errors) -> Self {
        Tangents { known, errors, scopes: vec![BTreeMap::new()], out: Vec::new(), kept: 0, typed: true }
    }

    /// A function's value for these arguments, each an expression without effects and its tangent.
    pub(super) fn inline(
        &mut self,
        signature: &Signature,
        body: &Block,
        arguments: &[(TokenStream, Tangent)],
    ) -> Inlined {
        let Known { halves, names, .. } = self.known;
        let returned = match &signature.output {
            ReturnType::Type(_, ty) => Some(Returned { halves: *halves, names, ty }),
            ReturnType::Default => None,
        };
        let body = returns::removed(body, returned.as_ref(), self.errors);
        let typed = signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(typed),
            FnArg::Receiver(_) => None,
        });
        let parameters: Vec<_> = typed.zip(arguments).collect();
        let bound = parameters.iter().map(|(parameter, (value, _))| {
            let (pat, ty) = (&parameter.pat, &parameter.ty);
            quote!(let #pat: #ty = #value;)
        });
        let stmts = &body.stmts;
        let value = quote!({ #(#bound)* #(#stmts)* });
        let tangent = self.block(|this| {
            for (parameter, (value, tangent)) in &parameters {
                this.bind(&parameter.pat, Some(&parameter.ty), tangent.clone());
                let (pat, ty) = (&parameter.pat, &parameter.ty);
                this.out.push(quote!(let #pat: #ty = #value;));
            }
            this.value_of(&body)
        });
        Inlined { value, tangent }
    }

    /// The tangent of a block's value, as a block. `inside` gives the tangent of the value after the statements.
    pub(super) fn block(&mut self, inside: impl FnOnce(&mut Self) -> Tangent) -> Tangent {
        let (stmts, tangent) = self.scoped(inside);
        match tangent {
            Value(value) => Value(quote!({ #(#stmts)* #value })),
            zero => zero,
        }
    }

    pub(super) fn scoped<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> (Vec<TokenStream>, T) {
        let around = std::mem::take(&mut self.out);
        self.scopes.push(BTreeMap::new());
        let result = inside(self);
        self.scopes.pop();
        (std::mem::replace(&mut self.out, around), result)
    }

    pub(super) fn value_of(&mut self, block: &Block) -> Tangent {
        let Some((Stmt::Expr(value, None), before)) = block.stmts.split_last() else {
            self.statements(&block.stmts);
            return Zero(None);
        };
        self.statements(before);
        self.of(value)
    }

    /// A tangent that is evaluated here.
    pub(super) fn held(&mut self, tangent: Tangent) -> Tangent {
        match tangent {
            Value(value) => {
                let name = self.name();
                self.out.push(quote!(let #name = #value;));
                Value(name.to_token_stream())
            }
            zero => zero,
        }
    }

    pub(super) fn name(&mut self) -> Ident {
        self.kept += 1;
        self.known.names.own(&format!("{}", self.kept))
    }

    /// The tangent's value, also where it is zero.
    pub(super) fn materialized(&mut self, tangent: Tangent, at: &impl ToTokens) -> TokenStream {
        match tangent {
            Value(value) => value,
            Zero(Some(zero)) => zero,
            Zero(None) => {
                self.errors
                    .at(at, "the gradient needs the type of this constant: bind it before, `let name: f64 = …;`");
                quote!(0.0)
            }
        }
    }

    /// The tangent of a value that is computed next to its tangent: neither may change a variable that the other reads.
    pub(super) fn operand(&mut self, expr: &Expr) -> Tangent {
        self.operand_of(expr, false)
    }

    /// The same, for a place whose type is known or not.
    pub(super) fn operand_of(&mut self, expr: &Expr, typed: bool) -> Tangent {
        if changes_others(expr) {
            self.errors.at(
                expr,
                "the gradient computes this twice, so it may not assign to variables around it or leave: make it a statement \
                 of its own",
            );
        }
        let around = std::mem::replace(&mut self.typed, typed);
        let tangent = self.of(expr);
        self.typed = around;
        tangent
    }

    /// A value that is used several times, as a factor of tangents.
    pub(super) fn shared(&mut self, expr: &Expr) -> TokenStream {
        let halves = self.known.halves;
        match expr {
            Expr::Lit(_) => return expr.to_token_stream(),
            Expr::Path(_) => return halves.factor(expr.to_token_stream()),
            Expr::Field(field) if is_place(&field.base) => return halves.factor(expr.to_token_stream()),
            Expr::Paren(inner) => return self.shared(&inner.expr),
            Expr::Unary(unary) if matches!((&unary.op, &*unary.expr), (UnOp::Neg(_), Expr::Lit(_))) => {
                return quote!((#expr));
            }
            _ => {}
        }
        let name = self.name();
        self.out.push(quote!(let #name = #expr;));
        halves.factor(name.to_token_stream())
    }

    /// A tangent that is used several times.
    pub(super) fn shared_tangent(&mut self, tangent: TokenStream) -> TokenStream {
        let name = self.name();
        self.out.push(quote!(let #name = #tangent;));
        name.to_token_stream()
    }
}
