//! What the tests fetch from PyPI: libraries and compilers of NVIDIA, into the target folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Packages of PyPI, installed into a folder of their own.
#[derive(Clone, Copy, Debug)]
pub struct Packages<'a> {
    /// What they are, for messages: `NVRTC`.
    pub what: &'a str,
    /// Names and versions, as pip takes them.
    pub packages: &'a [&'a str],
    /// A file in the folder by which a whole installation is known.
    pub proof: &'a str,
}

impl Packages<'_> {
    /// Installs the packages into `folder` unless they are there, and gives the path of the proof.
    ///
    /// The folder appears complete or not at all: several processes may come here at once, and one of them may be stopped
    /// halfway.
    pub fn install(&self, folder: &Path) -> Result<PathBuf, String> {
        self.install_by("--target", folder)
    }

    /// As [`install`](Packages::install), for packages of libraries that are not Python's: they lie in `lib` and `include`.
    pub fn install_libraries(&self, folder: &Path) -> Result<PathBuf, String> {
        self.install_by("--prefix", folder)
    }

    fn install_by(&self, option: &str, folder: &Path) -> Result<PathBuf, String> {
        let proof = folder.join(self.proof);
        if !proof.is_file() {
            self.fetch(option, folder)?;
        }
        if proof.is_file() {
            Ok(proof)
        } else {
            let (packages, proof, folder) = (self.packages.join(" "), self.proof, folder.display());
            Err(format!("{packages} holds no {proof}; delete {folder} and try again"))
        }
    }

    fn fetch(&self, option: &str, folder: &Path) -> Result<(), String> {
        let what = self.what;
        let partial = folder.with_extension(format!("partial-{}", std::process::id()));
        let packages: Vec<_> = self.packages.iter().map(|package| format!("'{package}'")).collect();
        let how = format!("python3 -m pip install --no-deps {option} {} {}", folder.display(), packages.join(" "));
        let installed = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"])
            .args(["--ignore-installed", "--only-binary=:all:", option])
            .arg(&partial)
            .args(self.packages)
            .output();
        let outcome = match installed {
            Ok(output) if output.status.success() => self.publish(&partial, folder),
            Ok(output) => Err(format!(
                "{what} is on neither this machine nor was it fetched. This command should work, and did not:\n\
                 {how}\n{}\n\
                 It needs pip (Debian: apt install python3-pip) and a way to pypi.org. Where there is none, run it on \
                 another machine and copy the folder.",
                String::from_utf8_lossy(&output.stderr).trim()
            )),
            Err(error) => Err(format!(
                "{what} is not on this machine, and python3 did not start to fetch it ({error}). \
                 Install Python 3 with pip, or {what} itself."
            )),
        };
        // Left over where something failed, or where another process was faster.
        let _ = fs::remove_dir_all(&partial);
        outcome
    }

    fn publish(&self, partial: &Path, folder: &Path) -> Result<(), String> {
        match fs::rename(partial, folder) {
            Ok(()) => Ok(()),
            Err(_) if folder.join(self.proof).is_file() => Ok(()),
            Err(error) => Err(format!("cannot move {} to {}: {error}", self.what, folder.display())),
        }
    }
}
