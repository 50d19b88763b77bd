//! Literals: the digits as the user wrote them, in C++'s spelling.

use super::Lowerer;
use crate::ir::{Expression, Integer, Spelling};
use proc_macro2::Span;
use std::num::FpCategory;
use syn::{Lit, LitFloat, LitInt, Type};

impl Lowerer<'_> {
    pub(super) fn literal(&mut self, literal: &Lit) -> Option<Expression> {
        match literal {
            Lit::Bool(literal) => Some(Expression::Truth(literal.value)),
            Lit::Byte(literal) => {
                let (value, ty) = (i128::from(literal.value()), Some(suffix("u8", literal.span())));
                Some(Expression::Integer(Integer { value, spelling: Spelling::Decimal, ty }))
            }
            Lit::Int(literal) => self.integer_literal(literal),
            Lit::Float(literal) => self.float_literal(literal),
            other => self.wrong(other, "there is no text in an operator: use numbers"),
        }
    }

    fn integer_literal(&mut self, literal: &LitInt) -> Option<Expression> {
        let digits = literal.base10_digits();
        if matches!(literal.suffix(), "f32" | "f64") {
            return self.suffixed_float(literal.suffix(), format!("{digits}.0"), literal.span());
        }
        // A literal past i128::MAX can only be a u128; the bits are the same.
        let small = digits.parse::<i128>().ok();
        let Some(value) = small.or_else(|| digits.parse::<u128>().ok().map(|value| value as i128)) else {
            return self.wrong(literal, "this literal is too large for any integer type");
        };
        let spelled = literal.to_string();
        let spelled = spelled.strip_suffix(literal.suffix()).unwrap_or(&spelled).replace('_', "");
        let spelling = match small {
            None => Spelling::Wide,
            Some(_) if spelled.starts_with("0x") || spelled.starts_with("0b") => Spelling::Own(spelled),
            Some(_) => Spelling::Decimal,
        };
        let ty = (!literal.suffix().is_empty()).then(|| suffix(literal.suffix(), literal.span()));
        Some(Expression::Integer(Integer { value, spelling, ty }))
    }

    fn float_literal(&mut self, literal: &LitFloat) -> Option<Expression> {
        let mut digits = literal.base10_digits().to_owned();
        if digits.ends_with('.') {
            digits.push('0');
        } else if !digits.contains(['.', 'e', 'E']) {
            digits.push_str(".0");
        }
        if !literal.suffix().is_empty() {
            return self.suffixed_float(literal.suffix(), digits, literal.span());
        }
        let (Ok(short), Ok(long)) = (digits.parse::<f32>(), digits.parse::<f64>()) else {
            return self.wrong(literal, "this literal is no number");
        };
        let Some(digits) = in_range(digits, long.classify(), long) else {
            return self.wrong(literal, INFINITE);
        };
        // The CUDA text holds it as a double. An f32 made of that must be the f32 that Rust reads.
        if (long as f32).to_bits() != short.to_bits() {
            self.errors.at(literal, "this literal rounds differently as `f32` and as `f64`: give it a suffix");
        }
        Some(Expression::Float { digits, ty: None })
    }

    fn suffixed_float(&mut self, name: &str, digits: String, span: Span) -> Option<Expression> {
        let digits = match name {
            "f32" => digits.parse().ok().and_then(|value: f32| in_range(digits, value.classify(), value)),
            _ => digits.parse().ok().and_then(|value: f64| in_range(digits, value.classify(), value)),
        };
        match digits {
            Some(digits) => {
                let digits = if name == "f32" { format!("{digits}f") } else { digits };
                Some(Expression::Float { digits, ty: Some(suffix(name, span)) })
            }
            None => self.wrong(quote::quote_spanned!(span=> literal), INFINITE),
        }
    }
}

/// The type that a suffix names.
fn suffix(name: &str, span: Span) -> Box<Type> {
    let name = syn::Ident::new(name, span);
    Box::new(syn::parse_quote!(#name))
}

const INFINITE: &str =
    "this literal is larger than the largest number of its type: write `f32::INFINITY` or `f64::INFINITY`";

/// The digits where C++ takes them: it refuses those that Rust rounds to zero. `None` where Rust makes an infinity of
/// them.
fn in_range(digits: String, kind: FpCategory, value: impl std::fmt::Debug) -> Option<String> {
    let mantissa = digits.split(['e', 'E']).next().unwrap_or_default();
    match kind {
        FpCategory::Infinite | FpCategory::Nan => None,
        FpCategory::Zero if !mantissa.contains(|digit: char| matches!(digit, '1'..='9')) => Some(digits),
        FpCategory::Zero | FpCategory::Subnormal => Some(format!("{value:?}")),
        FpCategory::Normal => Some(digits),
    }
}
