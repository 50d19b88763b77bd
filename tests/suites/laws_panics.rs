//! What is told of panics where laws are checked: nothing of those of the check's own trials, everything of all others.
//!
//! Panic hooks are the process's, so each case is a process of its own: this program again, told by a variable what to do.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::{
    env, panic,
    process::Command,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::channel,
    },
    thread,
};

use scan_runtime::{laws, scan_op};

const CHILD: &str = "SCAN_TESTS_LAWS_PANICS";

/// Overflows in a debug build; its panic says so in any.
#[scan_op(identity = 0)]
fn careful(a: u32, b: u32) -> u32 {
    assert!(a < 1000, "too much");
    assert!(b < 1000, "too much");
    a + b
}

/// Runs a check that fails by a panic.
fn check() {
    let failure = laws::check(&careful, [1, 2, 999]).unwrap_err();
    assert!(matches!(&failure, laws::Failure::Panicked { message, .. } if message == "too much"), "{failure}");
}

fn set_hook(name: &'static str) {
    panic::set_hook(Box::new(move |info| {
        let payload = info.payload();
        let message = payload.downcast_ref::<&str>().map(|message| (*message).to_owned());
        let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
        eprintln!("[{name}: {}]", message.unwrap_or_default());
    }));
}

/// Panics on purpose, and goes on.
fn panics(message: &'static str) {
    let panicked = panic::catch_unwind(|| panic!("{message}"));
    assert!(panicked.is_err());
}

/// Does this test's part in a process of its own, and gives what that prints to its error output.
fn in_child(test: &str, part: fn()) -> Option<String> {
    if env::var_os(CHILD).is_some() {
        part();
        return None;
    }
    let mut child = Command::new(env::current_exe().unwrap());
    let output = child.args([test, "--exact", "--nocapture"]).env(CHILD, "1").env("RUST_BACKTRACE", "1").output();
    let output = output.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
    Some(err.into_owned())
}

#[test]
fn a_check_prints_nothing_of_its_trials() {
    let told = in_child("a_check_prints_nothing_of_its_trials", || {
        check();
        check();
    });
    assert_eq!(told.unwrap_or_default(), "");
}

#[test]
fn panics_outside_a_check_reach_the_previous_hook() {
    let told = in_child("panics_outside_a_check_reach_the_previous_hook", || {
        set_hook("before");
        panics("first");
        check();
        panics("second");
        check();
        panics("third");
    });
    if let Some(told) = told {
        assert_eq!(told, "[before: first]\n[before: second]\n[before: third]\n");
    }
}

#[test]
fn a_hook_set_after_a_check_stays() {
    let told = in_child("a_hook_set_after_a_check_stays", || {
        check();
        set_hook("later");
        panics("first");
        check();
        panics("second");
    });
    if let Some(told) = told {
        assert!(told.starts_with("[later: first]\n") && told.ends_with("[later: second]\n"), "{told}");
    }
}

#[test]
fn a_hook_that_calls_the_previous_one_prints_nothing_of_trials() {
    let told = in_child("a_hook_that_calls_the_previous_one_prints_nothing_of_trials", || {
        set_hook("before");
        check();
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| before(info)));
        check();
        panics("mine");
    });
    if let Some(told) = told {
        assert_eq!(told, "[before: mine]\n");
    }
}

/// Panics of another thread are told while a check is under way.
#[scan_op(identity = 0)]
fn patient(a: u32, b: u32) -> u32 {
    assert!(a < 1000, "too much");
    a + b
}

#[test]
fn panics_of_other_threads_are_printed_during_a_check() {
    let told = in_child("panics_of_other_threads_are_printed_during_a_check", || {
        static ENDS: AtomicBool = AtomicBool::new(false);
        set_hook("before");
        let (begun, has_begun) = channel();
        let checks = thread::spawn(move || {
            while !ENDS.load(Ordering::Relaxed) {
                assert!(laws::check(&patient, [1, 2, 999]).is_err());
                let _ = begun.send(());
            }
        });
        has_begun.recv().unwrap();
        for _ in 0..1000 {
            panics("mine");
        }
        ENDS.store(true, Ordering::Relaxed);
        checks.join().unwrap();
    });
    if let Some(told) = told {
        assert_eq!(told.matches("[before: mine]\n").count(), 1000, "{told}");
        assert_eq!(told.lines().count(), 1000, "{told}");
    }
}
