//! Kernels that keep tile statuses from run to run, in the emulator: many runs on one memory, and the launches at the
//! end of a cycle of epochs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Axis, Overrides, Segments};
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers, ops};
use scan_tests::{
    axes::elements,
    emulated::{ColumnsProgram, Emulator, EmulatorError, Module, Program},
    extent::one_in,
    operators::{Interval, MatrixProduct, TestOperator, adjacent, mixed},
    planted::FEW,
    segments::Heads,
    strategies::{IN_REGISTERS, LOOK_AHEAD},
};

use super::{
    axis::{SHAPES, program as columns_program},
    compiled,
};

/// The number of epochs that fit the tag of a status.
const CYCLE: u32 = 1 << 30;

/// Every strategy whose kernels publish statuses.
fn strategies() -> Vec<Strategy> {
    let carries = [Carry::Chained(TileNumbers::BlockIndex), Carry::Chained(TileNumbers::Counter), Carry::LookBack];
    let kogge_stone = |carry| Strategy { block: BlockScan::of(Network::KoggeStone), carry };
    let look_at_all = IN_REGISTERS.into_iter().filter(|strategy| strategy.carry == Carry::LookAtAll);
    carries.map(kogge_stone).into_iter().chain(look_at_all).chain([LOOK_AHEAD]).collect()
}

fn program<Op: TestOperator>(strategy: Strategy, segments: Segments) -> Program<Op> {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(strategy);
    overrides.threads = Some(32);
    if strategy == LOOK_AHEAD {
        (overrides.run, overrides.teams, overrides.stages, overrides.blocks) = (Some(4), Some(2), Some(5), Some(3));
        // Groups publish the statuses of several packets as well.
        overrides.group = Some(if size_of::<Op::Item>() > 12 { 2 } else { 1 });
    }
    Program::segmented(Op::new(), ScanKind::Inclusive, None, segments, &overrides).unwrap()
}

fn programs<Op: TestOperator>() -> Vec<Program<Op>> {
    let both = |strategy| [Segments::None, Segments::HeadFlags].map(|segments| program::<Op>(strategy, segments));
    compiled(strategies().into_iter().flat_map(both))
}

fn emulator(seed: u64) -> Emulator {
    // All at once, so that they poll statuses that are not published yet.
    Emulator::new(mixed(seed)).interrupt_once_in(8).resident_blocks(usize::MAX).limit(4_000_000)
}

/// A program, and how many runs it has had: each has other elements, so that nothing of an earlier one can pass for its own.
struct Runs<Op: TestOperator> {
    program: Program<Op>,
    seed: u64,
    run: u64,
}

impl<Op: TestOperator> Runs<Op> {
    fn new(program: &Program<Op>, seed: u64) -> Self
    where
        Op: Clone,
    {
        Runs { program: program.clone(), seed, run: 0 }
    }

    /// Scans so many tiles, of which the last is not full. Where the scan is segmented, segments are several tiles
    /// long.
    fn tiles(&mut self, tiles: u64) -> Result<(), EmulatorError>
    where
        Op::Item: std::fmt::Debug,
    {
        self.run += 1;
        let tile = u64::from(self.program.plan.tile);
        let length = tiles * tile - 3;
        let first = mixed(self.seed * 64 + self.run) % (1 << 40);
        self.program.heads = (!self.program.plan.spec.segments.is_none()).then(|| {
            let begins: Vec<_> = (first..first + length).map(|i| mixed(i).is_multiple_of(4 * tile)).collect();
            Heads::new(0, &begins)
        });
        let input: Vec<Op::Item> = (first..first + length).map(Op::input).collect();
        self.program.verify(&emulator(self.seed * 64 + self.run), &input).map(drop)
    }

    /// The epoch of the next launch, of which no ticket has been taken.
    fn epoch(&mut self) -> u32 {
        let tickets = u64::from_le_bytes(*self.program.kept_bytes().first_chunk().unwrap());
        assert_eq!(tickets as u32, 0, "no ticket is taken before a launch");
        (tickets >> 32) as u32
    }

    /// Goes on as if there had been more launches, up to this one, none of which published more than a few statuses.
    fn go_on_at(&mut self, epoch: u32) {
        self.program.kept_bytes()[4..8].copy_from_slice(&epoch.to_le_bytes());
    }
}

/// Up and down, on memory that grows.
fn up_and_down<Op: TestOperator + Clone>(program: &Program<Op>, seed: u64) -> Result<(), EmulatorError>
where
    Op::Item: std::fmt::Debug,
{
    let mut runs = Runs::new(program, seed);
    let mut epoch = 0;
    let mut room = 0;
    for tiles in [3, 2, 7, 2, 7, 5, 1, 14, 2, 13] {
        runs.tiles(tiles)?;
        let bytes = runs.program.kept_bytes().len();
        if bytes > room {
            (epoch, room) = (0, bytes); // fresh memory
        }
        // A single tile has no neighbours; only look-ahead has one kernel for all lengths.
        epoch += u32::from(tiles > 1 || runs.program.plan.strategy == LOOK_AHEAD);
        assert_eq!(runs.epoch(), epoch);
    }
    runs.go_on_at(u32::MAX);
    runs.tiles(3)?;
    assert_eq!(runs.epoch(), 0);
    Ok(())
}

/// The last epochs of cycles: in the middle of the number's range, and at its end.
const LAST: [u32; 3] = [CYCLE - 1, 3 * CYCLE - 1, u32::MAX];

/// What the last launch but one of a cycle has left must not count in that of the next cycle.
fn from_last_but_one<Op: TestOperator + Clone>(program: &Program<Op>, seed: u64) -> Result<(), EmulatorError>
where
    Op::Item: std::fmt::Debug,
{
    let last = LAST[seed as usize % 3];
    let mut runs = Runs::new(program, seed);
    runs.tiles(14)?;
    runs.go_on_at(last - 1);
    runs.tiles(14)?;
    runs.tiles([2, 7][seed as usize % 2])?; // of its last iteration a group has all tiles, or not
    runs.tiles(3)?;
    runs.go_on_at((last - 1).wrapping_add(CYCLE));
    runs.tiles(14)
}

/// What the last launch of a cycle has left must not count in that of the next cycle.
fn from_last<Op: TestOperator + Clone>(program: &Program<Op>, seed: u64) -> Result<(), EmulatorError>
where
    Op::Item: std::fmt::Debug,
{
    let last = LAST[seed as usize % 3];
    let mut runs = Runs::new(program, seed);
    runs.tiles(14)?;
    runs.go_on_at(last);
    runs.tiles(14)?;
    runs.tiles(2)?;
    runs.go_on_at((last - 1).wrapping_add(CYCLE));
    runs.tiles(3)?;
    runs.tiles(14)?;
    runs.tiles(9)
}

fn all<Op: TestOperator + Clone>(program: &Program<Op>, seed: u64) -> Result<(), EmulatorError>
where
    Op::Item: std::fmt::Debug,
{
    up_and_down(program, seed)?;
    from_last_but_one(program, seed)?;
    from_last(program, seed)
}

fn every_launch_matches_the_reference<Op: TestOperator + Clone>()
where
    Op::Item: std::fmt::Debug,
{
    for program in programs::<Op>() {
        for seed in 0..3 {
            all(&program, seed).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", program.plan));
        }
    }
}

#[test]
fn statuses_of_one_packet_match_the_reference_in_every_epoch() {
    every_launch_matches_the_reference::<ops::Sum<i32>>();
}

#[test]
fn statuses_of_several_packets_match_the_reference_in_every_epoch() {
    every_launch_matches_the_reference::<Interval>();
}

/// Changes of the text, one at a time: some run shows each, whichever the strategy.
#[test]
fn planted_faults_are_found() {
    let changes = [
        ("(unsigned long long)(epoch + 1) << 32", "(unsigned long long)epoch << 32"),
        (">= EPOCHS - 2", "== EPOCHS - 2"),
        (">= EPOCHS - 2", ">= EPOCHS - 1"),
        ("size_t unused = status_count;", "size_t unused = status_count + 1;"),
        ("if (number == gridDim.x - 1) {\n    store", "if (number == 0) {\n    store"),
        ("const unsigned tag = STATUSES * epoch + status;", "const unsigned tag = status;"),
        ("const unsigned status = tag - STATUSES * epoch;", "const unsigned status = tag % STATUSES;"),
        ("store_relaxed(tickets, (unsigned long long)(epoch + 1) << 32);", ""),
    ];
    let mut mutants = Vec::new();
    for program in programs::<Interval>() {
        for (from, to) in changes {
            let text = &program.source.text;
            assert_eq!(text.matches(from).count(), 1, "`{from}` must stand in the text once");
            let mut mutant = program.clone();
            mutant.source.text = text.replace(from, to);
            mutants.push(((program.plan.strategy.to_string(), to), mutant));
        }
    }
    let mutants: Vec<_> = one_in(FEW, mutants).collect();
    Module::compile(&mutants.iter().map(|(_, mutant)| &mutant.source).collect::<Vec<_>>()).unwrap();
    let is_found = |mutant: &Program<Interval>| (0..9).any(|seed| goes_wrong(mutant, seed));
    let survivors: Vec<_> = mutants.iter().filter(|(_, mutant)| !is_found(mutant)).map(|(what, _)| what).collect();
    assert!(survivors.is_empty(), "not found: {survivors:#?}");
}

/// What a launch of two tiles writes to global memory that has room for so many.
fn written_with_room_for<Op: TestOperator + Clone>(program: &Program<Op>, tiles: u64) -> u64
where
    Op::Item: std::fmt::Debug,
{
    let mut runs = Runs::new(program, 0);
    runs.tiles(tiles).unwrap();
    let length = 2 * u64::from(program.plan.tile);
    runs.program.heads = runs.program.heads.map(|_| Heads::new(0, &vec![false; length as usize]));
    let input: Vec<Op::Item> = (0..length).map(Op::input).collect();
    let run = runs.program.verify(&Emulator::new(1).resident_blocks(usize::MAX), &input).unwrap();
    run.counters.launches.iter().map(|launch| launch.global_written).sum()
}

/// Any other launch leaves the statuses that it does not publish alone: to clear them takes longer than to scan.
#[test]
fn only_the_last_launches_of_a_cycle_clear_statuses() {
    for program in programs::<Interval>() {
        let clears = |program: &_| written_with_room_for(program, 2) != written_with_room_for(program, 14);
        assert!(!clears(&program), "{}", program.plan);
        let mut planted = program.clone();
        planted.source.text = planted.source.text.replace(">= EPOCHS - 2", "< EPOCHS - 2");
        assert!(clears(&planted), "not found: {}", planted.plan);
    }
}

/// The bytes that a launch over fresh memory writes to global memory in this epoch, and the statuses after it.
type Launch<'l> = &'l dyn Fn(u32) -> (u64, Vec<u8>);

/// The last two launches of a cycle of epochs write what a launch in the middle writes, and clear each status in which
/// nothing is published. Of a published status that is cleared, another block waits for ever. A status that is left is
/// taken for a published one when its epoch recurs.
fn check_cleared(cycle: u32, launch: Launch<'_>) -> Result<(), String> {
    let (written, statuses) = launch(cycle / 2);
    let unused = statuses.chunks(16).filter(|packet| packet.iter().all(|byte| *byte == 0)).count() as u64 * 16;
    for epoch in [cycle - 2, cycle - 1, u32::MAX - 1, u32::MAX] {
        let cleared = launch(epoch).0 - written;
        if cleared != unused {
            let room = statuses.len();
            return Err(format!("epoch {epoch}: of {room} bytes {unused} are not used, and {cleared} are cleared"));
        }
    }
    Ok(())
}

/// Fresh memory, longer than this by some statuses, in which the next launch is of this epoch.
fn fresh(kept: &mut Vec<u8>, epoch: u32) {
    kept.fill(0);
    kept.resize(kept.len() + 4_096, 0);
    kept[4..8].copy_from_slice(&epoch.to_le_bytes());
}

/// The statuses, which follow a header.
fn statuses_of(kept: &[u8]) -> Vec<u8> {
    kept[256..].to_vec()
}

fn check_cleared_for_tiles(program: &Program<Interval>, tiles: u64) -> Result<(), String> {
    let length = tiles * u64::from(program.plan.tile);
    let mut program = program.clone();
    let segmented = !program.plan.spec.segments.is_none();
    program.heads = segmented.then(|| Heads::new(0, &vec![false; length as usize]));
    let input: Vec<_> = (0..length).map(Interval::input).collect();
    let run = |program: &Program<Interval>| {
        let run = program.verify(&Emulator::new(1).resident_blocks(usize::MAX), &input).unwrap();
        run.counters.launches.iter().map(|launch| launch.global_written).sum()
    };
    let _: u64 = run(&program);
    let kept = program.kept_bytes().clone();
    check_cleared(CYCLE, &|epoch| {
        let mut program = program.clone();
        *program.kept_bytes() = kept.clone();
        fresh(program.kept_bytes(), epoch);
        (run(&program), statuses_of(program.kept_bytes()))
    })
}

#[test]
fn the_last_launches_of_a_cycle_clear_unpublished_statuses() {
    for program in programs::<Interval>() {
        for tiles in [2, 3, 5, 14] {
            check_cleared_for_tiles(&program, tiles)
                .unwrap_or_else(|error| panic!("{tiles} tiles: {error}\n{}", program.plan));
        }
    }
}

/// Epochs of scans along an axis, whose statuses have generations of a ring.
const CYCLE_OF_COLUMNS: u32 = 1 << 22;

fn check_cleared_for_columns(program: &ColumnsProgram<Interval>, axis: &Axis) -> Result<(), String> {
    let input = elements(axis, 1 << 32, Interval::input);
    let run = |program: &ColumnsProgram<Interval>| {
        let emulator = Emulator::new(1).resident_blocks(usize::MAX).check(adjacent);
        let counters = program.counters(&emulator, axis, &input).unwrap();
        counters.launches.iter().map(|launch| launch.global_written).sum()
    };
    let mut program = program.clone();
    let _: u64 = run(&program);
    let kept = program.kept_bytes().clone();
    check_cleared(CYCLE_OF_COLUMNS, &|epoch| {
        let mut program = program.clone();
        *program.kept_bytes() = kept.clone();
        fresh(program.kept_bytes(), epoch);
        (run(&program), statuses_of(program.kept_bytes()))
    })
}

/// Rows of tiles that are fewer than a window, more than a window, and more than have statuses at once.
#[test]
fn the_last_launches_of_a_cycle_clear_unpublished_statuses_of_columns() {
    for index in [0, 1, 5] {
        let program = columns_program::<Interval>(SHAPES[index], (ScanKind::Inclusive, false), false);
        let (threads, run, width, across, _) = SHAPES[index];
        let rows = (threads / across * run) as usize;
        for tiles in [2, 3, 9, 40] {
            for columns in [width * across, 3 * width * across] {
                let axis = Axis::of(&[rows * tiles, columns as usize], 0).unwrap();
                let cleared = check_cleared_for_columns(&program, &axis);
                cleared.unwrap_or_else(|error| panic!("{axis:?}: {error}\n{}", program.plan));
            }
        }
    }
}

/// The last launches of a cycle clear the statuses of groups that they do not publish.
#[test]
fn groups_that_clear_too_few_statuses_are_found() {
    let from = "tiles % gridDim.x / GROUP;";
    let mut programs = programs::<Interval>();
    programs.retain(|program| program.source.text.contains(from));
    assert!(!programs.is_empty(), "none has groups");
    for mut program in programs {
        program.source.text = program.source.text.replace(from, "(tiles + gridDim.x - 1) % gridDim.x / GROUP + 1;");
        assert!((0..9).any(|seed| goes_wrong(&program, seed)), "not found: {}", program.plan);
    }
}

/// States of more than two packets are read packet by packet, each with a tag of its own.
#[test]
fn planted_tags_of_packets_without_epochs_are_found() {
    let (from, to) = ("window.loaded[k].tag - STATUSES * epoch", "window.loaded[k].tag % STATUSES");
    let mut programs = programs::<MatrixProduct<3>>();
    programs.retain(|program| program.source.text.contains(from));
    assert!(!programs.is_empty(), "none reads packets");
    for mut program in programs {
        assert!(!up_and_down_goes_wrong(&program, 0), "{}", program.plan);
        program.source.text = program.source.text.replace(from, to);
        assert!((0..9).any(|seed| up_and_down_goes_wrong(&program, seed)), "not found: {}", program.plan);
    }
}

/// Whether any of the runs fails.
fn goes_wrong<Op: TestOperator + Clone>(program: &Program<Op>, seed: u64) -> bool
where
    Op::Item: std::fmt::Debug,
{
    up_and_down_goes_wrong(program, seed)
        || from_last_but_one(program, seed).is_err()
        || from_last(program, seed).is_err()
}

/// Whether one of some runs of several lengths fails.
fn up_and_down_goes_wrong<Op: TestOperator + Clone>(program: &Program<Op>, seed: u64) -> bool
where
    Op::Item: std::fmt::Debug,
{
    let mut runs = Runs::new(program, seed);
    [9, 2, 9, 5].into_iter().any(|tiles| runs.tiles(tiles).is_err())
}
