//! A scan along a dimension of tensors, whatever memory they are in.

use candle_core::{Error, Layout, Result, Storage};
use scan_runtime::{Axis, Scan, ScanOp};

use crate::{Arrays, Float};

/// A tensor that is read: its storage, and which part of it.
pub(crate) struct View<'a, S> {
    pub(crate) storage: &'a S,
    pub(crate) layout: Layout,
}

/// What one scan reads and writes.
pub(crate) struct Call<'a, B: Backend, T: Float, C: Float> {
    /// The dimension that is scanned.
    pub(crate) dim: usize,
    /// The inputs, all of one shape that has elements.
    pub(crate) inputs: Vec<View<'a, B::Storage>>,
    /// The value before the first element of each column, contiguous.
    pub(crate) initial: Option<B::Values<'a, C>>,
    /// Where the carry after the last element of each column is written.
    pub(crate) totals: Option<&'a mut B::Buffer<C>>,
    /// Where results are written,
    pub(crate) outputs: &'a mut [B::Buffer<T>],
    /// and where in each of these.
    pub(crate) output: Layout,
}

/// A kind of memory.
pub(crate) trait Backend: Sized + 'static {
    /// candle's storage in this memory.
    type Storage;
    /// New elements.
    type Buffer<C: Float>;
    /// Elements that are read.
    type Values<'a, C: Float>;

    /// The storage, if it is in this memory.
    fn storage(storage: &Storage) -> Option<&Self::Storage>;
    /// A buffer on the device of a storage, whose values are not read.
    fn buffer<C: Float>(like: &Self::Storage, len: usize) -> Result<Self::Buffer<C>>;
    /// A buffer as candle's storage.
    fn wrap<C: Float>(buffer: Self::Buffer<C>, like: &Self::Storage) -> Self::Storage;
    /// The same for any memory.
    fn any(storage: Self::Storage) -> Storage;
    /// All elements of a buffer.
    fn all<C: Float>(buffer: &Self::Buffer<C>) -> Self::Values<'_, C>;
    /// The elements of a contiguous tensor.
    fn values<C: Float>(storage: &Self::Storage, layout: Layout) -> Result<Self::Values<'_, C>>;
    /// Scans. `I` are the arrays of the inputs, `O` the arrays of the outputs.
    fn run<T, Op, I, O>(scan: &Scan<Op>, call: Call<'_, Self, T, Op::Carry>) -> Result<()>
    where
        T: Float,
        Op: ScanOp<Carry: Float>,
        I: Arrays<T, Op::Input>,
        O: Arrays<T, Op::Output>;
    /// A scanner for the device of a storage.
    fn scanner(like: &Self::Storage) -> Result<scan_runtime::Scanner>;
}

/// The axis of a call, and how each input lies.
pub(crate) struct Geometry {
    pub(crate) axis: Axis,
    pub(crate) inputs: Vec<Place>,
}

/// Where an input is in its storage.
pub(crate) struct Place {
    /// The first item.
    pub(crate) start: usize,
    /// How many items its strides reach.
    pub(crate) len: usize,
    pub(crate) strides: Vec<usize>,
    /// Whether these are the strides of the axis.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "in host memory the runtime sees it itself"))]
    pub(crate) is_of_axis: bool,
}

impl Geometry {
    /// Of inputs and outputs of one shape. Strides of the axis are those that most inputs have, if no element of theirs
    /// is repeated.
    pub(crate) fn new<S>(dim: usize, inputs: &[View<'_, S>], output: &Layout) -> Result<Self> {
        let shape = output.dims();
        let contiguous = Layout::contiguous(shape).stride().to_vec();
        let strides_of = |layout: &Layout| -> Vec<usize> {
            let each = layout.stride().iter().zip(&contiguous).zip(shape);
            // No step is ever made along a dimension of one element.
            each.map(|((&own, &contiguous), &extent)| if extent == 1 { contiguous } else { own }).collect()
        };
        let axis =
            Axis::of(shape, dim).and_then(|axis| axis.output_strides(&strides_of(output))).map_err(Error::wrap)?;
        let strides: Vec<_> = inputs.iter().map(|input| strides_of(&input.layout)).collect();
        let all_the_same = strides.windows(2).all(|two| two[0] == two[1]);
        let is_apart = |strides: &[usize]| all_the_same || axis.clone().output_strides(strides).is_ok();
        let votes = |one: &[usize]| strides.iter().filter(|other| **other == one).count();
        let apart = strides.iter().filter(|one| is_apart(one));
        let chosen = apart.max_by_key(|one| (votes(one), **one == contiguous)).unwrap_or(&contiguous).clone();
        let axis = axis.input_strides(&chosen).map_err(Error::wrap)?;
        let place = |(input, strides): (&View<'_, S>, Vec<usize>)| Place {
            start: input.layout.start_offset(),
            len: 1 + strides.iter().zip(shape).map(|(stride, extent)| stride * (extent - 1)).sum::<usize>(),
            is_of_axis: strides == chosen,
            strides,
        };
        Ok(Geometry { inputs: inputs.iter().zip(strides.clone()).map(place).collect(), axis })
    }
}

/// The error of an operator that says it reads another number of tensors than its type has.
pub(crate) fn wrong_count(op: &'static str) -> Error {
    Error::Msg(format!(
        "{op}: `reads` says other arrays than there are: give one for each field of the backward operator's input"
    ))
}
