//! Bits as an input.

use scan_codegen::ArrayKind;

use super::{
    One,
    fields::Lengths,
    host::{HostInput, Lanes},
    shape::Flat,
};
use crate::{
    Array, BitWord, Error, Host, Memory,
    heads::{self, HeadKind, Heads},
    room::room,
    sealed::Sealed,
};
#[cfg(feature = "cuda")]
use {
    super::device::{Described, DeviceInput, Words},
    crate::Device,
    cudarc::driver::CudaStream,
};

/// An input of `bool` items, each of which is a bit, made by [`bits`].
pub struct Bits<'a, W: BitWord, M: Memory = Host> {
    words: M::Array<'a, W>,
    first: usize,
}

impl<W: BitWord, M: Memory> Clone for Bits<'_, W, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: BitWord, M: Memory> Copy for Bits<'_, W, M> {}

/// An input in which item `i` is the `bool` at bit `first + i` of a bitmap, whose words are `u8`, `u32`, `u64`, `i32`
/// or `i64`. The least significant bit of a word is its first. It is as long as the other arrays are, and the bitmap
/// may be longer.
///
/// An Apache Arrow array has such bitmaps: of the values of an array of booleans, and of the validity of any array, for
/// [`ops::skip_nulls`](crate::ops::skip_nulls). `first` is then the offset of the array in elements:
///
/// ```
/// use scan_runtime::{Scanner, arrays, ops, scan_fn};
///
/// #[scan_fn]
/// fn count(bit: bool) -> u32 {
///     bit as u32
/// }
///
/// // How many bits are set before each one.
/// let bitmap = [0b1011_0100_u8, 0b1];
/// let mut ranks = [0; 6];
/// let counts = Scanner::new()?.scan(ops::map::<count, _>(ops::sum()));
/// counts.exclusive().run_into(arrays::bits(&bitmap, 3), &mut ranks)?;
/// assert_eq!(ranks, [0, 0, 1, 2, 2, 3]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// In host memory the bits are copied before the scan, to a byte each. In device memory kernels read them where they
/// are, at any offset; along an [axis](crate::Scan::along) whose columns are not contiguous they read no bits.
///
/// A bitmap that has no bit for some element is [`Error::Length`].
pub fn bits<'a, W: BitWord, M: Memory>(words: &'a (impl Array<W, M> + ?Sized), first: usize) -> Bits<'a, W, M> {
    Bits { words: words.array(), first }
}

/// How many bits `words` words have from `first` on.
fn found<W: BitWord>(words: usize, first: usize) -> usize {
    words.saturating_mul(8 * size_of::<W>()).saturating_sub(first)
}

/// An error if there are fewer bits from the first one on than elements.
pub(crate) fn check_bits(found: usize, expected: usize) -> Result<(), Error> {
    let why = "there is a bit for each element, from the first bit that is given on";
    if found < expected { Err(Error::Length { what: "bitmap", found, expected, why }) } else { Ok(()) }
}

// SAFETY: the held array has that many items.
unsafe impl<W: BitWord> HostInput<bool> for Bits<'_, W> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *const bool;
    type Shape = Flat;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Bits];
    type Held = Vec<bool>;
    #[inline]
    fn items(&self, lengths: &mut Lengths) {
        lengths.add(None);
    }
    fn hold(self, _: usize, lanes: Lanes<'_>) -> Result<Vec<bool>, Error> {
        check_bits(found::<W>(self.words.len(), self.first), lanes.len)?;
        let bits = Heads::of(HeadKind::Bits(heads::Bits::at::<W>(self.first)), self.words);
        let mut items = room(lanes.len)?;
        for at in (0..lanes.len).step_by(64) {
            let word = bits.bits_from(at);
            items.extend((0..64.min(lanes.len - at)).map(|bit| word >> bit & 1 != 0));
        }
        Ok(items)
    }
    fn at(held: &Vec<bool>) -> *const bool {
        held.as_ptr()
    }
}

// SAFETY: the buffer has as many bits as this function says, and kernels read no others.
#[cfg(feature = "cuda")]
unsafe impl<W: BitWord> DeviceInput<bool> for Bits<'_, W, Device> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        let count = found::<W>(self.words.count(), self.first);
        each(Described { len: None, ..Described::of_slice(ArrayKind::Bits, count, self.words.stream()) });
    }
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>) {
        words.push_pointer(self.words.pointer(stream));
        words.push(self.first as u64);
    }
}
