//! The operators of the gallery and the exact sums: the planned kernels, each as a ratio to a copy of the bytes that
//! are read and written, and what NVRTC takes for it; with `variants` the same with an operator's functions inlined
//! at every place or called, and with shorter runs; with `carries` the same by look-back and by look-ahead at middle
//! lengths, which tells where one should follow the other.

use std::time::Instant;

use rayon::prelude::*;
use scan_codegen::{Overrides, Plan};
use scan_runtime::{Carry, Scanner};
use scan_tests::gallery::{Example, Visitor, compare};

use super::{Outcome, filled, median, sample, with_warp_shuffles};

/// Lengths, by their logarithms.
const LENGTHS: [u32; 4] = [16, 20, 24, 27];
const MIDDLE: [u32; 11] = [16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26];
/// The most bytes of input or output.
const MAX_BYTES: usize = 2 << 30;
/// The most instructions of a function at all its places.
const INLINED: [u32; 5] = [16384, 4096, 2048, 1024, 512];
/// Threads of a team and teams of look-ahead, and KiB of a tile.
const SHAPES: [(u32, u32); 6] = [(128, 3), (128, 4), (192, 2), (192, 3), (256, 2), (256, 3)];
const TILES: [u32; 3] = [20, 28, 38];
/// Blocks of a group of look-ahead.
const GROUPS: [u32; 4] = [1, 8, 11, 16];
/// Threads of a team, teams, and bytes of a run at middle lengths.
const SHORT: (u32, u32, u32) = (256, 3, 60);
/// What a run is divided by, with functions as they are planned.
const SHORTER: [u32; 3] = [2, 4, 8];
/// Elements after whose first the input repeats itself, and results that are compared with the CPU's.
const REPEATED: usize = 1 << 20;
const CHECKED: usize = 1 << 16;
/// Shapes that are printed.
const FASTEST: usize = 7;
/// Ways of the planned shape, which are printed first.
const PLANNED: usize = 4;
const CALLS: usize = 10;
const SAMPLES: usize = 5;

/// What is measured.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Asked {
    /// The planned kernels.
    Planned,
    /// These with the longest inputs only.
    Longest,
    /// Other shapes beside them, with the longest inputs.
    Variants,
    /// Shapes whose tiles fill shared memory, with several numbers of look-ahead warps; the fastest are printed.
    Turns,
    /// Other strategies beside them, at middle lengths.
    Carries,
}

impl Asked {
    fn lengths(self) -> &'static [u32] {
        match self {
            Asked::Planned => &LENGTHS,
            Asked::Longest | Asked::Variants | Asked::Turns => &LENGTHS[LENGTHS.len() - 1..],
            Asked::Carries => &MIDDLE,
        }
    }

    fn variants(self, plan: &Plan, element: usize, state: Option<usize>) -> Vec<Variant> {
        match self {
            Asked::Planned | Asked::Longest => vec![Variant::planned(plan)],
            Asked::Variants => variants(plan, element),
            Asked::Turns => round_robin(plan, element, state),
            Asked::Carries => carries(plan, element),
        }
    }

    /// Whether there is a line for each kernel, and not one for each operator.
    fn compares(self) -> bool {
        matches!(self, Asked::Variants | Asked::Turns | Asked::Carries)
    }
}

/// Measures those that are wanted.
pub(super) struct Operators<'a, W> {
    pub(super) scanner: &'a Scanner,
    pub(super) wanted: W,
    pub(super) asked: Asked,
}

/// A shape, and what it is called.
struct Variant {
    name: String,
    overrides: Overrides,
}

impl Variant {
    fn planned(plan: &Plan) -> Self {
        Variant { name: "as planned".to_owned(), overrides: as_planned(plan) }
    }
}

/// The same kernel as planned, but for a part.
fn as_planned(plan: &Plan) -> Overrides {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(plan.strategy);
    overrides.threads = Some(plan.threads);
    overrides.run = Some(plan.run);
    overrides.teams = plan.pipeline.map(|pipeline| pipeline.teams);
    overrides
}

fn variants(plan: &Plan, element: usize) -> Vec<Variant> {
    let mut variants = Vec::new();
    for inlined in INLINED {
        let mut overrides = as_planned(plan);
        overrides.inlined = Some(inlined);
        variants.push(Variant { name: format!("run {}, {inlined}", plan.run), overrides });
    }
    if plan.pipeline.is_some() {
        for group in GROUPS {
            let mut overrides = as_planned(plan);
            overrides.group = Some(group);
            variants.push(Variant { name: format!("groups of {group}"), overrides });
        }
        // Narrow elements share words, so that runs consist of whole ones, of an odd number.
        let step = 1 << plan.run.trailing_zeros();
        for (threads, teams) in SHAPES {
            for kib in TILES {
                let mut overrides = as_planned(plan);
                let steps = (kib << 10) / (threads * element as u32).max(1) / step;
                let run = (steps.max(1) - 1 + steps.max(1) % 2) * step;
                (overrides.threads, overrides.teams, overrides.run) = (Some(threads), Some(teams), Some(run));
                variants.push(Variant { name: format!("{threads} × {teams} × {run}"), overrides });
            }
        }
    }
    for shorter in SHORTER {
        let run = plan.run / shorter;
        if run > 0 {
            let mut overrides = as_planned(plan);
            overrides.run = Some(run);
            variants.push(Variant { name: format!("run {run}"), overrides });
        }
    }
    variants
}

/// The planned shape and others, each with several numbers of look-ahead warps, and with lifted elements kept in
/// stages, where `state` is the size of one that can be kept.
fn round_robin(plan: &Plan, element: usize, state: Option<usize>) -> Vec<Variant> {
    const SHAPES: [(u32, u32); 13] = [
        (64, 3),
        (64, 4),
        (96, 3),
        (96, 4),
        (128, 2),
        (128, 3),
        (128, 4),
        (192, 2),
        (192, 3),
        (256, 2),
        (256, 3),
        (320, 2),
        (384, 1),
    ];
    let step = 1 << plan.run.trailing_zeros();
    let planned = (plan.threads, plan.pipeline.map_or(1, |pipeline| pipeline.teams), plan.run);
    let shape = |(threads, teams): (u32, u32), bytes: usize| {
        let steps = (200 << 10) / (2 * teams + 1) / (threads * bytes as u32).max(1) / step;
        (threads, teams, (steps.max(1) - 1 + steps.max(1) % 2) * step)
    };
    let variant = |(threads, teams, run): (u32, u32, u32), warps: u32, keeps: bool| {
        let mut overrides = as_planned(plan);
        (overrides.threads, overrides.teams, overrides.run) = (Some(threads), Some(teams), Some(run));
        (overrides.look_ahead_warps, overrides.group, overrides.keeps_states) = (Some(warps), Some(1), Some(keeps));
        let kept = if keeps { ", kept" } else { "" };
        Variant { name: format!("{threads} × {teams} × {run}, {warps} ahead{kept}"), overrides }
    };
    let mut variants: Vec<_> = [1, 2, 3, 4].map(|warps| variant(planned, warps, false)).into();
    variants.extend(state.iter().flat_map(|_| [1, 2].map(|warps| variant(planned, warps, true))));
    for teams in SHAPES {
        variants.extend([1, 2, 3].map(|warps| variant(shape(teams, element), warps, false)));
        let kept = state.map(|state| variant(shape(teams, element.max(state)), 2, true));
        variants.extend(kept);
    }
    variants
}

/// The planned kernel, and those of other strategies in the shapes that are planned for them, and in shorter runs.
fn carries(plan: &Plan, element: usize) -> Vec<Variant> {
    let other = |carry: Carry| {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(with_warp_shuffles(carry));
        Variant { name: carry.to_string(), overrides }
    };
    let short = Variant { name: "look-ahead, short runs".to_owned(), overrides: short_runs(element) };
    vec![Variant::planned(plan), other(Carry::LookBack), other(Carry::LookAhead), short]
}

/// Look-ahead with the short runs of middle lengths, of elements of so many bytes.
fn short_runs(element: usize) -> Overrides {
    let (threads, teams, bytes) = SHORT;
    let mut overrides = Overrides::default();
    overrides.strategy = Some(with_warp_shuffles(Carry::LookAhead));
    (overrides.threads, overrides.teams) = (Some(threads), Some(teams));
    overrides.run = Some((bytes / element as u32).max(1));
    overrides
}

impl<W: Fn(&str) -> bool> Visitor for Operators<'_, W> {
    fn visit<Op: Example>(&mut self, name: &str) {
        if (self.wanted)(name)
            && let Err(error) = sweep::<Op>(name, self.scanner, self.asked)
        {
            println!("| {name} | {error} | | |");
        }
    }
}

fn sweep<Op: Example>(name: &str, scanner: &Scanner, asked: Asked) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let op = Op::new();
    let element = size_of::<Op::Input>().max(size_of::<Op::Output>());
    let max = (MAX_BYTES / element).min(1 << LENGTHS[LENGTHS.len() - 1]);
    let block = Op::input(REPEATED);
    let checked = Scanner::cpu().scan(op.clone()).run(&block[..CHECKED])?;
    let input = filled(&stream, &block, max)?;
    // SAFETY: it is written before it is read.
    let mut output = unsafe { stream.alloc::<Op::Output>(max)? };
    let bytes = max * (size_of::<Op::Input>() + size_of::<Op::Output>()) / 2;
    let (from, mut to) = (stream.alloc_zeros::<u8>(bytes)?, stream.alloc_zeros::<u8>(bytes)?);
    let plans = scanner.scan(op.clone()).plan()?;
    let source = op.source();
    let has = |name: &str| source.functions.iter().any(|function| function.name == name);
    let kept = (has("lift") && !has("append") && source.carry.is_none()).then_some(source.state.size);
    // Of many shapes the differences that count are large.
    let (samples, calls) = if asked == Asked::Turns { (3, 4) } else { (SAMPLES, CALLS) };
    let mut row = Vec::new();
    for &log in asked.lengths() {
        let len = max.min(1 << log);
        let plan = plans.for_len(len as u64);
        let variants = asked.variants(plan, element, kept);
        // All compiled beforehand, at once. Of one alone that tells what NVRTC takes.
        let compiled: Vec<f64> = variants
            .par_iter()
            .map(|variant| {
                let start = Instant::now();
                let scan = scanner.scan(op.clone()).overrides(variant.overrides);
                let few = scanner.context()?.new_stream().ok()?.clone_htod(&block[..8]).ok()?;
                scan.on(few.stream()).run(&few.slice(..)).ok()?;
                Some(start.elapsed().as_secs_f64() * 1e3)
            })
            .map(Option::unwrap_or_default)
            .collect();
        let bytes = len * (size_of::<Op::Input>() + size_of::<Op::Output>()) / 2;
        if asked.compares() {
            println!("| {name} | 2^{log} | {} | {} × {} |", plan.strategy.carry, plan.threads, plan.run);
        }
        let mut lines = Vec::new();
        for (variant, compiled) in variants.iter().zip(compiled) {
            let scan = scanner.scan(op.clone()).overrides(variant.overrides);
            let part = input.slice(..len);
            let mut results = output.slice_mut(..len);
            if let Err(error) = scan.on(&stream).run_into(&part, &mut results) {
                println!("    {:34} {error}", variant.name);
                continue;
            }
            let found = stream.clone_dtoh(&results.slice(..CHECKED.min(len)))?;
            compare(&found, &checked[..found.len()], Op::tolerance().max(1e-3))?;
            let (mut copies, mut scans) = (Vec::new(), Vec::new());
            for _ in 0..samples {
                let part_of_copy = from.slice(..bytes);
                let mut copied = to.slice_mut(..bytes);
                copies.push(sample(&stream, || {
                    (0..calls).try_for_each(|_| Ok(stream.memcpy_dtod(&part_of_copy, &mut copied)?))
                })?);
                scans.push(sample(&stream, || {
                    (0..calls).try_for_each(|_| Ok(scan.on(&stream).run_into(&part, &mut results)?))
                })?);
            }
            let [copy, time] = [copies, scans].map(|times| median(times) / calls as f64);
            if asked.compares() {
                let ratio = copy / time;
                let name = &variant.name;
                lines.push((
                    ratio,
                    format!("    {name:34} {time:9.2} µs, copy {copy:8.2}, {ratio:.3}, NVRTC {compiled:6.0} ms"),
                ));
            } else {
                row.push(format!(" {:.2}, {compiled:.0} ms |", copy / time));
            }
        }
        if asked == Asked::Turns && lines.len() > PLANNED {
            // Those of the planned shape come first.
            lines[PLANNED..].sort_by(|(a, _), (b, _)| b.total_cmp(a));
            lines.truncate(PLANNED + FASTEST);
        }
        lines.iter().for_each(|(_, line)| println!("{line}"));
    }
    if !asked.compares() {
        let [input, state, output] = [size_of::<Op::Input>(), size_of::<Op::State>(), size_of::<Op::Output>()];
        println!("| {name} | {input}, {state}, {output} |{}", row.concat());
    }
    Ok(())
}

/// The head of the table, where there is a line for each operator.
pub(super) fn print_head(asked: Asked) {
    if asked.compares() {
        return;
    }
    let lengths = LENGTHS.map(|log| format!(" 2^{log} |")).concat();
    println!("\n| operator | bytes: input, state, output |{lengths}\n|---|---|{}", "---|".repeat(LENGTHS.len()));
}
