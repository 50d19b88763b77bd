//! Tensors as the arrays of a scan: one for an element that is a number, or one for each field of a struct.

use scan_runtime::{Fields, Host, arrays, arrays::Input, arrays::Output, arrays::Strided};
#[cfg(feature = "cuda")]
use {
    crate::cuda::DeviceArray,
    scan_runtime::{Device, Run, ScanOp, cudarc::driver::CudaViewMut},
};

use crate::Float;

/// The tensors that hold elements of type `E`, as a type: `[T; 1]` where `E` is the number `T` itself, and `[T; N]` for
/// a struct of `N` ≤ 4 fields of type `T`, marked `#[scan_element]`. A tensor is a field, in the order of declaration.
///
/// It is sealed: nothing outside this crate implements it.
pub trait Arrays<T: Float, E>: sealed::Sealed {
    /// How many tensors there are.
    const COUNT: usize;
    #[doc(hidden)]
    type Host<'a>: Input<E, Host>;
    #[doc(hidden)]
    fn host<'a>(arrays: &[HostArray<'a, T>]) -> Option<Self::Host<'a>>;
    #[doc(hidden)]
    type HostMut<'a>: Output<E, Host>;
    #[doc(hidden)]
    fn host_mut(arrays: Vec<&mut [T]>) -> Option<Self::HostMut<'_>>;
    /// Runs over device memory; false if there is another number of arrays.
    #[doc(hidden)]
    #[cfg(feature = "cuda")]
    fn run_on_device<Op: ScanOp<Input = E>, O: Output<Op::Output, Device>>(
        run: &Run<'_, Op, Device>,
        arrays: &[DeviceArray<'_, T>],
        output: O,
    ) -> Result<bool, scan_runtime::Error>;
    #[doc(hidden)]
    #[cfg(feature = "cuda")]
    type DeviceMut<'a, 'b: 'a>: Output<E, Device>;
    #[doc(hidden)]
    #[cfg(feature = "cuda")]
    fn device_mut<'a, 'b>(arrays: &'a mut [CudaViewMut<'b, T>]) -> Option<Self::DeviceMut<'a, 'b>>;
}

mod sealed {
    pub trait Sealed {}
}

impl<T: Float, const N: usize> sealed::Sealed for [T; N] {}

/// An array in host memory with strides.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct HostArray<'a, T> {
    pub(crate) items: &'a [T],
    pub(crate) strides: Vec<usize>,
}

impl<'a, T: Float> HostArray<'a, T> {
    fn strided(&self) -> Strided<'a, T> {
        arrays::strided(self.items, &self.strides)
    }
}

/// Runs over arrays of either kind: a slice where it lies as the axis says, which kernels read fastest, else one with
/// strides of its own.
#[cfg(feature = "cuda")]
macro_rules! by_kind {
    ($run:ident, $output:ident, ($($done:ident)*)) => { $run.run_into(by_kind!(@input $($done)*), $output) };
    (@input $one:ident) => { $one };
    (@input $($several:ident)*) => { ($($several,)*) };
    ($run:ident, $output:ident, ($($done:ident)*) $next:ident $($rest:ident)*) => {
        match &$next.strides {
            None => {
                let $next = &$next.items;
                by_kind!($run, $output, ($($done)* $next) $($rest)*)
            }
            Some(strides) => {
                let $next = arrays::strided(&$next.items, strides);
                by_kind!($run, $output, ($($done)* $next) $($rest)*)
            }
        }
    };
}

impl<T: Float> Arrays<T, T> for [T; 1] {
    const COUNT: usize = 1;
    type Host<'a> = Strided<'a, T>;
    fn host<'a>(arrays: &[HostArray<'a, T>]) -> Option<Strided<'a, T>> {
        let [only] = arrays else { return None };
        Some(only.strided())
    }
    type HostMut<'a> = &'a mut [T];
    fn host_mut(arrays: Vec<&mut [T]>) -> Option<&mut [T]> {
        arrays.into_iter().next()
    }
    #[cfg(feature = "cuda")]
    fn run_on_device<Op: ScanOp<Input = T>, O: Output<Op::Output, Device>>(
        run: &Run<'_, Op, Device>,
        arrays: &[DeviceArray<'_, T>],
        output: O,
    ) -> Result<bool, scan_runtime::Error> {
        let [only] = arrays else { return Ok(false) };
        by_kind!(run, output, () only).map(|()| true)
    }
    #[cfg(feature = "cuda")]
    type DeviceMut<'a, 'b: 'a> = &'a mut CudaViewMut<'b, T>;
    #[cfg(feature = "cuda")]
    fn device_mut<'a, 'b>(arrays: &'a mut [CudaViewMut<'b, T>]) -> Option<&'a mut CudaViewMut<'b, T>> {
        arrays.first_mut()
    }
}

macro_rules! fields {
    ($($count:literal ($($array:ident: $field:ident)*))*) => {$(
        impl<T: Float, E: Fields<Tuple = ($($field,)*)>> Arrays<T, E> for [T; $count] {
            const COUNT: usize = $count;
            type Host<'a> = ($(strided_of!('a, $field),)*);
            fn host<'a>(arrays: &[HostArray<'a, T>]) -> Option<Self::Host<'a>> {
                let [$($array),*] = arrays else { return None };
                Some(($($array.strided(),)*))
            }
            type HostMut<'a> = ($(slice_of!('a, $field),)*);
            fn host_mut(arrays: Vec<&mut [T]>) -> Option<Self::HostMut<'_>> {
                let mut arrays = arrays.into_iter();
                $(let $array = arrays.next()?;)*
                Some(($($array,)*))
            }
            #[cfg(feature = "cuda")]
            fn run_on_device<Op: ScanOp<Input = E>, O: Output<Op::Output, Device>>(
                run: &Run<'_, Op, Device>,
                arrays: &[DeviceArray<'_, T>],
                output: O,
            ) -> Result<bool, scan_runtime::Error> {
                let [$($array),*] = arrays else { return Ok(false) };
                by_kind!(run, output, () $($array)*).map(|()| true)
            }
            #[cfg(feature = "cuda")]
            type DeviceMut<'a, 'b: 'a> = ($(view_of!('a, 'b, $field),)*);
            #[cfg(feature = "cuda")]
            fn device_mut<'a, 'b>(arrays: &'a mut [CudaViewMut<'b, T>]) -> Option<Self::DeviceMut<'a, 'b>> {
                let [$($array),*] = arrays else { return None };
                Some(($($array,)*))
            }
        }
    )*};
}

macro_rules! strided_of {
    ($a:lifetime, $field:ident) => { Strided<$a, $field> };
}

macro_rules! slice_of {
    ($a:lifetime, $field:ident) => { &$a mut [$field] };
}

#[cfg(feature = "cuda")]
macro_rules! view_of {
    ($a:lifetime, $b:lifetime, $field:ident) => { &$a mut CudaViewMut<$b, $field> };
}

fields! {
    2 (a: T b: T)
    3 (a: T b: T c: T)
    4 (a: T b: T c: T d: T)
}
