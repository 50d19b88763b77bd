//! Candidate shapes for a search, and plans with the shapes that a search chose.

use crate::{
    carry::{Carry, TileIn},
    error::PlanError,
    limits::DeviceLimits,
    operator::OpSource,
    plan::{LARGE, MAX_REGISTER_BYTES, Overrides, Plan, Plans, plan},
    spec::ScanSpec,
    strategy::{BlockScan, Strategy},
};

/// The shape that a search chose for a range of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuned {
    /// The first length that it is for.
    pub from: u64,
    /// The end of the range: the first length that it is not for.
    pub to: u64,
    /// The shape.
    pub overrides: Overrides,
}

/// The candidate runs, in 32-bit words of elements.
const WORDS: [u32; 6] = [7, 15, 23, 31, 47, 63];

/// Additional ones, for large elements, or states larger than elements.
const LONG_WORDS: [u32; 5] = [79, 111, 151, 199, 327];

/// States up to this many bytes are not tried with groups of blocks, because there is little to load.
const SMALL_STATE: usize = 16;

/// The longest input for which one block alone is tried.
const ONE_BLOCK_BYTES: u64 = 128 << 10;

/// The shortest input for which persistent blocks are tried.
const PIPELINE_BYTES: u64 = 8 << 20;

/// The candidate shapes for a scan of `len` elements on a device, without duplicates.
pub fn shapes(operator: &OpSource, spec: &ScanSpec, limits: &DeviceLimits, len: u64) -> Vec<Overrides> {
    let widest = operator.largest_element().max(1) as u64;
    let bytes = len.saturating_mul(widest);
    let runs = || WORDS.iter().map(|words| (u64::from(words * 4) / widest).clamp(1, 127) as u32 | 1);
    // Runs in registers are for small elements.
    let block = if operator.largest_element() <= MAX_REGISTER_BYTES {
        BlockScan::in_registers()
    } else {
        BlockScan::SHARED_RUNS
    };
    let in_stage = |carry: Carry| carry.describe().tile_in == TileIn::Stage;
    let with = |carry: Carry, threads, run| Overrides {
        strategy: Some(Strategy { block: if in_stage(carry) { BlockScan::SHARED_RUNS } else { block }, carry }),
        threads: Some(threads),
        run: Some(run),
        ..Overrides::default()
    };
    let mut shapes = Vec::new();
    if bytes <= ONE_BLOCK_BYTES {
        // Not every device supports clusters; there the plan is refused.
        let carries = [Carry::OneBlock, Carry::Cluster].into_iter();
        let shape =
            |carry| [256, 512, 1024].iter().flat_map(move |&threads| runs().map(move |run| with(carry, threads, run)));
        shapes.extend(carries.flat_map(shape));
    }
    let threads = [32, 64, 128, 256, 512, 1024];
    // Where every block can look at all tiles before its own.
    let carries = if bytes <= PIPELINE_BYTES { &[Carry::LookAtAll, Carry::LookBack][..] } else { &[Carry::LookBack] };
    for &carry in carries {
        shapes.extend(threads.iter().flat_map(|&threads| runs().map(move |run| with(carry, threads, run))));
    }
    if bytes >= PIPELINE_BYTES {
        // Teams for states that fill the registers of a thread, and for smaller ones.
        let large = [(32, 2), (32, 3), (32, 4), (64, 2), (64, 3), (64, 4), (96, 2), (128, 2)];
        let small = [
            (64, 6),
            (96, 4),
            (128, 2),
            (128, 3),
            (128, 5),
            (192, 3),
            (192, 4),
            (256, 2),
            (256, 3),
            (384, 2),
            (512, 1),
        ];
        let teams = if widest > LARGE.into() { &large[..] } else { &small };
        // Narrow elements share words. Stages hold elements, not states.
        let element = operator.input.size.max(operator.output.size).max(1) as u64;
        let narrow = if element < 4 { 4 / element } else { 1 };
        let words = WORDS.iter().chain(if element > LARGE.into() || widest > element { &LONG_WORDS[..] } else { &[] });
        let runs = words.map(|words| (u64::from(words * 4) / element / narrow * narrow).max(1) as u32);
        // With groups of blocks and without.
        let grouped = [1, limits.multiprocessors.isqrt().max(2)].map(Some);
        let groups = if operator.state.size > SMALL_STATE { &grouped[..] } else { &[None] };
        for (&(threads, teams), run) in teams.iter().flat_map(|team| runs.clone().map(move |run| (team, run))) {
            let shape = with(Carry::LookAhead, threads, run);
            shapes.extend(groups.iter().map(|&group| Overrides { teams: Some(teams), group, ..shape }));
        }
    }
    let mut seen: Vec<Plan> = Vec::new();
    shapes.retain(|overrides| match plan(operator, spec, limits, overrides) {
        Ok(plans) if plans.longest().max_len >= len && !seen.contains(plans.longest()) => {
            seen.push(plans.longest().clone());
            true
        }
        _ => false,
    });
    shapes
}

/// The plans that [`plan`] makes without overrides, with the tuned shapes in place of some. A shape that cannot be
/// planned (any more) is left out.
///
/// # Errors
///
/// As [`plan`].
pub fn plan_tuned(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    tuned: &[Tuned],
) -> Result<Plans, PlanError> {
    let mut plans = plan(operator, spec, limits, &Overrides::default())?;
    for tuned in tuned.iter().filter(|tuned| tuned.from < tuned.to) {
        if let Ok(shape) = plan(operator, spec, limits, &tuned.overrides) {
            let to = tuned.to.min(shape.longest().max_len.saturating_add(1));
            if tuned.from < to {
                plans = plans.with_range(tuned.from, to, shape.longest().clone());
            }
        }
    }
    Ok(plans)
}

impl Tuned {
    /// One line, which [`parse`](Tuned::parse) reads: `from 512 to 2048: registers one_block threads 256 run 9 teams -
    /// stages - blocks - statuses - group - inlined -`. `None` for an algorithm that a search does not try.
    pub fn to_line(&self) -> Option<String> {
        let Overrides {
            strategy,
            threads,
            run,
            teams,
            stages,
            blocks,
            statuses_per_lane,
            group,
            inlined,
            look_ahead_warps: _,
            keeps_states: _,
            deterministic: _,
            programmatic: _,
            delays: _,
        } = self.overrides;
        let strategy = strategy?;
        let (block, _) = BLOCKS.iter().find(|(_, block)| *block == strategy.block)?;
        let number = |value: Option<u32>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        let [threads, run, teams, stages, blocks, statuses, group, inlined] =
            [threads, run, teams, stages, blocks, statuses_per_lane, group, inlined].map(number);
        let carry = CARRIES.iter().find(|carry| **carry == strategy.carry)?.name();
        Some(format!(
            "from {} to {}: {block} {carry} threads {threads} run {run} teams {teams} stages {stages} blocks {blocks} statuses {statuses} group {group} inlined {inlined}",
            self.from, self.to
        ))
    }

    /// Parses a line of [`to_line`](Tuned::to_line); `None` for anything else.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let mut after = |name: &str| (words.next()? == name).then(|| words.next()).flatten();
        let from = after("from")?.parse().ok()?;
        let to = after("to")?.strip_suffix(':')?.parse().ok()?;
        let block = words.next()?;
        let (_, block) = *BLOCKS.iter().find(|(name, _)| *name == block)?;
        let carry = words.next()?;
        let carry = *CARRIES.iter().find(|known| known.name() == carry)?;
        let mut number = |name: &str| -> Option<Option<u32>> {
            match (words.next()? == name).then(|| words.next()).flatten()? {
                "-" => Some(None),
                value => value.parse().ok().map(Some),
            }
        };
        let overrides = Overrides {
            strategy: Some(Strategy { block, carry }),
            threads: number("threads")?,
            run: number("run")?,
            teams: number("teams")?,
            stages: number("stages")?,
            blocks: number("blocks")?,
            statuses_per_lane: number("statuses")?,
            group: number("group")?,
            inlined: number("inlined")?,
            look_ahead_warps: None,
            keeps_states: None,
            deterministic: false,
            programmatic: None,
            delays: false,
        };
        words.next().is_none().then_some(Tuned { from, to, overrides })
    }
}

/// The ways to carry that a search tries.
const CARRIES: [Carry; 5] = [Carry::OneBlock, Carry::Cluster, Carry::LookAtAll, Carry::LookBack, Carry::LookAhead];

/// The ways to scan a tile that a search tries, and their names in a line.
const BLOCKS: [(&str, BlockScan); 2] = [("registers", BlockScan::in_registers()), ("shared", BlockScan::SHARED_RUNS)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{limits::Architecture, operator::operator_of};

    fn hopper() -> DeviceLimits {
        let mut limits = DeviceLimits::new(Architecture { major: 9, minor: 0 }, 132);
        limits.shared_bytes_per_block_optin = 227 * 1024;
        limits
    }

    #[test]
    fn every_element_size_has_several_distinct_shapes() {
        for bytes in [1, 2, 3, 4, 8, 12, 16, 36, 64, 256] {
            for len in [1, 1 << 10, 1 << 20, 1 << 28] {
                let (operator, spec) = (operator_of(bytes), ScanSpec::inclusive());
                let shapes = shapes(&operator, &spec, &hopper(), len);
                assert!(shapes.len() > 1, "{bytes} bytes, {len} elements: {}", shapes.len());
                let ahead =
                    |shape: &Overrides| shape.strategy.is_some_and(|strategy| strategy.carry == Carry::LookAhead);
                assert_eq!(shapes.iter().any(ahead), len * bytes as u64 >= PIPELINE_BYTES, "{bytes} {len}");
                for (index, shape) in shapes.iter().enumerate() {
                    let tuned = Tuned { from: index as u64, to: len, overrides: *shape };
                    assert_eq!(Tuned::parse(&tuned.to_line().unwrap()), Some(tuned));
                }
            }
        }
    }

    #[test]
    fn shapes_of_large_elements_and_states_are_near_the_planned_ones() {
        for (element, state) in [(8, 72), (100, 100), (144, 144), (256, 256)] {
            let op = OpSource { state: operator_of(state).state, ..operator_of(element) };
            let (spec, len) = (ScanSpec::inclusive(), 1 << 26);
            let plans = plan(&op, &spec, &hopper(), &Overrides::default()).unwrap();
            let (planned, pipeline) = (plans.longest(), plans.longest().pipeline.unwrap());
            let near = |shape: &Overrides| {
                let run = shape.run.unwrap_or_default();
                shape.teams == Some(pipeline.teams)
                    && shape.group == Some(pipeline.group)
                    && shape.threads == Some(planned.threads)
                    && run.abs_diff(planned.run) <= planned.run / 5
            };
            assert!(shapes(&op, &spec, &hopper(), len).iter().any(near), "{element} {state}: {planned}");
        }
    }

    #[test]
    fn a_tuned_range_replaces_the_planned_one() {
        let (operator, spec) = (operator_of(4), ScanSpec::inclusive());
        let shape = shapes(&operator, &spec, &hopper(), 1 << 20)[0];
        let (from, to) = (1 << 19, 1 << 21);
        let before = plan_tuned(&operator, &spec, &hopper(), &[]).unwrap();
        assert_eq!(before, plan(&operator, &spec, &hopper(), &Overrides::default()).unwrap());
        let after = plan_tuned(&operator, &spec, &hopper(), &[Tuned { from, to, overrides: shape }]).unwrap();
        for len in [0, 1, 5_000, from - 1, to, to + 1, 1 << 24, 1 << 30] {
            let (before, after) = (before.for_len(len), after.for_len(len));
            assert_eq!(
                (before.strategy, before.threads, before.run),
                (after.strategy, after.threads, after.run),
                "{len}"
            );
        }
        for len in [from, 1 << 20, to - 1] {
            assert_eq!(
                (Some(after.for_len(len).strategy), after.for_len(len).threads),
                (shape.strategy, shape.threads.unwrap())
            );
        }
        let all = Tuned { from: 0, to: u64::MAX, overrides: shape };
        let all = plan_tuned(&operator, &spec, &hopper(), &[all]).unwrap();
        assert_eq!(Some(all.for_len(0).strategy), shape.strategy);
        assert_eq!(Some(all.for_len(1 << 32).strategy), shape.strategy);
    }

    #[test]
    fn malformed_lines_parse_to_none() {
        for line in [
            "",
            "from 1 to 2",
            "from 1 to 2: shared reduce-then-scan threads 1 run 1 teams - stages - blocks - statuses - inlined -",
        ] {
            assert_eq!(Tuned::parse(line), None, "{line}");
        }
    }
}
