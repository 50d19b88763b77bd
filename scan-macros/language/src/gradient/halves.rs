//! Floats of 16 bits: their changes are computed in `f32`, and a gradient is rounded once, at its end.
//!
//! The tangent of an `f16` or `bf16` is an `f32`; the tangent of an array or a struct has `f32` in these places. As no
//! types are known, a factor of a tangent is widened by a method that every float has. Code that names no such float
//! stays as it is.

use super::carried;
use crate::operator::Operator;
use crate::syntax::is_primitive;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote;
use syn::spanned::Spanned;
use syn::{Path, Type};

/// The error of a carry of 16 bits.
pub(super) const CARRY: &str = "the gradient of a carry of 16 bits is not derived: let it be `f32`, widen inputs in \
                                `lift` and `step`, `x.to_f32()`, and round outputs in `project` or `emit`, \
                                `bf16::from_f32(h)`";

/// The types and values in which changes are computed.
#[derive(Clone, Copy)]
pub(super) struct Halves<'a> {
    pub(super) krate: &'a Path,
    /// Whether the code names floats of 16 bits.
    pub(super) named: bool,
}

impl<'a> Halves<'a> {
    /// For code of these tokens.
    pub(super) fn new(krate: &'a Path, tokens: impl IntoIterator<Item = TokenStream>) -> Self {
        Halves { krate, named: tokens.into_iter().any(names_halves) }
    }

    /// The type in which the changes of a type are computed.
    pub(super) fn ty(self, ty: &Type) -> TokenStream {
        let krate = self.krate;
        match ty {
            _ if !self.named || !may_hold(ty) => quote!(#ty),
            Type::Paren(inner) => self.ty(&inner.elem),
            Type::Group(inner) => self.ty(&inner.elem),
            Type::Array(array) => {
                let (item, len) = (self.ty(&array.elem), &array.len);
                quote!([#item; #len])
            }
            ty if is_half(ty) => quote!(f32),
            ty => quote!(<#ty as #krate::gradient::Components>::Tangent),
        }
    }

    /// The zero of these changes.
    pub(super) fn zero(self, ty: &Type) -> TokenStream {
        let (krate, ty) = (self.krate, self.ty(ty));
        quote!(<#ty as #krate::gradient::Components>::ZERO)
    }

    /// The struct of the changes of a struct, before its fields.
    pub(super) fn literal(self, path: &Path) -> TokenStream {
        let krate = self.krate;
        if self.named { quote!(#krate::gradient::private::TangentOf::<#path>) } else { quote!(#path) }
    }

    /// A value by which a change is multiplied.
    pub(super) fn factor(self, value: TokenStream) -> TokenStream {
        if self.named { quote!(#value.factor()) } else { value }
    }

    /// A value in the type of its changes.
    pub(super) fn widened(self, ty: &Type, value: TokenStream) -> TokenStream {
        self.by("widened", ty, value)
    }

    /// A change, rounded to the type of the value.
    pub(super) fn narrowed(self, ty: &Type, value: TokenStream) -> TokenStream {
        self.by("narrowed", ty, value)
    }

    fn by(self, function: &str, ty: &Type, value: TokenStream) -> TokenStream {
        let (krate, function) = (self.krate, Ident::new(function, Span::call_site()));
        if self.named && may_hold(ty) { quote!(#krate::gradient::private::#function::<#ty>(#value)) } else { value }
    }

    /// The trait that the generated code needs in scope.
    pub(super) fn scope(self) -> Option<TokenStream> {
        let krate = self.krate;
        self.named.then(|| quote!(use #krate::gradient::private::Factor as _;))
    }

    /// Checks of an operator's structs, whose fields only rustc knows.
    pub(super) fn checks(self, operator: &Operator) -> TokenStream {
        let krate = self.krate;
        let (private, components) = (quote!(#krate::gradient::private), quote!(#krate::gradient::Components));
        let check = |function: &str, ty: &Type| {
            let function = Ident::new(function, Span::call_site());
            let whole = at(ty, quote!(#private::Whole<{ <#ty as #components>::WHOLE }>));
            may_hold(ty).then(|| quote!(const _: () = #private::#function::<#whole>();))
        };
        let carry = check("carry_of_wide_floats", carried(operator));
        let values = [&operator.input, &operator.output].map(|ty| check("no_halves", ty).filter(|_| !self.named));
        let [input, output] = values;
        quote!(#carry #input #output)
    }
}

/// The tokens, where rustc reports an error at the type.
fn at(ty: &Type, tokens: TokenStream) -> TokenStream {
    let located = |mut token: TokenTree| {
        token.set_span(token.span().located_at(ty.span()));
        token
    };
    tokens.into_iter().map(located).collect()
}

/// Whether a type is spelled as a float of 16 bits.
pub(super) fn is_half(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "f16" || last.ident == "bf16")
}

/// Whether there may be a float of 16 bits in a type of this spelling.
pub(super) fn may_hold(ty: &Type) -> bool {
    match ty {
        Type::Paren(inner) => may_hold(&inner.elem),
        Type::Group(inner) => may_hold(&inner.elem),
        Type::Array(array) => may_hold(&array.elem),
        Type::Path(path) => is_half(ty) || !path.path.get_ident().is_some_and(is_primitive),
        _ => true,
    }
}

/// Whether tokens name a float of 16 bits: by its type, or by a conversion.
fn names_halves(tokens: TokenStream) -> bool {
    let mut before = Vec::new();
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => names_halves(group.stream()),
        TokenTree::Ident(ident) => {
            let name = ident.to_string();
            let found = matches!(name.as_str(), "f16" | "bf16" | "half" | "to_f32" | "to_f64" | "from_f32")
                || name == "from" && before.last().is_some_and(|owner| owner == "f32" || owner == "f64");
            before.push(name);
            found
        }
        _ => false,
    })
}
