//! What the emulator counts while it executes.

use std::{collections::BTreeMap, ops::AddAssign};

/// What a run took, launch by launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The launches, in their order.
    pub launches: Vec<LaunchCounters>,
}

/// What one launch took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchCounters {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of each block.
    pub threads: u32,
    /// Applications of the operator, over all threads.
    pub applications: u64,
    /// Those of them before another stream wrote the initial value, where it did so during this launch.
    pub applications_before_late: Option<u64>,
    /// The longest chain of applications in a block, each of which needs the result of the one before it. What other
    /// blocks and earlier launches made counts as given.
    pub steps: u32,
    /// How many stretches between two barriers of a block had an application in them; the most of any block.
    pub phases: u32,
    /// Barriers that each thread waited at; the most of any block.
    pub barriers: u32,
    /// Bytes read from global memory, and
    pub global_read: u64,
    /// bytes written there.
    pub global_written: u64,
    /// Bytes of shared memory that a block declares, and is launched with; the most of any block.
    pub shared_bytes: u64,
    /// Accesses to shared memory, one for each thread.
    pub shared_accesses: u64,
    /// The same as a warp makes them, if [`Banks`] were given.
    pub banks: BankCounters,
    /// And those of each line of the generated text.
    pub banks_of_line: BTreeMap<u32, BankCounters>,
}

/// Shared-memory accesses, a warp at a time. The unit is the cycle in which each bank serves one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankCounters {
    /// Accesses of warps.
    pub requests: u64,
    /// Cycles they take.
    pub cycles: u64,
    /// Cycles they would take if no two threads wanted different words of one bank.
    pub without_conflicts: u64,
}

/// The shared memory whose conflicts are counted: words of four bytes, spread over banks in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Banks {
    /// How many banks there are.
    pub banks: u32,
    /// How many threads of a warp are served together.
    pub group: u32,
}

impl Banks {
    /// Every GPU since 2010: 32 banks, the whole warp at once.
    pub const TODAY: Banks = Banks { banks: 32, group: 32 };
    /// The GPUs of the course texts: 16 banks, half a warp at once. The halves of a warp are taken to be served side by
    /// side, as those texts count: a warp waits for the slower one.
    pub const HALF_WARPS: Banks = Banks { banks: 16, group: 16 };
}

impl Counters {
    /// Applications of the operator in all launches.
    pub fn applications(&self) -> u64 {
        self.launches.iter().map(|launch| launch.applications).sum()
    }

    /// Bytes read from and written to global memory in all launches.
    pub fn global_bytes(&self) -> u64 {
        self.launches.iter().map(|launch| launch.global_read + launch.global_written).sum()
    }
}

/// A thread's accesses to shared memory since its warp last came together.
pub(super) type BankLog = Vec<BankAccess>;

#[derive(Clone, Copy, Debug)]
pub(super) struct BankAccess {
    pub(super) line: u32,
    pub(super) address: u32,
    pub(super) size: u32,
    pub(super) align: u32,
}

impl AddAssign for BankCounters {
    fn add_assign(&mut self, other: BankCounters) {
        self.requests += other.requests;
        self.cycles += other.cycles;
        self.without_conflicts += other.without_conflicts;
    }
}

impl LaunchCounters {
    /// Takes the logs of a warp's threads, one a thread in their order, and counts. Accesses belong together if they
    /// are of one line, and in their threads the same number of accesses of that line came before. `note` is told each
    /// line, what it took, and the degree of its conflict.
    pub(super) fn count_banks<'a>(
        &mut self,
        banks: Banks,
        logs: impl Iterator<Item = &'a mut BankLog>,
        mut note: impl FnMut(u32, BankCounters, u64),
    ) {
        // (line, occurrence, lane) of each access, sorted so that those of one instruction stand together.
        let mut accesses: Vec<(u32, u32, u32, BankAccess)> = Vec::new();
        for (lane, log) in logs.enumerate() {
            log.sort_by_key(|access| access.line);
            let (mut line, mut occurrence) = (0, 0);
            for access in log.drain(..) {
                occurrence = if access.line == line { occurrence + 1 } else { 0 };
                line = access.line;
                accesses.push((line, occurrence, lane as u32, access));
            }
        }
        accesses.sort_by_key(|&(line, occurrence, lane, _)| (line, occurrence, lane));
        for together in accesses.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (request, degree) = request(banks, together);
            self.banks += request;
            *self.banks_of_line.entry(together[0].0).or_default() += request;
            note(together[0].0, request, degree);
        }
    }
}

/// One access of a warp, and the degree of its conflict: the most words of one bank that are wanted at once.
fn request(banks: Banks, accesses: &[(u32, u32, u32, BankAccess)]) -> (BankCounters, u64) {
    let (mut cycles, mut without_conflicts, mut highest) = (0, 0, 0);
    let widest = accesses.iter().map(|access| access.3.size).max().unwrap_or(0);
    // A thread reads up to 16 bytes in one instruction, if the alignment of the type allows.
    let align = accesses[0].3.align.max(1);
    let width =
        [16, 8, 4].into_iter().find(|&width| align.is_multiple_of(width) && widest.is_multiple_of(width)).unwrap_or(4);
    let words = (width / 4) as usize;
    for part in 0..widest.div_ceil(width) {
        // Where each thread takes several words, fewer threads are served together, one such group after the other.
        for share in 0..words as u32 {
            let mut max = 0;
            for group in 0..32_u32.div_ceil(banks.group) {
                let mut wanted: Vec<u32> = Vec::new();
                for &(_, _, lane, access) in accesses {
                    let in_group = lane / banks.group == group;
                    if in_group && (lane % banks.group) * words as u32 / banks.group == share {
                        let first = (access.address + part * width) / 4;
                        wanted.extend(first..first + words as u32);
                    }
                }
                wanted.sort_unstable();
                wanted.dedup(); // one word serves all who want it
                let mut degree = vec![0_u64; banks.banks as usize];
                for word in wanted {
                    degree[(word % banks.banks) as usize] += 1;
                }
                max = degree.into_iter().max().unwrap_or(0).max(max);
            }
            cycles += max;
            without_conflicts += u64::from(max > 0);
            highest = max.max(highest);
        }
    }
    (BankCounters { requests: 1, cycles, without_conflicts }, highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cycles of threads that access elements of this size, `stride` words apart, and the degree of the conflict.
    fn of_elements(banks: Banks, threads: u32, (size, align): (u32, u32), stride: u32) -> (u64, u64) {
        let mut logs: Vec<BankLog> =
            (0..threads).map(|lane| vec![BankAccess { line: 1, address: lane * stride * 4, size, align }]).collect();
        let (mut counters, mut highest) = (LaunchCounters::default(), 0);
        counters.count_banks(banks, logs.iter_mut(), |_, _, degree| highest = degree.max(highest));
        (counters.banks.cycles, highest)
    }

    fn strided(banks: Banks, threads: u32, stride: u32) -> u64 {
        let (cycles, degree) = of_elements(banks, threads, (4, 4), stride);
        assert_eq!(cycles, degree, "one word a thread");
        cycles
    }

    /// The unpadded tree of the course texts: the accesses of one operand, level by level, are 17 of the 102 cycles
    /// that they give for 64 leaves (6 such operands), 31 of 186 for 128, 95 of 570 for 512.
    #[test]
    fn bank_conflicts_of_the_unpadded_tree_are_those_of_the_literature() {
        for (leaves, expected) in [(64_u32, 102), (128, 186), (512, 570)] {
            let mut cycles = 0;
            let mut stride = 2;
            while stride <= leaves {
                let threads = leaves / stride;
                for warp in 0..threads.div_ceil(32) {
                    cycles += strided(Banks::HALF_WARPS, (threads - warp * 32).min(32), stride);
                }
                stride *= 2;
            }
            assert_eq!(cycles * 6, expected, "{leaves} leaves");
        }
    }

    #[test]
    fn neighbours_and_broadcasts_do_not_conflict() {
        assert_eq!(strided(Banks::TODAY, 32, 1), 1);
        assert_eq!(strided(Banks::TODAY, 32, 0), 1);
        assert_eq!(strided(Banks::TODAY, 32, 2), 2);
        assert_eq!(strided(Banks::TODAY, 32, 33), 1);
        assert_eq!(strided(Banks::TODAY, 32, 32), 32);
    }

    /// Two words a thread take two cycles or more, whatever the degree.
    #[test]
    fn the_degree_is_that_of_threads_served_together() {
        assert_eq!(of_elements(Banks::TODAY, 32, (8, 8), 2), (2, 1), "half a warp at a time");
        assert_eq!(of_elements(Banks::TODAY, 32, (8, 4), 2), (4, 2), "a word at a time, two apart");
        assert_eq!(of_elements(Banks::TODAY, 32, (8, 8), 4), (4, 2));
    }
}
