//! The kernels of a call, for a bundle.

use super::{HostCall, axis::totals_only, call::layouts};
use crate::{
    Host, Outcome, Run, Scan, ScanOp,
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
            _ => call.task_of_rows().unwrap_or_else(|| call.task()),
        };
        [vec![of_host], call.device_tasks()].concat()
    }
}

impl<Op: ScanOp, R: Outcome> Run<'_, Op, Host, R> {
    /// The kernels of this run over device memory in arrays of the same kinds as these, for a
    /// [bundle](crate::aot::Bundle); see [`Scan::kernels_like`].
    pub fn kernels_like<I, O>(&self, _: I, _: O) -> Wanted
    where
        I: Input<Op::Input, Host>,
        O: Output<Op::Output, Host>,
    {
        let layouts = layouts::<Op, I::OnHost, O::OnHost>();
        let mut tasks: Vec<Task> = Vec::new();
        for call in self.call.of_all_shapes() {
            let (totals, call) = (call.wanted(R::TOTALS), call.as_planned());
            let all = call.call(totals).over(layouts).tasks_on_device();
            all.into_iter().for_each(|task| {
                if !tasks.contains(&task) {
                    tasks.push(task)
                }
            });
        }
        Wanted::new(&*self.call.options.op, tasks)
    }
}

impl<Op: ScanOp, R: Outcome> Scan<Op, R> {
    /// The kernels of this scan or reduction over device memory in arrays of the same kinds as these, for a
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
    ///
    /// Those of a reduction write its results to such an output; segments and an axis are named before.
    ///
    /// ```no_run
    /// use scan_runtime::{Axis, Scanner, aot::Bundle, ops};
    ///
    /// let bounds = Scanner::cpu().reduce(ops::pair(ops::min::<f32>(), ops::max::<f32>()));
    /// let (samples, mut least, mut largest) = ([0.0_f32; 0], [0.0; 0], [0.0; 0]);
    /// let of_columns = bounds.along(Axis::of(&[480, 640], 0)?);
    /// let of_columns = of_columns.kernels_like(&samples, (&mut least, &mut largest));
    /// let of_segments = bounds.by_offsets::<u32>(&[]).kernels_like(&samples, (&mut least, &mut largest));
    /// Bundle::new().architecture("sm_90").with(&of_columns).with(&of_segments).write("kernels.scan")?;
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
