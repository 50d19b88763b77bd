//! The picture of tile statuses over time: a row a tile, time to the right.

use svg::{
    Node,
    node::element::{Circle, Group, Pattern, Polygon, Rectangle},
};

use super::tile_states::{Status, TileHistory, TileStates, Window, Work};
use crate::{
    drawing::{hatch, line, page, rectangle, rounded, text},
    emulated::EmulatorError,
};

/// Seeds of schedules in which few lines of reads lie close together.
const LOOK_BACK_SEED: u64 = 9;
const LOOK_AHEAD_SEED: u64 = 1;

const LEFT: f64 = 128.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 100.0;
/// What a run takes, from left to right.
const PLOT: f64 = 1000.0;
/// The height of a lane of a row, and between rows.
const LANE: f64 = 15.0;
const GAP: f64 = 11.0;
const LEGEND: f64 = 146.0;
/// Between the lines of two windows that are read at the same time.
const APART: f64 = 8.0;

const STYLE: &str = ".row { stroke: #c3cad4; stroke-width: 1 }
.load { fill: #ffffff; stroke: #1a1a1a; stroke-width: 0.8 }
.fold { fill: #d7e3f3; stroke: #1a1a1a; stroke-width: 0.8 }
.look { fill: url(#dots); stroke: #b5651d; stroke-width: 0.8 }
.scan { fill: #9fbbe0; stroke: #1a1a1a; stroke-width: 0.8 }
.store { fill: #e6e6e6; stroke: #1a1a1a; stroke-width: 0.8; stroke-dasharray: 3 2 }
.aggregate { fill: url(#hatch); stroke: #1a1a1a; stroke-width: 0.8 }
.prefix { fill: #44546b; stroke: #1a1a1a; stroke-width: 0.8 }
.of_prefix { fill: #ffffff; font-weight: bold }
.on_hatch { font-weight: bold; stroke: #ffffff; stroke-width: 3; paint-order: stroke }
.read { stroke: #b5651d; stroke-width: 1.1 }
.beyond { stroke: #b5651d; stroke-width: 1; stroke-dasharray: 1 4 }
.found_aggregate { fill: #ffffff; stroke: #b5651d; stroke-width: 1.5 }
.found_prefix { fill: #b5651d; stroke: #ffffff; stroke-width: 0.8 }
.passed { fill: #b5651d }";

fn dot(class: &str, (x, y): (f64, f64)) -> Circle {
    Circle::new().set("class", class).set("cx", x).set("cy", y).set("r", 3.4)
}

fn triangle((x, y): (f64, f64)) -> Polygon {
    let (low, high) = (y + LANE - 2.0, y + 2.0);
    Polygon::new().set("class", "passed").set("points", format!("{},{low} {},{low} {x},{high}", x - 4.5, x + 4.5))
}

/// About the width of a label of size 10.
fn width_of(label: &str) -> f64 {
    4.0 + label.chars().map(|letter| if letter.is_uppercase() { 7.4 } else { 5.4 }).sum::<f64>()
}

/// A bar with the longest of the labels that it has room for, at its `start`, `middle` or `end`.
fn bar(class: &str, (x, y): (f64, f64), width: f64, (labels, anchor): (&[&str], &str)) -> Group {
    let group = Group::new().add(rectangle(class, (x, y), (width.max(3.0), LANE)));
    let label = labels.iter().find(|label| width_of(label) <= width);
    let at = match anchor {
        "start" => x + 4.0,
        "middle" => x + width / 2.0,
        _ => x + width - 4.0,
    };
    let written = label.map(|label| text(*label, at, y + 11.0, 10.0, anchor));
    match (class, written) {
        (_, None) => group,
        ("prefix", Some(written)) => group.add(written.set("class", "of_prefix")),
        ("aggregate" | "look", Some(written)) => group.add(written.set("class", "on_hatch")),
        (_, Some(written)) => group.add(written),
    }
}

fn of_work(work: Work, look_ahead: bool) -> (&'static str, &'static [&'static str]) {
    match work {
        Work::Load => ("load", &["load", "L"]),
        Work::Fold => ("fold", &["fold", "F"]),
        Work::Look if look_ahead => ("look", &["look ahead", "look"]),
        Work::Look => ("look", &["look back", "look", "B"]),
        Work::Scan if look_ahead => ("scan", &["scan", "S"]),
        Work::Scan => ("scan", &["scan, store", "scan", "S"]),
        Work::Store => ("store", &["store"]),
    }
}

fn of_status(status: Status) -> (&'static str, &'static [&'static str]) {
    match status {
        Status::Aggregate => ("aggregate", &["AGGREGATE", "A"]),
        Status::Prefix => ("prefix", &["PREFIX", "P"]),
    }
}

/// Where things lie.
struct Layout {
    steps: u32,
    /// Whether the look-ahead warp has a lane of its own, the middle one.
    look_ahead: bool,
}

impl Layout {
    fn x(&self, step: u32) -> f64 {
        rounded(LEFT + PLOT * f64::from(step) / f64::from(self.steps))
    }

    fn lanes(&self) -> usize {
        if self.look_ahead { 3 } else { 2 }
    }

    fn y(&self, tile: usize, lane: usize) -> f64 {
        TOP + tile as f64 * (self.lanes() as f64 * LANE + GAP) + lane as f64 * LANE
    }

    fn status_lane(&self) -> usize {
        self.lanes() - 1
    }

    /// The bars of a tile.
    fn row(&self, tile: usize, history: &TileHistory) -> Group {
        let mut group = Group::new();
        let label = format!("tile {tile}, block {}", history.block);
        group.append(text(label, LEFT - 12.0, self.y(tile, 0) + 11.5, 12.0, "end"));
        let end = self.y(tile, self.status_lane()) + LANE;
        group.append(line("row", (LEFT, end), (LEFT + PLOT, end)));
        // Some threads begin with the next work while others end the last: each kind begins where the one before ends.
        let mut free = 0;
        for (&work, &(from, to)) in &history.work {
            let (class, labels) = of_work(work, self.look_ahead);
            let apart = self.look_ahead && work == Work::Look;
            let (from, lane) = if apart { (from, 1) } else { (from.max(free).min(to), 0) };
            free = if apart { free } else { to };
            let (x, width) = (self.x(from), self.x(to) - self.x(from));
            let anchor = if work == Work::Look { "start" } else { "middle" };
            group.append(bar(class, (x, self.y(tile, lane)), width, (labels, anchor)));
        }
        for (number, &(from, status)) in history.published.iter().enumerate() {
            let to = history.published.get(number + 1).map_or(self.steps, |next| next.0);
            let (class, labels) = of_status(status);
            let (x, width) = (self.x(from), self.x(to) - self.x(from));
            // Lines of readers end in this lane, left of the label of a status that stays. Other labels are short.
            let label = if to == self.steps { (labels, "end") } else { (&labels[1..], "start") };
            group.append(bar(class, (x, self.y(tile, self.status_lane())), width, label));
        }
        if let Some(passed) = history.prefix_passed {
            let (x, y) = (self.x(passed), self.y(tile, 1));
            group.append(triangle((x, y)));
        }
        group
    }

    /// The statuses that were read for a tile, as a line from it to the tiles that were read.
    fn reads(&self, tile: usize, window: &Window, x: f64) -> Group {
        let mut group = Group::new();
        let from = self.y(tile, self.lanes() - 2);
        let Some(first) = window.first_needed() else { return group };
        let middle = |tile: u32| self.y(tile as usize, self.status_lane()) + LANE / 2.0;
        group.append(line("read", (x, from), (x, middle(first))));
        if let Some((&farthest, _)) = window.found.first_key_value()
            && farthest < first
        {
            group.append(line("beyond", (x, middle(first)), (x, middle(farthest))));
        }
        for (&tile, &(_, status)) in window.found.range(first..) {
            let class = if status == Status::Prefix { "found_prefix" } else { "found_aggregate" };
            group.append(dot(class, (x, middle(tile))));
        }
        group
    }

    /// What the bars and lines mean, in two columns.
    fn legend(&self, top: f64) -> Group {
        let mut group = Group::new();
        let mut entry = |column: usize, row: usize, key: Group, words: &str| {
            let (x, y) = (LEFT + column as f64 * PLOT / 2.0, top + row as f64 * 21.0);
            let key = key.set("transform", format!("translate({x} {y})"));
            group.append(key);
            group.append(text(words, x + 84.0, y + 11.5, 12.0, "start"));
        };
        let key = |class: &str, label: &str| bar(class, (0.0, 0.0), 74.0, (&[label], "middle"));
        let half = LANE / 2.0;
        let reading = |first: &str| {
            let line = Group::new().add(line("read", (6.0, half), (68.0, half)));
            line.add(dot(first, (22.0, half))).add(dot("found_aggregate", (52.0, half)))
        };
        let lower_end = "statuses read for the tile at the lower end, drawn when the last was found";
        entry(0, 1, key("fold", "fold"), "the elements are folded to the aggregate of the tile");
        let aggregate = "tile status: the aggregate is published (before: EMPTY)";
        if self.look_ahead {
            entry(0, 0, key("load", "load"), "a bulk copy of the tile into a stage");
            entry(0, 2, key("look", "look ahead"), "the look-ahead warp waits for statuses and folds them");
            entry(0, 3, key("scan", "scan"), "the team scans the tile from its exclusive prefix");
            entry(0, 4, key("store", "store"), "a bulk copy of the results");
            entry(1, 0, key("aggregate", "AGGREGATE"), aggregate);
            entry(1, 1, reading("found_aggregate"), lower_end);
            entry(
                1,
                2,
                Group::new().add(triangle((37.0, 0.0))),
                "the exclusive prefix is passed to the team of the block",
            );
        } else {
            entry(0, 0, key("load", "load"), "the block loads its tile");
            entry(0, 2, key("look", "look back"), "its first warp waits for statuses and folds them");
            entry(0, 3, key("scan", "scan, store"), "the block combines its elements with the prefix, and stores");
            entry(1, 0, key("aggregate", "AGGREGATE"), &format!("or A, {aggregate}"));
            entry(1, 1, key("prefix", "PREFIX"), "or P, tile status: the inclusive prefix is published");
            entry(1, 2, reading("found_prefix"), lower_end);
            entry(1, 3, Group::new(), "(○ an aggregate, ● the prefix at which the look-back ends)");
            let key = Group::new().add(line("beyond", (6.0, half), (68.0, half)));
            entry(1, 4, key, "further statuses in the window of 32, which are not needed");
        }
        let words = "A step is an access, an application, or the begin or end of a copy; polls that find nothing do \
                     not count. Threads take turns: distances are not times of a GPU. Lines that would coincide are \
                     moved right.";
        group.append(text(words, LEFT, top + 121.0, 12.0, "start"));
        group
    }
}

/// The picture of a run by look-back.
///
/// # Errors
///
/// A fault of the kernels.
pub fn look_back_picture() -> Result<String, EmulatorError> {
    let reads_what = "A block reads the statuses of the tiles before its own, back to the nearest inclusive prefix";
    Ok(draw(&TileStates::of_look_back(LOOK_BACK_SEED)?, ("Look-back: 12 tiles, 4 blocks at once", reads_what), false))
}

/// The picture of a run by look-ahead.
///
/// # Errors
///
/// A fault of the kernels.
pub fn look_ahead_picture() -> Result<String, EmulatorError> {
    let reads_what = "A block folds the aggregates of all tiles since its last one; no prefix is published";
    Ok(draw(
        &TileStates::of_look_ahead(LOOK_AHEAD_SEED)?,
        ("Look-ahead: 12 tiles, 3 persistent blocks", reads_what),
        true,
    ))
}

/// Draws a run by look-ahead or look-back as SVG. The second title says what a block reads.
fn draw(states: &TileStates, (title, reads_what): (&str, &str), look_ahead: bool) -> String {
    let layout = Layout { steps: states.steps, look_ahead };
    let (mut rows, mut reads) = (Group::new(), Group::new());
    states.tiles.iter().enumerate().for_each(|(tile, history)| rows.append(layout.row(tile, history)));
    let windows = states.tiles.iter().enumerate().filter_map(|(tile, history)| Some((tile, history.window.as_ref()?)));
    let mut windows: Vec<(usize, &Window)> = windows.collect();
    windows.sort_by_key(|(_, window)| window.to());
    let mut free = 0.0_f64;
    for (tile, window) in windows {
        let x = free.max(layout.x(window.to()));
        reads.append(layout.reads(tile, window, x));
        free = x + APART;
    }
    let end = layout.y(states.tiles.len(), 0);
    let (width, height) = (LEFT + PLOT + RIGHT, end + LEGEND);
    let mut axis = Group::new();
    for step in (0..=states.steps).step_by(1000) {
        axis.append(line("row", (layout.x(step), TOP - 14.0), (layout.x(step), end)));
        axis.append(text(step.to_string(), layout.x(step), TOP - 18.0, 11.0, "middle"));
    }
    axis.append(text("steps of the emulator →", LEFT - 12.0, TOP - 18.0, 11.0, "end"));
    let ground = Rectangle::new().set("width", 8).set("height", 8).set("fill", "#fdf3e9");
    let speck = Circle::new().set("cx", 2).set("cy", 2).set("r", 0.7).set("fill", "#b5651d");
    let dots = Pattern::new().set("id", "dots").set("patternUnits", "userSpaceOnUse").set("width", 4).set("height", 4);
    let patterns = vec![hatch("hatch", 1.6), dots.add(ground).add(speck)];
    let words = Group::new().add(text(reads_what, width / 2.0, 51.0, 14.0, "middle"));
    let parts = vec![axis, rows, reads, layout.legend(end + 12.0), words];
    page((width, height), (title, 30.0), STYLE, patterns, parts)
}
