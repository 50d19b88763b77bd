//! Kinds of calls, and their snapshots.

use std::{
    collections::BTreeSet,
    error::Error,
    fmt::{Debug, Write},
    fs,
    path::Path,
    sync::Arc,
};

use libtest_mimic::Trial;
use scan_runtime::{
    Scanner, Staging,
    cudarc::driver::{CudaSlice, CudaStream, DeviceRepr},
    telemetry::spent,
};
use scan_tests::driver;

use crate::spent::agrees;

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

#[derive(Default)]
pub(crate) struct Kinds {
    trials: Vec<Trial>,
    names: BTreeSet<&'static str>,
}

impl Kinds {
    /// A kind with a snapshot of this name; `what` is written above it.
    pub(crate) fn add(
        &mut self,
        name: &'static str,
        what: &'static str,
        kind: impl FnOnce(&mut Calls) -> Outcome + Send + 'static,
    ) {
        assert!(self.names.insert(name), "two kinds are called `{name}`");
        self.trials.push(Trial::test(name, move || {
            let calls = of(kind)?;
            if let Some(line) = calls.text.lines().find(|line| line.contains('?') || line.contains("unknown: ")) {
                return Err(format!("the recorder does not know what this is: {line}\n{}", calls.text).into());
            }
            insta::with_settings!(
                { prepend_module_to_snapshot => false, omit_expression => true, description => what },
                { insta::assert_snapshot!(name, calls.text) }
            );
            Ok(())
        }));
    }

    /// Calls that are refused, which need no snapshot.
    pub(crate) fn refused(&mut self, name: &'static str, kind: impl FnOnce(&mut Calls) -> Outcome + Send + 'static) {
        self.trials.push(Trial::test(name, move || Ok(of(kind).map(drop)?)));
    }

    pub(crate) fn trials(mut self) -> Vec<Trial> {
        let names = self.names;
        self.trials.push(Trial::test("every_snapshot_is_of_a_kind", move || {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/launches/snapshots");
            for entry in fs::read_dir(folder)? {
                let file = entry?.file_name().to_string_lossy().into_owned();
                let name = file.split('.').next().unwrap_or_default();
                if !names.contains(name) {
                    return Err(format!("{file} is of no kind").into());
                }
            }
            Ok(())
        }));
        self.trials
    }
}

/// The calls of a kind. Nothing that they have allocated is left.
fn of(kind: impl FnOnce(&mut Calls) -> Outcome) -> Result<Calls, String> {
    driver::forget_names();
    let before = driver::allocations();
    let mut calls = Calls { text: String::new(), disagrees: Vec::new() };
    kind(&mut calls).map_err(|error| error.to_string())?;
    if let Some(message) = calls.disagrees.first() {
        return Err(message.clone());
    }
    match driver::allocations() == before {
        true => Ok(calls),
        false => Err("memory is left that calls have allocated, and not freed".to_owned()),
    }
}

/// The calls of a kind, recorded.
pub(crate) struct Calls {
    text: String,
    /// Where what a call counts is not what the driver was asked for.
    disagrees: Vec<String>,
}

impl Calls {
    /// Records a call below a heading. Also returns its record.
    pub(crate) fn record<T, E>(
        &mut self,
        heading: &str,
        call: impl FnOnce() -> Result<T, E>,
    ) -> Result<(T, String), E> {
        let ((result, spent), record) = driver::record(|| spent(call));
        self.disagrees.extend(agrees(&spent, &record).err());
        let shown = if record.is_empty() { "nothing\n" } else { &record };
        let _ = write!(self.text, "{}[{heading}]\n{shown}", if self.text.is_empty() { "" } else { "\n" });
        Ok((result?, record))
    }

    /// Records a call twice. The second one finds what the first one has made.
    pub(crate) fn twice<T, E: Into<Box<dyn Error>>>(&mut self, mut call: impl FnMut() -> Result<T, E>) -> Outcome {
        self.record("first call", &mut call).map_err(Into::into)?;
        self.record("again", &mut call).map_err(Into::into)?;
        Ok(())
    }

    /// As [`twice`](Calls::twice), of calls that give this result, as the recorder's kernels do: of a scan its
    /// elements, of a reduction the last element of each segment.
    pub(crate) fn gives<T: PartialEq + Debug, E: Into<Box<dyn Error>>>(
        &mut self,
        expected: &T,
        mut call: impl FnMut() -> Result<T, E>,
    ) -> Outcome {
        for heading in ["first call", "again"] {
            let (found, _) = self.record(heading, &mut call).map_err(Into::into)?;
            if found != *expected {
                let shown = |value: &T| format!("{value:?}").chars().take(300).collect::<String>();
                return Err(format!("{heading}: {} instead of {}", shown(&found), shown(expected)).into());
            }
        }
        Ok(())
    }

    /// As [`twice`](Calls::twice), of calls whose second one does nothing but so many launches.
    pub(crate) fn launches<T, E: Into<Box<dyn Error>>>(
        &mut self,
        launches: usize,
        mut call: impl FnMut() -> Result<T, E>,
    ) -> Outcome {
        self.record("first call", &mut call).map_err(Into::into)?;
        self.warm("again", launches, call)
    }

    /// A call that is refused, and does nothing on the device.
    pub(crate) fn refuse<T, E>(&mut self, what: &str, call: impl FnOnce() -> Result<T, E>) -> Outcome {
        let (result, record) = driver::record(call);
        match result {
            Ok(_) => Err(format!("{what}: it is not refused").into()),
            Err(_) if record.is_empty() => Ok(()),
            Err(_) => Err(format!("{what}: it is refused, but this has been done:\n{record}").into()),
        }
    }

    /// Records a call that does nothing but so many launches.
    pub(crate) fn warm<T, E: Into<Box<dyn Error>>>(
        &mut self,
        heading: &str,
        launches: usize,
        call: impl FnOnce() -> Result<T, E>,
    ) -> Outcome {
        let (_, record) = self.record(heading, call).map_err(Into::into)?;
        // The lines below a launch are indented.
        let others = record.lines().filter(|line| !line.starts_with(' ') && !line.starts_with("launch "));
        let count = record.lines().filter(|line| line.starts_with("launch ")).count();
        match others.count() {
            0 if count == launches => Ok(()),
            _ => Err(format!("not {launches} launches and nothing else:\n{record}").into()),
        }
    }
}

pub(crate) fn scanner() -> Result<Scanner, scan_runtime::Error> {
    Scanner::builder().device(0).no_cache().build()
}

/// A scanner that copies host memory in this way.
pub(crate) fn scanner_with(staging: Staging) -> Result<Scanner, scan_runtime::Error> {
    Scanner::builder().device(0).no_cache().staging(staging).build()
}

/// A scanner and a stream.
pub(crate) struct OnStream {
    pub(crate) scanner: Scanner,
    pub(crate) stream: Arc<CudaStream>,
}

impl OnStream {
    /// On a stream whose slices record no events: what a call does by itself is then what is recorded.
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        OnStream::of(scanner()?)
    }

    /// The same with this scanner.
    pub(crate) fn of(scanner: Scanner) -> Result<Self, Box<dyn Error>> {
        let context = scanner.context().ok_or("no context")?;
        // SAFETY: all work of this context is on one stream.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream()?;
        driver::name_stream(&stream, "stream");
        Ok(OnStream { scanner, stream })
    }

    /// On a stream of several, whose slices record events: the record shows that a call waits for what it uses before
    /// the launch, and records events behind it.
    pub(crate) fn with_events() -> Result<Self, Box<dyn Error>> {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        driver::name_stream(&stream, "stream");
        Ok(OnStream { scanner, stream })
    }

    /// Items in device memory, by this name in the record.
    pub(crate) fn slice<T: DeviceRepr>(&self, name: &str, items: &[T]) -> Result<CudaSlice<T>, Box<dyn Error>> {
        let slice = self.stream.clone_htod(items)?;
        driver::name(&slice, name);
        Ok(slice)
    }
}

/// Lengths that one block scans, and several.
pub(crate) const FEW: usize = 1_000;
pub(crate) const MANY: usize = 1_000_000;

/// Elements, no two pieces of which are the same.
pub(crate) fn floats(len: usize) -> Vec<f32> {
    (0..len).map(|index| (index % 65_537) as f32).collect()
}

/// Flags of segments with so many elements.
pub(crate) fn flags(len: usize, segment: usize) -> Vec<bool> {
    (0..len).map(|index| index % segment == 0).collect()
}

/// The same as bits.
pub(crate) fn bits(len: usize, segment: usize) -> Vec<u32> {
    let of_word =
        |word: usize| (0..32).filter(|bit| (32 * word + bit).is_multiple_of(segment)).map(|bit| 1 << bit).sum();
    (0..len.div_ceil(32)).map(of_word).collect()
}

/// They as bytes, which are padded to 64 of them, behind as many other bits.
pub(crate) fn bitmap(len: usize, segment: usize, before: usize) -> Vec<u8> {
    let mut bytes = vec![0_u8; (before + len).div_ceil(8).next_multiple_of(64)];
    let heads = (0..before).chain((before..before + len).filter(|bit| (bit - before).is_multiple_of(segment)));
    heads.for_each(|bit| bytes[bit / 8] |= 1 << (bit % 8));
    bytes
}

/// The same as keys.
pub(crate) fn keys(len: usize, segment: usize) -> Vec<u64> {
    (0..len).map(|index| (index / segment) as u64).collect()
}

/// The same as offsets.
pub(crate) fn offsets(len: usize, segment: usize) -> Vec<u32> {
    (0..=len.div_ceil(segment)).map(|index| (index * segment).min(len) as u32).collect()
}

/// The last element of each segment of so many elements.
pub(crate) fn lasts<T: Copy>(input: &[T], segment: usize) -> Vec<T> {
    input.chunks(segment).filter_map(|segment| segment.last().copied()).collect()
}

/// Zeros, into which results are written.
pub(crate) fn zeros<T: Clone + Default>(buffer: &mut [T]) {
    buffer.fill(T::default());
}
