//! Enums, functions, constant tables and tables in device memory on a device, and operators without an identity.

use scan_codegen::ScanSpec;
use scan_runtime::{Carry, Network, ScanKind, Scanner};
use scan_tests::{
    composed::composed,
    items::{Automaton, Classes, Leading, leftmost, quotes, stamp, text},
    lifting::inputs,
    operators::bits,
    reference, strategies,
};

use crate::{Trials, ensure};

/// Long enough for several tiles, and for work that is still under way when the host is done with it.
const LENGTHS: [u64; 5] = [1, 33, 4_097, 100_003, 3_000_000];

pub(crate) fn add(trials: &mut Trials) {
    trials.add("automaton_with_a_table", || {
        let scanner = Scanner::cuda(0)?;
        let strategies: Vec<_> =
            strategies::all().step_by(7).filter(|strategy| strategy.carry != Carry::OneBlock).collect();
        for (index, strategy) in strategies.into_iter().enumerate() {
            let length = LENGTHS[index % 4].min(30_000);
            let (op, input) = (quotes(b'"'), text(length));
            let kind = [ScanKind::Inclusive, ScanKind::Exclusive][index % 2];
            let scan = scanner.scan(op.clone()).strategy(strategy);
            let scan = if kind == ScanKind::Inclusive { scan } else { scan.exclusive() };
            let found = scan.run(&input)?;
            let expected = reference::scan(&op, kind, None, &input);
            ensure(bits(&found) == bits(&expected), || format!("{strategy}, {length} elements"))?;
        }
        Ok(())
    });
    // Tables that stay in device memory and such that do not take turns: each has kernels of its own.
    trials.add("short_and_long_tables", || {
        let scanner = Scanner::cuda(0)?;
        for (turn, (inputs, words)) in [(300, 5), (9_000, 5), (300, 5), (200, 3_000), (256, 4)].into_iter().enumerate()
        {
            let op = Classes::new(inputs, words);
            for length in [1, 100_003, 3_000_001, 40_000_003] {
                let input = op.inputs(length);
                let reversed = turn % 2 == 1;
                let scan = scanner.scan(op.clone());
                let scan = if reversed { scan.reverse() } else { scan };
                let spec = if reversed { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
                let expected = reference::scan_as(&op, &spec, None, &input, None);
                let found = scan.run(&input)?;
                ensure(bits(&found) == bits(&expected), || {
                    format!("{inputs} inputs, {words} words, {length} elements")
                })?;
            }
        }
        Ok(())
    });
    trials.add("operators_of_operators", || {
        let (scanner, op) = (Scanner::cuda(0)?, composed(1_021));
        for length in LENGTHS {
            let input = inputs(length as usize);
            for reversed in [false, true] {
                let scan = scanner.scan(op.clone());
                let scan = if reversed { scan.reverse() } else { scan };
                let spec = if reversed { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
                let expected = reference::scan_as(&op, &spec, None, &input, None);
                let found = scan.run(&input)?;
                ensure(bits(&found) == bits(&expected), || format!("{length} elements, reversed: {reversed}"))?;
            }
        }
        Ok(())
    });
    trials.add("another_table_compiles_nothing", || {
        let scanner = Scanner::cuda(0)?;
        let input = text(10_000);
        for quote in [b'"', b'\'', b'a', b'b'] {
            for start in [0, 1] {
                let op = Automaton { start, ..quotes(quote) };
                let found = scanner.scan(op.clone()).run(&input)?;
                let expected = reference::scan(&op, ScanKind::Inclusive, None, &input);
                ensure(bits(&found) == bits(&expected), || format!("quote {quote}, start {start}"))?;
            }
        }
        let plans = scanner.scan(quotes(0)).plan()?;
        let plan = plans.for_len(input.len() as u64);
        let name = format!("Automaton: {}, {}", plan.spec, plan.strategy);
        let compiled = scanner.cache_stats().modules.iter().filter(|module| module.name == name).count();
        ensure(compiled == 1, || format!("compiled {compiled} times"))
    });
    trials.add("a_table_dropped_while_kernels_read_it_stays_valid", || {
        let scanner = Scanner::cuda(0)?;
        let context = scanner.context().ok_or("no context")?;
        let input = text(LENGTHS[4]);
        let expected = reference::scan(&quotes(b'"'), ScanKind::Inclusive, None, &input);
        let streams = [context.new_stream()?, context.new_stream()?, context.default_stream()];
        let mut outputs = Vec::new();
        {
            let op = quotes(b'"');
            for stream in &streams {
                let device_input = stream.clone_htod(&input)?;
                // The same table on several streams; nothing waits for the work.
                outputs.push(scanner.scan(op.clone()).on(stream).run(&device_input)?);
            }
        }
        // What is allocated now must not get the table's memory while it is read.
        let other = scanner.scan(quotes(b'\'')).run(&text(1_000))?;
        ensure(other.len() == 1_000, || "another scan failed".to_owned())?;
        for (stream, output) in streams.iter().zip(&outputs) {
            let found = stream.clone_dtoh(output)?;
            ensure(bits(&found) == bits(&expected), || "a table changed while it was read".to_owned())?;
        }
        Ok(())
    });
    trials.add("scans_without_an_identity", || {
        let scanner = Scanner::cuda(0)?;
        for (index, strategy) in strategies::all().enumerate() {
            if matches!(strategy.block.network, Network::Blelloch { .. }) || strategy.carry == Carry::OneBlock {
                continue;
            }
            let input: Vec<_> = (0..LENGTHS[index % 4].min(20_000)).map(stamp).collect();
            let first = stamp(1 << 40);
            let scan = scanner.scan(Leading).strategy(strategy);
            let (found, total) = scan.with_total().run(&input)?;
            let expected = reference::scan(&Leading, ScanKind::Inclusive, None, &input);
            ensure(bits(&found) == bits(&expected), || format!("{strategy}"))?;
            ensure(total == expected.last().copied(), || format!("{strategy}: {total:?}"))?;
            let found = scan.exclusive().init(first).run(&input)?;
            let expected = reference::scan(&Leading, ScanKind::Exclusive, Some(first), &input);
            ensure(bits(&found) == bits(&expected), || format!("{strategy}, exclusive"))?;
        }
        let input: Vec<_> = (5..100_000).map(stamp).collect();
        let expected = reference::scan(&Leading, ScanKind::Inclusive, None, &input);
        ensure(Some(scanner.reduce(Leading).run(&input)?) == expected.last().copied(), || "reduction".to_owned())?;
        ensure(scanner.scan(leftmost).run(&[7, 8, 9])? == [7, 7, 7], || "leftmost".to_owned())
    });
}
