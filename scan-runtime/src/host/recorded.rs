//! Calls over host memory of a scanner that records: what a device would load for them is noted.

use std::mem::MaybeUninit;

use super::{
    HostCall,
    call::Wants,
    device::{is_of_trees, of_total},
};
use crate::{
    Error, ScanOp,
    aot::Notes,
    call::{Call, HostPlaces, Layouts, Totals},
    cpu::{Both, Memory, Reader},
};

impl<Op: ScanOp> HostCall<'_, Op> {
    /// Notes the kernels of a scan, which [`scan_call`](HostCall::scan_call) asks a device for.
    #[inline]
    pub(super) fn note_scan(
        &self,
        memory: impl Memory<Op>,
        len: usize,
        layouts: Layouts,
        wants: &Wants<Op::Carry>,
    ) -> Result<(), Error> {
        match self.options.scanner.notes() {
            None => Ok(()),
            Some(notes) => self.note_scan_over(notes, &memory.host(len), layouts, wants.totals()),
        }
    }

    #[cold]
    fn note_scan_over(&self, notes: &Notes, host: &HostPlaces, layouts: Layouts, totals: Totals) -> Result<(), Error> {
        self.heads.check(host.len)?;
        let totals = if host.len == 0 { Totals::None } else { totals };
        let call = self.scan_call(totals, layouts);
        notes.note(&Call { request: host.request(call.request), ..call }, host.len)
    }

    /// Notes the kernels of a reduction to one result.
    #[inline]
    pub(super) fn note_reduction(
        &self,
        input: impl Reader<Op::Input>,
        len: usize,
        layouts: Layouts,
    ) -> Result<(), Error> {
        let Some(notes) = self.options.scanner.notes() else { return Ok(()) };
        let mut result = MaybeUninit::<Op::Output>::uninit();
        let host = Memory::<Op>::host(Both { input, output: result.as_mut_ptr() }, len);
        let call = self.call(Totals::None).over(layouts);
        if is_of_trees(&call, &host) {
            notes.note(&call, len)?;
            return notes.note_on_device(&call);
        }
        notes.note_on_device(&call)?;
        let (host, layouts) = of_total::<Op>(input, len, layouts);
        self.note_scan_over(notes, &host, layouts, Totals::Last)
    }

    /// Notes the kernels of the same reduction along an axis over device memory, or those of the initial values.
    #[inline]
    pub(super) fn note_columns_on_device(&self, layouts: Layouts) -> Result<(), Error> {
        let Some(notes) = self.options.scanner.notes() else { return Ok(()) };
        notes.note_on_device(&self.call(Totals::None).over(layouts))
    }

    /// Notes the kernels of a reduction of segments, of which some have elements.
    #[inline]
    pub(super) fn note_segments(
        &self,
        input: impl Reader<Op::Input>,
        len: usize,
        layouts: Layouts,
    ) -> Result<(), Error> {
        let Some(notes) = self.options.scanner.notes() else { return Ok(()) };
        let host = Memory::<Op>::host(Both { input, output: MaybeUninit::<Op::Output>::uninit().as_mut_ptr() }, len);
        notes.note(&self.segments_call(&host, layouts), len)
    }

    /// Notes the kernels of a call as it is.
    #[inline]
    pub(super) fn note<'c>(&'c self, call: impl FnOnce() -> Call<'c>, len: usize) -> Result<(), Error> {
        self.options.scanner.notes().map_or(Ok(()), |notes| notes.note(&call(), len))
    }
}
