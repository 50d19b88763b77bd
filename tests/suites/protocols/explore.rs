//! Explores a model: every order of its threads' steps, and for each load every store that it may see.

use std::{
    any::Any,
    cell::Cell,
    slice,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use loom::model::Builder;
use scan_tests::extent::is_long;

/// Branches of one execution: choices of a thread, or of what a load sees. One that has more does not end.
const MAX_BRANCHES: usize = 4_000;

thread_local! {
    /// Vain polls of a wait after which an execution is not explored further. Threads of loom share it: they are
    /// coroutines of this one.
    static PATIENCE: Cell<usize> = const { Cell::new(1) };
}

/// The end of a vain poll, of which a wait has had so many before. `is_old` if there was a newer value to see.
///
/// Where two threads poll, there is no end to the orders in which they do so before the third one stores. But a vain
/// poll changes nothing: what follows is also explored where the thread polls later, and only then. So the rest of such
/// an execution runs in one order, in which each thread has its turn: if the thread still waits at its end, it hangs.
pub(crate) fn poll_again(vain_polls: &mut usize, is_old: bool) {
    *vain_polls += 1;
    if is_old || *vain_polls == PATIENCE.get() {
        loom::skip_branch();
    }
    loom::thread::yield_now();
}

/// How many switches from a thread that could go on an order has at the most.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Switches {
    /// As many as there can be.
    Any,
    /// So many in a quick run, and in a long run.
    Bounded(usize, usize),
}

impl Switches {
    fn bound(self) -> Option<usize> {
        match self {
            Switches::Any => None,
            Switches::Bounded(quick, long) => Some(if is_long() { long } else { quick }),
        }
    }
}

/// What is wrong with a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// A thread computes with a value that is stale, torn or of something else. What asserts that says [`VALUE`].
    Value,
    /// Two accesses to plain memory, one of them a write, have no order.
    Race,
    /// A thread waits for ever.
    Hang,
}

impl AsRef<[Wrong]> for Wrong {
    fn as_ref(&self) -> &[Wrong] {
        slice::from_ref(self)
    }
}

/// What an assertion of a model says of a value.
pub(crate) const VALUE: &str = "wrong value";

/// Runs a model in every order.
///
/// # Panics
///
/// If anything is wrong in any order.
pub(crate) fn every_order(switches: Switches, model: impl Fn() + Send + Sync + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    let counted = executions.clone();
    let mut builder = Builder::new();
    builder.preemption_bound = switches.bound();
    // A switch after a vain poll does not count: a thread that must wait does not use up the switches.
    PATIENCE.set(if builder.preemption_bound.is_some() { 2 } else { 1 });
    builder.max_branches = MAX_BRANCHES;
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        model();
    });
    println!("{} executions", executions.load(Relaxed));
}

/// Asserts that a model with a planted fault goes wrong in some order, and in which way: the first one that is found.
pub(crate) fn is_found(wrong: impl AsRef<[Wrong]>, switches: Switches, model: impl Fn() + Send + Sync + 'static) {
    // A thread of its own, because loom's state is the thread's, and is not put in order after a panic.
    let result = thread::spawn(move || every_order(switches, model)).join();
    let message = match &result {
        Ok(()) => panic!("not found: a fault that makes a model go wrong ({:?})", wrong.as_ref()),
        Err(payload) => message_of(payload.as_ref()),
    };
    let found = if message.contains("Causality violation") {
        Wrong::Race
    } else if message.contains("exceeded maximum number of branches") {
        Wrong::Hang
    } else if message.contains(VALUE) {
        Wrong::Value
    } else {
        panic!("the model itself fails: {message}");
    };
    assert!(wrong.as_ref().contains(&found), "{found:?}, not {:?}: {message}", wrong.as_ref());
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Mutex};

    use loom::sync::atomic::AtomicU32;

    use super::*;

    /// A chain of threads that wait for each other, and what each sees of places that nothing orders.
    fn outcomes_of_a_chain() -> BTreeSet<Vec<u32>> {
        let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
        let seen = outcomes.clone();
        every_order(Switches::Any, move || {
            let places: Arc<[[AtomicU32; 2]; 2]> = Arc::default();
            let follow = |links: usize| {
                let places = places.clone();
                loom::thread::spawn(move || {
                    let look = |link: usize| {
                        let mut vain_polls = 0;
                        while places[link][0].load(Relaxed) == 0 {
                            poll_again(&mut vain_polls, false);
                        }
                        places[link][1].load(Relaxed)
                    };
                    let looked: Vec<_> = (0..links).map(look).collect();
                    if links == 1 {
                        places[1][1].store(1, Relaxed);
                        places[1][0].store(1, Relaxed);
                    }
                    looked
                })
            };
            let followers = [follow(1), follow(2)];
            places[0][1].store(1, Relaxed);
            places[0][0].store(1, Relaxed);
            let looked = followers.into_iter().flat_map(|follower| follower.join().unwrap()).collect();
            seen.lock().unwrap().insert(looked);
        });
        outcomes.lock().unwrap().clone()
    }

    #[test]
    fn executions_that_are_not_explored_further_hide_no_outcome() {
        assert_eq!(outcomes_of_a_chain().len(), 8, "each thread sees each of three places written or not");
    }

    #[test]
    #[should_panic = "not found"]
    fn a_fault_that_changes_nothing_is_not_found() {
        is_found(Wrong::Value, Switches::Any, || ());
    }

    #[test]
    #[should_panic = "the model itself fails"]
    fn a_model_that_fails_otherwise_is_no_find() {
        is_found(Wrong::Value, Switches::Any, || panic!("another assertion"));
    }
}
