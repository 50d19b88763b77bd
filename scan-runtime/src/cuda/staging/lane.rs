//! The stream and the memory of a call with host slices.

use std::{ptr, sync::Arc};

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, result, sys};

use super::{
    HostMemory, Places, Staging, copy,
    ring::{self, Piece, SLOTS, Transfers},
};
use crate::{
    Error,
    arrays::fields::HostArray,
    cuda::{DeviceMemory, LockedMemory, driver_error, is_page_locked},
    few::Few,
    telemetry::copied,
};

/// Parts of one allocation begin at multiples of this, like separate allocations.
const ALIGNMENT: usize = 256;
/// The minimum size of an allocation.
const MIN_MAPPED: usize = 128 << 10;
const MIN_DEVICE: u64 = 2 << 20;

/// A stream with memory, for one call at a time. Its parts are made when first needed, and kept.
pub(super) struct Lane {
    // Freed on the stream, so before it.
    device: Option<(DeviceMemory, u64)>,
    mapped: Option<LockedMemory>,
    slots: [Option<Slot>; SLOTS],
    stream: OwnStream,
    layout: Layout,
}

/// The place of a part of a call.
#[derive(Clone, Copy, Default)]
struct Layout {
    input: Few<Part>,
    output: Few<Part>,
    heads: Part,
    initial_values: Part,
    total: Part,
}

#[derive(Clone, Copy, Default)]
struct Part {
    /// Whether the device reads and writes it in page-locked memory.
    mapped: bool,
    offset: usize,
}

/// Page-locked memory, and the end of its last transfer.
struct Slot {
    memory: LockedMemory,
    done: CudaEvent,
}

/// The direction of a copy.
#[derive(Clone, Copy)]
enum Way {
    ToDevice(*const u8),
    FromDevice(*mut u8),
}

impl Way {
    /// The memory of the host.
    fn host(self) -> *const u8 {
        match self {
            Way::ToDevice(from) => from,
            Way::FromDevice(to) => to.cast_const(),
        }
    }

    /// Begins the copy.
    ///
    /// # Safety
    ///
    /// The memory on both sides has this many bytes, and outlives the copy.
    unsafe fn begin(self, device: sys::CUdeviceptr, bytes: usize, stream: &CudaStream) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        unsafe {
            match self {
                Way::ToDevice(from) => sys::cuMemcpyHtoDAsync_v2(device, from.cast(), bytes, stream.cu_stream()),
                Way::FromDevice(to) => sys::cuMemcpyDtoHAsync_v2(to.cast(), device, bytes, stream.cu_stream()),
            }
        }
        .result()
        .map_err(driver_error("copying"))?;
        copied(bytes);
        Ok(())
    }
}

impl Lane {
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, Error> {
        let stream = OwnStream::new(context)?;
        Ok(Lane { device: None, mapped: None, slots: Default::default(), stream, layout: Layout::default() })
    }

    pub(super) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream.0
    }

    /// Finds a place for each part of a call, and memory that holds them.
    pub(super) fn make_room(&mut self, host: &HostMemory<'_>, staging: &Staging) -> Result<Places, Error> {
        let (mut mapped, mut device) = (0, 0);
        let mut place = |bytes: usize| {
            let is_mapped = staging.is_mapped(bytes);
            let end = if is_mapped { &mut mapped } else { &mut device };
            let part = Part { mapped: is_mapped, offset: *end };
            *end = part.offset.saturating_add(bytes).next_multiple_of(ALIGNMENT);
            part
        };
        let mut arrays = |arrays: &[HostArray], len: usize| -> Few<Part> {
            arrays.iter().map(|array| place(array.item.saturating_mul(len))).collect()
        };
        let input = arrays(host.input, host.input_len.max(if host.in_place { host.output_len } else { 0 }));
        let output = if host.in_place { input } else { arrays(host.output, host.output_len) };
        let (heads, total) = (place(host.heads.len()), place(host.total_bytes));
        let initial_values = place(host.initial_values.len());
        self.layout = Layout { input, output, heads, initial_values, total };

        self.stream().context().bind_to_thread().map_err(driver_error("binding the context"))?;
        if mapped > self.mapped.as_ref().map_or(0, LockedMemory::bytes) {
            self.mapped = None;
            let bytes = mapped.next_power_of_two().max(MIN_MAPPED);
            self.mapped = Some(LockedMemory::new(self.stream().context(), bytes)?);
        }
        let device = device as u64;
        if device > self.device.as_ref().map_or(0, |(_, bytes)| *bytes) {
            self.device = None;
            let bytes = device.max(MIN_DEVICE);
            self.device = Some((DeviceMemory::new(self.stream(), bytes)?, bytes));
        }
        let pointer = |part: Part, bytes: usize| if bytes == 0 { 0 } else { self.pointer(part) };
        // Of an array without memory kernels are given the first index.
        let input_word = |(part, array): (&Part, &HostArray)| match array.item {
            0 => array.at.addr() as u64,
            _ => pointer(*part, host.input_len),
        };
        Ok(Places {
            input: input.iter().zip(host.input).map(input_word).collect(),
            output: output.iter().map(|part| pointer(*part, host.output_len)).collect(),
            heads: pointer(self.layout.heads, host.heads.len()),
            initial_values: pointer(self.layout.initial_values, host.initial_values.len()),
            total: pointer(self.layout.total, host.total_bytes),
        })
    }

    /// The device pointer of a part.
    fn pointer(&self, part: Part) -> sys::CUdeviceptr {
        let base = match part.mapped {
            true => self.mapped.as_ref().map_or(0, LockedMemory::device),
            false => self.device.as_ref().map_or(0, |(memory, _)| memory.pointer()),
        };
        base + part.offset as u64
    }

    /// Copies input and heads to their places.
    ///
    /// # Safety
    ///
    /// There is room for this call, and its host memory is valid.
    pub(super) unsafe fn send(&mut self, host: &HostMemory<'_>, staging: &Staging) -> Result<(), Error> {
        let Layout { input, heads, initial_values, .. } = self.layout;
        // SAFETY: the caller vouches for it.
        unsafe { self.bring(heads, Way::ToDevice(host.heads.as_ptr()), host.heads.len(), staging)? };
        let (values, bytes) = (host.initial_values.as_ptr().cast(), host.initial_values.len());
        // SAFETY: as above.
        unsafe { self.bring(initial_values, Way::ToDevice(values), bytes, staging)? };
        for (part, array) in input.iter().zip(host.input) {
            // SAFETY: as above.
            unsafe { self.bring(*part, Way::ToDevice(array.at), array.item * host.input_len, staging)? };
        }
        Ok(())
    }

    /// Copies the results back. All work enqueued before is done on return.
    ///
    /// # Safety
    ///
    /// As for [`send`](Lane::send).
    pub(super) unsafe fn receive(&mut self, host: &HostMemory<'_>, staging: &Staging) -> Result<(), Error> {
        let Layout { output, total, .. } = self.layout;
        let arrays =
            output.iter().zip(host.output).map(|(part, array)| (*part, array.at, array.item * host.output_len));
        let outputs = || arrays.clone().chain([(total, host.total, host.total_bytes)]);
        let mut copied = false;
        for (part, to, bytes) in outputs().filter(|(part, ..)| !part.mapped) {
            // SAFETY: the caller vouches for it.
            unsafe { self.bring(part, Way::FromDevice(to), bytes, staging)? };
            copied |= bytes > 0;
        }
        // If a result was copied, all work before that copy is done.
        if !copied {
            self.finish()?;
        }
        for (part, to, bytes) in outputs().filter(|(part, ..)| part.mapped) {
            // SAFETY: as above.
            unsafe { self.bring(part, Way::FromDevice(to), bytes, staging)? };
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`send`](Lane::send).
    unsafe fn bring(&mut self, part: Part, way: Way, bytes: usize, staging: &Staging) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        if part.mapped {
            let Some(memory) = &self.mapped else { return Ok(()) };
            // SAFETY: the part is within the mapped memory, and the device is done with it, or has not started.
            unsafe {
                let here = memory.host().as_ptr().add(part.offset);
                match way {
                    Way::ToDevice(from) => ptr::copy_nonoverlapping(from, here, bytes),
                    Way::FromDevice(to) => ptr::copy_nonoverlapping(here, to, bytes),
                }
            }
            return Ok(());
        }
        let length = ring::piece_bytes(bytes, staging.piece_bytes);
        let device = self.pointer(part);
        if is_page_locked(way.host(), bytes) {
            // The caller's own memory, which the caller keeps until the results are back.
            // SAFETY: as above.
            unsafe { way.begin(device, bytes, self.stream()) }?;
            return match way {
                Way::ToDevice(_) => Ok(()),
                Way::FromDevice(_) => self.finish(),
            };
        }
        if self.make_slots(length.min(bytes), bytes.div_ceil(length)).is_err() {
            // No more memory can be locked. The driver can copy without that, a little slower.
            // SAFETY: as above; on return or error the caller waits for the stream before the memory goes.
            return unsafe { self.bring_directly(device, way, bytes) };
        }
        let mut bridge = Bridge { slots: &mut self.slots, stream: &self.stream.0, device, way, staging };
        match way {
            Way::ToDevice(_) => ring::send(bytes, length, &mut bridge),
            Way::FromDevice(_) => ring::receive(bytes, length, &mut bridge),
        }
    }

    /// Makes as many slots of this length as are used at once.
    fn make_slots(&mut self, bytes: usize, count: usize) -> Result<(), Error> {
        for slot in self.slots.iter_mut().take(count) {
            if let Some(Slot { memory, done }) = slot {
                // A transfer to the device from the last use may still be in progress.
                done.synchronize().map_err(driver_error("copying"))?;
                if memory.bytes() >= bytes {
                    continue;
                }
                *slot = None;
            }
            let done = self.stream.0.context().new_event(None).map_err(driver_error("creating an event"))?;
            let bytes = bytes.next_multiple_of(LockedMemory::ALIGNMENT);
            *slot = Some(Slot { memory: LockedMemory::new(self.stream.0.context(), bytes)?, done });
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`send`](Lane::send); the host memory outlives the transfer.
    unsafe fn bring_directly(&mut self, device: sys::CUdeviceptr, way: Way, bytes: usize) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        unsafe { way.begin(device, bytes, self.stream()) }?;
        self.finish()
    }

    /// Waits for all enqueued work.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        // cudarc's own function would report an older error instead, and not wait.
        // SAFETY: the context is alive, and so is its stream.
        unsafe {
            result::ctx::set_current(self.stream().context().cu_ctx())
                .and_then(|()| result::stream::synchronize(self.stream().cu_stream()))
        }
        .map_err(driver_error("scanning"))
    }

    /// Frees device memory beyond these bytes.
    pub(super) fn trim(&mut self, max: u64) {
        if self.device.as_ref().is_some_and(|(_, bytes)| *bytes > max) {
            self.device = None;
        }
    }

    /// Frees all memory.
    pub(super) fn empty(&mut self) {
        self.device = None;
        self.mapped = None;
        self.slots = Default::default();
        // The device memory is free for others once the stream reaches this point. An error recurs in the next call.
        let _ = self.finish();
    }
}

/// Moves the pieces of one part through a lane's slots.
struct Bridge<'l> {
    slots: &'l mut [Option<Slot>; SLOTS],
    stream: &'l Arc<CudaStream>,
    device: sys::CUdeviceptr,
    way: Way,
    staging: &'l Staging,
}

impl Transfers for Bridge<'_> {
    fn copy(&mut self, slot: usize, Piece { offset, bytes }: Piece) {
        let Some(Slot { memory, .. }) = &self.slots[slot] else { return };
        let memory = memory.host().as_ptr();
        // SAFETY: the piece is within the caller's memory, and the slot, which no transfer uses now, is at least as
        // long.
        unsafe {
            match self.way {
                Way::ToDevice(from) => copy::copy(from.add(offset), memory, bytes, self.staging),
                Way::FromDevice(to) => copy::copy(memory, to.add(offset), bytes, self.staging),
            }
        }
    }

    fn transfer(&mut self, slot: usize, Piece { offset, bytes }: Piece) -> Result<(), Error> {
        let Some(Slot { memory, done }) = &self.slots[slot] else { return Ok(()) };
        let memory = memory.host().as_ptr();
        let way = match self.way {
            Way::ToDevice(_) => Way::ToDevice(memory),
            Way::FromDevice(_) => Way::FromDevice(memory),
        };
        // SAFETY: the piece is within the device memory, and the slot is at least as long; it lives until its event is
        // recorded.
        unsafe { way.begin(self.device + offset as u64, bytes, self.stream)? };
        done.record(self.stream).map_err(driver_error("copying"))
    }

    fn wait(&mut self, slot: usize) -> Result<(), Error> {
        let Some(Slot { done, .. }) = &self.slots[slot] else { return Ok(()) };
        done.synchronize().map_err(driver_error("scanning"))
    }
}

/// A stream of our own. A stream created by cudarc would make it wait for all work of the device, and synchronize the
/// user's slices by events, which costs time and is the user's choice.
pub(crate) struct OwnStream(pub(crate) Arc<CudaStream>);

impl OwnStream {
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Self, Error> {
        context.bind_to_thread().map_err(driver_error("binding the context"))?;
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking)
            .map_err(driver_error("creating a stream"))?;
        // SAFETY: the stream belongs to this context, and is not destroyed while the wrapper is held elsewhere: see
        // below.
        Ok(OwnStream(unsafe { context.wrap_borrowed_stream(stream) }))
    }
}

impl Drop for OwnStream {
    fn drop(&mut self) {
        // Another holder still has memory on it, and frees that later.
        if Arc::strong_count(&self.0) > 1 {
            return;
        }
        let context = self.0.context();
        context.record_err(context.bind_to_thread());
        // SAFETY: there is no other holder of the stream, and nothing uses it after this.
        context.record_err(unsafe { result::stream::destroy(self.0.cu_stream()) });
    }
}
