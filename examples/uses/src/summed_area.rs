//! A summed-area table of an image, and with it box and variance filters of any radius by four reads a pixel.
//!
//! The loop that one would write:
//!
//! ```text
//! for y in 0..height {
//!     let mut row = 0;
//!     for x in 0..width {
//!         row += image[y][x];
//!         table[y][x] = table[y - 1][x] + row;   // no table[-1] at the top
//!     }
//! }
//! ```
//!
//! It is a sum along the rows, then one along the columns of the results, and sums are associative. The sum of any box
//! is `t[bottom][right] − t[top][right] − t[bottom][left] + t[top][left]`. Two scans of the whole image would go
//! through memory twice where the loop goes once. So here bands of rows take turns while a band is in the caches, and
//! the last row of a band is the initial value of each column of the next, by `.init_each`: 1.3 times the loop on one
//! thread of a CPU, 1.2 times on two.
//!
//! The variance of a box is its mean of squares less the square of its mean, so a second table has the sums of squares:
//! `ops::pair` makes both of one read of the image. The sums wrap around at 2³², and the differences are right all the
//! same as long as the sum of a box itself is below 2³²: boxes of up to 66,051 pixels.
//!
//! Sources: F. C. Crow, *Summed-Area Tables for Texture Mapping*, 1984; P. Viola and M. Jones, *Rapid Object Detection
//! using a Boosted Cascade of Simple Features*, 2001.

use scan_runtime::{Axis, Error, Scanner, ops, scan_fn};

use crate::report::{Outcome, Report, check, mixed};

#[scan_fn]
fn value(pixel: u8) -> u32 {
    pixel as u32
}

#[scan_fn]
fn square(pixel: u8) -> u32 {
    pixel as u32 * pixel as u32
}

/// As many rows as the caches hold between the scan along them and that down the columns.
const BAND: usize = 64;

/// The sums of the pixels, and of their squares, to the left of and above each pixel, with its own row and column.
#[derive(PartialEq)]
struct Tables {
    width: usize,
    height: usize,
    sums: Vec<u32>,
    squares: Vec<u32>,
}

impl Tables {
    fn new(width: usize, height: usize) -> Self {
        Tables { width, height, sums: vec![0; width * height], squares: vec![0; width * height] }
    }

    fn compute(&mut self, scanner: &Scanner, image: &[u8]) -> Result<(), Error> {
        let along_rows = scanner.scan(ops::pair(ops::map::<value, _>(ops::sum()), ops::map::<square, _>(ops::sum())));
        let down = scanner.scan(ops::sum());
        let zeros = vec![0; self.width];
        for (band, pixels) in image.chunks((BAND * self.width).max(1)).enumerate() {
            let begin = band * BAND * self.width;
            let [(sums_above, sums), (squares_above, squares)] =
                [&mut self.sums, &mut self.squares].map(|table| table[..begin + pixels.len()].split_at_mut(begin));
            along_rows.rows(self.width).run_into(pixels, (&mut *sums, &mut *squares))?;
            for (above, table) in [(sums_above, sums), (squares_above, squares)] {
                let last_row = if band == 0 { &zeros } else { &above[begin - self.width..] };
                let columns = Axis::of(&[pixels.len() / self.width, self.width], 0)?;
                down.along(columns).init_each(last_row).run_in_place(table)?;
            }
        }
        Ok(())
    }

    /// The plain loop.
    fn compute_in_a_loop(&mut self, image: &[u8]) {
        let (width, zeros) = (self.width, vec![0; self.width]);
        for (y, pixels) in image.chunks(width.max(1)).enumerate() {
            let [(sums_above, sums), (squares_above, squares)] =
                [&mut self.sums, &mut self.squares].map(|table| table[..(y + 1) * width].split_at_mut(y * width));
            let [sums_above, squares_above] =
                [&*sums_above, &*squares_above].map(|above| if y == 0 { &zeros } else { &above[(y - 1) * width..] });
            let (mut row, mut row_of_squares) = (0, 0);
            let above = sums_above.iter().zip(squares_above);
            for ((pixel, above), (sum, square)) in pixels.iter().zip(above).zip(sums.iter_mut().zip(squares)) {
                row += u32::from(*pixel);
                row_of_squares += u32::from(*pixel) * u32::from(*pixel);
                *sum = above.0.wrapping_add(row);
                *square = above.1.wrapping_add(row_of_squares);
            }
        }
    }

    /// The mean and the variance of the pixels at most `radius` from a pixel along each axis.
    fn statistics(&self, x: usize, y: usize, radius: usize) -> (f64, f64) {
        let [left, top] = [x, y].map(|at| at.saturating_sub(radius));
        let (right, bottom) = ((x + radius + 1).min(self.width), (y + radius + 1).min(self.height));
        let of = |table: &[u32]| {
            let at = |x: usize, y: usize| if x * y == 0 { 0 } else { table[(y - 1) * self.width + x - 1] };
            f64::from(
                (at(right, bottom).wrapping_sub(at(right, top)))
                    .wrapping_sub(at(left, bottom).wrapping_sub(at(left, top))),
            )
        };
        let pixels = ((right - left) * (bottom - top)) as f64;
        let mean = of(&self.sums) / pixels;
        (mean, of(&self.squares) / pixels - mean * mean)
    }
}

/// A disc in front of a dark ground, with noise.
fn image(width: usize, height: usize) -> Vec<u8> {
    let pixel = |i: usize| {
        let [x, y] = [i % width, i / width].map(|at| at as f64);
        let [x, y] = [x / width as f64 - 0.5, y / height as f64 - 0.5];
        let disc = if x * x + y * y < 0.1 { 170 } else { 30 };
        (disc + mixed(i as u64) % 60) as u8
    };
    (0..width * height).map(pixel).collect()
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let width = len.isqrt();
    let image = image(width, width);
    let (mut tables, mut expected) = (Tables::new(width, width), Tables::new(width, width));
    let mut report = Report::default();
    report.time(
        "tables of sums and of squares",
        width * width,
        || expected.compute_in_a_loop(&image),
        || tables.compute(scanner, &image),
    )?;
    check(tables == expected, "tables")?;
    report.drawing = drawing(scanner)?;
    Ok(report)
}

/// An image, its mean of boxes and its deviation in boxes, side by side.
fn drawing(scanner: &Scanner) -> Result<String, Error> {
    let (width, height) = (32, 16);
    let image = image(width, height);
    let mut tables = Tables::new(width, height);
    tables.compute(scanner, &image)?;
    let shade = |level: f64| char::from(b" .:-=+*#%@"[(level / 25.6).clamp(0.0, 9.0) as usize]);
    let mut lines = format!("{:<34}{:<34}{}\n", "pixels", "mean of 3 × 3", "deviation in 3 × 3, times 2");
    for y in 0..height {
        let row = |level: &dyn Fn(usize) -> f64| (0..width).map(|x| shade(level(x))).collect::<String>();
        let pixels = row(&|x| f64::from(image[y * width + x]));
        let means = row(&|x| tables.statistics(x, y, 1).0);
        let deviations = row(&|x| 2.0 * tables.statistics(x, y, 1).1.sqrt());
        lines += &format!("{pixels}  {means}  {deviations}\n");
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_those_of_a_loop() {
        for len in [0, 1, 2, 900, 40_000] {
            run(&Scanner::cpu(), len).unwrap();
        }
    }

    #[test]
    fn statistics_are_those_of_all_pixels_of_a_box() {
        let (width, height) = (23, 11);
        let image = image(width, height);
        let mut tables = Tables::new(width, height);
        tables.compute(&Scanner::cpu(), &image).unwrap();
        for (x, y, radius) in [(0, 0, 0), (22, 10, 3), (11, 5, 2), (4, 9, 40)] {
            let near = |i: &usize| (i % width).abs_diff(x) <= radius && (i / width).abs_diff(y) <= radius;
            let pixels: Vec<f64> = (0..image.len()).filter(near).map(|i| f64::from(image[i])).collect();
            let mean = pixels.iter().sum::<f64>() / pixels.len() as f64;
            let variance = pixels.iter().map(|pixel| (pixel - mean).powi(2)).sum::<f64>() / pixels.len() as f64;
            let (our_mean, our_variance) = tables.statistics(x, y, radius);
            assert!((our_mean - mean).abs() < 1e-9 && (our_variance - variance).abs() < 1e-6, "{x} {y} {radius}");
        }
    }
}
