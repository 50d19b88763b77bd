//! NCCL is found, loaded and makes ids, without a GPU; and where it is not there, the error says what to do.

use std::{env, process::Command};

use scan_runtime::world::{
    Launch,
    nccl::{self, Id, LIBRARY_VARIABLE},
};
use scan_tests::nccl::nccl;

/// The test in a process of its own, whose variable names the library.
fn with_library(test: &str, library: &str) -> String {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", &format!("nccl::{test}"), "--nocapture"]).env(LIBRARY_VARIABLE, library).env(CHILD, "1");
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}{}", show(&output.stdout), show(&output.stderr));
    show(&output.stdout)
}

fn show(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const CHILD: &str = "SCAN_TESTS_HAS_NCCL";

fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

#[test]
fn the_library_is_loaded_and_makes_ids() {
    if is_child() {
        let (major, minor, _) = nccl::version().unwrap();
        assert!(major == 2 && minor >= 14, "{major}.{minor}");
        let [first, second] = [Id::new().unwrap(), Id::new().unwrap()];
        assert!(first != second && first == Id::from_bytes(*first.as_bytes()));
        assert_eq!(format!("{first:?}"), "Id(…)");
        return;
    }
    let library = nccl().unwrap();
    with_library("the_library_is_loaded_and_makes_ids", &library.display().to_string());
    let folder = library.parent().unwrap();
    with_library("the_library_is_loaded_and_makes_ids", &folder.display().to_string());
}

#[test]
fn what_is_no_library_is_said_to_be_none() {
    if is_child() {
        println!("error: {}", nccl::version().unwrap_err());
        return;
    }
    let off = with_library("what_is_no_library_is_said_to_be_none", "off");
    assert!(
        off.contains("error: NCCL was not found; install it with `python3 -m pip install nvidia-nccl-cu13`"),
        "{off}"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    let none = with_library("what_is_no_library_is_said_to_be_none", &file.path().display().to_string());
    assert!(none.contains("cannot be used as NCCL: it does not load"), "{none}");
}

/// The launcher for one machine gives each process its rank, and stops all when one fails.
#[test]
fn processes_of_one_machine_know_their_ranks() {
    const FAILS: &str = "SCAN_TESTS_RANK_FAILS";
    if is_child() {
        let launch = Launch::from_env().unwrap();
        assert_eq!((launch.size, launch.local_rank, &*launch.address.0), (3, launch.rank, "127.0.0.1"));
        match env::var(FAILS) {
            Ok(rank) if rank == launch.rank.to_string() => std::process::exit(3),
            Ok(_) => std::thread::sleep(std::time::Duration::from_secs(600)),
            Err(_) => {}
        }
        return;
    }
    let command = |fails: Option<&str>| {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", "nccl::processes_of_one_machine_know_their_ranks"]).env(CHILD, "1");
        child.stdout(std::process::Stdio::null());
        child.envs(fails.map(|rank| (FAILS, rank)));
        child
    };
    Launch::on_this_machine(3, || command(None)).unwrap();
    let error = Launch::on_this_machine(3, || command(Some("1"))).unwrap_err().to_string();
    assert!(error.starts_with("rank 1 ended: exit status: 3"), "{error}");
}
