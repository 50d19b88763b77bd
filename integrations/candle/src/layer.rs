//! A layer with a recurrence along the time axis.

use candle_core::{D, Error, Module, Result, Tensor};
use candle_nn::{Init, Linear, VarBuilder, linear, ops::sigmoid};

use crate::{recurrence, recurrence_no_bwd};

/// A layer of a gated linear recurrence: `h[t] = a[t]·h[t−1] + (1 − a[t])·v[t]`, with the gates `a = σ(W·x + b)` and
/// the values `v = V·x + c` of each step, and the results `y = U·h + d`.
///
/// Inputs are (…, steps, inputs), states (…, hidden), results (…, steps, outputs). All steps are computed at once, in
/// training; for inference [`stream`](GatedRecurrence::stream) takes any number of steps, one at a time, say, and gives
/// the same results.
///
/// ```
/// use candle_core::{DType, Device, Module, Tensor};
/// use candle_nn::{VarBuilder, VarMap};
/// use scan_candle::GatedRecurrence;
///
/// let weights = VarMap::new();
/// let layer = GatedRecurrence::new(8, 16, 4, VarBuilder::from_varmap(&weights, DType::F32, &Device::Cpu))?;
/// let x = Tensor::randn(0.0_f32, 1.0, (2, 100, 8), &Device::Cpu)?;
/// let y = layer.forward(&x)?;
/// assert_eq!(y.dims(), [2, 100, 4]);
///
/// let mut state = None;
/// for t in 0..100 {
///     let (now, after) = layer.stream(&x.narrow(1, t, 1)?, state.as_ref())?;
///     let difference = (now - y.narrow(1, t, 1)?)?.abs()?.max_all()?.to_scalar::<f32>()?;
///     assert!(difference < 1e-5);
///     state = Some(after);
/// }
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GatedRecurrence {
    gates: Linear,
    values: Linear,
    outputs: Linear,
}

impl GatedRecurrence {
    /// A layer whose weights are the variables `gate`, `value` and `output` of `vb`. The gates begin at 0.88, so that
    /// the state reaches back some ten steps.
    ///
    /// # Errors
    ///
    /// Those of the variables.
    pub fn new(inputs: usize, hidden: usize, outputs: usize, vb: VarBuilder<'_>) -> Result<Self> {
        let of_gates = vb.pp("gate");
        let bound = (inputs.max(1) as f64).sqrt().recip();
        let weights = of_gates.get_with_hints((hidden, inputs), "weight", Init::Uniform { lo: -bound, up: bound })?;
        let biases = of_gates.get_with_hints(hidden, "bias", Init::Const(2.0))?;
        Ok(GatedRecurrence {
            gates: Linear::new(weights, Some(biases)),
            values: linear(inputs, hidden, vb.pp("value"))?,
            outputs: linear(hidden, outputs, vb.pp("output"))?,
        })
    }

    /// The gates `a`, and the terms that are added to the state, `(1 − a)·v`.
    ///
    /// # Errors
    ///
    /// Those of candle for an input of another shape.
    pub fn steps(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let gates = sigmoid(&self.gates.forward(x)?)?;
        let values = self.values.forward(x)?;
        let added = (&values - (&gates * &values)?)?;
        Ok((gates, added))
    }

    /// The results of states.
    ///
    /// # Errors
    ///
    /// Those of candle for states of another shape.
    pub fn outputs(&self, states: &Tensor) -> Result<Tensor> {
        self.outputs.forward(states)
    }

    /// As [`forward`](Module::forward), from an initial state: the end of the chunk before. It has a gradient, too.
    ///
    /// # Errors
    ///
    /// As [`recurrence`].
    pub fn forward_from(&self, x: &Tensor, initial: Option<&Tensor>) -> Result<Tensor> {
        let dim = time(x)?;
        let (gates, added) = self.steps(x)?;
        self.outputs(&recurrence(&gates, &added, initial, dim)?)
    }

    /// The results of some steps, of a single one, say, and the state after them, without gradients.
    ///
    /// # Errors
    ///
    /// As [`recurrence_no_bwd`].
    pub fn stream(&self, x: &Tensor, state: Option<&Tensor>) -> Result<(Tensor, Tensor)> {
        let dim = time(x)?;
        let (gates, added) = self.steps(x)?;
        let (states, state) = recurrence_no_bwd(&gates, &added, state, dim)?;
        Ok((self.outputs(&states)?, state))
    }
}

/// All steps at once, from a state of 0.
impl Module for GatedRecurrence {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.forward_from(x, None)
    }
}

/// The dimension of the steps: the last but one.
fn time(x: &Tensor) -> Result<D> {
    match x.rank() {
        0 | 1 => Err(Error::UnexpectedNumberOfDims { expected: 2, got: x.rank(), shape: x.shape().clone() }.bt()),
        _ => Ok(D::Minus2),
    }
}
