//! A quick self-test: a few scans on the GPU and on the CPU, beside plain loops.

use std::io::{self, Write};

use scan_runtime::{ScanOp, Scanner, ops, scan_element, scan_op};

/// An affine map: an operator that is not commutative, on an element that is not a number.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Map {
    a: u32,
    b: u32,
}

#[scan_op(identity = Map { a: 1, b: 0 })]
fn compose(f: Map, g: Map) -> Map {
    Map { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
}

const LENGTHS: [usize; 7] = [0, 1, 33, 1_019, 4_101, 65_537, 1_048_577];

/// Scans on every device there is and on the CPU; whether all results are right.
pub(crate) fn run(out: &mut impl Write) -> io::Result<bool> {
    let devices = (0..).map(|index| Scanner::builder().device(index).build()).map_while(Result::ok);
    let mut right = true;
    for scanner in devices.chain([Scanner::cpu()]) {
        let wrong = check(&scanner).err();
        right &= wrong.is_none();
        let result = wrong.unwrap_or_else(|| "every result is right".to_owned());
        writeln!(out, "self-test        {}: {result}", scanner.backend())?;
    }
    Ok(right)
}

fn check(scanner: &Scanner) -> Result<(), String> {
    for len in LENGTHS {
        let numbers: Vec<i64> = (0..len as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as i64).collect();
        same(scanner, ops::sum(), &numbers)?;
        same(scanner, ops::max(), &numbers)?;
        let bytes: Vec<u8> = numbers.iter().map(|&number| number as u8).collect();
        same(scanner, ops::bit_xor(), &bytes)?;
        let maps: Vec<Map> =
            numbers.iter().map(|&number| Map { a: number as u32 | 1, b: (number >> 8) as u32 }).collect();
        same(scanner, compose, &maps)?;
    }
    Ok(())
}

/// Compares an inclusive scan with a loop.
fn same<T, Op>(scanner: &Scanner, op: Op, input: &[T]) -> Result<(), String>
where
    T: PartialEq + Copy,
    Op: ScanOp<Input = T, State = T, Output = T> + Clone,
{
    let name = op.source().name;
    let output = scanner.scan(op.clone()).run(input).map_err(|error| error.to_string())?;
    let mut sum = None;
    for (index, (&x, &y)) in input.iter().zip(&output).enumerate() {
        let next = sum.map_or(x, |sum| op.combine(sum, x));
        if y != next {
            return Err(format!("{name} of {} elements is wrong from element {index} on", input.len()));
        }
        sum = Some(next);
    }
    if output.len() == input.len() { Ok(()) } else { Err(format!("{name}: {} results", output.len())) }
}
