//! What a kernel can do wrong, and where it did.

use std::fmt;

/// A fault of a kernel: what, and where. Its `Display` tells both in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// Where.
    pub place: Place,
    /// The source, whose lines are meant.
    pub source_name: String,
    /// The kernel.
    pub kernel: String,
}

/// A line of the generated text, as executed by one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line of the generated text.
    pub line: u32,
    /// The block's index in the grid.
    pub block: u32,
    /// The thread's index in the block.
    pub thread: u32,
}

/// Whether memory is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Access {
    Read,
    Write,
}

/// An element of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// `input`, `output`, `workspace+256`, or `shared` and the name of the array.
    pub buffer: String,
    /// Which element, counted in elements of the size of the access; negative before the start.
    pub index: i64,
}

/// What a kernel did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside of the buffer.
    OutOfBounds {
        /// Whether it reads or writes.
        access: Access,
        /// Where to.
        spot: Spot,
        /// How many elements of that size the buffer has.
        length: u64,
    },
    /// A write to memory that is only to be read.
    ReadOnly {
        /// Where to.
        spot: Spot,
    },
    /// An access whose address is no multiple of what the type asks for.
    Misaligned {
        /// Where to.
        spot: Spot,
        /// The alignment of the type, in bytes.
        align: u32,
    },
    /// A read of memory, or a use of a variable, that was given no value.
    Uninitialised {
        /// What was read; `None` where it is a variable.
        spot: Option<Spot>,
    },
    /// Two accesses, at least one of them a write, that nothing orders.
    Race {
        /// What this thread does.
        access: Access,
        /// Where.
        spot: Spot,
        /// What the other one does.
        other_access: Access,
        /// Where the other one does it.
        other: Place,
    },
    /// A barrier that some threads of the block wait at while others do not come.
    Barrier {
        /// One that does not come; it waits at this line, or (`None`) has returned.
        missing: Place,
        /// Whether that thread has returned from the kernel.
        returned: bool,
    },
    /// As `Barrier`, for the threads of a warp at an instruction that all of them must execute together.
    Warp {
        /// One that does not come.
        missing: Place,
        /// Whether that thread has returned from the kernel.
        returned: bool,
    },
    /// Every thread waits for something that no thread will do.
    Deadlock {
        /// The blocks that have not been started, because those that wait take their place.
        blocks_not_started: u32,
    },
    /// The kernel goes on beyond any reasonable number of accesses.
    Endless,
    /// The operator was applied to something other than two adjacent partial results.
    Operands {
        /// The left operand, and
        left: String,
        /// the right one.
        right: String,
    },
    /// More threads arrived at a barrier in shared memory, in one phase, than it counts.
    Arrivals {
        /// How many it counts.
        counted: u32,
    },
    /// Global memory is used before what is before the launch in the stream is known to have ended.
    TooEarly {
        /// What this thread does.
        access: Access,
        /// Where.
        spot: Spot,
    },
    /// A bulk copy reads what a thread wrote to shared memory, and did not show to copies.
    NotShown {
        /// The thread.
        other: Place,
    },
    /// A block ended while a bulk copy still used its shared memory.
    CopyLeftBehind,
    /// A block is told something that the cluster does not have.
    NoSuchBlock {
        /// The block's rank in the cluster.
        block: u32,
        /// How many blocks it has.
        blocks: u32,
    },
    /// Another block of the cluster is told something when that may not have begun, or has ended.
    OtherBlock {
        /// The block.
        block: u32,
        /// Whether it has ended.
        ended: bool,
    },
    /// A thread arrives twice at the barrier of its cluster, or waits there without having arrived.
    ClusterBarrier {
        /// Whether it arrives.
        arrives: bool,
    },
    /// An output was not written.
    NotWritten {
        /// Which one.
        index: u64,
    },
    /// An output is not what the scan by definition gives.
    WrongOutput {
        /// Which one.
        index: u64,
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// The total is not what the operator by definition gives.
    WrongTotal {
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// The kernel, or the operator, gave up: an integer division by zero, say.
    Trap,
    /// An access to an array of the thread's own, beyond its end.
    OwnArray {
        /// The index.
        index: u64,
    },
    /// A value is shifted by as many bits as it has, or more.
    Shift {
        /// By how many.
        by: u64,
    },
}

impl Fault {
    /// A fault that shows only when all is done, so that no line can be named.
    pub fn at_end(kind: FaultKind, source_name: &str, kernel: &str) -> Self {
        let place = Place { line: 0, block: 0, thread: 0 };
        Fault { kind, place, source_name: source_name.to_owned(), kernel: kernel.to_owned() }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
        })
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.buffer, self.index)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, thread {} of block {}", self.line, self.thread, self.block)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let absent = |returned: bool| if returned { "has returned" } else { "is elsewhere" };
        match self {
            FaultKind::OutOfBounds { access, spot, length } => {
                write!(f, "out of bounds: a {access} of {spot}, which has {length} elements")
            }
            FaultKind::ReadOnly { spot } => write!(f, "a write to {spot}, which is only to be read"),
            FaultKind::Misaligned { spot, align } => {
                write!(f, "misaligned: {spot} is accessed as a type that lies on multiples of {align} bytes")
            }
            FaultKind::Uninitialised { spot: Some(spot) } => write!(f, "a read of {spot}, which nothing has written"),
            FaultKind::Uninitialised { spot: None } => f.write_str("a use of a variable that was given no value"),
            FaultKind::Race { access, spot, other_access, other } => write!(
                f,
                "race: a {access} of {spot}, and nothing orders it with a {other_access} of the same ({other})"
            ),
            FaultKind::Barrier { missing, returned } => {
                write!(f, "a barrier that not all threads of the block reach: one {} ({missing})", absent(*returned))
            }
            FaultKind::Warp { missing, returned } => write!(
                f,
                "an instruction that not all threads of the warp reach: one {} ({missing})",
                absent(*returned)
            ),
            FaultKind::Deadlock { blocks_not_started } => {
                f.write_str("deadlock: every thread waits, and none can go on")?;
                if *blocks_not_started > 0 {
                    write!(f, "; {blocks_not_started} blocks have no room to start")?;
                }
                Ok(())
            }
            FaultKind::Endless => f.write_str("the kernel does not come to an end"),
            FaultKind::Operands { left, right } => {
                write!(f, "the operator is applied to what is not two adjacent partial results: {left} and {right}")
            }
            FaultKind::Arrivals { counted } => {
                write!(f, "more threads arrive at a barrier in shared memory than the {counted} that it counts")
            }
            FaultKind::TooEarly { access, spot } => {
                write!(f, "a {access} of {spot} before what is before the launch in the stream is known to have ended")
            }
            FaultKind::NotShown { other } => write!(
                f,
                "a bulk copy reads what thread {} of block {} wrote to shared memory and did not show to copies",
                other.thread, other.block
            ),
            FaultKind::CopyLeftBehind => {
                f.write_str("the block ends while a bulk copy that began here still uses its shared memory")
            }
            FaultKind::NoSuchBlock { block, blocks } => {
                write!(f, "block {block} is told something, in a cluster of {blocks} blocks")
            }
            FaultKind::OtherBlock { block, ended: true } => {
                write!(f, "block {block} is told something, which has ended")
            }
            FaultKind::OtherBlock { block, ended: false } => {
                write!(f, "block {block} is told something, which may not have begun: the cluster has not met before")
            }
            FaultKind::ClusterBarrier { arrives: true } => {
                f.write_str("a thread arrives at the barrier of its cluster, and has not waited since it last did")
            }
            FaultKind::ClusterBarrier { arrives: false } => {
                f.write_str("a thread waits at the barrier of its cluster, and has not arrived")
            }
            FaultKind::NotWritten { index } => write!(f, "output[{index}] is never written"),
            FaultKind::WrongOutput { index, expected, found } => {
                write!(f, "output[{index}] is {found}, and should be {expected}")
            }
            FaultKind::WrongTotal { expected, found } => write!(f, "the total is {found}, and should be {expected}"),
            FaultKind::OwnArray { index } => {
                write!(f, "out of bounds: element {index} of an array of the thread's own, which has fewer")
            }
            FaultKind::Shift { by } => write!(f, "a shift by {by} bits, which the value does not have"),
            FaultKind::Trap => f.write_str("the kernel gave up (a trap: a division by zero, or an overflow of one)"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  in {} ({}", self.kind, self.kernel, self.source_name)?;
        if self.place.line > 0 { write!(f, ", {})", self.place) } else { f.write_str(")") }
    }
}

impl std::error::Error for Fault {}
