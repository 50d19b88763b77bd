use super::{Example, below, each_prefix};
use scan_runtime::gallery::interval_union::{Booked, Booking};

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
