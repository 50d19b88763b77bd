//! The picture of a network, as the texts draw it: a column a position, a row a step, a dot where the operator is applied.

use scan_runtime::BlockScan;
use svg::{
    Document,
    node::element::{Circle, Definitions, Group, Line, Rectangle, Style, Text, Title},
};

use super::{network::NetworkTrace, steps::interval};

/// Between two columns, and
const COLUMN: f64 = 46.0;
/// between two rows.
const ROW: f64 = 58.0;
const LEFT: f64 = 86.0;
const RIGHT: f64 = 130.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 62.0;

const STYLE: &str = "text { font-family: 'Latin Modern Roman', 'STIX Two Text', Georgia, serif; fill: #1a1a1a }
.wire { stroke: #7d8da3; stroke-width: 1.2 }
.operand { stroke: #1f4e8c; stroke-width: 1.5 }
.move { stroke: #b5651d; stroke-width: 1.5; stroke-dasharray: 5 3 }
.dot { fill: #1f4e8c }
.identity { fill: #ffffff; stroke: #b5651d; stroke-width: 1.5 }
.done { fill: #e9eef6; stroke: #1f4e8c; stroke-width: 0.8 }";

fn text(content: impl Into<String>, x: f64, y: f64, size: u32, anchor: &str) -> Text {
    Text::new(content).set("x", x).set("y", y).set("font-size", size).set("text-anchor", anchor)
}

fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Line {
    Line::new().set("class", class).set("x1", from.0).set("y1", from.1).set("x2", to.0).set("y2", to.1)
}

/// What stands above the picture of a block scan over `length` values.
pub fn title(block: BlockScan, length: u64, network: &NetworkTrace) -> String {
    let steps = network.steps.iter().filter(|step| !step.applications.is_empty()).count();
    format!("{block}, n = {length}: {} applications in {steps} steps", network.applications())
}

/// Draws a network as SVG.
pub fn picture(network: &NetworkTrace, title: &str) -> String {
    let x = |column: u64| LEFT + column as f64 * COLUMN;
    let y = |row: usize| TOP + row as f64 * ROW;
    let (width, last_row) = (x(network.columns - 1) + RIGHT, network.steps.len());
    let height = y(last_row) + BOTTOM;
    let (mut wires, mut lines, mut dots, mut words) = (Group::new(), Group::new(), Group::new(), Group::new());

    for column in 0..network.columns {
        wires = wires.add(line("wire", (x(column), TOP), (x(column), y(last_row) + 18.0)));
        let label =
            Text::new("x").set("x", x(column)).set("y", TOP - 12.0).set("font-size", 17).set("text-anchor", "middle");
        let index = svg::node::element::TSpan::new(column.to_string()).set("dy", 4).set("font-size", 12);
        words = words.add(label.set("font-style", "italic").add(index.set("font-style", "normal")));
        dots = dots.add(Circle::new().set("cx", x(column)).set("cy", TOP).set("r", 2.2));
    }
    let mut number = 0;
    for (row, step) in network.steps.iter().enumerate() {
        let (above, here) = (y(row), y(row + 1));
        // An operand that stands in the column already comes down its wire.
        for one in &step.applications {
            for operand in one.operands.into_iter().flatten().filter(|&operand| operand != one.column) {
                lines = lines.add(line("operand", (x(operand), above), (x(one.column), here)));
                dots = dots.add(Circle::new().set("class", "dot").set("cx", x(operand)).set("cy", above).set("r", 2.2));
            }
            dots = dots.add(Circle::new().set("class", "dot").set("cx", x(one.column)).set("cy", here).set("r", 5));
        }
        for one in &step.moves {
            match one.from {
                Some(from) => {
                    lines = lines.add(line("move", (x(from), above), (x(one.to), here)));
                    dots = dots
                        .add(Circle::new().set("class", "identity").set("cx", x(one.to)).set("cy", here).set("r", 3));
                }
                None => {
                    let circle =
                        Circle::new().set("class", "identity").set("cx", x(one.to)).set("cy", here).set("r", 6);
                    dots = dots.add(circle);
                }
            }
        }
        let side = here + 4.0;
        if step.applications.is_empty() {
            words = words.add(text("identity", x(0) - 22.0, side, 14, "end"));
        } else {
            number += 1;
            words = words.add(text(format!("step {number}"), x(0) - 22.0, side, 14, "end"));
            let count = step.applications.len();
            let label = if count == 1 { "1 application".to_owned() } else { format!("{count} applications") };
            words = words.add(text(label, x(network.columns - 1) + 20.0, side, 14, "start"));
        }
    }
    for (column, covered) in (0..).zip(&network.outputs) {
        let (left, top) = (x(column) - COLUMN * 0.46, y(last_row) + 18.0);
        let label = if covered.is_none() { "identity".to_owned() } else { interval(*covered) };
        let size = if label.len() > 5 { 10 } else { 13 };
        let frame = Rectangle::new().set("class", "done").set("x", left).set("y", top).set("rx", 3);
        words = words.add(frame.set("width", COLUMN * 0.92).set("height", 22)).add(text(
            label,
            x(column),
            top + 15.5,
            size,
            "middle",
        ));
    }
    let heading = text(title, width / 2.0, 36.0, 20, "middle").set("font-weight", "bold");
    Document::new()
        .set("viewBox", (0, 0, width, height))
        .set("width", width)
        .set("height", height)
        .add(Title::new(title))
        .add(Definitions::new().add(Style::new(STYLE)))
        .add(Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "#ffffff"))
        .add(wires)
        .add(lines)
        .add(dots)
        .add(words)
        .add(heading)
        .to_string()
        + "\n"
}
