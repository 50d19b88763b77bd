//! Operators over elements that may be null, on the CPU: as a plain loop over the elements. The validity is a bitmap.

use std::fmt::Debug;

use scan_runtime::{
    Error, ScanElement, ScanOp, Scanner, arrays,
    laws::{self, Check},
    ops::{self, Nullable, OverNullable},
    scan_op,
};
use scan_tests::{
    lifting::{INITIAL_VALUE, Lifting, inputs},
    operators::mixed,
    stepped::{Appending, Coder},
};

/// A validity bitmap from a bit on; what is before that bit and behind the last one is set where a bit is not.
fn bitmap(valid: &[bool], first: usize) -> Vec<u8> {
    let mut bytes = vec![0b1010_0101; (first + valid.len()).div_ceil(8)];
    for (bit, valid) in (first..).zip(valid) {
        bytes[bit / 8] = bytes[bit / 8] & !(1 << (bit % 8)) | u8::from(*valid) << (bit % 8);
    }
    bytes
}

/// A plain loop over the elements in the order of the scan: exclusive and inclusive results, and the total.
fn plain<Op: ScanOp, const SKIP: bool>(
    op: &Op,
    input: &[Nullable<Op::Input>],
    begins: &[bool],
    reversed: bool,
    initial_value: Option<Nullable<Op::Carry>>,
) -> Vec<[Option<Op::Output>; 2]> {
    let (mut carry, mut is_valid) = (None, false);
    let mut results = vec![[None, None]; input.len()];
    let mut step = |index: usize, is_first: bool| {
        if is_first {
            carry = initial_value.map(|value| value.value).or(op.start());
            is_valid = initial_value.map_or(!SKIP, |value| value.valid);
        }
        let Nullable { value, valid } = input[index];
        let result =
            |carry: Option<Op::Carry>, is_valid: bool| carry.filter(|_| is_valid).map(|carry| op.project(carry));
        let before = result(carry, is_valid);
        let moves = valid && (SKIP || is_valid);
        let mut emitted = None;
        if moves {
            emitted = carry.filter(|_| op.is_stepped()).map(|carry| op.emit(carry, value));
            carry = Some(match carry {
                // What an operator without a valid element has is not combined: `-0.0` stays what it is.
                Some(carry) if op.is_stepped() || is_valid && reversed => op.step_back(carry, value),
                Some(carry) if is_valid => op.step(carry, value),
                _ => op.carry_of(op.lift(value)),
            });
        }
        is_valid = moves || SKIP && is_valid;
        results[index] = [before, emitted.or(result(carry, is_valid))];
    };
    match reversed {
        false => (0..input.len()).for_each(|i| step(i, i == 0 || begins[i])),
        true => (0..input.len()).rev().for_each(|i| step(i, i + 1 == input.len() || begins[i + 1])),
    }
    results
}

/// The valid values.
fn given<T: Copy>(results: &[Nullable<T>]) -> Vec<Option<T>> {
    results.iter().map(|result| result.valid.then_some(result.value)).collect()
}

fn compare<Op, const SKIP: bool>(
    op: OverNullable<Op, SKIP>,
    initial_value: Option<Op::Carry>,
    inputs: impl Fn(usize) -> Vec<Op::Input>,
) where
    Op: ScanOp<Output: PartialEq + Debug> + Clone,
{
    let has_start = op.op.start().is_some();
    let name = op.source().name;
    for (index, len) in [0, 1, 2, 100, 40_001].into_iter().enumerate() {
        for turn in 0..20 {
            let (reversed, restarts, with_value) = (turn & 1 > 0, turn & 2 > 0, turn & 4 > 0);
            let is_valid = |i: usize| match turn % 5 {
                0 => true,
                1 => false,
                2 => i > 70 && i + 70 < len,
                3 => mixed(i as u64).is_multiple_of(3),
                _ => !mixed(i as u64).is_multiple_of(701),
            };
            let valid: Vec<bool> = (0..len).map(is_valid).collect();
            let values = inputs(len);
            let input: Vec<_> = values.iter().zip(&valid).map(|(&value, &valid)| Nullable { value, valid }).collect();
            let begins: Vec<bool> = (0..len).map(|i| restarts && i % 1_019 == 5).collect();
            let value = initial_value.filter(|_| with_value).map(|value| Nullable { value, valid: turn < 14 });
            let expected = plain::<Op, SKIP>(&op.op, &input, &begins, reversed, value);
            let scan = Scanner::cpu().scan(op.clone());
            let scan = if reversed { scan.reverse() } else { scan };
            let scan = value.iter().fold(scan, |scan, value| scan.init(*value));
            let first = [0, 3, 8, 77][(index + turn) % 4];
            let bits = bitmap(&valid, first);
            let what = format!("{name}, {len} elements, turn {turn}");
            let run = |exclusive: bool| {
                let scan = if exclusive { scan.clone().exclusive() } else { scan.clone() };
                match restarts {
                    true => scan.by_flags(&begins).run((&values, arrays::bits(&bits, first))).unwrap(),
                    false => scan.run((&values, arrays::bits(&bits, first))).unwrap(),
                }
            };
            let of = |kind: usize| expected.iter().map(|results| results[kind]).collect::<Vec<_>>();
            assert!(given(&run(false)) == of(1), "{what}");
            if has_start || value.is_some() {
                assert!(given(&run(true)) == of(0), "{what}, exclusive");
            }
        }
    }
}

#[scan_op]
fn first_of_two(a: u32, _b: u32) -> u32 {
    a
}

#[test]
fn results_equal_a_plain_loop() {
    let numbers = |len: usize| (0..len as u64).map(|i| mixed(i) as u32).collect::<Vec<_>>();
    let floats = |len: usize| (0..len).map(|i| (i % 7) as f32 - 3.0).collect::<Vec<_>>();
    compare(ops::skip_nulls(ops::sum::<u32>()), Some(7), numbers);
    compare(ops::propagate_nulls(ops::sum::<u32>()), Some(7), numbers);
    compare(ops::skip_nulls(ops::max::<f32>()), Some(2.0), floats);
    compare(ops::skip_nulls(first_of_two), Some(9), numbers);
    compare(ops::propagate_nulls(first_of_two), Some(9), numbers);
    compare(ops::skip_nulls(ops::last::<u32>()), Some(9), numbers);
    compare(ops::skip_nulls(Lifting), Some(INITIAL_VALUE), inputs);
    compare(ops::propagate_nulls(ops::flip(Lifting)), Some(INITIAL_VALUE), inputs);
    compare(ops::skip_nulls(Appending), Some(INITIAL_VALUE), inputs);
    compare(ops::propagate_nulls(Appending), Some(INITIAL_VALUE), inputs);
    compare(ops::skip_nulls(Coder), Some(77), inputs);
    compare(ops::propagate_nulls(Coder), Some(77), inputs);
}

/// A reduction is that of the valid elements, or null where one is; of nothing, what an exclusive scan begins with.
#[test]
fn reductions_skip_nulls_or_are_null() {
    let scanner = Scanner::cpu();
    let values: Vec<u64> = (0..50_000).map(mixed).collect();
    for (turn, first) in [(0, 0), (1, 5), (2, 64), (3, 9)] {
        let valid: Vec<bool> = (0..50_000).map(|i| [true, false, i % 3 == 1, i > 49_000][turn]).collect();
        let bits = bitmap(&valid, first);
        let kept: Vec<u64> = values.iter().zip(&valid).filter_map(|(value, valid)| valid.then_some(*value)).collect();
        let sum = kept.iter().fold(0_u64, |sum, value| sum.wrapping_add(*value));
        let found = scanner.reduce(ops::skip_nulls(ops::sum())).run((&values, arrays::bits(&bits, first))).unwrap();
        assert_eq!(found, Nullable { value: sum, valid: !kept.is_empty() });
        let found =
            scanner.reduce(ops::propagate_nulls(ops::sum())).run((&values, arrays::bits(&bits, first))).unwrap();
        assert_eq!(found.valid, turn == 0);
        assert!(!found.valid || found.value == sum);
        let sums = scanner.reduce(ops::skip_nulls(ops::sum()));
        let rows = sums.rows(10_000).run((&values, arrays::bits(&bits, first))).unwrap();
        let expected = (0..5).map(|row| (0..10_000).any(|i| valid[row * 10_000 + i]));
        assert!(rows.iter().map(|row| row.valid).eq(expected));
    }
    let nothing: [Nullable<u64>; 0] = [];
    let skipped = scanner.reduce(ops::skip_nulls(ops::sum())).run(&nothing).unwrap();
    let propagated = scanner.reduce(ops::propagate_nulls(ops::sum())).run(&nothing).unwrap();
    assert_eq!((skipped, propagated), (Nullable { value: 0, valid: false }, Nullable { value: 0, valid: true }));
}

/// Words of every width, from each bit of two words on.
#[test]
fn bits_of_words_equal_a_plain_loop() {
    fn of<W: scan_runtime::BitWord>(words: &[W], bits: &[bool]) {
        for first in 0..130 {
            let len = bits.len() - first;
            let mut parities = vec![false; len];
            let scan = Scanner::cpu().scan(ops::bit_xor());
            scan.run_into(arrays::bits(words, first), &mut parities).unwrap();
            let expected = bits[first..].iter().scan(false, |all, bit| {
                *all ^= bit;
                Some(*all)
            });
            assert!(parities.iter().copied().eq(expected), "from bit {first} on");
            parities.push(false);
            let error = scan.run_into(arrays::bits(words, first), &mut parities).unwrap_err();
            let expected = len + 1;
            assert!(
                matches!(error, Error::Length { what: "bitmap", found, expected: wanted, .. }
                if (found, wanted) == (len, expected)),
                "{error}"
            );
        }
    }
    let words: Vec<u64> = (0..10).map(mixed).collect();
    let bits: Vec<bool> = words.iter().flat_map(|word| (0..64).map(move |bit| word >> bit & 1 == 1)).collect();
    let halves: Vec<u32> = words.iter().flat_map(|word| [*word as u32, (word >> 32) as u32]).collect();
    of(&words, &bits);
    of(&words.iter().map(|word| *word as i64).collect::<Vec<_>>(), &bits);
    of(&halves, &bits);
    of(&halves.iter().map(|word| *word as i32).collect::<Vec<_>>(), &bits);
    of(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>(), &bits);
}

/// A bitmap that is too short, or whose first bit is beyond its end; and bits alone, which have no length.
#[test]
fn bitmaps_without_a_bit_for_each_element_are_refused() {
    let scan = Scanner::cpu().scan(ops::skip_nulls(ops::sum::<u32>()));
    let values = [1; 9];
    for (first, found) in [(0, 8), (7, 1), (8, 0), (100, 0), (usize::MAX, 0)] {
        let error = scan.run((&values, arrays::bits(&[255_u8], first))).unwrap_err();
        let expected = format!("bitmap of {found} elements, expected 9: there is a bit for each element");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    scan.run((&values[..8], arrays::bits(&[255_u8], 0))).unwrap();
    scan.run((&values[..0], arrays::bits(&[255_u8], 100))).unwrap();
    let error = Scanner::cpu().scan(ops::any()).run(arrays::bits(&[255_u8], 0)).unwrap_err();
    assert!(matches!(error, Error::UnknownLength), "{error}");
}

/// Bits lie in the order of memory along an axis, too.
#[test]
fn bits_along_an_axis_equal_bools() {
    let axis = || scan_runtime::Axis::of(&[30, 7], 0).unwrap();
    let values: Vec<u32> = (0..210).collect();
    let valid: Vec<bool> = (0..210).map(|i| !mixed(i).is_multiple_of(3)).collect();
    let bits = bitmap(&valid, 13);
    let scan = Scanner::cpu().scan(ops::skip_nulls(ops::sum()));
    let expected = scan.along(axis()).run((&values, &valid)).unwrap();
    assert_eq!(scan.along(axis()).run((&values, arrays::bits(&bits, 13))).unwrap(), expected);
}

#[test]
fn operators_over_nullable_elements_keep_the_laws() {
    fn keeps<Op: ScanOp>(op: Op, samples: impl AsRef<[Op::Input]>) {
        let report = laws::check(&op, samples).unwrap_or_else(|failure| panic!("{}: {failure}", op.source().name));
        assert!(report.associativity >= 1000, "{report}");
    }
    fn nullable<T: ScanElement>(values: Vec<T>) -> Vec<Nullable<T>> {
        let each = values.into_iter().enumerate();
        each.map(|(i, value)| Nullable { value, valid: !mixed(i as u64).is_multiple_of(3) }).collect()
    }
    keeps(ops::skip_nulls(ops::sum::<f32>()), nullable(vec![1.0e8, -1.0e8, 1.0, 0.1, -0.3, 3.0e-5, 7.0e6, 2.0]));
    keeps(ops::propagate_nulls(ops::sum::<i64>()), nullable((0..24).collect()));
    keeps(ops::skip_nulls(first_of_two), nullable((0..24).collect()));
    keeps(ops::propagate_nulls(first_of_two), nullable((0..24).collect()));
    keeps(ops::skip_nulls(Appending), nullable(inputs(24)));
    keeps(ops::propagate_nulls(Appending), nullable(inputs(24)));
    keeps(ops::skip_nulls(Coder), nullable(inputs(24)));
    keeps(ops::propagate_nulls(Coder), nullable(inputs(24)));
    Check::new().run_on_default_samples(&ops::skip_nulls(ops::sum::<i32>())).unwrap();
}
