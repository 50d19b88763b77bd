//! Constants that several modules use.

/// The maximum size of an element, in bytes.
pub const MAX_ELEMENT_BYTES: usize = 256;

/// The maximum size of an operator's parameters, in bytes: those that a launch can pass, less those of the kernels'
/// own.
pub const MAX_PARAMETER_BYTES: usize = 3072;

/// Threads of a warp.
pub(crate) const WARP: u32 = 32;

/// The maximum threads of a block: one warp scans the aggregates of all its warps, one per lane.
pub(crate) const MAX_THREADS: u32 = WARP * WARP;

/// The alignment of both ends of a bulk copy, in bytes. Tiles are copied in units of the same size.
pub(crate) const COPY_ALIGNMENT: u32 = 16;

/// Bytes of a word.
pub(crate) const WORD: u32 = 4;

/// The banks of shared memory, each of which serves one word per cycle.
pub(crate) const BANKS: u32 = 32;

/// Words of a state in a packet of a tile status, next to the tag: a packet is one access of 16 bytes.
pub(crate) const PACKET_PAYLOAD: u32 = 3;
