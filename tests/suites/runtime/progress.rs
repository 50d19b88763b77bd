//! Reports of runs of host memory: on the CPU of a short run one, at the end, from every way to run; none after an
//! error. A break ends a run.

use std::{
    ops::ControlFlow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
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

/// Reports come in order, with more elements each, and the last one has all; results are those of a run without them.
/// After a break at half of the elements a run ends, with as many results as it says.
#[test]
fn a_long_run_reports_its_parts_and_can_be_ended() {
    const LEN: usize = 4 << 20;
    let scanner = Scanner::cpu();
    let input: Vec<u32> = (1..=LEN as u32).collect();
    let flags: Vec<bool> = (0..LEN).map(|index| index % 5_000 == 0).collect();
    let values = vec![1_u32; LEN / 4_096];
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for ends in [false, true] {
            let reports: Arc<Mutex<Vec<usize>>> = Arc::default();
            let kept = reports.clone();
            let report = move |progress: ScanProgress| {
                assert_eq!(progress.of, LEN);
                kept.lock().unwrap().push(progress.done);
                if ends && progress.fraction() >= 0.5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let plain = scanner.scan(ops::max::<u32>());
            let scan = plain.clone().with_progress(report.clone());
            let reduce = scanner.reduce(ops::max::<u32>()).with_progress(report);
            let along = Axis::of(&[64, LEN / 64], 0).unwrap();
            let mut output = vec![0; LEN];
            let mut run = |way: &str, run: &mut (dyn FnMut(&mut [u32]) -> Result<(), Error> + Send), writes: bool| {
                output.fill(0);
                let result = pool.install(|| run(&mut output));
                let reports = std::mem::take(&mut *reports.lock().unwrap());
                assert!(reports.is_sorted_by(|a, b| a < b), "{way}: {reports:?}");
                let last = *reports.last().unwrap();
                match result {
                    Ok(()) => assert!(!ends && reports.len() > 1 && last == LEN, "{way}: {reports:?}"),
                    Err(Error::Cancelled { done, of }) => {
                        assert!(ends && of == LEN && LEN / 2 <= last && last <= done && done < LEN, "{way}: {done}");
                        // No input is 0.
                        let written = output.iter().filter(|value| **value != 0).count();
                        assert!(!writes || done <= written && written < LEN, "{way}: {done} of {written}");
                    }
                    Err(error) => panic!("{way}: {error}"),
                }
            };
            run("flat", &mut |output| scan.run_into(&input, output), true);
            run("reversed", &mut |output| scan.clone().reverse().run_into(&input, output), true);
            run("by flags", &mut |output| scan.by_flags(&flags).run_into(&input, output), true);
            run("rows", &mut |output| scan.rows(4_096).init_each(&values).run_into(&input, output), true);
            run("along an axis", &mut |output| scan.along(along.clone()).run_into(&input, output), true);
            run("reduction", &mut |_| reduce.run(&input).map(drop), false);
            run("reduction of rows", &mut |_| reduce.rows(4_096).run(&input).map(drop), false);
            run("reduction of two rows", &mut |_| reduce.rows(LEN / 2).run(&input).map(drop), false);
        }
    }
}
