//! Attitude from a gyroscope: each reading is a small rotation, and rotations compose as quaternions.

use super::{Example, each_prefix, uniform};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// w + xi + yj + zk
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Quaternion {
    w: f32,
    x: f32,
    y: f32,
    z: f32,
}

/// Where the nose of a craft points, after turns about its own axes.
#[derive(Clone, Copy, Debug)]
pub struct Attitude;

#[scan_op]
impl ScanOp for Attitude {
    /// Angles about the three axes, in radians.
    type Input = [f32; 3];
    type State = Quaternion;
    type Output = [f32; 3];
    const IDENTITY: Quaternion = Quaternion { w: 1.0, x: 0.0, y: 0.0, z: 0.0 };
    fn lift(turn: [f32; 3]) -> Quaternion {
        let angle = (turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]).sqrt();
        // sin(angle / 2) / angle, which is 1/2 at 0.
        let scale = if angle == 0.0 { 0.5 } else { (0.5 * angle).sin() / angle };
        Quaternion { w: (0.5 * angle).cos(), x: scale * turn[0], y: scale * turn[1], z: scale * turn[2] }
    }
    fn combine(a: Quaternion, b: Quaternion) -> Quaternion {
        Quaternion {
            w: a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
            x: a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            y: a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            z: a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
        }
    }
    fn project(q: Quaternion) -> [f32; 3] {
        [1.0 - 2.0 * (q.y * q.y + q.z * q.z), 2.0 * (q.x * q.y + q.w * q.z), 2.0 * (q.x * q.z - q.w * q.y)]
    }
}

impl Example for Attitude {
    fn new() -> Self {
        Attitude
    }
    fn input(len: usize) -> Vec<[f32; 3]> {
        (0..len).map(|i| [0, 1, 2].map(|axis| (0.02 * (uniform(3 * i + axis) - 0.4)) as f32)).collect()
    }
    /// By matrices, each turn's from Rodrigues' formula.
    fn expected(&self, input: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let unit = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let product = |a: [[f64; 3]; 3], b: [[f64; 3]; 3]| {
            a.map(|row| [0, 1, 2].map(|j| row[0] * b[0][j] + row[1] * b[1][j] + row[2] * b[2][j]))
        };
        each_prefix(input, unit, |attitude, turn| {
            let [x, y, z] = turn.map(f64::from);
            let angle = (x * x + y * y + z * z).sqrt();
            let (sine, versine) =
                if angle == 0.0 { (1.0, 0.5) } else { (angle.sin() / angle, (1.0 - angle.cos()) / (angle * angle)) };
            let cross = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]];
            let square = product(cross, cross);
            let entry = |i: usize, j: usize| unit[i][j] + sine * cross[i][j] + versine * square[i][j];
            *attitude = product(*attitude, [0, 1, 2].map(|i| [0, 1, 2].map(|j| entry(i, j))));
            [0, 1, 2].map(|row: usize| attitude[row][0] as f32)
        })
    }
    fn tolerance() -> f64 {
        2e-4
    }
}
