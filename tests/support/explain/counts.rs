//! What was counted, beside what the cost model says.

use std::{collections::BTreeMap, fmt};

use scan_codegen::{Cost, Count};

use crate::emulated::{Counters, Trace, What};

/// The steps of each launch of a trace: for every stretch between two barriers of a block the applications of the thread
/// that has the most of them there, added up; the most of any block.
pub fn parallel_steps(trace: &Trace, launches: usize) -> Vec<u64> {
    // Applications of each thread, by launch, block, stretch.
    let mut of_thread: BTreeMap<(u32, u32, u32, u32), u64> = BTreeMap::new();
    for event in trace.events.iter().filter(|event| matches!(event.what, What::Apply { .. })) {
        *of_thread.entry((event.launch, event.place.block, event.phase, event.place.thread)).or_default() += 1;
    }
    let mut of_stretch: BTreeMap<(u32, u32, u32), u64> = BTreeMap::new();
    for ((launch, block, phase, _), count) in of_thread {
        let max = of_stretch.entry((launch, block, phase)).or_default();
        *max = count.max(*max);
    }
    let mut of_block: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for ((launch, block, _), count) in of_stretch {
        *of_block.entry((launch, block)).or_default() += count;
    }
    let mut steps = vec![0; launches];
    for ((launch, _), count) in of_block {
        let max = &mut steps[launch as usize];
        *max = count.max(*max);
    }
    steps
}

/// The counts of a run beside the formulas. Its `Display` is a table.
#[derive(Clone, Debug)]
pub struct Counts {
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    what: String,
    counted: u64,
    formula: Count,
    /// Whether more than the formula says is no contradiction: what blocks read while they wait.
    or_more: bool,
}

impl Row {
    fn agrees(&self) -> bool {
        self.formula.contains(self.counted) || self.or_more && self.counted > self.formula.max
    }
}

impl Counts {
    /// Puts them side by side.
    pub fn new(counters: &Counters, trace: &Trace, cost: &Cost) -> Self {
        let mut rows = Vec::new();
        let steps = parallel_steps(trace, counters.launches.len());
        for ((counted, cost), steps) in counters.launches.iter().zip(&cost.launches).zip(steps) {
            // Where blocks wait for messages, they read them again.
            let waits = cost.kernel.polls_statuses();
            let mut row = |what: &str, counted, formula, or_more| {
                rows.push(Row { what: format!("{}: {what}", cost.kernel), counted, formula, or_more });
            };
            row("applications", counted.applications, cost.applications, false);
            row("steps", steps, cost.steps, false);
            row("barriers a thread", counted.barriers.into(), cost.barriers.into(), false);
            row("bytes read", counted.global_read, cost.global_read.into(), waits);
            row("bytes written", counted.global_written, cost.global_written.into(), false);
        }
        Counts { rows }
    }

    /// The rows in which the two differ; none if the model holds.
    pub fn differences(&self) -> Vec<String> {
        let differing = self.rows.iter().filter(|row| !row.agrees());
        differing.map(|row| format!("{}: counted {}, by formula {}", row.what, row.counted, row.formula)).collect()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.what.len()).max().unwrap_or(0);
        writeln!(f, "  {:width$}  {:>10}  {:>10}", "", "counted", "by formula")?;
        for row in &self.rows {
            let remark = match (row.agrees(), row.formula.contains(row.counted)) {
                (true, true) => "",
                (true, false) => "  (blocks had to wait)",
                _ => "  DIFFERS",
            };
            writeln!(f, "  {:width$}  {:>10}  {:>10}{remark}", row.what, row.counted, row.formula)?;
        }
        Ok(())
    }
}
