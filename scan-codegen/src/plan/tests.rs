//! What the planners refuse, and which plans they make.

use super::*;
use crate::{
    WarpNetwork,
    carry::TileNumbers,
    columns::plan_columns,
    constants::MAX_PARAMETER_BYTES,
    element::{ElementType, Primitive},
    operator::{CarrySource, FunctionSource, operator_of},
    reduce::{Reduction, plan_reduction},
    spec::ScanSpec,
    strategy::Network,
};

const KOGGE_STONE: Strategy = Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::ReduceThenScan };

fn kogge_stone(bytes: usize, threads: u32) -> Result<Plans, PlanError> {
    let overrides = Overrides { strategy: Some(KOGGE_STONE), threads: Some(threads), ..Overrides::default() };
    plan(&operator_of(bytes), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &overrides)
}

#[test]
fn a_large_element_gets_fewer_threads() {
    let threads = |bytes| {
        let overrides = Overrides { strategy: Some(KOGGE_STONE), ..Overrides::default() };
        plan(&operator_of(bytes), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &overrides).unwrap().shortest.threads
    };
    assert_eq!((threads(4), threads(47), threads(48), threads(256)), (1024, 1024, 512, 128));
}

#[test]
fn impossible_plans_are_refused_with_the_reason() {
    assert!(matches!(kogge_stone(0, 32), Err(PlanError::ZeroSized { .. })));
    assert!(matches!(kogge_stone(257, 32), Err(PlanError::TooLarge { size: 257, .. })));
    let large = ElementType::array(operator_of(1).state, MAX_PARAMETER_BYTES + 1);
    let parameters = Some(ElementType::structure("Op".to_owned(), [("list".to_owned(), large)]));
    let (spec, overrides) = (ScanSpec::inclusive(), Overrides::default());
    let refused = plan(&OpSource { parameters, ..operator_of(4) }, &spec, &DeviceLimits::BASELINE, &overrides);
    assert!(matches!(refused, Err(PlanError::ParametersTooLarge { size: 3073, .. })));
    assert!(matches!(kogge_stone(4, 48), Err(PlanError::Threads { threads: 48, min: 32, max: 1024 })));
    let exclusive = plan(&operator_of(4), &ScanSpec::exclusive(), &DeviceLimits::BASELINE, &Overrides::default());
    assert!(matches!(exclusive, Err(PlanError::NoIdentity { .. })));
    let too_long = kogge_stone(4, 32).unwrap().shortest.schedule(u64::MAX);
    assert!(matches!(too_long, Err(PlanError::TooLong { .. })));
}

#[test]
fn limits_that_allow_no_kernel_are_refused_with_what_to_set() {
    let refused = |limits: DeviceLimits| {
        let plan = plan(&operator_of(4), &ScanSpec::inclusive(), &limits, &Overrides::default());
        let reduction = crate::plan_reduction(&operator_of(4), false, &limits, crate::Reduction::default());
        assert_eq!(plan.clone().err(), reduction.err());
        plan.map(|plans| plans.to_string()).unwrap_err().to_string()
    };
    let none = DeviceLimits { multiprocessors: 0, ..DeviceLimits::BASELINE };
    assert_eq!(
        refused(none),
        "no kernel runs on a device with 0 multiprocessors: set `DeviceLimits::multiprocessors` to at least 1"
    );
    let few = DeviceLimits { threads_per_block: 31, ..DeviceLimits::BASELINE };
    assert!(refused(few).ends_with("set `DeviceLimits::threads_per_block` to at least 32"));
    assert!(refused(DeviceLimits { blocks_per_grid: 0, ..DeviceLimits::BASELINE }).contains("blocks_per_grid"));
    let small = DeviceLimits { shared_bytes_per_block: 15, ..DeviceLimits::BASELINE };
    assert!(refused_for_room(&small) && !refused_for_room(&DeviceLimits::BASELINE));
}

fn refused_for_room(limits: &DeviceLimits) -> bool {
    let plan = plan(&operator_of(4), &ScanSpec::inclusive(), limits, &Overrides::default());
    let reduction = crate::plan_reduction(&operator_of(4), false, limits, crate::Reduction::default());
    matches!((plan, reduction), (Err(PlanError::Run { .. }), Err(PlanError::Run { .. })))
}

#[test]
fn limits_beyond_what_kernels_use_change_no_plan() {
    let all = DeviceLimits {
        architecture: Architecture { major: 9, minor: 0 },
        multiprocessors: u32::MAX,
        threads_per_block: u32::MAX,
        shared_bytes_per_block: u32::MAX,
        shared_bytes_per_block_optin: u32::MAX,
        blocks_per_grid: u64::MAX,
    };
    let usable = all.usable().unwrap();
    assert_eq!((usable.threads_per_block, usable.blocks_per_grid), (1024, (1 << 31) - 1));
    for bytes in [1, 4, 65, 256] {
        let of = |limits| plan(&operator_of(bytes), &ScanSpec::inclusive(), limits, &Overrides::default());
        let (plans, usable) = (of(&all).unwrap(), of(&usable).unwrap());
        assert!(plans.iter().eq(usable.iter()), "{plans}");
        assert!(plans.iter().all(|plan| plan.threads <= 1024 && plan.schedule(plan.max_len).is_ok()), "{plans}");
    }
}

#[test]
fn chained_blocks_that_must_all_be_resident_fit_a_small_grid() {
    let mut limits = DeviceLimits::new(Architecture { major: 7, minor: 5 }, 1024);
    limits.blocks_per_grid = 8;
    let strategy =
        Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::Chained(TileNumbers::BlockIndex) };
    let overrides = Overrides { strategy: Some(strategy), ..Overrides::default() };
    let plans = plan(&operator_of(4), &ScanSpec::inclusive(), &limits, &overrides).unwrap();
    let longest = plans.longest();
    assert_eq!(longest.max_len, 8 * u64::from(longest.tile));
}

#[test]
fn a_small_grid_leaves_longer_inputs_to_larger_tiles() {
    for blocks_per_grid in [1, 7, 100, 5_000] {
        let of = DeviceLimits::of(Architecture { major: 9, minor: 0 });
        let limits = DeviceLimits { blocks_per_grid, ..of };
        for bytes in [1, 4, 65] {
            let spec = ScanSpec::inclusive();
            let plans = plan(&operator_of(bytes), &spec, &limits, &Overrides::default()).unwrap();
            let longest = plans.longest().max_len;
            for len in (0..40).map(|log| 1 << log).chain(plans.iter().flat_map(|plan| [plan.from, plan.max_len])) {
                let scheduled = plans.for_len(len).schedule(len).is_ok();
                assert_eq!(scheduled, len <= longest, "{bytes} bytes, {len} elements: {plans}");
            }
        }
    }
}

/// The kernels of 1, 4, 31 and 256 bytes by every carry, with shapes that nothing has.
#[test]
fn impossible_shapes_are_refused_without_overflow() {
    let odd = [0, 1, 31, 33, 1025, 1 << 16, u32::MAX - 1, u32::MAX];
    let default = Overrides::default();
    let shapes = odd.iter().flat_map(|&value| {
        let value = Some(value);
        [
            Overrides { threads: value, ..default },
            Overrides { run: value, ..default },
            Overrides { teams: value, ..default },
            Overrides { stages: value, ..default },
            Overrides { threads: value, run: value, teams: value, ..default },
            Overrides { blocks: value, statuses_per_lane: value, group: value, inlined: value, ..default },
        ]
    });
    let shapes: Vec<Overrides> = shapes.collect();
    let carries = [Carry::OneBlock, Carry::LookBack, Carry::LookAtAll, Carry::Cluster, Carry::LookAhead];
    for (carry, bytes) in carries.iter().flat_map(|carry| [1, 4, 31, 256].map(|bytes| (*carry, bytes))) {
        let block = match (carry, bytes) {
            (Carry::LookAhead, _) | (_, 256) => BlockScan::coarsened(Network::WarpShuffle),
            _ => BlockScan::in_registers(),
        };
        for shape in &shapes {
            let overrides = Overrides { strategy: Some(Strategy { block, carry }), ..*shape };
            let limits = DeviceLimits::of(Architecture { major: 9, minor: 0 });
            match plan(&operator_of(bytes), &ScanSpec::inclusive(), &limits, &overrides) {
                Ok(plans) => assert!(plans.longest().schedule(1 << 20).is_ok(), "{shape:?}"),
                Err(error) => assert!(error.to_string().contains(": "), "{shape:?}: {error}"),
            }
        }
    }
    let teams = Overrides { teams: Some(0), ..default };
    let refused = plan(&operator_of(4), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &teams);
    assert_eq!(refused.unwrap_err().to_string(), "`teams` of 0 is not supported: use 1 to 32");
}

#[test]
fn deterministic_plans_exclude_look_back() {
    let old = DeviceLimits::BASELINE;
    let new = DeviceLimits {
        shared_bytes_per_block_optin: 227 * 1024,
        ..DeviceLimits::of(crate::Architecture { major: 9, minor: 0 })
    };
    let of = |operator: &OpSource, limits: &DeviceLimits, deterministic| {
        let overrides = Overrides { deterministic, ..Overrides::default() };
        plan(operator, &ScanSpec::inclusive(), limits, &overrides).unwrap()
    };
    let plans = |bytes, limits: &DeviceLimits, deterministic| of(&operator_of(bytes), limits, deterministic);
    for bytes in [1, 2, 3, 4, 8, 12, 16, 36, 64, 65, 100, 256] {
        for state in [bytes, 8, 24, 40, 72, 256] {
            let operator = OpSource { state: operator_of(state).state, ..operator_of(bytes) };
            let default = of(&operator, &new, false);
            assert!(default.is_deterministic(), "{bytes}, {state}: {default}");
            assert_eq!(of(&operator, &new, true), default, "{bytes}, {state}");
            assert!(default.iter().is_sorted_by(|a, b| a.from < b.from), "{bytes}, {state}: {default}");
        }
    }
    for bytes in [4, 64, 65, 256] {
        let default = plans(bytes, &old, false);
        assert!(!default.is_deterministic(), "{bytes}: {default}");
        let strict = plans(bytes, &old, true);
        assert!(strict.is_deterministic(), "{bytes}: {strict}");
        assert_eq!(strict.longest().from, default.longest().from, "{bytes}");
        assert_eq!(strict.shortest(), default.shortest(), "{bytes}");
    }
    let strategy = Strategy { block: BlockScan::in_registers(), carry: Carry::LookBack };
    let overrides = Overrides { strategy: Some(strategy), deterministic: true, ..Overrides::default() };
    let refused = plan(&operator_of(4), &ScanSpec::inclusive(), &old, &overrides);
    assert!(matches!(refused, Err(PlanError::Strategy { .. })));
    let overrides = Overrides { threads: Some(64), deterministic: true, ..Overrides::default() };
    let shaped = plan(&operator_of(4), &ScanSpec::inclusive(), &old, &overrides).unwrap();
    assert_eq!((shaped.is_deterministic(), shaped.longest().threads), (true, 64));
}

#[test]
fn a_shape_without_an_algorithm_stays_in_the_family_of_the_default() {
    let overrides = Overrides { threads: Some(64), ..Overrides::default() };
    let strategy = |bytes| {
        let plans = plan(&operator_of(bytes), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &overrides).unwrap();
        plans.longest().strategy
    };
    assert_eq!(strategy(4), Strategy { block: BlockScan::in_registers(), carry: Carry::LookBack });
    let shared = BlockScan::coarsened(Network::WarpShuffle);
    assert_eq!(strategy(65), Strategy { block: shared, carry: Carry::LookBack });
}

#[test]
fn a_large_element_gets_shorter_runs() {
    let run = |bytes, network| {
        let strategy = Strategy { block: BlockScan::coarsened(network), carry: Carry::LookBack };
        let overrides = Overrides { strategy: Some(strategy), ..Overrides::default() };
        let plan = plan(&operator_of(bytes), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &overrides).unwrap();
        (plan.shortest.run, plan.shortest.threads)
    };
    assert_eq!(run(4, Network::WarpShuffle), (9, 256));
    assert_eq!(run(1, Network::WarpShuffle), (15, 256));
    assert_eq!(run(256, Network::WarpShuffle), (3, 32));
    assert_eq!(run(256, Network::HillisSteele), (1, 32));
}

#[test]
fn plans_name_their_device() {
    for limits in [DeviceLimits::H200, DeviceLimits::of(Architecture { major: 8, minor: 6 })] {
        let spec = ScanSpec::inclusive();
        let chosen = Overrides { threads: Some(64), ..Overrides::default() };
        for overrides in [Overrides::default(), chosen] {
            let plans = plan(&operator_of(4), &spec, &limits, &overrides).unwrap();
            assert_eq!(plans.device(), &limits);
            assert_eq!(plans.to_string().lines().next(), Some(&*format!("inclusive scan, for {limits}")));
        }
    }
    let words = DeviceLimits::H200.to_string();
    assert_eq!(words, "sm_90, 132 multiprocessors, 227 KiB of shared memory for a block");
}

#[test]
fn a_plan_names_stepped_operators() {
    let words = |carry| {
        let operator = OpSource { carry, ..operator_of(4) };
        plan(&operator, &ScanSpec::inclusive(), &DeviceLimits::H200, &Overrides::default()).unwrap().to_string()
    };
    let stepped = CarrySource { ty: operator_of(4).state, start: Some(vec![0; 4]) };
    assert!(words(Some(stepped)).contains("a stepped operator"));
    assert!(!words(None).contains("a stepped operator"));
}

#[test]
fn a_plan_shows_what_the_weight_decided() {
    let words = |functions: &[(&str, u64)]| {
        let function = |&(name, additions): &(&str, u64)| FunctionSource {
            name: name.to_owned(),
            parameters: Vec::new(),
            returns: ElementType::primitive(Primitive::U32),
            body: Vec::new(),
            file: String::new(),
            uses: vec![("add", additions)],
            calls: Vec::new(),
            cold: false,
        };
        let [input, state, output] = [0; 3].map(|_| ElementType::primitive(Primitive::U32));
        let functions = functions.iter().map(function).collect();
        let operator = OpSource { functions, input, state, output, ..operator_of(4) };
        let plans = plan(&operator, &ScanSpec::inclusive(), &DeviceLimits::H200, &Overrides::default()).unwrap();
        let columns =
            plan_columns(&operator, &ScanSpec::inclusive(), &DeviceLimits::H200, &Overrides::default()).unwrap();
        let reduction = plan_reduction(&operator, false, &DeviceLimits::H200, Reduction::Contiguous).unwrap();
        [plans.for_len(1 << 26).to_string(), columns.to_string(), reduction.to_string()]
    };
    for light in words(&[("combine", 1)]) {
        assert!(!light.contains("weight"), "{light}");
    }
    let heavy = words(&[("combine", 999)]);
    for (heavy, instructions) in heavy.iter().zip([2000, 2000, 1000]) {
        let weight = format!("weight    about {instructions} instructions an element: ");
        assert!(heavy.contains(&weight) && heavy.contains("combine called, not inlined"), "{heavy}");
    }
    assert!(!heavy[0].contains("runs of") && heavy[1].contains("runs of 21 elements"), "{heavy:?}");
    let [appends, ..] = words(&[("combine", 40), ("append", 1)]);
    assert!(appends.contains("runs append inputs") && appends.contains("states open"), "{appends}");
    assert!(appends.contains("about 4 instructions an element: runs of"), "{appends}");
}

/// A network of a warp is refused where no warp scans.
#[test]
fn a_network_of_a_warp_goes_with_warp_shuffles() {
    let planned = |block, carry| {
        let overrides = Overrides::default().strategy(Strategy { block, carry });
        plan(&operator_of(4), &ScanSpec::inclusive(), &DeviceLimits::H200, &overrides)
    };
    for warp in WarpNetwork::ALL {
        for block in [BlockScan::of(Network::WarpShuffle), BlockScan::SHARED_RUNS, BlockScan::in_registers()] {
            let plans = planned(block.over_warps(warp), Carry::LookBack).unwrap();
            assert_eq!(plans.longest().strategy.block.warp, warp);
        }
        assert!(planned(BlockScan::SHARED_RUNS.over_warps(warp), Carry::LookAhead).is_ok());
        let error = planned(BlockScan::coarsened(Network::KoggeStone).over_warps(warp), Carry::OneBlock);
        assert_eq!(error.is_err(), warp != WarpNetwork::KoggeStone, "{warp}: {error:?}");
        if let Err(error) = error {
            assert!(error.to_string().contains("choose `Network::WarpShuffle`"), "{error}");
        }
    }
}
