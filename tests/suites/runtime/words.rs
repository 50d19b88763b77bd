//! Every word of a call over host memory.

use scan_runtime::Scanner;
use scan_tests::words;

#[test]
fn every_word_of_a_call_means_the_same_of_any_run() {
    words::on_host(&Scanner::cpu()).unwrap();
}
