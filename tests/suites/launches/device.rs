//! Calls with device slices. Most are one launch when they are repeated.

use scan_runtime::{
    Axis, BlockScan, Carry, Error, LateValue, Network, Strategy, TileNumbers,
    arrays::{discard, scatter},
    ops,
};
use scan_tests::{
    driver,
    operators::{AffineU32, MapU32},
};

use crate::{
    host::{maps, weighted},
    kinds::{FEW, Kinds, MANY, OnStream, bitmap, bits, flags, floats, keys, offsets},
};

pub(crate) fn add(kinds: &mut Kinds) {
    slices(kinds);
    values(kinds);
    segments(kinds);
    reductions(kinds);
}

fn slices(kinds: &mut Kinds) {
    kinds.add("device_run", "sums.on(&stream).run(&input), which allocates the output", |calls| {
        let on = OnStream::new()?;
        let (sums, input) = (on.scanner.scan(ops::sum::<f32>()), on.slice("input", &floats(FEW))?);
        calls.twice(|| sums.on(&on.stream).run(&input))
    });
    kinds.add("device_run_into", "sums.on(&stream).run_into(&input, &mut output), 1,000 elements", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        calls.launches(1, || sums.on(&on.stream).run_into(&input, &mut output))
    });
    kinds.add("device_run_into_many", "sums.on(&stream).run_into(&input, &mut output), 1,000,000 elements", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        calls.launches(1, || sums.on(&on.stream).run_into(&input, &mut output))
    });
    kinds.add("device_lengths", "run_into on one stream with 1,000,000, 300,000, 20,000,000 elements", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &[0.0; 20 * MANY])?, on.slice("output", &[0.0; 20 * MANY])?);
        for len in [MANY, 300_000, 20 * MANY, MANY] {
            let (input, mut output) = (input.slice(..len), output.slice_mut(..len));
            calls.record(&format!("{len} elements"), || sums.on(&on.stream).run_into(&input, &mut output))?;
        }
        Ok(())
    });
    kinds.add("device_views", "run_into of views that begin 3 and 5 elements from the beginning", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        let (input, mut output) = (input.slice(3..FEW), output.slice_mut(5..FEW + 2));
        calls.launches(1, || sums.on(&on.stream).run_into(&input, &mut output))
    });
    kinds.add("device_run_in_place", "sums.on(&stream).run_in_place(&mut buffer)", |calls| {
        let on = OnStream::new()?;
        let (sums, mut buffer) = (on.scanner.scan(ops::sum::<f32>()), on.slice("buffer", &floats(MANY))?);
        calls.launches(1, || sums.on(&on.stream).run_in_place(&mut buffer))
    });
    kinds.add("device_reverse", "sums.reverse().on(&stream).run_into(&input, &mut output)", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>()).reverse();
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        calls.launches(1, || sums.on(&on.stream).run_into(&input, &mut output))
    });
    kinds.add("device_struct", "a recurrence of structs, run_into(&input, &mut output)", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(AffineU32).init(MapU32 { a: 5, b: 7 });
        let (input, mut output) = (on.slice("input", &maps(MANY))?, on.slice("output", &maps(MANY))?);
        calls.launches(1, || scan.on(&on.stream).run_into(&input, &mut output))
    });
    kinds.add("device_table", "an operator with a parameter and a table, run_into(&input, &mut output)", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(weighted());
        let (input, mut output) = (on.slice("input", &vec![3_u8; FEW])?, on.slice("output", &floats(FEW))?);
        calls.launches(1, || scan.on(&on.stream).run_into(&input, &mut output))?;
        calls.record("drop the table", || {
            drop(scan);
            Ok::<_, String>(())
        })?;
        Ok(())
    });
    kinds.add("device_stepped", "an operator with carries of its own, run_into_with_total(…)", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(scan_runtime::gallery::automaton::Lexer);
        let text = vec![b'"'; MANY];
        let (input, mut output) = (on.slice("input", &text)?, on.slice("output", &text)?);
        let mut total = on.slice("total", &[0_u8])?;
        calls.launches(1, || scan.on(&on.stream).total_into(&mut total).run_into(&input, &mut output))
    });
    kinds.add(
        "device_strategies",
        "run_into_with_total of 300,000 elements, by strategies that are not the default",
        |calls| {
            let on = OnStream::new()?;
            let (input, mut output) = (on.slice("input", &floats(300_000))?, on.slice("output", &floats(300_000))?);
            let mut total = on.slice("total", &[0.0])?;
            let block = BlockScan::coarsened(Network::WarpShuffle);
            for carry in
                [Carry::ReduceThenScan, Carry::Chained(TileNumbers::Counter), Carry::LookBack, Carry::LookAhead]
            {
                let sums = on.scanner.scan(ops::sum::<f32>()).init(1.5).strategy(Strategy { block, carry });
                calls.record(&format!("{carry}"), || {
                    sums.on(&on.stream).total_into(&mut total).run_into(&input, &mut output)
                })?;
            }
            Ok(())
        },
    );
    kinds.add("device_run_with_total", "sums.on(&stream).with_total().run(&input), which allocates both", |calls| {
        let on = OnStream::new()?;
        let (sums, input) = (on.scanner.scan(ops::sum::<f32>()), on.slice("input", &floats(FEW))?);
        calls.twice(|| sums.on(&on.stream).with_total().run(&input))
    });
    kinds.add("device_run_into_with_total", "run_into_with_total(&input, &mut output, &mut total)", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        let mut total = on.slice("total", &[0.0])?;
        calls.launches(1, || sums.on(&on.stream).total_into(&mut total).run_into(&input, &mut output))
    });
    kinds.add("device_run_in_place_with_total", "run_in_place_with_total(&mut buffer, &mut total)", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (mut buffer, mut total) = (on.slice("buffer", &floats(FEW))?, on.slice("total", &[0.0])?);
        calls.launches(1, || sums.on(&on.stream).total_into(&mut total).run_in_place(&mut buffer))
    });
}

fn values(kinds: &mut Kinds) {
    kinds.add("device_init", "sums.exclusive().init(1.5).on(&stream).run_into(…)", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>()).exclusive().init(1.5);
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        calls.launches(1, || sums.on(&on.stream).run_into(&input, &mut output))
    });
    kinds.add("device_init_from", "sums.on(&stream).init_from(&value).run_into(…)", |calls| {
        let on = OnStream::new()?;
        let (sums, value) = (on.scanner.scan(ops::sum::<f32>()), on.slice("value", &[1.5])?);
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        calls.launches(1, || sums.on(&on.stream).init_from(&value).run_into(&input, &mut output))
    });
    kinds.add(
        "device_init_late",
        "sums.on(&stream).init_late(&value).run_into(…), and what hands values over",
        |calls| {
            // Of eight bytes: no others are left in its memory without a value.
            let on = OnStream::new()?;
            let sums = on.scanner.scan(ops::sum::<f64>());
            let other = on.stream.context().new_stream()?;
            driver::name_stream(&other, "other");
            let next = other.clone_htod(&[2.5_f64])?;
            driver::name(&next, "next");
            let (input, mut output) = (on.slice("input", &vec![1.0; MANY])?, on.slice("output", &vec![1.0; MANY])?);
            let (value, _) = calls.record("a late value", || LateValue::new(&on.stream))?;
            for heading in ["first call", "again"] {
                calls.record("a stream writes", || value.write_from(&other, &next))?;
                calls.record(heading, || sums.on(&on.stream).init_late(&value).run_into(&input, &mut output))?;
            }
            calls.record("the host writes", || value.write(3.5))?;
            calls.record("again", || sums.on(&on.stream).init_late(&value).run_into(&input, &mut output))?;
            Ok(())
        },
    );
    kinds.add("device_len_from", "sums.on(&stream).len_from(&len).run_into(…)", |calls| {
        let on = OnStream::new()?;
        let (sums, len) = (on.scanner.scan(ops::sum::<f32>()), on.slice("len", &[7_u64])?);
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        calls.launches(1, || sums.on(&on.stream).len_from(&len).run_into(&input, &mut output))
    });
}

fn segments(kinds: &mut Kinds) {
    kinds.add("device_by_flags", "sums.on(&stream).by_flags(&flags).run_into(…)", |calls| {
        let on = OnStream::new()?;
        let (sums, flags) = (on.scanner.scan(ops::sum::<f32>()), on.slice("flags", &flags(MANY, 70))?);
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        calls.launches(1, || sums.on(&on.stream).by_flags(&flags).run_into(&input, &mut output))
    });
    kinds.add("device_by_bits", "sums.on(&stream).by_bits(&bits).run_into(…)", |calls| {
        let on = OnStream::new()?;
        let (sums, bits) = (on.scanner.scan(ops::sum::<f32>()), on.slice("bits", &bits(MANY, 70))?);
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        calls.launches(1, || sums.on(&on.stream).by_bits(&bits).run_into(&input, &mut output))
    });
    kinds.add("device_by_bits_at", "sums.on(&stream).by_bits_at(&bytes, 64).run_into(…), of bytes", |calls| {
        let on = OnStream::new()?;
        let (sums, bits) = (on.scanner.scan(ops::sum::<f32>()), on.slice("bits", &bitmap(MANY, 70, 64))?);
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        calls.launches(1, || sums.on(&on.stream).by_bits_at(&bits, 64).run_into(&input, &mut output))
    });
    kinds.add("device_by_keys", "sums.on(&stream).by_keys(&keys).run_into_with_total(…)", |calls| {
        let on = OnStream::new()?;
        let (sums, keys) = (on.scanner.scan(ops::sum::<f32>()), on.slice("keys", &keys(MANY, 70))?);
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        let mut total = on.slice("total", &[0.0])?;
        calls.launches(1, || sums.on(&on.stream).by_keys(&keys).total_into(&mut total).run_into(&input, &mut output))
    });
    kinds.add("device_by_offsets", "sums.on(&stream).by_offsets(&offsets).run_into(…)", |calls| {
        let on = OnStream::new()?;
        let signed: Vec<i32> = offsets(MANY, 70).into_iter().map(|offset| offset as i32).collect();
        let (sums, offsets) = (on.scanner.scan(ops::sum::<f32>()), on.slice("offsets", &signed)?);
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        calls.launches(1, || sums.on(&on.stream).by_offsets(&offsets).run_into(&input, &mut output))
    });
    kinds.add("device_rows", "sums.on(&stream).rows(100).run_into(…)", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        calls.launches(1, || sums.on(&on.stream).rows(100).run_into(&input, &mut output))
    });
    kinds.add("device_rows_each", "rows(100).init_each(&values).run_into_with_totals(…)", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        let values = on.slice("values", &floats(MANY / 100))?;
        let mut totals = on.slice("totals", &floats(MANY / 100))?;
        calls.launches(1, || {
            let rows = sums.on(&on.stream).rows(100).init_each(&values);
            rows.totals_into(&mut totals).run_into(&input, &mut output)
        })
    });
    kinds.add("device_offsets_each", "by_offsets(&offsets).init_each(&values).run_in_place_with_totals(…)", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (mut buffer, offsets) = (on.slice("buffer", &floats(FEW))?, offsets(FEW, 70));
        let values = on.slice("values", &floats(offsets.len() - 1))?;
        let mut totals = on.slice("totals", &floats(offsets.len() - 1))?;
        let offsets = on.slice("offsets", &offsets)?;
        calls.launches(1, || {
            let segments = sums.on(&on.stream).by_offsets(&offsets).init_each(&values);
            segments.totals_into(&mut totals).run_in_place(&mut buffer)
        })
    });
    kinds.add("device_rows_with_totals", "rows(100).with_totals().run(&input), which allocates both", |calls| {
        let on = OnStream::new()?;
        let (sums, input) = (on.scanner.scan(ops::sum::<f32>()), on.slice("input", &floats(FEW))?);
        calls.twice(|| sums.on(&on.stream).rows(100).with_totals().run(&input))
    });
}

fn reductions(kinds: &mut Kinds) {
    kinds.add("device_reduce", "sum.on(&stream).run(&input), which allocates the output", |calls| {
        let on = OnStream::new()?;
        let (sum, input) = (on.scanner.reduce(ops::sum::<f32>()), on.slice("input", &floats(FEW))?);
        calls.twice(|| sum.on(&on.stream).run(&input))
    });
    kinds.add("device_reduce_into", "sum.on(&stream).run_into(&input, &mut output), 1,000,000 elements", |calls| {
        let on = OnStream::new()?;
        let sum = on.scanner.reduce(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &[0.0])?);
        calls.launches(3, || sum.on(&on.stream).run_into(&input, &mut output))
    });
    kinds.add("device_reduce_init", "sum.init(1.5).on(&stream).run_into(…)", |calls| {
        let on = OnStream::new()?;
        let sum = on.scanner.reduce(ops::sum::<f32>()).init(1.5);
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &[0.0])?);
        calls.launches(3, || sum.on(&on.stream).run_into(&input, &mut output))
    });
    kinds.add("device_reduce_by_flags", "sum.on(&stream).by_flags(&flags).run_into_with_count(…)", |calls| {
        let on = OnStream::new()?;
        let (sum, flags) = (on.scanner.reduce(ops::sum::<f32>()), on.slice("flags", &flags(FEW, 70))?);
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let mut count = on.slice("count", &[0_u64])?;
        calls.twice(|| sum.on(&on.stream).by_flags(&flags).count_into(&mut count).run_into(&input, &mut output))
    });
    kinds.add("device_reduce_by_keys", "sum.on(&stream).by_keys(&keys).run_into_with_count(…)", |calls| {
        let on = OnStream::new()?;
        let (sum, keys) = (on.scanner.reduce(ops::sum::<f32>()), on.slice("keys", &keys(MANY, 70))?);
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        let mut count = on.slice("count", &[0_u64])?;
        calls.twice(|| sum.on(&on.stream).by_keys(&keys).count_into(&mut count).run_into(&input, &mut output))
    });
    kinds.add("device_reduce_by_offsets", "sum.on(&stream).by_offsets(&offsets).run_into(…)", |calls| {
        let on = OnStream::new()?;
        let sum = on.scanner.reduce(ops::sum::<f32>());
        let offsets = offsets(FEW, 70);
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(offsets.len() - 1))?);
        let offsets = on.slice("offsets", &offsets)?;
        calls.twice(|| sum.on(&on.stream).by_offsets(&offsets).run_into(&input, &mut output))
    });
    kinds.add("device_reduce_ranges", "sum.on(&stream).by_ranges(&begins, &ends).run_into(…), a handle", |calls| {
        let on = OnStream::new()?;
        let sum = on.scanner.reduce(ops::sum::<f32>());
        let (begins, ends) = (on.slice("begins", &[5_u32, 0, 7, 3])?, on.slice("ends", &[9_u32, 1_000, 7, 4])?);
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(4))?);
        calls.launches(1, || sum.on(&on.stream).by_ranges(&begins, &ends).run_into(&input, &mut output))?;
        let handle = sum.on(&on.stream).by_ranges(&begins, &ends).prepare(FEW)?;
        calls.launches(1, || handle.by_ranges(&begins, &ends).run_into(&input, &mut output))?;
        let values = on.slice("values", &floats(4))?;
        let each = sum.on(&on.stream).by_ranges(&begins, &ends).init_each(&values);
        calls.record("with initial values", || each.run(&input))?;
        let fewer = ends.slice(..3);
        assert!(matches!(sum.on(&on.stream).by_ranges(&begins, &fewer).run(&input), Err(Error::Length { .. })));
        Ok(())
    });
    kinds.add("device_reduce_rows", "sum.on(&stream).rows(100).run(&input)", |calls| {
        let on = OnStream::new()?;
        let (sum, input) = (on.scanner.reduce(ops::sum::<f32>()), on.slice("input", &floats(FEW))?);
        calls.twice(|| sum.on(&on.stream).rows(100).run(&input))
    });
    kinds.add(
        "device_reduce_by_offsets_each",
        "sum.by_offsets(&offsets).init_each(&values), a handle, nothing",
        |calls| {
            let on = OnStream::new()?;
            let sum = on.scanner.reduce(ops::sum::<f32>());
            let (offsets, values) = (offsets(FEW, 70), on.slice("values", &floats(FEW))?);
            let (input, mut output) =
                (on.slice("input", &floats(FEW))?, on.slice("output", &floats(offsets.len() - 1))?);
            let (values, offsets) = (values.slice(..offsets.len() - 1), on.slice("offsets", &offsets)?);
            let by_offsets = sum.on(&on.stream).by_offsets(&offsets).init_each(&values);
            calls.twice(|| by_offsets.run_into(&input, &mut output))?;
            let (handle, _) = calls.record("prepare", || by_offsets.clone().prepare(FEW))?;
            calls.warm("run", 2, || handle.by_offsets(&offsets).init_each(&values).run_into(&input, &mut output))?;
            let nothing = input.slice(..0);
            calls.record("no elements", || by_offsets.run_into(&nothing, &mut output))?;
            Ok(())
        },
    );
    kinds.add(
        "device_reduce_reversed",
        "sum.reverse().init(1.5).run_into(…), whole and by segments, a handle",
        |calls| {
            let on = OnStream::new()?;
            let sum = on.scanner.reduce(ops::sum::<f32>()).reverse().init(1.5);
            let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &[0.0])?);
            calls.twice(|| sum.on(&on.stream).run_into(&input, &mut output))?;
            let (handle, _) = calls.record("prepare", || sum.on(&on.stream).prepare(FEW))?;
            calls.warm("run of the handle", 1, || handle.run_into(&input, &mut output))?;
            let nothing = input.slice(..0);
            calls.record("no elements", || handle.run_into(&nothing, &mut output))?;
            let offsets = offsets(FEW, 70);
            let mut results = on.slice("results", &floats(offsets.len() - 1))?;
            let (offsets, flags) = (on.slice("offsets", &offsets)?, on.slice("flags", &flags(FEW, 70))?);
            calls.record("by offsets", || sum.on(&on.stream).by_offsets(&offsets).run_into(&input, &mut results))?;
            let mut count = on.slice("count", &[0_u64])?;
            calls.record("by flags", || {
                sum.on(&on.stream).by_flags(&flags).count_into(&mut count).run_into(&input, &mut results)
            })?;
            let axis = Axis::of(&[100, 10], 0)?;
            calls
                .record("columns", || sum.on(&on.stream).along(axis).run_into(&input, &mut results.slice_mut(..10)))?;
            Ok(())
        },
    );
    kinds.add("device_reduce_scattered", "sum.run_into(&input, scatter(&mut output, &places)), a handle", |calls| {
        let on = OnStream::new()?;
        let sum = on.scanner.reduce(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(9))?);
        let places = on.slice("places", &[7_u32])?;
        calls.twice(|| sum.on(&on.stream).run_into(&input, scatter(&mut output, &places)))?;
        let like = |output| sum.on(&on.stream).prepare_like(&input, scatter(output, &places), FEW);
        let (handle, _) = calls.record("prepare_like", || like(&mut output))?;
        calls.warm("run of the handle", 2, || handle.run_into(&input, scatter(&mut output, &places)))?;
        let nothing = input.slice(..0);
        calls.record("no elements", || handle.run_into(&nothing, scatter(&mut output, &places)))?;
        calls.record("a call of none", || sum.on(&on.stream).run_into(&nothing, scatter(&mut output, &places)))?;
        Ok(())
    });
    kinds.add("device_reduce_into_fields", "a composition of maps, rows and columns to (&mut a, &mut b)", |calls| {
        let on = OnStream::new()?;
        let composed = on.scanner.reduce(AffineU32);
        let (axis, input) = (Axis::of(&[100, 10], 0)?, on.slice("input", &maps(FEW))?);
        let (mut a, mut b) = (on.slice("a", &[0_u32; 10])?, on.slice("b", &[0_u32; 10])?);
        calls.twice(|| composed.on(&on.stream).rows(100).run_into(&input, (&mut a, &mut b)))?;
        calls.record("columns", || composed.on(&on.stream).along(axis.clone()).run_into(&input, (&mut a, &mut b)))?;
        let (values, along) = (on.slice("values", &maps(10))?, composed.on(&on.stream).along(axis.clone()));
        let along = along.init_each(&values);
        let (handle, _) = calls.record("prepare_like", || along.prepare_like(&input, (&mut a, &mut b), FEW))?;
        calls.warm("run of the handle", 2, || handle.init_each(&values).run_into(&input, (&mut a, &mut b)))?;
        let (flags, mut count) = (on.slice("flags", &flags(FEW, 100))?, on.slice("count", &[0_u64])?);
        let by_flags = composed.on(&on.stream).by_flags(&flags);
        calls.record("by flags", || by_flags.count_into(&mut count).run_into(&input, (&mut a, discard())))?;
        Ok(())
    });
    kinds.add("device_reduce_columns_of_nothing", "sum.along([0, 10], 0).init_each(&values), a handle", |calls| {
        let on = OnStream::new()?;
        let sum = on.scanner.reduce(ops::sum::<f32>());
        let (values, mut output) = (on.slice("values", &floats(10))?, on.slice("output", &floats(10))?);
        let (one, axis) = (on.slice("one", &[1.0])?, Axis::of(&[0, 10], 0)?);
        let input = one.slice(..0);
        let along = sum.on(&on.stream).along(axis);
        let each = along.clone().init_each(&values);
        calls.twice(|| each.run_into(&input, &mut output))?;
        let (handle, _) = calls.record("prepare", || each.clone().prepare(0))?;
        calls.warm("run of the handle", 1, || handle.init_each(&values).run_into(&input, &mut output))?;
        calls.record("without values", || along.run_into(&input, &mut output))?;
        Ok(())
    });
}
