//! The length of generated texts, which only goes down: a student reads them.

use scan_runtime::{Axis, BlockScan, Carry, DeviceLimits, Network, Scanner, Strategy, Workers, nvrtc, ops};

/// The most lines of each text, and of a section, which is what stands below one heading.
const LINES: [(&str, usize); 6] = [
    ("look-ahead of an H200", 1_200),
    ("look-back", 900),
    ("one block, runs in registers", 624),
    ("one block, Kogge-Stone", 248),
    ("one block, Brent-Kung", 254),
    ("along an axis", 936),
];
const OF_A_SECTION: usize = 204;

/// Sums of `f32`, as they are scanned on devices that exist.
fn texts() -> Vec<String> {
    let h200 = Scanner::cpu_for(DeviceLimits::H200);
    let sum = || ops::sum::<f32>();
    let by = |block, carry| h200.scan(sum()).strategy(Strategy { block, carry }).cuda_source().unwrap().text;
    let brent_kung = Network::BrentKung { workers: Workers::Contiguous, padded: false };
    let axis = Axis::of(&[8, 65_536, 1_536], 1).unwrap();
    vec![
        h200.scan(sum()).cuda_source().unwrap().text,
        by(BlockScan::in_registers(), Carry::LookBack),
        by(BlockScan::in_registers(), Carry::OneBlock),
        by(BlockScan::of(Network::KoggeStone), Carry::OneBlock),
        by(BlockScan::of(brent_kung), Carry::OneBlock),
        h200.scan(sum()).along(axis).cuda_source().unwrap().text,
    ]
}

#[test]
fn texts_only_become_shorter() {
    for ((name, max), text) in LINES.into_iter().zip(texts()) {
        let lines = text.lines().count();
        let section = text.split("\n// ---- ").map(|section| section.lines().count()).max().unwrap();
        println!("{name}: {lines} lines, {section} in a section");
        assert!(lines <= max, "{name} has {lines} lines");
        assert!(section <= OF_A_SECTION, "{name} has {section} lines below one heading");
    }
}

#[test]
fn look_ahead_of_sums_compiles_for_an_h200() {
    let source = Scanner::cpu_for(DeviceLimits::H200).scan(ops::sum::<f32>()).cuda_source().unwrap();
    scan_tests::nvrtc().unwrap();
    let compiled = nvrtc::compile(&source, "sum", "sm_90".parse().unwrap()).unwrap();
    assert!(!compiled.cubin.is_empty() && compiled.log.is_empty(), "{}", compiled.log);
}
