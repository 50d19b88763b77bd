//! What ours is measured beside: CUB for the bench `peers`, which is `benches/peers/cub.cu` and the gallery's operators
//! in `benches/peers/gallery.cu`, compiled by NVIDIA's compiler with CUB's newest headers; and `cuda.compute` for
//! `calls`, as wheels for the Python of the machine with the GPU. All comes from PyPI.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use scan_tests::{pip::Packages, target_dir};

use crate::gallery;

/// The compiler, of one release in all its parts, so that front end, `ptxas` and runtime agree with each other and with the
/// driver.
const COMPILER: Packages<'_> = Packages {
    what: "nvcc",
    packages: &[
        "nvidia-cuda-nvcc==13.0.88",
        "nvidia-cuda-crt==13.0.88",
        "nvidia-nvvm==13.0.88",
        "nvidia-cuda-runtime==13.0.96",
    ],
    proof: "nvidia/cu13/bin/nvcc",
};

/// CUB: only headers of it are used. The newest that there is when the folder is made.
const HEADERS: Packages<'_> =
    Packages { what: "CUB", packages: &["cuda-cccl"], proof: "cuda/cccl/headers/include/cub/version.cuh" };

/// What the libraries are made of, and what they are called: the operators of the benchmark, uses of scans, and the
/// operators of the gallery.
const SOURCES: [&str; 2] = ["tests/benches/peers/cub.cu", "tests/benches/peers/uses.cu"];
pub(crate) const LIBRARIES: [&str; 3] = ["libcub_peer.so", "libcub_uses.so", "libcub_gallery.so"];

/// Makes the libraries in the target folder, unless they are there already, and gives their paths.
pub(crate) fn build(workspace: &Path, architecture: &str) -> Result<[PathBuf; 3], String> {
    let folder = target_dir()?.join("peers");
    fs::create_dir_all(&folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let nvcc = COMPILER.install(&folder.join("nvcc"))?;
    let version = HEADERS.install(&folder.join("cccl"))?;
    let gallery = folder.join("gallery.cu");
    fs::write(&gallery, gallery::source()?).map_err(|error| format!("cannot write {}: {error}", gallery.display()))?;
    let library = |name: &str, source: &Path| compile(&folder.join(name), source, &nvcc, &version, architecture);
    let [peer, uses, of_gallery] = LIBRARIES;
    let [of_peer, of_uses] = SOURCES.map(|source| workspace.join(source));
    Ok([library(peer, &of_peer)?, library(uses, &of_uses)?, library(of_gallery, &gallery)?])
}

/// Compiles one of them, unless it is there already.
fn compile(library: &Path, source: &Path, nvcc: &Path, version: &Path, architecture: &str) -> Result<PathBuf, String> {
    let read = |path: &Path| fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    let mut made_of = blake3::Hasher::new();
    made_of.update(&read(source)?).update(&read(version)?).update(architecture.as_bytes());
    let (made_of, stamp) = (made_of.finalize().to_hex().to_string(), library.with_extension("made-of"));
    if library.is_file() && fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == made_of) {
        return Ok(library.to_owned());
    }

    println!("compiling CUB's scans of {} for {architecture}: a minute or two", source.display());
    let toolkit = nvcc.parent().and_then(Path::parent).ok_or("nvcc lies in no toolkit")?;
    let headers = version.parent().and_then(Path::parent).ok_or("CUB's version lies in no folder of headers")?;
    let output = Command::new(nvcc)
        .args(["-std=c++20", "-O3", "-shared", "-cudart=static", &format!("-arch={architecture}")])
        // The machine with the GPU may have another C++ library than this one.
        .args(["-Xcompiler", "-fPIC,-fvisibility=hidden,-static-libstdc++,-static-libgcc"])
        .args((source.ends_with("gallery.cu")).then_some("-fmad=false"))
        .arg("-I")
        .arg(headers)
        .arg("-L")
        .arg(toolkit.join("lib"))
        .arg("-o")
        .args([library, source])
        .output()
        .map_err(|error| format!("{} does not start: {error}", nvcc.display()))?;
    if !output.status.success() {
        let messages = [output.stdout, output.stderr].concat();
        return Err(format!("nvcc refuses {}:\n{}", source.display(), String::from_utf8_lossy(&messages)));
    }
    fs::write(&stamp, made_of).map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
    Ok(library.to_owned())
}

/// What `cuda.compute` is in. What it needs beside the packages that a machine with CUDA and `cupy` has is too large to take
/// along: operators written in Python are left out.
const WHEELS: [&str; 1] = ["cuda-cccl"];

/// The systems whose wheels run over there; pip takes no newer for an older one by itself.
const PLATFORMS: [&str; 5] = [
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_26_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
];

/// Fetches wheels for this version of Python, unless they are there already, and gives their paths.
pub(crate) fn wheels(python: &str) -> Result<Vec<PathBuf>, String> {
    let folder = target_dir()?.join("peers").join(format!("wheels-{python}"));
    if !folder.is_dir() {
        let partial = folder.with_extension(format!("partial-{}", std::process::id()));
        let platforms = PLATFORMS.iter().flat_map(|platform| ["--platform", platform]);
        let output = Command::new("python3")
            .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"])
            .args(["--only-binary=:all:", "--implementation", "cp", "--python-version", python])
            .args(platforms)
            .arg("--dest")
            .arg(&partial)
            .args(WHEELS)
            .output()
            .map_err(|error| format!("python3 does not start: {error}"))?;
        if !output.status.success() {
            let _ = fs::remove_dir_all(&partial);
            let messages = String::from_utf8_lossy(&output.stderr);
            return Err(format!("pip finds no {} for Python {python}:\n{}", WHEELS.join(", "), messages.trim()));
        }
        fs::rename(&partial, &folder).map_err(|error| format!("cannot move the wheels: {error}"))?;
    }
    let entries = fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    Ok(entries.filter_map(Result::ok).map(|entry| entry.path()).collect())
}
