//! The errors of this crate, each with its remedy.

#[cfg(feature = "cuda")]
use std::path::PathBuf;
use std::{error, fmt, sync::Arc};

#[cfg(feature = "cuda")]
use cudarc::driver::DriverError;
#[cfg(feature = "cuda")]
use scan_codegen::Architecture;
use scan_codegen::{AxisError, PlanError, RenderError};

#[cfg(feature = "cuda")]
use crate::nvrtc::{INSTALL_COMMAND, NvrtcError};

/// Errors of this crate. The error of the driver, of NVRTC or of the system that caused one is its
/// [`source`](std::error::Error::source).
///
/// `Debug` writes the message with its remedy, and the sources: a `main` that returns a `Result` prints that.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine has no CUDA driver.
    #[error("no CUDA driver: {library} was not found; install NVIDIA's driver, or use `Scanner::cpu()`")]
    NoDriver {
        /// The library that was looked for.
        library: String,
    },
    #[cfg(feature = "cuda")]
    /// There is a driver, but no device that it can use.
    #[error("no CUDA device; check `nvidia-smi` and CUDA_VISIBLE_DEVICES, or use `Scanner::cpu()`")]
    NoDevice {
        /// The driver's error; `None` if it succeeds and finds no device.
        source: Option<DriverError>,
    },
    /// A CUDA device is asked for, and the crate was built without its feature `cuda`.
    #[error("scan-runtime was built without CUDA: enable its feature `cuda`, or use `Scanner::cpu()`")]
    WithoutCuda,
    /// There is no device with the requested number.
    #[error("no CUDA device {index}: this machine has {count}, numbered from 0")]
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
    #[cfg(feature = "cuda")]
    /// A world cannot be made, or its ranks cannot go on together.
    #[error(transparent)]
    World(#[from] crate::world::WorldError),
    #[cfg(feature = "cuda")]
    /// The runtime compiler library cannot be found.
    #[error(
        "NVRTC (CUDA's run-time compiler) was not found; install it with `{INSTALL_COMMAND}`, set {env} to its path, \
         or compile \
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
    /// The bytes given to a scanner as precompiled kernels are not a bundle, or are damaged.
    #[error("the precompiled kernels cannot be used: {reason}; rebuild them with `scan_runtime::aot::Bundle`")]
    Precompiled {
        /// What is wrong with them.
        reason: String,
    },
    #[cfg(feature = "cuda")]
    /// A kernel is not among the precompiled ones, and there is no NVRTC to compile it.
    #[error(
        "{name} for {architecture} is not among the precompiled kernels, and NVRTC is not installed: add the scan to \
         the bundle, or install NVRTC with `{INSTALL_COMMAND}`"
    )]
    NotPrecompiled {
        /// The operator and the kind of scan.
        name: String,
        /// The device's architecture.
        architecture: String,
    },
    #[cfg(feature = "cuda")]
    /// NVRTC was found but cannot be used.
    #[error(
        "NVRTC at {path} cannot be used: {reason}; reinstall it with `{INSTALL_COMMAND}`, or set {env} to another \
         library",
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
    #[cfg(feature = "cuda")]
    /// NVRTC does not compile for an architecture.
    #[error(
        "NVRTC {}.{} compiles for {}, not for {architecture}: use {} NVRTC ({} sets its path)",
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
    #[cfg(feature = "cuda")]
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
    /// A slice or buffer does not have the length that the call needs.
    #[error("{what} of {found} elements, expected {expected}: {why}")]
    Length {
        /// What has the length: `output`, `total`, `initial values`, `head flags`, `keys`, ….
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that the call needs.
        expected: usize,
        /// Where the expected length comes from.
        why: &'static str,
    },
    /// The arrays of the fields of an input, or of an output, differ in length.
    #[error(
        "array {array} of the {what} has {len} items, array 0 has {first}: all arrays of the {what} must have the \
         same length"
    )]
    ArrayLength {
        /// `input` or `output`.
        what: &'static str,
        /// Which array: that of the field of this number.
        array: usize,
        /// Items of it.
        len: usize,
        /// Items of the first array.
        first: usize,
    },
    /// A scan whose length is in device memory was to allocate its output.
    #[error(
        "only the device knows the length given by `len_from`, so the output cannot be allocated: use `run_into` or \
         `run_in_place`"
    )]
    LengthOnDevice,
    /// An index by which an array is gathered or scattered is out of bounds.
    #[error("index {position} of array {array} of the {what} is {index}, out of bounds for {len} items")]
    IndexOutOfBounds {
        /// `input` or `output`.
        what: &'static str,
        /// The number of the array, which is that of its field.
        array: usize,
        /// The position of the index among the indices.
        position: usize,
        /// The index, which may be negative.
        index: i128,
        /// The number of items that can be indexed.
        len: usize,
    },
    /// A function for [`Scan::with_progress`](crate::Scan::with_progress) has ended the run. As many results
    /// as `done` are written, not necessarily the first ones; the others are unspecified.
    #[error("cancelled by the progress function when {done} of {of} elements were done")]
    Cancelled {
        /// The number of elements that are done.
        done: usize,
        /// The number of elements of the input.
        of: usize,
    },
    /// An index that the operator computes for a result is out of bounds of an array in host memory. It is the first
    /// one. The content of the arrays is unspecified.
    #[error(
        "the operator places a result of element {element} at index {index} of array {array} of the output, out of \
         bounds for {len} items: use a longer array, skip a result by the largest index, or count indices in 64 bits"
    )]
    ComputedIndex {
        /// The number of the array, which is that of its field; field 0 is the index.
        array: usize,
        /// The position of the element.
        element: usize,
        /// The index, which may be negative.
        index: i128,
        /// The number of items of the array.
        len: usize,
    },
    /// An array is gathered from an empty slice of device memory.
    #[error("array {array} of the input is gathered from an empty slice: it must have at least one item")]
    NothingToGather {
        /// The number of the array, which is that of its field.
        array: usize,
    },
    /// No array of a call determines the number of elements.
    #[error(
        "the number of elements is unknown: at least one array must be a slice, or gathered or scattered by indices"
    )]
    UnknownLength,
    /// Only the device knows how many segments flags, bits or keys make.
    #[error(
        "only the device knows the number of segments by {heads}: use `.count_into(&mut count)`, with an output of one \
         element for each possible segment"
    )]
    UnknownSegments {
        /// The source of segment heads.
        heads: &'static str,
    },
    /// The count of segments was asked for, which the host knows already.
    #[error("the host knows the number of segments, {segments}: use `run_into`, with an output of {segments} elements")]
    KnownSegments {
        /// How many there are.
        segments: usize,
    },
    /// A handle was called with other kinds of arguments than it was prepared for.
    #[error("handle prepared for {prepared}, called with {found}; prepare another handle")]
    HandleMismatch {
        /// The kinds of arguments given before `prepare`.
        prepared: String,
        /// The kinds of arguments of the call.
        found: String,
    },
    /// A late value was made for the scans of another stream.
    #[error("the late value belongs to another stream: make one for this stream with `LateValue::new(&stream)`")]
    LateValueStream,
    /// A late value was to be written on the scans' own stream, behind the scan that waits for it: neither would end.
    #[error("the scan before this write on the stream waits for it: write on another stream, or before the scan")]
    LateValueBehind,
    /// A run of no elements launches no kernel, so it would leave its late value to the next run.
    #[error("a run of no elements takes no late value: leave out both the run and the write")]
    LateValueOfNothing,
    /// The host was to write a late value while the previous one has not been taken.
    #[error(
        "{written} late values have been written and {taken} taken: wait for the scan that takes the last one, or \
         write \
         on a stream, which waits"
    )]
    LateValueWaits {
        /// Values that have been written, or are to be written by streams.
        written: u64,
        /// Values that scans have taken.
        taken: u64,
    },
    /// Some elements are outside of the offsets, in a scan with an initial value or a total for each segment.
    #[error(
        "the offsets span {first} to {last}: initial values or totals for each segment need offsets from 0 to {len}, \
         the length of the input"
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
    #[error("an input of {len} elements is no whole number of rows of {row}: use a row length that divides it")]
    RowLength {
        /// Elements of a row.
        row: usize,
        /// Elements of the input.
        len: usize,
    },
    /// An array cannot be scanned along an axis.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// Memory is not of the size of the array that is scanned along an axis.
    #[error("the {what} has {found} elements; an array of shape {shape:?} with these strides needs {expected}")]
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
    /// The strides of the results leave gaps, in a call that allocates or scatters them.
    #[error(
        "results of shape {shape:?} with these strides leave gaps: pass an output to `run_into`; several arrays must \
         be \
         slices"
    )]
    AxisGaps {
        /// The shape of the array.
        shape: Vec<usize>,
    },
    /// An array with strides of its own is to be scanned without an axis, so that it has no shape.
    #[error(
        "array {array} of the input has strides of its own, which are those of the dimensions of a shape: scan along \
         an \
         axis, with `.along(Axis::of(&shape, axis)?)`"
    )]
    NoAxis {
        /// Which array: that of the field of this number.
        array: usize,
    },
    /// An array with strides of its own has too few items.
    #[error(
        "array {array} of the input has {found} items, and its strides reach {expected} in an array of shape {shape:?}"
    )]
    StridedLength {
        /// Which array: that of the field of this number.
        array: usize,
        /// How many items it has.
        found: usize,
        /// How many its strides reach.
        expected: usize,
        /// The shape.
        shape: Vec<usize>,
    },
    /// The input's strides along an axis repeat elements, which are to have neighbours, or values of another array.
    #[error(
        "the strides of the axis repeat elements, so array {array} of the input cannot lie as they say: leave the axis \
         contiguous, and give strides to the arrays that repeat, with `arrays::strided`"
    )]
    AxisRepeats {
        /// Which array: that of the field of this number.
        array: usize,
    },
    /// The axis of a call over slices, which have no shape, is given by its number alone.
    #[error(
        "axis {axis} of slices, which have no shape: give the shape, with `.along(Axis::of(&shape, axis)?)`, or pass \
         `ndarray` arrays"
    )]
    UnknownShape {
        /// The axis.
        axis: isize,
    },
    /// An array of several dimensions is to be scanned along none of them.
    #[error("an array of shape {shape:?}: say along which axis, with `.along(axis)`, or pass its elements as a slice")]
    AxisUnnamed {
        /// The shape of the array.
        shape: Vec<usize>,
    },
    /// Two arrays of one call have different shapes.
    #[error("arrays of the shapes {first:?} and {second:?}: the arrays of a call along an axis must have one shape")]
    AxisShapes {
        /// One.
        first: Vec<usize>,
        /// The other.
        second: Vec<usize>,
    },
    /// An in-place scan of an axis with other strides for the output than for the input.
    #[error("an in-place scan needs the same strides for input and output; use `run_into`")]
    AxisInPlace,
    /// What a scan that [includes the initial value](crate::Scan::include_initial) cannot do.
    #[error("`include_initial` gives n + 1 results for the n elements of each row or column: {why}")]
    IncludeInitial {
        /// The reason, and what to do.
        why: &'static str,
    },
    /// The offsets of segments are not ascending.
    #[error("offset {index} is {offset}, less than {before} before it: segment offsets must be ascending")]
    OffsetsDescend {
        /// The index of the offset.
        index: usize,
        /// Its value.
        offset: u64,
        /// The offset before it.
        before: u64,
    },
    #[cfg(feature = "cuda")]
    /// Head bits in device memory do not begin where kernels can read them.
    #[error(
        "bit {first} of the head bits in device memory is not the first one at an address that is a multiple of 4: \
         copy the bits to where they begin so, or give flags, keys or offsets"
    )]
    HeadBitsAlignment {
        /// The bit of the first element.
        first: usize,
    },
    /// A segment would begin past the end of the input, or before its first element.
    #[error("offset {index} is {offset}, out of bounds for an input of {len} elements: offsets go from 0 to {len}")]
    OffsetPastEnd {
        /// The index of the offset.
        index: usize,
        /// Its value, which may be negative.
        offset: i128,
        /// Elements of the input.
        len: usize,
    },
    /// A range of a reduction begins after its end, or is not within the input.
    #[error(
        "range {index} goes from {begin} to {end}, in an input of {len} elements: a range begins at 0 or later, ends no \
         earlier than it begins, and at {len} at the latest"
    )]
    RangeBounds {
        /// The index of the range.
        index: usize,
        /// The position of its first element, which may be negative.
        begin: i128,
        /// The position after its last element, which may be negative.
        end: i128,
        /// Elements of the input.
        len: usize,
    },
    /// A stream or a buffer belongs to another device or context than the scanner's.
    #[error("the {what} belongs to another CUDA context than the scanner; create both from `scanner.context()`")]
    ForeignContext {
        /// `stream`, `buffer`, `input`, `output`, `heads`, `total`, `count` or `initial value`.
        what: &'static str,
    },
    /// A handle was called with more elements than it was prepared for.
    #[error("handle prepared for up to {max_len} elements, called with {len}; prepare it for the longest input")]
    PreparedLength {
        /// Elements of the input.
        len: usize,
        /// The maximum number of elements that it was prepared for.
        max_len: usize,
    },
    /// `prepare` was called on a call of a handle.
    #[error("a handle is prepared already: call `prepare` on the scan, as in `scan.on(&stream).prepare(max_len)`")]
    AlreadyPrepared,
    /// `prepare` was called with a stream whose work is being captured into a graph.
    #[error("the stream is being captured: prepare the scan before the capture begins, and run it within the capture")]
    Captured,
    /// `prepare` was called with the per-thread default stream, which is a different stream on each thread.
    #[error("the per-thread default stream differs from thread to thread: prepare the scan on a stream of your own")]
    PerThreadStream,
    /// A CPU scanner was used for something that only a CUDA scanner can do.
    #[error("this needs a CUDA scanner, and this one runs on the {backend}; create one with `Scanner::cuda(0)`")]
    NotCuda {
        /// What the scanner runs on.
        backend: String,
    },
    /// `tune` was called without elements to scan.
    #[error("the input is empty: `tune` needs as many elements as your scans have")]
    EmptyInput,
    /// `tune` was called for a scan whose shape is already chosen.
    #[error(
        "nothing is left to tune: `strategy`, `threads`, `run_length`, `deterministic` or `overrides` has fixed the \
         shape; tune a scan without them"
    )]
    ShapeChosen,
    /// The device does not have enough free memory.
    #[error(
        "out of device memory: {requested} bytes requested, {free} of {total} free; scan in parts, each with the \
         total of the previous part as initial value"
    )]
    OutOfDeviceMemory {
        /// Bytes that were asked for.
        requested: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes that the device has.
        total: u64,
    },
    /// The host does not have enough memory.
    #[error(
        "out of host memory: {bytes} bytes requested for the output; scan into your own buffer with `run_into`, or \
         in place"
    )]
    OutOfHostMemory {
        /// Bytes that were asked for.
        bytes: usize,
    },
    /// The source of an operator does not match its Rust type. `#[scan_op]` writes no such source.
    #[error(
        "the source of operator `{operator}` and its Rust type disagree on the {what}: let `#[scan_op]` write the \
         source"
    )]
    SourceMismatch {
        /// The operator.
        operator: String,
        /// `input`, `state`, `output`, `identity` or `parameters`.
        what: &'static str,
    },
    /// `ops::flip` was applied to a stepped operator, whose `step` has no operands to exchange.
    #[error(
        "`ops::flip` of a stepped operator (`{operator}`) cannot run on a GPU: leave out `ops::flip` and scan with \
         `.reverse()`, which applies the steps from the right"
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
    #[cfg(feature = "cuda")]
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
    #[cfg(feature = "cuda")]
    /// The CUDA context cannot be used any more, because of a kernel of this process, or because the device failed.
    /// What [`KernelTrapped`](Error::KernelTrapped) says about new scanners applies here, too.
    #[error("the CUDA driver failed in {call}; {LOST}")]
    ContextLost {
        /// The call that reported the failure. The failed work was enqueued before it.
        call: &'static str,
        /// The driver's error.
        source: DriverError,
    },
    #[cfg(feature = "cuda")]
    /// The driver is older than the NVRTC that compiled the kernels, and cannot load them.
    #[error(
        "the driver supports CUDA up to {}.{} and cannot load {} {}.{}: update the driver, or {} {}.{}",
        driver.0,
        driver.1,
        if *precompiled { "precompiled kernels of NVRTC" } else { "kernels of NVRTC" },
        compiler.0,
        compiler.1,
        if *precompiled { "rebuild the bundle with NVRTC" } else { "set `SCAN_NVRTC` to the path of NVRTC" },
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
    #[cfg(feature = "cuda")]
    /// The driver reported an error.
    #[error("the CUDA driver failed in {call}")]
    Driver {
        /// The call that failed.
        call: &'static str,
        /// The driver's error.
        source: DriverError,
    },
}

/// An error if a slice or buffer does not have the expected length.
#[inline]
pub(crate) fn expect_len(what: &'static str, found: usize, expected: usize, why: &'static str) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::Length { what, found, expected, why }) }
}

/// An error if there is not one output for each input.
#[inline]
pub(crate) fn expect_output(input: usize, output: usize) -> Result<(), Error> {
    expect_len("output", output, input, "a scan writes one result for each element of the input")
}

#[cfg(feature = "cuda")]
/// The remedy for a lost context.
const LOST: &str = "the CUDA context and all its contents are lost: start a new process";

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

#[cfg(feature = "cuda")]
/// The first and the last of these architectures.
fn range(architectures: &[Architecture]) -> String {
    match architectures {
        [] => "no architecture".to_owned(),
        [one] => format!("{one} only"),
        [first, .., last] => format!("{first} to {last}"),
    }
}

#[cfg(feature = "cuda")]
/// Which NVRTC compiles for an architecture that this one does not compile for.
fn other(architecture: Architecture, compiled_for: &[Architecture]) -> &'static str {
    if compiled_for.first().is_some_and(|oldest| architecture < *oldest) { "an earlier" } else { "a later" }
}

#[cfg(feature = "cuda")]
/// A few places are listed, many are counted.
fn places(searched: &[PathBuf]) -> String {
    const FEW: usize = 3;
    match searched.len() {
        0 => format!("nowhere, because {} is `off`", crate::nvrtc::LIBRARY_VARIABLE),
        1..=FEW => searched.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        count => format!("{count} places (`searched` of this error has them)"),
    }
}

#[cfg(all(test, feature = "cuda"))]
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
