//! Work for one thread: each item once, and no thread where there is no item.
//!
//! Every function is called with the queue locked. The thread waits for nothing: it ends when no item is left.

use std::collections::VecDeque;

/// Items with their keys, in order.
#[derive(Debug)]
pub(super) struct Queue<K, T> {
    waiting: VecDeque<(K, T)>,
    /// The key of the item that the thread works on.
    taken: Option<K>,
    /// Whether there is a thread that will ask for the next item.
    has_thread: bool,
}

impl<K: Copy + PartialEq, T> Queue<K, T> {
    pub(super) const fn new() -> Self {
        Queue { waiting: VecDeque::new(), taken: None, has_thread: false }
    }

    /// Whether an item with this key waits, or is being worked on.
    pub(super) fn has(&self, key: &K) -> bool {
        self.taken.as_ref() == Some(key) || self.waiting.iter().any(|(waiting, _)| waiting == key)
    }

    /// Adds an item, unless there is one with its key. Returns whether the caller is to begin a thread, or to
    /// [clear](Queue::clear) the queue if it cannot.
    #[must_use]
    pub(super) fn add(&mut self, key: K, item: T) -> bool {
        if !self.has(&key) {
            self.waiting.push_back((key, item));
        }
        // An item is only there where there is a thread.
        !std::mem::replace(&mut self.has_thread, true)
    }

    /// The next item for the thread, which has done the one before. It must end if there is none.
    pub(super) fn next(&mut self) -> Option<(K, T)> {
        let next = self.waiting.pop_front();
        self.taken = next.as_ref().map(|(key, _)| *key);
        self.has_thread = next.is_some();
        next
    }

    /// Forgets all items: no thread could be begun.
    pub(super) fn clear(&mut self) {
        *self = Queue::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_waits_once_and_not_while_it_is_worked_on() {
        let mut queue = Queue::new();
        assert!(queue.add(1, 'a') && !queue.add(2, 'b') && !queue.add(1, 'c'));
        assert_eq!(queue.next(), Some((1, 'a')));
        assert!(!queue.add(1, 'd') && queue.has(&1) && queue.has(&2));
        assert_eq!(queue.next(), Some((2, 'b')));
        assert!(!queue.has(&1) && !queue.add(1, 'e'));
        assert_eq!((queue.next(), queue.next()), (Some((1, 'e')), None));
        // The thread has ended.
        assert!(!queue.has(&1) && queue.add(3, 'f'));
    }
}
