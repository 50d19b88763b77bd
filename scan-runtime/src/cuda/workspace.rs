//! Workspaces: the device memory that kernels need in addition to input and output, kept from launch to launch.
//!
//! The kernels of a plan have one workspace on each stream. Work on a stream is done in order, so no two launches use a
//! workspace at once, and each launch finds the contents that the previous one left ([`Needs::Kept`]). Memory is
//! allocated and freed in the order of the stream, so a workspace can grow, or be freed, before the enqueued work that
//! uses it is done.

use std::{
    collections::HashMap,
    ptr,
    sync::{Arc, Mutex, RwLock},
};

use cudarc::driver::{CudaStream, result, sys};
use scan_codegen::{ColumnLayout, Schedule, Workspace as Needs};

use super::{any_plan::AnyPlan, driver_error, lock, memory, read, write};
use crate::Error;

/// The handle that means another stream on each thread of the host.
pub(crate) const PER_THREAD: sys::CUstream = ptr::without_provenance_mut(2);

/// Memory on a stream. Its owner frees it, on that stream.
#[derive(Debug, Default)]
struct Area {
    pointer: sys::CUdeviceptr,
    bytes: u64,
}

impl Area {
    /// Makes the area as long as needed. If it must grow, its contents are lost, and the new memory is zeroed if
    /// `zeroed`.
    fn grow(&mut self, stream: &CudaStream, needed: u64, zeroed: bool) -> Result<(), Error> {
        if needed <= self.bytes {
            return Ok(());
        }
        // With increasing lengths, not every call allocates.
        let generous = needed.max(self.bytes.saturating_mul(2));
        self.free(stream);
        let (pointer, bytes) = match memory::allocate(stream, generous) {
            Ok(pointer) => (pointer, generous),
            Err(Error::OutOfDeviceMemory { .. }) if generous > needed => (memory::allocate(stream, needed)?, needed),
            Err(error) => return Err(error),
        };
        *self = Area { pointer, bytes };
        if zeroed {
            // SAFETY: the memory has these bytes.
            let cleared = unsafe { result::memset_d8_async(pointer, 0, bytes as usize, stream.cu_stream()) };
            if let Err(error) = cleared {
                self.free(stream);
                return Err(driver_error("clearing the workspace")(error));
            }
        }
        Ok(())
    }

    fn free(&mut self, stream: &CudaStream) {
        let Area { pointer, .. } = std::mem::take(self);
        // SAFETY: the area has been allocated on this stream, and is forgotten here.
        unsafe { memory::free(stream, pointer) };
    }
}

/// The workspace of the kernels of one plan on one stream. Kept memory and scratch memory have areas of their own, so
/// that no schedule of the plan can overwrite memory that another one's kernels keep.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    scratch: Area,
    kept: Area,
    schedules: LastSchedule,
}

/// The schedule that was asked for last: most often the next one is the same.
#[derive(Debug)]
struct LastSchedule {
    schedule: Schedule,
    /// For how many elements, and for which columns; `None` before the first.
    of: Option<(u64, Option<ColumnLayout>)>,
}

impl Default for LastSchedule {
    fn default() -> Self {
        LastSchedule { schedule: Schedule { workspace: Needs::Scratch { bytes: 0 }, launches: Vec::new() }, of: None }
    }
}

impl LastSchedule {
    /// That of a plan, which must always be the same one.
    fn of(&mut self, plan: &AnyPlan, len: u64, columns: Option<&ColumnLayout>) -> Result<&Schedule, Error> {
        let is_same = |(last, of): &(u64, Option<ColumnLayout>)| *last == len && of.as_ref() == columns;
        if !self.of.as_ref().is_some_and(is_same) {
            self.schedule = plan.schedule(len, columns)?;
            self.of = Some((len, columns.cloned()));
        }
        Ok(&self.schedule)
    }
}

/// The part of a workspace that a schedule's launches use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) pointer: sys::CUdeviceptr,
    pub(super) status_room: u64,
}

impl Workspace {
    /// The launches for `len` elements under a plan, which must always be the same one, and their memory. They must be
    /// enqueued before the next call.
    pub(super) fn schedule(
        &mut self,
        stream: &CudaStream,
        plan: &AnyPlan,
        len: u64,
        columns: Option<&ColumnLayout>,
    ) -> Result<(&Schedule, Place), Error> {
        let schedule = self.schedules.of(plan, len, columns)?;
        let needs = &schedule.workspace;
        let (area, zeroed) = match needs {
            Needs::Scratch { .. } => (&mut self.scratch, false),
            Needs::Kept { .. } => (&mut self.kept, true),
        };
        area.grow(stream, needs.bytes(), zeroed)?;
        let place = Place { pointer: area.pointer, status_room: needs.status_room(area.bytes) };
        Ok((schedule, place))
    }

    /// Frees the memory. The stream must be the one on which it was allocated.
    pub(super) fn free(&mut self, stream: &CudaStream) {
        self.scratch.free(stream);
        self.kept.free(stream);
    }
}

/// A workspace with the stream that it is on; freed, in the order of the stream, when it is dropped.
#[derive(Debug)]
pub(super) struct OwnWorkspace {
    stream: Arc<CudaStream>,
    pub(super) workspace: Workspace,
}

impl OwnWorkspace {
    pub(super) fn new(stream: &Arc<CudaStream>) -> Self {
        OwnWorkspace { stream: stream.clone(), workspace: Workspace::default() }
    }
}

impl Drop for OwnWorkspace {
    fn drop(&mut self) {
        self.workspace.free(&self.stream);
    }
}

/// The workspaces on one stream, by the number of the kernels.
#[derive(Debug)]
struct OnStream {
    /// Keeps the stream alive, so that its handle is not reused, and memory can be freed on it.
    stream: Arc<CudaStream>,
    workspaces: Mutex<HashMap<u64, Arc<Mutex<Workspace>>>>,
}

impl OnStream {
    /// Whether there is no other holder of the stream. The default stream needs none.
    fn is_abandoned(&self) -> bool {
        !self.stream.cu_stream().is_null() && Arc::strong_count(&self.stream) == 1
    }
}

impl Drop for OnStream {
    fn drop(&mut self) {
        for workspace in lock(&self.workspaces).values() {
            lock(workspace).free(&self.stream);
        }
    }
}

/// The workspaces of a device.
///
/// It keeps a stream alive until it is asked for a workspace on a new one and finds that there is no other holder any
/// more.
#[derive(Debug, Default)]
pub(super) struct Workspaces {
    /// By the handle of the stream. The first call on a stream writes it; later ones only read it, concurrently.
    streams: RwLock<HashMap<usize, Arc<OnStream>>>,
}

impl Workspaces {
    /// The workspace of the kernels with this number on this stream. `None` where none can be kept: the handle means several
    /// streams, or the work is captured into a graph, which needs memory of its own, because it may be launched many
    /// times and on any stream.
    pub(super) fn of(&self, stream: &Arc<CudaStream>, kernels: u64) -> Result<Option<Arc<Mutex<Workspace>>>, Error> {
        if stream.cu_stream() == PER_THREAD || is_captured(stream)? {
            return Ok(None);
        }
        let handle = stream.cu_stream() as usize;
        let known = read(&self.streams).get(&handle).cloned();
        let on_stream = known.unwrap_or_else(|| self.add(stream));
        let workspace = lock(&on_stream.workspaces).entry(kernels).or_default().clone();
        Ok(Some(workspace))
    }

    /// Adds a stream, and drops those without another holder.
    fn add(&self, stream: &Arc<CudaStream>) -> Arc<OnStream> {
        let mut streams = write(&self.streams);
        let abandoned: Vec<_> = streams.extract_if(|_, on_stream| on_stream.is_abandoned()).collect();
        let on_stream = || Arc::new(OnStream { stream: stream.clone(), workspaces: Mutex::default() });
        let on_stream = streams.entry(stream.cu_stream() as usize).or_insert_with(on_stream).clone();
        drop(streams);
        drop(abandoned); // calls the driver, so after the lock is released
        on_stream
    }

    /// Frees the workspaces of kernels that cannot be launched any more.
    pub(super) fn forget(&self, kernels: u64) {
        let streams: Vec<_> = read(&self.streams).values().cloned().collect();
        for on_stream in streams {
            let workspace = lock(&on_stream.workspaces).remove(&kernels);
            if let Some(workspace) = workspace {
                lock(&workspace).free(&on_stream.stream);
            }
        }
    }
}

/// Whether what is enqueued on the stream goes into a graph.
pub(crate) fn is_captured(stream: &CudaStream) -> Result<bool, Error> {
    let status = stream.capture_status().map_err(driver_error("asking whether the stream is being captured"))?;
    Ok(status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}

#[cfg(test)]
mod tests {
    use scan_codegen::{DeviceLimits, ScanSpec, Segments, plan_last_results};

    use super::*;
    use crate::{ScanOp, ops};

    #[test]
    fn the_last_schedule_is_that_of_the_plan_even_for_length_zero() {
        let spec = ScanSpec::inclusive().with_segments(Segments::HeadFlags);
        let plan = plan_last_results(&ops::sum::<u32>().source(), &spec, &DeviceLimits::H200).unwrap();
        let plan = AnyPlan::LastResults(plan);
        let mut schedules = LastSchedule::default();
        for len in [0, 0, 1 << 20, 0] {
            assert_eq!(schedules.of(&plan, len, None).unwrap(), &plan.schedule(len, None).unwrap());
        }
    }
}
