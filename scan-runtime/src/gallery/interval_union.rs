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
    /// The quarters of either half of the day.
    type State = [u64; 2];
    type Output = u8;
    const IDENTITY: [u64; 2] = [0, 0];
    fn lift(x: Booking) -> [u64; 2] {
        let (from, to) = (from_on(x.from), from_on(x.to));
        [from[0] & !to[0], from[1] & !to[1]]
    }
    fn combine(a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
        [a[0] | b[0], a[1] | b[1]]
    }
    fn project(s: [u64; 2]) -> u8 {
        (s[0].count_ones() + s[1].count_ones()) as u8
    }
}

/// All quarters from this one on, and more bits beyond either half's 48.
#[scan_fn(crate = crate)]
fn from_on(quarter: u8) -> [u64; 2] {
    let quarter = quarter as i32;
    let (before_noon, after_noon) = (quarter.clamp(0, 48), (quarter - 48).clamp(0, 48));
    [0xffff_ffff_ffff_ffff_u64 << before_noon, 0xffff_ffff_ffff_ffff_u64 << after_noon]
}
