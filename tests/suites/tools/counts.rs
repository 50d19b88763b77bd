//! The tables of counts and the pictures in `docs/counts.md` are what the emulator counts and draws.
//!
//! When the kernels change, `UPDATE_COUNTS=1 cargo test -p scan-tests --test tools counts` writes them anew.

use std::{env, fs, path::PathBuf};

use scan_runtime::{Network, Workers};
use scan_tests::explain::{banks_table, counts_table, network_picture, traffic_picture};

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Compares a file with what it should be, or writes it where that is asked for.
pub(crate) fn check(name: &str, expected: &str) {
    let path = path(name);
    if env::var_os("UPDATE_COUNTS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let update = "UPDATE_COUNTS=1 cargo test -p scan-tests --test tools -- counts tile_states charts explorer";
    assert!(found == expected, "{name} is not up to date; `{update}` writes it anew. It should be:\n{expected}");
}

#[test]
fn tables_in_the_docs_are_those_counted_now() {
    let mut page = fs::read_to_string(path("docs/counts.md")).unwrap().replace("\r\n", "\n");
    for (name, table) in [("counts", counts_table().unwrap()), ("bank cycles", banks_table().unwrap())] {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let start = page.find(&begin).unwrap_or_else(|| panic!("no table of {name}")) + begin.len();
        let end = start + page[start..].find(&end).unwrap_or_else(|| panic!("the table of {name} does not end"));
        page.replace_range(start..end, &format!("\n{table}\n"));
    }
    check("docs/counts.md", &page);
}

#[test]
fn pictures_in_the_docs_are_those_drawn_now() {
    check("docs/kogge_stone.svg", &network_picture(Network::KoggeStone).unwrap());
    let brent_kung = Network::BrentKung { workers: Workers::Contiguous, padded: false };
    check("docs/brent_kung.svg", &network_picture(brent_kung).unwrap());
    check("docs/blelloch.svg", &network_picture(Network::Blelloch { padded: false }).unwrap());
    check("docs/traffic.svg", &traffic_picture().unwrap());
}
