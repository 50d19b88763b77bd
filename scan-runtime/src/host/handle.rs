//! The contents of a handle of runs over host memory.

use std::{any::Any, fmt, ptr, sync::Arc};

use scan_codegen::{ArrayKind, ArrayKinds};

use super::{HostCall, axis::AxisLayout, call::arrays, cost::Cost};
use crate::{
    Error, ScanOp,
    arrays::{HostInput, HostOutput},
    call::{Layouts, Request, Totals},
    prepared::check_len,
    scan::Options,
    scanner::{CPU, Engine},
};

/// Runs that are ready: the planner has been asked, and kernels are compiled and loaded.
pub struct HostHandle<Op: ScanOp> {
    options: Options<Op>,
    /// The request that it was prepared for.
    request: Request,
    /// The array, if the runs are along an axis of one.
    along: Option<Arc<AxisLayout>>,
    max_len: usize,
    /// Whether the CPU runs them, where the scanner may choose.
    is_on_cpu: bool,
    /// Held, so that they are there.
    _kernels: Vec<Arc<dyn Any + Send + Sync>>,
}

impl<Op: ScanOp> fmt::Debug for HostHandle<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut handle = f.debug_struct("Handle");
        handle.field("operator", &self.options.op.source().name).field("prepared_for", &self.request.to_string());
        handle.field("max_len", &self.max_len).finish_non_exhaustive()
    }
}

impl<Op: ScanOp> HostHandle<Op> {
    /// The engine of all runs.
    pub(super) fn engine(&self) -> &Engine {
        if self.is_on_cpu { &CPU } else { self.options.scanner.engine() }
    }

    /// An error if it was not prepared for such runs, of `len` elements. Arrays of any kinds are slices to the kernels.
    pub(super) fn check(&self, request: &Request, len: usize) -> Result<(), Error> {
        check_len(len, self.max_len)?;
        let request = Request { layouts: self.request.layouts, ..*request };
        match self.request.is_like(&request) {
            true => Ok(()),
            false => Err(Error::HandleMismatch { prepared: self.request.to_string(), found: request.to_string() }),
        }
    }
}

/// Arrays like these as kernels see them. Places are followed by the host: to kernels such arrays are slices.
pub(super) fn followed<Op: ScanOp, I: HostInput<Op::Input>, O: HostOutput<Op::Output>>() -> Layouts {
    let followed = |kinds: &[ArrayKind]| {
        let is_computed = kinds.iter().any(|kind| kind.is_computed());
        let kind = |kind: &ArrayKind| match kind {
            ArrayKind::NoMemory if !is_computed => ArrayKind::NoMemory,
            _ => ArrayKind::Slice,
        };
        ArrayKinds::new(kinds.iter().map(kind))
    };
    arrays::<Op, I, O>().with_kinds(followed(I::KINDS), followed(O::KINDS))
}

impl<'a, Op: ScanOp> HostCall<'a, Op> {
    /// A run of a handle.
    pub(crate) fn of_handle(handle: &'a HostHandle<Op>) -> Self {
        let call = HostCall { prepared: Some(handle), ..HostCall::new(&handle.options) };
        match &handle.along {
            Some(along) => call.along_layout(along.clone()),
            None => call,
        }
    }

    /// Prepares runs like this one that give these totals.
    pub(super) fn prepare(&self, asked: Totals, max_len: usize) -> Result<HostHandle<Op>, Error> {
        let cost = self.cost_of::<&[Op::Input], &mut [Op::Output]>(max_len);
        self.prepare_over(cost, self.options.layouts, asked, max_len)
    }

    /// Prepares runs over arrays like these.
    pub(super) fn prepare_like<I: HostInput<Op::Input>, O: HostOutput<Op::Output>>(
        &self,
        input: &I,
        output: &O,
        asked: Totals,
        max_len: usize,
    ) -> Result<HostHandle<Op>, Error> {
        let layouts = followed::<Op, I, O>();
        let of_shape = self.of_shape(input, Some(output))?;
        of_shape.as_ref().unwrap_or(self).prepare_over(self.cost_of::<I, O>(max_len), layouts, asked, max_len)
    }

    fn prepare_over(
        &self,
        cost: Cost<'_>,
        layouts: Layouts,
        asked: Totals,
        max_len: usize,
    ) -> Result<HostHandle<Op>, Error> {
        if self.prepared.is_some() {
            return Err(Error::AlreadyPrepared);
        }
        self.has_known_shape()?;
        // The host takes the results of reductions to their arrays.
        let output = if self.options.reduction.is_some() { Layouts::default().output } else { layouts.output };
        let planned = self.as_planned();
        let call = planned.call(self.wanted(asked)).over(Layouts { output, ..layouts });
        call.check()?;
        if self.options.includes_initial {
            self.check_initial()?;
        }
        #[cfg(feature = "cuda")]
        self.note(|| call, max_len)?;
        let engine = self.engine(cost);
        let _kernels = match engine {
            Engine::Cpu { .. } => Vec::new(),
            #[cfg(feature = "cuda")]
            Engine::Cuda(device) => {
                call.load_chunks(&**device, max_len)?.into_iter().map(|kernels| kernels as _).collect()
            }
        };
        let request = Request { heads: self.heads.kind, ..call.request };
        let is_on_cpu = ptr::eq(engine, &CPU);
        let (options, along) = (self.options.clone(), self.along.known().cloned());
        Ok(HostHandle { options, request, along, max_len, is_on_cpu, _kernels })
    }
}
