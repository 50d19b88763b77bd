//! Numbers that several modules go by.

/// The most bytes an element can have.
pub const MAX_ELEMENT_BYTES: usize = 256;

/// The most bytes of an operator's parameters: what a launch can pass, less what the kernels need themselves.
pub const MAX_PARAMETER_BYTES: usize = 3072;

/// Threads of a warp.
pub(crate) const WARP: u32 = 32;

/// The most threads of a block: one warp scans the aggregates of all its warps, a lane each.
pub(crate) const MOST_THREADS: u32 = WARP * WARP;

/// Bytes to which both ends of a bulk copy are aligned. Tiles are moved in units of the same size.
pub(crate) const COPY_ALIGNMENT: u32 = 16;

/// Bytes of a word.
pub(crate) const WORD: u32 = 4;

/// Banks of shared memory, each of which serves a word a cycle.
pub(crate) const BANKS: u32 = 32;

/// Words of a state in a packet of a tile status, next to the tag: a packet is one access of 16 bytes.
pub(crate) const PACKET_PAYLOAD: u32 = 3;

/// The role of the kernel of one block, which scans inputs of one tile for most carries.
pub(crate) const ONE_BLOCK: &str = "scan_block";
