//! Stepped operators, and operators that append inputs, for every kernel that folds and scans input by input.

use std::error::Error;

use scan_codegen::ScanSpec;
use scan_runtime::{ScanElement, ScanKind, ScanOp, Scanner, ops, scan_element, scan_fn, scan_op};

use crate::{
    composed::{flagged, keyed},
    lifting::{INITIAL_VALUE, Lifting, Mapping, Narrow, Wide, inputs},
    operators::{bits, first_difference, mixed},
    reference::{self, WAYS},
};

/// Composes affine mappings like [`Lifting`], and says how an input is appended.
#[derive(Clone, Copy, Debug)]
pub struct Appending;

#[scan_op]
impl ScanOp for Appending {
    type Input = Narrow;
    type State = Mapping;
    type Output = Wide;
    const IDENTITY: Mapping = Mapping { a: 1, b: 0 };
    fn lift(x: Narrow) -> Mapping {
        Mapping { a: x.a as u32 | 1, b: x.b as u32 + 7 }
    }
    fn combine(f: Mapping, g: Mapping) -> Mapping {
        Mapping { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn append(f: Mapping, x: Narrow) -> Mapping {
        let factor = x.a as u32 | 1;
        Mapping { a: f.a.wrapping_mul(factor), b: f.b.wrapping_mul(factor).wrapping_add(x.b as u32).wrapping_add(7) }
    }
    fn project(f: Mapping) -> Wide {
        Wide { a: (f.b as u64) << 32 | f.a as u64, b: f.b as u64 + 1 }
    }
}

/// Composes affine mappings as they are read: what is appended is a state itself.
#[derive(Clone, Copy, Debug)]
pub struct Composing;

#[scan_op]
impl ScanOp for Composing {
    type Element = Mapping;
    const IDENTITY: Mapping = Mapping { a: 1, b: 0 };
    fn combine(f: Mapping, g: Mapping) -> Mapping {
        Mapping { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn append(f: Mapping, g: Mapping) -> Mapping {
        Mapping { a: g.a.wrapping_mul(f.a), b: f.b.wrapping_mul(g.a).wrapping_add(g.b) }
    }
}

/// A register that each input maps, and an output of the register before an input and of the input. The four types are
/// of four sizes.
#[derive(Clone, Copy, Debug)]
pub struct Coder;

#[scan_op]
impl ScanOp for Coder {
    type Input = Narrow;
    type State = Mapping;
    type Carry = u32;
    type Output = Wide;
    const IDENTITY: Mapping = Mapping { a: 1, b: 0 };
    const START: u32 = 0x1234_5678;
    fn lift(x: Narrow) -> Mapping {
        Mapping { a: x.a as u32 | 1, b: x.b as u32 + 7 }
    }
    fn combine(f: Mapping, g: Mapping) -> Mapping {
        Mapping { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn append(f: Mapping, x: Narrow) -> Mapping {
        let factor = x.a as u32 | 1;
        Mapping { a: f.a.wrapping_mul(factor), b: f.b.wrapping_mul(factor).wrapping_add(x.b as u32).wrapping_add(7) }
    }
    fn apply(f: Mapping, register: u32) -> u32 {
        f.a.wrapping_mul(register).wrapping_add(f.b)
    }
    fn step(register: u32, x: Narrow) -> u32 {
        (x.a as u32 | 1).wrapping_mul(register).wrapping_add(x.b as u32).wrapping_add(7)
    }
    fn emit(register: u32, x: Narrow) -> Wide {
        Wide { a: register as u64, b: x.b as u64 }
    }
    fn project(register: u32) -> Wide {
        Wide { a: register as u64, b: 1 << 40 }
    }
}

/// A [`Coder`] that gives the register and the output by one function, which returns from several places.
#[derive(Clone, Copy, Debug)]
pub struct Advancer;

#[scan_op]
impl ScanOp for Advancer {
    type Input = Narrow;
    type State = Mapping;
    type Carry = u32;
    type Output = Wide;
    const IDENTITY: Mapping = Mapping { a: 1, b: 0 };
    const START: u32 = 0x1234_5678;
    fn lift(x: Narrow) -> Mapping {
        Mapping { a: x.a as u32 | 1, b: x.b as u32 + 7 }
    }
    fn combine(f: Mapping, g: Mapping) -> Mapping {
        Mapping { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn apply(f: Mapping, register: u32) -> u32 {
        f.a.wrapping_mul(register).wrapping_add(f.b)
    }
    fn advance(register: u32, x: Narrow) -> (u32, Wide) {
        let (factor, shift) = (x.a as u32 | 1, x.b as u32 + 7);
        let output = Wide { a: register as u64, b: shift as u64 - 7 };
        if factor == 1 {
            return (register.wrapping_add(shift), output);
        }
        let after = factor.wrapping_mul(register).wrapping_add(shift);
        match x.b & 1 {
            0 => (after, output),
            _ => (after, Wide { a: output.a, b: x.b as u64 }),
        }
    }
    fn project(register: u32) -> Wide {
        Wide { a: register as u64, b: 1 << 40 }
    }
}

/// A [`Coder`] that makes outputs of inputs only.
#[derive(Clone, Copy, Debug)]
pub struct Emitter;

#[scan_op]
impl ScanOp for Emitter {
    type Input = Narrow;
    type State = Mapping;
    type Carry = u32;
    type Output = Wide;
    const IDENTITY: Mapping = Mapping { a: 1, b: 0 };
    const START: u32 = 0x1234_5678;
    fn lift(x: Narrow) -> Mapping {
        Mapping { a: x.a as u32 | 1, b: x.b as u32 + 7 }
    }
    fn combine(f: Mapping, g: Mapping) -> Mapping {
        Mapping { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn apply(f: Mapping, register: u32) -> u32 {
        f.a.wrapping_mul(register).wrapping_add(f.b)
    }
    fn step(register: u32, x: Narrow) -> u32 {
        (x.a as u32 | 1).wrapping_mul(register).wrapping_add(x.b as u32).wrapping_add(7)
    }
    fn emit(register: u32, x: Narrow) -> Wide {
        Wide { a: register as u64, b: x.b as u64 }
    }
}

/// A register that mappings are applied to: neither lifted nor appended, and the output is the register.
#[derive(Clone, Copy, Debug)]
pub struct Mapped;

#[scan_op]
impl ScanOp for Mapped {
    type Element = Mapping;
    type Carry = u32;
    type Output = u32;
    const IDENTITY: Mapping = Mapping { a: 1, b: 0 };
    const START: u32 = 5;
    fn combine(f: Mapping, g: Mapping) -> Mapping {
        Mapping { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn apply(f: Mapping, register: u32) -> u32 {
        f.a.wrapping_mul(register).wrapping_add(f.b)
    }
    fn step(register: u32, f: Mapping) -> u32 {
        f.a.wrapping_mul(register).wrapping_add(f.b)
    }
}

/// So many of its inputs.
pub fn mappings(len: usize) -> Vec<Mapping> {
    (0..len as u64).map(|i| Mapping { a: mixed(i) as u32 | 1, b: (mixed(i) >> 32) as u32 }).collect()
}

/// The numbers that have been read, one after the other: from `first` to before `end`.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The first of them; nothing has been read where it is the end.
    pub first: u32,
    /// The one that comes next.
    pub end: u32,
    /// Whether one was left out, or read twice.
    pub broken: u32,
}

/// What a [`Reader`] has read since it began.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page {
    /// As of a [`Stretch`].
    pub first: u32,
    /// As of a [`Stretch`].
    pub end: u32,
}

/// In place of what is no page.
pub const TORN: Page = Page { first: u32::MAX, end: 0 };

macro_rules! readers {
    ($($(#[$about:meta])* $name:ident { $($prepend:tt)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        #[scan_op]
        impl ScanOp for $name {
            type Input = u16;
            type State = Stretch;
            type Carry = Page;
            type Output = Page;
            const IDENTITY: Stretch = Stretch { first: 0, end: 0, broken: 0 };
            const START: Page = Page { first: 0, end: 0 };
            fn lift(x: u16) -> Stretch {
                number(x)
            }
            fn combine(a: Stretch, b: Stretch) -> Stretch {
                joined(a, b)
            }
            $($prepend)*
            fn apply(s: Stretch, page: Page) -> Page {
                let nothing = page.first == page.end;
                if s.broken > 0 || page.first > page.end {
                    TORN
                } else if s.first == s.end {
                    page
                } else if nothing || page.end == s.first {
                    Page { first: if nothing { s.first } else { page.first }, end: s.end }
                } else {
                    TORN
                }
            }
            fn step(page: Page, x: u16) -> Page {
                let nothing = page.first == page.end;
                if page.first <= page.end && (nothing || page.end == x as u32) {
                    Page { first: if nothing { x as u32 } else { page.first }, end: x as u32 + 1 }
                } else {
                    TORN
                }
            }
        }
    )*};
}

readers! {
    /// Reads numbers that follow each other. Its outputs tell all that has been read, so that what is read at a wrong
    /// place, or from a wrong begin, shows. An input is appended as what it is lifted to.
    Reader {}
    /// The same, whose runs are folded from their ends.
    ReaderFromEnd {
        fn prepend(x: u16, s: Stretch) -> Stretch {
            joined(number(x), s)
        }
    }
}

/// A number that has been read.
#[scan_fn]
fn number(x: u16) -> Stretch {
    Stretch { first: x as u32, end: x as u32 + 1, broken: 0 }
}

/// The numbers of two parts.
#[scan_fn]
fn joined(a: Stretch, b: Stretch) -> Stretch {
    if a.broken + b.broken > 0 {
        Stretch { first: 0, end: 0, broken: 1 }
    } else if a.first == a.end {
        b
    } else if b.first == b.end {
        a
    } else if a.end == b.first {
        Stretch { first: a.first, end: b.end, broken: 0 }
    } else {
        Stretch { first: 0, end: 0, broken: 1 }
    }
}

/// So many of its inputs, one after the other.
pub fn numbers(len: usize) -> Vec<u16> {
    (0..len).map(|i| (i % 60_000) as u16 + 1).collect()
}

/// Whether two partial results of a [`Reader`] are neighbours in this order, or one of them is the identity.
pub fn adjacent(a: &Stretch, b: &Stretch) -> bool {
    a.broken + b.broken == 0 && (a.first == a.end || b.first == b.end || a.end == b.first)
}

/// Compares the scans of an operator over so many elements with the plain loop. The error is the first result that is
/// not the loop's.
pub type Comparison = fn(&Scanner, usize) -> Result<(), Box<dyn Error>>;

/// Stepped operators, an operator that appends, and a stepped operator with one that is not, on host memory: in every
/// way, forwards and reversed, restarting or not, with totals and as a reduction.
pub const COMPARISONS: [(&str, Comparison); 20] = [
    ("coder", |scanner, len| compare(scanner, Coder, 99, &inputs(len))),
    ("advancer", |scanner, len| compare(scanner, Advancer, 99, &inputs(len))),
    ("appending", |scanner, len| compare(scanner, Appending, INITIAL_VALUE, &inputs(len))),
    ("composing", |scanner, len| compare(scanner, Composing, INITIAL_VALUE, &mappings(len))),
    ("reader", |scanner, len| compare(scanner, Reader, Page { first: 0, end: 1 }, &numbers(len))),
    ("reader_from_end", |scanner, len| compare(scanner, ReaderFromEnd, Page { first: 0, end: 1 }, &numbers(len))),
    ("pair", |scanner, len| {
        let initial_value = ops::Both { first: 99, second: INITIAL_VALUE };
        compare(scanner, ops::pair(Coder, Lifting), initial_value, &inputs(len))
    }),
    ("emitter", |scanner, len| compare_in(&INCLUSIVE, scanner, Emitter, 99, &inputs(len))),
    ("pair with an emitter", |scanner, len| {
        let initial_value = ops::Both { first: 99, second: INITIAL_VALUE };
        compare_in(&INCLUSIVE, scanner, ops::pair(Emitter, Lifting), initial_value, &inputs(len))
    }),
    ("by_key", |scanner, len| {
        let initial_value = ops::KeyedCarry { begun: true, key: -0.0, value: INITIAL_VALUE };
        let input = keyed(mappings(len), |key| [0.0, -0.0, f64::NAN][key as usize]);
        compare_by_key(scanner, ops::by_key(Composing), initial_value, &input)
    }),
    ("by_key_of_a_coder", |scanner, len| {
        let initial_value = ops::KeyedCarry { begun: true, key: 1, value: 99 };
        compare_by_key(scanner, ops::by_key(Coder), initial_value, &keyed(inputs(len), |key| key as u8))
    }),
    ("by_key_with_exclusive", |scanner, len| {
        let initial_value = ops::KeyedCarry { begun: true, key: 1, value: INITIAL_VALUE };
        let op = ops::by_key(ops::with_exclusive(Lifting));
        compare_by_key(scanner, op, initial_value, &keyed(inputs(len), |key| key))
    }),
    ("by_flag", |scanner, len| {
        let input = flagged(mappings(len));
        compare_by_key(scanner, ops::by_flag(Composing), INITIAL_VALUE, &input)
    }),
    ("by_flag_of_a_coder", |scanner, len| {
        compare_by_key(scanner, ops::by_flag(ops::with_exclusive(Coder)), 99, &flagged(inputs(len)))
    }),
    ("recurrence", |scanner, len| {
        let gated = inputs(len).into_iter().map(|x| ops::Gated { a: u64::from(x.a) | 1, x: u64::from(x.b) });
        compare(scanner, ops::recurrence::<u64>(), 99, &gated.collect::<Vec<_>>())
    }),
    ("recurrence_gradient", |scanner, len| {
        let adjoint = |x: Narrow| ops::Adjoint { a: u64::from(x.a) | 1, before: u64::from(x.b), gradient: 7 };
        let adjoints: Vec<_> = inputs(len).into_iter().map(adjoint).collect();
        compare_in(&INCLUSIVE, scanner, ops::recurrence::<u64>().gradient(), 99, &adjoints)
    }),
    ("second_order", |scanner, len| {
        let step = |x: Narrow| ops::SecondOrderStep { p: u32::from(x.a), q: u32::from(x.b), x: 3 };
        compare(scanner, ops::second_order::<u32>(), [9, 1], &inputs(len).into_iter().map(step).collect::<Vec<_>>())
    }),
    ("matrix_recurrence_gradient", |scanner, len| {
        let matrix = |x: Narrow| [[u32::from(x.a), 1], [u32::from(x.b), 7]];
        let adjoint = |x: Narrow| ops::MatrixAdjoint { a: matrix(x), before: [1, 2], gradient: [u32::from(x.b), 5] };
        let adjoints: Vec<_> = inputs(len).into_iter().map(adjoint).collect();
        compare_in(&INCLUSIVE, scanner, ops::matrix_recurrence::<u32, 2>().gradient(), [9, 1], &adjoints)
    }),
    ("aggregate", |scanner, len| {
        let op = ops::pair(ops::flip(Appending), Coder);
        compare(scanner, ops::aggregate(op), op.lift(inputs(1)[0]), &inputs(len))
    }),
    ("over_aggregates", |scanner, len| {
        let op = ops::pair(Coder, ops::flip(Lifting));
        let states: Vec<_> = inputs(len).into_iter().map(|x| op.lift(x)).collect();
        compare(scanner, ops::over_aggregates(op), ops::Both { first: 99, second: INITIAL_VALUE }, &states)
    }),
];

/// The ways in which an [`Emitter`], and an operator by key, can be scanned.
const INCLUSIVE: [(ScanKind, bool); 2] = [(ScanKind::Inclusive, false), (ScanKind::Inclusive, true)];

fn compare<Op: ScanOp + Copy>(
    scanner: &Scanner,
    op: Op,
    initial_value: Op::Carry,
    input: &[Op::Input],
) -> Result<(), Box<dyn Error>> {
    compare_in(&WAYS, scanner, op, initial_value, input)?;
    compare_reductions(scanner, op, initial_value, input)
}

/// The key of an element has no place in an exclusive result.
fn compare_by_key<Op: ScanOp + Copy>(
    scanner: &Scanner,
    op: Op,
    initial_value: Op::Carry,
    input: &[Op::Input],
) -> Result<(), Box<dyn Error>> {
    compare_in(&INCLUSIVE, scanner, op, initial_value, input)?;
    compare_reductions(scanner, op, initial_value, input)
}

fn compare_reductions<Op: ScanOp + Copy>(
    scanner: &Scanner,
    op: Op,
    initial_value: Op::Carry,
    input: &[Op::Input],
) -> Result<(), Box<dyn Error>> {
    for with_initial_value in [false, true] {
        let reduce = scanner.reduce(op);
        let (reduce, initial_value) =
            if with_initial_value { (reduce.init(initial_value), Some(initial_value)) } else { (reduce, None) };
        if let Some(total) = reference::total(&op, initial_value, input) {
            same(&[reduce.run(input)?], &[op.project(total)], "reduction", &ScanSpec::inclusive())?;
        }
    }
    Ok(())
}

fn compare_in<Op: ScanOp + Copy>(
    ways: &[(ScanKind, bool)],
    scanner: &Scanner,
    op: Op,
    initial_value: Op::Carry,
    input: &[Op::Input],
) -> Result<(), Box<dyn Error>> {
    let begins: Vec<bool> = (0..input.len() as u64).map(|i| mixed(i).is_multiple_of(9)).collect();
    for (index, &(kind, with_initial_value)) in ways.iter().enumerate() {
        for reversed in [false, true] {
            let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
            let spec = if reversed { spec.reverse() } else { spec };
            let scan = scanner.scan(op);
            let scan = if kind == ScanKind::Inclusive { scan.inclusive() } else { scan.exclusive() };
            let scan = if reversed { scan.reverse() } else { scan };
            let scan = if with_initial_value { scan.init(initial_value) } else { scan };
            let initial_value = with_initial_value.then_some(initial_value);
            let (output, total) = scan.with_total().run(input)?;
            same(&output, &reference::scan_as(&op, &spec, initial_value, input, None), "scan", &spec)?;
            let expected = reference::total_as(&op, &spec, initial_value, input, None);
            let bytes = |total: Option<Op::Carry>| total.map(|total| bits(&[total]));
            if bytes(total) != bytes(expected) {
                return Err(format!("another total, {spec}, {} elements", input.len()).into());
            }
            let expected = reference::scan_as(&op, &spec, initial_value, input, Some(&begins));
            let output = match index % 2 {
                0 => scan.by_flags(&begins).run(input)?,
                _ => scan.by_keys(&keys(&begins)).run(input)?,
            };
            same(&output, &expected, "segments", &spec)?;
        }
    }
    Ok(())
}

/// A key for each element: another one with each segment.
fn keys(begins: &[bool]) -> Vec<u32> {
    let segment = |number: &mut u32, begins: &bool| {
        *number += u32::from(*begins);
        Some(*number)
    };
    begins.iter().scan(0, segment).collect()
}

fn same<T: ScanElement>(found: &[T], expected: &[T], what: &str, spec: &ScanSpec) -> Result<(), Box<dyn Error>> {
    match first_difference(found, expected) {
        None => Ok(()),
        Some(wrong) => Err(format!("{what}, {spec}, {} elements: wrong from {wrong} on", expected.len()).into()),
    }
}
