//! What the kernels for long inputs execute for each element, operator by operator: instructions of the machine code, beside what a
//! GPU could execute while a copy moves an element in and out. It needs no GPU, but NVIDIA's disassembler.
//!
//! ```console
//! $ cargo run -p scan-tools --bin instructions -- --disassembler path/to/nvdisasm
//! ```
//!
//! Look-ahead's own functions are compiled into a kernel that does with one run what look-ahead does with it: reads it, sums it up,
//! and scans it from what stands before. An element's instructions are the difference between two runs of other lengths: what is
//! executed once for a run is not counted. Both sides of a branch are, and so are functions that are called, once for each call.

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::Parser;
use scan_codegen::{
    Architecture, BlockScan, Carry, DeviceLimits, Network, OpSource, OperatorText, Overrides, ScanSpec, Strategy,
    Target, operator_text, plan,
};
use scan_runtime::{nvrtc, ops};
use scan_tests::{
    checked::render,
    gallery::{self, Example, visit_gallery, visit_sums},
    lexers::visit_lexers,
    operators::{CountersSum, MatrixProduct, MixedSum, TestOperator, Visitor, compose},
};

/// Counts the instructions of an element.
#[derive(Parser)]
#[command(long_about = None)]
struct Arguments {
    /// Only operators whose name contains this.
    #[arg(long, default_value = "")]
    operator: String,
    /// NVIDIA's disassembler.
    #[arg(long, default_value = "nvdisasm")]
    disassembler: PathBuf,
    /// A folder for the sources and their machine code.
    #[arg(long)]
    out: Option<PathBuf>,
    /// The instructions that an element has most of: so many.
    #[arg(long, default_value_t = 8)]
    kinds: usize,
}

/// Instructions of a thread that an H200 executes for each byte that a copy moves, in or out.
const PER_BYTE: f64 = 6.5;

/// How many times slower instructions are than to issue them, and their names.
type Slower = (f64, &'static [&'static str]);

/// The pipes that execute fewer threads' instructions a cycle than are issued, and what goes there, so many times slower. By a
/// multiprocessor of sm_90 in a cycle: of 128 that are issued 64 integers, comparisons and choices, 64 multiplications of integers, 32 of
/// them to 64 bits, 64 of 64-bit floats, 16 conversions and special functions.
const PIPES: [(&str, &[Slower]); 4] = [
    (
        "integers",
        &[(
            2.0,
            &[
                "BMSK",
                "FMNMX",
                "FSEL",
                "FSETP",
                "IADD3",
                "IMNMX",
                "ISETP",
                "LEA",
                "LOP3",
                "P2R",
                "PLOP3",
                "PRMT",
                "R2P",
                "SEL",
                "SGXT",
                "SHF",
                "VIADD",
                "VIMNMX",
                "VIADDMNMX",
            ],
        )],
    ),
    ("multiplications", &[(2.0, &["IMAD"]), (4.0, &["IMAD.WIDE", "IMAD.HI"])]),
    ("64-bit floats", &[(2.0, &["DADD", "DFMA", "DMNMX", "DMUL", "DSETP"])]),
    ("conversions", &[(8.0, &["BREV", "F2F", "F2I", "FLO", "FRND", "I2F", "MUFU", "POPC"])]),
];

/// What takes longest of an element's instructions, in the time of one that is issued, and its name.
fn bound(kinds: &[(String, f64)]) -> (f64, &'static str) {
    let issue = (kinds.iter().map(|(_, count)| count).sum(), "issue");
    let count = |names: &[&str]| -> f64 {
        kinds.iter().filter(|(kind, _)| names.contains(&kind.as_str())).map(|(_, count)| count).sum()
    };
    let pipes = PIPES
        .iter()
        .map(|(name, instructions)| (instructions.iter().map(|(times, names)| times * count(names)).sum(), *name));
    pipes.fold(issue, |max, next| if next.0 > max.0 { next } else { max })
}

/// Shared memory and multiprocessors of an H200.
const SHARED_BYTES: u32 = 227 * 1024;
const MULTIPROCESSORS: u32 = 132;
const WARP: u32 = 32;

struct Count {
    arguments: Arguments,
    limits: DeviceLimits,
    failed: bool,
}

/// What a kernel's machine code holds.
#[derive(Default)]
struct Code {
    /// Instructions by their names, those of called functions once for each call.
    instructions: BTreeMap<String, i64>,
    registers: u32,
    /// Bytes of local memory.
    frame: u32,
}

impl Code {
    /// The instructions beyond those of another one, each divided by so many.
    fn beyond(&self, less: &Code, by: f64) -> Vec<(String, f64)> {
        let kinds = self.instructions.iter();
        let count = |kind: &String, count: &i64| (count - less.instructions.get(kind).unwrap_or(&0)) as f64 / by;
        kinds.map(|(kind, times)| (kind.clone(), count(kind, times))).collect()
    }
}

impl Visitor for Count {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        self.tell(&Op::new().source(), name);
    }
}

impl gallery::Visitor for Count {
    fn visit<Op: Example>(&mut self, name: &str) {
        self.tell(&Op::new().source(), name);
    }
}

impl Count {
    fn tell(&mut self, operator: &OpSource, name: &str) {
        if name.contains(&self.arguments.operator)
            && let Err(error) = self.count(operator, name)
        {
            println!("| {name} | {error} | | | | | | | | | | |");
            self.failed = true;
        }
    }

    fn count(&self, operator: &OpSource, name: &str) -> Result<(), Box<dyn Error>> {
        let plans = plan(operator, &ScanSpec::inclusive(), &self.limits, &Overrides::default())?;
        let planned = plans.longest();
        let mut overrides = Overrides::default();
        overrides.strategy =
            Some(Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead });
        overrides.threads = Some(planned.threads);
        overrides.teams = planned.pipeline.map(|pipeline| pipeline.teams);
        let mut code_of = |run: u32, part: Part| {
            overrides.run = Some(run);
            self.code(operator, &overrides, part, name)
        };
        // Narrow elements fill words together: both runs must.
        let shorter = if planned.run > 8 { planned.run - 8 } else { planned.run.div_ceil(2) };
        let (more, less, kernel) =
            (code_of(planned.run, Part::Run(1))?, code_of(shorter, Part::Run(1))?, code_of(planned.run, Part::Whole)?);
        let two_joins = code_of(planned.run, Part::Run(2))?;
        let elements = f64::from(planned.run - shorter);
        let mut kinds = more.beyond(&less, elements);
        let all: f64 = kinds.iter().map(|(_, count)| count).sum();
        let (slots, pipe) = bound(&kinds);
        // The joins of a tile, shared among its elements: by each warp five for its network and two for the exclusive
        // prefix of each run (a stepped operator applies these to the carry, which takes less and is left out), by the
        // first warp of the team five, by the look-ahead warp eleven.
        let joins = two_joins.beyond(&more, 1.0);
        let warps = f64::from(planned.threads / WARP);
        let of_a_warp = if operator.carry.is_some() { 5.0 } else { 7.0 };
        let joins_of_a_run = (warps * of_a_warp + 16.0) / warps / f64::from(planned.run);
        let (join_slots, _) = bound(&joins);
        let joined = join_slots * joins_of_a_run;
        kinds.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let kinds: Vec<String> =
            kinds.iter().take(self.arguments.kinds).map(|(kind, count)| format!("{count:.1} {kind}")).collect();
        let (input, state, output) = (operator.input.size, operator.state.size, operator.output.size);
        let budget = PER_BYTE * (input + output) as f64;
        println!(
            "| {name} | {input}, {state}, {output} | {} × {} × {} | {} | {} | {all:.0} | {slots:.0}, {pipe} | {join_slots:.0} | {joined:.0} | {budget:.0} | {:.2} | {:.2} | {} |",
            planned.threads,
            planned.pipeline.map_or(1, |pipeline| pipeline.teams),
            planned.run,
            kernel.registers,
            kernel.frame,
            (budget / slots).min(1.0),
            (budget / (slots + joined)).min(1.0),
            kinds.join(", ")
        );
        Ok(())
    }

    fn code(&self, operator: &OpSource, overrides: &Overrides, part: Part, name: &str) -> Result<Code, Box<dyn Error>> {
        let plans = plan(operator, &ScanSpec::inclusive(), &self.limits, overrides)?;
        let mut source = render(operator, plans.longest(), plans.device())?;
        if let Part::Run(joins) = part {
            source.text = one_run(&source.text, &operator_text(operator, Target::Cuda)?, joins)?;
        }
        let cubin = nvrtc::compile(&source, name, self.limits.architecture)?.cubin;
        let what = match part {
            Part::Whole => "whole".to_owned(),
            Part::Run(joins) => format!("run-{joins}"),
        };
        let file_name = format!("{name}-{what}-{}.cubin", plans.longest().run).replace(' ', "_");
        let temporary = std::env::temp_dir().join(format!("scan-instructions-{}", std::process::id()));
        let folder = self.arguments.out.as_deref().unwrap_or(&temporary);
        fs::create_dir_all(folder)?;
        let file = folder.join(file_name);
        fs::write(&file, cubin)?;
        fs::write(file.with_extension("cu"), &source.text)?;
        let text = disassembled(&self.arguments.disassembler, &file);
        match &self.arguments.out {
            Some(_) => fs::write(file.with_extension("sass"), text.as_deref().unwrap_or_default())?,
            None => fs::remove_dir_all(&temporary)?,
        }
        Ok(code_in(&text?))
    }
}

/// What of a kernel is compiled.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    /// What a thread does with one run, and with so many steps of a warp's network.
    Run(u32),
}

/// A kernel of look-ahead, cut down to what a thread does with one run, and with so many steps of a warp's network.
fn one_run(text: &str, operator: &OperatorText, joins: u32) -> Result<String, Box<dyn Error>> {
    let (functions, _) = text.split_once("extern \"C\" __global__").ok_or("the text has no kernel")?;
    let OperatorText { operator, state, carry_type: carry, .. } = operator;
    let cursor = if functions.contains("using Cursor = Prefix;") {
        "{carries[threadIdx.x], true}"
    } else {
        "{carries[threadIdx.x]}"
    };
    let one_run = format!(
        r#"{functions}extern "C" __global__ void one_run(const {operator} op, const {carry}* carries, {state}* sums) {{
  unsigned char* stage = dynamic_shared_memory();
  {{
    Run run = run_of(stage, threadIdx.x);
    State sum = reduce_run(op, run, RunHeads{{}}, Start{{}}, Segment{{}}, RUN);
#pragma unroll
    for (unsigned stride = 1; stride < 1 << {joins}; stride *= 2) {{
      const State left = shuffle_up(sum, stride);
      if (stride <= threadIdx.x) {{
        sum = op.combine(left, sum);
      }}
    }}
    sums[threadIdx.x] = sum;
  }}
  __syncthreads();
  Cursor cursor{cursor};
  ScannedRun run = scanned_run_of(stage, threadIdx.x);
  Results results = results_of(stage, threadIdx.x);
#pragma unroll
  for (unsigned k = 0; k < RUN; k++) {{
    const ScannedItem item = item_of(run, k);
    put(results, k, advance_item(op, cursor, item));
  }}
}}
"#
    );
    if functions.contains("reduce_parts(") {
        // Of a loop the instructions would count once.
        let forwards = "  for (unsigned p = 1;";
        let backwards = "  for (unsigned p = PARTS - 1;";
        let unrolled = [forwards, backwards].iter().fold(one_run, |text, head| {
            text.replace(&format!("#pragma unroll 1\n{head}"), &format!("#pragma unroll\n{head}"))
        });
        let reduced = "reduce_parts(op, stage, threadIdx.x)";
        return Ok(unrolled.replace("reduce_run(op, run, RunHeads{}, Start{}, Segment{}, RUN)", reduced));
    }
    if !functions.contains("reduce_and_keep(") {
        return Ok(one_run);
    }
    // Lifted elements stay in the stage.
    let reduced = "reduce_and_keep(op, run, RunHeads{}, Start{}, Segment{}, stage, threadIdx.x)";
    Ok(one_run.replace("reduce_run(op, run, RunHeads{}, Start{}, Segment{}, RUN)", reduced))
}

fn disassembled(disassembler: &Path, file: &Path) -> Result<String, Box<dyn Error>> {
    let told = Command::new(disassembler)
        .arg(file)
        .output()
        .map_err(|error| format!("{} does not run: {error}; name it by --disassembler", disassembler.display()))?;
    if !told.status.success() {
        return Err(String::from_utf8_lossy(&told.stderr).into_owned().into());
    }
    Ok(String::from_utf8(told.stdout)?)
}

/// Counts what a disassembler's text holds. Functions that are called stand behind the kernel under labels of their own, or in
/// sections of their own.
fn code_in(text: &str) -> Code {
    let mut code = Code::default();
    let mut functions: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
    let mut calls: BTreeMap<String, i64> = BTreeMap::new();
    let mut function: Option<String> = None;
    for line in text.lines().map(str::trim) {
        let label = line.strip_suffix(':').map(|label| label.trim_start_matches(".text."));
        if let Some(label) = label.filter(|label| !label.starts_with(".L")) {
            function = (label != "one_run").then(|| label.to_owned());
        }
        let Some(instruction) = line.split_once("*/").map(|(_, rest)| rest.trim()).filter(|_| line.starts_with("/*"))
        else {
            continue;
        };
        let mut words = instruction.split_whitespace();
        let name = words.find(|word| !word.starts_with('@') && *word != "{").unwrap_or_default();
        let wide = ["IMAD.WIDE", "IMAD.HI"].into_iter().find(|wide| name.starts_with(wide));
        let name = wide.unwrap_or_else(|| name.split(['.', ';']).next().unwrap_or_default()).to_owned();
        if name.is_empty() || name == "NOP" || name.starts_with(|first: char| !first.is_ascii_uppercase()) {
            continue;
        }
        if name == "CALL"
            && let Some(callee) = instruction.split("`(").nth(1).and_then(|rest| rest.split(')').next())
        {
            *calls.entry(callee.to_owned()).or_default() += 1;
        }
        let of = match &function {
            None => &mut code.instructions,
            Some(function) => functions.entry(function.clone()).or_default(),
        };
        *of.entry(name).or_default() += 1;
    }
    for (callee, times) in calls {
        for (name, count) in functions.get(&callee).into_iter().flatten() {
            *code.instructions.entry(name.clone()).or_default() += times * count;
        }
    }
    code.registers = largest_told(text, "EIATTR_REGCOUNT");
    code.frame = largest_told(text, "EIATTR_FRAME_SIZE");
    code
}

/// The largest of the numbers that a cubin tells of its functions by this name.
fn largest_told(text: &str, name: &str) -> u32 {
    let mut largest = 0;
    let mut lines = text.lines();
    while lines.any(|line| line.contains(name)) {
        // The function's index comes first, then the number.
        let told = lines.by_ref().skip_while(|line| !line.contains("index@(")).nth(1).unwrap_or_default();
        let digits: String =
            told.rsplit("0x").next().unwrap_or_default().chars().take_while(char::is_ascii_hexdigit).collect();
        largest = largest.max(u32::from_str_radix(&digits, 16).unwrap_or(0));
    }
    largest
}

fn main() -> ExitCode {
    if let Err(error) = scan_tests::nvrtc() {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    println!(
        "| operator | bytes: input, state, output | kernel | registers | local bytes | instructions an element | of the busiest pipe | of a join | of joins, an element | a copy's time | ratio at most | with joins | most of |\n|---|---|---|--:|--:|--:|---|--:|--:|--:|--:|--:|---|"
    );
    let mut limits = DeviceLimits::new(Architecture { major: 9, minor: 0 }, MULTIPROCESSORS);
    limits.shared_bytes_per_block_optin = SHARED_BYTES;
    let mut count = Count { arguments: Arguments::parse(), limits, failed: false };
    count.visit::<ops::Sum<f32>>("sum f32");
    count.visit::<compose>("affine u32");
    count.visit::<MixedSum>("sum of 12 bytes");
    count.visit::<MatrixProduct<3>>("3 × 3 matrix of u32");
    count.visit::<MatrixProduct<4>>("4 × 4 matrix of u32");
    count.visit::<MatrixProduct<6>>("6 × 6 matrix of u32");
    count.visit::<MatrixProduct<8>>("8 × 8 matrix of u32");
    count.visit::<CountersSum>("64 counters");
    visit_gallery(&mut count);
    visit_sums(&mut count);
    visit_lexers(&mut count);
    if count.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
