//! Traits that kernels rely on: nothing but the crate and its macros implements them.

use scan_runtime::{
    Fields, Device, Host, ScanElement, ScanFn,
    __private::{Callee, FieldTuple, ScanMap},
    arrays::{Index, Input, Output, PlacedAt},
    cudarc::driver::{CudaSlice, DeviceRepr},
    scan_codegen::{ElementType, Primitive},
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

unsafe impl Input<u32, Host> for Mine {
    type OnHost = &'static [u32];
    type OnDevice = &'static CudaSlice<u32>;
    fn arrays(self) -> &'static [u32] {
        &[]
    }
}

unsafe impl Input<Side, Host> for &Mine {}

unsafe impl Output<u32, Host> for Mine {}

unsafe impl Input<u32, Device> for Mine {}

unsafe impl Output<u32, Device> for Mine {}

unsafe impl FieldTuple for Side {}

/// An element with a layout of another type.
#[derive(Clone, Copy)]
struct Unmarked(u8);

unsafe impl DeviceRepr for Unmarked {}

unsafe impl ScanElement for Unmarked {
    fn layout() -> ElementType {
        ElementType::primitive(Primitive::F64)
    }
}

unsafe impl Fields for Unmarked {
    type Tuple = (u32,);
    fn from_fields(_: (u32,)) -> Self {
        Unmarked(0)
    }
    fn into_fields(self) -> (u32,) {
        (0,)
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
