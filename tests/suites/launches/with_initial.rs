//! Calls with `n + 1` results, with host slices and with device slices: the initial values, and the scan of all others.

use scan_runtime::{
    Axis, LateValue,
    arrays::{discard, scatter},
    ops,
};
use scan_tests::columns::Recurrence;

use crate::kinds::{Kinds, OnStream, Outcome, scanner};

/// Elements of an array of 100 rows of 64.
const LEN: usize = 6_400;
const SHAPE: [usize; 2] = [100, 64];

pub(crate) fn add(kinds: &mut Kinds) {
    host(kinds);
    device(kinds);
    refused(kinds);
}

/// What the recorder's kernels copy: of each column its elements, behind `first` of them.
fn copied(axis: &Axis, input: &[u32], reversed: bool, first: impl Fn(u32) -> u32) -> Vec<u32> {
    let (after, rows) = (axis.shape()[axis.axis() + 1..].iter().product::<usize>(), axis.shape()[axis.axis()]);
    let mut results = Vec::new();
    for array in input.chunks(after * rows) {
        let initial: Vec<u32> = array[..after].iter().map(|element| first(*element)).collect();
        results.extend(if reversed { [array, &initial].concat() } else { [&initial, array].concat() });
    }
    results
}

fn same(found: &[u32], expected: &[u32]) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{found:?}, not {expected:?}").into()) }
}

fn host(kinds: &mut Kinds) {
    kinds.add("host_with_initial", "sums.include_initial(), of all, of rows and along an axis, reversed", |calls| {
        let sums = scanner()?.scan(ops::sum::<u32>()).include_initial().init(7);
        let input: Vec<u32> = (1..=LEN as u32).collect();
        calls.gives(&copied(&Axis::of(&[LEN], 0)?, &input, false, |_| 7), || sums.run(&input))?;
        calls.gives(&copied(&Axis::of(&SHAPE, 1)?, &input, false, |_| 7), || sums.rows(64).run(&input))?;
        let (down, sums) = (Axis::of(&SHAPE, 0)?, sums.clone().reverse());
        calls.gives(&copied(&down, &input, true, |_| 7), || sums.along(down.clone()).run(&input))
    });
}

fn device(kinds: &mut Kinds) {
    kinds.add("device_with_initial", "sums.include_initial().on(&stream).run_into(…), and a handle", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<u32>()).include_initial();
        let input: Vec<u32> = (1..=LEN as u32).collect();
        let (elements, mut output) = (on.slice("input", &input)?, on.slice("output", &vec![0; LEN + 1])?);
        let mut total = on.slice("total", &[0])?;
        let run = sums.on(&on.stream);
        calls.launches(2, || run.run_into(&elements, &mut output))?;
        same(&on.stream.clone_dtoh(&output)?, &copied(&Axis::of(&[LEN], 0)?, &input, false, |first| first))?;
        let handle = sums.on(&on.stream).prepare(LEN)?;
        calls.warm("a handle", 2, || handle.run_into(&elements, &mut output))?;
        calls.warm("a shorter run", 2, || handle.run_into(&elements.slice(..5), &mut output.slice_mut(..6)))?;
        calls.launches(2, || run.clone().total_into(&mut total).run_into(&elements, &mut output))?;
        // Of no elements there is one result.
        on.stream.memset_zeros(&mut output)?;
        let started = sums.clone().init(9);
        started.on(&on.stream).run_into(&elements.slice(..0), &mut output.slice_mut(..1))?;
        let handle = started.on(&on.stream).prepare(LEN)?;
        handle.run_into(&elements.slice(..0), &mut output.slice_mut(1..2))?;
        same(&on.stream.clone_dtoh(&output)?[..3], &[9, 9, 0])
    });
    kinds.add(
        "device_with_initial_rows",
        "rows(64).init_each(&values).totals_into(…), into 65 results each",
        |calls| {
            let on = OnStream::new()?;
            let sums = on.scanner.scan(ops::sum::<u32>()).include_initial();
            let input: Vec<u32> = (1..=LEN as u32).collect();
            let (elements, mut output) = (on.slice("input", &input)?, on.slice("output", &vec![0; LEN + 100])?);
            let (values, mut totals) = (on.slice("values", &[3_u32; 100])?, on.slice("totals", &[0_u32; 100])?);
            let rows = sums.on(&on.stream).rows(64).init_each(&values);
            calls.launches(2, || rows.clone().totals_into(&mut totals).run_into(&elements, &mut output))?;
            same(&on.stream.clone_dtoh(&output)?, &copied(&Axis::of(&SHAPE, 1)?, &input, false, |first| first))
        },
    );
    kinds.add(
        "device_with_initial_axis",
        "along([100, 64], 0), reversed, which allocates; several arrays; a handle",
        |calls| {
            let on = OnStream::new()?;
            let input: Vec<u32> = (1..=LEN as u32).collect();
            let (elements, down) = (on.slice("input", &input)?, Axis::of(&SHAPE, 0)?);
            let sums = on.scanner.scan(ops::sum::<u32>()).include_initial().reverse();
            let run = sums.on(&on.stream).along(down.clone());
            let output = run.run(&elements)?;
            same(&on.stream.clone_dtoh(&output)?, &copied(&down, &input, true, |first| first))?;
            let layer = on.scanner.scan(Recurrence).include_initial();
            let (run, mut states) = (layer.on(&on.stream).along(down), on.slice("states", &vec![0_u32; LEN + 64])?);
            calls.launches(2, || run.run_into((&elements, &elements), &mut states))?;
            let handle = run.prepare_like((&elements, &elements), &mut states, LEN)?;
            calls.warm("a handle", 2, || handle.run_into((&elements, &elements), &mut states))?;
            // Columns without elements.
            let (none, maps) = (elements.slice(..0), crate::host::maps(3));
            let values = on.slice("values", &maps)?;
            let run = layer.on(&on.stream).along(Axis::of(&[3, 0], 1)?).init_each(&values);
            run.run_into((&none, &none), &mut states.slice_mut(..3))?;
            Ok(())
        },
    );
}

fn refused(kinds: &mut Kinds) {
    kinds.refused("refused_with_initial", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<u32>()).include_initial();
        let (mut input, mut output) = (on.slice("input", &[1_u32; 6])?, on.slice("output", &[0_u32; 9])?);
        let run = sums.on(&on.stream);
        calls.refuse("as many results as elements", || run.run_into(&input, &mut output.slice_mut(..6)))?;
        calls.refuse("one result more of rows", || run.clone().rows(3).run_into(&input, &mut output.slice_mut(..7)))?;
        calls.refuse("in place", || run.run_in_place(&mut input))?;
        let keys = on.slice("keys", &[1_u32; 6])?;
        calls.refuse("keys", || run.clone().by_keys(&keys).run(&input))?;
        calls.refuse("scattered", || run.run_into(&input, scatter(&mut output, &keys)))?;
        let (len, value) = (on.slice("len", &[3_u64])?, on.slice("value", &[3_u32])?);
        calls.refuse("a length", || run.clone().len_from(&len).run_into(&input, &mut output.slice_mut(..7)))?;
        calls.refuse("a handle of rows", || run.clone().rows(3).prepare(6))?;
        let mut seven = output.slice_mut(..7);
        let each = run.clone().init_each(&value);
        calls.refuse("values without rows", || each.run_into(&input, &mut seven))?;
        let mut totals = keys.clone();
        let each = run.clone().totals_into(&mut totals);
        calls.refuse("totals without rows", || each.run_into(&input, &mut seven))?;
        let late = LateValue::new(&on.stream)?;
        calls.refuse("a late value", || run.clone().init_late(&late).run_into(&input, &mut seven))?;
        let nothing = input.slice(..0);
        calls.refuse("no elements, and a value in device memory", || {
            run.clone().init_from(&value).run_into(&nothing, &mut seven.slice_mut(..1))
        })?;
        let layer = on.scanner.scan(ops::first::<u32>()).include_initial();
        calls.refuse("no identity", || layer.on(&on.stream).run_into(&input, discard()))
    });
}
