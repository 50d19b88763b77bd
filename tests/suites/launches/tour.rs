//! Calls of every kind over device memory, as `tests/suites/runtime/tour.rs` has them over host memory.

use scan_runtime::{Axis, arrays, ops};
use scan_tests::{columns::Recurrence, driver, operators::MapU32};

use crate::kinds::{Kinds, OnStream};

pub(crate) fn add(kinds: &mut Kinds) {
    kinds.refused("tour_every_kind_of_call_over_device_memory", |_| {
        let on = OnStream::new()?;
        let (scanner, stream) = (&on.scanner, &on.stream);
        let x = stream.clone_htod(&[3, 1, 4, 1, 5, 9])?;
        let (mut y, mut sums_of_columns) = (stream.alloc_zeros::<i32>(6)?, stream.alloc_zeros::<i32>(3)?);
        let (gates, tokens) = (stream.clone_htod(&[2_u32, 3, 2, 3, 2, 3])?, stream.clone_htod(&[1_u32; 6])?);
        let (keys, order) = (stream.clone_htod(&[7_u64, 7, 8, 8, 8, 7])?, stream.clone_htod(&[5_u32, 4, 3, 2, 1, 0])?);
        let offsets = stream.clone_htod(&[0_u32, 2, 6])?;
        let before = stream.clone_htod(&[MapU32 { a: 1, b: 0 }; 2])?;
        let (mut h, mut after) = (stream.alloc_zeros::<u32>(6)?, before.clone());

        let sums = scanner.scan(ops::sum::<i32>());
        let layer = scanner.scan(Recurrence);
        let axis = Axis::of(&[2, 3], 0)?;
        let launched = |call: &mut dyn FnMut() -> Result<(), scan_runtime::Error>| {
            let (result, record) = driver::record(call);
            result?;
            if record.contains("launch ") { Ok(()) } else { Err(format!("nothing was launched:\n{record}")) }
                .map_err(Box::<dyn std::error::Error>::from)
        };

        launched(&mut || sums.on(stream).run(&x).map(drop))?;
        launched(&mut || sums.on(stream).run_into(&x, &mut y))?;
        launched(&mut || sums.on(stream).run_in_place(&mut y))?;
        launched(&mut || layer.on(stream).run_into((&gates, &tokens), &mut h))?;
        launched(&mut || layer.on(stream).run_into((&gates, arrays::gather(&tokens, &order)), &mut h))?;
        launched(&mut || sums.on(stream).along(axis.clone()).run_into(&x, &mut y))?;
        launched(&mut || sums.on(stream).by_keys(&keys).run_into(&x, &mut y))?;
        launched(&mut || sums.on(stream).by_offsets(&offsets).run_into(&x, &mut y))?;
        launched(&mut || {
            let rows = layer.on(stream).rows(3).init_each(&before).totals_into(&mut after);
            rows.run_into((&gates, &tokens), &mut h)
        })?;
        launched(&mut || sums.on(stream).with_total().run_into(&x, &mut y).map(drop))?;
        let totals = scanner.reduce(ops::sum::<i32>());
        launched(&mut || totals.on(stream).run(&x).map(drop))?;
        launched(&mut || totals.on(stream).along(axis.clone()).run_into(&x, &mut sums_of_columns))?;

        let (axis, mut state) = (Axis::of(&[3, 2], 0)?, before.clone());
        let prepared = layer.on(stream).along(axis).init_each(&before).with_totals();
        let prepared = prepared.prepare_like((&gates, &tokens), &mut h, 6)?;
        for _ in 0..2 {
            launched(&mut || {
                let run = prepared.init_each(&state).totals_into(&mut after);
                run.run_into((&gates, &tokens), &mut h)
            })?;
            std::mem::swap(&mut state, &mut after);
        }
        Ok(())
    });
}
