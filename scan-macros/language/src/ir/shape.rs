//! What an expression consists of: whether it may be repeated, is known to the compiler, or is cheap.

use super::Expression;
use crate::syntax::is_own_capital;

/// The most operations in a value that is computed although another one may be chosen.
const CHEAP_OPERATIONS: u32 = 8;

impl Expression {
    /// Whether reading it twice is reading it once: a local, a field of one, or a constant by its name.
    pub(crate) fn is_place(&self) -> bool {
        match self {
            Expression::Variable(_) | Expression::Parameter(_) => true,
            Expression::Constant(path) => path.path.get_ident().is_some(),
            Expression::Field(inner, _) | Expression::Group(inner) => inner.is_place(),
            _ => false,
        }
    }

    /// Whether it is a local, or what one has in it.
    pub(crate) fn is_of_variable(&self) -> bool {
        match self {
            Expression::Variable(_) => true,
            Expression::Field(inner, _) | Expression::Group(inner) | Expression::Index { array: inner, .. } => {
                inner.is_of_variable()
            }
            _ => false,
        }
    }

    /// Whether it is a parameter of the operator.
    pub(crate) fn is_parameter(&self) -> bool {
        matches!(self, Expression::Parameter(_))
    }

    /// The variable of which it is a field, or a field of one, or itself.
    pub(crate) fn root(&self) -> Option<&str> {
        match self {
            Expression::Variable(name) => Some(name),
            Expression::Field(of, _) | Expression::Group(of) => of.root(),
            _ => None,
        }
    }

    /// Whether it is the literal 0.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Expression::Integer(literal) => literal.value == 0,
            Expression::Typed(_, inner) => inner.is_zero(),
            _ => false,
        }
    }

    /// Whether it is nothing but a literal.
    pub(crate) fn is_literal(&self) -> bool {
        matches!(self, Expression::Truth(_) | Expression::Integer(_) | Expression::Float { .. })
    }

    /// Whether it is computed from literals, constants and such variables only.
    pub(crate) fn is_made_of(&self, is_variable: &impl Fn(&str) -> bool) -> bool {
        match self {
            Expression::Variable(name) => is_variable(name),
            Expression::Constant(_) => true,
            Expression::Group(_)
            | Expression::Cast(..)
            | Expression::FromOther(..)
            | Expression::Typed(..)
            | Expression::Negative(_)
            | Expression::Not(_)
            | Expression::Binary(..) => self.parts().into_iter().all(|part| part.is_made_of(is_variable)),
            expression => expression.is_literal(),
        }
    }

    /// Whether it is a parameter of the operator, or a part of one, converted or not.
    pub(crate) fn is_shared(&self) -> bool {
        match self {
            Expression::Parameter(_) => true,
            Expression::Field(inner, _) | Expression::Group(inner) | Expression::Cast(_, inner) => inner.is_shared(),
            _ => false,
        }
    }

    /// Whether it is computed from the operator's parameters, from such variables, and besides from literals and
    /// constants only.
    pub(crate) fn is_invariant(&self, is_variable: &impl Fn(&str) -> bool) -> bool {
        match self {
            Expression::Parameter(_) => true,
            Expression::Variable(name) => is_variable(name),
            Expression::Field(inner, _) | Expression::Group(inner) | Expression::Cast(_, inner) => {
                inner.is_invariant(is_variable)
            }
            Expression::Binary(operator, left, right) if operator.is_arithmetic() => {
                let [left, right] = [left, right].map(|side| {
                    let invariant = side.is_invariant(is_variable);
                    (invariant, invariant || side.is_made_of(&|_| false))
                });
                (left.0 || right.0) && left.1 && right.1
            }
            _ => false,
        }
    }

    /// Whether it becomes a `?:` that has a struct or an array in braces, or may have: a constant can be either.
    pub(crate) fn chooses_braces(&self) -> bool {
        fn in_braces(expression: &Expression) -> bool {
            match expression {
                Expression::Struct { .. } | Expression::Array { .. } | Expression::Repeat(..) => true,
                Expression::Constant(path) => is_own_capital(path),
                Expression::Group(inner) => in_braces(inner),
                expression => expression.chooses_braces(),
            }
        }
        match self {
            Expression::Group(inner) => inner.chooses_braces(),
            Expression::Choice(choice) => in_braces(&choice.then) || in_braces(&choice.other),
            _ => false,
        }
    }

    /// Whether there is a struct or an array among the values that it may have.
    pub(crate) fn builds(&self) -> bool {
        match self {
            Expression::Struct { .. } | Expression::Array { .. } => true,
            Expression::Repeat(super::Times::Once, _) => true,
            Expression::Group(inner) => inner.builds(),
            Expression::Choice(choice) => choice.then.builds() || choice.other.builds(),
            _ => false,
        }
    }

    /// Whether it is computed by a few instructions, and does not panic.
    pub(crate) fn is_cheap(&self) -> bool {
        self.operations().is_some_and(|count| count <= CHEAP_OPERATIONS)
    }

    /// The number of its operations; `None` if one of them is expensive, or may panic.
    fn operations(&self) -> Option<u32> {
        let own = match self {
            Expression::Negative(_) | Expression::Not(_) | Expression::Cast(..) | Expression::Choice(_) => 1,
            Expression::Binary(operator, ..) if operator.is_cheap() => 1,
            Expression::Method { method, .. } if method.cheap => 1,
            Expression::Group(_)
            | Expression::Field(..)
            | Expression::Opposite(_)
            | Expression::AnyOf(_)
            | Expression::Variable(_)
            | Expression::Parameter(_)
            | Expression::Constant(_)
            | Expression::Struct { .. }
            | Expression::Array { .. }
            | Expression::Repeat(super::Times::Once, _)
            | Expression::ValueOf(_) => 0,
            expression if expression.is_literal() => 0,
            _ => return None,
        };
        self.parts()
            .into_iter()
            .map(Expression::operations)
            .try_fold(own, |sum: u32, count| Some(sum.saturating_add(count?)))
    }
}
