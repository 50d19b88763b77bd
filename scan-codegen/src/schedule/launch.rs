//! Launches, their arguments, and the workspace that they share.

use crate::kernel_role::KernelRole;

/// The parts of a workspace are at multiples of this many bytes: aligned for any element.
pub(crate) const ALIGNMENT: u64 = 256;

/// The launches of a scan of a given length, and the workspace that they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The device memory that the launches need in addition to input and output.
    pub workspace: Workspace,
    /// The launches, in order, on one stream.
    pub launches: Vec<Launch>,
}

/// The device memory that launches need in addition to input and output, aligned for any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workspace {
    /// Any memory. Its contents before and after the launches are undefined.
    Scratch {
        /// Its size in bytes, which may be zero.
        bytes: u64,
    },
    /// Memory that the kernels of this plan keep from launch to launch. It is zeroed once, when it is allocated. After
    /// that only these kernels write to it, and their launches that use it never overlap: it belongs to one stream.
    ///
    /// It may be larger than a schedule needs, by any number of tile statuses ([`Argument::StatusRoom`]). If it must
    /// grow, the new memory is zeroed and the old one dropped.
    Kept {
        /// The number of tile statuses that it must have room for.
        statuses: u64,
        /// Bytes of a tile status: the same in all schedules of a plan.
        status_bytes: u64,
    },
}

impl Workspace {
    /// The offset of the statuses in memory that is kept. The ticket word is before them.
    pub(super) const HEADER_BYTES: u64 = ALIGNMENT;

    /// The minimum size in bytes.
    pub const fn bytes(&self) -> u64 {
        match *self {
            Workspace::Scratch { bytes } => bytes,
            Workspace::Kept { statuses, status_bytes } => {
                Self::HEADER_BYTES.saturating_add(statuses.saturating_mul(status_bytes))
            }
        }
    }

    /// The number of tile statuses that fit into memory of this size.
    pub const fn status_room(&self, bytes: u64) -> u64 {
        match *self {
            Workspace::Scratch { .. } => 0,
            Workspace::Kept { status_bytes: 0, .. } => 0,
            Workspace::Kept { status_bytes, .. } => bytes.saturating_sub(Self::HEADER_BYTES) / status_bytes,
        }
    }
}

/// Whether a launch must be cooperative, with all its blocks resident at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cooperative {
    /// Never.
    Never,
    /// Only for a scan in place, whose results overwrite the elements.
    InPlace,
    /// Always.
    Always,
}

impl Cooperative {
    /// Whether a launch must be cooperative, given whether it scans in place.
    pub const fn applies(self, in_place: bool) -> bool {
        match self {
            Cooperative::Never => false,
            Cooperative::InPlace => in_place,
            Cooperative::Always => true,
        }
    }
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// The role of the kernel.
    pub kernel: KernelRole,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of each block.
    pub threads: u32,
    /// Bytes of dynamic shared memory per block, in addition to the shared memory that the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// Whether the blocks wait for each other in a way that needs all of them to be resident at once: a cooperative
    /// launch.
    pub cooperative: Cooperative,
    /// Whether the launch may begin before the preceding work in the stream has ended, because the kernel itself waits
    /// for that work: a programmatic dependent launch. It may also be launched as an ordinary one. A cooperative launch
    /// always is, because there it gains nothing in a stream (`docs/tuning.md#programmatic-dependent-launches`).
    pub programmatic: bool,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
}

/// An argument of a launch. The caller of the launch supplies its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Argument {
    /// A pointer to the input.
    Input,
    /// A pointer to the output.
    Output,
    /// A pointer this many bytes into the workspace.
    Workspace(u64),
    /// The number of tile statuses that the workspace has room for ([`Workspace::status_room`] of the allocated size),
    /// as a 64-bit integer.
    StatusRoom,
    /// A number of elements, as a 64-bit integer.
    Length(u64),
    /// A pointer to the number of elements, a 64-bit integer; at most as many as [`Length`](Argument::Length) says.
    LengthPointer,
    /// The operator with its parameters, by value. An operator without parameters is one byte, of any value.
    Operator,
    /// The initial value, by value.
    InitialValue,
    /// A pointer to the initial value, or to those of segments; to the numbers before it, where it
    /// [arrives late](crate::ScanSpec::initial_late).
    InitialPointer,
    /// A pointer to the memory that receives the total, or the total of each segment.
    Total,
    /// A pointer to the source of segment heads ([`Segments`](crate::Segments)): the flags, bits, keys or offsets; or to
    /// where ranges begin.
    Heads,
    /// A pointer to where ranges end.
    RangeEnds,
    /// Where the elements of an array lie of which an axis is scanned, by value
    /// ([`ColumnLayout::words`](crate::ColumnLayout::words)).
    Layout,
    /// How many offsets there are, or how many elements a row has, as a 64-bit integer.
    HeadCount,
}

impl Launch {
    /// An ordinary launch: not cooperative, with no dynamic shared memory.
    pub fn new(kernel: KernelRole, blocks: u32, threads: u32, arguments: Vec<Argument>) -> Self {
        Launch {
            kernel,
            blocks,
            threads,
            dynamic_shared_bytes: 0,
            cooperative: Cooperative::Never,
            programmatic: false,
            arguments,
        }
    }
}

/// Allocates parts of the workspace, each at a multiple of this many bytes.
pub(crate) struct Reserved {
    bytes: u64,
    alignment: u64,
}

impl Reserved {
    pub(crate) fn new(alignment: u64) -> Self {
        Reserved { bytes: 0, alignment }
    }

    pub(crate) fn scratch(&self) -> Workspace {
        Workspace::Scratch { bytes: self.bytes }
    }

    pub(crate) fn reserve(&mut self, bytes: u64) -> u64 {
        let offset = self.bytes;
        self.bytes = (offset + bytes).next_multiple_of(self.alignment);
        offset
    }
}
