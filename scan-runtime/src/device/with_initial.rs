//! Runs over device memory whose results include the initial value: one more for each row or column than it has elements.
//!
//! Two scans write to one output: an exclusive one of one element of each column, which gives the initial values, and
//! an inclusive one.

use std::sync::Arc;

use scan_codegen::{ArrayKind, ArrayKinds, Axis, Reduction, ScanKind, WithInitial};

use super::{
    arrays::{ErasedInput, ErasedOutput, Found, Words},
    call::{DeviceCall, DeviceInitial, DeviceTotals, Way},
    handle::Handle,
};
use crate::{
    Error,
    call::{
        Call, Initial, Layouts, Request, Totals,
        with_initial::{IN_PLACE, NO_PLACES, check_results, refused, with_initial},
    },
    error::expect_len,
    heads::{HeadKind, check_initial_values},
    host::axis::AxisLayout,
};

const LATE: &str = "two scans read the initial value; give it with `init_from`, once it is there";
const LENGTH: &str = "the host must know where each row ends; scan without `len_from`";
const ROWS: &str = "a handle must know how many rows there are; prepare it `.along(Axis::of(&[rows, len], 1)?)`";
const NOTHING: &str = "without elements, a device writes them to one slice and takes one value from the host; give that \
                       with `init`, or skip the call";

impl DeviceCall<'_> {
    fn parts(&self, len: usize) -> Result<WithInitial, Error> {
        let order = self.request(Totals::None, Layouts::default()).order;
        with_initial(self.axis.as_deref().map(|along| &along.axis), self.heads.kind, order, len)
    }

    /// How many results a new output has, of an input of this length.
    pub(super) fn new_len_with_initial(&self, input: Option<usize>) -> Result<usize, Error> {
        let len = match self.axis.as_deref() {
            Some(along) => along.axis.len(),
            None => input.ok_or(Error::UnknownLength)?,
        };
        let results = self.parts(len)?.results;
        match results.output_len() == results.len() {
            true => Ok(results.len()),
            false => Err(Error::AxisGaps { shape: results.shape().to_vec() }),
        }
    }

    /// Enqueues both scans.
    pub(super) fn run_with_initial(
        &self,
        input: Option<&dyn ErasedInput>,
        output: &mut dyn ErasedOutput,
        totals: DeviceTotals<'_>,
    ) -> Result<(), Error> {
        let Some(input) = input else { return refused(IN_PLACE) };
        if self.len.is_some() {
            return refused(LENGTH);
        }
        if let DeviceInitial::Late(_) = self.initial {
            return refused(LATE);
        }
        let device = self.device()?;
        let mut inputs = Found::of("input");
        input.describe(&mut |array| inputs.add(device, array));
        let (kinds, found) = {
            let mut outputs = Found::of("output");
            output.describe(&mut |array| outputs.add(device, array));
            (outputs.kinds(), outputs.len()?)
        };
        if kinds.any(|kind| !matches!(kind, ArrayKind::Slice | ArrayKind::NoMemory)) {
            return refused(NO_PLACES);
        }
        let len = match (self.axis.as_deref(), inputs.len()?) {
            (Some(along), _) => along.axis.len(),
            (None, Some(len)) => len,
            (None, None) => found.and_then(|found| found.checked_sub(1)).ok_or(Error::UnknownLength)?,
        };
        let WithInitial { results, initial, others } = self.parts(len)?;
        check_results(&results, found.unwrap_or(results.output_len()))?;
        if let DeviceInitial::Each(values) = self.initial {
            check_initial_values(values.count(), self.per_segment(len)?)?;
        }
        if let (None, HeadKind::None, Totals::PerSegment) = (self.axis.as_ref(), self.heads.kind, totals.wanted()) {
            self.heads.check_each(len)?;
        }
        if len == 0 {
            return self.write_initial_of_nothing(output, kinds, totals, results.len());
        }
        let (first, rest) = (self.of_initial()?.over(initial), self.clone().over(others));
        first.run_part(Some(input), output, DeviceTotals::None)?;
        rest.run_part(Some(input), output, totals)
    }

    /// The same along this axis, without segments.
    fn over(self, axis: Axis) -> Self {
        self.along_layout(Arc::new(AxisLayout::new(axis)))
    }

    /// The scan that gives the initial values.
    fn of_initial(&self) -> Result<Self, Error> {
        let way = match self.way {
            Way::Call(call, stream) => Way::Call(exclusive(call), stream),
            Way::Prepared(handle) => Way::Prepared(handle.initial.as_deref().ok_or(Error::AlreadyPrepared)?),
        };
        Ok(DeviceCall { way, extra: None, ..self.clone() })
    }

    /// Writes the results of `columns` columns without elements, and their totals.
    fn write_initial_of_nothing(
        &self,
        output: &mut dyn ErasedOutput,
        kinds: ArrayKinds,
        totals: DeviceTotals<'_>,
        columns: usize,
    ) -> Result<(), Error> {
        let stream = self.stream();
        let layouts = Layouts { output: (output.arrays(), kinds), ..Layouts::default() };
        let request = Request { reduction: Some(Reduction::default()), ..self.request(Totals::None, layouts) };
        let is_one_value = layouts == Layouts::default() && matches!(request.initial, Initial::None | Initial::Value);
        let is_each = matches!((self.way, self.initial), (Way::Call(..), DeviceInitial::None | DeviceInitial::Each(_)));
        if !is_one_value && !is_each {
            return refused(NOTHING);
        }
        if let Way::Call(call, _) = self.way {
            exclusive(call).check()?;
        }
        if columns > 0 {
            let mut writing = Words::new(None, None);
            output.words(stream, &mut writing);
            // SAFETY: the output has room for a result of each column, as has been checked.
            unsafe {
                match is_one_value {
                    true => {
                        let of_nothing = |call: &Call<'_>| call.result_of_nothing();
                        let to = writing.words()[0];
                        self.write_bytes(of_nothing, |handle| handle.result_of_nothing.as_deref(), to, columns)?;
                    }
                    false => self.write_results_of_nothing(&request, writing.words(), columns)?,
                }
            }
        }
        let Some(array) = totals.into_array() else { return Ok(()) };
        self.device()?.check_context("total", array.stream())?;
        expect_len("totals", array.count(), columns, "there is one total for each column")?;
        self.write_totals_of_nothing(array)
    }

    /// Prepares both scans.
    pub(super) fn prepare_with_initial(&self, request: Request, max_len: usize) -> Result<Handle, Error> {
        if !self.heads.kind.is_none() && self.axis.is_none() {
            return refused(ROWS);
        }
        let Way::Call(call, stream) = self.way else { return Err(Error::AlreadyPrepared) };
        let of_initial = Request { kind: ScanKind::Exclusive, totals: Totals::None, ..request };
        let first = DeviceCall { way: Way::Call(exclusive(call), stream), ..self.clone() };
        let (mut handle, initial) = match self.axis.as_deref() {
            Some(along) => {
                let WithInitial { initial, others, .. } = self.parts(along.axis.len())?;
                let heads = HeadKind::None;
                let (request, of_initial) = (Request { heads, ..request }, Request { heads, ..of_initial });
                let columns = along.axis.columns();
                let first = first.over(initial).prepare_part(of_initial, columns)?;
                (self.clone().over(others).prepare_part(request, max_len)?, first)
            }
            None => (self.prepare_part(request, max_len)?, first.prepare_part(of_initial, 1)?),
        };
        handle.initial = Some(Box::new(initial));
        handle.axis = self.axis.clone();
        Ok(handle)
    }
}

/// The scan whose first results are the initial values.
fn exclusive(call: Call<'_>) -> Call<'_> {
    Call { request: Request { kind: ScanKind::Exclusive, totals: Totals::None, ..call.request }, ..call }
}
