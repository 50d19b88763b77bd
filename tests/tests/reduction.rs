//! Reductions, and the total of a scan: the CPU, the emulator and NVRTC. The GPU has its own.

use rayon::prelude::*;
use scan_codegen::{
    DeviceLimits, Overrides, Reduction, ScanSpec, Target, plan, plan_reduction, render_for, render_reduction_for,
};
use scan_runtime::{
    Architecture, Carry, Error, PlanError, ScanElement, ScanKind, ScanOp, Scanner, Strategy, nvrtc, ops,
};
use scan_tests::{
    configure,
    emulator::{Emulator, Memory, Module},
    operators::{Interval, MatrixProduct, PolynomialHash, TestOperator, Visitor, bits, inputs, visit_all},
    reference,
    strategies::{self, CARRIES, LOOK_AHEAD},
};

const TREES: [Reduction; 3] = [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened];

/// The sum of all by a plain loop.
fn sum_of<Op: TestOperator>(with_initial_value: bool, input: &[Op::Item]) -> Option<Op::Item> {
    let op = Op::new();
    let initial_value = with_initial_value.then(Op::initial_value);
    reference::scan(&op, ScanKind::Inclusive, initial_value, input).last().copied().or(initial_value)
}

struct OnCpu;

impl Visitor for OnCpu {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        let scanner = Scanner::cpu();
        for len in [0, 1, 2, 31, 4_097, 50_000] {
            let input = inputs::<Op>(len);
            for with_initial_value in [false, true] {
                let reduce = scanner.reduce(Op::new());
                let reduce = if with_initial_value { reduce.init(Op::initial_value()) } else { reduce };
                let sum = sum_of::<Op>(with_initial_value, &input);
                let expected = sum.or_else(|| Op::new().identity()).unwrap();
                assert!(bits(&[reduce.run(&input).unwrap()]) == bits(&[expected]), "{name}, length {len}");

                let scan = configure::<Op>(&scanner, (ScanKind::Exclusive, with_initial_value));
                let (output, total) = scan.run_with_total(&input).unwrap();
                assert!(bits(&output) == bits(&scan.run(&input).unwrap()), "{name}, length {len}");
                assert!(total.map(|total| bits(&[total])) == sum.map(|sum| bits(&[sum])), "{name}, length {len}");
            }
        }
    }
}

#[test]
fn on_the_cpu() {
    visit_all(&mut OnCpu);
}

/// The bytes of an element that the emulator left, padding as zeros.
fn bits_of<T: ScanElement>(bytes: &[u8]) -> Vec<u8> {
    assert_eq!(bytes.len(), size_of::<T>());
    // SAFETY: the kernels have written the element, and what an operator produces is a valid one.
    bits(&[unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }])
}

/// Runs a source in the emulator, and gives the bytes of its output.
fn emulate<Op: TestOperator>(
    seed: u64,
    source: &scan_codegen::KernelSource,
    schedule: &scan_codegen::Schedule,
    input: &[Op::Item],
    outputs: usize,
) -> Vec<u8> {
    let (input, initial_value) = (bits(input), bits(&[Op::initial_value()]));
    let item = size_of::<Op::Item>();
    let memory = Memory {
        initial_value: &initial_value,
        input: &input,
        output_bytes: Some(outputs * item),
        output_element: item,
        ..Memory::default()
    };
    let module = Module::new(source).unwrap();
    Emulator::new(seed).run(&module, |role| source.kernel_name(role), schedule, &memory).unwrap().output
}

fn emulate_trees<Op: TestOperator>(lengths: &[usize]) {
    let mut limits = DeviceLimits::BASELINE;
    limits.threads_per_block = 32;
    for reduction in TREES {
        for with_initial_value in [false, true] {
            let operator = Op::new().source();
            let plan = plan_reduction(&operator, with_initial_value, &limits, reduction).unwrap();
            let source = render_reduction_for(&operator, &plan, Target::Host).unwrap();
            for &len in lengths {
                let input = inputs::<Op>(len);
                let schedule = plan.schedule(len as u64).unwrap();
                let output = emulate::<Op>(len as u64, &source, &schedule, &input, 1);
                let expected = bits(&[sum_of::<Op>(with_initial_value, &input).unwrap()]);
                assert!(
                    bits_of::<Op::Item>(&output) == expected,
                    "{reduction}, length {len}, initial value {with_initial_value}"
                );
            }
        }
    }
}

/// The interval monoid proves the trees for every operator; the others have values of one word, and of many.
#[test]
fn trees_in_the_emulator() {
    emulate_trees::<Interval>(&[1, 2, 3, 31, 32, 33, 63, 64, 65, 1_019, 4_101]);
    emulate_trees::<PolynomialHash>(&[65, 1_019]);
    emulate_trees::<MatrixProduct<3>>(&[65]);
}

#[test]
fn totals_in_the_emulator() {
    let strategies = strategies::all().filter(|strategy| strategy.block == strategies::all().next().unwrap().block);
    for strategy in strategies.chain([LOOK_AHEAD]) {
        for with_initial_value in [false, true] {
            let spec = ScanSpec::exclusive().with_total();
            let spec = if with_initial_value { spec.with_initial_value() } else { spec };
            let mut overrides = Overrides::default();
            overrides.strategy = Some(strategy);
            overrides.threads = Some(32);
            let operator = Interval.source();
            let plan = plan(&operator, &spec, &DeviceLimits::BASELINE, &overrides).unwrap();
            let source = render_for(&operator, &plan, Target::Host).unwrap();
            for len in [1_usize, 32, 33, 1_019] {
                let schedule = plan.schedule(len as u64).unwrap();
                let input = inputs::<Interval>(len);
                let (input_bytes, initial_value) = (bits(&input), bits(&[Interval::initial_value()]));
                let memory = Memory {
                    initial_value: &initial_value,
                    input: &input_bytes,
                    output_bytes: Some(input_bytes.len()),
                    output_element: size_of::<<Interval as ScanOp>::Output>(),
                    total_bytes: size_of::<<Interval as ScanOp>::State>(),
                    ..Memory::default()
                };
                let module = Module::new(&source).unwrap();
                let resident = if strategy.carry == Carry::OneBlock { 1 } else { usize::MAX };
                let emulator = Emulator::new(len as u64).resident_blocks(resident);
                let run = emulator.run(&module, |role| source.kernel_name(role), &schedule, &memory).unwrap();
                let expected = bits(&[sum_of::<Interval>(with_initial_value, &input).unwrap()]);
                let total = bits_of::<<Interval as ScanOp>::State>(&run.total);
                assert!(total == expected, "{strategy}, length {len}, initial value {with_initial_value}");
            }
        }
    }
}

#[test]
fn kernels_compile_without_a_word() {
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
        for spec in [ScanSpec::inclusive().with_total(), ScanSpec::exclusive().with_initial_value().with_total()] {
            let plan = plan(&operator, &spec, &DeviceLimits::BASELINE, &overrides).unwrap();
            sources.push(scan_codegen::render(&operator, &plan).unwrap());
        }
    }
    sources.into_par_iter().for_each(|source| {
        for (major, minor) in [(7, 5), (9, 0), (12, 0)] {
            let compiled = nvrtc::compile(&source, "operator", Architecture { major, minor }).unwrap();
            assert_eq!(compiled.log, "", "{}", source.text);
        }
    });
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
fn a_segmented_scan_has_no_total() {
    let spec = ScanSpec::inclusive().with_total().with_segments(scan_runtime::Segments::HeadFlags);
    let refused = plan(&ops::sum::<i32>().source(), &spec, &DeviceLimits::BASELINE, &Overrides::default());
    assert_eq!(refused, Err(PlanError::TotalOfSegments));
    assert!(matches!(Error::from(PlanError::TotalOfSegments), Error::Plan(_)));
}
