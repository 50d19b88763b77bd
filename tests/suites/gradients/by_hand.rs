//! Derived gradients beside those that are written by hand.

use scan_runtime::{Scanner, ops};

use super::differences::drawn;
use super::operators::{Affine, MaxPlus};

#[test]
fn the_gradient_of_max_plus_is_the_one_written_by_hand() {
    let numbers = |seed: u64| (0..300).map(|at| drawn(seed + at, -1.0, 1.0)).collect::<Vec<f64>>();
    let (a, x, g) = (numbers(1), numbers(1_000), numbers(2_000));
    let scanner = Scanner::cpu();
    let envelope = ops::max_plus::<f64>();
    let h = scanner.scan(envelope).init(0.25).include_initial().run((&a, &x)).unwrap();
    let (mut da, mut dx) = (vec![0.0; 300], vec![0.0; 300]);
    let by_hand = scanner.scan(envelope.gradient()).reverse();
    let total = by_hand.with_total().run_into((&a, &x, &h[..300], &g), (&mut da, &mut dx)).unwrap();

    let steps: Vec<Affine> = a.iter().zip(&x).map(|(&a, &b)| Affine { a, b }).collect();
    let before = scanner.states(MaxPlus).init(0.25).run(&steps).unwrap();
    assert_eq!(before, h[..300]);
    let (derived, of_first) = scanner.backward(MaxPlus).with_total().run((&before, &steps, &g)).unwrap();
    let expected: Vec<Affine> = da.into_iter().zip(dx).map(|(a, b)| Affine { a, b }).collect();
    assert_eq!((derived, of_first), (expected, total));
}

/// `Scanner::backward` and `Scanner::states` are for these operators too.
#[test]
fn operators_with_gradients_by_hand_have_the_same_calls() {
    let (scanner, recurrence) = (Scanner::cpu(), ops::recurrence::<f64>());
    let (a, x, g) = ([0.5, 2.0, 3.0], [1.0; 3], [1.0; 3]);
    let before = scanner.states(recurrence).init(4.0).run((&a, &x)).unwrap();
    assert_eq!(before, [4.0, 3.0, 7.0]);
    let (mut da, mut dx) = ([0.0; 3], [0.0; 3]);
    let backward = scanner.backward(recurrence);
    let of_first = backward.with_total().run_into((&a, &before, &g), (&mut da, &mut dx)).unwrap();
    assert_eq!((da, dx, of_first), ([36.0, 12.0, 7.0], [9.0, 4.0, 1.0], Some(4.5)));
}
