//! Structs and arrays.

use super::{Lowerer, settled};
use crate::ir::{Expression, Times};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprArray, ExprRepeat, ExprStruct, Member, Path, Type};

const EMPTY_ARRAY: &str = "an empty array holds nothing, and C++ has none: leave it out";

impl Lowerer<'_> {
    pub(super) fn structure(&mut self, literal: &ExprStruct, expected: Option<&Type>) -> Option<Expression> {
        let names = literal.fields.iter().map(|field| member_name(&field.member)).collect();
        let exprs: Vec<&Expr> = literal.fields.iter().map(|field| &field.expr).collect();
        self.structure_of(struct_type(&literal.path, expected), names, exprs, literal.rest.as_deref())
    }

    /// A struct expression of these fields.
    pub(super) fn structure_of<'e>(
        &mut self,
        ty: Type,
        names: Vec<String>,
        mut exprs: Vec<&'e Expr>,
        base: Option<&'e Expr>,
    ) -> Option<Expression> {
        exprs.extend(base);
        // A field determines the type of its value, generic arguments included; rustc fills it in when the program
        // runs.
        let field: Type = syn::parse_quote!(_);
        let fields = names.len();
        let mut values = self.operands_of(&exprs, |index| (index < fields).then_some(&field))?;
        let base = base.and_then(|_| values.pop());
        let base = base.map(|base| Box::new(if base.is_place() { base } else { self.spill("base", base) }));
        let fields = names.into_iter().zip(values.into_iter().map(argument)).collect();
        Some(Expression::Struct { ty: (!matches!(ty, Type::Infer(_))).then(|| Box::new(ty)), fields, base })
    }

    pub(super) fn array(&mut self, array: &ExprArray, expected: Option<&Type>) -> Option<Expression> {
        let exprs: Vec<&Expr> = array.elems.iter().collect();
        let item = item_of(expected);
        let mut values = self.operands_of(&exprs, |_| item)?;
        let ty = expected.filter(|ty| matches!(ty, Type::Array(_))).map(|ty| Box::new(ty.clone()));
        match values.first() {
            _ if ty.is_some() => {}
            None => return self.wrong(array, EMPTY_ARRAY),
            Some(first) if !first.is_typed() => {
                return self.wrong(
                    exprs.first(),
                    "the type of the items is not known in the GPU's text: give the first a suffix, like `0.0_f32`",
                );
            }
            // `Array{x}` of an array `x` would be that array.
            Some(_) if values.len() == 1 => {
                return Some(Expression::Repeat(Times::Once, Box::new(settled(values.pop()?))));
            }
            Some(_) => {}
        }
        let items = values.into_iter().map(|value| settled(argument(value))).collect();
        Some(Expression::Array { ty, items })
    }

    pub(super) fn repeat(&mut self, repeat: &ExprRepeat, expected: Option<&Type>) -> Option<Expression> {
        let value = self.expr(&repeat.expr, item_of(expected))?;
        if let Some(ty @ Type::Array(_)) = expected {
            return Some(Expression::Repeat(Times::Type(Box::new(ty.clone())), Box::new(value)));
        }
        if !value.is_typed() {
            return self.wrong(
                &repeat.expr,
                "the type of the items is not known in the GPU's text: give it a suffix, like `0.0_f32`",
            );
        }
        let times = Times::Length { value: self.length(&repeat.len), written: repeat.len.to_token_stream() };
        Some(Expression::Repeat(times, Box::new(settled(value))))
    }

    /// The length of a repeated value. Rust evaluates it, whatever constant it is.
    fn length(&mut self, length: &Expr) -> TokenStream {
        let check = match length {
            Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) => {
                if number.base10_parse::<u128>().is_ok_and(|number| number == 0) {
                    self.errors.at(number, EMPTY_ARRAY);
                }
                None
            }
            length => Some(quote_spanned! {length.span()=>
                const { ::core::assert!(#length != 0, #EMPTY_ARRAY) };
            }),
        };
        quote!({ #check ::core::convert::identity::<usize>(#length) })
    }
}

/// The value in a form for braces: NVRTC 13.0 crashes at braces in a `?:` that is itself in braces.
fn argument(value: Expression) -> Expression {
    if value.chooses_braces() { Expression::ValueOf(Box::new(value)) } else { value }
}

/// The Rust name of a field, as in the layout.
fn member_name(member: &Member) -> String {
    match member {
        Member::Named(ident) => crate::syntax::letters(ident),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// The type of a struct expression. If its place requires a type, it is that one, generic arguments included.
pub(super) fn struct_type(path: &Path, expected: Option<&Type>) -> Type {
    match expected {
        Some(expected) => expected.clone(),
        None => syn::parse_quote!(#path),
    }
}

/// The type of an array's items, where that of the array is known.
fn item_of(array: Option<&Type>) -> Option<&Type> {
    match array? {
        Type::Array(array) => Some(&array.elem),
        field @ Type::Infer(_) => Some(field),
        _ => None,
    }
}
