//! The promise of counts: what the emulator counts while it executes the kernels is what the cost model says by formula,
//! and what the course texts say.

use scan_codegen::{Architecture, BankCycles, DeviceLimits, Overrides, tree_bank_cycles};
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers, WarpNetwork, Workers, ops};
use scan_tests::{
    emulated::{Banks, Emulator, Module, Program},
    explain::{ADDRESSING_CYCLES, Counts, TreeAccesses, tree_banks},
    operators::{MixedSum, TestOperator},
    reference::WAYS,
    strategies::{self, CARRIES, NETWORKS},
};

use super::compiled;

fn program<Op: TestOperator>(
    strategy: Strategy,
    (kind, with_initial_value): (ScanKind, bool),
    threads: u32,
    run: Option<u32>,
) -> Program<Op> {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(strategy);
    overrides.threads = Some(threads);
    overrides.run = run;
    Program::new(Op::new(), kind, with_initial_value.then(Op::initial_value), &overrides).unwrap()
}

/// Runs a program and compares all that is counted with the formulas.
fn compare<Op: TestOperator>(program: &Program<Op>, length: u64, resident: usize)
where
    Op::Item: std::fmt::Debug,
{
    let input: Vec<Op::Item> = (0..length).map(Op::input).collect();
    let run = program.verify(&Emulator::new(length).resident_blocks(resident).trace(), &input).unwrap();
    let cost = program.plan.cost(length).unwrap();
    let launches: Vec<_> = cost.launches.iter().map(|launch| launch.kernel).collect();
    assert_eq!(launches.len(), run.counters.launches.len(), "{launches:?}");
    let differences = Counts::new(&run.counters, &run.trace.unwrap(), &cost).differences();
    assert!(differences.is_empty(), "{length} elements:\n{}\n{}", differences.join("\n"), program.plan);
}

/// Every network, over single elements and over runs, at lengths of a tile and less: powers of two from 64 to 1,024, and
/// others.
#[test]
fn counted_cost_of_every_network_is_that_of_its_formula() {
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for (index, network) in NETWORKS.into_iter().enumerate() {
        for (block, run) in [(BlockScan::of(network), None), (BlockScan::coarsened(network), Some(5))] {
            let strategy = Strategy { block, carry: Carry::OneBlock };
            for way in [WAYS[0], WAYS[1 + 2 * (index % 2)], WAYS[2]] {
                small.push(program::<ops::Sum<i32>>(strategy, way, 64, run));
            }
            large.push(program::<ops::Sum<i32>>(strategy, WAYS[2 * (index % 2)], 1024, run));
        }
    }
    for program in &compiled(small) {
        for length in [0, 1, 2, 3, 5, 31, 32, 33, 48, 63, 64] {
            compare(program, length, 1);
        }
    }
    for program in &compiled(large) {
        for length in [64, 128, 256, 512, 777, 1024] {
            // The naive network at 1,024 is half a million applications.
            if length <= 256 || program.plan.strategy.block != BlockScan::of(Network::Naive) {
                compare(program, length, 1);
            }
        }
    }
}

/// Every network of a warp, in warps with all lanes and with some, over the warps of a block and over those of a team.
#[test]
fn counted_cost_of_every_network_of_a_warp_is_that_of_its_formula() {
    let of_shuffles = [BlockScan::of(Network::WarpShuffle), BlockScan::coarsened(Network::WarpShuffle)];
    let in_blocks = WarpNetwork::ALL.into_iter().enumerate().flat_map(|(index, warp)| {
        let blocks = of_shuffles.into_iter().chain([BlockScan::in_registers()]);
        blocks.map(move |block| {
            let strategy = Strategy { block: block.over_warps(warp), carry: Carry::OneBlock };
            program::<ops::Sum<i32>>(strategy, WAYS[index % 4], 512, block.coarsened.then_some(3))
        })
    });
    let across_blocks = WarpNetwork::ALL.into_iter().enumerate().flat_map(|(index, warp)| {
        let in_registers = BlockScan::in_registers().over_warps(warp);
        let look_ahead = of_shuffles[1].over_warps(warp);
        let blocks = [(in_registers, Carry::LookAtAll), (in_registers, Carry::Cluster), (look_ahead, Carry::LookAhead)];
        blocks.map(|(block, carry)| program::<ops::Sum<i32>>(Strategy { block, carry }, WAYS[index % 4], 128, Some(3)))
    });
    // Each of them: their texts differ in few lines.
    let programs: Vec<_> = in_blocks.chain(across_blocks).collect();
    Module::compile(&programs.iter().map(|program| &program.source).collect::<Vec<_>>()).unwrap();
    for program in &programs {
        let tile = u64::from(program.plan.tile);
        // The formula of look-ahead is for tiles that are copied whole.
        let parts = if program.plan.pipeline.is_some() { &[][..] } else { &[2, 31, 33, 100, tile - 1, 2 * tile + 5] };
        for &length in [1, tile, 7 * tile].iter().chain(parts) {
            compare(program, length, usize::MAX);
        }
    }
}

/// Every way to carry, over several tiles and several levels of aggregates, in each of the four ways to scan.
#[test]
fn counted_cost_of_every_carry_is_that_of_its_formula() {
    let mut programs = Vec::new();
    for carry in CARRIES {
        for way in WAYS {
            let trees = [Network::KoggeStone, Network::Blelloch { padded: true }].map(BlockScan::of);
            let runs = [BlockScan::coarsened(Network::WarpShuffle), BlockScan::in_registers()];
            let runs = runs.into_iter().filter(|block| !block.in_registers || carry != Carry::ReduceThenScan);
            for block in trees.into_iter().chain(runs) {
                let run = block.coarsened.then_some(3);
                programs.push(program::<ops::Sum<i32>>(Strategy { block, carry }, way, 32, run));
            }
        }
    }
    for program in &compiled(programs) {
        // Those that look at all do the work of blocks that do not begin.
        let all = matches!(program.plan.strategy.carry, Carry::Chained(TileNumbers::BlockIndex) | Carry::LookAtAll);
        let tile = u64::from(program.plan.tile);
        let lengths = [1, tile, tile + 1, 2 * tile, 5 * tile + 7, 40 * tile - 1, tile * tile + 1];
        for length in lengths.into_iter().filter(|&length| length < 4_500) {
            compare(program, length, if all { usize::MAX } else { 4 });
        }
    }
}

/// A cluster, in each of the four ways, over no more than a round of its tiles and over several.
#[test]
fn counted_cost_of_a_cluster_is_that_of_its_formula() {
    let strategy = Strategy { block: BlockScan::in_registers(), carry: Carry::Cluster };
    let runs = [3, 4].into_iter(); // the longer one is a unit, which each thread moves itself
    let programs: Vec<_> =
        runs.flat_map(|run| WAYS.map(|way| program::<ops::Sum<i32>>(strategy, way, 64, Some(run)))).collect();
    for program in &compiled(programs) {
        let tile = u64::from(program.plan.tile);
        for length in [1, tile, tile + 1, 5 * tile + 7, 8 * tile, 8 * tile + 1, 19 * tile + 5, 24 * tile - 1] {
            compare(program, length, usize::MAX);
        }
    }
}

/// Look-ahead whose blocks form groups, of which the last one has fewer.
#[test]
fn counted_cost_of_groups_is_that_of_their_formula() {
    let programs = WAYS.map(|(kind, with_initial_value)| {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(strategies::LOOK_AHEAD);
        (overrides.threads, overrides.teams, overrides.run) = (Some(32), Some(2), Some(3));
        (overrides.blocks, overrides.group) = (Some(8), Some(3));
        let limits = DeviceLimits::of(Architecture { major: 9, minor: 0 });
        let initial_value = with_initial_value.then(MixedSum::initial_value);
        Program::planned(MixedSum, kind, initial_value, &limits, &overrides).unwrap()
    });
    for program in &compiled(programs) {
        let tile = u64::from(program.plan.tile);
        assert_eq!(program.plan.pipeline.map(|pipeline| pipeline.group), Some(3));
        for length in [1, tile, 3 * tile, 8 * tile + 1, 20 * tile - 1, 24 * tile] {
            compare(program, length, usize::MAX);
        }
    }
}

/// Look-ahead whose look-ahead warps work round-robin.
#[test]
fn counted_cost_of_several_look_ahead_warps_is_that_of_their_formula() {
    let programs = WAYS.map(|(kind, with_initial_value)| {
        let mut overrides = Overrides::default().strategy(strategies::LOOK_AHEAD).threads(96).teams(2).run(3).blocks(3);
        overrides.look_ahead_warps = Some(2);
        let limits = DeviceLimits::of(Architecture { major: 9, minor: 0 });
        let initial_value = with_initial_value.then(MixedSum::initial_value);
        Program::planned(MixedSum, kind, initial_value, &limits, &overrides).unwrap()
    });
    for program in &compiled(programs) {
        let tile = u64::from(program.plan.tile);
        for length in [1, tile, 3 * tile, 8 * tile + 1, 20 * tile - 1] {
            compare(program, length, usize::MAX);
        }
    }
}

/// Every strategy, in one of the four ways, with elements of twelve bytes.
#[test]
fn counted_cost_of_every_strategy_is_that_of_its_formula() {
    let programs: Vec<_> = strategies::all()
        .enumerate()
        .map(|(index, strategy)| {
            let run = strategy.block.coarsened.then_some(2);
            program::<MixedSum>(strategy, WAYS[index % 4], 32, run)
        })
        .collect();
    for program in &compiled(programs) {
        compare(program, 3 * u64::from(program.plan.tile) + 5, usize::MAX);
    }
}

/// Looking back takes the most where no block but the first knows its prefix, and is bounded by that.
#[test]
fn counted_cost_of_look_back_is_within_its_bounds() {
    let strategy = Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::LookBack };
    let program = program::<ops::Sum<i32>>(strategy, WAYS[0], 32, None);
    let input: Vec<i32> = vec![1; 100 * 32];
    let bound = program.plan.cost(3_200).unwrap().applications();
    assert!(bound.min < bound.max);
    let applications = |resident| {
        let run = program.verify(&Emulator::new(3).resident_blocks(resident), &input).unwrap();
        run.counters.applications()
    };
    let (alone, together) = (applications(1), applications(100));
    assert!(bound.contains(alone) && bound.contains(together), "{alone}, {together}: {bound}");
    assert!(alone < together, "{alone}, {together}: blocks that run side by side look further back");
}

// ---- bank conflicts ---------------------------------------------------------

const BLELLOCH: Network = Network::Blelloch { padded: false };
const PADDED_BLELLOCH: Network = Network::Blelloch { padded: true };

/// 16 banks, half a warp at a time: 102 cycles against 36 without conflicts for 64 leaves, 186 against 48 for 128, 570
/// against 120 for 512.
#[test]
fn bank_conflicts_of_the_unpadded_tree_are_those_of_the_literature() {
    for (leaves, cycles, without_conflicts) in [(64, 102, 36), (128, 186, 48), (512, 570, 120)] {
        let counted = tree_banks(BLELLOCH, leaves, Banks::HALF_WARPS, TreeAccesses::OfTheTexts).unwrap();
        assert_eq!((counted.cycles, counted.without_conflicts), (cycles, without_conflicts), "{leaves} leaves");
        // All four of the way down: seven accesses a level instead of six.
        let left = tree_banks(BLELLOCH, leaves, Banks::HALF_WARPS, TreeAccesses::LeftChild).unwrap();
        assert_eq!((6 * left.cycles, 6 * left.without_conflicts), (cycles, without_conflicts), "{leaves} leaves");
    }
}

/// With one pad word in 16: 84 cycles for 64 leaves and 304 for 512, of which 8 a level and warp are instructions that
/// compute padded addresses (a shift and an addition for each of two operands, on the way up and on the way down), and the
/// rest are accesses, 36 and 144.
///
/// For 128 leaves the same account gives 48 + 64 = 112. The texts say 106, which is 42 + 64: they take six accesses for each
/// of the seven levels, but the first level has two warps, which the other 64 count.
#[test]
fn one_pad_word_in_16_costs_what_the_literature_says() {
    for (leaves, cycles, of_texts) in [(64, 84, 84), (128, 112, 106), (512, 304, 304)] {
        let counted = tree_banks(PADDED_BLELLOCH, leaves, Banks::HALF_WARPS, TreeAccesses::OfTheTexts).unwrap();
        let warps = counted.without_conflicts / 6; // over all levels
        assert_eq!(counted.cycles + ADDRESSING_CYCLES * warps, cycles, "{leaves} leaves");
        let levels = u64::from(leaves.ilog2());
        let second_warp_left_out = if leaves == 128 { 6 * (warps - levels) } else { 0 };
        assert_eq!(cycles - second_warp_left_out, of_texts, "{leaves} leaves");
    }
}

/// The formula, against the kernels, for the shared memory of then and of today.
#[test]
fn bank_conflicts_of_the_unpadded_tree_are_those_of_the_formula() {
    for leaves in [64, 128, 256, 512, 1024, 2048] {
        for banks in [Banks::HALF_WARPS, Banks::TODAY] {
            let network = Network::BrentKung { workers: Workers::Contiguous, padded: false };
            let up = tree_banks(network, leaves, banks, TreeAccesses::Up).unwrap();
            let BankCycles { cycles, without_conflicts } =
                tree_bank_cycles(leaves.into(), banks.banks.into(), banks.group.into());
            assert_eq!((up.cycles, up.without_conflicts), (3 * cycles, 3 * without_conflicts), "{leaves}, {banks:?}");
        }
    }
}

/// On the 32 banks of today, one pad word in 32: no conflict is left up to 1,024 leaves. Of 2,048, nodes 1,024 places apart
/// are in one bank again: two at a time on five levels, in each of the six accesses.
#[test]
fn one_pad_word_in_32_removes_conflicts_of_32_banks() {
    for (leaves, left) in [(64, 0), (128, 0), (512, 0), (1024, 0), (2048, 5 * 6)] {
        let counted = tree_banks(PADDED_BLELLOCH, leaves, Banks::TODAY, TreeAccesses::OfTheTexts).unwrap();
        assert_eq!(counted.cycles - counted.without_conflicts, left, "{leaves} leaves");
    }
}
