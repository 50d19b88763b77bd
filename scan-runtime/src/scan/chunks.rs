//! Scans of host memory that go through the device in chunks.

use std::{
    any::TypeId,
    sync::{Arc, Mutex, PoisonError},
};

use cudarc::driver::{CudaEvent, CudaStream, sys};
use scan_codegen::ScanSpec;

use crate::{
    Error, Goal, HostHeads, Scan, ScanOp,
    cpu::Order,
    cuda::{
        Constants, CudaDevice, DeviceMemory, HostMemory, InOut, Places, SideBuffers, Task, driver_error, in_chunks,
    },
    heads::HeadKind,
};

/// Host memory that is valid for reads, and for writes, of `len` elements.
pub(super) struct HostPlaces<I, O> {
    pub(super) input: *const I,
    pub(super) output: *mut O,
    pub(super) len: usize,
}

// SAFETY: elements can be read and written on any thread; each chunk is touched by one.
unsafe impl<I: Sync, O: Send> Sync for HostPlaces<I, O> {}

/// Two states in device memory: the initial value of a chunk, and its total, the initial value of the next one.
struct States {
    memory: DeviceMemory,
    bytes: u64,
}

/// The parts of an allocation are aligned for any element.
const ALIGNMENT: u64 = 256;

impl States {
    fn new(stream: &Arc<CudaStream>, bytes: usize) -> Result<Self, Error> {
        let bytes = (bytes as u64).next_multiple_of(ALIGNMENT);
        let memory = DeviceMemory::new(stream, 2 * bytes)?;
        // It is used on other streams.
        stream.synchronize().map_err(driver_error("allocating device memory"))?;
        Ok(States { memory, bytes })
    }

    /// What chunk `index` begins with, which the one before it leaves.
    fn before(&self, index: usize) -> sys::CUdeviceptr {
        self.memory.pointer() + (index as u64 % 2) * self.bytes
    }
}

impl<Op: ScanOp, H: HostHeads, G: Goal> Scan<Op, H, G> {
    /// How many of `len` elements are to be on the device at once; `None` where all must be. Chunks have kernels of
    /// their own, which are not compiled ahead of time: without NVRTC all elements go at once.
    pub(crate) fn chunk(&self, device: &CudaDevice, len: usize, with_total: bool) -> Result<Option<usize>, Error> {
        let multiple = match self.heads.heads().kind {
            HeadKind::None => 1,
            HeadKind::Rows { len } => len,
            HeadKind::Flags | HeadKind::Bits | HeadKind::Keys { .. } | HeadKind::Offsets(_) => return Ok(None),
        };
        let chunk = device.chunk(size_of::<Op::Input>().max(size_of::<Op::Output>()), multiple);
        let Some(chunk) = chunk.filter(|chunk| *chunk < len) else { return Ok(None) };
        let count = len.div_ceil(chunk);
        let last = len - (count - 1) * chunk;
        for (index, len) in [(0, chunk), (1.min(count - 2), chunk), (count - 1, last)] {
            let spec = self.spec_of_chunk(index, count, with_total);
            match device.kernels(&self.op, Task::Scan(spec, self.shape()), len as u64) {
                Err(Error::NoNvrtc { .. } | Error::NvrtcUnusable { .. }) => return Ok(None),
                found => found.map(drop)?,
            }
        }
        Ok(Some(chunk))
    }

    /// What chunk `index` of `count` is asked for, in the order of the scan. The total of a chunk is what the next one begins with,
    /// but for rows, which end where chunks do.
    fn spec_of_chunk(&self, index: usize, count: usize, with_total: bool) -> ScanSpec {
        let (spec, carries) = (self.spec(), self.heads.heads().kind.is_none());
        let spec = if carries && index > 0 { spec.with_initial_value_on_device() } else { spec };
        if carries || with_total && index == count - 1 { spec.with_total() } else { spec }
    }

    /// As [`run_on_device`](Scan::run_on_device), `chunk` elements at once.
    ///
    /// # Safety
    ///
    /// As for [`run_on_device`](Scan::run_on_device).
    pub(super) unsafe fn run_in_chunks(
        &self,
        device: &CudaDevice,
        host: HostPlaces<Op::Input, Op::Output>,
        chunk: usize,
        total: *mut Op::State,
    ) -> Result<(), Error> {
        let heads = self.heads.heads();
        let (carries, with_total) = (heads.kind.is_none(), !total.is_null());
        let stream = device.context.new_stream().map_err(driver_error("creating a stream"))?;
        let states = States::new(&stream, size_of::<Op::State>())?;
        let (op, order, shape, initial_value) = (&self.op, self.order, self.shape(), self.initial_value.as_ref());
        let launched: Mutex<Option<CudaEvent>> = Mutex::new(None);
        let count = host.len.div_ceil(chunk);
        let host = &host;
        in_chunks(count, &|index, turns| {
            let place = if order == Order::Reversed { count - 1 - index } else { index };
            let start = place * chunk;
            let len = chunk.min(host.len - start);
            let memory = HostMemory {
                // SAFETY: the chunk lies within the host memory.
                input: unsafe { host.input.add(start) }.cast(),
                input_bytes: len * size_of::<Op::Input>(),
                // SAFETY: as above.
                output: unsafe { host.output.add(start) }.cast(),
                output_bytes: len * size_of::<Op::Output>(),
                in_place: TypeId::of::<Op::Input>() == TypeId::of::<Op::Output>(),
                heads: &[],
                total: std::ptr::null_mut(),
                total_bytes: 0,
            };
            let enqueue = |stream: &Arc<CudaStream>, at: Places| {
                // After an error of another chunk nothing is launched, and so nothing may be brought back.
                if carries {
                    turns.wait(index)?;
                }
                let spec = self.spec_of_chunk(index, count, with_total);
                let tells_total = spec.total;
                let kernels = device.kernels(op, Task::Scan(spec, shape), len as u64)?;
                let constants = Constants::new(stream, op, initial_value)?;
                let mut launched = launched.lock().unwrap_or_else(PoisonError::into_inner);
                let mut side = SideBuffers { head_count: heads.head_count(), ..SideBuffers::default() };
                if tells_total {
                    side.total = states.before(index + 1);
                }
                if carries {
                    side.initial = states.before(index);
                    launched.iter().try_for_each(|event| stream.wait(event)).map_err(driver_error("waiting"))?;
                }
                let work = InOut { input: at.input, output: at.output, len: len as u64 };
                // SAFETY: both buffers hold `len` elements, and are one buffer only where the types are the same. The
                // kernels of the chunk before have written the state that it begins with, and have read that which it
                // leaves.
                unsafe { kernels.enqueue(stream, &constants, side, work) }?;
                if carries {
                    *launched = Some(stream.record_event(None).map_err(driver_error("recording an event"))?);
                    turns.end();
                }
                Ok(())
            };
            // SAFETY: the caller vouches for the host memory; the kernels write every output.
            unsafe { device.through(&memory, &enqueue) }
        })?;
        if with_total {
            device.context.bind_to_thread().map_err(driver_error("binding the context"))?;
            // SAFETY: the total is valid for a write of its bytes, and all chunks are done.
            unsafe { sys::cuMemcpyDtoH_v2(total.cast(), states.before(count), size_of::<Op::State>()) }
                .result()
                .map_err(driver_error("copying"))?;
        }
        Ok(())
    }
}
