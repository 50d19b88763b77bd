//! Scans of `ndarray` arrays: in every order of their dimensions, views of a part, inverted axes, against a loop.

use scan_runtime::{
    Error, Scanner,
    ndarray::{Array, Array3, ArrayD, ArrayView3, Axis, ShapeBuilder, s},
};
use scan_tests::operators::{AffineU32, MapU32, TestOperator};

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
    let scan = Scanner::cpu().scan(AffineU32);
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
        standard.slice(s![.., 2..3, ..;-1]),
        standard.slice(s![3..3, .., ..]),
    ];
    for (number, view) in views.iter().enumerate() {
        for axis in 0..3 {
            let expected = expected(view, axis);
            let found = scan.run_axis(*view, Axis(axis)).unwrap();
            assert_eq!(found, expected, "view {number}, axis {axis}");
            let totals = Scanner::cpu().reduce(AffineU32).run_axis(*view, Axis(axis)).unwrap();
            match view.len_of(Axis(axis)).checked_sub(1) {
                Some(last) => assert_eq!(totals, expected.index_axis(Axis(axis), last), "view {number}, axis {axis}"),
                None => assert!(totals.iter().all(|total| *total == MapU32 { a: 1, b: 0 })),
            }
            let mut columns_first = Array3::from_elem(view.raw_dim().f(), MapU32 { a: 0, b: 0 });
            scan.run_axis_into(*view, &mut columns_first, Axis(axis)).unwrap();
            assert_eq!(columns_first, expected, "view {number}, axis {axis}, into");
            let mut buffer = view.to_owned();
            scan.run_axis_in_place(buffer.slice_mut(s![.., ..;-1, ..;-1]).slice_mut(s![.., ..;-1, ..;-1]), Axis(axis))
                .unwrap();
            assert_eq!(buffer, expected, "view {number}, axis {axis}, in place");
        }
    }
    let found = scan.run_axis_into(&standard, &mut Array3::from_elem((7, 6, 4), MapU32 { a: 0, b: 0 }), Axis(0));
    assert!(matches!(found, Err(Error::AxisShapes { .. })), "{found:?}");
    assert!(matches!(scan.run_axis(&standard, Axis(3)), Err(Error::Axis(_))));
    assert!(matches!(Scanner::cpu().reduce(AffineU32).run_axis(&standard, Axis(3)), Err(Error::Axis(_))));
    let nine = ArrayD::from_elem(vec![1; 9], MapU32 { a: 0, b: 0 });
    assert!(matches!(scan.run_axis(&nine, Axis(0)), Err(Error::Axis(_))));
}
