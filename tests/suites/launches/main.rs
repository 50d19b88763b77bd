//! What each kind of call does on the device, on a machine without one: which functions of the driver it calls, with
//! what sizes and arguments. The driver is the [recorder](scan_tests::driver); each kind has a snapshot of its own.
//!
//! A snapshot has the calls of a kind in order, each below its heading: the first one, which makes what it needs, and
//! the same call again, which finds it made.

#[cfg(target_os = "linux")]
mod chunks;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod kinds;
#[cfg(target_os = "linux")]
mod prepared;
#[cfg(target_os = "linux")]
mod refused;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use libtest_mimic::Arguments;

    // SAFETY: no other thread runs yet, and nothing has loaded the driver.
    let started = unsafe { scan_tests::driver::start() };
    if let Err(message) = started {
        eprintln!("error: {message}");
        return std::process::ExitCode::FAILURE;
    }
    if let Err(message) = without_threads() {
        eprintln!("error: {message}");
        return std::process::ExitCode::FAILURE;
    }
    let mut kinds = kinds::Kinds::default();
    host::add(&mut kinds);
    chunks::add(&mut kinds);
    device::add(&mut kinds);
    prepared::add(&mut kinds);
    refused::add(&mut kinds);
    // The recorder serves one thread, and this one is.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, kinds.trials()).exit_code()
}

/// From now on no thread can begin: chunks of host memory are then worked on by one thread, in their order, and records
/// are the same in every run.
#[cfg(target_os = "linux")]
fn without_threads() -> Result<(), &'static str> {
    const STACK: &str = "RUST_MIN_STACK";
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var(STACK, (isize::MAX as usize).to_string()) };
    // The standard library reads the variable once, which is now.
    let started = std::thread::Builder::new().spawn(|| ());
    // Processes that this one starts want threads.
    // SAFETY: as above, unless a thread has begun, which does nothing.
    unsafe { std::env::remove_var(STACK) };
    if started.is_ok() { Err("a thread began in spite of a stack that no memory holds") } else { Ok(()) }
}
