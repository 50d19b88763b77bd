//! The compiler that every generated kernel is put through. It needs no GPU, only the library.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use scan_runtime::nvrtc::{Location, locate};

use crate::{pip::Packages, target_dir};

/// NVRTC on PyPI, in the version whose cubins every machine of ours can load.
const PACKAGES: Packages<'_> =
    Packages { what: "NVRTC", packages: &["nvidia-cuda-nvrtc==13.0.*"], proof: "nvidia/cu13/lib/libnvrtc.so.13" };
const LIBRARY: &str = "libnvrtc.so.13";
/// NVRTC opens this one by name alone, which finds it only if it is open already.
const BUILTINS: &str = "libnvrtc-builtins.so.13.0";

/// Finds NVRTC where the runtime finds it, or fetches it from PyPI into the target folder, and opens it for this process.
///
/// Once it is open, whoever asks the loader for it by name gets this one, `scan_runtime::nvrtc` too. Returns the path of
/// the library, or its name where only the loader knows the path.
pub fn nvrtc() -> Result<PathBuf, String> {
    static OPEN: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    OPEN.get_or_init(|| {
        let library = find_or_fetch()?;
        let builtins = library.with_file_name(BUILTINS);
        if builtins.is_file() {
            open_for_good(&builtins)?;
        }
        open_for_good(&library)?;
        Ok(library)
    })
    .clone()
}

/// The path of the library, or its name, as of [`nvrtc`], but it is not opened.
pub fn find_or_fetch() -> Result<PathBuf, String> {
    match locate() {
        // One of CUDA 12 may not know the newest architectures.
        Ok(Location::File(file)) if file.file_name().is_some_and(|name| name == LIBRARY) => return Ok(file),
        Ok(Location::Loader) => return Ok(PathBuf::from(LIBRARY)),
        Ok(Location::File(_)) | Err(_) => (),
    }
    PACKAGES.install(&target_dir()?.join("nvrtc"))
}

/// Opens a library and keeps it open until the process ends, its symbols visible to libraries opened later.
fn open_for_good(library: &Path) -> Result<(), String> {
    #[cfg(unix)]
    // SAFETY: the initialisers of NVRTC and of its builtins touch nothing of ours.
    let opened = unsafe {
        use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
        Library::open(Some(library), RTLD_NOW | RTLD_GLOBAL).map(std::mem::forget)
    };
    #[cfg(not(unix))]
    // SAFETY: as above.
    let opened = unsafe { libloading::Library::new(library).map(std::mem::forget) };
    opened.map_err(|error| format!("{} does not open: {error}", library.display()))
}
