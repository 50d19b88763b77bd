//! The driver and its devices.

use std::{
    fs,
    io::{self, Write},
};

use scan_runtime::{DeviceInfo, devices, driver_version};

use crate::missing::{Missing, loaded};

/// Reports the driver and its devices. Returns the missing part, if any.
pub(crate) fn write(out: &mut impl Write) -> io::Result<Result<(), Missing>> {
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
            // Machines with several devices often have equal ones.
            for alike in devices.chunk_by(is_alike) {
                write_devices(alike, out)?;
            }
            Ok(Ok(()))
        }
        Err(error) => {
            writeln!(out, "devices          {error}")?;
            Ok(Err(("a device that the driver can use", Some("nvidia-smi"))))
        }
    }
}

fn is_alike(a: &DeviceInfo, b: &DeviceInfo) -> bool {
    (&a.name, a.limits, a.memory) == (&b.name, b.limits, b.memory)
}

/// A line for devices that are alike.
fn write_devices(alike: &[DeviceInfo], out: &mut impl Write) -> io::Result<()> {
    let [first, others @ ..] = alike else { return Ok(()) };
    let label = match others.last() {
        None => format!("device {}", first.index),
        Some(last) => format!("devices {} to {}", first.index, last.index),
    };
    let gibibytes = first.memory as f64 / f64::from(1 << 30);
    writeln!(out, "{label:<16} {}, {}, {gibibytes:.1} GiB", first.name, first.limits)
}

/// The remedy for a missing driver: it depends on whether there is a GPU, and on the system.
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
