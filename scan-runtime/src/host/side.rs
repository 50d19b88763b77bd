//! Which side runs a call over host memory, on a scanner with a GPU.
//!
//! On a GPU such a call copies its elements to the device and its results back. For most operators that takes longer
//! than the scan, and often longer than a scan on the CPU. The figures were measured on one machine
//! (`docs/tuning.md#host-memory-on-either-side`).

use std::{
    any::TypeId,
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use super::HostCall;
use crate::{HostMemory, ScanOp, cpu, erased::Erased};

/// What a device's scanners know about operators.
#[derive(Debug)]
pub(crate) struct Sides {
    host_memory: HostMemory,
    /// By the operator's type.
    estimates: RwLock<HashMap<TypeId, Estimate>>,
}

/// The estimate for an operator: the nanoseconds that a thread takes for an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    nanoseconds: f32,
}

impl Sides {
    pub(crate) fn new(host_memory: HostMemory) -> Self {
        Sides { host_memory, estimates: RwLock::default() }
    }

    pub(crate) fn host_memory(&self) -> HostMemory {
        self.host_memory
    }

    /// The estimate that calls with this operator choose by, if they choose.
    pub(crate) fn estimate(&self, op: &impl Erased) -> Option<Estimate> {
        if self.host_memory == HostMemory::OnDevice {
            return None;
        }
        let known = self.estimates.read().unwrap_or_else(PoisonError::into_inner).get(&op.id()).copied();
        Some(known.unwrap_or_else(|| {
            let instructions = scan_codegen::instructions_of_an_element(&op.source());
            let estimate = Estimate::of(instructions);
            self.estimates.write().unwrap_or_else(PoisonError::into_inner).insert(op.id(), estimate);
            estimate
        }))
    }
}

/// Bytes that a call copies, to the device and back together, and the microseconds that it takes.
const ON_DEVICE: [(f64, f64); 14] = [
    (0.0, 13.5),
    (kib(32), 16.5),
    (kib(128), 23.0),
    (kib(256), 40.0),
    (kib(512), 65.0),
    (kib(1 << 10), 118.0),
    (kib(2 << 10), 250.0),
    (kib(4 << 10), 330.0),
    (kib(8 << 10), 470.0),
    (kib(16 << 10), 780.0),
    (kib(32 << 10), 1230.0),
    (kib(64 << 10), 1950.0),
    (kib(128 << 10), 3850.0),
    (kib(256 << 10), 7400.0),
];

const fn kib(count: u32) -> f64 {
    count as f64 * 1024.0
}

/// The microseconds of a call that copies this number of bytes, interpolated linearly.
fn on_device(bytes: f64) -> f64 {
    let after = ON_DEVICE.iter().position(|(at, _)| bytes < *at).unwrap_or(ON_DEVICE.len() - 1);
    let ((from, least), (to, most)) = (ON_DEVICE[after - 1], ON_DEVICE[after]);
    least + (most - least) * (bytes - from) / (to - from)
}

/// The microseconds that it takes to share a call among threads.
const SHARING: f64 = 175.0;
/// The part of their time that threads work where they share a call.
const SHARED: f64 = 0.73;

impl Estimate {
    fn of(instructions: u64) -> Self {
        Estimate { nanoseconds: 0.11 * (instructions as f32).powf(0.88) }
    }

    /// The microseconds for `len` elements: on one thread, or on `threads` of them that make `passes` over them.
    fn on_cpu(self, len: f64, passes: f64, threads: usize) -> f64 {
        let alone = len * f64::from(self.nanoseconds) / 1e3;
        alone.min(SHARING + passes * alone / (SHARED * threads as f64))
    }
}

impl<Op: ScanOp> HostCall<'_, Op> {
    /// Whether the CPU is estimated to take less time for `len` elements. For a handle, its maximum length counts.
    pub(super) fn is_faster_on_cpu(&self, estimate: Estimate, len: usize) -> bool {
        let len = self.prepared.map_or(len, |handle| handle.max_len()) as f64;
        let reduces = self.options.reduction.is_some();
        let results = if reduces { 0 } else { size_of::<Op::Output>() };
        let bytes = len * (size_of::<Op::Input>() + results) as f64;
        estimate.on_cpu(len, if reduces { 1.0 } else { 2.0 }, cpu::threads()) <= on_device(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_on_the_device_grow_with_the_bytes() {
        let times: Vec<_> = (0..=40).map(|power| on_device((1_u64 << power) as f64)).collect();
        assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
        for (bytes, time) in ON_DEVICE {
            assert!((on_device(bytes) - time).abs() < 1e-6, "{bytes}");
        }
        // Beyond the table as fast as at its end.
        assert!((on_device(kib(1 << 20)) / on_device(kib(1 << 18)) - 4.0).abs() < 0.2);
    }

    #[test]
    fn light_operators_stay_on_the_cpu_and_heavy_ones_of_many_elements_leave_it() {
        let is_faster_on_cpu = |instructions, len: u64, bytes: u64, threads| {
            let time = Estimate::of(instructions).on_cpu(len as f64, 2.0, threads);
            time <= on_device((len * bytes) as f64)
        };
        for power in 0..=28 {
            assert!(is_faster_on_cpu(4, 1 << power, 8, 16), "sums of 2^{power}");
        }
        for (instructions, bytes) in [(29, 2), (63, 16), (672, 24)] {
            assert!(is_faster_on_cpu(instructions, 1 << 8, bytes, 16), "{instructions}");
            assert!(!is_faster_on_cpu(instructions, 1 << 20, bytes, 16), "{instructions}");
        }
        // Fewer threads take longer.
        assert!(is_faster_on_cpu(19, 1 << 20, 8, 64) && !is_faster_on_cpu(19, 1 << 20, 8, 2));
    }
}
