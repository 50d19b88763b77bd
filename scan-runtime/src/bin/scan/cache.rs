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
        Ok((entries, bytes)) => {
            let mebibytes = bytes as f64 / f64::from(1 << 20);
            let limit = match cache.is_read_only() {
                true => "and none can be added".to_owned(),
                false => format!("of {} at the most", cache.limit() >> 20),
            };
            writeln!(out, "kernels on disk  {entries} entries, {mebibytes:.1} MiB {limit}, in {folder}")
        }
        Err(error) => {
            writeln!(out, "kernels on disk  {folder} is not used: {error}; set {CACHE_VARIABLE} to another folder")
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
