//! Comparison of strings, and the longest common prefixes of neighbours in a sorted list.
//!
//! The loops that one would write:
//!
//! ```text
//! for i in 0..n { if a[i] != b[i] { return (i, a[i].cmp(&b[i])) } }
//!
//! for (left, right) in neighbours { lcp.push(left.zip(right).take_while(equal).count()) }
//! ```
//!
//! Both look for the first difference, and the first of several is associative: of two parts it is that of the left
//! one, if there is any, and else that of the right one. A comparison is the reduction to it. The common prefixes of
//! all neighbours are one reduction as well, with a segment for each pair: each string is compared, byte by byte, with
//! the one before it, which `arrays::gather` reads from where it is.
//!
//! The loops stop at the first difference, a scan reads all. So it is for long common prefixes, as in sorted paths, and
//! for a GPU. On two threads of a CPU the comparison takes 1.4 times a loop over bytes, and the prefixes of paths
//! seven times, of which a part is the list of places to gather from.
//!
//! Sources: G. E. Blelloch, *Prefix Sums and Their Applications*, 1990, the first of whose applications is to compare
//! strings; U. Manber and G. Myers, *Suffix Arrays*, 1993.

use scan_runtime::{Error, ScanOp, Scanner, arrays, scan_element, scan_op};

use crate::report::{Outcome, Report, check, mixed};

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Bytes {
    index: u32,
    a: u8,
    b: u8,
}

/// Two bytes that differ, by the place and the bytes; the place is the largest number where there is no difference.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Difference {
    place: u32,
    a: u8,
    b: u8,
}

/// The first difference of two strings.
#[derive(Clone)]
struct FirstDifference;

#[scan_op(laws(samples = [(1, 1), (1, 2), (2, 1)].map(|(a, b)| Bytes { index: 7, a, b })))]
impl ScanOp for FirstDifference {
    type Input = Bytes;
    type State = Difference;
    type Output = Difference;
    const IDENTITY: Difference = Difference { place: u32::MAX, a: 0, b: 0 };
    fn lift(x: Bytes) -> Difference {
        if x.a == x.b { Self::IDENTITY } else { Difference { place: x.index, a: x.a, b: x.b } }
    }
    fn combine(a: Difference, b: Difference) -> Difference {
        if a.place == u32::MAX { b } else { a }
    }
}

/// The length of the common prefix, and which string comes first.
fn compare(scanner: &Scanner, a: &[u8], b: &[u8]) -> Result<(usize, std::cmp::Ordering), Error> {
    let common = a.len().min(b.len());
    let first = scanner.reduce(FirstDifference).run((arrays::indices(), &a[..common], &b[..common]))?;
    let place = common.min(first.place as usize);
    Ok((place, if place < common { first.a.cmp(&first.b) } else { a.len().cmp(&b.len()) }))
}

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Pair {
    a: u8,
    b: u8,
}

/// How many pairs are equal before the first that is not, and whether all are.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Equal {
    count: u32,
    all: bool,
}

#[derive(Clone)]
struct CommonPrefix;

#[scan_op(laws(samples = [Pair { a: 1, b: 1 }, Pair { a: 1, b: 2 }]))]
impl ScanOp for CommonPrefix {
    type Input = Pair;
    type State = Equal;
    type Output = u32;
    const IDENTITY: Equal = Equal { count: 0, all: true };
    fn lift(x: Pair) -> Equal {
        Equal { count: (x.a == x.b) as u32, all: x.a == x.b }
    }
    fn combine(a: Equal, b: Equal) -> Equal {
        if a.all { Equal { count: a.count + b.count, all: b.all } } else { a }
    }
    fn project(equal: Equal) -> u32 {
        equal.count
    }
}

/// The length of the common prefix of each string and the one before it, but for the first. The strings follow each
/// other in `text`, and begin at `begins`; each ends with a byte that is in it nowhere else.
fn common_prefixes(scanner: &Scanner, text: &[u8], begins: &[usize]) -> Result<Vec<u32>, Error> {
    let bounds: Vec<u32> = begins.iter().copied().chain([text.len()]).map(|bound| bound as u32).collect();
    let second = bounds.get(1).copied().unwrap_or(0);
    // A byte of a string is compared with the one at the same place of the string before.
    let mut partners: Vec<u32> = Vec::with_capacity(text.len() - second as usize);
    for bounds in bounds.windows(3) {
        partners.extend(bounds[0]..bounds[0] + bounds[2] - bounds[1]);
    }
    let offsets: Vec<u32> = bounds.iter().skip(1).map(|bound| bound - second).collect();
    let pairs = (arrays::gather(text, &partners), &text[second as usize..]);
    scanner.reduce(CommonPrefix).by_offsets(&offsets).run(pairs)
}

/// The plain loop.
fn common_prefixes_in_a_loop(text: &[u8], begins: &[usize]) -> Vec<u32> {
    let of = |i: usize| &text[begins[i]..begins.get(i + 1).copied().unwrap_or(text.len())];
    let common = |i: usize| of(i - 1).iter().zip(of(i)).take_while(|(a, b)| a == b).count() as u32;
    (1..begins.len()).map(common).collect()
}

/// Sorted paths, one after the other, each ended by a new line, and where they begin.
fn paths(len: usize) -> (Vec<u8>, Vec<usize>) {
    let folder = |bits: u64| ["benchmarks", "documentation", "examples", "sources", "tests"][bits as usize % 5];
    let path = |i: u64| {
        let bits = mixed(i);
        let folders: Vec<&str> = (0..4).map(|part| folder(bits >> (8 * part) & 255)).collect();
        format!("/home/user/projects/{}/file_{}.rs\n", folders.join("/"), bits >> 54)
    };
    let mut paths: Vec<String> = (0..len as u64 / 70).map(path).collect();
    paths.sort_unstable();
    let mut end = 0;
    let begin = |path: &String| {
        end += path.len();
        end - path.len()
    };
    (paths.concat().into_bytes(), paths.iter().map(begin).collect())
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let a: Vec<u8> = (0..len as u64).map(|i| mixed(i) as u8).collect();
    let mut b = a.clone();
    if let Some(last) = b.last_mut() {
        *last ^= 1;
    }
    let (mut ours, mut expected) = ((0, a.cmp(&b)), (0, a.cmp(&b)));
    let mut report = Report::default();
    report.time(
        "comparison, bytes",
        len,
        || {
            let first = a.iter().zip(&b).position(|(a, b)| a != b);
            expected = (first.unwrap_or(len), first.map_or(a.len().cmp(&b.len()), |i| a[i].cmp(&b[i])));
        },
        || compare(scanner, &a, &b).map(|compared| ours = compared),
    )?;
    check(ours == expected && ours.1 == a.cmp(&b), "comparison")?;

    let (text, begins) = paths(len);
    let (mut ours, mut expected) = (vec![], vec![]);
    report.time(
        "common prefixes of paths, bytes",
        text.len(),
        || expected = common_prefixes_in_a_loop(&text, &begins),
        || common_prefixes(scanner, &text, &begins).map(|lengths| ours = lengths),
    )?;
    check(ours == expected, "common prefixes")?;
    let few = b"car\ncard\ncare\ncat\ndog\n";
    let lengths = common_prefixes(scanner, few, &[0, 4, 9, 14, 18])?;
    report.drawing = format!("{:?} share {lengths:?}", String::from_utf8_lossy(few).lines().collect::<Vec<_>>());
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering::{Equal, Greater, Less};

    #[test]
    fn strings_are_compared_as_by_the_standard_library() {
        let compare = |a: &str, b: &str| compare(&Scanner::cpu(), a.as_bytes(), b.as_bytes()).unwrap();
        assert_eq!(compare("", ""), (0, Equal));
        assert_eq!(compare("", "a"), (0, Less));
        assert_eq!(compare("same", "same"), (4, Equal));
        assert_eq!(compare("prefix", "pre"), (3, Greater));
        assert_eq!(compare("abcx", "abbz"), (2, Greater));
    }

    #[test]
    fn prefixes_of_a_few_strings() {
        let of = |text: &[u8], begins: &[usize]| common_prefixes(&Scanner::cpu(), text, begins).unwrap();
        assert_eq!(of(b"", &[]), [0; 0]);
        assert_eq!(of(b"one\n", &[0]), [0; 0]);
        // The same string twice shares its end, too.
        assert_eq!(of(b"a\na\nab\n\n", &[0, 2, 4, 7]), [2, 1, 0]);
    }

    #[test]
    fn prefixes_are_those_of_a_loop() {
        for len in [0, 1, 200, 100_000] {
            run(&Scanner::cpu(), len).unwrap();
        }
    }
}
