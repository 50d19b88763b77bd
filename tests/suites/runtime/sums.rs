//! Sums that are more exact than a loop in the type of their elements.

use scan_runtime::{
    ScanOp, Scanner,
    half::{bf16, f16},
    ops, scan_fn,
};
use scan_tests::operators::mixed;

#[test]
fn numbers_are_added_in_the_wide_type() {
    let scanner = Scanner::cpu();
    let ones = vec![bf16::ONE; 70_000];
    let wide = scanner.scan(ops::sum_in::<f32, bf16>().wide()).run(&ones).unwrap();
    assert!(wide.iter().zip(1..).all(|(&sum, count)| sum == count as f32));
    let (narrow, total) = scanner.scan(ops::sum_in::<f32, bf16>()).with_total().run(&ones).unwrap();
    assert!(narrow.iter().zip(&wide).all(|(&narrow, &wide)| narrow == bf16::from_f32(wide)));
    assert_eq!(total, Some(70_000.0_f32));
    // The total of a chunk is the initial value of the next.
    let next = scanner.scan(ops::sum_in::<f32, bf16>()).init(70_001.0).with_total().run(&ones[..2]).unwrap();
    assert_eq!(next, (vec![bf16::from_f32(70_002.0), bf16::from_f32(70_003.0)], Some(70_003.0)));
    // Reversed, and by rows.
    let rows = scanner.scan(ops::sum_in::<f64, bf16>().wide()).reverse().rows(35_000).run(&ones).unwrap();
    assert_eq!((rows[0], rows[34_999], rows[35_000]), (35_000.0, 1.0, 35_000.0));
}

#[test]
fn integers_wrap_around_in_the_wide_type() {
    let scanner = Scanner::cpu();
    let bytes: Vec<u8> = (0..100_000).map(|i| mixed(i) as u8).collect();
    let exact: Vec<u64> = bytes
        .iter()
        .scan(0, |sum, &x| {
            *sum += u64::from(x);
            Some(*sum)
        })
        .collect();
    let sums = scanner.scan(ops::sum_in::<u16, u8>().wide()).run(&bytes).unwrap();
    assert!(exact[99_999] > 65_536 && sums.iter().zip(&exact).all(|(&sum, &exact)| u64::from(sum) == exact % 65_536));
    assert_eq!(scanner.scan(ops::sum_in::<u64, u8>().wide()).run(&bytes).unwrap(), exact);
    let narrow = scanner.scan(ops::sum_in::<u64, u8>()).run(&bytes).unwrap();
    assert_eq!(narrow, scanner.scan(ops::sum()).run(&bytes).unwrap());
    let signed = scanner.scan(ops::sum_in::<i16, u8>().wide()).run(&[255; 129]).unwrap();
    assert_eq!((signed[127], signed[128]), (32_640, 32_895_u16 as i16));
    let products = scanner.scan(ops::product_in::<i32, i8>().wide()).run(&[-128; 5]).unwrap();
    assert_eq!(products, [-128, 1 << 14, -1 << 21, 1 << 28, (-1_i64 << 35) as i32]);
}

#[test]
fn narrow_results_of_floats_are_rounded_once_and_may_be_infinite() {
    let scanner = Scanner::cpu();
    let x = [f16::MAX, f16::MAX, -f16::MAX, f16::from_f32(16.0), f16::from_f32(-16.0), f16::NAN];
    let sums = scanner.scan(ops::sum_in::<f32, f16>()).run(&x).unwrap();
    assert_eq!(sums[..5], [f16::MAX, f16::INFINITY, f16::MAX, f16::INFINITY, f16::MAX]);
    assert!(sums[5].is_nan());
    let sums = scanner.scan(ops::sum_in::<f64, f32>()).run(&[1.0e10, 1.0, -1.0e10]).unwrap();
    assert_eq!(sums, [1.0e10, 1.0e10, 1.0]);
    assert_eq!(scanner.reduce(ops::product_in::<f64, f32>()).run(&[1.0e30, 1.0e30, 1.0e-30]).unwrap(), 1.0e30);
}

/// An exact sum of `f32` by other means: 384 bits in base 2³², as digits with a sign that are carried at the end, and a
/// result that is found by comparing it with its neighbours.
#[derive(Clone)]
struct Reference {
    digits: [i64; 12],
    special: f32,
    all_negative_zeros: bool,
}

impl Reference {
    fn new() -> Self {
        Reference { digits: [0; 12], special: 0.0, all_negative_zeros: true }
    }

    fn add(&mut self, x: f32) {
        self.all_negative_zeros &= x == 0.0 && x.is_sign_negative();
        if !x.is_finite() {
            self.special += x;
            return;
        }
        let bits = x.abs().to_bits();
        let (exponent, fraction) = (bits >> 23, bits & 0x7f_ffff);
        let (significand, place) = if exponent == 0 { (fraction, 0) } else { (fraction | 0x80_0000, exponent - 1) };
        for bit in (0..24).filter(|bit| significand >> bit & 1 == 1) {
            let at = place + bit;
            self.digits[at as usize / 32] += if x < 0.0 { -1 } else { 1 } << (at % 32);
        }
    }

    /// The digits of this less `x`, each carried to the next, and the sign.
    fn sign_less(&self, x: f32, halves: bool) -> std::cmp::Ordering {
        let mut doubled = self.clone();
        doubled.digits.iter_mut().for_each(|digit| *digit *= 2);
        doubled.special = 0.0;
        // The middle between two floats is their sum, less twice what is compared.
        doubled.add(-x);
        doubled.add(if halves { -next_up(x) } else { -x });
        let mut carry = 0;
        let mut rest = 0;
        for digit in doubled.digits {
            let all = digit + carry;
            carry = all.div_euclid(1 << 32);
            rest |= all.rem_euclid(1 << 32);
        }
        if carry == 0 && rest == 0 {
            std::cmp::Ordering::Equal
        } else {
            carry.cmp(&0).then(std::cmp::Ordering::Greater)
        }
    }

    /// Rounded to the nearest, ties to even.
    fn rounded(&self) -> f32 {
        if self.special != 0.0 {
            return self.special;
        }
        if self.all_negative_zeros {
            return -0.0;
        }
        // The largest float that is not above the sum: ordered as integers.
        let (mut low, mut high) = (key(f32::MIN), key(f32::MAX));
        if self.sign_less(f32::MIN, false).is_lt() {
            return self.beyond(f32::MIN);
        }
        if self.sign_less(f32::MAX, false).is_gt() {
            return self.beyond(f32::MAX);
        }
        while low < high {
            let middle = low + (high - low + 1) / 2;
            if self.sign_less(of_key(middle), false).is_ge() { low = middle } else { high = middle - 1 }
        }
        let found = of_key(low);
        if self.sign_less(found, false).is_eq() {
            return if found == 0.0 { 0.0 } else { found };
        }
        match self.sign_less(found, true) {
            std::cmp::Ordering::Less => found,
            std::cmp::Ordering::Greater => next_up(found),
            std::cmp::Ordering::Equal => {
                if found.to_bits() & 1 == 0 {
                    found
                } else {
                    next_up(found)
                }
            }
        }
    }

    /// Of a sum beyond the largest finite number: half a unit beyond it is infinite.
    fn beyond(&self, largest: f32) -> f32 {
        let mut rest = self.clone();
        rest.add(-largest);
        rest.add(if largest > 0.0 { -f32::exp2(103.0) } else { f32::exp2(103.0) });
        let sign = rest.sign_less(0.0, false);
        let finite = if largest > 0.0 { sign.is_lt() } else { sign.is_gt() };
        if finite { largest } else { largest * 2.0 }
    }
}

/// The place of a float among all, 0.0 and -0.0 at one.
fn key(x: f32) -> i64 {
    let magnitude = i64::from(x.abs().to_bits());
    if x < 0.0 { -magnitude } else { magnitude }
}

fn of_key(key: i64) -> f32 {
    let magnitude = f32::from_bits(key.unsigned_abs() as u32);
    if key < 0 { -magnitude } else { magnitude }
}

fn next_up(x: f32) -> f32 {
    of_key(key(x) + 1)
}

fn reference(input: &[f32]) -> Vec<f32> {
    let mut sum = Reference::new();
    input
        .iter()
        .map(|&x| {
            sum.add(x);
            sum.rounded()
        })
        .collect()
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// Inputs of several kinds: of any bits that are finite, of few exponents, what cancels, ties, subnormal ones, large
/// ones, non-negative ones, zeros.
fn floats(kind: usize, len: usize) -> Vec<f32> {
    let any = |i: usize| {
        let bits = mixed(i as u64 + 1_000_000 * kind as u64) as u32;
        if bits >> 23 & 255 == 255 { f32::from_bits(bits & !(1 << 30)) } else { f32::from_bits(bits) }
    };
    let with = |i: usize, exponent: u32| f32::from_bits(any(i).to_bits() & 0x807f_ffff | exponent << 23);
    (0..len)
        .map(|i| match kind {
            0 => any(i),
            1 => with(i, 120 + mixed(i as u64) as u32 % 16),
            2 => {
                if i % 2 == 0 || i % 7 == 3 {
                    any(i)
                } else {
                    -any(i - 1)
                }
            }
            3 => [1.0, 2.0_f32.powi(-24), -2.0_f32.powi(-25), 2.0_f32.powi(-25), 2.0_f32.powi(-149)]
                [mixed(i as u64) as usize % 5],
            4 => with(i, mixed(i as u64) as u32 % 2),
            5 => with(i, 252 + mixed(i as u64) as u32 % 3),
            6 => any(i).abs(),
            _ => [0.0, -0.0][usize::from(i < len / 2 || mixed(i as u64).is_multiple_of(3))],
        })
        .collect()
}

#[test]
fn exact_sums_are_rounded_correctly() {
    let scanner = Scanner::cpu();
    for kind in 0..8 {
        let input = floats(kind, 3_000);
        let expected = reference(&input);
        let found = scanner.scan(ops::exact_sum()).run(&input).unwrap();
        assert_eq!(bits(&found), bits(&expected), "{kind}");
        let exclusive = scanner.scan(ops::exact_sum()).exclusive().run(&input).unwrap();
        assert_eq!((exclusive[0].to_bits(), bits(&exclusive[1..])), (0, bits(&expected[..2_999])), "{kind}");
        assert!(kind != 6 || found.windows(2).all(|pair| pair[0] <= pair[1]));
        for (&x, window) in input[1..].iter().zip(found.windows(2)) {
            assert!(x != 0.0 || window[0] == window[1]);
        }
    }
}

/// The smallest number decides between two neighbours, however far below them it is, and where it does not, the even
/// one is taken.
#[test]
fn exact_sums_round_ties_to_even_and_lose_no_bit() {
    let sums = Scanner::cpu().scan(ops::exact_sum());
    let smallest = f32::from_bits(1);
    for exponent in -124..=127 {
        for sign in [1.0, -1.0] {
            let [even, half] = [0.0, -24.0].map(|less| sign * f64::exp2(f64::from(exponent) + less) as f32);
            let odd = f32::from_bits(even.to_bits() + 1);
            let after = f32::from_bits(even.to_bits() + 2);
            let input = [even, half, sign * smallest, -sign * smallest, half, half, -sign * smallest, sign * smallest];
            let expected = [even, even, odd, even, odd, after, odd, after];
            assert_eq!(bits(&sums.run(&input).unwrap()), bits(&expected), "{sign} · 2^{exponent}");
        }
    }
}

/// One thread, many of them, chunks of one stream and a reduction, from either end, give the same bits.
#[test]
fn exact_sums_have_the_same_bits_in_every_grouping() {
    let scanner = Scanner::cpu();
    let sums = scanner.scan(ops::exact_sum());
    for kind in 0..8 {
        let input = floats(kind, 300_001);
        let mut total = ops::Accumulator::ZERO;
        let one_by_one: Vec<u32> = input
            .iter()
            .map(|&x| {
                total = ops::exact_sum().combine(total, x.into());
                total.to_f32().to_bits()
            })
            .collect();
        for threads in [1, 2, 3, 7, 16] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (found, carry) = pool.install(|| sums.clone().with_total().run(&input)).unwrap();
            assert!(bits(&found) == one_by_one && carry == Some(total), "{kind}, {threads} threads");
            let reduced = pool.install(|| scanner.reduce(ops::exact_sum()).run(&input)).unwrap();
            assert_eq!(reduced.to_bits(), one_by_one[300_000]);
        }
        let mut carry = ops::Accumulator::ZERO;
        let mut chunks = Vec::new();
        for chunk in input.chunks(77_777) {
            let (found, after) = sums.clone().init(carry).with_total().run(chunk).unwrap();
            chunks.extend(bits(&found));
            carry = after.unwrap();
        }
        assert!(chunks == one_by_one, "{kind}");
        let reversed = sums.clone().reverse().run(&input).unwrap();
        assert_eq!(reversed[0].to_bits(), one_by_one[300_000]);
    }
}

#[test]
fn exact_sums_of_what_is_not_finite_are_those_of_ieee_754() {
    let sums = Scanner::cpu().scan(ops::exact_sum());
    let run = |x: &[f32]| bits(&sums.run(x).unwrap());
    let (infinity, nan) = (f32::INFINITY, f32::NAN);
    assert_eq!(run(&[1.0, infinity, f32::MIN, infinity]), bits(&[1.0, infinity, infinity, infinity]));
    assert_eq!(run(&[-infinity, 1.0, infinity, 1.0]), bits(&[-infinity, -infinity, nan, nan]));
    assert_eq!(run(&[f32::from_bits(0xff80_0001), infinity, 1.0]), bits(&[nan; 3]));
    assert_eq!(run(&[f32::MAX, f32::MAX, -f32::MAX]), bits(&[f32::MAX, infinity, f32::MAX]));
    let half_a_unit = f32::exp2(103.0);
    assert_eq!(run(&[f32::MAX, half_a_unit, -1.0e-45]), bits(&[f32::MAX, infinity, f32::MAX]));
    assert_eq!(run(&[f32::MIN, -half_a_unit, 1.0e-45]), bits(&[f32::MIN, -infinity, f32::MIN]));
    assert_eq!(run(&[-0.0, -0.0, 0.0, -0.0]), bits(&[-0.0, -0.0, 0.0, 0.0]));
    assert_eq!(run(&[-1.0, 1.0, -0.0, 1.0e-45, -1.0e-45]), bits(&[-1.0, 0.0, 0.0, 1.0e-45, 0.0]));
    let nothing = Scanner::cpu().reduce(ops::exact_sum()).run(&[0.0_f32; 0]).unwrap();
    assert_eq!(nothing.to_bits(), 0);
    // The accumulator has room for 2⁶⁴ times the largest number, and for as many again.
    let mut sum = ops::Accumulator::from(f32::MIN);
    for _ in 0..65 {
        sum = ops::exact_sum().combine(sum, sum);
    }
    assert_eq!(sum.to_f32(), -infinity);
    let mut back = ops::Accumulator::from(f32::MAX);
    for _ in 0..65 {
        back = ops::exact_sum().combine(back, back);
    }
    let combine = |a: ops::Accumulator, b: f32| ops::exact_sum().combine(a, b.into());
    assert_eq!(combine(ops::exact_sum().combine(sum, back), 3.0).to_f32(), 3.0);
}

/// Within the bound of the documentation of the exact sums, whatever the grouping; infinite where a sum is; the sign of
/// zeros.
#[test]
fn compensated_sums_are_within_their_bound() {
    let scanner = Scanner::cpu();
    let unit = f64::exp2(-24.0);
    for kind in [1, 2, 4, 6] {
        let input: Vec<f32> = floats(kind, 20_000).into_iter().map(|x| x * f32::exp2(-20.0)).collect();
        let exact = scanner.scan(ops::exact_sum()).run(&input).unwrap();
        let found = scanner.scan(ops::compensated_sum()).run(&input).unwrap();
        // Combined in a tree, as groups of threads do.
        let mut parts: Vec<_> = input.iter().map(|&x| ops::Compensated { high: x, low: 0.0 }).collect();
        while parts.len() > 1 {
            let combine = |pair: &[_]| pair.iter().copied().reduce(|a, b| ops::compensated_sum::<f32>().combine(a, b));
            parts = parts.chunks(3).filter_map(combine).collect();
        }
        let mut magnitudes = 0.0_f64;
        let mut off = 0;
        for (i, ((&x, &exact), &found)) in input.iter().zip(&exact).zip(&found).enumerate() {
            magnitudes += f64::from(x.abs());
            let bound = |exact: f32| {
                // Once for each of the two results that are compared.
                2.0 * unit * f64::from(exact.abs()) + 3.0 * (i + 1) as f64 * unit * unit * magnitudes + 1.0e-45
            };
            let within = |found: f32| f64::from(found - exact).abs() <= bound(exact) || found == exact;
            assert!(within(found), "{kind}, {i}: {found}, {exact}");
            assert!(i + 1 < input.len() || within(parts[0].high), "{kind}: {}, {exact}", parts[0].high);
            off += usize::from(found != exact);
        }
        let plain = scanner.scan(ops::sum()).run(&input).unwrap();
        let plain_off = plain.iter().zip(&exact).filter(|(a, b)| a != b).count();
        assert!(kind == 4 || off < plain_off / 2, "{kind}: {off} of plain {plain_off}");
    }
    let infinite: Vec<f64> =
        scanner.scan(ops::compensated_sum()).run(&[f64::MAX, f64::MAX, -f64::MAX, f64::NEG_INFINITY]).unwrap();
    assert_eq!(infinite[..3], [f64::MAX, f64::INFINITY, f64::INFINITY]);
    assert!(infinite[3].is_nan());
    let zeros = scanner.scan(ops::compensated_sum()).run(&[-0.0, -0.0, 0.0, -0.0]).unwrap();
    assert_eq!(bits(&zeros), bits(&[-0.0, -0.0, 0.0, 0.0]));
}

#[scan_fn]
fn failed(valid: bool) -> bool {
    !valid
}

#[scan_fn]
fn is_not_finite(x: f32) -> bool {
    !x.is_finite()
}

/// The flags, the extremes in the total and the first place, against sums of 128 bits, in chunks as well.
#[test]
fn checked_sums_tell_which_results_fit_their_type() {
    fn check<T>(input: &[T], first: Option<u64>)
    where
        T: ops::Narrower<i128> + PartialEq + std::fmt::Debug + TryFrom<i128>,
        i128: ops::Wider<T> + From<T>,
    {
        let scanner = Scanner::cpu();
        let mut exact = 0_i128;
        let fits: Vec<bool> = input
            .iter()
            .map(|&x| {
                exact += i128::from(x);
                T::try_from(exact).is_ok()
            })
            .collect();
        assert_eq!(fits.iter().position(|&fits| !fits), first.map(|first| first as usize));
        let scan = scanner.scan(ops::checked_sum::<T>());
        for threads in [1, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (found, total) = pool.install(|| scan.clone().with_total().run(input)).unwrap();
            let total = total.unwrap();
            assert!(found.iter().map(|sum| sum.valid).eq(fits.iter().copied()));
            assert!((total.sum, total.fit::<T>()) == (exact, first.is_none()));
            let wrapped = scanner.scan(ops::sum()).run(input).unwrap();
            assert!(found.iter().map(|sum| sum.value).eq(wrapped));
        }
        // Combined in a tree, as groups of threads do.
        let op = ops::checked_sum::<T>();
        let mut parts: Vec<_> = input.iter().map(|&x| op.lift(x)).collect();
        while parts.len() > 1 {
            let combine = |pair: &[_]| pair.iter().copied().reduce(|a, b| op.combine(a, b));
            parts = parts.chunks(3).filter_map(combine).collect();
        }
        assert!((parts[0].sum, parts[0].fit::<T>()) == (exact, first.is_none()));
        let reduced = scanner.reduce(ops::checked_sum::<T>()).run(input).unwrap();
        assert_eq!(Some(reduced.valid), fits.last().copied());
        let found = scanner.reduce(ops::map::<failed, _>(ops::position())).run(&fits).unwrap();
        assert_eq!((found.value, found.valid), (first.unwrap_or(input.len() as u64), first.is_some()));
        // In chunks: the total of one is the initial value of the next.
        let (mut carry, mut place) = (ops::Prefixes::default(), ops::Found::default());
        for (chunk, fits) in input.chunks(777).zip(fits.chunks(777)) {
            carry = scan.clone().init(carry).with_total().run(chunk).unwrap().1.unwrap();
            let positions = scanner.scan(ops::map::<failed, _>(ops::position()));
            place = positions.init(place).with_total().run(fits).unwrap().1.unwrap();
        }
        assert_eq!((carry.fit::<T>(), place.before), (first.is_none(), first.unwrap_or(input.len() as u64)));
    }
    let ones = |len: usize| vec![1_i8; len];
    check(&ones(127), None);
    check(&ones(128), Some(127));
    check(&[-128_i8, -1, 1, 127], Some(1));
    check(&[u64::MAX, 1], Some(1));
    check(&[u64::MAX, 0], None);
    check(&vec![i64::MIN; 100_000], Some(1));
    check(&[&vec![1_i32; 60_000][..], &[i32::MAX, -70_000, 1]].concat(), Some(60_000));
    let up_and_down: Vec<i32> = (0..200_000).map(|i| if i % 2 == 0 { i32::MAX } else { i32::MIN }).collect();
    check(&up_and_down, None);
    check(&[&up_and_down[..], &[i32::MIN, -1]].concat(), Some(200_000));
    // A part that fits alone, after one that fits alone.
    for sign in [-1, 1] {
        let (far, further) = (1_000_000_000 * sign, 200_000_000 * sign);
        let zeros = vec![0; 200_000];
        check(&[&[far, far][..], &zeros, &[further, -further], &zeros].concat(), Some(200_002));
    }
    // Initial values count.
    let scan = Scanner::cpu().scan(ops::checked_sum::<u8>()).init(250_u8.into());
    let (found, total) = scan.with_total().run(&[5, 1]).unwrap();
    assert_eq!((found[0].valid, found[1].valid, found[1].value), (true, false, 0));
    assert_eq!(total, Some(ops::Prefixes { sum: 256, min: 0, max: 256 }));
}

#[test]
fn the_first_position_is_that_of_each_segment() {
    let scanner = Scanner::cpu();
    let mut x = vec![1.0_f32; 100_000];
    x[31_000] = f32::NAN;
    x[70_001] = f32::INFINITY;
    let first = scanner.reduce(ops::map::<is_not_finite, _>(ops::position()));
    let rows = first.rows(30_000).run(&x[..90_000]).unwrap();
    let expected = [(30_000, false), (1_000, true), (10_001, true)];
    assert!(rows.iter().map(|row| (row.value, row.valid)).eq(expected));
    let found = scanner.scan(ops::map::<is_not_finite, _>(ops::position())).reverse().run(&x).unwrap();
    assert_eq!((found[0].value, found[31_001].value, found[70_002].value), (31_000, 39_000, 29_998));
    let sums = scanner.scan(ops::sum()).run(&x).unwrap();
    assert_eq!(first.run(&sums).unwrap(), ops::Nullable { value: 31_000, valid: true });
    assert_eq!(first.run(&sums[..31_000]).unwrap(), ops::Nullable { value: 31_000, valid: false });
}
