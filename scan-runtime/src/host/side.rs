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

use super::{HostCall, cost::Cost, meanwhile::gives_same_bits};
use crate::{HostMemory, ScanOp, cuda::CudaDevice, erased::Erased};

/// What a device's scanners know about operators.
#[derive(Debug)]
pub(crate) struct Sides {
    host_memory: HostMemory,
    /// By the operator's type.
    estimates: RwLock<HashMap<TypeId, Estimate>>,
}

/// The estimate for an operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    /// The nanoseconds that a thread takes for an element.
    nanoseconds: f32,
    /// Whether both sides give the same bits.
    pub(super) same_bits: bool,
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
            let source = op.source();
            let instructions = scan_codegen::instructions_of_an_element(&source);
            let estimate = Estimate { same_bits: gives_same_bits(op, &source), ..Estimate::of(instructions) };
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

/// What page-locked memory takes of the time in which as many bytes are copied from and to vectors: 0.97 of the bus in
/// place of 0.44 (`BENCHMARKS.md#host-memory-on-either-side`).
const PAGE_LOCKED: f64 = 0.44 / 0.97;

/// The microseconds of a call that copies this number of bytes, interpolated linearly, of which so many are in
/// page-locked memory.
fn on_device(bytes: usize, page_locked: usize) -> f64 {
    let after = ON_DEVICE.iter().position(|(at, _)| (bytes as f64) < *at).unwrap_or(ON_DEVICE.len() - 1);
    let ((from, min), (to, max)) = (ON_DEVICE[after - 1], ON_DEVICE[after]);
    let time = min + (max - min) * (bytes as f64 - from) / (to - from);
    let (_, without_copies) = ON_DEVICE[0];
    let part = page_locked.min(bytes) as f64 / bytes.max(1) as f64;
    without_copies + (time - without_copies) * (1.0 - part * (1.0 - PAGE_LOCKED))
}

/// The microseconds that it takes to share a call among threads.
const SHARING: f64 = 175.0;
/// The part of their time that threads work where they share a call.
const SHARED: f64 = 0.73;

impl Estimate {
    fn of(instructions: u64) -> Self {
        let nanoseconds = 0.11 * (instructions as f32).powf(0.88);
        Estimate { nanoseconds, same_bits: false }
    }

    /// The microseconds for so many elements: on one thread, or on `threads` of them that make `passes` over them.
    pub(super) fn on_cpu(self, elements: usize, passes: f64, threads: usize) -> f64 {
        let alone = elements as f64 * f64::from(self.nanoseconds) / 1e3;
        alone.min(SHARING + passes * alone / (SHARED * threads as f64))
    }
}

/// Whether the CPU, which takes so long, takes less time than a device that copies so many bytes. `page_locked` counts
/// those in page-locked memory, which is only asked where it matters.
fn is_less(on_cpu: f64, bytes: usize, page_locked: impl FnOnce() -> usize) -> bool {
    on_cpu <= on_device(bytes, bytes) || (on_cpu <= on_device(bytes, 0) && on_cpu <= on_device(bytes, page_locked()))
}

impl<Op: ScanOp> HostCall<'_, Op> {
    /// Whether the CPU is estimated to take less time for this call than the device.
    pub(super) fn is_faster_on_cpu(&self, device: &CudaDevice, cost: Cost<'_>) -> bool {
        let Some(estimate) = self.options.estimate else { return false };
        let on_cpu = self.on_cpu(estimate, cost);
        let page_locked = || {
            let mut bytes = 0_usize;
            let mut add = |at, count| {
                if device.copies_directly(at, count) {
                    bytes = bytes.saturating_add(count);
                }
            };
            (cost.slices)(&mut add);
            self.heads.slices(&mut add);
            bytes
        };
        is_less(on_cpu, cost.bytes.saturating_add(self.heads.copied_bytes()), page_locked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_on_the_device_grow_with_the_bytes() {
        let times: Vec<_> = (0..=40).map(|power| on_device(1 << power, 0)).collect();
        assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
        for (bytes, time) in ON_DEVICE {
            assert!((on_device(bytes as usize, 0) - time).abs() < 1e-6, "{bytes}");
        }
        // Beyond the table as fast as at its end.
        assert!((on_device(1 << 30, 0) / on_device(1 << 28, 0) - 4.0).abs() < 0.2);
    }

    #[test]
    fn light_operators_stay_on_the_cpu_and_heavy_ones_of_many_elements_leave_it() {
        let is_faster_on_cpu = |instructions, len: usize, bytes: usize, threads| {
            is_less(Estimate::of(instructions).on_cpu(len, 2.0, threads), len * bytes, || 0)
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

    #[test]
    fn copies_of_page_locked_memory_take_less_time() {
        for power in 10..=30 {
            let [none, half, all] = [0, 1, 2].map(|halves| on_device(1 << power, halves << (power - 1)));
            assert!(all < half && half < none && ON_DEVICE[0].1 < all, "{none} {half} {all}");
            assert!(((none + all) / 2.0 - half).abs() < 1e-6);
            // No more bytes count than are copied.
            assert_eq!(on_device(1 << power, usize::MAX), all);
        }
        assert_eq!(on_device(0, 0), ON_DEVICE[0].1);
        let copies = |page_locked| on_device(256 << 20, page_locked) - ON_DEVICE[0].1;
        assert!((copies(0) / copies(256 << 20) - 0.97 / 0.44).abs() < 1e-6);
    }

    #[test]
    fn memory_is_asked_about_where_the_side_depends_on_it() {
        let bytes = 8 << 20;
        let [none, all] = [0, bytes].map(|page_locked| on_device(bytes, page_locked));
        let unasked = || unreachable!("the memory does not matter");
        assert!(is_less(all, bytes, unasked) && !is_less(none + 1.0, bytes, unasked));
        let between = (none + all) / 2.0;
        assert!(is_less(between, bytes, || 0) && !is_less(between, bytes, || bytes));
        assert!(is_less(between, bytes, || bytes / 4) && !is_less(between, bytes, || bytes / 4 * 3));
    }
}
