//! Sums that are more exact than a loop in the type of their elements.

use scan_runtime::{
    Scanner,
    half::{bf16, f16},
    ops,
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
