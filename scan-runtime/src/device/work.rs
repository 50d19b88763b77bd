//! What a run over device memory enqueues.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use scan_codegen::ColumnLayout;

use crate::{
    Error,
    call::{Call, Task},
    cuda::{Constants, CudaDevice, DeviceMemory, InOut, Runs, SideBuffers, Work},
    heads::HeadKind,
};

/// A scan or a reduction; or, for a total of each segment, a scan and what takes the last result of each out of it.
#[derive(Debug)]
pub(crate) struct DeviceWork {
    work: Work,
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

impl DeviceWork {
    /// `of_nothing` gives the bytes of the result of an empty segment.
    pub(crate) fn new(
        call: &Call<'_>,
        device: &CudaDevice,
        stream: &Arc<CudaStream>,
        runs: Runs,
        of_nothing: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<Self, Error> {
        let (op, heads) = (call.op, call.request.heads);
        let constants = Constants::new(stream, op, call.initial_bytes())?;
        let work = Work::new(device, stream, op, constants, &call.task(), runs)?;
        let last_results = (call.request.reduction.is_some() && !heads.is_none()).then(|| {
            // Only between offsets can segments be empty; the host does not see whether one is.
            let of_nothing = matches!(heads, HeadKind::Offsets(_)).then(of_nothing).transpose()?;
            let constants = Constants::new(stream, op, of_nothing)?;
            let work = Work::new(device, stream, op, constants, &Task::LastResults(heads.segments()), runs)?;
            let (Runs::Once(len) | Runs::Often(len)) = runs;
            let bytes = (len as u64).saturating_mul(op.output_bytes() as u64);
            Ok::<_, Error>(LastResults { work, heads, scanned: DeviceMemory::new(stream, bytes)? })
        });
        Ok(DeviceWork { work, last_results: last_results.transpose()? })
    }

    /// For many runs along an axis of an array that lies like this.
    pub(super) fn along_axis(
        call: &Call<'_>,
        device: &CudaDevice,
        stream: &Arc<CudaStream>,
        layout: &ColumnLayout,
    ) -> Result<Self, Error> {
        let constants = Constants::new(stream, call.op, call.initial_bytes())?;
        let task = Task::Columns(call.spec(), call.shape());
        let work = Work::along_axis(device, stream, call.op, constants, &task, layout)?;
        Ok(DeviceWork { work, last_results: None })
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
        let Some(LastResults { work, heads, scanned }) = &self.last_results else {
            // SAFETY: the caller vouches for the buffers.
            return unsafe { self.work.enqueue(stream, side, buffers) };
        };
        let InOut { output, len, .. } = buffers;
        let scanned = scanned.pointer();
        if len > 0 {
            let side = SideBuffers { total: 0, ..side };
            // SAFETY: as above, for the input; the results of the scan are as many as its elements.
            unsafe { self.work.enqueue(stream, side, InOut { output: &[scanned], ..buffers })? };
        }
        // As the plan's schedule wants it.
        let (len, head_count) = match heads {
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
                InOut { input: &[scanned], output, len, columns: None },
            )
        }
    }
}
