//! Elements of which zeros are no value.

use scan_runtime::{cudarc::driver::ValidAsZeroBits, scan_element};

#[scan_element]
#[derive(Clone, Copy)]
#[repr(u8)]
enum Month {
    January = 1,
    February,
}

#[scan_element]
#[derive(Clone, Copy)]
struct Date {
    month: Month,
    day: u8,
}

#[scan_element]
#[derive(Clone, Copy)]
struct Two<T> {
    values: [T; 2],
}

fn allocate<T: ValidAsZeroBits>() {}

fn main() {
    allocate::<Two<u32>>();
    allocate::<Month>();
    allocate::<Date>();
    allocate::<Two<Month>>();
}
