//! The whole ladder, for the tests that climb it.

use std::collections::BTreeSet;

use scan_runtime::{BlockScan, Carry, Network, Strategy, TileNumbers, WarpNetwork, Workers};

use crate::extent::code_of;

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
    Carry::ReduceThenScan,
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

/// The other networks of a warp, each where warps scan: over tiles in shared memory, over runs in registers, and where
/// a warp folds the aggregates of tiles.
pub const BY_WARP_NETWORKS: [Strategy; 8] = {
    const fn in_registers(warp: WarpNetwork, carry: Carry) -> Strategy {
        Strategy { block: BlockScan::in_registers().over_warps(warp), carry }
    }
    const fn look_ahead(warp: WarpNetwork) -> Strategy {
        Strategy { block: BlockScan::coarsened(Network::WarpShuffle).over_warps(warp), carry: Carry::LookAhead }
    }
    [
        Strategy {
            block: BlockScan::of(Network::WarpShuffle).over_warps(WarpNetwork::Sklansky),
            carry: Carry::OneBlock,
        },
        in_registers(WarpNetwork::Sklansky, Carry::LookAtAll),
        in_registers(WarpNetwork::LadnerFischer, Carry::LookAtAll),
        in_registers(WarpNetwork::HanCarlson, Carry::Cluster),
        in_registers(WarpNetwork::BrentKung, Carry::LookBack),
        look_ahead(WarpNetwork::Sklansky),
        look_ahead(WarpNetwork::HanCarlson),
        look_ahead(WarpNetwork::BrentKung),
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
        .chain(BY_WARP_NETWORKS)
}

/// The strategies that are executed in one of the four [ways](crate::reference::WAYS), with their numbers among [all]: what a
/// device runs in each way, the networks and the ways to carry in turn, so that each of both meets each way.
pub fn in_turn(way: usize) -> impl Iterator<Item = (usize, Strategy)> {
    let in_each_way = |strategy: Strategy| strategy.block.in_registers || strategy == LOOK_AHEAD;
    all().enumerate().filter(move |&(index, strategy)| index % 4 == way % 4 || in_each_way(strategy))
}

/// Those that can restart: all of them.
pub fn all_segmented() -> impl Iterator<Item = Strategy> {
    all()
}

/// Pairs of adjacent lines of a text without the comments and empty lines. What has the same pairs says nothing that is not said elsewhere.
fn pairs(text: &str) -> impl Iterator<Item = String> {
    let lines: Vec<String> =
        text.lines().map(|line| code_of(line).trim().to_owned()).filter(|line| !line.is_empty()).collect();
    (1..lines.len()).map(move |end| lines[end - 1..=end].join("\n")).collect::<Vec<_>>().into_iter()
}

/// Adjacent lines that stand in some of `all` texts and in none of the `executed` ones.
pub fn never_executed<'a>(all: impl Iterator<Item = String>, executed: impl Iterator<Item = &'a str>) -> Vec<String> {
    let executed: BTreeSet<String> = executed.flat_map(pairs).collect();
    let all: BTreeSet<String> = all.flat_map(|text| pairs(&text).collect::<Vec<_>>()).collect();
    all.difference(&executed).cloned().collect()
}
