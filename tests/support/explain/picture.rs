//! The picture of a network, as the texts draw it: a column a position, a row a step, a node where the operator is
//! applied, with the interval of the input that its result covers.

use scan_runtime::BlockScan;
use svg::{
    Node,
    node::element::{Circle, Group, Rectangle, Text},
};

use super::network::{Interval, NetworkTrace};
use crate::drawing::{line, page, text};

/// Between two columns, and
const COLUMN: f64 = 46.0;
/// between two rows.
const ROW: f64 = 58.0;
const LEFT: f64 = 86.0;
const RIGHT: f64 = 134.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 62.0;
/// Of a node.
const WIDTH: f64 = 42.0;
const HEIGHT: f64 = 18.0;
/// Threads of a warp.
const WARP: u64 = 32;

const STYLE: &str = ".wire { stroke: #7d8da3; stroke-width: 1.2 }
.operand { stroke: #1f4e8c; stroke-width: 1.5 }
.move { stroke: #b5651d; stroke-width: 1.5; stroke-dasharray: 5 3 }
.thread { stroke: #7d8da3; stroke-dasharray: 1 4 }
.warp { stroke: #1a1a1a; stroke-width: 1.5; stroke-dasharray: 8 4 }
.dot { fill: #1f4e8c }
.node { fill: #ffffff; stroke: #1f4e8c; stroke-width: 1.5 }
.moved { fill: #ffffff; stroke: #b5651d; stroke-width: 1.5; stroke-dasharray: 4 2 }
.done { fill: #e9eef6; stroke: #1f4e8c; stroke-width: 0.8 }";

/// A node of this class around a point, which says what its value covers.
fn node(class: &str, (x, y): (f64, f64), covered: Interval, round: f64) -> Group {
    let label = match covered {
        Some((first, last)) if first == last => format!("[{first}]"),
        Some((first, last)) => format!("[{first},{last}]"),
        None => "identity".to_owned(),
    };
    let frame =
        Rectangle::new().set("class", class).set("rx", round).set("x", x - WIDTH / 2.0).set("y", y - HEIGHT / 2.0);
    let size = if label.len() > 7 { 9.5 } else { 11.0 };
    Group::new().add(frame.set("width", WIDTH).set("height", HEIGHT)).add(text(label, x, y + 3.8, size, "middle"))
}

/// What stands above the picture of a block scan over `length` values.
pub fn title(block: BlockScan, length: u64, network: &NetworkTrace) -> String {
    let steps = network.steps.iter().filter(|step| !step.applications.is_empty()).count();
    format!("{block}, n = {length}: {} applications in {steps} steps", network.applications())
}

/// Draws a network as SVG, whose threads begin with `run` elements each.
pub fn picture(network: &NetworkTrace, title: &str, run: u32) -> String {
    let x = |column: u64| LEFT + column as f64 * COLUMN;
    let y = |row: usize| TOP + row as f64 * ROW;
    let (width, last_row) = (x(network.columns - 1) + RIGHT, network.steps.len());
    let (end, height) = (y(last_row) + 29.0, y(last_row) + BOTTOM);
    let (mut wires, mut lines, mut nodes, mut words) = (Group::new(), Group::new(), Group::new(), Group::new());

    for column in 0..network.columns {
        wires = wires.add(line("wire", (x(column), TOP), (x(column), end)));
        let (run, border) = (u64::from(run), x(column) - COLUMN / 2.0);
        let class = if column.is_multiple_of(run * WARP) { "warp" } else { "thread" };
        if column > 0 && column.is_multiple_of(run) && (run > 1 || class == "warp") {
            wires = wires.add(line(class, (border, TOP - 24.0), (border, end)));
        }
        let label =
            Text::new("x").set("x", x(column)).set("y", TOP - 12.0).set("font-size", 17).set("text-anchor", "middle");
        let index = svg::node::element::TSpan::new(column.to_string()).set("dy", 4).set("font-size", 12);
        words = words.add(label.set("font-style", "italic").add(index.set("font-style", "normal")));
        nodes = nodes.add(Circle::new().set("cx", x(column)).set("cy", TOP).set("r", 2.2));
    }
    let mut number = 0;
    for (row, step) in network.steps.iter().enumerate() {
        let (above, here) = (y(row) + if row == 0 { 0.0 } else { HEIGHT / 2.0 }, y(row + 1));
        let mut join = |class: &str, from: u64, to: u64| {
            lines.append(line(class, (x(from), above), (x(to), here - HEIGHT / 2.0)));
            lines.append(Circle::new().set("class", "dot").set("cx", x(from)).set("cy", above).set("r", 2.2));
        };
        // An operand that stands in the column already comes down its wire.
        for one in &step.applications {
            for operand in one.operands.into_iter().flatten().filter(|&operand| operand != one.column) {
                join("operand", operand, one.column);
            }
            nodes = nodes.add(node("node", (x(one.column), here), one.result, HEIGHT / 2.0));
        }
        for one in &step.moves {
            one.from.into_iter().for_each(|from| join("move", from, one.to));
            nodes = nodes.add(node("moved", (x(one.to), here), one.covered, 0.0));
        }
        let side = here + 4.0;
        if step.applications.is_empty() {
            words = words.add(text("moves only", x(0) - 26.0, side, 12.0, "end"));
        } else {
            number += 1;
            words = words.add(text(format!("step {number}"), x(0) - 26.0, side, 14.0, "end"));
            let count = step.applications.len();
            let label = if count == 1 { "1 application".to_owned() } else { format!("{count} applications") };
            words = words.add(text(label, x(network.columns - 1) + 26.0, side, 14.0, "start"));
        }
    }
    for (column, covered) in (0..).zip(&network.outputs) {
        nodes = nodes.add(node("done", (x(column), end), *covered, 0.0));
    }
    page((width, height), (title, 36.0), STYLE, Vec::new(), vec![wires, lines, nodes, words])
}
