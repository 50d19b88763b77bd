//! Operators made of operators.

use scan_runtime::{ScanOp, Table, ops, scan_fn, scan_op};

use super::{
    harness::{Random, Sample, Suite},
    tables::{Lookup, transducer},
};

impl<A: Sample, B: Sample> Sample for ops::Both<A, B> {
    fn edges() -> Vec<Self> {
        let seconds = B::edges();
        let each = |(i, first)| ops::Both { first, second: seconds[i % seconds.len()] };
        A::edges().into_iter().enumerate().map(each).collect()
    }
    fn random(random: &mut Random) -> Self {
        ops::Both { first: A::random(random), second: B::random(random) }
    }
}

impl<T: Sample> Sample for ops::Nullable<T> {
    fn edges() -> Vec<Self> {
        let each = |value| [false, true].map(|valid| ops::Nullable { value, valid });
        T::edges().into_iter().flat_map(each).collect()
    }
    fn random(random: &mut Random) -> Self {
        ops::Nullable { value: T::random(random), valid: bool::random(random) }
    }
}

/// A name that the text's own names must avoid.
#[scan_fn]
fn low_byte(raw_input: u32) -> u8 {
    raw_input as u8
}

/// Has what a composed operator's text would call its own.
struct Shadowing {
    first: u32,
}

#[scan_op]
impl ScanOp for Shadowing {
    type Input = u8;
    type State = u32;
    type Output = u32;
    fn lift(&self, mut x: u8) -> u32 {
        let raw_input = x;
        x = x.wrapping_mul(3);
        raw_input as u32 ^ (x as u32) << 8 ^ self.first
    }
    fn combine(&self, a: u32, b: u32) -> u32 {
        let second = a.wrapping_mul(self.first);
        second ^ b
    }
}

pub(crate) fn cases(suite: &mut Suite) {
    suite.combine(ops::flip(transducer(&[3, 1, 4])), 0);
    suite.combine(ops::flip(ops::flip(Shadowing { first: 9 })), 0);
    suite.lift(ops::map::<low_byte, _>(Shadowing { first: 0x1234_5678 }), 0);
    suite.lift(ops::map::<low_byte, _>(ops::max::<u8>()), 0);
    suite.lift(ops::map::<low_byte, _>(Lookup(Table::from([7; 256]))), 0);
    let both = || ops::pair(ops::flip(transducer(&[2, 7])), ops::map::<low_byte, _>(Shadowing { first: 3 }));
    suite.combine(both(), 0);
    suite.combine(ops::pair(ops::sum::<u32>(), both()), 0);
    suite.lift(ops::pair(both(), ops::min::<u32>()), 0);
    suite.combine(ops::zip(ops::first::<u32>(), ops::last::<u32>()), 0);
    suite.combine(ops::skip_nulls(ops::flip(transducer(&[3, 1, 4]))), 0);
    suite.combine(ops::propagate_nulls(ops::last::<u32>()), 0);
    suite.lift(ops::skip_nulls(ops::last::<u32>()), 0);
    suite.lift(ops::propagate_nulls(ops::map::<low_byte, _>(Shadowing { first: 3 })), 0);
    suite.lift(ops::zip(ops::first::<u32>(), ops::map::<low_byte, _>(Shadowing { first: 3 })), 0);
}

#[test]
fn text_over_nullable_elements() {
    let op = ops::skip_nulls(ops::sum::<u32>());
    let text = super::tables::text(&op);
    insta::assert_snapshot!(text[text.find("struct Nullable").unwrap()..]);
}

#[test]
fn text_of_a_pair() {
    let pair = ops::pair(ops::sum::<u32>(), ops::flip(ops::map::<low_byte, _>(Shadowing { first: 3 })));
    let text = super::tables::text(&pair);
    insta::assert_snapshot!(text[text.find("struct Both").unwrap()..]);
}
