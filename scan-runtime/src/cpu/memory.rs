//! Where inputs are read and outputs written: in one array each, or in one for each field.

use super::Places;
use crate::{
    ScanOp,
    columns::{At, Columns, Fields},
};

/// Elements in memory, by their index.
pub(crate) trait Memory<Op: ScanOp>: Copy {
    /// # Safety
    ///
    /// The index is in bounds, and no other thread writes there.
    unsafe fn read(self, index: usize) -> Op::Input;

    /// # Safety
    ///
    /// The index is in bounds, and no other thread touches it.
    unsafe fn write(self, index: usize, output: Op::Output);

    /// Neighbouring elements of a row along which they are `stride` elements apart.
    ///
    /// # Safety
    ///
    /// As for [`read`](Memory::read), of all of them.
    #[inline(always)]
    unsafe fn read_row<const N: usize>(self, index: usize, stride: usize) -> [Op::Input; N] {
        // SAFETY: the caller vouches for the indices.
        std::array::from_fn(|k| unsafe { self.read(index + k * stride) })
    }

    /// Writes neighbouring elements of a row along which they are `stride` elements apart.
    ///
    /// # Safety
    ///
    /// As for [`write`](Memory::write), of all of them.
    #[inline(always)]
    unsafe fn write_row<const N: usize>(self, index: usize, stride: usize, outputs: [Op::Output; N]) {
        for (k, output) in outputs.into_iter().enumerate() {
            // SAFETY: the caller vouches for the indices.
            unsafe { self.write(index + k * stride, output) };
        }
    }

    /// The same memory from an element on.
    ///
    /// # Safety
    ///
    /// The index is in bounds.
    unsafe fn skip(self, index: usize) -> Self;

    /// The first `len` elements, where the loops over vector registers can be had: in one array each.
    fn places(self, len: usize) -> Option<Places<Op>>;
}

/// An array of inputs, and one of outputs.
pub(crate) struct Elements<Op: ScanOp> {
    pub(crate) input: *const Op::Input,
    pub(crate) output: *mut Op::Output,
}

impl<Op: ScanOp> Clone for Elements<Op> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Op: ScanOp> Copy for Elements<Op> {}

impl<Op: ScanOp> Memory<Op> for Elements<Op> {
    #[inline(always)]
    unsafe fn read(self, index: usize) -> Op::Input {
        // SAFETY: the caller vouches for the index.
        unsafe { self.input.add(index).read() }
    }

    #[inline(always)]
    unsafe fn write(self, index: usize, output: Op::Output) {
        // SAFETY: the caller vouches for the index.
        unsafe { self.output.add(index).write(output) }
    }

    #[inline(always)]
    unsafe fn read_row<const N: usize>(self, index: usize, stride: usize) -> [Op::Input; N] {
        match stride {
            // SAFETY: the caller vouches for the indices.
            1 => unsafe { self.input.add(index).cast::<[Op::Input; N]>().read() },
            // SAFETY: as above.
            stride => std::array::from_fn(|k| unsafe { self.read(index + k * stride) }),
        }
    }

    #[inline(always)]
    unsafe fn write_row<const N: usize>(self, index: usize, stride: usize, outputs: [Op::Output; N]) {
        match stride {
            // SAFETY: the caller vouches for the indices.
            1 => unsafe { self.output.add(index).cast::<[Op::Output; N]>().write(outputs) },
            stride => {
                for (k, output) in outputs.into_iter().enumerate() {
                    // SAFETY: as above.
                    unsafe { self.write(index + k * stride, output) };
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn skip(self, index: usize) -> Self {
        // SAFETY: the caller vouches for the index.
        unsafe { Elements { input: self.input.add(index), output: self.output.add(index) } }
    }

    fn places(self, len: usize) -> Option<Places<Op>> {
        Some(Places { input: self.input, output: self.output, len })
    }
}

/// An array of inputs. Outputs have no memory.
pub(crate) struct Inputs<Op: ScanOp>(pub(crate) *const Op::Input);

impl<Op: ScanOp> Clone for Inputs<Op> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Op: ScanOp> Copy for Inputs<Op> {}

impl<Op: ScanOp> Memory<Op> for Inputs<Op> {
    #[inline(always)]
    unsafe fn read(self, index: usize) -> Op::Input {
        // SAFETY: the caller vouches for the index.
        unsafe { self.0.add(index).read() }
    }

    #[inline(always)]
    unsafe fn write(self, _: usize, _: Op::Output) {}

    #[inline(always)]
    unsafe fn skip(self, index: usize) -> Self {
        // SAFETY: the caller vouches for the index.
        Inputs(unsafe { self.0.add(index) })
    }

    fn places(self, _: usize) -> Option<Places<Op>> {
        None
    }
}

/// An array for each field of an input, and of an output.
pub(crate) struct InColumns<Op: ScanOp<Input: Columns, Output: Columns>> {
    pub(crate) input: At<Op::Input>,
    pub(crate) output: At<Op::Output>,
}

impl<Op: ScanOp<Input: Columns, Output: Columns>> Clone for InColumns<Op> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Op: ScanOp<Input: Columns, Output: Columns>> Copy for InColumns<Op> {}

impl<Op: ScanOp<Input: Columns, Output: Columns>> Memory<Op> for InColumns<Op> {
    #[inline(always)]
    unsafe fn read(self, index: usize) -> Op::Input {
        // SAFETY: the caller vouches for the index.
        Op::Input::from_fields(unsafe { Fields::read(self.input, index) })
    }

    #[inline(always)]
    unsafe fn write(self, index: usize, output: Op::Output) {
        // SAFETY: the caller vouches for the index.
        unsafe { output.into_fields().write(self.output, index) }
    }

    unsafe fn skip(self, index: usize) -> Self {
        // SAFETY: the caller vouches for the index.
        unsafe {
            InColumns {
                input: <Op::Input as Columns>::Fields::skip(self.input, index),
                output: <Op::Output as Columns>::Fields::skip(self.output, index),
            }
        }
    }

    fn places(self, _: usize) -> Option<Places<Op>> {
        None
    }
}
