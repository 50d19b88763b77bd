//! Inputs whose items are at places from another array.

use scan_codegen::ArrayKind;

use std::ptr;

use super::{
    One,
    fields::{HostArray, Lengths},
    host::{HostInput, Lanes, check_places},
    shape::Flat,
};
use crate::{Array, Error, Host, Memory, ScanElement, SegmentOffset, cpu::Reader, room::room, sealed::Sealed};
#[cfg(feature = "cuda")]
use {
    super::device::{Described, DeviceInput, Words},
    crate::Device,
    cudarc::driver::CudaStream,
};

/// An input in which item `i` is `values[places[i]]`, made by [`gather`].
pub struct Gather<'a, T: ScanElement, P: ScanElement, M: Memory = Host> {
    values: M::Array<'a, T>,
    places: M::Array<'a, P>,
}

impl<T: ScanElement, P: ScanElement, M: Memory> Clone for Gather<'_, T, P, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ScanElement, P: ScanElement, M: Memory> Copy for Gather<'_, T, P, M> {}

/// An input in which item `i` is `values[places[i]]`. It is as long as `places`, which are `u32`, `u64`,
/// `usize`, `i32` or `i64`.
///
/// A place that is not in `values`, such as a negative one, is [`Error::IndexOutOfBounds`]. In device memory, which the
/// host does not read, the item is the last of the values there (the last that an `i32` can reach, where there are more
/// than 2³¹ of them); without values there is none, which is [`Error::NothingToGather`].
pub fn gather<'a, T: ScanElement, P: SegmentOffset, M: Memory>(
    values: &'a (impl Array<T, M> + ?Sized),
    places: &'a (impl Array<P, M> + ?Sized),
) -> Gather<'a, T, P, M> {
    Gather { values: values.array(), places: places.array() }
}

/// Where loops of the CPU read: each item at its place, which is in `values`.
#[doc(hidden)]
#[derive(Debug)]
pub struct GatherAt<T, P> {
    values: *const T,
    places: *const P,
    /// The items in memory for a device; null if there are none.
    items: *const T,
}

impl<T, P> Clone for GatherAt<T, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, P> Copy for GatherAt<T, P> {}

#[allow(private_interfaces, reason = "as of the trait")]
impl<T: ScanElement, P: SegmentOffset> Reader<T> for GatherAt<T, P> {
    #[inline(always)]
    unsafe fn read(self, index: usize) -> T {
        // SAFETY: the caller vouches for the index; all places have been checked.
        unsafe { self.values.add((*self.places.add(index)).index()).read() }
    }
    #[inline(always)]
    unsafe fn skip(self, index: usize) -> Self {
        let items = if self.items.is_null() { self.items } else { self.items.wrapping_add(index) };
        GatherAt { places: self.places.wrapping_add(index), items, ..self }
    }
    #[inline(always)]
    fn pointer(self) -> Option<*const T> {
        (!self.items.is_null()).then_some(self.items)
    }
    fn arrays(self, each: &mut dyn FnMut(HostArray)) {
        each(HostArray { at: self.items.cast_mut().cast(), item: size_of::<T>() });
    }
}

/// What is gathered, and for a device the items.
#[doc(hidden)]
pub struct Gathering<'a, T: ScanElement, P: ScanElement> {
    from: Gather<'a, T, P>,
    items: Option<Vec<T>>,
}

// SAFETY: all places that are held have been checked.
unsafe impl<'a, T: ScanElement, P: SegmentOffset> HostInput<T> for Gather<'a, T, P> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = GatherAt<T, P>;
    type Shape = Flat;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Places(P::TYPE.width())];
    type Held = Gathering<'a, T, P>;
    #[inline]
    fn items(&self, lengths: &mut Lengths) {
        lengths.add(Some(self.places.len()));
    }
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<Gathering<'a, T, P>, Error> {
        check_places("input", array, self.places, self.values.len())?;
        let items = match lanes.device {
            true => {
                let mut items = room(lanes.len)?;
                items.extend(self.places.iter().map(|place| self.values[place.index()]));
                Some(items)
            }
            false => None,
        };
        Ok(Gathering { from: self, items })
    }
    fn at(Gathering { from, items }: &Gathering<'a, T, P>) -> GatherAt<T, P> {
        let items = items.as_ref().map_or(ptr::null(), |items| items.as_ptr());
        GatherAt { values: from.values.as_ptr(), places: from.places.as_ptr(), items }
    }
}

// SAFETY: both buffers have as many items as is told, and kernels read no others.
#[cfg(feature = "cuda")]
unsafe impl<T: ScanElement, P: SegmentOffset> DeviceInput<T> for Gather<'_, T, P, Device> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        let (kind, len, count) = (ArrayKind::Places(P::TYPE.width()), Some(self.places.count()), self.values.count());
        let streams = [Some(self.values.stream()), Some(self.places.stream())];
        each(Described { kind, len, count, streams, strides: &[] });
    }
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>) {
        words.push_pointer(self.values.pointer(stream));
        words.push(P::TYPE.reached(self.values.count()));
        words.push_pointer(self.places.pointer(stream));
    }
}
