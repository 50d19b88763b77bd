//! The words that make a run of a scan or a reduction, over host memory.

use crate::{
    Along, Array, ArrayMut, BitWord, HeadFlag, Host, Outcome, PrefixesAndTotal, PrefixesAndTotals, Reduce, Run, Scan,
    ScanElement, ScanOp, SegmentOffset, Totals,
};

/// Segments that only a reduction has: a scan would have several results for an element.
impl<Op: ScanOp> Reduce<Op> {
    /// Reduces ranges of the input: result `k` is made of the elements from `begins[k]` to before `ends[k]`. Ranges may
    /// overlap, leave elements out, and be in any order. There are as many begins as ends, both of type `u32`, `u64`,
    /// `usize`, `i32` or `i64`. An empty range, whose end is its begin, has the initial value as its result, or else the
    /// identity.
    ///
    /// So do `reduceat` of NumPy, segmented reductions with begin and end offsets of CUB, and list views of Apache Arrow,
    /// whose ends are offsets plus sizes.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let prices = [5, 2, 9, 1, 4, 3];
    /// let (begins, ends) = ([0_u32, 1, 4, 3], [3_u32, 6, 4, 4]);
    /// let scanner = Scanner::new()?;
    /// assert_eq!(scanner.reduce(ops::sum()).by_ranges(&begins, &ends).run(&prices)?, [16, 19, 0, 1]);
    /// assert_eq!(scanner.reduce(ops::max()).init(3).by_ranges(&begins, &ends).run(&prices)?, [9, 9, 3, 3]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// The work is the sum of the lengths of all ranges. On the GPU a range of up to 16 elements has a thread, a longer
    /// one a warp, and one of more than 1024 elements a block. So few long ranges leave most of a GPU idle: where
    /// segments follow each other, [`by_offsets`](Scan::by_offsets) works on all elements at once. An input in host
    /// memory is copied to the GPU as a whole, not in chunks. Which side [`Scanner::new`](crate::Scanner::new) chooses
    /// depends on the length of the input, not on those of the ranges.
    ///
    /// # Errors
    ///
    /// A run gives [`Error::Length`](crate::Error::Length) if there are more or fewer ends than begins, and
    /// [`Error::RangeBounds`](crate::Error::RangeBounds) for a range that ends before it begins, or is not within the
    /// input. Of device memory only the numbers of begins and ends are checked: the result of such a range is unspecified
    /// there, though never an access out of bounds.
    pub fn by_ranges<'a, T: SegmentOffset>(
        &'a self,
        begins: &'a (impl Array<T, Host> + ?Sized),
        ends: &'a (impl Array<T, Host> + ?Sized),
    ) -> Run<'a, Op, Host, Totals> {
        self.call().by_ranges(begins, ends)
    }
}

/// Ways to restart. Every segment is then a scan of its own; a [reduction](crate::Reduce) gives a result for each, in
/// their order.
impl<Op: ScanOp, R: Outcome> Scan<Op, R> {
    /// Restarts at every element whose flag is set (`true`, or another `u8` than 0). There is a flag for each element;
    /// the first element begins a segment whatever its flag.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cpu();
    /// let scan = scanner.scan(ops::sum());
    /// assert_eq!(scan.by_flags(&[true, false, false, true, false]).run(&[1, 2, 3, 4, 5])?, [1, 3, 6, 4, 9]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn by_flags<'a, F: HeadFlag>(&'a self, flags: &'a (impl Array<F, Host> + ?Sized)) -> Run<'a, Op, Host, R> {
        self.call().by_flags(flags)
    }

    /// Restarts at every element whose bit is set. Words are `u8`, `u32`, `u64`, `i32` or `i64`, and of each the least
    /// significant bit is the first one, as in bitmaps of Apache Arrow: of `u32`, element `i` has bit `i % 32` of word
    /// `i / 32`. There are as many words as the input needs; bytes may be padded. The first element begins a segment
    /// whatever its bit.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cpu();
    /// let scan = scanner.scan(ops::sum());
    /// assert_eq!(scan.by_bits(&[0b01001]).run(&[1, 2, 3, 4, 5])?, [1, 3, 6, 4, 9]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn by_bits<'a, W: BitWord>(&'a self, bits: &'a (impl Array<W, Host> + ?Sized)) -> Run<'a, Op, Host, R> {
        self.call().by_bits(bits)
    }

    /// As [`by_bits`](Scan::by_bits), where the first element has bit `first`, as in a slice of an Arrow array. There
    /// may be more words than the input needs.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// // Elements 9 to 13 of fourteen: 9, 10 and 12 begin segments.
    /// let bitmap = [0b0000_0001_u8, 0b0001_0110];
    /// let scan = Scanner::cpu().scan(ops::sum());
    /// assert_eq!(scan.by_bits_at(&bitmap, 9).run(&[1, 2, 3, 4, 5])?, [1, 2, 5, 4, 9]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// In device memory, after [`on`](Scan::on), kernels read 32 bits at a time. So the bit of the first element is the
    /// first one at an address that is a multiple of 4, or the run gives
    /// [`Error::HeadBitsAlignment`](crate::Error::HeadBitsAlignment); and there is memory for a multiple of 32 bits, or
    /// the run gives [`Error::Length`](crate::Error::Length). Buffers of Arrow that are aligned and padded to 64 bytes
    /// fulfil both where `first` is a multiple of 32.
    pub fn by_bits_at<'a, W: BitWord>(
        &'a self,
        bits: &'a (impl Array<W, Host> + ?Sized),
        first: usize,
    ) -> Run<'a, Op, Host, R> {
        self.call().by_bits_at(bits, first)
    }

    /// Restarts where the key differs from the previous element's: equal neighbours belong together, and a key that
    /// comes back later begins a new segment. There is a key for each element.
    ///
    /// Keys are equal where all their bytes are. So a key type must have no padding, `-0.0` and `0.0` differ, and a NaN
    /// equals a NaN of the same bits.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cpu();
    /// let scan = scanner.scan(ops::sum()).exclusive().init(100);
    /// assert_eq!(scan.by_keys(&[7, 7, 8, 7, 7]).run(&[1, 2, 3, 4, 5])?, [100, 101, 100, 100, 104]);
    /// let (shops, prices) = ([7_u64, 7, 8, 8, 8, 7], [5, 2, 9, 1, 4, 3]);
    /// let lowest = scanner.reduce(ops::min()).by_keys(&shops).run(&prices)?;
    /// assert_eq!(lowest, [2, 1, 3]); // of shops 7, 8, and 7 again
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn by_keys<'a, K: ScanElement>(&'a self, keys: &'a (impl Array<K, Host> + ?Sized)) -> Run<'a, Op, Host, R> {
        self.call().by_keys(keys)
    }

    /// Starts a segment at each offset, which is `u32`, `u64`, `usize`, `i32` or `i64`. Offsets must be ascending, the
    /// first one not negative; a repeated offset is an empty segment and produces
    /// no output. The last offset may be the length of the input. Elements before the first offset are a segment, too.
    ///
    /// In a reduction, total `k` is that of the elements from offset `k` to offset `k + 1`, as in a matrix of
    /// compressed rows: `n + 1` offsets for `n` totals. That of an empty segment is the initial value, or else the
    /// identity. Elements before the first offset or behind the last are in none.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cpu();
    /// let scan = scanner.scan(ops::sum());
    /// assert_eq!(scan.by_offsets(&[0_usize, 3, 3, 5]).run(&[1, 2, 3, 4, 5])?, [1, 3, 6, 4, 9]);
    /// let sums = scanner.reduce(ops::sum());
    /// assert_eq!(sums.by_offsets(&[0_usize, 3, 3, 5]).run(&[1, 2, 3, 4, 5])?, [6, 0, 9]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn by_offsets<'a, T: SegmentOffset>(
        &'a self,
        offsets: &'a (impl Array<T, Host> + ?Sized),
    ) -> Run<'a, Op, Host, R> {
        self.call().by_offsets(offsets)
    }

    /// Scans each row of `len` elements on its own: rows follow each other in memory, as in a matrix.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let two_rows = [1, 2, 3, 10, 20, 30];
    /// assert_eq!(scanner.scan(ops::sum()).rows(3).run(&two_rows)?, [1, 3, 6, 10, 30, 60]);
    /// assert_eq!(scanner.scan(ops::sum()).reverse().rows(3).run(&two_rows)?, [6, 5, 3, 60, 50, 30]);
    /// assert_eq!(scanner.reduce(ops::sum()).rows(3).run(&two_rows)?, [6, 60]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A run gives [`Error::RowLength`](crate::Error::RowLength) if the length of the input is no multiple of `len`. An
    /// input without elements has no rows, whatever `len` is, 0 too.
    pub fn rows(&self, len: usize) -> Run<'_, Op, Host, R> {
        self.call().rows(len)
    }

    /// Scans an array along an axis: each column, which is what lies along the axis, is scanned as if it were all of
    /// the input. An initial value stands before the first element of each column; a [reversed](Scan::reverse) scan
    /// goes from the last element of each.
    ///
    /// Arrays have as many elements as the shape, in the order that the strides of the axis give. Other arrays than
    /// slices have the shape and strides of the axis, too: [indices](crate::arrays::indices) are those of the memory.
    /// Arrays with [strides of their own](crate::arrays::strided) have the shape alone. New results are contiguous,
    /// unless the axis has strides of theirs. What lies between results of [`run_into`](Run::run_into) stays what it
    /// is.
    ///
    /// Outer axes have a kernel of their own, whose neighbouring threads scan neighbouring columns. It is at its best
    /// where the last dimension is contiguous; any other strides are scanned as well, slower. An axis whose columns are
    /// contiguous, one behind the other, is scanned as [rows](Scan::rows). Floats come out the same in every run.
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let matrix = [
    ///     1, 2, 3, //
    ///     4, 5, 6,
    /// ];
    /// let sums = scanner.scan(ops::sum());
    /// assert_eq!(sums.along(Axis::of(&[2, 3], 0)?).run(&matrix)?, [1, 2, 3, 5, 7, 9]);
    /// assert_eq!(sums.along(Axis::of(&[2, 3], 1)?).run(&matrix)?, [1, 3, 6, 4, 9, 15]);
    /// // Every second column, in place.
    /// let every_second = Axis::of(&[2, 2], 0)?.strides(&[3, 2])?;
    /// let mut buffer = matrix;
    /// sums.along(every_second).run_in_place(&mut buffer)?;
    /// assert_eq!(buffer, [1, 2, 3, 5, 5, 9]);
    /// // The view `matrix[::-1]` of numpy, where it lies: its first row is the last one in memory.
    /// let inverted = Axis::of(&[2, 3], 0)?.input_strides(&[-3, 1])?;
    /// assert_eq!(sums.along(inverted).run(&matrix)?, [4, 5, 6, 5, 7, 9]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// A recurrence `h = a·h + b` over the tokens of many sequences, whose factors are at most 1 (larger ones may
    /// [overflow](ScanOp#overflow)):
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, scan_element, scan_op};
    ///
    /// #[scan_element]
    /// #[derive(Clone, Copy)]
    /// struct Affine {
    ///     a: f32,
    ///     b: f32,
    /// }
    ///
    /// #[scan_op(identity = Affine { a: 1.0, b: 0.0 })]
    /// fn compose(f: Affine, g: Affine) -> Affine {
    ///     Affine { a: f.a * g.a, b: g.a * f.b + g.b }
    /// }
    ///
    /// let (sequences, tokens, channels) = (2, 3, 4);
    /// let steps = vec![Affine { a: 0.5, b: 1.0 }; sequences * tokens * channels];
    /// let along_tokens = Axis::of(&[sequences, tokens, channels], 1)?;
    /// let states = Scanner::new()?.scan(compose).along(along_tokens).run(&steps)?;
    /// assert_eq!(states[(1 * tokens + 2) * channels].b, 1.75);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// Several arrays:
    ///
    /// ```
    /// use scan_runtime::{Axis, ScanOp, Scanner, scan_element, scan_op};
    ///
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
    /// let shape @ [sequences, tokens, channels] = [2, 3, 4];
    /// let len = sequences * tokens * channels;
    /// let (gates, inputs, mut states) = (vec![0.5; len], vec![1.0; len], vec![0.0; len]);
    /// let along_tokens = Axis::of(&shape, 1)?;
    /// Scanner::new()?.scan(Recurrence).along(along_tokens).run_into((&gates, &inputs), &mut states)?;
    /// assert_eq!(states[(1 * tokens + 2) * channels], 1.75);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// `ndarray` arrays, with the feature `ndarray`, have a shape, so that the number of the axis is enough; below 0 it
    /// counts from the end. New results are arrays of the same dimensions, and those of a reduction have one less; new
    /// totals are a `Vec`, in the order of a reduction's results. Arrays that fill their memory are scanned where they
    /// are, with inverted axes, too. New results lie in memory as the elements do, inverted where these are. Views that
    /// leave gaps are copied, and so are arrays of one call that lie differently; slices among them are in standard
    /// order, the last index the fastest. An array of one dimension needs no axis; without one an inverted array is
    /// copied.
    ///
    /// ```
    /// # #[cfg(feature = "ndarray")] mod example {
    /// use scan_runtime::{
    ///     Scanner,
    ///     ndarray::{Array2, array, s},
    ///     ops,
    /// };
    ///
    /// # pub fn main() -> Result<(), scan_runtime::Error> {
    /// let (sums, totals) = (Scanner::new()?.scan(ops::sum()), Scanner::new()?.reduce(ops::sum()));
    /// let matrix = array![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(sums.along(0).run(&matrix)?, array![[1, 2, 3], [5, 7, 9]]);
    /// assert_eq!(sums.along(-1).run(&matrix)?, array![[1, 3, 6], [4, 9, 15]]);
    /// assert_eq!(sums.along(0).run(matrix.slice(s![.., ..;-2]))?, array![[3, 1], [9, 5]]);
    /// assert_eq!(totals.along(0).run(&matrix)?, array![5, 7, 9]);
    ///
    /// let (each, rows) = sums.along(1).init_each(&[100, 0]).with_totals().run(&matrix)?;
    /// assert_eq!((each, rows), (array![[101, 103, 106], [4, 9, 15]], vec![106, 15]));
    /// let mut part = Array2::zeros((2, 5));
    /// sums.along(0).run_into(&matrix, part.slice_mut(s![.., 1..4]))?;
    /// assert_eq!(part, array![[0, 1, 2, 3, 0], [0, 5, 7, 9, 0]]);
    /// sums.along(1).run_in_place(&mut part)?;
    /// assert_eq!(part, array![[0, 1, 3, 6, 6], [0, 5, 12, 21, 21]]);
    /// # Ok(())
    /// # }
    /// # }
    /// # #[cfg(feature = "ndarray")] example::main()?;
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// A reduction gives a result for each column. The results have the shape of the array without the axis,
    /// contiguous, the last index the fastest; that of a column without elements is the initial value, or else the
    /// identity.
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let matrix = [
    ///     1, 2, 3, //
    ///     4, 5, 6,
    /// ];
    /// assert_eq!(scanner.reduce(ops::sum()).along(Axis::of(&[2, 3], 0)?).run(&matrix)?, [5, 7, 9]);
    /// assert_eq!(scanner.reduce(ops::max()).along(Axis::of(&[2, 3], 1)?).run(&matrix)?, [3, 6]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A run gives [`Error::AxisLength`](crate::Error::AxisLength) if an array has another number of elements than the
    /// shape, [`Error::AxisGaps`](crate::Error::AxisGaps) if new or scattered results of these strides leave gaps,
    /// [`Error::AxisInPlace`](crate::Error::AxisInPlace) in place if the axis has other strides of the results than of
    /// the elements, and [`PlanError::Columns`](crate::PlanError::Columns) for the last total alone: there is one for
    /// each column. An axis by its number alone is [`Error::UnknownShape`](crate::Error::UnknownShape) of slices, and
    /// arrays of one call with different shapes are [`Error::AxisShapes`](crate::Error::AxisShapes).
    pub fn along(&self, axis: impl Into<Along>) -> Run<'_, Op, Host, R> {
        self.call().along(axis)
    }

    /// Gives each segment an initial value: value `k` comes before the first element of segment `k`, empty segments
    /// counted, or after its last element in a [reversed](Scan::reverse) scan. Segments are [rows](Scan::rows), columns
    /// [along](Scan::along) an axis, or lie between [offsets](Scan::by_offsets) from 0 to the length of the input. It
    /// replaces the scan's own [initial value](Scan::init).
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let sums = scanner.scan(ops::sum());
    /// let two_rows = [1, 2, 3, 10, 20, 30];
    /// assert_eq!(sums.rows(3).init_each(&[100, 0]).run(&two_rows)?, [101, 103, 106, 10, 30, 60]);
    /// let segments = sums.by_offsets(&[0_usize, 2, 2, 6]).init_each(&[100, 5, 0]);
    /// assert_eq!(segments.run(&two_rows)?, [101, 103, 3, 13, 33, 63]);
    /// let reduction = scanner.reduce(ops::sum());
    /// let totals = reduction.by_offsets(&[0_usize, 2, 2, 6]).init_each(&[100, 5, 0]);
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
    pub fn init_each<'a>(&'a self, values: &'a (impl Array<Op::Carry, Host> + ?Sized)) -> Run<'a, Op, Host, R> {
        self.call().init_each(values)
    }
}

/// Totals in addition to prefixes.
impl<Op: ScanOp> Scan<Op> {
    /// Gives the total as well: `run` a pair of results and total, `run_into` and `run_in_place` the total. On a GPU it
    /// comes from the same launches. In device memory it is a slice of one element; [`total_into`](Run::total_into)
    /// writes it to one of yours.
    ///
    /// The total is the carry after the last element, the initial value included; of a [reversed](Scan::reverse) scan,
    /// after the first one. In a scan that restarts it is the total of that element's segment, even if
    /// empty segments follow. Without elements it is the initial value that [`init`](Scan::init) has given,
    /// or else `None`, also of an operator that has an identity or a `START`.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// // Where each row of a ragged array begins, and how long the whole is.
    /// let (starts, len) = scanner.scan(ops::sum()).exclusive().with_total().run(&[3_u32, 0, 4])?;
    /// assert_eq!((starts, len), (vec![0, 3, 3], Some(7)));
    /// // What the next part of a longer input goes on with.
    /// let (sums, today) = scanner.scan(ops::sum()).by_keys(&[1, 1, 2, 2]).with_total().run(&[5, 1, 2, 2])?;
    /// assert_eq!((sums, today), (vec![5, 6, 2, 4], Some(4)));
    /// // The last segment is empty.
    /// let (_, total) = scanner.scan(ops::sum()).by_offsets(&[0_u32, 2, 2]).with_total().run(&[5, 1])?;
    /// assert_eq!(total, Some(6));
    /// assert_eq!(scanner.scan(ops::sum::<u32>()).with_total().run(&[])?, (vec![], None));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn with_total(&self) -> Run<'_, Op, Host, PrefixesAndTotal> {
        self.call().with_total()
    }

    /// Gives the total of each segment, or of each column along an axis, as well. Segments are [rows](Scan::rows), or
    /// lie between [offsets](Scan::by_offsets) from 0 to the length of the input. It is the carry after the last
    /// element of the segment (before its first one, of a [reversed](Scan::reverse) scan), the initial value included;
    /// of an empty segment it is the initial value, or else the identity, or the `START` of a
    /// [stepped operator](ScanOp#stepped-operators). On the GPU it comes from the same launches.
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
    ///     let (hidden, after) = layer.rows(tokens).init_each(&states).with_totals().run(&steps)?;
    ///     assert_eq!(hidden[tokens - 1], after[0]);
    ///     states = after;
    /// }
    /// assert_eq!(states[1].b, 3.71875);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A run gives [`PlanError::NoSegmentIndex`](crate::PlanError::NoSegmentIndex) by flags, bits and keys, and
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) by offsets, without an initial value and an identity: a
    /// segment between offsets may be empty.
    pub fn with_totals(&self) -> Run<'_, Op, Host, PrefixesAndTotals> {
        self.call().with_totals()
    }

    /// Writes the total to an array of one element; see [`Run::total_into`].
    pub fn total_into<'a>(&'a self, total: &'a mut (impl ArrayMut<Op::Carry, Host> + ?Sized)) -> Run<'a, Op> {
        self.call().total_into(total)
    }

    /// Writes the total of each segment, as [`with_totals`](Scan::with_totals) gives it, to memory of yours.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let (mut sums, mut totals) = ([0; 6], [0; 2]);
    /// let scan = Scanner::new()?.scan(ops::sum());
    /// scan.rows(3).totals_into(&mut totals).run_into(&[1, 2, 3, 10, 20, 30], &mut sums)?;
    /// assert_eq!((sums, totals), ([1, 3, 6, 10, 30, 60], [6, 60]));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`with_totals`](Scan::with_totals), and [`Error::Length`](crate::Error::Length) if there is not one total for
    /// each segment.
    pub fn totals_into<'a>(&'a self, totals: &'a mut (impl ArrayMut<Op::Carry, Host> + ?Sized)) -> Run<'a, Op> {
        self.call().totals_into(totals)
    }
}
