//! The settings of a scanner.

use std::{borrow::Cow, env, fmt, sync::Arc};

use scan_codegen::DeviceLimits;

use super::{DEVICE_VARIABLE, Engine, Scanner};
use crate::{
    DiskCache, Error, HostMemory, Staging,
    aot::Precompiled,
    cuda::{CudaDevice, Stores},
    nvrtc,
};

/// The settings of a scanner, made by [`Scanner::builder`].
///
/// ```
/// use scan_runtime::{DiskCache, Scanner};
///
/// let scanner = Scanner::builder().cache(DiskCache::at("target/kernels").with_limit(64 << 20)).build()?;
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[must_use = "settings do nothing until the scanner is built"]
pub struct ScannerBuilder {
    device: Option<usize>,
    cache: CacheChoice,
    precompiled: Vec<Cow<'static, [u8]>>,
    staging: Staging,
    host_memory: Option<HostMemory>,
    /// The limits of an older device, if the scanner is to behave like one.
    limits: Option<DeviceLimits>,
}

/// Where compiled kernels are kept after the process ends.
#[derive(Debug)]
enum CacheChoice {
    OfUser,
    Nowhere,
    Disk(DiskCache),
}

impl fmt::Debug for ScannerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precompiled: Vec<_> = self.precompiled.iter().map(|kernels| format!("{} bytes", kernels.len())).collect();
        let mut settings = f.debug_struct("ScannerBuilder");
        settings.field("device", &self.device).field("cache", &self.cache).field("precompiled", &precompiled).finish()
    }
}

impl ScannerBuilder {
    pub(super) fn new() -> Self {
        let (cache, staging) = (CacheChoice::OfUser, Staging::default());
        ScannerBuilder { device: None, cache, precompiled: Vec::new(), staging, host_memory: None, limits: None }
    }

    /// Uses the CUDA device with this number, in place of the one that [`Scanner::new`] would choose.
    pub fn device(mut self, index: usize) -> Self {
        self.device = Some(index);
        self
    }

    /// Keeps compiled kernels in this cache, in place of [the user's](DiskCache::of_user).
    pub fn cache(mut self, cache: DiskCache) -> Self {
        self.cache = CacheChoice::Disk(cache);
        self
    }

    /// Keeps compiled kernels for this process only.
    pub fn no_cache(mut self) -> Self {
        self.cache = CacheChoice::Nowhere;
        self
    }

    /// Uses the kernels that a [`Bundle`](crate::aot::Bundle) has compiled [ahead of time](crate::aot), and needs NVRTC
    /// only for those that are not in it. Several bundles are searched in the order in which they are added.
    ///
    /// Kernels are machine code that is executed: use only bundles from sources that you trust with a program. Damage
    /// is detected, forgery is not.
    ///
    /// ```no_run
    /// use scan_runtime::Scanner;
    ///
    /// // Or `include_bytes!`, which copies nothing.
    /// let scanner = Scanner::builder().precompiled(std::fs::read("kernels.scan")?).build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn precompiled(mut self, kernels: impl Into<Cow<'static, [u8]>>) -> Self {
        self.precompiled.push(kernels.into());
        self
    }

    /// Chooses how slices of host memory are copied to a CUDA device and back.
    pub fn staging(mut self, staging: Staging) -> Self {
        self.staging = staging;
        self
    }

    /// Chooses where calls over host memory run, in place of [`HostMemory::OnDevice`] where a device is named and
    /// [`HostMemory::Faster`] elsewhere.
    pub fn host_memory(mut self, side: HostMemory) -> Self {
        self.host_memory = Some(side);
        self
    }

    /// Plans for a device with these limits, whose architecture is no newer than that of the actual device. Kernels are
    /// compiled to PTX of that architecture, which the driver compiles. With that, tests run the kernels of older
    /// devices.
    #[doc(hidden)]
    pub fn as_if_on(mut self, limits: DeviceLimits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Makes the scanner.
    ///
    /// # Errors
    ///
    /// [`Error::Precompiled`] if precompiled kernels are not whole, on a machine without a GPU too.
    /// Those of [`Scanner::cuda`] if a device is chosen, else those of [`Scanner::new`].
    pub fn build(self) -> Result<Scanner, Error> {
        let ScannerBuilder { device, cache, precompiled, staging, host_memory, limits } = self;
        let precompiled = precompiled.into_iter().map(Precompiled::open).collect::<Result<Vec<_>, _>>()?;
        let cuda = |index, default| {
            let disk = match cache {
                CacheChoice::OfUser => DiskCache::of_user(),
                CacheChoice::Nowhere => None,
                CacheChoice::Disk(cache) => Some(cache),
            };
            // A missing driver is reported first.
            let stores = Stores { precompiled, disk, no_compiler: false, as_ptx: limits.is_some() };
            let mut device = CudaDevice::open(index, stores, staging, host_memory.unwrap_or(default))?;
            device.limits = limits.unwrap_or(device.limits);
            match nvrtc::locate() {
                Err(error) if device.stores.precompiled.is_empty() => return Err(error),
                location => device.stores.no_compiler = location.is_err(),
            }
            Ok(Scanner::on(Engine::Cuda(Box::new(device))))
        };
        match (device, env::var(DEVICE_VARIABLE)) {
            (Some(index), _) => cuda(index, HostMemory::OnDevice),
            (None, Ok(value)) if value == "cpu" => Ok(Scanner::cpu()),
            (None, Ok(value)) => match value.parse() {
                Ok(index) => cuda(index, HostMemory::OnDevice),
                Err(_) => Err(Error::DeviceVariable { value }),
            },
            (None, Err(_)) => Ok(cuda(0, HostMemory::Faster)
                .unwrap_or_else(|error| Scanner::on(Engine::cpu(Some(Arc::new(error)), DeviceLimits::H200)))),
        }
    }
}
