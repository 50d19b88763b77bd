//! Values.

use crate::language::{Method, Operator};
use proc_macro2::TokenStream;
use syn::{ExprPath, Ident, Path, PathArguments, Type};

/// A value. Computing it has no effect, though it may panic.
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    /// `true` or `false`.
    Truth(bool),
    Integer(Integer),
    /// A float literal, its digits as C++ spells them; without a type it takes that of its place.
    Float {
        digits: String,
        ty: Option<Box<Type>>,
    },
    Variable(String),
    /// `self.field`
    Parameter(String),
    /// A constant of the user's, or a variant of an enum.
    Constant(Box<ExprPath>),
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
    Cast(Box<Type>, Box<Expression>),
    /// `T::from_bits` and the like.
    FromOther(Box<Type>, &'static str, Box<Expression>),
    /// A value that has no type of its own, as one of this type.
    Typed(Box<Type>, Box<Expression>),
    Method {
        method: &'static Method,
        receiver: Box<Expression>,
        arguments: Vec<Expression>,
    },
    /// How many items an array has.
    Length(Box<Expression>),
    Call(Box<Call>),
    Struct {
        /// `None` for the type of the field that it initializes.
        ty: Option<Box<Type>>,
        fields: Vec<(String, Expression)>,
        /// The struct that the other fields are copied from.
        base: Option<Box<Expression>>,
    },
    /// An array's items; its type where the text needs it.
    Array {
        ty: Option<Box<Type>>,
        items: Vec<Expression>,
    },
    Repeat(Times, Box<Expression>),
    /// A conversion to the type that the value has in Rust but not in C++: `true & false` is an `int`.
    ValueOf(Box<Expression>),
    /// A divisor that all elements share, so that its reciprocal is computed once.
    Invariant(Box<Expression>),
}

/// An integer literal; without a type it takes that of its place.
#[derive(Clone, Debug)]
pub(crate) struct Integer {
    /// Its low bits are right in every type.
    pub(crate) value: i128,
    pub(crate) spelling: Spelling,
    pub(crate) ty: Option<Box<Type>>,
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
    /// Whether both are computed, and one is chosen: faster than a branch, at which the threads of a warp diverge.
    pub(crate) computes_both: bool,
}

/// A call of a `#[scan_fn]`.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    pub(crate) generics: PathArguments,
    pub(crate) arguments: Vec<Expression>,
}

/// A function that is called: where the user found it, and the name under which the text finds what `#[scan_fn]` made
/// of it.
#[derive(Clone, Debug)]
pub(crate) struct Callee {
    pub(crate) path: Path,
    pub(crate) alias: Ident,
}

/// How often a value is repeated in an array.
#[derive(Clone, Debug)]
pub(crate) enum Times {
    Once,
    /// As Rust evaluates `value`, for the length that the user wrote.
    Length {
        value: TokenStream,
        written: TokenStream,
    },
    /// As the array's type says.
    Type(Box<Type>),
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
            | Expression::ValueOf(inner)
            | Expression::Invariant(inner) => vec![inner],
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

    /// The expression without the user's parentheses and a conversion to its type in Rust around it.
    pub(crate) fn inside(&self) -> &Expression {
        match self {
            Expression::Group(inner) | Expression::ValueOf(inner) => inner.inside(),
            other => other,
        }
    }

    /// The expression without the user's parentheses around it.
    pub(crate) fn bare(self) -> Expression {
        match self {
            Expression::Group(inner) => inner.bare(),
            other => other,
        }
    }
}
