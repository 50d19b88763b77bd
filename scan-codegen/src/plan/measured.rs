//! The planners' measured constants. Each names its section of `docs/tuning.md`.

use super::types::BlockSizes;
use crate::{carry::Carry, segments::Segments};

/// The maximum size of elements of which several are held in registers at once, in bytes.
///
/// NVRTC 13.0 miscompiles larger ones: it reads a value again that a branch has changed meanwhile. If the value is
/// opaque to it, as in look-ahead, larger ones are correct: `docs/tuning.md#elements-in-registers`.
pub(crate) const MAX_REGISTER_BYTES: usize = 64;

/// The threads of a block whose runs stay in registers, and the maximum bytes of a run.
#[derive(Clone, Copy)]
pub(super) struct RegisterShape {
    pub(super) threads: u32,
    pub(super) run_bytes: u32,
    /// The threads of the blocks that one text serves.
    pub(super) block_sizes: BlockSizes,
}

/// A block with a text of its own.
const fn shape(threads: u32, run_bytes: u32) -> RegisterShape {
    RegisterShape { threads, run_bytes, block_sizes: BlockSizes::of(threads) }
}

/// A block of `threads` threads, with a text that serves blocks of `max / 2` to `max` threads.
const fn one_of(threads: u32, max: u32, run_bytes: u32) -> RegisterShape {
    RegisterShape { threads, run_bytes, block_sizes: BlockSizes { smallest: max / 2, largest: max } }
}

/// The shape if the caller chooses runs in registers: three units of sixteen bytes.
pub(super) const REGISTER_SHAPE: RegisterShape = shape(256, 48);

/// The shapes for inputs that one block scans alone, from the shortest on, each with its maximum number of elements.
/// The last one is for devices without clusters.
///
/// Measured: `docs/tuning.md#short-and-middle-lengths`.
pub(super) const ALONE: [(RegisterShape, u32); 3] =
    [(one_of(256, 512, 16), u32::MAX), (one_of(512, 512, 16), 4096), (shape(512, 48), 6144)];

/// The shape for inputs that one cluster scans at once, for elements of at most [`MAX_CLUSTER_BYTES`].
///
/// Measured: `docs/tuning.md#short-and-middle-lengths`.
pub(super) const CLUSTER: RegisterShape = shape(256, 16);

/// The largest elements that a cluster scans.
pub(super) const MAX_CLUSTER_BYTES: usize = 16;

/// The carries and shapes of several blocks, each with the number of tiles per multiprocessor from which the next one
/// is used.
///
/// A segment over many tiles makes each block poll all statuses before its own, so there should be few. Look-back may
/// give other floats in every run, so it is used only for lengths with too many tiles for look-at-all. Measured:
/// `docs/tuning.md#short-and-middle-lengths`.
pub(super) fn together(segmented: bool, element: usize) -> &'static [(Carry, RegisterShape, u32)] {
    const fn at_all(shape: RegisterShape, tiles: u32) -> (Carry, RegisterShape, u32) {
        (Carry::LookAtAll, shape, tiles)
    }
    const BACK: (Carry, RegisterShape, u32) = (Carry::LookBack, shape(256, 112), u32::MAX);
    /// `tiles` is the number of tiles a multiprocessor up to which runs have 48 bytes; then they have 144.
    const fn narrow(tiles: u32) -> [(Carry, RegisterShape, u32); 5] {
        [
            at_all(one_of(128, 256, 16), 1),
            at_all(one_of(256, 256, 16), 1),
            at_all(shape(256, 48), tiles),
            at_all(shape(256, 144), 16),
            BACK,
        ]
    }
    const NARROW: [(Carry, RegisterShape, u32); 5] = narrow(2);
    const EIGHT_BYTES: [(Carry, RegisterShape, u32); 5] = narrow(1);
    const WIDE: [(Carry, RegisterShape, u32); 4] =
        [at_all(one_of(128, 256, 48), 1), at_all(one_of(256, 256, 48), 1), at_all(shape(256, 144), 16), BACK];
    const SEGMENTED: [(Carry, RegisterShape, u32); 3] = [at_all(shape(128, 48), 1), at_all(shape(128, 80), 28), BACK];
    match (segmented, element) {
        (true, _) => &SEGMENTED,
        (false, ..8) => &NARROW,
        (false, 8) => &EIGHT_BYTES,
        (false, _) => &WIDE,
    }
}

/// Whether scanning partial runs as whole ones is as fast with several blocks. Measured:
/// `docs/tuning.md#whole-runs`.
pub(super) const fn whole_runs_are_as_fast(element: usize, shape: RegisterShape) -> bool {
    element <= 4 && !(element == 2 && shape.run_bytes > 80)
}

/// The instructions of a run, as estimated, from which on the run in which the input ends is scanned apart: the loops
/// over a part of a run take NVRTC longer than those over a whole one.
///
/// Measured: `docs/tuning.md#the-run-in-which-the-input-ends`.
pub(super) const HEAVY_RUN: u64 = 1600;

/// The maximum size of a state with a stand-in for blocks that have not started, in bytes. With larger ones the kernel
/// would spill registers: `docs/tuning.md#stand-in`.
pub(super) const MAX_STAND_IN_BYTES: u64 = 32;

/// The bytes of input and output from which on look-ahead is faster, for elements of `element` bytes: a pipeline must
/// be filled and drained.
///
/// Measured: `docs/tuning.md#from-which-length-on-look-ahead`.
pub(super) const fn long_bytes(element: usize, state: usize, segments: &Segments) -> u64 {
    let mebibytes: u64 = match (segments, element) {
        (Segments::None, 0..=1) if state > element => 64,
        (Segments::None, 0..=1) => 44,
        (Segments::None, 2) if state > element => 96,
        (Segments::None, 2..=7) => 32,
        (Segments::None, 8..=11) => 24,
        (Segments::None, 12..=15) => 32,
        (Segments::None, 16..=24) => 28,
        (Segments::None, 25..=36) => 48,
        (Segments::None, 37..) => 9,
        (Segments::Keys(_), 0..=7) => 56,
        (Segments::HeadFlags | Segments::HeadBits | Segments::Rows, 0..=1) => 144,
        (Segments::HeadFlags | Segments::HeadBits | Segments::Rows, 2..=7) => 96,
        (Segments::Offsets(_), 0..=7) => 128,
        (Segments::Offsets(_), 12..=15) => 144,
        (_, 8..=11) => 56,
        (_, 12..=24) => 88,
        (_, 25..=36) => 100,
        (_, 37..) => 24,
    };
    mebibytes << 20
}

/// The same if states are larger than elements, so that look-at-all and look-back take longer; `None` if that makes no
/// difference, or has not been measured.
///
/// Measured: `docs/tuning.md#states-larger-than-elements`.
pub(super) const fn long_bytes_of_large_states(
    element: usize,
    state: usize,
    heavy: bool,
    segments: &Segments,
) -> Option<u64> {
    let mebibytes: u64 = match (segments, element, state) {
        (Segments::None, _, 36..) => 14,
        (Segments::None, 3.., _) => 18,
        (Segments::None, ..3, 8..) => 16,
        (Segments::None, ..3, _) if heavy => 16,
        _ => return None,
    };
    if state > element { Some(mebibytes << 20) } else { None }
}

/// Whether runs are short: elements of one and two bytes with larger states are scanned faster in more tiles.
/// Measured: `docs/tuning.md#short-runs`.
pub(super) const fn has_short_runs(element: u32, state: u32, segments: &Segments) -> bool {
    matches!(segments, Segments::None) && element <= 2 && state > element && state < 36
}

/// 32-bit words of a short run.
const SHORT_RUN_WORDS: u32 = 15;

/// The shared memory below which a pipeline has too few stages to pay.
pub(super) const LONG_SHARED_BYTES: u32 = 160 * 1024;

/// (threads per team, teams), in order of preference; the later ones need less shared memory. The first is for elements
/// of one byte by flags, the second for elements of 5 to 12 bytes. Small elements begin with the third, large ones
/// further on, because their teams need more registers.
///
/// Other segmented scans start with the third.
///
/// Measured: `docs/tuning.md#teams-and-runs`.
pub(super) const TEAMS: [(u32, u32); 11] =
    [(320, 3), (256, 3), (192, 3), (192, 2), (128, 3), (128, 2), (64, 3), (64, 2), (32, 3), (32, 2), (32, 1)];

/// [`TEAMS`] from this choice on; none if it is not among them.
const fn teams_from(threads: u32, teams: u32) -> &'static [(u32, u32)] {
    let mut choices: &[(u32, u32)] = &TEAMS;
    while let [(threads_of_team, number), less @ ..] = choices {
        if *threads_of_team == threads && *number == teams {
            break;
        }
        choices = less;
    }
    choices
}

/// The choices of [`TEAMS`] for these sizes.
pub(super) const fn teams_for(element: u32, state: u32, segments: &Segments) -> &'static [(u32, u32)] {
    let segmented = !matches!(segments, Segments::None);
    let largest = if element > state { element } else { state };
    match largest {
        _ if has_short_runs(element, state, segments) => teams_from(256, 3),
        97..=160 => teams_from(64, 2),
        161.. => teams_from(32, 3),
        1 if matches!(segments, Segments::HeadFlags) => teams_from(320, 3),
        ..=4 => teams_from(192, 3),
        13..=24 if matches!(segments, Segments::Offsets(_)) => teams_from(192, 2),
        ..=24 if segmented => teams_from(192, 3),
        ..=36 if segmented => teams_from(192, 2),
        _ if segmented => teams_from(128, 2),
        ..=36 if has_large_states(state, element) => teams_from(192, 2),
        5..=12 => teams_from(256, 3),
        13..=24 => teams_from(192, 3),
        25..=36 => teams_from(192, 2),
        _ if element > GROUPED_ABOVE => teams_from(128, 3),
        _ => teams_from(128, 2),
    }
}

/// The words of a run, including those of its heads. Measured: `docs/tuning.md#teams-and-runs`.
pub(super) const fn run_words(element: u32, state: u32, segments: &Segments) -> u32 {
    match segments {
        _ if has_short_runs(element, state, segments) => SHORT_RUN_WORDS,
        Segments::None if has_large_states(state, element) => match (element, state) {
            (..=4, _) => 34,
            (_, ..=36) => 50,
            _ => 75, // by smaller teams
        },
        Segments::None if element > 36 => 48,
        Segments::None if element > 24 => 45,
        Segments::None if element > 12 => 36,
        Segments::None if element > 4 => 28,
        _ if element > 36 => 85,
        _ if element > 24 => 50,
        Segments::Offsets(_) if element > 12 => 50,
        Segments::HeadFlags | Segments::Keys(_) if element >= 4 => 39,
        Segments::HeadFlags if element == 1 => 23,
        Segments::Offsets(_) if 4 <= element && element < 8 => 38,
        _ => 31,
    }
}

/// Whether states are so large, and elements so much smaller, that tiles are longer: the time for the statuses of an
/// iteration does not depend on the tile.
///
/// Measured: `docs/tuning.md#runs-under-large-states`.
const fn has_large_states(state: u32, element: u32) -> bool {
    state > 16 && state > element && element <= 16
}

/// The maximum shared memory in which the lanes of the look-ahead warp exchange statuses, in bytes. It bounds the
/// number of statuses that a lane folds. Measured: `docs/tuning.md#statuses-of-a-lane`.
pub(super) const EXCHANGED_BYTES: u32 = 6 * 1024;

/// Stages beyond those that the teams need: more do not load faster. Measured: `docs/tuning.md#stages`.
pub(super) const MORE_STAGES: u32 = 3;

/// Bytes of an element from which on a thread reads its elements one by one when it scans them.
pub(super) const STREAMED_BYTES: u32 = 16;

/// The size of an element above which blocks form groups, and that of a state if states are larger than elements.
///
/// Then one status waits for another, but there is less to load and to fold. Measured:
/// `docs/tuning.md#groups-of-blocks`.
pub(super) const GROUPED_ABOVE: u32 = 36;
pub(super) const GROUPED_FROM: u32 = 64;

/// The size above which a state is large: then it is decisive that its words stay in registers. Its functions are
/// inlined more often than others, because the arguments of calls go through memory, and runs are short.
///
/// Measured: `docs/tuning.md#large-elements`.
pub(crate) const LARGE: u32 = 64;

/// The maximum number of instructions of a function at all its inlined places, for large states.
pub(super) const LARGE_INLINED: u32 = 1 << 16;

/// The elements of a run, if they are large.
pub(super) const fn large_run(element: u32) -> u32 {
    const LARGE_RUN_BYTES: u32 = 600;
    match element {
        97..=160 => LARGE_RUN_BYTES / element,
        _ => 3,
    }
}

/// The warps of a block in addition to its teams, if only the input is copied: the copy warp and one look-ahead warp.
///
/// Two or three look-ahead warps that alternate between iterations would poll statuses that are not published yet.
/// Measured: `docs/tuning.md#one-look-ahead-warp`.
pub(super) const OTHER_WARPS: u32 = 2;

/// Whether `combine`, of so many instructions, is heavy for the bytes of an element: a tile takes a time that grows
/// with these, its look-ahead some ten applications one after the other, whatever the tile has.
///
/// Measured: `docs/tuning.md#round-robin-look-ahead-warps`.
pub(super) const fn is_heavy(combine: u64, input: u32, state: u32, element: u32) -> bool {
    const HEAVY: u64 = 3; // instructions for each byte
    const LARGEST: u32 = 36; // of elements and states that were measured
    combine >= HEAVY * element as u64 && state > input && element <= LARGEST && state <= LARGEST
}

/// Teams in order of preference, 32-bit words of a run, and look-ahead warps.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) teams: &'static [(u32, u32)],
    pub(super) run_words: u32,
    pub(super) look_ahead_warps: u32,
}

const fn shape_of(teams: &'static [(u32, u32)], run_words: u32, look_ahead_warps: u32) -> Shape {
    Shape { teams, run_words, look_ahead_warps }
}

/// Two teams, which leave room for a second look-ahead warp without fewer registers for all.
const TWO_TEAMS: [(u32, u32); 5] = [(256, 2), (192, 2), (128, 2), (64, 2), (32, 2)];

/// The shape where `combine` is heavy.
///
/// Measured: `docs/tuning.md#round-robin-look-ahead-warps`.
pub(super) const fn heavy_shape(input: u32, state: u32, element: u32) -> Shape {
    match (element, state) {
        (..=2, ..=16) => shape_of(teams_from(256, 3), 21, 3),
        (..=2, _) => shape_of(teams_from(192, 2), 50, 3),
        (..=4, 17..) => shape_of(&TWO_TEAMS, 27, 1),
        (..=8, ..=8) if input < element => shape_of(teams_from(128, 3), 56, 2),
        (..=8, ..=16) if input < element => shape_of(&TWO_TEAMS, 40, 2),
        (..=8, 17..) => shape_of(teams_from(128, 3), 54, 2),
        (..=12, ..=16) => shape_of(teams_from(256, 3), 28, 2),
        (..=16, 17..=24) => shape_of(&TWO_TEAMS, 36, 2),
        (..=16, 25..) => shape_of(teams_from(192, 2), 45, 2),
        _ => shape_of(&TWO_TEAMS, 36, 1),
    }
}

/// The shape where stages keep lifted elements.
///
/// Measured: `docs/tuning.md#kept-states`.
pub(super) const KEEPING_SHAPE: Shape = shape_of(teams_from(128, 3), 52, 2);

/// The shape where results at consecutive places are gathered in a ring, by the bytes of an element or a result,
/// whichever is larger: tiles that nearly fill a ring of 4096 slots.
///
/// Measured: `docs/tuning.md#rings`.
pub(super) const fn ring_shape(element: u32) -> Shape {
    match element {
        ..=4 => shape_of(teams_from(192, 3), 21, 1),
        _ => shape_of(teams_from(192, 2), 42, 3),
    }
}

/// Whether stages keep lifted elements, by the instructions of `lift`: to lift twice takes longer, then, than to write
/// and read a state.
///
/// Measured: `docs/tuning.md#kept-states`.
pub(super) const fn keeps_states(lift: u64) -> bool {
    const HEAVY: u64 = 200;
    lift >= HEAVY
}

/// Whether neighbouring lanes load neighbouring packets, not statuses, and then exchange them.
///
/// Measured: `docs/tuning.md#packets-or-statuses`.
pub(super) const fn loads_packets(packets: u32) -> bool {
    packets > 2
}
