//! Scans and reductions of more than 2^32 elements. A few tiles are executed, on both sides of element 2^32, and only
//! the memory that these read and write exists. The statuses of the tiles before them are in memory as those tiles
//! would have published them. An index that has lost its upper half leads to memory that does not exist.

mod columns;
mod flat;
mod last_results;

use scan_codegen::Argument;
use scan_emulator::Stretch;
use scan_runtime::{__private::bytes_of, Carry, ScanElement};

pub use columns::{DistantColumns, Far};
pub use flat::{Distant, Kernels, Segmented};
pub use last_results::{DistantLastResults, LAST_RESULTS, SegmentsBy};

use crate::operators::Span;

/// Where indices of 32 bits end.
pub const EDGE: u64 = 1 << 32;

/// Tiles that are executed: the first one is before the edge.
pub const TILES: u64 = 5;

/// The memory of launches, and what is to be in some of its stretches in the end.
#[derive(Default)]
pub struct Stretches {
    /// All of them.
    pub all: Vec<Stretch>,
    /// What is to be in some of them in the end.
    pub expected: Vec<(usize, Vec<u8>)>,
}

impl Stretches {
    /// What the kernels only read, so many bytes from the beginning.
    pub fn read(&mut self, argument: Argument, before: u64, bytes: Vec<u8>) {
        self.all.push(Stretch { argument, before, bytes, initialised: true });
    }

    /// What they write.
    pub fn write(&mut self, argument: Argument, before: u64, expected: Vec<u8>) {
        let bytes = vec![0; expected.len()];
        self.expected.push((self.all.len(), expected));
        self.all.push(Stretch { argument, before, bytes, initialised: false });
    }

    /// What they read and then write.
    pub fn read_and_write(&mut self, argument: Argument, before: u64, bytes: Vec<u8>, expected: Vec<u8>) {
        self.expected.push((self.all.len(), expected));
        self.read(argument, before, bytes);
    }

    /// What is wrong with what the kernels have left there.
    ///
    /// # Errors
    ///
    /// The first stretch that differs.
    pub fn are_as_expected(&self, found: &[Vec<u8>]) -> Result<(), String> {
        match self.expected.iter().find(|(index, expected)| found[*index] != *expected) {
            Some((index, _)) => Err(format!("wrong: {:?}", self.all[*index].argument)),
            None => Ok(()),
        }
    }
}

/// The bytes of elements.
pub fn all_bytes<T: ScanElement>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(bytes_of).collect()
}

/// What a status tells about its tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its own aggregate.
    Aggregate,
    /// What there is up to its end.
    Prefix,
}

/// Bytes of the status of a tile, of spans.
pub const STATUS_BYTES: usize = 32;

/// The bytes of the status of a tile: packets of three words and a tag.
pub fn status_bytes(carry: Carry, epoch: u32, status: Status, value: Span) -> Vec<u8> {
    let told = match (status, carry) {
        (Status::Aggregate, _) | (Status::Prefix, Carry::Chained(_)) => 1,
        (Status::Prefix, _) => 2,
    };
    let tag = (4 * epoch + told).to_le_bytes();
    bytes_of(&value).chunks(12).flat_map(|words| [words, &tag].concat()).collect()
}
