//! The operations that operators may use on each type.
//!
//! The macros see tokens; rustc knows types. So each body gets a twin: the same statements in a closure that nothing
//! calls, where every operand, receiver and comparison is passed to a function of this module. Each function requires a
//! trait that is implemented for the types whose Rust operation is the one in the CUDA text. For any other type rustc
//! reports an error at the operand.
//!
//! In generic items the types are known only when the item is used. There the functions take a token, made in a
//! constant that does not compile for a type without the operation. The type's constant [`Operations`] says which it
//! has.

use std::marker::PhantomData;

/// A type whose operators are the same in Rust and in CUDA.
#[diagnostic::on_unimplemented(
    message = "in an operator only numbers and `bool` have operators such as `+`, and `{Self}` is neither",
    label = "neither a number nor `bool`",
    note = "operators that are implemented by hand are not translated to CUDA: write out what this one does, or call a function marked `#[scan_fn]`"
)]
pub trait Operand {}

/// A type that has the methods of the operator language in `Group` as inherent methods.
#[diagnostic::on_unimplemented(
    message = "in an operator only the numeric types' own methods are called, and `{Self}` has none of this name",
    label = "has no such method in an operator",
    note = "methods of traits and of types of your own are not translated to CUDA: write out what this one does, or call a function marked `#[scan_fn]`"
)]
pub trait Receiver<Group> {}

/// A type that supports `x[i]` and `x.len()`.
#[diagnostic::on_unimplemented(
    message = "in an operator only arrays and tables have an index and a length, and `{Self}` is neither",
    label = "neither an array nor a `Table`",
    note = "an index that is implemented by hand is not translated to CUDA: name the field that holds the array"
)]
pub trait Indexed {}

/// A type whose `==` with another type compares as the CUDA text does: part by part.
#[diagnostic::on_unimplemented(
    message = "an operator cannot compare values of `{Self}` by `==`",
    label = "`==` needs `#[derive(PartialEq)]` below `#[scan_element]`",
    note = "a `PartialEq` that is written by hand is not translated to CUDA: derive it, for the types of the fields too, or compare the parts"
)]
pub trait Equal<Other = Self> {}

/// A type whose `<` with another type compares as the CUDA text does: numbers, and enums by their discriminants.
#[diagnostic::on_unimplemented(
    message = "an operator cannot compare values of `{Self}` by `<`",
    label = "`<` needs numbers, or enums with `#[derive(PartialOrd)]` below `#[scan_element]`",
    note = "structs and arrays have no order in CUDA, and a `PartialOrd` that is written by hand is not translated: compare the parts"
)]
pub trait Ordered<Other = Self> {}

/// A type whose values can be compared with a number or a `bool`; rustc checks which of both.
#[diagnostic::on_unimplemented(
    message = "an operator cannot compare a number with a value of `{Self}`",
    label = "compares a number with `{Self}`",
    note = "a comparison that is written by hand is not translated to CUDA: compare the fields"
)]
pub trait Scalar {}

/// A type whose constants can be used in patterns.
#[diagnostic::on_unimplemented(
    message = "a constant of type `{Self}` cannot be used in a pattern of an operator",
    label = "needs `#[derive(PartialEq)]` below `#[scan_element]`",
    note = "derive it for the types of the fields too, or match the parts"
)]
pub trait Matched {}

/// The operations of a type, as a constant of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operations(u32);

impl Operations {
    /// No operation: values are only moved.
    pub const NONE: Operations = Operations(0);
    const OPERATORS: Operations = Operations(1);
    const EQUAL: Operations = Operations(1 << 1);
    const ORDERED: Operations = Operations(1 << 2);
    const MATCHED: Operations = Operations(1 << 3);
    const INDEXED: Operations = Operations(1 << 4);

    const fn and(self, other: Operations) -> Operations {
        Operations(self.0 | other.0)
    }

    const fn only(self, other: Operations) -> Operations {
        Operations(self.0 & other.0)
    }

    const fn has(self, other: Operations) -> bool {
        self.0 & other.0 == other.0
    }

    /// The operations of a struct, whose `PartialEq` is derived or not.
    pub const fn structure(derives_equality: bool, fields: &[Operations]) -> Operations {
        let mut all = match derives_equality {
            true => Operations::EQUAL.and(Operations::MATCHED),
            false => Operations::NONE,
        };
        let mut index = 0;
        while index < fields.len() {
            all = all.only(fields[index]);
            index += 1;
        }
        all
    }

    /// The operations of an enum, whose `PartialEq` and `PartialOrd` are derived or not.
    pub const fn enumeration(derives_equality: bool, derives_order: bool) -> Operations {
        let equal = if derives_equality { Operations::EQUAL } else { Operations::NONE };
        let ordered = if derives_order { Operations::ORDERED } else { Operations::NONE };
        Operations::MATCHED.and(equal).and(ordered)
    }

    /// The operations of an array.
    pub(crate) const fn array(item: Operations) -> Operations {
        Operations::INDEXED.and(item.only(Operations::EQUAL.and(Operations::MATCHED)))
    }
}

/// The operations of a primitive.
pub(crate) trait OfPrimitive {
    const OPERATIONS: Operations;
}

/// A group of methods.
pub trait Methods {
    #[doc(hidden)]
    const OPERATIONS: Operations;
}

macro_rules! groups {
    ($($(#[$doc:meta])* $group:ident $receiver:ident = $bit:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $group;
            impl Methods for $group {
                const OPERATIONS: Operations = Operations(1 << $bit);
            }
            /// The receiver of a method of the group.
            pub fn $receiver<T: Receiver<$group>>(value: T) -> T {
                value
            }
        )*
    };
}

groups! {
    /// `max`, and what [`Number`](crate::ops::Number) has.
    Numbers numbers = 8;
    /// `abs` and `signum`.
    SignedNumbers signed_numbers = 9;
    /// `rem_euclid` and `div_euclid`.
    Euclidean euclidean = 10;
    /// `count_ones`, `pow`.
    Integers integers = 11;
    /// `is_power_of_two`.
    UnsignedIntegers unsigned_integers = 12;
    /// `unsigned_abs`.
    SignedIntegers signed_integers = 13;
    /// `sqrt`.
    Floats floats = 14;
    /// `is_subnormal`, which the 16-bit floats lack.
    WideFloats wide_floats = 15;
    /// `to_f32`.
    Halves halves = 16;
}

macro_rules! primitives {
    ($(($($ty:ty)*) $groups:tt)*) => {$($(primitives!(@one $ty, $groups);)*)*};
    (@one $ty:ty, [$($group:ident)*]) => {
        impl Operand for $ty {}
        $(impl Receiver<$group> for $ty {})*
        impl Scalar for $ty {}
        impl<Other: Scalar> Equal<Other> for $ty {}
        impl<Other: Scalar> Ordered<Other> for $ty {}
        impl Matched for $ty {}
        impl OfPrimitive for $ty {
            const OPERATIONS: Operations = Operations::OPERATORS
                .and(Operations::EQUAL)
                .and(Operations::ORDERED)
                .and(Operations::MATCHED)
                $(.and(<$group as Methods>::OPERATIONS))*;
        }
    };
}

primitives! {
    (bool) []
    (u8 u16 u32 u64 u128 usize) [Numbers Euclidean Integers UnsignedIntegers]
    (i8 i16 i32 i64 i128 isize) [Numbers Euclidean Integers SignedIntegers SignedNumbers]
    (f32 f64) [Numbers Euclidean Floats WideFloats SignedNumbers]
}

#[cfg(feature = "half")]
primitives! {
    (half::f16 half::bf16) [Numbers Floats Halves SignedNumbers]
}

impl<T, const N: usize> Indexed for [T; N] {}
impl<T> Indexed for crate::Table<T> {}
// An error elsewhere reports that a `Vec` cannot be a parameter.
impl<T> Indexed for Vec<T> {}
impl<T: Equal<Other>, Other, const N: usize> Equal<[Other; N]> for [T; N] {}
impl<T: Matched, const N: usize> Matched for [T; N] {}

/// An operand of an operator.
pub fn operand<T: Operand>(value: T) -> T {
    value
}

/// A value that is compared with a number.
pub fn scalar<T: Scalar>(value: T) -> T {
    value
}

/// The operand of a unary operator, and what an operator assigns to.
pub fn only_operand<T: Operand>(value: &T) -> &T {
    value
}

/// A value that is indexed.
pub fn indexed<T: Indexed + ?Sized>(value: &T) -> &T {
    value
}

/// A constant in a pattern.
pub fn matched<T: Matched>(value: &T) -> &T {
    value
}

/// The types of the two sides of a comparison.
#[derive(Debug)]
pub struct Sides<Left, Right>(PhantomData<(Left, Right)>);

/// The sides of `==`.
pub fn equal<Left: Equal<Right>, Right>() -> Sides<Left, Right> {
    Sides(PhantomData)
}

/// The sides of `<`.
pub fn ordered<Left: Ordered<Right>, Right>() -> Sides<Left, Right> {
    Sides(PhantomData)
}

/// The left side.
pub fn left<Left, Right>(_: &Sides<Left, Right>, value: Left) -> Left {
    value
}

/// The right side.
pub fn right<Left, Right>(_: &Sides<Left, Right>, value: Right) -> Right {
    value
}

/// The same for generic items, whose types are known when the item is used: each value comes with a token which proves
/// that its type has the operation.
pub mod generic {
    use super::{Methods, Operations, PhantomData};
    use crate::{ScanElement, Table};

    /// A type whose operations are known as a constant.
    pub trait Typed {
        #[doc(hidden)]
        const OPERATIONS: Operations;
    }

    impl<T: ScanElement> Typed for T {
        const OPERATIONS: Operations = T::OPERATIONS;
    }

    impl<T: ScanElement> Typed for Table<T> {
        const OPERATIONS: Operations = Operations::INDEXED;
    }

    /// The token, which proves that the type has the operation.
    #[derive(Debug)]
    pub struct Has<T>(PhantomData<T>);

    /// The constants in which these are called are the macros' output, at the user's expressions, where rustc reports them.
    macro_rules! tokens {
        ($($(#[$doc:meta])* $name:ident $(<$group:ident>)? = $operations:expr, $message:literal;)*) => {$(
            $(#[$doc])*
            #[track_caller]
            pub const fn $name<$($group: Methods,)? T: Typed>() -> Has<T> {
                assert!(T::OPERATIONS.has($operations), $message);
                Has(PhantomData)
            }
        )*};
    }

    tokens! {
        /// An operand of an operator.
        operand = Operations::OPERATORS,
            "in an operator only numbers and `bool` have operators such as `+`: the generic item is used with another type";
        /// A value that is compared with a number.
        scalar = Operations::OPERATORS,
            "in an operator a number is compared with a number: the generic item is used with another type";
        /// The operand of a unary operator, and what an operator assigns to.
        only_operand = Operations::OPERATORS,
            "in an operator only numbers and `bool` have operators such as `+`: the generic item is used with another type";
        /// The receiver of a method of the group.
        receiver<Group> = Group::OPERATIONS,
            "in an operator only the numeric types' own methods are called: the generic item is used with a type that has none of this name";
        /// A value that is indexed.
        indexed = Operations::INDEXED,
            "in an operator only arrays and tables have an index and a length: the generic item is used with another type";
        /// A side of `==`.
        equal = Operations::EQUAL,
            "in an operator `==` needs `#[derive(PartialEq)]` below `#[scan_element]`: the generic item is used with a type that lacks it";
        /// A side of `<`.
        ordered = Operations::ORDERED,
            "in an operator `<` needs numbers, or enums with `#[derive(PartialOrd)]` below `#[scan_element]`: the generic item is used with another type";
        /// A constant in a pattern.
        matched = Operations::MATCHED,
            "in an operator a constant in a pattern needs `#[derive(PartialEq)]` below `#[scan_element]`: the generic item is used with a type that lacks it";
    }

    /// A value whose type has the operation.
    pub fn value<T>(_: Has<T>, value: T) -> T {
        value
    }

    /// A place whose type has the operation.
    pub fn seen<T>(_: Has<T>, place: &T) -> &T {
        place
    }

    /// One of the two sides of a comparison, which are of one type.
    pub fn side<T>(_: &Has<T>, value: T) -> T {
        value
    }

    /// Called in code that is never reached, so that the twin is instantiated: its constants are evaluated, but no code
    /// is generated.
    pub fn instantiate<Arguments, Value>(twin: impl FnOnce(Arguments) -> Value) {
        let never: Option<Arguments> = None;
        if let Some(arguments) = never {
            twin(arguments);
        }
    }
}
