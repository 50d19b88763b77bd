//! NVRTC, and the places where it is searched for.

use std::io::{self, Write};

use scan_runtime::nvrtc::{self, LIBRARY_VARIABLE, Location};

use crate::missing::{Missing, loaded};

/// Reports NVRTC, and every place where it is searched for if `verbose`. Returns the missing part, if any.
pub(crate) fn write(verbose: bool, out: &mut impl Write) -> io::Result<Result<(), Missing>> {
    let location = nvrtc::locate();
    let version = location.as_ref().ok().map(|_| nvrtc::version());
    match (&location, version) {
        (Ok(location), Some(Ok((major, minor)))) => {
            let path = match location {
                Location::File(path) => path.display().to_string(),
                Location::Loader => loaded("libnvrtc.so").unwrap_or_else(|| "where the loader looks".to_owned()),
            };
            let architectures = nvrtc::architectures().unwrap_or_default();
            let range = match (architectures.first(), architectures.last()) {
                (Some(oldest), Some(newest)) => format!(" for {oldest} to {newest}"),
                _ => String::new(),
            };
            writeln!(out, "NVRTC            {major}.{minor}{range}, {path}")?;
        }
        (Ok(_), Some(Err(error))) => writeln!(out, "NVRTC            {error}")?,
        _ => writeln!(out, "NVRTC            none")?,
    }
    if verbose {
        write_places(out)?;
    }
    let turned_off = std::env::var_os(LIBRARY_VARIABLE).is_some_and(|value| value == "off");
    match nvrtc::is_loaded() {
        true => Ok(Ok(())),
        false if turned_off => Ok(Err(("NVRTC: SCAN_NVRTC says `off`", Some("unset SCAN_NVRTC")))),
        false => Ok(Err(("NVRTC, unless kernels are compiled ahead of time", Some(nvrtc::INSTALL_COMMAND)))),
    }
}

fn write_places(out: &mut impl Write) -> io::Result<()> {
    for (index, place) in nvrtc::places().into_iter().enumerate() {
        let label = if index == 0 { "  looked into    " } else { "                 " };
        let found = match &place.library {
            None if place.path.exists() => "nothing".to_owned(),
            None => "not there".to_owned(),
            Some(library) => library.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        writeln!(out, "{label}{}: {found}", place.path.display())?;
    }
    Ok(())
}
