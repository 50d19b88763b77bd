//! Launches: a plan's schedule with its arguments filled in.

use std::{ffi::c_void, ptr, sync::Arc};

use cudarc::driver::{CudaStream, DriverError, result, sys};
use scan_codegen::{Argument, ColumnLayout};

use super::{
    driver_error,
    loaded::Kernels,
    lock,
    workspace::{OwnWorkspace, Workspace},
};
use crate::{Error, Parameters, erased::Erased, parameters::TableAt, telemetry};

/// The device memory of a scan in addition to its input and output; null if not needed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SideBuffers {
    /// The source of segment heads: flags, bits, keys or offsets.
    pub(crate) heads: sys::CUdeviceptr,
    /// Where ranges end, whose begins are the heads.
    pub(crate) range_ends: sys::CUdeviceptr,
    /// The number of offsets, for segments by offsets; the number of elements of a row, for rows.
    pub(crate) head_count: u64,
    /// The initial value, if it is in device memory.
    pub(crate) initial: sys::CUdeviceptr,
    /// The number of elements, if it is in device memory.
    pub(crate) len: sys::CUdeviceptr,
    /// Where the total goes, or the number of segments.
    pub(crate) total: sys::CUdeviceptr,
}

/// What is worked on: device pointers, how many elements the input has, and where they lie if they are columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOut<'a> {
    /// The arrays of the input,
    pub(crate) input: &'a [sys::CUdeviceptr],
    /// and of the output. An array that is no slice has other words: see [`ArrayKind`](scan_codegen::ArrayKind).
    pub(crate) output: &'a [sys::CUdeviceptr],
    pub(crate) len: u64,
    pub(crate) columns: Option<&'a ColumnLayout>,
}

/// The maximum number of arguments of a kernel, which are stored on the stack.
const MAX_ARGUMENTS: usize = 16;

/// The arguments of a scan's or a reduction's launches that do not depend on input and output.
#[derive(Debug)]
pub(crate) struct Constants {
    /// The operator's type.
    name: &'static str,
    /// The operator's bytes, in which tables point at their items in device memory.
    operator: Vec<u8>,
    /// The number of bytes of its parameters.
    operator_bytes: usize,
    initial_value: Vec<u8>,
    /// Keeps the tables alive.
    _parameters: Parameters,
}

impl Constants {
    /// With the bytes of an initial value, if there is one.
    pub(crate) fn new(stream: &CudaStream, op: &dyn Erased, initial_value: Option<Vec<u8>>) -> Result<Self, Error> {
        let parameters = op.parameters();
        let mut operator = parameters.bytes().to_vec();
        for TableAt { offset, table, .. } in parameters.tables() {
            let pointer = table.copies().pointer(stream, table.bytes())?.to_le_bytes();
            operator[*offset..offset + pointer.len()].copy_from_slice(&pointer);
        }
        let operator_bytes = operator.len();
        operator.resize(operator_bytes.max(1), 0); // an empty struct is one byte in CUDA
        let (name, initial_value) = (op.type_name(), initial_value.unwrap_or_default());
        Ok(Constants { name, operator, operator_bytes, initial_value, _parameters: parameters })
    }
}

/// Launches a kernel that may begin before the preceding work in the stream has ended.
///
/// # Safety
///
/// As for [`result::launch_kernel`]; and the kernel itself waits for the preceding work.
unsafe fn launch_programmatic_kernel(
    function: sys::CUfunction,
    (grid_x, grid_y, grid_z): (u32, u32, u32),
    (block_x, block_y, block_z): (u32, u32, u32),
    shared_bytes: u32,
    stream: sys::CUstream,
    arguments: &mut [*mut c_void],
) -> Result<(), DriverError> {
    let mut attribute = sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
    };
    let config = sys::CUlaunchConfig {
        gridDimX: grid_x,
        gridDimY: grid_y,
        gridDimZ: grid_z,
        blockDimX: block_x,
        blockDimY: block_y,
        blockDimZ: block_z,
        sharedMemBytes: shared_bytes,
        hStream: stream,
        attrs: &mut attribute,
        numAttrs: 1,
    };
    // SAFETY: the caller guarantees it; the driver copies the attribute during the call.
    unsafe { sys::cuLaunchKernelEx(&config, function, arguments.as_mut_ptr(), ptr::null_mut()) }.result()
}

impl Kernels {
    /// Enqueues the work on `len` elements, with the workspace that is kept for the stream. It neither copies nor
    /// synchronises.
    ///
    /// # Safety
    ///
    /// As for [`launch`](Kernels::launch).
    pub(crate) unsafe fn enqueue(
        &self,
        stream: &Arc<CudaStream>,
        constants: &Constants,
        side: SideBuffers,
        work: InOut<'_>,
    ) -> Result<(), Error> {
        match self.workspaces.of(stream, self.number)? {
            // SAFETY: the caller guarantees the buffers.
            Some(kept) => unsafe { self.launch(stream, &mut lock(&kept), constants, side, work) },
            None => {
                let mut own = OwnWorkspace::new(stream);
                // SAFETY: as above.
                unsafe { self.launch(stream, &mut own.workspace, constants, side, work) }
            }
        }
    }

    /// Enqueues the work on `len` elements with this workspace, which is on the stream. Callers that share it must wait
    /// until this is enqueued. Allocates no device memory if the workspace has room, and no host memory if the last
    /// work in it had the same length.
    ///
    /// # Safety
    ///
    /// `input` and `output` are device pointers in the stream's context, as many as the plan's input and output have
    /// arrays, aligned for their items, good for reading and writing `len` items until the enqueued work is done. They
    /// may be the same pointer if the kernels' input and output types are the same and lie in one array; otherwise no
    /// two of them overlap. `side.heads` is as long as the plan's segments require for that many elements, and does not
    /// overlap the output. Where there are columns, they lie within. The constants are those of the operator that the
    /// kernels are made of, and of this context.
    pub(super) unsafe fn launch(
        &self,
        stream: &CudaStream,
        workspace: &mut Workspace,
        constants: &Constants,
        side: SideBuffers,
        InOut { input, output, len, columns }: InOut<'_>,
    ) -> Result<(), Error> {
        // The driver reads as many bytes of the operator as the kernels were compiled for.
        if constants.operator_bytes != self.operator_bytes {
            return Err(Error::SourceMismatch { operator: constants.name.to_owned(), what: "parameters" });
        }
        let span = telemetry::launching(constants.name, len);
        let (schedule, workspace) = workspace.schedule(stream, &self.plan, len, columns)?;
        let layout = columns.map(ColumnLayout::words);
        for launch in &schedule.launches {
            let mut scalars = [0_u64; MAX_ARGUMENTS];
            let mut pointers = [ptr::null_mut::<c_void>(); MAX_ARGUMENTS];
            for ((argument, scalar), pointer) in launch.arguments.iter().zip(&mut scalars).zip(&mut pointers) {
                *scalar = match *argument {
                    Argument::Workspace(offset) => workspace.pointer + offset,
                    Argument::StatusRoom => workspace.status_room,
                    Argument::Length(len) => len,
                    Argument::Heads => side.heads,
                    Argument::RangeEnds => side.range_ends,
                    Argument::HeadCount => side.head_count,
                    Argument::InitialPointer => side.initial,
                    Argument::LengthPointer => side.len,
                    Argument::Total => side.total,
                    _ => 0,
                };
                *pointer = match argument {
                    Argument::Operator => constants.operator.as_ptr().cast_mut().cast(),
                    Argument::Input => input.as_ptr().cast_mut().cast(),
                    Argument::Output => output.as_ptr().cast_mut().cast(),
                    Argument::InitialValue => constants.initial_value.as_ptr().cast_mut().cast(),
                    Argument::Layout => {
                        layout.as_ref().map_or(ptr::null_mut(), |words| words.as_ptr().cast_mut().cast())
                    }
                    _ => ptr::from_mut(scalar).cast(),
                };
            }
            let function = self.function(launch.kernel);
            let (Some(pointers), Some(function)) = (pointers.get_mut(..launch.arguments.len()), function) else {
                let source = DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND);
                return Err(Error::Driver { call: "finding a kernel that the plan launches", source });
            };
            let launch_kernel = if launch.cooperative.applies(input == output) {
                result::launch_cooperative_kernel
            } else if launch.programmatic && self.launches_programmatically {
                launch_programmatic_kernel
            } else {
                result::launch_kernel
            };
            // SAFETY: the arguments are those that the plan lists for this kernel, and the driver copies them during the
            // call; the caller guarantees the buffers; the workspace is freed in the order of the stream.
            unsafe {
                launch_kernel(
                    function.cu_function(),
                    (launch.blocks, 1, 1),
                    (launch.threads, 1, 1),
                    launch.dynamic_shared_bytes,
                    stream.cu_stream(),
                    pointers,
                )
            }
            .map_err(driver_error("launching a kernel"))?;
            telemetry::launched();
        }
        span.record("kernels", schedule.launches.len());
        Ok(())
    }
}
