//! Arrays in page-locked memory of the host.

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

#[cfg(feature = "cuda")]
use crate::cuda::LockedMemory;
use crate::{Error, ScanElement, Scanner, room::room};

/// An array in host memory that a GPU copies at the speed of the bus: its pages are locked. Where the scanner has no GPU,
/// it lies in ordinary memory, so the same program runs on both.
///
/// A slice of ordinary memory is first copied to page-locked memory of the scanner, by threads of the host, and results go
/// back in the same way. An array of this type is read and written by the GPU directly. A call takes it like a vector, as an
/// input, an output, flags, keys or any other array over host memory, and so it does a slice of it. Its length does not
/// change.
///
/// To lock memory takes longer than to scan it, some 0.2 to 0.5 ms for each MiB, and the system has less memory for
/// everything else: make the arrays once, and use them for many calls. To free one can wait for the work of the device.
///
/// The side that [`Scanner::new`] chooses for a call depends on this type: more calls take less time on the GPU.
/// [`HostMemory::OnDevice`](crate::HostMemory::OnDevice) has all of them run there.
///
/// ```
/// use scan_runtime::{PageLocked, Scanner, ops};
///
/// let scanner = Scanner::new()?;
/// let mut samples = PageLocked::filled(&scanner, 0_i32, 1000)?;
/// let mut sums = PageLocked::filled(&scanner, 0, samples.len())?;
/// let sum = scanner.scan(ops::sum());
/// for block in 1..=3 {
///     samples.fill(block); // as a file or a device would
///     sum.run_into(&samples, &mut sums)?;
///     assert_eq!(sums[999], 1000 * block);
/// }
/// # Ok::<(), scan_runtime::Error>(())
/// ```
pub struct PageLocked<T> {
    items: Items<T>,
}

enum Items<T> {
    Ordinary(Vec<T>),
    #[cfg(feature = "cuda")]
    Locked(Locked<T>),
}

/// `len` values of the type, in memory that belongs to them.
#[cfg(feature = "cuda")]
struct Locked<T> {
    memory: LockedMemory,
    len: usize,
    of: std::marker::PhantomData<T>,
}

impl<T: ScanElement> PageLocked<T> {
    /// An array of `len` times this value, for calls of this scanner.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfHostMemory`] if there is not enough memory, or if no more of it can be locked, and
    /// [`Error::Driver`].
    pub fn filled(scanner: &Scanner, value: T, len: usize) -> Result<Self, Error> {
        Self::of(scanner, std::iter::repeat_n(value, len))
    }

    /// A copy of a slice, for calls of this scanner.
    ///
    /// # Errors
    ///
    /// As [`filled`](PageLocked::filled).
    pub fn from_slice(scanner: &Scanner, items: &[T]) -> Result<Self, Error> {
        Self::of(scanner, items.iter().copied())
    }

    fn of(scanner: &Scanner, items: impl ExactSizeIterator<Item = T>) -> Result<Self, Error> {
        #[cfg(feature = "cuda")]
        if let Some(context) = scanner.context()
            && align_of::<T>() <= LockedMemory::ALIGNMENT
        {
            let len = items.len();
            let bytes = len.checked_mul(size_of::<T>()).ok_or(Error::OutOfHostMemory { bytes: usize::MAX })?;
            let memory = LockedMemory::new(context, bytes)?;
            let first = memory.host().cast::<T>();
            for (index, item) in items.enumerate().take(len) {
                // SAFETY: there is room for `len` items.
                unsafe { first.add(index).write(item) };
            }
            return Ok(PageLocked { items: Items::Locked(Locked { memory, len, of: std::marker::PhantomData }) });
        }
        #[cfg(not(feature = "cuda"))]
        let _ = scanner;
        let mut ordinary = room(items.len())?;
        ordinary.extend(items);
        Ok(PageLocked { items: Items::Ordinary(ordinary) })
    }
}

impl<T> PageLocked<T> {
    /// Whether the pages are locked: not where the scanner has no GPU.
    pub fn is_page_locked(&self) -> bool {
        !matches!(self.items, Items::Ordinary(_))
    }
}

impl<T> Deref for PageLocked<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.items {
            Items::Ordinary(items) => items,
            #[cfg(feature = "cuda")]
            // SAFETY: `len` items have been written there.
            Items::Locked(locked) => unsafe {
                std::slice::from_raw_parts(locked.memory.host().cast().as_ptr(), locked.len)
            },
        }
    }
}

impl<T> DerefMut for PageLocked<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.items {
            Items::Ordinary(items) => items,
            #[cfg(feature = "cuda")]
            // SAFETY: as above, and the memory belongs to this value alone.
            Items::Locked(locked) => unsafe {
                std::slice::from_raw_parts_mut(locked.memory.host().cast().as_ptr(), locked.len)
            },
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for PageLocked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
