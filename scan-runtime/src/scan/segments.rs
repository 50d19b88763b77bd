//! Reductions by segments of host memory: a total for each.

use std::ops::Range;

use crate::{
    Error, Heads, Reduce, ScanOp,
    call::Totals,
    cpu,
    element::bytes_of,
    heads::{GROUP, HeadKind},
    prepared::check_len,
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

impl<Op: ScanOp> Reduce<Op, Heads<'_>> {
    /// Reduces each segment of a slice. On the GPU the segments are scanned, and the last result of each comes back. Of
    /// a segment that is longer than a [chunk](crate::Staging::with_chunk_bytes) the total comes back, and `project` is
    /// called on the host.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) for an empty segment, no initial value and no identity;
    /// those of [`Scan::run`](crate::Scan::run) of a scan that restarts.
    pub fn run(&self, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        if let Some(along) = &self.along {
            return self.reduce_columns(along, input);
        }
        check_len(input.len(), self.max_len)?;
        // Keys that the planner refuses have no bytes to compare.
        self.check_planned(Totals::None)?;
        self.heads.check(input.len())?;
        let initial_values = self.initial_values();
        if initial_values.is_some() {
            self.heads.check_each(input.len())?;
        }
        let initial_value = |index: usize| initial_values.map_or(self.initial_value, |values| Some(values[index]));
        let of_nothing = |index: usize| match initial_values {
            Some(values) => cpu::project(&self.op, values[index]),
            None => self.result_of_nothing(),
        };
        let segments = segments(&self.heads, input.len());
        if let Engine::Cuda(device) = self.scanner.engine() {
            let empty = |(index, segment): (usize, &Range<usize>)| match segment.is_empty() {
                true => of_nothing(index).map(Some),
                false => Ok(None),
            };
            let of_empty = segments.iter().enumerate().map(empty).collect::<Result<Vec<_>, _>>()?;
            let Some(first) = segments.iter().find(|segment| !segment.is_empty()) else {
                self.report_all(input.len());
                return Ok(of_empty.into_iter().flatten().collect());
            };
            // Any result holds a place.
            let first = self.op.carry_of(self.op.lift(input[first.start]));
            let any_result = cpu::project(&self.op, first)?;
            let mut results = vec![any_result; segments.len()];
            let places = self.places(input, results.as_mut_ptr());
            let call = self.call(Totals::None);
            // SAFETY: the input is a slice, and there is room for a result of each segment.
            unsafe { call.reduce_segments_on_device(device, &places, &segments, &bytes_of(&any_result))? };
            let with_empty = results.into_iter().zip(of_empty).map(|(result, of_empty)| of_empty.unwrap_or(result));
            return Ok(with_empty.collect());
        }
        let _span = tells_of_calls().then(|| computing::<Op>(input.len()));
        let reduced = |index: usize| match cpu::reduce(&self.op, initial_value(index), &input[segments[index].clone()])?
        {
            Some(total) => cpu::project(&self.op, total),
            None => of_nothing(index),
        };
        let of_part = |part: usize| {
            let segments = part * SHARED..segments.len().min((part + 1) * SHARED);
            segments.map(&reduced).collect::<Result<Vec<_>, _>>()
        };
        let results = cpu::try_map(segments.len().div_ceil(SHARED), of_part)?.concat();
        self.report_all(input.len());
        Ok(results)
    }
}

/// Segments that a thread takes at a time.
const SHARED: usize = 64;

/// The segments of an input of this length, whose heads have been checked.
fn segments(heads: &Heads<'_>, len: usize) -> Vec<Range<usize>> {
    if let HeadKind::Offsets(_) = heads.kind {
        return heads.between_offsets();
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
