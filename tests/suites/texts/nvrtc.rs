//! Every generated kernel through the real NVRTC, to cubins of every architecture, with an empty log. No GPU is needed.

use std::{collections::HashSet, ptr::null, sync::LazyLock};

use rayon::prelude::*;
use scan_codegen::{
    Arrays, DeviceLimits, KernelRole, KernelSource, OffsetWidth, Overrides, ScanKind, ScanSpec, Segments, plan,
    plan_columns,
};
use scan_runtime::{
    Architecture, BlockScan, Carry, Error, Network, ScanOp, Scanner, Strategy, cudarc::nvrtc::sys, half::bf16, nvrtc,
    ops, scan_element, scan_op,
};
use scan_tests::{
    checked::{render, render_columns},
    columns,
    composed::composed,
    configure,
    extent::{self, for_gpus},
    gallery::{self, Example},
    items::Classes,
    operators::{TestOperator, Visitor, visit_all},
    reference::WAYS,
    segments::Heads,
    stepped::Coder,
    strategies::{self, LOOK_AHEAD},
};

const fn sm(major: u32, minor: u32) -> Architecture {
    Architecture { major, minor }
}

const ARCHITECTURES: [Architecture; 7] = [sm(7, 5), sm(8, 0), sm(8, 6), sm(8, 9), sm(9, 0), sm(10, 0), sm(12, 0)];

/// Sources with what they are for, and an architecture to compile them for.
pub(crate) type Sources = Vec<(String, KernelSource, Architecture)>;

/// Each operator's kernels for some of the architectures, in another way for each; architectures and ways go on from operator to
/// operator.
struct Kernels {
    sources: Sources,
}

/// How many architectures an operator is compiled for.
const ARCHITECTURES_EACH: usize = 2;

impl Visitor for Kernels {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        let scanner = Scanner::cpu_for(scan_runtime::DeviceLimits::BASELINE);
        for _ in 0..ARCHITECTURES_EACH {
            let index = self.sources.len();
            let architecture = ARCHITECTURES[index % ARCHITECTURES.len()];
            let way = WAYS[index % WAYS.len()];
            let source = configure::<Op>(&scanner, way).cuda_source().unwrap();
            self.sources.push((format!("{name}, {way:?}"), source, architecture));
        }
    }
}

/// The lines that the tests of every strategy compile.
static OF_STRATEGIES: LazyLock<HashSet<u64>> = LazyLock::new(|| {
    let sources = [every_strategy(), every_segmented_strategy()].concat();
    sources.iter().flat_map(|(_, source, _)| extent::lines_of(source)).collect()
});

/// What NVRTC says of sources, where it says anything. A quick run leaves out those whose lines the strategies have.
pub(crate) fn complaints(sources: Sources) -> Vec<String> {
    extent::begin_with(&OF_STRATEGIES);
    complaints_of_all(sources)
}

/// The same of sources whose lines no other test compiles.
fn complaints_of_all(sources: Sources) -> Vec<String> {
    let complaint = |(name, source, architecture): (String, KernelSource, Architecture)| match nvrtc::compile(
        &source,
        &name,
        architecture,
    ) {
        Ok(compiled) if compiled.log.is_empty() => None,
        Ok(compiled) => Some(format!("{name}, {architecture}:\n{}", compiled.log)),
        Err(error) => Some(format!("{name}, {architecture}: {error}")),
    };
    for_gpus(sources, |(_, source, _)| source).into_par_iter().filter_map(complaint).collect()
}

#[test]
fn every_kernel_compiles_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let mut kernels = Kernels { sources: Vec::new() };
    visit_all(&mut kernels);
    assert!(kernels.sources.len() >= 30 * ARCHITECTURES_EACH, "{} kernels", kernels.sources.len());
    let failures = complaints(kernels.sources);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// Of every length, by default.
#[test]
fn operators_of_operators_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let scan = Scanner::cpu_for(DeviceLimits::H200).scan(composed(1_021)).exclusive();
    let sources = [100, 10_000, 1_000_000, 1_000_000_000].map(|len| {
        let source = scan.cuda_source_for(len).unwrap();
        (format!("{len} elements"), source, ARCHITECTURES[4])
    });
    let scan = Scanner::cpu_for(DeviceLimits::H200).scan(ops::with_exclusive(composed(1_021))).reverse().per_field();
    let with_exclusive = [100, 1_000_000_000].map(|len| {
        let source = scan.cuda_source_for(len).unwrap();
        (format!("{len} elements, with the exclusive result"), source, ARCHITECTURES[4])
    });
    let scanner = Scanner::cpu_for(DeviceLimits::H200);
    let by_key = scanner.scan(ops::by_key::<f64, _>(ops::with_exclusive(composed(1_021)))).reverse();
    let others = [
        ("by key", by_key.per_field().cuda_source_for(1_000_000_000).unwrap()),
        ("by key", scanner.scan(ops::by_key::<[u8; 3], _>(ops::sum::<f32>())).cuda_source_for(1_000_000).unwrap()),
        ("by flag", scanner.scan(ops::by_flag(ops::with_exclusive(composed(1_021)))).reverse().cuda_source().unwrap()),
        ("recurrence", scanner.scan(ops::recurrence_in::<f32, bf16>()).per_field().cuda_source().unwrap()),
        (
            "gradient of a recurrence",
            scanner.scan(ops::recurrence_in::<f32, bf16>().gradient()).reverse().per_field().cuda_source().unwrap(),
        ),
        ("complex", scanner.scan(ops::complex_recurrence::<f32>()).per_field().cuda_source().unwrap()),
        ("matrices", scanner.scan(ops::matrix_recurrence::<f32, 3>().gradient()).reverse().cuda_source().unwrap()),
        ("gradient", scanner.scan(ops::max_plus::<f64>().gradient()).reverse().per_field().cuda_source().unwrap()),
        ("aggregate", scanner.reduce(ops::aggregate(composed(1_021))).cuda_source().unwrap()),
        ("over aggregates", scanner.scan(ops::over_aggregates(Coder)).exclusive().cuda_source_for(100).unwrap()),
    ];
    let others = others.map(|(name, source)| (name.to_owned(), source, ARCHITECTURES[4]));
    let nullable = [
        scanner.scan(ops::skip_nulls(composed(1_021))).per_field().cuda_source_for(1_000_000_000),
        scanner.scan(ops::propagate_nulls(composed(1_021))).reverse().cuda_source_for(1_000_000_000),
        scanner.scan(ops::skip_nulls(Coder)).reverse().per_field().cuda_source_for(1_000_000_000),
        scanner.scan(ops::propagate_nulls(Coder)).exclusive().cuda_source_for(100),
        scanner.scan(ops::skip_nulls(ops::first::<u64>())).cuda_source_for(100),
    ];
    let nullable = nullable.map(|source| ("over nullable elements".to_owned(), source.unwrap(), ARCHITECTURES[4]));
    assert_eq!(complaints([&sources[..], &with_exclusive, &others, &nullable].concat()), Vec::<String>::new());
}

/// Of every length, by default, and from the right.
#[test]
fn exact_sums_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    struct Sums(Sources);
    impl gallery::Visitor for Sums {
        fn visit<Op: Example>(&mut self, name: &str) {
            let scan = Scanner::cpu_for(DeviceLimits::H200).scan(Op::new());
            let scans =
                [(scan.clone(), 10_000), (scan.clone().exclusive().reverse(), 1_000_000), (scan, 1_000_000_000)];
            for (index, (scan, len)) in (0..).zip(scans) {
                let architecture = ARCHITECTURES[4 + (self.0.len() + index) % 3];
                self.0.push((format!("{name}, {len}"), scan.cuda_source_for(len).unwrap(), architecture));
            }
        }
    }
    let mut sums = Sums(Vec::new());
    gallery::visit_sums(&mut sums);
    assert_eq!(sums.0.len(), 3 * gallery::SUMS);
    assert_eq!(complaints_of_all(sums.0), Vec::<String>::new());
}

/// Tables of run time, in the shared memory of a block and too long for it.
#[test]
fn tables_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let scanner = Scanner::cpu_for(DeviceLimits::H200);
    let source = |op: Classes| scanner.scan(op).cuda_source_for(1_000_000_000).unwrap();
    let sources = [Classes::new(300, 5), Classes::new(9_000, 5), Classes::new(200, 3_000)].map(source);
    let kept: Vec<_> = sources.iter().map(|source| source.text.matches("move_table(op.").count()).collect();
    assert_eq!(kept, [3, 2, 2]);
    let sources = sources.into_iter().zip(kept).map(|(source, kept)| (format!("{kept} tables"), source, sm(9, 0)));
    assert_eq!(complaints(sources.collect()), Vec::<String>::new());
}

/// Lengths that only the device knows: every range, of an old and of a new device, restarting and not.
#[test]
fn lengths_in_device_memory_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let operators = [ops::sum::<f32>().source(), scan_tests::lifting::Lifting.source()];
    let mut sources = Vec::new();
    for (index, (major, minor)) in [(9, 0), (7, 5), (10, 0)].into_iter().enumerate() {
        let spec = ScanSpec::inclusive().with_total().with_length_on_device();
        let spec = if index == 2 { spec.with_segments(Heads::new(0, &[]).segments()).reverse() } else { spec };
        let (operator, architecture) = (&operators[index % 2], sm(major, minor));
        let plans = plan(operator, &spec, &DeviceLimits::of(architecture), &Overrides::default()).unwrap();
        let planned =
            plans.iter().map(|plan| (plan.to_string(), render(operator, plan, plans.device()).unwrap(), architecture));
        sources.extend(planned);
    }
    assert_eq!(complaints(sources), Vec::<String>::new());
}

/// Initial values and totals of segments: every range, of an old and of a new device, of sums, of what is lifted and of
/// a stepped operator that emits, and by every carry.
#[test]
fn each_segment_compiles_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let operators =
        [ops::sum::<f32>().source(), scan_tests::lifting::Lifting.source(), scan_tests::stepped::Coder.source()];
    let kinds = [Segments::Rows, Segments::Offsets(OffsetWidth::U32), Segments::Offsets(OffsetWidth::U64)];
    let mut sources = Vec::new();
    let mut add = |index: usize, architecture: Architecture, overrides: &Overrides| {
        let spec = if index.is_multiple_of(2) { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let spec = if index / 2 % 2 == 1 { spec.reverse() } else { spec };
        let spec = spec.with_segments(kinds[index / 3 % 3].clone());
        let spec = if index % 4 != 3 { spec.with_initial_values() } else { spec };
        let spec = if index % 5 != 4 { spec.with_totals() } else { spec };
        let operator = &operators[index % 3];
        let plans = plan(operator, &spec, &DeviceLimits::of(architecture), overrides).unwrap();
        sources.extend(
            plans.iter().map(|plan| (plan.to_string(), render(operator, plan, plans.device()).unwrap(), architecture)),
        );
    };
    for (index, (major, minor)) in [(9, 0), (7, 5), (10, 0), (9, 0), (9, 0), (8, 0)].into_iter().enumerate() {
        add(index, sm(major, minor), &Overrides::default());
    }
    let block = BlockScan::of(Network::Blelloch { padded: true });
    let in_shared_memory = [Carry::OneBlock, Carry::ReduceThenScan, Carry::LookBack];
    let in_shared_memory = in_shared_memory.map(|carry| Strategy { block, carry });
    for (index, strategy) in in_shared_memory.into_iter().chain(strategies::IN_REGISTERS).enumerate() {
        add(index, sm(9, 0), &Overrides::default().strategy(strategy));
    }
    assert_eq!(complaints(sources), Vec::<String>::new());
}

/// The architectures in turn, as far as they can do it.
fn architecture_for(strategy: Strategy, index: usize) -> Architecture {
    match strategy.carry {
        Carry::LookAhead | Carry::Cluster => ARCHITECTURES[4 + index % 3],
        _ => ARCHITECTURES[index % ARCHITECTURES.len()],
    }
}

/// Of 64 bytes, which leave a block few threads, and combined by so little that NVRTC has done soon.
struct Wide;

#[scan_op]
impl ScanOp for Wide {
    type Element = [u32; 16];
    const IDENTITY: [u32; 16] = [0; 16];
    fn combine(a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        let mut c = a;
        c[0] ^= b[15];
        c[15] |= b[0];
        c
    }
}

/// Which of the two operators has its turn, so that each goes with every carry, network and way.
fn is_large(index: usize) -> bool {
    index / 4 % 2 == 1
}

/// Every strategy, the ways to scan and the architectures in turn, and in turn an operator whose elements are the smallest and, reversed,
/// one whose elements leave a block few threads.
fn every_strategy() -> Sources {
    let scanner = Scanner::cpu_for(scan_runtime::DeviceLimits::BASELINE);
    let source = |(index, strategy): (usize, Strategy)| {
        let (way, architecture) = (WAYS[index % WAYS.len()], architecture_for(strategy, index));
        let source = match is_large(index) {
            false => configure::<ops::Sum<u8>>(&scanner, way).strategy(strategy).cuda_source().unwrap(),
            true => scanner.scan(Wide).reverse().strategy(strategy).cuda_source().unwrap(),
        };
        (format!("{strategy}, {way:?}"), source, architecture)
    };
    strategies::all().enumerate().map(source).collect()
}

#[test]
fn every_strategy_compiles_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let failures = complaints_of_all(every_strategy());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// What the GPU suite runs as older devices would: each operator's kernels become PTX that says so.
struct OlderKernels {
    sources: Sources,
}

impl Visitor for OlderKernels {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        let index = self.sources.len();
        let architecture = ARCHITECTURES[index % 2];
        let scanner = Scanner::cpu_for(DeviceLimits::of(architecture));
        let source = configure::<Op>(&scanner, WAYS[index / 2 % WAYS.len()]).cuda_source().unwrap();
        self.sources.push((name.to_owned(), source, architecture));
    }
}

#[test]
fn kernels_of_older_devices_become_ptx() {
    scan_tests::nvrtc().unwrap();
    let mut kernels = OlderKernels { sources: Vec::new() };
    visit_all(&mut kernels);
    assert!(kernels.sources.len() >= 30, "{} kernels", kernels.sources.len());
    extent::begin_with(&OF_STRATEGIES);
    for_gpus(kernels.sources, |(_, source, _)| source).into_par_iter().for_each(|(name, source, architecture)| {
        let compiled = nvrtc::compile_to_ptx(&source, &name, architecture).unwrap();
        assert_eq!(compiled.log, "", "{name}, {architecture}");
        let ptx = String::from_utf8(compiled.cubin).unwrap();
        assert!(ptx.contains(&format!(".target {architecture}\n")) && ptx.ends_with('\0'), "{name}, {architecture}");
    });
}

/// Kernels that wait for a while that looks random, of every strategy whose blocks wait for each other. Others know nothing of it.
#[test]
fn kernels_with_delays_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let scanner = Scanner::cpu_for(scan_runtime::DeviceLimits::BASELINE);
    let source = |(index, strategy): (usize, Strategy)| {
        let mut overrides = Overrides::default();
        (overrides.strategy, overrides.delays) = (Some(strategy), true);
        let architecture = architecture_for(strategy, index);
        let delayed = scanner.scan(Wide).overrides(overrides).cuda_source().unwrap();
        overrides.delays = false;
        let other = scanner.scan(Wide).overrides(overrides).cuda_source().unwrap();
        assert!(!other.text.contains("nanosleep"), "{strategy}");
        let waits = matches!(strategy.carry, Carry::Chained(_) | Carry::LookBack | Carry::LookAtAll | Carry::LookAhead);
        assert_eq!(delayed.text.contains("nanosleep"), waits, "{strategy}");
        waits.then(|| (strategy.to_string(), delayed, architecture))
    };
    let block = BlockScan::coarsened(Network::WarpShuffle);
    let strategies = strategies::all().filter(|strategy| strategy.block.in_registers || strategy.block == block);
    let failures = complaints(strategies.enumerate().filter_map(source).collect());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// Look-ahead as a device plans it that has shared memory for it: each operator, the ways and the architectures in turn.
struct CompileAhead {
    sources: Sources,
}

impl Visitor for CompileAhead {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        let index = self.sources.len();
        let architecture = architecture_for(LOOK_AHEAD, index);
        let mut limits = DeviceLimits::new(architecture, 132);
        limits.shared_bytes_per_block_optin = 227 * 1024;
        let (kind, with_initial_value) = WAYS[index % WAYS.len()];
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let spec = if with_initial_value { spec.with_initial_value() } else { spec };
        let operator = Op::new().source();
        let plans = plan(&operator, &spec, &limits, &Overrides::default()).unwrap();
        let plan = plans.longest();
        assert!(plan.kernels().contains(&KernelRole::ScanLookAhead), "{name}: {plan}");
        self.sources.push((name.to_owned(), render(&operator, plan, plans.device()).unwrap(), architecture));
    }
}

#[test]
fn look_ahead_compiles_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let mut ahead = CompileAhead { sources: Vec::new() };
    visit_all(&mut ahead);
    let failures = complaints(ahead.sources);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// Round-robin look-ahead warps, and stages that keep lifted elements, of operators of the gallery.
#[test]
fn several_look_ahead_warps_and_kept_states_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    struct Kept(Sources);
    impl gallery::Visitor for Kept {
        fn visit<Op: Example>(&mut self, name: &str) {
            if !["quaternions", "complex_product", "welford", "permutations"].contains(&name) {
                return;
            }
            let mut overrides = Overrides::default().strategy(LOOK_AHEAD);
            (overrides.look_ahead_warps, overrides.keeps_states) = (Some(2), Some(true));
            let source = Scanner::cpu_for(DeviceLimits::H200).scan(Op::new()).overrides(overrides).cuda_source();
            self.0.push((name.to_owned(), source.unwrap(), sm(9, 0)));
        }
    }
    let mut kept = Kept(Vec::new());
    gallery::visit_gallery(&mut kept);
    assert_eq!(kept.0.iter().filter(|(_, source, _)| source.text.contains("StateRun states_of(")).count(), 2);
    assert!(kept.0.iter().all(|(_, source, _)| source.text.contains("i += FOLDING_WARPS")));
    let failures = complaints(kept.0);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// Every strategy of a scan that restarts: the ways to scan, to tell where, and the architectures in turn.
fn every_segmented_strategy() -> Sources {
    let scanner = Scanner::cpu_for(scan_runtime::DeviceLimits::BASELINE);
    let source = |(index, strategy): (usize, Strategy)| {
        let (way, architecture) = (WAYS[index / 5 % WAYS.len()], architecture_for(strategy, index));
        let heads = Heads::new(index, &[]);
        let source = if is_large(index) {
            let large = scanner.scan(Wide).reverse().strategy(strategy);
            if index % 3 == 0 { large.rows(7).cuda_source().unwrap() } else { heads.of(&large).cuda_source().unwrap() }
        } else {
            let small = configure::<ops::Sum<u8>>(&scanner, way).strategy(strategy);
            heads.of(&small).cuda_source().unwrap()
        };
        (format!("{strategy}, {way:?}, {heads:?}"), source, architecture)
    };
    strategies::all_segmented().enumerate().map(source).collect()
}

#[test]
fn every_segmented_strategy_compiles_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let failures = complaints_of_all(every_segmented_strategy());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

#[scan_element]
#[derive(Clone, Copy)]
struct Number {
    a: f32,
}

#[scan_element]
#[derive(Clone, Copy)]
struct Wrapped {
    number: Number,
}

impl std::ops::Deref for Wrapped {
    type Target = Number;
    fn deref(&self) -> &Number {
        &self.number
    }
}

/// An operator that is good Rust, and of which the macro cannot know that CUDA lacks a part.
struct Compared;

#[scan_op]
impl ScanOp for Compared {
    type Element = Wrapped;
    const IDENTITY: Wrapped = Wrapped { number: Number { a: 0.0 } };
    fn combine(x: Wrapped, y: Wrapped) -> Wrapped {
        if x.a > y.a { x } else { y } // the field of another struct
    }
}

const LINE_OF_COMPARISON: u32 = line!() - 4;

#[test]
fn a_rejected_kernel_names_the_rust_line() {
    scan_tests::nvrtc().unwrap();
    let source = Scanner::cpu_for(scan_runtime::DeviceLimits::BASELINE).scan(Compared).cuda_source().unwrap();
    let error = nvrtc::compile(&source, "Compared", sm(9, 0)).unwrap_err();
    let Error::Compile { operator, architecture, log } = &error else { panic!("{error}") };
    assert_eq!((operator.as_str(), architecture.as_str()), ("Compared", "sm_90"));
    assert!(log.contains(&format!("texts/nvrtc.rs({LINE_OF_COMPARISON})")), "{log}");
    assert!(error.to_string().contains("NVRTC could not compile the kernels of operator `Compared`"), "{error}");
}

/// Divides, and so may panic.
#[derive(Clone, Copy)]
struct Divides;

#[scan_op]
impl ScanOp for Divides {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        (a + b) % (b / 2)
    }
}

/// The runtime asks a module for the mark of panics where its source has the word, and nowhere else.
#[test]
fn modules_have_the_panic_flag_only_if_their_source_names_it() {
    const MARK: &str = "scan_panicked";
    scan_tests::nvrtc().unwrap();
    let scanner = Scanner::cpu_for(scan_runtime::DeviceLimits::BASELINE);
    let sources = [scanner.scan(Divides).cuda_source(), scanner.scan(ops::sum::<u32>()).cuda_source()];
    for (source, panics) in sources.into_iter().zip([true, false]) {
        let source = source.unwrap();
        let cubin = nvrtc::compile(&source, "operator", sm(9, 0)).unwrap().cubin;
        let in_cubin = cubin.windows(MARK.len()).any(|bytes| bytes == MARK.as_bytes());
        assert_eq!((source.text.contains(MARK), in_cubin), (panics, panics), "{}", source.name);
    }
}

/// Scans along an axis, the architectures in turn: elements of many sizes, of three sizes, and of 256 bytes, and operators
/// that are called.
#[test]
fn scans_along_an_axis_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let ways = [
        ScanSpec::inclusive().with_initial_values(),
        ScanSpec::exclusive().with_initial_value(),
        ScanSpec::inclusive().reverse().with_totals(),
        ScanSpec::inclusive(),
    ];
    let operators = [
        ops::sum::<f32>().source(),
        ops::sum::<scan_runtime::half::f16>().source(),
        ops::sum::<u8>().source(),
        scan_tests::operators::compose.source(),
        scan_tests::operators::Bytes3Sum.source(),
        scan_tests::lifting::Lifting.source(),
        scan_tests::operators::PolynomialHash.source(),
        scan_tests::operators::MatrixProduct::<3>.source(),
        Wide.source(),
        scan_tests::operators::MatrixProduct::<8>.source(),
    ];
    let sources = operators.iter().enumerate().map(|(index, operator)| {
        let architecture = ARCHITECTURES[index % ARCHITECTURES.len()];
        let limits = DeviceLimits::of(architecture);
        let plan = plan_columns(operator, &ways[index % ways.len()], &limits, &Overrides::default()).unwrap();
        (format!("{}, {plan}", operator.name), render_columns(operator, &plan).unwrap(), architecture)
    });
    let of_arrays = [columns::Recurrence.source(), columns::Summarize.source(), columns::Widen.source()];
    let by_field = of_arrays.iter().enumerate().flat_map(|(index, operator)| {
        let architecture = ARCHITECTURES[index];
        let spec = ways[index].clone().with_arrays(Arrays::PerField, Arrays::PerField);
        let plan = plan_columns(operator, &spec, &DeviceLimits::of(architecture), &Overrides::default()).unwrap();
        let source =
            |plan| (format!("{}, {plan}", operator.name), render_columns(operator, plan).unwrap(), architecture);
        plan.all().iter().map(source).collect::<Vec<_>>()
    });
    assert_eq!(complaints(sources.chain(by_field).collect()), Vec::<String>::new());
}

#[test]
fn nvrtc_compiles_for_the_oldest_and_the_newest_architecture() {
    scan_tests::nvrtc().unwrap();
    let source = c"extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }";
    for architecture in [c"-arch=sm_75", c"-arch=sm_120"] {
        let mut program = std::ptr::null_mut();
        let mut size = 0;
        // SAFETY: NVRTC is open, the texts end in a zero byte and outlive the calls, the counts are theirs.
        unsafe {
            sys::nvrtcCreateProgram(&mut program, source.as_ptr(), null(), 0, null(), null()).result().unwrap();
            sys::nvrtcCompileProgram(program, 1, &architecture.as_ptr()).result().unwrap();
            sys::nvrtcGetCUBINSize(program, &mut size).result().unwrap();
            sys::nvrtcDestroyProgram(&mut program).result().unwrap();
        }
        assert!(size > 0, "{architecture:?} gave no cubin");
    }
}
