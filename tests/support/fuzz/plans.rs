//! Random devices, choices, operators and lengths for the planner: whatever it makes of them must be sound, or an error.

use std::fmt::Write;

use scan_codegen::{
    Architecture, DeviceLimits, ElementType, FunctionSource, KernelRole, OffsetWidth, OpSource, OutputsOf, Overrides,
    Piece, Plan, PlanError, Plans, Primitive, Reduction, ScanKind, ScanSpec, Schedule, Segments, Strategy, Target,
    Templates, Tuned, plan, plan_columns, plan_last_results, plan_reduction, plan_tuned, shapes,
};
use scan_runtime::{BlockScan, Carry, Network, TileNumbers, WarpNetwork, Workers};

use super::{odd, of_case};
use crate::{
    checked::{self, render, render_last_results_from, render_reduction_from},
    emulated::Random,
};

/// What a plan is asked for.
#[derive(Clone, Debug)]
pub struct Case {
    /// The device.
    pub limits: DeviceLimits,
    /// What the caller wants otherwise.
    pub overrides: Overrides,
    /// What to scan.
    pub spec: ScanSpec,
    /// The operator.
    pub operator: OpSource,
    /// Lengths to ask about, beside those at the edges of the plan.
    pub lengths: Vec<u64>,
    /// What a measurement chose, where plans are asked for with that.
    pub tuned: Vec<Tuned>,
    /// Whether the search for shapes is asked as well, which takes the longest.
    pub searches: bool,
}

/// Makes the case of a number, and checks it.
pub fn case(number: u64) -> Result<bool, String> {
    let case = Case::random(&mut of_case(number));
    super::caught(|| case.check()).unwrap_or_else(Err).map_err(|message| format!("{message}\n{}", case.description()))
}

impl Case {
    fn random(random: &mut Random) -> Self {
        let operator = operator(random);
        let tuned = |random: &mut Random| {
            let mut ends = [length(random), length(random)];
            if !random.one_in(8) {
                ends.sort_unstable();
            }
            Tuned { from: ends[0], to: ends[1], overrides: overrides(random, true) }
        };
        Case {
            limits: limits(random),
            overrides: if random.one_in(4) { Overrides::default() } else { overrides(random, false) },
            spec: spec(random),
            operator,
            lengths: (0..4).map(|_| length(random)).collect(),
            tuned: if random.one_in(4) { (0..3).map(|_| tuned(random)).collect() } else { Vec::new() },
            searches: random.one_in(64),
        }
    }

    fn description(&self) -> String {
        let OpSource { input, state, output, identity, parameters, .. } = &self.operator;
        let mut text = format!("{:?}\n{:?}\n{:?}\n", self.limits, self.overrides, self.spec);
        let size = |ty: &ElementType| (ty.size, ty.align);
        let parameters = parameters.as_ref().map(size);
        writeln!(
            text,
            "elements (size, alignment): {:?} {:?} {:?}, identity {}, parameters {parameters:?}",
            size(input),
            size(state),
            size(output),
            identity.is_some()
        )
        .ok();
        write!(text, "lengths {:?}, tuned {:?}", self.lengths, self.tuned).ok();
        text
    }

    /// Whether there is a plan; an error if it cannot be true.
    pub fn check(&self) -> Result<bool, String> {
        self.check_reduction()?;
        self.check_columns()?;
        if self.searches {
            for shape in shapes(&self.operator, &self.spec, &self.limits, self.lengths[0]) {
                let line = Tuned { from: 0, to: self.lengths[0], overrides: shape }.to_line();
                let line = line.ok_or("a shape of the search has no line")?;
                ensure(Tuned::parse(&line).is_some(), || format!("a line is not read: {line}"))?;
            }
        }
        let plans = match self.tuned[..] {
            [] => plan(&self.operator, &self.spec, &self.limits, &self.overrides),
            _ => plan_tuned(&self.operator, &self.spec, &self.limits, &self.tuned),
        };
        let plans = match plans {
            Ok(plans) => plans,
            Err(error) => {
                let message = error.to_string();
                return ensure(message.len() > 20, || format!("an error without a reason: {message}")).map(|()| false);
            }
        };
        ensure(!plans.to_string().is_empty(), || "a plan without words".to_owned())?;
        let deterministic = self.overrides.deterministic && self.tuned.is_empty();
        ensure(!deterministic || plans.is_deterministic(), || format!("not deterministic: {plans}"))?;
        ensure(plans.shortest().from == 0, || format!("nothing is for the shortest inputs: {plans}"))?;
        ensure(plans.iter().is_sorted_by(|a, b| a.from < b.from), || format!("plans out of order: {plans}"))?;
        let all: Vec<&Plan> = plans.iter().collect();
        // What was tuned may begin beyond what the plan before it can do: lengths between them are too long.
        for pair in all.windows(2).filter(|_| self.tuned.is_empty()) {
            ensure(pair[1].from - 1 <= pair[0].max_len, || format!("a plan for more than it can: {plans}"))?;
        }
        for plan in &all {
            self.check_plan(plan).map_err(|message| format!("{message}\n{plan}"))?;
        }
        for &len in &self.lengths {
            let plan = plans.for_len(len);
            ensure(plan.from <= len, || format!("{len} elements have the plan for {} and more", plan.from))?;
            let max = plan.max_len;
            ensure(plan.schedule(len).is_ok() == (len <= max), || format!("{len} elements, {max} at the most"))?;
        }
        self.check_text(&plans)?;
        Ok(true)
    }

    fn check_text(&self, plans: &Plans) -> Result<(), String> {
        // One of them: to render takes the longest, and plans have most of their text in common.
        let count = plans.iter().count();
        let chosen = plans.iter().nth(self.lengths[0] as usize % count).unwrap_or(plans.longest());
        let source = render(&self.operator, chosen, &self.limits).map_err(|error| format!("no text: {error}"))?;
        balanced(&source.text).map_err(|message| format!("{message}\n{}", source.text))?;
        for role in chosen.kernels() {
            let name = source.kernel_name(role.name());
            ensure(source.text.contains(&format!("{name}(")), || {
                format!("no kernel `{name}` in the text:\n{}", source.text)
            })?;
        }
        Ok(())
    }

    fn check_plan(&self, plan: &Plan) -> Result<(), String> {
        checked::check(&self.operator, plan, &self.limits);
        ensure((1..=1024).contains(&plan.run), || "a run that cannot be".to_owned())?;
        ensure(plan.tile >= plan.threads && plan.tile <= 1 << 20, || "a tile that cannot be".to_owned())?;
        let tile = u64::from(plan.tile);
        let edges =
            [0, 1, tile - 1, tile, tile + 1, plan.from.saturating_sub(1), plan.from, plan.from.saturating_add(1)];
        let longest = [plan.max_len - 1, plan.max_len, plan.max_len.saturating_add(1), u64::MAX];
        for &len in edges.iter().chain(&longest).chain(&self.lengths) {
            self.check_length(plan, len).map_err(|message| format!("{len} elements: {message}"))?;
        }
        Ok(())
    }

    fn check_length(&self, plan: &Plan, len: u64) -> Result<(), String> {
        use KernelRole::{ReduceTiles, ScanChained, ScanLookAtAll, ScanLookBack, ScanTiles};
        let schedule = match plan.schedule(len) {
            Ok(schedule) => schedule,
            Err(PlanError::TooLong { .. }) if len > plan.max_len => {
                return ensure(plan.cost(len).is_err(), || "a cost without a schedule".to_owned());
            }
            Err(error) => return Err(format!("no schedule: {error}")),
        };
        self.check_schedule(&schedule)?;
        for launch in &schedule.launches {
            ensure(plan.kernels().contains(&launch.kernel), || format!("no kernel {}", launch.kernel))?;
            let scans_a_tile_each =
                matches!(launch.kernel, ReduceTiles | ScanTiles | ScanChained | ScanLookBack | ScanLookAtAll);
            ensure(!scans_a_tile_each || u64::from(launch.blocks).saturating_mul(plan.tile.into()) >= len, || {
                format!("{} tiles of {}", launch.blocks, plan.tile)
            })?;
        }
        let cost = match plan.cost(len) {
            Ok(cost) => cost,
            Err(PlanError::CostOfSegments) if !self.spec.segments.is_none() => return Ok(()),
            Err(error) => return Err(format!("no cost: {error}")),
        };
        ensure(cost.launches.len() == schedule.launches.len(), || "a cost of other launches".to_owned())?;
        let (applications, steps) = (cost.applications(), cost.steps());
        let ordered = applications.min <= applications.max && steps.min <= steps.max;
        // Of n elements, n - 1 have something before them, n - 2 of those that an exclusive scan needs.
        let min = len.saturating_sub(if self.spec.kind == ScanKind::Exclusive { 2 } else { 1 });
        let reads = cost.global_bytes() >= len.saturating_mul(plan_bytes(&self.operator));
        ensure(ordered && applications.max >= min && steps.max <= applications.max && reads, || {
            format!("a cost that cannot be: {cost:?}")
        })?;
        cost.barriers();
        Ok(())
    }

    fn check_schedule(&self, schedule: &Schedule) -> Result<(), String> {
        let bytes = schedule.workspace.bytes();
        ensure(schedule.workspace.status_room(bytes) <= bytes, || "more statuses than bytes".to_owned())?;
        for launch in &schedule.launches {
            ensure((1..=i32::MAX as u64).contains(&launch.blocks.into()), || format!("{} blocks", launch.blocks))?;
            ensure(u64::from(launch.blocks) <= self.limits.blocks_per_grid.max(8), || {
                format!("{} blocks of {}", launch.blocks, self.limits.blocks_per_grid)
            })?;
            ensure((1..=self.limits.threads_per_block).contains(&launch.threads), || {
                format!("{} threads", launch.threads)
            })?;
            for argument in &launch.arguments {
                if let scan_codegen::Argument::Workspace(place) = argument {
                    ensure(*place < bytes, || format!("place {place} of {bytes} bytes"))?;
                }
            }
        }
        Ok(())
    }

    /// The same operator along an axis, and the last results of the same segments.
    fn check_columns(&self) -> Result<(), String> {
        let spec = self.spec.clone().with_segments(Segments::None);
        let shapes = [Overrides::default(), self.overrides];
        for plan in shapes.iter().flat_map(|shape| plan_columns(&self.operator, &spec, &self.limits, shape)) {
            plan.all().iter().for_each(|plan| checked::check_columns(&self.operator, plan));
        }
        if let Ok(plan) = plan_last_results(&self.operator, &self.spec, &self.limits) {
            checked::check_last_results(&plan);
            let source = render_last_results_from(Templates::of_kernels(), &self.operator, &plan, Target::Cuda)
                .map_err(|error| format!("no text: {error}"))?;
            balanced(&source.text)?;
        }
        Ok(())
    }

    fn check_reduction(&self) -> Result<(), String> {
        for reduction in [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened] {
            let Ok(plan) = plan_reduction(&self.operator, self.spec.initial_value, &self.limits, reduction) else {
                continue;
            };
            checked::check_reduction(&self.operator, &plan);
            let words = format!("{plan}");
            for &len in self.lengths.iter().chain(&[0, 1, 2, plan.tile.into(), plan.max_len]) {
                match plan.schedule(len) {
                    Ok(schedule) => {
                        self.check_schedule(&schedule).map_err(|error| format!("{len}: {error}\n{words}"))?
                    }
                    Err(_) => ensure(len > plan.max_len, || format!("{len} elements cannot be reduced: {words}"))?,
                }
            }
            if self.lengths[0].is_multiple_of(4) {
                let source = render_reduction_from(Templates::of_kernels(), &self.operator, &plan, Target::Cuda)
                    .map_err(|error| format!("no text: {error}"))?;
                balanced(&source.text)?;
            }
        }
        Ok(())
    }
}

/// Bytes that an element is read or written with at the least.
fn plan_bytes(operator: &OpSource) -> u64 {
    (operator.input.size + operator.output.size) as u64
}

fn ensure(good: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(message()) }
}

/// Whether the brackets of a text are, outside of comments, strings and characters.
fn balanced(text: &str) -> Result<(), String> {
    let mut open: Vec<(char, usize)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut chars = line.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                '/' if chars.peek() == Some(&'/') => break,
                '"' | '\'' => {
                    while let Some(inner) = chars.next() {
                        match inner {
                            '\\' => _ = chars.next(),
                            _ if inner == char => break,
                            _ => (),
                        }
                    }
                }
                '(' | '[' | '{' => open.push((char, number)),
                ')' | ']' | '}' => {
                    let wanted = match char {
                        ')' => '(',
                        ']' => '[',
                        _ => '{',
                    };
                    let found = open.pop().map(|(char, _)| char);
                    ensure(found == Some(wanted), || format!("line {}: `{char}` ends nothing: {line}", number + 1))?;
                }
                _ => (),
            }
        }
    }
    ensure(open.is_empty(), || format!("never closed: {open:?}"))
}

fn limits(random: &mut Random) -> DeviceLimits {
    const ARCHITECTURES: [(u32, u32); 8] = [(7, 5), (8, 0), (8, 6), (9, 0), (9, 0), (10, 0), (12, 0), (13, 7)];
    let (major, minor) = ARCHITECTURES[random.below(ARCHITECTURES.len())];
    let architecture = match random.one_in(20) {
        true => Architecture { major: odd(random, &[0], u32::MAX.into()) as u32, minor },
        false => Architecture { major, minor },
    };
    if random.one_in(3) {
        return DeviceLimits::of(architecture);
    }
    let max = u64::from(u32::MAX);
    let mut limits = DeviceLimits::new(architecture, odd(random, &[1, 2, 16, 132, 1024, 2000], max) as u32);
    limits.threads_per_block = odd(random, &[32, 64, 96, 512, 1024, 1024, 2048], max) as u32;
    limits.shared_bytes_per_block = odd(random, &[16 << 10, 48 << 10, 48 << 10, 64 << 10], max) as u32;
    limits.shared_bytes_per_block_optin = odd(random, &[48 << 10, 99 << 10, 163 << 10, 227 << 10], max) as u32;
    limits.blocks_per_grid = odd(random, &[1, 65_535, (1 << 31) - 1, (1 << 31) - 1], u64::MAX);
    limits
}

fn overrides(random: &mut Random, tuned: bool) -> Overrides {
    let mut overrides = Overrides::default();
    overrides.strategy = (tuned || !random.one_in(4)).then(|| strategy(random));
    // A shape of which everything is odd has no plan; mostly, few are.
    let rare = 1 + random.below(8);
    let mut some = |usual: &[u64]| random.one_in(rare).then(|| odd(random, usual, u32::MAX.into()) as u32);
    overrides.threads = some(&[32, 64, 96, 128, 192, 256, 512, 1024]);
    overrides.run = some(&[1, 3, 4, 7, 9, 15, 31, 64, 1024]);
    overrides.teams = some(&[1, 2, 3, 4, 7]);
    overrides.stages = some(&[3, 4, 5, 7, 9]);
    overrides.blocks = some(&[1, 2, 8, 33, 132]);
    overrides.statuses_per_lane = some(&[1, 2, 4, 8]);
    overrides.group = some(&[1, 2, 11, 32, 40]);
    overrides.inlined = some(&[0, 1, 512, 8192, 1 << 20]);
    overrides.deterministic = random.one_in(4);
    overrides.programmatic = [None, Some(false), Some(true)][random.below(3)];
    overrides.delays = random.one_in(8);
    overrides
}

fn strategy(random: &mut Random) -> Strategy {
    let padded = random.one_in(2);
    let workers = if random.one_in(2) { Workers::Scattered } else { Workers::Contiguous };
    let networks = [
        Network::Sequential,
        Network::Naive,
        Network::KoggeStone,
        Network::HillisSteele,
        Network::BrentKung { workers, padded },
        Network::Blelloch { padded },
        Network::WarpShuffle,
    ];
    let network = networks[random.below(networks.len())];
    let block = match random.below(4) {
        0 => BlockScan::of(network),
        1 => BlockScan::coarsened(network),
        2 => BlockScan::coarsened(Network::WarpShuffle),
        _ => BlockScan::in_registers(),
    };
    let warps = [WarpNetwork::KoggeStone, WarpNetwork::KoggeStone, WarpNetwork::LadnerFischer, WarpNetwork::BrentKung];
    let block = block.over_warps(warps[random.below(warps.len())]);
    let numbers = if random.one_in(2) { TileNumbers::Counter } else { TileNumbers::BlockIndex };
    let carries = [
        Carry::OneBlock,
        Carry::ReduceThenScan,
        Carry::Chained(numbers),
        Carry::LookBack,
        Carry::LookAtAll,
        Carry::Cluster,
        Carry::LookAhead,
        Carry::LookAhead,
    ];
    Strategy { block, carry: carries[random.below(carries.len())] }
}

fn spec(random: &mut Random) -> ScanSpec {
    let mut spec = if random.one_in(2) { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    spec.initial_value = random.one_in(2);
    spec.total = random.one_in(3);
    let segments = match random.below(10) {
        0 => Segments::HeadFlags,
        1 => Segments::HeadBits,
        2 => Segments::Keys(element(random)),
        4 => Segments::Rows,
        3 => Segments::Offsets(if random.one_in(2) { OffsetWidth::U32 } else { OffsetWidth::U64 }),
        _ => Segments::None,
    };
    spec.with_segments(segments)
}

fn length(random: &mut Random) -> u64 {
    odd(random, &[0, 1, 31, 1_000, 65_537, 1 << 20, 1 << 26, 1 << 32], u64::MAX)
}

/// A type of 1 to 256 bytes, now and then of none or of more.
fn element(random: &mut Random) -> ElementType {
    let primitive = ElementType::primitive(Primitive::ALL[random.below(Primitive::ALL.len())]);
    match random.below(8) {
        0..3 => primitive,
        3 | 4 => {
            let max = 256 / primitive.size;
            ElementType::array(primitive, 1 + random.below(max))
        }
        5 => ElementType::array(primitive, odd(random, &[0, 1, 3, 16, 257], 300) as usize),
        6 => ElementType::array(ElementType::primitive(Primitive::U8), 1 + random.below(256)),
        _ => {
            let fields = (0..1 + random.below(4)).map(|index| {
                let ty = ElementType::primitive(Primitive::ALL[random.below(Primitive::ALL.len())]);
                (format!("f{index}"), ty)
            });
            let fields: Vec<_> = fields.collect();
            let sizes: Vec<String> = fields.iter().map(|(_, ty)| ty.name.clone()).collect();
            ElementType::structure(format!("Of_{}", sizes.join("_")), fields)
        }
    }
}

fn operator(random: &mut Random) -> OpSource {
    let state = element(random);
    let (input, output) = match random.below(3) {
        0 => (element(random), element(random)),
        1 => (element(random), state.clone()),
        _ => (state.clone(), state.clone()),
    };
    let function = |random: &mut Random, name: &str, from: &[&ElementType], to: &ElementType| {
        const PARTS: [&str; 8] = ["add", "mul", "div", "rem", "max", "lt", "wrapping_add", "min"];
        let uses = (0..random.below(4)).map(|_| {
            let times = odd(random, &[1, 2, 10, 100, 10_000], u64::MAX);
            (PARTS[random.below(PARTS.len())], times)
        });
        let mut body = vec![Piece::Text("return ".into())];
        body.extend(match from.iter().position(|ty| *ty == to) {
            Some(index) => vec![Piece::Name(["a", "b"][index])],
            None => vec![Piece::Type(to.clone()), Piece::Text("{}".into())],
        });
        body.push(Piece::Text(";".into()));
        FunctionSource {
            name: name.to_owned(),
            parameters: ["a", "b"].into_iter().zip(from).map(|(name, ty)| (name.to_owned(), (*ty).clone())).collect(),
            returns: to.clone(),
            body,
            file: String::new(),
            uses: uses.collect(),
            calls: Vec::new(),
            cold: false,
        }
    };
    let mut functions = vec![function(random, "combine", &[&state, &state], &state)];
    if input != state {
        functions.push(function(random, "lift", &[&input], &state));
    }
    if output != state {
        functions.push(function(random, "project", &[&state], &output));
    }
    let identity = random.one_in(2).then(|| vec![0; state.size]);
    let parameters = random.one_in(6).then(|| {
        let bytes = odd(random, &[1, 16, 256, 3072, 3073], 1 << 40) as usize;
        let list = ElementType::array(ElementType::primitive(Primitive::U8), bytes);
        ElementType::structure("Op".to_owned(), [("list".to_owned(), list)])
    });
    OpSource {
        name: "Op".to_owned(),
        input,
        state,
        output,
        identity,
        carry: None,
        parameters,
        functions,
        helpers: Vec::new(),
        outputs_of: OutputsOf::Prefixes,
        backwards: None,
    }
}
