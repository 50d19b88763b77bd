//! No array: what the arrays of the other memory are.

use scan_codegen::ArrayKind;

use super::{
    One,
    fields::Lengths,
    host::{HostInput, HostOutput, Lanes},
    shape::Flat,
};
use crate::{Error, sealed::Sealed};
#[cfg(feature = "cuda")]
use {
    super::device::{Described, DeviceInput, DeviceOutput, Words},
    cudarc::driver::CudaStream,
};

/// No array: there is no value of it.
#[derive(Clone, Copy, Debug)]
pub enum Never {}

// SAFETY: there is none.
unsafe impl<T> HostInput<T> for Never {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *const T;
    type Shape = Flat;
    const KINDS: &'static [ArrayKind] = &[];
    type Held = Never;
    fn items(&self, _: &mut Lengths) {
        match *self {}
    }
    fn hold(self, _: usize, _: Lanes<'_>) -> Result<Never, Error> {
        match self {}
    }
    fn at(held: &Never) -> *const T {
        match *held {}
    }
}

// SAFETY: as above.
unsafe impl<T> HostOutput<T> for Never {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *mut T;
    const KINDS: &'static [ArrayKind] = &[];
    type Held = Never;
    fn items(&mut self, _: &mut Lengths) {
        match *self {}
    }
    fn hold(self, _: usize, _: Lanes<'_>) -> Result<Never, Error> {
        match self {}
    }
    fn at(held: &mut Never, _: usize) -> *mut T {
        match *held {}
    }
    unsafe fn finish(held: Never) -> Result<(), Error> {
        match held {}
    }
}

// SAFETY: as above.
#[cfg(feature = "cuda")]
unsafe impl<T> DeviceInput<T> for Never {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, _: &mut dyn FnMut(Described<'s>)) {
        match *self {}
    }
    fn words<'s>(&'s self, _: &'s CudaStream, _: &mut Words<'s>) {
        match *self {}
    }
}

// SAFETY: as above.
#[cfg(feature = "cuda")]
unsafe impl<T> DeviceOutput<T> for Never {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, _: &mut dyn FnMut(Described<'s>)) {
        match *self {}
    }
    fn words<'s>(&'s mut self, _: &'s CudaStream, _: &mut Words<'s>) {
        match *self {}
    }
}
