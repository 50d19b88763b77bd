//! Where host memory is cut into chunks: where segments end, or within a segment that is longer than a chunk.

use std::ops::Range;

use scan_codegen::{Axis, ColumnLayout};

use crate::{
    Error,
    cpu::Order,
    heads::{HeadKind, Heads},
};

/// Elements that are on the device at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Its part of the memory of the input, in elements,
    pub(crate) input: Range<usize>,
    /// and of the output.
    pub(crate) output: Range<usize>,
    /// The number of its elements, which is less where memory between them is in no chunk.
    pub(crate) len: usize,
    pub(crate) content: Content,
    /// How they lie, where they are columns of an array.
    pub(crate) columns: Option<ColumnLayout>,
}

/// What of the segments, or columns, of the input is in a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Whole ones, with these indices where segments have an index before the scan.
    Whole(Range<usize>),
    /// A part of a segment, or of neighbouring columns, that is longer than a chunk: whether it is, in the order of the
    /// scan, the first one, and the last one.
    Part { of: Range<usize>, first: bool, last: bool },
}

impl Chunk {
    pub(crate) fn of(elements: Range<usize>, content: Content) -> Self {
        Chunk { input: elements.clone(), output: elements.clone(), len: elements.len(), content, columns: None }
    }

    /// Whether another chunk goes on with its state, or it goes on with that of another one.
    pub(super) fn is_part(&self) -> bool {
        matches!(self.content, Content::Part { .. })
    }
}

/// The chunks, which are in natural order, in the order of the scan.
pub(super) fn in_order(mut chunks: Vec<Chunk>, order: Order) -> Vec<Chunk> {
    if order == Order::Reversed {
        chunks.reverse();
        for chunk in &mut chunks {
            if let Content::Part { first, last, .. } = &mut chunk.content {
                std::mem::swap(first, last);
            }
        }
    }
    chunks
}

/// The chunks of `len` elements, in the order of the scan. None is longer than `max`.
pub(super) fn chunks(heads: &Heads<'_>, len: usize, max: usize, order: Order) -> Vec<Chunk> {
    let max = max.max(1);
    let mut chunks = Vec::with_capacity(len.div_ceil(max));
    let (mut start, mut within) = (0, None);
    while start < len {
        let furthest = start.saturating_add(max).min(len);
        let (end, content) = match within {
            None => match (furthest < len).then(|| heads.last_head(start + 1..furthest + 1)) {
                Some(None) => {
                    let segment = heads.segment_at(start);
                    within = Some(segment);
                    (furthest, Content::Part { of: segment..segment + 1, first: true, last: false })
                }
                head => {
                    let end = head.flatten().unwrap_or(len);
                    (end, Content::Whole(heads.segments_from(start)..heads.segments_until(end, len)))
                }
            },
            Some(segment) => {
                let head = heads.first_head(start..(furthest + 1).min(len));
                let last = head.is_some() || furthest == len;
                within = (!last).then_some(segment);
                (head.unwrap_or(furthest), Content::Part { of: segment..segment + 1, first: false, last })
            }
        };
        chunks.push(Chunk::of(start..end, content));
        start = end;
    }
    in_order(chunks, order)
}

/// The chunks of an array that is scanned along an axis, in the order of the scan: parts of its outermost dimension, of
/// at most `max` elements of memory, or of a further one for each index of those before it, where that is too large.
/// The scanned dimension is the last that is cut. `None` where all elements go at once, since dimensions do not lie one
/// within the other.
pub(super) fn chunks_of_columns(axis: &Axis, max: usize, order: Order) -> Result<Option<Vec<Chunk>>, Error> {
    let (shape, (inputs, outputs)) = (axis.shape(), axis.both_strides());
    let distance = |strides: &[isize], dimension: usize| strides[dimension].unsigned_abs();
    let reach = |strides: &[isize], from: usize| -> usize {
        1 + (from..shape.len()).map(|dimension| (shape[dimension] - 1) * distance(strides, dimension)).sum::<usize>()
    };
    let memory = |from: usize| reach(inputs, from).max(reach(outputs, from));
    if axis.is_empty() || memory(0) <= max {
        return Ok(None);
    }
    // The first dimension of which one index is small enough.
    let cut = (0..axis.axis()).find(|dimension| memory(dimension + 1) <= max).unwrap_or(axis.axis());
    let nested = |dimension: usize| {
        let beyond = |strides: &[isize]| distance(strides, dimension) >= reach(strides, dimension + 1);
        shape[dimension] == 1 || beyond(inputs) && beyond(outputs)
    };
    if !(0..=cut).all(nested) {
        return Ok(None);
    }
    let step = (max / distance(inputs, cut).max(distance(outputs, cut)).max(1)).clamp(1, shape[cut]);
    let columns: usize =
        shape.iter().enumerate().skip(cut + 1).filter(|(k, _)| *k != axis.axis()).map(|(_, n)| n).product();
    let (mut chunks, mut index) = (Vec::new(), vec![0; cut]);
    let outer: usize = shape[..cut].iter().product();
    for before in 0..outer {
        for start in (0..shape[cut]).step_by(step) {
            let extent = step.min(shape[cut] - start);
            let extents = [&[extent][..], &shape[cut + 1..]].concat();
            let part = Axis::of(&extents, axis.axis() - cut)?;
            let part = part.input_strides(&inputs[cut..])?.output_strides(&outputs[cut..])?;
            // Where the memory of the part begins: of an inverted dimension, at its last index.
            let at = |strides: &[isize]| -> usize {
                let indices = index.iter().map(|&index| index..index + 1).chain(std::iter::once(start..start + extent));
                let lowest = |(dimension, indices): (usize, Range<usize>)| {
                    let lowest = if strides[dimension] < 0 { shape[dimension] - indices.end } else { indices.start };
                    lowest * distance(strides, dimension)
                };
                indices.enumerate().map(lowest).sum()
            };
            let (input, output) = (at(inputs), at(outputs));
            let content = match cut == axis.axis() {
                true => Content::Part {
                    of: before * columns..(before + 1) * columns,
                    first: start == 0,
                    last: start + extent == shape[cut],
                },
                false => {
                    let first = (before * shape[cut] + start) * columns;
                    Content::Whole(first..first + extent * columns)
                }
            };
            chunks.push(Chunk {
                input: input..input + part.input_len(),
                output: output..output + part.output_len(),
                len: part.len(),
                content,
                columns: Some(part.layout()),
            });
        }
        for k in (0..cut).rev() {
            index[k] += 1;
            if index[k] < shape[k] {
                break;
            }
            index[k] = 0;
        }
    }
    Ok(Some(in_order(chunks, order)))
}

impl Heads<'_> {
    /// The segment whose first element this is; of empty segments before it, none.
    fn segment_at(&self, start: usize) -> usize {
        match self.kind {
            HeadKind::Rows { len } => start / len,
            HeadKind::Offsets(_) => self.offsets_below(start + 1).saturating_sub(1),
            _ => 0,
        }
    }

    /// The first segment of a chunk from `start` on. The chunk before it has the empty segments between them.
    fn segments_from(&self, start: usize) -> usize {
        if start == 0 { 0 } else { self.segment_at(start) }
    }

    /// The end of the segments of a chunk that ends there, of `len` elements.
    fn segments_until(&self, end: usize, len: usize) -> usize {
        match self.kind {
            // Empty segments at the end, too.
            HeadKind::Offsets(_) if end == len => self.segment_count(len).unwrap_or(0),
            _ => self.segment_at(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where segments begin, of pseudo-random lengths up to `longest`, which may be empty for offsets.
    fn starts(len: usize, longest: usize, empty: bool) -> Vec<usize> {
        let (mut starts, mut at, mut state) = (Vec::new(), 0, len + 7 * longest);
        while at < len {
            starts.push(at);
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            at += if empty { (state >> 33) % (longest + 1) } else { 1 + (state >> 33) % longest };
        }
        starts
    }

    /// Invariants of all chunks: they are the elements in order, none is too long, segments are whole, and a part
    /// follows the one before it.
    fn check(heads: &Heads<'_>, starts: &[usize], len: usize, max: usize) {
        let begins = |at: usize| at == 0 || at == len || starts.contains(&at);
        let found = chunks(heads, len, max, Order::Forward);
        let (mut at, mut within) = (0, false);
        for Chunk { input: elements, content, .. } in &found {
            let what = format!("{content:?} of {elements:?} in {found:?}");
            assert!(elements.start == at && elements.end > at && elements.len() <= max, "{what}");
            at = elements.end;
            match content {
                Content::Whole(_) => {
                    assert!(!within && begins(elements.start) && begins(elements.end), "{what}");
                }
                Content::Part { first, last, .. } => {
                    assert!(*first != within && begins(elements.start) == *first, "{what}");
                    assert!(begins(elements.end) == *last, "{what}");
                    assert!(!(elements.start + 1..elements.end).any(begins), "{what}");
                    within = !last;
                }
            }
        }
        assert_eq!(at, len, "{found:?}");
        let mut reversed = chunks(heads, len, max, Order::Reversed);
        reversed.reverse();
        for (chunk, there) in found.iter().zip(&reversed) {
            assert_eq!(chunk.input, there.input);
            if let (Content::Part { first, last, .. }, Content::Part { first: begin, last: end, .. }) =
                (&chunk.content, &there.content)
            {
                assert_eq!((first, last), (end, begin));
            }
        }
    }

    #[test]
    fn chunks_end_where_segments_do_or_lie_within_one() {
        for len in [1, 63, 64, 65, 500] {
            for max in [1, 2, 64, 100, 499, 500] {
                check(&Heads::NONE, &[], len, max);
                for row in [1, 5, 50, 250].into_iter().filter(|row| len % row == 0) {
                    check(&Heads::rows(row), &(0..len).step_by(row).collect::<Vec<_>>(), len, max);
                }
                for longest in [1, 3, 70, 200, 1000] {
                    let starts_of = starts(len, longest, false);
                    let flags: Vec<bool> = (0..len).map(|at| starts_of.contains(&at)).collect();
                    check(&Heads::flags(&flags), &starts_of, len, max);
                    let mut bits = vec![0_u32; len.div_ceil(32)];
                    starts_of.iter().for_each(|at| bits[at / 32] |= 1 << (at % 32));
                    check(&Heads::bits(&bits), &starts_of, len, max);
                    let mut key = 0_u16;
                    let next = |flag: &bool| {
                        key += u16::from(*flag);
                        key
                    };
                    let keys: Vec<u16> = flags.iter().map(next).collect();
                    check(&Heads::keys(&keys), &starts_of, len, max);
                    let offsets = starts(len, longest, true);
                    check(&Heads::offsets(&offsets), &offsets, len, max);
                    check(&Heads::offsets(&offsets[offsets.len() / 2..]), &offsets[offsets.len() / 2..], len, max);
                }
            }
        }
    }

    #[test]
    fn every_segment_that_is_not_empty_is_in_the_chunks_of_its_index() {
        for longest in [1, 3, 70, 200] {
            let len = 500;
            let mut offsets: Vec<u32> = starts(len, longest, true).iter().map(|at| *at as u32).collect();
            offsets.extend([len as u32; 2]);
            let heads = Heads::offsets(&offsets);
            for max in [1, 10, 64, 100] {
                let mut next = 0;
                for Chunk { input: elements, content, .. } in chunks(&heads, len, max, Order::Forward) {
                    let indices = match content {
                        Content::Whole(indices) | Content::Part { of: indices, .. } => indices,
                    };
                    assert!(indices.start <= indices.end && indices.end < offsets.len());
                    // Those between are empty.
                    assert!((next..indices.start).all(|index| heads.segment(index).is_empty()), "{max} {offsets:?}");
                    for index in indices.clone() {
                        let (segment, is_part) = (heads.segment(index), indices.len() == 1);
                        let within = segment.start <= elements.start && elements.end <= segment.end && is_part;
                        assert!(within || elements.start <= segment.start && segment.end <= elements.end);
                    }
                    next = next.max(indices.end);
                }
                assert!((next..offsets.len() - 1).all(|index| heads.segment(index).is_empty()), "{max} {offsets:?}");
            }
        }
    }

    /// Where no chunk is a part of a segment, nothing but the chunks writes totals: empty segments are in one, those
    /// before the first element and behind the last one, too.
    #[test]
    fn every_empty_segment_is_in_a_chunk_where_all_chunks_are_whole() {
        let cases: [&[u32]; 5] =
            [&[0, 0, 0, 5, 10, 10, 10], &[0, 5, 5, 5, 10], &[0, 0, 10], &[0, 3, 3, 5, 5, 8, 10, 10], &[0, 10, 10]];
        for offsets in cases {
            for max in [5, 7, 10, 20] {
                let heads = Heads::offsets(offsets);
                let found = chunks(&heads, 10, max, Order::Forward);
                if found.iter().any(Chunk::is_part) {
                    continue;
                }
                let mut next = 0;
                for chunk in &found {
                    let Content::Whole(segments) = &chunk.content else { unreachable!("no part") };
                    assert_eq!(segments.start, next, "{max} {offsets:?}: {found:?}");
                    next = segments.end;
                }
                assert_eq!(next, offsets.len() - 1, "{max} {offsets:?}: {found:?}");
            }
        }
        let whole =
            |offsets: &[u32]| !chunks(&Heads::offsets(offsets), 10, 5, Order::Forward).iter().any(Chunk::is_part);
        assert_eq!(cases.map(whole), [true, true, false, true, false]);
    }

    /// Each element of the array is in one chunk, in the place and in the column that the whole has it in; and a part of
    /// columns follows the one before it.
    #[test]
    fn chunks_of_an_array_have_each_element_once_in_its_column() {
        let cases = [
            Axis::of(&[7, 5, 6], 1).unwrap(),
            Axis::of(&[1, 7, 5], 0).unwrap(),
            Axis::of(&[30, 4], 0).unwrap(),
            Axis::of(&[2, 3, 20, 3], 2).unwrap(),
            Axis::of(&[2, 3, 4, 5], 3).unwrap(),
            Axis::of(&[4, 6, 5], 1).unwrap().strides(&[40, 6, 1]).unwrap(),
            Axis::of(&[4, 6, 5], 0).unwrap().input_strides(&[64, 8, 1]).unwrap(),
            Axis::of(&[4, 6, 5], 0).unwrap().output_strides(&[64, 8, 1]).unwrap(),
            Axis::of(&[4, 6, 5], 1).unwrap().output_strides(&[64, 8, 1]).unwrap(),
            Axis::of(&[4, 6, 5], 2).unwrap().input_strides(&[30, 5, 1]).unwrap().output_strides(&[70, 11, 2]).unwrap(),
            Axis::of(&[30, 4], 0).unwrap().input_strides(&[9, 2]).unwrap().output_strides(&[5, 1]).unwrap(),
            Axis::of(&[30, 4], 0).unwrap().strides(&[-4, 1]).unwrap(),
            Axis::of(&[30, 4], 0).unwrap().strides(&[4, -1]).unwrap(),
            Axis::of(&[30, 4], 0).unwrap().input_strides(&[-9, 2]).unwrap().output_strides(&[5, -1]).unwrap(),
            Axis::of(&[30], 0).unwrap().output_strides(&[-1]).unwrap(),
            Axis::of(&[7, 5, 6], 1).unwrap().input_strides(&[-30, 6, -1]).unwrap(),
            Axis::of(&[7, 5, 6], 1).unwrap().output_strides(&[-30, -6, 1]).unwrap(),
            Axis::of(&[4, 6, 5], 2)
                .unwrap()
                .input_strides(&[-30, 5, -1])
                .unwrap()
                .output_strides(&[-70, -11, 2])
                .unwrap(),
            Axis::of(&[2, 3, 20, 3], 2).unwrap().input_strides(&[180, -60, -3, 1]).unwrap(),
        ];
        for axis in &cases {
            let whole = elements(&axis.layout(), 0, 0, 0);
            for max in [1, 7, 30, 50, 100] {
                let Some(found) = chunks_of_columns(axis, max, Order::Forward).unwrap() else {
                    assert!(axis.input_len().max(axis.output_len()) <= max, "{axis:?} {max}");
                    continue;
                };
                let mut all = Vec::new();
                let mut steps = vec![0; axis.columns()];
                for Chunk { input, output, len, content, columns } in found {
                    let layout = columns.unwrap();
                    let (Content::Whole(of) | Content::Part { of, .. }) = &content;
                    assert_eq!(of.len() as u64, layout.columns());
                    let step = steps[of.start];
                    if let Content::Part { first, last, .. } = content {
                        assert!(first == (step == 0) && last == (step + layout.length() == axis.layout().length()));
                    }
                    steps[of.clone()].fill(step + layout.length());
                    let part = elements(&layout, input.start, output.start, of.start);
                    assert_eq!(part.len(), len);
                    // No chunk has more memory than was asked for, unless one index of what is cut has more.
                    let memory = input.len().max(output.len());
                    assert!(memory <= max || layout.length() == 1, "{axis:?} {max}: {input:?} {output:?}");
                    assert!(part.iter().all(|(from, to, ..)| input.contains(from) && output.contains(to)));
                    all.extend(part.into_iter().map(|(from, to, column, at)| (from, to, column, at + step)));
                }
                all.sort_unstable();
                assert_eq!(all, whole, "{axis:?} {max}");
                assert!(steps.iter().all(|steps| *steps == axis.layout().length()));
            }
        }
        let axis = || Axis::of(&[8, 9], 1).unwrap();
        for transposed in [
            axis().input_strides(&[1, 8]).unwrap(),
            axis().output_strides(&[1, 8]).unwrap(),
            axis().output_strides(&[-1, -8]).unwrap(),
        ] {
            assert!(chunks_of_columns(&transposed, 10, Order::Forward).unwrap().is_none(), "{transposed:?}");
        }
    }

    /// The place of each element and of its result, its column, and its index there.
    fn elements(layout: &ColumnLayout, input: usize, output: usize, column: usize) -> Vec<(usize, usize, usize, u64)> {
        let [first, first_result] = layout.firsts();
        let place = |first: usize, index: usize, stride: usize| first.wrapping_add(index.wrapping_mul(stride));
        let mut columns = vec![(input + first, output + first_result, column)];
        for (extent, [from, to, value]) in layout.dimensions() {
            let each = |&(a, b, c): &(usize, usize, usize)| {
                (0..extent).map(move |index| (place(a, index, from), place(b, index, to), c + index * value))
            };
            columns = columns.iter().flat_map(each).collect();
        }
        let [from, to] = layout.steps();
        let along = |&(a, b, c): &(usize, usize, usize)| {
            (0..layout.length()).map(move |k| (place(a, k as usize, from), place(b, k as usize, to), c, k))
        };
        let mut elements: Vec<_> = columns.iter().flat_map(along).collect();
        elements.sort_unstable();
        elements
    }
}
