//! Teams and runs of look-ahead, by the sizes of elements and states.

use super::{
    measured::{
        EXCHANGED_BYTES, GROUPED_ABOVE, GROUPED_FROM, LARGE, Shape, large_run, loads_packets, run_words, teams_for,
    },
    pipeline::{OFFSET_BYTES, packets},
};
use crate::{
    constants::{COPY_ALIGNMENT, PACKET_PAYLOAD, WARP, WORD},
    element::ElementType,
    operator::OpSource,
    ring::Ring,
    segments::Segments,
    spec::ScanSpec,
};

/// The registers of a multiprocessor, and the maximum per thread.
const REGISTERS: u32 = 65536;
const MAX_REGISTERS: u32 = 255;

/// Registers of a lane of the look-ahead warp that do not hold statuses.
const OTHER_REGISTERS: u32 = 32;

/// How many times longer than usual runs may be.
const MAX_TIMES: u32 = 4;

/// The maximum number of statuses that a lane of the look-ahead warp loads at once.
pub(super) const MAX_STATUSES_OF_A_LANE: u32 = 8;

/// Bytes of an item of each array of the input, and of the output.
pub(super) struct ItemBytes {
    input: Vec<u32>,
    output: Vec<u32>,
}

impl ItemBytes {
    pub(super) fn of(operator: &OpSource, spec: &ScanSpec) -> Self {
        let bytes = |items: Vec<&ElementType>| items.into_iter().map(|item| item.size as u32).collect();
        ItemBytes {
            input: bytes(spec.input.items(&operator.input)),
            output: bytes(spec.output.items(&operator.output)),
        }
    }
}

/// Bytes of an element in all arrays of the input, of a state, and of an element in all arrays of the output; and what
/// tells where segments begin.
#[derive(Clone, Copy)]
pub(super) struct Sizes<'a> {
    pub(super) input: u32,
    pub(super) state: u32,
    pub(super) output: u32,
    pub(super) items: &'a ItemBytes,
    /// Of an initial value.
    pub(super) initial: u32,
    pub(super) segments: &'a Segments,
    /// Of the operator's tables in shared memory.
    pub(super) tables: u32,
    /// Whether lifted elements take the place of elements in a stage.
    pub(super) keeps_states: bool,
    /// Where results at consecutive places are gathered.
    pub(super) ring: Option<Ring>,
    /// The shape of operators with a heavy `combine` or `lift`.
    pub(super) shape: Option<Shape>,
}

impl<'a> Sizes<'a> {
    pub(super) fn of(operator: &OpSource, spec: &'a ScanSpec, items: &'a ItemBytes) -> Self {
        let ring = Ring::of(operator, spec);
        let [input, output] = [&items.input, &items.output].map(|items| items.iter().sum());
        let output = ring.map_or(output, |ring| ring.result);
        let [state, initial] = [&operator.state, operator.initial()].map(|element| element.size as u32);
        Sizes {
            input,
            state,
            output,
            items,
            initial,
            segments: &spec.segments,
            tables: operator.table_bytes(),
            keeps_states: false,
            ring,
            shape: None,
        }
    }

    /// The size of an element, or of a result if that is larger; of a state, if the stage keeps those.
    pub(super) fn element(self) -> u32 {
        self.input.max(self.output).max(if self.keeps_states { self.state } else { 0 })
    }

    /// Threads of a team and teams, in the order of preference.
    pub(super) fn teams(self) -> &'static [(u32, u32)] {
        match self.shape {
            Some(shape) => shape.teams,
            None => teams_for(self.element(), self.state, self.segments),
        }
    }

    /// The elements of a run: whole words, and an odd number of units if possible, so that neighbouring threads access
    /// different memory banks. At most `longest`, unless elements are large; up to four times the usual number where
    /// joining runs is so expensive that only `worthwhile` elements outweigh it.
    pub(super) fn run(self, longest: u32, worthwhile: u32) -> u32 {
        if self.element() > LARGE {
            return large_run(self.element());
        }
        let words = match self.shape {
            Some(shape) => shape.run_words,
            None => run_words(self.element(), self.state, self.segments),
        };
        let usual = WORD * words / (self.element() + self.head_bytes());
        let max = worthwhile.clamp(usual, MAX_TIMES * usual).min(longest).max(1);
        // Narrow elements share words.
        let step = |size: u32| if size < WORD { WORD / greatest_common_divisor(WORD, size) } else { 1 };
        let items = || self.items.input.iter().chain(&self.items.output);
        let step = items().map(|&size| step(size)).max().unwrap_or(1);
        let candidates = || (1..=max).rev().filter(|run| run.is_multiple_of(step));
        let factor_of_two_of = |size: u32, run: u32| match unit(size, run) {
            0 => u32::MAX,
            unit => (run * size / unit).trailing_zeros(),
        };
        let factor_of_two = |run: &u32| self.items.input.iter().map(|&size| factor_of_two_of(size, *run)).max();
        candidates().min_by_key(factor_of_two).unwrap_or(max)
    }

    /// The bytes of the source of heads per element, as far as they count for the length of a run.
    fn head_bytes(self) -> u32 {
        match self.segments {
            Segments::None | Segments::HeadBits | Segments::Rows => 0,
            Segments::HeadFlags => 1,
            Segments::Keys(key) => key.size as u32,
            Segments::Offsets(_) => OFFSET_BYTES / 2, // there are fewer slots than stages
        }
    }

    /// The statuses that a lane folds on its own, so that a warp folds all those of an iteration at once, as far as
    /// registers allow.
    pub(super) fn statuses_of_a_lane(self, multiprocessors: u32, block_threads: u32) -> u32 {
        let exchanged = EXCHANGED_BYTES / (WARP * self.state);
        let registers = (REGISTERS / block_threads.max(1)).min(MAX_REGISTERS);
        let status = (PACKET_PAYLOAD + 1) * packets(self.state); // words
        let held = registers.saturating_sub(OTHER_REGISTERS) / status;
        multiprocessors.div_ceil(WARP).min(held).min(exchanged).clamp(1, MAX_STATUSES_OF_A_LANE)
    }

    /// The blocks of a group: about as many as there are groups, so that both are few.
    pub(super) fn group(self, multiprocessors: u32) -> u32 {
        let element = self.element();
        let large = element > GROUPED_ABOVE || self.state > element && self.state >= GROUPED_FROM;
        let grouped = large && self.shape.is_none();
        if grouped { multiprocessors.isqrt().max(1) } else { 1 }
    }

    /// The bytes of shared memory for a state that a lane has loaded for another. If packets are loaded, these are
    /// whole packets, in an odd number of words; otherwise the state itself. If each lane loads its own statuses, there
    /// are none.
    pub(super) fn exchanged_bytes(self, statuses_of_a_lane: u32) -> u32 {
        match statuses_of_a_lane {
            _ if loads_packets(packets(self.state)) => WORD * ((packets(self.state) * PACKET_PAYLOAD) | 1),
            2.. => self.state,
            _ => 0,
        }
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The bytes per access to a run of `run` elements of `size` bytes: those of the widest words that divide an element,
/// or 4 if narrow elements fill such words together; else 0.
pub(super) fn unit(size: u32, run: u32) -> u32 {
    let widest = 1 << size.trailing_zeros().min(COPY_ALIGNMENT.trailing_zeros());
    match widest {
        WORD.. => widest,
        _ if (run * size).is_multiple_of(WORD) => WORD,
        _ => 0,
    }
}
