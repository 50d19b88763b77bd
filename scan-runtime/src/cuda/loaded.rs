//! The kernels of a plan, loaded into a device as a module.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use cudarc::{
    driver::{CudaFunction, CudaModule, DriverError, sys},
    nvrtc::Ptx,
};
use scan_codegen::{KernelRole, KernelSource, OpSource};

use super::{CudaDevice, any_plan::AnyPlan, driver_error, driver_version, panics::Panics, workspace::Workspaces};
use crate::{Error, aot::Precompiled, nvrtc};

/// A plan and its kernels, loaded into a device.
#[derive(Debug)]
pub(crate) struct Kernels {
    pub(super) plan: AnyPlan,
    /// By their roles; there are so few that a linear search is fastest.
    functions: Vec<(KernelRole, CudaFunction)>,
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
    pub(super) fn function(&self, role: KernelRole) -> Option<&CudaFunction> {
        self.functions.iter().find(|(of, _)| *of == role).map(|(_, function)| function)
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
        let module: Arc<CudaModule> = device
            .context
            .load_module(Ptx::from_binary(cubin.to_vec()))
            .map_err(|error| module_error(error, || versions(device, source)))?;
        device.panics.listen(&module, source, &operator.name)?;
        let load = |role: KernelRole| {
            let name = source.kernel_name(role.name());
            let function = module.load_function(&name).map_err(driver_error("finding a kernel"))?;
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

/// The versions of CUDA that the kernels of a module depend on.
struct Versions {
    /// The newest that the driver supports.
    driver: (u32, u32),
    /// That of the NVRTC which compiled them.
    compiler: (u32, u32),
    precompiled: bool,
}

fn versions(device: &CudaDevice, source: &KernelSource) -> Result<Versions, Error> {
    let is_in = |kernels: &&Precompiled| kernels.cubin(source, device.limits.architecture).is_some();
    let precompiled = device.stores.precompiled.iter().find(is_in).map(|kernels| kernels.nvrtc);
    Ok(Versions {
        driver: driver_version()?,
        compiler: precompiled.map_or_else(nvrtc::version, Ok)?,
        precompiled: precompiled.is_some(),
    })
}

/// The error of a module that the driver does not load. If its compiler is newer than the driver, that is the cause.
fn module_error(source: DriverError, versions: impl FnOnce() -> Result<Versions, Error>) -> Error {
    use sys::CUresult::*;
    let refused = [
        CUDA_ERROR_INVALID_IMAGE,
        CUDA_ERROR_NO_BINARY_FOR_GPU,
        CUDA_ERROR_INVALID_PTX,
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    ];
    match refused.contains(&source.0).then(versions) {
        Some(Ok(Versions { driver, compiler, precompiled })) if compiler > driver => {
            Error::DriverOlder { driver, compiler, precompiled, source }
        }
        _ => driver_error("loading a module")(source),
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        self.workspaces.forget(self.number);
    }
}

#[cfg(test)]
mod tests {
    use cudarc::driver::sys::CUresult::{self, *};

    use super::*;

    #[test]
    fn a_module_of_a_compiler_newer_than_the_driver_names_both_versions_and_the_remedy() {
        let error = |result: CUresult, driver, precompiled| {
            let versions = || Ok(Versions { driver, compiler: (13, 0), precompiled });
            module_error(DriverError(result), versions).to_string()
        };
        assert_eq!(
            error(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, (12, 2), false),
            "the driver supports CUDA up to 12.2 and cannot load kernels of NVRTC 13.0: update the driver, or set \
             `SCAN_NVRTC` to the path of NVRTC 12.2"
        );
        assert_eq!(
            error(CUDA_ERROR_INVALID_IMAGE, (12, 2), true),
            "the driver supports CUDA up to 12.2 and cannot load precompiled kernels of NVRTC 13.0: update the \
             driver, or \
             rebuild the bundle with NVRTC 12.2"
        );
        // Other causes.
        let plain = "the CUDA driver failed in loading a module";
        assert_eq!(error(CUDA_ERROR_INVALID_IMAGE, (13, 0), false), plain);
        assert_eq!(error(CUDA_ERROR_OUT_OF_MEMORY, (12, 2), false), plain);
    }
}
