//! Scans of host memory that go through the device in chunks.

use std::{
    any::TypeId,
    mem::MaybeUninit,
    ptr,
    sync::{Arc, Mutex, PoisonError},
};

use cudarc::driver::{CudaEvent, CudaStream, sys};
use scan_codegen::{ArrayKind, ArrayKinds, Axis, ScanSpec};

mod plan;
mod reduced;

use super::{Also, HostTotals, Progress, ScanProgress};
use crate::{
    Error, Goal, Heads, HostHeads, Scan, ScanElement, ScanOp,
    columns::{At, Columns, HostArray, arrays},
    cuda::{CudaDevice, DeviceMemory, HostMemory, InOut, Kernels, Places, SideBuffers, Task, driver_error, in_chunks},
    few::Few,
    heads::{HeadKind, InitialValues},
};
pub(crate) use plan::Chunk;
use plan::Content;

/// Arrays in host memory that are valid for reads, and for writes, of `len` items.
pub(crate) struct HostPlaces {
    pub(crate) input: Few<HostArray>,
    pub(crate) output: Few<HostArray>,
    pub(crate) len: usize,
    /// Whether input and output are of one type, in one array each: every strategy works in place then.
    pub(crate) in_place: bool,
    /// The kinds of arrays, where some have no memory.
    pub(crate) kinds: Option<(ArrayKinds, ArrayKinds)>,
}

// SAFETY: elements can be read and written on any thread; each chunk is touched by one.
unsafe impl Sync for HostPlaces {}

impl HostPlaces {
    /// An array of inputs, and one of outputs.
    pub(super) fn of<I: ScanElement, O: ScanElement>(input: *const I, output: *mut O, len: usize) -> Self {
        let input = HostArray { at: input.cast_mut().cast(), item: size_of::<I>() };
        let output = HostArray { at: output.cast(), item: size_of::<O>() };
        let in_place = TypeId::of::<I>() == TypeId::of::<O>();
        HostPlaces { input: Few::one(input), output: Few::one(output), len, in_place, kinds: None }
    }

    /// An array for each field. Those that are null have no memory: indices, and what is not written.
    pub(crate) fn in_columns<Op>(input: At<Op::Input>, output: At<Op::Output>, len: usize) -> Self
    where
        Op: ScanOp<Input: Columns, Output: Columns>,
    {
        let (input, output) = (arrays::<Op::Input>(input), arrays::<Op::Output>(output));
        let kind = |array: &HostArray| if array.at.is_null() { ArrayKind::NoMemory } else { ArrayKind::Slice };
        let kinds = [&input, &output].map(|arrays| ArrayKinds::new(arrays.iter().map(kind)));
        let some = input.iter().chain(output.iter()).any(|array| array.at.is_null());
        let indices = |array: &HostArray| HostArray { item: if array.at.is_null() { 0 } else { array.item }, ..*array };
        HostPlaces {
            input: input.iter().map(indices).collect(),
            output: output.iter().filter(|array| !array.at.is_null()).copied().collect(),
            len,
            in_place: false,
            kinds: some.then_some((kinds[0], kinds[1])),
        }
    }

    /// What a device is asked for, of such arrays.
    pub(super) fn spec(&self, spec: ScanSpec) -> ScanSpec {
        match self.kinds {
            Some((input, output)) => spec.with_kinds(input, output),
            None => spec,
        }
    }

    /// Bytes of the larger of an element's input and output.
    pub(super) fn element_bytes(&self) -> usize {
        let bytes = |arrays: &[HostArray]| arrays.iter().map(|array| array.item).sum();
        usize::max(bytes(&self.input), bytes(&self.output))
    }

    /// Those of a chunk, which is in bounds.
    fn of_chunk(&self, chunk: &Chunk) -> Self {
        let from = |arrays: &[HostArray], start: usize| -> Few<HostArray> {
            arrays.iter().map(|array| array.starting_at(start)).collect()
        };
        let (input, output) = (from(&self.input, chunk.input.start), from(&self.output, chunk.output.start));
        HostPlaces { input, output, len: chunk.len, ..*self }
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
}

// SAFETY: each total is written by one thread.
unsafe impl Sync for Each<'_> {}

impl<'h> Each<'h> {
    fn new<C>(heads: &Heads<'h>, totals: HostTotals) -> Self {
        let initial_values = heads.initial_values.map_or(&[][..], InitialValues::bytes);
        Each { bytes: size_of::<C>(), initial_values, totals }
    }

    /// The initial values of what begins in a chunk.
    fn values(&self, content: &Content) -> &'h [MaybeUninit<u8>] {
        let (Content::Whole(of) | Content::Part { of, first: true, .. }) = content else { return &[] };
        self.initial_values.get(of.start * self.bytes..of.end * self.bytes).unwrap_or_default()
    }

    /// Where the totals go that a chunk gives, and their bytes; whether it is the last one.
    fn totals(&self, content: &Content, is_last: bool) -> (*mut u8, usize) {
        match (self.totals.also, content) {
            (Also::Totals, Content::Whole(of) | Content::Part { of, last: true, .. }) => {
                (self.totals.at.wrapping_add(of.start * self.bytes), of.len() * self.bytes)
            }
            (Also::Total, _) if is_last => (self.totals.at, self.totals.bytes),
            _ => (ptr::null_mut(), 0),
        }
    }
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

    fn add(&self, elements: usize) {
        if let Some(progress) = self.progress {
            // Held during the report, so that reports are in order.
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            done.done += elements;
            progress.report(*done);
        }
    }
}

impl<Op: ScanOp, H: HostHeads, G: Goal> Scan<Op, H, G> {
    /// What goes through the device at once of `len` elements; `None` where all do. Chunks have kernels of their own,
    /// which are not compiled ahead of time: without NVRTC all elements go at once.
    pub(crate) fn chunks(
        &self,
        device: &CudaDevice,
        host: &HostPlaces,
        also: Also,
    ) -> Result<Option<Vec<Chunk>>, Error> {
        let (len, most) = (host.len, device.chunk(host.element_bytes()));
        if len <= most {
            return Ok(None);
        }
        // Keys that the planner refuses have no bytes to compare.
        self.check_planned(also)?;
        let chunks = plan::chunks(&self.heads.heads(), len, most, self.order);
        let are_there = self.has_kernels_of_chunks(device, host, &chunks, also)?;
        Ok(are_there.then_some(chunks))
    }

    /// Whether the kernels of these chunks can be had.
    fn has_kernels_of_chunks(
        &self,
        device: &CudaDevice,
        host: &HostPlaces,
        chunks: &[Chunk],
        also: Also,
    ) -> Result<bool, Error> {
        for (index, chunk) in chunks.iter().enumerate() {
            let spec = host.spec(self.spec_of_chunk(&chunk.content, also, index + 1 == chunks.len()));
            match device.kernels(&self.op, Task::Scan(spec, self.shape()), chunk.len as u64) {
                Err(Error::NoNvrtc { .. } | Error::NvrtcUnusable { .. }) => return Ok(false),
                found => found.map(drop)?,
            }
        }
        Ok(true)
    }

    /// The same of an array that is scanned along an axis.
    pub(crate) fn chunks_of_columns(
        &self,
        device: &CudaDevice,
        element_bytes: usize,
        axis: &Axis,
    ) -> Result<Option<Vec<Chunk>>, Error> {
        plan::chunks_of_columns(axis, device.chunk(element_bytes), self.order)
    }

    /// Every kernel that runs of up to `len` elements need, in chunks or not.
    pub(crate) fn load_chunks(&self, device: &CudaDevice, len: usize, also: Also) -> Result<Vec<Arc<Kernels>>, Error> {
        let (task, heads) = (self.task(also), self.heads.heads());
        let element_bytes = size_of::<Op::Input>().max(size_of::<Op::Output>());
        let most = device.chunk(element_bytes);
        let mut kernels = device.load_up_to(&self.op, &task, len.min(most))?;
        if G::FOLDS && !heads.kind.is_none() {
            kernels.extend(device.load_up_to(&self.op, &Task::LastResults(heads.kind.segments()), len.min(most))?);
        }
        if len > most {
            let part = |first| Content::Part { of: 0..1, first, last: false };
            let contents = match heads.kind {
                HeadKind::Rows { len: row } if row <= most => vec![Content::Whole(0..0)],
                HeadKind::None | HeadKind::Rows { .. } => vec![part(true), part(false)],
                _ => vec![Content::Whole(0..0), part(true), part(false)],
            };
            for content in contents {
                let task = Task::Scan(self.spec_of_chunk(&content, also, false), self.shape());
                match device.load_up_to(&self.op, &task, most) {
                    Err(Error::NoNvrtc { .. } | Error::NvrtcUnusable { .. }) => {
                        kernels.extend(device.load_up_to(&self.op, &self.task(also), len)?);
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
    fn spec_of_chunk(&self, content: &Content, also: Also, is_last: bool) -> ScanSpec {
        let Content::Part { first, .. } = content else {
            return if also == Also::Total && !is_last { self.spec() } else { also.of(self.spec()) };
        };
        let heads = self.heads.heads();
        let spec = self.spec_of_elements().with_total();
        let spec = match G::FOLDS {
            true => spec.with_kinds(ArrayKinds::default(), ArrayKinds::new([ArrayKind::NoMemory])),
            false => spec,
        };
        match (first, heads.initial_values, self.initial_value) {
            (true, None, None) => spec,
            (true, None, Some(_)) => spec.with_initial_value(),
            _ => spec.with_initial_value_on_device(),
        }
    }

    /// The same of columns: a part of them is a scan of columns with initial values and totals.
    fn spec_of_columns(&self, content: &Content, also: Also) -> ScanSpec {
        match content {
            Content::Whole(_) => also.of(self.spec()),
            Content::Part { first: true, .. } => self.spec().with_totals(),
            Content::Part { .. } => self.spec().with_totals().with_initial_values(),
        }
    }

    /// As [`run_on_device`](Scan::run_on_device), in these chunks of the whole, of which so many elements are `done`.
    ///
    /// # Safety
    ///
    /// As for [`run_on_device`](Scan::run_on_device).
    pub(super) unsafe fn run_in_chunks(
        &self,
        device: &CudaDevice,
        host: &HostPlaces,
        chunks: &[Chunk],
        totals: HostTotals,
        done: usize,
    ) -> Result<(), Error> {
        let (heads, also) = (self.heads.heads(), totals.also);
        let done = Reported::new(self.progress.as_ref(), done, host.len);
        let stream = device.context.new_stream().map_err(driver_error("creating a stream"))?;
        let each = Each::new::<Op::Carry>(&heads, totals);
        let carried =
            chunks.iter().map(|chunk| if let Content::Part { of, .. } = &chunk.content { of.len() } else { 0 });
        let states = States::new(&stream, carried.max().unwrap_or(0).saturating_mul(each.bytes))?;
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
                let spec = host.spec(match columns {
                    Some(_) => self.spec_of_columns(content, also),
                    None => self.spec_of_chunk(content, also, is_last),
                });
                let work = InOut { input: &at.input, output: &at.output, len: *len as u64, columns: columns.as_ref() };
                // SAFETY: both buffers hold the chunk, and are one buffer only where the types are the same. The
                // kernels of the part before have written the states that this one begins with, and have read those
                // which it leaves.
                unsafe { self.enqueue(device, stream, spec, work, side) }?;
                if chunk.is_part() {
                    *launched = Some(stream.record_event(None).map_err(driver_error("recording an event"))?);
                }
                turns.end();
                Ok(())
            };
            // SAFETY: the caller vouches for the host memory; the kernels write every output.
            unsafe { device.through(&memory, &enqueue) }?;
            done.add(*len);
            Ok(())
        })?;
        if also == Also::Totals && chunks.iter().any(Chunk::is_part) {
            // SAFETY: the totals are valid for writes.
            unsafe { self.write_totals_of_empty(totals.at.cast())? };
        }
        Ok(())
    }

    /// Writes the totals of the segments that no chunk has, which are empty.
    ///
    /// # Safety
    ///
    /// There is room for the total of each segment.
    unsafe fn write_totals_of_empty(&self, totals: *mut Op::Carry) -> Result<(), Error> {
        let heads = self.heads.heads();
        let HeadKind::Offsets(_) = heads.kind else { return Ok(()) };
        let values = self.initial_values();
        for index in 0..heads.segment_count(0).unwrap_or(0) {
            if heads.segment(index).is_empty() {
                let total = values.map_or_else(|| self.total_of_nothing(), |values| Ok(values[index]))?;
                // SAFETY: the caller vouches for the room.
                unsafe { totals.add(index).write(total) };
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use scan_codegen::ArrayKind::{NoMemory, Slice};

    use super::*;
    use crate::{
        ScanOp, Scanner, arrays,
        columns::{
            kinds::Lanes,
            tuples::{Sinks, Sources},
        },
        ops, scan_element, scan_op,
    };

    /// A number and its index.
    #[scan_element(crate = crate)]
    #[derive(Clone, Copy)]
    struct Numbered {
        index: u64,
        number: u16,
    }

    struct Latest;

    #[scan_op]
    impl ScanOp for Latest {
        type Element = Numbered;
        fn combine(_a: Numbered, b: Numbered) -> Numbered {
            b
        }
    }

    /// Indices and discarded results have no bytes to copy, and the latter no array; indices of a chunk begin with its first.
    #[test]
    fn indices_and_discarded_results_have_no_memory_on_a_device() {
        type Ins<'a> = (arrays::Indices, &'a [u16; 10]);
        type Outs<'a> = (&'a mut [u64; 10], arrays::Discard);
        let (numbers, mut results) = ([7_u16; 10], [0_u64; 10]);
        let mut places = |memory| {
            let lanes = Lanes { len: 10, memory, row: 10, axis: None };
            let held = Sources::<(u64, u16)>::hold((arrays::indices(), &numbers), lanes).unwrap();
            let mut to = Sinks::<(u64, u16)>::hold((&mut results, arrays::discard()), 10, memory).unwrap();
            let (input, output) = (<Ins as Sources<(u64, u16)>>::at(&held), <Outs as Sinks<(u64, u16)>>::at(&mut to));
            HostPlaces::in_columns::<Latest>(input, output, 10)
        };
        let bytes = |arrays: &[HostArray]| arrays.iter().map(|array| array.item).collect::<Vec<_>>();
        let begins = |arrays: &[HostArray]| arrays.iter().map(|array| array.at.addr()).collect::<Vec<_>>();

        let on_device = places(false);
        let (inputs, outputs) = (ArrayKinds::new([NoMemory, Slice]), ArrayKinds::new([Slice, NoMemory]));
        assert_eq!(on_device.kinds, Some((inputs, outputs)));
        assert_eq!(on_device.spec(ScanSpec::inclusive()), ScanSpec::inclusive().with_kinds(inputs, outputs));
        assert_eq!((bytes(&on_device.input), bytes(&on_device.output)), (vec![0, 2], vec![8]));
        assert_eq!((begins(&on_device.input)[0], on_device.element_bytes()), (0, 8));
        let chunk = on_device.of_chunk(&Chunk::of(4..7, Content::Whole(0..0)));
        assert_eq!((bytes(&chunk.input), bytes(&chunk.output)), (vec![0, 2], vec![8]));
        assert_eq!((chunk.len, chunk.kinds), (3, on_device.kinds));
        assert_eq!(begins(&chunk.input), [4, begins(&on_device.input)[1] + 4 * 2]);
        assert_eq!(begins(&chunk.output), [begins(&on_device.output)[0] + 4 * 8]);

        // The CPU reads and writes them like all others.
        let on_cpu = places(true);
        assert_eq!((bytes(&on_cpu.input), bytes(&on_cpu.output), on_cpu.kinds), (vec![8, 2], vec![8, 2], None));
    }

    /// The first part begins with the scan's initial value, and the others with what the part before has left.
    #[test]
    fn parts_begin_with_the_initial_value_or_with_the_total_before() {
        let sums = || Scanner::cpu().scan(ops::sum::<u32>());
        let part = |first| Content::Part { of: 0..1, first, last: false };
        let plain = ScanSpec::inclusive().with_total();
        assert_eq!(sums().spec_of_chunk(&part(true), Also::Nothing, false), plain);
        let with_value = sums().init(5).spec_of_chunk(&part(true), Also::Nothing, false);
        assert_eq!(with_value, plain.clone().with_initial_value());
        for scan in [sums(), sums().init(5)] {
            let later = scan.spec_of_chunk(&part(false), Also::Nothing, false);
            assert_eq!(later, plain.clone().with_initial_value_on_device());
        }
        let of_rows = sums().rows(100).init_each(&[1, 2]).spec_of_chunk(&part(true), Also::Nothing, false);
        assert_eq!(of_rows, plain.with_initial_value_on_device(), "the row's own value is copied to the device");
    }
}
