//! The trait of scan operators that are operations on tensors.

use candle_core::WithDType;
use scan_runtime::ScanOp;

use crate::{Arrays, Float};

/// An operator on tensors of `T`, with its gradient: the operator of the forward pass, the operator of the backward
/// pass, which is a reversed scan, and the arrays that the backward pass reads.
///
/// ```
/// use candle_core::{Device, Tensor, Var};
/// use scan_candle::{Read, TensorOp, scan};
/// use scan_runtime::{ScanOp, ops, scan_element, scan_op};
///
/// /// y[t] = y[t−1] + x[t]²: how much energy there was so far.
/// #[derive(Clone)]
/// struct Energy;
///
/// #[scan_op]
/// impl ScanOp for Energy {
///     type Input = f32;
///     type State = f32;
///     type Output = f32;
///     const IDENTITY: f32 = 0.0;
///     fn lift(x: f32) -> f32 { x * x }
///     fn combine(a: f32, b: f32) -> f32 { a + b }
///     fn project(sum: f32) -> f32 { sum }
/// }
///
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Adjoint { x: f32, gradient: f32 }
///
/// /// The gradient of y[t] reaches all x[s] with s ≤ t, each times 2·x[s].
/// #[derive(Clone)]
/// struct EnergyGradient;
///
/// #[scan_op]
/// impl ScanOp for EnergyGradient {
///     type Input = Adjoint;
///     type State = f32;
///     type Carry = f32;
///     type Output = f32;
///     const IDENTITY: f32 = 0.0;
///     const START: f32 = 0.0;
///     fn lift(x: Adjoint) -> f32 { x.gradient }
///     fn combine(a: f32, b: f32) -> f32 { a + b }
///     fn apply(s: f32, c: f32) -> f32 { c + s }
///     fn step(c: f32, x: Adjoint) -> f32 { c + x.gradient }
///     fn emit(c: f32, x: Adjoint) -> f32 { 2.0 * x.x * (c + x.gradient) }
/// }
///
/// impl TensorOp<f32> for Energy {
///     const NAME: &'static str = "energy";
///     type Forward = Energy;
///     type Inputs = [f32; 1];
///     type Backward = EnergyGradient;
///     type Reads = [f32; 2];
///     fn forward(&self) -> Energy { Energy }
///     fn backward(&self) -> EnergyGradient { EnergyGradient }
///     fn reads(&self) -> Vec<Read> { vec![Read::Input(0), Read::Gradient] }
/// }
///
/// let x = Var::new(&[1.0_f32, 2.0, 3.0], &Device::Cpu)?;
/// let y = scan(Energy, [&x], 0)?;
/// assert_eq!(y.to_vec1::<f32>()?, [1.0, 5.0, 14.0]);
/// let gradients = y.sum_all()?.backward()?;
/// assert_eq!(gradients.get(&x).map(|dx| dx.to_vec1::<f32>()).transpose()?, Some(vec![6.0, 8.0, 6.0]));
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Initial values
///
/// With [`scan_from`](crate::scan_from) a sequence begins with a carry of its own. The total of the backward scan is
/// the gradient of that value.
pub trait TensorOp<T: Float>: Send + Sync + 'static {
    /// The name of the operation in candle's errors.
    const NAME: &'static str;
    /// The operator of the forward pass. An initial value is a tensor of the type of its carry.
    type Forward: ScanOp<Output = T, Carry: Float>;
    /// As many `T` as there are input tensors, `[T; N]`: one for each field of the forward operator's input, and one
    /// for each field of the backward operator's output, which is the gradient of that input.
    type Inputs: Arrays<T, <Self::Forward as ScanOp>::Input> + Arrays<T, <Self::Backward as ScanOp>::Output>;
    /// The operator of the backward pass, which is scanned from the last element to the first.
    type Backward: ScanOp<Carry: Float>;
    /// As many `T` as the backward operator's input has fields, `[T; N]`.
    type Reads: Arrays<T, <Self::Backward as ScanOp>::Input>;
    /// The operator of the forward pass.
    fn forward(&self) -> Self::Forward;
    /// The operator of the backward pass.
    fn backward(&self) -> Self::Backward;
    /// What the fields of the backward operator's input are, in their order.
    fn reads(&self) -> Vec<Read>;
}

/// What a field of a backward operator's input is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Read {
    /// The input tensor of this number.
    Input(usize),
    /// The result of each element.
    Output,
    /// The result of the element before: at the first one the initial value, or where there is none, this.
    Before(f64),
    /// The gradient of the loss with respect to the result of each element.
    Gradient,
}

/// The carry of a scan operator of tensors.
pub(crate) type CarryOf<T, O> = <<O as TensorOp<T>>::Forward as ScanOp>::Carry;

/// A value as candle's scalars are.
pub(crate) fn value<T: WithDType>(value: f64) -> T {
    T::from_f64(value)
}
