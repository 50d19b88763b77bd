//! The last results of more than 2^32 segments, or elements.

use scan_codegen::{Argument, KernelSource, Segments};
use scan_emulator::{Emulator, Memory, Module};
use scan_runtime::{__private::bytes_of, ops};

use super::{EDGE, Stretches, all_bytes};
use crate::{
    emulated::LastResultsProgram,
    operators::mixed,
    planted::HasSource,
    segments::{HeadSource, Heads},
};

/// Threads of a block.
const THREADS: u64 = 32;

/// Elements of a thread that looks for heads.
const RUN: u64 = 32;

/// How segments are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentsBy {
    /// As rows of three elements.
    Rows,
    /// By offsets.
    Offsets,
    /// By flags.
    Flags,
}

/// All of them.
pub const LAST_RESULTS: [SegmentsBy; 3] = [SegmentsBy::Rows, SegmentsBy::Offsets, SegmentsBy::Flags];

/// A program whose text has been changed so that its blocks take themselves for those at the edge.
#[derive(Clone, Debug)]
pub struct DistantLastResults {
    /// The program with the changed text.
    pub program: LastResultsProgram,
    by: SegmentsBy,
}

impl HasSource for DistantLastResults {
    fn source(&mut self) -> &mut KernelSource {
        &mut self.program.source
    }
}

impl DistantLastResults {
    /// The program.
    ///
    /// # Panics
    ///
    /// If there is no such program.
    pub fn new(by: SegmentsBy) -> Self {
        let source = match by {
            SegmentsBy::Rows => HeadSource::Rows(3),
            SegmentsBy::Offsets => HeadSource::LongOffsets(Vec::new()),
            SegmentsBy::Flags => HeadSource::Flags(Vec::new()),
        };
        let heads = Heads { begins: Vec::new(), source };
        let program = LastResultsProgram::new(&ops::sum::<u32>(), &heads, THREADS as u32);
        let mut program = program.unwrap_or_else(|error| panic!("{by:?}: {error}"));
        program.source = at_the_edge(by, &program.source);
        DistantLastResults { program, by }
    }

    /// The same with another text, in the same way changed.
    pub fn with_source(&self, source: &KernelSource) -> Self {
        let mut distant = self.clone();
        distant.program.source = at_the_edge(self.by, source);
        distant
    }

    /// Executes the blocks, and compares what they write with what they should.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn verify(&self, emulator: &Emulator) -> Result<(), String> {
        let mut stretches = Stretches::default();
        let of_nothing = 9_u32;
        // Segments, or elements, of four blocks, the last of which is not full.
        let first = first_block(self.by) * self.of_block();
        let end = first + 4 * self.of_block() - 5;
        let segments = &self.program.plan.spec.segments;
        let schedule = self.program.plan.schedule_aligned(end - first, 1).map_err(|error| error.to_string())?;
        let mut launches = schedule.launches;
        let scanned = |at: u64| mixed(at) as u32;
        let results = |places: &mut dyn Iterator<Item = u64>| places.map(scanned).collect::<Vec<u32>>();
        let head_count = match segments {
            Segments::Rows => {
                let input = results(&mut (3 * first..3 * end));
                stretches.read(Argument::Input, 12 * first, all_bytes(&input));
                let output = results(&mut (first..end).map(|segment| 3 * segment + 2));
                stretches.write(Argument::Output, 4 * first, all_bytes(&output));
                3
            }
            Segments::Offsets(_) => {
                // Of one element, of none, or of three.
                let elements: Vec<u64> = (first..end).map(|segment| [1, 0, 3][(mixed(segment) % 3) as usize]).collect();
                let mut offset = EDGE + 1_000;
                let (from, mut offsets, mut output) = (offset, vec![offset], Vec::new());
                for elements in elements {
                    offset += elements;
                    offsets.push(offset);
                    output.push(if elements == 0 { of_nothing } else { scanned(offset - 1) });
                }
                stretches.read(Argument::Input, 4 * from, all_bytes(&results(&mut (from..offset))));
                stretches.read(Argument::Heads, 8 * first, all_bytes(&offsets));
                stretches.write(Argument::Output, 4 * first, all_bytes(&output));
                offset
            }
            _ => {
                // The blocks before the first one have more segments than that.
                let before = EDGE + 77;
                let begins = |element: u64| mixed(element).is_multiple_of(5);
                let ends = |element: &u64| *element + 1 == end || begins(*element + 1);
                let flags: Vec<u8> = (first..end).map(|element| u8::from(begins(element))).collect();
                let of_blocks = (first..end).collect::<Vec<_>>();
                let counts = of_blocks.chunks(self.of_block() as usize);
                let counts: Vec<u64> = counts.map(|block| block.iter().filter(|at| ends(at)).count() as u64).collect();
                let output = results(&mut (first..end).filter(ends));
                stretches.read(Argument::Heads, first, flags);
                let Some(&[heads, counts_at, length]) =
                    launches.first().map(|launch| &launch.arguments[..]).and_then(<[_]>::first_chunk)
                else {
                    return Err(format!("{launches:?}"));
                };
                assert!(matches!((heads, length), (Argument::Heads, Argument::Length(_))));
                let prefixes: Vec<u64> = counts
                    .iter()
                    .scan(before, |sum, count| {
                        let prefix = *sum;
                        *sum += count;
                        Some(prefix)
                    })
                    .collect();
                let at = 8 * first_block(self.by);
                let mut counting = Stretches::default();
                counting.read(Argument::Heads, first, stretches.all[0].bytes.clone());
                counting.write(counts_at, at, all_bytes(&counts));
                let mut launch = launches.remove(0);
                launch.arguments[2] = Argument::Length(end);
                self.run(emulator, &counting, launch, 0, of_nothing)?;
                launches.remove(0); // one block has the counts of all
                let input = results(&mut (first..end));
                stretches.read(Argument::Input, 4 * first, all_bytes(&input));
                stretches.read(counts_at, at, all_bytes(&prefixes));
                stretches.write(Argument::Output, 4 * before, all_bytes(&output));
                before + output.len() as u64
            }
        };
        let mut launch = launches.swap_remove(0);
        for argument in &mut launch.arguments {
            if let Argument::Length(length) = argument {
                *length = end;
            }
        }
        self.run(emulator, &stretches, launch, head_count, of_nothing)
    }

    fn run(
        &self,
        emulator: &Emulator,
        stretches: &Stretches,
        launch: scan_codegen::Launch,
        head_count: u64,
        of_nothing: u32,
    ) -> Result<(), String> {
        let initial_value = bytes_of(&of_nothing);
        let memory = Memory { head_count, initial_value: &initial_value, ..Memory::default() };
        let module = Module::new(&self.program.source).map_err(|error| error.to_string())?;
        let name = |role: &str| self.program.source.kernel_name(role);
        let found = emulator.run_on_stretches(&module, name, &[launch], &memory, &stretches.all, 0);
        stretches.are_as_expected(&found.map_err(|error| error.to_string())?)
    }

    /// Segments, or elements, of a block.
    fn of_block(&self) -> u64 {
        of_block(self.by)
    }
}

fn of_block(by: SegmentsBy) -> u64 {
    if by == SegmentsBy::Flags { THREADS * RUN } else { THREADS }
}

/// The block before the edge.
fn first_block(by: SegmentsBy) -> u64 {
    EDGE / of_block(by) - 1
}

fn at_the_edge(by: SegmentsBy, source: &KernelSource) -> KernelSource {
    let mut source = source.clone();
    source.text = source.text.replace("blockIdx.x", &format!("({}u + blockIdx.x)", first_block(by)));
    source
}
