//! What the library tells of its work: [`tracing`](https://docs.rs/tracing) spans, silent unless a subscriber wants them.
//!
//! Their targets begin with `scan_runtime`, so `RUST_LOG=scan_runtime=debug` shows all but those of every call, and
//! `scan_runtime=trace` these too. Each span is entered while its work is done, and has a field `microseconds`, which is known
//! at its end.
//!
//! | span | level | around | fields |
//! |---|---|---|---|
//! | `plan` | debug | the choice of the kernels' shape | `operator`, `task`, `architecture` |
//! | `render` | debug | the writing of a CUDA source | `operator`, `strategy`, `bytes` |
//! | `cubin` | debug | how machine code is come by | `operator`, `architecture`, `from` (`process`, `precompiled`, `disk` or `compiler`), `bytes` |
//! | `read_cache` | debug | the search in the cache on disk | `operator`, `hit`, `bytes` |
//! | `write_cache` | debug | the storing there | `operator`, `bytes`, `stored` |
//! | `load_nvrtc` | debug | the loading of NVRTC, once a process | `library` |
//! | `warm_up_nvrtc` | debug | the compiling of an empty kernel, once a process, beside the making of its first context and where no kernels are on disk or precompiled | `architecture` |
//! | `compile` | debug | a compilation by NVRTC | `operator`, `architecture`, `source_bytes`, `cubin_bytes` |
//! | `load` | debug | the loading of machine code into a device | `operator`, `bytes`, `kernels` |
//! | `launch` | trace | the launches of a scan or a reduction, which the host does not wait for | `operator` (its Rust type), `len`, `kernels` |
//! | `transfer` | trace | copies between host and device memory; those to the host wait for the work before them | `to` (`device` or `host`), `bytes` |
//! | `cpu` | trace | a scan or a reduction on the CPU | `operator` (its Rust type), `len` |
//!
//! Spans lie in one another: `compile` in `cubin`, for one. Besides them there is one event, a warning where compiled kernels
//! cannot be kept on disk. [`Scanner::cache_stats`](crate::Scanner::cache_stats) has the sums of all that was compiled, read
//! and written, without a subscriber.
//!
//! ```
//! use scan_runtime::{Scanner, ops};
//!
//! tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).init();
//! Scanner::new()?.scan(ops::sum()).run(&[1, 2, 3])?;
//! # Ok::<(), scan_runtime::Error>(())
//! ```

use std::time::Instant;

use tracing::{
    Span,
    field::{Empty, Value},
    span::EnteredSpan,
};

/// A span that has been entered, and tells at its end how long it took.
#[must_use = "the span ends when this is dropped"]
pub(crate) struct Timed {
    span: EnteredSpan,
    /// `None` where nobody wants to know.
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

/// Whether anybody may want to know of every call. To ask costs far less than a span that nobody wants.
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
    /// Fills in a field.
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
