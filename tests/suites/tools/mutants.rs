//! A few mutants of several templates and rules, as the command `mutants` tries hundreds: all are found.

use std::{path::PathBuf, time::Duration};

use scan_tests::{
    mutants::{Crew, Mutant, Outcome},
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
    ("hierarchical", "index"),
    ("chained", "equality"),
    ("look_back", "negate"),
    ("in_registers", "logic"),
    ("cluster", "order"),
    ("pipeline/team", "epoch"),
];

/// The first mutant of a template by a rule.
fn first(template: &str, rule: &str) -> Mutant {
    let mut mutants = Mutant::all().into_iter();
    let found = mutants.find(|mutant| mutant.template == template && mutant.rule == rule);
    found.unwrap_or_else(|| panic!("{template} has no mutant by the rule `{rule}`"))
}

#[test]
fn a_few_mutants_are_found() {
    let mutants: Vec<Mutant> = FOUND.iter().map(|(template, rule)| first(template, rule)).collect();
    let crew = Crew {
        program: PathBuf::from(env!("CARGO_BIN_EXE_mutants")),
        folder: target_dir().unwrap().join(format!("mutants-{}", std::process::id())),
        size: 2,
        patience: Duration::from_secs(120),
    };
    let outcomes = crew.examine(&mutants, |_, _| {}).unwrap();
    let missed: Vec<_> =
        mutants.iter().zip(&outcomes).filter(|(_, outcome)| !matches!(outcome, Outcome::Found(_))).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
