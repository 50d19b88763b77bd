//! The guide: the right item for a task, and the language of operators.
//!
//! | to read about | |
//! |---|---|
//! | the operator, option or array for a task | [`which`] |
//! | the language of operators; from a loop to a scan | [`operator_language`] |
//! | twenty operators from many fields | [`operators`] |
//! | recurrences that are trained: the backward pass | [`training`] |
//! | the names of CUB and Thrust | [`cub_and_thrust`] |
//! | combinations that are errors, and limits | [`combinations`] |

#[doc = include_str!("which.md")]
pub mod which {}

#[doc = include_str!("operator_language.md")]
pub mod operator_language {}

#[doc = include_str!("operators.md")]
pub mod operators {}

#[doc = include_str!("training.md")]
pub mod training {}

#[doc = include_str!("cub_and_thrust.md")]
pub mod cub_and_thrust {}

#[doc = include_str!("combinations.md")]
pub mod combinations {}
