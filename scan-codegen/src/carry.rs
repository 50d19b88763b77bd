//! How tiles carry, and the table of what the other modules must know of each way.

use std::fmt;

use crate::constants::ONE_BLOCK;

/// How a tile gets its exclusive prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Carry {
    /// One block goes through all tiles and carries in a register.
    OneBlock,
    /// Three kernels: scan every section, scan the section totals (recursively, once they outgrow a block), combine
    /// each total into the section after it.
    Hierarchical,
    /// Yan, Long and Zhang 2013: one kernel, each block waits for the inclusive prefix of the tile before its own.
    Chained(TileNumbers),
    /// Merrill and Garland 2016: one kernel, each block looks back over the tiles before its own. Floats may differ
    /// from run to run in their last bits, because the grouping depends on which statuses a block finds published
    /// ([`Strategy::is_deterministic`](crate::Strategy::is_deterministic)).
    LookBack,
    /// One kernel, each block folds the aggregates of all tiles before its own: for some thousands of tiles, because
    /// all blocks together load half as many statuses as the square of their number. Where results do not take the
    /// place of elements, the tile index is the block's, and a block that has waited for long stands in for one that
    /// has not started. Floats come out the same in every run. It goes with runs in registers.
    LookAtAll,
    /// One cluster of up to eight blocks, which run at once and reach each other's shared memory: each scans a tile and
    /// publishes its aggregate there, without a status in global memory. It goes through longer inputs as one block
    /// does. Floats come out the same in every run. It needs `sm_90`, and goes with runs in registers.
    Cluster,
    /// Maleki, Yang and Burtscher 2016: one kernel of persistent blocks, as many as the device has room for at once,
    /// which take the tiles in turn. Tiles are copied in and out in bulk while others are scanned, and every block
    /// folds the aggregates of all tiles in their order. Floats come out the same in every run. It needs `sm_90`, and
    /// goes with runs over warp shuffles.
    LookAhead,
}

/// How blocks that wait for each other share out the tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TileNumbers {
    /// From a counter, in the order in which blocks begin: a block waits only for blocks that have begun.
    Counter,
    /// The block's own index, as the texts introduce it. It needs all blocks on the device at once, which bounds the
    /// length.
    BlockIndex,
}

/// What the planner, the schedule, the cost model and the renderer must know of a way to carry. They ask for facts, not
/// for names, so that a new carry is one more row of [`Carry::describe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CarryFacts {
    /// The name of its template.
    pub(crate) name: &'static str,
    /// The algorithm in words.
    pub(crate) words: &'static str,
    /// The roles of its kernels. Where the first is [`ONE_BLOCK`], that one scans inputs of one tile.
    pub(crate) kernels: &'static [&'static str],
    /// Which blocks the tiles are for.
    pub(crate) blocks: Blocks,
    /// Where a block keeps its tile.
    pub(crate) tile_in: TileIn,
    /// What passes through global memory from tile to tile.
    pub(crate) exchange: Exchange,
    /// Where a block has its tile index from.
    pub(crate) tile_numbers: TileNumbers,
    /// Whether the status of a state of one word is a packet of 8 bytes, not of 16.
    pub(crate) short_packets: bool,
    /// What it has `sm_90` for, and what to choose where there is none; `None` where it needs no more than any device
    /// has.
    pub(crate) needs_sm_90: Option<&'static str>,
}

/// Which blocks the tiles are for.
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
    /// In shared memory, or its runs in registers: the block scan decides.
    Either,
    /// In shared memory only.
    SharedMemory,
    /// Its runs in registers only.
    Registers,
    /// In a stage of a pipeline.
    Stage,
}

/// What passes through global memory from tile to tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// Nothing.
    Nothing,
    /// Aggregates and partial results, from kernel to kernel.
    Partials,
    /// Tile statuses, within one kernel.
    Statuses(Polled),
}

/// Which statuses a block polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    /// That of the tile before its own.
    Last,
    /// Windows of statuses, backwards until one is a prefix. Which one depends on timing.
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
                kernels: &[ONE_BLOCK],
                blocks: Blocks::One,
                ..USUAL
            },
            Carry::Hierarchical => CarryFacts {
                name: "hierarchical",
                words: "hierarchical",
                kernels: &[ONE_BLOCK, "scan_sections", "scan_totals", "carry_totals", "carry_sections"],
                tile_in: TileIn::SharedMemory,
                exchange: Exchange::Partials,
                ..USUAL
            },
            Carry::Chained(tile_numbers) => CarryFacts {
                name: "chained",
                words: match tile_numbers {
                    TileNumbers::Counter => "chained",
                    TileNumbers::BlockIndex => "chained by block index",
                },
                kernels: &[ONE_BLOCK, "scan_chained"],
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
                kernels: &[ONE_BLOCK, "scan_look_back"],
                exchange: Exchange::Statuses(Polled::UntilPrefix),
                tile_numbers: TileNumbers::Counter,
                ..USUAL
            },
            Carry::LookAtAll => CarryFacts {
                name: "look_at_all",
                words: "look-at-all",
                kernels: &[ONE_BLOCK, "scan_look_at_all"],
                tile_in: TileIn::Registers,
                exchange: Exchange::Statuses(Polled::All),
                ..USUAL
            },
            Carry::Cluster => CarryFacts {
                name: "cluster",
                words: "one cluster",
                kernels: &[ONE_BLOCK, "scan_cluster"],
                blocks: Blocks::Cluster,
                tile_in: TileIn::Registers,
                needs_sm_90: Some("clusters need compute capability 9.0 or later: choose look-at-all"),
                ..USUAL
            },
            Carry::LookAhead => CarryFacts {
                name: "look_ahead",
                words: "look-ahead",
                kernels: &["scan_look_ahead"],
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
    /// Whether results are the same from run to run. They are not where the grouping depends on which statuses are
    /// published.
    pub(crate) const fn is_deterministic(&self) -> bool {
        !matches!(self.exchange, Exchange::Statuses(Polled::UntilPrefix))
    }

    /// Which statuses a block polls, where tiles have some.
    pub(crate) const fn polled(&self) -> Option<Polled> {
        match self.exchange {
            Exchange::Statuses(polled) => Some(polled),
            Exchange::Nothing | Exchange::Partials => None,
        }
    }

    /// The role of the kernel for inputs of several tiles; the first one where there are several.
    pub(crate) const fn kernel(&self) -> &'static str {
        match self.kernels {
            [_, kernel, ..] | [kernel] => kernel,
            [] => ONE_BLOCK,
        }
    }

    /// Whether an input of one tile may be left to the kernel of one block.
    pub(crate) fn has_kernel_of_one_block(&self) -> bool {
        self.kernels.first() == Some(&ONE_BLOCK)
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
        Carry::Hierarchical,
        Carry::Chained(TileNumbers::Counter),
        Carry::Chained(TileNumbers::BlockIndex),
        Carry::LookBack,
        Carry::LookAtAll,
        Carry::Cluster,
        Carry::LookAhead,
    ];

    #[test]
    fn facts_go_together() {
        for carry in ALL {
            let facts = carry.describe();
            assert!(!facts.name.is_empty() && !facts.words.is_empty() && !facts.kernels.is_empty(), "{carry:?}");
            assert_eq!(
                facts.kernels.iter().filter(|kernel| **kernel == ONE_BLOCK).count() == 1,
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
    fn only_look_back_goes_by_timing() {
        let by_timing: Vec<Carry> = ALL.into_iter().filter(|carry| !carry.describe().is_deterministic()).collect();
        assert_eq!(by_timing, [Carry::LookBack]);
    }
}
