//! Faults of a cache: processes that die, disks that are full or cannot be written, other users, many processes at
//! once.
//!
//! A test that needs a process of its own starts this program again with the test [`child`], whose task is in
//! environment variables.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::{
    env, fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use rustix::process::{Resource, Rlimit, setrlimit};
use tracing::{Event, Level, Metadata, Subscriber, span};

use super::*;

const FOLDER: &str = "SCAN_TESTS_FOLDER";
/// The child's task: `store`, or `crowd`.
const TASK: &str = "SCAN_TESTS_TASK";
/// The step at which it ends.
const END_AT: &str = "SCAN_TESTS_END_AT";
/// The maximum length of a file that it can write.
const FILE_LIMIT: &str = "SCAN_TESTS_FILE_LIMIT";

const CUBIN: &[u8] = b"some machine code";
const OLDER: &[u8] = b"what stood there before";
const KEYS: u64 = 16;

fn key(of: &str) -> Key {
    blake3::hash(of.as_bytes())
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

pub(super) fn end_at(step: &str) {
    if env::var(END_AT).is_ok_and(|end| end == step) {
        std::process::abort();
    }
}

/// Machine code of various sizes, which contains its key.
fn cubin_of(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(1 + (number as usize * 997) % 5000)
}

#[test]
fn child() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let cache = DiskCache::at(folder);
    match env::var(TASK).as_deref() {
        Ok("store") => {
            if let Some(limit) = number(FILE_LIMIT) {
                setrlimit(Resource::Fsize, Rlimit { current: Some(limit), maximum: None }).unwrap();
            }
            let warnings = Warnings::default();
            let stored = tracing::subscriber::with_default(warnings.clone(), || {
                // A new one each time, as each scanner has its own.
                (0..3).map(|_| DiskCache::at(cache.folder()).store(&key("a"), CUBIN)).collect::<Vec<_>>()
            });
            let found = cache.load(&key("a")).is_some_and(|found| found == CUBIN);
            println!("\nanswer: stored {stored:?}, warnings {}, found {found}", warnings.count());
        }
        Ok("crowd") => {
            let cache = cache.with_limit(40_000);
            for round in 0..60 {
                let number = (u64::from(std::process::id()) * 7 + round * 5) % KEYS;
                let name = key(&number.to_string());
                match cache.load(&name) {
                    Some(found) => assert_eq!(found, cubin_of(number)),
                    None => assert!(cache.store(&name, &cubin_of(number))),
                }
            }
            println!("\nanswer: done");
        }
        task => panic!("{task:?}"),
    }
}

/// Counts warnings, and ignores everything else.
#[derive(Clone, Default)]
struct Warnings(std::sync::Arc<AtomicU32>);

impl Warnings {
    fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// This program again, with only the test `child`; under a shell that runs `prologue` first.
fn again(prologue: &str, folder: &Path, task: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{prologue}\nexec \"$0\" \"$@\"")]).arg(env::current_exe().unwrap());
    command.args(["--exact", "disk_cache::faults::child", "--nocapture", "--test-threads", "1"]);
    command.env(FOLDER, folder).env(TASK, task).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn answer(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text.lines().find_map(|line| line.strip_prefix("answer: ")).unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// The number of complete files in a folder, and the lengths of the unfinished ones.
fn files(folder: &Path) -> (usize, Vec<u64>) {
    let entries = folder.read_dir().map(|entries| entries.map(Result::unwrap).collect::<Vec<_>>()).unwrap_or_default();
    let (unfinished, whole): (Vec<_>, Vec<_>) =
        entries.iter().partition(|entry| entry.file_name().to_string_lossy().starts_with(UNFINISHED));
    (whole.len(), unfinished.iter().map(|entry| entry.metadata().unwrap().len()).collect())
}

fn entry_bytes() -> u64 {
    seal(&key("a"), CUBIN).len() as u64
}

#[test]
fn a_process_that_dies_at_any_step_leaves_the_old_entry_or_the_new() {
    let before: [(&str, Option<Vec<u8>>); 3] = [
        ("nothing", None),
        ("damage", Some(b"SCANCUB1 and no more".to_vec())),
        ("an entry", Some(seal(&key("a"), OLDER))),
    ];
    for (what, before) in before {
        for (step, new, unfinished) in [
            ("the folder is there", false, 0),
            ("the file is there", false, 1),
            ("the file is written", false, 1),
            ("the entry is there", true, 0),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let cache = DiskCache::at(folder.path());
            if let Some(before) = &before {
                fs::write(cache.place(&key("a")), before).unwrap();
            }
            let output = again("", folder.path(), "store").env(END_AT, step).output().unwrap();
            assert_eq!(output.status.signal(), Some(6), "{what}, {step}: {output:?}");
            let expected = match (new, what) {
                (true, _) => Some(CUBIN),
                (false, "an entry") => Some(OLDER),
                (false, _) => None,
            };
            assert_eq!(cache.load(&key("a")).as_deref(), expected, "{what}, {step}");
            assert_eq!(files(folder.path()).1.len(), unfinished, "{what}, {step}");
            assert!(cache.store(&key("a"), CUBIN), "{what}, {step}");
            assert_eq!(cache.load(&key("a")).unwrap(), CUBIN, "{what}, {step}");
        }
    }
}

#[test]
fn a_process_that_dies_while_it_evicts_leaves_whole_entries() {
    let folder = tempfile::tempdir().unwrap();
    let cache = DiskCache::at(folder.path());
    let old = |number: u64| key(&format!("old {number}"));
    for number in 0..KEYS {
        assert!(cache.store(&old(number), &cubin_of(number)));
    }
    let output = again("", folder.path(), "crowd").env(END_AT, "an entry is removed").output().unwrap();
    assert_eq!(output.status.signal(), Some(6), "{output:?}");
    let there: Vec<_> = (0..KEYS).filter_map(|number| Some((number, cache.load(&old(number))?))).collect();
    assert_eq!(files(folder.path()), (KEYS as usize, Vec::new()), "a new one, and one less of the old");
    assert_eq!(there.len(), KEYS as usize - 1);
    assert!(there.iter().all(|(number, found)| *found == cubin_of(*number)));
}

#[test]
fn a_process_that_dies_at_any_byte_of_the_write_leaves_a_miss() {
    const SIGXFSZ: i32 = 25;
    for limit in 0..=entry_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::at(folder.path());
        let output = again("ulimit -c 0", folder.path(), "store").env(FILE_LIMIT, limit.to_string()).output().unwrap();
        if limit == entry_bytes() {
            assert_eq!(answer(&output), "stored [true, true, true], warnings 0, found true");
            return;
        }
        assert_eq!(output.status.signal(), Some(SIGXFSZ), "{limit}: {output:?}");
        assert_eq!(files(folder.path()), (0, vec![limit]));
        assert_eq!(cache.load(&key("a")), None);
        assert!(cache.store(&key("a"), CUBIN));
        assert_eq!(cache.load(&key("a")).unwrap(), CUBIN);
    }
}

/// The kernel reports that a file cannot grow further, as it does for a full disk. See also the next test.
#[test]
fn a_file_that_cannot_grow_is_one_warning() {
    for limit in [0, 1, entry_bytes() / 2, entry_bytes() - 1] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = again("trap '' XFSZ", folder.path(), "store");
        let output = child.env(FILE_LIMIT, limit.to_string()).output().unwrap();
        assert_eq!(answer(&output), "stored [false, false, false], warnings 1, found false");
        assert_eq!(files(folder.path()), (0, Vec::new()), "nothing is left");
    }
}

/// Runs `store` in a mount namespace in which `mount` has been run with the folder as `$PLACE`; `None`, with a note, if
/// this machine does not allow that.
fn mounted(mount: &str, folder: &Path) -> Option<String> {
    let quoted = format!("PLACE='{}'\n{mount} || {{ echo 'answer: cannot mount'; exit 0; }}", folder.display());
    let store = again(&quoted, folder, "store");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh"]).args(store.get_args());
    let variables = store.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    match command.envs(variables).output() {
        Ok(output) if output.status.success() => {
            Some(answer(&output)).filter(|answer| answer != "cannot mount").or_else(|| {
                println!("skipped: nothing can be mounted here");
                None
            })
        }
        other => {
            println!("skipped: no mount namespace here: {other:?}");
            None
        }
    }
}

#[test]
fn a_full_disk_is_one_warning() {
    let folder = tempfile::tempdir().unwrap();
    let full = "mount -t tmpfs -o size=16k,mode=700 none \"$PLACE\" && \
                { dd if=/dev/zero of=\"$PLACE/fill\" bs=4k count=9 2>/dev/null; true; }";
    if let Some(answer) = mounted(full, folder.path()) {
        assert_eq!(answer, "stored [false, false, false], warnings 1, found false");
    }
}

#[test]
fn a_disk_that_cannot_be_written_is_one_warning_and_is_still_read() {
    let read_only = "mount --bind \"$PLACE\" \"$PLACE\" && mount -o remount,bind,ro \"$PLACE\"";
    for (before, found) in [(None, false), (Some(CUBIN), true)] {
        let folder = tempfile::tempdir().unwrap();
        if let Some(cubin) = before {
            assert!(DiskCache::at(folder.path()).store(&key("a"), cubin));
        }
        if let Some(answer) = mounted(read_only, folder.path()) {
            assert_eq!(answer, format!("stored [false, false, false], warnings 1, found {found}"));
        }
    }
}

#[test]
fn a_home_that_is_not_a_folder_is_one_warning() {
    for folder in ["/dev/null", "/dev/null/cache", "/proc/cache"] {
        let output = again("", Path::new(folder), "store").output().unwrap();
        assert_eq!(answer(&output), "stored [false, false, false], warnings 1, found false", "{folder}");
    }
}

#[test]
fn many_processes_share_a_cache_that_is_too_small() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("cold");
    let children: Vec<Child> = (0..64).map(|_| again("", &place, "crowd").spawn().unwrap()).collect();
    for child in children {
        assert_eq!(answer(&child.wait_with_output().unwrap()), "done");
    }
    let cache = DiskCache::at(&place).with_limit(40_000);
    let there: Vec<_> = (0..KEYS).filter_map(|number| Some((number, cache.load(&key(&number.to_string()))?))).collect();
    assert_eq!(files(&place), (there.len(), Vec::new()), "nothing but whole entries");
    assert!(!there.is_empty() && there.iter().all(|(number, found)| *found == cubin_of(*number)));
    assert!(cache.store(&key("last"), CUBIN));
    assert!(cache.size().unwrap() <= 40_000);
}

#[test]
fn an_entry_larger_than_the_cache_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = DiskCache::at(folder.path()).with_limit(10);
    assert!(cache.store(&key("a"), CUBIN));
    assert_eq!((cache.load(&key("a")), cache.size().unwrap()), (None, 0));
}

#[test]
fn folder_and_entries_are_private_whatever_the_umask() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("made/here");
    assert!(answer(&again("umask 0", &place, "store").output().unwrap()).ends_with("found true"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place), mode(place.parent().unwrap())), (0o700, 0o700));
    assert_eq!(mode(&DiskCache::at(&place).place(&key("a"))), 0o600);
}

#[test]
fn folders_of_other_users_are_not_used() {
    const SOMEBODY: u32 = 65_534;
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    let cache = DiskCache::at(&own);
    assert!(cache.store(&key("a"), CUBIN));
    // A link of the user's own is allowed.
    let link = folder.path().join("link");
    symlink(&own, &link).unwrap();
    assert_eq!(DiskCache::at(&link).load(&key("a")).unwrap(), CUBIN);
    assert!(DiskCache::at(&link).store(&key("b"), CUBIN));

    if !rustix::process::geteuid().is_root() {
        // Only root can change the owner of files.
        assert!(!DiskCache::at("/usr").store(&key("a"), CUBIN));
        println!("the rest is for root");
        return;
    }
    use std::os::unix::fs::{chown, lchown};
    lchown(&link, Some(SOMEBODY), None).unwrap();
    let through = DiskCache::at(&link);
    assert!(through.load(&key("a")).is_none() && !through.store(&key("c"), CUBIN));
    // Another user's file in the folder is a miss, and is replaced by the user's own.
    chown(cache.place(&key("a")), Some(SOMEBODY), None).unwrap();
    assert!(cache.load(&key("a")).is_none() && cache.store(&key("a"), CUBIN));
    assert_eq!(cache.load(&key("a")).unwrap(), CUBIN);
    let problem = || problems().into_iter().find(|problem| problem.folder == own).map(|problem| problem.reason);
    assert_eq!(problem(), None);
    chown(&own, Some(SOMEBODY), None).unwrap();
    assert!(cache.load(&key("a")).is_none() && !cache.store(&key("c"), CUBIN));
    assert_eq!(problem().as_deref(), Some("it belongs to another user"));
}

/// Links to entries are neither read, nor removed, nor followed. The folder itself may be reached through a link of the
/// user's own, but not of another user's.
#[test]
fn links_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let [own, other] = ["own", "other"].map(|name| DiskCache::at(folder.path().join(name)));
    assert!(own.store(&key("a"), CUBIN) && other.store(&key("b"), CUBIN) && other.store(&key("c"), CUBIN));
    let places = ["b", "c"].map(|name| (own.place(&key(name)), other.place(&key(name))));
    symlink(&places[0].1, &places[0].0).unwrap();
    symlink(other.folder(), own.folder().join(format!("{}.cubin", key("d").to_hex()))).unwrap();
    symlink(&places[1].1, own.folder().join(format!("{UNFINISHED}abcdef"))).unwrap();
    assert_eq!(own.load(&key("b")), None, "it is whole, and elsewhere");
    assert_eq!((own.entries().unwrap(), own.size().unwrap()), (1, entry_bytes()));
    let small = DiskCache::at(own.folder()).with_limit(1);
    assert!(small.store(&key("e"), CUBIN));
    own.clear().unwrap();
    assert_eq!(files(own.folder()).0, 2, "the links");
    assert_eq!(other.entries().unwrap(), 2);

    let link = folder.path().join("link");
    symlink(other.folder(), &link).unwrap();
    let through = DiskCache::at(&link);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::lchown(&link, Some(65_534), None).unwrap();
        assert!(through.clear().is_err() && through.size().is_err() && through.entries().is_err());
        assert_eq!(other.entries().unwrap(), 2, "nothing goes through the link of another user");
        std::os::unix::fs::lchown(&link, Some(0), None).unwrap();
    }
    through.clear().unwrap();
    assert_eq!(other.entries().unwrap(), 0);
}

/// Nothing is removed from a folder that others own, or may write to.
#[test]
fn nothing_is_removed_from_a_folder_that_is_not_the_users_own() {
    let folder = tempfile::tempdir().unwrap();
    let cache = DiskCache::at(folder.path().join("cache"));
    assert!(cache.store(&key("a"), CUBIN));
    fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(cache.clear().unwrap_err().to_string().contains("chmod go-w"));
    assert!(cache.place(&key("a")).exists());
    fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o700)).unwrap();
    if rustix::process::geteuid().is_root() {
        use std::os::unix::fs::chown;
        chown(cache.place(&key("a")), Some(65_534), None).unwrap();
        cache.clear().unwrap();
        assert!(cache.place(&key("a")).exists(), "the file of another user");
        chown(cache.place(&key("a")), Some(0), None).unwrap();
        chown(cache.folder(), Some(65_534), None).unwrap();
        assert!(cache.clear().is_err() && cache.place(&key("a")).exists());
        chown(cache.folder(), Some(0), None).unwrap();
    }
    cache.clear().unwrap();
    assert!(!cache.place(&key("a")).exists());
}

#[test]
fn entries_that_are_not_private_files_are_misses() {
    let folder = tempfile::tempdir().unwrap();
    let cache = DiskCache::at(folder.path().join("cache"));
    let place = cache.place(&key("a"));
    let mended = |what: &str| {
        assert!(cache.load(&key("a")).is_none(), "{what}");
        assert!(cache.store(&key("a"), CUBIN), "{what}");
        assert_eq!(cache.load(&key("a")).unwrap(), CUBIN, "{what}");
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600, "{what}");
    };
    mended("nothing");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o622)).unwrap();
    mended("others can write to it");
    fs::remove_file(&place).unwrap();
    assert!(Command::new("mkfifo").arg(&place).status().unwrap().success());
    mended("a pipe, which nobody writes to");
    fs::remove_file(&place).unwrap();
    symlink(folder.path().join("nowhere"), &place).unwrap();
    mended("a link to nothing");
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    // A folder in the place of an entry is not removed.
    assert!(cache.load(&key("a")).is_none() && !cache.store(&key("a"), CUBIN));
    assert_eq!(files(cache.folder()), (1, Vec::new()));
}

#[test]
fn timestamps_in_the_future_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let cache = DiskCache::at(folder.path()).with_limit(2 * entry_bytes());
    let far = Duration::from_secs(100 * 365 * 24 * 3600);
    for (name, time) in [("a", SystemTime::now() + far), ("b", SystemTime::UNIX_EPOCH)] {
        assert!(cache.store(&key(name), CUBIN));
        let file = File::options().append(true).open(cache.place(&key(name))).unwrap();
        file.set_modified(time).unwrap();
        assert_eq!(cache.load(&key(name)).unwrap(), CUBIN);
    }
    assert!(cache.store(&key("c"), CUBIN));
    assert!(cache.size().unwrap() <= 2 * entry_bytes());
}
