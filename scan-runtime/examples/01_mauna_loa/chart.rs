//! Draws the curves: three panels over one time axis.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use jiff::civil::Date;
use plotters::chart::SeriesAnno;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Record;
use crate::curves::Curves;

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Panel<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), Box<dyn Error>>;

/// The canvas. The backend rounds to whole units, hence many of them; the drawing is shown at a third of this.
const SIZE: (u32, u32) = (3600, 3540);
const FINENESS: u32 = 3;
const INK: RGBColor = RGBColor(0x26, 0x2b, 0x33);
const QUIET: RGBColor = RGBColor(0x6b, 0x73, 0x80);
const GRID: RGBColor = RGBColor(0xe3, 0xe6, 0xea);
const OBSERVED: RGBColor = RGBColor(0x9a, 0xa3, 0xad);
const HIGH: RGBColor = RGBColor(0xc4, 0x4e, 0x3b);
const SMOOTHED: RGBColor = RGBColor(0x1f, 0x5f, 0x99);
const MEAN: RGBColor = RGBColor(0x2f, 0x7d, 0x5b);
const FALL: RGBColor = RGBColor(0x8a, 0x4f, 0x9e);

/// Draws the record and its curves to an SVG file.
pub fn draw(to: &Path, record: &Record, curves: &Curves, alpha: f64) -> Drawn {
    // The backend panics where it cannot write: it is given memory, and the file is written here.
    let mut svg = String::new();
    draw_into(&mut svg, record, curves, alpha)?;
    let canvas = format!("width=\"{}\" height=\"{}\"", SIZE.0, SIZE.1);
    let shown = format!("width=\"{}\" height=\"{}\"", SIZE.0 / FINENESS, SIZE.1 / FINENESS);
    std::fs::write(to, svg.replacen(&canvas, &shown, 1))
        .map_err(|error| format!("cannot write {}: {error}", to.display()))?;
    Ok(())
}

fn draw_into(svg: &mut String, record: &Record, curves: &Curves, alpha: f64) -> Drawn {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let years: Vec<f64> = record.weeks.iter().map(|week| decimal_year(week.date)).collect();
    let time = span(&years);

    let (head, rest) = root.split_vertically(216);
    let (panels, foot) = rest.split_vertically(SIZE.1 - 216 - 120);
    let (first, rest) = panels.split_vertically(1500);
    let (second, third) = rest.split_vertically(900);

    let period = match (record.weeks.first(), record.weeks.last()) {
        (Some(first), Some(last)) if first.date.year() == last.date.year() => format!(", {}", last.date.year()),
        (Some(first), Some(last)) => format!(", {} to {}", first.date.year(), last.date.year()),
        _ => String::new(),
    };
    text(&head, &format!("{}{period}", record.title), (100, 66), 84, INK)?;
    text(&foot, &format!("Source: {}", record.source), (100, 30), 42, QUIET)?;

    observations(&first, record, curves, alpha, &years, &time)?;
    moments(&second, curves, &years, &time)?;
    falls(&third, curves, &years, &time)?;
    root.present()?;
    Ok(())
}

fn observations(area: &Area, record: &Record, curves: &Curves, alpha: f64, years: &[f64], time: &Range<f64>) -> Drawn {
    let observed = record.weeks.iter().filter_map(|week| week.co2);
    let mut panel = panel(area, "Weekly observations", "CO₂ (ppmv)", time, around(observed))?;
    // A line for each stretch without a missing week, so that a gap in the record is a gap in the curve.
    let points: Vec<_> = years.iter().copied().zip(record.weeks.iter().map(|week| week.co2)).collect();
    for (index, stretch) in points.split(|(_, co2)| co2.is_none()).filter(|stretch| !stretch.is_empty()).enumerate() {
        let line = stretch.iter().filter_map(|(year, co2)| Some((*year, (*co2)?)));
        let drawn = panel.draw_series(LineSeries::new(line, OBSERVED.stroke_width(3)))?;
        if index == 0 {
            label(drawn, "observed".to_owned(), OBSERVED.stroke_width(6));
        }
    }
    let style = HIGH.stroke_width(3);
    label(
        panel.draw_series(LineSeries::new(steps(years, &curves.record_high), style))?,
        "record high so far".into(),
        HIGH.stroke_width(6),
    );
    let style = SMOOTHED.stroke_width(6);
    let smoothed = LineSeries::new(years.iter().copied().zip(curves.smoothed.iter().copied()), style);
    label(panel.draw_series(smoothed)?, format!("exponentially smoothed, α = {alpha}"), style);
    legend(&mut panel)
}

fn moments(area: &Area, curves: &Curves, years: &[f64], time: &Range<f64>) -> Drawn {
    let bound =
        |sign: f64| curves.moments.iter().map(move |moments| moments.mean + sign * moments.standard_deviation());
    let range = around(bound(-1.0).chain(bound(1.0)));
    let mut panel = panel(area, "Mean of all weeks so far", "CO₂ (ppmv)", time, range)?;
    let upper = years.iter().copied().zip(bound(1.0));
    let lower = years.iter().copied().zip(bound(-1.0));
    let band: Vec<_> = upper.chain(lower.collect::<Vec<_>>().into_iter().rev()).collect();
    panel
        .draw_series([Polygon::new(band, MEAN.mix(0.18))])?
        .label("± one standard deviation")
        .legend(|(x, y)| Rectangle::new([(x + 24, y - 18), (x + 96, y + 18)], MEAN.mix(0.18).filled()));
    let style = MEAN.stroke_width(6);
    let mean = LineSeries::new(years.iter().copied().zip(curves.moments.iter().map(|moments| moments.mean)), style);
    label(panel.draw_series(mean)?, "running mean".to_owned(), style);
    legend(&mut panel)
}

fn falls(area: &Area, curves: &Curves, years: &[f64], time: &Range<f64>) -> Drawn {
    let range = around(curves.largest_fall.iter().copied());
    let mut panel = panel(area, "Largest fall from a previous high, so far", "CO₂ (ppmv)", time, range)?;
    panel.draw_series(LineSeries::new(steps(years, &curves.largest_fall), FALL.stroke_width(6)))?;
    Ok(())
}

/// An empty panel with its title and axes.
fn panel<'a>(
    area: &Area<'a>,
    title: &str,
    unit: &str,
    time: &Range<f64>,
    values: Range<f64>,
) -> Result<Panel<'a>, Box<dyn Error>> {
    text(area, title, (100, 12), 54, INK)?;
    // Apart enough for neighbouring labels to differ.
    let long = time.end - time.start > 10.0;
    let decimals = if values.end - values.start > 8.0 { 0 } else { 1 };
    let mut panel = ChartBuilder::on(area)
        .margin_top(108)
        .margin_right(100)
        .margin_bottom(18)
        .margin_left(90)
        .x_label_area_size(84)
        .y_label_area_size(190)
        .build_cartesian_2d(time.clone(), values)?;
    panel
        .configure_mesh()
        .set_all_tick_mark_size(18)
        .x_labels(if long { 10 } else { 6 })
        .y_labels(6)
        .x_label_formatter(&|year| if long { format!("{year:.0}") } else { day(*year) })
        .y_label_formatter(&|value| {
            // A zero that came out of a sum may have a sign.
            let value = if value.abs() < 1e-9 { 0.0 } else { *value };
            format!("{value:.decimals$}")
        })
        .y_desc(unit)
        .axis_desc_style(font(45, INK))
        .label_style(font(42, INK))
        .axis_style(QUIET.stroke_width(3))
        .bold_line_style(GRID.stroke_width(3))
        .light_line_style(TRANSPARENT)
        .draw()?;
    Ok(panel)
}

fn legend<'a>(panel: &mut Panel<'a>) -> Drawn {
    panel
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .margin(0)
        .legend_area_size(126)
        .label_font(font(45, INK))
        .background_style(WHITE)
        .draw()?;
    Ok(())
}

/// Names a series in the legend, next to a short line in its style.
fn label<'a>(series: &mut SeriesAnno<'a, SVGBackend<'a>>, name: String, style: ShapeStyle) {
    series.label(name).legend(move |(x, y)| PathElement::new([(x + 24, y), (x + 96, y)], style));
}

fn text(area: &Area, text: &str, at: (i32, i32), size: u32, colour: RGBColor) -> Drawn {
    area.draw_text(text, &font(size, colour).pos(Pos::new(HPos::Left, VPos::Top)), at)?;
    Ok(())
}

fn font(size: u32, colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&colour)
}

/// A curve that keeps each value until the next week.
fn steps<'a>(years: &'a [f64], values: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    let held = years.iter().skip(1).zip(values).map(|(year, value)| (*year, *value));
    let taken = years.iter().zip(values).map(|(year, value)| (*year, *value));
    let last = taken.clone().next_back();
    taken.zip(held).flat_map(|(taken, held)| [taken, held]).chain(last)
}

/// The date as a point on the axis of years.
fn decimal_year(date: Date) -> f64 {
    f64::from(date.year()) + (f64::from(date.day_of_year()) - 1.0) / f64::from(date.days_in_year())
}

/// The day at a point on the axis of years.
fn day(year: f64) -> String {
    let start = Date::new(year.floor() as i16, 1, 1);
    let day = start.and_then(|start| {
        let days = ((year - year.floor()) * f64::from(start.days_in_year())).round();
        start.checked_add(jiff::Span::new().try_days(days as i64)?)
    });
    // Only the edge of the calendar has no such day.
    day.map_or_else(|_| format!("{year:.2}"), |day| day.to_string())
}

/// From the first year to the last, never empty.
fn span(years: &[f64]) -> Range<f64> {
    let first = years.first().copied().unwrap_or(0.0);
    let last = years.last().copied().unwrap_or(first);
    if last > first { first..last } else { first - 0.5..last + 0.5 }
}

/// A range with a little air around the values, at least a unit wide.
fn around(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let air = ((high - low) * 0.06).max(0.5);
    low - air..high + air
}
