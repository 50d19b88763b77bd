//! Values that are made once.

use std::sync::{Arc, Mutex, OnceLock};

use super::lock;
use crate::Error;

/// A value that several threads may need at once. The first one makes it while the others wait. Once it is made, access
/// takes no lock. After a failure the next thread tries again.
#[derive(Debug)]
pub(super) struct Made<T> {
    value: OnceLock<Arc<T>>,
    making: Mutex<()>,
}

impl<T> Default for Made<T> {
    fn default() -> Self {
        Made { value: OnceLock::new(), making: Mutex::new(()) }
    }
}

impl<T> Made<T> {
    /// The value, if it has been made.
    pub(super) fn get(&self) -> Option<&Arc<T>> {
        self.value.get()
    }

    /// The value, made by `make` if there is none.
    pub(super) fn get_or_make(&self, make: impl FnOnce() -> Result<T, Error>) -> Result<&Arc<T>, Error> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let _making = lock(&self.making);
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.value.get_or_init(|| Arc::new(value)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use std::{
        sync::{
            Barrier,
            atomic::{AtomicU32, Ordering},
        },
        thread,
    };

    use super::*;

    #[test]
    fn concurrent_callers_make_a_value_once() {
        let (slot, made, together) = (Made::default(), AtomicU32::new(0), Barrier::new(8));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    together.wait();
                    let value = slot.get_or_make(|| {
                        thread::yield_now();
                        Ok(made.fetch_add(1, Ordering::Relaxed))
                    });
                    assert_eq!(**value.unwrap(), 0);
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn after_a_failure_the_next_caller_makes_the_value() {
        let slot = Made::default();
        assert!(slot.get_or_make(|| Err(Error::EmptyInput)).is_err());
        assert!(slot.get().is_none());
        assert_eq!(**slot.get_or_make(|| Ok(7)).unwrap(), 7);
        assert_eq!(**slot.get_or_make(|| Ok(8)).unwrap(), 7);
    }
}
