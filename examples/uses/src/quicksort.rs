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
//! segment for each call. Within a segment, each key goes to the next place of its class (less, equal or greater), and
//! a part of the keys moves these places on by its counts, whose sums are associative. Counts of all segments are one
//! reduction, `.by_offsets`; the places that each segment begins with are its initial value, `.init_each`; and
//! `scatter_by_output` moves the keys. Equal keys, segments of one key and their neighbours of that kind make one
//! segment that is in order.
//!
//! There are about `2 · log₂ n` levels, each of three passes over memory. A processor sorts within its caches: on two
//! threads of a CPU this takes thirteen times the standard library's sort. It shows segments and is how to do *any*
//! recursion that divides; to sort, take the radix sort.
//!
//! Source: G. E. Blelloch, *Prefix Sums and Their Applications*, 1990, section 1.5.1.

use scan_runtime::{Error, ScanOp, Scanner, arrays, ops, scan_element, scan_fn, scan_op};

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

/// For each class (less than the pivot, equal, greater) a count, or the place of the next key.
type OfClasses = [u32; 3];

#[scan_fn]
fn class(x: Key) -> usize {
    (x.key >= x.pivot) as usize + (x.key > x.pivot) as usize
}

#[scan_fn]
fn count(numbers: OfClasses, x: Key) -> OfClasses {
    let class = class(x);
    [numbers[0] + (class == 0) as u32, numbers[1] + (class == 1) as u32, numbers[2] + (class == 2) as u32]
}

#[scan_fn]
fn add(a: OfClasses, b: OfClasses) -> OfClasses {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Where each key goes.
#[derive(Clone)]
struct Partition;

#[scan_op(laws(samples = [3, 5, 7].map(|key| Key { key, pivot: 5 })))]
impl ScanOp for Partition {
    type Input = Key;
    // The loop.
    type Carry = OfClasses;
    type Output = Placed;
    const START: OfClasses = [0, 0, 0];
    fn advance(next: OfClasses, x: Key) -> (OfClasses, Placed) {
        (count(next, x), Placed { place: next[class(x)], key: x.key })
    }
    // What a part of the keys does to the places.
    type State = OfClasses;
    const IDENTITY: OfClasses = [0, 0, 0];
    fn lift(x: Key) -> OfClasses {
        count(Self::IDENTITY, x)
    }
    fn combine(a: OfClasses, b: OfClasses) -> OfClasses {
        add(a, b)
    }
    fn apply(counts: OfClasses, next: OfClasses) -> OfClasses {
        add(next, counts)
    }
}

/// How many keys of each class there are.
#[derive(Clone)]
struct Count;

#[scan_op(laws(samples = [3, 5, 7].map(|key| Key { key, pivot: 5 })))]
impl ScanOp for Count {
    type Input = Key;
    type State = OfClasses;
    type Output = OfClasses;
    const IDENTITY: OfClasses = [0, 0, 0];
    fn lift(x: Key) -> OfClasses {
        count(Self::IDENTITY, x)
    }
    fn combine(a: OfClasses, b: OfClasses) -> OfClasses {
        add(a, b)
    }
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
        let in_order = in_order || len == 1;
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
        // The median of three keys. In a segment that is in order, no pivot moves a key.
        let pivot = |bounds: &[u32]| {
            let [begin, end] = [bounds[0], bounds[1]].map(|bound| bound as usize);
            let mut keys = [keys[begin], keys[(begin + end) / 2], keys[end - 1]];
            keys.sort_unstable();
            keys[1]
        };
        let of_segments: Vec<u32> = segments.offsets.windows(2).map(pivot).collect();
        // The first value of a segment is its initial value: a copy for each key.
        let offsets = &segments.offsets;
        scanner.scan(ops::first()).by_offsets(offsets).init_each(&of_segments).run_into(&*keys, &mut pivots)?;

        let counts = scanner.reduce(Count).by_offsets(offsets).run((&*keys, &pivots))?;
        let starts = |(begin, counts): (&u32, &OfClasses)| [*begin, begin + counts[0], begin + counts[0] + counts[1]];
        let starts: Vec<OfClasses> = offsets.iter().zip(&counts).map(starts).collect();
        let outputs = arrays::scatter_by_output((&mut after,));
        scanner.scan(Partition).by_offsets(offsets).init_each(&starts).run_into((&*keys, &pivots), outputs)?;
        std::mem::swap(keys, &mut after);

        let mut next = Segments { offsets: vec![0], in_order: vec![] };
        for ([less, equal, greater], in_order) in counts.into_iter().zip(segments.in_order) {
            next.push(less, in_order);
            next.push(equal, true);
            next.push(greater, in_order);
        }
        segments = next;
        levels += 1;
    }
    Ok(levels)
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let keys: Vec<u32> = (0..len as u64).map(|i| mixed(i) as u32).collect();
    let (mut ours, mut expected) = (keys.clone(), keys.clone());
    let (mut levels, mut report) = (0, Report::default());
    report.time(
        "sort_unstable of the standard library",
        len,
        || {
            expected.clone_from(&keys);
            expected.sort_unstable();
        },
        || {
            ours.clone_from(&keys);
            sort(scanner, &mut ours).map(|count| levels = count)
        },
    )?;
    check(ours == expected, "keys")?;
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
