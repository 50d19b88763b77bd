//! The tangents of calls by a path: of constructors, conversions, methods by their type, and functions.

use super::tangent::Tangent::{self, Value, Zero};
use super::tangent::Tangents;
use crate::language::{self, Conversion};
use crate::syntax::{is_of_type, method_of_type};
use proc_macro2::{Ident, Span};
use quote::{format_ident, quote};
use syn::{Expr, ExprCall, Path, Type};

impl Tangents<'_> {
    pub(super) fn call(&mut self, call: &ExprCall, whole: &Expr) -> Tangent {
        let Expr::Path(function) = &*call.func else { return Zero(None) };
        let path = &function.path;
        let Some(name) = path.segments.last().map(|last| last.ident.to_string()) else { return Zero(None) };
        if name.starts_with(|first: char| first.is_uppercase()) {
            let halves = self.known.halves;
            return self.fields(call.args.iter(), |_, values| match halves.named {
                true => {
                    let (path, members) = (halves.literal(path), (0..values.len()).map(syn::Index::from));
                    quote!(#path { #(#members: #values),* })
                }
                false => quote!(#path(#(#values),*)),
            });
        }
        if !is_of_type(path) {
            return self.helper(call, path);
        }
        let mut owner = path.clone();
        owner.segments.pop();
        owner.segments.pop_punct();
        let ty: Type = syn::parse_quote!(#owner);
        match (language::conversion(&name), method_of_type(path)) {
            (Some(Conversion::From), _) | (Some(Conversion::Function("from_f32", _)), _) => {
                call.args.first().map_or(Zero(None), |value| self.cast(value, &ty, whole))
            }
            (Some(_), _) => {
                // Of the bits of a float, which have no derivative, there is an error.
                call.args.iter().for_each(|argument| drop(self.operand(argument)));
                Zero(Some(self.known.halves.zero(&ty)))
            }
            (None, Some(_)) => {
                let mut arguments = call.args.iter();
                match arguments.next() {
                    Some(receiver) => self.rule(&name, receiver, &arguments.collect::<Vec<_>>(), whole),
                    None => Zero(None),
                }
            }
            (None, None) => Zero(None),
        }
    }

    /// A call of a `#[scan_fn(gradient)]`.
    pub(super) fn helper(&mut self, call: &ExprCall, path: &Path) -> Tangent {
        let tangents: Vec<Tangent> = call.args.iter().map(|argument| self.operand(argument)).collect();
        let count = tangents.len();
        if count > super::MAX_PARAMETERS {
            let max = super::MAX_PARAMETERS;
            self.errors
                .at(call, format!("a function with a gradient has at most {max} parameters: make a struct of some"));
            return Zero(None);
        }
        if tangents.iter().all(|tangent| matches!(tangent, Zero(_))) {
            let (krate, function) = (self.known.krate, format_ident!("Tangent{count}"));
            let returns: Type = syn::parse_quote!(<#path as #krate::gradient::private::#function>::Returns);
            return if count == 0 { Zero(None) } else { Zero(Some(self.known.halves.zero(&returns))) };
        }
        let arguments = tangents.into_iter().zip(&call.args).map(|(tangent, argument)| {
            let tangent = self.materialized(tangent, argument);
            quote!(#argument, #tangent)
        });
        let arguments: Vec<_> = arguments.collect();
        let krate = self.known.krate;
        // The error of a function without a gradient is at its name.
        let span = path.segments.last().map_or_else(Span::call_site, |last| last.ident.span());
        let twin = Ident::new(&format!("tangent{count}"), span.resolved_at(Span::mixed_site()));
        Value(quote!(#krate::gradient::private::#twin::<#path>(#(#arguments),*)))
    }
}
