//! A scan of typed elements for the emulator: operator, plan and source in one.

use std::{
    fmt::Debug,
    iter, mem,
    sync::{Arc, Mutex, PoisonError},
};

use scan_codegen::{
    DeviceLimits, KernelSource, Overrides, Plan, Reduction, ReductionPlan, ScanKind, ScanSpec, Schedule, Segments,
    Target, plan, plan_reduction,
};
use scan_runtime::{__private::bytes_of, ScanElement, ScanOp};

use super::{
    Array, Arrays, Arrival, Counters, Emulator, EmulatorError, Fault, FaultKind, KeptMemory, Memory, Module, Run, Trace,
};
use crate::{checked, columns, mutants, reference, segments::Heads};

/// The alignment of the parts of a workspace that has no unused bytes, which would hide an access beyond the end of a part.
const UNPADDED: u64 = 1;

/// A scan as the emulator executes it. What would run on the GPU with the same choices is the same text, but for the
/// operator's prelude, whose intrinsics are written for the host.
///
/// Its runs share the memory that the kernels keep, one after the other, as on a stream. A clone begins with fresh memory.
#[derive(Debug)]
pub struct Program<Op: ScanOp> {
    /// The operator.
    pub op: Op,
    /// What stands before the first element.
    pub initial_value: Option<Op::Carry>,
    /// What stands before the first element of each segment, where each has a value of its own.
    pub initial_values: Vec<Op::Carry>,
    /// Where it restarts; `None` in a scan that does not.
    pub heads: Option<Heads>,
    /// The plan,
    pub plan: Plan,
    /// and the device that it is for.
    pub device: DeviceLimits,
    /// The generated text. Change it to see what the emulator makes of it.
    pub source: KernelSource,
    /// What the kernels keep from run to run. Runs at the same time, on several threads, each find fresh memory but for one.
    kept: Mutex<KeptMemory>,
}

impl<Op: ScanOp + Clone> Clone for Program<Op> {
    fn clone(&self) -> Self {
        Program {
            op: self.op.clone(),
            initial_value: self.initial_value,
            initial_values: self.initial_values.clone(),
            heads: self.heads.clone(),
            plan: self.plan.clone(),
            device: self.device,
            source: self.source.clone(),
            kept: Mutex::default(),
        }
    }
}

/// What a run of a [`Program`] has brought.
#[derive(Clone, Debug)]
pub struct Emulated<Output> {
    /// The output.
    pub output: Vec<Output>,
    /// The bytes of the sum of all elements, where the scan was asked for it.
    pub total: Vec<u8>,
    /// What it took.
    pub counters: Counters,
    /// What happened, if that was asked for.
    pub trace: Option<Trace>,
}

/// What a plain loop makes of an input.
pub(super) struct Expected<Op: ScanOp> {
    pub(super) output: Vec<Op::Output>,
    /// The total, where none is asked for of each segment.
    pub(super) total: Option<Op::Carry>,
    /// The totals of segments.
    pub(super) totals: Vec<Op::Carry>,
}

fn of_kind(kind: ScanKind) -> ScanSpec {
    match kind {
        ScanKind::Inclusive => ScanSpec::inclusive(),
        ScanKind::Exclusive => ScanSpec::exclusive(),
    }
}

impl<Op: ScanOp> Program<Op> {
    /// Plans a scan for a device with the [baseline](DeviceLimits::BASELINE) limits, and writes its kernels.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::Plan`] if there is no such plan, [`EmulatorError::Render`] if the operator cannot be written.
    pub fn new(
        op: Op,
        kind: ScanKind,
        initial_value: Option<Op::Carry>,
        overrides: &Overrides,
    ) -> Result<Self, EmulatorError> {
        Program::segmented(op, kind, initial_value, Segments::None, overrides)
    }

    /// As [`new`](Program::new), for a device with other limits.
    ///
    /// # Errors
    ///
    /// As [`new`](Program::new).
    pub fn planned(
        op: Op,
        kind: ScanKind,
        initial_value: Option<Op::Carry>,
        limits: &DeviceLimits,
        overrides: &Overrides,
    ) -> Result<Self, EmulatorError> {
        Program::with_limits(op, &of_kind(kind), initial_value, limits, overrides)
    }

    /// The programs for all ranges of lengths, where the caller leaves everything to the planner.
    ///
    /// # Errors
    ///
    /// As [`new`](Program::new).
    pub fn ranges(
        op: &Op,
        spec: &ScanSpec,
        initial_value: Option<Op::Carry>,
        limits: &DeviceLimits,
    ) -> Result<Vec<Self>, EmulatorError>
    where
        Op: Clone,
    {
        let spec = if initial_value.is_some() { spec.clone().with_initial_value() } else { spec.clone() };
        let plans = plan(&op.source(), &spec, limits, &Overrides::default())?;
        plans.iter().map(|plan| Program::with_plan(op.clone(), initial_value, plan.clone(), limits)).collect()
    }

    /// As [`new`](Program::new), of a scan that restarts. Before it runs it must be told [where](Program::with_heads).
    ///
    /// # Errors
    ///
    /// As [`new`](Program::new).
    pub fn segmented(
        op: Op,
        kind: ScanKind,
        initial_value: Option<Op::Carry>,
        segments: Segments,
        overrides: &Overrides,
    ) -> Result<Self, EmulatorError> {
        Program::with_limits(
            op,
            &of_kind(kind).with_segments(segments),
            initial_value,
            &DeviceLimits::BASELINE,
            overrides,
        )
    }

    /// As [`new`](Program::new), of whatever else can be asked of a scan. Whether there is an initial value is told by the value.
    ///
    /// # Errors
    ///
    /// As [`new`](Program::new).
    pub fn of(
        op: Op,
        spec: &ScanSpec,
        initial_value: Option<Op::Carry>,
        overrides: &Overrides,
    ) -> Result<Self, EmulatorError> {
        Program::with_limits(op, spec, initial_value, &DeviceLimits::BASELINE, overrides)
    }

    /// As [`of`](Program::of), for a device with other limits.
    ///
    /// # Errors
    ///
    /// As [`new`](Program::new).
    pub fn with_limits(
        op: Op,
        spec: &ScanSpec,
        initial_value: Option<Op::Carry>,
        limits: &DeviceLimits,
        overrides: &Overrides,
    ) -> Result<Self, EmulatorError> {
        let spec = if initial_value.is_some() { spec.clone().with_initial_value() } else { spec.clone() };
        let plan = plan(&op.source(), &spec, limits, overrides)?.longest().clone();
        Program::with_plan(op, initial_value, plan, limits)
    }

    fn with_plan(
        op: Op,
        initial_value: Option<Op::Carry>,
        plan: Plan,
        device: &DeviceLimits,
    ) -> Result<Self, EmulatorError> {
        let source = checked::render_from(mutants::templates(), &op.source(), &plan, device, Target::Host)?;
        let initial_values = Vec::new();
        Ok(Program {
            op,
            initial_value,
            initial_values,
            heads: None,
            plan,
            device: *device,
            source,
            kept: Mutex::default(),
        })
    }

    /// The same program by a plan for inputs of more than a tile: it has no kernel of one block, and must do without
    /// where the input is shorter.
    ///
    /// # Errors
    ///
    /// As [`new`](Program::new).
    pub fn for_longer_inputs(mut self) -> Result<Self, EmulatorError> {
        self.plan.from = u64::from(self.plan.tile) + 1;
        Program::with_plan(self.op, self.initial_value, self.plan, &self.device)
    }

    /// The same program, restarting where these heads tell. They must be of the kind that it was made for.
    pub fn with_heads(&self, heads: Heads) -> Self
    where
        Op: Clone,
    {
        Program { heads: Some(heads), ..self.clone() }
    }

    /// The same, with a value of its own before the first element of each segment.
    pub fn with_heads_and_values(&self, heads: Heads, initial_values: Vec<Op::Carry>) -> Self
    where
        Op: Clone,
    {
        Program { initial_values, ..self.with_heads(heads) }
    }

    /// What the kernels have kept by now, taken from them or given to them: to see how they go on from there.
    pub fn kept_bytes(&mut self) -> &mut Vec<u8> {
        &mut self.kept.get_mut().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// Compiles the kernels; at once if they have been compiled before, by [`Module::compile`] for example.
    ///
    /// # Errors
    ///
    /// Those of [`Module::new`].
    pub fn module(&self) -> Result<Arc<Module>, EmulatorError> {
        Module::new(&self.source)
    }

    /// Scans `input`.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the kernels, and those of [`Module::new`].
    pub fn run(&self, emulator: &Emulator, input: &[Op::Input]) -> Result<Emulated<Op::Output>, EmulatorError> {
        let memory = Memory { output_bytes: Some(input.len() * size_of::<Op::Output>()), ..Memory::default() };
        self.run_in(emulator, input, memory, |_| ())
    }

    /// Scans `input` where it stands: the kernels read and write one buffer.
    ///
    /// # Errors
    ///
    /// As [`run`](Program::run).
    pub fn run_in_place<T>(&self, emulator: &Emulator, input: &[T]) -> Result<Emulated<T>, EmulatorError>
    where
        Op: ScanOp<Input = T, Output = T>,
    {
        self.run_in(emulator, input, Memory::default(), |_| ())
    }

    /// As [`run`](Program::run), and compares the output, and the total if there is one, bit for bit with those of the plain loop
    /// over the operator's Rust body.
    ///
    /// # Errors
    ///
    /// As [`run`](Program::run), [`FaultKind::WrongOutput`] and [`FaultKind::WrongTotal`].
    pub fn verify(&self, emulator: &Emulator, input: &[Op::Input]) -> Result<Emulated<Op::Output>, EmulatorError>
    where
        Op::Output: Debug,
    {
        self.compare(self.run(emulator, input)?, input)
    }

    /// As [`verify`](Program::verify), in place.
    ///
    /// # Errors
    ///
    /// As [`verify`](Program::verify).
    pub fn verify_in_place<T: Debug>(&self, emulator: &Emulator, input: &[T]) -> Result<Emulated<T>, EmulatorError>
    where
        Op: ScanOp<Input = T, Output = T>,
    {
        self.compare(self.run_in_place(emulator, input)?, input)
    }

    /// As [`verify`](Program::verify), with both buffers beginning so many elements beyond an aligned address, and what tells
    /// where segments begin as many of its items as both together.
    ///
    /// # Errors
    ///
    /// As [`verify`](Program::verify).
    pub fn verify_at_offset(
        &self,
        emulator: &Emulator,
        input: &[Op::Input],
        elements: (usize, usize),
    ) -> Result<Emulated<Op::Output>, EmulatorError>
    where
        Op::Output: Debug,
    {
        self.verify_scheduled(emulator, input, elements, |_| ())
    }

    /// As [`verify_at_offset`](Program::verify_at_offset), with offsets in bytes, so that there may be no whole number
    /// of elements from the last aligned address to the buffers.
    ///
    /// # Errors
    ///
    /// As [`verify`](Program::verify).
    pub fn verify_at_bytes(
        &self,
        emulator: &Emulator,
        input: &[Op::Input],
        (input_offset, output_offset): (usize, usize),
    ) -> Result<Emulated<Op::Output>, EmulatorError>
    where
        Op::Output: Debug,
    {
        let memory = Memory { input_offset, output_offset, ..self.memory_at_offset(input, (0, 0)) };
        self.compare(self.run_in(emulator, input, memory, |_| ())?, input)
    }

    /// As [`verify_at_offset`](Program::verify_at_offset), of a plan for an initial value that arrives late, and when.
    ///
    /// # Errors
    ///
    /// As [`verify`](Program::verify).
    pub fn verify_late(
        &self,
        emulator: &Emulator,
        input: &[Op::Input],
        elements: (usize, usize),
        arrival: Arrival,
    ) -> Result<Emulated<Op::Output>, EmulatorError>
    where
        Op::Output: Debug,
    {
        let memory = Memory { late: Some(arrival), ..self.memory_at_offset(input, elements) };
        self.compare(self.run_in(emulator, input, memory, |_| ())?, input)
    }

    /// As [`verify_at_offset`](Program::verify_at_offset), with a schedule that has been changed.
    ///
    /// # Errors
    ///
    /// As [`verify`](Program::verify).
    pub fn verify_scheduled(
        &self,
        emulator: &Emulator,
        input: &[Op::Input],
        elements: (usize, usize),
        change: impl Fn(&mut Schedule),
    ) -> Result<Emulated<Op::Output>, EmulatorError>
    where
        Op::Output: Debug,
    {
        let memory = self.memory_at_offset(input, elements);
        self.compare(self.run_in(emulator, input, memory, change)?, input)
    }

    /// As [`verify`](Program::verify), with the arrays of input and output that the plan's layouts tell of. Each begins
    /// so many of its items beyond an aligned address; arrays beyond these offsets begin there.
    ///
    /// # Errors
    ///
    /// As [`verify`](Program::verify).
    pub fn verify_columns(
        &self,
        emulator: &Emulator,
        input: &[Op::Input],
        offsets: &[usize],
    ) -> Result<Emulated<Op::Output>, EmulatorError>
    where
        Op::Output: Debug,
    {
        let mut offsets = offsets.iter().copied().chain(iter::repeat(0));
        let mut array = |(bytes, item): (Vec<u8>, usize)| {
            let offset = item * offsets.next().unwrap_or_default();
            Array { bytes, item, offset, ..Array::default() }
        };
        let spec = &self.plan.spec;
        let inputs: Vec<_> = columns::split(spec.input, input).into_iter().map(&mut array).collect();
        let items: Vec<_> = columns::split::<Op::Output>(spec.output, &[]);
        let outputs = items.into_iter().map(|(_, item)| (vec![0; input.len() * item], item));
        let outputs: Vec<_> = outputs.map(&mut array).collect();
        let arrays = Arrays { inputs: &inputs, outputs: &outputs };
        let memory = Memory { output_bytes: Some(0), arrays: Some(arrays), ..Memory::default() };
        self.compare(self.run_in(emulator, input, memory, |_| ())?, input)
    }

    /// As [`verify_at_offset`](Program::verify_at_offset), of a plan for a length in device memory: which that is, and how
    /// many elements are to be scanned. What lies behind their results must stay what it is.
    ///
    /// # Errors
    ///
    /// As [`verify`](Program::verify).
    pub fn verify_length(
        &self,
        emulator: &Emulator,
        input: &[Op::Input],
        elements: (usize, usize),
        (told, wanted_len): (u64, u64),
    ) -> Result<(), EmulatorError>
    where
        Op::Output: Debug,
    {
        const UNTOUCHED: u8 = 0xa5;
        let memory = Memory { length: told, output_holds: Some(UNTOUCHED), ..self.memory_at_offset(input, elements) };
        let run = self.run_memory(emulator, input, memory, |_| ())?;
        let input = &input[..input.len().min(wanted_len as usize)];
        let Expected { output: expected, total, totals } = self.expected(input);
        let mut wanted: Vec<u8> = expected.iter().flat_map(bytes_of).collect();
        wanted.resize(run.output.len(), UNTOUCHED);
        if let Some(byte) = wanted.iter().zip(&run.output).position(|(wanted, found)| wanted != found) {
            let index = byte / size_of::<Op::Output>();
            let kind = FaultKind::WrongOutput {
                index: index as u64,
                expected: format!("{:?}", expected.get(index)),
                found: "other bytes".to_owned(),
            };
            return Err(Box::new(Fault::at_end(kind, &self.source.name, "the last kernel")).into());
        }
        let total = total.or_else(|| self.op.start());
        if let Some(expected) = total.filter(|_| self.plan.spec.total) {
            compare_total(&expected, &run.total, &self.source, |total| self.op.project(total))?;
        }
        self.compare_totals(&totals, &run.total)
    }

    fn memory_at_offset(&self, input: &[Op::Input], elements: (usize, usize)) -> Memory<'static> {
        Memory {
            output_bytes: Some(input.len() * size_of::<Op::Output>()),
            input_offset: elements.0 * size_of::<Op::Input>(),
            output_offset: elements.1 * size_of::<Op::Output>(),
            heads_offset: (elements.0 + elements.1) * self.heads.as_ref().map_or(0, Heads::item_bytes),
            ..Memory::default()
        }
    }

    fn compare(
        &self,
        emulated: Emulated<Op::Output>,
        input: &[Op::Input],
    ) -> Result<Emulated<Op::Output>, EmulatorError>
    where
        Op::Output: Debug,
    {
        let Expected { output: expected, total, totals } = self.expected(input);
        let pairs = emulated.output.iter().zip(&expected).enumerate();
        for (index, (found, expected)) in pairs {
            if bytes_of(found) != bytes_of(expected) {
                let kind = FaultKind::WrongOutput {
                    index: index as u64,
                    expected: format!("{expected:?}"),
                    found: format!("{found:?}"),
                };
                return Err(Box::new(Fault::at_end(kind, &self.source.name, "the last kernel")).into());
            }
        }
        // What the total of nothing is, is no question for the kernels.
        if let Some(expected) = total.filter(|_| self.total_of(input)) {
            compare_total(&expected, &emulated.total, &self.source, |total| self.op.project(total))?;
        }
        self.compare_totals(&totals, &emulated.total)?;
        Ok(emulated)
    }

    /// What a plain loop makes of the input.
    pub(super) fn expected(&self, input: &[Op::Input]) -> Expected<Op> {
        let (op, spec, initial_value) = (&self.op, &self.plan.spec, self.initial_value);
        if !spec.initial_values && !spec.totals {
            let begins = self.heads.as_ref().map(|heads| &heads.begins[..input.len()]);
            let output = reference::scan_as(op, spec, initial_value, input, begins);
            let total = reference::total_as(op, spec, initial_value, input, begins);
            return Expected { output, total, totals: Vec::new() };
        }
        let segments = self.heads.as_ref().map(|heads| heads.segments_of(input.len())).unwrap_or_default();
        let initial = |segment: usize| self.initial_values.get(segment).copied().or(initial_value);
        let (output, totals) = reference::scan_each(op, spec, initial, input, &segments);
        Expected { output, total: None, totals: totals.into_iter().flatten().collect() }
    }

    /// Compares the totals of segments with what they should be: as many as there are of the elements scanned.
    pub(super) fn compare_totals(&self, expected: &[Op::Carry], found: &[u8]) -> Result<(), EmulatorError>
    where
        Op::Output: Debug,
    {
        if !self.plan.spec.totals {
            return Ok(());
        }
        let mut each = expected.iter().zip(found.chunks_exact(size_of::<Op::Carry>()));
        each.try_for_each(|(expected, found)| {
            compare_total(expected, found, &self.source, |total| self.op.project(total))
        })
    }

    /// How many bytes of totals the kernels write.
    fn total_bytes(&self, input: &[Op::Input]) -> usize {
        let segments = || self.heads.as_ref().map_or(0, |heads| heads.segments_of(input.len()).len());
        let totals = if self.plan.spec.totals { segments() } else { usize::from(self.total_of(input)) };
        totals * size_of::<Op::Carry>()
    }

    /// Whether the kernels write the total of this input.
    pub(super) fn total_of(&self, input: &[Op::Input]) -> bool {
        self.plan.spec.total && !input.is_empty()
    }

    fn run_in(
        &self,
        emulator: &Emulator,
        input: &[Op::Input],
        memory: Memory<'_>,
        change: impl Fn(&mut Schedule),
    ) -> Result<Emulated<Op::Output>, EmulatorError> {
        let run = self.run_memory(emulator, input, memory, change)?;
        let bytes = match memory.arrays {
            Some(_) => columns::joined::<Op::Output>(self.plan.spec.output, &run.output, input.len()),
            None => run.output,
        };
        // SAFETY: the kernels have written every output (the emulator has seen to it), and what an operator produces is a
        // valid element.
        let output = unsafe { elements(&bytes) };
        Ok(Emulated { output, total: run.total, counters: run.counters, trace: run.trace })
    }

    /// The same, but for what the bytes of the output mean.
    pub(super) fn run_memory(
        &self,
        emulator: &Emulator,
        input: &[Op::Input],
        memory: Memory<'_>,
        change: impl Fn(&mut Schedule),
    ) -> Result<Run, EmulatorError> {
        let module = self.module()?;
        let mut schedule = self.plan.schedule_aligned(input.len() as u64, UNPADDED)?;
        change(&mut schedule);
        let bytes: Vec<u8> = input.iter().flat_map(bytes_of).collect();
        let operator = self.op.parameters();
        let initial_value: Vec<u8> = match self.plan.spec.initial_values {
            true => self.initial_values.iter().flat_map(bytes_of).collect(),
            false => self.initial_value.as_ref().map(bytes_of).unwrap_or_default(),
        };
        let heads = self.heads.as_ref().map(Heads::bytes).unwrap_or_default();
        let memory = Memory {
            total_bytes: self.total_bytes(input),
            heads: &heads,
            head_count: self.heads.as_ref().map_or(0, Heads::head_count),
            operator: operator.bytes(),
            initial_value: &initial_value,
            input: &bytes,
            output_element: size_of::<Op::Output>(),
            ..memory
        };
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = mem::take(&mut *lock());
        let run = emulator.run(&module, |role| self.source.kernel_name(role), &schedule, &memory, &mut kept)?;
        *lock() = kept;
        Ok(run)
    }
}

/// A reduction of typed elements for the emulator, as [`Program`] is a scan.
#[derive(Clone, Debug)]
pub struct ReductionProgram<Op: ScanOp> {
    /// The operator.
    pub op: Op,
    /// What stands before the first element.
    pub initial_value: Option<Op::Carry>,
    /// The plan.
    pub plan: ReductionPlan,
    /// The generated text. Change it to see what the emulator makes of it.
    pub source: KernelSource,
}

impl<Op: ScanOp> ReductionProgram<Op> {
    /// Plans a reduction for a device with these limits, and writes its kernels. Fewer threads a block than the
    /// [baseline](DeviceLimits::BASELINE) has make several levels of short inputs.
    ///
    /// # Errors
    ///
    /// As [`Program::new`].
    pub fn new(
        op: Op,
        reduction: Reduction,
        initial_value: Option<Op::Carry>,
        limits: &DeviceLimits,
    ) -> Result<Self, EmulatorError> {
        let operator = op.source();
        let plan = plan_reduction(&operator, initial_value.is_some(), limits, reduction)?;
        let source = checked::render_reduction_from(mutants::templates(), &operator, &plan, Target::Host)?;
        Ok(ReductionProgram { op, initial_value, plan, source })
    }

    /// Reduces `input`, which has an element at least, and compares the result bit for bit with that of the plain loop over the
    /// operator's Rust body. The input begins so many elements beyond an aligned address.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the kernels, [`FaultKind::WrongTotal`], and those of [`Module::new`].
    pub fn verify(&self, emulator: &Emulator, input: &[Op::Input], offset: usize) -> Result<(), EmulatorError>
    where
        Op::Output: Debug,
    {
        self.verify_scheduled(emulator, input, offset, |_| ())
    }

    /// As [`verify`](ReductionProgram::verify), with a schedule that has been changed.
    ///
    /// # Errors
    ///
    /// As [`verify`](ReductionProgram::verify).
    pub fn verify_scheduled(
        &self,
        emulator: &Emulator,
        input: &[Op::Input],
        offset: usize,
        change: impl Fn(&mut Schedule),
    ) -> Result<(), EmulatorError>
    where
        Op::Output: Debug,
    {
        let module = Module::new(&self.source)?;
        let mut schedule = self.plan.schedule_aligned(input.len() as u64, UNPADDED)?;
        change(&mut schedule);
        let bytes: Vec<u8> = input.iter().flat_map(bytes_of).collect();
        let operator = self.op.parameters();
        let initial_value = self.initial_value.as_ref().map(bytes_of).unwrap_or_default();
        let memory = Memory {
            operator: operator.bytes(),
            initial_value: &initial_value,
            input: &bytes,
            input_offset: offset * size_of::<Op::Input>(),
            output_bytes: Some(size_of::<Op::Output>()),
            output_element: size_of::<Op::Output>(),
            ..Memory::default()
        };
        let kept = &mut KeptMemory::default(); // the kernels keep nothing
        let run = emulator.run(&module, |role| self.source.kernel_name(role), &schedule, &memory, kept)?;
        match reference::total(&self.op, self.initial_value, input) {
            Some(total) => compare_total(&self.op.project(total), &run.output, &self.source, |total| total),
            None => Ok(()),
        }
    }
}

/// Compares the bytes of a total with what it should be, and tells of both as what `show` makes of them.
pub(super) fn compare_total<T: ScanElement, Shown: Debug>(
    expected: &T,
    found: &[u8],
    source: &KernelSource,
    show: impl Fn(T) -> Shown,
) -> Result<(), EmulatorError> {
    // SAFETY: the kernels have written the total (the emulator has seen to it), and what an operator produces is valid.
    let totals = unsafe { elements::<T>(found) };
    if totals.iter().map(bytes_of).eq([bytes_of(expected)]) {
        return Ok(());
    }
    let found = totals.first().map(|found| format!("{:?}", show(*found))).unwrap_or_default();
    let kind = FaultKind::WrongTotal { expected: format!("{:?}", show(*expected)), found };
    Err(Box::new(Fault::at_end(kind, &source.name, "the last kernel")).into())
}

/// The elements that lie end to end in `bytes`.
///
/// # Safety
///
/// They are valid.
pub(super) unsafe fn elements<T: Copy>(bytes: &[u8]) -> Vec<T> {
    // SAFETY: each chunk has the bytes of one element.
    bytes.chunks_exact(size_of::<T>()).map(|chunk| unsafe { chunk.as_ptr().cast::<T>().read_unaligned() }).collect()
}
