//! Powers, and the functions of a point of the plane.

use super::super::rules;
use super::super::tangent::Tangent::{self, Value, Zero};
use super::super::tangent::Tangents;
use super::super::zeros::wrong;
use super::Call;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

impl Tangents<'_> {
    pub(super) fn powi(&mut self, call: Call) -> Tangent {
        let Value(tangent) = call.tangent else { return call.tangent };
        let Some(exponent) = call.arguments.first().and_then(|exponent| rules::exponent(exponent)) else {
            self.errors.at(call.whole, "the gradient of `powi` needs a number for the exponent; or write `powf`");
            return wrong();
        };
        let value = self.shared(call.receiver);
        let (factor, less) = (Literal::f64_unsuffixed(exponent.unsigned_abs() as f64), exponent - 1);
        let less = Literal::i64_unsuffixed(less);
        let sign = (exponent < 0).then(|| quote!(-));
        match exponent {
            0 => {
                let tangent = self.shared_tangent(tangent);
                Zero(Some(quote!((#tangent - #tangent))))
            }
            1 => Value(tangent),
            _ => Value(quote!((#sign #factor * #value.powi(#less) * #tangent))),
        }
    }

    pub(super) fn powf(&mut self, call: Call) -> Tangent {
        let Some((exponent, b)) = call.argument() else { return Zero(None) };
        let (value, power) = (self.shared(call.receiver), self.shared(exponent));
        let of_base = match call.tangent {
            Value(a) => {
                let a = self.shared_tangent(a);
                let less = match rules::number(exponent) {
                    Some(number) => {
                        let sign = (number < 1.0).then(|| quote!(-));
                        let size = Literal::f64_unsuffixed((number - 1.0).abs());
                        quote!((#sign #size))
                    }
                    None => quote!(#power - 1.0),
                };
                Some(quote!((if #a == 0.0 { #a } else { #power * #value.powf(#less) * #a })))
            }
            Zero(_) => None,
        };
        let of_exponent = match b {
            Value(b) => {
                let (b, result) = (self.shared_tangent(b), self.shared(call.whole));
                Some(quote!((if #b == 0.0 || #result == 0.0 { #result * #b } else { #result * #value.ln() * #b })))
            }
            Zero(_) => None,
        };
        sum(of_base, of_exponent)
    }

    pub(super) fn hypot(&mut self, call: Call) -> Tangent {
        let Some((argument, b)) = call.argument() else { return Zero(None) };
        let (left, right) = (self.shared(call.receiver), self.shared(argument));
        let divisor = self.shared(call.whole);
        self.of_point([(quote!(#left), call.tangent), (quote!(#right), b)], &divisor)
    }

    pub(super) fn atan2(&mut self, call: Call) -> Tangent {
        let Some((argument, b)) = call.argument() else { return Zero(None) };
        let (left, right) = (self.shared(call.receiver), self.shared(argument));
        let divisor = quote!((#left * #left + #right * #right));
        self.of_point([(quote!(#right), call.tangent), (quote!(-#left), b)], &divisor)
    }

    /// The sum of the tangents, each multiplied by its factor and divided; where the point does not change, neither
    /// does the result.
    fn of_point(&mut self, parts: [(TokenStream, Tangent); 2], divisor: &TokenStream) -> Tangent {
        let [a, b] = parts.map(|(factor, tangent)| match tangent {
            Value(tangent) => {
                let tangent = self.shared_tangent(tangent);
                Some(quote!((if #tangent == 0.0 { #tangent } else { #factor * #tangent / #divisor })))
            }
            Zero(_) => None,
        });
        sum(a, b)
    }
}

fn sum(a: Option<TokenStream>, b: Option<TokenStream>) -> Tangent {
    match (a, b) {
        (Some(a), Some(b)) => Value(quote!((#a + #b))),
        (Some(one), None) | (None, Some(one)) => Value(one),
        (None, None) => Zero(None),
    }
}
