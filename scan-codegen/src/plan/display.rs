//! The `Display` of plans.

use std::fmt;

use super::{
    pipeline::Pipeline,
    types::{Plan, Plans},
};
use crate::carry::{Blocks, Exchange};

impl fmt::Display for Plans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, for {}", self.shortest.spec, self.device)?;
        if self.longer.is_empty() {
            writeln!(f)?;
            return self.shortest.fmt_shape(f);
        }
        for plan in self.iter() {
            writeln!(f, "\n{}", self.lengths(plan))?;
            plan.fmt_shape(f)?;
        }
        Ok(())
    }
}

impl Plans {
    /// A description of the lengths that one of these plans is for.
    #[doc(hidden)]
    pub fn lengths(&self, plan: &Plan) -> String {
        let next = self.longer.iter().find(|next| next.from > plan.from);
        match (plan.from, next.map(|next| next.from - 1)) {
            (0, Some(end)) => format!("up to {end} elements"),
            (from, Some(end)) => format!("{from} to {end} elements"),
            (0, None) => "any number of elements".to_owned(),
            (from, None) => format!("from {from} elements on"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.spec)?;
        self.fmt_shape(f)
    }
}

impl Plan {
    fn fmt_shape(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = self.strategy.carry.describe();
        writeln!(f, "  strategy  {}", self.strategy)?;
        if self.stepped {
            writeln!(f, "  operator  a stepped operator: runs step its carry, partial results are applied to it")?;
            if self.folds_backwards {
                writeln!(f, "  folds     from the ends of runs: inputs are prepended")?;
            }
        } else if self.appends {
            writeln!(f, "  operator  runs append inputs, partial results are combined")?;
        }
        f.write_str(&self.decided.line(self.run_by_weight.then_some(self.run)))?;
        match &self.pipeline {
            None => {
                let (threads, bytes) = (self.threads, self.shared_bytes);
                match facts.blocks {
                    Blocks::Cluster => write!(f, "  cluster   {} blocks, each of ", self.cluster)?,
                    _ => f.write_str("  block     ")?,
                }
                writeln!(f, "{threads} threads, {bytes} bytes of shared memory")?;
                if self.last_run_apart {
                    writeln!(f, "  last run  reduced to its first element, because nothing follows it")?;
                }
            }
            Some(pipeline) => {
                let Pipeline { teams, stages, blocks, dynamic_shared_bytes, group, look_ahead_warps, .. } = pipeline;
                writeln!(
                    f,
                    "  blocks    {blocks} at most, {} bytes of shared memory each",
                    self.shared_bytes + dynamic_shared_bytes
                )?;
                writeln!(f, "  pipeline  {teams} teams of {} threads, {stages} stages", self.threads)?;
                if *look_ahead_warps > 1 {
                    writeln!(f, "  ahead     {look_ahead_warps} warps, round-robin")?;
                }
                if pipeline.keeps_states {
                    writeln!(f, "  lifted    once: stages keep states in place of elements")?;
                }
                if pipeline.run_parts > 1 {
                    writeln!(f, "  runs      reduced in {} parts, each of which is unrolled", pipeline.run_parts)?;
                }
                if pipeline.table_bytes > 0 {
                    writeln!(f, "  tables    in {} bytes of shared memory", pipeline.table_bytes)?;
                }
                if *group > 1 {
                    writeln!(f, "  groups    of {group} blocks, each of which publishes one aggregate")?;
                }
            }
        }
        write!(f, "  tile      {} elements", self.tile)?;
        if self.strategy.block.coarsened {
            write!(f, ", {} a thread", self.run)?;
        }
        match facts.exchange {
            Exchange::Nothing => Ok(()),
            Exchange::Statuses(_) => write!(f, "\n  statuses  {} bytes a tile", self.status_bytes()),
            Exchange::Aggregates => write!(f, "\n  workspace an aggregate of {} bytes a tile", self.state_bytes),
        }
    }
}
