//! What a run would do on a GPU: its plan, its CUDA source, its kernels ahead of time.

use scan_codegen::{Axis, KernelSource, PlanError, Plans};

use super::{
    HostCall,
    axis::{AxisPlan, CallAxis},
};
#[cfg(doc)]
use crate::Scan;
use crate::{Error, Host, Outcome, Results, Run, ScanOp, call::Totals, generate, scan::Options};

impl<Op: ScanOp> HostCall<'_, Op> {
    /// Whether the run is along an axis whose columns are not rows, which those of an unknown shape are assumed to be.
    fn is_of_columns(&self) -> bool {
        match &self.along {
            CallAxis::None => false,
            CallAxis::OfArrays(_) => true,
            CallAxis::Known(along) => !along.layout().is_rows(),
        }
    }

    /// The call with every kind of axis that it may be along.
    pub(crate) fn of_all_shapes(&self) -> Vec<Self> {
        let CallAxis::OfArrays(_) = self.along else { return vec![self.clone()] };
        let axes = (0..2).filter_map(|axis| Axis::of(&[2, 2], axis).ok());
        axes.map(|axis| self.clone().along(axis.into())).collect()
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
        let call = self.call.as_planned();
        match call.is_of_columns() {
            true => Err(PlanError::Columns { why: "its columns are not rows: `axis_plan` says what runs" }.into()),
            false => call.plans(R::TOTALS),
        }
    }

    /// The CUDA source that would run on the GPU over the longest inputs; see [`Scan::cuda_source`].
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where there is no such plan, [`Error::Render`] where the operator cannot be written.
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        let operator = self.call.options.op.source();
        let call = self.call.as_planned();
        if call.is_of_columns() {
            let plan = call.columns_plan(call.wanted(R::TOTALS))?;
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
}

impl<Op: ScanOp, R: Outcome> Run<'_, Op, Host, R> {
    /// What would run on the GPU along an axis; of other segments as rows. Columns of an axis whose shape the arrays
    /// bring are assumed not to be rows.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where no kernel can do it.
    pub fn axis_plan(&self) -> Result<AxisPlan, Error> {
        let call = self.call.as_planned();
        match call.is_of_columns() {
            true => Ok(AxisPlan::Columns(call.columns_plan(call.wanted(R::TOTALS))?)),
            false => Ok(AxisPlan::Rows(call.plans(R::TOTALS)?)),
        }
    }
}
