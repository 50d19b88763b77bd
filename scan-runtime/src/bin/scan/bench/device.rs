//! Scans and copies of device memory.

use std::{sync::Arc, time::Duration};

use scan_runtime::{
    Device, Prepared, Scan, ScanOp,
    cudarc::driver::{CudaContext, CudaSlice, CudaStream, sys::CUevent_flags},
    milliseconds_between,
};

use super::Race;
use crate::{Outcome, ready::Sample};

pub(super) struct Buffers<T, Op: ScanOp> {
    stream: Arc<CudaStream>,
    scan: Prepared<Op, Device>,
    input: CudaSlice<T>,
    output: CudaSlice<T>,
}

impl<T, Op> Buffers<T, Op>
where
    T: Sample,
    Op: ScanOp<Input = T, State = T, Carry = T, Output = T>,
{
    pub(super) fn new(context: &Arc<CudaContext>, scan: &Scan<Op>, input: &[T]) -> Outcome<Self> {
        let stream = context.default_stream();
        let scan = scan.on(&stream).prepare(input.len())?;
        let (input, output) = (stream.clone_htod(input)?, stream.clone_htod(input)?);
        Ok(Buffers { stream, scan, input, output })
    }

    /// The time between an event before some calls and one after them.
    fn timed(&mut self, calls: u32, mut call: impl FnMut(&mut Self) -> Outcome) -> Outcome<Duration> {
        let start = self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        (0..calls).try_for_each(|_| call(self))?;
        let end = self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds_between(&start, &end)?.max(0.0)) / 1e3))
    }
}

impl<T, Op> Race for Buffers<T, Op>
where
    T: Sample,
    Op: ScanOp<Input = T, State = T, Carry = T, Output = T>,
{
    fn scan(&mut self, calls: u32) -> Outcome<Duration> {
        self.timed(calls, |buffers| Ok(buffers.scan.run_into(&buffers.input, &mut buffers.output)?))
    }

    fn copy(&mut self, calls: u32) -> Outcome<Duration> {
        self.timed(calls, |buffers| Ok(buffers.stream.memcpy_dtod(&buffers.input, &mut buffers.output)?))
    }
}
