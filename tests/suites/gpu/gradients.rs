//! Derived gradients on a device, of host and of device memory, compared with the CPU's.

use scan_runtime::{
    ScanOp, Scanner,
    gallery::{log_sum_exp::LogSumExp, second_order_recurrence::Oscillator},
    gradient::{AdjointCarry, Backward, Components, Differentiable},
    half::bf16,
    scan_element, scan_op,
};
use scan_tests::operators::mixed;

use crate::{Outcome, Trials, ensure};

const LENGTHS: [usize; 4] = [1, 33, 4_097, 100_003];

pub(crate) fn add(trials: &mut Trials) {
    trials.add("derived_gradient_of_a_state_of_two_numbers", || of(LogSumExp, 1e-3, |x| x as f32));
    trials.add("derived_gradient_with_parameters", || of(Oscillator { p: 0.5, q: -0.25 }, 1e-9, |x| x));
    trials.add("derived_gradient_over_bf16", || of(Gate, 1e-2, bf16::from_f64));
}

#[scan_element(gradient)]
#[derive(Clone, Copy)]
struct Affine {
    a: f32,
    b: f32,
}

/// h ← x·h/2 + x², with the output h³.
#[derive(Clone, Copy)]
struct Gate;

#[scan_op(gradient)]
impl ScanOp for Gate {
    type Input = bf16;
    type State = Affine;
    type Carry = f32;
    type Output = bf16;
    const IDENTITY: Affine = Affine { a: 1.0, b: 0.0 };
    const START: f32 = 0.0;
    fn lift(x: bf16) -> Affine {
        Affine { a: 0.5 * x.to_f32(), b: (x * x).to_f32() }
    }
    fn combine(f: Affine, g: Affine) -> Affine {
        Affine { a: f.a * g.a, b: g.a * f.b + g.b }
    }
    fn apply(f: Affine, h: f32) -> f32 {
        f.a * h + f.b
    }
    fn step(h: f32, x: bf16) -> f32 {
        0.5 * x.to_f32() * h + (x * x).to_f32()
    }
    fn project(h: f32) -> bf16 {
        bf16::from_f32(h * h * h)
    }
}

/// Compares the gradients of inputs, of the initial value, and of parameters. Where a new largest number comes, its
/// gradient is the difference of two sums over all later steps, which `f32` rounds in each grouping in another way.
fn of<Op, N, C>(op: Op, tolerance: f64, number: impl Fn(f64) -> N) -> Outcome
where
    N: Components + Into<f64> + Default,
    C: Components<Scalar: Into<f64>>,
    Op: ScanOp<Input = N, Carry = C, Output = N> + Differentiable + Clone,
    Op::Gradient: ScanOp<Input = Backward<C, N, N>, Carry: AdjointCarry<C>, Output = N>,
{
    let (cpu, scanner) = (Scanner::cpu(), Scanner::cuda(0)?);
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for len in LENGTHS {
        let value = |i: u64| number((mixed(i) % 2_000) as f64 / 1_000.0 - 1.0);
        let x: Vec<N> = (0..len as u64).map(value).collect();
        let before = cpu.states(op.clone()).run(&x)?;
        let steps = before.into_iter().zip(&x).zip(1 << 40..);
        let steps: Vec<_> = steps.map(|((before, &x), i)| Backward { before, x, gradient: value(i) }).collect();
        // The gradient of the initial value, those of the parameters, and those of the inputs.
        type Total<Op> = <<Op as Differentiable>::Gradient as ScanOp>::Carry;
        let numbers = |dx: Vec<N>, total: Option<Total<Op>>| -> Vec<f64> {
            let of_state = |total: &Total<Op>| {
                let state = total.state();
                (0..C::COUNT).map(|k| state.component(k).into()).chain(total.parameters()).collect::<Vec<_>>()
            };
            total.iter().flat_map(of_state).chain(dx.into_iter().map(Into::into)).collect()
        };
        let gradients = |scanner: &Scanner| -> Result<Vec<f64>, scan_runtime::Error> {
            let (dx, total) = scanner.backward(op.clone()).with_total().run(&steps)?;
            Ok(numbers(dx, total))
        };
        let (expected, of_host) = (gradients(&cpu)?, gradients(&scanner)?);
        let mut dx = stream.clone_htod(&vec![N::default(); len])?;
        let device_steps = stream.clone_htod(&steps)?;
        let total = scanner.backward(op.clone()).on(&stream).with_total().run_into(&device_steps, &mut dx)?;
        let total = total.map(|total| stream.clone_dtoh(&total)).transpose()?.and_then(|total| total.first().copied());
        let of_device = numbers(stream.clone_dtoh(&dx)?, total);
        let scale = expected.iter().fold(1.0, |largest: f64, x| largest.max(x.abs()));
        for (found, memory) in [(of_host, "host"), (of_device, "device")] {
            let differ = |(a, b): (&f64, &f64)| (a - b).abs() > tolerance * scale || (a - b).is_nan();
            let wrong = found.iter().zip(&expected).position(differ);
            ensure(found.len() == expected.len() && wrong.is_none(), || {
                format!("{len} elements of {memory} memory: {wrong:?}, {found:.4?}, {expected:.4?}")
                    .chars()
                    .take(400)
                    .collect()
            })?;
        }
    }
    Ok(())
}
