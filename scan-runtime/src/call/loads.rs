//! Where the kernels of calls are loaded.

use std::sync::Arc;

use scan_codegen::ColumnLayout;

use super::Task;
use crate::{
    Error,
    cuda::{CudaDevice, Kernels},
    erased::Erased,
};

/// Loads the kernels of tasks: a device; or a recording, which notes the tasks.
pub(crate) trait LoadsKernels {
    type Kernels;

    /// The most elements of this size in a chunk.
    fn chunk(&self, element_bytes: usize) -> usize;
    /// The kernels of a task on up to `max_len` elements.
    fn load_up_to(&self, op: &dyn Erased, task: &Task, max_len: usize) -> Result<Vec<Self::Kernels>, Error>;
    /// The kernels of a scan along an axis of columns that lie like this, in arrays that begin anywhere.
    fn load_all_columns(
        &self,
        op: &dyn Erased,
        task: &Task,
        columns: &ColumnLayout,
    ) -> Result<Vec<Self::Kernels>, Error>;
}

impl LoadsKernels for CudaDevice {
    type Kernels = Arc<Kernels>;

    fn chunk(&self, element_bytes: usize) -> usize {
        self.chunk(element_bytes)
    }

    fn load_up_to(&self, op: &dyn Erased, task: &Task, max_len: usize) -> Result<Vec<Arc<Kernels>>, Error> {
        self.load_up_to(op, task, max_len)
    }

    fn load_all_columns(
        &self,
        op: &dyn Erased,
        task: &Task,
        columns: &ColumnLayout,
    ) -> Result<Vec<Arc<Kernels>>, Error> {
        self.all_kernels_of_columns(op, task, columns)
    }
}
