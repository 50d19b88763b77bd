//! The compiled kernels on disk.

use std::io::{self, Write};

use scan_runtime::{CACHE_VARIABLE, DiskCache};

/// Counts them, and names their folder.
pub(crate) fn write(out: &mut impl Write) -> io::Result<()> {
    let Some(cache) = DiskCache::of_user() else {
        return writeln!(out, "kernels on disk  none: {CACHE_VARIABLE} is `off`, or there is no folder for them");
    };
    let folder = cache.folder().display();
    match cache.entries().and_then(|entries| Ok((entries, cache.size()?))) {
        Ok((entries, bytes)) => writeln!(
            out,
            "kernels on disk  {entries} entries, {:.1} MiB of {} at the most, in {folder}",
            bytes as f64 / f64::from(1 << 20),
            cache.limit() >> 20
        ),
        Err(error) => {
            writeln!(out, "kernels on disk  {folder} cannot be read ({error}); set {CACHE_VARIABLE} to another folder")
        }
    }
}

/// Removes them.
pub(crate) fn clear(out: &mut impl Write) -> io::Result<()> {
    let Some(cache) = DiskCache::of_user() else { return self::write(out) };
    let (entries, bytes) = (cache.entries()?, cache.size()?);
    cache.clear()?;
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    writeln!(out, "removed {entries} entries, {mebibytes:.1} MiB, from {}", cache.folder().display())
}
