//! Indices as an input.

use std::ptr;

use scan_codegen::ArrayKind;

use super::{
    One,
    fields::Lengths,
    host::{HostInput, Lanes},
    shape::Flat,
};
use crate::{Error, ScanElement, arrays::fields::HostArray, cpu::Reader, room::room, sealed::Sealed};
#[cfg(feature = "cuda")]
use {
    super::device::{Described, DeviceInput, NO_MEMORY, Words},
    cudarc::driver::CudaStream,
};

/// An input in which each item is its own index; no memory is read. It is as long as the other arrays are.
///
/// Items are `u32`, `u64`, `usize`, `i32` or `i64`. Indices that 32 bits cannot hold wrap around.
#[derive(Clone, Copy, Debug, Default)]
pub struct Indices;

/// An input in which each item is its own index.
pub fn indices() -> Indices {
    Indices
}

/// The type of an index: `u32`, `u64`, `usize`, `i32` or `i64`. A kernel copies the lower bytes of a 64-bit index to
/// it, of which each value of these types consists. It is sealed: nothing outside this crate implements it.
pub trait Index: ScanElement {
    #[doc(hidden)]
    const SEALED: Sealed;
    #[doc(hidden)]
    fn of(index: usize) -> Self;
}

macro_rules! indices {
    ($($ty:ty)*) => {$(
        impl Index for $ty {
            const SEALED: Sealed = Sealed;
            #[inline(always)]
            fn of(index: usize) -> $ty {
                index as $ty
            }
        }
    )*};
}

indices! { u32 u64 usize i32 i64 }

/// Where indices are read: in memory, or nowhere, because each is computed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct IndicesAt<T> {
    /// Null if there is no memory.
    items: *const T,
    /// The first index.
    first: usize,
}

#[allow(private_interfaces, reason = "as of the trait")]
impl<T: Index> Reader<T> for IndicesAt<T> {
    #[inline(always)]
    unsafe fn read(self, index: usize) -> T {
        T::of(self.first + index)
    }
    #[inline(always)]
    unsafe fn skip(self, index: usize) -> Self {
        IndicesAt { items: self.items, first: self.first + index }
    }
    #[inline(always)]
    fn pointer(self) -> Option<*const T> {
        None
    }
    fn arrays(self, each: &mut dyn FnMut(HostArray)) {
        each(match self.items.is_null() {
            true => HostArray { at: ptr::without_provenance_mut(self.first), item: 0 },
            false => HostArray { at: self.items.wrapping_add(self.first).cast_mut().cast(), item: size_of::<T>() },
        });
    }
}

// SAFETY: what is held, if anything is, has so many items.
unsafe impl<T: Index> HostInput<T> for Indices {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = IndicesAt<T>;
    type Shape = Flat;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::NoMemory];
    type Held = Option<Vec<T>>;
    #[inline]
    fn items(&self, lengths: &mut Lengths) {
        lengths.add(None);
    }
    fn hold(self, _: usize, lanes: Lanes<'_>) -> Result<Option<Vec<T>>, Error> {
        if !lanes.memory {
            return Ok(None);
        }
        let mut indices = room(lanes.len)?;
        indices.extend((0..lanes.len).map(T::of));
        Ok(Some(indices))
    }
    fn at(held: &Option<Vec<T>>) -> IndicesAt<T> {
        IndicesAt { items: held.as_ref().map_or(ptr::null(), |indices| indices.as_ptr()), first: 0 }
    }
}

// SAFETY: kernels read no memory.
#[cfg(feature = "cuda")]
unsafe impl<T: Index> DeviceInput<T> for Indices {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        each(NO_MEMORY);
    }
    fn words<'s>(&'s self, _: &'s CudaStream, words: &mut Words<'s>) {
        words.push(0); // the first index
    }
}
