//! How tiles carry.

use serde::Serialize;

use super::{Room, Words, block::rolled, tile::before_element};
use crate::{carry::TileNumbers, operator::OpSource, plan::Plan};

/// What the templates of carries speak of.
#[derive(Serialize)]
pub(crate) struct CarryWords {
    name: &'static str,
    /// Whether tiles are numbered by a counter.
    counts: bool,
    /// How many blocks a cluster has, and how many statuses a lane loads at once.
    cluster: u32,
    statuses_per_lane: u32,
    /// As of [networks](super::block).
    rolled: &'static str,
    folds_backwards: bool,
    /// Where a scanned tile holds the result of the elements before element i.
    before_element: &'static str,
    /// Whether the kernel of one block scans one tile at the most.
    one_tile: bool,
}

impl Words for CarryWords {
    const ROOM: Room = Room::Carry;
}

impl CarryWords {
    pub(crate) fn new(operator: &OpSource, plan: &Plan) -> Self {
        let facts = plan.strategy.carry.describe();
        CarryWords {
            name: facts.name,
            counts: facts.tile_numbers == TileNumbers::Counter,
            cluster: plan.cluster,
            statuses_per_lane: plan.statuses_per_lane,
            rolled: rolled(operator, plan),
            folds_backwards: operator.folds_backwards(),
            before_element: before_element(plan),
            one_tile: plan.one_block_has_one_tile(),
        }
    }
}

/// What the template of tile statuses speaks of.
#[derive(Serialize)]
pub(crate) struct StatusWords {
    /// The type of what statuses hold.
    pub(crate) published: &'static str,
    /// How many statuses a tile can have, with one unused.
    pub(crate) count: u64,
}

impl Words for StatusWords {
    const ROOM: Room = Room::Status;
}
