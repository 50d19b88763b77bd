//! Executes generated kernels on the CPU, and finds what hardware hides.
//!
//! The generated CUDA text is translated to C++, compiled, and executed: each GPU thread a coroutine, several
//! blocks alive at once, the order of threads and blocks drawn from a seed. The same seed gives the same run. Every access
//! to memory is checked; the first thing that is wrong ends the run with a [`Fault`] that names the kernel, the line of the
//! generated text, the block and the thread:
//!
//! - an access outside of a buffer, or misaligned; a read of what nothing has written
//! - a race: two accesses, one of them a write, that no barrier, warp instruction, or release and acquire orders
//! - values that are told by relaxed accesses in an order which the hardware need not keep
//! - an access to global memory by a launch that may begin early, before it has waited for what is before it
//! - a barrier or warp instruction that not all threads reach
//! - in a cluster, what another block is told when that may not have begun, or has ended
//! - a deadlock: all threads wait, perhaps for a block that finds no room to start
//! - an output that is never written
//! - an application of the operator to anything but two adjacent partial results (see [`Emulator::check`])
//!
//! What the kernels did is counted ([`Counters`]), and traced on demand ([`Trace`]).

mod bulk;
mod callbacks;
mod cluster;
mod compile;
mod counters;
mod exchange;
mod fault;
mod kept;
mod machine;
mod memory;
mod order;
mod random;
mod schedule;
mod target;
mod trace;
mod translate;
mod weak;

use std::{ffi::c_void, fmt::Debug, rc::Rc};

use scan_codegen::{Argument, Launch, PlanError, RenderError, Schedule, Workspace};

use callbacks::{Active, Handle};
pub use compile::Module;
pub use counters::{BankCounters, Banks, Counters, LaunchCounters};
pub use fault::{Access, Fault, FaultKind, Place, Spot};
pub use kept::KeptMemory;
use machine::{Machine, OperandCheck, Shape};
use memory::Buffer;
pub use random::Random;
pub use target::target_dir;
pub use trace::{Event, EventNumber, Trace, What};
pub use translate::Unsupported;

/// Why there is no result.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulatorError {
    /// The kernels do something wrong.
    #[error("{0}")]
    Fault(#[from] Box<Fault>),
    /// The generated text has something in it that the emulator does not know.
    #[error("{source_name}, {unsupported}")]
    Unsupported {
        /// The source.
        source_name: String,
        /// What it is.
        unsupported: Unsupported,
    },
    /// The C++ compiler is missing, or refused the translated text.
    #[error("compiling for the emulator: {message}")]
    Compiler {
        /// What went wrong.
        message: String,
    },
    /// A launch does not fit the kernel.
    #[error("launching `{kernel}`: {message}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// What does not fit.
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
    /// The operator's parameters; nothing where it has none.
    pub operator: &'a [u8],
    /// The initial value; nothing where there is none.
    pub initial_value: &'a [u8],
    /// The input.
    pub input: &'a [u8],
    /// What tells where segments begin; nothing where the scan restarts nowhere.
    pub heads: &'a [u8],
    /// How many offsets there are, where it is offsets.
    pub offset_count: u64,
    /// Bytes of the output. `None` to scan in place: the output is the input's buffer.
    pub output_bytes: Option<usize>,
    /// Bytes of one output element.
    pub output_element: usize,
    /// Bytes of the sum of all elements, where it is wanted.
    pub total_bytes: usize,
    /// How many bytes beyond an aligned address the input begins, and
    pub input_offset: usize,
    /// the output, and
    pub output_offset: usize,
    /// what tells where segments begin.
    pub heads_offset: usize,
}

/// What a run has brought.
#[derive(Clone, Debug)]
pub struct Run {
    /// The output.
    pub output: Vec<u8>,
    /// The sum of all elements, where it was wanted.
    pub total: Vec<u8>,
    /// What it took.
    pub counters: Counters,
    /// What happened, if that was asked for.
    pub trace: Option<Trace>,
}

/// How kernels are executed. Cheap to make; a run changes nothing in it.
#[derive(Clone)]
pub struct Emulator {
    seed: u64,
    resident_blocks: usize,
    interrupt: usize,
    limit: u64,
    banks: Option<Banks>,
    trace: bool,
    check: Option<OperandCheck>,
}

impl Emulator {
    /// An emulator whose choices are drawn from this seed.
    pub fn new(seed: u64) -> Self {
        Emulator { seed, resident_blocks: 4, interrupt: 0, limit: 200_000_000, banks: None, trace: false, check: None }
    }

    /// How many blocks are alive at once; 4 unless told otherwise. With 1, a block ends before the next one starts.
    pub fn resident_blocks(mut self, blocks: usize) -> Self {
        self.resident_blocks = blocks;
        self
    }

    /// Interrupts threads also at ordinary accesses, on average once in so many. Otherwise another thread takes over only
    /// where threads wait for each other, and at atomic accesses.
    pub fn interrupt_once_in(mut self, accesses: usize) -> Self {
        self.interrupt = accesses;
        self
    }

    /// The accesses after which a launch is taken never to end.
    pub fn limit(mut self, accesses: u64) -> Self {
        self.limit = accesses;
        self
    }

    /// Counts the conflicts of a shared memory like this one.
    pub fn banks(mut self, banks: Banks) -> Self {
        self.banks = Some(banks);
        self
    }

    /// Keeps a trace.
    pub fn trace(mut self) -> Self {
        self.trace = true;
        self
    }

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

    /// Has the operands of every application checked before the operator is applied: by their bytes; if they must not be
    /// combined, the answer is how to name them.
    pub fn check_operands(mut self, check: impl Fn(&[u8], &[u8]) -> Option<(String, String)> + 'static) -> Self {
        self.check = Some(Rc::new(check));
        self
    }

    /// Executes the launches of a schedule. `kernel_name` names the kernel with a role, as
    /// [`KernelSource::kernel_name`](scan_codegen::KernelSource::kernel_name) does. `kept` is the memory that the kernels
    /// keep; it grows if it must, and is given back as they leave it. After an error it is gone, as all memory of a device is.
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
        let mut machine = Box::new(Machine::new(Random::new(self.seed)));
        machine.interrupt = self.interrupt;
        machine.limit = self.limit;
        if let Workspace::Kept { message_bytes, .. } = schedule.workspace {
            // Looking for a long message takes many loads.
            machine.patience = machine.patience.max(2 * message_bytes as u32);
        }
        machine.banks = self.banks;
        machine.check = self.check.clone();
        machine.trace = self.trace.then(Trace::default);
        let buffers = Buffers::new(&mut machine, schedule, memory, kept.take(&schedule.workspace));
        let mut counters = Counters::default();
        let pointer: *mut Machine = &mut *machine;
        for (index, launch) in schedule.launches.iter().enumerate() {
            let _active = Active::new(pointer);
            self.launch(module, &kernel_name(launch.kernel), index as u32, launch, &buffers, memory)?;
            counters.launches.push(callbacks::machine(|machine| std::mem::take(&mut machine.counters)));
        }
        let total = &mut machine.memory[buffers.total as usize - 1];
        let unwritten_total = total.first_unwritten(memory.total_bytes.max(1));
        let total = std::mem::take(&mut total.bytes);
        let output = &mut machine.memory[buffers.output as usize - 1];
        if let Some(index) = output.first_unwritten(memory.output_element).or(unwritten_total) {
            let kernel = schedule.launches.last().map_or_else(String::new, |launch| kernel_name(launch.kernel));
            return Err(Box::new(Fault::at_end(FaultKind::NotWritten { index }, &module.name, &kernel)).into());
        }
        let output = std::mem::take(&mut output.bytes);
        if matches!(schedule.workspace, Workspace::Kept { .. }) {
            kept.give_back(buffers.workspace.iter().map(|&(_, buffer)| &*machine.memory[buffer as usize - 1].bytes));
        }
        Ok(Run { output, total, counters, trace: machine.trace.take() })
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
        // SAFETY: the machine is active; the arguments have the sizes that the kernel tells, and live as long as the launch.
        let launched = unsafe { schedule::launch(shape, resident_blocks, kernel.entry, pointers.as_ptr()) };
        launched.map_err(|error| failed(format!("a stack for a thread: {error}")))?;
        match callbacks::machine(|machine| machine.fault.take()) {
            Some((kind, place)) => {
                Err(Box::new(Fault { kind, place, source_name: module.name.clone(), kernel: name.to_owned() }).into())
            }
            None => Ok(()),
        }
    }
}

/// The numbers of the buffers that a schedule's arguments mean.
struct Buffers {
    input: u32,
    output: u32,
    heads: u32,
    total: u32,
    /// The places in the workspace that arguments point at, in order, and the buffer that begins at each: one ends where
    /// the next begins.
    workspace: Vec<(u64, u32)>,
    message_room: u64,
}

impl Buffers {
    /// `kept` is what stands in the workspace, where it is one that is kept.
    fn new(machine: &mut Machine, schedule: &Schedule, memory: &Memory<'_>, kept: Vec<u8>) -> Self {
        let mut add = |mut buffer: Buffer, address: usize, read_only: bool| {
            buffer.address = address as u64;
            buffer.read_only = read_only;
            machine.memory.push(buffer);
            machine.memory.len() as u32
        };
        let in_place = memory.output_bytes.is_none();
        let input = add(Buffer::initialised("input", memory.input.to_vec()), memory.input_offset, !in_place);
        let output = match memory.output_bytes {
            Some(bytes) => add(Buffer::uninitialised("output", bytes), memory.output_offset, false),
            None => input,
        };
        let heads = add(Buffer::initialised("heads", memory.heads.to_vec()), memory.heads_offset, true);
        let total = add(Buffer::uninitialised("total", memory.total_bytes), 0, false);
        let mut offsets: Vec<u64> = schedule
            .launches
            .iter()
            .flat_map(|launch| &launch.arguments)
            .filter_map(|argument| match argument {
                Argument::Workspace(offset) => Some(*offset),
                _ => None,
            })
            .collect();
        offsets.sort_unstable();
        offsets.dedup();
        let is_kept = matches!(schedule.workspace, Workspace::Kept { .. });
        let workspace_bytes = if is_kept { kept.len() as u64 } else { schedule.workspace.bytes() };
        let mut workspace = Vec::new();
        for (index, &offset) in offsets.iter().enumerate() {
            let end = offsets.get(index + 1).copied().unwrap_or(workspace_bytes);
            let name = format!("workspace+{offset}");
            let buffer = match is_kept {
                true => Buffer::initialised(name, kept[offset as usize..end as usize].to_vec()),
                false => Buffer::uninitialised(name, end.saturating_sub(offset) as usize),
            };
            workspace.push((offset, add(buffer, 0, false)));
        }
        let message_room = schedule.workspace.message_room(workspace_bytes);
        Buffers { input, output, heads, total, workspace, message_room }
    }

    /// The buffer that a pointer argument means.
    fn of(&self, argument: &Argument) -> Option<u32> {
        match argument {
            Argument::Input => Some(self.input),
            Argument::Output => Some(self.output),
            Argument::Heads => Some(self.heads),
            Argument::Total => Some(self.total),
            Argument::Workspace(offset) => {
                self.workspace.iter().find(|(start, _)| start == offset).map(|&(_, buffer)| buffer)
            }
            _ => None,
        }
    }
}

/// The bytes of each argument of a launch, aligned for any type, checked against what the kernel takes.
fn argument_values(
    launch: &Launch,
    parameters: &[u32],
    buffers: &Buffers,
    memory: &Memory<'_>,
) -> Result<Vec<Vec<u128>>, String> {
    if launch.arguments.len() != parameters.len() {
        return Err(format!("{} arguments, where the kernel takes {}", launch.arguments.len(), parameters.len()));
    }
    let mut values = Vec::new();
    for (position, (argument, &size)) in launch.arguments.iter().zip(parameters).enumerate() {
        let bytes = match argument {
            Argument::Length(length) => length.to_le_bytes().to_vec(),
            Argument::MessageRoom => buffers.message_room.to_le_bytes().to_vec(),
            Argument::OffsetCount => memory.offset_count.to_le_bytes().to_vec(),
            // An operator without parameters is one byte, of any value.
            Argument::Operator if memory.operator.is_empty() => vec![0],
            Argument::Operator => memory.operator.to_vec(),
            Argument::InitialValue => memory.initial_value.to_vec(),
            pointer => {
                let buffer =
                    buffers.of(pointer).ok_or(format!("argument {position} ({pointer:?}) is not known here"))?;
                if size != 0 {
                    return Err(format!(
                        "argument {position} is a pointer, where the kernel takes {size} bytes by value"
                    ));
                }
                let handle = Handle { buffer, offset: 0 };
                values.push(vec![u128::from(handle.buffer)]);
                continue;
            }
        };
        if bytes.len() != size as usize {
            let taken = if size == 0 { "a pointer".to_owned() } else { format!("{size}") };
            return Err(format!(
                "argument {position} ({argument:?}) has {} bytes, where the kernel takes {taken}",
                bytes.len()
            ));
        }
        let mut value = vec![0_u128; bytes.len().div_ceil(16)];
        for (word, chunk) in value.iter_mut().zip(bytes.chunks(16)) {
            let mut word_bytes = [0; 16];
            word_bytes[..chunk.len()].copy_from_slice(chunk);
            *word = u128::from_ne_bytes(word_bytes);
        }
        values.push(value);
    }
    Ok(values)
}
