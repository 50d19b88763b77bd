//! Functions whose result is one of their values.

use super::super::tangent::Tangent::{self, Value, Zero};
use super::super::tangent::Tangents;
use super::super::zeros::{difference, is_number};
use super::{Call, known};
use proc_macro2::TokenStream;
use quote::quote;
use syn::Expr;

impl Tangents<'_> {
    /// `max` and `min`: the receiver where the order holds.
    pub(super) fn extreme(&mut self, call: Call, order: &TokenStream) -> Tangent {
        let (receiver, Some((argument, b))) = (call.receiver, call.argument()) else { return Zero(None) };
        let (a, b) = (self.held(call.tangent), self.held(b));
        let known = known(&[&a, &b]).or_else(|| difference(&[&a, &b]));
        let (left, right) = (self.shared(receiver), self.shared(argument));
        let (a, b) = (self.or(a, &known, receiver), self.or(b, &known, argument));
        // Of equal ones the first, and a number in place of a NaN.
        let no_number = (!is_number(argument)).then(|| quote!(|| #right != #right));
        Value(quote!((if #left #order #right #no_number { #a } else { #b })))
    }

    pub(super) fn clamp(&mut self, call: Call) -> Tangent {
        let (receiver, [low, high], [b, c]) = (call.receiver, call.arguments, call.others.as_slice()) else {
            return Zero(None);
        };
        let (a, b, c) = (self.held(call.tangent), &self.held(b.clone()), &self.held(c.clone()));
        let known = known(&[&a, b, c]).or_else(|| difference(&[&a, b, c]));
        let (value, low_value, high_value) = (self.shared(receiver), self.shared(low), self.shared(high));
        let a = self.or(a, &known, receiver);
        let (b, c) = (self.or(b.clone(), &known, low), self.or(c.clone(), &known, high));
        Value(quote!(
            (if #value < #low_value { #b } else if #value > #high_value { #c } else { #a })
        ))
    }

    /// The tangent, or the zero of one that has the same type.
    fn or(&mut self, tangent: Tangent, known: &Option<TokenStream>, at: &Expr) -> TokenStream {
        match tangent {
            Zero(None) => self.materialized(Zero(known.clone()), at),
            tangent => self.materialized(tangent, at),
        }
    }
}
