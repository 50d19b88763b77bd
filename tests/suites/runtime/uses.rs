//! What users build of scans, as they would write it: an integral image, a radix sort, a service that prepares once, a
//! gated layer, and groups whose members lie apart.

use scan_runtime::{
    Axis, ScanOp, Scanner, arrays, laws,
    ndarray::{Array2, s},
    ops, scan_element, scan_fn, scan_op,
};
use scan_tests::{
    columns::Recurrence,
    operators::{MapU32, mixed},
};

/// The sum of any box of an image, by four reads of a table that is made by a scan along each axis.
#[test]
fn boxes_of_an_image_are_summed_by_four_reads() -> Result<(), scan_runtime::Error> {
    let image = Array2::from_shape_fn((57, 83), |(y, x)| (mixed((100 * y + x) as u64) % 256) as u32);
    let sums = Scanner::cpu().scan(ops::sum()).include_initial();
    let table = sums.along(1).run(&sums.along(0).run(&image)?)?;

    for (top, bottom, left, right) in [(0, 57, 0, 83), (3, 20, 7, 60), (56, 57, 82, 83), (9, 9, 9, 40)] {
        let sum = table[[bottom, right]] + table[[top, left]] - table[[top, right]] - table[[bottom, left]];
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

/// A layer with one gate for all channels of a head: nothing is repeated in memory, and the chunks of a sequence go on
/// where the one before has ended.
#[test]
fn a_gated_layer_has_one_gate_per_head() -> Result<(), scan_runtime::Error> {
    let [tokens, heads, channels] = [40, 3, 8];
    let of_token = heads * channels;
    let gates: Vec<u32> = (0..tokens * heads).map(|i| (mixed(i as u64) % 5) as u32).collect();
    let x: Vec<u32> = (0..tokens * of_token).map(|i| (mixed(7 + i as u64) % 100) as u32).collect();
    let layer = Scanner::cpu().scan(Recurrence);
    let (mut state, mut states) = (vec![MapU32 { a: 1, b: 0 }; of_token], vec![0; tokens * of_token]);
    for (chunk, output) in states.chunks_mut(10 * of_token).enumerate() {
        let (gates, x) = (&gates[chunk * 10 * heads..], &x[chunk * 10 * of_token..][..output.len()]);

        let along = layer.along(Axis::of(&[10, heads, channels], 0)?).init_each(&state);
        state = along.with_totals().run_into((arrays::strided(gates, &[heads, 1, 0]), x), output)?;
    }
    let mut h = vec![0_u32; of_token];
    for (i, &state) in states.iter().enumerate() {
        let (token, channel) = (i / of_token, i % of_token);
        let gate = gates[token * heads + channel / channels];
        h[channel] = gate.wrapping_mul(h[channel]).wrapping_add(x[i]);
        assert_eq!(state, h[channel], "token {token}, channel {channel}");
    }
    Ok(())
}

/// The members of a group lie apart: keys and values are gathered in one order, and each result goes to its member.
#[test]
fn groups_whose_members_lie_apart() -> Result<(), scan_runtime::Error> {
    let (keys, values) = ([7_u32, 3, 7, 3, 3], [1_u32, 10, 2, 20, 30]);
    let mut order: Vec<u32> = (0..5).collect();
    order.sort_by_key(|&i| keys[i as usize]);
    let (keys, values) = (arrays::gather(&keys, &order), arrays::gather(&values, &order));
    let mut sums = [0; 5];
    Scanner::cpu().scan(ops::by_key(ops::sum())).run_into((keys, values), arrays::scatter(&mut sums, &order))?;
    assert_eq!(sums, [1, 10, 3, 30, 60]);
    Ok(())
}

/// The state after all elements, of which the result is a projection.
#[test]
fn the_carry_of_a_reduction_as_well_as_its_projection() -> Result<(), scan_runtime::Error> {
    let layer = Scanner::cpu().scan(Recurrence);
    let (gates, x) = ([2_u32, 3, 5], [1_u32, 1, 4]);
    let carry = layer.with_total().run_into((&gates, &x), arrays::discard())?.expect("some elements");
    assert_eq!((carry, Recurrence.project(carry)), (MapU32 { a: 30, b: 24 }, 24));
    assert_eq!(Scanner::cpu().reduce(Recurrence).run((&gates, &x))?, 24);
    Ok(())
}
