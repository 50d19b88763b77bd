//! The texts of scans whose input and output have an array for each field: one reviewed like source, and all through NVRTC.

use scan_codegen::{
    ArrayKind, ArrayKinds, Arrays, DeviceLimits, KernelSource, OffsetWidth, Overrides, PlanError, ScanSpec, Segments,
    plan, plan_columns,
};
use scan_runtime::{Architecture, Carry, ScanOp, Strategy, ops};
use scan_tests::{
    checked::{render, render_columns},
    columns::{Recurrence, Router, Summarize, Widen},
    operators::AffineU32,
    run_lengths::RunLengths,
    several::Splitter,
    stepped::Coder,
    strategies,
};

use super::nvrtc::complaints;

fn spec(index: usize) -> ScanSpec {
    let spec = [ScanSpec::inclusive(), ScanSpec::exclusive()][index % 2].clone();
    let spec = spec.with_arrays(Arrays::PerField, Arrays::PerField);
    if (index / 2).is_multiple_of(2) { spec } else { spec.reverse() }
}

fn source<Op: ScanOp>(op: Op, index: usize, limits: &DeviceLimits, overrides: &Overrides) -> KernelSource {
    let operator = op.source();
    let plans = plan(&operator, &spec(index), limits, overrides).unwrap();
    render(&operator, plans.longest(), plans.device()).unwrap()
}

/// The recurrence `h = gate * h + token` by look-ahead: two arrays in, one out.
#[test]
fn recurrence() {
    let operator = Recurrence.source();
    let spec = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::One);
    let plans = plan(&operator, &spec, &DeviceLimits::H200, &Overrides::default()).unwrap();
    let text = render(&operator, plans.longest(), plans.device()).unwrap().without_lines().text;
    insta::assert_snapshot!(format!("{}\n\n{text}", plans.longest()));
}

/// Every strategy, the architectures and the operators in turn; all ranges of what the planner chooses.
#[test]
fn every_strategy_compiles_without_warnings() {
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
        let planned =
            plans.iter().map(|plan| (plan.to_string(), render(&operator, plan, plans.device()).unwrap(), architecture));
        sources.extend(planned);
    }
    assert_eq!(complaints(sources), Vec::<String>::new());
}

/// Arrays that are no slices, beside slices and alone: every range of lengths that the planner chooses, restarting and
/// not, of several architectures.
#[test]
fn kinds_of_arrays_compile_without_warnings() {
    use ArrayKind::{Bits, Computed, Next, NoMemory, Places, Previous, Slice, Strided};
    scan_tests::nvrtc().unwrap();
    let (narrow, wide) = (Places(OffsetWidth::U32), Places(OffsetWidth::U64));
    let cases: [(&[ArrayKind], &[ArrayKind], u32); 6] = [
        (&[Previous, Next, Slice], &[], 90),
        (&[Next, narrow, Previous], &[Slice, wide], 75),
        (&[narrow, Slice, wide], &[Slice, narrow], 90),
        (&[], &[NoMemory, wide], 75),
        (&[narrow, narrow, narrow], &[NoMemory, NoMemory], 100),
        (&[Slice, wide, narrow], &[narrow, Slice], 80),
    ];
    let mut sources = Vec::new();
    for (index, (inputs, outputs, architecture)) in cases.into_iter().enumerate() {
        let architecture = Architecture { major: architecture / 10, minor: architecture % 10 };
        let kinds = |kinds: &[ArrayKind]| ArrayKinds::new(kinds.iter().copied());
        let spec = spec(index).with_kinds(kinds(inputs), kinds(outputs));
        let spec = if index % 2 == 1 { spec.with_segments(Segments::HeadFlags) } else { spec.with_total() };
        let operator = Summarize.source();
        let plans = plan(&operator, &spec, &DeviceLimits::of(architecture), &Overrides::default()).unwrap();
        let planned =
            plans.iter().map(|plan| (plan.to_string(), render(&operator, plan, plans.device()).unwrap(), architecture));
        sources.extend(planned);
    }
    let of_kinds = |inputs: &[ArrayKind], outputs: &[ArrayKind]| {
        let kinds = |kinds: &[ArrayKind]| ArrayKinds::new(kinds.iter().copied());
        spec(0).with_kinds(kinds(inputs), kinds(outputs))
    };
    for (kinds, (major, minor)) in [([Strided, Slice, Strided], (9, 0)), ([Next, Strided, Previous], (7, 5))] {
        let (architecture, operator) = (Architecture { major, minor }, Summarize.source());
        let limits = DeviceLimits::of(architecture);
        let plan = plan_columns(&operator, &of_kinds(&kinds, &[]), &limits, &Overrides::default()).unwrap();
        let all = plan.all().into_iter();
        sources.extend(all.map(|plan| (plan.to_string(), render_columns(&operator, &plan).unwrap(), architecture)));
    }
    for (inputs, outputs) in
        [(&[Strided][..], &[][..]), (&[Computed], &[]), (&[], &[Previous]), (&[], &[Strided]), (&[], &[Bits])]
    {
        let (operator, spec) = (Summarize.source(), of_kinds(inputs, outputs));
        let refused = plan(&operator, &spec, &DeviceLimits::H200, &Overrides::default());
        assert!(matches!(refused, Err(PlanError::ArrayKinds { .. })), "{inputs:?}, {outputs:?}");
    }
    let nullable = ops::skip_nulls(AffineU32).source();
    let of_bits = of_kinds(&[Slice, Bits], &[]);
    for (major, minor) in [(7, 5), (9, 0)] {
        let architecture = Architecture { major, minor };
        let plans = plan(&nullable, &of_bits, &DeviceLimits::of(architecture), &Overrides::default()).unwrap();
        let planned =
            plans.iter().map(|plan| (plan.to_string(), render(&nullable, plan, plans.device()).unwrap(), architecture));
        sources.extend(planned);
    }
    let along_an_axis = plan_columns(&nullable, &of_bits, &DeviceLimits::H200, &Overrides::default());
    assert!(matches!(along_an_axis, Err(PlanError::Columns { why }) if why.contains("copy such items to a slice")));
    let spec = spec(0).with_kinds(ArrayKinds::default(), ArrayKinds::new([NoMemory, Computed, Computed]));
    for (operator, (major, minor)) in [(Router.source(), (7, 5)), (Splitter.source(), (9, 0))] {
        let architecture = Architecture { major, minor };
        let plans = plan(&operator, &spec, &DeviceLimits::of(architecture), &Overrides::default()).unwrap();
        let planned =
            plans.iter().map(|plan| (plan.to_string(), render(&operator, plan, plans.device()).unwrap(), architecture));
        sources.extend(planned);
    }
    let consecutive = |results| {
        let kinds = std::iter::once(NoMemory).chain(std::iter::repeat_n(ArrayKind::Consecutive, results));
        spec.clone().with_kinds(ArrayKinds::default(), ArrayKinds::new(kinds))
    };
    let narrow = ops::filter::<u8>().places::<u64>().source();
    for (operator, spec) in [(RunLengths.source(), consecutive(2)), (narrow, consecutive(1))] {
        let plans = plan(&operator, &spec, &DeviceLimits::H200, &Overrides::default()).unwrap();
        let planned = plans.iter().map(|plan| {
            let source = render(&operator, plan, plans.device()).unwrap();
            (plan.to_string(), source, Architecture { major: 9, minor: 0 })
        });
        sources.extend(planned);
    }
    let no_place = plan(
        &Widen.source(),
        &spec.with_arrays(Arrays::PerField, Arrays::One),
        &DeviceLimits::H200,
        &Overrides::default(),
    );
    assert!(matches!(no_place, Err(PlanError::NoPlace { .. })));
    let indices = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::One);
    let indices = indices.with_kinds(ArrayKinds::new([NoMemory, NoMemory]), ArrayKinds::default());
    let plans = plan(&Recurrence.source(), &indices, &DeviceLimits::H200, &Overrides::default()).unwrap();
    let source = render(&Recurrence.source(), plans.longest(), plans.device()).unwrap();
    sources.push(("indices alone".to_owned(), source, Architecture { major: 9, minor: 0 }));
    assert_eq!(complaints(sources), Vec::<String>::new());
}
