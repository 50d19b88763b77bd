//! The parts that several kernels share. Each chooses its templates, which define the same functions whichever is
//! chosen, and gives the parameters and expressions by which kernels use them.

pub(crate) mod algebra;
pub(crate) mod arrays;
pub(crate) mod heads;
pub(crate) mod pipeline;
pub(crate) mod start;
