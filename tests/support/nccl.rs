//! NCCL, which needs neither a GPU nor a driver to be loaded.

use std::path::PathBuf;

use scan_runtime::world::nccl::locate;

use crate::{pip::Packages, target_dir};

/// An early version on PyPI, the smallest one: what the runtime calls has been in NCCL since 2.14.
const PACKAGES: Packages<'_> =
    Packages { what: "NCCL", packages: &["nvidia-nccl-cu12==2.19.3"], proof: "nvidia/nccl/lib/libnccl.so.2" };

/// Finds NCCL where the runtime finds it, or fetches it from PyPI into the target folder.
pub fn nccl() -> Result<PathBuf, String> {
    match locate() {
        Ok(Some(file)) => Ok(file),
        _ => PACKAGES.install(&target_dir()?.join("nccl")),
    }
}
