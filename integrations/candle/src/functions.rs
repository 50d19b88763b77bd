//! Scans by name, of tensors of any float type.

use candle_core::{DType, Error, Result, Tensor, shape::Dim};
use scan_runtime::{
    half::{bf16, f16},
    ops,
};

use crate::{log_sum_exp, scan, scan_from, scan_no_bwd};

/// Calls an operator for the type of the tensors.
macro_rules! by_dtype {
    ($name:literal, $tensor:expr, $call:ident($inputs:expr, $($more:expr),*), $f32:expr, $f64:expr, $f16:expr, $bf16:expr) => {
        match $tensor.dtype() {
            DType::F32 => $call($f32, $inputs, $($more),*),
            DType::F64 => $call($f64, $inputs, $($more),*),
            DType::F16 => $call($f16, $inputs, $($more),*),
            DType::BF16 => $call($bf16, $inputs, $($more),*),
            dtype => Err(Error::UnsupportedDTypeForOp(dtype, $name).bt()),
        }
    };
}

/// The running sum along a dimension. Tensors of 16 bits are added in `f32`.
///
/// [`Tensor::cumsum`] multiplies by a triangular matrix: `n` elements along the dimension cost it `n`² multiplications
/// a column, and a matrix of `n`² elements each time. This one reads and writes each element once, and so does its
/// gradient, the running sum from the other end.
///
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]], &Device::Cpu)?;
/// assert_eq!(scan_candle::cumsum(&x, 0)?.to_vec2::<f32>()?, [[1.0, 2.0, 3.0], [5.0, 7.0, 9.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::UnsupportedDTypeForOp`] for other types than `f32`, `f64`, `f16` and `bf16`, and as [`scan`].
pub fn cumsum<D: Dim>(x: &Tensor, dim: D) -> Result<Tensor> {
    by_dtype!(
        "cumsum",
        x,
        scan([x], dim),
        ops::sum::<f32>(),
        ops::sum::<f64>(),
        ops::sum_in::<f32, f16>(),
        ops::sum_in::<f32, bf16>()
    )
}

/// The running product along a dimension. Tensors of 16 bits are multiplied in `f32`.
///
/// Its gradient divides by nothing: it is right where factors are 0.
///
/// ```
/// use candle_core::{Device, Var};
///
/// let x = Var::new(&[2.0_f32, 0.0, 3.0], &Device::Cpu)?;
/// let y = scan_candle::cumprod(&x, 0)?;
/// assert_eq!(y.to_vec1::<f32>()?, [2.0, 0.0, 0.0]);
/// let gradients = y.sum_all()?.backward()?;
/// assert_eq!(gradients.get(&x).map(|dx| dx.to_vec1::<f32>()).transpose()?, Some(vec![1.0, 8.0, 0.0]));
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
///
/// As [`cumsum`].
pub fn cumprod<D: Dim>(x: &Tensor, dim: D) -> Result<Tensor> {
    by_dtype!(
        "cumprod",
        x,
        scan([x], dim),
        ops::product::<f32>(),
        ops::product::<f64>(),
        ops::product_in::<f32, f16>(),
        ops::product_in::<f32, bf16>()
    )
}

/// The running maximum along a dimension. After a NaN all results are NaN.
///
/// The gradient goes to the element that is the maximum, of equal ones to the last one so far, as in PyTorch.
///
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[1.0_f32, 3.0, 2.0], &Device::Cpu)?;
/// assert_eq!(scan_candle::cummax(&x, 0)?.to_vec1::<f32>()?, [1.0, 3.0, 3.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
///
/// As [`cumsum`].
pub fn cummax<D: Dim>(x: &Tensor, dim: D) -> Result<Tensor> {
    by_dtype!("cummax", x, scan([x], dim), ops::max::<f32>(), ops::max::<f64>(), ops::max::<f16>(), ops::max::<bf16>())
}

/// The logarithm of the running sum of exponentials along a dimension. Nothing overflows, and an element of −∞ adds
/// nothing; its gradient is 0. Tensors of 16 bits are computed in `f32`.
///
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[1000.0_f64, 1000.0], &Device::Cpu)?;
/// assert_eq!(scan_candle::logcumsumexp(&x, 0)?.to_vec1::<f64>()?, [1000.0, 1000.0 + 2.0_f64.ln()]);
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
///
/// As [`cumsum`].
pub fn logcumsumexp<D: Dim>(x: &Tensor, dim: D) -> Result<Tensor> {
    by_dtype!(
        "logcumsumexp",
        x,
        scan([x], dim),
        log_sum_exp::<f32, f32>(),
        log_sum_exp::<f64, f64>(),
        log_sum_exp::<f32, f16>(),
        log_sum_exp::<f32, bf16>()
    )
}

/// The recurrence `h[t] = gate[t]·h[t−1] + x[t]` along a dimension, from 0 or from an initial state. The state is `f32`
/// for tensors of 16 bits.
///
/// The gate may have fewer elements than `x`, as [`Tensor::broadcast_as`] takes them: one for all channels of a head is
/// read where it is, and its gradient is the sum of theirs. The initial state has the shape of `x` without the
/// dimension.
///
/// ```
/// use candle_core::{Device, Tensor};
///
/// let gate = Tensor::new(&[[0.5_f32]], &Device::Cpu)?;
/// let x = Tensor::new(&[[1.0_f32, 1.0], [8.0, 0.0]], &Device::Cpu)?;
/// let first = Tensor::new(&[2.0_f32, 0.0], &Device::Cpu)?;
/// let h = scan_candle::recurrence(&gate, &x, Some(&first), 1)?;
/// assert_eq!(h.to_vec2::<f32>()?, [[2.0, 2.0], [8.0, 4.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
///
/// As [`cumsum`] and [`scan_from`], and [`Error::BroadcastIncompatibleShapes`] for a gate that does not fit `x`.
pub fn recurrence<D: Dim>(gate: &Tensor, x: &Tensor, initial: Option<&Tensor>, dim: D) -> Result<Tensor> {
    let gate = &gate.broadcast_as(x.shape())?;
    match initial {
        Some(initial) => by_dtype!(
            "recurrence",
            x,
            scan_from([gate, x], initial, dim),
            ops::recurrence::<f32>(),
            ops::recurrence::<f64>(),
            ops::recurrence_in::<f32, f16>(),
            ops::recurrence_in::<f32, bf16>()
        ),
        None => by_dtype!(
            "recurrence",
            x,
            scan([gate, x], dim),
            ops::recurrence::<f32>(),
            ops::recurrence::<f64>(),
            ops::recurrence_in::<f32, f16>(),
            ops::recurrence_in::<f32, bf16>()
        ),
    }
}

/// As [`recurrence`], without gradients and with the state after the last step as well: the initial state of the next
/// chunk, or of the next token. The state is `f32` for tensors of 16 bits.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use scan_candle::recurrence_no_bwd;
///
/// let gate = Tensor::new(&[[0.5_f32]], &Device::Cpu)?;
/// let mut state = None;
/// for token in [1.0_f32, 1.0, 1.0] {
///     let x = Tensor::new(&[[token]], &Device::Cpu)?;
///     let (_, after) = recurrence_no_bwd(&gate, &x, state.as_ref(), 1)?;
///     state = Some(after);
/// }
/// assert_eq!(state.map(|state| state.to_vec1::<f32>()).transpose()?, Some(vec![1.75]));
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
///
/// As [`recurrence`].
pub fn recurrence_no_bwd<D: Dim>(
    gate: &Tensor,
    x: &Tensor,
    initial: Option<&Tensor>,
    dim: D,
) -> Result<(Tensor, Tensor)> {
    let gate = &gate.broadcast_as(x.shape())?;
    by_dtype!(
        "recurrence",
        x,
        scan_no_bwd([gate, x], initial, dim),
        ops::recurrence::<f32>(),
        ops::recurrence::<f64>(),
        ops::recurrence_in::<f32, f16>(),
        ops::recurrence_in::<f32, bf16>()
    )
}
