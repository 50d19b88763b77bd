//! Scans in a process that was forked off another one: only the thread that forked exists there, and none of the pool.

use std::{
    env,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use scan_runtime::{Axis, Scanner, ops};
use scan_tests::operators::mixed;

/// Set in the process that forks: in one of its own, no thread of another test holds a lock while it does.
const FORKS: &str = "SCAN_TESTS_FORKS";

/// The results of scans and reductions that several threads share where there are several.
fn results(scanner: &Scanner) -> Vec<Vec<u64>> {
    let (rows, columns) = (600, 200);
    let x: Vec<u64> = (0..rows * columns).map(mixed).collect();
    let x = x.as_slice();
    let sums = || scanner.scan(ops::sum::<u64>());
    let values: Vec<u64> = (0..rows).collect();
    // The last one is far away.
    let heads: Vec<bool> = (0..x.len()).map(|index| index + 3 > x.len()).collect();
    let down = Axis::of(&[rows as usize, columns as usize], 0).unwrap();
    let of_rows = scanner.reduce(ops::sum::<u64>());
    let of_rows = of_rows.rows(columns as usize);
    vec![
        sums().run(x).unwrap(),
        sums().along(down.clone()).run(x).unwrap(),
        scanner.reduce(ops::sum::<u64>()).along(down).run(x).unwrap(),
        sums().rows(columns as usize).init_each(&values).run(x).unwrap(),
        of_rows.run(x).unwrap(),
        sums().reverse().by_flags(&heads).run(x).unwrap(),
        vec![scanner.reduce(ops::sum::<u64>()).run(x).unwrap()],
    ]
}

#[test]
fn a_forked_process_scans_on_its_own() {
    if env::var_os(FORKS).is_none() {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "forked::a_forked_process_scans_on_its_own", "--nocapture"]).env(FORKS, "1");
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let scanner = Scanner::cpu();
    let expected = results(&scanner);
    // SAFETY: the child scans and leaves. No thread but this one and those of the pool, which sleep, could hold a lock.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let same = results(&scanner) == expected && results(&Scanner::cpu()) == expected;
        // SAFETY: the process ends here, without what the parent would do at its end.
        unsafe { libc::_exit(if same { 0 } else { 1 }) };
    }
    let child = Pid::from_raw(child).unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some((_, status)) = waitpid(Some(child), WaitOptions::NOHANG).unwrap() {
            assert_eq!(status.exit_status(), Some(0), "{status:?}");
            return;
        }
        if Instant::now() > end {
            kill_process(child, Signal::KILL).unwrap();
            panic!("the forked process hangs");
        }
        thread::sleep(Duration::from_millis(5));
    }
}
