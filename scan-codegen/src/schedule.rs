//! The order of launches: from a plan and a length to which kernel runs when, on what.

use crate::{
    Segments,
    plan::{Plan, PlanError},
    strategy::Carry,
};

/// The launches of one scan of a known length, and the workspace they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Device memory that the launches need beyond input and output.
    pub workspace: Workspace,
    /// The launches, to be made in this order on one stream.
    pub launches: Vec<Launch>,
}

/// Device memory that launches need beyond input and output, aligned for any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workspace {
    /// Any memory will do. What it holds before the launches, and after them, means nothing.
    Scratch {
        /// How much of it; perhaps none.
        bytes: u64,
    },
    /// Memory that belongs to the kernels of this plan from launch to launch. It is zero when it is allocated, once; then nobody
    /// but these kernels writes to it, not even zeros, and their launches that use it never overlap: it belongs to one stream.
    ///
    /// It may be longer than a schedule asks for, by any number of messages ([`Argument::MessageRoom`]). Memory for more
    /// messages begins anew, as zeros.
    Kept {
        /// How many messages it must have room for.
        messages: u64,
        /// Bytes of a message: the same in all schedules of a plan.
        message_bytes: u64,
    },
}

impl Workspace {
    /// Where the messages begin in memory that is kept. What is before them tells how many launches there have been.
    const HEADER_BYTES: u64 = Reserved::ALIGNMENT;

    /// How much memory there must be at the least.
    pub const fn bytes(&self) -> u64 {
        match *self {
            Workspace::Scratch { bytes } => bytes,
            Workspace::Kept { messages, message_bytes } => {
                Self::HEADER_BYTES.saturating_add(messages.saturating_mul(message_bytes))
            }
        }
    }

    /// How many messages there is room for in so much memory.
    pub const fn message_room(&self, bytes: u64) -> u64 {
        match *self {
            Workspace::Scratch { .. } => 0,
            Workspace::Kept { message_bytes: 0, .. } => 0,
            Workspace::Kept { message_bytes, .. } => bytes.saturating_sub(Self::HEADER_BYTES) / message_bytes,
        }
    }
}

/// When a launch must be cooperative, its blocks on the device all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cooperative {
    /// Never.
    Never,
    /// Where results take the place of elements.
    InPlace,
    /// Always.
    Always,
}

impl Cooperative {
    /// Whether a launch that works in place, or does not, must be.
    pub const fn applies(self, in_place: bool) -> bool {
        match self {
            Cooperative::Never => false,
            Cooperative::InPlace => in_place,
            Cooperative::Always => true,
        }
    }
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Which kernel: the role that stands in its name after the operator's.
    pub kernel: &'static str,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of each block.
    pub threads: u32,
    /// Bytes of shared memory that each block asks for beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// Whether the blocks wait for each other in a way that needs all of them on the device at once: a cooperative launch.
    pub cooperative: Cooperative,
    /// Whether the launch may begin before what is before it in the stream has ended, because the kernel waits for that itself: a
    /// programmatic dependent launch. It may be launched as any other, too, and is where it is cooperative: that gains nothing
    /// in a stream (`docs/tuning.md#programmatic-dependent-launches`).
    pub programmatic: bool,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
}

/// An argument of a launch, to be filled in by whoever launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Argument {
    /// A pointer to the input.
    Input,
    /// A pointer to the output.
    Output,
    /// A pointer this many bytes into the workspace.
    Workspace(u64),
    /// How many messages the workspace has room for ([`Workspace::message_room`] of what was allocated), as a 64-bit integer.
    MessageRoom,
    /// A number of elements, as a 64-bit integer.
    Length(u64),
    /// The operator with its parameters, by value. An operator without parameters is one byte, of any value.
    Operator,
    /// The initial value, by value.
    InitialValue,
    /// A pointer to where the sum of all elements goes.
    Total,
    /// A pointer to what tells where segments begin ([`Segments`]): the flags, bits, keys or offsets.
    Heads,
    /// How many offsets there are, as a 64-bit integer.
    OffsetCount,
}

impl Launch {
    /// An ordinary launch.
    pub(crate) fn new(kernel: &'static str, blocks: u32, threads: u32, arguments: Vec<Argument>) -> Self {
        Launch {
            kernel,
            blocks,
            threads,
            dynamic_shared_bytes: 0,
            cooperative: Cooperative::Never,
            programmatic: false,
            arguments,
        }
    }
}

impl Plan {
    /// The roles of the kernels that schedules of this plan may launch.
    pub fn kernels(&self) -> &'static [&'static str] {
        let all: &[&str] = match self.strategy.carry {
            Carry::OneBlock => return &["scan_block"],
            Carry::LookAhead => return &["scan_look_ahead"],
            Carry::Hierarchical => &["scan_block", "scan_sections", "scan_totals", "carry_totals", "carry_sections"],
            Carry::Chained(_) => &["scan_block", "scan_chained"],
            Carry::LookBack => &["scan_block", "scan_look_back"],
            Carry::LookAtAll => &["scan_block", "scan_look_at_all"],
            Carry::Cluster => &["scan_block", "scan_cluster"],
        };
        if self.has_kernel_of_one_block() { all } else { &all[1..] }
    }

    /// Bytes of shared memory that launches of the kernel with this role ask for, at the most.
    pub fn dynamic_shared_bytes(&self, kernel: &str) -> u32 {
        match (&self.pipeline, kernel) {
            (Some(pipeline), "scan_look_ahead") => pipeline.dynamic_shared_bytes,
            _ => 0,
        }
    }

    /// The launches that scan `len` elements; none where `len` is zero.
    ///
    /// # Errors
    ///
    /// [`PlanError::TooLong`] if the device's grid cannot have that many tiles.
    pub fn schedule(&self, len: u64) -> Result<Schedule, PlanError> {
        self.schedule_aligned(len, Reserved::ALIGNMENT)
    }

    /// As [`schedule`](Plan::schedule), with the parts of scratch memory at multiples of so many bytes. Where that is one, no part has
    /// unused bytes behind it that would hide an access beyond its end.
    #[doc(hidden)]
    pub fn schedule_aligned(&self, len: u64, alignment: u64) -> Result<Schedule, PlanError> {
        if len > self.max_len {
            return Err(PlanError::TooLong { len, max_len: self.max_len });
        }
        let mut schedule = match self.strategy.carry {
            _ if len == 0 => Schedule { workspace: NO_WORKSPACE, launches: Vec::new() },
            Carry::LookAhead => self.look_ahead(len),
            _ if self.has_kernel_of_one_block() && len <= u64::from(self.tile) => self.one_block(len),
            Carry::OneBlock => self.one_block(len),
            Carry::Hierarchical => self.hierarchical(len, alignment),
            Carry::Chained(_) => self.single_pass("scan_chained", len),
            Carry::LookBack => self.single_pass("scan_look_back", len),
            Carry::LookAtAll => self.single_pass("scan_look_at_all", len),
            Carry::Cluster => self.without_messages("scan_cluster", self.cluster, len),
        };
        for launch in &mut schedule.launches {
            launch.programmatic = self.programmatic;
        }
        Ok(schedule)
    }

    fn one_block(&self, len: u64) -> Schedule {
        self.without_messages("scan_block", 1, len)
    }

    /// One kernel whose blocks keep nothing in global memory.
    fn without_messages(&self, kernel: &'static str, blocks: u32, len: u64) -> Schedule {
        use Argument::*;
        let arguments =
            [vec![Operator, Input], self.heads(), vec![Output, Length(len)], self.initial_value(), self.total()]
                .concat();
        let launch = Launch::new(kernel, blocks, self.threads, arguments);
        Schedule { workspace: NO_WORKSPACE, launches: vec![launch] }
    }

    fn hierarchical(&self, len: u64, alignment: u64) -> Schedule {
        use Argument::*;
        let tile = u64::from(self.tile);
        let mut workspace = Reserved::new(alignment);
        // levels[k] is the array of section totals that level k leaves: its place, that of the sections' first heads in a
        // segmented scan, and how many sections there are.
        let mut levels = Vec::new();
        let mut elements = len;
        // One section has a total too: this plan may have no kernel of one block.
        while elements > 1 || levels.is_empty() {
            elements = elements.div_ceil(tile);
            let totals = workspace.reserve(elements * self.state_bytes);
            let heads = if self.is_segmented() { vec![Workspace(workspace.reserve(elements * 4))] } else { Vec::new() };
            levels.push(Level { totals: vec![Workspace(totals)], heads, sections: elements });
        }
        let partials = match self.partials_in_output {
            true => Output,
            false => Workspace(workspace.reserve(len * self.state_bytes)),
        };
        let launch = |kernel, elements: u64, arguments| {
            Launch::new(kernel, elements.div_ceil(tile) as u32, self.threads, arguments)
        };
        let scan_totals = |pair: &[Level]| {
            let (level, above) = (&pair[0], &pair[1]);
            let places = [&level.totals[..], &level.heads, &above.totals, &above.heads].concat();
            launch("scan_totals", level.sections, [vec![Operator], places, vec![Length(level.sections)]].concat())
        };
        let carry_totals = |pair: &[Level]| {
            let (level, above) = (&pair[0], &pair[1]);
            let places = [&level.totals[..], &above.totals, &above.heads].concat();
            launch("carry_totals", level.sections, [vec![Operator], places, vec![Length(level.sections)]].concat())
        };

        let lowest = [&levels[0].totals[..], &levels[0].heads, &[Length(len)]].concat();
        // In a segmented scan the initial value enters with the first element of each segment, else with what stands before
        // each section.
        let (first, last) = match self.is_segmented() {
            true => (self.initial_value(), Vec::new()),
            false => (Vec::new(), self.initial_value()),
        };
        let arguments = [vec![Operator, Input], self.heads(), vec![partials], lowest.clone(), first].concat();
        let mut launches = vec![launch("scan_sections", len, arguments)];
        launches.extend(levels.windows(2).map(scan_totals));
        // The topmost level fits one block, so nothing stands before any section of it.
        let lower = levels.windows(2).rev().filter(|pair| pair[0].sections > tile);
        launches.extend(lower.map(carry_totals));
        let arguments = [vec![Operator, partials, Output], lowest, last, self.total()].concat();
        launches.push(launch("carry_sections", len, arguments));
        Schedule { workspace: workspace.scratch(), launches }
    }

    /// One kernel whose blocks send each other messages, one a tile.
    fn single_pass(&self, kernel: &'static str, len: u64) -> Schedule {
        use Argument::*;
        let blocks = len.div_ceil(u64::from(self.tile));
        let arguments = [
            vec![Operator, Input],
            self.heads(),
            vec![Output],
            MESSAGES.to_vec(),
            vec![Length(len)],
            self.initial_value(),
            self.total(),
        ];
        let launch = Launch::new(kernel, blocks as u32, self.threads, arguments.concat());
        Schedule { workspace: self.kept(blocks), launches: vec![launch] }
    }

    /// One kernel whose blocks stay.
    fn look_ahead(&self, len: u64) -> Schedule {
        use Argument::*;
        let pipeline = self.pipeline.unwrap_or_default();
        let tiles = len.div_ceil(u64::from(self.tile));
        let arguments = [
            vec![Operator, Input],
            self.heads(),
            vec![Output],
            MESSAGES.to_vec(),
            vec![Length(len)],
            self.initial_value(),
            self.total(),
        ];
        let launch = Launch {
            kernel: "scan_look_ahead",
            blocks: tiles.min(u64::from(pipeline.blocks)) as u32,
            threads: pipeline.block_threads(self.threads),
            dynamic_shared_bytes: pipeline.dynamic_shared_bytes,
            cooperative: if self.helps() { Cooperative::InPlace } else { Cooperative::Always },
            programmatic: false,
            arguments: arguments.concat(),
        };
        // A gap before the first element may make one tile more.
        let messages = tiles + 1 + pipeline.group_messages(tiles + 1, u64::from(launch.blocks));
        Schedule { workspace: self.kept(messages), launches: vec![launch] }
    }

    fn kept(&self, messages: u64) -> Workspace {
        Workspace::Kept { messages, message_bytes: self.message_bytes() }
    }

    fn is_segmented(&self) -> bool {
        !self.spec.segments.is_none()
    }

    fn initial_value(&self) -> Vec<Argument> {
        if self.spec.initial_value { vec![Argument::InitialValue] } else { Vec::new() }
    }

    fn total(&self) -> Vec<Argument> {
        if self.spec.total { vec![Argument::Total] } else { Vec::new() }
    }

    /// What tells where segments begin.
    fn heads(&self) -> Vec<Argument> {
        match &self.spec.segments {
            Segments::None => Vec::new(),
            Segments::Offsets(_) => vec![Argument::Heads, Argument::OffsetCount],
            _ => vec![Argument::Heads],
        }
    }
}

const NO_WORKSPACE: Workspace = Workspace::Scratch { bytes: 0 };

/// What kernels that send messages are told of them: whose turn it is, the messages, and how many there is room for.
const MESSAGES: [Argument; 3] =
    [Argument::Workspace(0), Argument::Workspace(Workspace::HEADER_BYTES), Argument::MessageRoom];

/// A level of section totals.
struct Level {
    totals: Vec<Argument>,
    /// The position of each section's first head.
    heads: Vec<Argument>,
    sections: u64,
}

/// Hands out places in the workspace, each at a multiple of so many bytes.
pub(crate) struct Reserved {
    bytes: u64,
    alignment: u64,
}

impl Reserved {
    /// Aligned for any element.
    pub(crate) const ALIGNMENT: u64 = 256;

    pub(crate) fn new(alignment: u64) -> Self {
        Reserved { bytes: 0, alignment }
    }

    pub(crate) fn scratch(&self) -> Workspace {
        Workspace::Scratch { bytes: self.bytes }
    }

    pub(crate) fn reserve(&mut self, bytes: u64) -> u64 {
        let offset = self.bytes;
        self.bytes = (offset + bytes).next_multiple_of(self.alignment);
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        BlockScan, DeviceLimits, FunctionSource, Network, Overrides, Piece, ScanSpec, Strategy, TileNumbers,
        operator::operator_of, plan,
    };

    fn plan_with(bytes: usize, threads: u32) -> Result<Plan, PlanError> {
        let strategy = Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::Hierarchical };
        let overrides = Overrides { strategy: Some(strategy), threads: Some(threads), ..Overrides::default() };
        plan(&operator_of(bytes), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &overrides)
            .map(|plans| plans.longest().clone())
    }

    fn launches(len: u64) -> Vec<(&'static str, u32)> {
        let schedule = plan_with(4, 32).unwrap().schedule(len).unwrap();
        schedule.launches.iter().map(|launch| (launch.kernel, launch.blocks)).collect()
    }

    #[test]
    fn launches_are_cooperative_where_all_blocks_must_be_there() {
        let applies = |cooperative: Cooperative| [false, true].map(|in_place| cooperative.applies(in_place));
        assert_eq!(applies(Cooperative::Never), [false, false]);
        assert_eq!(applies(Cooperative::InPlace), [false, true]);
        assert_eq!(applies(Cooperative::Always), [true, true]);
    }

    #[test]
    fn a_level_of_totals_is_added_as_soon_as_they_outgrow_a_block() {
        assert_eq!(launches(0), []);
        assert_eq!(launches(1), [("scan_block", 1)]);
        assert_eq!(launches(32), [("scan_block", 1)]);
        assert_eq!(launches(33), [("scan_sections", 2), ("scan_totals", 1), ("carry_sections", 2)]);
        assert_eq!(launches(1_024), [("scan_sections", 32), ("scan_totals", 1), ("carry_sections", 32)]);
        assert_eq!(
            launches(1_025),
            [
                ("scan_sections", 33),
                ("scan_totals", 2),
                ("scan_totals", 1),
                ("carry_totals", 2),
                ("carry_sections", 33)
            ]
        );
        assert_eq!(launches(1 << 20).iter().filter(|(kernel, _)| *kernel == "carry_totals").count(), 2);
    }

    /// No kernel of one block is part of a plan for longer inputs.
    #[test]
    fn a_plan_for_longer_inputs_has_a_schedule_for_the_shortest() {
        let longer = Plan { from: 1_000, ..plan_with(4, 32).unwrap() };
        assert!(!longer.kernels().contains(&"scan_block"));
        for len in [1, 2, 32] {
            let schedule = longer.schedule(len).unwrap();
            let kernels: Vec<_> = schedule.launches.iter().map(|launch| (launch.kernel, launch.blocks)).collect();
            assert_eq!(kernels, [("scan_sections", 1), ("carry_sections", 1)], "{len}");
            assert!(schedule.workspace.bytes() >= 4);
        }
        assert_eq!(longer.schedule(0).unwrap().launches, []);
    }

    /// Every kernel that may be launched is in the text, whatever lengths the plan is for.
    #[test]
    fn a_text_has_the_kernels_of_its_plan() {
        let mut operator = operator_of(4);
        operator.functions.push(FunctionSource {
            name: "combine".to_owned(),
            parameters: ["a", "b"].map(|name| (name.to_owned(), operator.state.clone())).into(),
            returns: operator.state.clone(),
            body: vec![Piece::Text("return a;")],
            file: String::new(),
            uses: Vec::new(),
            calls: Vec::new(),
        });
        for carry in [Carry::OneBlock, Carry::Hierarchical, Carry::Chained(TileNumbers::Counter), Carry::LookBack] {
            let strategy = Strategy { block: BlockScan::of(Network::KoggeStone), carry };
            let overrides = Overrides { strategy: Some(strategy), ..Overrides::default() };
            let limits = DeviceLimits::BASELINE;
            let plans = plan(&operator, &ScanSpec::inclusive(), &limits, &overrides).unwrap();
            for from in [0, 1 << 32] {
                let plan = Plan { from, ..plans.longest().clone() };
                let source = crate::render(&operator, &plan).unwrap();
                for role in plan.kernels() {
                    assert!(
                        source.text.contains(&format!("{}(", source.kernel_name(role))),
                        "{carry:?}, {from}: {role}"
                    );
                }
            }
        }
    }

    #[test]
    fn messages_of_no_bytes_need_no_room() {
        let none = Workspace::Kept { messages: 5, message_bytes: 0 };
        assert_eq!((none.bytes(), none.message_room(1 << 20)), (256, 0));
        assert_eq!(Workspace::Kept { messages: u64::MAX, message_bytes: 16 }.bytes(), u64::MAX);
    }

    #[test]
    fn places_in_the_workspace_do_not_overlap() {
        let schedule = plan_with(12, 32).unwrap().schedule(100_000).unwrap();
        let mut places: Vec<(u64, u64)> = Vec::new();
        let mut elements = 100_000_u64;
        for launch in schedule.launches.iter().filter(|launch| launch.kernel.starts_with("scan_")) {
            elements = elements.div_ceil(32);
            // The totals that a kernel leaves are the last place it is given.
            let place = launch.arguments.iter().rev().find_map(|argument| match argument {
                Argument::Workspace(offset) => Some(*offset),
                _ => None,
            });
            places.push((place.unwrap(), place.unwrap() + elements * 12));
        }
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{places:?}");
        assert!(places.iter().all(|place| place.1 <= schedule.workspace.bytes() && place.0 % 256 == 0), "{places:?}");
    }
}
