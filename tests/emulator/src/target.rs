//! Where this build puts what it makes.

use std::path::{Path, PathBuf};

/// Cargo's target folder, or the folder of the running program where it was carried away from there.
pub fn target_dir() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| format!("the running program has no path: {error}"))?;
    let folder = program.parent().unwrap_or(Path::new("."));
    // Cargo marks its target folder with this file. `--target` marks a folder inside it too, hence the last one.
    let marked = folder.ancestors().filter(|ancestor| ancestor.join("CACHEDIR.TAG").is_file()).last();
    Ok(marked.unwrap_or(folder).to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_test_finds_the_target_folder_it_was_built_in() {
        let target = super::target_dir().unwrap();
        let program = std::env::current_exe().unwrap();
        assert!(program.starts_with(&target));
        assert!(target.join("CACHEDIR.TAG").is_file(), "{} is no target folder", target.display());
    }
}
