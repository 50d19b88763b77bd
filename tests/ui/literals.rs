use scan_runtime::{ScanOp, scan_op};

struct Untyped;

#[scan_op]
impl ScanOp for Untyped {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        let mut n = 0;
        let half = 7 / 2;
        let bit = 1 << b;
        let list = [0, a];
        for i in 0..4 {
            n += i;
        }
        let chosen = if a > b {
            let c = a - b;
            c
        } else {
            let _d = b - a;
            5
        };
        let early = match a {
            0 => return b,
            x if x > 3 => {
                let y = x;
                y
            }
            _ => a,
        };
        n + half + bit + list[0] + chosen + early
    }
}

#[scan_op]
fn out_of_range(a: f64, b: f64) -> f64 {
    let none = [a; 0];
    a * 1e400_f64 + b * 1e400 + (a as f32 * 3.5e38_f32) as f64 + none[0]
}

fn main() {}
