//! The network of a run: which applications there were in which step, and what each of them joined.

use std::collections::BTreeMap;

use scan_runtime::ScanOp;

use crate::emulated::{EventNumber, Spot, Trace, What};

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

/// What happens at once: no application of a step needs the result of another, and no thread has two of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The launch, counted from 0, and how many barriers the block had met at before.
    pub phase: (u32, u32),
    /// The applications, by column.
    pub applications: Vec<Application>,
    /// The values that only move.
    pub moves: Vec<Move>,
}

/// A run as a network: a column a position, a row a step.
#[derive(Clone, Debug)]
pub struct NetworkTrace {
    /// How many columns.
    pub columns: u64,
    /// The rows.
    pub steps: Vec<Step>,
    /// What each output covers.
    pub outputs: Vec<Interval>,
    trace: Trace,
}

/// What is known of an event's value.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    covers: Interval,
    column: Option<u64>,
    /// The stretch between two barriers of the application that it comes from (launch, block, stretch), and how many
    /// applications of that stretch stand before it.
    level: ((u32, u32, u32), u32),
}

fn join(left: Interval, right: Interval) -> Interval {
    match (left, right) {
        (Some((first, _)), Some((_, last))) => Some((first, last)),
        (one, None) | (None, one) => one,
    }
}

impl NetworkTrace {
    /// Reads the network off a trace of a scan of `length` elements.
    ///
    /// Where they fit one tile, a column is a place in shared memory, as in the pictures of the texts, and
    /// `slot_to_position` tells which position a slot of the tile stands for (they differ where the array is padded). Of
    /// several tiles, a column is the last position that a partial result covers.
    pub fn new(trace: Trace, length: u64, slot_to_position: Option<&dyn Fn(u64) -> u64>) -> Self {
        let place = |spot: &Spot| match slot_to_position {
            Some(position) if matches!(spot.buffer.as_str(), "shared values" | "shared slots") => {
                Some(position(spot.index.unsigned_abs()))
            }
            _ => None,
        };
        // Where an application's result is first written to is its column.
        let mut column_of: BTreeMap<EventNumber, u64> = BTreeMap::new();
        for event in &trace.events {
            if let What::Write { spot, value } = &event.what
                && let Some(column) = place(spot)
            {
                column_of.entry(*value).or_insert(column);
            }
        }
        let mut events: Vec<Origin> = Vec::with_capacity(trace.events.len());
        let mut rows: BTreeMap<((u32, u32), u32), Step> = BTreeMap::new();
        let mut last_of_thread: BTreeMap<((u32, u32, u32), u32), u32> = BTreeMap::new();
        let mut outputs = vec![None; length as usize];
        for (number, event) in (1..).zip(&trace.events) {
            let of = |number: EventNumber| match number {
                0 => Origin::default(),
                number => events[number as usize - 1],
            };
            let phase = (event.launch, event.phase);
            let stretch = (event.launch, event.place.block, event.phase);
            let origin = match &event.what {
                What::Read { spot, .. } if spot.buffer == "input" => {
                    let index = spot.index.unsigned_abs();
                    Origin { covers: Some((index, index)), column: Some(index), ..Origin::default() }
                }
                What::Read { spot, written } => Origin { column: place(spot).or(of(*written).column), ..of(*written) },
                What::Apply { left, right } => {
                    let (left, right) = (of(*left), of(*right));
                    let after = |operand: Origin| if operand.level.0 == stretch { operand.level.1 } else { 0 };
                    // What one thread does, it does one after the other.
                    let of_thread = last_of_thread.entry((stretch, event.place.thread)).or_default();
                    let depth = 1 + after(left).max(after(right)).max(*of_thread);
                    *of_thread = depth;
                    let result = join(left.covers, right.covers);
                    let last = result.map_or(0, |(_, last)| last);
                    let column = column_of.get(&number).copied().unwrap_or(last);
                    rows.entry((phase, depth)).or_default().applications.push(Application {
                        operands: [left.column, right.column],
                        column,
                        covered: [left.covers, right.covers],
                        result,
                        event: number,
                    });
                    Origin { covers: result, column: Some(column), level: (stretch, depth) }
                }
                What::Write { spot, value } => {
                    let origin = of(*value);
                    if spot.buffer == "output" {
                        outputs[spot.index.unsigned_abs() as usize] = origin.covers;
                    }
                    let to = place(spot);
                    if let Some(to) = to
                        && origin.column != Some(to)
                    {
                        let moves = &mut rows.entry((phase, 1)).or_default().moves;
                        moves.push(Move { from: origin.column, to, event: *value });
                    }
                    Origin { column: to.or(origin.column), ..origin }
                }
            };
            events.push(origin);
        }
        for (&(phase, _), step) in &mut rows {
            step.phase = phase;
        }
        let mut steps: Vec<Step> = rows.into_values().collect();
        for step in &mut steps {
            step.applications.sort_by_key(|application| application.column);
            step.moves.sort_by_key(|one| one.to);
        }
        let widest = steps.iter().flat_map(|step| step.applications.iter().map(|one| one.column + 1));
        let columns = widest.max().unwrap_or(0).max(length);
        NetworkTrace { columns, steps, outputs, trace }
    }

    /// What stands in each column after each step, the input first: by the operator's Rust body, along the trace. Columns
    /// that have no value yet are `None`.
    pub fn values<Op: ScanOp>(&self, op: &Op, input: &[Op::Input]) -> Vec<Vec<Option<Op::State>>> {
        let mut of_event: Vec<Option<Op::State>> = Vec::with_capacity(self.trace.events.len());
        for event in &self.trace.events {
            // What comes from no event is the identity.
            let value = |number: EventNumber| match number {
                0 => op.identity(),
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

    /// Whether every value could be followed to where it came from. What blocks tell each other by messages cannot: it
    /// travels as plain words.
    pub fn is_whole(&self) -> bool {
        self.outputs.iter().all(|covered| covered.is_none_or(|(first, _)| first == 0))
    }

    /// Applications in all steps.
    pub fn applications(&self) -> usize {
        self.steps.iter().map(|step| step.applications.len()).sum()
    }
}
