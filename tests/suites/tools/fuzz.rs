//! A short run of every fuzzer, always the same one: see [`scan_tests::fuzz`].

use scan_tests::fuzz::{self, Report, Until};

fn short(cases: u64, case: impl Fn(u64) -> Result<bool, String>) -> Report {
    from(1, cases, case)
}

fn from(first: u64, cases: u64, case: impl Fn(u64) -> Result<bool, String>) -> Report {
    let report = fuzz::run(first, Until::Cases(cases), case);
    let findings: Vec<String> =
        report.findings.iter().map(|finding| format!("case {}: {}", finding.case, finding.message)).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n\n"));
    // A run whose cases are mostly refused proves little.
    assert_eq!(report.executions, cases);
    assert!(report.accepted >= cases / 4, "{} of {cases} cases are accepted", report.accepted);
    report
}

// These take the longest of all: two tests run side by side.
#[test]
fn plans_are_sound_or_refused() {
    from(1, 750, fuzz::plans::case);
}

#[test]
fn more_plans_are_sound_or_refused() {
    from(751, 750, fuzz::plans::case);
}

#[test]
fn a_cache_returns_stored_entries_and_leaves_other_files_alone() {
    short(150, fuzz::disk_cache::case);
}

#[test]
fn the_cpu_backend_equals_a_plain_loop() {
    short(400, fuzz::cpu::case);
}

/// A case that is wrong, or panics, is found.
#[test]
fn wrong_and_panicking_cases_are_findings() {
    let wrong = |number: u64| match number % 5 {
        0 => Err("wrong".to_owned()),
        1 => panic!("at once"),
        2 => Ok(false),
        _ => Ok(true),
    };
    let Report { executions, accepted, findings } = fuzz::run(10, Until::Cases(5), wrong);
    assert_eq!((executions, accepted), (5, 2));
    let found: Vec<_> = findings.iter().map(|finding| (finding.case, finding.message.as_str())).collect();
    assert!(matches!(found[..], [(10, "wrong"), (11, message)] if message.contains("at once")), "{found:?}");
}
