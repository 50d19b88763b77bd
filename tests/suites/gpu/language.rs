//! The operator language on the GPU: the operators that the host's compiler has run, as NVRTC compiles them, on the same
//! inputs, beside the same Rust and by the same rules.

use std::{ffi::c_void, sync::Arc};

use rayon::prelude::*;
use scan_runtime::{
    Architecture, Error, Scanner,
    cudarc::{
        driver::{CudaModule, CudaStream, DevicePtr, result},
        nvrtc::Ptx,
    },
    nvrtc, ops,
};

use crate::{Outcome, Trials, ensure};

#[path = "../operators/language/mod.rs"]
#[allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "the test on the host needs more of it")]
mod suite;

use suite::harness::{Inputs, Report};

/// Sources, compiled at the same time as there are cores.
const SOURCES: usize = 32;
const THREADS: u32 = 128;

pub(crate) fn add(trials: &mut Trials) {
    trials.add("language", language);
}

fn language() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let context = scanner.context().ok_or("no context")?;
    let (major, minor) = context.compute_capability()?;
    let architecture = Architecture { major: major.try_into()?, minor: minor.try_into()? };
    let suite = suite::suite();
    let sources = suite.cuda_sources(SOURCES);
    // Whatever a scan's kernels are compiled with.
    let whole = scanner.scan(ops::sum::<u32>()).cuda_source()?;
    let compile = |source: &suite::harness::CudaSource| -> Result<Vec<u8>, Error> {
        let mut kernels = whole.clone();
        (kernels.name, kernels.text) = ("language.cu".to_owned(), source.text.clone());
        Ok(nvrtc::compile(&kernels, "language", architecture)?.cubin)
    };
    let cubins: Vec<Vec<u8>> = sources.par_iter().map(compile).collect::<Result<_, _>>()?;

    let stream = context.new_stream()?;
    let mut report = Report::default();
    for (source, cubin) in sources.iter().zip(cubins) {
        let module = context.load_module(Ptx::from_binary(cubin))?;
        for &case in &source.cases {
            let inputs = suite.case(case);
            let (out, done) = run(&stream, &module, &inputs).map_err(|error| format!("{}: {error}", inputs.kernel))?;
            suite.check(case, &out, &done, &mut report);
        }
    }
    let Report { compared, wrong, failures } = report;
    ensure(wrong == 0, || format!("{wrong} of {compared} values differ:\n{failures}"))?;
    ensure(compared > 1_700_000, || format!("only {compared} values were compared"))
}

/// The results of a kernel, and 1 for each thread that came to its end without a panic.
fn run(
    stream: &Arc<CudaStream>,
    module: &Arc<CudaModule>,
    inputs: &Inputs<'_>,
) -> Result<(Vec<u8>, Vec<u8>), Box<dyn std::error::Error>> {
    let function = module.load_function(&inputs.kernel)?;
    // An operator without fields is one byte in CUDA, and `lift` has no right operand.
    let at_least_one = |bytes: &[u8]| if bytes.is_empty() { vec![0] } else { bytes.to_vec() };
    let operator = at_least_one(inputs.parameters);
    let left = stream.clone_htod(&at_least_one(inputs.left))?;
    let right = stream.clone_htod(&at_least_one(inputs.right))?;
    let out = stream.alloc_zeros::<u8>(inputs.count * inputs.result)?;
    let done = stream.alloc_zeros::<u8>(inputs.count)?;
    let mut count = u32::try_from(inputs.count)?;
    {
        let (left, _left) = left.device_ptr(stream);
        let (right, _right) = right.device_ptr(stream);
        let (out, _out) = out.device_ptr(stream);
        let (done, _done) = done.device_ptr(stream);
        let mut scalars = [left, right, out, done];
        let mut arguments: Vec<*mut c_void> = vec![operator.as_ptr().cast_mut().cast()];
        arguments.extend(scalars.iter_mut().map(|scalar| std::ptr::from_mut(scalar).cast::<c_void>()));
        arguments.push(std::ptr::from_mut(&mut count).cast());
        // SAFETY: the kernel was written for these arguments, each buffer holds `count` values, and the driver copies the
        // arguments during the call.
        unsafe {
            result::launch_kernel(
                function.cu_function(),
                (count.div_ceil(THREADS), 1, 1),
                (THREADS, 1, 1),
                0,
                stream.cu_stream(),
                &mut arguments,
            )?;
        }
    }
    Ok((stream.clone_dtoh(&out)?, stream.clone_dtoh(&done)?))
}
