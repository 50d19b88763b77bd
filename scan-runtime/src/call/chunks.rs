//! Scans of host memory that go through the device in chunks.

use std::{
    mem::MaybeUninit,
    ptr,
    sync::{Arc, Mutex, PoisonError},
};

use cudarc::driver::{CudaEvent, CudaStream, sys};
use scan_codegen::{ArrayKind, ArrayKinds, Arrays, Axis};

mod plan;
mod reduced;

use super::{Call, HostPlaces, HostTotals, Initial, LoadsKernels, Progress, Request, ScanProgress, Task, Totals};
use crate::{
    Error,
    cuda::{CudaDevice, DeviceMemory, HostMemory, InOut, OwnStream, Places, SideBuffers, driver_error, in_chunks},
    heads::{HeadKind, InitialValues},
};
pub(crate) use plan::Chunk;
pub(super) use plan::Content;

/// States in device memory, twice: the initial values of a part, and its totals, the initial values of the next one.
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

    /// What part `index` begins with, which the one before it leaves.
    fn before(&self, index: usize) -> sys::CUdeviceptr {
        self.memory.pointer() + (index as u64 % 2) * self.bytes
    }
}

/// What each segment or column has of its own: initial values, and where totals go.
struct Each<'h> {
    /// Bytes of a carry.
    bytes: usize,
    initial_values: &'h [MaybeUninit<u8>],
    totals: HostTotals,
    /// Which ones.
    wanted: Totals,
}

// SAFETY: each total is written by one thread.
unsafe impl Sync for Each<'_> {}

impl<'h> Each<'h> {
    fn new(call: &Call<'h>, totals: HostTotals) -> Self {
        let initial_values = call.heads.initial_values.map_or(&[][..], InitialValues::bytes);
        Each { bytes: call.op.carry_bytes(), initial_values, totals, wanted: call.request.totals }
    }

    /// The initial values of what begins in a chunk.
    fn values(&self, content: &Content) -> &'h [MaybeUninit<u8>] {
        let (Content::Whole(of) | Content::Part { of, first: true, .. }) = content else { return &[] };
        self.initial_values.get(of.start * self.bytes..of.end * self.bytes).unwrap_or_default()
    }

    /// Where the totals go that a chunk gives, and their bytes; whether it is the last one.
    fn totals(&self, content: &Content, is_last: bool) -> (*mut u8, usize) {
        match (self.wanted, content) {
            (Totals::PerSegment, Content::Whole(of) | Content::Part { of, last: true, .. }) => {
                (self.totals.at.wrapping_add(of.start * self.bytes), of.len() * self.bytes)
            }
            (Totals::Last, _) if is_last => (self.totals.at, self.totals.bytes),
            _ => (ptr::null_mut(), 0),
        }
    }
}

/// Whether kernels are neither there nor can be compiled.
fn is_of_no_compiler(error: &Error) -> bool {
    matches!(error, Error::NoNvrtc { .. } | Error::NvrtcUnusable { .. } | Error::NotPrecompiled { .. })
}

/// Chunks are done.
struct Reported<'r> {
    progress: Option<&'r Progress>,
    done: Mutex<ScanProgress>,
}

impl<'r> Reported<'r> {
    fn new(progress: Option<&'r Progress>, done: usize, of: usize) -> Self {
        Reported { progress, done: Mutex::new(ScanProgress { done, of }) }
    }

    /// An error if elements are left, and the caller's function ends the run.
    fn add(&self, elements: usize) -> Result<(), Error> {
        if let Some(progress) = self.progress {
            // Held during the report, so that reports are in order.
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            done.done += elements;
            let ScanProgress { done, of } = *done;
            if progress.report(ScanProgress { done, of }).is_break() && done < of {
                return Err(Error::Cancelled { done, of });
            }
        }
        Ok(())
    }
}

impl Call<'_> {
    /// What goes through the device at once of `len` elements; `None` where all do. Chunks have kernels of their own:
    /// without these and without NVRTC all elements go at once.
    pub(super) fn chunks(&self, device: &CudaDevice, host: &HostPlaces) -> Result<Option<Vec<Chunk>>, Error> {
        let (len, max) = (host.len, device.chunk(host.element_bytes()));
        if len <= max {
            return Ok(None);
        }
        // Keys that the planner refuses have no bytes to compare.
        self.check()?;
        let chunks = plan::chunks(&self.heads, len, max, self.request.order);
        let are_there = self.has_kernels_of_chunks(device, host, &chunks)?;
        Ok(are_there.then_some(chunks))
    }

    /// Whether the kernels of these chunks can be had.
    fn has_kernels_of_chunks(&self, device: &CudaDevice, host: &HostPlaces, chunks: &[Chunk]) -> Result<bool, Error> {
        for (index, chunk) in chunks.iter().enumerate() {
            let spec = host.request(self.request_of_chunk(&chunk.content, index + 1 == chunks.len())).spec();
            match device.kernels(self.op, &Task::Scan(spec, self.shape()), chunk.len as u64) {
                Err(error) if is_of_no_compiler(&error) => return Ok(false),
                found => found.map(drop)?,
            }
        }
        Ok(true)
    }

    /// The same of an array that is scanned along an axis.
    pub(super) fn chunks_of_columns(
        &self,
        device: &CudaDevice,
        element_bytes: usize,
        axis: &Axis,
    ) -> Result<Option<Vec<Chunk>>, Error> {
        plan::chunks_of_columns(axis, device.chunk(element_bytes), self.request.order)
    }

    /// Every kernel that runs of up to `len` elements need, in chunks or not.
    pub(crate) fn load_chunks<D: LoadsKernels>(&self, device: &D, len: usize) -> Result<Vec<D::Kernels>, Error> {
        let (task, heads) = (self.task(), self.request.heads);
        if let (Task::Columns(..), Some(along)) = (&task, self.along) {
            let mut kernels = device.load_all_columns(self.op, &task, along.layout())?;
            let max = device.chunk(self.op.element_bytes());
            let chunks = plan::chunks_of_columns(&along.axis, max, self.request.order)?;
            for Chunk { content, columns, .. } in chunks.iter().flatten() {
                let Some(columns) = columns else { continue };
                let of_chunk = Task::Columns(self.request_of_columns(content).spec(), self.shape());
                kernels.extend(device.load_all_columns(self.op, &of_chunk, columns)?);
            }
            return Ok(kernels);
        }
        if let Task::ReduceRanges(..) = task {
            return device.load_up_to(self.op, &task, len);
        }
        let max = device.chunk(self.op.element_bytes());
        let of_rows = self.task_of_rows();
        let mut kernels = device.load_up_to(self.op, of_rows.as_ref().unwrap_or(&task), len.min(max))?;
        if let (None, Some(spec)) = (&of_rows, self.request.last_results(false)) {
            kernels.extend(device.load_up_to(self.op, &Task::LastResults(spec), len.min(max))?);
        }
        if len > max {
            let part = |first| Content::Part { of: 0..1, first, last: false };
            let contents = match heads {
                HeadKind::Rows { len: row } if row <= max && of_rows.is_some() => Vec::new(),
                HeadKind::Rows { len: row } if row <= max => vec![Content::Whole(0..0)],
                HeadKind::None | HeadKind::Rows { .. } => vec![part(true), part(false)],
                _ => vec![Content::Whole(0..0), part(true), part(false)],
            };
            for content in contents {
                let of_chunk = Task::Scan(self.request_of_chunk(&content, false).spec(), self.shape());
                match device.load_up_to(self.op, &of_chunk, max) {
                    Err(error) if is_of_no_compiler(&error) => {
                        kernels.extend(device.load_up_to(self.op, &task, len)?);
                        return Ok(kernels);
                    }
                    found => kernels.extend(found?),
                }
            }
        }
        Ok(kernels)
    }

    /// What a chunk is asked for. A part of a segment is a scan that restarts nowhere, and its total is what the next
    /// part begins with.
    fn request_of_chunk(&self, content: &Content, is_last: bool) -> Request {
        let Request { totals, initial, reduction, mut layouts, .. } = self.request;
        let Content::Part { first, .. } = content else {
            let totals = if totals == Totals::Last && !is_last { Totals::None } else { totals };
            return Request { totals, ..self.request };
        };
        if reduction.is_some() {
            layouts.output = (Arrays::One, ArrayKinds::new([ArrayKind::NoMemory]));
        }
        let initial = match (first, initial) {
            (true, Initial::None | Initial::Value) => initial,
            _ => Initial::OnDevice,
        };
        Request { heads: HeadKind::None, totals: Totals::Last, initial, layouts, ..self.request }
    }

    /// The same of columns: a part of them is a scan of columns with initial values and totals.
    fn request_of_columns(&self, content: &Content) -> Request {
        match content {
            Content::Whole(_) => self.request,
            Content::Part { first: true, .. } => Request { totals: Totals::PerSegment, ..self.request },
            Content::Part { .. } => Request { totals: Totals::PerSegment, initial: Initial::Each, ..self.request },
        }
    }

    /// The same as [`scan_on_device`](Call::scan_on_device), in these chunks of the whole. `done` elements have been
    /// scanned already.
    ///
    /// # Safety
    ///
    /// As for [`scan_on_device`](Call::scan_on_device).
    pub(super) unsafe fn run_in_chunks(
        &self,
        device: &CudaDevice,
        host: &HostPlaces,
        chunks: &[Chunk],
        totals: HostTotals,
        done: usize,
    ) -> Result<(), Error> {
        let heads = self.heads;
        let done = Reported::new(self.progress, done, host.len);
        let own = OwnStream::new(&device.context)?;
        let each = Each::new(self, totals);
        let carried =
            chunks.iter().map(|chunk| if let Content::Part { of, .. } = &chunk.content { of.len() } else { 0 });
        let states = States::new(&own.0, carried.max().unwrap_or(0).saturating_mul(each.bytes))?;
        let launched: Mutex<Option<CudaEvent>> = Mutex::new(None);
        in_chunks(chunks.len(), &|index, turns| {
            let (chunk, is_last) = (&chunks[index], index + 1 == chunks.len());
            let Chunk { content, columns, len, .. } = chunk;
            let places = host.of_chunk(chunk);
            let (heads, head_count) = match content {
                Content::Whole(segments) => heads.of_part(&chunk.input, segments)?,
                Content::Part { .. } => Default::default(),
            };
            let (total, total_bytes) = each.totals(content, is_last);
            let memory = HostMemory {
                input_len: chunk.input.len(),
                output_len: chunk.output.len(),
                heads: &heads,
                initial_values: each.values(content),
                total,
                total_bytes,
                ..places.memory()
            };
            let enqueue = |stream: &Arc<CudaStream>, at: Places| {
                // After an error of another chunk nothing is launched, and so nothing may be brought back.
                turns.wait(index)?;
                let mut side = SideBuffers { heads: at.heads, head_count, ..SideBuffers::default() };
                (side.initial, side.total) = (at.initial_values, at.total);
                let mut launched = launched.lock().unwrap_or_else(PoisonError::into_inner);
                if let Content::Part { first, .. } = content {
                    if !first {
                        side.initial = states.before(index);
                    }
                    if total_bytes == 0 {
                        side.total = states.before(index + 1);
                    }
                    launched.iter().try_for_each(|event| stream.wait(event)).map_err(driver_error("waiting"))?;
                }
                let request = host.request(match columns {
                    Some(_) => self.request_of_columns(content),
                    None => self.request_of_chunk(content, is_last),
                });
                let (input, output) = match columns {
                    Some(layout) => host.firsts(layout, &at),
                    None => (at.input, at.output),
                };
                let work = InOut { input: &input, output: &output, len: *len as u64, columns: columns.as_ref() };
                // SAFETY: both buffers hold the chunk, and are one buffer only where the types are the same. The
                // kernels of the part before have written the states that this one begins with, and have read those
                // which it leaves.
                unsafe { self.enqueue(device, stream, &request, work, side) }?;
                if chunk.is_part() {
                    *launched = Some(stream.record_event(None).map_err(driver_error("recording an event"))?);
                }
                turns.end();
                Ok(())
            };
            // SAFETY: the caller vouches for the host memory; the kernels write every output.
            unsafe { device.through(&memory, &enqueue) }?;
            done.add(*len)
        })?;
        if self.request.totals == Totals::PerSegment && chunks.iter().any(Chunk::is_part) {
            // SAFETY: the totals are valid for writes.
            unsafe { self.write_totals_of_empty(totals.at)? };
        }
        Ok(())
    }

    /// Writes the totals of the segments that no chunk has, which are empty.
    ///
    /// # Safety
    ///
    /// There is room for the total of each segment.
    unsafe fn write_totals_of_empty(&self, totals: *mut u8) -> Result<(), Error> {
        let HeadKind::Offsets(_) = self.request.heads else { return Ok(()) };
        let bytes = self.op.carry_bytes();
        for index in 0..self.heads.segment_count(0).unwrap_or(0) {
            if self.heads.segment(index).is_empty() {
                let start;
                let total: *const u8 = match self.heads.initial_values {
                    Some(values) => values.bytes()[index * bytes..(index + 1) * bytes].as_ptr().cast(),
                    None => {
                        start = self.total_of_nothing()?;
                        start.as_ptr()
                    }
                };
                // SAFETY: both are the bytes of a carry; the caller vouches for the room.
                unsafe { ptr::copy_nonoverlapping(total, totals.add(index * bytes), bytes) };
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use scan_codegen::ScanSpec;

    use super::*;
    use crate::{Scanner, ops};

    /// The first part begins with the scan's initial value, and the others with what the part before has left.
    #[test]
    fn parts_begin_with_the_initial_value_or_with_the_total_before() {
        let sums = || Scanner::cpu().scan(ops::sum::<u32>());
        let part = |first| Content::Part { of: 0..1, first, last: false };
        let plain = ScanSpec::inclusive().with_total();
        assert_eq!(sums().host_call().call(Totals::None).request_of_chunk(&part(true), false).spec(), plain);
        let with_value = sums().init(5).host_call().call(Totals::None).request_of_chunk(&part(true), false).spec();
        assert_eq!(with_value, plain.clone().with_initial_value());
        for scan in [sums(), sums().init(5)] {
            let later = scan.host_call().call(Totals::None).request_of_chunk(&part(false), false).spec();
            assert_eq!(later, plain.clone().with_initial_value_on_device());
        }
        let sums = sums();
        let of_rows = sums.rows(100).init_each(&[1, 2]);
        let of_rows = of_rows.call.call(Totals::None).request_of_chunk(&part(true), false).spec();
        assert_eq!(of_rows, plain.with_initial_value_on_device(), "the row's own value is copied to the device");
    }
}
