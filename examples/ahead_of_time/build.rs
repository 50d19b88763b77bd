//! Compiles the kernels of this crate's scans, for the GPUs that it is meant for.

// The build script cannot see the crate that it builds; the module stands in both.
#[path = "src/operators.rs"]
mod operators;

use std::{env, error::Error, path::PathBuf};

use scan_runtime::{DiskCache, Scanner, aot::Bundle, ops};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/operators.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let scanner = Scanner::cpu();
    Bundle::new()
        .architecture("sm_80")
        .architecture("sm_90")
        .cache(DiskCache::at(out.join("compiled")))
        .with(&operators::balances(&scanner, 0.0))
        .with(&scanner.reduce(ops::max::<f64>()))
        .write(out.join("kernels.scan"))?;
    Ok(())
}
