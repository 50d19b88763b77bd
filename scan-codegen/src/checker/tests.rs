//! Plans of all kinds are sound; each planted fault is found by its rule.

use super::*;
use crate::{
    Architecture, Arrays, BlockScan, Carry, ElementType, Network, OffsetWidth, Overrides, Primitive, Reduction,
    ScanSpec, Segments, Strategy, TileNumbers, WarpNetwork, Workers,
    operator::{CarrySource, operator_of},
    plan,
    plan::BlockSizes,
    plan_columns, plan_last_results, plan_range_reduction, plan_reduction,
};

fn sound(operator: &OpSource, spec: &ScanSpec, limits: &DeviceLimits, overrides: &Overrides) -> usize {
    let Ok(plans) = plan(operator, spec, limits, overrides) else { return 0 };
    for plan in plans.iter() {
        assert_eq!(plan.violations(operator, limits), [], "{:?}\n{plan}\n{plan:?}", operator.state.size);
    }
    plans.iter().count()
}

fn sources_of_heads() -> Vec<Segments> {
    let key = ElementType::primitive(Primitive::U16);
    let offsets = [OffsetWidth::U32, OffsetWidth::U64].map(Segments::Offsets);
    [Segments::None, Segments::HeadFlags, Segments::HeadBits, Segments::Keys(key), Segments::Rows]
        .into_iter()
        .chain(offsets)
        .collect()
}

/// Elements, states and results of these bytes.
fn operators() -> Vec<OpSource> {
    let sizes =
        [(1, 1), (1, 8), (2, 40), (3, 3), (4, 4), (4, 16), (8, 8), (8, 72), (12, 12), (24, 24), (36, 36), (64, 64)];
    let sizes = sizes.into_iter().chain([(65, 65), (100, 100), (256, 256)]);
    let of = |(element, state): (usize, usize)| {
        let identity = Some(vec![0; state]);
        OpSource { state: operator_of(state).state, identity, ..operator_of(element) }
    };
    let wide = OpSource { output: operator_of(16).output, ..of((4, 4)) };
    let stepped = OpSource { carry: Some(CarrySource { ty: operator_of(2).state, start: None }), ..of((1, 4)) };
    sizes.map(of).chain([wide, stepped]).collect()
}

fn devices() -> [DeviceLimits; 4] {
    let of = |major, minor| DeviceLimits::of(Architecture { major, minor });
    [of(9, 0), of(7, 5), of(12, 0), DeviceLimits { multiprocessors: 3, ..of(9, 0) }]
}

#[test]
fn default_plans_of_all_operators_on_all_devices_are_sound() {
    let mut count = 0;
    for operator in operators() {
        for segments in sources_of_heads() {
            for (index, limits) in devices().iter().enumerate() {
                let spec = if index % 2 == 0 { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
                let spec = spec.with_initial_value().with_segments(segments.clone());
                count += sound(&operator, &spec, limits, &Overrides::default());
                count += sound(&operator, &spec.with_total(), limits, &Overrides::default().deterministic());
            }
        }
    }
    assert!(count > 2000, "{count}");
}

#[test]
fn plans_of_all_strategies_are_sound() {
    let trees = [
        Network::BrentKung { workers: Workers::Scattered, padded: true },
        Network::BrentKung { workers: Workers::Contiguous, padded: false },
        Network::Blelloch { padded: true },
        Network::Blelloch { padded: false },
    ];
    let others =
        [Network::Sequential, Network::Naive, Network::KoggeStone, Network::HillisSteele, Network::WarpShuffle];
    let networks = trees.into_iter().chain(others);
    let blocks = networks.flat_map(|network| [BlockScan::of(network), BlockScan::coarsened(network)]);
    let carries = [
        Carry::OneBlock,
        Carry::ReduceThenScan,
        Carry::Chained(TileNumbers::Counter),
        Carry::Chained(TileNumbers::BlockIndex),
        Carry::LookBack,
        Carry::LookAtAll,
        Carry::Cluster,
        Carry::LookAhead,
    ];
    let heads = sources_of_heads();
    let (mut count, mut asked) = (0, 0);
    let over_warps = WarpNetwork::ALL.into_iter().flat_map(|warp| {
        let blocks = [BlockScan::in_registers(), BlockScan::coarsened(Network::WarpShuffle)];
        blocks.map(|block| block.over_warps(warp))
    });
    for block in blocks.chain(over_warps) {
        for (carry, operator) in carries.iter().flat_map(|carry| operators().into_iter().map(move |op| (*carry, op))) {
            let overrides = Overrides::default().strategy(Strategy { block, carry });
            let overrides = if asked % 3 == 2 { overrides.threads(64) } else { overrides };
            let spec = ScanSpec::inclusive().with_initial_value().with_segments(heads[asked % 7].clone());
            count += sound(&operator, &spec, &DeviceLimits::H200, &overrides);
            asked += 1;
        }
    }
    assert!(count > 1000, "{count}");
}

#[test]
fn plans_of_all_shapes_of_look_ahead_are_sound() {
    let strategy = Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead };
    let shapes = [(32, 1, 5), (32, 7, 4), (96, 3, 12), (64, 2, 8), (256, 2, 7), (512, 1, 1)];
    let heads = sources_of_heads();
    let (mut count, mut asked) = (0, 0);
    for (operator, (threads, teams, run)) in
        operators().iter().flat_map(|operator| shapes.map(|shape| (operator, shape)))
    {
        for more in 0..4 {
            let mut overrides = Overrides::default().strategy(strategy).threads(threads).teams(teams).run(run);
            overrides.stages = (more > 0).then_some(2 * teams + more);
            overrides.group = [None, Some(1), Some(5), Some(32)][more as usize];
            overrides.look_ahead_warps = Some(more + 1);
            overrides.statuses_per_lane = Some(more);
            overrides.keeps_states = Some(more == 2);
            overrides.blocks = [None, Some(7)][more as usize % 2];
            let spec = ScanSpec::exclusive().with_initial_value();
            count += sound(operator, &spec, &DeviceLimits::H200, &overrides);
            count += sound(operator, &spec.with_segments(heads[asked % 7].clone()), &DeviceLimits::H200, &overrides);
            asked += 1;
        }
    }
    assert!(count > 300, "{count}");
}

/// What the checker knows of shared memory is all that the plans ask for, but for alignment and what only some kernels
/// have.
#[test]
fn the_declared_shared_memory_is_nearly_what_plans_say() {
    for operator in operators() {
        for (segments, limits) in
            sources_of_heads().into_iter().flat_map(|heads| devices().map(|limits| (heads.clone(), limits)))
        {
            let spec = ScanSpec::inclusive().with_initial_value().with_segments(segments);
            for plan in plan(&operator, &spec, &limits, &Overrides::default()).unwrap().iter() {
                let slack = shared_memory::slack(Checked { operator: &operator, plan, limits: &limits });
                // Look-ahead has room for a barrier of each stage that only some kernels have.
                let barriers = plan.pipeline.map_or(0, |pipeline| 8 * i64::from(pipeline.stages));
                let max = 128 + 64 + barriers + 2 * plan.state_bytes as i64;
                assert!((0..=max).contains(&slack), "{slack} bytes: {plan}");
            }
        }
    }
}

#[test]
fn plans_of_columns_are_sound() {
    let spec = ScanSpec::inclusive();
    for (operator, limits) in
        operators().into_iter().flat_map(|operator| devices().map(|limits| (operator.clone(), limits)))
    {
        let spec = if operator.carry.is_some() { spec.clone().with_initial_value() } else { spec.clone() };
        let by_field = Arrays::PerField;
        for spec in [spec.clone(), spec.clone().with_totals(), spec.with_arrays(by_field, by_field)] {
            for overrides in
                [Overrides::default(), Overrides::default().threads(64).run(3), Overrides::default().blocks(2)]
            {
                let Ok(plan) = plan_columns(&operator, &spec, &limits, &overrides) else { continue };
                for plan in plan.all() {
                    assert_eq!(plan.violations(&operator), [], "{plan}");
                }
            }
        }
    }
}

#[test]
fn plans_of_reductions_and_of_last_results_are_sound() {
    for limits in devices() {
        for operator in operators() {
            for reduction in [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened] {
                let plan = plan_reduction(&operator, true, &limits, reduction).unwrap();
                assert_eq!(plan.violations(&operator), [], "{plan}");
            }
            let spec = ScanSpec::inclusive().with_initial_value();
            let plan = plan_range_reduction(&operator, &spec, OffsetWidth::U64, &limits).unwrap();
            assert_eq!(plan.violations(&operator), [], "{plan}");
        }
        for segments in sources_of_heads() {
            let spec = ScanSpec::inclusive().with_segments(segments).with_initial_values();
            let plan = plan_last_results(&operator_of(4), &spec, &limits).unwrap();
            assert_eq!(plan.violations(), [], "{plan}");
        }
    }
}

/// The rules that find a fault in the plan for many elements of four bytes.
fn found(overrides: Overrides, spec: &ScanSpec, fault: &dyn Fn(&mut Plan)) -> Vec<Rule> {
    let (operator, limits) = (operator_of(4), DeviceLimits::H200);
    let mut planned = plan(&operator, spec, &limits, &overrides).unwrap().longest().clone();
    assert_eq!(planned.violations(&operator, &limits), []);
    fault(&mut planned);
    let mut rules: Vec<_> =
        planned.violations(&operator, &limits).into_iter().map(|violation| violation.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// Faults that are not found by the rules named, or by more.
fn wrong<'a>(faults: impl IntoIterator<Item = (&'a str, Vec<Rule>, Vec<Rule>)>) -> Vec<String> {
    let wrong = faults.into_iter().filter(|(_, found, expected)| found != expected);
    wrong.map(|(fault, found, expected)| format!("{fault}: {found:?}, not {expected:?}")).collect()
}

#[test]
fn faults_of_the_pipeline_are_found() {
    use Rule::*;
    let (plain, flags) = (ScanSpec::inclusive(), ScanSpec::inclusive().with_segments(Segments::HeadFlags));
    let offsets = ScanSpec::inclusive().with_segments(Segments::Offsets(OffsetWidth::U32));
    let of = |spec: &ScanSpec, fault: fn(&mut crate::Pipeline)| {
        found(Overrides::default(), spec, &|plan| plan.pipeline.iter_mut().for_each(fault))
    };
    assert_eq!(
        wrong([
            ("two stages a team", of(&plain, |p| p.stages = 2 * p.teams), vec![SharedMemory, Stages]),
            ("a stage a team", of(&plain, |p| p.stages = p.teams + 1), vec![SharedMemory, Deadlock, Stages]),
            ("a warp less", of(&plain, |p| p.other_threads -= 32), vec![Threads]),
            ("too many warps", of(&plain, |p| p.other_threads += 4096), vec![Threads, Registers]),
            ("less dynamic memory", of(&plain, |p| p.dynamic_shared_bytes -= 16), vec![SharedMemory]),
            ("too much dynamic memory", of(&plain, |p| p.dynamic_shared_bytes += 1 << 20), vec![SharedMemory]),
            ("a shorter window", of(&plain, |p| p.window -= 1), vec![Lanes]),
            ("a block more than multiprocessors", of(&plain, |p| p.blocks = 133), vec![Residency]),
            ("parts that do not divide the run", of(&plain, |p| p.run_parts = 5), vec![Runs, Units]),
            ("less room for flags", of(&flags, |p| p.head_bytes -= 8), vec![SharedMemory, Alignment]),
            ("shorter slots", of(&offsets, |p| p.slot_bytes -= 8), vec![SharedMemory, Alignment]),
            ("slots ahead of stages", of(&offsets, |p| p.slots = 16), vec![SharedMemory, Phases, Overwriting]),
            (
                "more look-ahead warps than stages",
                of(&plain, |p| p.look_ahead_warps = 11),
                vec![Threads, SharedMemory, Phases]
            ),
            ("a group without warps", of(&plain, |p| p.group = 33), vec![Threads, Lanes, SharedMemory]),
        ]),
        Vec::<String>::new()
    );
}

#[test]
fn faults_of_a_tile_per_block_are_found() {
    use Rule::*;
    let with = |carry| Overrides::default().strategy(Strategy { block: BlockScan::in_registers(), carry });
    let (plain, look_back) = (ScanSpec::inclusive(), with(Carry::LookBack));
    let flags = plain.clone().with_segments(Segments::HeadFlags);
    let chained = with(Carry::Chained(TileNumbers::BlockIndex));
    let of = |overrides, spec: &ScanSpec, fault: fn(&mut Plan)| found(overrides, spec, &fault);
    let runs_of_seven = |plan: &mut Plan| (plan.run, plan.tile, plan.max_len) = (7, 7 * 256, 7 * 256);
    let by_index = |plan: &mut Plan| plan.strategy.carry = Carry::Chained(TileNumbers::BlockIndex);
    assert_eq!(
        wrong([
            ("three warps", of(look_back, &plain, |plan| plan.threads = 96), vec![Threads, Runs]),
            (
                "a larger text",
                of(look_back, &plain, |plan| plan.block_sizes = BlockSizes::of(512)),
                vec![Threads, SharedMemory]
            ),
            ("less memory than declared", of(look_back, &plain, |plan| plan.shared_bytes /= 2), vec![SharedMemory]),
            ("more than declarable", of(look_back, &plain, |plan| plan.shared_bytes = 49 << 10), vec![SharedMemory]),
            ("units of 32 bytes", of(look_back, &plain, |plan| plan.input_unit = 32), vec![Units]),
            ("units that do not divide", of(look_back, &plain, runs_of_seven), vec![Units]),
            ("whole runs with heads", of(look_back, &flags, |plan| plan.whole_runs = true), vec![Runs]),
            ("any length", of(look_back, &plain, |plan| plan.max_len = u64::MAX), vec![Widths, Launches]),
            ("a grid too large", of(look_back, &plain, |plan| plan.max_len *= 2), vec![Launches]),
            ("no statuses", of(look_back, &plain, |plan| plan.statuses_per_lane = 0), vec![Lanes]),
            ("a tile that is not resident", of(chained, &plain, |plan| plan.max_len += 1), vec![Residency]),
            ("tiles by block index", of(look_back, &plain, by_index), vec![Residency]),
            ("a large cluster", of(with(Carry::Cluster), &plain, |plan| plan.cluster = 64), vec![Lanes, SharedMemory]),
        ]),
        Vec::<String>::new()
    );
}

/// Padding that the plan leaves out.
#[test]
fn a_padded_network_without_its_slots_is_found() {
    let padded = BlockScan::of(Network::Blelloch { padded: true });
    let operator = OpSource { identity: Some(vec![0; 4]), ..operator_of(4) };
    let overrides = Overrides::default().strategy(Strategy { block: padded, carry: Carry::OneBlock });
    let plans = plan(&operator, &ScanSpec::inclusive(), &DeviceLimits::H200, &overrides).unwrap();
    let mut plan = plans.longest().clone();
    plan.network_slots *= 2;
    let found = plan.violations(&operator, &DeviceLimits::H200).remove(0).to_string();
    assert!(found.starts_with("SharedMemory: the kernel declares "), "{found}");
    assert!(found.contains("bytes (values 16896, "), "{found}");
}

/// A plan for one device on another.
#[test]
fn a_plan_for_a_larger_device_is_found() {
    let (operator, spec) = (operator_of(4), ScanSpec::inclusive());
    let plans = plan(&operator, &spec, &DeviceLimits::H200, &Overrides::default()).unwrap();
    let on = |limits: DeviceLimits| {
        let found = plans.longest().violations(&operator, &limits);
        found.into_iter().map(|violation| violation.rule).collect::<Vec<_>>()
    };
    assert!(on(DeviceLimits::BASELINE).contains(&Rule::SharedMemory));
    assert!(on(DeviceLimits { threads_per_block: 512, ..DeviceLimits::H200 }).contains(&Rule::Threads));
    assert!(on(DeviceLimits { multiprocessors: 131, ..DeviceLimits::H200 }).contains(&Rule::Residency));
    let older = DeviceLimits { architecture: Architecture { major: 8, minor: 9 }, ..DeviceLimits::H200 };
    assert!(on(older).contains(&Rule::Residency));
}

#[test]
fn faults_of_other_plans_are_found() {
    let (operator, spec, limits) = (operator_of(4), ScanSpec::inclusive(), DeviceLimits::H200);
    let columns = plan_columns(&operator, &spec, &limits, &Overrides::default()).unwrap();
    let of_columns = |fault: fn(&mut crate::ColumnsPlan)| {
        let mut plan = columns.clone();
        fault(&mut plan);
        let rules: Vec<_> = plan.violations(&operator).into_iter().map(|violation| violation.rule).collect();
        rules
    };
    assert!(of_columns(|plan| plan.resident = 8).contains(&Rule::Registers));
    assert!(of_columns(|plan| plan.resident = 5).contains(&Rule::Residency));
    assert!(of_columns(|plan| plan.blocks = 4096).contains(&Rule::Residency));
    assert!(of_columns(|plan| plan.width = 3).contains(&Rule::Units));
    assert!(of_columns(|plan| plan.run = 1000).contains(&Rule::SharedMemory));
    assert!(of_columns(|plan| plan.threads = 100).contains(&Rule::Threads));
    assert!(of_columns(|plan| plan.across = 3..=3).contains(&Rule::Threads));
    let reduction = plan_reduction(&operator, false, &limits, Reduction::Contiguous).unwrap();
    let mut larger = reduction.clone();
    larger.tile *= 8;
    let rules: Vec<_> = larger.violations(&operator).into_iter().map(|violation| violation.rule).collect();
    assert_eq!(rules[..2], [Rule::Runs, Rule::SharedMemory]);
    let by_flags = ScanSpec::inclusive().with_segments(Segments::HeadFlags);
    let mut last = plan_last_results(&operator_of(4), &by_flags, &limits).unwrap();
    last.threads = 100;
    assert_eq!(last.violations()[0].rule, Rule::Threads);
    let spec = ScanSpec::inclusive();
    let mut ranges = plan_range_reduction(&operator, &spec, OffsetWidth::U32, &limits).unwrap();
    ranges.block.threads = 16;
    let rules: Vec<_> = ranges.violations(&operator).into_iter().map(|violation| violation.rule).collect();
    assert_eq!(rules, [Rule::Runs, Rule::Threads]);
}
