//! What can be asked that nothing can do: without a GPU.

use std::{env, process::Command};

use scan_codegen::{DeviceLimits, PlanError, ScanSpec, Segments};
use scan_runtime::{Error, Overrides, Scan, ScanOp, Scanner, devices, ops, scan_op};
use scan_tests::{
    lifting,
    operators::bits,
    stepped::{Appending, Coder},
    strategies,
};

/// A state of the greatest size that there is.
#[derive(Clone, Copy)]
struct Widest;

#[scan_op]
impl ScanOp for Widest {
    type Input = u8;
    type State = [u64; 32];
    type Output = [u64; 32];
    const IDENTITY: [u64; 32] = [0; 32];
    fn lift(x: u8) -> [u64; 32] {
        [x as u64; 32]
    }
    fn combine(a: [u64; 32], b: [u64; 32]) -> [u64; 32] {
        let mut sum = a;
        for i in 0..32_usize {
            sum[i] = a[i] + b[i];
        }
        sum
    }
}

/// Near every power of two, up to the last number that there is.
fn lengths() -> impl Iterator<Item = u64> {
    let near = |power: u32| [(1_u64 << power) - 1, 1 << power, (1 << power) + 1];
    (20..64).flat_map(near).chain([u64::MAX - 1, u64::MAX])
}

/// The launches for any length fit a grid, and their memory 64 bits; or the plan says that it is too long.
fn schedules<Op: ScanOp>(op: &Op, kind: ScanSpec) {
    let limits = [(7, 5), (9, 0)].map(|(major, minor)| DeviceLimits::of(scan_codegen::Architecture { major, minor }));
    let (mut planned, mut scheduled) = (0, 0);
    let strategies = strategies::all().map(Some).chain([None]);
    for (strategy, limits) in strategies.flat_map(|strategy| limits.map(|limits| (strategy, limits))) {
        let mut overrides = Overrides::default();
        overrides.strategy = strategy;
        let Ok(plans) = scan_codegen::plan(&op.source(), &kind, &limits, &overrides) else { continue };
        planned += 1;
        for len in lengths() {
            let plan = plans.for_len(len);
            match plan.schedule(len) {
                Ok(schedule) => {
                    assert!(len <= plan.max_len, "{plan}: {len}");
                    assert!(!schedule.launches.is_empty(), "{plan}: {len}");
                    scheduled += 1;
                    for launch in &schedule.launches {
                        let blocks = 1..=limits.blocks_per_grid;
                        assert!(
                            blocks.contains(&u64::from(launch.blocks)),
                            "{plan}: {len} in {} blocks",
                            launch.blocks
                        );
                    }
                }
                Err(PlanError::TooLong { len: found, max_len }) => {
                    assert_eq!((found, max_len), (len, plan.max_len));
                    assert!(len > max_len, "{plan}: {len}");
                }
                Err(other) => panic!("{plan}: {len}: {other}"),
            }
        }
    }
    // Two devices, on each of which most strategies can be had.
    assert!(planned > strategies::all().count(), "{planned} plans");
    assert!(scheduled > 10 * planned, "{scheduled} schedules of {planned} plans");
}

#[test]
fn scans_of_every_length_have_launches_or_are_too_long() {
    schedules(&ops::sum::<u8>(), ScanSpec::inclusive());
    schedules(&ops::sum::<u64>(), ScanSpec::exclusive().with_initial_value().with_total());
    schedules(&Widest, ScanSpec::inclusive());
    schedules(&Widest, ScanSpec::inclusive().with_segments(Segments::HeadFlags));
}

#[test]
fn reductions_of_every_length_have_launches_or_are_too_long() {
    for op in [ops::sum::<u64>()] {
        let plan = Scanner::cpu().reduce(op).plan().unwrap();
        for len in lengths() {
            match plan.schedule(len) {
                Ok(schedule) => assert!(schedule.launches.iter().all(|launch| launch.blocks > 0)),
                Err(error) => assert!(matches!(error, PlanError::TooLong { .. }), "{len}: {error}"),
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_no_memory_holds_is_an_error() {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
    // Zeros that are promised and never there; their results would take more than all addresses.
    let len = 1 << 45;
    // SAFETY: the mapping is new, and nobody else's.
    let zeros = unsafe {
        mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::PRIVATE | MapFlags::NORESERVE).unwrap()
    };
    // SAFETY: zeros are numbers.
    let input = unsafe { std::slice::from_raw_parts(zeros.cast::<u8>(), len) };
    let error = Scanner::cpu().scan(Widest).run(input).err();
    assert!(matches!(error, Some(Error::OutOfHostMemory { .. })), "{error:?}");
    // SAFETY: nobody has it any more.
    unsafe { munmap(zeros, len).unwrap() };
}

#[test]
fn an_output_of_another_length_is_an_error_and_stays_as_it_was() {
    let scanner = Scanner::cpu();
    for len in [0, 2, 4] {
        let mut output = vec![7; len];
        let error = scanner.scan(ops::sum()).run_into(&[1, 2, 3], &mut output).err();
        assert!(
            matches!(error, Some(Error::Length { what: "output", expected: 3, found: output, .. }) if output == len),
            "{error:?}"
        );
        assert!(output.iter().all(|&x| x == 7));
    }
}

/// Both errors of inputs that are too long say how to scan them, and that gives the results of the whole: also where the last
/// result is no total, in exclusive scans and of stepped operators with an output of their own.
#[test]
fn parts_scanned_as_the_errors_advise_are_the_whole() {
    let too_large = Error::OutOfDeviceMemory { requested: 2, free: 1, total: 1 }.to_string();
    let too_long = PlanError::TooLong { len: 2, max_len: 1 }.to_string();
    for error in [too_large, too_long] {
        let advice = "in parts, each with the total of the previous part as initial value";
        assert!(error.ends_with(advice), "{error}");
    }
    fn check<Op: ScanOp + Clone>(scan: &Scan<Op>, input: &[Op::Input]) {
        let (mut scanned, mut before) = (Vec::new(), None);
        for part in input.chunks(7) {
            let scan = before.map_or(scan.clone(), |total| scan.clone().init(total));
            let (results, total) = scan.with_total().run(part).unwrap();
            scanned.extend(results);
            before = total;
        }
        assert_eq!(bits(&scanned), bits(&scan.run(input).unwrap()));
    }
    let (scanner, input) = (Scanner::cpu(), lifting::inputs(40));
    check(&scanner.scan(Appending), &input);
    check(&scanner.scan(Appending).exclusive(), &input);
    check(&scanner.scan(Coder), &input);
    check(&scanner.scan(Coder).exclusive(), &input);
    check(&scanner.scan(ops::max::<i32>()), &(0..40).map(|x| x * 7 % 11).collect::<Vec<_>>());
}

/// The driver is looked for before it is called: where there is none, or no device, that is an error and no panic.
#[test]
fn a_missing_driver_or_device_is_an_error() {
    let is_missing = |error: &Error| matches!(error, Error::NoDriver { .. } | Error::NoDevice { .. });
    let there = devices().unwrap_or_else(|error| {
        assert!(is_missing(&error), "{error}");
        Vec::new()
    });
    if there.is_empty() {
        let error = Scanner::cuda(0).unwrap_err();
        assert!(is_missing(&error), "{error}");
    }
}

const HOOK: &str = "SCAN_TESTS_SILENT_HOOK";

/// A process whose operator panics.
#[test]
fn child_whose_operator_panics() {
    let Ok(hook) = env::var(HOOK) else { return };
    if hook == "silent" {
        std::panic::set_hook(Box::new(|_| ()));
    }
    let error = Scanner::cpu().scan(Falling).run(&[3, 2, 5]).unwrap_err();
    println!("error: {error}");
}

#[derive(Clone, Copy)]
struct Falling;

#[scan_op]
impl ScanOp for Falling {
    type Element = i32;
    fn combine(a: i32, b: i32) -> i32 {
        assert!(a >= b);
        b
    }
}

/// As the guide has it: the panic's message comes beside the error, unless a hook keeps it.
#[test]
fn a_hook_silences_the_panic_of_an_operator() {
    for hook in ["silent", "that of Rust"] {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", "faults::child_whose_operator_panics", "--nocapture"]).env(HOOK, hook);
        let output = child.output().unwrap();
        let [printed, told] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(output.status.success(), "{printed}{told}");
        assert!(printed.contains("error: operator `Falling` panicked: assertion failed: a >= b"), "{printed}");
        assert_eq!(told.contains("assertion failed: a >= b"), hook != "silent", "{hook}: {told}");
    }
}
