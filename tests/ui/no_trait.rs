use scan_runtime::{Scanner, scan_op};

struct Largest;

#[scan_op]
impl Largest {
    type Element = u32;
    fn combine(a: u32, b: u32) -> u32 {
        a.max(b)
    }
}

fn main() {
    let _ = Scanner::cpu().scan(Largest);
}
