//! Networks, of a block and of its warps.

use serde::Serialize;

use super::{Room, Words, runs::full_tiles_apart, tile::gives_exclusive};
use crate::{
    operator::OpSource,
    plan::Plan,
    strategy::{Network, Workers},
    weight::{Places, calls_combine},
};

/// What their templates speak of.
#[derive(Serialize)]
pub(crate) struct BlockWords {
    /// The function that scans a tile.
    scan: &'static str,
    network: &'static str,
    /// Whether the network gives exclusive scans.
    exclusive: bool,
    contiguous: bool,
    padded: bool,
    /// What makes the steps of a network over a warp a loop in the machine code as well, or nothing.
    rolled: &'static str,
    /// As of the [runs](super::runs).
    last_run_apart: bool,
    full_tiles_apart: bool,
}

impl Words for BlockWords {
    const ROOM: Room = Room::Block;
}

impl BlockWords {
    pub(crate) fn new(operator: &OpSource, plan: &Plan) -> Self {
        let block = plan.strategy.block;
        let network = block.network.name();
        BlockWords {
            scan: match (block.in_registers, block.coarsened) {
                (true, _) => "in_registers",
                (false, true) => "coarsened",
                (false, false) => network,
            },
            network,
            exclusive: is_exclusive(plan),
            contiguous: matches!(block.network, Network::BrentKung { workers: Workers::Contiguous, .. }),
            padded: block.network.is_padded(),
            rolled: rolled(operator, plan),
            last_run_apart: plan.last_run_apart,
            full_tiles_apart: full_tiles_apart(plan),
        }
    }
}

impl BlockWords {
    /// Of kernels in which only warps scan; `combine` is at these places of their text.
    pub(crate) fn of_warps(operator: &OpSource, places: Places, inlined: u32) -> Self {
        BlockWords {
            scan: "",
            network: "",
            exclusive: false,
            contiguous: false,
            padded: false,
            rolled: if calls_combine(operator, places, inlined) { ROLLED } else { "" },
            last_run_apart: false,
            full_tiles_apart: false,
        }
    }
}

/// Keeps a loop from being unrolled.
const ROLLED: &str = "#pragma unroll 1\n";

/// Whether the network gives exclusive scans.
pub(super) fn is_exclusive(plan: &Plan) -> bool {
    let block = plan.strategy.block;
    matches!(block.network, Network::Blelloch { .. }) && (gives_exclusive(plan) || block.coarsened)
}

/// What makes the steps of a network over a warp a loop in the machine code as well, or nothing.
pub(super) fn rolled(operator: &OpSource, plan: &Plan) -> &'static str {
    if calls_combine(operator, plan.places(operator), plan.inlined) { ROLLED } else { "" }
}
