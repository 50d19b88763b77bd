use super::{Example, below, each_prefix};
use scan_runtime::gallery::argmax::{ArgMax, Placed};

impl Example for ArgMax {
    fn new() -> Self {
        ArgMax
    }
    /// Scores with many ties, slowly rising.
    fn input(len: usize) -> Vec<Placed> {
        (0..len).map(|i| Placed { value: (below(40, i) + i as u64 / 50) as f32 * 0.5, place: i as u32 }).collect()
    }
    fn expected(&self, input: &[Placed]) -> Vec<u32> {
        each_prefix(input, 0_usize, |best, x| {
            let largest = input[*best].value;
            if x.value.total_cmp(&largest).is_gt() {
                *best = x.place as usize;
            }
            *best as u32
        })
    }
}
