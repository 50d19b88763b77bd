//! The whole ladder, for the tests that climb it.

use scan_runtime::{BlockScan, Carry, Network, Strategy, TileNumbers, Workers};

/// Every network, in the order in which the texts introduce them.
pub const NETWORKS: [Network; 11] = [
    Network::Sequential,
    Network::Naive,
    Network::KoggeStone,
    Network::HillisSteele,
    Network::BrentKung { workers: Workers::Scattered, padded: false },
    Network::BrentKung { workers: Workers::Scattered, padded: true },
    Network::BrentKung { workers: Workers::Contiguous, padded: false },
    Network::BrentKung { workers: Workers::Contiguous, padded: true },
    Network::Blelloch { padded: false },
    Network::Blelloch { padded: true },
    Network::WarpShuffle,
];

/// Every way to carry between tiles that goes with every network.
pub const CARRIES: [Carry; 5] = [
    Carry::OneBlock,
    Carry::Hierarchical,
    Carry::Chained(TileNumbers::BlockIndex),
    Carry::Chained(TileNumbers::Counter),
    Carry::LookBack,
];

/// The one that goes with one network only.
pub const LOOK_AHEAD: Strategy =
    Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead };

/// Those whose runs stay in registers.
pub const IN_REGISTERS: [Strategy; 6] = {
    const fn with(carry: Carry) -> Strategy {
        Strategy { block: BlockScan::in_registers(), carry }
    }
    [
        with(Carry::OneBlock),
        with(Carry::Chained(TileNumbers::BlockIndex)),
        with(Carry::Chained(TileNumbers::Counter)),
        with(Carry::LookBack),
        with(Carry::LookAtAll),
        with(Carry::Cluster),
    ]
};

/// Whether states of 256 bytes are too large for it.
pub fn takes_small_elements_only(strategy: Strategy) -> bool {
    strategy.block.in_registers
}

/// Every strategy: each network, over single elements and over runs, with each way to carry that goes with it.
pub fn all() -> impl Iterator<Item = Strategy> {
    NETWORKS
        .into_iter()
        .flat_map(|network| [BlockScan::of(network), BlockScan::coarsened(network)])
        .flat_map(|block| CARRIES.into_iter().map(move |carry| Strategy { block, carry }))
        .chain(IN_REGISTERS)
        .chain([LOOK_AHEAD])
}

/// Those that can restart: all of them.
pub fn all_segmented() -> impl Iterator<Item = Strategy> {
    all()
}
