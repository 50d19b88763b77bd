//! The representation of a function's body between Rust and CUDA text.
//!
//! An [`Expression`] has a value and changes nothing. A [`Statement`] changes a variable, leaves, or decides which
//! statements run. So it holds, of any body that [`lower`](crate::lower) makes:
//!
//! - The order of statements is Rust's order. The operands of an expression may be evaluated in any order, as in C++.
//! - Each variable and each label has a name that nothing else in the function has, and is declared before it is used.
//! - A jump says where it goes: to the innermost loop, or to a label.
//! - There are no parentheses except those that the user wrote. Only [`print`](crate::print) knows C++'s precedence.
//!
//! Analyses walk over a body: which parts of the prelude it uses and how often ([`uses`](crate::uses)), which variables
//! are read ([`reads`]), what is known of types ([`typing`]), what an expression consists of ([`shape`]),
//! and what a half of a body needs ([`unneeded`]).

mod expression;
pub(crate) mod reads;
mod shape;
mod statement;
#[cfg(test)]
mod tests;
pub(crate) mod typing;
pub(crate) mod unneeded;

pub(crate) use expression::{Access, Call, Callee, Choice, Expression, Integer, Spelling, Times, Width};
pub(crate) use statement::{Declared, Exit, For, Gather, Statement};

use proc_macro2::TokenStream;
use syn::Ident;

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
