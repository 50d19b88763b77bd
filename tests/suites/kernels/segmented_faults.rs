//! Faults planted into the parts of the kernels that segments need, one at a time: the emulator finds each.

use scan_codegen::Overrides;
use scan_runtime::{BlockScan, Carry, Network, Strategy, TileNumbers, Workers};
use scan_tests::{
    emulated::{Emulator, EmulatorError, Program},
    extent::one_in,
    operators::TestOperator,
    planted::FEW,
    reference::WAYS,
    segments::{Heads, PATTERNS, Restart, begins, fit, places},
};

const KOGGE_STONE: BlockScan = BlockScan::of(Network::KoggeStone);
const CHAINED: Carry = Carry::Chained(TileNumbers::Counter);
const FLAGS: usize = 0;
const BITS: usize = 2;
const WIDE_KEYS: usize = 5;
const OFFSETS: usize = 7;
const LONG_OFFSETS: usize = 8;

/// Changes each place in the text that says `from`; there is one at least.
fn plant(program: &Program<Restart>, from: &str, to: &str) -> Program<Restart> {
    let mut planted = program.clone();
    assert!(planted.source.text.contains(from), "`{from}` must stand in the text:\n{}", planted.source.text);
    planted.source.text = planted.source.text.replace(from, to);
    planted
}

/// Whether any pattern of heads brings out a fault.
fn is_found(program: &Program<Restart>, head_source: usize) -> bool {
    let tile = program.plan.tile as usize;
    (0..).zip(PATTERNS).any(|(seed, pattern)| {
        // Enough tiles for two levels of aggregates.
        let begins = begins(pattern, (tile * 35).min(1_500).max(3 * tile + 1), tile);
        let emulator = Emulator::new(seed).check(fit).resident_blocks(1 + seed as usize % 4).limit(400_000);
        match program.with_heads(Heads::new(head_source, &begins)).verify(&emulator, &places(&begins)) {
            Ok(_) => false,
            Err(EmulatorError::Fault(_)) => true,
            Err(other) => panic!("{other}"),
        }
    })
}

/// Each of the changes is found, in at least one of the four ways to scan; nothing is found without a change.
fn each_is_found(block: BlockScan, carry: Carry, head_source: usize, changes: &[(&str, &str)]) {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block, carry });
    overrides.threads = Some(32);
    each_is_found_in(&overrides, head_source, changes);
}

/// As [`each_is_found`], in kernels of this shape.
fn each_is_found_in(overrides: &Overrides, head_source: usize, changes: &[(&str, &str)]) {
    let programs = WAYS.map(|(kind, with_initial_value)| {
        let initial_value = with_initial_value.then(Restart::initial_value);
        let segments = Heads::new(head_source, &[]).segments();
        Program::segmented(Restart, kind, initial_value, segments, overrides).unwrap()
    });
    assert!(!is_found(&programs[0], head_source), "nothing is planted");
    for (from, _) in changes {
        assert!(programs.iter().any(|program| program.source.text.contains(from)), "`{from}` must stand in the text");
    }
    for (from, to) in one_in(FEW, changes) {
        let says_so = |program: &&Program<Restart>| program.source.text.contains(from);
        let found = programs.iter().filter(says_so).any(|program| is_found(&plant(program, from, to), head_source));
        assert!(found, "`{to}` in place of `{from}` is not found:\n{}", programs[0].plan);
    }
}

#[test]
fn planted_faults_of_networks_are_found() {
    let guard = (" && !head_among(heads, i - stride + 1, i)", "");
    let tree = Network::BrentKung { workers: Workers::Contiguous, padded: false };
    let scattered = Network::BrentKung { workers: Workers::Scattered, padded: true };
    let down = (" && !head_among(heads, i + 1, i + stride)", "");
    each_is_found(KOGGE_STONE, Carry::OneBlock, FLAGS, &[guard, ("i - stride + 1, i", "i - stride, i")]);
    each_is_found(BlockScan::of(Network::HillisSteele), Carry::OneBlock, FLAGS, &[guard]);
    each_is_found(BlockScan::of(tree), Carry::OneBlock, FLAGS, &[guard, down]);
    each_is_found(BlockScan::of(scattered), Carry::OneBlock, FLAGS, &[guard, down]);
    each_is_found(
        BlockScan::of(Network::Sequential),
        Carry::OneBlock,
        FLAGS,
        &[("if (!is_head(heads, i))", "if (true)")],
    );
    each_is_found(BlockScan::of(Network::Naive), Carry::OneBlock, FLAGS, &[("is_head(heads, j) ?", "false ?")]);
    let blelloch = [
        guard,
        ("head_among(heads, i - 2 * stride + 1, i - stride) ?", "false ?"),
        ("i - 2 * stride + 1, i - stride", "i - 2 * stride + 2, i - stride"),
        ("i - 2 * stride + 1, i - stride", "i - 2 * stride + 1, i"),
        ("is_head(heads, i) ? own[k]", "false ? own[k]"),
    ];
    each_is_found(BlockScan::of(Network::Blelloch { padded: false }), Carry::OneBlock, FLAGS, &blelloch);
}

#[test]
fn planted_faults_of_warps_and_runs_are_found() {
    let changes = [
        ("lane < count && !any_among(mask, lane, stride)", "lane < count"),
        ("warp > 0 && !any_among(mask, lane, lane + 1)", "warp > 0"),
        (">> (WARP - stride)", ">> (WARP - stride + 1)"),
        ("is_head(heads, i) ? State(x[i]) :", "false ? State(x[i]) :"),
        (" && !is_head(heads, i)", ""),
        ("head_among(heads, first, end - 1)", "is_head(heads, first)"),
        ("= runs_with_heads;", "= 0;"),
    ];
    let of = |program: &str| changes.iter().filter(|(from, _)| program.contains(from)).copied().collect::<Vec<_>>();
    let mut overrides = Overrides::default();
    for block in [BlockScan::of(Network::WarpShuffle), BlockScan::coarsened(Network::WarpShuffle)] {
        overrides.strategy = Some(Strategy { block, carry: Carry::LookBack });
        let segments = Heads::new(FLAGS, &[]).segments();
        let program = Program::segmented(Restart, WAYS[0].0, None, segments, &overrides).unwrap();
        // A block of one warp has no warp before it.
        let changes: Vec<_> =
            of(&program.source.text).into_iter().filter(|(from, _)| !from.starts_with("warp > 0")).collect();
        each_is_found(block, Carry::LookBack, FLAGS, &changes);
    }
}

#[test]
fn planted_faults_of_tiles_are_found() {
    let changes = [
        ("__syncthreads(); // the heads have been written", ""),
        ("is_head(tile.heads, i) ? prefix_at(", "i == 0 ? prefix_at("),
        ("is_head(tile.heads, i) ? prefix_at(", "extent.begins && i == 0 ? prefix_at("),
        ("begins = is_head(tile.heads, i)", "begins = i == 0"),
        ("i < head ? prefix", "i <= head ? prefix"),
        ("i < head ? prefix", "i + 1 < head ? prefix"),
        ("i < head ? prefix", "false ? prefix"),
        ("0xffffffff << first % WARP", "0xfffffffe << first % WARP"),
        ("(WARP - 1 - last % WARP)", "(WARP - last % WARP) % WARP"),
        ("(extent.begins && i == 0)", "false"),
    ];
    each_is_found(KOGGE_STONE, Carry::OneBlock, FLAGS, &changes);
    let bits = [(">> i % 32", ">> (31 - i % 32)")];
    each_is_found(KOGGE_STONE, Carry::OneBlock, BITS, &bits);
    let keys = [("k < KEY_WORDS && !differs", "k < 1 && !differs")];
    each_is_found(KOGGE_STONE, Carry::OneBlock, WIDE_KEYS, &keys);
    let offsets = [
        ("offsets[candidate] == i;", "offsets[candidate] >= i;"),
        ("offsets[middle] < position", "offsets[middle] <= position"),
    ];
    each_is_found(KOGGE_STONE, Carry::OneBlock, OFFSETS, &offsets);
    each_is_found(KOGGE_STONE, Carry::OneBlock, LONG_OFFSETS, &[("candidate < source.offset_count && ", "")]);
}

#[test]
fn planted_faults_of_carries_are_found() {
    let one_block = [
        ("shared_prefix = head == NO_HEAD ?", "shared_prefix = begin > 0 ?"),
        ("shared_prefix = head == NO_HEAD ?", "shared_prefix = false ?"),
    ];
    each_is_found(KOGGE_STONE, Carry::OneBlock, FLAGS, &one_block);
    let chained = [
        ("if (head != NO_HEAD) {\n      publish(&statuses[tile_index], aggregate, PREFIX, epoch);\n    }", ""),
        ("if (head == NO_HEAD) {\n      publish(", "{\n      publish("),
        ("shared_prefix = prefix.value;", "shared_prefix = aggregate;"),
    ];
    each_is_found(KOGGE_STONE, CHAINED, FLAGS, &chained);
    let look_back = [
        ("is_prefix ? PREFIX : AGGREGATE", "AGGREGATE"),
        ("is_prefix ? PREFIX : AGGREGATE", "PREFIX"),
        ("if (!is_prefix) {", "{"),
        ("tile_index == 0 || head != NO_HEAD", "tile_index == 0"),
    ];
    each_is_found(KOGGE_STONE, Carry::LookBack, FLAGS, &look_back);
    let reduce_then_scan = [
        ("first_heads[i] = head;", "first_heads[i] = NO_HEAD;"),
        ("first_heads[i] = head;", "first_heads[i] = 0;"),
        ("first_heads[i] != NO_HEAD", "false"),
        ("first_heads_above, blockIdx.x, aggregate, head)", "first_heads_above, blockIdx.x, aggregate, NO_HEAD)"),
        ("i < min(elements, head)", "i < elements"),
        ("i < min(elements, head)", "i + 1 < min(elements, head)"),
        ("i < head ? prefix : no_prefix()", "prefix"),
        ("blockIdx.x > 0 && head > 0", "blockIdx.x > 0"),
    ];
    each_is_found(KOGGE_STONE, Carry::ReduceThenScan, FLAGS, &reduce_then_scan);
    let exclusive = [("i < elements ? State(tile.values[i])", "i < elements ? State(tile.values[i - 1])")];
    each_is_found(BlockScan::of(Network::Blelloch { padded: true }), Carry::ReduceThenScan, FLAGS, &exclusive);
}

#[test]
fn planted_faults_in_registers_are_found() {
    let shape = |carry, threads, run, statuses_per_lane| {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(Strategy { block: BlockScan::in_registers(), carry });
        (overrides.threads, overrides.run, overrides.statuses_per_lane) =
            (Some(threads), Some(run), Some(statuses_per_lane));
        overrides
    };
    let look_back = shape(Carry::LookBack, 64, 3, 1);
    let flags = [
        (" && !any_among(mask, lane, stride)", ""),
        (" && !any_among(mask_of_warps, lane, stride)", ""),
        ("head_in_warp = any_before(mask, lane);", "head_in_warp = false;"),
        ("head_in_warp || any_before(mask_of_warps, warp)", "head_in_warp"),
        ("head_in_warp || any_before(", "any_before("),
        ("restarts.anywhere = any_flag(mask_of_warps);", "restarts.anywhere = false;"),
        ("prefix_of_tile.any && !tile.restarts.before", "prefix_of_tile.any"),
        ("own.word[k] |= heads[word + 1] << (WARP - bits);", ""),
        ("(1u << RUN % WARP) - 1", "0xffffffff"),
        ("  __syncthreads(); // the elements and the heads have been written\n", ""),
        ("if (is_head(heads, k)) {\n        prefix = prefix_at(start);\n      }\n", ""),
        ("extent.begins && word == place / WARP ?", "false ?"),
        ("word[k % 4]) << 4 * k", "word[k % 4]) << 4 * (k ^ 1)"),
        ("head_flags[i] != 0 ? 1u : 0u) << i % WARP", "head_flags[i] != 0 ? 1u : 0u)"),
        ("is_prefix ? PREFIX : AGGREGATE", "AGGREGATE"),
        ("return tile.restarts.anywhere ? LATER : NO_HEAD;", "return LATER;"),
    ];
    each_is_found_in(&look_back, FLAGS, &flags);
    each_is_found_in(
        &look_back,
        BITS,
        &[
            ("extent.begins && word == place / WARP ?", "false ?"),
            ("head_bits[first / WARP]", "head_bits[first / WARP % 2]"),
        ],
    );
    let offsets = [
        ("end == 0 ? entries.first :", "end == 0 ? entries.first + 1 :"),
        (": entries.end));", ": entries.end - 1));"),
        ("  __syncthreads(); // the heads are cleared and the bounds found\n", ""),
        ("extent.begins && word == place / WARP ?", "false ?"),
        ("offsets[last] >= position", "offsets[last] > position"),
        ("low + stretch - 1)", "low + stretch)"),
    ];
    each_is_found_in(&look_back, OFFSETS, &offsets);
    each_is_found_in(
        &shape(Carry::OneBlock, 32, 5, 1),
        WIDE_KEYS,
        &[("heads[i / WARP] = word |", "heads[0] = word |")],
    );
    let look_at_all = [
        ("head == NO_HEAD ? AGGREGATE : PREFIX", "AGGREGATE"),
        ("head == NO_HEAD ? AGGREGATE : PREFIX", "PREFIX"),
        ("status == PREFIX, prefix_in_window", "false, prefix_in_window"),
        ("first > 0 && !restarts.anywhere", "first > 0"),
        ("combine(window, prefix) : window", "combine(prefix, window) : window"),
        ("first + count < tile_index ?", "false ?"),
    ];
    each_is_found_in(&shape(Carry::LookAtAll, 32, 1, 1), FLAGS, &look_at_all);
}
