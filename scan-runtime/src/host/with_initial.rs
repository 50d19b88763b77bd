//! Runs over host memory whose results include the initial value: one more for each row or column than it has elements.
//!
//! The initial values are written where they belong, and the others by an inclusive scan of the same arrays.

use std::sync::Arc;

use scan_codegen::{Axis, OutputsOf, ScanKind};

use super::{
    HostCall,
    axis::{AxisLayout, CallAxis},
    call::{Wants, arrays, in_memory_order},
    cost::{Cost, Kernels, bytes},
};
use crate::{
    Error, Host, Results, ScanOp,
    arrays::{HostInput, HostOutput, Lanes, Shape, fields::Lengths, strided::each_place},
    call::{
        Layouts, Request, Totals,
        with_initial::{NO_PLACES, check_results, refused, with_initial},
    },
    cpu::{self, Both, Reader, Writer},
    heads::{HeadKind, Heads, check_initial_values},
    room::room,
    run::NewResults,
    scanner::Engine,
};

/// The parts of such a run.
struct Parts<'a, Op: ScanOp> {
    /// The shape of the results, and how they lie.
    results: Axis,
    /// Where the initial values go.
    initial: Axis,
    /// The scan of all other results.
    others: HostCall<'a, Op>,
    /// Items of each array of the input,
    items: usize,
    /// and elements that are scanned.
    len: usize,
}

impl<'a, Op: ScanOp> HostCall<'a, Op> {
    /// The shape of the results of such an input.
    pub(super) fn results_shape(&self, shape: &[usize]) -> Vec<usize> {
        self.with_extents(shape, |extent| extent.saturating_add(1))
    }

    /// The shape of the input of such results.
    pub(super) fn elements_shape(&self, shape: &[usize]) -> Vec<usize> {
        self.with_extents(shape, |extent| extent.saturating_sub(1))
    }

    /// With another extent along the axis, if results include the initial value.
    fn with_extents(&self, shape: &[usize], extent: impl FnOnce(usize) -> usize) -> Vec<usize> {
        let number = match &self.along {
            CallAxis::None => 0,
            CallAxis::OfArrays(axis) => *axis,
            CallAxis::Known(along) => along.axis.axis() as isize,
        };
        let axis = if number < 0 { shape.len().checked_add_signed(number) } else { Some(number as usize) };
        let mut shape = shape.to_vec();
        if let (true, Some(along)) = (self.options.includes_initial, axis.and_then(|axis| shape.get_mut(axis))) {
            *along = extent(*along);
        }
        shape
    }

    /// The parts of a run over arrays of these lengths.
    fn parts(&self, input: Option<usize>, output: Option<usize>) -> Result<Parts<'a, Op>, Error> {
        let known = self.along.known();
        let items = match known {
            Some(along) => {
                let needed = along.axis.input_len();
                along.check_length("input", input.unwrap_or(needed), needed)?;
                input.unwrap_or(needed)
            }
            None => input.or(output.and_then(|output| output.checked_sub(1))).ok_or(Error::UnknownLength)?,
        };
        let len = known.map_or(items, |along| along.axis.len());
        self.heads.check(len)?;
        let axis = known.map(|along| &along.axis);
        let parts = with_initial(axis, self.heads.kind, self.options.order, len)?;
        check_results(&parts.results, output.unwrap_or(parts.results.output_len()))?;
        if let Some(values) = self.initial_values() {
            check_initial_values(values.len(), self.count_each(len)?)?;
        }
        let others = self.clone().along_layout(Arc::new(AxisLayout::new(parts.others)));
        others.check_initial()?;
        Ok(Parts { results: parts.results, initial: parts.initial, others, items, len })
    }

    /// What an exclusive scan needs, whose first results the initial values are.
    pub(super) fn check_initial(&self) -> Result<(), Error> {
        let begins = self.options.initial_value.is_some() || self.heads.initial_values.is_some();
        let needs = cpu::Needs { identity: !begins, outputs_of: OutputsOf::Prefixes };
        let surely = || self.options.overrides.is_none() && cpu::surely_planned(&*self.options.op, &Heads::NONE, needs);
        if self.prepared.is_some() || surely() {
            return Ok(());
        }
        let mut call = self.call(Totals::None);
        call.request = Request { kind: ScanKind::Exclusive, ..call.request };
        call.check()
    }

    /// This call as its kernels are planned: along the axis of the elements, as they lie beside the initial values.
    pub(super) fn as_planned(&self) -> Self {
        let axis = self.along.known().map(|along| &along.axis);
        let len = match (axis, self.heads.kind) {
            (Some(axis), _) => axis.len(),
            (None, HeadKind::Rows { len }) => len.saturating_mul(2),
            (None, _) => return self.clone(),
        };
        if !self.options.includes_initial {
            return self.clone();
        }
        let parts = with_initial(axis, self.heads.kind, self.options.order, len);
        parts.map_or(self.clone(), |parts| self.clone().along_layout(Arc::new(AxisLayout::new(parts.others))))
    }

    /// Runs into new memory.
    #[cold]
    pub(super) fn run_with_initial<R: Results, I: HostInput<Op::Input>>(
        &self,
        input: I,
    ) -> Result<NewResults<R, Host, Op, I::Shape>, Error> {
        let mut inputs = Lengths::of("input");
        input.items(&mut inputs);
        let parts = self.parts(inputs.len()?, None)?;
        let (results, count) = (&parts.results, parts.results.len());
        if results.output_len() != count {
            return Err(Error::AxisGaps { shape: results.shape().to_vec() });
        }
        let totals = self.wanted(R::ADDED);
        let scanned = parts.scanned(totals == Totals::PerSegment);
        let engine = scanned.engine(Cost {
            elements: parts.len,
            bytes: bytes::<Op, I, &mut [Op::Output]>(parts.items, count),
            slices: &|each| input.slices(each),
            kernels: Some(Kernels::of::<Op, I, &mut [Op::Output]>(totals)),
        });
        let (output, totals) = self.with_totals::<R, _>(parts.len, |wants| {
            let input = input.hold(0, parts.lanes(engine, &wants))?;
            let mut output = room(count)?;
            let (from, to) = (I::at(&input), output.as_mut_ptr());
            // SAFETY: each held array has that many items; the vector has room for all results, and nothing else points
            // there.
            let total = unsafe { parts.run(engine, from, to, arrays::<Op, I, &mut [Op::Output]>(), wants)? };
            // SAFETY: every result has been written.
            unsafe { output.set_len(count) };
            Ok((output, total))
        })?;
        Ok(R::with(I::Shape::new(output, results.shape(), results.both_strides().1)?, totals))
    }

    /// Runs into the arrays of an output.
    #[cold]
    pub(super) fn run_into_with_initial<R: Results, I: HostInput<Op::Input>, O: HostOutput<Op::Output>>(
        &self,
        input: I,
        mut output: O,
    ) -> Result<R::Totals<Host, Op::Carry>, Error> {
        if !O::KINDS.iter().all(in_memory_order) {
            return refused(NO_PLACES);
        }
        let (mut inputs, mut outputs) = (Lengths::of("input"), Lengths::of("output"));
        input.items(&mut inputs);
        output.items(&mut outputs);
        let found = outputs.len()?;
        let parts = self.parts(inputs.len()?, found)?;
        let len = found.unwrap_or(parts.results.output_len());
        let totals = self.wanted(R::ADDED);
        let scanned = parts.scanned(totals == Totals::PerSegment);
        let engine = scanned.engine(Cost {
            elements: parts.len,
            bytes: bytes::<Op, I, O>(parts.items, len),
            slices: &|each| {
                input.slices(each);
                output.slices(each);
            },
            kernels: Some(Kernels::of::<Op, I, O>(totals)),
        });
        let ((), totals) = self.with_totals::<R, _>(parts.len, |wants| {
            let lanes = parts.lanes(engine, &wants);
            let input = input.hold(0, lanes)?;
            let mut output = output.hold(0, Lanes { len, part: len, axis: Some(&parts.results), ..lanes })?;
            let to = O::at(&mut output, 0);
            // SAFETY: each held array has that many items, those of the output exclusively borrowed.
            let total = unsafe { parts.run(engine, I::at(&input), to, arrays::<Op, I, O>(), wants)? };
            // SAFETY: every result has been written.
            unsafe { O::finish(output)? };
            Ok(((), total))
        })?;
        Ok(totals)
    }
}

impl<Op: ScanOp> Parts<'_, Op> {
    /// What the arrays of the input are held for.
    fn lanes(&self, engine: &Engine, wants: &Wants<Op::Carry>) -> Lanes<'_> {
        self.others.lanes_of(engine, self.items, wants)
    }

    /// Writes all results. Gives the last total, if that is wanted and there is one.
    ///
    /// # Safety
    ///
    /// The input is valid for reads of its items, the output for writes of all results.
    unsafe fn run<I: Reader<Op::Input>, O: Writer<Op::Output>>(
        &self,
        engine: &Engine,
        input: I,
        output: O,
        layouts: Layouts,
        wants: Wants<Op::Carry>,
    ) -> Result<Option<Op::Carry>, Error> {
        let others = &self.others;
        #[cfg(feature = "cuda")]
        if self.len > 0 {
            others.note_columns_on_device(layouts)?;
        }
        // SAFETY: the caller vouches for the output.
        unsafe { self.write_initial(output)? };
        let scanned = self.scanned(matches!(wants, Wants::PerSegment(_)));
        let first = match (others.along.known(), scanned.along.known()) {
            (Some(along), None) => along.layout().firsts()[1],
            _ => 0,
        };
        // SAFETY: as above; the results of the elements of one row begin there.
        unsafe { scanned.run_memory(engine, Both { input, output: output.skip(first) }, self.len, layouts, wants) }
    }

    /// The scan of the elements: of one row it is one without an axis, unless that has values of its own.
    fn scanned(&self, with_totals: bool) -> HostCall<'_, Op> {
        let others = &self.others;
        let is_one_row = others.along.known().is_some_and(|along| along.is_one_row());
        let has_values = others.initial_values().is_some() || with_totals;
        let along = if is_one_row && !has_values { CallAxis::None } else { others.along.clone() };
        HostCall { along, ..others.clone() }
    }

    /// Writes the initial value of each column.
    ///
    /// # Safety
    ///
    /// As for [`run`](Parts::run).
    unsafe fn write_initial<O: Writer<Op::Output>>(&self, output: O) -> Result<(), Error> {
        let options = self.others.options;
        let mut values = self.others.initial_values().map(|values| values.iter());
        let strides = self.initial.both_strides().1;
        let mut shape = self.initial.shape().to_vec();
        shape[self.initial.axis()] = 1;
        let (first, mut base) = (self.initial.layout().firsts()[1], None);
        let mut result = Ok(());
        let begin = if values.is_none() { Some(options.result_of_nothing()?) } else { None };
        each_place(&shape, [strides], |_, [place]| {
            let base = *base.get_or_insert(place);
            let value = match (&begin, values.as_mut().and_then(Iterator::next)) {
                (Some(result), _) => Ok(*result),
                (None, Some(value)) => cpu::project(&*options.op, *value),
                (None, None) => return,
            };
            match value {
                // SAFETY: the caller vouches for the output; the first column's result is the `first` item.
                Ok(value) => unsafe { output.write(first.wrapping_add(place.wrapping_sub(base)), value) },
                Err(error) => result = Err(error),
            }
        });
        result
    }
}
