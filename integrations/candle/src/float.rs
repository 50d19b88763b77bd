//! The element types of tensors that scans take.

use candle_core::WithDType;
use scan_runtime::{
    ScanElement,
    half::{bf16, f16},
};

/// An element type of the tensors that a scan reads and writes: `f32`, `f64`, `f16` or `bf16`.
///
/// It is sealed: nothing outside this crate implements it.
pub trait Float: WithDType + ScanElement + OnDevice + sealed::Sealed {}

/// What CUDA storage requires of an element.
#[doc(hidden)]
#[cfg(feature = "cuda")]
pub trait OnDevice: candle_core::cuda_backend::CudaDType + scan_runtime::cudarc::driver::DeviceRepr {}

/// What CUDA storage requires of an element: nothing without it.
#[doc(hidden)]
#[cfg(not(feature = "cuda"))]
pub trait OnDevice {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! floats {
    ($($float:ty)*) => {$(
        impl Float for $float {}
        impl OnDevice for $float {}
        impl sealed::Sealed for $float {}
    )*};
}

floats! { f32 f64 f16 bf16 }
