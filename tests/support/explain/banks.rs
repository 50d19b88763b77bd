//! Bank conflicts of the balanced tree, as the course texts count them.

use scan_codegen::Overrides;
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, ops};

use crate::emulated::{BankCounters, Banks, Emulator, EmulatorError, Program};

const UP: &str = "x[i] = op.combine(x[i - stride], x[i]);";
const READ_LEFT: &str = "const State first_half = x[i - stride];";
const READ_RIGHT: &str = "const State prefix = x[i];";
const WRITE_LEFT: &str = "x[i - stride] = prefix;";
const WRITE_RIGHT: &str = "x[i] = is_first || head_among(heads, i - 2 * stride + 1, i - stride) \
                           ? first_half : op.combine(prefix, first_half);";

/// What computing padded addresses takes a warp at each level, as the texts count: a shift and an addition for each of two
/// operands, on the way up and on the way down.
pub const ADDRESSING_CYCLES: u64 = 2 * 2 * 2;

/// Accesses to shared memory that a tree makes at each of its levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeAccesses {
    /// On the way up: two reads and a write.
    Up,
    /// Those that the texts count: on the way up two reads and a write, on the way down the same. Blelloch's way down has a
    /// fourth access, the write of the left child, which they leave out.
    OfTheTexts,
    /// The write of the left child on Blelloch's way down.
    LeftChild,
}

impl TreeAccesses {
    fn lines(self) -> &'static [&'static str] {
        match self {
            TreeAccesses::Up => &[UP],
            TreeAccesses::OfTheTexts => &[UP, READ_LEFT, READ_RIGHT, WRITE_RIGHT],
            TreeAccesses::LeftChild => &[WRITE_LEFT],
        }
    }
}

/// What a tree's accesses to shared memory take, of 32-bit sums over `leaves` values: the emulator's count of the lines of
/// the kernel's text that make them. A padded network has one pad word in as many as there are banks.
///
/// # Errors
///
/// What is wrong with the kernels, and lines that are not in their text or were not executed.
pub fn tree_banks(
    network: Network,
    leaves: u32,
    banks: Banks,
    accesses: TreeAccesses,
) -> Result<BankCounters, EmulatorError> {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block: BlockScan::of(network), carry: Carry::OneBlock });
    overrides.threads = Some(leaves / 2);
    let kind = if matches!(network, Network::Blelloch { .. }) { ScanKind::Exclusive } else { ScanKind::Inclusive };
    let mut program = Program::new(ops::sum::<i32>(), kind, None, &overrides)?;
    if network.is_padded() && banks.banks != 32 {
        // The kernels are written for the 32 banks of today.
        let period = banks.banks;
        let slots = |period| format!("TILE_SLOTS = {};", leaves + leaves / period);
        let text = program.source.text.replace("slots[i + i / 32]", &format!("slots[i + i / {period}]"));
        program.source.text = text.replace(&slots(32), &slots(period));
        if !program.source.text.contains(&slots(period))
            || !program.source.text.contains(&format!("[i + i / {period}]"))
        {
            return Err(not_found(&program, "the padding"));
        }
    }
    let length = program.plan.tile as usize;
    let run = program.verify(&Emulator::new(1).banks(banks), &vec![1; length])?;
    let text: Vec<&str> = program.source.text.lines().map(str::trim).collect();
    let of_lines = run.counters.launches.first().map(|launch| &launch.banks_of_line);
    let mut sum = BankCounters::default();
    for wanted in accesses.lines() {
        let mut counters = of_lines.into_iter().flatten().filter(|(line, _)| text[**line as usize - 1] == *wanted);
        let Some((_, counters)) = counters.next() else { return Err(not_found(&program, wanted)) };
        sum += *counters;
    }
    Ok(sum)
}

fn not_found(program: &Program<ops::Sum<i32>>, what: &str) -> EmulatorError {
    let kernel = program.plan.strategy.to_string();
    EmulatorError::Launch { kernel, message: format!("{what} is not in its text, or was not executed") }
}
