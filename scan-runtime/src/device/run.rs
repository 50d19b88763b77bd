//! Words of calls over device memory alone.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use super::{
    arrays::{array, array_mut},
    call::{DeviceInitial, Extra},
};
#[cfg(doc)]
use crate::Error;
use crate::{
    Device, DeviceBuffer, DeviceBufferMut, DeviceCall, LateValue, Outcome, Prepared, Results, Run, Scan, ScanOp,
    Totals, call, heads::Heads, run::Lent,
};

impl<Op: ScanOp, R: Outcome> Scan<Op, R> {
    /// A run over device memory on a stream of yours. It has the same options, and takes segments, values and arrays in
    /// device memory. For calls in a loop, or in a graph, [`prepare`](Run::prepare) does at once what each call does
    /// otherwise.
    ///
    /// What the kernels need of memory beside input and output is kept for the next call on the stream. So the scanner
    /// holds the stream: until it is gone itself, or works on a new stream and finds that it is the only holder of this
    /// one. A stream that another library owns must outlive the scanner. Calls that are captured into a graph make the
    /// memory part of the graph.
    ///
    /// A scan waits for all that is before it on the stream, and what follows waits for the scan, as ever. Only what is
    /// launched programmatically dependent, from compute capability 9.0 on, may begin before: scans are, and a kernel
    /// of yours that is must wait itself (`griddepcontrol.wait`) before it touches what the scan reads or writes.
    /// `Overrides::programmatic` turns that off for scans.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let sums = scanner.scan(ops::sum());
    /// let (keys, input) = (stream.clone_htod(&[7_u64, 7, 8])?, stream.clone_htod(&[1, 2, 3])?);
    /// let output = sums.on(&stream).by_keys(&keys).run(&input)?;
    /// assert_eq!(stream.clone_dtoh(&output)?, [1, 3, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on<'a>(&'a self, stream: &'a Arc<CudaStream>) -> Run<'a, Op, Device, R> {
        Run::new(DeviceCall::new(self.options.call(Heads::NONE, None, call::Totals::None), stream))
    }
}

impl<'a, Op: ScanOp, R: Outcome> Run<'a, Op, Device, R> {
    fn with_initial<'b>(self, initial: DeviceInitial<'b>) -> Run<'b, Op, Device, R>
    where
        'a: 'b,
    {
        Run::new(DeviceCall { initial, ..self.call })
    }
}

/// Words of scans of device memory.
impl<'a, Op: ScanOp, R: Results> Run<'a, Op, Device, R> {
    /// Puts a value before the first element (of each segment, in a scan that restarts) that is in device memory when
    /// the scan runs, in a slice of one element: what an earlier kernel on the stream has computed, or the total of the
    /// chunk before. It takes the place of the scan's own [initial value](crate::Scan::init).
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let sums = scanner.scan(ops::sum::<u64>());
    /// let (mut before, mut after) = (stream.clone_htod(&[0])?, stream.clone_htod(&[0])?);
    /// let mut chunks = Vec::new();
    /// for chunk in [[1_u64, 2, 3], [4, 5, 6]] {
    ///     let (input, mut output) = (stream.clone_htod(&chunk)?, stream.alloc_zeros(3)?);
    ///     sums.on(&stream).init_from(&before).total_into(&mut after).run_into(&input, &mut output)?;
    ///     std::mem::swap(&mut before, &mut after);
    ///     chunks.push(stream.clone_dtoh(&output)?);
    /// }
    /// assert_eq!(chunks, [[1, 3, 6], [10, 15, 21]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The run gives [`Error::Length`] if the slice is not of one element.
    pub fn init_from<'b>(self, value: &'b impl DeviceBuffer<Op::Carry>) -> Run<'b, Op, Device, R>
    where
        'a: 'b,
    {
        self.with_initial(DeviceInitial::One(array(value)))
    }

    /// Puts a value before the first element that another stream, another device or the host writes while the scan
    /// runs, as [`LateValue`] says. The tiles are folded meanwhile, as many as there is room for. It takes the place of
    /// the scan's own [initial value](crate::Scan::init).
    ///
    /// ```no_run
    /// use scan_runtime::{LateValue, Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let maxima = scanner.scan(ops::max()).on(&stream).init_late(&LateValue::new(&stream)?).prepare(1_000)?;
    /// let (before, mut buffer) = (LateValue::new(&stream)?, stream.clone_htod(&[2, 7, 1])?);
    /// maxima.init_late(&before).run_in_place(&mut buffer)?;
    /// before.write(5)?;
    /// assert_eq!(stream.clone_dtoh(&buffer)?, [5, 7, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The run gives [`Error::LateValueStream`] if the value is for another stream, [`Error::LateValueOfNothing`] for
    /// no elements, and [`PlanError::LateValue`](crate::PlanError::LateValue) for a scan that restarts, of a length in
    /// device memory, or with an operator that goes from carry to carry.
    pub fn init_late<'b>(self, value: &'b LateValue<Op::Carry>) -> Run<'b, Op, Device, R>
    where
        'a: 'b,
    {
        self.with_initial(DeviceInitial::Late(value))
    }

    /// Scans as many elements as a number in device memory says when the scan runs, in a slice of one: what an earlier
    /// kernel on the stream has counted, or what a graph finds anew at each launch. There are at most as many as the
    /// input has; the results behind them stay what they are, and a reversed scan begins at the last of them. Of rows
    /// only whole ones are scanned. The total is that of these elements. As many launches are made as for the whole
    /// input.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let (input, len) = (stream.clone_htod(&[1, 2, 3, 4])?, stream.clone_htod(&[3_u64])?);
    /// let mut output = stream.clone_htod(&[9; 4])?;
    /// scanner.scan(ops::sum()).on(&stream).len_from(&len).run_into(&input, &mut output)?;
    /// assert_eq!(stream.clone_dtoh(&output)?, [1, 3, 6, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The run gives [`Error::Length`] if the slice is not of one element, [`Error::LengthOnDevice`] where it would
    /// make the output, and [`PlanError::NoIdentity`](crate::PlanError::NoIdentity) for a total where nothing tells
    /// that of no elements.
    pub fn len_from<'b>(self, len: &'b impl DeviceBuffer<u64>) -> Run<'b, Op, Device, R>
    where
        'a: 'b,
    {
        Run::new(DeviceCall { len: Some(array(len)), ..self.call })
    }
}

/// Words of reductions of device memory.
impl<'a, Op: ScanOp> Run<'a, Op, Device, Totals> {
    /// Reduces segments by flags, bits or keys, whose number only the device knows. `run_into` then writes the results,
    /// in the order of the segments, to the beginning of its output, and the number of segments to `count`, a slice of
    /// one element. If the output is too short, the results that do not fit are left out, and the count shows it.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let shops = stream.clone_htod(&[7_u64, 7, 8, 8, 8, 7])?;
    /// let prices = stream.clone_htod(&[5, 2, 9, 1, 4, 3])?;
    /// let (mut lowest, mut count) = (stream.alloc_zeros(6)?, stream.alloc_zeros::<u64>(1)?);
    /// let lowest_by_shop = scanner.reduce(ops::min());
    /// lowest_by_shop.on(&stream).by_keys(&shops).count_into(&mut count).run_into(&prices, &mut lowest)?;
    /// let count = stream.clone_dtoh(&count)?[0] as usize;
    /// assert_eq!(stream.clone_dtoh(&lowest.slice(..count))?, [2, 1, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A run gives [`Error::KnownSegments`] for other segments, and [`Error::Length`] if the count is not one element.
    pub fn count_into<'b>(self, count: &'b mut impl DeviceBufferMut<u64>) -> Run<'b, Op, Device, Totals>
    where
        'a: 'b,
    {
        Run::new(DeviceCall { extra: Some((Extra::Count, Lent::new(array_mut(count)))), ..self.call })
    }
}

/// Words of [`Run`] for device memory, for a run of the handle.
impl<Op: ScanOp> Prepared<Op, Device> {
    /// See [`Run::init_from`].
    pub fn init_from<'a>(&'a self, value: &'a impl DeviceBuffer<Op::Carry>) -> Run<'a, Op, Device> {
        self.call().init_from(value)
    }

    /// See [`Run::init_late`].
    pub fn init_late<'a>(&'a self, value: &'a LateValue<Op::Carry>) -> Run<'a, Op, Device> {
        self.call().init_late(value)
    }

    /// See [`Run::len_from`].
    pub fn len_from<'a>(&'a self, len: &'a impl DeviceBuffer<u64>) -> Run<'a, Op, Device> {
        self.call().len_from(len)
    }
}

impl<Op: ScanOp> Prepared<Op, Device, Totals> {
    /// See [`Run::count_into`].
    pub fn count_into<'a>(&'a self, count: &'a mut impl DeviceBufferMut<u64>) -> Run<'a, Op, Device, Totals> {
        self.call().count_into(count)
    }
}
