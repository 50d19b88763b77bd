//! Recurrences forward and backward, with initial and final states, as ratios to a copy of the bytes that each must
//! move: `engine -- training`. Forward reads two arrays and writes one; backward reads three and writes two.
//! `training shapes` tries other threads of a block and rows of a thread than those that are planned.

use scan_runtime::{Axis, ScanElement, Scanner, arrays, half::bf16, ops};
use scan_tests::operators::mixed;

use super::{Outcome, Overrides, SAMPLES, filled, median, sample};

/// The shape, its time axis, and the channels that share a gate.
const LAYERS: [([usize; 3], usize, usize); 5] = [
    ([8, 8_192, 1_536], 1, 1),
    ([8, 65_536, 256], 1, 1),
    ([32, 2_048, 1_024], 1, 1),
    ([8, 1_536, 65_536], 2, 1),
    // Eight heads of 64 channels and 128 states.
    ([2, 2_048, 65_536], 1, 8_192),
];

/// The longest period of inputs.
const BLOCK: usize = 1_999_993;

/// Threads of a block and rows of a thread.
const SHAPES: [(u32, u32); 6] = [(512, 7), (512, 5), (512, 4), (256, 7), (128, 14), (128, 28)];

fn layers<T: ScanElement + ops::Narrower<f32>>(
    scanner: &Scanner,
    name: &str,
    overrides: Overrides,
    of: impl Fn(f32) -> T,
) -> Outcome
where
    f32: ops::Wider<T>,
{
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let forward = scanner.scan(ops::recurrence_in::<f32, T>()).overrides(overrides);
    let backward = scanner.scan(ops::recurrence_in::<f32, T>().gradient()).reverse().overrides(overrides);
    for (shape, along, shared) in LAYERS {
        let axis = Axis::of(&shape, along)?;
        let (len, columns) = (axis.len(), axis.columns());
        let value = |seed: usize| move |i: usize| (mixed((i + seed) as u64) % 1_000) as f32 / 1_001.0;
        let block = |seed| (0..BLOCK).map(value(seed)).map(&of).collect::<Vec<T>>();
        let (gates, x) = (filled(&stream, &block(1), len)?, filled(&stream, &block(2), len)?);
        let first = stream.alloc_zeros::<f32>(columns)?;
        let mut last = stream.alloc_zeros::<f32>(columns)?;
        // SAFETY: any bits are floats.
        let (mut h, mut da) = unsafe { (stream.alloc::<T>(len)?, stream.alloc::<T>(len)?) };
        // An item of the gates is read for each of its channels.
        let [batch, steps, width] = shape;
        let split = [batch, steps, width / shared, shared];
        let strides = [steps * width / shared, width / shared, 1, 0];
        let axis = if shared == 1 { axis } else { Axis::of(&split, along)? };
        let copy = |stream: &_, h: &mut _| sample(stream, || Ok(stream.memcpy_dtod(&x, h)?));
        let copies = (0..SAMPLES).map(|_| copy(&stream, &mut h)).collect::<Outcome<Vec<_>>>()?;
        let per_array = median(copies) / 2.0;
        let timed = |run: &mut dyn FnMut() -> Outcome| -> Outcome<f64> {
            run()?;
            Ok(median((0..SAMPLES).map(|_| sample(&stream, &mut *run)).collect::<Outcome<Vec<_>>>()?))
        };
        let part = 1.0 / shared as f64;
        let time = timed(&mut || {
            let run = forward.on(&stream).along(axis.clone()).init_each(&first).totals_into(&mut last);
            match shared {
                1 => run.run_into((&gates, &x), &mut h)?,
                _ => run.run_into((arrays::strided(&gates, &strides), &x), &mut h)?,
            }
            Ok(())
        })?;
        println!("| {name} | {shape:?}, {along} | {shared} | forward | {:.3} |", per_array * (2.0 + part) / time);
        // SAFETY: any bits are floats.
        let mut dx = unsafe { stream.alloc::<T>(len)? };
        let time = timed(&mut || {
            let run = backward.on(&stream).along(axis.clone()).init_each(&first).totals_into(&mut last);
            match shared {
                1 => run.run_into((&gates, &h, &x), (&mut da, &mut dx))?,
                _ => run.run_into((arrays::strided(&gates, &strides), &h, &x), (&mut da, &mut dx))?,
            }
            Ok(())
        })?;
        println!("| {name} | {shape:?}, {along} | {shared} | backward | {:.3} |", per_array * (4.0 + part) / time);
    }
    Ok(())
}

pub(super) fn all(scanner: &Scanner, shapes: bool) -> Outcome {
    println!("| type | array, time axis | channels a gate | pass | ratio to copy |\n|---|---|--:|---|--:|");
    layers(scanner, "f32", Overrides::default(), |x| x)?;
    layers(scanner, "bf16", Overrides::default(), bf16::from_f32)?;
    for (threads, run) in SHAPES.into_iter().filter(|_| shapes) {
        let overrides = Overrides::default().threads(threads).run(run);
        let f32s = layers(scanner, &format!("f32, {threads} × {run}"), overrides, |x| x);
        let bf16s = layers(scanner, &format!("bf16, {threads} × {run}"), overrides, bf16::from_f32);
        for refused in [f32s, bf16s].into_iter().filter_map(Result::err) {
            println!("| {threads} × {run} | {refused} |");
        }
    }
    Ok(())
}
