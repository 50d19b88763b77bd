//! A tile in shared memory.

use serde::Serialize;

use super::{Room, Words, block::is_exclusive};
use crate::{plan::Plan, spec::ScanKind};

/// What its templates speak of.
#[derive(Serialize)]
pub(crate) struct TileWords {
    threads: u32,
    elements: u32,
    run: u32,
    /// Slots of shared memory for the values that the network scans.
    slots: u32,
    coarsened: bool,
    padded: bool,
    /// Whether a result is of the elements before its own, and where the tile holds that.
    exclusive: bool,
    before_element: &'static str,
    /// Whether each segment has a total.
    totals: bool,
}

impl Words for TileWords {
    const ROOM: Room = Room::Tile;
}

impl TileWords {
    pub(crate) fn new(plan: &Plan) -> Self {
        let block = plan.strategy.block;
        TileWords {
            threads: plan.block_sizes.largest,
            elements: plan.tile,
            run: plan.run,
            slots: plan.network_slots,
            coarsened: block.coarsened,
            padded: block.network.is_padded(),
            exclusive: gives_exclusive(plan),
            before_element: before_element(plan),
            totals: plan.spec.totals,
        }
    }
}

/// Whether a result is of the elements before its own. A stepped operator that emits goes by the carry before each
/// element, too.
pub(super) fn gives_exclusive(plan: &Plan) -> bool {
    plan.spec.kind == ScanKind::Exclusive || plan.emits
}

/// Where a scanned tile holds the result of the elements before element i.
pub(super) fn before_element(plan: &Plan) -> &'static str {
    if is_exclusive(plan) && !plan.strategy.block.coarsened { "i" } else { "i - 1" }
}
