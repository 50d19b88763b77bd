//! Quicksort without recursion: all partitions of a level at once, by segmented scans.
//!
//! The loop that one would write is a recursion:
//!
//! ```text
//! fn sort(keys) {
//!     let (less, equal, greater) = keys.partition_by(pivot(keys));
//!     sort(less);
//!     sort(greater);
//! }
//! ```
//!
//! The calls of one level have neighbouring parts of the array, so a level is a pass over the whole array with a
//! segment for each call. Within a segment, keys less than the pivot go to its beginning one after the other, and
//! greater ones to its end, from the last place down. A part of the keys moves these two places on by its counts, whose
//! sums are associative. The places that each segment begins with are its initial value, `.init_each`, its total says
//! where they have met, `.with_totals`, and `scatter_by_output` moves the keys. What is between them are keys equal to
//! the pivot, which are copies of it. Up to 32 keys are sorted where they are. Neighbours that are in order make one
//! segment, whose keys stay in order.
//!
//! Each level is a pass over memory, and the levels are as many as the recursion is deep. On a CPU, on one thread and on
//! two, this takes as long as a recursion that chooses pivots likewise, and five times the standard library's sort,
//! whose partition has no branches that are mispredicted. It shows segments and is how to do *any* recursion that
//! divides; to sort, take the radix sort.
//!
//! Source: G. E. Blelloch, *Prefix Sums and Their Applications*, 1990, section 1.5.1.

use std::cmp::Ordering;

use scan_runtime::{Error, ScanOp, Scanner, arrays, scan_element, scan_fn, scan_op};

use crate::report::{Outcome, Report, check, mixed};

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Key {
    key: u32,
    pivot: u32,
}

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Placed {
    place: u32,
    key: u32,
}

/// How many keys are less than the pivot, and how many greater; or where the next one less goes, and the end of where
/// the next one greater goes.
type Sides = [u32; 2];

#[scan_fn]
fn sides(x: Key) -> Sides {
    [(x.key < x.pivot) as u32, (x.key > x.pivot) as u32]
}

#[scan_fn]
fn add(a: Sides, b: Sides) -> Sides {
    [a[0] + b[0], a[1] + b[1]]
}

#[scan_fn]
fn move_on(next: Sides, counts: Sides) -> Sides {
    [next[0] + counts[0], next[1] - counts[1]]
}

/// Where each key goes: lesser ones to the beginning, greater ones to the end, and those equal to the pivot nowhere.
#[derive(Clone)]
struct Partition;

#[scan_op(laws(samples = [3, 5, 7].map(|key| Key { key, pivot: 5 })))]
impl ScanOp for Partition {
    type Input = Key;
    // The loop.
    type Carry = Sides;
    type Output = Placed;
    const START: Sides = [0, u32::MAX];
    fn advance(next: Sides, x: Key) -> (Sides, Placed) {
        let after = move_on(next, sides(x));
        let other = if x.key > x.pivot { after[1] } else { u32::MAX };
        (after, Placed { place: if x.key < x.pivot { next[0] } else { other }, key: x.key })
    }
    // What a part of the keys does to the places.
    type State = Sides;
    const IDENTITY: Sides = [0, 0];
    fn lift(x: Key) -> Sides {
        sides(x)
    }
    fn combine(a: Sides, b: Sides) -> Sides {
        add(a, b)
    }
    fn apply(counts: Sides, next: Sides) -> Sides {
        move_on(next, counts)
    }
}

/// Keys that are sorted where they are.
const FEW: usize = 32;

/// The median of three keys.
fn median(keys: &[u32]) -> u32 {
    let mut of = [keys[0], keys[keys.len() / 2], keys[keys.len() - 1]];
    of.sort_unstable();
    of[1]
}

/// Where segments begin, and the end of the last one; and of each segment whether it is in order.
struct Segments {
    offsets: Vec<u32>,
    in_order: Vec<bool>,
}

impl Segments {
    /// Appends a segment, or joins it to the last one, if both are in order.
    fn push(&mut self, len: u32, in_order: bool) {
        let end = self.offsets[self.offsets.len() - 1] + len;
        match self.in_order.last() {
            _ if len == 0 => (),
            Some(true) if in_order => *self.offsets.last_mut().unwrap_or(&mut 0) = end,
            _ => {
                self.offsets.push(end);
                self.in_order.push(in_order);
            }
        }
    }
}

/// Sorts keys, and gives the number of levels.
fn sort(scanner: &Scanner, keys: &mut Vec<u32>) -> Result<u32, Error> {
    let mut segments = Segments { offsets: vec![0], in_order: vec![] };
    segments.push(keys.len() as u32, false);
    let (mut pivots, mut after) = (vec![0; keys.len()], vec![0; keys.len()]);
    let mut levels = 0;
    while segments.in_order.contains(&false) {
        let bounds = || segments.offsets.windows(2).map(|bounds| bounds[0] as usize..bounds[1] as usize);
        for (segment, in_order) in bounds().zip(&segments.in_order) {
            // The largest pivot keeps the order of the keys.
            let pivot = if *in_order { u32::MAX } else { median(&keys[segment.clone()]) };
            pivots[segment].fill(pivot);
        }
        let starts: Vec<Sides> = segments.offsets.windows(2).map(|bounds| [bounds[0], bounds[1]]).collect();
        let scan = scanner.scan(Partition);
        let scan = scan.by_offsets(&segments.offsets).init_each(&starts).with_totals();
        let middles = scan.run_into((&*keys, &pivots), arrays::scatter_by_output((&mut after,)))?;

        let mut next = Segments { offsets: vec![0], in_order: vec![] };
        for ((segment, [middle, greater]), in_order) in bounds().zip(middles).zip(&segments.in_order) {
            // Keys that are equal to the pivot are copies of it.
            after[middle as usize..greater as usize].fill(pivots[segment.start]);
            for (part, in_order) in [
                (segment.start..middle as usize, *in_order),
                (middle as usize..greater as usize, true),
                (greater as usize..segment.end, *in_order),
            ] {
                let is_few = !in_order && part.len() <= FEW;
                if is_few {
                    after[part.clone()].sort_unstable();
                }
                next.push(part.len() as u32, in_order || is_few);
            }
        }
        std::mem::swap(keys, &mut after);
        segments = next;
        levels += 1;
    }
    Ok(levels)
}

/// The plain loop.
fn sort_by_recursion(keys: &mut [u32]) {
    if keys.len() <= FEW {
        return keys.sort_unstable();
    }
    let pivot = median(keys);
    let (mut less, mut next, mut greater) = (0, 0, keys.len());
    while next < greater {
        match keys[next].cmp(&pivot) {
            Ordering::Less => {
                keys.swap(less, next);
                (less, next) = (less + 1, next + 1);
            }
            Ordering::Equal => next += 1,
            Ordering::Greater => {
                greater -= 1;
                keys.swap(next, greater);
            }
        }
    }
    sort_by_recursion(&mut keys[..less]);
    sort_by_recursion(&mut keys[greater..]);
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let keys: Vec<u32> = (0..len as u64).map(|i| mixed(i) as u32).collect();
    let (mut ours, mut expected) = (keys.clone(), keys.clone());
    let (mut levels, mut report) = (0, Report::default());
    let names = ["quicksort by recursion", "sort_unstable of the standard library"];
    for (name, plain) in names.into_iter().zip([sort_by_recursion, |keys: &mut [u32]| keys.sort_unstable()]) {
        report.time(
            name,
            len,
            || {
                expected.clone_from(&keys);
                plain(&mut expected);
            },
            || {
                ours.clone_from(&keys);
                sort(scanner, &mut ours).map(|count| levels = count)
            },
        )?;
        check(ours == expected, "keys")?;
    }
    report.drawing = format!("{levels} levels");
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_every_order_are_sorted() {
        let ascending: Vec<u32> = (0..1_000).collect();
        let descending: Vec<u32> = ascending.iter().rev().copied().collect();
        let few: Vec<u32> = ascending.iter().map(|i| mixed(u64::from(*i)) as u32 % 3).collect();
        let largest = vec![u32::MAX, 0, u32::MAX, 1];
        for keys in [vec![], vec![4], vec![2, 1], ascending, descending, few, largest, vec![5; 100]] {
            let (mut ours, mut expected) = (keys.clone(), keys);
            let levels = sort(&Scanner::cpu(), &mut ours).unwrap();
            expected.sort_unstable();
            assert_eq!(ours, expected);
            assert!(levels <= 14, "{levels}");
        }
    }

    #[test]
    fn many_keys() {
        run(&Scanner::cpu(), 20_000).unwrap();
    }
}
