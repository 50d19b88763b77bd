//! NCCL, which scans across several GPUs need.

use std::io::{self, Write};

use scan_runtime::world::{WorldError, nccl};

/// Reports NCCL. Nothing else needs it, so that it is not missed where there is none.
pub(crate) fn write(out: &mut impl Write) -> io::Result<()> {
    let path = match nccl::locate() {
        Ok(Some(path)) => path.display().to_string(),
        _ => "where the loader looks".to_owned(),
    };
    match nccl::version() {
        Ok((major, minor, patch)) => writeln!(out, "NCCL             {major}.{minor}.{patch}, {path}"),
        Err(WorldError::NoNccl { .. }) => {
            writeln!(out, "NCCL             none; only scans across several GPUs need it: {}", nccl::INSTALL_COMMAND)
        }
        Err(error) => writeln!(out, "NCCL             {error}"),
    }
}
