//! Inputs whose items are at places from another array.

use scan_codegen::ArrayKind;

use super::{
    One,
    fields::Lengths,
    host::{HostInput, Lanes, check_places},
    shape::Flat,
};
use crate::{Array, Error, Host, Memory, ScanElement, SegmentOffset, room::room, sealed::Sealed};
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

// SAFETY: what is held has so many items.
unsafe impl<T: ScanElement, P: SegmentOffset> HostInput<T> for Gather<'_, T, P> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *const T;
    type Shape = Flat;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Places(P::TYPE.width())];
    type Held = Vec<T>;
    #[inline]
    fn items(&self, lengths: &mut Lengths) {
        lengths.add(Some(self.places.len()));
    }
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<Vec<T>, Error> {
        check_places("input", array, self.places, self.values.len())?;
        let mut items = room(lanes.len)?;
        items.extend(self.places.iter().map(|place| self.values[place.index()]));
        Ok(items)
    }
    fn at(held: &Vec<T>) -> *const T {
        held.as_ptr()
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
