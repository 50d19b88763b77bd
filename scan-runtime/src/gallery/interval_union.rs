//! The union of intervals: the booked time of a day.
//!
//! A day has 96 quarters of an hour, so a set of them is 96 bits, 48 for each half of the day. The union of sets is
//! associative.

use crate::{ScanOp, scan_element, scan_fn, scan_op};

/// A range of quarters of an hour since midnight.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Booking {
    /// The first quarter.
    pub from: u8,
    /// The quarter after the last one: not below `from`, and at most 96.
    pub to: u8,
}

/// The number of quarters of an hour of a day that are booked, after each booking.
///
/// - Input: a booking, in quarters of an hour since midnight. Bookings may overlap, and come in any order.
/// - Output: the booked time so far, in quarters of an hour, from 0 to 96.
/// - Source: the measure of a union of intervals, V. Klee, *Can the Measure of ∪[aᵢ, bᵢ] be Computed in Less Than O(n
///   log n) Steps?*, American Mathematical Monthly 84, 1977. On a grid as here it is the number of bits of a set.
///
/// ```
/// use scan_runtime::{Scanner, gallery::interval_union::{Booked, Booking}};
///
/// // From 9:00 to 10:00, and from 9:30 to 10:30: an hour and a half.
/// let bookings = [Booking { from: 36, to: 40 }, Booking { from: 38, to: 42 }];
/// assert_eq!(Scanner::new()?.scan(Booked).run(&bookings)?, [4, 6]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Booked;

#[scan_op(crate = crate)]
impl ScanOp for Booked {
    type Input = Booking;
    /// The quarters of each third of the day.
    type State = [u32; 3];
    type Output = u8;
    const IDENTITY: [u32; 3] = [0, 0, 0];
    fn lift(x: Booking) -> [u32; 3] {
        let (from, to) = (from_on(x.from), from_on(x.to));
        [from[0] & !to[0], from[1] & !to[1], from[2] & !to[2]]
    }
    fn combine(a: [u32; 3], b: [u32; 3]) -> [u32; 3] {
        [a[0] | b[0], a[1] | b[1], a[2] | b[2]]
    }
    fn project(s: [u32; 3]) -> u8 {
        // The sum of three bits is a bit, and another one that counts twice.
        let (once, twice) = (s[0] ^ s[1] ^ s[2], s[0] & s[1] | s[0] & s[2] | s[1] & s[2]);
        (once.count_ones() + 2 * twice.count_ones()) as u8
    }
}

/// All quarters from this one on.
#[scan_fn(crate = crate)]
fn from_on(quarter: u8) -> [u32; 3] {
    let first = 0xffff_ffff_ffff_ffff_u64.unbounded_shl(quarter as u32);
    let last = 0xffff_ffff_u32.unbounded_shl((quarter as i32 - 64).clamp(0, 32) as u32);
    [first as u32, (first >> 32) as u32, last]
}
