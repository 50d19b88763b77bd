//! The derivatives of the numeric methods.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, ExprLit, Lit, UnOp};

/// A method's derivative.
pub(super) enum Rule {
    /// The derivative of a function of one float: the factor of the receiver's tangent, made of the receiver and of the
    /// result.
    Factor(fn(&TokenStream, &TokenStream) -> TokenStream),
    /// The same; where the receiver does not change, the result does not, though the factor may be infinite.
    Steep(fn(&TokenStream, &TokenStream) -> TokenStream),
    /// Constant between steps.
    Steps,
    /// The receiver's tangent.
    Same,
    /// The receiver's tangent, in this type.
    Widened(&'static str),
    /// The receiver's tangent, or its negative: where the result is not the receiver.
    Sign,
    Max,
    Min,
    Clamp,
    MulAdd,
    Powf,
    Powi,
    Hypot,
    Atan2,
    Remainder,
    /// The sum and the product, under the names of the trait `Number`.
    Add,
    Mul,
    /// A truth value, of floats or integers.
    Discrete,
    /// A result that is an integer, of integers.
    Integer,
    /// No derivative; the message says what to do.
    None(&'static str),
}

/// The rule of a method.
pub(super) fn of(method: &str) -> Rule {
    use Rule::*;
    match method {
        "exp" => Factor(|_, r| quote!(#r)),
        "exp2" => Factor(|_, r| quote!((0.693_147_180_559_945_3 * #r))),
        "exp_m1" => Factor(|_, r| quote!((#r + 1.0))),
        "ln" => Factor(|x, _| quote!((1.0 / #x))),
        "ln_1p" => Factor(|x, _| quote!((1.0 / (1.0 + #x)))),
        "log2" => Factor(|x, _| quote!((1.442_695_040_888_963_4 / #x))),
        "log10" => Factor(|x, _| quote!((0.434_294_481_903_251_8 / #x))),
        "sin" => Factor(|x, _| quote!(#x.cos())),
        "cos" => Factor(|x, _| quote!((-#x.sin()))),
        "tan" => Factor(|_, r| quote!((1.0 + #r * #r))),
        "sinh" => Factor(|x, _| quote!(#x.cosh())),
        "cosh" => Factor(|x, _| quote!(#x.sinh())),
        "tanh" => Factor(|_, r| quote!((1.0 - #r * #r))),
        "asin" => Steep(|x, _| quote!((1.0 / (1.0 - #x * #x).sqrt()))),
        "acos" => Steep(|x, _| quote!((-1.0 / (1.0 - #x * #x).sqrt()))),
        "atan" => Factor(|x, _| quote!((1.0 / (1.0 + #x * #x)))),
        "sqrt" => Steep(|_, r| quote!((0.5 / #r))),
        "cbrt" => Steep(|_, r| quote!((1.0 / (3.0 * #r * #r)))),
        "recip" => Factor(|_, r| quote!((-(#r * #r)))),
        "ceil" | "floor" | "round" | "round_ties_even" | "trunc" | "signum" | "div_euclid" => Steps,
        "fract" => Same,
        "abs" | "copysign" => Sign,
        "max" => Max,
        "min" => Min,
        "clamp" => Clamp,
        "mul_add" => MulAdd,
        "powf" => Powf,
        "powi" => Powi,
        "hypot" => Hypot,
        "atan2" => Atan2,
        "rem_euclid" => Remainder,
        "wrapping_add" => Add,
        "wrapping_mul" => Mul,
        "to_bits" => None("the bits of a float have no derivative: compute with the float"),
        "to_f32" => Widened("f32"),
        "to_f64" => Widened("f64"),
        "len" => Integer,
        name if name.starts_with("is_") => Discrete,
        _ => Integer,
    }
}

/// The number that an integer literal is, with its sign.
pub(super) fn exponent(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Paren(inner) => exponent(&inner.expr),
        Expr::Unary(negative) if matches!(negative.op, UnOp::Neg(_)) => exponent(&negative.expr)?.checked_neg(),
        _ => None,
    }
}

/// The positive float that a literal is.
pub(super) fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse().ok(),
        Expr::Paren(inner) => number(&inner.expr),
        _ => None,
    }
}
