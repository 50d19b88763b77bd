//! The shared libraries through which the runtime finds the functions of this process: the driver, which is NVRTC, too.
//!
//! Their functions only jump to those of [`functions`](super::functions), which are given when a library is loaded. A
//! library that is open already is found by its name (`DT_SONAME`), wherever it lies.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::target_dir;

/// The names under which the runtime and cudarc look for the driver.
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// A function by its name.
pub(super) type Function = (&'static str, usize);

/// Opens the libraries. Returns the path of one of them, which is NVRTC, too.
pub(super) fn open(functions: &[Function]) -> Result<PathBuf, String> {
    let text = text(functions);
    let id = &blake3::hash(text.as_bytes()).to_hex()[..16];
    let folder = target_dir()?.join("recording-driver").join(id);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for name in NAMES {
        let path = folder.join(name);
        if !path.exists() {
            compile(&text, name, &path)?;
        }
        let failed = |error: libloading::Error| format!("{} does not open: {error}", path.display());
        // SAFETY: the library's only initialiser is none.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }.map_err(failed)?;
        // SAFETY: `text` defines the function with this type.
        unsafe {
            let connect = library.get::<unsafe extern "C" fn(*const usize)>("scan_connect").map_err(failed)?;
            let addresses: Vec<usize> = functions.iter().map(|(_, address)| *address).collect();
            connect(addresses.as_ptr());
        }
        // Open until the process ends.
        std::mem::forget(library);
    }
    Ok(folder.join(NAMES[0]))
}

/// Each function passes on as many words as any of them takes: what a function does not take, it does not read.
fn text(functions: &[Function]) -> String {
    const WORDS: usize = 11;
    let list = |item: fn(usize) -> String| (0..WORDS).map(item).collect::<Vec<_>>().join(", ");
    let (types, parameters) = (list(|_| "Word".to_owned()), list(|k| format!("Word w{k}")));
    let arguments = list(|k| format!("w{k}"));
    let count = functions.len();
    let mut text = format!(
        "typedef unsigned long long Word;\ntypedef Word (*Function)({types});\nstatic Function functions[{count}];\n\
         extern \"C\" void scan_connect(const Function* all) {{\n  \
         for (int i = 0; i < {count}; i++) functions[i] = all[i];\n}}\n"
    );
    for (index, (name, _)) in functions.iter().enumerate() {
        text.push_str(&format!(
            "extern \"C\" Word {name}({parameters}) {{ return functions[{index}]({arguments}); }}\n"
        ));
    }
    text
}

fn compile(text: &str, name: &str, path: &Path) -> Result<(), String> {
    // Other processes may do the same: each writes files of its own, and renames the finished library.
    let own = path.with_extension(format!("{}.{:?}.own", std::process::id(), thread::current().id()));
    let source = own.with_extension("cpp");
    fs::write(&source, text).map_err(|error| format!("{}: {error}", source.display()))?;
    let compiler = env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let soname = format!("-Wl,-soname,{name}");
    let output =
        Command::new(&compiler).args(["-O1", "-shared", "-fPIC", "-w", &soname, "-o"]).arg(&own).arg(&source).output();
    let output = output.map_err(|error| format!("the C++ compiler `{compiler}` (set CXX to name another): {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let _ = fs::remove_file(&source);
    fs::rename(&own, path).map_err(|error| format!("{}: {error}", path.display()))
}
