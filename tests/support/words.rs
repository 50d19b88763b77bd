//! Every word of a call, as a user writes it, over host and over device memory: the results are those of plain loops.

use std::{error::Error, sync::Arc};

use scan_runtime::{
    Axis, Run, Scanner,
    arrays::{self, gather, scatter},
    cudarc::driver::CudaStream,
    ops,
};

use crate::columns::{ColumnsOperator, Recurrence};

type Outcome = Result<(), Box<dyn Error>>;

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, not {expected:?}").into()) }
}

/// Over host memory, on any scanner.
///
/// # Errors
///
/// Those of the calls, and other results than those of plain loops.
pub fn on_host(scanner: &Scanner) -> Outcome {
    let x = [1_u32, 2, 3, 4, 5, 6];
    let sums = scanner.scan(ops::sum::<u32>());
    let mut y = [0; 6];
    same("run", sums.run(&x)?, vec![1, 3, 6, 10, 15, 21])?;
    sums.run_into(&x, &mut y)?;
    same("run_into", y, [1, 3, 6, 10, 15, 21])?;
    let mut buffer = x;
    sums.run_in_place(&mut buffer)?;
    same("run_in_place", buffer, y)?;

    // A scan is never consumed.
    same("by_keys", sums.by_keys(&[7_u64, 7, 8, 8, 8, 7]).run(&x)?, vec![1, 3, 3, 7, 12, 6])?;
    same("by_flags", sums.by_flags(&[false, true, false, false, true, false]).run(&x)?, vec![1, 2, 5, 9, 5, 11])?;
    same("by_bits_at", sums.by_bits_at(&[0xff_u8, 0b1010_0101], 9).run(&x)?, vec![1, 2, 5, 9, 5, 11])?;
    same("by_bits", sums.by_bits(&[0b010010]).run(&x)?, vec![1, 2, 5, 9, 5, 11])?;
    same("by_offsets", sums.by_offsets(&[0_u32, 1, 4]).run(&x)?, vec![1, 2, 5, 9, 5, 11])?;
    same("rows", sums.rows(3).run(&x)?, vec![1, 3, 6, 4, 9, 15])?;
    same("along", sums.along(Axis::of(&[2, 3], 0)?).run(&x)?, vec![1, 2, 3, 5, 7, 9])?;
    let with_initial = sums.clone().include_initial();
    same("include_initial", with_initial.rows(3).run(&x)?, vec![0, 1, 3, 6, 0, 4, 9, 15])?;
    same("with_total", sums.with_total().run(&x)?, (vec![1, 3, 6, 10, 15, 21], Some(21)))?;
    same("with_total into", sums.with_total().run_into(&x, &mut y)?, Some(21))?;
    same("with_total in place", sums.with_total().run_in_place(&mut x.clone())?, Some(21))?;
    let rows = sums.rows(3).init_each(&[100, 200]);
    same("with_totals", rows.clone().with_totals().run(&x)?, (vec![101, 103, 106, 204, 209, 215], vec![106, 215]))?;
    same("with_totals into", rows.clone().with_totals().run_into(&x, &mut y)?, vec![106, 215])?;
    let mut totals = vec![0; 2];
    rows.clone().totals_into(&mut totals).run_into(&x, &mut y)?;
    same("totals_into", (&totals[..], y), (&[106, 215], [101, 103, 106, 204, 209, 215]))?;
    // The last word counts.
    same("with_total last", sums.rows(3).totals_into(&mut totals).with_total().run_into(&x, &mut y)?, Some(15))?;
    let handle = sums.rows(3).totals_into(&mut totals).with_total().prepare(6)?;
    same("its handle", handle.rows(3).with_total().run(&x)?.1, Some(15))?;
    same("along, with totals", sums.along(Axis::of(&[2, 3], 0)?).with_totals().run(&x)?.1, vec![5, 7, 9])?;

    let max = scanner.reduce(ops::max::<u32>());
    same("reduce", max.run(&x)?, 6)?;
    same("reduce what brings nothing", Run::from(&max).run(&x)?, vec![6])?;
    same("reduce a gathered array", max.run(gather(&x, &[0_u32, 3]))?, 4)?;
    same("reduce rows", max.rows(2).run(&x)?, vec![2, 4, 6])?;
    same("reduce by keys", max.by_keys(&[1, 1, 1, 2, 2, 2]).run(gather(&x, &[5_u32, 4, 3, 2, 1, 0]))?, vec![6, 3])?;
    same("reduce along", max.along(Axis::of(&[2, 3], 0)?).run(&x)?, vec![4, 5, 6])?;

    // Each run of a handle brings other keys, values and totals.
    let handle = sums.by_keys(&[0_u64; 0]).with_total().prepare(6)?;
    for (keys, total) in [([7_u64, 7, 8, 8, 8, 7], 6), ([1, 1, 1, 2, 2, 2], 15)] {
        same("a handle by keys", handle.by_keys(&keys).with_total().run(&x)?.1, Some(total))?;
    }
    let handle = sums.rows(3).init_each(&[0; 0]).with_totals().prepare(6)?;
    let mut states = vec![10, 20];
    for _ in 0..2 {
        let mut after = vec![0; 2];
        handle.rows(3).init_each(&states).totals_into(&mut after).run_into(&x, &mut y)?;
        states = after;
    }
    same("a handle of rows", states, vec![22, 50])?;
    let handle = max.rows(2).prepare(6)?;
    same("a handle of a reduction", handle.rows(2).run(&x)?, vec![2, 4, 6])?;
    let handle = max.along(Axis::of(&[2, 3], 0)?).prepare(6)?;
    same("one result along an axis", matches!(handle.run(&x), Err(scan_runtime::Error::HandleMismatch { .. })), true)?;
    same("a handle of a reduction along an axis", handle.along(Axis::of(&[2, 3], 0)?).run(&x)?, vec![4, 5, 6])?;

    // Several arrays: a tuple, of any kinds.
    let steps = Recurrence::inputs(6, 3);
    let (gates, tokens): (Vec<u32>, Vec<u32>) = steps.iter().map(|step| (step.gate, step.token)).unzip();
    let layer = scanner.scan(Recurrence);
    let states = layer.run(&steps)?;
    same("several arrays", layer.run((&gates, &tokens))?, states.clone())?;
    let mut placed = vec![0; 6];
    layer
        .run_into((gather(&gates, &[0_u32, 1, 2, 3, 4, 5]), &tokens), scatter(&mut placed, &[5_u32, 4, 3, 2, 1, 0]))?;
    placed.reverse();
    same("gathered and scattered", placed, states.clone())?;
    let (_, after) = layer.rows(3).with_totals().run((&gates, &tokens))?;
    layer.rows(3).with_totals().run_into((&gates, &tokens), arrays::discard())?;
    same("totals of several arrays", after.len(), 2)?;
    let of_rows = [layer.run(&steps[..3])?, layer.run(&steps[3..])?].concat();
    same("several arrays along an axis", layer.along(Axis::of(&[2, 3], 1)?).run((&gates, &tokens))?, of_rows)?;
    same("a reduction of several arrays", scanner.reduce(Recurrence).run((&gates, &tokens))?, states[5])?;
    let last = [layer.run(&steps[..3])?[2], layer.run(&steps[3..])?[2]];
    let reduce = scanner.reduce(Recurrence);
    same("rows of several arrays", reduce.rows(3).run((&gates, &tokens))?, last.to_vec())?;
    same("the same along an axis", reduce.along(Axis::of(&[2, 3], 1)?).run((&gates, &tokens))?, last.to_vec())
}

/// The same words over device memory, on a stream.
///
/// # Errors
///
/// Those of the calls, and other results than those of plain loops.
pub fn on_device(scanner: &Scanner, stream: &Arc<CudaStream>) -> Outcome {
    let x = stream.clone_htod(&[1_u32, 2, 3, 4, 5, 6])?;
    let mut y = stream.alloc_zeros::<u32>(6)?;
    let sums = scanner.scan(ops::sum::<u32>());
    let on = || sums.on(stream);
    same("run", stream.clone_dtoh(&on().run(&x)?)?, vec![1, 3, 6, 10, 15, 21])?;
    let keys = stream.clone_htod(&[7_u64, 7, 8, 8, 8, 7])?;
    on().by_keys(&keys).run_into(&x, &mut y)?;
    same("by_keys", stream.clone_dtoh(&y)?, vec![1, 3, 3, 7, 12, 6])?;
    let (found, total) = on().with_total().run(&x)?;
    same("with_total", stream.clone_dtoh(&found)?, vec![1, 3, 6, 10, 15, 21])?;
    same("with_total", stream.clone_dtoh(&total.ok_or("no total")?)?, vec![21])?;
    let total = on().with_total().run_into(&x, &mut y)?.ok_or("no total")?;
    same("with_total into", stream.clone_dtoh(&total)?, vec![21])?;
    let mut total = stream.alloc_zeros::<u32>(1)?;
    on().total_into(&mut total).run_into(&x, &mut y)?;
    same("total_into", stream.clone_dtoh(&total)?, vec![21])?;
    let (values, mut totals) = (stream.clone_htod(&[100_u32, 200])?, stream.alloc_zeros::<u32>(2)?);
    let rows = on().rows(3).init_each(&values);
    same("with_totals", stream.clone_dtoh(&rows.clone().with_totals().run(&x)?.1)?, vec![106, 215])?;
    same("with_totals into", stream.clone_dtoh(&rows.clone().with_totals().run_into(&x, &mut y)?)?, vec![106, 215])?;
    rows.totals_into(&mut totals).run_in_place(&mut x.clone())?;
    same("totals_into", stream.clone_dtoh(&totals)?, vec![106, 215])?;
    let axis = Axis::of(&[2, 3], 0)?;
    same("along", stream.clone_dtoh(&on().along(axis.clone()).with_totals().run(&x)?.1)?, vec![5, 7, 9])?;
    let with_initial = sums.clone().include_initial().reverse();
    let found = with_initial.on(stream).rows(3).init_each(&values).run(&x)?;
    same("include_initial", stream.clone_dtoh(&found)?, vec![106, 105, 103, 100, 215, 211, 206, 200])?;
    let none = stream.alloc_zeros::<u32>(1)?;
    same("no total", on().with_total().run(&none.slice(..0))?.1.is_none(), true)?;

    let max = scanner.reduce(ops::max::<u32>());
    same("reduce", stream.clone_dtoh(&max.on(stream).run(&x)?)?, vec![6])?;
    same("reduce rows", stream.clone_dtoh(&max.on(stream).rows(2).run(&x)?)?, vec![2, 4, 6])?;
    let before = stream.clone_htod(&[3_u32, 3, 9])?;
    same(
        "reduce rows, init_each",
        stream.clone_dtoh(&max.on(stream).rows(2).init_each(&before).run(&x)?)?,
        vec![3, 4, 9],
    )?;
    let along = max.on(stream).along(axis.clone());
    same("reduce along", stream.clone_dtoh(&along.run(&x)?)?, vec![4, 5, 6])?;
    same("reduce along, init_each", stream.clone_dtoh(&along.clone().init_each(&before).run(&x)?)?, vec![4, 5, 9])?;
    let handle = along.prepare(6)?;
    handle.run_into(&x, &mut y.slice_mut(..3))?;
    same("a handle of a reduction along an axis", stream.clone_dtoh(&y.slice(..3))?, vec![4, 5, 6])?;
    let of_rows = max.on(stream).along(Axis::of(&[2, 3], 1)?);
    same("reduce along the last axis", stream.clone_dtoh(&of_rows.run(&x)?)?, vec![3, 6])?;
    let transposed = max.on(stream).along(Axis::of(&[3, 2], 1)?.input_strides(&[1, 3])?);
    same("reduce along, transposed", stream.clone_dtoh(&transposed.run(&x)?)?, vec![4, 5, 6])?;
    let one = max.on(stream).along(Axis::of(&[6, 1], 0)?);
    same("reduce one column", stream.clone_dtoh(&one.run(&x)?)?, vec![6])?;
    same("two values for one column", one.init_each(&values).run(&x).is_err(), true)?;
    let no_rows = max.on(stream).along(Axis::of(&[0, 3], 0)?);
    same("reduce no elements", stream.clone_dtoh(&no_rows.run(&none.slice(..0))?)?, vec![0; 3])?;
    let mut count = stream.alloc_zeros::<u64>(1)?;
    max.on(stream).by_keys(&keys).count_into(&mut count).run_into(&x, &mut y)?;
    same("reduce by keys", stream.clone_dtoh(&y.slice(..3))?, vec![2, 5, 6])?;
    same("count_into", stream.clone_dtoh(&count)?, vec![3])?;

    let handle = on().by_keys(&keys).with_total().prepare(6)?;
    for (keys, sum) in [([7_u64, 7, 8, 8, 8, 7], 6), ([1, 1, 1, 2, 2, 2], 15)] {
        let keys = stream.clone_htod(&keys)?;
        handle.by_keys(&keys).total_into(&mut total).run_into(&x, &mut y)?;
        same("a handle by keys", stream.clone_dtoh(&total)?, vec![sum])?;
        let total = handle.by_keys(&keys).with_total().run_into(&x, &mut y)?.ok_or("no total")?;
        same("a handle by keys, with_total", stream.clone_dtoh(&total)?, vec![sum])?;
    }
    same(
        "a handle of nothing",
        handle.by_keys(&keys.slice(..0)).with_total().run(&none.slice(..0))?.1.is_none(),
        true,
    )?;
    let handle = on().along(axis).init_each(&values).with_totals().prepare(6);
    same("values for two of three columns", handle.is_ok(), true)?;

    let steps = Recurrence::inputs(6, 3);
    let states = Scanner::cpu().scan(Recurrence).run(&steps)?;
    let (gates, tokens): (Vec<u32>, Vec<u32>) = steps.iter().map(|step| (step.gate, step.token)).unzip();
    let (gates, tokens) = (stream.clone_htod(&gates)?, stream.clone_htod(&tokens)?);
    let order = stream.clone_htod(&[0_u32, 1, 2, 3, 4, 5])?;
    let found = scanner.scan(Recurrence).on(stream).run((gather(&gates, &order), &tokens))?;
    same("several arrays", stream.clone_dtoh(&found)?, states.clone())?;
    let reduce = scanner.reduce(Recurrence);
    let last = reduce.on(stream).run((&gates, &tokens))?;
    same("a reduction of several arrays", stream.clone_dtoh(&last)?, vec![states[5]])?;
    let mut last = stream.alloc_zeros::<u32>(1)?;
    let handle = reduce.on(stream).prepare_like((&gates, &tokens), &mut last, 9)?;
    handle.run_into((&gates, &tokens), &mut last)?;
    same("a handle of several arrays", stream.clone_dtoh(&last)?, vec![states[5]])?;
    let columns = reduce.on(stream).along(Axis::of(&[2, 3], 0)?).run((&gates, &tokens))?;
    let of_columns = Scanner::cpu().reduce(Recurrence).along(Axis::of(&[2, 3], 0)?).run(&steps)?;
    same("several arrays along an axis", stream.clone_dtoh(&columns)?, of_columns.clone())?;
    let strides = arrays::strided(&gates, &[3, 1]);
    let columns = reduce.on(stream).along(Axis::of(&[2, 3], 0)?).run((strides, &tokens))?;
    same("an array with strides of its own", stream.clone_dtoh(&columns)?, of_columns)?;
    let last = reduce.on(stream).rows(3).run((&gates, gather(&tokens, &order)))?;
    let steps = [&steps[..3], &steps[3..]].map(|row| Scanner::cpu().reduce(Recurrence).run(row));
    let rows = steps.into_iter().collect::<Result<Vec<_>, _>>()?;
    same("a reduction of rows of several arrays", stream.clone_dtoh(&last)?, rows)
}
