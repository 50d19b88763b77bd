//! The one entry: a scanner, bound to a device or to the CPU.

use std::{borrow::Cow, env, fmt, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream};
use scan_codegen::{Architecture, DeviceLimits, OpSource, Overrides, PlanError, Plans, ScanSpec};

use crate::{
    DiskCache, Error, Reduce, Scan, ScanOp, Staging,
    aot::Precompiled,
    cuda::{self, CacheStats, CudaDevice, Stores},
    generate, nvrtc,
};

/// The environment variable that chooses what [`Scanner::new`] takes: `cpu`, or the number of a CUDA device.
pub const DEVICE_VARIABLE: &str = "SCAN_DEVICE";

/// Runs scans on one CUDA device, or on the CPU. Cheap to clone, and shared freely between threads.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let scanner = Scanner::new()?;
/// println!("scanning on {}", scanner.backend());
/// assert_eq!(scanner.scan(ops::sum()).run(&[1, 2, 3, 4])?, [1, 3, 6, 10]);
/// assert_eq!(scanner.scan(ops::max()).exclusive().init(2.5).run(&[1.0, 3.0, 2.0])?, [2.5, 2.5, 3.0]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scanner {
    engine: Arc<Engine>,
}

/// What a scanner runs on, with what it needs for that.
#[derive(Debug)]
pub(crate) enum Engine {
    Cuda(Box<CudaDevice>),
    Cpu { reason: Option<Arc<Error>>, limits: DeviceLimits },
}

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
    /// Those of an older device, if it is to be as if there were only that.
    limits: Option<DeviceLimits>,
}

/// Where compiled kernels are kept beyond the process.
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
    /// Takes the CUDA device with this number, in place of what [`Scanner::new`] would choose.
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

    /// Takes kernels from what a [`Bundle`](crate::aot::Bundle) has compiled [ahead of time](crate::aot), and needs NVRTC
    /// only for those that are not there. Several bundles are looked through in turn.
    ///
    /// Kernels are machine code and run as such: take a bundle only from where you would take a program. What is damaged is found,
    /// what is forged is not.
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

    /// Chooses how slices of host memory travel to a CUDA device and back.
    pub fn staging(mut self, staging: Staging) -> Self {
        self.staging = staging;
        self
    }

    /// Plans as for a device with these limits, whose architecture is no newer than that of the device at hand, and compiles kernels to
    /// PTX of that architecture, which the driver finishes. So tests run what older devices would.
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
    /// Those of [`Scanner::cuda`] where a device is asked for, else those of [`Scanner::new`].
    pub fn build(self) -> Result<Scanner, Error> {
        let ScannerBuilder { device, cache, precompiled, staging, limits } = self;
        let precompiled = precompiled.into_iter().map(Precompiled::open).collect::<Result<Vec<_>, _>>()?;
        let cuda = |index| {
            let disk = match cache {
                CacheChoice::OfUser => DiskCache::of_user(),
                CacheChoice::Nowhere => None,
                CacheChoice::Disk(cache) => Some(cache),
            };
            // What the driver lacks is told first.
            let stores = Stores { precompiled, disk, no_compiler: false, as_ptx: limits.is_some() };
            let mut device = CudaDevice::open(index, stores, staging)?;
            device.limits = limits.unwrap_or(device.limits);
            match nvrtc::locate() {
                Err(error) if device.stores.precompiled.is_empty() => return Err(error),
                location => device.stores.no_compiler = location.is_err(),
            }
            Ok(Scanner::on(Engine::Cuda(Box::new(device))))
        };
        match (device, env::var(DEVICE_VARIABLE)) {
            (Some(index), _) => cuda(index),
            (None, Ok(value)) if value == "cpu" => Ok(Scanner::cpu()),
            (None, Ok(value)) => match value.parse() {
                Ok(index) => cuda(index),
                Err(_) => Err(Error::DeviceVariable { value }),
            },
            (None, Err(_)) => Ok(cuda(0).unwrap_or_else(|error| {
                let limits = DeviceLimits::H200;
                Scanner::on(Engine::Cpu { reason: Some(Arc::new(error)), limits })
            })),
        }
    }
}

/// What a scanner runs on, and why. `Display` tells it in one line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// A CUDA device.
    Cuda {
        /// Its number.
        index: usize,
        /// Its name.
        name: String,
        /// What kernels are compiled for.
        architecture: Architecture,
    },
    /// The CPU.
    Cpu {
        /// How many threads share a scan.
        threads: usize,
        /// Why no CUDA device was taken; `None` where the CPU was asked for.
        reason: Option<Arc<Error>>,
    },
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Backend::Cuda { index, name, architecture } => write!(f, "CUDA device {index}: {name} ({architecture})"),
            Backend::Cpu { threads, reason } => {
                write!(f, "CPU, {threads} thread{}", if *threads == 1 { "" } else { "s" })?;
                match reason.as_deref() {
                    None => Ok(()),
                    // The full message says what to do; one line has room for what is the case.
                    Some(Error::NoDriver { library }) => write!(f, " (no CUDA driver: {library} not found)"),
                    Some(Error::NoDevice { .. }) => write!(f, " (no CUDA device)"),
                    Some(Error::NoNvrtc { .. }) => {
                        write!(f, " (a CUDA device, but no NVRTC; install it with `{}`)", nvrtc::INSTALL_COMMAND)
                    }
                    Some(other) => write!(f, " ({other})"),
                }
            }
        }
    }
}

impl Scanner {
    fn on(engine: Engine) -> Self {
        Scanner { engine: Arc::new(engine) }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Takes CUDA device 0 if it is usable (a driver, a device, NVRTC), else the CPU; [`backend`](Scanner::backend) says
    /// which and why. The environment variable `SCAN_DEVICE` overrides the choice: `cpu`, or the number of a device.
    ///
    /// # Errors
    ///
    /// Only if `SCAN_DEVICE` is set: to something else than `cpu` or a number, or to a device that cannot be used.
    pub fn new() -> Result<Self, Error> {
        Scanner::builder().build()
    }

    /// Takes the CUDA device with this number.
    ///
    /// # Errors
    ///
    /// [`Error::NoDriver`], [`Error::NoDevice`], [`Error::DeviceIndex`], [`Error::NoNvrtc`], or [`Error::Driver`] if the
    /// device cannot be opened.
    pub fn cuda(index: usize) -> Result<Self, Error> {
        Scanner::builder().device(index).build()
    }

    /// A scanner with other settings than usual.
    pub fn builder() -> ScannerBuilder {
        let (cache, staging) = (CacheChoice::OfUser, Staging::default());
        ScannerBuilder { device: None, cache, precompiled: Vec::new(), staging, limits: None }
    }

    /// Takes the CPU, all cores of it (rayon's global thread pool). Plans are those for an [H200](DeviceLimits::H200).
    pub fn cpu() -> Self {
        Scanner::cpu_for(DeviceLimits::H200)
    }

    /// As [`cpu`](Scanner::cpu), with plans for a device that is not here: what [`Scan::plan`] and [`Scan::cuda_source`] give is
    /// what would run there.
    ///
    /// ```
    /// use scan_runtime::{DeviceLimits, Scanner, ops};
    ///
    /// let scanner = Scanner::cpu_for(DeviceLimits::of("sm_90".parse()?));
    /// println!("{}", scanner.scan(ops::sum::<f32>()).plan()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cpu_for(limits: DeviceLimits) -> Self {
        Scanner::on(Engine::Cpu { reason: None, limits })
    }

    /// What this scanner runs on, and why.
    pub fn backend(&self) -> Backend {
        match self.engine() {
            Engine::Cuda(device) => Backend::Cuda {
                index: device.context.ordinal(),
                name: device.name.clone(),
                architecture: device.limits.architecture,
            },
            Engine::Cpu { reason, .. } => {
                Backend::Cpu { threads: rayon::current_num_threads(), reason: reason.clone() }
            }
        }
    }

    /// The CUDA context in which the scanner works: the device's primary one. `None` on the CPU. Streams and buffers made
    /// from it can be handed to [`Scan::on`].
    pub fn context(&self) -> Option<&Arc<CudaContext>> {
        match self.engine() {
            Engine::Cuda(device) => Some(&device.context),
            Engine::Cpu { .. } => None,
        }
    }

    /// The device, for work on this stream.
    pub(crate) fn device_of(&self, stream: &CudaStream) -> Result<&CudaDevice, Error> {
        let Engine::Cuda(device) = self.engine() else {
            return Err(Error::NotCuda { backend: self.backend().to_string() });
        };
        device.check_context("stream", stream)?;
        Ok(device)
    }

    /// The limits that plans are made for: the device's, or on the CPU those it was [made for](Scanner::cpu_for),
    /// [`DeviceLimits::H200`] if none.
    pub fn limits(&self) -> DeviceLimits {
        match self.engine() {
            Engine::Cuda(device) => device.limits,
            Engine::Cpu { limits, .. } => *limits,
        }
    }

    /// The plans of a scan on this scanner's device, or on the one that it plans for.
    pub(crate) fn plans(
        &self,
        operator: &OpSource,
        spec: &ScanSpec,
        overrides: &Overrides,
    ) -> Result<Plans, PlanError> {
        match self.engine() {
            Engine::Cuda(device) => device.plans(operator, spec, overrides),
            Engine::Cpu { limits, .. } => generate::plan(operator, spec, limits, overrides),
        }
    }

    /// A scan with this operator: inclusive, until told otherwise.
    pub fn scan<Op: ScanOp>(&self, op: Op) -> Scan<Op> {
        Scan::new(self.clone(), op)
    }

    /// A reduction with this operator: one result for the whole input.
    pub fn reduce<Op: ScanOp>(&self, op: Op) -> Reduce<Op> {
        Scan::new(self.clone(), op)
    }

    /// Whether the scanner's device can still be used. Nothing is waited for. Where an operator that panicked has brought the
    /// device's context down, the error names it; what you get from the driver itself, from the `synchronize` of a stream for
    /// instance, does not.
    ///
    /// # Errors
    ///
    /// [`Error::KernelTrapped`] or [`Error::ContextLost`]; never on the CPU.
    pub fn check(&self) -> Result<(), Error> {
        match self.engine() {
            Engine::Cuda(device) => device.check_alive(),
            Engine::Cpu { .. } => Ok(()),
        }
    }

    /// What the process's cache of compiled kernels, which all scanners share, has done so far.
    pub fn cache_stats(&self) -> CacheStats {
        cuda::cache_stats()
    }
}
