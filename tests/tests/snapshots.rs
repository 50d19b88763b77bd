//! The generated CUDA, reviewed like source.

use scan_runtime::{Scan, ScanOp, Scanner, ops};
use scan_tests::operators::{MixedSum, TestOperator, compose};

fn text<Op: ScanOp>(scan: Scan<'_, Op>) -> String {
    format!("{}\n\n{}", scan.plan().unwrap(), scan.cuda_source().unwrap().text)
}

#[test]
fn sum_inclusive() {
    insta::assert_snapshot!(text(Scanner::cpu().scan(ops::sum::<f32>())));
}

#[test]
fn compose_exclusive() {
    insta::assert_snapshot!(text(Scanner::cpu().scan(compose).exclusive()));
}

#[test]
fn mixed_exclusive_with_an_initial_value() {
    let scanner = Scanner::cpu();
    insta::assert_snapshot!(text(scanner.scan(MixedSum).exclusive().init(MixedSum::initial_value())));
}

#[test]
fn the_same_bytes_each_time() {
    let source = || Scanner::cpu().scan(compose).cuda_source().unwrap();
    assert_eq!(source(), source());
}
