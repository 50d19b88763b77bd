//! The plan of a block scan in shared memory.

use super::{
    check::refused,
    overrides::Request,
    types::{Block, Plan},
};
use crate::{
    constants::{BANKS, WARP},
    error::PlanError,
    limits::DeviceLimits,
    strategy::{BlockScan, Network, Strategy, WarpNetwork},
};

/// The maximum threads of a coarsened block: runs make the tile large, and fewer threads leave room for more blocks on
/// a multiprocessor.
pub(crate) const MAX_COARSENED_THREADS: u32 = 256;

/// The plan of a block scan in shared memory.
pub(super) fn plan_in_shared_memory(request: Request<'_>, strategy: Strategy) -> Result<Plan, PlanError> {
    let Request { operator, spec, limits, overrides } = request;
    if strategy.block.network != Network::WarpShuffle && strategy.block.warp != WarpNetwork::default() {
        let why = "its network uses no warp shuffles, which a network of a warp is for: choose `Network::WarpShuffle`";
        return Err(refused(strategy, why));
    }
    let state_bytes = operator.state.size as u32;
    let segmented = !spec.segments.is_none();
    let shape = |run| move |threads| Shape { block: strategy.block, threads, run, state_bytes, segmented };
    let (run, max) = match overrides.run {
        Some(run) => (check_run(strategy.block, run)?, max_threads(limits, shape(run))?),
        None => run_length(strategy.block, state_bytes, |run| max_threads(limits, shape(run)))?,
    };
    let shape = shape(run);
    let preferred = if strategy.block.coarsened { max.min(MAX_COARSENED_THREADS) } else { max };
    let threads = overrides.threads.unwrap_or(preferred);
    if !(WARP..=max).contains(&threads) || !threads.is_power_of_two() {
        return Err(PlanError::Threads { threads, min: WARP, max });
    }
    let shape = shape(threads);
    let block = Block { threads, run, tile: shape.tile(), shared_bytes: shape.shared_bytes() };
    Ok(Plan { network_slots: shape.network_slots(), ..Plan::new(request, strategy, block) })
}

/// The run of a coarsened block scan: about 32 bytes of elements, and an odd number, so that the runs of neighbouring
/// threads begin in different memory banks.
pub(crate) fn coarsened_run(state_bytes: u32) -> u32 {
    (32 / state_bytes).clamp(3, 15) | 1
}

/// The run, and the maximum threads of a block with it. Runs are shorter if shared memory is small.
fn run_length(
    block: BlockScan,
    state_bytes: u32,
    max_threads: impl Fn(u32) -> Result<u32, PlanError>,
) -> Result<(u32, u32), PlanError> {
    let preferred = if block.coarsened { coarsened_run(state_bytes) } else { 1 };
    let mut runs = (1..=preferred).rev().step_by(2).map(|run| max_threads(run).map(|max| (run, max)));
    runs.find(Result::is_ok).unwrap_or_else(|| max_threads(1).map(|max| (1, max)))
}

fn check_run(block: BlockScan, run: u32) -> Result<u32, PlanError> {
    match (block.coarsened, run) {
        (false, 1) | (true, _) => Ok(run),
        (false, _) => Err(PlanError::Run { run, why: "the block scan is not coarsened".to_owned() }),
    }
}

/// The maximum threads of a block: a power of two, bounded by the device and by its shared memory.
fn max_threads(limits: &DeviceLimits, shape: impl Fn(u32) -> Shape) -> Result<u32, PlanError> {
    let powers = (0..u32::BITS).rev().map(|log| 1 << log);
    let room = limits.shared_bytes_per_block;
    powers
        .filter(|threads| (WARP..=limits.threads_per_block).contains(threads))
        .find(|&threads| shape(threads).shared_bytes() <= room)
        .ok_or_else(|| {
            let Shape { run, state_bytes, .. } = shape(WARP);
            let why =
                format!("{WARP} threads' runs of {state_bytes} bytes an element outgrow {room} bytes of shared memory");
            PlanError::Run { run, why }
        })
}

/// The shape of a block scan, which determines its shared memory.
#[derive(Clone, Copy)]
struct Shape {
    block: BlockScan,
    threads: u32,
    run: u32,
    state_bytes: u32,
    segmented: bool,
}

impl Shape {
    fn tile(self) -> u32 {
        if self.block.coarsened { self.threads * self.run } else { self.network_values() }
    }

    /// The maximum number of values that the network scans.
    fn network_values(self) -> u32 {
        if self.block.coarsened { self.threads } else { self.threads * self.block.network.values_per_thread() }
    }

    fn network_slots(self) -> u32 {
        let values = self.network_values();
        if self.block.network.is_padded() { values + values / BANKS } else { values }
    }

    fn shared_bytes(self) -> u32 {
        let tile = if self.block.coarsened { self.tile() } else { 0 };
        let own = match self.block.network {
            Network::HillisSteele => 2 * self.threads,
            Network::WarpShuffle => self.threads / WARP,
            _ => 0,
        };
        // Includes the exclusive prefix of the tile, and the tile index, with room for the alignment of a state.
        let states = (tile + self.network_slots() + own + 1) * self.state_bytes + 16;
        // A bit for each element of the tile, and for each run.
        let heads = self.tile() / 8 + if self.block.coarsened { self.threads / 8 } else { 0 };
        if self.segmented { states + heads } else { states }
    }
}
