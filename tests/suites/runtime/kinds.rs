//! Arrays that are no slices, on the CPU: as slices that the test gathers and scatters itself, and what is refused.

use scan_codegen::ScanSpec;
use scan_runtime::{
    Axis, AxisError, Error, ScanOp, Scanner,
    arrays::{PlacedAt, discard, gather, indices, next, previous, scatter, scatter_by_output, strided},
    laws, ops, scan_element, scan_fn, scan_op,
};
use scan_tests::{
    columns::{ColumnsOperator, Recurrence, Router, Step, Summarize},
    operators::{AffineU32, MapU32, TestOperator, mixed},
    reference,
    several::{Post, Splitter, Tokenizer, digits, digits_of, text, tokens_of},
};

/// `len` of `count` places, each once.
fn places(len: usize, count: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    (1..count).rev().for_each(|last| places.swap(last, mixed(last as u64) as usize % (last + 1)));
    places.truncate(len);
    places
}

#[test]
fn gather_and_scatter_equal_a_plain_loop() {
    let scanner = Scanner::cpu();
    for (turn, len) in [0, 1, 33, 5_504, 20_021].into_iter().enumerate() {
        let (reversed, exclusive, restarts) = (turn % 2 == 1, turn % 3 == 1, turn % 3 == 2);
        let input = Summarize::inputs(len, 7);
        let (at, to) = (places(len, len + 3), places(len, len + 5));
        let narrow: Vec<u32> = at.iter().map(|&place| place as u32).collect();
        let mut values = vec![-1.0; len + 3];
        at.iter().zip(&input).for_each(|(&place, reading)| values[place] = reading.value);
        let kinds: Vec<u8> = input.iter().map(|reading| reading.kind).collect();
        let codes: Vec<[u16; 3]> = input.iter().map(|reading| reading.code).collect();
        let spec = if exclusive { ScanSpec::exclusive() } else { ScanSpec::inclusive() };
        let spec = if reversed { spec.reverse() } else { spec };
        let begins: Option<Vec<bool>> = restarts.then(|| (0..len).map(|i| i % 1_019 == 5).collect());
        let expected = reference::scan_as(&Summarize, &spec, None, &input, begins.as_deref());
        let scan = scanner.scan(Summarize);
        let scan = if reversed { scan.reverse() } else { scan };
        let scan = if exclusive { scan.exclusive() } else { scan };
        let mut hashes = vec![7; len + 5];
        let inputs = (&kinds, gather(&values, &narrow), &codes);
        let outputs = (scatter(&mut hashes, &to), discard());
        match &begins {
            Some(begins) => scan.by_flags(begins).run_into(inputs, outputs).unwrap(),
            None => scan.run_into(inputs, outputs).unwrap(),
        }
        let mut wanted = vec![7; len + 5];
        to.iter().zip(&expected).for_each(|(&place, summary)| wanted[place] = summary.hash);
        assert_eq!(hashes, wanted, "{spec}, {len} elements");
    }
}

/// The CPU reads gathered items where they are: by vector registers or not, from the first element on or from another.
#[test]
fn gathered_items_are_read_as_those_of_a_slice() {
    let scanner = Scanner::cpu();
    let len = 300_000;
    let at: Vec<u32> = places(len, len + 3).into_iter().map(|place| place as u32).collect();
    let values: Vec<i32> = (0..len as u64 + 3).map(|i| mixed(i) as i32).collect();
    let slice: Vec<i32> = at.iter().map(|&place| values[place as usize]).collect();
    let items = || gather(&values, &at);
    let (sums, largest) = (scanner.scan(ops::sum()), scanner.reduce(ops::max()));
    assert!(sums.run(items()).unwrap() == sums.run(&slice).unwrap(), "a scan");
    assert_eq!(largest.run(items()).unwrap(), largest.run(&slice).unwrap());
    // Results that are scattered are held part by part.
    let (mut scattered, mut expected) = (vec![0; len], vec![0; len]);
    let order: Vec<u32> = (0..len as u32).rev().collect();
    sums.run_into(items(), scatter(&mut scattered, &order)).unwrap();
    sums.run_into(&slice, scatter(&mut expected, &order)).unwrap();
    assert!(scattered == expected, "scattered results");
    let offsets = [0, 1, 40, 90, 200_000, len];
    let segments = largest.by_offsets(&offsets);
    assert_eq!(segments.run(items()).unwrap(), segments.run(&slice).unwrap());
    let segments = sums.by_offsets(&offsets).init_each(&[1, 2, 3, 4, 5]);
    assert!(segments.run(items()).unwrap() == segments.run(&slice).unwrap(), "segments with initial values");
    for axis in [0, 1] {
        let columns = sums.along(Axis::of(&[300, 1_000], axis).unwrap());
        assert!(columns.run(items()).unwrap() == columns.run(&slice).unwrap(), "along axis {axis}");
    }
}

#[test]
fn the_last_item_scattered_to_a_place_stays() {
    let (scanner, mut results) = (Scanner::cpu(), [0; 3]);
    let outputs = scatter(&mut results, &[1_u32, 0, 1, 2]);
    scanner.scan(ops::sum::<u32>()).run_into(&[1, 2, 3, 4], outputs).unwrap();
    assert_eq!(results, [3, 6, 10]);
}

#[test]
fn indices_count_from_the_start_of_memory_in_both_directions() {
    let gates = vec![3_u32; 10_000];
    for reversed in [false, true] {
        let scan = Scanner::cpu().scan(Recurrence);
        let scan = if reversed { scan.reverse() } else { scan };
        let spec = if reversed { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
        let mut found = vec![0; gates.len()];
        let scan = scan;
        let total = scan.with_total().run_into((&gates, indices()), &mut found).unwrap();
        let input: Vec<Step> = (0..gates.len() as u32).map(|token| Step { gate: 3, token }).collect();
        assert_eq!(found, reference::scan_as(&Recurrence, &spec, None, &input, None));
        let total_alone = scan.with_total().run_into((&gates, indices()), discard()).unwrap();
        assert_eq!(total.map(|map| (map.a, map.b)), total_alone.map(|map| (map.a, map.b)));
    }
}

/// Of the whole, of rows, along an axis, and along one of an array with gaps; from either end.
#[test]
fn neighbours_equal_a_plain_loop() {
    let scanner = Scanner::cpu();
    for (turn, (rows, row)) in [(1, 0), (1, 1), (1, 20_021), (13, 421), (5_504, 1), (3, 2)].into_iter().enumerate() {
        let len = rows * row;
        let (x, y): (Vec<u32>, Vec<u32>) = (0..len as u64).map(|i| (mixed(i) as u32, mixed(!i) as u32)).unzip();
        let (mut before, mut after) = (vec![7; len], vec![9; len]);
        for i in 0..len {
            before[i] = if i % row == 0 { 7 } else { x[i - 1] };
            after[i] = if i % row == row - 1 { 9 } else { y[i + 1] };
        }
        let input: Vec<Step> = before.into_iter().zip(after).map(|(gate, token)| Step { gate, token }).collect();
        let begins: Vec<bool> = (0..len).map(|i| i % row == 0).collect();
        let spec = if turn % 2 == 1 { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
        let expected = reference::scan_as(&Recurrence, &spec, None, &input, Some(&begins));
        let scan = if turn % 2 == 1 { scanner.scan(Recurrence).reverse() } else { scanner.scan(Recurrence) };
        let inputs = || (previous(&x, 7), next(&y, 9));
        let mut states = vec![0; len];
        if rows == 1 {
            scan.clone().run_into(inputs(), &mut states).unwrap();
            assert_eq!(states, expected, "{len} elements");
        }
        scan.rows(row).run_into(inputs(), &mut states).unwrap();
        assert_eq!(states, expected, "{rows} rows of {row}");
        states.fill(0);
        scan.along(Axis::of(&[rows, row], 1).unwrap()).run_into(inputs(), &mut states).unwrap();
        assert_eq!(states, expected, "{rows} rows of {row}, as an axis");
        // The same array, transposed.
        let transposed = Axis::of(&[row, rows], 0).unwrap().strides(&[1, row]).unwrap();
        states.fill(0);
        scan.along(transposed).run_into(inputs(), &mut states).unwrap();
        assert_eq!(states, expected, "{rows} columns of {row}, one behind the other");
        // Each row beside the others, with a gap behind them.
        let apart = Axis::of(&[row, rows], 0).unwrap().strides(&[rows + 1, 1]).unwrap();
        let spread = |items: &[u32]| {
            let mut found = vec![3; apart.input_len()];
            (0..len).for_each(|i| found[i % row * (rows + 1) + i / row] = items[i]);
            found
        };
        let (x, y, mut states) = (spread(&x), spread(&y), vec![3; apart.output_len()]);
        scan.along(apart.clone()).run_into((previous(&x, 7), next(&y, 9)), &mut states).unwrap();
        assert_eq!(states, spread(&expected), "{rows} columns of {row}, side by side");
    }
}

#[test]
fn strides_of_an_array_equal_its_repetition() {
    let scanner = Scanner::cpu();
    let shape @ [a, b, c] = [5, 40, 33];
    for (axis, strides, reversed) in [
        (1, [40, 1, 0], false),
        (0, [0, 33, 1], true),
        (1, [0, 0, 0], false),
        (2, [1, 0, 5], true),
        (2, [40, 1, 0], false),
        (1, [33, 165, 1], false),
        (1, [-1320, 33, 1], false),
        (1, [1320, -33, -1], true),
        (2, [-1, 0, -5], false),
    ] {
        // The first element of an inverted dimension lies last.
        let last = |extent: usize, stride: isize| (extent as isize - 1) * stride.min(0);
        let first = -(last(a, strides[0]) + last(b, strides[1]) + last(c, strides[2]));
        let axis = Axis::of(&shape, axis).unwrap();
        let gates: Vec<u32> = (0..6_600).map(|i| mixed(i) as u32).collect();
        let tokens: Vec<u32> = (0..6_600).map(|i| mixed(!i) as u32).collect();
        let mut repeated = Vec::new();
        for (i, j, k) in (0..a).flat_map(|i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k)))) {
            let [i, j, k] = [i, j, k].map(|index| index as isize);
            repeated.push(gates[(first + i * strides[0] + j * strides[1] + k * strides[2]) as usize]);
        }
        let scan = if reversed { scanner.scan(Recurrence).reverse() } else { scanner.scan(Recurrence) };
        let scan = scan.along(axis);
        let (mut found, mut expected) = (vec![0; 6_600], vec![1; 6_600]);
        scan.run_into((&repeated, &tokens), &mut expected).unwrap();
        scan.run_into((strided(&gates, &strides), &tokens), &mut found).unwrap();
        assert_eq!(found, expected, "{strides:?}");
    }
}

#[test]
fn arrays_that_do_not_lie_as_they_say_are_refused() {
    let scan = Scanner::cpu().scan(Recurrence);
    let (x, mut states) = ([1_u32; 12], [9_u32; 12]);
    let error = scan.clone().run_into((&x, previous(&x[1..], 0)), &mut states).unwrap_err();
    assert!(matches!(error, Error::ArrayLength { array: 1, len: 11, first: 12, .. }), "{error}");
    let error = scan.clone().run_into((&x, strided(&x, &[1])), &mut states).unwrap_err();
    assert!(matches!(error, Error::NoAxis { array: 1 }), "{error}");
    assert!(error.to_string().contains("scan along an axis"), "{error}");
    let axis = || Axis::of(&[3, 4], 0).unwrap();
    let along = |axis: Axis| scan.along(axis);
    let error = along(axis()).run_into((&x, strided(&x, &[1])), &mut states).unwrap_err();
    assert!(matches!(error, Error::Axis(AxisError::Strides { strides: 1, dimensions: 2 })), "{error}");
    let error = along(axis()).run_into((&x, strided(&x, &[5, 1])), &mut states).unwrap_err();
    assert!(matches!(error, Error::StridedLength { array: 1, found: 12, expected: 14, .. }), "{error}");
    let error = along(axis()).run_into((&x, strided(&x, &[-5, 1])), &mut states).unwrap_err();
    assert!(matches!(error, Error::StridedLength { array: 1, found: 12, expected: 14, .. }), "{error}");
    let error = along(axis()).run_into((&x, strided(&x, &[0; 12])), &mut states).unwrap_err();
    assert!(matches!(error, Error::Axis(AxisError::Strides { strides: 9, dimensions: 2 })), "{error}");
    let error = along(axis()).run_into((&x, strided(&x, &[isize::MIN, 1])), &mut states).unwrap_err();
    assert!(matches!(error, Error::Axis(AxisError::TooLarge { .. })), "{error}");
    along(axis()).run_into((&x, strided(&x, &[4, 1])), &mut states).unwrap();
    let error = along(axis()).run_into((&x, strided(&x, &[usize::MAX, 1])), &mut states).unwrap_err();
    assert!(matches!(error, Error::Axis(AxisError::TooLarge { .. })), "{error}");
    // One element of the input may have several neighbours.
    let repeats = || axis().input_strides(&[1, 0]).unwrap();
    let x = [1_u32; 3];
    along(repeats()).run_into((&x, &x), &mut states).unwrap();
    for error in [
        along(repeats()).run_into((&x, previous(&x, 0)), &mut states).unwrap_err(),
        along(repeats()).run_into((&x, strided(&x, &[0, 0])), &mut states).unwrap_err(),
    ] {
        assert!(matches!(error, Error::AxisRepeats { array: 1 }), "{error}");
    }
    let empty = Axis::of(&[0, 4], 0).unwrap();
    along(empty).run_into((&[], strided(&[], &[4, 1])), &mut []).unwrap();
}

#[test]
fn computed_places_equal_a_plain_loop() {
    let scanner = Scanner::cpu();
    for (turn, len) in [0, 1, 33, 5_504, 20_021].into_iter().enumerate() {
        let input = Router::inputs(len, 7);
        let spec = if turn % 2 == 1 { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
        let scan = scanner.scan(Router);
        let scan = if turn % 2 == 1 { scan.reverse() } else { scan };
        // The places are those up to two behind as many as there are elements.
        let (room, more) = (len + 3, len + 20);
        let (mut wanted, mut wanted_low) = (vec![7_u32; room], vec![7_u8; more]);
        for delivery in reference::scan_as(&Router, &spec, None, &input, None) {
            let place = delivery.place as usize;
            wanted.get_mut(place).into_iter().for_each(|to| *to = delivery.register);
            wanted_low.get_mut(place).into_iter().for_each(|to| *to = delivery.low);
        }
        let (mut registers, mut low) = (vec![7_u32; room], vec![7_u8; more]);
        let (places, steps): (Vec<u32>, Vec<Step>) = input.iter().map(|parcel| (parcel.place, parcel.step)).unzip();
        let outputs = scatter_by_output((&mut registers, &mut low));
        scan.run_into((&places, &steps), outputs).unwrap();
        assert_eq!((registers, low), (wanted, wanted_low), "{spec}, {len} elements");
    }
}

#[test]
fn several_computed_places_equal_a_plain_loop() {
    let scanner = Scanner::cpu();
    for (turn, len) in [0, 1, 33, 5_504, 20_021].into_iter().enumerate() {
        let input = Router::inputs(len, 7);
        let spec = if turn % 2 == 1 { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
        let scan = scanner.scan(Splitter);
        let scan = if turn % 2 == 1 { scan.reverse() } else { scan };
        let (mut wanted, mut wanted_halves) = (vec![7_u32; 3 * len + 9], vec![[7_u16; 2]; 3 * len + 9]);
        for parts in reference::scan_as(&Splitter, &spec, None, &input, None) {
            for (item, place) in parts.places.into_iter().enumerate() {
                let place = place as usize;
                wanted.get_mut(place).into_iter().for_each(|to| *to = parts.registers[item]);
                wanted_halves.get_mut(place).into_iter().for_each(|to| *to = parts.halves[item]);
            }
        }
        let (mut registers, mut halves) = (vec![7_u32; 3 * len + 9], vec![[7_u16; 2]; 3 * len + 9]);
        let (places, steps): (Vec<u32>, Vec<Step>) = input.iter().map(|parcel| (parcel.place, parcel.step)).unzip();
        scan.run_into((&places, &steps), scatter_by_output((&mut registers, &mut halves))).unwrap();
        assert_eq!((registers, halves), (wanted, wanted_halves), "{spec}, {len} elements");
    }
}

#[test]
fn a_byte_gives_several_results_or_none() {
    let scanner = Scanner::cpu();
    let alphabet = text(200);
    laws::check(&Tokenizer, &alphabet).unwrap();
    for len in [0, 1, 70, 50_000] {
        let text = text(len);
        let (mut numbers, mut kinds) = (vec![0; 2 * len], vec![0; 2 * len]);
        let outputs = scatter_by_output((&mut numbers, &mut kinds));
        let read = scanner.scan(Tokenizer).with_total().run_into(&text, outputs).unwrap();
        let count = read.map_or(0, |read| read.tokens as usize);
        numbers.truncate(count);
        kinds.truncate(count);
        assert_eq!((numbers, kinds), tokens_of(&text), "{len}");

        let bytes: Vec<u8> = (0..len as u64).map(|i| mixed(i) as u8).collect();
        let scan = scanner.scan(ops::map::<digits, _>(ops::flat_map()));
        let mut written = vec![0; 3 * len];
        let count = scan.with_total().run_into(&bytes, scatter_by_output((&mut written,))).unwrap();
        assert_eq!(written[..count.unwrap_or(0) as usize], digits_of(&bytes), "{len}");
    }
}

#[scan_fn]
fn odd(x: u64) -> ops::Candidate<u64> {
    ops::Candidate { keep: x % 2 == 1, value: x / 2 }
}

#[test]
fn a_filter_keeps_the_order_of_items() {
    let scan = Scanner::cpu().scan(ops::map::<odd, _>(ops::filter()));
    for len in [0, 1, 70, 5_000] {
        let input: Vec<u64> = (0..len).map(mixed).collect();
        let mut wanted: Vec<u64> = input.iter().filter(|x| **x % 2 == 1).map(|x| x / 2).collect();
        for backwards in [false, true] {
            let mut kept = vec![0; len as usize];
            let scan = if backwards { scan.clone().reverse() } else { scan.clone() };
            let outputs = scatter_by_output((&mut kept,));
            let count = scan.with_total().run_into(&input, outputs).unwrap();
            assert_eq!(kept[..count.unwrap_or(0) as usize], wanted, "{len}, from the end: {backwards}");
            wanted.reverse();
        }
        // The elements that precede each, and nothing of it.
        let exclusive = scan.clone().exclusive().run(&input).unwrap();
        assert!(exclusive.iter().all(|kept| kept.value == 0));
    }
}

/// More elements than are scanned at a time where results are moved: the carry goes on from part to part, errors count
/// all elements, and slices next to moved arrays are written in place.
#[test]
fn moved_results_of_many_elements_equal_those_of_slices() {
    let scanner = Scanner::cpu();
    let len = 300_001;
    let input: Vec<u64> = (0..len).map(mixed).collect();
    let wanted: Vec<u64> = input.iter().filter(|x| **x % 2 == 1).map(|x| x / 2).collect();
    let scan = scanner.scan(ops::map::<odd, _>(ops::filter()));
    let mut kept = vec![0; wanted.len()];
    let count = scan.with_total().run_into(&input, scatter_by_output((&mut kept,))).unwrap();
    assert_eq!((kept, count), (wanted.clone(), Some(wanted.len() as u32)));
    let last = input.iter().rposition(|x| x % 2 == 1).unwrap();
    let error = scan.run_into(&input, scatter_by_output((&mut vec![0; wanted.len() - 1],))).unwrap_err();
    let found = matches!(error, Error::ComputedIndex { array: 1, element, .. } if element == last);
    assert!(found, "{error}, not of element {last}");

    let len = len as usize;
    let (order, maps) = (places(len, len), (0..len as u64).map(AffineU32::input).collect::<Vec<_>>());
    let plain = scanner.scan(AffineU32);
    for scan in [
        plain.clone(),
        plain.clone().exclusive(),
        plain.clone().init(<AffineU32 as TestOperator>::initial_value()),
        plain.clone().reverse(),
        plain.exclusive().init(<AffineU32 as TestOperator>::initial_value()).reverse(),
    ] {
        let (expected, total) = scan.with_total().run(&maps).unwrap();
        let (mut a, mut b) = (vec![0; len], vec![0; len]);
        let found = scan.with_total().run_into(&maps, (scatter(&mut a, &order), &mut b)).unwrap();
        assert_eq!(found, total, "{scan:?}");
        let same = |(index, map): (usize, &MapU32)| map.a == a[order[index]] && map.b == b[index];
        assert!(expected.iter().enumerate().all(same), "{scan:?}");
        let mut whole = vec![MapU32 { a: 0, b: 0 }; len];
        scan.run_into(&maps, scatter(&mut whole, &order)).unwrap();
        assert!(expected.iter().enumerate().all(|(index, map)| *map == whole[order[index]]), "{scan:?}");
        let flags: Vec<bool> = (0..len).map(|index| index % 1_001 == 0).collect();
        scan.by_flags(&flags).run_into(&maps, scatter(&mut whole, &order)).unwrap();
        let expected = scan.by_flags(&flags).run(&maps).unwrap();
        assert!(expected.iter().enumerate().all(|(index, map)| *map == whole[order[index]]), "{scan:?} by flags");
    }
}

/// The remainder of the element, a place that many elements have, and its copies.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shared {
    place: u32,
    small: u16,
    pair: MapU32,
}

struct SharedPlaces;

#[scan_op]
impl ScanOp for SharedPlaces {
    type Input = u32;
    type State = u32;
    type Output = Shared;
    type Carry = u32;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn lift(x: u32) -> u32 {
        x
    }
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(sum: u32, before: u32) -> u32 {
        before.wrapping_add(sum)
    }
    fn step(before: u32, x: u32) -> u32 {
        before.wrapping_add(x)
    }
    fn emit(_sum: u32, x: u32) -> Shared {
        let place = if x < 1_000 { x % 100 } else { x };
        Shared { place, small: (x % 1_000) as u16, pair: MapU32 { a: x, b: x } }
    }
    fn project(sum: u32) -> Shared {
        Shared { place: u32::MAX, small: 0, pair: MapU32 { a: sum, b: sum } }
    }
}

/// Several threads write to the same places: of items that are no primitives one thread, so that none is torn.
#[test]
fn places_that_elements_share_hold_one_of_them() {
    let input: Vec<u32> = (0..400_000).map(|i| (mixed(i) % 1_000) as u32).collect();
    let scan = Scanner::cpu().scan(SharedPlaces);
    for threads in [1, 2, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (mut small, mut pairs) = ([u16::MAX; 100], [MapU32 { a: 7, b: 8 }; 100]);
        pool.install(|| scan.run_into(&input, scatter_by_output((&mut small, &mut pairs)))).unwrap();
        for place in 0..100 {
            assert!(small[place] < 1_000 && usize::from(small[place]) % 100 == place, "{place}: {}", small[place]);
            assert!(pairs[place].a == pairs[place].b && pairs[place].a as usize % 100 == place, "{:?}", pairs[place]);
        }
    }
}

/// However many threads work: of many places beyond the arrays the error is of the first.
#[test]
fn the_first_place_beyond_an_array_is_reported() {
    let scan = Scanner::cpu().scan(ops::map::<odd, _>(ops::filter()));
    let input: Vec<u64> = (0..400_000).map(mixed).collect();
    let kept: Vec<usize> = (0..input.len()).filter(|index| input[*index] % 2 == 1).collect();
    for (threads, room) in [(1, 50_000), (2, 50_000), (4, 20), (4, 150_000)] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut results = vec![0; room];
        let error = pool.install(|| scan.run_into(&input, scatter_by_output((&mut results,)))).unwrap_err();
        let Error::ComputedIndex { array: 1, element, index, len } = error else { panic!("{error}") };
        assert_eq!((element, index, len), (kept[room], room as i128, room));
        assert!(results.iter().zip(&kept).all(|(result, index)| *result == input[*index] / 2));
    }
}

/// A place that is not in an array is an error, unless it is the largest one, which skips the element. What has a place
/// is written, and nothing beyond the array.
#[test]
fn computed_places_beyond_an_array_are_refused() {
    let scanner = Scanner::cpu();
    let (input, mut kept) = ([1_u64, 3, 2, 5], [9; 2]);
    let scan = scanner.scan(ops::map::<odd, _>(ops::filter()));
    let error = scan.with_total().run_into(&input, scatter_by_output((&mut kept,))).unwrap_err();
    assert!(matches!(error, Error::ComputedIndex { array: 1, element: 3, index: 2, len: 2 }), "{error}");
    assert_eq!(kept, [0, 1]);
    // What it takes.
    assert_eq!(scan.with_total().run_into(&input, (discard(), discard())).unwrap(), Some(3));

    let scan = scanner.scan(ops::map::<digits, _>(ops::flat_map()));
    let mut written = [9; 4];
    let error = scan.run_into(&[7, 255, 1], scatter_by_output((&mut written,))).unwrap_err();
    assert!(matches!(error, Error::ComputedIndex { array: 1, element: 2, index: 4, len: 4 }), "{error}");
    let error = scan.run_into(&[255, 255, 1], scatter_by_output((&mut written,))).unwrap_err();
    assert!(matches!(error, Error::ComputedIndex { array: 1, element: 1, index: 4, len: 4 }), "{error}");
    // The second array alone.
    let (steps, places) = ([Step { gate: 1, token: 1 }; 2], [0_u32, 1]);
    let (mut registers, mut low) = ([9_u32; 2], [9_u8; 1]);
    let scan = scanner.scan(Router);
    let error = scan.run_into((&places, &steps), scatter_by_output((&mut registers, &mut low))).unwrap_err();
    assert!(matches!(error, Error::ComputedIndex { array: 2, element: 1, index: 1, len: 1 }), "{error}");
    assert_eq!(registers, [6, 7]);
}

/// A count that the type cannot hold stays at the largest number, and the places that are counted so are none.
#[test]
fn counts_of_results_do_not_wrap_around() {
    let (scanner, input) = (Scanner::cpu(), [1_u64; 6]);
    let narrow = scanner.scan(ops::map::<odd, _>(ops::filter())).init(u32::MAX - 2);
    let (kept, total) = narrow.with_total().run(&input).unwrap();
    let places: Vec<u32> = kept.iter().map(|kept| kept.place).collect();
    let last = u32::MAX - 2;
    assert_eq!(places, [last, last + 1, last + 1, last + 1, last + 1, last + 1]);
    assert_eq!(total, Some(u32::MAX));
    let mut written = [9; 6];
    let error = narrow.run_into(&input, scatter_by_output((&mut written,))).unwrap_err();
    assert!(matches!(error, Error::ComputedIndex { element: 0, .. }), "{error}");
    assert_eq!(written, [9; 6]);

    let wide = scanner.scan(ops::map::<odd, _>(ops::filter().places::<u64>())).init(u64::from(last));
    let (kept, total) = wide.with_total().run(&input).unwrap();
    assert!(kept.iter().map(|kept| kept.place).eq((0..6).map(|i| u64::from(last) + i)));
    assert_eq!(total, Some(u64::from(last) + 6));

    // Two digits begin in front of the last place, the third is at it.
    let digits_of_each = scanner.scan(ops::map::<digits, _>(ops::flat_map())).init(u32::MAX - 4);
    let (placed, total) = digits_of_each.with_total().run(&[255, 7]).unwrap();
    let places: Vec<[u32; 3]> = placed.iter().map(|placed| placed.places).collect();
    assert_eq!(places, [[last - 2, last - 1, last], [last + 1, u32::MAX, u32::MAX]]);
    assert_eq!(total, Some(u32::MAX));
}

/// However long the array is: the one skips an element, and the other one is an error.
#[test]
fn the_two_largest_places_are_reserved() {
    let beyond = |place: u32| <u8 as PlacedAt<u32>>::beyond(&place, 1 << 33);
    assert_eq!(
        [beyond(u32::MAX - 2), beyond(u32::MAX - 1), beyond(u32::MAX)],
        [None, Some(i128::from(u32::MAX) - 1), None]
    );
    assert_eq!(<u8 as PlacedAt<u32>>::PLACES, u32::MAX as usize - 1);
    assert_eq!(<[u8; 2] as PlacedAt<[u64; 2]>>::beyond(&[u64::MAX, 9], 9), Some(9));
}

/// Of signed places -1 skips an element, and every other negative one is an error. The largest one is a place.
#[test]
fn negative_places_are_in_no_array() {
    let narrow = |place: i32| <u8 as PlacedAt<i32>>::beyond(&place, 1 << 33);
    assert_eq!([i32::MAX, -1].map(narrow), [None, None]);
    assert_eq!([-2, i32::MIN].map(narrow), [Some(-2), Some(-1 << 31)]);
    assert_eq!(<u8 as PlacedAt<i32>>::beyond(&3, 3), Some(3));
    assert_eq!(<u8 as PlacedAt<i64>>::beyond(&i64::MIN, usize::MAX), Some(-1 << 63));
    assert_eq!([<u8 as PlacedAt<i32>>::PLACES, <u8 as PlacedAt<i64>>::PLACES], [1 << 31, 1 << 63]);

    let (scan, numbers, mut sums) = (Scanner::cpu().scan(Post), [1_u32, 2, 3, 4], [9; 4]);
    scan.run_into((&[3, -1, 0, 2], &numbers), scatter_by_output((&mut sums,))).unwrap();
    assert_eq!(sums, [6, 9, 10, 1]);
    let error = scan.run_into((&[0, 1, -2, 3], &numbers), scatter_by_output((&mut sums,))).unwrap_err();
    assert!(matches!(error, Error::ComputedIndex { array: 1, element: 2, index: -2, len: 4 }), "{error}");
    assert_eq!(sums, [1, 3, 10, 10]);
}

#[test]
fn a_place_out_of_range_is_found_wherever_it_stands() {
    let scan = Scanner::cpu().scan(ops::sum::<u32>());
    let (values, mut places) = ([1; 150], [149_u32; 150]);
    assert_eq!(scan.run(gather(&values, &places)).unwrap()[149], 150);
    for wrong in [0, 63, 64, 130, 149] {
        places[wrong] = 150;
        let error = scan.run(gather(&values, &places)).unwrap_err();
        let is_found = |position| position == wrong;
        assert!(matches!(error, Error::IndexOutOfBounds { position, index: 150, .. } if is_found(position)), "{error}");
        places[wrong] = 0;
    }
}

#[test]
fn places_out_of_range_and_unknown_lengths_are_refused() {
    let scan = Scanner::cpu().scan(Recurrence);
    let (gates, mut states) = ([1_u32; 4], [9_u32; 4]);
    let error = scan.run_into((&gates, gather(&gates, &[0_u32, 1, 4, 0])), &mut states).unwrap_err();
    assert!(
        matches!(error, Error::IndexOutOfBounds { what: "input", array: 1, position: 2, index: 4, len: 4 }),
        "{error}"
    );
    let error = scan.run_into((&gates, &gates), scatter(&mut states, &[0_u64, 1, 2, u64::MAX])).unwrap_err();
    assert!(matches!(error, Error::IndexOutOfBounds { what: "output", array: 0, position: 3, len: 4, .. }), "{error}");
    assert_eq!(states, [9; 4]);
    let error = scan.run_into((&gates, gather(&gates, &[0, 1, -1, 9])), &mut states).unwrap_err();
    let expected = "index 2 of array 1 of the input is -1, out of bounds for 4 items";
    assert_eq!(error.to_string(), expected);
    let error = scan.run_into((&gates, &gates), scatter(&mut states, &[0, 1, 2, i64::MIN])).unwrap_err();
    assert!(matches!(error, Error::IndexOutOfBounds { position: 3, index: -0x8000_0000_0000_0000, .. }), "{error}");
    assert_eq!(states, [9; 4]);
    let error = scan.run_into((indices(), indices()), discard()).unwrap_err();
    assert!(matches!(error, Error::UnknownLength), "{error}");
    let error = scan.run_into((indices(), gather(&gates, &[0_u32; 3])), &mut states).unwrap_err();
    assert!(matches!(error, Error::Length { what: "output", expected: 3, found: 4, .. }), "{error}");
    let error = scan.run_into((&gates, gather(&gates, &[0_u32; 3])), &mut states).unwrap_err();
    assert!(matches!(error, Error::ArrayLength { what: "input", array: 1, len: 3, first: 4 }), "{error}");
}
