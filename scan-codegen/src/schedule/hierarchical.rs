//! The launches of a hierarchical scan.

use super::launch::{Argument, Launch, Reserved, Schedule};
use crate::{constants::WORD, plan::Plan};

/// A level of section totals.
struct Level {
    totals: Vec<Argument>,
    /// The position of each section's first head.
    heads: Vec<Argument>,
    sections: u64,
}

impl Plan {
    /// Up through the levels of section totals, and down again.
    pub(super) fn hierarchical(&self, len: u64, alignment: u64) -> Schedule {
        use Argument::*;
        let tile = u64::from(self.tile);
        let mut workspace = Reserved::new(alignment);
        // levels[k] is the array of section totals that level k leaves: its place, that of the sections' first heads in
        // a segmented scan, and how many sections there are.
        let mut levels = Vec::new();
        let mut elements = len;
        // One section has a total too: this plan may have no kernel of one block.
        while elements > 1 || levels.is_empty() {
            elements = elements.div_ceil(tile);
            let totals = workspace.reserve(elements * self.state_bytes);
            let heads = if self.is_segmented() {
                vec![Workspace(workspace.reserve(elements * u64::from(WORD)))]
            } else {
                Vec::new()
            };
            levels.push(Level { totals: vec![Workspace(totals)], heads, sections: elements });
        }
        let partials = match self.partials_in_output {
            true => Output,
            false => Workspace(workspace.reserve(len * self.state_bytes)),
        };
        let launch = |kernel, elements: u64, arguments| {
            Launch::new(kernel, elements.div_ceil(tile) as u32, self.threads, arguments)
        };
        let scan_totals = |pair: &[Level]| {
            let (level, above) = (&pair[0], &pair[1]);
            let places = [&level.totals[..], &level.heads, &above.totals, &above.heads].concat();
            launch("scan_totals", level.sections, [vec![Operator], places, vec![Length(level.sections)]].concat())
        };
        let carry_totals = |pair: &[Level]| {
            let (level, above) = (&pair[0], &pair[1]);
            let places = [&level.totals[..], &above.totals, &above.heads].concat();
            launch("carry_totals", level.sections, [vec![Operator], places, vec![Length(level.sections)]].concat())
        };

        let lowest = [&levels[0].totals[..], &levels[0].heads, &[Length(len)]].concat();
        let ends = [lowest, self.initial_value(), self.total()].concat();
        let arguments = [vec![Operator, Input], self.heads(), vec![partials], ends.clone()].concat();
        let mut launches = vec![launch("scan_sections", len, arguments)];
        launches.extend(levels.windows(2).map(scan_totals));
        // The topmost level fits one block, so no section of it has a prefix.
        let lower = levels.windows(2).rev().filter(|pair| pair[0].sections > tile);
        launches.extend(lower.map(carry_totals));
        let arguments = [vec![Operator, Input], self.heads(), vec![partials, Output], ends].concat();
        launches.push(launch("carry_sections", len, arguments));
        Schedule { workspace: workspace.scratch(), launches }
    }
}
