//! Runs over host memory on a device.

use std::{mem::MaybeUninit, ptr, sync::Arc};

use cudarc::driver::{CudaStream, sys};
use scan_codegen::{ArrayKind, ArrayKinds, Axis, ColumnLayout};

use super::{Call, Chunk, Request, Task, Totals};
use crate::{
    Error,
    arrays::{fields::HostArray, strided::each_place},
    cuda::{Constants, CudaDevice, HostMemory, InOut, Places, Runs, SideBuffers},
    device::work::DeviceWork,
    few::Few,
    heads::InitialValues,
    room::room,
};

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
    /// Arrays whose items have no bytes have no memory: indices, and results that are not written.
    pub(crate) fn new(input: Few<HostArray>, output: Few<HostArray>, len: usize, in_place: bool) -> Self {
        let has_memory = |array: &HostArray| array.item > 0;
        if input.iter().chain(output.iter()).all(has_memory) {
            return HostPlaces { input, output, len, in_place, kinds: None };
        }
        let kind = |array: &HostArray| if has_memory(array) { ArrayKind::Slice } else { ArrayKind::NoMemory };
        let [inputs, outputs] = [&input, &output].map(|arrays| ArrayKinds::new(arrays.iter().map(kind)));
        HostPlaces {
            input,
            output: output.iter().filter(|array| has_memory(array)).copied().collect(),
            len,
            in_place: false,
            kinds: Some((inputs, outputs)),
        }
    }

    /// The request of a call over these arrays.
    pub(crate) fn request(&self, request: Request) -> Request {
        let Some((input, output)) = self.kinds else { return request };
        Request { layouts: request.layouts.with_kinds(input, output), ..request }
    }

    /// Bytes of the larger of an element's input and output.
    pub(super) fn element_bytes(&self) -> usize {
        let bytes = |arrays: &[HostArray]| arrays.iter().map(|array| array.item).sum();
        usize::max(bytes(&self.input), bytes(&self.output))
    }

    /// Those of a chunk, which is in bounds.
    pub(super) fn of_chunk(&self, chunk: &Chunk) -> Self {
        let from = |arrays: &[HostArray], start: usize| -> Few<HostArray> {
            arrays.iter().map(|array| array.starting_at(start)).collect()
        };
        let (input, output) = (from(&self.input, chunk.input.start), from(&self.output, chunk.output.start));
        HostPlaces { input, output, len: chunk.len, ..*self }
    }

    /// Where the device finds the elements with index 0 in each dimension, from which kernels of columns count, and
    /// their results.
    pub(super) fn firsts(&self, layout: &ColumnLayout, at: &Places) -> (Few<sys::CUdeviceptr>, Few<sys::CUdeviceptr>) {
        let [input, output] = layout.firsts();
        let first = |places: &[sys::CUdeviceptr], arrays: &[HostArray], first: usize| -> Few<sys::CUdeviceptr> {
            places.iter().zip(arrays).map(|(place, array)| place + (first * array.item) as u64).collect()
        };
        (first(&at.input, &self.input, input), first(&at.output, &self.output, output))
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

/// Where the totals of a scan of host memory go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostTotals {
    /// Valid for writes of `bytes` bytes; null where no totals are wanted.
    pub(crate) at: *mut u8,
    pub(crate) bytes: usize,
}

impl HostTotals {
    pub(crate) const NONE: HostTotals = HostTotals { at: ptr::null_mut(), bytes: 0 };

    /// The total.
    pub(crate) fn last<T>(total: &mut MaybeUninit<T>) -> Self {
        HostTotals { at: total.as_mut_ptr().cast(), bytes: size_of::<T>() }
    }

    /// `count` totals, unless the pointer is null.
    pub(crate) fn per_segment<T>(at: *mut T, count: usize) -> Self {
        if at.is_null() {
            HostTotals::NONE
        } else {
            HostTotals { at: at.cast(), bytes: count.saturating_mul(size_of::<T>()) }
        }
    }
}

impl Call<'_> {
    /// Copies to the device, scans there, copies back, and waits for it. The heads have been checked.
    ///
    /// # Safety
    ///
    /// The arrays are valid for reads and for writes of `host.len` items. They are one, or do not overlap. The totals
    /// are valid for writes.
    pub(crate) unsafe fn scan_on_device(
        &self,
        device: &CudaDevice,
        host: &HostPlaces,
        totals: HostTotals,
    ) -> Result<(), Error> {
        if let Some(chunks) = self.chunks(device, host)? {
            // SAFETY: the caller vouches for the host memory.
            return unsafe { self.run_in_chunks(device, host, &chunks, totals, 0) };
        }
        let initial_values = self.heads.initial_values.map_or(&[][..], InitialValues::bytes);
        let HostTotals { at: total, bytes: total_bytes } = totals;
        let heads = self.heads.of_all(host.len)?;
        let memory = HostMemory { heads: &heads, initial_values, total, total_bytes, ..host.memory() };
        let task = host.request(self.request).task(self.shape());
        // SAFETY: the caller vouches for the host memory; the kernels write every output, and the totals.
        unsafe { self.through(device, &memory, host.len, &task) }
    }

    /// Copies to the device, reduces there, copies the one result back, and waits for it. In chunks the carry comes
    /// back. There is an element at least.
    ///
    /// # Safety
    ///
    /// The input is valid for reads of `host.len` items, the output for a write of the result.
    pub(crate) unsafe fn reduce_on_device(&self, device: &CudaDevice, host: &HostPlaces) -> Result<(), Error> {
        let of_chunks = Call { request: Request { totals: Totals::Last, ..self.request }, ..*self };
        let inputs = HostPlaces { output: Few::default(), in_place: false, ..*host };
        if let Some(chunks) = of_chunks.chunks(device, &inputs)? {
            // SAFETY: the caller vouches for the memory.
            return unsafe { of_chunks.reduce_chunks(device, &inputs, &chunks, 0, host.output.first()) };
        }
        let memory = HostMemory { output_len: 1, in_place: false, ..host.memory() };
        // SAFETY: the caller vouches for the memory; the last kernel writes all of the output.
        unsafe { self.through(device, &memory, host.len, &self.task()) }
    }

    /// Reduces chunks, which are all parts, and writes the result of the whole.
    ///
    /// # Safety
    ///
    /// As for [`run_in_chunks`](Call::run_in_chunks), and the output is valid for a write of the result.
    pub(super) unsafe fn reduce_chunks(
        &self,
        device: &CudaDevice,
        inputs: &HostPlaces,
        chunks: &[Chunk],
        done: usize,
        output: Option<&HostArray>,
    ) -> Result<(), Error> {
        let mut total = vec![0; self.op.carry_bytes()];
        let totals = HostTotals { at: total.as_mut_ptr(), bytes: total.len() };
        // SAFETY: the caller vouches for the input; there is room for the total, which the last chunk writes.
        let result = unsafe {
            self.run_in_chunks(device, inputs, chunks, totals, done)?;
            self.op.project(&total)?
        };
        if let Some(output) = output {
            // SAFETY: the caller vouches for the output.
            unsafe { ptr::copy_nonoverlapping(result.as_ptr(), output.at, result.len()) };
        }
        Ok(())
    }

    /// Reduces ranges of an input, which have been checked, into a result for each. Those of ranges without elements are
    /// copies of `any_result`, where kernels write one.
    ///
    /// # Safety
    ///
    /// The input is valid for reads of `host.len` items, the output for a write of a result for each range.
    pub(crate) unsafe fn reduce_ranges_on_device(
        &self,
        device: &CudaDevice,
        host: &HostPlaces,
        ranges: usize,
        any_result: &[u8],
    ) -> Result<(), Error> {
        let bounds = self.heads.bounds_of_ranges()?;
        let initial_values = self.heads.initial_values.map_or(&[][..], InitialValues::bytes);
        let memory =
            HostMemory { heads: &bounds, initial_values, output_len: ranges, in_place: false, ..host.memory() };
        let enqueue = |stream: &Arc<CudaStream>, at: Places| {
            let work = DeviceWork::new(self, device, stream, Runs::Once(host.len), || Ok(any_result.to_vec()))?;
            let range_ends = at.heads + bounds.len() as u64 / 2;
            let initial = at.initial_values;
            let side = SideBuffers { heads: at.heads, range_ends, initial, ..SideBuffers::default() };
            let buffers = InOut { input: &at.input, output: &at.output, len: host.len as u64, columns: None };
            // SAFETY: the buffers hold the input, and have room for a result of each range; there are as many begins as
            // ends, and as initial values, if there are any.
            unsafe { work.enqueue(stream, side, buffers, ranges as u64) }
        };
        // SAFETY: the caller vouches for the host memory; the kernel writes every result.
        unsafe { device.through(&memory, &enqueue) }?;
        self.report_all(host.len);
        Ok(())
    }

    /// Has the kernels work on `len` elements of host memory, and waits for them.
    ///
    /// # Safety
    ///
    /// The host memory is valid: the input for reads of `len` elements, the output for writes of as many results as
    /// come of them, heads and total as the task requires.
    unsafe fn through(
        &self,
        device: &CudaDevice,
        memory: &HostMemory<'_>,
        len: usize,
        task: &Task,
    ) -> Result<(), Error> {
        let kernels = device.kernels(self.op, task, len as u64)?;
        if len == 0 {
            self.report_all(len);
            return Ok(());
        }
        let enqueue = |stream: &Arc<CudaStream>, at: Places| {
            let constants = Constants::new(stream, self.op, self.initial_bytes())?;
            let (head_count, initial, total) = (self.heads.head_count(), at.initial_values, at.total);
            let side = SideBuffers { heads: at.heads, head_count, initial, total, ..SideBuffers::default() };
            let work = InOut { input: &at.input, output: &at.output, len: len as u64, columns: None };
            // SAFETY: the buffers hold as many elements and results as the caller vouches for, and are one buffer only
            // where the types are the same; the heads have been checked.
            unsafe { kernels.enqueue(stream, &constants, side, work) }
        };
        // SAFETY: the caller vouches for the host memory; the kernels write every result, and the total.
        unsafe { device.through(memory, &enqueue) }?;
        self.report_all(len);
        Ok(())
    }

    /// Copies an array that is scanned along an axis to the device, scans it there, copies the results back, and waits
    /// for it.
    ///
    /// # Safety
    ///
    /// The arrays of the input are valid for reads of the axis's `input_len` items, those of the output for writes of
    /// its `output_len` items. They are one, and each result in the place of its element, or they do not overlap. The
    /// totals are valid for writes.
    pub(crate) unsafe fn scan_columns_on_device(
        &self,
        device: &CudaDevice,
        axis: &Axis,
        host: &HostPlaces,
        totals: HostTotals,
    ) -> Result<(), Error> {
        let has_own_memory = match (host.input.first(), host.output.first()) {
            (Some(input), Some(output)) => input.at != output.at,
            (_, output) => output.is_some(),
        };
        match has_own_memory && axis.output_len() != axis.len() {
            // SAFETY: the caller vouches for the memory.
            true => unsafe { self.scan_columns_with_gaps(device, axis, host, totals) },
            // SAFETY: as above; every element of the output is a result, or the output is the input.
            false => unsafe { self.scan_all_columns(device, axis, &axis.layout(), host, totals) },
        }
    }

    /// Scans where results leave gaps: they come back without, and each is put in its place.
    ///
    /// # Safety
    ///
    /// As for [`scan_columns_on_device`](Call::scan_columns_on_device).
    unsafe fn scan_columns_with_gaps(
        &self,
        device: &CudaDevice,
        axis: &Axis,
        host: &HostPlaces,
        totals: HostTotals,
    ) -> Result<(), Error> {
        let (shape, (input_strides, output_strides)) = (axis.shape(), axis.both_strides());
        let dense = Axis::of(shape, axis.axis())?.input_strides(input_strides)?;
        let bytes = |array: &HostArray| room::<u8>(dense.len().saturating_mul(array.item));
        let mut results = host.output.iter().map(bytes).collect::<Result<Vec<_>, _>>()?;
        let dense_array =
            |(results, array): (&mut Vec<u8>, &HostArray)| HostArray { at: results.as_mut_ptr(), item: array.item };
        let output: Few<HostArray> = results.iter_mut().zip(host.output.iter()).map(dense_array).collect();
        let of_dense = HostPlaces { input: host.input, output, ..*host };
        // SAFETY: the caller vouches for the input; the vectors have room for the results.
        unsafe { self.scan_all_columns(device, &dense, &dense.layout(), &of_dense, totals)? };
        // The first result need not lie as far as possible in front, where there are others beside those of this scan.
        let before = axis.layout().firsts()[1].wrapping_sub(axis.first_and_len(output_strides)?.0);
        let mut result = 0;
        each_place(shape, [output_strides], |_, [place]| {
            let place = place.wrapping_add(before);
            for (HostArray { at: from, item }, to) in output.iter().zip(host.output.iter()) {
                // SAFETY: the kernel has written the results; the caller vouches for the output.
                unsafe { ptr::copy_nonoverlapping(from.add(result * item), to.at.add(place * item), *item) };
            }
            result += 1;
        });
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`scan_columns_on_device`](Call::scan_columns_on_device); and every element of the output is a result, or
    /// the output is the input.
    unsafe fn scan_all_columns(
        &self,
        device: &CudaDevice,
        axis: &Axis,
        layout: &ColumnLayout,
        host: &HostPlaces,
        totals: HostTotals,
    ) -> Result<(), Error> {
        let host = &HostPlaces { in_place: host.in_place && axis.lies_the_same(), ..*host };
        if let Some(chunks) = self.chunks_of_columns(device, host.element_bytes(), axis)? {
            // SAFETY: the caller vouches for the host memory.
            return unsafe { self.run_in_chunks(device, host, &chunks, totals, 0) };
        }
        let memory = HostMemory {
            initial_values: self.heads.initial_values.map_or(&[][..], InitialValues::bytes),
            total: totals.at,
            total_bytes: totals.bytes,
            input_len: axis.input_len(),
            output_len: axis.output_len(),
            ..host.memory()
        };
        let enqueue = |stream: &Arc<CudaStream>, at: Places| {
            let (input, output) = host.firsts(layout, &at);
            let buffers = InOut { input: &input, output: &output, len: axis.len() as u64, columns: Some(layout) };
            let side = SideBuffers { initial: at.initial_values, total: at.total, ..SideBuffers::default() };
            // SAFETY: the buffers hold the array, the results, and what each column has of its own.
            unsafe { self.enqueue(device, stream, &host.request(self.request), buffers, side) }
        };
        // SAFETY: the caller vouches for the host memory; the kernel writes every result.
        unsafe { device.through(&memory, &enqueue) }?;
        self.report_all(axis.len());
        Ok(())
    }

    /// Enqueues a scan: of columns, where `buffers` has these.
    ///
    /// # Safety
    ///
    /// As for [`Kernels::enqueue`](crate::cuda::Kernels::enqueue), but for the constants.
    pub(crate) unsafe fn enqueue(
        &self,
        device: &CudaDevice,
        stream: &Arc<CudaStream>,
        request: &Request,
        buffers: InOut<'_>,
        side: SideBuffers,
    ) -> Result<(), Error> {
        let constants = Constants::new(stream, self.op, self.initial_bytes())?;
        let (spec, shape) = (request.spec(), self.shape());
        let kernels = match buffers.columns {
            Some(columns) => {
                let task = Task::Columns(spec, shape);
                device.kernels_of_columns(self.op, &task, columns, (buffers.input, buffers.output))?
            }
            None => device.kernels(self.op, &Task::Scan(spec, shape), buffers.len)?,
        };
        // SAFETY: the caller vouches for the buffers; the constants are those of the operator.
        unsafe { kernels.enqueue(stream, &constants, side, buffers) }
    }
}

#[cfg(test)]
mod tests {
    use scan_codegen::ArrayKind::{NoMemory, Slice};

    use super::{super::chunks::Content, *};
    use crate::{
        ScanOp, Scanner, arrays,
        arrays::Lanes,
        arrays::{HostInput, HostOutput},
        call::Totals,
        cpu::{Both, Memory},
        scan_element, scan_op,
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

    /// Indices and discarded results have no bytes to copy, and the latter no array; indices of a chunk begin with its
    /// first.
    #[test]
    fn indices_and_discarded_results_have_no_memory_on_a_device() {
        fn held<I: HostInput<Numbered>, O: HostOutput<Numbered>>(input: I, output: O, memory: bool) -> HostPlaces {
            let lanes = Lanes { len: 10, part: 10, memory, device: true, row: 10, axis: None };
            let (input, mut output) = (input.hold(0, lanes).unwrap(), output.hold(0, lanes).unwrap());
            Memory::<Latest>::host(Both { input: I::at(&input), output: O::at(&mut output, 0) }, 10)
        }
        let (numbers, mut results) = ([7_u16; 10], [0_u64; 10]);
        let mut places = |memory| held((arrays::indices(), &numbers), (&mut results, arrays::discard()), memory);
        let bytes = |arrays: &[HostArray]| arrays.iter().map(|array| array.item).collect::<Vec<_>>();
        let begins = |arrays: &[HostArray]| arrays.iter().map(|array| array.at.addr()).collect::<Vec<_>>();

        let on_device = places(false);
        let (inputs, outputs) = (ArrayKinds::new([NoMemory, Slice]), ArrayKinds::new([Slice, NoMemory]));
        assert_eq!(on_device.kinds, Some((inputs, outputs)));
        let request = Scanner::cpu().scan(Latest).host_call().call(Totals::None).request;
        assert_eq!(on_device.request(request).spec(), request.spec().with_kinds(inputs, outputs));
        assert_eq!((bytes(&on_device.input), bytes(&on_device.output)), (vec![0, 2], vec![8]));
        assert_eq!((begins(&on_device.input)[0], on_device.element_bytes()), (0, 8));
        let chunk = on_device.of_chunk(&Chunk::of(4..7, Content::Whole(0..0)));
        assert_eq!((bytes(&chunk.input), bytes(&chunk.output)), (vec![0, 2], vec![8]));
        assert_eq!((chunk.len, chunk.kinds), (3, on_device.kinds));
        assert_eq!(begins(&chunk.input), [4, begins(&on_device.input)[1] + 4 * 2]);
        assert_eq!(begins(&chunk.output), [begins(&on_device.output)[0] + 4 * 8]);

        // Kernels of columns read indices in memory.
        let of_columns = places(true);
        assert_eq!((bytes(&of_columns.input), bytes(&of_columns.output)), (vec![8, 2], vec![8]));
    }
}
