//! Plans in words.

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
        let ends = self.longer.iter().map(|plan| Some(plan.from - 1)).chain([None]);
        for (plan, end) in self.iter().zip(ends) {
            match (plan.from, end) {
                (0, Some(end)) => writeln!(f, "\nup to {end} elements")?,
                (from, Some(end)) => writeln!(f, "\n{from} to {end} elements")?,
                (from, None) => writeln!(f, "\nfrom {from} elements on")?,
            }
            plan.fmt_shape(f)?;
        }
        Ok(())
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
        match &self.pipeline {
            None => {
                let (threads, bytes) = (self.threads, self.shared_bytes);
                match facts.blocks {
                    Blocks::Cluster => write!(f, "  cluster   {} blocks, each of ", self.cluster)?,
                    _ => f.write_str("  block     ")?,
                }
                writeln!(f, "{threads} threads, {bytes} bytes of shared memory")?;
            }
            Some(pipeline) => {
                let Pipeline { teams, stages, blocks, dynamic_shared_bytes, group, .. } = pipeline;
                writeln!(
                    f,
                    "  blocks    {blocks} at most, {} bytes of shared memory each",
                    self.shared_bytes + dynamic_shared_bytes
                )?;
                writeln!(f, "  pipeline  {teams} teams of {} threads, {stages} stages", self.threads)?;
                if *group > 1 {
                    writeln!(f, "  groups    of {group} blocks, each of which tells one sum")?;
                }
            }
        }
        write!(f, "  tile      {} elements", self.tile)?;
        if self.strategy.block.coarsened {
            write!(f, ", {} a thread", self.run)?;
        }
        let partials = if self.partials_in_output { "in the output" } else { "in the workspace" };
        match facts.exchange {
            Exchange::Nothing => Ok(()),
            Exchange::Statuses(_) => write!(f, "\n  statuses  {} bytes a tile", self.status_bytes()),
            Exchange::Partials => write!(f, "\n  partials  {partials}, {} bytes each", self.state_bytes),
        }
    }
}
