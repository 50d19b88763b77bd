//! Device memory that scans read and write.

use cudarc::driver::{
    CudaSlice, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, MappedBuffer, UnifiedSlice, UnifiedView, UnifiedViewMut,
};

/// Device memory that a scan can read: `cudarc`'s slices and views.
///
/// `cudarc`'s [`DevicePtr`] can be implemented without `unsafe`, with any address and any length. Kernels rely on both,
/// so scans require this `unsafe` trait.
///
/// # Safety
///
/// The results of [`DevicePtr`] and its supertrait never change and are true: there are `len` values of type `T` at the
/// address, in the context of `stream`. They are valid values. They stay there until the work is done that is enqueued
/// on the stream given to `device_ptr` before its guard is dropped, and nothing else writes them in the meantime.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no device memory with elements of type `{T}` that a scan can read",
    label = "not a slice or view of such elements",
    note = "scans read `cudarc`'s `CudaSlice<{T}>` and its views"
)]
pub unsafe trait DeviceBuffer<T>: DevicePtr<T> {}

/// Device memory that a scan can write: `cudarc`'s slices and mutable views.
///
/// # Safety
///
/// As for [`DeviceBuffer`], with [`DevicePtrMut`]; and nothing else reads or writes the memory in the meantime.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no device memory with elements of type `{T}` that a scan can write",
    label = "not a slice or mutable view of such elements",
    note = "scans write `cudarc`'s `CudaSlice<{T}>` and its mutable views"
)]
pub unsafe trait DeviceBufferMut<T>: DevicePtrMut<T> {}

macro_rules! buffers {
    ($trait:ident: $($buffer:ty),*) => {$(
        // SAFETY: only `unsafe` functions of cudarc make one whose address or length is not that of an allocation of such
        // values, or leave the values uninitialised; the borrow keeps the memory, and the guard orders work on it.
        unsafe impl<T> $trait<T> for $buffer {}
    )*};
}

buffers!(DeviceBuffer: CudaSlice<T>, CudaView<'_, T>, CudaViewMut<'_, T>);
buffers!(DeviceBuffer: UnifiedSlice<T>, UnifiedView<'_, T>, UnifiedViewMut<'_, T>);
buffers!(DeviceBufferMut: CudaSlice<T>, CudaViewMut<'_, T>, UnifiedSlice<T>, UnifiedViewMut<'_, T>);

// SAFETY: as above; the caller of the `unsafe` import guarantees it.
unsafe impl DeviceBuffer<u8> for MappedBuffer {}
