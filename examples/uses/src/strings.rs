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
//! Both look for the first difference, and the first of several has the least place: least numbers are associative. A
//! comparison is the reduction to it, part by part of the strings, so that it ends with the first part that has one.
//! The common prefixes of all neighbours are one reduction as well, with a segment for each pair. Strings are kept in
//! whole words of eight bytes: a word of a string is compared with the word at the same place of the string before,
//! which `arrays::gather` reads from where it is. Of two parts the equal bytes of the left one count, and those of the
//! right one if all of the left ones are equal.
//!
//! The loops stop at the first difference of two strings, a scan reads all. So it is for long common prefixes, as in
//! sorted paths, and for a GPU. On one thread of a CPU the comparison takes 1.2 to 1.6 times a loop over bytes, and the
//! prefixes of paths as long as one, of which a part is the list of places to gather from. A loop over the words is
//! three times as fast, because it stops.
//!
//! Sources: G. E. Blelloch, *Prefix Sums and Their Applications*, 1990, the first of whose applications is to compare
//! strings; U. Manber and G. Myers, *Suffix Arrays*, 1993.

use std::cmp::Ordering;

use scan_runtime::{Error, ScanOp, Scanner, arrays, scan_element, scan_op};

use crate::report::{Outcome, Report, check, mixed};

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Bytes {
    index: i32,
    a: u8,
    b: u8,
}

/// The place of the first difference of two strings, or the largest number where there is none.
#[derive(Clone)]
struct FirstDifference;

#[scan_op(laws(samples = [(1, 1), (1, 2), (2, 1)].map(|(a, b)| Bytes { index: 7, a, b })))]
impl ScanOp for FirstDifference {
    type Input = Bytes;
    type State = i32;
    type Output = i32;
    const IDENTITY: i32 = i32::MAX;
    fn lift(x: Bytes) -> i32 {
        if x.a == x.b { Self::IDENTITY } else { x.index }
    }
    fn combine(a: i32, b: i32) -> i32 {
        a.min(b)
    }
}

/// Bytes that are compared before it is asked whether they differ.
const PART: usize = 1 << 20;

/// The length of the common prefix, and which string comes first.
fn compare(scanner: &Scanner, a: &[u8], b: &[u8]) -> Result<(usize, Ordering), Error> {
    let first = scanner.reduce(FirstDifference);
    for (part, (of_a, of_b)) in a.chunks(PART).zip(b.chunks(PART)).enumerate() {
        let common = of_a.len().min(of_b.len());
        let place = first.run((arrays::indices(), &of_a[..common], &of_b[..common]))? as usize;
        if place < common {
            return Ok((part * PART + place, of_a[place].cmp(&of_b[place])));
        }
    }
    Ok((a.len().min(b.len()), a.len().cmp(&b.len())))
}

/// Eight bytes of each of two strings, the first one lowest.
#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Pair {
    a: u64,
    b: u64,
}

/// How many bytes are equal before the first that is not, and whether all are.
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
        Equal { count: (x.a ^ x.b).trailing_zeros() / 8, all: x.a == x.b }
    }
    fn combine(a: Equal, b: Equal) -> Equal {
        if a.all { Equal { count: a.count + b.count, all: b.all } } else { a }
    }
    fn project(equal: Equal) -> u32 {
        equal.count
    }
}

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// Strings in whole words, each filled up with zeros, one after the other.
#[derive(Default)]
struct Strings {
    words: Vec<u64>,
    /// Where each begins, and the end of the last one.
    bounds: Vec<u32>,
    /// The bytes of each.
    lengths: Vec<u32>,
}

impl Strings {
    fn new<'a>(strings: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut all = Strings { bounds: vec![0], ..Strings::default() };
        for string in strings {
            for bytes in string.chunks(WORD) {
                let mut word = [0; WORD];
                word[..bytes.len()].copy_from_slice(bytes);
                all.words.push(u64::from_le_bytes(word));
            }
            all.bounds.push(all.words.len() as u32);
            all.lengths.push(string.len() as u32);
        }
        all
    }

    /// The length of the common prefix of each string and the one before it, but for the first.
    fn common_prefixes(&self, scanner: &Scanner) -> Result<Vec<u32>, Error> {
        // A word is compared with the one at the same place of the string before.
        let second = self.bounds.get(1).copied().unwrap_or(0);
        let mut partners: Vec<u32> = Vec::with_capacity(self.words.len() - second as usize);
        for bounds in self.bounds.windows(3) {
            partners.extend(bounds[0]..bounds[0] + bounds[2] - bounds[1]);
        }
        let offsets: Vec<u32> = self.bounds.iter().skip(1).map(|bound| bound - second).collect();
        let pairs = (arrays::gather(&self.words, &partners), &self.words[second as usize..]);
        let mut prefixes = scanner.reduce(CommonPrefix).by_offsets(&offsets).run(pairs)?;
        // What fills up the last word of a string is no part of it.
        for (prefix, lengths) in prefixes.iter_mut().zip(self.lengths.windows(2)) {
            *prefix = (*prefix).min(lengths[0]).min(lengths[1]);
        }
        Ok(prefixes)
    }

    /// The plain loop by words.
    fn common_prefixes_by_words(&self) -> Vec<u32> {
        let common = |(bounds, lengths): (&[u32], &[u32])| {
            let (a, b) = (&self.words[bounds[0] as usize..bounds[1] as usize], &self.words[bounds[1] as usize..]);
            let pairs = a.iter().zip(b);
            let first = pairs.clone().position(|(a, b)| a != b);
            let equal = first.map_or(u32::MAX, |i| (WORD * i) as u32 + (a[i] ^ b[i]).trailing_zeros() / 8);
            equal.min(lengths[0]).min(lengths[1])
        };
        self.bounds.windows(3).zip(self.lengths.windows(2)).map(common).collect()
    }
}

/// The plain loop, over strings of a text.
fn common_prefixes_by_bytes(text: &[u8], bounds: &[usize]) -> Vec<u32> {
    let common = |bounds: &[usize]| {
        let (a, b) = (&text[bounds[0]..bounds[1]], &text[bounds[1]..bounds[2]]);
        a.iter().zip(b).take_while(|(a, b)| a == b).count() as u32
    };
    bounds.windows(3).map(common).collect()
}

/// Sorted paths, one after the other, where they begin, and where the last one ends.
fn paths(len: usize) -> (Vec<u8>, Vec<usize>) {
    let folder = |bits: u64| ["benchmarks", "documentation", "examples", "sources", "tests"][bits as usize % 5];
    let path = |i: u64| {
        let bits = mixed(i);
        let folders: Vec<&str> = (0..4).map(|part| folder(bits >> (8 * part) & 255)).collect();
        format!("/home/user/projects/{}/file_{}.rs", folders.join("/"), bits >> 54)
    };
    let mut paths: Vec<String> = (0..len as u64 / 70).map(path).collect();
    paths.sort_unstable();
    let mut end = 0;
    let bound = |path: &String| {
        end += path.len();
        end
    };
    let bounds = std::iter::once(0).chain(paths.iter().map(bound)).collect();
    (paths.concat().into_bytes(), bounds)
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

    let (text, bounds) = paths(len);
    let strings = Strings::new(bounds.windows(2).map(|bounds| &text[bounds[0]..bounds[1]]));
    let (mut ours, mut expected) = (vec![], vec![]);
    let names = ["common prefixes of paths, bytes", "the same, compared with a loop by words"];
    let loops: [&dyn Fn() -> Vec<u32>; 2] =
        [&|| common_prefixes_by_bytes(&text, &bounds), &|| strings.common_prefixes_by_words()];
    for (name, plain) in names.into_iter().zip(loops) {
        let ours = &mut ours;
        report.time(
            name,
            text.len(),
            || expected = plain(),
            || strings.common_prefixes(scanner).map(|prefixes| *ours = prefixes),
        )?;
        check(*ours == expected, "common prefixes")?;
    }
    let few = ["car", "card", "care", "cat", "dog"];
    report.drawing = format!("{few:?} share {:?}", Strings::new(few.map(str::as_bytes)).common_prefixes(scanner)?);
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{Equal, Greater, Less};

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
        let of = |strings: &[&str]| {
            let strings = Strings::new(strings.iter().map(|string| string.as_bytes()));
            let prefixes = strings.common_prefixes(&Scanner::cpu()).unwrap();
            assert_eq!(prefixes, strings.common_prefixes_by_words());
            prefixes
        };
        assert_eq!(of(&[]), [0; 0]);
        assert_eq!(of(&["one"]), [0; 0]);
        assert_eq!(of(&["", "a", "a", "ab", "ab\0", "a long string", "a long string of words"]), [0, 1, 1, 2, 1, 13]);
    }

    #[test]
    fn prefixes_are_those_of_a_loop() {
        for len in [0, 1, 200, 100_000] {
            run(&Scanner::cpu(), len).unwrap();
        }
    }
}
