//! Helpers that the parts of the report share.

use std::fs;

/// The missing part, and the command that installs it, if there is one.
pub(crate) type Missing = (&'static str, Option<&'static str>);

/// The path of a library that this process has loaded.
pub(crate) fn loaded(name: &str) -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let path = maps.lines().find(|line| line.contains(name))?.split_whitespace().last()?;
    Some(path.to_owned())
}
