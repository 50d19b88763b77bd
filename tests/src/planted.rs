//! Faults planted in the text of kernels: some run must show each.

use rayon::prelude::*;
use scan_runtime::ScanOp;

use crate::emulator::{EmulatorError, Module, Program};

/// A change of a text: what stands there once, and what takes its place.
pub type Change<'a> = (&'a str, &'a str);

/// Plants changes in the text of a program, one at a time, and tells whether `is_found` finds each, and nothing where nothing is
/// planted.
///
/// # Errors
///
/// What was not found; a text that does not stand in the program exactly once; what the compiler says.
pub fn each_is_found<Op: ScanOp + Sync>(
    program: &Program<Op>,
    changes: &[Change<'_>],
    is_found: impl Fn(&Program<Op>) -> bool + Sync,
) -> Result<(), String>
where
    Program<Op>: Clone + Send + Sync,
{
    let text = &program.source.text;
    let plant = |&(from, to): &Change<'_>| match text.matches(from).count() {
        1 => {
            let mut planted = program.clone();
            planted.source.text = text.replace(from, to);
            Ok(planted)
        }
        count => Err(format!("`{from}` must stand in the text once, and does {count} times:\n{text}")),
    };
    let planted = changes.iter().map(plant).collect::<Result<Vec<_>, _>>()?;
    let sources: Vec<_> = planted.iter().chain([program]).map(|program| &program.source).collect();
    Module::compile(&sources).map_err(|error: EmulatorError| error.to_string())?;
    if is_found(program) {
        return Err("a fault is found where none is planted".to_owned());
    }
    let survivors: Vec<_> =
        changes.par_iter().zip(&planted).filter(|(_, program)| !is_found(program)).map(|(change, _)| change).collect();
    if survivors.is_empty() { Ok(()) } else { Err(format!("not found: {survivors:#?}")) }
}
