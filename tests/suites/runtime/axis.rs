//! Scans along an axis on the CPU, against a plain loop, and what is refused.

use scan_codegen::ScanSpec;
use scan_runtime::{Axis, AxisPlan, Error, Overrides, PlanError, ScanKind, Scanner, arrays, ops, scan_op};
use scan_tests::{
    axes::{Case, drawn, fault_of_reductions, not_contiguous, strided},
    columns::{ColumnsOperator, Recurrence, Summarize, Summary},
    configure,
    lifting::inputs,
    operators::{AffineU32, Bytes3Sum, Interval, MapU32, MatrixProduct, TakeLeft, TestOperator, first_difference},
    reference::{self, WAYS},
    stepped::Coder,
};

/// Every way to scan, from the first row and from the last, of arrays of these shapes and of some that are not contiguous.
fn of<Op: TestOperator>() {
    let scanner = Scanner::cpu();
    let shapes: [(&[usize], usize); 12] = [
        (&[1, 7], 0),
        (&[9, 1], 0),
        (&[33, 100], 0),
        (&[5, 4000], 0),
        (&[600, 33], 0),
        (&[3, 40, 17], 1),
        (&[2, 3, 64, 4], 2),
        (&[6, 50], 1),
        (&[4, 5, 6, 7], 0),
        (&[77], 0),
        (&[0, 5], 0),
        (&[5, 0], 0),
    ];
    let contiguous = shapes.into_iter().map(|(shape, axis)| Axis::of(shape, axis).unwrap());
    for (index, axis) in contiguous.chain(not_contiguous()).enumerate() {
        for way in 0..2 {
            let reversed = (index + way) % 2 == 1;
            let case = Case::<Op>::new(&scanner, axis.clone(), WAYS[(index / 2 + way) % 4], reversed);
            assert_eq!(case.fault_on_host().unwrap(), None, "{way}, {reversed}");
        }
        assert_eq!(fault_of_reductions::<Op>(&scanner, &axis).unwrap(), None);
    }
}

#[test]
fn equals_a_plain_loop() {
    of::<Interval>();
    of::<TakeLeft>();
    of::<Bytes3Sum>();
    of::<ops::Sum<u8>>();
    of::<MatrixProduct<3>>();
}

/// Arrays in any order of their dimensions, with gaps or without, inverted along any of them, on either side.
#[test]
fn arrays_with_strides_of_any_sign_equal_a_plain_loop() {
    let scanner = Scanner::cpu();
    for seed in 0..400 {
        let axis = drawn(seed);
        let case = Case::<Interval>::new(&scanner, axis.clone(), WAYS[seed as usize % 4], seed / 4 % 2 == 1);
        assert_eq!(case.fault_on_host().unwrap(), None, "seed {seed}");
        assert_eq!(fault_of_reductions::<MatrixProduct<3>>(&scanner, &axis).unwrap(), None, "seed {seed}");
        let spec = if seed % 5 < 2 { ScanSpec::inclusive().reverse() } else { ScanSpec::exclusive() };
        let input: Vec<_> = (0..axis.input_len() as u64).map(AffineU32::input).collect();
        let values: Vec<_> = (0..axis.columns() as u64).map(|column| AffineU32::input(7 * column + 3)).collect();
        let mut expected: Vec<_> = (0..axis.output_len() as u64).map(|gap| AffineU32::input(5 * gap)).collect();
        let (mut output, mut totals) = (expected.clone(), values.clone());
        let expected_totals = reference::scan_axis_each(&AffineU32, &spec, Some(&values), &axis, &input, &mut expected);
        let scan = if spec.reversed { scanner.scan(AffineU32).reverse() } else { scanner.scan(AffineU32).exclusive() };
        let along = scan.along(axis.clone()).init_each(&values);
        along.clone().totals_into(&mut totals).run_into(&input, &mut output).unwrap();
        let wrong = (first_difference(&output, &expected), first_difference(&totals, &expected_totals));
        assert_eq!(wrong, (None, None), "seed {seed}, {axis:?}, {spec}");
        if axis.lies_the_same() {
            let (mut buffer, mut expected) = (input.clone(), input.clone());
            reference::scan_axis_each(&AffineU32, &spec, Some(&values), &axis, &input, &mut expected);
            along.run_in_place(&mut buffer).unwrap();
            assert_eq!(first_difference(&buffer, &expected), None, "seed {seed}, {axis:?}, {spec}, in place");
        }
    }
}

/// As many elements as several threads share.
#[test]
fn long_inverted_arrays_equal_a_plain_loop() {
    let scanner = Scanner::cpu();
    for (index, axis) in [
        strided(&[400, 300], 0, &[-300, 1], &[300, -1]),
        strided(&[400, 300], 0, &[-300, 1], &[-300, 1]),
        strided(&[40, 30, 100], 1, &[-3_000, 100, -1], &[-3_100, -100, 1]),
        strided(&[300, 400], 1, &[-400, -1], &[400, 1]),
    ]
    .into_iter()
    .enumerate()
    {
        let case = Case::<Interval>::new(&scanner, axis, WAYS[index], index % 2 == 1);
        assert_eq!(case.fault_on_host().unwrap(), None);
    }
}

/// Neighbours of items, and arrays with strides of their own, follow the signs of the axis.
#[test]
fn kinds_of_arrays_lie_as_an_inverted_axis_says() {
    let scan = Scanner::cpu().scan(Recurrence);
    let (items, tokens) = ([2, 3, 5, 7, 11, 13], [1, 0, 2, 1, 3, 1]);
    for strides in [[3, 1], [-3, 1], [3, -1], [-3, -1]] {
        let axis = strided(&[2, 3], 0, &strides, &strides);
        let place = |i: usize, j: usize| {
            let [i, j] = [if strides[0] < 0 { 1 - i } else { i }, if strides[1] < 0 { 2 - j } else { j }];
            3 * i + j
        };
        for after in [false, true] {
            let (mut wanted, mut found) = ([0; 6], [0; 6]);
            let mut neighbours = [9; 6];
            (0..3).for_each(|j| neighbours[place(usize::from(!after), j)] = items[place(usize::from(after), j)]);
            scan.along(axis.clone()).run_into((&neighbours, &tokens), &mut wanted).unwrap();
            let along = scan.along(axis.clone());
            match after {
                true => along.run_into((arrays::next(&items, 9), &tokens), &mut found),
                false => along.run_into((arrays::previous(&items, 9), &tokens), &mut found),
            }
            .unwrap();
            assert_eq!(found, wanted, "{strides:?}, {after}");
        }
        let (mut wanted, mut found) = ([0; 6], [0; 6]);
        let mut repeated = [0; 6];
        (0..6).for_each(|k| repeated[place(k / 3, k % 3)] = items[2 - k % 3]);
        scan.along(axis.clone()).run_into((&repeated, &tokens), &mut wanted).unwrap();
        scan.along(axis).run_into((arrays::strided(&items[..3], &[0, -1]), &tokens), &mut found).unwrap();
        assert_eq!(found, wanted, "{strides:?}");
    }
}

#[test]
fn arrays_of_another_length_are_refused() {
    let scanner = Scanner::cpu();
    let sums = || scanner.scan(ops::sum::<i32>());
    let down = sums();
    let down = down.along(Axis::of(&[2, 3], 0).unwrap());
    for len in [5, 7] {
        let found = down.run(&vec![1; len]);
        assert!(matches!(found, Err(Error::AxisLength { what: "input", expected: 6, .. })), "{found:?}");
    }
    let found = down.run_into(&[1; 6], &mut [0; 5]).unwrap_err();
    assert_eq!(found.to_string(), "the output has 5 elements; an array of shape [2, 3] with these strides needs 6");
    let padded = sums();
    let padded = padded.along(Axis::of(&[2, 3], 0).unwrap().strides(&[4, 1]).unwrap());
    assert!(matches!(padded.run(&[1; 7]), Err(Error::AxisGaps { .. })));
    assert!(matches!(padded.run_in_place(&mut [1; 6]), Err(Error::AxisLength { what: "buffer", .. })));
    let mut longer = [1; 9];
    padded.run_in_place(&mut longer).unwrap();
    assert_eq!(longer, [1, 1, 1, 1, 2, 2, 2, 1, 1]);
    let transposed = sums();
    let transposed = transposed.along(strided(&[2, 3], 0, &[1, 2], &[3, 1]));
    assert!(matches!(transposed.run_in_place(&mut [1; 6]), Err(Error::AxisInPlace)));
    let shaped = sums().overrides(Overrides::default().teams(2));
    let shaped = shaped.along(Axis::of(&[2, 3], 0).unwrap());
    assert!(matches!(shaped.run(&[1; 6]), Err(Error::Plan(PlanError::Columns { .. }))));
    let stream = Scanner::cpu().scan(ops::sum::<i32>());
    let stream = stream.along(Axis::of(&[2, 3], 2).unwrap_or_else(|error| {
        assert_eq!(
            error.to_string(),
            "axis 2 of an array of 2 dimensions: axes are 0 to 1, or -1 to -2 from the last one on"
        );
        Axis::of(&[2, 3], 1).unwrap()
    }));
    assert!(matches!(stream.axis_plan().unwrap(), AxisPlan::Rows(_)));
    assert!(stream.plan().is_ok() && matches!(down.plan(), Err(Error::Plan(PlanError::Columns { .. }))));
}

#[test]
fn debug_names_operator_scan_and_shape() {
    let down = Scanner::cpu().scan(ops::sum::<i32>()).exclusive();
    let down = down.along(Axis::of(&[2, 3], 0).unwrap());
    let text = format!("{:?}", down);
    for part in ["Sum", "exclusive scan", "CPU", "shape: [2, 3]"] {
        assert!(text.contains(part), "{text}");
    }
    let reduce = Scanner::cpu().reduce(ops::max::<i32>());
    let texts = [format!("{:?}", reduce.rows(3)), format!("{:?}", reduce.along(Axis::of(&[2, 3], 0).unwrap()))];
    assert!(texts[0].starts_with("Reduce") && texts[1].starts_with("Reduce"), "{texts:?}");
}

#[test]
fn an_input_stride_of_zero_repeats_elements() {
    let sums = Scanner::cpu().scan(ops::sum::<i32>());
    let sums = sums.along(strided(&[3, 2], 0, &[1, 0], &[2, 1]));
    assert_eq!(sums.run(&[1, 2, 3]).unwrap(), [1, 1, 3, 3, 6, 6]);
}

/// The left operand.
#[scan_op]
fn left_of(a: u32, _b: u32) -> u32 {
    a
}

/// Each column begins with a value of its own, so that an operator without an identity is scanned exclusively as well.
#[test]
fn initial_values_of_columns_need_no_identity() {
    let down = Scanner::cpu().scan(left_of).exclusive();
    let down = down.along(Axis::of(&[5, 3], 0).unwrap());
    assert!(matches!(down.run(&[1; 15]), Err(Error::Plan(PlanError::NoIdentity { .. }))));
    assert_eq!(down.init_each(&[7, 8, 9]).run(&[1; 15]).unwrap(), [7, 8, 9].repeat(5));
}

/// A stepped operator, whose carry is no state, beside a scan of each column.
#[test]
fn stepped_operators_equal_a_scan_of_each_column() {
    let scanner = Scanner::cpu();
    let (rows, columns) = (40, 33);
    let input = inputs(rows * columns);
    for (exclusive, reversed, initial) in [(false, false, None), (true, false, None), (false, true, Some(9))] {
        let scan = || {
            let scan = scanner.scan(Coder);
            let scan = if exclusive { scan.exclusive() } else { scan };
            let scan = if reversed { scan.reverse() } else { scan };
            if let Some(value) = initial { scan.init(value) } else { scan }
        };
        let found = scan().along(Axis::of(&[rows, columns], 0).unwrap()).run(&input).unwrap();
        for column in 0..columns {
            let of = |row: usize| row * columns + column;
            let elements: Vec<_> = (0..rows).map(|row| input[of(row)]).collect();
            let expected = scan().run(&elements).unwrap();
            let found: Vec<_> = (0..rows).map(|row| found[of(row)]).collect();
            assert_eq!(found, expected, "column {column}, {exclusive}, {reversed}");
        }
    }
}

/// Three arrays to two, whose shapes and strides are those of the axis, beside a plain loop.
#[test]
fn several_arrays_equal_a_plain_loop() {
    let scanner = Scanner::cpu();
    let shapes: [(&[usize], usize); 5] =
        [(&[33, 100], 0), (&[3, 40, 17], 1), (&[6, 50], 1), (&[5, 4000], 0), (&[0, 5], 0)];
    let contiguous = shapes.into_iter().map(|(shape, axis)| Axis::of(shape, axis).unwrap());
    let strided = [
        strided(&[70, 6], 0, &[8, 1], &[1, 70]),
        strided(&[70, 6], 0, &[1, 70], &[6, 1]),
        strided(&[70, 6], 0, &[8, 1], &[7, 1]),
        strided(&[3, 20, 6], 1, &[180, 6, 1], &[180, 6, 1]),
        strided(&[3, 20, 6], 1, &[-180, 6, -1], &[120, -6, 1]),
    ];
    for (index, axis) in contiguous.chain(strided).enumerate() {
        let (reversed, with_initial_value) = (index.is_multiple_of(2), index % 3 == 1);
        let input = Summarize::inputs(axis.input_len(), index as u64);
        let spec = if reversed { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
        let initial_value = with_initial_value.then(Summarize::initial_value);
        let mut expected = vec![Summary { hash: 0, factor: 0 }; axis.output_len()];
        reference::scan_axis(&Summarize, &spec, initial_value, &axis, &input, &mut expected);
        let scan = scanner.scan(Summarize);
        let scan = if reversed { scan.reverse() } else { scan };
        let scan = initial_value.iter().fold(scan, |scan, value| scan.init(*value));
        let scan = scan.along(axis.clone());
        let kinds: Vec<_> = input.iter().map(|x| x.kind).collect();
        let values: Vec<_> = input.iter().map(|x| x.value).collect();
        let codes: Vec<_> = input.iter().map(|x| x.code).collect();
        let (mut hashes, mut factors) = (vec![0; axis.output_len()], vec![0; axis.output_len()]);
        scan.run_into((&kinds, &values, &codes), (&mut hashes, &mut factors)).unwrap();
        let found: Vec<_> = hashes.iter().zip(&factors).map(|(&hash, &factor)| Summary { hash, factor }).collect();
        assert_eq!(found, expected, "{axis:?}");
    }
}

#[test]
fn several_arrays_of_other_lengths_are_refused() {
    let scanner = Scanner::cpu();
    let recurrence = scanner.scan(Recurrence);
    let down = |axis: Axis| recurrence.along(axis);
    let matrix = || Axis::of(&[2, 3], 0).unwrap();
    let mut states = [0; 6];
    let found = down(matrix()).run_into((&[1; 6], &[1; 5]), &mut states);
    assert!(matches!(found, Err(Error::ArrayLength { array: 1, .. })), "{found:?}");
    let found = down(matrix()).run_into((&[1; 5], &[1; 5]), &mut states);
    assert!(matches!(found, Err(Error::AxisLength { what: "input", found: 5, .. })), "{found:?}");
    let apart = matrix().output_strides(&[4, 1]).unwrap();
    let (mut results, places) = ([0; 7], [0_u32; 7]);
    let found = down(apart.clone()).run_into((&[1; 6], &[1; 6]), arrays::scatter(&mut results, &places));
    assert!(matches!(found, Err(Error::AxisGaps { .. })), "{found:?}");
    down(apart).run_into((&[1; 6], &[1; 6]), arrays::discard()).unwrap();
    // In host memory any array does.
    down(matrix()).run_into((&[1; 6], arrays::indices()), &mut states).unwrap();
    assert_eq!(states, [0, 1, 2, 3, 5, 7]);
}

/// An initial value and a total for each column, beside a plain loop: of columns, of rows, of columns without elements.
#[test]
fn initial_values_and_totals_of_each_column_equal_a_plain_loop() {
    fn of<Op: TestOperator>() {
        let scanner = Scanner::cpu();
        let shapes: [(&[usize], usize); 8] = [
            (&[33, 100], 0),
            (&[3, 40, 17], 1),
            (&[2, 3, 64, 4], 2),
            (&[6, 50], 1),
            (&[77], 0),
            (&[77, 1], 0),
            (&[5, 4000], 0),
            (&[1, 9], 0),
        ];
        let contiguous = shapes.into_iter().map(|(shape, axis)| Axis::of(shape, axis).unwrap());
        let others = [strided(&[6, 70, 4], 1, &[1, 24, 6], &[1, 24, 6]), strided(&[70, 6], 0, &[8, 1], &[8, 1])];
        for (index, axis) in contiguous.chain(others).enumerate() {
            let (kind, with_values) = WAYS[index % 4];
            let reversed = index % 3 == 1;
            let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
            let spec = if reversed { spec.reverse() } else { spec };
            let input: Vec<_> = (0..axis.input_len() as u64).map(Op::input).collect();
            let values: Vec<_> = (0..axis.columns() as u64).map(|column| Op::input(7 * column + 3)).collect();
            let values = with_values.then_some(&values[..]);
            let mut expected: Vec<_> = (0..axis.output_len() as u64).map(|gap| Op::input(5 * gap)).collect();
            let (mut output, mut totals) = (expected.clone(), vec![Op::input(0); axis.columns()]);
            let expected_totals = reference::scan_axis_each(&Op::new(), &spec, values, &axis, &input, &mut expected);
            let scan = configure::<Op>(&scanner, (kind, false));
            let scan = if reversed { scan.reverse() } else { scan };
            let along = || match values {
                Some(values) => scan.along(axis.clone()).init_each(values),
                None => scan.along(axis.clone()),
            };
            let mut totals_in_place = totals.clone();
            along().totals_into(&mut totals).run_into(&input, &mut output).unwrap();
            let wrong = (first_difference(&output, &expected), first_difference(&totals, &expected_totals));
            assert_eq!(wrong, (None, None), "{axis:?}, {spec}");
            if axis.output_len() == axis.len() {
                let (output, totals) = along().with_totals().run(&input).unwrap();
                let wrong = (first_difference(&output, &expected), first_difference(&totals, &expected_totals));
                assert_eq!(wrong, (None, None), "{axis:?}");
                assert_eq!(first_difference(&along().run(&input).unwrap(), &expected), None, "{axis:?}");
            }
            let mut buffer = input;
            along().totals_into(&mut totals_in_place).run_in_place(&mut buffer).unwrap();
            assert_eq!(first_difference(&totals_in_place, &expected_totals), None, "{axis:?}, in place");
        }
    }
    of::<Interval>();
    of::<TakeLeft>();
    of::<MatrixProduct<3>>();
}

#[test]
fn another_number_of_initial_values_is_refused() {
    let scanner = Scanner::cpu();
    let scan = scanner.scan(ops::sum::<i32>());
    let sums = || scan.along(Axis::of(&[2, 3], 0).unwrap());
    let found = sums().init_each(&[1, 2]).run(&[1; 6]);
    assert!(matches!(found, Err(Error::Length { what: "initial values", found: 2, expected: 3, .. })), "{found:?}");
    assert!(found.unwrap_err().to_string().starts_with("initial values of 2 elements, expected 3"));
    let found = sums().totals_into(&mut [0; 2]).run_into(&[1; 6], &mut [0; 6]);
    assert!(matches!(found, Err(Error::Length { found: 2, expected: 3, .. })), "{found:?}");
    // Columns without elements have what they begin with.
    let of_nothing = || scan.along(Axis::of(&[0, 3], 0).unwrap());
    assert_eq!(of_nothing().init_each(&[7, 8, 9]).with_totals().run(&[]).unwrap().1, [7, 8, 9]);
    assert_eq!(of_nothing().with_totals().run(&[]).unwrap().1, [0; 3]);
}

/// Chunks of a recurrence over two arrays: the totals of one are the initial values of the next.
#[test]
fn chunks_of_several_arrays_equal_the_whole() {
    let scanner = Scanner::cpu();
    let (tokens, channels) = (37, 20);
    let (gates, inputs): (Vec<u32>, Vec<u32>) =
        Recurrence::inputs(3 * tokens * channels, 5).into_iter().map(|step| (step.gate, step.token)).unzip();
    let (mut whole, mut found) = (vec![0; gates.len()], vec![0; gates.len()]);
    let all = scanner.scan(Recurrence);
    let all = all.along(Axis::of(&[3 * tokens, channels], 0).unwrap());
    all.run_into((&gates, &inputs), &mut whole).unwrap();
    let mut before = vec![MapU32 { a: 1, b: 0 }; channels];
    for chunk in 0..3 {
        let part = chunk * tokens * channels..(chunk + 1) * tokens * channels;
        let mut after = before.clone();
        let scan = scanner.scan(Recurrence);
        let scan = scan.along(Axis::of(&[tokens, channels], 0).unwrap());
        let scan = scan.init_each(&before);
        scan.totals_into(&mut after).run_into((&gates[part.clone()], &inputs[part.clone()]), &mut found[part]).unwrap();
        before = after;
    }
    assert_eq!(found, whole);
}
