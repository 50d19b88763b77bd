//! The arguments of several commands: the scan and the device.

use clap::ValueEnum;
use scan_runtime::{
    Architecture, DeviceLimits, Error, KernelSource, Plans, Run, Scan, ScanOp, Scanner, Strategy,
    aot::{Bundle, Precompiled},
};

use crate::{
    ready::{self, NoSuch, Ready, Sample, Visitor},
    strategies::StrategyName,
};

/// The kind of scan.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Way {
    /// Exclusive, not inclusive
    #[arg(long)]
    pub(crate) exclusive: bool,
    /// From the last element to the first
    #[arg(long)]
    pub(crate) reverse: bool,
}

impl Way {
    /// The scan with this operator, with this algorithm if one is named.
    pub(crate) fn scan<Op: ScanOp>(self, scanner: &Scanner, op: Op, strategy: Option<StrategyName>) -> Scan<Op> {
        let scan = scanner.scan(op);
        let scan = if self.exclusive { scan.exclusive() } else { scan };
        let scan = if self.reverse { scan.reverse() } else { scan };
        match strategy {
            Some(name) => scan.strategy(name.strategy()),
            None => scan,
        }
    }
}

/// The source of segment heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// A `bool` for each element
    Flags,
    /// A bit for each element
    Bits,
    /// A `u32` for each element
    Keys,
    /// The `usize` at which each segment begins
    Offsets,
    /// Rows of one length
    Rows,
}

/// All arguments that determine the kernels of a scan.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Shape {
    #[command(flatten)]
    pub(crate) way: Way,
    /// Segmented by these heads
    #[arg(long, value_enum)]
    pub(crate) by: Option<By>,
    /// With this algorithm, instead of the planner's choice
    #[arg(long, value_enum)]
    pub(crate) strategy: Option<StrategyName>,
}

/// The device.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Target {
    /// For the devices of this architecture, such as sm_90, instead of this machine's device
    #[arg(long)]
    arch: Option<Architecture>,
}

impl Target {
    /// For the named architecture; else for this machine's device, or an H200 if there is none.
    pub(crate) fn scanner(self) -> Result<Scanner, Error> {
        match self.arch {
            Some(architecture) => Ok(Scanner::cpu_for(DeviceLimits::of(architecture))),
            None => Scanner::new(),
        }
    }
}

/// A scan with a built-in operator.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct What {
    #[command(flatten)]
    pub(crate) ready: Ready,
    #[command(flatten)]
    pub(crate) shape: Shape,
    #[command(flatten)]
    pub(crate) target: Target,
}

/// A scan with a type-erased operator.
pub(crate) trait AnyScan {
    fn element_bytes(&self) -> usize;
    fn plan(&self) -> Result<Plans, Error>;
    /// The plans with another strategy than its own.
    fn plan_by(&self, strategy: Strategy) -> Result<Plans, Error>;
    /// The CUDA source for inputs of this length, or for the longest.
    fn source(&self, len: Option<usize>) -> Result<KernelSource, Error>;
    fn add_to(&self, bundle: Bundle) -> Bundle;
    /// The kernels that are not precompiled.
    fn missing(&self, kernels: &Precompiled, limits: &DeviceLimits) -> Result<Vec<String>, Error>;
}

/// A scan, and what makes it restart.
struct Restarting<Op: ScanOp> {
    scan: Scan<Op>,
    by: Option<By>,
}

impl<Op: ScanOp> Restarting<Op> {
    /// Plans and sources depend on the kind of the heads, not on the heads.
    fn run(&self) -> Run<'_, Op> {
        match self.by {
            None => Run::from(&self.scan),
            Some(By::Flags) => self.scan.by_flags::<bool>(&[]),
            Some(By::Bits) => self.scan.by_bits::<u32>(&[]),
            Some(By::Keys) => self.scan.by_keys::<u32>(&[]),
            Some(By::Offsets) => self.scan.by_offsets::<usize>(&[]),
            Some(By::Rows) => self.scan.rows(1),
        }
    }
}

impl<Op: ScanOp> AnyScan for Restarting<Op> {
    fn element_bytes(&self) -> usize {
        size_of::<Op::Input>()
    }

    fn plan(&self) -> Result<Plans, Error> {
        self.run().plan()
    }

    fn plan_by(&self, strategy: Strategy) -> Result<Plans, Error> {
        let scan = self.scan.clone().strategy(strategy);
        Restarting { scan, by: self.by }.run().plan()
    }

    fn source(&self, len: Option<usize>) -> Result<KernelSource, Error> {
        len.map_or_else(|| self.run().cuda_source(), |len| self.run().cuda_source_for(len))
    }

    fn add_to(&self, bundle: Bundle) -> Bundle {
        bundle.with(&self.run())
    }

    fn missing(&self, kernels: &Precompiled, limits: &DeviceLimits) -> Result<Vec<String>, Error> {
        kernels.missing(&self.run(), limits)
    }
}

struct Make<'a> {
    scanner: &'a Scanner,
    shape: Shape,
}

impl Visitor for Make<'_> {
    type Output = Box<dyn AnyScan>;

    fn visit<T, Op>(self, op: Op) -> Box<dyn AnyScan>
    where
        T: Sample,
        Op: ScanOp<Input = T, State = T, Carry = T, Output = T> + Clone,
    {
        let scan = self.shape.way.scan(self.scanner, op, self.shape.strategy);
        Box::new(Restarting { scan, by: self.shape.by })
    }
}

/// The scan with a built-in operator.
pub(crate) fn scan(ready: Ready, shape: Shape, scanner: &Scanner) -> Result<Box<dyn AnyScan>, NoSuch> {
    ready::visit(ready, Make { scanner, shape })
}
