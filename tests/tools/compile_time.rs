//! What the macros cost at compile time: a crate with many operators, beside the same crate without the attributes.
//!
//! ```console
//! $ cargo run -p scan-tools --bin compile_time
//! ```
//!
//! Both crates depend on `scan-runtime`, whose build is not timed. Each time is that of the crate alone, whose only file has been
//! touched; the crates take turns. On Linux the processors' time is told too, which other work on the machine disturbs less.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::{Duration, Instant, SystemTime},
};

use clap::Parser;
use scan_tests::target_dir;

/// Times the build of a crate of operators, with and without the attributes.
#[derive(Parser)]
struct Arguments {
    /// How many operators.
    #[arg(long, default_value_t = 100)]
    operators: usize,
    /// How often each build is timed; the median is told.
    #[arg(long, default_value_t = 7)]
    runs: usize,
}

/// Kinds of operators, in turn; `@` is a number. What stands between `⟦` and `⟧` is left out without the attributes, what
/// stands between `⟪` and `⟫` with them.
const KINDS: [&str; 4] = [
    "
⟦#[scan_op(identity = f32::NEG_INFINITY)]⟧
pub fn larger_@(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}
",
    "
⟦#[scan_element]⟧
#[derive(Clone, Copy)]
pub struct Affine@ {
    pub a: f32,
    pub b: f32,
}

⟦#[scan_op(identity = Affine@ { a: 1.0, b: 0.0 })]⟧
pub fn compose_@(f: Affine@, g: Affine@) -> Affine@ {
    Affine@ { a: f.a * g.a, b: g.a * f.b + g.b }
}
",
    "
pub struct Product@;

⟦#[scan_op]⟧
impl⟦ ScanOp for⟧ Product@ {
    ⟦type Element = [[u32; 3]; 3];⟧
    ⟦const IDENTITY: [[u32; 3]; 3] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];⟧
    ⟪pub⟫ fn combine(a: [[u32; 3]; 3], b: [[u32; 3]; 3]) -> [[u32; 3]; 3] {
        let mut product = [[0_u32; 3]; 3];
        for i in 0..3_usize {
            for j in 0..3_usize {
                for k in 0..3_usize {
                    product[i][j] = product[i][j].wrapping_add(a[i][k].wrapping_mul(b[k][j]));
                }
            }
        }
        product
    }
}
",
    "
⟦#[scan_element]⟧
#[derive(Clone, Copy)]
pub struct Unmatched@ {
    pub close: u32,
    pub open: u32,
}

pub struct Brackets@;

⟦#[scan_op]⟧
impl⟦ ScanOp for⟧ Brackets@ {
    ⟦type Input = u8;⟧
    ⟦type State = Unmatched@;⟧
    ⟦type Output = bool;⟧
    ⟦const IDENTITY: Unmatched@ = Unmatched@ { close: 0, open: 0 };⟧
    ⟪pub⟫ fn lift(byte: u8) -> Unmatched@ {
        match byte {
            b'(' => Unmatched@ { close: 0, open: 1 },
            b')' => Unmatched@ { close: 1, open: 0 },
            _ => Unmatched@ { close: 0, open: 0 },
        }
    }
    ⟪pub⟫ fn combine(a: Unmatched@, b: Unmatched@) -> Unmatched@ {
        let matched = a.open.min(b.close);
        Unmatched@ { close: a.close + b.close - matched, open: a.open + b.open - matched }
    }
    ⟪pub⟫ fn project(s: Unmatched@) -> bool {
        s.close == 0
    }
}
",
];

fn main() -> ExitCode {
    match measure(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<(), String> {
    let folder = target_dir()?.join("compile_time");
    let crates = [("without attributes", false), ("with attributes", true)];
    let mut packages = Vec::new();
    for (label, attributes) in crates {
        packages.push((label, Package::write(&folder, arguments.operators, attributes)?));
    }
    println!("{} operators, medians of {} runs, in seconds:\n", arguments.operators, arguments.runs.max(1));
    println!("| | check | processor | build | processor |\n|---|--:|--:|--:|--:|");
    let mut times = vec![[Vec::new(), Vec::new()]; packages.len()];
    for run in 0..=arguments.runs.max(1) {
        for ((_, package), times) in packages.iter().zip(&mut times) {
            for (command, times) in ["check", "build"].into_iter().zip(times) {
                let time = package.time(command)?;
                // The first run has built the dependencies.
                if run > 0 {
                    times.push(time);
                }
            }
        }
    }
    for ((label, _), times) in packages.iter().zip(&mut times) {
        print!("| {label} |");
        for times in times {
            let mut median = |time: fn(&Time) -> Duration| {
                times.sort_unstable_by_key(time);
                time(&times[times.len() / 2]).as_secs_f64()
            };
            print!(" {:.2} | {:.2} |", median(|time| time.wall), median(|time| time.processor));
        }
        println!();
    }
    Ok(())
}

/// What a build took.
#[derive(Clone)]
struct Time {
    wall: Duration,
    processor: Duration,
}

/// The processors' time of all processes that this one has started and waited for; zero where there is no `/proc`.
fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which may hold anything and ends with a bracket: the 14th and 15th, in hundredths of a second.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(10 * ticks.sum::<u64>())
}

/// A crate of its own, outside of the workspace.
struct Package {
    folder: PathBuf,
    target: PathBuf,
}

impl Package {
    fn write(folder: &Path, operators: usize, attributes: bool) -> Result<Self, String> {
        let name = if attributes { "with" } else { "without" };
        let workspace =
            Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).ok_or("the tests lie outside a workspace")?;
        let package = Package { folder: folder.join(name), target: folder.join("target") };
        let runtime = workspace.join("scan-runtime");
        let manifest = format!(
            "[package]\nname = \"{name}_attributes\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\nscan-runtime.path = {:?}\n",
            runtime.display().to_string()
        );
        let head = if attributes {
            "use scan_runtime::{ScanOp, scan_element, scan_op};\n"
        } else {
            "use scan_runtime as _;\n"
        };
        let body: String = (0..operators).map(|number| operator(number, attributes)).collect();
        let write = |path: PathBuf, text: &str| {
            let failed = |error| format!("cannot write {}: {error}", path.display());
            fs::create_dir_all(path.parent().unwrap_or(&path)).and_then(|()| fs::write(&path, text)).map_err(failed)
        };
        write(package.folder.join("Cargo.toml"), &manifest)?;
        write(package.folder.join("src/lib.rs"), &format!("{head}{body}"))?;
        // The versions that this workspace is built with.
        let lock = fs::read_to_string(workspace.join("Cargo.lock")).map_err(|error| format!("Cargo.lock: {error}"))?;
        write(package.folder.join("Cargo.lock"), &lock)?;
        Ok(package)
    }

    /// How long Cargo takes once the file has changed.
    fn time(&self, command: &str) -> Result<Time, String> {
        let file = self.folder.join("src/lib.rs");
        let touched =
            fs::File::options().append(true).open(&file).and_then(|file| file.set_modified(SystemTime::now()));
        touched.map_err(|error| format!("cannot touch {}: {error}", file.display()))?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let (start, before) = (Instant::now(), processor_time());
        let output = Command::new(cargo)
            .args([command, "--quiet", "--offline", "--target-dir"])
            .arg(&self.target)
            .current_dir(&self.folder)
            .output()
            .map_err(|error| format!("cargo does not start: {error}"))?;
        let time = Time { wall: start.elapsed(), processor: processor_time().saturating_sub(before) };
        match output.status.success() {
            true => Ok(time),
            false => Err(format!(
                "cargo {command} in {}:\n{}",
                self.folder.display(),
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }
}

fn operator(number: usize, attributes: bool) -> String {
    let mut text = String::new();
    let mut kept = vec![true];
    for letter in KINDS[number % KINDS.len()].chars() {
        match letter {
            '⟦' => kept.push(attributes),
            '⟪' => kept.push(!attributes),
            '⟧' | '⟫' => drop(kept.pop()),
            _ if kept.last() == Some(&false) => {}
            '@' => text.push_str(&number.to_string()),
            letter => text.push(letter),
        }
    }
    text
}
