//! The kernels that take the last result of each segment, in the emulator.

use scan_codegen::{DeviceLimits, KernelSource, LastResultsPlan, Target, plan_last_results};
use scan_emulator::{Emulator, EmulatorError, Fault, FaultKind, KeptMemory, Memory, Module};
use scan_runtime::{__private::bytes_of, ScanElement, ScanOp};

use crate::{
    checked, mutants,
    segments::{HeadSource, Heads},
};

/// Takes the last result of each segment out of the results of a scan with an operator.
#[derive(Clone, Debug)]
pub struct LastResultsProgram {
    /// The plan.
    pub plan: LastResultsPlan,
    /// The generated text. Change it to see what the emulator makes of it.
    pub source: KernelSource,
}

/// What each segment comes to, told by heads, if these are the results of a scan.
pub fn last_results<T: Copy>(scanned: &[T], heads: &Heads, of_nothing: T) -> Vec<T> {
    let of_ranges = |offsets: Vec<usize>| {
        let of_range = |range: &[usize]| if range[0] < range[1] { scanned[range[1] - 1] } else { of_nothing };
        offsets.windows(2).map(of_range).collect()
    };
    match &heads.source {
        HeadSource::Offsets(offsets) => of_ranges(offsets.iter().map(|offset| *offset as usize).collect()),
        HeadSource::LongOffsets(offsets) => of_ranges(offsets.iter().map(|offset| *offset as usize).collect()),
        _ => {
            let ends = |i: &usize| i + 1 == scanned.len() || heads.begins[i + 1];
            (0..scanned.len()).filter(ends).map(|i| scanned[i]).collect()
        }
    }
}

impl LastResultsProgram {
    /// Plans for heads told in this way, and writes the kernels.
    ///
    /// # Errors
    ///
    /// As those of planning and rendering.
    pub fn new<Op: ScanOp>(op: &Op, heads: &Heads, threads: u32) -> Result<Self, EmulatorError> {
        let mut limits = DeviceLimits::BASELINE;
        limits.threads_per_block = threads;
        let plan = plan_last_results(&heads.segments(), &limits)?;
        let source = checked::render_last_results_from(mutants::templates(), &op.source(), &plan, Target::Host)?;
        Ok(LastResultsProgram { plan, source })
    }

    /// Takes the last results out of these, with room for so many where only the device knows how many there are. Gives
    /// their bytes, and those of their number.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the kernels.
    pub fn run<T: ScanElement>(
        &self,
        emulator: &Emulator,
        scanned: &[T],
        heads: &Heads,
        of_nothing: T,
        results: usize,
    ) -> Result<(Vec<u8>, Vec<u8>), EmulatorError> {
        let module = Module::new(&self.source)?;
        let (n, results) = (scanned.len() as u64, results as u64);
        let (len, head_count, counts) = match &heads.source {
            HeadSource::Rows(row) => (results, *row as u64, false),
            HeadSource::Offsets(_) | HeadSource::LongOffsets(_) => (results, n, false),
            _ => (n, results, true),
        };
        let input: Vec<u8> = scanned.iter().flat_map(bytes_of).collect();
        let (heads, of_nothing) = (heads.bytes(), bytes_of(&of_nothing));
        let memory = Memory {
            input: &input,
            heads: &heads,
            head_count,
            initial_value: &of_nothing,
            output_bytes: Some(results as usize * size_of::<T>()),
            output_element: size_of::<T>(),
            total_bytes: if counts { 8 } else { 0 },
            ..Memory::default()
        };
        let (schedule, kept) = (self.plan.schedule_aligned(len, 1)?, &mut KeptMemory::default());
        let run = emulator.run(&module, |role| self.source.kernel_name(role), &schedule, &memory, kept)?;
        Ok((run.output, if counts { run.total } else { Vec::new() }))
    }

    /// As [`run`](LastResultsProgram::run), and compares the results and their number.
    ///
    /// # Errors
    ///
    /// As [`run`](LastResultsProgram::run), and [`FaultKind::WrongTotal`].
    pub fn verify<T: ScanElement>(
        &self,
        emulator: &Emulator,
        scanned: &[T],
        heads: &Heads,
        of_nothing: T,
    ) -> Result<(), EmulatorError> {
        let expected = last_results(scanned, heads, of_nothing);
        let (found, count) = self.run(emulator, scanned, heads, of_nothing, expected.len())?;
        let wrong = |expected: String, found: String| {
            let kind = FaultKind::WrongTotal { expected, found };
            Err(Box::new(Fault::at_end(kind, &self.source.name, "the last kernel")).into())
        };
        if found != expected.iter().flat_map(bytes_of).collect::<Vec<u8>>() {
            return wrong(format!("{} results", expected.len()), "others".to_owned());
        }
        let segments = (expected.len() as u64).to_ne_bytes();
        if count.is_empty() || count == segments {
            Ok(())
        } else {
            wrong(format!("{segments:?}"), format!("{count:?}"))
        }
    }
}
