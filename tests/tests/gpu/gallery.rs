//! The gallery's operators on the GPU, against results that were computed without them.

use scan_runtime::{BlockScan, Network, Strategy};
use scan_tests::{
    gallery::{Example, Visitor, compare, visit_gallery},
    strategies::CARRIES,
};

use crate::{Outcome, Trials, older::scanner};

pub(crate) fn add(trials: &mut Trials) {
    visit_gallery(trials);
}

impl Visitor for Trials {
    fn visit<Op: Example>(&mut self, name: &str) {
        self.add(format!("gallery_{name}"), run::<Op>);
    }
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
