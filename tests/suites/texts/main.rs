//! The generated CUDA: under review, and through the real NVRTC.

mod columns;
mod intrinsics;
mod nvrtc;
mod operator_text;
mod shape;
mod shown;
mod snapshots;
mod transducers;
