//! The built-in operators, by name.

use std::{fmt, str::FromStr};

use scan_runtime::{ScanElement, ScanOp, ops};

/// The names of the built-in operators.
pub(crate) const OPERATORS: [&str; 9] = ["sum", "product", "max", "min", "bit_and", "bit_or", "bit_xor", "all", "any"];

/// The types that they work on.
pub(crate) const ELEMENTS: [&str; 15] =
    ["i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize", "f32", "f64", "bool"];

/// One of [`OPERATORS`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperatorName(&'static str);

/// One of [`ELEMENTS`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementName(&'static str);

fn find(name: &str, names: &[&'static str]) -> Result<&'static str, String> {
    names.iter().find(|known| **known == name).copied().ok_or_else(|| format!("there is {}", names.join(", ")))
}

impl FromStr for OperatorName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        find(name, &OPERATORS).map(OperatorName)
    }
}

impl FromStr for ElementName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        find(name, &ELEMENTS).map(ElementName)
    }
}

/// A built-in operator on a type.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Ready {
    /// The operator
    operator: OperatorName,
    /// The type of the elements; `all` and `any` are of `bool`
    #[arg(default_value = "f32")]
    element: ElementName,
}

/// As `sum:f32`.
impl FromStr for Ready {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (operator, element) = text.split_once(':').unwrap_or((text, "f32"));
        Ok(Ready { operator: operator.parse()?, element: element.parse()? })
    }
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.operator.0, self.element.0)
    }
}

/// An operator that does not work on a type.
#[derive(Debug)]
pub(crate) struct NoSuch {
    ready: Ready,
    on: &'static str,
}

impl fmt::Display for NoSuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ready { operator, element } = self.ready;
        write!(f, "there is no `{}` of {}: it is an operator on {}", operator.0, element.0, self.on)
    }
}

impl std::error::Error for NoSuch {}

/// An element with values to scan.
pub(crate) trait Sample: ScanElement {
    /// One of a few small values.
    fn sample(index: usize) -> Self;
}

macro_rules! samples {
    ($($ty:ident)*) => {$(
        impl Sample for $ty {
            fn sample(index: usize) -> Self {
                (1 + index % 7) as $ty
            }
        }
    )*};
}

samples! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 }

impl Sample for bool {
    fn sample(index: usize) -> Self {
        index % 7 < 3
    }
}

/// Code that is generic over the built-in operators.
pub(crate) trait Visitor {
    /// Its result.
    type Output;

    fn visit<T, Op>(self, op: Op) -> Self::Output
    where
        T: Sample,
        Op: ScanOp<Input = T, State = T, Carry = T, Output = T> + Clone;
}

/// Passes the operator to the visitor.
pub(crate) fn visit<V: Visitor>(ready: Ready, visitor: V) -> Result<V::Output, NoSuch> {
    macro_rules! of_types {
        ($on:literal: $make:ident of $($ty:ident)*) => {
            match ready.element.0 {
                $(stringify!($ty) => Ok(visitor.visit(ops::$make::<$ty>())),)*
                _ => Err(NoSuch { ready, on: $on }),
            }
        };
    }
    macro_rules! numbers {
        ($make:ident) => {
            of_types!("numbers": $make of i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64)
        };
    }
    macro_rules! bits {
        ($make:ident) => {
            of_types!("integers and bool": $make of i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize bool)
        };
    }
    match (ready.operator.0, ready.element.0) {
        ("sum", _) => numbers!(sum),
        ("product", _) => numbers!(product),
        ("max", _) => numbers!(max),
        ("min", _) => numbers!(min),
        ("bit_and", _) => bits!(bit_and),
        ("bit_or", _) => bits!(bit_or),
        ("bit_xor", _) => bits!(bit_xor),
        ("all", "bool") => Ok(visitor.visit(ops::all())),
        ("any", "bool") => Ok(visitor.visit(ops::any())),
        _ => Err(NoSuch { ready, on: "bool" }),
    }
}
