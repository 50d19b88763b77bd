use super::{Example, below, each_prefix};
use scan_runtime::gallery::permutations::{Order, Shuffle};

impl Example for Shuffle {
    fn new() -> Self {
        Shuffle
    }
    fn input(len: usize) -> Vec<u8> {
        (0..len).map(|i| below(7, i) as u8).collect()
    }
    fn expected(&self, input: &[u8]) -> Vec<Order> {
        each_prefix(input, [0, 1, 2, 3, 4, 5, 6, 7], |cards, place| {
            cards.swap(place as usize, place as usize + 1);
            *cards
        })
    }
}
