//! The queue under every order of the threads' steps, by `loom`.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use loom::{
    sync::{Arc, Mutex, atomic::AtomicUsize, atomic::Ordering::Relaxed},
    thread,
};

use super::queue::Queue;

/// The queue of one model, and how often each of two items has been done.
#[derive(Clone)]
struct Shared(Arc<Parts>);

struct Parts {
    queue: Mutex<Queue<usize, usize>>,
    done: [AtomicUsize; 2],
    /// How many threads work.
    threads: AtomicUsize,
}

impl Shared {
    fn new() -> Self {
        let (queue, done) = (Mutex::new(Queue::new()), [0, 1].map(|_| AtomicUsize::new(0)));
        Shared(Arc::new(Parts { queue, done, threads: AtomicUsize::new(0) }))
    }

    /// Adds an item. `begins` says whether a thread can be begun; without one nothing is left.
    fn add(&self, key: usize, begins: bool) {
        let Parts { queue, .. } = &*self.0;
        if queue.lock().unwrap().add(key, key) {
            if begins {
                let of_thread = self.clone();
                thread::spawn(move || of_thread.work()).join().unwrap();
            } else {
                queue.lock().unwrap().clear();
            }
        }
    }

    fn work(&self) {
        let Parts { queue, done, threads } = &*self.0;
        assert_eq!(threads.fetch_add(1, Relaxed), 0, "two threads at once");
        while let Some((key, item)) = {
            let mut queue = queue.lock().unwrap();
            let next = queue.next();
            if next.is_none() {
                threads.fetch_sub(1, Relaxed);
            }
            next
        } {
            assert!(queue.lock().unwrap().has(&key));
            done[item].fetch_add(1, Relaxed);
        }
    }
}

#[test]
fn every_item_is_done_and_one_thread_works_at_a_time() {
    loom::model(|| {
        let shared = Shared::new();
        let other = shared.clone();
        let adds = thread::spawn(move || other.add(0, true));
        shared.add(1, true);
        adds.join().unwrap();
        let Parts { queue, done, .. } = &*shared.0;
        for (key, done) in done.iter().enumerate() {
            assert!(done.load(Relaxed) == 1 && !queue.lock().unwrap().has(&key), "item {key}");
        }
    });
}

#[test]
fn without_a_thread_no_item_stays() {
    loom::model(|| {
        let shared = Shared::new();
        let other = shared.clone();
        let adds = thread::spawn(move || other.add(0, false));
        shared.add(1, false);
        adds.join().unwrap();
        assert!((0..2).all(|key| !shared.0.queue.lock().unwrap().has(&key)));
    });
}
