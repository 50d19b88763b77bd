//! An operator as the passes see it.

use crate::advance;
use crate::attribute::Laws;
use crate::gradient::Gradient;
use syn::{Attribute, Block, Expr, Generics, Ident, ItemFn, Member, Path, Signature, Type, Visibility};

/// An operator as the user wrote it, in either form.
pub(crate) struct Operator {
    /// Where `scan_runtime` is found.
    pub(crate) krate: Path,
    /// Attributes of the impl block.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) generics: Generics,
    /// `ScanOp`, by the path that the user wrote.
    pub(crate) trait_path: Path,
    /// The type that becomes the operator.
    pub(crate) self_ty: Type,
    /// Its name in messages and in CUDA.
    pub(crate) name: String,
    /// The struct to declare, in the function form.
    pub(crate) declare: Option<Declare>,
    pub(crate) input: Type,
    pub(crate) state: Type,
    pub(crate) output: Type,
    /// What makes the operator stepped.
    pub(crate) stepped: Option<Stepped>,
    /// The type that the user gave the identity, and its value.
    pub(crate) identity: Option<(Type, Expr)>,
    /// With `step` and `emit` in place of `advance`.
    pub(crate) functions: Vec<Function>,
    /// The function that `step` and `emit` were made of.
    pub(crate) advance: Option<Function>,
    /// The operator's own fields that a function reads.
    pub(crate) fields: Vec<Member>,
    /// Whether a function names `Self::IDENTITY`, or `Self::START`.
    pub(crate) names_identity: bool,
    pub(crate) names_start: bool,
    /// The test of its laws, where one is wanted.
    pub(crate) laws: Option<Laws>,
    /// Its gradient, where one is wanted.
    pub(crate) gradient: Option<Gradient>,
    /// How the CPU applies it to several values at once, for the built-in operators.
    pub(crate) vectorized: Option<Expr>,
}

/// The carry of a stepped operator: its type, the type that the user gave the first one, and its value.
pub(crate) struct Stepped {
    pub(crate) carry: Type,
    pub(crate) start: (Type, Expr),
}

/// A function of the trait.
pub(crate) struct TraitFunction {
    pub(crate) name: &'static str,
    /// The associated types of its parameters, and of its result.
    pub(crate) takes: &'static [&'static str],
    pub(crate) returns: &'static str,
    /// How it is written.
    pub(crate) written: &'static str,
}

/// The functions of the trait that an operator is made of.
#[rustfmt::skip]
pub(crate) const FUNCTIONS: [TraitFunction; 8] = [
    TraitFunction { name: "combine", takes: &["State", "State"], returns: "State", written: "fn combine(a: T, b: T) -> T" },
    TraitFunction { name: "lift", takes: &["Input"], returns: "State", written: "fn lift(x: Input) -> State" },
    TraitFunction { name: "append", takes: &["State", "Input"], returns: "State", written: "fn append(s: State, x: Input) -> State" },
    TraitFunction { name: "prepend", takes: &["Input", "State"], returns: "State", written: "fn prepend(x: Input, s: State) -> State" },
    TraitFunction { name: "apply", takes: &["State", "Carry"], returns: "Carry", written: "fn apply(s: State, c: Carry) -> Carry" },
    TraitFunction { name: "step", takes: &["Carry", "Input"], returns: "Carry", written: "fn step(c: Carry, x: Input) -> Carry" },
    TraitFunction { name: "emit", takes: &["Carry", "Input"], returns: "Output", written: "fn emit(c: Carry, x: Input) -> Output" },
    TraitFunction { name: "project", takes: &["Carry"], returns: "Output", written: "fn project(s: State) -> Output" },
];

/// The function of this name.
pub(crate) fn of_trait(name: &str) -> Option<&'static TraitFunction> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// Whether an operator can have a function of this name.
pub(crate) fn is_of_trait(name: &str) -> bool {
    name == advance::NAME || of_trait(name).is_some()
}

/// The unit struct that the function form leaves behind.
pub(crate) struct Declare {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) ident: Ident,
    /// The function, where it stays one beside the struct, which then has a name of its own.
    pub(crate) function: Option<ItemFn>,
}

/// A function of the operator, or one that they call.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) signature: Signature,
    pub(crate) block: Block,
}
