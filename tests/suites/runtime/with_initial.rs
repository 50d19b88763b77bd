//! `n + 1` results for `n` elements: the initial value and the inclusive prefixes in one array.

use scan_runtime::{
    Axis, Error, PlanError, ScanOp, Scanner, arrays,
    ndarray::{Array2, ArrayView, arr2, array},
    ops, scan_op,
};
use scan_tests::{
    columns::{Recurrence, Step},
    reference::columns,
};

/// `3 * a + b` of what is on either side: not commutative, and the two ends differ.
struct Digits;

#[scan_op]
impl ScanOp for Digits {
    type Input = u8;
    type State = [u32; 2];
    type Output = u64;
    const IDENTITY: [u32; 2] = [1, 0];
    fn lift(digit: u8) -> [u32; 2] {
        [3, u32::from(digit)]
    }
    fn combine(a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
        [u32::wrapping_mul(a[0], b[0]), u32::wrapping_add(u32::wrapping_mul(a[1], b[0]), b[1])]
    }
    fn project(state: [u32; 2]) -> u64 {
        state[0] as u64 * 1_000_000_007 + state[1] as u64
    }
}

/// The results of one column by a plain loop.
fn expected(elements: &[u8], value: [u32; 2], reversed: bool) -> (Vec<u64>, [u32; 2]) {
    let (mut carry, mut results) = (value, vec![Digits.project(value)]);
    for index in 0..elements.len() {
        carry = match reversed {
            true => Digits.combine(Digits.lift(elements[elements.len() - 1 - index]), carry),
            false => Digits.combine(carry, Digits.lift(elements[index])),
        };
        results.push(Digits.project(carry));
    }
    if reversed {
        results.reverse();
    }
    (results, carry)
}

fn elements(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * index % 251) as u8).collect()
}

/// The value before a column.
fn value(column: usize) -> [u32; 2] {
    [2, 7 * column as u32 + 1]
}

/// What all columns of an array give, contiguous, by plain loops.
fn of_array(axis: &Axis, input: &[u8], values: &[[u32; 2]], reversed: bool) -> (Vec<u64>, Vec<[u32; 2]>) {
    let length = axis.shape()[axis.axis()];
    let mut results = vec![0; axis.len() + axis.columns()];
    let mut totals = Vec::new();
    for (column, index) in columns(axis).iter().enumerate() {
        let place = |row: usize, rows: usize| {
            let dimensions = axis.shape().iter().zip(index).enumerate();
            dimensions.fold(0, |place, (dimension, (extent, index))| match dimension == axis.axis() {
                true => place * rows + row,
                false => place * extent + index,
            })
        };
        let of_column: Vec<u8> = (0..length).map(|row| input[place(row, length)]).collect();
        let (of_column, total) = expected(&of_column, values[column], reversed);
        of_column.into_iter().enumerate().for_each(|(row, result)| results[place(row, length + 1)] = result);
        totals.push(total);
    }
    (results, totals)
}

#[test]
fn axes_of_all_shapes_match_plain_loops() {
    let shapes: [(&[usize], isize); 12] = [
        (&[1], 0),
        (&[5], 0),
        (&[100_003], 0),
        (&[3, 4], 0),
        (&[3, 4], 1),
        (&[2, 3, 4], 0),
        (&[2, 3, 4], 1),
        (&[2, 3, 4], 2),
        (&[1, 70_000], 1),
        (&[3, 40_000], 1),
        (&[40_000, 3], 1),
        (&[700, 300], 0),
    ];
    let scan = Scanner::new().unwrap().scan(Digits).include_initial();
    for (shape, number) in shapes {
        let axis = Axis::of(shape, number).unwrap();
        let (input, count) = (elements(axis.len()), axis.columns());
        for reversed in [false, true] {
            let scan = if reversed { scan.clone().reverse() } else { scan.clone() };
            let (by_identity, _) = of_array(&axis, &input, &vec![[1, 0]; count], reversed);
            assert_eq!(scan.along(axis.clone()).run(&input).unwrap(), by_identity, "{axis:?}, {reversed}");
            let mut results = vec![0; by_identity.len()];
            let (by_value, _) = of_array(&axis, &input, &vec![value(9); count], reversed);
            scan.clone().init(value(9)).along(axis.clone()).run_into(&input, &mut results).unwrap();
            assert_eq!(results, by_value, "{axis:?}, {reversed}");
            let values: Vec<_> = (0..count).map(value).collect();
            let (by_values, totals) = of_array(&axis, &input, &values, reversed);
            let run = scan.along(axis.clone()).init_each(&values).with_totals();
            assert_eq!(run.run(&input).unwrap(), (by_values, totals), "{axis:?}, {reversed}");
        }
    }
}

#[test]
fn sequences_and_rows_match_plain_loops() {
    let scan = Scanner::new().unwrap().scan(Digits).include_initial();
    for len in [0, 1, 2, 30, 200_001] {
        let input = elements(len);
        for reversed in [false, true] {
            let scan = if reversed { scan.clone().reverse() } else { scan.clone() };
            let (results, _) = expected(&input, [1, 0], reversed);
            assert_eq!(scan.run(&input).unwrap(), results, "{len}, {reversed}");
            let (results, total) = expected(&input, value(3), reversed);
            let scan = scan.init(value(3));
            assert_eq!(scan.with_total().run(&input).unwrap(), (results, Some(total)), "{len}, {reversed}");
        }
    }
    let (input, values) = (elements(12), [value(0), value(1), value(2)]);
    for reversed in [false, true] {
        let scan = if reversed { scan.clone().reverse() } else { scan.clone() };
        let (results, totals) = of_array(&Axis::of(&[3, 4], 1).unwrap(), &input, &values, reversed);
        assert_eq!(scan.rows(4).init_each(&values).with_totals().run(&input).unwrap(), (results.clone(), totals));
        let handle = scan.rows(4).init_each(&values).prepare(12).unwrap();
        assert_eq!(handle.rows(4).init_each(&values).run(&input).unwrap(), results);
    }
    // Rows without elements have their initial values; no rows have none.
    let along = scan.along(Axis::of(&[3, 0], 1).unwrap()).init_each(&values);
    assert_eq!(
        along.with_totals().run(&[0_u8; 0]).unwrap(),
        (values.map(|value| Digits.project(value)).to_vec(), values.to_vec())
    );
    assert!(scan.along(Axis::of(&[0, 3], 1).unwrap()).run(&[0_u8; 0]).unwrap().is_empty());
}

/// The memory of the results may have gaps, and be inverted: what lies between stays.
#[test]
fn results_lie_as_the_output_strides_say() {
    let sums = Scanner::new().unwrap().scan(ops::sum::<i32>()).include_initial();
    let of_rows = |strides: [isize; 2]| Axis::of(&[2, 3], 1).unwrap().output_strides(&strides).unwrap();
    let mut results = [-1; 12];
    sums.along(of_rows([6, 1])).run_into(&[1, 2, 3, 4, 5, 6], &mut results).unwrap();
    assert_eq!(results, [0, 1, 3, 6, -1, -1, 0, 4, 9, 15, -1, -1]);
    sums.along(of_rows([6, -1])).run_into(&[1, 2, 3, 4, 5, 6], &mut results).unwrap();
    assert_eq!(results[..10], [6, 3, 1, 0, -1, -1, 15, 9, 4, 0]);
    sums.clone().reverse().along(of_rows([-6, 1])).run_into(&[1, 2, 3, 4, 5, 6], &mut results).unwrap();
    assert_eq!(results, [15, 11, 6, 0, -1, -1, 6, 5, 3, 0, -1, -1]);
    // One after the other, column by column.
    sums.along(of_rows([1, 2])).run_into(&[1, 2, 3, 4, 5, 6], &mut results[..8]).unwrap();
    assert_eq!(results[..8], [0, 0, 1, 4, 3, 9, 6, 15]);
    let gaps = sums.along(of_rows([6, 1])).run(&[1, 2, 3, 4, 5, 6]);
    assert!(matches!(gaps, Err(Error::AxisGaps { .. })), "{gaps:?}");
}

#[test]
fn arrays_of_fields_and_with_shapes() {
    let scanner = Scanner::new().unwrap();
    let (gates, tokens) = (vec![2_u32, 3, 1, 2], vec![1_u32, 1, 5, 0]);
    let steps: Vec<_> = gates.iter().zip(&tokens).map(|(&gate, &token)| Step { gate, token }).collect();
    let whole = scanner.scan(Recurrence).include_initial();
    let results = whole.rows(2).run(&steps).unwrap();
    assert_eq!(results.len(), 6);
    assert_eq!(whole.rows(2).run((&gates, &tokens)).unwrap(), results);
    // A gate for each row, which is repeated.
    let gate = [2_u32, 7];
    let axis = Axis::of(&[2, 2], 1).unwrap();
    let repeated = whole.along(axis.clone()).run((arrays::strided(&gate, &[1, 0]), &tokens)).unwrap();
    assert_eq!(repeated, whole.along(axis).run((&[2, 2, 7, 7], &tokens)).unwrap());
    let bounds =
        scanner.scan(ops::pair(ops::min(), ops::max())).include_initial().init(ops::Both { first: 9, second: 0 });
    let mut max = [0; 6];
    bounds.rows(2).run_into(&[4_u32, 1, 10, 12], (arrays::discard(), &mut max)).unwrap();
    assert_eq!(max, [0, 4, 4, 0, 10, 12]);

    let sums = scanner.scan(ops::sum()).include_initial();
    let image = arr2(&[[1, 2, 3], [4, 5, 6]]);
    assert_eq!(sums.along(1).run(&image).unwrap(), arr2(&[[0, 1, 3, 6], [0, 4, 9, 15]]));
    assert_eq!(sums.along(0).run(&image).unwrap(), arr2(&[[0, 0, 0], [1, 2, 3], [5, 7, 9]]));
    assert_eq!(sums.along(-2).run(image.t()).unwrap(), arr2(&[[0, 0], [1, 4], [3, 9], [6, 15]]));
    assert_eq!(sums.run(&array![1, 2, 3]).unwrap(), array![0, 1, 3, 6]);
    let mut results = Array2::zeros((4, 2));
    sums.along(1).run_into(&image, results.view_mut().reversed_axes()).unwrap();
    assert_eq!(results.reversed_axes(), arr2(&[[0, 1, 3, 6], [0, 4, 9, 15]]));
    let short = sums.along(1).run_into(&image, &mut Array2::zeros((2, 3)));
    assert!(matches!(&short, Err(Error::AxisShapes { first, .. }) if *first == [2, 4]), "{short:?}");
    assert_eq!(sums.along(0).run(ArrayView::from(&[[1, 2], [3, 4]])).unwrap().shape(), [3, 2]);
}

#[test]
fn operators_without_a_beginning_need_a_value() {
    #[scan_op]
    fn leftmost(a: u32, _b: u32) -> u32 {
        a
    }
    let scan = Scanner::new().unwrap().scan(leftmost).include_initial();
    let none = scan.run(&[5, 6]);
    assert!(matches!(none, Err(Error::Plan(PlanError::NoIdentity { .. }))), "{none:?}");
    assert!(matches!(scan.prepare(4), Err(Error::Plan(PlanError::NoIdentity { .. }))));
    assert_eq!(scan.clone().init(4).run(&[5, 6]).unwrap(), [4, 4, 4]);
    assert_eq!(scan.rows(1).init_each(&[4, 3]).run(&[5, 6]).unwrap(), [4, 4, 3, 3]);
    // The last word counts.
    assert_eq!(scan.clone().inclusive().run(&[5, 6]).unwrap(), [5, 5]);
    assert_eq!(scan.init(4).exclusive().run(&[5, 6]).unwrap(), [4, 4]);
}

#[test]
fn what_has_no_regular_places_is_an_error_that_says_so() {
    fn says<T: std::fmt::Debug>(result: Result<T, Error>, part: &str) {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("n + 1 results"), "{message}");
    }
    let sums = Scanner::new().unwrap().scan(ops::sum()).include_initial();
    let input = [1_u32, 2, 3, 4];
    says(sums.run_into(&input, &mut [0; 4]), "expected 5");
    says(sums.rows(2).run_into(&input, &mut [0; 5]), "expected 6");
    says(sums.along(Axis::of(&[2, 2], 0).unwrap()).run_into(&input, &mut [0; 4]), "expected 6");
    says(sums.run_in_place(&mut input.clone()), "run_into");
    for run in
        [sums.by_keys(&[1, 1, 2, 2]), sums.by_flags(&[true; 4]), sums.by_bits(&[3_u8]), sums.by_offsets(&[0_u32, 4])]
    {
        says(run.run(&input), "other lengths than rows");
    }
    says(sums.run_into(&input, arrays::scatter(&mut [0; 5], &[0_u32, 1, 2, 3, 4])), "slices");
    let rows = sums.rows(3).run(&input);
    assert!(matches!(rows, Err(Error::RowLength { row: 3, len: 4 })), "{rows:?}");
    let values = sums.rows(2).init_each(&[1]).run(&input);
    assert!(matches!(values, Err(Error::Length { found: 1, expected: 2, .. })), "{values:?}");
    assert!(sums.init_each(&[1]).run(&input).is_err());
    assert!(sums.with_totals().run(&input).is_err());
}

/// Its kernels are those of the columns, as the results lie, and the exclusive ones of the initial values.
#[test]
fn its_kernels_are_of_both_scans() {
    let sums = Scanner::cpu().scan(ops::sum::<u32>()).include_initial();
    let plan = sums.rows(3).axis_plan().unwrap().to_string();
    assert!(plan.contains("along an axis"), "{plan}");
    let source = sums.cuda_source().unwrap().to_string();
    assert!(source.contains("inclusive scan"), "{source}");
}
