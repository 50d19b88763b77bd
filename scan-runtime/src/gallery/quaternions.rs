//! Attitude from the readings of a gyroscope.
//!
//! Each reading is a small rotation. Rotations compose as quaternions do, and their product is associative, but not
//! commutative.

use crate::{ScanOp, scan_element, scan_op};

/// The quaternion w + x·i + y·j + z·k, of length 1: a rotation.
#[scan_element(crate = crate, gradient)]
#[derive(Clone, Copy, Debug)]
pub struct Quaternion {
    /// The cosine of half the angle.
    pub w: f32,
    /// The part of i: the axis, times the sine of half the angle.
    pub x: f32,
    /// The part of j.
    pub y: f32,
    /// The part of k.
    pub z: f32,
}

/// The direction of a craft's nose after turns about the craft's own axes.
///
/// - Input: the turn since the last reading, as angles about the craft's axes x, y and z, in radians: the rates of a
///   gyroscope times the interval.
/// - Output: the nose as a vector of length 1, in the frame in which it was (1, 0, 0) at first.
/// - Source: M. D. Shuster, *A Survey of Attitude Representations*, Journal of the Astronautical Sciences 41, 1993.
///
/// ```
/// use scan_runtime::{Scanner, gallery::quaternions::Attitude};
/// use std::f32::consts::FRAC_PI_2;
///
/// // Two quarter turns to the left.
/// let noses = Scanner::new()?.scan(Attitude).run(&[[0.0, 0.0, FRAC_PI_2]; 2])?;
/// let expected = [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0_f32]];
/// let differences = noses.iter().flatten().zip(expected.iter().flatten()).map(|(a, b)| (a - b).abs());
/// assert!(differences.fold(0.0, f32::max) < 1e-5);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attitude;

#[scan_op(crate = crate, gradient)]
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
