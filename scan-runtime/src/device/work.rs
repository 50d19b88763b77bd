//! What a run over device memory enqueues.

use std::sync::Arc;

use cudarc::driver::{CudaStream, result, sys};
use scan_codegen::{ColumnLayout, ScanSpec, Segments};

use crate::{
    Error, SegmentOffset,
    call::{Call, Initial, Layouts, Request, Task},
    cuda::{Constants, CudaDevice, DeviceMemory, InOut, Runs, SideBuffers, Work, bind, driver_error},
    heads::HeadKind,
};

/// A scan or a reduction; or, for a total of each segment, a scan and what takes the last result of each out of it.
#[derive(Debug)]
pub(crate) struct DeviceWork {
    work: Work,
    /// Whether it reduces ranges: its launches are for as many as there are results.
    is_of_ranges: bool,
    /// Whether it is a reduction whose results are the totals of a scan.
    takes_totals: bool,
    last_results: Option<LastResults>,
}

#[derive(Debug)]
struct LastResults {
    work: Work,
    /// The source of segment heads.
    heads: HeadKind,
    /// The scan's results.
    scanned: DeviceMemory,
}

impl LastResults {
    /// Of up to `len` elements between these heads.
    fn new(
        call: &Call<'_>,
        device: &CudaDevice,
        stream: &Arc<CudaStream>,
        (spec, heads): (ScanSpec, HeadKind),
        (runs, len): (Runs, usize),
        of_nothing: Option<Vec<u8>>,
    ) -> Result<Self, Error> {
        let constants = Constants::new(stream, call.op, of_nothing)?;
        let work = Work::new(device, stream, call.op, constants, &Task::LastResults(spec), runs)?;
        let bytes = (len as u64).saturating_mul(call.op.output_bytes() as u64);
        Ok(LastResults { work, heads, scanned: DeviceMemory::new(stream, bytes)? })
    }
}

impl DeviceWork {
    /// `of_nothing` gives the bytes of the result of an empty segment.
    pub(crate) fn new(
        call: &Call<'_>,
        device: &CudaDevice,
        stream: &Arc<CudaStream>,
        runs: Runs,
        of_nothing: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<Self, Error> {
        let request = call.request;
        if request.ranges().is_some() {
            let needs_one = request.initial == Initial::None;
            let initial = if needs_one { Some(of_nothing()?) } else { call.initial_bytes() };
            let constants = Constants::new(stream, call.op, initial)?;
            let work = Work::new(device, stream, call.op, constants, &request.task(call.shape()), runs)?;
            return Ok(DeviceWork { work, is_of_ranges: true, takes_totals: false, last_results: None });
        }
        let constants = Constants::new(stream, call.op, call.initial_bytes())?;
        let (Runs::Once(len) | Runs::Often(len)) = runs;
        if let Some(request) = request.by_totals(call.op, len).filter(|_| device.totals_are_results(call.op)) {
            let work = Work::new(device, stream, call.op, constants, &request.task(call.shape()), runs)?;
            return Ok(DeviceWork { work, is_of_ranges: false, takes_totals: true, last_results: None });
        }
        let scan = Call { request: request.scanned(false), ..*call };
        let work = Work::new(device, stream, call.op, constants, &scan.task(), runs)?;
        let last_results = request.last_results(false).map(|spec| {
            // Only between offsets can segments be empty; the host does not see whether one is.
            let needs_one = matches!(spec.segments, Segments::Offsets(_)) && !spec.initial_values;
            let of_nothing = needs_one.then(of_nothing).transpose()?;
            LastResults::new(call, device, stream, (spec, request.heads), (runs, len), of_nothing)
        });
        Ok(DeviceWork { work, is_of_ranges: false, takes_totals: false, last_results: last_results.transpose()? })
    }

    /// Along an axis of an array that lies like this: of one run over arrays at these addresses, or of many.
    pub(super) fn along_axis(
        call: &Call<'_>,
        device: &CudaDevice,
        stream: &Arc<CudaStream>,
        layout: &ColumnLayout,
        addresses: Option<(&[u64], &[u64])>,
    ) -> Result<Self, Error> {
        let (request, constants) = (call.request, Constants::new(stream, call.op, call.initial_bytes())?);
        let takes_totals = request.reduction.is_some();
        let task = Task::Columns(request.scanned(true).spec(), call.shape());
        let columns = layout.columns() as usize;
        let (work, runs) = match addresses {
            None => (Work::along_axis(device, stream, call.op, constants, &task, layout)?, Runs::Often(columns)),
            Some((input, output)) => {
                let output = if takes_totals { &[0][..] } else { output };
                let kernels = device.kernels_of_columns(call.op, &task, layout, (input, output))?;
                (Work::Once { kernels, constants }, Runs::Once(columns))
            }
        };
        let last_results = request.last_results(true).map(|spec| {
            LastResults::new(call, device, stream, (spec, HeadKind::Rows { len: 1 }), (runs, columns), None)
        });
        Ok(DeviceWork { work, is_of_ranges: false, takes_totals, last_results: last_results.transpose()? })
    }

    /// Enqueues it on the stream that it was made for. `results` is how many the output has room for.
    ///
    /// # Safety
    ///
    /// As for [`Work::enqueue`]: but for the output, which has room for so many results.
    pub(crate) unsafe fn enqueue(
        &self,
        stream: &Arc<CudaStream>,
        side: SideBuffers,
        buffers: InOut,
        results: u64,
    ) -> Result<(), Error> {
        let InOut { output, len, .. } = buffers;
        if self.is_of_ranges {
            let side = SideBuffers { head_count: len, ..side };
            // SAFETY: the caller vouches for the buffers; nothing beyond the elements is read, whatever the ranges are.
            return unsafe { self.work.enqueue(stream, side, InOut { len: results, ..buffers }) };
        }
        let scanned = self.last_results.as_ref().map(|last_results| last_results.scanned.pointer());
        let (of_scan, total) = match (self.takes_totals, scanned) {
            (true, scanned) => ([0], scanned.or_else(|| output.first().copied()).unwrap_or_default()),
            (false, Some(scanned)) => ([scanned], 0),
            // SAFETY: the caller vouches for the buffers.
            (false, None) => return unsafe { self.work.enqueue(stream, side, buffers) },
        };
        if len > 0 {
            let side = SideBuffers { total, ..side };
            // SAFETY: as above, for the input; the results of the scan are as many as its elements, or as its columns.
            unsafe { self.work.enqueue(stream, side, InOut { output: &of_scan, ..buffers })? };
        }
        let Some(LastResults { work, heads, scanned }) = &self.last_results else { return Ok(()) };
        // As the plan's schedule wants it.
        let (len, head_count) = match *heads {
            HeadKind::Rows { len: 1 } if self.takes_totals => (results, 1),
            HeadKind::Rows { .. } => (results, side.head_count),
            HeadKind::Offsets(_) => (results, len),
            _ => (len, results),
        };
        // SAFETY: the output has room for the results; what is read of the scan's lies within it, whatever the offsets
        // say.
        unsafe {
            work.enqueue(
                stream,
                SideBuffers { head_count, ..side },
                InOut { input: &[scanned.pointer()], output, len, columns: None },
            )
        }
    }
}

/// Writes results of no elements by a kernel: they are those of segments without elements.
#[derive(Debug)]
pub(crate) struct OfNothing {
    work: Work,
    /// Offsets, one more than results.
    zeros: DeviceMemory,
}

impl OfNothing {
    /// Whether a reduction needs it: its results do not lie in one slice, or are not all the same.
    pub(crate) fn is_needed(call: &Call<'_>) -> bool {
        let request = &call.request;
        request.reduction.is_some()
            && (request.initial == Initial::Each || request.layouts.output != Layouts::default().output)
    }

    /// The kernels of such a reduction: between offsets.
    pub(crate) fn task(call: &Call<'_>) -> Task {
        let request = Request { heads: HeadKind::Offsets(u32::TYPE), ..call.request };
        Task::LastResults(request.last_results(false).unwrap_or_default())
    }

    /// Of as many results as the runs have.
    pub(super) fn new(
        call: &Call<'_>,
        device: &CudaDevice,
        stream: &Arc<CudaStream>,
        runs: Runs,
    ) -> Result<Self, Error> {
        let of_nothing = (call.request.initial != Initial::Each).then(|| call.result_of_nothing()).transpose()?;
        let constants = Constants::new(stream, call.op, of_nothing)?;
        let work = Work::new(device, stream, call.op, constants, &Self::task(call), runs)?;
        let (Runs::Once(results) | Runs::Often(results)) = runs;
        let bytes = (results + 1) * size_of::<u32>();
        let zeros = DeviceMemory::new(stream, bytes as u64)?;
        bind(stream)?;
        // SAFETY: the memory has been allocated on this stream, with so many bytes.
        unsafe { result::memset_d8_async(zeros.pointer(), 0, bytes, stream.cu_stream()) }
            .map_err(driver_error("zeroing device memory"))?;
        Ok(OfNothing { work, zeros })
    }

    /// Enqueues it on the stream that it was made for.
    ///
    /// # Safety
    ///
    /// The output has room for so many results as it was made for; `initial` are as many initial values, if there is
    /// one for each.
    pub(super) unsafe fn enqueue(
        &self,
        stream: &Arc<CudaStream>,
        initial: sys::CUdeviceptr,
        output: &[u64],
        results: u64,
    ) -> Result<(), Error> {
        let side = SideBuffers { heads: self.zeros.pointer(), initial, ..SideBuffers::default() };
        let buffers = InOut { input: &[0], output, len: results, columns: None };
        // SAFETY: the caller vouches for the buffers; there is an offset more than results.
        unsafe { self.work.enqueue(stream, side, buffers) }
    }
}
