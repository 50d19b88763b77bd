//! An axis to scan along, of a shape that is given or of arrays that have one.

use scan_codegen::Axis;

/// An axis to scan along: an [`Axis`] of a given shape, or the number of one of arrays that have a shape themselves,
/// such as `ndarray` arrays. Numbers below 0 count from the end: -1 is the last axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Along(pub(crate) AxisOf);

/// What an axis is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AxisOf {
    /// Of a shape.
    Shape(Axis),
    /// Of the shape that the arrays of the call have.
    Arrays(isize),
}

impl From<Axis> for Along {
    fn from(axis: Axis) -> Self {
        Along(AxisOf::Shape(axis))
    }
}

impl From<isize> for Along {
    fn from(axis: isize) -> Self {
        Along(AxisOf::Arrays(axis))
    }
}

impl From<i32> for Along {
    fn from(axis: i32) -> Self {
        Along(AxisOf::Arrays(axis as isize))
    }
}

impl From<usize> for Along {
    fn from(axis: usize) -> Self {
        // No array has that many axes: the run gives an error.
        Along(AxisOf::Arrays(isize::try_from(axis).unwrap_or(isize::MAX)))
    }
}

#[cfg(feature = "ndarray")]
impl From<ndarray::Axis> for Along {
    fn from(axis: ndarray::Axis) -> Self {
        axis.index().into()
    }
}
