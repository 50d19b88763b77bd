//! Recurrences of complex numbers, and their gradients.

use std::marker::PhantomData;

use super::{Adjoint, AffineMap, Gated};
use crate::{ScanOp, scan_element, scan_op};

/// A complex number.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

/// The recurrence `h[t] = a[t]·h[t−1] + x[t]` of complex numbers, as diagonal state-space models with complex poles
/// have it. `T` is `f32` or `f64`.
///
/// Inputs, states and totals are as those of [`recurrence`](super::recurrence()), of [`Complex`] numbers. An array of
/// these lies in memory like one of `num_complex::Complex` or of PyTorch's complex tensors.
///
/// ```
/// use scan_runtime::{Scanner, ops::{self, Complex}};
///
/// let (i, one) = (Complex { re: 0.0_f64, im: 1.0 }, Complex { re: 1.0, im: 0.0 });
/// let h = Scanner::new()?.scan(ops::complex_recurrence::<f64>()).run((&[i; 3], &[one; 3]))?;
/// assert_eq!(h, [one, Complex { re: 1.0, im: 1.0 }, Complex { re: 0.0, im: 1.0 }]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// # Gradient
///
/// [`gradient`](ComplexRecurrence::gradient) is the operator of the backward pass, a reversed scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComplexRecurrence<T>(PhantomData<T>);

/// The recurrence h = a·h + x of complex numbers.
pub fn complex_recurrence<T>() -> ComplexRecurrence<T>
where
    ComplexRecurrence<T>: ScanOp,
{
    ComplexRecurrence(PhantomData)
}

impl<T> ComplexRecurrence<T> {
    /// The operator of the backward pass, for a reversed scan: [`ComplexRecurrenceGradient`].
    pub fn gradient(self) -> ComplexRecurrenceGradient<T> {
        ComplexRecurrenceGradient(PhantomData)
    }
}

/// The gradient of a [`ComplexRecurrence`]: a reversed scan that gives the gradients of the gates and of the terms.
///
/// The gradient of a real loss with respect to a complex number has as parts those with respect to the parts, as
/// PyTorch has it. With a bar for the conjugate: `λ[t] = g[t] + ā[t+1]·λ[t+1]`, `da[t] = λ[t]·h̄[t−1]`, `dx[t] = λ[t]`.
/// Values and totals are as those of a [`RecurrenceGradient`](super::RecurrenceGradient).
///
/// ```
/// use scan_runtime::{Scanner, arrays, ops::{self, Complex}};
///
/// let (scanner, recurrence) = (Scanner::new()?, ops::complex_recurrence::<f64>());
/// let (i, one, zero) = (Complex { re: 0.0, im: 1.0 }, Complex { re: 1.0, im: 0.0 }, Complex::default());
/// let (a, x) = ([i; 2], [one; 2]);
/// let h = scanner.scan(recurrence).run((&a, &x))?;
/// // Backward, for a loss that is the sum of the real parts of all results.
/// let (mut da, mut dx) = ([zero; 2], [zero; 2]);
/// let gradient = scanner.scan(recurrence.gradient()).reverse();
/// gradient.run_into((&a, arrays::previous(&h, zero), &[one; 2]), (&mut da, &mut dx))?;
/// assert_eq!((da, dx), ([zero, one], [Complex { re: 1.0, im: -1.0 }, one]));
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComplexRecurrenceGradient<T>(PhantomData<T>);

macro_rules! floats {
    ($($float:ident $multiply:ident $conjugate:ident $affine:ident;)*) => {$(
        #[crate::scan_fn(crate = crate)]
        #[inline]
        fn $multiply(a: Complex<$float>, b: Complex<$float>) -> Complex<$float> {
            Complex::<$float> { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
        }

        #[crate::scan_fn(crate = crate)]
        #[inline]
        fn $conjugate(a: Complex<$float>) -> Complex<$float> {
            Complex::<$float> { re: a.re, im: -a.im }
        }

        /// a·h + b.
        #[crate::scan_fn(crate = crate)]
        #[inline]
        fn $affine(a: Complex<$float>, h: Complex<$float>, b: Complex<$float>) -> Complex<$float> {
            let product = $multiply(a, h);
            Complex::<$float> { re: product.re + b.re, im: product.im + b.im }
        }

        #[scan_op(crate = crate)]
        impl ScanOp for ComplexRecurrence<$float> {
            type Input = Gated<Complex<$float>>;
            type State = AffineMap<Complex<$float>>;
            type Carry = Complex<$float>;
            type Output = Complex<$float>;
            const IDENTITY: AffineMap<Complex<$float>> =
                AffineMap { a: Complex { re: 1.0, im: 0.0 }, b: Complex { re: 0.0, im: 0.0 } };
            const START: Complex<$float> = Complex { re: 0.0, im: 0.0 };
            fn lift(x: Gated<Complex<$float>>) -> AffineMap<Complex<$float>> {
                AffineMap::<Complex<$float>> { a: x.a, b: x.x }
            }
            fn combine(
                f: AffineMap<Complex<$float>>,
                g: AffineMap<Complex<$float>>,
            ) -> AffineMap<Complex<$float>> {
                AffineMap::<Complex<$float>> { a: $multiply(g.a, f.a), b: $affine(g.a, f.b, g.b) }
            }
            fn apply(f: AffineMap<Complex<$float>>, h: Complex<$float>) -> Complex<$float> {
                $affine(f.a, h, f.b)
            }
            fn step(h: Complex<$float>, x: Gated<Complex<$float>>) -> Complex<$float> {
                $affine(x.a, h, x.x)
            }
            fn project(h: Complex<$float>) -> Complex<$float> {
                h
            }
        }

        #[scan_op(crate = crate)]
        impl ScanOp for ComplexRecurrenceGradient<$float> {
            type Input = Adjoint<Complex<$float>>;
            type State = AffineMap<Complex<$float>>;
            type Carry = Complex<$float>;
            type Output = Gated<Complex<$float>>;
            const IDENTITY: AffineMap<Complex<$float>> =
                AffineMap { a: Complex { re: 1.0, im: 0.0 }, b: Complex { re: 0.0, im: 0.0 } };
            const START: Complex<$float> = Complex { re: 0.0, im: 0.0 };
            fn lift(x: Adjoint<Complex<$float>>) -> AffineMap<Complex<$float>> {
                let back = $conjugate(x.a);
                AffineMap::<Complex<$float>> { a: back, b: $multiply(back, x.gradient) }
            }
            fn combine(
                f: AffineMap<Complex<$float>>,
                g: AffineMap<Complex<$float>>,
            ) -> AffineMap<Complex<$float>> {
                AffineMap::<Complex<$float>> { a: $multiply(g.a, f.a), b: $affine(g.a, f.b, g.b) }
            }
            fn apply(f: AffineMap<Complex<$float>>, c: Complex<$float>) -> Complex<$float> {
                $affine(f.a, c, f.b)
            }
            fn step(c: Complex<$float>, x: Adjoint<Complex<$float>>) -> Complex<$float> {
                let lambda = Complex::<$float> { re: x.gradient.re + c.re, im: x.gradient.im + c.im };
                $multiply($conjugate(x.a), lambda)
            }
            fn emit(c: Complex<$float>, x: Adjoint<Complex<$float>>) -> Gated<Complex<$float>> {
                let lambda = Complex::<$float> { re: x.gradient.re + c.re, im: x.gradient.im + c.im };
                Gated::<Complex<$float>> { a: $multiply(lambda, $conjugate(x.before)), x: lambda }
            }
        }
    )*};
}

floats! {
    f32 multiply_f32 conjugate_f32 affine_f32;
    f64 multiply_f64 conjugate_f64 affine_f64;
}
