//! What happens before what: the knowledge that threads have of each other's past.
//!
//! All threads share one clock, which moves at every synchronisation. A thread's knowledge is a set of statements "all
//! that happened in this block (this warp, this thread) up to this time is before me". A barrier makes such a statement
//! about a block, a warp instruction about a warp, and a release passes on all that a thread knows to whoever acquires.
//! An access that the knowledge does not cover is unordered: a race, if one of the two is a write.

use std::rc::Rc;

/// Whose past is known: blocks come first, then warps, then threads. One number, because it is compared more often than anything
/// else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Whose(u64);

impl Whose {
    fn block(number: u32) -> Self {
        Whose(number.into())
    }

    fn warp(number: u32) -> Self {
        Whose(1 << 32 | u64::from(number))
    }

    fn thread(number: u32) -> Self {
        Whose(2 << 32 | u64::from(number))
    }
}

/// A set of statements, sorted by whose past they are about.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    known: Vec<(Whose, u32)>,
}

/// A thread as the order of events sees it: numbered through the grid, and so is its warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Who {
    pub(super) thread: u32,
    pub(super) warp: u32,
    pub(super) block: u32,
}

impl Knowledge {
    /// All that `who` has done up to `time`, what its warp and its block had done when they last came together, and all
    /// that it knew of others.
    pub(super) fn of(who: Who, time: u32, warp_time: u32, block_time: u32, others: Option<&Knowledge>) -> Knowledge {
        let own = Knowledge {
            known: vec![
                (Whose::block(who.block), block_time),
                (Whose::warp(who.warp), warp_time),
                (Whose::thread(who.thread), time),
            ],
        };
        match others {
            Some(others) => own.joined(others),
            None => own,
        }
    }

    /// All that each of these threads has done up to a time.
    pub(super) fn of_threads(mut threads: Vec<(u32, u32)>) -> Knowledge {
        threads.sort_unstable();
        Knowledge { known: threads.into_iter().map(|(thread, time)| (Whose::thread(thread), time)).collect() }
    }

    pub(super) fn joined(&self, other: &Knowledge) -> Knowledge {
        let (mut left, mut right) = (self.known.iter().copied().peekable(), other.known.iter().copied().peekable());
        let mut known = Vec::with_capacity(self.known.len().max(other.known.len()) + 3);
        loop {
            known.push(match (left.peek(), right.peek()) {
                (None, None) => return Knowledge { known },
                (Some(&next), None) => {
                    left.next();
                    next
                }
                (None, Some(&next)) => {
                    right.next();
                    next
                }
                (Some(&a), Some(&b)) => {
                    if a.0 <= b.0 {
                        left.next();
                    }
                    if b.0 <= a.0 {
                        right.next();
                    }
                    match a.0.cmp(&b.0) {
                        std::cmp::Ordering::Less => a,
                        std::cmp::Ordering::Greater => b,
                        std::cmp::Ordering::Equal => (a.0, a.1.max(b.1)),
                    }
                }
            });
        }
    }

    fn time_of(&self, whose: Whose) -> u32 {
        self.known.binary_search_by(|(other, _)| other.cmp(&whose)).map_or(0, |index| self.known[index].1)
    }

    /// Whether all that `who` did up to `time` is known.
    pub(super) fn covers(&self, who: Who, time: u32) -> bool {
        self.time_of(Whose::block(who.block)) >= time
            || self.time_of(Whose::thread(who.thread)) >= time
            || self.time_of(Whose::warp(who.warp)) >= time
    }

    /// Whether this says nothing that `other` does not say. Cheap, and allowed to be wrong towards "no".
    fn is_part_of(&self, other: &Knowledge) -> bool {
        // Both are sorted, and often of the same threads: what is looked for is likely to come next.
        let mut rest = other.known.as_slice();
        let says = |&(whose, time): &(Whose, u32)| {
            let next = rest.first().is_some_and(|(other, _)| *other >= whose);
            rest = if next { rest } else { &rest[rest.partition_point(|(other, _)| *other < whose)..] };
            rest.first().is_some_and(|&(other, known)| other == whose && known >= time)
        };
        self.known.len() <= other.known.len() && self.known.iter().all(says)
    }
}

/// Adds what is learnt to what is known; shares where it can.
pub(super) fn learn(known: &mut Option<Rc<Knowledge>>, learnt: &Rc<Knowledge>) {
    match known {
        None => *known = Some(learnt.clone()),
        Some(known) if Rc::ptr_eq(known, learnt) || learnt.is_part_of(known) => {}
        Some(known) => *known = Rc::new(known.joined(learnt)),
    }
}
