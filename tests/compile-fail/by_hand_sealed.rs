//! What kernels are given is told by this library alone.

use std::sync::Arc;

use scan_codegen::{ElementType, OffsetWidth};
use scan_runtime::{
    HeadFlag, Parameter, Parameters, Scanner, SegmentOffset,
    cudarc::driver::{CudaStream, DevicePtr, DeviceSlice, SyncOnDrop, sys::CUdeviceptr},
    ops,
};

struct Pointer;

impl Parameter for Pointer {
    fn parameter_layout(&self) -> ElementType {
        ElementType::table(ElementType::table(unreachable!()))
    }
    fn write(&self, _: usize, parameters: &mut Parameters) {
        *parameters = Parameters::default();
    }
}

impl HeadFlag for u16 {}

impl SegmentOffset for i64 {
    const WIDTH: OffsetWidth = OffsetWidth::U64;
}

/// A buffer of `cudarc` by name, anywhere in memory.
struct Anywhere(Arc<CudaStream>);

impl DeviceSlice<u32> for Anywhere {
    fn len(&self) -> usize {
        usize::MAX
    }
    fn stream(&self) -> &Arc<CudaStream> {
        &self.0
    }
}

impl DevicePtr<u32> for Anywhere {
    fn device_ptr<'a>(&'a self, _: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        (0x1000, SyncOnDrop::Sync(None))
    }
}

fn scan(scanner: &Scanner, stream: &Arc<CudaStream>) {
    scanner.scan(ops::sum::<u32>()).on(stream).run(&Anywhere(stream.clone())).unwrap();
}

fn main() {}
