//! Operators that are written by hand and break their contract: memory stays valid all the same, and no panic escapes.

use std::{
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use rayon::ThreadPoolBuilder;
use scan_codegen::OpSource;

use super::loops::chunk_length;
use crate::{Error, PlanError, ScanOp, Scanner, caught::tests::Bomb, laws, ops, time_limit::TimeLimit};

/// A sum that gives its identity a limited number of times, and panics at a certain number.
struct ByHand {
    identities: AtomicUsize,
    panics_at: u32,
}

impl ByHand {
    fn new(identities: usize) -> Self {
        ByHand { identities: AtomicUsize::new(identities), panics_at: u32::MAX }
    }
}

// SAFETY: the source is that of the sum. The identity is not what is vouched for: on the CPU nothing may depend on it.
unsafe impl ScanOp for ByHand {
    type Input = u32;
    type State = u32;
    type Output = u32;

    fn identity(&self) -> Option<u32> {
        self.identities.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).ok().map(|_| 0)
    }

    fn lift(&self, x: u32) -> u32 {
        x
    }

    fn combine(&self, a: u32, b: u32) -> u32 {
        if b == self.panics_at {
            resume_unwind(Box::new(Bomb(2)));
        }
        a.wrapping_add(b)
    }

    crate::__scan_carry_is_state! {}

    fn project(&self, x: u32) -> u32 {
        if x == self.panics_at {
            resume_unwind(Box::new(Bomb(2)));
        }
        x
    }

    fn source(&self) -> OpSource {
        ops::sum::<u32>().source()
    }
}

#[test]
fn an_inconsistent_identity_leaves_no_output_unwritten() {
    let _limit = TimeLimit::seconds(600);
    let scanner = Scanner::cpu();
    let chunk = chunk_length::<ByHand>();
    let lengths: &[usize] = if cfg!(miri) { &[1, 5, 70] } else { &[1, 5, 70, 1000, chunk, 3 * chunk] };
    let (mut refused, mut done) = (0, 0);
    for &len in lengths {
        let x = vec![1; len];
        let flags: Vec<bool> = (0..len).map(|i| i % 7 == 5).collect();
        for identities in 0..12 {
            for by_flags in [false, true] {
                let mut y = vec![u32::MAX; len];
                let scan = scanner.scan(ByHand::new(identities)).exclusive();
                let outcome = match by_flags {
                    true => scan.by_flags(&flags).run_into(&x, &mut y),
                    false => scan.run_into(&x, &mut y),
                };
                match outcome {
                    Ok(()) => {
                        let mut sum = 0;
                        for (i, &y) in y.iter().enumerate() {
                            sum = if by_flags && flags[i] { 0 } else { sum };
                            assert_eq!(y, sum, "{len} elements, {identities} identities, element {i}");
                            sum += 1;
                        }
                        done += 1;
                    }
                    Err(Error::Plan(PlanError::NoIdentity { .. })) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
    assert!(refused > 0 && done > 0);
}

#[test]
fn a_panic_payload_that_panics_when_dropped_is_an_error() {
    let _limit = TimeLimit::seconds(600);
    let chunk = chunk_length::<ByHand>();
    let op = || ByHand { panics_at: 7, ..ByHand::new(usize::MAX) };
    let chunks = if cfg!(miri) { 2 } else { 12 };
    for threads in [1, 2, 4] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for every in [1, 3, 5] {
            let mut x = vec![1_u32; chunks * chunk];
            // Several threads panic: all but the first is dropped where a helper still has to leave.
            x.iter_mut().skip(chunk + 5).step_by(every * chunk).for_each(|x| *x = 7);
            let error = pool.install(|| Scanner::cpu().scan(op()).run(&x)).unwrap_err();
            assert!(matches!(&error, Error::OperatorPanicked { message, .. } if message == "no message"), "{error}");
        }
    }
    let scanner = Scanner::cpu();
    let reduce = || scanner.reduce(op());
    // In `combine`, and in `project`: of one element, of the initial value.
    for outcome in [reduce().run(&[1, 7]), reduce().run(&[7]), reduce().init(7).run(&[])] {
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::OperatorPanicked { .. }), "{error}");
    }
    let failure = laws::check(&op(), [1, 7, 3]).unwrap_err();
    assert!(matches!(failure, laws::Failure::Panicked { .. }), "{failure}");
}
