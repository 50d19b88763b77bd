//! Calls by columns: each field of an element in an array of its own.

use scan_runtime::{
    Axis,
    arrays::{bits, discard, gather, indices, next, previous, scatter, scatter_by_output},
    ops,
};
use scan_tests::columns::{ColumnsOperator, Recurrence, Router, Step, Summarize};

use crate::{
    host::maps,
    kinds::{FEW, Kinds, MANY, OnStream, flags, lasts, offsets, scanner, zeros},
};

pub(crate) fn add(kinds: &mut Kinds) {
    host(kinds);
    host_places(kinds);
    device(kinds);
    device_places(kinds);
}

fn tokens(len: usize) -> Vec<u32> {
    (0..len as u32).collect()
}

/// A third of the elements' places, each three times.
fn places(len: usize) -> Vec<u32> {
    (0..len as u32).map(|index| index / 3).collect()
}

/// The arrays of three fields.
type Readings = (Vec<u8>, Vec<f32>, Vec<[u16; 3]>);

fn readings(len: usize) -> Readings {
    let input = Summarize::inputs(len, 3);
    let kinds = input.iter().map(|reading| reading.kind).collect();
    let values = input.iter().map(|reading| reading.value).collect();
    (kinds, values, input.iter().map(|reading| reading.code).collect())
}

/// The arrays of places, and of what goes there.
fn parcels(len: usize) -> (Vec<u32>, Vec<Step>) {
    let places = |index: usize| (index * 7 % len) as u32;
    (0..len).map(|index| (places(index), Step { gate: 3, token: index as u32 })).unzip()
}

fn host(kinds: &mut Kinds) {
    kinds.add("host_columns", "a recurrence, (&gates, &tokens) to &mut states", |calls| {
        let scan = scanner()?.scan(Recurrence);
        let (gates, tokens, mut states) = (vec![3; FEW], tokens(FEW), vec![0; FEW]);
        calls.gives(&tokens, || {
            zeros(&mut states);
            scan.run_into((&gates, &tokens), &mut states).map(|()| states.clone())
        })
    });
    kinds.add("host_columns_many", "a recurrence, (&gates, &tokens) to &mut states, 1,000,000 elements", |calls| {
        let scan = scanner()?.scan(Recurrence);
        let (gates, tokens, mut states) = (vec![3; MANY], tokens(MANY), vec![0; MANY]);
        calls.gives(&tokens, || {
            zeros(&mut states);
            scan.run_into((&gates, &tokens), &mut states).map(|()| states.clone())
        })
    });
    kinds.add("host_columns_of_sizes", "three arrays of 1, 4 and 6 bytes to two of 4 and 1, with the total", |calls| {
        let scan = scanner()?.scan(Summarize).reverse();
        let (readings, mut hashes, mut factors) = (readings(FEW), vec![0; FEW], vec![0; FEW]);
        let inputs = || (&readings.0, &readings.1, &readings.2);
        calls.twice(|| scan.with_total().run_into(inputs(), (&mut hashes, &mut factors)))
    });
    kinds.add("host_columns_by_flags", "a recurrence by_flags(&flags)", |calls| {
        let flags = flags(FEW, 70);
        let scan = scanner()?.scan(Recurrence);
        let scan = scan.by_flags(&flags);
        let (gates, tokens, mut states) = (vec![3; FEW], tokens(FEW), vec![0; FEW]);
        calls.gives(&tokens, || {
            zeros(&mut states);
            scan.run_into((&gates, &tokens), &mut states).map(|()| states.clone())
        })
    });
    kinds.add("host_columns_reduce", "a reduction of a recurrence, run((&gates, &tokens))", |calls| {
        let reduce = scanner()?.reduce(Recurrence);
        let (gates, tokens) = (vec![3; FEW], tokens(FEW));
        calls.twice(|| reduce.run((&gates, &tokens)))
    });
    kinds.add("host_columns_reduce_indices", "the same, run((&gates, indices())), 1,000,000 elements", |calls| {
        let reduce = scanner()?.reduce(Recurrence);
        let gates = vec![3; MANY];
        calls.twice(|| reduce.run((&gates, indices())))
    });
    kinds.add("host_columns_reduce_rows", "the same, rows(100).run((&gates, &tokens))", |calls| {
        let reduce = scanner()?.reduce(Recurrence);
        let (gates, tokens) = (vec![3; FEW], tokens(FEW));
        calls.gives(&lasts(&tokens, 100), || reduce.rows(100).run((&gates, &tokens)))
    });
    kinds.add("host_columns_rows_each", "a recurrence, rows(100).init_each(&values), with totals", |calls| {
        let (values, mut totals) = (maps(10), maps(10));
        let scan = scanner()?.scan(Recurrence);
        let (gates, tokens, mut states) = (vec![3; FEW], tokens(FEW), vec![0; FEW]);
        calls.gives(&tokens, || {
            zeros(&mut states);
            let scan = scan.rows(100).init_each(&values);
            scan.totals_into(&mut totals).run_into((&gates, &tokens), &mut states).map(|()| states.clone())
        })
    });
}

fn host_places(kinds: &mut Kinds) {
    kinds.add("host_gather", "a recurrence, (gather(&gates, &places), &tokens)", |calls| {
        let scan = scanner()?.scan(Recurrence);
        let (gates, places) = (tokens(FEW), places(FEW));
        let (tokens, mut states) = (tokens(FEW), vec![0; FEW]);
        calls.gives(&tokens, || {
            zeros(&mut states);
            scan.run_into((gather(&gates, &places), &tokens), &mut states).map(|()| states.clone())
        })
    });
    kinds.add("host_columns_new", "a recurrence, (&gates, &tokens) to a new vector, with the total", |calls| {
        let scan = scanner()?.scan(Recurrence);
        let (gates, tokens) = (vec![3; FEW], tokens(FEW));
        calls.twice(|| scan.with_total().run((&gates, &tokens)))
    });
    kinds.add("host_scatter", "a recurrence to scatter(&mut states, &places)", |calls| {
        let scan = scanner()?.scan(Recurrence);
        let (gates, tokens, mut states) = (vec![3; FEW], tokens(FEW), vec![0; FEW + 9]);
        let places: Vec<u64> = (0..FEW as u64).map(|index| index + 9).collect();
        let expected = [&[0; 9], &tokens[..]].concat();
        calls.gives(&expected, || {
            zeros(&mut states);
            scan.run_into((&gates, &tokens), scatter(&mut states, &places)).map(|()| states.clone())
        })
    });
    kinds.add("host_indices", "a recurrence, (&gates, indices()) to discard(), with the total", |calls| {
        let scan = scanner()?.scan(Recurrence);
        let gates = vec![3; FEW];
        calls.twice(|| scan.with_total().run_into((&gates, indices()), discard()))
    });
    kinds.add("host_neighbours", "a recurrence, (previous(&x, 7), next(&y, 9))", |calls| {
        let scan = scanner()?.scan(Recurrence);
        let (x, y, mut states) = (tokens(FEW), tokens(FEW), vec![0; FEW]);
        let expected = [&y[1..], &[9]].concat();
        calls.gives(&expected, || {
            zeros(&mut states);
            scan.run_into((previous(&x, 7), next(&y, 9)), &mut states).map(|()| states.clone())
        })
    });
    kinds.add("host_scatter_by_output", "an operator that computes places, to scatter_by_output(…)", |calls| {
        let scan = scanner()?.scan(Router);
        let ((places, steps), mut registers, mut low) = (parcels(FEW), vec![0; FEW], vec![0; FEW]);
        calls.twice(|| scan.run_into((&places, &steps), scatter_by_output((&mut registers, &mut low))))
    });
    kinds.add("host_filter", "ops::filter, run_into_with_total(&input, scatter_by_output((&mut kept,)))", |calls| {
        let scan = scanner()?.scan(ops::filter::<f32>());
        let (keep, values, mut kept) = (flags(FEW, 7), vec![1.5; FEW], vec![0.0; FEW]);
        calls.twice(|| scan.with_total().run_into((&keep, &values), scatter_by_output((&mut kept,))))
    });
}

fn device(kinds: &mut Kinds) {
    kinds.add("device_columns_new", "a recurrence, (&gates, &tokens), which allocates the states", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(Recurrence);
        let (gates, tokens) = (on.slice("gates", &[3_u32; FEW])?, on.slice("tokens", &tokens(FEW))?);
        calls.twice(|| scan.on(&on.stream).run((&gates, &tokens)))
    });
    kinds.add("device_columns", "a recurrence, (&gates, &tokens) to &mut states", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(Recurrence);
        let (gates, tokens) = (on.slice("gates", &[3_u32; MANY])?, on.slice("tokens", &tokens(MANY))?);
        let mut states = on.slice("states", &[0_u32; MANY])?;
        calls.launches(1, || scan.on(&on.stream).run_into((&gates, &tokens), &mut states))
    });
    kinds.add("device_columns_reduce", "a reduction of a recurrence, run((&gates, &tokens))", |calls| {
        let on = OnStream::new()?;
        let reduce = on.scanner.reduce(Recurrence);
        let (gates, tokens) = (on.slice("gates", &[3_u32; FEW])?, on.slice("tokens", &tokens(FEW))?);
        calls.twice(|| reduce.on(&on.stream).run((&gates, &tokens)))
    });
    kinds.add("prepared_columns_reduce", "the same of a handle, prepare_like((&gates, &tokens), &mut last)", |calls| {
        let on = OnStream::new()?;
        let reduce = on.scanner.reduce(Recurrence);
        let (gates, tokens) = (on.slice("gates", &[3_u32; FEW])?, on.slice("tokens", &tokens(FEW))?);
        let mut last = on.slice("last", &[0_u32])?;
        let (handle, _) =
            calls.record("prepare", || reduce.on(&on.stream).prepare_like((&gates, &tokens), &mut last, FEW))?;
        calls.warm("run", 2, || handle.run_into((&gates, &tokens), &mut last))?;
        let (gates, tokens) = (gates.slice(..70), tokens.slice(..70));
        calls.warm("a shorter run", 2, || handle.run_into((&gates, &tokens), &mut last))?;
        let (gates, tokens) = (gates.slice(..0), tokens.slice(..0));
        calls.record("no elements", || handle.run_into((&gates, &tokens), &mut last))?;
        Ok(())
    });
    kinds.add(
        "device_columns_of_sizes",
        "three arrays of 1, 4 and 6 bytes to two of 4 and 1, with the total",
        |calls| {
            let on = OnStream::new()?;
            let scan = on.scanner.scan(Summarize).reverse();
            let (kinds, values, codes) = readings(FEW);
            let (kinds, values) = (on.slice("kinds", &kinds)?, on.slice("values", &values)?);
            let codes = on.slice("codes", &codes)?;
            let (mut hashes, mut factors) = (on.slice("hashes", &[0_u32; FEW])?, on.slice("factors", &[0_u8; FEW])?);
            let mut total = on.slice("total", &maps(1))?;
            calls.launches(1, || {
                let columns = scan.on(&on.stream);
                columns.total_into(&mut total).run_into((&kinds, &values, &codes), (&mut hashes, &mut factors))
            })
        },
    );
    kinds.add("device_columns_len_from", "a recurrence, by_flags(&flags).len_from(&len)", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(Recurrence);
        let (gates, tokens) = (on.slice("gates", &[3_u32; FEW])?, on.slice("tokens", &tokens(FEW))?);
        let mut states = on.slice("states", &[0_u32; FEW])?;
        let (flags, len) = (on.slice("flags", &flags(FEW, 70))?, on.slice("len", &[7_u64])?);
        calls.launches(1, || {
            let scan = scan.on(&on.stream).by_flags(&flags).len_from(&len);
            scan.run_into((&gates, &tokens), &mut states)
        })
    });
    kinds.add("device_columns_offsets_each", "by_offsets(&offsets).init_each(&values), with totals", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(Recurrence);
        let (gates, tokens) = (on.slice("gates", &[3_u32; FEW])?, on.slice("tokens", &tokens(FEW))?);
        let (mut states, offsets) = (on.slice("states", &[0_u32; FEW])?, offsets(FEW, 70));
        let maps = maps(offsets.len() - 1);
        let (values, mut totals) = (on.slice("values", &maps)?, on.slice("totals", &maps)?);
        let offsets = on.slice("offsets", &offsets)?;
        calls.launches(1, || {
            let scan = scan.on(&on.stream).by_offsets(&offsets).init_each(&values);
            scan.totals_into(&mut totals).run_into((&gates, &tokens), &mut states)
        })
    });
    kinds.add("device_both_results", "ops::with_exclusive, to two arrays", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(ops::with_exclusive(ops::sum::<u32>()));
        let input = on.slice("input", &tokens(FEW))?;
        let (mut before, mut after) = (on.slice("before", &[0_u32; FEW])?, on.slice("after", &[0_u32; FEW])?);
        calls.launches(1, || scan.on(&on.stream).run_into(&input, (&mut before, &mut after)))
    });
}

fn device_places(kinds: &mut Kinds) {
    kinds.add("device_bits", "ops::skip_nulls, (&values, bits(&validity, 13)), to two arrays", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(ops::skip_nulls(ops::sum::<u32>()));
        let values = on.slice("values", &tokens(FEW))?;
        let validity = on.slice("validity", &vec![0x5a_u8; (13 + FEW).div_ceil(8)])?;
        let (mut sums, mut valid) = (on.slice("sums", &[0_u32; FEW])?, on.slice("valid", &[false; FEW])?);
        calls.launches(1, || scan.on(&on.stream).run_into((&values, bits(&validity, 13)), (&mut sums, &mut valid)))?;
        let short = bits(&validity, 8 * (13 + FEW).div_ceil(8) - FEW + 1);
        calls.refuse("a bit too few", || scan.on(&on.stream).run_into((&values, short), (&mut sums, &mut valid)))?;
        let columns = Axis::of(&[FEW / 10, 10], 0)?;
        calls.refuse("along an axis", || {
            scan.on(&on.stream).along(columns).run_into((&values, bits(&validity, 13)), (&mut sums, &mut valid))
        })
    });
    kinds.add("device_gather", "a recurrence, (gather(&gates, &places), &tokens)", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(Recurrence);
        let signed: Vec<i32> = places(FEW).into_iter().map(|place| place as i32).collect();
        let (gates, places) = (on.slice("gates", &[3_u32; 77])?, on.slice("places", &signed)?);
        let (tokens, mut states) = (on.slice("tokens", &tokens(FEW))?, on.slice("states", &[0_u32; FEW])?);
        calls.launches(1, || scan.on(&on.stream).run_into((gather(&gates, &places), &tokens), &mut states))
    });
    kinds.add("device_scatter", "a recurrence to scatter(&mut states, &places)", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(Recurrence);
        let (gates, tokens) = (on.slice("gates", &[3_u32; FEW])?, on.slice("tokens", &tokens(FEW))?);
        let (mut states, places) = (on.slice("states", &[0_u32; FEW + 9])?, on.slice("places", &[3_i64; FEW])?);
        calls.launches(1, || scan.on(&on.stream).run_into((&gates, &tokens), scatter(&mut states, &places)))
    });
    kinds.add("device_indices", "a recurrence, (&gates, indices()) to discard(), with the total", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(Recurrence);
        let (gates, mut total) = (on.slice("gates", &[3_u32; FEW])?, on.slice("total", &maps(1))?);
        calls.launches(1, || scan.on(&on.stream).total_into(&mut total).run_into((&gates, indices()), discard()))
    });
    kinds.add("device_neighbours", "rows(100), (previous(&x, 7), next(&y, 9))", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(Recurrence);
        let (x, y) = (on.slice("x", &tokens(FEW))?, on.slice("y", &tokens(FEW))?);
        let mut states = on.slice("states", &[0_u32; FEW])?;
        calls.launches(1, || {
            let inputs = (previous(&x, 7), next(&y, 9));
            scan.on(&on.stream).rows(100).run_into(inputs, &mut states)
        })
    });
    kinds.add(
        "device_scatter_by_output",
        "an operator that computes places, to scatter_by_output(…), prepared too",
        |calls| {
            let on = OnStream::new()?;
            let scan = on.scanner.scan(Router);
            let (places, steps) = parcels(FEW);
            let (places, steps) = (on.slice("places", &places)?, on.slice("steps", &steps)?);
            let (mut registers, mut low) = (on.slice("registers", &[0_u32; FEW])?, on.slice("low", &[0_u8; 500])?);
            calls.launches(1, || {
                let outputs = scatter_by_output((&mut registers, &mut low));
                scan.on(&on.stream).run_into((&places, &steps), outputs)
            })?;
            let (handle, _) = calls.record("prepare_like", || {
                let like = scatter_by_output((&mut registers, &mut low));
                scan.on(&on.stream).prepare_like((&places, &steps), like, FEW)
            })?;
            calls.warm("run of the handle", 1, || {
                let outputs = scatter_by_output((&mut registers, &mut low));
                handle.run_into((&places, &steps), outputs)
            })
        },
    );
}
