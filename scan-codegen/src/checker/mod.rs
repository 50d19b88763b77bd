//! The checker of plans: what must hold of every plan, whatever was planned, so that its kernels neither hang nor leave
//! their memory. Tests and fuzzers run it before each render; a user's call does not.
//!
//! The planners choose; they do not prove. The checker computes anew, from the operator, the plan and the device, what
//! the templates declare and do, and compares. A rule stands in one file:
//!
//! | file | rules |
//! |---|---|
//! | `pipeline/` | barriers and who waits for whom in a block of look-ahead: arrivals, deadlocks, phases, memory in use |
//! | `threads` | threads of a block, lanes for what a warp holds, registers |
//! | `shared_memory` | the sums of static and dynamic shared memory |
//! | `units` | units that divide runs, alignment of copies |
//! | `widths` | 32-bit arithmetic against the most elements |
//! | `residency` | blocks that wait for each other and so must be resident |
//! | `launches` | what schedules launch |
//! | `columns`, `reductions` | the same rules for the other plans |

mod columns;
mod launches;
mod pipeline;
mod reductions;
mod residency;
mod shared_memory;
mod threads;
mod units;
mod widths;

use std::fmt;

use crate::{limits::DeviceLimits, operator::OpSource, plan::Plan};

/// A rule of kernels that a plan breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// What breaks it, with the numbers.
    pub what: String,
}

/// What must hold of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A block has whole warps, as many threads as it may have, and a warp for each role.
    Threads,
    /// A warp has a lane for everything that its lanes hold one each.
    Lanes,
    /// The threads that are to be resident have registers.
    Registers,
    /// What kernels declare is what the plan says, and the device has it.
    SharedMemory,
    /// A phase of a barrier has as many arrivals as the barrier counts.
    Arrivals,
    /// No warps wait for each other in a circle.
    Deadlock,
    /// A warp that waits by parity can take no other phase for the one that it waits for.
    Phases,
    /// Shared memory is written before it is read, and not again until all have read it.
    Overwriting,
    /// There are so many stages that no team waits for another one's.
    Stages,
    /// Runs and tiles fit together, and what depends on a whole run has one.
    Runs,
    /// Units of memory divide what is moved in them.
    Units,
    /// Bulk copies begin and end at aligned addresses.
    Alignment,
    /// Indices and counts fit the words that kernels count in.
    Widths,
    /// Blocks that wait for others are resident together with them, or start after them.
    Residency,
    /// Schedules launch kernels of the plan, on grids that the device allows.
    Launches,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.what)
    }
}

/// The violations found so far.
#[derive(Default)]
struct Report(Vec<Violation>);

impl Report {
    fn require(&mut self, holds: bool, rule: Rule, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(Violation { rule, what: what() });
        }
    }
}

/// A plan of a scan, and all that it depends on.
#[derive(Clone, Copy)]
struct Checked<'a> {
    operator: &'a OpSource,
    plan: &'a Plan,
    limits: &'a DeviceLimits,
}

impl Plan {
    /// The rules of kernels that this plan for `operator` on `device` breaks: none, if the planner is right. For tests and
    /// fuzzers, before they render it.
    #[doc(hidden)]
    pub fn violations(&self, operator: &OpSource, device: &DeviceLimits) -> Vec<Violation> {
        let mut report = Report::default();
        match device.usable() {
            Ok(limits) => {
                let checked = Checked { operator, plan: self, limits: &limits };
                threads::check(checked, &mut report);
                shared_memory::check(checked, &mut report);
                units::check(checked, &mut report);
                widths::check(checked, &mut report);
                residency::check(checked, &mut report);
                launches::check(checked, &mut report);
                pipeline::check(checked, &mut report);
            }
            Err(error) => report.require(false, Rule::Launches, || error.to_string()),
        }
        report.0
    }
}

#[cfg(test)]
mod tests;
