//! The algorithms. A strategy has two axes: how a block scans its tile, and how prefixes are carried between tiles.

use std::fmt;

use crate::carry::Carry;

/// A complete algorithm: how a block scans its tile, and how each tile obtains its exclusive prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Strategy {
    /// How a block scans its tile.
    pub block: BlockScan,
    /// How a tile gets its exclusive prefix.
    pub carry: Carry,
}

impl Strategy {
    /// Whether results are the same from run to run, even for operators that are associative only up to rounding, such
    /// as float addition. They are if the grouping depends on the number of elements alone. Only with look-back it also
    /// depends on which statuses a block finds published.
    ///
    /// ```
    /// # extern crate scan_codegen as scan_runtime;
    /// use scan_runtime::{BlockScan, Carry, Strategy};
    ///
    /// let with = |carry| Strategy { block: BlockScan::in_registers(), carry };
    /// assert!(with(Carry::LookAtAll).is_deterministic());
    /// assert!(!with(Carry::LookBack).is_deterministic());
    /// ```
    pub const fn is_deterministic(&self) -> bool {
        self.carry.describe().is_deterministic()
    }
}

/// How a block scans its tile: with a network, over single elements or over runs of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockScan {
    /// The network, by which the threads of a block scan one value per thread (trees: two).
    pub network: Network,
    /// Whether each thread first scans a run of several elements on its own, so that the network scans only the runs'
    /// aggregates; then each thread combines the exclusive prefix of its run with its elements (Hwu, Kirk and El Hajj
    /// 2022, section 11.5).
    pub coarsened: bool,
    /// Whether runs stay in registers, and tiles are moved through shared memory sixteen bytes at a time, for elements
    /// of any type. It is available with warp shuffles, one block, one cluster, chained, look-back and look-at-all.
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
    /// One thread scans alone: the reference of the textbooks.
    Sequential,
    /// Each thread folds all values up to its own: n² / 2 applications.
    Naive,
    /// Kogge and Stone 1973, in one buffer: ⌈log₂ n⌉ steps, two barriers per step.
    KoggeStone,
    /// Hillis and Steele 1986: the same network in two buffers, one barrier per step.
    HillisSteele,
    /// Brent and Kung 1982: an up-sweep and a down-sweep, 2 log₂ n − 1 steps, two values per thread.
    BrentKung {
        /// Which threads work in a step.
        workers: Workers,
        /// Whether an unused slot after every 32 values avoids the bank conflicts of the tree's strides.
        padded: bool,
    },
    /// Blelloch 1990: exclusive, with an up-sweep, the identity at the root, and a down-sweep. It needs an identity, with
    /// which it combines no value.
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
    /// Each thread at its own place in the tree, as textbooks introduce it: the active threads are spread over all
    /// warps.
    Scattered,
    /// The first threads of the block: warps are entirely active or inactive.
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

    /// The number of values per thread in the network.
    pub const fn values_per_thread(self) -> u32 {
        match self {
            Network::BrentKung { .. } | Network::Blelloch { .. } => 2,
            _ => 1,
        }
    }

    /// Whether unused slots avoid the bank conflicts of its strides.
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
