//! Crates beside the workspace, as users write them, that tests build.
//!
//! They are built into the folder that the tests were built into, with the profile, the lock file and the features of the
//! workspace: so what they depend on is there, and is not built again with others.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::target_dir;

/// The manifest of the workspace.
pub const MANIFEST: &str = include_str!("../../Cargo.toml");

/// The paragraph of the workspace's manifest that says how debug builds are made.
pub fn profile() -> &'static str {
    let there = MANIFEST.find("[profile.dev]").map_or("", |start| &MANIFEST[start..]);
    there.split("\n\n").next().unwrap_or_default()
}

/// The folder of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(1).unwrap_or(Path::new("."))
}

/// The lines of `[dependencies]` for `scan-runtime`. Its features are those of the tests; `num-traits` has its default
/// ones here, as the dependencies of the tests have it.
pub fn runtime() -> String {
    let path = workspace().join("scan-runtime");
    format!(
        "scan-runtime = {{ path = {path:?}, features = [\"cli\", \"gallery\", \"ndarray\"] }}\nnum-traits = \"0.2\"\n"
    )
}

/// Writes a file, unless it has this text: Cargo takes a file that is written anew for a changed one.
///
/// # Errors
///
/// Those of writing it.
pub fn write(to: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(to).is_ok_and(|there| there == text) {
        return Ok(());
    }
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(to, text)
}

/// A crate, or a workspace of some, in a folder of its own in the target folder.
#[derive(Debug)]
pub struct Beside {
    /// Its folder.
    pub folder: PathBuf,
    /// The target folder.
    pub target: PathBuf,
}

impl Beside {
    /// Writes its manifest, which ends with [the profile](profile), and its lock file.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn new(name: &str, manifest: &str) -> Result<Self, String> {
        let target = target_dir()?;
        let folder = target.join(name);
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        write(&folder.join("Cargo.toml"), manifest).map_err(failed)?;
        let lock = folder.join("Cargo.lock");
        if !lock.exists() {
            fs::copy(workspace().join("Cargo.lock"), lock).map_err(failed)?;
        }
        Ok(Beside { folder, target })
    }

    /// A call of Cargo there.
    pub fn cargo(&self, command: &str) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args([command, "--offline", "--manifest-path"]).arg(self.folder.join("Cargo.toml"));
        cargo.arg("--target-dir").arg(&self.target).env("CARGO_INCREMENTAL", "0");
        cargo
    }
}
