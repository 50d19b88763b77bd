//! Kernels compiled ahead of time: with the real compiler, and without a GPU.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
};

use scan_codegen::{BlockScan, Carry, DeviceLimits, Network, Plan, Strategy};
use scan_runtime::{
    __private::machine_code,
    Axis, DiskCache, Error, ScanOp, Scanner, Table,
    aot::{Bundle, Precompile, Precompiled, Recording},
    arrays, nvrtc, ops, scan_element, scan_op,
};
use scan_tests::{nvrtc as fetch_nvrtc, target_dir};

/// Tells a child process that it is one, and where it finds a bundle.
const BUNDLE_OF_CHILD: &str = "SCAN_TESTS_BUNDLE";

fn limits(architecture: &str) -> DeviceLimits {
    DeviceLimits::of(architecture.parse().unwrap())
}

fn bundle() -> Bundle {
    let scanner = Scanner::cpu();
    Bundle::new()
        .architecture("sm_80")
        .architecture("sm_90")
        .with(&scanner.scan(ops::sum::<f32>()).exclusive())
        .with(&scanner.scan(ops::max::<i64>()).init(1).by_keys::<u16>(&[]))
        .with(&scanner.reduce(ops::min::<u8>()))
}

/// The kernels that tests of this process have compiled.
fn cache() -> DiskCache {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        fetch_nvrtc().unwrap();
        let folder = target_dir().unwrap().join("aot-tests");
        let _ = fs::remove_dir_all(&folder); // the folder of an earlier run
        folder
    });
    DiskCache::at(&*FOLDER)
}

/// Compiled once for all tests.
static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| bundle().cache(cache()).compile().unwrap());

fn open() -> Precompiled {
    Precompiled::open(BYTES.clone()).unwrap()
}

/// How many kernels of the sum there are for an architecture.
fn sums(precompiled: &Precompiled, architecture: &str) -> usize {
    let architecture = architecture.parse().unwrap();
    let kernels = precompiled.kernels().iter();
    kernels.filter(|kernel| kernel.architecture == architecture && kernel.name.starts_with("Sum:")).count()
}

fn is_whole(what: &impl Precompile, limits: &DeviceLimits) -> bool {
    open().missing(what, limits).unwrap().is_empty()
}

#[test]
fn a_bundle_has_the_scans_that_were_added_and_no_other() {
    let scanner = Scanner::cpu();
    // Another initial value, other keys, are the same kernels; compute capability 8.6 executes what was made for 8.0.
    for architecture in ["sm_80", "sm_86", "sm_89", "sm_90"] {
        let limits = limits(architecture);
        assert!(is_whole(&scanner.scan(ops::sum::<f32>()).exclusive(), &limits), "{architecture}");
        assert!(is_whole(&scanner.scan(ops::max::<i64>()).init(9).by_keys(&[1_u16, 2]), &limits), "{architecture}");
        assert!(is_whole(&scanner.reduce(ops::min::<u8>()), &limits), "{architecture}");

        assert!(!is_whole(&scanner.scan(ops::sum::<f32>()), &limits), "{architecture}");
        assert!(!is_whole(&scanner.scan(ops::sum::<f32>()).exclusive().init(0.0), &limits), "{architecture}");
        assert!(!is_whole(&scanner.scan(ops::sum::<f64>()).exclusive(), &limits), "{architecture}");
        assert!(!is_whole(&scanner.scan(ops::max::<i64>()).init(9).by_keys(&[1_u32, 2]), &limits), "{architecture}");
        assert!(!is_whole(&scanner.reduce(ops::min::<u8>()).init(0), &limits), "{architecture}");
    }
    for architecture in ["sm_75", "sm_100", "sm_120"] {
        assert!(!is_whole(&scanner.reduce(ops::min::<u8>()), &limits(architecture)), "{architecture}");
    }
    let names = open().missing(&scanner.reduce(ops::min::<u8>()).init(0), &limits("sm_90")).unwrap();
    // Over device memory a long input is scanned for its total.
    assert_eq!(names[0], "Min: reduction, coarsened tree");
    assert!(
        names[1..].iter().all(|name| name.contains("to [NoMemory] with an initial value and the total")),
        "{names:?}"
    );
}

/// Devices of one architecture differ in their multiprocessors, and slices of them have few.
#[test]
fn a_bundle_serves_every_device_of_an_architecture() {
    let scanner = Scanner::cpu();
    for multiprocessors in [1, 2, 7, 8, 9, 16, 32, 60, 78, 114, 132, 144, 160] {
        let mut limits = limits("sm_90");
        limits.multiprocessors = multiprocessors;
        let missing =
            |what: &dyn Fn(&Precompiled) -> Vec<String>| assert_eq!(what(&open()), [""; 0], "{multiprocessors}");
        missing(&|open| open.missing(&scanner.scan(ops::sum::<f32>()).exclusive(), &limits).unwrap());
        missing(&|open| open.missing(&scanner.scan(ops::max::<i64>()).init(0).by_keys::<u16>(&[]), &limits).unwrap());
    }
}

/// One module for each range of lengths, each told apart by its text.
#[test]
fn a_bundle_has_every_range_of_lengths() {
    // Some ranges differ in the threads of a block only, and share a text.
    let scan = |scanner: &Scanner| {
        let scan = scanner.scan(ops::sum::<f32>()).exclusive();
        let text = |plan: &Plan| scan.cuda_source_for(plan.from as usize).unwrap().text;
        scan.plan().unwrap().iter().map(text).collect::<BTreeSet<_>>().len()
    };
    let (older, newer) = (scan(&Scanner::cpu_for(limits("sm_80"))), scan(&Scanner::cpu_for(limits("sm_90"))));
    assert!(newer >= 2 && older >= 2, "{newer} and {older}");
    let kernels = open();
    assert_eq!((sums(&kernels, "sm_80"), sums(&kernels, "sm_90")), (older, newer));
    assert!(kernels.kernels().iter().all(|kernel| kernel.bytes > 1000));
}

#[test]
fn totals_have_kernels_of_their_own() {
    fetch_nvrtc().unwrap();
    let scanner = Scanner::cpu();
    let scan = scanner.scan(ops::sum::<u16>());
    let with_total = Bundle::new().architecture("sm_90").with(&scan.with_total()).compile().unwrap();
    let with_total = Precompiled::open(with_total).unwrap();
    assert!(with_total.kernels().iter().all(|kernel| kernel.name.contains("and the total")), "{with_total:?}");
    assert!(!with_total.missing(&scan, &limits("sm_90")).unwrap().is_empty());
}

#[test]
fn totals_of_segments_have_kernels_of_their_own() {
    fetch_nvrtc().unwrap();
    let scan = Scanner::cpu().scan(ops::sum::<u16>());
    let scan = scan.by_offsets(&[0_u32]);
    let with_totals = Bundle::new().architecture("sm_80").with(&scan.clone().with_totals()).compile().unwrap();
    let with_totals = Precompiled::open(with_totals).unwrap();
    assert!(with_totals.kernels().iter().all(|kernel| kernel.name.contains("total of each")), "{with_totals:?}");
    assert!(!with_totals.missing(&scan, &limits("sm_80")).unwrap().is_empty());
}

/// Of device memory, a reduction by segments is a scan, and takes the last result of each segment.
#[test]
fn reductions_by_segments_have_kernels_of_the_last_results() {
    fetch_nvrtc().unwrap();
    let reduce = Scanner::cpu().reduce(ops::sum::<u16>());
    let named = |bundle: Bundle| {
        let kernels = Precompiled::open(bundle.architecture("sm_80").compile().unwrap()).unwrap();
        kernels.kernels().iter().filter(|kernel| kernel.name.contains("last result")).count()
    };
    assert_eq!(named(Bundle::new().with(&reduce.by_offsets(&[0_u32]))), 1);
    assert_eq!(named(Bundle::new().with(&reduce)), 0);
    let of_ranges = reduce.by_ranges(&[0_u32], &[0]);
    let kernels = Precompiled::open(Bundle::new().architecture("sm_80").with(&of_ranges).compile().unwrap()).unwrap();
    let names: Vec<_> = kernels.kernels().iter().map(|kernel| kernel.name.to_string()).collect();
    assert!(matches!(&names[..], [name] if name.contains("reduction of ranges")), "{names:?}");
    assert_eq!(kernels.missing(&of_ranges, &limits("sm_80")).unwrap(), [""; 0]);
    // From the right the whole is a scan that writes its total, in either memory.
    let reversed = reduce.reverse();
    let bundle = Bundle::new().architecture("sm_80").with(&reversed).compile().unwrap();
    let kernels = Precompiled::open(bundle).unwrap();
    let has = |name: &str| kernels.kernels().iter().any(|kernel| kernel.name.contains(name));
    assert!(!has("last result"), "{kernels:?}");
    assert!(has("to [NoMemory] from the last element to the first and the total"), "{kernels:?}");
    assert_eq!(kernels.missing(&reversed, &limits("sm_80")).unwrap(), [""; 0]);
}

/// Devices execute code of an earlier minor number, not of a later one.
#[test]
fn code_of_a_later_minor_number_is_none_of_an_earlier_one() {
    fetch_nvrtc().unwrap();
    let scan = Scanner::cpu().scan(ops::sum::<f32>());
    let bytes = Bundle::new().architecture("sm_89").with(&scan).compile().unwrap();
    let kernels = Precompiled::open(bytes).unwrap();
    for (architecture, whole) in [("sm_89", true), ("sm_86", false), ("sm_80", false)] {
        assert_eq!(kernels.missing(&scan, &limits(architecture)).unwrap().is_empty(), whole, "{architecture}");
    }
}

/// Every array is of the kind that the same array of device memory has.
#[test]
fn kinds_of_arrays_have_kernels_of_their_own() {
    fetch_nvrtc().unwrap();
    let strategy = Strategy { block: BlockScan::in_registers(), carry: Carry::LookBack };
    let scanner = Scanner::cpu();
    let filter = scanner.scan(ops::filter::<u16>()).strategy(strategy);
    let (flags, values, mut kept) = ([false; 0], [0_u16; 0], [0_u16; 0]);
    let kernels = filter
        .with_total()
        .kernels_like((&flags, arrays::gather(&values, &[0_u64; 0])), arrays::scatter_by_output((&mut kept,)));
    let bundle = Precompiled::open(Bundle::new().architecture("sm_80").with(&kernels).compile().unwrap()).unwrap();
    let told = "over and into an array per field from [Slice, Places(U64)] to [NoMemory, Computed] and the total";
    assert!(bundle.kernels().iter().all(|kernel| kernel.name.contains(told)), "{bundle:?}");
    let limits = limits("sm_80");
    assert_eq!(bundle.missing(&kernels, &limits).unwrap(), [""; 0]);
    let mut places = [0_u32; 0];
    let slices = filter.kernels_like((&flags, &values), (&mut places, &mut kept));
    assert_eq!(
        bundle.missing(&slices, &limits).unwrap(),
        bundle.missing(&filter.clone().per_field(), &limits).unwrap()
    );
    let places = [0_usize; 0];
    let others = filter.kernels_like(
        (arrays::gather(&flags, &places), &values),
        (arrays::discard(), arrays::scatter(&mut kept, &[0_u32; 0])),
    );
    let missing = bundle.missing(&others, &limits).unwrap();
    assert!(missing[0].contains("from [Places(U64)] to [NoMemory, Places(U32)]"), "{missing:?}");
    let appended = scanner.scan(ops::sum::<u32>()).strategy(strategy);
    let missing = bundle.missing(&appended.kernels_like(arrays::indices(), arrays::discard()), &limits).unwrap();
    assert!(missing[0].contains("from [NoMemory] to [NoMemory]"), "{missing:?}");
}

/// A bundle has the kernels of columns along an axis, which serve any shape, and not those of rows.
#[test]
fn kernels_along_an_axis_are_compiled_ahead_of_time() {
    fetch_nvrtc().unwrap();
    let sums = Scanner::cpu().scan(ops::sum::<u32>());
    let along = |shape: &[usize], axis| sums.along(Axis::of(shape, axis).unwrap());
    let bundle = Bundle::new().architecture("sm_90").with(&along(&[100, 64], 0));
    let bundle = Precompiled::open(bundle.compile().unwrap()).unwrap();
    assert!(bundle.kernels().iter().all(|kernel| kernel.name.contains("along an axis")), "{bundle:?}");
    let limits = limits("sm_90");
    assert_eq!(bundle.missing(&along(&[7, 3, 5], 1), &limits).unwrap(), [""; 0]);
    assert!(!bundle.missing(&along(&[100, 64], 1), &limits).unwrap().is_empty());
    assert!(!bundle.missing(&sums, &limits).unwrap().is_empty());
}

/// A bundle of a reduction along an axis has what a recording of its runs notes: the kernels of host memory, which give
/// totals, and those of device memory, which write the results.
#[test]
fn reductions_along_an_axis_are_compiled_ahead_of_time() {
    fetch_nvrtc().unwrap();
    let limits = limits("sm_90");
    for (axis, values) in [(0, false), (0, true), (1, false), (1, true)] {
        let recording = Recording::for_device(limits);
        let along = Axis::of(&[3, 4], axis).unwrap();
        let initial_values = [7; 4];
        let initial_values = &initial_values[..if axis == 0 { 4 } else { 3 }];
        let reduce = |scanner: &Scanner| scanner.reduce(ops::max::<u16>());
        let (recorded, listed) = (reduce(recording.scanner()), reduce(&Scanner::cpu()));
        let (recorded, listed) = (recorded.along(along.clone()), listed.along(along));
        let (recorded, listed) = match values {
            true => (recorded.init_each(initial_values), listed.init_each(initial_values)),
            false => (recorded, listed),
        };
        recorded.run(&[1; 12]).unwrap();
        let bundle = || Bundle::new().architecture("sm_90").cache(cache());
        let of_list = Precompiled::open(bundle().with(&listed).compile().unwrap()).unwrap();
        assert_eq!(of_list.missing(&recording, &limits).unwrap(), [""; 0], "axis {axis}, values: {values}");
        let of_recording = Precompiled::open(bundle().with(&recording).compile().unwrap()).unwrap();
        assert_eq!(of_recording.missing(&listed, &limits).unwrap(), [""; 0], "axis {axis}, values: {values}");
    }
}

#[test]
fn the_same_scans_give_the_same_bytes() {
    let cached = BYTES.as_slice();
    assert!(bundle().compile().unwrap() == cached);
}

/// The calls of a program give the bundle that a list of its scans gives, to the byte.
#[test]
fn a_recording_has_the_scans_that_were_run_and_no_other() {
    fetch_nvrtc().unwrap();
    let recording = Recording::new();
    let scanner = recording.scanner().clone();
    for _ in 0..2 {
        assert_eq!(scanner.scan(ops::sum::<f32>()).exclusive().run(&[1.0, 2.0]).unwrap(), [0.0, 1.0]);
        let maxima = scanner.scan(ops::max::<i64>()).init(1);
        assert_eq!(maxima.by_keys(&[3_u16, 3, 4]).run(&[0, 5, 2]).unwrap(), [1, 5, 2]);
        assert_eq!(scanner.reduce(ops::min::<u8>()).run(&[3, 1, 2]).unwrap(), 1);
    }
    let recorded = Bundle::new().architecture("sm_80").architecture("sm_90").cache(cache()).with(&recording);
    assert!(recorded.compile().unwrap() == *BYTES);
    assert!(is_whole(&recording, &limits("sm_86")));
    assert_eq!(scanner.scan(ops::sum::<f32>()).run(&[1.0, 2.0]).unwrap(), [1.0, 3.0]);
    assert!(!is_whole(&recording, &limits("sm_86")));
    // Only the scanners of a recording are recorded.
    assert!(is_whole(&Recording::new(), &limits("sm_75")));
}

#[test]
fn what_a_device_does_not_support_is_an_error_of_the_recorded_call_or_of_the_bundle() {
    fetch_nvrtc().unwrap();
    let block = BlockScan::coarsened(Network::WarpShuffle);
    let ahead = |recording: &Recording| {
        let scan = recording.scanner().scan(ops::sum::<i32>());
        let scan = scan.strategy(Strategy { block, carry: Carry::LookAhead });
        scan.run(&[1, 2]).map_err(|error| error.to_string())
    };
    let (older, newer) = (Recording::for_device(limits("sm_80")), Recording::for_device(limits("sm_90")));
    let refused = ahead(&older).unwrap_err();
    assert!(refused.contains("compute capability 9.0"), "{refused}");
    assert_eq!(ahead(&newer).unwrap(), [1, 3]);
    let refused = Bundle::new().architecture("sm_80").with(&newer).compile().unwrap_err().to_string();
    assert!(refused.contains("compute capability 9.0"), "{refused}");
}

#[test]
fn damaged_bundles_are_refused_with_the_reason() {
    let whole = BYTES.as_slice();
    let reason = |bytes: &[u8]| match Precompiled::open(bytes.to_vec()) {
        Err(Error::Precompiled { reason }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(b""), "they are cut short");
    assert_eq!(reason(b"\x7fELF, something else"), "they are something else");
    let mut newer = whole.to_vec();
    newer[7] += 1;
    assert_eq!(reason(&newer), "another version of this crate made them");
    for len in (0..64).chain((64..whole.len()).step_by(997)).chain([whole.len() - 1]) {
        let reason = reason(&whole[..len]);
        assert!(reason.contains("cut short") || reason.contains("bytes of"), "{len}: {reason}");
    }
    reason(&[whole, b"x"].concat());
    for place in (0..64).chain((64..whole.len()).step_by(997)) {
        for bit in 0..8 {
            let mut damaged = whole.to_vec();
            damaged[place] ^= 1 << bit;
            reason(&damaged);
        }
    }
    // Without a GPU too, so that it is found where the program is made.
    let error = Scanner::builder().precompiled(&b"something else"[..]).build().unwrap_err();
    let expected = "the precompiled kernels cannot be used: they are something else; rebuild them with `scan_runtime::aot::Bundle`";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn bundles_that_cannot_be_compiled_are_errors_that_say_why() {
    fetch_nvrtc().unwrap();
    let scanner = Scanner::cpu();
    let sum = scanner.scan(ops::sum::<i32>());
    let error = |bundle: Bundle| bundle.compile().unwrap_err().to_string();
    assert_eq!(
        error(Bundle::new().with(&sum)),
        "kernels cannot be compiled ahead of time: no architecture is named: add `.architecture(\"sm_90\")`"
    );
    assert_eq!(
        error(Bundle::new().architecture("hopper").with(&sum)),
        "kernels cannot be compiled ahead of time: `hopper` is not an architecture: write compute capability 9.0 as `sm_90`"
    );
    assert_eq!(
        error(Bundle::new().architecture("sm_70").with(&sum)),
        "kernels need compute capability 7.5 or later, and the device is sm_70: use the CPU"
    );
    // No compiler knows it.
    let unknown = error(Bundle::new().architecture("sm_999").with(&sum));
    assert!(unknown.starts_with("NVRTC ") && unknown.contains("not for sm_999: use a later NVRTC"), "{unknown}");
    let block = BlockScan::coarsened(Network::WarpShuffle);
    let ahead = scanner.scan(ops::sum::<i32>()).strategy(Strategy { block, carry: Carry::LookAhead });
    assert!(error(Bundle::new().architecture("sm_80").with(&ahead)).contains("compute capability 9.0"));
    let place = "/proc/no/such/folder";
    let written = Bundle::new().architecture("sm_90").write(place).unwrap_err().to_string();
    assert!(written.contains(place) && written.contains("cannot be written"), "{written}");
}

/// What an operator is given at run time is no part of its kernels.
struct Weigh<const N: usize> {
    weights: Table<u32>,
    offset: u32,
}

#[scan_op]
impl<const N: usize> ScanOp for Weigh<N> {
    type Input = u8;
    type State = u32;
    type Output = [u32; N];
    const IDENTITY: u32 = 0;
    fn lift(&self, x: u8) -> u32 {
        self.weights[x as usize] + self.offset
    }
    fn combine(a: u32, b: u32) -> u32 {
        a + b
    }
    fn project(sum: u32) -> [u32; N] {
        [sum; N]
    }
}

#[test]
fn parameters_are_not_compiled_in() {
    fetch_nvrtc().unwrap();
    let scanner = Scanner::cpu();
    let here = Weigh::<2> { weights: Table::from(vec![]), offset: 0 };
    let bundle = Bundle::new().architecture("sm_90").with(&scanner.scan(here)).compile().unwrap();
    let there = Weigh::<2> { weights: Table::from([1, 10, 100]), offset: 7 };
    let kernels = Precompiled::open(bundle).unwrap();
    assert_eq!(kernels.missing(&scanner.scan(there), &limits("sm_90")).unwrap(), [""; 0]);
    let other = Weigh::<3> { weights: Table::from([1]), offset: 7 };
    assert!(!kernels.missing(&scanner.scan(other), &limits("sm_90")).unwrap().is_empty());
}

#[scan_element]
#[derive(Clone, Copy)]
struct Number {
    a: f32,
}

#[scan_element]
#[derive(Clone, Copy)]
struct Wrapped {
    number: Number,
}

impl std::ops::Deref for Wrapped {
    type Target = Number;
    fn deref(&self) -> &Number {
        &self.number
    }
}

#[scan_op(identity = Wrapped { number: Number { a: 0.0 } })]
fn compared(x: Wrapped, y: Wrapped) -> Wrapped {
    if x.a > y.a { x } else { y } // the field of another struct, of which the macro cannot know
}

const LINE_OF_COMPARISON: u32 = line!() - 3;

#[test]
fn a_rejected_kernel_names_the_operator_and_the_rust_line() {
    fetch_nvrtc().unwrap();
    let scanner = Scanner::cpu();
    let error = Bundle::new().architecture("sm_90").with(&scanner.scan(compared)).compile().unwrap_err().to_string();
    let first = "NVRTC could not compile the kernels of operator `compared` for sm_90:\n";
    assert!(error.starts_with(first), "{error}");
    assert!(error.contains(&format!("runtime/aot.rs({LINE_OF_COMPARISON})")), "{error}");
}

/// Runs a test of this program in another process, which finds no NVRTC.
fn without_nvrtc(test: &str, bundle: &Path) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads", "1"]);
    hide_nvrtc(command.env(BUNDLE_OF_CHILD, bundle)).output().unwrap()
}

/// A program that finds no NVRTC.
pub(crate) fn hide_nvrtc(command: &mut Command) -> &mut Command {
    for variable in ["PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
        command.env_remove(variable);
    }
    command.env("HOME", "/no/such/folder").env(nvrtc::LIBRARY_VARIABLE, "off")
}

#[test]
fn child_without_nvrtc() {
    let Some(path) = env::var_os(BUNDLE_OF_CHILD) else { return };
    let scanner = Scanner::cpu();
    let limits = limits("sm_90");
    let open = || Some(Precompiled::open(fs::read(&path).unwrap()).unwrap());

    // What was compiled is there without a compiler; a device loads it as it is.
    let there = scanner.scan(ops::sum::<f32>()).exclusive();
    let code = machine_code(&there, &limits, open(), None).unwrap();
    assert!(code.iter().all(|cubin| cubin.starts_with(b"\x7fELF")));
    let stats = scanner.cache_stats();
    assert_eq!((stats.precompiled, stats.misses, stats.modules.len()), (code.len() as u64, code.len() as u64, 0));

    // What was not is an error that says what to do.
    let error = machine_code(&scanner.scan(ops::sum::<i8>()), &limits, open(), None).unwrap_err().to_string();
    assert!(error.starts_with("Sum: inclusive scan, "), "{error}");
    assert!(error.contains("for sm_90 is not among the precompiled kernels, and NVRTC is not installed"), "{error}");
    assert!(error.contains("add the scan to the bundle, or install NVRTC with `python3 -m pip install"), "{error}");

    // So does a bundle that cannot be made here, and a scan without one.
    let error = bundle().compile().unwrap_err();
    assert!(matches!(error, Error::NoNvrtc { .. }), "{error}");
    assert!(error.to_string().contains("searched nowhere, because SCAN_NVRTC is `off`"), "{error}");
    let error = machine_code(&scanner.scan(ops::sum::<i8>()), &limits, None, None).unwrap_err();
    assert!(matches!(error, Error::NoNvrtc { .. }), "{error}");
    assert!(!nvrtc::is_loaded());
    println!("\nthe child is done");
}

#[test]
fn a_bundle_runs_without_nvrtc() {
    let path = target_dir().unwrap().join("aot-tests.scan");
    fs::write(&path, &*BYTES).unwrap();
    let output = without_nvrtc("aot::child_without_nvrtc", &path);
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("the child is done"), "{text}{errors}");
}
