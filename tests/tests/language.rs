//! The operator language against Rust: the text of every operation and method, compiled by the host's C++ compiler in
//! place of NVRTC, and run on edge values and random ones beside the Rust that it came from.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the harness is a part of the test")]

use rayon::prelude::*;
use scan_runtime::{Architecture, Scanner, nvrtc, ops};

#[path = "language/mod.rs"]
#[allow(dead_code, reason = "the test on a GPU needs more of it")]
mod language;

#[test]
fn the_text_means_what_the_rust_means() {
    let report = language::suite().run();
    assert!(report.failures.is_empty(), "{} of {} values differ:\n{}", report.wrong, report.compared, report.failures);
    // A suite that compares little proves little.
    assert!(report.compared > 1_700_000, "only {} values were compared", report.compared);
}

/// The kernels that the GPU tests run, through the compiler of their texts.
#[test]
fn nvrtc_takes_every_text_without_a_word() {
    scan_tests::nvrtc().unwrap();
    let whole = Scanner::cpu().scan(ops::sum::<u32>()).cuda_source().unwrap();
    let compile = |piece: language::harness::CudaSource| {
        let mut source = whole.clone();
        (source.name, source.text) = ("language.cu".to_owned(), piece.text);
        nvrtc::compile(&source, "language", Architecture { major: 9, minor: 0 }).map(|compiled| compiled.log)
    };
    let sources = language::suite().cuda_sources(16);
    let logs: Vec<_> = sources.into_par_iter().map(compile).collect();
    let said: Vec<_> = logs.iter().filter(|log| log.as_ref().map_or(true, |log| !log.is_empty())).collect();
    assert!(said.is_empty(), "{said:#?}");
}
