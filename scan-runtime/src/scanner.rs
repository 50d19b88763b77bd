//! The entry point: a scanner, bound to a device or to the CPU.

use std::{fmt, sync::Arc};

#[cfg(feature = "cuda")]
use cudarc::driver::{CudaContext, CudaStream};
use scan_codegen::{Architecture, DeviceLimits, OpSource, Overrides, PlanError, Plans, ScanSpec};

use crate::{Error, Reduce, Scan, ScanOp, cpu, generate};
#[cfg(feature = "cuda")]
use crate::{
    aot::Notes,
    cuda::{self, CacheStats, CudaDevice},
    host::side::Estimate,
    nvrtc,
};

#[cfg(feature = "cuda")]
mod builder;
#[cfg(feature = "cuda")]
pub use builder::ScannerBuilder;

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
pub(crate) static CPU: Engine = Engine::cpu(None, DeviceLimits::H200);

/// The CPU in place of a device, for a call whose kernels are being compiled.
#[cfg(feature = "cuda")]
pub(crate) static MEANWHILE: Engine =
    Engine::Cpu { reason: None, while_compiling: true, limits: DeviceLimits::H200, notes: None };

/// The device that a scanner runs on, with its resources.
#[derive(Debug)]
pub(crate) enum Engine {
    #[cfg(feature = "cuda")]
    Cuda(Box<CudaDevice>),
    Cpu {
        reason: Option<Arc<Error>>,
        while_compiling: bool,
        limits: DeviceLimits,
        /// What a device would load, if that is recorded.
        #[cfg(feature = "cuda")]
        notes: Option<Notes>,
    },
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
        /// Where calls over host memory run.
        host_memory: HostMemory,
    },
    /// The CPU.
    Cpu {
        /// How many threads share a scan.
        threads: usize,
        /// Why no CUDA device is used; `None` if the CPU was chosen.
        reason: Option<Arc<Error>>,
        /// Whether it runs a call in place of a CUDA device, while the kernels that the call needs are compiled.
        while_compiling: bool,
    },
}

/// Where calls over host memory run, on a scanner with a GPU. Device memory is scanned on its device in any case.
///
/// The two sides group elements differently, so that sums of floats may differ in their last bits between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostMemory {
    /// On the GPU or on the CPU, whichever is estimated to take less time, copies included. That is decided once in each
    /// call, as a function of the operator, the elements that it combines, the bytes that a GPU is given and gives, which
    /// of them are [page-locked](crate::PageLocked), and the number of threads. So the same call on the same machine
    /// takes the same side in every run, but for first calls that give the same bits on either side. A handle has one
    /// side for all of its runs, by its maximum length in ordinary memory. That is the default of
    /// [`Scanner::new`](crate::Scanner::new).
    ///
    /// # First calls
    ///
    /// A first call on the GPU needs kernels that may have to be compiled. Where both sides give the same bits, the CPU
    /// runs such a call at once, one thread compiles the kernels in the background, and later calls take the GPU:
    /// [`Scan::backend_for`](crate::Scan::backend_for) says where a call runs now. Both sides give the same bits for
    /// operators that work with integers alone, or only compare floats and give them as they are. (In a debug build a
    /// plain `+` of integers that overflows is an error on the CPU, and wraps around on the GPU.) Where floats are
    /// rounded, a call waits for the compiler and takes its side in every run, unless
    /// [`Scan::any_grouping`](crate::Scan::any_grouping) allows either side.
    ///
    /// These wait for the compiler, too: calls for which the CPU is estimated to take longer than it (0.25 s), handles
    /// that are prepared, and calls whose kernels could not be compiled in the background: a warning says so, and they
    /// compile again and return the error. The first call of a process that compiles in the background may load the
    /// compiler first, which takes some hundredths of a second.
    ///
    /// A process that ends waits for the compilation that is under way, so that the kernels are on disk for the next
    /// process.
    #[default]
    Faster,
    /// On the GPU: the default where a device is named, as by [`Scanner::cuda`](crate::Scanner::cuda).
    OnDevice,
}

impl Engine {
    const fn cpu(reason: Option<Arc<Error>>, limits: DeviceLimits) -> Self {
        Engine::Cpu {
            reason,
            while_compiling: false,
            limits,
            #[cfg(feature = "cuda")]
            notes: None,
        }
    }

    pub(crate) fn backend(&self) -> Backend {
        match self {
            #[cfg(feature = "cuda")]
            Engine::Cuda(device) => Backend::Cuda {
                index: device.context.ordinal(),
                name: device.name.clone(),
                architecture: device.limits.architecture,
                host_memory: device.sides.host_memory(),
            },
            Engine::Cpu { reason, while_compiling, .. } => {
                let (reason, while_compiling) = (reason.clone(), *while_compiling);
                Backend::Cpu { threads: cpu::threads(), reason, while_compiling }
            }
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Backend::Cuda { index, name, architecture, host_memory } => {
                write!(f, "CUDA device {index}: {name} ({architecture})")?;
                match host_memory {
                    HostMemory::Faster => write!(f, ", or for host memory on the CPU where that is faster"),
                    HostMemory::OnDevice => Ok(()),
                }
            }
            Backend::Cpu { threads, reason, while_compiling } => {
                write!(f, "CPU, {threads} thread{}", if *threads == 1 { "" } else { "s" })?;
                if *while_compiling {
                    write!(f, ", while the kernel for the CUDA device is compiled")?;
                }
                match reason.as_deref() {
                    None => Ok(()),
                    // The full message has the remedy; one line has room for the cause only.
                    Some(Error::NoDriver { library }) => write!(f, " (no CUDA driver: {library} not found)"),
                    #[cfg(feature = "cuda")]
                    Some(Error::NoDevice { .. }) => write!(f, " (no CUDA device)"),
                    Some(Error::WithoutCuda) => write!(f, " (built without CUDA)"),
                    #[cfg(feature = "cuda")]
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
    /// [`backend`](Scanner::backend) says which and why. With a device, calls over host memory run on it or on the CPU,
    /// whichever is estimated to take less time: see [`HostMemory`](crate::HostMemory). The environment variable
    /// `SCAN_DEVICE` overrides the choice: `cpu`, or the number of a device.
    ///
    /// # Errors
    ///
    /// Only if `SCAN_DEVICE` is set to something other than `cpu` or a number, or to a device that cannot be used.
    #[cfg(feature = "cuda")]
    pub fn new() -> Result<Self, Error> {
        Scanner::builder().build()
    }

    /// A scanner on the CPU: the crate was built without its feature `cuda`.
    ///
    /// # Errors
    ///
    /// If the environment variable `SCAN_DEVICE` is set to something other than `cpu`: [`Error::WithoutCuda`] for a
    /// number, else [`Error::DeviceVariable`].
    #[cfg(not(feature = "cuda"))]
    pub fn new() -> Result<Self, Error> {
        match std::env::var(DEVICE_VARIABLE) {
            Ok(value) if value == "cpu" => Ok(Scanner::cpu()),
            Ok(value) if value.parse::<usize>().is_ok() => Err(Error::WithoutCuda),
            Ok(value) => Err(Error::DeviceVariable { value }),
            Err(_) => {
                let reason = Some(Arc::new(Error::WithoutCuda));
                Ok(Scanner::on(Engine::cpu(reason, DeviceLimits::H200)))
            }
        }
    }

    #[cfg(feature = "cuda")]
    /// A scanner on the CUDA device with this number.
    ///
    /// # Errors
    ///
    /// [`Error::NoDriver`], [`Error::NoDevice`], [`Error::DeviceIndex`], [`Error::NoNvrtc`], [`Error::Plan`] for a
    /// device of a compute capability before 7.5, or [`Error::Driver`] if the device cannot be opened.
    pub fn cuda(index: usize) -> Result<Self, Error> {
        Scanner::builder().device(index).build()
    }

    #[cfg(feature = "cuda")]
    /// A builder for a scanner with other settings than the default.
    pub fn builder() -> ScannerBuilder {
        ScannerBuilder::new()
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
        Scanner::on(Engine::cpu(None, limits))
    }

    #[cfg(feature = "cuda")]
    /// A scanner on the CPU that notes what a device with these limits would load.
    pub(crate) fn recorded(limits: DeviceLimits) -> Self {
        let notes = Some(Notes::default());
        Scanner::on(Engine::Cpu { reason: None, while_compiling: false, limits, notes })
    }

    #[cfg(feature = "cuda")]
    /// The kernels that it has noted, if it records.
    #[inline]
    pub(crate) fn notes(&self) -> Option<&Notes> {
        match self.engine.as_deref()? {
            Engine::Cpu { notes, .. } => notes.as_ref(),
            Engine::Cuda(_) => None,
        }
    }

    /// The device that this scanner runs on, and why. With a GPU, [`Scan::backend_for`] says where a call over host
    /// memory runs.
    pub fn backend(&self) -> Backend {
        self.engine().backend()
    }

    #[cfg(feature = "cuda")]
    /// The CUDA context in which the scanner works: the device's primary context. `None` on the CPU. Streams and
    /// buffers made from it can be passed to [`Scan::on`].
    pub fn context(&self) -> Option<&Arc<CudaContext>> {
        match self.engine() {
            #[cfg(feature = "cuda")]
            Engine::Cuda(device) => Some(&device.context),
            Engine::Cpu { .. } => None,
        }
    }

    /// The estimate by which calls over host memory with this operator choose a side, if they do.
    #[cfg(feature = "cuda")]
    #[inline]
    pub(crate) fn estimate(&self, op: &impl ScanOp) -> Option<Estimate> {
        match self.engine() {
            Engine::Cuda(device) => device.sides.estimate(op),
            Engine::Cpu { .. } => None,
        }
    }

    #[cfg(feature = "cuda")]
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
            #[cfg(feature = "cuda")]
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
            #[cfg(feature = "cuda")]
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
            #[cfg(feature = "cuda")]
            Engine::Cuda(device) => device.check_alive(),
            Engine::Cpu { .. } => Ok(()),
        }
    }

    #[cfg(feature = "cuda")]
    /// The statistics of the process's cache of compiled kernels, which all scanners share.
    pub fn cache_stats(&self) -> CacheStats {
        cuda::cache_stats()
    }
}
