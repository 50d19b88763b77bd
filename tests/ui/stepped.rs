use scan_runtime::{ScanOp, scan_op};

/// FNV-1a: a step, and nothing that tells what a part of the input does.
struct Fnv;

#[scan_op]
impl ScanOp for Fnv {
    type Input = u8;
    type State = u32;
    type Output = u32;
    type Carry = u32;
    const START: u32 = 0x811c_9dc5;
    fn step(hash: u32, byte: u8) -> u32 {
        (hash ^ byte as u32).wrapping_mul(0x0100_0193)
    }
}

/// The same without a word of what a part does.
struct Stateless;

#[scan_op]
impl ScanOp for Stateless {
    type Input = u8;
    type Output = u32;
    type Carry = u32;
    const START: u32 = 0x811c_9dc5;
    fn step(hash: u32, byte: u8) -> u32 {
        (hash ^ byte as u32).wrapping_mul(0x0100_0193)
    }
}

struct Unfinished;

#[scan_op]
impl ScanOp for Unfinished {
    type Element = u32;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn step(c: u32, x: u32) -> u32 {
        c.wrapping_add(x)
    }
}

struct OneOperand;

#[scan_op]
impl ScanOp for OneOperand {
    type Input = u8;
    type State = u32;
    type Output = u32;
    const IDENTITY: u32 = 0;
    fn lift(x: u8) -> u32 {
        x as u32
    }
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn append(s: u32) -> u32 {
        s
    }
}

struct OtherInput;

#[scan_op]
impl ScanOp for OtherInput {
    type Input = u8;
    type State = u32;
    type Output = u32;
    const IDENTITY: u32 = 0;
    fn lift(x: u8) -> u32 {
        x as u32
    }
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn append(s: u32, x: u32) -> u32 {
        s.wrapping_add(x)
    }
}

struct OtherOutput;

#[scan_op]
impl ScanOp for OtherOutput {
    type Element = u32;
    type Carry = u64;
    const IDENTITY: u32 = 0;
    const START: u64 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u64) -> u64 {
        c.wrapping_add(s as u64)
    }
    fn step(c: u64, x: u32) -> u64 {
        c.wrapping_add(x as u64)
    }
}

struct NamedAlike {
    step: u32,
}

#[scan_op]
impl ScanOp for NamedAlike {
    type Element = u32;
    type Carry = u32;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u32) -> u32 {
        c.wrapping_add(s)
    }
    fn step(&self, c: u32, x: u32) -> u32 {
        c.wrapping_add(x).wrapping_add(self.step)
    }
}

fn main() {}
