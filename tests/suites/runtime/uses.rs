//! What users build of scans, as they would write it: an integral image, a radix sort, and a service that prepares once.

use scan_runtime::{
    ScanOp, Scanner, arrays, laws,
    ndarray::{Array2, s},
    ops, scan_element, scan_fn, scan_op,
};
use scan_tests::operators::mixed;

/// The sum of any box of an image, by four reads of a table that is made by a scan along each axis.
#[test]
fn boxes_of_an_image_are_summed_by_four_reads() -> Result<(), scan_runtime::Error> {
    let image = Array2::from_shape_fn((57, 83), |(y, x)| (mixed((100 * y + x) as u64) % 256) as u32);
    let sums = Scanner::cpu().scan(ops::sum());
    let table = sums.along(1).run(&sums.along(0).run(&image)?)?;

    let sum_to = |y: usize, x: usize| if y == 0 || x == 0 { 0 } else { table[[y - 1, x - 1]] };
    for (top, bottom, left, right) in [(0, 57, 0, 83), (3, 20, 7, 60), (56, 57, 82, 83), (9, 9, 9, 40)] {
        let sum = sum_to(bottom, right) + sum_to(top, left) - sum_to(top, right) - sum_to(bottom, left);
        assert_eq!(sum, image.slice(s![top..bottom, left..right]).sum(), "{top}..{bottom}, {left}..{right}");
    }
    Ok(())
}

/// A number for each digit: how many keys have it, or where the next key that has it goes.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct OfDigits {
    numbers: [u32; 16],
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Placed {
    place: u32,
    key: u32,
}

#[scan_fn]
fn add(a: OfDigits, b: OfDigits) -> OfDigits {
    let mut sum = a;
    for digit in 0..16 {
        sum.numbers[digit] += b.numbers[digit];
    }
    sum
}

/// A pass of a radix sort, as the loop that everybody writes: each key goes to the next place of its digit.
#[derive(Clone)]
struct Pass {
    shift: u32,
}

#[scan_op]
impl ScanOp for Pass {
    type Input = u32;
    type Carry = OfDigits;
    type Output = Placed;
    const START: OfDigits = OfDigits { numbers: [0; 16] };
    fn advance(&self, next: OfDigits, key: u32) -> (OfDigits, Placed) {
        let digit = (key >> self.shift & 15) as usize;
        let mut after = next;
        after.numbers[digit] += 1;
        (after, Placed { place: next.numbers[digit], key })
    }
    // What a part of the keys does to the places: it moves them on by its counts.
    type State = OfDigits;
    const IDENTITY: OfDigits = OfDigits { numbers: [0; 16] };
    fn lift(&self, key: u32) -> OfDigits {
        let mut counts = Self::IDENTITY;
        counts.numbers[(key >> self.shift & 15) as usize] = 1;
        counts
    }
    fn combine(a: OfDigits, b: OfDigits) -> OfDigits {
        add(a, b)
    }
    fn apply(counts: OfDigits, next: OfDigits) -> OfDigits {
        add(next, counts)
    }
}

/// Four bits a pass, from the lowest. The total of a scan that discards its results is the histogram.
#[test]
fn a_radix_sort_is_a_scan_a_pass() -> Result<(), scan_runtime::Error> {
    laws::check(&Pass { shift: 4 }, [0, 0x10, 0x25, 0xf0]).unwrap();
    let scanner = Scanner::cpu();
    let mut keys: Vec<u32> = (0..50_000).map(|i| mixed(i) as u32).collect();
    let (mut sorted, mut expected) = (vec![0; keys.len()], keys.clone());
    for shift in (0..32).step_by(4) {
        let pass = scanner.scan(Pass { shift });
        let total = pass.with_total().run_into(&keys, arrays::discard())?;
        let starts = scanner.scan(ops::sum()).exclusive().run(&total.map_or([0; 16], |histogram| histogram.numbers))?;
        let next = OfDigits { numbers: std::array::from_fn(|digit| starts[digit]) };
        pass.init(next).run_into(&keys, arrays::scatter_by_output((&mut sorted,)))?;
        std::mem::swap(&mut keys, &mut sorted);
    }
    expected.sort_unstable();
    assert_eq!(keys, expected);
    Ok(())
}

/// A handle is made once; each request brings keys, values and a length of its own.
#[test]
fn a_service_prepares_once_and_takes_other_keys_each_time() -> Result<(), scan_runtime::Error> {
    let sums = Scanner::cpu().scan(ops::sum()).by_keys(&[0_u32; 0]).prepare(10_000)?;
    let mut so_far = vec![0; 10_000];
    for request in 1..20_u64 {
        let len = (mixed(request) % 10_000) as usize;
        let values: Vec<u64> = (0..len as u64).map(|i| mixed(i + request) % 1_000).collect();
        let keys: Vec<u32> = (0..len as u64).map(|i| (i / (request + 3)) as u32).collect();

        sums.by_keys(&keys).run_into(&values, &mut so_far[..len])?;

        let (mut sum, mut key) = (0, 0);
        for i in 0..len {
            sum = if keys[i] == key { sum + values[i] } else { values[i] };
            key = keys[i];
            assert_eq!(so_far[i], sum, "request {request}, element {i}");
        }
    }
    Ok(())
}
