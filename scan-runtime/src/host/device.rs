//! Host memory through a device.

use std::{mem::MaybeUninit, ops::Range};

use scan_codegen::{ArrayKind, ArrayKinds, Arrays};

use super::{HostCall, call::Wants};
use crate::{
    Error, ScanOp,
    call::{Call, HostPlaces, HostTotals, Layouts, Totals},
    cpu::{self, Both, Memory, Reader, Unwritten},
    cuda::CudaDevice,
    room::room,
};

/// Whether the kernel of reductions reduces it to one result: it reads one array, in its order. Else a scan gives the
/// total.
pub(super) fn is_of_trees(call: &Call<'_>, host: &HostPlaces) -> bool {
    call.request.is_of_trees() && host.kinds.is_none()
}

/// The memory of a scan that gives the total and writes no results.
pub(super) fn of_total<Op: ScanOp>(
    input: impl Reader<Op::Input>,
    len: usize,
    layouts: Layouts,
) -> (HostPlaces, Layouts) {
    let output = (Arrays::One, ArrayKinds::new([ArrayKind::NoMemory]));
    (Memory::<Op>::host(Both { input, output: Unwritten }, len), Layouts { output, ..layouts })
}

impl<Op: ScanOp> HostCall<'_, Op> {
    /// Scans on a device.
    ///
    /// # Safety
    ///
    /// As for [`run_memory`](HostCall::run_memory).
    #[inline(never)]
    pub(super) unsafe fn run_on_device(
        &self,
        device: &CudaDevice,
        host: &HostPlaces,
        layouts: Layouts,
        wants: Wants<Op::Carry>,
    ) -> Result<Option<Op::Carry>, Error> {
        self.heads.check(host.len)?;
        let mut total = MaybeUninit::uninit();
        let with_total = matches!(wants, Wants::Last) && host.len > 0;
        let (wanted, totals) = match with_total {
            true => (Totals::Last, HostTotals::last(&mut total)),
            false => (Totals::None, HostTotals::NONE),
        };
        let call = self.scan_call(wanted, layouts);
        // SAFETY: the caller vouches for the host memory.
        unsafe { call.scan_on_device(device, host, totals)? };
        // SAFETY: the kernels have written the total if that was asked of them.
        Ok(if with_total { Some(unsafe { total.assume_init() }) } else { self.options.initial_value })
    }

    /// Reduces to one result on a device.
    ///
    /// # Safety
    ///
    /// There are `len` elements.
    pub(super) unsafe fn reduce_on_device(
        &self,
        device: &CudaDevice,
        input: impl Reader<Op::Input>,
        len: usize,
        layouts: Layouts,
    ) -> Result<Op::Output, Error> {
        let mut result = MaybeUninit::<Op::Output>::uninit();
        let host = Memory::<Op>::host(Both { input, output: result.as_mut_ptr() }, len);
        let call = self.call(Totals::None).over(layouts);
        if is_of_trees(&call, &host) {
            // SAFETY: the caller vouches for the input, and there is room for the result, which is written.
            return unsafe {
                call.reduce_on_device(device, &host)?;
                Ok(result.assume_init())
            };
        }
        let (host, layouts) = of_total::<Op>(input, len, layouts);
        // SAFETY: the caller vouches for the input; results have no memory.
        let total = unsafe { self.run_on_device(device, &host, layouts, Wants::Last)? };
        match total {
            Some(total) => cpu::project(&*self.options.op, total),
            None => self.options.result_of_nothing(),
        }
    }

    /// The call that reduces segments.
    pub(super) fn segments_call(&self, host: &HostPlaces, layouts: Layouts) -> Call<'_> {
        let call = self.call(Totals::None).over(layouts);
        Call { request: host.request(call.request), ..call }
    }

    /// Reduces each segment on a device. `of_nothing` gives the result of an empty one.
    ///
    /// # Safety
    ///
    /// There are `len` elements, and the segments are within them.
    pub(super) unsafe fn reduce_segments_on_device(
        &self,
        device: &CudaDevice,
        input: impl Reader<Op::Input>,
        len: usize,
        layouts: Layouts,
        segments: &[Range<usize>],
        of_nothing: impl Fn(usize) -> Result<Op::Output, Error>,
    ) -> Result<Vec<Op::Output>, Error> {
        let mut results = room::<Op::Output>(segments.len())?;
        if segments.iter().all(Range::is_empty) {
            self.watched(len, |_| Ok(()))?;
        } else {
            let host = Memory::<Op>::host(Both { input, output: results.as_mut_ptr() }, len);
            // What kernels write for segments without elements is replaced.
            let any_result = vec![0; size_of::<Op::Output>()];
            let call = self.segments_call(&host, layouts);
            // SAFETY: the caller vouches for the input, and there is room for a result of each segment.
            unsafe {
                match call.request.ranges() {
                    Some(_) => call.reduce_ranges_on_device(device, &host, segments.len(), &any_result)?,
                    None => call.reduce_segments_on_device(device, &host, segments, &any_result)?,
                }
            }
        }
        for (index, segment) in segments.iter().enumerate() {
            if segment.is_empty() {
                let of_nothing = of_nothing(index)?;
                // SAFETY: as above.
                unsafe { results.as_mut_ptr().add(index).write(of_nothing) };
            }
        }
        // SAFETY: the kernels have written the results of all segments that have elements.
        unsafe { results.set_len(segments.len()) };
        Ok(results)
    }
}
