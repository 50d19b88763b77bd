//! Shapes of arrays: slices have none, arrays of several dimensions have one.

use crate::{Error, ScanElement};

/// The shape of the arrays of an input or of an output.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shaped {
    pub(crate) shape: Vec<usize>,
    /// The strides, in items, where all arrays have the same and fill their memory.
    pub(crate) strides: Option<Vec<isize>>,
}

impl Shaped {
    /// Of two arrays of one call, of which one may have no shape.
    pub(crate) fn common(first: Option<Self>, second: Option<Self>) -> Result<Option<Self>, Error> {
        match (first, second) {
            (Some(first), Some(second)) if first.shape != second.shape => {
                Err(Error::AxisShapes { first: first.shape, second: second.shape })
            }
            (Some(first), Some(second)) if first == second => Ok(Some(first)),
            (Some(shaped), _) | (None, Some(shaped)) => Ok(Some(Shaped { strides: None, ..shaped })),
            (None, None) => Ok(None),
        }
    }
}

/// What results in new memory are: vectors, or arrays of some dimensions.
#[doc(hidden)]
pub trait Shape {
    type New<Y>;
    /// Without the axis along which it was reduced.
    type Reduced<Y>;
    /// Results of this shape, with these strides, which leave no gaps.
    fn new<Y: ScanElement>(results: Vec<Y>, shape: &[usize], strides: &[isize]) -> Result<Self::New<Y>, Error>;
    /// Results of this shape, contiguous, the last index the fastest. Those of segments have none.
    fn reduced<Y>(results: Vec<Y>, shape: Option<&[usize]>) -> Result<Self::Reduced<Y>, Error>;
}

/// No shape.
#[doc(hidden)]
#[derive(Debug)]
pub enum Flat {}

impl Shape for Flat {
    type New<Y> = Vec<Y>;
    type Reduced<Y> = Vec<Y>;
    #[inline(always)]
    fn new<Y: ScanElement>(results: Vec<Y>, _: &[usize], _: &[isize]) -> Result<Vec<Y>, Error> {
        Ok(results)
    }
    #[inline(always)]
    fn reduced<Y>(results: Vec<Y>, _: Option<&[usize]>) -> Result<Vec<Y>, Error> {
        Ok(results)
    }
}
