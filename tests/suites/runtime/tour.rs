//! Calls of every kind, one after the other, as a user writes them: the same words over host memory and over device
//! memory (`tests/suites/launches/tour.rs`), with arrays of any kind, along an axis, and in handles.

use scan_runtime::{Axis, Scanner, arrays, ndarray::array, ops, scan_fn};
use scan_tests::{columns::Recurrence, operators::MapU32};

#[test]
fn every_kind_of_call_over_host_memory() -> Result<(), scan_runtime::Error> {
    let scanner = Scanner::cpu();
    let (x, mut y) = (vec![3, 1, 4, 1, 5, 9], vec![0; 6]);
    let (gates, tokens) = (vec![2_u32, 3, 2, 3, 2, 3], vec![1_u32, 1, 1, 1, 1, 1]);
    let (image, keys, order) = (array![[1, 2, 3], [4, 5, 6]], [7_u64, 7, 8, 8, 8, 7], [5_u32, 4, 3, 2, 1, 0]);

    let sums = scanner.scan(ops::sum());
    let layer = scanner.scan(Recurrence);

    assert_eq!(sums.run(&x)?, [3, 4, 8, 9, 14, 23]);
    sums.run_into(&x, &mut y)?;
    assert_eq!(y, [3, 4, 8, 9, 14, 23]);
    sums.run_in_place(&mut y)?;
    assert_eq!(y, [3, 7, 15, 24, 38, 61]);

    assert_eq!(layer.run((&gates, &tokens))?, [1, 4, 9, 28, 57, 172]);
    assert_eq!(layer.run((&gates, arrays::gather(&tokens, &order)))?, [1, 4, 9, 28, 57, 172]);
    assert_eq!(sums.along(0).run(&image)?, array![[1, 2, 3], [5, 7, 9]]);
    assert_eq!(sums.along(Axis::of(&[3, 2], 1)?).run(&x)?, [3, 4, 4, 5, 5, 14]);
    assert_eq!(sums.by_keys(&keys).run(&x)?, [3, 4, 4, 5, 10, 9]);
    assert_eq!(sums.by_offsets(&[0_u32, 2, 6]).run(&x)?, [3, 4, 4, 5, 10, 19]);
    let before = layer.rows(3).with_totals().run((&gates, &tokens))?.1;
    let (states, last) = layer.rows(3).init_each(&before).with_totals().run((&gates, &tokens))?;
    assert_eq!(states, [19, 58, 117, 31, 63, 190]);
    assert_eq!(last.iter().map(|map| map.b).collect::<Vec<_>>(), [117, 190]);
    let (starts, len) = sums.with_total().run(&[1, 2, 3])?;
    assert_eq!((starts, len), (vec![1, 3, 6], Some(6)));

    let largest = scanner.reduce(ops::max());
    assert_eq!(largest.run(&x)?, 9);
    assert_eq!(largest.along(0).run(&image)?, array![4, 5, 6]);
    assert_eq!(largest.by_keys(&keys).run(&x)?, [3, 5, 9]);

    // Sequences that come in chunks of three steps: the totals of a chunk are the initial values of the next.
    let mut state = vec![MapU32 { a: 1, b: 0 }; 2];
    let (mut next, mut h) = (state.clone(), vec![0; 6]);
    let prepared = layer.along(Axis::of(&[3, 2], 0)?).init_each(&state).with_totals().prepare(6)?;
    for _ in 0..2 {
        prepared.init_each(&state).totals_into(&mut next).run_into((&gates, &tokens), &mut h)?;
        std::mem::swap(&mut state, &mut next);
    }
    assert_eq!(h, [15, 40, 31, 121, 63, 364]);
    assert_eq!(state.iter().map(|map| map.b).collect::<Vec<_>>(), [63, 364]);
    Ok(())
}

#[test]
fn a_total_goes_to_an_array_of_the_callers() -> Result<(), scan_runtime::Error> {
    let sums = Scanner::cpu().scan(ops::sum());
    for len in [0, 1, 5, 300_001] {
        let input: Vec<u64> = (0..len).collect();
        let mut offsets = vec![99; len as usize + 1];
        let (starts, end) = offsets.split_at_mut(len as usize);
        sums.clone().exclusive().init(10).total_into(end).run_into(&input, starts)?;
        let expected: Vec<u64> = (0..=len).map(|index| 10 + index * (index.max(1) - 1) / 2).collect();
        assert!(offsets == expected, "{len}");
    }
    // Of the last segment; of no elements the identity; in a handle.
    let mut total = [99];
    assert_eq!(sums.by_keys(&[7, 7, 8]).total_into(&mut total).run(&[1, 2, 4])?, [1, 3, 4]);
    assert_eq!(total, [4]);
    assert!(sums.total_into(&mut total).run(&[0_u64; 0])?.is_empty());
    assert_eq!(total, [0]);
    let handle = sums.with_total().prepare(3)?;
    handle.total_into(&mut total).run_in_place(&mut [1, 2, 3])?;
    assert_eq!(total, [6]);
    // Of several calls the last one counts.
    let mut totals = [0; 2];
    sums.rows(2).total_into(&mut total).totals_into(&mut totals).run(&[1, 2, 3, 4])?;
    assert_eq!((total, totals), ([6], [3, 7]));
    let two = sums.total_into(&mut totals).run(&[1, 2]);
    assert!(matches!(two, Err(scan_runtime::Error::Length { .. })), "{two:?}");
    let axis = Axis::of(&[2, 2], 0)?;
    let along = sums.along(axis).total_into(&mut total).run(&[1, 2, 3, 4]);
    assert!(along.is_err(), "{along:?}");
    Ok(())
}

#[scan_fn]
fn one(_: u32) -> u32 {
    1
}

/// The keys of groups next to their results, in one call; and the number of each element within its segment, for which
/// no memory is read.
#[test]
fn operators_over_an_array_each() -> Result<(), scan_runtime::Error> {
    let scanner = Scanner::cpu();
    let (keys, x) = ([7_u64, 7, 8, 9, 9, 9], [5_i32, -2, 9, 1, 4, 2]);
    let totals = scanner.reduce(ops::zip(ops::first(), ops::zip(ops::sum(), ops::max())));
    let input = x.map(|x| ops::Both { first: x, second: x });
    let both = |first, sum, max| ops::Both { first, second: ops::Both { first: sum, second: max } };
    assert_eq!(totals.by_keys(&keys).run((&keys, &input))?, [both(7, 3, 5), both(8, 9, 9), both(9, 7, 4)]);

    let (mut so_far, mut last_key) = ([0; 6], [0; 6]);
    let running = scanner.scan(ops::zip(ops::sum(), ops::last())).reverse();
    running.by_keys(&keys).run_into((&x, &keys), (&mut so_far, &mut last_key))?;
    assert_eq!((so_far, last_key), ([3, -2, 9, 7, 6, 2], [7, 7, 8, 9, 9, 9]));

    let mut numbers = [0; 6];
    let within = scanner.scan(ops::map::<one, _>(ops::sum())).exclusive();
    within.by_offsets(&[0_u32, 2, 2, 3]).run_into(arrays::indices(), &mut numbers)?;
    assert_eq!(numbers, [0, 1, 0, 0, 1, 2]);
    Ok(())
}
