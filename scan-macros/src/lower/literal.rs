//! Literals: the digits as the user wrote them, in C++'s spelling.

use super::{Lowerer, Rank, Typing, Value};
use crate::text::Text;
use std::num::FpCategory;
use syn::{Lit, LitFloat, LitInt};

impl Lowerer<'_> {
    pub(super) fn literal(&mut self, literal: &Lit) -> Value {
        match literal {
            Lit::Bool(literal) => Value::typed(if literal.value { "true" } else { "false" }, Rank::Postfix),
            Lit::Byte(literal) => self.suffixed("u8", literal.value().to_string(), literal.span()),
            Lit::Int(literal) => self.integer_literal(literal),
            Lit::Float(literal) => self.float_literal(literal),
            other => {
                self.errors.at(other, "there is no text in an operator: use numbers");
                Value::error()
            }
        }
    }

    fn suffixed(&mut self, ty: &str, digits: String, span: proc_macro2::Span) -> Value {
        let ty = syn::Ident::new(ty, span);
        let text = self.type_text(&syn::parse_quote!(#ty)).add("(").add(digits).add(")");
        self.uses.insert("literal");
        Value::typed(text, Rank::Postfix)
    }

    fn integer_literal(&mut self, literal: &LitInt) -> Value {
        let suffix = literal.suffix();
        let digits = literal.base10_digits();
        if suffix == "f32" || suffix == "f64" {
            return self.suffixed_float(suffix, format!("{digits}.0"), literal.span());
        }
        // A literal past i128::MAX can only be a u128; the bits are the same.
        let small = digits.parse::<i128>().ok();
        let Some(value) = small.or_else(|| digits.parse::<u128>().ok().map(|value| value as i128)) else {
            self.errors.at(literal, "this literal is too large for any integer type");
            return Value::error();
        };
        let spelled = literal.to_string();
        let spelled = spelled.strip_suffix(suffix).unwrap_or(&spelled).replace('_', "");
        let hexadecimal = spelled.starts_with("0x") || spelled.starts_with("0b");
        let digits = if hexadecimal { Some(spelled) } else { None };
        let text = if small.is_some() { self.integer_digits(value, digits) } else { self.wide_digits(value) };
        if suffix.is_empty() {
            Value {
                text: text.into(),
                rank: if value < 0 { Rank::Unary } else { Rank::Postfix },
                typing: Typing::Integer(Some(value)),
            }
        } else {
            self.suffixed(suffix, text, literal.span())
        }
    }

    /// A value as an integer literal of C++, whose type is the first of `int`, `long long`, `unsigned long long` and
    /// `__int128` that holds it.
    pub(super) fn integer_digits(&mut self, value: i128, spelled: Option<String>) -> String {
        self.uses.insert("literal");
        let digits = spelled.unwrap_or_else(|| value.to_string());
        if i32::try_from(value).is_ok_and(|value| value != i32::MIN) {
            return digits;
        }
        if i64::try_from(value).is_ok_and(|value| value != i64::MIN) {
            self.uses.insert("literal_64");
            return format!("{digits}ll");
        }
        if u64::try_from(value).is_ok() {
            self.uses.insert("literal_u64");
            return format!("{digits}ull");
        }
        self.wide_digits(value)
    }

    fn wide_digits(&mut self, value: i128) -> String {
        self.uses.insert("literal");
        self.uses.insert("literal_128");
        let (high, low) = ((value >> 64) as u64, value as u64);
        format!("(static_cast<__int128>({high:#x}ull) << 64 | {low:#x}ull)")
    }

    fn float_literal(&mut self, literal: &LitFloat) -> Value {
        let mut digits = literal.base10_digits().to_owned();
        if digits.ends_with('.') {
            digits.push('0');
        } else if !digits.contains(['.', 'e', 'E']) {
            digits.push_str(".0");
        }
        match literal.suffix() {
            "" => {
                let (Ok(short), Ok(long)) = (digits.parse::<f32>(), digits.parse::<f64>()) else {
                    self.errors.at(literal, "this literal is no number");
                    return Value::error();
                };
                let Some(digits) = in_range(digits, long.classify(), long) else {
                    self.errors.at(literal, INFINITE);
                    return Value::error();
                };
                // The CUDA text holds it as a double. An f32 made of that must be the f32 that Rust reads.
                if (long as f32).to_bits() != short.to_bits() {
                    self.errors.at(literal, "this literal rounds differently as `f32` and as `f64`: give it a suffix");
                }
                self.uses.insert("float_literal");
                Value { text: Text::new(digits), rank: Rank::Postfix, typing: Typing::Float }
            }
            suffix => self.suffixed_float(suffix, digits, literal.span()),
        }
    }

    fn suffixed_float(&mut self, suffix: &str, digits: String, span: proc_macro2::Span) -> Value {
        let digits = match suffix {
            "f32" => digits.parse().ok().and_then(|value: f32| in_range(digits, value.classify(), value)),
            _ => digits.parse().ok().and_then(|value: f64| in_range(digits, value.classify(), value)),
        };
        match digits {
            Some(digits) if suffix == "f32" => self.suffixed(suffix, format!("{digits}f"), span),
            Some(digits) => self.suffixed(suffix, digits, span),
            None => {
                self.errors.at(quote::quote_spanned!(span=> literal), INFINITE);
                Value::error()
            }
        }
    }
}

const INFINITE: &str =
    "this literal is larger than the largest number of its type: write `f32::INFINITY` or `f64::INFINITY`";

/// The digits where C++ takes them: it refuses those that Rust rounds to zero. `None` where Rust makes an infinity of them.
fn in_range(digits: String, kind: FpCategory, value: impl std::fmt::Debug) -> Option<String> {
    let mantissa = digits.split(['e', 'E']).next().unwrap_or_default();
    match kind {
        FpCategory::Infinite | FpCategory::Nan => None,
        FpCategory::Zero if !mantissa.contains(|digit: char| matches!(digit, '1'..='9')) => Some(digits),
        FpCategory::Zero | FpCategory::Subnormal => Some(format!("{value:?}")),
        FpCategory::Normal => Some(digits),
    }
}
