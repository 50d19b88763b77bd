//! Kinds of arrays and of results: what is gathered, scattered, an index, or not written; the exclusive result beside
//! the inclusive one, one result more than there are elements, and lengths that only the device knows.

use scan_codegen::ScanSpec;
use scan_runtime::{
    Axis, Error, ScanOp, Scanner, Staging,
    arrays::{bits as bits_from, discard, gather, indices, next, previous, scatter, scatter_by_output, strided},
    cudarc::driver::CudaSlice,
    ops, scan_fn,
};
use scan_tests::{
    columns::{ColumnsOperator, Recurrence, Router, Step, Summarize},
    lifting::{INITIAL_VALUE, Lifting, Wide, inputs},
    operators::{AffineU32, MapU32, bits, mixed},
    reference,
    run_lengths::{Open, RunLengths},
    several::{Post, Reading, Splitter, Tokenizer, digits, digits_of, text, tokens_of},
    spans::Spans,
};

use crate::{Outcome, Trials, ensure};

/// Lengths of every range.
const LENGTHS: [usize; 6] = [1, 33, 4_097, 100_003, 1_500_007, 20_000_003];

pub(crate) fn add(trials: &mut Trials) {
    trials.add("exclusive_and_inclusive_results", both);
    trials.add("offsets_from_counts", offsets);
    trials.add("kinds_of_arrays", arrays);
    trials.add("kinds_of_signed_places", signed);
    trials.add("kinds_of_neighbours", neighbours);
    trials.add("kinds_of_bits", validity);
    trials.add("kinds_of_strided_arrays", own_strides);
    trials.add("kinds_of_host_arrays_without_memory", host_arrays);
    trials.add("kinds_of_computed_places", computed);
    trials.add("kinds_of_filters", filters);
    trials.add("kinds_of_several_places", several);
    trials.add("every_combination_of_kinds_equals_the_reference", || {
        scan_tests::matrix::check(&Scanner::cuda(0)?, &[1, 4_099, 40_003, 300_007])
    });
    trials.add("lengths_in_device_memory", lengths);
}

/// Both results in one launch: in host memory in one array, in device memory in two.
fn both() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (turn, len) in LENGTHS.into_iter().enumerate() {
        let input = inputs(len);
        let factors = stream.clone_htod(&input.iter().map(|x| x.a).collect::<Vec<_>>())?;
        let summands = stream.clone_htod(&input.iter().map(|x| x.b).collect::<Vec<_>>())?;
        let (reversed, initial_value) = (turn % 2 == 1, (turn % 3 == 0).then_some(INITIAL_VALUE));
        let spec = |spec: ScanSpec| if reversed { spec.reverse() } else { spec };
        let scan = scanner.scan(ops::with_exclusive(Lifting));
        let scan = if reversed { scan.reverse() } else { scan };
        let scan = initial_value.iter().fold(scan, |scan, value| scan.init(*value));
        let [exclusive, inclusive] = [ScanSpec::exclusive(), ScanSpec::inclusive()]
            .map(|kind| reference::scan_as(&Lifting, &spec(kind), initial_value, &input, None));
        let right = |found: (Vec<Wide>, Vec<Wide>), memory: &str| {
            let same = bits(&found.0) == bits(&exclusive) && bits(&found.1) == bits(&inclusive);
            ensure(same, || format!("{memory}, {len} elements, reversed: {reversed}"))
        };
        right(scan.run(&input)?.iter().map(|result| (result.exclusive, result.inclusive)).unzip(), "host memory")?;
        let (mut before, mut after) = (stream.clone_htod(&inclusive)?, stream.clone_htod(&exclusive)?);
        scan.on(&stream).run_into((&factors, &summands), (&mut before, &mut after))?;
        right((stream.clone_dtoh(&before)?, stream.clone_dtoh(&after)?), "device memory")?;
    }
    Ok(())
}

/// The results of an exclusive scan and the total side by side in one array, by a call and by a handle, from either end.
fn offsets() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for len in LENGTHS {
        let counts: Vec<u32> = (0..len as u64).map(|i| mixed(i) as u32 % 5).collect();
        let device_counts = stream.clone_htod(&counts)?;
        let mut expected = vec![0_u32; len + 1];
        counts.iter().enumerate().for_each(|(index, count)| expected[index + 1] = expected[index] + count);
        let sums = scanner.scan(ops::sum()).exclusive();
        let handle = sums.on(&stream).with_total().prepare(len)?;
        for prepared in [false, true] {
            let mut offsets = stream.clone_htod(&vec![u32::MAX; len + 1])?;
            let (mut begins, mut end) = offsets.split_at_mut(len);
            match prepared {
                true => handle.total_into(&mut end).run_into(&device_counts, &mut begins)?,
                false => sums.on(&stream).total_into(&mut end).run_into(&device_counts, &mut begins)?,
            }
            ensure(stream.clone_dtoh(&offsets)? == expected, || format!("{len} counts, prepared: {prepared}"))?;
        }
        let mut rests = stream.clone_htod(&vec![u32::MAX; len + 1])?;
        let (mut all, mut behind) = rests.split_at_mut(1);
        sums.clone().reverse().on(&stream).total_into(&mut all).run_into(&device_counts, &mut behind)?;
        let expected: Vec<u32> = expected.iter().map(|offset| expected[len] - offset).collect();
        ensure(stream.clone_dtoh(&rests)? == expected, || format!("{len} counts from the end"))?;
    }
    Ok(())
}

/// Operators over three arrays to two, with arrays that are no slices: gathered, scattered, the index, and not written;
/// by a call and by a handle.
fn arrays() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (turn, len) in LENGTHS.into_iter().enumerate() {
        let input = Summarize::inputs(len, 3);
        let (at, to) = (places(len, len + 3), places(len, len + 7));
        let mut values = vec![-1.0_f32; len + 3];
        at.iter().zip(&input).for_each(|(&place, reading)| values[place as usize] = reading.value);
        let kinds = stream.clone_htod(&input.iter().map(|x| x.kind).collect::<Vec<_>>())?;
        let codes = stream.clone_htod(&input.iter().map(|x| x.code).collect::<Vec<_>>())?;
        let (values, narrow) =
            (stream.clone_htod(&values)?, stream.clone_htod(&at.iter().map(|&x| x as u32).collect::<Vec<_>>())?);
        // One result has no place.
        let mut wide = to.clone();
        wide[len / 2] = u64::MAX;
        let wide_places = stream.clone_htod(&wide)?;
        let begins: Vec<bool> = (0..len).map(|i| i == 0 || i % 3_001 == 5).collect();
        let flags = stream.clone_htod(&begins)?;
        let (reversed, restarts) = (turn % 2 == 1, turn % 3 == 1);
        let spec = if reversed { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
        let scan = if reversed { scanner.scan(Summarize).reverse() } else { scanner.scan(Summarize) };
        let expected = reference::scan_as(&Summarize, &spec, None, &input, restarts.then_some(&begins[..]));
        let mut wanted = vec![9_u32; len + 7];
        let kept = wide.iter().zip(&expected).filter(|(place, _)| **place < len as u64 + 7);
        kept.for_each(|(&place, summary)| wanted[place as usize] = summary.hash);
        for prepared in [false, true] {
            let what = |what: &str| format!("{what}, {len} elements, prepared: {prepared}");
            let mut hashes = stream.clone_htod(&vec![9_u32; len + 7])?;
            let mut factors = stream.clone_htod(&vec![9_u8; len])?;
            let on_stream = || if restarts { scan.on(&stream).by_flags(&flags) } else { scan.on(&stream) };
            let inputs = || (&kinds, gather(&values, &narrow), &codes);
            if prepared {
                let handle =
                    on_stream().prepare_like(inputs(), (scatter(&mut hashes, &wide_places), &mut factors), len)?;
                let outputs = (scatter(&mut hashes, &wide_places), &mut factors);
                if restarts {
                    handle.by_flags(&flags).run_into(inputs(), outputs)?;
                } else {
                    handle.run_into(inputs(), outputs)?;
                }
            } else {
                let outputs = (scatter(&mut hashes, &wide_places), &mut factors);
                on_stream().run_into(inputs(), outputs)?;
            }
            ensure(stream.clone_dtoh(&hashes)? == wanted, || what("scattered"))?;
            let factors_wanted: Vec<u8> = expected.iter().map(|summary| summary.factor).collect();
            ensure(stream.clone_dtoh(&factors)? == factors_wanted, || what("a slice beside"))?;
            on_stream().run_into(inputs(), (discard(), &mut factors))?;
            ensure(stream.clone_dtoh(&factors)? == factors_wanted, || what("a slice beside nothing"))?;
        }
        let gates = vec![5_u32; len];
        let input: Vec<Step> = (0..len as u32).map(|token| Step { gate: 5, token }).collect();
        let expected = reference::scan_as(&Recurrence, &spec, None, &input, None);
        let scan = if reversed { scanner.scan(Recurrence).reverse() } else { scanner.scan(Recurrence) };
        let (gates, mut states) = (stream.clone_htod(&gates)?, stream.alloc_zeros::<u32>(len)?);
        scan.on(&stream).run_into((&gates, indices()), &mut states)?;
        ensure(stream.clone_dtoh(&states)? == expected, || format!("indices, {len} elements"))?;
    }
    let (none, some) = (stream.clone_htod(&[1_u32])?, stream.clone_htod(&[0_u32; 3])?);
    let mut states = stream.alloc_zeros::<u32>(3)?;
    let nothing = none.slice(..0);
    let columns = scanner.scan(Recurrence);
    let found = columns.on(&stream).run_into((&some, gather(&nothing, &some)), &mut states);
    ensure(matches!(found, Err(Error::NothingToGather { array: 1 })), || "gathered from nothing".to_owned())?;
    let handle = columns.on(&stream).prepare_like((&some, &some), &mut states, 3)?;
    let found = handle.run_into((&some, indices()), &mut states);
    ensure(matches!(found, Err(Error::HandleMismatch { .. })), || "a handle for slices took indices".to_owned())
}

/// Signed places and offsets. A negative place of a gathered item is the last one; a result at a negative place is not
/// written.
fn signed() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for len in LENGTHS {
        let (narrow, wide) = (|index: usize| index as i32, |index: usize| index as i64);
        let mut at: Vec<i32> = (0..len).rev().map(narrow).collect();
        let mut to: Vec<i64> = (0..len).map(|index| wide((index + 1) % len)).collect();
        let gates: Vec<u32> = (0..len as u64).map(|index| mixed(index) as u32).collect();
        (at[len / 2], at[len / 3]) = (-1, i32::MIN);
        (to[len / 2], to[len / 3]) = (-1, i64::MIN);
        let gate = |place: &i32| usize::try_from(*place).map_or(gates[len - 1], |place| gates[place]);
        let input: Vec<Step> = at.iter().map(|place| Step { gate: gate(place), token: 7 }).collect();
        let results = reference::scan_as(&Recurrence, &ScanSpec::inclusive(), None, &input, None);
        let mut wanted = vec![9_u32; len];
        let placed = to.iter().zip(&results).filter(|(place, _)| **place >= 0);
        placed.for_each(|(place, result)| wanted[*place as usize] = *result);
        let (gates, tokens) = (stream.clone_htod(&gates)?, stream.clone_htod(&vec![7_u32; len])?);
        let (at, to, mut states) =
            (stream.clone_htod(&at)?, stream.clone_htod(&to)?, stream.clone_htod(&vec![9; len])?);
        let scan = scanner.scan(Recurrence);
        scan.on(&stream).run_into((gather(&gates, &at), &tokens), scatter(&mut states, &to))?;
        ensure(stream.clone_dtoh(&states)? == wanted, || format!("gathered and scattered, {len} elements"))?;

        let posted = Post::inputs(len, 3);
        let (places, numbers): (Vec<i32>, Vec<u32>) = posted.iter().map(|posted| (posted.place, posted.sum)).unzip();
        let mut wanted = vec![9_u32; len];
        for posted in reference::scan_as(&Post, &ScanSpec::inclusive(), None, &posted, None) {
            if let Some(result) = usize::try_from(posted.place).ok().and_then(|place| wanted.get_mut(place)) {
                *result = posted.sum;
            }
        }
        let (places, numbers) = (stream.clone_htod(&places)?, stream.clone_htod(&numbers)?);
        let mut sums = stream.clone_htod(&vec![9_u32; len])?;
        scanner.scan(Post).on(&stream).run_into((&places, &numbers), scatter_by_output((&mut sums,)))?;
        ensure(stream.clone_dtoh(&sums)? == wanted, || format!("placed by the operator, {len} elements"))?;

        // Runs that end, forwards and backwards: their number is in the total.
        let runs: Vec<u32> = (0..len as u64).map(|i| (mixed(i / 7) % 3) as u32).collect();
        let device = stream.clone_htod(&runs)?;
        for backwards in [false, true] {
            let mut ordered = runs.clone();
            if backwards {
                ordered.reverse();
            }
            let wanted: Vec<_> = ordered.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect();
            let (mut values, mut lengths) = (stream.alloc_zeros::<u32>(len)?, stream.alloc_zeros::<u32>(len)?);
            let scan = scanner.scan(RunLengths);
            let scan = if backwards { scan.reverse() } else { scan };
            let mut open = stream.clone_htod(&[Open::default()])?;
            let outputs = scatter_by_output((&mut values, &mut lengths)).consecutive();
            scan.on(&stream).total_into(&mut open).run_into(&device, outputs)?;
            let open = stream.clone_dtoh(&open)?[0];
            let found = stream.clone_dtoh(&values)?.into_iter().zip(stream.clone_dtoh(&lengths)?);
            let found: Vec<_> = found.take(open.ended as usize).chain([(open.value, open.length)]).collect();
            ensure(found == wanted, || format!("runs of {len} elements, backwards: {backwards}"))?;
        }

        let offsets = [0, len / 3, len / 2, len];
        let (ones, mut found) = (stream.clone_htod(&vec![1_u32; len])?, stream.alloc_zeros::<u32>(len)?);
        let segment = |index: usize| offsets.iter().rev().find(|offset| **offset <= index).copied().unwrap_or(0);
        let wanted: Vec<u32> = (0..len).map(|index| (index - segment(index) + 1) as u32).collect();
        let (narrow, wide) = (stream.clone_htod(&offsets.map(narrow))?, stream.clone_htod(&offsets.map(wide))?);
        let sums = scanner.scan(ops::sum::<u32>());
        sums.on(&stream).by_offsets(&narrow).run_into(&ones, &mut found)?;
        ensure(stream.clone_dtoh(&found)? == wanted, || format!("offsets of 32 bits, {len} elements"))?;
        sums.on(&stream).by_offsets(&wide).run_into(&ones, &mut found)?;
        ensure(stream.clone_dtoh(&found)? == wanted, || format!("offsets of 64 bits, {len} elements"))?;
    }
    Ok(())
}

/// The items before and after each one of device memory, as the CPU gives them of host memory: of the whole, by a call
/// and by a handle; of rows; along an axis that is not contiguous.
fn neighbours() -> Outcome {
    let (scanner, cpu) = (Scanner::cuda(0)?, Scanner::cpu());
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (turn, (rows, row)) in
        [(1, 1), (1, 4_099), (300, 1_001), (40_003, 3), (3, 500_009), (2_000, 1)].into_iter().enumerate()
    {
        let len = rows * row;
        let (x, y): (Vec<u32>, Vec<u32>) = (0..len as u64).map(|i| (mixed(i) as u32, mixed(!i) as u32)).unzip();
        let (device_x, device_y) = (stream.clone_htod(&x)?, stream.clone_htod(&y)?);
        let (host, device) = (|| (previous(&x, 7), next(&y, 9)), || (previous(&device_x, 7), next(&device_y, 9)));
        let scan = |scanner: &Scanner| match turn % 2 {
            0 => scanner.scan(Recurrence),
            _ => scanner.scan(Recurrence).reverse(),
        };
        let (mut wanted, mut found) = (vec![0; len], stream.alloc_zeros::<u32>(len)?);
        scan(&cpu).run_into(host(), &mut wanted)?;
        scan(&scanner).on(&stream).run_into(device(), &mut found)?;
        ensure(stream.clone_dtoh(&found)? == wanted, || format!("{len} elements"))?;
        let ours = scan(&scanner);
        let handle = ours.on(&stream).prepare_like(device(), &mut found, len)?;
        stream.memset_zeros(&mut found)?;
        handle.run_into(device(), &mut found)?;
        ensure(stream.clone_dtoh(&found)? == wanted, || format!("{len} elements, prepared"))?;
        scan(&cpu).rows(row).run_into(host(), &mut wanted)?;
        ours.on(&stream).rows(row).run_into(device(), &mut found)?;
        ensure(stream.clone_dtoh(&found)? == wanted, || format!("{rows} rows of {row}"))?;
        let mut of_host = vec![0; len];
        scan(&scanner).rows(row).run_into(host(), &mut of_host)?;
        ensure(of_host == wanted, || format!("{rows} rows of {row}, in host memory"))?;
        for axis in [Axis::of(&[row, rows], 0)?, Axis::of(&[rows, row], 1)?] {
            scan(&cpu).along(axis.clone()).run_into(host(), &mut wanted)?;
            scan(&scanner).on(&stream).along(axis.clone()).run_into(device(), &mut found)?;
            ensure(stream.clone_dtoh(&found)? == wanted, || format!("{axis:?}"))?;
        }
    }
    Ok(())
}

/// Values and their validity, in host and in device memory, as the CPU scans them: by a call and by a handle, from
/// either end, in rows; and a bitmap that is too short.
fn validity() -> Outcome {
    let (scanner, cpu) = (Scanner::cuda(0)?, Scanner::cpu());
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (turn, len) in LENGTHS.into_iter().enumerate() {
        let values: Vec<u32> = (0..len as u64).map(|i| mixed(i) as u32).collect();
        let first = [0, 3, 8, 77, 12_345, 31][turn];
        let bitmap: Vec<u8> = (0..(first + len).div_ceil(8) as u64).map(|i| (mixed(!i) | mixed(i)) as u8).collect();
        let (device_values, device_bitmap) = (stream.clone_htod(&values)?, stream.clone_htod(&bitmap)?);
        let inputs = || (&values, bits_from(&bitmap, first));
        let on_device = || (&device_values, bits_from(&device_bitmap, first));
        let scan = |scanner: &Scanner| match turn % 2 {
            0 => scanner.scan(ops::skip_nulls(ops::sum())),
            _ => scanner.scan(ops::skip_nulls(ops::sum())).reverse(),
        };
        let ours = scan(&scanner);
        let (wanted, found) = (scan(&cpu).run(inputs())?, ours.run(inputs())?);
        ensure(found == wanted, || format!("{len} elements of host memory"))?;
        let (wanted, wanted_valid): (Vec<u32>, Vec<bool>) = wanted.iter().map(|x| (x.value, x.valid)).unzip();
        let mut found = (stream.alloc_zeros::<u32>(len)?, stream.alloc_zeros::<bool>(len)?);
        ours.on(&stream).run_into(on_device(), (&mut found.0, &mut found.1))?;
        let right = |found: &(CudaSlice<u32>, CudaSlice<bool>), what: &str| {
            let same = stream.clone_dtoh(&found.0)? == wanted && stream.clone_dtoh(&found.1)? == wanted_valid;
            ensure(same, || format!("{len} elements, {what}"))
        };
        right(&found, "by a call")?;
        let handle = ours.on(&stream).prepare_like(on_device(), (&mut found.0, &mut found.1), len)?;
        stream.memset_zeros(&mut found.0)?;
        handle.run_into(on_device(), (&mut found.0, &mut found.1))?;
        right(&found, "by a handle")?;
        let mut poisoned = stream.alloc_zeros::<bool>(len)?;
        let propagating = scanner.scan(ops::propagate_nulls(ops::sum::<u32>()));
        propagating.on(&stream).rows(len).run_into(on_device(), (discard(), &mut poisoned))?;
        let is_valid = |i: usize| bitmap[(first + i) / 8] >> ((first + i) % 8) & 1 == 1;
        let expected: Vec<bool> = (0..len)
            .scan(true, |all, i| {
                *all &= is_valid(i);
                Some(*all)
            })
            .collect();
        ensure(stream.clone_dtoh(&poisoned)? == expected, || format!("{len} elements, in a row"))?;
        let short = (&device_values, bits_from(&device_bitmap, 8 * bitmap.len() - len + 1));
        let error = ours.on(&stream).run_into(short, (&mut found.0, &mut found.1));
        ensure(matches!(error, Err(Error::Length { what: "bitmap", .. })), || format!("{error:?}"))?;
    }
    Ok(())
}

/// Arrays of device memory with strides of their own, as the CPU scans them of host memory.
fn own_strides() -> Outcome {
    let (scanner, cpu) = (Scanner::cuda(0)?, Scanner::cpu());
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let cases: [(&[usize], usize, &[isize]); 13] = [
        (&[500, 300], 0, &[1, 0]),
        (&[8, 1_000, 64], 1, &[1_000, 1, 0]),
        (&[4, 500, 6, 32], 1, &[3_000, 6, 1, 0]),
        (&[4, 500, 6, 32], 1, &[0, 1, 500, 3_000]),
        (&[300, 4_000], 1, &[0, 1]),
        (&[3, 100_000], 1, &[1, 3]),
        (&[70_000], 0, &[0]),
        (&[500, 300], 0, &[-300, 1]),
        (&[8, 1_000, 64], 1, &[64_000, -64, -1]),
        (&[300, 4_000], 1, &[-1, 0]),
        // Items that all columns of a warp have, in one tile and in many, and rows side by side.
        (&[3, 4_000, 256], 1, &[4_000, -1, 0]),
        (&[2, 500, 6, 128], 1, &[3_000, 6, 1, 0]),
        (&[8, 1_000, 64], 1, &[0, 64, 1]),
    ];
    for (turn, (shape, axis, strides)) in cases.into_iter().enumerate() {
        let axis = Axis::of(shape, axis)?;
        let len = axis.len();
        let gates: Vec<u32> = (0..len as u64).map(|i| mixed(i) as u32).collect();
        let tokens: Vec<u32> = (0..len as u64).map(|i| mixed(!i) as u32).collect();
        let (device_gates, device_tokens) = (stream.clone_htod(&gates)?, stream.clone_htod(&tokens)?);
        let scan = |scanner: &Scanner| match turn % 2 {
            0 => scanner.scan(Recurrence),
            _ => scanner.scan(Recurrence).reverse(),
        };
        let (mut wanted, mut of_host, mut found) = (vec![0; len], vec![0; len], stream.alloc_zeros::<u32>(len)?);
        scan(&cpu).along(axis.clone()).run_into((strided(&gates, strides), &tokens), &mut wanted)?;
        scan(&scanner).along(axis.clone()).run_into((strided(&gates, strides), &tokens), &mut of_host)?;
        ensure(of_host == wanted, || format!("{axis:?}, {strides:?}, in host memory"))?;
        let inputs = (strided(&device_gates, strides), &device_tokens);
        scan(&scanner).on(&stream).along(axis.clone()).run_into(inputs, &mut found)?;
        let found = stream.clone_dtoh(&found)?;
        let wrong: Vec<_> = (0..len).filter(|&i| found[i] != wanted[i]).collect();
        ensure(wrong.is_empty(), || {
            let first = wrong[0];
            let (count, values) = (wrong.len(), (found[first], wanted[first]));
            format!("{axis:?}, {strides:?}: {count} of {len} differ, the first at {first}: {values:?}")
        })?;
    }
    let (few, mut states) = (stream.clone_htod(&[1_u32; 12])?, stream.alloc_zeros::<u32>(12)?);
    let recurrence = scanner.scan(Recurrence);
    let along = recurrence.on(&stream).along(Axis::of(&[3, 4], 0)?);
    let found = along.run_into((&few, strided(&few, &[5, 1])), &mut states);
    ensure(matches!(found, Err(Error::StridedLength { array: 1, expected: 14, .. })), || "too few items".to_owned())?;
    let found = scanner.scan(Recurrence).on(&stream).run_into((&few, strided(&few, &[1])), &mut states);
    ensure(matches!(found, Err(Error::Plan(_))), || "strides without an axis".to_owned())
}

/// Indices and discarded results of host memory: neither is copied, in one piece and in chunks, along an axis too.
fn host_arrays() -> Outcome {
    let cpu = Scanner::cpu();
    let in_chunks = Staging::default().with_chunk_bytes(30_000);
    for scanner in [Scanner::cuda(0)?, Scanner::builder().device(0).staging(in_chunks).build()?] {
        for (turn, len) in [1, 33, 4_097, 100_003].into_iter().enumerate() {
            let input = Summarize::inputs(len, 3);
            let kinds: Vec<_> = input.iter().map(|x| x.kind).collect();
            let values: Vec<_> = input.iter().map(|x| x.value).collect();
            let codes: Vec<_> = input.iter().map(|x| x.code).collect();
            let gates = vec![5_u32; len];
            let in_order = |scanner: &Scanner| {
                let scan = scanner.scan(Summarize);
                if turn % 2 == 1 { scan.reverse() } else { scan }
            };
            let recurrence = |scanner: &Scanner| {
                let scan = scanner.scan(Recurrence);
                if turn % 2 == 1 { scan.reverse() } else { scan }
            };
            let mut factors = [vec![9_u8; len], vec![9_u8; len]];
            let mut states = [vec![9_u32; len], vec![9_u32; len]];
            let mut rows = [vec![9_u32; len], vec![9_u32; len]];
            let mut totals = Vec::new();
            let spans = Spans::default();
            for (at, scanner) in [&cpu, &scanner].into_iter().enumerate() {
                let run = || {
                    let outputs = (discard(), &mut factors[at]);
                    in_order(scanner).run_into((&kinds, &values, &codes), outputs)?;
                    recurrence(scanner).run_into((&gates, indices()), &mut states[at])?;
                    let inputs = (indices(), &gates);
                    recurrence(scanner).rows(len).run_into(inputs, &mut rows[at])?;
                    let inputs = (&gates, indices());
                    recurrence(scanner).with_total().run_into(inputs, discard())
                };
                totals.push(tracing::subscriber::with_default(spans.subscriber(tracing::Level::TRACE), run)?);
            }
            let what = |what: &str| format!("{what}, {len} elements");
            ensure(factors[0] == factors[1], || what("a slice beside nothing"))?;
            ensure(states[0] == states[1], || what("indices"))?;
            ensure(rows[0] == rows[1], || what("indices of one row"))?;
            let bytes_of_total = |total: &Option<MapU32>| total.as_ref().map(|total| bits(&[*total]));
            ensure(bytes_of_total(&totals[0]) == bytes_of_total(&totals[1]), || what("the total alone"))?;
            let records = spans.take();
            let moved = |to: &str| -> usize {
                let there = records.iter().filter(|record| record.name == "transfer" && record.fields["to"] == to);
                there.filter_map(|record| record.fields["bytes"].parse::<usize>().ok()).sum()
            };
            // Chunks are copied on two threads, of which this one tells.
            if len < 4_000 {
                let elements = size_of_val(&kinds[..]) + size_of_val(&values[..]) + size_of_val(&codes[..]);
                let (sent, back) = (elements + 3 * 4 * len, len + 2 * 4 * len + size_of::<MapU32>());
                let found = (moved("device"), moved("host"));
                ensure(found == (sent, back), || format!("{len} elements: {found:?} bytes, not {:?}", (sent, back)))?;
            }
        }
        let axis = Axis::of(&[300, 70], 0)?;
        let gates = vec![3_u32; axis.len()];
        let mut states = [vec![9_u32; axis.len()], vec![9_u32; axis.len()]];
        let mut totals = [AffineU32::inputs(70, 1), AffineU32::inputs(70, 1)];
        for (at, scanner) in [&cpu, &scanner].into_iter().enumerate() {
            let down = scanner.scan(Recurrence);
            let down = down.along(axis.clone());
            down.run_into((&gates, indices()), &mut states[at])?;
            down.totals_into(&mut totals[at]).run_into((&gates, indices()), discard())?;
        }
        ensure(states[0] == states[1] && bits(&totals[0]) == bits(&totals[1]), || "along an axis".to_owned())?;
    }
    Ok(())
}

/// Places that the operator computes, some of them nowhere, by a call and by a handle.
fn computed() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (turn, len) in LENGTHS.into_iter().enumerate() {
        let input = Router::inputs(len, 5);
        let (places, steps): (Vec<u32>, Vec<Step>) = input.iter().map(|parcel| (parcel.place, parcel.step)).unzip();
        let (places, steps) = (stream.clone_htod(&places)?, stream.clone_htod(&steps)?);
        let spec = if turn % 2 == 1 { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
        let scan = if turn % 2 == 1 { scanner.scan(Router).reverse() } else { scanner.scan(Router) };
        let (room, less) = (len + 1, len / 2 + 1);
        let (mut wanted, mut wanted_low) = (vec![7_u32; room], vec![7_u8; less]);
        for delivery in reference::scan_as(&Router, &spec, None, &input, None) {
            let place = delivery.place as usize;
            wanted.get_mut(place).into_iter().for_each(|to| *to = delivery.register);
            wanted_low.get_mut(place).into_iter().for_each(|to| *to = delivery.low);
        }
        for prepared in [false, true] {
            let (mut registers, mut low) =
                (stream.clone_htod(&vec![7_u32; room])?, stream.clone_htod(&vec![7_u8; less])?);
            let run = scan.on(&stream);
            if prepared {
                let like = scatter_by_output((&mut registers, &mut low));
                let handle = run.prepare_like((&places, &steps), like, len)?;
                let outputs = scatter_by_output((&mut registers, &mut low));
                handle.run_into((&places, &steps), outputs)?;
            } else {
                run.run_into((&places, &steps), scatter_by_output((&mut registers, &mut low)))?;
            }
            let same = stream.clone_dtoh(&registers)? == wanted && stream.clone_dtoh(&low)? == wanted_low;
            ensure(same, || format!("{spec}, {len} elements, prepared: {prepared}"))?;
        }
    }
    Ok(())
}

/// Several results of an element, or none: at places of the input, by a call and by a handle, from either end; the
/// tokens of a text, and the items of a function, of host memory and of device memory.
fn several() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (turn, len) in LENGTHS.into_iter().enumerate() {
        let input = Splitter::inputs(len, 5);
        let (places, steps): (Vec<u32>, Vec<Step>) = input.iter().map(|parcel| (parcel.place, parcel.step)).unzip();
        let (places, steps) = (stream.clone_htod(&places)?, stream.clone_htod(&steps)?);
        let spec = if turn % 2 == 1 { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
        let scan = if turn % 2 == 1 { scanner.scan(Splitter).reverse() } else { scanner.scan(Splitter) };
        let (mut wanted, mut wanted_halves) = (vec![7_u32; 3 * len + 1], vec![[7_u16; 2]; len]);
        for parts in reference::scan_as(&Splitter, &spec, None, &input, None) {
            for (item, place) in parts.places.into_iter().enumerate() {
                let place = place as usize;
                wanted.get_mut(place).into_iter().for_each(|to| *to = parts.registers[item]);
                wanted_halves.get_mut(place).into_iter().for_each(|to| *to = parts.halves[item]);
            }
        }
        for prepared in [false, true] {
            let (mut registers, mut halves) =
                (stream.clone_htod(&vec![7_u32; 3 * len + 1])?, stream.clone_htod(&vec![[7_u16; 2]; len])?);
            let run = scan.on(&stream);
            if prepared {
                let like = scatter_by_output((&mut registers, &mut halves));
                let handle = run.prepare_like((&places, &steps), like, len)?;
                let outputs = scatter_by_output((&mut registers, &mut halves));
                handle.run_into((&places, &steps), outputs)?;
            } else {
                run.run_into((&places, &steps), scatter_by_output((&mut registers, &mut halves)))?;
            }
            let same = stream.clone_dtoh(&registers)? == wanted && stream.clone_dtoh(&halves)? == wanted_halves;
            ensure(same, || format!("{spec}, {len} elements, prepared: {prepared}"))?;
        }

        let text = text(len);
        let (wanted, wanted_kinds) = tokens_of(&text);
        let (mut numbers, mut kinds) = (vec![0; wanted.len()], vec![0; wanted.len()]);
        let outputs = scatter_by_output((&mut numbers, &mut kinds));
        let read = scanner.scan(Tokenizer).with_total().run_into(&text, outputs)?;
        let same = read.map(|read| read.tokens as usize) == Some(wanted.len()) && numbers == wanted;
        ensure(same && kinds == wanted_kinds, || format!("tokens in host memory, {len}"))?;
        let text = stream.clone_htod(&text)?;
        let (mut numbers, mut kinds) =
            (stream.alloc_zeros::<u32>(wanted.len().max(1))?, stream.alloc_zeros::<u8>(wanted.len().max(1))?);
        let mut read = stream.clone_htod(&[Reading { number: 0, is_open: false, tokens: 0 }])?;
        let outputs = scatter_by_output((&mut numbers, &mut kinds));
        scanner.scan(Tokenizer).on(&stream).total_into(&mut read).run_into(&text, outputs)?;
        let same = stream.clone_dtoh(&numbers)?[..wanted.len()] == wanted;
        let same = same && stream.clone_dtoh(&kinds)?[..wanted.len()] == wanted_kinds;
        ensure(same && stream.clone_dtoh(&read)?[0].tokens as usize == wanted.len(), || format!("tokens, {len}"))?;

        let bytes: Vec<u8> = (0..len as u64).map(|i| mixed(i) as u8).collect();
        let wanted = digits_of(&bytes);
        let bytes = stream.clone_htod(&bytes)?;
        let (mut written, mut count) = (stream.alloc_zeros::<u8>(3 * len)?, stream.alloc_zeros::<u32>(1)?);
        let scan = scanner.scan(ops::map::<digits, _>(ops::flat_map()));
        scan.on(&stream).total_into(&mut count).run_into(&bytes, scatter_by_output((&mut written,)))?;
        let count = stream.clone_dtoh(&count)?[0] as usize;
        let same = count == wanted.len() && stream.clone_dtoh(&written)?.starts_with(&wanted);
        ensure(same, || format!("digits, {len}"))?;
    }
    Ok(())
}

#[scan_fn]
fn odd(x: u64) -> ops::Candidate<u64> {
    ops::Candidate { keep: x % 2 == 1, value: x / 2 }
}

/// What is kept of host memory and of device memory.
fn filters() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let scan = scanner.scan(ops::map::<odd, _>(ops::filter()));
    for len in LENGTHS {
        let input: Vec<u64> = (0..len as u64).map(mixed).collect();
        let wanted: Vec<u64> = input.iter().filter(|x| **x % 2 == 1).map(|x| x / 2).collect();
        let mut kept = vec![0; len];
        let outputs = scatter_by_output((&mut kept,));
        let count = scan.clone().with_total().run_into(&input, outputs)?;
        ensure(count == Some(wanted.len() as u32) && kept.starts_with(&wanted), || format!("host memory, {len}"))?;
        let (device_input, mut kept) = (stream.clone_htod(&input)?, stream.alloc_zeros::<u64>(wanted.len().max(1))?);
        let mut count = stream.alloc_zeros::<u32>(1)?;
        scan.on(&stream).total_into(&mut count).run_into(&device_input, scatter_by_output((&mut kept,)))?;
        let kept = stream.clone_dtoh(&kept)?;
        ensure(stream.clone_dtoh(&count)? == [wanted.len() as u32], || format!("the count of {len}"))?;
        ensure(kept.starts_with(&wanted), || format!("device memory, {len}"))?;
        // Too little room: the rest is not written, and the count tells.
        let room = wanted.len() / 2;
        let mut kept = stream.clone_htod(&vec![7_u64; wanted.len() + 1])?;
        let outputs = &mut kept.slice_mut(..room);
        scan.on(&stream).total_into(&mut count).run_into(&device_input, scatter_by_output((outputs,)))?;
        let kept = stream.clone_dtoh(&kept)?;
        ensure(stream.clone_dtoh(&count)? == [wanted.len() as u32], || format!("the count of {len}, too little room"))?;
        let rest = kept[room..].iter().all(|item| *item == 7);
        ensure(kept[..room] == wanted[..room] && rest, || format!("device memory, {len}, too little room"))?;
        // A count at its end: nothing but the first results has a place.
        let scan = scan.clone().init(u32::MAX - 3);
        let mut kept = stream.clone_htod(&vec![7_u64; len])?;
        scan.on(&stream).total_into(&mut count).run_into(&device_input, scatter_by_output((&mut kept,)))?;
        let expected = (u32::MAX - 3).saturating_add(wanted.len() as u32);
        ensure(stream.clone_dtoh(&count)? == [expected], || format!("the count of {len}, at its end"))?;
        ensure(stream.clone_dtoh(&kept)? == vec![7; len], || format!("device memory, {len}, at its end"))?;
    }
    Ok(())
}

/// `len` of `count` places, each once, in no order.
fn places(len: usize, count: usize) -> Vec<u64> {
    let mut places: Vec<u64> = (0..count as u64).collect();
    (1..count).rev().for_each(|last| places.swap(last, mixed(last as u64) as usize % (last + 1)));
    places.truncate(len);
    places
}

/// Lengths that only the device knows: by a call and by a handle, in place, restarting or not, from either end, by
/// columns, again and again with the same buffers.
fn lengths() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (turn, max) in LENGTHS.into_iter().enumerate() {
        let input: Vec<MapU32> = AffineU32::inputs(max, 3);
        let device_input = stream.clone_htod(&input)?;
        let begins: Vec<bool> = (0..max).map(|i| i == 0 || i % 3_001 == 5).collect();
        let flags = stream.clone_htod(&begins)?;
        let (reversed, restarts) = (turn % 2 == 1, turn % 3 == 1);
        let spec = if reversed { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
        let scan = if reversed { scanner.scan(AffineU32).reverse() } else { scanner.scan(AffineU32) };
        let untouched = MapU32 { a: 9, b: 9 };
        let mut len = stream.clone_htod(&[0_u64])?;
        let handle = if restarts {
            scan.on(&stream).by_flags(&flags).len_from(&len).with_total().prepare(max)?
        } else {
            scan.on(&stream).len_from(&len).with_total().prepare(max)?
        };
        for told in [max / 2 + 1, 0, max, 1, max + 5, max / 3] {
            stream.memcpy_htod(&[told as u64], &mut len)?;
            let part = &input[..told.min(max)];
            let begins = restarts.then_some(&begins[..part.len()]);
            let mut expected = reference::scan_as(&AffineU32, &spec, None, part, begins);
            expected.resize(max, untouched);
            let total = reference::total_as(&AffineU32, &spec, None, part, begins).or_else(|| AffineU32.identity());
            for prepared in [false, true] {
                let mut output = stream.clone_htod(&vec![untouched; max])?;
                let mut found = stream.clone_htod(&[untouched])?;
                let run = match prepared {
                    true => handle.len_from(&len),
                    false => scan.on(&stream).len_from(&len),
                };
                let run = if restarts { run.by_flags(&flags) } else { run };
                run.total_into(&mut found).run_into(&device_input, &mut output)?;
                let what = || format!("{told} of {max} elements, prepared: {prepared}");
                ensure(bits(&stream.clone_dtoh(&output)?) == bits(&expected), what)?;
                ensure(stream.clone_dtoh(&found)?.first().copied() == total, || what() + ": the total")?;
            }
            let (firsts, seconds): (Vec<u32>, Vec<u32>) = input.iter().map(|map| (map.a, map.b)).unzip();
            let (firsts, seconds) = (stream.clone_htod(&firsts)?, stream.clone_htod(&seconds)?);
            let mut outputs = (stream.clone_htod(&vec![9_u32; max])?, stream.clone_htod(&vec![9_u32; max])?);
            let run = scan.on(&stream).len_from(&len);
            let run = if restarts { run.by_flags(&flags) } else { run };
            run.run_into((&firsts, &seconds), (&mut outputs.0, &mut outputs.1))?;
            let found = stream.clone_dtoh(&outputs.0)?.into_iter().zip(stream.clone_dtoh(&outputs.1)?);
            let found: Vec<MapU32> = found.map(|(a, b)| MapU32 { a, b }).collect();
            ensure(found == expected, || format!("{told} of {max} by columns"))?;
            let mut buffer = stream.clone_htod(&input)?;
            let run = scan.on(&stream).len_from(&len);
            let run = if restarts { run.by_flags(&flags) } else { run };
            run.run_in_place(&mut buffer)?;
            expected.truncate(part.len());
            expected.extend(&input[part.len()..]);
            ensure(bits(&stream.clone_dtoh(&buffer)?) == bits(&expected), || format!("{told} of {max} in place"))?;
        }
        let refused = scan.on(&stream).len_from(&len).run(&device_input);
        ensure(matches!(refused, Err(Error::LengthOnDevice)), || "a new output".to_owned())?;
    }
    Ok(())
}
