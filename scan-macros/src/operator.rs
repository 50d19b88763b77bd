//! An operator as the passes see it.

use crate::attribute::Laws;
use syn::{Attribute, Block, Expr, Generics, Ident, Member, Path, Signature, Type, Visibility};

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
    /// The type that the user gave the identity, and its value.
    pub(crate) identity: Option<(Type, Expr)>,
    pub(crate) functions: Vec<Function>,
    /// The operator's own fields that a function reads.
    pub(crate) fields: Vec<Member>,
    /// Whether a function names `Self::IDENTITY`.
    pub(crate) names_identity: bool,
    /// The test of its laws, if one is requested.
    pub(crate) laws: Option<Laws>,
    /// How the CPU applies it to several values at once, for the built-in operators.
    pub(crate) vectorized: Option<Expr>,
}

/// The unit struct that the function form leaves behind.
pub(crate) struct Declare {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) ident: Ident,
}

/// `combine`, `lift` or `project`, or a function that they call.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) signature: Signature,
    pub(crate) block: Block,
}
