//! Operators and values without their types, for planning, compiling and launching: that code is compiled once, not for
//! each operator.

use std::any::{TypeId, type_name};

use scan_codegen::OpSource;

use crate::{Error, Parameters, ScanElement, ScanOp, cpu, element::bytes_of, op::checked_source};

/// An operator without its type.
pub(crate) trait Erased: Send + Sync {
    fn id(&self) -> TypeId;
    /// The name of its type.
    fn type_name(&self) -> &'static str;
    fn source(&self) -> OpSource;
    /// The source, compared with the types.
    fn checked_source(&self) -> Result<OpSource, Error>;
    fn parameters(&self) -> Parameters;
    /// See [`ScanOp::rounds`].
    fn rounds(&self) -> bool;
    /// The bytes of the identity.
    fn identity(&self) -> Option<Vec<u8>>;
    /// The bytes of the carry before the first element, where there is no initial value.
    fn start(&self) -> Option<Vec<u8>>;
    fn carry_bytes(&self) -> usize;
    fn output_bytes(&self) -> usize;
    /// Bytes of the largest one of an input, a state, a carry and an output.
    fn largest_bytes(&self) -> usize;
    /// Bytes of the larger one of an input and an output.
    fn element_bytes(&self) -> usize;
    /// The bytes of the output that `project` makes of a carry.
    ///
    /// # Safety
    ///
    /// They are the bytes of a carry.
    unsafe fn project(&self, carry: &[u8]) -> Result<Vec<u8>, Error>;
}

impl<Op: ScanOp> Erased for Op {
    fn id(&self) -> TypeId {
        TypeId::of::<Op>()
    }

    fn type_name(&self) -> &'static str {
        type_name::<Op>()
    }

    fn source(&self) -> OpSource {
        ScanOp::source(self)
    }

    fn checked_source(&self) -> Result<OpSource, Error> {
        checked_source(self)
    }

    fn parameters(&self) -> Parameters {
        ScanOp::parameters(self)
    }

    fn rounds(&self) -> bool {
        ScanOp::rounds(self)
    }

    fn identity(&self) -> Option<Vec<u8>> {
        ScanOp::identity(self).as_ref().map(bytes_of)
    }

    fn start(&self) -> Option<Vec<u8>> {
        ScanOp::start(self).as_ref().map(bytes_of)
    }

    fn carry_bytes(&self) -> usize {
        size_of::<Op::Carry>()
    }

    fn output_bytes(&self) -> usize {
        size_of::<Op::Output>()
    }

    fn element_bytes(&self) -> usize {
        size_of::<Op::Input>().max(size_of::<Op::Output>())
    }

    fn largest_bytes(&self) -> usize {
        self.element_bytes().max(size_of::<Op::State>()).max(size_of::<Op::Carry>())
    }

    unsafe fn project(&self, carry: &[u8]) -> Result<Vec<u8>, Error> {
        // SAFETY: the caller vouches for the bytes.
        let carry = unsafe { carry.as_ptr().cast::<Op::Carry>().read_unaligned() };
        cpu::project(self, carry).map(|output| bytes_of(&output))
    }
}

/// A value without its type.
pub(crate) trait Value: Sync {
    fn bytes(&self) -> Vec<u8>;
}

impl<T: ScanElement> Value for T {
    fn bytes(&self) -> Vec<u8> {
        bytes_of(self)
    }
}
