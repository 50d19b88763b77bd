//! Inputs and outputs in host and in device memory: slices, indices, gathered inputs, neighbours, bits, inputs with
//! strides of their own, scattered outputs, and outputs that are not written.
//!
//! An input is one of these arrays, or, of a struct, a tuple with one for each field, in the order of declaration; an
//! output likewise. Fields in arrays of their own are neither interleaved before the scan nor taken apart after it, on
//! no device, and the padding between them is not moved. The arrays of an output are other ones than those of the
//! input.
//!
//! On a GPU a scan of several arrays is as fast as a scan of one array of as many bytes where the arrays are aligned
//! alike: where in each of them the same number of items is between the first one and an address that is a multiple of
//! 16 bytes. That is so of whole allocations, and of parts that begin at the same index. Other parts are copied in
//! smaller pieces, which is slower.
//!
//! | array | of inputs | of outputs |
//! |---|---|---|
//! | a slice, array, `Vec`, `Box` or `Arc` of one; of other types `&x[..]` | `&x` | `&mut y` |
//! | with the feature `ndarray` and [along an axis](crate::Scan::along): an array or view | `&x`, `x.view()` | `&mut y`, `y.view_mut()` |
//! | an item for each element, at a place from another array | [`gather`] | [`scatter`] |
//! | the item before each element, or the one after it, with an edge value | [`previous`], [`next`] | |
//! | a bit for each element, in a bitmap, as those of Apache Arrow | [`bits`] | |
//! | an item for each element along an axis, at strides of its own, which may be 0 or negative | [`strided`] | |
//! | items for some elements, at places that the operator computes: none, one, or up to `K` an element | | [`scatter_by_output`] |
//! | no memory | [`indices`]: each item is its own index | [`discard`]: nothing is written |
//!
//! ```
//! use scan_runtime::{ScanOp, Scanner, arrays, scan_element, scan_op};
//!
//! /// A value and where it stands.
//! #[scan_element]
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! struct At {
//!     value: f32,
//!     index: u32,
//! }
//!
//! /// The largest value so far; of equal ones the first.
//! #[scan_op]
//! fn largest(a: At, b: At) -> At {
//!     if b.value > a.value { b } else { a }
//! }
//!
//! let values = [2.0, 7.0, 1.0, 8.0];
//! let scan = Scanner::new()?.scan(largest);
//!
//! // Where the largest so far is, and not how large.
//! let mut first = [0; 4];
//! scan.run_into((&values, arrays::indices()), (arrays::discard(), &mut first))?;
//! assert_eq!(first, [0, 1, 1, 3]);
//!
//! // Along an order of the values, with each result at the place of its value.
//! let order = [3_u32, 2, 0, 1];
//! let (mut most, mut first) = ([0.0; 4], [0; 4]);
//! let inputs = (arrays::gather(&values, &order), arrays::gather(&[0, 1, 2, 3], &order));
//! let outputs = (arrays::scatter(&mut most, &order), arrays::scatter(&mut first, &order));
//! scan.run_into(inputs, outputs)?;
//! assert_eq!((most, first), ([8.0; 4], [3; 4]));
//! # Ok::<(), scan_runtime::Error>(())
//! ```
//!
//! In a reversed scan places and indices are those of memory, as for a slice. In host memory the host follows places.
//! The CPU reads gathered items where they are; for a GPU the host copies them before the scan, as it does neighbours,
//! bits, and items with strides of their own on either side, and scattered results after it. Indices and discarded results take no memory, except on a GPU for indices along an axis whose
//! columns are not contiguous. Over device memory kernels follow places item by item, and copy slices in bulk;
//! [`kernels_like`](crate::Scan::kernels_like) puts the kernels of such arrays into a [bundle](crate::aot).

pub(crate) mod bits;
mod computed;
#[cfg(feature = "cuda")]
mod device;
mod discard;
pub(crate) mod fields;
mod gather;
mod host;
mod indices;
#[cfg(feature = "ndarray")]
mod ndarray;
mod neighbours;
mod never;
mod scatter;
mod shape;
pub(crate) mod strided;

use scan_codegen::Arrays;

pub use bits::{Bits, bits};
pub use computed::{PlacedAt, ScatterByOutput, scatter_by_output};
#[cfg(feature = "cuda")]
pub(crate) use device::{DeviceInput, DeviceOutput};
pub use discard::{Discard, discard};
pub use gather::{Gather, gather};
pub(crate) use host::{HostInput, HostOutput, Lanes};
pub use indices::{Index, Indices, indices};
pub use neighbours::{Neighbour, next, previous};
pub use scatter::{Scatter, scatter};
#[cfg(feature = "cuda")]
use shape::Flat;
pub(crate) use shape::{Shape, Shaped};
pub use strided::{Strided, strided};

pub(crate) use self::never::Never;
#[cfg(feature = "cuda")]
use crate::Device;
use crate::{Host, Memory, sealed::Sealed};

/// An input of elements of type `T` in memory `M`: a slice ([`Host`]: a slice, array, `Vec`, or an `ndarray` array;
/// [`Device`]: a `cudarc` slice or view), or another array of this module. Where `T` is a struct, a tuple with one of
/// these for each field is an input, too.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an input of elements of type `{T}` in the memory of this call",
    label = "not an input of `{T}`",
    note = "an input is a slice, or an array, `Vec`, `Box` or `Arc` of one; of other types write `&x[..]` (after `.on(&stream)` a device slice or view), what the module `arrays` makes, or a tuple with one of these for each field of a struct, in the order of declaration"
)]
pub unsafe trait Input<T, M: Memory> {
    #[doc(hidden)]
    const SEALED: Sealed;
    /// The kind of new results.
    #[doc(hidden)]
    type Shape: Shape;
    /// The arrays, if they are in host memory; else any.
    #[doc(hidden)]
    type OnHost: HostInput<T, Shape = Self::Shape>;
    /// The arrays, if they are in device memory; else any.
    #[doc(hidden)]
    #[cfg(feature = "cuda")]
    type OnDevice: DeviceInput<T>;
    #[doc(hidden)]
    #[cfg(not(feature = "cuda"))]
    type OnDevice;
    #[doc(hidden)]
    fn arrays(self) -> M::Either<Self::OnHost, Self::OnDevice>;
}

/// An output of results of type `T` in memory `M`: a mutable slice ([`Host`]: a slice, array, `Vec`, or an `ndarray`
/// array; [`Device`]: a `cudarc` slice or mutable view), or another array of this module. Where `T` is a struct, a
/// tuple with one of these for each field is an output, too.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an output of results of type `{T}` in the memory of this call",
    label = "not an output of `{T}`",
    note = "an output is a mutable slice (after `.on(&stream)` a device slice or mutable view), what the module `arrays` makes, or a tuple with one of these for each field of a struct, in the order of declaration (in `scatter_by_output` slices alone, one for each field after the place)"
)]
pub unsafe trait Output<T, M: Memory> {
    #[doc(hidden)]
    const SEALED: Sealed;
    #[doc(hidden)]
    type OnHost: HostOutput<T>;
    #[doc(hidden)]
    #[cfg(feature = "cuda")]
    type OnDevice: DeviceOutput<T>;
    #[doc(hidden)]
    #[cfg(not(feature = "cuda"))]
    type OnDevice;
    #[doc(hidden)]
    fn arrays(self) -> M::Either<Self::OnHost, Self::OnDevice>;
}

// SAFETY: the arrays are those of a sealed trait.
unsafe impl<T, A: HostInput<T>> Input<T, Host> for A {
    const SEALED: Sealed = Sealed;
    type Shape = A::Shape;
    type OnHost = A;
    type OnDevice = Never;
    #[inline]
    fn arrays(self) -> A {
        self
    }
}

// SAFETY: as above.
unsafe impl<T, A: HostOutput<T>> Output<T, Host> for A {
    const SEALED: Sealed = Sealed;
    type OnHost = A;
    type OnDevice = Never;
    #[inline]
    fn arrays(self) -> A {
        self
    }
}

// SAFETY: as above.
#[cfg(feature = "cuda")]
unsafe impl<T, A: DeviceInput<T>> Input<T, Device> for A {
    const SEALED: Sealed = Sealed;
    type Shape = Flat;
    type OnHost = Never;
    type OnDevice = A;
    fn arrays(self) -> A {
        self
    }
}

// SAFETY: as above.
#[cfg(feature = "cuda")]
unsafe impl<T, A: DeviceOutput<T>> Output<T, Device> for A {
    const SEALED: Sealed = Sealed;
    type OnHost = Never;
    type OnDevice = A;
    fn arrays(self) -> A {
        self
    }
}

/// In how many arrays elements are.
#[doc(hidden)]
pub trait Layout {
    const ARRAYS: Arrays;
}

/// In one.
#[doc(hidden)]
#[derive(Debug)]
pub enum One {}

/// In an array for each field.
#[doc(hidden)]
#[derive(Debug)]
pub enum PerField {}

impl Layout for One {
    const ARRAYS: Arrays = Arrays::One;
}

impl Layout for PerField {
    const ARRAYS: Arrays = Arrays::PerField;
}
