//! Scans across ranks that are threads, compared with a scan of all their elements by one loop.

use std::{
    thread,
    time::{Duration, Instant},
};

use scan_codegen::ScanSpec;
use scan_runtime::{Axis, Error, Host, ScanKind, ScanOp, Scanner, World, arrays, ops, world::WorldError};
use scan_tests::{
    lifting::{self, Lifting},
    operators::{COVERS, Interval, Joined, Span, adjacent, bits, mixed},
    reference::{self, WAYS},
    stepped::Coder,
};

fn spans(len: usize) -> Vec<Span> {
    (1..=len as u64).map(|at| Span { first: at, last: at, kind: COVERS }).collect()
}

/// What each rank of a world gives, each a thread.
fn on_ranks<T: Send>(size: usize, rank: impl Fn(World<Host>) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let ranks: Vec<_> = World::of_threads(size).into_iter().map(|world| scope.spawn(|| rank(world))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// All ways to cut `len` elements into `ranks` slices, as the places of the cuts, which may be the same.
fn splits(len: usize, ranks: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![0]];
    for rank in 1..=ranks {
        all = all
            .into_iter()
            .flat_map(|cuts| {
                let from = if rank == ranks { len } else { cuts[rank - 1] };
                (from..=len).map(move |cut| [&cuts[..], &[cut]].concat())
            })
            .collect();
    }
    all
}

/// Scans every split of the input over so many ranks in every way, and compares with a loop over the whole.
fn check_splits<Op: ScanOp + Clone>(op: &Op, initial: Op::Carry, input: &[Op::Input], ranks: usize)
where
    Op::Output: PartialEq + std::fmt::Debug,
    Op::Carry: PartialEq + std::fmt::Debug,
{
    on_ranks(ranks, |world| {
        for (kind, reversed) in WAYS {
            let spec = if kind == ScanKind::Exclusive { ScanSpec::exclusive() } else { ScanSpec::inclusive() };
            let spec = if reversed { spec.reverse() } else { spec };
            for initial in [None, Some(initial)] {
                let is_exclusive = spec.kind == ScanKind::Exclusive;
                if is_exclusive && initial.or_else(|| op.start()).is_none() {
                    continue;
                }
                let scan = Scanner::cpu().scan(op.clone());
                let scan = if is_exclusive { scan.exclusive() } else { scan };
                let scan = if spec.reversed { scan.reverse() } else { scan };
                let scan = initial.iter().fold(scan, |scan, value| scan.init(*value));
                let expected = reference::scan_as(op, &spec, initial, input, None);
                let total = reference::total_as(op, &spec, initial, input, None).or_else(|| op.start());
                for cuts in splits(input.len(), ranks) {
                    let slice = cuts[world.rank()]..cuts[world.rank() + 1];
                    let message = || format!("{spec}, {cuts:?}, rank {}", world.rank());
                    let results = scan
                        .across(&world)
                        .run(&input[slice.clone()])
                        .unwrap_or_else(|error| panic!("{error}: {}", message()));
                    assert_eq!(results, expected[slice.clone()], "{}", message());
                    let mut output = results.clone();
                    scan.across(&world)
                        .run_into(&input[slice.clone()], &mut output)
                        .unwrap_or_else(|error| panic!("{error}: {}", message()));
                    assert_eq!(output, results, "{}", message());
                    let (results, found) = scan
                        .across(&world)
                        .with_total()
                        .run(&input[slice.clone()])
                        .unwrap_or_else(|error| panic!("{error}: {}", message()));
                    assert_eq!((results.as_slice(), found), (&expected[slice], total), "{}", message());
                }
            }
        }
    });
}

#[test]
fn every_split_equals_one_device() {
    check_splits(&Interval, Span { first: 0, last: 0, kind: COVERS }, &spans(4), 4);
    for ranks in 1..=3 {
        for len in [0, 1, 4] {
            check_splits(&Interval, Span { first: 0, last: 0, kind: COVERS }, &spans(len), ranks);
            check_splits(&Joined, Span { first: 0, last: 0, kind: COVERS }, &spans(len), ranks);
            check_splits(&Lifting, Lifting.lift(lifting::inputs(1)[0]), &lifting::inputs(len), ranks);
            check_splits(&Coder, 77, &lifting::inputs(len), ranks);
        }
    }
}

/// A slice of its own for each rank, of lengths drawn from the seed: some empty, some long.
fn drawn(seed: u64, ranks: usize, len: usize) -> Vec<usize> {
    let mut cuts: Vec<_> = (1..ranks).map(|rank| mixed(seed + rank as u64) as usize % (len + 1)).collect();
    cuts.extend([0, len]);
    cuts.sort();
    cuts
}

#[test]
fn a_thousand_ranks_that_come_at_different_times_equal_one() {
    for (ranks, len) in [(8, 100_000), (61, 10_000), (1_000, 5_000)] {
        let (input, cuts) = (spans(len), drawn(ranks as u64, ranks, len));
        let results = on_ranks(ranks, |world| {
            let slice = &input[cuts[world.rank()]..cuts[world.rank() + 1]];
            thread::sleep(Duration::from_micros(mixed(world.rank() as u64) % 2_000));
            let first = Scanner::cpu().scan(Interval).across(&world).run(slice).unwrap();
            let reversed = Scanner::cpu().scan(Interval).reverse().exclusive();
            (first, reversed.across(&world).with_total().run(slice).unwrap())
        });
        let (first, second): (Vec<_>, Vec<_>) = results.into_iter().unzip();
        for (at, span) in first.concat().iter().enumerate() {
            assert_eq!((span.first, span.last, span.kind), (1, at as u64 + 1, COVERS), "{ranks} ranks");
        }
        for (rank, (after, total)) in second.into_iter().enumerate() {
            assert_eq!(total, Some(Span { first: 1, last: len as u64, kind: COVERS }));
            for (at, after) in (cuts[rank]..).zip(after) {
                assert!(adjacent(&input[at], &after), "{ranks} ranks, element {at}: {after:?}");
            }
        }
    }
}

/// Sums of floats depend on the lengths and ranks only, not on who comes first.
#[test]
fn floats_have_the_same_bits_in_every_run() {
    let input: Vec<f32> = (0..50_000).map(|at| mixed(at) as f32 / 1e9).collect();
    let cuts = drawn(5, 7, input.len());
    let run = |seed: u64| {
        on_ranks(7, |world| {
            thread::sleep(Duration::from_micros(mixed(seed * 7 + world.rank() as u64) % 500));
            let slice = &input[cuts[world.rank()]..cuts[world.rank() + 1]];
            bits(&Scanner::cpu().scan(ops::sum()).across(&world).run(slice).unwrap())
        })
    };
    assert!((1..6).all(|seed| run(seed) == run(0)));
}

/// Rows of states whose time axis is split: the carry of each row goes on from rank to rank.
#[test]
fn columns_go_on_from_rank_to_rank() {
    let (rows, len, inner) = (3, 40, 2);
    let input = lifting::inputs(rows * len * inner);
    let init: Vec<_> = lifting::inputs(rows * inner).into_iter().map(|x| Lifting.lift(x)).collect();
    for (kind, reversed) in WAYS {
        let spec = if kind == ScanKind::Exclusive { ScanSpec::exclusive() } else { ScanSpec::inclusive() };
        let spec = if reversed { spec.reverse() } else { spec };
        let whole = Axis::of(&[rows, len, inner], 1).unwrap();
        let mut expected = vec![lifting::Wide { a: 0, b: 0 }; input.len()];
        let totals = reference::scan_axis_each(&Lifting, &spec, Some(&init), &whole, &input, &mut expected);
        for (seed, ranks) in [(1, 2), (2, 3), (3, 8), (4, 60)] {
            let cuts = drawn(seed, ranks, len);
            on_ranks(ranks, |world| {
                let (from, to) = (cuts[world.rank()], cuts[world.rank() + 1]);
                let part = |row: usize| (row * len + from) * inner..(row * len + to) * inner;
                let slice: Vec<_> = (0..rows).flat_map(|row| &input[part(row)]).copied().collect();
                let scan = Scanner::cpu().scan(Lifting);
                let scan = if spec.kind == ScanKind::Exclusive { scan.exclusive() } else { scan };
                let scan = if reversed { scan.reverse() } else { scan };
                let axis = Axis::of(&[rows, to - from, inner], 1).unwrap();
                let across = scan.across(&world).along(axis.clone()).init_each(&init);
                let (results, found) = across.with_totals().run(&slice).unwrap();
                let expected: Vec<_> = (0..rows).flat_map(|row| &expected[part(row)]).copied().collect();
                assert_eq!((results, &found), (expected, &totals), "{spec}, {cuts:?}, rank {}", world.rank());

                let reduce = Scanner::cpu().reduce(Lifting);
                let reduce = if reversed { reduce.reverse() } else { reduce };
                let reduced = reduce.across(&world).along(axis).init_each(&init).run(&slice).unwrap();
                let projected: Vec<_> = totals.iter().map(|total| Lifting.project(*total)).collect();
                assert_eq!(reduced, projected, "{spec}, {cuts:?}, rank {}", world.rank());
            });
        }
    }
}

/// The time axis in front, of contiguous memory.
#[test]
fn a_leading_axis_is_split_by_slices() {
    let (len, inner) = (30, 5);
    let input: Vec<u32> = (0..len * inner).map(|at| mixed(at as u64) as u32).collect();
    let expected = Scanner::cpu().scan(ops::sum()).along(Axis::of(&[len, inner], 0).unwrap()).run(&input).unwrap();
    let cuts = drawn(9, 4, len);
    on_ranks(4, |world| {
        let (from, to) = (cuts[world.rank()], cuts[world.rank() + 1]);
        let axis = Axis::of(&[to - from, inner], 0).unwrap();
        let slice = from * inner..to * inner;
        let mut output = vec![0; slice.len()];
        let sums = Scanner::cpu().scan(ops::sum());
        sums.across(&world).along(axis).run_into(&input[slice.clone()], &mut output).unwrap();
        assert_eq!(output, expected[slice]);
    });
}

#[test]
fn reductions_give_every_rank_the_result() {
    let input = lifting::inputs(1_000);
    let expected = Scanner::cpu().reduce(Lifting).run(&input).unwrap();
    let cuts = drawn(3, 5, input.len());
    let results = on_ranks(5, |world| {
        let slice = &input[cuts[world.rank()]..cuts[world.rank() + 1]];
        let mut output = [lifting::Wide { a: 0, b: 0 }];
        let reduce = Scanner::cpu().reduce(Lifting);
        reduce.across(&world).run_into(slice, &mut output).unwrap();
        assert_eq!(reduce.across(&world).run(slice).unwrap(), output);
        // Without an identity: of those who have elements.
        let joined = Scanner::cpu().reduce(Joined).across(&world).run(&spans(world.rank() % 2)[..]);
        assert_eq!(joined.unwrap()[0].kind, 2);
        output[0]
    });
    assert_eq!(results, [expected; 5]);
    let nothing = on_ranks(3, |world| Scanner::cpu().reduce(Joined).across(&world).run(&[]).unwrap_err().to_string());
    assert!(nothing.iter().all(|error| error == &nothing[0] && error.contains("no identity")), "{nothing:?}");
}

/// Segments may span ranks: keys that lie in the operator are compared across the seam.
#[test]
fn segments_by_keys_span_ranks() {
    let keys: Vec<u32> = (0..500).map(|at| at / 70 % 3).collect();
    let values: Vec<u64> = (0..500).map(mixed).collect();
    let expected = Scanner::cpu().scan(ops::sum()).by_keys(&keys).run(&values).unwrap();
    for seed in 0..4 {
        let cuts = drawn(seed, 6, keys.len());
        let found = on_ranks(6, |world| {
            let slice = cuts[world.rank()]..cuts[world.rank() + 1];
            let sums = Scanner::cpu().scan(ops::by_key(ops::sum()));
            sums.across(&world).run((&keys[slice.clone()], &values[slice])).unwrap()
        });
        assert_eq!(found.concat(), expected, "{cuts:?}");
    }
}

/// By flags and by bits, in place of keys; the first flag of a slice joins it to the rank before, or does not.
#[test]
fn segments_by_flags_span_ranks() {
    let flags: Vec<bool> = (0..500).map(|at| mixed(at).is_multiple_of(60)).collect();
    let values: Vec<u64> = (0..500).map(mixed).collect();
    let words: Vec<u32> =
        flags.chunks(32).map(|word| (0..).zip(word).map(|(at, flag)| u32::from(*flag) << at).sum()).collect();
    let expected = Scanner::cpu().scan(ops::sum()).by_flags(&flags).run(&values).unwrap();
    for seed in 0..4 {
        let cuts = drawn(seed, 6, flags.len());
        let found = on_ranks(6, |world| {
            let slice = cuts[world.rank()]..cuts[world.rank() + 1];
            let sums = Scanner::cpu().scan(ops::by_flag(ops::sum()));
            let found = sums.across(&world).run((&flags[slice.clone()], &values[slice.clone()])).unwrap();
            let bits = arrays::bits(&words, slice.start);
            assert_eq!(sums.across(&world).run((bits, &values[slice])).unwrap(), found);
            found
        });
        assert_eq!(found.concat(), expected, "{cuts:?}");
    }
}

#[test]
fn slices_are_scanned_in_place() {
    let (input, cuts) = (spans(1_000), drawn(8, 5, 1_000));
    let results = on_ranks(5, |world| {
        let mut slice = input[cuts[world.rank()]..cuts[world.rank() + 1]].to_vec();
        let total = Scanner::cpu().scan(Interval).across(&world).with_total().run_in_place(&mut slice).unwrap();
        assert_eq!(total, Some(Span { first: 1, last: 1_000, kind: COVERS }));
        slice
    });
    let expected: Vec<_> = (1..=1_000).map(|last| Span { first: 1, last, kind: COVERS }).collect();
    assert_eq!(results.concat(), expected);
}

/// Compaction: each rank learns where its results go in the array of all, and how many there are in all.
#[test]
fn places_of_a_compaction_are_those_of_the_whole() {
    let input: Vec<u64> = (0..3_000).map(mixed).collect();
    let cuts = drawn(2, 4, input.len());
    let found = on_ranks(4, |world| {
        let slice = &input[cuts[world.rank()]..cuts[world.rank() + 1]];
        let kept: Vec<u32> = slice.iter().map(|x| u32::from(x % 3 == 0)).collect();
        let places = Scanner::cpu().scan(ops::sum()).exclusive();
        let (places, count) = places.across(&world).with_total().run(&kept).unwrap();
        let kept = slice.iter().zip(places).filter(|(x, _)| *x % 3 == 0);
        (kept.map(|(x, place)| (place, *x)).collect::<Vec<_>>(), count)
    });
    let expected: Vec<_> = input.iter().copied().filter(|x| x % 3 == 0).collect();
    assert!(found.iter().all(|(_, count)| *count == Some(expected.len() as u32)));
    let placed: Vec<_> = found.into_iter().flat_map(|(placed, _)| placed).collect();
    let in_order: Vec<_> = (0..).zip(expected).collect();
    assert_eq!(placed, in_order);
}

#[test]
fn arrays_of_one_call_are_split_alike() {
    let values: Vec<u64> = (0..100).map(mixed).collect();
    let cuts = drawn(4, 3, values.len());
    on_ranks(3, |world| {
        let slice = &values[cuts[world.rank()]..cuts[world.rank() + 1]];
        let pairs = Scanner::cpu().scan(ops::pair(ops::sum(), ops::max()));
        let (mut sums, mut largest) = (vec![0; slice.len()], vec![0; slice.len()]);
        pairs.across(&world).run_into(arrays::gather(slice, &indices(slice.len())), (&mut sums, &mut largest)).unwrap();
        let sum = |at: usize| values[..=at].iter().fold(0_u64, |sum, x| sum.wrapping_add(*x));
        for (at, (found, maximum)) in (cuts[world.rank()]..).zip(sums.into_iter().zip(largest)) {
            assert_eq!((found, Some(&maximum)), (sum(at), values[..=at].iter().max()));
        }
    });
}

fn indices(len: usize) -> Vec<u32> {
    (0..len as u32).collect()
}

#[test]
fn a_rank_that_leaves_is_an_error_on_each_other_one() {
    let errors = on_ranks(4, |world| {
        let sums = Scanner::cpu().scan(ops::sum());
        sums.across(&world).run(&[1_u32]).unwrap();
        if world.rank() == 2 {
            return None;
        }
        let error = sums.across(&world).run(&[1]).unwrap_err();
        assert!(world.check().is_err() && sums.across(&world).run(&[1]).is_err());
        Some(error)
    });
    for (rank, error) in errors.into_iter().enumerate().filter(|(rank, _)| *rank != 2) {
        let text = error.as_ref().map(Error::to_string).unwrap_or_default();
        assert!(text.contains("rank 2 has left the world"), "rank {rank}: {text}");
    }
}

/// Else the others would take what it gathers in its next call for this one.
#[test]
fn a_rank_whose_part_fails_is_an_error_on_each_rank_and_in_each_further_call() {
    let errors = on_ranks(3, |world| {
        let sums = Scanner::cpu().scan(ops::sum());
        let slice = [1_u32, 2, 3, 4];
        // One element is missing.
        let slice = if world.rank() == 1 { &slice[..3] } else { &slice };
        let run = || sums.across(&world).along(Axis::of(&[2, 2], 1)?).run(slice);
        [run().unwrap_err().to_string(), run().unwrap_err().to_string()]
    });
    for (rank, [first, second]) in errors.into_iter().enumerate() {
        assert!(first.contains("rank 1 could not reduce its part") || rank == 1, "rank {rank}: {first}");
        assert!(second.contains("rank 1 could not reduce its part"), "rank {rank}: {second}");
    }
}

#[test]
fn a_rank_that_is_late_is_named_within_the_deadline() {
    let start = Instant::now();
    let errors = on_ranks(3, |world| {
        let world = world.with_deadline(Duration::from_millis(100));
        let sums = Scanner::cpu().scan(ops::sum());
        sums.across(&world).run(&[1_u32]).unwrap();
        if world.rank() == 1 {
            thread::sleep(Duration::from_millis(400));
        }
        sums.across(&world).run(&[1]).unwrap_err()
    });
    assert!(start.elapsed() < Duration::from_secs(20));
    let late =
        |error: &Error| matches!(error, Error::World(WorldError::TimedOut { missing, .. }) if missing == "ranks [1]");
    let lost = |error: &Error| matches!(error, Error::World(WorldError::Lost { .. }));
    assert!(errors.iter().any(late), "{errors:?}");
    assert!(errors.iter().all(|error| late(error) || lost(error)) && lost(&errors[1]), "{errors:?}");
}

/// What a rank does in place of its call.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Leaves,
    Panics,
    ComesLate,
    ScansSomethingElse,
    HasAnotherShape,
}

/// Calls before the fault are right, and within the deadline the fault is an error on every rank, which then stays.
#[test]
fn whatever_a_rank_does_is_an_error_on_each_other_one_within_the_deadline() {
    let faults = [Fault::Leaves, Fault::Panics, Fault::ComesLate, Fault::ScansSomethingElse, Fault::HasAnotherShape];
    for seed in 0..30 {
        let drawn = |salt: u64, below: u64| mixed(seed * 31 + salt) % below;
        let (ranks, call, fault) = (2 + drawn(0, 6) as usize, drawn(1, 4), faults[seed as usize % faults.len()]);
        let guilty = drawn(2, ranks as u64) as usize;
        let what = format!("seed {seed}: rank {guilty} of {ranks}, {fault:?} at call {call}");
        let start = Instant::now();
        on_ranks(ranks, |world| {
            let world = world.with_deadline(Duration::from_millis(150));
            let (rank, sums) = (world.rank(), Scanner::cpu().scan(ops::sum::<u32>()));
            let axis = |rows| Axis::of(&[rows, 2], 1).unwrap();
            let run = || sums.across(&world).along(axis(2)).run(&[1, 2, 3, 4]);
            for before in 0..call {
                thread::sleep(Duration::from_micros(mixed(seed + before + rank as u64) % 500));
                let found = run().unwrap_or_else(|error| panic!("{what}: {error}"));
                let ranks_before = rank as u32;
                assert_eq!(found[1], 3 * (ranks_before + 1), "{what}");
            }
            let outcome = match fault {
                _ if rank != guilty => run(),
                Fault::Leaves => return,
                Fault::Panics => {
                    let left = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                        let _world = world;
                        std::panic::resume_unwind(Box::new("a fault"));
                    }));
                    return assert!(left.is_err());
                }
                Fault::ComesLate => {
                    thread::sleep(Duration::from_millis(400));
                    run()
                }
                Fault::ScansSomethingElse => {
                    Scanner::cpu().scan(ops::max()).across(&world).along(axis(2)).run(&[1, 2, 3, 4])
                }
                Fault::HasAnotherShape => sums.across(&world).along(axis(1)).run(&[1, 2]),
            };
            assert!(outcome.is_err(), "{what}: rank {rank} got {outcome:?}");
            let is_refused = matches!(fault, Fault::ScansSomethingElse | Fault::HasAnotherShape) && call == 0;
            match run() {
                // All have compared their first calls, and nothing has been run.
                Ok(found) => assert!(is_refused && found[1] == 3 * (rank as u32 + 1), "{what}: rank {rank}, {found:?}"),
                Err(error) => assert!(!is_refused && world.check().is_err(), "{what}: rank {rank}: {error}"),
            }
        });
        assert!(start.elapsed() < Duration::from_secs(20), "{what}: {:?}", start.elapsed());
    }
}

/// The ranks compare operator, direction, initial value and columns before the first run.
#[test]
fn a_rank_that_runs_something_else_is_named() {
    type Run<'a> = &'a (dyn Fn(&World<Host>) -> Result<Vec<u32>, Error> + Sync);
    let check = |run: Run<'_>| {
        for (rank, result) in on_ranks(3, |world| run(&world)).into_iter().enumerate() {
            let error = result.unwrap_err();
            let is_named = matches!(error, Error::World(WorldError::Differs { rank: 1, .. }));
            assert!(is_named, "rank {rank}: {error}");
        }
    };
    let (scanner, slice) = (Scanner::cpu(), [1, 2, 3, 4]);
    let sums = scanner.scan(ops::sum());
    let is_odd = |world: &World<Host>| world.rank() == 1;
    check(&|world| match is_odd(world) {
        true => scanner.scan(ops::max()).across(world).run(&slice),
        false => sums.across(world).run(&slice),
    });
    check(&|world| if is_odd(world) { sums.clone().reverse() } else { sums.clone() }.across(world).run(&slice));
    check(&|world| if is_odd(world) { sums.clone().exclusive() } else { sums.clone() }.across(world).run(&slice));
    check(&|world| if is_odd(world) { sums.clone().init(1) } else { sums.clone() }.across(world).run(&slice));
    check(&|world| {
        let rows = if is_odd(world) { 1 } else { 2 };
        sums.across(world).along(Axis::of(&[rows, 4 / rows], 1)?).run(&slice)
    });
}

/// Bad calls are errors before anything is exchanged.
#[test]
fn values_for_each_column_need_an_axis() {
    let world = World::of_threads(2).swap_remove(0);
    let sums = Scanner::cpu().scan(ops::sum::<u32>());
    let error = sums.across(&world).init_each(&[1]).run(&[1]).unwrap_err().to_string();
    assert!(error.contains("segments that are numbered"), "{error}");
    assert!(sums.across(&world).with_totals().run(&[1]).is_err());
    let error = sums.clone().include_initial().across(&world).run(&[1]).unwrap_err().to_string();
    assert!(error.contains("only the first rank"), "{error}");
    assert!(sums.across(&world).along(Axis::of(&[1], 0).unwrap()).with_total().run(&[1]).is_err());
}
