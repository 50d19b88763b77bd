//! Machine code that is compiled in the background, while the CPU runs the calls that need it.
//!
//! One thread of the process compiles one module after the other, and ends when none is left. It has no device: the
//! code goes to the cubins of the process and to the cache on disk, and the next call loads it. A call that cannot go
//! on without a module that is being compiled waits for that, because each cubin is made once. One that still waits in
//! the queue is compiled by such a call itself.
//!
//! A process that ends waits for the module under way ([`nvrtc`]); those behind it are not compiled.

use std::{
    error::Error,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    thread,
};

use scan_codegen::{Architecture, KernelSource};
use tracing::{Dispatch, dispatcher};

use super::{
    any_plan::AnyPlan,
    cubins::{Stores, cubin},
    lock,
};
use crate::{caught::message, nvrtc};
use queue::Queue;

#[cfg(all(test, not(miri)))]
mod model;
mod queue;

/// A module to be compiled.
pub(super) struct Module {
    pub(super) source: KernelSource,
    pub(super) operator: String,
    pub(super) plan: AnyPlan,
    pub(super) architecture: Architecture,
    /// Where the code is kept. What was compiled ahead of time does not have it.
    pub(super) stores: Stores,
    /// The subscriber of the call that asks for it.
    pub(super) dispatch: Dispatch,
}

static MODULES: Mutex<Queue<blake3::Hash, Module>> = Mutex::new(Queue::new());

/// Whether a module is being compiled, or waits for that.
pub(super) fn is_pending(key: &blake3::Hash) -> bool {
    lock(&MODULES).has(key)
}

/// Has a module compiled, unless that has been asked for already. Returns whether it will be: not where the system has
/// no further thread, or the compiler cannot be set up, which the call finds out then.
pub(super) fn compile(key: blake3::Hash, module: Module) -> bool {
    // On this thread: until then the end of the process cannot be made to wait.
    if nvrtc::set_up(module.architecture).is_err() {
        return false;
    }
    if !lock(&MODULES).add(key, module) {
        return true;
    }
    let work = || {
        while let Some((_, module)) = next() {
            module.compile();
        }
    };
    let spawned = thread::Builder::new().name("scan-background".to_owned()).spawn(work);
    if spawned.is_err() {
        lock(&MODULES).clear();
    }
    spawned.is_ok()
}

/// The next module. The lock is not held while it is compiled.
fn next() -> Option<(blake3::Hash, Module)> {
    lock(&MODULES).next()
}

impl Module {
    fn compile(&self) {
        let Some(_making) = nvrtc::Making::begin() else { return };
        dispatcher::with_default(&self.dispatch, || {
            let Module { source, operator, plan, architecture, stores, .. } = self;
            let compiled = catch_unwind(AssertUnwindSafe(|| cubin(source, operator, plan, *architecture, stores)));
            let reason = match compiled {
                Ok(Ok(_)) => return,
                Ok(Err(error)) => with_causes(&error),
                Err(panic) => message(panic),
            };
            if !nvrtc::is_ending() {
                tracing::warn!(
                    operator,
                    %plan,
                    reason,
                    "compiling in the background has failed; the next call that needs the kernels compiles them again"
                );
            }
        });
    }
}

/// The message of an error, and those of its causes.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
