//! What a call over host memory costs, and the engine that runs it.

use super::{HostCall, handle::followed};
use crate::{
    ScanOp,
    arrays::{HostInput, HostOutput},
    call::{Layouts, Totals},
    scanner::Engine,
};

/// What decides which side runs a call over host memory, beside its operator.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "without a device there is one side"))]
pub(super) struct Cost<'c> {
    /// Elements that are combined. Where a call reads elements more than once, or not at all, that is not the length of
    /// its input.
    pub(super) elements: usize,
    /// Bytes of the input and of the results, which are copied to the device and back.
    pub(super) bytes: usize,
    /// The slices among them that a device copies from where they are and to where they are, if they are page-locked.
    pub(super) slices: &'c dyn Fn(&mut EachSlice<'_>),
    /// Which kernels it needs; `None` where it waits until they are compiled.
    pub(super) kernels: Option<Kernels>,
}

/// What decides which kernels a call needs, beside its operator and its segments.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "as above"))]
pub(super) struct Kernels {
    pub(super) totals: Totals,
    pub(super) layouts: Layouts,
}

impl Kernels {
    /// Of a call over such arrays. Indices and results that are discarded have no memory. All others are slices to the
    /// kernels.
    pub(super) fn of<Op: ScanOp, I: HostInput<Op::Input>, O: HostOutput<Op::Output>>(totals: Totals) -> Self {
        Kernels { totals, layouts: followed::<Op, I, O>() }
    }
}

/// Receives where a slice begins, and its bytes.
pub(crate) type EachSlice<'e> = dyn FnMut(*const u8, usize) + 'e;

/// Bytes of `inputs` items of an input, and of `results` of an output.
pub(super) fn bytes<Op: ScanOp, I: HostInput<Op::Input>, O: HostOutput<Op::Output>>(
    inputs: usize,
    results: usize,
) -> usize {
    inputs.saturating_mul(I::BYTES).saturating_add(results.saturating_mul(O::BYTES))
}

impl<Op: ScanOp> HostCall<'_, Op> {
    /// The cost of a call over `len` elements, before it has arrays: they are assumed to be in ordinary memory.
    pub(super) fn cost_of<I: HostInput<Op::Input>, O: HostOutput<Op::Output>>(&self, len: usize) -> Cost<'static> {
        let elements = self.heads.check(len).map_or(len, |()| self.heads.combined(len));
        let results = if self.options.reduction.is_some() { 0 } else { len };
        Cost { elements, bytes: bytes::<Op, I, O>(len, results), slices: &|_| {}, kernels: None }
    }

    /// The engine that runs a call of this cost: asked once, where the call begins. A handle has had one since it was
    /// prepared.
    #[inline]
    pub(super) fn engine(&self, cost: Cost<'_>) -> &Engine {
        self.engine_of(cost, true)
    }

    /// The engine that would run it.
    pub(super) fn would_be_engine(&self, cost: Cost<'_>) -> &Engine {
        self.engine_of(cost, false)
    }

    /// `runs` says whether the call is about to run.
    #[inline]
    #[cfg_attr(not(feature = "cuda"), expect(unused_variables, reason = "without a device there is one side"))]
    fn engine_of(&self, cost: Cost<'_>, runs: bool) -> &Engine {
        match self.prepared {
            Some(handle) => handle.engine(),
            None => match self.options.scanner.engine() {
                #[cfg(feature = "cuda")]
                Engine::Cuda(device) if self.is_faster_on_cpu(device, cost) => &crate::scanner::CPU,
                #[cfg(feature = "cuda")]
                Engine::Cuda(device) if self.is_for_cpu_meanwhile(device, cost, runs) => &crate::scanner::MEANWHILE,
                engine => engine,
            },
        }
    }
}

/// Whether a device runs the call; or else the CPU, but for a recording of what a device would do.
#[inline]
pub(super) fn is_for_device(engine: &Engine) -> bool {
    match engine {
        #[cfg(feature = "cuda")]
        Engine::Cpu { notes, .. } => notes.is_some(),
        #[cfg(not(feature = "cuda"))]
        Engine::Cpu { .. } => false,
        #[cfg(feature = "cuda")]
        Engine::Cuda(_) => true,
    }
}
