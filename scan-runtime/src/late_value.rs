//! An initial value that another stream, another device or the host writes while a scan already runs.

use std::{
    cell::UnsafeCell,
    fmt,
    marker::PhantomData,
    mem::{ManuallyDrop, MaybeUninit, offset_of},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use cudarc::driver::{CudaStream, sys};

use crate::{
    DeviceBuffer, Error, ScanElement,
    cuda::{DeviceMemory, LockedMemory, bind, driver_error, is_captured},
    error::expect_len,
    telemetry::copied,
};

/// An initial value that arrives late: scans [begin without it](crate::Run::init_late), fold their tiles, and
/// wait for it where they need the prefix of the first tile. Another stream, another device or the host writes it
/// meanwhile.
///
/// Each scan takes one value, in the order of the stream; each write hands one over. A write on a stream waits, on that
/// stream, until the value before it has been taken; a write by the host is refused until then. So a value of this type
/// serves as many scans as you like, also those of a [handle](crate::Prepared) and of a graph.
///
/// ```no_run
/// use scan_runtime::{LateValue, Scanner, ops};
///
/// let scanner = Scanner::cuda(0)?;
/// let context = scanner.context().expect("a CUDA scanner");
/// let (stream, other) = (context.new_stream()?, context.new_stream()?);
/// let sums = scanner.scan(ops::sum::<u64>());
/// let before = LateValue::new(&stream)?;
/// let (mut buffer, value) = (stream.clone_htod(&[1, 2, 3])?, other.clone_htod(&[100])?);
///
/// sums.on(&stream).init_late(&before).run_in_place(&mut buffer)?; // it runs, and waits
/// before.write_from(&other, &value)?;
/// assert_eq!(stream.clone_dtoh(&buffer)?, [101, 103, 106]);
///
/// sums.on(&stream).init_late(&before).run_in_place(&mut buffer)?;
/// before.write(10)?; // by the host
/// assert_eq!(stream.clone_dtoh(&buffer)?, [111, 214, 320]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Who may write
///
/// A scan that waits keeps its place on the GPU, and has no time limit: whatever leads to the write must not need the
/// scan to end first. A write is a copy, for which a GPU needs no multiprocessor; but a kernel that computes the value,
/// on the same GPU, may find no room beside a scan that fills it. Launch such a kernel before the scan. A scan whose
/// value is never written waits for ever. Other threads of the process count, too: to free memory, for example, waits
/// in the driver for the whole device, and a write on a stream waits for the driver.
///
/// # How it works
///
/// The value and two numbers are in page-locked memory of the host, which all devices reach: how many values have been
/// handed over, and how many taken. A stream copies the value there and then stores the number, with a fence over the
/// whole system (`cuStreamWriteValue64`); kernels poll it by `ld.acquire.sys`. After a scan two copies of eight bytes,
/// on its stream, say that the value has been taken. The project's `docs/protocols.md` has a model of it.
///
/// Memory that a scan may still wait for is not freed when this is dropped. To make one, or to drop it, can wait for
/// other work of the device: do it outside of loops.
#[must_use = "a value that no scan is given does nothing"]
pub struct LateValue<T: ScanElement> {
    /// Of a [`Shared`] value of this type. Not freed while something may wait for it.
    memory: ManuallyDrop<LockedMemory>,
    of: PhantomData<T>,
    /// On the way from one number to the other: copies between places of the host would wait.
    passing: DeviceMemory,
    /// The stream of the scans.
    stream: Arc<CudaStream>,
    counts: Mutex<Counts>,
}

/// What a kernel reads: `LateValue` in `value/start_late.cu.tera`.
#[repr(C)]
struct Shared<T> {
    handed_over: AtomicU64,
    taken: AtomicU64,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// What has been enqueued.
#[derive(Debug, Default)]
struct Counts {
    writes: u64,
    scans: u64,
    /// Whether a graph may use the memory.
    is_captured: bool,
}

// SAFETY: all access to the value goes by the counts, which are locked, and by the order of the numbers.
unsafe impl<T: ScanElement> Send for LateValue<T> {}
// SAFETY: as above.
unsafe impl<T: ScanElement> Sync for LateValue<T> {}

impl<T: ScanElement> fmt::Debug for LateValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LateValue").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl<T: ScanElement> LateValue<T> {
    /// For scans of this stream.
    ///
    /// # Errors
    ///
    /// [`Error::PerThreadStream`] for the per-thread default stream, and whatever can go wrong when memory is
    /// allocated.
    pub fn new(stream: &Arc<CudaStream>) -> Result<Self, Error> {
        if stream.cu_stream() == crate::cuda::PER_THREAD {
            return Err(Error::PerThreadStream);
        }
        let passing = DeviceMemory::new(stream, size_of::<u64>() as u64)?;
        let memory = LockedMemory::new(stream.context(), size_of::<Shared<T>>())?;
        let nothing = || AtomicU64::new(0);
        let value = UnsafeCell::new(MaybeUninit::<T>::uninit());
        // SAFETY: whole pages have been allocated, and nothing else knows of them.
        unsafe { memory.host().cast::<Shared<T>>().write(Shared { handed_over: nothing(), taken: nothing(), value }) };
        let (memory, counts) = (ManuallyDrop::new(memory), Mutex::default());
        Ok(LateValue { memory, of: PhantomData, passing, stream: stream.clone(), counts })
    }

    /// Hands over what a slice of one element holds when the stream gets there: the total that an earlier scan of it
    /// has written, or a copy from another device. The stream may be of another device than the scan's. It waits until
    /// the value before this one has been taken.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if the slice is not of one element, [`Error::ForeignContext`] if it is of another
    /// context than the stream, [`Error::LateValueBehind`] on the scans' own stream behind a scan that waits for this
    /// value, [`Error::Captured`] on a stream that is being captured: a graph would hand the same number over at every
    /// launch.
    pub fn write_from(&self, stream: &Arc<CudaStream>, value: &impl DeviceBuffer<T>) -> Result<(), Error> {
        expect_len("late value", value.len(), 1, "it is one value")?;
        if value.stream().context() != stream.context() {
            return Err(Error::ForeignContext { what: "value" });
        }
        bind(stream)?;
        if is_captured(stream)? {
            return Err(Error::Captured);
        }
        let mut counts = lock(&self.counts);
        if self.is_for(stream) && !counts.is_captured && counts.scans > counts.writes {
            return Err(Error::LateValueBehind);
        }
        let failed = driver_error("handing over a late value");
        let number = counts.writes + 1;
        let taken = self.memory.device() + offset_of!(Shared<T>, taken) as u64;
        let handed_over = self.memory.device() + offset_of!(Shared<T>, handed_over) as u64;
        let (from, _reading) = value.device_ptr(stream);
        // SAFETY: the numbers are words of memory that all devices reach. The value is written where nothing reads:
        // behind the stream's wait, the one before has been taken. The memory stays until both counts say that nothing
        // uses it.
        unsafe {
            let equal_or_more = sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ as u32;
            sys::cuStreamWaitValue64_v2(stream.cu_stream(), taken, counts.writes, equal_or_more)
                .result()
                .map_err(&failed)?;
            sys::cuMemcpyDtoHAsync_v2(self.place().cast(), from, size_of::<T>(), stream.cu_stream())
                .result()
                .map_err(&failed)?;
            let with_fence = sys::CUstreamWriteValue_flags::CU_STREAM_WRITE_VALUE_DEFAULT as u32;
            sys::cuStreamWriteValue64_v2(stream.cu_stream(), handed_over, number, with_fence)
                .result()
                .map_err(failed)?;
        }
        copied(size_of::<T>());
        counts.writes = number;
        Ok(())
    }

    /// Hands a value over at once, by the host.
    ///
    /// # Errors
    ///
    /// [`Error::LateValueWaits`] if the value before it has not been taken.
    pub fn write(&self, value: T) -> Result<(), Error> {
        let mut counts = lock(&self.counts);
        let taken = self.shared().taken.load(Ordering::Acquire);
        if taken != counts.writes {
            return Err(Error::LateValueWaits { written: counts.writes, taken });
        }
        // SAFETY: all that was written has been taken, so nothing reads or writes the value; the counts are locked.
        unsafe { self.place().write(value) };
        counts.writes += 1;
        self.shared().handed_over.store(counts.writes, Ordering::Release);
        Ok(())
    }

    fn shared(&self) -> &Shared<T> {
        // SAFETY: the memory stays as long as this; devices write the numbers in whole words, and the value, which a
        // reference to it does not speak of.
        unsafe { self.memory.host().cast().as_ref() }
    }

    fn place(&self) -> *mut T {
        self.shared().value.get().cast()
    }
}

/// A value that arrives late, without its type.
pub(crate) trait Late {
    /// Whether it is for scans of this stream.
    fn is_for(&self, stream: &CudaStream) -> bool;
    /// Keeps others from enqueueing a scan that takes the same value, until this is [given back](Late::end_scan). Also
    /// where kernels find the value.
    fn begin_scan(&self) -> (Taking<'_>, sys::CUdeviceptr);
    /// Says, behind a scan on its stream, that the value has been taken.
    fn end_scan(&self, taking: Taking<'_>) -> Result<(), Error>;
}

impl<T: ScanElement> Late for LateValue<T> {
    fn begin_scan(&self) -> (Taking<'_>, sys::CUdeviceptr) {
        (Taking(lock(&self.counts)), self.memory.device())
    }

    fn end_scan(&self, mut taking: Taking<'_>) -> Result<(), Error> {
        taking.0.is_captured |= is_captured(&self.stream)?;
        let failed = driver_error("taking a late value");
        let stream = self.stream.cu_stream();
        // SAFETY: the numbers are words of memory that stays until nothing uses it, as the device's word does in the
        // order of the stream. Until the number that the scan has waited for has been taken, no other is handed over.
        unsafe {
            let (Shared { handed_over, taken, .. }, passing) = (self.shared(), self.passing.pointer());
            let copied_in = sys::cuMemcpyHtoDAsync_v2(passing, handed_over.as_ptr().cast(), size_of::<u64>(), stream);
            copied_in.result().map_err(&failed)?;
            let copied_out = sys::cuMemcpyDtoHAsync_v2(taken.as_ptr().cast(), passing, size_of::<u64>(), stream);
            copied_out.result().map_err(failed)?;
        }
        copied(2 * size_of::<u64>());
        taking.0.scans += 1;
        Ok(())
    }

    fn is_for(&self, stream: &CudaStream) -> bool {
        self.stream.cu_stream() == stream.cu_stream() && self.stream.context() == stream.context()
    }
}

/// The lock under which a scan is enqueued.
pub(crate) struct Taking<'l>(MutexGuard<'l, Counts>);

/// Ignores poisoning: the counts change last.
fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: ScanElement> Drop for LateValue<T> {
    fn drop(&mut self) {
        let &mut Counts { writes, scans, is_captured } = self.counts.get_mut().unwrap_or_else(PoisonError::into_inner);
        let shared = self.shared();
        let done = shared.handed_over.load(Ordering::Acquire).min(shared.taken.load(Ordering::Acquire));
        if is_captured || writes.max(scans) != done {
            return; // something may wait for it, perhaps for ever
        }
        // SAFETY: it is dropped once, here. All work that uses it is done: the last of it stored the numbers.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
    }
}
