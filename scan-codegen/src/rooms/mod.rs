//! The rooms of a kernel that several kernels share. Each chooses its templates, and has the words that these and the
//! kernels speak of it: a kernel asks for no property of a room.

pub(crate) mod algebra;
pub(crate) mod arrays;
pub(crate) mod heads;
pub(crate) mod start;
