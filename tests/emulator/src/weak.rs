//! What atomic loads may see. The hardware does not show one thread's stores to another in order, unless they are ordered
//! by release and acquire; a load may see an older value than the last one stored. So may a load here, as long as nothing
//! that the thread knows is newer:
//!
//! - not a value older than a store that is ordered before the load
//! - not a value older than one which the thread itself, or a load ordered before this one, has seen

use std::{collections::VecDeque, rc::Rc};

use super::{
    memory::View,
    order::{Knowledge, Who},
    random::Random,
};

/// How many stores to a place are remembered.
const REMEMBERED: usize = 6;

/// How many loads are remembered; what one of more has seen is then what all see at least.
const MAX_LOADS: usize = 64;

/// Once in how many loads an older value is shown, where one may be.
const STALE_ONCE_IN: usize = 3;

/// The stores to one place, and the loads that saw them.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// The number of the first store that is remembered.
    first: u64,
    stores: VecDeque<Store>,
    /// Who has seen which store, and when.
    loads: Vec<(Who, u32, u64)>,
}

/// A value that was stored.
#[derive(Clone, Debug)]
pub(super) struct Store {
    pub(super) bytes: Vec<u8>,
    /// Who stored it and when; `None` for what stood there before the first atomic store.
    by: Option<(Who, u32)>,
    /// What an acquiring load of it learns.
    pub(super) release: Option<Rc<Knowledge>>,
}

impl History {
    /// Begins with what stands there now.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let store = Store { bytes: bytes.to_vec(), by: None, release: None };
        History { first: 0, stores: VecDeque::from([store]), loads: Vec::new() }
    }

    /// Whether its last value still stands in memory, and no other access has changed it.
    pub(super) fn is_current(&self, bytes: &[u8]) -> bool {
        self.stores.back().is_some_and(|store| store.bytes == bytes)
    }

    pub(super) fn last(&self) -> Option<&Store> {
        self.stores.back()
    }

    pub(super) fn store(&mut self, bytes: &[u8], release: Option<Rc<Knowledge>>, view: &View<'_>) {
        if self.stores.len() == REMEMBERED {
            self.stores.pop_front();
            self.first += 1;
        }
        self.stores.push_back(Store { bytes: bytes.to_vec(), by: Some((view.who, view.times.thread)), release });
    }

    /// One of the stores that the thread may see.
    pub(super) fn load(&mut self, view: &View<'_>, random: &mut Random) -> Option<&Store> {
        let last = self.first + self.stores.len() as u64 - 1;
        let is_known = |who: Who, time: u32| who == view.who || view.is_after_other(who, time);
        let known_store =
            self.stores.iter().rposition(|store| store.by.is_none_or(|(who, time)| is_known(who, time))).unwrap_or(0);
        let mut oldest = self.first + known_store as u64;
        for &(who, time, number) in &self.loads {
            // Whether a load is known takes longer to find out than whether it says anything new.
            if number > oldest && is_known(who, time) {
                oldest = number;
            }
        }
        if self.loads.len() >= MAX_LOADS {
            // What this load will imply need not be remembered beside it.
            self.loads.retain(|&(who, time, number)| number > oldest || !is_known(who, time));
        }
        if self.loads.len() >= MAX_LOADS {
            oldest = self.loads.drain(..).map(|(_, _, number)| number).fold(oldest, u64::max);
            self.stores.drain(..(oldest - self.first) as usize);
            self.first = oldest;
        }
        let number = match random.one_in(STALE_ONCE_IN) {
            true => oldest + random.below((last - oldest + 1) as usize) as u64,
            false => last,
        };
        let load = (view.who, view.times.thread, number);
        // What a thread has seen, it sees at least from then on.
        match self.loads.iter_mut().find(|(who, ..)| *who == view.who) {
            Some(earlier) => *earlier = load,
            None => self.loads.push(load),
        }
        self.stores.get((number - self.first) as usize)
    }
}
