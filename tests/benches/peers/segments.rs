//! Scans that restart: segments of many lengths, told by flags, keys and offsets, and rows.

use std::{fmt, sync::Arc};

use scan_runtime::{
    Scanner, Strategy,
    cudarc::driver::{CudaSlice, CudaStream},
};
use scan_tests::operators::mixed;

use crate::{
    Bench, Outcome,
    cases::{self, Case, Visitor},
    check,
    cub::Cub,
    ours::{self, Way},
    race::{self, Buffers, Call, Entrant, Mode},
    report::Scanned,
};

/// How long segments are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pattern {
    /// Of random lengths with this mean.
    Mean(usize),
    /// One over everything.
    One,
    /// One over the first half, then segments of 16.
    HalfThen16,
    /// Rows of this length, which we are told by that alone.
    Rows(usize),
}

impl Pattern {
    /// Those of the benchmark.
    pub(crate) const ALL: [Pattern; 7] = [
        Pattern::Mean(1),
        Pattern::Mean(8),
        Pattern::Mean(64),
        Pattern::Mean(1_000),
        Pattern::Mean(65_536),
        Pattern::One,
        Pattern::HalfThen16,
    ];

    /// Rows, from many short ones to a single one.
    pub(crate) const ROWS: [Pattern; 9] = [
        Pattern::Rows(4),
        Pattern::Rows(16),
        Pattern::Rows(64),
        Pattern::Rows(255),
        Pattern::Rows(1_000),
        Pattern::Rows(4_096),
        Pattern::Rows(65_536),
        Pattern::Rows(1 << 20),
        Pattern::Rows(usize::MAX),
    ];

    /// The pattern among so many elements, and as many of them as it takes: rows are whole.
    fn within(self, len: usize) -> (Pattern, usize) {
        match self {
            Pattern::Rows(row) => (Pattern::Rows(row.min(len)), len - len % row.min(len)),
            _ => (self, len),
        }
    }

    fn begins(self, index: usize, len: usize) -> bool {
        index == 0
            || match self {
                Pattern::Mean(mean) => mixed(!(index as u64)).is_multiple_of(mean as u64),
                Pattern::One => false,
                Pattern::HalfThen16 => index >= len / 2 && (index - len / 2).is_multiple_of(16),
                Pattern::Rows(row) => index.is_multiple_of(row),
            }
    }

    /// The mean length, where there is one to speak of.
    fn mean(self, len: usize) -> Option<usize> {
        match self {
            Pattern::Mean(mean) | Pattern::Rows(mean) => Some(mean),
            Pattern::One => Some(len),
            Pattern::HalfThen16 => None,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Mean(mean) => write!(f, "{mean}"),
            Pattern::Rows(row) => write!(f, "rows of {row}"),
            Pattern::One => f.write_str("n"),
            Pattern::HalfThen16 => f.write_str("n/2, then 16"),
        }
    }
}

/// Where segments begin, told in every way.
struct Heads {
    pattern: Pattern,
    begins: Vec<bool>,
    flags: CudaSlice<u8>,
    bits: CudaSlice<u32>,
    keys: CudaSlice<u32>,
    /// The length stands behind the last, as CUB needs it.
    offsets: CudaSlice<u32>,
}

impl Heads {
    fn new(stream: &Arc<CudaStream>, pattern: Pattern, len: usize) -> Outcome<Self> {
        let begins: Vec<bool> = (0..len).map(|index| pattern.begins(index, len)).collect();
        let flags: Vec<u8> = begins.iter().map(|&begins| u8::from(begins)).collect();
        let word = |flags: &[u8]| flags.iter().rev().fold(0, |word, &flag| word << 1 | u32::from(flag));
        let bits: Vec<u32> = flags.chunks(32).map(word).collect();
        let mut segment = 0_u32;
        let mut keys = Vec::with_capacity(len);
        let mut offsets = Vec::new();
        for (index, &begins) in begins.iter().enumerate() {
            if begins {
                segment += 1;
                offsets.push(u32::try_from(index)?);
            }
            keys.push(segment);
        }
        offsets.push(u32::try_from(len)?);
        Ok(Heads {
            pattern,
            begins,
            flags: stream.clone_htod(&flags)?,
            bits: stream.clone_htod(&bits)?,
            keys: stream.clone_htod(&keys)?,
            offsets: stream.clone_htod(&offsets)?,
        })
    }
}

/// Times every case that is scanned in segments; in rows, every case.
pub(crate) struct Segments<'b> {
    pub(crate) bench: &'b mut Bench,
    /// How many elements.
    pub(crate) len: usize,
    pub(crate) patterns: &'static [Pattern],
}

impl Visitor for Segments<'_> {
    fn visit<C: Case>(&mut self) -> Outcome {
        let in_rows = |pattern: &Pattern| matches!(pattern, Pattern::Rows(_));
        if !(C::SEGMENTED || self.patterns.iter().all(in_rows)) || !self.bench.wants(C::NAME) {
            return Ok(());
        }
        let checked = self.len.min(self.bench.checked);
        let block = cases::inputs::<C>(checked);
        let mut buffers = Buffers::repeating(&self.bench.stream, &block, self.len)?;
        let scanner = self.bench.scanner.clone();
        let cpu = Scanner::cpu();
        for &pattern in self.patterns {
            if matches!(pattern, Pattern::Mean(mean) if mean >= self.len) {
                continue;
            }
            // First a length that the CPU scans in no time, with heads of its own.
            let (first, checked) = pattern.within(checked);
            let heads = Heads::new(&self.bench.stream, first, checked)?;
            let expected = cpu.scan(C::new()).by_flags(&heads.begins).run(&block[..checked])?;
            let wrong = self.judge::<C>(&scanner, &mut buffers, &heads, &expected)?;
            let (pattern, len) = pattern.within(self.len);
            let heads = if len == checked { heads } else { Heads::new(&self.bench.stream, pattern, len)? };
            let hindrances = match wrong.iter().flatten().next() {
                None if len > checked => self.judge::<C>(&scanner, &mut buffers, &heads, &[])?,
                _ => wrong,
            };
            let Bench { clock, report, strategies, cub, .. } = &mut *self.bench;
            let mut entrants = line_up::<C>(strategies, cub, &scanner, &heads);
            let times = clock.race(&mut buffers, &mut entrants, &hindrances, len, Mode::Stream);
            let scanned = Scanned {
                way: Way::default(),
                mode: Mode::Stream,
                len,
                segments: Some((pattern.to_string(), pattern.mean(len))),
            };
            report.add::<C>(&scanned, &entrants, times);
        }
        println!("{}", self.bench.report.tables(C::NAME, true));
        Ok(())
    }
}

impl Segments<'_> {
    fn judge<C: Case>(
        &mut self,
        scanner: &Scanner,
        buffers: &mut Buffers<C::Item>,
        heads: &Heads,
        expected: &[C::Item],
    ) -> Outcome<check::Hindrances> {
        let mut entrants = line_up::<C>(&self.bench.strategies, &self.bench.cub, scanner, heads);
        let scan = ours::configure::<C>(scanner, Way::default(), Some(ours::ANOTHER));
        let call: Call<'_, C::Item> = Box::new(move |buffers, len| {
            let (input, mut output) = (buffers.input.slice(..len), buffers.output.slice_mut(..len));
            Ok(scan.on(&buffers.stream).by_flags(&heads.flags).run_into(&input, &mut output)?)
        });
        let mut another = Entrant { name: ours::name(Some(ours::ANOTHER)), call: Ok(call), side_bytes: 0 };
        let verdicts = check::check::<C>(buffers, &mut entrants, &mut another, heads.begins.len(), expected);
        drop(entrants);
        Ok(self.bench.note(C::NAME, verdicts))
    }
}

/// The copy, ours by each head_source and strategy, and CUB.
fn line_up<'a, C: Case>(
    strategies: &[Strategy],
    cub: &'a Result<Cub, String>,
    scanner: &'a Scanner,
    heads: &'a Heads,
) -> Vec<Entrant<'a, C::Item>> {
    let mut entrants = vec![race::copy()];
    let strategies = std::iter::once(None).chain(strategies.iter().copied().map(Some));
    for strategy in strategies {
        macro_rules! restart {
            ($by:ident($told:expr), $bytes:expr, $name:literal) => {{
                let scan = ours::configure::<C>(scanner, Way::default(), strategy);
                let call: Call<'a, C::Item> = Box::new(move |buffers, len| {
                    let (input, mut output) = (buffers.input.slice(..len), buffers.output.slice_mut(..len));
                    Ok(scan.on(&buffers.stream).$by($told).run_into(&input, &mut output)?)
                });
                let name = format!("{}, by {}", ours::name(strategy), $name);
                entrants.push(Entrant { name, call: Ok(call), side_bytes: $bytes });
            }};
        }
        if let Pattern::Rows(row) = heads.pattern {
            let scan = ours::configure::<C>(scanner, Way::default(), strategy);
            let mut prepared = None;
            let call: Call<'a, C::Item> = Box::new(move |buffers, len| {
                let handle = match &mut prepared {
                    Some((max, handle)) if *max >= len => handle,
                    prepared => &mut prepared.insert((len, scan.on(&buffers.stream).rows(row).prepare(len)?)).1,
                };
                let (input, mut output) = (buffers.input.slice(..len), buffers.output.slice_mut(..len));
                Ok(handle.rows(row).run_into(&input, &mut output)?)
            });
            let name = format!("{}, by rows", ours::name(strategy));
            entrants.push(Entrant { name, call: Ok(call), side_bytes: 0 });
            continue;
        }
        restart!(by_flags(&heads.flags), heads.flags.num_bytes(), "flags");
        restart!(by_bits(&heads.bits), heads.bits.num_bytes(), "bits");
        restart!(by_keys(&heads.keys), heads.keys.num_bytes(), "keys");
        restart!(by_offsets(&heads.offsets), heads.offsets.num_bytes(), "offsets");
    }
    let cub = cub.as_ref();
    let by_keys = cub.map_err(String::clone).and_then(|cub| cub.by_keys::<C>(&heads.keys));
    let by_offsets = cub.map_err(String::clone).and_then(|cub| cub.by_offsets::<C>(&heads.offsets));
    entrants.push(Entrant { name: "CUB, by keys".to_owned(), call: by_keys, side_bytes: heads.keys.num_bytes() });
    let side_bytes = heads.offsets.num_bytes();
    entrants.push(Entrant { name: "CUB, by offsets".to_owned(), call: by_offsets, side_bytes });
    entrants
}
