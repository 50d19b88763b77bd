//! What the README shows: the table of counts, and two networks.

use std::fmt::Write;

use scan_codegen::{Count, Overrides};
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers, WarpNetwork, Workers, ops};

use super::{
    banks::{ADDRESSING_CYCLES, TreeAccesses, tree_banks},
    counts::{Counts, parallel_steps},
    network::NetworkTrace,
    picture::{picture, title},
};
use crate::emulated::{Banks, Emulator, EmulatorError, Program};

/// The length that the table is about.
const COUNTS_LENGTH: u32 = 1024;

const BRENT_KUNG: Network = Network::BrentKung { workers: Workers::Contiguous, padded: false };

const fn over_warps(network: WarpNetwork) -> BlockScan {
    BlockScan::of(Network::WarpShuffle).over_warps(network)
}

/// The rungs of the table: a name, how a block scans, how tiles carry, threads of a block.
const RUNGS: &[(&str, BlockScan, Carry, u32)] = &[
    ("sequential", BlockScan::of(Network::Sequential), Carry::OneBlock, 1024),
    ("naive", BlockScan::of(Network::Naive), Carry::OneBlock, 1024),
    ("Kogge-Stone", BlockScan::of(Network::KoggeStone), Carry::OneBlock, 1024),
    ("Hillis-Steele", BlockScan::of(Network::HillisSteele), Carry::OneBlock, 1024),
    ("Brent-Kung", BlockScan::of(BRENT_KUNG), Carry::OneBlock, 512),
    (
        "Brent-Kung, padded",
        BlockScan::of(Network::BrentKung { workers: Workers::Contiguous, padded: true }),
        Carry::OneBlock,
        512,
    ),
    ("Blelloch, exclusive", BlockScan::of(Network::Blelloch { padded: false }), Carry::OneBlock, 512),
    ("Blelloch, exclusive, padded", BlockScan::of(Network::Blelloch { padded: true }), Carry::OneBlock, 512),
    ("warp shuffles", BlockScan::of(Network::WarpShuffle), Carry::OneBlock, 1024),
    ("warp shuffles, Sklansky", over_warps(WarpNetwork::Sklansky), Carry::OneBlock, 1024),
    ("warp shuffles, Ladner-Fischer", over_warps(WarpNetwork::LadnerFischer), Carry::OneBlock, 1024),
    ("warp shuffles, Han-Carlson", over_warps(WarpNetwork::HanCarlson), Carry::OneBlock, 1024),
    ("warp shuffles, Brent-Kung", over_warps(WarpNetwork::BrentKung), Carry::OneBlock, 1024),
    ("9 a thread, then Kogge-Stone", BlockScan::coarsened(Network::KoggeStone), Carry::OneBlock, 128),
    ("9 a thread, then warp shuffles", BlockScan::coarsened(Network::WarpShuffle), Carry::OneBlock, 128),
    ("Kogge-Stone, 4 tiles in one block", BlockScan::of(Network::KoggeStone), Carry::OneBlock, 256),
    ("Kogge-Stone, 4 tiles reduce-then-scan", BlockScan::of(Network::KoggeStone), Carry::ReduceThenScan, 256),
    ("Kogge-Stone, 4 tiles chained", BlockScan::of(Network::KoggeStone), Carry::Chained(TileNumbers::Counter), 256),
    ("Kogge-Stone, 4 tiles look-back", BlockScan::of(Network::KoggeStone), Carry::LookBack, 256),
];

/// Counts every rung in the emulator, for the sum of 1,024 32-bit integers, and writes the table of `docs/counts.md`.
///
/// What depends on which blocks are ahead of which is given as the cost model's range.
///
/// # Errors
///
/// What is wrong with the kernels, and a count that differs from its formula.
pub fn counts_table() -> Result<String, EmulatorError> {
    let n = COUNTS_LENGTH;
    let input: Vec<u32> = (0..n).collect();
    let mut table = String::from(
        "| rung | applications | steps | barriers | bank conflicts (cycles) | global traffic |\n|---|--:|--:|--:|--:|--:|\n",
    );
    for &(name, block, carry, threads) in RUNGS {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(Strategy { block, carry });
        overrides.threads = Some(threads);
        let exclusive = matches!(block.network, Network::Blelloch { .. });
        let kind = if exclusive { ScanKind::Exclusive } else { ScanKind::Inclusive };
        let program = Program::new(ops::sum::<u32>(), kind, None, &overrides)?;
        let run = program.verify(&Emulator::new(1).banks(Banks::TODAY).trace(), &input)?;
        let (trace, counters) = (run.trace.unwrap_or_default(), run.counters);
        let cost = program.plan.cost(n.into())?;
        let differences = Counts::new(&counters, &trace, &cost).differences();
        if !differences.is_empty() {
            return Err(EmulatorError::Launch { kernel: name.to_owned(), message: differences.join("; ") });
        }
        let counted = |formula: Count, counted: u64| if formula.min < formula.max { formula } else { counted.into() };
        let steps: u64 = parallel_steps(&trace, counters.launches.len()).iter().sum();
        let barriers: u32 = counters.launches.iter().map(|launch| launch.barriers).sum();
        let conflicts = counters.launches.iter().map(|launch| launch.banks.cycles - launch.banks.without_conflicts);
        // What waiting blocks read again is not told: it is another number in every run.
        let traffic = cost.global_bytes() as f64 / f64::from(4 * n);
        let _ = writeln!(
            table,
            "| {name} | {} | {} | {barriers} | {} | {traffic:.2} n |",
            counted(cost.applications(), counters.applications()),
            counted(cost.steps(), steps),
            conflicts.sum::<u64>(),
        );
    }
    Ok(table)
}

/// Counts the cycles of the balanced tree's accesses to shared memory in the emulator, for the GPUs of the course texts (16
/// banks, half a warp at a time) and those of today, and writes the table of `docs/counts.md`.
///
/// # Errors
///
/// What is wrong with the kernels.
pub fn banks_table() -> Result<String, EmulatorError> {
    let count =
        |padded, leaves, banks| tree_banks(Network::Blelloch { padded }, leaves, banks, TreeAccesses::OfTheTexts);
    let mut table = String::from(
        "| leaves | 16 banks | without conflicts | padded, with addressing | 32 banks | without conflicts | padded |\n\
         |--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for leaves in [64, 128, 512, 1024] {
        let (plain, padded) = (count(false, leaves, Banks::HALF_WARPS)?, count(true, leaves, Banks::HALF_WARPS)?);
        let addressing = ADDRESSING_CYCLES * padded.without_conflicts / 6;
        let (plain_today, padded_today) = (count(false, leaves, Banks::TODAY)?, count(true, leaves, Banks::TODAY)?);
        let _ = writeln!(
            table,
            "| {leaves} | {} | {} | {} | {} | {} | {} |",
            plain.cycles,
            plain.without_conflicts,
            padded.cycles + addressing,
            plain_today.cycles,
            plain_today.without_conflicts,
            padded_today.cycles,
        );
    }
    Ok(table)
}

/// The picture of an unpadded network over 16 values, as `explain` draws it.
///
/// # Errors
///
/// What is wrong with the kernels.
pub fn network_picture(network: Network) -> Result<String, EmulatorError> {
    let mut overrides = Overrides::default();
    let block = BlockScan::of(network);
    overrides.strategy = Some(Strategy { block, carry: Carry::OneBlock });
    overrides.threads = Some(32);
    let exclusive = matches!(network, Network::Blelloch { .. });
    let kind = if exclusive { ScanKind::Exclusive } else { ScanKind::Inclusive };
    let program = Program::new(ops::sum::<u32>(), kind, None, &overrides)?;
    let input: Vec<u32> = (0..16).collect();
    let run = program.verify(&Emulator::new(1).trace(), &input)?;
    let trace = NetworkTrace::new(run.trace.unwrap_or_default(), 16, program.plan.tile, &|slot| slot);
    Ok(picture(&trace, &title(block, 16, &trace), network.values_per_thread()))
}
