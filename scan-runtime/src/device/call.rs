//! A run over device memory as data: the one path from a call to its launches.

use std::{fmt, sync::Arc};

use cudarc::driver::{CudaStream, result, sys};
use scan_codegen::{ArrayKind, Axis, ColumnLayout};

use super::{
    arrays::{DeviceArray, DeviceArrayMut, ErasedInput, ErasedOutput, Found, Words},
    handle::Handle,
    heads::DeviceHeads,
    work::{DeviceWork, OfNothing},
};
use crate::{
    Error, PlanError,
    arrays::{fields::common_len, strided::check_strided},
    call::{Call, Initial, Layouts, Request, Task, Totals},
    cuda::{CudaDevice, InOut, Runs, SideBuffers, bind, driver_error, named},
    error::expect_len,
    heads::{HeadKind, check_initial_values},
    host::axis::AxisLayout,
    late_value::Late,
    run::Lent,
    telemetry::copied,
};

/// A run over device memory.
#[derive(Clone)]
pub struct DeviceCall<'a> {
    pub(crate) way: Way<'a>,
    /// The array, if the run is along an axis of one.
    pub(crate) axis: Option<Arc<AxisLayout>>,
    pub(crate) initial: DeviceInitial<'a>,
    /// How many elements there are, if that is in device memory.
    pub(crate) len: Option<&'a dyn DeviceArray>,
    pub(crate) heads: DeviceHeads<'a>,
    /// Memory of the caller's for totals or the number of segments.
    pub(crate) extra: Option<(Extra, Lent<'a, dyn DeviceArrayMut + 'a>)>,
}

/// When kernels and constants are made.
#[derive(Clone, Copy)]
#[allow(clippy::large_enum_variant, reason = "a box would be an allocation for each call")]
pub(crate) enum Way<'a> {
    /// At the call.
    Call(Call<'a>, &'a Arc<CudaStream>),
    /// They are in a handle.
    Prepared(&'a Handle),
}

/// The value before the first element, if it is in device memory.
#[derive(Clone, Copy)]
pub(crate) enum DeviceInitial<'a> {
    None,
    One(&'a dyn DeviceArray),
    Late(&'a dyn Late),
    /// One for each segment or column.
    Each(&'a dyn DeviceArray),
}

/// What the caller has memory for.
#[derive(Clone, Copy)]
pub(crate) enum Extra {
    /// The total after the last element.
    Total,
    /// The total of each segment or column.
    EachTotal,
    /// The number of segments.
    Count,
}

/// The output of a run in addition to its results.
pub(crate) enum DeviceTotals<'m> {
    None,
    /// The total of no elements: there is none.
    LastOfNothing,
    /// The total after the last element.
    Last(&'m mut dyn DeviceArrayMut),
    /// The total of each segment or column.
    PerSegment(&'m mut dyn DeviceArrayMut),
    /// The number of segments.
    Count(&'m mut dyn DeviceArrayMut),
}

impl<'m> DeviceTotals<'m> {
    pub(super) fn wanted(&self) -> Totals {
        match self {
            DeviceTotals::None | DeviceTotals::Count(_) => Totals::None,
            DeviceTotals::Last(_) | DeviceTotals::LastOfNothing => Totals::Last,
            DeviceTotals::PerSegment(_) => Totals::PerSegment,
        }
    }

    pub(super) fn array(&self) -> Option<&dyn DeviceArrayMut> {
        match self {
            DeviceTotals::None | DeviceTotals::LastOfNothing => None,
            DeviceTotals::Last(array) | DeviceTotals::PerSegment(array) | DeviceTotals::Count(array) => Some(&**array),
        }
    }

    pub(super) fn into_array(self) -> Option<&'m mut dyn DeviceArrayMut> {
        match self {
            DeviceTotals::None | DeviceTotals::LastOfNothing => None,
            DeviceTotals::Last(array) | DeviceTotals::PerSegment(array) | DeviceTotals::Count(array) => Some(array),
        }
    }
}

const NO_LENGTH: &str = "its array says how many elements there are: scan without `len_from`";

const NO_LAST_TOTAL: &str = "it has a total for each column: ask for those `.with_totals()`";

impl<'a> DeviceCall<'a> {
    pub(crate) fn new(call: Call<'a>, stream: &'a Arc<CudaStream>) -> Self {
        DeviceCall::of(Way::Call(call, stream))
    }

    /// A run of a handle.
    pub(crate) fn of_handle(handle: &'a Handle) -> Self {
        let call = DeviceCall::of(Way::Prepared(handle));
        match &handle.axis {
            Some(axis) => call.along_layout(axis.clone()),
            None => call,
        }
    }

    fn of(way: Way<'a>) -> Self {
        let (initial, heads) = (DeviceInitial::None, DeviceHeads::NONE);
        DeviceCall { way, axis: None, initial, len: None, heads, extra: None }
    }

    pub(crate) fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match self.way {
            Way::Call(call, _) => call.op.source().name,
            Way::Prepared(handle) => handle.operator.clone(),
        };
        let request = self.request(Totals::None, Layouts::default());
        let mut run = f.debug_struct(if request.reduction.is_some() { "Reduce" } else { "Scan" });
        run.field("operator", &operator);
        run.field("scan", &format_args!("{}", request.spec())).finish_non_exhaustive()
    }

    /// The same along an axis.
    pub(crate) fn along(self, axis: Axis) -> Self {
        self.along_layout(Arc::new(AxisLayout::new(axis)))
    }

    pub(super) fn along_layout(self, axis: Arc<AxisLayout>) -> Self {
        let heads = axis.row().map_or(DeviceHeads::NONE, DeviceHeads::rows);
        DeviceCall { axis: Some(axis), heads, ..self }
    }

    pub(crate) fn stream(&self) -> &'a Arc<CudaStream> {
        match self.way {
            Way::Call(_, stream) => stream,
            Way::Prepared(handle) => &handle.stream,
        }
    }

    pub(crate) fn device(&self) -> Result<&'a CudaDevice, Error> {
        let scanner = match self.way {
            Way::Call(call, _) => call.scanner,
            Way::Prepared(handle) => &handle.scanner,
        };
        scanner.device_of(self.stream())
    }

    /// The request of the scan, with the segments and values in device memory.
    pub(super) fn request(&self, totals: Totals, layouts: Layouts) -> Request {
        let (request, initial) = match self.way {
            Way::Call(call, _) => (call.request, call.initial_value.is_some()),
            Way::Prepared(handle) => (handle.request, handle.has_initial_value),
        };
        let initial = match self.initial {
            DeviceInitial::None if initial => Initial::Value,
            DeviceInitial::None => Initial::None,
            DeviceInitial::One(_) => Initial::OnDevice,
            DeviceInitial::Late(_) => Initial::Late,
            DeviceInitial::Each(_) => Initial::Each,
        };
        let (heads, len_on_device) = (self.heads.kind, self.len.is_some());
        Request { heads, initial, totals, len_on_device, layouts, ..request }
    }

    fn reduces(&self) -> bool {
        self.request(Totals::None, Layouts::default()).reduction.is_some()
    }

    /// How many results a reduction has.
    pub(crate) fn results(&self, len: usize) -> Result<usize, Error> {
        self.heads.segments(len).ok_or(Error::UnknownSegments { heads: self.heads.kind.name() })
    }

    /// Whether there is an initial value of any kind.
    pub(crate) fn has_initial(&self) -> bool {
        self.request(Totals::None, Layouts::default()).initial != Initial::None
    }

    /// Prepares runs like this one.
    pub(crate) fn prepare(&self, totals: Totals, max_len: usize) -> Result<Handle, Error> {
        self.prepare_as(self.request(self.wanted(totals), Layouts::default()), max_len)
    }

    /// Prepares runs over arrays of the same kinds as these.
    pub(crate) fn prepare_like(
        &self,
        input: &dyn ErasedInput,
        output: &dyn ErasedOutput,
        totals: Totals,
        max_len: usize,
    ) -> Result<Handle, Error> {
        let (mut inputs, mut outputs) = (Found::of("input"), Found::of("output"));
        input.describe(&mut |array| inputs.add_kind(array.kind));
        output.describe(&mut |array| outputs.add_kind(array.kind));
        let layouts = Layouts { input: (input.arrays(), inputs.kinds()), output: (output.arrays(), outputs.kinds()) };
        self.prepare_as(self.request(self.wanted(totals), layouts), max_len)
    }

    fn prepare_as(&self, request: Request, max_len: usize) -> Result<Handle, Error> {
        if request.includes_initial {
            return self.prepare_with_initial(request, max_len);
        }
        self.prepare_part(request, max_len)
    }

    /// Prepares one scan or reduction.
    pub(super) fn prepare_part(&self, request: Request, max_len: usize) -> Result<Handle, Error> {
        let Way::Call(call, stream) = self.way else { return Err(Error::AlreadyPrepared) };
        let call = Call { request: self.reducible(request, max_len)?, ..call };
        let of_nothing = if OfNothing::is_needed(&call) { self.results_of_nothing() } else { 0 };
        Handle::new(&call, self.axis.as_ref(), stream, max_len, of_nothing)
    }

    /// The totals that a run gives, which the caller asks for or has memory for.
    fn wanted(&self, asked: Totals) -> Totals {
        match (asked, &self.extra) {
            (Totals::None, Some((Extra::Total, _))) => Totals::Last,
            (Totals::None, Some((Extra::EachTotal, _))) => Totals::PerSegment,
            _ => asked,
        }
    }

    /// What the caller has memory for.
    pub(crate) fn extra(&self) -> DeviceTotals<'_> {
        let Some((extra, memory)) = &self.extra else { return DeviceTotals::None };
        // SAFETY: no other run uses it: the one that asks for it ends before another one begins.
        let memory = unsafe { memory.memory() };
        match extra {
            Extra::Total => DeviceTotals::Last(memory),
            Extra::EachTotal => DeviceTotals::PerSegment(memory),
            Extra::Count => DeviceTotals::Count(memory),
        }
    }

    /// Whether it is a reduction of columns that are no rows.
    fn reduces_columns(&self, request: &Request) -> bool {
        let has_strides = || request.layouts.input.1.any(|kind| kind == ArrayKind::Strided);
        let is_of_columns = |axis: &Arc<AxisLayout>| !axis.is_of_rows(request) || has_strides();
        request.reduction.is_some() && self.axis.as_ref().is_some_and(is_of_columns)
    }

    /// The request of `len` elements as kernels can do it.
    fn reducible(&self, request: Request, len: usize) -> Result<Request, Error> {
        if request.reduction.is_none() || self.reduces_columns(&request) {
            return Ok(request);
        }
        let totals_are_results = match self.way {
            Way::Call(call, _) => self.device()?.totals_are_results(call.op),
            Way::Prepared(handle) => handle.totals_are_results,
        };
        Ok(request.by_rows(len, totals_are_results))
    }

    /// How many results a reduction has of no elements; 0 where kernels write them in any case.
    fn results_of_nothing(&self) -> usize {
        match (self.axis.as_deref(), self.heads.kind) {
            (Some(AxisLayout { axis, .. }), _) if axis.layout().is_empty() => axis.columns(),
            (None, HeadKind::None) => 1,
            _ => 0,
        }
    }

    /// Every run over device memory comes through here; without an input, in place. All that the host knows is checked
    /// before anything is enqueued.
    pub(crate) fn run(
        &self,
        input: Option<&dyn ErasedInput>,
        output: &mut dyn ErasedOutput,
        totals: DeviceTotals<'_>,
    ) -> Result<(), Error> {
        match self.includes_initial() {
            true => self.run_with_initial(input, output, totals),
            false => self.run_part(input, output, totals),
        }
    }

    /// Whether results include the initial value.
    pub(super) fn includes_initial(&self) -> bool {
        self.request(Totals::None, Layouts::default()).includes_initial
    }

    /// Enqueues one scan or reduction.
    pub(super) fn run_part(
        &self,
        input: Option<&dyn ErasedInput>,
        output: &mut dyn ErasedOutput,
        totals: DeviceTotals<'_>,
    ) -> Result<(), Error> {
        let device = self.device()?;
        let in_place = input.is_none();
        let mut inputs = Found::of("input");
        if let Some(input) = input {
            input.describe(&mut |array| inputs.add(device, array));
        }
        let in_len = inputs.len()?;
        let (out_len, out_kinds) = {
            let mut outputs = Found::of(if in_place { "buffer" } else { "output" });
            output.describe(&mut |array| outputs.add(device, array));
            (outputs.len()?, outputs.kinds())
        };
        let in_len = if in_place { out_len } else { in_len };
        let arrays = input.map_or(output.arrays(), ErasedInput::arrays);
        let layouts = Layouts { input: (arrays, inputs.kinds()), output: (output.arrays(), out_kinds) };
        let mut request = self.reducible(self.request(totals.wanted(), layouts), in_len.unwrap_or_default())?;
        let (len, results) = self.check_arrays(in_len, out_len, in_place, &totals)?;
        inputs.check_bits(len)?;
        self.check(device, &request, len, &totals)?;
        if self.is_without_elements(&request, len, results) {
            return self.write_nothing(&request, output, totals, results);
        }
        if let Some(array) = inputs.empty {
            return Err(Error::NothingToGather { array });
        }
        let own = self.own_layout(&inputs.strided)?;
        if own.is_some() {
            // Rows whose arrays are strided in different ways are scanned as columns.
            request.heads = HeadKind::None;
        }
        // The guards record the events by which cudarc orders work on several streams, once the launches are made.
        let (stream, row) = (self.stream(), self.row());
        // Results of reductions do not lie as the axis says.
        let [first, first_result] = match self.axis.as_deref() {
            Some(along) if request.reduction.is_some() => [along.layout().firsts()[0], 0],
            along => along.map_or([0; 2], |along| along.layout().firsts()),
        };
        let mut reading = Words::new(row, own.as_ref()).with_first(first);
        let mut writing = Words::new(None, None).with_first(first_result);
        if let Some(input) = input {
            input.words(stream, &mut reading);
        }
        output.words(stream, &mut writing);
        let totals = totals.into_array().map(|totals| totals.pointer(stream));
        let total = totals.as_ref().map_or(0, |(pointer, _writing)| *pointer);
        let axis = self.axis.as_ref().filter(|axis| !axis.is_of_rows(&request));
        let columns = own.as_ref().or(axis.map(|axis| axis.layout()));
        let read = if in_place { writing.words() } else { reading.words() };
        let buffers = InOut { input: read, output: writing.words(), len: len as u64, columns };
        // SAFETY: the buffers are borrowed from live slices, which have been checked: of `len` items, of the array
        // along the axis, of as many indices or bits, or of as many items as indices can select. Those of the output
        // are borrowed exclusively, so that none overlaps another one, unless there is no input. They are those of
        // the request.
        unsafe { self.enqueue(device, request, buffers, results as u64, total) }
    }

    /// Checks the lengths of the arrays; gives the number of elements, and for how many results there is room.
    fn check_arrays(
        &self,
        input: Option<usize>,
        output: Option<usize>,
        in_place: bool,
        totals: &DeviceTotals<'_>,
    ) -> Result<(usize, usize), Error> {
        if let Some(along) = self.axis.as_deref() {
            let axis = &along.axis;
            if in_place && !axis.lies_the_same() {
                return Err(Error::AxisInPlace);
            }
            let (needed, room) = (axis.input_len(), axis.output_len());
            along.check_length(if in_place { "buffer" } else { "input" }, input.unwrap_or(needed), needed)?;
            if self.reduces() {
                let why = "a reduction writes one result for each column";
                expect_len("output", output.unwrap_or(axis.columns()), axis.columns(), why)?;
                return Ok((axis.len(), axis.columns()));
            }
            if !in_place {
                along.check_length("output", output.unwrap_or(room), room)?;
            }
            return Ok((axis.len(), axis.len()));
        }
        if !self.reduces() {
            let len = common_len(input, output)?;
            return Ok((len, len));
        }
        let Some(len) = input else { return Err(Error::UnknownLength) };
        match totals {
            DeviceTotals::Count(_) => match self.heads.segments(len) {
                Some(segments) => Err(Error::KnownSegments { segments }),
                None => Ok((len, output.unwrap_or(len))),
            },
            _ => {
                let (results, why) = (self.results(len)?, "a reduction writes one result, or one for each segment");
                expect_len("output", output.unwrap_or(results), results, why)?;
                Ok((len, results))
            }
        }
    }

    /// Checks all but the arrays: contexts, lengths, and what a handle was prepared for.
    fn check(
        &self,
        device: &CudaDevice,
        request: &Request,
        len: usize,
        totals: &DeviceTotals<'_>,
    ) -> Result<(), Error> {
        self.heads.streams().try_for_each(|stream| device.check_context("heads", stream))?;
        let what = if matches!(totals, DeviceTotals::Count(_)) { "count" } else { "total" };
        if let Some(array) = totals.array() {
            device.check_context(what, array.stream())?;
        }
        if let DeviceInitial::One(value) | DeviceInitial::Each(value) = self.initial {
            device.check_context("initial value", value.stream())?;
        }
        match self.initial {
            DeviceInitial::One(value) => {
                expect_len("initial value", value.count(), 1, "`init_from` reads one value")?;
            }
            DeviceInitial::Late(late) if !late.is_for(self.stream()) => return Err(Error::LateValueStream),
            DeviceInitial::Late(_) if len == 0 => return Err(Error::LateValueOfNothing),
            _ => {}
        }
        if let Some(len) = self.len {
            device.check_context("length", len.stream())?;
            expect_len("length", len.count(), 1, "`len_from` reads one number")?;
        }
        if self.axis.is_none() {
            self.heads.check(len)?;
        }
        if let DeviceInitial::Each(values) = self.initial {
            check_initial_values(values.count(), self.per_segment(len)?)?;
        }
        if self.axis.is_some() && self.len.is_some() {
            return Err(PlanError::Columns { why: NO_LENGTH }.into());
        }
        match (self.axis.as_deref(), totals.array(), request.totals) {
            (_, None, _) => {}
            (Some(along), Some(array), Totals::Last) if request.includes_initial && along.is_one_row() => {
                expect_len("total", array.count(), 1, "there is one total")?;
            }
            (Some(_), _, Totals::Last) => return Err(PlanError::Columns { why: NO_LAST_TOTAL }.into()),
            (Some(AxisLayout { axis, .. }), Some(array), _) => {
                expect_len("totals", array.count(), axis.columns(), "there is one total for each column")?;
            }
            (None, Some(array), wanted) => {
                let expected = if wanted == Totals::PerSegment { self.per_segment(len)? } else { 1 };
                expect_len("total", array.count(), expected, "there is one total, or one for each segment")?;
            }
        }
        match self.way {
            Way::Prepared(handle) => handle.check(request, len),
            Way::Call(..) => Ok(()),
        }
    }

    /// Whether there is nothing to launch.
    fn is_without_elements(&self, request: &Request, len: usize, results: usize) -> bool {
        match (&self.axis, request.reduction) {
            (Some(axis), _) => axis.layout().is_empty(),
            (None, None) => len == 0,
            // Any segment may be empty; where kernels count them, they do so in any case.
            (None, Some(_)) => match self.heads.kind {
                HeadKind::None => len == 0,
                HeadKind::Rows { .. } | HeadKind::Offsets(_) | HeadKind::Ranges(_) => results == 0,
                HeadKind::Flags | HeadKind::Bits(_) | HeadKind::Keys { .. } => false,
            },
        }
    }

    /// How arrays are strided, where some have strides of their own.
    fn own_layout(&self, strided: &[(usize, usize, &[isize])]) -> Result<Option<ColumnLayout>, Error> {
        let Some(AxisLayout { axis, .. }) = self.axis.as_deref() else { return Ok(None) };
        for &(array, found, strides) in strided {
            check_strided(array, axis, strides, found)?;
        }
        let own: Vec<_> = strided.iter().map(|(.., strides)| *strides).collect();
        Ok((!own.is_empty()).then(|| axis.layout_with(&own)))
    }

    /// Elements of a row or column, if there are some.
    fn row(&self) -> Option<usize> {
        match (self.axis.as_deref(), self.heads.kind) {
            (Some(AxisLayout { axis, .. }), _) => Some(axis.shape()[axis.axis()]),
            (None, HeadKind::Rows { len }) => Some(len),
            (None, _) => None,
        }
    }

    /// Enqueues a run. `results` is how many the output has room for, `total` where totals or the number of segments
    /// go, or 0.
    ///
    /// # Safety
    ///
    /// As for [`DeviceWork::enqueue`], but for what this call brings itself; and `total` is valid for a write.
    unsafe fn enqueue(
        &self,
        device: &CudaDevice,
        request: Request,
        buffers: InOut<'_>,
        results: u64,
        total: sys::CUdeviceptr,
    ) -> Result<(), Error> {
        let (stream, len) = (self.stream(), buffers.len as usize);
        let (heads, _reading_heads) = self.heads.pointer(stream)?;
        let (range_ends, _reading_ends) = self.heads.ends(stream);
        let len_on_device = self.len.map(|len| len.pointer(stream));
        let mut taking = None;
        let (initial, _reading_initial) = match self.initial {
            DeviceInitial::None => (0, None),
            DeviceInitial::One(value) | DeviceInitial::Each(value) => {
                let (pointer, reading) = value.pointer(stream);
                (pointer, Some(reading))
            }
            // Scans that take a value are enqueued one after the other, each with what says that it has been taken.
            DeviceInitial::Late(late) => {
                let (taken, pointer) = late.begin_scan();
                taking = Some((late, taken));
                (pointer, None)
            }
        };
        let side = SideBuffers {
            len: len_on_device.as_ref().map_or(0, |(pointer, _reading)| *pointer),
            heads,
            range_ends,
            head_count: match request.heads {
                HeadKind::Rows { len } => len as u64,
                _ => self.heads.head_count(),
            },
            initial,
            total,
        };
        let enqueue = || {
            bind(stream)?;
            match self.way {
                // SAFETY: the caller vouches for the buffers; what the call brings is borrowed from live slices, whose
                // lengths have been checked.
                Way::Prepared(handle) => unsafe { handle.work.enqueue(stream, side, buffers, results) }?,
                Way::Call(call, _) => {
                    let call = Call { request, ..call };
                    let work = match buffers.columns {
                        Some(layout) => {
                            let addresses = (buffers.input, buffers.output);
                            DeviceWork::along_axis(&call, device, stream, layout, Some(addresses))?
                        }
                        None => DeviceWork::new(&call, device, stream, Runs::Once(len), || call.result_of_nothing())?,
                    };
                    // SAFETY: as above.
                    unsafe { work.enqueue(stream, side, buffers, results) }?;
                }
            }
            taking.map_or(Ok(()), |(late, taken)| late.end_scan(taken))
        };
        enqueue().map_err(named)
    }

    /// Writes the totals of no elements, or the result of a reduction.
    fn write_nothing(
        &self,
        request: &Request,
        output: &mut dyn ErasedOutput,
        totals: DeviceTotals<'_>,
        results: usize,
    ) -> Result<(), Error> {
        let stream = self.stream();
        self.check_plan(request)?;
        if request.reduction.is_none() {
            return totals.into_array().map_or(Ok(()), |totals| self.write_totals_of_nothing(totals));
        }
        if results == 0 {
            return Ok(());
        }
        let mut writing = Words::new(None, None);
        output.words(stream, &mut writing);
        if request.layouts.output != Layouts::default().output || request.initial == Initial::Each {
            // SAFETY: as below.
            return unsafe { self.write_results_of_nothing(request, writing.words(), results) };
        }
        let of_nothing = |call: &Call<'_>| call.result_of_nothing();
        // SAFETY: the output has room for so many results.
        unsafe {
            self.write_bytes(of_nothing, |handle| handle.result_of_nothing.as_deref(), writing.words()[0], results)
        }
    }

    /// Writes the results of segments without elements by a kernel.
    ///
    /// # Safety
    ///
    /// The output has room for `results`.
    pub(super) unsafe fn write_results_of_nothing(
        &self,
        request: &Request,
        output: &[u64],
        results: usize,
    ) -> Result<(), Error> {
        let (stream, device) = (self.stream(), self.device()?);
        let values = match self.initial {
            DeviceInitial::Each(values) => Some(values.pointer(stream)),
            _ => None,
        };
        let initial = values.as_ref().map_or(0, |(pointer, _reading)| *pointer);
        bind(stream)?;
        // SAFETY: the caller vouches for the output; there is an initial value for each column, as has been checked.
        let enqueue = |work: &OfNothing| unsafe { work.enqueue(stream, initial, output, results as u64) };
        match self.way {
            Way::Call(call, _) => {
                let call = Call { request: *request, ..call };
                enqueue(&OfNothing::new(&call, device, stream, Runs::Once(results))?).map_err(named)
            }
            Way::Prepared(handle) => {
                let nothing = || PlanError::NoElements { operator: handle.operator.clone() };
                enqueue(handle.nothing.as_ref().ok_or_else(nothing)?).map_err(named)
            }
        }
    }

    /// Writes the totals of no elements: what they begin with.
    pub(crate) fn write_totals_of_nothing(&self, totals: &mut dyn DeviceArrayMut) -> Result<(), Error> {
        let (stream, count) = (self.stream(), totals.count());
        if count == 0 {
            return Ok(());
        }
        let (DeviceInitial::One(values) | DeviceInitial::Each(values)) = self.initial else {
            let (to, _writing) = totals.pointer(stream);
            let of_nothing = |call: &Call<'_>| call.total_of_nothing();
            // SAFETY: there is room for so many totals.
            return unsafe { self.write_bytes(of_nothing, |handle| handle.total_of_nothing.as_deref(), to, count) };
        };
        bind(stream)?;
        let carry_bytes = match self.way {
            Way::Call(call, _) => call.op.carry_bytes(),
            Way::Prepared(handle) => handle.carry_bytes,
        };
        let bytes = values.count() * carry_bytes;
        let ((from, _reading), (to, _writing)) = (values.pointer(stream), totals.pointer(stream));
        // SAFETY: the totals are as many as the values, or there is one value, as has been checked, and the guards keep
        // both until the copies are enqueued.
        unsafe {
            result::memcpy_dtod_async(to, from, bytes, stream.cu_stream())
                .map_err(driver_error("copying on the device"))?;
            repeat(stream, to, bytes, count * carry_bytes)
        }
    }

    /// Writes a value so many times: `of_nothing` as it is now, or as a handle has kept it.
    ///
    /// # Safety
    ///
    /// There is room for it, once at least.
    pub(super) unsafe fn write_bytes(
        &self,
        of_nothing: impl FnOnce(&Call<'_>) -> Result<Vec<u8>, Error>,
        kept: impl FnOnce(&'a Handle) -> Option<&'a [u8]>,
        to: sys::CUdeviceptr,
        count: usize,
    ) -> Result<(), Error> {
        let stream = self.stream();
        let made;
        let value = match self.way {
            Way::Call(call, _) => {
                self.device()?.refuse_capture(stream)?;
                made = of_nothing(&call)?;
                &made
            }
            Way::Prepared(handle) => {
                kept(handle).ok_or_else(|| PlanError::NoElements { operator: handle.operator.clone() })?
            }
        };
        bind(stream)?;
        // SAFETY: the caller vouches for the memory. The value is copied before the call returns, or, where the copy is
        // captured, stays as long as the handle.
        unsafe {
            result::memcpy_htod_async(to, value, stream.cu_stream()).map_err(driver_error("copying to the device"))?;
            copied(value.len());
            repeat(stream, to, value.len(), count * value.len())
        }
    }

    /// An error where the planner refuses what a call asks for.
    fn check_plan(&self, request: &Request) -> Result<(), Error> {
        let Way::Call(call, _) = self.way else { return Ok(()) };
        match self.axis {
            Some(_) => call.check_task(&Task::Columns(request.scanned(true).spec(), call.shape())),
            None => Call { request: *request, ..call }.check(),
        }
    }

    /// The length of an input.
    pub(crate) fn len_of(&self, input: &dyn ErasedInput) -> Result<usize, Error> {
        if let Some(along) = self.axis.as_deref() {
            return Ok(along.axis.len());
        }
        let mut inputs = Found::of("input");
        let device = self.device()?;
        input.describe(&mut |array| inputs.add(device, array));
        inputs.len()?.ok_or(Error::UnknownLength)
    }

    /// Checks an input, and gives how many results a new output has.
    pub(crate) fn new_len(&self, input: &dyn ErasedInput) -> Result<usize, Error> {
        let mut inputs = Found::of("input");
        let device = self.device()?;
        input.describe(&mut |array| inputs.add(device, array));
        let found = inputs.len()?;
        if self.len.is_some() {
            return Err(Error::LengthOnDevice);
        }
        if self.includes_initial() {
            return self.new_len_with_initial(found);
        }
        if let Some(along) = self.axis.as_deref() {
            let (axis, reduces) = (&along.axis, self.reduces());
            if axis.output_len() != axis.len() && !reduces {
                return Err(along.gaps());
            }
            let needed = axis.input_len();
            along.check_length("input", found.unwrap_or(needed), needed)?;
            return Ok(if reduces { axis.columns() } else { axis.len() });
        }
        let len = found.ok_or(Error::UnknownLength)?;
        self.heads.check(len)?;
        if self.reduces() { self.results(len) } else { Ok(len) }
    }

    /// How many segments there are, each of which has a total.
    pub(crate) fn per_segment(&self, len: usize) -> Result<usize, Error> {
        match self.axis.as_deref() {
            Some(AxisLayout { axis, .. }) => Ok(axis.columns()),
            None => self.heads.check_each(len),
        }
    }
}

/// Repeats the first `written` bytes of device memory up to `bytes`, in copies that double.
///
/// # Safety
///
/// There are so many bytes, of which work of this stream writes the first `written`.
unsafe fn repeat(stream: &CudaStream, to: sys::CUdeviceptr, written: usize, bytes: usize) -> Result<(), Error> {
    let mut written = written;
    while 0 < written && written < bytes {
        let next = written.min(bytes - written);
        // SAFETY: both are within the bytes, and the copy does not overlap what it reads.
        unsafe { result::memcpy_dtod_async(to + written as u64, to, next, stream.cu_stream()) }
            .map_err(driver_error("copying on the device"))?;
        written += next;
    }
    Ok(())
}
