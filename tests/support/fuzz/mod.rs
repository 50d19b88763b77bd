//! Fuzzers: random cases for the planner, the disk cache and the CPU backend, and random programs for the macro.
//!
//! ```console
//! $ cargo run -p scan-tools --bin fuzz -- plans --seconds 600
//! $ cargo run -p scan-tools --bin fuzz -- plans --only 4711      # one case
//! ```
//!
//! Builds for debugging check arithmetic, so that they are the ones to run.
//!
//! A case is made of the seed that is its number, by a generator that is written for what it tests. So the same numbers give
//! the same cases on every machine, and a run needs `cargo` alone. Coverage-guided engines mutate bytes; what is tested here
//! is made of a few numbers, of which the odd ones are known: the generators draw those often. A case that has been a finding
//! becomes a test of its own, because its number means another case once the generator is changed.

pub mod cpu;
pub mod disk_cache;
pub mod edge;
pub mod plans;

use std::{
    any::Any,
    cell::RefCell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
    time::{Duration, Instant},
};

use crate::emulated::Random;

/// What a run has found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Cases that ran.
    pub executions: u64,
    /// Those of them that came to the end of what is checked, and were not refused with an error.
    pub accepted: u64,
    /// Cases that failed.
    pub findings: Vec<Finding>,
}

/// A case that failed.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its number.
    pub case: u64,
    /// What is wrong, and what the case is made of.
    pub message: String,
}

/// When a run ends: after so many cases, or after some time.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After so many cases.
    Cases(u64),
    /// After so long.
    Time(Duration),
}

/// The longest that a case may take in a run that lasts for some time. A slow one is a finding there. A run of some
/// cases, as a test has it, asks for no time: the machine may be busy.
const LONGEST: Duration = Duration::from_secs(10);

/// Findings after which a run ends.
const MAX_FINDINGS: usize = 20;

/// Runs cases from a number on. Each gives whether it was accepted, or what is wrong; a panic is a finding.
pub fn run(from: u64, until: Until, case: impl Fn(u64) -> Result<bool, String>) -> Report {
    let start = Instant::now();
    let mut report = Report::default();
    for number in from.. {
        let over = match until {
            Until::Cases(count) => report.executions >= count,
            Until::Time(time) => start.elapsed() >= time,
        };
        if over || report.findings.len() >= MAX_FINDINGS {
            break;
        }
        report.executions += 1;
        let began = Instant::now();
        let outcome = caught(|| case(number)).unwrap_or_else(Err);
        let took = began.elapsed();
        let is_slow = took > LONGEST && matches!(until, Until::Time(_));
        let outcome = if is_slow { outcome.and(Err(format!("it took {took:?}"))) } else { outcome };
        match outcome {
            Ok(accepted) => report.accepted += u64::from(accepted),
            Err(message) => report.findings.push(Finding { case: number, message }),
        }
    }
    report
}

thread_local! {
    /// The message of the last panic that was silenced, with its place; `None` where panics are shown.
    static SILENCED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs something whose panic is an error, with its message and place, and not shown.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let shown = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let unlucky = panic.payload().downcast_ref::<&str>() == Some(&cpu::UNLUCKY);
            let silenced = unlucky
                || SILENCED.with_borrow_mut(|last| match last {
                    Some(last) => {
                        *last = panic.to_string();
                        true
                    }
                    None => false,
                });
            if !silenced {
                shown(panic);
            }
        }));
    });
    let outer = SILENCED.replace(Some(String::new()));
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    let message = SILENCED.replace(outer).unwrap_or_default();
    result.map_err(|payload: Box<dyn Any + Send>| {
        drop(payload);
        message
    })
}

/// The generator of a case.
pub(crate) fn of_case(number: u64) -> Random {
    // Neighbouring seeds of the generator itself give sequences that overlap.
    Random::new(Random::new(number).bits())
}

/// A number for which something might not be made: often a usual one, else one at an edge, or any.
pub(crate) fn odd(random: &mut Random, usual: &[u64], max: u64) -> u64 {
    match random.below(8) {
        0..5 => usual[random.below(usual.len())].min(max),
        5 => {
            let power = 1_u64 << random.below(64);
            let near = [power.wrapping_sub(1), power, power.wrapping_add(1)][random.below(3)];
            near.min(max)
        }
        6 => [0, 1, max, max - 1][random.below(4)],
        _ => (random.bits() >> random.below(64)).min(max),
    }
}
