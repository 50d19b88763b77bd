//! The picture of the bytes that each kernel of a strategy moves: three kernels, and one pass.

use scan_codegen::{DeviceLimits, KernelRole, LaunchCost, Overrides, ScanSpec, plan};
use scan_runtime::{BlockScan, Carry, Network, ScanOp, Strategy, ops};
use svg::{Node, node::element::Group};

use crate::{
    drawing::{hatch, line, page, rectangle, rounded, text},
    emulated::EmulatorError,
};

/// The length of the picture: the aggregates of its tiles fit one tile, so that three kernels are enough.
const LENGTH: u64 = 1 << 22;
const ELEMENTS: &str = "2²² elements of f32, 16 MiB";
const STRATEGIES: [(&str, Carry); 3] = [
    ("three kernels: reduce-then-scan", Carry::ReduceThenScan),
    ("one pass: look-back", Carry::LookBack),
    ("one pass: look-ahead", Carry::LookAhead),
];

/// The width of as many bytes as the elements have.
const N: f64 = 210.0;
const KERNEL: f64 = 250.0;
/// Where the box of a kernel begins.
const MIDDLE: f64 = 270.0;
const WIDTH: f64 = 930.0;
const ROW: f64 = 58.0;
const BOX: f64 = 40.0;
const BAR: f64 = 18.0;

const STYLE: &str = ".kernel { fill: #e9eef6; stroke: #1f4e8c; stroke-width: 1.5 }
.read { fill: url(#hatch); stroke: #1a1a1a; stroke-width: 0.8 }
.written { fill: #9fbbe0; stroke: #1a1a1a; stroke-width: 0.8 }
.rest { fill: #1a1a1a; stroke: #1a1a1a; stroke-width: 0.8 }
.border { stroke: #c3cad4; stroke-width: 1 }";

fn what_it_does(role: KernelRole) -> &'static str {
    match role {
        KernelRole::ReduceTiles => "folds each tile to its aggregate",
        KernelRole::ScanAggregates => "scans the aggregates",
        KernelRole::ScanTiles => "scans each tile from its prefix",
        KernelRole::ScanLookBack => "scans each tile, and looks back",
        KernelRole::ScanLookAhead => "scans each tile, and looks ahead",
        _ => "",
    }
}

fn amount(bytes: u64) -> String {
    let bytes = bytes as f64;
    if bytes < 1024.0 * 1024.0 {
        format!("{:.1} KiB", bytes / 1024.0)
    } else {
        format!("{:.2} MiB", bytes / (1024.0 * 1024.0))
    }
}

/// The bar of the bytes that a kernel reads or writes: the elements or results from the kernel outwards, then the rest.
fn bar(bytes: u64, (class, x, y, direction): (&str, f64, f64, f64)) -> Group {
    let n = 4 * LENGTH;
    let elements = if bytes >= n { n } else { 0 };
    let length = |bytes: u64| rounded(N * bytes as f64 / n as f64);
    let of = |from: f64, length: f64| if direction > 0.0 { x + from } else { x - from - length };
    let mut group = Group::new();
    if elements > 0 {
        group.append(rectangle(class, (of(0.0, N), y), (N, BAR)));
    }
    // A line where it is less than a point.
    let (from, rest) = (length(elements), length(bytes - elements).max(1.0));
    if bytes > elements {
        group.append(rectangle("rest", (of(from, rest), y), (rest, BAR)));
    }
    let rest = bytes - elements;
    let words = match (elements, rest) {
        (0, rest) => amount(rest),
        (elements, 0) => format!("{} = n", amount(elements)),
        (elements, rest) => format!("{} = n, + {}", amount(elements), amount(rest)),
    };
    let anchor = if direction > 0.0 { "start" } else { "end" };
    group.add(text(words, x + 2.0 * direction, y - 5.0, 12.0, anchor))
}

fn kernel(cost: &LaunchCost, y: f64) -> Group {
    let (left, right) = (MIDDLE - 8.0, MIDDLE + KERNEL + 8.0);
    let middle = MIDDLE + KERNEL / 2.0;
    Group::new()
        .add(rectangle("kernel", (MIDDLE, y), (KERNEL, BOX)).set("rx", 6))
        .add(text(cost.kernel.name(), middle, y + 17.0, 14.0, "middle").set("font-weight", "bold"))
        .add(text(what_it_does(cost.kernel), middle, y + 33.0, 13.0, "middle"))
        .add(bar(cost.global_read, ("read", left, y + 18.0, -1.0)))
        .add(bar(cost.global_written, ("written", right, y + 18.0, 1.0)))
}

/// Draws what each kernel reads and writes, by the formulas of the cost model.
///
/// # Errors
///
/// That there is no such plan.
pub fn traffic_picture() -> Result<String, EmulatorError> {
    let mut kernels = Group::new();
    let mut y = 112.0;
    for (name, carry) in STRATEGIES {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry });
        let operator = ops::sum::<f32>().source();
        let plans = plan(&operator, &ScanSpec::inclusive(), &DeviceLimits::H200, &overrides)?;
        let cost = plans.for_len(LENGTH).cost(LENGTH)?;
        kernels.append(line("border", (20.0, y), (WIDTH - 20.0, y)));
        kernels.append(text(name, 24.0, y + 20.0, 14.0, "start").set("font-weight", "bold"));
        let moved = format!("moves {:.2} n", cost.global_bytes() as f64 / (4 * LENGTH) as f64);
        kernels.append(text(moved, WIDTH - 24.0, y + 20.0, 14.0, "end").set("font-weight", "bold"));
        y += 30.0;
        for launch in &cost.launches {
            kernels.append(kernel(launch, y));
            y += ROW;
        }
        y += 4.0;
    }
    let (left, right, middle) = (MIDDLE - 8.0, MIDDLE + KERNEL + 8.0, MIDDLE + KERNEL / 2.0);
    let rest = "aggregates of tiles, tile statuses and tickets, without repeated polls";
    let words = Group::new()
        .add(text(format!("The sum of n = {ELEMENTS}"), WIDTH / 2.0, 57.0, 14.0, "middle"))
        .add(rectangle("read", (left - 26.0, 80.0), (26.0, BAR)))
        .add(text("bytes read from global memory", left - 34.0, 94.0, 13.0, "end"))
        .add(text("kernel", middle, 94.0, 13.0, "middle"))
        .add(rectangle("written", (right, 80.0), (26.0, BAR)))
        .add(text("bytes written to global memory", right + 34.0, 94.0, 13.0, "start"))
        .add(rectangle("rest", (24.0, y + 8.0), (26.0, BAR)))
        .add(text(rest, 58.0, y + 22.0, 13.0, "start"));
    let title = ("What three kernels and one pass move", 34.0);
    Ok(page((WIDTH, y + 38.0), title, STYLE, vec![hatch("hatch", 1.2)], vec![kernels, words]))
}
