//! Every rung, executed in the emulator.

use scan_codegen::Overrides;
use scan_runtime::{BlockScan, Carry, Network, ScanKind, ScanOp, Strategy, TileNumbers, Workers, scan_element, scan_op};
use scan_tests::emulator::{Emulator, Program, Module};

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span { pub first: u64, pub last: u64, pub kind: u32 }
#[derive(Clone, Copy, Debug)]
pub struct Interval;
#[scan_op]
impl ScanOp for Interval {
    type Element = Span;
    const IDENTITY: Span = Span { first: 0, last: 0, kind: 0 };
    fn combine(a: Span, b: Span) -> Span {
        if a.kind == 0 { b } else if b.kind == 0 { a } else if a.kind == 1 && b.kind == 1 && a.last + 1 == b.first {
            Span { first: a.first, last: b.last, kind: 1 }
        } else { Span { first: 0, last: 0, kind: 2 } }
    }
}

pub const NETWORKS: [Network; 11] = [
    Network::Sequential,
    Network::Naive,
    Network::KoggeStone,
    Network::HillisSteele,
    Network::BrentKung { workers: Workers::Scattered, padded: false },
    Network::BrentKung { workers: Workers::Scattered, padded: true },
    Network::BrentKung { workers: Workers::Contiguous, padded: false },
    Network::BrentKung { workers: Workers::Contiguous, padded: true },
    Network::Blelloch { padded: false },
    Network::Blelloch { padded: true },
    Network::WarpShuffle,
];
pub const CARRIES: [Carry; 5] = [
    Carry::OneBlock,
    Carry::Hierarchical,
    Carry::Chained(TileNumbers::BlockIndex),
    Carry::Chained(TileNumbers::Counter),
    Carry::LookBack,
];
pub fn all() -> impl Iterator<Item = Strategy> {
    NETWORKS.into_iter().flat_map(|network| [BlockScan::of(network), BlockScan::coarsened(network)]).flat_map(|block| {
        CARRIES.into_iter().map(move |carry| Strategy { block, carry })
    })
}

#[test]
fn all_rungs() {
    let t0 = std::time::Instant::now();
    let mut programs = Vec::new();
    for strategy in all() {
        for (kind, init) in [(ScanKind::Inclusive, false), (ScanKind::Exclusive, true), (ScanKind::Inclusive, true), (ScanKind::Exclusive, false)] {
        let mut o = Overrides::default();
        o.strategy = Some(strategy);
        o.threads = Some(32);
        let init = init.then_some(Span { first: 0, last: 0, kind: 1 });
        programs.push((strategy, kind, init, Program::new(Interval, kind, init, &o).unwrap()));
        }
    }
    let sources: Vec<_> = programs.iter().map(|p| &p.3.source).collect();
    let r = Module::compile(&sources);
    println!("compile {} in {:?}", sources.len(), t0.elapsed());
    if let Err(e) = r { panic!("{}", e.to_string().chars().take(6000).collect::<String>()); }
    let mut bad = 0;
    let t0 = std::time::Instant::now();
    let mut runs = 0;
    for (strategy, kind, init, program) in &programs {
        for n in [1_u64, 2, 3, 31, 32, 33, 64, 65, 1019, 4101] {
            let input: Vec<Span> = (1..=n).map(|i| Span { first: i, last: i, kind: 1 }).collect();
            let resident = if matches!(strategy.carry, Carry::Chained(TileNumbers::BlockIndex)) { 1000 } else { 4 };
            let e = Emulator::new(n).resident_blocks(resident).check(|a: &Span, b: &Span| a.kind == 0 || b.kind == 0 || (a.kind==1 && b.kind==1&& a.last + 1 == b.first));
            runs += 1;
            match program.run(&e, &input) {
                Ok(r) => {
                    let first = if init.is_some() { 0 } else { 1 };
                    for (i, y) in r.output.iter().enumerate() {
                        let last = if *kind == ScanKind::Inclusive { i as u64 + 1 } else { i as u64 };
                        let want = if last < first { Span { first: 0, last: 0, kind: 0 } } else { Span { first, last, kind: 1 } };
                        if *y != want { println!("{strategy} {kind:?} {n}: [{i}] {y:?} want {want:?}"); bad += 1; break; }
                    }
                }
                Err(e) => { println!("{strategy} {kind:?} {} {n}: {e}", init.is_some()); bad += 1; break; }
            }
        }
    }
    println!("{runs} runs {:?}", t0.elapsed());
    assert_eq!(bad, 0);
}
