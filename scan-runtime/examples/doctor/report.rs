//! What is there, and what is missing.

use std::io::{self, Write};

use scan_runtime::{Backend, DiskCache, Error, Scanner, nvrtc};

/// Writes the report; whether a GPU can be used.
pub(crate) fn write(out: &mut impl Write) -> io::Result<bool> {
    let devices = devices(out)?;
    let compiler = compiler(out)?;
    cache(out)?;
    match Scanner::new() {
        Ok(scanner) => writeln!(out, "a scan takes     {}", scanner.backend())?,
        Err(error) => writeln!(out, "a scan takes     nothing: {error}")?,
    }
    Ok(devices && compiler)
}

fn devices(out: &mut impl Write) -> io::Result<bool> {
    let mut index = 0;
    loop {
        let label = if index == 0 { "driver           " } else { "                 " };
        match Scanner::builder().device(index).no_cache().build() {
            Ok(scanner) => {
                let limits = scanner.limits();
                if let Backend::Cuda { name, architecture, .. } = scanner.backend() {
                    writeln!(
                        out,
                        "{label}device {index}: {name}, {architecture}, {} multiprocessors, {} KiB of shared memory a block",
                        limits.multiprocessors,
                        limits.shared_bytes_per_block >> 10,
                    )?;
                }
            }
            Err(Error::DeviceIndex { .. }) if index > 0 => return Ok(true),
            // The device is there; what is missing comes in the next line.
            Err(Error::NoNvrtc { .. }) => {
                writeln!(out, "{label}there, with a device")?;
                return Ok(true);
            }
            Err(error) => {
                writeln!(out, "{label}{error}")?;
                return Ok(false);
            }
        }
        index += 1;
    }
}

fn compiler(out: &mut impl Write) -> io::Result<bool> {
    let found = nvrtc::locate().and_then(|location| Ok((location, nvrtc::version()?)));
    match found {
        Ok((nvrtc::Location::File(path), (major, minor))) => {
            writeln!(out, "NVRTC            {major}.{minor}, {}", path.display())?;
        }
        Ok((nvrtc::Location::Loader, (major, minor))) => {
            writeln!(out, "NVRTC            {major}.{minor}, where the loader looks")?;
        }
        Err(error) => {
            writeln!(out, "NVRTC            {error}")?;
            return Ok(false);
        }
    }
    Ok(true)
}

fn cache(out: &mut impl Write) -> io::Result<()> {
    match DiskCache::of_user() {
        None => writeln!(out, "kernels on disk  none: {} says so", scan_runtime::CACHE_VARIABLE),
        Some(cache) => match cache.size() {
            Ok(bytes) => writeln!(out, "kernels on disk  {bytes} bytes in {}", cache.folder().display()),
            Err(error) => writeln!(
                out,
                "kernels on disk  {} cannot be read ({error}); set {} to another folder",
                cache.folder().display(),
                scan_runtime::CACHE_VARIABLE
            ),
        },
    }
}
