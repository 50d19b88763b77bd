//! The arrays of all fields of an element: a tuple of them, or one array of elements.

use scan_codegen::ArrayKind;

use super::{
    Fields, Whole,
    kinds::{Lanes, PlacedAt, ScatterComputed, Sink, Source, check_computed},
};
use crate::{Error, ScanElement, room::room, sealed::Sealed};

/// The arrays of inputs with these fields in host memory: a tuple of [`Source`]s, or one.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are not the arrays of inputs that have the fields `{F}`",
    label = "not an array for each of the fields",
    note = "name an array for each field, in the order of declaration: slices, or what the module `arrays` makes; what has no fields lies in one array, which is no tuple"
)]
pub unsafe trait Sources<F: Fields> {
    #[doc(hidden)]
    const SEALED: Sealed;
    /// The kind of each array.
    #[doc(hidden)]
    const KINDS: &'static [ArrayKind];
    #[doc(hidden)]
    type Held;
    /// How many items each array has.
    #[doc(hidden)]
    fn items(&self, each: &mut dyn FnMut(Option<usize>));
    #[doc(hidden)]
    fn hold(self, lanes: Lanes<'_>) -> Result<Self::Held, Error>;
    #[doc(hidden)]
    fn at(held: &Self::Held) -> F::At;
}

/// The arrays of outputs with these fields in host memory: a tuple of [`Sink`]s, or one.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are not the arrays of outputs that have the fields `{F}`",
    label = "not an array for each of the fields",
    note = "name an array for each field, in the order of declaration: slices, or what the module `arrays` makes (in `scatter_computed` mutable slices alone, one for each field after the place); what has no fields lies in one array, which is no tuple"
)]
pub unsafe trait Sinks<F: Fields> {
    #[doc(hidden)]
    const SEALED: Sealed;
    /// The kind of each array.
    #[doc(hidden)]
    const KINDS: &'static [ArrayKind];
    #[doc(hidden)]
    type Held;
    #[doc(hidden)]
    fn items(&mut self, each: &mut dyn FnMut(Option<usize>));
    #[doc(hidden)]
    fn hold(self, len: usize, memory: bool) -> Result<Self::Held, Error>;
    #[doc(hidden)]
    fn at(held: &mut Self::Held) -> F::At;
    /// Moves what is held to where it belongs.
    ///
    /// # Safety
    ///
    /// All items have been written.
    #[doc(hidden)]
    unsafe fn finish(held: Self::Held) -> Result<(), Error>;
}

// SAFETY: the one array is that of the elements.
unsafe impl<T: ScanElement, S: Source<T>> Sources<Whole<T>> for S {
    const SEALED: Sealed = Sealed;
    const KINDS: &'static [ArrayKind] = &[S::KIND];
    type Held = S::Held;
    fn items(&self, each: &mut dyn FnMut(Option<usize>)) {
        each(Source::items(self));
    }
    fn hold(self, lanes: Lanes<'_>) -> Result<S::Held, Error> {
        Source::hold(self, 0, lanes)
    }
    fn at(held: &S::Held) -> *mut T {
        <S as Source<T>>::at(held)
    }
}

// SAFETY: as above.
unsafe impl<T: ScanElement, S: Sink<T>> Sinks<Whole<T>> for S {
    const SEALED: Sealed = Sealed;
    const KINDS: &'static [ArrayKind] = &[S::KIND];
    type Held = S::Held;
    fn items(&mut self, each: &mut dyn FnMut(Option<usize>)) {
        each(Sink::items(self));
    }
    fn hold(self, len: usize, memory: bool) -> Result<S::Held, Error> {
        Sink::hold(self, 0, len, memory)
    }
    fn at(held: &mut S::Held) -> *mut T {
        <S as Sink<T>>::at(held)
    }
    unsafe fn finish(held: S::Held) -> Result<(), Error> {
        // SAFETY: the caller vouches for the items.
        unsafe { <S as Sink<T>>::finish(held) };
        Ok(())
    }
}

macro_rules! tuples {
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        // SAFETY: the arrays are those of the fields, in their order.
        unsafe impl<$($field: ScanElement, $array: Source<$field>),*> Sources<($($field,)*)> for ($($array,)*) {
            const SEALED: Sealed = Sealed;
            const KINDS: &'static [ArrayKind] = &[$($array::KIND),*];
            type Held = ($($array::Held,)*);
            fn items(&self, each: &mut dyn FnMut(Option<usize>)) {
                $(each(self.$index.items());)*
            }
            fn hold(self, lanes: Lanes<'_>) -> Result<Self::Held, Error> {
                Ok(($(self.$index.hold($index, lanes)?,)*))
            }
            fn at(held: &Self::Held) -> ($(*mut $field,)*) {
                ($($array::at(&held.$index),)*)
            }
        }

        // SAFETY: as above.
        unsafe impl<$($field: ScanElement, $array: Sink<$field>),*> Sinks<($($field,)*)> for ($($array,)*) {
            const SEALED: Sealed = Sealed;
            const KINDS: &'static [ArrayKind] = &[$($array::KIND),*];
            type Held = ($($array::Held,)*);
            fn items(&mut self, each: &mut dyn FnMut(Option<usize>)) {
                $(each(self.$index.items());)*
            }
            fn hold(self, len: usize, memory: bool) -> Result<Self::Held, Error> {
                Ok(($(self.$index.hold($index, len, memory)?,)*))
            }
            fn at(held: &mut Self::Held) -> ($(*mut $field,)*) {
                ($($array::at(&mut held.$index),)*)
            }
            unsafe fn finish(held: Self::Held) -> Result<(), Error> {
                // SAFETY: the caller vouches for the items.
                unsafe { $($array::finish(held.$index);)* }
                Ok(())
            }
        }
    )*};
}

macro_rules! computed {
    (kind $index:tt) => { ArrayKind::Computed };
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        // SAFETY: what is held has room for so many items of each field.
        unsafe impl<'a, Place, $($field,)* $($array: ?Sized),*> Sinks<(Place, $($field,)*)>
            for ScatterComputed<($(&'a mut $array,)*)>
        where
            Place: ScanElement,
            $($field: PlacedAt<Place>, $array: AsMut<[<$field as PlacedAt<Place>>::Item]>,)*
        {
            const SEALED: Sealed = Sealed;
            const KINDS: &'static [ArrayKind] = &[ArrayKind::NoMemory, $(computed!(kind $index)),*];
            type Held = (usize, Vec<Place>, ($(Vec<$field>,)*), ($(&'a mut $array,)*));
            fn items(&mut self, each: &mut dyn FnMut(Option<usize>)) {
                (0..=[$($index),*].len()).for_each(|_| each(None));
            }
            fn hold(self, len: usize, _: bool) -> Result<Self::Held, Error> {
                Ok((len, room(len)?, ($(room::<$field>(len)?,)*), self.0))
            }
            fn at((_, places, items, _): &mut Self::Held) -> (*mut Place, $(*mut $field,)*) {
                (places.as_mut_ptr(), $(items.$index.as_mut_ptr(),)*)
            }
            unsafe fn finish((len, mut places, mut items, arrays): Self::Held) -> Result<(), Error> {
                // SAFETY: there is room for so many, and the caller vouches that they have been written.
                unsafe { places.set_len(len) };
                $(check_computed::<Place, $field>($index + 1, &places, arrays.$index.as_mut().len())?;)*
                $(
                    // SAFETY: as above.
                    unsafe { items.$index.set_len(len) };
                    let array = arrays.$index.as_mut();
                    for (place, item) in places.iter().zip(items.$index) {
                        item.put(*place, array);
                    }
                )*
                Ok(())
            }
        }
    )*};
}

tuples! {
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
    (A A1 0, B B1 1, C C1 2, D D1 3, E E1 4, F F1 5, G G1 6, H H1 7, I I1 8, J J1 9, K K1 10, L L1 11, M M1 12, N N1 13, O O1 14, P P1 15)
}

computed! {
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
