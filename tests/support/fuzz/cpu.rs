//! Random scans and reductions by the CPU backend against a plain loop, bit for bit: operators that do not commute, that have no
//! identity, of three types, with parameters, and that panic; every way to tell segments; any number of threads.

use std::sync::LazyLock;

use rayon::{ThreadPool, ThreadPoolBuilder};
use scan_runtime::{Error, Run, Scan, ScanElement, ScanOp, Scanner, ops, scan_op};

use super::{odd, of_case};
use crate::{
    emulated::Random,
    operators::{AffineU32, Brackets, MapU32, TakeLeft, TakeRight, Unmatched},
};

/// What `Fails` says when it panics.
pub const UNLUCKY: &str = "an unlucky number";

/// What makes it do so.
const UNLUCKY_NUMBER: u32 = u32::MAX;

/// The last value that is not 0. Three types, and no identity.
#[derive(Clone)]
struct Last;

#[scan_op]
impl ScanOp for Last {
    type Input = u8;
    type State = u32;
    type Output = i64;
    fn lift(x: u8) -> u32 {
        x as u32 * 257
    }
    fn combine(a: u32, b: u32) -> u32 {
        if b != 0 { b } else { a }
    }
    fn project(x: u32) -> i64 {
        -(x as i64)
    }
}

/// The first array that does not begin with 0: elements of every size, and no identity.
#[derive(Clone)]
struct First<const N: usize>;

#[scan_op]
impl<const N: usize> ScanOp for First<N> {
    type Element = [u8; N];
    fn combine(a: [u8; N], b: [u8; N]) -> [u8; N] {
        if a[0] != 0 { a } else { b }
    }
}

/// A polynomial's value at a point known at run time: (sum, power), which do not commute.
#[derive(Clone)]
struct Horner {
    point: u32,
}

#[scan_op]
impl ScanOp for Horner {
    type Input = u32;
    type State = [u32; 2];
    type Output = u32;
    const IDENTITY: [u32; 2] = [0, 1];
    fn lift(&self, x: u32) -> [u32; 2] {
        [x, self.point]
    }
    fn combine(&self, a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
        [a[0].wrapping_mul(b[1]).wrapping_add(b[0]), a[1].wrapping_mul(b[1])]
    }
    fn project(&self, x: [u32; 2]) -> u32 {
        x[0]
    }
}

/// Panics where it meets the unlucky number.
#[derive(Clone)]
struct Fails;

#[scan_op]
impl ScanOp for Fails {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        assert!(a != UNLUCKY_NUMBER && b != UNLUCKY_NUMBER, "an unlucky number");
        if b != 0 { b } else { a }
    }
}

/// Where segments begin, told in one of the ways.
#[derive(Debug)]
enum Heads {
    None,
    Flags(Vec<u8>),
    Truths(Vec<bool>),
    Bits(Vec<u32>),
    Keys(Vec<[u8; 3]>),
    WideKeys(Vec<u64>),
    Offsets(Vec<u32>),
    WideOffsets(Vec<u64>),
}

static POOLS: LazyLock<Vec<ThreadPool>> = LazyLock::new(|| {
    [1, 2, 3, 8].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().expect("threads")).into()
});

type InPlace<Op> = fn(Scan<Op>, &Heads, &[<Op as ScanOp>::Input]) -> Result<Vec<<Op as ScanOp>::Output>, Error>;

/// Runs the case of a number.
pub fn case(number: u64) -> Result<bool, String> {
    let random = &mut of_case(number);
    match random.below(11) {
        0 => {
            let input = |random: &mut Random| MapU32 { a: random.bits() as u32 | 1, b: random.bits() as u32 };
            check(random, AffineU32, input, MapU32 { a: 3, b: 4 }, Some(in_place))
        }
        1 => {
            let input = |random: &mut Random| Unmatched { close: random.below(2) as u32, open: random.below(3) as u32 };
            check(random, Brackets, input, Unmatched { close: 1, open: 7 }, Some(in_place))
        }
        2 => check(random, TakeLeft, |random| rare(random) as u32, 0, Some(in_place)),
        3 => check(random, TakeRight, |random| rare(random) as u16, 5, Some(in_place)),
        4 => check(random, Last, |random| rare(random) as u8, 77, None),
        5 => check(random, First::<3>, |random| [rare(random) as u8, 1, 2], [0, 9, 9], Some(in_place)),
        6 => check(random, First::<77>, |random| [rare(random) as u8; 77], [0; 77], Some(in_place)),
        7 => {
            let point = random.bits() as u32 | 1;
            check(random, Horner { point }, |random| random.bits() as u32, [8, point], Some(in_place))
        }
        8 => {
            let often = 1 + random.below(300_000);
            let input = |random: &mut Random| if random.one_in(often) { UNLUCKY_NUMBER } else { rare(random) as u32 };
            check(random, Fails, input, 3, Some(in_place))
        }
        9 => check(random, ops::sum::<u8>(), |random| random.bits() as u8, 9, Some(in_place)),
        _ => check(random, ops::max::<f64>(), |random| random.below(1 << 40) as f64 - 1e6, 0.5, Some(in_place)),
    }
}

/// Mostly 0.
fn rare(random: &mut Random) -> u64 {
    if random.one_in(9) { random.bits() } else { 0 }
}

/// What is compared: elements without padding.
fn same<T: Copy>(a: &[T], b: &[T]) -> bool {
    // SAFETY: the types of this module have no padding, so that all of their bytes can be read.
    let bytes = |x: &[T]| unsafe { std::slice::from_raw_parts(x.as_ptr().cast::<u8>(), size_of_val(x)) }.to_vec();
    bytes(a) == bytes(b)
}

fn within<R: Send>(pool: &ThreadPool, work: impl FnOnce() -> R + Send) -> R {
    pool.install(work)
}

fn segmented<'a, Op: ScanOp>(scan: &'a Scan<Op>, heads: &'a Heads) -> Run<'a, Op> {
    match heads {
        Heads::None => Run::from(scan),
        Heads::Flags(flags) => scan.by_flags(flags),
        Heads::Truths(flags) => scan.by_flags(flags),
        Heads::Bits(bits) => scan.by_bits(bits),
        Heads::Keys(keys) => scan.by_keys(keys),
        Heads::WideKeys(keys) => scan.by_keys(keys),
        Heads::Offsets(offsets) => scan.by_offsets(offsets),
        Heads::WideOffsets(offsets) => scan.by_offsets(offsets),
    }
}

fn in_place<T: ScanElement, Op: ScanOp<Input = T, Output = T> + Clone>(
    scan: Scan<Op>,
    heads: &Heads,
    x: &[T],
) -> Result<Vec<T>, Error> {
    let mut buffer = x.to_vec();
    segmented(&scan, heads).run_in_place(&mut buffer)?;
    Ok(buffer)
}

/// Where segments begin, and the same told in one way.
fn heads(random: &mut Random, len: usize) -> (Vec<bool>, Heads) {
    if random.one_in(2) {
        return (vec![false; len], Heads::None);
    }
    let often = [1, 2, 9, 70, 5_000, 100_000][random.below(6)];
    let begins: Vec<bool> = (0..len).map(|_| random.one_in(often)).collect();
    let mut number = 0_u32;
    let count = |begins: &bool| {
        number += u32::from(*begins);
        number
    };
    let numbers: Vec<u32> = begins.iter().map(count).collect();
    let offsets = begins.iter().enumerate().filter(|(_, begins)| **begins).map(|(i, _)| i);
    let heads = match random.below(7) {
        0 => Heads::Flags(begins.iter().map(|begins| u8::from(*begins) << random.below(8)).collect()),
        1 => Heads::Truths(begins.clone()),
        2 => {
            let word = |word: &[bool]| (0..).zip(word).map(|(i, &bit)| u32::from(bit) << i).sum();
            Heads::Bits(begins.chunks(32).map(word).collect())
        }
        3 => Heads::Keys(numbers.iter().map(|number| [*number as u8, 1, (number >> 8) as u8]).collect()),
        4 => Heads::WideKeys(numbers.iter().map(|number| u64::from(*number) << 31).collect()),
        5 => {
            // Some twice: empty segments.
            let twice = |i: usize| std::iter::repeat_n(i as u32, 1 + usize::from(i.is_multiple_of(3)));
            Heads::Offsets(offsets.flat_map(twice).collect())
        }
        _ => Heads::WideOffsets(offsets.map(|i| i as u64).collect()),
    };
    (begins, heads)
}

fn check<Op: ScanOp + Clone>(
    random: &mut Random,
    op: Op,
    input: impl Fn(&mut Random) -> Op::Input,
    initial: Op::Carry,
    in_place: Option<InPlace<Op>>,
) -> Result<bool, String>
where
    Op::Input: Copy,
    Op::Output: Copy + Send,
    Op::Carry: Copy + Send,
{
    let max = 400_000 / (size_of::<Op::Input>() + size_of::<Op::Output>()) as u64;
    let len = match random.below(4) {
        0 => odd(random, &[0, 1, 31, 64, 100, 4_096, 16_384, 32_768, 65_536, 65_537], max),
        1 => random.below(max as usize) as u64,
        _ => random.below(300) as u64,
    } as usize;
    let x: Vec<Op::Input> = (0..len).map(|_| input(random)).collect();
    let (begins, heads) = heads(random, len);
    let exclusive = random.one_in(2);
    let initial = random.one_in(2).then_some(initial);
    let scanner = Scanner::cpu();
    let scan = || {
        let scan = scanner.scan(op.clone());
        let scan = if exclusive { scan.exclusive() } else { scan };
        if let Some(value) = initial { scan.init(value) } else { scan }
    };
    let way = random.below(3);
    let pool = &POOLS[random.below(POOLS.len())];
    let what = || {
        let (name, way) = (op.source().name, ["run", "run_into", "run_in_place"][way]);
        let heads = format!("{heads:?}").chars().take(9).collect::<String>();
        format!("{name}, {len} elements, exclusive {exclusive}, initial value {}, by {heads}, {way}", initial.is_some())
    };

    // The loop that one writes by hand; nothing where it panics, or has nothing to begin with.
    let lacks_identity = exclusive && initial.is_none() && op.start().is_none();
    let by_hand = super::caught(|| {
        let mut output = Vec::with_capacity(len);
        let mut sum: Option<Op::Carry> = initial;
        for (&x, &begins) in x.iter().zip(&begins) {
            if begins {
                sum = initial;
            }
            let before = sum.or_else(|| op.start());
            if exclusive {
                output.push(op.project(before?));
            }
            let with_this = match sum {
                Some(sum) => op.step(sum, x),
                None => op.carry_of(op.lift(x)),
            };
            if !exclusive {
                output.push(op.project(with_this));
            }
            sum = Some(with_this);
        }
        Some((output, sum))
    });
    // What is written over is the output of something else.
    let filler = op.project(op.carry_of(op.lift(x.first().copied().unwrap_or_else(|| input(random)))));
    let result = within(pool, || {
        let mut total = None;
        let scan = scan();
        let output = match (way, in_place, &heads) {
            (0, _, Heads::None) => scan.with_total().run(&x).map(|(output, sum)| {
                total = Some(sum);
                output
            }),
            (0, ..) => segmented(&scan, &heads).run(&x),
            (2, Some(in_place), _) => in_place(scan, &heads, &x),
            _ => {
                let mut output = vec![filler; len];
                segmented(&scan, &heads).run_into(&x, &mut output).map(|()| output)
            }
        };
        (output, total)
    });
    match (result, by_hand) {
        ((Err(Error::Plan(_)), _), _) if lacks_identity => Ok(false),
        ((Err(Error::OperatorPanicked { message, .. }), _), Err(_)) if message.contains(UNLUCKY) => Ok(true),
        // What an exclusive scan leaves out, another grouping may combine.
        ((Err(Error::OperatorPanicked { .. }), _), Ok(_)) if exclusive && op.source().name == "Fails" => Ok(true),
        ((Ok(found), total), Ok(Some((expected, sum)))) => {
            if !same(&found, &expected) {
                return Err(format!("another result: {}", what()));
            }
            match total {
                Some(total) if total.is_some() != sum.is_some() => Err(format!("a total too many: {}", what())),
                Some(Some(total)) if !same(&[total], &[sum.unwrap_or(total)]) => {
                    Err(format!("another total: {}", what()))
                }
                _ => Ok(true),
            }
        }
        ((Ok(_), _), Ok(None)) => Err(format!("a result without an identity: {}", what())),
        // The loop combines the last element too, which an exclusive scan does not need.
        ((Ok(_), _), Err(_)) if exclusive => Ok(true),
        ((Ok(_), _), Err(panic)) => Err(format!("a result where the loop panics ({panic}): {}", what())),
        ((Err(error), _), _) => Err(format!("{error}: {}", what())),
    }
}
