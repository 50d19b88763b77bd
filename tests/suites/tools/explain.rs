//! What `explain` tells and draws is what the kernels did.

use scan_codegen::Overrides;
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers, WarpNetwork, Workers};
use scan_tests::{
    emulated::{Emulator, Program},
    explain::{NetworkTrace, numbers, picture, steps},
    operators::{Permute, TestOperator},
    reference,
};

const BRENT_KUNG: Network = Network::BrentKung { workers: Workers::Contiguous, padded: true };

/// A scan of an operator that is not commutative, and its network.
fn network(block: BlockScan, carry: Carry, kind: ScanKind, length: u64) -> (Program<Permute>, NetworkTrace) {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block, carry });
    overrides.threads = Some(32);
    overrides.run = block.coarsened.then_some(3);
    let program = Program::new(Permute::new(), kind, None, &overrides).unwrap();
    let input: Vec<_> = (0..length).map(Permute::input).collect();
    let trace = program.verify(&Emulator::new(2).trace(), &input).unwrap().trace.unwrap();
    let padded = block.network.is_padded() && !block.coarsened;
    let position = move |slot: u64| if padded { slot - slot / 33 } else { slot };
    let network = NetworkTrace::new(trace, length, program.plan.tile, &position);
    (program, network)
}

/// The applications of each step, as (left operand's column, column of the result).
fn lines(network: &NetworkTrace) -> Vec<Vec<(u64, u64)>> {
    let step = |step: &scan_tests::explain::Step| {
        let lines = step.applications.iter().map(|one| {
            assert_eq!(one.operands[1], Some(one.column), "the right operand stands where the result goes");
            (one.operands[0].unwrap(), one.column)
        });
        lines.collect()
    };
    network.steps.iter().map(step).collect()
}

#[test]
fn kogge_stone_is_the_network_of_the_literature() {
    let (_, network) = network(BlockScan::of(Network::KoggeStone), Carry::OneBlock, ScanKind::Inclusive, 16);
    let expected: Vec<Vec<(u64, u64)>> =
        [1, 2, 4, 8].iter().map(|&stride| (stride..16).map(|i| (i - stride, i)).collect()).collect();
    assert_eq!(lines(&network), expected);
}

#[test]
fn brent_kung_is_the_network_of_the_literature() {
    let (_, network) = network(BlockScan::of(BRENT_KUNG), Carry::OneBlock, ScanKind::Inclusive, 16);
    let every_other = |first: u64, stride: u64| -> Vec<(u64, u64)> {
        (first..16).step_by(2 * stride as usize).map(|i| (i - stride, i)).collect()
    };
    let expected = [
        every_other(1, 1),
        every_other(3, 2),
        every_other(7, 4),
        every_other(15, 8),
        every_other(11, 4),
        every_other(5, 2),
        every_other(2, 1),
    ];
    assert_eq!(lines(&network), expected);
}

/// The networks of a warp over 8 lanes, as their texts draw them.
#[test]
fn networks_of_a_warp_are_those_of_the_literature() {
    let drawn: [&[&[(u64, u64)]]; 5] = [
        &[
            &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)],
            &[(0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7)],
            &[(0, 4), (1, 5), (2, 6), (3, 7)],
        ],
        &[&[(0, 1), (2, 3), (4, 5), (6, 7)], &[(1, 2), (1, 3), (5, 6), (5, 7)], &[(3, 4), (3, 5), (3, 6), (3, 7)]],
        &[&[(0, 1), (2, 3), (4, 5), (6, 7)], &[(1, 3), (5, 7)], &[(3, 5), (3, 7)], &[(1, 2), (3, 4), (5, 6)]],
        &[&[(0, 1), (2, 3), (4, 5), (6, 7)], &[(1, 3), (3, 5), (5, 7)], &[(1, 5), (3, 7)], &[(1, 2), (3, 4), (5, 6)]],
        &[&[(0, 1), (2, 3), (4, 5), (6, 7)], &[(1, 3), (5, 7)], &[(3, 7)], &[(3, 5)], &[(1, 2), (3, 4), (5, 6)]],
    ];
    for (warp, drawn) in WarpNetwork::ALL.into_iter().zip(drawn) {
        let block = BlockScan::of(Network::WarpShuffle).over_warps(warp);
        let (_, network) = network(block, Carry::OneBlock, ScanKind::Inclusive, 8);
        // No barrier is between the steps of a warp, so that the trace has what a lane applies first, second, …
        let mut expected: Vec<(u64, u64)> = drawn.iter().flat_map(|step| step.iter().copied()).collect();
        let mut found: Vec<(u64, u64)> = lines(&network).into_iter().flatten().collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{warp}");
    }
}

/// Whatever the strategy: operands are neighbours, outputs cover what they must, and the values, followed along the trace by
/// the operator's Rust body, end as the scan's.
#[test]
fn every_application_combines_adjacent_operands() {
    let cases = [
        (BlockScan::of(Network::Sequential), Carry::OneBlock, ScanKind::Inclusive, 20),
        (BlockScan::of(Network::HillisSteele), Carry::OneBlock, ScanKind::Inclusive, 30),
        (BlockScan::of(Network::Blelloch { padded: true }), Carry::OneBlock, ScanKind::Exclusive, 64),
        (BlockScan::of(Network::WarpShuffle), Carry::OneBlock, ScanKind::Inclusive, 32),
        (BlockScan::coarsened(BRENT_KUNG), Carry::OneBlock, ScanKind::Inclusive, 90),
        (BlockScan::of(Network::KoggeStone), Carry::OneBlock, ScanKind::Inclusive, 100),
        (BlockScan::of(Network::KoggeStone), Carry::ReduceThenScan, ScanKind::Exclusive, 100),
        (BlockScan::coarsened(Network::KoggeStone), Carry::LookBack, ScanKind::Inclusive, 300),
        (BlockScan::of(BRENT_KUNG), Carry::Chained(TileNumbers::Counter), ScanKind::Exclusive, 200),
    ];
    for (block, carry, kind, length) in cases {
        let (program, network) = network(block, carry, kind, length);
        for one in network.steps.iter().flat_map(|step| &step.applications) {
            if let [Some((_, end)), Some((start, _))] = one.covered {
                assert_eq!(end + 1, start, "{block}; {carry}: {one:?}");
            }
        }
        for (index, covered) in (0..length).zip(&network.outputs) {
            let expected = match kind {
                ScanKind::Inclusive => Some((0, index)),
                ScanKind::Exclusive => index.checked_sub(1).map(|last| (0, last)),
            };
            // What stands in a message between blocks is not followed.
            assert_eq!(network.is_whole(), !matches!(carry, Carry::Chained(_) | Carry::LookBack), "{block}; {carry}");
            if network.is_whole() {
                assert_eq!(*covered, expected, "{block}; {carry}, {index}");
            }
        }
        if length <= u64::from(program.plan.tile) {
            let input: Vec<_> = (0..length).map(Permute::input).collect();
            let last = network.values(&program.op, &input).pop().unwrap();
            let values: Vec<_> = last.into_iter().flatten().collect();
            assert_eq!(values, reference::scan(&program.op, kind, None, &input), "{block}; {carry}");
        }
    }
}

#[test]
fn a_picture_has_a_node_for_every_application_with_its_interval() {
    let (program, network) = network(BlockScan::of(BRENT_KUNG), Carry::OneBlock, ScanKind::Inclusive, 16);
    let svg = picture(&network, "Brent-Kung", 2);
    assert_eq!(svg.matches("class=\"node\"").count(), 26);
    assert_eq!(svg.matches("class=\"thread\"").count(), 7);
    assert_eq!(svg.matches("class=\"operand\"").count(), 26);
    // In the tree on the way up and down, and as the results.
    for (interval, times) in [("[0,15]", 2), ("[8,15]", 1), ("[0,11]", 2), ("[8,11]", 1), ("[0]", 1)] {
        assert_eq!(svg.matches(&format!(">\n{interval}\n<")).count(), times, "{interval}: {svg}");
    }
    let input: Vec<_> = (0..16).map(Permute::input).collect();
    let printed = steps(&network, &program.op, &input, numbers);
    assert!(printed.contains("step 7: 7 applications"), "{printed}");
    assert!(printed.contains("place  15 gets 0..15: (0..7) in place 7 ∘ (8..15) in place 15"), "{printed}");
}
