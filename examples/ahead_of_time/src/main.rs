//! Scans on a machine that has NVIDIA's driver and no NVRTC: the kernels were compiled with the program.

mod operators;

use std::error::Error;

use operators::{Month, balances};
use scan_runtime::{HostMemory, Scanner, ops};

const KERNELS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.scan"));

fn main() -> Result<(), Box<dyn Error>> {
    let scanner = Scanner::builder().precompiled(KERNELS).no_cache().host_memory(HostMemory::OnDevice).build()?;
    let months: Vec<_> = (0..240).map(|_| Month { growth: 1.0025, payment: -60.0 }).collect();
    let balances: Vec<f64> = balances(&scanner, 20_000.0).run(&months)?.iter().map(|balance| balance.payment).collect();
    let highest = scanner.reduce(ops::max()).run(&balances)?;
    println!("on {}", scanner.backend());
    println!("at most {highest:.2}, at the end {:.2}", balances[239]);

    let stats = scanner.cache_stats();
    println!("{} modules compiled before, {} now", stats.precompiled, stats.modules.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use scan_runtime::{DeviceLimits, aot::Precompiled, nvrtc};

    /// On any machine: what the program scans is all there, for each of its architectures.
    #[test]
    fn nothing_is_left_to_compile() {
        let kernels = Precompiled::open(KERNELS).unwrap();
        let scanner = Scanner::cpu();
        for architecture in ["sm_80", "sm_86", "sm_90"] {
            let limits = DeviceLimits::of(architecture.parse().unwrap());
            assert_eq!(kernels.missing(&balances(&scanner, 1.0), &limits).unwrap(), [""; 0]);
            assert_eq!(kernels.missing(&scanner.reduce(ops::max::<f64>()), &limits).unwrap(), [""; 0]);
        }
        assert!(!nvrtc::is_loaded());
    }
}
