//! The contents of a handle of runs over device memory.

use std::{fmt, sync::Arc};

use cudarc::driver::CudaStream;

use super::work::{DeviceWork, OfNothing};
use crate::{
    Error, Scanner,
    call::{Call, Initial, Request},
    cuda::{Runs, bind},
    host::axis::AxisLayout,
    prepared::check_len,
};

/// Runs on one stream that are ready: kernels, constants and workspaces.
pub struct Handle {
    pub(super) scanner: Scanner,
    pub(super) stream: Arc<CudaStream>,
    pub(super) work: DeviceWork,
    /// What writes results of no elements, where there may be such and copies do not.
    pub(super) nothing: Option<OfNothing>,
    pub(super) operator: String,
    /// The request that it was prepared for.
    pub(super) request: Request,
    /// The scan that gives the initial values, if results include these.
    pub(super) initial: Option<Box<Handle>>,
    /// The array, if the runs are along an axis of one.
    pub(super) axis: Option<Arc<AxisLayout>>,
    /// Whether there is an initial value that was known when it was prepared.
    pub(super) has_initial_value: bool,
    pub(super) carry_bytes: usize,
    pub(super) totals_are_results: bool,
    max_len: usize,
    /// The bytes of the total of no elements: a graph copies them from here.
    pub(super) total_of_nothing: Option<Vec<u8>>,
    /// The same of a reduction.
    pub(super) result_of_nothing: Option<Vec<u8>>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut handle = f.debug_struct("Handle");
        handle.field("operator", &self.operator).field("prepared_for", &self.request.to_string());
        handle.field("max_len", &self.max_len).finish_non_exhaustive()
    }
}

impl Handle {
    /// Of `of_nothing` results of no elements that kernels write.
    pub(super) fn new(
        call: &Call<'_>,
        axis: Option<&Arc<AxisLayout>>,
        stream: &Arc<CudaStream>,
        max_len: usize,
        of_nothing: usize,
    ) -> Result<Self, Error> {
        let device = call.scanner.device_of(stream)?;
        device.check_preparing(stream)?;
        bind(stream)?;
        let work = match axis {
            Some(axis) if !axis.is_of_rows(&call.request) => {
                DeviceWork::along_axis(call, device, stream, axis.layout(), None)?
            }
            _ => DeviceWork::new(call, device, stream, Runs::Often(max_len), || call.result_of_nothing())?,
        };
        let total_of_nothing = call.initial_bytes().or_else(|| call.op.start());
        let has_nothing = of_nothing > 0 && (call.request.initial == Initial::Each || total_of_nothing.is_some());
        let nothing = has_nothing.then(|| OfNothing::new(call, device, stream, Runs::Often(of_nothing))).transpose()?;
        let gives_one = call.request.reduction.is_some() || call.request.includes_initial;
        let folds = gives_one && total_of_nothing.is_some();
        Ok(Handle {
            scanner: call.scanner.clone(),
            stream: stream.clone(),
            work,
            nothing,
            operator: call.op.source().name,
            request: call.request,
            initial: None,
            axis: axis.cloned(),
            has_initial_value: call.initial_value.is_some(),
            carry_bytes: call.op.carry_bytes(),
            totals_are_results: device.totals_are_results(call.op),
            max_len,
            result_of_nothing: folds.then(|| call.result_of_nothing()).transpose()?,
            total_of_nothing,
        })
    }

    /// An error if it was not prepared for such runs, of `len` elements.
    pub(super) fn check(&self, request: &Request, len: usize) -> Result<(), Error> {
        check_len(len, self.max_len)?;
        match self.request.is_like(request) {
            true => Ok(()),
            false => Err(Error::HandleMismatch { prepared: self.request.to_string(), found: request.to_string() }),
        }
    }
}
