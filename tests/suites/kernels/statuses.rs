//! What a block makes of the statuses of the tiles before its own: one tile is executed, and the statuses before it stand ready. So
//! each distance to a prefix is met, which otherwise is a matter of luck. And what is left in memory of statuses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Argument, Overrides};
use scan_runtime::{__private::bytes_of, BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers};
use scan_tests::{
    distant::{STATUS_BYTES, Status, status_bytes},
    emulated::{Emulator, Memory, Program, Stretch},
    operators::{BROKEN, COVERS, Interval, Span, TestOperator, adjacent, inputs},
    planted::each_is_found,
    reference,
    strategies::LOOK_AHEAD,
};

fn program(carry: Carry, statuses_per_lane: Option<u32>) -> Program<Interval> {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block: BlockScan::in_registers(), carry });
    (overrides.threads, overrides.run, overrides.statuses_per_lane) = (Some(64), Some(1), statuses_per_lane);
    let mut program = Program::new(Interval, ScanKind::Inclusive, None, &overrides).unwrap();
    // The only block takes itself for the last of as many as there are statuses.
    let text = program.source.text.replace("gridDim.x", "(unsigned)room");
    program.source.text = text.replace("blockIdx.x", "((unsigned)room - 1)");
    program
}

/// A value that no sum may have in it.
const WRONG: Span = Span { first: 0, last: 0, kind: BROKEN };

/// Executes the tile of this number, the last of all, with these statuses before it, and compares its results. The tile and those
/// before it are of 64 elements.
fn verify(program: &Program<Interval>, number: u64, statuses: &[u8], seed: u64) -> Result<(), String> {
    const TILE: u64 = 64;
    assert_eq!(u64::from(program.plan.tile), TILE);
    let (first, len) = (number * TILE, (number + 1) * TILE);
    let values: Vec<Span> = (first..len).map(Interval::input).collect();
    let before = covering(0, number);
    let expected = reference::scan(&Interval, ScanKind::Inclusive, Some(before), &values);
    let size = size_of::<Span>() as u64;
    let bytes = |spans: &[Span]| spans.iter().flat_map(bytes_of).collect::<Vec<u8>>();
    let own_status = vec![0; STATUS_BYTES];
    let stretch = |argument, before, bytes, initialised| Stretch { argument, before, bytes, initialised };
    let stretches = [
        stretch(Argument::Input, first * size, bytes(&values), true),
        stretch(Argument::Output, first * size, vec![0; values.len() * size as usize], false),
        stretch(Argument::Workspace(0), 0, number.to_le_bytes().to_vec(), true),
        stretch(Argument::Workspace(256), 0, [statuses, &own_status].concat(), true),
    ];
    let mut launch = program.plan.schedule(2 * TILE).map_err(|error| error.to_string())?.launches.swap_remove(0);
    launch.blocks = 1;
    for argument in &mut launch.arguments {
        if let Argument::Length(length) = argument {
            *length = len;
        }
    }
    let module = program.module().map_err(|error| error.to_string())?;
    let name = |role: &str| program.source.kernel_name(role);
    let emulator = Emulator::new(seed).check(adjacent).limit(400_000);
    let found = emulator
        .run_on_stretches(&module, name, &[launch], &Memory::default(), &stretches, number + 1)
        .map_err(|error| error.to_string())?;
    if found[1] == bytes(&expected) { Ok(()) } else { Err("wrong results".to_owned()) }
}

/// What the tiles of 64 elements from one to before another fold to.
fn covering(first: u64, end: u64) -> Span {
    let (first, last) = (Interval::input(first * 64), Interval::input((end * 64).max(1) - 1));
    Span { first: first.first, last: last.last, kind: COVERS }
}

/// Distances to the nearest prefix: within the first window of a warp, at its edges, and windows away.
const DISTANCES: [u64; 13] = [1, 2, 31, 32, 33, 63, 64, 65, 96, 97, 128, 129, 200];

/// What is wrong where the nearest prefix is so far away: all aggregates between are folded, and nothing before it is.
fn fault_of_looking_back(program: &Program<Interval>, distance: u64) -> Option<String> {
    let number = distance + 40;
    let statuses: Vec<u8> = (0..number)
        .flat_map(|tile| match number - tile {
            from_here if from_here < distance => {
                status_bytes(Carry::LookBack, 0, Status::Aggregate, covering(tile, tile + 1))
            }
            from_here if from_here == distance => {
                status_bytes(Carry::LookBack, 0, Status::Prefix, covering(0, tile + 1))
            }
            odd if odd % 2 == 1 => status_bytes(Carry::LookBack, 0, Status::Prefix, WRONG),
            _ => status_bytes(Carry::LookBack, 0, Status::Aggregate, WRONG),
        })
        .collect();
    verify(program, number, &statuses, distance).err().map(|error| format!("{distance}: {error}"))
}

#[test]
fn look_back_finds_a_prefix_at_every_distance() {
    for statuses_per_lane in [1, 2, 4] {
        let program = program(Carry::LookBack, Some(statuses_per_lane));
        assert!(
            program.source.text.contains(&format!("STATUSES_PER_LANE = {statuses_per_lane};")),
            "{}",
            program.source.text
        );
        for distance in DISTANCES {
            assert_eq!(fault_of_looking_back(&program, distance), None, "{}", program.plan);
        }
        let changes = [
            ("end -= WARP * STATUSES_PER_LANE", "end -= WARP * STATUSES_PER_LANE + 1"),
            ("end -= WARP * STATUSES_PER_LANE", "end -= WARP * STATUSES_PER_LANE - 1"),
            ("end - (WARP - lane) * STATUSES_PER_LANE", "end - (WARP - 1 - lane) * STATUSES_PER_LANE"),
            ("first_lane = found ? last_prefix : 0;", "first_lane = 0;"),
            ("long long end = tile_index;", "long long end = tile_index - 1;"),
            ("first_lane + stride <= lane", "first_lane + stride < lane"),
            ("combine(window, prefix.value) : window", "combine(prefix.value, window) : window"),
        ];
        let is_found = |program: &Program<Interval>| {
            DISTANCES.into_iter().any(|distance| fault_of_looking_back(program, distance).is_some())
        };
        each_is_found(&program, &changes, is_found).unwrap();
    }
}

/// Tiles before the one that is executed: fewer than a block has threads, as many, and more.
const NUMBERS: [u64; 10] = [1, 2, 31, 32, 33, 63, 64, 65, 129, 200];

fn fault_of_looking_at_all(program: &Program<Interval>, number: u64) -> Option<String> {
    let status = |tile| status_bytes(Carry::LookAtAll, 0, Status::Aggregate, covering(tile, tile + 1));
    let statuses: Vec<u8> = (0..number).flat_map(status).collect();
    verify(program, number, &statuses, number).err().map(|error| format!("{number}: {error}"))
}

#[test]
fn look_at_all_reads_any_number_of_tiles() {
    let program = program(Carry::LookAtAll, None);
    for number in NUMBERS {
        assert_eq!(fault_of_looking_at_all(&program, number), None, "{}", program.plan);
    }
    let changes = [
        ("first < tile_index; first += block_threads()", "first < tile_index; first += block_threads() + 1"),
        ("first < tile_index; first += block_threads()", "first < tile_index; first += block_threads() / 2"),
        ("min(tile_index - first, block_threads())", "min(tile_index - first, WARP)"),
        ("statuses[first + threadIdx.x]", "statuses[threadIdx.x]"),
        ("combine(prefix, window) : window", "combine(window, prefix) : window"),
    ];
    let is_found = |program: &Program<Interval>| {
        [33, 129].into_iter().any(|number| fault_of_looking_at_all(program, number).is_some())
    };
    each_is_found(&program, &changes, is_found).unwrap();
}

/// Epochs of a cycle: the last two launches of one clear what they do not publish.
const CYCLE: u32 = 1 << 30;

/// Whether blocks wait for blocks with a smaller index, so that all must be resident.
fn waits_for_smaller_indices(program: &Program<Interval>) -> bool {
    program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex)
}

/// What is wrong with the statuses that a launch of a few tiles leaves, after one of many, in this epoch. Those it publishes stay, the
/// last one included, which no tile of this launch waits for; those it does not are cleared where `clears`.
fn fault_of_statuses_left(program: &Program<Interval>, epoch: u32, clears: bool) -> Option<String> {
    const MANY: u64 = 14;
    const FEW: u64 = 5;
    let tile = u64::from(program.plan.tile);
    let mut program = program.clone();
    let resident = if waits_for_smaller_indices(&program) { usize::MAX } else { 2 };
    let emulator = || Emulator::new(u64::from(epoch)).resident_blocks(resident).limit(20_000_000);
    if let Err(error) = program.verify(&emulator(), &inputs::<Interval>((MANY * tile) as usize)) {
        return Some(error.to_string());
    }
    program.kept_bytes()[4..8].copy_from_slice(&epoch.to_le_bytes());
    if let Err(error) = program.verify(&emulator(), &inputs::<Interval>((FEW * tile) as usize)) {
        return Some(error.to_string());
    }
    let statuses = &program.kept_bytes()[256..];
    for (index, status) in (0..).zip(statuses.chunks(STATUS_BYTES)) {
        let tags = status.chunks(16).map(|packet| u32::from_le_bytes([packet[12], packet[13], packet[14], packet[15]]));
        let is_of_epoch = |tag: u32| tag != 0 && tag.wrapping_sub(4 * (epoch % CYCLE)) < 4;
        let right = match index < FEW {
            true => tags.clone().all(is_of_epoch),
            false => status.iter().all(|&byte| byte == 0) == clears,
        };
        if !right && (index < MANY || clears) {
            return Some(format!("the status of tile {index} has the tags {:?}", tags.collect::<Vec<_>>()));
        }
    }
    None
}

#[test]
fn a_launch_clears_all_statuses_but_its_own() {
    let carries = [Carry::Chained(TileNumbers::BlockIndex), Carry::Chained(TileNumbers::Counter), Carry::LookBack];
    let kogge_stone = |carry| Strategy { block: BlockScan::of(Network::KoggeStone), carry };
    let at_all = Strategy { block: BlockScan::in_registers(), carry: Carry::LookAtAll };
    for strategy in carries.map(kogge_stone).into_iter().chain([LOOK_AHEAD, at_all]) {
        let mut overrides = Overrides::default();
        (overrides.strategy, overrides.threads) = (Some(strategy), Some(32));
        if strategy == LOOK_AHEAD {
            (overrides.run, overrides.teams, overrides.stages, overrides.blocks) = (Some(4), Some(2), Some(5), Some(3));
            overrides.group = Some(1);
        } else if strategy == at_all {
            overrides.run = Some(2);
        }
        let program = Program::new(Interval, ScanKind::Inclusive, None, &overrides).unwrap();
        let fault = |program: &Program<Interval>| {
            let epochs = [(7, false), (CYCLE - 2, true), (CYCLE - 1, true), (u32::MAX, true)];
            epochs.into_iter().find_map(|(epoch, clears)| fault_of_statuses_left(program, epoch, clears))
        };
        assert_eq!(fault(&program), None, "{}", program.plan);
        let mut changes = vec![
            ("size_t unused = status_count;", "size_t unused = status_count + 1;"),
            (">= EPOCHS - 2", ">= EPOCHS - 1"),
        ];
        if !waits_for_smaller_indices(&program) {
            // There, all blocks start together, and the last one clears before any has published.
            changes.push(("size_t unused = status_count;", "size_t unused = 0;"));
        }
        if strategy == LOOK_AHEAD || strategy == at_all {
            // Elsewhere, the block with the last ticket has the last tile, and publishes after it has cleared.
            changes.push(("size_t unused = status_count;", "size_t unused = status_count - 1;"));
        }
        if strategy != LOOK_AHEAD {
            // There, the last one is for the head padding before the first element, and there is none.
            changes.push(("unused < room;", "unused + 1 < room;"));
        }
        each_is_found(&program, &changes, |program| fault(program).is_some())
            .unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
}
