//! The gallery's operators and the exact sums of `ops` on the GPU, against results that were computed without them.

use scan_codegen::Overrides;
use scan_runtime::{BlockScan, Network, Scanner, Strategy};
use scan_tests::{
    gallery::{Example, Visitor, compare, visit_gallery, visit_sums},
    lexers::visit_lexers,
    strategies::{CARRIES, LOOK_AHEAD},
};

use crate::{Outcome, Trials, older::scanner};

pub(crate) fn add(trials: &mut Trials) {
    visit_gallery(trials);
    visit_sums(trials);
    visit_lexers(&mut Lexers(trials));
}

impl Visitor for Trials {
    fn visit<Op: Example>(&mut self, name: &str) {
        self.add(format!("gallery_{name}"), run::<Op>);
        if self.can_have(LOOK_AHEAD) {
            self.add(format!("gallery_ahead_{name}"), ahead::<Op>);
        }
    }
}

/// The lexers, whose tables look-ahead keeps in shared memory.
struct Lexers<'a>(&'a mut Trials);

impl Visitor for Lexers<'_> {
    fn visit<Op: Example>(&mut self, name: &str) {
        if self.0.can_have(LOOK_AHEAD) {
            self.0.add(format!("gallery_ahead_{name}"), ahead::<Op>);
        }
    }
}

/// Look-ahead over many tiles: with one look-ahead warp and with several, with lifted elements in stages and without.
fn ahead<Op: Example>() -> Outcome {
    let scanner = scanner()?;
    let op = Op::new();
    // What rounds drifts apart with the length, by another grouping.
    let (len, tolerance) = if Op::tolerance() > 0.0 { (300_017, 1e-2) } else { (3_000_017, 0.0) };
    let input = Op::input(len);
    let expected = Scanner::cpu().scan(op.clone()).run(&input)?;
    for (warps, keeps) in [(1, false), (2, true), (3, true)] {
        let mut overrides = Overrides::default().strategy(LOOK_AHEAD);
        (overrides.look_ahead_warps, overrides.keeps_states) = (Some(warps), Some(keeps));
        let found = scanner.scan(op.clone()).overrides(overrides).run(&input)?;
        let result = compare(&found, &expected, tolerance);
        result.map_err(|message| format!("{warps} look-ahead warps: {message}"))?;
    }
    Ok(())
}

fn run<Op: Example>() -> Outcome {
    let scanner = scanner()?;
    let op = Op::new();
    let input = Op::input(20_001);
    let expected = op.expected(&input);
    for len in [0, 1, 33, 4_101, input.len()] {
        let found = scanner.scan(op.clone()).run(&input[..len])?;
        compare(&found, &expected[..len], Op::tolerance()).map_err(|message| format!("length {len}: {message}"))?;
    }
    for carry in CARRIES {
        let strategy = Strategy { block: BlockScan::of(Network::WarpShuffle), carry };
        let found = scanner.scan(op.clone()).exclusive().strategy(strategy).run(&input[..4_101])?;
        // What an operator makes of nothing need not be a number.
        let result = compare(&found[1..], &expected[..4_100], Op::tolerance());
        result.map_err(|message| format!("exclusive, {strategy}: {message}"))?;
    }
    Ok(())
}
