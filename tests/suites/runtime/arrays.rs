//! Scans of `ndarray` arrays: in every order of their dimensions, views of a part, inverted axes, against a loop; with
//! several arrays, initial values and totals.

use scan_runtime::{
    Along, Error, Scan, Scanner, arrays,
    ndarray::{
        Array, Array1, Array2, Array3, ArrayD, ArrayView2, ArrayView3, Axis, Dimension, ShapeBuilder, array, aview0, s,
    },
    ops,
};
use scan_tests::operators::{AffineU32, MapU32, TestOperator};

const NOTHING: MapU32 = MapU32 { a: 0, b: 0 };

fn expected(input: &ArrayView3<'_, MapU32>, axis: usize) -> Array3<MapU32> {
    let mut results = input.to_owned();
    for mut lane in results.lanes_mut(Axis(axis)) {
        for k in 1..lane.len() {
            lane[k] = scan_runtime::ScanOp::combine(&AffineU32, lane[k - 1], lane[k]);
        }
    }
    results
}

#[test]
fn arrays_in_any_memory_order_equal_a_plain_loop() {
    let (scan, reduce) = (Scanner::cpu().scan(AffineU32), Scanner::cpu().reduce(AffineU32));
    let elements: Vec<_> = (0..7 * 6 * 5).map(AffineU32::input).collect();
    let standard = Array::from_shape_vec((7, 6, 5), elements.clone()).unwrap();
    let columns_first = Array::from_shape_vec((7, 6, 5).f(), elements.clone()).unwrap();
    let mixed = Array::from_shape_vec((6, 7, 5), elements).unwrap().permuted_axes((1, 0, 2));
    let views = [
        standard.view(),
        columns_first.view(),
        mixed.view(),
        standard.slice(s![1..6;2, .., 1..]),
        standard.slice(s![.., ..;-1, ..]),
        columns_first.slice(s![..;-1, .., ..;-1]),
        mixed.slice(s![..;-1, ..;-1, ..;-1]),
        standard.slice(s![.., 2..3, ..;-1]),
        standard.slice(s![3..3, .., ..]),
    ];
    for (number, view) in views.iter().enumerate() {
        for axis in 0..3 {
            let expected = expected(view, axis);
            let found = scan.along(axis).run(view).unwrap();
            assert_eq!(found, expected, "view {number}, axis {axis}");
            // New results lie in memory as the elements do.
            if !view.is_empty() && view.to_slice_memory_order().is_some() {
                assert_eq!(found.strides(), view.strides(), "view {number}, axis {axis}");
            }
            let totals = reduce.along(Axis(axis)).run(*view).unwrap();
            match view.len_of(Axis(axis)).checked_sub(1) {
                Some(last) => assert_eq!(totals, expected.index_axis(Axis(axis), last), "view {number}, axis {axis}"),
                None => assert!(totals.iter().all(|total| *total == MapU32 { a: 1, b: 0 })),
            }
            let mut reduced = Array2::from_elem(totals.raw_dim().f(), NOTHING);
            reduce.along(axis).run_into(view, &mut reduced).unwrap();
            assert_eq!(reduced, totals, "view {number}, axis {axis}, reduced into");
            let mut columns_first = Array3::from_elem(view.raw_dim().f(), NOTHING);
            scan.along(axis).run_into(*view, &mut columns_first).unwrap();
            assert_eq!(columns_first, expected, "view {number}, axis {axis}, into");
            let mut apart = Array3::from_elem([view.dim().0, view.dim().1, 2 * view.dim().2], NOTHING);
            scan.along(axis).run_into(*view, apart.slice_mut(s![.., .., ..;2])).unwrap();
            assert_eq!(apart.slice(s![.., .., ..;2]), expected, "view {number}, axis {axis}, into a part");
            assert!(apart.slice(s![.., .., 1..;2]).iter().all(|item| *item == NOTHING), "view {number}, axis {axis}");
            let mut buffer = view.to_owned();
            let mut inverted_twice = buffer.slice_mut(s![.., ..;-1, ..;-1]);
            scan.along(axis).run_in_place(&mut inverted_twice.slice_mut(s![.., ..;-1, ..;-1])).unwrap();
            assert_eq!(buffer, expected, "view {number}, axis {axis}, in place");
            let mut inverted = buffer;
            inverted.assign(view);
            inverted.invert_axis(Axis(1));
            let mut twice = inverted.view_mut();
            twice.invert_axis(Axis(1));
            scan.along(axis).run_in_place(&mut twice).unwrap();
            assert_eq!(twice, expected, "view {number}, axis {axis}, of a view in place");
        }
    }
}

#[test]
fn axes_count_from_either_end_and_other_ones_are_errors() {
    let sums = Scanner::cpu().scan(ops::sum());
    let matrix = array![[1, 2, 3], [4, 5, 6]];
    let (down, right) = (array![[1, 2, 3], [5, 7, 9]], array![[1, 3, 6], [4, 9, 15]]);
    assert_eq!(sums.along(0).run(&matrix).unwrap(), down);
    assert_eq!(sums.along(-2).run(&matrix).unwrap(), down);
    assert_eq!(sums.along(1_usize).run(&matrix).unwrap(), right);
    assert_eq!(sums.along(-1_isize).run(matrix.view()).unwrap(), right);
    assert_eq!(sums.along(scan_runtime::Axis::of(&[2, 3], 1).unwrap()).run(&matrix).unwrap(), right);
    assert_eq!(sums.along(0).run(matrix.t()).unwrap(), right.t());
    for axis in [2, -3, i32::MIN] {
        assert!(matches!(sums.along(axis).run(&matrix), Err(Error::Axis(_))), "{axis}");
    }
    assert!(matches!(sums.along(usize::MAX).run(&matrix), Err(Error::Axis(_))));
    let nine = ArrayD::from_elem(vec![1; 9], 1);
    assert!(matches!(sums.along(0).run(&nine), Err(Error::Axis(_))));
    let shape = ArrayD::from_elem(vec![2, 2], 1);
    assert_eq!(sums.along(1).run(&shape).unwrap(), array![[1, 2], [1, 2]].into_dyn());
}

#[test]
fn shapes_that_do_not_go_together_are_errors() {
    let (sums, totals) = (Scanner::cpu().scan(ops::sum()), Scanner::cpu().reduce(ops::sum()));
    let matrix = array![[1, 2, 3], [4, 5, 6]];
    let shapes = |result: Result<(), Error>| matches!(result, Err(Error::AxisShapes { .. }));
    assert!(shapes(sums.along(0).run_into(&matrix, &mut Array2::zeros((3, 2)))));
    assert!(shapes(sums.along(scan_runtime::Axis::of(&[3, 2], 0).unwrap()).run(&matrix).map(drop)));
    assert!(shapes(totals.along(0).run_into(&matrix, &mut Array1::zeros(2))));
    assert!(matches!(sums.along(0).run(&[1, 2]), Err(Error::UnknownShape { axis: 0 })));
    assert!(matches!(sums.along(-1).run_in_place(&mut [1, 2]), Err(Error::UnknownShape { axis: -1 })));
    assert!(matches!(sums.along(1).prepare(9), Err(Error::UnknownShape { axis: 1 })));
    assert!(matches!(sums.run(&matrix), Err(Error::AxisUnnamed { .. })));
    assert!(matches!(totals.run(&matrix), Err(Error::AxisUnnamed { .. })));
    assert!(matches!(totals.rows(1).run(&array![1, 2]), Err(Error::AxisUnnamed { .. })));
    assert!(matches!(totals.run(aview0(&1)), Err(Error::AxisUnnamed { .. })));
    let message = sums.along(0).run(&[1, 2]).unwrap_err().to_string();
    assert!(message.contains("`.along(Axis::of(&shape, axis)?)`"), "{message}");
}

/// Of one dimension they are sequences.
#[test]
fn arrays_of_one_dimension_need_no_axis() {
    let (sums, totals) = (Scanner::cpu().scan(ops::sum()), Scanner::cpu().reduce(ops::sum()));
    let line = array![1, 10, 2, 20, 3, 30];
    assert_eq!(sums.run(&line).unwrap(), array![1, 11, 13, 33, 36, 66]);
    assert_eq!(sums.run(line.slice(s![..;2])).unwrap(), array![1, 3, 6]);
    assert_eq!(sums.run(line.slice(s![..;-2])).unwrap(), array![30, 50, 60]);
    assert_eq!(sums.by_keys(&[7, 7, 8]).run(line.slice(s![1..;2])).unwrap(), array![10, 30, 30]);
    assert_eq!(totals.run(&line).unwrap(), 66);
    assert_eq!(totals.along(0).run(&line).unwrap(), aview0(&66));
    let mut results = Array1::zeros(6);
    sums.run_into(line.slice(s![..;2]), results.slice_mut(s![..;-2])).unwrap();
    assert_eq!(results, array![0, 6, 0, 3, 0, 1]);
}

fn recurrence() -> Scan<AffineU32> {
    Scanner::cpu().scan(AffineU32)
}

/// Arrays of one call may lie differently, and slices may be among them.
#[test]
fn several_arrays_with_initial_values_and_totals() {
    let shape = (4, 3);
    let of = |f: fn(u32) -> u32| (0..12).map(f).collect::<Vec<_>>();
    let (a, b) = (of(|k| k * 7 % 5), of(|k| k * 3 % 11));
    let (a_rows, b_rows) = (Array::from_shape_vec(shape, a.clone()).unwrap(), Array::from_shape_vec(shape, b).unwrap());
    let mut b_columns = Array2::zeros(shape.f());
    b_columns.assign(&b_rows);
    let wide = Array2::from_shape_fn((4, 6), |(i, j)| if j % 2 == 0 { a_rows[[i, j / 2]] } else { 99 });
    let before = [MapU32 { a: 1, b: 2 }, MapU32 { a: 3, b: 4 }, MapU32 { a: 5, b: 6 }];

    fn check<D: Dimension>(
        found: (Array<MapU32, D>, Vec<MapU32>),
        a: &ArrayView2<'_, u32>,
        b: &ArrayView2<'_, u32>,
        before: &[MapU32],
    ) {
        let found = (found.0.into_dimensionality::<scan_runtime::ndarray::Ix2>().unwrap(), found.1);
        for column in 0..3 {
            let mut map = before[column];
            for row in 0..4 {
                let step = MapU32 { a: a[[row, column]], b: b[[row, column]] };
                map = scan_runtime::ScanOp::combine(&AffineU32, map, step);
                assert_eq!(found.0[[row, column]], map, "{row}, {column}");
            }
            assert_eq!(found.1[column], map, "{column}");
        }
    }
    let scan = recurrence();
    let run = scan.along(0).init_each(&before).with_totals();
    let (a_view, b_view) = (a_rows.view(), b_rows.view());
    check(run.run((&a_rows, &b_rows)).unwrap(), &a_view, &b_view, &before);
    check(run.run((&b_columns, &b_columns)).unwrap(), &b_view, &b_view, &before);
    check(run.run((&a_rows, &b_columns)).unwrap(), &a_view, &b_view, &before);
    check(run.run((wide.slice(s![.., ..;2]), &b_columns)).unwrap(), &a_view, &b_view, &before);
    check(run.run((&b_columns, &a[..])).unwrap(), &b_view, &a_view, &before);
    // A slice first: so are the results.
    let (results, totals) = run.run((&a[..], &b_columns)).unwrap();
    check((Array::from_shape_vec(shape, results).unwrap(), totals), &a_view, &b_view, &before);

    let (mut slopes, mut offsets) = (Array2::zeros(shape.f()), Array2::zeros(shape));
    let totals = run.run_into((&b_columns, &a_rows), (&mut slopes, &mut offsets)).unwrap();
    let maps = Array2::from_shape_fn(shape, |at| MapU32 { a: slopes[at], b: offsets[at] });
    check((maps, totals), &b_view, &a_view, &before);
    let totals = run.run_into((&b_columns, &a_rows), (&mut slopes, arrays::discard())).unwrap();
    let maps = Array2::from_shape_fn(shape, |at| MapU32 { a: slopes[at], b: offsets[at] });
    check((maps, totals), &b_view, &a_view, &before);
}

#[test]
fn handles_take_arrays_of_their_shape() {
    let axis = scan_runtime::Axis::of(&[2, 3], 0).unwrap();
    let sums = Scanner::cpu().scan(ops::sum());
    let handle = sums.along(axis).prepare(6).unwrap();
    let matrix = array![[1, 2, 3], [4, 5, 6]];
    assert_eq!(handle.run(&matrix).unwrap(), array![[1, 2, 3], [5, 7, 9]]);
    let mut buffer = matrix.clone();
    handle.run_in_place(&mut buffer).unwrap();
    assert_eq!(buffer, array![[1, 2, 3], [5, 7, 9]]);
    assert!(matches!(handle.run(matrix.t()), Err(Error::AxisShapes { .. })));
    let like = sums.along(1).prepare_like(&matrix, &mut Array2::zeros((2, 3)), 6).unwrap();
    assert_eq!(like.run(&matrix).unwrap(), array![[1, 3, 6], [4, 9, 15]]);
    assert_eq!(Along::from(-1), Along::from(-1_isize));
}
