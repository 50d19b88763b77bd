//! What a run would do on a GPU: its plan, its CUDA source, its kernels ahead of time.

use scan_codegen::{KernelSource, PlanError, Plans};

use super::{
    HostCall,
    axis::{AxisLayout, AxisPlan},
    call::layouts,
};
use crate::{
    Error, Host, Outcome, Results, Run, Scan, ScanOp,
    aot::Wanted,
    arrays::{Input, Output},
    call::Totals,
    generate,
    scan::Options,
};

impl<Op: ScanOp> HostCall<'_, Op> {
    /// The array, if the run is along an axis whose columns are not rows.
    fn columns(&self) -> Option<&AxisLayout> {
        self.along.as_deref().filter(|along| !along.layout().is_rows())
    }

    fn plans(&self, asked: Totals) -> Result<Plans, Error> {
        let Options { scanner, op, .. } = self.options;
        Ok(scanner.plans(&op.source(), &self.call(self.wanted(asked)).spec(), &self.options.shape())?)
    }
}

/// What would run on a GPU.
impl<Op: ScanOp, R: Results> Run<'_, Op, Host, R> {
    /// What would run on the GPU; see [`Scan::plan`].
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where no kernel can do it, if keys have padding, and along an axis whose columns are not rows,
    /// which [`axis_plan`](Run::axis_plan) is for.
    pub fn plan(&self) -> Result<Plans, Error> {
        match self.call.columns() {
            Some(_) => Err(PlanError::Columns { why: "its columns are not rows: `axis_plan` says what runs" }.into()),
            None => self.call.plans(R::TOTALS),
        }
    }

    /// The CUDA source that would run on the GPU over the longest inputs; see [`Scan::cuda_source`].
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where there is no such plan, [`Error::Render`] where the operator cannot be written.
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        let operator = self.call.options.op.source();
        if self.call.columns().is_some() {
            let plan = self.call.columns_plan(self.call.wanted(R::TOTALS))?;
            return Ok(generate::show_columns(&operator, &plan)?);
        }
        let plans = self.plan()?;
        Ok(generate::show(&operator, &plans, plans.longest())?)
    }

    /// As [`cuda_source`](Run::cuda_source), over inputs of `len` elements.
    ///
    /// # Errors
    ///
    /// As [`cuda_source`](Run::cuda_source).
    pub fn cuda_source_for(&self, len: usize) -> Result<KernelSource, Error> {
        let plans = self.plan()?;
        Ok(generate::show(&self.call.options.op.source(), &plans, plans.for_len(len as u64))?)
    }

    /// The kernels of this run over device memory in arrays of the same kinds as these, for a
    /// [bundle](crate::aot::Bundle); see [`Scan::kernels_like`].
    pub fn kernels_like<I, O>(&self, _: I, _: O) -> Wanted
    where
        I: Input<Op::Input, Host>,
        O: Output<Op::Output, Host>,
    {
        let call = self.call.call(self.call.wanted(R::TOTALS));
        Wanted::new(&*self.call.options.op, vec![call.over(layouts::<Op, I::OnHost, O::OnHost>()).task()])
    }
}

impl<Op: ScanOp, R: Outcome> Run<'_, Op, Host, R> {
    /// What would run on the GPU along an axis; of other segments as rows.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where no kernel can do it.
    pub fn axis_plan(&self) -> Result<AxisPlan, Error> {
        match self.call.columns() {
            Some(_) => Ok(AxisPlan::Columns(self.call.columns_plan(self.call.wanted(R::TOTALS))?)),
            None => Ok(AxisPlan::Rows(self.call.plans(R::TOTALS)?)),
        }
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
    /// let kernels = filter.kernels_like((&flags, values), arrays::scatter_computed((&mut kept,)));
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
