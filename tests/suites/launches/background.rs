//! First calls over host memory: the CPU runs them while their kernels are compiled. Each kind is a process of its own,
//! because kernels are compiled once in a process, and because here threads can begin.

use std::{
    env, hint, io,
    path::PathBuf,
    process::{Child, Command, ExitCode, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use scan_runtime::{
    Axis, DiskCache, Error, HostMemory, Scan, ScanOp, Scanner, Staging, arrays, nvrtc::LIBRARY_VARIABLE, ops, scan_op,
    telemetry::spent,
};
use scan_tests::{driver, find_nvrtc, time_limit::TimeLimit};
use tracing::{Event, Subscriber, field::Visit};
use tracing_subscriber::{Layer, Registry, layer::Context, layer::SubscriberExt};

use crate::kinds::{Kinds, Outcome};

/// The kind of this process.
const KIND: &str = "SCAN_TESTS_BACKGROUND";
/// The folder of its cache, and after how many microseconds it ends.
const FOLDER: &str = "SCAN_TESTS_KEPT";
const END: &str = "SCAN_TESTS_END";

/// Enough elements that the device is the faster side.
const LEN: usize = 20_000;

/// Products in the field of 2³² elements.
#[derive(Clone, Copy)]
struct FieldProduct;

#[scan_op]
impl ScanOp for FieldProduct {
    type Element = u32;
    const IDENTITY: u32 = 1;
    fn combine(a: u32, b: u32) -> u32 {
        let mut product = 0_u32;
        let mut factor = a;
        for bit in 0..32_u32 {
            product ^= factor & 0_u32.wrapping_sub(b >> bit & 1);
            factor = factor << 1 ^ (0x8d & 0_u32.wrapping_sub(factor >> 31));
        }
        product
    }
}

/// The same with a sum of floats beside it.
#[derive(Clone, Copy)]
struct Rounded;

#[scan_op]
impl ScanOp for Rounded {
    type Element = f32;
    const IDENTITY: f32 = 0.0;
    fn combine(a: f32, b: f32) -> f32 {
        let mut sum = a + b;
        for _ in 0..40_u32 {
            sum = sum.mul_add(1.0, 0.0);
        }
        sum
    }
}

fn numbers() -> Vec<u32> {
    (0..LEN as u32).map(|index| index.wrapping_mul(2_654_435_761) | 1).collect()
}

fn floats() -> Vec<f32> {
    (0..LEN).map(|index| 1.0 / (index + 1) as f32).collect()
}

fn choosing() -> Result<Scanner, Error> {
    Scanner::builder().device(0).no_cache().host_memory(HostMemory::Faster).build()
}

/// As `Scanner::cuda(0)`.
fn named() -> Result<Scanner, Error> {
    Scanner::builder().device(0).no_cache().build()
}

fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn is_on_device(record: &str) -> bool {
    record.contains("launch ")
}

fn side<Op: ScanOp>(scan: &Scan<Op>) -> String {
    scan.backend_for(LEN).to_string()
}

/// A call of each kind.
type Call = (&'static str, fn(&Scanner) -> Result<Vec<u32>, Error>);

const CALLS: &[Call] = &[
    ("a scan", |scanner| scanner.scan(FieldProduct).run(&numbers())),
    ("exclusive", |scanner| scanner.scan(FieldProduct).exclusive().run(&numbers())),
    ("reversed", |scanner| scanner.scan(FieldProduct).reverse().run(&numbers())),
    ("with an initial value", |scanner| scanner.scan(FieldProduct).init(7).run(&numbers())),
    ("with a total", |scanner| {
        let (mut products, total) = scanner.scan(FieldProduct).with_total().run(&numbers())?;
        products.extend(total);
        Ok(products)
    }),
    ("in place", |scanner| {
        let mut buffer = numbers();
        scanner.scan(FieldProduct).run_in_place(&mut buffer)?;
        Ok(buffer)
    }),
    ("of indices", |scanner| {
        let mut products = vec![0_u64; LEN];
        scanner.scan(IndexProduct).run_into(arrays::indices(), &mut products)?;
        Ok(products.into_iter().map(|product| product as u32).collect())
    }),
    ("rows", |scanner| scanner.scan(FieldProduct).rows(100).run(&numbers())),
    ("rows with values", |scanner| {
        let values: Vec<u32> = (0..LEN as u32 / 100).collect();
        let (mut products, totals) =
            scanner.scan(FieldProduct).rows(100).init_each(&values).with_totals().run(&numbers())?;
        products.extend(totals);
        Ok(products)
    }),
    ("keys", |scanner| {
        let keys: Vec<u32> = (0..LEN as u32).map(|index| index / 77).collect();
        scanner.scan(FieldProduct).by_keys(&keys).run(&numbers())
    }),
    ("offsets", |scanner| scanner.scan(FieldProduct).by_offsets(&[0_u32, 10, 10, 9_999]).run(&numbers())),
    ("an axis", |scanner| scanner.scan(FieldProduct).along(Axis::of(&[200, 100], 0)?).run(&numbers())),
    ("results with the initial value", |scanner| scanner.scan(FieldProduct).include_initial().run(&numbers())),
    ("rows of those", |scanner| scanner.scan(FieldProduct).include_initial().rows(100).run(&numbers())),
    ("columns of those", |scanner| {
        scanner.scan(FieldProduct).include_initial().along(Axis::of(&[200, 100], 0)?).run(&numbers())
    }),
    ("a reduction", |scanner| Ok(vec![scanner.reduce(FieldProduct).run(&numbers())?])),
    ("a reduction from the right", |scanner| Ok(vec![scanner.reduce(FieldProduct).reverse().run(&numbers())?])),
    ("a reduction of rows", |scanner| scanner.reduce(FieldProduct).rows(100).run(&numbers())),
    ("a reduction by keys", |scanner| {
        let keys: Vec<u32> = (0..LEN as u32).map(|index| index / 77).collect();
        scanner.reduce(FieldProduct).by_keys(&keys).run(&numbers())
    }),
    ("a reduction of ranges", |scanner| {
        let (begins, ends) = ([0_u32, 5], [LEN as u32, 19_000]);
        scanner.reduce(FieldProduct).by_ranges(&begins, &ends).run(&numbers())
    }),
    ("a reduction of columns", |scanner| scanner.reduce(FieldProduct).along(Axis::of(&[200, 100], 0)?).run(&numbers())),
];

/// The products of wider numbers, which indices are.
#[derive(Clone, Copy)]
struct IndexProduct;

#[scan_op]
impl ScanOp for IndexProduct {
    type Element = u64;
    const IDENTITY: u64 = 1;
    fn combine(a: u64, b: u64) -> u64 {
        let mut product = 0_u64;
        let mut factor = a;
        for bit in 0..64_u32 {
            product ^= factor & 0_u64.wrapping_sub(b >> bit & 1);
            factor = factor << 1 ^ (0x1b & 0_u64.wrapping_sub(factor >> 63));
        }
        product
    }
}

/// While nothing is compiled, calls of all kinds give the CPU's results and do nothing on the device; after that they
/// launch, and compile nothing more.
fn every_kind(staging: Staging) -> Outcome {
    let builder = Scanner::builder().device(0).no_cache().staging(staging);
    let (chosen, cpu) = (builder.host_memory(HostMemory::Faster).build()?, Scanner::cpu());
    let held = driver::hold_compiler();
    for (name, call) in CALLS {
        let expected = call(&cpu)?;
        for _ in 0..2 {
            let (found, record) = driver::record(|| call(&chosen));
            assert!(found? == expected, "{name}: another result");
            assert!(record.is_empty(), "{name}: the device has done\n{record}");
        }
    }
    let (begun, ended) = driver::compilations();
    assert_eq!((begun, ended), (1, 0), "one module is compiled at a time");
    drop(held);
    let mut last = (0, Instant::now());
    until("all are compiled", || {
        let (_, ended) = driver::compilations();
        if ended != last.0 {
            last = (ended, Instant::now());
        }
        ended > 0 && last.1.elapsed() > Duration::from_millis(300)
    });
    driver::fail_compiler(true);
    for (name, call) in CALLS {
        let (found, record) = driver::record(|| call(&chosen));
        found.map_err(|error| format!("{name}: {error}"))?;
        assert!(is_on_device(&record), "{name}: nothing is launched\n{record}");
    }
    Ok(())
}

/// Many callers have a kernel compiled once; a call that must wait for it, does.
fn once() -> Outcome {
    let (chosen, cpu) = (choosing()?, Scanner::cpu());
    let scan = chosen.scan(FieldProduct);
    let expected = cpu.scan(FieldProduct).run(&numbers())?;
    assert!(side(&scan).ends_with(", while the kernel for the CUDA device is compiled"), "{}", side(&scan));
    assert_eq!(driver::compilations(), (0, 0), "a question begins nothing");
    let held = driver::hold_compiler();
    thread::scope(|scope| {
        for _ in 0..4 {
            let another = choosing();
            let (cpu, expected) = (&cpu, &expected);
            scope.spawn(move || {
                let another = another.unwrap();
                assert!(another.scan(FieldProduct).run(&numbers()).unwrap() == *expected);
                assert!(cpu.scan(FieldProduct).run(&numbers()).unwrap() == *expected);
            });
        }
    });
    let (results, spent) = spent(|| scan.run(&numbers()));
    assert!(results? == expected && spent.compiled == 0 && spent.launches == 0, "{spent}");
    until("the compilation has begun", || driver::compilations() == (1, 0));
    thread::scope(|scope| {
        let forced = named().unwrap();
        let waits = scope.spawn(move || driver::record(|| forced.scan(FieldProduct).run(&numbers()).map(drop)));
        thread::sleep(Duration::from_millis(200));
        assert!(!waits.is_finished() && driver::compilations() == (1, 0), "{:?}", driver::compilations());
        drop(held);
        let (result, record) = waits.join().unwrap();
        result.unwrap();
        assert!(is_on_device(&record), "{record}");
    });
    until("the device", || side(&scan).starts_with("CUDA device 0"));
    let (result, record) = driver::record(|| scan.run(&numbers()));
    result?;
    assert!(is_on_device(&record), "{record}");
    assert_eq!(driver::compilations(), (1, 1));
    Ok(())
}

/// The messages of events.
#[derive(Clone, Default)]
struct Messages(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Messages {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        struct Fields(String);
        impl Visit for Fields {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0 += &format!(" {field}={value:?}");
            }
        }
        let mut fields = Fields(event.metadata().level().to_string());
        event.record(&mut fields);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fields.0);
    }
}

/// A compilation that fails is a warning, and an error of the calls after it.
fn failure() -> Outcome {
    let messages = Messages::default();
    let said = |level: &str| {
        let said = messages.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        said.into_iter().filter(|message| message.starts_with(level)).collect::<Vec<_>>()
    };
    let scan = choosing()?.scan(FieldProduct);
    driver::fail_compiler(true);
    let run = || scan.run(&numbers());
    tracing::subscriber::with_default(Registry::default().with(messages.clone()), run)?;
    let meanwhile = said("DEBUG").iter().filter(|message| message.contains("the CPU runs this call")).count();
    assert_eq!(meanwhile, 1, "{:?}", said("DEBUG"));
    until("the warning", || !said("WARN").is_empty());
    let warnings = said("WARN");
    assert!(
        warnings.len() == 1
            && warnings[0].contains("FieldProduct")
            && warnings[0].contains("NVRTC_ERROR_OUT_OF_MEMORY")
            && warnings[0].contains("compiles them again"),
        "{warnings:?}"
    );
    for _ in 0..2 {
        until("no module is pending", || side(&scan).starts_with("CUDA device 0"));
        let error = scan.run(&numbers()).err();
        assert!(matches!(error, Some(Error::Nvrtc { call: "nvrtcCompileProgram", .. })), "{error:?}");
    }
    driver::fail_compiler(false);
    let (result, record) = driver::record(|| scan.run(&numbers()));
    result?;
    assert!(is_on_device(&record), "{record}");
    Ok(())
}

/// Sums that are rounded take one side in every run, unless the caller allows both.
fn rounded() -> Outcome {
    let input = floats();
    for _ in 0..100 {
        let scan = choosing()?.scan(Rounded);
        assert!(side(&scan).starts_with("CUDA device 0"), "{}", side(&scan));
        let (result, record) = driver::record(|| scan.run(&input));
        result?;
        assert!(is_on_device(&record), "{record}");
    }
    // Another kernel, which is not there.
    let held = driver::hold_compiler();
    let scan = choosing()?.scan(Rounded).exclusive();
    assert!(side(&scan.clone().any_grouping().deterministic()).starts_with("CUDA device 0"));
    let scan = scan.deterministic().any_grouping();
    assert!(side(&scan).contains("while the kernel"), "{}", side(&scan));
    let (found, record) = driver::record(|| scan.run(&input));
    assert!(record.is_empty(), "{record}");
    // The CPU groups them in any way, too.
    let expected = Scanner::cpu().scan(Rounded).exclusive().run(&input)?;
    assert!(
        found?
            .iter()
            .zip(&expected)
            .all(|(found, expected)| (found - expected).abs() <= 1e-4 * expected.abs().max(1.0))
    );
    drop(held);
    until("the device", || side(&scan).starts_with("CUDA device 0"));
    // What only compares floats gives the same bits.
    let _held = driver::hold_compiler();
    let largest = choosing()?.scan(ops::max::<f32>());
    assert!(side(&largest).starts_with("CPU"), "{}", side(&largest));
    Ok(())
}

/// A named device runs all calls, and waits for their kernels; so does a handle.
fn forced() -> Outcome {
    let (result, record) = driver::record(|| named()?.scan(FieldProduct).run(&numbers()).map(drop));
    result?;
    assert!(is_on_device(&record) && driver::compilations() == (1, 1), "{:?}\n{record}", driver::compilations());
    let handle = choosing()?.scan(FieldProduct).exclusive().prepare(LEN)?;
    let (result, record) = driver::record(|| handle.run(&numbers()).map(drop));
    result?;
    assert!(is_on_device(&record), "{record}");
    let (begun, ended) = driver::compilations();
    assert!(begun == ended && begun > 1);
    Ok(())
}

fn with_folder() -> Result<Scanner, Box<dyn std::error::Error>> {
    let folder = env::var_os(FOLDER).ok_or("no folder")?;
    let builder = Scanner::builder().device(0).cache(DiskCache::at(folder));
    Ok(builder.host_memory(HostMemory::Faster).build()?)
}

/// A kernel that is on disk is loaded by the first call.
fn on_disk() -> Outcome {
    let scan = with_folder()?.scan(FieldProduct);
    let ((results, spent), record) = driver::record(|| spent(|| scan.run(&numbers())));
    results?;
    println!("compiled {:?}, {} launches, {}", driver::compilations(), spent.launches, is_on_device(&record));
    until("the device", || side(&scan).starts_with("CUDA device 0"));
    Ok(())
}

/// Ends during a compilation by the real compiler.
fn ends() -> Outcome {
    let micros = env::var(END)?.parse()?;
    let scan = with_folder()?.scan(FieldProduct);
    let results = scan.run(&numbers())?;
    assert!(results == Scanner::cpu().scan(FieldProduct).run(&numbers())?);
    println!("{}", side(&scan));
    if micros % 2 == 1 {
        thread::spawn(move || {
            thread::sleep(Duration::from_micros(micros));
            std::process::exit(0);
        });
        thread::sleep(Duration::from_secs(60));
        return Err("the other thread has not ended the process".into());
    }
    thread::sleep(Duration::from_micros(micros));
    Ok(())
}

/// A device that is lost at any call of the driver in the middle of a run gives an error, and no half of a result: an
/// output that is the caller's has results and what was there before, and nothing else.
fn lost() -> Outcome {
    const BEFORE: u32 = 7;
    let input = numbers();
    let choosing = |staging: &Staging| {
        let builder = Scanner::builder().device(0).no_cache().staging(*staging);
        Ok::<_, Error>(builder.host_memory(HostMemory::Faster).build()?.scan(FieldProduct))
    };
    let (mut errors, mut parts) = (0, 0);
    for staging in [Staging::default().with_piece_bytes(1 << 14), Staging::default().with_chunk_bytes(LEN)] {
        for after in 0.. {
            let (mut output, mut buffer) = (vec![BEFORE; LEN], input.clone());
            // Runs with the device lost after so many calls.
            let mut run = |kind: usize| {
                let scan = choosing(&staging)?;
                drop(scan.prepare(LEN)?);
                assert!(side(&scan).starts_with("CUDA device 0"), "{}", side(&scan));
                driver::lose_device(Some(after));
                let result = match kind {
                    // The recorder's kernels give each element as it is.
                    0 => scan.run(&input).map(|results| assert!(results == input)),
                    1 => scan.run_into(&input, &mut output),
                    _ => scan.run_in_place(&mut buffer),
                };
                driver::lose_device(None);
                Ok::<_, Error>(result)
            };
            let results = [run(0)?, run(1)?, run(2)?];
            let written = output.iter().zip(&input).filter(|(found, result)| found == result).count();
            let left = output.iter().filter(|found| **found == BEFORE).count();
            assert!(buffer == input && written + left == LEN, "after {after} calls");
            assert!(results[1].is_err() || written == LEN, "after {after} calls: {left} results are not there");
            parts += usize::from(written > 0 && left > 0);
            let is_done = results.iter().all(Result::is_ok);
            for error in results.into_iter().filter_map(Result::err) {
                assert!(matches!(error, Error::ContextLost { .. }), "after {after} calls: {error:?}");
                errors += 1;
            }
            if is_done {
                break;
            }
        }
    }
    println!("{errors} errors, {parts} of which left a part of the results");
    assert!(errors > 60 && parts > 0, "{errors} errors, {parts} parts");
    Ok(())
}

/// A call is run on the same side each time, whatever else the machine does: floats keep their bits.
fn the_same() -> Outcome {
    const TIMES: usize = 100;
    let (busy, light) = (AtomicBool::new(true), vec![1.0_f32; LEN]);
    let heavy = numbers();
    let is_launched = |call: &mut dyn FnMut() -> Result<(), Error>| {
        let (result, record) = driver::record(call);
        result.map(|()| is_on_device(&record))
    };
    thread::scope(|scope| {
        let work = || {
            let scan = Scanner::cpu().scan(ops::sum::<f32>());
            while busy.load(Ordering::Relaxed) {
                _ = hint::black_box(scan.run(&light));
            }
        };
        let threads = 2 * thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
        // With a scanner for each, as in a new process.
        let sides = (0..TIMES).map(|_| {
            let scanner = Scanner::builder().device(0).no_cache().host_memory(HostMemory::Faster).build()?;
            let (sums, products) = (scanner.scan(ops::sum::<f32>()), scanner.scan(FieldProduct));
            drop(products.prepare(LEN)?);
            Ok([
                is_launched(&mut || sums.run(&light).map(drop))?,
                is_launched(&mut || products.run(&heavy[..16]).map(drop))?,
                is_launched(&mut || products.run(&heavy).map(drop))?,
            ])
        });
        let sides = sides.collect::<Result<Vec<_>, Error>>();
        busy.store(false, Ordering::Relaxed);
        assert_eq!(sides?, [[false, false, true]; TIMES]);
        Ok(())
    })
}

/// A kind of process.
type Kind = (&'static str, fn() -> Outcome);

const KINDS: &[Kind] = &[
    ("lost", lost),
    ("the_same", the_same),
    ("every_kind", || every_kind(Staging::default())),
    ("every_kind_in_chunks", || every_kind(Staging::default().with_chunk_bytes(3 * LEN))),
    ("once", once),
    ("failure", failure),
    ("rounded", rounded),
    ("forced", forced),
    ("on_disk", on_disk),
    ("ends", ends),
];

/// The real compiler, if this process is one that is to end while that compiles. Asked before the driver is there,
/// which is a compiler, too.
pub(crate) fn library_of_child() -> Option<Result<PathBuf, String>> {
    (env::var(KIND).ok()? == "ends").then(find_nvrtc)
}

/// The outcome of this process, if it is one of those above.
///
/// # Safety
///
/// No other thread runs.
pub(crate) unsafe fn of_this_process(
    started: &Result<(), String>,
    library: Option<Result<PathBuf, String>>,
) -> Option<ExitCode> {
    let kind = env::var(KIND).ok()?;
    let outcome = || -> Outcome {
        started.clone()?;
        if let Some(library) = library {
            // SAFETY: the caller guarantees it.
            unsafe { env::set_var(LIBRARY_VARIABLE, library?) };
        }
        let _limit = TimeLimit::seconds(120);
        let (_, of_kind) = KINDS.iter().find(|(name, _)| *name == kind).ok_or("no such kind")?;
        of_kind()
    };
    Some(match outcome() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    })
}

/// What a process of a kind prints.
fn process(kind: &str, variables: &[(&str, String)]) -> Result<String, Box<dyn std::error::Error>> {
    printed(begun(kind, variables)?)
}

/// A process of a kind, which goes on while this one does.
fn begun(kind: &str, variables: &[(&str, String)]) -> io::Result<Child> {
    let mut child = Command::new(env::current_exe()?);
    child.env(KIND, kind).env_remove(LIBRARY_VARIABLE).envs(variables.iter().map(|(name, value)| (name, value)));
    child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// What a process prints until its end.
fn printed(process: Child) -> Result<String, Box<dyn std::error::Error>> {
    let output = process.wait_with_output()?;
    let [printed, told] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if output.status.success() { Ok(printed) } else { Err(format!("{}\n{printed}{told}", output.status).into()) }
}

fn folder(of: &tempfile::TempDir) -> (&'static str, String) {
    (FOLDER, of.path().join("kernels").to_string_lossy().into_owned())
}

/// However soon it ends, from the main thread or another one, the process waits for the compilation, and the kernel is
/// there for the next process. Where there are kernels on disk, the compiler is not loaded before it is needed.
fn endings() -> Outcome {
    let count = if scan_tests::extent::is_long() { 200 } else { 12 };
    // Two at once: this process has no threads, but need not wait for one before it begins the other.
    for first in (0..count).step_by(2) {
        let pair = [Ending::begun(first, count)?, Ending::begun(first + 1, count)?];
        pair.into_iter().try_for_each(Ending::check)?;
    }
    Ok(())
}

/// A process that ends while it compiles.
struct Ending {
    process: Child,
    /// After so many microseconds; an odd number is for another thread.
    micros: usize,
    cache: DiskCache,
    /// Entries of the cache that were there before.
    before: usize,
    _kept: tempfile::TempDir,
}

impl Ending {
    fn begun(index: usize, count: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let kept = tempfile::tempdir()?;
        let (name, folder) = folder(&kept);
        let before = index / 2 % 2;
        let cache = DiskCache::at(&folder);
        assert!(before == 0 || cache.store_named([7; 32], b"another kernel"));
        let micros = index * 300_000 / count / 2 * 2 + index % 2;
        let process = begun("ends", &[(name, folder), (END, micros.to_string())])?;
        Ok(Ending { process, micros, cache, before, _kept: kept })
    }

    fn check(self) -> Outcome {
        let Ending { process, micros, cache, before, .. } = self;
        let printed = printed(process).map_err(|error| format!("after {micros} µs: {error}"))?;
        let entries = cache.entries()?;
        // The version of the compiler, and the kernel.
        if !printed.contains("while the kernel") || entries != 2 + before {
            return Err(format!("after {micros} µs: {entries} entries, {printed}").into());
        }
        Ok(())
    }
}

pub(crate) fn add(kinds: &mut Kinds) {
    kinds.refused("background_every_kind_of_call", |_| process("every_kind", &[]).map(drop));
    kinds.refused("background_every_kind_of_call_in_chunks", |_| process("every_kind_in_chunks", &[]).map(drop));
    kinds.refused("background_compiles_once_and_is_waited_for", |_| process("once", &[]).map(drop));
    kinds.refused("background_sides_are_the_same_on_a_busy_machine", |_| process("the_same", &[]).map(drop));
    kinds.refused("background_failure_is_said", |_| process("failure", &[]).map(drop));
    kinds.refused("background_is_not_for_rounded_results", |_| process("rounded", &[]).map(drop));
    kinds.refused("background_is_not_for_named_devices", |_| process("forced", &[]).map(drop));
    kinds.refused("background_kernels_are_on_disk", |_| {
        let kept = tempfile::tempdir()?;
        let [first, second] = [0, 1].map(|_| process("on_disk", &[folder(&kept)]));
        assert_eq!(
            (first?.contains("0 launches, false"), second?.as_str()),
            (true, "compiled (0, 0), 1 launches, true\n")
        );
        Ok(())
    });
    kinds.refused("background_no_lost_device_leaves_half_of_a_result", |_| process("lost", &[]).map(drop));
    kinds.refused("background_compilation_ends_before_the_process", |_| endings());
}
