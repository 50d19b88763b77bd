//! Reductions of host memory: one result, or one for each segment.

use std::ops::Range;

use scan_codegen::Axis;

#[cfg(feature = "cuda")]
use super::call::arrays;
use super::{
    HostCall,
    call::Wants,
    cost::{Cost, Kernels, bytes},
};
#[cfg(feature = "cuda")]
use crate::scanner::Engine;
use crate::{
    Error, ScanOp,
    arrays::{HostInput, HostOutput, Lanes, Never, Shape, Shaped, fields::Lengths},
    call::Totals,
    cpu::{self, Writer},
    error::expect_len,
    heads::{GROUP, HeadKind, Heads},
    room::room,
    scan::Options,
    telemetry::{computing, tells_of_calls},
};

impl<Op: ScanOp> HostCall<'_, Op> {
    /// Reduces an input to one result.
    pub(super) fn reduce<I: HostInput<Op::Input>>(&self, input: I) -> Result<Op::Output, Error> {
        let is_shaped = I::SHAPED && self.of_shape(&input, None::<&Never>)?.is_some();
        if is_shaped || self.along.known().is_some() {
            let (prepared, found) = ("an axis".to_owned(), "no `.along(axis)`".to_owned());
            return Err(Error::HandleMismatch { prepared, found });
        }
        let len = length::<Op, _>(&input)?;
        self.check_prepared(len, Totals::None)?;
        self.check_planned(Totals::None)?;
        let engine = self.engine(Cost {
            elements: len,
            bytes: bytes::<Op, I, Never>(len, 0),
            slices: &|each| input.slices(each),
            kernels: Some(Kernels::of::<Op, I, &mut [Op::Output]>(Totals::None)),
        });
        let held = input.hold(0, self.lanes_of(engine, len, &Wants::Nothing))?;
        let Options { op, order, initial_value, .. } = self.options;
        #[cfg(feature = "cuda")]
        if len > 0 {
            self.note_reduction(I::at(&held), len, arrays::<Op, I, &mut [Op::Output]>())?;
        }
        #[cfg(feature = "cuda")]
        if let (Engine::Cuda(device), 1..) = (engine, len) {
            // SAFETY: what is held has so many items.
            return unsafe { self.reduce_on_device(device, I::at(&held), len, arrays::<Op, I, &mut [Op::Output]>()) };
        }
        let _span = tells_of_calls().then(|| computing::<Op>(len));
        // SAFETY: as above.
        let total =
            self.watched(len, |watch| unsafe { cpu::reduce(&**op, *order, *initial_value, I::at(&held), len, watch) })?;
        match total {
            Some(total) => cpu::project(&*self.options.op, total),
            None => self.options.result_of_nothing(),
        }
    }

    /// Reduces each segment of an input, or each column along an axis, into new memory.
    pub(super) fn reduce_each<I: HostInput<Op::Input>>(
        &self,
        input: I,
    ) -> Result<<I::Shape as Shape>::Reduced<Op::Output>, Error> {
        let (results, shape) = self.reduce_shaped(input)?;
        I::Shape::reduced(results, shape.as_deref())
    }

    /// The results in a vector, and along an axis their shape.
    #[allow(clippy::type_complexity, reason = "a pair reads better than a struct of its own")]
    pub(crate) fn reduce_shaped<I: HostInput<Op::Input>>(
        &self,
        input: I,
    ) -> Result<(Vec<Op::Output>, Option<Vec<usize>>), Error> {
        let of_shape = self.of_shape(&input, None::<&Never>)?;
        let call = of_shape.as_ref().unwrap_or(self);
        let shape = call.along.known().map(|along| {
            let mut shape = along.axis.shape().to_vec();
            shape.remove(along.axis.axis());
            shape
        });
        Ok((call.reduce_segments(input)?, shape))
    }

    /// The same into a vector, where the shape is known.
    fn reduce_segments<I: HostInput<Op::Input>>(&self, input: I) -> Result<Vec<Op::Output>, Error> {
        if let Some(along) = self.along.known() {
            return self.reduce_columns(along, input);
        }
        if self.heads.kind.is_none() && self.heads.initial_values.is_none() {
            return Ok(vec![self.reduce(input)?]);
        }
        let len = length::<Op, _>(&input)?;
        self.check_prepared(len, Totals::None)?;
        // Keys that the planner refuses have no bytes to compare.
        self.check_planned(Totals::None)?;
        self.heads.check(len)?;
        let initial_values = self.initial_values();
        if initial_values.is_some() {
            self.heads.check_each(len)?;
        }
        let options = self.options;
        let Options { op, order, initial_value, .. } = options;
        let initial_value = |index: usize| initial_values.map_or(*initial_value, |values| Some(values[index]));
        let of_nothing = |index: usize| match initial_values {
            Some(values) => cpu::project(&**op, values[index]),
            None => options.result_of_nothing(),
        };
        let segments = segments(&self.heads, len);
        let work = self.heads.combined(len);
        let engine = self.engine(Cost {
            elements: work,
            bytes: bytes::<Op, I, &mut [Op::Output]>(len, segments.len()),
            slices: &|each| input.slices(each),
            kernels: Some(Kernels::of::<Op, I, &mut [Op::Output]>(Totals::None)),
        });
        let held = input.hold(0, self.lanes_of(engine, len, &Wants::Nothing))?;
        #[cfg(feature = "cuda")]
        let layouts = arrays::<Op, I, &mut [Op::Output]>();
        #[cfg(feature = "cuda")]
        if segments.iter().any(|segment| !segment.is_empty()) {
            self.note_segments(I::at(&held), len, layouts)?;
        }
        #[cfg(feature = "cuda")]
        if let Engine::Cuda(device) = engine {
            // SAFETY: what is held has so many items.
            return unsafe {
                self.reduce_segments_on_device(device, I::at(&held), len, layouts, &segments, of_nothing)
            };
        }
        let _span = tells_of_calls().then(|| computing::<Op>(work));
        let input = Shared(I::at(&held));
        self.watched(work, |watch| {
            let of_part = |part: usize| -> Result<_, Error> {
                let part = part * SHARED..segments.len().min((part + 1) * SHARED);
                let mut results = Vec::with_capacity(part.len());
                let segments = part.clone().zip(segments[part].iter().cloned());
                // SAFETY: the segments are within the input.
                unsafe {
                    let input = input.get();
                    cpu::reduce_each(&**op, *order, segments, initial_value, of_nothing, input, watch, &mut results)?;
                }
                Ok(results)
            };
            let parts = cpu::try_map(segments.len().div_ceil(SHARED), of_part)?;
            let mut results = room(segments.len())?;
            parts.into_iter().for_each(|part| results.extend(part));
            Ok(results)
        })
    }

    /// Reduces each segment of an input, or each column along an axis, into an output.
    pub(super) fn reduce_into<I: HostInput<Op::Input>, O: HostOutput<Op::Output>>(
        &self,
        input: I,
        mut output: O,
    ) -> Result<(), Error> {
        let mut outputs = Lengths::of("output");
        output.items(&mut outputs);
        let found = outputs.len()?;
        let (results, shape) = self.reduce_shaped(input)?;
        if let (Some(first), Some(Shaped { shape: second, .. })) = (&shape, output.shape()?)
            && *first != second
        {
            return Err(Error::AxisShapes { first: first.clone(), second });
        }
        // Results are in standard order, which any axis of their shape describes.
        let axis = shape.filter(|shape| !shape.is_empty()).map(|shape| Axis::of(&shape, 0)).transpose()?;
        let why = "a reduction writes one result, or one for each segment";
        expect_len("output", found.unwrap_or(results.len()), results.len(), why)?;
        let count = results.len();
        let lanes = Lanes { len: count, part: count, memory: true, device: false, row: count, axis: axis.as_ref() };
        let mut held = output.hold(0, lanes)?;
        let to = O::at(&mut held, 0);
        for (index, result) in results.into_iter().enumerate() {
            // SAFETY: what is held has room for so many results.
            unsafe { to.write(index, result) };
        }
        // SAFETY: every item has been written.
        unsafe {
            O::flush(&mut held, 0, count)?;
            O::finish(held)
        }
    }
}

/// An input that several threads read.
struct Shared<R>(R);

// SAFETY: elements can be read on any thread.
unsafe impl<R> Sync for Shared<R> {}

impl<R: Copy> Shared<R> {
    fn get(&self) -> R {
        self.0
    }
}

/// The length of an input.
fn length<Op: ScanOp, I: HostInput<Op::Input>>(input: &I) -> Result<usize, Error> {
    let mut lengths = Lengths::of("input");
    input.items(&mut lengths);
    lengths.len()?.ok_or(Error::UnknownLength)
}

/// Segments that a thread takes at a time.
const SHARED: usize = 64;

/// The segments of an input of this length, whose heads have been checked.
fn segments(heads: &Heads<'_>, len: usize) -> Vec<Range<usize>> {
    if let Some(segments) = heads.positioned() {
        return segments;
    }
    let mut starts = Vec::new();
    if let HeadKind::Rows { len: row } = heads.kind {
        // Without elements there are no rows, of whatever length.
        starts.extend((0..len).step_by(row.max(1)));
    } else {
        let mut cursor = heads.cursor(0);
        for start in (0..len).step_by(GROUP) {
            let mask = cursor.mask(start..len.min(start + GROUP));
            // The first element begins a segment whatever its flag, bit or key.
            let mut rest = if start == 0 { mask | 1 } else { mask };
            while rest != 0 {
                starts.push(start + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }
    let ends = starts.iter().skip(1).copied().chain([len]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}
