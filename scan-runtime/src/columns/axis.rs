//! Scans along an axis of several arrays in host memory.

use std::{fmt, ptr};

use scan_codegen::ArrayKind;

use super::{
    Columns, Lengths,
    kinds::Lanes,
    layouts,
    tuples::{Sinks, Sources},
};
use crate::{
    AxisPlan, AxisScan, Error, KernelSource, ScanOp,
    call::{HostPlaces, Initial, Totals},
    cpu::InColumns,
    scan::{check_length, check_totals},
    scanner::Engine,
};

/// A scan along an axis whose input and output have an array for each field of an element, made by
/// [`AxisScan::columns`]. All arrays of the input have the shape and the strides of the axis, unless they have
/// [strides of their own](crate::arrays::strided), all of the output those of its results.
#[derive(Clone)]
#[must_use = "a scan does nothing until it is run"]
pub struct AxisColumnScan<'h, Op: ScanOp> {
    scan: AxisScan<'h, Op>,
}

impl<Op: ScanOp> fmt::Debug for AxisColumnScan<'_, Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AxisColumnScan").field(&self.scan).finish()
    }
}

impl<'h, Op: ScanOp> AxisScan<'h, Op> {
    /// The same scan of inputs and outputs that have an array for each field of an element, as
    /// [`Scan::columns`](crate::Scan::columns) has it. There is none in place.
    ///
    /// A recurrence `h = gate * h + token` over the tokens of many sequences, whose gates are at most 1 (larger ones may
    /// [overflow](ScanOp#overflow)):
    ///
    /// ```
    /// use scan_runtime::{Axis, ScanOp, Scanner, scan_element, scan_op};
    ///
    /// struct Recurrence;
    ///
    /// #[scan_element]
    /// #[derive(Clone, Copy)]
    /// struct Step {
    ///     gate: f32,
    ///     token: f32,
    /// }
    ///
    /// #[scan_op]
    /// impl ScanOp for Recurrence {
    ///     type Input = Step;
    ///     type State = Step;
    ///     type Output = f32;
    ///     fn lift(step: Step) -> Step {
    ///         step
    ///     }
    ///     fn combine(a: Step, b: Step) -> Step {
    ///         Step { gate: a.gate * b.gate, token: b.gate * a.token + b.token }
    ///     }
    ///     fn project(h: Step) -> f32 {
    ///         h.token
    ///     }
    /// }
    ///
    /// let shape @ [sequences, tokens, channels] = [2, 3, 4];
    /// let len = sequences * tokens * channels;
    /// let (gates, inputs, mut states) = (vec![0.5; len], vec![1.0; len], vec![0.0; len]);
    /// let along_tokens = Axis::of(&shape, 1)?;
    /// Scanner::new()?.scan(Recurrence).axis(along_tokens).columns().run_into((&gates, &inputs), &mut states)?;
    /// assert_eq!(states[(1 * tokens + 2) * channels], 1.75);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn columns(mut self) -> AxisColumnScan<'h, Op>
    where
        Op: ScanOp<Input: Columns, Output: Columns>,
    {
        self.scan.layouts = layouts::<Op>();
        AxisColumnScan { scan: self }
    }
}

impl<Op: ScanOp<Input: Columns, Output: Columns>> AxisColumnScan<'_, Op> {
    /// Scans arrays into others. Memory between the results keeps its values. Other arrays than slices have the shape
    /// and strides of the axis, too: [indices](crate::arrays::indices) are those of the memory. Those with
    /// [strides of their own](crate::arrays::strided) have the shape alone.
    ///
    /// # Errors
    ///
    /// [`Error::AxisLength`] if an array has other elements than the shape tells, [`Error::AxisGaps`] if results of
    /// these strides leave gaps and are scattered, and those of [`ColumnScan::run_into`](crate::ColumnScan::run_into).
    pub fn run_into<I, O>(&self, input: I, output: O) -> Result<(), Error>
    where
        I: Sources<<Op::Input as Columns>::Fields>,
        O: Sinks<<Op::Output as Columns>::Fields>,
    {
        // SAFETY: there are no totals.
        unsafe { self.run_all(input, output, ptr::null_mut()) }
    }

    /// Scans arrays into others, and writes the total of each column, as [`AxisScan::run_with_totals`] gives it. Where
    /// outputs are [discarded](crate::arrays::discard), it is a reduction of each column:
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, arrays, ops};
    ///
    /// let (along_columns, mut sums) = (Axis::of(&[2, 3], 0)?, [0; 3]);
    /// let scanner = Scanner::new()?;
    /// let columns = scanner.scan(ops::sum()).axis(along_columns).columns();
    /// columns.run_into_with_totals(&[1, 2, 3, 4, 5, 6], arrays::discard(), &mut sums)?;
    /// assert_eq!(sums, [5, 7, 9]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_into`](AxisColumnScan::run_into), and those of [`AxisScan::run_into_with_totals`].
    pub fn run_into_with_totals<I, O>(&self, input: I, output: O, totals: &mut [Op::Carry]) -> Result<(), Error>
    where
        I: Sources<<Op::Input as Columns>::Fields>,
        O: Sinks<<Op::Output as Columns>::Fields>,
    {
        check_totals(&self.scan.along.axis, totals.len())?;
        // SAFETY: the totals are exclusively borrowed, and as many as the columns.
        unsafe { self.run_all(input, output, totals.as_mut_ptr()) }
    }

    /// # Safety
    ///
    /// `totals` is null, or valid for a write of the total of each column.
    unsafe fn run_all<I, O>(&self, input: I, mut output: O, totals: *mut Op::Carry) -> Result<(), Error>
    where
        I: Sources<<Op::Input as Columns>::Fields>,
        O: Sinks<<Op::Output as Columns>::Fields>,
    {
        let AxisScan { scan, along } = &self.scan;
        let axis = &along.axis;
        let (mut inputs, mut outputs) = (Lengths::of("input"), Lengths::of("output"));
        input.items(&mut |items| inputs.add(items));
        output.items(&mut |items| outputs.add(items));
        let (input_len, output_len) = self.scan.checked_lengths(inputs.len()?, outputs.len()?)?;
        // Scattered results are read when the scan has ended, those in the gaps, too, which nothing writes.
        let in_memory_order = |kind: &ArrayKind| matches!(kind, ArrayKind::Slice | ArrayKind::NoMemory);
        if output_len != axis.len() && !O::KINDS.iter().all(in_memory_order) {
            return Err(Error::AxisGaps { shape: axis.shape().to_vec() });
        }
        let request = scan.call(Totals::per_segment(!totals.is_null())).request;
        let has_values = request.initial == Initial::Each || !totals.is_null();
        let (is_of_rows, memory) = (along.is_of_rows(&request), matches!(scan.scanner.engine(), Engine::Cpu { .. }));
        // Kernels of columns read no indices.
        let lanes = Lanes { len: input_len, memory: memory || !is_of_rows, row: input_len, axis: Some(axis) };
        let input = input.hold(lanes)?;
        let mut output = output.hold(output_len, memory)?;
        let (from, to) = (I::at(&input), O::at(&mut output));
        match is_of_rows {
            // SAFETY: what is held has an item in each array for each element: rows leave no gaps.
            true if has_values => unsafe { scan.run_each_at_columns(from, to, axis.len(), totals)? },
            // SAFETY: as above.
            true => unsafe { scan.run_at_columns(from, to, axis.len(), false) }.map(drop)?,
            false => {
                let places = HostPlaces::in_columns::<Op>(from, to, axis.len());
                let memory = InColumns::<Op> { input: from, output: to };
                // SAFETY: each held array has that many items, those of the output exclusively borrowed; the caller
                // vouches for the totals.
                unsafe { self.scan.run_columns_in(memory, &places, totals)? };
            }
        }
        // SAFETY: the scan has written every item, or the arrays finish without reading items.
        unsafe { O::finish(output) }
    }

    /// What would run on the GPU, as [`AxisScan::plan`] tells it.
    ///
    /// # Errors
    ///
    /// As [`AxisScan::plan`].
    pub fn plan(&self) -> Result<AxisPlan, Error> {
        self.scan.plan()
    }

    /// The CUDA source that would run on the GPU, as [`AxisScan::cuda_source`] gives it.
    ///
    /// # Errors
    ///
    /// As [`AxisScan::plan`].
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        self.scan.cuda_source()
    }
}

impl<Op: ScanOp> AxisScan<'_, Op> {
    /// The lengths of the arrays, which have to hold the elements and the results: those that are told, or what is
    /// needed.
    fn checked_lengths(&self, input: Option<usize>, output: Option<usize>) -> Result<(usize, usize), Error> {
        let (needed, room) = (self.along.axis.input_len(), self.along.axis.output_len());
        let (input, output) = (input.unwrap_or(needed), output.unwrap_or(room));
        check_length(&self.along.axis, "input", input, needed)?;
        check_length(&self.along.axis, "output", output, room)?;
        Ok((input, output))
    }
}
