//! Operators whose CUDA is kept in snapshots, and reviewed when it changes.

use scan_runtime::{Reduce, Scan, ScanOp, Scanner, scan_element, scan_op};

/// A move in the plane: turned by an angle, whose cosine and sine these are, and then shifted.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    pub cos: f64,
    pub sin: f64,
    pub x: f64,
    pub y: f64,
}

/// One move after the other, each as seen by the one that moves.
pub struct Path;

#[scan_op(laws(samples = [Move { cos: 0.6, sin: 0.8, x: 1.0, y: 0.0 }, Move { cos: 0.0, sin: -1.0, x: 0.5, y: 2.0 }]))]
impl ScanOp for Path {
    type Element = Move;
    const IDENTITY: Move = Move { cos: 1.0, sin: 0.0, x: 0.0, y: 0.0 };
    fn combine(a: Move, b: Move) -> Move {
        Move {
            cos: a.cos * b.cos - a.sin * b.sin,
            sin: a.sin * b.cos + a.cos * b.sin,
            x: a.x + a.cos * b.x - a.sin * b.y,
            y: a.y + a.sin * b.x + a.cos * b.y,
        }
    }
}

/// Where one is after each move.
pub fn path(scanner: &Scanner) -> Scan<Path> {
    scanner.scan(Path)
}

/// Where one is at the end.
pub fn end(scanner: &Scanner) -> Reduce<Path> {
    scanner.reduce(Path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scan_runtime::DeviceLimits;

    /// On any machine, what would run on a GPU of this architecture.
    fn on(architecture: &str) -> Scanner {
        Scanner::cpu_for(DeviceLimits::of(architecture.parse().unwrap()))
    }

    /// All kernels of the reduction.
    #[test]
    fn text_of_end() {
        insta::assert_snapshot!(end(&on("sm_80")).cuda_source().unwrap().without_lines());
    }

    /// The operator's own part of the scan's text, which changes with the operator and its plan only.
    #[test]
    fn operator_of_path() {
        insta::assert_snapshot!(path(&on("sm_90")).cuda_source_for(1000).unwrap().without_lines().operator());
    }

    #[test]
    fn the_end_is_that_of_a_loop() {
        let moves: Vec<Move> = (0..5000)
            .map(|i| {
                let (sin, cos) = (0.001 * f64::from(i)).sin_cos();
                Move { cos, sin, x: 1.0, y: 0.0 }
            })
            .collect();
        let (mut angle, mut x, mut y) = (0.0_f64, 0.0, 0.0);
        let mut places = Vec::new();
        for step in &moves {
            x += angle.cos() * step.x - angle.sin() * step.y;
            y += angle.sin() * step.x + angle.cos() * step.y;
            angle += step.sin.atan2(step.cos);
            places.push((x, y));
        }
        let scanner = Scanner::new().unwrap();
        let near = |a: &Move, (x, y): (f64, f64)| (a.x - x).abs() < 1e-8 && (a.y - y).abs() < 1e-8;
        let path = path(&scanner).run(&moves).unwrap();
        assert!(path.iter().zip(&places).all(|(a, place)| near(a, *place)));
        assert!(near(&end(&scanner).run(&moves).unwrap(), (x, y)));
    }
}
