//! Results that include the initial value, in either memory.

use scan_codegen::{Axis, WithInitial};

use crate::{Error, cpu::Order, error::expect_len, heads::HeadKind};

/// The scans of a call over `len` elements, along this axis or between these heads.
pub(crate) fn with_initial(
    axis: Option<&Axis>,
    heads: HeadKind,
    order: Order,
    len: usize,
) -> Result<WithInitial, Error> {
    let axis = match (axis, heads) {
        (Some(axis), _) => axis.clone(),
        (None, HeadKind::None) => Axis::of(&[len], 0)?,
        (None, HeadKind::Rows { len: row }) if len.is_multiple_of(row) => {
            Axis::of(&[len.checked_div(row).unwrap_or(0), row], 1)?
        }
        (None, HeadKind::Rows { len: row }) => return Err(Error::RowLength { row, len }),
        (None, _) => return refused("segments have other lengths than rows; take `.with_totals()` beside the results"),
    };
    Ok(axis.with_initial(order == Order::Reversed)?)
}

pub(crate) fn refused<T>(why: &'static str) -> Result<T, Error> {
    Err(Error::IncludeInitial { why })
}

pub(crate) const IN_PLACE: &str = "they cannot take the place of the elements; use `run_into`";
pub(crate) const NO_PLACES: &str = "they are written to slices; pass slices, or discard them";

/// An error unless memory of `found` results has room for all.
pub(crate) fn check_results(results: &Axis, found: usize) -> Result<(), Error> {
    let needed = results.output_len();
    if found < needed || needed == results.len() {
        let why = "`include_initial` writes n + 1 results for the n elements of each row or column";
        return expect_len("output", found, needed, why);
    }
    Ok(())
}
