//! Reductions along an axis of an array in host memory.

use std::{fmt, ptr};

use scan_codegen::{ArrayKind, ArrayKinds, Arrays, Axis};

use super::{AxisScan, check_length};
use crate::{
    Error, Reduce, Scan, ScanOp,
    call::{HostPlaces, Totals},
    cpu::{self, Inputs},
    few::Few,
    room::room,
};

/// A reduction along an axis of an array, made by [`Reduce::axis`]: each column, whose elements follow each other along the axis, is
/// reduced as if it were all of the input.
#[derive(Clone)]
#[must_use = "a reduction does nothing until it is run"]
pub struct AxisReduce<'h, Op: ScanOp> {
    /// A scan that writes totals only.
    along: AxisScan<'h, Op>,
}

impl<Op: ScanOp> fmt::Debug for AxisReduce<'_, Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AxisReduce").field(&self.along).finish()
    }
}

impl<Op: ScanOp> Reduce<Op> {
    /// Reduces an array along an axis.
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let matrix = [
    ///     1, 2, 3, //
    ///     4, 5, 6,
    /// ];
    /// let columns = scanner.reduce(ops::sum()).axis(Axis::of(&[2, 3], 0)?);
    /// assert_eq!(columns.run(&matrix)?, [5, 7, 9]);
    /// let rows = scanner.reduce(ops::max()).axis(Axis::of(&[2, 3], 1)?);
    /// assert_eq!(rows.run(&matrix)?, [3, 6]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn axis<'h>(self, axis: Axis) -> AxisReduce<'h, Op> {
        let mut scan = Scan::<Op>::new(self.scanner, self.op);
        (scan.initial_value, scan.progress) = (self.initial_value, self.progress);
        scan.layouts.output = (Arrays::One, ArrayKinds::new([ArrayKind::NoMemory]));
        AxisReduce { along: scan.axis(axis) }
    }
}

impl<'h, Op: ScanOp> AxisReduce<'h, Op> {
    /// Puts a value of its own before the first element of each column, as [`AxisScan::init_each`] does.
    pub fn init_each(self, values: &'h [Op::Carry]) -> Self {
        AxisReduce { along: self.along.init_each(values) }
    }

    /// Reduces each column of an array: the results have the shape of the array without the axis, contiguous, the last
    /// index the fastest. That of a column without elements is the initial value, or else the identity. `project` is
    /// called on the host.
    ///
    /// In device memory a scan by [`.columns()`](AxisScan::columns) reduces, whose outputs are
    /// [discarded](crate::arrays::discard): its totals are the carries.
    ///
    /// # Errors
    ///
    /// As [`AxisScan::run_with_totals`].
    pub fn run(&self, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        let AxisScan { scan, along } = &self.along;
        let axis = &along.axis;
        check_length(axis, "input", input.len(), axis.input_len())?;
        let count = axis.columns();
        let mut totals = room::<Op::Carry>(count)?;
        let memory = Inputs::<Op>(input.as_ptr());
        let places = HostPlaces::of(input.as_ptr(), ptr::null_mut::<Op::Output>(), axis.len());
        let places = HostPlaces { output: Few::default(), in_place: false, ..places };
        // SAFETY: the input holds the array, there is room for the totals, and results have no memory.
        unsafe {
            match along.is_of_rows(&scan.call(Totals::PerSegment).request) {
                true => scan.run_each(memory, &places, totals.as_mut_ptr())?,
                false => self.along.run_columns_in(memory, &places, totals.as_mut_ptr())?,
            }
            totals.set_len(count);
        }
        let mut results = room(count)?;
        for total in totals {
            results.push(cpu::project(&scan.op, total)?);
        }
        Ok(results)
    }
}
