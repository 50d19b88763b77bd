//! `cargo run -p scan-tools --bin bundle`: release builds of the GPU tests, the examples and the benches, with a script
//! that runs them, in `bundle/`. For a machine that has a GPU and no Rust. With `--peers`, CUB goes with it, with
//! `--wheels` cuda.compute.

mod gallery;
mod peers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use serde_json::Value;

/// The script that runs the bundle's programs over there.
const RUN: &str = include_str!("run.sh");
/// What goes with the benches: the same measurements of Python's libraries.
const PYTHON: [(&str, &str); 4] = [
    ("benches/calls.py", include_str!("../../benches/calls/peers.py")),
    ("benches/world.py", include_str!("../../benches/world/peers.py")),
    ("benches/axis.py", include_str!("../../benches/engine/axis.py")),
    ("benches/training.py", include_str!("../../benches/engine/training.py")),
];
/// The integration tests that need a GPU.
const TESTS: [&str; 1] = ["gpu"];
/// The program of the library, and that of these tests which is worth a machine of many cores.
const PROGRAMS: [&str; 2] = ["scan", "soak"];
/// Programs for these kinds of target are taken along, each kind in a folder of its own.
const FOLDERS: [(&str, &str); 4] =
    [("test", "tests"), ("example", "examples"), ("bench", "benches"), ("bin", "programs")];
/// The most bytes of the packed bundle: such machines often take no more at once.
const LIMIT: u64 = 60 << 20;

/// Bundles the GPU tests, examples and benches for a machine without Rust.
#[derive(Parser)]
#[command(long_about = None)]
struct Arguments {
    /// CUB's scans too, which the bench `peers` measures ours beside: fetches nvcc and CUB from PyPI, and compiles.
    #[arg(long)]
    peers: bool,
    /// Only CUB's scans, for a bench that runs on this machine; no bundle.
    #[arg(long)]
    only_peers: bool,
    /// Wheels of `cuda.compute`, which the bench `calls` measures ours beside, for the Python of this version on the other machine:
    /// fetches them from PyPI.
    #[arg(long, value_name = "VERSION", num_args = 0..=1, default_missing_value = "3.12")]
    wheels: Option<String>,
    /// What nvcc compiles CUB for.
    #[arg(long, default_value = "sm_90")]
    arch: String,
}

fn main() -> ExitCode {
    match bundle(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn bundle(arguments: &Arguments) -> Result<(), String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
        return Err("bundles are for x86_64 Linux with glibc, and are made on such a machine".to_owned());
    }
    let workspace =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).ok_or("the tests lie outside a workspace")?;
    let peers = if arguments.peers || arguments.only_peers {
        let libraries = peers::build(workspace, &arguments.arch)?;
        libraries.iter().for_each(|library| println!("CUB's scans are in {}", library.display()));
        libraries.to_vec()
    } else {
        Vec::new()
    };
    if arguments.only_peers {
        return Ok(());
    }
    let wheels = arguments.wheels.as_deref().map(peers::wheels).transpose()?;
    let folder = workspace.join("bundle");
    let mut programs = build(workspace, &benches(workspace)?)?;
    let peer = |(name, path): (&str, PathBuf)| Program { folder: "peers", name: name.to_owned(), path };
    programs.extend(peers::LIBRARIES.into_iter().zip(peers).map(peer));

    for path in wheels.into_iter().flatten() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        programs.push(Program { folder: "wheels", name, path });
    }

    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    }
    let mut total = write_script(&folder.join("run.sh"))?;
    for (name, text) in PYTHON {
        total += write(&folder.join(name), text)?;
    }
    for program in &programs {
        let to = folder.join(program.folder).join(&program.name);
        let size = copy(&program.path, &to)?;
        total += size;
        println!("{:>6.1} MiB  {}/{}", mebibytes(size), program.folder, program.name);
    }
    println!("{:>6.1} MiB  in all, in {}", mebibytes(total), folder.display());
    let archive = workspace.join("bundle.tar.gz");
    let size = pack(workspace, &archive)?;
    println!("{:>6.1} MiB  packed, in {}", mebibytes(size), archive.display());
    if size > LIMIT {
        return Err(format!("the packed bundle must stay under {:.0} MiB", mebibytes(LIMIT)));
    }
    println!("Unpack it on a machine with an NVIDIA driver and NVRTC; `./run.sh help` there says what it runs.");
    Ok(())
}

/// Packs the bundle's folder. Returns the bytes of the archive.
fn pack(workspace: &Path, archive: &Path) -> Result<u64, String> {
    let mut tar = Command::new("tar");
    let status = tar.arg("-czf").arg(archive).arg("-C").arg(workspace).arg("bundle").status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("tar cannot pack the bundle: {status}")),
        Err(error) => return Err(format!("tar does not start: {error}")),
    }
    fs::metadata(archive).map(|file| file.len()).map_err(|error| format!("cannot read {}: {error}", archive.display()))
}

struct Program {
    folder: &'static str,
    name: String,
    path: PathBuf,
}

/// The names of the workspace's bench targets. Asked for one by one: `--benches` would build the libraries' unit tests
/// as well.
fn benches(workspace: &Path) -> Result<Vec<String>, String> {
    let output = cargo(workspace, &["metadata", "--format-version=1", "--no-deps"])?;
    let metadata: Value = serde_json::from_slice(&output).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let targets = packages.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    Ok(targets.filter(|target| kind(target) == Some("bench")).filter_map(name).collect())
}

/// Builds everything in one go and finds the programs in what Cargo reports.
fn build(workspace: &Path, benches: &[String]) -> Result<Vec<Program>, String> {
    let mut arguments = vec!["build", "--workspace", "--profile=bundle", "--message-format=json-render-diagnostics"];
    arguments.extend(["--features=scan-tests/gpu", "--examples"]);
    for test in TESTS {
        arguments.extend(["--test", test]);
    }
    for program in PROGRAMS {
        arguments.extend(["--bin", program]);
    }
    for bench in benches {
        arguments.extend(["--bench", bench]);
    }
    let output = cargo(workspace, &arguments)?;
    let mut programs = Vec::new();
    for line in output.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{")) {
        let message: Value = serde_json::from_slice(line).map_err(|error| format!("cargo build: {error}"))?;
        let target = &message["target"];
        let folder = FOLDERS.iter().find(|(of, _)| kind(target) == Some(of)).map(|(_, folder)| *folder);
        // Cargo builds all programs of a package for its integration tests.
        if kind(target) == Some("bin") && !name(target).is_some_and(|name| PROGRAMS.contains(&name.as_str())) {
            continue;
        }
        if let (Some(folder), Some(name), Some(path)) = (folder, name(target), message["executable"].as_str()) {
            programs.push(Program { folder, name, path: PathBuf::from(path) });
        }
    }
    programs.sort_by(|a, b| (a.folder, &a.name).cmp(&(b.folder, &b.name)));
    Ok(programs)
}

fn kind(target: &Value) -> Option<&str> {
    target["kind"][0].as_str()
}

fn name(target: &Value) -> Option<String> {
    target["name"].as_str().map(str::to_owned)
}

/// Runs Cargo, its messages passed on to the user, and returns what it wrote.
fn cargo(workspace: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(arguments)
        .current_dir(workspace)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if output.status.success() { Ok(output.stdout) } else { Err(format!("cargo {} failed", arguments[0])) }
}

fn copy(from: &Path, to: &Path) -> Result<u64, String> {
    create_parent(to)?;
    fs::copy(from, to).map_err(|error| format!("cannot copy {} to {}: {error}", from.display(), to.display()))
}

fn write(to: &Path, text: &str) -> Result<u64, String> {
    create_parent(to)?;
    fs::write(to, text).map_err(|error| format!("cannot write {}: {error}", to.display()))?;
    Ok(text.len() as u64)
}

fn write_script(to: &Path) -> Result<u64, String> {
    let bytes = write(to, RUN)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(to, fs::Permissions::from_mode(0o755))
            .map_err(|error| format!("cannot make {} executable: {error}", to.display()))?;
    }
    Ok(bytes)
}

fn create_parent(of: &Path) -> Result<(), String> {
    let parent = of.parent().ok_or_else(|| format!("{} has no folder", of.display()))?;
    fs::create_dir_all(parent).map_err(|error| format!("cannot create {}: {error}", parent.display()))
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
