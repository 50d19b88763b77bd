//! Work that is prepared once and enqueued often.

use std::sync::{Arc, Mutex};

use cudarc::driver::CudaStream;

use super::{
    CudaDevice, Task, driver_error,
    launch::{Constants, InOut, SideBuffers},
    loaded::Kernels,
    lock, named,
    workspace::{PER_THREAD, Workspace, is_captured},
};
use crate::{Error, ScanOp};

/// Loaded kernels, their constant arguments, and workspaces of their own, on one stream, for a task on up to a maximum
/// number of elements.
#[derive(Debug)]
pub(crate) struct Prepared {
    stream: Arc<CudaStream>,
    constants: Constants,
    /// In ascending order of their lengths; never empty.
    ranges: Vec<Range>,
    max_len: usize,
}

#[derive(Debug)]
struct Range {
    /// The minimum number of elements that it is for.
    from: u64,
    kernels: Arc<Kernels>,
    /// Locked only by threads that enqueue with this handle.
    workspace: Mutex<Workspace>,
}

impl Prepared {
    pub(crate) fn new<Op: ScanOp>(
        device: &CudaDevice,
        stream: &Arc<CudaStream>,
        op: &Op,
        initial_value: Option<&Op::State>,
        task: &Task,
        max_len: usize,
    ) -> Result<Self, Error> {
        if stream.cu_stream() == PER_THREAD {
            return Err(Error::StreamOfThreads);
        }
        if is_captured(stream)? {
            return Err(Error::Captured);
        }
        let constants = Constants::new(stream, op, initial_value)?;
        let mut prepared = Prepared { stream: stream.clone(), constants, ranges: Vec::new(), max_len };
        for (from, end, kernels) in device.kernels_up_to(op, task, max_len as u64).map_err(named)? {
            kernels.load_code()?;
            let mut workspace = Workspace::default();
            let allocated = workspace.schedule(stream, &kernels.plan, end).map(drop);
            // The handle frees the allocated memory, also after an error.
            prepared.ranges.push(Range { from, kernels, workspace: Mutex::new(workspace) });
            allocated?;
        }
        Ok(prepared)
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// An error if `stream`, to which the `what` of a call belongs, is of another context.
    pub(crate) fn check_context(&self, what: &'static str, stream: &CudaStream) -> Result<(), Error> {
        if stream.context() == self.stream.context() { Ok(()) } else { Err(Error::ForeignContext { what }) }
    }

    /// An error if there are more elements than have been prepared for.
    pub(crate) fn check_len(&self, len: usize) -> Result<(), Error> {
        if len > self.max_len { Err(Error::PreparedLength { len, max_len: self.max_len }) } else { Ok(()) }
    }

    /// Enqueues the work. It neither allocates device memory, nor copies, nor synchronises.
    ///
    /// # Safety
    ///
    /// As for [`Kernels::launch`], except for the constants.
    pub(crate) unsafe fn enqueue(&self, side: SideBuffers, work: InOut) -> Result<(), Error> {
        self.check_len(work.len as usize)?;
        // SAFETY: the caller guarantees all of it.
        unsafe { self.launch(side, work) }.map_err(named)
    }

    /// # Safety
    ///
    /// As for [`enqueue`](Prepared::enqueue).
    unsafe fn launch(&self, side: SideBuffers, work: InOut) -> Result<(), Error> {
        self.stream.context().bind_to_thread().map_err(driver_error("binding the context"))?;
        let Some(range) = self.ranges.iter().rev().find(|range| range.from <= work.len) else { return Ok(()) };
        let mut workspace = lock(&range.workspace);
        // SAFETY: the caller guarantees the buffers; the constants are those of the operator of the kernels.
        unsafe { range.kernels.launch(&self.stream, &mut workspace, &self.constants, side, work) }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        for range in &self.ranges {
            lock(&range.workspace).free(&self.stream);
        }
    }
}
