//! What is there, what is missing, and the command that mends it.

use std::{
    error::Error,
    fs,
    io::{self, Write},
    path::Path,
};

use scan_runtime::{
    CACHE_VARIABLE, DiskCache, Scanner,
    aot::Precompiled,
    devices, driver_version,
    nvrtc::{self, LIBRARY_VARIABLE, Location},
};

/// Writes the report; whether a GPU can be used.
pub(crate) fn write(out: &mut impl Write) -> io::Result<bool> {
    let device = driver(out)?;
    let compiler = compiler(out)?;
    cache(out)?;
    match Scanner::new() {
        Ok(scanner) => writeln!(out, "a scan takes     {}", scanner.backend())?,
        Err(error) => writeln!(out, "a scan takes     nothing: {error}")?,
    }
    let usable = device.is_ok() && compiler.is_ok();
    for (what, command) in device.err().into_iter().chain(compiler.err()) {
        match command {
            Some(command) => writeln!(out, "missing          {what}; to mend it:\n                   {command}")?,
            None => writeln!(out, "missing          {what}")?,
        }
    }
    Ok(usable)
}

/// What is missing, and the command that mends it where one does.
type Missing = (&'static str, Option<&'static str>);

/// The driver and its devices.
fn driver(out: &mut impl Write) -> io::Result<Result<(), Missing>> {
    match driver_version() {
        Ok((major, minor)) => {
            let release = fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
            // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07  Fri …"
            let release =
                release.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
            let library = loaded("libcuda.so").map_or_else(String::new, |path| format!(", {path}"));
            writeln!(out, "driver           {}, for CUDA up to {major}.{minor}{library}", release.unwrap_or("there"))?;
        }
        Err(error) => {
            writeln!(out, "driver           {error}")?;
            return Ok(Err(no_driver()));
        }
    }
    match devices() {
        Ok(devices) if devices.is_empty() => {
            writeln!(out, "devices          none")?;
            Ok(Err(("a device that the driver sees", Some("unset CUDA_VISIBLE_DEVICES; nvidia-smi -L"))))
        }
        Ok(devices) => {
            for device in devices {
                let limits = device.limits;
                writeln!(
                    out,
                    "device {}         {}, {}, {} multiprocessors, {} KiB of shared memory a block, {:.1} GiB",
                    device.index,
                    device.name,
                    limits.architecture,
                    limits.multiprocessors,
                    limits.shared_bytes_per_block_optin >> 10,
                    device.memory as f64 / f64::from(1 << 30),
                )?;
            }
            Ok(Ok(()))
        }
        Err(error) => {
            writeln!(out, "devices          {error}")?;
            Ok(Err(("a device that the driver can use", Some("nvidia-smi"))))
        }
    }
}

/// What to do where there is no driver: it depends on whether there is anything to drive, and on the system.
fn no_driver() -> Missing {
    const NVIDIA: &str = "0x10de";
    let devices = fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten();
    let vendor = |folder: fs::DirEntry| fs::read_to_string(folder.path().join("vendor")).unwrap_or_default();
    if !devices.map(vendor).any(|vendor| vendor.trim() == NVIDIA) {
        return ("a GPU: none of NVIDIA's is in this machine; scans run on the CPU", None);
    }
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let is = |name: &str| system.lines().any(|line| line == format!("ID={name}"));
    let command = match () {
        () if is("ubuntu") => "sudo ubuntu-drivers install",
        () if is("debian") => "sudo apt-get install nvidia-driver",
        () if is("arch") => "sudo pacman -S nvidia-open",
        () if is("fedora") => "sudo dnf install akmod-nvidia",
        () => "xdg-open https://www.nvidia.com/drivers",
    };
    ("NVIDIA's driver", Some(command))
}

/// The path of a library that this process has loaded.
fn loaded(name: &str) -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let path = maps.lines().find(|line| line.contains(name))?.split_whitespace().last()?;
    Some(path.to_owned())
}

/// NVRTC, and every place where it is looked for.
fn compiler(out: &mut impl Write) -> io::Result<Result<(), Missing>> {
    let location = nvrtc::locate();
    let version = location.as_ref().ok().map(|_| nvrtc::version());
    match (&location, version) {
        (Ok(location), Some(Ok((major, minor)))) => {
            let path = match location {
                Location::File(path) => path.display().to_string(),
                Location::Loader => loaded("libnvrtc.so").unwrap_or_else(|| "where the loader looks".to_owned()),
            };
            writeln!(out, "NVRTC            {major}.{minor}, {path}")?;
        }
        (Ok(_), Some(Err(error))) => writeln!(out, "NVRTC            {error}")?,
        _ => writeln!(out, "NVRTC            none")?,
    }
    for (index, place) in nvrtc::places().into_iter().enumerate() {
        let label = if index == 0 { "  looked into    " } else { "                 " };
        let found = match &place.library {
            None if place.path.exists() => "nothing".to_owned(),
            None => "not there".to_owned(),
            Some(library) => library.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        writeln!(out, "{label}{}: {found}", place.path.display())?;
    }
    let turned_off = std::env::var_os(LIBRARY_VARIABLE).is_some_and(|value| value == "off");
    match nvrtc::is_loaded() {
        true => Ok(Ok(())),
        false if turned_off => Ok(Err(("NVRTC: SCAN_NVRTC says `off`", Some("unset SCAN_NVRTC")))),
        false => Ok(Err(("NVRTC, unless kernels are compiled ahead of time", Some(nvrtc::INSTALL_COMMAND)))),
    }
}

/// The cache of compiled kernels.
pub(crate) fn cache(out: &mut impl Write) -> io::Result<()> {
    let Some(cache) = DiskCache::of_user() else {
        return writeln!(out, "kernels on disk  none: {CACHE_VARIABLE} says so, or there is no folder for them");
    };
    let folder = cache.folder().display();
    match cache.entries().and_then(|entries| Ok((entries, cache.size()?))) {
        Ok((entries, bytes)) => writeln!(
            out,
            "kernels on disk  {entries} entries, {:.1} MiB of {} at the most, in {folder}",
            bytes as f64 / f64::from(1 << 20),
            cache.limit() >> 20
        ),
        Err(error) => {
            writeln!(out, "kernels on disk  {folder} cannot be read ({error}); set {CACHE_VARIABLE} to another folder")
        }
    }
}

/// Removes the compiled kernels.
pub(crate) fn clear_cache(out: &mut impl Write) -> io::Result<()> {
    let Some(cache) = DiskCache::of_user() else { return self::cache(out) };
    let (entries, bytes) = (cache.entries()?, cache.size()?);
    cache.clear()?;
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    writeln!(out, "removed {entries} entries, {mebibytes:.1} MiB, from {}", cache.folder().display())
}

/// Lists what was compiled ahead of time.
pub(crate) fn bundle(file: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    for kernel in Precompiled::open(bytes)?.kernels() {
        writeln!(out, "{:8} {:7} bytes  {}", kernel.architecture.to_string(), kernel.bytes, kernel.name)?;
    }
    Ok(())
}
