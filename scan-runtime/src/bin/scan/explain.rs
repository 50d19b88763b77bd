//! The launches and the cost of each strategy at a length, by formula.

use std::{error::Error, io::Write};

use scan_runtime::{
    Plan, Plans, Strategy,
    scan_codegen::{Count, Launch},
};

use crate::{
    ready::Ready,
    strategies, table,
    what::{self, AnyScan, Shape, Target, Way},
};

/// A scan of a length. The cost model does not depend on data, so it is a scan without segments.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    ready: Ready,
    #[command(flatten)]
    way: Way,
    #[command(flatten)]
    target: Target,
    /// For inputs of this length
    #[arg(long, default_value_t = 1 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    len: u64,
    /// The networks of the textbooks, too
    #[arg(long)]
    all: bool,
}

/// Writes the table, the planner's choice for each length, and the strategies that are not available.
pub(crate) fn write(arguments: Arguments, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let Arguments { ready, way, target, len, all } = arguments;
    let scan = what::scan(ready, Shape { way, ..Shape::default() }, &target.scanner()?)?;
    let plans = scan.plan()?;
    let chosen = plans.for_len(len);
    writeln!(out, "{} by {}, {len} elements, for {}\n", chosen.spec, ready, plans.device())?;

    let mut rows = vec![row("* ", chosen, len)?];
    let mut unavailable = Vec::new();
    let others = if all { strategies::of_textbooks() } else { Vec::new() };
    for strategy in strategies::named().into_iter().chain(others).filter(|other| *other != chosen.strategy) {
        match row_of(&*scan, strategy, len) {
            Ok(row) => rows.push(row),
            Err(error) => unavailable.push((strategy, error)),
        }
    }
    const HEADER: [&str; 9] =
        ["  carry", "launches", "blocks", "threads", "tile", "applied", "steps", "barriers", "bytes"];
    table::write(&[&HEADER[..], &["in the block"]].concat(), &rows, out)?;
    writeln!(out, "\n* what runs. Applications of the operator and bytes of global memory are per element.")?;
    writeln!(out, "  Steps and barriers are those of the block that has most, over all launches.")?;
    if !unavailable.is_empty() {
        writeln!(out, "\nnot available")?;
    }
    for (strategy, error) in unavailable {
        writeln!(out, "  {}: {error}", strategy.carry)?;
    }
    write_choice(&plans, out)
}

fn row_of(scan: &dyn AnyScan, strategy: Strategy, len: u64) -> Result<Vec<String>, Box<dyn Error>> {
    let plans = scan.plan_by(strategy)?;
    row("  ", plans.for_len(len), len)
}

fn row(mark: &str, plan: &Plan, len: u64) -> Result<Vec<String>, Box<dyn Error>> {
    let (cost, launches) = (plan.cost(len)?, plan.schedule(len)?.launches);
    let max = |figure: fn(&Launch) -> u32| launches.iter().map(figure).max().unwrap_or(0).to_string();
    Ok(vec![
        format!("{mark}{}", plan.strategy.carry),
        launches.len().to_string(),
        max(|launch| launch.blocks),
        max(|launch| launch.threads),
        plan.tile.to_string(),
        per_element(cost.applications(), len),
        cost.steps().to_string(),
        cost.barriers().to_string(),
        per_element(cost.global_bytes().into(), len),
        plan.strategy.block.to_string(),
    ])
}

/// A figure divided by the number of elements.
fn per_element(figure: Count, len: u64) -> String {
    let ratio = |count: u64| format!("{:.2}", count as f64 / len as f64);
    let (min, max) = (ratio(figure.min), ratio(figure.max));
    if min == max { min } else { format!("{min} to {max}") }
}

/// The planner's choice for each length.
fn write_choice(plans: &Plans, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    writeln!(out, "\nby default")?;
    let mut strategy = None;
    for plan in plans.iter() {
        // Some plans differ in the shape of a block only.
        if strategy.replace(plan.strategy) != Some(plan.strategy) {
            writeln!(out, "  from {} elements on: {}", plan.from.max(1), plan.strategy)?;
        }
    }
    writeln!(out, "These lengths were measured (docs/tuning.md of the project). The figures above are no times.")?;
    Ok(())
}
