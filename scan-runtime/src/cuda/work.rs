//! What a call has enqueued: its kernels, with what they are given at every launch.

use std::sync::{Arc, Mutex};

use cudarc::driver::CudaStream;

use scan_codegen::ColumnLayout;

use super::{
    CudaDevice, driver_error,
    launch::{Constants, InOut, SideBuffers},
    loaded::Kernels,
    lock, named,
    workspace::{PER_THREAD, Workspace, is_captured},
};
use crate::{Error, call::Task, erased::Erased};

/// Kernels that are loaded, and their constant arguments.
#[derive(Debug)]
pub(crate) enum Work {
    /// Of one call, with the workspace that is kept for its stream.
    Once {
        /// Those for the length of the call.
        kernels: Arc<Kernels>,
        constants: Constants,
    },
    /// Of many runs on one stream, with workspaces of their own.
    Often(Prepared),
}

/// How often work is to be enqueued.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Runs {
    /// Once, on this number of elements.
    Once(usize),
    /// Many times, on up to this number of elements.
    Often(usize),
}

/// A task on one stream, on up to a number of elements.
#[derive(Debug)]
pub(crate) struct Prepared {
    stream: Arc<CudaStream>,
    constants: Constants,
    /// In the order of the lengths that they are for; those for the shortest at least. Along an axis, those for any
    /// memory first.
    ranges: Vec<Range>,
}

#[derive(Debug)]
struct Range {
    /// The fewest elements that it is for.
    from: u64,
    kernels: Arc<Kernels>,
    /// Locked only by callers that enqueue with the same handle at the same time.
    workspace: Mutex<Workspace>,
}

impl Work {
    /// The constants are made of the operator and the initial value as they are now.
    pub(crate) fn new(
        device: &CudaDevice,
        stream: &Arc<CudaStream>,
        op: &dyn Erased,
        constants: Constants,
        task: &Task,
        runs: Runs,
    ) -> Result<Self, Error> {
        let max_len = match runs {
            Runs::Once(len) => {
                let kernels = device.kernels(op, task, len as u64)?;
                return Ok(Work::Once { kernels, constants });
            }
            Runs::Often(max_len) => max_len as u64,
        };
        let ranges = device.kernels_up_to(op, task, max_len).map_err(named)?;
        Ok(Work::Often(Prepared::new(stream, constants, ranges, None)?))
    }

    /// The same for many runs along an axis of an array that lies like this.
    pub(crate) fn along_axis(
        device: &CudaDevice,
        stream: &Arc<CudaStream>,
        op: &dyn Erased,
        constants: Constants,
        task: &Task,
        columns: &ColumnLayout,
    ) -> Result<Self, Error> {
        let kernels = device.all_kernels_of_columns(op, task, columns)?;
        let ranges = kernels.into_iter().rev().map(|kernels| (0, columns.length(), kernels)).collect();
        Ok(Work::Often(Prepared::new(stream, constants, ranges, Some(columns))?))
    }

    /// Enqueues the work on the stream that it was made for. Neither copies nor synchronises; if it was made for many
    /// runs, it allocates no device memory.
    ///
    /// # Safety
    ///
    /// As for [`Kernels::launch`], but for the constants; and the length is one that it was made for.
    pub(crate) unsafe fn enqueue(
        &self,
        stream: &Arc<CudaStream>,
        side: SideBuffers,
        work: InOut<'_>,
    ) -> Result<(), Error> {
        match self {
            // SAFETY: the caller vouches for the buffers; the constants are those of the operator for which the kernels
            // were made.
            Work::Once { kernels, constants } => unsafe { kernels.enqueue(stream, constants, side, work) },
            Work::Often(Prepared { stream, constants, ranges }) => {
                let is_for = |range: &&Range| match work.columns {
                    Some(columns) => range.kernels.plan.suits(columns, work.input, work.output),
                    None => range.from <= work.len,
                };
                let Some(range) = ranges.iter().rev().find(is_for) else { return Ok(()) };
                // SAFETY: as above.
                unsafe { range.kernels.launch(stream, &mut lock(&range.workspace), constants, side, work) }
            }
        }
    }
}

impl Prepared {
    /// With the first and the last length that each kernel is for.
    fn new(
        stream: &Arc<CudaStream>,
        constants: Constants,
        kernels: Vec<(u64, u64, Arc<Kernels>)>,
        columns: Option<&ColumnLayout>,
    ) -> Result<Self, Error> {
        let mut prepared = Prepared { stream: stream.clone(), constants, ranges: Vec::new() };
        for (from, end, kernels) in kernels {
            kernels.load_code()?;
            let mut workspace = Workspace::default();
            let allocated = workspace.schedule(stream, &kernels.plan, end, columns).map(drop);
            // What has been allocated is freed with the handle, whatever happens.
            prepared.ranges.push(Range { from, kernels, workspace: Mutex::new(workspace) });
            allocated?;
        }
        Ok(prepared)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        for range in &self.ranges {
            lock(&range.workspace).free(&self.stream);
        }
    }
}

impl CudaDevice {
    /// An error if no work can be prepared on the stream.
    pub(crate) fn check_preparing(&self, stream: &CudaStream) -> Result<(), Error> {
        if stream.cu_stream() == PER_THREAD {
            return Err(Error::PerThreadStream);
        }
        if is_captured(stream)? { Err(Error::Captured) } else { Ok(()) }
    }

    /// Loads the kernels of a task on up to `max_len` elements, and holds them.
    pub(crate) fn load_up_to(&self, op: &dyn Erased, task: &Task, max_len: usize) -> Result<Vec<Arc<Kernels>>, Error> {
        let ranges = self.kernels_up_to(op, task, max_len as u64).map_err(named)?;
        ranges.into_iter().map(|(_, _, kernels)| kernels.load_code().map(|()| kernels)).collect()
    }
}

/// Binds a stream's context to this thread.
pub(crate) fn bind(stream: &CudaStream) -> Result<(), Error> {
    stream.context().bind_to_thread().map_err(driver_error("binding the context"))
}
