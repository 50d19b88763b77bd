//! What a run over device memory enqueues.

use std::{fmt, sync::Arc};

use cudarc::driver::CudaStream;

use crate::{
    Error, Goal, HostHeads, NoHeads, Scan, ScanOp,
    columns::Layouts,
    cuda::{Constants, CudaDevice, DeviceMemory, InOut, Runs, SideBuffers, Task, Work},
    heads::HeadKind,
    scan::Also,
};

/// Whether an initial value is in device memory, or one for each segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitialOnDevice {
    None,
    One,
    /// It arrives late.
    Late,
    Each,
}

/// What a run brings besides input and output, as far as the kernels differ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brings {
    pub(crate) heads: HeadKind,
    pub(crate) also: Also,
    pub(crate) initial: InitialOnDevice,
    /// The number of elements.
    pub(crate) len: bool,
    /// In how many arrays input and output lie.
    pub(crate) layouts: Layouts,
}

impl fmt::Display for Brings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = match self.also {
            Also::Nothing => "no total",
            Also::Total => "a total",
            Also::Totals => "the total of each segment",
        };
        let initial = match self.initial {
            InitialOnDevice::None => "no initial value in device memory",
            InitialOnDevice::One => "initial value in device memory",
            InitialOnDevice::Late => "an initial value that arrives late",
            InitialOnDevice::Each => "an initial value of each segment in device memory",
        };
        write!(f, "{}, {total}, {initial}", self.heads.name())?;
        if self.len {
            f.write_str(", a length in device memory")?;
        }
        let Layouts { input, output } = self.layouts;
        match (self.layouts == Layouts::default(), input.1.are_slices() && output.1.are_slices()) {
            (true, _) => Ok(()),
            (false, true) => f.write_str(", columns"),
            (false, false) => write!(f, ", columns from {:?} to {:?}", input.1, output.1),
        }
    }
}

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

/// What a device is asked for by a run that brings this.
pub(crate) fn task<Op: ScanOp, H: HostHeads, G: Goal>(scan: &Scan<Op, H, G>, brings: Brings) -> Task {
    if G::FOLDS && brings.heads.is_none() {
        return scan.task(Also::Nothing);
    }
    let spec = scan.spec().with_segments(brings.heads.segments());
    let spec = brings.layouts.of(spec);
    let spec = match brings.initial {
        InitialOnDevice::None => spec,
        InitialOnDevice::One => spec.with_initial_value_on_device(),
        InitialOnDevice::Late => spec.with_late_initial_value(),
        InitialOnDevice::Each => spec.with_initial_values(),
    };
    let spec = if brings.len { spec.with_length_on_device() } else { spec };
    Task::Scan(brings.also.of(spec), scan.shape())
}

impl DeviceWork {
    pub(crate) fn new<Op: ScanOp, G: Goal>(
        scan: &Scan<Op, NoHeads, G>,
        device: &CudaDevice,
        stream: &Arc<CudaStream>,
        brings: Brings,
        runs: Runs,
    ) -> Result<Self, Error> {
        DeviceWork::with_nothing(scan, device, stream, brings, runs, || scan.result_of_nothing())
    }

    /// The same with another result of empty segments.
    pub(crate) fn with_nothing<Op: ScanOp, H: HostHeads, G: Goal>(
        scan: &Scan<Op, H, G>,
        device: &CudaDevice,
        stream: &Arc<CudaStream>,
        brings: Brings,
        runs: Runs,
        of_nothing: impl FnOnce() -> Result<Op::Output, Error>,
    ) -> Result<Self, Error> {
        let constants = Constants::new(stream, &scan.op, scan.initial_value.as_ref())?;
        let work = Work::new(device, stream, &scan.op, constants, task(scan, brings), runs)?;
        let last_results = (G::FOLDS && !brings.heads.is_none()).then(|| {
            // Only where offsets tell them can segments be empty; the host does not see whether one is.
            let of_nothing = match brings.heads {
                HeadKind::Offsets(_) => Some(of_nothing()?),
                _ => None,
            };
            let constants = Constants::new(stream, &scan.op, of_nothing.as_ref())?;
            let task = Task::LastResults(brings.heads.segments());
            let work = Work::new(device, stream, &scan.op, constants, task, runs)?;
            let (Runs::Once(len) | Runs::Often(len)) = runs;
            let bytes = (len as u64).saturating_mul(size_of::<Op::Output>() as u64);
            Ok::<_, Error>(LastResults { work, heads: brings.heads, scanned: DeviceMemory::new(stream, bytes)? })
        });
        Ok(DeviceWork { work, last_results: last_results.transpose()? })
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
