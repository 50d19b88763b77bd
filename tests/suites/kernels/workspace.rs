//! The workspace of kernels: each part of it is as long as they need, and no longer. In these suites its parts lie end to end, so
//! that an access beyond the end of one is found whatever its length.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Argument, Overrides, Reduction, Schedule, Workspace};
use scan_runtime::{BlockScan, Carry, Network, ScanKind, ScanOp, Strategy, TileNumbers, ops, scan_op};
use scan_tests::{
    emulated::{Emulator, EmulatorError, FaultKind, Program, ReductionProgram},
    operators::{Interval, inputs},
    segments::{Heads, PATTERNS, Restart, begins, places},
};

use super::look_ahead::{limits, overrides_of};

/// Where the parts of the workspace begin.
fn parts(schedule: &Schedule) -> Vec<u64> {
    let arguments = schedule.launches.iter().flat_map(|launch| &launch.arguments);
    let mut parts: Vec<u64> = arguments
        .filter_map(|argument| match argument {
            Argument::Workspace(offset) => Some(*offset),
            _ => None,
        })
        .collect();
    parts.sort_unstable();
    parts.dedup();
    parts
}

/// Makes one part of a schedule's scratch memory shorter: all that is behind it moves.
fn shorten(schedule: &mut Schedule, part: u64, by: u64) {
    for argument in schedule.launches.iter_mut().flat_map(|launch| &mut launch.arguments) {
        match argument {
            Argument::Workspace(offset) if *offset > part => *offset -= by,
            _ => {}
        }
    }
    let Workspace::Scratch { bytes } = &mut schedule.workspace else { panic!("{:?}", schedule.workspace) };
    *bytes -= by;
}

/// Whether a run stumbles over the end of a part of the workspace.
fn is_beyond<T>(result: Result<T, EmulatorError>) -> bool {
    let Err(EmulatorError::Fault(fault)) = result else { return false };
    matches!(&fault.kind, FaultKind::OutOfBounds { spot, .. } if spot.buffer.starts_with("workspace+"))
}

fn overrides(carry: Carry) -> Overrides {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block: BlockScan::of(Network::KoggeStone), carry });
    overrides.threads = Some(32);
    overrides
}

/// Reads and writes four bytes, and sums up eight, of which the workspace holds one a tile.
#[derive(Clone)]
struct Widened;

#[scan_op]
impl ScanOp for Widened {
    type Input = u32;
    type State = u64;
    type Output = u32;
    const IDENTITY: u64 = 0;
    fn lift(x: u32) -> u64 {
        x as u64
    }
    fn combine(a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }
    fn project(x: u64) -> u32 {
        (x >> 3) as u32
    }
}

/// Lengths with two levels of aggregates and with three, whose numbers of tiles fill a rounding of the workspace or
/// not.
const LENGTHS: [usize; 4] = [34, 64 * 32, 65 * 32 - 7, 1_025 * 32 + 2];

/// Whether each part of the workspace, shorter by a word, is found to be; nothing is found of whole ones.
fn each_part_is_needed<Op: ScanOp + Clone>(program: &Program<Op>, input: &[Op::Input], fewest: usize)
where
    Op::Output: std::fmt::Debug,
{
    let emulator = Emulator::new(input.len() as u64);
    let schedule = program.plan.schedule_aligned(input.len() as u64, 1).unwrap();
    let parts = parts(&schedule);
    assert!(parts.len() >= fewest, "{parts:?}");
    program.verify(&emulator, input).unwrap_or_else(|error| panic!("{} elements: {error}", input.len()));
    for part in parts {
        let result = program.verify_scheduled(&emulator, input, (0, 0), |schedule| shorten(schedule, part, 4));
        assert!(is_beyond(result), "{} elements, the part at {part}\n{schedule:#?}", input.len());
    }
}

#[test]
fn no_part_of_a_reduce_then_scan_workspace_is_larger_than_needed() {
    let interval = Program::new(Interval, ScanKind::Inclusive, None, &overrides(Carry::ReduceThenScan)).unwrap();
    let widened = Program::new(Widened, ScanKind::Exclusive, None, &overrides(Carry::ReduceThenScan)).unwrap();
    for len in LENGTHS {
        each_part_is_needed(&interval, &inputs::<Interval>(len), 2);
        each_part_is_needed(&widened, &(0..len as u32).collect::<Vec<_>>(), 2);
    }
}

#[test]
fn no_part_of_a_segmented_reduce_then_scan_workspace_is_larger_than_needed() {
    const FLAGS: usize = 0;
    let segments = Heads::new(FLAGS, &[]).segments();
    let overrides = overrides(Carry::ReduceThenScan);
    let program = Program::segmented(Restart, ScanKind::Inclusive, None, segments, &overrides).unwrap();
    for (len, pattern) in LENGTHS.into_iter().zip([PATTERNS[13], PATTERNS[11], PATTERNS[7], PATTERNS[13]]) {
        let begins = begins(pattern, len, 32);
        each_part_is_needed(&program.with_heads(Heads::new(FLAGS, &begins)), &places(&begins), 4);
    }
}

#[test]
fn no_part_of_a_reduction_workspace_is_larger_than_needed() {
    let mut limits = scan_codegen::DeviceLimits::BASELINE;
    limits.threads_per_block = 32;
    let program = ReductionProgram::new(Interval, Reduction::Contiguous, None, &limits).unwrap();
    for len in LENGTHS {
        let (input, emulator) = (inputs::<Interval>(len), Emulator::new(1));
        program.verify(&emulator, &input, 0).unwrap();
        let parts = parts(&program.plan.schedule_aligned(len as u64, 1).unwrap());
        assert!(!parts.is_empty());
        for part in parts {
            let result = program.verify_scheduled(&emulator, &input, 0, |schedule| shorten(schedule, part, 4));
            assert!(is_beyond(result), "{len} elements, the part at {part}");
        }
    }
}

/// There is a status more than tiles only where head padding before the first element makes one tile more.
#[test]
fn every_status_is_needed() {
    let one_less = |schedule: &mut Schedule| {
        let Workspace::Kept { statuses, .. } = &mut schedule.workspace else { panic!("{:?}", schedule.workspace) };
        *statuses -= 1;
    };
    for carry in [Carry::Chained(TileNumbers::BlockIndex), Carry::Chained(TileNumbers::Counter), Carry::LookBack] {
        let program = Program::new(Interval, ScanKind::Inclusive, None, &overrides(carry)).unwrap();
        let (input, emulator) = (inputs::<Interval>(9 * 32), Emulator::new(1).resident_blocks(usize::MAX));
        program.clone().verify(&emulator, &input).unwrap();
        assert!(is_beyond(program.verify_scheduled(&emulator, &input, (0, 0), one_less)), "{}", program.plan);
    }
    for group in [1, 3] {
        let mut overrides = overrides_of((32, 1, 3, 4, 8));
        overrides.group = Some(group);
        let program = Program::planned(ops::sum::<i32>(), ScanKind::Inclusive, None, &limits(), &overrides).unwrap();
        // Three whole iterations, and for the head padding one tile more.
        let input: Vec<i32> = inputs::<ops::Sum<i32>>(24 * program.plan.tile as usize);
        let emulator = Emulator::new(1);
        program.clone().verify_at_offset(&emulator, &input, (1, 1)).unwrap();
        assert!(is_beyond(program.verify_scheduled(&emulator, &input, (1, 1), one_less)), "{}", program.plan);
    }
}
