//! Launches, what they are given, and the memory that they share.

/// The parts of a workspace are at multiples of so many bytes: aligned for any element.
pub(crate) const ALIGNMENT: u64 = 256;

/// The launches of one scan of a known length, and the workspace they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Device memory that the launches need beyond input and output.
    pub workspace: Workspace,
    /// The launches, to be made in this order on one stream.
    pub launches: Vec<Launch>,
}

/// Device memory that launches need beyond input and output, aligned for any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workspace {
    /// Any memory will do. What it holds before the launches, and after them, means nothing.
    Scratch {
        /// How much of it; perhaps none.
        bytes: u64,
    },
    /// Memory that belongs to the kernels of this plan from launch to launch. It is zero when it is allocated, once;
    /// then nobody but these kernels writes to it, not even zeros, and their launches that use it never overlap: it
    /// belongs to one stream.
    ///
    /// It may be longer than a schedule asks for, by any number of tile statuses ([`Argument::StatusRoom`]). Memory
    /// for more of them begins anew, as zeros.
    Kept {
        /// How many tile statuses it must have room for.
        statuses: u64,
        /// Bytes of a tile status: the same in all schedules of a plan.
        status_bytes: u64,
    },
}

impl Workspace {
    /// Where the statuses begin in memory that is kept. The ticket word is before them.
    pub(super) const HEADER_BYTES: u64 = ALIGNMENT;

    /// How much memory there must be at the least.
    pub const fn bytes(&self) -> u64 {
        match *self {
            Workspace::Scratch { bytes } => bytes,
            Workspace::Kept { statuses, status_bytes } => {
                Self::HEADER_BYTES.saturating_add(statuses.saturating_mul(status_bytes))
            }
        }
    }

    /// How many tile statuses there is room for in so much memory.
    pub const fn status_room(&self, bytes: u64) -> u64 {
        match *self {
            Workspace::Scratch { .. } => 0,
            Workspace::Kept { status_bytes: 0, .. } => 0,
            Workspace::Kept { status_bytes, .. } => bytes.saturating_sub(Self::HEADER_BYTES) / status_bytes,
        }
    }
}

/// When a launch must be cooperative, its blocks on the device all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cooperative {
    /// Never.
    Never,
    /// Where results take the place of elements.
    InPlace,
    /// Always.
    Always,
}

impl Cooperative {
    /// Whether a launch that works in place, or does not, must be.
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
    /// Which kernel: the role that stands in its name after the operator's.
    pub kernel: &'static str,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of each block.
    pub threads: u32,
    /// Bytes of shared memory that each block asks for beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// Whether the blocks wait for each other in a way that needs all of them on the device at once: a cooperative
    /// launch.
    pub cooperative: Cooperative,
    /// Whether the launch may begin before what is before it in the stream has ended, because the kernel waits for that
    /// itself: a programmatic dependent launch. It may be launched as any other, too, and is where it is cooperative:
    /// that gains nothing in a stream (`docs/tuning.md#programmatic-dependent-launches`).
    pub programmatic: bool,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
}

/// An argument of a launch. Whoever launches fills it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Argument {
    /// A pointer to the input.
    Input,
    /// A pointer to the output.
    Output,
    /// A pointer this many bytes into the workspace.
    Workspace(u64),
    /// How many tile statuses the workspace has room for ([`Workspace::status_room`] of what was allocated), as a
    /// 64-bit integer.
    StatusRoom,
    /// A number of elements, as a 64-bit integer.
    Length(u64),
    /// The operator with its parameters, by value. An operator without parameters is one byte, of any value.
    Operator,
    /// The initial value, by value.
    InitialValue,
    /// A pointer to the initial value.
    InitialPointer,
    /// A pointer to where the total goes.
    Total,
    /// A pointer to what tells where segments begin ([`Segments`](crate::Segments)): the flags, bits, keys or offsets.
    Heads,
    /// Where the elements of an array lie of which an axis is scanned, by value
    /// ([`ColumnLayout::words`](crate::ColumnLayout::words)).
    Layout,
    /// How many offsets there are, or how many elements a row has, as a 64-bit integer.
    HeadCount,
}

impl Launch {
    /// An ordinary launch: not cooperative, with no dynamic shared memory.
    pub fn new(kernel: &'static str, blocks: u32, threads: u32, arguments: Vec<Argument>) -> Self {
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

/// Hands out places in the workspace, each at a multiple of so many bytes.
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
