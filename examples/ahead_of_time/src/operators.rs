//! What is scanned, and how: for the program and for its build script.

use scan_runtime::{Scan, Scanner, scan_element, scan_op};

/// A month of an account: `balance * growth + payment`.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Month {
    pub growth: f64,
    pub payment: f64,
}

/// Two stretches of months, one after the other.
#[scan_op(identity = Month { growth: 1.0, payment: 0.0 })]
pub fn then(f: Month, g: Month) -> Month {
    Month { growth: f.growth * g.growth, payment: g.growth * f.payment + g.payment }
}

/// The balance after each month.
pub fn balances(scanner: &Scanner, start: f64) -> Scan<then> {
    scanner.scan(then).init(Month { growth: 0.0, payment: start })
}
