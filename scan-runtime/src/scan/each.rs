//! Initial values of segments in host memory.

use super::Scan;
use crate::{Heads, ScanOp, heads::InitialValues};

impl<'h, Op: ScanOp, G> Scan<Op, Heads<'h>, G> {
    /// Puts a value of its own before the first element of each segment, which are [rows](Scan::rows), or lie between
    /// [offsets](Scan::by_offsets) from 0 to the length of the input: value `k` before segment `k`, empty segments
    /// counted. In a [reversed](Scan::reverse) scan it stands behind the last element of the segment. It takes the
    /// place of the scan's own [initial value](Scan::init).
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let sums = scanner.scan(ops::sum());
    /// let two_rows = [1, 2, 3, 10, 20, 30];
    /// assert_eq!(sums.clone().rows(3).init_each(&[100, 0]).run(&two_rows)?, [101, 103, 106, 10, 30, 60]);
    /// let segments = sums.by_offsets(&[0_usize, 2, 2, 6]).init_each(&[100, 5, 0]);
    /// assert_eq!(segments.run(&two_rows)?, [101, 103, 3, 13, 33, 63]);
    /// let totals = scanner.reduce(ops::sum()).by_offsets(&[0_usize, 2, 2, 6]).init_each(&[100, 5, 0]);
    /// assert_eq!(totals.run(&two_rows)?, [103, 5, 63]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A run gives [`Error::Length`](crate::Error::Length) if there are more or fewer values than segments,
    /// [`Error::OffsetsCover`](crate::Error::OffsetsCover) if the offsets do not go from 0 to the length of the input,
    /// [`PlanError::NoSegmentIndex`](crate::PlanError::NoSegmentIndex) by flags, bits and keys, whose segments have no
    /// index before the scan, and [`PlanError::TotalOfEach`](crate::PlanError::TotalOfEach) for the total of the last
    /// segment alone.
    pub fn init_each(mut self, values: &'h [Op::Carry]) -> Self {
        self.heads.initial_values = Some(InitialValues::new(values));
        self
    }
}
