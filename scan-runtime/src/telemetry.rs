//! What the library's work took: [`tracing`](https://docs.rs/tracing) spans, and [counts](spent()).
//!
//! Spans are silent unless a subscriber enables them. Their targets begin with `scan_runtime`. `RUST_LOG=scan_runtime=debug` shows all spans except those of every call,
//! and `scan_runtime=trace` shows these too. Each span is entered while its work is done. It has a field
//! `microseconds`, which is recorded at its end.
//!
//! | span | level | covers | fields |
//! |---|---|---|---|
//! | `plan` | debug | the choice of the kernels' shape | `operator`, `task`, `architecture` |
//! | `render` | debug | the writing of a CUDA source | `operator`, `strategy`, `bytes` |
//! | `cubin` | debug | obtaining machine code | `operator`, `architecture`, `from` (`process`, `precompiled`, `disk` or `compiler`), `bytes` |
//! | `read_cache` | debug | the lookup in the disk cache | `operator`, `hit`, `bytes` |
//! | `write_cache` | debug | storing in the disk cache | `operator`, `bytes`, `stored` |
//! | `load_nvrtc` | debug | loading NVRTC, once per process | `library` |
//! | `warm_up_nvrtc` | debug | compiling an empty kernel, once per process, in parallel with creating its first context, if no kernels are on disk or precompiled | `architecture` |
//! | `compile` | debug | a compilation by NVRTC | `operator`, `architecture`, `source_bytes`, `cubin_bytes` |
//! | `load` | debug | the loading of machine code into a device | `operator`, `bytes`, `kernels` |
//! | `launch` | trace | the launches of a scan or a reduction, which the host does not wait for | `operator` (its Rust type), `len`, `kernels` |
//! | `transfer` | trace | copies between host and device memory; those to the host wait for the work before them | `to` (`device` or `host`), `bytes` |
//! | `cpu` | trace | a scan or a reduction on the CPU | `operator` (its Rust type), `len` |
//!
//! Spans nest: `compile` is within `cubin`, for example. Those of kernels that are compiled in the background go to the
//! subscriber of the first call that needs them, from another thread and outside of the call's spans.
//!
//! | event | level | fields |
//! |---|---|---|
//! | compiled kernels cannot be kept on disk | warn | `folder`, `reason` |
//! | another process has compiled a kernel for too long, which is compiled here, too | warn | `file`, `seconds` |
//! | NVRTC does not compile for the device, which runs code of an earlier architecture | warn | `device`, `target` |
//! | kernels could not be compiled in the background | warn | `operator`, `plan`, `reason` |
//! | the CPU runs a call over host memory [while its kernels are compiled](crate::HostMemory::Faster) | debug | `operator` (its Rust type), `len` |
//!
//! Two ways need no subscriber. [`spent`](spent()) counts what the calls in a closure allocated, copied, launched and
//! compiled. [`Scanner::cache_stats`](crate::Scanner::cache_stats) counts all that the process has compiled, read and
//! written.
//!
//! ```
//! use scan_runtime::{Scanner, ops};
//!
//! tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).init();
//! Scanner::new()?.scan(ops::sum()).run(&[1, 2, 3])?;
//! # Ok::<(), scan_runtime::Error>(())
//! ```

mod spent;

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use tracing::{
    Dispatch, Span, dispatcher,
    field::{Empty, Value},
    span::EnteredSpan,
};

use spent::Counting;
pub(crate) use spent::allocated_on_host;
pub use spent::{Spent, spent};
#[cfg(feature = "cuda")]
pub(crate) use spent::{allocated_on_device, compiled, compiling, copied, launched};

/// An entered span that records its duration at its end.
#[must_use = "the span ends when this is dropped"]
pub(crate) struct Timed {
    span: EnteredSpan,
    /// `None` if no subscriber enables the span.
    start: Option<Instant>,
}

/// Enters the span of launches.
pub(crate) fn launching(operator: &'static str, len: u64) -> Timed {
    timed(tracing::trace_span!("launch", operator, len, kernels = Empty, microseconds = Empty))
}

/// Enters the span of a copy `to` the `device` or the `host`.
pub(crate) fn transferring(to: &'static str, bytes: usize) -> Timed {
    timed(tracing::trace_span!("transfer", to, bytes, microseconds = Empty))
}

/// Enters the span of work on the CPU.
pub(crate) fn computing<Op>(len: usize) -> Timed {
    let operator = std::any::type_name::<Op>();
    timed(tracing::trace_span!("cpu", operator, len, microseconds = Empty))
}

/// Whether a subscriber may enable the spans of every call. This check costs far less than a disabled span.
#[inline]
pub(crate) fn tells_of_calls() -> bool {
    tracing::level_enabled!(tracing::Level::TRACE)
}

/// Enters a span, which has a field `microseconds`.
pub(crate) fn timed(span: Span) -> Timed {
    let start = (!span.is_disabled()).then(Instant::now);
    Timed { span: span.entered(), start }
}

impl Timed {
    /// Records the value of a field.
    pub(crate) fn record(&self, field: &str, value: impl Value) -> &Self {
        self.span.record(field, value);
        self
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        if let Some(start) = self.start {
            self.span.record("microseconds", start.elapsed().as_secs_f64() * 1e6);
        }
    }
}

/// A thread whose work other threads share: their spans go to its subscriber, within its span, and what they count is
/// [counted](spent()) for it.
pub(crate) struct Caller {
    dispatch: Dispatch,
    span: Span,
    /// What the others have counted; `None` if this thread does not count.
    counted: Option<Mutex<Spent>>,
}

impl Caller {
    /// This thread, which must drop it after the others have done their work.
    pub(crate) fn new() -> Self {
        let counted = Counting::is_active().then(Mutex::default);
        Caller { dispatch: dispatcher::get_default(Dispatch::clone), span: Span::current(), counted }
    }

    /// Does work for the caller, on any thread.
    pub(crate) fn help<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Hands the counts over, also after a panic.
        struct HandOver<'c>(Counting, &'c Mutex<Spent>);
        impl Drop for HandOver<'_> {
            fn drop(&mut self) {
                *self.1.lock().unwrap_or_else(PoisonError::into_inner) += self.0.take();
            }
        }
        let _counting = self.counted.as_ref().map(|counted| HandOver(Counting::begin(), counted));
        dispatcher::with_default(&self.dispatch, || self.span.in_scope(work))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let counted = self.counted.take();
        counted
            .into_iter()
            .for_each(|counted| spent::add(counted.into_inner().unwrap_or_else(PoisonError::into_inner)));
    }
}
