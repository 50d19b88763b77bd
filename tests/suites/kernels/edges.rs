//! What short inputs of one shape leave out: words of head bits that end with the input, heads over several levels of
//! aggregates, and statuses of several packets.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use scan_codegen::{Overrides, Segments};
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers, ops};
use scan_tests::{
    emulated::{Emulator, Module, Program},
    extent::compiled_of_the_ladder,
    operators::{MatrixProduct, TestOperator, inputs, mixed},
    reference::WAYS,
    segments::{Heads, Restart, fit, places},
    strategies::{self, IN_REGISTERS, LOOK_AHEAD},
};

use super::compiled;

/// The way to tell by bits.
const BITS: usize = 2;

#[test]
fn head_bits_that_end_with_a_word_match_the_reference() {
    let in_blocks = [BlockScan::of(Network::KoggeStone), BlockScan::coarsened(Network::WarpShuffle)];
    let carries = [Carry::OneBlock, Carry::ReduceThenScan, Carry::LookBack];
    let others = in_blocks.into_iter().flat_map(|block| carries.map(|carry| Strategy { block, carry }));
    let strategies = others.chain(IN_REGISTERS).chain([LOOK_AHEAD]);
    let programs: Vec<_> = strategies
        .zip((0..4).cycle())
        .map(|(strategy, way)| {
            let (kind, with_initial_value) = WAYS[way];
            let mut overrides = Overrides::default();
            (overrides.strategy, overrides.threads) = (Some(strategy), Some(64));
            overrides.run = (strategy.block.coarsened || strategy.block.in_registers).then_some(5);
            let initial_value = with_initial_value.then(Restart::initial_value);
            Program::segmented(Restart, kind, initial_value, Segments::HeadBits, &overrides).unwrap()
        })
        .collect();
    for program in &compiled(programs) {
        let tile = program.plan.tile as usize;
        for length in [32, tile + 32, 3 * tile - 32] {
            let begins: Vec<_> = (0..length as u64).map(|i| mixed(i).is_multiple_of(7)).collect();
            let emulator = Emulator::new(length as u64).resident_blocks(usize::MAX).check(fit);
            let result = program.with_heads(Heads::new(BITS, &begins)).verify(&emulator, &places(&begins));
            result.unwrap_or_else(|error| panic!("{length} elements: {error}\n{}", program.plan));
        }
    }
}

/// Three levels of aggregates, with tiles of the second that have a head, begin with one, and have none.
#[test]
fn heads_over_three_levels_of_aggregates_match_the_reference() {
    let networks = [Network::KoggeStone, Network::Blelloch { padded: true }, Network::WarpShuffle];
    let programs: Vec<_> = networks
        .into_iter()
        .zip([WAYS[0], WAYS[2], WAYS[1]])
        .map(|(network, (kind, with_initial_value))| {
            let mut overrides = Overrides::default();
            overrides.strategy = Some(Strategy { block: BlockScan::of(network), carry: Carry::ReduceThenScan });
            overrides.threads = Some(32);
            let initial_value = with_initial_value.then(Restart::initial_value);
            Program::segmented(Restart, kind, initial_value, Segments::HeadBits, &overrides).unwrap()
        })
        .collect();
    for program in &compiled(programs) {
        let tile = program.plan.tile as usize;
        let length = 3 * tile * tile + tile + 5;
        for rare in [2 * tile * tile, tile * tile / 3, tile] {
            let begins: Vec<_> = (0..length).map(|i| i % rare == 7).collect();
            let emulator = Emulator::new(rare as u64).check(fit);
            let result = program.with_heads(Heads::new(BITS, &begins)).verify(&emulator, &places(&begins));
            result.unwrap_or_else(|error| panic!("a head in {rare}: {error}\n{}", program.plan));
        }
    }
}

/// A sum of -0.0 is -0.0, by every network and carry: no value is combined with the identity, 0.0, with which an exclusive
/// scan begins.
#[test]
fn sums_of_negative_zeros_are_negative_zeros() {
    type Op = ops::Sum<f32>;
    let of_kind = |(kind, turn)| {
        strategies::in_turn(turn).map(move |(_, strategy)| {
            let mut overrides = Overrides::default().strategy(strategy).threads(32);
            overrides.run = (strategy.block.coarsened || strategy.block.in_registers).then_some(4);
            Program::<Op>::new(ops::sum(), kind, None, &overrides).unwrap()
        })
    };
    let kinds = [(ScanKind::Inclusive, 0), (ScanKind::Exclusive, 1)];
    for program in &compiled_of_the_ladder(kinds.into_iter().flat_map(of_kind)) {
        let tile = program.plan.tile as usize;
        for length in [1, tile - 3, tile, 3 * tile + 5] {
            let length = length.min(program.plan.max_len as usize);
            let emulator = Emulator::new(length as u64).resident_blocks(usize::MAX);
            let result = program.verify(&emulator, &vec![-0.0; length]);
            let output = result.unwrap_or_else(|error| panic!("{length} elements: {error}\n{}", program.plan)).output;
            assert!(output[1..].iter().all(|sum| sum.to_bits() == (-0.0_f32).to_bits()), "{}", program.plan);
        }
    }
}

/// A status of several packets, of which the last has words to spare: it counts once all of them have come, not just the first and the
/// last.
#[test]
fn a_status_counts_once_all_of_its_packets_have_arrived() {
    type Op = MatrixProduct<4>;
    let carries = [Carry::Chained(TileNumbers::Counter), Carry::LookBack];
    let programs = carries.map(|carry| {
        let mut overrides = Overrides::default();
        let block = BlockScan::of(Network::KoggeStone);
        (overrides.strategy, overrides.threads) = (Some(Strategy { block, carry }), Some(32));
        Program::<Op>::new(Op::new(), ScanKind::Inclusive, None, &overrides).unwrap()
    });
    Module::compile(&programs.each_ref().map(|program| &program.source)).unwrap();
    let input = inputs::<Op>(14 * 32);
    for program in &programs {
        for seed in 0..12 {
            let emulator = Emulator::new(seed).interrupt_once_in(3).resident_blocks(usize::MAX);
            // Memory that no run has left a status in.
            let result = program.clone().verify(&emulator, &input);
            result.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", program.plan));
        }
    }
}
