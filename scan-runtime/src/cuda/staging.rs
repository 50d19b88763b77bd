//! Host memory on its way to the device and back.
//!
//! A call with host slices takes a [`Lane`]: a stream with page-locked memory and device memory of its own, all of which it
//! finds as an earlier call left it. Calls of several threads take a lane each, so none waits for another. What is small is
//! read and written by the kernels right in the page-locked memory. Anything else is copied in pieces: while one is on the
//! bus, the next is brought to page-locked memory, or the one before to its place.

mod copy;
mod lane;
mod ring;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use cudarc::driver::{CudaStream, sys};

use super::{CudaDevice, lock};
use crate::{Error, telemetry::transferring};
use lane::Lane;

/// How host slices travel to a CUDA device and back, for
/// [`ScannerBuilder::staging`](crate::ScannerBuilder::staging). What is not set is as
/// suits most machines.
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
    /// `None` for as many as suit the machine.
    copy_threads: Option<usize>,
}

impl Default for Staging {
    fn default() -> Self {
        Staging { mapped_bytes: 64 << 10, piece_bytes: 4 << 20, kept_bytes: 256 << 20, copy_threads: None }
    }
}

impl Staging {
    /// Slices of up to this many bytes are not copied to the device: the kernels read and write them in the host's memory.
    pub fn with_mapped_bytes(mut self, bytes: usize) -> Self {
        self.mapped_bytes = bytes;
        self
    }

    /// The most bytes that are copied at once. A call holds up to four times as much page-locked memory.
    pub fn with_piece_bytes(mut self, bytes: usize) -> Self {
        self.piece_bytes = bytes.max(1);
        self
    }

    /// How many threads copy between slices and page-locked memory, the caller among them. Unless told, half as many as there are
    /// cores, up to eight. Pieces of less than 1 MiB, and so slices of less than 4 MiB, are copied by the caller alone: to wake others
    /// takes longer. The first call with longer slices starts the threads, which all scanners share.
    pub fn with_copy_threads(mut self, threads: usize) -> Self {
        self.copy_threads = Some(threads);
        self
    }

    /// The most bytes of device memory that a call leaves for the next one.
    pub fn with_kept_bytes(mut self, bytes: u64) -> Self {
        self.kept_bytes = bytes;
        self
    }
}

/// Host memory that a call reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostMemory<'h> {
    pub(crate) input: *const u8,
    pub(crate) input_bytes: usize,
    pub(crate) output: *mut u8,
    pub(crate) output_bytes: usize,
    /// Whether the device may write the output over the input.
    pub(crate) in_place: bool,
    pub(crate) heads: &'h [u8],
    pub(crate) total: *mut u8,
    pub(crate) total_bytes: usize,
}

/// Where the device finds them. What has no bytes is null.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    pub(crate) input: sys::CUdeviceptr,
    pub(crate) output: sys::CUdeviceptr,
    pub(crate) heads: sys::CUdeviceptr,
    pub(crate) total: sys::CUdeviceptr,
}

/// The lanes of a device that no call has at the moment; those used last come first.
#[derive(Default)]
pub(crate) struct Lanes {
    idle: Mutex<Vec<Lane>>,
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lanes").field("idle", &self.idle().len()).finish()
    }
}

impl Lanes {
    /// More idle lanes than these keep their streams only.
    const WITH_MEMORY: usize = 4;

    fn idle(&self) -> MutexGuard<'_, Vec<Lane>> {
        lock(&self.idle)
    }
}

/// A lane while a call has it.
struct Taken<'d> {
    device: &'d CudaDevice,
    lane: Option<Lane>,
    /// Whether all that was enqueued is known to be done.
    finished: bool,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let Some(mut lane) = self.lane.take() else { return };
        // After an error or a panic a transfer may be under way. Where it cannot be waited for, the context is lost, and with it
        // all that the lane has.
        if !self.finished && lane.finish().is_err() {
            return;
        }
        let limit = self.device.staging.kept_bytes;
        let mut idle = self.device.lanes.idle();
        if idle.len() < Lanes::WITH_MEMORY {
            lane.trim(limit);
        } else {
            lane.empty();
        }
        idle.push(lane);
    }
}

impl CudaDevice {
    /// Brings host memory to the device, lets `enqueue` use it on a stream, and brings the results back. All is done on return.
    /// `enqueue` is asked twice where memory is short.
    ///
    /// # Safety
    ///
    /// The input is valid for reads, output and total for writes, of their bytes. `enqueue` writes every byte of the output
    /// and the total that is ever read, and stays within what it is given.
    pub(crate) unsafe fn through(
        &self,
        host: &HostMemory<'_>,
        enqueue: impl Fn(&Arc<CudaStream>, Places) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // SAFETY: the caller vouches for all of it.
        unsafe { self.through_a_lane(host, enqueue) }.map_err(|error| self.named(error))
    }

    /// # Safety
    ///
    /// As for [`through`](CudaDevice::through).
    unsafe fn through_a_lane(
        &self,
        host: &HostMemory<'_>,
        enqueue: impl Fn(&Arc<CudaStream>, Places) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let lane = self.lanes.idle().pop();
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
        let telling = transferring("device", host.input_bytes + host.heads.len());
        // SAFETY: the caller vouches for the host memory.
        unsafe { lane.send(host, &self.staging)? };
        drop(telling);
        match enqueue(lane.stream(), places) {
            // Nothing has been launched yet.
            Err(Error::OutOfDeviceMemory { .. }) => {
                self.free_idle_memory();
                enqueue(lane.stream(), places)?;
            }
            enqueued => enqueued?,
        }
        let _telling = transferring("host", host.output_bytes + host.total_bytes);
        // SAFETY: as above.
        unsafe { lane.receive(host, &self.staging)? };
        taken.finished = true;
        Ok(())
    }

    /// Frees what earlier calls have left for later ones.
    pub(crate) fn free_idle_memory(&self) {
        self.lanes.idle().iter_mut().for_each(Lane::empty);
    }
}
