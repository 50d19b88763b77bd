//! The memory of a run: which buffer each argument of a launch points at, and the values of all arguments.

use scan_codegen::{Argument, Launch, Schedule, Workspace};

use super::{
    Array, ArrayKind, Arrays, Memory, callbacks::Handle, kept::TURNS_BYTES, late, machine::Machine, memory::Buffer,
};

/// A stretch of a buffer that is far longer than what a test has memory for. The rest of the buffer is not there: an access to it is
/// a fault.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// The argument that points at the beginning of the whole buffer.
    pub argument: Argument,
    /// Bytes of the buffer before the stretch.
    pub before: u64,
    /// What the stretch holds.
    pub bytes: Vec<u8>,
    /// Whether the kernels may read it before they have written it.
    pub initialised: bool,
}

/// The buffers that the arguments of launches point at.
pub(super) struct Buffers {
    /// The pointer arguments, and the number of the buffer of each.
    numbers: Vec<(Argument, u32)>,
    /// The arguments that point at several arrays, the numbers of their buffers, and what they are given.
    arrays: Vec<(Argument, Vec<u32>, Vec<u8>)>,
    pub(super) status_room: u64,
}

impl Buffers {
    /// `kept` is what stands in the workspace, where it is one that is kept.
    pub(super) fn new(machine: &mut Machine, schedule: &Schedule, memory: &Memory<'_>, kept: &[u8]) -> Self {
        let is_kept = matches!(schedule.workspace, Workspace::Kept { .. });
        let workspace_bytes = if is_kept { kept.len() as u64 } else { schedule.workspace.bytes() };
        let status_room = schedule.workspace.status_room(workspace_bytes);
        let mut buffers = Buffers { numbers: Vec::new(), arrays: Vec::new(), status_room };
        if let Some(arrays) = memory.arrays {
            buffers.add_arrays(machine, &arrays, memory.output_holds.is_some());
        } else {
            buffers.add_input_and_output(machine, memory);
        }
        let heads = Buffer::initialised("heads", memory.heads.to_vec()).at(memory.heads_offset);
        buffers.add(machine, Argument::Heads, heads.read_only());
        let range_ends = Buffer::initialised("ends of ranges", memory.range_ends.to_vec()).at(memory.heads_offset);
        buffers.add(machine, Argument::RangeEnds, range_ends.read_only());
        let initial_value = match memory.late {
            Some(_) => late::before(memory.initial_value.len()),
            None => Buffer::initialised("initial value", memory.initial_value.to_vec()),
        };
        buffers.add(machine, Argument::InitialPointer, initial_value.read_only());
        let length = Buffer::initialised("length", memory.length.to_le_bytes().to_vec());
        buffers.add(machine, Argument::LengthPointer, length.read_only());
        let total = match memory.output_holds {
            Some(byte) => Buffer::initialised("total", vec![byte; memory.total_bytes]),
            None => Buffer::uninitialised("total", memory.total_bytes),
        };
        buffers.add(machine, Argument::Total, total);
        let offsets = workspace_offsets(schedule);
        for (index, &offset) in offsets.iter().enumerate() {
            // A part ends where the next begins. Nothing but the turns is in the first part of memory that is kept.
            let end = match offsets.get(index + 1) {
                _ if is_kept && offset == 0 => TURNS_BYTES,
                Some(&next) => next,
                None => workspace_bytes,
            };
            let name = format!("workspace+{offset}");
            let buffer = match is_kept {
                true => Buffer::initialised(name, kept[offset as usize..end as usize].to_vec()),
                false => Buffer::uninitialised(name, end.saturating_sub(offset) as usize),
            };
            buffers.add(machine, Argument::Workspace(offset), buffer);
        }
        buffers
    }

    /// One array of the input and one of the output, which may be the same.
    fn add_input_and_output(&mut self, machine: &mut Machine, memory: &Memory<'_>) {
        let in_place = memory.output_bytes.is_none();
        let input = Buffer::initialised("input", memory.input.to_vec());
        let input = input.given(memory.input_offset, memory.input_first);
        let input = if in_place { input } else { input.read_only() };
        let number = self.add(machine, Argument::Input, input);
        match memory.output_bytes {
            Some(bytes) => {
                let output = match memory.output_holds {
                    Some(byte) => Buffer::initialised("output", vec![byte; bytes]),
                    None => Buffer::uninitialised("output", bytes),
                };
                self.add(machine, Argument::Output, output.given(memory.output_offset, memory.output_first));
            }
            None => self.numbers.push((Argument::Output, number)),
        }
    }

    /// Several arrays of the input and of the output, which keeps what it holds where nothing is written.
    fn add_arrays(&mut self, machine: &mut Machine, arrays: &Arrays<'_>, keeps: bool) {
        for (argument, what, arrays) in
            [(Argument::Input, "input", arrays.inputs), (Argument::Output, "output", arrays.outputs)]
        {
            let (mut numbers, mut words) = (Vec::new(), Vec::new());
            let mut add = |buffer, words: &mut Vec<u8>| {
                machine.memory.push(buffer);
                let buffer = machine.memory.len() as u32;
                words.extend(u128::from(buffer).to_le_bytes());
                buffer
            };
            for (index, array) in arrays.iter().enumerate() {
                let Array { bytes, item, offset, first, kind } = array;
                let name = format!("{what}[{index}]");
                let buffer = match (argument, kind) {
                    (_, ArrayKind::NoMemory) => {
                        words.extend((argument == Argument::Input).then_some([0; 8]).into_iter().flatten());
                        continue;
                    }
                    (Argument::Input, _) => Buffer::initialised(name, bytes.clone()).read_only(),
                    (_, ArrayKind::Slice) if !keeps => Buffer::uninitialised(name, bytes.len()),
                    _ => Buffer::initialised(name, bytes.clone()),
                };
                numbers.push(add(buffer.given(*offset, *first), &mut words));
                if matches!(kind, ArrayKind::Places(_) | ArrayKind::Computed) {
                    words.extend(((bytes.len() / item) as u64).to_le_bytes());
                }
                if let ArrayKind::Followed(bytes) = kind {
                    words.extend(bytes);
                }
                if let ArrayKind::Places(places) = kind {
                    add(
                        Buffer::initialised(format!("places of {what}[{index}]"), places.clone()).read_only(),
                        &mut words,
                    );
                }
            }
            if let ([Array { kind: ArrayKind::Slice, .. }], &[number]) = (arrays, &numbers[..]) {
                self.numbers.push((argument, number)); // for kernels that take a pointer
            }
            self.arrays.push((argument, numbers, words));
        }
    }

    /// Buffers of which only these stretches are there.
    pub(super) fn of_stretches(machine: &mut Machine, stretches: &[Stretch], status_room: u64) -> Self {
        let mut buffers = Buffers { numbers: Vec::new(), arrays: Vec::new(), status_room };
        for Stretch { argument, before, bytes, initialised } in stretches {
            let name = format!("{argument:?}");
            let buffer = match initialised {
                true => Buffer::initialised(name, bytes.clone()),
                false => Buffer::uninitialised(name, bytes.len()),
            };
            let buffer = buffer.from(*before as i64);
            let reads_only = matches!(argument, Argument::Input | Argument::Heads | Argument::RangeEnds);
            buffers.add(machine, *argument, if reads_only { buffer.read_only() } else { buffer });
        }
        buffers
    }

    fn add(&mut self, machine: &mut Machine, argument: Argument, buffer: Buffer) -> u32 {
        machine.memory.push(buffer);
        let number = machine.memory.len() as u32;
        self.numbers.push((argument, number));
        number
    }

    /// The number of the buffer that a pointer argument means.
    pub(super) fn of(&self, argument: &Argument) -> Option<u32> {
        self.numbers.iter().find(|(known, _)| known == argument).map(|&(_, number)| number)
    }

    /// The numbers of all buffers that an argument means.
    pub(super) fn all_of(&self, argument: &Argument) -> Vec<u32> {
        let arrays = self.arrays.iter().find(|(known, ..)| known == argument);
        arrays.map_or_else(|| self.of(argument).into_iter().collect(), |(_, numbers, _)| numbers.clone())
    }

    /// The parts of the workspace: where each begins, and its buffer.
    pub(super) fn workspace(&self) -> impl Iterator<Item = (u64, u32)> {
        self.numbers.iter().filter_map(|&(argument, number)| match argument {
            Argument::Workspace(offset) => Some((offset, number)),
            _ => None,
        })
    }
}

/// Where the parts of the workspace begin, in order.
fn workspace_offsets(schedule: &Schedule) -> Vec<u64> {
    let arguments = schedule.launches.iter().flat_map(|launch| &launch.arguments);
    let mut offsets: Vec<u64> = arguments
        .filter_map(|argument| match argument {
            Argument::Workspace(offset) => Some(*offset),
            _ => None,
        })
        .collect();
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

/// The bytes of each argument of a launch, aligned for any type, checked against what the kernel takes.
pub(super) fn argument_values(
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
            Argument::StatusRoom => buffers.status_room.to_le_bytes().to_vec(),
            Argument::HeadCount => memory.head_count.to_le_bytes().to_vec(),
            // An operator without parameters is one byte, of any value.
            Argument::Operator if memory.operator.is_empty() => vec![0],
            Argument::Operator => memory.operator.to_vec(),
            Argument::InitialValue => memory.initial_value.to_vec(),
            Argument::Layout => memory.layout.to_vec(),
            arrays if size != 0 && buffers.arrays.iter().any(|(known, ..)| known == arrays) => {
                let words = buffers.arrays.iter().find(|(known, ..)| known == arrays);
                let mut bytes = words.map(|(.., words)| words.clone()).unwrap_or_default();
                // A struct without members is one byte, and one of pointers has their alignment.
                bytes.resize(bytes.len().max(1), 0);
                bytes
            }
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
