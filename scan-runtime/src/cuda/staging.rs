//! Copies of host memory to the device and back.
//!
//! A call with host slices takes a [`Lane`]: a stream with page-locked memory and device memory of its own, reused from
//! an earlier call. Calls of several threads take a lane each, so none waits for another.
//! Kernels read and write small slices directly in page-locked memory. Other slices are copied in pieces: while one is
//! on the bus, the next is copied to page-locked memory, or the one before to its place.

mod copy;
mod lane;
#[cfg(all(test, not(miri)))]
mod model;
mod pieces;
mod ring;

use std::{
    fmt,
    mem::{self, MaybeUninit},
    sync::{Arc, Mutex, MutexGuard},
};

use cudarc::driver::{CudaStream, sys};

use super::{CudaDevice, lock, named};
use crate::{Error, arrays::fields::HostArray, few::Few, primitives, telemetry::transferring};
use lane::Lane;
pub(crate) use lane::OwnStream;

/// How host slices are copied to a CUDA device and back, for
/// [`ScannerBuilder::staging`](crate::ScannerBuilder::staging). The defaults suit most
/// machines.
///
/// ```
/// use scan_runtime::{Scanner, Staging};
///
/// let scanner = Scanner::builder().staging(Staging::default().with_piece_bytes(1 << 20)).build()?;
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "settings do nothing until a scanner is built with them"]
pub struct Staging {
    mapped_bytes: usize,
    piece_bytes: usize,
    kept_bytes: u64,
    /// `None` for the default.
    copy_threads: Option<usize>,
    shared_bytes: usize,
    chunk_bytes: usize,
}

impl Default for Staging {
    fn default() -> Self {
        Staging {
            mapped_bytes: 64 << 10,
            piece_bytes: 8 << 20,
            kept_bytes: 256 << 20,
            copy_threads: None,
            shared_bytes: 512 << 10,
            chunk_bytes: 32 << 20,
        }
    }
}

impl Staging {
    /// Slices of up to this many bytes are not copied to the device: the kernels read and write them in the host's
    /// memory.
    pub fn with_mapped_bytes(mut self, bytes: usize) -> Self {
        self.mapped_bytes = bytes;
        self
    }

    /// The maximum number of bytes that are copied at once. A call holds up to four times as much page-locked memory.
    pub fn with_piece_bytes(mut self, bytes: usize) -> Self {
        self.piece_bytes = bytes.max(1);
        self
    }

    /// The number of threads that copy between slices and page-locked memory, including the caller. The default is half
    /// the number of cores, up to eight. The first call with slices that are long enough starts the threads, which all
    /// scanners share.
    pub fn with_copy_threads(mut self, threads: usize) -> Self {
        self.copy_threads = Some(threads);
        self
    }

    /// Pieces of at least this many bytes are copied by several threads, shorter ones by the caller alone, because
    /// waking others takes longer. A slice has at least four pieces, if they are not shorter than 256 KiB. So by
    /// default slices from 2 MiB on are copied by several threads.
    pub fn with_shared_bytes(mut self, bytes: usize) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// The maximum number of bytes of input, and of output, that are on the device at once. Longer slices are scanned
    /// in chunks of at most this size. While one is copied back, the next one is copied to the device. So slices may be
    /// larger than device memory. The default is 32 MiB.
    ///
    /// A chunk ends where a segment does, or lies within a segment that is longer than a chunk, and then begins with
    /// the total of the chunk before it. An array that is scanned along an axis is cut along its outermost dimensions,
    /// the axis included; it is not chunked where dimensions do not lie one within the other (transposed, repeated).
    /// Sums of floats that round depend on this number, as on every grouping. Of a reduction in chunks, `project` is
    /// called on the host. [`Scan::with_progress`](crate::Scan::with_progress) reports each chunk.
    pub fn with_chunk_bytes(mut self, bytes: usize) -> Self {
        self.chunk_bytes = bytes;
        self
    }

    /// Whether kernels read and write an array of so many bytes in the host's memory.
    pub(crate) fn is_mapped(&self, bytes: usize) -> bool {
        bytes <= self.mapped_bytes
    }

    /// The most elements of this size in a chunk.
    pub(crate) fn chunk(&self, element_bytes: usize) -> usize {
        let max = (self.chunk_bytes / element_bytes.max(1)).max(1);
        // Its beginning has the alignment of the whole, unless segments end elsewhere.
        if max > CHUNK_GRAIN { max - max % CHUNK_GRAIN } else { max }
    }

    /// The maximum number of bytes of device memory that a call keeps for the next one.
    pub fn with_kept_bytes(mut self, bytes: u64) -> Self {
        self.kept_bytes = bytes;
        self
    }
}

/// The length of a chunk is a multiple of this number of elements, where segments do not end elsewhere.
const CHUNK_GRAIN: usize = 1 << 10;

/// Host memory that a call reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostMemory<'h> {
    /// The arrays of the input, of `input_len` items each,
    pub(crate) input: &'h [HostArray],
    pub(crate) input_len: usize,
    /// and of the output.
    pub(crate) output: &'h [HostArray],
    pub(crate) output_len: usize,
    /// Whether the device may write the output, which is one array, over the input, which is one too.
    pub(crate) in_place: bool,
    pub(crate) heads: &'h [u8],
    /// The initial values of segments.
    pub(crate) initial_values: &'h [MaybeUninit<u8>],
    pub(crate) total: *mut u8,
    pub(crate) total_bytes: usize,
}

impl HostMemory<'_> {
    fn input_bytes(&self) -> usize {
        self.input.iter().map(|array| array.item * self.input_len).sum()
    }

    fn output_bytes(&self) -> usize {
        self.output.iter().map(|array| array.item * self.output_len).sum()
    }
}

/// Where the device finds them. What has no bytes is null.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    pub(crate) input: Few<sys::CUdeviceptr>,
    pub(crate) output: Few<sys::CUdeviceptr>,
    pub(crate) heads: sys::CUdeviceptr,
    pub(crate) initial_values: sys::CUdeviceptr,
    pub(crate) total: sys::CUdeviceptr,
}

/// The lanes of a device that are not in use.
#[derive(Default)]
pub(crate) struct Lanes {
    idle: Mutex<Idle<Lane>>,
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let idle = self.idle();
        f.debug_struct("Lanes").field("idle", &(idle.with_memory.len() + idle.without.len())).finish()
    }
}

impl Lanes {
    fn idle(&self) -> MutexGuard<'_, Idle<Lane>> {
        lock(&self.idle)
    }

    /// Returns a lane. It keeps its memory, up to this many bytes on the device, if few others have some.
    fn put_back(&self, mut lane: Lane, limit: u64) {
        let keeps = self.idle().has_room();
        // Calls the driver, so without the lock.
        if keeps {
            lane.trim(limit)
        } else {
            lane.empty()
        }
        self.idle().put(lane, keeps);
    }
}

/// Idle lanes, or in tests another type.
struct Idle<L> {
    /// The lanes with memory, the one used last at the end.
    with_memory: Vec<L>,
    without: Vec<L>,
    /// The number of lanes with memory that are about to be returned.
    returning: usize,
}

impl<L> Default for Idle<L> {
    fn default() -> Self {
        Idle { with_memory: Vec::new(), without: Vec::new(), returning: 0 }
    }
}

impl<L> Idle<L> {
    /// More idle lanes than these keep their streams only.
    const WITH_MEMORY: usize = 4;

    /// Prefers a lane with memory, because locking memory takes longer than most calls.
    fn take(&mut self) -> Option<L> {
        self.with_memory.pop().or_else(|| self.without.pop())
    }

    /// Whether the next returned lane may keep memory. The caller then returns one.
    fn has_room(&mut self) -> bool {
        let has_room = self.with_memory.len() + self.returning < Self::WITH_MEMORY;
        self.returning += usize::from(has_room);
        has_room
    }

    fn put(&mut self, lane: L, has_memory: bool) {
        self.returning -= usize::from(has_memory);
        if has_memory { self.with_memory.push(lane) } else { self.without.push(lane) }
    }
}

/// A lane in use by a call.
struct Taken<'d> {
    device: &'d CudaDevice,
    lane: Option<Lane>,
    /// Whether all enqueued work is known to be done.
    finished: bool,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let Some(mut lane) = self.lane.take() else { return };
        // After an error or a panic a transfer may be in progress. If waiting for it fails, the context is lost, and
        // with it everything in the lane.
        if !self.finished && lane.finish().is_err() {
            return;
        }
        self.device.lanes.put_back(lane, self.device.staging.kept_bytes);
    }
}

/// A function that enqueues the work on a stream. It is a trait object, so that its callers are not compiled for every
/// operator.
type Enqueue<'a> = &'a dyn Fn(&Arc<CudaStream>, Places) -> Result<(), Error>;

impl CudaDevice {
    /// The most elements of this size in a chunk.
    pub(crate) fn chunk(&self, element_bytes: usize) -> usize {
        self.staging.chunk(element_bytes)
    }

    /// Copies host memory to the device, lets `enqueue` use it on a stream, and copies the results back. All is done on
    /// return. If memory is short, `enqueue` is called twice.
    ///
    /// # Safety
    ///
    /// The input is valid for reads, output and total for writes, of their bytes. `enqueue` writes every byte of the
    /// output and the total that is ever read, and stays within the given buffers.
    pub(crate) unsafe fn through(&self, host: &HostMemory<'_>, enqueue: Enqueue<'_>) -> Result<(), Error> {
        // SAFETY: the caller guarantees all of it.
        unsafe { self.through_a_lane(host, enqueue) }.map_err(named)
    }

    /// # Safety
    ///
    /// As for [`through`](CudaDevice::through).
    unsafe fn through_a_lane(&self, host: &HostMemory<'_>, enqueue: Enqueue<'_>) -> Result<(), Error> {
        let lane = self.lanes.idle().take();
        let lane = match lane {
            Some(lane) => lane,
            None => Lane::new(&self.context)?,
        };
        let mut taken = Taken { device: self, lane: Some(lane), finished: false };
        let Some(lane) = &mut taken.lane else { return Ok(()) };
        let places = match lane.make_room(host, &self.staging) {
            Err(Error::OutOfDeviceMemory { .. }) => {
                self.free_idle_memory();
                lane.make_room(host, &self.staging)?
            }
            made => made?,
        };
        let span = transferring("device", host.input_bytes() + host.heads.len() + host.initial_values.len());
        // SAFETY: the caller guarantees the host memory.
        unsafe { lane.send(host, &self.staging)? };
        drop(span);
        match enqueue(lane.stream(), places) {
            // Nothing has been launched yet.
            Err(Error::OutOfDeviceMemory { .. }) => {
                self.free_idle_memory();
                enqueue(lane.stream(), places)?;
            }
            enqueued => enqueued?,
        }
        let _span = transferring("host", host.output_bytes() + host.total_bytes);
        // SAFETY: as above.
        unsafe { lane.receive(host, &self.staging)? };
        taken.finished = true;
        Ok(())
    }

    /// Frees the memory that earlier calls have kept for later ones.
    pub(crate) fn free_idle_memory(&self) {
        let with_memory = mem::take(&mut self.lanes.idle().with_memory);
        for mut lane in with_memory {
            lane.empty();
            self.lanes.idle().put(lane, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `calls` lanes at once, which then have memory, and returns them. Gives how many had none before.
    fn calls_at_once(idle: &mut Idle<bool>, calls: usize) -> usize {
        let taken: Vec<_> = (0..calls).map(|_| idle.take().unwrap_or(false)).collect();
        for _ in 0..calls {
            let keeps = idle.has_room();
            idle.put(keeps, keeps);
        }
        taken.iter().filter(|has_memory| !**has_memory).count()
    }

    #[test]
    fn a_single_call_reuses_memory_after_many_concurrent_ones() {
        let mut idle = Idle::default();
        assert_eq!(calls_at_once(&mut idle, 8), 8);
        for _ in 0..3 {
            assert_eq!(calls_at_once(&mut idle, 1), 0);
            assert_eq!(calls_at_once(&mut idle, Idle::<bool>::WITH_MEMORY), 0);
        }
        assert_eq!(calls_at_once(&mut idle, 8), 4);
        assert_eq!((idle.with_memory.len(), idle.without.len(), idle.returning), (4, 4, 0));
    }

    #[test]
    fn at_most_the_limit_of_idle_buffers_keep_memory() {
        let mut idle = Idle::default();
        let keep: Vec<_> = (0..9).map(|_| idle.has_room()).collect();
        keep.iter().for_each(|keeps| idle.put(*keeps, *keeps));
        assert_eq!((idle.with_memory.len(), idle.without.len()), (4, 5));
        assert!(idle.with_memory.iter().all(|has_memory| *has_memory));
    }
}
