//! Results that are not written.

use scan_codegen::ArrayKind;

use super::{
    One,
    fields::Lengths,
    host::{HostOutput, Lanes},
};
use crate::{Error, ScanElement, arrays::fields::HostArray, cpu::Writer, sealed::Sealed};
#[cfg(feature = "cuda")]
use {
    super::device::{Described, DeviceOutput, NO_MEMORY, Words},
    cudarc::driver::CudaStream,
};

/// An output that is not written. It is as long as the other arrays are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

/// An output that is not written.
pub fn discard() -> Discard {
    Discard
}

/// Nowhere.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

#[allow(private_interfaces, reason = "as of the trait")]
impl<T> Writer<T> for Nowhere {
    #[inline(always)]
    unsafe fn write(self, _: usize, _: T) {}
    #[inline(always)]
    unsafe fn skip(self, _: usize) -> Self {
        self
    }
    #[inline(always)]
    fn pointer(self) -> Option<*mut T> {
        None
    }
    fn arrays(self, each: &mut dyn FnMut(HostArray)) {
        each(HostArray::default());
    }
}

// SAFETY: nothing is written.
unsafe impl<T: ScanElement> HostOutput<T> for Discard {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = Nowhere;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::NoMemory];
    type Held = ();
    #[inline]
    fn items(&mut self, lengths: &mut Lengths) {
        lengths.add(None);
    }
    fn hold(self, _: usize, _: Lanes<'_>) -> Result<(), Error> {
        Ok(())
    }
    fn at((): &mut (), _: usize) -> Nowhere {
        Nowhere
    }
    unsafe fn finish((): ()) -> Result<(), Error> {
        Ok(())
    }
}

// SAFETY: kernels write no memory.
#[cfg(feature = "cuda")]
unsafe impl<T: ScanElement> DeviceOutput<T> for Discard {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        each(NO_MEMORY);
    }
    fn words<'s>(&'s mut self, _: &'s CudaStream, _: &mut Words<'s>) {}
}
