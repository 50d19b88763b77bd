//! The phase of an oscillator whose frequency varies: a product of complex numbers.

use crate::{ScanOp, scan_element, scan_op};

/// The complex number re + im·i.
#[scan_element(crate = crate, gradient)]
#[derive(Clone, Copy, Debug)]
pub struct Complex {
    /// The real part.
    pub re: f64,
    /// The imaginary part.
    pub im: f64,
}

/// e^(i·θ), where θ is the sum of the angles so far.
///
/// The product never has to reduce a large θ, so its error does not grow as that of the sine of a large number does.
///
/// - Input: the advance of the phase at each step, in radians.
/// - Output: the oscillator as a complex number of length 1.
/// - Source: Euler's formula, e^(i·α) · e^(i·β) = e^(i·(α + β)).
///
/// ```
/// use scan_runtime::{Scanner, gallery::complex_product::Phase};
/// use std::f64::consts::FRAC_PI_2;
///
/// let phases = Scanner::new()?.scan(Phase).run(&[FRAC_PI_2, FRAC_PI_2])?;
/// assert!(phases[0].re.abs() < 1e-12 && (phases[0].im - 1.0).abs() < 1e-12); // i
/// assert!((phases[1].re + 1.0).abs() < 1e-12 && phases[1].im.abs() < 1e-12); // -1
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phase;

#[scan_op(crate = crate, gradient)]
impl ScanOp for Phase {
    type Input = f64;
    type State = Complex;
    type Output = Complex;
    const IDENTITY: Complex = Complex { re: 1.0, im: 0.0 };
    fn lift(angle: f64) -> Complex {
        Complex { re: angle.cos(), im: angle.sin() }
    }
    fn combine(a: Complex, b: Complex) -> Complex {
        Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
    }
}
