//! The errors of this crate, each with its remedy.

use std::{error, fmt, path::PathBuf, sync::Arc};

use cudarc::driver::DriverError;
use scan_codegen::{Architecture, AxisError, PlanError, RenderError};

use crate::nvrtc::{INSTALL_COMMAND, NvrtcError};

/// Errors of this crate. What the driver, NVRTC or the system says about one is its
/// [`source`](std::error::Error::source).
///
/// `Debug` writes the message with its remedy, and the sources: a `main` that returns a `Result` prints that.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine has no CUDA driver.
    #[error("no CUDA driver: the loader finds no {library}; install NVIDIA's driver, or use `Scanner::cpu()`")]
    NoDriver {
        /// The library that was looked for.
        library: String,
    },
    /// There is a driver, but no device that it can use.
    #[error("no CUDA device; check `nvidia-smi` and CUDA_VISIBLE_DEVICES, or use `Scanner::cpu()`")]
    NoDevice {
        /// The driver's error; `None` if it succeeds and finds no device.
        source: Option<DriverError>,
    },
    /// There is no device with the requested number.
    #[error("there is no CUDA device {index}: this machine has {count}, numbered from 0")]
    DeviceIndex {
        /// The requested number.
        index: usize,
        /// How many devices there are.
        count: usize,
    },
    /// The environment variable that chooses the device has an invalid value.
    #[error("{variable} is `{value}`; set it to `cpu` or to the number of a CUDA device", variable = crate::DEVICE_VARIABLE)]
    DeviceVariable {
        /// Its value.
        value: String,
    },
    /// The runtime compiler library cannot be found.
    #[error(
        "no NVRTC (CUDA's run-time compiler) found; install it with `{INSTALL_COMMAND}`, or set {env} to its path, or compile \
         the kernels ahead of time (`scan_runtime::aot`); searched {places}",
        env = crate::nvrtc::LIBRARY_VARIABLE,
        places = places(searched)
    )]
    NoNvrtc {
        /// Every place that was searched.
        searched: Vec<PathBuf>,
    },
    /// Kernels cannot be compiled ahead of time.
    #[error("kernels cannot be compiled ahead of time: {reason}")]
    Bundle {
        /// The obstacle, and what to do.
        reason: String,
        /// The system's error.
        source: Option<Cause>,
    },
    /// The bytes that a scanner was given as precompiled kernels are something else, or damaged.
    #[error("the precompiled kernels cannot be used: {reason}; make them anew with `scan_runtime::aot::Bundle`")]
    Precompiled {
        /// What is wrong with them.
        reason: String,
    },
    /// A kernel is not among the precompiled ones, and there is no NVRTC to compile it.
    #[error(
        "{name} for {architecture} is not among the precompiled kernels, and there is no NVRTC to compile it: add it to the bundle, or install NVRTC with `{INSTALL_COMMAND}`"
    )]
    NotPrecompiled {
        /// The operator and the kind of scan.
        name: String,
        /// The device's architecture.
        architecture: String,
    },
    /// NVRTC was found but cannot be used.
    #[error(
        "NVRTC at {path} cannot be used: {reason}; install it anew with `{INSTALL_COMMAND}`, or set {env} to another one",
        path = path.display(),
        env = crate::nvrtc::LIBRARY_VARIABLE
    )]
    NvrtcUnusable {
        /// The library.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// The loader's error.
        source: Option<Cause>,
    },
    /// NVRTC does not compile for an architecture.
    #[error(
        "NVRTC {}.{} compiles {}, not for {architecture}: use {} NVRTC; {} names the library",
        version.0, version.1, range(compiled_for), other(*architecture, compiled_for), crate::nvrtc::LIBRARY_VARIABLE
    )]
    NvrtcArchitecture {
        /// The version of NVRTC, as (major, minor).
        version: (u32, u32),
        /// The architecture.
        architecture: Architecture,
        /// Those that it compiles for, the oldest one first.
        compiled_for: Vec<Architecture>,
    },
    /// NVRTC rejected a kernel.
    #[error("NVRTC could not compile the kernels of operator `{operator}` for {architecture}:\n{log}")]
    Compile {
        /// The operator.
        operator: String,
        /// The target architecture.
        architecture: String,
        /// NVRTC's messages. Those about the operator's body name the Rust file and line.
        log: String,
    },
    /// NVRTC itself failed.
    #[error("NVRTC failed in {call}{log}")]
    Nvrtc {
        /// The function that failed.
        call: &'static str,
        /// Its messages, after a line break; often none.
        log: String,
        /// The error that it gave.
        source: NvrtcError,
    },
    /// There is no plan for the requested scan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The kernels' text could not be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The output buffer and the input differ in length.
    #[error("the output has {output} elements and the input {input}: a scan writes one output for every input")]
    OutputLength {
        /// Elements of the input.
        input: usize,
        /// Elements of the output.
        output: usize,
    },
    /// The arrays in which the fields of an input, or of an output, lie are not of one length.
    #[error(
        "array {column} of the {what} has {len} items and array 0 has {first}: each element has one in every array"
    )]
    ColumnLength {
        /// `input` or `output`.
        what: &'static str,
        /// Which array: that of the field of this number.
        column: usize,
        /// Items of it.
        len: usize,
        /// Items of the first array.
        first: usize,
    },
    /// The slice that is to have the number of elements has another number of them than one.
    #[error("the slice for the length has {len} elements, and there is one length")]
    LengthLength {
        /// Elements of the slice.
        len: usize,
    },
    /// A new output was wanted of a scan of which only the device knows how many elements there are.
    #[error(
        "only the device knows how many elements there are, so that some results stay as they are: bring the output, and use `run_into` or `run_in_place`"
    )]
    LengthOfNew,
    /// A place at which an array of several is to be read or written is not in it.
    #[error("place {index} of array {array} of the {what} is {place}, and there are {len} items")]
    Place {
        /// `input` or `output`.
        what: &'static str,
        /// Which array: that of the field of this number.
        array: usize,
        /// Which of its places.
        index: usize,
        /// The place.
        place: usize,
        /// Items that places can be of.
        len: usize,
    },
    /// A place that the operator computes for a result is not in its array in host memory. Nothing has been written.
    #[error(
        "the operator gives a result of element {index} the place {place} in array {array} of the output, which has \
         {len} items: bring a longer array, have the operator skip a result by the largest place, or let it count \
         places in 64 bits where 32 are too few"
    )]
    ComputedPlace {
        /// Which array: that of the field of this number, of which the place is number 0.
        array: usize,
        /// Which element.
        index: usize,
        /// The place.
        place: usize,
        /// Items of the array.
        len: usize,
    },
    /// An array in device memory is to be gathered from no values.
    #[error(
        "array {array} of the input is gathered from no values: there is an item for each place, so there must be one"
    )]
    NothingToGather {
        /// Which array: that of the field of this number.
        array: usize,
    },
    /// No array tells how many elements there are.
    #[error(
        "neither indices nor discarded results tell how many elements there are: one array must be a slice, or have places"
    )]
    UnknownLength,
    /// The slice that the caller brought for totals has another length than there are of them: one, or one for each
    /// segment.
    #[error("the slice for the results has {output} elements, and there are {expected} results")]
    ResultLength {
        /// Elements of the slice.
        output: usize,
        /// How many there are.
        expected: usize,
    },
    /// Only the device knows how many segments flags, bits or keys make.
    #[error(
        "only the device knows how many segments the {heads} make: reduce with `run_into_with_count`, into a slice of as many elements as there may be segments"
    )]
    UnknownSegments {
        /// What tells where segments begin.
        heads: &'static str,
    },
    /// A number of segments was asked for that the host knows.
    #[error(
        "there are {segments} segments, as the host knows: reduce with `run_into`, into a slice of as many elements"
    )]
    KnownSegments {
        /// How many there are.
        segments: usize,
    },
    /// A run brought something else than its handle was prepared for.
    #[error("the handle was prepared for runs with {prepared}, and this one has {found}: prepare one for it")]
    OtherRun {
        /// What was said before `prepare`.
        prepared: String,
        /// What was said before the run.
        found: String,
    },
    /// The slice of the initial value does not have exactly one element.
    #[error("the slice of the initial value has {len} elements: give one element")]
    InitialLength {
        /// Elements of the slice.
        len: usize,
    },
    /// A late value is for the scans of another stream.
    #[error("the late value is for scans of another stream: make one for this stream with `LateValue::new(&stream)`")]
    LateValueStream,
    /// A run of no elements launches no kernel that could take a late value.
    #[error("a run of no elements takes no late value, so that the next run would: leave the run out, and the write")]
    LateValueOfNothing,
    /// The host was to hand over a late value, and the one before it has not been taken.
    #[error(
        "{written} late values have been written and {taken} taken: wait for the scan that takes the last one, or write \
         on a stream, which waits"
    )]
    LateValueWaits {
        /// Values that have been written, or are to be written by streams.
        written: u64,
        /// Values that scans have taken.
        taken: u64,
    },
    /// There is not one initial value for each segment, or for each column.
    #[error("{found} initial values for {expected} segments or columns: give one for each")]
    InitialValues {
        /// Initial values.
        found: usize,
        /// Segments, or columns of an array.
        expected: usize,
    },
    /// Not every element is in a segment between two offsets, where each segment has an initial value or a total.
    #[error(
        "the offsets go from {first} to {last}: with an initial value or a total for each segment they must \
         go from 0 to {len}, the length of the input"
    )]
    OffsetsCover {
        /// The first offset; 0 where there are not two.
        first: u64,
        /// The last offset; 0 where there are not two.
        last: u64,
        /// Elements of the input.
        len: usize,
    },
    /// The input does not consist of whole rows.
    #[error("an input of {len} elements does not consist of rows of {row}: give a length of rows that divides it")]
    RowLength {
        /// Elements of a row.
        row: usize,
        /// Elements of the input.
        len: usize,
    },
    /// The source of segment heads does not have the length that the input requires.
    #[error("there are {found} {what} for an input of {len} elements, which needs {expected}")]
    SegmentsLength {
        /// `head flags`, `words of head bits` or `keys`.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there must be.
        expected: usize,
        /// Elements of the input.
        len: usize,
    },
    /// An array cannot be scanned along an axis.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// Memory is not of the size of the array that is scanned along an axis.
    #[error("the {what} has {found} elements, and an array of shape {shape:?} with these strides takes {expected}")]
    AxisLength {
        /// `input`, `output` or `buffer`.
        what: &'static str,
        /// How many elements it has.
        found: usize,
        /// How many it must have: at the least, where the array is not contiguous.
        expected: usize,
        /// The shape of the array.
        shape: Vec<usize>,
    },
    /// Results that leave gaps were to be put into new memory, or scattered.
    #[error(
        "results of shape {shape:?} with these strides leave gaps: give the memory for them, with `run_into`, by \
         columns as slices"
    )]
    AxisGaps {
        /// The shape of the array.
        shape: Vec<usize>,
    },
    /// Two arrays have different shapes.
    #[error("the output has shape {output:?}, and the input {input:?}: results have the shape of the elements")]
    AxisShapes {
        /// The shape of the input.
        input: Vec<usize>,
        /// The shape of the output.
        output: Vec<usize>,
    },
    /// Results were to take the place of elements that lie in another way.
    #[error("results that lie with other strides than the elements cannot take their place: use `run_into`")]
    AxisInPlace,
    /// The offsets of segments do not ascend.
    #[error("offset {index} is {offset}, after {before}: the offsets of segments must ascend")]
    OffsetsDescend {
        /// The index of the offset.
        index: usize,
        /// Its value.
        offset: u64,
        /// The offset before it.
        before: u64,
    },
    /// A segment would begin past the end of the input.
    #[error("offset {index} is {offset}, past the end of an input of {len} elements")]
    OffsetPastEnd {
        /// The index of the offset.
        index: usize,
        /// Its value.
        offset: u64,
        /// Elements of the input.
        len: usize,
    },
    /// A stream or a buffer belongs to another device or context than the scanner's.
    #[error("the {what} belongs to another CUDA context than the scanner's; make both with `scanner.context()`")]
    ForeignContext {
        /// `stream`, `buffer`, `input`, `output`, `heads`, `total`, `count` or `initial value`.
        what: &'static str,
    },
    /// A prepared scan was given more elements than it was prepared for.
    #[error(
        "{len} elements are more than the {max_len} that the scan was prepared for: prepare it for as many as may come"
    )]
    PreparedLength {
        /// Elements of the input.
        len: usize,
        /// The maximum number of elements that it was prepared for.
        max_len: usize,
    },
    /// A run of a prepared handle was to be prepared.
    #[error(
        "this is a run of a handle that is prepared already: prepare from the scan, `scan.on(&stream).prepare(max_len)`"
    )]
    PreparedTwice,
    /// A scan was to be prepared on a stream whose work is being captured into a graph.
    #[error("the stream is being captured: prepare the scan before the capture begins, and run it within")]
    Captured,
    /// `prepare` was called with the per-thread default stream, which is another stream on each thread.
    #[error("the per-thread default stream is another one on each thread: prepare the scan on a stream of your own")]
    StreamOfThreads,
    /// A CPU scanner was used for something that only a CUDA scanner can do.
    #[error("this needs a CUDA scanner, and the scanner runs on the {backend}; make one with `Scanner::cuda(0)`")]
    NotCuda {
        /// What the scanner runs on.
        backend: String,
    },
    /// `tune` was called without elements to scan.
    #[error("there is nothing to measure: tune with as many elements as your scans have")]
    NothingToTune,
    /// `tune` was called for a scan whose shape is already chosen.
    #[error(
        "there is nothing to search: `strategy`, `threads`, `run_length`, `deterministic` or `overrides` has chosen the scan's shape; tune a scan that leaves it open"
    )]
    ShapeChosen,
    /// The device has not enough free memory.
    #[error(
        "out of device memory: {requested} bytes were needed, {free} of {total} are free; scan in parts, each with the total of the part before it as initial value"
    )]
    OutOfDeviceMemory {
        /// Bytes that were asked for.
        requested: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes that the device has.
        total: u64,
    },
    /// The host has not enough memory.
    #[error(
        "out of host memory: {bytes} bytes were needed for the output; scan into a buffer of your own with `run_into`, or in place"
    )]
    OutOfHostMemory {
        /// Bytes that were asked for.
        bytes: usize,
    },
    /// The source of an operator does not match its Rust type. `#[scan_op]` writes no such source.
    #[error(
        "the source of operator `{operator}` has another {what} than its Rust type: let `#[scan_op]` write the source"
    )]
    SourceMismatch {
        /// The operator.
        operator: String,
        /// `input`, `state`, `output`, `identity` or `parameters`.
        what: &'static str,
    },
    /// The kernels of an operator with a `step` of its own do not exchange the operands.
    #[error(
        "the operator `{operator}` of a `step` has no kernels: leave out `ops::flip`; a scan with `.reverse()` applies the \
         steps from the right"
    )]
    FlippedStep {
        /// The operator.
        operator: String,
    },
    /// The operator panicked while it ran on the CPU.
    ///
    /// The panic is caught, but Rust's panic hook runs first, and prints its message and a backtrace to the standard
    /// error. A program that expects such errors can silence it: `std::panic::set_hook(Box::new(|_| ()))`, which holds
    /// for all panics of the process.
    #[error("operator `{operator}` panicked: {message}")]
    OperatorPanicked {
        /// The operator.
        operator: String,
        /// The panic's message.
        message: String,
    },
    /// The operator panicked while it ran on a GPU: an assertion failed, an index was past the end, or an integer was
    /// divided by zero. All work in progress in the CUDA context is lost, that of the rest of the process included. As
    /// of release 580, the driver also destroys the process's contexts on all other devices: use one process per device
    /// if one must survive the other.
    ///
    /// A new scanner on the device works only if CUDA gives the process a new context. As of release 580, the driver
    /// does not: [`Scanner::cuda`](crate::Scanner::cuda) then returns an error that says so, and
    /// [`Scanner::new`](crate::Scanner::new) takes the CPU.
    #[error(
        "operator `{operator}` panicked on the GPU: an assertion failed, an index was past the end, or an integer was \
         divided by zero; {LOST}; run the scan with `Scanner::cpu()` for the panic's message"
    )]
    KernelTrapped {
        /// The operator, or several if several have panicked.
        operator: String,
        /// The driver's error.
        source: DriverError,
    },
    /// The CUDA context cannot be used any more, because of a kernel of this process, or because the device failed.
    /// What [`KernelTrapped`](Error::KernelTrapped) says about new scanners applies here, too.
    #[error("the CUDA driver failed in {call}; {LOST}")]
    ContextLost {
        /// The call that reported the failure. The failed work was enqueued before it.
        call: &'static str,
        /// The driver's error.
        source: DriverError,
    },
    /// The driver does not load kernels that an NVRTC of a later CUDA has compiled.
    #[error(
        "the driver is for CUDA up to {}.{} and does not load {} {}.{} has compiled: update the driver, or {} of CUDA {}.{}",
        driver.0,
        driver.1,
        if *precompiled { "the precompiled kernels, which NVRTC" } else { "kernels that NVRTC" },
        compiler.0,
        compiler.1,
        if *precompiled { "make the bundle with an NVRTC" } else { "use an NVRTC (`SCAN_NVRTC` names it)" },
        driver.0,
        driver.1
    )]
    DriverOlder {
        /// The newest CUDA version that the driver supports, as (major, minor).
        driver: (u32, u32),
        /// The version of NVRTC, as (major, minor).
        compiler: (u32, u32),
        /// Whether the kernels were [precompiled](crate::aot).
        precompiled: bool,
        /// The driver's error.
        source: DriverError,
    },
    /// The driver reported an error.
    #[error("the CUDA driver failed in {call}")]
    Driver {
        /// The call that failed.
        call: &'static str,
        /// The driver's error.
        source: DriverError,
    },
}

/// The remedy for a lost context.
const LOST: &str = "the CUDA context is lost with all that is in it: start a new process";

/// An error of the system or of a library, as the source of one of ours.
pub type Cause = Arc<dyn error::Error + Send + Sync>;

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut source = error::Error::source(self);
        while let Some(cause) = source {
            write!(f, "\ncaused by: {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

/// The first and the last of these architectures.
fn range(architectures: &[Architecture]) -> String {
    match architectures {
        [] => "for none".to_owned(),
        [one] => format!("for {one} alone"),
        [first, .., last] => format!("for {first} to {last}"),
    }
}

/// Which NVRTC compiles for an architecture that this one does not compile for.
fn other(architecture: Architecture, compiled_for: &[Architecture]) -> &'static str {
    if compiled_for.first().is_some_and(|oldest| architecture < *oldest) { "an earlier" } else { "a later" }
}

/// A few places are listed, many are counted.
fn places(searched: &[PathBuf]) -> String {
    const FEW: usize = 3;
    match searched.len() {
        0 => format!("nowhere, because {} is `off`", crate::nvrtc::LIBRARY_VARIABLE),
        1..=FEW => searched.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        count => format!("{count} places (`searched` of this error has them)"),
    }
}

#[cfg(test)]
mod tests {
    use cudarc::driver::sys::CUresult;

    use super::*;

    #[test]
    fn debug_is_the_message_with_its_remedy_and_its_sources() {
        let error = Error::NoNvrtc { searched: vec![PathBuf::from("/somewhere"); 60] };
        let text = format!("{error:?}");
        assert!(text.contains(INSTALL_COMMAND) && text.contains("60 places"), "{text}");
        assert!(!text.contains("/somewhere"), "{text}");

        let cause: Cause = Arc::new(std::io::Error::other("the disk is full"));
        let error = Error::Bundle { reason: "`kernels.bin` cannot be written".to_owned(), source: Some(cause) };
        assert_eq!(
            format!("{error:?}"),
            "kernels cannot be compiled ahead of time: `kernels.bin` cannot be written\ncaused by: the disk is full"
        );
        let error = Error::Nvrtc {
            call: "nvrtcVersion",
            log: String::new(),
            source: NvrtcError { code: 11, name: "NVRTC_ERROR_INTERNAL_ERROR".to_owned() },
        };
        assert_eq!(error.to_string(), "NVRTC failed in nvrtcVersion");
        assert!(error::Error::source(&error).is_some_and(|source| source.to_string().contains("INTERNAL_ERROR")));
        let lost = Error::ContextLost { call: "a launch", source: DriverError(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS) };
        assert!(error::Error::source(&lost).is_some_and(|source| source.is::<DriverError>()));
    }
}
