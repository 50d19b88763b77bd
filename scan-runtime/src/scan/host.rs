//! Runs over host memory: the one path from a call to the CPU backend or to the device.

use std::{mem::MaybeUninit, ptr};

use scan_codegen::{ArrayKind, ArrayKinds, PlanError, ScanKind};

use crate::{
    Error, Goal, HostHeads, Reduce, Scan, ScanElement, ScanOp,
    aot::Wanted,
    call::{HostPlaces, HostTotals, Layouts, Totals},
    columns::{Lengths, common_len, kinds::Lanes},
    cpu::{self, Both, Memory},
    cuda::CudaDevice,
    device::arguments::Layout,
    error::expect_len,
    heads::HeadKind,
    host::{HostInput, HostOutput},
    prepared::check_len,
    room::room,
    scan::AxisLayout,
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

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

/// Ways to run a scan of host memory.
impl<Op: ScanOp, H: HostHeads> Scan<Op, H> {
    /// Scans an input into a new vector: a slice, [another array](crate::arrays), or a tuple with an array for each
    /// field of a struct. On a GPU slices of more than 32 MiB go through the device in chunks, if
    /// [`Staging::with_chunk_bytes`](crate::Staging::with_chunk_bytes) says nothing else.
    ///
    /// # Errors
    ///
    /// Whatever can go wrong is in [`Error`]; the input is never touched. Where it restarts: [`Error::Length`]
    /// if there are more or fewer flags, bits or keys than the input requires, [`Error::OffsetsDescend`] and
    /// [`Error::OffsetPastEnd`] if the offsets are none.
    #[inline]
    pub fn run(&self, input: impl HostInput<Op::Input>) -> Result<Vec<Op::Output>, Error> {
        Ok(self.run_to_vector(input, Wants::Nothing)?.0)
    }

    /// Scans an input into a new vector, and gives the total too. On the GPU it comes from the same launches.
    ///
    /// The total is the carry after the last element, the initial value included; of a [reversed](Scan::reverse) scan,
    /// after the first one. So in a scan that restarts it is the total of the segment of this element, whatever empty
    /// segments offsets tell behind it. Without elements it is the initial value that [`init`](Scan::init) has given,
    /// or else `None`, also of an operator that has an identity or a `START`.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// // Where each row of a ragged array begins, and how long the whole is.
    /// let (starts, len) = scanner.scan(ops::sum()).exclusive().run_with_total(&[3_u32, 0, 4])?;
    /// assert_eq!((starts, len), (vec![0, 3, 3], Some(7)));
    /// // What the next part of a longer input goes on with.
    /// let by_day = scanner.scan(ops::sum()).by_keys(&[1, 1, 2, 2]);
    /// let (sums, today) = by_day.run_with_total(&[5, 1, 2, 2])?;
    /// assert_eq!((sums, today), (vec![5, 6, 2, 4], Some(4)));
    /// // The last segment is empty.
    /// let (_, total) = scanner.scan(ops::sum()).by_offsets(&[0_u32, 2, 2]).run_with_total(&[5, 1])?;
    /// assert_eq!(total, Some(6));
    /// assert_eq!(scanner.scan(ops::sum::<u32>()).run_with_total(&[])?, (vec![], None));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run).
    #[inline]
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_total(
        &self,
        input: impl HostInput<Op::Input>,
    ) -> Result<(Vec<Op::Output>, Option<Op::Carry>), Error> {
        self.run_to_vector(input, Wants::Last)
    }

    /// Scans an input into an output of the same length: slices, [other arrays](crate::arrays), or a tuple with an
    /// array for each field of a struct.
    ///
    /// ```
    /// use scan_runtime::{ScanOp, Scanner, scan_element, scan_op};
    ///
    /// /// `h[i] = gate[i] * h[i-1] + token[i]`, with gates of at most 1.
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
    /// let (gates, tokens) = (vec![0.5, 0.5, 0.25], vec![8.0, 2.0, 4.0]);
    /// let mut states = [0.0; 3];
    /// Scanner::new()?.scan(Recurrence).run_into((&gates, &tokens), &mut states)?;
    /// assert_eq!(states, [8.0, 6.0, 5.5]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run), [`Error::Length`] if the lengths differ, [`Error::ColumnLength`] if the arrays of the
    /// input, or those of the output, are not of one length, [`Error::UnknownLength`] if none has a length,
    /// [`Error::IndexOutOfBounds`] for an index that is not in its array, and [`Error::ComputedIndex`] for one that the
    /// operator computes. After an error the output's content is unspecified.
    #[inline]
    pub fn run_into(&self, input: impl HostInput<Op::Input>, output: impl HostOutput<Op::Output>) -> Result<(), Error> {
        self.run_arrays(input, output, |_| Ok(Wants::Nothing)).map(drop)
    }

    /// Scans an input into an output of the same length, and gives the total, as
    /// [`run_with_total`](Scan::run_with_total) does.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let mut starts = [0; 3];
    /// let len = Scanner::new()?.scan(ops::sum()).exclusive().run_into_with_total(&[3_u32, 0, 4], &mut starts)?;
    /// assert_eq!((starts, len), ([0, 3, 3], Some(7)));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_into`](Scan::run_into).
    pub fn run_into_with_total(
        &self,
        input: impl HostInput<Op::Input>,
        output: impl HostOutput<Op::Output>,
    ) -> Result<Option<Op::Carry>, Error> {
        self.run_arrays(input, output, |_| Ok(Wants::Last))
    }

    /// Scans a slice in place.
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run). After [`Error::OperatorPanicked`] on the CPU the content is unspecified. An error on a
    /// GPU leaves each chunk as it was or scanned; otherwise an error leaves the buffer as it was.
    #[inline]
    pub fn run_in_place<T>(&self, buffer: &mut [T]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.run_one(buffer, |_| Ok(Wants::Nothing)).map(drop)
    }

    /// Scans a slice in place, and gives the total, as [`run_with_total`](Scan::run_with_total) does.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let mut lengths = [3_u32, 0, 4];
    /// let len = Scanner::new()?.scan(ops::sum()).exclusive().run_in_place_with_total(&mut lengths)?;
    /// assert_eq!((lengths, len), ([0, 3, 3], Some(7)));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_in_place`](Scan::run_in_place).
    pub fn run_in_place_with_total<T>(&self, buffer: &mut [T]) -> Result<Option<Op::Carry>, Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.run_one(buffer, |_| Ok(Wants::Last))
    }

    /// The kernels of this scan over device memory in arrays of the same kinds as these, for a
    /// [bundle](crate::aot::Bundle). Of host memory, gathered, scattered and computed arrays are slices to the kernels.
    /// Their lengths do not matter, the types of their places do.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, aot::Bundle, arrays, ops};
    ///
    /// let filter = Scanner::cpu().scan(ops::filter::<f32>());
    /// let (flags, values, mut kept) = ([false; 0], arrays::gather(&[0.0_f32; 0], &[0_u32; 0]), [0.0; 0]);
    /// let kernels = filter.kernels_like((&flags, values), arrays::scatter_computed((&mut kept,)));
    /// Bundle::new().architecture("sm_90").with(&kernels).write("kernels.scan")?;
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn kernels_like<I, O>(&self, _: I, _: O) -> Wanted
    where
        I: HostInput<Op::Input>,
        O: HostOutput<Op::Output>,
    {
        self.kernels::<I, O>(Totals::None)
    }

    /// The same for runs that give the total, too.
    pub fn kernels_like_with_total<I, O>(&self, _: I, _: O) -> Wanted
    where
        I: HostInput<Op::Input>,
        O: HostOutput<Op::Output>,
    {
        self.kernels::<I, O>(Totals::Last)
    }

    fn kernels<I, O>(&self, totals: Totals) -> Wanted
    where
        I: HostInput<Op::Input>,
        O: HostOutput<Op::Output>,
    {
        Wanted::new(&self.op, vec![self.call(totals).over(layouts::<Op, I, O>()).task()])
    }
}

/// In how many arrays an input and an output are. Host memory is given to kernels as slices.
fn arrays<Op: ScanOp, I: HostInput<Op::Input>, O: HostOutput<Op::Output>>() -> Layouts {
    Layouts { input: (I::Layout::ARRAYS, ArrayKinds::default()), output: (O::Layout::ARRAYS, ArrayKinds::default()) }
}

/// The same with the kinds of the arrays.
fn layouts<Op: ScanOp, I: HostInput<Op::Input>, O: HostOutput<Op::Output>>() -> Layouts {
    let kinds = [I::KINDS, O::KINDS].map(|kinds| ArrayKinds::new(kinds.iter().copied()));
    Layouts { input: (I::Layout::ARRAYS, kinds[0]), output: (O::Layout::ARRAYS, kinds[1]) }
}

/// Scans that give the total of each segment as well.
impl<Op: ScanOp, H: HostHeads> Scan<Op, H> {
    /// Scans an input into a new vector, and gives the total of each segment as well, which are [rows](Scan::rows), or
    /// lie between [offsets](Scan::by_offsets) from 0 to the length of the input. It is the carry after the last
    /// element of the segment (before its first one, of a [reversed](Scan::reverse) scan), the initial value included;
    /// of an empty segment it is the initial value, or else the identity, or the `START` of a
    /// [machine](ScanOp#machines). On the GPU it comes from the same launches.
    ///
    /// The totals of a chunk are the [initial values](Scan::init_each) of the next one. A state-space model over
    /// sequences that come in chunks, with factors of at most 1 (larger ones may [overflow](ScanOp#overflow)):
    ///
    /// ```
    /// use scan_runtime::{Scanner, scan_element, scan_op};
    ///
    /// /// `h = a·h + b`.
    /// #[scan_element]
    /// #[derive(Clone, Copy, Debug, PartialEq)]
    /// struct Step {
    ///     a: f32,
    ///     b: f32,
    /// }
    ///
    /// #[scan_op(identity = Step { a: 1.0, b: 0.0 })]
    /// fn then(f: Step, g: Step) -> Step {
    ///     Step { a: f.a * g.a, b: g.a * f.b + g.b }
    /// }
    ///
    /// let (sequences, tokens) = (2, 3); // of a chunk
    /// let layer = Scanner::new()?.scan(then);
    /// let mut states = vec![Step { a: 1.0, b: 0.0 }; sequences];
    /// for chunk in [1.0, 2.0] {
    ///     let steps = vec![Step { a: 0.5, b: chunk }; sequences * tokens];
    ///     let (hidden, after) = layer.clone().rows(tokens).init_each(&states).run_with_totals(&steps)?;
    ///     assert_eq!(hidden[tokens - 1], after[0]);
    ///     states = after;
    /// }
    /// assert_eq!(states[1].b, 3.71875);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run) and [`init_each`](Scan::init_each);
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) by offsets, without an initial value and an identity: a
    /// segment between offsets may be empty.
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_totals(
        &self,
        input: impl HostInput<Op::Input>,
    ) -> Result<(Vec<Op::Output>, Vec<Op::Carry>), Error> {
        let mut lengths = Lengths::of("input");
        input.items(&mut lengths);
        let count = self.count_each(self.new_extent(lengths.len()?)?.len)?;
        let mut totals = room::<Op::Carry>(count)?;
        let (output, _) = self.run_to_vector(input, Wants::PerSegment(totals.as_mut_ptr()))?;
        // SAFETY: there is room for so many, and every total has been written.
        unsafe { totals.set_len(count) };
        Ok((output, totals))
    }

    /// Scans an input into an output of the same length, and writes the total of each segment, as
    /// [`run_with_totals`](Scan::run_with_totals) gives it.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let (mut sums, mut totals) = ([0; 6], [0; 2]);
    /// let scan = Scanner::new()?.scan(ops::sum()).rows(3);
    /// scan.run_into_with_totals(&[1, 2, 3, 10, 20, 30], &mut sums, &mut totals)?;
    /// assert_eq!((sums, totals), ([1, 3, 6, 10, 30, 60], [6, 60]));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_with_totals`](Scan::run_with_totals), and [`Error::Length`] if the lengths differ or
    /// there is not one total for each segment.
    pub fn run_into_with_totals(
        &self,
        input: impl HostInput<Op::Input>,
        output: impl HostOutput<Op::Output>,
        totals: &mut [Op::Carry],
    ) -> Result<(), Error> {
        self.run_arrays(input, output, |len| self.wants_each(len, totals)).map(drop)
    }

    /// Scans a slice in place, and writes the total of each segment, as [`run_with_totals`](Scan::run_with_totals)
    /// gives it.
    ///
    /// # Errors
    ///
    /// As [`run_into_with_totals`](Scan::run_into_with_totals).
    pub fn run_in_place_with_totals<T>(&self, buffer: &mut [T], totals: &mut [Op::Carry]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.run_one(buffer, |len| self.wants_each(len, totals)).map(drop)
    }
}

/// Ways to reduce host memory.
impl<Op: ScanOp> Reduce<Op> {
    /// Reduces a slice. The total of no elements is the initial value, or else the identity.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) for no elements, no initial value and no identity, and
    /// whatever else can go wrong.
    pub fn run(&self, input: &[Op::Input]) -> Result<Op::Output, Error> {
        check_len(input.len(), self.max_len)?;
        self.check_planned(Totals::None)?;
        match self.scanner.engine() {
            Engine::Cuda(device) if !input.is_empty() => self.reduce_on_device(device, input),
            _ => {
                let _span = tells_of_calls().then(|| computing::<Op>(input.len()));
                let total = cpu::reduce(&self.op, self.initial_value, input)?;
                self.report_all(input.len());
                match total {
                    Some(total) => cpu::project(&self.op, total),
                    None => self.result_of_nothing(),
                }
            }
        }
    }

    fn reduce_on_device(&self, device: &CudaDevice, input: &[Op::Input]) -> Result<Op::Output, Error> {
        let mut output = MaybeUninit::<Op::Output>::uninit();
        let places = self.places(input, output.as_mut_ptr());
        // SAFETY: the input is a slice, and there is room for the result, which is written.
        unsafe {
            self.call(Totals::None).reduce_on_device(device, &places)?;
            Ok(output.assume_init())
        }
    }
}

impl<Op: ScanOp, H: HostHeads, G: Goal> Scan<Op, H, G> {
    /// What the planner refuses on the GPU is refused on the CPU as well.
    #[inline]
    pub(crate) fn check_planned(&self, totals: Totals) -> Result<(), Error> {
        let heads = self.heads.given();
        // A segment between offsets may be empty.
        let of_nothing =
            totals == Totals::PerSegment && heads.is_some_and(|heads| matches!(heads.kind, HeadKind::Offsets(_)));
        let begins = self.initial_value.is_some() || heads.is_some_and(|heads| heads.initial_values.is_some());
        let needs_identity = (self.kind == ScanKind::Exclusive || of_nothing) && !begins;
        let surely = || self.overrides.is_none() && cpu::surely_planned(&self.op, heads, needs_identity);
        if self.planned || surely() { Ok(()) } else { self.ask_planner(totals) }
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
        let Scan { kind, order, ref initial_value, .. } = *self;
        cpu::How { kind, order, initial_value: initial_value.as_ref(), heads: self.heads.given(), total }
    }

    /// A slice and where its results go, without types.
    pub(super) fn places(&self, input: &[Op::Input], output: *mut Op::Output) -> HostPlaces {
        Memory::<Op>::host(Both { input: input.as_ptr(), output }, input.len())
    }

    /// How many segments or columns there are, each of which has an initial value, or a total.
    pub(super) fn count_each(&self, len: usize) -> Result<usize, Error> {
        match &self.along {
            Some(along) => Ok(along.axis.columns()),
            None => {
                let heads = self.heads.heads();
                heads.check(len)?;
                heads.check_each(len)
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
        match &self.along {
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
        match &self.along {
            Some(along) if along.axis.output_len() != along.axis.len() => Err(along.gaps()),
            _ => self.extent(input, None),
        }
    }

    /// What `HostInput::hold` needs to know.
    #[inline]
    fn lanes(&self, extent: Extent, wants: &Wants<Op::Carry>) -> Lanes<'_> {
        let on_cpu = matches!(self.scanner.engine(), Engine::Cpu { .. });
        // Kernels of columns read no indices.
        let along = self.along.as_ref();
        let memory = on_cpu || along.is_some_and(|along| !along.is_of_rows(&self.call(wants.totals()).request));
        let row = match self.heads.given().map(|heads| heads.kind) {
            Some(HeadKind::Rows { len }) if along.is_none() => len,
            _ => extent.input,
        };
        Lanes { len: extent.input, memory, row, axis: along.map(|along| &along.axis) }
    }

    #[inline]
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    fn run_to_vector<I: HostInput<Op::Input>>(
        &self,
        input: I,
        wants: Wants<Op::Carry>,
    ) -> Result<(Vec<Op::Output>, Option<Op::Carry>), Error> {
        let mut lengths = Lengths::of("input");
        input.items(&mut lengths);
        let extent = self.new_extent(lengths.len()?)?;
        let input = input.hold(0, self.lanes(extent, &wants))?;
        let mut output = room(extent.output)?;
        let memory = Both { input: I::at(&input), output: output.as_mut_ptr() };
        let layouts = arrays::<Op, I, &mut [Op::Output]>();
        // SAFETY: each held array has that many items; the vector has room for as many outputs, and nothing else points
        // there.
        let total = unsafe { self.run_memory(memory, extent.len, layouts, wants)? };
        // SAFETY: every output has been written.
        unsafe { output.set_len(extent.output) };
        Ok((output, total))
    }

    /// Runs over the arrays of an input and of an output.
    #[inline]
    fn run_arrays<I: HostInput<Op::Input>, O: HostOutput<Op::Output>>(
        &self,
        input: I,
        mut output: O,
        wants: impl FnOnce(usize) -> Result<Wants<Op::Carry>, Error>,
    ) -> Result<Option<Op::Carry>, Error> {
        let (mut inputs, mut outputs) = (Lengths::of("input"), Lengths::of("output"));
        input.items(&mut inputs);
        output.items(&mut outputs);
        let extent = self.extent(inputs.len()?, outputs.len()?)?;
        let in_memory_order = |kind: &ArrayKind| matches!(kind, ArrayKind::Slice | ArrayKind::NoMemory);
        if let Some(along) = &self.along
            && extent.output != extent.len
            && !O::KINDS.iter().all(in_memory_order)
        {
            // Scattered results are read when the scan has ended, those in the gaps, too, which nothing writes.
            return Err(along.gaps());
        }
        let wants = wants(extent.len)?;
        let on_cpu = matches!(self.scanner.engine(), Engine::Cpu { .. });
        let input = input.hold(0, self.lanes(extent, &wants))?;
        let mut output = output.hold(0, extent.output, on_cpu)?;
        let memory = Both { input: I::at(&input), output: O::at(&mut output) };
        // SAFETY: each held array has that many items, those of the output exclusively borrowed.
        let total = unsafe { self.run_memory(memory, extent.len, arrays::<Op, I, O>(), wants)? };
        // SAFETY: the scan has written every item, or the arrays finish without reading items.
        unsafe { O::finish(output)? };
        Ok(total)
    }

    /// Runs in place.
    #[inline]
    fn run_one<T>(
        &self,
        buffer: &mut [T],
        wants: impl FnOnce(usize) -> Result<Wants<Op::Carry>, Error>,
    ) -> Result<Option<Op::Carry>, Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        let len = match &self.along {
            Some(along) if !along.axis.lies_the_same() => return Err(Error::AxisInPlace),
            Some(along) => {
                along.check_length("buffer", buffer.len(), along.axis.input_len())?;
                along.axis.len()
            }
            None => buffer.len(),
        };
        let (wants, to) = (wants(len)?, buffer.as_mut_ptr());
        let memory = Both { input: to.cast_const(), output: to };
        // SAFETY: the buffer is exclusively borrowed, and each result takes the place of its element.
        unsafe { self.run_memory(memory, len, Layouts::default(), wants) }
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
        memory: M,
        len: usize,
        layouts: Layouts,
        wants: Wants<Op::Carry>,
    ) -> Result<Option<Op::Carry>, Error> {
        check_len(len, self.max_len)?;
        let has_values = self.heads.given().is_some_and(|heads| heads.initial_values.is_some());
        if let Some(along) = self.columns(&wants)? {
            // SAFETY: the caller vouches for the memory.
            return unsafe { self.run_columns(along, memory, layouts, wants) }.map(|()| None);
        }
        match (has_values, wants) {
            (true, Wants::Last) => Err(PlanError::TotalOfEach.into()),
            (true, _) | (_, Wants::PerSegment(_)) => {
                // SAFETY: the caller vouches for the memory.
                unsafe { self.run_each(memory, len, layouts, wants) }.map(|()| None)
            }
            (false, _) => match self.scanner.engine() {
                // SAFETY: as above.
                Engine::Cpu { .. } if self.progress.is_some() => unsafe { self.run_and_report(memory, len, wants) },
                // SAFETY: as above.
                Engine::Cpu { .. } => unsafe { self.run_on_cpu(memory, len, wants) },
                // SAFETY: as above.
                Engine::Cuda(device) => unsafe { self.run_on_device(device, &memory.host(len), layouts, wants) },
            },
        }
    }

    /// The array, if the scan is along an axis whose columns are not scanned as rows.
    #[inline]
    fn columns(&self, wants: &Wants<Op::Carry>) -> Result<Option<&AxisLayout>, Error> {
        match self.along.as_deref() {
            None => Ok(None),
            Some(_) if matches!(wants, Wants::Last) => Err(PlanError::Columns { why: NO_LAST_TOTAL }.into()),
            Some(along) => Ok((!along.is_of_rows(&self.call(wants.totals()).request)).then_some(along)),
        }
    }

    /// # Safety
    ///
    /// As for [`run_memory`](Scan::run_memory).
    #[inline(always)]
    unsafe fn run_on_cpu<M: Memory<Op>>(
        &self,
        memory: M,
        len: usize,
        wants: Wants<Op::Carry>,
    ) -> Result<Option<Op::Carry>, Error> {
        self.check_planned(Totals::None)?;
        let _span = tells_of_calls().then(|| computing::<Op>(len));
        self.heads.given().map_or(Ok(()), |heads| heads.check(len))?;
        // SAFETY: the caller vouches for the memory.
        unsafe { cpu::scan_in(&self.op, self.how(matches!(wants, Wants::Last)), memory, len) }
    }

    /// The same with a report. It is apart, because a report costs as much as a short scan.
    ///
    /// # Safety
    ///
    /// As for [`run_memory`](Scan::run_memory).
    #[cold]
    #[inline(never)]
    unsafe fn run_and_report<M: Memory<Op>>(
        &self,
        memory: M,
        len: usize,
        wants: Wants<Op::Carry>,
    ) -> Result<Option<Op::Carry>, Error> {
        // SAFETY: the caller vouches for the memory.
        let total = unsafe { self.run_on_cpu(memory, len, wants) }?;
        self.report_all(len);
        Ok(total)
    }

    /// Does the same on a device.
    ///
    /// # Safety
    ///
    /// As for [`run_memory`](Scan::run_memory).
    #[inline(never)]
    unsafe fn run_on_device(
        &self,
        device: &CudaDevice,
        host: &HostPlaces,
        layouts: Layouts,
        wants: Wants<Op::Carry>,
    ) -> Result<Option<Op::Carry>, Error> {
        self.heads.heads().check(host.len)?;
        let mut total = MaybeUninit::uninit();
        let with_total = matches!(wants, Wants::Last) && host.len > 0;
        let (wanted, totals) = match with_total {
            true => (Totals::Last, HostTotals::last(&mut total)),
            false => (Totals::None, HostTotals::NONE),
        };
        // SAFETY: the caller vouches for the host memory.
        unsafe { self.call(wanted).over(layouts).scan_on_device(device, host, totals)? };
        // SAFETY: the kernels have written the total if that was asked of them.
        Ok(if with_total { Some(unsafe { total.assume_init() }) } else { self.initial_value })
    }

    /// Scans segments of which each has an initial value, a total, or both.
    ///
    /// # Safety
    ///
    /// As for [`run_memory`](Scan::run_memory).
    unsafe fn run_each<M: Memory<Op>>(
        &self,
        memory: M,
        len: usize,
        layouts: Layouts,
        wants: Wants<Op::Carry>,
    ) -> Result<(), Error> {
        let heads = self.heads.heads();
        heads.check(len)?;
        let count = heads.check_each(len)?;
        let mut call = self.call(wants.totals()).over(layouts);
        // A reduction of rows takes the totals of a scan.
        call.request.reduction = None;
        match self.scanner.engine() {
            Engine::Cuda(device) if len > 0 => {
                let totals = HostTotals::per_segment(wants.pointer(), count);
                // SAFETY: the caller vouches for the memory.
                unsafe { call.scan_on_device(device, &memory.host(len), totals) }
            }
            _ => {
                self.check_planned(wants.totals())?;
                let _span = tells_of_calls().then(|| computing::<Op>(len));
                let Scan { op, kind, order, initial_value, .. } = self;
                let (values, totals) = (self.initial_values(), wants.pointer());
                let totals = (!totals.is_null()).then_some(cpu::TotalsAt(totals));
                // SAFETY: as above; the values have been counted.
                unsafe { cpu::scan_each(op, *kind, *order, *initial_value, values, &heads, memory, len, totals)? };
                self.report_all(len);
                Ok(())
            }
        }
    }
}

const NO_LAST_TOTAL: &str = "it has a total for each column: use the runs `…_with_totals`";
