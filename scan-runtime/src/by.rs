//! The ways to make a scan restart, of host and of device memory.

use std::marker::PhantomData;

use crate::{
    DeviceBuffer, DeviceScan, HeadFlag, Scan, ScanElement, ScanOp, SegmentOffset,
    heads::{HeadKind, Heads, HeadsOnDevice, Rows},
};

/// Ways to restart. Each makes a scan of which every segment is a scan of its own.
impl<Op: ScanOp> Scan<Op> {
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
    pub fn by_flags<'h, F: HeadFlag>(self, flags: &'h [F]) -> Scan<Op, Heads<'h>> {
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
    pub fn by_bits<'h>(self, bits: &'h [u32]) -> Scan<Op, Heads<'h>> {
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
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn by_keys<'h, K: ScanElement>(self, keys: &'h [K]) -> Scan<Op, Heads<'h>> {
        self.with_heads(Heads::keys(keys))
    }

    /// Restarts at these positions, which ascend. A position that stands there twice begins an empty segment, of which no
    /// output tells. The length of the input may stand at the end, or not. What stands before the first position is a segment
    /// too.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cpu();
    /// let scan = scanner.scan(ops::sum());
    /// assert_eq!(scan.by_offsets(&[0_usize, 3, 3, 5]).run(&[1, 2, 3, 4, 5])?, [1, 3, 6, 4, 9]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn by_offsets<'h, T: SegmentOffset>(self, offsets: &'h [T]) -> Scan<Op, Heads<'h>> {
        self.with_heads(Heads::offsets(offsets))
    }
}

/// Rows.
impl<Op: ScanOp> Scan<Op> {
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
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A run gives [`Error::RowLength`](crate::Error::RowLength) if the length of the input is no multiple of `len`, or `len` is 0.
    pub fn rows(self, len: usize) -> Scan<Op, Heads<'static>> {
        self.with_heads(Heads::rows(len))
    }
}

/// Ways to restart, told by device memory. What the host checks of host memory is not checked here but for the lengths: offsets
/// that do not ascend give unspecified segments, though never an access out of bounds.
impl<'a, Op: ScanOp> DeviceScan<'a, Op> {
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
    pub fn by_flags<'h, F: HeadFlag, B: DeviceBuffer<F>>(
        self,
        flags: &'h B,
    ) -> DeviceScan<'a, Op, HeadsOnDevice<'h, F, B>> {
        self.by(HeadKind::Flags, flags)
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
    pub fn by_bits<'h, B: DeviceBuffer<u32>>(self, bits: &'h B) -> DeviceScan<'a, Op, HeadsOnDevice<'h, u32, B>> {
        self.by(HeadKind::Bits, bits)
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
    pub fn by_keys<'h, K: ScanElement, B: DeviceBuffer<K>>(
        self,
        keys: &'h B,
    ) -> DeviceScan<'a, Op, HeadsOnDevice<'h, K, B>> {
        self.by(HeadKind::keys::<K>(), keys)
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
    pub fn by_offsets<'h, T: SegmentOffset, B: DeviceBuffer<T>>(
        self,
        offsets: &'h B,
    ) -> DeviceScan<'a, Op, HeadsOnDevice<'h, T, B>> {
        self.by(HeadKind::Offsets(T::WIDTH), offsets)
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
    pub fn rows(self, len: usize) -> DeviceScan<'a, Op, Rows> {
        let DeviceScan { scan, stream, initial, .. } = self;
        DeviceScan { scan, stream, initial, heads: Rows { len } }
    }

    fn by<'h, T, B: DeviceBuffer<T>>(
        self,
        kind: HeadKind,
        buffer: &'h B,
    ) -> DeviceScan<'a, Op, HeadsOnDevice<'h, T, B>> {
        let DeviceScan { scan, stream, initial, .. } = self;
        DeviceScan { scan, stream, initial, heads: HeadsOnDevice { kind, buffer, item: PhantomData } }
    }
}
