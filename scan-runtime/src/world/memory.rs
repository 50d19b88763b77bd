//! What the call across ranks needs of a memory.

use std::{fmt, ops::Range, sync::Arc, time::Duration};

use cudarc::driver::CudaSlice;
use scan_codegen::Axis;

use super::{
    World, WorldError,
    devices::Ranked,
    threads::{Part, Thread},
};
use crate::{Device, Error, Host, Memory, Outcome, Run, Scan, ScanElement, ScanOp, Totals, arrays::Input, room::room};

/// The memory that the ranks of a [`World`] scan: [`Device`], or [`Host`] where the ranks are threads.
pub trait WorldMemory: Memory<Axis: From<Axis>> {
    /// What connects a rank with the others.
    #[doc(hidden)]
    #[allow(private_interfaces, private_bounds, reason = "nobody else names it")]
    type Link: Link;

    /// A run of the scan, over the memory of this rank.
    #[doc(hidden)]
    fn run<'a, Op: ScanOp, R: Outcome>(scan: &'a Scan<Op, R>, world: &'a World<Self>) -> Run<'a, Op, Self, R>;
    /// Items from the part of a rank to that of the next one where parts of `each` items have been gathered.
    #[doc(hidden)]
    fn row_of<T: ScanElement>(each: usize) -> usize;
    /// Reduces to `results` new results, in memory that has room for so many where it has a room at all.
    #[doc(hidden)]
    fn reduced<Op: ScanOp>(
        run: &Run<'_, Op, Self, Totals>,
        world: &World<Self>,
        input: impl Input<Op::Input, Self>,
        results: usize,
        room: usize,
    ) -> Result<Self::New<Op::Output>, Error>;
    /// The same of values in new memory.
    #[doc(hidden)]
    fn folded<Op: ScanOp>(
        run: &Run<'_, Op, Self, Totals>,
        world: &World<Self>,
        values: (&Self::New<Op::Input>, Range<usize>),
        results: usize,
    ) -> Result<Self::New<Op::Output>, Error>;
    /// The parts of the ranks that are `present`, in their order, from the part of this one, of `each` values and with
    /// room for [`row_of`](WorldMemory::row_of) them.
    #[doc(hidden)]
    fn gather<T: ScanElement>(
        world: &World<Self>,
        part: Option<Self::New<T>>,
        each: usize,
        present: &[bool],
    ) -> Result<Self::New<T>, Error>;
    /// No values.
    #[doc(hidden)]
    fn nothing<T: ScanElement>(world: &World<Self>) -> Result<Self::New<T>, Error>;
    #[doc(hidden)]
    fn input<T: ScanElement>(values: &Self::New<T>) -> impl Input<T, Self>;
    #[doc(hidden)]
    fn array<T: ScanElement>(values: &Self::New<T>) -> Self::Array<'_, T>;
    #[doc(hidden)]
    fn shorten<'a: 'b, 'b, T: ScanElement>(array: Self::Array<'a, T>) -> Self::Array<'b, T>;
    /// The only one of these values.
    #[doc(hidden)]
    fn one<T: ScanElement>(values: Self::New<T>) -> Result<Self::One<T>, Error>;
    /// The first value, if the host knows it.
    #[doc(hidden)]
    fn known<T: ScanElement>(values: &Self::New<T>) -> Option<T>;
    /// The run with the first value as its initial value, unless the host [knows](WorldMemory::known) it.
    #[doc(hidden)]
    fn init_from<'a, Op: ScanOp>(run: Run<'a, Op, Self>, values: &'a Self::New<Op::Carry>) -> Run<'a, Op, Self>;
}

/// What connects a rank with the others.
pub(crate) trait Link: fmt::Debug {
    fn rank(&self) -> usize;
    fn size(&self) -> usize;
    fn set_deadline(&mut self, deadline: Duration);
    /// Gives bytes, and waits for those of the other ranks.
    fn exchange(&self, what: &'static str, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error>;
    /// The same, of what a call is to do: never taken for a part of another call.
    fn compare(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error>;
    /// An error if the world is lost.
    fn check(&self) -> Result<(), Error>;
    /// Makes the world lost.
    fn lose(&self, error: WorldError);
}

impl Thread {
    /// The error where a rank has come with a part of another call.
    fn differs(&self, rank: usize, what: &str) -> Error {
        let error = WorldError::Differs { rank, what: what.to_owned() };
        self.lose(error.clone());
        error.into()
    }
}

impl Link for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        Thread::size(self)
    }

    fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    fn exchange(&self, what: &'static str, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let parts = Thread::exchange(self, what, Arc::new(bytes.to_vec()))?;
        let bytes = |(rank, part): (usize, &Part)| match part.downcast_ref::<Vec<u8>>() {
            Some(bytes) => Ok(bytes.clone()),
            None => Err(self.differs(rank, what)),
        };
        parts.iter().enumerate().map(bytes).collect()
    }

    fn compare(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        Link::exchange(self, COMPARING, bytes)
    }

    fn check(&self) -> Result<(), Error> {
        Ok(Thread::check(self)?)
    }

    fn lose(&self, error: WorldError) {
        Thread::lose(self, error);
    }
}

/// What the ranks do together.
const AGGREGATES: &str = "gathering the aggregates";
pub(super) const COMPARING: &str = "comparing what is to be run";

impl WorldMemory for Host {
    #[allow(private_interfaces, reason = "as of the trait")]
    type Link = Thread;

    fn run<'a, Op: ScanOp, R: Outcome>(scan: &'a Scan<Op, R>, _: &'a World<Self>) -> Run<'a, Op, Self, R> {
        scan.call()
    }

    fn row_of<T: ScanElement>(each: usize) -> usize {
        each
    }

    fn reduced<Op: ScanOp>(
        run: &Run<'_, Op, Self, Totals>,
        _: &World<Self>,
        input: impl Input<Op::Input, Self>,
        results: usize,
        _: usize,
    ) -> Result<Vec<Op::Output>, Error> {
        let (reduced, _) = run.call.reduce_shaped(input.arrays())?;
        debug_assert_eq!(reduced.len(), results);
        Ok(reduced)
    }

    fn folded<Op: ScanOp>(
        run: &Run<'_, Op, Self, Totals>,
        world: &World<Self>,
        (values, range): (&Vec<Op::Input>, Range<usize>),
        results: usize,
    ) -> Result<Vec<Op::Output>, Error> {
        Self::reduced(run, world, &values[range], results, results)
    }

    fn gather<T: ScanElement>(
        world: &World<Self>,
        part: Option<Vec<T>>,
        each: usize,
        present: &[bool],
    ) -> Result<Vec<T>, Error> {
        let parts = world.link.exchange(AGGREGATES, Arc::new(part))?;
        let mut values = room(each * present.iter().filter(|present| **present).count())?;
        for (rank, part) in parts.iter().enumerate().filter(|(rank, _)| present[*rank]) {
            match part.downcast_ref::<Option<Vec<T>>>() {
                Some(Some(part)) if part.len() == each => values.extend_from_slice(part),
                _ => return Err(world.link.differs(rank, AGGREGATES)),
            }
        }
        Ok(values)
    }

    fn nothing<T: ScanElement>(_: &World<Self>) -> Result<Vec<T>, Error> {
        Ok(Vec::new())
    }

    fn input<T: ScanElement>(values: &Vec<T>) -> impl Input<T, Self> {
        values
    }

    fn array<T: ScanElement>(values: &Vec<T>) -> &[T] {
        values
    }

    fn shorten<'a: 'b, 'b, T: ScanElement>(array: &'a [T]) -> &'b [T] {
        array
    }

    fn one<T: ScanElement>(values: Vec<T>) -> Result<T, Error> {
        values.first().copied().ok_or(Error::UnknownLength)
    }

    fn known<T: ScanElement>(values: &Vec<T>) -> Option<T> {
        values.first().copied()
    }

    fn init_from<'a, Op: ScanOp>(run: Run<'a, Op, Self>, _: &'a Vec<Op::Carry>) -> Run<'a, Op, Self> {
        run
    }
}

#[allow(private_interfaces, reason = "as of the trait")]
impl WorldMemory for Device {
    type Link = Ranked;

    fn run<'a, Op: ScanOp, R: Outcome>(scan: &'a Scan<Op, R>, world: &'a World<Self>) -> Run<'a, Op, Self, R> {
        scan.on(world.stream())
    }

    fn row_of<T: ScanElement>(each: usize) -> usize {
        Ranked::row_of::<T>(each)
    }

    fn reduced<Op: ScanOp>(
        run: &Run<'_, Op, Self, Totals>,
        world: &World<Self>,
        input: impl Input<Op::Input, Self>,
        results: usize,
        room: usize,
    ) -> Result<CudaSlice<Op::Output>, Error> {
        // SAFETY: the reduction writes all results, or gives an error; nothing else is read as a value.
        let mut output = unsafe { world.link.room(room)? };
        run.run_into(input, &mut output.slice_mut(..results))?;
        Ok(output)
    }

    fn folded<Op: ScanOp>(
        run: &Run<'_, Op, Self, Totals>,
        world: &World<Self>,
        (values, range): (&CudaSlice<Op::Input>, Range<usize>),
        results: usize,
    ) -> Result<CudaSlice<Op::Output>, Error> {
        Self::reduced(run, world, &values.slice(range), results, results)
    }

    fn gather<T: ScanElement>(
        world: &World<Self>,
        part: Option<CudaSlice<T>>,
        each: usize,
        present: &[bool],
    ) -> Result<CudaSlice<T>, Error> {
        world.link.gather(AGGREGATES, part, each, present)
    }

    fn nothing<T: ScanElement>(world: &World<Self>) -> Result<CudaSlice<T>, Error> {
        // SAFETY: there is nothing to read.
        unsafe { world.link.room(0) }
    }

    fn input<T: ScanElement>(values: &CudaSlice<T>) -> impl Input<T, Self> {
        values
    }

    fn array<T: ScanElement>(values: &CudaSlice<T>) -> Self::Array<'_, T> {
        crate::Array::array(values)
    }

    fn shorten<'a: 'b, 'b, T: ScanElement>(array: Self::Array<'a, T>) -> Self::Array<'b, T> {
        array.shorten()
    }

    fn one<T: ScanElement>(values: CudaSlice<T>) -> Result<CudaSlice<T>, Error> {
        Ok(values)
    }

    fn known<T: ScanElement>(_: &CudaSlice<T>) -> Option<T> {
        None
    }

    fn init_from<'a, Op: ScanOp>(run: Run<'a, Op, Self>, values: &'a CudaSlice<Op::Carry>) -> Run<'a, Op, Self> {
        run.init_from(values)
    }
}
