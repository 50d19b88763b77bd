//! What the planner must know of a device.

use std::fmt;

/// The architecture that a kernel is compiled for: compute capability 9.0 is `sm_90`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Architecture {
    /// The major number of the compute capability.
    pub major: u32,
    /// The minor number of the compute capability.
    pub minor: u32,
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.major, self.minor)
    }
}

/// What the planner must know of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DeviceLimits {
    /// What kernels are compiled for.
    pub architecture: Architecture,
    /// How many multiprocessors there are.
    pub multiprocessors: u32,
    /// The most threads a block can have.
    pub threads_per_block: u32,
    /// The most shared memory a block can declare, in bytes.
    pub shared_bytes_per_block: u32,
    /// The most shared memory a block can have where its launch asks for it, in bytes.
    pub shared_bytes_per_block_optin: u32,
    /// The most blocks a grid can have.
    pub blocks_per_grid: u64,
}

impl DeviceLimits {
    /// The limits that plans are made for where there is no device: what every architecture from `sm_75` on grants,
    /// with the multiprocessors of an H200 (132, `sm_90`).
    pub const BASELINE: DeviceLimits = DeviceLimits {
        architecture: Architecture { major: 9, minor: 0 },
        multiprocessors: 132,
        threads_per_block: 1024,
        shared_bytes_per_block: 48 * 1024,
        shared_bytes_per_block_optin: 48 * 1024,
        blocks_per_grid: (1 << 31) - 1,
    };

    /// The baseline with another architecture and another number of multiprocessors.
    pub const fn new(architecture: Architecture, multiprocessors: u32) -> Self {
        DeviceLimits { architecture, multiprocessors, ..DeviceLimits::BASELINE }
    }
}
