//! A function's body between Rust and CUDA text: what is computed, in which order, under which names.
//!
//! An [`Expression`] has a value and changes nothing. A [`Statement`] changes a variable, leaves, or decides which statements run.
//! So it holds, of any body that [`lower`](crate::lower) makes:
//!
//! - The order of statements is Rust's order. The operands of an expression may be evaluated in any order, as in C++.
//! - Each variable and each label has a name that nothing else in the function has, and is declared before it is used.
//! - A jump says where it goes: to the innermost loop, or to a label.
//! - Parentheses are absent, but for those that the user wrote: [`print`](crate::print) knows C++'s precedence, and alone.
//!
//! What must be known of a body is found by walking over it: what it needs of the prelude and how often
//! ([`uses`](crate::uses)), which variables nothing reads ([`reads`]), what is known of types ([`typing`]), and what
//! an expression is made of ([`shape`]).

pub(crate) mod reads;
pub(crate) mod shape;
pub(crate) mod typing;

use crate::language::{Method, Operator};
use proc_macro2::TokenStream;
use syn::{ExprPath, Ident, Path, PathArguments, Type};

/// A function whose body has been lowered.
pub(crate) struct Lowered {
    pub(crate) name: String,
    /// The names of the parameters after `self`.
    pub(crate) parameters: Vec<String>,
    pub(crate) body: Vec<Statement>,
    /// Names in patterns that were taken for new ones. To Rust they are constants where constants of that name exist.
    pub(crate) bindings: Vec<Ident>,
    /// Rust that compiles only if the names mean to rustc what they mean in the body.
    pub(crate) assumption: TokenStream,
}

/// A value. To compute it changes nothing, though it may panic.
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    /// `true` or `false`.
    Truth(bool),
    Integer(Integer),
    /// A float literal, its digits as C++ spells them; without a type it takes that of its place.
    Float {
        digits: String,
        ty: Option<Type>,
    },
    Variable(String),
    /// `self.field`
    Parameter(String),
    /// A constant of the user's, or a variant of an enum.
    Constant(ExprPath),
    Field(Box<Expression>, String),
    Index {
        array: Box<Expression>,
        index: Box<Expression>,
        access: Access,
    },
    Negative(Box<Expression>),
    /// Rust's `!`.
    Not(Box<Expression>),
    /// The opposite of a truth value, which needs no `!` of Rust's.
    Opposite(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// Whether one of a pattern's alternatives holds.
    AnyOf(Vec<Expression>),
    /// Parentheses of the user's.
    Group(Box<Expression>),
    Choice(Box<Choice>),
    /// Rust's `as`, or `T::from`.
    Cast(Type, Box<Expression>),
    /// `T::from_bits` and the like.
    FromOther(Type, &'static str, Box<Expression>),
    /// A value that has no type of its own, as one of this type.
    Typed(Type, Box<Expression>),
    Method {
        method: &'static Method,
        receiver: Box<Expression>,
        arguments: Vec<Expression>,
    },
    /// How many items an array has.
    Length(Box<Expression>),
    Call(Call),
    Struct {
        /// `None` for the type of the field in which it stands.
        ty: Option<Type>,
        fields: Vec<(String, Expression)>,
        /// Whence the other fields come.
        base: Option<Box<Expression>>,
    },
    /// An array's items; its type where the text needs it.
    Array {
        ty: Option<Type>,
        items: Vec<Expression>,
    },
    Repeat(Times, Box<Expression>),
    /// The value of what is no value of its type to C++ yet: `true & false` is an `int`.
    ValueOf(Box<Expression>),
}

/// An integer literal; without a type it takes that of its place.
#[derive(Clone, Debug)]
pub(crate) struct Integer {
    /// Its low bits are right in every type.
    pub(crate) value: i128,
    pub(crate) spelling: Spelling,
    pub(crate) ty: Option<Type>,
}

#[derive(Clone, Debug)]
pub(crate) enum Spelling {
    /// In decimal digits.
    Decimal,
    /// As the user wrote it.
    Own(String),
    /// As a number of 128 bits, whose sign is a bit of it.
    Wide,
}

/// The type that C++ gives an integer literal: the first that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Int,
    LongLong,
    UnsignedLongLong,
    Wide,
}

impl Integer {
    pub(crate) fn width(&self) -> Width {
        match self.value {
            _ if matches!(self.spelling, Spelling::Wide) => Width::Wide,
            value if i32::try_from(value).is_ok_and(|value| value != i32::MIN) => Width::Int,
            value if i64::try_from(value).is_ok_and(|value| value != i64::MIN) => Width::LongLong,
            value if u64::try_from(value).is_ok() => Width::UnsignedLongLong,
            _ => Width::Wide,
        }
    }
}

/// How an item of an array is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// By a number that the compiler knows once loops are unrolled.
    Counted,
    /// In the array's memory.
    InMemory,
    /// In registers, to be read.
    Read,
    /// In registers, to be replaced.
    Replaced,
}

/// One of two values.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) condition: Expression,
    pub(crate) then: Expression,
    pub(crate) other: Expression,
    /// Whether both are computed, and one is chosen: faster than a branch, at which the threads of a warp part.
    pub(crate) computes_both: bool,
}

/// A call of a `#[scan_fn]`.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    pub(crate) generics: PathArguments,
    pub(crate) arguments: Vec<Expression>,
}

/// A function that is called: where the user found it, and the name under which the text finds what `#[scan_fn]` made of it.
#[derive(Clone, Debug)]
pub(crate) struct Callee {
    pub(crate) path: Path,
    pub(crate) alias: Ident,
}

/// How often a value is repeated in an array.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a body has few of them, and none lives long")]
pub(crate) enum Times {
    Once,
    /// As Rust evaluates this.
    Length(TokenStream),
    /// As the array's type says.
    Type(Type),
}

/// What changes variables, leaves, or decides which statements run.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// What follows stands on this line of the user's file.
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
    /// A value that nothing wants, computed because it may panic.
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
#[allow(clippy::large_enum_variant, reason = "a body has few of them, and none lives long")]
pub(crate) enum Declared {
    /// That of its value.
    Auto,
    /// That of its value, which never changes.
    Constant,
    Truth,
    Type(Type),
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

impl Expression {
    /// The expressions that it is made of.
    pub(crate) fn parts(&self) -> Vec<&Expression> {
        match self {
            Expression::Truth(_)
            | Expression::Integer(_)
            | Expression::Float { .. }
            | Expression::Variable(_)
            | Expression::Parameter(_)
            | Expression::Constant(_) => Vec::new(),
            Expression::Field(inner, _)
            | Expression::Negative(inner)
            | Expression::Not(inner)
            | Expression::Opposite(inner)
            | Expression::Group(inner)
            | Expression::Cast(_, inner)
            | Expression::FromOther(_, _, inner)
            | Expression::Typed(_, inner)
            | Expression::Length(inner)
            | Expression::Repeat(_, inner)
            | Expression::ValueOf(inner) => vec![inner],
            Expression::Index { array, index, .. } => vec![array, index],
            Expression::Binary(_, left, right) => vec![left, right],
            Expression::AnyOf(conditions) => conditions.iter().collect(),
            Expression::Choice(choice) => vec![&choice.condition, &choice.then, &choice.other],
            Expression::Method { receiver, arguments, .. } => std::iter::once(&**receiver).chain(arguments).collect(),
            Expression::Call(call) => call.arguments.iter().collect(),
            Expression::Struct { fields, base, .. } => {
                fields.iter().map(|(_, value)| value).chain(base.as_deref()).collect()
            }
            Expression::Array { items, .. } => items.iter().collect(),
        }
    }

    /// Whether this holds of it, or of something in it.
    pub(crate) fn any(&self, holds: &mut impl FnMut(&Expression) -> bool) -> bool {
        holds(self) || self.parts().into_iter().any(|part| part.any(holds))
    }

    /// The expression without the user's parentheses around it.
    pub(crate) fn bare(self) -> Expression {
        match self {
            Expression::Group(inner) => inner.bare(),
            other => other,
        }
    }
}

impl Statement {
    /// The expressions that stand in it, but for those of its bodies.
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

    /// Whether this holds of an expression in it.
    pub(crate) fn any(&self, holds: &mut impl FnMut(&Expression) -> bool) -> bool {
        self.expressions().into_iter().any(|expression| expression.any(holds))
            || self.bodies().into_iter().flatten().any(|statement| statement.any(holds))
    }
}
