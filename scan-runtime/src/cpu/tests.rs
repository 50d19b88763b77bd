//! Every loop compared with the textbook's, bit for bit, at the edges of registers, blocks, groups and chunks.
//!
//! In these tests helpers are always called, so that several threads work if there are several chunks.

use std::sync::{
    Arc, Barrier, LazyLock, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Needs, loops::chunk_length};
use crate::{
    __private::bytes_of, Axis, Error, Scan, ScanElement, ScanKind, ScanOp, Scanner, arrays, heads::Heads, ops,
    scan_element, scan_op, time_limit::TimeLimit,
};
use scan_codegen::OutputsOf;

/// Threads in several numbers, one among them.
static POOLS: LazyLock<Vec<ThreadPool>> =
    LazyLock::new(|| [1, 2, 3, 8].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap()).into());

/// The seconds after which a call hangs.
const LONGEST: u64 = 60;

/// Works on a pool. What rayon does for that is compiled once, and not for every operator.
fn within<R: Send>(pool: &ThreadPool, work: impl FnOnce() -> R + Send) -> R {
    fn erased(pool: &ThreadPool, work: &mut (dyn FnMut() + Send)) {
        pool.install(work);
    }
    let _limit = TimeLimit::seconds(LONGEST);
    let (mut work, mut result) = (Some(work), None);
    erased(pool, &mut || result = work.take().map(|work| work()));
    result.unwrap()
}

fn random(index: u64) -> u64 {
    let z = index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) ^ (z >> 31)
}

fn bits<T: ScanElement>(values: &[T]) -> Vec<u8> {
    assert_eq!(T::layout().padding(), 0);
    // SAFETY: without padding, every byte of the values is initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }.to_vec()
}

/// The textbook, with a head wherever `begins` says so.
fn by_hand<S: ScanElement, Op: ScanOp<State = S, Carry = S>>(
    op: &Op,
    kind: ScanKind,
    initial: Option<S>,
    x: &[Op::Input],
    begins: &[bool],
) -> Vec<Op::Output> {
    let mut sum = initial;
    let mut output = Vec::new();
    for (&x, &begins) in x.iter().zip(begins) {
        if begins {
            sum = initial;
        }
        let next = op.lift(x);
        let with_this = sum.map_or(next, |sum| op.combine(sum, next));
        let before = sum.or_else(|| op.identity());
        output.push(op.project(if kind == ScanKind::Inclusive { with_this } else { before.unwrap() }));
        sum = Some(with_this);
    }
    output
}

/// The textbook from the last element to the first: over what is read backwards, the operands the other way round.
fn by_hand_back<S: ScanElement, Op: ScanOp<State = S, Carry = S>>(
    op: &Op,
    kind: ScanKind,
    initial: Option<S>,
    x: &[Op::Input],
    begins: &[bool],
) -> Vec<Op::Output> {
    let mut sum = initial;
    let mut output = Vec::new();
    for (&x, &begins) in x.iter().zip(begins).rev() {
        let next = op.lift(x);
        let with_this = sum.map_or(next, |sum| op.combine(next, sum));
        let before = sum.or_else(|| op.identity());
        output.push(op.project(if kind == ScanKind::Inclusive { with_this } else { before.unwrap() }));
        sum = if begins { initial } else { Some(with_this) };
    }
    output.reverse();
    output
}

const KINDS: [ScanKind; 2] = [ScanKind::Inclusive, ScanKind::Exclusive];

fn scan_of<Op: ScanOp>(scanner: &Scanner, op: Op, kind: ScanKind, initial: Option<Op::Carry>) -> Scan<Op> {
    let scan = scanner.scan(op);
    let scan = if kind == ScanKind::Exclusive { scan.exclusive() } else { scan };
    if let Some(value) = initial { scan.init(value) } else { scan }
}

/// Lengths at which something changes.
fn edges<Op: ScanOp>() -> Vec<usize> {
    let chunk = chunk_length::<Op>();
    if cfg!(miri) {
        return vec![0, 1, 33, 3 * chunk + 1];
    }
    let mut lengths: Vec<usize> = (0..10).chain([31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 300]).collect();
    for chunks in [1, 3] {
        lengths.extend([chunks * chunk - 1, chunks * chunk, chunks * chunk + 1]);
    }
    lengths
}

/// Compares scans, in place and not, totals, reductions, with each number of threads. Any grouping must give the same bits.
fn check<S: ScanElement, Op>(op: Op, input: impl Fn(u64) -> Op::Input, initial: S)
where
    Op: ScanOp<State = S, Carry = S> + Clone,
{
    let longest = edges::<Op>().into_iter().max().unwrap();
    let x: Vec<Op::Input> = (0..longest as u64).map(input).collect();
    let no_heads = vec![false; longest];
    for (kind, initial) in KINDS.into_iter().flat_map(|kind| [(kind, None), (kind, Some(initial))]) {
        if kind == ScanKind::Exclusive && initial.is_none() && op.identity().is_none() {
            continue;
        }
        let expected = by_hand(&op, kind, initial, &x, &no_heads);
        let changes = expected[1..].iter().zip(&expected).any(|(a, b)| bytes_of(a) != bytes_of(b));
        assert!(changes, "{} {kind:?}: all results are the same, which tells nothing", op.source().name);
        let scanner = Scanner::cpu();
        let scan = scan_of(&scanner, op.clone(), kind, initial);
        for (turn, len) in edges::<Op>().into_iter().enumerate() {
            let pool = &POOLS[turn % POOLS.len()];
            let what = format!("{} {kind:?}, {len} elements, {turn}", op.source().name);
            let x = &x[..len];
            let (result, total) = within(pool, || scan.with_total().run(x)).unwrap();
            assert!(bits(&result) == bits(&expected[..len]), "{what}");
            let sums = x.iter().map(|&x| op.lift(x));
            let sum = initial.into_iter().chain(sums).reduce(|a, b| op.combine(a, b));
            assert_eq!(total.map(|total| bytes_of(&total)), sum.map(|sum| bytes_of(&sum)), "{what}");
            let mut reduce = scanner.reduce(op.clone());
            reduce.options.initial_value = initial;
            if let Some(sum) = sum.or_else(|| op.identity()) {
                let reduced = within(pool, || reduce.run(x)).unwrap();
                assert_eq!(bytes_of(&reduced), bytes_of(&op.project(sum)), "{what}");
            }
        }
    }
}

/// As [`check`], in place, with every source of segment heads.
fn check_segments<T: ScanElement, Op>(op: Op, input: impl Fn(u64) -> T, initial: T)
where
    Op: ScanOp<Input = T, State = T, Carry = T, Output = T> + Clone,
{
    let chunk = chunk_length::<Op>();
    let scanner = Scanner::cpu();
    let mut turn = 0_u64;
    let lengths = [0, 1, 2, 63, 64, 65, 200, chunk - 1, chunk, chunk + 1, 4 * chunk + 65];
    for len in if cfg!(miri) { vec![1, 3 * chunk + 65] } else { lengths.to_vec() } {
        let x: Vec<T> = (0..len as u64).map(&input).collect();
        // None; all; a few in every group; about one in every third chunk; at the edges of groups.
        for pattern in 0..5 {
            let begins: Vec<bool> = (0..len as u64)
                .map(|i| match pattern {
                    0 => false,
                    1 => true,
                    2 => random(i).is_multiple_of(9),
                    3 => random(i).is_multiple_of(3 * chunk as u64),
                    _ => matches!(i % 640, 0 | 63),
                })
                .collect();
            let flags: Vec<u8> = (0..).zip(&begins).map(|(i, &begins)| u8::from(begins) << (random(i) % 8)).collect();
            let words = begins.chunks(32).map(|word| (0..).zip(word).map(|(i, &bit)| u32::from(bit) << i).sum());
            let words: Vec<u32> = words.collect();
            let mut number = 0_u32;
            let keys = begins.iter().map(|&begins| {
                number += u32::from(begins);
                [number as u8, 1, (number >> 8) as u8]
            });
            let keys: Vec<[u8; 3]> = keys.collect();
            let wide: Vec<u64> = keys.iter().map(|key| u64::from(key[0]) << 40 | u64::from(key[2])).collect();
            let offsets: Vec<u32> = (0..).zip(&begins).filter(|(_, begins)| **begins).map(|(i, _)| i).collect();
            for kind in KINDS {
                turn += 1;
                let initial = (turn.is_multiple_of(3) || op.identity().is_none()).then_some(initial);
                let reversed = random(turn).is_multiple_of(2);
                let by_hand = if reversed { by_hand_back } else { by_hand };
                let expected = bits(&by_hand(&op, kind, initial, &x, &begins));
                let scan = || {
                    let scan = scan_of(&scanner, op.clone(), kind, initial);
                    if reversed { scan.reverse() } else { scan }
                };
                let result = within(&POOLS[turn as usize % POOLS.len()], || {
                    let mut buffer = x.clone();
                    match turn % 6 {
                        0 => scan().by_flags(&flags).run_in_place(&mut buffer),
                        1 => scan().by_flags(&begins).run_into(&x, &mut buffer),
                        2 => scan().by_bits(&words).run_in_place(&mut buffer),
                        3 => scan().by_keys(&keys).run_into(&x, &mut buffer),
                        4 => scan().by_keys(&wide).run_in_place(&mut buffer),
                        _ => scan().by_offsets(&offsets).run_in_place(&mut buffer),
                    }
                    .unwrap();
                    buffer
                });
                assert!(bits(&result) == expected, "{} {kind:?} {len} {pattern} {turn}", op.source().name);
            }
        }
    }
}

/// Without them the tests of ready operators would compare the plain loops.
#[test]
fn ready_operators_go_by_the_registers_of_the_machine() {
    #[cfg(target_arch = "x86_64")]
    let has_registers = is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    let has_registers = cfg!(all(target_arch = "aarch64", target_endian = "little"));
    assert_eq!(ops::sum::<i32>().vectorized().is_some(), has_registers);
}

macro_rules! ready_integers {
    ($($test:ident: $ty:ident;)*) => {$(
        #[test]
        #[cfg_attr(miri, ignore = "the others' loops, once for each type")]
        fn $test() {
            let input = |i: u64| random(i) as $ty;
            check(ops::sum::<$ty>(), input, 77);
            check(ops::product::<$ty>(), |i| random(i) as $ty | 1, 5);
            check(ops::max::<$ty>(), input, $ty::MAX / 2);
            check(ops::min::<$ty>(), input, $ty::MAX / 2);
            check(ops::bit_xor::<$ty>(), input, 77);
            // Results that do not settle at once.
            check(ops::bit_and::<$ty>(), |i| !(1 as $ty).rotate_left((random(i) % 4096) as u32).min(2), 7);
            check(ops::bit_or::<$ty>(), |i| if i.is_multiple_of(999) { input(i) } else { 0 }, 8);
        }
    )*};
}

ready_integers! {
    built_in_operators_on_i8: i8;
    built_in_operators_on_u8: u8;
    built_in_operators_on_i16: i16;
    built_in_operators_on_u16: u16;
    built_in_operators_on_i32: i32;
    built_in_operators_on_u32: u32;
    built_in_operators_on_i64: i64;
    built_in_operators_on_u64: u64;
}

#[test]
fn built_in_operators_on_other_types_equal_a_plain_loop() {
    // Not every result may be the same, and lengths are shorter under Miri.
    const PERIOD: u64 = if cfg!(miri) { 45 } else { 12_345 };
    check(ops::all(), |i| i % PERIOD != PERIOD - 1, true);
    check(ops::any(), |i| i % PERIOD == PERIOD - 1, false);
    check(ops::bit_xor::<bool>(), |i| random(i).is_multiple_of(2), true);
    check(ops::bit_and::<bool>(), |i| i % PERIOD != PERIOD - 1, true);
    check(ops::bit_or::<bool>(), |i| i % PERIOD == PERIOD - 1, false);
    check(ops::sum::<usize>(), |i| random(i) as usize, 7);
    check(ops::max::<isize>(), |i| random(i) as isize, 7);
    check(ops::sum::<i128>(), |i| i128::from(random(i)) << 32, 7);
}

/// Sums of few digits, products of signs, and for extrema everything: zeros of both signs, infinities, NaNs of many kinds.
#[test]
fn built_in_operators_on_floats_equal_a_plain_loop() {
    check(ops::sum::<f32>(), |i| (random(i) % 9) as f32 - 4.0, 0.5);
    check(ops::sum::<f64>(), |i| (random(i) % 9) as f64 - 4.0, 0.5);
    check(ops::product::<f32>(), |i| if random(i).is_multiple_of(2) { 1.0 } else { -1.0 }, 0.5);
    check(ops::product::<f64>(), |i| if random(i).is_multiple_of(2) { 1.0 } else { -1.0 }, 0.5);
    check(ops::max::<f32>(), |i| random(i) as u32 as f32, -0.0);
    check(ops::min::<f64>(), |i| random(i) as f64, 1e30);
    // A NaN stays, so that there must be few, and none at first.
    for nans_in in [50, 100_000] {
        let is_nan = |i: u64| i > 20 && random(i + (1 << 40)).is_multiple_of(nans_in);
        // Nor does the first number have the last word.
        let number = |first: f64, i: u64| match i {
            0 => first,
            _ => [0.0, -0.0, f64::NEG_INFINITY][(random(i) % 3) as usize],
        };
        let wild = |first: f64| {
            move |i: u64| if is_nan(i) { f64::from_bits(random(i) | 0x7ff8 << 48) } else { number(first, i) }
        };
        let wild32 = |first: f64| {
            move |i: u64| {
                if is_nan(i) { f32::from_bits(random(i) as u32 | 0x7fc0 << 16) } else { number(first, i) as f32 }
            }
        };
        check(ops::max::<f64>(), wild(f64::NEG_INFINITY), -1.0);
        check(ops::min::<f64>(), wild(0.0), f64::INFINITY);
        check(ops::max::<f32>(), wild32(f64::NEG_INFINITY), -1.0);
        check(ops::min::<f32>(), wild32(0.0), f32::INFINITY);
    }
}

/// An affine map over the integers: not commutative.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
struct Map<T> {
    a: T,
    b: T,
}

#[derive(Clone)]
struct Whole;

#[scan_op(crate = crate)]
impl ScanOp for Whole {
    type Element = Map<u32>;
    const IDENTITY: Map<u32> = Map { a: 1, b: 0 };
    fn combine(f: Map<u32>, g: Map<u32>) -> Map<u32> {
        Map { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
}

/// The same over floats, of which each operation rounds.
#[derive(Clone)]
struct Rounded;

#[scan_op(crate = crate)]
impl ScanOp for Rounded {
    type Element = Map<f32>;
    const IDENTITY: Map<f32> = Map { a: 1.0, b: 0.0 };
    fn combine(f: Map<f32>, g: Map<f32>) -> Map<f32> {
        Map { a: f.a * g.a, b: g.a * f.b + g.b }
    }
}

/// Too large to be scanned by blocks.
#[derive(Clone)]
struct Long;

#[scan_op(crate = crate)]
impl ScanOp for Long {
    type Element = [f64; 5];
    const IDENTITY: [f64; 5] = [0.0; 5];
    fn combine(a: [f64; 5], b: [f64; 5]) -> [f64; 5] {
        let mut sum = a;
        for i in 0..5 {
            sum[i] = a[i] + b[i];
        }
        sum
    }
}

/// Three types; the last value of all that is not 0, without an identity.
#[derive(Clone)]
struct Last;

#[scan_op(crate = crate)]
impl ScanOp for Last {
    type Input = u8;
    type State = u32;
    type Output = i64;
    fn lift(x: u8) -> u32 {
        x as u32
    }
    fn combine(a: u32, b: u32) -> u32 {
        if b != 0 { b } else { a }
    }
    fn project(x: u32) -> i64 {
        -(x as i64)
    }
}

/// Kinds of elements of every size.
#[derive(Clone)]
struct First<const N: usize>;

#[scan_op(crate = crate)]
impl<const N: usize> ScanOp for First<N> {
    type Element = [u8; N];
    fn combine(a: [u8; N], b: [u8; N]) -> [u8; N] {
        if a[0] != 0 { a } else { b }
    }
}

#[test]
fn user_operators_equal_a_plain_loop() {
    check(Whole, |i| Map { a: random(i) as u32 | 1, b: random(!i) as u32 }, Map { a: 3, b: 4 });
    let sign = |i: u64| if random(i).is_multiple_of(2) { 1.0 } else { -1.0 };
    check(Rounded, |i| Map { a: sign(i), b: (random(!i) % 3) as f32 }, Map { a: -1.0, b: 2.0 });
    check(Long, |i| [(random(i) % 7) as f64; 5], [1.0, 2.0, 3.0, 4.0, 5.0]);
    check(Last, |i| if random(i).is_multiple_of(100) { random(!i) as u8 } else { 0 }, 5);
    check(First::<3>, |i| if i % 5000 == 77 { [1, 2, random(i) as u8] } else { [0; 3] }, [0; 3]);
    check(First::<256>, |i| if i % 5000 == 77 { [random(i) as u8; 256] } else { [0; 256] }, [0; 256]);
}

/// By registers of lanes of every width.
#[test]
fn segments_of_built_in_operators_on_integers_equal_a_plain_loop() {
    check_segments(ops::sum::<i8>(), |i| random(i) as i8, 9);
    check_segments(ops::min::<u16>(), |i| random(i) as u16, u16::MAX / 2);
    check_segments(ops::sum::<i32>(), |i| random(i) as i32, 9);
    check_segments(ops::max::<u32>(), |i| random(i) as u32, u32::MAX / 2);
    check_segments(ops::product::<u64>(), |i| random(i) | 1, 5);
    check_segments(ops::max::<i64>(), |i| random(i) as i64, 0);
    check_segments(ops::bit_xor::<bool>(), |i| random(i).is_multiple_of(2), true);
}

/// Scans of one group of heads and of a few, by every source of heads, from either end.
#[test]
fn short_segments_equal_a_plain_loop() {
    fn check<T: ScanElement, Op>(op: Op, input: impl Fn(u64) -> T, initial: T)
    where
        Op: ScanOp<Input = T, State = T, Carry = T, Output = T> + Clone,
    {
        let scanner = Scanner::cpu();
        let lengths = (0..=70).chain([95, 96, 97, 127, 128, 129, 190, 191, 192, 193]);
        for len in if cfg!(miri) { vec![0, 1, 63, 66, 129] } else { lengths.collect() } {
            let x: Vec<T> = (0..len as u64).map(&input).collect();
            for (turn, rare) in [1, 2, 9, 50, 1000].into_iter().enumerate() {
                // Among them heads at the very ends, and one alone at each edge of a group.
                let edge = [1, 63, 64, 65, 127][turn];
                let begins = |i: u64| if rare == 50 { i == edge } else { random(i + turn as u64).is_multiple_of(rare) };
                let begins: Vec<bool> = (0..len as u64).map(begins).collect();
                let words = begins.chunks(32).map(|word| (0..).zip(word).map(|(i, &bit)| u32::from(bit) << i).sum());
                let words: Vec<u32> = words.collect();
                // The same in bytes, behind bits that are set, and without any behind the last one.
                let first = 5 + turn;
                let behind: Vec<bool> = [vec![true; first], begins.clone()].concat();
                let bytes = behind.chunks(8).map(|byte| (0..).zip(byte).map(|(i, &bit)| u8::from(bit) << i).sum());
                let bytes: Vec<u8> = bytes.collect();
                let numbers = begins.iter().scan(0_u64, |number, &begins| {
                    *number += u64::from(begins);
                    Some(*number)
                });
                let k8: Vec<u64> = numbers.map(|number| number << 30).collect();
                let k1: Vec<u8> = k8.iter().map(|key| (key >> 30) as u8).collect();
                let k2: Vec<u16> = k1.iter().map(|&key| u16::from(key) << 5).collect();
                let k3: Vec<[u8; 3]> = k1.iter().map(|&key| [1, key, 2]).collect();
                let k4: Vec<u32> = k1.iter().map(|&key| u32::from(key) << 13).collect();
                let offsets: Vec<u64> = (0..).zip(&begins).filter(|(_, begins)| **begins).map(|(i, _)| i).collect();
                let ends: Vec<u32> = offsets.iter().map(|&i| i as u32).chain([len as u32; 2]).collect();
                let sources = [
                    Heads::flags(&begins),
                    Heads::bits(&words),
                    Heads::bits_at(&bytes, first),
                    Heads::keys(&k1),
                    Heads::keys(&k2),
                    Heads::keys(&k3),
                    Heads::keys(&k4),
                    Heads::keys(&k8),
                    Heads::offsets(&offsets),
                    Heads::offsets(&ends),
                ];
                let kinds = KINDS.into_iter().flat_map(|kind| [(kind, None), (kind, Some(initial))]);
                for ((kind, initial), reversed) in kinds.flat_map(|kind| [(kind, false), (kind, true)]) {
                    if kind == ScanKind::Exclusive && initial.is_none() && op.identity().is_none() {
                        continue;
                    }
                    let by_hand = if reversed { by_hand_back } else { by_hand };
                    let expected = bits(&by_hand(&op, kind, initial, &x, &begins));
                    let scan = || scan_of(&scanner, op.clone(), kind, initial);
                    let scan = || if reversed { scan().reverse() } else { scan() };
                    let inclusive = by_hand(&op, ScanKind::Inclusive, initial, &x, &begins);
                    let total = if reversed { inclusive.first() } else { inclusive.last() }.copied().or(initial);
                    for (source, heads) in sources.into_iter().enumerate() {
                        let what = format!("{} {kind:?} {len} {rare} {source} {reversed}", op.source().name);
                        let mut buffer = x.clone();
                        let scan = scan();
                        let run = || crate::Run::<_, crate::Host>::new(scan.host_call().with_heads(heads));
                        match (turn + source) % 2 {
                            0 => run().run_into(&x, &mut buffer).unwrap(),
                            _ => run().run_in_place(&mut buffer).unwrap(),
                        }
                        assert!(bits(&buffer) == expected, "{what}");
                        let (found, found_total) = run().with_total().run(&x).unwrap();
                        assert!(bits(&found) == expected, "{what}, with a total");
                        assert!(bits(found_total.as_slice()) == bits(total.as_slice()), "{what}: the total");
                    }
                }
            }
            let error = scanner.scan(op.clone()).by_flags(&vec![false; len + 1]).run(&x);
            assert!(matches!(error, Err(Error::Length { .. })));
        }
    }
    check(ops::sum::<i32>(), |i| random(i) as i32, 9);
    check(ops::max::<f64>(), |i| (random(i) % 99) as f64, 50.0);
    check(ops::sum::<f32>(), |i| (random(i) % 9) as f32 - 4.0, 0.5);
    check(ops::min::<i8>(), |i| random(i) as i8, 7);
    check(ops::product::<u16>(), |i| random(i) as u16 | 1, 7);
    check(ops::bit_and::<u64>(), |i| !(1 << (random(i) % 64)), u64::MAX);
    check(Whole, |i| Map { a: random(i) as u32 | 1, b: random(!i) as u32 }, Map { a: 3, b: 4 });
    check(First::<3>, |i| if i % 3 == 1 { [1, 2, random(i) as u8] } else { [0; 3] }, [0, 1, 2]);
}

#[test]
fn segments_equal_a_plain_loop() {
    check_segments(Whole, |i| Map { a: random(i) as u32 | 1, b: random(!i) as u32 }, Map { a: 3, b: 4 });
    check_segments(ops::sum::<u8>(), |i| random(i) as u8, 9);
    check_segments(ops::sum::<f32>(), |i| (random(i) % 9) as f32 - 4.0, 0.5);
    let sign = |i: u64| if random(i).is_multiple_of(2) { 1.0 } else { -1.0 };
    check_segments(Rounded, |i| Map { a: sign(i), b: (random(!i) % 3) as f32 }, Map { a: -1.0, b: 2.0 });
    check_segments(Long, |i| [(random(i) % 7) as f64; 5], [1.0; 5]);
    check_segments(First::<3>, |i| if i % 50 == 7 { [1, 2, random(i) as u8] } else { [0; 3] }, [0, 1, 2]);
}

/// Whether all runs of a test are asked for, not only those that a quick run needs.
fn is_long() -> bool {
    std::env::var_os("SCAN_TESTS").is_some_and(|value| value == "long")
}

/// Bits of a scan, of its total and of the reduction, which must not depend on threads nor on the run. A quick run has each
/// number of threads once and the most of them twice, and an initial value at one length.
fn always_the_same<T: ScanElement, Op>(op: Op, input: impl Fn(u64) -> T, initial: T)
where
    Op: ScanOp<Input = T, State = T, Carry = T, Output = T> + Clone,
{
    let chunk = chunk_length::<Op>();
    let scanner = Scanner::cpu();
    for len in [chunk + 1, 4 * chunk, 9 * chunk + 100] {
        let x: Vec<T> = (0..len as u64).map(&input).collect();
        let flags: Vec<bool> = (0..len as u64).map(|i| random(i).is_multiple_of(chunk as u64)).collect();
        for initial in [None, Some(initial)] {
            if !is_long() && initial.is_some() != (len == 4 * chunk) {
                continue;
            }
            let scan = scan_of(&scanner, op.clone(), ScanKind::Inclusive, initial);
            let mut expected = None;
            let turns = if is_long() { 3 * POOLS.len() } else { POOLS.len() + 1 };
            // From the most threads on, so that these have a second run.
            for turn in (POOLS.len() - 1..).take(if cfg!(miri) { 2 } else { turns }) {
                let found = within(&POOLS[turn % POOLS.len()], || {
                    let (output, total) = scan.with_total().run(&x).unwrap();
                    let mut reduce = scanner.reduce(op.clone());
                    reduce.options.initial_value = initial;
                    let sum = reduce.run(&x).unwrap();
                    assert_eq!(bytes_of(&sum), bytes_of(&total.unwrap()), "a reduction is the scan's total");
                    let segmented = scan.by_flags(&flags).run(&x).unwrap();
                    let back = scan.clone().reverse();
                    let (reversed, reversed_segments) = (back.run(&x).unwrap(), back.by_flags(&flags).run(&x).unwrap());
                    // Rows of which chunks have several, and one, and a part.
                    let [several, one, part] = [7, chunk, 2 * chunk + 3].map(|row| &x[..len / row * row]);
                    let rows = |scan: &Scan<Op>| {
                        [(7, several), (chunk, one), (2 * chunk + 3, part)]
                            .map(|(row, x)| scan.rows(row).run(x).unwrap())
                            .concat()
                    };
                    let outputs = [output, segmented, reversed, reversed_segments, rows(&scan), rows(&back)];
                    (outputs.map(|output| bits(&output)), bytes_of(&sum))
                });
                let expected = expected.get_or_insert_with(|| found.clone());
                assert!(*expected == found, "{}, {len} elements, turn {turn}", op.source().name);
            }
        }
    }
}

#[test]
fn floats_are_the_same_with_any_number_of_threads() {
    let unit = |i: u64| random(i) as f64 / u64::MAX as f64 - 0.5;
    always_the_same(ops::sum::<f32>(), |i| unit(i) as f32, 1.0);
    always_the_same(ops::sum::<f64>(), unit, 1.0);
    always_the_same(ops::product::<f64>(), |i| 1.0 + unit(i) / 1e3, 3.0);
    let map = |i: u64| Map { a: 1.0 + unit(i) as f32 / 1e4, b: unit(!i) as f32 };
    always_the_same(Rounded, map, Map { a: 1.0, b: 0.1 });
    always_the_same(Long, |i| [unit(i); 5], [0.1; 5]);
    #[cfg(feature = "half")]
    always_the_same(ops::sum::<half::bf16>(), |i| half::bf16::from_f64(unit(i)), half::bf16::ONE);
}

#[test]
fn one_thread_scans_large_states_by_the_plain_loop_if_any_grouping_will_do() {
    let len = 9 * chunk_length::<Long>() + 100;
    let x: Vec<[f64; 5]> = (0..len as u64).map(|i| [random(i) as f64 / u64::MAX as f64 - 0.5; 5]).collect();
    for kind in KINDS {
        let scan = || scan_of(&Scanner::cpu(), Long, kind, None);
        let run = |scan: Scan<Long>| within(&POOLS[0], || bits(&scan.run(&x).unwrap()));
        let expected = bits(&by_hand(&Long, kind, None, &x, &vec![false; len]));
        assert!(run(scan().any_grouping()) == expected, "{kind:?}");
        let deterministic = run(scan());
        assert!(deterministic != expected, "{kind:?}: the grouping does not show");
        assert!(run(scan().any_grouping().deterministic()) == deterministic, "{kind:?}");
    }
}

#[test]
fn any_grouping_of_small_states_changes_the_last_bits_alone() {
    let unit = |i: u64| random(i) as f32 / u64::MAX as f32 - 0.5;
    let len = 20 * chunk_length::<Rounded>() + 100;
    let x: Vec<Map<f32>> = (0..len as u64).map(|i| Map { a: 0.5 + 0.4 * unit(i), b: unit(!i) }).collect();
    for kind in KINDS {
        let expected = by_hand(&Rounded, kind, None, &x, &vec![false; len]);
        for pool in POOLS.iter() {
            let scan = scan_of(&Scanner::cpu(), Rounded, kind, None).any_grouping();
            let (found, total) = within(pool, || scan.with_total().run(&x)).unwrap();
            let is_close = |(a, b): (&Map<f32>, &Map<f32>)| (a.b - b.b).abs() < 1e-5;
            assert_eq!(found.iter().zip(&expected).position(|pair| !is_close(pair)), None, "{kind:?}");
            let last = by_hand(&Rounded, ScanKind::Inclusive, None, &x, &vec![false; len])[len - 1];
            assert!(total.is_some_and(|total| is_close((&total, &last))), "{kind:?}");
        }
    }
}

/// Items that are not stored as a whole are written by one thread, which scans to the end at once if nobody asks for
/// the total.
#[test]
fn what_only_one_thread_may_write_equals_a_plain_loop() {
    let len = 5 * chunk_length::<ops::Filter<[u16; 2]>>() + 7;
    let values: Vec<[u16; 2]> = (0..len as u64).map(|i| [random(i) as u16, i as u16]).collect();
    let flags: Vec<bool> = (0..len as u64).map(|i| !random(!i).is_multiple_of(3)).collect();
    let expected: Vec<[u16; 2]> =
        values.iter().zip(&flags).filter_map(|(value, keep)| keep.then_some(*value)).collect();
    for pool in POOLS.iter() {
        let mut kept = vec![[0; 2]; expected.len()];
        let scan = Scanner::cpu().scan(ops::filter());
        let outputs = arrays::scatter_by_output((&mut kept,));
        within(pool, || scan.run_into((&flags, &values), outputs)).unwrap();
        assert!(kept == expected);
    }
}

/// A sum of -0.0 is -0.0, whatever loop makes it: nothing is added to the elements but an initial value. What has no
/// element before it is the identity, 0.0.
#[test]
fn sums_of_negative_zeros_are_negative_zeros() {
    fn check<T: ScanElement, Op>(op: Op, zero: T, negative: T)
    where
        Op: ScanOp<Input = T, State = T, Carry = T, Output = T> + Clone,
    {
        let scanner = Scanner::cpu();
        let chunk = chunk_length::<Op>();
        let row = if cfg!(miri) { 70 } else { 300 };
        // Results of segments that begin wherever the index is a multiple of `segment`.
        let expected = |len: usize, segment: usize, kind: ScanKind, reversed: bool, initial: Option<T>| {
            let is_first = |i: usize| {
                if reversed { (i + 1).is_multiple_of(segment) || i + 1 == len } else { i.is_multiple_of(segment) }
            };
            let of = |i: usize| match initial {
                Some(initial) => initial,
                None if kind == ScanKind::Exclusive && is_first(i) => zero,
                None => negative,
            };
            bits(&(0..len).map(of).collect::<Vec<_>>())
        };
        for (turn, len) in [1, 31, 32, 64, row, chunk, 3 * chunk + 5].into_iter().enumerate() {
            let x = vec![negative; len];
            let pool = &POOLS[turn % POOLS.len()];
            for (kind, initial) in
                KINDS.into_iter().flat_map(|kind| [None, Some(zero), Some(negative)].map(|i| (kind, i)))
            {
                for reversed in [false, true] {
                    let what = format!("{}, {len} elements, {kind:?}, {reversed}", op.source().name);
                    let scan = scan_of(&scanner, op.clone(), kind, initial);
                    let scan = if reversed { scan.reverse() } else { scan };
                    let total = bytes_of(&initial.unwrap_or(negative));
                    let (found, found_total) = within(pool, || scan.with_total().run(&x)).unwrap();
                    assert!(bits(&found) == expected(len, len, kind, reversed, initial), "{what}");
                    assert_eq!(found_total.as_ref().map(bytes_of), Some(total.clone()), "{what}");
                    let mut in_place = x.clone();
                    within(pool, || scan.run_in_place(&mut in_place)).unwrap();
                    assert!(bits(&in_place) == bits(&found), "{what}, in place");
                    let rows = &x[..len / row * row];
                    let of_rows = expected(rows.len(), row, kind, reversed, initial);
                    let found = within(pool, || scan.rows(row).run(rows)).unwrap();
                    assert!(bits(&found) == of_rows, "{what}, in rows");
                    let values = vec![negative; rows.len() / row];
                    let found = within(pool, || scan.rows(row).init_each(&values).run(rows)).unwrap();
                    let with_values = expected(rows.len(), row, kind, reversed, Some(negative));
                    assert!(bits(&found) == with_values, "{what}, from values of their own");
                    let (found, totals) = within(pool, || scan.rows(row).with_totals().run(rows)).unwrap();
                    assert!(bits(&found) == of_rows, "{what}, in rows with totals");
                    assert!(totals.iter().all(|found| bytes_of(found) == total), "{what}, totals of rows");
                    let flags: Vec<bool> = (0..len).map(|i| i % row == 0).collect();
                    let found = within(pool, || scan.by_flags(&flags).run(&x)).unwrap();
                    assert!(bits(&found) == expected(len, row, kind, reversed, initial), "{what}, by flags");
                    // Neighbouring columns, all of whose elements are alike.
                    let columns = 20.min(len);
                    let axis = Axis::of(&[len / columns, columns], 0).unwrap();
                    let array = &x[..axis.len()];
                    let found = within(pool, || scan.along(axis.clone()).run(array)).unwrap();
                    let down = expected(len / columns, len / columns, kind, reversed, initial);
                    let down: Vec<u8> = down.chunks(size_of::<T>()).flat_map(|x| x.repeat(columns)).collect();
                    assert!(bits(&found) == down, "{what}, along an axis");
                }
            }
            let reduce = scanner.reduce(op.clone());
            let sum = bytes_of(&within(pool, || reduce.run(&x)).unwrap());
            assert_eq!(sum, bytes_of(&negative), "{len} elements");
            let rows = &x[..len / row * row];
            let sums = within(pool, || reduce.rows(row).run(rows)).unwrap();
            assert!(sums.iter().all(|sum| bytes_of(sum) == bytes_of(&negative)), "{len} elements in rows");
        }
    }
    check(ops::sum::<f32>(), 0.0, -0.0);
    check(ops::sum::<f64>(), 0.0, -0.0);
    check(Long, [0.0; 5], [-0.0; 5]);
    check(Added, 0.0, -0.0);
    #[cfg(feature = "half")]
    check(ops::sum::<half::f16>(), half::f16::ZERO, half::f16::NEG_ZERO);
}

/// A sum that goes by no registers.
#[derive(Clone)]
struct Added;

#[scan_op(crate = crate)]
impl ScanOp for Added {
    type Element = f32;
    const IDENTITY: f32 = 0.0;
    fn combine(a: f32, b: f32) -> f32 {
        a + b
    }
}

/// The first chunk gives the same roundings as a plain loop.
#[test]
fn short_scans_with_user_operators_group_from_the_left() {
    let x: Vec<Map<f32>> = (0..chunk_length::<Rounded>() as u64)
        .map(|i| Map { a: 1.0 + random(i) as f32 / 1e24, b: random(!i) as f32 / 1e19 })
        .collect();
    let expected = by_hand(&Rounded, ScanKind::Inclusive, None, &x, &vec![false; x.len()]);
    assert!(bits(&Scanner::cpu().scan(Rounded).run(&x).unwrap()) == bits(&expected));
}

#[test]
fn rows_equal_a_plain_loop() {
    let chunk = chunk_length::<Whole>();
    let scanner = Scanner::cpu();
    for (turn, (row, rows)) in
        [(1, 3 * chunk), (2, 70), (63, 9), (64, 5), (65, 200), (chunk + 1, 3), (5, 0)].into_iter().enumerate()
    {
        let x: Vec<_> =
            (0..(row * rows) as u64).map(|i| Map { a: random(i) as u32 | 1, b: random(!i) as u32 }).collect();
        let begins: Vec<bool> = (0..x.len()).map(|index| index % row == 0).collect();
        for kind in KINDS {
            let initial = Some(Map { a: 3, b: 4 });
            let scan = scan_of(&scanner, Whole, kind, initial);
            let pool = &POOLS[turn % POOLS.len()];
            let forward = within(pool, || scan.rows(row).run(&x)).unwrap();
            assert!(bits(&forward) == bits(&by_hand(&Whole, kind, initial, &x, &begins)), "{rows} rows of {row}");
            let reversed = within(pool, || scan.clone().reverse().rows(row).run(&x)).unwrap();
            assert!(bits(&reversed) == bits(&by_hand_back(&Whole, kind, initial, &x, &begins)), "{rows} rows of {row}");
            // The total is that of the row with which the scan ends.
            for (results, scan, end) in [
                (&forward, scan.clone(), x.len().checked_sub(1)),
                (&reversed, scan.clone().reverse(), (!x.is_empty()).then_some(0)),
            ] {
                let (found, total) = within(pool, || scan.rows(row).with_total().run(&x)).unwrap();
                let inclusive = within(pool, || scan.inclusive().rows(row).run(&x)).unwrap();
                let expected = end.map(|end| inclusive[end]).or(initial);
                assert!(bits(&found) == bits(results), "{rows} rows of {row}");
                assert!(bits(total.as_slice()) == bits(expected.as_slice()), "{rows} rows of {row}");
            }
        }
    }
    for row in [0, 2, 8] {
        let found = scanner.scan(ops::sum()).rows(row).run(&[1_i32; 7]);
        assert!(matches!(found, Err(Error::RowLength { row: wrong, len: 7 }) if wrong == row), "{row}: {found:?}");
    }
}

/// Panics at the elements that say so.
#[derive(Clone)]
struct Fails;

#[scan_op(crate = crate)]
impl ScanOp for Fails {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        assert!(a != u32::MAX && b != u32::MAX, "unlucky");
        if b != 0 { b } else { a }
    }
}

#[test]
fn a_panic_in_any_chunk_is_an_error_and_no_thread_hangs() {
    let chunk = chunk_length::<Fails>();
    let scanner = Scanner::cpu();
    let mut x = vec![1; 12 * chunk];
    for turn in 0..if cfg!(miri) { 12 } else { 120 } {
        let place = 1 + random(turn) as usize % (x.len() - 1);
        x[place] = u32::MAX;
        let error = within(&POOLS[turn as usize % POOLS.len()], || match turn % 3 {
            0 => scanner.scan(Fails).run(&x).map(drop),
            1 => scanner.reduce(Fails).run(&x).map(drop),
            _ => scanner.scan(Fails).by_flags(&vec![false; x.len()]).run(&x).map(drop),
        });
        let Err(Error::OperatorPanicked { operator, message }) = error else { panic!("{error:?}") };
        assert_eq!((operator.as_str(), message.as_str()), ("Fails", "unlucky"));
        x[place] = 1;
    }
    assert_eq!(scanner.scan(Fails).run(&x).unwrap(), x, "what follows is not disturbed");
    let mut short = [1, 1, u32::MAX, 1];
    let errors = [
        scanner.scan(Fails).run(&short).err(),
        scanner.scan(Fails).by_flags(&[false; 4]).run(&short).err(),
        scanner.scan(Fails).run_in_place(&mut short).err(),
    ];
    for error in errors {
        assert!(matches!(&error, Some(Error::OperatorPanicked { message, .. }) if message == "unlucky"), "{error:?}");
    }
}

#[test]
fn scans_from_every_thread_of_a_pool_equal_a_plain_loop() {
    // Each thread of a pool scans, and all of them call for help.
    let (len, turns) = if cfg!(miri) { (500, 2) } else { (200_000, 20) };
    let x: Vec<u32> = (0..len).collect();
    let expected = by_hand(&ops::sum::<u32>(), ScanKind::Inclusive, None, &x, &vec![false; x.len()]);
    let done = AtomicUsize::new(0);
    let _limit = TimeLimit::seconds(LONGEST);
    for pool in POOLS.iter() {
        pool.broadcast(|_| {
            for _ in 0..turns {
                assert_eq!(Scanner::cpu().scan(ops::sum()).run(&x).unwrap(), expected);
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    assert_eq!(done.into_inner(), turns * (1 + 2 + 3 + 8));
}

/// A caller from outside of the pool works itself, while all threads of the pool have other work.
#[test]
fn a_caller_does_not_wait_for_busy_threads() {
    let _limit = TimeLimit::seconds(LONGEST);
    let threads = rayon::current_num_threads();
    let [busy, free] = [0; 2].map(|_| Arc::new(Barrier::new(threads + 1)));
    let of_pool = [busy.clone(), free.clone()];
    rayon::spawn_broadcast(move |_| of_pool.iter().for_each(|barrier| _ = barrier.wait()));
    busy.wait();
    // From here on, no thread of the pool does anything until this one has done all.
    let (rows, columns) = if cfg!(miri) { (200, 90) } else { (600, 200) };
    let x: Vec<u32> = (0..rows * columns).map(|i| random(i as u64) as u32).collect();
    let scanner = Scanner::cpu();
    let sums = || scanner.scan(ops::sum::<u32>());
    let down = Axis::of(&[rows, columns], 0).unwrap();
    let (scanned, along) = (sums().run(&x).unwrap(), sums().along(down.clone()).run(&x).unwrap());
    let of_columns = scanner.reduce(ops::sum::<u32>()).along(down).run(&x).unwrap();
    let (of_rows, totals) = sums().rows(columns).with_totals().run(&x).unwrap();
    let values: Vec<u32> = (0..rows as u32).collect();
    let from_values = sums().rows(columns).init_each(&values).run(&x).unwrap();
    let reduced = scanner.reduce(ops::sum::<u32>()).rows(columns).run(&x).unwrap();
    let mut flags = vec![false; 1 << 18];
    flags[1 << 17] = true;
    let heads = Heads::flags(&flags);
    let found = [heads.first_head(1..flags.len()), heads.last_head(1..flags.len())];
    let parts = Mutex::new(Vec::new());
    let failed = super::try_each(100, |part| {
        parts.lock().unwrap().push(part);
        if part == 7 { Err(part) } else { Ok(()) }
    });
    free.wait();

    assert_eq!(found, [Some(1 << 17); 2]);
    assert_eq!((parts.into_inner().unwrap(), failed), ((0..8).collect(), Err(7)), "in order, up to what fails");
    let mut sum = 0_u32;
    assert!(x.iter().zip(&scanned).all(|(&x, &found)| {
        sum = sum.wrapping_add(x);
        found == sum
    }));
    let mut sums_of_columns = vec![0_u32; columns];
    for (row, of_row) in x.chunks(columns).enumerate() {
        let mut sum = 0_u32;
        for (column, &x) in of_row.iter().enumerate() {
            (sum, sums_of_columns[column]) = (sum.wrapping_add(x), sums_of_columns[column].wrapping_add(x));
            let at = row * columns + column;
            let expected = [sums_of_columns[column], sum, sum.wrapping_add(row as u32)];
            assert_eq!([along[at], of_rows[at], from_values[at]], expected, "{row}, {column}");
        }
        assert_eq!([totals[row], reduced[row]], [sum; 2], "row {row}");
    }
    assert_eq!(of_columns, sums_of_columns);
}

/// The first error of all parts, whatever threads do them.
#[test]
fn the_first_part_that_fails_says_why() {
    for pool in POOLS.iter() {
        for fails in [&[0][..], &[5, 6, 90], &[99], &[]] {
            let result =
                within(pool, || super::try_map(100, |part| if fails.contains(&part) { Err(part) } else { Ok(part) }));
            let expected = fails.first().map_or_else(|| Ok((0..100).collect::<Vec<_>>()), |&first| Err(first));
            assert_eq!(result, expected);
        }
    }
}

/// A key type with padding.
#[scan_element]
#[derive(Clone, Copy)]
struct Padded {
    a: u8,
    b: u32,
}

/// What an inclusive scan needs.
const NEEDS: Needs = Needs { identity: false, outputs_of: OutputsOf::Inputs };

/// What [`surely_planned`](super::surely_planned) answers for the planner.
#[test]
fn the_planner_accepts_every_usual_scan() {
    fn plans<const N: usize>() {
        for kind in KINDS {
            let scanner = Scanner::cpu();
            let scan = || scan_of(&scanner, First::<N>, kind, Some([1; N]));
            assert!(super::surely_planned(&First::<N>, &Heads::NONE, NEEDS));
            scan().plan().unwrap();
            scan().by_flags::<u8>(&[]).plan().unwrap();
            scan().by_bits::<u32>(&[]).plan().unwrap();
            scan().by_offsets::<u64>(&[]).plan().unwrap();
            let keys = [[0_u8; N]];
            assert!(super::surely_planned(&First::<N>, &Heads::keys(&keys), NEEDS));
            scan().by_keys::<[u8; N]>(&[]).plan().unwrap();
            scanner.reduce(First::<N>).plan().unwrap();
        }
    }
    plans::<1>();
    plans::<2>();
    plans::<3>();
    plans::<15>();
    plans::<16>();
    plans::<100>();
    plans::<255>();
    plans::<256>();
    assert!(!super::surely_planned(&First::<257>, &Heads::NONE, NEEDS));
    assert!(
        !super::surely_planned(&First::<3>, &Heads::NONE, Needs { identity: true, ..NEEDS }),
        "without an identity"
    );
    let padded = Heads::keys::<Padded>(&[]);
    assert!(!super::surely_planned(&First::<3>, &padded, NEEDS), "keys with padding");
    assert!(Scanner::cpu().scan(ops::sum()).by_keys(&[Padded { a: 1, b: 2 }]).run(&[1]).is_err());
    assert!(Scanner::cpu().scan(First::<257>).run(&[[0; 257]]).is_err());
    assert!(Scanner::cpu().reduce(First::<257>).run(&[[0; 257]]).is_err());
    assert!(Scanner::cpu().scan(First::<3>).exclusive().run(&[[0; 3]]).is_err());
    assert!(Scanner::cpu().scan(ops::sum::<i32>()).threads(33).run(&[1]).is_err(), "overrides are looked at");
}
