//! The network of a run: which applications there were in which step, and what each of them joined.

use std::collections::{BTreeMap, BTreeSet};

use scan_runtime::ScanOp;

use crate::emulated::{Event, EventNumber, Spot, Trace, What};

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
    /// Its event.
    pub event: EventNumber,
}

/// A value that moves to another column without being combined; `from` is `None` where the identity is put there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// From this column
    pub from: Option<u64>,
    /// to this one.
    pub to: u64,
    /// What it covers.
    pub covered: Interval,
    /// The event of its value.
    pub event: EventNumber,
}

/// What happens at once: no application of a step needs the result of another, and no thread has two of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The launch, counted from 0, and how many barriers the block had met at before.
    pub phase: (u32, u32),
    /// The block.
    pub block: u32,
    /// The column of the first place in its tile.
    pub base: u64,
    /// The lines of the generated text that do it.
    pub lines: BTreeSet<u32>,
    /// The threads that do it.
    pub threads: BTreeSet<u32>,
    /// The elements that are read from global memory: the column and the event of each.
    pub loads: Vec<(u64, EventNumber)>,
    /// The applications, by column.
    pub applications: Vec<Application>,
    /// The values that only move.
    pub moves: Vec<Move>,
    /// The words that are stored atomically, and their bytes.
    pub published: Vec<(Spot, Vec<u8>)>,
    /// The words that are loaded atomically, in the same way.
    pub polled: Vec<(Spot, Vec<u8>)>,
    /// The results that are written to global memory: the column of each, and the event of its value.
    pub results: Vec<(u64, EventNumber)>,
}

impl Step {
    fn is_of_network(&self) -> bool {
        !self.applications.is_empty() || !self.moves.is_empty()
    }
}

/// The kinds of steps between two barriers, in the order in which they follow one number of applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Load,
    Network,
    Publish,
    Poll,
    Store,
}

/// A run as a network: a column a position, a row a step.
#[derive(Clone, Debug)]
pub struct NetworkTrace {
    /// How many columns.
    pub columns: u64,
    /// The rows: steps with an application or a move.
    pub steps: Vec<Step>,
    /// All steps, in the order in which they ended.
    pub all_steps: Vec<Step>,
    /// What each output covers.
    pub outputs: Vec<Interval>,
    /// What the emulator recorded.
    pub trace: Trace,
}

/// What is known of an event's value.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    covers: Interval,
    column: Option<u64>,
    /// The stretch between two barriers of the application that it comes from, and how many applications of that
    /// stretch stand before it.
    level: (Stretch, u32),
}

/// Launch, block, and how many barriers the block had met at.
type Stretch = (u32, u32, u32);

fn stretch(event: &Event) -> Stretch {
    (event.launch, event.place.block, event.phase)
}

/// The steps of a run, and the last event of each.
#[derive(Default)]
struct Rows(BTreeMap<(Stretch, u32, Kind), (Step, EventNumber)>);

impl Rows {
    /// The step that an event belongs to: `depth` applications of its thread stand before it since the last barrier.
    fn step(&mut self, (event, number, base): (&Event, EventNumber, u64), depth: u32, kind: Kind) -> &mut Step {
        let (step, end) = self.0.entry((stretch(event), depth, kind)).or_default();
        (step.phase, step.block, step.base) = ((event.launch, event.phase), event.place.block, base);
        step.lines.insert(event.place.line);
        step.threads.insert(event.place.thread);
        *end = number;
        step
    }
}

fn join(left: Interval, right: Interval) -> Interval {
    match (left, right) {
        (Some((first, _)), Some((_, last))) => Some((first, last)),
        (one, None) | (None, one) => one,
    }
}

/// The column of the first place in the tile that an event's block works on: that of the elements which it read last.
fn bases(trace: &Trace, tile: u64) -> Vec<u64> {
    let mut of_block: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let base = trace.events.iter().map(|event| {
        let base = of_block.entry((event.launch, event.place.block)).or_default();
        if let What::Read { spot, .. } = &event.what
            && spot.buffer == "input"
        {
            *base = spot.index.unsigned_abs() / tile * tile;
        }
        *base
    });
    base.collect()
}

impl NetworkTrace {
    /// Reads the network off a trace of a scan of `length` elements.
    ///
    /// A column is a place in the shared memory of a tile, as in the pictures of the texts, and `slot_to_position`
    /// gives the position that a slot of the tile stands for (they differ where the array is padded). Partial results
    /// that are kept elsewhere stand in the column of their right operand.
    pub fn new(trace: Trace, length: u64, tile: u32, slot_to_position: &dyn Fn(u64) -> u64) -> Self {
        let bases = bases(&trace, tile.into());
        let place = |spot: &Spot, base: u64| match spot.buffer.as_str() {
            "shared values" | "shared slots" => Some(base + slot_to_position(spot.index.unsigned_abs())),
            "output" => Some(spot.index.unsigned_abs()),
            _ => None,
        };
        // Where an application's result is first written to is its column.
        let mut column_of: BTreeMap<EventNumber, u64> = BTreeMap::new();
        for (event, &base) in trace.events.iter().zip(&bases) {
            if let What::Write { spot, value } = &event.what
                && let Some(column) = place(spot, base)
            {
                column_of.entry(*value).or_insert(column);
            }
        }
        let mut events: Vec<Origin> = Vec::with_capacity(trace.events.len());
        let mut rows = Rows::default();
        let mut last_of_thread: BTreeMap<(Stretch, u32), u32> = BTreeMap::new();
        let mut outputs = vec![None; length as usize];
        for ((number, event), &base) in (1..).zip(&trace.events).zip(&bases) {
            let of = |number: EventNumber| match number {
                0 => Origin::default(),
                number => events[number as usize - 1],
            };
            let (stretch, here) = (stretch(event), (event, number, base));
            // What one thread does, it does one after the other.
            let of_thread = last_of_thread.entry((stretch, event.place.thread)).or_default();
            let origin = match &event.what {
                What::Read { spot, .. } if spot.buffer == "input" => {
                    let index = spot.index.unsigned_abs();
                    rows.step(here, *of_thread, Kind::Load).loads.push((index, number));
                    Origin { covers: Some((index, index)), column: Some(index), ..Origin::default() }
                }
                What::Read { spot, written } => {
                    Origin { column: place(spot, base).or(of(*written).column), ..of(*written) }
                }
                What::Lift { read, .. } => of(*read),
                What::Apply { left, right, .. } => {
                    let (left, right) = (of(*left), of(*right));
                    let after = |operand: Origin| if operand.level.0 == stretch { operand.level.1 } else { 0 };
                    let depth = 1 + after(left).max(after(right)).max(*of_thread);
                    *of_thread = depth;
                    let result = join(left.covers, right.covers);
                    let last = result.map_or(base, |(_, last)| last);
                    let column = column_of.get(&number).copied().or(right.column).unwrap_or(last);
                    rows.step(here, depth, Kind::Network).applications.push(Application {
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
                    let (to, is_result) = (place(spot, base), spot.buffer == "output");
                    if let Some(to) = to
                        && origin.column != Some(to)
                        && (!is_result || origin.column.is_some())
                    {
                        let from = origin.column;
                        let one = Move { from, to, covered: origin.covers, event: *value };
                        rows.step(here, (*of_thread).max(1), Kind::Network).moves.push(one);
                    }
                    if is_result {
                        let index = spot.index.unsigned_abs();
                        outputs[index as usize] = origin.covers;
                        rows.step(here, (*of_thread).max(1), Kind::Store).results.push((index, *value));
                    }
                    Origin { column: to.or(origin.column), ..origin }
                }
                What::Load { spot, bytes } => {
                    rows.step(here, *of_thread, Kind::Poll).polled.push((spot.clone(), bytes.clone()));
                    Origin::default()
                }
                What::Store { spot, bytes } => {
                    rows.step(here, *of_thread, Kind::Publish).published.push((spot.clone(), bytes.clone()));
                    Origin::default()
                }
                What::Copy { .. } | What::Wait { .. } => Origin::default(),
            };
            events.push(origin);
        }
        // A step ends with its last event, and not before an earlier one of its block.
        let (mut ended, mut last) = (Vec::new(), ((0, 0, 0), 0));
        for ((stretch, ..), (mut step, end)) in rows.0 {
            step.applications.sort_by_key(|application| application.column);
            step.moves.sort_by_key(|one| one.to);
            step.loads.sort_unstable();
            step.results.sort_unstable();
            last = (stretch, if last.0 == stretch { end.max(last.1) } else { end });
            ended.push((last.1, step));
        }
        ended.sort_by_key(|&(end, _)| end);
        let all_steps: Vec<Step> = ended.into_iter().map(|(_, step)| step).collect();
        let steps: Vec<Step> = all_steps.iter().filter(|step| step.is_of_network()).cloned().collect();
        let widest = steps.iter().flat_map(|step| step.applications.iter().map(|one| one.column + 1));
        let columns = widest.max().unwrap_or(0).max(length);
        NetworkTrace { columns, steps, all_steps, outputs, trace }
    }

    /// The value of each event, by the operator's Rust body: what it makes of the operands that the emulator recorded.
    pub fn event_values<Op: ScanOp>(&self, op: &Op, input: &[Op::Input]) -> Vec<Option<Op::State>> {
        let mut of_event: Vec<Option<Op::State>> = Vec::with_capacity(self.trace.events.len());
        for event in &self.trace.events {
            let value = match &event.what {
                What::Read { spot, .. } if spot.buffer == "input" => {
                    input.get(spot.index.unsigned_abs() as usize).map(|&x| op.lift(x))
                }
                What::Read { written: from, .. } | What::Write { value: from, .. } => value(op, &of_event, *from),
                // SAFETY: these are the bytes of a state that the kernel made of an input.
                What::Lift { state, .. } => Some(unsafe { state.as_ptr().cast::<Op::State>().read_unaligned() }),
                What::Apply { operands: [left, right], .. } => {
                    // SAFETY: these are the bytes of two states that the operator was applied to.
                    let [left, right] =
                        [left, right].map(|bytes| unsafe { bytes.as_ptr().cast::<Op::State>().read_unaligned() });
                    Some(op.combine(left, right))
                }
                What::Load { .. } | What::Store { .. } | What::Copy { .. } | What::Wait { .. } => None,
            };
            of_event.push(value);
        }
        of_event
    }

    /// What stands in each column after each step, the input first. Columns that have no value yet are `None`.
    pub fn values<Op: ScanOp>(&self, op: &Op, input: &[Op::Input]) -> Vec<Vec<Option<Op::State>>> {
        let of_event = self.event_values(op, input);
        let mut columns: Vec<Option<Op::State>> = input.iter().map(|&x| Some(op.lift(x))).collect();
        columns.resize(self.columns as usize, None);
        let mut rows = vec![columns.clone()];
        for step in &self.steps {
            for one in &step.moves {
                columns[one.to as usize] = value(op, &of_event, one.event);
            }
            for application in &step.applications {
                columns[application.column as usize] = value(op, &of_event, application.event);
            }
            rows.push(columns.clone());
        }
        rows
    }

    /// Whether every value could be followed to where it came from. Not so what blocks read in tile statuses, which
    /// are plain words.
    pub fn is_whole(&self) -> bool {
        self.all_steps.iter().all(|step| step.polled.is_empty())
    }

    /// Applications in all steps.
    pub fn applications(&self) -> usize {
        self.steps.iter().map(|step| step.applications.len()).sum()
    }
}

/// The value of an event. What comes from no event is the identity.
pub(super) fn value<Op: ScanOp>(op: &Op, of_event: &[Option<Op::State>], number: EventNumber) -> Option<Op::State> {
    match number {
        0 => op.identity(),
        number => of_event[number as usize - 1],
    }
}
