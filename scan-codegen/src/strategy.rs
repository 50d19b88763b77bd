//! The algorithms, on the two axes that make a strategy: how a block scans its tile, and how tiles carry.

use std::fmt;

use crate::carry::Carry;

/// A whole algorithm: how a block scans its tile, and how the tiles' aggregates reach the tiles after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Strategy {
    /// How a block scans its tile.
    pub block: BlockScan,
    /// How a tile gets its exclusive prefix.
    pub carry: Carry,
}

impl Strategy {
    /// Whether results are the same from run to run, even those of operators that are associative up to rounding only,
    /// such as sums of floats: whether elements are grouped by their number alone. Only look-back groups by what a
    /// block finds published.
    ///
    /// ```
    /// use scan_codegen::{BlockScan, Carry, Strategy};
    ///
    /// let with = |carry| Strategy { block: BlockScan::in_registers(), carry };
    /// assert!(with(Carry::LookAtAll).is_deterministic());
    /// assert!(!with(Carry::LookBack).is_deterministic());
    /// ```
    pub const fn is_deterministic(&self) -> bool {
        self.carry.describe().is_deterministic()
    }
}

/// How a block scans its tile: by a network, over single elements or over runs of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockScan {
    /// How the threads of a block scan as many values as there are threads (trees: twice as many).
    pub network: Network,
    /// Whether each thread first scans a run of several elements on its own, so that the network has only the runs'
    /// aggregates to scan; then each thread adds the exclusive prefix of its run (Hwu, Kirk and El Hajj 2022, section
    /// 11.5).
    pub coarsened: bool,
    /// Whether runs stay in registers, and tiles are moved through shared memory sixteen bytes at a time, whatever an
    /// element is. It goes with warp shuffles, one block, one cluster, chained, look-back and look-at-all.
    pub in_registers: bool,
}

impl BlockScan {
    /// The network over single elements.
    pub const fn of(network: Network) -> Self {
        BlockScan { network, coarsened: false, in_registers: false }
    }

    /// The network over the aggregates of the threads' own runs.
    pub const fn coarsened(network: Network) -> Self {
        BlockScan { network, coarsened: true, in_registers: false }
    }

    /// Runs in shared memory, over warp shuffles.
    pub(crate) const SHARED_RUNS: BlockScan = BlockScan::coarsened(Network::WarpShuffle);

    /// Runs in registers, over warp shuffles.
    pub const fn in_registers() -> Self {
        BlockScan { network: Network::WarpShuffle, coarsened: true, in_registers: true }
    }
}

/// How the threads of a block scan values in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Network {
    /// One thread scans alone: the reference that the texts start from.
    Sequential,
    /// Each thread folds all values up to its own: n² / 2 applications.
    Naive,
    /// Kogge and Stone 1973, in one buffer: ⌈log₂ n⌉ steps, two barriers a step.
    KoggeStone,
    /// Hillis and Steele 1986: the same network in two buffers, one barrier a step.
    HillisSteele,
    /// Brent and Kung 1982: a tree up and a tree down, 2 log₂ n − 1 steps, two values a thread.
    BrentKung {
        /// Which threads work in a step.
        workers: Workers,
        /// Whether an unused slot after every 32 values keeps the tree's strides off the same memory bank.
        padded: bool,
    },
    /// Blelloch 1990: exclusive, by a sweep up, the identity at the root, and a sweep down. It needs an identity.
    Blelloch {
        /// As for [`Network::BrentKung`].
        padded: bool,
    },
    /// The network of Kogge and Stone in registers: within warps by shuffles, then over the warps' aggregates.
    WarpShuffle,
}

/// Which threads of a block work in a step of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Workers {
    /// Each thread at its own place in the tree, as first taught: those that work are spread over all warps.
    Scattered,
    /// The first threads of the block: whole warps work, or none.
    Contiguous,
}

impl Network {
    /// The name of its template and of the device function in it.
    pub const fn name(self) -> &'static str {
        match self {
            Network::Sequential => "sequential",
            Network::Naive => "naive",
            Network::KoggeStone => "kogge_stone",
            Network::HillisSteele => "hillis_steele",
            Network::BrentKung { .. } => "brent_kung",
            Network::Blelloch { .. } => "blelloch",
            Network::WarpShuffle => "warp_shuffle",
        }
    }

    /// How many values each thread brings into the network.
    pub const fn values_per_thread(self) -> u32 {
        match self {
            Network::BrentKung { .. } | Network::Blelloch { .. } => 2,
            _ => 1,
        }
    }

    /// Whether unused slots keep its strides off the same memory bank.
    pub const fn is_padded(self) -> bool {
        matches!(self, Network::BrentKung { padded: true, .. } | Network::Blelloch { padded: true })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Network::Sequential => "sequential",
            Network::Naive => "naive",
            Network::KoggeStone => "Kogge-Stone",
            Network::HillisSteele => "Hillis-Steele",
            Network::BrentKung { workers: Workers::Scattered, .. } => "Brent-Kung, scattered threads",
            Network::BrentKung { workers: Workers::Contiguous, .. } => "Brent-Kung",
            Network::Blelloch { .. } => "Blelloch",
            Network::WarpShuffle => "warp shuffles",
        })?;
        if self.is_padded() { f.write_str(", padded") } else { Ok(()) }
    }
}

impl fmt::Display for BlockScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.in_registers {
            return write!(f, "runs in registers over {}", self.network);
        }
        if self.coarsened { write!(f, "coarsened over {}", self.network) } else { self.network.fmt(f) }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in the block; {}", self.block, self.carry)
    }
}
