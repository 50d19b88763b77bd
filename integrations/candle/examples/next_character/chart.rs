//! A curve of losses as SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const MARGIN: f64 = 56.0;

/// The loss of each training step, its running mean, and a line at what the frequencies of characters give.
pub(crate) fn loss(losses: &[f64], frequencies: f64) -> String {
    let largest = losses.iter().copied().fold(frequencies, f64::max).ceil();
    let x = |step: f64| MARGIN + step / losses.len() as f64 * (WIDTH - 2.0 * MARGIN);
    let y = |loss: f64| HEIGHT - MARGIN - loss / largest * (HEIGHT - 2.0 * MARGIN);
    let path = |points: &mut dyn Iterator<Item = f64>| {
        let mut path = String::new();
        for (step, loss) in points.enumerate() {
            let command = if step == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1} {:.1}", x(step as f64 + 1.0), y(loss)); // a string takes it
        }
        path
    };
    let mut mean = losses.first().copied().unwrap_or_default();
    let mut smooth = losses.iter().map(|loss| {
        mean += 0.1 * (loss - mean);
        mean
    });
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    let mut line = |text: String| {
        svg.push_str(&text);
        svg.push('\n');
    };
    for tick in 0..=largest as usize {
        let at = y(tick as f64);
        line(format!("<path d=\"M{MARGIN} {at:.1}H{}\" stroke=\"#ddd\"/>", WIDTH - MARGIN));
        line(format!("<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>", MARGIN - 8.0, at + 4.0));
    }
    for step in (0..=losses.len()).step_by(50) {
        let (x, y) = (x(step as f64), HEIGHT - MARGIN + 20.0);
        line(format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{step}</text>"));
    }
    line(format!(
        "<path d=\"M{MARGIN} {:.1}H{}\" stroke=\"#555\" stroke-dasharray=\"5 4\"/>",
        y(frequencies),
        WIDTH - MARGIN
    ));
    line(format!("<path d=\"{}\" fill=\"none\" stroke=\"#9dc3e6\"/>", path(&mut losses.iter().copied())));
    line(format!("<path d=\"{}\" fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"2\"/>", path(&mut smooth)));
    let label = |x: f64, y: f64, text: &str| format!("<text x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
    line(label(MARGIN, MARGIN - 20.0, "loss: nats per character"));
    line(label(WIDTH / 2.0 - 40.0, HEIGHT - 12.0, "training step"));
    line(label(WIDTH - MARGIN - 230.0, y(frequencies) - 6.0, "by the frequencies of characters alone"));
    svg.push_str("</svg>\n");
    svg
}
