//! The first call: kernels that were compiled ahead of time, and what is told of it.

use std::{collections::BTreeSet, env, fs, process::Command};

use scan_codegen::Plan;
use scan_runtime::{DiskCache, ScanOp, Scanner, aot::Bundle, nvrtc, scan_op};
use scan_tests::spans::Spans;
use tracing::Level;

use crate::{Outcome, Trials, ensure};

/// Each is used by one test only, so that its kernels cannot be there before.
macro_rules! operators {
    ($($name:ident),*) => {$(
        #[derive(Clone, Copy)]
        struct $name;

        #[scan_op]
        impl ScanOp for $name {
            type Element = u32;
            const IDENTITY: u32 = 0;
            fn combine(a: u32, b: u32) -> u32 {
                a.wrapping_add(b)
            }
        }
    )*};
}

operators!(Precompiled, Elsewhere, HeadSource, Awaited);

/// Where a child finds the kernels that its parent has compiled.
const KERNELS: &str = "SCAN_TESTS_PRECOMPILED";
const CHILD: &str = "precompiled_child";

/// Where a child keeps the kernels that it compiles.
const FOLDER: &str = "SCAN_TESTS_KEPT";

/// The outcome of this process, if it was started to scan once and to keep the kernels in a folder. Nothing has scanned before.
pub(crate) fn of_this_process() -> Option<Outcome> {
    let folder = env::var_os(FOLDER)?;
    let scan_once = || {
        let scanner = Scanner::builder().device(0).cache(DiskCache::at(folder)).build()?;
        let before = nvrtc::is_loaded();
        is_right(&scanner, Awaited, 1_000)?;
        println!("loaded before: {before}, after: {}", nvrtc::is_loaded());
        Ok(())
    };
    Some(scan_once())
}

/// Lengths in each range that has kernels of its own.
fn lengths<Op: ScanOp>(scanner: &Scanner, op: Op) -> Result<Vec<usize>, scan_runtime::Error> {
    Ok(scanner.scan(op).plan()?.iter().map(|plan| plan.from as usize + 1_019).collect())
}

/// How many texts these ranges have: some of them share one.
fn texts<Op: ScanOp>(scanner: &Scanner, op: Op) -> Result<usize, scan_runtime::Error> {
    let scan = scanner.scan(op);
    let text = |plan: &Plan| scan.cuda_source_for(plan.from as usize).map(|source| source.text);
    Ok(scan.plan()?.iter().map(text).collect::<Result<BTreeSet<_>, _>>()?.len())
}

fn is_right<Op: ScanOp<Input = u32, Output = u32>>(scanner: &Scanner, op: Op, len: usize) -> Outcome {
    let output = scanner.scan(op).run(&vec![3; len])?;
    let wrong = output.iter().enumerate().find(|(index, sum)| **sum != 3 * (*index as u32 + 1));
    ensure(output.len() == len && wrong.is_none(), || format!("{len} elements: {wrong:?}"))
}

pub(crate) fn add(trials: &mut Trials) {
    trials.add("precompiled_kernels_are_used_in_place_of_compiled_ones", || {
        let scanner = Scanner::cuda(0)?;
        let bundle = Bundle::new().device(scanner.limits()).with(&scanner.scan(Precompiled)).compile()?;
        let scanner = Scanner::builder().device(0).precompiled(bundle).no_cache().build()?;
        let before = scanner.cache_stats().precompiled;
        for len in lengths(&scanner, Precompiled)? {
            is_right(&scanner, Precompiled, len)?;
        }
        let stats = scanner.cache_stats();
        let (taken, texts) = (stats.precompiled - before, texts(&scanner, Precompiled)?);
        ensure(taken >= texts as u64, || format!("{taken} of {texts} were taken"))?;
        let compiled = stats.modules.iter().find(|module| module.name.starts_with("Precompiled:"));
        ensure(compiled.is_none(), || format!("{compiled:?}"))
    });
    trials.add(CHILD, || {
        let Some(path) = env::var_os(KERNELS) else { return Ok(()) };
        let scanner = Scanner::builder().precompiled(fs::read(path)?).no_cache().device(0).build()?;
        for len in lengths(&scanner, Elsewhere)? {
            is_right(&scanner, Elsewhere, len)?;
        }
        ensure(!nvrtc::is_loaded(), || "NVRTC was loaded".to_owned())?;
        let error = scanner.scan(Precompiled).run(&[1]).err();
        let message = error.map(|error| error.to_string()).unwrap_or_default();
        ensure(message.contains("not among the precompiled kernels"), || format!("`{message}`"))?;
        println!("\nscanned without NVRTC");
        Ok(())
    });
    trials.add("precompiled_kernels_need_no_nvrtc", || {
        // As a user would: for the architecture, not for this very device.
        let scanner = Scanner::cuda(0)?;
        let architecture = scanner.limits().architecture.to_string();
        let path = env::temp_dir().join(format!("scan-tests-{}.scan", std::process::id()));
        Bundle::new().architecture(&architecture).with(&scanner.scan(Elsewhere)).write(&path)?;
        let mut child = Command::new(env::current_exe()?);
        // Without NVRTC the child takes all its trials for ones to be ignored.
        child.args(["--exact", CHILD, "--include-ignored", "--nocapture"]).env(KERNELS, &path);
        child.env(nvrtc::LIBRARY_VARIABLE, "off").env_remove("SCAN_TESTS_REQUIRE_GPU").env_remove("SCAN_TESTS_SHARD");
        let output = child.output()?;
        fs::remove_file(&path)?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure(output.status.success() && text.contains("scanned without NVRTC"), || {
            format!("{text}{}", String::from_utf8_lossy(&output.stderr))
        })
    });
    // In processes of their own, because NVRTC is loaded once a process.
    trials.add("nvrtc_is_loaded_early_where_no_kernel_is_cached", || {
        let folder = env::temp_dir().join(format!("scan-tests-{}-kept", std::process::id()));
        let told = || {
            let output = Command::new(env::current_exe()?).env(FOLDER, &folder).output()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let told = text.lines().find_map(|line| line.strip_prefix("loaded before: ")).map(str::to_owned);
            let error = || format!("{text}{}", String::from_utf8_lossy(&output.stderr));
            told.filter(|_| output.status.success()).ok_or_else(error).map_err(Box::<dyn std::error::Error>::from)
        };
        let (first, second) = (told()?, told()?);
        fs::remove_dir_all(&folder)?;
        ensure(first == "true, after: true", || format!("with an empty cache: {first}"))?;
        ensure(second == "false, after: false", || format!("with a warm cache: {second}"))
    });
    trials.add("spans_show_that_only_the_first_call_compiles", || {
        let scanner = Scanner::builder().device(0).no_cache().build()?;
        let spans = Spans::default();
        let run = || {
            let call = || is_right(&scanner, HeadSource, 100_000);
            tracing::subscriber::with_default(spans.subscriber(Level::TRACE), call).map(|()| spans.take())
        };
        let (first, second) = (run()?, run()?);
        let of = |records: &[scan_tests::spans::Record], name: &str| {
            records.iter().filter(|record| record.name == name).cloned().collect::<Vec<_>>()
        };
        for name in ["plan", "render", "cubin", "compile", "load"] {
            ensure(of(&first, name).len() == 1, || format!("{name} in the first call: {first:?}"))?;
            ensure(of(&second, name).is_empty(), || format!("{name} in the second call: {second:?}"))?;
        }
        let field = |name: &str, field: &str| {
            of(&first, name).first().and_then(|record| record.fields.get(field).cloned()).unwrap_or_default()
        };
        ensure(field("load", "bytes") == field("compile", "cubin_bytes"), || format!("{first:?}"))?;
        for records in [&first, &second] {
            let (launches, copies) = (of(records, "launch"), of(records, "transfer"));
            ensure(launches.len() == 1 && launches[0].fields["len"] == "100000", || format!("{launches:?}"))?;
            let bytes = |to: &str| -> u64 {
                let copies = copies.iter().filter(|copy| copy.fields["to"] == to);
                copies.filter_map(|copy| copy.fields["bytes"].parse::<u64>().ok()).sum()
            };
            ensure((bytes("device"), bytes("host")) == (400_000, 400_000), || format!("{copies:?}"))?;
        }
        Ok(())
    });
}
