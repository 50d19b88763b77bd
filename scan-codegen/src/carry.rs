//! The ways to carry prefixes between tiles, and a table of the properties of each.

use std::fmt;

use crate::kernel_role::KernelRole;

/// How a tile obtains its exclusive prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Carry {
    /// One block goes through all tiles and carries the prefix in a register.
    OneBlock,
    /// Three kernels, as in Baxter's Modern GPU (2013): reduce every tile to its aggregate, scan the aggregates (level
    /// by level, once they outgrow a block), and scan every tile from its exclusive prefix on. The input is read twice.
    /// The workspace holds the aggregates alone, and no block waits for another. Floats are the same in every run. It
    /// keeps tiles in shared memory.
    ReduceThenScan,
    /// Yan, Long and Zhang 2013: one kernel, each block waits for the inclusive prefix of the tile before its own.
    Chained(TileNumbers),
    /// Merrill and Garland 2016: one kernel, each block looks back over the tiles before its own. Floats may differ
    /// from run to run in their last bits, because the grouping depends on which statuses a block finds published
    /// ([`Strategy::is_deterministic`](crate::Strategy::is_deterministic)).
    LookBack,
    /// One kernel, each block folds the aggregates of all tiles before its own: for up to some thousands of tiles,
    /// because the number of status loads is half the square of the number of tiles. Unless results overwrite elements,
    /// the tile index is the block index, and a block that has waited for long recomputes the aggregate of one that has
    /// not started. Floats are the same in every run. It requires runs in registers.
    LookAtAll,
    /// One cluster of up to eight blocks, which are resident together and access each other's shared memory: each scans
    /// a tile and publishes its aggregate there, without a status in global memory. It goes through longer inputs like
    /// one block. Floats are the same in every run. It needs `sm_90`, and requires runs in registers.
    Cluster,
    /// Maleki, Yang and Burtscher 2016: one kernel of persistent blocks, as many as can be resident at once, each of
    /// which takes every n-th tile. Tiles are copied in and out in bulk while others are scanned, and every block folds
    /// the aggregates of all tiles in order. Floats are the same in every run. It needs `sm_90`, and requires runs over
    /// warp shuffles.
    LookAhead,
}

/// How blocks that wait for each other obtain their tile index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TileNumbers {
    /// A ticket from a counter, in the order in which blocks start: a block waits only for blocks that have started.
    Counter,
    /// The block index, as textbooks introduce it. It needs all blocks to be resident at once, which bounds the length.
    BlockIndex,
}

/// The properties of a way to carry that the planner, the schedule, the cost model and the renderer use. They use
/// facts, not names, so that a new carry is one more row of [`Carry::describe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CarryFacts {
    /// The name of its template.
    pub(crate) name: &'static str,
    /// The name of the algorithm in texts for users.
    pub(crate) words: &'static str,
    /// The roles of its kernels. If the first is [`KernelRole::ScanBlock`], that one scans inputs of one tile.
    pub(crate) kernels: &'static [KernelRole],
    /// How blocks are assigned to tiles.
    pub(crate) blocks: Blocks,
    /// Where a block keeps its tile.
    pub(crate) tile_in: TileIn,
    /// The data that tiles exchange through global memory.
    pub(crate) exchange: Exchange,
    /// The source of a block's tile index.
    pub(crate) tile_numbers: TileNumbers,
    /// Whether the status of a state of one word is a packet of 8 bytes, not of 16.
    pub(crate) short_packets: bool,
    /// Why it needs `sm_90`, and what to choose otherwise; `None` if it runs on any device.
    pub(crate) needs_sm_90: Option<&'static str>,
}

/// How blocks are assigned to tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// One block, which goes through all tiles.
    One,
    /// The blocks of one cluster, which go through all tiles together.
    Cluster,
    /// A block for each tile.
    PerTile,
    /// A block for each tile, all of them resident at once.
    PerTileResident,
    /// Persistent blocks.
    Persistent,
}

/// Where a block keeps its tile while it scans it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TileIn {
    /// In shared memory or with its runs in registers, depending on the block scan.
    Either,
    /// In shared memory only.
    SharedMemory,
    /// Its runs in registers only.
    Registers,
    /// In a stage of a pipeline.
    Stage,
}

/// The data that tiles exchange through global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// Nothing.
    Nothing,
    /// Aggregates of tiles, from kernel to kernel.
    Aggregates,
    /// Tile statuses, within one kernel.
    Statuses(Polled),
}

/// Which statuses a block polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    /// That of the tile before its own.
    Last,
    /// Windows of statuses, backwards until one is a prefix. Which one that is depends on timing.
    UntilPrefix,
    /// Those of all tiles before its own.
    All,
}

impl Carry {
    /// The name of its template.
    pub const fn name(self) -> &'static str {
        self.describe().name
    }

    /// The row of the table.
    pub(crate) const fn describe(self) -> CarryFacts {
        const USUAL: CarryFacts = CarryFacts {
            name: "",
            words: "",
            kernels: &[],
            blocks: Blocks::PerTile,
            tile_in: TileIn::Either,
            exchange: Exchange::Nothing,
            tile_numbers: TileNumbers::BlockIndex,
            short_packets: false,
            needs_sm_90: None,
        };
        match self {
            Carry::OneBlock => CarryFacts {
                name: "one_block",
                words: "one block",
                kernels: &[KernelRole::ScanBlock],
                blocks: Blocks::One,
                ..USUAL
            },
            Carry::ReduceThenScan => CarryFacts {
                name: "reduce_then_scan",
                words: "reduce-then-scan",
                kernels: &[
                    KernelRole::ScanBlock,
                    KernelRole::ReduceTiles,
                    KernelRole::ScanAggregates,
                    KernelRole::CarryAggregates,
                    KernelRole::ScanTiles,
                ],
                tile_in: TileIn::SharedMemory,
                exchange: Exchange::Aggregates,
                ..USUAL
            },
            Carry::Chained(tile_numbers) => CarryFacts {
                name: "chained",
                words: match tile_numbers {
                    TileNumbers::Counter => "chained",
                    TileNumbers::BlockIndex => "chained by block index",
                },
                kernels: &[KernelRole::ScanBlock, KernelRole::ScanChained],
                blocks: match tile_numbers {
                    TileNumbers::Counter => Blocks::PerTile,
                    TileNumbers::BlockIndex => Blocks::PerTileResident,
                },
                exchange: Exchange::Statuses(Polled::Last),
                tile_numbers,
                ..USUAL
            },
            Carry::LookBack => CarryFacts {
                name: "look_back",
                words: "look-back",
                kernels: &[KernelRole::ScanBlock, KernelRole::ScanLookBack],
                exchange: Exchange::Statuses(Polled::UntilPrefix),
                tile_numbers: TileNumbers::Counter,
                ..USUAL
            },
            Carry::LookAtAll => CarryFacts {
                name: "look_at_all",
                words: "look-at-all",
                kernels: &[KernelRole::ScanBlock, KernelRole::ScanLookAtAll],
                tile_in: TileIn::Registers,
                exchange: Exchange::Statuses(Polled::All),
                ..USUAL
            },
            Carry::Cluster => CarryFacts {
                name: "cluster",
                words: "one cluster",
                kernels: &[KernelRole::ScanBlock, KernelRole::ScanCluster],
                blocks: Blocks::Cluster,
                tile_in: TileIn::Registers,
                needs_sm_90: Some("clusters need compute capability 9.0 or later: choose look-at-all"),
                ..USUAL
            },
            Carry::LookAhead => CarryFacts {
                name: "look_ahead",
                words: "look-ahead",
                kernels: &[KernelRole::ScanLookAhead],
                blocks: Blocks::Persistent,
                tile_in: TileIn::Stage,
                exchange: Exchange::Statuses(Polled::All),
                short_packets: true,
                needs_sm_90: Some("bulk copies need compute capability 9.0 or later; choose look-back"),
                ..USUAL
            },
        }
    }
}

impl CarryFacts {
    /// Whether results are the same from run to run. They are not if the grouping depends on which statuses are
    /// published.
    pub(crate) const fn is_deterministic(&self) -> bool {
        !matches!(self.exchange, Exchange::Statuses(Polled::UntilPrefix))
    }

    /// Which statuses a block polls, if tiles have statuses.
    pub(crate) const fn polled(&self) -> Option<Polled> {
        match self.exchange {
            Exchange::Statuses(polled) => Some(polled),
            Exchange::Nothing | Exchange::Aggregates => None,
        }
    }

    /// The role of the kernel for inputs of several tiles; the first one where there are several.
    pub(crate) const fn kernel(&self) -> KernelRole {
        match self.kernels {
            [_, kernel, ..] | [kernel] => *kernel,
            [] => KernelRole::ScanBlock,
        }
    }

    /// Whether inputs of one tile may have a kernel of their own, that of one block.
    pub(crate) fn has_kernel_of_one_block(&self) -> bool {
        self.kernels.first() == Some(&KernelRole::ScanBlock)
    }
}

impl fmt::Display for Carry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe().words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Carry; 8] = [
        Carry::OneBlock,
        Carry::ReduceThenScan,
        Carry::Chained(TileNumbers::Counter),
        Carry::Chained(TileNumbers::BlockIndex),
        Carry::LookBack,
        Carry::LookAtAll,
        Carry::Cluster,
        Carry::LookAhead,
    ];

    #[test]
    fn facts_of_every_carry_agree() {
        for carry in ALL {
            let facts = carry.describe();
            assert!(!facts.name.is_empty() && !facts.words.is_empty() && !facts.kernels.is_empty(), "{carry:?}");
            assert_eq!(
                facts.kernels.iter().filter(|kernel| **kernel == KernelRole::ScanBlock).count() == 1,
                facts.has_kernel_of_one_block()
            );
            assert!(facts.kernels.contains(&facts.kernel()), "{carry:?}");
            // A counter and short packets go with statuses.
            let statuses = facts.polled().is_some();
            assert!(statuses || facts.tile_numbers == TileNumbers::BlockIndex && !facts.short_packets, "{carry:?}");
            // One block and one cluster need nothing from global memory.
            let alone = matches!(facts.blocks, Blocks::One | Blocks::Cluster);
            assert_eq!(alone, facts.exchange == Exchange::Nothing, "{carry:?}");
        }
    }

    #[test]
    fn only_look_back_is_not_deterministic() {
        let by_timing: Vec<Carry> = ALL.into_iter().filter(|carry| !carry.describe().is_deterministic()).collect();
        assert_eq!(by_timing, [Carry::LookBack]);
    }
}
