//! The launches of a hierarchical scan.

use super::launch::{Argument, Launch, Reserved, Schedule};
use crate::{constants::WORD, kernel_role::KernelRole, plan::Plan};

/// A level of section totals.
struct Level {
    totals: Argument,
    /// The position of each section's first head.
    heads: Argument,
    sections: u64,
}

impl Plan {
    /// Up through the levels of section totals, and down again.
    pub(super) fn hierarchical(&self, len: u64, alignment: u64) -> Schedule {
        use Argument::*;
        let tile = u64::from(self.tile);
        let mut workspace = Reserved::new(alignment);
        // The section totals that each level leaves: their place, that of the sections' first heads in a segmented scan,
        // and how many there are.
        let mut levels = Vec::new();
        let mut elements = len;
        // One section has a total too: this plan may have no kernel of one block.
        while elements > 1 || levels.is_empty() {
            elements = elements.div_ceil(tile);
            let totals = workspace.reserve(elements * self.state_bytes);
            // Without segments nothing is read or written there.
            let heads = if self.is_segmented() { workspace.reserve(elements * u64::from(WORD)) } else { totals };
            levels.push(Level { totals: Workspace(totals), heads: Workspace(heads), sections: elements });
        }
        let partials = match self.partials_in_output {
            true => Output,
            false => Workspace(workspace.reserve(len * self.state_bytes)),
        };
        let launch = |kernel, elements: u64, arguments| {
            Launch::new(kernel, elements.div_ceil(tile) as u32, self.threads, arguments)
        };
        let scan_totals = |(level, above): (&Level, &Level)| {
            let places = [level.totals, level.heads, above.totals, above.heads];
            launch(
                KernelRole::ScanTotals,
                level.sections,
                [&[Operator], &places[..], &[Length(level.sections)]].concat(),
            )
        };
        let carry_totals = |(level, above): (&Level, &Level)| {
            let arguments = vec![Operator, level.totals, above.totals, above.heads, Length(level.sections)];
            launch(KernelRole::CarryTotals, level.sections, arguments)
        };

        // Each level with the one above it, from the lowest on.
        let pairs = || levels.iter().zip(levels.iter().skip(1));
        let of_sections = levels.iter().take(1).flat_map(|lowest| [lowest.totals, lowest.heads]);
        let lowest: Vec<Argument> = of_sections.chain([Length(len)]).collect();
        let ends = [lowest, self.initial_value(), self.total()].concat();
        let arguments = [vec![Operator, Input], self.heads(), vec![partials], ends.clone()].concat();
        let mut launches = vec![launch(KernelRole::ScanSections, len, arguments)];
        launches.extend(pairs().map(scan_totals));
        // The topmost level fits one block, so no section of it has a prefix.
        let lower = pairs().rev().filter(|(level, _)| level.sections > tile);
        launches.extend(lower.map(carry_totals));
        let arguments = [vec![Operator, Input], self.heads(), vec![partials, Output], ends].concat();
        launches.push(launch(KernelRole::CarrySections, len, arguments));
        Schedule { workspace: workspace.scratch(), launches }
    }
}
