//! A quick self-test: a few scans on the GPU and on the CPU, compared with plain loops.

use std::io::{self, Write};

use scan_runtime::{Backend, Error, ScanOp, Scanner, ops, scan_element, scan_op};

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

/// Scans on every device and on the CPU, and returns whether all results are right. Writes what is wrong, and one line
/// for all devices that are right, or a line for each if `verbose`.
pub(crate) fn write(verbose: bool, out: &mut impl Write) -> io::Result<bool> {
    let devices = (0..).map(|index| Scanner::builder().device(index).build()).map_while(Result::ok);
    let (mut right, mut wrong) = (Vec::new(), false);
    for scanner in devices.chain([Scanner::cpu()]) {
        match check(&scanner) {
            Err(error) => {
                wrong = true;
                writeln!(out, "self-test        {}: {error}", scanner.backend())?;
            }
            Ok(()) if verbose => writeln!(out, "self-test        {}: every result is right", scanner.backend())?,
            Ok(()) => right.push(scanner.backend()),
        }
    }
    let devices = right.iter().filter(|backend| matches!(backend, Backend::Cuda { .. })).count();
    match (devices, right.len() - devices) {
        (0, 0) => {}
        (0, _) => writeln!(out, "self-test        every result is right on the CPU")?,
        (devices, 0) => writeln!(out, "self-test        every result is right on {devices} device(s)")?,
        (devices, _) => writeln!(out, "self-test        every result is right on {devices} device(s) and the CPU")?,
    }
    Ok(!wrong)
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

/// Compares scans and a reduction with loops.
fn same<T, Op>(scanner: &Scanner, op: Op, input: &[T]) -> Result<(), String>
where
    T: PartialEq + Copy,
    Op: ScanOp<Input = T, State = T, Carry = T, Output = T> + Clone,
{
    let name = op.source().name;
    let is = |what: &str, output: Result<Vec<T>, Error>, expected: Vec<T>| {
        let output = output.map_err(|error| error.to_string())?;
        match output.iter().zip(&expected).position(|(found, expected)| found != expected) {
            Some(first) => {
                Err(format!("{what} by {name} of {} elements is wrong from element {first} on", input.len()))
            }
            None if output.len() != expected.len() => Err(format!("{what} by {name}: {} results", output.len())),
            None => Ok(()),
        }
    };
    let scan = scanner.scan(op.clone());
    let inclusive = |start: Option<T>, input: &[T]| {
        let next = |sum: &mut Option<T>, &x: &T| {
            *sum = Some(sum.map_or(x, |sum| op.combine(sum, x)));
            *sum
        };
        input.iter().scan(start, next).collect::<Vec<T>>()
    };
    is("an inclusive scan", scan.clone().run(input), inclusive(None, input))?;

    let Some(&first) = input.first() else { return Ok(()) };
    let mut shifted = vec![first];
    shifted.extend(inclusive(Some(first), input));
    let total = shifted.pop();
    is("an exclusive scan", scan.clone().exclusive().init(first).run(input), shifted)?;
    let reduced = scanner.reduce(op.clone()).init(first).run(input).map(|sum| vec![sum]);
    is("a reduction", reduced, Vec::from_iter(total))?;

    // Segments of all lengths up to some tiles.
    let flags: Vec<bool> = (0..input.len()).map(|index| index.is_power_of_two() || index % 5_003 == 0).collect();
    let heads = flags.iter().enumerate().filter(|(_, flag)| **flag).map(|(index, _)| index).chain([input.len()]);
    let (mut segmented, mut from) = (Vec::with_capacity(input.len()), 0);
    for to in heads {
        segmented.extend(inclusive(None, &input[from..to]));
        from = to;
    }
    is("a segmented scan", scan.by_flags(&flags).run(input), segmented)
}
