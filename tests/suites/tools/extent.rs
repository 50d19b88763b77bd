//! Which programs a quick run leaves out: see [`scan_tests::extent`].

use std::collections::HashSet;

use scan_tests::extent::{cover, lines};

fn chosen(texts: &[&str]) -> Vec<usize> {
    let texts: Vec<HashSet<u64>> = texts.iter().map(|text| lines(text).collect()).collect();
    cover(&texts, &mut HashSet::new()).into_iter().collect()
}

#[test]
fn a_text_whose_lines_occur_in_others_is_left_out_apart_from_numbers() {
    assert_eq!(chosen(&["a1;", "b;\n\n  a2; // c", "b;\nd;"]), [1, 2]);
    assert_eq!(chosen(&["a;\nb;", "c;\nd;", "a;\nb;\nc;\nd;"]), [2]);
    assert_eq!(chosen(&["x;\n// ---- The types\na;", "y;\n// ---- The types\na;"]), [0]);
}
