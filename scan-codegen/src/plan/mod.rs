//! The planner: from a scan and the limits of a device to the shape of the kernels.
//!
//! `types` has the plans, with their only constructor; `overrides` the caller's choices. `shared`, `registers` and
//! `look_ahead` are the planners, one for each place where a block can keep its tile. `measured` has the measured
//! constants and tables.

mod check;
mod display;
mod look_ahead;
mod measured;
mod overrides;
mod pipeline;
mod registers;
mod shared;
mod stages;
mod teams;
mod types;

use crate::{
    carry::{Carry, TileIn},
    error::PlanError,
    limits::{Architecture, DeviceLimits},
    operator::OpSource,
    spec::ScanSpec,
    strategy::{BlockScan, Strategy},
    weight::Decided,
};
use check::{check_scan, refused};
use look_ahead::{plan_long, plan_look_ahead};
use overrides::Request;
use registers::{plan_in_registers, plan_ranges};
use shared::plan_in_shared_memory;

pub(crate) use check::{check_arrays, check_operator, check_outputs, check_start};
pub(crate) use measured::{LARGE, MAX_REGISTER_BYTES};
pub use overrides::Overrides;
pub(crate) use overrides::check_overrides;
pub use pipeline::Pipeline;
pub(crate) use shared::{MAX_COARSENED_THREADS, coarsened_run};
pub(crate) use types::BlockSizes;
pub use types::{Plan, Plans};

/// The first architecture on which a launch may begin before the one before it has ended.
pub(crate) const PROGRAMMATIC: Architecture = Architecture { major: 9, minor: 0 };

/// Chooses the kernels' shape. A pure function: the same arguments give the same plans on every machine.
pub fn plan(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    overrides: &Overrides,
) -> Result<Plans, PlanError> {
    check_operator(operator)?;
    let device = *limits;
    let limits = &limits.usable()?;
    check_overrides(overrides)?;
    let (shortest, longer) = plan_shapes(Request { operator, spec, limits, overrides })?;
    let programmatic = overrides.programmatic.unwrap_or(true) && limits.architecture >= PROGRAMMATIC;
    let finish = |plan: Plan| {
        let decided = Decided::of(operator, plan.places(operator), plan.inlined);
        Plan { programmatic, delays: overrides.delays, decided, ..plan }
    };
    let longer = within_the_grid(&shortest, longer);
    Ok(Plans { device, shortest: finish(shortest), longer: longer.into_iter().map(finish).collect() })
}

/// On a device with a small grid limit, a plan with larger tiles begins where the plan before it reaches that limit.
fn within_the_grid(shortest: &Plan, longer: Vec<Plan>) -> Vec<Plan> {
    let mut end = shortest.max_len;
    let mut kept = Vec::with_capacity(longer.len());
    for mut plan in longer {
        plan.from = plan.from.min(end.saturating_add(1));
        if plan.max_len >= plan.from {
            end = plan.max_len;
            kept.push(plan);
        }
    }
    kept
}

/// The algorithm if the caller chooses only a shape: the one that scans any length, on every device.
fn default_strategy(operator: &OpSource, deterministic: bool) -> Strategy {
    if deterministic {
        return Strategy { block: BlockScan::SHARED_RUNS, carry: Carry::ReduceThenScan };
    }
    let block = match operator.largest_element() <= MAX_REGISTER_BYTES {
        true => BlockScan::in_registers(),
        false => BlockScan::SHARED_RUNS,
    };
    Strategy { block, carry: Carry::LookBack }
}

/// The shapes for all lengths: for the shortest inputs, and for longer ones.
fn plan_shapes(request: Request<'_>) -> Result<(Plan, Vec<Plan>), PlanError> {
    let Request { operator, overrides, .. } = request;
    let default = default_strategy(operator, overrides.deterministic);
    let any_length = plan_with(request, default)?;
    if (Overrides { deterministic: false, programmatic: None, ..*overrides }) != Overrides::default() {
        return Ok((Plan { from: 0, ..any_length }, Vec::new()));
    }
    // Inputs of one tile are scanned by one block, longer ones with look-at-all, and long ones with look-ahead, or with
    // look-back if that is not available.
    let long = plan_long(request);
    if operator.largest_element() <= MAX_REGISTER_BYTES {
        let (shortest, mut longer) = plan_ranges(request)?;
        // No look-back is needed if look-ahead scans the inputs with too many tiles for look-at-all.
        longer
            .retain(|plan| long.as_ref().is_none_or(|long| plan.from < long.from && plan.strategy.is_deterministic()));
        for plan in longer.iter_mut().filter(|plan| overrides.deterministic && !plan.strategy.is_deterministic()) {
            *plan = Plan { from: plan.from, ..any_length.clone() };
        }
        longer.extend(long);
        return Ok((shortest, longer));
    }
    let one_block = Strategy { carry: Carry::OneBlock, ..default };
    let shortest = plan_with(request, one_block)?.of_one_tile();
    // No look-back if look-ahead is available: then results are the same from run to run.
    let longer = long.unwrap_or(any_length);
    let longer = Plan { from: u64::from(shortest.tile) + 1, ..longer };
    Ok((shortest, vec![longer]))
}

/// A plan for all lengths, with a default algorithm if the caller chooses none.
fn plan_with(request: Request<'_>, default: Strategy) -> Result<Plan, PlanError> {
    let Request { operator, spec, overrides, .. } = request;
    let strategy = overrides.strategy.unwrap_or(default);
    if overrides.deterministic && !strategy.is_deterministic() {
        let why = "look-back groups by the statuses found, so floats may differ from run to run: choose another carry";
        return Err(refused(strategy, why));
    }
    check_scan(operator, spec, strategy)?;
    match (strategy.carry.describe().tile_in, strategy.block.in_registers) {
        (TileIn::Stage, _) => plan_look_ahead(request, strategy),
        (TileIn::Registers, _) | (_, true) => plan_in_registers(request, strategy),
        (TileIn::SharedMemory | TileIn::Either, false) => plan_in_shared_memory(request, strategy),
    }
}

#[cfg(test)]
mod tests;
