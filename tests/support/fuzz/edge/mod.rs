//! Programs beyond the edge of the operator language: whatever the macro accepts of them, NVRTC must accept too, without a word.
//!
//! The programs of a batch are modules of one crate, each an operator with the items around it. Most are valid Rust, and mix what is
//! in the language with what is not. rustc is asked which are accepted: modules in which it finds an error, the macro's or its own,
//! are dropped, until none is left that has one. Of those that remain, every text is written and compiled for every architecture.

mod grammar;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use super::{Finding, Report, of_case};
use crate::beside;
use crate::target_dir;

/// How many programs share a crate.
pub const IN_A_BATCH: u64 = 400;

/// How often rustc is asked: it tells of errors stage by stage.
const MAX_STAGES: usize = 12;

const MANIFEST: &str = "[workspace]\n\n[package]\nname = \"edge\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n";

/// Compiles the texts of all operators for all architectures, and prints what is wrong.
const MAIN: &str = r#"
use scan_runtime::{Architecture, KernelSource, Error, nvrtc};

const ARCHITECTURES: [(u32, u32); 7] = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)];

fn check(number: u64, source: impl FnOnce() -> Result<KernelSource, Error>) {
    let wrong = |what: &str| println!("finding {number} {}", what.replace('\n', "\u{1f}"));
    let source = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(source)) {
        Ok(Ok(source)) => source,
        Ok(Err(error)) => return wrong(&format!("no text: {error}")),
        Err(_) => return wrong("a panic while the text is written"),
    };
    for (major, minor) in ARCHITECTURES {
        match nvrtc::compile(&source, "", Architecture { major, minor }) {
            Ok(compiled) if compiled.log.trim().is_empty() => (),
            Ok(compiled) => return wrong(&format!("sm_{major}{minor}: {}\n{}", compiled.log, source.text)),
            Err(error) => return wrong(&format!("sm_{major}{minor}: {error}\n{}", source.text)),
        }
    }
}
"#;

/// The program of a number, in Rust.
pub fn program(number: u64) -> String {
    grammar::program(&mut of_case(number))
}

/// Makes the programs from a number on, and checks those that are accepted.
pub fn batch(from: u64, count: u64) -> Result<Report, String> {
    let folder = target_dir()?.join("edge");
    let programs: Vec<(u64, String)> = (from..from + count).map(|number| (number, program(number))).collect();
    let mut left: BTreeSet<u64> = programs.iter().map(|(number, _)| *number).collect();
    write_crate(&folder, &programs)?;
    let mut builds = false;
    for _ in 0..MAX_STAGES {
        write_main(&folder, &left)?;
        let output = cargo(&folder, "build", &["--message-format=json"])?;
        if output.status.success() {
            builds = true;
            break;
        }
        let refused = refused(&output.stdout);
        if refused.is_disjoint(&left) {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("programs {from} to {}: rustc names no module:\n{text}", from + count - 1));
        }
        left.retain(|number| !refused.contains(number));
    }
    if !builds {
        return Err(format!("programs {from} and more: rustc finds errors without end"));
    }
    let library = crate::nvrtc()?;
    let binary = target_dir()?.join("debug").join(format!("edge{}", std::env::consts::EXE_SUFFIX));
    let output = Command::new(binary)
        .env(scan_runtime::nvrtc::LIBRARY_VARIABLE, library)
        .output()
        .map_err(|error| format!("the programs do not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut findings: Vec<Finding> = text.lines().filter_map(finding).collect();
    if !output.status.success() {
        let last = text.lines().rev().find_map(|line| line.strip_prefix("begins ")?.parse().ok()).unwrap_or(from);
        findings.push(Finding { case: last, message: format!("the process ended: {}", output.status) });
    }
    for finding in &mut findings {
        finding.message = format!("{}\n{}", finding.message, program(finding.case));
    }
    Ok(Report { executions: count, accepted: left.len() as u64, findings })
}

fn finding(line: &str) -> Option<Finding> {
    let (number, message) = line.strip_prefix("finding ")?.split_once(' ')?;
    Some(Finding { case: number.parse().ok()?, message: message.replace('\u{1f}', "\n") })
}

fn write_crate(folder: &Path, programs: &[(u64, String)]) -> Result<(), String> {
    let wrong = |error: std::io::Error| error.to_string();
    let _ = fs::remove_dir_all(folder.join("src"));
    fs::create_dir_all(folder.join("src")).map_err(wrong)?;
    let runtime = beside::workspace().join("scan-runtime");
    let manifest = format!(
        "{MANIFEST}[dependencies]\nscan-runtime = {{ path = {runtime:?}, {} }}\n\n{}\n",
        beside::FEATURES,
        beside::profile()
    );
    fs::write(folder.join("Cargo.toml"), manifest).map_err(wrong)?;
    fs::copy(beside::workspace().join("Cargo.lock"), folder.join("Cargo.lock")).map_err(wrong)?;
    for (number, program) in programs {
        let text = format!(
            "#![allow(warnings, arithmetic_overflow, unconditional_panic, overflowing_literals)]\n{program}\n\
             pub fn source() -> Result<scan_runtime::KernelSource, scan_runtime::Error> {{\n    \
             let strategy = scan_runtime::Strategy {{ block: scan_runtime::BlockScan::of(scan_runtime::Network::Sequential), \
             carry: scan_runtime::Carry::OneBlock }};\n    \
             scan_runtime::Scanner::cpu().scan({}).strategy(strategy).cuda_source()\n}}\n",
            grammar::OPERATOR
        );
        fs::write(folder.join(format!("src/p{number}.rs")), text).map_err(wrong)?;
    }
    Ok(())
}

/// The program that compiles the texts of the modules that are left.
fn write_main(folder: &Path, left: &BTreeSet<u64>) -> Result<(), String> {
    let modules: String = left.iter().map(|number| format!("mod p{number};\n")).collect();
    let calls: String = left
        .iter()
        .map(|number| format!("    println!(\"begins {number}\");\n    check({number}, p{number}::source);\n"))
        .collect();
    let text = format!("#![allow(warnings)]\n{modules}{MAIN}\nfn main() {{\n{calls}}}\n");
    fs::write(folder.join("src/main.rs"), text).map_err(|error| error.to_string())
}

fn cargo(folder: &Path, command: &str, more: &[&str]) -> Result<std::process::Output, String> {
    Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
        .args([command, "--offline", "--quiet", "--manifest-path"])
        .arg(folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target_dir()?)
        .args(more)
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))
}

/// The numbers of the modules in which rustc's messages find an error.
fn refused(messages: &[u8]) -> BTreeSet<u64> {
    let text = String::from_utf8_lossy(messages);
    let errors = text.lines().filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        (line["message"]["level"] == "error").then(|| line["message"].clone())
    });
    errors.filter_map(|message| module_of(&message)).collect()
}

/// The module that a message is about: that of a place it names, of one that what is there comes from, or of one that a note names.
fn module_of(message: &serde_json::Value) -> Option<u64> {
    fn of_span(span: &serde_json::Value) -> Option<u64> {
        let file = span["file_name"].as_str()?;
        let number = file.strip_prefix("src/p").and_then(|rest| rest.strip_suffix(".rs")?.parse().ok());
        number.or_else(|| span.get("expansion").filter(|from| !from.is_null()).and_then(|from| of_span(&from["span"])))
    }
    let spans = message["spans"].as_array().into_iter().flatten();
    let children = message["children"].as_array().into_iter().flatten();
    spans.filter_map(of_span).next().or_else(|| children.filter_map(module_of).next())
}
