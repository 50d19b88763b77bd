//! The operator language against Rust: the text of every operation and method, compiled by the host's C++ compiler in
//! place of NVRTC, and run on edge values and random ones beside the Rust that it came from.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the harness is a part of the test")]

use rayon::prelude::*;
use scan_runtime::half::{bf16, f16};
use scan_runtime::{Architecture, Scanner, nvrtc, ops, scan_op};
use scan_tests::extent::one_in;

#[path = "language/mod.rs"]
#[allow(dead_code, reason = "the test on a GPU needs more of it")]
mod language;

#[test]
fn the_text_computes_the_same_as_rust() {
    let report = language::suite().run("language");
    assert!(report.failures.is_empty(), "{} of {} values differ:\n{}", report.wrong, report.compared, report.failures);
    // A suite that compares little proves little.
    assert!(report.compared > 1_700_000, "only {} values were compared", report.compared);
}

/// The kernels that the GPU tests run, through the compiler of their texts.
#[test]
fn nvrtc_compiles_every_text_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let whole = Scanner::cpu().scan(ops::sum::<u32>()).cuda_source().unwrap();
    let compile = |piece: language::harness::CudaSource| {
        let mut source = whole.clone();
        (source.name, source.text) = ("language.cu".to_owned(), piece.text);
        nvrtc::compile(&source, "language", Architecture { major: 9, minor: 0 }).map(|compiled| compiled.log)
    };
    let sources: Vec<_> = one_in(3, language::suite().cuda_sources(16)).collect();
    let logs: Vec<_> = sources.into_par_iter().map(compile).collect();
    let said: Vec<_> = logs.iter().filter(|log| log.as_ref().map_or(true, |log| !log.is_empty())).collect();
    assert!(said.is_empty(), "{said:#?}");
}

#[scan_op]
fn smaller(a: f64, b: f64) -> f64 {
    a.min(b)
}

/// A text that means something else than its Rust is found to do so, each mistake in its own operator.
#[test]
fn the_comparison_finds_planted_mistakes() {
    let mut suite = language::harness::Suite::default();
    suite.combine(ops::sum::<u8>(), 0);
    suite.combine(ops::product::<f16>(), 0);
    suite.combine(ops::product::<bf16>(), 0);
    suite.combine(ops::max::<f32>(), 0);
    suite.combine(ops::sum::<f64>(), 0);
    suite.combine(smaller, 0);
    suite.lift(language::invariants::MODULUS, 0);
    // The remainder by a reciprocal may be the divisor too large.
    suite.mutate("return rest >= b ? rest - b : rest;", "return rest;");
    suite.mutate("Repr(Bits(a.value) + Bits(b.value))", "Repr(Bits(a.value) + Bits(b.value) % 128)");
    // Ties away from zero, to zero.
    suite.mutate("0xfff + (rest >> 13 & 1)", "0x1000");
    suite.mutate("0x7fff + (bits >> 16 & 1)", "0x7fff");
    suite.mutate("a != a", "b != b");
    // Of a number and a NaN, in this order, the NaN.
    suite.mutate("y < x || x != x ? y : x;", "y < x ? y : x;");
    let report = suite.run("mistakes");
    for (operator, wrong) in [
        ("Sum of u8", true),
        ("Product of f16", true),
        ("Product of bf16", true),
        ("Max of f32", true),
        ("Sum of f64", false),
        ("smaller", true),
        ("Modulus", true),
    ] {
        assert_eq!(report.failures.contains(operator), wrong, "{operator}:\n{}", report.failures);
    }
}

#[test]
fn items_compute_the_same_as_rust() {
    let report = language::items().run("items");
    assert!(report.failures.is_empty(), "{} of {} values differ:\n{}", report.wrong, report.compared, report.failures);
    assert!(report.compared > 15_000, "only {} values were compared", report.compared);
}

#[test]
fn items_compile_for_a_gpu() {
    scan_tests::nvrtc().unwrap();
    let kernels = language::items().kernels();
    assert!(kernels.len() > 15, "only {}", kernels.len());
    let kernels: Vec<_> = one_in(3, kernels).collect();
    kernels.par_iter().for_each(|kernel| {
        let compiled = nvrtc::compile(kernel, "operator", Architecture { major: 8, minor: 0 });
        let compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
        assert!(compiled.log.is_empty(), "{}: {}", kernel.name, compiled.log);
    });
}
