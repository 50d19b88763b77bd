//! The long run: everything that takes too long for each change, before an issue is called resolved or a version is published.
//!
//! ```console
//! $ cargo run --release -p scan-tools --bin long                  # some hours on two cores
//! $ cargo run --release -p scan-tools --bin long -- --only soak --only fuzz --minutes 60
//! ```
//!
//! It adds a row to `docs/long-runs.md`, which says when, at which commit and what ran. Commit that.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use clap::{Parser, ValueEnum};
use scan_runtime::Scanner;
use scan_tests::extent;

/// Runs everything that takes too long for each change.
#[derive(Parser)]
struct Arguments {
    /// Only this part; several may be named.
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// How long `soak` and each of the fuzzers go on.
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// How many mutants of the templates are examined.
    #[arg(long, default_value_t = 200)]
    mutants: u64,
    /// How many random programs are compared with their Rust.
    #[arg(long, default_value_t = 10_000)]
    programs: u64,
    /// Takes the screens of `docs/explorer.html` anew that `docs` shows.
    #[arg(long)]
    screens: bool,
}

/// The screens of `docs`: the file, the step of the page, the size of the window.
const SCREENS: [(&str, &str, &str); 2] = [
    ("explorer.png", "Brent-Kung,sum,64,11", "1000,1640"),
    ("explorer_small.png", "four tiles: look-back,sum,128,30", "390,844"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Each feature of `scan-runtime` alone, and the oldest Rust where it is installed.
    Checks,
    /// All tests, each with all that it knows.
    Tests,
    /// Random programs of the operator language.
    Programs,
    /// The fuzzers.
    Fuzz,
    /// Mutants of the templates.
    Mutants,
    /// Random scans in the emulator.
    Soak,
    /// The CPU backend in Miri, where it is installed.
    Miri,
    /// The CPU backend of aarch64 in an emulator, where it, a linker and the target are installed.
    Aarch64,
    /// The GPU tests, where there is a GPU.
    Gpu,
    /// Each step of `docs/explorer.html` in Chromium, where it is installed.
    Browser,
    /// The crates for other frameworks, which are workspaces of their own; on CUDA too, where `nvcc` is installed.
    Integrations,
}

/// What has become of a part.
enum Outcome {
    Passed,
    Failed(String),
    LeftOut(&'static str),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let workspace =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).ok_or("the tools lie outside a workspace")?;
    let run = Run { workspace: workspace.to_owned(), arguments };
    let commit = run.commit()?;
    let (mut passed, mut left_out, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for &part in Part::value_variants() {
        if !arguments.only.is_empty() && !arguments.only.contains(&part) {
            continue;
        }
        println!("\n== {part:?}");
        let start = Instant::now();
        let outcome = run.part(part)?;
        let name = format!("{part:?}").to_lowercase();
        match outcome {
            Outcome::Passed => passed.push(format!("{name} {} min", start.elapsed().as_secs().div_ceil(60))),
            Outcome::LeftOut(why) => left_out.push(format!("{name}: {why}")),
            Outcome::Failed(what) => failed.push(format!("{name}: {what}")),
        }
    }
    let or_none = |parts: &[String]| if parts.is_empty() { "none".to_owned() } else { parts.join("; ") };
    let date = jiff::Timestamp::now().to_string();
    let date = date.split('T').next().unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let row = format!(
        "| {date} | {commit} | {cores} | {} | {} | {} |\n",
        or_none(&passed),
        or_none(&failed),
        or_none(&left_out)
    );
    let file = workspace.join("docs/long-runs.md");
    let mut page = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    page.push_str(&row);
    fs::write(&file, page).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("\n{row}\nThe row is in docs/long-runs.md: commit it.");
    Ok(failed.is_empty())
}

struct Run<'a> {
    workspace: PathBuf,
    arguments: &'a Arguments,
}

impl Run<'_> {
    fn part(&self, part: Part) -> Result<Outcome, String> {
        let Arguments { minutes, mutants, programs, .. } = self.arguments;
        let tool = |arguments: &str| self.cargo(&format!("run --release -p scan-tools --bin {arguments}"));
        match part {
            Part::Checks => self.checks(),
            Part::Tests => self.all([self.cargo("test --workspace --features scan-tests/long --no-fail-fast")]),
            // Others every day.
            Part::Programs => {
                let day = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400);
                self.all([tool(&format!("programs -- --seed {day} --count {programs}"))])
            }
            Part::Fuzz => self.all(
                ["plans", "disk-cache", "cpu", "edge"]
                    .map(|fuzzer| tool(&format!("fuzz -- {fuzzer} --seconds {}", 60 * minutes))),
            ),
            Part::Mutants => self.all([tool(&format!("mutants -- --sample {mutants}"))]),
            Part::Soak => self.all([tool(&format!("soak -- --minutes {minutes}"))]),
            Part::Miri => self.miri(),
            Part::Aarch64 => self.aarch64(),
            Part::Gpu => match Scanner::cuda(0) {
                Ok(_) => self.all([self.cargo("test --release -p scan-tests --features gpu --test gpu")]),
                Err(_) => Ok(Outcome::LeftOut("no usable GPU")),
            },
            Part::Browser => self.browser(),
            Part::Integrations => self.integrations(),
        }
    }

    fn checks(&self) -> Result<Outcome, String> {
        let feature = |features: &str| {
            let mut check = self.cargo("check -p scan-runtime --lib --no-default-features --features");
            check.arg(features);
            check
        };
        let features = ["", "cuda", "half", "cli", "gallery", "ndarray"].map(&feature);
        let mut checks = Vec::from(features);
        // The oldest bindings of CUDA that a user may choose.
        checks.push(feature("cuda,cudarc/cuda-12000"));
        let manifest = fs::read_to_string(self.workspace.join("Cargo.toml")).map_err(|error| error.to_string())?;
        let oldest =
            manifest.split("rust-version = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let installed = self.answers(Command::new("cargo").args([&format!("+{oldest}"), "--version"]));
        if installed {
            checks.push(self.cargo(&format!("+{oldest} check --workspace --lib --bins --examples --locked")));
        }
        match self.all(checks)? {
            Outcome::Passed if !installed => {
                Ok(Outcome::LeftOut("all but the oldest Rust passed, which is not installed"))
            }
            outcome => Ok(outcome),
        }
    }

    fn miri(&self) -> Result<Outcome, String> {
        if !self.answers(Command::new("cargo").args(["+nightly", "miri", "--version"])) {
            return Ok(Outcome::LeftOut("not installed"));
        }
        let modules = "cpu parameters element heads staging caught op::";
        let mut miri = self.cargo(&format!("+nightly miri test -p scan-runtime --lib -- {modules}"));
        // For rayon, whose pool has threads that never end and whose queues break the stacked-borrows rules.
        let flags = "-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows -Zmiri-num-cpus=4";
        miri.env("MIRIFLAGS", flags);
        self.all([miri])
    }

    /// Its registers are others than those of x86-64. CONTRIBUTING.md says what to install.
    fn aarch64(&self) -> Result<Outcome, String> {
        let (emulator, linker, target) = ("qemu-aarch64", "aarch64-linux-gnu-gcc", "aarch64-unknown-linux-gnu");
        if !self.answers(Command::new(emulator).arg("--version")) {
            return Ok(Outcome::LeftOut("no qemu-aarch64"));
        }
        if !self.answers(Command::new(linker).arg("--version")) {
            return Ok(Outcome::LeftOut("no aarch64-linux-gnu-gcc"));
        }
        // The folder is named whether it is there or not.
        let mut libraries = Command::new("rustc");
        libraries.args(["--print", "target-libdir", "--target", target]).env_remove("RUSTUP_TOOLCHAIN");
        let libraries = libraries.current_dir(&self.workspace).output().map_err(|error| format!("rustc: {error}"))?;
        if !Path::new(String::from_utf8_lossy(&libraries.stdout).trim()).is_dir() {
            return Ok(Outcome::LeftOut("no Rust target aarch64-unknown-linux-gnu"));
        }
        let mut tests = self.cargo(&format!("test --target {target} -p scan-runtime --lib cpu"));
        tests.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", linker);
        tests.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", format!("{emulator} -L /usr/aarch64-linux-gnu"));
        self.all([tests])
    }

    fn integrations(&self) -> Result<Outcome, String> {
        let candle = |command: &str, options: &str| {
            self.cargo(&format!("{command} --locked --manifest-path integrations/candle/Cargo.toml {options}"))
        };
        let mut commands = vec![candle("clippy", "--all-targets -- -D warnings"), candle("test", "--all-targets")];
        commands.push(candle("test", "--doc"));
        let has_nvcc = self.answers(Command::new("nvcc").arg("--version"));
        if has_nvcc {
            commands.push(candle("test", "--release --features cuda"));
        }
        match self.all(commands)? {
            Outcome::Passed if !has_nvcc => Ok(Outcome::LeftOut("all but candle's CUDA passed, which needs nvcc")),
            outcome => Ok(outcome),
        }
    }

    /// The page itself goes through all its steps, and says so in its title.
    fn browser(&self) -> Result<Outcome, String> {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let Some(name) = names.into_iter().find(|name| self.answers(Command::new(name).arg("--version"))) else {
            return Ok(Outcome::LeftOut("no Chromium"));
        };
        let docs = self.workspace.join("docs");
        let browse = |arguments: &[&str], step: &str| {
            let page = format!("file://{}#{step}", docs.join("explorer.html").display());
            let mut browser = Command::new(name);
            browser
                .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
                .args(arguments)
                .arg(&page);
            browser.output().map_err(|error| format!("{name} {page}: {error}"))
        };
        if self.arguments.screens {
            for (file, step, size) in SCREENS {
                let file = format!("--screenshot={}", docs.join(file).display());
                browse(&[&file, &format!("--window-size={size}")], &step.replace(' ', "%20"))?;
            }
        }
        let output = browse(&["--virtual-time-budget=60000", "--dump-dom"], "check")?;
        let shown = String::from_utf8_lossy(&output.stdout);
        let title = shown.split("<title>").nth(1).and_then(|rest| rest.split('<').next()).unwrap_or_default();
        println!("{title}");
        match title.ends_with("steps are as recorded") {
            true => Ok(Outcome::Passed),
            false => Ok(Outcome::Failed(format!("`{title}`: open docs/explorer.html#check in a browser"))),
        }
    }

    /// Cargo, which must not be the one of this program's toolchain where another is named.
    fn cargo(&self, arguments: &str) -> Command {
        let mut command = Command::new("cargo");
        command.args(arguments.split(' ')).current_dir(&self.workspace).env(extent::VARIABLE, "long");
        command.env_remove("RUSTUP_TOOLCHAIN");
        command
    }

    /// Runs commands to the end, whatever becomes of those before.
    fn all(&self, commands: impl IntoIterator<Item = Command>) -> Result<Outcome, String> {
        let mut failed = String::new();
        for mut command in commands {
            let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
            if !status.success() {
                let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
                let _ = write!(failed, "`cargo {}` {status} ", arguments.join(" ")); // a string takes it
            }
        }
        Ok(if failed.is_empty() { Outcome::Passed } else { Outcome::Failed(failed.trim().to_owned()) })
    }

    fn answers(&self, command: &mut Command) -> bool {
        command.env_remove("RUSTUP_TOOLCHAIN").output().is_ok_and(|output| output.status.success())
    }

    /// The commit that is checked out, and whether the folder has other changes.
    fn commit(&self) -> Result<String, String> {
        let git = |arguments: &[&str]| {
            let output = Command::new("git").args(arguments).current_dir(&self.workspace).output();
            let output = output.map_err(|error| format!("git: {error}"))?;
            Ok::<_, String>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let changed = if git(&["status", "--porcelain"])?.is_empty() { "" } else { ", changed" };
        Ok(format!("{}{changed}", git(&["rev-parse", "--short", "HEAD"])?))
    }
}
