//! Strategies by name.

use clap::ValueEnum;
use scan_runtime::{BlockScan, Carry, Network, Strategy, TileNumbers, WarpNetwork, Workers};

/// How prefixes are carried between tiles. The block scan is the one that the planner uses with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyName {
    OneBlock,
    Cluster,
    LookAtAll,
    LookBack,
    Chained,
    ChainedByBlockIndex,
    ReduceThenScan,
    LookAhead,
}

impl StrategyName {
    pub(crate) fn strategy(self) -> Strategy {
        let shared_runs = BlockScan::coarsened(Network::WarpShuffle);
        let (block, carry) = match self {
            StrategyName::OneBlock => (BlockScan::in_registers(), Carry::OneBlock),
            StrategyName::Cluster => (BlockScan::in_registers(), Carry::Cluster),
            StrategyName::LookAtAll => (BlockScan::in_registers(), Carry::LookAtAll),
            StrategyName::LookBack => (BlockScan::in_registers(), Carry::LookBack),
            StrategyName::Chained => (BlockScan::in_registers(), Carry::Chained(TileNumbers::Counter)),
            StrategyName::ChainedByBlockIndex => (BlockScan::in_registers(), Carry::Chained(TileNumbers::BlockIndex)),
            StrategyName::ReduceThenScan => (shared_runs, Carry::ReduceThenScan),
            StrategyName::LookAhead => (shared_runs, Carry::LookAhead),
        };
        Strategy { block, carry }
    }
}

/// The strategy of each name.
pub(crate) fn named() -> Vec<Strategy> {
    StrategyName::value_variants().iter().map(|name| name.strategy()).collect()
}

/// The networks of the textbooks, over single elements and over runs, with the carries that go with each of them.
pub(crate) fn of_textbooks() -> Vec<Strategy> {
    let networks = [
        Network::Sequential,
        Network::Naive,
        Network::KoggeStone,
        Network::HillisSteele,
        Network::BrentKung { workers: Workers::Scattered, padded: false },
        Network::BrentKung { workers: Workers::Contiguous, padded: false },
        Network::BrentKung { workers: Workers::Contiguous, padded: true },
        Network::Blelloch { padded: false },
        Network::Blelloch { padded: true },
        Network::WarpShuffle,
    ];
    let carries = [Carry::OneBlock, Carry::ReduceThenScan, Carry::Chained(TileNumbers::Counter), Carry::LookBack];
    let over_warps = WarpNetwork::ALL.map(|warp| BlockScan::of(Network::WarpShuffle).over_warps(warp));
    let blocks = || {
        let alone = networks.into_iter().flat_map(|network| [BlockScan::of(network), BlockScan::coarsened(network)]);
        alone.chain(over_warps.into_iter().skip(1))
    };
    carries.into_iter().flat_map(|carry| blocks().map(move |block| Strategy { block, carry })).collect()
}
