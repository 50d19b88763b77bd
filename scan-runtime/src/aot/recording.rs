//! What a program would run on a device, noted while it runs on the CPU.

use std::{
    convert::Infallible,
    fmt,
    sync::{Mutex, PoisonError},
};

use scan_codegen::{ColumnLayout, DeviceLimits, OpSource};

use super::{OfOperator, Precompile, Wanted};
use crate::{
    Error, Scanner, Staging,
    call::{Call, LoadsKernels, Task},
    cuda,
    erased::Erased,
};

/// The kernels of a program's calls, found by making the calls.
///
/// The calls of its [scanner](Recording::scanner) run on the CPU and give the same results as on any CPU scanner. For
/// each call, and for each handle that is prepared, the recording notes the kernels that the same call needs on a
/// device. A [`Bundle`](super::Bundle) then compiles all of them, each once, and
/// [`Precompiled::missing`](super::Precompiled::missing) names those that a file lacks.
///
/// ```no_run
/// use scan_runtime::{Error, Scanner, aot::{Bundle, Recording}, ops};
///
/// /// Everything that the program scans, over a few elements.
/// fn program(scanner: &Scanner) -> Result<(), Error> {
///     let sums = scanner.scan(ops::sum::<f32>()).exclusive();
///     assert_eq!(sums.run(&[1.0, 2.0, 3.0])?, [0.0, 1.0, 3.0]);
///     assert_eq!(scanner.reduce(ops::max()).by_keys(&[7_u64, 7, 8]).run(&[3, 5, 1])?, [5, 1]);
///     Ok(())
/// }
///
/// let recording = Recording::new();
/// program(recording.scanner())?;
/// Bundle::new().architecture("sm_80").architecture("sm_90").with(&recording).write("kernels.scan")?;
/// # Ok::<(), Error>(())
/// ```
///
/// Few elements are enough: a bundle has the kernels for every length. Only a call over more host memory than a
/// [chunk](Staging::with_chunk_bytes) of 32 MiB has further kernels, which carry the total from one chunk to the next.
/// They are noted where a recorded call, or the `max_len` of a handle, is that long. Without them and without NVRTC all
/// elements go through the device at once; along an axis that is cut, the call is [`Error::NotPrecompiled`].
///
/// # Errors
///
/// A call is [`Error::Plan`] if a device of the recording's limits does not support it, and `Bundle::compile` if one of
/// its other architectures does not. A call that ends in an error may have been noted.
///
/// # Device memory
///
/// Calls over device memory need a device, so they cannot be recorded. Over slices they need the kernels of the same
/// call over host memory, also along an axis: record that call. Of a reduction whose results the host makes of totals
/// (along an axis, from the right, of several arrays to one result), the kernels that make them are noted, too.
/// Scans and reductions of or into arrays that are gathered, scattered or computed, which the host prepares in host
/// memory, and reductions into several arrays need others: add [`Scan::kernels_like`](crate::Scan::kernels_like). The
/// kernels of `init_from`, `init_late` and `len_from` cannot be compiled ahead of time.
///
/// # Side
///
/// A scanner with a GPU that [may choose](crate::HostMemory) runs some calls over host memory on the CPU. They are
/// recorded like all others, because the choice depends on the machine.
#[derive(Clone)]
pub struct Recording {
    scanner: Scanner,
}

impl Recording {
    /// An empty recording. Calls are planned for an [H200](DeviceLimits::H200).
    pub fn new() -> Self {
        Recording::for_device(DeviceLimits::H200)
    }

    /// The same, with calls planned for a device with these limits: what it does not support is an error of the call.
    pub fn for_device(limits: DeviceLimits) -> Self {
        Recording { scanner: Scanner::recorded(limits) }
    }

    /// The scanner whose calls are noted, those of its clones as well.
    pub fn scanner(&self) -> &Scanner {
        &self.scanner
    }
}

impl Default for Recording {
    fn default() -> Self {
        Recording::new()
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = self.wanted();
        let operators: Vec<_> = wanted.operators.iter().map(|of| (&of.operator.name, of.tasks.len())).collect();
        f.debug_struct("Recording").field("scans_of_operators", &operators).finish_non_exhaustive()
    }
}

impl Precompile for Recording {
    fn wanted(&self) -> Wanted {
        self.scanner.notes().map(Notes::wanted).unwrap_or_default()
    }
}

/// The notes of a scanner that records.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    wanted: Mutex<Wanted>,
}

impl Notes {
    fn wanted(&self) -> Wanted {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes the kernels that a device would load for runs of up to `len` elements.
    pub(crate) fn note(&self, call: &Call<'_>, len: usize) -> Result<(), Error> {
        let notes = NotesOf { notes: self, operator: call.op.checked_source()?, limits: call.scanner.limits() };
        call.load_chunks(&notes, len).map(drop)
    }

    /// Notes the kernels of the same reduction over slices of device memory.
    pub(crate) fn note_on_device(&self, call: &Call<'_>) -> Result<(), Error> {
        let notes = NotesOf { notes: self, operator: call.op.checked_source()?, limits: call.scanner.limits() };
        for task in call.device_tasks() {
            match notes.add(&task) {
                // The call is over host memory, and needs none of these: a plan that there is not is no error of it.
                Ok(_) | Err(Error::Plan(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The notes of a call.
struct NotesOf<'n> {
    notes: &'n Notes,
    operator: OpSource,
    limits: DeviceLimits,
}

impl NotesOf<'_> {
    fn add(&self, task: &Task) -> Result<Vec<Infallible>, Error> {
        let mut wanted = self.notes.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let known = wanted.operators.iter().position(|of| of.operator == self.operator);
        if known.is_some_and(|index| wanted.operators[index].tasks.contains(task)) {
            return Ok(Vec::new());
        }
        // What cannot be planned or written is an error of the call.
        cuda::sources(&self.operator, task, &self.limits)?;
        match known {
            Some(index) => wanted.operators[index].tasks.push(task.clone()),
            None => wanted.operators.push(OfOperator { operator: self.operator.clone(), tasks: vec![task.clone()] }),
        }
        Ok(Vec::new())
    }
}

impl LoadsKernels for NotesOf<'_> {
    type Kernels = Infallible;

    fn chunk(&self, element_bytes: usize) -> usize {
        Staging::default().chunk(element_bytes)
    }

    fn load_up_to(&self, _: &dyn Erased, task: &Task, _: usize) -> Result<Vec<Infallible>, Error> {
        self.add(task)
    }

    fn load_all_columns(&self, _: &dyn Erased, task: &Task, _: &ColumnLayout) -> Result<Vec<Infallible>, Error> {
        self.add(task)
    }
}
