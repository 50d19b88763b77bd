//! Machines, and operators that append inputs, on the CPU: the plain loop, on one thread and on several.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use scan_runtime::Scanner;
use scan_tests::machines::compare_with_the_loop;

#[test]
fn machines_are_the_plain_loop() {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let compare = || compare_with_the_loop(&Scanner::cpu(), &[0, 1, 2, 100, 9_001]);
        pool.install(|| compare().map_err(|error| error.to_string())).unwrap();
    }
}
