use scan_runtime::scan_element;

#[scan_element]
#[derive(Clone, Copy)]
struct Words<'a> {
    text: &'a str,
    pair: (u8, u8),
    call: fn(u8) -> u8,
}

#[scan_element]
#[derive(Clone, Copy)]
struct Letters {
    letter: char,
    count: u32,
    list: std::ops::Range<u8>,
}

#[scan_element]
#[derive(Clone, Copy)]
enum Shape {
    Circle(f32),
    Square { side: f32 },
}

#[scan_element]
#[derive(Clone, Copy)]
enum Numbered {
    First = 1,
    Last = 1000,
}

#[scan_element]
#[repr(C)]
#[derive(Clone, Copy)]
enum OfC {
    First,
}

#[scan_element]
#[derive(Clone, Copy)]
enum Generic<T> {
    First,
    Second(T),
}

#[scan_element]
#[derive(Clone, Copy)]
enum Never {}

#[scan_element]
#[derive(Clone, Copy)]
union Either {
    a: u32,
    b: f32,
}

#[scan_element]
#[derive(Clone, Copy)]
struct Nothing;

#[scan_element]
#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Packed {
    a: u8,
    b: u32,
}

fn main() {
    let _ = Nothing;
    let _ = Packed { a: 1, b: 2 };
}
