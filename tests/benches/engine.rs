//! The shapes of look-ahead, each as a ratio to a device-to-device copy of the same bytes, measured in turns in one run.
//!
//! `cargo bench -p scan-tests --bench engine` prints Markdown tables. Names of operators after `--` choose among them,
//! `default` the planner's shapes only; `trace` (the cycles of each phase of look-ahead), `lengths`, `views` (that begin
//! anywhere, and in place), `axis` (scans along an axis), `rows` (an initial value and a total for each), `ranges`
//! (reductions of them), `training` (recurrences, forward and backward), `operators`
//! (those of the gallery, `variants` of them, shapes of look-ahead warps in `turns`, other `carries`, only the `longest`
//! inputs) and `segments` ask for more; `compile` compiles the kernels of `trace` and needs no device. What a shape gives
//! is compared with what look-back gives before anything is timed, and that with the CPU. A time is the median of several
//! samples, each between two events on the stream.

#[path = "engine/axis.rs"]
mod axis;
#[path = "engine/operators.rs"]
mod operators;
#[path = "engine/rows.rs"]
mod rows;
#[path = "engine/segments.rs"]
mod segments;
#[path = "engine/training.rs"]
mod training;

use std::{error::Error, sync::Arc};

use rayon::prelude::*;
use scan_codegen::{Architecture, Argument, DeviceLimits, KernelSource, Overrides, Plans, ScanSpec, plan};
use scan_runtime::{
    BlockScan, Carry, DeviceBuffer, DeviceBufferMut, Network, Scan, ScanKind, ScanOp, Scanner, Strategy,
    cudarc::{
        driver::{
            CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, LaunchConfig, PushKernelArg,
            sys::{CUevent_flags, CUfunction_attribute},
        },
        nvrtc::Ptx,
    },
    nvrtc, ops, scan_element, scan_op,
};
use scan_tests::{
    checked::render,
    configure,
    gallery::{self, Example, visit_gallery, visit_sums},
    lexers::visit_lexers,
    operators::{CountersSum, MatrixProduct, MixedSum, TestOperator, Visitor, bits, compose, inputs, mixed},
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const BYTES: usize = 2 << 30;
const SAMPLES: usize = 5;
const WAY: (ScanKind, bool) = (ScanKind::Inclusive, false);

const fn with_warp_shuffles(carry: Carry) -> Strategy {
    Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry }
}

/// A 2×2 matrix.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Matrix {
    a: f32,
    b: f32,
    c: f32,
    d: f32,
}

/// Its product.
#[derive(Clone, Copy)]
struct Product;

#[scan_op]
impl ScanOp for Product {
    type Element = Matrix;
    const IDENTITY: Matrix = Matrix { a: 1.0, b: 0.0, c: 0.0, d: 1.0 };
    fn combine(x: Matrix, y: Matrix) -> Matrix {
        Matrix {
            a: x.a * y.a + x.b * y.c,
            b: x.a * y.b + x.b * y.d,
            c: x.c * y.a + x.d * y.c,
            d: x.c * y.b + x.d * y.d,
        }
    }
}

impl TestOperator for Product {
    type Item = Matrix;
    fn new() -> Self {
        Product
    }
    /// Mappings of two points to themselves, mostly those that exchange them or leave them alone. All entries of all products
    /// are 0 or 1, and no zero is negative, so every grouping gives the same bits.
    fn input(index: u64) -> Matrix {
        let bits = mixed(index);
        let row = |point: bool| if point { (0.0, 1.0) } else { (1.0, 0.0) };
        let image_of_first = bits & 1 == 1;
        let image_of_second = (bits >> 8).is_multiple_of(1024) || !image_of_first;
        let ((a, b), (c, d)) = (row(image_of_first), row(image_of_second));
        Matrix { a, b, c, d }
    }
    fn initial_value() -> Matrix {
        Product::input(0)
    }
}

/// The product modulo a prime.
#[derive(Clone, Copy)]
struct ModularProduct;

#[scan_op]
impl ScanOp for ModularProduct {
    type Element = u32;
    const IDENTITY: u32 = 1;
    fn combine(a: u32, b: u32) -> u32 {
        ((a as u64) * (b as u64) % 1_000_000_007_u64) as u32
    }
}

impl TestOperator for ModularProduct {
    type Item = u32;
    fn new() -> Self {
        ModularProduct
    }
    fn input(index: u64) -> u32 {
        (mixed(index) % 1_000_000_006 + 1) as u32
    }
    fn initial_value() -> u32 {
        5
    }
}

/// Blocks of a group.
const GROUPS: [u32; 2] = [1, 11];

/// Threads of a team, teams, words a thread; stages as many as there is room for, unless told.
const SHAPES: [(u32, u32, u32, Option<u32>); 14] = [
    (128, 4, 31, None),
    (128, 5, 23, None),
    (128, 5, 31, None),
    (128, 6, 31, None),
    (192, 3, 23, None),
    (192, 3, 31, None),
    (192, 4, 23, None),
    (256, 2, 23, None),
    (256, 2, 31, None),
    (256, 3, 15, None),
    (256, 3, 23, None),
    (256, 3, 31, None),
    (384, 2, 15, None),
    (512, 1, 23, None),
];

/// More words a thread, for elements of more than four bytes: few of them fill a run.
const LONGER_RUNS: [(u32, u32, u32, Option<u32>); 8] = [
    (64, 4, 63, None),
    (64, 6, 63, None),
    (96, 4, 63, None),
    (128, 2, 63, None),
    (128, 3, 47, None),
    (128, 3, 63, None),
    (192, 2, 47, None),
    (256, 2, 47, None),
];

/// Threads of a team, teams, elements a thread, for large elements, and the most bytes of a tile.
const LARGE: [(u32, u32, u32); 18] = [
    (32, 2, 5),
    (32, 3, 3),
    (32, 3, 4),
    (32, 4, 3),
    (32, 4, 7),
    (32, 5, 5),
    (64, 2, 3),
    (64, 2, 4),
    (64, 2, 6),
    (64, 3, 3),
    (64, 3, 5),
    (64, 4, 3),
    (96, 2, 3),
    (96, 3, 5),
    (128, 2, 3),
    (128, 2, 5),
    (128, 3, 3),
    (192, 2, 3),
];
const LARGE_TILE: usize = 45 << 10;

/// Shapes that are printed for an operator, the best ones.
const PRINTED: usize = 20;

fn main() -> Outcome {
    let names: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let asked_for = |name: &str| names.iter().any(|wanted| wanted == name);
    let wanted = |name: &str| names.is_empty() || asked_for(name);
    if asked_for("compile") {
        return compile_traced();
    }
    let scanner = Scanner::cuda(0)?;
    println!("{}\n", scanner.backend());
    if asked_for("ranges") {
        return rows::ranges_of_all(&scanner);
    }
    if asked_for("reductions") {
        return rows::reductions_of_all(&scanner);
    }
    if asked_for("training") {
        return training::all(&scanner, asked_for("shapes"));
    }
    if asked_for("rows") {
        return rows::sweep_all(&scanner);
    }
    if asked_for("axis") {
        let all = !names.iter().any(|name| name.starts_with("axis-"));
        return axis::sweep_all(&scanner, asked_for("shapes"), |name| all || asked_for(name));
    }
    println!("| operator | threads × teams | elements a thread | stages | copy, µs | scan, µs | ratio to copy |");
    println!("|---|---|---:|---:|---:|---:|---:|");
    visit_operators(&mut Sweep { scanner: &scanner, wanted, only_default: asked_for("default") });
    if asked_for("trace") {
        println!(
            "\n| operator | threads × teams | elements a thread | group |{} |",
            TICKS.map(|(what, ..)| format!(" {what}")).join(" |")
        );
        println!("|---|---|---:|---:|{}", TICKS.map(|_| "---:|").join(""));
        visit_operators(&mut Traced { scanner: &scanner, wanted });
        visit_gallery(&mut TracedGallery { scanner: &scanner, wanted: asked_for });
    }
    if asked_for("operators") {
        let asked = if asked_for("variants") {
            operators::Asked::Variants
        } else if asked_for("carries") {
            operators::Asked::Carries
        } else if asked_for("turns") {
            operators::Asked::Turns
        } else if asked_for("longest") {
            operators::Asked::Longest
        } else {
            operators::Asked::Planned
        };
        let no_operator =
            |name: &String| ["operators", "variants", "turns", "carries", "longest"].contains(&name.as_str());
        let wanted = |name: &str| names.iter().all(no_operator) || asked_for(name);
        operators::print_head(asked);
        let mut operators = operators::Operators { scanner: &scanner, wanted, asked };
        visit_gallery(&mut operators);
        visit_sums(&mut operators);
        visit_lexers(&mut operators);
    }
    if asked_for("lengths") {
        println!("\n| operator | bytes | copy, µs | look-back, µs | look-ahead, µs |");
        println!("|---|---:|---:|---:|---:|");
        lengths::<ops::Sum<f32>>("f32", &scanner)?;
        lengths::<ops::Sum<u8>>("u8", &scanner)?;
    }
    if asked_for("views") {
        println!(
            "\n| operator | left out before input | output | 2^18 - 7, µs (ratio to copy) | 2^20 - 7 | 2^24 - 7 | 2 GiB |"
        );
        println!("|---|--:|--:|--:|--:|--:|--:|");
        views::<ops::Sum<f32>>("f32", &scanner)?;
        views::<ops::Sum<u8>>("u8", &scanner)?;
        views::<MixedSum>("struct12", &scanner)?;
    }
    if asked_for("segments") {
        segments::sweep_all(&scanner)?;
    }
    Ok(())
}

/// Does something with each operator that is measured.
fn visit_operators(visitor: &mut impl Visitor) {
    visitor.visit::<ops::Sum<f32>>("f32");
    visitor.visit::<ops::Sum<u8>>("u8");
    visitor.visit::<ops::Sum<i16>>("i16");
    visitor.visit::<ops::Sum<u64>>("u64");
    visitor.visit::<compose>("compose");
    visitor.visit::<MixedSum>("struct12");
    visitor.visit::<Product>("matrix2");
    visitor.visit::<MatrixProduct<3>>("matrix3");
    visitor.visit::<MatrixProduct<4>>("matrix4");
    visitor.visit::<MatrixProduct<5>>("matrix5");
    visitor.visit::<MatrixProduct<6>>("matrix6");
    visitor.visit::<MatrixProduct<8>>("matrix8");
    visitor.visit::<CountersSum>("counters");
    visitor.visit::<ModularProduct>("modular");
}

/// The shapes of look-ahead, for those operators that are wanted.
struct Sweep<'a, W> {
    scanner: &'a Scanner,
    wanted: W,
    /// Whether other shapes than the planner's are left out.
    only_default: bool,
}

impl<W: Fn(&str) -> bool> Visitor for Sweep<'_, W> {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        if (self.wanted)(name)
            && let Err(error) = sweep::<Op>(name, self.scanner, self.only_default)
        {
            println!("| {name} | {error} | | | | | |");
        }
    }
}

/// Device memory with random data: the same block of it again and again.
fn filled<T: DeviceRepr>(stream: &Arc<CudaStream>, block: &[T], len: usize) -> Outcome<CudaSlice<T>> {
    // SAFETY: all of it is written below.
    let mut memory = unsafe { stream.alloc::<T>(len)? };
    for start in (0..len).step_by(block.len()) {
        let end = len.min(start + block.len());
        stream.memcpy_htod(&block[..end - start], &mut memory.slice_mut(start..end))?;
    }
    Ok(memory)
}

/// Stretches of the output, from its first element to its last.
fn stretches(len: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    const STRETCHES: usize = 24;
    let size = len.min(1 << 17);
    (0..STRETCHES).map(move |index| {
        let start = (len - size) / (STRETCHES - 1) * index;
        if index == STRETCHES - 1 { len - size..len } else { start..start + size }
    })
}

/// The bytes of stretches of the output.
fn fetch<Op: TestOperator>(stream: &Arc<CudaStream>, output: &CudaSlice<Op::Item>, len: usize) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    for stretch in stretches(len) {
        bytes.extend(bits(&stream.clone_dtoh(&output.slice(stretch))?));
    }
    Ok(bytes)
}

/// Other shapes than the planned one for elements of a size, and their names.
fn candidates(name: &str, size: usize) -> Vec<(String, Overrides)> {
    let shape = |threads, teams, run| {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(with_warp_shuffles(Carry::LookAhead));
        (overrides.threads, overrides.teams, overrides.run) = (threads, teams, run);
        overrides
    };
    if size > 36 {
        let large = LARGE.iter().filter(|(threads, _, run)| *threads as usize * *run as usize * size <= LARGE_TILE);
        let large = large.map(|&(threads, teams, run)| shape(Some(threads), Some(teams), Some(run)));
        return large.map(|overrides| (name.to_owned(), overrides)).collect();
    }
    let longer_runs = LONGER_RUNS.iter().filter(|_| size > 4);
    let shapes = SHAPES.iter().chain(longer_runs).map(|&(threads, teams, words, stages)| {
        // An odd number of units, as the planner would have it.
        let run = words * 4 / size as u32;
        let run = if size < 4 { run } else { (run - 1 + run % 2).max(1) };
        let mut overrides = shape(Some(threads), Some(teams), Some(run));
        overrides.stages = stages;
        (name.to_owned(), overrides)
    });
    // Each block reads the sums of all tiles, or blocks form groups.
    let teams = [(None, None), (Some(128), Some(3)), (Some(96), Some(4)), (Some(64), Some(4)), (Some(64), Some(6))];
    let grouped = teams.into_iter().filter(|_| size > 12).flat_map(|(threads, teams)| {
        GROUPS.map(|group| {
            let mut overrides = shape(threads, teams, None);
            overrides.group = Some(group);
            (format!("{name}, groups of {group}"), overrides)
        })
    });
    shapes.chain(grouped).collect()
}

fn sweep<Op: TestOperator>(name: &str, scanner: &Scanner, only_default: bool) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let size = size_of::<Op::Item>();
    let len = BYTES / size;
    let block = inputs::<Op>(1 << 21);
    let input = filled(&stream, &block, len)?;
    let mut output = filled(&stream, &block, len)?;

    let look_back = configure::<Op>(scanner, WAY).strategy(with_warp_shuffles(Carry::LookBack));
    look_back.on(&stream).run_into(&input, &mut output)?;
    let expected = configure::<Op>(&Scanner::cpu(), WAY).run(&block)?;
    if bits(&stream.clone_dtoh(&output.slice(..block.len()))?) != bits(&expected) {
        return Err(format!("{name}: look-back is wrong").into());
    }
    let expected = fetch::<Op>(&stream, &output, len)?;
    let (copy, scan) = measure(&stream, &look_back, &input, &mut output)?;
    println!("| {name} | look-back | | | {copy:.1} | {scan:.1} | {:.3} |", copy / scan);

    let default = configure::<Op>(scanner, WAY).strategy(with_warp_shuffles(Carry::LookAhead));
    if let Some((_, row)) =
        row::<Op>(&format!("{name}, by default"), &stream, &default, (&input, &mut output), &expected)?
    {
        println!("{row}");
    }
    if only_default {
        return Ok(());
    }
    let candidates = candidates(name, size);
    // All compiled beforehand, at once; what cannot be planned is left out below.
    candidates.par_iter().for_each(|(_, overrides)| {
        let scan = configure::<Op>(scanner, WAY).overrides(*overrides);
        let _ = stream.clone_htod(&block[..8]).map(|few| scan.on(&stream).run(&few));
    });
    let mut rows = Vec::new();
    for (name, overrides) in candidates {
        let scan = configure::<Op>(scanner, WAY).overrides(overrides);
        if let Some(row) = row::<Op>(&name, &stream, &scan, (&input, &mut output), &expected)? {
            rows.push(row);
        }
    }
    rows.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    for (_, row) in rows.iter().take(PRINTED) {
        println!("{row}");
    }
    Ok(())
}

/// The ratio to a copy, and the row of the table; none where there is no room for such a shape.
fn row<Op: TestOperator>(
    name: &str,
    stream: &Arc<CudaStream>,
    scan: &Scan<Op>,
    (input, output): (&CudaSlice<Op::Item>, &mut CudaSlice<Op::Item>),
    expected: &[u8],
) -> Outcome<Option<(f64, String)>> {
    let Ok(plans) = scan.plan() else { return Ok(None) };
    let plan = plans.for_len(input.len() as u64);
    let pipeline = plan.pipeline.unwrap_or_default();
    let shape = format!("{} × {} | {} | {}", plan.threads, pipeline.teams, plan.run, pipeline.stages);
    stream.memcpy_dtod(input, output)?;
    scan.on(stream).run_into(input, &mut *output)?;
    let results = fetch::<Op>(stream, output, input.len())?;
    if let Some(byte) = results.iter().zip(expected).position(|(result, expected)| result != expected) {
        let element = byte / size_of::<Op::Item>();
        return Ok(Some((f64::INFINITY, format!("| {name} | {shape} | | WRONG from {element} on | |"))));
    }
    let (copy, time) = measure(stream, scan, input, output)?;
    let ratio = copy / time;
    Ok(Some((ratio, format!("| {name} | {shape} | {copy:.1} | {time:.1} | {ratio:.3} |"))))
}

/// The phases of the operators that are wanted, in the shape that is planned, and with groups of other sizes.
struct Traced<'a, W> {
    scanner: &'a Scanner,
    wanted: W,
}

impl<W: Fn(&str) -> bool> Visitor for Traced<'_, W> {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        for group in [1, 11].into_iter().filter(|_| (self.wanted)(name)) {
            if let Err(error) = trace::<Op>(name, self.scanner, group) {
                println!("| {name} | {error} |");
            }
        }
    }
}

/// The warps that a phase is of, and so which kernels have it.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    /// The first of a team.
    Team,
    /// The look-ahead warp, with groups and without, or in one of these.
    LookAhead,
    LookAheadAlone,
    LookAheadOfGroups,
    /// The group warp that folds the tiles of a group, and the one that folds groups, of which the text is the same.
    Tiles,
    Groups,
}

impl Of {
    fn is_in(self, grouped: bool) -> bool {
        match self {
            Of::Team | Of::LookAhead => true,
            Of::LookAheadAlone => !grouped,
            Of::LookAheadOfGroups | Of::Tiles | Of::Groups => grouped,
        }
    }

    /// Whether a thread counts: in the words of the kernel.
    fn thread(self) -> &'static str {
        match self {
            Of::Team => "thread == 0",
            Of::LookAhead | Of::LookAheadAlone | Of::LookAheadOfGroups => "lane == 0",
            // The lane that hands the aggregate over.
            Of::Tiles | Of::Groups => "lane + 1 == max(kind == TILES ? place_in_group() : count, 1u)",
        }
    }
}

/// What takes how many cycles, on the average of all tiles: in words, after which text of the kernel it has ended, and of whom.
const TICKS: [(&str, &str, Of); 17] = [
    ("tile arrived", "  wait(&block.full[at.stage], at.parity);\n", Of::Team),
    ("all warps reduced", "    wait(&block.aggregates_ready[at.stage], at.parity);\n", Of::Team),
    ("aggregate published", "      arrive(&block.published[at.stage]);\n    }\n", Of::Team),
    ("prefix known", "  wait(&block.prefix_ready[at.stage], at.parity);\n", Of::Team),
    ("scanned", "  fence_for_copies();\n", Of::Team),
    ("drained", "  arrive(&block.drained[at.stage]);\n", Of::Team),
    ("window read", "aggregates, folded, count, lane, 0);\n", Of::LookAheadAlone),
    ("window folded", "op, prefix, aggregates, count, lane);\n", Of::LookAheadAlone),
    ("groups folded", "parts_of(GROUPS), i - first_with_groups());\n", Of::LookAheadOfGroups),
    ("tiles folded", "append_next(op, of_tile, parts_of(TILES), i);\n", Of::LookAheadOfGroups),
    (
        "tile published",
        "wait(&block.published[at.stage], at.parity); // implies that the prefix of the stage's last tile has been read\n",
        Of::LookAhead,
    ),
    ("aggregates of tiles read", GROUP_PHASES[0], Of::Tiles),
    ("folded", GROUP_PHASES[1], Of::Tiles),
    ("handed over", GROUP_PHASES[2], Of::Tiles),
    ("aggregates of groups read", GROUP_PHASES[0], Of::Groups),
    ("folded", GROUP_PHASES[1], Of::Groups),
    ("handed over", GROUP_PHASES[2], Of::Groups),
];

/// The phases of the group warps.
const GROUP_PHASES: [&str; 3] = [
    "aggregates, first, count, lane, kind);\n",
    "aggregates.state[0], lane, count, heads);\n",
    "      arrive(&parts.full[slot]);\n",
];

/// After which text of the kernel a warp's time begins, and of whom.
const BEGINNINGS: [(&str, Of); 3] = [
    ("thread = threadIdx.x % TEAM;\n", Of::Team),
    (" folded so far\n", Of::LookAhead),
    ("lane = threadIdx.x % WARP; // TILES or GROUPS\n", Of::Tiles),
];

/// The phases of the gallery's operators, `gallery-welford` and so on.
struct TracedGallery<'a, W> {
    scanner: &'a Scanner,
    wanted: W,
}

impl<W: Fn(&str) -> bool> gallery::Visitor for TracedGallery<'_, W> {
    fn visit<Op: Example>(&mut self, name: &str) {
        if (self.wanted)(&format!("gallery-{name}"))
            && let Err(error) = trace_example::<Op>(name, self.scanner)
        {
            println!("| {name} | {error} |");
        }
    }
}

fn trace_example<Op: Example>(name: &str, scanner: &Scanner) -> Outcome {
    if size_of::<Op>() > 0 {
        return Err("an operator with parameters is launched by the library only".into());
    }
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let largest = size_of::<Op::Input>().max(size_of::<Op::Output>());
    let len = (BYTES / largest).min(1 << 27);
    let input = filled(&stream, &Op::input(1 << 20), len)?;
    // SAFETY: it is written before it is read, if at all.
    let mut output = unsafe { stream.alloc::<Op::Output>(len)? };
    let planned = scanner.scan(Op::new()).plan()?.longest().pipeline.map_or(1, |pipeline| pipeline.group);
    let scan = scanner.scan(Op::new()).strategy(with_warp_shuffles(Carry::LookAhead));
    let (input, _reading) = input.device_ptr(&stream);
    let (output, _writing) = output.device_ptr_mut(&stream);
    trace_kernel(name, scanner, &stream, &scan.plan()?, scan.cuda_source()?, (input, output), len, planned)
}

fn trace<Op: TestOperator>(name: &str, scanner: &Scanner, group: u32) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let mut overrides = Overrides::default();
    overrides.strategy = Some(with_warp_shuffles(Carry::LookAhead));
    overrides.group = Some(group);
    let scan = configure::<Op>(scanner, WAY).overrides(overrides);
    let len = BYTES / size_of::<Op::Item>();
    let block = inputs::<Op>(1 << 21);
    let input = filled(&stream, &block, len)?;
    let mut output = filled(&stream, &block, len)?;
    let (input, _reading) = input.device_ptr(&stream);
    let (output, _writing) = output.device_ptr_mut(&stream);
    trace_kernel(name, scanner, &stream, &scan.plan()?, scan.cuda_source()?, (input, output), len, group)
}

/// A copy of the kernel that counts the cycles of its phases.
#[allow(clippy::too_many_arguments, reason = "all that a launch needs")]
fn trace_kernel(
    name: &str,
    scanner: &Scanner,
    stream: &Arc<CudaStream>,
    plans: &Plans,
    mut source: KernelSource,
    (input, output): (u64, u64),
    len: usize,
    group: u32,
) -> Outcome {
    let context = scanner.context().ok_or("no CUDA context")?;
    let plan = plans.longest();
    count_cycles(&mut source, group > 1)?;
    let compiled = nvrtc::compile(&source, name, scanner.limits().architecture)?;
    let module = context.load_module(Ptx::from_binary(compiled.cubin))?;
    let schedule = plan.schedule(len as u64)?;
    let launch = schedule.launches.first().ok_or("nothing to launch")?;
    let function = module.load_function(&source.kernel_name(launch.kernel.name()))?;
    function.set_attribute(
        CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        launch.dynamic_shared_bytes as i32,
    )?;
    let bytes = schedule.workspace.bytes();
    let workspace = stream.alloc_zeros::<u8>(bytes as usize)?;
    let (start, _using) = workspace.device_ptr(stream);
    let (operator, len, room) = (0_u8, len as u64, schedule.workspace.status_room(bytes));
    let places = launch.arguments.iter().filter_map(|argument| match argument {
        Argument::Workspace(offset) => Some(start + offset),
        _ => None,
    });
    let places: Vec<u64> = places.collect();
    let mut builder = stream.launch_builder(&function);
    builder.arg(&operator).arg(&input).arg(&output);
    for place in &places {
        builder.arg(place);
    }
    builder.arg(&room).arg(&len);
    // SAFETY: these are the arguments that the plan lists for an operator without parameters; the buffers are as long.
    unsafe {
        builder.launch_cooperative(LaunchConfig {
            grid_dim: (launch.blocks, 1, 1),
            block_dim: (launch.threads, 1, 1),
            shared_mem_bytes: launch.dynamic_shared_bytes,
        })?;
    }
    let bytes = stream.clone_dtoh(&module.get_global("cycles", stream)?)?;
    let tiles = len.div_ceil(u64::from(plan.tile));
    let cycles = bytes
        .chunks_exact(8)
        .take(TICKS.len())
        .map(|cycles| cycles.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)) / tiles);
    let cycles: Vec<String> = cycles.map(|cycles| format!(" {cycles} |")).collect();
    let teams = plan.pipeline.unwrap_or_default().teams;
    println!("| {name} | {} × {teams} | {} | {group} |{}", plan.threads, plan.run, cycles.join(""));
    Ok(())
}

/// Compiles what `trace` launches for an H200, with groups and without.
fn compile_traced() -> Outcome {
    let operator = MatrixProduct::<4>::new().source();
    let mut limits = DeviceLimits::new(Architecture { major: 9, minor: 0 }, 132);
    limits.shared_bytes_per_block_optin = 227 * 1024;
    for group in [1, 11] {
        let mut overrides = Overrides::default();
        (overrides.strategy, overrides.group) = (Some(with_warp_shuffles(Carry::LookAhead)), Some(group));
        let plans = plan(&operator, &ScanSpec::inclusive(), &limits, &overrides)?;
        let mut source = render(&operator, plans.longest(), plans.device())?;
        count_cycles(&mut source, group > 1)?;
        nvrtc::compile(&source, "traced", limits.architecture)?;
    }
    Ok(())
}

/// Has the kernel count the cycles of its phases.
fn count_cycles(source: &mut KernelSource, grouped: bool) -> Outcome {
    let beginnings = BEGINNINGS.map(|(after, of)| (after, of, "ticks[threadIdx.x / 32] = clock64();\n".to_owned()));
    let counts = |(index, (_, after, of)): (usize, (&'static str, &'static str, Of))| match of {
        // Where the other one counts too.
        Of::Groups => None,
        Of::Tiles => Some((after, of, format!("TICK({}, {index} + {} * kind)\n", of.thread(), GROUP_PHASES.len()))),
        _ => Some((after, of, format!("TICK({}, {index})\n", of.thread()))),
    };
    let all = beginnings.into_iter().chain(TICKS.into_iter().enumerate().filter_map(counts));
    for (after, _, text) in all.filter(|(_, of, _)| of.is_in(grouped)) {
        let places = source.text.matches(after).count();
        if places != 1 {
            return Err(format!("the kernel has changed: `{}` stands there {places} times", after.trim()).into());
        }
        source.text = source.text.replace(after, &format!("{after}{text}"));
    }
    source.text = format!(
        "__device__ unsigned long long cycles[{}];\n__shared__ long long ticks[32];\n\
         #define TICK(counts, k) if (counts) {{ const long long now = clock64(); \\\n\
         atomicAdd(&cycles[k], (unsigned long long)(now - ticks[threadIdx.x / 32])); \\\n\
         ticks[threadIdx.x / 32] = now; }}\n{}",
        TICKS.len(),
        source.text
    );
    Ok(())
}

/// Medians of a copy and of a scan, in turns.
fn measure<Op: TestOperator>(
    stream: &Arc<CudaStream>,
    scan: &Scan<Op>,
    input: &impl DeviceBuffer<Op::Item>,
    output: &mut impl DeviceBufferMut<Op::Item>,
) -> Outcome<(f64, f64)> {
    let (mut copies, mut scans) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        copies.push(sample(stream, || Ok(stream.memcpy_dtod(input, output)?))?);
        scans.push(sample(stream, || Ok(scan.on(stream).run_into(input, &mut *output)?))?);
    }
    Ok((median(copies), median(scans)))
}

/// From which length on look-ahead is the faster one.
fn lengths<Op: TestOperator>(name: &str, scanner: &Scanner) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let len = (1 << 30) / size_of::<Op::Item>();
    let block = inputs::<Op>(1 << 21);
    let input = filled(&stream, &block, len)?;
    let mut output = filled(&stream, &block, len)?;
    for log in 18..=30 {
        let bytes = 1 << log;
        let part = input.slice(..bytes / size_of::<Op::Item>());
        let mut to = output.slice_mut(..bytes / size_of::<Op::Item>());
        let look = |carry| configure::<Op>(scanner, WAY).strategy(with_warp_shuffles(carry));
        let (look_back, look_ahead) = (look(Carry::LookBack), look(Carry::LookAhead));
        measure(&stream, &look_ahead, &part, &mut to)?;
        let (copy, back) = measure(&stream, &look_back, &part, &mut to)?;
        let (_, ahead) = measure(&stream, &look_ahead, &part, &mut to)?;
        println!("| {name} | {bytes} | {copy:.1} | {back:.1} | {ahead:.1} |");
    }
    Ok(())
}

/// Elements left out before the input and before the output; in place, where there is no output.
const VIEWS: [(usize, Option<usize>); 9] = [
    (0, Some(0)),
    (1, Some(1)),
    (3, Some(3)),
    (1, Some(0)),
    (0, Some(1)),
    (7, Some(2)),
    (0, None),
    (1, None),
    (3, None),
];

/// Elements that are no more than all of them, less a few.
const VIEWED: [usize; 4] = [1 << 18, 1 << 20, 1 << 24, usize::MAX];

/// Views that begin at any element, and scans in place, of odd lengths.
fn views<Op: TestOperator>(name: &str, scanner: &Scanner) -> Outcome {
    const CALLS: usize = 20;
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let all = BYTES / size_of::<Op::Item>();
    let block = inputs::<Op>(1 << 21);
    let input = filled(&stream, &block, all)?;
    let mut output = filled(&stream, &block, all)?;
    let scan = configure::<Op>(scanner, WAY);
    for (before_input, before_output) in VIEWS {
        let mut row = String::new();
        for len in VIEWED.map(|len| len.min(all) - 7) {
            let part = input.slice(before_input..len + before_input);
            let first = before_output.unwrap_or(before_input);
            let mut to = output.slice_mut(first..len + first);
            let (mut copies, mut scans) = (Vec::new(), Vec::new());
            for _ in 0..SAMPLES {
                copies.push(sample(&stream, || (0..CALLS).try_for_each(|_| Ok(stream.memcpy_dtod(&part, &mut to)?)))?);
                scans.push(sample(&stream, || {
                    (0..CALLS).try_for_each(|_| match before_output {
                        Some(_) => Ok(scan.on(&stream).run_into(&part, &mut to)?),
                        None => Ok(scan.on(&stream).run_in_place(&mut to)?),
                    })
                })?);
            }
            let [copy, time] = [copies, scans].map(|times| median(times) / CALLS as f64);
            row.push_str(&format!(" {time:.2} ({:.3}) |", copy / time));
        }
        let to = before_output.map_or("in place".to_owned(), |first| first.to_string());
        println!("| {name} | {before_input} | {to} |{row}");
    }
    Ok(())
}

/// Microseconds of a call.
fn sample(stream: &Arc<CudaStream>, call: impl FnOnce() -> Outcome) -> Outcome<f64> {
    let start = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
    call()?;
    let end = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
    Ok(f64::from(start.elapsed_ms(&end)?) * 1e3)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
