//! A compiler that fails: an NVRTC of our own making, which fails as a variable tells it, in a process of its own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
    thread,
};

use scan_codegen::Architecture;
use scan_runtime::{DiskCache, Error, Scanner, nvrtc, ops};
use scan_tests::target_dir;

/// What the library reads, and each child too.
const FAILS_AT: &str = "SCAN_TESTS_NVRTC_FAILS_AT";
const CACHE_OF_CHILD: &str = "SCAN_TESTS_CACHE";

/// Does what NVRTC does, but compile: every cubin is `cubin`.
const TEXT: &str = r#"
#include <cstdlib>
#include <cstring>
static int outcome(const char* call, int error) {
    const char* fails = std::getenv("SCAN_TESTS_NVRTC_FAILS_AT");
    return fails && !std::strcmp(fails, call) ? error : 0;
}
extern "C" {
int nvrtcVersion(int* major, int* minor) { *major = 13; *minor = 0; return outcome("nvrtcVersion", 11); }
#ifndef WITHOUT_COMPILER
int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*, const char* const*) {
    *program = std::malloc(1);
    return outcome("nvrtcCreateProgram", 1);
}
int nvrtcCompileProgram(void*, int, const char* const*) {
    return outcome("rejects", 6) + outcome("nvrtcCompileProgram", 1);
}
#endif
int nvrtcGetProgramLogSize(void*, std::size_t* size) { *size = 4; return outcome("nvrtcGetProgramLogSize", 11); }
int nvrtcGetProgramLog(void*, char* log) { std::strcpy(log, "log"); return outcome("nvrtcGetProgramLog", 11); }
int nvrtcGetCUBINSize(void*, std::size_t* size) { *size = 5; return outcome("nvrtcGetCUBINSize", 11); }
int nvrtcGetCUBIN(void*, char* cubin) { std::memcpy(cubin, "cubin", 5); return outcome("nvrtcGetCUBIN", 11); }
int nvrtcGetPTXSize(void*, std::size_t* size) { *size = 4; return outcome("nvrtcGetPTXSize", 11); }
int nvrtcGetPTX(void*, char* ptx) { std::strcpy(ptx, "ptx"); return outcome("nvrtcGetPTX", 11); }
int nvrtcDestroyProgram(void** program) { std::free(*program); *program = nullptr; return 0; }
const char* nvrtcGetErrorString(int) { return "an error"; }
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
    let ask = || nvrtc::cached(&source, "Sum", Architecture { major: 9, minor: 0 }, Some(&cache));
    let answers: Vec<Result<_, Error>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for answer in answers {
        match answer {
            Ok(cached) => println!("\nanswer: {} bytes", cached.cubin.len()),
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

fn run(library: &Path, fails_at: &str, cache: &Path) -> Vec<String> {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "nvrtc_fails::child", "--nocapture", "--test-threads", "1"]);
    command.env(CACHE_OF_CHILD, cache).env(nvrtc::LIBRARY_VARIABLE, library).env(FAILS_AT, fails_at);
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
        "nvrtcCreateProgram",
        "nvrtcCompileProgram",
        "nvrtcGetProgramLogSize",
        "nvrtcGetProgramLog",
        "nvrtcGetCUBINSize",
        "nvrtcGetCUBIN",
    ] {
        for answer in run(&LIBRARIES[0], call, &cache) {
            assert!(answer.contains(call) && answer.contains("NVRTC_ERROR"), "{call}: {answer}");
        }
    }
    for answer in run(&LIBRARIES[0], "rejects", &cache) {
        assert!(answer.contains("Sum") && answer.contains("sm_90") && answer.contains("log"), "{answer}");
    }
    // The next process's compiler works, and is asked.
    assert_eq!(run(&LIBRARIES[0], "nowhere", &cache), ["5 bytes"; 4]);
    // Another process's does not, and is not asked.
    assert_eq!(run(&LIBRARIES[0], "nvrtcCreateProgram", &cache), ["5 bytes"; 4]);
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
