//! Up to `K` results of each element.

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
pub struct Placed<T, const K: usize> {
    /// Where the items go; `u32::MAX` for those that do not count.
    pub places: [u32; K],
    /// The items.
    pub items: [T; K],
}

/// An operator that gives 0 to `K` items for each element, one after the other. The total is how many these are.
///
/// Run it by [columns](crate::Scan::columns) into [`scatter_computed`](crate::arrays::scatter_computed), which writes
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
/// let scan = Scanner::new()?.scan(ops::lifted::<escaped, _>(ops::flat_map())).columns();
/// let mut html = [0; 40];
/// let len = scan.run_into_with_total(b"a<b && b>c", arrays::scatter_computed((&mut html,)))?;
/// assert_eq!(&html[..len.unwrap_or_default() as usize], b"a&lt;b &amp;&amp; b&gt;c");
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// In a reversed scan the items of the last element come first, those of an element in their order. There are at most
/// `u32::MAX` items. An exclusive scan, and a reduction, have no element: the `items` of their outputs are the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlatMap<T, const K: usize> {
    nothing: T,
}

/// The operator [`FlatMap`].
pub fn flat_map<T: ScanElement + Default, const K: usize>() -> FlatMap<T, K> {
    FlatMap { nothing: T::default() }
}

#[scan_op(crate = crate)]
impl<T: ScanElement, const K: usize> ScanOp for FlatMap<T, K> {
    type Input = Several<T, K>;
    type State = u32;
    type Carry = u32;
    type Output = Placed<T, K>;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn lift(x: Several<T, K>) -> u32 {
        u32::min(x.count, K as u32)
    }
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(count: u32, before: u32) -> u32 {
        before.wrapping_add(count)
    }
    fn step(before: u32, x: Several<T, K>) -> u32 {
        before.wrapping_add(u32::min(x.count, K as u32))
    }
    fn emit(before: u32, x: Several<T, K>) -> Placed<T, K> {
        let mut places = [u32::MAX; K];
        for j in 0..K {
            if (j as u32) < x.count {
                places[j] = before.wrapping_add(j as u32);
            }
        }
        Placed { places, items: x.items }
    }
    fn project(&self, count: u32) -> Placed<T, K> {
        Placed { places: [count; K], items: [self.nothing; K] }
    }
}
