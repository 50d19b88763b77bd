//! What NVRTC takes for the kernels that are planned where the caller leaves everything open: operators, those of the gallery
//! among them, ways to tell segments, and ranges of lengths. It needs no GPU.
//!
//! ```console
//! $ cargo run -p scan-tests --bin kernel_time
//! ```
//!
//! Milliseconds of a processor, the least of several compilations: other work on the machine disturbs it little. It reads them
//! where Linux tells them.

use std::{fs, process::ExitCode, time::Duration};

use clap::Parser;
use scan_codegen::{Architecture, DeviceLimits, OffsetWidth, OpSource, Overrides, ScanSpec, Segments, plan, render};
use scan_runtime::{ScanElement, nvrtc, ops};
use scan_tests::{
    gallery::{self, Example, visit_gallery},
    operators::{Brackets, MatrixProduct, MixedSum, TestOperator, Visitor, compose},
};

/// Times the compilation of default kernels.
#[derive(Parser)]
#[command(long_about = None)]
struct Arguments {
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
                println!("| {name}{head_source} | {error} | | |");
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
            println!("| {name} | {error} | | |");
            self.failed = true;
        }
    }
}

impl Time {
    fn time(&self, operator: &OpSource, name: &str, segments: Segments) -> Result<(), Box<dyn std::error::Error>> {
        let spec = ScanSpec::inclusive().with_segments(segments);
        let plans = plan(operator, &spec, &DeviceLimits::of(self.arguments.arch), &Overrides::default())?;
        for plan in plans.iter() {
            let source = render(operator, plan)?;
            let mut least = f64::INFINITY;
            for _ in 0..self.arguments.runs {
                let start = processor_time()?;
                nvrtc::compile(&source, name, self.arguments.arch)?;
                least = least.min((processor_time()? - start).as_secs_f64() * 1e3);
            }
            if least >= self.arguments.from {
                let (carry, threads, run) = (plan.strategy.carry, plan.threads, plan.run);
                println!("| {name} | {} | {carry}, {threads} × {run} | {least:.0} |", plan.from);
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
    println!("| operator | from elements on | kernel | NVRTC, ms |\n|---|--:|---|--:|");
    let mut time = Time { arguments: Arguments::parse(), failed: false };
    time.visit::<ops::Sum<u8>>("sum u8");
    time.visit::<ops::Sum<i16>>("sum i16");
    time.visit::<ops::Sum<f32>>("sum f32");
    time.visit::<ops::Sum<u64>>("sum u64");
    time.visit::<compose>("affine u32");
    time.visit::<MixedSum>("sum of 12 bytes");
    time.visit::<Brackets>("brackets");
    time.visit::<MatrixProduct<3>>("3 × 3 matrix of u32");
    time.visit::<MatrixProduct<4>>("4 × 4 matrix of u32");
    visit_gallery(&mut time);
    if time.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
