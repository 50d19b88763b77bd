//! An operator whose elements, partial results and outputs are of three types, for every kernel that lifts and projects.

use scan_runtime::{ScanOp, scan_element, scan_op};

use crate::operators::mixed;

/// An affine mapping, in two bytes.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Narrow {
    /// The factor.
    pub a: u8,
    /// What is added.
    pub b: u8,
}

/// It as it is composed.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mapping {
    /// The factor.
    pub a: u32,
    /// What is added.
    pub b: u32,
}

/// It in sixteen bytes.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wide {
    /// The factor.
    pub a: u64,
    /// What is added.
    pub b: u64,
}

/// Composes affine mappings, which is not commutative.
#[derive(Clone, Copy, Debug)]
pub struct Lifting;

#[scan_op]
impl ScanOp for Lifting {
    type Input = Narrow;
    type State = Mapping;
    type Output = Wide;
    const IDENTITY: Mapping = Mapping { a: 1, b: 0 };
    fn lift(x: Narrow) -> Mapping {
        Mapping { a: x.a as u32 | 1, b: x.b as u32 + 7 }
    }
    fn combine(f: Mapping, g: Mapping) -> Mapping {
        Mapping { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn project(f: Mapping) -> Wide {
        Wide { a: (f.b as u64) << 32 | f.a as u64, b: f.b as u64 + 1 }
    }
}

/// So many elements.
pub fn inputs(len: usize) -> Vec<Narrow> {
    (0..len as u64).map(|i| Narrow { a: mixed(i) as u8, b: (mixed(i) >> 8) as u8 }).collect()
}

/// A value that is not the identity.
pub const INITIAL_VALUE: Mapping = Mapping { a: 3, b: 5 };
