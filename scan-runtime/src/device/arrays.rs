//! Arrays in device memory without the types of their items: their checks, and the words that kernels are given.

use std::{marker::PhantomData, sync::Arc};

use arrayvec::ArrayVec;
use cudarc::driver::{CudaStream, SyncOnDrop, sys};
use scan_codegen::{ArrayKind, ArrayKinds, Arrays, ColumnLayout, MAX_ELEMENT_BYTES};

use crate::{
    DeviceBuffer, DeviceBufferMut, Error,
    arrays::{DeviceInput, DeviceOutput, Layout, bits::check_bits, fields::Lengths},
    cuda::CudaDevice,
};

/// An array in device memory.
pub trait DeviceArray {
    /// How many items there are.
    fn count(&self) -> usize;
    fn stream(&self) -> &Arc<CudaStream>;
    /// Where they are, and the guard that records the event by which cudarc orders work on several streams: it is
    /// dropped once the launches are made.
    fn pointer<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>);
}

/// The same of an array that can be written.
pub trait DeviceArrayMut {
    fn count(&self) -> usize;
    /// Bytes of an item.
    fn item(&self) -> usize;
    fn stream(&self) -> &Arc<CudaStream>;
    fn pointer<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>);
}

/// A buffer of items of type `T`.
#[repr(transparent)]
struct Items<T, B>(B, PhantomData<fn() -> T>);

impl<T, B: DeviceBuffer<T>> DeviceArray for Items<T, B> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.0.stream()
    }

    fn pointer<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        self.0.device_ptr(stream)
    }
}

impl<T, B: DeviceBufferMut<T>> DeviceArrayMut for Items<T, B> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn item(&self) -> usize {
        size_of::<T>()
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.0.stream()
    }

    fn pointer<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        self.0.device_ptr_mut(stream)
    }
}

/// A buffer without the type of its items.
pub(crate) fn array<T: 'static, B: DeviceBuffer<T>>(buffer: &B) -> &dyn DeviceArray {
    // SAFETY: `Items` is transparent over `B`.
    unsafe { &*std::ptr::from_ref(buffer).cast::<Items<T, B>>() }
}

/// The same of a buffer that can be written.
pub(crate) fn array_mut<T: 'static, B: DeviceBufferMut<T>>(buffer: &mut B) -> &mut dyn DeviceArrayMut {
    // SAFETY: `Items` is transparent over `B`.
    unsafe { &mut *std::ptr::from_mut(buffer).cast::<Items<T, B>>() }
}

/// An input without the type of its elements.
pub(crate) trait ErasedInput {
    fn arrays(&self) -> Arrays;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>));
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>);
}

/// An output without the type of its results.
pub(crate) trait ErasedOutput {
    fn arrays(&self) -> Arrays;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>));
    fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>);
}

/// The arrays of elements of type `T`.
pub(crate) struct Of<T, A>(A, PhantomData<fn() -> T>);

impl<T, A> Of<T, A> {
    pub(crate) fn new(arrays: A) -> Self {
        Of(arrays, PhantomData)
    }
}

impl<T, A: DeviceInput<T>> ErasedInput for Of<T, A> {
    fn arrays(&self) -> Arrays {
        A::Layout::ARRAYS
    }

    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        self.0.describe(each);
    }

    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>) {
        self.0.words(stream, words);
    }
}

impl<T, A: DeviceOutput<T>> ErasedOutput for Of<T, A> {
    fn arrays(&self) -> Arrays {
        A::Layout::ARRAYS
    }

    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        self.0.describe(each);
    }

    fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>) {
        self.0.words(stream, words);
    }
}

/// An array that is scanned in place.
pub(super) struct InPlace<'m>(pub(super) &'m mut dyn DeviceArrayMut);

impl ErasedOutput for InPlace<'_> {
    fn arrays(&self) -> Arrays {
        Arrays::One
    }

    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        each(Described::of_slice(ArrayKind::Slice, self.0.count(), self.0.stream()));
    }

    fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>) {
        let item = self.0.item();
        words.push_items(self.0.pointer(stream), item);
    }
}

/// What is known of an array in device memory before a run.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Described<'s> {
    pub(crate) kind: ArrayKind,
    /// How many items the scan reads or writes, if the array tells.
    pub(crate) len: Option<usize>,
    /// How many items places can be among.
    pub(crate) count: usize,
    pub(crate) streams: [Option<&'s Arc<CudaStream>>; 2],
    /// The strides of its own, if it has some.
    pub(crate) strides: &'s [isize],
}

impl<'s> Described<'s> {
    /// An array that lies in one buffer of `len` items.
    pub(crate) fn of_slice(kind: ArrayKind, len: usize, stream: &'s Arc<CudaStream>) -> Self {
        Described { kind, len: Some(len), count: len, streams: [Some(stream), None], strides: &[] }
    }
}

pub(crate) const NO_MEMORY: Described<'static> =
    Described { kind: ArrayKind::NoMemory, len: None, count: usize::MAX, streams: [None; 2], strides: &[] };

/// What kernels are given for the arrays of an input or of an output, and the guards of cudarc, which record the events
/// by which it orders work on several streams.
#[doc(hidden)]
pub struct Words<'s> {
    words: ArrayVec<u64, WORDS>,
    /// Items of a row, where there are rows.
    row: Option<usize>,
    /// Which item has index 0 in each dimension, along an axis.
    first: usize,
    /// How arrays with strides of their own lie, and how many of them there are so far.
    layout: Option<&'s ColumnLayout>,
    strided: usize,
    guards: ArrayVec<SyncOnDrop<'s>, { 2 * MAX_ARRAYS }>,
}

/// The most arrays of an input or output.
const MAX_ARRAYS: usize = crate::few::MAX_ARRAYS;

/// The most words: those of arrays with strides of their own, and of edge values, which make up an element at most,
/// each in whole words. The planner refuses larger elements.
const WORDS: usize = 10 * MAX_ARRAYS + MAX_ELEMENT_BYTES / size_of::<u64>();

impl<'s> Words<'s> {
    /// Of rows, or of columns along an axis, of `row` items; with the layout of the arrays that have strides of their
    /// own.
    pub(crate) fn new(row: Option<usize>, layout: Option<&'s ColumnLayout>) -> Self {
        Words { words: ArrayVec::new(), row, first: 0, layout, strided: 0, guards: ArrayVec::new() }
    }

    /// The same where this item has index 0 in each dimension.
    pub(crate) fn with_first(self, first: usize) -> Self {
        Words { first, ..self }
    }

    /// The items of a row; without rows all `items`.
    pub(crate) fn push_row(&mut self, items: usize) {
        self.push(self.row.unwrap_or(items) as u64);
    }

    /// The next array of items of `bytes` bytes that lies as the axis says: the address of its first element, from which
    /// kernels count.
    pub(crate) fn push_items(&mut self, (items, guard): (sys::CUdeviceptr, SyncOnDrop<'s>), bytes: usize) {
        self.push_pointer((items + (self.first * bytes) as u64, guard));
    }

    /// The next array that has strides of its own, with items of `bytes` bytes: the address of its first element, and
    /// the strides.
    pub(crate) fn push_strided(&mut self, (items, guard): (sys::CUdeviceptr, SyncOnDrop<'s>), bytes: usize) {
        let number = self.strided;
        self.strided += 1;
        let first = self.layout.map_or(0, |layout| layout.strided_first(number));
        self.push_pointer((items + first * bytes as u64, guard));
        if let Some(layout) = self.layout {
            layout.strided_words(number).for_each(|word| self.push(word));
        }
    }

    /// The planner refuses what has more words than there is room for.
    pub(crate) fn push(&mut self, word: u64) {
        _ = self.words.try_push(word);
    }

    pub(crate) fn push_pointer(&mut self, (pointer, guard): (sys::CUdeviceptr, SyncOnDrop<'s>)) {
        self.push(pointer);
        _ = self.guards.try_push(guard);
    }

    /// A word at least: kernels are given one byte where there is no array.
    pub(crate) fn words(&self) -> &[u64] {
        if self.words.is_empty() { &[0] } else { &self.words }
    }
}

/// What is found of the arrays of an input or of an output.
pub(crate) struct Found<'s> {
    what: &'static str,
    lengths: Lengths,
    kinds: ArrayVec<ArrayKind, MAX_ARRAYS>,
    /// Those with strides of their own: which ones, their items, and the strides.
    pub(crate) strided: ArrayVec<(usize, usize, &'s [isize]), MAX_ARRAYS>,
    /// The first array that has places among no items.
    pub(crate) empty: Option<usize>,
    /// The fewest bits that an array of bits has.
    min_bits: Option<usize>,
    foreign: Option<Error>,
}

impl<'s> Found<'s> {
    pub(crate) fn of(what: &'static str) -> Self {
        let (kinds, strided) = (ArrayVec::new(), ArrayVec::new());
        Found { what, lengths: Lengths::of(what), kinds, strided, empty: None, min_bits: None, foreign: None }
    }

    pub(crate) fn add(&mut self, device: &CudaDevice, array: Described<'s>) {
        if array.kind == ArrayKind::Strided {
            _ = self.strided.try_push((self.kinds.len(), array.count, array.strides));
        }
        if array.count == 0 && matches!(array.kind, ArrayKind::Places(_)) {
            self.empty.get_or_insert(self.kinds.len());
        }
        if array.kind == ArrayKind::Bits {
            self.min_bits = Some(self.min_bits.map_or(array.count, |fewest| fewest.min(array.count)));
        }
        self.add_kind(array.kind);
        self.lengths.add(array.len);
        for stream in array.streams.into_iter().flatten() {
            let checked = device.check_context(self.what, stream);
            self.foreign = self.foreign.take().or(checked.err());
        }
    }

    /// The kind of the next array, where nothing else counts.
    pub(crate) fn add_kind(&mut self, kind: ArrayKind) {
        _ = self.kinds.try_push(kind);
    }

    pub(crate) fn kinds(&self) -> ArrayKinds {
        ArrayKinds::new(self.kinds.iter().copied())
    }

    /// Whether each array of bits has a bit for each of `len` elements.
    pub(crate) fn check_bits(&self, len: usize) -> Result<(), Error> {
        self.min_bits.map_or(Ok(()), |found| check_bits(found, len))
    }

    /// The length of all arrays that have one.
    pub(crate) fn len(&mut self) -> Result<Option<usize>, Error> {
        self.foreign.take().map_or(Ok(()), Err)?;
        self.lengths.len()
    }
}
