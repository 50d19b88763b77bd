//! A run over host memory as data: the one path from a call to the CPU backend or to the device.

use std::{fmt, ptr, sync::Arc};

use scan_codegen::{ArrayKind, ArrayKinds, OutputsOf, PlanError, ScanKind};

use super::{
    axis::{AxisLayout, CallAxis},
    cost::{Cost, Kernels, bytes, is_for_device},
    handle::HostHandle,
    watch::Watch,
};
#[cfg(feature = "cuda")]
use crate::call::HostTotals;
use crate::{
    Error, Host, Results, ScanElement, ScanOp,
    arrays::{
        HostInput, HostOutput, Lanes, Layout, Never, Shape,
        fields::{Lengths, common_len},
    },
    call::{
        Call, Layouts, Totals,
        with_initial::{IN_PLACE, refused},
    },
    cpu::{self, Both, Memory, Reader},
    error::expect_len,
    heads::{HeadKind, Heads},
    room::room,
    run::{Along, AxisOf, Buffer, Lent, NewResults, Place},
    scan::Options,
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

/// A run over host memory: what the scan or reduction is, and what the call brings.
pub struct HostCall<'a, Op: ScanOp> {
    pub(crate) options: &'a Options<Op>,
    /// The segments, and the initial value of each.
    pub(crate) heads: Heads<'a>,
    /// The axis, if the run is along one of an array.
    pub(crate) along: CallAxis,
    /// Where the total, or that of each segment, goes, if that is memory of the caller's.
    pub(crate) totals: Option<(Totals, Lent<'a, [Op::Carry]>)>,
    /// The handle, if it is a run of one.
    pub(crate) prepared: Option<&'a HostHandle<Op>>,
}

impl<Op: ScanOp> Clone for HostCall<'_, Op> {
    fn clone(&self) -> Self {
        HostCall { along: self.along.clone(), ..*self }
    }
}

impl<'a, Op: ScanOp> HostCall<'a, Op> {
    #[inline(always)]
    pub(crate) fn new(options: &'a Options<Op>) -> Self {
        HostCall { options, heads: Heads::NONE, along: CallAxis::None, totals: None, prepared: None }
    }

    /// The last choice of segments counts.
    #[inline]
    pub(crate) fn with_heads(self, heads: Heads<'a>) -> Self {
        let mut call = HostCall { along: CallAxis::None, ..self };
        (call.heads, call.heads.initial_values) = (heads, self.heads.initial_values);
        call
    }

    pub(crate) fn along(self, Along(axis): Along) -> Self {
        match axis {
            AxisOf::Shape(axis) => self.along_layout(Arc::new(AxisLayout::new(axis))),
            AxisOf::Arrays(axis) => HostCall { along: CallAxis::OfArrays(axis), ..self.with_heads(Heads::NONE) },
        }
    }

    pub(super) fn along_layout(self, along: Arc<AxisLayout>) -> Self {
        let call = self.with_heads(along.row().map_or(Heads::NONE, Heads::rows));
        HostCall { along: CallAxis::Known(along), ..call }
    }

    pub(crate) fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { op, scanner, reduction, .. } = self.options;
        let mut scan = f.debug_struct(if reduction.is_some() { "Reduce" } else { "Scan" });
        scan.field("operator", &op.source().name);
        scan.field("scan", &format_args!("{}", self.call(Totals::None).spec()));
        match &self.along {
            CallAxis::Known(along) => _ = scan.field("axis", &along.axis),
            CallAxis::OfArrays(axis) => _ = scan.field("axis", axis),
            CallAxis::None => {}
        }
        scan.field("backend", &format_args!("{}", scanner.backend())).finish_non_exhaustive()
    }

    /// The call without types, with these totals.
    pub(crate) fn call(&self, totals: Totals) -> Call<'_> {
        self.options.call(self.heads, self.along.known().map(|along| &**along), totals)
    }

    /// The scan that a device does of such arrays. A reduction of rows or columns, or of other arrays than a slice,
    /// takes its totals.
    pub(super) fn scan_call(&self, totals: Totals, layouts: Layouts) -> Call<'_> {
        let mut call = self.call(totals).over(layouts);
        call.request.reduction = None;
        call
    }

    /// The totals that a run gives, which the caller asks for or has a place for.
    pub(crate) fn wanted(&self, asked: Totals) -> Totals {
        match (asked, &self.totals) {
            (Totals::None, Some((totals, _))) => *totals,
            _ => asked,
        }
    }

    /// The initial value of each segment, if each has one.
    pub(super) fn initial_values(&self) -> Option<&[Op::Carry]> {
        // SAFETY: heads are given initial values by a call of their carries, which keeps its heads and its operator.
        self.heads.initial_values.map(|values| unsafe { values.values() })
    }

    /// An error if a handle was not prepared for such a run, of `len` elements.
    #[inline]
    pub(super) fn check_prepared(&self, len: usize, totals: Totals) -> Result<(), Error> {
        match self.prepared {
            None => Ok(()),
            Some(handle) => handle.check(&self.call(totals).request, len),
        }
    }

    /// Runs on the CPU over `len` elements, and counts those that are done if the caller wants to know.
    #[inline]
    pub(super) fn watched<T>(
        &self,
        len: usize,
        run: impl FnOnce(Option<&Watch<'_>>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match &self.options.progress {
            None => run(None),
            Some(progress) => {
                let watch = Watch::new::<Op>(progress, len);
                let result = run(Some(&watch));
                watch.end(result)
            }
        }
    }
}

/// Which totals a run gives, and where they go.
#[derive(Clone, Copy)]
pub(super) enum Wants<C> {
    Nothing,
    /// The last total.
    Last,
    /// The total of each segment or column. There is room for all of them.
    PerSegment(*mut C),
}

impl<C> Wants<C> {
    pub(super) fn totals(&self) -> Totals {
        match self {
            Wants::Nothing => Totals::None,
            Wants::Last => Totals::Last,
            Wants::PerSegment(_) => Totals::PerSegment,
        }
    }

    pub(super) fn pointer(&self) -> *mut C {
        match *self {
            Wants::PerSegment(totals) => totals,
            Wants::Nothing | Wants::Last => ptr::null_mut(),
        }
    }
}

/// Elements that are scanned at a time where results are held before they are moved: few enough to stay in a cache,
/// and enough to be worth waking threads.
const PART: usize = 1 << 17;

/// The lengths of a run.
#[derive(Clone, Copy)]
struct Extent {
    /// Items of each array of the input,
    input: usize,
    /// and of the output.
    output: usize,
    /// Elements that are scanned.
    len: usize,
}

/// Whether results go where they are written.
pub(super) fn in_memory_order(kind: &ArrayKind) -> bool {
    matches!(kind, ArrayKind::Slice | ArrayKind::NoMemory)
}

/// Whether a buffer has a shape.
fn is_shaped<T: ScanElement, B: Buffer<T, Host> + ?Sized>(_: &B) -> bool {
    B::SHAPED
}

/// In how many arrays an input and an output are. Host memory is given to kernels as slices.
pub(super) fn arrays<Op: ScanOp, I: HostInput<Op::Input>, O: HostOutput<Op::Output>>() -> Layouts {
    Layouts { input: (I::Layout::ARRAYS, ArrayKinds::default()), output: (O::Layout::ARRAYS, ArrayKinds::default()) }
}

/// The same with the kinds of the arrays.
pub(super) fn layouts<Op: ScanOp, I: HostInput<Op::Input>, O: HostOutput<Op::Output>>() -> Layouts {
    let kinds = [I::KINDS, O::KINDS].map(|kinds| ArrayKinds::new(kinds.iter().copied()));
    Layouts { input: (I::Layout::ARRAYS, kinds[0]), output: (O::Layout::ARRAYS, kinds[1]) }
}

impl<Op: ScanOp> HostCall<'_, Op> {
    /// What the planner refuses on the GPU is refused on the CPU as well.
    #[inline]
    pub(crate) fn check_planned(&self, totals: Totals) -> Result<(), Error> {
        let heads = &self.heads;
        // A segment between offsets may be empty.
        let of_nothing = totals == Totals::PerSegment && matches!(heads.kind, HeadKind::Offsets(_));
        let begins = self.options.initial_value.is_some() || heads.initial_values.is_some();
        let Options { kind, reduction, overrides, op, .. } = self.options;
        let exclusive = *kind == ScanKind::Exclusive;
        let outputs_of = match (exclusive, reduction) {
            (true, _) => OutputsOf::Prefixes,
            (false, Some(_)) => OutputsOf::Totals,
            (false, None) => OutputsOf::Inputs,
        };
        let needs = cpu::Needs { identity: (exclusive || of_nothing) && !begins, outputs_of };
        let surely = || overrides.is_none() && cpu::surely_planned(&**op, heads, needs);
        if self.prepared.is_some() || surely() { Ok(()) } else { self.ask_planner(totals) }
    }

    /// Not inlined into short scans.
    #[cold]
    #[inline(never)]
    fn ask_planner(&self, totals: Totals) -> Result<(), Error> {
        self.call(totals).check()
    }

    /// What a scan on the CPU has to know.
    #[inline]
    pub(crate) fn how(&self, total: bool) -> cpu::How<'_, Op> {
        let Options { kind, order, initial_value, any_grouping, .. } = self.options;
        let (initial_value, heads) = (initial_value.as_ref(), self.heads.given());
        let (kind, order, any_grouping) = (*kind, *order, *any_grouping);
        cpu::How { kind, order, initial_value, heads, total, watch: None, any_grouping }
    }

    /// How many segments or columns there are, each of which has an initial value, or a total.
    pub(super) fn count_each(&self, len: usize) -> Result<usize, Error> {
        match self.along.known() {
            Some(along) => Ok(along.axis.columns()),
            None => {
                self.heads.check(len)?;
                self.heads.check_each(len)
            }
        }
    }

    /// The total of each segment or column, if there is room for as many.
    fn wants_each(&self, len: usize, totals: &mut [Op::Carry]) -> Result<Wants<Op::Carry>, Error> {
        let why = "there is one total for each segment or column";
        expect_len("totals", totals.len(), self.count_each(len)?, why)?;
        Ok(Wants::PerSegment(totals.as_mut_ptr()))
    }

    /// The lengths of a run over arrays of these lengths.
    #[inline]
    fn extent(&self, input: Option<usize>, output: Option<usize>) -> Result<Extent, Error> {
        match self.along.known() {
            Some(along) => {
                let (needed, room) = (along.axis.input_len(), along.axis.output_len());
                let (input, output) = (input.unwrap_or(needed), output.unwrap_or(room));
                along.check_length("input", input, needed)?;
                along.check_length("output", output, room)?;
                Ok(Extent { input, output, len: along.axis.len() })
            }
            None => common_len(input, output).map(|len| Extent { input: len, output: len, len }),
        }
    }

    /// The same of a run into new memory.
    #[inline]
    fn new_extent(&self, input: Option<usize>) -> Result<Extent, Error> {
        match self.along.known() {
            Some(along) if along.axis.output_len() != along.axis.len() => Err(along.gaps()),
            _ => self.extent(input, None),
        }
    }

    /// What `HostInput::hold` needs to know.
    #[inline]
    pub(super) fn lanes_of(&self, engine: &Engine, input: usize, wants: &Wants<Op::Carry>) -> Lanes<'_> {
        // Kernels of columns read indices in memory.
        let along = self.along.known();
        let device = is_for_device(engine);
        let memory = device && along.is_some_and(|along| !along.is_of_rows(&self.call(wants.totals()).request));
        let row = match self.heads.kind {
            HeadKind::Rows { len } if along.is_none() => len,
            _ => input,
        };
        Lanes { len: input, part: input, memory, device, row, axis: along.map(|along| &along.axis) }
    }

    /// Runs over an input into new memory, with the totals that `R` gives.
    #[inline]
    pub(super) fn run<R: Results, I: HostInput<Op::Input>>(
        &self,
        input: I,
    ) -> Result<NewResults<R, Host, Op, I::Shape>, Error> {
        if !I::SHAPED {
            self.has_known_shape()?;
            return self.run_known::<R, I>(input);
        }
        let of_shape = self.of_shape(&input, None::<&Never>)?;
        of_shape.as_ref().unwrap_or(self).run_known::<R, I>(input)
    }

    /// The same where the shape is known.
    #[inline]
    fn run_known<R: Results, I: HostInput<Op::Input>>(
        &self,
        input: I,
    ) -> Result<NewResults<R, Host, Op, I::Shape>, Error> {
        if self.options.includes_initial {
            return self.run_with_initial::<R, I>(input);
        }
        let mut lengths = Lengths::of("input");
        input.items(&mut lengths);
        let extent = self.new_extent(lengths.len()?)?;
        let engine = self.engine(Cost {
            elements: extent.len,
            bytes: bytes::<Op, I, &mut [Op::Output]>(extent.input, extent.output),
            slices: &|each| input.slices(each),
            kernels: Some(Kernels::of::<Op, I, &mut [Op::Output]>(self.wanted(R::ADDED))),
        });
        let (output, totals) = self.with_totals::<R, _>(extent.len, |wants| {
            let input = input.hold(0, self.lanes_of(engine, extent.input, &wants))?;
            let mut output = room(extent.output)?;
            let memory = Both { input: I::at(&input), output: output.as_mut_ptr() };
            let layouts = arrays::<Op, I, &mut [Op::Output]>();
            // SAFETY: each held array has that many items; the vector has room for as many outputs, and nothing else
            // points there.
            let total = unsafe { self.run_memory(engine, memory, extent.len, layouts, wants)? };
            // SAFETY: every output has been written.
            unsafe { output.set_len(extent.output) };
            Ok((output, total))
        })?;
        let output = match self.along.known() {
            Some(along) => I::Shape::new(output, along.axis.shape(), along.axis.both_strides().1)?,
            None => I::Shape::new(output, &[extent.len], &[1])?,
        };
        Ok(R::with(output, totals))
    }

    /// Runs over the arrays of an input and of an output.
    #[inline(always)]
    pub(super) fn run_into<R: Results, I: HostInput<Op::Input>, O: HostOutput<Op::Output>>(
        &self,
        input: I,
        output: O,
    ) -> Result<R::Totals<Host, Op::Carry>, Error> {
        if !I::SHAPED && !O::SHAPED {
            self.has_known_shape()?;
            return self.run_into_known::<R, I, O>(input, output);
        }
        let of_shape = self.of_shape(&input, Some(&output))?;
        of_shape.as_ref().unwrap_or(self).run_into_known::<R, I, O>(input, output)
    }

    /// The same where the shape is known.
    #[inline(always)]
    fn run_into_known<R: Results, I: HostInput<Op::Input>, O: HostOutput<Op::Output>>(
        &self,
        input: I,
        mut output: O,
    ) -> Result<R::Totals<Host, Op::Carry>, Error> {
        if self.options.includes_initial {
            return self.run_into_with_initial::<R, I, O>(input, output);
        }
        let (mut inputs, mut outputs) = (Lengths::of("input"), Lengths::of("output"));
        input.items(&mut inputs);
        output.items(&mut outputs);
        let extent = self.extent(inputs.len()?, outputs.len()?)?;
        if let Some(along) = self.along.known()
            && extent.output != extent.len
            && !O::KINDS.iter().all(in_memory_order)
        {
            // Scattered results are read when the scan has ended, those in the gaps, too, which nothing writes.
            return Err(along.gaps());
        }
        let engine = self.engine(Cost {
            elements: extent.len,
            bytes: bytes::<Op, I, O>(extent.input, extent.output),
            slices: &|each| {
                input.slices(each);
                output.slices(each);
            },
            kernels: Some(Kernels::of::<Op, I, O>(self.wanted(R::ADDED))),
        });
        let ((), totals) = self.with_totals::<R, _>(extent.len, |wants| {
            let lanes = self.lanes_of(engine, extent.input, &wants);
            let input = input.hold(0, lanes)?;
            let part =
                if O::STAGED && self.goes_by_parts(engine, &wants) { extent.output.min(PART) } else { extent.output };
            let mut output = output.hold(0, Lanes { len: extent.output, part, ..lanes })?;
            // SAFETY: each held array has that many items, those of the output exclusively borrowed, and there is room
            // for a part of those that are staged.
            let total = unsafe { self.run_parts::<I, O>(engine, I::at(&input), &mut output, extent, part, wants)? };
            // SAFETY: the scan has written every item, or the arrays finish without reading items.
            unsafe { O::finish(output)? };
            Ok(((), total))
        })?;
        Ok(totals)
    }

    /// Whether the carry alone passes from one part of the elements to the next, so that they can be scanned one after
    /// the other.
    fn goes_by_parts(&self, engine: &Engine, wants: &Wants<Op::Carry>) -> bool {
        let is_flat = self.along.known().is_none() && self.heads.kind.is_none() && self.initial_values().is_none();
        is_flat
            && !is_for_device(engine)
            && !matches!(wants, Wants::PerSegment(_))
            && self.options.order == cpu::Order::Forward
            && self.options.progress.is_none()
    }

    /// Runs over parts of an input, and moves the results of each to where they belong. Gives the last total, if that
    /// is wanted and there is one.
    ///
    /// # Safety
    ///
    /// As for [`run_memory`](HostCall::run_memory), but a staged output has room for one part.
    #[inline(always)]
    unsafe fn run_parts<I: HostInput<Op::Input>, O: HostOutput<Op::Output>>(
        &self,
        engine: &Engine,
        input: I::At,
        output: &mut O::Held,
        extent: Extent,
        part: usize,
        wants: Wants<Op::Carry>,
    ) -> Result<Option<Op::Carry>, Error> {
        let layouts = arrays::<Op, I, O>();
        if part >= extent.output {
            if !matches!(engine, Engine::Cpu { .. }) {
                O::stage(output, extent.output)?;
            }
            let memory = Both { input, output: O::at(output, 0) };
            // SAFETY: the caller vouches for the memory; the scan has written every item.
            return unsafe {
                let total = self.run_memory(engine, memory, extent.len, layouts, wants)?;
                O::flush(output, 0, extent.output)?;
                Ok(total)
            };
        }
        let mut options = self.options.clone();
        for start in (0..extent.len).step_by(part) {
            let call = HostCall { options: &options, along: CallAxis::None, ..*self };
            let len = part.min(extent.len - start);
            // SAFETY: the caller vouches for the memory, of which this is a part; the scan has written its items.
            let total = unsafe {
                let memory = Both { input: input.skip(start), output: O::at(output, start) };
                let total = call.run_on_cpu(memory, len, Wants::Last, None)?;
                O::flush(output, start, len)?;
                total
            };
            options.initial_value = total;
        }
        Ok(options.initial_value)
    }

    /// Runs in place.
    #[inline(always)]
    pub(super) fn run_in_place<R: Results, T>(
        &self,
        buffer: &mut (impl Buffer<T, Host> + ?Sized),
    ) -> Result<R::Totals<Host, Op::Carry>, Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        if self.options.includes_initial {
            return refused(IN_PLACE);
        }
        if !is_shaped(buffer) {
            self.has_known_shape()?;
            return buffer.scan(None, |elements| self.run_in_memory::<R, T>(elements));
        }
        let of_shape = self.with_shapes(buffer.shape(), Some(buffer.shape()))?;
        let call = of_shape.as_ref().unwrap_or(self);
        let axis = call.along.known().map(|along| &along.axis);
        buffer.scan(axis, |elements| call.run_in_memory::<R, T>(elements))
    }

    #[inline(always)]
    fn run_in_memory<R: Results, T>(&self, buffer: &mut [T]) -> Result<R::Totals<Host, Op::Carry>, Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        let len = match self.along.known() {
            Some(along) if !along.axis.lies_the_same() => return Err(Error::AxisInPlace),
            Some(along) => {
                along.check_length("buffer", buffer.len(), along.axis.input_len())?;
                along.axis.len()
            }
            None => buffer.len(),
        };
        let to = buffer.as_mut_ptr();
        let memory = Both { input: to.cast_const(), output: to };
        let one_way = size_of_val(buffer);
        let engine = self.engine(Cost {
            elements: len,
            bytes: 2 * one_way,
            slices: &|each| (0..2).for_each(|_| each(to.cast_const().cast(), one_way)),
            kernels: Some(Kernels::of::<Op, &[T], &mut [T]>(self.wanted(R::ADDED))),
        });
        let ((), totals) = self.with_totals::<R, _>(len, |wants| {
            // SAFETY: the buffer is exclusively borrowed, and each result takes the place of its element.
            unsafe { self.run_memory(engine, memory, len, Layouts::default(), wants) }.map(|total| ((), total))
        })?;
        Ok(totals)
    }

    /// Runs with the totals that `R` gives, or that the caller has memory for.
    #[inline(always)]
    #[allow(clippy::type_complexity, reason = "a pair reads better than a struct of its own")]
    pub(super) fn with_totals<R: Results, T>(
        &self,
        len: usize,
        run: impl FnOnce(Wants<Op::Carry>) -> Result<(T, Option<Op::Carry>), Error>,
    ) -> Result<(T, R::Totals<Host, Op::Carry>), Error> {
        self.check_prepared(len, self.wanted(R::ADDED))?;
        let mut count = 0;
        let each = || {
            count = self.count_each(len)?;
            room(count)
        };
        let mut totals = R::room::<Host, Op::Carry>(|| Ok(None), each)?;
        let wants = match (R::place::<Host, Op::Carry>(&mut totals), &self.totals) {
            (Place::Last(_), _) => Wants::Last,
            (Place::Each(totals), _) => Wants::PerSegment(totals.as_mut_ptr()),
            (Place::None, None) => Wants::Nothing,
            (Place::None, Some((Totals::Last, total))) => {
                // SAFETY: no other run uses it: this one ends before another one begins.
                expect_len("total", unsafe { total.memory() }.len(), 1, "there is one total")?;
                Wants::Last
            }
            // SAFETY: as above.
            (Place::None, Some((_, totals))) => self.wants_each(len, unsafe { totals.memory() })?,
        };
        let (result, last) = run(wants)?;
        match R::place::<Host, Op::Carry>(&mut totals) {
            Place::None => {
                if let (Some((_, total)), Wants::Last) = (&self.totals, wants) {
                    let last = last.map_or_else(|| self.options.total_of_nothing(), Ok)?;
                    // SAFETY: as above.
                    unsafe { total.memory() }.fill(last);
                }
            }
            Place::Last(total) => *total = last,
            // SAFETY: there is room for so many, and every total has been written.
            Place::Each(totals) => unsafe { totals.set_len(count) },
        }
        Ok((result, totals))
    }

    /// Every scan of host memory comes through here. Gives the last total, if that is wanted and there is one.
    ///
    /// # Safety
    ///
    /// The memory is valid for reads of `len` elements and for writes of as many results, or along an axis of those of
    /// its array. Input and output are one, or do not overlap. There is room for the totals.
    #[inline]
    pub(super) unsafe fn run_memory<M: Memory<Op>>(
        &self,
        engine: &Engine,
        memory: M,
        len: usize,
        layouts: Layouts,
        wants: Wants<Op::Carry>,
    ) -> Result<Option<Op::Carry>, Error> {
        let has_values = self.heads.initial_values.is_some();
        if let Some(along) = self.columns_of(&wants)? {
            // SAFETY: the caller vouches for the memory.
            return unsafe { self.run_columns(engine, along, memory, layouts, wants) }.map(|()| None);
        }
        #[cfg(feature = "cuda")]
        if !has_values && !matches!(wants, Wants::PerSegment(_)) {
            self.note_scan(memory, len, layouts, &wants)?;
        }
        match (has_values, wants) {
            (true, Wants::Last) => Err(PlanError::TotalOfEach.into()),
            (true, _) | (_, Wants::PerSegment(_)) => {
                // SAFETY: the caller vouches for the memory.
                unsafe { self.run_each(engine, memory, len, layouts, wants) }.map(|()| None)
            }
            (false, _) => match engine {
                // SAFETY: as above.
                Engine::Cpu { .. } if self.options.progress.is_some() => unsafe {
                    self.run_and_report(memory, len, wants)
                },
                // SAFETY: as above.
                Engine::Cpu { .. } => unsafe { self.run_on_cpu(memory, len, wants, None) },
                // SAFETY: as above.
                #[cfg(feature = "cuda")]
                Engine::Cuda(device) => unsafe { self.run_on_device(device, &memory.host(len), layouts, wants) },
            },
        }
    }

    /// The array, if the scan is along an axis whose columns are not scanned as rows.
    #[inline]
    fn columns_of(&self, wants: &Wants<Op::Carry>) -> Result<Option<&AxisLayout>, Error> {
        match self.along.known() {
            None => Ok(None),
            Some(_) if matches!(wants, Wants::Last) => Err(PlanError::Columns { why: NO_LAST_TOTAL }.into()),
            Some(along) => Ok((!along.is_of_rows(&self.call(wants.totals()).request)).then_some(along)),
        }
    }

    /// # Safety
    ///
    /// As for [`run_memory`](HostCall::run_memory).
    #[inline(always)]
    unsafe fn run_on_cpu<M: Memory<Op>>(
        &self,
        memory: M,
        len: usize,
        wants: Wants<Op::Carry>,
        watch: Option<&Watch<'_>>,
    ) -> Result<Option<Op::Carry>, Error> {
        self.check_planned(Totals::None)?;
        let _span = tells_of_calls().then(|| computing::<Op>(len));
        self.heads.check(len)?;
        let how = cpu::How { watch, ..self.how(matches!(wants, Wants::Last)) };
        // Short scans are faster where the compiler knows that they do not restart.
        match self.heads.given() {
            // SAFETY: the caller vouches for the memory.
            None => unsafe { cpu::scan_in(&*self.options.op, cpu::How { heads: None, ..how }, memory, len) },
            // SAFETY: as above.
            heads => unsafe { cpu::scan_in(&*self.options.op, cpu::How { heads, ..how }, memory, len) },
        }
    }

    /// The same with a report. It is apart, because a report costs as much as a short scan.
    ///
    /// # Safety
    ///
    /// As for [`run_memory`](HostCall::run_memory).
    #[cold]
    #[inline(never)]
    unsafe fn run_and_report<M: Memory<Op>>(
        &self,
        memory: M,
        len: usize,
        wants: Wants<Op::Carry>,
    ) -> Result<Option<Op::Carry>, Error> {
        // SAFETY: the caller vouches for the memory.
        self.watched(len, |watch| unsafe { self.run_on_cpu(memory, len, wants, watch) })
    }

    /// Scans segments of which each has an initial value, a total, or both.
    ///
    /// # Safety
    ///
    /// As for [`run_memory`](HostCall::run_memory).
    unsafe fn run_each<M: Memory<Op>>(
        &self,
        engine: &Engine,
        memory: M,
        len: usize,
        layouts: Layouts,
        wants: Wants<Op::Carry>,
    ) -> Result<(), Error> {
        self.heads.check(len)?;
        let count = self.heads.check_each(len)?;
        match engine {
            #[cfg(feature = "cuda")]
            Engine::Cuda(device) if len > 0 => {
                let call = self.scan_call(wants.totals(), layouts);
                let totals = HostTotals::per_segment(wants.pointer(), count);
                // SAFETY: the caller vouches for the memory.
                unsafe { call.scan_on_device(device, &memory.host(len), totals) }
            }
            _ => {
                #[cfg(feature = "cuda")]
                if len > 0 {
                    self.note_scan(memory, len, layouts, &wants)?;
                }
                self.check_planned(wants.totals())?;
                let _span = tells_of_calls().then(|| computing::<Op>(len));
                let Options { op, kind, order, initial_value, .. } = self.options;
                let (values, totals) = (self.initial_values(), wants.pointer());
                let totals = (!totals.is_null()).then_some(cpu::TotalsAt(totals));
                // SAFETY: as above; the values have been counted.
                self.watched(len, |watch| unsafe {
                    let heads = &self.heads;
                    cpu::scan_each(&**op, *kind, *order, *initial_value, values, heads, memory, len, totals, watch)
                })
            }
        }
    }
}

const NO_LAST_TOTAL: &str = "it has a total for each column: ask for those `.with_totals()`";
