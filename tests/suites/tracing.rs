//! The spans that the documentation of `telemetry` lists, as a subscriber sees them: those that need no GPU.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Barrier, Mutex},
    thread,
    time::Duration,
};

use scan_codegen::DeviceLimits;
use scan_runtime::{
    __private::machine_code,
    DiskCache, Reduction, Scanner,
    aot::{Bundle, Precompile, Precompiled},
    ops, telemetry,
};
use scan_tests::{
    nvrtc as fetch_nvrtc,
    spans::{Record, Spans},
    target_dir,
};
use tracing::Level;

fn limits() -> DeviceLimits {
    DeviceLimits::of("sm_90".parse().unwrap())
}

fn names(records: &[Record]) -> Vec<&'static str> {
    records.iter().map(|record| record.name).collect()
}

/// The spans that end while `work` runs, in the order in which they end.
fn spans_of<T>(work: impl FnOnce() -> T) -> (T, Vec<Record>) {
    let spans = Spans::default();
    let result = tracing::subscriber::with_default(spans.subscriber(Level::TRACE), work);
    (result, spans.take())
}

fn code(what: &impl Precompile, precompiled: Option<Precompiled>, disk: Option<DiskCache>) -> Vec<Arc<Vec<u8>>> {
    machine_code(what, &limits(), precompiled, disk).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = target_dir().unwrap().join("tracing-tests").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// Each span with its fields, as the table in the documentation has them.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let text = include_str!("../../scan-runtime/src/telemetry.rs");
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | `"));
    let row = |row: &str| {
        let cells: Vec<_> = row.split(" | ").collect();
        // What stands in brackets are values.
        let fields = cells[3].split('(').flat_map(|part| words(part.split_once(')').map_or(part, |(_, after)| after)));
        (cells[0].trim_end_matches('`').to_owned(), fields.collect())
    };
    rows.map(row).collect()
}

#[track_caller]
fn are_documented(records: &[Record]) {
    let documented = documented();
    for record in records {
        let mut fields: BTreeSet<_> = record.fields.keys().map(|field| (*field).to_owned()).collect();
        assert!(fields.remove("microseconds"), "{record:?}");
        assert_eq!(Some(&fields), documented.get(record.name), "{record:?}");
        let time: f64 = record.fields["microseconds"].parse().unwrap();
        assert!(time > 0.0 && time < 1e9, "{record:?}");
        assert!(record.target.starts_with("scan_runtime"), "{record:?}");
    }
}

#[test]
fn plans_and_sources_have_spans() {
    let (source, records) = spans_of(|| Scanner::cpu().scan(ops::sum::<f32>()).exclusive().cuda_source().unwrap());
    assert_eq!(names(&records), ["plan", "render"]);
    are_documented(&records);
    assert_eq!(records[0].fields["operator"], "Sum");
    assert_eq!(records[0].fields["task"], "exclusive scan");
    assert_eq!(records[0].fields["architecture"], "sm_90");
    assert_eq!(records[1].fields["bytes"], source.text.len().to_string());

    let (_, records) = spans_of(|| Scanner::cpu().reduce(ops::sum::<f32>()).cuda_source().unwrap());
    assert_eq!(names(&records), ["plan", "render"]);
    are_documented(&records);
}

#[test]
fn compilations_and_the_cache_have_spans() {
    fetch_nvrtc().unwrap();
    let scanner = Scanner::cpu();
    let scan = scanner.reduce(ops::bit_xor::<u16>()).reduction(Reduction::Coarsened);
    let folder = folder("cache");
    let disk = || Some(DiskCache::at(folder.clone()));

    let (cubins, records) = spans_of(|| code(&scan, None, disk()));
    let told: Vec<_> = names(&records).into_iter().filter(|name| *name != "load_nvrtc").collect();
    assert_eq!(told, ["plan", "render", "read_cache", "compile", "write_cache", "cubin"]);
    are_documented(&records);
    let bytes = cubins[0].len().to_string();
    let find = |name: &str| records.iter().find(|record| record.name == name).unwrap();
    assert_eq!(
        (find("read_cache").fields["hit"].as_str(), find("read_cache").fields["bytes"].as_str()),
        ("false", "0")
    );
    assert_eq!((&find("compile").fields["cubin_bytes"], &find("write_cache").fields["bytes"]), (&bytes, &bytes));
    assert_eq!(
        (find("cubin").fields["from"].as_str(), find("cubin").fields["bytes"].as_str()),
        ("compiler", bytes.as_str())
    );
    assert_eq!(find("compile").parent, Some("cubin"));
    assert_eq!(find("write_cache").fields["stored"], "true");

    // Now the process has it.
    let (_, records) = spans_of(|| code(&scan, None, disk()));
    assert_eq!(names(&records), ["plan", "render", "cubin"]);
    are_documented(&records);
    assert_eq!(records[2].fields["from"], "process");
}

/// What is for several ranges of lengths has a module for each, and they are compiled at once, the first by who asks.
#[test]
fn several_modules_are_compiled_at_once() {
    fetch_nvrtc().unwrap();
    let scanner = Scanner::cpu();
    let scan = scanner.scan(ops::bit_or::<u64>());
    let ((cubins, spent), records) = spans_of(|| telemetry::spent(|| code(&scan, None, None)));
    let compiled: Vec<_> = records.iter().filter(|record| record.name == "compile").collect();
    let threads: BTreeSet<_> = compiled.iter().map(|record| format!("{:?}", record.thread)).collect();
    assert!(cubins.len() >= 2 && compiled.len() == cubins.len(), "{} modules, {compiled:?}", cubins.len());
    assert_eq!(threads.len(), cubins.len(), "{compiled:?}");
    assert!(threads.contains(&format!("{:?}", thread::current().id())));
    // What all threads have compiled is counted for who asks, and what is in the process is not.
    let of_spans: f64 = compiled.iter().map(|record| record.fields["microseconds"].parse::<f64>().unwrap()).sum();
    assert_eq!(spent.compiled, cubins.len() as u64);
    let compiling = spent.compiling.as_secs_f64() * 1e6;
    assert!(0.8 * of_spans <= compiling, "{spent:?}, {compiled:?}");
    let (again, spent) = telemetry::spent(|| code(&scan, None, None));
    assert_eq!((spent.compiled, spent.compiling), (0, Duration::ZERO));
    // In the order of the lengths, whoever is ready first.
    assert!(cubins == again && cubins[0] != cubins[1]);
}

/// All kernels of a plan are in one module: so a call, which needs the plan for one length, compiles one at the most.
#[test]
fn one_module_has_all_kernels_of_a_plan() {
    let scanner = Scanner::cpu_for(limits());
    for strategy in scan_tests::strategies::all() {
        let scan = scanner.scan(ops::sum::<u32>()).strategy(strategy);
        let (plans, source) = (scan.plan().unwrap(), scan.cuda_source().unwrap());
        assert_eq!(plans.iter().count(), 1, "{strategy}");
        for role in plans.longest().kernels() {
            let name = source.kernel_name(role.name());
            assert!(source.text.contains(&format!("{name}(")), "{strategy}: no {name}");
        }
    }
}

#[test]
fn precompiled_kernels_have_spans() {
    fetch_nvrtc().unwrap();
    let scanner = Scanner::cpu();
    let scan = scanner.reduce(ops::bit_or::<u16>()).reduction(Reduction::Coarsened);
    let bundle = Bundle::new().architecture("sm_90").with(&scan).compile().unwrap();
    let (_, records) = spans_of(|| code(&scan, Some(Precompiled::open(bundle).unwrap()), None));
    assert_eq!(names(&records), ["plan", "render", "cubin"]);
    assert_eq!(records[2].fields["from"], "precompiled");
}

#[test]
fn work_on_the_cpu_has_spans() {
    let scanner = Scanner::cpu();
    let (_, records) = spans_of(|| {
        scanner.scan(ops::sum()).run(&[1, 2, 3]).unwrap();
        scanner.reduce(ops::sum()).run(&[1, 2]).unwrap();
    });
    let records: Vec<_> = records.into_iter().filter(|record| record.name == "cpu").collect();
    are_documented(&records);
    let lengths: Vec<_> = records.iter().map(|record| record.fields["len"].as_str()).collect();
    assert_eq!(lengths, ["3", "2"]);
}

#[test]
fn spans_of_every_call_need_the_trace_level() {
    let spans = Spans::default();
    tracing::subscriber::with_default(spans.subscriber(Level::DEBUG), || {
        Scanner::cpu().scan(ops::sum()).run(&[1, 2, 3]).unwrap();
    });
    assert!(!names(&spans.take()).contains(&"cpu"));
}

/// However many threads ask at once, each module is compiled by one of them while the others wait.
#[test]
fn concurrent_threads_compile_each_module_once() {
    const THREADS: usize = 16;
    fetch_nvrtc().unwrap();
    let all = Mutex::new(Vec::new());
    let together = Barrier::new(THREADS);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let scanner = Scanner::cpu();
                let scan = scanner.scan(ops::bit_and::<u64>());
                together.wait();
                let (cubins, records) = spans_of(|| code(&scan, None, None));
                all.lock().unwrap().push((cubins, records));
            });
        }
    });
    let all = all.into_inner().unwrap();
    let cubins = all[0].0.len();
    assert!(cubins >= 2, "a module for each range of lengths");
    let compiled = |records: &[Record]| names(records).iter().filter(|name| **name == "compile").count();
    assert_eq!(all.iter().map(|(_, records)| compiled(records)).sum::<usize>(), cubins);
    assert!(all.iter().all(|(of_thread, _)| *of_thread == all[0].0));
    let from = |from: &str| {
        let records = all.iter().flat_map(|(_, records)| records).filter(|record| record.name == "cubin");
        records.filter(|record| record.fields["from"] == from).count()
    };
    assert_eq!((from("compiler"), from("process")), (cubins, cubins * (THREADS - 1)));
}
