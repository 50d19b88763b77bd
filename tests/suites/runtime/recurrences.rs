//! Ready recurrences and their gradients, beside loops and beside differences of the loss.

use scan_runtime::{Axis, Scanner, arrays, half::bf16, laws, ops};
use scan_tests::operators::mixed;

/// Numbers between -1 and 1.
fn drawn(len: usize, seed: u64) -> Vec<f64> {
    (0..len as u64).map(|at| mixed(at + seed * 1_000_003) as f64 / u64::MAX as f64 * 2.0 - 1.0).collect()
}

/// The states of a recurrence, the initial one first.
fn states(step: impl Fn(f64, f64, f64) -> f64, first: f64, a: &[f64], x: &[f64]) -> Vec<f64> {
    let after = a.iter().zip(x).scan(first, |h, (a, x)| {
        *h = step(*h, *a, *x);
        Some(*h)
    });
    std::iter::once(first).chain(after).collect()
}

/// How a loss grows with each of these numbers, by central differences.
fn differences(numbers: &[f64], loss: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    const STEP: f64 = 1e-4;
    let loss_with = |at: usize, step: f64| {
        let mut numbers = numbers.to_vec();
        numbers[at] += step;
        loss(&numbers)
    };
    (0..numbers.len()).map(|at| (loss_with(at, STEP) - loss_with(at, -STEP)) / (2.0 * STEP)).collect()
}

fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(error <= 1e-6 * expected.abs().max(1.0), "{what}, {at}: {found}, {expected}");
    }
}

/// The backward pass gives what the loss grows by: the gates, the terms, the initial state; of a loss in which each
/// result and the final state has a weight.
#[test]
fn gradients_are_those_of_the_loss() {
    for (seed, len) in (0..).zip([1, 2, 7, 100, 300]) {
        let [a, x, weights] = [0, 1, 2].map(|array| drawn(len, 3 * seed + array));
        let (first, of_last) = (0.7, -0.3);
        let step = |h: f64, a: f64, x: f64| a * h + x;
        let loss = |first: f64, a: &[f64], x: &[f64]| {
            let h = states(step, first, a, x);
            h[1..].iter().zip(&weights).map(|(h, weight)| h * weight).sum::<f64>() + of_last * h[len]
        };
        let recurrence = ops::recurrence::<f64>();
        let h = Scanner::cpu().scan(recurrence).init(first).include_initial().run((&a, &x)).unwrap();
        close(&h, &states(step, first, &a, &x), "states");
        let gradient = Scanner::cpu().scan(recurrence.gradient()).reverse().init(of_last);
        let (mut da, mut dx) = (vec![0.0; len], vec![0.0; len]);
        let d_first = gradient.with_total().run_into((&a, &h[..len], &weights), (&mut da, &mut dx)).unwrap();
        close(&da, &differences(&a, |a| loss(first, a, &x)), "gates");
        close(&dx, &differences(&x, |x| loss(first, &a, x)), "terms");
        close(&[d_first.unwrap()], &differences(&[first], |first| loss(first[0], &a, &x)), "the initial state");
    }
}

#[test]
fn gradients_of_a_maximum_are_those_of_the_loss() {
    for (seed, len) in (100..).zip([1, 2, 7, 100, 300]) {
        let [a, x, weights] = [0, 1, 2].map(|array| drawn(len, 3 * seed + array));
        let (first, of_last) = (0.1, -0.3);
        let step = |h: f64, a: f64, x: f64| f64::max(h + a, x);
        let loss = |first: f64, a: &[f64], x: &[f64]| {
            let h = states(step, first, a, x);
            h[1..].iter().zip(&weights).map(|(h, weight)| h * weight).sum::<f64>() + of_last * h[len]
        };
        let h = Scanner::cpu().scan(ops::max_plus::<f64>()).init(first).include_initial().run((&a, &x)).unwrap();
        close(&h, &states(step, first, &a, &x), "states");
        let gradient = Scanner::cpu().scan(ops::max_plus::<f64>().gradient()).reverse().init(of_last);
        let (mut da, mut dx) = (vec![0.0; len], vec![0.0; len]);
        let d_first = gradient.with_total().run_into((&a, &x, &h[..len], &weights), (&mut da, &mut dx)).unwrap();
        close(&da, &differences(&a, |a| loss(first, a, &x)), "a");
        close(&dx, &differences(&x, |x| loss(first, &a, x)), "x");
        close(&[d_first.unwrap()], &differences(&[first], |first| loss(first[0], &a, &x)), "the initial state");
    }
}

/// Complex numbers, second order and matrices: what the loss grows by, of all parts of all inputs at once.
#[test]
fn gradients_of_complex_numbers_second_order_and_matrices_are_those_of_the_loss() {
    for (seed, len) in (200..).zip([1, 2, 7, 60]) {
        // Four numbers for a matrix or its like, two for a vector.
        let [a, x, weights] = [4, 2, 2].map(|each| drawn(each * len, seed + each as u64 * 77));
        let weights: Vec<f64> = weights.iter().map(|weight| weight + 0.01).collect();
        let scanner = Scanner::cpu();
        let matrices = |a: &[f64]| a.chunks(4).map(|a| [[a[0], a[1]], [a[2], a[3]]]).collect::<Vec<_>>();
        let pairs = |x: &[f64]| x.chunks(2).map(|x| [x[0], x[1]]).collect::<Vec<_>>();
        let numbers = |x: &[f64]| x.chunks(2).map(|x| ops::Complex { re: x[0], im: x[1] }).collect::<Vec<_>>();
        let weighted = |h: &[f64]| h.iter().zip(&weights).map(|(h, weight)| h * weight).sum::<f64>();

        let recurrence = ops::matrix_recurrence::<f64, 2>();
        let forward = |a: &[f64], x: &[f64]| scanner.scan(recurrence).run((&matrices(a), &pairs(x))).unwrap();
        let h = forward(&a, &x);
        let gradient = scanner.scan(recurrence.gradient()).reverse();
        let (mut da, mut dx) = (vec![[[0.0; 2]; 2]; len], vec![[0.0; 2]; len]);
        let before = arrays::previous(&h, [0.0; 2]);
        gradient.run_into((&matrices(&a), before, &pairs(&weights)), (&mut da, &mut dx)).unwrap();
        let loss = |a: &[f64], x: &[f64]| weighted(forward(a, x).as_flattened());
        close(da.as_flattened().as_flattened(), &differences(&a, |a| loss(a, &x)), "matrices");
        close(dx.as_flattened(), &differences(&x, |x| loss(&a, x)), "vectors");

        let recurrence = ops::complex_recurrence::<f64>();
        let parts = |h: &[ops::Complex<f64>]| h.iter().flat_map(|h| [h.re, h.im]).collect::<Vec<_>>();
        let gates = a[..2 * len].to_vec();
        let forward = |a: &[f64], x: &[f64]| scanner.scan(recurrence).run((&numbers(a), &numbers(x))).unwrap();
        let h = forward(&gates, &x);
        let gradient = scanner.scan(recurrence.gradient()).reverse();
        let zero = ops::Complex::default();
        let (mut da, mut dx) = (vec![zero; len], vec![zero; len]);
        let inputs = (&numbers(&gates), arrays::previous(&h, zero), &numbers(&weights));
        gradient.run_into(inputs, (&mut da, &mut dx)).unwrap();
        let loss = |a: &[f64], x: &[f64]| weighted(&parts(&forward(a, x)));
        close(&parts(&da), &differences(&gates, |a| loss(a, &x)), "complex gates");
        close(&parts(&dx), &differences(&x, |x| loss(&gates, x)), "complex terms");

        let recurrence = ops::second_order::<f64>();
        let (p, q, x, weights) = (&a[..len], &a[len..2 * len], &x[..len], &weights[..len]);
        let first = [0.5, -0.25];
        let forward = |p: &[f64], q: &[f64], x: &[f64], first: &[f64]| {
            scanner.scan(recurrence).init([first[0], first[1]]).run((p, q, x)).unwrap()
        };
        let h = forward(p, q, x, &first);
        let before: Vec<f64> = std::iter::once(first[0]).chain(h.iter().copied()).take(len).collect();
        let earlier: Vec<f64> = std::iter::once(first[1]).chain(before.iter().copied()).take(len).collect();
        let [mut dp, mut dq, mut dx] = [0; 3].map(|_| vec![0.0; len]);
        let gradient = scanner.scan(recurrence.gradient()).reverse();
        let outputs = (&mut dp, &mut dq, &mut dx);
        let inputs = (p, q, &before, &earlier, weights);
        let d_first = gradient.with_total().run_into(inputs, outputs).unwrap();
        let loss = |p: &[f64], q: &[f64], x: &[f64], first: &[f64]| {
            forward(p, q, x, first).iter().zip(weights).map(|(h, weight)| h * weight).sum::<f64>()
        };
        close(&dp, &differences(p, |p| loss(p, q, x, &first)), "p");
        close(&dq, &differences(q, |q| loss(p, q, x, &first)), "q");
        close(&dx, &differences(x, |x| loss(p, q, x, &first)), "x");
        close(&d_first.unwrap(), &differences(&first, |first| loss(p, q, x, first)), "the initial results");
    }
}

/// A gate for all channels of a head, states in one buffer with the initial ones, in chunks: a layer as it is trained.
#[test]
fn a_layer_of_heads_has_the_gradients_of_its_loss() {
    const BATCH: usize = 2;
    const STEPS: usize = 5;
    const HEADS: usize = 2;
    const CHANNELS: usize = 3;
    const WIDTH: usize = HEADS * CHANNELS;
    let len = BATCH * STEPS * WIDTH;
    let [gates, x, weights] = [(BATCH * STEPS * HEADS, 1), (len, 2), (len, 3)].map(|(len, seed)| drawn(len, seed));
    let first = drawn(BATCH * WIDTH, 4);
    let shape = [BATCH, STEPS, HEADS, CHANNELS];
    let of_gates = [(STEPS * HEADS) as isize, HEADS as isize, 1, 0];
    // All states: those of the initial one, then those after each step.
    let forward = |gates: &[f64], x: &[f64], first: &[f64]| {
        let mut h = vec![0.0; BATCH * (STEPS + 1) * WIDTH];
        let all = Axis::of(&[BATCH, STEPS + 1, WIDTH], 1).unwrap();
        assert_eq!(all.len(), h.len());
        for batch in 0..BATCH {
            let at = batch * (STEPS + 1) * WIDTH;
            h[at..at + WIDTH].copy_from_slice(&first[batch * WIDTH..(batch + 1) * WIDTH]);
        }
        let recurrence = Scanner::cpu().scan(ops::recurrence::<f64>());
        let strides = [((STEPS + 1) * WIDTH) as isize, WIDTH as isize, CHANNELS as isize, 1];
        let axis = Axis::of(&shape, 1).unwrap().output_strides(&strides).unwrap();
        let gates = arrays::strided(gates, &of_gates);
        let run = recurrence.along(axis).init_each(first);
        run.run_into((gates, x), &mut h[WIDTH..]).unwrap();
        h
    };
    let loss = |gates: &[f64], x: &[f64], first: &[f64]| {
        let h = forward(gates, x, first);
        let results = (0..BATCH).flat_map(|batch| {
            let at = batch * (STEPS + 1) * WIDTH;
            h[at + WIDTH..at + (STEPS + 1) * WIDTH].to_vec()
        });
        results.zip(&weights).map(|(h, weight)| h * weight).sum::<f64>()
    };
    let h = forward(&gates, &x, &first);
    let before = arrays::strided(&h, &[((STEPS + 1) * WIDTH) as isize, WIDTH as isize, CHANNELS as isize, 1]);
    let (mut of_channels, mut dx, mut d_first) = (vec![0.0; len], vec![0.0; len], vec![0.0; BATCH * WIDTH]);
    let gradient = Scanner::cpu().scan(ops::recurrence::<f64>().gradient()).reverse();
    let run = gradient.along(Axis::of(&shape, 1).unwrap()).totals_into(&mut d_first);
    run.run_into((arrays::strided(&gates, &of_gates), before, &weights), (&mut of_channels, &mut dx)).unwrap();
    // A gate's gradient is the sum of those of its channels.
    let d_gates = Scanner::cpu().reduce(ops::sum()).rows(CHANNELS).run(&of_channels).unwrap();
    close(&d_gates, &differences(&gates, |gates| loss(gates, &x, &first)), "gates");
    close(&dx, &differences(&x, |x| loss(&gates, x, &first)), "terms");
    close(&d_first, &differences(&first, |first| loss(&gates, &x, first)), "initial states");
}

/// Of narrow numbers the state is wide, and so are results that are asked for.
#[test]
fn narrow_inputs_have_a_wide_state() {
    let (a, x) = (vec![bf16::ONE; 4_096], vec![bf16::ONE; 4_096]);
    let counts = Scanner::cpu().scan(ops::recurrence_in::<f32, bf16>());
    assert_eq!(counts.run((&a, &x)).unwrap()[4_095], bf16::from_f32(4_096.0));
    let (wide, total) =
        Scanner::cpu().scan(ops::recurrence_in::<f32, bf16>().wide()).with_total().run((&a, &x)).unwrap();
    assert_eq!((wide[4_094], total), (4_095.0_f32, Some(4_096.0)));
    let gradient = Scanner::cpu().scan(ops::recurrence_in::<f32, bf16>().gradient()).reverse();
    let (mut da, mut dx) = (vec![bf16::ZERO; 4_096], vec![bf16::ZERO; 4_096]);
    let d_first = gradient.with_total().run_into((&a, &x, &x), (&mut da, &mut dx)).unwrap();
    assert_eq!((dx[0], da[0], d_first), (bf16::from_f32(4_096.0), bf16::from_f32(4_096.0), Some(4_096.0)));
}

#[test]
fn the_laws_hold() {
    let gated: Vec<_> = (0..5).map(|at| ops::Gated { a: mixed(at) as u32, x: mixed(at + 9) as u32 }).collect();
    laws::check(&ops::recurrence::<u32>(), &gated).unwrap();
    let adjoints: Vec<_> =
        gated.iter().map(|at| ops::Adjoint { a: at.a, before: at.x, gradient: at.a ^ at.x }).collect();
    laws::check(&ops::recurrence::<u32>().gradient(), &adjoints).unwrap();
    // Multiples of a quarter, which are exact.
    let quarter = |at: u64| (mixed(at) % 64) as f32 / 4.0 - 8.0;
    let gated: Vec<_> = (0..6).map(|at| ops::Gated { a: quarter(at), x: quarter(at + 9) }).collect();
    laws::check(&ops::max_plus::<f32>(), &gated).unwrap();
    let adjoint = |at: u64| {
        let [a, x, before, gradient] = [0_u64, 1, 2, 3].map(|field| quarter(4 * at + field));
        ops::MaxPlusAdjoint { a, x, before, gradient }
    };
    laws::check(&ops::max_plus::<f32>().gradient(), (0..6).map(adjoint).collect::<Vec<_>>()).unwrap();
}
