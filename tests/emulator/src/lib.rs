//! Executes CUDA kernels on the CPU, and finds faults that hardware hides.
//!
//! The CUDA text is translated to C++, compiled, and executed: each GPU thread is a coroutine, several blocks are
//! resident at once, and the order of threads and blocks is drawn from a seed. The same seed gives the same run.
//! Every access to memory is checked. The first fault ends the run with a [`Fault`], which names the kernel, the line
//! of the text, the block and the thread:
//!
//! - an access outside of a buffer, or misaligned; a read of memory that nothing has written
//! - a race: two accesses, one of them a write, that no barrier, warp instruction, or release and acquire orders
//! - values that are published by relaxed accesses in an order which the hardware need not keep
//! - an access to global memory by a launch that may begin early, before it has waited for the previous launch
//! - a barrier or warp instruction that not all threads reach
//! - in a cluster, a store to a block that may not have started, or has ended
//! - a deadlock: all threads wait, perhaps for a block that cannot become resident
//! - an output that is never written
//! - an application of the operator to anything but two adjacent partial results (see [`Emulator::check`])
//!
//! The emulator counts what the kernels do ([`Counters`]), and traces it on demand ([`Trace`]).
//!
//! Two kinds of text can be executed. [`Module::new`] takes a scan or reduction of `scan-codegen`, rendered with
//! [`Target::Host`](scan_codegen::Target::Host); its plan gives the [`Schedule`]. [`Module::from_text`] takes a text of
//! your own, in [the dialect](#the-dialect) below. The emulator needs a C++20 compiler: `c++`, or the one that the
//! environment variable `CXX` names.
//!
//! # Example
//!
//! A kernel of your own, with and without a barrier:
//!
//! ```
//! use scan_codegen::{Argument, KernelRole, Launch, Schedule, Workspace};
//! use scan_emulator::{Emulator, EmulatorError, FaultKind, KeptMemory, Memory, Module};
//!
//! // One block adds up 64 numbers. Each step combines neighbouring partial results.
//! let text = r#"
//! struct Sum {
//!   __device__ unsigned combine(unsigned a, unsigned b) const { return a + b; }
//! };
//! using State = unsigned;
//!
//! extern "C" __global__ void __launch_bounds__(64) sum_of_block(const Sum op, const State* input, State* output) {
//!   __shared__ State x[64];
//!   const unsigned i = threadIdx.x;
//!   x[i] = input[i];
//!   __syncthreads();
//!   for (unsigned stride = 1; stride < 64; stride *= 2) {
//!     if (i % (2 * stride) == 0) {
//!       x[i] = op.combine(x[i], x[i + stride]);
//!     }
//!     __syncthreads(); // before the next step
//!   }
//!   if (i == 0) {
//!     *output = x[0];
//!   }
//! }
//! "#;
//!
//! // One launch of one block, and its arguments. The operator is passed by value.
//! let arguments = vec![Argument::Operator, Argument::Input, Argument::Output];
//! let schedule = Schedule {
//!     workspace: Workspace::Scratch { bytes: 0 },
//!     launches: vec![Launch::new(KernelRole::ReduceTiles, 1, 64, arguments)],
//! };
//! let input: Vec<u8> = (0..64_u32).flat_map(u32::to_ne_bytes).collect();
//! let memory = Memory { input: &input, output_bytes: Some(4), output_element: 4, ..Memory::default() };
//! let run = |text: &str, seed: u64| {
//!     let module = Module::from_text("sum.cu", text)?;
//!     Emulator::new(seed).run(&module, |_| "sum_of_block".to_owned(), &schedule, &memory, &mut KeptMemory::default())
//! };
//!
//! assert_eq!(run(text, 1)?.output, 2016_u32.to_ne_bytes());
//!
//! // Without a barrier between steps, a thread may read a value before another thread has written it. On a GPU the
//! // sum may still be right, by chance.
//! let planted = text.replace("__syncthreads(); // before the next step", "");
//! let Err(EmulatorError::Fault(fault)) = run(&planted, 1) else { panic!("nothing was found") };
//! assert!(matches!(fault.kind, FaultKind::Race { .. }));
//! assert_eq!((fault.kernel.as_str(), fault.place.line), ("sum_of_block", 14));
//! println!("{fault}");
//! # assert!(fault.to_string().starts_with("race: a "), "{fault}");
//!
//! // A construct outside the dialect is refused, with its line.
//! let unknown = Module::from_text("sum.cu", &text.replace("*output = x[0]", "atomicAdd(output, x[0])"));
//! let Err(EmulatorError::Unsupported { unsupported, .. }) = unknown else { panic!("it was not refused") };
//! assert_eq!((unsupported.line, unsupported.construct.as_str()), (19, "atomicAdd"));
//! # Ok::<(), EmulatorError>(())
//! ```
//!
//! It prints the fault and its place:
//!
//! ```text
//! race: a write of shared x[62], and nothing orders it with a read of the same (line 14, thread 60 of block 0)
//!   in sum_of_block (sum.cu, line 14, thread 62 of block 0)
//! ```
//!
#![doc = include_str!("../dialect.md")]

mod buffers;
mod bulk;
mod callbacks;
mod cluster;
mod compile;
mod counters;
mod exchange;
mod fault;
mod kept;
mod late;
mod machine;
mod memory;
mod order;
mod random;
mod schedule;
mod target;
mod trace;
mod translate;
mod watchdog;
mod weak;

use std::{ffi::c_void, fmt::Debug, rc::Rc, time::Duration};

use scan_codegen::{Argument, Launch, PlanError, RenderError, Schedule, Workspace};

pub use buffers::Stretch;
use buffers::{Buffers, argument_values};
use callbacks::Active;
pub use compile::Module;
pub use counters::{BankCounters, Banks, Counters, LaunchCounters};
pub use fault::{Access, Fault, FaultKind, Place, Spot};
pub use kept::KeptMemory;
use machine::{Machine, OperandCheck, Shape};
pub use random::Random;
pub use target::target_dir;
pub use trace::{Event, EventNumber, Trace, WarpAccess, What};
pub use translate::Unsupported;

/// The errors of the emulator.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulatorError {
    /// A kernel has a fault.
    #[error("{0}")]
    Fault(#[from] Box<Fault>),
    /// The text has a construct that the emulator does not support.
    #[error("{source_name}, {unsupported}")]
    Unsupported {
        /// The source.
        source_name: String,
        /// The construct.
        unsupported: Unsupported,
    },
    /// The C++ compiler is missing, or refused the translated text.
    #[error("compiling for the emulator: {message}")]
    Compiler {
        /// The compiler's message, or the system's.
        message: String,
    },
    /// A launch does not fit the kernel.
    #[error("launching `{kernel}`: {message}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// The mismatch.
        message: String,
    },
    /// There is no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is no source.
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// The memory of a scan, as bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory<'a> {
    /// The operator's parameters; empty if it has none.
    pub operator: &'a [u8],
    /// The initial value; empty if there is none.
    pub initial_value: &'a [u8],
    /// When the initial value arrives, where another stream writes it: kernels then find two 64-bit numbers before it.
    pub late: Option<Arrival>,
    /// The number of elements, where kernels read it.
    pub length: u64,
    /// The input.
    pub input: &'a [u8],
    /// The arrays of the input and of the output, where kernels take several of them. `input` and what is said of the
    /// output then count for nothing.
    pub arrays: Option<Arrays<'a>>,
    /// What tells where segments begin; nothing where the scan restarts nowhere.
    pub heads: &'a [u8],
    /// Where ranges end, whose begins are the heads.
    pub range_ends: &'a [u8],
    /// The number of offsets, for segments by offsets; the number of elements of a row, for rows.
    pub head_count: u64,
    /// Where the elements of an array lie of which an axis is scanned; nothing where none is.
    pub layout: &'a [u8],
    /// Bytes of the output. `None` to scan in place: the output is the input's buffer.
    pub output_bytes: Option<usize>,
    /// What every byte of the output, and of the total, holds before the run, where not all of it need be written.
    pub output_holds: Option<u8>,
    /// Bytes of one output element.
    pub output_element: usize,
    /// Bytes of the total, or of the number of segments, where it is wanted.
    pub total_bytes: usize,
    /// The number of bytes between an aligned address and the input.
    pub input_offset: usize,
    /// The same for the output.
    pub output_offset: usize,
    /// Which byte of the input kernels are given the address of.
    pub input_first: usize,
    /// The same for the output.
    pub output_first: usize,
    /// The same as `input_offset` for the source of segment heads.
    pub heads_offset: usize,
}

/// When another stream writes an initial value that kernels wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Before the first launch.
    Before,
    /// At a time that the seed draws, while the threads run.
    Meanwhile,
    /// Once no thread can go on without it.
    Last,
}

/// An array of the input or of the output.
#[derive(Clone, Debug, Default)]
pub struct Array {
    /// What it holds; of the output, as many bytes.
    pub bytes: Vec<u8>,
    /// Bytes of an item.
    pub item: usize,
    /// How many bytes beyond an aligned address it begins.
    pub offset: usize,
    /// Which byte of it kernels are given the address of.
    pub first: usize,
    /// Whether kernels take it as a pointer, or as something else.
    pub kind: ArrayKind,
}

/// What kernels take for an array.
#[derive(Clone, Debug, Default)]
pub enum ArrayKind {
    /// A pointer.
    #[default]
    Slice,
    /// A pointer, the number of items, and a pointer to places, which have these bytes. Items of the output that
    /// nothing is written to keep what they hold.
    Places(Vec<u8>),
    /// Of the output: a pointer and the number of items. Items that nothing is written to keep what they hold.
    Computed,
    /// Of the input the number 0, of the output nothing. It holds nothing.
    NoMemory,
    /// Of the input: a pointer, and these bytes behind it.
    Followed(Vec<u8>),
}

/// The arrays of a scan that has several.
#[derive(Clone, Copy, Debug)]
pub struct Arrays<'a> {
    /// Those of the input.
    pub inputs: &'a [Array],
    /// Those of the output.
    pub outputs: &'a [Array],
}

/// What a run has brought.
#[derive(Clone, Debug)]
pub struct Run {
    /// The output; of several arrays, one after the other.
    pub output: Vec<u8>,
    /// The total, or the number of segments, where it was wanted.
    pub total: Vec<u8>,
    /// The counts of operations.
    pub counters: Counters,
    /// The trace, if it was requested.
    pub trace: Option<Trace>,
}

/// The settings by which kernels are executed. Cheap to make; a run does not change them.
#[derive(Clone)]
pub struct Emulator {
    seed: u64,
    resident_blocks: usize,
    interrupt: usize,
    limit: u64,
    patience: Duration,
    banks: Option<Banks>,
    trace: bool,
    check: Option<OperandCheck>,
}

impl Emulator {
    /// An emulator whose scheduling is drawn from this seed.
    pub fn new(seed: u64) -> Self {
        Emulator {
            seed,
            resident_blocks: 4,
            interrupt: 0,
            limit: 200_000_000,
            patience: watchdog::PATIENCE,
            banks: None,
            trace: false,
            check: None,
        }
    }

    /// The number of resident blocks; 4 by default. With 1, a block ends before the next one starts.
    pub fn resident_blocks(mut self, blocks: usize) -> Self {
        self.resident_blocks = blocks;
        self
    }

    /// Also interrupts threads at ordinary accesses, on average once in `accesses`. By default another thread takes
    /// over only where threads wait for each other, and at atomic accesses.
    pub fn interrupt_once_in(mut self, accesses: usize) -> Self {
        self.interrupt = accesses;
        self
    }

    /// The number of accesses after which a launch is assumed never to end.
    pub fn limit(mut self, accesses: u64) -> Self {
        self.limit = accesses;
        self
    }

    /// How long a thread may run without an access or a barrier; two minutes by default. After that the process ends
    /// with a message, because a kernel cannot be stopped from outside.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Counts the bank conflicts of a shared memory with these banks.
    pub fn banks(mut self, banks: Banks) -> Self {
        self.banks = Some(banks);
        self
    }

    /// Records a trace.
    pub fn trace(mut self) -> Self {
        self.trace = true;
        self
    }

    /// Checks the operands of every application before the operator is applied, as values of the operator's state type
    /// `T`.
    ///
    /// ```
    /// # use scan_emulator::Emulator;
    /// #[derive(Clone, Copy, Debug)]
    /// struct Span {
    ///     first: u32,
    ///     last: u32,
    /// }
    ///
    /// let emulator = Emulator::new(1).check(|a: &Span, b: &Span| a.last + 1 == b.first);
    /// ```
    pub fn check<T: Copy + Debug + 'static>(self, fits: impl Fn(&T, &T) -> bool + 'static) -> Self {
        self.check_operands(move |left, right| {
            // SAFETY: the bytes are those of two values of the operator's state type.
            let (left, right) =
                unsafe { (left.as_ptr().cast::<T>().read_unaligned(), right.as_ptr().cast::<T>().read_unaligned()) };
            (!fits(&left, &right)).then(|| (format!("{left:?}"), format!("{right:?}")))
        })
    }

    /// Checks the operands of every application, as bytes, before the operator is applied. If they must not be
    /// combined, `check` returns texts that describe both.
    pub fn check_operands(mut self, check: impl Fn(&[u8], &[u8]) -> Option<(String, String)> + 'static) -> Self {
        self.check = Some(Rc::new(check));
        self
    }

    /// Executes the launches of a schedule. `kernel_name` names the kernel with a role, as
    /// [`KernelSource::kernel_name`](scan_codegen::KernelSource::kernel_name) does. `kept` is the memory that the kernels
    /// keep; it grows if it must, and is returned as they leave it. An error drops it, like all memory of a device.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::Fault`] if a kernel does something wrong, [`EmulatorError::Launch`] if a launch does not fit its
    /// kernel.
    pub fn run(
        &self,
        module: &Module,
        kernel_name: impl Fn(&str) -> String,
        schedule: &Schedule,
        memory: &Memory<'_>,
        kept: &mut KeptMemory,
    ) -> Result<Run, EmulatorError> {
        let mut machine = self.machine();
        if let Workspace::Kept { status_bytes, .. } = schedule.workspace {
            // Polling a long status takes many loads.
            machine.patience = machine.patience.max(2 * status_bytes as u32);
        }
        let workspace = kept.take(&schedule.workspace);
        let buffers = Buffers::new(&mut machine, schedule, memory, &workspace);
        if let Some(arrival) = memory.late {
            let buffer = buffers.of(&Argument::InitialPointer).unwrap_or_default();
            machine.expect_late(buffer, memory.initial_value, arrival);
        }
        let counters = self.launch_all(&mut machine, module, &kernel_name, &schedule.launches, &buffers, memory)?;
        let total = buffers.of(&Argument::Total).map_or(0, |number| number as usize - 1);
        let total = &mut machine.memory[total];
        let unwritten_total = total.first_unwritten(memory.total_bytes.max(1));
        let total = std::mem::take(&mut total.bytes);
        let items = match memory.arrays {
            Some(arrays) => {
                let written = arrays.outputs.iter().filter(|array| !matches!(array.kind, ArrayKind::NoMemory));
                written.map(|array| array.item).collect()
            }
            None => vec![memory.output_element],
        };
        let outputs = buffers.all_of(&Argument::Output).into_iter().map(|number| number as usize - 1);
        let mut unwritten = unwritten_total;
        let mut output = Vec::new();
        for (index, item) in outputs.zip(items) {
            let array = &mut machine.memory[index];
            unwritten = array.first_unwritten(item).or(unwritten);
            output.append(&mut array.bytes);
        }
        if let Some(index) = unwritten {
            let kernel = schedule.launches.last().map_or_else(String::new, |launch| kernel_name(launch.kernel.name()));
            return Err(Box::new(Fault::at_end(FaultKind::NotWritten { index }, &module.name, &kernel)).into());
        }
        if matches!(schedule.workspace, Workspace::Kept { .. }) {
            let parts =
                buffers.workspace().map(|(offset, buffer)| (offset, &*machine.memory[buffer as usize - 1].bytes));
            kept.give_back(workspace, parts);
        }
        Ok(Run { output, total, counters, trace: machine.trace.take() })
    }

    /// Executes launches on buffers of which only some stretches exist, and returns the contents of these stretches
    /// afterwards. With that, tests check the indexing of kernels in buffers larger than the machine's memory. Of
    /// `memory` only the values that are passed by value are used.
    ///
    /// # Errors
    ///
    /// As [`run`](Emulator::run).
    pub fn run_on_stretches(
        &self,
        module: &Module,
        kernel_name: impl Fn(&str) -> String,
        launches: &[Launch],
        memory: &Memory<'_>,
        stretches: &[Stretch],
        status_room: u64,
    ) -> Result<Vec<Vec<u8>>, EmulatorError> {
        let mut machine = self.machine();
        let buffers = Buffers::of_stretches(&mut machine, stretches, status_room);
        self.launch_all(&mut machine, module, &kernel_name, launches, &buffers, memory)?;
        Ok(machine.memory.drain(..).map(|buffer| buffer.bytes).collect())
    }

    fn machine(&self) -> Box<Machine> {
        let mut machine = Box::new(Machine::new(Random::new(self.seed)));
        machine.interrupt = self.interrupt;
        machine.limit = self.limit;
        machine.banks = self.banks;
        machine.check = self.check.clone();
        machine.trace = self.trace.then(Trace::default);
        machine
    }

    fn launch_all(
        &self,
        machine: &mut Machine,
        module: &Module,
        kernel_name: &impl Fn(&str) -> String,
        launches: &[Launch],
        buffers: &Buffers,
        memory: &Memory<'_>,
    ) -> Result<Counters, EmulatorError> {
        let pointer: *mut Machine = machine;
        let mut counters = Counters::default();
        for (index, launch) in launches.iter().enumerate() {
            let _active = Active::new(pointer);
            self.launch(module, &kernel_name(launch.kernel.name()), index as u32, launch, buffers, memory)?;
            counters.launches.push(callbacks::machine(|machine| std::mem::take(&mut machine.counters)));
        }
        Ok(counters)
    }

    /// Executes one launch, with the machine active.
    fn launch(
        &self,
        module: &Module,
        name: &str,
        index: u32,
        launch: &Launch,
        buffers: &Buffers,
        memory: &Memory<'_>,
    ) -> Result<(), EmulatorError> {
        let failed = |message: String| EmulatorError::Launch { kernel: name.to_owned(), message };
        let kernel = module.kernel(name).ok_or_else(|| failed(format!("`{}` has no such kernel", module.name)))?;
        if kernel.bound > 0 && launch.threads > kernel.bound {
            return Err(failed(format!("{} threads, where the kernel allows {}", launch.threads, kernel.bound)));
        }
        let values = argument_values(launch, &kernel.parameters, buffers, memory).map_err(failed)?;
        if !launch.blocks.is_multiple_of(kernel.cluster) {
            return Err(failed(format!("{} blocks, where a cluster has {}", launch.blocks, kernel.cluster)));
        }
        let pointers: Vec<*const c_void> = values.iter().map(|value| value.as_ptr().cast()).collect();
        let shape = Shape {
            launch: index,
            blocks: launch.blocks,
            threads: launch.threads,
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            programmatic: launch.programmatic,
            cluster: kernel.cluster,
        };
        // A cooperative launch starts when there is room for all its blocks, or not at all.
        let cooperative = launch.cooperative.applies(memory.output_bytes.is_none());
        let resident_blocks = if cooperative { usize::MAX } else { self.resident_blocks };
        callbacks::machine(|machine| machine.begin_launch(shape, name));
        let watch = || watchdog::watch(format!("{name} ({})", module.name), self.patience);
        // SAFETY: the machine is active; the arguments have the sizes that the kernel declares, and outlive the launch.
        let launched = unsafe { schedule::launch(shape, resident_blocks, kernel.entry, pointers.as_ptr(), watch) };
        launched.map_err(|error| failed(format!("a stack for a thread: {error}")))?;
        match callbacks::machine(|machine| machine.fault.take()) {
            Some((kind, place)) => {
                Err(Box::new(Fault { kind, place, source_name: module.name.clone(), kernel: name.to_owned() }).into())
            }
            None => Ok(()),
        }
    }
}
