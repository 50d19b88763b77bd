//! Inputs and outputs whose fields lie in arrays of their own.

use crate::{
    Error, ScanElement,
    error::expect_output,
    sealed::{ByMacro, Sealed},
};

/// An element whose fields can be in arrays of their own (a struct of arrays). A tuple of these arrays is an
/// [input](crate::arrays::Input) or an [output](crate::arrays::Output).
///
/// `#[scan_element]` implements it for structs of up to 16 fields: its arrays are then a tuple, one for each field in the
/// order of declaration. Of a struct with other visibility than its fields, these must be primitives or arrays of
/// primitives. The module [`arrays`](crate::arrays) has the
/// kinds of arrays besides slices.
///
/// # Safety
///
/// [`Tuple`](Fields::Tuple) has the types of the fields that the layout tells of, in their order.
/// `#[scan_element]` sees to it; nothing else can implement the trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fields that can be in arrays of their own",
    label = "one array instead of a tuple",
    note = "a tuple of arrays is for a struct marked `#[scan_element]`, with at most 16 fields, each as visible as the struct or a primitive"
)]
pub unsafe trait Fields: Sized {
    #[doc(hidden)]
    const SEALED: ByMacro;
    /// The fields, as a tuple.
    #[doc(hidden)]
    type Tuple: FieldTuple;
    #[doc(hidden)]
    fn from_fields(fields: Self::Tuple) -> Self;
    #[doc(hidden)]
    fn into_fields(self) -> Self::Tuple;
}

/// An array in host memory; or one without memory, whose items are their indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostArray {
    /// Without memory the index of the first item, as an address.
    pub(crate) at: *mut u8,
    /// Bytes of an item, 0 without memory.
    pub(crate) item: usize,
}

impl HostArray {
    /// The array from an item on.
    pub(crate) fn starting_at(self, index: usize) -> Self {
        HostArray { at: self.at.wrapping_add(index * self.item.max(1)), ..self }
    }
}

impl Default for HostArray {
    fn default() -> Self {
        HostArray { at: std::ptr::null_mut(), item: 0 }
    }
}

/// The fields of an element.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[doc(hidden)]
pub unsafe trait FieldTuple: Copy + Send + Sync + 'static {
    const SEALED: Sealed;
}

/// Calls a macro with the tuples of up to 15 fields: of each field the type parameters of it and of its array, and its
/// index.
macro_rules! for_tuples_of_fifteen {
    ($macro:ident) => {
        $macro! {
            (A A1 0)
            (A A1 0, B B1 1)
            (A A1 0, B B1 1, C C1 2)
            (A A1 0, B B1 1, C C1 2, D D1 3)
            (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4)
            (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4, F F1 5)
            (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4, F F1 5, G G1 6)
            (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4, F F1 5, G G1 6, H H1 7)
            (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4, F F1 5, G G1 6, H H1 7, I I1 8)
            (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4, F F1 5, G G1 6, H H1 7, I I1 8, J J1 9)
            (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4, F F1 5, G G1 6, H H1 7, I I1 8, J J1 9, K K1 10)
            (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4, F F1 5, G G1 6, H H1 7, I I1 8, J J1 9, K K1 10, L L1 11)
            (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4, F F1 5, G G1 6, H H1 7, I I1 8, J J1 9, K K1 10, L L1 11, M M1 12)
            (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4, F F1 5, G G1 6, H H1 7, I I1 8, J J1 9, K K1 10, L L1 11, M M1 12, N N1 13)
            (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4, F F1 5, G G1 6, H H1 7, I I1 8, J J1 9, K K1 10, L L1 11, M M1 12, N N1 13, O O1 14)
        }
    };
}

/// The same with the tuple of 16 fields.
macro_rules! for_tuples {
    ($macro:ident) => {
        $crate::arrays::fields::for_tuples_of_fifteen! { $macro }
        $macro! {
            (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4, F F1 5, G G1 6, H H1 7, I I1 8, J J1 9, K K1 10, L L1 11, M M1 12, N N1 13, O O1 14, P P1 15)
        }
    };
}

pub(crate) use {for_tuples, for_tuples_of_fifteen};

macro_rules! tuples {
    ($(($($field:ident $_array:ident $_index:tt),*))*) => {$(
        // SAFETY: these are fields.
        unsafe impl<$($field: ScanElement),*> FieldTuple for ($($field,)*) {
            const SEALED: Sealed = Sealed;
        }
    )*};
}

for_tuples! { tuples }

/// The lengths of several arrays, which have to be the same. Arrays without memory have any.
#[doc(hidden)]
#[derive(Debug)]
pub struct Lengths {
    what: &'static str,
    arrays: usize,
    len: Option<usize>,
    /// The first array of another length than those before it, and its length.
    odd: Option<(usize, usize)>,
}

impl Lengths {
    #[inline]
    pub(crate) fn of(what: &'static str) -> Self {
        Lengths { what, arrays: 0, len: None, odd: None }
    }

    #[inline]
    pub(crate) fn add(&mut self, len: Option<usize>) {
        match (len, self.len) {
            (Some(len), Some(first)) if len != first => _ = self.odd.get_or_insert((self.arrays, len)),
            _ => self.len = self.len.or(len),
        }
        self.arrays += 1;
    }

    #[inline]
    pub(crate) fn len(&self) -> Result<Option<usize>, Error> {
        match (self.odd, self.len) {
            (Some((array, len)), Some(first)) => Err(Error::ArrayLength { what: self.what, array, len, first }),
            (_, len) => Ok(len),
        }
    }
}

/// How many elements there are, where these are as many as the input and the output have.
#[inline]
pub(crate) fn common_len(input: Option<usize>, output: Option<usize>) -> Result<usize, Error> {
    match (input, output) {
        (Some(input), Some(output)) => expect_output(input, output).map(|()| input),
        (Some(len), _) | (None, Some(len)) => Ok(len),
        (None, None) => Err(Error::UnknownLength),
    }
}
