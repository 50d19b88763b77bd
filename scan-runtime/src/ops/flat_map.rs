//! Up to `K` results of each element.

use std::marker::PhantomData;

use super::predicted;
use crate::{ScanElement, ScanOp, scan_element, scan_op};

/// An input of a [`FlatMap`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Several<T, const K: usize> {
    /// How many of the items there are; all, if it is more than these.
    pub count: u32,
    /// The items, the first ones of which count.
    pub items: [T; K],
}

/// An output of a [`FlatMap`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<T, const K: usize, P = u32> {
    /// Where the items go; the largest number for those that do not count. Where that is one of the two largest numbers,
    /// the place is the one before the largest, which is beyond every array.
    pub places: [P; K],
    /// The items.
    pub items: [T; K],
}

/// An operator that gives 0 to `K` items for each element, one after the other. The total is how many these are.
///
/// Run it into [`scatter_by_output`](crate::arrays::scatter_by_output), which writes
/// the items to the beginning of an array. A function from an element to [`Several`] says which they are; without one
/// the inputs are an array of counts and one of arrays of items.
///
/// ```
/// use scan_runtime::{Scanner, arrays, ops, scan_fn};
///
/// /// The bytes that stand for one in HTML.
/// #[scan_fn]
/// fn escaped(x: u8) -> ops::Several<u8, 5> {
///     match x {
///         b'<' => ops::Several { count: 4, items: [b'&', b'l', b't', b';', 0] },
///         b'>' => ops::Several { count: 4, items: [b'&', b'g', b't', b';', 0] },
///         b'&' => ops::Several { count: 5, items: [b'&', b'a', b'm', b'p', b';'] },
///         _ => ops::Several { count: 1, items: [x, 0, 0, 0, 0] },
///     }
/// }
///
/// let scan = Scanner::new()?.scan(ops::map::<escaped, _>(ops::flat_map()));
/// let mut html = [0; 40];
/// let len = scan.with_total().run_into(b"a<b && b>c", arrays::scatter_by_output((&mut html,)))?;
/// assert_eq!(&html[..len.unwrap_or_default() as usize], b"a&lt;b &amp;&amp; b&gt;c");
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// In a reversed scan the items of the last element come first, those of an element in their order. An exclusive scan,
/// and a reduction, have no element: the `items` of their outputs are the default.
///
/// The items that have no place in the array are not written. In host memory they are
/// [`Error::ComputedIndex`](crate::Error::ComputedIndex). In device memory nothing but the count tells of them: compare
/// it with the length of the array. Places and the count are `u32`, or what [`places`](FlatMap::places) chooses; the count
/// stays at `u32::MAX` where there are more items than have a place, as that of a
/// [filter](crate::ops::Filter#more-than-there-is-room-for) does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlatMap<T, const K: usize, P = u32> {
    nothing: T,
    places: PhantomData<P>,
}

/// The operator [`FlatMap`].
pub fn flat_map<T: ScanElement + Default, const K: usize>() -> FlatMap<T, K> {
    FlatMap { nothing: T::default(), places: PhantomData }
}

impl<T, const K: usize> FlatMap<T, K> {
    /// The same operator with places and a count of another unsigned type, `u64` or `usize` for more than 2³²
    /// items; see [`Filter::places`](crate::ops::Filter::places).
    pub fn places<P>(self) -> FlatMap<T, K, P>
    where
        FlatMap<T, K, P>: ScanOp,
    {
        FlatMap { nothing: self.nothing, places: PhantomData }
    }
}

macro_rules! flat_maps {
    ($($place:ident)*) => {$(
        #[scan_op(crate = crate)]
        impl<T: ScanElement, const K: usize> ScanOp for FlatMap<T, K, $place> {
            type Input = Several<T, K>;
            type State = $place;
            type Carry = $place;
            type Output = Placed<T, K, $place>;
            const IDENTITY: $place = 0;
            const START: $place = 0;
            fn lift(x: Several<T, K>) -> $place {
                u32::min(x.count, K as u32) as $place
            }
            fn combine(a: $place, b: $place) -> $place {
                a.saturating_add(b)
            }
            fn apply(count: $place, before: $place) -> $place {
                before.saturating_add(count)
            }
            fn step(before: $place, x: Several<T, K>) -> $place {
                before.saturating_add(u32::min(x.count, K as u32) as $place)
            }
            fn emit(before: $place, x: Several<T, K>) -> Placed<T, K, $place> {
                let mut places = [$place::MAX; K];
                for j in 0..K {
                    if predicted((j as u32) < x.count) {
                        places[j] = $place::min(before.saturating_add(j as $place), $place::MAX - 1);
                    }
                }
                Placed { places, items: x.items }
            }
            fn project(&self, count: $place) -> Placed<T, K, $place> {
                Placed { places: [count; K], items: [self.nothing; K] }
            }
        }
    )*};
}

flat_maps! { u32 u64 usize }
