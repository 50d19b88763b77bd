//! Reductions of host memory: one result, or one for each segment.

use std::{mem::MaybeUninit, ops::Range};

use scan_codegen::{ArrayKind, ArrayKinds, Arrays};

use super::{
    HostCall,
    call::{Wants, arrays},
};
use crate::{
    Error, ScanOp,
    arrays::{HostInput, HostOutput, fields::Lengths},
    call::{HostPlaces, Layouts, Totals},
    cpu::{self, Both, Memory, Reader, Unwritten, Writer},
    cuda::CudaDevice,
    error::expect_len,
    heads::{GROUP, HeadKind, Heads},
    room::room,
    scan::Options,
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

impl<Op: ScanOp> HostCall<'_, Op> {
    /// Reduces an input to one result.
    pub(super) fn reduce<I: HostInput<Op::Input>>(&self, input: I) -> Result<Op::Output, Error> {
        if self.along.is_some() {
            let (prepared, found) = ("an axis".to_owned(), "no `.along(axis)`".to_owned());
            return Err(Error::HandleMismatch { prepared, found });
        }
        let len = length::<Op, _>(&input)?;
        self.check_prepared(len, Totals::None)?;
        self.check_planned(Totals::None)?;
        let held = input.hold(0, self.lanes_of(len, &Wants::Nothing))?;
        let total = match self.options.scanner.engine() {
            // SAFETY: what is held has so many items.
            Engine::Cuda(device) if len > 0 => unsafe {
                return self.reduce_on_device(device, I::at(&held), len, arrays::<Op, I, &mut [Op::Output]>());
            },
            _ => {
                let _span = tells_of_calls().then(|| computing::<Op>(len));
                let Options { op, initial_value, .. } = self.options;
                // SAFETY: as above.
                let total = unsafe { cpu::reduce(&**op, *initial_value, I::at(&held), len)? };
                self.report_all(len);
                total
            }
        };
        match total {
            Some(total) => cpu::project(&*self.options.op, total),
            None => self.options.result_of_nothing(),
        }
    }

    /// # Safety
    ///
    /// There are `len` elements.
    unsafe fn reduce_on_device(
        &self,
        device: &CudaDevice,
        input: impl Reader<Op::Input>,
        len: usize,
        layouts: Layouts,
    ) -> Result<Op::Output, Error> {
        let mut result = MaybeUninit::<Op::Output>::uninit();
        let host = Memory::<Op>::host(Both { input, output: result.as_mut_ptr() }, len);
        if layouts == Layouts::default() && host.kinds.is_none() {
            // SAFETY: the caller vouches for the input, and there is room for the result, which is written.
            return unsafe {
                self.call(Totals::None).reduce_on_device(device, &host)?;
                Ok(result.assume_init())
            };
        }
        // The kernel of reductions reads one array. Of others a scan gives the total.
        let output = (Arrays::One, ArrayKinds::new([ArrayKind::NoMemory]));
        let host = Memory::<Op>::host(Both { input, output: Unwritten }, len);
        // SAFETY: the caller vouches for the input; results have no memory.
        let total = unsafe { self.run_on_device(device, &host, Layouts { output, ..layouts }, Wants::Last)? };
        match total {
            Some(total) => cpu::project(&*self.options.op, total),
            None => self.options.result_of_nothing(),
        }
    }

    /// Reduces each segment of an input, or each column along an axis.
    pub(super) fn reduce_segments<I: HostInput<Op::Input>>(&self, input: I) -> Result<Vec<Op::Output>, Error> {
        if let Some(along) = &self.along {
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
        let Options { op, initial_value, scanner, .. } = options;
        let initial_value = |index: usize| initial_values.map_or(*initial_value, |values| Some(values[index]));
        let of_nothing = |index: usize| match initial_values {
            Some(values) => cpu::project(&**op, values[index]),
            None => options.result_of_nothing(),
        };
        let held = input.hold(0, self.lanes_of(len, &Wants::Nothing))?;
        let segments = segments(&self.heads, len);
        if let Engine::Cuda(device) = scanner.engine() {
            let mut results = room::<Op::Output>(segments.len())?;
            let host = Memory::<Op>::host(Both { input: I::at(&held), output: results.as_mut_ptr() }, len);
            let layouts = arrays::<Op, I, &mut [Op::Output]>();
            // SAFETY: what is held has so many items, and there is room for a result of each segment.
            unsafe { self.reduce_segments_on_device(device, &host, layouts, &segments)? };
            for (index, segment) in segments.iter().enumerate() {
                if segment.is_empty() {
                    let of_nothing = of_nothing(index)?;
                    // SAFETY: there is room for a result of each segment.
                    unsafe { results.as_mut_ptr().add(index).write(of_nothing) };
                }
            }
            // SAFETY: the kernels have written the results of all segments that have elements.
            unsafe { results.set_len(segments.len()) };
            return Ok(results);
        }
        let _span = tells_of_calls().then(|| computing::<Op>(len));
        let input = Shared(I::at(&held));
        let reduced = |index: usize| {
            let Range { start, end } = segments[index].clone();
            // SAFETY: the segment is within the input.
            let total = unsafe { cpu::reduce(&**op, initial_value(index), input.get().skip(start), end - start)? };
            total.map_or_else(|| of_nothing(index), |total| cpu::project(&**op, total))
        };
        let of_part = |part: usize| {
            let segments = part * SHARED..segments.len().min((part + 1) * SHARED);
            segments.map(&reduced).collect::<Result<Vec<_>, _>>()
        };
        let results = cpu::try_map(segments.len().div_ceil(SHARED), of_part)?.concat();
        self.report_all(len);
        Ok(results)
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
        let results = self.reduce_segments(input)?;
        let why = "a reduction writes one result, or one for each segment";
        expect_len("output", found.unwrap_or(results.len()), results.len(), why)?;
        let mut held = output.hold(0, results.len(), true)?;
        let to = O::at(&mut held);
        for (index, result) in results.into_iter().enumerate() {
            // SAFETY: what is held has room for so many results.
            unsafe { to.write(index, result) };
        }
        // SAFETY: every item has been written.
        unsafe { O::finish(held) }
    }

    /// # Safety
    ///
    /// The input is valid for reads of `host.len` items, the output for a write of a result for each segment.
    unsafe fn reduce_segments_on_device(
        &self,
        device: &CudaDevice,
        host: &HostPlaces,
        layouts: Layouts,
        segments: &[Range<usize>],
    ) -> Result<(), Error> {
        if segments.iter().all(Range::is_empty) {
            self.report_all(host.len);
            return Ok(());
        }
        // What kernels write for segments without elements is replaced.
        let any_result = vec![0; size_of::<Op::Output>()];
        // SAFETY: the caller vouches for the memory.
        unsafe { self.call(Totals::None).over(layouts).reduce_segments_on_device(device, host, segments, &any_result) }
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
