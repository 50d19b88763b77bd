//! Layouts that the attribute has not seen.

#![allow(conflicting_representation_hints)]

use scan_runtime::scan_element;

#[scan_element]
#[cfg_attr(all(), repr(packed))]
#[derive(Clone, Copy)]
struct Packed {
    a: u8,
    b: u32,
}

#[scan_element]
#[cfg_attr(all(), repr(u16))]
#[derive(Clone, Copy)]
enum Wide {
    A,
    B,
}

fn main() {}
