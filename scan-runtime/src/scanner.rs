//! The entry point: a scanner, bound to a device or to the CPU.

use std::{borrow::Cow, env, fmt, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream};
use scan_codegen::{Architecture, DeviceLimits, OpSource, Overrides, PlanError, Plans, ScanSpec};

use crate::{
    DiskCache, Error, Reduce, Scan, ScanOp, Staging,
    aot::Precompiled,
    cpu,
    cuda::{self, CacheStats, CudaDevice, Stores},
    generate, nvrtc,
};

/// The environment variable that chooses the device of [`Scanner::new`]: `cpu`, or the number of a CUDA device.
pub const DEVICE_VARIABLE: &str = "SCAN_DEVICE";

/// Runs scans on one CUDA device, or on the CPU. Cheap to clone, and can be shared between threads.
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
    /// `None` is [`CPU`], without a reference count: to change one twice takes longer than a short scan, and each
    /// scan has one.
    engine: Option<Arc<Engine>>,
}

/// The CPU, where it was chosen and nothing is said about a device.
static CPU: Engine = Engine::Cpu { reason: None, limits: DeviceLimits::H200 };

/// The device that a scanner runs on, with its resources.
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
        let ScannerBuilder { device, cache, precompiled, staging, limits } = self;
        let precompiled = precompiled.into_iter().map(Precompiled::open).collect::<Result<Vec<_>, _>>()?;
        let cuda = |index| {
            let disk = match cache {
                CacheChoice::OfUser => DiskCache::of_user(),
                CacheChoice::Nowhere => None,
                CacheChoice::Disk(cache) => Some(cache),
            };
            // A missing driver is reported first.
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

/// The device that a scanner runs on, and why. `Display` writes it in one line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// A CUDA device.
    Cuda {
        /// Its number.
        index: usize,
        /// Its name.
        name: String,
        /// The architecture that kernels are compiled for.
        architecture: Architecture,
    },
    /// The CPU.
    Cpu {
        /// How many threads share a scan.
        threads: usize,
        /// Why no CUDA device is used; `None` if the CPU was chosen.
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
                    // The full message has the remedy; one line has room for the cause only.
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
        Scanner { engine: Some(Arc::new(engine)) }
    }

    #[inline]
    pub(crate) fn engine(&self) -> &Engine {
        self.engine.as_deref().unwrap_or(&CPU)
    }

    /// A scanner on CUDA device 0 if it is usable (a driver, a device, NVRTC), else on the CPU;
    /// [`backend`](Scanner::backend) says which and why. The environment variable `SCAN_DEVICE` overrides the choice:
    /// `cpu`, or the number of a device.
    ///
    /// # Errors
    ///
    /// Only if `SCAN_DEVICE` is set to something other than `cpu` or a number, or to a device that cannot be used.
    pub fn new() -> Result<Self, Error> {
        Scanner::builder().build()
    }

    /// A scanner on the CUDA device with this number.
    ///
    /// # Errors
    ///
    /// [`Error::NoDriver`], [`Error::NoDevice`], [`Error::DeviceIndex`], [`Error::NoNvrtc`], [`Error::Plan`] for a
    /// device of a compute capability before 7.5, or [`Error::Driver`] if the device cannot be opened.
    pub fn cuda(index: usize) -> Result<Self, Error> {
        Scanner::builder().device(index).build()
    }

    /// A builder for a scanner with other settings than the default.
    pub fn builder() -> ScannerBuilder {
        let (cache, staging) = (CacheChoice::OfUser, Staging::default());
        ScannerBuilder { device: None, cache, precompiled: Vec::new(), staging, limits: None }
    }

    /// A scanner on all cores of the CPU (rayon's global thread pool). Its plans are those for an
    /// [H200](DeviceLimits::H200).
    pub fn cpu() -> Self {
        Scanner { engine: None }
    }

    /// As [`cpu`](Scanner::cpu), but with plans for a device that this machine may not have: [`Scan::plan`] and
    /// [`Scan::cuda_source`] give the plan and the source that would run on that device.
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

    /// The device that this scanner runs on, and why.
    pub fn backend(&self) -> Backend {
        match self.engine() {
            Engine::Cuda(device) => Backend::Cuda {
                index: device.context.ordinal(),
                name: device.name.clone(),
                architecture: device.limits.architecture,
            },
            Engine::Cpu { reason, .. } => Backend::Cpu { threads: cpu::threads(), reason: reason.clone() },
        }
    }

    /// The CUDA context in which the scanner works: the device's primary context. `None` on the CPU. Streams and
    /// buffers made from it can be passed to [`Scan::on`].
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

    /// The limits that plans are made for: the device's, or on the CPU those given to [`cpu_for`](Scanner::cpu_for), by
    /// default [`DeviceLimits::H200`].
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

    /// A scan with this operator; inclusive by default.
    pub fn scan<Op: ScanOp>(&self, op: Op) -> Scan<Op> {
        Scan::new(self.clone(), op)
    }

    /// A reduction with this operator: one result for the whole input.
    pub fn reduce<Op: ScanOp>(&self, op: Op) -> Reduce<Op> {
        Scan::new(self.clone(), op)
    }

    /// Checks whether the scanner's device can still be used, without waiting for its work. If an operator that
    /// panicked has destroyed the device's context, the error names the operator. Errors from the driver itself, from
    /// the `synchronize` of a stream for instance, do not.
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

    /// The statistics of the process's cache of compiled kernels, which all scanners share.
    pub fn cache_stats(&self) -> CacheStats {
        cuda::cache_stats()
    }
}
