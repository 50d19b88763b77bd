//! Tokens that seal traits: an implementation has a constant of the token's type, which nobody else can write.

/// Seals a trait to this crate, outside of which the type has no name.
#[derive(Clone, Copy, Debug)]
pub struct Sealed;

/// Seals a trait to this crate and to the output of its macros, which finds the type in `__private`.
#[derive(Clone, Copy, Debug)]
pub struct ByMacro;
