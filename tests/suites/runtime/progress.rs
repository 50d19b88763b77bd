//! Reports of runs of host memory: on the CPU one, at the end, from every way to run; none after an error.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use scan_runtime::{Axis, Error, ScanProgress, Scanner, ops, scan_op};

type Run<'r> = &'r mut dyn FnMut() -> Result<(), Error>;

#[scan_op(identity = 0)]
fn panics_at_100(a: u32, b: u32) -> u32 {
    1_000 / (100 - b) + a
}

#[test]
fn every_run_method_reports_all_elements_once() {
    let scanner = Scanner::cpu();
    let (calls, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, last) = (calls.clone(), done.clone());
    let report = move |progress: ScanProgress| {
        assert_eq!(progress.done, progress.of);
        counted.fetch_add(1, Ordering::Relaxed);
        last.store(progress.done, Ordering::Relaxed);
    };
    let input: Vec<u32> = (0..6_000).collect();
    let scan = scanner.scan(ops::sum::<u32>()).with_progress(report.clone());
    let reduce = scanner.reduce(ops::sum::<u32>()).with_progress(report);
    let (mut output, mut totals) = (input.clone(), vec![0; 6]);
    let along = scan.along(Axis::of(&[6, 1_000], 0).unwrap());
    let ways: [(&str, Run<'_>); 9] = [
        ("run", &mut || scan.run(&input).map(drop)),
        ("in place", &mut || scan.with_total().run_in_place(&mut input.clone()).map(drop)),
        ("prepared", &mut || scan.clone().prepare(6_000)?.run(&input).map(drop)),
        ("rows", &mut || scan.rows(1_000).totals_into(&mut totals).run_into(&input, &mut output)),
        ("arrays", &mut || scan.clone().run_into(&input, &mut input.clone())),
        ("along an axis", &mut || along.run(&input).map(drop)),
        ("arrays along an axis", &mut || along.clone().run_into(&input, &mut input.clone())),
        ("reduction", &mut || reduce.run(&input).map(drop)),
        ("reduction of rows", &mut || reduce.rows(1_000).run(&input).map(drop)),
    ];
    for (way, run) in ways {
        run().unwrap();
        assert_eq!((calls.swap(0, Ordering::Relaxed), done.swap(0, Ordering::Relaxed)), (1, 6_000), "{way}");
    }
    let of_nothing = Axis::of(&[0, 3], 0).unwrap();
    scan.along(of_nothing.clone()).run(&[]).unwrap();
    reduce.along(of_nothing).run(&[]).unwrap();
    scan.run(&[]).unwrap();
    assert_eq!((calls.swap(0, Ordering::Relaxed), done.swap(0, Ordering::Relaxed)), (3, 0), "no elements");
    assert!(scan.run_into(&input, &mut [0; 3]).is_err());
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[test]
fn a_run_that_fails_does_not_report_its_end() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let scan = Scanner::cpu().scan(panics_at_100).with_progress(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    assert!(matches!(scan.run(&[1, 2, 100]), Err(Error::OperatorPanicked { .. })));
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    scan.run(&[1, 2, 3]).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}
