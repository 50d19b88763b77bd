//! Tells what a scan does step by step, and draws its network, from a run of the generated kernels in the emulator.
//!
//! ```console
//! $ cargo run -p scan-tools --bin explain -- --network kogge-stone --length 16 --operator sum
//! $ cargo run -p scan-tools --bin explain -- --network brent-kung --length 16 --svg brent_kung.svg
//! $ cargo run -p scan-tools --bin explain -- --network blelloch --exclusive --operator brackets
//! $ cargo run -p scan-tools --bin explain -- --carry look-back --length 4000
//! $ cargo run -p scan-tools --bin explain -- --carry look-back --length 128 --operator brackets --html explorer.html
//! $ cargo run -p scan-tools --bin explain -- --operator brackets --every-strategy --html explorer.html
//! ```

use std::{
    error::Error,
    fmt::Debug,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, ValueEnum};
use scan_codegen::Overrides;
use scan_runtime::{BlockScan, Carry, Network, ScanKind, ScanOp, Strategy, TileNumbers, WarpNetwork, Workers};
use scan_tests::{
    emulated::{Emulator, Program},
    explain::{
        self, Counts, NetworkTrace, Recording, explorer, numbers, picture, recording, recordings_of, steps, title,
        visit_shown,
    },
    operators::{self, TestOperator, visit_all},
};

/// More columns than this are too many to read: then only the counts are told.
const MAX_COLUMNS: u64 = 128;

/// Tells what a scan does step by step, counts it, and draws its network.
#[derive(Parser)]
struct Arguments {
    /// How a block scans its tile.
    #[arg(long, value_enum, default_value = "kogge-stone")]
    network: NetworkName,
    /// The network of a warp, for warp shuffles.
    #[arg(long, value_enum, default_value = "kogge-stone")]
    warp: WarpName,
    /// Keeps a tree's strides off the same memory bank.
    #[arg(long)]
    padded: bool,
    /// Elements that each thread scans on its own first.
    #[arg(long)]
    coarsened: Option<u32>,
    /// How tiles carry.
    #[arg(long, value_enum, default_value = "one-block")]
    carry: CarryName,
    /// Threads of a block, a power of two.
    #[arg(long)]
    threads: Option<u32>,
    /// How many elements.
    #[arg(long, visible_alias = "len", default_value_t = 16)]
    length: u64,
    /// An operator of `tests/support/explain/shown.rs`, or one of the test operators; `list` names them.
    #[arg(long, default_value = "sum")]
    operator: String,
    /// An exclusive scan.
    #[arg(long)]
    exclusive: bool,
    /// Draws the network into this file.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// Writes a page into this file that goes through the run step by step.
    #[arg(long)]
    html: Option<PathBuf>,
    /// The page goes through every strategy of `docs/explorer.html`. Those have networks and lengths of their own.
    #[arg(long, requires = "html")]
    every_strategy: bool,
    /// Decides in which order threads and blocks come.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum NetworkName {
    Sequential,
    Naive,
    KoggeStone,
    HillisSteele,
    BrentKungScattered,
    BrentKung,
    Blelloch,
    WarpShuffle,
}

#[derive(Clone, Copy, ValueEnum)]
enum WarpName {
    KoggeStone,
    Sklansky,
    LadnerFischer,
    HanCarlson,
    BrentKung,
}

#[derive(Clone, Copy, ValueEnum)]
enum CarryName {
    OneBlock,
    ReduceThenScan,
    Chained,
    ChainedByBlockIndex,
    LookBack,
}

impl Arguments {
    fn strategy(&self) -> Strategy {
        let padded = self.padded;
        let network = match self.network {
            NetworkName::Sequential => Network::Sequential,
            NetworkName::Naive => Network::Naive,
            NetworkName::KoggeStone => Network::KoggeStone,
            NetworkName::HillisSteele => Network::HillisSteele,
            NetworkName::BrentKungScattered => Network::BrentKung { workers: Workers::Scattered, padded },
            NetworkName::BrentKung => Network::BrentKung { workers: Workers::Contiguous, padded },
            NetworkName::Blelloch => Network::Blelloch { padded },
            NetworkName::WarpShuffle => Network::WarpShuffle,
        };
        let carry = match self.carry {
            CarryName::OneBlock => Carry::OneBlock,
            CarryName::ReduceThenScan => Carry::ReduceThenScan,
            CarryName::Chained => Carry::Chained(TileNumbers::Counter),
            CarryName::ChainedByBlockIndex => Carry::Chained(TileNumbers::BlockIndex),
            CarryName::LookBack => Carry::LookBack,
        };
        let block = if self.coarsened.is_some() { BlockScan::coarsened(network) } else { BlockScan::of(network) };
        let warp = match self.warp {
            WarpName::KoggeStone => WarpNetwork::KoggeStone,
            WarpName::Sklansky => WarpNetwork::Sklansky,
            WarpName::LadnerFischer => WarpNetwork::LadnerFischer,
            WarpName::HanCarlson => WarpNetwork::HanCarlson,
            WarpName::BrentKung => WarpNetwork::BrentKung,
        };
        Strategy { block: block.over_warps(warp), carry }
    }
}

fn main() -> ExitCode {
    let mut explainer = Explainer { arguments: Arguments::parse(), names: Vec::new(), result: None };
    visit_shown(&mut explainer);
    visit_all(&mut explainer);
    match explainer.result {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        None if explainer.arguments.operator == "list" => {
            println!("{}", explainer.names.join(", "));
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("no operator of this name; there are {}", explainer.names.join(", "));
            ExitCode::FAILURE
        }
    }
}

struct Explainer {
    arguments: Arguments,
    names: Vec<String>,
    result: Option<Result<(), Box<dyn Error>>>,
}

impl explain::Visitor for Explainer {
    fn visit<Op>(&mut self, name: &str, op: Op, input: fn(u64) -> Op::Input, show: fn(Op::State) -> String)
    where
        Op: ScanOp<Output: Debug> + Clone,
    {
        // `brackets` is a test operator, too.
        if self.names.iter().any(|known| known == name) {
            return;
        }
        self.names.push(name.to_owned());
        if name == self.arguments.operator {
            self.result = Some(explain(&self.arguments, &op, input, show));
        }
    }
}

impl operators::Visitor for Explainer {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        explain::Visitor::visit(self, name, Op::new(), Op::input, numbers);
    }
}

fn explain<Op>(
    arguments: &Arguments,
    op: &Op,
    input: fn(u64) -> Op::Input,
    show: fn(Op::State) -> String,
) -> Result<(), Box<dyn Error>>
where
    Op: ScanOp<Output: Debug> + Clone,
{
    if let (Some(path), true) = (&arguments.html, arguments.every_strategy) {
        return write_page(path, &recordings_of(&arguments.operator, op, input, show)?);
    }
    let length = arguments.length;
    let kind = if arguments.exclusive { ScanKind::Exclusive } else { ScanKind::Inclusive };
    let mut overrides = Overrides::default();
    overrides.strategy = Some(arguments.strategy());
    overrides.run = arguments.coarsened;
    // As few threads as hold the elements, so that small scans have small blocks.
    let a_thread = u64::from(arguments.coarsened.unwrap_or(arguments.strategy().block.network.values_per_thread()));
    let needed = length.div_ceil(a_thread.max(1)).next_power_of_two().clamp(32, 256) as u32;
    overrides.threads = Some(arguments.threads.unwrap_or(needed));
    let program = Program::new(op.clone(), kind, None, &overrides)?;
    println!("{}\n", program.plan);

    let input: Vec<Op::Input> = (0..length).map(input).collect();
    // Blocks that wait for blocks with a smaller index need room for all.
    let run = program.verify(&Emulator::new(arguments.seed).resident_blocks(usize::MAX).trace(), &input)?;
    let trace = run.trace.ok_or("the emulator kept no trace")?;
    let counts = Counts::new(&run.counters, &trace, &program.plan.cost(length)?);
    let padded = program.plan.strategy.block.network.is_padded() && arguments.coarsened.is_none();
    let position = move |slot: u64| if padded { slot - slot / 33 } else { slot };
    let network = NetworkTrace::new(trace, length, program.plan.tile, &position);
    if network.columns <= MAX_COLUMNS {
        println!("{}", steps(&network, op, &input, show));
    }
    print!("{counts}");
    if let Some(path) = &arguments.svg {
        if length == 0 || network.columns > MAX_COLUMNS {
            return Err(format!("a picture has 1 to {MAX_COLUMNS} columns, not {}", network.columns).into());
        }
        if !network.is_whole() {
            return Err("what blocks tell each other by messages cannot be drawn: choose a length of one tile".into());
        }
        fs::write(
            path,
            picture(&network, &title(arguments.strategy().block, length, &network), a_thread.max(1) as u32),
        )?;
        println!("\ndrawn into {}", path.display());
    }
    if let Some(path) = &arguments.html {
        let names = (&*program.plan.strategy.to_string(), &*arguments.operator);
        println!();
        write_page(path, &[recording(&program, names, &input, show)?])?;
    }
    Ok(())
}

fn write_page(path: &Path, recordings: &[Recording]) -> Result<(), Box<dyn Error>> {
    fs::write(path, explorer(recordings)?)?;
    println!("open {} in a browser", path.display());
    Ok(())
}
