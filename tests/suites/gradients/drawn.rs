//! Random operators: `drawn.py` made them.

#![allow(unused, clippy::all, reason = "nobody wrote this")]

use scan_runtime::{ScanOp, scan_fn, scan_op};

use super::programs::{Drawn, Visitor};

#[scan_fn(gradient)]
fn helper(a: f64, b: f64) -> f64 {
    if a > b { (a - b).tanh() * a } else { b.sin() - a }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn0 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn0 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (x + y.tanh().powi(3)).sin();
        if y <= x {
            v1 -= v1.clamp(-2.0, 2.0);
            let v2: f64 = (y * (if v1 <= self.p { x + x } else { v1 * x })).cos();
            v1 /= (2.0 + ((self.p + self.p).sin()).sin());
        } else {
            v1 += (v1 / (1.5 + y * y));
            let v3: f64 = v1.clamp(-2.0, 2.0);
            v1 -= helper(y, v3);
        }
        v1 -= helper(self.p, v1);
        v1 = (1.5 + y.sin()).powf(1.0 + v1.tanh());
        if y < x {
            return x.mul_add(0.125_f64, y) + x;
        }
        self.p.min((x * self.p.tanh())) + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (if self.p > self.p { (s + self.p).tanh() + s } else { self.p * s });
        if s > self.p {
            return (if self.p <= v1 { self.p + self.p } else { self.p * self.p }) + v1;
        }
        (self.p + (0.375_f64 * v1.tanh())).tanh() + v1
    }
}

impl Drawn for Drawn0 {
    fn with(p: f64) -> Self {
        Drawn0 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn1 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn1 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (y + (x + y).sin()).tanh().exp();
        let v2: f64 = v1.hypot(1.0 + y.abs());
        (1.5 + x.sin()).powf(1.0 + v1.tanh()) + v2
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (s + (self.p + self.p).tanh().exp()).tanh();
        let (v2, v3): (f64, f64) = (helper(self.p, v1), s.hypot(1.0 + v1.abs()));
        v1 += (if s >= v1 { v1 + v1 } else { v2 * v1 });
        if v3 < v2 {
            return (-self.p) + self.p;
        }
        ((1.0 + v1 * v1).sqrt() + s) + v2
    }
}

impl Drawn for Drawn1 {
    fn with(p: f64) -> Self {
        Drawn1 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn2 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn2 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = y.clamp(-2.0, 2.0);
        if y <= y {
            return self.p.tanh().powi(2) + self.p;
        }
        v1.mul_add((1.0 + v1 * v1).sqrt(), helper(self.p, self.p)) + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (self.p.clamp(-2.0, 2.0) - (1.25_f64 / (1.5 + s * s)));
        let mut v2: f64 = ((s - 0.5_f64) + (s + 1.625_f64).tanh().exp());
        self.p.clamp(-2.0, 2.0) + v2
    }
}

impl Drawn for Drawn2 {
    fn with(p: f64) -> Self {
        Drawn2 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn3 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn3 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (-y);
        let mut v2 = [y + v1, x, (x + x) * self.p];
        (-v1) + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (-s);
        v1 *= (s.tanh().powi(1)).tanh();
        let mut v2 = [self.p + self.p, s, self.p.hypot(1.0 + self.p.abs()) * v1];
        if s >= 0.75_f64 {
            return self.p.max(v2[1]) + s;
        }
        self.p.hypot(1.0 + self.p.abs()) + self.p
    }
}

impl Drawn for Drawn3 {
    fn with(p: f64) -> Self {
        Drawn3 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn4 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn4 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (1.0 + x * x).sqrt();
        v1 -= (-self.p);
        if y <= x {
            return (v1 * x.tanh()) + y;
        }
        (-self.p) + self.p
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (if s <= self.p { (s * self.p.tanh()) + self.p } else { (-s) * self.p });
        if s <= s {
            let mut v2: f64 = (s.abs() - s);
            let mut v3: f64 = (-v2);
            v1 *= (self.p.min(self.p)).tanh();
        } else {
            v1 *= ((s + s).tanh().exp()).tanh();
            v1 = (-self.p);
        }
        v1 -= (-self.p);
        ((1.5 + self.p.sin()).powf(1.0 + self.p.tanh()) - (1.0 + s * s).sqrt()) + v1
    }
}

impl Drawn for Drawn4 {
    fn with(p: f64) -> Self {
        Drawn4 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn5 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn5 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = x.max((self.p - x));
        let v2: f64 = (y * (y * y.tanh())).cos();
        let v3: f64 = (2.0 + v2.cos()).ln();
        let mut v4: f64 = (helper(y, v3) * self.p.tanh());
        if self.p <= self.p {
            v4 = v1.tanh().powi(2);
            v4 *= (if y < v4 { v3 + y } else { v1 * y }).tanh();
        } else {
            for v5 in 0..3_u32 {
                let v6: f64 = (1.5 + v1.sin()).powf(1.0 + self.p.tanh());
                let mut v7 = [self.p + v3, v4, (x - 1.125_f64) * v2];
                v4 += (v4 / (1.5 + v6 * v6));
            }
            let mut v8 = [v4 + v2, x, (self.p * self.p).cos() * v2];
            v1 -= (1.0 + v2 * v2).sqrt();
        }
        v3.tanh().powi(1) + v4
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (1.0 + self.p * self.p).sqrt();
        v1 -= self.p.min(v1);
        (2.0 + self.p.cos()).ln() + v1
    }
}

impl Drawn for Drawn5 {
    fn with(p: f64) -> Self {
        Drawn5 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn6 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn6 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = self.p.hypot(1.0 + self.p.abs());
        let mut v2: f64 = (-y);
        for v3 in 0..3_u32 {
            let v4: f64 = (x.clamp(-2.0, 2.0) / (1.5 + self.p * self.p));
            v2 += (y + v2);
        }
        let mut v5 = [self.p + v2, v2, y.mul_add(self.p, self.p) * x];
        let mut v6 = [v1 + x, v1, x.clamp(-2.0, 2.0) * v1];
        if v2 <= v1 {
            return (if v1 <= v1 { v2 + v1 } else { 1.875_f64 * v1 }) + v1;
        }
        v2.max(self.p.tanh().powi(3)) + y
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (if s >= self.p { self.p.tanh().powi(2) + self.p } else { 0.375_f64 * self.p });
        let v2: f64 = (v1 + (1.5 + v1.sin()).powf(1.0 + s.tanh())).sin();
        v1.mul_add(s.hypot(1.0 + self.p.abs()), v2) + self.p
    }
}

impl Drawn for Drawn6 {
    fn with(p: f64) -> Self {
        Drawn6 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn7 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn7 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (helper(x, y) * x.tanh());
        let (v2, v3): (f64, f64) = ((-y), x.hypot(1.0 + y.abs()));
        if v2 > v3 {
            let mut v4 = [v3 + v1, y, y.mul_add(v3, v3) * v1];
            v1 = (v1 + v2).tanh().exp();
            v1 *= (x.clamp(-2.0, 2.0)).tanh();
        } else {
            for v5 in 0..2_u32 {
                let (v6, v7): (f64, f64) = (v3.mul_add(v3, self.p), (v2 * v2.tanh()));
                let v8: f64 = v7.max(x.abs());
                v1 *= (v7.hypot(1.0 + v3.abs())).tanh();
            }
            v1 += (y + v2).tanh().exp();
        }
        if v3 > self.p {
            return x.mul_add(1.75_f64, v2) + v3;
        }
        ((v2 + x).tanh() + x) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = self.p.mul_add(self.p.mul_add(s, 1.25_f64), self.p);
        v1.hypot(1.0 + s.abs()) + self.p
    }
}

impl Drawn for Drawn7 {
    fn with(p: f64) -> Self {
        Drawn7 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn8 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn8 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = y.mul_add((x + 0.375_f64).tanh().exp(), x);
        v1 /= (2.0 + ((1.0 + x * x).sqrt()).sin());
        helper(x.max(v1), y) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = self.p.clamp(-2.0, 2.0);
        v1 -= v1.hypot(1.0 + s.abs());
        v1 *= ((2.0 + self.p.cos()).ln()).tanh();
        (1.5 + self.p.sin()).powf(1.0 + s.tanh()) + s
    }
}

impl Drawn for Drawn8 {
    fn with(p: f64) -> Self {
        Drawn8 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn9 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn9 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = self.p.min((x * self.p.tanh()));
        let mut v2 = [x + x, y, (x / (1.5 + self.p * self.p)) * y];
        v1 *= (0.875_f64 + x).tanh();
        let v3: f64 = ((x + y).sin() + 0.5_f64);
        (1.0 + y * y).sqrt() + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = self.p.abs();
        (self.p + (s + v1)).sin() + s
    }
}

impl Drawn for Drawn9 {
    fn with(p: f64) -> Self {
        Drawn9 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn10 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn10 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = ((-y) * y.tanh());
        v1 += self.p.abs();
        if self.p > y {
            let (v2, v3): (f64, f64) = ((self.p + y).tanh().exp(), (y + v1).tanh().exp());
            let (v4, v5): (f64, f64) = (y.max(self.p), (v2 + self.p).tanh());
            v1 += (if self.p < v3 { 0.875_f64 + self.p } else { v3 * self.p });
        } else {
            let mut v6 = [self.p + self.p, v1, (1.0 + x * x).sqrt() * v1];
            v1 *= (self.p.clamp(-2.0, 2.0)).tanh();
        }
        v1 += v1.mul_add(v1, self.p);
        v1 -= (0.875_f64 - 1.0_f64);
        (1.5 + y.sin()).powf(1.0 + x.tanh()) + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = s.tanh().powi(1);
        if v1 >= self.p {
            return (self.p * s.tanh()) + self.p;
        }
        (2.0 + self.p.cos()).ln() + self.p
    }
}

impl Drawn for Drawn10 {
    fn with(p: f64) -> Self {
        Drawn10 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn11 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn11 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = ((-y) * x.tanh());
        let v2: f64 = x.abs();
        for v3 in 0..3_u32 {
            v1 -= (x * v1.tanh());
            v1 = x.max(v1);
        }
        if v2 < 1.75_f64 {
            v1 /= (2.0 + (0.125_f64 * v2.tanh()).sin());
            v1 = x.min(self.p);
        } else {
            v1 /= (2.0 + (y.abs()).sin());
            v1 *= (x.max(1.625_f64)).tanh();
        }
        (-v1) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (if self.p <= s { (s * s.tanh()) + s } else { s * s });
        ((v1 * 1.0_f64).cos() / (1.5 + v1 * v1)) + self.p
    }
}

impl Drawn for Drawn11 {
    fn with(p: f64) -> Self {
        Drawn11 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn12 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn12 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = y.tanh().powi(1);
        for v2 in 0..2_u32 {
            v1 /= (2.0 + (self.p - x).sin());
            v1 /= (2.0 + (y.hypot(1.0 + self.p.abs())).sin());
        }
        let mut v3 = [1.875_f64 + x, y, (if v1 < x { x + v1 } else { v1 * v1 }) * y];
        if self.p <= 0.875_f64 {
            let mut v4: f64 = ((x + self.p).tanh().exp() - (v3[2] * y.tanh()));
            let (v5, v6): (f64, f64) = (self.p.abs(), v1.hypot(1.0 + self.p.abs()));
            v1 += (1.5 + self.p.sin()).powf(1.0 + y.tanh());
        } else {
            let mut v7: f64 = (-v1);
            v1 -= (1.0 + x * x).sqrt();
        }
        if v1 > v1 {
            return (v3[0] / (1.5 + v1 * v1)) + x;
        }
        ((self.p + v1) * x.tanh()) + self.p
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (-s);
        if self.p >= 1.375_f64 {
            return (1.5 + v1.sin()).powf(1.0 + s.tanh()) + self.p;
        }
        (s.min(self.p) + (2.0 + v1.cos()).ln()) + s
    }
}

impl Drawn for Drawn12 {
    fn with(p: f64) -> Self {
        Drawn12 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn13 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn13 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (2.0 + x.cos()).ln();
        let v2: f64 = self.p.min(self.p.abs());
        for v3 in 0..2_u32 {
            if v2 > v2 {
                v1 *= ((1.0 + v1 * v1).sqrt()).tanh();
                v1 = (self.p * v1).cos();
            } else {
                v1 -= (-v2);
                let mut v4 = [self.p + self.p, y, (v1 + self.p).tanh().exp() * v2];
                v1 -= (self.p + 0.125_f64).tanh();
            }
            v1 /= (2.0 + (x.min(v1)).sin());
            v1 -= (x * 1.75_f64).cos();
        }
        if v1 < self.p {
            return (1.0 + y * y).sqrt() + y;
        }
        ((self.p + y).tanh().exp() - (self.p * v2.tanh())) + v2
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (self.p * (s + self.p).sin()).cos();
        let mut v2: f64 = (v1 * (self.p * v1).cos()).cos();
        self.p.clamp(-2.0, 2.0) + v2
    }
}

impl Drawn for Drawn13 {
    fn with(p: f64) -> Self {
        Drawn13 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn14 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn14 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = y.tanh().powi(2);
        if self.p < x {
            return (-x) + self.p;
        }
        (2.0 + v1.cos()).ln() + self.p
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = self.p.mul_add(self.p.mul_add(self.p, s), self.p);
        v1.max(s.abs()) + self.p
    }
}

impl Drawn for Drawn14 {
    fn with(p: f64) -> Self {
        Drawn14 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn15 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn15 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (x + (x - 0.5_f64)).sin();
        for v2 in 0..3_u32 {
            if v1 <= y {
                v1 *= (v1 * v1.tanh()).tanh();
                v1 += (v1 + x);
                v1 *= ((x + x).sin()).tanh();
            } else {
                let v3: f64 = (-y);
                v1 *= ((1.0 + x * x).sqrt()).tanh();
            }
            let mut v4 = [v1 + v1, v1, (self.p - x) * self.p];
            v1 *= (helper(v1, x)).tanh();
        }
        if self.p < v1 {
            return (self.p + y).tanh().exp() + v1;
        }
        (1.5 + v1.sin()).powf(1.0 + y.tanh()) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = s.clamp(-2.0, 2.0);
        v1 = v1.min(v1);
        (s.abs() / (1.5 + self.p * self.p)) + s
    }
}

impl Drawn for Drawn15 {
    fn with(p: f64) -> Self {
        Drawn15 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn16 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn16 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (2.0 + y.cos()).ln();
        for v2 in 0..2_u32 {
            let v3: f64 = x.tanh().powi(2);
            v1 -= x.clamp(-2.0, 2.0);
            v1 *= ((x + self.p).tanh()).tanh();
        }
        let v4: f64 = ((if x >= y { 0.125_f64 + v1 } else { x * v1 }) - 1.875_f64);
        x.max((1.5 + y.sin()).powf(1.0 + x.tanh())) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (s + (s + 1.625_f64).tanh()).sin();
        let mut v2 = [self.p + s, self.p, (v1 + s) * v1];
        for iv3 in 0..3_usize {
            v2[iv3] = v2[iv3].tanh() * v1 + v1;
        }
        if self.p > s {
            return s.mul_add(s, self.p) + v1;
        }
        helper(v1.mul_add(self.p, self.p), s) + v1
    }
}

impl Drawn for Drawn16 {
    fn with(p: f64) -> Self {
        Drawn16 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn17 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn17 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (1.5 + self.p.sin()).powf(1.0 + self.p.tanh());
        let (v2, v3): (f64, f64) = (self.p.hypot(1.0 + x.abs()), (-v1));
        let mut v4 = [v2 + v3, self.p, (self.p - 1.5_f64) * v2];
        for v5 in 0..2_u32 {
            for iv6 in 0..3_usize {
                v4[iv6] = v4[iv6].tanh() * v3 + y;
            }
            for v7 in 0..2_u32 {
                let v8: f64 = (-v2);
                let v9: f64 = (1.5 + v1.sin()).powf(1.0 + v1.tanh());
                v1 /= (2.0 + (v4[0] * v1.tanh()).sin());
            }
            v1 -= (v3 + y).tanh();
        }
        let v10: f64 = y.hypot(1.0 + y.abs());
        if x < self.p {
            return (v1 + v2) + v3;
        }
        ((1.5 + self.p.sin()).powf(1.0 + y.tanh()) + v3) + y
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = s.hypot(1.0 + self.p.abs());
        if s >= self.p {
            return (1.0 + s * s).sqrt() + v1;
        }
        (2.0 + s.cos()).ln() + v1
    }
}

impl Drawn for Drawn17 {
    fn with(p: f64) -> Self {
        Drawn17 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn18 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn18 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (self.p.mul_add(y, y) / (1.5 + y * y));
        if x <= y {
            let mut v2 = [self.p + y, v1, y.max(self.p) * self.p];
            v1 += (-v1);
        } else {
            v1 /= (2.0 + (self.p.hypot(1.0 + self.p.abs())).sin());
            v1 = (-y);
        }
        if y <= self.p {
            return (v1 * self.p).cos() + v1;
        }
        (y + (v1 + v1)).tanh() + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = helper((s + s).tanh(), s);
        ((self.p + self.p).tanh() - (1.0 + s * s).sqrt()) + self.p
    }
}

impl Drawn for Drawn18 {
    fn with(p: f64) -> Self {
        Drawn18 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn19 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn19 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = helper((self.p * y).cos(), x);
        if self.p >= 1.75_f64 {
            return y.hypot(1.0 + x.abs()) + y;
        }
        (if x >= v1 { x.hypot(1.0 + v1.abs()) + v1 } else { 1.875_f64 * v1 }) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (s.mul_add(self.p, self.p) / (1.5 + s * s));
        if v1 <= self.p {
            return v1.mul_add(self.p, s) + v1;
        }
        (1.0 + s * s).sqrt() + s
    }
}

impl Drawn for Drawn19 {
    fn with(p: f64) -> Self {
        Drawn19 { p }
    }
}

pub(crate) fn visit(visitor: &mut Visitor) {
    visitor.visit::<Drawn0>(0);
    visitor.visit::<Drawn1>(1);
    visitor.visit::<Drawn2>(2);
    visitor.visit::<Drawn3>(3);
    visitor.visit::<Drawn4>(4);
    visitor.visit::<Drawn5>(5);
    visitor.visit::<Drawn6>(6);
    visitor.visit::<Drawn7>(7);
    visitor.visit::<Drawn8>(8);
    visitor.visit::<Drawn9>(9);
    visitor.visit::<Drawn10>(10);
    visitor.visit::<Drawn11>(11);
    visitor.visit::<Drawn12>(12);
    visitor.visit::<Drawn13>(13);
    visitor.visit::<Drawn14>(14);
    visitor.visit::<Drawn15>(15);
    visitor.visit::<Drawn16>(16);
    visitor.visit::<Drawn17>(17);
    visitor.visit::<Drawn18>(18);
    visitor.visit::<Drawn19>(19);
}
