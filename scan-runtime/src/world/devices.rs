//! Ranks that are GPUs, which NCCL connects.

use std::{ffi::c_void, sync::Arc, thread, time::Duration};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut, DeviceRepr};

use super::{
    DEADLINE, Launch, World, WorldError,
    memory::{COMPARING, Link},
    nccl::{Communicator, Id, Joining, TAG_BYTES},
    rendezvous,
};
use crate::{
    Device, Error, Scanner,
    cuda::{CudaDevice, driver_error, is_captured},
};

/// A rank that is a GPU.
#[derive(Debug)]
pub struct Ranked {
    scanner: Scanner,
    stream: Arc<CudaStream>,
    communicator: Communicator,
    /// Another one, by which ranks compare their calls: where one rank comes to that and the others to a part of
    /// another call, none gets what is not meant for it. One rank alone has none.
    comparing: Option<Communicator>,
    deadline: Duration,
    /// Whether the process has one rank only.
    is_alone: bool,
}

impl World<Device> {
    /// The world of the processes that a launcher has started, one for each GPU, and this process's rank in it. It
    /// reads the variables of `torchrun`, of Open MPI, MPICH and Slurm; see [`Launch`]. The scanner is on the GPU whose
    /// number is the rank among the processes of this machine, or on the only one that the process sees.
    ///
    /// # Errors
    ///
    /// [`WorldError::Variable`] if a variable is missing or has no use, [`WorldError::Meeting`] if the ranks do not
    /// find each other, those of [`Scanner::cuda`], and those of [`from_id`](World::from_id).
    pub fn from_env() -> Result<Self, Error> {
        let launch = Launch::from_env()?;
        let scanner = Scanner::cuda(launch.device(crate::devices()?.len())?)?;
        let id = rendezvous::meet(&launch, DEADLINE, Id::new)?;
        let stream = new_stream(&scanner)?;
        World::joined(Joining { id, rank: launch.rank, size: launch.size }, &scanner, stream, true)
    }

    /// A rank on each of these devices of this process, in this order, each for a thread of its own: a rank waits for
    /// the others in its calls.
    ///
    /// ```no_run
    /// use scan_runtime::{World, ops};
    ///
    /// let results = std::thread::scope(|scope| {
    ///     let ranks = World::of_devices(&[0, 1])?.into_iter().map(|world| {
    ///         scope.spawn(move || -> Result<Vec<u32>, Box<dyn std::error::Error + Send + Sync>> {
    ///             let slice = world.stream().clone_htod(&[1, 2, 3])?;
    ///             let result = world.scanner().scan(ops::sum()).across(&world).run(&slice)?;
    ///             world.synchronize()?;
    ///             Ok(world.stream().clone_dtoh(&result)?)
    ///         })
    ///     });
    ///     let ranks: Vec<_> = ranks.collect();
    ///     ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect::<Result<Vec<_>, _>>()
    /// })?;
    /// assert_eq!(results, [[1, 3, 6], [7, 9, 12]]);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Scanner::cuda`] and of [`from_id`](World::from_id).
    pub fn of_devices(devices: &[usize]) -> Result<Vec<Self>, Error> {
        let (id, size) = (Id::new()?, devices.len());
        let scanners = devices.iter().map(|device| Scanner::cuda(*device)).collect::<Result<Vec<_>, _>>()?;
        let join = |(rank, scanner): (usize, &Scanner)| {
            World::joined(Joining { id, rank, size }, scanner, new_stream(scanner)?, false)
        };
        thread::scope(|scope| {
            let ranks: Vec<_> = scanners.iter().enumerate().map(|rank| scope.spawn(move || join(rank))).collect();
            ranks.into_iter().map(|rank| rank.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    /// Joins the ranks that have this id, which one of them has made and given to the others in whatever way. Calls on
    /// this rank run on this scanner's device, on this stream.
    ///
    /// # Errors
    ///
    /// [`WorldError::NoRank`], [`WorldError::NoNccl`], [`WorldError::NcclUnusable`], [`WorldError::Nccl`], and
    /// [`WorldError::TimedOut`] if a rank does not come; [`Error::ForeignContext`] if the stream is of another context.
    pub fn from_id(
        id: Id,
        rank: usize,
        size: usize,
        scanner: &Scanner,
        stream: &Arc<CudaStream>,
    ) -> Result<Self, Error> {
        World::joined(Joining { id, rank, size }, scanner, stream.clone(), true)
    }

    /// A world of a communicator that exists, an `ncclComm_t` of this scanner's device. All its ranks call this. It
    /// stays the caller's to destroy, after the world; if the world is lost, it has been aborted.
    ///
    /// # Safety
    ///
    /// The communicator is alive, of the NCCL that [is found](crate::world::nccl::locate), and is used by nothing else
    /// while the world is.
    ///
    /// # Errors
    ///
    /// [`WorldError::NoNccl`], [`WorldError::NcclUnusable`] and [`WorldError::Nccl`].
    pub unsafe fn from_raw(
        communicator: *mut c_void,
        scanner: &Scanner,
        stream: &Arc<CudaStream>,
    ) -> Result<Self, Error> {
        scanner.device_of(stream)?;
        // SAFETY: the caller vouches for it.
        let communicator = unsafe { Communicator::from_raw(communicator) }?;
        World::of(communicator, scanner, stream.clone(), true)
    }

    fn joined(joining: Joining, scanner: &Scanner, stream: Arc<CudaStream>, is_alone: bool) -> Result<Self, Error> {
        let Joining { rank, size, .. } = joining;
        if rank >= size {
            return Err(WorldError::NoRank { rank, size }.into());
        }
        scanner.device_of(&stream)?;
        World::of(Communicator::join(joining, &stream, DEADLINE)?, scanner, stream, is_alone)
    }

    fn of(
        communicator: Communicator,
        scanner: &Scanner,
        stream: Arc<CudaStream>,
        is_alone: bool,
    ) -> Result<Self, Error> {
        let (rank, size, scanner) = (communicator.rank(), communicator.size(), scanner.clone());
        let mut ranked = Ranked { scanner, stream, communicator, comparing: None, deadline: DEADLINE, is_alone };
        if size > 1 {
            // The id of rank 0 counts.
            let ids = ranked.exchange("joining the world", Id::new()?.as_bytes())?;
            let mut id = [0; Id::BYTES];
            id.iter_mut().zip(ids.iter().flatten()).for_each(|(byte, of_rank_0)| *byte = *of_rank_0);
            let id = Id::from_bytes(id);
            ranked.comparing = Some(Communicator::join(Joining { id, rank, size }, &ranked.stream, DEADLINE)?);
        }
        Ok(World::new(ranked))
    }

    /// The scanner on this rank's device.
    pub fn scanner(&self) -> &Scanner {
        &self.link.scanner
    }

    /// The stream of this rank's calls.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.link.stream
    }

    /// Waits for the work on this rank's stream.
    ///
    /// # Errors
    ///
    /// [`WorldError::Lost`] if the world is lost, before or meanwhile: if another rank is gone, or late by more than
    /// the deadline. Results of calls that were not done are unspecified then.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.link.communicator.synchronize(&self.link.stream)
    }
}

fn new_stream(scanner: &Scanner) -> Result<Arc<CudaStream>, Error> {
    let Some(context) = scanner.context() else {
        return Err(Error::NotCuda { backend: scanner.backend().to_string() });
    };
    context.new_stream().map_err(driver_error("creating a stream"))
}

impl Ranked {
    fn device(&self) -> Result<&CudaDevice, Error> {
        self.scanner.device_of(&self.stream)
    }

    /// Uninitialised device memory.
    ///
    /// # Safety
    ///
    /// Nothing reads it before it has been written.
    pub(super) unsafe fn room<T: DeviceRepr>(&self, len: usize) -> Result<CudaSlice<T>, Error> {
        match len {
            0 => self.stream.null().map_err(driver_error("allocating device memory")),
            // SAFETY: the caller vouches for it.
            len => unsafe { self.device()?.slice(&self.stream, len) },
        }
    }

    /// Items of the part of a rank, with the tag at its end, which begins at a multiple of four bytes.
    pub(super) fn row_of<T>(each: usize) -> usize {
        let size = size_of::<T>().max(1);
        let mut row = each + TAG_BYTES.div_ceil(size);
        while !(row * size).is_multiple_of(4) {
            row += 1;
        }
        row
    }

    /// The parts of the ranks that are `present`.
    pub(super) fn gather<T: DeviceRepr>(
        &self,
        what: &'static str,
        part: Option<CudaSlice<T>>,
        each: usize,
        present: &[bool],
    ) -> Result<CudaSlice<T>, Error> {
        self.gather_by(&self.communicator, what, part, each, present)
    }

    fn gather_by<T: DeviceRepr>(
        &self,
        communicator: &Communicator,
        what: &'static str,
        part: Option<CudaSlice<T>>,
        each: usize,
        present: &[bool],
    ) -> Result<CudaSlice<T>, Error> {
        if !self.is_alone && is_captured(&self.stream)? {
            return Err(WorldError::Captured.into());
        }
        let (stream, size, row) = (&self.stream, communicator.size(), Self::row_of::<T>(each));
        // SAFETY: of what is gathered only the parts of ranks that are present are read as values.
        let (mut all, mut part) = unsafe { (self.room::<T>(size * row)?, part.map_or_else(|| self.room(row), Ok)?) };
        if each > 0 {
            let ((from, _tagging), (to, _writing)) = (part.device_ptr_mut(stream), all.device_ptr_mut(stream));
            // SAFETY: the part has room for a row, at the end of which the tag is, the whole for one of each rank.
            unsafe {
                communicator.all_gather(stream, (from, to, row * size_of::<T>()), what, self.deadline)?;
            }
        }
        let ranks: Vec<_> = (0..size).filter(|rank| present[*rank]).collect();
        if ranks.len() == size {
            return Ok(all);
        }
        // SAFETY: every value is written.
        let mut values = unsafe { self.room::<T>(ranks.len() * row)? };
        for (place, rank) in ranks.into_iter().enumerate().filter(|_| each > 0) {
            let from = all.slice(rank * row..(rank + 1) * row);
            let mut to = values.slice_mut(place * row..(place + 1) * row);
            stream.memcpy_dtod(&from, &mut to).map_err(driver_error("copying on the device"))?;
        }
        Ok(values)
    }

    fn exchange_by(
        &self,
        communicator: &Communicator,
        what: &'static str,
        bytes: &[u8],
    ) -> Result<Vec<Vec<u8>>, Error> {
        let stream = &self.stream;
        self.device()?.refuse_capture(stream)?;
        let (len, row) = (bytes.len(), Self::row_of::<u8>(bytes.len()));
        let part = [bytes, &vec![0; row - len]].concat();
        let part = stream.clone_htod(&part).map_err(driver_error("copying to the device"))?;
        let all = self.gather_by(communicator, what, Some(part), len, &vec![true; self.size()])?;
        communicator.synchronize(stream)?;
        let all = stream.clone_dtoh(&all).map_err(driver_error("copying to the host"))?;
        Ok(all.chunks(row).map(|part| part.iter().take(len).copied().collect()).collect())
    }
}

impl Link for Ranked {
    fn rank(&self) -> usize {
        self.communicator.rank()
    }

    fn size(&self) -> usize {
        self.communicator.size()
    }

    fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    fn exchange(&self, what: &'static str, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.exchange_by(&self.communicator, what, bytes)
    }

    fn compare(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let Some(comparing) = &self.comparing else { return Ok(vec![bytes.to_vec()]) };
        let compared = self.exchange_by(comparing, COMPARING, bytes);
        if let Err(Error::World(error)) = &compared {
            self.lose(error.clone());
        }
        compared
    }

    fn check(&self) -> Result<(), Error> {
        Ok(self.communicator.check()?)
    }

    fn lose(&self, error: WorldError) {
        self.communicator.lose(error);
    }
}
