//! Random operators: `drawn.py` made them.

#![allow(unused, clippy::all, reason = "nobody wrote this")]

use scan_runtime::{ScanOp, scan_fn, scan_op};

use super::programs::{Drawn, Visitor};

#[scan_fn(gradient)]
fn helper(a: f64, b: f64) -> f64 {
    if a > b { (a - b).tanh() * a } else { b.sin() - a }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn20 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn20 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (x.min(x) / (1.5 + x * x));
        for v2 in 0..3_u32 {
            let (v3, v4): (f64, f64) = ((v1 / (1.5 + x * x)), (1.0 + self.p * self.p).sqrt());
            let mut v5 = [x + self.p, v1, (2.0 + v4.cos()).ln() * self.p];
            v1 /= (2.0 + ((1.0 + v1 * v1).sqrt()).sin());
        }
        (x + helper(y, y)).sin() + self.p
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (2.0 + s.cos()).ln();
        v1.clamp(-2.0, 2.0) + self.p
    }
}

impl Drawn for Drawn20 {
    fn with(p: f64) -> Self {
        Drawn20 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn21 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn21 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (y.clamp(-2.0, 2.0) + x);
        for v2 in 0..3_u32 {
            let mut v3 = [y + y, x, (v1 + v1).sin() * self.p];
            v1 /= (2.0 + ((v1 + x).tanh()).sin());
        }
        (x + (v1 + v1).tanh().exp()).sin() + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = s.hypot(1.0 + s.abs());
        (self.p + v1.tanh().powi(2)).tanh() + v1
    }
}

impl Drawn for Drawn21 {
    fn with(p: f64) -> Self {
        Drawn21 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn22 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn22 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (if x >= x { self.p.tanh().powi(1) + y } else { x * y });
        let v2: f64 = (1.5 + x.sin()).powf(1.0 + x.tanh());
        if y < v2 {
            return (v2 / (1.5 + x * x)) + x;
        }
        (v1 * (v2 + y)).cos() + y
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = s.clamp(-2.0, 2.0);
        for v2 in 0..2_u32 {
            let mut v3: f64 = self.p.mul_add(s.tanh().powi(3), 1.125_f64);
            let mut v4: f64 = ((v1 + s).sin() / (1.5 + s * s));
            v1 += (1.0 + v3 * v3).sqrt();
        }
        v1 = (s - v1);
        if self.p >= s {
            return (v1 + v1).sin() + self.p;
        }
        s.hypot(1.0 + s.abs()) + v1
    }
}

impl Drawn for Drawn22 {
    fn with(p: f64) -> Self {
        Drawn22 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn23 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn23 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = ((y / (1.5 + x * x)) + x.mul_add(x, 0.25_f64));
        let (v2, v3): (f64, f64) = (helper(x, self.p), x.mul_add(self.p, self.p));
        let mut v4 = [v3 + v2, v1, (y / (1.5 + v3 * v3)) * v3];
        if v1 < v2 {
            return helper(v1, y) + v2;
        }
        v3.abs() + y
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (self.p + (s + s).sin()).sin();
        if s < self.p {
            return (1.5 + s.sin()).powf(1.0 + v1.tanh()) + v1;
        }
        s.max((1.0 + self.p * self.p).sqrt()) + self.p
    }
}

impl Drawn for Drawn23 {
    fn with(p: f64) -> Self {
        Drawn23 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn24 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn24 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = x.clamp(-2.0, 2.0);
        let mut v2 = [1.5_f64 + v1, self.p, (2.0 + self.p.cos()).ln() * x];
        for v3 in 0..2_u32 {
            for v4 in 0..3_u32 {
                v1 = (y / (1.5 + self.p * self.p));
                v1 -= v1.clamp(-2.0, 2.0);
            }
            v1 /= (2.0 + (-self.p).sin());
        }
        for iv5 in 0..3_usize {
            v2[iv5] = v2[iv5].tanh() * y + v1;
        }
        self.p.min((self.p + v2[1]).tanh().exp()) + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = self.p.max((self.p * 1.75_f64).cos());
        v1 = s.max(v1);
        v1 += helper(s, v1);
        if s > self.p {
            return (s * 1.625_f64).cos() + self.p;
        }
        ((-self.p) * self.p.tanh()) + self.p
    }
}

impl Drawn for Drawn24 {
    fn with(p: f64) -> Self {
        Drawn24 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn25 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn25 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = self.p.tanh().powi(3);
        v1 += v1.tanh().powi(1);
        v1 /= (2.0 + (x * y.tanh()).sin());
        v1 *= (1.0_f64 - v1).tanh();
        (x + (x + v1)).tanh().exp() + y
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (1.0 + s * s).sqrt();
        if s > v1 {
            return (if v1 > s { 1.25_f64 + v1 } else { self.p * v1 }) + s;
        }
        (1.5 + s.sin()).powf(1.0 + v1.tanh()) + v1
    }
}

impl Drawn for Drawn25 {
    fn with(p: f64) -> Self {
        Drawn25 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn26 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn26 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 =
            (if y >= self.p { (if self.p > x { self.p + x } else { y * x }) + x } else { (x * x).cos() * x });
        let mut v2: f64 = (x + (1.5 + self.p.sin()).powf(1.0 + v1.tanh())).sin();
        if v1 > y {
            return v2.max(1.625_f64) + x;
        }
        (2.0 + x.cos()).ln() + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (self.p + (1.5 + self.p.sin()).powf(1.0 + self.p.tanh())).tanh().exp();
        if s > v1 {
            v1 += (v1 + v1);
            let (v2, v3): (f64, f64) = (v1.mul_add(self.p, s), (s + v1).sin());
            v1 += (v1 + self.p).tanh();
        } else {
            let mut v4: f64 = (-self.p);
            v1 = (1.25_f64 - v1);
        }
        if s <= s {
            v1 = s.clamp(-2.0, 2.0);
            let v5: f64 = (if self.p < self.p { (v1 * v1.tanh()) + self.p } else { s.min(self.p) * self.p });
            v1 /= (2.0 + (v5.hypot(1.0 + self.p.abs())).sin());
        } else {
            let mut v6 = [s + v1, v1, self.p.abs() * self.p];
            for iv7 in 0..3_usize {
                v6[iv7] = v6[iv7].tanh() * s + v1;
            }
            v1 += (-self.p);
        }
        if self.p > self.p {
            return (2.0 + s.cos()).ln() + self.p;
        }
        (v1.tanh().powi(3) + (1.5_f64 + v1)) + s
    }
}

impl Drawn for Drawn26 {
    fn with(p: f64) -> Self {
        Drawn26 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn27 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn27 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (-self.p);
        let v2: f64 = ((-x) - x.max(self.p));
        let mut v3: f64 = (self.p + (v2 * self.p).cos()).tanh();
        if y >= v1 {
            v1 *= (v3 - self.p).tanh();
            v3 -= (self.p * v3.tanh());
        } else {
            v3 = v2.hypot(1.0 + v1.abs());
            let v4: f64 = (x.hypot(1.0 + v2.abs()) / (1.5 + v1 * v1));
            v1 += x.tanh().powi(1);
        }
        (v1.mul_add(x, v2) + self.p) + y
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (if s > self.p { helper(self.p, self.p) + self.p } else { 0.25_f64 * self.p });
        let mut v2: f64 = helper((s + 0.375_f64), s);
        if v1 <= v2 {
            return (if v2 < self.p { s + s } else { self.p * s }) + v2;
        }
        (v1 + (if s >= v2 { v2 + v1 } else { v2 * v1 })).sin() + v1
    }
}

impl Drawn for Drawn27 {
    fn with(p: f64) -> Self {
        Drawn27 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn28 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn28 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (x * y.min(self.p)).cos();
        (-self.p) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (2.0 + s.cos()).ln();
        v1 = self.p.max(0.5_f64);
        v1 += v1.min(v1);
        self.p.min((self.p + s).tanh().exp()) + self.p
    }
}

impl Drawn for Drawn28 {
    fn with(p: f64) -> Self {
        Drawn28 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn29 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn29 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (-y);
        v1 *= (v1 / (1.5 + v1 * v1)).tanh();
        let mut v2 = [v1 + y, v1, (2.0 + y.cos()).ln() * self.p];
        v1 /= (2.0 + ((1.5 + y.sin()).powf(1.0 + x.tanh())).sin());
        let (v3, v4): (f64, f64) = ((-self.p), v1.hypot(1.0 + y.abs()));
        ((self.p - 1.75_f64) + v3.tanh().powi(1)) + self.p
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (self.p + (s / (1.5 + s * s))).tanh().exp();
        let v2: f64 = s.max((v1 - v1));
        if v2 <= 0.125_f64 {
            return (0.375_f64 - s) + self.p;
        }
        (self.p + (1.5 + self.p.sin()).powf(1.0 + self.p.tanh())).sin() + v2
    }
}

impl Drawn for Drawn29 {
    fn with(p: f64) -> Self {
        Drawn29 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn30 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn30 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = x.clamp(-2.0, 2.0);
        v1 *= (self.p.hypot(1.0 + x.abs())).tanh();
        let mut v2: f64 = v1.clamp(-2.0, 2.0);
        if y > self.p {
            for v3 in 0..3_u32 {
                let v4: f64 = (v1 + helper(1.0_f64, self.p)).tanh().exp();
                v1 *= (-v2).tanh();
            }
            if v1 <= y {
                v2 /= (2.0 + (helper(y, x)).sin());
                v2 += (if v1 <= v2 { v2 + y } else { x * y });
            } else {
                v2 *= ((x * y).cos()).tanh();
                v1 = (1.5 + x.sin()).powf(1.0 + self.p.tanh());
            }
            v2 = (v2 + x).tanh();
        } else {
            for v5 in 0..3_u32 {
                let mut v6: f64 = (if self.p > y { y.clamp(-2.0, 2.0) + y } else { v2.hypot(1.0 + self.p.abs()) * y });
                let mut v7 = [x + v2, y, (v2 / (1.5 + v1 * v1)) * self.p];
                v1 *= ((v6 + v1).sin()).tanh();
            }
            v2 = (x + 0.875_f64).tanh().exp();
        }
        v1 -= x.hypot(1.0 + x.abs());
        (v1.min(v1) + x) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (if self.p <= s { self.p.hypot(1.0 + self.p.abs()) + s } else { s * s });
        if s > s {
            return (v1 + self.p).tanh() + s;
        }
        (if v1 >= v1 { (-s) + self.p } else { v1 * self.p }) + v1
    }
}

impl Drawn for Drawn30 {
    fn with(p: f64) -> Self {
        Drawn30 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn31 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn31 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (x.hypot(1.0 + x.abs()) - self.p);
        helper((v1 + x), v1) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = ((s * s.tanh()) - (1.5 + s.sin()).powf(1.0 + s.tanh()));
        if v1 > self.p {
            return v1.max(v1) + v1;
        }
        (1.5 + s.sin()).powf(1.0 + s.tanh()) + v1
    }
}

impl Drawn for Drawn31 {
    fn with(p: f64) -> Self {
        Drawn31 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn32 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn32 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = ((x + self.p).sin() + (self.p * x).cos());
        if self.p < y {
            return (v1 - self.p) + v1;
        }
        (x * (2.0 + v1.cos()).ln()).cos() + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (self.p.clamp(-2.0, 2.0) / (1.5 + self.p * self.p));
        (s + v1.tanh().powi(1)).sin() + v1
    }
}

impl Drawn for Drawn32 {
    fn with(p: f64) -> Self {
        Drawn32 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn33 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn33 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = y.min((self.p + y).tanh());
        if v1 < v1 {
            for v2 in 0..2_u32 {
                let mut v3: f64 = x.tanh().powi(3);
                v1 -= x.min(x);
            }
            for v4 in 0..2_u32 {
                let (v5, v6): (f64, f64) = ((self.p * v1.tanh()), (x + v1).tanh().exp());
                v1 /= (2.0 + (y.mul_add(1.375_f64, v1)).sin());
            }
            v1 *= ((1.0 + v1 * v1).sqrt()).tanh();
        } else {
            let (v7, v8): (f64, f64) =
                ((if self.p > self.p { self.p + self.p } else { y * self.p }), helper(v1, self.p));
            let v9: f64 = (helper(v1, self.p) / (1.5 + y * y));
            v1 += v9.tanh().powi(1);
        }
        let (v10, v11): (f64, f64) = (y.hypot(1.0 + y.abs()), (self.p + v1));
        let v12: f64 = (1.0 + y * y).sqrt();
        let mut v13: f64 = (x * (-self.p)).cos();
        if v1 < v13 {
            return (x + 1.375_f64).tanh().exp() + self.p;
        }
        (-v13) + v11
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (self.p * (self.p * s).cos()).cos();
        if self.p <= v1 {
            return s.min(0.875_f64) + self.p;
        }
        ((2.0 + s.cos()).ln() + (if self.p <= s { s + self.p } else { s * self.p })) + v1
    }
}

impl Drawn for Drawn33 {
    fn with(p: f64) -> Self {
        Drawn33 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn34 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn34 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = x.clamp(-2.0, 2.0);
        let v2: f64 = (y + (2.0 + self.p.cos()).ln()).tanh().exp();
        let v3: f64 = ((v2 / (1.5 + self.p * self.p)) * v2.tanh());
        v1 -= (y + 0.75_f64).tanh();
        if x <= v3 {
            v1 = (0.625_f64 * v2.tanh());
            let mut v4: f64 = (1.0 + v1 * v1).sqrt();
            v1 += v1.hypot(1.0 + v2.abs());
        } else {
            let mut v5 = [y + v1, self.p, (v3 + v2).tanh() * y];
            if v1 >= v3 {
                let v6: f64 = (1.0 + v2 * v2).sqrt();
                let v7: f64 = (1.5 + self.p.sin()).powf(1.0 + v1.tanh());
                v1 *= (v7.clamp(-2.0, 2.0)).tanh();
            } else {
                let mut v8: f64 = (-x);
                v1 *= (y.clamp(-2.0, 2.0)).tanh();
            }
            v1 += (y + self.p).tanh().exp();
        }
        (1.0 + v2 * v2).sqrt() + v3
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = s.mul_add(s.tanh().powi(2), (self.p * s).cos());
        let mut v2 = [self.p + v1, self.p, s.tanh().powi(2) * self.p];
        if v1 < self.p {
            let v3: f64 = (1.0 + self.p * self.p).sqrt();
            v1 -= self.p.max(self.p);
        } else {
            if s <= v2[1] {
                let mut v4: f64 = ((self.p - 1.875_f64) + (s + v1).sin());
                v1 = (s + 1.25_f64).sin();
            } else {
                v1 *= ((v1 + 0.25_f64).tanh()).tanh();
                for iv5 in 0..3_usize {
                    v2[iv5] = v2[iv5].tanh() * v1 + s;
                }
                v1 += (v1 * v1).cos();
            }
            for iv6 in 0..3_usize {
                v2[iv6] = v2[iv6].tanh() * v1 + self.p;
            }
            v1 += helper(v2[2], self.p);
        }
        (self.p + s.max(v2[1])).tanh().exp() + self.p
    }
}

impl Drawn for Drawn34 {
    fn with(p: f64) -> Self {
        Drawn34 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn35 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn35 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = self.p.tanh().powi(3);
        let mut v2: f64 = (x + (1.5 + x.sin()).powf(1.0 + v1.tanh())).tanh();
        for v3 in 0..2_u32 {
            v2 *= (v2.abs()).tanh();
            v2 /= (2.0 + (v1.clamp(-2.0, 2.0)).sin());
        }
        let v4: f64 = (v2 + (self.p / (1.5 + v1 * v1))).tanh();
        let v5: f64 = self.p.hypot(1.0 + v4.abs());
        if v5 < v2 {
            return v2.tanh().powi(3) + v1;
        }
        v4.tanh().powi(2) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = s.hypot(1.0 + self.p.abs());
        v1 /= (2.0 + (self.p / (1.5 + v1 * v1)).sin());
        if self.p < self.p {
            return v1.mul_add(self.p, v1) + self.p;
        }
        v1.abs() + self.p
    }
}

impl Drawn for Drawn35 {
    fn with(p: f64) -> Self {
        Drawn35 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn36 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn36 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = self.p.min((-self.p));
        for v2 in 0..3_u32 {
            v1 /= (2.0 + (v1 / (1.5 + v1 * v1)).sin());
            v1 += (v1 * self.p).cos();
        }
        v1 /= (2.0 + (-v1).sin());
        if v1 < x {
            return (y * y).cos() + self.p;
        }
        ((2.0 + self.p.cos()).ln() - x) + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (2.0 + self.p.cos()).ln();
        if v1 >= s {
            let v2: f64 = ((self.p * self.p).cos() * self.p.tanh());
            let mut v3 = [v2 + self.p, s, s.abs() * s];
            v1 *= (s.min(s)).tanh();
        } else {
            let (v4, v5): (f64, f64) = ((v1 + v1), self.p.clamp(-2.0, 2.0));
            v1 /= (2.0 + (helper(v1, v5)).sin());
        }
        if self.p > v1 {
            return (2.0 + self.p.cos()).ln() + self.p;
        }
        (if self.p < self.p { (0.75_f64 + 1.125_f64) + s } else { v1.hypot(1.0 + v1.abs()) * s }) + v1
    }
}

impl Drawn for Drawn36 {
    fn with(p: f64) -> Self {
        Drawn36 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn37 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn37 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (2.0 + self.p.cos()).ln();
        v1 *= (-self.p).tanh();
        for v2 in 0..2_u32 {
            let (v3, v4): (f64, f64) = ((1.5 + x.sin()).powf(1.0 + self.p.tanh()), (self.p + x).tanh().exp());
            v1 -= (self.p / (1.5 + y * y));
        }
        let v5: f64 = (x * (-v1)).cos();
        let v6: f64 = helper(y.hypot(1.0 + self.p.abs()), v5);
        if v1 <= 1.75_f64 {
            return helper(0.125_f64, v5) + self.p;
        }
        ((self.p / (1.5 + v6 * v6)) / (1.5 + self.p * self.p)) + v5
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = self.p.abs();
        if v1 < self.p {
            return (s + s).sin() + self.p;
        }
        (self.p + self.p.hypot(1.0 + s.abs())).tanh().exp() + s
    }
}

impl Drawn for Drawn37 {
    fn with(p: f64) -> Self {
        Drawn37 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn38 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn38 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (1.5 + y.sin()).powf(1.0 + self.p.tanh());
        if v1 >= x {
            let mut v2 = [y + x, v1, (x * x).cos() * v1];
            let mut v3: f64 = (2.0 + y.cos()).ln();
            v1 -= helper(v2[0], v3);
        } else {
            v1 += (v1 + x);
            v1 *= (self.p * x.tanh()).tanh();
        }
        v1 = y.max(v1);
        let v4: f64 = helper(x.min(0.25_f64), x);
        if v4 < v4 {
            return (-v4) + v1;
        }
        (1.0 + self.p * self.p).sqrt() + v4
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (1.0 + self.p * self.p).sqrt();
        (s.clamp(-2.0, 2.0) * s.tanh()) + v1
    }
}

impl Drawn for Drawn38 {
    fn with(p: f64) -> Self {
        Drawn38 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn39 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn39 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = ((-x) + (self.p * y.tanh()));
        let v2: f64 = (-v1);
        if v1 < v2 {
            return (-v1) + self.p;
        }
        (y * y.clamp(-2.0, 2.0)).cos() + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (s + (1.5 + self.p.sin()).powf(1.0 + self.p.tanh())).tanh().exp();
        let v2: f64 = self.p.hypot(1.0 + s.abs());
        (1.5 + self.p.sin()).powf(1.0 + v2.tanh()) + v1
    }
}

impl Drawn for Drawn39 {
    fn with(p: f64) -> Self {
        Drawn39 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn40 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn40 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (y.abs() - self.p);
        v1 -= (1.0 + x * x).sqrt();
        let mut v2 = [x + v1, x, (self.p + self.p).tanh() * self.p];
        if v1 > 0.5_f64 {
            v1 += (x / (1.5 + x * x));
            v1 += (v2[2] - y);
            v1 = helper(v1, y);
        } else {
            v1 += (1.0_f64 * self.p.tanh());
            for v3 in 0..2_u32 {
                let mut v4: f64 = (-y);
                v1 = self.p.clamp(-2.0, 2.0);
            }
            v1 -= helper(self.p, x);
        }
        if v1 < y {
            return y.abs() + x;
        }
        y.max((v1 + v1)) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = s.min(helper(1.875_f64, self.p));
        v1 += self.p.tanh().powi(3);
        let (v2, v3): (f64, f64) = (v1.abs(), (2.0 + s.cos()).ln());
        if v1 > v1 {
            return helper(v3, self.p) + v3;
        }
        v3.min((v3 + v2)) + self.p
    }
}

impl Drawn for Drawn40 {
    fn with(p: f64) -> Self {
        Drawn40 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn41 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn41 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (x * y.hypot(1.0 + y.abs())).cos();
        for v2 in 0..2_u32 {
            let mut v3: f64 = (1.5 + self.p.sin()).powf(1.0 + y.tanh());
            let v4: f64 = (v1 + x.min(x)).tanh().exp();
            v1 -= v4.hypot(1.0 + v3.abs());
        }
        let v5: f64 = (if v1 < 0.5_f64 { (x + self.p).sin() + x } else { 0.875_f64 * x });
        v1 += self.p.hypot(1.0 + y.abs());
        if y >= x {
            return y.mul_add(x, v1) + x;
        }
        (-v1) + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (self.p + (if s < 0.625_f64 { self.p + self.p } else { self.p * self.p })).tanh();
        v1 /= (2.0 + (self.p - 1.75_f64).sin());
        let v2: f64 = (-s);
        if self.p <= s {
            return (2.0 + s.cos()).ln() + s;
        }
        self.p.abs() + s
    }
}

impl Drawn for Drawn41 {
    fn with(p: f64) -> Self {
        Drawn41 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn42 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn42 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (-self.p);
        if self.p >= self.p {
            return (self.p * v1.tanh()) + y;
        }
        x.max((2.0 + y.cos()).ln()) + self.p
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = self.p.max(s.abs());
        if s > 1.25_f64 {
            v1 -= s.hypot(1.0 + v1.abs());
            v1 += (s * s).cos();
            v1 /= (2.0 + ((1.0 + v1 * v1).sqrt()).sin());
        } else {
            let v2: f64 = (1.0 + v1 * v1).sqrt();
            v1 /= (2.0 + (self.p.tanh().powi(1)).sin());
        }
        s.mul_add((s + 1.875_f64).sin(), (1.75_f64 * v1.tanh())) + v1
    }
}

impl Drawn for Drawn42 {
    fn with(p: f64) -> Self {
        Drawn42 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn43 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn43 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (y + x.abs()).tanh();
        (x + y.clamp(-2.0, 2.0)).tanh() + y
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (1.5 + s.sin()).powf(1.0 + s.tanh());
        if self.p > s {
            if self.p <= s {
                v1 -= helper(v1, s);
                let v2: f64 = (self.p + (s * v1).cos()).sin();
                v1 = (v1 - 0.875_f64);
            } else {
                let (v3, v4): (f64, f64) = (self.p.max(0.875_f64), (s - s));
                v1 += v4.max(0.5_f64);
            }
            v1 /= (2.0 + (v1.clamp(-2.0, 2.0)).sin());
        } else {
            for v5 in 0..3_u32 {
                let mut v6 = [self.p + s, s, (v1 / (1.5 + self.p * self.p)) * self.p];
                v1 /= (2.0 + ((v1 * v6[1]).cos()).sin());
            }
            v1 = (1.0 + self.p * self.p).sqrt();
        }
        (2.0 + self.p.cos()).ln() + v1
    }
}

impl Drawn for Drawn43 {
    fn with(p: f64) -> Self {
        Drawn43 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn44 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn44 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (2.0 + self.p.cos()).ln();
        v1 = helper(self.p, x);
        if self.p < 1.75_f64 {
            let mut v2: f64 = (-x);
            for v3 in 0..3_u32 {
                v1 = (self.p + v1).tanh();
                v1 *= (v2 / (1.5 + v2 * v2)).tanh();
                v1 /= (2.0 + (x - x).sin());
            }
            v1 = (1.0 + x * x).sqrt();
        } else {
            let (v4, v5): (f64, f64) = (x.clamp(-2.0, 2.0), self.p.max(self.p));
            v1 = (y * v4).cos();
        }
        v1 += self.p.hypot(1.0 + self.p.abs());
        if self.p >= y {
            return (y + 1.375_f64).tanh().exp() + x;
        }
        (-x) + self.p
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (s + (1.25_f64 / (1.5 + s * s))).tanh();
        v1 -= (2.0 + s.cos()).ln();
        v1 -= self.p.mul_add(s, self.p);
        if s > self.p {
            return s.min(v1) + v1;
        }
        ((self.p + s).sin() + v1) + v1
    }
}

impl Drawn for Drawn44 {
    fn with(p: f64) -> Self {
        Drawn44 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn45 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn45 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (-y);
        let v2: f64 = (self.p + (if v1 > x { self.p + x } else { v1 * x })).sin();
        let (v3, v4): (f64, f64) = ((-v1), y.tanh().powi(1));
        (v2 * (2.0 + v2.cos()).ln()).cos() + v3
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = ((s + s) / (1.5 + self.p * self.p));
        (s * (if self.p >= v1 { s + s } else { s * s })).cos() + v1
    }
}

impl Drawn for Drawn45 {
    fn with(p: f64) -> Self {
        Drawn45 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn46 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn46 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (self.p.hypot(1.0 + x.abs()) - y);
        if self.p < y {
            return self.p.abs() + self.p;
        }
        (helper(0.375_f64, x) * self.p.tanh()) + y
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = s.max((2.0 + s.cos()).ln());
        v1 *= ((self.p * self.p).cos()).tanh();
        if self.p > s {
            v1 *= ((1.5 + v1.sin()).powf(1.0 + s.tanh())).tanh();
            v1 /= (2.0 + (self.p + s).sin());
        } else {
            let (v2, v3): (f64, f64) = ((2.0 + self.p.cos()).ln(), (-s));
            v1 *= (-v1).tanh();
            v1 += (-v3);
        }
        if self.p < v1 {
            return (1.0 + v1 * v1).sqrt() + v1;
        }
        (self.p.clamp(-2.0, 2.0) * v1.tanh()) + s
    }
}

impl Drawn for Drawn46 {
    fn with(p: f64) -> Self {
        Drawn46 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn47 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn47 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = self.p.hypot(1.0 + x.abs());
        for v2 in 0..3_u32 {
            v1 += self.p.hypot(1.0 + y.abs());
            v1 += (-x);
        }
        for v3 in 0..2_u32 {
            let v4: f64 = y.abs();
            let v5: f64 = (v1.mul_add(x, v1) + v1.mul_add(x, 1.25_f64));
            v1 += (y + v4).sin();
        }
        if v1 <= x {
            return helper(v1, v1) + v1;
        }
        (if y <= x { (if y < x { x + x } else { self.p * x }) + y } else { self.p * y }) + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (s + (-self.p)).tanh().exp();
        for v2 in 0..3_u32 {
            v1 = v1.hypot(1.0 + v1.abs());
            v1 = self.p.max(self.p);
        }
        (1.5 + self.p.sin()).powf(1.0 + v1.tanh()) + s
    }
}

impl Drawn for Drawn47 {
    fn with(p: f64) -> Self {
        Drawn47 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn48 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn48 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = x.mul_add(x.min(self.p), self.p);
        v1 += (y * v1.tanh());
        v1 += (self.p + 0.125_f64).sin();
        if self.p < 1.25_f64 {
            let mut v2 = [v1 + y, y, helper(self.p, self.p) * v1];
            let v3: f64 = (1.5 + v1.sin()).powf(1.0 + x.tanh());
            v1 /= (2.0 + (y.abs()).sin());
        } else {
            let mut v4 = [y + self.p, v1, v1.clamp(-2.0, 2.0) * self.p];
            v1 /= (2.0 + (x * self.p.tanh()).sin());
        }
        v1 /= (2.0 + (if y > v1 { v1 + x } else { y * x }).sin());
        (self.p + (self.p * v1.tanh())).sin() + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (s + (s * s).cos()).sin();
        if s >= s {
            return (1.5 + s.sin()).powf(1.0 + self.p.tanh()) + s;
        }
        s.abs() + s
    }
}

impl Drawn for Drawn48 {
    fn with(p: f64) -> Self {
        Drawn48 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn49 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn49 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (self.p * (x - self.p)).cos();
        y.mul_add((if x >= y { v1 + v1 } else { self.p * v1 }), self.p) + self.p
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (s.hypot(1.0 + s.abs()) * self.p.tanh());
        let v2: f64 = v1.mul_add(s.mul_add(v1, self.p), self.p);
        v2.tanh().powi(1) + s
    }
}

impl Drawn for Drawn49 {
    fn with(p: f64) -> Self {
        Drawn49 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn50 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn50 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = x.tanh().powi(1);
        for v2 in 0..3_u32 {
            v1 *= (-self.p).tanh();
            v1 -= y.abs();
        }
        v1 /= (2.0 + (v1.min(y)).sin());
        let mut v3 = [self.p + x, self.p, (-v1) * y];
        (1.0 + y * y).sqrt() + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (1.5 + self.p.sin()).powf(1.0 + self.p.tanh());
        v1 = (self.p * v1.tanh());
        let mut v2 = [s + s, self.p, helper(self.p, s) * v1];
        (2.0 + v1.cos()).ln() + self.p
    }
}

impl Drawn for Drawn50 {
    fn with(p: f64) -> Self {
        Drawn50 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn51 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn51 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (self.p.abs() + (y + 0.875_f64));
        if x >= y {
            if self.p >= y {
                v1 = y.hypot(1.0 + v1.abs());
                v1 /= (2.0 + (x.mul_add(1.875_f64, 0.75_f64)).sin());
            } else {
                v1 /= (2.0 + (x.mul_add(v1, 1.75_f64)).sin());
                v1 /= (2.0 + (self.p.min(self.p)).sin());
            }
            let v2: f64 = ((0.875_f64 / (1.5 + v1 * v1)) / (1.5 + v1 * v1));
            v1 *= (-v1).tanh();
        } else {
            let mut v3: f64 = v1.max((1.5_f64 * v1.tanh()));
            v1 -= helper(v1, v3);
        }
        if y > v1 {
            return x.mul_add(y, self.p) + v1;
        }
        (-v1) + y
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (if s >= self.p { (2.0 + s.cos()).ln() + s } else { s * s });
        v1 = s.hypot(1.0 + s.abs());
        if s <= s {
            return (v1 - s) + v1;
        }
        (v1.max(self.p) - s.abs()) + v1
    }
}

impl Drawn for Drawn51 {
    fn with(p: f64) -> Self {
        Drawn51 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn52 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn52 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = x.tanh().powi(2);
        let mut v2: f64 = v1.tanh().powi(3);
        let mut v3 = [v2 + v2, y, v2.min(self.p) * v2];
        if x > y {
            return v2.abs() + x;
        }
        (if x <= v1 { (y / (1.5 + v2 * v2)) + x } else { y * x }) + v2
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (-self.p);
        v1 += (s * s.tanh());
        if v1 <= 1.25_f64 {
            return self.p.tanh().powi(2) + s;
        }
        (v1.mul_add(v1, v1) * s.tanh()) + self.p
    }
}

impl Drawn for Drawn52 {
    fn with(p: f64) -> Self {
        Drawn52 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn53 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn53 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = x.tanh().powi(3);
        let mut v2 = [x + y, x, self.p.clamp(-2.0, 2.0) * self.p];
        v1 += v1.abs();
        let mut v3 = [v1 + v1, y, (x + 1.25_f64).sin() * x];
        v1 /= (2.0 + (self.p / (1.5 + y * y)).sin());
        if x < x {
            return (self.p + 0.875_f64).tanh().exp() + v1;
        }
        (1.5 + v1.sin()).powf(1.0 + v1.tanh()) + self.p
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = ((if s > self.p { self.p + self.p } else { 1.875_f64 * self.p }) + self.p);
        v1 += v1.tanh().powi(1);
        if v1 >= v1 {
            return (s - v1) + v1;
        }
        s.min(self.p.min(self.p)) + s
    }
}

impl Drawn for Drawn53 {
    fn with(p: f64) -> Self {
        Drawn53 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn54 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn54 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (helper(y, y) * self.p.tanh());
        for v2 in 0..3_u32 {
            if y < 0.625_f64 {
                v1 += (x + x).tanh();
                let (v3, v4): (f64, f64) = ((v1 + 1.5_f64).tanh().exp(), v1.min(x));
                v1 += (2.0 + v3.cos()).ln();
            } else {
                v1 /= (2.0 + (y.mul_add(x, v1)).sin());
                v1 *= (v1.min(x)).tanh();
                v1 *= (y.hypot(1.0 + self.p.abs())).tanh();
            }
            if y >= y {
                v1 /= (2.0 + ((y + x).tanh().exp()).sin());
                v1 /= (2.0 + ((1.0 + v1 * v1).sqrt()).sin());
                v1 *= (self.p.abs()).tanh();
            } else {
                v1 += (v1 + y).tanh();
                let v5: f64 = y.min(self.p.tanh().powi(1));
                v1 = v5.tanh().powi(3);
            }
            v1 = (1.5 + x.sin()).powf(1.0 + y.tanh());
        }
        (1.5 + y.sin()).powf(1.0 + v1.tanh()) + y
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = self.p.tanh().powi(1);
        if self.p <= 0.75_f64 {
            if self.p <= 1.125_f64 {
                let (v2, v3): (f64, f64) = ((s * v1.tanh()), (v1 + s));
                v1 += helper(v1, self.p);
            } else {
                v1 = s.abs();
                let mut v4: f64 = ((v1 * v1).cos() * s.tanh());
                v1 -= (1.625_f64 * v4.tanh());
            }
            let (v5, v6): (f64, f64) = (self.p.abs(), (self.p * 1.75_f64).cos());
            v1 += (v6 + 1.5_f64).sin();
        } else {
            if self.p <= self.p {
                let (v7, v8): (f64, f64) = (helper(self.p, s), (if v1 >= s { 1.0_f64 + s } else { self.p * s }));
                v1 /= (2.0 + ((v7 + 1.0_f64).tanh()).sin());
            } else {
                let mut v9: f64 =
                    (if s > v1 { (1.5 + self.p.sin()).powf(1.0 + v1.tanh()) + self.p } else { s * self.p });
                v1 /= (2.0 + ((self.p * 1.625_f64).cos()).sin());
            }
            v1 *= (self.p + s).tanh();
            v1 = (self.p + v1).sin();
        }
        let v10: f64 = (1.5 + v1.sin()).powf(1.0 + self.p.tanh());
        if v1 < v10 {
            return self.p.min(v1) + self.p;
        }
        (v1.hypot(1.0 + self.p.abs()) + (1.5 + v10.sin()).powf(1.0 + v1.tanh())) + v10
    }
}

impl Drawn for Drawn54 {
    fn with(p: f64) -> Self {
        Drawn54 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn55 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn55 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = self.p.mul_add((2.0 + x.cos()).ln(), self.p);
        ((-x) * y.tanh()) + v1
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = s.abs();
        if v1 < v1 {
            return (if self.p >= s { self.p + s } else { s * s }) + v1;
        }
        self.p.tanh().powi(3) + s
    }
}

impl Drawn for Drawn55 {
    fn with(p: f64) -> Self {
        Drawn55 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn56 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn56 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (-y);
        if y < y {
            let mut v2 = [x + y, v1, (v1 + 0.375_f64).tanh() * v1];
            v1 += (y + 0.25_f64).tanh();
        } else {
            for v3 in 0..2_u32 {
                v1 -= v1.max(1.375_f64);
                v1 -= (y + y).tanh();
            }
            v1 = (x * self.p).cos();
            v1 = (v1 + 0.375_f64).tanh().exp();
        }
        v1 = y.clamp(-2.0, 2.0);
        let mut v4: f64 = ((self.p * self.p).cos() / (1.5 + y * y));
        let v5: f64 = (if x > v1 { (v1 + y).sin() + x } else { self.p * x });
        x.tanh().powi(2) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (1.5 + self.p.sin()).powf(1.0 + s.tanh());
        if s >= s {
            let v2: f64 = (if s >= v1 { (s + s).tanh() + self.p } else { helper(v1, v1) * self.p });
            v1 += (s + s);
            v1 *= ((2.0 + self.p.cos()).ln()).tanh();
        } else {
            let mut v3: f64 = (2.0 + s.cos()).ln();
            v1 += (s + v3).tanh();
        }
        (1.5 + s.sin()).powf(1.0 + s.tanh()) + v1
    }
}

impl Drawn for Drawn56 {
    fn with(p: f64) -> Self {
        Drawn56 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn57 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn57 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (y + y.min(x)).sin();
        (y + (y * v1).cos()).tanh().exp() + self.p
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = ((if self.p >= s { s + s } else { self.p * s }) + self.p.tanh().powi(2));
        v1 *= ((1.0 + s * s).sqrt()).tanh();
        ((1.5 + self.p.sin()).powf(1.0 + s.tanh()) - s) + s
    }
}

impl Drawn for Drawn57 {
    fn with(p: f64) -> Self {
        Drawn57 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn58 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn58 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = (y.tanh().powi(2) / (1.5 + y * y));
        v1 += (v1 - y);
        if self.p > y {
            let mut v2 = [y + y, y, x.mul_add(y, self.p) * self.p];
            v1 += (if y >= x { y + y } else { v1 * y });
        } else {
            v1 += (v1 * y.tanh());
            v1 = (x + x).sin();
        }
        v1 = self.p.clamp(-2.0, 2.0);
        for v3 in 0..2_u32 {
            let mut v4 = [y + self.p, v1, (v1 - y) * y];
            v1 -= (-x);
        }
        (v1 * v1.min(1.875_f64)).cos() + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = s.hypot(1.0 + self.p.abs());
        if self.p >= self.p {
            return (1.0 + v1 * v1).sqrt() + s;
        }
        ((self.p * s.tanh()) + (self.p + v1).tanh().exp()) + s
    }
}

impl Drawn for Drawn58 {
    fn with(p: f64) -> Self {
        Drawn58 { p }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Drawn59 {
    pub(crate) p: f64,
}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn59 {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {
        let (x, y) = (input[0], input[1]);
        let mut v1: f64 = y.mul_add((1.0_f64 + y), 1.0_f64);
        if y <= 0.375_f64 {
            let mut v2: f64 = (1.5 + x.sin()).powf(1.0 + y.tanh());
            v1 *= ((1.5 + y.sin()).powf(1.0 + v2.tanh())).tanh();
        } else {
            let mut v3 = [0.125_f64 + v1, v1, v1.hypot(1.0 + y.abs()) * y];
            v1 -= x.tanh().powi(1);
            v1 *= (helper(x, y)).tanh();
        }
        self.p.mul_add(self.p.tanh().powi(3), x) + x
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(&self, s: f64) -> f64 {
        let mut v1: f64 = (1.5 + self.p.sin()).powf(1.0 + self.p.tanh());
        let v2: f64 = (s * (2.0 + s.cos()).ln()).cos();
        (2.0 + self.p.cos()).ln() + v1
    }
}

impl Drawn for Drawn59 {
    fn with(p: f64) -> Self {
        Drawn59 { p }
    }
}

pub(crate) fn visit(visitor: &mut Visitor) {
    visitor.visit::<Drawn20>(20);
    visitor.visit::<Drawn21>(21);
    visitor.visit::<Drawn22>(22);
    visitor.visit::<Drawn23>(23);
    visitor.visit::<Drawn24>(24);
    visitor.visit::<Drawn25>(25);
    visitor.visit::<Drawn26>(26);
    visitor.visit::<Drawn27>(27);
    visitor.visit::<Drawn28>(28);
    visitor.visit::<Drawn29>(29);
    visitor.visit::<Drawn30>(30);
    visitor.visit::<Drawn31>(31);
    visitor.visit::<Drawn32>(32);
    visitor.visit::<Drawn33>(33);
    visitor.visit::<Drawn34>(34);
    visitor.visit::<Drawn35>(35);
    visitor.visit::<Drawn36>(36);
    visitor.visit::<Drawn37>(37);
    visitor.visit::<Drawn38>(38);
    visitor.visit::<Drawn39>(39);
    visitor.visit::<Drawn40>(40);
    visitor.visit::<Drawn41>(41);
    visitor.visit::<Drawn42>(42);
    visitor.visit::<Drawn43>(43);
    visitor.visit::<Drawn44>(44);
    visitor.visit::<Drawn45>(45);
    visitor.visit::<Drawn46>(46);
    visitor.visit::<Drawn47>(47);
    visitor.visit::<Drawn48>(48);
    visitor.visit::<Drawn49>(49);
    visitor.visit::<Drawn50>(50);
    visitor.visit::<Drawn51>(51);
    visitor.visit::<Drawn52>(52);
    visitor.visit::<Drawn53>(53);
    visitor.visit::<Drawn54>(54);
    visitor.visit::<Drawn55>(55);
    visitor.visit::<Drawn56>(56);
    visitor.visit::<Drawn57>(57);
    visitor.visit::<Drawn58>(58);
    visitor.visit::<Drawn59>(59);
}
