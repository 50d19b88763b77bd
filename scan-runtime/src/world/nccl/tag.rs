//! The tag of an exchange, in the part of each rank.

use std::{ptr, sync::Arc};

use cudarc::driver::{CudaStream, sys};

use super::{WorldError, communicator::TAG_BYTES, watch::Marks};
use crate::{Error, cuda::driver_error};

/// What each rank's part of an exchange ends with, and what this rank expects of the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    /// The number of the exchange. The ranks make the same ones in the same order.
    pub(super) number: u32,
    pub(super) rank: usize,
    pub(super) size: usize,
}

impl Tag {
    /// Enqueues that the tag is written to the end of a part.
    ///
    /// # Safety
    ///
    /// There are so many bytes of device memory, which work of this stream may write.
    pub(super) unsafe fn write(
        self,
        stream: &Arc<CudaStream>,
        part: sys::CUdeviceptr,
        bytes: usize,
    ) -> Result<(), Error> {
        let (at, words) = (part + (bytes - TAG_BYTES) as u64, TAG_BYTES / size_of::<u32>());
        // SAFETY: the caller vouches for the memory, of which these are the last bytes.
        unsafe { sys::cuMemsetD32Async(at, self.number, words, stream.cu_stream()) }
            .result()
            .map_err(driver_error("writing device memory"))
    }

    /// Enqueues that the tags of all parts are copied to the host.
    ///
    /// # Safety
    ///
    /// There are so many bytes of device memory for each rank, which work of this stream may read.
    pub(super) unsafe fn read_all(
        self,
        stream: &Arc<CudaStream>,
        all: sys::CUdeviceptr,
        bytes: usize,
        marks: &Marks,
    ) -> Result<(), Error> {
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: bytes - TAG_BYTES,
            srcY: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: ptr::null(),
            srcDevice: all,
            srcArray: ptr::null_mut(),
            srcPitch: bytes,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            dstHost: marks.tags.host().as_ptr().cast(),
            dstDevice: 0,
            dstArray: ptr::null_mut(),
            dstPitch: TAG_BYTES,
            WidthInBytes: TAG_BYTES,
            Height: self.size,
        };
        // SAFETY: the caller vouches for the device memory; the marks have room for a tag of each rank, and live until
        // the copy is done.
        unsafe { sys::cuMemcpy2DAsync_v2(&copy, stream.cu_stream()) }
            .result()
            .map_err(driver_error("copying to the host"))
    }

    /// An error if a part that was copied is not of this exchange.
    pub(super) fn verify(self, marks: &Marks, what: &'static str) -> Result<(), WorldError> {
        let words = TAG_BYTES / size_of::<u32>();
        // SAFETY: there is room for a tag of each rank, which the device has written.
        let is_word = |at| unsafe { marks.tags.host().cast::<u32>().add(at).read_volatile() } == self.number;
        match (0..self.size).find(|rank| !(rank * words..(rank + 1) * words).all(is_word)) {
            Some(missing) => Err(WorldError::Interrupted { rank: self.rank, missing, what }),
            None => Ok(()),
        }
    }
}
