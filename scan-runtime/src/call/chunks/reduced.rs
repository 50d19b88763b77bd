//! Reductions by segments of host memory on a device. Segments are scanned there, and only the last result of each comes
//! back.

use std::{ops::Range, ptr, sync::Arc};

use cudarc::driver::CudaStream;
use scan_codegen::{ArrayKind, ArrayKinds};

use super::{Chunk, Content, Each, HostPlaces, Reported, plan::in_order};
use crate::{
    Error,
    call::{Call, HostTotals, Request, Totals},
    cpu::Order,
    cuda::{CudaDevice, HostMemory, InOut, Places, Runs, SideBuffers, in_chunks},
    device::work::DeviceWork,
    few::Few,
    heads::HeadKind,
};

/// The chunks of segments, of at most `max` elements each: whole segments, or parts of one that is longer. Segments
/// without elements are with others, or in no chunk. The parts of a segment are in the order of the scan.
fn chunks_of_segments(segments: &[Range<usize>], max: usize, order: Order) -> Vec<Chunk> {
    let max = max.max(1);
    let (mut chunks, mut index) = (Vec::new(), 0);
    while let Some(segment) = segments.get(index) {
        let start = segment.start;
        let fitting = segments[index..].partition_point(|segment| segment.end - start <= max);
        if fitting > 0 {
            let whole = index..index + fitting;
            let elements = start..segments[whole.end - 1].end;
            if !elements.is_empty() {
                chunks.push(Chunk { output: whole.clone(), ..Chunk::of(elements, Content::Whole(whole.clone())) });
            }
            index = whole.end;
            continue;
        }
        let part = |first: usize| {
            let end = segment.end.min(first.saturating_add(max));
            let content = Content::Part { of: index..index + 1, first: first == start, last: end == segment.end };
            Chunk { output: 0..0, ..Chunk::of(first..end, content) }
        };
        chunks.extend(in_order(segment.clone().step_by(max).map(part).collect(), order));
        index += 1;
    }
    chunks
}

impl Call<'_> {
    /// Reduces the segments of an input into a result for each. Those of segments without elements are copies of
    /// `any_result`, where kernels write one.
    ///
    /// # Safety
    ///
    /// The input is valid for reads of `host.len` items, the output for a write of a result for each segment.
    pub(crate) unsafe fn reduce_segments_on_device(
        &self,
        device: &CudaDevice,
        host: &HostPlaces,
        segments: &[Range<usize>],
        any_result: &[u8],
    ) -> Result<(), Error> {
        // The input is read; what is not a part of a segment writes results of its own.
        let host = HostPlaces { in_place: false, ..*host };
        let kinds = host.kinds.map(|(inputs, _)| (inputs, ArrayKinds::new([ArrayKind::NoMemory])));
        let inputs = HostPlaces { output: Few::default(), kinds, ..host };
        let order = self.request.order;
        let mut chunks = chunks_of_segments(segments, device.chunk(host.element_bytes()), order);
        let parts: Vec<Chunk> = chunks.extract_if(.., |chunk| chunk.is_part()).collect();
        let of_parts = Call { request: Request { totals: Totals::Last, ..self.request }, ..*self };
        let (parts, whole) = match of_parts.has_kernels_of_chunks(device, &inputs, &parts)? {
            true => (parts, chunks),
            false => (Vec::new(), chunks_of_segments(segments, usize::MAX, order)),
        };
        let reported = Reported::new(self.progress, 0, host.len);
        let reduce = |chunk: &Chunk| {
            // SAFETY: the caller vouches for the memory.
            unsafe { self.reduce_chunk(device, &host, chunk, any_result)? };
            reported.add(chunk.len)
        };
        match &whole[..] {
            [chunk] => reduce(chunk)?,
            chunks => in_chunks(chunks.len(), &|index, _| reduce(&chunks[index]))?,
        }
        let mut done: usize = whole.iter().map(|chunk| chunk.len).sum();
        for parts in parts.chunk_by(|_, next| !matches!(next.content, Content::Part { first: true, .. })) {
            let Some(Chunk { content: Content::Part { of, .. }, .. }) = parts.first() else { continue };
            let output = host.output.first().map(|output| output.starting_at(of.start));
            // SAFETY: the caller vouches for the input, and for a result of each segment.
            unsafe { of_parts.reduce_chunks(device, &inputs, parts, done, output.as_ref())? };
            done += segments[of.start].len();
        }
        // Elements before the first offset, and after the last one, are in no segment.
        if done < host.len {
            self.report_all(host.len);
        }
        Ok(())
    }

    /// Reduces whole segments.
    ///
    /// # Safety
    ///
    /// As for [`reduce_segments_on_device`](Call::reduce_segments_on_device).
    unsafe fn reduce_chunk(
        &self,
        device: &CudaDevice,
        host: &HostPlaces,
        chunk: &Chunk,
        any_result: &[u8],
    ) -> Result<(), Error> {
        let Chunk { input: elements, output: segments, content, len, .. } = chunk;
        let (heads, head_count) = self.heads.of_part(elements, segments)?;
        let each = Each::new(self, HostTotals::NONE);
        // By flags, bits and keys kernels count the segments.
        let mut count = 0_u64;
        let (total, total_bytes) = match self.request.heads {
            HeadKind::Flags | HeadKind::Bits(_) | HeadKind::Keys { .. } => {
                (ptr::from_mut(&mut count), size_of::<u64>())
            }
            _ => (ptr::null_mut(), 0),
        };
        let places = host.of_chunk(chunk);
        let memory = HostMemory {
            output_len: segments.len(),
            heads: &heads,
            initial_values: each.values(content),
            total: total.cast(),
            total_bytes,
            ..places.memory()
        };
        let enqueue = |stream: &Arc<CudaStream>, at: Places| {
            // The host knows what comes of no elements, of each segment by itself. Kernels take any result for it.
            let of_nothing = || Ok(any_result.to_vec());
            let work = DeviceWork::new(self, device, stream, Runs::Once(*len), of_nothing)?;
            let (initial, total) = (at.initial_values, at.total);
            let side = SideBuffers { heads: at.heads, head_count, initial, total, ..SideBuffers::default() };
            let buffers = InOut { input: &at.input, output: &at.output, len: *len as u64, columns: None };
            // SAFETY: the buffers hold the chunk, and a result for each of its segments; heads and initial values are
            // those of the chunk.
            unsafe { work.enqueue(stream, side, buffers, segments.len() as u64) }
        };
        // SAFETY: the input is a slice, and there is room for a result of each segment; the kernels write all of them,
        // and the count.
        unsafe { device.through(&memory, &enqueue) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole segments, as many as fit, and parts of those that are longer, which together are all elements.
    #[test]
    fn segments_are_cut_where_they_end_or_within_one_that_is_longer() {
        let whole = |elements: Range<usize>, of: Range<usize>| (elements, Content::Whole(of));
        let part =
            |elements: Range<usize>, of: usize, first, last| (elements, Content::Part { of: of..of + 1, first, last });
        let check = |ends: &[usize], max: usize, expected: &[(Range<usize>, Content)]| {
            let segments: Vec<_> = ends.windows(2).map(|ends| ends[0]..ends[1]).collect();
            let found = chunks_of_segments(&segments, max, Order::Forward);
            let of = |chunk: &Chunk| (chunk.input.clone(), chunk.content.clone());
            assert_eq!(found.iter().map(of).collect::<Vec<_>>(), expected, "{ends:?}, {max}");
            for chunk in &found {
                assert!(chunk.len == chunk.input.len() && (1..=max).contains(&chunk.len), "{chunk:?}");
                let results = if let Content::Whole(of) = &chunk.content { of.clone() } else { 0..0 };
                assert_eq!(chunk.output, results);
            }
            // Reversed, the parts of each segment are the other way round, and its last one is the first.
            let mut reversed = chunks_of_segments(&segments, max, Order::Reversed);
            let segment = |chunk: &Chunk| match &chunk.content {
                Content::Whole(of) | Content::Part { of, .. } => of.start,
            };
            for parts in reversed.chunk_by_mut(|one, next| one.is_part() && segment(one) == segment(next)) {
                parts.reverse();
                for part in parts {
                    if let Content::Part { first, last, .. } = &mut part.content {
                        std::mem::swap(first, last);
                    }
                }
            }
            assert_eq!(reversed, found, "{ends:?}, {max}");
        };
        check(&[0, 3, 5, 9], 5, &[whole(0..5, 0..2), whole(5..9, 2..3)]);
        check(&[0, 3, 5, 9], 100, &[whole(0..9, 0..3)]);
        // Offsets that begin later, and empty segments: with others, and alone.
        check(&[2, 2, 4, 4, 4, 8, 8], 3, &[whole(2..4, 0..4), part(4..7, 4, true, false), part(7..8, 4, false, true)]);
        check(&[5, 5, 5], 3, &[]);
        check(
            &[0, 7, 8],
            3,
            &[part(0..3, 0, true, false), part(3..6, 0, false, false), part(6..7, 0, false, true), whole(7..8, 1..2)],
        );
        check(&[0], 3, &[]);
    }
}
