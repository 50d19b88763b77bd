//! The algorithms, on the two axes that make a strategy: how a block scans its tile, and how tiles carry.

use std::fmt;

/// A whole algorithm: how a block scans its tile, and how the tiles' totals reach the tiles after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Strategy {
    /// How a block scans its tile.
    pub block: BlockScan,
    /// How a tile learns what stands before it.
    pub carry: Carry,
}

/// How a block scans its tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockScan {
    /// The network of Kogge and Stone (1973) in one buffer of shared memory: ⌈log₂ n⌉ steps, two barriers a step.
    KoggeStone,
}

impl BlockScan {
    /// The name of its template and of the device function in it.
    pub const fn name(self) -> &'static str {
        match self {
            BlockScan::KoggeStone => "kogge_stone",
        }
    }
}

impl fmt::Display for BlockScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BlockScan::KoggeStone => "Kogge-Stone",
        })
    }
}

/// How a tile learns what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Carry {
    /// Three kernels: scan every section, scan the section totals (recursively, once they outgrow a block), combine each
    /// total into the section after it. One kernel where the input fits a single block.
    Hierarchical,
}

impl Carry {
    /// The name of its template.
    pub const fn name(self) -> &'static str {
        match self {
            Carry::Hierarchical => "hierarchical",
        }
    }
}

impl fmt::Display for Carry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} blocks, {}", self.block, self.carry)
    }
}
