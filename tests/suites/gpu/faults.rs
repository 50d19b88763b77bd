//! What can go wrong on a device while the program runs. What takes the device's context with it is tried in a process of its
//! own: this program again, told by a variable what to do.

use std::{
    env,
    process::{Command, ExitCode, ExitStatus},
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use scan_runtime::{
    DeviceBuffer, DeviceBufferMut, Error, PlanError, ScanOp, Scanner, Staging,
    cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DeviceSlice, SyncOnDrop, result, sys},
    ops, scan_element, scan_op,
};
use scan_tests::operators::{Interval, PolynomialHash, inputs};

use crate::{Outcome, Trials, devices, ensure};

/// Names the fault that this process is to suffer.
const FAULT: &str = "SCAN_TESTS_FAULT";
/// No fault takes longer, or something hangs.
const LONGEST: Duration = Duration::from_secs(60);
/// So long that there are many tiles.
const LEN: usize = 300_000;

/// Asserts what its inputs may break.
#[derive(Clone, Copy)]
struct Asserts;

#[scan_op]
impl ScanOp for Asserts {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        assert!(a < 1_000_000_000 && b < 1_000_000_000);
        a + b
    }
}

/// Divides by what its user chose.
#[scan_element]
#[derive(Clone, Copy)]
struct Divides {
    by: u32,
}

#[scan_op]
impl ScanOp for Divides {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(&self, a: u32, b: u32) -> u32 {
        (a + b) % self.by
    }
}

/// Composes mappings of four numbers to themselves, if that is what they are.
#[derive(Clone, Copy)]
struct Indexes;

#[scan_op]
impl ScanOp for Indexes {
    type Element = [u8; 4];
    const IDENTITY: [u8; 4] = [0, 1, 2, 3];
    fn combine(a: [u8; 4], b: [u8; 4]) -> [u8; 4] {
        [b[a[0] as usize], b[a[1] as usize], b[a[2] as usize], b[a[3] as usize]]
    }
}

/// An operator that panics, and what makes it.
pub(crate) trait Panics: ScanOp<Input = Self::Item, Output = Self::Item> + Copy {
    type Item: Copy + PartialEq + std::fmt::Debug;
    const NAME: &'static str;
    fn well() -> (Self, Vec<Self::Item>);
    fn badly() -> (Self, Vec<Self::Item>);
}

impl Panics for Asserts {
    type Item = u32;
    const NAME: &'static str = "Asserts";
    fn well() -> (Self, Vec<u32>) {
        (Asserts, vec![1; LEN])
    }
    fn badly() -> (Self, Vec<u32>) {
        (Asserts, (0..LEN).map(|i| if i == LEN / 2 { 2_000_000_000 } else { 1 }).collect())
    }
}

impl Panics for Divides {
    type Item = u32;
    const NAME: &'static str = "Divides";
    fn well() -> (Self, Vec<u32>) {
        (Divides { by: 1000 }, vec![7; LEN])
    }
    fn badly() -> (Self, Vec<u32>) {
        (Divides { by: 0 }, vec![7; LEN])
    }
}

impl Panics for Indexes {
    type Item = [u8; 4];
    const NAME: &'static str = "Indexes";
    fn well() -> (Self, Vec<[u8; 4]>) {
        (Indexes, vec![[1, 2, 3, 0]; LEN])
    }
    fn badly() -> (Self, Vec<[u8; 4]>) {
        (Indexes, (0..LEN).map(|i| if i == LEN - 2 { [1, 2, 3, 4] } else { [1, 2, 3, 0] }).collect())
    }
}

/// A fault's name, and how it is suffered.
type Fault = (&'static str, fn() -> Outcome);

/// Those that a process does not survive.
const FATAL: [Fault; 8] = [
    ("assertion", || from_host::<Asserts>()),
    ("division_by_zero", || from_host::<Divides>()),
    ("index_past_the_end", || from_host::<Indexes>()),
    ("assertion_of_a_small_scan", of_a_small_scan),
    ("assertion_on_a_stream", on_a_stream),
    ("assertion_of_a_reduction", of_a_reduction),
    ("assertion_beside_another_thread", beside_another_thread),
    ("kernel_outside_the_library", fault_outside_the_library),
];

/// Those of one of two devices, which that device does not survive.
const OF_TWO_DEVICES: [Fault; 2] = [
    ("the_first_of_two_is_lost", || devices::one_is_lost::<Asserts>(0)),
    ("the_second_of_two_is_lost", || devices::one_is_lost::<Divides>(1)),
];

pub(crate) fn add(trials: &mut Trials) {
    for (name, _) in FATAL {
        trials.add(format!("fault_{name}"), move || in_a_process(name));
    }
    trials.add_alone("alone_fault_out_of_memory_in_the_middle", out_of_memory);
    trials.add("fault_lengths_that_overflow", lengths_that_overflow);
    trials.add("fault_handles_dropped_in_flight", dropped_in_flight);
    trials.add("fault_stream_destroyed_early", stream_destroyed_early);
}

/// What this process is to suffer, if that is what it was started for.
pub(crate) fn of_this_process() -> Option<ExitCode> {
    let name = env::var(FAULT).ok()?;
    let fault = FATAL.into_iter().chain(OF_TWO_DEVICES).find(|(known, _)| *known == name);
    Some(match fault.map(|(_, fault)| fault()) {
        Some(Ok(())) => ExitCode::SUCCESS,
        outcome => {
            println!("{outcome:?}");
            ExitCode::FAILURE
        }
    })
}

/// The process's end, and what it has written.
fn process(name: &str) -> Result<(ExitStatus, String), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let mut child = Command::new(env::current_exe()?)
        .env(FAULT, name)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()?;
    while child.try_wait()?.is_none() {
        if start.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            return Err("it hangs".into());
        }
        thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output()?;
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    Ok((output.status, text))
}

pub(crate) fn in_a_process(name: &str) -> Outcome {
    // Other processes may have all of the device's memory for a while, so that there is no room for one more context.
    let is_out_of_memory = |text: &str| text.contains("creating the context") && text.contains("OUT_OF_MEMORY");
    let start = Instant::now();
    let (status, text) = loop {
        let (status, text) = process(name)?;
        if status.success() || !is_out_of_memory(&text) || start.elapsed() > LONGEST {
            break (status, text);
        }
        thread::sleep(Duration::from_secs(1));
    };
    for fact in text.lines().filter(|line| line.starts_with("fact:")) {
        println!("{name}: {fact}");
    }
    ensure(status.success(), || format!("{status}: {text}"))
}

/// The error names this operator, and says what to do.
pub(crate) fn blames<T>(outcome: Result<T, Error>, name: &str) -> Outcome {
    let error = outcome.err();
    let named = matches!(&error, Some(Error::KernelTrapped { operator, .. }) if operator == name);
    let says = error.as_ref().is_some_and(|error| error.to_string().contains("contents are lost"));
    ensure(named && says, || format!("it should blame {name}: {error:?}"))
}

/// Everything on this device blames the operator now, and nothing hangs. What comes after says what to do.
fn is_lost(scanner: Scanner, name: &str) -> Outcome {
    blames(scanner.check(), name)?;
    blames(scanner.scan(ops::sum()).run(&[1, 2, 3]), name)?;
    blames(scanner.scan(ops::sum()).run(&vec![1; LEN]), name)?;
    blames(scanner.reduce(ops::max()).run(&[1, 2, 3]), name)?;
    blames(Scanner::cuda(0), name)?;
    ensure(Scanner::cpu().scan(ops::sum()).run(&[1, 2])? == [1, 3], || "the CPU".to_owned())?;
    drop(scanner);
    // Nobody holds the context any more. Driver 580 gives the process no other one all the same, neither after a reset of the
    // primary context nor beside it. Where a driver does, a new scanner works.
    match Scanner::cuda(0).and_then(|scanner| scanner.scan(ops::sum()).run(&[1, 2, 3])) {
        Ok(sums) => {
            println!("fact: after everything has been dropped, a new scanner works");
            ensure(sums == [1, 3, 6], || format!("a new scanner is wrong: {sums:?}"))?;
        }
        Err(error) => {
            let is_lost = matches!(error, Error::ContextLost { .. } | Error::KernelTrapped { .. });
            ensure(is_lost && error.to_string().contains("start a new process"), || format!("{error:?}"))?;
        }
    }
    // What takes a GPU where one is usable works in any case.
    let sums = Scanner::new()?.scan(ops::sum()).run(&[1, 2, 3])?;
    ensure(sums == [1, 3, 6], || format!("the scanner that one gets is wrong: {sums:?}"))
}

fn from_host<Op: Panics>() -> Outcome
where
    Op::Item: scan_runtime::ScanElement,
{
    let scanner = Scanner::cuda(0)?;
    let (op, input) = Op::well();
    let expected = Scanner::cpu().scan(op).run(&input)?;
    ensure(scanner.scan(op).run(&input)? == expected, || "without a fault".to_owned())?;
    let (op, input) = Op::badly();
    let mut buffer = input.clone();
    let outcome = scanner.scan(op).run_in_place(&mut buffer);
    println!("fact: {}", outcome.as_ref().err().map(ToString::to_string).unwrap_or_default());
    blames(outcome, Op::NAME)?;
    ensure(buffer == input, || "the buffer was touched".to_owned())?;
    is_lost(scanner, Op::NAME)
}

fn of_a_small_scan() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let input = [1, 2_000_000_000, 1];
    let mut output = [7; 3];
    blames(scanner.scan(Asserts).run_into(&input, &mut output), "Asserts")?;
    ensure(output == [7; 3], || "the output was touched".to_owned())?;
    is_lost(scanner, "Asserts")
}

fn on_a_stream() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let context = scanner.context().ok_or("no context")?.clone();
    let stream = context.new_stream()?;
    let mut buffer = stream.clone_htod(&Asserts::badly().1)?;
    // Enqueued; the fault comes later.
    scanner.scan(Asserts).on(&stream).run_in_place(&mut buffer)?;
    let at_the_driver = stream.synchronize();
    println!("fact: the user's synchronize says {at_the_driver:?}");
    ensure(at_the_driver.is_err(), || "the stream says nothing".to_owned())?;
    blames(scanner.scan(ops::sum()).on(&stream).run_in_place(&mut buffer), "Asserts")?;
    blames(scanner.scan(ops::sum::<u32>()).on(&stream).run(&buffer), "Asserts")?;
    blames(scanner.reduce(ops::max::<u32>()).on(&stream).run(&buffer), "Asserts")?;
    drop((buffer, stream, context));
    is_lost(scanner, "Asserts")
}

fn of_a_reduction() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    blames(scanner.reduce(Asserts).run(&Asserts::badly().1), "Asserts")?;
    is_lost(scanner, "Asserts")
}

fn beside_another_thread() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let other = scanner.clone();
    let barrier = Barrier::new(2);
    let input = vec![1_u32; 4 << 20];
    thread::scope(|scope| {
        let beside = scope.spawn(|| {
            barrier.wait();
            loop {
                // Right, until the context is lost.
                match other.scan(ops::sum()).run(&input) {
                    Ok(sums) if sums.last() == Some(&(4 << 20)) => (),
                    Ok(_) => return Err("a wrong result".to_owned()),
                    error => return blames(error, "Asserts").map_err(|error| error.to_string()),
                }
            }
        });
        barrier.wait();
        thread::sleep(Duration::from_millis(50));
        blames(scanner.scan(Asserts).run(&Asserts::badly().1), "Asserts")?;
        Ok(beside.join().map_err(|_| "a panic")??)
    })
}

/// A context that another part of the program has brought down is lost, but no operator's fault.
fn fault_outside_the_library() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    ensure(scanner.scan(Asserts).run(&[1, 2])? == [1, 3], || "without a fault".to_owned())?;
    let stream = scanner.context().ok_or("no context")?.default_stream();
    let source = kernel_that_faults()?;
    let module = scanner.context().ok_or("no context")?.load_module(source)?;
    let function = module.load_function("fault")?;
    // SAFETY: the kernel takes no arguments; that it faults is the point.
    unsafe {
        result::launch_kernel(function.cu_function(), (1, 1, 1), (1, 1, 1), 0, stream.cu_stream(), &mut [])?;
    }
    let outcome = scanner.scan(Asserts).run(&[1, 2]);
    // Found at any call from now on, at the latest at this one.
    let error = outcome.err().or_else(|| scanner.check().err());
    println!("fact: {}", error.as_ref().map(ToString::to_string).unwrap_or_default());
    ensure(matches!(&error, Some(Error::ContextLost { .. })), || format!("{error:?}"))
}

fn kernel_that_faults() -> Result<scan_runtime::cudarc::nvrtc::Ptx, Box<dyn std::error::Error>> {
    const TEXT: &str = "extern \"C\" __global__ void fault() { *reinterpret_cast<volatile int*>(8) = 1; }";
    scan_runtime::nvrtc::version()?; // finds the library
    Ok(scan_runtime::cudarc::nvrtc::compile_ptx(TEXT)?)
}

/// Takes the device's memory away, but for a little.
fn out_of_memory() -> Outcome {
    const MIB: usize = 1 << 20;
    let in_one_piece = Staging::default().with_kept_bytes(u64::MAX).with_chunk_bytes(usize::MAX);
    let scanner = Scanner::builder().device(0).staging(in_one_piece).build()?;
    let context = scanner.context().ok_or("no context")?;
    let input: Vec<u64> = (0..32 * MIB as u64).collect();
    let scan = scanner.scan(ops::sum::<u64>());
    let expected = scan.run(&input)?; // and its memory is kept
    let stream = context.new_stream()?;
    let mut taken: Vec<CudaSlice<u8>> = Vec::new();
    for bytes in [4096 * MIB, 512 * MIB, 64 * MIB] {
        // SAFETY: nobody reads it.
        while let Ok(slice) = unsafe { stream.alloc(bytes) } {
            taken.push(slice);
        }
    }
    stream.synchronize()?;
    // What was kept is still good, whoever else has the rest.
    ensure(scan.run(&input)? == expected, || "with memory that was kept".to_owned())?;
    // And is given to whoever needs it more.
    // SAFETY: all of its bytes are numbers.
    let device_input = unsafe { taken[0].transmute::<u64>(16 * MIB) }.ok_or("too short")?;
    let beside = scan.on(&stream).run(&device_input);
    ensure(beside.is_ok(), || format!("a device slice while a call's memory is kept: {:?}", beside.as_ref().err()))?;
    drop(beside);
    let more: Vec<u64> = (0..128 * MIB as u64).collect();
    let error = scan.run(&more).err();
    ensure(matches!(error, Some(Error::OutOfDeviceMemory { requested, .. }) if requested >= 1 << 30), || {
        format!("{error:?}")
    })?;
    // In chunks it needs little.
    let mut sums = more.clone();
    Scanner::cuda(0)?.scan(ops::sum::<u64>()).run_in_place(&mut sums)?;
    ensure(sums.last() == Some(&more.iter().sum()), || "in chunks".to_owned())?;
    let max = Unreal { stream: stream.clone(), len: 512 * MIB };
    let error = scan.on(&stream).run(&max).err();
    ensure(matches!(error, Some(Error::OutOfDeviceMemory { .. })), || format!("{error:?}"))?;
    ensure(scan.run(&[1, 2, 3])? == [1, 3, 6], || "a small scan without memory".to_owned())?;
    drop(taken);
    stream.synchronize()?;
    ensure(scan.run(&more)?.last() == Some(&more.iter().sum()), || "with memory again".to_owned())
}

/// A slice that says how long it is, and that nobody reads.
struct Unreal {
    stream: std::sync::Arc<CudaStream>,
    len: usize,
}

impl<T> DeviceSlice<T> for Unreal {
    fn len(&self) -> usize {
        self.len
    }
    fn stream(&self) -> &std::sync::Arc<CudaStream> {
        &self.stream
    }
}

impl<T> DevicePtr<T> for Unreal {
    fn device_ptr<'a>(&'a self, _: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (0x1000, SyncOnDrop::Sync(None))
    }
}

// SAFETY: it is not: the lengths are such that every call is refused before anything is read or written.
unsafe impl<T> DeviceBuffer<T> for Unreal {}
// SAFETY: as above.
unsafe impl<T> DeviceBufferMut<T> for Unreal {}

impl<T> scan_runtime::cudarc::driver::DevicePtrMut<T> for Unreal {
    fn device_ptr_mut<'a>(&'a mut self, _: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (0x1000, SyncOnDrop::Sync(None))
    }
}

fn lengths_that_overflow() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let unreal = |len| Unreal { stream: stream.clone(), len };
    for len in [usize::MAX, usize::MAX / 2, usize::MAX / 8 + 1, 1 << 60] {
        let error = scanner.scan(ops::sum::<u64>()).on(&stream).run(&unreal(len)).err();
        ensure(matches!(error, Some(Error::OutOfDeviceMemory { .. })), || format!("{len}: {error:?}"))?;
        let error = scanner.scan(ops::sum::<u64>()).on(&stream).run_in_place(&mut unreal(len)).err();
        let refused = matches!(error, Some(Error::Plan(PlanError::TooLong { .. }) | Error::OutOfDeviceMemory { .. }));
        ensure(refused, || format!("in place, {len}: {error:?}"))?;
        let error = scanner.reduce(ops::sum::<u64>()).on(&stream).run(&unreal(len)).err();
        let refused = matches!(error, Some(Error::Plan(PlanError::TooLong { .. }) | Error::OutOfDeviceMemory { .. }));
        ensure(refused, || format!("a reduction, {len}: {error:?}"))?;
    }
    ensure(scanner.scan(ops::sum()).run(&[1, 2])? == [1, 3], || "afterwards".to_owned())
}

fn dropped_in_flight() -> Outcome {
    let input = inputs::<PolynomialHash>(3_000_000);
    let expected = Scanner::cpu().scan(PolynomialHash).run(&input)?;
    for _ in 0..10 {
        let scanner = Scanner::cuda(0)?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let input = stream.clone_htod(&input)?;
        let mut output = scanner.scan(PolynomialHash).on(&stream).run(&input)?;
        for _ in 0..5 {
            output = scanner.scan(PolynomialHash).on(&stream).run(&input)?;
        }
        // Modules, workspaces, the scanner's own stream; the slices hold the user's.
        drop((input, scanner, stream));
        let reader = output.stream().clone();
        ensure(reader.clone_dtoh(&output)? == expected, || "the scan did not finish".to_owned())?;
    }
    Ok(())
}

fn stream_destroyed_early() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let context = scanner.context().ok_or("no context")?;
    let input = inputs::<Interval>(200_000);
    let expected = Scanner::cpu().scan(Interval).run(&input)?;
    for len in [200_000, 1000, 150_000, 70_000, 200_000].repeat(6) {
        // A new stream often gets the handle of the one before.
        let stream = context.new_stream()?;
        let device_input = stream.clone_htod(&input[..len])?;
        let output = scanner.scan(Interval).on(&stream).run(&device_input)?;
        drop(stream);
        let other = context.new_stream()?;
        let again = scanner.scan(Interval).on(&other).run(&device_input)?;
        drop(device_input);
        ensure(other.clone_dtoh(&output)? == expected[..len], || format!("{len}: the first stream's"))?;
        ensure(other.clone_dtoh(&again)? == expected[..len], || format!("{len}: the second stream's"))?;
    }
    Ok(())
}
