//! Compiled kernels on disk, shared by processes: with the real compiler, and without a GPU.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use scan_codegen::{Architecture, KernelSource};
use scan_runtime::{BlockScan, Carry, DiskCache, Network, Scanner, Strategy, nvrtc, ops};
use scan_tests::{extent::is_long, nvrtc as fetch_nvrtc, target_dir};

/// Where a child finds the cache that it shares with its parent.
const CACHE_OF_CHILD: &str = "SCAN_TESTS_CACHE";
const ARCHITECTURE: Architecture = Architecture { major: 9, minor: 0 };

fn folder(name: &str) -> PathBuf {
    let folder = target_dir().unwrap().join("disk-cache-tests").join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// Asks the cache for the kernels of a sum.
fn ask(cache: &DiskCache) -> nvrtc::Cached {
    let source = Scanner::cpu().scan(ops::sum::<i32>()).cuda_source().unwrap();
    nvrtc::cached(&source, "Sum", ARCHITECTURE, Some(cache)).unwrap()
}

/// What a process says of itself: was it there, and is NVRTC loaded now?
#[test]
fn child() {
    let Some(folder) = env::var_os(CACHE_OF_CHILD) else { return };
    let answer = ask(&DiskCache::at(folder));
    let loaded = fs::read_to_string("/proc/self/maps").is_ok_and(|maps| maps.contains("libnvrtc.so"));
    assert_eq!(nvrtc::is_loaded(), loaded);
    println!("\nhits {}, NVRTC loaded {loaded}, {} bytes", answer.disk.hits, answer.cubin.len());
}

fn start(folder: &Path) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "disk_cache::child", "--nocapture", "--test-threads", "1"]).env(CACHE_OF_CHILD, folder);
    command.env(nvrtc::LIBRARY_VARIABLE, fetch_nvrtc().unwrap());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn answer(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text.lines().find(|line| line.starts_with("hits")).unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn a_second_process_loads_from_disk_without_nvrtc() {
    let folder = folder("next");
    let first = answer(start(&folder));
    let second = answer(start(&folder));
    assert!(first.starts_with("hits 0, NVRTC loaded true"), "{first}");
    assert!(second.starts_with("hits 1, NVRTC loaded false"), "{second}");
    assert_eq!(first.rsplit(',').next(), second.rsplit(',').next());
}

#[test]
fn of_processes_that_start_cold_at_once_one_compiles() {
    let folder = folder("many");
    let children: Vec<_> = (0..if is_long() { 64 } else { 16 }).map(|_| start(&folder)).collect();
    let answers: Vec<_> = children.into_iter().map(answer).collect();
    assert!(answers.iter().all(|answer| answer.rsplit(',').next() == answers[0].rsplit(',').next()), "{answers:?}");
    let hits = |answer: &&String| answer.starts_with("hits 1");
    assert_eq!(answers.iter().filter(hits).count(), answers.len() - 1, "{answers:?}");
    // The kernels, and the compiler's version.
    let names: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(answer(start(&folder)).starts_with("hits 1, NVRTC loaded false"));
}

/// A process that is stopped while it compiles does not keep its turn when it is killed.
#[test]
fn a_process_killed_in_its_turn_lets_the_others_go_on() {
    let folder = folder("turn");
    let mut first = start(&folder);
    let is_turn = |entry: std::io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(".unfinished-"))
    };
    let begin = std::time::Instant::now();
    while !folder.read_dir().is_ok_and(|mut entries| entries.any(is_turn)) {
        assert!(begin.elapsed().as_secs() < 60 && first.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    let others = [start(&folder), start(&folder)];
    first.kill().unwrap();
    first.wait().unwrap();
    let hits = others.map(answer).iter().filter(|answer| answer.starts_with("hits 1")).count();
    assert_eq!(hits, 1);
}

#[test]
fn a_process_killed_during_a_write_leaves_no_damaged_hit() {
    let folder = folder("killed");
    // Killed at many moments, of which some are in the middle of the writing.
    for delay in (0..400).step_by(40) {
        let mut child = start(&folder);
        std::thread::sleep(std::time::Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let whole = answer(start(&folder));
    assert!(answer(start(&folder)).starts_with("hits 1, NVRTC loaded false"), "{whole}");
}

#[test]
fn a_damaged_entry_is_compiled_again_and_replaced() {
    fetch_nvrtc().unwrap();
    let cache = DiskCache::at(folder("damaged"));
    let whole = ask(&cache).cubin;
    let entries = || cache.folder().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let entry = entries().max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let bytes = fs::read(&entry).unwrap();
    let flipped = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let longer = [&bytes[..], b"more"].concat();
    for damaged in [Vec::new(), bytes[..bytes.len() / 2].to_vec(), flipped(bytes.len() / 3), flipped(0), longer] {
        fs::write(&entry, &damaged).unwrap();
        let answer = ask(&cache);
        assert_eq!((answer.disk.hits, answer.disk.misses), (0, 1), "{} bytes", damaged.len());
        assert_eq!(answer.cubin.len(), whole.len());
        assert_eq!(ask(&cache).disk.hits, 1, "mended");
    }
    // The compiler's version, too.
    for path in entries() {
        fs::write(path, b"nothing that anybody wrote").unwrap();
    }
    assert_eq!(ask(&cache).disk.hits, 0);
    assert_eq!(ask(&cache).disk.hits, 1);
}

#[test]
fn everything_that_determines_a_cubin_is_part_of_its_key() {
    fetch_nvrtc().unwrap();
    let cache = DiskCache::at(folder("names"));
    // Kernels that compile fast.
    let scanner = Scanner::cpu_for(scan_runtime::DeviceLimits::BASELINE);
    let strategy = Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::OneBlock };
    let sum = scanner.scan(ops::sum::<i32>()).strategy(strategy).cuda_source().unwrap();
    let max = scanner.scan(ops::max::<i32>()).strategy(strategy).cuda_source().unwrap();
    let mut options = sum.clone();
    options.options.push("--device-debug");
    let other = Architecture { major: 8, minor: 0 };
    let cases = [(&sum, ARCHITECTURE), (&max, ARCHITECTURE), (&options, ARCHITECTURE), (&sum, other)];
    let compiled = cases.map(|(source, architecture)| nvrtc::compile(source, "", architecture).unwrap().cubin);
    for expected in [0, 1] {
        for ((source, architecture), compiled) in cases.iter().zip(&compiled) {
            let answer = nvrtc::cached(source, "", *architecture, Some(&cache)).unwrap();
            assert_eq!((answer.disk.hits, answer.disk.misses), (expected, 1 - expected));
            assert_eq!(answer.compile_time.is_none(), expected == 1);
            assert_eq!(answer.cubin.len(), compiled.len());
        }
    }
}

/// Messages of the compiler name lines of the user's file; the machine code does not.
#[test]
fn moving_an_operator_to_another_line_compiles_nothing() {
    fetch_nvrtc().unwrap();
    let cache = DiskCache::at(folder("lines"));
    let source = Scanner::cpu().scan(scan_tests::operators::MatrixProduct::<2>).cuda_source().unwrap();
    let mut moved = source.clone();
    let moved_line = |line: &str| match line.strip_prefix("#line ").and_then(|rest| rest.split_once(' ')) {
        Some((number, file)) => format!("#line {} {file}\n", number.parse::<u32>().unwrap() + 7),
        None => format!("{line}\n"),
    };
    moved.text = source.text.lines().map(moved_line).collect();
    assert_ne!(moved.text, source.text);
    let ask = |source: &KernelSource| nvrtc::cached(source, "", ARCHITECTURE, Some(&cache)).unwrap();
    let (first, second) = (ask(&source), ask(&moved));
    assert_eq!((first.disk.misses, second.disk.hits), (1, 1));
    assert!(nvrtc::compile(&moved, "", ARCHITECTURE).unwrap().cubin == first.cubin, "the same machine code");

    // But any other line is part of it.
    moved.text.push_str("__device__ int another;\n");
    assert_eq!(ask(&moved).disk.misses, 1);
}
