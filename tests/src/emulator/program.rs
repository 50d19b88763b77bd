//! A scan of typed elements for the emulator: operator, plan and source in one.

use std::{fmt::Debug, sync::Arc};

use scan_codegen::{
    DeviceLimits, KernelSource, Overrides, Plan, ScanKind, ScanSpec, Segments, Target, plan, render_for,
};
use scan_runtime::{__private::bytes_of, ScanOp};

use super::{Counters, Emulator, EmulatorError, Fault, FaultKind, Memory, Module, Trace};
use crate::{reference, segments::Heads};

/// A scan as the emulator executes it. What would run on the GPU with the same choices is the same text, but for the
/// operator's prelude, whose machine part is written for the host.
#[derive(Clone, Debug)]
pub struct Program<Op: ScanOp> {
    /// The operator.
    pub op: Op,
    /// What stands before the first element.
    pub initial_value: Option<Op::State>,
    /// Where it restarts; `None` in a scan that does not.
    pub heads: Option<Heads>,
    /// The plan.
    pub plan: Plan,
    /// The generated text. Change it to see what the emulator makes of it.
    pub source: KernelSource,
}

/// What a run of a [`Program`] has brought.
#[derive(Clone, Debug)]
pub struct Emulated<Output> {
    /// The output.
    pub output: Vec<Output>,
    /// What it took.
    pub counters: Counters,
    /// What happened, if that was asked for.
    pub trace: Option<Trace>,
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
        initial_value: Option<Op::State>,
        overrides: &Overrides,
    ) -> Result<Self, EmulatorError> {
        Program::segmented(op, kind, initial_value, Segments::None, overrides)
    }

    /// As [`new`](Program::new), of a scan that restarts. Before it runs it must be told [where](Program::with_heads).
    ///
    /// # Errors
    ///
    /// As [`new`](Program::new).
    pub fn segmented(
        op: Op,
        kind: ScanKind,
        initial_value: Option<Op::State>,
        segments: Segments,
        overrides: &Overrides,
    ) -> Result<Self, EmulatorError> {
        let spec = match kind {
            ScanKind::Inclusive => ScanSpec::inclusive(),
            ScanKind::Exclusive => ScanSpec::exclusive(),
        };
        let spec = spec.with_segments(segments);
        let spec = if initial_value.is_some() { spec.with_initial_value() } else { spec };
        let operator = op.source();
        let plan = plan(&operator, &spec, &DeviceLimits::BASELINE, overrides)?;
        let source = render_for(&operator, &plan, Target::Host)?;
        Ok(Program { op, initial_value, heads: None, plan, source })
    }

    /// The same program, restarting where these heads tell. They must be of the kind that it was made for.
    pub fn with_heads(&self, heads: Heads) -> Self
    where
        Op: Clone,
    {
        Program { heads: Some(heads), ..self.clone() }
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
        self.run_in(emulator, input, memory)
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
        self.run_in(emulator, input, Memory::default())
    }

    /// As [`run`](Program::run), and compares the output bit for bit with that of the plain loop over the operator's Rust
    /// body.
    ///
    /// # Errors
    ///
    /// As [`run`](Program::run), and [`FaultKind::WrongOutput`].
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

    /// As [`verify`](Program::verify), with both buffers beginning so many elements beyond an aligned address.
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
        let memory = Memory {
            output_bytes: Some(input.len() * size_of::<Op::Output>()),
            input_offset: elements.0 * size_of::<Op::Input>(),
            output_offset: elements.1 * size_of::<Op::Output>(),
            ..Memory::default()
        };
        self.compare(self.run_in(emulator, input, memory)?, input)
    }

    fn compare(
        &self,
        emulated: Emulated<Op::Output>,
        input: &[Op::Input],
    ) -> Result<Emulated<Op::Output>, EmulatorError>
    where
        Op::Output: Debug,
    {
        let (kind, initial_value) = (self.plan.spec.kind, self.initial_value);
        let expected = match &self.heads {
            None => reference::scan(&self.op, kind, initial_value, input),
            Some(heads) => reference::scan_segments(&self.op, kind, initial_value, input, &heads.begins),
        };
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
        Ok(emulated)
    }

    fn run_in(
        &self,
        emulator: &Emulator,
        input: &[Op::Input],
        memory: Memory<'_>,
    ) -> Result<Emulated<Op::Output>, EmulatorError> {
        let module = self.module()?;
        let schedule = self.plan.schedule(input.len() as u64)?;
        let bytes: Vec<u8> = input.iter().flat_map(bytes_of).collect();
        let operator = self.op.parameters();
        let initial_value = self.initial_value.as_ref().map(bytes_of).unwrap_or_default();
        let heads = self.heads.as_ref().map(Heads::bytes).unwrap_or_default();
        let memory = Memory {
            heads: &heads,
            offset_count: self.heads.as_ref().map_or(0, Heads::offset_count),
            operator: operator.bytes(),
            initial_value: &initial_value,
            input: &bytes,
            output_element: size_of::<Op::Output>(),
            ..memory
        };
        let run = emulator.run(&module, |role| self.source.kernel_name(role), &schedule, &memory)?;
        // SAFETY: the kernels have written every output (the emulator has seen to it), and what an operator produces is a
        // valid element.
        let output = unsafe { elements(&run.output) };
        Ok(Emulated { output, counters: run.counters, trace: run.trace })
    }
}

/// The elements that lie end to end in `bytes`.
///
/// # Safety
///
/// They are valid.
unsafe fn elements<T: Copy>(bytes: &[u8]) -> Vec<T> {
    // SAFETY: each chunk has the bytes of one element.
    bytes.chunks_exact(size_of::<T>()).map(|chunk| unsafe { chunk.as_ptr().cast::<T>().read_unaligned() }).collect()
}

impl Emulator {
    /// Has the operands of every application checked before the operator is applied, as values of the operator's state
    /// type `T`.
    ///
    /// ```ignore
    /// emulator.check(|a: &Span, b: &Span| a.last + 1 == b.first)
    /// ```
    pub fn check<T: Copy + Debug + 'static>(self, fits: impl Fn(&T, &T) -> bool + 'static) -> Self {
        self.check_operands(move |left, right| {
            // SAFETY: the bytes are those of two values of the operator's state type.
            let (left, right) =
                unsafe { (left.as_ptr().cast::<T>().read_unaligned(), right.as_ptr().cast::<T>().read_unaligned()) };
            (!fits(&left, &right)).then(|| (format!("{left:?}"), format!("{right:?}")))
        })
    }
}
