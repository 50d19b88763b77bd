//! Crates beside the workspace, as users write them, that tests build.
//!
//! They are built into the folder that the tests were built into, with the profile, the lock file and the features of the
//! workspace, so that `cargo test --workspace` has built what they depend on.

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

/// What the workspace's manifest says of the packages in it, and how debug builds are made.
fn of_all_packages() -> &'static str {
    let start = MANIFEST.find("[workspace.package]").unwrap_or_default();
    let end = MANIFEST.find(profile()).map_or(MANIFEST.len(), |profile| profile + self::profile().len());
    &MANIFEST[start..end]
}

/// The features with which the tests have `scan-runtime`.
pub const FEATURES: &str = "features = [\"cli\", \"gallery\", \"ndarray\"]";

/// The lines of `[dependencies]` for `scan-runtime` in a crate of [`Beside`]. The other lines are crates below it that other
/// parts of the workspace use with more features. With the same features they are not built again; `cargo build -v` in the
/// crate's folder lists what is.
pub fn dependencies() -> String {
    format!(
        "scan-runtime = {{ workspace = true, {FEATURES} }}\n\
         either = {{ version = \"1\", default-features = false, features = [\"use_std\"] }}\n\
         libc = \"0.2\"\n\
         num-traits = \"0.2\"\n\
         rustix = {{ version = \"1\", features = [\"mm\", \"thread\"] }}\n\
         serde_core = \"1\"\n\
         tracing-core = \"0.1\"\n"
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
    /// Writes its manifest, which begins with what is said of all packages of the workspace, and its lock file.
    ///
    /// The crates of the workspace are where they are in the workspace, by links: Cargo builds a crate again for a workspace in
    /// which it has another place. `scan-language` is inside `scan-macros`.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn new(name: &str, manifest: &str) -> Result<Self, String> {
        let target = target_dir()?;
        let folder = target.join(name);
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        write(&folder.join("Cargo.toml"), &format!("{}\n\n{manifest}", of_all_packages())).map_err(failed)?;
        for package in ["scan-runtime", "scan-codegen", "scan-macros"] {
            let (link, place) = (folder.join(package), workspace().join(package));
            if fs::read_link(&link).is_ok_and(|there| there == place) {
                continue;
            }
            match fs::remove_file(&link) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => std::os::unix::fs::symlink(place, link).map_err(failed)?,
            }
        }
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
        cargo.arg("--target-dir").arg(&self.target);
        cargo
    }
}
