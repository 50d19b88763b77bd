//! A report of what the machine has, what is missing, and the command that installs it.

use std::io::{self, Write};

use scan_runtime::Scanner;

use crate::{cache, communication, compiler, driver, selftest};

/// Writes the report. Returns whether a GPU can be used and every result of the self-test is right.
pub(crate) fn write(verbose: bool, out: &mut impl Write) -> io::Result<bool> {
    let device = driver::write(out)?;
    let compiler = compiler::write(verbose, out)?;
    communication::write(out)?;
    cache::write(out)?;
    match Scanner::new() {
        Ok(scanner) => writeln!(out, "a scan takes     {}", scanner.backend())?,
        Err(error) => writeln!(out, "a scan takes     nothing: {error}")?,
    }
    let right = selftest::write(verbose, out)?;
    let usable = device.is_ok() && compiler.is_ok();
    for (what, command) in device.err().into_iter().chain(compiler.err()) {
        match command {
            Some(command) => writeln!(out, "missing          {what}; to fix it:\n                   {command}")?,
            None => writeln!(out, "missing          {what}")?,
        }
    }
    Ok(usable && right)
}
