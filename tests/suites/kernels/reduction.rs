//! Reductions in the emulator: blocks of one warp and of several, over several levels of aggregates; the totals of scans; and faults
//! planted in both.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{DeviceLimits, Overrides, Reduction, ScanSpec};
use scan_runtime::Carry;
use scan_tests::{
    emulated::{Emulator, Program, ReductionProgram},
    extent::one_in,
    operators::{Interval, MatrixProduct, PolynomialHash, TestOperator, adjacent, inputs},
    planted::{Change, each_is_found},
    strategies::{self, LOOK_AHEAD},
};

use super::{
    compiled,
    look_ahead::{limits, overrides_of},
};

const TREES: [Reduction; 3] = [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened];

fn program<Op: TestOperator>(
    reduction: Reduction,
    initial_value: Option<Op::Item>,
    threads: u32,
) -> ReductionProgram<Op> {
    let mut limits = DeviceLimits::BASELINE;
    limits.threads_per_block = threads;
    let program = ReductionProgram::new(Op::new(), reduction, initial_value, &limits).unwrap();
    assert_eq!(program.plan.threads, threads, "{}", program.plan);
    program
}

fn emulate_trees<Op: TestOperator>(threads: u32, lengths: impl Fn(usize) -> Vec<usize>) {
    for reduction in TREES {
        for initial_value in [None, Some(Op::initial_value())] {
            let program = program::<Op>(reduction, initial_value, threads);
            for len in lengths(program.plan.tile as usize) {
                let emulator = Emulator::new(len as u64).resident_blocks([1, 3, 7][len % 3]);
                let result = program.verify(&emulator, &inputs::<Op>(len), len % 4);
                result.unwrap_or_else(|error| panic!("length {len}: {error}\n{}", program.plan));
            }
        }
    }
}

/// The interval monoid proves the trees for every operator; the others have values of one word, and of many.
#[test]
fn trees_of_one_warp_match_the_reference() {
    emulate_trees::<Interval>(32, |_| vec![1, 2, 3, 31, 32, 33, 63, 64, 65, 1_019, 4_101]);
    emulate_trees::<PolynomialHash>(32, |_| vec![65, 1_019]);
    emulate_trees::<MatrixProduct<3>>(32, |_| vec![65]);
}

/// Blocks in which warps wait for each other, and more aggregates than one block reduces.
#[test]
fn trees_of_several_warps_match_the_reference() {
    emulate_trees::<Interval>(64, |tile| vec![1, 33, tile - 1, tile, tile + 1, 5 * tile + 7, tile * tile + 1]);
    emulate_trees::<PolynomialHash>(256, |tile| vec![tile - 1, 3 * tile + 5]);
}

/// Every barrier of the trees, and the strides of threads and blocks.
#[test]
fn planted_faults_of_trees_are_found() {
    let everywhere: [Change<'_>; 11] = [
        ("const size_t start = (size_t)blockIdx.x *", "const size_t start = (size_t)blockIdx.x / 2 *"),
        ("i += THREADS) {\n    tile[i] = value_at(", "i += 2 * THREADS) {\n    tile[i] = value_at("),
        ("return state_of(op, input[i]);", "return state_of(op, input[i / 2]);"),
        ("return aggregates_below[i];", "return aggregates_below[i / 2];"),
        ("    __syncthreads(); // the step before has been written\n", ""),
        ("  __syncthreads();\n  return x[0];", "  return x[0];"),
        ("stride < count; stride *= 2", "stride < count; stride *= 4"),
        ("stride < count; stride *= 2", "stride < count / 2; stride *= 2"),
        ("i + stride < count", "i + stride <= count"),
        ("i + stride < count", "i + stride + 1 < count"),
        ("combine(x[i], x[i + stride])", "combine(x[i + stride], x[i])"),
    ];
    for reduction in TREES {
        let program = program::<Interval>(reduction, None, 64);
        let mut changes = everywhere.to_vec();
        changes.extend_from_slice(match reduction {
            Reduction::Divergent => &[("% (2 * stride) == 0", "% stride == 0")],
            Reduction::Contiguous => &[("return 2 * stride * threadIdx.x", "return stride * threadIdx.x")],
            _ => &[
                ("  __syncthreads(); // x has been written\n", ""),
                ("min(threadIdx.x * RUN, count)", "min(threadIdx.x * RUN + 1, count)"),
                ("combine(aggregate, x[i])", "combine(x[i], aggregate)"),
                ("(count + RUN - 1) / RUN", "count / RUN"),
            ],
        });
        let tile = program.plan.tile as usize;
        let is_found = |program: &ReductionProgram<Interval>| {
            (0..6).any(|seed| {
                // The last tile of the first has an odd number of elements, and of runs.
                let len = [3 * tile + 2 * (tile / 64) + 1, tile - 1, (tile + 2) * tile][seed as usize % 3];
                let emulator = Emulator::new(seed).check(adjacent).interrupt_once_in([3, 50][seed as usize / 3]);
                program.verify(&emulator.limit(4_000_000), &inputs::<Interval>(len), 0).is_err()
            })
        };
        each_is_found(&program, &changes, is_found).unwrap_or_else(|error| panic!("{reduction}: {error}"));
    }
}

#[test]
fn totals_of_every_carry_match_the_reference() {
    let strategies = strategies::all().filter(|strategy| strategy.block == strategies::all().next().unwrap().block);
    for strategy in strategies.chain([LOOK_AHEAD]) {
        for initial_value in [None, Some(Interval::initial_value())] {
            let mut overrides = Overrides::default();
            overrides.strategy = Some(strategy);
            overrides.threads = Some(32);
            let spec = ScanSpec::exclusive().with_total();
            let program = Program::of(Interval, &spec, initial_value, &overrides).unwrap();
            for len in [1_usize, 32, 33, 1_019] {
                let resident = if strategy.carry == Carry::OneBlock { 1 } else { usize::MAX };
                let emulator = Emulator::new(len as u64).resident_blocks(resident);
                let result = program.verify(&emulator, &inputs::<Interval>(len));
                result.unwrap_or_else(|error| panic!("length {len}: {error}\n{}", program.plan));
            }
        }
    }
}

/// Plans for longer inputs have no kernel of one block: their own ones scan a single tile, too.
#[test]
fn totals_of_one_tile_by_plans_for_longer_inputs_match_the_reference() {
    let first = strategies::all().next().unwrap().block;
    let strategies = strategies::all().filter(|strategy| strategy.block == first || strategy.block.in_registers);
    let mut programs = Vec::new();
    for strategy in strategies.filter(|strategy| strategy.carry != Carry::OneBlock) {
        for initial_value in [None, Some(Interval::initial_value())] {
            for spec in [ScanSpec::exclusive().with_total(), ScanSpec::inclusive().with_total()] {
                let overrides = Overrides::default().strategy(strategy).threads(32);
                let program = Program::of(Interval, &spec, initial_value, &overrides).unwrap();
                programs.push(program.for_longer_inputs().unwrap());
            }
        }
    }
    for program in &compiled(programs) {
        assert!(!program.source.text.contains("_scan_block"), "{}", program.plan);
        let tile = program.plan.tile as usize;
        for len in [1, tile - 1, tile, tile + 1] {
            let emulator = Emulator::new(len as u64).check(adjacent);
            let result = program.verify(&emulator, &inputs::<Interval>(len));
            result.unwrap_or_else(|error| panic!("length {len}: {error}\n{}", program.plan));
        }
    }
}

/// Look-ahead on eight blocks, in groups of three or none, that is asked for the total.
fn look_ahead_with_total(group: u32, initial_value: Option<<Interval as TestOperator>::Item>) -> Program<Interval> {
    let mut overrides = overrides_of((32, 1, 3, 2, 8));
    overrides.group = Some(group);
    let spec = ScanSpec::inclusive().with_total();
    Program::with_limits(Interval, &spec, initial_value, &limits(), &overrides).unwrap()
}

/// Lengths whose last tile falls to each place in a group, and to each group, in the first iteration and in later ones.
fn lengths_in_iterations(tile: usize) -> Vec<usize> {
    [1, 2, 3, 4, 8, 9, 16, 25, 32].into_iter().flat_map(|tiles| [tiles * tile, tiles * tile - 5]).collect()
}

#[test]
fn totals_of_look_ahead_in_groups_match_the_reference() {
    for group in [1, 3] {
        for initial_value in [None, Some(Interval::initial_value())] {
            let program = look_ahead_with_total(group, initial_value);
            assert_eq!(program.source.text.contains("constexpr unsigned GROUP ="), group > 1, "{}", program.plan);
            // Whole last tiles with an initial value, others without; a long run has both.
            let lengths = lengths_in_iterations(program.plan.tile as usize).into_iter();
            for len in one_in(2, lengths.skip(usize::from(initial_value.is_none()))) {
                let emulator = Emulator::new(len as u64).check(adjacent);
                let result = program.verify(&emulator, &inputs::<Interval>(len));
                result.unwrap_or_else(|error| panic!("length {len}: {error}\n{}", program.plan));
            }
        }
    }
}

#[test]
fn planted_faults_of_totals_are_found() {
    let append = "append(op, prefix, last_aggregate, head_flag_of(status));";
    let grouped: &[Change<'_>] = &[
        ("iteration_of((block.tiles - 1) / gridDim.x)", "iteration_of(block.tiles / gridDim.x)"),
        ("iteration_of((block.tiles - 1) / gridDim.x)", "iteration_of(0)"),
        (append, "prefix.value = op.combine(last_aggregate, prefix.value);"),
        ("blockIdx.x == (block.tiles - 1) % gridDim.x", "blockIdx.x == gridDim.x - 1"),
        ("poll(&block.statuses[block.tiles - 1], &last_aggregate", "poll(&block.statuses[0], &last_aggregate"),
    ];
    let ungrouped: &[Change<'_>] = &[
        (append, "prefix.value = last_aggregate;"),
        (append, "prefix.value = op.combine(last_aggregate, prefix.value);"),
        ("blockIdx.x == (block.tiles - 1) % gridDim.x", "blockIdx.x == gridDim.x - 1"),
        ("poll(&block.statuses[block.tiles - 1], &last_aggregate", "poll(&block.statuses[0], &last_aggregate"),
    ];
    for (group, changes) in [(3, grouped), (1, ungrouped)] {
        let is_found = |program: &Program<Interval>| {
            lengths_in_iterations(program.plan.tile as usize).into_iter().any(|len| {
                let emulator = Emulator::new(len as u64).check(adjacent).limit(4_000_000);
                program.verify(&emulator, &inputs::<Interval>(len)).is_err()
            })
        };
        each_is_found(&look_ahead_with_total(group, None), changes, is_found).unwrap();
    }
}
