use super::{Example, each_prefix};
use scan_runtime::gallery::automaton::{CODE, COMMENT, ESCAPE, Lexer, STRING};

impl Example for Lexer {
    fn new() -> Self {
        Lexer
    }
    fn input(len: usize) -> Vec<u8> {
        let text = b"name = \"a \\\"quoted\\\" # word\" # a \"comment\"\npath = \"C:\\\\\"\nn = 3 # \\ \n";
        text.iter().copied().cycle().take(len).collect()
    }
    /// Byte by byte, as lexers are written.
    fn expected(&self, input: &[u8]) -> Vec<u8> {
        each_prefix(input, CODE, |state, byte| {
            *state = match (*state, byte) {
                (CODE, b'"') => STRING,
                (CODE, b'#') => COMMENT,
                (STRING, b'"') => CODE,
                (STRING, b'\\') => ESCAPE,
                (ESCAPE, _) => STRING,
                (COMMENT, b'\n') => CODE,
                (state, _) => state,
            };
            *state
        })
    }
}
