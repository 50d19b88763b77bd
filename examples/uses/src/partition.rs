//! Stream compaction, partition in one pass, and the way back.
//!
//! The loops that one would write keep some elements, or write those below a pivot from the front and the others from
//! the back:
//!
//! ```text
//! for x in input { if x < pivot { kept.push(x) } }
//!
//! for x in input {
//!     if x < pivot { output[front] = x; front += 1 } else { back -= 1; output[back] = x }
//! }
//! ```
//!
//! Both only need to know how many elements before this one are below the pivot: `front` is that count, and `back` is
//! the length less the number of the others. The count is a sum, which is associative, so both loops are scans whose
//! output begins with a place, written by `scatter_by_output`. For compaction alone there is `ops::filter`.
//!
//! The places of a partition are a permutation. Read at these places, the partitioned elements are the input again: a
//! gather undoes what the scatter did.
//!
//! Sources: G. E. Blelloch, *Prefix Sums and Their Applications*, 1990 (`split`); CUB's `DeviceSelect` and
//! `DevicePartition`, which order their outputs like these loops.

use scan_runtime::{Error, ScanOp, Scanner, arrays, ops, scan_element, scan_fn, scan_op};

use crate::report::{Outcome, Report, check, mixed};

/// The function of a filter cannot have parameters; an operator can.
const PIVOT: u32 = 1 << 31;

#[scan_fn]
fn below_pivot(x: u32) -> ops::Candidate<u32> {
    ops::Candidate { keep: x < PIVOT, value: x }
}

/// Keeps the elements below [`PIVOT`] at the beginning of an array, and gives their number.
fn compact(scanner: &Scanner, x: &[u32], kept: &mut [u32]) -> Result<usize, Error> {
    let filter = scanner.scan(ops::map::<below_pivot, _>(ops::filter()));
    Ok(filter.with_total().run_into(x, arrays::scatter_by_output((kept,)).consecutive())?.unwrap_or(0) as usize)
}

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Element {
    index: u32,
    value: u32,
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Placed {
    place: u32,
    value: u32,
}

/// Where each element of a partition goes. The carry is the number of elements below the pivot.
#[derive(Clone)]
struct Partition {
    pivot: u32,
    len: u32,
}

#[scan_op(laws(
    operator = Partition { pivot: 5, len: 9 },
    samples = [3, 5, 7].map(|value| Element { index: 8, value }),
))]
impl ScanOp for Partition {
    type Input = Element;
    type State = u32;
    type Carry = u32;
    type Output = Placed;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn lift(&self, x: Element) -> u32 {
        (x.value < self.pivot) as u32
    }
    fn combine(a: u32, b: u32) -> u32 {
        a + b
    }
    fn apply(below: u32, before: u32) -> u32 {
        before + below
    }
    fn step(&self, before: u32, x: Element) -> u32 {
        before + (x.value < self.pivot) as u32
    }
    fn emit(&self, before: u32, x: Element) -> Placed {
        let from_back = self.len.wrapping_add(before).wrapping_sub(x.index + 1);
        Placed { place: if x.value < self.pivot { before } else { from_back }, value: x.value }
    }
}

/// Those below the pivot from the front, the others from the back.
fn partition(scanner: &Scanner, pivot: u32, x: &[u32], parted: &mut [u32]) -> Result<usize, Error> {
    let scan = scanner.scan(Partition { pivot, len: x.len() as u32 });
    let outputs = arrays::scatter_by_output((parted,));
    Ok(scan.with_total().run_into((arrays::indices(), x), outputs)?.unwrap_or(0) as usize)
}

/// The places that [`partition`] wrote to.
fn places(scanner: &Scanner, pivot: u32, x: &[u32], places: &mut [u32]) -> Result<(), Error> {
    let scan = scanner.scan(Partition { pivot, len: x.len() as u32 });
    scan.run_into((arrays::indices(), x), (places, arrays::discard()))
}

/// The input of [`partition`], of its output. The last element so far is a copy of each.
fn back(scanner: &Scanner, parted: &[u32], places: &[u32], x: &mut [u32]) -> Result<(), Error> {
    scanner.scan(ops::last()).run_into(arrays::gather(parted, places), x)
}

/// The plain loop of the partition.
fn partition_in_a_loop(pivot: u32, x: &[u32], parted: &mut [u32]) -> usize {
    let (mut front, mut back) = (0, x.len());
    for &x in x {
        if x < pivot {
            parted[front] = x;
            front += 1;
        } else {
            back -= 1;
            parted[back] = x;
        }
    }
    front
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let x: Vec<u32> = (0..len as u64).map(|i| mixed(i) as u32).collect();
    let (mut ours, mut expected) = (vec![0; len], vec![0; len]);
    let (mut count, mut expected_count) = (0, 0);
    let mut report = Report::default();
    report.time(
        "compaction",
        len,
        || {
            expected_count = 0;
            for &x in x.iter().filter(|x| **x < PIVOT) {
                expected[expected_count] = x;
                expected_count += 1;
            }
        },
        || compact(scanner, &x, &mut ours).map(|kept| count = kept),
    )?;
    check(ours[..count] == expected[..expected_count], "compaction")?;

    report.time(
        "partition",
        len,
        || expected_count = partition_in_a_loop(PIVOT / 2, &x, &mut expected),
        || partition(scanner, PIVOT / 2, &x, &mut ours).map(|below| count = below),
    )?;
    check((count, &ours) == (expected_count, &expected), "partition")?;

    let (mut order, mut again) = (vec![0; len], vec![0; len]);
    places(scanner, PIVOT / 2, &x, &mut order)?;
    report.time(
        "the way back",
        len,
        || {
            let (mut front, mut back) = (0, len);
            for (to, x) in expected.iter_mut().zip(&x) {
                if *x < PIVOT / 2 {
                    *to = ours[front];
                    front += 1;
                } else {
                    back -= 1;
                    *to = ours[back];
                }
            }
        },
        || back(scanner, &ours, &order, &mut again),
    )?;
    check(again == x && expected == x, "the way back")?;
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_moved_as_by_loops() {
        for len in [0, 1, 2, 1_000, 40_000] {
            run(&Scanner::cpu(), len).unwrap();
        }
    }

    #[test]
    fn all_or_none_may_be_below_the_pivot() {
        let mut parted = [0; 4];
        assert_eq!(partition(&Scanner::cpu(), 9, &[1, 2, 3, 4], &mut parted).unwrap(), 4);
        assert_eq!(parted, [1, 2, 3, 4]);
        assert_eq!(partition(&Scanner::cpu(), 0, &[1, 2, 3, 4], &mut parted).unwrap(), 0);
        assert_eq!(parted, [4, 3, 2, 1]);
    }
}
