//! Where the arrays of a call are: the two kinds of memory, and the arrays that a call reads beside its input.

use std::fmt;

use scan_codegen::Axis;

use super::{NewReduced, NewResults, Results};
use crate::{
    Error, PageLocked, ScanElement, ScanOp, SegmentOffset,
    arrays::{Input, Output, Shape, Shaped},
    call,
    heads::HeadKind,
};

/// Where the arrays of a call are: [`Host`] or [`Device`].
#[allow(private_interfaces, reason = "nobody else calls what names private types")]
pub trait Memory: sealed::Memory + Sized + 'static {
    /// A new array.
    type New<T>;
    /// New results over an input with a shape of this kind.
    #[doc(hidden)]
    type Results<S: Shape, Y>;
    /// The same of a reduction.
    #[doc(hidden)]
    type Reduced<S: Shape, Y>;
    /// A new value.
    type One<T>;
    #[doc(hidden)]
    type Array<'a, T: ScanElement>: Copy;
    #[doc(hidden)]
    type ArrayMut<'a, T: ScanElement>;
    /// An axis: [`Along`](crate::Along) in host memory, [`Axis`] in device memory, whose arrays have no shape.
    type Axis;
    /// Of arrays in host memory and arrays in device memory those that are in this one.
    #[doc(hidden)]
    type Either<OnHost, OnDevice>;
    #[doc(hidden)]
    type Call<'a, Op: ScanOp>;
    #[doc(hidden)]
    type Handle<Op: ScanOp>: fmt::Debug;

    #[doc(hidden)]
    fn of_handle<Op: ScanOp>(handle: &Self::Handle<Op>) -> Self::Call<'_, Op>;
    #[doc(hidden)]
    fn with_heads<'a: 'b, 'b, Op: ScanOp, T: ScanElement>(
        call: Self::Call<'a, Op>,
        kind: HeadKind,
        heads: Self::Array<'b, T>,
    ) -> Self::Call<'b, Op>;
    #[doc(hidden)]
    fn with_ranges<'a: 'b, 'b, Op: ScanOp, T: SegmentOffset>(
        call: Self::Call<'a, Op>,
        begins: Self::Array<'b, T>,
        ends: Self::Array<'b, T>,
    ) -> Self::Call<'b, Op>;
    #[doc(hidden)]
    fn with_rows<Op: ScanOp>(call: Self::Call<'_, Op>, len: usize) -> Self::Call<'_, Op>;
    #[doc(hidden)]
    fn along<Op: ScanOp>(call: Self::Call<'_, Op>, axis: Self::Axis) -> Self::Call<'_, Op>;
    #[doc(hidden)]
    fn with_initial_values<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        values: Self::Array<'b, Op::Carry>,
    ) -> Self::Call<'b, Op>;
    #[doc(hidden)]
    fn with_total_into<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        total: Self::ArrayMut<'b, Op::Carry>,
    ) -> Self::Call<'b, Op>;
    #[doc(hidden)]
    fn with_totals_into<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        totals: Self::ArrayMut<'b, Op::Carry>,
    ) -> Self::Call<'b, Op>;
    #[doc(hidden)]
    fn clone<'a, Op: ScanOp>(call: &Self::Call<'a, Op>) -> Self::Call<'a, Op>;
    #[doc(hidden)]
    fn debug<Op: ScanOp>(call: &Self::Call<'_, Op>, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    #[doc(hidden)]
    fn scan<R: Results, Op: ScanOp, S: Shape>(
        call: &Self::Call<'_, Op>,
        input: impl Input<Op::Input, Self, Shape = S>,
    ) -> Result<NewResults<R, Self, Op, S>, Error>;
    #[doc(hidden)]
    fn scan_into<R: Results, Op: ScanOp>(
        call: &Self::Call<'_, Op>,
        input: impl Input<Op::Input, Self>,
        output: impl Output<Op::Output, Self>,
    ) -> Result<R::Totals<Self, Op::Carry>, Error>;
    #[doc(hidden)]
    fn scan_in_place<R: Results, Op: ScanOp<Input = T, Output = T>, T: ScanElement>(
        call: &Self::Call<'_, Op>,
        buffer: &mut (impl Buffer<T, Self> + ?Sized),
    ) -> Result<R::Totals<Self, Op::Carry>, Error>;
    /// One result for the whole input.
    #[doc(hidden)]
    fn reduce<Op: ScanOp>(
        call: &Self::Call<'_, Op>,
        input: impl Input<Op::Input, Self>,
    ) -> Result<Self::One<Op::Output>, Error>;
    /// A result for each segment.
    #[doc(hidden)]
    fn reduce_each<Op: ScanOp, S: Shape>(
        call: &Self::Call<'_, Op>,
        input: impl Input<Op::Input, Self, Shape = S>,
    ) -> Result<NewReduced<Self, Op, S>, Error>;
    #[doc(hidden)]
    fn reduce_into<Op: ScanOp>(
        call: &Self::Call<'_, Op>,
        input: impl Input<Op::Input, Self>,
        output: impl Output<Op::Output, Self>,
    ) -> Result<(), Error>;
    #[doc(hidden)]
    fn prepare<Op: ScanOp>(
        call: &Self::Call<'_, Op>,
        totals: call::Totals,
        max_len: usize,
    ) -> Result<Self::Handle<Op>, Error>;
    #[doc(hidden)]
    fn prepare_like<Op: ScanOp>(
        call: &Self::Call<'_, Op>,
        input: impl Input<Op::Input, Self>,
        output: impl Output<Op::Output, Self>,
        totals: call::Totals,
        max_len: usize,
    ) -> Result<Self::Handle<Op>, Error>;
}

mod sealed {
    /// Seals [`Memory`](super::Memory).
    pub trait Memory {}

    impl Memory for super::Host {}
    #[cfg(feature = "cuda")]
    impl Memory for super::Device {}
}

/// Host memory: slices and vectors. A run returns when its results are there.
#[derive(Debug)]
pub enum Host {}

/// Device memory: `cudarc`'s slices and views. A run enqueues its work on a stream, and returns.
#[cfg(feature = "cuda")]
#[derive(Debug)]
pub enum Device {}

/// An array of elements of type `T` that a call reads beside its input, such as keys: in [`Host`] memory a slice, array
/// or vector, in [`Device`] memory a [`DeviceBuffer`](crate::DeviceBuffer).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array of elements of type `{T}` in the memory of this call",
    label = "not an array of `{T}`",
    note = "a call over host memory reads slices, arrays and vectors, one made by `.on(&stream)` device slices and views"
)]
pub trait Array<T: ScanElement, M: Memory> {
    #[doc(hidden)]
    fn array(&self) -> M::Array<'_, T>;
}

/// An array of elements of type `T` that a call writes beside its output, such as the totals of segments.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array of elements of type `{T}` that this call can write",
    label = "not a mutable array of `{T}`",
    note = "a call over host memory writes slices, arrays and vectors, one made by `.on(&stream)` device slices and mutable views"
)]
pub trait ArrayMut<T: ScanElement, M: Memory> {
    #[doc(hidden)]
    fn array_mut(&mut self) -> M::ArrayMut<'_, T>;
}

/// A buffer of elements of type `T` that is scanned in place: a mutable slice, in [`Device`] memory a `cudarc` slice or
/// mutable view, or an `ndarray` array.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a buffer of elements of type `{T}` that this call can scan in place",
    label = "not a mutable buffer of `{T}`",
    note = "a call over host memory scans slices, arrays, vectors and `ndarray` arrays in place, one made by `.on(&stream)` device slices and mutable views"
)]
pub trait Buffer<T: ScanElement, M: Memory> {
    #[doc(hidden)]
    const SHAPED: bool = false;
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "sealed: only this crate calls it")]
    fn shape(&self) -> Option<Shaped> {
        None
    }
    /// Scans the elements, along the axis if there is one.
    #[doc(hidden)]
    fn scan<R>(
        &mut self,
        axis: Option<&Axis>,
        scan: impl FnOnce(M::ArrayMut<'_, T>) -> Result<R, Error>,
    ) -> Result<R, Error>;
}

/// A slice in host memory, or a container of one.
#[doc(hidden)]
pub trait HostSlice {
    type Item;
    fn slice(&self) -> &[Self::Item];
}

/// A mutable one.
#[doc(hidden)]
pub trait HostSliceMut: HostSlice {
    fn slice_mut(&mut self) -> &mut [Self::Item];
}

macro_rules! host_slices {
    ($([$($generics:tt)*] $array:ty),*) => {$(
        impl<T, $($generics)*> HostSlice for $array {
            type Item = T;
            #[inline]
            fn slice(&self) -> &[T] {
                self
            }
        }

        impl<T, $($generics)*> HostSliceMut for $array {
            #[inline]
            fn slice_mut(&mut self) -> &mut [T] {
                self
            }
        }
    )*};
}

host_slices!([] [T], [const N: usize] [T; N], [] Vec<T>, [] Box<[T]>, [] PageLocked<T>);

macro_rules! pointers {
    ($([$($lifetime:tt)*] $pointer:ty),*) => {$(
        impl<$($lifetime)* A: HostSlice + ?Sized> HostSlice for $pointer {
            type Item = A::Item;
            #[inline]
            fn slice(&self) -> &[A::Item] {
                (**self).slice()
            }
        }
    )*};
}

pointers!(['a,] &'a A, ['a,] &'a mut A, [] std::sync::Arc<A>);

impl<A: HostSliceMut + ?Sized> HostSliceMut for &mut A {
    #[inline]
    fn slice_mut(&mut self) -> &mut [A::Item] {
        (**self).slice_mut()
    }
}

impl<T: ScanElement, A: HostSlice<Item = T> + ?Sized> Array<T, Host> for A {
    #[inline]
    fn array(&self) -> &[T] {
        self.slice()
    }
}

impl<T: ScanElement, A: HostSliceMut<Item = T> + ?Sized> ArrayMut<T, Host> for A {
    #[inline]
    fn array_mut(&mut self) -> &mut [T] {
        self.slice_mut()
    }
}

impl<T: ScanElement, A: HostSliceMut<Item = T> + ?Sized> Buffer<T, Host> for A {
    #[inline]
    fn scan<R>(&mut self, _: Option<&Axis>, scan: impl FnOnce(&mut [T]) -> Result<R, Error>) -> Result<R, Error> {
        scan(self.slice_mut())
    }
}
