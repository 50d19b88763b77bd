//! Where the arrays of a call are: the two kinds of memory, and the arrays that a call reads beside its input.

use std::{fmt, marker::PhantomData};

use cudarc::driver::CudaSlice;
use scan_codegen::Axis;

use super::Lent;
use crate::{
    DeviceBuffer, DeviceBufferMut, DeviceCall, ScanElement, ScanOp,
    device::{
        Handle,
        arrays::{DeviceArray, DeviceArrayMut, array, array_mut},
        call::{DeviceInitial, Extra},
        heads::DeviceHeads,
    },
    heads::{HeadKind, Heads, InitialValues},
    host::{HostCall, HostHandle},
};

/// Where the arrays of a call are: [`Host`] or [`Device`].
#[allow(private_interfaces, reason = "nobody else calls what names private types")]
pub trait Memory: sealed::Memory + Sized + 'static {
    /// A new array.
    type New<T>;
    /// A new value.
    type One<T>;
    #[doc(hidden)]
    type Array<'a, T: ScanElement>;
    #[doc(hidden)]
    type ArrayMut<'a, T: ScanElement>;
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
    fn with_rows<Op: ScanOp>(call: Self::Call<'_, Op>, len: usize) -> Self::Call<'_, Op>;
    #[doc(hidden)]
    fn along<Op: ScanOp>(call: Self::Call<'_, Op>, axis: Axis) -> Self::Call<'_, Op>;
    #[doc(hidden)]
    fn with_initial_values<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        values: Self::Array<'b, Op::Carry>,
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
}

mod sealed {
    /// Seals [`Memory`](super::Memory).
    pub trait Memory {}

    impl Memory for super::Host {}
    impl Memory for super::Device {}
}

/// Host memory: slices and vectors. A run returns when its results are there.
#[derive(Debug)]
pub enum Host {}

/// Device memory: `cudarc`'s slices and views. A run enqueues its work on a stream, and returns.
#[derive(Debug)]
pub enum Device {}

/// An array of elements of type `T` that a call reads beside its input, such as keys: in [`Host`] memory a slice, array
/// or vector, in [`Device`] memory a [`DeviceBuffer`].
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

macro_rules! host_arrays {
    ($([$($generics:tt)*] $array:ty),*) => {$(
        impl<T: ScanElement, $($generics)*> Array<T, Host> for $array {
            #[inline]
            fn array(&self) -> &[T] {
                self
            }
        }

        impl<T: ScanElement, $($generics)*> ArrayMut<T, Host> for $array {
            #[inline]
            fn array_mut(&mut self) -> &mut [T] {
                self
            }
        }
    )*};
}

host_arrays!([] [T], [const N: usize] [T; N], [] Vec<T>, [] Box<[T]>);

impl<T: ScanElement, A: Array<T, Host> + ?Sized> Array<T, Host> for &A {
    #[inline]
    fn array(&self) -> &[T] {
        (**self).array()
    }
}

impl<T: ScanElement, A: Array<T, Host> + ?Sized> Array<T, Host> for &mut A {
    #[inline]
    fn array(&self) -> &[T] {
        (**self).array()
    }
}

impl<T: ScanElement, A: ArrayMut<T, Host> + ?Sized> ArrayMut<T, Host> for &mut A {
    #[inline]
    fn array_mut(&mut self) -> &mut [T] {
        (**self).array_mut()
    }
}

impl<T: ScanElement, A: Array<T, Host> + ?Sized> Array<T, Host> for std::sync::Arc<A> {
    #[inline]
    fn array(&self) -> &[T] {
        (**self).array()
    }
}

/// An array in device memory, with the type of its items.
#[doc(hidden)]
#[allow(private_interfaces, reason = "nobody else makes one")]
pub struct Typed<A, T>(A, PhantomData<fn() -> T>);

impl<T: ScanElement, B: DeviceBuffer<T>> Array<T, Device> for B {
    #[allow(private_interfaces, reason = "as of the trait")]
    fn array(&self) -> Typed<&dyn DeviceArray, T> {
        Typed(array(self), PhantomData)
    }
}

impl<T: ScanElement, B: DeviceBufferMut<T>> ArrayMut<T, Device> for B {
    #[allow(private_interfaces, reason = "as of the trait")]
    fn array_mut(&mut self) -> Typed<&mut dyn DeviceArrayMut, T> {
        Typed(array_mut(self), PhantomData)
    }
}

#[allow(private_interfaces, reason = "as of the trait")]
impl Memory for Host {
    type New<T> = Vec<T>;
    type One<T> = T;
    type Array<'a, T: ScanElement> = &'a [T];
    type ArrayMut<'a, T: ScanElement> = &'a mut [T];
    type Call<'a, Op: ScanOp> = HostCall<'a, Op>;
    type Handle<Op: ScanOp> = HostHandle<Op>;

    fn of_handle<Op: ScanOp>(handle: &HostHandle<Op>) -> Self::Call<'_, Op> {
        HostCall::of_handle(handle)
    }
    #[inline]
    fn with_heads<'a: 'b, 'b, Op: ScanOp, T: ScanElement>(
        call: Self::Call<'a, Op>,
        kind: HeadKind,
        heads: Self::Array<'b, T>,
    ) -> Self::Call<'b, Op> {
        call.with_heads(Heads::of(kind, heads))
    }
    #[inline]
    fn with_rows<Op: ScanOp>(call: Self::Call<'_, Op>, len: usize) -> Self::Call<'_, Op> {
        call.with_heads(Heads::rows(len))
    }
    fn along<Op: ScanOp>(call: Self::Call<'_, Op>, axis: Axis) -> Self::Call<'_, Op> {
        call.along(axis)
    }
    #[inline]
    fn with_initial_values<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        values: Self::Array<'b, Op::Carry>,
    ) -> Self::Call<'b, Op> {
        let mut call: Self::Call<'b, Op> = call;
        call.heads.initial_values = Some(InitialValues::new(values));
        call
    }
    #[inline]
    fn with_totals_into<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        totals: Self::ArrayMut<'b, Op::Carry>,
    ) -> Self::Call<'b, Op> {
        HostCall { totals: Some(Lent::new(totals)), ..call }
    }
    fn clone<'a, Op: ScanOp>(call: &Self::Call<'a, Op>) -> Self::Call<'a, Op> {
        call.clone()
    }
    fn debug<Op: ScanOp>(call: &Self::Call<'_, Op>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        call.debug(f)
    }
}

#[allow(private_interfaces, reason = "as of the trait")]
impl Memory for Device {
    type New<T> = CudaSlice<T>;
    type One<T> = CudaSlice<T>;
    type Array<'a, T: ScanElement> = Typed<&'a dyn DeviceArray, T>;
    type ArrayMut<'a, T: ScanElement> = Typed<&'a mut dyn DeviceArrayMut, T>;
    type Call<'a, Op: ScanOp> = DeviceCall<'a>;
    type Handle<Op: ScanOp> = Handle;

    fn of_handle<Op: ScanOp>(handle: &Handle) -> Self::Call<'_, Op> {
        DeviceCall::of_handle(handle)
    }
    fn with_heads<'a: 'b, 'b, Op: ScanOp, T: ScanElement>(
        call: Self::Call<'a, Op>,
        kind: HeadKind,
        Typed(heads, _): Self::Array<'b, T>,
    ) -> Self::Call<'b, Op> {
        DeviceCall { heads: DeviceHeads::new(kind, heads), axis: None, ..call }
    }
    fn with_rows<Op: ScanOp>(call: Self::Call<'_, Op>, len: usize) -> Self::Call<'_, Op> {
        DeviceCall { heads: DeviceHeads::rows(len), axis: None, ..call }
    }
    fn along<Op: ScanOp>(call: Self::Call<'_, Op>, axis: Axis) -> Self::Call<'_, Op> {
        call.along(axis)
    }
    fn with_initial_values<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        Typed(values, _): Self::Array<'b, Op::Carry>,
    ) -> Self::Call<'b, Op> {
        DeviceCall { initial: DeviceInitial::Each(values), ..call }
    }
    fn with_totals_into<'a: 'b, 'b, Op: ScanOp>(
        call: Self::Call<'a, Op>,
        totals: Self::ArrayMut<'b, Op::Carry>,
    ) -> Self::Call<'b, Op> {
        DeviceCall { extra: Some((Extra::EachTotal, Lent::new(totals.0))), ..call }
    }
    fn clone<'a, Op: ScanOp>(call: &Self::Call<'a, Op>) -> Self::Call<'a, Op> {
        call.clone()
    }
    fn debug<Op: ScanOp>(call: &Self::Call<'_, Op>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        call.debug(f)
    }
}
