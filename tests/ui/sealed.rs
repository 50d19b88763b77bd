//! Traits that kernels rely on: nothing but the crate and its macros implements them.

use scan_runtime::{
    Columns, ScanElement, ScanFn,
    __private::{Callee, Fields, ScanMap},
    arrays::{DeviceInput, DeviceOutput, HostInput, HostOutput, Index, PlacedAt},
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

unsafe impl HostInput<u32> for Mine {
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Slice];
    type At = *const u32;
    type Held = ();
    fn items(&self, each: &mut dyn FnMut(Option<usize>)) {
        each(Some(1 << 20));
    }
    fn at((): &()) -> *const u32 {
        std::ptr::null()
    }
}

unsafe impl HostInput<Side> for &Mine {
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Slice];
    type At = *const Side;
    type Held = ();
    fn items(&self, each: &mut dyn FnMut(Option<usize>)) {
        each(Some(1 << 20));
    }
    fn at((): &()) -> *const Side {
        std::ptr::null()
    }
}

unsafe impl HostOutput<u32> for Mine {}

unsafe impl HostOutput<(u32, u32)> for Mine {}

unsafe impl DeviceInput<u32> for Mine {}

unsafe impl DeviceOutput<u32> for Mine {}

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
    type Fields = (u32,);
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
