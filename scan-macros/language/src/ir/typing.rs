//! What is known about an expression's type without rustc.

use super::{Expression, Integer};
use crate::language::Operator;

/// What is known about an expression's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typing {
    /// C++ finds out.
    Typed,
    /// C++ finds out, unless these are truth values: their `&`, `|` and `^` are an `int`.
    Bitwise,
    /// An integer literal without a suffix, and its value where it is known.
    Integer(Option<i128>),
    /// A float literal without a suffix.
    Float,
}

impl Expression {
    pub(crate) fn typing(&self) -> Typing {
        match self {
            Expression::Integer(Integer { value, ty: None, .. }) => Typing::Integer(Some(*value)),
            Expression::Float { ty: None, .. } => Typing::Float,
            Expression::Group(inner) | Expression::Negative(inner) => inner.typing(),
            Expression::Binary(operator, left, right) => {
                let of_numbers = [left, right].into_iter().any(|side| !side.is_typed() || side.is_number());
                if operator.is_bitwise() && !of_numbers { Typing::Bitwise } else { Typing::Typed }
            }
            Expression::Choice(choice) if !choice.computes_both => {
                match (choice.then.typing(), choice.other.typing()) {
                    (Typing::Integer(_), Typing::Integer(_)) => Typing::Integer(None),
                    (Typing::Float, Typing::Float) => Typing::Float,
                    (Typing::Bitwise, _) | (_, Typing::Bitwise) => Typing::Bitwise,
                    _ => Typing::Typed,
                }
            }
            _ => Typing::Typed,
        }
    }

    /// Whether C++ finds its type out.
    pub(crate) fn is_typed(&self) -> bool {
        match self {
            // Literals alone have been folded.
            Expression::Binary(..) => true,
            expression => matches!(expression.typing(), Typing::Typed | Typing::Bitwise),
        }
    }

    /// Whether its form shows that it is a number and not a truth value.
    fn is_number(&self) -> bool {
        match self {
            Expression::Integer(_) | Expression::Float { .. } | Expression::Negative(_) | Expression::Length(_) => true,
            Expression::Cast(ty, _) => !matches!(&**ty, syn::Type::Path(path) if path.path.is_ident("bool")),
            Expression::Method { method, .. } => !method.is_question(),
            Expression::Group(inner) | Expression::Not(inner) => inner.is_number(),
            Expression::Binary(operator, left, right) => match operator {
                Operator::BitAnd | Operator::BitOr | Operator::BitXor => left.is_number() || right.is_number(),
                operator => operator.is_arithmetic(),
            },
            _ => false,
        }
    }
}
