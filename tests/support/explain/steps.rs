//! What happens step by step, in words.

use std::fmt::Write;

use scan_runtime::ScanOp;

use super::network::{Interval, NetworkTrace};

/// `3..5` for the positions 3, 4 and 5; `nothing` for the empty partial.
pub(super) fn interval(interval: Interval) -> String {
    match interval {
        Some((first, last)) if first == last => format!("{first}"),
        Some((first, last)) => format!("{first}..{last}"),
        None => "nothing".to_owned(),
    }
}

/// Tells each step of a network: what was combined with what, and the values after it, as `show` writes them. Of blocks
/// that send each other messages only the former: what comes from a message is called that.
pub fn steps<Op: ScanOp>(
    network: &NetworkTrace,
    op: &Op,
    input: &[Op::Input],
    show: impl Fn(Op::State) -> String,
) -> String {
    let rows = network.values(op, input);
    let width = rows.iter().flatten().flatten().map(|&value| show(value).chars().count()).max().unwrap_or(0);
    let values = |row: &[Option<Op::State>]| {
        row.iter().fold(String::new(), |mut text, value| {
            let value = value.map_or_else(|| "·".to_owned(), &show);
            let _ = write!(text, " {value:>width$}");
            text
        })
    };
    let whole = network.is_whole();
    let operand = |covered: Interval| match covered {
        None if !whole => "a message".to_owned(),
        covered => interval(covered),
    };
    let mut text = format!("the input\n   {}\n", values(&rows[0]));
    let mut number = 0;
    for (step, row) in network.steps.iter().zip(&rows[1..]) {
        if step.applications.is_empty() {
            text.push_str("\nno application\n");
        } else {
            number += 1;
            let plural = if step.applications.len() == 1 { "" } else { "s" };
            let _ = writeln!(text, "\nstep {number}: {} application{plural}", step.applications.len());
        }
        for one in &step.moves {
            let _ = match one.from {
                Some(from) => writeln!(text, "    place {:>3} gets what place {from} had", one.to),
                None => writeln!(text, "    place {:>3} gets the identity", one.to),
            };
        }
        for one in &step.applications {
            let place = |column: Option<u64>| column.map_or_else(String::new, |column| format!(" in place {column}"));
            let _ = writeln!(
                text,
                "    place {:>3} gets {}: ({}){} ∘ ({}){}",
                one.column,
                interval(one.result),
                operand(one.covered[0]),
                place(one.operands[0]),
                operand(one.covered[1]),
                place(one.operands[1]),
            );
        }
        if whole {
            let _ = writeln!(text, "   {}", values(row));
        }
    }
    text
}
