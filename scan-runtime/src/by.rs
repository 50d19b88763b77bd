//! The ways to make a scan restart, of host and of device memory.

use crate::{
    DeviceBuffer, DevicePrepared, DeviceScan, Goal, HeadFlag, Heads, NoHeads, Scan, ScanElement, ScanOp, SegmentOffset,
    device::heads::DeviceHeads, heads::HeadKind,
};

/// Ways to restart. Each makes a scan of which every segment is a scan of its own, or a [reduction](crate::Reduce) that
/// gives a total for each segment, in their order.
impl<Op: ScanOp, G> Scan<Op, NoHeads, G> {
    /// Restarts at every element whose flag is set (`true`, or another `u8` than 0). There is a flag for each element; the
    /// first element begins a segment whatever its flag.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cpu();
    /// let scan = scanner.scan(ops::sum());
    /// assert_eq!(scan.by_flags(&[true, false, false, true, false]).run(&[1, 2, 3, 4, 5])?, [1, 3, 6, 4, 9]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn by_flags<'h, F: HeadFlag>(self, flags: &'h [F]) -> Scan<Op, Heads<'h>, G> {
        self.with_heads(Heads::flags(flags))
    }

    /// Restarts at every element whose bit is set: bit `i % 32` of word `i / 32`. There are as many words as the input
    /// needs; the first element begins a segment whatever its bit.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cpu();
    /// let scan = scanner.scan(ops::sum());
    /// assert_eq!(scan.by_bits(&[0b01001]).run(&[1, 2, 3, 4, 5])?, [1, 3, 6, 4, 9]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn by_bits<'h>(self, bits: &'h [u32]) -> Scan<Op, Heads<'h>, G> {
        self.with_heads(Heads::bits(bits))
    }

    /// Restarts wherever the key is another than that of the element before: equal neighbours belong together, and a key
    /// that comes back later begins a new segment. There is a key for each element.
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
    pub fn by_keys<'h, K: ScanElement>(self, keys: &'h [K]) -> Scan<Op, Heads<'h>, G> {
        self.with_heads(Heads::keys(keys))
    }

    /// Restarts at these positions, which ascend. A position that stands there twice begins an empty segment, of which no
    /// output tells. The length of the input may stand at the end, or not. What stands before the first position is a segment
    /// too.
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
    /// let sums = scanner.reduce(ops::sum()).by_offsets(&[0_usize, 3, 3, 5]);
    /// assert_eq!(sums.run(&[1, 2, 3, 4, 5])?, [6, 0, 9]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn by_offsets<'h, T: SegmentOffset>(self, offsets: &'h [T]) -> Scan<Op, Heads<'h>, G> {
        self.with_heads(Heads::offsets(offsets))
    }

    /// Scans each row of `len` elements on its own: the rows lie one behind the other, as those of a matrix do. No memory tells
    /// where they begin.
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
    /// A run gives [`Error::RowLength`](crate::Error::RowLength) if the length of the input is no multiple of `len`. An input
    /// without elements has no rows, whatever `len` is, 0 too.
    pub fn rows(self, len: usize) -> Scan<Op, Heads<'static>, G> {
        self.with_heads(Heads::rows(len))
    }
}

/// Ways to restart by heads in device memory. What the host checks of host memory is not checked here but for the lengths: offsets
/// that do not ascend, or lie beyond the input, give unspecified segments, though never an access out of bounds.
impl<'a, Op: ScanOp, G: Goal> DeviceScan<'a, Op, G> {
    /// Restarts at every element whose flag is set; see [`Scan::by_flags`].
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let flags = stream.clone_htod(&[1_u8, 0, 0, 1, 0])?;
    /// let input = stream.clone_htod(&[1, 2, 3, 4, 5])?;
    /// let output = scanner.scan(ops::sum()).on(&stream).by_flags(&flags).run(&input)?;
    /// assert_eq!(stream.clone_dtoh(&output)?, [1, 3, 6, 4, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn by_flags<F: HeadFlag>(self, flags: &'a impl DeviceBuffer<F>) -> Self {
        self.with_heads(DeviceHeads::new(HeadKind::Flags, flags))
    }

    /// Restarts at every element whose bit is set; see [`Scan::by_bits`].
    ///
    /// ```no_run
    /// # use scan_runtime::{Scanner, ops};
    /// # let scanner = Scanner::cuda(0)?;
    /// # let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// # let mut buffer = stream.clone_htod(&[1, 2, 3, 4, 5])?;
    /// let bits = stream.clone_htod(&[0b01001])?;
    /// scanner.scan(ops::sum()).on(&stream).by_bits(&bits).run_in_place(&mut buffer)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn by_bits(self, bits: &'a impl DeviceBuffer<u32>) -> Self {
        self.with_heads(DeviceHeads::new(HeadKind::Bits, bits))
    }

    /// Restarts wherever the key is another than that of the element before; see [`Scan::by_keys`].
    ///
    /// ```no_run
    /// # use scan_runtime::{Scanner, ops};
    /// # let scanner = Scanner::cuda(0)?;
    /// # let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// # let mut buffer = stream.clone_htod(&[1, 2, 3, 4, 5])?;
    /// let keys = stream.clone_htod(&[7_u64, 7, 8, 7, 7])?;
    /// scanner.scan(ops::sum()).on(&stream).by_keys(&keys).run_in_place(&mut buffer)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn by_keys<K: ScanElement>(self, keys: &'a impl DeviceBuffer<K>) -> Self {
        self.with_heads(DeviceHeads::new(HeadKind::keys::<K>(), keys))
    }

    /// Restarts at these positions; see [`Scan::by_offsets`].
    ///
    /// ```no_run
    /// # use scan_runtime::{Scanner, ops};
    /// # let scanner = Scanner::cuda(0)?;
    /// # let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// # let mut buffer = stream.clone_htod(&[1, 2, 3, 4, 5])?;
    /// let offsets = stream.clone_htod(&[0_u32, 3, 3, 5])?;
    /// scanner.scan(ops::sum()).on(&stream).by_offsets(&offsets).run_in_place(&mut buffer)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn by_offsets<T: SegmentOffset>(self, offsets: &'a impl DeviceBuffer<T>) -> Self {
        self.with_heads(DeviceHeads::new(HeadKind::Offsets(T::WIDTH), offsets))
    }

    /// Scans each row of `len` elements on its own; see [`Scan::rows`].
    ///
    /// ```no_run
    /// # use scan_runtime::{Scanner, ops};
    /// # let scanner = Scanner::cuda(0)?;
    /// # let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let mut matrix = stream.clone_htod(&[1, 2, 3, 10, 20, 30])?;
    /// scanner.scan(ops::sum()).on(&stream).rows(3).run_in_place(&mut matrix)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rows(self, len: usize) -> Self {
        self.with_heads(DeviceHeads::rows(len))
    }
}

/// What a run of a handle brings that was prepared for it.
impl<Op: ScanOp, G: Goal> DevicePrepared<Op, G> {
    /// Restarts at every element whose flag is set; see [`DeviceScan::by_flags`].
    pub fn by_flags<'a, F: HeadFlag>(&'a self, flags: &'a impl DeviceBuffer<F>) -> DeviceScan<'a, Op, G> {
        self.call().by_flags(flags)
    }

    /// Restarts at every element whose bit is set; see [`DeviceScan::by_bits`].
    pub fn by_bits<'a>(&'a self, bits: &'a impl DeviceBuffer<u32>) -> DeviceScan<'a, Op, G> {
        self.call().by_bits(bits)
    }

    /// Restarts wherever the key is another than that of the element before; see [`DeviceScan::by_keys`].
    pub fn by_keys<'a, K: ScanElement>(&'a self, keys: &'a impl DeviceBuffer<K>) -> DeviceScan<'a, Op, G> {
        self.call().by_keys(keys)
    }

    /// Restarts at these positions; see [`DeviceScan::by_offsets`].
    pub fn by_offsets<'a, T: SegmentOffset>(&'a self, offsets: &'a impl DeviceBuffer<T>) -> DeviceScan<'a, Op, G> {
        self.call().by_offsets(offsets)
    }

    /// Each row of `len` elements on its own; see [`DeviceScan::rows`].
    pub fn rows(&self, len: usize) -> DeviceScan<'_, Op, G> {
        self.call().rows(len)
    }
}
