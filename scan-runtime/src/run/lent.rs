//! Memory that a caller lends to a run, and to its clones.

use std::{marker::PhantomData, ptr::NonNull};

/// An exclusive borrow that a run shares with its clones. It stays on one thread, where a run ends before another one
/// begins.
pub(crate) struct Lent<'a, T: ?Sized>(NonNull<T>, PhantomData<&'a mut ()>);

impl<T: ?Sized> Clone for Lent<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Lent<'_, T> {}

impl<'a, T: ?Sized + 'a> Lent<'a, T> {
    pub(crate) fn new(memory: &'a mut T) -> Self {
        Lent(NonNull::from(memory), PhantomData)
    }

    /// The memory.
    ///
    /// # Safety
    ///
    /// What another call has given, of a clone too, is not used any more.
    #[allow(clippy::mut_from_ref, reason = "it is borrowed exclusively as long as this is there")]
    pub(crate) unsafe fn memory(&self) -> &mut T {
        // SAFETY: it is borrowed exclusively, and the caller vouches for the other calls.
        unsafe { &mut *self.0.as_ptr() }
    }
}
