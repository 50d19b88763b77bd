//! The planner: from what to scan and what the device grants to the shape of the kernels and the order of launches.

use std::fmt;

use crate::{
    element::ElementType,
    limits::DeviceLimits,
    operator::OpSource,
    spec::{ScanKind, ScanSpec},
    strategy::{BlockScan, Carry, Strategy},
};

/// The most bytes an element can have.
pub const MAX_ELEMENT_BYTES: usize = 256;

/// What the caller wants otherwise than the planner would choose. `None` leaves the choice to the planner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Overrides {
    /// The algorithm.
    pub strategy: Option<Strategy>,
    /// Threads of a block: a power of two.
    pub threads: Option<u32>,
}

/// The shape of the kernels for one scan. [`plan`] makes one; its `Display` tells it in words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Plan {
    /// What is scanned.
    pub spec: ScanSpec,
    /// The algorithm.
    pub strategy: Strategy,
    /// Threads of a block.
    pub threads: u32,
    /// Elements that a block scans.
    pub tile: u32,
    /// Bytes of shared memory that a block declares.
    pub shared_bytes: u32,
    /// Whether partial results fit into the output buffer until the last kernel completes them there: they do where the
    /// output is of the type that is combined. Elsewhere they lie in the workspace.
    pub partials_in_output: bool,
    /// The most elements that one scan can have under this plan.
    pub max_len: u64,
    state_bytes: u64,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An element has no bytes, so there is nothing to scan.
    #[error("element type `{name}` is zero-sized: give it at least one field")]
    ZeroSized {
        /// The element type.
        name: String,
    },
    /// An element has more bytes than the kernels handle.
    #[error(
        "element type `{name}` has {size} bytes; the kernels handle up to {MAX_ELEMENT_BYTES}: scan indices or keys of it instead"
    )]
    TooLarge {
        /// The element type.
        name: String,
        /// Its size in bytes.
        size: usize,
    },
    /// An exclusive scan needs something to put first.
    #[error("operator `{operator}` has no identity, so an exclusive scan needs an initial value: add `.init(value)`")]
    NoIdentity {
        /// The operator.
        operator: String,
    },
    /// The requested number of threads cannot be had.
    #[error("a block cannot have {threads} threads here: ask for a power of two from {least} to {most}")]
    Threads {
        /// What was asked for.
        threads: u32,
        /// The fewest threads of a block.
        least: u32,
        /// The most threads of a block, for this element on this device.
        most: u32,
    },
    /// The input is longer than this plan can handle.
    #[error(
        "{len} elements are more than this plan can scan at once ({max_len}): scan them in parts, each with the last result as initial value"
    )]
    TooLong {
        /// The length asked for.
        len: u64,
        /// The most elements.
        max_len: u64,
    },
}

/// Chooses the kernels' shape. A pure function: the same arguments give the same plan on every machine.
pub fn plan(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    overrides: &Overrides,
) -> Result<Plan, PlanError> {
    for ty in [&operator.input, &operator.state, &operator.output] {
        check_element(ty)?;
    }
    if spec.kind == ScanKind::Exclusive && !spec.initial_value && operator.identity.is_none() {
        return Err(PlanError::NoIdentity { operator: operator.name.clone() });
    }
    let strategy = overrides.strategy.unwrap_or(Strategy { block: BlockScan::KoggeStone, carry: Carry::Hierarchical });
    let state_bytes = operator.state.size as u32;

    // One element a thread, all of them in shared memory.
    let most = power_of_two_below(limits.threads_per_block.min(limits.shared_bytes_per_block / state_bytes));
    let least = 32;
    let threads = overrides.threads.unwrap_or(most);
    if !(least..=most).contains(&threads) || !threads.is_power_of_two() {
        return Err(PlanError::Threads { threads, least, most });
    }
    let tile = threads;

    Ok(Plan {
        spec: spec.clone(),
        strategy,
        threads,
        tile,
        shared_bytes: tile * state_bytes,
        partials_in_output: operator.state == operator.output,
        max_len: limits.blocks_per_grid.saturating_mul(u64::from(tile)),
        state_bytes: u64::from(state_bytes),
    })
}

fn check_element(ty: &ElementType) -> Result<(), PlanError> {
    match ty.size {
        0 => Err(PlanError::ZeroSized { name: ty.name.clone() }),
        1..=MAX_ELEMENT_BYTES => Ok(()),
        size => Err(PlanError::TooLarge { name: ty.name.clone(), size }),
    }
}

fn power_of_two_below(limit: u32) -> u32 {
    limit.checked_ilog2().map_or(0, |log| 1 << log)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.spec)?;
        writeln!(f, "  strategy  {}", self.strategy)?;
        writeln!(f, "  block     {} threads, {} bytes of shared memory", self.threads, self.shared_bytes)?;
        writeln!(f, "  tile      {} elements", self.tile)?;
        let partials = if self.partials_in_output { "in the output" } else { "in the workspace" };
        write!(f, "  partials  {partials}, {} bytes each", self.state_bytes)
    }
}

/// The launches of one scan of a known length, and the workspace they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Bytes of device memory that the launches need beyond input and output. They need not be initialised.
    pub workspace_bytes: u64,
    /// The launches, to be made in this order on one stream.
    pub launches: Vec<Launch>,
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
    /// A number of elements, as a 64-bit integer.
    Length(u64),
    /// The operator with its parameters, by value. An operator without parameters is one byte, of any value.
    Operator,
    /// The initial value, by value.
    InitialValue,
}

impl Plan {
    /// The roles of the kernels that schedules of this plan may launch.
    pub fn kernels(&self) -> &'static [&'static str] {
        match self.strategy.carry {
            Carry::Hierarchical => &["scan_block", "scan_sections", "scan_totals", "carry_totals", "carry_sections"],
        }
    }

    /// The launches that scan `len` elements; none where `len` is zero.
    pub fn schedule(&self, len: u64) -> Result<Schedule, PlanError> {
        if len > self.max_len {
            return Err(PlanError::TooLong { len, max_len: self.max_len });
        }
        match self.strategy.carry {
            Carry::Hierarchical => Ok(self.hierarchical(len)),
        }
    }

    fn hierarchical(&self, len: u64) -> Schedule {
        let mut workspace = Workspace::default();
        let mut launches = Vec::new();
        let tile = u64::from(self.tile);
        let launch = |kernel, elements: u64, arguments| Launch {
            kernel,
            blocks: elements.div_ceil(tile) as u32,
            threads: self.threads,
            arguments,
        };
        let with_init = |mut arguments: Vec<Argument>| {
            if self.spec.initial_value {
                arguments.push(Argument::InitialValue);
            }
            arguments
        };

        if (1..=tile).contains(&len) {
            use Argument::*;
            launches.push(launch("scan_block", len, with_init(vec![Operator, Input, Output, Length(len)])));
        } else if len > tile {
            use Argument::*;
            // levels[k] is the array of section totals that level k leaves: its place and its length.
            let mut levels = Vec::new();
            let mut elements = len;
            while elements > 1 {
                elements = elements.div_ceil(tile);
                levels.push((workspace.reserve(elements * self.state_bytes), elements));
            }
            let partials =
                if self.partials_in_output { Output } else { Workspace(workspace.reserve(len * self.state_bytes)) };
            let (totals, _) = levels[0];
            launches.push(launch(
                "scan_sections",
                len,
                vec![Operator, Input, partials, Workspace(totals), Length(len)],
            ));
            for pair in levels.windows(2) {
                let ((totals, count), (above, _)) = (pair[0], pair[1]);
                let arguments = vec![Operator, Workspace(totals), Workspace(above), Length(count)];
                launches.push(launch("scan_totals", count, arguments));
            }
            // The topmost level fits one block, so nothing stands before any section of it.
            for pair in levels.windows(2).rev().filter(|pair| pair[0].1 > tile) {
                let ((totals, count), (above, _)) = (pair[0], pair[1]);
                let arguments = vec![Operator, Workspace(totals), Workspace(above), Length(count)];
                launches.push(launch("carry_totals", count, arguments));
            }
            let arguments = vec![Operator, partials, Output, Workspace(totals), Length(len)];
            launches.push(launch("carry_sections", len, with_init(arguments)));
        }
        Schedule { workspace_bytes: workspace.bytes, launches }
    }
}

/// Hands out places in the workspace, each aligned for any element.
#[derive(Default)]
struct Workspace {
    bytes: u64,
}

impl Workspace {
    const ALIGNMENT: u64 = 256;

    fn reserve(&mut self, bytes: u64) -> u64 {
        let offset = self.bytes;
        self.bytes = (offset + bytes).next_multiple_of(Self::ALIGNMENT);
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Primitive, limits::DeviceLimits};

    fn operator(bytes: usize) -> OpSource {
        let element = ElementType::array(ElementType::primitive(Primitive::U8), bytes);
        OpSource {
            name: "Op".to_owned(),
            input: element.clone(),
            state: element.clone(),
            output: element,
            identity: None,
            parameters: None,
            functions: Vec::new(),
        }
    }

    fn plan_with(bytes: usize, threads: u32) -> Result<Plan, PlanError> {
        let overrides = Overrides { threads: Some(threads), ..Overrides::default() };
        plan(&operator(bytes), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &overrides)
    }

    fn launches(len: u64) -> Vec<(&'static str, u32)> {
        let schedule = plan_with(4, 32).unwrap().schedule(len).unwrap();
        schedule.launches.iter().map(|launch| (launch.kernel, launch.blocks)).collect()
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
            [("scan_sections", 33), ("scan_totals", 2), ("scan_totals", 1), ("carry_totals", 2), ("carry_sections", 33)]
        );
        assert_eq!(launches(1 << 20).iter().filter(|(kernel, _)| *kernel == "carry_totals").count(), 2);
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
        assert!(places.iter().all(|place| place.1 <= schedule.workspace_bytes && place.0 % 256 == 0), "{places:?}");
    }

    #[test]
    fn a_large_element_gets_fewer_threads() {
        let threads = |bytes| {
            plan(&operator(bytes), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &Overrides::default()).unwrap().threads
        };
        assert_eq!((threads(4), threads(48), threads(49), threads(256)), (1024, 1024, 512, 128));
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_reason() {
        assert!(matches!(plan_with(0, 32), Err(PlanError::ZeroSized { .. })));
        assert!(matches!(plan_with(257, 32), Err(PlanError::TooLarge { size: 257, .. })));
        assert!(matches!(plan_with(4, 48), Err(PlanError::Threads { threads: 48, least: 32, most: 1024 })));
        let exclusive = plan(&operator(4), &ScanSpec::exclusive(), &DeviceLimits::BASELINE, &Overrides::default());
        assert!(matches!(exclusive, Err(PlanError::NoIdentity { .. })));
        let too_long = plan_with(4, 32).unwrap().schedule(u64::MAX);
        assert!(matches!(too_long, Err(PlanError::TooLong { .. })));
    }
}
