//! Results that are not written.

use std::ptr;

use scan_codegen::ArrayKind;

use super::{
    One,
    fields::Lengths,
    host::{HostOutput, Lanes},
};
use crate::{Error, ScanElement, room::room, sealed::Sealed};
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

// SAFETY: what is held, if anything is, has room for so many items.
unsafe impl<T: ScanElement> HostOutput<T> for Discard {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *mut T;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::NoMemory];
    type Held = Option<Vec<T>>;
    #[inline]
    fn items(&mut self, lengths: &mut Lengths) {
        lengths.add(None);
    }
    fn hold(self, _: usize, lanes: Lanes<'_>) -> Result<Option<Vec<T>>, Error> {
        lanes.memory.then(|| room(lanes.len)).transpose()
    }
    fn at(held: &mut Option<Vec<T>>) -> *mut T {
        held.as_mut().map_or(ptr::null_mut(), Vec::as_mut_ptr)
    }
    unsafe fn finish(_: Option<Vec<T>>) -> Result<(), Error> {
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
