//! The kernels of a call, for a bundle.

use super::{HostCall, axis::totals_only, call::layouts};
use crate::{
    Host, Results, Run, Scan, ScanOp,
    aot::Wanted,
    arrays::{Input, Output},
    call::{Task, Totals},
};

impl<Op: ScanOp> HostCall<'_, Op> {
    /// The kernels of this call over host memory, and those of the same call over device memory.
    pub(crate) fn tasks(&self, asked: Totals) -> Vec<Task> {
        let planned = self.as_planned();
        let call = planned.call(self.wanted(asked));
        let of_host = match (call.request.reduction, call.along) {
            (Some(_), Some(_)) => planned.scan_call(Totals::PerSegment, totals_only(call.request.layouts)).task(),
            _ => call.task(),
        };
        [vec![of_host], call.device_tasks()].concat()
    }
}

impl<Op: ScanOp, R: Results> Run<'_, Op, Host, R> {
    /// The kernels of this run over device memory in arrays of the same kinds as these, for a
    /// [bundle](crate::aot::Bundle); see [`Scan::kernels_like`].
    pub fn kernels_like<I, O>(&self, _: I, _: O) -> Wanted
    where
        I: Input<Op::Input, Host>,
        O: Output<Op::Output, Host>,
    {
        let layouts = layouts::<Op, I::OnHost, O::OnHost>();
        let calls = self.call.of_all_shapes();
        let tasks = calls.iter().map(|call| call.call(call.wanted(R::ADDED)).over(layouts).task());
        Wanted::new(&*self.call.options.op, tasks.collect())
    }
}

impl<Op: ScanOp> Scan<Op> {
    /// The kernels of this scan over device memory in arrays of the same kinds as these, for a
    /// [bundle](crate::aot::Bundle). Of host memory, gathered, scattered and computed arrays are slices to the kernels.
    /// Their lengths do not matter, the types of their places do.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, aot::Bundle, arrays, ops};
    ///
    /// let filter = Scanner::cpu().scan(ops::filter::<f32>());
    /// let (flags, values, mut kept) = ([false; 0], arrays::gather(&[0.0_f32; 0], &[0_u32; 0]), [0.0; 0]);
    /// let kernels = filter.kernels_like((&flags, values), arrays::scatter_by_output((&mut kept,)));
    /// Bundle::new().architecture("sm_90").with(&kernels).write("kernels.scan")?;
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn kernels_like<I, O>(&self, input: I, output: O) -> Wanted
    where
        I: Input<Op::Input, Host>,
        O: Output<Op::Output, Host>,
    {
        self.call().kernels_like(input, output)
    }
}
