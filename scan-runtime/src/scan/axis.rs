//! Scans along an axis of an array, of host and of device memory.

use std::{fmt, ptr, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream, sys::CUdeviceptr};
use scan_codegen::{Axis, ColumnLayout, ColumnsPlan, KernelSource, PlanError, Plans, ScanSpec};

mod each;
mod prepared;
mod reduced;
use each::HOST_VALUES;
pub(crate) use each::check_totals;
pub use prepared::DeviceAxisPrepared;
pub use reduced::AxisReduce;

use super::{Also, HostPlaces, HostTotals, Scan};
use crate::{
    DeviceBuffer, DeviceBufferMut, Error, Heads, ScanElement, ScanOp,
    columns::{HostArray, strided::each_place},
    cpu,
    cuda::{CudaDevice, HostMemory, InOut, Places, SideBuffers, bind, named},
    device_scan::{DeviceTotals, Total},
    error::expect_len,
    few::Few,
    generate,
    heads::{InitialValues, check_initial_values},
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
    pub(crate) axis: Axis,
    layout: ColumnLayout,
}

impl<Op: ScanOp> fmt::Debug for AxisScan<'_, Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AxisScan").field("scan", &self.scan).field("axis", &self.axis).finish()
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
        let layout = axis.layout();
        AxisScan { scan: self.with_heads(heads_of(&layout)), axis, layout }
    }
}

/// What the columns are to a scan of rows, if they are rows.
fn heads_of(layout: &ColumnLayout) -> Heads<'static> {
    match layout.is_rows() && layout.columns() > 1 && !layout.is_empty() {
        true => Heads::rows(layout.length() as usize),
        false => Heads::NONE,
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
        if self.layout.is_rows() {
            return Ok(AxisPlan::Rows(self.scan.plan()?));
        }
        Ok(AxisPlan::Columns(self.columns_plan(Also::Nothing)?))
    }

    /// The CUDA source that would run on the GPU, as [`Scan::cuda_source`] has it.
    ///
    /// # Errors
    ///
    /// As [`plan`](AxisScan::plan).
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        if self.layout.is_rows() {
            return self.scan.cuda_source();
        }
        Ok(generate::show_columns(&self.scan.op.source(), &self.columns_plan(Also::Nothing)?)?)
    }

    /// Scans an array. The results are contiguous, unless the axis was given strides of theirs.
    ///
    /// # Errors
    ///
    /// [`Error::AxisLength`] if the array has other elements than its shape tells, [`Error::AxisGaps`] if results of
    /// these strides leave gaps, and those of [`Scan::run`].
    pub fn run(&self, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        let len = self.axis.output_len();
        if len != self.axis.len() {
            return Err(Error::AxisGaps { shape: self.axis.shape().to_vec() });
        }
        check_length(&self.axis, "input", input.len(), self.axis.input_len())?;
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
        check_length(&self.axis, "input", input.len(), self.axis.input_len())?;
        check_length(&self.axis, "output", output.len(), self.axis.output_len())?;
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
        if !self.axis.lies_the_same() {
            return Err(Error::AxisInPlace);
        }
        check_length(&self.axis, "buffer", buffer.len(), self.axis.input_len())?;
        let to = buffer.as_mut_ptr();
        // SAFETY: the buffer, which is exclusively borrowed, holds the array, and each result takes the place of its
        // element.
        unsafe { self.run_at(to.cast_const(), to, ptr::null_mut()) }
    }

    /// The same for device memory, on a stream of yours, as [`Scan::on`] is for a scan.
    pub fn on<'a>(&'a self, stream: &'a Arc<CudaStream>) -> DeviceAxisScan<'a, Op> {
        DeviceAxisScan { scan: self, stream, initial: None, each: false, prepared: None }
    }

    fn columns_plan(&self, also: Also) -> Result<ColumnsPlan, Error> {
        let (operator, limits) = (self.scan.op.source(), self.scan.scanner.limits());
        Ok(generate::plan_columns(&operator, &also.of(self.scan.spec()), &limits, &self.scan.shape())?)
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
        let each = self.has_each(Also::totals(!totals.is_null()));
        match self.is_of_rows(each) {
            // SAFETY: the caller vouches for the memory: rows are contiguous.
            true if each => return unsafe { self.scan.run_each_at(input, output, self.axis.len(), totals) },
            // SAFETY: as above.
            true => return unsafe { self.scan.run_at(input, output, self.axis.len(), false) }.map(drop),
            false => {}
        }
        let places = HostPlaces::of(input, output, self.axis.len());
        // SAFETY: as above.
        unsafe { self.run_columns_in(cpu::Elements { input, output }, &places, totals) }
    }

    /// Whether each column has an initial value or a total of its own.
    pub(crate) fn has_each(&self, also: Also) -> bool {
        also == Also::Totals || self.scan.heads.initial_values.is_some()
    }

    /// Whether columns are rows, which are scanned as such. One alone is no row that has values of its own.
    pub(crate) fn is_of_rows(&self, each: bool) -> bool {
        self.layout.is_rows() && !self.layout.is_empty() && (!each || self.layout.columns() > 1)
    }

    /// An error if there is not one initial value for each column, where each has one.
    fn check_values(&self) -> Result<(), Error> {
        let values = self.scan.initial_values();
        values.map_or(Ok(()), |values| check_initial_values(values.len(), self.axis.columns()))
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
        let also = Also::totals(!totals.is_null());
        self.check_values()?;
        if self.layout.is_empty() {
            self.columns_plan(also)?;
            // SAFETY: the caller vouches for the totals.
            unsafe { self.write_totals_of_nothing(totals)? };
            self.scan.report_all(0);
            return Ok(());
        }
        match self.scan.scanner.engine() {
            Engine::Cpu { .. } => {
                match self.has_each(also) || self.scan.overrides.is_some() {
                    true => self.columns_plan(also).map(drop)?,
                    false => self.scan.check_planned(Also::Nothing)?,
                }
                let _span = tells_of_calls().then(|| computing::<Op>(self.axis.len()));
                let Scan { op, kind, order, initial_value, .. } = &self.scan;
                let initial_values = self.scan.initial_values();
                let values = cpu::ColumnValues {
                    initial_value: *initial_value,
                    initial_values,
                    totals: (!totals.is_null()).then_some(totals),
                };
                // SAFETY: the caller vouches for the memory; the values have been counted.
                unsafe { cpu::scan_columns(op, *kind, *order, values, &self.layout, memory, self.axis.len())? };
                self.scan.report_all(self.axis.len());
                Ok(())
            }
            // SAFETY: as above.
            Engine::Cuda(device) if self.leaves_gaps(places) => unsafe {
                self.run_without_gaps(device, places, totals)
            },
            // SAFETY: as above; every element of the output is a result, or the output is the input.
            Engine::Cuda(device) => unsafe { self.scan.run_columns(device, &self.axis, &self.layout, places, totals) },
        }
    }

    /// Whether there is memory between results that is no element either.
    fn leaves_gaps(&self, places: &HostPlaces) -> bool {
        let has_own_memory = match (places.input.first(), places.output.first()) {
            (Some(input), Some(output)) => input.at != output.at,
            (_, output) => output.is_some(),
        };
        has_own_memory && self.axis.output_len() != self.axis.len()
    }

    /// Scans where results leave gaps: they come back without, and each is put in its place.
    ///
    /// # Safety
    ///
    /// As for [`run_at`](AxisScan::run_at).
    unsafe fn run_without_gaps(
        &self,
        device: &CudaDevice,
        places: &HostPlaces,
        totals: *mut Op::Carry,
    ) -> Result<(), Error> {
        let (shape, (input_strides, output_strides)) = (self.axis.shape(), self.axis.both_strides());
        let dense = Axis::of(shape, self.axis.axis())?.input_strides(input_strides)?;
        let len = dense.len();
        let bytes = |array: &HostArray| room::<Widest>(len.saturating_mul(array.item).div_ceil(size_of::<Widest>()));
        let mut results = places.output.iter().map(bytes).collect::<Result<Vec<_>, _>>()?;
        let dense_array = |(results, array): (&mut Vec<Widest>, &HostArray)| HostArray {
            at: results.as_mut_ptr().cast(),
            item: array.item,
        };
        let output: Few<HostArray> = results.iter_mut().zip(places.output.iter()).map(dense_array).collect();
        let places_of_dense = HostPlaces { input: places.input, output, ..*places };
        // SAFETY: the caller vouches for the input; the vectors have room for the results.
        unsafe { self.scan.run_columns(device, &dense, &dense.layout(), &places_of_dense, totals)? };
        let mut result = 0;
        each_place(shape, [output_strides], |_, [place]| {
            for (HostArray { at: from, item }, to) in output.iter().zip(places.output.iter()) {
                // SAFETY: the kernel has written the results; the caller vouches for the output.
                unsafe { ptr::copy_nonoverlapping(from.add(result * item), to.at.add(place * item), *item) };
            }
            result += 1;
        });
        Ok(())
    }
}

/// Memory of it is aligned for primitives.
type Widest = u128;

impl<Op: ScanOp> Scan<Op, Heads<'_>> {
    /// Copies columns to the device, scans them there, copies the results back, and waits for it.
    ///
    /// # Safety
    ///
    /// As for [`AxisScan::run_at`]; and every element of the output is a result, or the output is the input.
    unsafe fn run_columns(
        &self,
        device: &CudaDevice,
        axis: &Axis,
        layout: &ColumnLayout,
        places: &HostPlaces,
        totals: *mut Op::Carry,
    ) -> Result<(), Error> {
        let also = Also::totals(!totals.is_null());
        let total_bytes = if also == Also::Totals { axis.columns().saturating_mul(size_of::<Op::Carry>()) } else { 0 };
        let places = &HostPlaces { in_place: places.in_place && axis.lies_the_same(), ..*places };
        if let Some(chunks) = self.chunks_of_columns(device, places.element_bytes(), axis)? {
            let totals = HostTotals { also, at: totals.cast(), bytes: total_bytes };
            // SAFETY: the caller vouches for the host memory.
            return unsafe { self.run_in_chunks(device, places, &chunks, totals, 0) };
        }
        let memory = HostMemory {
            initial_values: self.heads.initial_values.map_or(&[][..], InitialValues::bytes),
            total: totals.cast(),
            total_bytes,
            input_len: axis.input_len(),
            output_len: axis.output_len(),
            ..places.memory()
        };
        let enqueue = |stream: &Arc<CudaStream>, at: Places| {
            let buffers = InOut { input: &at.input, output: &at.output, len: axis.len() as u64, columns: Some(layout) };
            let side = SideBuffers { initial: at.initial_values, total: at.total, ..SideBuffers::default() };
            // SAFETY: the buffers hold the array, the results, and what each column has of its own.
            unsafe { self.enqueue(device, stream, places.spec(also.of(self.spec())), buffers, side) }
        };
        // SAFETY: the caller vouches for the host memory; the kernel writes every result.
        unsafe { device.through(&memory, &enqueue) }?;
        self.report_all(axis.len());
        Ok(())
    }
}

/// A scan along an axis of device memory on a stream, made by [`AxisScan::on`].
///
/// Every method enqueues its work on the stream and returns, as those of a [`DeviceScan`](crate::DeviceScan) do.
///
/// ```no_run
/// use scan_runtime::{Axis, Scanner, ops};
///
/// let scanner = Scanner::cuda(0)?;
/// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
/// let matrix = stream.clone_htod(&[1, 2, 3, 4, 5, 6])?;
/// let down = scanner.scan(ops::sum()).axis(Axis::of(&[2, 3], 0)?);
/// let sums = down.on(&stream).run(&matrix)?;
/// assert_eq!(stream.clone_dtoh(&sums)?, [1, 2, 3, 5, 7, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a scan does nothing until it is run"]
pub struct DeviceAxisScan<'a, Op: ScanOp> {
    pub(crate) scan: &'a AxisScan<'a, Op>,
    pub(crate) stream: &'a Arc<CudaStream>,
    /// The initial value, if it is in device memory,
    initial: Option<&'a dyn DeviceBuffer<Op::Carry>>,
    /// and whether that is one for each column.
    each: bool,
    /// The handle whose run it is, if it is one.
    prepared: Option<&'a DeviceAxisPrepared<Op>>,
}

impl<'a, Op: ScanOp> DeviceAxisScan<'a, Op> {
    /// Puts a value before the first element of each column that is in device memory when the scan runs, as
    /// [`DeviceScan::init_from`](crate::DeviceScan::init_from) does.
    pub fn init_from(self, value: &'a impl DeviceBuffer<Op::Carry>) -> Self {
        DeviceAxisScan { initial: Some(value), each: false, ..self }
    }

    /// Scans an array into a new slice. The results are contiguous, unless the axis was given strides of theirs.
    ///
    /// # Errors
    ///
    /// Those of [`AxisScan::run`] and of [`DeviceScan::run`](crate::DeviceScan::run).
    pub fn run(&self, input: &impl DeviceBuffer<Op::Input>) -> Result<CudaSlice<Op::Output>, Error> {
        let axis = &self.scan.axis;
        if axis.output_len() != axis.len() {
            return Err(Error::AxisGaps { shape: axis.shape().to_vec() });
        }
        let device = self.scan.scan.scanner.device_of(self.stream)?;
        check_length(axis, "input", input.len(), axis.input_len())?;
        // SAFETY: every element is a result, and the scan writes it.
        let mut output = unsafe { device.slice::<Op::Output>(self.stream, axis.len())? };
        self.run_into(input, &mut output)?;
        Ok(output)
    }

    /// Scans an array into memory. What lies between the results is left as it is.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceAxisScan::run); gaps are no error.
    pub fn run_into(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        self.run_in(input, output, DeviceTotals::None)
    }

    fn run_in(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
        totals: Total<'_, Op>,
    ) -> Result<(), Error> {
        let device = self.scan.scan.scanner.device_of(self.stream)?;
        device.check_context("input", input.stream())?;
        device.check_context("output", output.stream())?;
        let axis = &self.scan.axis;
        check_length(axis, "input", input.len(), axis.input_len())?;
        check_length(axis, "output", output.len(), axis.output_len())?;
        // The guards record the events by which cudarc orders work on several streams, once the launches are made.
        let (input, _reading) = input.device_ptr(self.stream);
        let (output, _writing) = output.device_ptr_mut(self.stream);
        let spec = self.scan.scan.spec();
        // SAFETY: the buffers are borrowed from live slices, which hold the array and, exclusively, the results.
        unsafe { self.enqueue(device, spec, (&[input], &[output]), None, totals) }
    }

    /// Scans an array in place. What lies between its elements is left as it is.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceAxisScan::run), and [`Error::AxisInPlace`] if the axis was given strides of the results that
    /// differ from those of the elements.
    pub fn run_in_place<T>(&self, buffer: &mut impl DeviceBufferMut<T>) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.run_in_one(buffer, DeviceTotals::None)
    }

    fn run_in_one<T>(&self, buffer: &mut impl DeviceBufferMut<T>, totals: Total<'_, Op>) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        let axis = &self.scan.axis;
        if !axis.lies_the_same() {
            return Err(Error::AxisInPlace);
        }
        let device = self.scan.scan.scanner.device_of(self.stream)?;
        device.check_context("buffer", buffer.stream())?;
        check_length(axis, "buffer", buffer.len(), axis.input_len())?;
        let (buffer, _writing) = buffer.device_ptr_mut(self.stream);
        // SAFETY: the buffer is exclusively borrowed from a live slice, which holds the array; each result takes the
        // place of its element.
        unsafe { self.enqueue(device, self.scan.scan.spec(), (&[buffer], &[buffer]), None, totals) }
    }

    /// An error if a run of device memory would begin with values in host memory.
    fn check_values(&self) -> Result<(), Error> {
        match self.scan.scan.heads.initial_values.is_some() && !self.each {
            true => Err(PlanError::Columns { why: HOST_VALUES }.into()),
            false => Ok(()),
        }
    }

    /// What is asked for, with the initial values that are in device memory.
    fn spec_with(&self, spec: ScanSpec) -> ScanSpec {
        match (self.initial, self.each) {
            (Some(_), true) => spec.with_initial_values(),
            (Some(_), false) => spec.with_initial_value_on_device(),
            (None, _) => spec,
        }
    }

    /// # Safety
    ///
    /// As for [`Kernels::enqueue`](crate::cuda::Kernels::enqueue): the buffers hold the arrays of the input and of the
    /// results, which lie as `spec` says; `own` is the layout where some have strides of their own.
    pub(crate) unsafe fn enqueue(
        &self,
        device: &CudaDevice,
        spec: ScanSpec,
        (input, output): (&[CUdeviceptr], &[CUdeviceptr]),
        own: Option<&ColumnLayout>,
        totals: Total<'_, Op>,
    ) -> Result<(), Error> {
        let AxisScan { scan, axis, layout } = self.scan;
        let also = totals.also();
        self.check_values()?;
        if let Some(value) = self.initial {
            device.check_context("initial value", value.stream())?;
            match self.each {
                true => check_initial_values(value.len(), axis.columns())?,
                false => expect_len("initial value", value.len(), 1, "`init_from` reads one value")?,
            }
        }
        if let DeviceTotals::Each(totals) = &totals {
            device.check_context("totals", totals.stream())?;
            check_totals(axis, totals.len())?;
        }
        if let Some(prepared) = self.prepared {
            prepared.check(self.brings(also))?;
        }
        if layout.is_empty() {
            self.scan.columns_plan(also)?;
            return self.write_totals_of_nothing(totals);
        }
        let initial = self.initial.map(|value| value.device_ptr(self.stream));
        let spec = self.spec_with(spec);
        let totals = totals.buffer().map(|totals| totals.device_ptr_mut(self.stream));
        let side = SideBuffers {
            head_count: scan.heads.head_count(),
            initial: initial.as_ref().map_or(0, |(pointer, _reading)| *pointer),
            total: totals.as_ref().map_or(0, |(pointer, _writing)| *pointer),
            ..SideBuffers::default()
        };
        let is_of_rows = own.is_none() && self.scan.is_of_rows(self.each || also == Also::Totals);
        let columns = if is_of_rows { None } else { Some(own.unwrap_or(layout)) };
        let buffers = InOut { input, output, len: axis.len() as u64, columns };
        let enqueue = || {
            bind(self.stream)?;
            match self.prepared {
                // SAFETY: the caller vouches for the buffers; values and totals have been counted.
                None => unsafe { scan.enqueue(device, self.stream, also.of(spec), buffers, side) },
                // SAFETY: as above.
                Some(prepared) => unsafe { prepared.enqueue(buffers, side) },
            }
        };
        enqueue().map_err(named)
    }
}
