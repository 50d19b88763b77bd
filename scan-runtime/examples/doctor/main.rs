//! What a scan finds on this machine: the driver, the devices, NVRTC, the cache of compiled kernels; what is missing, and
//! the command that mends it.
//!
//! ```sh
//! cargo run --release -p scan-runtime --example doctor                      # the report, and a quick self-test
//! cargo run --release -p scan-runtime --example doctor -- --clear-cache     # and removes the compiled kernels first
//! cargo run --release -p scan-runtime --example doctor -- plan sum f32 --exclusive --len 1000000 --arch sm_90
//! cargo run --release -p scan-runtime --example doctor -- cuda max i64      # the CUDA source
//! ```
//!
//! `operators.rs` finds the ready operators by name, `report.rs` looks around, `selftest.rs` scans.

mod operators;
mod report;
mod selftest;

use std::{
    error::Error,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use operators::What;

/// Tells what scans find on this machine
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Remove the compiled kernels from disk first
    #[arg(long)]
    clear_cache: bool,
}

#[derive(Subcommand)]
enum Command {
    /// What is there, what is missing, and a quick self-test (this is the default)
    Report,
    /// The compiled kernels on disk
    Cache {
        /// Remove them all
        #[arg(long)]
        clear: bool,
    },
    /// How a ready operator would be scanned
    Plan {
        #[command(flatten)]
        what: What,
    },
    /// The CUDA source that would run: of the longest inputs, unless `--len` tells another length
    Cuda {
        #[command(flatten)]
        what: What,
    },
    /// What a file holds that was compiled ahead of time
    Bundle {
        /// The file
        file: PathBuf,
    },
    /// The self-test alone
    Test,
}

fn main() -> ExitCode {
    match run(Arguments::parse(), &mut io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // Whoever reads has read enough: `doctor cuda sum | head`.
        Err(error) if has_no_reader(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn has_no_reader(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Whether all is well.
fn run(arguments: Arguments, out: &mut impl Write) -> Result<bool, Box<dyn Error>> {
    if arguments.clear_cache {
        report::clear_cache(out)?;
    }
    match arguments.command.unwrap_or(Command::Report) {
        Command::Report => {
            let found = report::write(out)?;
            return Ok(selftest::run(out)? && found);
        }
        Command::Test => return Ok(selftest::run(out)?),
        Command::Cache { clear: true } => report::clear_cache(out)?,
        Command::Cache { clear: false } => report::cache(out)?,
        Command::Bundle { file } => report::bundle(&file, out)?,
        Command::Plan { what } => writeln!(out, "{}", operators::show(&what)?.plan)?,
        Command::Cuda { what } => write!(out, "{}", operators::show(&what)?.source)?,
    }
    Ok(true)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use super::*;

    fn run(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        let arguments = Arguments::try_parse_from([&["doctor"], arguments].concat())?;
        let mut out = Vec::new();
        super::run(arguments, &mut out)?;
        Ok(String::from_utf8(out)?)
    }

    fn output(arguments: &[&str]) -> String {
        run(arguments).unwrap()
    }

    #[test]
    fn the_report_names_all_that_a_scan_needs() {
        let report = output(&[]);
        for part in ["driver", "NVRTC", "looked into", "kernels on disk", "a scan takes", "CPU", "self-test"] {
            assert!(report.contains(part), "no {part} in:\n{report}");
        }
        assert!(!report.contains("wrong"), "{report}");
    }

    #[test]
    fn every_operator_of_every_type_has_a_plan_and_a_source() {
        let mut shown = 0;
        for operator in operators::OPERATORS {
            for element in operators::ELEMENTS {
                let [plan, source] =
                    ["plan", "cuda"].map(|what| run(&[what, operator, element, "--exclusive", "--arch", "sm_90"]).ok());
                assert_eq!(plan.is_some(), source.is_some());
                if let (Some(plan), Some(source)) = (plan, source) {
                    assert!(
                        plan.starts_with("exclusive scan") && source.contains("__global__"),
                        "{operator} {element}"
                    );
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
        assert!(run(&["plan", "sum", "f32", "--arch", "hopper"]).unwrap_err().to_string().contains("no architecture"));
    }

    #[test]
    fn what_is_no_bundle_is_said() {
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
    fn nobody_is_told_that_nobody_reads() {
        for arguments in [&["doctor"][..], &["doctor", "plan", "sum"], &["doctor", "cuda", "sum"], &["doctor", "test"]]
        {
            let error = super::run(Arguments::try_parse_from(arguments).unwrap(), &mut Closed).unwrap_err();
            assert!(has_no_reader(&*error), "{arguments:?}: {error}");
        }
        assert!(!has_no_reader(&*run(&["bundle", "/no/such/file"]).unwrap_err()));
    }

    #[test]
    fn what_does_not_go_together_is_said() {
        let error = run(&["plan", "all", "f32"]).unwrap_err();
        assert_eq!(error.to_string(), "there is no `all` of f32: it is an operator on bool");
    }

    /// The tests that follow run it in a process of its own, whose variables are its own.
    const ARGUMENTS: &str = "DOCTOR_TEST_ARGUMENTS";

    #[test]
    fn child() {
        let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
        println!("\nbegin\n{}end", output(&arguments.split_whitespace().collect::<Vec<_>>()));
        println!("NVRTC is loaded: {}", scan_runtime::nvrtc::is_loaded());
    }

    fn process(arguments: &str, variables: &[(&str, &str)]) -> String {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "tests::child", "--nocapture", "--test-threads", "1"]);
        command.env(ARGUMENTS, arguments).envs(variables.iter().copied());
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        text[text.find("begin\n").unwrap() + 6..].to_owned()
    }

    #[test]
    fn what_is_missing_is_told_with_the_command_that_mends_it() {
        let report = process("", &[("SCAN_NVRTC", "off"), ("SCAN_CACHE", "off")]);
        assert!(report.contains("NVRTC            none\n"), "{report}");
        assert!(report.contains("SCAN_NVRTC says `off`; to mend it:\n                   unset SCAN_NVRTC"), "{report}");
        assert!(report.contains("kernels on disk  none: SCAN_CACHE says so"), "{report}");
        assert!(report.contains("NVRTC is loaded: false"), "{report}");

        // What is named and is no library; every place says what is there.
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libnvrtc.so.13");
        std::fs::write(&library, b"no library").unwrap();
        let (library, folder) = (library.to_str().unwrap(), folder.path().to_str().unwrap());
        for named in [library, folder] {
            let report = process("", &[("SCAN_NVRTC", named)]);
            assert!(report.contains(&format!("looked into    {named}: libnvrtc.so.13")), "{report}");
            assert!(report.contains(&format!("NVRTC at {library} cannot be used: ")), "{report}");
            assert!(report.contains("python3 -m pip install 'nvidia-cuda-nvrtc"), "{report}");
        }
        let report = process("", &[("SCAN_NVRTC", "/no/such/folder")]);
        assert!(report.contains("looked into    /no/such/folder: not there"), "{report}");
    }

    /// Where `pip` puts what the command for NVRTC installs is where it is looked for, whoever manages the Pythons.
    #[test]
    fn what_pip_installs_is_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        for (binaries, python) in [
            ("plain/bin", "plain"),
            ("pyenv/shims", "pyenv/versions/3.11.7"),
            ("mise/shims", "mise/installs/python/3.13.1"),
            ("links", "elsewhere/cpython-3.12"),
        ] {
            let (binaries, python) = (folder.path().join(binaries), folder.path().join(python));
            let packages = python.join("lib/python3.12/site-packages/nvidia/cu13/lib");
            for folder in [&binaries, &python.join("bin"), &packages] {
                std::fs::create_dir_all(folder).unwrap();
            }
            std::fs::write(python.join("bin/python3.12"), "").unwrap();
            let python3 = binaries.join("python3");
            if binaries.ends_with("links") {
                std::os::unix::fs::symlink(python.join("bin/python3.12"), python3).unwrap();
            } else {
                std::fs::write(python3, "").unwrap();
            }
            std::fs::write(packages.join("libnvrtc.so.13"), b"no library").unwrap();
            let report = process("", &[("PATH", binaries.to_str().unwrap()), ("SCAN_NVRTC", "")]);
            let packages = packages.canonicalize().unwrap();
            assert!(report.contains(&format!("{}: libnvrtc.so.13", packages.display())), "{report}");
        }
    }

    #[test]
    fn the_cache_is_shown_and_cleared_without_loading_anything() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().to_str().unwrap();
        let entry = folder.path().join(format!("{}.cubin", "0".repeat(64)));
        let mut bytes = b"SCANCUB1".to_vec();
        bytes.resize(3 << 20, 0);
        let (cache, clear) = (&[("SCAN_CACHE", place)], format!("from {place}"));
        for command in ["cache --clear", "--clear-cache cache"] {
            std::fs::write(&entry, &bytes).unwrap();
            let shown = process("cache", cache);
            assert!(shown.contains(&format!("1 entries, 3.0 MiB of 256 at the most, in {place}")), "{shown}");
            let cleared = process(command, cache);
            assert!(cleared.contains("removed 1 entries, 3.0 MiB") && cleared.contains(&clear), "{cleared}");
            assert!(!entry.exists());
            assert!(cleared.contains("NVRTC is loaded: false"), "{cleared}");
        }
        let plan = process("plan max i32", cache);
        assert!(plan.starts_with("inclusive scan") && plan.contains("NVRTC is loaded: false"), "{plan}");
    }
}
