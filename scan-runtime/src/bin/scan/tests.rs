//! Runs the program's commands.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

mod processes;

use scan_runtime::nvrtc;

use super::*;
use crate::ready::{ELEMENTS, OPERATORS};

fn run(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let arguments = Arguments::try_parse_from([&["scan"], arguments].concat())?;
    let mut out = Vec::new();
    super::run(arguments, &mut out)?;
    Ok(String::from_utf8(out)?)
}

fn output(arguments: &[&str]) -> String {
    run(arguments).unwrap()
}

#[test]
fn the_report_names_all_that_a_scan_needs() {
    for arguments in [&[][..], &["doctor", "--verbose"]] {
        let report = output(arguments);
        for part in ["driver", "NVRTC", "kernels on disk", "a scan takes", "CPU", "self-test"] {
            assert!(report.contains(part), "no {part} in:\n{report}");
        }
        assert!(!report.contains("wrong"), "{report}");
        assert_eq!(report.contains("looked into"), arguments.contains(&"--verbose"), "{report}");
        assert!(arguments.contains(&"--verbose") || report.lines().count() <= 12, "{report}");
    }
}

#[test]
fn every_operator_of_every_type_has_a_plan_and_a_source() {
    let mut shown = 0;
    for operator in OPERATORS {
        for element in ELEMENTS {
            let [plan, source] =
                ["plan", "cuda"].map(|what| run(&[what, operator, element, "--exclusive", "--arch", "sm_90"]).ok());
            assert_eq!(plan.is_some(), source.is_some());
            if let (Some(plan), Some(source)) = (plan, source) {
                assert!(plan.starts_with("exclusive scan") && source.contains("__global__"), "{operator} {element}");
                shown += 1;
            }
        }
    }
    // Four of numbers, three of bits (integers and bool), two of bool.
    assert_eq!(shown, 4 * 14 + 3 * 13 + 2);
}

#[test]
fn plans_are_those_of_the_length_and_the_architecture() {
    let plan = |len, arch| output(&["plan", "sum", "f32", "--len", len, "--arch", arch]);
    assert!(plan("100", "sm_90").contains("launch    scan_block, 1 blocks of"), "{}", plan("100", "sm_90"));
    assert!(plan("1000000", "sm_90").contains("launch    scan_look_at_all"), "{}", plan("1000000", "sm_90"));
    assert!(plan("1000000000", "sm_90").contains("launch    scan_look_ahead, 132 blocks"));
    assert!(plan("1000000000", "sm_80").contains("launch    scan_look_back"));
    let source = |len| output(&["cuda", "sum", "f32", "--len", len, "--arch", "sm_90"]);
    assert!(source("1000000000").contains("_scan_look_ahead(") && !source("100").contains("_scan_look_ahead("));
    let all = output(&["plan", "sum", "f32", "--arch", "sm_90"]);
    assert!(all.contains("elements on") && !all.contains("launch"), "{all}");
    let ranks = output(&["plan", "sum", "f64", "--len", "1000", "--ranks", "4", "--arch", "sm_90"]);
    assert!(ranks.contains("250 elements of a rank, 2000 bytes"), "{ranks}");
    assert!(run(&["plan", "sum", "f32", "--arch", "hopper"]).unwrap_err().to_string().contains("not an architecture"));
}

#[test]
fn files_that_are_not_bundles_are_errors() {
    let error = run(&["bundle", "/no/such/file"]).unwrap_err().to_string();
    assert!(error.contains("/no/such/file"), "{error}");
    let program = std::env::current_exe().unwrap();
    let error = run(&["bundle", program.to_str().unwrap()]).unwrap_err().to_string();
    assert!(error.starts_with("the precompiled kernels cannot be used: they are something else"), "{error}");
}

/// A reader that has read enough.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_output_ends_the_program_quietly() {
    for arguments in [&[][..], &["plan", "sum"], &["cuda", "sum"], &["explain", "sum"], &["cache"]] {
        let arguments = [&["scan"], arguments].concat();
        let error = super::run(Arguments::try_parse_from(&arguments).unwrap(), &mut Closed).unwrap_err();
        assert!(has_no_reader(&*error), "{arguments:?}: {error}");
    }
    assert!(!has_no_reader(&*run(&["bundle", "/no/such/file"]).unwrap_err()));
}

#[test]
fn an_operator_on_the_wrong_type_is_an_error() {
    let error = run(&["plan", "all", "f32"]).unwrap_err();
    assert_eq!(error.to_string(), "there is no `all` of f32: it is an operator on bool");
}

#[test]
fn plans_are_those_of_the_options() {
    let plan =
        |options: &[&str]| output(&[&["plan", "sum", "f32", "--len", "100000", "--arch", "sm_90"], options].concat());
    assert!(plan(&["--reverse"]).contains("from the last element to the first"), "{}", plan(&["--reverse"]));
    assert!(plan(&["--strategy", "reduce-then-scan"]).contains("launch    reduce_tiles"));
    for by in ["flags", "bits", "keys", "offsets", "rows"] {
        let shown = plan(&["--by", by]);
        let spec = shown.lines().nth(1).unwrap();
        assert!(spec.starts_with("inclusive scan, ") && spec.contains(by.trim_end_matches('s')), "{shown}");
    }
}

#[test]
fn the_default_is_explained_among_the_others() {
    let explain = |options: &[&str]| output(&[&["explain", "sum", "i32", "--arch", "sm_90"], options].concat());
    let table = explain(&["--len", "1000000"]);
    assert!(table.starts_with("inclusive scan by sum of i32, 1000000 elements, for sm_90"), "{table}");
    let marked: Vec<&str> =
        table.lines().filter(|line| line.starts_with("* ") && !line.contains("what runs")).collect();
    assert!(matches!(marked[..], [row] if row.starts_with("* look-at-all ")), "{table}");
    for carry in ["one block", "one cluster", "look-back", "chained", "reduce-then-scan", "look-ahead"] {
        assert_eq!(
            table.lines().filter(|line| line.starts_with(&format!("  {carry}  "))).count(),
            1,
            "{carry}:\n{table}"
        );
    }
    assert!(
        table.contains("from 1 elements on: runs in registers over warp shuffles in the block; one block"),
        "{table}"
    );

    // By block index, all blocks must be resident at once.
    let long = explain(&["--len", "1000000000"]);
    assert!(long.contains("not available\n  chained by block index: 1000000000 elements exceed"), "{long}");
    let older = output(&["explain", "max", "f64", "--arch", "sm_80"]);
    assert!(older.contains("one cluster: ") && older.contains("need compute capability 9.0"), "{older}");
    let all = explain(&["--all", "--exclusive"]);
    assert!(all.contains("Kogge-Stone") && all.contains("coarsened over Brent-Kung, padded"), "{all}");
    assert!(run(&["explain", "sum", "--len", "0"]).is_err());
}

#[test]
fn a_bench_has_a_row_for_each_length() {
    let table = output(&["bench", "sum", "i32", "--len", "1000", "--len", "3", "--turns", "1", "--reverse"]);
    let rows: Vec<&str> = table.lines().filter(|line| line.contains("GB/s")).collect();
    assert!(matches!(rows[..], [a, b] if a.starts_with("1000 ") && b.starts_with("3 ")), "{table}");
    assert!(run(&["bench", "any", "bool", "--len", "0"]).is_err() && run(&["bench", "sum", "--turns", "0"]).is_err());
    assert!(run(&["bench", "any", "f32"]).unwrap_err().to_string().contains("an operator on bool"));
}

#[test]
fn a_bundle_that_was_made_is_shown_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernels.scan");
    let file = file.to_str().unwrap();
    let make = |arguments: &[&str]| run(&[&["bundle", "make", "--out", file], arguments].concat());
    assert!(make(&["--arch", "sm_90", "sum:text"]).is_err());
    assert!(make(&["--arch", "sm_90", "all:f32"]).unwrap_err().to_string().contains("no `all` of f32"));
    assert!(make(&["sum:f32"]).unwrap_err().to_string().contains("--arch"));
    let made = make(&["--arch", "sm_80", "--arch", "sm_90", "--exclusive", "sum:f32", "any:bool"]);
    if nvrtc::locate().is_err() {
        assert!(made.unwrap_err().to_string().contains("NVRTC"));
        return;
    }
    assert!(made.unwrap().contains("kernel modules"));
    let shown = output(&["bundle", file]);
    for part in ["Sum: exclusive scan", "Any: exclusive scan", "\nsm_80: ", "\nsm_90: "] {
        assert!(shown.contains(part), "no {part} in:\n{shown}");
    }
    let check = |arguments: &[&str]| output(&[&["bundle", "check", "--file", file], arguments].concat());
    let whole = ["--exclusive", "--arch", "sm_86", "--arch", "sm_90", "sum:f32"];
    assert_eq!(check(&whole), "nothing is missing\n");
    assert!(check(&["--arch", "sm_90", "sum:f32"]).contains("sm_90"));
}
