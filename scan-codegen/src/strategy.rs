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
    /// The network of a warp, by which its lanes scan one value each, through shuffles: those of threads, and of tiles
    /// whose aggregates a warp folds. (In registers, the aggregates of a block's warps are scanned by Kogge-Stone.) It
    /// goes with [`Network::WarpShuffle`], on which look-ahead and runs in registers build, too.
    pub warp: WarpNetwork,
}

impl BlockScan {
    /// The network over single elements.
    pub const fn of(network: Network) -> Self {
        BlockScan { network, coarsened: false, in_registers: false, warp: WarpNetwork::KoggeStone }
    }

    /// The network over the aggregates of the threads' own runs.
    pub const fn coarsened(network: Network) -> Self {
        BlockScan { coarsened: true, ..BlockScan::of(network) }
    }

    /// Runs in shared memory, over warp shuffles.
    pub(crate) const SHARED_RUNS: BlockScan = BlockScan::coarsened(Network::WarpShuffle);

    /// Runs in registers, over warp shuffles.
    pub const fn in_registers() -> Self {
        BlockScan { in_registers: true, ..BlockScan::SHARED_RUNS }
    }

    /// The same block scan with another network of a warp.
    ///
    /// ```
    /// # extern crate scan_codegen as scan_runtime;
    /// use scan_runtime::{BlockScan, WarpNetwork};
    ///
    /// let block = BlockScan::in_registers().over_warps(WarpNetwork::Sklansky);
    /// assert_eq!(block.to_string(), "runs in registers over warp shuffles by Sklansky");
    /// ```
    #[must_use = "it gives another block scan"]
    pub const fn over_warps(self, warp: WarpNetwork) -> Self {
        BlockScan { warp, ..self }
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
    /// A network in registers: within warps by shuffles, then over the warps' aggregates. Which one,
    /// [`BlockScan::warp`] says.
    WarpShuffle,
}

/// The network by which the lanes of a warp scan one value each.
///
/// | over 32 lanes | depth | applications | fan-out |
/// |---|--:|--:|--:|
/// | Kogge-Stone | 5 | 129 | 1 |
/// | Sklansky | 5 | 80 | 16 |
/// | Ladner-Fischer | 6 | 63 | 8 |
/// | Han-Carlson | 6 | 80 | 1 |
/// | Brent-Kung | 9 | 57 | 1 |
///
/// The depth is the number of steps, each of which is a shuffle and, for some of the lanes, an application of the
/// operator. The fan-out is the number of other lanes to which one partial result goes in a step, at the most: a
/// shuffle takes the same time for every fan-out. A warp takes the time of a step however few of its lanes apply the
/// operator, so that fewer applications save time only where the operator branches, and energy everywhere. All of them
/// combine two adjacent partial results, in order, and start anew at heads; floats are grouped in another way by each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WarpNetwork {
    /// Kogge and Stone 1973: the fewest steps, and a fan-out of one. The default.
    #[default]
    KoggeStone,
    /// Sklansky 1960: the fewest steps, and fewer applications; the fan-out doubles from step to step.
    Sklansky,
    /// Ladner and Fischer 1980: the network of Sklansky over pairs of lanes, for one more step. It is the network that
    /// Harris 2003 ("A taxonomy of parallel prefix networks") gives their name to.
    LadnerFischer,
    /// Han and Carlson 1987: the network of Kogge and Stone over pairs of lanes, for one more step.
    HanCarlson,
    /// Brent and Kung 1982: a tree up and a tree down, the fewest applications in the most steps.
    BrentKung,
}

impl WarpNetwork {
    /// All of them.
    pub const ALL: [WarpNetwork; 5] = [
        WarpNetwork::KoggeStone,
        WarpNetwork::Sklansky,
        WarpNetwork::LadnerFischer,
        WarpNetwork::HanCarlson,
        WarpNetwork::BrentKung,
    ];

    /// The names of its templates: Kogge and Stone's is a function, the others say how far partial results go in a
    /// step.
    pub(crate) const fn templates(self) -> &'static [&'static str] {
        match self {
            WarpNetwork::KoggeStone => &["warp/kogge_stone"],
            WarpNetwork::Sklansky => &["warp/sklansky", "scan_warp"],
            WarpNetwork::LadnerFischer => &["warp/ladner_fischer", "scan_warp"],
            WarpNetwork::HanCarlson => &["warp/han_carlson", "scan_warp"],
            WarpNetwork::BrentKung => &["warp/brent_kung", "scan_warp"],
        }
    }
}

impl fmt::Display for WarpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WarpNetwork::KoggeStone => "Kogge-Stone",
            WarpNetwork::Sklansky => "Sklansky",
            WarpNetwork::LadnerFischer => "Ladner-Fischer",
            WarpNetwork::HanCarlson => "Han-Carlson",
            WarpNetwork::BrentKung => "Brent-Kung",
        })
    }
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
        let runs = match (self.in_registers, self.coarsened) {
            (true, _) => "runs in registers over ",
            (false, true) => "coarsened over ",
            (false, false) => "",
        };
        write!(f, "{runs}{}", self.network)?;
        if self.warp == WarpNetwork::default() { Ok(()) } else { write!(f, " by {}", self.warp) }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in the block; {}", self.block, self.carry)
    }
}
