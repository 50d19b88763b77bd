//! Generated sources as machine code: translated, compiled by the system's C++ compiler, and loaded.
//!
//! What has been compiled is kept in the target directory under a name made of its content, so a second test run compiles
//! nothing. Several sources share one call of the compiler, and all calls share a precompiled prelude: to start the
//! compiler and to read the prelude takes almost as long as to compile a source.

use std::{
    collections::HashMap,
    env,
    ffi::{OsStr, c_void},
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use libloading::Library;
use scan_codegen::KernelSource;

use super::{
    EmulatorError,
    callbacks::{HOST, Host},
    translate::{Translation, translate},
};

const PRELUDE: &str = include_str!("host.hpp");

/// Floats as the GPU rounds them, with no contraction; bytes may be read through any type. Most kernels are compiled for one short
/// run: without optimisation a suite takes three quarters of the time that it takes with `-Og`. Nothing unwinds a kernel's stack, and
/// to describe it is an eighth of what the compiler does.
const FLAGS: [&str; 12] = [
    "-std=c++20",
    "-O0",
    "-fno-exceptions",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fvisibility=hidden",
    "-shared",
    "-fPIC",
    "-w",
    "-pipe",
];

/// Has the indices of arrays that are a thread's own checked, those at the end of a structure too, and by how many bits
/// values are shifted. The prelude has the functions that are called, so nothing is linked in for it.
const CHECKED_BY_GCC: [&str; 2] = ["-fsanitize=bounds-strict,shift-exponent", "-nodefaultlibs"];
const CHECKED_BY_CLANG: [&str; 1] = ["-fsanitize=array-bounds,shift-exponent"];

/// The most sources in one call of the compiler.
const MAX: usize = 24;

/// Sources that one core compiles, though another one may be idle: to start the compiler takes almost as long as to compile
/// a source, and where tests run side by side no core is idle.
const FEW: usize = 6;

/// The kernels of one generated source, ready to be executed.
#[derive(Debug)]
pub struct Module {
    /// The name of the source.
    pub name: String,
    kernels: Vec<Kernel>,
    /// Keeps the code loaded.
    _library: Arc<Library>,
}

/// A kernel of a [`Module`].
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    /// Runs one thread: the arguments are pointers to the values, or to the [`Handle`](super::callbacks::Handle)s.
    pub(super) entry: unsafe extern "C" fn(*const *const c_void),
    /// The most threads of a block that the kernel allows, if it says so.
    pub(super) bound: u32,
    /// Blocks of a cluster; 1 where the kernel asks for none.
    pub(super) cluster: u32,
    /// The sizes of the parameters in bytes; 0 for a pointer.
    pub(super) parameters: Vec<u32>,
}

/// The folder of compiled modules, where it is not that in Cargo's target folder.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

impl Module {
    /// Keeps what this process compiles in a folder of the caller's, who can then remove it. Only the first call counts.
    pub fn keep_in(folder: PathBuf) {
        FOLDER.get_or_init(|| folder);
    }

    /// Translates and compiles a source, unless that has been done before.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::Unsupported`] where the text cannot be translated, [`EmulatorError::Compiler`] where the C++
    /// compiler is missing or refuses the result.
    pub fn new(source: &KernelSource) -> Result<Arc<Module>, EmulatorError> {
        only(Module::compile(&[source])?)
    }

    /// As [`new`](Module::new) for a text of your own in [the dialect](crate#the-dialect). Faults tell its lines
    /// under this name.
    ///
    /// # Errors
    ///
    /// As [`new`](Module::new).
    pub fn from_text(name: &str, text: &str) -> Result<Arc<Module>, EmulatorError> {
        only(Module::compile_texts(&[(name, text)])?)
    }

    /// As [`new`](Module::new) for many sources at once, on all cores: much faster than one by one.
    ///
    /// # Errors
    ///
    /// That of the first source that fails.
    pub fn compile(sources: &[&KernelSource]) -> Result<Vec<Arc<Module>>, EmulatorError> {
        let texts: Vec<_> = sources.iter().map(|source| (source.name.as_str(), source.text.as_str())).collect();
        Module::compile_texts(&texts)
    }

    /// Each source is a name and a text.
    fn compile_texts(sources: &[(&str, &str)]) -> Result<Vec<Arc<Module>>, EmulatorError> {
        let digests: Vec<_> = sources.iter().map(|(name, text)| digest([name.as_bytes(), text.as_bytes()])).collect();
        if let Some(modules) = digests.iter().map(|digest| lock(&SEEN).get(digest).cloned()).collect() {
            return Ok(modules);
        }
        let units = sources.iter().map(|(name, text)| Unit::new(name, text)).collect::<Result<Vec<_>, _>>()?;
        let directory = cache_directory()?;
        let mut missing: Vec<&Unit> =
            units.iter().filter(|unit| !unit.is_loaded() && !unit.is_stored(&directory)).collect();
        // Sources with one operator share its text, and what the compiler makes of it.
        missing.sort_by(|a, b| (&a.translation.operator, &a.id).cmp(&(&b.translation.operator, &b.id)));
        missing.dedup_by(|a, b| a.id == b.id);
        if !missing.is_empty() {
            compile_missing(&missing, &directory, &prelude(&directory)?)?;
        }
        let modules = units.iter().map(|unit| unit.load(&directory)).collect::<Result<Vec<_>, _>>()?;
        lock(&SEEN).extend(digests.into_iter().zip(modules.iter().cloned()));
        Ok(modules)
    }
}

/// The module of one source.
fn only(modules: Vec<Arc<Module>>) -> Result<Arc<Module>, EmulatorError> {
    modules.into_iter().next().ok_or_else(|| EmulatorError::Compiler { message: "no module".to_owned() })
}

/// A translated source.
struct Unit {
    name: String,
    /// Names the source by its content, and that of the prelude and the flags.
    id: String,
    translation: Translation,
}

/// Modules by the text of their source, and by what has been made of it.
static SEEN: LazyLock<Mutex<HashMap<blake3::Hash, Arc<Module>>>> = LazyLock::new(Mutex::default);
static LOADED: LazyLock<Mutex<HashMap<String, Arc<Module>>>> = LazyLock::new(Mutex::default);
static LIBRARIES: LazyLock<Mutex<HashMap<PathBuf, Arc<Library>>>> = LazyLock::new(Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A name for texts, made of their content.
fn digest<const N: usize>(parts: [&[u8]; N]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}

impl Unit {
    fn new(name: &str, text: &str) -> Result<Self, EmulatorError> {
        let translation = translate(text)
            .map_err(|unsupported| EmulatorError::Unsupported { source_name: name.to_owned(), unsupported })?;
        let adapters = adapters("", &translation);
        let (flags, compiler, includes) = (options().join(" "), compiler(), translation.includes.join("\n"));
        let parts = [PRELUDE, &flags, &compiler, name, &includes, &translation.operator, &translation.body, &adapters];
        let id = format!("unit_{}", &digest(parts.map(str::as_bytes)).to_hex()[..24]);
        Ok(Unit { name: name.to_owned(), id, translation })
    }

    fn is_loaded(&self) -> bool {
        lock(&LOADED).contains_key(&self.id)
    }

    /// Where the name of the library that holds this unit is kept.
    fn index(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.txt", self.id))
    }

    fn is_stored(&self, directory: &Path) -> bool {
        fs::read_to_string(self.index(directory)).is_ok_and(|library| directory.join(library).exists())
    }

    /// The text, to stand in the namespace of its operator.
    fn text(&self) -> String {
        let Unit { name, id, translation } = self;
        let Translation { body, first_line, .. } = translation;
        format!("namespace {id} {{\n#line {first_line} \"{name}\"\n{body}\n{}}}\n", adapters(id, translation))
    }

    fn load(&self, directory: &Path) -> Result<Arc<Module>, EmulatorError> {
        if let Some(module) = lock(&LOADED).get(&self.id) {
            return Ok(module.clone());
        }
        let failed = |what: &str, error: &dyn std::fmt::Display| EmulatorError::Compiler {
            message: format!("{what} the compiled `{}`: {error}", self.name),
        };
        let library = fs::read_to_string(self.index(directory)).map_err(|error| failed("finding", &error))?;
        let library = open(&directory.join(library)).map_err(|error| failed("loading", &error))?;
        let kernels = self
            .translation
            .kernels
            .iter()
            .enumerate()
            .map(|(index, signature)| {
                // SAFETY: the symbols are those that `adapters` wrote, with these types.
                let (entry, shape) = unsafe {
                    let entry =
                        library.get::<unsafe extern "C" fn(*const *const c_void)>(format!("{}_{index}", self.id));
                    let shape = library.get::<*const u32>(format!("{}_{index}_shape", self.id));
                    (
                        *entry.map_err(|error| failed("reading", &error))?,
                        *shape.map_err(|error| failed("reading", &error))?,
                    )
                };
                // SAFETY: the bound comes first, then the blocks of a cluster, then a size a parameter.
                let (bound, cluster, parameters) = unsafe {
                    let sizes = std::slice::from_raw_parts(shape.add(2), signature.parameters.len());
                    (shape.read(), shape.add(1).read(), sizes.to_vec())
                };
                Ok(Kernel { name: signature.name.clone(), entry, bound, cluster, parameters })
            })
            .collect::<Result<Vec<_>, EmulatorError>>()?;
        let module = Arc::new(Module { name: self.name.clone(), kernels, _library: library });
        lock(&LOADED).insert(self.id.clone(), module.clone());
        Ok(module)
    }
}

impl Module {
    pub(super) fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// The functions through which the kernels are called: all of one type, so that one kind of pointer calls any.
fn adapters(id: &str, translation: &Translation) -> String {
    let mut text = String::new();
    for (index, kernel) in translation.kernels.iter().enumerate() {
        let arguments: Vec<String> = kernel
            .parameters
            .iter()
            .enumerate()
            .map(|(position, ty)| format!("::emulator::Argument<{ty}>::get(arguments[{position}])"))
            .collect();
        let number = |text: &str, otherwise: &str| if text.is_empty() { otherwise.to_owned() } else { text.to_owned() };
        let mut shape = vec![number(&kernel.bound, "0"), number(&kernel.cluster, "1")];
        shape.extend(kernel.parameters.iter().map(|ty| format!("::emulator::Argument<{ty}>::SIZE")));
        text.push_str(&format!(
            "extern \"C\" __attribute__((visibility(\"default\"))) void {id}_{index}(const void* const* arguments) {{\n  \
             {}({});\n}}\n\
             extern \"C\" {{\n__attribute__((visibility(\"default\"))) extern const std::uint32_t {id}_{index}_shape[];\n\
             const std::uint32_t {id}_{index}_shape[] = {{{}}};\n}}\n",
            kernel.name,
            arguments.join(", "),
            shape.join(", ")
        ));
    }
    text
}

/// Opens a library once, and connects it with the emulator.
fn open(path: &Path) -> Result<Arc<Library>, libloading::Error> {
    let mut libraries = lock(&LIBRARIES);
    if let Some(library) = libraries.get(path) {
        return Ok(library.clone());
    }
    // SAFETY: the library is one of ours; loading it runs nothing.
    let library = Arc::new(unsafe { Library::new(path)? });
    // SAFETY: the prelude defines the function with this type.
    unsafe {
        let connect = library.get::<unsafe extern "C" fn(*const Host)>("emulator_connect")?;
        connect(&HOST);
    }
    libraries.insert(path.to_owned(), library.clone());
    Ok(library)
}

/// What the compiler says of itself; nothing where there is none.
fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let output = Command::new(compiler()).arg("--version").output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    });
    &VERSION
}

/// All options of the compiler.
fn options() -> &'static [&'static str] {
    static OPTIONS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let checked: &[&str] = if version().contains("clang") { &CHECKED_BY_CLANG } else { &CHECKED_BY_GCC };
        [&FLAGS, checked].concat()
    });
    &OPTIONS
}

fn compiler() -> String {
    env::var("CXX").unwrap_or_else(|_| "c++".to_owned())
}

/// Has the compiler make `made` of `source`.
fn call(source: &Path, made: &Path, more: &[&OsStr]) -> Result<(), EmulatorError> {
    let failed = |message: String| EmulatorError::Compiler { message };
    let output = Command::new(compiler()).args(options()).args(more).arg(source).arg("-o").arg(made).output();
    let output = output
        .map_err(|error| failed(format!("the C++ compiler `{}` (set CXX to name another): {error}", compiler())))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(failed(format!("{message}\n(compiled from {})", source.display())))
}

/// A name that no other process or thread has: each writes under a name of its own, and renames the finished file.
fn own_name(name: &str) -> String {
    format!("{name}.{}.{:?}", std::process::id(), thread::current().id()).replace(['(', ')'], "")
}

fn failed_in(directory: &Path) -> impl Fn(io::Error) -> EmulatorError {
    move |error| EmulatorError::Compiler { message: format!("{}: {error}", directory.display()) }
}

/// The header with the prelude. Its precompiled form is next to it; without that the compiler reads the header.
fn prelude(directory: &Path) -> Result<PathBuf, EmulatorError> {
    let parts = [PRELUDE, &options().join(" "), &compiler(), version()];
    let name = format!("prelude_{}.hpp", &digest(parts.map(str::as_bytes)).to_hex()[..24]);
    let header = directory.join(&name);
    let compiled = directory.join(format!("{name}.gch")); // GCC's name, which Clang looks for as well
    if !compiled.exists() {
        let own = directory.join(own_name(&name));
        fs::write(&own, PRELUDE).and_then(|()| fs::rename(&own, &header)).map_err(failed_in(directory))?;
        call(&header, &own, &["-x", "c++-header"].map(OsStr::new))?;
        fs::rename(&own, &compiled).map_err(failed_in(directory))?;
    }
    Ok(header)
}

/// Compiles the units in batches, as many at a time as there are cores.
fn compile_missing(units: &[&Unit], directory: &Path, prelude: &Path) -> Result<(), EmulatorError> {
    let workers = thread::available_parallelism().map_or(1, |cores| cores.get());
    let size = units.len().div_ceil(workers).clamp(FEW, MAX);
    let batches: Vec<&[&Unit]> = units.chunks(size).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            compile_batch(batch, directory, prelude)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let helpers: Vec<_> = (1..workers.min(batches.len())).map(|_| scope.spawn(work)).collect();
        let mut result = work();
        for helper in helpers {
            let done =
                helper.join().unwrap_or_else(|_| Err(EmulatorError::Compiler { message: "a thread died".to_owned() }));
            result = result.and(done);
        }
        result
    })
}

fn compile_batch(batch: &[&Unit], directory: &Path, prelude: &Path) -> Result<(), EmulatorError> {
    let failed = failed_in(directory);
    let mut text = String::new();
    let mut includes: Vec<&String> = batch.iter().flat_map(|unit| &unit.translation.includes).collect();
    includes.sort();
    includes.dedup();
    for include in includes {
        text.push_str(include);
        text.push('\n');
    }
    for (index, units) in batch.chunk_by(|a, b| a.translation.operator == b.translation.operator).enumerate() {
        let operator = &units[0].translation.operator;
        text.push_str(&format!("namespace operator_{index} {{\nusing namespace ::emulator::intrinsics;\n{operator}\n"));
        // The operator's prelude leaves it to its user what a panic does.
        if operator.contains("void panic();") {
            text.push_str("void panic() { ::emulator::give_up(); }\n");
        }
        units.iter().for_each(|unit| text.push_str(&unit.text()));
        text.push_str("}\n");
    }
    text.push_str(
        "const ::emulator::Host* ::emulator::host;\n\
         extern \"C\" __attribute__((visibility(\"default\"))) void emulator_connect(const ::emulator::Host* host) {\n  \
         ::emulator::host = host;\n}\n",
    );
    let name = digest([text.as_bytes(), prelude.as_os_str().as_encoded_bytes()]).to_hex()[..24].to_owned();
    let own = own_name(&name);
    let (source, object) = (directory.join(format!("{own}.cpp")), directory.join(format!("{own}.so")));
    fs::write(&source, &text).map_err(&failed)?;
    call(&source, &object, &[OsStr::new("-include"), prelude.as_os_str()])?;
    let library = format!("{name}.so");
    fs::rename(&object, directory.join(&library)).map_err(&failed)?;
    fs::rename(&source, directory.join(format!("{name}.cpp"))).map_err(&failed)?;
    for unit in batch {
        let temporary = directory.join(format!("{own}.txt"));
        fs::write(&temporary, &library).map_err(&failed)?;
        fs::rename(&temporary, unit.index(directory)).map_err(&failed)?;
    }
    Ok(())
}

/// A folder in Cargo's target folder, unless another one has been named.
fn cache_directory() -> Result<PathBuf, EmulatorError> {
    let directory = match FOLDER.get() {
        Some(folder) => folder.clone(),
        None => crate::target_dir().map_err(|message| EmulatorError::Compiler { message })?.join("emulator"),
    };
    fs::create_dir_all(&directory)
        .map_err(|error| EmulatorError::Compiler { message: format!("{}: {error}", directory.display()) })?;
    Ok(directory)
}
