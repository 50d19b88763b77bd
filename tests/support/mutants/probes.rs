//! Programs, and runs of each, that look at the kernels from every side: the strategies, shapes, operators and heads of the tests in
//! the emulator, a few short runs of each.

use std::{collections::BTreeSet, fmt::Debug, sync::LazyLock};

use scan_codegen::{
    ArrayKind, ArrayKinds, Arrays, Axis, ColumnsPlan, DeviceLimits, KernelSource, OffsetWidth, Overrides, Reduction,
    RenderError, ScanSpec, Segments, Target, Templates,
};
use scan_runtime::{
    BlockScan, Carry, Network, ScanKind, ScanOp, Strategy, TileNumbers,
    gallery::{bit_matrices::ShiftRegister, polynomial_hash::TextHash},
    ops::{self, SkipNulls},
};

use crate::{
    axes::{elements, strided},
    checked::{
        render_columns, render_columns_from, render_from, render_last_results_from, render_range_reduction_from,
        render_reduction_from,
    },
    climb::{self, climb},
    columns::{ColumnsOperator, Recurrence, Summarize, Widen},
    distant::{Distant, DistantColumns, DistantLastResults, EDGE, Far, Kernels, LAST_RESULTS, Segmented},
    emulated::{ColumnsProgram, Emulator, EmulatorError, LastResultsProgram, Program, RangesProgram, ReductionProgram},
    lifting::{self, Lifting},
    operators::{
        AffineU32, BitProduct, Bytes3Sum, COVERS, Interval, MatrixProduct, MixedSum, Span, TestOperator, adjacent,
        inputs, mixed,
    },
    ranges::ranges,
    reference::WAYS,
    segments::{
        HEAD_SOURCES, HeadSource, Heads, PATTERNS, Restart, RestartBack, begins, fit, fit_back, places, places_back,
    },
    several::{Pairs, Splitter, Spreader},
    stepped::{Appending, Coder, Composing, Mapped, Page, Reader, ReaderFromEnd, mappings, numbers},
    strategies::{self, IN_REGISTERS, LOOK_AHEAD},
};

/// Templates that tell their names.
static MARKED: LazyLock<Templates> = LazyLock::new(|| Templates::changed(|name, text| mark(name) + text));

fn mark(name: &str) -> String {
    format!("/* the template {name} */")
}

type Render = dyn Fn(&Templates) -> Result<KernelSource, RenderError>;
type Run = dyn Fn(&KernelSource) -> Result<(), EmulatorError>;

/// A program, and what is done with it.
pub struct Probe {
    /// What it is.
    pub name: String,
    /// The templates that its text is made of.
    pub templates: BTreeSet<&'static str>,
    /// Its text without a mutant.
    pub source: KernelSource,
    render: Box<Render>,
    run: Box<Run>,
}

impl Probe {
    fn new(
        name: String,
        render: impl Fn(&Templates) -> Result<KernelSource, RenderError> + 'static,
        run: impl Fn(&KernelSource) -> Result<(), EmulatorError> + 'static,
        source: KernelSource,
    ) -> Self {
        let marked = render(&MARKED).map_or_else(|_| String::new(), |source| source.text);
        let templates = Templates::texts().map(|(name, _)| name).filter(|name| marked.contains(&mark(name))).collect();
        Probe { name, templates, source, render: Box::new(render), run: Box::new(run) }
    }

    /// Its text from these templates.
    ///
    /// # Errors
    ///
    /// If a template is none any more.
    pub fn render(&self, templates: &Templates) -> Result<KernelSource, RenderError> {
        (self.render)(templates)
    }

    /// Compiles this text, and does with it what is done with the program.
    ///
    /// # Errors
    ///
    /// The first thing that goes wrong.
    pub fn run(&self, source: &KernelSource) -> Result<(), EmulatorError> {
        (self.run)(source)
    }
}

/// More accesses of one launch are taken for an endless loop.
const LIMIT: u64 = 200_000_000;

/// A probe of a scan.
fn scan<Op: ScanOp + Clone + 'static>(
    what: &str,
    program: Program<Op>,
    run: impl Fn(&Program<Op>) -> Result<(), EmulatorError> + 'static,
) -> Probe {
    let (source, operator) = (program.source.clone(), program.op.source());
    let (plan, device) = (program.plan.clone(), program.device);
    let name = format!("{what}, {}, {}, {} threads", plan.spec, plan.strategy, plan.threads);
    let with_text = move |source: &KernelSource| {
        let mut program = program.clone();
        program.source = source.clone();
        run(&program)
    };
    Probe::new(
        name,
        move |templates| render_from(templates, &operator, &plan, &device, Target::Host),
        with_text,
        source,
    )
}

/// Every probe, in groups. A group renders its probes, which takes long, when it is called. It panics if one cannot be planned.
pub const GROUPS: [fn(&mut Vec<Probe>); 29] = [
    reductions,
    last_results,
    range_reductions,
    ladder,
    totals,
    of_longer_inputs,
    runs_in_registers,
    clusters,
    look_ahead,
    run_parts,
    look_ahead_round_robin,
    lengths_on_device,
    last_runs,
    segmented,
    levels_of_aggregates,
    segmented_in_registers,
    segmented_look_ahead,
    reversed,
    rows,
    arrays,
    each_segment,
    along_an_axis,
    arrays_along_an_axis,
    epochs_along_an_axis,
    lifts,
    statuses,
    epochs,
    distant,
    distant_segments,
];

/// The strategies, those of which only the network differs by the simplest ways to carry alone.
fn ladder_strategies() -> impl Iterator<Item = Strategy> {
    strategies::all().filter(|strategy| {
        let simple = matches!(strategy.carry, Carry::OneBlock | Carry::ReduceThenScan);
        simple || matches!(strategy.block.network, Network::KoggeStone | Network::WarpShuffle)
    })
}

fn planned<T>(result: Result<T, EmulatorError>) -> T {
    result.unwrap_or_else(|error| panic!("a probe: {error}"))
}

fn ladder(probes: &mut Vec<Probe>) {
    for (threads, turn) in [(32, 0), (64, 1), (128, 2), (32, 3)] {
        for (index, strategy) in ladder_strategies().enumerate() {
            let program = planned(climb::program::<Interval>(strategy, WAYS[(index + turn) % 4], threads));
            let tile = u64::from(program.plan.tile);
            let lengths = [tile + 1, 1_019, 33, tile, 2 * tile + 1, tile - 1, 4_101, 1];
            let run = move |program: &Program<Interval>| {
                climb(program, &lengths, |emulator| emulator.check(adjacent).limit(LIMIT)).map_err(|(_, error)| error)
            };
            probes.push(scan("intervals", program, run));
        }
    }
}

fn totals(probes: &mut Vec<Probe>) {
    let first = strategies::all().next().map(|strategy| strategy.block);
    let strategies =
        strategies::all().filter(move |strategy| Some(strategy.block) == first || strategy.block.in_registers);
    for (index, strategy) in strategies.chain([LOOK_AHEAD]).enumerate() {
        for (group, with_initial_value) in [(None, false), (Some(2), true), (Some(2), false), (None, true)] {
            if group.is_some() && strategy != LOOK_AHEAD {
                continue;
            }
            let mut overrides = Overrides::default();
            overrides.strategy = Some(strategy);
            overrides.threads = Some([32, 64][index % 2]);
            (overrides.group, overrides.blocks) = (group, (strategy == LOOK_AHEAD).then_some(5));
            let spec = if index % 2 == 0 { ScanSpec::exclusive() } else { ScanSpec::inclusive() };
            let initial_value = with_initial_value.then(Interval::initial_value);
            let program = planned(Program::of(Interval, &spec.with_total(), initial_value, &overrides));
            let tile = u64::from(program.plan.tile);
            let run = move |program: &Program<Interval>| {
                let lengths = [1, tile, tile + 1, 1_019, 5 * tile, 12 * tile + 3];
                climb(program, &lengths, |emulator| emulator.check(adjacent).limit(LIMIT)).map_err(|(_, error)| error)
            };
            probes.push(scan("totals", program, run));
        }
    }
}

/// Plans for longer inputs, which have no kernel of one block, over a single tile.
fn of_longer_inputs(probes: &mut Vec<Probe>) {
    for carry in [Carry::ReduceThenScan, Carry::Chained(TileNumbers::Counter), Carry::LookBack, Carry::LookAtAll] {
        let Some(strategy) = strategies::all().find(|strategy| strategy.carry == carry) else { continue };
        for initial_value in [None, Some(Interval::initial_value())] {
            let mut overrides = Overrides::default();
            (overrides.strategy, overrides.threads) = (Some(strategy), Some(32));
            let spec = ScanSpec::exclusive().with_total();
            let program = planned(planned(Program::of(Interval, &spec, initial_value, &overrides)).for_longer_inputs());
            let tile = u64::from(program.plan.tile);
            let run = move |program: &Program<Interval>| {
                climb(program, &[1, tile - 1, tile], |emulator| emulator.check(adjacent).limit(LIMIT))
                    .map_err(|(_, error)| error)
            };
            probes.push(scan("a plan for longer inputs", program, run));
        }
    }
}

/// Inputs and outputs of several arrays: slices, each at a place of its own, and arrays of the other kinds.
fn arrays(probes: &mut Vec<Probe>) {
    use ArrayKind::{Bits, Computed, Next, NoMemory, Places, Previous, Slice};
    fn of<Op: ColumnsOperator<Output: Debug> + 'static>(
        probes: &mut Vec<Probe>,
        turn: usize,
        (input, output): (&[ArrayKind], &[ArrayKind]),
    ) {
        let kinds = |kinds: &[ArrayKind]| ArrayKinds::new(kinds.iter().copied());
        let in_shared_memory = strategies::all().find(|strategy| strategy.carry == Carry::LookBack);
        let strategies = [IN_REGISTERS[3]].into_iter().chain(in_shared_memory);
        let shapes = strategies.map(|strategy| Overrides::default().strategy(strategy).threads(64));
        let shapes = shapes.map(|overrides| (DeviceLimits::BASELINE, overrides));
        let look_ahead = [(64, 1, 4, 4, 3, None), (32, 2, 6, 8, 2, None)].map(look_ahead_of);
        for (index, (limits, overrides)) in shapes.chain(look_ahead).enumerate() {
            let index = index + turn;
            let (kind, with_initial_value) = WAYS[index % 4];
            let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
            let spec = if index % 3 == 2 { spec.reverse() } else { spec };
            let spec = if index % 2 == 1 { spec.with_total() } else { spec };
            let spec = spec.with_arrays(Arrays::PerField, Arrays::PerField).with_kinds(kinds(input), kinds(output));
            let initial_value = with_initial_value.then(Op::initial_value);
            let program = planned(Program::with_limits(Op::new(), &spec, initial_value, &limits, &overrides));
            let run = move |program: &Program<Op>| {
                let tile = program.plan.tile as usize;
                let lengths = [3 * tile + 7, tile, 1, 5 * tile, tile + 33];
                for seed in 0..14 {
                    // Each array alone begins where no other one does, or all at one place; at last, the results begin
                    // two items before or after.
                    let mut offsets = [seed % 2; 5];
                    offsets.iter_mut().skip(seed % 6).take(1).for_each(|offset| *offset += 1);
                    let offsets = if seed < 12 { offsets } else { [[1, 1, 3, 3, 3], [3, 3, 1, 1, 1]][seed - 12] };
                    let emulator = Emulator::new(mixed(seed as u64)).resident_blocks(1 + seed % 4).limit(LIMIT);
                    let input = Op::inputs(lengths[seed % 5], seed as u64);
                    program.verify_kinds(&emulator, &input, &offsets, None)?;
                }
                Ok(())
            };
            probes.push(scan("arrays", program, run));
        }
    }
    of::<Summarize>(probes, 0, (&[], &[]));
    of::<Widen>(probes, 1, (&[], &[]));
    of::<Recurrence>(probes, 2, (&[], &[]));
    of::<Summarize>(probes, 3, (&[Slice, Places(OffsetWidth::U64), NoMemory], &[Slice, Places(OffsetWidth::U64)]));
    of::<Recurrence>(probes, 4, (&[NoMemory, Places(OffsetWidth::U32)], &[Places(OffsetWidth::U32)]));
    of::<Splitter>(probes, 5, (&[], &[NoMemory, Computed, Computed]));
    of::<AffineU32>(probes, 6, (&[], &[]));
    of::<Summarize>(probes, 7, (&[Next, Slice, Previous], &[]));
    of::<SkipNulls<AffineU32>>(probes, 8, (&[Slice, Bits], &[]));
    several_places_in_place(probes);
}

/// Results of several places in stages that hold the results in the place of the elements.
fn several_places_in_place(probes: &mut Vec<Probe>) {
    let (limits, overrides) = look_ahead_of((64, 1, 4, 4, 3, None));
    let kinds = ArrayKinds::new([ArrayKind::NoMemory, ArrayKind::Computed]);
    let spec = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::PerField);
    let spec = spec.with_kinds(ArrayKinds::default(), kinds);
    let program = planned(Program::with_limits(Spreader, &spec, None, &limits, &overrides));
    let run = |program: &Program<Spreader>| {
        let input = vec![Pairs { a: [1, 4], b: [5, 0] }; 3 * program.plan.tile as usize + 7];
        (0..4).try_for_each(|offset| program.verify_kinds(&Emulator::new(1), &input, &[offset; 3], None))
    };
    probes.push(scan("several places in place", program, run));
}

/// Initial values and totals of each segment: of rows and between offsets, one of which is the only one.
fn each_segment(probes: &mut Vec<Probe>) {
    let registers = |heads: &Heads| (0..count(heads) as u64).map(|index| mixed(index) as u32).collect();
    let lifted = |heads: &Heads| lifting::inputs(heads.begins.len());
    for turn in 0..4 {
        of_each_segment(probes, &Coder, turn, (false, 77), lifted, registers);
        of_each_segment(probes, &Coder, turn, (true, 77), lifted, registers);
        let values = |heads: &Heads| mappings(count(heads));
        of_each_segment(probes, &Appending, turn, (turn % 2 == 1, lifting::INITIAL_VALUE), lifted, values);
    }
    /// The place before the first element of each segment: of no other.
    fn before(heads: &Heads) -> Vec<Span> {
        let places = places(&heads.begins);
        let place = |segment: &std::ops::Range<usize>| match segment.is_empty() {
            true => 7,
            false => places[segment.start].first - 1,
        };
        let places = heads.segments_of(places.len()).iter().map(place).collect::<Vec<_>>();
        places.into_iter().map(|place| Span { first: place, last: place, kind: COVERS }).collect()
    }
    for turn in 0..2 {
        of_each_segment(
            probes,
            &Restart,
            turn,
            (false, before(&Heads::rows(1, 1))[0]),
            |heads| places(&heads.begins),
            before,
        );
    }
}

fn count(heads: &Heads) -> usize {
    heads.segments_of(heads.begins.len()).len()
}

fn of_each_segment<Op: ScanOp<Output: Debug> + Clone + 'static>(
    probes: &mut Vec<Probe>,
    op: &Op,
    turn: usize,
    (reversed, initial_value): (bool, Op::Carry),
    inputs: fn(&Heads) -> Vec<Op::Input>,
    values: fn(&Heads) -> Vec<Op::Carry>,
) {
    const KINDS: [Segments; 3] =
        [Segments::Rows, Segments::Offsets(OffsetWidth::U32), Segments::Offsets(OffsetWidth::U64)];
    let in_shared_memory = strategies::all().find(|strategy| strategy.carry == Carry::LookBack);
    let strategies = [IN_REGISTERS[3]].into_iter().chain(in_shared_memory);
    let shapes =
        strategies.map(|strategy| (DeviceLimits::BASELINE, Overrides::default().strategy(strategy).threads(32)));
    let look_ahead = [(32, 2, 5, 4, 3, None), (64, 2, 6, 12, 2, None)].map(look_ahead_of);
    for (index, (limits, overrides)) in shapes.chain(look_ahead).enumerate() {
        for kind in [&KINDS[0], &KINDS[1 + (index + turn) % 2]] {
            // Values of each, or one for all, or none; and totals.
            let asked = if size_of::<Op::Carry>() == size_of::<Span>() { 0 } else { (index + turn) % 4 };
            let spec = if (index + turn / 2) % 2 == 1 { ScanSpec::exclusive() } else { ScanSpec::inclusive() };
            let spec = if reversed { spec.reverse() } else { spec };
            let spec = spec.with_segments(kind.clone());
            let spec = if asked < 2 { spec.with_initial_values() } else { spec };
            let spec = if asked == 1 { spec } else { spec.with_totals() };
            let initial_value = (asked == 3).then_some(initial_value);
            let program = planned(Program::with_limits(op.clone(), &spec, initial_value, &limits, &overrides));
            let run = move |program: &Program<Op>| {
                let tile = program.plan.tile as usize;
                for run in 0..10 {
                    let length = [3 * tile + 5, 1, 2 * tile, tile - 1, 40 * tile.min(96) + 7][run % 5];
                    let heads = match program.plan.spec.segments {
                        Segments::Rows => {
                            let row = [1, 7, 2, tile, tile + 1, 33, 2 * tile + 3, length][run % 8];
                            Heads::rows(row, length.div_ceil(row) * row)
                        }
                        Segments::Offsets(width) => {
                            let begins = begins(PATTERNS[(run * 5 + 11) % PATTERNS.len()], length, tile);
                            Heads::covering(width == OffsetWidth::U64, &begins)
                        }
                        _ => continue,
                    };
                    let (input, values) = (inputs(&heads), values(&heads));
                    let program = match program.plan.spec.initial_values {
                        true => program.with_heads_and_values(heads, values),
                        false => program.with_heads(heads),
                    };
                    let emulator = Emulator::new(mixed(run as u64)).resident_blocks(1 + run % 4).limit(LIMIT);
                    program.verify_at_offset(&emulator, &input, (run % 4, run / 4 % 3))?;
                }
                // Offsets that do not cover the input give any results, but no access out of bounds.
                let Segments::Offsets(width) = program.plan.spec.segments else { return Ok(()) };
                for heads in Heads::uncovering(width == OffsetWidth::U64, 2 * tile) {
                    let (input, values) = (inputs(&heads), values(&heads));
                    program.with_heads_and_values(heads, values).run(&Emulator::new(1).limit(LIMIT), &input)?;
                }
                Ok(())
            };
            probes.push(scan("values of each segment", program, run));
        }
    }
}

/// Scans along an axis of several arrays, with initial values and totals of each column, or without; contiguous, and
/// with strides that differ between input and output.
fn arrays_along_an_axis(probes: &mut Vec<Probe>) {
    fn of<Op: ColumnsOperator<Output: Debug, Carry: Debug> + 'static>(
        probes: &mut Vec<Probe>,
        spec: &ScanSpec,
        (threads, run, width, across): (u32, u32, u32, u32),
        alone: bool,
    ) {
        let spec = spec.clone().with_arrays(Arrays::PerField, Arrays::PerField);
        let overrides = Overrides::default().threads(threads).run(run).blocks(5);
        // That of items which all columns of a warp have, where there is one.
        let repeats = |plan: &ColumnsPlan| {
            render_columns(&Op::new().source(), plan).is_ok_and(|source| source.text.contains("begin_repeated("))
        };
        let shaped = |plan: ColumnsPlan| {
            let plan = plan.shaped(width, across);
            let plan = if alone { plan.streaming(run) } else { plan };
            if across < 32 { plan } else { plan.all().into_iter().find(repeats).unwrap_or(plan) }
        };
        let program = planned(ColumnsProgram::new(Op::new(), &spec, None, &overrides, shaped));
        let (source, operator, plan) = (program.source.clone(), program.op.source(), program.plan.clone());
        let alone = if alone { ", each alone" } else { "" };
        let name = format!("arrays along an axis, {spec}, {threads} threads, {across} side by side{alone}");
        let render = move |templates: &Templates| render_columns_from(templates, &operator, &plan, Target::Host);
        let run = move |source: &KernelSource| {
            let mut program = program.clone();
            program.source = source.clone();
            let arrays: [(&[usize], usize); 6] = [
                (&[147, 38], 0),
                (&[3, 49, 32], 1),
                (&[2, 2, 35, 34], 2),
                (&[1, 70], 0),
                (&[40, 2], 0),
                (&[2, 39, 64], 1),
            ];
            let contiguous = arrays.into_iter().filter_map(|(shape, axis)| Axis::of(shape, axis).ok());
            let strides = [
                strided(&[70, 6], 0, &[8, 1], &[6, 1]),
                strided(&[6, 70, 4], 1, &[4, 24, 1], &[1, 24, 6]),
                strided(&[35, 40], 0, &[1, 35], &[40, 1]),
            ];
            for (seed, axis) in contiguous.chain(strides).enumerate() {
                let input = Op::inputs(axis.input_len(), seed as u64);
                let values: Vec<_> = (0..axis.columns()).map(|_| Op::initial_value()).collect();
                let values = program.plan.spec.initial_values.then_some(&values[..]);
                let offsets: &[usize] = [&[][..], &[0, 0, 0, 1], &[8, 4, 16]][seed % 3];
                let emulator = Emulator::new(mixed(seed as u64)).resident_blocks(1 + seed % 4).limit(LIMIT);
                // One item for each index of the last dimension.
                let last = axis.shape().len() - 1;
                let own: Vec<isize> = (0..=last).map(|k| isize::from(k < last) * (k as isize + 1)).collect();
                program.verify_kinds(&emulator, &axis, &input, values, offsets, &[&own])?;
            }
            Ok(())
        };
        probes.push(Probe::new(name, render, run, source));
    }
    let values = || ScanSpec::exclusive().with_initial_values().with_totals();
    of::<Recurrence>(probes, &ScanSpec::inclusive(), (64, 2, 2, 16), false);
    of::<Summarize>(probes, &ScanSpec::inclusive().reverse().with_totals(), (32, 3, 1, 4), false);
    of::<Summarize>(probes, &values(), (64, 2, 2, 16), false);
    for (spec, shape) in [
        (ScanSpec::inclusive(), (64, 2, 2, 16)),
        (ScanSpec::inclusive().reverse(), (32, 3, 1, 4)),
        (ScanSpec::inclusive().reverse(), (64, 2, 2, 32)),
    ] {
        let kinds = ArrayKinds::new([ArrayKind::Strided, ArrayKind::Previous, ArrayKind::Next]);
        of::<Summarize>(probes, &spec.with_kinds(kinds, ArrayKinds::default()), shape, false);
    }
    of::<Coder>(probes, &values().reverse(), (64, 1, 1, 32), false);
    // Threads that scan their columns alone.
    of::<Recurrence>(probes, &ScanSpec::inclusive(), (32, 3, 2, 32), true);
    of::<Summarize>(probes, &values().reverse(), (32, 2, 1, 32), true);
    of::<Coder>(probes, &values(), (32, 2, 2, 32), true);
}

/// Launches along an axis in the middle and at the end of a cycle of epochs: at the end, the statuses are cleared that
/// are not used.
fn epochs_along_an_axis(probes: &mut Vec<Probe>) {
    const CYCLE: u32 = 1 << 22;
    let overrides = Overrides::default().threads(64).run(2).blocks(5);
    let shaped = |plan: ColumnsPlan| plan.shaped(2, 16);
    let program = planned(ColumnsProgram::new(Interval, &ScanSpec::inclusive(), None, &overrides, shaped));
    let (source, operator, plan) = (program.source.clone(), program.op.source(), program.plan.clone());
    let render = move |templates: &Templates| render_columns_from(templates, &operator, &plan, Target::Host);
    let run = move |source: &KernelSource| {
        let mut program = program.clone();
        program.source = source.clone();
        let scan = |program: &mut ColumnsProgram<Interval>, rows: usize, epoch: u32, seed: u64| {
            if let Some(bytes) = program.kept_bytes().get_mut(4..8) {
                bytes.copy_from_slice(&epoch.to_le_bytes());
            }
            let Ok(axis) = Axis::of(&[rows, 32], 0) else { return Ok(0) };
            let input = elements(&axis, 1 << 32, |index| Interval::input((seed << 40) + index));
            let emulator = Emulator::new(mixed(seed)).resident_blocks(usize::MAX).check(adjacent).limit(LIMIT);
            program.verify(&emulator.clone().interrupt_once_in(8), &axis, &input, (0, 0))?;
            if let Some(bytes) = program.kept_bytes().get_mut(4..8) {
                bytes.copy_from_slice(&epoch.to_le_bytes());
            }
            let counters = program.counters(&emulator, &axis, &input)?;
            Ok::<u64, EmulatorError>(counters.launches.iter().map(|launch| launch.global_written).sum())
        };
        for (seed, rows) in [40, 17, 8, 100].into_iter().enumerate() {
            let seed = 8 * seed as u64;
            program.kept_bytes().clear();
            scan(&mut program, rows, 0, seed)?;
            let written = scan(&mut program, rows, 7, seed + 1)?;
            // Nothing but statuses has other bytes than zeros; what is not used is cleared, and nothing besides.
            program.kept_bytes().fill(0);
            scan(&mut program, rows, 7, seed + 2)?;
            let statuses = program.kept_bytes().get(256..).unwrap_or_default();
            let unused = 16 * statuses.chunks(16).filter(|packet| packet.iter().all(|byte| *byte == 0)).count() as u64;
            let cleared = scan(&mut program, rows, CYCLE - 1, seed + 3)? - written;
            if cleared != unused {
                let message = format!("{cleared} bytes are cleared, and {unused} are not used");
                return Err(EmulatorError::Launch { kernel: program.source.name.clone(), message });
            }
        }
        Ok(())
    };
    probes.push(Probe::new("launches along an axis".to_owned(), render, run, source));
}

/// Elements, columns and segments beyond 2^32.
fn distant(probes: &mut Vec<Probe>) {
    let told = |kernel: &str| {
        let kernel = kernel.to_owned();
        move |message: String| EmulatorError::Launch { kernel: kernel.clone(), message }
    };
    for far in [Far::Rows, Far::Columns, Far::Planes, Far::Tall] {
        let program = DistantColumns::new(far);
        let (operator, plan) = (program.program.op.source(), program.program.plan.clone());
        let render = move |templates: &Templates| render_columns_from(templates, &operator, &plan, Target::Host);
        let source = planned(render(Templates::of_kernels()).map_err(EmulatorError::from));
        let failed = told(&source.name);
        // A mistake where the text is changed is for other probes.
        let run = move |source: &KernelSource| match program.with_source(source) {
            Some(program) => program.verify(&Emulator::new(1).limit(LIMIT)).map_err(&failed),
            None => Ok(()),
        };
        probes.push(Probe::new(format!("distant {far:?} of columns"), render, run, source));
    }
    for told_by in LAST_RESULTS {
        let program = DistantLastResults::new(told_by);
        let (operator, plan) = (ops::sum::<u32>().source(), program.program.plan.clone());
        let render = move |templates: &Templates| render_last_results_from(templates, &operator, &plan, Target::Host);
        let source = planned(render(Templates::of_kernels()).map_err(EmulatorError::from));
        let failed = told(&source.name);
        let run = move |source: &KernelSource| {
            program.with_source(source).verify(&Emulator::new(1).limit(LIMIT)).map_err(&failed)
        };
        probes.push(Probe::new(format!("distant last results by {told_by:?}"), render, run, source));
    }
    let in_shared_memory = |carry| strategies::all().find(|strategy| strategy.carry == carry);
    let registers = IN_REGISTERS[3];
    let [one_block, chained, look_back, reduce_then_scan] =
        [Carry::OneBlock, Carry::Chained(TileNumbers::Counter), Carry::LookBack, Carry::ReduceThenScan]
            .map(in_shared_memory);
    let tiles = [chained, look_back, Some(registers)].into_iter().map(|strategy| (strategy, Kernels::Single));
    let of_tiles = [Kernels::ReduceTiles, Kernels::ScanTiles].map(|kernels| (reduce_then_scan, kernels));
    let shapes = tiles.chain([(one_block, Kernels::Single)]).chain(of_tiles).map(|(strategy, kernels)| {
        let mut overrides = Overrides::default();
        (overrides.strategy, overrides.threads) = (strategy, Some(32));
        overrides.run = (strategy == Some(registers)).then_some(4);
        (DeviceLimits::BASELINE, overrides, kernels)
    });
    let (limits, mut look_ahead) = look_ahead_of((32, 1, 3, 2, 3, None));
    look_ahead.group = Some(1);
    for (limits, overrides, kernels) in shapes.chain([(limits, look_ahead, Kernels::Single)]) {
        let initial_value = (overrides.strategy == one_block).then(Interval::initial_value);
        let spec = ScanSpec::inclusive();
        let program = planned(Program::with_limits(Interval, &spec, initial_value, &limits, &overrides));
        let distant = Distant::new(program.clone(), kernels, None);
        let run = move |program: &Program<Interval>| match distant.with_source(&program.source) {
            Some(distant) => {
                let failed = |message| EmulatorError::Launch { kernel: program.source.name.clone(), message };
                distant.verify(&Emulator::new(1).check(adjacent).limit(LIMIT)).map_err(failed)
            }
            None => Ok(()),
        };
        probes.push(scan("distant", program, run));
    }
    let segments = [0, 2, 4, 8].map(Segmented::Numbered).into_iter();
    for told in segments.chain([Segmented::Rows(37), Segmented::Rows(EDGE + 20)]) {
        let (limits, mut look_ahead) = look_ahead_of((32, 1, 3, 2, 3, None));
        look_ahead.group = Some(1);
        let overrides = |strategy: Option<Strategy>| {
            let mut overrides = Overrides::default();
            (overrides.strategy, overrides.threads) = (strategy, Some(32));
            overrides.run = (strategy == Some(registers)).then_some(4);
            (DeviceLimits::BASELINE, overrides)
        };
        for (limits, overrides) in [overrides(look_back), overrides(Some(registers)), (limits, look_ahead)] {
            let spec = ScanSpec::inclusive().with_segments(told.segments());
            let program = planned(Program::with_limits(Restart, &spec, None, &limits, &overrides));
            let distant = Distant::new(program.clone(), Kernels::Single, Some(told));
            let run = move |program: &Program<Restart>| match distant.with_source(&program.source) {
                Some(distant) => {
                    let failed = |message| EmulatorError::Launch { kernel: program.source.name.clone(), message };
                    distant.verify(&Emulator::new(1).check(fit).limit(LIMIT)).map_err(failed)
                }
                None => Ok(()),
            };
            probes.push(scan(&format!("distant {told:?}"), program, run));
        }
    }
}

/// Segments beyond 2^32 with values of their own: rows of one element, and segments between offsets, which look-ahead
/// searches by other means.
fn distant_segments(probes: &mut Vec<Probe>) {
    let (limits, mut look_ahead) = look_ahead_of((32, 1, 3, 2, 3, None));
    look_ahead.group = Some(1);
    let look_back = strategies::all().find(|strategy| strategy.carry == Carry::LookBack);
    let tiles = [(look_back, None), (Some(IN_REGISTERS[3]), Some(4))].map(|(strategy, run)| {
        let mut overrides = Overrides::default();
        (overrides.strategy, overrides.threads, overrides.run) = (strategy, Some(32), run);
        (DeviceLimits::BASELINE, overrides)
    });
    let of_rows = tiles.iter().cloned().chain([(limits, look_ahead)]).map(|shape| (Segmented::Rows(1), shape));
    for (told, (limits, overrides)) in of_rows.chain(tiles.iter().cloned().map(|shape| (Segmented::Late, shape))) {
        let spec = ScanSpec::inclusive().with_segments(told.segments()).with_initial_values();
        // Blocks look for empty segments among all, for their totals.
        let spec = if told == Segmented::Late { spec } else { spec.with_totals() };
        let program = planned(Program::with_limits(Restart, &spec, None, &limits, &overrides));
        let distant = Distant::new(program.clone(), Kernels::Single, Some(told));
        let run = move |program: &Program<Restart>| match distant.with_source(&program.source) {
            Some(distant) => {
                let failed = |message| EmulatorError::Launch { kernel: program.source.name.clone(), message };
                distant.verify(&Emulator::new(1).check(fit).limit(LIMIT)).map_err(failed)
            }
            None => Ok(()),
        };
        probes.push(scan(&format!("distant segments, {told:?}"), program, run));
    }
}

/// Shapes of arrays of several groups of tiles, of several dimensions and of less than a tile.
fn along_an_axis(probes: &mut Vec<Probe>) {
    fn of<Op: TestOperator + 'static>(
        probes: &mut Vec<Probe>,
        spec: &ScanSpec,
        initial_value: Option<Op::Carry>,
        prepare: fn(Emulator) -> Emulator,
    ) {
        for (threads, run, width, across, alone) in
            [(64, 2, 2, 16, false), (32, 3, 1, 4, false), (64, 1, 1, 64, false), (32, 2, 1, 32, true)]
        {
            let overrides = Overrides::default().threads(threads).run(run);
            let shaped = |plan: ColumnsPlan| {
                let plan = plan.shaped(width, across);
                if alone { plan.streaming(run) } else { plan }
            };
            let program = ColumnsProgram::new(Op::new(), spec, initial_value, &overrides, shaped);
            let program = planned(program);
            let (source, operator, plan) = (program.source.clone(), program.op.source(), program.plan.clone());
            let name = format!("along an axis, {spec}, {threads} threads, {across} side by side");
            let render = move |templates: &Templates| render_columns_from(templates, &operator, &plan, Target::Host);
            let run = move |source: &KernelSource| {
                let mut program = program.clone();
                program.source = source.clone();
                let shapes: [(&[usize], usize); 5] =
                    [(&[147, 38], 0), (&[3, 49, 32], 1), (&[2, 2, 35, 34], 2), (&[1, 70], 0), (&[40, 2], 0)];
                for seed in 0..10 {
                    let (shape, axis) = shapes[seed as usize % 5];
                    let Ok(axis) = Axis::of(shape, axis) else { continue };
                    let apart = if program.initial_value.is_some() { 0 } else { 1 << 32 };
                    let input = elements(&axis, apart, Op::input);
                    let emulator =
                        Emulator::new(mixed(seed)).resident_blocks([1, 3, 7][seed as usize % 3]).limit(LIMIT);
                    let emulator = prepare(if seed % 2 == 0 { emulator.interrupt_once_in(8) } else { emulator });
                    program.verify(&emulator, &axis, &input, (0, 0))?;
                }
                Ok(())
            };
            probes.push(Probe::new(name, render, run, source));
        }
    }
    of::<Interval>(probes, &ScanSpec::inclusive(), None, |emulator| emulator.check(adjacent));
    of::<Interval>(probes, &ScanSpec::exclusive(), Some(Interval::initial_value()), |emulator| {
        emulator.check(adjacent)
    });
    of::<MatrixProduct<2>>(probes, &ScanSpec::exclusive().reverse(), None, |emulator| emulator);
}

fn reductions(probes: &mut Vec<Probe>) {
    reductions_of(probes, Interval, Interval::initial_value(), inputs::<Interval>, |emulator| emulator.check(adjacent));
    reductions_of(probes, Lifting, lifting::INITIAL_VALUE, lifting::inputs, |emulator| emulator);
}

fn reductions_of<Op: ScanOp + Clone + 'static>(
    probes: &mut Vec<Probe>,
    op: Op,
    initial_value: Op::Carry,
    inputs: fn(usize) -> Vec<Op::Input>,
    prepare: fn(Emulator) -> Emulator,
) where
    Op::Output: Debug,
{
    for threads in [32, 128] {
        for reduction in [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened] {
            for initial_value in [None, Some(initial_value)] {
                let mut limits = DeviceLimits::BASELINE;
                limits.threads_per_block = threads;
                let program = planned(ReductionProgram::new(op.clone(), reduction, initial_value, &limits));
                let (source, operator, plan) = (program.source.clone(), program.op.source(), program.plan.clone());
                let name = format!("reduction, {}, {threads} threads, {}", plan.reduction, initial_value.is_some());
                let render =
                    move |templates: &Templates| render_reduction_from(templates, &operator, &plan, Target::Host);
                let run = move |source: &KernelSource| {
                    let mut program = program.clone();
                    program.source = source.clone();
                    let tile = program.plan.tile as usize;
                    for length in [tile + 1, 1, 3, tile - 1, 7 * tile, 1_019, 4_101] {
                        let emulator = prepare(Emulator::new(length as u64).limit(LIMIT));
                        program.verify(&emulator, &inputs(length), length % 4)?;
                    }
                    Ok(())
                };
                probes.push(Probe::new(name, render, run, source));
            }
        }
    }
}

fn last_results(probes: &mut Vec<Probe>) {
    let op = ops::sum::<i32>();
    let from_either_end = [ScanSpec::inclusive(), ScanSpec::inclusive().reverse()];
    let head_sources = [0, 2, 3, 5, 7, 8, HEAD_SOURCES];
    for (head_source, spec) in
        head_sources.iter().flat_map(|source| from_either_end.iter().map(move |spec| (*source, spec)))
    {
        let heads = move |len: usize, pattern: usize| match head_source {
            HEAD_SOURCES => Heads::rows(3, len / 3 * 3),
            _ => Heads::new(head_source, &begins(PATTERNS[pattern % PATTERNS.len()], len, 1_024)),
        };
        let program = planned(LastResultsProgram::with_spec(&op, spec, &heads(3, 0), 32));
        let (source, operator, plan) = (program.source.clone(), op.source(), program.plan.clone());
        let name = plan.description();
        let render = move |templates: &Templates| render_last_results_from(templates, &operator, &plan, Target::Host);
        let run = move |source: &KernelSource| {
            let mut program = program.clone();
            program.source = source.clone();
            for (pattern, length) in [1, 33, 1_024, 1_025, 36_000].into_iter().enumerate() {
                let heads = heads(length, head_source + pattern);
                let scanned = inputs::<ops::Sum<i32>>(heads.begins.len());
                program.verify(&Emulator::new(length as u64).limit(LIMIT), &scanned, &heads, -1)?;
            }
            // No access beyond the end, wherever segments end.
            let beyond = match head_source {
                7 => HeadSource::Offsets(vec![0, 5, 101, 100]),
                8 => HeadSource::LongOffsets(vec![0, 5, 101, (1 << 32) + 7]),
                _ => return Ok(()),
            };
            let heads = Heads { begins: vec![true; 100], source: beyond };
            program.run(&Emulator::new(1), &inputs::<ops::Sum<i32>>(100), &heads, -1, 3).map(drop)
        };
        probes.push(Probe::new(name, render, run, source));
    }
}

fn range_reductions(probes: &mut Vec<Probe>) {
    let spec = ScanSpec::inclusive();
    for (spec, width) in [
        (spec.clone(), OffsetWidth::U32),
        (spec.clone().reverse().with_initial_value(), OffsetWidth::U64),
        (spec.with_initial_values(), OffsetWidth::U32),
    ] {
        let program = planned(RangesProgram::new(AffineU32, &spec, width, 64));
        let (source, operator, plan) = (program.source.clone(), AffineU32.source(), program.plan.clone());
        let name = plan.description();
        let render =
            move |templates: &Templates| render_range_reduction_from(templates, &operator, &plan, Target::Host);
        let run = move |source: &KernelSource| {
            let mut program = program.clone();
            program.source = source.clone();
            for (len, count) in [(3_001, 400), (120, 90), (0, 3)] {
                let within = ranges(count, 1_100, len).into_iter().map(|range| (range.start as u64, range.end as u64));
                // The last two are not within the input.
                let all: Vec<_> = within.chain([(5, len as u64 + 1), (7, 3)]).collect();
                let values: Vec<_> = (0..all.len() as u64).map(AffineU32::input).collect();
                let emulator = Emulator::new(len as u64).limit(LIMIT);
                program.verify(&emulator, &inputs::<AffineU32>(len), &all, &values)?;
            }
            Ok(())
        };
        probes.push(Probe::new(name, render, run, source));
    }
}

/// Runs a program in every place: as it is, in place, and between addresses that are aligned for one element only.
fn in_every_place<Op: TestOperator>(
    program: &Program<Op>,
    seeds: u64,
    lengths: impl Fn(u64) -> Vec<u64>,
    prepare: impl Fn(Emulator) -> Emulator,
) -> Result<(), EmulatorError> {
    const OFFSETS: [(usize, usize); 6] = [(1, 1), (3, 3), (1, 0), (0, 5), (7, 2), (15, 4)];
    let lengths = lengths(u64::from(program.plan.tile));
    for run in 0..seeds {
        let input = inputs::<Op>(lengths[run as usize % lengths.len()].min(program.plan.max_len) as usize);
        let by_index = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
        let resident = if by_index { usize::MAX } else { [100, 1, 3, 2][run as usize / 2 % 4] };
        let emulator = Emulator::new(mixed(run)).resident_blocks(resident).limit(LIMIT);
        let emulator = prepare(if run % 3 == 0 { emulator.interrupt_once_in(8) } else { emulator });
        match run % 3 {
            0 => program.verify(&emulator, &input)?,
            1 => program.verify_at_offset(&emulator, &input, OFFSETS[run as usize / 3 % 6])?,
            _ => program.verify_in_place(&emulator, &input)?,
        };
    }
    Ok(())
}

fn runs_in_registers(probes: &mut Vec<Probe>) {
    fn of<Op: TestOperator + 'static>(
        probes: &mut Vec<Probe>,
        what: &str,
        shapes: &[(u32, u32, u32)],
        prepare: fn(Emulator) -> Emulator,
    ) {
        for (index, &(threads, run, statuses_per_lane)) in shapes.iter().enumerate() {
            for strategy in IN_REGISTERS {
                let (kind, with_initial_value) = WAYS[(index + strategy.carry.name().len()) % 4];
                let mut overrides = Overrides::default();
                overrides.strategy = Some(strategy);
                (overrides.threads, overrides.run) = (Some(threads), Some(run));
                overrides.statuses_per_lane = (strategy.carry == Carry::LookBack).then_some(statuses_per_lane);
                let initial_value = with_initial_value.then(Op::initial_value);
                let program = planned(Program::new(Op::new(), kind, initial_value, &overrides));
                let lengths =
                    |tile: u64| vec![5 * tile + 7, 1, tile + 1, 150 * tile.min(64), tile, 33, 3 * tile, tile - 1];
                probes.push(scan(what, program, move |program| in_every_place(program, 16, lengths, prepare)));
            }
        }
    }
    of::<Interval>(probes, "intervals", &[(64, 3, 2), (32, 1, 1), (128, 4, 2)], |emulator| emulator.check(adjacent));
    of::<ops::Sum<u8>>(probes, "bytes", &[(64, 12, 1), (32, 7, 2), (64, 16, 2)], |emulator| emulator);
    of::<Bytes3Sum>(probes, "three bytes", &[(64, 4, 1)], |emulator| emulator);
    of::<MixedSum>(probes, "twelve bytes", &[(64, 5, 2)], |emulator| emulator);
    of::<MatrixProduct<3>>(probes, "matrices", &[(32, 2, 1)], |emulator| emulator);
}

fn clusters(probes: &mut Vec<Probe>) {
    for (index, (threads, run, blocks)) in
        [(32, 3, 8), (64, 4, 2), (32, 7, 5), (128, 1, 3), (32, 5, 1)].into_iter().enumerate()
    {
        let (kind, with_initial_value) = WAYS[index % 4];
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let spec = if index % 2 == 0 { spec.with_total() } else { spec };
        let mut overrides = Overrides::default();
        overrides.strategy = Some(IN_REGISTERS[5]);
        (overrides.threads, overrides.run, overrides.blocks) = (Some(threads), Some(run), Some(blocks));
        let program =
            planned(Program::of(Interval, &spec, with_initial_value.then(Interval::initial_value), &overrides));
        let lengths = move |tile: u64| {
            let round = tile * u64::from(blocks);
            vec![3 * round - tile / 2, tile + 1, round, round + 1, 5 * round, 2 * tile, round - 1]
        };
        probes.push(scan("a cluster", program, move |program| {
            in_every_place(program, 12, lengths, |emulator| emulator.check(adjacent))
        }));
    }
}

/// Look-ahead of this shape on a device with room for it: threads of a team, teams, stages, elements a thread, blocks, sums a lane.
fn look_ahead_of(
    (threads, teams, stages, run, blocks, statuses_per_lane): (u32, u32, u32, u32, u32, Option<u32>),
) -> (DeviceLimits, Overrides) {
    let mut limits = DeviceLimits::BASELINE;
    limits.shared_bytes_per_block_optin = 227 * 1024;
    let mut overrides = Overrides::default();
    overrides.strategy = Some(LOOK_AHEAD);
    (overrides.threads, overrides.teams, overrides.stages) = (Some(threads), Some(teams), Some(stages));
    (overrides.run, overrides.blocks, overrides.statuses_per_lane) = (Some(run), Some(blocks), statuses_per_lane);
    overrides.group = Some(if blocks > 4 { blocks / 2 } else { 1 });
    (limits, overrides)
}

type LookAheadShape = (u32, u32, u32, u32, u32, Option<u32>);

fn look_ahead(probes: &mut Vec<Probe>) {
    const SHAPES: [LookAheadShape; 6] = [
        (32, 2, 5, 4, 3, None),
        (96, 2, 5, 4, 5, None),
        (64, 2, 6, 4, 4, Some(2)),
        (32, 1, 3, 8, 6, None),
        (96, 1, 3, 3, 4, Some(1)),
        (32, 4, 9, 12, 7, None),
    ];
    fn of<Op: TestOperator + 'static>(
        probes: &mut Vec<Probe>,
        what: &str,
        shapes: &[usize],
        prepare: fn(Emulator) -> Emulator,
    ) {
        for &index in shapes {
            let (threads, teams, stages, run, blocks, statuses_per_lane) = SHAPES[index];
            let run = run.min((256 / size_of::<Op::Item>() as u32).max(1));
            let (limits, overrides) = look_ahead_of((threads, teams, stages, run, blocks, statuses_per_lane));
            let (kind, with_initial_value) = WAYS[index % 4];
            let initial_value = with_initial_value.then(Op::initial_value);
            let seeds = if size_of::<Op::Item>() > 32 { 8 } else { 24 };
            let program = planned(Program::planned(Op::new(), kind, initial_value, &limits, &overrides));
            let lengths = |tile| {
                vec![23 * tile - 1, tile + 1, 12 * tile + 7, 1, 5 * tile, tile, 33, 17 * tile - 40, 40 * tile + 5]
            };
            probes.push(scan(what, program, move |program| in_every_place(program, seeds, lengths, prepare)));
        }
    }
    of::<Interval>(probes, "intervals", &[0, 1, 2, 3, 4, 5], |emulator| emulator.check(adjacent));
    of::<ops::Sum<u8>>(probes, "bytes", &[0, 5, 3, 4], |emulator| emulator);
    of::<MatrixProduct<3>>(probes, "matrices", &[2, 3, 0], |emulator| emulator);
    of::<MixedSum>(probes, "twelve bytes", &[2, 5], |emulator| emulator);
    of::<Bytes3Sum>(probes, "three bytes", &[1, 2], |emulator| emulator);
    of::<MatrixProduct<4>>(probes, "large matrices", &[0, 5], |emulator| emulator);
    of::<ops::Sum<i16>>(probes, "two bytes", &[2], |emulator| emulator);
    between_the_addresses_of_bulk_copies(probes, look_ahead_of(SHAPES[2]));
}

/// Runs that are reduced in parts, from either end.
fn run_parts(probes: &mut Vec<Probe>) {
    fn of<Op: ScanOp<Output: Debug> + Copy + 'static>(
        probes: &mut Vec<Probe>,
        op: Op,
        initial_value: Op::Carry,
        input: fn(usize) -> Vec<Op::Input>,
    ) {
        let ways = [
            (ScanSpec::inclusive(), (32, 1, 3, 200, 3, None)),
            (ScanSpec::exclusive().with_initial_value().reverse(), (64, 1, 3, 120, 2, None)),
        ];
        for (spec, shape) in ways {
            let (limits, overrides) = look_ahead_of(shape);
            let initial_value = spec.initial_value.then_some(initial_value);
            let program = planned(Program::with_limits(op, &spec, initial_value, &limits, &overrides));
            let run = move |program: &Program<Op>| {
                let tile = program.plan.tile as usize;
                for (length, offsets) in [(3 * tile - 2, (0, 0)), (1, (0, 0)), (7 * tile + 5, (3, 1))] {
                    let emulator = Emulator::new(length as u64).limit(LIMIT);
                    program.verify_at_offset(&emulator, &input(length), offsets)?;
                }
                Ok(())
            };
            probes.push(scan("runs in parts", program, run));
        }
    }
    of(probes, TextHash, 0x1234, |length| (0..length as u64).map(|i| mixed(i) as u8).collect());
    of(probes, ShiftRegister, 0x1234, |length| (0..length as u64).map(|i| mixed(i).is_multiple_of(3)).collect());
}

/// Several look-ahead warps, with a total, and lengths that only the device knows.
fn look_ahead_round_robin(probes: &mut Vec<Probe>) {
    let shapes =
        [(64, 2, 6, 4, 4, Some(1)), (32, 2, 5, 4, 1, Some(1)), (64, 1, 3, 3, 4, Some(1)), (32, 3, 8, 4, 2, Some(1))];
    let program = |index: usize, mut spec: ScanSpec| {
        let (limits, mut overrides) = look_ahead_of(shapes[index]);
        (overrides.look_ahead_warps, overrides.group) = (Some([2, 3, 4, 2][index]), Some(1));
        let (kind, with_initial_value) = WAYS[index];
        spec.kind = kind;
        let initial_value = with_initial_value.then(Interval::initial_value);
        planned(Program::with_limits(Interval, &spec, initial_value, &limits, &overrides))
    };
    for index in 0..shapes.len() {
        let spec = if index % 2 == 0 { ScanSpec::inclusive() } else { ScanSpec::inclusive().with_total() };
        let lengths = |tile| vec![23 * tile + 7, 1, tile + 1, 12 * tile];
        probes.push(scan("look-ahead warps", program(index, spec), move |program| {
            in_every_place(program, 16, lengths, |emulator| emulator.check(adjacent))
        }));
    }
    let program = program(0, ScanSpec::inclusive().with_total().with_length_on_device());
    let run = |program: &Program<Interval>| {
        let tile = u64::from(program.plan.tile);
        let input = inputs::<Interval>(9 * tile as usize);
        for length in [0, tile, 1, 8 * tile + 3, 0] {
            let emulator = Emulator::new(length).check(adjacent).limit(LIMIT);
            program.verify_length(&emulator, &input, (0, 0), (length, length))?;
        }
        Ok(())
    };
    probes.push(scan("look-ahead warps, length on device", program, run));
}

/// Lengths that only the device knows: none, all, and more than there are.
fn lengths_on_device(probes: &mut Vec<Probe>) {
    let block = BlockScan::coarsened(Network::KoggeStone);
    let in_shared_memory = [Carry::OneBlock, Carry::LookBack].map(|carry| Strategy { block, carry });
    let tiles = IN_REGISTERS.into_iter().chain(in_shared_memory);
    let tiles = tiles.map(|strategy| (DeviceLimits::BASELINE, Overrides::default().strategy(strategy).threads(32)));
    let look_ahead = [(64, 1, 4, 4, 3, None), (32, 1, 3, 4, 6, None)].map(look_ahead_of);
    let shapes = tiles.chain(look_ahead).flat_map(|shape| [shape; 2]);
    for (index, (limits, overrides)) in shapes.enumerate() {
        let spec = if index % 4 < 2 { ScanSpec::inclusive() } else { ScanSpec::exclusive().reverse() };
        let spec = spec.with_total().with_length_on_device();
        let initial_value = (index % 2 == 1).then(<AffineU32 as TestOperator>::initial_value);
        let program = planned(Program::with_limits(AffineU32, &spec, initial_value, &limits, &overrides));
        // Where blocks have a tile each, by a plan without a kernel of one block.
        let program = match program.plan.strategy.carry {
            Carry::Chained(_) | Carry::LookBack | Carry::LookAtAll => planned(program.for_longer_inputs()),
            _ => program,
        };
        let run = |program: &Program<AffineU32>| {
            let tile = u64::from(program.plan.tile);
            let max = (4 * tile + 5).min(program.plan.max_len);
            let input = inputs::<AffineU32>(max as usize);
            let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
            for (run, length) in [0, 1, tile, 2 * tile + 7, max, max + 3, tile - 1, 0].into_iter().enumerate() {
                let emulator = Emulator::new(mixed(run as u64)).limit(LIMIT);
                let emulator = emulator.resident_blocks(if needs_all { usize::MAX } else { [2, 7, 1][run % 3] });
                program.verify_length(&emulator, &input, [(0, 0), (3, 3), (1, 2)][run % 3], (length, length))?;
            }
            // A launch for one tile.
            program.verify_length(&Emulator::new(1).limit(LIMIT), &input[..tile.min(max) as usize], (0, 0), (0, 0))
        };
        probes.push(scan("length on device", program, run));
    }
}

/// The run in which the input ends, where runs are heavy.
fn last_runs(probes: &mut Vec<Probe>) {
    let several = IN_REGISTERS.into_iter().filter(|strategy| strategy.carry != Carry::OneBlock);
    for (strategy, (kind, with_initial_value)) in several.zip(WAYS.into_iter().cycle()) {
        let overrides = Overrides::default().strategy(strategy).threads(32).run(48);
        let initial_value = with_initial_value.then(Interval::initial_value);
        let program = planned(Program::new(Interval, kind, initial_value, &overrides));
        let run = |program: &Program<Interval>| {
            let (tile, run) = (u64::from(program.plan.tile), u64::from(program.plan.run));
            let lengths = [1, run - 1, tile + 1, tile + 3 * run, 2 * tile - 2, 3 * tile - run - 3];
            climb(program, &lengths, |emulator| emulator.check(adjacent).limit(LIMIT)).map_err(|(_, error)| error)
        };
        probes.push(scan("heavy runs", program, run));
    }
    // A run is a unit, which threads write to its place in the output.
    let mut overrides = Overrides::default().strategy(IN_REGISTERS[4]).threads(32).run(16);
    overrides.inlined = Some(u32::MAX);
    let program = planned(Program::new(BitProduct, ScanKind::Inclusive, None, &overrides));
    let run = |program: &Program<BitProduct>| {
        let (tile, run) = (program.plan.tile as usize, program.plan.run as usize);
        [tile + 3 * run, run - 1, 2 * tile - 2].into_iter().try_for_each(|length| {
            program.verify(&Emulator::new(length as u64).limit(LIMIT), &inputs::<BitProduct>(length)).map(drop)
        })
    };
    probes.push(scan("heavy runs of a unit", program, run));
}

/// Elements from which there is no whole number of elements to an address that a bulk copy can begin at.
fn between_the_addresses_of_bulk_copies(probes: &mut Vec<Probe>, (limits, overrides): (DeviceLimits, Overrides)) {
    type Op = MatrixProduct<4>;
    for segments in [Segments::None, Segments::HeadFlags, Segments::Offsets(OffsetWidth::U32)] {
        let head_source = match segments {
            Segments::Offsets(_) => 7,
            _ => 0,
        };
        let spec = ScanSpec::inclusive().with_segments(segments);
        let program = planned(Program::with_limits(Op::new(), &spec, None, &limits, &overrides));
        let run = move |program: &Program<Op>| {
            let tile = u64::from(program.plan.tile);
            let runs = [(12 * tile + 5, (4, 0)), (1, (8, 8)), (tile, (0, 12)), (5 * tile - 1, (12, 4))];
            for (seed, (length, offsets)) in (0..).zip(runs) {
                let begins: Vec<_> = (0..length).map(|i| mixed(i).is_multiple_of(9)).collect();
                let program = match program.plan.spec.segments.is_none() {
                    true => program.clone(),
                    false => program.with_heads(Heads::new(head_source, &begins)),
                };
                let emulator = Emulator::new(seed).interrupt_once_in(8).limit(LIMIT);
                program.verify_at_bytes(&emulator, &inputs::<Op>(length as usize), offsets)?;
            }
            Ok(())
        };
        probes.push(scan("between the addresses of bulk copies", program, run));
    }
}

/// Runs a program that restarts over the patterns of heads.
fn over_patterns<Op: TestOperator>(
    program: &Program<Op>,
    head_source: usize,
    lengths: &[usize],
    inputs: impl Fn(&[bool]) -> Vec<Op::Item>,
    prepare: impl Fn(Emulator) -> Emulator,
) -> Result<(), EmulatorError> {
    const OFFSETS: [(usize, usize); 6] = [(0, 0), (1, 1), (8, 8), (1, 0), (0, 5), (16, 3)];
    let tile = program.plan.tile as usize;
    // Heads at random come first: they show the most.
    for (run, place) in (0..PATTERNS.len()).map(|place| (place + 11) % PATTERNS.len()).enumerate() {
        let length = lengths[run % lengths.len()].min(program.plan.max_len as usize);
        let begins = begins(PATTERNS[place], length, tile);
        let program = program.with_heads(Heads::new(head_source, &begins));
        let by_index = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
        let resident = if by_index { usize::MAX } else { [4, 1, 100, 2][run % 4] };
        let emulator = Emulator::new(mixed(run as u64)).resident_blocks(resident).limit(LIMIT);
        let emulator = prepare(if run % 3 == 0 { emulator.interrupt_once_in(8) } else { emulator });
        let input = inputs(&begins);
        match run % 3 {
            1 => program.verify_in_place(&emulator, &input)?,
            _ => program.verify_at_offset(&emulator, &input, OFFSETS[run % 6])?,
        };
    }
    Ok(())
}

fn restarts(probes: &mut Vec<Probe>, head_source: usize, program: Program<Restart>, lengths: Vec<usize>) {
    probes.push(scan(&format!("heads {head_source}"), program, move |program| {
        over_patterns(program, head_source, &lengths, places, |emulator| emulator.check(fit))
    }));
}

fn segmented(probes: &mut Vec<Probe>) {
    for (threads, turn) in [(64, 0), (32, 1), (128, 2)] {
        for (index, strategy) in ladder_strategies().filter(|strategy| strategy.carry != Carry::LookAhead).enumerate() {
            let head_source = (index + 4 * turn) % HEAD_SOURCES;
            let (kind, with_initial_value) = WAYS[(index + turn) % 4];
            let mut overrides = Overrides::default();
            (overrides.strategy, overrides.threads) = (Some(strategy), Some(threads));
            let segments = Heads::new(head_source, &[]).segments();
            let initial_value = with_initial_value.then(Restart::initial_value);
            let program = planned(Program::segmented(Restart, kind, initial_value, segments, &overrides));
            let tile = program.plan.tile as usize;
            restarts(
                probes,
                head_source,
                program,
                vec![7 * tile + 5, 2 * tile + 1, 1_019, tile - 1, tile + 1, 1, 4_101, 3 * tile],
            );
        }
    }
}

/// The number of the head source `HeadBits`.
const HEAD_BITS: usize = 2;

/// Aggregates of three levels, with a head in some of the tiles of each.
fn levels_of_aggregates(probes: &mut Vec<Probe>) {
    let mut overrides = Overrides::default().threads(32);
    overrides.strategy = Some(Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::ReduceThenScan });
    let program = planned(Program::segmented(Restart, ScanKind::Inclusive, None, Segments::HeadBits, &overrides));
    let tile = program.plan.tile as usize;
    let begins: Vec<_> = (0..3 * tile * tile + tile + 5).map(|i| i % (tile * tile / 3) == 7).collect();
    probes.push(scan("three levels of aggregates", program, move |program| {
        let emulator = Emulator::new(1).check(fit).limit(LIMIT);
        program.with_heads(Heads::new(HEAD_BITS, &begins)).verify(&emulator, &places(&begins)).map(drop)
    }));
}

fn segmented_in_registers(probes: &mut Vec<Probe>) {
    for (turn, run) in [1, 5, 7, 12, 33, 48].into_iter().enumerate() {
        for (index, strategy) in IN_REGISTERS.into_iter().enumerate() {
            let head_source = (index + 5 * turn) % HEAD_SOURCES;
            let (kind, with_initial_value) = WAYS[(index + turn) % 4];
            let mut overrides = Overrides::default();
            overrides.strategy = Some(strategy);
            (overrides.threads, overrides.run) = (Some([32, 64, 128][(index + turn) % 3]), Some(run));
            overrides.statuses_per_lane = (strategy.carry == Carry::LookBack).then_some([1, 2][turn % 2]);
            let segments = Heads::new(head_source, &[]).segments();
            if run > 12 {
                let initial_value = with_initial_value.then_some(3_u8);
                let program = planned(Program::segmented(ops::sum::<u8>(), kind, initial_value, segments, &overrides));
                let tile = program.plan.tile as usize;
                let lengths = vec![3 * tile + 33, tile - 1, 7 * tile + 5];
                probes.push(scan(&format!("bytes, heads {head_source}"), program, move |program| {
                    over_patterns(
                        program,
                        head_source,
                        &lengths,
                        |begins| inputs::<ops::Sum<u8>>(begins.len()),
                        |emulator| emulator,
                    )
                }));
            } else {
                let initial_value = with_initial_value.then(Restart::initial_value);
                let program = planned(Program::segmented(Restart, kind, initial_value, segments, &overrides));
                let tile = program.plan.tile as usize;
                restarts(
                    probes,
                    head_source,
                    program,
                    vec![3 * tile + 33, 65, 40 * tile.min(96) + 7, 2 * tile, tile - 1, tile + 32],
                );
            }
        }
    }
}

/// From the last element to the first: every carry, every way to tell.
fn reversed(probes: &mut Vec<Probe>) {
    let kogge_stone = ladder_strategies()
        .filter(|strategy| strategy.block.network == Network::KoggeStone && !strategy.block.coarsened)
        .map(|strategy| (DeviceLimits::BASELINE, Overrides::default().strategy(strategy).threads(32)));
    let in_registers = [3, 4, 12].into_iter().flat_map(|run| {
        let overrides = move |strategy| Overrides::default().strategy(strategy).threads(64).run(run);
        IN_REGISTERS.into_iter().map(move |strategy| (DeviceLimits::BASELINE, overrides(strategy)))
    });
    let look_ahead =
        [(32, 2, 5, 4, 3, None), (64, 2, 6, 4, 4, Some(2)), (32, 1, 3, 36, 6, None)].into_iter().map(look_ahead_of);
    let look_ahead = look_ahead.flat_map(|shape| [shape; 3]);
    for (index, (limits, overrides)) in kogge_stone.chain(in_registers).chain(look_ahead).enumerate() {
        let head_source = index % HEAD_SOURCES;
        let (kind, with_initial_value) = WAYS[index / 3 % 4];
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let spec = spec.reverse().with_segments(Heads::new(head_source, &[]).segments());
        let initial_value = with_initial_value.then(RestartBack::initial_value);
        let program = planned(Program::with_limits(RestartBack, &spec, initial_value, &limits, &overrides));
        let tile = program.plan.tile as usize;
        let lengths = [7 * tile + 5, 2 * tile + 1, 33, tile - 1, tile + 1, 1, 12 * tile + 7, 3 * tile];
        probes.push(scan(&format!("reversed, heads {head_source}"), program, move |program| {
            over_patterns(program, head_source, &lengths, places_back, |emulator| emulator.check(|a, b| fit_back(b, a)))
        }));
    }
}

fn segmented_look_ahead(probes: &mut Vec<Probe>) {
    const SHAPES: [LookAheadShape; 6] = [
        (32, 2, 5, 4, 3, None),
        (96, 2, 5, 4, 5, None),
        (64, 2, 6, 4, 4, Some(2)),
        (32, 1, 3, 36, 6, None),
        (96, 1, 3, 3, 4, Some(1)),
        (32, 4, 9, 20, 7, None),
    ];
    let plan = |head_source: usize, turn: usize| {
        let (limits, overrides) = look_ahead_of(SHAPES[(head_source + turn) % SHAPES.len()]);
        let (kind, with_initial_value) = WAYS[(head_source + turn / 2) % 4];
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        (spec.with_segments(Heads::new(head_source, &[]).segments()), with_initial_value, limits, overrides)
    };
    for turn in 0..3 {
        for head_source in 0..HEAD_SOURCES {
            let (spec, with_initial_value, limits, overrides) = plan(head_source, turn);
            let initial_value = with_initial_value.then(Restart::initial_value);
            let program = planned(Program::with_limits(Restart, &spec, initial_value, &limits, &overrides));
            let tile = program.plan.tile as usize;
            restarts(
                probes,
                head_source,
                program,
                vec![23 * tile - 1, tile + 1, 12 * tile + 7, 5 * tile, tile, 1, 9 * tile - 1, 33],
            );
        }
    }
    for head_source in 0..HEAD_SOURCES {
        let (spec, with_initial_value, limits, overrides) = plan(head_source, 1);
        let initial_value = with_initial_value.then_some(3);
        let program = planned(Program::with_limits(ops::sum::<u8>(), &spec, initial_value, &limits, &overrides));
        let tile = program.plan.tile as usize;
        let lengths = vec![23 * tile - 1, tile + 1, 12 * tile + 7, 5 * tile, tile, 1, 33];
        probes.push(scan(&format!("bytes, heads {head_source}"), program, move |program| {
            over_patterns(
                program,
                head_source,
                &lengths,
                |begins| inputs::<ops::Sum<u8>>(begins.len()),
                |emulator| emulator,
            )
        }));
    }
    let (spec, _, limits, mut overrides) = plan(4, 2);
    overrides.run = Some(1);
    let program = planned(Program::with_limits(MatrixProduct::<5>::new(), &spec, None, &limits, &overrides));
    let tile = program.plan.tile as usize;
    let lengths = vec![12 * tile - 1, 5 * tile + 3];
    probes.push(scan("large matrices, heads 4", program, move |program| {
        over_patterns(program, 4, &lengths, |begins| inputs::<MatrixProduct<5>>(begins.len()), |emulator| emulator)
    }));
}

/// An operator that lifts and projects, one that appends, and stepped operators.
fn lifts(probes: &mut Vec<Probe>) {
    lifts_as(probes, "lifting", Lifting, lifting::INITIAL_VALUE, lifting::inputs);
    lifts_as(probes, "appending", Appending, lifting::INITIAL_VALUE, lifting::inputs);
    lifts_as(probes, "appending states", Composing, lifting::INITIAL_VALUE, mappings);
    lifts_as(probes, "stepped operator", Coder, 99, lifting::inputs);
    lifts_as(probes, "stepped operator that reads", Reader, Page { first: 0, end: 1 }, numbers);
    lifts_as(probes, "stepped operator that reads from the end", ReaderFromEnd, Page { first: 0, end: 1 }, numbers);
    lifts_as(probes, "stepped operator of mappings", Mapped, 99, mappings);
    lifts_by_other_threads(probes);
    stepped_in_three_warps(probes);
}

/// Teams of three warps, of which two or one have no elements.
fn stepped_in_three_warps(probes: &mut Vec<Probe>) {
    let (limits, overrides) = look_ahead_of((96, 2, 5, 4, 5, None));
    let program = planned(Program::planned(Coder, ScanKind::Inclusive, None, &limits, &overrides));
    let run = |program: &Program<Coder>| {
        let tile = program.plan.tile as usize;
        for length in [1, 33 * program.plan.run as usize, 9 * tile + 5] {
            let emulator = Emulator::new(length as u64).limit(LIMIT);
            program.verify_at_offset(&emulator, &lifting::inputs(length), (0, 0))?;
        }
        Ok(())
    };
    probes.push(scan("stepped operator of three warps", program, run));
}

fn lifts_as<Op>(
    probes: &mut Vec<Probe>,
    name: &'static str,
    op: Op,
    initial: Op::Carry,
    inputs: fn(usize) -> Vec<Op::Input>,
) where
    Op: ScanOp + Copy + 'static,
    Op::Output: Debug,
{
    for (index, strategy) in ladder_strategies().enumerate() {
        for head_source in [None, Some(index % HEAD_SOURCES)] {
            let (kind, with_initial_value) = WAYS[(index + head_source.unwrap_or(1)) % 4];
            let mut overrides = Overrides::default();
            (overrides.strategy, overrides.threads) = (Some(strategy), Some(32));
            overrides.run = (strategy.carry == Carry::LookAhead).then_some(4);
            let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
            let spec = match head_source {
                Some(head_source) => spec.with_total().with_segments(Heads::new(head_source, &[]).segments()),
                None => spec.with_total(),
            };
            let initial_value = with_initial_value.then_some(initial);
            let program = planned(Program::of(op, &spec, initial_value, &overrides));
            let run = move |program: &Program<Op>| {
                let tile = program.plan.tile as usize;
                for length in [3 * tile - 2, 1, tile + 1, 9 * tile] {
                    let input = inputs(length);
                    let begins: Vec<_> = (0..length as u64).map(|i| mixed(i).is_multiple_of(9)).collect();
                    let program = match head_source {
                        Some(head_source) => program.with_heads(Heads::new(head_source, &begins)),
                        None => program.clone(),
                    };
                    // Where blocks that have not started are waited for, some have not.
                    let few = length == 9 * tile && strategy.carry == Carry::LookAtAll;
                    let resident = if few { 2 } else { usize::MAX };
                    let emulator = Emulator::new(length as u64).resident_blocks(resident).limit(LIMIT);
                    program.verify_at_offset(&emulator, &input, (3, 1))?;
                }
                Ok(())
            };
            probes.push(scan(name, program, run));
        }
    }
}

/// Results that take the place of other threads' elements, of several warps.
fn lifts_by_other_threads(probes: &mut Vec<Probe>) {
    let (limits, overrides) = look_ahead_of((64, 2, 6, 4, 4, None));
    let program = planned(Program::planned(Lifting, ScanKind::Exclusive, None, &limits, &overrides));
    let run = move |program: &Program<Lifting>| {
        let tile = program.plan.tile as usize;
        for seed in 0..24 {
            let emulator = Emulator::new(seed).interrupt_once_in([3, 50][seed as usize % 2]).limit(LIMIT);
            program.verify_at_offset(&emulator, &lifting::inputs(23 * tile - 40), (8, 1))?;
        }
        Ok(())
    };
    probes.push(scan("lifting, several warps", program, run));
}

/// Rows in tiles, in registers and in look-ahead's stages, in both directions.
fn rows(probes: &mut Vec<Probe>) {
    let kogge_stone = ladder_strategies()
        .filter(|strategy| strategy.block.network == Network::KoggeStone && !strategy.block.coarsened)
        .map(|strategy| (DeviceLimits::BASELINE, Overrides::default().strategy(strategy).threads(32)));
    let in_registers = [(64, 3), (32, 33)].into_iter().flat_map(|(threads, run)| {
        let overrides = move |strategy| Overrides::default().strategy(strategy).threads(threads).run(run);
        IN_REGISTERS.into_iter().map(move |strategy| (DeviceLimits::BASELINE, overrides(strategy)))
    });
    let look_ahead = [(32, 2, 5, 4, 3, None), (64, 2, 6, 12, 4, Some(2)), (32, 1, 3, 36, 6, None)].map(look_ahead_of);
    for (index, (limits, overrides)) in kogge_stone.chain(in_registers).chain(look_ahead).enumerate() {
        let (kind, with_initial_value) = WAYS[index % 4];
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let spec = spec.with_segments(Segments::Rows);
        let initial_value = with_initial_value.then(Restart::initial_value);
        let forward = planned(Program::with_limits(Restart, &spec, initial_value, &limits, &overrides));
        probes.push(scan("rows", forward, |program| {
            of_every_length(program, places, |emulator| emulator.check(fit).limit(LIMIT))
        }));
        let initial_value = with_initial_value.then(RestartBack::initial_value);
        let spec = spec.reverse();
        let backward = planned(Program::with_limits(RestartBack, &spec, initial_value, &limits, &overrides));
        probes.push(scan("reversed, rows", backward, |program| {
            let fit = |a: &_, b: &_| fit_back(b, a);
            of_every_length(program, places_back, move |emulator| emulator.check(fit).limit(LIMIT))
        }));
    }
}

/// Scans rows that fill words, warps, runs and tiles or not, one row alone, and rows of one element.
fn of_every_length<Op: ScanOp + Clone>(
    program: &Program<Op>,
    inputs: fn(&[bool]) -> Vec<Op::Input>,
    prepare: impl Fn(Emulator) -> Emulator,
) -> Result<(), EmulatorError>
where
    Op::Output: Debug,
{
    let tile = program.plan.tile as usize;
    let matrices = [(7, 9), (1, tile + 5), (3, tile + 1), (33, 64), (tile + 1, 4), (5 * tile + 7, 1), (32, 65)];
    for (seed, (row, rows)) in matrices.into_iter().enumerate() {
        let heads = Heads::rows(row, row * rows);
        let input = inputs(&heads.begins);
        let emulator = prepare(Emulator::new(seed as u64).resident_blocks(usize::MAX));
        program.with_heads(heads).verify_at_offset(&emulator, &input, (3, 1))?;
    }
    Ok(())
}

/// Blocks that tell each other what does not fit one packet, and fold more the more of them there are at once.
fn statuses(probes: &mut Vec<Probe>) {
    type Op = MatrixProduct<4>;
    for carry in [Carry::Chained(TileNumbers::Counter), Carry::LookBack] {
        let strategy = ladder_strategies().find(|strategy| strategy.carry == carry);
        let mut overrides = Overrides::default();
        (overrides.strategy, overrides.threads) = (strategy, Some(32));
        let program = planned(Program::new(Op::new(), ScanKind::Inclusive, None, &overrides));
        let tile = program.plan.tile as usize;
        let run = move |program: &Program<Op>| {
            for seed in 0..12 {
                let emulator = Emulator::new(seed).interrupt_once_in(3).resident_blocks(usize::MAX).limit(LIMIT);
                program.clone().verify(&emulator, &inputs::<Op>(14 * tile))?;
            }
            Ok(())
        };
        probes.push(scan("statuses of several packets", program, run));
        if carry == Carry::LookBack {
            let program = planned(Program::new(ops::sum::<i32>(), ScanKind::Inclusive, None, &overrides));
            let run = move |program: &Program<ops::Sum<i32>>| {
                let applications = |resident| {
                    let emulator = Emulator::new(3).resident_blocks(resident).limit(LIMIT);
                    let run = program.verify(&emulator, &vec![1; 100 * program.plan.tile as usize])?;
                    Ok::<_, EmulatorError>(run.counters.applications())
                };
                let (alone, together) = (applications(1)?, applications(100)?);
                let message = format!("{alone} applications of blocks one by one, {together} of all at once");
                let failed = EmulatorError::Launch { kernel: program.source.name.clone(), message };
                if alone < together { Ok(()) } else { Err(failed) }
            };
            probes.push(scan("how far blocks look back", program, run));
        }
    }
    // So many blocks at once that some look back over more than one window.
    let mut overrides = Overrides::default().strategy(IN_REGISTERS[3]).threads(32).run(1);
    overrides.statuses_per_lane = Some(2);
    let program = planned(Program::new(ops::sum::<i32>(), ScanKind::Inclusive, None, &overrides));
    let run = |program: &Program<ops::Sum<i32>>| {
        let input = vec![1; 300 * program.plan.tile as usize];
        (0..4).try_for_each(|seed| {
            let emulator = Emulator::new(seed).resident_blocks(usize::MAX).limit(LIMIT);
            program.verify(&emulator, &input).map(drop)
        })
    };
    probes.push(scan("several windows of statuses", program, run));
}

/// Whether a launch in the middle of a cycle of epochs writes as much where there is room for the statuses of more
/// tiles.
fn leaves_others_alone<Op: TestOperator>(program: &Program<Op>) -> Result<(), EmulatorError> {
    let run = |program: &mut Program<Op>, tiles: usize| {
        let length = tiles * program.plan.tile as usize;
        program.heads = (!program.plan.spec.segments.is_none()).then(|| Heads::new(0, &vec![false; length]));
        let emulator = Emulator::new(1).resident_blocks(usize::MAX).limit(LIMIT);
        let run = program.verify(&emulator, &inputs::<Op>(length))?;
        Ok::<u64, EmulatorError>(run.counters.launches.iter().map(|launch| launch.global_written).sum())
    };
    let mut program = program.clone();
    let narrow = run(&mut program, 2)?;
    run(&mut program, 14)?;
    let wide = run(&mut program, 2)?;
    let message = format!("{wide} bytes are written where there is room, {narrow} where there is none");
    let failed = EmulatorError::Launch { kernel: program.source.name.clone(), message };
    if narrow == wide { Ok(()) } else { Err(failed) }
}

/// Several launches on one memory, the last and the first of a cycle of epochs among them.
fn epochs(probes: &mut Vec<Probe>) {
    const CYCLE: u32 = 1 << 30;
    fn of<Op: TestOperator + 'static>(probes: &mut Vec<Probe>, what: &str, segments: &[Segments]) {
        let carries = [Carry::Chained(TileNumbers::Counter), Carry::Chained(TileNumbers::BlockIndex), Carry::LookBack];
        let strategies =
            carries.into_iter().filter_map(|carry| ladder_strategies().find(|strategy| strategy.carry == carry));
        let strategies = strategies.chain([IN_REGISTERS[4], LOOK_AHEAD, LOOK_AHEAD]);
        let programs = strategies.flat_map(|strategy| segments.iter().map(move |segments| (strategy, segments)));
        for (index, (strategy, told)) in programs.enumerate() {
            let mut overrides = Overrides::default();
            (overrides.strategy, overrides.threads) = (Some(strategy), Some(32));
            if strategy == LOOK_AHEAD {
                (overrides.run, overrides.teams, overrides.stages, overrides.blocks) =
                    (Some(4), Some(2), Some(5), Some(3));
                overrides.group = Some(1 + (index / segments.len()) as u32 % 2); // once with groups, once without
            }
            let program = planned(Program::segmented(Op::new(), ScanKind::Inclusive, None, told.clone(), &overrides));
            let tile = u64::from(program.plan.tile);
            let run = move |program: &Program<Op>| {
                for (seed, last) in (0..9).zip([CYCLE - 1, u32::MAX, 3 * CYCLE - 1].into_iter().cycle()) {
                    let mut program = program.clone();
                    let mut first = 0;
                    let mut scan = |program: &mut Program<Op>, tiles: u64| {
                        first += 1_000_003;
                        let places = first..first + tiles * tile - 3;
                        program.heads = (!program.plan.spec.segments.is_none()).then(|| {
                            let begins = places.clone().map(|i| mixed(i).is_multiple_of(4 * tile));
                            Heads::new(0, &begins.collect::<Vec<_>>())
                        });
                        let input: Vec<Op::Item> = places.map(Op::input).collect();
                        let emulator =
                            Emulator::new(mixed(seed * 64 + first)).interrupt_once_in(8).resident_blocks(usize::MAX);
                        program.verify(&emulator.limit(LIMIT), &input).map(drop)
                    };
                    let set = |program: &mut Program<Op>, epoch: u32| {
                        if let Some(bytes) = program.kept_bytes().get_mut(4..8) {
                            bytes.copy_from_slice(&epoch.to_le_bytes());
                        }
                    };
                    [9, 2, 14, 5].into_iter().try_for_each(|tiles| scan(&mut program, tiles))?;
                    set(&mut program, last - 1);
                    [14, [2, 7][seed as usize % 2], 3].into_iter().try_for_each(|tiles| scan(&mut program, tiles))?;
                    set(&mut program, (last - 1).wrapping_add(CYCLE));
                    [14, 3, 9].into_iter().try_for_each(|tiles| scan(&mut program, tiles))?;
                }
                leaves_others_alone(program)
            };
            probes.push(scan(what, program, run));
        }
    }
    of::<Interval>(probes, "launches of intervals", &[Segments::None, Segments::HeadFlags]);
    of::<ops::Sum<i32>>(probes, "launches of sums", &[Segments::None]);
}
