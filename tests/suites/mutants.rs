//! A few mutants of several templates and rules, as the command `mutants` tries hundreds: all are found. Those that are
//! listed as survivors are mutants of the present templates.

use std::{error::Error, path::Path, process::ExitCode, time::Duration};

use libtest_mimic::{Arguments, Failed, Trial};
use scan_tests::{
    extent::one_in,
    mutants::{Crew, Mutant, Outcome, serve, survivors::Survivor},
    target_dir,
};

/// Templates, and rules that make a mistake there which must be found.
const FOUND: [(&str, &str); 12] = [
    ("kogge_stone", "order"),
    ("brent_kung", "operands"),
    ("blelloch", "bound"),
    ("warp_shuffle", "select"),
    ("coarsened", "offset"),
    ("reduce_contiguous", "order"),
    ("reduce_then_scan", "index"),
    ("chained", "equality"),
    ("look_back", "negate"),
    ("in_registers", "logic"),
    ("cluster", "order"),
    ("pipeline/team", "epoch"),
];

fn main() -> ExitCode {
    // What a crew starts is this program.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, folder] = &arguments[..]
        && flag == "--serve"
    {
        return match serve(Path::new(folder), std::io::stdin().lock(), std::io::stdout().lock()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let found = || one_of_each_is_found().map_err(|error| Failed::from(error.to_string()));
    let trials = vec![
        Trial::test("one_mutant_of_each_of_several_templates_is_found", found),
        Trial::test("listed_survivors_are_mutants", || listed_survivors_are_mutants().map_err(Failed::from)),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn listed_survivors_are_mutants() -> Result<(), String> {
    match Survivor::stale()?.first() {
        Some(survivor) => Err(format!("no mutant is this entry of the list any more:\n{survivor}")),
        None => Ok(()),
    }
}

/// The first mutant of a template by a rule.
fn first(template: &str, rule: &str) -> Result<Mutant, String> {
    let found = Mutant::all().into_iter().find(|mutant| mutant.template == template && mutant.rule == rule);
    found.ok_or_else(|| format!("{template} has no mutant by the rule `{rule}`"))
}

fn one_of_each_is_found() -> Result<(), Box<dyn Error>> {
    let mutants = one_in(4, FOUND).map(|(template, rule)| first(template, rule)).collect::<Result<Vec<_>, _>>()?;
    let crew = Crew {
        program: std::env::current_exe()?,
        folder: target_dir()?.join(format!("mutants-{}", std::process::id())),
        size: 2,
        patience: Duration::from_secs(120),
    };
    let outcomes = crew.examine(&mutants, |_, _| {})?;
    let missed: Vec<_> =
        mutants.iter().zip(&outcomes).filter(|(_, outcome)| !matches!(outcome, Outcome::Found(_))).collect();
    if missed.is_empty() { Ok(()) } else { Err(format!("{missed:#?}").into()) }
}
