//! The guide: what to use for what, and the language of operators.
//!
//! | to read about | |
//! |---|---|
//! | what to use for what | [`which`] |
//! | the language of operators; from a loop to a scan | [`operator_language`] |
//! | twenty operators from many fields | [`operators`] |
//! | what CUB and Thrust call it | [`cub_and_thrust`] |
//! | what does not go together, and what is missing | [`combinations`] |

#[doc = include_str!("which.md")]
pub mod which {}

#[doc = include_str!("operator_language.md")]
pub mod operator_language {}

#[doc = include_str!("operators.md")]
pub mod operators {}

#[doc = include_str!("cub_and_thrust.md")]
pub mod cub_and_thrust {}

#[doc = include_str!("combinations.md")]
pub mod combinations {}
