//! Random operators of the operator language against Rust: see [`scan_tests::programs`].

use scan_runtime::{Architecture, Scanner, nvrtc, ops};
use scan_tests::programs::{Built, Programs};

/// What somebody could get wrong in the prelude, and the words that would do it.
const MISTAKES: [(&str, &str, &str); 7] = [
    ("a shift count is not masked", "& (BITS - 1)", "& 0xff"),
    ("a cast from a float does not saturate", "return To::MAX;", "return Repr(0);"),
    ("a cast of a NaN is not 0", "if (value != value) return Repr(0);", ""),
    ("a remainder by zero is no panic", "if (b.value == 0) panic();", "if (b.value == 0) return b;"),
    ("an index past the end is no panic", "if (index.value >= N) panic();", "if (index.value >= N) return items[0];"),
    ("a range is empty", "return {from.value < to.value ? to : from};", "return {from};"),
    (
        "a Euclidean remainder is that of C",
        "return remainder >= 0 ? remainder :",
        "return remainder != 1 ? remainder :",
    ),
];

/// One test, because all of it works on the same build.
#[test]
fn random_programs_mean_what_their_rust_means() {
    let programs = Programs { seed: 1, count: 10_000, values: 24 };
    let built = programs.build("test").unwrap();
    let report = built.run().unwrap();
    let shown: String = report.failures.iter().take(3).map(|failure| format!("{failure}\n\n")).collect();
    let count = report.failures.len();
    assert!(
        report.failures.is_empty(),
        "{count} programs differ; `cargo run -p scan-tests --bin programs -- --seed {} --only NUMBER` makes one smaller\n{shown}",
        programs.seed
    );
    // A suite that compares little, or panics only, proves little.
    assert_eq!(report.programs, programs.count);
    assert!(report.compared >= programs.count * 20, "only {} results were compared", report.compared);
    assert!(report.panics > 100 && report.panics < report.compared / 10, "{} panics", report.panics);

    // On a stack of its own size: NVRTC recurses deep into some of these.
    let by_nvrtc = || complaints_of_nvrtc(&built);
    let complaints = std::thread::scope(|scope| {
        std::thread::Builder::new().stack_size(256 << 20).spawn_scoped(scope, by_nvrtc).unwrap().join().unwrap()
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));

    let untold = |(mistake, from, to)| match built.first_to_tell((from, to), 2_000).unwrap() {
        Some(_) => None,
        None => Some(mistake),
    };
    let untold: Vec<&str> = MISTAKES.into_iter().filter_map(untold).collect();
    assert!(untold.is_empty(), "no program tells: {untold:?}");
}

/// What the GPU's compiler says of the first programs, but for what rustc, too, would warn of: variables that are not used,
/// conditions that are constant, statements that are not reached.
fn complaints_of_nvrtc(built: &Built) -> Vec<String> {
    const OF_THE_PROGRAMS: [&str; 5] = ["#177-D", "#550-D", "#128-D", "#111-D", "#186-D"];
    scan_tests::nvrtc().unwrap();
    let mut source = Scanner::cpu().scan(ops::sum::<u32>()).cuda_source().unwrap();
    let mut complaints = Vec::new();
    // Program 48 makes NVRTC 13.0 itself crash, at a `?:` of nested struct expressions: no more than those before it.
    for first in (0..48).step_by(16) {
        source.text = built.kernels(first..first + 16).unwrap();
        let compiled = nvrtc::compile(&source, "programs", Architecture { major: 9, minor: 0 }).unwrap();
        let warnings = compiled.log.lines().filter(|line| line.contains("): warning #"));
        let own = warnings.filter(|line| !OF_THE_PROGRAMS.iter().any(|number| line.contains(number)));
        complaints.extend(own.map(str::to_owned));
    }
    complaints
}
