//! The steps of each warp of a block, as the templates of `kernel/pipeline/` have them.

use std::fmt;

use super::Protocol;
use crate::constants::WARP;

/// Aggregates that a group warp can be ahead of the look-ahead warp.
const PARTS: u32 = 2;

/// A barrier for each stage, or for each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::checker) enum Barrier {
    Full,
    EdgesDone,
    AggregatesReady,
    Published,
    PrefixReady,
    RunRead,
    InputsRead,
    ResultsReady,
    Drained,
    PartFull(Folded),
    PartEmpty(Folded),
}

/// What a group warp folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::checker) enum Folded {
    Tiles,
    Groups,
}

/// Shared memory of which there is one for each stage, slot or part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Memory {
    Stage,
    Heads,
    Slot,
    WarpAggregates,
    ExclusivePrefix,
    Part(Folded),
}

/// A step of a role for a tile of the block, which is numbered from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// Waits until the phase for the tile has completed.
    Wait(Barrier, u32),
    /// Arrives, as so many threads.
    Arrive(Barrier, u32, u32),
    /// Begins to use memory for the tile.
    Write(Memory, u32),
    /// Reads it, or writes to a part of it that nobody else uses.
    Read(Memory, u32),
    /// Publishes the status of a tile, or of the group's tiles.
    Publish(Folded, u32),
    /// Polls it.
    Poll(Folded, u32),
}

/// A warp, or several that do the same.
#[derive(Clone, Debug)]
pub(super) struct Role {
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
}

impl Barrier {
    /// Its name in the kernel.
    pub(in crate::checker) const fn name(self) -> &'static str {
        match self {
            Barrier::Full => "full",
            Barrier::EdgesDone => "edges_done",
            Barrier::AggregatesReady => "aggregates_ready",
            Barrier::Published => "published",
            Barrier::PrefixReady => "prefix_ready",
            Barrier::RunRead => "run_read",
            Barrier::InputsRead => "inputs_read",
            Barrier::ResultsReady => "results_ready",
            Barrier::Drained => "drained",
            Barrier::PartFull(_) => "part_full",
            Barrier::PartEmpty(_) => "part_empty",
        }
    }

    /// The arrivals that it counts.
    pub(super) const fn count(self, protocol: &Protocol) -> u32 {
        match self {
            // The copy warp, and the lanes that search for heads.
            Barrier::Full => 1 + if protocol.slots > 0 { WARP } else { 0 },
            Barrier::AggregatesReady | Barrier::Published => protocol.team / WARP,
            Barrier::PrefixReady | Barrier::PartFull(_) | Barrier::PartEmpty(_) => 1,
            Barrier::EdgesDone | Barrier::RunRead | Barrier::InputsRead | Barrier::ResultsReady | Barrier::Drained => {
                protocol.team
            }
        }
    }

    /// After how many tiles it serves another one.
    pub(super) const fn ring(self, protocol: &Protocol) -> u32 {
        match self {
            Barrier::PartFull(_) | Barrier::PartEmpty(_) => PARTS,
            _ => protocol.stages,
        }
    }
}

/// The barriers of a block, each with how many there are of it.
pub(in crate::checker) fn barriers_of(protocol: &Protocol) -> impl Iterator<Item = (Barrier, u32)> {
    let of_stages = [
        (Barrier::Full, true),
        (Barrier::EdgesDone, true),
        (Barrier::AggregatesReady, true),
        (Barrier::Published, true),
        (Barrier::PrefixReady, true),
        (Barrier::RunRead, protocol.keeps_states),
        (Barrier::InputsRead, !protocol.in_place),
        (Barrier::ResultsReady, true),
        (Barrier::Drained, true),
    ];
    let folded = [Folded::Tiles, Folded::Groups].into_iter().filter(|_| protocol.grouped);
    let of_parts = folded.flat_map(|folded| [Barrier::PartFull(folded), Barrier::PartEmpty(folded)]);
    let of_stages = of_stages.into_iter().filter(|(_, exists)| *exists).map(|(barrier, _)| barrier);
    let protocol = *protocol;
    of_stages.chain(of_parts).map(move |barrier| (barrier, barrier.ring(&protocol)))
}

impl Memory {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Memory::Stage => "the stage",
            Memory::Heads => "the heads of the stage",
            Memory::Slot => "the slot for offsets",
            Memory::WarpAggregates => "`warp_aggregates`",
            Memory::ExclusivePrefix => "`exclusive_prefixes`",
            Memory::Part(_) => "`part_aggregates`",
        }
    }

    /// After how many tiles it serves another one.
    pub(super) const fn ring(self, protocol: &Protocol) -> u32 {
        match self {
            Memory::Slot => protocol.slots,
            Memory::Part(_) => PARTS,
            _ => protocol.stages,
        }
    }
}

impl Step {
    /// The tile that it is for.
    pub(super) const fn number(self) -> u32 {
        match self {
            Step::Wait(_, number)
            | Step::Arrive(_, number, _)
            | Step::Write(_, number)
            | Step::Read(_, number)
            | Step::Publish(_, number)
            | Step::Poll(_, number) => number,
        }
    }

    /// In words, of a role that has not taken it.
    pub(super) fn held_up(self) -> String {
        match self {
            Step::Wait(..) => format!("its wait for {self}"),
            Step::Arrive(barrier, number, _) => format!("its arrival at `{}` of tile {number}", barrier.name()),
            Step::Write(memory, number) => format!("its write to {} of tile {number}", memory.name()),
            Step::Read(memory, number) => format!("its read of {} of tile {number}", memory.name()),
            Step::Publish(..) | Step::Poll(..) => format!("{self}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Wait(barrier, number) | Step::Arrive(barrier, number, _) => {
                write!(f, "`{}` of tile {number}", barrier.name())
            }
            Step::Write(memory, number) | Step::Read(memory, number) => write!(f, "{} of tile {number}", memory.name()),
            Step::Publish(Folded::Tiles, number) | Step::Poll(Folded::Tiles, number) => {
                write!(f, "the status of tile {number}")
            }
            Step::Publish(Folded::Groups, number) | Step::Poll(Folded::Groups, number) => {
                write!(f, "the status of the group of tile {number}")
            }
        }
    }
}

/// The roles of a block with so many tiles. Of the other blocks it is taken for granted that they publish in time; this
/// one is the last of its group and not of the first group, so that it waits for all that a block can wait for.
pub(super) fn roles(protocol: Protocol, tiles: u32) -> Vec<Role> {
    let mut roles = Vec::new();
    for team in 0..protocol.teams {
        // Of the warps of a team the first is unlike the others, and one of these may be slower than the rest.
        let warps = protocol.team / WARP;
        let alike =
            [(0, 0, warps.min(1)), (1, 1, warps.saturating_sub(1).min(1)), (2, warps - 1, warps.saturating_sub(2))];
        for (first, last, count) in alike.into_iter().filter(|(.., count)| *count > 0) {
            let warps = if first == last { format!("warp {first}") } else { format!("warps {first} to {last}") };
            let steps = team_steps(protocol, tiles, team, first == 0, count);
            roles.push(Role { name: format!("{warps} of team {team}"), steps });
        }
    }
    roles.push(Role { name: "the copy warp".to_owned(), steps: copy_steps(protocol, tiles) });
    if protocol.slots > 0 {
        roles.push(Role { name: "the offset-search warp".to_owned(), steps: offset_search_steps(protocol, tiles) });
    }
    match (protocol.grouped, protocol.look_ahead_warps) {
        (true, _) => {
            let name = |what: &str| format!("the group warp of {what}");
            roles.push(Role { name: name("tiles"), steps: group_steps(Folded::Tiles, tiles) });
            roles.push(Role { name: name("groups"), steps: group_steps(Folded::Groups, tiles) });
            roles.push(Role { name: "the look-ahead warp".to_owned(), steps: look_ahead_of_groups_steps(tiles) });
        }
        (false, 0 | 1) => roles.push(Role { name: "the look-ahead warp".to_owned(), steps: look_ahead_steps(tiles) }),
        (false, warps) => roles.extend((0..warps).map(|warp| Role {
            name: format!("look-ahead warp {warp}"),
            steps: look_ahead_round_robin_steps(warp, warps, tiles),
        })),
    }
    roles
}

/// `pipeline/team` and `pipeline/scan_tile`, of `count` warps that do the same.
fn team_steps(protocol: Protocol, tiles: u32, team: u32, is_first_warp: bool, count: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    for tile in (team..tiles + protocol.teams).step_by(protocol.teams as usize) {
        if tile < tiles {
            reduce_steps(protocol, tile, is_first_warp, count, &mut steps);
        }
        if let Some(previous) = tile.checked_sub(protocol.teams) {
            scan_steps(protocol, previous, count, &mut steps);
        }
    }
    steps
}

/// The first two phases.
fn reduce_steps(protocol: Protocol, tile: u32, is_first_warp: bool, count: u32, steps: &mut Vec<Step>) {
    let threads = count * WARP;
    let by_offsets = protocol.slots > 0;
    steps.push(Step::Wait(Barrier::Full, tile));
    if by_offsets {
        steps.push(Step::Read(Memory::Slot, tile));
    }
    let edges_of_all = by_offsets || !protocol.input_in_slices;
    if let (Some(last), false) = (tile.checked_sub(protocol.stages), edges_of_all) {
        steps.push(Step::Wait(Barrier::EdgesDone, last));
    }
    steps.push(Step::Arrive(Barrier::EdgesDone, tile, threads));
    if edges_of_all || protocol.copies_edges {
        steps.push(Step::Wait(Barrier::EdgesDone, tile));
    }
    if by_offsets {
        steps.push(Step::Read(Memory::Heads, tile));
    }
    steps.push(Step::Read(Memory::Stage, tile));
    if protocol.keeps_states {
        steps.extend([Step::Arrive(Barrier::RunRead, tile, threads), Step::Wait(Barrier::RunRead, tile)]);
    }
    steps.extend([Step::Write(Memory::WarpAggregates, tile), Step::Arrive(Barrier::AggregatesReady, tile, count)]);
    if is_first_warp {
        steps.extend([
            Step::Wait(Barrier::AggregatesReady, tile),
            Step::Read(Memory::WarpAggregates, tile),
            Step::Publish(Folded::Tiles, tile),
            // A lane for each warp.
            Step::Arrive(Barrier::Published, tile, (protocol.team / WARP).min(WARP)),
        ]);
    }
}

/// The third phase.
fn scan_steps(protocol: Protocol, tile: u32, count: u32, steps: &mut Vec<Step>) {
    let threads = count * WARP;
    steps.extend([
        Step::Wait(Barrier::PrefixReady, tile),
        Step::Read(Memory::ExclusivePrefix, tile),
        Step::Read(Memory::WarpAggregates, tile),
        Step::Read(Memory::Stage, tile),
    ]);
    if !protocol.in_place {
        steps.extend([Step::Arrive(Barrier::InputsRead, tile, threads), Step::Wait(Barrier::InputsRead, tile)]);
    }
    if let Some(last) = tile.checked_sub(protocol.stages) {
        steps.push(Step::Wait(Barrier::ResultsReady, last));
    }
    steps.push(Step::Arrive(Barrier::ResultsReady, tile, threads));
    if protocol.copies_edges || !protocol.output_in_slices {
        steps.push(Step::Wait(Barrier::ResultsReady, tile));
    }
    steps.extend([Step::Read(Memory::Stage, tile), Step::Arrive(Barrier::Drained, tile, threads)]);
}

/// `pipeline/copy`, and the copies before it.
fn copy_steps(protocol: Protocol, tiles: u32) -> Vec<Step> {
    let load = |tile| [Step::Write(Memory::Stage, tile), Step::Arrive(Barrier::Full, tile, 1)];
    let mut steps: Vec<Step> = (0..protocol.stages.min(tiles)).flat_map(load).collect();
    for tile in 0..tiles {
        steps.push(Step::Wait(Barrier::Drained, tile));
        if let Some(last) = tile.checked_sub(1) {
            steps.push(Step::Read(Memory::Stage, last)); // its copy out, which has ended
            steps.extend(Some(last + protocol.stages).filter(|next| *next < tiles).into_iter().flat_map(load));
        }
    }
    steps.extend(tiles.checked_sub(1).map(|last| Step::Read(Memory::Stage, last)));
    steps
}

/// `pipeline/offset_search`.
fn offset_search_steps(protocol: Protocol, tiles: u32) -> Vec<Step> {
    let of_tile = |tile: u32| {
        let last = tile.checked_sub(protocol.slots).map(|last| Step::Wait(Barrier::EdgesDone, last));
        let found = [Step::Write(Memory::Heads, tile), Step::Write(Memory::Slot, tile)];
        last.into_iter().chain(found).chain([Step::Arrive(Barrier::Full, tile, WARP)])
    };
    (0..tiles).flat_map(of_tile).collect()
}

/// `pipeline/look_ahead`. The statuses of an iteration's tiles before the block's own are those of other blocks.
fn look_ahead_steps(tiles: u32) -> Vec<Step> {
    let of_tile = |tile: u32| {
        let polled = tile.checked_sub(1).map(|last| Step::Poll(Folded::Tiles, last));
        polled.into_iter().chain([
            Step::Wait(Barrier::Published, tile),
            Step::Write(Memory::ExclusivePrefix, tile),
            Step::Arrive(Barrier::PrefixReady, tile, 1),
        ])
    };
    (0..tiles).flat_map(of_tile).collect()
}

/// `pipeline/look_ahead_round_robin`.
fn look_ahead_round_robin_steps(warp: u32, warps: u32, tiles: u32) -> Vec<Step> {
    let of_tile = |tile: u32| {
        let previous = tile.checked_sub(1).map(|last| {
            [
                Step::Poll(Folded::Tiles, last),
                Step::Wait(Barrier::PrefixReady, last),
                Step::Read(Memory::ExclusivePrefix, last),
            ]
        });
        let before = [Step::Wait(Barrier::Published, tile)].into_iter().chain(previous.into_iter().flatten());
        before.chain([Step::Write(Memory::ExclusivePrefix, tile), Step::Arrive(Barrier::PrefixReady, tile, 1)])
    };
    (warp..tiles).step_by(warps as usize).flat_map(of_tile).collect()
}

/// `fold_group` of `pipeline/look_ahead_of_groups`.
fn group_steps(folded: Folded, tiles: u32) -> Vec<Step> {
    let of_tile = |tile: u32| {
        let polled = match folded {
            Folded::Tiles => vec![Step::Poll(Folded::Tiles, tile), Step::Publish(Folded::Groups, tile)],
            Folded::Groups => tile.checked_sub(1).map(|last| Step::Poll(Folded::Groups, last)).into_iter().collect(),
        };
        let freed = tile.checked_sub(PARTS).map(|last| Step::Wait(Barrier::PartEmpty(folded), last));
        let passed_on = [Step::Write(Memory::Part(folded), tile), Step::Arrive(Barrier::PartFull(folded), tile, 1)];
        polled.into_iter().chain(freed).chain(passed_on)
    };
    (0..tiles).flat_map(of_tile).collect()
}

/// `pipeline/look_ahead_of_groups`.
fn look_ahead_of_groups_steps(tiles: u32) -> Vec<Step> {
    let part = |folded: Folded, tile: u32| {
        [Step::Wait(Barrier::PartFull(folded), tile), Step::Read(Memory::Part(folded), tile)]
    };
    let of_tile = |tile: u32| {
        let groups = part(Folded::Groups, tile);
        let before = groups
            .into_iter()
            .chain([Step::Arrive(Barrier::PartEmpty(Folded::Groups), tile, 1), Step::Wait(Barrier::Published, tile)]);
        before.chain(part(Folded::Tiles, tile)).chain([
            Step::Write(Memory::ExclusivePrefix, tile),
            Step::Arrive(Barrier::PartEmpty(Folded::Tiles), tile, 1),
            Step::Arrive(Barrier::PrefixReady, tile, 1),
        ])
    };
    (0..tiles).flat_map(of_tile).collect()
}
