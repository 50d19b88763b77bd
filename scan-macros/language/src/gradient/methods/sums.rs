//! Sums and products that are methods, and the remainder.

use super::super::tangent::Tangent::{self, Value, Zero};
use super::super::tangent::Tangents;
use super::Call;
use quote::quote;

impl Tangents<'_> {
    pub(super) fn mul_add(&mut self, call: Call) -> Tangent {
        let ([factor, _], [b, c]) = (call.arguments, call.others.as_slice()) else { return Zero(None) };
        match (self.product((call.receiver, call.tangent), (factor, b.clone())), c) {
            (Value(product), Value(c)) => Value(quote!((#product + #c))),
            (Value(product), Zero(_)) => Value(product),
            (Zero(_), c) => c.clone(),
        }
    }

    /// The product, under its name in the trait `Number`.
    pub(super) fn mul(&mut self, call: Call) -> Tangent {
        let Some((argument, b)) = call.argument() else { return Zero(None) };
        self.product((call.receiver, call.tangent), (argument, b))
    }

    /// The sum, under its name in the trait `Number`.
    pub(super) fn add(&mut self, call: Call) -> Tangent {
        match (call.tangent, call.others.into_iter().next()) {
            (Value(a), Some(Value(b))) => Value(quote!((#a + #b))),
            (Value(one), _) | (_, Some(Value(one))) => Value(one),
            (zero, _) => zero,
        }
    }

    pub(super) fn remainder(&mut self, call: Call) -> Tangent {
        let Some((argument, b)) = call.argument() else { return Zero(None) };
        match (call.tangent, b) {
            (a, Value(b)) => {
                let (left, right) = (self.shared(call.receiver), self.shared(argument));
                let result = self.shared(call.whole);
                let steps = quote!((#left - #result) / #right * #b);
                Value(match a {
                    Value(a) => quote!((#a - #steps)),
                    Zero(_) => quote!((-(#steps))),
                })
            }
            (a, Zero(_)) => a,
        }
    }
}
