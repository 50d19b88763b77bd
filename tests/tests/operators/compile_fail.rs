//! What the macros say of mistakes: each case is a file, its messages beside it, read as a user would read them.

#[test]
fn messages() {
    trybuild::TestCases::new().compile_fail("compile-fail/*.rs");
}
