use scan_runtime::{ScanOp, Table, scan_op};

struct Scale {
    factor: f32,
    names: Vec<f32>,
    table: Table<char>,
}

#[scan_op]
impl ScanOp for Scale {
    type Element = f32;
    const IDENTITY: f32 = 0.0;
    fn combine(&self, a: f32, b: f32) -> f32 {
        self.factor * (a + b) + self.names[0] + self.missing
    }
}

#[scan_op]
impl ScanOp for &'static Scale {
    type Element = f32;
    fn combine(a: f32, b: f32) -> f32 {
        a + b
    }
}

struct Lookup {
    table: Table<char>,
}

#[scan_op]
impl ScanOp for Lookup {
    type Element = u32;
    fn combine(&self, a: u32, b: u32) -> u32 {
        a + self.table[b as usize] as u32
    }
}

fn main() {
    let _ = Scale { factor: 2.0, names: vec![], table: [].into() }.combine(1.0, 2.0);
}
