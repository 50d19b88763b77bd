//! One cluster of blocks in the emulator: clusters and tiles of several shapes, elements of many sizes, lengths that take several
//! rounds, segments; and faults planted in the kernel.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Architecture, DeviceLimits, Overrides, PlanError, ScanSpec, Segments, plan};
use scan_runtime::{BlockScan, Carry, ScanKind, ScanOp, Strategy, ops};
use scan_tests::{
    climb::failures_in_every_place,
    emulated::{Emulator, EmulatorError, FaultKind, Program},
    operators::{Brackets, Interval, MatrixProduct, MixedSum, TestOperator, adjacent, inputs, mixed},
    planted::each_is_found,
    reference::WAYS,
    segments::{Heads, PATTERNS, Restart, begins, fit, places},
};

use super::compiled;

/// Threads of a block, elements a thread, blocks of the cluster.
const SHAPES: [(u32, u32, u32); 6] = [(32, 3, 8), (64, 4, 2), (32, 7, 5), (128, 1, 3), (32, 5, 1), (128, 2, 8)];

fn overrides((threads, run, blocks): (u32, u32, u32)) -> Overrides {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block: BlockScan::in_registers(), carry: Carry::Cluster });
    overrides.threads = Some(threads);
    overrides.run = Some(run);
    overrides.blocks = Some(blocks);
    overrides
}

fn program<Op: TestOperator>(shape: (u32, u32, u32), (kind, with_initial_value): (ScanKind, bool)) -> Program<Op> {
    Program::new(Op::new(), kind, with_initial_value.then(Op::initial_value), &overrides(shape)).unwrap()
}

/// Every shape, the ways to scan in turn; the first shape goes all ways, and tells the total. Of the lengths one in `step`.
fn climb<Op: TestOperator>(step: usize, prepare: impl Fn(Emulator) -> Emulator) {
    let mut programs: Vec<Program<Op>> =
        SHAPES.into_iter().enumerate().map(|(index, shape)| program(shape, WAYS[index % WAYS.len()])).collect();
    programs.extend(WAYS.map(|(kind, with_initial_value)| {
        let spec = match kind {
            ScanKind::Inclusive => ScanSpec::inclusive(),
            ScanKind::Exclusive => ScanSpec::exclusive(),
        };
        let initial_value = with_initial_value.then(Op::initial_value);
        Program::of(Op::new(), &spec.with_total(), initial_value, &overrides(SHAPES[0])).unwrap()
    }));
    for (index, program) in &compiled((0..).zip(programs)) {
        let index: u64 = *index;
        let (tile, blocks) = (u64::from(program.plan.tile), u64::from(SHAPES[index as usize % SHAPES.len()].2));
        let round = tile * if index < 6 { blocks } else { 8 };
        let lengths =
            [tile + 1, 2 * tile, round - 1, round, round + 1, round + tile + 3, 3 * round - tile / 2, 5 * round];
        for (run, length) in (0..).zip(lengths).skip(index as usize % step).step_by(step) {
            let input: Vec<Op::Item> = (0..length).map(Op::input).collect();
            let seed = mixed(index * 64 + run);
            let emulator = Emulator::new(seed).resident_blocks(1 + seed as usize % 9);
            let emulator = prepare(if seed.is_multiple_of(3) { emulator.interrupt_once_in(8) } else { emulator });
            let failures = failures_in_every_place(program, &emulator, &input, seed);
            assert!(failures.is_empty(), "{}", failures.join("\n\n"));
        }
    }
}

#[test]
fn intervals_match_the_reference() {
    climb::<Interval>(1, |emulator| emulator.check(adjacent));
}

#[test]
fn elements_of_several_sizes_match_the_reference() {
    climb::<ops::Sum<u8>>(3, |emulator| emulator);
    climb::<MixedSum>(3, |emulator| emulator);
    climb::<Brackets>(3, |emulator| emulator);
    climb::<MatrixProduct<3>>(3, |emulator| emulator);
}

/// Programs that restart, told in each way, and the way in which each is told.
fn segmented<Op: TestOperator>() -> Vec<(usize, Program<Op>)> {
    let told = (0..9).map(|head_source| {
        let (kind, with_initial_value) = WAYS[head_source % WAYS.len()];
        let segments = Heads::new(head_source, &[]).segments();
        let initial_value = with_initial_value.then(Op::initial_value);
        let shape = overrides(SHAPES[head_source % 3]);
        (head_source, Program::segmented(Op::new(), kind, initial_value, segments, &shape).unwrap())
    });
    told.collect()
}

#[test]
fn segments_match_the_reference() {
    for (head_source, program) in &compiled(segmented::<Restart>()) {
        let tile = program.plan.tile as usize;
        for (seed, pattern) in (0..).zip(PATTERNS) {
            for length in [tile + 1, 3 * tile, 8 * tile - 1, 19 * tile + 5] {
                let begins = begins(pattern, length, tile);
                let emulator = Emulator::new(mixed(seed + length as u64)).check(fit);
                let result = program.with_heads(Heads::new(*head_source, &begins)).verify(&emulator, &places(&begins));
                if let Err(error) = result {
                    panic!("{length}: {error}\n{}", program.plan);
                }
            }
        }
    }
}

#[test]
fn planted_faults_are_found() {
    let program = program::<Interval>((64, 3, 4), (ScanKind::Exclusive, true));
    let changes = [
        ("    wait(&all_arrived[slot], iteration / 2 % 2);\n", ""),
        ("    if (first == 0) {\n      wait_for_cluster(); // the barriers of all blocks are initialized\n    }\n", ""),
        ("  arrive_in_cluster();\n  Prefix prefix", "  Prefix prefix"),
        ("    fence_barriers();\n", ""),
        ("    init_barrier(&all_arrived[1], 1);\n", ""),
        ("const unsigned slot = iteration % 2;", "const unsigned slot = 0;"),
        ("iteration / 2 % 2);", "iteration % 2);"),
        ("      iteration++;\n", ""),
        ("      __syncthreads(); // the tile and the statuses have been read\n", ""),
        ("combine(prefix.value, state)", "combine(state, prefix.value)"),
        ("statuses[slot], 0, blockIdx.x);", "statuses[slot], 0, CLUSTER);"),
        ("statuses[slot], blockIdx.x, CLUSTER);", "statuses[slot], blockIdx.x + 1, CLUSTER);"),
        ("elements > 0 && threadIdx.x < CLUSTER", "elements > 0 && threadIdx.x < CLUSTER - 1"),
        ("store_to_block(&statuses[slot][blockIdx.x]", "store_to_block(&statuses[slot][threadIdx.x]"),
        ("&all_arrived[slot], threadIdx.x);", "&all_arrived[slot], blockIdx.x);"),
        ("tiles * sizeof(ClusterStatus)", "CLUSTER * sizeof(ClusterStatus)"),
        ("tiles * sizeof(ClusterStatus)", "(tiles - 1) * sizeof(ClusterStatus)"),
        (
            "    wait(&all_arrived[slot], iteration / 2 % 2);\n    if (elements > 0) {",
            "    if (elements > 0) {\n      wait(&all_arrived[slot], iteration / 2 % 2);",
        ),
        ("blockIdx.x < tiles ? elements_of_tile(begin, n) : 0", "elements_of_tile(begin, n)"),
        ("(size_t)CLUSTER * tile_length()) {", "(size_t)CLUSTER * tile_length() + 1) {"),
    ];
    let tile = u64::from(program.plan.tile);
    let is_found = |program: &Program<Interval>| {
        (0..12).any(|seed| {
            let input = inputs::<Interval>(([9 * tile - 5, tile + 9, 4 * tile][seed as usize % 3]) as usize);
            let emulator = Emulator::new(seed).interrupt_once_in([3, 50][seed as usize / 2 % 2]).check(adjacent);
            program.verify(&emulator, &input).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap();
}

#[test]
fn planted_faults_of_segments_are_found() {
    let segments = Heads::new(0, &[]).segments();
    let program = Program::segmented(Restart, ScanKind::Inclusive, None, segments, &overrides((32, 2, 4))).unwrap();
    let changes = [
        ("head == NO_HEAD ? 0 : 1", "0"),
        ("head == NO_HEAD ? 0 : 1", "1"),
        ("prefix.any && !restarts(status)", "prefix.any"),
        ("      own.restarts = head == NO_HEAD ? 0 : 1;\n", ""),
    ];
    let tile = program.plan.tile as usize;
    let is_found = |program: &Program<Restart>| {
        (0..).zip(PATTERNS).any(|(seed, pattern)| {
            let begins = begins(pattern, 9 * tile + 5, tile);
            let emulator = Emulator::new(seed).check(fit);
            program.with_heads(Heads::new(0, &begins)).verify(&emulator, &places(&begins)).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap();
}

/// What the fault is, after changes of the text, of some run over two iterations.
fn fault(changes: &[(&str, &str)]) -> FaultKind {
    let mut program = program::<Interval>((32, 2, 4), WAYS[0]);
    for (from, to) in changes {
        assert_eq!(program.source.text.matches(from).count(), 1, "{from}");
        program.source.text = program.source.text.replace(from, to);
    }
    let input = inputs::<Interval>(8 * program.plan.tile as usize);
    let mut faults = (0..20).filter_map(|seed| match program.verify(&Emulator::new(seed), &input) {
        Err(EmulatorError::Fault(fault)) => Some(fault.kind),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    });
    faults.next().unwrap_or_else(|| panic!("{changes:?}: no fault"))
}

#[test]
fn each_misuse_of_a_cluster_is_its_own_fault() {
    let beginning = ("  arrive_in_cluster();\n  Prefix prefix", "  Prefix prefix");
    let meeting =
        "    if (first == 0) {\n      wait_for_cluster(); // the barriers of all blocks are initialized\n    }\n";
    let storing = "&all_arrived[slot], threadIdx.x);";
    assert!(matches!(fault(&[(meeting, "")]), FaultKind::OtherBlock { ended: false, .. }));
    assert_eq!(fault(&[beginning]), FaultKind::ClusterBarrier { arrives: false });
    assert_eq!(
        fault(&[("      wait_for_cluster(); // ", "      arrive_in_cluster(); // ")]),
        FaultKind::ClusterBarrier { arrives: true }
    );
    assert!(matches!(fault(&[("    fence_barriers();\n", "")]), FaultKind::Race { .. }));
    assert_eq!(
        fault(&[(storing, "&all_arrived[slot], threadIdx.x + 1);")]),
        FaultKind::NoSuchBlock { block: 4, blocks: 4 }
    );
    // Some threads do not come.
    let half = format!("    if (threadIdx.x % 2 == 0) {{\n      return;\n    }}\n{meeting}");
    assert!(matches!(fault(&[(meeting, &half)]), FaultKind::Deadlock { .. } | FaultKind::Barrier { .. }));
    // A block stores to another one when that has nothing more to do.
    let late = (
        "    if (!is_last) {",
        "    if (is_last && blockIdx.x == 0 && threadIdx.x == 0) {\n      \
         store_to_block(&statuses[1 - slot][0], ClusterStatus{}, &all_arrived[1 - slot], 1);\n    }\n    if (!is_last) {",
    );
    assert!(matches!(fault(&[late]), FaultKind::OtherBlock { .. } | FaultKind::CopyLeftBehind));
}

#[test]
fn clusters_beyond_the_device_are_refused() {
    let operator = ops::sum::<f32>().source();
    let refused = |limits: &DeviceLimits, overrides: &Overrides| {
        let refused = plan(&operator, &ScanSpec::inclusive().with_segments(Segments::None), limits, overrides);
        matches!(refused, Err(PlanError::Strategy { .. }))
    };
    let old = DeviceLimits::of(Architecture { major: 8, minor: 0 });
    let new = DeviceLimits::of(Architecture { major: 9, minor: 0 });
    assert!(refused(&old, &overrides((32, 4, 8))));
    assert!(!refused(&new, &overrides((32, 4, 8))));
    assert!(refused(&new, &overrides((32, 4, 9))) && refused(&new, &overrides((32, 4, 0))));
}
