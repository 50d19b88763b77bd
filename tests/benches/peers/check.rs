//! Results are right before they are timed: compared with the CPU's as far as the CPU is asked, and with each other beyond.

use std::ops::Range;

use scan_runtime::ScanElement;
use scan_tests::operators::{bits, mixed};

use crate::{
    Outcome,
    cases::Case,
    race::{Buffers, Call, Entrant},
};

/// Of long results, so many pieces are compared, the last of them the end. What goes wrong in a scan goes on from there.
const PIECES: usize = 16;
/// So many elements each.
const PIECE: usize = 1 << 15;

/// Why each entrant must not be timed, if so.
pub(crate) type Hindrances = Vec<Option<String>>;

/// What is wrong with an entrant; `Wrong` fails the benchmark at its end, `Unable` leaves a cell empty.
pub(crate) enum Verdict {
    Wrong(String),
    Unable(String),
}

/// Runs every entrant but the first, which is the copy, and compares its result with `expected`, the CPU's on the first
/// elements, and where there are more with the other entrants'. `another` is one more way to scan, for lengths at which there
/// would be nobody to compare with.
pub(crate) fn check<C: Case>(
    buffers: &mut Buffers<C::Item>,
    entrants: &mut [Entrant<'_, C::Item>],
    another: &mut Entrant<'_, C::Item>,
    len: usize,
    expected: &[C::Item],
) -> Vec<Option<Verdict>> {
    let mut verdicts = vec![None];
    let mut judge: Option<(String, Vec<Vec<C::Item>>)> = None;
    let scanning = entrants.iter().filter(|entrant| entrant.call.is_ok()).count() - 1;
    if len > expected.len() && scanning < 2 {
        // Whatever is wrong with it shows as a difference.
        if let Ok(pieces) = run::<C>(buffers, &mut another.call, len, &[])
            && let Pieces::Some(pieces) = pieces
        {
            judge = Some((another.name.clone(), pieces));
        }
    }
    for entrant in &mut entrants[1..] {
        let verdict = match run::<C>(buffers, &mut entrant.call, len, expected) {
            Err(error) => Some(Verdict::Unable(error.to_string())),
            Ok(Pieces::Wrong(what)) => Some(Verdict::Wrong(format!("{}, {len} elements: {what}", entrant.name))),
            Ok(Pieces::All) => None,
            Ok(Pieces::Some(pieces)) => match &judge {
                None => {
                    judge = Some((entrant.name.clone(), pieces));
                    None
                }
                Some((name, others)) => {
                    let places = places(len);
                    let mut pairs = pieces.iter().zip(others).zip(&places);
                    pairs.find_map(|((piece, other), place)| {
                        let what = differ::<C>(piece, other, C::TOLERANCE_AT_LENGTH)?;
                        let what = format!("differs from {name} at {} and on: {what}", place.start);
                        Some(Verdict::Wrong(format!("{}, {len} elements: {what}", entrant.name)))
                    })
                }
            },
        };
        verdicts.push(verdict);
    }
    verdicts
}

/// What a result looks like.
enum Pieces<T> {
    /// It is not what the CPU found.
    Wrong(String),
    /// All of it is.
    All,
    /// Its beginning is; these are pieces of the rest.
    Some(Vec<Vec<T>>),
}

fn run<C: Case>(
    buffers: &mut Buffers<C::Item>,
    call: &mut Result<Call<'_, C::Item>, String>,
    len: usize,
    expected: &[C::Item],
) -> Outcome<Pieces<C::Item>> {
    let call = call.as_mut().map_err(|why| why.clone())?;
    buffers.poison(len)?;
    call(buffers, len)?;
    let first = expected.len().min(len);
    if first > 0 {
        let found = download(buffers, 0..first)?;
        if let Some(what) = differ::<C>(&found, &expected[..first], C::TOLERANCE) {
            return Ok(Pieces::Wrong(format!("differs from the CPU {what}")));
        }
    }
    if len <= expected.len() {
        buffers.stream.synchronize()?;
        return Ok(Pieces::All);
    }
    let pieces = places(len).into_iter().map(|place| download(buffers, place));
    Ok(Pieces::Some(pieces.collect::<Outcome<_>>()?))
}

fn download<T: ScanElement>(buffers: &Buffers<T>, place: Range<usize>) -> Outcome<Vec<T>> {
    Ok(buffers.stream.clone_dtoh(&buffers.output.slice(place))?)
}

fn places(len: usize) -> Vec<Range<usize>> {
    let piece = PIECE.min(len);
    let stripe = len / PIECES;
    let random = |index: usize| index * stripe + mixed(index as u64) as usize % stripe.saturating_sub(piece).max(1);
    let starts = (0..PIECES - 1).map(random).chain([len - piece]);
    starts.map(|start| start..(start + piece).min(len)).collect()
}

/// Where two results differ by more than they may, if anywhere.
fn differ<C: Case>(found: &[C::Item], expected: &[C::Item], tolerance: f64) -> Option<String> {
    if tolerance == 0.0 {
        let (found_bits, expected_bits) = (bits(found), bits(expected));
        let byte = found_bits.iter().zip(&expected_bits).position(|(found, expected)| found != expected)?;
        let index = byte / size_of::<C::Item>();
        return Some(format!("from element {index}: {:?}, not {:?}", found[index], expected[index]));
    }
    let size = expected.iter().flat_map(C::numbers).fold(f64::MIN_POSITIVE, |size, number| size.max(number.abs()));
    let far = |(found, expected): (&C::Item, &C::Item)| {
        let mut pairs = C::numbers(found).into_iter().zip(C::numbers(expected));
        // Asked so that a NaN is far from everything.
        !pairs.all(|(found, expected)| (found - expected).abs() <= tolerance * size)
    };
    let index = found.iter().zip(expected).position(far)?;
    Some(format!("from element {index}: {:?}, not {:?}", found[index], expected[index]))
}
