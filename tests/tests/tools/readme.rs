//! The README's table of counts and its pictures are what the emulator counts and draws.
//!
//! When the kernels change, `UPDATE_README=1 cargo test -p scan-tests --test tools readme` writes them anew.

use std::{env, fs, path::PathBuf};

use scan_runtime::{Network, Workers};
use scan_tests::explain::{banks_table, counts_table, network_picture};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Compares a file with what it should be, or writes it where that is asked for.
fn check(name: &str, expected: &str) {
    let path = path(name);
    if env::var_os("UPDATE_README").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let update = "UPDATE_README=1 cargo test -p scan-tests --test tools readme";
    assert!(found == expected, "{name} is not up to date; `{update}` writes it anew. It should be:\n{expected}");
}

#[test]
fn the_tables_are_what_is_counted() {
    let mut readme = fs::read_to_string(path("README.md")).unwrap().replace("\r\n", "\n");
    for (name, table) in [("counts", counts_table().unwrap()), ("bank cycles", banks_table().unwrap())] {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let start = readme.find(&begin).unwrap_or_else(|| panic!("no table of {name}")) + begin.len();
        let end = start + readme[start..].find(&end).unwrap_or_else(|| panic!("the table of {name} does not end"));
        readme.replace_range(start..end, &format!("\n{table}\n"));
    }
    check("README.md", &readme);
}

#[test]
fn the_pictures_are_what_is_drawn() {
    check("docs/kogge_stone.svg", &network_picture(Network::KoggeStone).unwrap());
    let brent_kung = Network::BrentKung { workers: Workers::Contiguous, padded: false };
    check("docs/brent_kung.svg", &network_picture(brent_kung).unwrap());
}
