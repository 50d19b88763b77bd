//! Operators as candle's custom operations, forward and backward.

use std::marker::PhantomData;

use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, CustomOp3, Error, Layout, Result, Shape, StorageRef, Tensor, WithDType,
    op::BackpropOp, shape::Dim,
};
#[cfg(feature = "cuda")]
use candle_core::{CudaStorage, Device};
use scan_runtime::ScanOp;

#[cfg(feature = "cuda")]
use crate::cuda::Cuda;
use crate::{
    Arrays, Float, Read, TensorOp,
    cpu::Cpu,
    operator::CarryOf,
    pass::{Backend, Call, View, wrong_count},
};

/// Scans tensors of one shape along a dimension, with gradients of all of them.
///
/// The tensors are the fields of the operator's input. They may be broadcast, transposed or narrowed: they are read
/// where they are. The result is contiguous.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use scan_candle::scan;
/// use scan_runtime::ops;
///
/// // h[t] = a[t]·h[t−1] + x[t] along dimension 1, with one gate for all channels.
/// let a = Tensor::new(&[[[0.5_f32], [0.5]]], &Device::Cpu)?;
/// let x = Tensor::new(&[[[1.0_f32, 4.0], [1.0, 0.0]]], &Device::Cpu)?;
/// let h = scan(ops::recurrence::<f32>(), [&a.broadcast_as(x.shape())?, &x], 1)?;
/// assert_eq!(h.to_vec3::<f32>()?, [[[1.0, 4.0], [1.5, 2.0]]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
///
/// Those of candle for a dimension that there is not ([`Error::DimOutOfRange`]), tensors of several shapes
/// ([`Error::ShapeMismatchBinaryOp`]), of another type than `T` ([`Error::UnexpectedDType`]) or on several devices, for
/// more than three tensors, and [`Error::Wrapped`] around an error of `scan_runtime`: of tensors of more than 8
/// dimensions, and of a GPU.
pub fn scan<T, O, D, const N: usize>(op: O, inputs: [&Tensor; N], dim: D) -> Result<Tensor>
where
    T: Float,
    O: TensorOp<T, Inputs = [T; N]>,
    D: Dim,
{
    apply(op, &inputs, None, dim)
}

/// As [`scan`], where each sequence begins with a value of its own: a tensor of the shape without the dimension, which
/// has a gradient, too. Its type is the type of the operator's carry: `f32` where `T` has 16 bits.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use scan_candle::scan_from;
/// use scan_runtime::ops;
///
/// let x = Tensor::new(&[[1.0_f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let before = Tensor::new(&[10.0_f32, 20.0], &Device::Cpu)?;
/// let sums = scan_from(ops::sum::<f32>(), [&x], &before, 1)?;
/// assert_eq!(sums.to_vec2::<f32>()?, [[11.0, 13.0], [23.0, 27.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
///
/// As [`scan`], and [`Error::UnexpectedShape`] for initial values of another shape. The tensors and the initial values
/// are three tensors at most.
pub fn scan_from<T, O, D, const N: usize>(op: O, inputs: [&Tensor; N], initial: &Tensor, dim: D) -> Result<Tensor>
where
    T: Float,
    O: TensorOp<T, Inputs = [T; N]>,
    D: Dim,
{
    apply(op, &inputs, Some(initial), dim)
}

/// Scans without gradients, by any operator of `scan_runtime`, and gives the carry after the last element as well: the
/// initial value of the next chunk, which may be a single token.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use scan_candle::scan_no_bwd;
/// use scan_runtime::ops;
///
/// let x = Tensor::new(&[[1.0_f32, 2.0, 3.0, 4.0]], &Device::Cpu)?;
/// let (first, carry) = scan_no_bwd(ops::sum::<f32>(), [&x.narrow(1, 0, 2)?], None, 1)?;
/// let (second, carry) = scan_no_bwd(ops::sum::<f32>(), [&x.narrow(1, 2, 2)?], Some(&carry), 1)?;
/// assert_eq!(first.to_vec2::<f32>()?, [[1.0, 3.0]]);
/// assert_eq!(second.to_vec2::<f32>()?, [[6.0, 10.0]]);
/// assert_eq!(carry.to_vec1::<f32>()?, [10.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
///
/// As [`scan_from`], and [`Error::EmptyTensor`] for no elements along the dimension and no initial values.
pub fn scan_no_bwd<T, Op, D, const N: usize>(
    op: Op,
    inputs: [&Tensor; N],
    initial: Option<&Tensor>,
    dim: D,
) -> Result<(Tensor, Tensor)>
where
    T: Float,
    Op: ScanOp<Output = T, Carry: Float>,
    [T; N]: Arrays<T, Op::Input>,
    D: Dim,
{
    let name = "scan_no_bwd";
    let shape = check::<T>(name, &inputs)?;
    let dim = dim.to_index(&shape, name)?;
    let initial = initial.map(|initial| check_initial::<Op::Carry>(name, initial, &shape, dim)).transpose()?;
    let device = inputs[0].device();
    if shape.elem_count() == 0 {
        let carries = match initial {
            Some(initial) => initial.copy()?,
            None if without(&shape, dim).elem_count() > 0 => return Err(Error::EmptyTensor { op: name }.bt()),
            None => Tensor::zeros(without(&shape, dim), Op::Carry::DTYPE, device)?,
        };
        return Ok((Tensor::zeros(shape, T::DTYPE, device)?, carries));
    }
    let inputs = inputs.map(Held::of);
    let initial = initial.as_ref().map(Held::of);
    #[cfg(feature = "cuda")]
    if let Device::Cuda(_) = device {
        return with_carries::<Cuda, T, Op, [T; N]>(op, &inputs, initial.as_ref(), dim);
    }
    with_carries::<Cpu, T, Op, [T; N]>(op, &inputs, initial.as_ref(), dim)
}

/// The results and the carries after them, of tensors that have elements.
fn with_carries<B: Backend, T, Op, I>(
    op: Op,
    inputs: &[Held<'_>],
    initial: Option<&Held<'_>>,
    dim: usize,
) -> Result<(Tensor, Tensor)>
where
    T: Float,
    Op: ScanOp<Output = T, Carry: Float>,
    I: Arrays<T, Op::Input>,
{
    let inputs = inputs.iter().map(Held::view::<B>).collect::<Result<Vec<_>>>()?;
    let (like, shape) = (inputs[0].storage, inputs[0].layout.shape().clone());
    let of_carries = without(&shape, dim);
    let mut outputs = [B::buffer(like, shape.elem_count())?];
    let mut carries = B::buffer(like, of_carries.elem_count())?;
    let initial = initial.map(Held::view::<B>).transpose()?;
    let call = Call::<B, T, Op::Carry> {
        dim,
        inputs,
        initial: initial.map(|initial| B::values(initial.storage, initial.layout)).transpose()?,
        totals: Some(&mut carries),
        outputs: &mut outputs,
        output: Layout::contiguous(&shape),
    };
    B::run::<T, Op, I, [T; 1]>(&B::scanner(like)?.scan(op), call)?;
    let [output] = outputs;
    Ok((tensor::<B, T>(output, like, shape), tensor::<B, Op::Carry>(carries, like, of_carries)))
}

/// The shape of the inputs, which are of type `T` and have one shape.
fn check<T: Float>(name: &'static str, inputs: &[&Tensor]) -> Result<Shape> {
    let Some((first, others)) = inputs.split_first() else {
        return Err(Error::Msg(format!("{name}: give at least one tensor")).bt());
    };
    for input in inputs {
        expect_dtype::<T>(name, input)?;
    }
    match others.iter().find(|other| other.shape() != first.shape()) {
        Some(other) => {
            let (lhs, rhs) = (first.shape().clone(), other.shape().clone());
            Err(Error::ShapeMismatchBinaryOp { lhs, rhs, op: name }.bt())
        }
        None => Ok(first.shape().clone()),
    }
}

fn expect_dtype<T: Float>(name: &'static str, tensor: &Tensor) -> Result<()> {
    match tensor.dtype() {
        dtype if dtype == T::DTYPE => Ok(()),
        got => Err(Error::UnexpectedDType { msg: name, expected: T::DTYPE, got }.bt()),
    }
}

/// Initial values as a scan reads them: contiguous.
fn check_initial<C: Float>(name: &'static str, initial: &Tensor, shape: &Shape, dim: usize) -> Result<Tensor> {
    expect_dtype::<C>(name, initial)?;
    let expected = without(shape, dim);
    if *initial.shape() != expected {
        let msg = format!("{name}: initial values have the shape of the tensors without dimension {dim}");
        return Err(Error::UnexpectedShape { msg, expected, got: initial.shape().clone() }.bt());
    }
    initial.contiguous()
}

/// A shape without one of its dimensions.
fn without(shape: &Shape, dim: usize) -> Shape {
    let mut dims = shape.dims().to_vec();
    dims.remove(dim);
    Shape::from(dims)
}

/// A tensor whose storage is locked for reading.
struct Held<'a> {
    storage: StorageRef<'a>,
    layout: &'a Layout,
}

impl<'a> Held<'a> {
    fn of(tensor: &'a Tensor) -> Self {
        let (storage, layout) = tensor.storage_and_layout();
        Held { storage, layout }
    }

    fn view<B: Backend>(&self) -> Result<View<'_, B::Storage>> {
        match B::storage(&self.storage) {
            Some(storage) => Ok(View { storage, layout: self.layout.clone() }),
            None => Err(Error::Msg("scan: all tensors must be on one device".to_owned()).bt()),
        }
    }

    /// Elements along a dimension.
    fn part<B: Backend>(&self, dim: usize, start: usize, len: usize) -> Result<View<'_, B::Storage>> {
        let View { storage, layout } = self.view::<B>()?;
        Ok(View { storage, layout: layout.narrow(dim, start, len)? })
    }
}

/// A buffer as a tensor.
fn tensor<B: Backend, C: Float>(buffer: B::Buffer<C>, like: &B::Storage, shape: Shape) -> Tensor {
    Tensor::from_storage(B::any(B::wrap(buffer, like)), shape, BackpropOp::none(), false)
}

/// An operator along a dimension, as candle's custom operation of one to three arguments: the inputs, and the initial
/// values if there are any.
struct Applied<T, O> {
    op: O,
    dim: usize,
    has_initial: bool,
    of: PhantomData<fn() -> T>,
}

fn apply<T: Float, O: TensorOp<T>>(
    op: O,
    inputs: &[&Tensor],
    initial: Option<&Tensor>,
    dim: impl Dim,
) -> Result<Tensor> {
    let shape = check::<T>(O::NAME, inputs)?;
    let dim = dim.to_index(&shape, O::NAME)?;
    let initial = initial.map(|initial| check_initial::<CarryOf<T, O>>(O::NAME, initial, &shape, dim)).transpose()?;
    let applied = Applied { op, dim, has_initial: initial.is_some(), of: PhantomData };
    let arguments: Vec<&Tensor> = inputs.iter().copied().chain(&initial).collect();
    match arguments[..] {
        [a] => a.apply_op1(applied),
        [a, b] => a.apply_op2(b, applied),
        [a, b, c] => a.apply_op3(b, c, applied),
        _ => {
            let count = arguments.len();
            Err(Error::Msg(format!("{}: {count} tensors, and candle's operations take three", O::NAME)).bt())
        }
    }
}

impl<T: Float, O: TensorOp<T>> Applied<T, O> {
    fn forward<B: Backend>(&self, arguments: &[(&B::Storage, &Layout)]) -> Result<(B::Storage, Shape)> {
        let view = |&(storage, layout): &(_, &Layout)| View { storage, layout: layout.clone() };
        let mut inputs: Vec<_> = arguments.iter().map(view).collect();
        let initial = if self.has_initial { inputs.pop() } else { None };
        let (like, shape) = (inputs[0].storage, inputs[0].layout.shape().clone());
        let mut outputs = [B::buffer(like, shape.elem_count())?];
        if shape.elem_count() > 0 {
            let call = Call::<B, T, CarryOf<T, O>> {
                dim: self.dim,
                inputs,
                initial: initial.map(|initial| B::values(initial.storage, initial.layout)).transpose()?,
                totals: None,
                outputs: &mut outputs,
                output: Layout::contiguous(&shape),
            };
            B::run::<T, O::Forward, O::Inputs, [T; 1]>(&B::scanner(like)?.scan(self.op.forward()), call)?;
        }
        let [output] = outputs;
        Ok((B::wrap(output, like), shape))
    }

    /// The gradients of all arguments.
    fn gradients(&self, arguments: &[&Tensor], result: &Tensor, gradient: &Tensor) -> Result<Vec<Tensor>> {
        if result.elem_count() == 0 {
            return arguments.iter().map(|argument| argument.zeros_like()).collect();
        }
        match result.device() {
            #[cfg(feature = "cuda")]
            Device::Cuda(_) => self.backward::<Cuda>(arguments, result, gradient),
            _ => self.backward::<Cpu>(arguments, result, gradient),
        }
    }

    fn backward<B: Backend>(&self, arguments: &[&Tensor], result: &Tensor, gradient: &Tensor) -> Result<Vec<Tensor>> {
        let (shape, dim) = (result.shape(), self.dim);
        let (inputs, initial) = arguments.split_at(arguments.len() - usize::from(self.has_initial));
        let reads = self.op.reads();
        let before_first = self.before_first(&reads, initial.first(), result)?;
        let before_first = before_first.as_ref().map(Held::of);
        let held: Vec<_> = inputs.iter().map(|input| Held::of(input)).collect();
        let (result, gradient) = (Held::of(result), Held::of(gradient));
        let like = result.view::<B>()?.storage;

        // The result before an element is in the result, but before the first one: that one is a part of its own.
        let steps = shape.dims()[dim];
        let parts = if before_first.is_some() { vec![(1, steps - 1), (0, 1)] } else { vec![(0, steps)] };
        let scan = B::scanner(like)?.scan(self.op.backward()).reverse();
        let outputs = (0..inputs.len()).map(|_| B::buffer(like, shape.elem_count()));
        let mut outputs = outputs.collect::<Result<Vec<_>>>()?;
        let mut carries: Option<B::Buffer<<O::Backward as ScanOp>::Carry>> = None;
        for &(start, len) in parts.iter().filter(|(_, len)| *len > 0) {
            let read = |read: &Read| match read {
                Read::Input(number) => {
                    held.get(*number).ok_or_else(|| wrong_count(O::NAME))?.part::<B>(dim, start, len)
                }
                Read::Output => result.part::<B>(dim, start, len),
                Read::Gradient => gradient.part::<B>(dim, start, len),
                Read::Before(_) => match &before_first {
                    Some(first) if start == 0 => first.view::<B>(),
                    _ => result.part::<B>(dim, start - 1, len),
                },
            };
            let mut totals = match start > 0 || self.has_initial {
                true => Some(B::buffer(like, without(shape, dim).elem_count())?),
                false => None,
            };
            let call = Call {
                dim,
                inputs: reads.iter().map(read).collect::<Result<_>>()?,
                initial: carries.as_ref().map(B::all),
                totals: totals.as_mut(),
                outputs: &mut outputs,
                output: Layout::contiguous(shape).narrow(dim, start, len)?,
            };
            B::run::<T, O::Backward, O::Reads, O::Inputs>(&scan, call)?;
            carries = totals;
        }
        let mut gradients: Vec<_> =
            outputs.into_iter().map(|output| tensor::<B, T>(output, like, shape.clone())).collect();
        if let (Some(initial), Some(carries)) = (initial.first(), carries) {
            gradients.push(tensor::<B, _>(carries, like, initial.shape().clone()).to_dtype(initial.dtype())?);
        }
        Ok(gradients)
    }

    /// The result before the first element, along the dimension, if the backward pass reads it.
    fn before_first(&self, reads: &[Read], initial: Option<&&Tensor>, result: &Tensor) -> Result<Option<Tensor>> {
        let value = reads.iter().find_map(|read| match read {
            Read::Before(value) => Some(*value),
            _ => None,
        });
        Ok(match (value, initial) {
            (None, _) => None,
            (Some(_), Some(initial)) => Some(initial.detach().to_dtype(T::DTYPE)?.unsqueeze(self.dim)?),
            (Some(value), None) => {
                let mut shape = result.dims().to_vec();
                shape[self.dim] = 1;
                Some(Tensor::full(T::from_f64(value), (), result.device())?.broadcast_as(shape)?)
            }
        })
    }
}

/// The two kinds of storage of an operation, by the number of its arguments.
macro_rules! forward {
    ($($storage:ident $layout:ident),*) => {
        fn name(&self) -> &'static str {
            O::NAME
        }
        fn cpu_fwd(&self, $($storage: &CpuStorage, $layout: &Layout),*) -> Result<(CpuStorage, Shape)> {
            self.forward::<Cpu>(&[$(($storage, $layout)),*])
        }
        #[cfg(feature = "cuda")]
        fn cuda_fwd(&self, $($storage: &CudaStorage, $layout: &Layout),*) -> Result<(CudaStorage, Shape)> {
            self.forward::<Cuda>(&[$(($storage, $layout)),*])
        }
    };
}

impl<T: Float, O: TensorOp<T>> CustomOp1 for Applied<T, O> {
    forward!(s1 l1);
    fn bwd(&self, x: &Tensor, result: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        Ok(self.gradients(&[x], result, gradient)?.pop())
    }
}

impl<T: Float, O: TensorOp<T>> CustomOp2 for Applied<T, O> {
    forward!(s1 l1, s2 l2);
    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        result: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let mut gradients = self.gradients(&[a, b], result, gradient)?.into_iter();
        Ok((gradients.next(), gradients.next()))
    }
}

impl<T: Float, O: TensorOp<T>> CustomOp3 for Applied<T, O> {
    forward!(s1 l1, s2 l2, s3 l3);
    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        c: &Tensor,
        result: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let mut gradients = self.gradients(&[a, b, c], result, gradient)?.into_iter();
        Ok((gradients.next(), gradients.next(), gradients.next()))
    }
}
