//! Compilers of every kind: an NVRTC of our own making, whose failures and version variables choose, in a process of its
//! own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::{
    env,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
    thread,
    time::{Duration, SystemTime},
};

use scan_codegen::Architecture;
use scan_runtime::{DiskCache, Error, Scanner, nvrtc, ops};
use scan_tests::target_dir;

/// What the library reads: the call that fails, and the minor number of its version.
const FAILS_AT: &str = "SCAN_TESTS_NVRTC_FAILS_AT";
const MINOR: &str = "SCAN_TESTS_NVRTC_MINOR";
/// What each child reads.
const CACHE_OF_CHILD: &str = "SCAN_TESTS_CACHE";
const DEVICE_OF_CHILD: &str = "SCAN_TESTS_DEVICE";
const ARCHITECTURE_OF_CHILD: &str = "SCAN_TESTS_ARCHITECTURE";

/// Does what NVRTC does, but compile: code says what it would be.
const TEXT: &str = r#"
#include <cstdio>
#include <cstdlib>
#include <cstring>
static thread_local char code[64];
static int outcome(const char* call, int error) {
    const char* fails = std::getenv("SCAN_TESTS_NVRTC_FAILS_AT");
    return fails && !std::strcmp(fails, call) ? error : 0;
}
extern "C" {
int nvrtcVersion(int* major, int* minor) {
    const char* number = std::getenv("SCAN_TESTS_NVRTC_MINOR");
    *major = 13;
    *minor = number ? std::atoi(number) : 0;
    return outcome("nvrtcVersion", 11);
}
int nvrtcGetNumSupportedArchs(int* count) { *count = 3; return outcome("nvrtcGetNumSupportedArchs", 11); }
int nvrtcGetSupportedArchs(int* numbers) {
    numbers[0] = 80; numbers[1] = 90; numbers[2] = 100;
    return outcome("nvrtcGetSupportedArchs", 11);
}
#ifndef WITHOUT_COMPILER
int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*, const char* const*) {
    *program = std::malloc(1);
    return outcome("nvrtcCreateProgram", 1);
}
int nvrtcCompileProgram(void*, int count, const char* const* options) {
    for (int i = 0; i < count; ++i) std::sscanf(options[i], "--gpu-architecture=%31s", code);
    return outcome("rejects", 6) + outcome("nvrtcCompileProgram", 1);
}
#endif
int nvrtcGetProgramLogSize(void*, std::size_t* size) { *size = 4; return outcome("nvrtcGetProgramLogSize", 11); }
int nvrtcGetProgramLog(void*, char* log) { std::strcpy(log, "log"); return outcome("nvrtcGetProgramLog", 11); }
int nvrtcGetCUBINSize(void*, std::size_t* size) {
    *size = 6 + std::strlen(code);
    return outcome("nvrtcGetCUBINSize", 11);
}
int nvrtcGetCUBIN(void*, char* cubin) {
    std::memcpy(cubin, "cubin ", 6);
    std::memcpy(cubin + 6, code, std::strlen(code));
    return outcome("nvrtcGetCUBIN", 11);
}
int nvrtcGetPTXSize(void*, std::size_t* size) {
    *size = 5 + std::strlen(code);
    return outcome("nvrtcGetPTXSize", 11);
}
int nvrtcGetPTX(void*, char* ptx) { std::sprintf(ptx, "PTX %s", code); return outcome("nvrtcGetPTX", 11); }
int nvrtcDestroyProgram(void** program) { std::free(*program); *program = nullptr; return 0; }
const char* nvrtcGetErrorString(int) { return "NVRTC_ERROR_OF_TESTS"; }
}
"#;

/// The library, and one that lacks functions.
static LIBRARIES: LazyLock<[PathBuf; 2]> = LazyLock::new(|| {
    let folder = target_dir().unwrap().join("nvrtc-that-fails");
    ["whole", "part"].map(|name| {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        let (source, library) = (folder.join("nvrtc.cpp"), folder.join("libnvrtc.so.13"));
        fs::write(&source, TEXT).unwrap();
        let mut compiler = Command::new(env::var("CXX").unwrap_or_else(|_| "c++".to_owned()));
        compiler.args(["-shared", "-fPIC", "-Wl,-soname,libnvrtc.so.13", "-o"]).arg(&library).arg(&source);
        if name == "part" {
            compiler.arg("-DWITHOUT_COMPILER");
        }
        let output = compiler.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        library
    })
});

/// What a process finds whose compiler fails: every thread that asks is told, and the cache keeps nothing.
#[test]
fn child() {
    let Some(folder) = env::var_os(CACHE_OF_CHILD) else { return };
    let cache = DiskCache::at(folder);
    let source = Scanner::cpu().scan(ops::sum::<i32>()).cuda_source().unwrap();
    let architecture = |variable| env::var(variable).ok().map(|name| name.parse::<Architecture>().unwrap());
    let (device, exact) = (architecture(DEVICE_OF_CHILD), architecture(ARCHITECTURE_OF_CHILD));
    let ask = || match device {
        Some(device) => nvrtc::cached_for_device(&source, "Sum", device, Some(&cache)),
        None => nvrtc::cached(&source, "Sum", exact.unwrap_or(Architecture { major: 9, minor: 0 }), Some(&cache)),
    };
    let answers: Vec<Result<_, Error>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for answer in answers {
        match answer {
            Ok(cached) => println!("\nanswer: {}", String::from_utf8(cached.cubin).unwrap().replace('\0', "\\0")),
            Err(error) => println!("\nanswer: {}", format!("{error:?}").replace('\n', " | ")),
        }
    }
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = target_dir().unwrap().join("nvrtc-that-fails").join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// The library, copied to a file of its own, with this time of modification.
fn copy(name: &str, modified: SystemTime) -> PathBuf {
    let folder = folder(name);
    fs::create_dir_all(&folder).unwrap();
    let copy = folder.join("libnvrtc.so.13");
    fs::copy(&LIBRARIES[0], &copy).unwrap();
    File::options().append(true).open(&copy).unwrap().set_modified(modified).unwrap();
    copy
}

fn run(library: &Path, fails_at: &str, cache: &Path) -> Vec<String> {
    run_with(library, fails_at, cache, &[])
}

/// What a child with these variables answers to each of its threads.
fn run_with(library: &Path, fails_at: &str, cache: &Path, variables: &[(&str, &str)]) -> Vec<String> {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "nvrtc_fails::child", "--nocapture", "--test-threads", "1"]);
    command.env(CACHE_OF_CHILD, cache).env(nvrtc::LIBRARY_VARIABLE, library).env(FAILS_AT, fails_at);
    command.envs(variables.iter().copied());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{fails_at}: {text}{}", String::from_utf8_lossy(&stderr));
    let answers: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("answer: ").map(str::to_owned)).collect();
    assert_eq!(answers.len(), 4, "{text}");
    answers
}

#[test]
fn a_failing_nvrtc_call_is_an_error_and_caches_nothing() {
    let cache = folder("fails");
    for call in [
        "nvrtcVersion",
        "nvrtcGetNumSupportedArchs",
        "nvrtcGetSupportedArchs",
        "nvrtcCreateProgram",
        "nvrtcCompileProgram",
        "nvrtcGetProgramLogSize",
        "nvrtcGetProgramLog",
        "nvrtcGetCUBINSize",
        "nvrtcGetCUBIN",
    ] {
        for answer in run(&LIBRARIES[0], call, &cache) {
            assert!(answer.contains(call) && answer.contains("NVRTC_ERROR_OF_TESTS"), "{call}: {answer}");
        }
    }
    for answer in run(&LIBRARIES[0], "rejects", &cache) {
        assert!(answer.contains("Sum") && answer.contains("sm_90") && answer.contains("log"), "{answer}");
    }
    // The next process's compiler works, and is asked.
    assert_eq!(run(&LIBRARIES[0], "nowhere", &cache), ["cubin sm_90"; 4]);
    // Another process's does not, and is not asked, not even for its version.
    for call in ["nvrtcCreateProgram", "nvrtcVersion"] {
        assert_eq!(run(&LIBRARIES[0], call, &cache), ["cubin sm_90"; 4]);
    }
}

#[test]
fn a_library_that_lacks_functions_is_an_error_that_names_it() {
    let cache = folder("lacks");
    for answer in run(&LIBRARIES[1], "nowhere", &cache) {
        let path = LIBRARIES[1].display().to_string();
        assert!(answer.contains(&format!("NVRTC at {path} cannot be used")), "{answer}");
        assert!(answer.contains("nvrtcCreateProgram") && answer.contains(nvrtc::INSTALL_COMMAND), "{answer}");
    }
}

/// Answers of a compiler that works, and of one that fails and is asked.
const FROM_CACHE: &str = "cubin sm_90";
const ASKED: &str = "nvrtcCreateProgram";

#[test]
fn a_cubin_of_another_version_of_the_compiler_is_compiled_anew() {
    let (cache, modified) = (folder("versions"), SystemTime::now() - Duration::from_secs(60));
    let library = copy("version-0", modified);
    assert_eq!(run_with(&library, "nowhere", &cache, &[(MINOR, "0")]), [FROM_CACHE; 4]);
    // At another path: of the same version, and of another one.
    let library = copy("version-0-too", modified);
    assert_eq!(run_with(&library, ASKED, &cache, &[(MINOR, "0")]), [FROM_CACHE; 4]);
    let library = copy("version-1", modified);
    for answer in run_with(&library, ASKED, &cache, &[(MINOR, "1")]) {
        assert!(answer.contains(ASKED), "{answer}");
    }
}

#[test]
fn a_library_replaced_at_its_path_is_asked_for_its_version_again() {
    let modified = SystemTime::now() - Duration::from_secs(60);
    // The same length and another time; another length and the same time.
    for (name, bytes, later) in [("another-time", 0, 7), ("another-length", 1, 0)] {
        let (cache, library) = (folder("replaced"), copy(name, modified));
        assert_eq!(run_with(&library, "nowhere", &cache, &[(MINOR, "0")]), [FROM_CACHE; 4]);
        let mut file = File::options().append(true).open(&library).unwrap();
        file.write_all(&vec![0; bytes]).unwrap();
        file.set_modified(modified + Duration::from_secs(later)).unwrap();
        for answer in run_with(&library, ASKED, &cache, &[(MINOR, "1")]) {
            assert!(answer.contains(ASKED), "{name}: {answer}");
        }
    }
}

#[test]
fn a_device_later_than_the_compiler_gets_code_of_an_earlier_architecture() {
    let cache = folder("later");
    let library = &LIBRARIES[0];
    let run = |device, fails_at| run_with(library, fails_at, &cache, &[(DEVICE_OF_CHILD, device)]);
    for (device, code) in [
        ("sm_90", "cubin sm_90"),
        ("sm_86", "cubin sm_80"),
        ("sm_103", "cubin sm_100"),
        ("sm_120", "PTX compute_100\\0"),
    ] {
        assert_eq!(run(device, "nowhere"), [code; 4]);
        // The next process's compiler is not asked.
        assert_eq!(run(device, "nvrtcCreateProgram"), [code; 4]);
    }
    for answer in run("sm_75", "nowhere") {
        assert!(
            answer.contains("NVRTC 13.0 compiles for sm_80 to sm_100, not for sm_75: use an earlier NVRTC"),
            "{answer}"
        );
    }
}

#[test]
fn kernels_for_one_architecture_are_never_of_another() {
    // What a device that the compiler does not know has left in the cache.
    let cache = folder("exact");
    let variables = [(DEVICE_OF_CHILD, "sm_120")];
    assert_eq!(run_with(&LIBRARIES[0], "nowhere", &cache, &variables), ["PTX compute_100\\0"; 4]);
    let variables = [(ARCHITECTURE_OF_CHILD, "sm_120")];
    for answer in run_with(&LIBRARIES[0], "nowhere", &cache, &variables) {
        assert!(answer.contains("compiles for sm_80 to sm_100, not for sm_120: use a later NVRTC"), "{answer}");
    }
}
