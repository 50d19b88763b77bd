//! Every operator of the gallery, and the exact sums of `ops`: its laws, and its scans on the CPU and in the emulator
//! against results that were computed without it; and its kernels through NVRTC.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use rayon::prelude::*;
use scan_codegen::{KernelSource, Overrides};
use scan_runtime::{Architecture, BlockScan, Carry, Network, ScanKind, Scanner, Strategy, laws, nvrtc};
use scan_tests::{
    emulated::{Emulator, Module, Program},
    extent::one_in,
    gallery::{Example, SUMS, Visitor, compare, visit_gallery, visit_sums},
};

/// How many operators the tests visit.
const OPERATORS: usize = 20 + SUMS;

fn visit_all(visitor: &mut impl Visitor) {
    visit_gallery(visitor);
    visit_sums(visitor);
}

/// What goes wrong, by operator; a test fails once it has tried them all.
#[derive(Default)]
struct Failures {
    visited: usize,
    found: Vec<String>,
}

impl Failures {
    fn add(&mut self, result: Result<(), String>, what: impl FnOnce() -> String) {
        if let Err(message) = result {
            self.found.push(format!("{}: {message}", what()));
        }
    }

    fn check(self) {
        assert_eq!(self.visited, OPERATORS);
        assert!(self.found.is_empty(), "{}", self.found.join("\n\n"));
    }
}

/// The results of a scan: before the first element of an exclusive one stands the identity.
fn expected<Op: Example>(op: &Op, kind: ScanKind, input: &[Op::Input]) -> Vec<Op::Output> {
    let inclusive = op.expected(input);
    match kind {
        ScanKind::Inclusive => inclusive,
        ScanKind::Exclusive => {
            let first = op.project(op.start().unwrap());
            std::iter::once(first).chain(inclusive).take(input.len()).collect()
        }
    }
}

/// Outputs that the projection of an identity leaves undefined (a mean of nothing) are not compared.
fn compare_defined<Op: Example>(kind: ScanKind, found: &[Op::Output], expected: &[Op::Output]) -> Result<(), String> {
    let from = usize::from(kind == ScanKind::Exclusive && !found.is_empty());
    compare(&found[from..], &expected[from..], Op::tolerance())
}

#[derive(Default)]
struct Laws(Failures);

impl Visitor for Laws {
    fn visit<Op: Example>(&mut self, name: &str) {
        self.0.visited += 1;
        let result = Op::laws().run(&Op::new(), Op::input(24)).map_err(|failure| failure.to_string());
        let is_tested = |report: &laws::Report| report.associativity >= 1000 && report.identity >= 200;
        // None of them counts to a constant.
        let tested = result.and_then(|report| match is_tested(&report) && report.unreached.is_none() {
            true => Ok(()),
            false => Err(report.to_string()),
        });
        self.0.add(tested, || name.to_owned());
    }
}

#[test]
fn laws_hold() {
    let mut laws = Laws::default();
    visit_all(&mut laws);
    laws.0.check();
}

#[derive(Default)]
struct OnCpu(Failures);

impl Visitor for OnCpu {
    fn visit<Op: Example>(&mut self, name: &str) {
        self.0.visited += 1;
        let (op, scanner) = (Op::new(), Scanner::cpu());
        for len in [0, 1, 2, 33, 5_000, 20_001] {
            let input = Op::input(len);
            for kind in [ScanKind::Inclusive, ScanKind::Exclusive] {
                let scan = scanner.scan(op.clone());
                let scan = if kind == ScanKind::Inclusive { scan.inclusive() } else { scan.exclusive() };
                let found = scan.run(&input).unwrap();
                let result = compare_defined::<Op>(kind, &found, &expected(&op, kind, &input));
                self.0.add(result, || format!("{name}, {kind:?}, length {len}"));
            }
        }
    }
}

#[test]
fn the_cpu_gives_the_expected_results() {
    let mut on_cpu = OnCpu::default();
    visit_all(&mut on_cpu);
    on_cpu.0.check();
}

/// One network each, and each way to carry that several tiles need.
const STRATEGIES: [Strategy; 3] = [
    Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::ReduceThenScan },
    Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookBack },
    Strategy { block: BlockScan::of(Network::Blelloch { padded: true }), carry: Carry::OneBlock },
];

#[derive(Default)]
struct InEmulator(Failures);

impl Visitor for InEmulator {
    fn visit<Op: Example>(&mut self, name: &str) {
        self.0.visited += 1;
        let op = Op::new();
        let kinds = [ScanKind::Inclusive, ScanKind::Exclusive, ScanKind::Exclusive];
        let programs: Vec<Program<Op>> = STRATEGIES
            .into_iter()
            .zip(kinds)
            .map(|(strategy, kind)| {
                let mut overrides = Overrides::default();
                overrides.strategy = Some(strategy);
                overrides.threads = Some(32);
                Program::new(op.clone(), kind, None, &overrides).unwrap()
            })
            .collect();
        let sources: Vec<_> = programs.iter().map(|program| &program.source).collect();
        if let Err(error) = Module::compile(&sources) {
            return self.0.add(Err(error.to_string()), || name.to_owned());
        }
        for program in &programs {
            let (kind, tile) = (program.plan.spec.kind, program.plan.tile as usize);
            for (seed, len) in (0..).zip([1, 33, tile + 1, 3 * tile - 1]) {
                let input = Op::input(len);
                let result = program.run(&Emulator::new(seed), &input).map_err(|error| error.to_string());
                let result =
                    result.and_then(|run| compare_defined::<Op>(kind, &run.output, &expected(&op, kind, &input)));
                self.0.add(result, || format!("{name}, {kind:?}, length {len}, {}", program.plan.strategy));
            }
        }
    }
}

#[test]
fn the_kernels_give_the_expected_results() {
    let mut in_emulator = InEmulator::default();
    visit_all(&mut in_emulator);
    in_emulator.0.check();
}

struct Sources(Vec<(String, KernelSource)>);

impl Visitor for Sources {
    fn visit<Op: Example>(&mut self, name: &str) {
        self.0.push((name.to_owned(), Scanner::cpu().scan(Op::new()).cuda_source().unwrap()));
    }
}

#[test]
fn the_kernels_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let mut sources = Sources(Vec::new());
    visit_all(&mut sources);
    let compile = |(name, source): &(String, KernelSource)| match nvrtc::compile(
        source,
        name,
        Architecture { major: 9, minor: 0 },
    ) {
        Ok(compiled) if compiled.log.is_empty() => None,
        Ok(compiled) => Some(format!("{name}: {}", compiled.log)),
        Err(error) => Some(format!("{name}: {error}")),
    };
    assert_eq!(sources.0.len(), OPERATORS);
    let sources: Vec<_> = one_in(3, sources.0).collect();
    let failures: Vec<_> = sources.par_iter().with_max_len(1).filter_map(compile).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Results that lie one place off are told from the right ones, early and late: they neither settle nor are all within the tolerance.
/// The longest climb, the booked time of a day and the first position can only settle.
struct OnePlaceOff;

impl Visitor for OnePlaceOff {
    fn visit<Op: Example>(&mut self, name: &str) {
        let (op, kind) = (Op::new(), ScanKind::Inclusive);
        let results = expected(&op, kind, &Op::input(20_001));
        let settles = matches!(name, "longest_sorted_run" | "interval_union" | "position");
        let parts = [("early", &results[..34]), ("late", &results[10_000..])];
        for (what, part) in parts.into_iter().filter(|(what, _)| !settles || *what == "early") {
            let result = compare_defined::<Op>(kind, &part[1..], &part[..part.len() - 1]);
            assert!(result.is_err(), "{name}: results that lie one place off are taken for right, {what}");
        }
    }
}

#[test]
fn neighbouring_results_of_every_example_differ() {
    visit_all(&mut OnePlaceOff);
}

/// The comparison of the other tests can fail.
#[test]
fn the_comparison_finds_a_wrong_result() {
    assert!(compare(&[1.0_f32, 2.0], &[1.0, 2.0], 0.0).is_ok());
    assert!(compare(&[1.0_f32, 2.5], &[1.0, 2.0], 0.1).is_err());
    assert!(compare(&[1.0_f32, 2.1], &[1.0, 2.0], 0.1).is_ok());
    assert!(compare(&[f64::NAN], &[1.0], 0.1).is_err());
    assert!(compare(&[[1_u8, 2]], &[[1, 3]], 1.0).is_err());
    assert!(compare(&[1, 2], &[1], 0.0).is_err());
}
