//! Builds programs as a crate of Rust and as text of C++, runs both, and compares.

use super::types::{Type, Types, is_float, is_half, is_integer};
use super::values;
use crate::beside::{self, Beside};
use crate::emulated::Random;
use libloading::{Library, Symbol};
use rayon::prelude::*;
use scan_codegen::Primitive;
use std::ffi::c_void;
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Programs that share types.
pub(super) struct Part {
    pub(super) types: Types,
    pub(super) programs: Vec<Unit>,
}

/// A program, as it is built and run.
pub(super) struct Unit {
    /// Its number in its seed.
    pub(super) index: usize,
    /// The function of the operator that it is.
    pub(super) function: &'static str,
    /// The types of its two values, and of what it makes of them.
    pub(super) types: [Type; 3],
    /// Whether it is one of the two functions that the text has for one of Rust.
    pub(super) is_halved: bool,
    /// The operator's items in Rust.
    pub(super) rust: String,
}

/// Programs to be built together.
pub(super) struct Batch {
    pub(super) folder: String,
    pub(super) seed: u64,
    pub(super) values: usize,
    pub(super) parts: Vec<Part>,
    /// Whether each program's text is compiled by itself, so that one that does not compile spoils no other.
    pub(super) alone: bool,
}

/// What came of running programs.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many programs were run.
    pub programs: usize,
    /// How many results were compared.
    pub compared: usize,
    /// How many of these were panics, of both.
    pub panics: usize,
    /// The programs whose text means something else than their Rust.
    pub failures: Vec<Failure>,
}

/// A program whose text means something else than its Rust.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its number in the seed.
    pub index: usize,
    /// Its place among the programs that were run.
    pub place: usize,
    /// What differs, on which values.
    pub difference: String,
    /// The program.
    pub rust: String,
    /// Its text.
    pub text: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Failure { index, difference, rust, text, .. } = self;
        write!(f, "program {index}: {difference}\n--- Rust:\n{rust}\n--- text:\n{text}")
    }
}

/// How many programs' texts share a file and a prelude; one in so many is a file by itself.
const IN_A_FILE: usize = 125;

const EXPORTS: &str = include_str!("exports.rs");

const WORKSPACE: &str = r#"[workspace]
members = ["part_*"]
default-members = ["part_*"]
resolver = "3"
"#;

/// The programs themselves are built fast, and their integers wrap.
const PART_PROFILE: &str = "opt-level = 0\ndebug = 0\noverflow-checks = false\n";

/// What all crates have besides.
const ITEMS: &str = r"
const F16_TABLE: [f16; 3] = [f16::ONE, f16::NEG_INFINITY, f16::EPSILON];
const BF16_TABLE: [bf16; 3] = [bf16::ONE, bf16::MAX, bf16::MIN_POSITIVE];

#[scan_element]
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
enum Kind { Low = -3, Middle = 5, High }

#[scan_fn]
fn kind_of(value: u8) -> Kind {
    match value % 3 { 0 => Kind::Low, 1 => Kind::Middle, _ => Kind::High }
}

#[scan_element]
#[derive(Clone, Copy)]
struct Both<T> { left: T, right: T }
";

/// Programs whose Rust is built.
pub struct Built {
    batch: Batch,
    libraries: Vec<RustLibrary>,
    folder: PathBuf,
}

impl Built {
    /// Compiles the text, runs both sides, and compares.
    pub fn run(&self) -> Result<Report, String> {
        let files = self.files();
        let next = AtomicUsize::new(0);
        let reports = Mutex::new(Vec::new());
        let work = || {
            while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                let report = self.run_file(file, &self.folder, &|text| text);
                match reports.lock() {
                    Ok(mut reports) => reports.push(report),
                    Err(_) => return,
                }
            }
        };
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
        thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
        let mut all = Report::default();
        for report in reports.into_inner().map_err(|error| error.to_string())? {
            let report = report?;
            all.programs += report.programs;
            all.compared += report.compared;
            all.panics += report.panics;
            all.failures.extend(report.failures);
        }
        all.failures.sort_by_key(|failure| failure.place);
        Ok(all)
    }

    /// The same with something in the text replaced, until a program tells: how many programs that took, `None` where
    /// none of `max` did.
    pub fn first_to_tell(&self, (from, to): (&str, &str), max: usize) -> Result<Option<usize>, String> {
        // Of its own, so that several mistakes can be looked for at once.
        let folder =
            self.folder.join(format!("mistake_{}", &blake3::hash(format!("{from}\n{to}").as_bytes()).to_hex()[..8]));
        let mut replaced = false;
        let files = self.files();
        let mut programs = 0;
        let wanted: Vec<(&File, usize)> = files
            .iter()
            .filter(|file| file.end - file.first > 1)
            .map(|file| {
                let before = programs;
                programs += file.end - file.first;
                (file, before)
            })
            .take_while(|(_, before)| *before < max)
            .collect();
        // As many at once as there are cores: what few programs tell is looked for when all else has been found.
        for chunk in wanted.chunks(rayon::current_num_threads()) {
            let told = |&(file, before): &(&File, usize)| {
                if !self.libraries[file.part].text(file.first, file.end, false)?.contains(from) {
                    return Ok((false, None));
                }
                let report = self.run_file(file, &folder, &|text| text.replace(from, to))?;
                Ok((true, report.failures.first().map(|failure| before + failure.place + 1 - file.place)))
            };
            let told: Result<Vec<(bool, Option<usize>)>, String> = chunk.par_iter().map(told).collect();
            for (has, first) in told? {
                replaced |= has;
                if first.is_some() {
                    return Ok(first);
                }
            }
        }
        if replaced { Ok(None) } else { Err(format!("no text has `{from}`")) }
    }

    /// The CUDA text of some of the first programs as kernels in one source, each with the prelude that it alone needs.
    pub fn kernels(&self, range: Range<usize>) -> Result<String, String> {
        let (part, library) = self.batch.parts.iter().zip(&self.libraries).next().ok_or("there are no programs")?;
        library.text(range.start, part.programs.len().min(range.end), true)
    }

    fn files(&self) -> Vec<File> {
        let mut files = Vec::new();
        let mut place = 0;
        for (number, part) in self.batch.parts.iter().enumerate() {
            let count = part.programs.len();
            let mut first = 0;
            while first < count {
                let alone = self.batch.alone || first % IN_A_FILE == 0;
                let end = if alone { first + 1 } else { count.min(first + IN_A_FILE - 1) };
                files.push(File { part: number, first, end, place: place + first });
                first = end;
            }
            place += count;
        }
        files
    }

    fn run_file(&self, file: &File, folder: &Path, change: &dyn Fn(String) -> String) -> Result<Report, String> {
        let (part, rust) = (&self.batch.parts[file.part], &self.libraries[file.part]);
        let text = change(rust.text(file.first, file.end, false)?);
        let source = format!(
            "{text}extern \"C\" bool run(unsigned long long index, const void *a, const void *b, void *out) {{ \
             return table[index](a, b, out); }}\n"
        );
        let mut report = Report::default();
        let library = match compile(folder, file, &source) {
            Ok(library) => library,
            Err(errors) if file.end - file.first == 1 => {
                report.failures.push(self.failure(file, 0, format!("the text does not compile:\n{errors}"), rust)?);
                return Ok(report);
            }
            Err(errors) => return Err(format!("the text of seed {} does not compile:\n{errors}", self.batch.seed)),
        };
        // SAFETY: the text ends in this function.
        let text_run = unsafe { library.get::<TextRun>(b"run") }.map_err(|error| error.to_string())?;
        for place in 0..file.end - file.first {
            let Unit { index, types, is_halved, .. } = &part.programs[file.first + place];
            report.programs += 1;
            let [left, right, leaves] = types.each_ref().map(|ty| part.types.leaves(ty));
            for (number, ty) in types.iter().enumerate() {
                let (found, size) = (rust.size(file.first + place, number)?, part.types.size(ty));
                if found != size {
                    return Err(format!("value {number} of program {index} has {found} bytes, not {size}"));
                }
            }
            let mut random = Random::new(*index as u64);
            for _ in 0..self.batch.values {
                let (a, mut b) = (element(&left, &mut random), element(&right, &mut random));
                if random.one_in(8) && left == right {
                    b = a;
                }
                let (mut by_rust, mut by_text) = ([0_u8; 256], [0_u8; 256]);
                let rust_panicked = rust.run(file.first + place, &a, &b, &mut by_rust)?;
                // SAFETY: the buffers have room for any element; both sides were made of the same program.
                let text_panicked = unsafe { text_run(place as u64, a.as_ptr(), b.as_ptr(), by_text.as_mut_ptr()) };
                report.compared += 1;
                let difference = match (rust_panicked, text_panicked) {
                    (true, true) => {
                        report.panics += 1;
                        continue;
                    }
                    // What only the other half needs is not computed.
                    (true, false) if *is_halved => continue,
                    (true, false) => "Rust panics, the text does not".to_owned(),
                    (false, true) => "the text panics, Rust does not".to_owned(),
                    (false, false) => match difference(&leaves, &by_rust, &by_text) {
                        None => continue,
                        Some(difference) => difference,
                    },
                };
                let difference = format!("{difference}\na = {}\nb = {}", shown(&left, &a), shown(&right, &b));
                report.failures.push(self.failure(file, place, difference, rust)?);
                break;
            }
        }
        Ok(report)
    }

    fn failure(&self, file: &File, place: usize, difference: String, rust: &RustLibrary) -> Result<Failure, String> {
        let own = file.first + place;
        let Unit { index, rust: program, .. } = &self.batch.parts[file.part].programs[own];
        let text = rust.text(own, own + 1, false)?;
        let body = text.find("struct Programs {").map_or("", |start| &text[start..]);
        let body = body.split("\n};").next().unwrap_or_default();
        let lines = body.lines().filter(|line| !line.starts_with("#line"));
        Ok(Failure {
            index: *index,
            place: file.place + place,
            difference,
            rust: program.clone(),
            text: lines.collect::<Vec<_>>().join("\n"),
        })
    }
}

impl Batch {
    /// Cargo puts what it builds of all batches into one folder.
    fn crate_name(&self, number: usize) -> String {
        format!("programs_{}_{number}", self.folder)
    }

    /// Writes the crates, and builds them with cargo, as a user would.
    pub(super) fn build(self) -> Result<Built, String> {
        let mut manifest = WORKSPACE.to_owned();
        for number in 0..self.parts.len() {
            write!(manifest, "\n[profile.dev.package.{}]\n{PART_PROFILE}", self.crate_name(number)).ok();
        }
        let beside = Beside::new(&format!("random_programs/{}", self.folder), &manifest)?;
        let folder = beside.folder.clone();
        // A part of an earlier, larger batch would be built along.
        for old in fs::read_dir(&folder).map_err(|error| error.to_string())?.flatten() {
            let name = old.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix("part_").and_then(|number| number.parse::<usize>().ok());
            if number.is_some_and(|number| number >= self.parts.len()) {
                fs::remove_dir_all(old.path()).map_err(|error| error.to_string())?;
            }
        }
        for (number, part) in self.parts.iter().enumerate() {
            let own = folder.join(format!("part_{number}"));
            let manifest = format!(
                "[package]\nname = \"{}\"\nversion = \"0.1.0\"\nedition.workspace = true\n\n\
                 [lib]\ncrate-type = [\"cdylib\"]\n\n\
                 [dependencies]\n{}scan-codegen.workspace = true\nhalf = \"2\"\n",
                self.crate_name(number),
                beside::dependencies(),
            );
            write(&own.join("Cargo.toml"), &manifest)?;
            write(&own.join("src/lib.rs"), &part.text())?;
        }
        let output =
            beside.cargo("build").arg("--quiet").output().map_err(|error| format!("cargo does not start: {error}"))?;
        if !output.status.success() {
            return Err(format!(
                "the programs of seed {} do not build in {}:\n{}",
                self.seed,
                folder.display(),
                first_lines(&output.stderr)
            ));
        }
        let open = |number| RustLibrary::open(&beside.target.join("debug"), &self.crate_name(number));
        let libraries = (0..self.parts.len()).map(open).collect::<Result<_, _>>()?;
        Ok(Built { batch: self, libraries, folder })
    }
}

/// Programs whose texts are compiled together.
struct File {
    part: usize,
    first: usize,
    end: usize,
    /// The place of the first among all programs.
    place: usize,
}

type TextRun = unsafe extern "C" fn(u64, *const u8, *const u8, *mut u8) -> bool;
type RustRun = unsafe extern "C" fn(usize, *const u8, *const u8, *mut u8) -> bool;
type Take = unsafe extern "C" fn(*mut c_void, *const u8, usize);
type RustText = unsafe extern "C" fn(usize, usize, bool, Take, *mut c_void) -> bool;

/// A built part.
struct RustLibrary {
    library: Library,
}

impl RustLibrary {
    fn open(folder: &Path, name: &str) -> Result<Self, String> {
        let name = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        // SAFETY: the library was built just now, of a crate whose initialisers do nothing.
        let library = unsafe { Library::new(folder.join(name)) }.map_err(|error| error.to_string())?;
        let opened = RustLibrary { library };
        // SAFETY: the function is declared so in `exports.rs`.
        unsafe { opened.get::<unsafe extern "C" fn()>(b"programs_silence")?() };
        Ok(opened)
    }

    /// # Safety
    ///
    /// The type is that of the function in `exports.rs`.
    unsafe fn get<T>(&self, name: &[u8]) -> Result<Symbol<'_, T>, String> {
        // SAFETY: as the caller says.
        unsafe { self.library.get(name) }.map_err(|error| error.to_string())
    }

    /// The size of one of the two values of a program, or of its result.
    fn size(&self, index: usize, value: usize) -> Result<usize, String> {
        // SAFETY: the function is declared so in `exports.rs`.
        Ok(unsafe { self.get::<unsafe extern "C" fn(usize, usize) -> usize>(b"programs_size")?(index, value) })
    }

    fn run(&self, index: usize, a: &[u8; 256], b: &[u8; 256], out: &mut [u8; 256]) -> Result<bool, String> {
        // SAFETY: the function is declared so in `exports.rs`, and no element is larger than the buffers.
        Ok(unsafe { self.get::<RustRun>(b"programs_run")?(index, a.as_ptr(), b.as_ptr(), out.as_mut_ptr()) })
    }

    fn text(&self, first: usize, end: usize, cuda: bool) -> Result<String, String> {
        unsafe extern "C" fn take(context: *mut c_void, text: *const u8, length: usize) {
            // SAFETY: `context` is the vector below, and the text is as long as it says.
            unsafe {
                let bytes = &mut *context.cast::<Vec<u8>>();
                bytes.extend_from_slice(std::slice::from_raw_parts(text, length));
            }
        }
        let mut bytes: Vec<u8> = Vec::new();
        // SAFETY: the function is declared so in `exports.rs`; it calls `take` before it returns, and never after.
        let good = unsafe {
            self.get::<RustText>(b"programs_text")?(first, end, cuda, take, std::ptr::from_mut(&mut bytes).cast())
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if good {
            return Ok(text);
        }
        // Which of them it is.
        if end - first > 1 {
            for index in first..end {
                self.text(index, index + 1, cuda)?;
            }
        }
        Err(format!("programs {first} to {end} of the part have no text: {text}"))
    }
}

impl Part {
    /// The crate's `lib.rs`.
    fn text(&self) -> String {
        let mut text =
            format!("#![allow(warnings, arithmetic_overflow, unconditional_panic, overflowing_literals)]\n{EXPORTS}\n");
        for primitive in
            Primitive::ALL.into_iter().filter(|primitive| *primitive != Primitive::Bool && !is_half(*primitive))
        {
            let (name, upper) = (primitive.name(), primitive.name().to_uppercase());
            let (constant, table) = match (is_integer(primitive), is_float(primitive)) {
                (_, true) => ("-6.25", "[0.5, -1.0, 3.0, 1e5, 0.1]"),
                _ if name.starts_with('i') => ("-77", "[3, -1, 4, 1, -5]"),
                _ => ("201", "[3, 1, 4, 1, 5]"),
            };
            writeln!(text, "const CONST_{upper}: {name} = {constant};\nconst TABLE_{upper}: [{name}; 5] = {table};")
                .ok();
        }
        text += ITEMS;
        text += &self.types.declarations();
        let mut names = String::new();
        for (place, Unit { function, rust, .. }) in self.programs.iter().enumerate() {
            writeln!(text, "struct P{place};\n#[scan_op]\nimpl ScanOp for P{place} {{\n{rust}}}").ok();
            write!(names, "P{place}:{function} ").ok();
        }
        writeln!(text, "programs! {{ {names}}}").ok();
        text
    }
}

/// Writes a file whose text has changed, and no other, so that nothing is built again for nothing.
fn write(file: &Path, text: &str) -> Result<(), String> {
    beside::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Compiles a text, unless it has been.
fn compile(folder: &Path, file: &File, source: &str) -> Result<Library, String> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let flags = ["-std=c++20", "-O0", "-ffp-contract=off", "-fPIC", "-shared", "-w", "-pipe"];
    let key = blake3::hash(format!("{compiler} {flags:?}\n{source}").as_bytes()).to_hex();
    let stem = folder.join(format!("text_{}_{}", file.part, file.first));
    let (text, library) = (stem.with_extension("cpp"), stem.with_extension(format!("{}.so", &key[..24])));
    if !library.is_file() {
        // Those of earlier texts of this file.
        let name = stem.file_name().map(|name| format!("{}.", name.to_string_lossy())).unwrap_or_default();
        write(&text, source)?;
        for old in fs::read_dir(folder).map_err(|error| error.to_string())?.flatten() {
            let old_name = old.file_name().to_string_lossy().into_owned();
            if old_name.starts_with(&name) && old_name.ends_with(".so") {
                fs::remove_file(old.path()).ok();
            }
        }
        let output = Command::new(&compiler).args(flags).arg(&text).arg("-o").arg(&library).output();
        let output = output.map_err(|error| format!("this needs a C++20 compiler, `{compiler}`: {error}"))?;
        if !output.status.success() {
            return Err(first_lines(&output.stderr));
        }
    }
    // SAFETY: the library was made of the text above, which has no initialisers.
    unsafe { Library::new(&library) }.map_err(|error| error.to_string())
}

fn first_lines(messages: &[u8]) -> String {
    String::from_utf8_lossy(messages).lines().take(60).collect::<Vec<_>>().join("\n")
}

fn element(leaves: &[(usize, Primitive, String)], random: &mut Random) -> [u8; 256] {
    let mut bytes = [0; 256];
    for (at, primitive, _) in leaves {
        let value = values::value(*primitive, random);
        bytes[*at..at + value.len()].copy_from_slice(&value);
    }
    bytes
}

fn read(bytes: &[u8; 256], at: usize, primitive: Primitive) -> u128 {
    let mut wide = [0; 16];
    wide[..primitive.size()].copy_from_slice(&bytes[at..at + primitive.size()]);
    u128::from_le_bytes(wide)
}

/// How two values differ. One NaN is as good as another.
fn difference(leaves: &[(usize, Primitive, String)], rust: &[u8; 256], text: &[u8; 256]) -> Option<String> {
    leaves.iter().find_map(|(at, primitive, name)| {
        let (rust, text) = (read(rust, *at, *primitive), read(text, *at, *primitive));
        let nan = |bits: u128| match primitive {
            Primitive::F16 => bits & 0x7fff > 0x7c00,
            Primitive::Bf16 => bits & 0x7fff > 0x7f80,
            Primitive::F32 => f32::from_bits(bits as u32).is_nan(),
            Primitive::F64 => f64::from_bits(bits as u64).is_nan(),
            _ => false,
        };
        let same = rust == text || nan(rust) && nan(text);
        let shown = |bits| number(*primitive, bits);
        (!same).then(|| format!("result{name} is {} in Rust, {} in the text", shown(rust), shown(text)))
    })
}

fn shown(leaves: &[(usize, Primitive, String)], bytes: &[u8; 256]) -> String {
    let parts: Vec<String> = leaves
        .iter()
        .map(|(at, primitive, name)| {
            let value = number(*primitive, read(bytes, *at, *primitive));
            if name.is_empty() { value } else { format!("{name}: {value}") }
        })
        .collect();
    parts.join(", ")
}

fn number(primitive: Primitive, bits: u128) -> String {
    let name = primitive.name();
    match primitive {
        Primitive::Bool => (bits != 0).to_string(),
        Primitive::F32 => format!("{:?}_f32 ({bits:#x})", f32::from_bits(bits as u32)),
        Primitive::F64 => format!("{:?}_f64 ({bits:#x})", f64::from_bits(bits as u64)),
        Primitive::F16 | Primitive::Bf16 => format!("{name} of bits {bits:#x}"),
        _ if name.starts_with('i') => {
            let above = 128 - 8 * primitive.size() as u32;
            format!("{}_{name}", ((bits << above) as i128) >> above)
        }
        _ => format!("{bits}_{name}"),
    }
}
