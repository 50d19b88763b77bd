//! Our own scans: the default, and the strategies that were asked for by name.

use scan_runtime::{BlockScan, Carry, Device, Network, Prepared, Scan, ScanKind, Scanner, Strategy};
use scan_tests::strategies;

use crate::{
    cases::Case,
    race::{Call, Entrant},
};

/// What the story in the texts calls the fastest block scan; what a strategy has that is named by its carry alone.
const FASTEST: BlockScan = BlockScan::coarsened(Network::WarpShuffle);

/// The story that the texts tell, from one thread to a single pass: every network over single elements and over runs, then every
/// way to carry over the fastest of them.
pub(crate) fn ladder() -> impl Iterator<Item = Strategy> {
    let reduce_then_scan = |block| Strategy { block, carry: Carry::ReduceThenScan };
    let carried = strategies::CARRIES
        .into_iter()
        .filter(|&carry| carry != Carry::ReduceThenScan)
        .map(|carry| Strategy { block: FASTEST, carry });
    (strategies::NETWORKS.into_iter().map(BlockScan::of).map(reduce_then_scan))
        .chain(strategies::NETWORKS.into_iter().map(BlockScan::coarsened).map(reduce_then_scan))
        .chain(carried)
        .chain(strategies::IN_REGISTERS)
        .chain([strategies::LOOK_AHEAD])
}

/// Reads a strategy as the command line gives it: `look-back`, or `kogge-stone/reduce-then-scan`.
pub(crate) fn parse(text: &str) -> Result<Strategy, String> {
    let found = strategies::all().find(|strategy| match text.split_once('/') {
        Some((block, carry)) => slug(&strategy.block) == block && slug(&strategy.carry) == carry,
        None => strategy.block == FASTEST && slug(&strategy.carry) == text,
    });
    found.ok_or_else(|| {
        let mut names = Vec::new();
        for strategy in strategies::all() {
            for name in [slug(&strategy.block), slug(&strategy.carry)] {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        format!("write CARRY or BLOCK/CARRY, of these: {}", names.join(", "))
    })
}

/// `Brent-Kung, padded` as `brent-kung-padded`.
fn slug(name: &impl ToString) -> String {
    let name = name.to_string().to_lowercase();
    let words: Vec<_> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// The name of an entrant: a strategy in as few words as tell it.
pub(crate) fn name(strategy: Option<Strategy>) -> String {
    match strategy {
        None => "ours".to_owned(),
        Some(Strategy { block, carry }) if block == FASTEST => carry.to_string(),
        Some(Strategy { block, carry }) => format!("{block}; {carry}"),
    }
}

/// Inclusive or not, and in which direction.
#[derive(Clone, Copy, Default)]
pub(crate) struct Way {
    pub(crate) kind: ScanKind,
    pub(crate) reversed: bool,
}

/// A scan of a case: the default, or by a strategy.
pub(crate) fn configure<C: Case>(scanner: &Scanner, way: Way, strategy: Option<Strategy>) -> Scan<C> {
    let scan = match way.kind {
        ScanKind::Inclusive => scanner.scan(C::new()).inclusive(),
        ScanKind::Exclusive => scanner.scan(C::new()).exclusive(),
    };
    let scan = if way.reversed { scan.reverse() } else { scan };
    match strategy {
        Some(strategy) => scan.strategy(strategy),
        None => scan,
    }
}

/// A scan of everything, by a handle that the first call prepares.
pub(crate) fn entrant<C: Case>(scanner: &Scanner, way: Way, strategy: Option<Strategy>) -> Entrant<'_, C::Item> {
    let scan = configure::<C>(scanner, way, strategy);
    let mut prepared: Option<(usize, Prepared<C, Device>)> = None;
    let call: Call<'_, C::Item> = Box::new(move |buffers, len| {
        let (_, handle) = match &mut prepared {
            Some(prepared) if prepared.0 >= len => prepared,
            prepared => prepared.insert((len, scan.on(&buffers.stream).prepare(len)?)),
        };
        let (input, mut output) = (buffers.input.slice(..len), buffers.output.slice_mut(..len));
        Ok(handle.run_into(&input, &mut output)?)
    });
    Entrant { name: name(strategy), call: Ok(call), side_bytes: 0 }
}

/// Another way than the default, to compare it with where there is nobody else.
pub(crate) const ANOTHER: Strategy = Strategy { block: FASTEST, carry: Carry::ReduceThenScan };
