//! Traits that kernels rely on: nothing but the crate and its macros implements them.

use scan_runtime::{
    Columns, Error, ScanElement, ScanFn,
    __private::{Callee, Fields, ScanMap, Whole},
    arrays::{DeviceSink, DeviceSinks, DeviceSource, DeviceSources, Index, PlacedAt, Sink, Sinks, Source, Sources},
    cudarc::driver::DeviceRepr,
    scan_codegen::{ArrayKind, ElementType, Primitive},
    scan_element,
};

/// An index of it would be an invalid value.
#[scan_element]
#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

impl Index for Side {
    fn of(index: usize) -> Side {
        if index == 0 { Side::Left } else { Side::Right }
    }
}

unsafe impl PlacedAt<f32> for Side {
    type Item = Side;
}

/// An array of no memory.
struct Mine;

unsafe impl Source<u32> for Mine {
    const KIND: ArrayKind = ArrayKind::Slice;
    type Held = ();
    fn items(&self) -> Option<usize> {
        Some(1 << 20)
    }
    fn hold(self, _: usize, _: usize) -> Result<(), Error> {
        Ok(())
    }
    fn at((): &()) -> *mut u32 {
        std::ptr::null_mut()
    }
}

unsafe impl Source<Side> for &Mine {
    const KIND: ArrayKind = ArrayKind::Slice;
    type Held = ();
    fn items(&self) -> Option<usize> {
        Some(1 << 20)
    }
    fn hold(self, _: usize, _: usize) -> Result<(), Error> {
        Ok(())
    }
    fn at((): &()) -> *mut Side {
        std::ptr::null_mut()
    }
}

unsafe impl Sink<u32> for Mine {}

unsafe impl Sources<(u32, u32)> for Mine {
    const KINDS: &'static [ArrayKind] = &[];
    type Held = ();
    fn items(&self, _: &mut dyn FnMut(Option<usize>)) {}
    fn hold(self, _: usize) -> Result<(), Error> {
        Ok(())
    }
    fn at((): &()) -> (*mut u32, *mut u32) {
        (std::ptr::null_mut(), std::ptr::null_mut())
    }
}

unsafe impl Sinks<(u32, u32)> for Mine {}

unsafe impl DeviceSource<u32> for Mine {}

unsafe impl DeviceSink<u32> for Mine {}

unsafe impl DeviceSources<(u32, u32)> for Mine {}

unsafe impl DeviceSinks<(u32, u32)> for Mine {}

unsafe impl Fields for Side {}

/// An element with a layout of another type.
#[derive(Clone, Copy)]
struct Unmarked(u8);

unsafe impl DeviceRepr for Unmarked {}

unsafe impl ScanElement for Unmarked {
    fn layout() -> ElementType {
        ElementType::primitive(Primitive::F64)
    }
}

unsafe impl Columns for Unmarked {
    type Fields = Whole<u32>;
    fn from_fields(_: Whole<u32>) -> Self {
        Unmarked(0)
    }
    fn into_fields(self) -> Whole<u32> {
        Whole(0)
    }
}

unsafe impl ScanFn for Mine {
    const CALLEE: Callee = panic!();
}

unsafe impl ScanMap for Mine {
    type From = u32;
    type To = f64;
    fn map(_: u32) -> f64 {
        0.0
    }
}

fn main() {}
