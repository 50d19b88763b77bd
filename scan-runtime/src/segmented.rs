//! Scans that restart: what tells where, and the ways to run them on host and device memory.

use cudarc::driver::CudaSlice;
use scan_codegen::{KernelSource, Plans};

use crate::{
    DeviceBuffer, DeviceBufferMut, DeviceScan, Error, HeadFlag, Scan, ScanElement, ScanOp, SegmentOffset,
    aot::Wanted,
    cpu,
    cuda::{SideBuffers, Task},
    generate,
    heads::{HeadKind, Heads, check_length},
};

/// Ways to restart. Each makes a scan of which every segment is a scan of its own.
impl<'s, Op: ScanOp> Scan<'s, Op> {
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
    #[inline(always)]
    pub fn by_flags<'h, F: HeadFlag>(self, flags: &'h [F]) -> SegmentedScan<'s, 'h, Op> {
        SegmentedScan { scan: self, heads: Heads::flags(flags) }
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
    pub fn by_bits<'h>(self, bits: &'h [u32]) -> SegmentedScan<'s, 'h, Op> {
        SegmentedScan { scan: self, heads: Heads::bits(bits) }
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
    pub fn by_keys<'h, K: ScanElement>(self, keys: &'h [K]) -> SegmentedScan<'s, 'h, Op> {
        SegmentedScan { scan: self, heads: Heads::keys(keys) }
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
    pub fn by_offsets<'h, T: SegmentOffset>(self, offsets: &'h [T]) -> SegmentedScan<'s, 'h, Op> {
        SegmentedScan { scan: self, heads: Heads::offsets(offsets) }
    }
}

/// A scan that restarts, of host memory: made by [`Scan::by_flags`], [`by_bits`](Scan::by_bits),
/// [`by_keys`](Scan::by_keys) or [`by_offsets`](Scan::by_offsets).
///
/// Each segment is scanned as if it were all of the input: an exclusive scan begins each with the identity, and an
/// [initial value](Scan::init) stands before the first element of each.
#[derive(Clone)]
#[must_use = "a scan does nothing until it is run"]
pub struct SegmentedScan<'s, 'h, Op: ScanOp> {
    scan: Scan<'s, Op>,
    heads: Heads<'h>,
}

impl<Op: ScanOp> SegmentedScan<'_, '_, Op> {
    pub(crate) fn wanted_kernels(&self) -> Wanted {
        Wanted::new(&self.scan.op, Task::Scan(self.scan.spec(&self.heads.kind.segments()), self.scan.shape()))
    }

    /// What would run on the GPU. It depends on what kind of heads there are, not on the heads.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let plan = Scanner::cpu().scan(ops::sum::<f32>()).by_keys::<u64>(&[]).plan()?;
    /// assert_eq!(plan.longest().spec.to_string(), "inclusive scan, segments by keys of type u64");
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Plan`], as for a scan that does not restart, and if keys have padding.
    pub fn plan(&self) -> Result<Plans, Error> {
        Ok(self.scan.request(self.heads).plans()?)
    }

    /// The CUDA source that would run on the GPU over the longest inputs, on a machine without one too.
    ///
    /// # Errors
    ///
    /// As [`plan`](SegmentedScan::plan).
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        Ok(generate::render(&self.scan.op.source(), self.plan()?.longest())?)
    }

    /// As [`cuda_source`](SegmentedScan::cuda_source), over inputs of `len` elements.
    ///
    /// # Errors
    ///
    /// As [`plan`](SegmentedScan::plan).
    pub fn cuda_source_for(&self, len: usize) -> Result<KernelSource, Error> {
        Ok(generate::render(&self.scan.op.source(), self.plan()?.for_len(len as u64))?)
    }

    /// Scans a slice into a new vector.
    ///
    /// # Errors
    ///
    /// [`Error::SegmentsLength`] if there are more or fewer flags, bits or keys than the input requires,
    /// [`Error::OffsetsDescend`] and [`Error::OffsetPastEnd`] if the offsets are none, and whatever else can go wrong.
    pub fn run(&self, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        self.scan.request(self.heads).run_to_vector(input)
    }

    /// Scans a slice into another one of the same length.
    ///
    /// # Errors
    ///
    /// As [`run`](SegmentedScan::run), and [`Error::OutputLength`] if the lengths differ.
    #[inline(always)]
    pub fn run_into(&self, input: &[Op::Input], output: &mut [Op::Output]) -> Result<(), Error> {
        let (from, to, len) = (input.as_ptr(), output.as_mut_ptr(), input.len());
        let scan = &self.scan;
        if len == output.len() && scan.is_plain_by(&self.heads, len) {
            // SAFETY: the output is a slice of the right length, exclusively borrowed.
            return unsafe { cpu::scan_inlined_by_flags(scan.operator(), self.heads.bytes, from, to) };
        }
        scan.request(self.heads).run_into(input, output)
    }

    /// Scans a slice in place.
    ///
    /// # Errors
    ///
    /// As [`run`](SegmentedScan::run). After [`Error::OperatorPanicked`] on the CPU the content is unspecified; otherwise an
    /// error leaves the buffer as it was.
    #[inline(always)]
    pub fn run_in_place<T>(&self, buffer: &mut [T]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        let (to, len) = (buffer.as_mut_ptr(), buffer.len());
        let scan = &self.scan;
        // SAFETY: the buffer is a slice, exclusively borrowed.
        unsafe {
            if scan.is_plain_by(&self.heads, len) {
                cpu::scan_inlined_by_flags(scan.operator(), self.heads.bytes, to.cast_const(), to)
            } else {
                scan.request(self.heads).run(to.cast_const(), to, len)
            }
        }
    }
}

/// Ways to restart, told by device memory. What the host checks of host memory is not checked here but for the lengths: offsets
/// that do not ascend give unspecified segments, though never an access out of bounds.
impl<'a, 's, Op: ScanOp> DeviceScan<'a, 's, Op> {
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
    pub fn by_flags<'h, F: HeadFlag, H: DeviceBuffer<F>>(
        self,
        flags: &'h H,
    ) -> DeviceSegmentedScan<'a, 's, 'h, Op, F, H> {
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
    pub fn by_bits<'h, H: DeviceBuffer<u32>>(self, bits: &'h H) -> DeviceSegmentedScan<'a, 's, 'h, Op, u32, H> {
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
    pub fn by_keys<'h, K: ScanElement, H: DeviceBuffer<K>>(
        self,
        keys: &'h H,
    ) -> DeviceSegmentedScan<'a, 's, 'h, Op, K, H> {
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
    pub fn by_offsets<'h, T: SegmentOffset, H: DeviceBuffer<T>>(
        self,
        offsets: &'h H,
    ) -> DeviceSegmentedScan<'a, 's, 'h, Op, T, H> {
        self.by(HeadKind::Offsets(T::WIDTH), offsets)
    }

    fn by<'h, T, H: DeviceBuffer<T>>(self, kind: HeadKind, heads: &'h H) -> DeviceSegmentedScan<'a, 's, 'h, Op, T, H> {
        DeviceSegmentedScan { scan: self, kind, heads, item: std::marker::PhantomData }
    }
}

/// A scan that restarts, of device memory on a stream: made by [`DeviceScan::by_flags`], [`by_bits`](DeviceScan::by_bits),
/// [`by_keys`](DeviceScan::by_keys) or [`by_offsets`](DeviceScan::by_offsets).
///
/// Every method enqueues its work on the stream and returns, as those of [`DeviceScan`] do.
#[must_use = "a scan does nothing until it is run"]
pub struct DeviceSegmentedScan<'a, 's, 'h, Op: ScanOp, T, H: DeviceBuffer<T>> {
    scan: DeviceScan<'a, 's, Op>,
    kind: HeadKind,
    heads: &'h H,
    item: std::marker::PhantomData<T>,
}

impl<Op: ScanOp, T, H: DeviceBuffer<T>> DeviceSegmentedScan<'_, '_, '_, Op, T, H> {
    /// Scans a device slice or view into a new slice.
    ///
    /// # Errors
    ///
    /// As [`DeviceScan::run`], and [`Error::SegmentsLength`] if there are more or fewer flags, bits or keys than the input
    /// requires.
    pub fn run(&self, input: &impl DeviceBuffer<Op::Input>) -> Result<CudaSlice<Op::Output>, Error> {
        self.with_heads(input.len(), |heads| self.scan.run_with(&self.kind.segments(), heads, input))
    }

    /// Scans a device slice or view into another of the same length.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceSegmentedScan::run), and [`Error::OutputLength`] if the lengths differ.
    pub fn run_into(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        self.with_heads(input.len(), |heads| self.scan.run_into_with(&self.kind.segments(), heads, input, output))
    }

    /// Scans a device slice or view in place.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceSegmentedScan::run).
    pub fn run_in_place<E>(&self, buffer: &mut impl DeviceBufferMut<E>) -> Result<(), Error>
    where
        Op: ScanOp<Input = E, Output = E>,
        E: ScanElement,
    {
        self.with_heads(buffer.len(), |heads| self.scan.run_in_place_with(&self.kind.segments(), heads, buffer))
    }

    /// Enqueues work that reads the heads.
    fn with_heads<R>(&self, len: usize, enqueue: impl FnOnce(SideBuffers) -> Result<R, Error>) -> Result<R, Error> {
        let device = self.scan.device()?;
        device.check_context("heads", self.heads.stream())?;
        check_length(self.kind, self.heads.len(), len)?;
        // The guard records the event by which cudarc orders work on several streams, once the launches are made.
        let (pointer, _reading) = self.heads.device_ptr(self.scan.stream);
        enqueue(SideBuffers { heads: pointer, offset_count: self.heads.len() as u64, total: 0 })
    }
}
