//! The line and the gate under every order of the threads' steps that the memory model allows, by `loom`.
//!
//! The cells that model carry, slots and outputs fail the test if two threads access one without an order between them.
//! A thread that waits for ever fails it, too.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use loom::{cell::UnsafeCell, model::Builder, sync::Arc, thread};

use super::Chunks;
use crate::primitives::modelled as primitives;
use gate::{Closing, Gate};
use line::Line;

#[path = "gate.rs"]
#[allow(clippy::duplicate_mod, reason = "once more with the primitives of loom")]
mod gate;
#[path = "line.rs"]
#[allow(clippy::duplicate_mod, reason = "once more with the primitives of loom")]
#[allow(dead_code, reason = "what measures time is not modelled")]
mod line;

/// The contents of a slot of a chunk of one element: only the number of chunks before it counts.
#[derive(Clone, Copy)]
enum Known {
    Nothing,
    Fold,
    After(usize),
    Before(usize),
}

/// Chunks of one element, of which each must be done once, after those before it have been joined in order.
struct Model {
    at_once: bool,
    /// The chunk in which the operator panics, if any.
    panics_at: Option<usize>,
    /// How many chunks are before.
    carry: UnsafeCell<usize>,
    slots: Vec<UnsafeCell<Known>>,
    /// How often each chunk has been done.
    done: Vec<UnsafeCell<usize>>,
}

// SAFETY: loom fails where two threads touch a cell at the same time.
unsafe impl Sync for Model {}

// SAFETY of the blocks below: loom fails where another thread touches the cell at the same time.
impl Model {
    /// Leaked, because the threads of loom cannot borrow.
    fn new(count: usize, at_once: bool, panics_at: Option<usize>) -> &'static Self {
        let slots = (0..count).map(|_| UnsafeCell::new(Known::Nothing)).collect();
        let done = (0..count).map(|_| UnsafeCell::new(0)).collect();
        Box::leak(Box::new(Model { at_once, panics_at, carry: UnsafeCell::new(0), slots, done }))
    }

    fn line(&'static self) -> Line<'static> {
        Line::new(self, self.slots.len(), 1, 0, self.at_once)
    }

    fn carry(&self) -> usize {
        // SAFETY: see above.
        self.carry.with(|carry| unsafe { *carry })
    }

    fn slot(&self, index: usize) -> Known {
        // SAFETY: see above.
        self.slots[index].with(|slot| unsafe { *slot })
    }

    fn set_slot(&self, index: usize, known: Known) {
        // SAFETY: see above.
        self.slots[index].with_mut(|slot| unsafe { *slot = known });
    }

    fn apply(&self, index: usize) {
        if self.panics_at == Some(index) {
            resume_unwind(Box::new(index));
        }
    }

    fn scan(&self, index: usize, before: usize) {
        assert_eq!(before, index, "scanned after other chunks than those before");
        self.apply(index);
        // SAFETY: see above.
        self.done[index].with_mut(|done| unsafe { *done += 1 });
    }

    fn assert_done(&self) {
        assert_eq!(self.carry(), self.slots.len());
        for done in &self.done {
            // SAFETY: see above.
            assert_eq!(done.with(|done| unsafe { *done }), 1);
        }
    }
}

impl Chunks for Model {
    fn at_once(&self, _: usize) -> bool {
        self.at_once
    }

    unsafe fn gains_by(&self, _: usize, _: Range<usize>, _: f64) -> bool {
        true
    }

    fn is_stopped(&self) -> bool {
        false
    }

    fn make_slots(&mut self, _: usize) {}

    unsafe fn step(&self, _: Range<usize>) {
        unreachable!("the chunks that one thread does alone are not modelled");
    }

    unsafe fn step_to_end(&self, _: Range<usize>) -> bool {
        false
    }

    unsafe fn step_into_slot(&self, index: usize, _: Range<usize>) {
        self.scan(index, self.carry());
        self.set_slot(index, Known::After(index + 1));
    }

    unsafe fn fold(&self, index: usize, _: Range<usize>) {
        self.apply(index);
        self.set_slot(index, Known::Fold);
    }

    unsafe fn join(&self, index: usize) {
        let before = self.carry();
        assert_eq!(before, index, "joined out of order");
        let after = match self.slot(index) {
            Known::Fold => before + 1,
            Known::After(after) => after,
            Known::Nothing | Known::Before(_) => unreachable!("joined without a fold"),
        };
        // SAFETY: see above.
        self.carry.with_mut(|carry| unsafe { *carry = after });
        self.set_slot(index, Known::Before(before));
    }

    unsafe fn finish(&self, index: usize, _: Range<usize>) {
        let Known::Before(before) = self.slot(index) else { unreachable!("finished before it was joined") };
        self.scan(index, before);
    }
}

/// Tries every order with at most `switches` switches from a thread that could go on.
fn explore(switches: usize, test: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(test);
}

/// Two threads work at `count` chunks.
fn two_threads(count: usize, at_once: bool) {
    let model = Model::new(count, at_once, None);
    let line = Arc::new(model.line());
    let helped = line.clone();
    let helper = thread::spawn(move || helped.work(|| false));
    line.work(|| false);
    helper.join().unwrap();
    model.assert_done();
}

#[test]
fn every_chunk_is_done_once_in_order() {
    for at_once in [true, false] {
        explore(3, move || two_threads(2, at_once));
        explore(2, move || two_threads(3, at_once));
    }
}

#[test]
fn helpers_that_are_sent_away_leave_no_chunk_undone() {
    explore(3, || {
        let model = Model::new(3, false, None);
        let line = Arc::new(model.line());
        let helped = line.clone();
        let helper = thread::spawn(move || helped.work(|| helped.is_for_one()));
        let mut chunks = 0;
        line.work(|| {
            chunks += 1;
            if chunks == 2 {
                line.leave_to_one();
            }
            false
        });
        helper.join().unwrap();
        model.assert_done();
    });
}

#[test]
fn no_thread_waits_for_one_that_panicked() {
    for panics_at in 0..3 {
        explore(2, move || {
            let line = Arc::new(Model::new(3, false, Some(panics_at)).line());
            let helped = line.clone();
            let panicked = |line: &Line<'_>| catch_unwind(AssertUnwindSafe(|| line.work(|| false))).is_err();
            let helper = thread::spawn(move || panicked(&helped));
            let here = panicked(&line);
            assert!(here | helper.join().unwrap());
        });
    }
}

#[test]
fn data_behind_the_gate_is_dropped_after_all_have_left() {
    explore(3, || {
        let shared = Arc::new((Gate::new(), UnsafeCell::new(0)));
        let helpers = [0, 1].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || {
                if shared.0.enter() {
                    // SAFETY: see above.
                    shared.1.with(|behind| unsafe { assert_eq!(*behind, 0) });
                    shared.0.leave();
                }
            })
        });
        drop(Closing(&shared.0));
        // SAFETY: see above.
        shared.1.with_mut(|behind| unsafe { *behind = 1 });
        helpers.into_iter().for_each(|helper| helper.join().unwrap());
    });
}
