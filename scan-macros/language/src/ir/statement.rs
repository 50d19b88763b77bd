//! Statements.

use super::{Access, Expression};
use crate::language::Operator;
use syn::Type;

/// A statement changes variables, leaves, or decides which statements run.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// The following statements are from this line of the user's file.
    Line(usize),
    Declare {
        name: String,
        ty: Declared,
        value: Option<Expression>,
        /// Whether the text says in any case that it may go unread.
        may_be_unread: bool,
    },
    /// A variable whose value statements return, of a type that C++ finds out.
    Compute {
        name: String,
        body: Vec<Statement>,
    },
    Assign {
        place: Expression,
        value: Expression,
    },
    /// `place += value`
    Update {
        operator: Operator,
        place: Expression,
        value: Expression,
    },
    /// A value that is not used, computed because it may panic.
    Discard(Expression),
    Return(Expression),
    /// The statements of the first condition that holds.
    If {
        arms: Vec<(Expression, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    },
    /// Leaves where the condition does not hold.
    Unless(Expression, Exit),
    While(Expression, Vec<Statement>),
    Loop(Vec<Statement>),
    For(Box<For>),
    Block(Vec<Statement>),
    Break,
    Continue,
    Goto(String),
    Label(String),
}

/// The type of a variable.
#[derive(Clone, Debug)]
pub(crate) enum Declared {
    /// That of its value.
    Auto,
    /// That of its value, which never changes.
    Constant,
    Truth,
    Type(Box<Type>),
}

/// Where [`Statement::Unless`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Panic,
    Break,
}

/// A loop over a range.
#[derive(Clone, Debug)]
pub(crate) struct For {
    pub(crate) name: String,
    pub(crate) start: Expression,
    pub(crate) end: Expression,
    pub(crate) inclusive: bool,
    pub(crate) reversed: bool,
    pub(crate) body: Vec<Statement>,
}

/// A loop that does nothing but `to[i] = from[place as usize]`, where `place` depends on `i`.
pub(crate) struct Gather<'f> {
    pub(crate) to: &'f Expression,
    pub(crate) from: &'f Expression,
    pub(crate) place: &'f Expression,
}

impl<'f> Gather<'f> {
    /// The number that holds the places, and the bits of a place, where there are four bits for each:
    /// `row >> (4 * i) & bits`.
    pub(crate) fn packed(&self, counter: &str) -> Option<(&'f Expression, i128)> {
        let is_counter = |expression: &Expression| matches!(expression, Expression::Variable(name) if name == counter);
        let number = |expression: &Expression| match expression.inside() {
            Expression::Integer(number) => Some(number.value),
            _ => None,
        };
        let Expression::Binary(Operator::BitAnd, shifted, bits) = self.place.inside() else { return None };
        let Expression::Binary(Operator::Shr, row, count) = shifted.inside() else { return None };
        let Expression::Binary(Operator::Mul, a, b) = count.inside() else { return None };
        let by_four = |one: &Expression, other: &Expression| number(one) == Some(4) && is_counter(other.inside());
        let each = by_four(a, b) || by_four(b, a);
        let bits = number(bits).filter(|bits| (1..16).contains(bits))?;
        (each && !row.any(&mut |part| is_counter(part))).then_some((row, bits))
    }
}

impl For {
    /// What it gathers from an array at places that only the data tell, if it does nothing else. No other variable is
    /// assigned, so that the items can be gathered in any order, and together.
    pub(crate) fn gathers(&self) -> Option<Gather<'_>> {
        let For { name, start, inclusive: false, reversed: false, body, .. } = self else { return None };
        let mut statements = body.iter().filter(|statement| !matches!(statement, Statement::Line(_)));
        let (Some(Statement::Assign { place, value }), None) = (statements.next(), statements.next()) else {
            return None;
        };
        let Expression::Index { array: to, index: counter, access: Access::Counted } = place else { return None };
        let Expression::Index { array: from, index, access: Access::Read } = value else { return None };
        let Expression::Cast(_, place) = &**index else { return None };
        let counts = matches!(&**counter, Expression::Variable(counter) if counter == name);
        let assigned = to.root()?;
        let is_assigned = |expression: &Expression| matches!(expression, Expression::Variable(of) if of == assigned);
        let reads_it = from.any(&mut |part| is_assigned(part)) || place.any(&mut |part| is_assigned(part));
        (counts && start.is_zero() && from.root().is_some() && !reads_it).then_some(Gather { to, from, place })
    }
}

impl Statement {
    /// Its own expressions, without those of its bodies.
    pub(crate) fn expressions(&self) -> Vec<&Expression> {
        match self {
            Statement::Line(_)
            | Statement::Compute { .. }
            | Statement::Loop(_)
            | Statement::Block(_)
            | Statement::Break
            | Statement::Continue
            | Statement::Goto(_)
            | Statement::Label(_) => Vec::new(),
            Statement::Declare { value, .. } => value.iter().collect(),
            Statement::Assign { place, value } | Statement::Update { place, value, .. } => vec![place, value],
            Statement::Discard(value)
            | Statement::Return(value)
            | Statement::Unless(value, _)
            | Statement::While(value, _) => vec![value],
            Statement::If { arms, .. } => arms.iter().map(|(condition, _)| condition).collect(),
            Statement::For(looping) => vec![&looping.start, &looping.end],
        }
    }

    /// The statements inside it.
    pub(crate) fn bodies(&self) -> Vec<&[Statement]> {
        match self {
            Statement::Compute { body, .. }
            | Statement::While(_, body)
            | Statement::Loop(body)
            | Statement::Block(body) => vec![body],
            Statement::For(looping) => vec![&looping.body],
            Statement::If { arms, otherwise } => {
                arms.iter().map(|(_, body)| body.as_slice()).chain(otherwise.as_deref()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The statements inside it, to change them.
    pub(crate) fn bodies_mut(&mut self) -> Vec<&mut Vec<Statement>> {
        match self {
            Statement::Compute { body, .. }
            | Statement::While(_, body)
            | Statement::Loop(body)
            | Statement::Block(body) => vec![body],
            Statement::For(looping) => vec![&mut looping.body],
            Statement::If { arms, otherwise } => {
                arms.iter_mut().map(|(_, body)| body).chain(otherwise.as_mut()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether this holds of an expression in it.
    pub(crate) fn any(&self, holds: &mut impl FnMut(&Expression) -> bool) -> bool {
        self.expressions().into_iter().any(|expression| expression.any(holds))
            || self.bodies().into_iter().flatten().any(|statement| statement.any(holds))
    }
}
