//! The order of eight cards after many swaps.
//!
//! A swap is a permutation. Permutations compose, which is associative, but not commutative.

use crate::{ScanOp, scan_op};

/// The card at each place.
pub type Order = [u8; 8];

/// The order of eight cards after swaps of neighbours.
///
/// - Input: the place, from 0 to 6, whose card is swapped with that of the next place.
/// - Output: the card at each place. At first, card `i` is at place `i`.
/// - Source: D. E. Knuth, *The Art of Computer Programming*, volume 1, section 1.3.3, *Applications to Permutations*.
///
/// ```
/// use scan_runtime::{Scanner, gallery::permutations::Shuffle};
///
/// let orders = Scanner::new()?.scan(Shuffle).run(&[0, 1])?;
/// assert_eq!(orders, [[1, 0, 2, 3, 4, 5, 6, 7], [1, 2, 0, 3, 4, 5, 6, 7]]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shuffle;

#[scan_op(crate = crate, laws = [0, 1, 2, 3, 4, 5, 6])]
impl ScanOp for Shuffle {
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
    fn append(s: Order, place: u8) -> Order {
        // Four bits for each place, from the first on: where its card comes from. Neighbours differ by these bits.
        let differ = (place ^ (place + 1)) as u32 * 0x11;
        let places = 0x7654_3210 ^ differ << (4 * place);
        let mut order = s;
        for at in 0..8_usize {
            order[at] = s[(places >> (4 * at) & 7) as usize];
        }
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
