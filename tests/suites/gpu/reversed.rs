//! Scans from the last element to the first: every operator, host and device memory, restarting or not, at the lengths where plans
//! change.

use std::error::Error;

use scan_codegen::ScanSpec;
use scan_runtime::{ScanKind, ops};
use scan_tests::{
    configure,
    operators::{Bytes3Sum, MatrixProduct, PolynomialHash, TestOperator, Visitor, first_difference, inputs},
    reference::{self, WAYS},
    restart,
    segments::{HEAD_SOURCES, Heads, PATTERNS, RestartBack, begins, places_back},
};

use crate::{Outcome, Trials, ensure, older::scanner};

/// Every operator.
struct Each<'t>(&'t mut Trials);

impl Visitor for Each<'_> {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        self.0.add(format!("large_reversed_{name}"), every_length::<Op>);
    }
}

pub(crate) fn add(trials: &mut Trials) {
    scan_tests::operators::visit_all(&mut Each(trials));
    trials.add("reversed_lengths", || {
        let lengths = [1, 2, 31, 33, 1_019, 4_101, 12_345];
        for (len, way) in lengths.into_iter().flat_map(|len| WAYS.map(|way| (len, way))) {
            compare::<RestartBack>(way, &places_back(&vec![false; len]))?;
            compare::<Bytes3Sum>(way, &inputs::<Bytes3Sum>(len))?;
            compare::<ops::Sum<u8>>(way, &inputs::<ops::Sum<u8>>(len))?;
        }
        Ok(())
    });
    trials.add("reversed_segments", || {
        restarting::<RestartBack>(&[1, 33, 1_019, 12_345], places_back)?;
        restarting::<PolynomialHash>(&[1_025, 20_003], |begins| inputs::<PolynomialHash>(begins.len()))
    });
    trials.add("large_reversed_segments", || {
        restarting::<RestartBack>(&[300_007, 3_000_001], places_back)?;
        restarting::<ops::Sum<u8>>(&[1_000_003, 9_000_001], |begins| inputs::<ops::Sum<u8>>(begins.len()))?;
        restarting::<MatrixProduct<4>>(&[200_003], |begins| inputs::<MatrixProduct<4>>(begins.len()))
    });
}

fn expected<Op: TestOperator>(
    (kind, with_initial_value): (ScanKind, bool),
    input: &[Op::Item],
    begins: Option<&[bool]>,
) -> Vec<Op::Item> {
    let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    reference::scan_as(&Op::new(), &spec.reverse(), with_initial_value.then(Op::initial_value), input, begins)
}

/// Where one plan takes over from another, and once far beyond; of the four ways one for each length.
fn every_length<Op: TestOperator>() -> Outcome {
    let scanner = scanner()?;
    let mut lengths = vec![1, 1_000, 65_537, 786_437];
    for plan in scanner.scan(Op::new()).reverse().plan()?.iter() {
        let from = usize::try_from(plan.from)?;
        lengths.extend([from, from + 1, from + plan.tile as usize]);
    }
    lengths.retain(|&len| 0 < len && len < 1_500_000);
    if size_of::<Op::Item>() <= 16 {
        lengths.push(8_388_611);
    }
    let input = inputs::<Op>(lengths.iter().copied().max().unwrap_or(0));
    for (index, &len) in lengths.iter().enumerate() {
        compare::<Op>(WAYS[index % WAYS.len()], &input[..len])?;
    }
    Ok(())
}

/// Host memory; device memory from an odd address into a view, in place, and prepared; the total.
fn compare<Op: TestOperator>(way: (ScanKind, bool), input: &[Op::Item]) -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let scan = configure::<Op>(&scanner, way).reverse();
    let expected = expected::<Op>(way, input, None);
    let same = |found: &[Op::Item], what: &str| {
        let wrong = first_difference(found, &expected);
        ensure(wrong.is_none(), || format!("{what}, {way:?}, {} elements: wrong from {wrong:?} on", input.len()))
    };
    let (output, total) = scan.with_total().run(input)?;
    same(&output, "host memory")?;
    let sum = reference::total_back(&Op::new(), way.1.then(Op::initial_value), input).ok_or("no elements")?;
    ensure(first_difference(&[total.ok_or("no total")?], &[sum]).is_none(), || format!("total, {way:?}"))?;

    let view = 1..1 + input.len();
    let padded: Vec<_> = input.first().into_iter().chain(input).copied().collect();
    let mut buffer = stream.clone_htod(&padded)?;
    let mut results = stream.clone_htod(&padded)?;
    scan.on(&stream).run_into(&buffer.slice(view.clone()), &mut results.slice_mut(view.clone()))?;
    same(&stream.clone_dtoh(&results)?[view.clone()], "a view")?;
    let prepared = scan.on(&stream).prepare(input.len())?;
    prepared.run_in_place(&mut buffer.slice_mut(view.clone()))?;
    same(&stream.clone_dtoh(&buffer)?[view], "in place")?;
    Ok(())
}

/// Every way to tell, the patterns in turn.
fn restarting<Op: TestOperator>(lengths: &[usize], input: fn(&[bool]) -> Vec<Op::Item>) -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let mut run = 0;
    for &len in lengths {
        for head_source in 0..HEAD_SOURCES {
            run += 1;
            let (way, pattern) = (WAYS[run / 2 % WAYS.len()], PATTERNS[run * 5 % PATTERNS.len()]);
            let scan = configure::<Op>(&scanner, way).reverse();
            let begins = begins(pattern, len, scan.plan()?.for_len(len as u64).tile as usize);
            let heads = Heads::new(head_source, &begins);
            let input = input(&begins);
            let expected = expected::<Op>(way, &input, Some(&begins));
            let same = |found: &[Op::Item]| -> Result<(), Box<dyn Error>> {
                let wrong = first_difference(found, &expected);
                let what = format!("{way:?}, head_source {head_source}, {len} elements, heads {}", pattern.0);
                ensure(wrong.is_none(), || format!("{what}: wrong from {wrong:?} on"))
            };
            same(&heads.of(&scan).run(&input)?)?;
            let mut buffer = stream.clone_htod(&input)?;
            let on_stream = scan.on(&stream);
            restart!(on_stream, heads, |vector| stream.clone_htod(vector)?, |scan| {
                scan.run_in_place(&mut buffer)?;
                same(&stream.clone_dtoh(&buffer)?)?;
            });
        }
    }
    Ok(())
}
