//! Kernels compiled ahead of time, for machines that have NVIDIA's driver but no NVRTC.
//!
//! When the program is built, a [`Bundle`] compiles the kernels that its scans need, for the architectures that you
//! name, into one file. The program embeds the file and passes it to its scanner. Building needs NVRTC but no GPU.
//! Running needs the GPU driver but no NVRTC. Kernels that are not in the file are compiled by NVRTC as usual, if it is
//! available.
//!
//! A build script can do it. It cannot use the crate that it builds, so the operators are in a module that both include
//! (or in a crate that both depend on):
//!
//! ```ignore
//! // build.rs, with scan-runtime among the `[build-dependencies]`
//! #[path = "src/operators.rs"]
//! mod operators;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     println!("cargo::rerun-if-changed=src/operators.rs");
//!     let (scanner, out) = (Scanner::cpu(), PathBuf::from(std::env::var("OUT_DIR")?));
//!     Bundle::new()
//!         .architecture("sm_80")
//!         .architecture("sm_90")
//!         .with(&scanner.scan(operators::compose).exclusive())
//!         .with(&scanner.scan(ops::sum::<f32>()).by_keys::<u32>(&[]))
//!         .write(out.join("kernels.scan"))?;
//!     Ok(())
//! }
//! ```
//!
//! ```ignore
//! // src/main.rs
//! mod operators;
//!
//! const KERNELS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.scan"));
//!
//! let scanner = Scanner::builder().precompiled(KERNELS).build()?;
//! ```
//!
//! The folder `examples/ahead_of_time` of the project is such a crate. A small program of your own can also write the
//! file, which you then ship with the program and read when it starts.
//!
//! A kernel is found by its whole text and its architecture. So the scans that are [added](Bundle::with) must match
//! those that are run: in the operator, `exclusive`, whether there is an initial value (not its value), the source of
//! segment heads, `strategy` and other overrides. Lengths, parameters and data make no difference: the bundle has the
//! kernels for every length. Your tests can check that on any machine with [`Precompiled::missing`].
//!
//! # All calls of a program
//!
//! A [`Recording`] finds the kernels by running the program: its scanner runs every call over host memory on the CPU,
//! gives its results, and notes the kernels that the same call needs on a device. So there is no list of scans to keep.
//! The build script calls the functions that scan, over a few elements, and a test asks whether the file still has
//! everything:
//!
//! ```no_run
//! use scan_runtime::{DeviceLimits, Error, Scanner, aot::{Bundle, Precompiled, Recording}, ops};
//!
//! /// Everything that the program scans.
//! fn statistics(scanner: &Scanner, shops: &[u32], prices: &[f32]) -> Result<(Vec<f32>, f32), Error> {
//!     let totals = scanner.scan(ops::sum()).by_keys(shops).run(prices)?;
//!     Ok((totals, scanner.reduce(ops::max()).run(prices)?))
//! }
//!
//! let recording = Recording::new();
//! statistics(recording.scanner(), &[7, 7, 8], &[2.0, 1.0, 4.0])?;
//! Bundle::new().architecture("sm_80").architecture("sm_90").with(&recording).write("kernels.scan")?;
//!
//! let kernels = Precompiled::open(std::fs::read("kernels.scan")?)?;
//! let limits = DeviceLimits::of("sm_90".parse()?);
//! assert_eq!(kernels.missing(&recording, &limits)?, [""; 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A call that the program makes and the recording does not have is [`Error::NotPrecompiled`] where there is no NVRTC.
//!
//! # Architectures
//!
//! A cubin runs on devices of its own compute capability and of later ones with the same major number: `sm_80` serves
//! `sm_86` and `sm_89` too, but not `sm_90`.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt, fs,
    ops::Range,
    path::Path,
    sync::Arc,
};

use scan_codegen::{Architecture, DeviceLimits, KernelSource, OpSource};
use serde::{Deserialize, Serialize};

mod recording;

pub(crate) use recording::Notes;
pub use recording::Recording;

use crate::{
    DiskCache, Error, Host, Outcome, Run, Scan, ScanOp,
    call::Task,
    cpu::try_map,
    cuda::{self, Stores},
    nvrtc,
    telemetry::Caller,
};

/// What can be compiled ahead of time: a [`Scan`], a [`Reduce`](crate::Reduce), a [`Run`] of one, or the [`Recording`]
/// of a program.
pub trait Precompile {
    #[doc(hidden)]
    fn wanted(&self) -> Wanted;
}

/// Operators, and the scans or reductions to compile for each. [`Scan::kernels_like`] gives those of one.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    operators: Vec<OfOperator>,
}

/// An operator, and the scans or reductions to compile for it.
#[derive(Clone, Debug)]
struct OfOperator {
    operator: OpSource,
    tasks: Vec<Task>,
}

impl Wanted {
    pub(crate) fn new(operator: &impl ScanOp, tasks: Vec<Task>) -> Self {
        Wanted { operators: vec![OfOperator { operator: operator.source(), tasks }] }
    }

    /// The machine code of all kernels that it may need on a device, obtained as the device obtains it.
    pub(crate) fn machine_code(&self, limits: &DeviceLimits, stores: &Stores) -> Result<Vec<Arc<Vec<u8>>>, Error> {
        let tasks = self.operators.iter().flat_map(|of| of.tasks.iter().map(|task| (&of.operator, task)));
        let of_task = |(operator, task)| cuda::machine_code(operator, task, limits, stores);
        Ok(tasks.map(of_task).collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// The sources of all kernels that it may need on a device, with their descriptions.
    fn sources(&self, limits: &DeviceLimits) -> Result<Vec<(String, KernelSource)>, Error> {
        Ok(self.operators.iter().map(|of| of.sources(limits)).collect::<Result<Vec<_>, _>>()?.concat())
    }
}

impl OfOperator {
    /// The sources of all kernels that it may need on a device, with their descriptions.
    fn sources(&self, limits: &DeviceLimits) -> Result<Vec<(String, KernelSource)>, Error> {
        let of_task = |task| cuda::sources(&self.operator, task, limits);
        Ok(self.tasks.iter().map(of_task).collect::<Result<Vec<_>, _>>()?.concat())
    }
}

impl Precompile for Wanted {
    fn wanted(&self) -> Wanted {
        self.clone()
    }
}

impl<Op: ScanOp, R: Outcome> Precompile for Scan<Op, R> {
    fn wanted(&self) -> Wanted {
        self.call().wanted()
    }
}

impl<Op: ScanOp, R: Outcome> Precompile for Run<'_, Op, Host, R> {
    fn wanted(&self) -> Wanted {
        let mut tasks: Vec<Task> = Vec::new();
        self.call.of_all_shapes().iter().flat_map(|call| call.tasks(R::TOTALS)).for_each(|task| {
            if !tasks.contains(&task) {
                tasks.push(task)
            }
        });
        Wanted::new(&*self.call.options.op, tasks)
    }
}

/// Compiles the kernels of scans for architectures, into one file.
///
/// ```no_run
/// use scan_runtime::{Scanner, aot::Bundle, ops};
///
/// let scanner = Scanner::cpu();
/// let scan = scanner.scan(ops::sum::<f32>()).exclusive();
/// Bundle::new().architecture("sm_90").with(&scan).write("kernels.scan")?;
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Debug, Default)]
#[must_use = "nothing is compiled until `compile` or `write`"]
pub struct Bundle {
    targets: Vec<Result<DeviceLimits, Error>>,
    wanted: Vec<OfOperator>,
    cache: Option<DiskCache>,
}

impl Bundle {
    /// An empty bundle, without an architecture.
    pub fn new() -> Self {
        Bundle::default()
    }

    /// Compiles for the devices of this architecture, such as `sm_90`.
    pub fn architecture(mut self, name: &str) -> Self {
        let target = name.parse().map(DeviceLimits::of);
        self.targets.push(target.map_err(|error: scan_codegen::ArchitectureError| cannot(error.to_string())));
        self
    }

    /// Compiles for devices with these limits. That is needed only for a device that differs from the known ones of its
    /// [architecture](Bundle::architecture). The program `scan` shows the limits, and [`devices`](crate::devices)
    /// returns them.
    pub fn device(mut self, limits: DeviceLimits) -> Self {
        self.targets.push(Ok(limits));
        self
    }

    /// Adds the kernels of a scan or a reduction, or of all calls of a [`Recording`], for all lengths.
    ///
    /// Those of runs that bring something differ from those of others: `scan.rows(n)`, `scan.with_total()` name them.
    /// They are those of one slice of elements and one of results, or of slices of the fields of a scan
    /// [`per_field`](Scan::per_field); [`kernels_like`](Scan::kernels_like) has those of other arrays.
    pub fn with(mut self, what: &impl Precompile) -> Self {
        self.wanted.extend(what.wanted().operators);
        self
    }

    /// Uses this cache: kernels in it are not compiled again, and compiled ones are stored in it. A build script keeps
    /// one in its `OUT_DIR`.
    pub fn cache(mut self, cache: DiskCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Compiles everything, on all cores. The bytes are the same for the same scans, architectures and NVRTC.
    ///
    /// # Errors
    ///
    /// [`Error::NoNvrtc`], [`Error::NvrtcArchitecture`], [`Error::Compile`], [`Error::Plan`] for a scan that one of the
    /// architectures does not support, and [`Error::Bundle`] if no architecture is named, or an invalid one.
    pub fn compile(&self) -> Result<Vec<u8>, Error> {
        if self.targets.is_empty() {
            return Err(cannot("no architecture is named: add `.architecture(\"sm_90\")`".to_owned()));
        }
        let mut jobs = BTreeMap::new();
        for target in &self.targets {
            let limits = target.as_ref().map_err(Error::clone)?;
            for wanted in &self.wanted {
                for (name, source) in wanted.sources(limits)? {
                    let architecture = limits.architecture;
                    let job = Job { operator: &wanted.operator.name, name, source, architecture };
                    jobs.entry(*nvrtc::key(&job.source, architecture).as_bytes()).or_insert(job);
                }
            }
        }
        let jobs: Vec<_> = jobs.into_iter().collect();
        let caller = Caller::new();
        let cubins = try_map(jobs.len(), |index| {
            let Job { source, operator, architecture, .. } = &jobs[index].1;
            caller.help(|| nvrtc::cached(source, operator, *architecture, self.cache.as_ref())).map(|made| made.cubin)
        })?;
        let mut kernels = Vec::with_capacity(jobs.len());
        for ((key, job), cubin) in jobs.iter().zip(&cubins) {
            let Architecture { major, minor } = job.architecture;
            kernels.push(Entry { key: *key, name: job.name.as_str().into(), architecture: (major, minor), cubin });
        }
        let contents = Contents { made_by: env!("CARGO_PKG_VERSION").into(), nvrtc: nvrtc::version()?, kernels };
        seal(&contents)
    }

    /// [Compiles](Bundle::compile) everything and writes the file.
    ///
    /// # Errors
    ///
    /// Those of [`compile`](Bundle::compile), and [`Error::Bundle`] if the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let written = fs::write(path, self.compile()?);
        let reason = || format!("`{}` cannot be written", path.display());
        written.map_err(|error| Error::Bundle { reason: reason(), source: Some(Arc::new(error)) })
    }
}

fn cannot(reason: String) -> Error {
    Error::Bundle { reason, source: None }
}

/// A source to be compiled.
struct Job<'a> {
    operator: &'a str,
    name: String,
    source: KernelSource,
    architecture: Architecture,
}

/// The first bytes of a file; another format has another number.
const MAGIC: [u8; 8] = *b"SCANAOT1";
const KEY: usize = blake3::OUT_LEN;
/// The length of the header before the contents: the magic, their length, their checksum.
const HEAD: usize = MAGIC.len() + 8 + blake3::OUT_LEN;

/// The contents of a file.
#[derive(Serialize, Deserialize)]
struct Contents<'a> {
    /// The version of this crate.
    #[serde(borrow)]
    made_by: Cow<'a, str>,
    nvrtc: (u32, u32),
    #[serde(borrow)]
    kernels: Vec<Entry<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Entry<'a> {
    key: [u8; KEY],
    #[serde(borrow)]
    name: Cow<'a, str>,
    architecture: (u32, u32),
    #[serde(borrow)]
    cubin: &'a [u8],
}

fn seal(contents: &Contents<'_>) -> Result<Vec<u8>, Error> {
    let payload = postcard::to_allocvec(contents).map_err(|error| cannot(error.to_string()))?;
    let mut file = Vec::with_capacity(HEAD + payload.len());
    file.extend_from_slice(&MAGIC);
    file.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    file.extend_from_slice(blake3::hash(&payload).as_bytes());
    file.extend_from_slice(&payload);
    Ok(file)
}

/// The contents of a file, if it is complete.
fn unseal(file: &[u8]) -> Result<Contents<'_>, String> {
    let (magic, rest) = file.split_first_chunk::<{ MAGIC.len() }>().ok_or("they are cut short")?;
    if *magic != MAGIC {
        let of_another_version = magic[..MAGIC.len() - 1] == MAGIC[..MAGIC.len() - 1];
        return Err(if of_another_version {
            "another version of this crate made them"
        } else {
            "they are something else"
        }
        .to_owned());
    }
    let (length, rest) = rest.split_first_chunk::<8>().ok_or("they are cut short")?;
    let (checksum, payload) = rest.split_first_chunk::<{ blake3::OUT_LEN }>().ok_or("they are cut short")?;
    let length = u64::from_le_bytes(*length);
    if payload.len() as u64 != length {
        return Err(format!("{} bytes of {length} are there", payload.len()));
    }
    if blake3::hash(payload).as_bytes() != checksum {
        return Err("they are damaged".to_owned());
    }
    postcard::from_bytes(payload).map_err(|error| error.to_string())
}

/// An opened file of kernels that a [`Bundle`] has compiled.
///
/// [`ScannerBuilder::precompiled`](crate::ScannerBuilder::precompiled) takes the bytes themselves; open them to inspect
/// them.
///
/// ```no_run
/// use scan_runtime::{DeviceLimits, Scanner, aot::Precompiled, ops};
///
/// let kernels = Precompiled::open(std::fs::read("kernels.scan")?)?;
/// let scanner = Scanner::cpu();
/// let limits = DeviceLimits::of("sm_90".parse()?);
/// assert_eq!(kernels.missing(&scanner.scan(ops::sum::<f32>()), &limits)?, [""; 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Precompiled {
    bytes: Cow<'static, [u8]>,
    /// The version of the NVRTC that compiled them.
    pub(crate) nvrtc: (u32, u32),
    kernels: Vec<Kernel>,
    places: HashMap<[u8; KEY], Range<usize>>,
}

/// One of the kernel modules that are [precompiled](Precompiled).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernel {
    /// The operator and the kind of scan.
    pub name: String,
    /// The target architecture.
    pub architecture: Architecture,
    /// Bytes of machine code.
    pub bytes: usize,
}

impl fmt::Debug for Precompiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Machine code is left out.
        f.debug_struct("Precompiled").field("kernels", &self.kernels).finish_non_exhaustive()
    }
}

impl Precompiled {
    /// Opens the bytes of a file and checks all of them. Embedded bytes are not copied.
    ///
    /// # Errors
    ///
    /// [`Error::Precompiled`] if they are not such a file, incomplete, damaged, or of another version.
    pub fn open(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, Error> {
        let bytes = bytes.into();
        let contents = unseal(&bytes).map_err(|reason| Error::Precompiled { reason })?;
        let (start, nvrtc) = (bytes.as_ptr() as usize, contents.nvrtc);
        let mut kernels = Vec::with_capacity(contents.kernels.len());
        let mut places = HashMap::with_capacity(contents.kernels.len());
        for Entry { key, name, architecture: (major, minor), cubin } in contents.kernels {
            let architecture = Architecture { major, minor };
            kernels.push(Kernel { name: name.into_owned(), architecture, bytes: cubin.len() });
            // The cubin is borrowed from the bytes.
            let first = cubin.as_ptr() as usize - start;
            places.insert(key, first..first + cubin.len());
        }
        kernels.sort_by(|a, b| (a.architecture, &a.name).cmp(&(b.architecture, &b.name)));
        Ok(Precompiled { bytes, nvrtc, kernels, places })
    }

    /// The kernel modules, by architecture and name.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The names of the kernel modules that a scan, a reduction, or a [`Recording`] needs on a device and that are
    /// missing here.
    ///
    /// # Errors
    ///
    /// Those of planning and rendering.
    pub fn missing(&self, what: &impl Precompile, limits: &DeviceLimits) -> Result<Vec<String>, Error> {
        let sources = what.wanted().sources(limits)?;
        let is_missing = |source: &KernelSource| self.cubin(source, limits.architecture).is_none();
        Ok(sources.into_iter().filter(|(_, source)| is_missing(source)).map(|(name, _)| name).collect())
    }

    /// The machine code of a source, for this architecture or an earlier one that it executes.
    pub(crate) fn cubin(&self, source: &KernelSource, architecture: Architecture) -> Option<&[u8]> {
        let place = |minor| self.places.get(nvrtc::key(source, Architecture { minor, ..architecture }).as_bytes());
        let place = (0..=architecture.minor).rev().find_map(place)?;
        self.bytes.get(place.clone())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use super::*;
    use crate::{Scanner, ops};

    fn limits(architecture: &str) -> DeviceLimits {
        DeviceLimits::of(architecture.parse().unwrap())
    }

    #[test]
    fn a_bundle_wants_each_scan_that_is_added_for_each_device() {
        let scan = Scanner::cpu().scan(ops::sum::<u16>());
        let (by_offsets, reduce) = (scan.by_offsets(&[0_u32]), Scanner::cpu().reduce(ops::sum::<u16>()));
        let bundle = Bundle::new().architecture("sm_80").device(limits("sm_90")).with(&scan).with(&scan.with_total());
        let bundle = bundle.with(&by_offsets.with_totals()).with(&reduce).with(&reduce.by_offsets(&[0_u32]));
        let targets: Vec<_> = bundle.targets.into_iter().map(|limits| limits.unwrap().architecture).collect();
        assert_eq!(targets, ["sm_80", "sm_90"].map(|name| name.parse::<Architecture>().unwrap()));
        let totals = |task: &Task| match task {
            Task::Scan(spec, _) => Some((spec.total, spec.totals)),
            _ => None,
        };
        let wanted: Vec<Vec<_>> =
            bundle.wanted.iter().map(|wanted| wanted.tasks.iter().map(totals).collect()).collect();
        let plain = Some((false, false));
        assert_eq!(wanted[..3], [vec![plain], vec![Some((true, false))], vec![Some((false, true))]]);
        assert_eq!(wanted[3..], [vec![None, Some((true, false))], vec![plain, None]]);
        assert!(matches!(&bundle.wanted[3].tasks[0], Task::Reduce(..)));
        assert!(matches!(&bundle.wanted[4].tasks[1], Task::LastResults(spec) if !spec.segments.is_none()));
        assert!(matches!(Bundle::new().with(&scan).compile(), Err(Error::Bundle { .. })));
    }

    #[test]
    fn the_code_of_a_source_is_found_by_its_text_and_its_architecture() {
        let source = |kept| Scanner::cpu().scan(ops::sum::<u32>()).cuda_source_for(kept).unwrap();
        let (short, long) = (source(10), source(1 << 24));
        let key =
            |source: &KernelSource, architecture: &str| *nvrtc::key(source, architecture.parse().unwrap()).as_bytes();
        let entry = |source: &KernelSource, architecture: (u32, u32), cubin: &'static [u8]| {
            let name = format!("sm_{}{}", architecture.0, architecture.1);
            Entry { key: key(source, &name), name: name.into(), architecture, cubin }
        };
        let kernels = vec![
            entry(&short, (8, 6), b"short, 8.6"),
            entry(&long, (8, 0), b"long, 8.0"),
            entry(&short, (8, 0), b"short, 8.0"),
        ];
        let file = seal(&Contents { made_by: "a test".into(), nvrtc: (13, 1), kernels }).unwrap();
        let open = Precompiled::open(file).unwrap();
        let cubin = |source: &KernelSource, architecture: &str| open.cubin(source, architecture.parse().unwrap());
        assert_eq!(cubin(&short, "sm_80"), Some(&b"short, 8.0"[..]));
        assert_eq!(cubin(&short, "sm_89"), Some(&b"short, 8.6"[..]));
        assert_eq!(cubin(&long, "sm_86"), Some(&b"long, 8.0"[..]));
        assert_eq!((cubin(&long, "sm_90"), cubin(&short, "sm_75")), (None, None));
        let kernels: Vec<_> = open.kernels().iter().map(|kernel| (&*kernel.name, kernel.bytes)).collect();
        assert_eq!((kernels, open.nvrtc), (vec![("sm_80", 9), ("sm_80", 10), ("sm_86", 10)], (13, 1)));
    }

    #[test]
    fn a_file_that_is_damaged_is_refused_with_the_reason() {
        let file = seal(&Contents { made_by: "a test".into(), nvrtc: (13, 1), kernels: Vec::new() }).unwrap();
        assert!(unseal(&file).is_ok());
        let reason = |file: &[u8]| unseal(file).err().unwrap_or_default();
        for len in 0..file.len() {
            let expected = if len < MAGIC.len() + 8 + blake3::OUT_LEN { "cut short" } else { "bytes of" };
            assert!(reason(&file[..len]).contains(expected), "{len}: {}", reason(&file[..len]));
        }
        let with = |place: usize| {
            let mut file = file.clone();
            file[place] ^= 1;
            reason(&file)
        };
        assert_eq!([with(0), with(7)], ["they are something else", "another version of this crate made them"]);
        assert!(with(8).contains("bytes of"));
        assert_eq!([with(16), with(file.len() - 1)], ["they are damaged"; 2]);
    }
}
