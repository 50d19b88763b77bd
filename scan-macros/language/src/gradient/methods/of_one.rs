//! Functions of one value.

use super::super::tangent::Tangent::{self, Value, Zero};
use super::super::tangent::Tangents;
use super::Call;
use proc_macro2::TokenStream;
use quote::quote;

/// A factor, made of the receiver and of the result.
type Factor = fn(&TokenStream, &TokenStream) -> TokenStream;

impl Tangents<'_> {
    pub(super) fn by_factor(&mut self, call: Call, factor: Factor) -> Tangent {
        let Value(tangent) = &call.tangent else { return call.tangent };
        let factor = self.factor(factor, &call);
        Value(quote!((#factor * #tangent)))
    }

    /// Where the receiver does not change, the result does not, though the factor may be infinite.
    pub(super) fn by_steep_factor(&mut self, call: Call, factor: Factor) -> Tangent {
        let Value(tangent) = &call.tangent else { return call.tangent };
        let tangent = self.shared_tangent(tangent.clone());
        let factor = self.factor(factor, &call);
        Value(quote!((if #tangent == 0.0 { #tangent } else { #factor * #tangent })))
    }

    fn factor(&mut self, factor: Factor, call: &Call) -> TokenStream {
        // The factor is made of one of the two.
        let (x, r) = (quote!(scan_receiver), quote!(scan_result));
        let uses_result = factor(&x, &r).to_string().contains("scan_result");
        let value = self.shared(if uses_result { call.whole } else { call.receiver });
        factor(&value, &value)
    }

    /// Constant between steps.
    pub(super) fn steps(&mut self, call: Call) -> Tangent {
        let Value(tangent) = call.tangent else { return call.tangent };
        let tangent = self.shared_tangent(tangent);
        Zero(Some(quote!((#tangent - #tangent))))
    }

    /// The receiver's tangent, or its negative: where the result is not the receiver.
    pub(super) fn sign(&mut self, call: Call) -> Tangent {
        let Value(tangent) = call.tangent else { return call.tangent };
        let (value, result, tangent) =
            (self.shared(call.receiver), self.shared(call.whole), self.shared_tangent(tangent));
        Value(quote!((if #result == #value { #tangent } else { -#tangent })))
    }
}
