//! Runs commands in processes of their own, whose environment variables are their own.

use super::output;

/// Told to a child: the arguments of the program.
const ARGUMENTS: &str = "SCAN_TEST_ARGUMENTS";

#[test]
fn child() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    println!("\nbegin\n{}end", output(&arguments.split_whitespace().collect::<Vec<_>>()));
    println!("NVRTC is loaded: {}", scan_runtime::nvrtc::is_loaded());
}

fn process(arguments: &str, variables: &[(&str, &str)]) -> String {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::processes::child", "--nocapture", "--test-threads", "1"]);
    command.env(ARGUMENTS, arguments).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text[text.find("begin\n").unwrap() + 6..].to_owned()
}

#[test]
fn missing_parts_are_reported_with_the_command_that_fixes_them() {
    let report = process("", &[("SCAN_NVRTC", "off"), ("SCAN_CACHE", "off")]);
    assert!(report.contains("NVRTC            none\n"), "{report}");
    assert!(report.contains("SCAN_NVRTC says `off`; to fix it:\n                   unset SCAN_NVRTC"), "{report}");
    assert!(report.contains("kernels on disk  none: SCAN_CACHE is `off`"), "{report}");
    assert!(report.contains("NVRTC is loaded: false"), "{report}");

    // What is named and is no library; every place says what is there.
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libnvrtc.so.13");
    std::fs::write(&library, b"no library").unwrap();
    let (library, folder) = (library.to_str().unwrap(), folder.path().to_str().unwrap());
    for named in [library, folder] {
        let report = process("doctor --verbose", &[("SCAN_NVRTC", named)]);
        assert!(report.contains(&format!("looked into    {named}: libnvrtc.so.13")), "{report}");
        assert!(report.contains(&format!("NVRTC at {library} cannot be used: ")), "{report}");
        assert!(report.contains("python3 -m pip install 'nvidia-cuda-nvrtc"), "{report}");
    }
    let report = process("doctor --verbose", &[("SCAN_NVRTC", "/no/such/folder")]);
    assert!(report.contains("looked into    /no/such/folder: not there"), "{report}");
}

#[cfg(unix)]
#[test]
fn a_folder_of_kernels_that_is_not_used_is_said_to_be_so() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let report = process("", &[("SCAN_NVRTC", "off"), ("SCAN_CACHE", folder.path().to_str().unwrap())]);
    let line = format!("kernels on disk  {} is not used: others may write to it", folder.path().display());
    assert!(report.contains(&line) && report.contains("set SCAN_CACHE to another folder"), "{report}");
}

/// Where `pip` puts what the command for NVRTC installs is where it is looked for, whoever manages the Pythons.
#[test]
fn libraries_that_pip_installed_are_found() {
    let folder = tempfile::tempdir().unwrap();
    for (binaries, python) in [
        ("plain/bin", "plain"),
        ("pyenv/shims", "pyenv/versions/3.11.7"),
        ("mise/shims", "mise/installs/python/3.13.1"),
        ("links", "elsewhere/cpython-3.12"),
    ] {
        let (binaries, python) = (folder.path().join(binaries), folder.path().join(python));
        let packages = python.join("lib/python3.12/site-packages/nvidia/cu13/lib");
        for folder in [&binaries, &python.join("bin"), &packages] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(python.join("bin/python3.12"), "").unwrap();
        let python3 = binaries.join("python3");
        if binaries.ends_with("links") {
            std::os::unix::fs::symlink(python.join("bin/python3.12"), python3).unwrap();
        } else {
            std::fs::write(python3, "").unwrap();
        }
        std::fs::write(packages.join("libnvrtc.so.13"), b"no library").unwrap();
        let report = process("doctor --verbose", &[("PATH", binaries.to_str().unwrap()), ("SCAN_NVRTC", "")]);
        let packages = packages.canonicalize().unwrap();
        assert!(report.contains(&format!("{}: libnvrtc.so.13", packages.display())), "{report}");
    }
}

#[test]
fn the_cache_is_shown_and_cleared_without_loading_anything() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let entry = folder.path().join(format!("{}.cubin", "0".repeat(64)));
    let mut bytes = b"SCANCUB1".to_vec();
    bytes.resize(3 << 20, 0);
    let (cache, clear) = (&[("SCAN_CACHE", place)], format!("from {place}"));
    std::fs::write(&entry, &bytes).unwrap();
    let shown = process("cache", cache);
    assert!(shown.contains(&format!("1 entries, 3.0 MiB of 256 at the most, in {place}")), "{shown}");
    let cleared = process("cache --clear", cache);
    assert!(cleared.contains("removed 1 entries, 3.0 MiB") && cleared.contains(&clear), "{cleared}");
    assert!(!entry.exists());
    assert!(cleared.contains("NVRTC is loaded: false"), "{cleared}");
    let plan = process("plan max i32", cache);
    assert!(plan.starts_with("inclusive scan") && plan.contains("NVRTC is loaded: false"), "{plan}");
}
