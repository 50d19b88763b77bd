//! The tangents of calls of numeric methods, by the rule of each.

mod of_one;
mod order;
mod powers;
mod sums;

use super::rules::{self, Rule};
use super::tangent::Tangent::{self, Zero};
use super::tangent::Tangents;
use super::zeros::{discrete, wrong};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Expr, ExprMethodCall};

/// A call of a method, with the tangents of its values.
pub(super) struct Call<'e> {
    receiver: &'e Expr,
    arguments: &'e [&'e Expr],
    whole: &'e Expr,
    /// The tangent of the receiver.
    tangent: Tangent,
    /// The tangents of the arguments.
    others: Vec<Tangent>,
}

impl<'e> Call<'e> {
    /// The first argument and its tangent; rustc reports a call without one.
    fn argument(&self) -> Option<(&'e Expr, Tangent)> {
        Some((self.arguments.first()?, self.others.first()?.clone()))
    }
}

impl Tangents<'_> {
    pub(super) fn method(&mut self, call: &ExprMethodCall, whole: &Expr) -> Tangent {
        let arguments: Vec<&Expr> = call.args.iter().collect();
        self.rule(&call.method.to_string(), &call.receiver, &arguments, whole)
    }

    pub(super) fn rule(&mut self, name: &str, receiver: &Expr, arguments: &[&Expr], whole: &Expr) -> Tangent {
        let rule = rules::of(name);
        match rule {
            Rule::Discrete => return Zero(Some(quote!(false))),
            Rule::Integer => return discrete(whole),
            Rule::Widened(float) => {
                let ty = Ident::new(float, Span::call_site());
                return self.cast(receiver, &syn::parse_quote!(#ty), whole);
            }
            _ => {}
        }
        let tangent = self.operand(receiver);
        let others: Vec<Tangent> = arguments.iter().map(|argument| self.operand(argument)).collect();
        let of_all: Vec<&Tangent> = std::iter::once(&tangent).chain(&others).collect();
        if of_all.iter().all(|tangent| matches!(tangent, Zero(_))) {
            return Zero(known(&of_all));
        }
        let call = Call { receiver, arguments, whole, tangent, others };
        match rule {
            Rule::Factor(factor) => self.by_factor(call, factor),
            Rule::Steep(factor) => self.by_steep_factor(call, factor),
            Rule::Steps => self.steps(call),
            Rule::Same => call.tangent,
            Rule::Sign => self.sign(call),
            Rule::Max => self.extreme(call, &quote!(>=)),
            Rule::Min => self.extreme(call, &quote!(<=)),
            Rule::Clamp => self.clamp(call),
            Rule::MulAdd => self.mul_add(call),
            Rule::Mul => self.mul(call),
            Rule::Add => self.add(call),
            Rule::Remainder => self.remainder(call),
            Rule::Powi => self.powi(call),
            Rule::Powf => self.powf(call),
            Rule::Hypot => self.hypot(call),
            Rule::Atan2 => self.atan2(call),
            Rule::None(message) => {
                self.errors.at(whole, message);
                wrong()
            }
            // Returned above.
            Rule::Discrete | Rule::Integer | Rule::Widened(_) => Zero(None),
        }
    }
}

/// The zero of one of the tangents, which all have one type.
fn known(tangents: &[&Tangent]) -> Option<TokenStream> {
    tangents.iter().find_map(|tangent| match tangent {
        Zero(zero) => zero.clone(),
        Tangent::Value(_) => None,
    })
}
