//! The kernels that take the last result of each segment, in the emulator.

use scan_codegen::{
    Arrays as Layout, DeviceLimits, KernelSource, LastResultsPlan, ScanSpec, Target, plan_last_results,
};
use scan_emulator::{Array, Arrays, Emulator, EmulatorError, Fault, FaultKind, KeptMemory, Memory, Module};
use scan_runtime::{__private::bytes_of, ScanElement, ScanOp};

use super::kinds::{OutputArrays, wrong_item};
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
    results_of(scanned, heads, of_nothing, false)
}

/// The same of a scan from either end.
pub fn results_of<T: Copy>(scanned: &[T], heads: &Heads, of_nothing: T, reversed: bool) -> Vec<T> {
    let of_ranges = |offsets: Vec<usize>| {
        let of_range = |range: &[usize]| match range[0] < range[1] {
            true => scanned[if reversed { range[0] } else { range[1] - 1 }],
            false => of_nothing,
        };
        offsets.windows(2).map(of_range).collect()
    };
    match &heads.source {
        HeadSource::Offsets(offsets) => of_ranges(offsets.iter().map(|offset| *offset as usize).collect()),
        HeadSource::LongOffsets(offsets) => of_ranges(offsets.iter().map(|offset| *offset as usize).collect()),
        _ => {
            let begins = |i: usize| i == 0 || i == scanned.len() || heads.begins[i];
            let is_last = |i: &usize| begins(if reversed { *i } else { i + 1 });
            (0..scanned.len()).filter(is_last).map(|i| scanned[i]).collect()
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
        Self::with_spec(op, &ScanSpec::inclusive(), heads, threads)
    }

    /// The same into the arrays of a spec, with an initial value for each segment if it says so.
    ///
    /// # Errors
    ///
    /// As those of planning and rendering.
    pub fn with_spec<Op: ScanOp>(op: &Op, spec: &ScanSpec, heads: &Heads, threads: u32) -> Result<Self, EmulatorError> {
        let mut limits = DeviceLimits::BASELINE;
        limits.threads_per_block = threads;
        let plan = plan_last_results(&op.source(), &spec.clone().with_segments(heads.segments()), &limits)?;
        let source = checked::render_last_results_from(mutants::templates(), &op.source(), &plan, Target::Host)?;
        Ok(LastResultsProgram { plan, source })
    }

    /// What should come of these results.
    fn lasts<T: Copy>(&self, scanned: &[T], heads: &Heads, of_nothing: T) -> Vec<T> {
        results_of(scanned, heads, of_nothing, self.plan.spec.reversed)
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
        let of_nothing = bytes_of(&of_nothing);
        let memory = Memory {
            initial_value: &of_nothing,
            output_bytes: Some(results * size_of::<T>()),
            output_element: size_of::<T>(),
            ..Memory::default()
        };
        self.run_memory(emulator, scanned, heads, memory, results)
    }

    fn run_memory<T: ScanElement>(
        &self,
        emulator: &Emulator,
        scanned: &[T],
        heads: &Heads,
        memory: Memory<'_>,
        results: usize,
    ) -> Result<(Vec<u8>, Vec<u8>), EmulatorError> {
        let module = Module::new(&self.source)?;
        let (n, results) = (scanned.len() as u64, results as u64);
        let (len, head_count, counts) = match &heads.source {
            HeadSource::Rows(row) => (results, *row as u64, false),
            HeadSource::Offsets(_) | HeadSource::LongOffsets(_) => (results, n, false),
            _ => (n, results, true),
        };
        let (input, heads) = (scanned.iter().flat_map(bytes_of).collect::<Vec<u8>>(), heads.bytes());
        // Of several arrays of results the input is one among several.
        let inputs = [Array { bytes: input.clone(), item: size_of::<T>(), ..Array::default() }];
        let arrays = memory.arrays.map(|arrays| Arrays { inputs: &inputs, ..arrays });
        let total_bytes = if counts { 8 } else { 0 };
        let memory = Memory { input: &input, arrays, heads: &heads, head_count, total_bytes, ..memory };
        let (schedule, kept) = (self.plan.schedule_aligned(len, 1)?, &mut KeptMemory::default());
        let run = emulator.run(&module, |role| self.source.kernel_name(role), &schedule, &memory, kept)?;
        Ok((run.output, if counts { run.total } else { Vec::new() }))
    }

    /// Takes the last results out of these into the arrays that the plan tells of, and compares them. An empty segment
    /// has the result of its own value, or of the only one.
    ///
    /// # Errors
    ///
    /// As [`run`](LastResultsProgram::run), and what is wrong with the results.
    pub fn verify_into<Op: ScanOp>(
        &self,
        op: &Op,
        emulator: &Emulator,
        scanned: &[Op::Output],
        heads: &Heads,
        values: &[Op::Carry],
    ) -> Result<(), EmulatorError> {
        let result = |segment: Option<usize>| match segment {
            Some(last) => scanned[last],
            None => op.project(values[0]),
        };
        let lasts = self.lasts(&(0..scanned.len()).map(Some).collect::<Vec<_>>(), heads, None);
        let mut expected: Vec<Op::Output> = lasts.iter().map(|last| result(*last)).collect();
        if self.plan.spec.initial_values {
            let empty = lasts.iter().enumerate().filter(|(_, last)| last.is_none());
            empty.for_each(|(segment, _)| expected[segment] = op.project(values[segment]));
        }
        let of_nothing = match self.plan.spec.initial_values {
            true => values.iter().flat_map(bytes_of).collect(),
            false => bytes_of(&op.project(values[0])),
        };
        let offsets = &mut [1, 0, 3].into_iter().chain(std::iter::repeat(0));
        let OutputArrays { arrays, wanted } = OutputArrays::new(&self.plan.spec, &expected, expected.len(), offsets);
        let (is_one, parameters) = (self.plan.spec.output == Layout::One, op.parameters());
        let memory = Memory {
            initial_value: &of_nothing,
            operator: parameters.bytes(),
            output_bytes: Some(if is_one { size_of_val(&expected[..]) } else { 0 }),
            output_element: size_of::<Op::Output>(),
            arrays: (!is_one).then_some(Arrays { inputs: &[], outputs: &arrays }),
            ..Memory::default()
        };
        let (found, count) = self.run_memory(emulator, scanned, heads, memory, expected.len())?;
        let wrong = wrong_item(&found, &wanted).or_else(|| {
            let segments = (expected.len() as u64).to_ne_bytes();
            let expected = format!("{segments:?}");
            (!count.is_empty() && count != segments)
                .then(|| FaultKind::WrongTotal { expected, found: format!("{count:?}") })
        });
        let fault = |kind| Err(Box::new(Fault::at_end(kind, &self.source.name, "the last kernel")).into());
        wrong.map_or(Ok(()), fault)
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
        let expected = self.lasts(scanned, heads, of_nothing);
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
