use super::{Example, each_prefix};
use scan_runtime::gallery::brackets::Depth;

impl Example for Depth {
    fn new() -> Self {
        Depth
    }
    /// Source text; in its last eighth there is one closing bracket too many.
    fn input(len: usize) -> Vec<u8> {
        let text = b"fn f(x: [u8; 4]) { g(h(x[0]), { y + (1 * z) }); } struct S { a: (u8, u8) } mod m { ";
        let mut input: Vec<u8> = text.iter().copied().cycle().take(len).collect();
        for (index, byte) in input.iter_mut().enumerate() {
            if index >= len - len / 8 && byte.is_ascii_alphabetic() {
                *byte = b'}';
            }
        }
        input
    }
    fn expected(&self, input: &[u8]) -> Vec<i32> {
        each_prefix(input, Some(0_i32), |depth, byte| {
            if b"([{".contains(&byte) {
                *depth = depth.map(|depth| depth + 1);
            } else if b")]}".contains(&byte) {
                *depth = depth.and_then(|depth| if depth > 0 { Some(depth - 1) } else { None });
            }
            depth.unwrap_or(-1)
        })
    }
}
