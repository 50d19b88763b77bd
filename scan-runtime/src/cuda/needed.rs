//! Which kernels of a call must be compiled, and their compilation in the background.

use scan_codegen::ColumnLayout;
use tracing::{Dispatch, dispatcher};

use super::{
    CudaDevice,
    background::{self, Module},
    cubins::{Stores, key_of, stored},
    ranges::{Range, Ranges},
};
use crate::{
    Error,
    call::{Call, LoadsKernels, Task},
    erased::Erased,
};

/// The kernels that a call needs, and that must be compiled.
pub(crate) struct Needed<'d> {
    device: &'d CudaDevice,
    /// Whether those that must be compiled are, in the background.
    compile: bool,
    /// Elements of the last chunk of a call that goes through the device in chunks.
    rest: usize,
}

/// Kernels that are not there yet, but will be.
pub(crate) struct Missing;

impl<'d> Needed<'d> {
    /// Whether the background has kernels of a call over `len` elements to compile yet: if `compile` says so, it begins
    /// with those that must be compiled and that it has not been asked for. Others are loaded.
    ///
    /// Of kernels that cannot be compiled in the background none is missing: the call finds out why.
    pub(crate) fn are_missing(device: &'d CudaDevice, call: &Call<'_>, len: usize, compile: bool) -> bool {
        let chunk = LoadsKernels::chunk(device, call.op.element_bytes());
        let needed = Needed { device, compile, rest: len % chunk.max(1) };
        // An error recurs in the call.
        call.load_chunks(&needed, len).is_ok_and(|missing| !missing.is_empty())
    }

    fn of<'r>(&self, ranges: &Ranges, wanted: impl Iterator<Item = &'r Range>) -> Result<Vec<Missing>, Error> {
        let mut missing = Vec::new();
        for range in wanted {
            if self.is_missing(ranges, range)? {
                missing.push(Missing);
            }
        }
        Ok(missing)
    }

    fn is_missing(&self, Ranges { operator, .. }: &Ranges, range: &Range) -> Result<bool, Error> {
        if range.kernels.get().is_some() {
            return Ok(false);
        }
        if let Some(key) = range.asked.get() {
            // If it is not there then, it has failed.
            return Ok(background::is_pending(key));
        }
        let (plan, device) = (&range.plan, self.device);
        let (architecture, stores) = (device.limits.architecture, &device.stores);
        let source = plan.render(operator)?;
        if let Some(cubin) = stored(&source, &operator.name, architecture, stores)? {
            range.kernels.get_or_make(|| device.load(operator, plan, &source, &cubin))?;
            return Ok(false);
        }
        if !self.compile {
            return Ok(true);
        }
        let key = key_of(&source, architecture, stores);
        let module = Module {
            source,
            operator: operator.name.clone(),
            plan: plan.clone(),
            architecture,
            stores: Stores { disk: stores.disk.clone(), as_ptx: stores.as_ptx, ..Stores::default() },
            dispatch: dispatcher::get_default(Dispatch::clone),
        };
        let will_be = background::compile(key, module);
        if will_be {
            range.asked.get_or_init(|| key);
        }
        Ok(will_be)
    }
}

impl LoadsKernels for Needed<'_> {
    type Kernels = Missing;

    fn chunk(&self, element_bytes: usize) -> usize {
        LoadsKernels::chunk(self.device, element_bytes)
    }

    /// Of this length alone, and of the last chunk.
    fn load_up_to(&self, op: &dyn Erased, task: &Task, len: usize) -> Result<Vec<Missing>, Error> {
        let ranges = self.device.ranges_of(op, task)?;
        let [of_len, of_rest] = [len, self.rest.min(len)].map(|len| ranges.for_len(len as u64));
        let rest = (self.rest > 0 && self.rest < len && !std::ptr::eq(of_len, of_rest)).then_some(of_rest);
        self.of(&ranges, std::iter::once(of_len).chain(rest))
    }

    fn load_all_columns(&self, op: &dyn Erased, task: &Task, columns: &ColumnLayout) -> Result<Vec<Missing>, Error> {
        let ranges = self.device.ranges_of(op, task)?;
        self.of(&ranges, ranges.iter().filter(|range| range.plan.suits(columns, &[], &[])))
    }
}
