//! The closed forms of the costs against loops over every tile, round and window.

use super::{in_registers::max_of, networks::WARP, tree_bank_cycles};
use crate::{
    Architecture, BlockScan, Carry, DeviceLimits, KernelRole, Network, Overrides, Plan, Plans, ScanSpec, Strategy,
    TileNumbers, operator::operator_of, plan,
};

fn planned(carry: Carry, spec: &ScanSpec, bytes: usize, shape: Overrides) -> Plan {
    let block = match carry {
        Carry::LookAhead => BlockScan::coarsened(Network::WarpShuffle),
        _ => BlockScan::in_registers(),
    };
    let limits = DeviceLimits::of(Architecture { major: 9, minor: 0 });
    let overrides = Overrides { strategy: Some(Strategy { block, carry }), ..shape };
    plan(&operator_of(bytes), spec, &limits, &overrides).unwrap().longest().clone()
}

/// Inclusive scans: with an initial value or not, with a total or not.
fn specs() -> [ScanSpec; 3] {
    let spec = ScanSpec::inclusive();
    [spec.clone(), spec.clone().with_initial_value(), spec.with_total()]
}

/// The cost of a block that looks at all tiles before its own: applications, steps, and barriers of look-at-all.
fn at_all(plan: &Plan, number: u64, n: u64) -> (u64, u64, u64) {
    let threads = u64::from(plan.threads);
    let sum = |counts: &[u64]| counts.iter().sum::<u64>();
    let tile = plan.cost_in_registers(n, plan.seeds() || number > 0);
    // What has been applied since the last barrier.
    let mut open = tile.summed.clone();
    let (mut applications, mut steps) = (sum(&tile.reduced), max_of(&tile.reduced));
    let mut barriers = 0;
    let mut first = 0;
    while first < number {
        let count = (number - first).min(threads);
        let window = Plan { run: 1, ..plan.clone() }.cost_in_registers(count, false);
        for stretch in [&open, &window.reduced] {
            (applications, steps) = (applications + sum(stretch), steps + max_of(stretch));
        }
        open = window.summed.iter().map(|applied| applied + u64::from(first > 0)).collect();
        barriers += 2;
        first += count;
    }
    let initial = u64::from(plan.seeds() && number > 0);
    let last: Vec<u64> = open.iter().zip(&tile.scanned).map(|(a, b)| a + b + initial).collect();
    (applications + sum(&last), steps + max_of(&last), barriers)
}

#[test]
fn cost_of_look_at_all_is_the_sum_over_tiles_and_windows() {
    for spec in specs() {
        for threads in [32, 64, 128] {
            let shape = Overrides { threads: Some(threads), run: Some(3), ..Overrides::default() };
            let plan = planned(Carry::LookAtAll, &spec, 4, shape);
            let tile = u64::from(plan.tile);
            for tiles in [2, 3, 32, 33, 34, 64, 65, 66, 97, 128, 129, 130, 300, 385] {
                for rest in [1, tile - 1, tile] {
                    let (len, mut expected) = ((tiles - 1) * tile + rest, (0, 0, 0));
                    for number in 0..tiles {
                        let n = if number < tiles - 1 { tile } else { rest };
                        let (applications, steps, barriers) = at_all(&plan, number, n);
                        let barriers = 1 + plan.barriers_of_moves(n) + barriers;
                        expected = (expected.0 + applications, steps.max(expected.1), barriers.max(expected.2));
                    }
                    let cost = &plan.cost(len).unwrap().launches[0];
                    let found = (cost.applications, cost.steps, cost.barriers);
                    assert_eq!(found, (expected.0.into(), expected.1.into(), expected.2), "{tiles} {rest} {plan}");
                }
            }
        }
    }
}

#[test]
fn cost_of_look_back_is_the_sum_over_tiles() {
    for statuses_per_lane in [1, 2, 4] {
        let shape = Overrides { statuses_per_lane: Some(statuses_per_lane), ..Overrides::default() };
        let plan = planned(Carry::LookBack, &specs()[0], 4, shape);
        let mut sum = 0;
        for number in 0..1_000 {
            assert_eq!(plan.looks_back(number), sum, "{number} {statuses_per_lane}");
            sum += u128::from(plan.look_back_max(number).applications);
        }
    }
}

/// The cost of one cluster: applications, steps, barriers.
fn cluster(plan: &Plan, len: u64) -> (u64, u64, u64) {
    let (tile, blocks, threads) = (u64::from(plan.tile), u64::from(plan.cluster), u64::from(plan.threads));
    let tiles = len.div_ceil(tile);
    let rounds = tiles.div_ceil(blocks);
    let (mut applications, mut max_steps, mut max_barriers) = (0, 0, 0);
    for block in 0..blocks.min(tiles) {
        // The barrier of the cluster.
        let (mut steps, mut barriers) = (0, 1);
        for round in 0..=(tiles - 1 - block) / blocks {
            let number = round * blocks + block;
            let before = plan.seeds() || round > 0;
            let any = before || block > 0;
            let elements = (len - number * tile).min(tile);
            let own = plan.cost_in_registers(elements, any);
            barriers += 1 + plan.barriers_of_moves(elements);
            let folded = if before { block } else { block.saturating_sub(1) };
            let last: Vec<u64> = own.scanned.iter().map(|applied| applied + folded).collect();
            let stretches = match round {
                0 => vec![own.reduced, own.summed, last],
                _ => vec![own.reduced, own.summed.iter().zip(&last).map(|(a, b)| a + b).collect()],
            };
            for stretch in &stretches {
                (applications, steps) = (applications + stretch.iter().sum::<u64>(), steps + max_of(stretch));
            }
            if round + 1 < rounds {
                let folded = blocks - block - u64::from(!any);
                (applications, steps) = (applications + threads * folded, steps + folded);
                barriers += 1;
            }
        }
        (max_steps, max_barriers) = (steps.max(max_steps), barriers.max(max_barriers));
    }
    (applications, max_steps, max_barriers)
}

#[test]
fn cost_of_a_cluster_is_the_sum_over_iterations() {
    for spec in specs() {
        for (run, blocks) in [(3, 8), (4, 8), (3, 3), (3, 1)] {
            let shape = Overrides { threads: Some(64), run: Some(run), blocks: Some(blocks), ..Overrides::default() };
            let plan = planned(Carry::Cluster, &spec, 4, shape);
            let tile = u64::from(plan.tile);
            for tiles in 1..40 {
                for rest in [1, tile / 2, tile] {
                    let len = (tiles - 1) * tile + rest;
                    let cost = plan.cost(len).unwrap();
                    let Some(cost) = cost.launches.iter().find(|launch| launch.kernel == KernelRole::ScanCluster)
                    else {
                        continue;
                    };
                    let (applications, steps, barriers) = cluster(&plan, len);
                    let found = (cost.applications, cost.steps, cost.barriers);
                    assert_eq!(found, (applications.into(), steps.into(), barriers), "{tiles} {rest} {plan}");
                }
            }
        }
    }
}

/// The applications of the look-ahead and group warps of all blocks; the maximum of a lane; the statuses that are
/// read.
fn serving(plan: &Plan, tiles: u64, blocks: u64) -> (u64, u64, u64) {
    let pipeline = plan.pipeline.unwrap_or_default();
    let initial = plan.seeds();
    let (mut applications, mut steps, mut read) = (0, 0, 0);
    for block in 0..blocks {
        let rounds = (tiles - 1 - block) / blocks + 1;
        let mut any = initial;
        if pipeline.group <= 1 {
            let statuses_per_lane = u64::from(pipeline.statuses_per_lane);
            let mut lanes = [0; WARP as usize];
            let mut folded = 0;
            for round in 0..rounds {
                let number = block + round * blocks;
                while folded < number {
                    let count = (number - folded).min(WARP * statuses_per_lane);
                    for (lane, applied) in (0..).zip(&mut lanes) {
                        let own = count.saturating_sub(lane * statuses_per_lane);
                        *applied += own.min(statuses_per_lane).saturating_sub(1);
                        *applied += plan.warp_scan_steps(lane, count.div_ceil(statuses_per_lane)) + u64::from(any);
                    }
                    any = true;
                    folded += count;
                }
            }
            if plan.spec.total && (tiles - 1) % blocks == block {
                lanes[0] += u64::from(any);
                read += 1;
            }
            read += folded;
            applications += lanes.iter().sum::<u64>();
            steps = lanes.into_iter().max().unwrap_or(0).max(steps);
            continue;
        }
        let size = u64::from(pipeline.group);
        let (groups, group, place) = (blocks.div_ceil(size), block / size, block % size);
        let tells = place == size - 1 || block == blocks - 1;
        let of_tiles = place + u64::from(tells);
        let (mut gathering, mut folding) = ([[0; WARP as usize]; 2], 0);
        for round in 0..rounds {
            let of_groups = if round == 0 { group } else { groups };
            for (lanes, count) in gathering.iter_mut().zip([of_tiles, of_groups]) {
                (0..).zip(lanes).for_each(|(lane, applied)| *applied += plan.warp_scan_steps(lane, count));
                read += count;
            }
            folding += u64::from(any && of_groups > 0);
            any |= of_groups > 0;
            folding += u64::from(any && place > 0);
        }
        if plan.spec.total && (tiles - 1) % blocks == block {
            folding += u64::from(any || place > 0);
            read += 1;
        }
        let gathering = gathering.into_iter().flatten();
        applications += gathering.clone().sum::<u64>() + folding;
        steps = gathering.max().unwrap_or(0).max(folding).max(steps);
    }
    (applications, steps, read)
}

#[test]
fn cost_of_look_ahead_is_the_sum_over_iterations() {
    for spec in specs() {
        for (blocks, group, statuses_per_lane) in
            [(1, 1, 1), (2, 1, 1), (50, 1, 1), (50, 1, 2), (100, 1, 5), (7, 3, 1), (40, 6, 1)]
        {
            let [blocks, group, statuses_per_lane] = [blocks, group, statuses_per_lane].map(Some);
            let plan = planned(
                Carry::LookAhead,
                &spec,
                4,
                Overrides { blocks, group, statuses_per_lane, ..Overrides::default() },
            );
            for tiles in (1..60).chain([99, 100, 101, 150, 200, 201, 399, 1_000]) {
                let launch = plan.schedule(tiles * u64::from(plan.tile)).unwrap().launches[0].clone();
                let blocks = u64::from(launch.blocks);
                let (applications, steps, read) = serving(&plan, tiles, blocks);
                let mut found = (0, 0, 0);
                for block in 0..blocks {
                    for warp in plan.serving_cost(block, blocks, tiles) {
                        let lanes = warp.lanes;
                        found.0 += lanes.iter().sum::<u64>();
                        found.1 = lanes.into_iter().max().unwrap_or(0).max(found.1);
                        found.2 += warp.read;
                    }
                }
                assert_eq!(found, (applications, steps, read), "{tiles} tiles, {plan}");
            }
        }
    }
}

/// The longest input that each plan is for: loops over tiles would not end.
#[test]
fn the_cost_of_the_longest_input_takes_no_loop_over_tiles() {
    let limits = DeviceLimits::of(Architecture { major: 9, minor: 0 });
    let check = |plan: &Plan| {
        for len in [plan.max_len, 1 << 26, (1 << 36) - 5] {
            let cost = plan.cost(len.min(plan.max_len)).unwrap();
            assert!(cost.applications().max >= len.min(plan.max_len) - 1, "{len} elements: {cost:?}");
        }
    };
    let check_all = |plans: Plans| plans.iter().for_each(check);
    check_all(plan(&operator_of(4), &ScanSpec::inclusive(), &limits, &Overrides::default()).unwrap());
    let carries = [Carry::OneBlock, Carry::Cluster, Carry::LookBack, Carry::LookAtAll];
    for spec in specs() {
        for carry in carries {
            check(&planned(carry, &spec, 4, Overrides::default()));
        }
        for group in [1, 11] {
            check(&planned(Carry::LookAhead, &spec, 64, Overrides { group: Some(group), ..Overrides::default() }));
        }
        for carry in [Carry::OneBlock, Carry::ReduceThenScan, Carry::LookBack, Carry::Chained(TileNumbers::Counter)] {
            let strategy = Strategy { block: BlockScan::coarsened(Network::Naive), carry };
            let overrides = Overrides { strategy: Some(strategy), ..Overrides::default() };
            check_all(plan(&operator_of(4), &spec, &limits, &overrides).unwrap());
        }
    }
}

/// Every figure of a network saturates at 64 bits.
#[test]
fn formulas_do_not_overflow_at_any_length() {
    let trees =
        [Network::BrentKung { workers: crate::Workers::Contiguous, padded: false }, Network::Blelloch { padded: true }];
    let networks =
        [Network::Sequential, Network::Naive, Network::KoggeStone, Network::HillisSteele, Network::WarpShuffle];
    for network in networks.into_iter().chain(trees) {
        for n in [0, 1, 2, 1 << 32, 1 << 63, (1 << 63) + 1, u64::MAX] {
            for run in [0, 1, 3, u64::MAX] {
                let cost = BlockScan::coarsened(network).cost(n, run, true);
                assert!(cost.applications >= n.saturating_sub(1), "{network} {n} {run}: {cost:?}");
            }
        }
    }
    assert_eq!(Network::Naive.cost(1 << 33, true).applications, u64::MAX);
    assert_eq!(tree_bank_cycles(u64::MAX, 0, u64::MAX).without_conflicts, (1 << 59) + 3);
}
