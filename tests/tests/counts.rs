//! The promise of counts: what the emulator counts while it executes the kernels is what the cost model says by formula,
//! and what the course texts say.

use scan_codegen::{BankCycles, Overrides, tree_bank_cycles};
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers, Workers, ops};
use scan_tests::{
    emulator::{BankCounters, Banks, Emulator, Module, Program},
    explain::Counts,
    operators::{MixedSum, TestOperator},
    reference::WAYS,
    strategies::{self, CARRIES, NETWORKS},
};

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

/// Compiles programs together, which takes less time than one by one.
fn compile<'a, Op: TestOperator>(programs: impl IntoIterator<Item = &'a Program<Op>>) {
    let sources: Vec<_> = programs.into_iter().map(|program| &program.source).collect();
    Module::compile(&sources).unwrap();
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
fn every_network_takes_what_its_formula_says() {
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
    compile(small.iter().chain(&large));
    for program in &small {
        for length in [0, 1, 2, 3, 5, 31, 32, 33, 48, 63, 64] {
            compare(program, length, 1);
        }
    }
    for program in &large {
        for length in [64, 128, 256, 512, 777, 1024] {
            // The naive network at 1,024 is half a million applications.
            if length <= 256 || program.plan.strategy.block != BlockScan::of(Network::Naive) {
                compare(program, length, 1);
            }
        }
    }
}

/// Every way to carry, over several tiles and several levels of totals, in each of the four ways to scan.
#[test]
fn every_carry_takes_what_its_formula_says() {
    let mut programs = Vec::new();
    for carry in CARRIES {
        for way in WAYS {
            let trees = [Network::KoggeStone, Network::Blelloch { padded: true }].map(BlockScan::of);
            for block in trees.into_iter().chain([BlockScan::coarsened(Network::WarpShuffle)]) {
                let run = block.coarsened.then_some(3);
                programs.push(program::<ops::Sum<i32>>(Strategy { block, carry }, way, 32, run));
            }
        }
    }
    compile(&programs);
    for program in &programs {
        let by_index = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
        let tile = u64::from(program.plan.tile);
        let lengths = [1, tile, tile + 1, 2 * tile, 5 * tile + 7, 40 * tile - 1, tile * tile + 1];
        for length in lengths.into_iter().filter(|&length| length < 4_500) {
            compare(program, length, if by_index { usize::MAX } else { 4 });
        }
    }
}

/// Every strategy, in one of the four ways, with elements of twelve bytes.
#[test]
fn every_strategy_takes_what_its_formula_says() {
    let programs: Vec<_> = strategies::all()
        .enumerate()
        .map(|(index, strategy)| {
            let run = strategy.block.coarsened.then_some(2);
            program::<MixedSum>(strategy, WAYS[index % 4], 32, run)
        })
        .collect();
    compile(&programs);
    for program in &programs {
        compare(program, 3 * u64::from(program.plan.tile) + 5, usize::MAX);
    }
}

/// Looking back takes the most where no block but the first knows its prefix, and is bounded by that.
#[test]
fn looking_back_stays_within_its_bounds() {
    let strategy = Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::LookBack };
    let program = program::<ops::Sum<i32>>(strategy, WAYS[0], 32, None);
    let input: Vec<i32> = vec![1; 100 * 32];
    let bound = program.plan.cost(3_200).unwrap().applications();
    assert!(bound.least < bound.most);
    let applications = |resident| {
        let run = program.verify(&Emulator::new(3).resident_blocks(resident), &input).unwrap();
        run.counters.applications()
    };
    let (alone, together) = (applications(1), applications(100));
    assert!(bound.contains(alone) && bound.contains(together), "{alone}, {together}: {bound}");
    assert!(alone < together, "{alone}, {together}: blocks that run side by side look further back");
}

// ---- bank conflicts ---------------------------------------------------------

/// The kernels of a tree over `leaves` values, with the padding's period changed from 32 to `period` where there is one.
fn tree(network: Network, kind: ScanKind, leaves: u32, period: u32) -> Program<ops::Sum<i32>> {
    let strategy = Strategy { block: BlockScan::of(network), carry: Carry::OneBlock };
    let mut program = program::<ops::Sum<i32>>(strategy, (kind, false), leaves / 2, None);
    if network.is_padded() {
        let text = &program.source.text;
        let slots = format!("TILE_SLOTS = {};", leaves + leaves / 32);
        assert!(text.contains("slots[i + i / 32]") && text.contains(&slots), "the padding has changed:\n{text}");
        let text = text.replace("slots[i + i / 32]", &format!("slots[i + i / {period}]"));
        program.source.text = text.replace(&slots, &format!("TILE_SLOTS = {};", leaves + leaves / period));
    }
    program
}

/// What the lines of the network's text that contain one of these took.
fn of_lines(program: &Program<ops::Sum<i32>>, banks: Banks, lines: &[&str]) -> BankCounters {
    let length = program.plan.tile as usize;
    let run = program.verify(&Emulator::new(1).banks(banks), &vec![1; length]).unwrap();
    let text: Vec<&str> = program.source.text.lines().collect();
    let mut sum = BankCounters::default();
    let mut found = vec![false; lines.len()];
    for (&line, &counters) in &run.counters.launches[0].banks_of_line {
        let wanted = lines.iter().position(|wanted| text[line as usize - 1].trim() == *wanted);
        if let Some(wanted) = wanted {
            found[wanted] = true;
            sum += counters;
        }
    }
    assert!(found.iter().all(|&found| found), "not all of {lines:?} were executed");
    sum
}

const UP: &str = "x[i] = sum_op.combine(x[i - stride], x[i]);";
const READ_LEFT: &str = "const i32 first_half = x[i - stride];";
const READ_RIGHT: &str = "const i32 before = x[i];";
const WRITE_LEFT: &str = "x[i - stride] = before;";
const WRITE_RIGHT: &str = "x[i] = sum_op.combine(before, first_half);";

/// The accesses that the texts count: on the way up two reads and a write, on the way down the same. (Blelloch's way down
/// has a fourth access, the write of the left child, which they leave out.)
const COUNTED: [&str; 4] = [UP, READ_LEFT, READ_RIGHT, WRITE_RIGHT];

/// 16 banks, half a warp at a time: 102 cycles against 36 without conflicts for 64 leaves, 186 against 48 for 128, 570
/// against 120 for 512.
#[test]
fn the_unpadded_tree_has_the_conflicts_of_the_texts() {
    for (leaves, cycles, without_conflicts) in [(64, 102, 36), (128, 186, 48), (512, 570, 120)] {
        let program = tree(Network::Blelloch { padded: false }, ScanKind::Exclusive, leaves, 0);
        let counted = of_lines(&program, Banks::HALF_WARPS, &COUNTED);
        assert_eq!((counted.cycles, counted.without_conflicts), (cycles, without_conflicts), "{leaves} leaves");
        // All four of the way down: seven accesses a level instead of six.
        let left = of_lines(&program, Banks::HALF_WARPS, &[WRITE_LEFT]);
        assert_eq!((6 * left.cycles, 6 * left.without_conflicts), (cycles, without_conflicts), "{leaves} leaves");
    }
}

/// With one pad word in 16: 84 cycles for 64 leaves and 304 for 512, of which 8 a level and warp are instructions that
/// compute padded addresses (a shift and an addition for each of two operands, on the way up and on the way down), and the
/// rest are accesses, 36 and 144.
///
/// For 128 leaves the texts say 106. By the same account it is 48 + 8 · 8 = 112, and that is what ours take; 106 would leave
/// 42 cycles for the accesses, fewer than the 48 that they take without any conflict.
#[test]
fn one_pad_word_in_16_takes_the_conflicts_away() {
    const ADDRESSING: u64 = 2 * 2 * 2;
    for (leaves, cycles) in [(64, 84), (128, 112), (512, 304)] {
        let program = tree(Network::Blelloch { padded: true }, ScanKind::Exclusive, leaves, 16);
        let counted = of_lines(&program, Banks::HALF_WARPS, &COUNTED);
        let warps = counted.without_conflicts / 6; // over all levels
        assert_eq!(counted.cycles + ADDRESSING * warps, cycles, "{leaves} leaves");
    }
}

/// The formula, against the kernels, for the shared memory of then and of today.
#[test]
fn the_unpadded_trees_conflicts_are_those_of_the_formula() {
    for leaves in [64, 128, 256, 512, 1024, 2048] {
        for banks in [Banks::HALF_WARPS, Banks::TODAY] {
            let network = Network::BrentKung { workers: Workers::Contiguous, padded: false };
            let program = tree(network, ScanKind::Inclusive, leaves, 0);
            let up = of_lines(&program, banks, &[UP]);
            let BankCycles { cycles, without_conflicts } =
                tree_bank_cycles(leaves.into(), banks.banks.into(), banks.group.into());
            assert_eq!((up.cycles, up.without_conflicts), (3 * cycles, 3 * without_conflicts), "{leaves}, {banks:?}");
        }
    }
}

/// On the 32 banks of today, one pad word in 32: no conflict is left up to 1,024 leaves. Of 2,048, nodes 1,024 places apart
/// are in one bank again: two at a time on five levels, in each of the six accesses.
#[test]
fn one_pad_word_in_32_takes_the_conflicts_of_today_away() {
    for (leaves, left) in [(64, 0), (128, 0), (512, 0), (1024, 0), (2048, 5 * 6)] {
        let program = tree(Network::Blelloch { padded: true }, ScanKind::Exclusive, leaves, 32);
        let counted = of_lines(&program, Banks::TODAY, &COUNTED);
        assert_eq!(counted.cycles - counted.without_conflicts, left, "{leaves} leaves");
    }
}
