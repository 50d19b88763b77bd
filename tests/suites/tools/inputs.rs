//! The inputs of the test operators: whether their results can show a mistake.

use scan_runtime::{ScanOp, scan_element};
use scan_tests::{
    operators::{MatrixProduct, TestOperator, Visitor, bits, inputs, visit_all},
    reference,
};

#[scan_element]
#[derive(Clone, Copy)]
struct Padded {
    small: u8,
    pairs: [Pair; 2],
    last: u16,
}

#[scan_element]
#[derive(Clone, Copy)]
struct Pair {
    small: bool,
    large: u32,
}

#[test]
fn bits_of_a_slice_are_those_of_each_value() {
    let pair = |large| Pair { small: large % 2 == 1, large };
    let elements = [7, 8, 9].map(|x| Padded { small: x as u8, pairs: [pair(x), pair(5 * x)], last: !0 });
    let each: Vec<u8> = elements.iter().flat_map(scan_runtime::__private::bytes_of).collect();
    assert_eq!(bits(&elements), each);
}

/// Those whose results settle after a while, by their nature.
const SETTLE: [&str; 8] = ["max_f32", "max_bf16", "min_i64", "bit_and_u32", "bit_or_i8", "all", "any", "take_left"];

struct Changes;

impl Visitor for Changes {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        const LEN: usize = 20_000;
        for (kind, with_initial_value) in reference::WAYS {
            let initial_value = with_initial_value.then(Op::initial_value);
            let results = reference::scan(&Op::new(), kind, initial_value, &inputs::<Op>(LEN));
            let changes =
                |results: &[Op::Item]| results.windows(2).filter(|pair| bits(&pair[..1]) != bits(&pair[1..])).count();
            // What is compared at length 1,019, and far behind.
            let (early, late) = (changes(&results[..1_019]), changes(&results[LEN / 2..]));
            let (fewest_early, fewest_late) = match name {
                // So that no sum of eight million is beyond what a half counts.
                "sum_f16" => (10, 100),
                _ if SETTLE.contains(&name) => (1, 0),
                _ => (100, 1_000),
            };
            assert!(early >= fewest_early && late >= fewest_late, "{name}, {kind:?}: {early} and {late} changes");
        }
    }
}

/// Results that are all the same would be right whatever a kernel does.
#[test]
fn results_change_from_element_to_element() {
    visit_all(&mut Changes);
}

#[test]
fn products_of_matrices_do_not_become_zero() {
    let product = (0..10_000).map(MatrixProduct::<3>::input).reduce(|a, b| MatrixProduct.combine(a, b)).unwrap();
    assert!(product.rows.iter().all(|row| row.iter().any(|entry| entry % 2 == 1)), "{product:?}");
    let swapped = (0..10_000).map(MatrixProduct::<3>::input).reduce(|a, b| MatrixProduct.combine(b, a)).unwrap();
    assert_ne!(product, swapped);
}
