//! Outputs whose items go to places from another array.

use scan_codegen::ArrayKind;

use super::{
    One,
    fields::Lengths,
    host::{HostOutput, Lanes, check_places},
};
use crate::{Array, ArrayMut, Error, Host, Memory, ScanElement, SegmentOffset, room::room, sealed::Sealed};
#[cfg(feature = "cuda")]
use {
    super::device::{Described, DeviceOutput, Words},
    crate::Device,
    cudarc::driver::CudaStream,
};

/// An output whose item `i` becomes `results[places[i]]`, made by [`scatter`].
pub struct Scatter<'a, T: ScanElement, P: ScanElement, M: Memory = Host> {
    results: M::ArrayMut<'a, T>,
    places: M::Array<'a, P>,
}

/// An output whose item `i` becomes `results[places[i]]`; other results stay what they are. It is as long as `places`,
/// which are `u32`, `u64`, `usize`, `i32` or `i64`.
///
/// A place that is not in `results`, such as a negative one, is [`Error::IndexOutOfBounds`]. Of several items with one
/// place the last one stays. In device memory, which the host does not read, an item whose place is not in `results` is
/// not written, and of several items with one place any one stays, or, of items of more than one word, words of
/// several.
pub fn scatter<'a, T: ScanElement, P: SegmentOffset, M: Memory>(
    results: &'a mut (impl ArrayMut<T, M> + ?Sized),
    places: &'a (impl Array<P, M> + ?Sized),
) -> Scatter<'a, T, P, M> {
    Scatter { results: results.array_mut(), places: places.array() }
}

/// Results that are not at their places yet.
#[doc(hidden)]
pub struct Scattering<'a, T: ScanElement, P: ScanElement> {
    items: Vec<T>,
    to: Scatter<'a, T, P>,
}

// SAFETY: what is held has room for so many items.
unsafe impl<'a, T: ScanElement, P: SegmentOffset> HostOutput<T> for Scatter<'a, T, P> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *mut T;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Places(P::TYPE.width())];
    type Held = Scattering<'a, T, P>;
    #[inline]
    fn items(&mut self, lengths: &mut Lengths) {
        lengths.add(Some(self.places.len()));
    }
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<Scattering<'a, T, P>, Error> {
        check_places("output", array, self.places, self.results.len())?;
        Ok(Scattering { items: room(lanes.part)?, to: self })
    }
    const STAGED: bool = true;
    fn at(held: &mut Scattering<'a, T, P>, _: usize) -> *mut T {
        held.items.as_mut_ptr()
    }
    unsafe fn flush(
        Scattering { items, to: Scatter { results, places } }: &mut Scattering<'a, T, P>,
        start: usize,
        len: usize,
    ) -> Result<(), Error> {
        // SAFETY: there is room for `len` items, and the caller vouches that they have been written.
        unsafe { items.set_len(len) };
        for (place, item) in places[start..].iter().zip(items.drain(..)) {
            results[place.index()] = item;
        }
        Ok(())
    }
    unsafe fn finish(_: Scattering<'a, T, P>) -> Result<(), Error> {
        Ok(())
    }
}

// SAFETY: both buffers have as many items as is told, and kernels touch no others.
#[cfg(feature = "cuda")]
unsafe impl<T: ScanElement, P: SegmentOffset> DeviceOutput<T> for Scatter<'_, T, P, Device> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        let (kind, len, count) = (ArrayKind::Places(P::TYPE.width()), Some(self.places.count()), self.results.count());
        let streams = [Some(self.results.stream()), Some(self.places.stream())];
        each(Described { kind, len, count, streams, strides: &[] });
    }
    fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>) {
        let count = P::TYPE.reached(self.results.count());
        words.push_pointer(self.results.pointer(stream));
        words.push(count);
        words.push_pointer(self.places.pointer(stream));
    }
}
