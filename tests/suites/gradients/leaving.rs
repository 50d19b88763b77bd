//! Gradients of functions that return from a loop, compared with those that leave it by `break`.

use scan_codegen::{Overrides, ScanSpec};
use scan_runtime::{
    ScanOp, Scanner,
    gradient::{Backward, Differentiable},
    laws, scan_fn, scan_op,
};
use scan_tests::{
    emulated::{Emulator, Program},
    operators::mixed,
};

use super::differences::drawn;

/// The first power of x, in two loops, that is below a half; or what is left of x.
#[scan_fn(gradient)]
fn first_small_power(x: f64) -> f64 {
    let mut power = x;
    for i in 0..3_u32 {
        power *= x;
        let mut nearer = power;
        while nearer > 0.75 {
            nearer *= 0.6;
            if nearer < 0.8 {
                return nearer * i as f64 + x;
            }
        }
        if power < 0.5 {
            return power;
        }
    }
    let rest = power - x;
    rest * rest
}

#[derive(Clone, Copy)]
struct Returning;

#[scan_op(gradient)]
impl ScanOp for Returning {
    type Element = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(x: f64) -> f64 {
        let mut rounds = 0_u32;
        let mut value = x;
        loop {
            rounds += 1;
            value *= x;
            match rounds {
                5 => return value,
                _ => {
                    if value > 2.0 {
                        return first_small_power(x) + value;
                    }
                }
            }
        }
    }
    fn combine(a: f64, b: f64) -> f64 {
        if a == 0.0 {
            return b;
        }
        'sums: for _ in 0..2_u32 {
            for j in 0..4_u32 {
                if j == 3 {
                    return a + b;
                }
            }
            continue 'sums;
        }
        a - b
    }
}

#[scan_fn(gradient)]
fn first_small_power_by_break(x: f64) -> f64 {
    let mut power = x;
    let mut found = false;
    let mut value: f64 = 0.0;
    'powers: for i in 0..3_u32 {
        power *= x;
        let mut nearer = power;
        while nearer > 0.75 {
            nearer *= 0.6;
            if nearer < 0.8 {
                value = nearer * i as f64 + x;
                found = true;
                break 'powers;
            }
        }
        if power < 0.5 {
            value = power;
            found = true;
            break;
        }
    }
    if found {
        value
    } else {
        let rest = power - x;
        rest * rest
    }
}

#[derive(Clone, Copy)]
struct Breaking;

#[scan_op(gradient)]
impl ScanOp for Breaking {
    type Element = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(x: f64) -> f64 {
        let mut rounds = 0_u32;
        let mut value = x;
        while rounds < 5 {
            rounds += 1;
            value *= x;
            if rounds < 5 && value > 2.0 {
                value += first_small_power_by_break(x);
                break;
            }
        }
        value
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
}

fn items<Op>(op: Op, len: u64) -> Vec<Backward<f64, f64, f64>>
where
    Op: Differentiable<Input = f64, Carry = f64, Output = f64>,
{
    let x: Vec<f64> = (0..len).map(|at| drawn(at, 0.25, 1.9)).collect();
    let before = Scanner::cpu().states(op).run(&x).unwrap();
    let steps = before.into_iter().zip(x).zip(1_000..);
    steps.map(|((before, x), at)| Backward { before, x, gradient: drawn(at, -1.0, 1.0) }).collect()
}

#[test]
fn a_return_from_a_loop_has_the_gradient_of_a_break() {
    let scanner = Scanner::cpu();
    let found = scanner.backward(Returning).run(&items(Returning, 300)).unwrap();
    let expected = scanner.backward(Breaking).run(&items(Breaking, 300)).unwrap();
    assert_eq!(found, expected);
    let x: Vec<f64> = (0..40).map(|at| drawn(at, 0.25, 1.9)).collect();
    let report = laws::check_gradient(&Returning, &x).unwrap();
    assert!(report.compared > 100 && report.kinks < report.compared / 4, "{report}");
}

#[test]
fn a_kernel_returns_from_loops_too() {
    let items = items(Returning, 150);
    let expected = Scanner::cpu().backward(Returning).run(&items).unwrap();
    let overrides = Overrides::default().threads(32);
    let program = Program::of(Returning.gradient(), &ScanSpec::inclusive().reverse(), None, &overrides).unwrap();
    let found = program.run(&Emulator::new(mixed(7)), &items).unwrap().output;
    for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{at}: {found}, {expected}");
    }
}
