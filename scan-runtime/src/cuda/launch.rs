//! Launches: a plan's schedule with its arguments filled in.

use std::{ffi::c_void, sync::Arc};

use cudarc::driver::{CudaStream, result, sys};
use scan_codegen::Argument;

use super::{driver_error, lock, modules::Kernels, workspace::OwnWorkspace};
use crate::{Error, ScanOp, element::bytes_of, parameters::TableAt};

/// What a scan needs in device memory beside its input and output; null where it does not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SideBuffers {
    /// The flags, bits, keys or offsets that tell where segments begin.
    pub(crate) heads: sys::CUdeviceptr,
    /// How many offsets there are, where it is offsets.
    pub(crate) offset_count: u64,
    /// Where the sum of all elements goes.
    pub(crate) total: sys::CUdeviceptr,
}

/// What is worked on: device pointers, and how many elements the input has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOut {
    pub(crate) input: sys::CUdeviceptr,
    pub(crate) output: sys::CUdeviceptr,
    pub(crate) len: u64,
}

impl Kernels {
    /// Enqueues the work on `len` elements. Neither copies nor synchronises.
    ///
    /// # Safety
    ///
    /// `input` and `output` are device pointers in the stream's context, aligned for their elements, good for reading and
    /// writing `len` elements until the enqueued work is done. They may be the same pointer if the kernels' input and output
    /// types are the same; otherwise they do not overlap. `side.heads` is as long as the plan's segments require for that many
    /// elements, and does not overlap the output.
    pub(crate) unsafe fn enqueue<Op: ScanOp>(
        &self,
        stream: &Arc<CudaStream>,
        op: &Op,
        initial_value: Option<&Op::State>,
        side: SideBuffers,
        InOut { input, output, len }: InOut,
    ) -> Result<(), Error> {
        let schedule = self.plan.schedule(len)?;
        let parameters = op.parameters();
        let mut operator = parameters.bytes().to_vec();
        for TableAt { offset, table } in parameters.tables() {
            let pointer = table.copies().pointer(stream, table.bytes())?.to_le_bytes();
            operator[*offset..offset + pointer.len()].copy_from_slice(&pointer);
        }
        operator.resize(operator.len().max(1), 0); // an empty struct is one byte in CUDA
        let initial_value = initial_value.map(bytes_of).unwrap_or_default();

        let kept = self.workspaces.of(stream, self.number)?;
        // Held until all is enqueued: other threads' launches on this stream come before or after these, not between them, and do
        // not take the workspace away. Who works on other streams does not wait here.
        let mut kept = kept.as_deref().map(lock);
        let mut own = OwnWorkspace::new(stream);
        let workspace = kept.as_deref_mut().unwrap_or(&mut own.workspace).room_for(stream, &schedule.workspace)?;

        for launch in &schedule.launches {
            let mut scalars: Vec<u64> = launch
                .arguments
                .iter()
                .map(|argument| match *argument {
                    Argument::Input => input,
                    Argument::Output => output,
                    Argument::Workspace(offset) => workspace.pointer + offset,
                    Argument::MessageRoom => workspace.message_room,
                    Argument::Length(len) => len,
                    Argument::Heads => side.heads,
                    Argument::OffsetCount => side.offset_count,
                    Argument::Total => side.total,
                    _ => 0,
                })
                .collect();
            let mut pointers: Vec<*mut c_void> = launch
                .arguments
                .iter()
                .zip(&mut scalars)
                .map(|(argument, scalar)| match argument {
                    Argument::Operator => operator.as_ptr().cast_mut().cast(),
                    Argument::InitialValue => initial_value.as_ptr().cast_mut().cast(),
                    _ => std::ptr::from_mut(scalar).cast(),
                })
                .collect();
            let function = self.function(launch.kernel).ok_or_else(|| Error::Driver {
                call: "finding a kernel",
                code: "not in the module".to_owned(),
                message: format!("the plan launches `{}`, which it does not list", launch.kernel),
            })?;
            let launch_kernel =
                if launch.cooperative { result::launch_cooperative_kernel } else { result::launch_kernel };
            // SAFETY: the arguments are those that the plan lists for this kernel, and the driver copies them during the
            // call; the caller vouches for the buffers; the workspace is freed in the order of the stream.
            unsafe {
                launch_kernel(
                    function.cu_function(),
                    (launch.blocks, 1, 1),
                    (launch.threads, 1, 1),
                    launch.dynamic_shared_bytes,
                    stream.cu_stream(),
                    &mut pointers,
                )
            }
            .map_err(driver_error("launching a kernel"))?;
        }
        Ok(())
    }
}
