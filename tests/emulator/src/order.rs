//! What happens before what: the knowledge that threads have of each other's past.
//!
//! All threads share one clock, which moves at every synchronisation. A thread's knowledge is a set of statements "all
//! that happened in this block (this warp, this thread) up to this time is before me". A barrier makes such a statement
//! about a block, a warp instruction about a warp, and a release passes on all that a thread knows to whoever acquires.
//! An access that the knowledge does not cover is unordered: a race, if one of the two is a write.

use std::rc::Rc;

/// Threads of a warp.
const WARP: u32 = 32;

/// Bits of a number within a block: the lane's lie below the warp's.
const LANE_BITS: u32 = 6;

/// Whose past is known: a block, then each of its warps, followed by the warp's threads. One number, because it is compared more
/// often than anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Whose(u64);

impl Whose {
    fn block(who: Who) -> Self {
        Whose(u64::from(who.block) << 32)
    }

    fn warp(who: Who) -> Self {
        Whose(Whose::block(who).0 | u64::from(who.place / WARP + 1) << LANE_BITS)
    }

    fn thread(who: Who) -> Self {
        Whose(Whose::warp(who).0 + u64::from(who.place % WARP + 1))
    }

    fn block_of(self) -> u64 {
        self.0 >> 32
    }

    fn warp_of(self) -> u64 {
        self.0 >> LANE_BITS
    }

    fn is_block(self) -> bool {
        self.0 as u32 == 0
    }

    fn is_warp(self) -> bool {
        self.0 & ((1 << LANE_BITS) - 1) == 0
    }
}

/// A set of statements, sorted by whose past they are about. None says what another one says of more threads.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    known: Vec<(Whose, u32)>,
}

/// A thread as the order of events sees it: its number in the grid, and where that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Who {
    pub(super) thread: u32,
    pub(super) block: u32,
    /// Its number in the block.
    pub(super) place: u32,
}

impl Who {
    /// The thread with this number in a grid of blocks with so many threads.
    pub(super) fn new(thread: u32, threads_of_block: u32) -> Self {
        Who { thread, block: thread / threads_of_block, place: thread % threads_of_block }
    }

    /// Whether both are threads of one warp.
    pub(super) fn is_in_warp_of(self, other: Who) -> bool {
        self.block == other.block && self.place / WARP == other.place / WARP
    }
}

/// The statements that have passed, in their order, as far as they are about a thread that comes next.
#[derive(Default)]
struct Passed {
    block: (u64, u32),
    warp: (u64, u32),
    last: (u64, u32),
}

impl Passed {
    fn pass(&mut self, (whose, time): (Whose, u32)) {
        if whose.is_block() {
            self.block = (whose.block_of(), time);
        } else if whose.is_warp() {
            self.warp = (whose.warp_of(), time);
        }
        self.last = (whose.0, time);
    }

    /// Whether they say all that the next statement does.
    fn say(&self, (whose, time): (Whose, u32)) -> bool {
        (self.block.0 == whose.block_of() && self.block.1 >= time)
            || (self.warp.0 == whose.warp_of() && self.warp.1 >= time && !whose.is_block())
            || (self.last.0 == whose.0 && self.last.1 >= time)
    }
}

impl Knowledge {
    /// All that `who` has done up to `time`, what its warp and its block had done when they last came together, and all
    /// that it knew of others. Whatever happened before `launch_time` is known to all.
    pub(super) fn of(who: Who, times: Times, launch_time: u32, others: Option<&Knowledge>) -> Knowledge {
        let statements =
            [(Whose::block(who), times.block), (Whose::warp(who), times.warp), (Whose::thread(who), times.thread)];
        let others = others.map_or(&[][..], |others| &others.known);
        Knowledge::merged(statements.into_iter().filter(|(_, time)| *time > launch_time), others.iter().copied())
    }

    /// All that each of these threads has done up to a time.
    pub(super) fn of_threads(threads: Vec<(Who, u32)>) -> Knowledge {
        let mut known: Vec<_> = threads.into_iter().map(|(who, time)| (Whose::thread(who), time)).collect();
        known.sort_unstable();
        Knowledge { known }
    }

    pub(super) fn joined(&self, other: &Knowledge) -> Knowledge {
        Knowledge::merged(self.known.iter().copied(), other.known.iter().copied())
    }

    /// The statements of two sorted lists, less those that others among them make needless.
    fn merged(
        left: impl Iterator<Item = (Whose, u32)>,
        right: impl ExactSizeIterator<Item = (Whose, u32)>,
    ) -> Knowledge {
        let mut known = Vec::with_capacity(right.len() + 3);
        let mut passed = Passed::default();
        let mut add = |statement| {
            if !passed.say(statement) {
                passed.pass(statement);
                known.push(statement);
            }
        };
        let (mut left, mut right) = (left.peekable(), right.peekable());
        while let (Some(&a), Some(&b)) = (left.peek(), right.peek()) {
            match a.0.cmp(&b.0) {
                std::cmp::Ordering::Less => left.next().into_iter().for_each(&mut add),
                std::cmp::Ordering::Greater => right.next().into_iter().for_each(&mut add),
                std::cmp::Ordering::Equal => {
                    add((a.0, a.1.max(b.1)));
                    left.next();
                    right.next();
                }
            }
        }
        left.for_each(&mut add);
        right.for_each(&mut add);
        Knowledge { known }
    }

    fn time_of(&self, whose: Whose) -> u32 {
        self.known.binary_search_by(|(other, _)| other.cmp(&whose)).map_or(0, |index| self.known[index].1)
    }

    /// Whether all that `who` did up to `time` is known.
    pub(super) fn covers(&self, who: Who, time: u32) -> bool {
        self.time_of(Whose::thread(who)) >= time
            || self.time_of(Whose::warp(who)) >= time
            || self.time_of(Whose::block(who)) >= time
    }

    /// Whether this says nothing that `other` does not say.
    fn is_part_of(&self, other: &Knowledge) -> bool {
        let mut passed = Passed::default();
        let mut rest = other.known.iter().copied().peekable();
        self.known.iter().all(|&statement| {
            while let Some(next) = rest.next_if(|next| next.0 <= statement.0) {
                passed.pass(next);
            }
            passed.say(statement)
        })
    }
}

/// Up to when a thread knows what it has done, its warp, and its block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) thread: u32,
    pub(super) warp: u32,
    pub(super) block: u32,
}

/// Adds what is learnt to what is known; shares where it can.
pub(super) fn learn(known: &mut Option<Rc<Knowledge>>, learnt: &Rc<Knowledge>) {
    match known {
        None => *known = Some(learnt.clone()),
        Some(known) if Rc::ptr_eq(known, learnt) || learnt.is_part_of(known) => {}
        Some(known) => *known = Rc::new(known.joined(learnt)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    const THREADS: u32 = 70;

    fn random_knowledge(random: &mut Random) -> Vec<(Who, Times)> {
        (0..random.below(9)).map(|_| (any(random), [(); 3].map(|()| random.below(12) as u32))).map(times).collect()
    }

    fn any(random: &mut Random) -> Who {
        Who::new(random.below(3 * THREADS as usize) as u32, THREADS)
    }

    fn times((who, [thread, warp, block]): (Who, [u32; 3])) -> (Who, Times) {
        (who, Times { thread, warp, block })
    }

    /// What statements say of a thread, without any order or thrift.
    fn say(statements: &[(Who, Times)], who: Who, launch_time: u32, time: u32) -> bool {
        statements.iter().any(|(other, times)| {
            let says = |about: bool, until: u32| about && until > launch_time && until >= time;
            says(other.thread == who.thread, times.thread)
                || says(who.is_in_warp_of(*other), times.warp)
                || says(other.block == who.block, times.block)
        })
    }

    #[test]
    fn omitted_knowledge_is_still_implied() {
        let mut random = Random::new(1);
        let (mut parts, mut others) = (0, 0);
        for _ in 0..3_000 {
            let launch_time = random.below(3) as u32;
            let [left, right] = [(); 2].map(|()| random_knowledge(&mut random));
            let of = |statements: &[(Who, Times)]| {
                statements.iter().fold(Knowledge::default(), |known, (who, times)| {
                    Knowledge::of(*who, *times, launch_time, Some(&known))
                })
            };
            let (known, other) = (of(&left), of(&right));
            let joined = known.joined(&other);
            assert!(joined.known.is_sorted_by(|a, b| a.0 < b.0));
            assert!(known.is_part_of(&joined) && other.is_part_of(&joined));
            let both = [left.as_slice(), &right].concat();
            let mut is_part = true;
            for thread in 0..3 * THREADS {
                let who = Who::new(thread, THREADS);
                for time in launch_time + 1..13 {
                    assert_eq!(joined.covers(who, time), say(&both, who, launch_time, time), "{who:?} at {time}");
                    is_part &= other.covers(who, time) || !known.covers(who, time);
                }
            }
            // Not the other way round: statements of all threads of a warp are none of the warp itself.
            assert!(is_part || !known.is_part_of(&other));
            *if known.is_part_of(&other) { &mut parts } else { &mut others } += 1;
        }
        assert!(parts > 300 && others > 300, "{parts} and {others}");
    }
}
