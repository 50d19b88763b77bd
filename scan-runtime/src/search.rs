//! The places where NVIDIA's libraries are searched for.

use std::{
    collections::HashSet,
    env,
    env::consts::ARCH,
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// The search for a library.
pub(crate) struct Search {
    /// The environment variable that names the library, or the folder it is in; if it is `off`, nothing is searched.
    pub(crate) variable: &'static str,
    /// The library's file names, newest first.
    pub(crate) names: &'static [&'static str],
    /// Its folders in Python's site-packages.
    pub(crate) packages: &'static [&'static str],
}

impl Search {
    pub(crate) fn is_turned_off(&self) -> bool {
        env::var_os(self.variable).is_some_and(|value| value == "off")
    }

    /// The library that a path names: the path itself if it is a file, else the newest one in the folder.
    pub(crate) fn library_in(&self, path: &Path) -> Option<PathBuf> {
        if path.is_file() {
            return Some(path.to_owned());
        }
        self.names.iter().map(|name| path.join(name)).find(|file| file.is_file())
    }

    /// Every place to search, in order. Each kind is listed only after all before it had no library, because some take
    /// long.
    pub(crate) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let kinds: [fn(&Self) -> Vec<PathBuf>; 4] = [Self::named, |_| of_system(), Self::in_pythons, |_| of_loader()];
        let mut seen = HashSet::new();
        kinds.into_iter().flat_map(|kind| kind(self)).filter(move |folder| seen.insert(folder.clone()))
    }

    /// The places that the user's variables name.
    fn named(&self) -> Vec<PathBuf> {
        let named = env::var_os(self.variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let mut folders: Vec<_> = named.into_iter().collect();
        for variable in ["CUDA_HOME", "CUDA_PATH"] {
            folders.extend(env::var_os(variable).into_iter().flat_map(|home| in_toolkit(Path::new(&home))));
        }
        folders
    }

    /// The package folders of every Python that the user probably means.
    fn in_pythons(&self) -> Vec<PathBuf> {
        let in_python = |prefix: &Path| self.in_python(prefix);
        let mut folders = Vec::new();
        for variable in ["VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONUSERBASE"] {
            folders.extend(env::var_os(variable).into_iter().flat_map(|prefix| in_python(Path::new(&prefix))));
        }
        if let Some(home) = env::home_dir() {
            folders.extend(in_python(&home.join(".local")));
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let binaries = env::split_paths(&path).filter(|folder| folder.join("python3").is_file());
        folders.extend(binaries.flat_map(|folder| prefixes(&folder)).flat_map(|prefix| in_python(&prefix)));
        for prefix in ["/usr/local", "/usr"] {
            folders.extend(in_python(Path::new(prefix)));
        }
        folders
    }

    /// The folders of the packages in the site-packages of every Python 3 below a prefix.
    fn in_python(&self, prefix: &Path) -> Vec<PathBuf> {
        let is_python = |name: &OsStr| name.to_string_lossy().starts_with("python3");
        let Ok(entries) = prefix.join("lib").read_dir() else { return Vec::new() };
        let mut pythons: Vec<_> =
            entries.flatten().filter(|entry| is_python(&entry.file_name())).map(|entry| entry.path()).collect();
        pythons.sort();
        pythons
            .iter()
            .flat_map(|python| [python.join("site-packages"), python.join("dist-packages")])
            .flat_map(|site| self.packages.iter().map(move |package| site.join(package)))
            .collect()
    }
}

/// The places where toolkits and distributions put it.
fn of_system() -> Vec<PathBuf> {
    let mut folders = Vec::from(in_toolkit(Path::new("/usr/local/cuda")));
    folders.push(format!("/usr/lib/{ARCH}-linux-gnu").into());
    folders.extend(["/usr/lib64", "/usr/lib"].map(PathBuf::from));
    folders
}

/// The folders that the system's loader is configured to search. Here the library is found by its path, without loading
/// it.
fn of_loader() -> Vec<PathBuf> {
    let path = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let mut folders: Vec<_> = env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    let more = Path::new("/etc/ld.so.conf.d").read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    for file in std::iter::once("/etc/ld.so.conf".into()).chain(more) {
        let lines = std::fs::read_to_string(file).unwrap_or_default();
        folders.extend(lines.lines().map(str::trim).filter(|line| line.starts_with('/')).map(PathBuf::from));
    }
    folders
}

fn in_toolkit(home: &Path) -> [PathBuf; 2] {
    // NVIDIA's name for servers with 64-bit Arm processors.
    let target = if ARCH == "aarch64" { "sbsa" } else { ARCH };
    [home.join("lib64"), home.join(format!("targets/{target}-linux/lib"))]
}

/// The prefixes of the Pythons that a folder's `python3` may start: the folder's own prefix, that of the link's target,
/// and those below the folder of a version manager (pyenv, asdf, mise), whose `shims` start one of several.
fn prefixes(binaries: &Path) -> Vec<PathBuf> {
    let target = binaries.join("python3").canonicalize().ok();
    let linked = target.as_deref().and_then(Path::parent);
    let mut prefixes: Vec<_> = [Some(binaries), linked].into_iter().flatten().filter_map(Path::parent).collect();
    prefixes.dedup();
    let mut prefixes: Vec<_> = prefixes.into_iter().map(Path::to_owned).collect();
    if let (true, Some(manager)) = (binaries.ends_with("shims"), binaries.parent()) {
        for versions in ["versions", "installs/python"] {
            let versions = manager.join(versions).read_dir().into_iter().flatten().flatten();
            prefixes.extend(versions.map(|version| version.path()));
        }
    }
    prefixes
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use super::*;

    const SEARCH: Search =
        Search { variable: "SCAN_NONE", names: &[], packages: &["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"] };

    #[test]
    fn packages_of_every_python_below_a_prefix_are_searched() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path();
        for folder in ["lib/python3.9", "lib/python3.12", "lib/perl5"] {
            std::fs::create_dir_all(prefix.join(folder)).unwrap();
        }
        let of = |python: &str| {
            ["site-packages", "dist-packages"].map(|packages| {
                let packages = prefix.join("lib").join(python).join(packages);
                [packages.join("nvidia/cu13/lib"), packages.join("nvidia/cuda_nvrtc/lib")]
            })
        };
        assert_eq!(SEARCH.in_python(prefix), [of("python3.12"), of("python3.9")].as_flattened().as_flattened());
        assert_eq!(SEARCH.in_python(&prefix.join("lib")), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn pythons_of_version_managers_are_searched() {
        let folder = tempfile::tempdir().unwrap();
        let manager = folder.path();
        for folder in ["shims", "versions/3.11", "installs/python/3.12", "bin"] {
            std::fs::create_dir_all(manager.join(folder)).unwrap();
        }
        let mut found = prefixes(&manager.join("shims"));
        found.sort();
        assert_eq!(found, [manager.to_owned(), manager.join("installs/python/3.12"), manager.join("versions/3.11")]);
        assert_eq!(prefixes(&manager.join("bin")), [manager]);
    }
}
