//! Reductions by segments: a result for each.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    Error, HeadFlag, Reduce, ScanElement, ScanOp, SegmentOffset, cpu,
    heads::{GROUP, HeadKind, Heads},
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

/// Ways to reduce each segment of host memory on its own. [`run`](Reduce::run) then gives a result for each, in their
/// order.
impl<Op: ScanOp> Reduce<Op> {
    /// A segment begins at every element whose flag is set; see [`Scan::by_flags`](crate::Scan::by_flags).
    pub fn by_flags<'h, F: HeadFlag>(self, flags: &'h [F]) -> Reduce<Op, Heads<'h>> {
        self.with_heads(Heads::flags(flags))
    }

    /// A segment begins at every element whose bit is set; see [`Scan::by_bits`](crate::Scan::by_bits).
    pub fn by_bits<'h>(self, bits: &'h [u32]) -> Reduce<Op, Heads<'h>> {
        self.with_heads(Heads::bits(bits))
    }

    /// A segment begins wherever the key is another than that of the element before; see
    /// [`Scan::by_keys`](crate::Scan::by_keys). The key of a segment's result is that of any of its elements, for their
    /// bytes are the same.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let (shops, prices) = ([7_u64, 7, 8, 8, 8, 7], [5, 2, 9, 1, 4, 3]);
    /// let lowest = Scanner::new()?.reduce(ops::min()).by_keys(&shops).run(&prices)?;
    /// assert_eq!(lowest, [2, 1, 3]); // of shops 7, 8, and 7 again
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn by_keys<'h, K: ScanElement>(self, keys: &'h [K]) -> Reduce<Op, Heads<'h>> {
        self.with_heads(Heads::keys(keys))
    }

    /// Segment `k` goes from offset `k` to offset `k + 1`, as in a matrix of compressed rows: `n + 1` offsets, which
    /// ascend, for `n` segments. The result of an empty one is the initial value, or else the identity. Elements before
    /// the first offset or behind the last are in none.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let sums = Scanner::new()?.reduce(ops::sum()).by_offsets(&[0_u32, 3, 3, 5]).run(&[1, 2, 3, 4, 5])?;
    /// assert_eq!(sums, [6, 0, 9]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn by_offsets<'h, T: SegmentOffset>(self, offsets: &'h [T]) -> Reduce<Op, Heads<'h>> {
        self.with_heads(Heads::offsets(offsets))
    }

    /// Each row of `len` elements is a segment; see [`Scan::rows`](crate::Scan::rows).
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let two_rows = [1, 2, 3, 10, 20, 30];
    /// assert_eq!(Scanner::new()?.reduce(ops::sum()).rows(3).run(&two_rows)?, [6, 60]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn rows(self, len: usize) -> Reduce<Op, Heads<'static>> {
        self.with_heads(Heads::rows(len))
    }

    fn with_heads<H>(self, heads: H) -> Reduce<Op, H> {
        Reduce { scan: self.scan.with_heads(heads), reduction: self.reduction }
    }
}

impl<Op: ScanOp> Reduce<Op, Heads<'_>> {
    /// Reduces each segment of a slice. On the GPU the segments are scanned, and the last result of each is taken.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) for an empty segment, no initial value and no identity;
    /// those of [`Scan::run`](crate::Scan::run) of a scan that restarts.
    pub fn run(&self, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        let scan = &self.scan;
        // Keys that the planner refuses have no bytes to compare.
        if !cpu::surely_planned(&scan.op, scan.heads.kind, false) {
            scan.plan()?;
        }
        scan.heads.check(input.len())?;
        let segments = segments(&scan.heads, input.len());
        let reduced = match scan.scanner.engine() {
            Engine::Cuda(_) => {
                let scanned = scan.run(input)?;
                let last = |segment: &Range<usize>| match segment.is_empty() {
                    true => self.of_nothing(),
                    false => Ok(scanned[segment.end - 1]),
                };
                return segments.iter().map(last).collect();
            }
            Engine::Cpu { .. } => {
                let _telling = tells_of_calls().then(|| computing::<Op>(input.len()));
                |segment: &Range<usize>| match cpu::reduce(&scan.op, scan.initial_value, &input[segment.clone()])? {
                    Some(sum) => cpu::project(&scan.op, sum),
                    None => self.of_nothing(),
                }
            }
        };
        segments.par_iter().with_min_len(SHARED).map(reduced).collect()
    }

    /// The result of an empty segment.
    fn of_nothing(&self) -> Result<Op::Output, Error> {
        cpu::project(&self.scan.op, self.scan.total_of_nothing()?)
    }
}

/// The fewest segments that are worth another thread.
const SHARED: usize = 64;

/// The segments of an input of this length, whose heads have been checked.
fn segments(heads: &Heads<'_>, len: usize) -> Vec<Range<usize>> {
    if let HeadKind::Offsets(_) = heads.kind {
        return heads.between_offsets();
    }
    let mut starts = Vec::new();
    if let HeadKind::Rows { len: row } = heads.kind {
        starts.extend((0..len).step_by(row));
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
