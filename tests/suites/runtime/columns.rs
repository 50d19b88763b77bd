//! Scans by columns on the CPU against a plain loop, bit for bit, and what is refused.

use scan_codegen::{Arrays, ScanSpec};
use scan_runtime::{Axis, Error, ScanKind, ScanOp, Scanner, ops};
use scan_tests::{
    columns::{ColumnsOperator, Reading, Recurrence, Step, Summarize, Summary},
    reference::{self, WAYS},
    time_limit::TimeLimit,
};

fn readings(len: usize) -> (Vec<Reading>, Vec<u8>, Vec<f32>, Vec<[u16; 3]>) {
    let input = Summarize::inputs(len, 7);
    let kinds = input.iter().map(|x| x.kind).collect();
    let values = input.iter().map(|x| x.value).collect();
    let codes = input.iter().map(|x| x.code).collect();
    (input, kinds, values, codes)
}

#[test]
fn equals_a_plain_loop() {
    let _limit = TimeLimit::seconds(600);
    let scanner = Scanner::cpu();
    // A chunk has 5,504 elements.
    for (index, len) in [0, 1, 2, 33, 5_503, 5_504, 5_505, 50_021].into_iter().enumerate() {
        let (input, kinds, values, codes) = readings(len);
        for (turn, (kind, with_initial_value)) in WAYS.into_iter().enumerate() {
            let reversed = (index + turn).is_multiple_of(2);
            let begins: Option<Vec<bool>> =
                (turn % 3 == 1).then(|| (0..len).map(|i| i == 0 || i % 1_019 == 5).collect());
            let scan = scanner.scan(Summarize);
            let scan = if kind == ScanKind::Exclusive { scan.exclusive() } else { scan };
            let scan = if reversed { scan.reverse() } else { scan };
            let initial_value = with_initial_value.then(Summarize::initial_value);
            let scan = initial_value.iter().fold(scan, |scan, value| scan.init(*value));
            let spec = if kind == ScanKind::Exclusive { ScanSpec::exclusive() } else { ScanSpec::inclusive() };
            let spec = if reversed { spec.reverse() } else { spec };
            let expected = reference::scan_as(&Summarize, &spec, initial_value, &input, begins.as_deref());
            let (mut hashes, mut factors) = (vec![0; len], vec![0; len]);
            let arrays = (&kinds[..], &values[..], &codes[..]);
            match &begins {
                Some(begins) => scan.by_flags(begins).run_into(arrays, (&mut hashes, &mut factors)),
                None => scan.run_into(arrays, (&mut hashes, &mut factors)),
            }
            .unwrap();
            let found = hashes.iter().zip(&factors).map(|(&hash, &factor)| Summary { hash, factor });
            assert!(found.eq(expected), "{spec}, {len} elements, restarting: {}", begins.is_some());
        }
    }
}

/// A function over any type of numbers needs no other bound for scans by columns.
#[test]
fn numbers_of_any_type_lie_in_arrays() {
    fn counted<T: ops::Number>(values: &[T]) -> (Vec<T>, Vec<T>) {
        let (mut sums, mut before) = (values.to_vec(), values.to_vec());
        let scan = Scanner::cpu().scan(ops::with_exclusive(ops::sum::<T>()));
        scan.run_into(values, (&mut before, &mut sums)).unwrap();
        (before, sums)
    }
    assert_eq!(counted(&[1_u8, 2, 3]), (vec![0, 1, 3], vec![1, 3, 6]));
    assert_eq!(counted(&[1.5_f64, 2.0]), (vec![0.0, 1.5], vec![1.5, 3.5]));
}

/// New results, handles and axes take several arrays as well as one, and give the same of both.
#[test]
fn every_run_takes_several_arrays() {
    let (rows, row) = (60, 50);
    let input = Recurrence::inputs(rows * row, 5);
    let gates: Vec<u32> = input.iter().map(|step| step.gate).collect();
    let tokens: Vec<u32> = input.iter().map(|step| step.token).collect();
    let scan = Scanner::cpu().scan(Recurrence);
    assert_eq!(scan.run((&gates, &tokens)).unwrap(), scan.run(&input).unwrap());
    let handle = scan.prepare(input.len()).unwrap();
    assert_eq!(handle.run((&gates, &tokens)).unwrap(), scan.run(&input).unwrap());
    let longer = (&[&gates[..], &[1]].concat(), &[&tokens[..], &[1]].concat());
    assert!(matches!(handle.run(longer), Err(Error::PreparedLength { len: 3_001, .. })));
    for axis in [Axis::of(&[rows, row], 0).unwrap(), Axis::of(&[rows, row], 1).unwrap()] {
        let along = scan.along(axis);
        let (found, totals) = along.clone().with_totals().run((&gates, &tokens)).unwrap();
        let (expected, expected_totals) = along.clone().with_totals().run(&input).unwrap();
        assert_eq!(found, expected);
        assert!(totals.iter().map(|map| (map.a, map.b)).eq(expected_totals.iter().map(|map| (map.a, map.b))));
        let handle = along.prepare(input.len()).unwrap();
        assert_eq!(handle.run((&gates, &tokens)).unwrap(), expected);
        let short = along.prepare(input.len() - 1).unwrap();
        assert!(matches!(short.run((&gates, &tokens)), Err(Error::PreparedLength { max_len: 2_999, .. })));
    }
    // One array of elements, and several of results; results of one array only.
    let readings = Summarize::inputs(100, 3);
    let (mut hashes, mut factors, scan) = (vec![0; 100], vec![0; 100], Scanner::cpu().scan(Summarize));
    scan.run_into(&readings, (&mut hashes, &mut factors)).unwrap();
    let apart = hashes.into_iter().zip(factors).map(|(hash, factor)| Summary { hash, factor });
    assert!(apart.eq(scan.run(&readings).unwrap()));
}

#[test]
fn the_total_equals_a_plain_loop() {
    let input = Recurrence::inputs(10_000, 3);
    let gates: Vec<u32> = input.iter().map(|step| step.gate).collect();
    let tokens: Vec<u32> = input.iter().map(|step| step.token).collect();
    let mut states = vec![0; input.len()];
    let scan = Scanner::cpu().scan(Recurrence);
    let total = scan.with_total().run_into((&gates, &tokens), &mut states).unwrap();
    assert_eq!(states, reference::scan(&Recurrence, ScanKind::Inclusive, None, &input));
    assert_eq!(total.map(|map| map.b), states.last().copied());
    assert_eq!(scan.with_total().run_into((&[], &[]), &mut []).unwrap(), None);
}

#[test]
fn arrays_of_other_lengths_are_refused() {
    let scan = Scanner::cpu().scan(Summarize);
    let run = |kinds: usize, codes: usize, hashes: usize, factors: usize| {
        let (kinds, values, codes) = (vec![0; kinds], [0.0; 3], vec![[0; 3]; codes]);
        scan.run_into((&kinds, &values, &codes), (&mut vec![0; hashes], &mut vec![0; factors]))
    };
    assert!(run(3, 3, 3, 3).is_ok());
    let error = run(3, 4, 3, 3).unwrap_err();
    assert!(matches!(error, Error::ArrayLength { what: "input", array: 2, len: 4, first: 3 }), "{error}");
    let error = run(3, 3, 3, 2).unwrap_err();
    assert!(matches!(error, Error::ArrayLength { what: "output", array: 1, len: 2, first: 3 }), "{error}");
    let error = run(3, 3, 4, 4).unwrap_err();
    assert!(matches!(error, Error::Length { what: "output", expected: 3, found: 4, .. }), "{error}");
}

#[test]
fn another_number_of_flags_bits_or_keys_is_refused() {
    let (scan, input, mut output) = (Scanner::cpu().scan(scan_runtime::ops::sum::<u32>()), [1; 4], [0; 4]);
    let errors = [
        scan.by_flags(&[true; 3]).run_into(&input, &mut output),
        scan.by_bits(&[0; 2]).run_into(&input, &mut output),
        scan.by_bits(&[0_u8; 0]).run_into(&input, &mut output),
        scan.by_bits_at(&[0_u8; 9], 69).run_into(&input, &mut output),
        scan.by_keys(&[7_u8; 5]).run_into(&input, &mut output),
    ];
    for error in errors.map(Result::unwrap_err) {
        assert!(matches!(error, Error::Length { .. }), "{error}");
    }
}

/// What has no fields lies in one array, whose kernels are the usual ones.
#[test]
fn the_plan_shows_which_arrays_there_are() {
    let plans = Scanner::cpu().scan(Recurrence).per_field().plan().unwrap();
    let spec = &plans.longest().spec;
    assert_eq!((spec.input, spec.output), (Arrays::PerField, Arrays::One));
    let scan = Scanner::cpu().scan(scan_runtime::ops::sum::<f32>());
    assert_eq!(scan.clone().per_field().cuda_source().unwrap().text, scan.cuda_source().unwrap().text);
    let source = Scanner::cpu().scan(Recurrence).per_field().cuda_source_for(100).unwrap();
    assert!(source.text.contains("Inputs input"), "{}", source.text);
    let step = Step { gate: 1, token: 2 };
    assert_eq!(Recurrence.lift(step).b, 2);
}
