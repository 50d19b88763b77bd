//! What segmented scans are tested with: heads from every source, patterns of them that decide, and an operator that finds
//! every leak from one segment into the next.

use std::ops::Range;

use scan_codegen::{OffsetWidth, Segments};
use scan_runtime::{
    __private::bytes_of, Host, Outcome, Prepared, Run, Scan, ScanElement, ScanOp, scan_element, scan_op,
};

use crate::operators::{BROKEN, COVERS, EMPTY, Span, mixed, test_operators};

/// A key of two words, without padding.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// The first word.
    pub shop: u32,
    /// Half of the second.
    pub till: u16,
    /// The other half.
    pub day: i16,
}

/// What tells where segments begin.
#[derive(Clone, Debug)]
pub enum HeadSource {
    /// Bytes, some heads of which are not 1.
    Flags(Vec<u8>),
    /// Truth values.
    Bools(Vec<bool>),
    /// Bits.
    Bits(Vec<u32>),
    /// Keys of three bytes.
    ByteKeys(Vec<[u8; 3]>),
    /// Keys that come back.
    Keys(Vec<u32>),
    /// Keys that differ in one of several words.
    WideKeys(Vec<Key>),
    /// Keys wider than any word.
    WidestKeys(Vec<u128>),
    /// Positions, empty segments among them, the length at the end; signed, as most programs have them.
    Offsets(Vec<i32>),
    /// Positions, without the length.
    LongOffsets(Vec<u64>),
    /// The length of rows, which need no memory. Other patterns have no such length, so it is none of [`HEAD_SOURCES`].
    Rows(usize),
}

/// How many ways there are to tell.
pub const HEAD_SOURCES: usize = 9;

/// Where segments begin, and what tells it.
#[derive(Clone, Debug)]
pub struct Heads {
    /// Whether each element begins a segment; the first does, whatever stands here.
    pub begins: Vec<bool>,
    /// What tells it.
    pub source: HeadSource,
}

/// A run that restarts where `$heads` tell.
macro_rules! restarting {
    ($scan:expr, $heads:expr) => {
        match &$heads.source {
            HeadSource::Flags(flags) => $scan.by_flags(flags),
            HeadSource::Bools(flags) => $scan.by_flags(flags),
            HeadSource::Bits(bits) => $scan.by_bits(bits),
            HeadSource::ByteKeys(keys) => $scan.by_keys(keys),
            HeadSource::Keys(keys) => $scan.by_keys(keys),
            HeadSource::WideKeys(keys) => $scan.by_keys(keys),
            HeadSource::WidestKeys(keys) => $scan.by_keys(keys),
            HeadSource::Offsets(offsets) => $scan.by_offsets(offsets),
            HeadSource::LongOffsets(offsets) => $scan.by_offsets(offsets),
            HeadSource::Rows(len) => $scan.rows(*len),
        }
    };
}

impl Heads {
    /// A run of a scan, or a reduction, that restarts where they tell.
    pub fn of<'a, Op: ScanOp, R: Outcome>(&'a self, scan: &'a Scan<Op, R>) -> Run<'a, Op, Host, R> {
        restarting!(scan, self)
    }

    /// The same of a handle.
    pub fn of_handle<'a, Op: ScanOp, R: Outcome>(&'a self, handle: &'a Prepared<Op, Host, R>) -> Run<'a, Op, Host, R> {
        restarting!(handle, self)
    }

    /// Tells where segments begin, in one of the ways.
    pub fn new(head_source: usize, begins: &[bool]) -> Self {
        // The number of the segment that each element is in.
        let mut numbers = Vec::with_capacity(begins.len());
        let mut number = 0_u64;
        for (index, &begins) in begins.iter().enumerate() {
            number += u64::from(begins && index > 0);
            numbers.push(number);
        }
        let keys = numbers.iter().copied();
        let starts = || begins.iter().enumerate().filter(|(_, begins)| **begins).map(|(index, _)| index as u64);
        let source = match head_source % HEAD_SOURCES {
            0 => HeadSource::Flags((0..).zip(begins).map(|(i, &begins)| u8::from(begins) << (mixed(i) % 8)).collect()),
            1 => HeadSource::Bools(begins.to_vec()),
            2 => HeadSource::Bits(begins.chunks(32).map(word).collect()),
            3 => HeadSource::ByteKeys(keys.map(|key| [7, (key % 2) as u8, (key / 2 % 2) as u8]).collect()),
            4 => HeadSource::Keys(keys.map(|key| [1, 2][(key % 2) as usize]).collect()),
            5 => HeadSource::WideKeys(
                keys.map(|key| Key { shop: (key / 2) as u32, till: 3, day: -((key % 2) as i16) }).collect(),
            ),
            6 => HeadSource::WidestKeys(keys.map(|key| u128::from(key % 3) << (64 * (key / 3 % 2))).collect()),
            7 => {
                // Some segments are empty: one before some starts, two before others.
                let empty = |start: u64| std::iter::repeat_n(start as i32, [1, 2, 1, 3][(mixed(start) % 4) as usize]);
                HeadSource::Offsets(starts().flat_map(empty).chain([begins.len() as i32]).collect())
            }
            _ => HeadSource::LongOffsets(starts().collect()),
        };
        Heads { begins: begins.to_vec(), source }
    }

    /// Rows of so many elements.
    pub fn rows(row: usize, len: usize) -> Self {
        Heads { begins: (0..len).map(|index| index % row == 0).collect(), source: HeadSource::Rows(row) }
    }

    /// Offsets from 0 to the length, so that each segment has an index: some are empty, as in [`new`](Heads::new), some
    /// at both ends. Where only the first element begins a segment, this is the only one.
    pub fn covering(long: bool, begins: &[bool]) -> Self {
        let mut begins = begins.to_vec();
        begins.iter_mut().take(1).for_each(|first| *first = true);
        let mut heads = Heads::new(7, &begins);
        let HeadSource::Offsets(offsets) = &mut heads.source else { return heads };
        *offsets = match begins.iter().filter(|begins| **begins).count() {
            1 => vec![0, begins.len() as i32],
            _ => [&[0, 0], &offsets[..], &[begins.len() as i32]].concat(),
        };
        if long {
            heads.source = HeadSource::LongOffsets(offsets.iter().map(|offset| *offset as u64).collect());
        }
        heads
    }

    /// Offsets that leave elements of an input out: those before the first one, those behind the last one, or all; and
    /// some that do not ascend, or are negative. Devices do not ask for that.
    pub fn uncovering(long: bool, len: usize) -> Vec<Self> {
        let (third, half) = (len / 3, len / 2);
        let offsets = [
            vec![third, half, len],
            vec![0, third, half],
            vec![third, third, half, half],
            (third..=half).step_by(7).chain([half, half]).collect(),
            vec![len - len.min(1), len],
            vec![half, half],
            vec![0, 0],
            vec![len; 3],
            vec![half, third, len],
            vec![0, third, half, -1_i64 as usize],
        ];
        let source = |offsets: Vec<usize>| match long {
            true => HeadSource::LongOffsets(offsets.into_iter().map(|offset| offset as u64).collect()),
            false => HeadSource::Offsets(offsets.into_iter().map(|offset| offset as i32).collect()),
        };
        offsets.map(|offsets| Heads { begins: vec![false; len], source: source(offsets) }).into()
    }

    /// The same, where offsets tell an empty segment behind the last element.
    pub fn with_an_empty_one_at_the_end(mut self) -> Self {
        let len = self.begins.len();
        match &mut self.source {
            HeadSource::Offsets(offsets) => offsets.extend([len as i32; 2]),
            HeadSource::LongOffsets(offsets) => offsets.extend([len as u64; 2]),
            _ => {}
        }
        self
    }

    /// The segments of an input of this length, of rows and of offsets that cover it.
    pub fn segments_of(&self, len: usize) -> Vec<Range<usize>> {
        let between = |offsets: Vec<usize>| offsets.windows(2).map(|pair| pair[0].min(len)..pair[1].min(len)).collect();
        match &self.source {
            HeadSource::Rows(row) => (0..len / row).map(|index| index * row..(index + 1) * row).collect(),
            HeadSource::Offsets(offsets) => between(offsets.iter().map(|offset| *offset as u32 as usize).collect()),
            HeadSource::LongOffsets(offsets) => between(offsets.iter().map(|offset| *offset as usize).collect()),
            _ => Vec::new(),
        }
    }

    /// What a plan must know of them.
    pub fn segments(&self) -> Segments {
        match self.source {
            HeadSource::Flags(_) | HeadSource::Bools(_) => Segments::HeadFlags,
            HeadSource::Bits(_) => Segments::HeadBits,
            HeadSource::ByteKeys(_) => Segments::Keys(<[u8; 3]>::layout()),
            HeadSource::Keys(_) => Segments::Keys(u32::layout()),
            HeadSource::WideKeys(_) => Segments::Keys(Key::layout()),
            HeadSource::WidestKeys(_) => Segments::Keys(u128::layout()),
            HeadSource::Offsets(_) => Segments::Offsets(OffsetWidth::U32),
            HeadSource::LongOffsets(_) => Segments::Offsets(OffsetWidth::U64),
            HeadSource::Rows(_) => Segments::Rows,
        }
    }

    /// Their bytes in memory.
    pub fn bytes(&self) -> Vec<u8> {
        fn all<T: ScanElement>(items: &[T]) -> Vec<u8> {
            items.iter().flat_map(bytes_of).collect()
        }
        match &self.source {
            HeadSource::Flags(flags) => flags.clone(),
            HeadSource::Bools(flags) => all(flags),
            HeadSource::Bits(words) => all(words),
            HeadSource::ByteKeys(keys) => all(keys),
            HeadSource::Keys(keys) => all(keys),
            HeadSource::WideKeys(keys) => all(keys),
            HeadSource::WidestKeys(keys) => all(keys),
            HeadSource::Offsets(offsets) => all(offsets),
            HeadSource::LongOffsets(offsets) => all(offsets),
            HeadSource::Rows(_) => Vec::new(),
        }
    }

    /// Bytes of one of them: of a flag, a word of bits, a key or an offset.
    pub fn item_bytes(&self) -> usize {
        match &self.source {
            HeadSource::Rows(_) => 0,
            HeadSource::Flags(_) | HeadSource::Bools(_) => 1,
            HeadSource::ByteKeys(_) => 3,
            HeadSource::Bits(_) | HeadSource::Keys(_) | HeadSource::Offsets(_) => 4,
            HeadSource::WideKeys(_) | HeadSource::LongOffsets(_) => 8,
            HeadSource::WidestKeys(_) => 16,
        }
    }

    /// How many offsets there are, or how many elements a row has.
    pub fn head_count(&self) -> u64 {
        match &self.source {
            HeadSource::Offsets(offsets) => offsets.len() as u64,
            HeadSource::LongOffsets(offsets) => offsets.len() as u64,
            HeadSource::Rows(row) => *row as u64,
            _ => 0,
        }
    }
}

fn word(begins: &[bool]) -> u32 {
    (0..).zip(begins).map(|(bit, &begins)| u32::from(begins) << bit).sum()
}

/// Runs `$body` with `$scan` restarting where `$heads` tell: `$scan` is a scan of host or device memory, and `$place` makes of
/// a host vector what that takes.
#[macro_export]
macro_rules! restart {
    ($scan:expr, $heads:expr, |$vector:ident| $place:expr, |$restarting:ident| $body:expr) => {
        match &$heads.source {
            $crate::segments::HeadSource::Flags($vector) => {
                let heads = $place;
                let $restarting = $scan.by_flags(&heads);
                $body
            }
            $crate::segments::HeadSource::Bools($vector) => {
                let heads = $place;
                let $restarting = $scan.by_flags(&heads);
                $body
            }
            $crate::segments::HeadSource::Bits($vector) => {
                let heads = $place;
                let $restarting = $scan.by_bits(&heads);
                $body
            }
            $crate::segments::HeadSource::ByteKeys($vector) => {
                let heads = $place;
                let $restarting = $scan.by_keys(&heads);
                $body
            }
            $crate::segments::HeadSource::Keys($vector) => {
                let heads = $place;
                let $restarting = $scan.by_keys(&heads);
                $body
            }
            $crate::segments::HeadSource::WideKeys($vector) => {
                let heads = $place;
                let $restarting = $scan.by_keys(&heads);
                $body
            }
            $crate::segments::HeadSource::WidestKeys($vector) => {
                let heads = $place;
                let $restarting = $scan.by_keys(&heads);
                $body
            }
            $crate::segments::HeadSource::Offsets($vector) => {
                let heads = $place;
                let $restarting = $scan.by_offsets(&heads);
                $body
            }
            $crate::segments::HeadSource::LongOffsets($vector) => {
                let heads = $place;
                let $restarting = $scan.by_offsets(&heads);
                $body
            }
            $crate::segments::HeadSource::Rows(_) => unreachable!("rows are none of the head_sources"),
        }
    };
}

/// A pattern of heads: its name, and whether an element of so many begins a segment, with tiles of a size.
pub type Pattern = (&'static str, fn(index: usize, len: usize, tile: usize) -> bool);

/// The patterns that decide.
pub const PATTERNS: [Pattern; 14] = [
    ("none, the first flag clear", |_, _, _| false),
    ("the first", |i, _, _| i == 0),
    ("all", |_, _, _| true),
    ("all but the first, its flag clear", |i, _, _| i > 0),
    ("at tile edges", |i, _, tile| i.is_multiple_of(tile)),
    ("after tile edges", |i, _, tile| i % tile == 1),
    ("before tile edges", |i, _, tile| i % tile == tile - 1),
    ("at every third tile", |i, _, tile| i % (3 * tile) == tile + tile / 3),
    ("the last", |i, len, _| i + 1 == len),
    ("half in one, the rest of 16", |i, len, _| i == 0 || (i >= len / 2 && (i - len / 2).is_multiple_of(16))),
    ("of 32 and one more", |i, _, _| matches!(i % 65, 0 | 32)),
    ("random, one in 3", |i, _, _| mixed(i as u64).is_multiple_of(3)),
    ("random, one in 40", |i, _, _| mixed(i as u64 + 7).is_multiple_of(40)),
    ("random, one in three tiles", |i, _, tile| mixed(i as u64).is_multiple_of(3 * tile as u64)),
];

/// Where segments begin by a pattern.
pub fn begins(pattern: Pattern, len: usize, tile: usize) -> Vec<bool> {
    (0..len).map(|index| pattern.1(index, len, tile)).collect()
}

/// A value that stands before the first element of any segment, and of no other kind.
pub const SEED: u64 = 3;

/// Places of the line are this far apart from one segment to the next.
const SEGMENT: u64 = 1 << 32;

/// The interval monoid with a line of its own for each segment: what leaks across a head is broken, and stays so. The initial
/// value fits the first element of every segment, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Restart;

#[scan_op]
impl ScanOp for Restart {
    type Element = Span;
    const IDENTITY: Span = Span { first: 0, last: 0, kind: EMPTY };
    fn combine(a: Span, b: Span) -> Span {
        if a.kind == EMPTY {
            b
        } else if b.kind == EMPTY {
            a
        } else if a.kind == COVERS && b.kind == COVERS && a.last + 1 == b.first {
            Span { first: a.first, last: b.last, kind: COVERS }
        } else if a.kind == SEED && b.kind == COVERS && b.first % SEGMENT == 1 {
            Span { first: b.first - 1, last: b.last, kind: COVERS }
        } else {
            Span { first: 0, last: 0, kind: BROKEN }
        }
    }
}

test_operators! {
    () Restart, Restart, |i| Span { first: i + 1, last: i + 1, kind: COVERS }, Span { first: 0, last: 0, kind: SEED };
}

/// Inputs of [`Restart`]: each element its place on its segment's line.
pub fn places(begins: &[bool]) -> Vec<Span> {
    let mut place = 0;
    let mut places = Vec::with_capacity(begins.len());
    for &begins in begins {
        place = if begins { (place / SEGMENT + 1) * SEGMENT + 1 } else { place + 1 };
        places.push(Span { first: place, last: place, kind: COVERS });
    }
    places
}

/// [`Restart`] for scans from the last element to the first: the initial value fits behind the last element of every segment, and
/// nowhere else.
#[derive(Clone, Copy, Debug)]
pub struct RestartBack;

#[scan_op]
impl ScanOp for RestartBack {
    type Element = Span;
    const IDENTITY: Span = Span { first: 0, last: 0, kind: EMPTY };
    fn combine(a: Span, b: Span) -> Span {
        if a.kind == EMPTY {
            b
        } else if b.kind == EMPTY {
            a
        } else if a.kind == COVERS && b.kind == COVERS && a.last + 1 == b.first {
            Span { first: a.first, last: b.last, kind: COVERS }
        } else if a.kind == COVERS && b.kind == SEED && a.last % SEGMENT == SEGMENT - 2 {
            Span { first: a.first, last: a.last + 1, kind: COVERS }
        } else {
            Span { first: 0, last: 0, kind: BROKEN }
        }
    }
}

test_operators! {
    () RestartBack, RestartBack, |i| Span { first: i + 1, last: i + 1, kind: COVERS }, Span { first: 0, last: 0, kind: SEED };
}

/// Inputs of [`RestartBack`]: each element its place on its segment's line, of which the last one is the same on every line.
pub fn places_back(begins: &[bool]) -> Vec<Span> {
    let mut place = SEGMENT - 2;
    let mut places = Vec::with_capacity(begins.len());
    for index in (0..begins.len()).rev() {
        places.push(Span { first: place, last: place, kind: COVERS });
        place = if begins[index] { (place / SEGMENT + 1) * SEGMENT + SEGMENT - 2 } else { place - 1 };
    }
    places.reverse();
    places
}

/// Whether [`RestartBack`] may combine two partial results.
pub fn fit_back(a: &Span, b: &Span) -> bool {
    RestartBack.combine(*a, *b).kind != BROKEN
}

/// Whether [`Restart`] may combine two partial results.
pub fn fit(a: &Span, b: &Span) -> bool {
    Restart.combine(*a, *b).kind != BROKEN
}
