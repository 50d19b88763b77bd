//! Inputs and outputs, and the arrays besides slices that they can be: indices, gathered inputs, neighbours, inputs
//! with strides of their own, scattered outputs, and outputs that are not written.
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
//! | a slice, or what borrows as one | `&x` | `&mut y` |
//! | an item for each element, at a place that another array tells | [`gather`], [`device_gather`] | [`scatter`], [`device_scatter`] |
//! | the item before each element, or the one after it, with an edge value | [`previous`], [`next`], [`device_previous`], [`device_next`] | |
//! | an item for each element along an axis, where strides of its own say, which may repeat it | [`strided`], [`device_strided`] | |
//! | items for some elements, at places that the operator computes: none, one, or up to `K` an element | | [`scatter_computed`] |
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
//! In a reversed scan the places and the indices are those of memory, as of a slice. In host memory places are followed
//! by the host: what is gathered, a neighbour, or has strides of its own is copied before the scan, and what is
//! scattered after it. Indices and discarded results take memory during a scan on the CPU; a GPU reads and writes none
//! for them, but for indices along an axis whose columns are not contiguous. Over device memory the kernels follow
//! places, item by item, beside slices that are copied in bulk; [`kernels_like`](crate::Scan::kernels_like) puts
//! the kernels of such arrays into a [bundle](crate::aot).

pub use crate::columns::kinds::{
    DeviceGather, DeviceScatter, Discard, Gather, Index, Indices, PlacedAt, Scatter, ScatterComputed, device_gather,
    device_scatter, discard, gather, indices, scatter, scatter_computed,
};
pub use crate::columns::neighbours::{DeviceNeighbour, Neighbour, device_next, device_previous, next, previous};
pub use crate::columns::strided::{DeviceStrided, Strided, device_strided, strided};
pub use crate::device::arguments::{DeviceInput, DeviceOutput};
pub use crate::host::{HostInput, HostOutput};
