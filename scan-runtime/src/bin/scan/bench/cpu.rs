//! Scans and copies of host memory.

use std::{hint::black_box, time::Duration};

use scan_runtime::{Scan, ScanOp};

use super::{Race, timed};
use crate::{Outcome, ready::Sample};

pub(super) struct Buffers<'a, T, Op: ScanOp> {
    scan: &'a Scan<Op>,
    input: Vec<T>,
    output: Vec<T>,
}

impl<'a, T: Sample, Op: ScanOp> Buffers<'a, T, Op> {
    pub(super) fn new(scan: &'a Scan<Op>, input: Vec<T>) -> Self {
        Buffers { scan, output: input.clone(), input }
    }
}

impl<T, Op> Race for Buffers<'_, T, Op>
where
    T: Sample,
    Op: ScanOp<Input = T, State = T, Carry = T, Output = T>,
{
    fn scan(&mut self, calls: u32) -> Outcome<Duration> {
        timed(calls, || Ok(self.scan.run_into(black_box(&self.input), black_box(&mut self.output))?))
    }

    fn copy(&mut self, calls: u32) -> Outcome<Duration> {
        timed(calls, || {
            black_box(&mut self.output[..]).copy_from_slice(black_box(&self.input));
            Ok(())
        })
    }
}
