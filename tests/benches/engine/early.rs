//! Launches that may begin before what is before them has ended, beside launches that wait for that end; and which way to carry is
//! the fastest then, at middle lengths.

use rayon::prelude::*;
use scan_codegen::{Overrides, Plan, ScanSpec, plan, render};
use scan_runtime::{
    Carry, Scanner,
    cudarc::driver::{DevicePtr, DevicePtrMut},
    ops,
};
use scan_tests::operators::{TestOperator, inputs};

use super::{
    ModularProduct, Outcome, Product,
    back::{Entrant, Work, limits, load},
    filled, median,
    operators::short_runs,
    sample, with_warp_shuffles,
};

const LENGTHS: [u32; 11] = [10, 13, 16, 18, 20, 21, 22, 23, 24, 25, 26];
/// The most bytes of an input.
const LONGEST: usize = 1 << 30;
/// Look-ahead is measured from so many bytes on, and looking at all up to so many tiles.
const LEAST_AHEAD: usize = 4 << 20;
const MOST_TILES: usize = 6000;
/// Calls in a row: fewer where one takes long.
const CALLS: usize = 40;
const LONG_CALLS: usize = 8;
const SAMPLES: usize = 9;

pub(super) fn sweep_all(scanner: &Scanner, wanted: impl Fn(&str) -> bool) -> Outcome {
    println!("\n| operator | elements | kernel | | microseconds in a graph | in a stream |\n|---|--:|---|---|--:|--:|");
    if wanted("u8") {
        sweep::<ops::Sum<u8>>("u8", scanner)?;
    }
    if wanted("i16") {
        sweep::<ops::Sum<i16>>("i16", scanner)?;
    }
    if wanted("f32") {
        sweep::<ops::Sum<f32>>("f32", scanner)?;
    }
    if wanted("u64") {
        sweep::<ops::Sum<u64>>("u64", scanner)?;
    }
    if wanted("modular") {
        sweep::<ModularProduct>("modular", scanner)?;
    }
    if wanted("matrix") {
        sweep::<Product>("matrix", scanner)?;
    }
    Ok(())
}

/// What the planner chooses, with such launches and without, and look-ahead with long runs and short ones.
fn shapes<Op: TestOperator>(scanner: &Scanner) -> Outcome<Vec<(&'static str, Plan)>> {
    let (operator, spec, limits) = (Op::new().source(), ScanSpec::inclusive(), limits(scanner));
    let mut shapes = Vec::new();
    for (name, programmatic) in [("planned", true), ("planned, not early", false)] {
        let mut overrides = Overrides::default();
        overrides.programmatic = Some(programmatic);
        let plans = plan(&operator, &spec, &limits, &overrides)?;
        shapes.extend(plans.iter().map(|plan| (name, plan.clone())));
    }
    let mut overrides = Overrides::default();
    overrides.strategy = Some(with_warp_shuffles(Carry::LookAhead));
    shapes.push(("long runs", plan(&operator, &spec, &limits, &overrides)?.longest().clone()));
    if let Ok(short) = plan(&operator, &spec, &limits, &short_runs(size_of::<Op::Item>())) {
        shapes.push(("short runs", short.longest().clone()));
    }
    Ok(shapes)
}

fn sweep<Op: TestOperator>(name: &str, scanner: &Scanner) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let size = size_of::<Op::Item>();
    let longest = (1_usize << LENGTHS[LENGTHS.len() - 1]).min(LONGEST / size);
    let block = inputs::<Op>(longest.min(1 << 21));
    let input = filled(&stream, &block, longest)?;
    let mut output = filled(&stream, &block, longest)?;
    let work = Work {
        stream: &stream,
        input: input.device_ptr(&stream).0,
        output: output.device_ptr_mut(&stream).0,
        heads: (0, 0),
    };
    let planned = plan(&Op::new().source(), &ScanSpec::inclusive(), &limits(scanner), &Overrides::default())?;
    let entrants: Vec<(&str, Plan, Entrant)> = shapes::<Op>(scanner)?
        .into_par_iter()
        .filter_map(|(what, plan)| {
            let source = render(&Op::new().source(), &plan).ok()?;
            let entrant = load(scanner, what.to_owned(), plan.clone(), &source, longest)?;
            Some((what, plan, entrant))
        })
        .collect();
    for len in LENGTHS.iter().map(|log| 1_usize << log).filter(|len| *len <= longest) {
        let calls = if len * size > 64 << 20 { LONG_CALLS } else { CALLS };
        let in_stream = |run: &dyn Fn() -> Outcome| -> Outcome<f64> {
            let times = (0..SAMPLES).map(|_| Ok(sample(&stream, run)? / calls as f64));
            Ok(median(times.collect::<Outcome<Vec<f64>>>()?))
        };
        let graph = work.time(calls, |calls| work.copies(len * size, calls))?;
        let streamed = in_stream(&|| work.copies(len * size, calls))?;
        println!("| {name} | {len} | copy by the driver | | {graph:.2} | {streamed:.2} |");
        for (what, plan, entrant) in &entrants {
            let chosen = planned.for_len(len as u64).from == plan.from && what.starts_with("planned");
            let sensible = match plan.strategy.carry {
                Carry::LookAhead => len * size >= LEAST_AHEAD && *what != "planned, not early",
                Carry::LookAtAll => {
                    len.div_ceil(plan.tile as usize) <= MOST_TILES && *what == "planned" && len * size >= LEAST_AHEAD
                }
                _ => false,
            };
            if chosen || sensible {
                let graph = work.time(calls, |calls| work.calls(entrant, len as u64, calls))?;
                let streamed = in_stream(&|| work.calls(entrant, len as u64, calls))?;
                let (shape, mark) = (entrant.shape(), if chosen { "chosen" } else { "" });
                println!("| {name} | {len} | {shape} {} | {mark} | {graph:.2} | {streamed:.2} |", plan.strategy.carry);
            }
        }
    }
    Ok(())
}
