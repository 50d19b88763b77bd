//! What can only be shown on a GPU. Where there is none, every test here is counted as ignored, and the reason printed;
//! `SCAN_TESTS_REQUIRE_GPU=1` makes that a failure instead.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use scan_runtime::cudarc::driver::{CudaContext, sys};

fn main() -> ExitCode {
    let unusable = no_gpu();
    if let Some(reason) = &unusable {
        if std::env::var_os("SCAN_TESTS_REQUIRE_GPU").is_some() {
            eprintln!("error: the GPU tests need a GPU: {reason}");
            return ExitCode::FAILURE;
        }
        println!("The GPU tests are skipped: {reason}");
    }
    let trials = trials().into_iter().map(|trial| trial.with_ignored_flag(unusable.is_some())).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Why the first CUDA device cannot be used, if it cannot.
fn no_gpu() -> Option<String> {
    // SAFETY: it opens the library by name and does nothing else.
    if !unsafe { sys::is_culib_present() } {
        return Some("there is no CUDA driver".to_owned());
    }
    CudaContext::new(0).err().map(|error| error.to_string())
}

fn trials() -> Vec<Trial> {
    vec![Trial::test("the_device_is_of_an_architecture_we_compile_for", || {
        let context = CudaContext::new(0)?;
        let (major, minor) = context.compute_capability()?;
        if major < 7 || (major, minor) < (7, 5) {
            return Err(format!("this device is of compute capability {major}.{minor}").into());
        }
        Ok(())
    })]
}
