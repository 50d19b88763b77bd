//! The kernels of a plan, loaded into a device as a module.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use cudarc::{
    driver::{CudaFunction, CudaModule, sys},
    nvrtc::Ptx,
};
use scan_codegen::{KernelSource, OpSource};

use super::{CudaDevice, any_plan::AnyPlan, driver_error, panics::Panics, workspace::Workspaces};
use crate::Error;

/// A plan and its kernels, loaded into a device.
#[derive(Debug)]
pub(crate) struct Kernels {
    pub(super) plan: AnyPlan,
    /// By their roles; there are so few that a linear search is fastest.
    functions: Vec<(&'static str, CudaFunction)>,
    /// Bytes of the operator's parameters, which they read.
    pub(super) operator_bytes: usize,
    /// Whether the driver supports programmatic dependent launches, in graphs too.
    pub(super) launches_programmatically: bool,
    /// The marks of their panics.
    _panics: Arc<Panics>,
    /// Their number in this process, which is the key of their workspaces.
    pub(super) number: u64,
    /// The workspaces of the device.
    pub(super) workspaces: Arc<Workspaces>,
}

static KERNELS_LOADED: AtomicU64 = AtomicU64::new(0);

impl Kernels {
    pub(super) fn function(&self, role: &str) -> Option<&CudaFunction> {
        self.functions.iter().find(|(name, _)| *name == role).map(|(_, function)| function)
    }

    /// Makes the driver load the kernels' code. Otherwise it may do that at the first launch, which a capture forbids.
    pub(super) fn load_code(&self) -> Result<(), Error> {
        self.functions.iter().try_for_each(|(_, function)| {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
            function.get_attribute(attribute).map(drop).map_err(driver_error("loading a kernel"))
        })
    }

    pub(super) fn load(
        device: &CudaDevice,
        plan: AnyPlan,
        operator: &OpSource,
        source: &KernelSource,
        cubin: &[u8],
    ) -> Result<Self, Error> {
        let module: Arc<CudaModule> =
            device.context.load_module(Ptx::from_binary(cubin.to_vec())).map_err(driver_error("loading a module"))?;
        device.panics.listen(&module, source, &operator.name)?;
        let load = |role| {
            let function = module.load_function(&source.kernel_name(role)).map_err(driver_error("finding a kernel"))?;
            // Shared memory beyond the limit of every device needs an opt-in.
            if let Ok(bytes @ 1..) = i32::try_from(plan.dynamic_shared_bytes(role)) {
                function
                    .set_attribute(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)
                    .map_err(driver_error("asking for shared memory"))?;
            }
            Ok((role, function))
        };
        let functions = plan.kernels().iter().copied().map(load).collect::<Result<_, Error>>()?;
        let number = KERNELS_LOADED.fetch_add(1, Ordering::Relaxed);
        Ok(Kernels {
            plan,
            functions,
            operator_bytes: operator.parameters.as_ref().map_or(0, |parameters| parameters.size),
            launches_programmatically: device.launches_programmatically,
            number,
            workspaces: device.workspaces.clone(),
            _panics: device.panics.clone(),
        })
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        self.workspaces.forget(self.number);
    }
}
