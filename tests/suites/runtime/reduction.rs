//! Reductions, and the total of a scan: the CPU, NVRTC, and what is found to be wrong. The emulator's suite and the GPU's have their
//! own.

use rayon::prelude::*;
use scan_codegen::{
    ArrayKind, ArrayKinds, Arrays, DeviceLimits, OffsetWidth, Overrides, Reduction, ScanSpec, Segments, Target,
    Templates, plan,
};
use scan_runtime::{Architecture, Carry, ScanKind, ScanOp, Scanner, Strategy, nvrtc, ops};
use scan_tests::{
    checked, configure,
    emulated::{Emulator, EmulatorError, FaultKind, Program, ReductionProgram},
    extent::for_gpus,
    operators::{AffineU32, MatrixProduct, PolynomialHash, TestOperator, Visitor, bits, inputs, visit_all},
    reference,
    strategies::{self, CARRIES},
};

const TREES: [Reduction; 3] = [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened];

struct OnCpu;

impl Visitor for OnCpu {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        let scanner = Scanner::cpu();
        for len in [0, 1, 2, 31, 4_097, 50_000] {
            let input = inputs::<Op>(len);
            for with_initial_value in [false, true] {
                let reduce = scanner.reduce(Op::new());
                let reduce = if with_initial_value { reduce.init(Op::initial_value()) } else { reduce };
                let sum = reference::total(&Op::new(), with_initial_value.then(Op::initial_value), &input);
                let expected = sum.or_else(|| Op::new().identity()).unwrap();
                assert!(bits(&[reduce.run(&input).unwrap()]) == bits(&[expected]), "{name}, length {len}");

                let scan = configure::<Op>(&scanner, (ScanKind::Exclusive, with_initial_value));
                let (output, total) = scan.with_total().run(&input).unwrap();
                assert!(bits(&output) == bits(&scan.run(&input).unwrap()), "{name}, length {len}");
                assert!(total.map(|total| bits(&[total])) == sum.map(|sum| bits(&[sum])), "{name}, length {len}");
            }
        }
    }
}

#[test]
fn reductions_on_the_cpu_equal_a_plain_loop() {
    visit_all(&mut OnCpu);
}

/// What the other tests of totals rest on: a total that is wrong is found, be all outputs right.
#[test]
fn a_wrong_total_is_found() {
    let found = |result: Result<(), EmulatorError>| match result.unwrap_err() {
        EmulatorError::Fault(fault) => assert!(matches!(fault.kind, FaultKind::WrongTotal { .. }), "{fault}"),
        other => panic!("{other}"),
    };
    let spoil = |text: &mut String, from: &str, to: &str| {
        assert_eq!(text.matches(from).count(), 1, "{text}");
        *text = text.replace(from, to);
    };
    let mut overrides = Overrides::default();
    overrides.strategy = strategies::all().find(|strategy| strategy.carry == Carry::OneBlock);
    let spec = ScanSpec::inclusive().with_total();
    let mut scan = Program::of(ops::sum::<i32>(), &spec, None, &overrides).unwrap();
    spoil(
        &mut scan.source.text,
        "next_state(op, shared_prefix, start)",
        "next_state(op, op.combine(shared_prefix, shared_prefix), start)",
    );
    found(scan.verify(&Emulator::new(1), &[1, 2, 3]).map(drop));

    let limits = DeviceLimits::BASELINE;
    let mut reduction = ReductionProgram::new(ops::sum::<i32>(), Reduction::Coarsened, Some(40), &limits).unwrap();
    spoil(&mut reduction.source.text, "combine_after(op, prefix_at(start), last[0])", "last[0]");
    found(reduction.verify(&Emulator::new(1), &[1, 1], 0));
}

#[test]
fn kernels_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let scanner = Scanner::cpu();
    let mut sources = Vec::new();
    for reduction in TREES {
        sources.push(scanner.reduce(ops::sum::<u8>()).reduction(reduction).cuda_source().unwrap());
        let matrices = scanner.reduce(MatrixProduct::<4>::new()).init(MatrixProduct::<4>::initial_value());
        sources.push(matrices.reduction(reduction).cuda_source().unwrap());
    }
    let operator = ops::sum::<f32>().source();
    for carry in CARRIES {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(Strategy { block: strategies::all().next().unwrap().block, carry });
        let by_bits = ScanSpec::inclusive().with_segments(Segments::HeadBits);
        let specs = [ScanSpec::inclusive(), ScanSpec::exclusive().with_initial_value(), by_bits];
        for spec in specs.map(ScanSpec::with_total) {
            let plans = plan(&operator, &spec, &DeviceLimits::BASELINE, &overrides).unwrap();
            sources.push(checked::render(&operator, plans.longest(), plans.device()).unwrap());
        }
    }
    let keys = Segments::Keys(ops::sum::<u64>().source().state);
    let offsets = Segments::Offsets(OffsetWidth::U32);
    for segments in [Segments::HeadFlags, Segments::HeadBits, keys, offsets, Segments::Rows] {
        let spec = ScanSpec::inclusive().with_segments(segments).with_initial_values();
        let spec = spec.with_arrays(Arrays::One, Arrays::PerField);
        for operator in [ops::sum::<f32>().source(), MatrixProduct::<4>::new().source(), AffineU32.source()] {
            let plan = scan_codegen::plan_last_results(&operator, &spec, &DeviceLimits::BASELINE).unwrap();
            sources.push(
                checked::render_last_results_from(Templates::of_kernels(), &operator, &plan, Target::Cuda).unwrap(),
            );
        }
    }
    let arrays = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::PerField);
    let kinds = |kinds: [ArrayKind; 2]| ArrayKinds::new(kinds);
    let (gathered, slices) = (ArrayKind::Places(OffsetWidth::U64), ArrayKinds::default());
    for (spec, positions) in [
        (ScanSpec::inclusive(), OffsetWidth::U32),
        (ScanSpec::inclusive().reverse().with_initial_value(), OffsetWidth::U64),
        (arrays.clone().with_initial_values(), OffsetWidth::U32),
        (arrays.clone().with_kinds(kinds([gathered, ArrayKind::NoMemory]), slices), OffsetWidth::U64),
        (arrays.clone().with_kinds(kinds([ArrayKind::Previous, ArrayKind::Slice]), slices), OffsetWidth::U64),
        (arrays.with_kinds(slices, kinds([gathered, ArrayKind::NoMemory])), OffsetWidth::U32),
    ] {
        let plain = [MatrixProduct::<4>::new().source(), ops::sum::<u8>().source()];
        let plain = plain.into_iter().filter(|_| spec.input == Arrays::One);
        for operator in plain.chain([AffineU32.source()]) {
            let limits = DeviceLimits::BASELINE;
            let plan = scan_codegen::plan_range_reduction(&operator, &spec, positions, &limits).unwrap();
            let templates = Templates::of_kernels();
            sources.push(checked::render_range_reduction_from(templates, &operator, &plan, Target::Cuda).unwrap());
        }
    }
    for_gpus(sources, |source| source).into_par_iter().for_each(|source| {
        for (major, minor) in [(7, 5), (9, 0), (12, 0)] {
            let compiled = nvrtc::compile(&source, "operator", Architecture { major, minor }).unwrap();
            assert_eq!(compiled.log, "", "{}", source.text);
        }
    });
}

#[test]
fn the_text_of_a_reduction_of_ranges() {
    let (operator, spec) = (PolynomialHash.source(), ScanSpec::inclusive());
    let plan = scan_codegen::plan_range_reduction(&operator, &spec, OffsetWidth::U32, &DeviceLimits::BASELINE).unwrap();
    let source = checked::render_range_reduction_from(Templates::of_kernels(), &operator, &plan, Target::Cuda);
    let text = source.unwrap().text;
    insta::assert_snapshot!(format!("{plan}\n\n{}", &text[text.find("// ---- Intrinsics").unwrap()..]));
}

#[test]
fn the_text_of_a_reduction() {
    let scanner = Scanner::cpu();
    let reduce = scanner.reduce(ops::sum::<f32>());
    insta::assert_snapshot!(format!("{}\n\n{}", reduce.plan().unwrap(), reduce.cuda_source().unwrap().text));
    let reduce = scanner.reduce(PolynomialHash).init(PolynomialHash::initial_value()).reduction(Reduction::Divergent);
    let source = reduce.cuda_source().unwrap().text;
    insta::assert_snapshot!(&source[source.find("// ---- The tile").unwrap()..]);
}

#[test]
fn reductions_by_segments_equal_a_plain_loop() {
    scan_tests::reduced::check(&scan_runtime::Scanner::cpu()).unwrap();
}

#[test]
fn reductions_of_ranges_equal_a_plain_loop() {
    scan_tests::ranges::check(&Scanner::cpu()).unwrap();
}

#[test]
fn totals_on_the_cpu_equal_a_plain_loop() {
    scan_tests::totals::check(&Scanner::cpu()).unwrap();
}
