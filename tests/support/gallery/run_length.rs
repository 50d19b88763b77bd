use super::{Example, below, each_prefix};
use scan_runtime::gallery::run_length::RunLength;

impl Example for RunLength {
    fn new() -> Self {
        RunLength
    }
    /// A line of a black and white picture.
    fn input(len: usize) -> Vec<u8> {
        each_prefix(&(0..len).collect::<Vec<_>>(), 0_u8, |colour, i| {
            if below(6, i) == 0 {
                *colour = 255 - *colour;
            }
            *colour
        })
    }
    fn expected(&self, input: &[u8]) -> Vec<u32> {
        let start = |end: usize| input[..end].iter().rev().take_while(|&&value| value == input[end]).count();
        (0..input.len()).map(|end| start(end) as u32 + 1).collect()
    }
}
