//! The tangents of names, fields, items, structs and arrays.

use super::tangent::Tangent::{self, Value, Zero};
use super::tangent::Tangents;
use super::zeros::{discrete, member_name, wrong, zero_of};
use crate::syntax::is_primitive;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Expr, Member, UnOp};

impl Tangents<'_> {
    /// How the value of an expression changes.
    pub(super) fn of(&mut self, expr: &Expr) -> Tangent {
        match expr {
            Expr::Lit(literal) => Zero(zero_of(&literal.lit)),
            Expr::Paren(inner) => self.of(&inner.expr),
            Expr::Path(path) => self.path(path),
            Expr::Block(block) => self.block(|this| this.value_of(&block.block)),
            Expr::If(choice) => self.branches(choice, expr),
            Expr::Match(matching) => self.matching(matching, expr),
            Expr::Unary(unary) => match unary.op {
                UnOp::Neg(_) => match self.of(&unary.expr) {
                    Value(value) => Value(quote!((-#value))),
                    zero => zero,
                },
                _ => discrete(expr),
            },
            Expr::Binary(binary) => self.binary(binary, expr),
            Expr::Cast(cast) => self.cast(&cast.expr, &cast.ty, expr),
            Expr::Field(field) => {
                let member = &field.member;
                if matches!(&*field.base, Expr::Path(path) if path.path.is_ident("self")) {
                    return self.known.fields.get(&member_name(member)).cloned().unwrap_or(Zero(None));
                }
                match self.of(&field.base) {
                    Value(base) => Value(quote!(#base.#member)),
                    Zero(zero) => Zero(zero.map(|base| quote!(#base.#member))),
                }
            }
            Expr::Index(at) => {
                let index = &at.index;
                match self.of(&at.expr) {
                    Value(base) => Value(quote!(#base[#index])),
                    Zero(zero) => Zero(zero.map(|base| quote!(#base[#index]))),
                }
            }
            Expr::Array(array) => self.fields(array.elems.iter(), |_, values| quote!([#(#values),*])),
            Expr::Repeat(repeat) => {
                let len = &repeat.len;
                match self.of(&repeat.expr) {
                    Value(value) => Value(quote!([#value; #len])),
                    Zero(zero) => Zero(zero.map(|zero| quote!([#zero; #len]))),
                }
            }
            Expr::Struct(literal) => {
                let path = self.known.halves.literal(&literal.path);
                let members: Vec<&Member> = literal.fields.iter().map(|field| &field.member).collect();
                let values = literal.fields.iter().map(|field| &field.expr).chain(literal.rest.as_deref());
                let count = members.len();
                self.fields(values, |_, values| {
                    let base = values.get(count).map(|base| quote!(..#base));
                    let values = &values[..count];
                    quote!(#path { #(#members: #values,)* #base })
                })
            }
            Expr::Call(call) => self.call(call, expr),
            Expr::MethodCall(call) => self.method(call, expr),
            other => {
                self.errors.at(other, "this has no gradient: make it a statement that assigns to a variable");
                wrong()
            }
        }
    }

    /// The tangent of a value that is made of parts of its own.
    pub(super) fn fields<'e>(
        &mut self,
        values: impl Iterator<Item = &'e Expr>,
        made: impl Fn(&mut Self, &[TokenStream]) -> TokenStream,
    ) -> Tangent {
        let values: Vec<&Expr> = values.collect();
        let tangents: Vec<Tangent> = values.iter().map(|value| self.operand(value)).collect();
        let changes = tangents.iter().any(|tangent| matches!(tangent, Value(_)));
        if !changes && tangents.iter().any(|tangent| matches!(tangent, Zero(None))) {
            return Zero(None);
        }
        let tangents = tangents.into_iter().zip(&values);
        let tangents: Vec<_> = tangents.map(|(tangent, value)| self.materialized(tangent, value)).collect();
        let made = made(self, &tangents);
        if changes { Value(made) } else { Zero(Some(made)) }
    }

    pub(super) fn path(&mut self, path: &syn::ExprPath) -> Tangent {
        if path.qself.is_none()
            && let Some(ident) = path.path.get_ident()
            && let Some(known) = self.find(ident)
        {
            return known.clone();
        }
        let halves = self.known.halves;
        let of_name = |name: &Ident| Zero(Some(halves.zero(&syn::parse_quote!(#name))));
        let mut segments = path.path.segments.iter().rev();
        let (last, owner) = (segments.next(), segments.next());
        match (last, owner, &path.qself) {
            (Some(last), _, Some(_)) => {
                let known = self.known.constants.get(last.ident.to_string().as_str());
                known.map_or(Zero(None), |ty| Zero(Some(halves.zero(ty))))
            }
            (_, Some(owner), None) if is_primitive(&owner.ident) => of_name(&owner.ident),
            // The modules of constants: `std::f64::consts::PI`.
            (_, Some(consts), None) if consts.ident == "consts" => {
                let float = segments.next().filter(|segment| is_primitive(&segment.ident));
                float.map_or(Zero(None), |float| of_name(&float.ident))
            }
            _ => Zero(None),
        }
    }
}
