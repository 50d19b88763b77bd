//! What each kind of call does on the device, on a machine without one: which functions of the driver it calls, with
//! what sizes and arguments. The driver is the [recorder](scan_tests::driver); each kind has a snapshot of its own.
//!
//! A snapshot has the calls of a kind in order, each below its heading: the first one, which makes what it needs, and
//! the same call again, which finds it made.

mod ahead_of_time;
mod axis;
mod background;
mod chunks;
mod columns;
mod device;
mod host;
mod kinds;
mod nothing;
mod prepared;
mod recorder;
mod refused;
mod sides;
mod spent;
mod streams;
mod tour;
mod with_initial;

use std::{env, process::ExitCode, thread};

use libtest_mimic::Arguments;
use scan_tests::driver;

fn main() -> ExitCode {
    if cfg!(not(target_os = "linux")) {
        println!("skipped: only the loader of Linux finds an open library by its name");
        return ExitCode::SUCCESS;
    }
    let library = background::library_of_child();
    // SAFETY: no other thread runs yet, and nothing has loaded the driver.
    let started = unsafe { driver::start() };
    // SAFETY: no other thread runs yet.
    if let Some(code) = unsafe { background::of_this_process(&started, library) } {
        return code;
    }
    // SAFETY: as above.
    unsafe { ahead_of_time::hide_compiler() };
    // The CPU's side of host memory works on the main thread.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    let alone = alone.map_err(|error| error.to_string());
    if let Err(message) = started.and(alone).and_then(|()| without_threads()) {
        eprintln!("error: {message}");
        return ExitCode::FAILURE;
    }
    let mut kinds = kinds::Kinds::default();
    host::add(&mut kinds);
    axis::add(&mut kinds);
    columns::add(&mut kinds);
    chunks::add(&mut kinds);
    device::add(&mut kinds);
    prepared::add(&mut kinds);
    with_initial::add(&mut kinds);
    nothing::add(&mut kinds);
    streams::add(&mut kinds);
    refused::add(&mut kinds);
    sides::add(&mut kinds);
    background::add(&mut kinds);
    tour::add(&mut kinds);
    recorder::add(&mut kinds);
    spent::add(&mut kinds);
    ahead_of_time::add(&mut kinds);
    // The recorder serves one thread.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, kinds.trials()).exit_code()
}

/// From now on no thread can begin: chunks of host memory are then worked on by one thread, in their order, and records
/// are the same in every run.
fn without_threads() -> Result<(), String> {
    const STACK: &str = "RUST_MIN_STACK";
    // SAFETY: no other thread runs yet.
    unsafe { env::set_var(STACK, (isize::MAX as usize).to_string()) };
    // The standard library reads the variable once, which is now.
    let started = thread::Builder::new().spawn(|| ());
    // Processes that this one starts want threads.
    // SAFETY: as above, unless a thread has begun, which does nothing.
    unsafe { env::remove_var(STACK) };
    if started.is_ok() { Err("a thread began in spite of a stack that no memory holds".to_owned()) } else { Ok(()) }
}
