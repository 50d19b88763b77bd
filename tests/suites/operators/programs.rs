//! Random operators of the operator language against Rust: see [`scan_tests::programs`].

use rayon::prelude::*;
use scan_runtime::{Architecture, Scanner, nvrtc, ops};
use scan_tests::extent::is_long;
use scan_tests::programs::{Built, Programs};
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

const TEST: &str = "random_programs_compute_the_same_in_cuda_and_rust";

/// What somebody could get wrong in the prelude, and the words that would do it; first what few programs show.
const MISTAKES: [(&str, &str, &str); 10] = [
    ("a shift count is not masked", "& (BITS - 1)", "& 0xff"),
    ("a cast from a float does not saturate", "return To::MAX;", "return Repr(0);"),
    ("a range is empty", "return {from.value < to.value ? to : from};", "return {from};"),
    (
        "a Euclidean remainder is that of C",
        "return remainder >= 0 ? remainder :",
        "return remainder != 1 ? remainder :",
    ),
    ("`saturating_add` of signed numbers wraps", "& (b.value ^ sum)) < 0)", "& (b.value ^ sum)) < 0 && false)"),
    ("a cast of a NaN is not 0", "if (value != value) return Repr(0);", ""),
    ("a remainder by zero is no panic", "if (b.value == 0) panic();", "if (b.value == 0) return b;"),
    ("an index past the end is no panic", "if (index.value >= N) panic();", "if (index.value >= N) return items[0];"),
    ("the bits of a small number have its sign above them", "return Unsigned(value);", "return value;"),
    ("`saturating_add` wraps", "return sum < value ? MAX : sum;", "return sum;"),
];

/// The mistakes that a quick run looks for.
const OFTEN_SHOWN: usize = 5;

/// One test, because all of it works on the same build.
#[test]
fn random_programs_compute_the_same_in_cuda_and_rust() {
    if let Some(file) = std::env::var_os(SOURCE_VARIABLE) {
        return compile_alone(Path::new(&file));
    }
    // Programs cost more than values. Longer runs with other seeds: `cargo run --release -p scan-tools --bin programs`.
    let programs = Programs { seed: 1, count: if is_long() { 1_000 } else { 150 }, values: 240 };
    let built = programs.build("test").unwrap();
    let report = built.run().unwrap();
    let shown: String = report.failures.iter().take(3).map(|failure| format!("{failure}\n\n")).collect();
    let count = report.failures.len();
    assert!(
        report.failures.is_empty(),
        "{count} programs differ; `cargo run -p scan-tools --bin programs -- --seed {} --only NUMBER` makes one smaller\n{shown}",
        programs.seed
    );
    // A suite that compares little, or panics only, proves little.
    assert_eq!(report.programs, programs.count);
    assert!(report.compared >= programs.count * 200, "only {} results were compared", report.compared);
    let advancing = (0..programs.count).filter(|index| programs.rust(*index).contains("fn advance(")).count();
    assert!(advancing > programs.count / 10, "{advancing} programs advance");
    assert!(report.panics > programs.count && report.panics < report.compared / 10, "{} panics", report.panics);

    let complaints = complaints_of_nvrtc(&built);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));

    let untold = |&(mistake, from, to): &_| match built.first_to_tell((from, to), programs.count).unwrap() {
        Some(_) => None,
        None => Some(mistake),
    };
    let untold: Vec<&str> =
        MISTAKES[..if is_long() { MISTAKES.len() } else { OFTEN_SHOWN }].par_iter().filter_map(untold).collect();
    assert!(untold.is_empty(), "no program tells: {untold:?}");
}

/// How many programs NVRTC compiles in a quick run and in a long one, and how many of them at a time.
const BY_NVRTC: [usize; 2] = [40, 80];
const IN_A_SOURCE: usize = 20;

/// Where a process finds the one source that it is to compile.
const SOURCE_VARIABLE: &str = "SCAN_PROGRAMS_SOURCE";

/// What the GPU's compiler says of the first programs: errors, crashes, and warnings that rustc would not give.
fn complaints_of_nvrtc(built: &Built) -> Vec<String> {
    let folder = scan_tests::target_dir().unwrap().join("random_programs/nvrtc");
    std::fs::create_dir_all(&folder).unwrap();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut complaints = Vec::new();
        loop {
            let first = IN_A_SOURCE * next.fetch_add(1, Ordering::Relaxed);
            if first >= BY_NVRTC[usize::from(is_long())] {
                return complaints;
            }
            match compiled_apart(built, first..first + IN_A_SOURCE, &folder) {
                Ok(warnings) => complaints.extend(warnings),
                // One by one, to tell which it is.
                Err(whole) => {
                    let alone = |index| compiled_apart(built, index..index + 1, &folder).err();
                    let found: Vec<String> = (first..first + IN_A_SOURCE).filter_map(alone).collect();
                    complaints.extend(if found.is_empty() { vec![whole] } else { found });
                }
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

/// Compiles some programs in a process of its own, so that a crash is a failure like any other: the warnings.
fn compiled_apart(built: &Built, programs: Range<usize>, folder: &Path) -> Result<Vec<String>, String> {
    let file = folder.join(format!("programs_{}_{}.cu", programs.start, programs.end));
    std::fs::write(&file, built.kernels(programs.clone()).unwrap()).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("programs::{TEST}"), "--nocapture"])
        .env(SOURCE_VARIABLE, &file)
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let why = errors.lines().chain(log.lines()).filter(|line| line.contains("error")).take(5);
        let why: Vec<&str> = why.collect();
        return Err(format!("programs {programs:?}: NVRTC: {}: {}", output.status, why.join("\n")));
    }
    Ok(warnings(&log))
}

/// The warnings in a log, but for those that rustc would give, too: user variables that are not used, conditions that are
/// constant, statements that are not reached. Variables that the macro makes by itself are constants in the text.
fn warnings(log: &str) -> Vec<String> {
    const OF_THE_PROGRAMS: [&str; 5] = ["#177-D", "#550-D", "#128-D", "#111-D", "#186-D"];
    let lines: Vec<&str> = log.lines().collect();
    let is_warning = |line: &&&str| line.contains("): warning #");
    let all = lines.iter().enumerate().filter(|(_, line)| is_warning(line));
    all.filter(|(place, line)| {
        let own = lines.get(place + 1).is_some_and(|text| text.trim_start().starts_with("const auto "));
        own || !OF_THE_PROGRAMS.iter().any(|number| line.contains(number))
    })
    .map(|(place, line)| format!("{line}\n{}", lines.get(place + 1).unwrap_or(&"")))
    .collect()
}

/// Compiles the source of this file, and prints NVRTC's log.
fn compile_alone(file: &Path) {
    scan_tests::nvrtc().unwrap();
    let mut source = Scanner::cpu().scan(ops::sum::<u32>()).cuda_source().unwrap();
    source.text = std::fs::read_to_string(file).unwrap();
    let compile = move || nvrtc::compile(&source, "programs", Architecture { major: 9, minor: 0 }).unwrap().log;
    // On a stack of its own size: NVRTC recurses deep into some of these.
    println!("{}", std::thread::Builder::new().stack_size(256 << 20).spawn(compile).unwrap().join().unwrap());
}
