//! The union of intervals: how many quarters of an hour of a day are booked, after each booking. A day has 96 quarters, and so
//! a set of them is 96 bits of a `u128`.

use super::{Example, below, each_prefix};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// From one quarter to another, the last not included.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Booking {
    from: u8,
    to: u8,
}

/// The number of quarters that are booked.
#[derive(Clone, Copy, Debug)]
pub struct Booked;

#[scan_op]
impl ScanOp for Booked {
    type Input = Booking;
    type State = u128;
    type Output = u8;
    const IDENTITY: u128 = 0;
    fn lift(x: Booking) -> u128 {
        let before = (1_u128 << x.from) - 1;
        let until = (1_u128 << x.to) - 1;
        until & !before
    }
    fn combine(a: u128, b: u128) -> u128 {
        a | b
    }
    fn project(s: u128) -> u8 {
        s.count_ones() as u8
    }
}

impl Example for Booked {
    fn new() -> Self {
        Booked
    }
    /// Meetings of up to an hour and a half, by day.
    fn input(len: usize) -> Vec<Booking> {
        let from = |i: usize| 28 + below(48, i) as u8;
        (0..len).map(|i| Booking { from: from(i), to: from(i) + below(7, !i) as u8 }).collect()
    }
    fn expected(&self, input: &[Booking]) -> Vec<u8> {
        each_prefix(input, [false; 96], |day, booking| {
            day[booking.from.into()..booking.to.into()].fill(true);
            day.iter().filter(|&&quarter| quarter).count() as u8
        })
    }
}
