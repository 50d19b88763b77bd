use scan_runtime::{Scanner, scan_op};

#[scan_op(identity = 0)]
fn total(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

fn main() {
    let scanner = Scanner::cpu();
    let _ = scanner.scan(|a: u32, b: u32| a + b);
    let total = scanner.scan(total).run(&[1, 2, 3]).unwrap();
    let _ = total;
}
