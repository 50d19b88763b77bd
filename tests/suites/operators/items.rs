//! Scans with what stands outside of an operator: enums, functions, constants, tables and other parameters; and without an
//! identity. On the CPU, in the emulator, and through NVRTC.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::fmt::Debug;

use rayon::prelude::*;
use scan_codegen::Overrides;
use scan_runtime::{
    __private::bytes_of, Architecture, Carry, Error, Network, PlanError, Reduction, ScanKind, ScanOp, Scanner,
    Strategy, Table, nvrtc, ops, scan_element, scan_op,
};
use scan_tests::{
    emulated::{Emulator, EmulatorError, Module, Program},
    extent::for_gpus,
    items::{Automaton, Kind, Leading, Transition, VERDICTS, Verdict, leftmost, quotes, stamp, text},
    operators::mixed,
    reference::{self, WAYS},
    segments::{HEAD_SOURCES, Heads},
    strategies,
};

/// Threads of a block: few, so that short inputs have several tiles.
const THREADS: u32 = 32;

fn bits<T: scan_runtime::ScanElement>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(bytes_of).collect()
}

fn program<Op: ScanOp>(op: Op, strategy: Strategy, kind: ScanKind, initial_value: Option<Op::Carry>) -> Program<Op> {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(strategy);
    overrides.threads = Some(THREADS);
    Program::new(op, kind, initial_value, &overrides).unwrap()
}

/// Compiles all at once, then runs all.
fn verify<Op: ScanOp>(programs: &[Program<Op>], input: impl Fn(u64) -> Vec<Op::Input>)
where
    Op::Output: Debug,
{
    let sources: Vec<_> = programs.iter().map(|program| &program.source).collect();
    Module::compile(&sources).unwrap();
    for (index, program) in programs.iter().enumerate() {
        let tile = u64::from(program.plan.tile);
        for length in [0, 1, 33, tile, 3 * tile + 1] {
            // Chained blocks that take their numbers from their index need room for all.
            let emulator = Emulator::new(mixed(index as u64)).resident_blocks(usize::MAX);
            if let Err(error) = program.verify(&emulator, &input(length)) {
                panic!("{length} elements: {error}\n{}", program.plan);
            }
        }
    }
}

fn needs_identity(strategy: &Strategy) -> bool {
    matches!(strategy.block.network, Network::Blelloch { .. })
}

/// No strategy but those that say so makes up an identity.
#[test]
fn scans_without_an_identity_in_the_emulator_match_the_reference() {
    let ways = [(ScanKind::Inclusive, false), (ScanKind::Exclusive, true), (ScanKind::Inclusive, true)];
    let programs: Vec<_> = strategies::all()
        .filter(|strategy| !needs_identity(strategy))
        .enumerate()
        .map(|(index, strategy)| {
            let (kind, with_initial_value) = ways[index % 3];
            program(Leading, strategy, kind, with_initial_value.then(|| stamp(1 << 40)))
        })
        .collect();
    verify(&programs, |length| (0..length).map(stamp).collect());
}

#[test]
fn scans_without_an_identity_by_segments_match_the_reference() {
    let ways = [(ScanKind::Inclusive, false), (ScanKind::Exclusive, true), (ScanKind::Inclusive, true)];
    let strategies = strategies::all_segmented().filter(|strategy| !needs_identity(strategy)).enumerate();
    let programs: Vec<_> = strategies
        .filter(|(index, _)| index % 4 == 1)
        .map(|(index, strategy)| {
            let (kind, with_initial_value) = ways[index % 3];
            let initial_value = with_initial_value.then(|| stamp(1 << 40));
            let begins: Vec<bool> = (0..500).map(|i| mixed(i + index as u64).is_multiple_of(23)).collect();
            let heads = Heads::new(index % HEAD_SOURCES, &begins);
            let mut overrides = Overrides::default();
            overrides.strategy = Some(strategy);
            overrides.threads = Some(THREADS);
            Program::segmented(Leading, kind, initial_value, heads.segments(), &overrides).unwrap().with_heads(heads)
        })
        .collect();
    let sources: Vec<_> = programs.iter().map(|program| &program.source).collect();
    Module::compile(&sources).unwrap();
    let input: Vec<_> = (0..500).map(stamp).collect();
    for program in &programs {
        let emulator = Emulator::new(3).resident_blocks(usize::MAX);
        if let Err(error) = program.verify(&emulator, &input) {
            panic!("{error}\n{}", program.plan);
        }
    }
}

#[test]
fn scans_without_an_identity_on_the_cpu_equal_a_plain_loop() {
    let scanner = Scanner::cpu();
    for length in [1, 2, 1000, 100_000] {
        let input: Vec<_> = (0..length).map(stamp).collect();
        let first = stamp(1 << 40);
        let scan = scanner.scan(Leading);
        let expected = reference::scan(&Leading, ScanKind::Inclusive, None, &input);
        assert_eq!(scan.run(&input).unwrap(), expected);
        assert_eq!(scanner.reduce(Leading).run(&input).unwrap(), expected[expected.len() - 1]);
        assert_eq!(scan.with_total().run(&input).unwrap().1, expected.last().copied());
        let expected = reference::scan(&Leading, ScanKind::Exclusive, Some(first), &input);
        assert_eq!(scan.exclusive().init(first).run(&input).unwrap(), expected);
    }
    assert_eq!(scanner.scan(leftmost).run(&[7, 8, 9]).unwrap(), [7, 7, 7]);
    assert!(scanner.scan(leftmost).run(&[]).unwrap().is_empty());
    assert_eq!(scanner.scan(leftmost).with_total().run(&[]).unwrap(), (Vec::new(), None));
}

/// What needs an identity says so, and what to do.
#[test]
fn scans_that_need_an_identity_are_refused_without_one() {
    let scanner = Scanner::cpu();
    let error = scanner.scan(leftmost).exclusive().run(&[1]).unwrap_err();
    assert!(matches!(&error, Error::Plan(PlanError::NoIdentity { operator }) if operator == "leftmost"), "{error}");
    assert!(error.to_string().contains("add `.init(value)`"), "{error}");
    let error = scanner.scan(leftmost).exclusive().by_flags(&[true]).run(&[1]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoIdentity { .. })), "{error}");
    let error = scanner.reduce(leftmost).run(&[]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoElements { .. })), "{error}");
    assert!(error.to_string().contains("needs an initial value: add `.init(value)`"), "{error}");
    assert_eq!(scanner.reduce(leftmost).init(3).run(&[]).unwrap(), 3);
    for strategy in strategies::all().filter(needs_identity) {
        let error = Program::new(Leading, ScanKind::Inclusive, None, &{
            let mut overrides = Overrides::default();
            overrides.strategy = Some(strategy);
            overrides
        });
        let Err(EmulatorError::Plan(PlanError::StrategyNeedsIdentity { .. })) = error else {
            panic!("{strategy} has a plan");
        };
    }
}

#[test]
fn an_automaton_in_the_emulator_matches_the_reference() {
    let programs: Vec<_> = strategies::all()
        .enumerate()
        .filter(|(index, _)| index % 3 == 0)
        .map(|(index, strategy)| {
            let (kind, with_initial_value) = WAYS[index % 4];
            let before = Transition { to: [1, 0, 2, 3] };
            program(quotes(b'"'), strategy, kind, with_initial_value.then_some(before))
        })
        .collect();
    verify(&programs, text);
}

/// Another table, the same text.
#[test]
fn an_automaton_on_the_cpu_equals_a_plain_loop() {
    let scanner = Scanner::cpu();
    let input = text(50_000);
    let mut outputs = Vec::new();
    for quote in [b'"', b'\''] {
        let scan = scanner.scan(quotes(quote));
        let expected = reference::scan(&quotes(quote), ScanKind::Inclusive, None, &input);
        let found = scan.run(&input).unwrap();
        assert!(bits(&found) == bits(&expected));
        assert!(VERDICTS.iter().all(|verdict| found.contains(verdict)));
        outputs.push((found, scan.cuda_source().unwrap()));
    }
    assert_ne!(outputs[0].0, outputs[1].0);
    assert_eq!(outputs[0].1, outputs[1].1);
}

#[test]
fn an_index_past_the_end_of_a_table_is_an_error() {
    let automaton = Automaton { transitions: Table::from(vec![Transition { to: [0; 4] }; 10]), start: 0 };
    let error = Scanner::cpu().scan(automaton).run(&[1, 10]).unwrap_err();
    assert!(matches!(&error, Error::OperatorPanicked { message, .. } if message.contains("the len is 10")), "{error}");
}

#[test]
fn a_table_is_shared_and_read_like_a_slice() {
    let table: Table<u16> = [1, 2, 3].into();
    let other = table.clone();
    assert!(std::ptr::eq(table.as_ptr(), other.as_ptr()));
    assert_eq!((table.len(), other[2], format!("{table:?}")), (3, 3, "[1, 2, 3]".to_owned()));
    assert_eq!(Table::from(&table[..2]).iter().sum::<u16>(), 3);
}

#[test]
fn operators_with_items_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let scanner = Scanner::cpu_for(scan_runtime::DeviceLimits::BASELINE);
    let mut sources = Vec::new();
    // Look-ahead and clusters are not for all of these architectures.
    let everywhere = strategies::all().filter(|strategy| !matches!(strategy.carry, Carry::LookAhead | Carry::Cluster));
    for (index, strategy) in everywhere.enumerate().filter(|(index, _)| index % 5 == 0) {
        let scan = scanner.scan(quotes(b'"')).strategy(strategy);
        sources.push(if index % 2 == 0 { scan } else { scan.exclusive() }.cuda_source().unwrap());
        if !needs_identity(&strategy) {
            let scan = scanner.scan(Leading).strategy(strategy);
            let scan = if index % 2 == 0 { scan } else { scan.exclusive().init(stamp(0)) };
            sources.push(scan.cuda_source().unwrap());
            if !strategy.block.in_registers {
                sources.push(scan.by_keys::<Kind>(&[]).cuda_source().unwrap());
            }
        }
    }
    for reduction in [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened] {
        sources.push(scanner.reduce(Leading).reduction(reduction).cuda_source().unwrap());
        sources.push(scanner.reduce(quotes(b'"')).reduction(reduction).cuda_source().unwrap());
    }
    sources.push(scanner.scan(ops::sum::<u8>()).by_keys::<Shades>(&[]).cuda_source().unwrap());
    let sources = for_gpus(sources, |source| source);
    let architectures = [(7, 5), (8, 0), (9, 0), (10, 0), (12, 0)];
    let failures: Vec<String> = sources
        .par_iter()
        .enumerate()
        .filter_map(|(index, source)| {
            let (major, minor) = architectures[index % architectures.len()];
            match nvrtc::compile(source, "operator", Architecture { major, minor }) {
                Ok(compiled) if compiled.log.is_empty() => None,
                Ok(compiled) => Some(format!("{}:\n{}", source.name, compiled.log)),
                Err(error) => Some(format!("{}: {error}", source.name)),
            }
        })
        .collect();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), sources.len(), failures.join("\n\n"));
}

/// A key with an enum in it.
#[scan_element]
#[derive(Clone, Copy)]
struct Shades {
    kind: Verdict,
    shade: Verdict,
}

/// Calls a function of another crate.
#[scan_op]
fn reversed(f: Transition, g: Transition) -> Transition {
    scan_tests::items::after(g, f)
}

#[test]
fn a_function_of_another_crate_is_part_of_the_text() {
    let source = Scanner::cpu().scan(reversed).cuda_source().unwrap().text;
    assert!(source.contains("return after(g, f);"), "{source}");
    assert!(source.contains("#line") && source.contains("tests/support/items.rs"), "{source}");
    let input: Vec<_> = text(100).iter().map(|byte| quotes(b'"').lift(*byte)).collect();
    let program = program(reversed, strategies::all().last().unwrap(), ScanKind::Inclusive, None);
    program.verify(&Emulator::new(1), &input).unwrap();
}
