//! Faults planted in the text of kernels: some run must show each.

use rayon::prelude::*;
use scan_codegen::KernelSource;
use scan_runtime::ScanOp;

use crate::{
    emulated::{ColumnsProgram, EmulatorError, Module, Program, ReductionProgram},
    extent::{is_long, one_in},
};

/// A change of a text: what stands there once, and what takes its place.
pub type Change<'a> = (&'a str, &'a str);

/// What has a text in which faults can be planted.
pub trait HasSource: Clone + Send + Sync {
    /// The text.
    fn source(&mut self) -> &mut KernelSource;
}

impl<Op: ScanOp + Clone + Send + Sync> HasSource for Program<Op>
where
    Self: Send + Sync,
{
    fn source(&mut self) -> &mut KernelSource {
        &mut self.source
    }
}

impl<Op: ScanOp + Clone + Send + Sync> HasSource for ReductionProgram<Op>
where
    Self: Send + Sync,
{
    fn source(&mut self) -> &mut KernelSource {
        &mut self.source
    }
}

impl<Op: ScanOp + Clone + Send + Sync> HasSource for ColumnsProgram<Op>
where
    Self: Send + Sync,
{
    fn source(&mut self) -> &mut KernelSource {
        &mut self.source
    }
}

/// A quick run looks for one fault in so many, and leaves it to the other tests that nothing is found where none is planted.
pub const FEW: usize = 8;

/// Plants changes in the text of a program, one at a time, and tells whether `is_found` finds each, and nothing where nothing is
/// planted.
///
/// # Errors
///
/// What was not found; a text that does not stand in the program exactly once; what the compiler says.
pub fn each_is_found<P: HasSource>(
    program: &P,
    changes: &[Change<'_>],
    is_found: impl Fn(&P) -> bool + Sync,
) -> Result<(), String> {
    let plant = |&(from, to): &Change<'_>| {
        let mut planted = program.clone();
        let text = &mut planted.source().text;
        match text.matches(from).count() {
            1 => {
                *text = text.replace(from, to);
                Ok(planted)
            }
            count => Err(format!("`{from}` must stand in the text once, and does {count} times:\n{text}")),
        }
    };
    if changes.is_empty() {
        return Err("nothing is planted".to_owned());
    }
    let planted = changes.iter().map(plant).collect::<Result<Vec<_>, _>>()?;
    let mut programs: Vec<P> = one_in(FEW, planted).collect();
    let changes: Vec<_> = one_in(FEW, changes).collect();
    programs.push(program.clone());
    let sources: Vec<_> = programs.iter_mut().map(|program| &*program.source()).collect();
    Module::compile(&sources).map_err(|error: EmulatorError| error.to_string())?;
    if is_long() && is_found(program) {
        return Err("a fault is found where none is planted".to_owned());
    }
    let survivors: Vec<_> =
        changes.par_iter().zip(&programs).filter(|(_, program)| !is_found(program)).map(|(change, _)| change).collect();
    if survivors.is_empty() { Ok(()) } else { Err(format!("not found: {survivors:#?}")) }
}
