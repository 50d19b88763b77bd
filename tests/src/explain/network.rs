//! The network of a run: which applications there were in which step, and what each of them joined.

use std::collections::BTreeMap;

use scan_runtime::ScanOp;

use crate::emulator::{EventNumber, Trace, What};

/// The positions of the input that a partial result covers, first and last; `None` for the empty partial.
pub type Interval = Option<(u64, u64)>;

/// One application of the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// The columns of the left and the right operand; `None` where it is the identity, or an initial value.
    pub operands: [Option<u64>; 2],
    /// The column of the result.
    pub column: u64,
    /// What the operands cover, and
    pub covered: [Interval; 2],
    /// what the result covers.
    pub result: Interval,
    event: EventNumber,
}

/// A value that moves to another column without being combined; `from` is `None` where the identity is put there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// From this column
    pub from: Option<u64>,
    /// to this one.
    pub to: u64,
    event: EventNumber,
}

/// What happens at once: no application of a step needs the result of another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// How many barriers the block had met at before.
    pub phase: u32,
    /// The applications, by column.
    pub applications: Vec<Application>,
    /// The values that only move.
    pub moves: Vec<Move>,
}

/// A run of one block, as a network: a column a position, a row a step.
#[derive(Clone, Debug)]
pub struct NetworkTrace {
    /// How many columns.
    pub columns: u64,
    /// The rows.
    pub steps: Vec<Step>,
    /// What each output covers.
    pub outputs: Vec<Interval>,
    trace: Trace,
    events: Vec<Origin>,
}

/// What is known of an event's value.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    covers: Interval,
    column: Option<u64>,
    /// The phase of the application that it comes from, and how many of that phase came before it.
    level: (u32, u32),
}

fn join(left: Interval, right: Interval) -> Interval {
    match (left, right) {
        (Some((first, _)), Some((_, last))) => Some((first, last)),
        (one, None) | (None, one) => one,
    }
}

impl NetworkTrace {
    /// Reads the network off the trace of a run with one launch of one block. `slot_to_position` tells which position a slot
    /// of the shared array `tile` stands for (they differ where the array is padded).
    pub fn new(trace: Trace, length: u64, slot_to_position: impl Fn(u64) -> u64) -> Self {
        let in_tile = |buffer: &str| buffer.starts_with("shared tile");
        let position = |index: i64| slot_to_position(index.unsigned_abs());
        // Where an application's result is first written to is its column.
        let mut column_of: BTreeMap<EventNumber, u64> = BTreeMap::new();
        for event in &trace.events {
            if let What::Write { spot, value } = &event.what
                && in_tile(&spot.buffer)
            {
                column_of.entry(*value).or_insert_with(|| position(spot.index));
            }
        }
        let mut events: Vec<Origin> = Vec::with_capacity(trace.events.len());
        let mut rows: BTreeMap<(u32, u32), Step> = BTreeMap::new();
        let mut outputs = vec![None; length as usize];
        for (number, event) in (1..).zip(&trace.events) {
            let of = |number: EventNumber| match number {
                0 => Origin::default(),
                number => events[number as usize - 1],
            };
            let origin = match &event.what {
                What::Read { spot, .. } if spot.buffer == "input" => {
                    let index = spot.index.unsigned_abs();
                    Origin { covers: Some((index, index)), column: Some(index), level: (0, 0) }
                }
                What::Read { spot, written } => {
                    let column = if in_tile(&spot.buffer) { Some(position(spot.index)) } else { of(*written).column };
                    Origin { column, ..of(*written) }
                }
                What::Apply { left, right } => {
                    let (left, right) = (of(*left), of(*right));
                    let after = |operand: Origin| {
                        if operand.level.0 == event.phase { operand.level.1 } else { 0 }
                    };
                    let level = (event.phase, 1 + after(left).max(after(right)));
                    let result = join(left.covers, right.covers);
                    let last = result.map_or(0, |(_, last)| last);
                    let column = column_of.get(&number).copied().unwrap_or(last);
                    let step = rows.entry(level).or_insert_with(|| Step { phase: event.phase, ..Step::default() });
                    step.applications.push(Application {
                        operands: [left.column, right.column],
                        column,
                        covered: [left.covers, right.covers],
                        result,
                        event: number,
                    });
                    Origin { covers: result, column: Some(column), level }
                }
                What::Write { spot, value } => {
                    let value_origin = of(*value);
                    if spot.buffer == "output" {
                        outputs[spot.index.unsigned_abs() as usize] = value_origin.covers;
                    }
                    let applied = trace.event(*value).is_some_and(|event| matches!(event.what, What::Apply { .. }));
                    let to = in_tile(&spot.buffer).then(|| position(spot.index));
                    if let (Some(to), false) = (to, applied)
                        && value_origin.column != Some(to)
                        // A result that goes by way of a register to where it belongs has its own column already.
                        && column_of.get(value) == Some(&to)
                    {
                        let step = rows.entry((event.phase, 1)).or_default();
                        step.phase = event.phase;
                        step.moves.push(Move { from: value_origin.column, to, event: *value });
                    }
                    Origin { column: to.or(value_origin.column), ..value_origin }
                }
            };
            events.push(origin);
        }
        let mut steps: Vec<Step> = rows.into_values().collect();
        for step in &mut steps {
            step.applications.sort_by_key(|application| application.column);
            step.moves.sort_by_key(|one| one.to);
        }
        let widest = steps.iter().flat_map(|step| step.applications.iter().map(|one| one.column + 1));
        let columns = widest.max().unwrap_or(0).max(length);
        NetworkTrace { columns, steps, outputs, trace, events }
    }

    /// What stands in each column after each step, the input first: by the operator's Rust body, along the trace. Columns
    /// that have no value yet are `None`.
    pub fn values<Op: ScanOp>(
        &self,
        op: &Op,
        input: &[Op::Input],
        initial_value: Option<Op::State>,
    ) -> Vec<Vec<Option<Op::State>>> {
        let mut of_event: Vec<Option<Op::State>> = Vec::with_capacity(self.events.len());
        for event in &self.trace.events {
            // What comes from no event is the identity, or else the initial value.
            let value = |number: EventNumber| match number {
                0 => initial_value.or_else(|| op.identity()),
                number => of_event[number as usize - 1],
            };
            let value = match &event.what {
                What::Read { spot, .. } if spot.buffer == "input" => {
                    input.get(spot.index.unsigned_abs() as usize).map(|&x| op.lift(x))
                }
                What::Read { written, .. } => value(*written),
                What::Apply { left, right } => match (value(*left), value(*right)) {
                    (Some(left), Some(right)) => Some(op.combine(left, right)),
                    _ => None,
                },
                What::Write { value: written, .. } => value(*written),
            };
            of_event.push(value);
        }
        let mut columns: Vec<Option<Op::State>> = input.iter().map(|&x| Some(op.lift(x))).collect();
        columns.resize(self.columns as usize, None);
        let mut rows = vec![columns.clone()];
        for step in &self.steps {
            for one in &step.moves {
                columns[one.to as usize] = match one.event {
                    0 => op.identity(),
                    event => of_event[event as usize - 1],
                };
            }
            for application in &step.applications {
                columns[application.column as usize] = of_event[application.event as usize - 1];
            }
            rows.push(columns.clone());
        }
        rows
    }

    /// Applications in all steps.
    pub fn applications(&self) -> usize {
        self.steps.iter().map(|step| step.applications.len()).sum()
    }
}
