//! The plan and the CUDA source of a scan with a built-in operator.

use std::{error::Error, io::Write, num::NonZero};

use crate::{
    ranks::Ranks,
    what::{self, What},
};

/// Writes the plan: the launches too, where there is a length.
pub(crate) fn write(
    what: What,
    len: Option<usize>,
    ranks: Option<NonZero<usize>>,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let scan = what::scan(what.ready, what.shape, &what.target.scanner()?)?;
    if let (Some(count), Some(len)) = (ranks, len) {
        Ranks { count: count.get(), len, bytes: scan.element_bytes() }.write(out)?;
        return Ok(());
    }
    let plans = scan.plan()?;
    let Some(len) = len else {
        writeln!(out, "{plans}")?;
        return Ok(());
    };
    let plan = plans.for_len(len as u64);
    writeln!(out, "for {}\n{plan}", plans.device())?;
    let schedule = plan.schedule(len as u64)?;
    for launch in &schedule.launches {
        writeln!(out, "  launch    {}, {} blocks of {} threads", launch.kernel, launch.blocks, launch.threads)?;
    }
    writeln!(out, "  workspace {} bytes", schedule.workspace.bytes())?;
    Ok(())
}

/// Writes the CUDA source.
pub(crate) fn write_source(what: What, len: Option<usize>, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let source = what::scan(what.ready, what.shape, &what.target.scanner()?)?.source(len)?;
    write!(out, "{source}")?;
    Ok(())
}
