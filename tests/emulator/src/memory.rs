//! Tracked memory: the bytes of a buffer, and of each element who wrote and who read it last.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::{
    fault::{Access, FaultKind, Place, Spot},
    order::{Knowledge, Times, Who},
    random::Random,
    weak::History,
};

/// Nobody: no thread of a grid has this number.
const NOBODY: u32 = u32::MAX;
/// The host, before the first launch.
const HOST: u32 = u32::MAX - 1;
/// Set in a cell's line where the access was atomic.
const ATOMIC: u32 = 1 << 31;

/// The past of a stretch of memory.
#[derive(Clone, Copy, Debug)]
struct Cell {
    writer: u32,
    write_time: u32,
    write_line: u32,
    /// The last reader since that write; others that are not ordered before it are kept aside.
    reader: u32,
    read_time: u32,
    read_line: u32,
    /// The origin of the value (see `Origin` in `callbacks`).
    depth: u32,
    event: u32,
}

impl Cell {
    const fn written_by(writer: u32) -> Self {
        let (write_time, write_line, reader, read_time, read_line) = (0, 0, NOBODY, 0, 0);
        Cell { writer, write_time, write_line, reader, read_time, read_line, depth: 0, event: 0 }
    }
}

/// A buffer in global memory, or a shared array of a block.
#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    /// The offset of the first of these bytes: what is before them is not there, though pointers begin at offset 0.
    first: i64,
    /// What its address is taken to be, for alignment and banks.
    pub(super) address: u64,
    read_only: bool,
    initial: Cell,
    /// Bytes to a cell: the greatest that divides every access so far. 0 before the first.
    grain: usize,
    cells: Vec<Cell>,
    /// Readers of a cell besides the last: thread, time, line.
    readers: FxHashMap<usize, Vec<(u32, u32, u32)>>,
    /// The atomic stores to the words at these offsets.
    histories: FxHashMap<usize, History>,
}

/// The thread that accesses memory, and all that decides what is ordered before it.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) who: Who,
    /// Now, and when the thread's warp and block last came together.
    pub(super) times: Times,
    /// When the launch began: all that was before is ordered before it.
    pub(super) launch_time: u32,
    /// What it has acquired.
    pub(super) known: Option<&'a Knowledge>,
    /// Threads of a block.
    pub(super) threads: u32,
}

/// An access as the kernel asks for it.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) access: Access,
    pub(super) atomic: bool,
    pub(super) offset: i64,
    pub(super) size: u32,
    pub(super) align: u32,
    pub(super) line: u32,
}

impl View<'_> {
    /// Whether what `thread` did at `time` is before all that this thread does now.
    pub(super) fn is_after(&self, thread: u32, time: u32) -> bool {
        thread == self.who.thread
            || time <= self.launch_time
            || self.is_after_other(Who::new(thread, self.threads), time)
    }

    /// As [`is_after`](View::is_after), for any but the thread itself.
    pub(super) fn is_after_other(&self, other: Who, time: u32) -> bool {
        time <= self.launch_time
            || (time <= self.times.block && other.block == self.who.block)
            || (time <= self.times.warp && other.is_in_warp_of(self.who))
            || self.known.is_some_and(|known| known.covers(other, time))
    }

    fn place(&self, thread: u32, line: u32) -> Place {
        Place { line: line & !ATOMIC, block: thread / self.threads, thread: thread % self.threads }
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl Buffer {
    /// Memory that the host has filled.
    pub(super) fn initialised(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Buffer::new(name.into(), bytes, Cell::written_by(HOST))
    }

    /// Memory that holds nothing yet.
    pub(super) fn uninitialised(name: impl Into<String>, bytes: usize) -> Self {
        // Whatever reads it faults; the pattern is for whoever looks at it in a debugger.
        Buffer::new(name.into(), vec![0xa5; bytes], Cell::written_by(NOBODY))
    }

    fn new(name: String, bytes: Vec<u8>, initial: Cell) -> Self {
        let (first, address, read_only, grain) = (0, 0, false, 0);
        let (cells, readers, histories) = Default::default();
        Buffer { name, bytes, first, address, read_only, initial, grain, cells, readers, histories }
    }

    /// The same at this address.
    pub(super) fn at(mut self, address: usize) -> Self {
        self.address = address as u64;
        self
    }

    /// The same, which no kernel may write to.
    pub(super) fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// The same, of which nobody has written what begins at this byte, a multiple of eight.
    pub(super) fn unwritten_from(mut self, start: usize) -> Self {
        self.refine(8);
        let grain = self.grain;
        self.cells[start / grain..].fill(Cell::written_by(NOBODY));
        self
    }

    /// A write by a thread of no block, which nothing else writes at the same time.
    pub(super) fn write_by(&mut self, view: &View<'_>, start: usize, bytes: &[u8]) {
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        let cell = Cell { write_time: view.times.thread, ..Cell::written_by(view.who.thread) };
        self.cells[start / self.grain..(start + bytes.len()) / self.grain].fill(cell);
    }

    /// An atomic store by such a thread.
    pub(super) fn store_by(&mut self, view: &View<'_>, start: usize, bytes: &[u8], release: Rc<Knowledge>) {
        self.store_atomic(start, bytes, view, Some(release));
        self.write_by(view, start, bytes);
        let end = start + bytes.len();
        self.cells[start / self.grain..end / self.grain].iter_mut().for_each(|cell| cell.write_line = ATOMIC);
    }

    /// The same at this address, of which kernels are given the address of this byte.
    pub(super) fn given(self, address: usize, first: usize) -> Self {
        self.at(address + first).from(-(first as i64))
    }

    /// The same, of which the bytes begin at this offset.
    pub(super) fn from(mut self, first: i64) -> Self {
        self.first = first;
        self
    }

    /// Forgets all that was written.
    pub(super) fn reset(&mut self) {
        self.cells.fill(self.initial);
        self.readers.clear();
        self.histories.clear();
    }

    pub(super) fn spot(&self, request: &Request) -> Spot {
        Spot { buffer: self.name.clone(), index: request.offset.div_euclid(i64::from(request.size.max(1))) }
    }

    /// Checks an access and notes it. On return the bytes at the offset may be read or written.
    pub(super) fn access(&mut self, request: &Request, view: &View<'_>) -> Result<usize, FaultKind> {
        let size = request.size as usize;
        let start = match usize::try_from(request.offset - self.first) {
            Ok(start) if start + size <= self.bytes.len() => start,
            _ => {
                let length = (self.bytes.len() as u64 + self.first as u64) / u64::from(request.size.max(1));
                return Err(FaultKind::OutOfBounds { access: request.access, spot: self.spot(request), length });
            }
        };
        if self.address.wrapping_add_signed(request.offset) & (u64::from(request.align.max(1)) - 1) != 0 {
            return Err(FaultKind::Misaligned { spot: self.spot(request), align: request.align });
        }
        if request.access == Access::Write && self.read_only {
            return Err(FaultKind::ReadOnly { spot: self.spot(request) });
        }
        // Most accesses are of one whole cell; the numbers are small enough for the faster division.
        let cell = start as u32 / request.size.max(1);
        if self.grain == size && cell as usize * size == start {
            self.access_cell(cell as usize, request, view)?;
            return Ok(start);
        }
        if self.grain == 0 || !start.is_multiple_of(self.grain) || !size.is_multiple_of(self.grain) {
            self.refine(greatest_common_divisor(start, size));
        }
        for index in start / self.grain..(start + size) / self.grain {
            self.access_cell(index, request, view)?;
        }
        Ok(start)
    }

    fn access_cell(&mut self, index: usize, request: &Request, view: &View<'_>) -> Result<(), FaultKind> {
        match request.access {
            Access::Read => self.read_cell(index, request, view),
            Access::Write => self.write_cell(index, request, view),
        }
    }

    /// Makes the cells small enough that each access is a number of whole cells.
    fn refine(&mut self, grain: usize) {
        let finer = greatest_common_divisor(greatest_common_divisor(self.grain, grain), self.bytes.len());
        if self.grain == 0 {
            self.cells = vec![self.initial; self.bytes.len() / finer];
        } else {
            let parts = self.grain / finer;
            self.cells = self.cells.iter().flat_map(|&cell| std::iter::repeat_n(cell, parts)).collect();
            let readers = std::mem::take(&mut self.readers);
            for (index, list) in readers {
                for part in 0..parts {
                    self.readers.insert(index * parts + part, list.clone());
                }
            }
        }
        self.grain = finer;
    }

    fn read_cell(&mut self, index: usize, request: &Request, view: &View<'_>) -> Result<(), FaultKind> {
        let cell = &mut self.cells[index];
        if cell.writer == NOBODY {
            return Err(FaultKind::Uninitialised { spot: Some(self.spot(request)) });
        }
        let both_atomic = request.atomic && cell.write_line & ATOMIC != 0;
        if cell.writer != HOST && !both_atomic && !view.is_after(cell.writer, cell.write_time) {
            let other = view.place(cell.writer, cell.write_line);
            return Err(self.race(request, Access::Write, other));
        }
        let line = if request.atomic { request.line | ATOMIC } else { request.line };
        if cell.reader != NOBODY && !view.is_after(cell.reader, cell.read_time) {
            let readers = self.readers.entry(index).or_default();
            readers.push((cell.reader, cell.read_time, cell.read_line));
            if readers.len() > 64 && readers.len().is_power_of_two() {
                // A read that is before this one is before whatever is after this one.
                readers.retain(|&(thread, time, _)| !view.is_after(thread, time));
                readers.sort_unstable();
                readers.reverse();
                readers.dedup_by_key(|&mut (thread, _, line)| (thread, line & ATOMIC));
            }
        }
        (cell.reader, cell.read_time, cell.read_line) = (view.who.thread, view.times.thread, line);
        Ok(())
    }

    fn write_cell(&mut self, index: usize, request: &Request, view: &View<'_>) -> Result<(), FaultKind> {
        let cell = &self.cells[index];
        let exempt = |line: u32| request.atomic && line & ATOMIC != 0;
        let written = cell.writer < HOST && !exempt(cell.write_line);
        if written && !view.is_after(cell.writer, cell.write_time) {
            let other = view.place(cell.writer, cell.write_line);
            return Err(self.race(request, Access::Write, other));
        }
        if cell.reader != NOBODY {
            let aside = self.readers.get(&index).map_or(&[][..], Vec::as_slice);
            let last = (cell.reader, cell.read_time, cell.read_line);
            for &(thread, time, line) in aside.iter().chain([&last]) {
                if !exempt(line) && !view.is_after(thread, time) {
                    return Err(self.race(request, Access::Read, view.place(thread, line)));
                }
            }
            if !aside.is_empty() {
                self.readers.remove(&index);
            }
        }
        let cell = &mut self.cells[index];
        let line = if request.atomic { request.line | ATOMIC } else { request.line };
        (cell.writer, cell.write_time, cell.write_line) = (view.who.thread, view.times.thread, line);
        cell.reader = NOBODY;
        Ok(())
    }

    fn race(&self, request: &Request, other_access: Access, other: Place) -> FaultKind {
        FaultKind::Race { access: request.access, spot: self.spot(request), other_access, other }
    }

    /// The origin of the value at this offset: its depth if the same block made it in this launch, and its event.
    pub(super) fn origin(&self, start: usize, view: &View<'_>) -> (u32, u32) {
        let cell = &self.cells[start / self.grain];
        let made_here =
            cell.writer < HOST && cell.write_time > view.launch_time && cell.writer / view.threads == view.who.block;
        (if made_here { cell.depth } else { 0 }, cell.event)
    }

    pub(super) fn set_origin(&mut self, start: usize, depth: u32, event: u32) {
        let cell = &mut self.cells[start / self.grain];
        (cell.depth, cell.event) = (depth, event);
    }

    /// Who wrote each stretch from `start` to `end` last, and when.
    pub(super) fn writers(&self, start: usize, end: usize) -> impl Iterator<Item = (u32, u32)> {
        self.cells[start / self.grain..end / self.grain].iter().map(|cell| (cell.writer, cell.write_time))
    }

    /// What lies from `start` to `end` now has been brought by no application of the operator.
    pub(super) fn forget_origins(&mut self, start: usize, end: usize) {
        for cell in &mut self.cells[start / self.grain..end / self.grain] {
            (cell.depth, cell.event) = (0, 0);
        }
    }

    /// The value that an atomic load sees, and what acquiring it teaches. The last value where `random` is `None`.
    pub(super) fn load_atomic(
        &mut self,
        start: usize,
        to: &mut [u8],
        view: &View<'_>,
        random: Option<&mut Random>,
    ) -> Option<Rc<Knowledge>> {
        let bytes = &self.bytes[start..start + to.len()];
        to.copy_from_slice(bytes);
        let history = self.histories.get_mut(&start).filter(|history| history.is_current(bytes))?;
        let store = match random {
            Some(random) => history.load(view, random)?,
            None => history.last()?,
        };
        to.copy_from_slice(&store.bytes);
        store.release.clone()
    }

    /// Notes an atomic store of `bytes`, which have not been written yet.
    pub(super) fn store_atomic(&mut self, start: usize, bytes: &[u8], view: &View<'_>, release: Option<Rc<Knowledge>>) {
        let before = &self.bytes[start..start + bytes.len()];
        match self.histories.get_mut(&start).filter(|history| history.is_current(before)) {
            Some(history) => history.store(bytes, release, view),
            None => {
                let mut history = History::new(before);
                history.store(bytes, release, view);
                self.histories.insert(start, history);
            }
        }
    }

    /// The first element of this size that nobody has written, if there is one.
    pub(super) fn first_unwritten(&self, size: usize) -> Option<u64> {
        if self.grain == 0 {
            let nothing = self.initial.writer == NOBODY && !self.bytes.is_empty();
            return nothing.then_some(0);
        }
        let cell = self.cells.iter().position(|cell| cell.writer == NOBODY)?;
        Some((cell * self.grain / size.max(1)) as u64)
    }
}
