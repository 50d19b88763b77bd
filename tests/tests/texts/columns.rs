//! The texts of scans whose input and output have an array for each field: one reviewed like source, and all through NVRTC.

use rayon::prelude::*;
use scan_codegen::{Arrays, DeviceLimits, KernelSource, Overrides, ScanSpec, plan, render};
use scan_runtime::{Architecture, Carry, ScanOp, Strategy, nvrtc};
use scan_tests::{
    columns::{Recurrence, Summarize, Widen},
    machines::Coder,
    strategies,
};

fn spec(index: usize) -> ScanSpec {
    let spec = [ScanSpec::inclusive(), ScanSpec::exclusive()][index % 2].clone();
    let spec = spec.with_arrays(Arrays::PerField, Arrays::PerField);
    if (index / 2).is_multiple_of(2) { spec } else { spec.reverse() }
}

fn source<Op: ScanOp>(op: Op, index: usize, limits: &DeviceLimits, overrides: &Overrides) -> KernelSource {
    let operator = op.source();
    let plans = plan(&operator, &spec(index), limits, overrides).unwrap();
    render(&operator, plans.longest()).unwrap()
}

/// The recurrence `h = gate * h + token` by look-ahead: two arrays in, one out.
#[test]
fn recurrence() {
    let operator = Recurrence.source();
    let spec = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::One);
    let plans = plan(&operator, &spec, &DeviceLimits::H200, &Overrides::default()).unwrap();
    let text = render(&operator, plans.longest()).unwrap().without_lines().text;
    insta::assert_snapshot!(format!("{}\n\n{text}", plans.longest()));
}

/// Every strategy, the architectures and the operators in turn; all ranges of what the planner chooses.
#[test]
fn every_strategy_compiles_without_a_word() {
    const ARCHITECTURES: [(u32, u32); 7] = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)];
    scan_tests::nvrtc().unwrap();
    let of_strategy = |(index, strategy): (usize, Strategy)| {
        let newer = matches!(strategy.carry, Carry::LookAhead | Carry::Cluster);
        let (major, minor) = ARCHITECTURES[if newer { 4 + index % 3 } else { index % 7 }];
        let overrides = Overrides::default().strategy(strategy);
        let limits = &DeviceLimits::BASELINE;
        let source = match index % 4 {
            3 => source(Coder, index, limits, &overrides),
            0 => source(Summarize, index, limits, &overrides),
            1 => source(Widen, index, limits, &overrides),
            _ => source(Recurrence, index, limits, &overrides),
        };
        (format!("{strategy}, {index}"), source, Architecture { major, minor })
    };
    let picked = |&(index, strategy): &(usize, Strategy)| {
        strategy.block.in_registers || strategy.carry == Carry::LookAhead || index % 5 == 0
    };
    let mut sources: Vec<_> = strategies::all().enumerate().filter(picked).map(of_strategy).collect();
    for (index, architecture) in [(0, 90), (1, 100), (2, 75)] {
        let architecture = Architecture { major: architecture / 10, minor: architecture % 10 };
        let operator = Summarize.source();
        let plans = plan(&operator, &spec(index), &DeviceLimits::of(architecture), &Overrides::default()).unwrap();
        let planned = plans.iter().map(|plan| (plan.to_string(), render(&operator, plan).unwrap(), architecture));
        sources.extend(planned);
    }
    let complaint = |(name, source, architecture): (String, KernelSource, Architecture)| match nvrtc::compile(
        &source,
        &name,
        architecture,
    ) {
        Ok(compiled) if compiled.log.is_empty() => None,
        Ok(compiled) => Some(format!("{name}, {architecture}:\n{}", compiled.log)),
        Err(error) => Some(format!("{name}, {architecture}: {error}")),
    };
    let complaints: Vec<_> = sources.into_par_iter().filter_map(complaint).collect();
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n\n"));
}
