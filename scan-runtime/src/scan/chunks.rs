//! Scans of host memory that go through the device in chunks.

use std::{
    any::TypeId,
    mem::MaybeUninit,
    sync::{Arc, Mutex, PoisonError},
};

use cudarc::driver::{CudaEvent, CudaStream, sys};
use scan_codegen::ScanSpec;

use super::{Also, HostTotals};
use crate::{
    Error, Goal, Heads, HostHeads, Scan, ScanElement, ScanOp,
    columns::HostArray,
    cpu::Order,
    cuda::{
        Constants, CudaDevice, DeviceMemory, HostMemory, InOut, Places, SideBuffers, Task, driver_error, in_chunks,
    },
    few::Few,
    heads::{HeadKind, InitialValues},
};

/// Arrays in host memory that are valid for reads, and for writes, of `len` items.
pub(crate) struct HostPlaces {
    pub(crate) input: Few<HostArray>,
    pub(crate) output: Few<HostArray>,
    pub(crate) len: usize,
    /// Whether input and output are of one type, in one array each: every strategy works in place then.
    pub(crate) in_place: bool,
}

// SAFETY: elements can be read and written on any thread; each chunk is touched by one.
unsafe impl Sync for HostPlaces {}

impl HostPlaces {
    /// An array of inputs, and one of outputs.
    pub(super) fn of<I: ScanElement, O: ScanElement>(input: *const I, output: *mut O, len: usize) -> Self {
        let input = HostArray { at: input.cast_mut().cast(), item: size_of::<I>() };
        let output = HostArray { at: output.cast(), item: size_of::<O>() };
        let in_place = TypeId::of::<I>() == TypeId::of::<O>();
        HostPlaces { input: Few::one(input), output: Few::one(output), len, in_place }
    }

    /// Bytes of the larger of an element's input and output.
    pub(super) fn element_bytes(&self) -> usize {
        let bytes = |arrays: &[HostArray]| arrays.iter().map(|array| array.item).sum();
        usize::max(bytes(&self.input), bytes(&self.output))
    }

    /// `len` elements from element `start` on, which are in bounds.
    fn part(&self, start: usize, len: usize) -> Self {
        let part = |arrays: &[HostArray]| -> Few<HostArray> {
            let begin = |array: &HostArray| HostArray { at: array.at.wrapping_add(start * array.item), ..*array };
            arrays.iter().map(begin).collect()
        };
        HostPlaces { input: part(&self.input), output: part(&self.output), len, in_place: self.in_place }
    }

    /// As what a device is given, without heads and total.
    pub(super) fn memory(&self) -> HostMemory<'_> {
        HostMemory {
            input: &self.input,
            input_len: self.len,
            output: &self.output,
            output_len: self.len,
            in_place: self.in_place,
            heads: &[],
            initial_values: &[],
            total: std::ptr::null_mut(),
            total_bytes: 0,
        }
    }
}

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

/// The initial values and totals of rows.
struct EachRow<'h> {
    row: usize,
    /// Bytes of one of them.
    bytes: usize,
    initial_values: &'h [MaybeUninit<u8>],
    /// None where rows have no totals.
    totals: Option<*mut u8>,
}

// SAFETY: the totals of a chunk are written by one thread.
unsafe impl Sync for EachRow<'_> {}

impl<'h> EachRow<'h> {
    fn new<C>(heads: &Heads<'h>, totals: HostTotals) -> Self {
        let row = if let HeadKind::Rows { len } = heads.kind { len } else { 1 };
        let initial_values = heads.initial_values.map_or(&[][..], InitialValues::bytes);
        let totals = (totals.also == Also::Totals).then_some(totals.at);
        EachRow { row, bytes: size_of::<C>(), initial_values, totals }
    }

    /// The initial values of the rows of `len` elements from element `start` on.
    fn values(&self, start: usize, len: usize) -> &'h [MaybeUninit<u8>] {
        let [first, end] = [start, start + len].map(|element| element / self.row * self.bytes);
        self.initial_values.get(first..end).unwrap_or_default()
    }

    /// The memory of the same rows, with their totals.
    fn totals<'m>(&self, memory: HostMemory<'m>, start: usize, len: usize) -> HostMemory<'m> {
        match self.totals {
            None => memory,
            Some(totals) => HostMemory {
                total: totals.wrapping_add(start / self.row * self.bytes),
                total_bytes: len / self.row * self.bytes,
                ..memory
            },
        }
    }
}

impl<Op: ScanOp, H: HostHeads, G: Goal> Scan<Op, H, G> {
    /// How many of `len` elements are to be on the device at once; `None` where all must be. Chunks have kernels of
    /// their own, which are not compiled ahead of time: without NVRTC all elements go at once.
    pub(crate) fn chunk(
        &self,
        device: &CudaDevice,
        element_bytes: usize,
        len: usize,
        also: Also,
    ) -> Result<Option<usize>, Error> {
        let multiple = match self.heads.heads().kind {
            HeadKind::None => 1,
            HeadKind::Rows { len } => len,
            HeadKind::Flags | HeadKind::Bits | HeadKind::Keys { .. } | HeadKind::Offsets(_) => return Ok(None),
        };
        let chunk = device.chunk(element_bytes, multiple);
        let Some(chunk) = chunk.filter(|chunk| *chunk < len) else { return Ok(None) };
        let count = len.div_ceil(chunk);
        let last = len - (count - 1) * chunk;
        for (index, len) in [(0, chunk), (1.min(count - 2), chunk), (count - 1, last)] {
            let spec = self.spec_of_chunk(index, count, also);
            match device.kernels(&self.op, Task::Scan(spec, self.shape()), len as u64) {
                Err(Error::NoNvrtc { .. } | Error::NvrtcUnusable { .. }) => return Ok(None),
                found => found.map(drop)?,
            }
        }
        Ok(Some(chunk))
    }

    /// What chunk `index` of `count` is asked for, in the order of the scan. The total of a chunk is what the next one
    /// begins with, but for rows, which end where chunks do.
    fn spec_of_chunk(&self, index: usize, count: usize, also: Also) -> ScanSpec {
        let (spec, carries) = (self.spec(), self.heads.heads().kind.is_none());
        let spec = if carries && index > 0 { spec.with_initial_value_on_device() } else { spec };
        match also {
            Also::Totals => spec.with_totals(),
            _ if carries || also == Also::Total && index == count - 1 => spec.with_total(),
            _ => spec,
        }
    }

    /// As [`run_on_device`](Scan::run_on_device), `chunk` elements at once.
    ///
    /// # Safety
    ///
    /// As for [`run_on_device`](Scan::run_on_device).
    pub(super) unsafe fn run_in_chunks(
        &self,
        device: &CudaDevice,
        host: &HostPlaces,
        chunk: usize,
        totals: HostTotals,
    ) -> Result<(), Error> {
        let heads = self.heads.heads();
        let (carries, also) = (heads.kind.is_none(), totals.also);
        let stream = device.context.new_stream().map_err(driver_error("creating a stream"))?;
        let states = States::new(&stream, size_of::<Op::Carry>())?;
        let (op, order, shape, initial_value) = (&self.op, self.order, self.shape(), self.initial_value.as_ref());
        let launched: Mutex<Option<CudaEvent>> = Mutex::new(None);
        let count = host.len.div_ceil(chunk);
        let each = EachRow::new::<Op::Carry>(&heads, totals);
        in_chunks(count, &|index, turns| {
            let place = if order == Order::Reversed { count - 1 - index } else { index };
            let start = place * chunk;
            let len = chunk.min(host.len - start);
            let part = host.part(start, len);
            let memory = HostMemory { initial_values: each.values(start, len), ..part.memory() };
            let memory = each.totals(memory, start, len);
            let enqueue = |stream: &Arc<CudaStream>, at: Places| {
                // After an error of another chunk nothing is launched, and so nothing may be brought back.
                if carries {
                    turns.wait(index)?;
                }
                let spec = self.spec_of_chunk(index, count, also);
                let tells_total = spec.total;
                let kernels = device.kernels(op, Task::Scan(spec, shape), len as u64)?;
                let constants = Constants::new(stream, op, initial_value)?;
                let mut launched = launched.lock().unwrap_or_else(PoisonError::into_inner);
                let (initial, total) = (at.initial_values, at.total);
                let mut side = SideBuffers { head_count: heads.head_count(), initial, total, ..SideBuffers::default() };
                if tells_total {
                    side.total = states.before(index + 1);
                }
                if carries {
                    side.initial = states.before(index);
                    launched.iter().try_for_each(|event| stream.wait(event)).map_err(driver_error("waiting"))?;
                }
                let work = InOut { input: &at.input, output: &at.output, len: len as u64, columns: None };
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
        if also == Also::Total {
            device.context.bind_to_thread().map_err(driver_error("binding the context"))?;
            // SAFETY: the total is valid for a write of its bytes, and all chunks are done.
            unsafe { sys::cuMemcpyDtoH_v2(totals.at.cast(), states.before(count), size_of::<Op::Carry>()) }
                .result()
                .map_err(driver_error("copying"))?;
        }
        Ok(())
    }
}
