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

impl Strategy {
    /// Whether results are the same from run to run, even those of operators that are associative up to rounding only, such as
    /// sums of floats: whether elements are grouped by their number alone. Only look-back groups by what a block finds ready.
    ///
    /// ```
    /// use scan_codegen::{BlockScan, Carry, Strategy};
    ///
    /// let with = |carry| Strategy { block: BlockScan::in_registers(), carry };
    /// assert!(with(Carry::LookAtAll).is_deterministic());
    /// assert!(!with(Carry::LookBack).is_deterministic());
    /// ```
    pub const fn is_deterministic(&self) -> bool {
        !matches!(self.carry, Carry::LookBack)
    }
}

/// How a block scans its tile: by a network, over single elements or over runs of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockScan {
    /// How the threads of a block scan as many values as there are threads (trees: twice as many).
    pub network: Network,
    /// Whether each thread first scans a run of several elements on its own, so that the network has only the runs' totals
    /// to scan; then each thread adds what stands before its run (Hwu, Kirk and El Hajj 2022, section 11.5).
    pub coarsened: bool,
    /// Whether runs stay in registers, and tiles are moved through shared memory sixteen bytes at a time, whatever an element
    /// is. It goes with warp shuffles, one block, one cluster, chained, look-back and look-at-all.
    pub in_registers: bool,
}

impl BlockScan {
    /// The network over single elements.
    pub const fn of(network: Network) -> Self {
        BlockScan { network, coarsened: false, in_registers: false }
    }

    /// The network over the totals of the threads' own runs.
    pub const fn coarsened(network: Network) -> Self {
        BlockScan { network, coarsened: true, in_registers: false }
    }

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
    /// The network of Kogge and Stone in registers: within warps by shuffles, then over the warps' totals.
    WarpShuffle,
}

/// Which threads of a block work in a step of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Workers {
    /// Each thread at its own place in the tree, as first taught: those that work are spread over all warps.
    Scattered,
    /// The first threads of the block: whole warps work, or none.
    Contiguous,
}

/// How a tile learns what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Carry {
    /// One block goes through all tiles and carries in a register.
    OneBlock,
    /// Three kernels: scan every section, scan the section totals (recursively, once they outgrow a block), combine each
    /// total into the section after it.
    Hierarchical,
    /// Yan, Long and Zhang 2013: one kernel, each block waits for the sum that its left neighbour passes on.
    Chained(TileNumbers),
    /// Merrill and Garland 2016: one kernel, each block looks back over the tiles before its own. Floats may differ from run
    /// to run in their last bits, because the grouping depends on which sums a block finds ready
    /// ([`Strategy::is_deterministic`]).
    LookBack,
    /// One kernel, each block folds the sums of all tiles before its own: for some thousands of tiles, because all of them together
    /// read half as many sums as the square of their number. Where results do not take the place of elements, tiles are numbered by
    /// block, and a block that has waited for long for one that has not begun sums up the tile of that one itself. Floats come out the
    /// same in every run. It goes with runs in registers.
    LookAtAll,
    /// One cluster of up to eight blocks, which run at once and reach each other's shared memory: each scans a tile and tells all
    /// of them its sum there, without a message in global memory. It goes through longer inputs as one block does. Floats come
    /// out the same in every run. It needs `sm_90`, and goes with runs in registers.
    Cluster,
    /// Maleki, Yang and Burtscher 2016: one kernel whose blocks stay, as many as the device has room for at once, and take the
    /// tiles in turn. Tiles are copied in and out in bulk while others are scanned, and every block folds the sums of all
    /// tiles in their order. Floats come out the same in every run. It needs `sm_90`, and goes with runs over warp shuffles.
    LookAhead,
}

/// How blocks that wait for each other share out the tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TileNumbers {
    /// From a counter, in the order in which blocks begin: a block waits only for blocks that have begun.
    Counter,
    /// The block's own index, as the texts introduce it. It needs all blocks on the device at once, which bounds the length.
    BlockIndex,
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

impl Carry {
    /// The name of its template.
    pub const fn name(self) -> &'static str {
        match self {
            Carry::OneBlock => "one_block",
            Carry::Hierarchical => "hierarchical",
            Carry::Chained(_) => "chained",
            Carry::LookBack => "look_back",
            Carry::LookAtAll => "look_at_all",
            Carry::Cluster => "cluster",
            Carry::LookAhead => "look_ahead",
        }
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

impl fmt::Display for Carry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Carry::OneBlock => "one block",
            Carry::Hierarchical => "hierarchical",
            Carry::Chained(TileNumbers::Counter) => "chained",
            Carry::Chained(TileNumbers::BlockIndex) => "chained by block index",
            Carry::LookBack => "look-back",
            Carry::LookAtAll => "look-at-all",
            Carry::Cluster => "one cluster",
            Carry::LookAhead => "look-ahead",
        })
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in the block; {}", self.block, self.carry)
    }
}
