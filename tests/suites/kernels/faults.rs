//! Faults planted into generated kernels, one at a time: the emulator finds each, and names its kind.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::Overrides;
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers, ops};
use scan_tests::{
    emulated::{Access, Emulator, EmulatorError, FaultKind, Module, Program},
    extent::{is_long, one_in},
    operators::{BROKEN, COVERS, EMPTY, Interval, Span, TestOperator},
    planted::FEW,
    strategies,
};

/// Kogge-Stone blocks of 32 threads, so that short inputs have several tiles and levels.
fn program(carry: Carry, kind: ScanKind, with_initial_value: bool) -> Program<Interval> {
    program_of(BlockScan::of(Network::KoggeStone), carry, kind, with_initial_value, 32)
}

fn program_of(
    block: BlockScan,
    carry: Carry,
    kind: ScanKind,
    with_initial_value: bool,
    threads: u32,
) -> Program<Interval> {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block, carry });
    overrides.threads = Some(threads);
    let initial_value = with_initial_value.then(Interval::initial_value);
    Program::new(Interval, kind, initial_value, &overrides).unwrap()
}

fn reduce_then_scan() -> Program<Interval> {
    program(Carry::ReduceThenScan, ScanKind::Inclusive, false)
}

/// Changes the only place in the text with `from`.
fn plant(mut program: Program<Interval>, from: &str, to: &str) -> Program<Interval> {
    let text = &program.source.text;
    assert_eq!(text.matches(from).count(), 1, "`{from}` must stand in the text once:\n{text}");
    program.source.text = text.replace(from, to);
    program
}

fn emulator(seed: u64) -> Emulator {
    Emulator::new(seed).check(|a: &Span, b: &Span| {
        let adjacent = a.kind == COVERS && b.kind == COVERS && a.last + 1 == b.first;
        a.kind != BROKEN && b.kind != BROKEN && (a.kind == EMPTY || b.kind == EMPTY || adjacent)
    })
}

fn input(length: u64) -> Vec<Span> {
    (0..length).map(Interval::input).collect()
}

const LENGTH: u64 = 1_500;

/// The faults that the emulator finds with each of several seeds. Each run has fresh memory, because the results of an
/// earlier one could pass for its own.
fn faults(program: &Program<Interval>) -> Vec<(FaultKind, u32, String)> {
    (0..6)
        .map(|seed| match program.clone().verify(&emulator(seed).resident_blocks(1 + seed as usize), &input(LENGTH)) {
            Err(EmulatorError::Fault(fault)) => (fault.kind.clone(), fault.place.line, fault.to_string()),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("seed {seed}: nothing was found in\n{}", program.source.text),
        })
        .collect()
}

/// The number of the only line that contains this.
fn line_of(program: &Program<Interval>, part: &str) -> u32 {
    let mut lines = program.source.text.lines().zip(1..).filter(|(line, _)| line.contains(part));
    let (_, number) = lines.next().unwrap();
    assert!(lines.next().is_none(), "`{part}` stands in several lines");
    number
}

fn assert_faults(program: &Program<Interval>, is_expected: impl Fn(&FaultKind) -> bool) {
    for (kind, _, text) in faults(program) {
        assert!(is_expected(&kind), "{text}");
    }
}

#[test]
fn unchanged_kernels_have_no_fault() {
    let chained = program(Carry::Chained(TileNumbers::Counter), ScanKind::Inclusive, false);
    for program in
        [reduce_then_scan(), program(Carry::ReduceThenScan, ScanKind::Exclusive, true), by_flags(FENCED), chained]
    {
        for seed in 0..6 {
            let emulator = emulator(seed).interrupt_once_in(8).resident_blocks(1 + seed as usize);
            program.verify(&emulator, &input(LENGTH)).unwrap();
        }
    }
}

#[test]
fn a_missing_barrier_is_a_race() {
    let program = plant(reduce_then_scan(), "__syncthreads(); // this step has been read", "");
    let lines = [line_of(&program, "combine(x[i - stride], x[i])"), line_of(&program, "x[i] = partial;")];
    for (kind, line, text) in faults(&program) {
        let FaultKind::Race { spot, other, .. } = kind else { panic!("{text}") };
        assert_eq!(spot.buffer, "shared values", "{text}");
        assert!(lines.contains(&line) && lines.contains(&other.line), "{text}");
        assert!(text.contains("in interval_reduce_tiles (interval.cu, line "), "{text}");
    }
}

#[test]
fn two_writers_are_a_race() {
    let program = plant(
        reduce_then_scan(),
        "  if (threadIdx.x == 0) {\n    put_aggregate(aggregates, ",
        "  {\n    put_aggregate(aggregates, ",
    );
    assert_faults(&program, |kind| {
        matches!(kind, FaultKind::Race { access: Access::Write, other_access: Access::Write, .. })
    });
}

#[test]
fn a_read_of_unwritten_shared_memory_is_found_with_its_place() {
    let from = "for (unsigned i = threadIdx.x; i < elements; i += THREADS) {\n    const size_t index = extent.start + place_of(i, TILE);\n    Prefix prefix";
    let program = plant(reduce_then_scan(), from, &from.replace("threadIdx.x;", "threadIdx.x + 1;"));
    let line = line_of(&program, "combine(x[i - stride], x[i])");
    for (kind, found, text) in faults(&program) {
        let FaultKind::Uninitialised { spot: Some(spot) } = kind else { panic!("{text}") };
        assert_eq!((spot.buffer.as_str(), spot.index, found), ("shared values", 0, line), "{text}");
    }
}

#[test]
fn a_variable_without_a_value_is_found() {
    let program = plant(
        reduce_then_scan(),
        "    if (combines) {\n      x[i] = partial;",
        "    if (i < count) {\n      x[i] = partial;",
    );
    assert_faults(&program, |kind| *kind == FaultKind::Uninitialised { spot: None });
}

#[test]
fn a_load_beyond_the_input_is_found_with_its_place() {
    let program =
        plant(reduce_then_scan(), "n - start < tile_length() ? (unsigned)(n - start) : tile_length()", "TILE");
    let line = line_of(&program, "append_input(op, prefix, source.input[index]);");
    for (kind, found, text) in faults(&program) {
        let FaultKind::OutOfBounds { access: Access::Read, spot, length: LENGTH } = kind else { panic!("{text}") };
        assert_eq!((spot.buffer.as_str(), found), ("input", line), "{text}");
        assert!((LENGTH as i64..LENGTH as i64 + 32).contains(&spot.index), "{text}");
    }
}

#[test]
fn swapped_operands_are_found() {
    for (from, to) in [
        ("combine(x[i - stride], x[i])", "combine(x[i], x[i - stride])"),
        ("combine(prefix.value, state)", "combine(state, prefix.value)"),
        ("combine(prefix, aggregates[start + i])", "combine(aggregates[start + i], prefix)"),
    ] {
        let program = plant(reduce_then_scan(), from, to);
        assert_faults(&program, |kind| matches!(kind, FaultKind::Operands { .. }));
    }
}

#[test]
fn an_operator_that_combines_padding_is_found() {
    // Padding that nothing has written, and padding that holds some element.
    let unwritten = plant(reduce_then_scan(), "stride <= i && i < count", "stride <= i");
    assert_faults(&unwritten, |kind| matches!(kind, FaultKind::Uninitialised { spot: Some(_) }));
    let from =
        "i < elements; i += THREADS) {\n    const size_t index = extent.start + place_of(i, TILE);\n    Prefix prefix";
    let to =
        "i < TILE; i += THREADS) {\n    const size_t index = extent.start + (i < elements ? i : 0);\n    Prefix prefix";
    let written = plant(unwritten, from, to);
    assert_faults(&written, |kind| matches!(kind, FaultKind::Operands { .. }));
}

#[test]
fn an_initial_value_for_each_tile_is_found() {
    let program = program(Carry::ReduceThenScan, ScanKind::Inclusive, true);
    let from = "shared_prefix = combine_after(op, prefix, aggregates[blockIdx.x - 1]);";
    assert_faults(&plant(program, from, "shared_prefix = prefix.value;"), |kind| {
        matches!(kind, FaultKind::Operands { .. })
    });
}

#[test]
fn a_wrong_exclusive_shift_at_the_edge_of_a_tile_is_found() {
    let program = || program(Carry::ReduceThenScan, ScanKind::Exclusive, false);
    let first = "begins ? prefix_at(start) : reaching";
    let forgotten = plant(program(), first, "begins ? prefix_at(start) : no_prefix()");
    assert_faults(&forgotten, |kind| matches!(kind, FaultKind::WrongOutput { index: 32, .. }));
    // The shift reaches over the edge into the tile before, which another block has.
    assert_faults(
        &plant(program(), "if (begins || i == 0) {", "if (begins) {"),
        |kind| matches!(kind, FaultKind::OutOfBounds { spot, .. } if spot.buffer == "shared values" && spot.index == i64::from(0_u32.wrapping_sub(1))),
    );
}

#[test]
fn an_output_that_is_not_written_is_found() {
    let stored = "output[index] = output_at(";
    let program = plant(reduce_then_scan(), stored, &format!("if (index != 77) {stored}"));
    assert_faults(&program, |kind| *kind == FaultKind::NotWritten { index: 77 });
}

#[test]
fn a_barrier_that_not_all_threads_reach_is_found() {
    let after = "    __syncthreads(); // this step has been read\n";
    let divergent =
        plant(reduce_then_scan(), after, &format!("{after}    if (i < 16) {{\n      __syncthreads();\n    }}\n"));
    assert_faults(&divergent, |kind| matches!(kind, FaultKind::Barrier { returned: false, .. }));
    let returned =
        plant(reduce_then_scan(), after, &format!("{after}    if (i == 5) {{\n      return x[0];\n    }}\n"));
    assert_faults(&returned, |kind| matches!(kind, FaultKind::Barrier { returned: true, .. }));
}

#[test]
fn a_shuffle_that_not_all_lanes_reach_is_found() {
    let program =
        program_of(BlockScan::of(Network::WarpShuffle), Carry::ReduceThenScan, ScanKind::Inclusive, false, 32);
    let from = "prefix = scan_warp(op, prefix, lane, values, mask);";
    let program = plant(program, from, &format!("if (lane < values) {{ {from} }}"));
    // The last tile is not full.
    assert_faults(&program, |kind| matches!(kind, FaultKind::Warp { .. } | FaultKind::Barrier { .. }));
}

#[test]
fn a_status_read_before_all_its_packets_are_published_is_found() {
    let program = program(Carry::Chained(TileNumbers::Counter), ScanKind::Inclusive, false);
    let program = plant(program, "whole = whole && packet.tag == tag;", "");
    // Whether a packet is read before the other is published depends on the seed; some seed shows it.
    let found = (0..40).any(|seed| {
        matches!(program.verify(&emulator(seed), &input(LENGTH)), Err(EmulatorError::Fault(fault))
            if matches!(fault.kind, FaultKind::Operands { .. } | FaultKind::WrongOutput { .. }))
    });
    assert!(found);
}

#[test]
fn tiles_by_block_index_with_one_resident_block_are_a_deadlock() {
    let program = program(Carry::Chained(TileNumbers::BlockIndex), ScanKind::Inclusive, false);
    let line = line_of(&program, "load_relaxed(&from->packets[k])");
    for seed in 0..6 {
        let Err(EmulatorError::Fault(fault)) = program.verify(&emulator(seed).resident_blocks(1), &input(LENGTH))
        else {
            panic!("seed {seed}")
        };
        assert!(matches!(fault.kind, FaultKind::Deadlock { blocks_not_started: 1.. }), "{fault}");
        assert_eq!(fault.place.line, line);
    }
    // With all blocks resident there is no deadlock.
    program.verify(&emulator(0).resident_blocks(1_000), &input(LENGTH)).unwrap();
}

/// The protocols of [`by_flags`]: how a block publishes its prefix, and how the next one polls for it.
const FENCED: (&str, &str) = (
    "slots[number].value = sum; fence(); store_relaxed(&slots[number].flag, epoch);",
    "while (load_relaxed(&before->flag) != epoch) { pause(); } fence();",
);
const RELEASED: (&str, &str) = (
    "slots[number].value = sum; store_release(&slots[number].flag, epoch);",
    "while (load_acquire(&before->flag) != epoch) {}",
);

/// A chained scan as it is first written, by a flag beside the value, one thread a tile.
fn by_flags((publish, poll): (&str, &str)) -> Program<Interval> {
    let mut program = program(Carry::Chained(TileNumbers::Counter), ScanKind::Inclusive, false);
    program.plan.programmatic = false; // this kernel does not wait for what is before it
    let text = &program.source.text;
    let end = text.find("constexpr unsigned").unwrap();
    let end = text[..end].rfind("};\n").unwrap() + 3;
    let publish = publish.replace("slots[number].value", "slot->value").replace("slots[number].flag", "slot->flag");
    program.source.text = format!(
        "{}
struct Slot {{
  Input value;
  unsigned flag;
}};
extern \"C\" __global__ void interval_scan_chained(
    const Op op, const Input* input, Output* output, unsigned long long* turns, Slot* slots, size_t room, size_t n) {{
  if (threadIdx.x > 0) {{
    return;
  }}
  const unsigned long long turn = fetch_ticket(turns);
  const unsigned number = (unsigned)turn, epoch = (unsigned)(turn >> 32) + 1; // fresh flags are 0
  if (number == gridDim.x - 1) {{
    store_relaxed(turns, (unsigned long long)epoch << 32);
  }}
  const size_t start = (size_t)number * 32, end = start + 32 < n ? start + 32 : n;
  State sum = input[start];
  for (size_t i = start + 1; i < end; i++) {{
    sum = op.combine(sum, input[i]);
  }}
  State so_far;
  if (number > 0) {{
    Slot* before = slots + number - 1;
    {poll}
    so_far = before->value;
    sum = op.combine(so_far, sum);
  }}
  Slot* slot = slots + number;
  {publish}
  for (size_t i = start; i < end; i++) {{
    if (i == 0) {{
      so_far = input[0];
    }} else {{
      so_far = op.combine(so_far, input[i]);
    }}
    output[i] = so_far;
  }}
}}
",
        &text[..end]
    );
    program
}

#[test]
fn a_flag_published_before_its_value_is_found() {
    for protocol in [FENCED, RELEASED] {
        for seed in 0..6 {
            by_flags(protocol).verify(&emulator(seed), &input(LENGTH)).unwrap();
        }
    }
    let planted = [
        // The flag first, then the value.
        ("store_release(&slots[number].flag, epoch); slots[number].value = sum;", RELEASED.1),
        ("fence(); store_relaxed(&slots[number].flag, epoch); slots[number].value = sum;", FENCED.1),
        // In order, but nothing makes others see them in order.
        ("slots[number].value = sum; store_relaxed(&slots[number].flag, epoch);", FENCED.1),
        (FENCED.0, "while (load_relaxed(&before->flag) != epoch) { pause(); }"),
        (RELEASED.0, "while (load_relaxed(&before->flag) != epoch) { pause(); }"),
    ];
    for protocol in planted {
        let program = by_flags(protocol);
        for (kind, _, text) in faults(&program) {
            let found = match &kind {
                FaultKind::Race { spot, .. } | FaultKind::Uninitialised { spot: Some(spot) } => {
                    spot.buffer.starts_with("workspace")
                }
                FaultKind::Operands { .. } => true, // of the zeros that were there before
                _ => false,
            };
            assert!(found, "{protocol:?}: {text}");
        }
    }
}

#[test]
fn a_value_and_a_flag_by_relaxed_stores_need_both_fences() {
    // No access is a race, but the hardware may show the flag before the value.
    let publish = "unsigned long long words[3]; memcpy(words, &sum, 24); for (int k = 0; k < 3; k++) { \
                store_relaxed(&slots[number].word[k], words[k]); } FENCE store_relaxed(&slots[number].flag, epoch);";
    let poll = "while (load_relaxed(&before->flag) != epoch) { pause(); } FENCE unsigned long long words[3]; \
                for (int k = 0; k < 3; k++) { words[k] = load_relaxed(&before->word[k]); } memcpy(&so_far, words, 24);";
    for (publish_fence, poll_fence) in [("fence();", "fence();"), ("", "fence();"), ("fence();", ""), ("", "")] {
        let protocol = (&*publish.replace("FENCE", publish_fence), &*poll.replace("FENCE", poll_fence));
        let mut program = by_flags(protocol);
        let text = &program.source.text;
        let text = text
            .replace("slots[number].word", "slot->word")
            .replace("  Input value;\n", "  unsigned long long word[3];\n");
        program.source.text = text.replace("    so_far = before->value;\n", "");
        let found = (0..10).find_map(|seed| program.clone().verify(&emulator(seed), &input(LENGTH)).err());
        if (publish_fence, poll_fence) == ("fence();", "fence();") {
            assert!(found.is_none(), "{}", found.unwrap());
        } else {
            let Some(EmulatorError::Fault(fault)) = found else { panic!("{protocol:?}: {found:?}") };
            assert!(matches!(fault.kind, FaultKind::Operands { .. } | FaultKind::WrongOutput { .. }), "{fault}");
        }
    }
}

#[test]
fn an_endless_loop_is_found() {
    let program = plant(reduce_then_scan(), "stride < count; stride *= 2", "stride < count;");
    let emulator = emulator(0).limit(100_000);
    let Err(EmulatorError::Fault(fault)) = program.verify(&emulator, &input(LENGTH)) else { panic!() };
    assert!(matches!(fault.kind, FaultKind::Endless | FaultKind::Operands { .. }), "{fault}");
}

/// The name of the variable that has [`an_endless_loop_without_accesses_ends_the_process_with_its_place`] run the loop.
const ENDLESS: &str = "SCAN_TESTS_ENDLESS_LOOP";

/// A loop without accesses is ended by the watchdog, not by a count of accesses. The watchdog ends the process, so
/// another process runs the loop.
#[test]
fn an_endless_loop_without_accesses_ends_the_process_with_its_place() {
    if std::env::var_os(ENDLESS).is_some() {
        let place = "const unsigned elements = (unsigned)n;";
        let program = plant(reduce_then_scan(), place, &format!("{place}\n  for (unsigned k = 1; k > 0; k |= 1) {{}}"));
        let emulator = emulator(0).patience(std::time::Duration::from_secs(1));
        panic!("{:?}", program.verify(&emulator, &input(10)).err());
    }
    let mut test = std::process::Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "faults::an_endless_loop_without_accesses_ends_the_process_with_its_place", "--nocapture"])
        .env(ENDLESS, "1");
    let output = test.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(message.contains("interval_scan_block") && message.contains("an endless loop?"), "{message}");
}

#[test]
fn code_beyond_the_dialect_is_refused() {
    const PLACE: &str = "const unsigned elements = (unsigned)n;";
    for unknown in [
        "auto first = tile[0];",
        "atomicAdd(output, 1);",
        "asm volatile(\"\");",
        "static int calls;",
        "extern __shared__ Span more[];",
    ] {
        let program = plant(reduce_then_scan(), PLACE, &format!("{PLACE}\n  {unknown}"));
        let result = program.run(&emulator(0), &input(10));
        assert!(matches!(result, Err(EmulatorError::Unsupported { .. })), "{unknown}: {result:?}");
    }
}

/// A program for each part of the ladder, and the part of its text in which mutants are made.
fn parts() -> Vec<(Program<Interval>, std::ops::Range<usize>)> {
    let carries = [Carry::ReduceThenScan, Carry::Chained(TileNumbers::Counter), Carry::LookBack];
    // Exclusive scans read their left neighbour's partial result, which needs one more barrier.
    let of_network = |network| (BlockScan::of(network), Carry::OneBlock, ScanKind::Exclusive);
    let blelloch = Network::Blelloch { padded: false };
    let mut chosen: Vec<_> = strategies::NETWORKS.into_iter().map(of_network).collect();
    chosen.push((BlockScan::of(blelloch), Carry::OneBlock, ScanKind::Inclusive));
    chosen.push((BlockScan::coarsened(Network::KoggeStone), Carry::OneBlock, ScanKind::Inclusive));
    chosen.push((BlockScan::coarsened(blelloch), Carry::OneBlock, ScanKind::Inclusive));
    chosen.extend(carries.map(|carry| (BlockScan::of(Network::KoggeStone), carry, ScanKind::Exclusive)));
    let with_range = |(block, carry, kind)| {
        // Two warps, so that what happens between warps matters.
        let program = program_of(block, carry, kind, true, 64);
        let text = &program.source.text;
        // The kernel for inputs of a single tile, which the other carries have too, is there as a program of its own.
        let start = match carry {
            Carry::OneBlock => text.find("// ---- The tile").unwrap(),
            _ => {
                let single = text.find("interval_scan_block(").unwrap();
                single + text[single..].find("\n}\n").unwrap()
            }
        };
        let range = start..text.len();
        (program, range)
    };
    chosen.into_iter().map(with_range).collect()
}

/// The mutants that no run distinguishes from the original.
fn survivors<T: Clone>(mutants: &[(T, Program<Interval>)]) -> Vec<T> {
    let sources: Vec<_> = mutants.iter().map(|(_, mutant)| &mutant.source).collect();
    Module::compile(&sources).unwrap();
    let survives = |program: &Program<Interval>| {
        let lengths = [LENGTH, 65, 128, 140, 5_000, 1_025];
        (0..24).all(|seed: usize| {
            // With many resident blocks, a block looks back over more than one window.
            let resident = [1, 2, 4, 7, 100][seed % 5];
            let emulator = emulator(seed as u64).resident_blocks(resident).interrupt_once_in(5);
            program.verify(&emulator, &input(lengths[seed % lengths.len()])).is_ok()
        })
    };
    mutants.iter().filter(|(_, mutant)| survives(mutant)).map(|(what, _)| what.clone()).collect()
}

/// Barriers that no result needs, because the same threads work before and after them. They mark the end of a phase,
/// and cost next to nothing. Each with the line after it.
const SPARE_BARRIERS: [(&str, &str); 3] = [
    ("Hillis-Steele in the block; one block", "if (i < count) {"),
    ("warp shuffles in the block; one block", "if (i < count) {"),
    ("Blelloch in the block; one block", "for (unsigned k = 0; k < 2; k++) {"),
];

/// Every barrier of every part of the ladder, left out on its own: some run shows it, unless it is known to be spare.
#[test]
fn every_barrier_left_out_is_found_unless_spare() {
    let mut mutants = Vec::new();
    for (program, range) in parts() {
        let text = &program.source.text;
        for (place, barrier) in text.match_indices("__syncthreads();").filter(|(place, _)| range.contains(place)) {
            let (before, after) = (&text[..place], &text[place + barrier.len()..]);
            let next_line = after.lines().nth(1).unwrap_or_default().trim().to_owned();
            let mut mutant = program.clone();
            mutant.source.text = format!("{before}{after}");
            mutants.push(((program.plan.strategy.to_string(), next_line), mutant));
        }
    }
    assert!(mutants.len() > 70, "{} mutants", mutants.len());
    let mutants: Vec<_> = one_in(FEW, mutants).collect();
    let survivors = survivors(&mutants);
    let mut survivors: Vec<(&str, &str)> = survivors.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    if !is_long() {
        survivors.extend(SPARE_BARRIERS.iter().filter(|barrier| !survivors.contains(barrier)).collect::<Vec<_>>());
        survivors.sort_by_key(|barrier| SPARE_BARRIERS.iter().position(|spare| spare == barrier));
    }
    assert_eq!(survivors, SPARE_BARRIERS);
}

/// Every application of the operator in every part of the ladder, with its operands swapped: some run shows it.
#[test]
fn operands_swapped_at_any_call_are_found() {
    let mut mutants = Vec::new();
    for (program, range) in parts() {
        let text = &program.source.text;
        for (place, call) in text.match_indices(".combine(").filter(|(place, _)| range.contains(place)) {
            let start = place + call.len();
            let mut depth = 0;
            let mut comma = None;
            let end = text[start..].char_indices().find_map(|(index, c)| {
                match c {
                    '(' | '[' => depth += 1,
                    ')' | ']' if depth > 0 => depth -= 1,
                    ',' if depth == 0 => comma = Some(start + index),
                    ')' => return Some(start + index),
                    _ => {}
                }
                None
            });
            let (comma, end) = (comma.unwrap(), end.unwrap());
            let (left, right) = (&text[start..comma], text[comma + 1..end].trim_start());
            let mut mutant = program.clone();
            mutant.source.text = format!("{}{right}, {left}{}", &text[..start], &text[end..]);
            mutants.push(((program.plan.strategy.to_string(), format!("combine({left}, {right})")), mutant));
        }
    }
    assert!(mutants.len() > 40, "{} mutants", mutants.len());
    let mutants: Vec<_> = one_in(FEW, mutants).collect();
    assert_eq!(survivors(&mutants), []);
}

/// A read beyond an array in a local structure, of which it is the last field.
#[test]
fn an_index_beyond_a_threads_own_array_is_found() {
    let program = program_of(BlockScan::in_registers(), Carry::OneBlock, ScanKind::Inclusive, false, 32);
    let program = plant(program, "= opaque_word(words.word[k])", "= opaque_word(words.word[k + 1000])");
    assert_faults(&program, |kind| matches!(kind, FaultKind::OwnArray { index: 1000.. }));
}

/// A CPU takes the number of bits modulo that of the value, a GPU does not.
#[test]
fn a_shift_by_more_bits_than_the_type_has_is_found() {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block: BlockScan::in_registers(), carry: Carry::OneBlock });
    let mut program = Program::new(ops::sum::<u8>(), ScanKind::Inclusive, None, &overrides).unwrap();
    let place = ">> bytes % 4 * 8)";
    assert!(program.source.text.contains(place), "{}", program.source.text);
    program.source.text = program.source.text.replace(place, ">> (bytes % 4 * 8 + 64))");
    let found = program.verify_at_offset(&Emulator::new(1), &[1; 100], (1, 0));
    let Err(EmulatorError::Fault(fault)) = found else { panic!() };
    assert!(matches!(fault.kind, FaultKind::Shift { by: 64.. }), "{fault}");
}
