//! Scans along an axis of an array in host memory.

use std::{fmt, ptr, sync::Arc};

use cudarc::driver::CudaStream;
use scan_codegen::{Axis, ColumnLayout, ColumnsPlan, KernelSource, Plans};

mod each;
mod reduced;
pub(crate) use each::check_totals;
pub use reduced::AxisReduce;

use super::Scan;
use crate::{
    DeviceScan, Error, Heads, ScanElement, ScanOp,
    call::{HostPlaces, HostTotals, Initial, Request, Totals},
    cpu, generate,
    heads::check_initial_values,
    room::room,
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

/// A scan along an axis of an array, made by [`Scan::axis`]: each column, which is what lies along the axis, is scanned
/// as if it were all of the input. An initial value stands before the first element of each column; a
/// [reversed](Scan::reverse) scan goes from the last element of each. Options are those of the scan, set before.
///
/// Outer axes have a kernel of their own, whose neighbouring threads scan neighbouring columns. It is at its best where
/// the last dimension is contiguous; any other strides are scanned as well, slower. An axis whose columns are
/// contiguous, one behind the other, is scanned as [rows](Scan::rows). Floats come out the same in every run.
///
/// ```
/// use scan_runtime::{Axis, Scanner, ops};
///
/// let scanner = Scanner::new()?;
/// let matrix = [
///     1, 2, 3, //
///     4, 5, 6,
/// ];
/// let down = scanner.scan(ops::sum()).axis(Axis::of(&[2, 3], 0)?);
/// assert_eq!(down.run(&matrix)?, [1, 2, 3, 5, 7, 9]);
/// let along = scanner.scan(ops::sum()).axis(Axis::of(&[2, 3], 1)?);
/// assert_eq!(along.run(&matrix)?, [1, 3, 6, 4, 9, 15]);
/// // Every second column, in place.
/// let every_second = Axis::of(&[2, 2], 0)?.strides(&[3, 2])?;
/// let mut buffer = matrix;
/// scanner.scan(ops::sum()).axis(every_second).run_in_place(&mut buffer)?;
/// assert_eq!(buffer, [1, 2, 3, 5, 5, 9]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a scan does nothing until it is run"]
pub struct AxisScan<'h, Op: ScanOp> {
    /// The scan of the columns if they are contiguous, one behind the other.
    pub(crate) scan: Scan<Op, Heads<'h>>,
    pub(crate) along: Arc<AxisLayout>,
}

/// An array that is scanned along an axis.
#[derive(Clone, Debug)]
pub(crate) struct AxisLayout {
    pub(crate) axis: Axis,
    layout: ColumnLayout,
}

impl AxisLayout {
    pub(crate) fn new(axis: Axis) -> Self {
        AxisLayout { layout: axis.layout(), axis }
    }

    pub(crate) fn layout(&self) -> &ColumnLayout {
        &self.layout
    }

    /// The length of a column, if the columns are rows of a scan that restarts.
    pub(crate) fn row(&self) -> Option<usize> {
        let layout = &self.layout;
        let are_rows = layout.is_rows() && layout.columns() > 1 && !layout.is_empty();
        are_rows.then_some(layout.length() as usize)
    }

    /// Whether columns are contiguous, one behind the other, and scanned as rows. One alone is no row that has values
    /// of its own.
    pub(crate) fn is_of_rows(&self, request: &Request) -> bool {
        let has_values = request.initial == Initial::Each || request.totals == Totals::PerSegment;
        self.layout.is_rows() && !self.layout.is_empty() && (!has_values || self.layout.columns() > 1)
    }
}

impl<Op: ScanOp> fmt::Debug for AxisScan<'_, Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AxisScan").field("scan", &self.scan).field("axis", &self.along.axis).finish()
    }
}

impl<Op: ScanOp> Scan<Op> {
    /// Scans an array along an axis.
    ///
    /// A recurrence `h = a·h + b` over the tokens of many sequences, whose factors are at most 1 (larger ones may
    /// [overflow](ScanOp#overflow)):
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, scan_element, scan_op};
    ///
    /// #[scan_element]
    /// #[derive(Clone, Copy)]
    /// struct Affine {
    ///     a: f32,
    ///     b: f32,
    /// }
    ///
    /// #[scan_op(identity = Affine { a: 1.0, b: 0.0 })]
    /// fn compose(f: Affine, g: Affine) -> Affine {
    ///     Affine { a: f.a * g.a, b: g.a * f.b + g.b }
    /// }
    ///
    /// let (sequences, tokens, channels) = (2, 3, 4);
    /// let steps = vec![Affine { a: 0.5, b: 1.0 }; sequences * tokens * channels];
    /// let along_tokens = Axis::of(&[sequences, tokens, channels], 1)?;
    /// let states = Scanner::new()?.scan(compose).axis(along_tokens).run(&steps)?;
    /// assert_eq!(states[(1 * tokens + 2) * channels].b, 1.75);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn axis<'h>(self, axis: Axis) -> AxisScan<'h, Op> {
        let along = Arc::new(AxisLayout::new(axis));
        let heads = along.row().map_or(Heads::NONE, Heads::rows);
        AxisScan { scan: self.with_heads(heads), along }
    }
}

/// What would run along an axis on a GPU.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AxisPlan {
    /// Columns that are contiguous, one behind the other, as rows.
    Rows(Plans),
    /// Any others.
    Columns(ColumnsPlan),
}

impl fmt::Display for AxisPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AxisPlan::Rows(plans) => plans.fmt(f),
            AxisPlan::Columns(plan) => plan.fmt(f),
        }
    }
}

/// Whether memory of `found` elements holds the array.
pub(crate) fn check_length(axis: &Axis, what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
    let holds = if expected == axis.len() { found == expected } else { found >= expected };
    if holds { Ok(()) } else { Err(Error::AxisLength { what, found, expected, shape: axis.shape().to_vec() }) }
}

impl<Op: ScanOp> AxisScan<'_, Op> {
    /// What would run on the GPU, as [`Scan::plan`] has it.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where no kernel can do it.
    pub fn plan(&self) -> Result<AxisPlan, Error> {
        if self.along.layout.is_rows() {
            return Ok(AxisPlan::Rows(self.scan.plan()?));
        }
        Ok(AxisPlan::Columns(self.columns_plan(Totals::None)?))
    }

    /// The CUDA source that would run on the GPU, as [`Scan::cuda_source`] has it.
    ///
    /// # Errors
    ///
    /// As [`plan`](AxisScan::plan).
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        if self.along.layout.is_rows() {
            return self.scan.cuda_source();
        }
        Ok(generate::show_columns(&self.scan.op.source(), &self.columns_plan(Totals::None)?)?)
    }

    /// Scans an array. The results are contiguous, unless the axis was given strides of theirs.
    ///
    /// # Errors
    ///
    /// [`Error::AxisLength`] if the array has other elements than its shape tells, [`Error::AxisGaps`] if results of
    /// these strides leave gaps, and those of [`Scan::run`].
    pub fn run(&self, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        let len = self.along.axis.output_len();
        if len != self.along.axis.len() {
            return Err(Error::AxisGaps { shape: self.along.axis.shape().to_vec() });
        }
        check_length(&self.along.axis, "input", input.len(), self.along.axis.input_len())?;
        let mut output = room(len)?;
        // SAFETY: the input holds the array, the vector has room for the results, and nothing else points there.
        unsafe { self.run_at(input.as_ptr(), output.as_mut_ptr(), ptr::null_mut())? };
        // SAFETY: every element is a result, and has been written.
        unsafe { output.set_len(len) };
        Ok(output)
    }

    /// Scans an array into memory. What lies between the results is left as it is.
    ///
    /// # Errors
    ///
    /// As [`run`](AxisScan::run); gaps are no error. After an error the results are unspecified.
    pub fn run_into(&self, input: &[Op::Input], output: &mut [Op::Output]) -> Result<(), Error> {
        check_length(&self.along.axis, "input", input.len(), self.along.axis.input_len())?;
        check_length(&self.along.axis, "output", output.len(), self.along.axis.output_len())?;
        // SAFETY: the input holds the array, and the output, which is exclusively borrowed, the results.
        unsafe { self.run_at(input.as_ptr(), output.as_mut_ptr(), ptr::null_mut()) }
    }

    /// Scans an array in place. What lies between its elements is left as it is.
    ///
    /// # Errors
    ///
    /// As [`run`](AxisScan::run), and [`Error::AxisInPlace`] if the axis was given strides of the results that differ
    /// from those of the elements.
    pub fn run_in_place<T>(&self, buffer: &mut [T]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        if !self.along.axis.lies_the_same() {
            return Err(Error::AxisInPlace);
        }
        check_length(&self.along.axis, "buffer", buffer.len(), self.along.axis.input_len())?;
        let to = buffer.as_mut_ptr();
        // SAFETY: the buffer, which is exclusively borrowed, holds the array, and each result takes the place of its
        // element.
        unsafe { self.run_at(to.cast_const(), to, ptr::null_mut()) }
    }

    /// The same for device memory, on a stream of yours, as [`Scan::on`] is for a scan.
    pub fn on<'a>(&'a self, stream: &'a Arc<CudaStream>) -> DeviceScan<'a, Op> {
        DeviceScan::new(self.scan.call(Totals::None), stream).with_axis(self.along.clone())
    }

    fn columns_plan(&self, totals: Totals) -> Result<ColumnsPlan, Error> {
        let (operator, limits) = (self.scan.op.source(), self.scan.scanner.limits());
        Ok(generate::plan_columns(&operator, &self.scan.call(totals).spec(), &limits, &self.scan.shape())?)
    }

    /// # Safety
    ///
    /// `input` is valid for reads of the axis's `input_len` elements, `output` for writes of its `output_len` results.
    /// They are one, and each result in the place of its element, or they do not overlap. `totals` is null, or valid
    /// for a write of the total of each column.
    unsafe fn run_at(
        &self,
        input: *const Op::Input,
        output: *mut Op::Output,
        totals: *mut Op::Carry,
    ) -> Result<(), Error> {
        let call = self.scan.call(Totals::per_segment(!totals.is_null()));
        let has_values = call.request.initial == Initial::Each || !totals.is_null();
        match self.along.is_of_rows(&call.request) {
            // SAFETY: the caller vouches for the memory: rows are contiguous.
            true if has_values => {
                return unsafe { self.scan.run_each_at(input, output, self.along.axis.len(), totals) };
            }
            // SAFETY: as above.
            true => return unsafe { self.scan.run_at(input, output, self.along.axis.len(), false) }.map(drop),
            false => {}
        }
        let places = HostPlaces::of(input, output, self.along.axis.len());
        // SAFETY: as above.
        unsafe { self.run_columns_in(cpu::Elements { input, output }, &places, totals) }
    }

    /// An error if there is not one initial value for each column, where each has one.
    fn check_values(&self) -> Result<(), Error> {
        let values = self.scan.initial_values();
        values.map_or(Ok(()), |values| check_initial_values(values.len(), self.along.axis.columns()))
    }

    /// Scans columns that are no rows: of `memory` on the CPU, of the same as `places` on a device.
    ///
    /// # Safety
    ///
    /// As for [`run_at`](AxisScan::run_at); both describe one memory.
    pub(crate) unsafe fn run_columns_in(
        &self,
        memory: impl cpu::Memory<Op>,
        places: &HostPlaces,
        totals: *mut Op::Carry,
    ) -> Result<(), Error> {
        let call = self.scan.call(Totals::per_segment(!totals.is_null()));
        let (axis, layout) = (&self.along.axis, &self.along.layout);
        self.check_values()?;
        if layout.is_empty() {
            self.columns_plan(call.request.totals)?;
            // SAFETY: the caller vouches for the totals.
            unsafe { self.write_totals_of_nothing(totals)? };
            call.report_all(0);
            return Ok(());
        }
        match self.scan.scanner.engine() {
            Engine::Cpu { .. } => {
                let has_values = call.request.initial == Initial::Each || !totals.is_null();
                match has_values || self.scan.overrides.is_some() {
                    true => self.columns_plan(call.request.totals).map(drop)?,
                    false => self.scan.check_planned(Totals::None)?,
                }
                let _span = tells_of_calls().then(|| computing::<Op>(axis.len()));
                let Scan { op, kind, order, initial_value, .. } = &self.scan;
                let values = cpu::ColumnValues {
                    initial_value: *initial_value,
                    initial_values: self.scan.initial_values(),
                    totals: (!totals.is_null()).then_some(totals),
                };
                // SAFETY: the caller vouches for the memory; the values have been counted.
                unsafe { cpu::scan_columns(op, *kind, *order, values, layout, memory, axis.len())? };
                call.report_all(axis.len());
                Ok(())
            }
            Engine::Cuda(device) => {
                let totals = HostTotals::per_segment(totals, axis.columns());
                // SAFETY: as above.
                unsafe { call.scan_columns_on_device(device, axis, places, totals) }
            }
        }
    }
}
