//! C++17's parallel scans on oneTBB, from PyPI and this machine's C++ compiler.

use std::{fs, mem::ManuallyDrop, path::Path, process::Command};

use libloading::Library;
use scan_tests::{pip::Packages, target_dir};

/// oneTBB: its headers, and the library.
const TBB: Packages<'_> =
    Packages { what: "oneTBB", packages: &["tbb==2023.2.0", "tbb-devel==2023.2.0"], proof: "lib/libtbb.so.12" };

/// A scan of everything: from, to, how many.
pub(crate) type Scan<T> = unsafe extern "C" fn(*const T, *mut T, usize);

/// A scan that restarts: flags, from, to, how many.
pub(crate) type Segmented<T> = unsafe extern "C" fn(*const u8, *const T, *mut T, usize);

/// The library, which stays open: its threads would not outlive it.
pub(crate) struct Tbb(ManuallyDrop<Library>);

impl Tbb {
    /// Fetches oneTBB and compiles the scans, unless that has been done.
    pub(crate) fn open() -> Result<Self, String> {
        let folder = target_dir()?.join("peers");
        fs::create_dir_all(&folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        let tbb = TBB.install_libraries(&folder.join("tbb"))?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/cpu/tbb.cpp");
        let text = fs::read(&source).map_err(|error| format!("cannot read {}: {error}", source.display()))?;
        let library = folder.join(format!("libtbb_peer_{}.so", &blake3::hash(&text).to_hex()[..16]));
        if !library.is_file() {
            compile(&source, &tbb, &library)?;
        }
        // SAFETY: the library is made of tbb.cpp; its initialisers and those of oneTBB prepare nothing but themselves.
        let library = unsafe { Library::new(&library) }
            .map_err(|error| format!("{} does not open: {error}", library.display()))?;
        Ok(Tbb(ManuallyDrop::new(library)))
    }

    /// The function of this name.
    ///
    /// # Safety
    ///
    /// `F` is its type.
    pub(crate) unsafe fn function<F: Copy>(&self, name: &str) -> Result<F, String> {
        // SAFETY: the caller vouches for the type.
        let function = unsafe { self.0.get::<F>(format!("tbb_{name}").as_bytes()) };
        function.map(|function| *function).map_err(|error| error.to_string())
    }
}

fn compile(source: &Path, tbb: &Path, library: &Path) -> Result<(), String> {
    let lib = tbb.parent().ok_or("libtbb lies in no folder")?;
    let include = lib.with_file_name("include");
    let partial = library.with_extension("partial");
    let output = Command::new("c++")
        .args(["-std=c++17", "-O3", "-shared", "-fPIC", "-I"])
        .arg(include)
        .arg(source)
        .arg(tbb)
        .arg(format!("-Wl,-rpath,{}", lib.display()))
        .arg("-o")
        .arg(&partial)
        .output()
        .map_err(|error| format!("c++ did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("c++: {}", String::from_utf8_lossy(&output.stderr)));
    }
    fs::rename(&partial, library).map_err(|error| format!("cannot move {}: {error}", partial.display()))
}
