//! Permutations: the order of eight cards after each of many swaps.

use super::{Example, below, each_prefix};
use scan_runtime::{ScanOp, scan_op};

/// Which card lies at each place.
type Order = [u8; 8];

/// The order after swaps of neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Shuffle;

#[scan_op(laws = [0, 1, 2, 3, 4, 5, 6])]
impl ScanOp for Shuffle {
    /// The place from 0 to 6 whose card changes places with the next.
    type Input = u8;
    type State = Order;
    type Output = Order;
    const IDENTITY: Order = [0, 1, 2, 3, 4, 5, 6, 7];
    fn lift(place: u8) -> Order {
        let mut order: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
        order[place as usize] = place + 1;
        order[place as usize + 1] = place;
        order
    }
    fn combine(a: Order, b: Order) -> Order {
        let mut order = a;
        for place in 0..8_usize {
            order[place] = a[b[place] as usize];
        }
        order
    }
}

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
