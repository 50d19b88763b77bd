//! The parts that pictures of the documentation share: a white page, which is readable on a dark ground too, with a
//! title, texts and lines.

use svg::{
    Document, Node,
    node::element::{Definitions, Group, Line, Pattern, Rectangle, Style, Text, Title},
};

const FONT: &str = "text { font-family: 'Latin Modern Roman', 'STIX Two Text', Georgia, serif; fill: #1a1a1a }\n";

pub(crate) fn text(content: impl Into<String>, x: f64, y: f64, size: f64, anchor: &str) -> Text {
    Text::new(content).set("x", x).set("y", y).set("font-size", size).set("text-anchor", anchor)
}

pub(crate) fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Line {
    Line::new().set("class", class).set("x1", from.0).set("y1", from.1).set("x2", to.0).set("y2", to.1)
}

pub(crate) fn rectangle(class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) -> Rectangle {
    Rectangle::new().set("class", class).set("x", x).set("y", y).set("width", width).set("height", height)
}

/// Diagonal lines of this width, for `fill: url(#id)`.
pub(crate) fn hatch(id: &str, width: f64) -> Pattern {
    let ground = Rectangle::new().set("width", 8).set("height", 8).set("fill", "#ffffff");
    let stroke = Line::new().set("y2", 6).set("stroke", "#1a1a1a").set("stroke-width", width);
    let pattern = Pattern::new().set("id", id).set("patternUnits", "userSpaceOnUse").set("width", 6).set("height", 6);
    pattern.set("patternTransform", "rotate(45)").add(ground).add(stroke)
}

/// A tenth of a point is enough.
pub(crate) fn rounded(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}

/// A page of this size: its title with the baseline at `title_y`, its style, the patterns that the style names, and its
/// parts, the lowest first.
pub(crate) fn page(
    (width, height): (f64, f64),
    (title, title_y): (&str, f64),
    style: &str,
    patterns: Vec<Pattern>,
    parts: Vec<Group>,
) -> String {
    let mut definitions = Definitions::new().add(Style::new(format!("{FONT}{style}")));
    patterns.into_iter().for_each(|pattern| definitions.append(pattern));
    let mut document = Document::new()
        .set("viewBox", (0, 0, width, height))
        .set("width", width)
        .set("height", height)
        .add(Title::new(title))
        .add(definitions)
        .add(Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "#ffffff"));
    parts.into_iter().for_each(|part| document.append(part));
    let heading = text(title, width / 2.0, title_y, 20.0, "middle").set("font-weight", "bold");
    document.add(heading).to_string() + "\n"
}
