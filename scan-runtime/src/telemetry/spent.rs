//! What the calls in a closure allocated, copied, launched and compiled, counted on the thread that makes them.
//!
//! Each event has a function here, which is called at the place where the event happens. It tests one thread-local
//! value, and counts only within [`spent`].

use std::{
    cell::Cell,
    fmt,
    ops::AddAssign,
    time::{Duration, Instant},
};

/// What the calls in a closure took, from [`spent`]. Its one line of text leaves out what is zero.
///
/// These are counts of what the library asked for. They are not the maximum that was in use at once, and memory that
/// was freed again is counted, too.
///
/// # What is not counted
///
/// - What the operator, `lift` or `project` allocate, and what else the closure does. It is in
///   [`time`](Spent::time) only.
/// - What other threads do at the same time, unless they work for a call of this thread. Kernels that are compiled in
///   the background are not for a call: no call waits for them. A thread that waits for
///   another one to compile the same kernels counts nothing but the time.
/// - In host memory: lists of segments and chunks, the states and results that the CPU's loops hold on the way, sources
///   and machine code.
/// - What the driver allocates and copies to load machine code.
/// - Launches of a CUDA graph by the closure. What a call enqueues while a stream is captured is counted then, once.
/// - Copies and clearing within device memory, and the work of the kernels themselves: a call on a stream returns
///   before they end. Synchronize the stream in the closure to have their time in [`time`](Spent::time).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spent {
    /// Wall time from the beginning of the closure to its end.
    pub time: Duration,
    /// Wall time of loading NVRTC and in it. Compilations that run in parallel are added up, so it may exceed
    /// [`time`](Spent::time).
    pub compiling: Duration,
    /// Modules that NVRTC compiled. A module has the kernels of one plan. Those from the [disk](crate::DiskCache), from
    /// [bundles](crate::aot) and of earlier calls are not compiled.
    pub compiled: u64,
    /// Bytes of device memory that were allocated: for results, workspaces, copies of host memory, tables.
    pub device_bytes: u64,
    /// Bytes of host memory that were allocated: for results, for elements on their way to their places, and
    /// page-locked memory for copies.
    pub host_bytes: u64,
    /// Bytes that were copied from host to device memory or back. Short slices, which kernels read and write in host
    /// memory ([`Staging::with_mapped_bytes`](crate::Staging::with_mapped_bytes)), are not copied to the device.
    pub copied_bytes: u64,
    /// Kernels that were launched.
    pub launches: u64,
}

/// Calls a function, and says what its calls of this library allocated, copied, launched and compiled, and how long it
/// took. No subscriber is needed. [`Spent`] says what is not counted.
///
/// Calls nest: what the inner one counts, the outer one counts as well. Outside of it, counting costs next to nothing.
///
/// ```
/// use scan_runtime::{Scanner, ops, telemetry::spent};
///
/// let (scanner, x) = (Scanner::cpu(), [1_u32, 2, 3]);
/// let scan = scanner.scan(ops::sum());
/// let (sums, of_new) = spent(|| scan.run(&x));
/// assert_eq!((sums?, of_new.host_bytes), (vec![1, 3, 6], 12));
/// println!("{of_new}"); // 1.2 µs; 12 bytes allocated on the host
///
/// let mut sums = [0; 3];
/// let (done, of_given) = spent(|| scan.run_into(&x, &mut sums));
/// done?;
/// assert_eq!(of_given.host_bytes, 0);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
pub fn spent<T>(work: impl FnOnce() -> T) -> (T, Spent) {
    let (counting, start) = (Counting::begin(), Instant::now());
    let result = work();
    let spent = Spent { time: start.elapsed(), ..counting.so_far() };
    (result, spent)
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spent { compiling, compiled, device_bytes, host_bytes, copied_bytes, launches, .. } = *self;
        let each = |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
        write!(f, "{}", time(self.time))?;
        match (compiled, compiling) {
            (0, Duration::ZERO) => {}
            (0, _) => write!(f, "; {} in the compiler", time(compiling))?,
            _ => write!(f, "; {} compiled in {}", each(compiled, "module", "modules"), time(compiling))?,
        }
        match (device_bytes, host_bytes) {
            (0, 0) => {}
            (device, 0) => write!(f, "; {} allocated on the device", bytes(device))?,
            (0, host) => write!(f, "; {} allocated on the host", bytes(host))?,
            (device, host) => write!(f, "; {} allocated on the device, {} on the host", bytes(device), bytes(host))?,
        }
        if copied_bytes > 0 {
            write!(f, "; {} copied", bytes(copied_bytes))?;
        }
        if launches > 0 {
            write!(f, "; {}", each(launches, "launch", "launches"))?;
        }
        Ok(())
    }
}

fn time(time: Duration) -> String {
    let nanoseconds = time.as_nanos() as f64;
    match time.as_nanos() {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => rounded(nanoseconds / 1e3, "µs"),
        1_000_000..1_000_000_000 => rounded(nanoseconds / 1e6, "ms"),
        _ => rounded(nanoseconds / 1e9, "s"),
    }
}

fn bytes(bytes: u64) -> String {
    let of = |shift: u32| bytes as f64 / (1_u64 << shift) as f64;
    match bytes {
        1 => "1 byte".to_owned(),
        0..0x400 => format!("{bytes} bytes"),
        0x400..0x10_0000 => rounded(of(10), "KiB"),
        0x10_0000..0x4000_0000 => rounded(of(20), "MiB"),
        _ => rounded(of(30), "GiB"),
    }
}

/// A number with one decimal, unless that is zero.
fn rounded(number: f64, unit: &str) -> String {
    format!("{} {unit}", (number * 10.0).round() / 10.0)
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.time += other.time;
        self.compiling += other.compiling;
        self.compiled += other.compiled;
        self.device_bytes += other.device_bytes;
        self.host_bytes += other.host_bytes;
        self.copied_bytes += other.copied_bytes;
        self.launches += other.launches;
    }
}

thread_local! {
    /// What this thread has counted since the innermost [`Counting`] began; `None` outside of them.
    static COUNTED: Cell<Option<Spent>> = const { Cell::new(None) };
}

#[inline]
fn count(add: impl FnOnce(&mut Spent)) {
    if let Some(mut counted) = COUNTED.get() {
        add(&mut counted);
        COUNTED.set(Some(counted));
    }
}

/// Adds what another thread has counted for this one.
pub(super) fn add(counted: Spent) {
    count(|spent| *spent += counted);
}

/// Counts the events of this thread as long as it lives. The one around it then counts them as well.
pub(super) struct Counting {
    outer: Option<Spent>,
}

impl Counting {
    pub(super) fn begin() -> Self {
        Counting { outer: COUNTED.replace(Some(Spent::default())) }
    }

    /// Whether this thread counts.
    pub(super) fn is_active() -> bool {
        COUNTED.get().is_some()
    }

    fn so_far(&self) -> Spent {
        COUNTED.get().unwrap_or_default()
    }

    /// What has been counted, which does not count here any more.
    pub(super) fn take(&self) -> Spent {
        COUNTED.replace(Some(Spent::default())).unwrap_or_default()
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let counted = self.so_far();
        COUNTED.set(self.outer);
        add(counted);
    }
}

pub(crate) fn allocated_on_device(bytes: u64) {
    count(|spent| spent.device_bytes += bytes);
}

#[inline]
pub(crate) fn allocated_on_host(bytes: usize) {
    count(|spent| spent.host_bytes += bytes as u64);
}

/// Counts a copy from host to device memory, or back.
pub(crate) fn copied(bytes: usize) {
    count(|spent| spent.copied_bytes += bytes as u64);
}

pub(crate) fn launched() {
    count(|spent| spent.launches += 1);
}

/// Counts a module that has been compiled.
pub(crate) fn compiled() {
    count(|spent| spent.compiled += 1);
}

/// Counts the time until it is dropped as time in the compiler.
#[must_use = "the time ends when this is dropped"]
pub(crate) struct Compiling(Instant);

pub(crate) fn compiling() -> Compiling {
    Compiling(Instant::now())
}

impl Drop for Compiling {
    fn drop(&mut self) {
        count(|spent| spent.compiling += self.0.elapsed());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        thread,
    };

    use super::*;
    use crate::{Error, Scanner, ops, telemetry::Caller};

    /// Without the time.
    fn counted<T>(work: impl FnOnce() -> Result<T, Error>) -> Spent {
        let (result, spent) = spent(work);
        result.map(drop).unwrap();
        assert!(spent.time > Duration::ZERO);
        Spent { time: Duration::ZERO, ..spent }
    }

    fn of_host(host_bytes: u64) -> Spent {
        Spent { host_bytes, ..Spent::default() }
    }

    #[test]
    fn new_results_on_the_cpu_are_allocated_and_given_ones_are_not() {
        let scanner = Scanner::cpu();
        let (sums, x) = (scanner.scan(ops::sum::<u64>()), vec![1; 10_000]);
        assert_eq!(counted(|| sums.run(&x)), of_host(80_000));
        assert_eq!(counted(|| sums.with_total().run(&x)), of_host(80_000));
        assert_eq!(counted(|| sums.rows(10).with_totals().run(&x)), of_host(80_000 + 8_000));
        assert_eq!(counted(|| sums.run(&x[..0])), of_host(0));
        assert_eq!(counted(|| sums.run_into(&x, &mut vec![0; 10_000])), of_host(0));
        assert_eq!(counted(|| sums.run_in_place(&mut x.clone())), of_host(0));
        assert_eq!(counted(|| scanner.reduce(ops::sum()).run(&x)), of_host(0));
        assert_eq!(counted(|| scanner.reduce(ops::sum()).rows(100).run(&x)), of_host(800));
    }

    #[test]
    fn what_is_within_another_is_counted_in_both() {
        let (inner, outer) = spent(|| {
            allocated_on_host(1);
            let ((), inner) = spent(|| allocated_on_host(20));
            allocated_on_host(300);
            inner
        });
        assert_eq!((inner.host_bytes, outer.host_bytes), (20, 321));
        assert!(inner.time <= outer.time);
        allocated_on_host(4_000);
        assert_eq!(COUNTED.get(), None);
    }

    #[test]
    fn a_panic_ends_the_counting_of_the_closure_alone() {
        let ((), outer) = spent(|| {
            let panic = catch_unwind(|| {
                spent(|| {
                    allocated_on_host(20);
                    std::panic::resume_unwind(Box::new("on purpose"))
                })
            });
            assert!(panic.is_err());
            allocated_on_host(300);
        });
        assert_eq!(outer.host_bytes, 320);
        let panic = catch_unwind(|| spent(|| std::panic::resume_unwind(Box::new("on purpose"))));
        assert!(panic.is_err());
        assert_eq!(COUNTED.get(), None);
    }

    #[test]
    fn helpers_count_for_their_caller_even_if_they_panic() {
        let ((), outer) = spent(|| {
            let caller = Caller::new();
            let ((), of_helper) = thread::scope(|scope| {
                let helps = || {
                    spent(|| {
                        _ = catch_unwind(AssertUnwindSafe(|| {
                            caller.help(|| {
                                allocated_on_host(20);
                                std::panic::resume_unwind(Box::new("on purpose"))
                            })
                        }))
                    })
                };
                scope.spawn(helps).join().unwrap()
            });
            // It is no work of the thread that helps.
            assert_eq!(of_helper.host_bytes, 0);
            caller.help(|| allocated_on_host(300));
        });
        assert_eq!(outer.host_bytes, 320);
        // A caller that does not count has no helper that does.
        assert!(Caller::new().help(|| COUNTED.get().is_none()));
    }

    #[test]
    fn the_text_is_one_line_without_what_is_zero() {
        let time = Duration::from_micros(1_449);
        let of_time = Spent { time, ..Spent::default() };
        let all = Spent {
            compiling: Duration::from_millis(410),
            compiled: 2,
            device_bytes: 4_403_200,
            host_bytes: 8 << 20,
            copied_bytes: 3 << 30,
            launches: 3,
            ..of_time
        };
        let text = "1.4 ms; 2 modules compiled in 410 ms; 4.2 MiB allocated on the device, 8 MiB on the host; \
                    3 GiB copied; 3 launches";
        assert_eq!(all.to_string(), text);
        assert_eq!(of_time.to_string(), "1.4 ms");
        assert_eq!(Spent::default().to_string(), "0 ns");
        let one = Spent { compiling: Duration::from_secs(2), compiled: 1, launches: 1, ..of_time };
        assert_eq!(one.to_string(), "1.4 ms; 1 module compiled in 2 s; 1 launch");
        let loaded = Spent { compiled: 0, launches: 0, ..one };
        assert_eq!(loaded.to_string(), "1.4 ms; 2 s in the compiler");
        assert_eq!(Spent { device_bytes: 1, ..of_time }.to_string(), "1.4 ms; 1 byte allocated on the device");
        assert_eq!(Spent { host_bytes: 1_023, ..of_time }.to_string(), "1.4 ms; 1023 bytes allocated on the host");
        assert_eq!(Spent { copied_bytes: 1_024, ..of_time }.to_string(), "1.4 ms; 1 KiB copied");
        assert_eq!(Spent { time: Duration::from_nanos(1_250), ..all }.to_string()[..7].trim_end_matches(';'), "1.3 µs");
    }
}
