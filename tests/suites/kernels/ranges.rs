//! Reductions of ranges of every length, and faults planted in their kernel.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Arrays, OffsetWidth, ScanSpec};
use scan_runtime::{ScanOp, ops};
use scan_tests::{
    emulated::{Emulator, RangesProgram},
    matrix::Register,
    operators::{AffineU32, Bytes3Sum, MapU32, MatrixProduct, PolynomialHash, TestOperator, inputs, mixed},
    ranges::ranges,
};

/// Blocks of two warps.
const THREADS: u32 = 64;

/// Around what a thread, a warp, and a block at once fold, one behind the other; then random ones.
fn around(len: usize, count: usize) -> Vec<(u64, u64)> {
    let lengths = [0, 1, 2, 15, 16, 17, 31, 32, 33, 34, 1_023, 1_024, 1_025, 2_600];
    let edges = lengths.into_iter().filter(|&length| length <= len).enumerate();
    let edges = edges.map(|(index, length)| (index % (len - length + 1), length)).map(|(at, length)| at..at + length);
    let all = edges.chain(ranges(count, 100, len));
    all.map(|range| (range.start as u64, range.end as u64)).collect()
}

fn verify<Op: ScanOp<Output: std::fmt::Debug> + Clone>(
    op: Op,
    spec: &ScanSpec,
    (len, count): (usize, usize),
    input: impl Fn(usize) -> Vec<Op::Input>,
    value: impl Fn(u64) -> Op::Carry,
) {
    for (turn, reversed) in [false, true].into_iter().enumerate() {
        let spec = if reversed { spec.clone().reverse() } else { spec.clone() };
        let width = [OffsetWidth::U32, OffsetWidth::U64][(turn + len) % 2];
        let program = RangesProgram::new(op.clone(), &spec, width, THREADS).unwrap();
        let ranges = around(len, count);
        let values: Vec<_> = (0..ranges.len() as u64).map(&value).collect();
        let emulator = Emulator::new((len + turn) as u64).resident_blocks([1, 3, usize::MAX][len % 3]);
        let verified = program.verify(&emulator.limit(400_000_000), &input(len), &ranges, &values);
        verified.unwrap_or_else(|error| panic!("{len} elements, {spec}: {error}\n{}", program.source));
    }
}

fn starts() -> [ScanSpec; 3] {
    let plain = ScanSpec::inclusive;
    [plain(), plain().with_initial_value(), plain().with_initial_values()]
}

/// Operators that do not commute, of one word and of many, and one of three bytes.
#[test]
fn ranges_of_every_length_match_the_reference() {
    for (spec, len) in starts().iter().zip([3_001, 2_600, 1_025]) {
        verify(PolynomialHash, spec, (len, 20), inputs::<PolynomialHash>, PolynomialHash::input);
    }
    let matrices = MatrixProduct::<3>::new();
    verify(matrices, &ScanSpec::inclusive(), (1_100, 5), inputs::<MatrixProduct<3>>, MatrixProduct::<3>::input);
    verify(Bytes3Sum::new(), &ScanSpec::inclusive(), (1_100, 5), inputs::<Bytes3Sum>, Bytes3Sum::input);
}

/// Ranges for all lanes of a warp, and for some of them.
#[test]
fn many_ranges_match_the_reference() {
    for (len, count) in [(100, 300), (40, 3_000), (0, 70), (1_030, 500)] {
        verify(AffineU32, &ScanSpec::inclusive(), (len, count), inputs::<AffineU32>, AffineU32::input);
    }
}

/// A stepped operator, whose carry is not an element.
#[test]
fn a_stepped_operator_reads_each_range_from_its_start() {
    for spec in starts() {
        verify(Register, &spec, (1_300, 20), inputs::<AffineU32>, |k| mixed(k) as u32);
    }
}

/// The elements, and the results, in an array for each field.
#[test]
fn arrays_per_field_match_the_reference() {
    for (spec, arrays) in starts().into_iter().zip([
        (Arrays::PerField, Arrays::One),
        (Arrays::One, Arrays::PerField),
        (Arrays::PerField, Arrays::PerField),
    ]) {
        let spec = spec.with_arrays(arrays.0, arrays.1);
        verify(AffineU32, &spec, (1_100, 10), inputs::<AffineU32>, AffineU32::input);
    }
}

/// Ranges that are not within the input, or end before they begin, are empty: nothing beyond the input is read.
#[test]
fn ranges_beyond_the_input_are_empty() {
    let beyond =
        [(0, 5), (101, 101), (5, 101), (7, 3), (0, u64::MAX), (u64::MAX, 5), (u64::MAX - 3, u64::MAX), (99, 100)];
    for width in [OffsetWidth::U32, OffsetWidth::U64] {
        let program = RangesProgram::new(ops::sum::<u32>(), &ScanSpec::inclusive(), width, THREADS).unwrap();
        let input: Vec<u32> = (0..100).collect();
        let ranges = beyond.map(|(begin, end)| match width {
            OffsetWidth::U32 => (begin & 0xffff_ffff, end & 0xffff_ffff),
            _ => (begin, end),
        });
        program.verify(&Emulator::new(1), &input, &ranges, &[0]).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn planted_faults_are_found() {
    let (plain, of_values) = (ScanSpec::inclusive(), ScanSpec::inclusive().with_initial_values());
    let everywhere = [
        ("first < end && end <= n", "first <= end"),
        ("range.count <= OF_THREAD ? range.count : 0", "range.count < OF_THREAD ? range.count : 0"),
        ("OF_THREAD < range.count && range.count <= OF_WARP", "OF_THREAD < range.count && range.count < OF_WARP"),
        ("min(start + lane * run, end)", "min(start + lane * run + 1, end)"),
        ("min(first + run, end)", "min(first + run + 1, end)"),
        ("start += WARP * run", "start += WARP * run - 1"),
        ("end - start + run - 1", "end - start"),
        ("op, aggregate, lane, runs, HeadMask{}), runs - 1)", "op, aggregate, lane, runs, HeadMask{}), runs - 2)"),
        ("start += TILE", "start += TILE / 2"),
        ("lane < of_warp && place", "place"),
        ("place < of_block && k < ranges", "k < ranges"),
        ("place < of_block && k < ranges", "place < of_block"),
        ("own_warp * of_warp + lane", "own_warp * WARP + lane"),
        ("warp * of_warp + owner", "warp * of_warp"),
        ("warp == own_warp && lane == owner ?", "lane == owner ?"),
        (
            "    long_ranges[own_warp] = longer;\n  }\n  __syncthreads();\n",
            "    long_ranges[own_warp] = longer;\n  }\n",
        ),
        (
            "const unsigned longer = ballot(OF_WARP < range.count)",
            "const unsigned longer = ballot(OF_WARP + 1 < range.count)",
        ),
        ("  __syncthreads(); // x has been written\n", ""),
        (": of_nothing", ": output_of(op, fold.value)"),
    ];
    let of_starts = [("initial_values[k]", "initial_values[0]"), ("all = fold.any ?", "all = false ?")];
    let planted =
        everywhere.iter().map(|change| (&plain, change)).chain(of_starts.iter().map(|change| (&of_values, change)));
    for (spec, (from, to)) in planted {
        let mut program = RangesProgram::new(AffineU32, spec, OffsetWidth::U32, THREADS).unwrap();
        let is_found = |program: &RangesProgram<AffineU32>| {
            [(3_001, 400), (120, 90)].into_iter().enumerate().any(|(seed, (len, count))| {
                let mut ranges = around(len, count);
                ranges.push((5, len as u64 + 1));
                let values: Vec<MapU32> = (0..ranges.len() as u64).map(AffineU32::input).collect();
                let emulator = Emulator::new(seed as u64).limit(400_000_000);
                program.verify(&emulator, &inputs::<AffineU32>(len), &ranges, &values).is_err()
            })
        };
        assert!(!is_found(&program), "nothing is planted");
        assert!(program.source.text.contains(from), "`{from}` is not in the text:\n{}", program.source.text);
        program.source.text = program.source.text.replace(from, to);
        assert!(is_found(&program), "`{to}` in place of `{from}` is not found");
    }
}
