//! Charts of measured speeds, in % of copy bandwidth: the bytes per second of a scan, counting those that it must move,
//! against a copy on the same device. They are drawn from the raw output of the benches.

use svg::{
    Node,
    node::element::{Circle, Group, Polygon, Polyline},
};

use crate::drawing::{hatch, line, page, rectangle, rounded, text};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 84.0;
/// The height of the plot of lines.
const PLOT: f64 = 360.0;
const AXIS: &str = "% of copy bandwidth";

const STYLE: &str = ".grid { stroke: #dde2e9; stroke-width: 1 }
.copy { stroke: #1a1a1a; stroke-width: 1.2; stroke-dasharray: 7 4 }
.axis { stroke: #1a1a1a; stroke-width: 1 }
.forward { fill: #9fbbe0; stroke: #1a1a1a; stroke-width: 0.8 }
.backward { fill: url(#hatch); stroke: #1a1a1a; stroke-width: 0.8 }
.over { stroke: #ffffff; stroke-width: 4; paint-order: stroke }";

/// How the lines of a chart differ, in colour, dashes and marks.
const LINES: [(&str, &str, Mark); 5] = [
    ("#1f4e8c", "", Mark::Circle),
    ("#b5651d", "7 3", Mark::Square),
    ("#2e7d4f", "2 3", Mark::Triangle),
    ("#7a3e8e", "9 3 2 3", Mark::Diamond),
    ("#5a5a5a", "4 4", Mark::Open),
];

#[derive(Clone, Copy)]
enum Mark {
    Circle,
    Square,
    Triangle,
    Diamond,
    Open,
}

impl Mark {
    fn at(self, (x, y): (f64, f64), color: &str) -> Group {
        let polygon = |corners: &[(f64, f64)]| {
            let points: Vec<String> =
                corners.iter().map(|(dx, dy)| format!("{},{}", rounded(x + dx), rounded(y + dy))).collect();
            Group::new().add(Polygon::new().set("points", points.join(" ")).set("fill", color))
        };
        match self {
            Mark::Circle => Group::new().add(Circle::new().set("cx", x).set("cy", y).set("r", 3.5).set("fill", color)),
            Mark::Square => polygon(&[(-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)]),
            Mark::Triangle => polygon(&[(-4.5, 3.5), (4.5, 3.5), (0.0, -4.5)]),
            Mark::Diamond => polygon(&[(-4.5, 0.0), (0.0, -4.5), (4.5, 0.0), (0.0, 4.5)]),
            Mark::Open => {
                let circle = Circle::new().set("cx", x).set("cy", y).set("r", 3.5).set("fill", "#ffffff");
                Group::new().add(circle.set("stroke", color).set("stroke-width", 1.8))
            }
        }
    }
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Lengths, and ratios to the copy; in the order of lengths.
    pub points: Vec<(f64, f64)>,
}

/// A chart of lines over lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// The title.
    pub title: String,
    /// On which device, and whatever else a reader must know.
    pub caption: String,
    /// What the lengths count.
    pub lengths: String,
    /// The lines, five at the most.
    pub series: Vec<Series>,
}

/// `2²⁰`.
pub fn power_of_two(exponent: i64) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = exponent.to_string().chars().filter_map(|digit| digit.to_digit(10)).collect::<Vec<_>>();
    digits.into_iter().fold("2".to_owned(), |text, digit| format!("{text}{}", DIGITS[digit as usize]))
}

/// The ends of the axes of a chart of lines.
struct Axes {
    shortest: f64,
    longest: f64,
    /// In steps of 20 %.
    steps: u32,
}

impl Axes {
    fn x(&self, length: f64) -> f64 {
        rounded(LEFT + (WIDTH - LEFT - RIGHT) * (length.log2() - self.shortest) / (self.longest - self.shortest))
    }

    fn y(&self, ratio: f64) -> f64 {
        rounded(TOP + PLOT * (1.0 - ratio * 5.0 / f64::from(self.steps)))
    }

    fn draw(&self, lengths: &str) -> Group {
        let (bottom, right) = (TOP + PLOT, WIDTH - RIGHT);
        let mut group = Group::new();
        for step in 0..=self.steps {
            let y = self.y(f64::from(step) / 5.0);
            let class = if step == 5 { "copy" } else { "grid" };
            group.append(line(class, (LEFT, y), (right, y)));
            group.append(text(format!("{} %", 20 * step), LEFT - 8.0, y + 4.5, 13.0, "end"));
        }
        let range = (self.shortest.ceil() as i64, self.longest.floor() as i64);
        let every = if range.1 - range.0 > 16 { 4 } else { 2 };
        for exponent in (range.0..=range.1).filter(|exponent| exponent % every == 0) {
            let x = self.x((exponent as f64).exp2());
            group.append(line("grid", (x, TOP), (x, bottom)));
            group.append(text(power_of_two(exponent), x, bottom + 20.0, 13.0, "middle"));
        }
        group.append(line("axis", (LEFT, bottom), (right, bottom)));
        group.append(line("axis", (LEFT, TOP), (LEFT, bottom)));
        group.append(text(lengths, f64::midpoint(LEFT, right), bottom + 42.0, 14.0, "middle"));
        let axis = text(AXIS, 0.0, 0.0, 14.0, "middle");
        group.add(axis.set("transform", format!("translate(20 {}) rotate(-90)", TOP + PLOT / 2.0)))
    }
}

impl LineChart {
    /// Draws it as SVG. `None` if there are no two lengths to draw a line between.
    pub fn draw(&self) -> Option<String> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let shortest = points().fold(f64::INFINITY, |min, point| min.min(point.0.log2()));
        let longest = points().fold(f64::NEG_INFINITY, |max, point| max.max(point.0.log2()));
        if shortest >= longest {
            return None;
        }
        let highest = points().fold(1.0_f64, |max, point| max.max(point.1));
        let axes = Axes { shortest, longest, steps: (highest * 5.0).ceil() as u32 };
        let (mut lines, mut legend) = (Group::new(), Group::new());
        let top = TOP + PLOT + 62.0;
        let column = (WIDTH - LEFT - RIGHT) / 3.0;
        for (number, (series, (color, dashes, mark))) in self.series.iter().zip(LINES).enumerate() {
            let stroke = |points: String| {
                let line = Polyline::new().set("points", points).set("fill", "none").set("stroke", color);
                line.set("stroke-width", 2).set("stroke-dasharray", dashes)
            };
            let places: Vec<(f64, f64)> =
                series.points.iter().map(|&(length, ratio)| (axes.x(length), axes.y(ratio))).collect();
            let points: Vec<String> = places.iter().map(|(x, y)| format!("{x},{y}")).collect();
            lines.append(stroke(points.join(" ")));
            places.into_iter().for_each(|place| lines.append(mark.at(place, color)));
            let (x, y) = (LEFT + (number % 3) as f64 * column, top + (number / 3) as f64 * 22.0);
            legend.append(stroke(format!("{x},{y} {},{y}", x + 44.0)));
            legend.append(mark.at((x + 22.0, y), color));
            legend.append(text(&series.name, x + 54.0, y + 4.5, 14.0, "start"));
        }
        let caption = Group::new().add(text(&self.caption, WIDTH / 2.0, 56.0, 14.0, "middle"));
        let height = top + 22.0 * self.series.len().div_ceil(3) as f64;
        let parts = vec![caption, axes.draw(&self.lengths), lines, legend];
        Some(page((WIDTH, height), (&self.title, 32.0), STYLE, Vec::new(), parts))
    }
}

/// What raw output lacks, or has in a way that is not understood.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RawError(String);

/// The cells of the rows of a table in Markdown, without its head.
fn rows(raw: &str) -> impl Iterator<Item = Vec<&str>> {
    let tables = raw.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    tables
        .map(|row| row.split('|').map(str::trim).collect())
        .filter(|row: &Vec<&str>| row.last().is_some_and(|cell| cell.parse::<f64>().is_ok()))
}

/// The chart of the raw output of `benches/engine --bench training`, of one device: for each array and type the forward
/// and the backward pass.
///
/// # Errors
///
/// A row that is not of that bench.
pub fn training_chart(raw: &str, caption: &str) -> Result<String, RawError> {
    /// The place of the bars, between two groups, and of a bar.
    const BARS: f64 = 384.0;
    const BETWEEN: f64 = 10.0;
    const BAR: f64 = 17.0;
    let x = |ratio: f64| rounded(BARS + (WIDTH - BARS - 90.0) * ratio);
    let mut y = TOP;
    let mut bars = Group::new();
    let mut last = String::new();
    for row in rows(raw) {
        let &[of, array, gate, pass, ratio] = row.as_slice() else {
            return Err(RawError(format!("five columns are expected: {row:?}")));
        };
        let ratio: f64 = ratio.parse().map_err(|_| RawError(format!("no ratio: {row:?}")))?;
        let class = match pass {
            "forward" | "backward" => pass,
            _ => return Err(RawError(format!("`{pass}` is neither forward nor backward"))),
        };
        let (shape, axis) = array.rsplit_once(", ").ok_or_else(|| RawError(format!("no time axis: {row:?}")))?;
        let mut group = format!("{of}, {shape}, axis {axis}");
        if gate != "1" {
            group = format!("{group}, a gate for {gate} channels");
        }
        if group != last {
            y += BETWEEN;
            bars.append(text(&group, BARS - 10.0, y + BAR + 4.5, 13.0, "end"));
            last = group;
        }
        bars.append(rectangle(class, (BARS, y), (rounded(x(ratio) - BARS), BAR)));
        let percent = text(format!("{:.1} %", 100.0 * ratio), x(ratio) + 6.0, y + 13.0, 12.0, "start");
        bars.append(percent.set("class", "over"));
        y += BAR;
    }
    if last.is_empty() {
        return Err(RawError("no rows of the training bench".to_owned()));
    }
    let end = y + BETWEEN;
    let mut axes = Group::new();
    for step in 0..=5 {
        let at = x(f64::from(step) / 5.0);
        axes.append(line(if step == 5 { "copy" } else { "grid" }, (at, TOP), (at, end)));
        axes.append(text(format!("{} %", 20 * step), at, end + 18.0, 13.0, "middle"));
    }
    axes.append(line("axis", (BARS, TOP), (BARS, end)));
    axes.append(text(AXIS, x(0.5), end + 40.0, 14.0, "middle"));
    let mut words = Group::new().add(text(caption, WIDTH / 2.0, 56.0, 14.0, "middle"));
    for (pass, at) in [("forward", 60.0), ("backward", 180.0)] {
        words.append(rectangle(pass, (at, end + 27.0), (30.0, BAR)));
        words.append(text(pass, at + 38.0, end + 40.0, 14.0, "start"));
    }
    let title = ("Training through a recurrence: forward and backward", 32.0);
    Ok(page((WIDTH, end + 56.0), title, STYLE, vec![hatch("hatch", 1.2)], vec![words, axes, bars]))
}

/// The line of a row in the raw output of `benches/world`, whose columns are separated by tabs.
///
/// # Errors
///
/// That there is no such row, or one without a ratio.
pub fn across_ranks(raw: &str, row: &str, name: &str) -> Result<Series, RawError> {
    let mut points = Vec::new();
    for cells in raw.lines().map(|line| line.split('\t').collect::<Vec<_>>()) {
        if let &[of, _, length, _, ratio, _] = cells.as_slice()
            && of == row
        {
            let number = |cell: &str| cell.parse::<f64>().map_err(|_| RawError(format!("no number: {cells:?}")));
            points.push((number(length)?, number(ratio)?));
        }
    }
    if points.is_empty() {
        return Err(RawError(format!("no row `{row}`")));
    }
    Ok(Series { name: name.to_owned(), points })
}
