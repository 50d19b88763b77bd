//! What NVRTC takes for the kernels that are planned where the caller leaves everything open: operators, those of the gallery
//! among them, ways to tell segments, and ranges of lengths. It needs no GPU.
//!
//! ```console
//! $ cargo run -p scan-tools --bin kernel_time
//! $ cargo run -p scan-tools --bin kernel_time -- --gallery
//! ```
//!
//! Milliseconds of a processor, the least of several compilations: other work on the machine disturbs it little. It reads them
//! where Linux tells them. Beside them what came of it: a thread's registers and local memory, and bytes of machine code.

use std::{fs, path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use scan_codegen::{Architecture, DeviceLimits, OffsetWidth, OpSource, Overrides, ScanSpec, Segments, plan};
use scan_runtime::{ScanElement, nvrtc, ops};
use scan_tests::{
    checked::render,
    cubin::Cubin,
    gallery::{self, Example, visit_gallery, visit_sums},
    lexers::visit_lexers,
    operators::{Brackets, MatrixProduct, MixedSum, TestOperator, Visitor, compose},
};

/// Times the compilation of default kernels.
#[derive(Parser)]
#[command(long_about = None)]
struct Arguments {
    /// Only operators of the gallery, and the lexers of the example `tokenizer`.
    #[arg(long)]
    gallery: bool,
    /// Only operators whose name contains this.
    #[arg(long, default_value = "")]
    operator: String,
    /// Only kernels that take this many milliseconds or more.
    #[arg(long, default_value_t = 0.0)]
    from: f64,
    /// How often each is compiled.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// What they are compiled for.
    #[arg(long, default_value = "sm_90")]
    arch: Architecture,
    /// A folder for the sources and their machine code.
    #[arg(long)]
    out: Option<PathBuf>,
}

struct Time {
    arguments: Arguments,
    failed: bool,
}

impl Visitor for Time {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        if !name.contains(&self.arguments.operator) {
            return;
        }
        for (head_source, segments) in [
            ("", Segments::None),
            (" by flags", Segments::HeadFlags),
            (" by keys", Segments::Keys(u32::layout())),
            (" by offsets", Segments::Offsets(OffsetWidth::U32)),
        ] {
            if let Err(error) = self.time(&Op::new().source(), &format!("{name}{head_source}"), segments) {
                println!("| {name}{head_source} | {error} | | | | | |");
                self.failed = true;
            }
        }
    }
}

impl gallery::Visitor for Time {
    fn visit<Op: Example>(&mut self, name: &str) {
        if name.contains(&self.arguments.operator)
            && let Err(error) = self.time(&Op::new().source(), name, Segments::None)
        {
            println!("| {name} | {error} | | | | | |");
            self.failed = true;
        }
    }
}

impl Time {
    fn time(&self, operator: &OpSource, name: &str, segments: Segments) -> Result<(), Box<dyn std::error::Error>> {
        let spec = ScanSpec::inclusive().with_segments(segments);
        let plans = plan(operator, &spec, &DeviceLimits::of(self.arguments.arch), &Overrides::default())?;
        for plan in plans.iter() {
            let mut source = render(operator, plan, plans.device())?;
            // What is measured is the compiler, not its own cache of what it has compiled before.
            source.options.push("--no-cache");
            let (mut min, mut code) = (f64::INFINITY, Vec::new());
            for _ in 0..self.arguments.runs.max(1) {
                let start = processor_time()?;
                code = nvrtc::compile(&source, name, self.arguments.arch)?.cubin;
                min = min.min((processor_time()? - start).as_secs_f64() * 1e3);
            }
            if let Some(folder) = &self.arguments.out {
                let file = folder.join(format!("{name}-{}.cu", plan.from).replace(' ', "_"));
                fs::create_dir_all(folder)?;
                fs::write(&file, &source.text)?;
                fs::write(file.with_extension("cubin"), &code)?;
            }
            if min >= self.arguments.from {
                let (carry, threads, run) = (plan.strategy.carry, plan.threads, plan.run);
                let Cubin { registers, local_bytes, code_bytes, .. } = Cubin::read(&code)?;
                println!(
                    "| {name} | {} | {carry}, {threads} × {run} | {min:.0} | {registers} | {local_bytes} | {code_bytes} |",
                    plan.from
                );
            }
        }
        Ok(())
    }
}

/// What this thread has had of a processor.
fn processor_time() -> Result<Duration, Box<dyn std::error::Error>> {
    let told = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = told.split_whitespace().next().ok_or("the scheduler tells no time")?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}

fn main() -> ExitCode {
    if let Err(error) = scan_tests::nvrtc() {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    println!(
        "| operator | from elements on | kernel | NVRTC, ms | registers | local bytes | bytes of code |\n\
         |---|--:|---|--:|--:|--:|--:|"
    );
    let mut time = Time { arguments: Arguments::parse(), failed: false };
    if !time.arguments.gallery {
        time.visit::<ops::Sum<u8>>("sum u8");
        time.visit::<ops::Sum<i16>>("sum i16");
        time.visit::<ops::Sum<f32>>("sum f32");
        time.visit::<ops::Sum<u64>>("sum u64");
        time.visit::<compose>("affine u32");
        time.visit::<MixedSum>("sum of 12 bytes");
        time.visit::<Brackets>("brackets");
        time.visit::<MatrixProduct<3>>("3 × 3 matrix of u32");
        time.visit::<MatrixProduct<4>>("4 × 4 matrix of u32");
    }
    visit_gallery(&mut time);
    visit_sums(&mut time);
    visit_lexers(&mut time);
    if time.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
