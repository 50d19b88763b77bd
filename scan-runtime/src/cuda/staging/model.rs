//! The pieces of a shared copy under every order of the threads' steps that the memory model allows, by `loom`.

use std::array;

use loom::{cell::UnsafeCell, sync::Arc, thread};

use crate::primitives::modelled as primitives;
use pieces::Pieces;

#[path = "pieces.rs"]
#[allow(clippy::duplicate_mod, reason = "once more with the primitives of loom")]
#[allow(dead_code, reason = "nobody asks how many pieces there are")]
mod pieces;

#[test]
fn pieces_are_copied_once_and_visible_to_waiters() {
    loom::model(|| {
        let shared: Arc<(Pieces, [UnsafeCell<u32>; 3])> =
            Arc::new((Pieces::new(3), array::from_fn(|_| UnsafeCell::new(0))));
        let work = |(pieces, places): &(Pieces, [UnsafeCell<u32>; 3])| {
            // SAFETY: loom fails where another thread touches the place at the same time.
            pieces.work(|piece| places[piece].with_mut(|place| unsafe { *place += 1 }));
        };
        let other = shared.clone();
        // The helper is not waited for: it may still find no piece when the copy is done.
        thread::spawn(move || work(&other));
        work(&shared);
        shared.0.wait();
        for place in &shared.1 {
            // SAFETY: as above.
            assert_eq!(place.with(|place| unsafe { *place }), 1);
        }
    });
}
