//! The machine code of every kind of kernel: lines of its source, registers, local memory, bytes of code, and a hash of the code.
//! Two states of the templates whose tables are equal run the same instructions. It needs no GPU.
//!
//! ```console
//! $ cargo run -p scan-tools --bin machine_code > before.tsv
//! $ # change a template
//! $ cargo run -p scan-tools --bin machine_code -- --compare before.tsv
//! ```

use std::{collections::BTreeMap, fs, path::PathBuf, process::ExitCode};

use clap::Parser;
use rayon::prelude::*;
use scan_codegen::{
    Architecture, Arrays, Carry, DeviceLimits, KernelSource, OffsetWidth, OpSource, Overrides, ScanSpec, Segments,
    plan, plan_columns,
};
use scan_runtime::{ScanElement, ScanOp, half::f16, nvrtc, ops};
use scan_tests::{
    checked::{render, render_columns},
    columns,
    cubin::Cubin,
    operators::{Brackets, MatrixProduct, MixedSum, TestOperator, Visitor, compose},
    strategies,
};

/// Lists the machine code of kernels.
#[derive(Parser)]
#[command(long_about = None)]
struct Arguments {
    /// Only kernels whose name contains this.
    #[arg(long, default_value = "")]
    kernel: String,
    /// One of this many kernels, for a quick look.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    every: u16,
    /// An earlier table: only what differs is listed, and any difference of the code is a failure.
    #[arg(long)]
    compare: Option<PathBuf>,
    /// Leaves each source in this folder, and compiles none.
    #[arg(long)]
    sources: Option<PathBuf>,
}

const SM_90: Architecture = Architecture { major: 9, minor: 0 };
const SM_75: Architecture = Architecture { major: 7, minor: 5 };

/// Kernels, by a name that says what they do.
#[derive(Default)]
struct Kernels {
    sources: BTreeMap<String, (KernelSource, Architecture)>,
    failures: Vec<String>,
}

impl Kernels {
    fn add(&mut self, name: &str, operator: &OpSource, spec: &ScanSpec, limits: &DeviceLimits, overrides: &Overrides) {
        let plans = match plan(operator, spec, limits, overrides) {
            Ok(plans) => plans,
            // Not every strategy takes every operator.
            Err(_) if overrides.strategy.is_some() => return,
            Err(error) => return self.failures.push(format!("{name}: {error}")),
        };
        for plan in plans.iter() {
            match render(operator, plan, limits) {
                Ok(source) => {
                    let name = format!("{name}, {}, from {}", limits.architecture, plan.from);
                    self.sources.insert(name, (source, limits.architecture));
                }
                Err(error) => self.failures.push(format!("{name}: {error}")),
            }
        }
    }
}

impl Kernels {
    /// With an array for each field.
    fn add_zipped(&mut self, name: &str, operator: &OpSource) {
        for (way, spec) in specs().into_iter().filter(|(_, spec)| !spec.total) {
            let spec = spec.with_arrays(Arrays::PerField, Arrays::PerField);
            let limits = DeviceLimits::of(SM_90);
            self.add(&format!("{name}, {way}"), operator, &spec, &limits, &Overrides::default());
        }
    }

    fn add_columns(&mut self, name: &str, operator: &OpSource, spec: &ScanSpec) {
        let plan = match plan_columns(operator, spec, &DeviceLimits::of(SM_90), &Overrides::default()) {
            Ok(plan) => plan,
            // Not every operator has an identity.
            Err(_) => return,
        };
        match render_columns(operator, &plan) {
            Ok(source) => drop(self.sources.insert(name.to_owned(), (source, SM_90))),
            Err(error) => self.failures.push(format!("{name}: {error}")),
        }
    }
}

/// The ways to scan, by name.
fn specs() -> [(&'static str, ScanSpec); 4] {
    [
        ("inclusive", ScanSpec::inclusive()),
        ("inclusive with total", ScanSpec::inclusive().with_total()),
        ("exclusive", ScanSpec::exclusive()),
        ("exclusive with initial value and total", ScanSpec::exclusive().with_initial_value().with_total()),
    ]
}

fn segments() -> [(&'static str, Segments); 6] {
    [
        ("", Segments::None),
        (" by flags", Segments::HeadFlags),
        (" by bits", Segments::HeadBits),
        (" by keys", Segments::Keys(u32::layout())),
        (" by offsets", Segments::Offsets(OffsetWidth::U32)),
        (" by rows", Segments::Rows),
    ]
}

impl Visitor for Kernels {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        let operator = Op::new().source();
        for (way, spec) in specs().into_iter().filter(|(_, spec)| !spec.total) {
            self.add_columns(&format!("{name}, {way}, along an axis"), &operator, &spec);
        }
        for (heads, segments) in
            segments().into_iter().filter(|(heads, _)| matches!(*heads, " by offsets" | " by rows"))
        {
            let spec = ScanSpec::inclusive().with_segments(segments);
            let with_values = spec.clone().with_initial_values();
            let asked =
                [("values", with_values.clone()), ("totals", spec.with_totals()), ("both", with_values.with_totals())];
            for (what, spec) in asked {
                let name = format!("{name}, {what} of each segment{heads}, default");
                self.add(&name, &operator, &spec, &DeviceLimits::of(SM_90), &Overrides::default());
            }
        }
        for ((way, spec), (heads, segments)) in
            specs().into_iter().flat_map(|way| segments().map(|heads| (way.clone(), heads)))
        {
            if spec.kind == scan_codegen::ScanKind::Exclusive && !spec.initial_value && operator.identity.is_none() {
                continue;
            }
            let spec = spec.with_segments(segments);
            self.add(
                &format!("{name}, {way}{heads}, default"),
                &operator,
                &spec,
                &DeviceLimits::of(SM_90),
                &Overrides::default(),
            );
            if !matches!(name, "sum f32" | "brackets") {
                continue;
            }
            for strategy in strategies::all() {
                let mut overrides = Overrides::default();
                overrides.strategy = Some(strategy);
                let new = strategy.block.in_registers || matches!(strategy.carry, Carry::LookAhead);
                let limits = DeviceLimits::of(if new { SM_90 } else { SM_75 });
                self.add(&format!("{name}, {way}{heads}, {strategy}"), &operator, &spec, &limits, &overrides);
            }
        }
    }
}

/// A row of the table: everything but the hash is for the reader.
fn row(name: &str, source: &KernelSource, architecture: Architecture) -> Result<String, String> {
    let cubin = nvrtc::compile(source, name, architecture).map_err(|error| error.to_string())?.cubin;
    let Cubin { registers, local_bytes, code_bytes, hash } = Cubin::read(&cubin)?;
    let lines = source.text.lines().filter(|line| !line.trim().is_empty()).count();
    Ok(format!("{name}\t{lines}\t{registers}\t{local_bytes}\t{code_bytes}\t{}", &hash.to_hex()[..16]))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Err(error) = scan_tests::nvrtc() {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    let mut kernels = Kernels::default();
    kernels.visit::<ops::Sum<f32>>("sum f32");
    kernels.visit::<Brackets>("brackets");
    kernels.visit::<ops::Sum<u8>>("sum u8");
    kernels.visit::<ops::Sum<f16>>("sum f16");
    kernels.visit::<ops::Sum<u64>>("sum u64");
    kernels.visit::<compose>("affine f32");
    kernels.visit::<MixedSum>("sum of 12 bytes");
    kernels.visit::<MatrixProduct<3>>("3 x 3 matrix of u32");
    kernels.visit::<MatrixProduct<5>>("5 x 5 matrix of u32");
    kernels.add_zipped("recurrence over two arrays", &columns::Recurrence.source());
    kernels.add_zipped("readings of three arrays into two", &columns::Summarize.source());
    kernels.add_zipped("readings of three arrays into two larger ones", &columns::Widen.source());
    let Kernels { sources, mut failures } = kernels;
    let named = sources.iter().filter(|(name, _)| name.contains(&arguments.kernel));
    let wanted: Vec<_> = named.step_by(usize::from(arguments.every)).collect();
    if let Some(folder) = &arguments.sources {
        let write = |name: &str, text: &str| {
            let file = folder.join(name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_") + ".cu");
            fs::create_dir_all(folder).and_then(|()| fs::write(&file, text))
        };
        let written = wanted.iter().try_for_each(|(name, (source, _))| write(name, &source.text));
        return match written {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {}: {error}", folder.display());
                ExitCode::FAILURE
            }
        };
    }
    // The same text for the same architecture has the same machine code.
    let mut unique = BTreeMap::new();
    for (name, (source, architecture)) in &wanted {
        unique.entry((&source.text, architecture.to_string())).or_insert((*name, source, *architecture));
    }
    let unique: Vec<_> = unique.into_values().collect();
    let rows: Vec<_> = unique.par_iter().map(|(name, source, architecture)| row(name, source, *architecture)).collect();
    let mut table = BTreeMap::new();
    for row in rows {
        match row {
            Ok(row) => {
                let (name, values) = row.split_once('\t').unwrap_or_default();
                table.insert(name.to_owned(), values.to_owned());
            }
            Err(error) => failures.push(error),
        }
    }
    const HEADING: &str = "kernel\tlines\tregisters\tlocal bytes\tbytes of code\thash";
    match arguments.compare.as_ref().map(fs::read_to_string) {
        None => {
            println!("{HEADING}");
            table.iter().for_each(|(name, values)| println!("{name}\t{values}"));
        }
        Some(Err(error)) => failures.push(error.to_string()),
        Some(Ok(before)) => failures.extend(differences(&before, &table)),
    }
    failures.iter().for_each(|failure| eprintln!("{failure}"));
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Kernels whose machine code is another than in the earlier table. Prints how many lines there are now for those.
fn differences(before: &str, table: &BTreeMap<String, String>) -> Vec<String> {
    let before: BTreeMap<_, _> = before.lines().skip(1).filter_map(|line| line.split_once('\t')).collect();
    let code = |values: &str| values.split_once('\t').map_or_else(String::new, |(_, code)| code.to_owned());
    let lines = |values: &str| values.split('\t').next().and_then(|lines| lines.parse::<u64>().ok()).unwrap_or(0);
    let (mut compared, mut lines_before, mut lines_now, mut different) = (0, 0, 0, Vec::new());
    for (name, values) in table {
        let Some(earlier) = before.get(name.as_str()) else { continue };
        compared += 1;
        lines_before += lines(earlier);
        lines_now += lines(values);
        if code(earlier) != code(values) {
            different.push(format!("{name}: {} before, {} now", earlier.replace('\t', " "), values.replace('\t', " ")));
        }
    }
    println!("{compared} kernels compared, {} differ; {lines_before} lines before, {lines_now} now", different.len());
    different
}
