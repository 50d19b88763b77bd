//! Rolling windows of any operator: maxima, minima, greatest common divisors, products of matrices.
//!
//! The loop that one would write costs as much as the window is long:
//!
//! ```text
//! for i in 0..=n - w { output[i] = fold(input[i..i + w]) }
//! ```
//!
//! A difference of two prefixes would do for sums, but a maximum cannot be subtracted. Cut the input into blocks of `w`
//! elements. Every window lies in two blocks at most: it is the end of one and the beginning of the next. So scan each
//! block from both ends, and combine two results for each window:
//!
//! ```text
//! output[i] = combine(suffix[i], prefix[i + w - 1])
//! ```
//!
//! Both are scans of rows, `.rows(w)`, one of them `.reverse()`, which keeps the order of operands: the operator need
//! only be associative, and each element is combined three times, whatever `w` is. For maxima there is another loop,
//! over a queue of candidates; the times are beside that one.
//!
//! Sources: M. van Herk, *A Fast Algorithm for Local Minimum and Maximum Filters on Rectangular and Octagonal Kernels*,
//! 1992; J. Gil and M. Werman, *Computing 2-D Min, Median, and Max Filters*, 1993.

use std::collections::VecDeque;

use scan_runtime::{Error, ScanOp, Scanner, ops, scan_op};

use crate::report::{Outcome, Report, check, mixed};

/// An operator of one type.
trait Operator<T>: ScanOp<Input = T, State = T, Carry = T, Output = T> {}

impl<T, Op: ScanOp<Input = T, State = T, Carry = T, Output = T>> Operator<T> for Op {}

/// The fold of each window of `w` elements, the first one at the first element.
fn rolling<T: Copy, Op: Operator<T> + Clone>(scanner: &Scanner, op: Op, x: &[T], w: usize) -> Result<Vec<T>, Error> {
    let (mut prefixes, mut suffixes) = (x.to_vec(), x.to_vec());
    // The last block may be shorter, and is a row of its own.
    let (whole, rest) = (x.len() / w * w, x.len() % w);
    let (forward, backward) = (scanner.scan(op.clone()), scanner.scan(op.clone()).reverse());
    for (range, row) in [(0..whole, w), (whole..x.len(), rest)] {
        forward.rows(row).run_into(&x[range.clone()], &mut prefixes[range.clone()])?;
        backward.rows(row).run_into(&x[range.clone()], &mut suffixes[range])?;
    }
    let windows = suffixes.iter().zip(prefixes.iter().skip(w - 1)).enumerate();
    // Every `w`th window is a block.
    Ok(windows.map(|(i, (suffix, prefix))| if i % w == 0 { *suffix } else { op.combine(*suffix, *prefix) }).collect())
}

/// The maxima by a queue of the elements that may still become one: the plain loop, for maxima only.
fn maxima_in_a_loop(x: &[u32], w: usize) -> Vec<u32> {
    let (mut queue, mut maxima) = (VecDeque::<usize>::new(), Vec::with_capacity(x.len()));
    for i in 0..x.len() {
        while queue.back().is_some_and(|&last| x[last] <= x[i]) {
            queue.pop_back();
        }
        queue.push_back(i);
        if queue[0] + w <= i {
            queue.pop_front();
        }
        if i + 1 >= w {
            maxima.push(x[queue[0]]);
        }
    }
    maxima
}

/// The greatest common divisor: no number can be taken out of it again.
#[derive(Clone)]
struct Gcd;

#[scan_op(laws = [0, 6, 10, 15])]
impl ScanOp for Gcd {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        let (mut a, mut b) = (a, b);
        while b != 0 {
            let rest = a % b;
            a = b;
            b = rest;
        }
        a
    }
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let x: Vec<u32> = (0..len as u64).map(|i| mixed(i) as u32).collect();
    let w = 100;
    let (mut ours, mut expected) = (vec![], vec![]);
    let mut report = Report::default();
    report.time(
        "maxima of 100, by a queue",
        len,
        || expected = maxima_in_a_loop(&x, w),
        || rolling(scanner, ops::max(), &x, w).map(|maxima| ours = maxima),
    )?;
    check(ours == expected, "maxima")?;

    let x: Vec<u32> = x[..len / 16].iter().map(|x| x % 1000 * 2520).collect();
    report.time(
        "divisors of 100, each window anew",
        x.len(),
        || expected = x.windows(w).map(|x| x.iter().fold(0, |a, b| Gcd.combine(a, *b))).collect(),
        || rolling(scanner, Gcd, &x, w).map(|divisors| ours = divisors),
    )?;
    check(ours == expected, "divisors")?;
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An operator to which order and number of operands matter: x ↦ a[0]·x + a[1], then b.
    #[scan_op(name = Compose)]
    fn compose(a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
        [b[0].wrapping_mul(a[0]), b[0].wrapping_mul(a[1]).wrapping_add(b[1])]
    }

    #[test]
    fn windows_of_every_length() {
        let x: Vec<u32> = (0..50).map(|i| mixed(i) as u32).collect();
        let maps: Vec<[u32; 2]> = x.iter().map(|&x| [x, !x]).collect();
        for (len, w) in [(0, 3), (2, 3), (3, 3), (50, 1), (50, 7), (49, 7), (48, 7), (50, 50), (50, 51)] {
            let maxima: Vec<u32> = x[..len].windows(w).map(|x| *x.iter().max().unwrap()).collect();
            assert_eq!(rolling(&Scanner::cpu(), ops::max(), &x[..len], w).unwrap(), maxima, "{len} {w}");
            assert_eq!(maxima_in_a_loop(&x[..len], w), maxima, "{len} {w}");
            let composed = |maps: &[[u32; 2]]| maps.iter().fold([1, 0], |a, b| compose(a, *b));
            let of_windows: Vec<[u32; 2]> = maps[..len].windows(w).map(composed).collect();
            assert_eq!(rolling(&Scanner::cpu(), Compose, &maps[..len], w).unwrap(), of_windows, "{len} {w}");
        }
    }

    #[test]
    fn long_inputs_are_those_of_loops() {
        run(&Scanner::cpu(), 30_000).unwrap();
    }
}
