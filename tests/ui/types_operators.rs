//! Operators that are implemented by hand, for structs, arrays and enums.

use scan_runtime::{ScanOp, scan_element, scan_fn, scan_op};
use std::ops::{Add, AddAssign, BitXor, Mul, Neg, Not, Shl, Sub};

#[scan_element]
#[derive(Clone, Copy)]
struct Vector {
    x: f32,
    y: f32,
}

#[scan_element]
#[derive(Clone, Copy)]
enum Turn {
    Left,
    Right,
}

/// A product whose value is a number.
impl Mul for Vector {
    type Output = f32;
    fn mul(self, other: Vector) -> f32 {
        self.x * other.x + self.y * other.y
    }
}

/// A number on one side.
impl Mul<Vector> for f32 {
    type Output = Vector;
    fn mul(self, vector: Vector) -> Vector {
        Vector { x: self * vector.x, y: self * vector.y }
    }
}

impl Add for Vector {
    type Output = Vector;
    fn add(self, other: Vector) -> Vector {
        Vector { x: self.x + other.x, y: self.y + other.y }
    }
}

impl Sub<f32> for Vector {
    type Output = Vector;
    fn sub(self, other: f32) -> Vector {
        Vector { x: self.x - other, y: self.y }
    }
}

impl AddAssign for Vector {
    fn add_assign(&mut self, other: Vector) {
        *self = *self + other;
    }
}

impl AddAssign<Vector> for f32 {
    fn add_assign(&mut self, other: Vector) {
        *self = other.x;
    }
}

impl Neg for Vector {
    type Output = Vector;
    fn neg(self) -> Vector {
        Vector { x: -self.x, y: -self.y }
    }
}

impl Not for Turn {
    type Output = bool;
    fn not(self) -> bool {
        matches!(self, Turn::Left)
    }
}

impl BitXor for Turn {
    type Output = Turn;
    fn bitxor(self, _: Turn) -> Turn {
        self
    }
}

impl Shl<Turn> for Vector {
    type Output = Vector;
    fn shl(self, _: Turn) -> Vector {
        self
    }
}

impl Mul<f32> for Turn {
    type Output = [f32; 2];
    fn mul(self, x: f32) -> [f32; 2] {
        [x, x]
    }
}

impl From<Turn> for u32 {
    fn from(_: Turn) -> u32 {
        7
    }
}

#[scan_fn]
fn turned(turn: Turn) -> Turn {
    turn ^ turn
}

#[scan_op]
fn sum(a: Vector, b: Vector) -> Vector {
    let mut c = a;
    c += b;
    let mut length = a * b;
    length += a;
    let d = 2.0 * b;
    let e = Vector { x: length, ..d } - 1.0;
    -(a + e)
}

#[scan_op]
fn turns(a: Turn, b: Turn) -> Turn {
    let items = a * 2.0;
    let number = u32::from(b) + items[0] as u32;
    assert!(!b);
    if !a && number > 1 { turned(a) } else { b }
}

struct Shifted;

#[scan_op]
impl ScanOp for Shifted {
    type Input = Turn;
    type State = [Vector; 2];
    type Output = bool;
    fn lift(x: Turn) -> [Vector; 2] {
        [Vector { x: 0.0, y: 1.0 } << x; 2]
    }
    fn combine(a: [Vector; 2], b: [Vector; 2]) -> [Vector; 2] {
        let mut c = a;
        for i in 0..2_usize {
            c[i] += b[i];
        }
        c
    }
    fn project(s: [Vector; 2]) -> bool {
        s[0] * s[1] > 0.0
    }
}

fn main() {}
