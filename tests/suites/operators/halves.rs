//! Floats of 16 bits in whole scans: read and written as they are, combined as they are, or in `f32`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Overrides, Target, operator_text};
use scan_runtime::half::{bf16, f16};
use scan_runtime::{Architecture, ScanKind, ScanOp, Scanner, Strategy, nvrtc, ops, scan_element, scan_op};
use scan_tests::{
    emulated::{Emulator, Module, Program},
    operators::mixed,
    strategies,
};

/// What is stored has 8 bits of precision, the sums 24.
#[derive(Clone, Copy)]
struct SumInFloat;

#[scan_op]
impl ScanOp for SumInFloat {
    type Input = bf16;
    type State = f32;
    type Output = bf16;
    const IDENTITY: f32 = 0.0;
    fn lift(x: bf16) -> f32 {
        x.to_f32()
    }
    fn combine(a: f32, b: f32) -> f32 {
        a + b
    }
    fn project(sum: f32) -> bf16 {
        bf16::from_f32(sum)
    }
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine {
    a: f16,
    b: bf16,
}

/// Both kinds in one struct, neither of them commutative: the factor of the last, the first offset above all.
#[derive(Clone, Copy)]
struct FirstAndLast;

#[scan_op]
impl ScanOp for FirstAndLast {
    type Element = Affine;
    const IDENTITY: Affine = Affine { a: f16::NAN, b: bf16::NEG_INFINITY };
    fn combine(f: Affine, g: Affine) -> Affine {
        Affine { b: if f.b >= g.b { f.b } else { g.b }, a: if g.a.is_nan() { f.a } else { g.a } }
    }
}

/// Scans in the emulator, by one in `every` strategies, and compares with a plain loop over the Rust.
fn verify<Op: ScanOp<Output: std::fmt::Debug> + Copy>(
    op: Op,
    every: usize,
    initial_value: Op::Carry,
    input: fn(u64) -> Op::Input,
) {
    let program = |(index, strategy): (usize, Strategy)| {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(strategy);
        overrides.threads = Some(32);
        let kind = [ScanKind::Inclusive, ScanKind::Exclusive][index % 2];
        Program::new(op, kind, (index % 3 == 0).then_some(initial_value), &overrides).unwrap()
    };
    let programs: Vec<Program<Op>> = strategies::all().step_by(every).enumerate().map(program).collect();
    let sources: Vec<_> = programs.iter().map(|program| &program.source).collect();
    Module::compile(&sources).unwrap();
    for (seed, program) in (0..).zip(&programs) {
        let input: Vec<Op::Input> = (0..3 * u64::from(program.plan.tile) + 5).map(input).collect();
        // A chained block waits for those before it, which need room.
        let emulator = Emulator::new(seed).resident_blocks(usize::MAX);
        program.verify(&emulator, &input).unwrap_or_else(|error| panic!("{}: {error}", program.plan));
    }
}

/// The sums are exact in `f32`; each is rounded once.
#[test]
fn sums_of_bf16_in_f32_match_the_reference() {
    verify(SumInFloat, 6, 0.5, |i| bf16::from_f32((mixed(i) % 9) as f32 * 0.25 - 1.0));
}

#[test]
fn a_struct_of_halves_matches_the_reference() {
    let initial_value = Affine { a: f16::PI, b: bf16::PI };
    verify(FirstAndLast, 10, initial_value, |i| Affine {
        a: f16::from_bits(mixed(i) as u16 & 0x7bff),
        b: bf16::from_bits(mixed(!i) as u16 & 0x3fff),
    });
}

#[test]
fn precision_is_kept_in_the_state() {
    let ones = vec![bf16::ONE; 300];
    let scanner = Scanner::cpu();
    assert_eq!(scanner.scan(SumInFloat).run(&ones).unwrap()[299].to_f32(), 300.0);
    // In bf16, 256 + 1 is 256.
    assert_eq!(scanner.scan(ops::sum::<bf16>()).run(&ones).unwrap()[299].to_f32(), 256.0);
}

#[test]
fn text_of_operators_on_halves() {
    insta::assert_snapshot!(operator_text(&SumInFloat.source(), Target::Cuda).unwrap().text);
    insta::assert_snapshot!(operator_text(&FirstAndLast.source(), Target::Cuda).unwrap().text);
}

/// For GPUs that round to bf16 by an instruction, and for those before.
#[test]
fn operators_on_halves_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let scanner = Scanner::cpu_for(scan_runtime::DeviceLimits::BASELINE);
    for architecture in [Architecture { major: 7, minor: 5 }, Architecture { major: 9, minor: 0 }] {
        for source in [scanner.scan(SumInFloat).cuda_source(), scanner.scan(FirstAndLast).cuda_source()] {
            let compiled = nvrtc::compile(&source.unwrap(), "halves", architecture).unwrap();
            assert_eq!(compiled.log, "", "{architecture}");
        }
    }
}
